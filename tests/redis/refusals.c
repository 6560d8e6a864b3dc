/* refusals.c: servers that answer with an error. R4 R15: it is the vote `error`, and its words are
 * kept. */
#include "fixture.h"

enum { N = 3 };

/* The tests themselves log in as a user of their own. */
static void let_us_in(void) {
  int i;
  heal();
  servers_command(&real, N, "ACL SETUSER tests on nopass ~* +@all");
  for (i = 0; i < N && server_has_users(&real.at[i]); i++)
    snprintf(real.at[i].login, sizeof real.at[i].login, "AUTH tests x");
}

/* What servers do about every acquire, and how they are talked out of it. */
struct refusal {
  const char *word;       /* the error's first */
  const char *begin, *end; /* commands */
  const char *user, *path; /* of their URLs */
  int since_6;             /* by users, or undone by one */
};

/* The first ones have this user and path. */
static const char *list_of_urls(int count, const char *user, const char *path) {
  static char list[4 * SERVERS_LIST];
  size_t used = 0;
  int i;
  for (i = 0; i < N; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, " redis://%s127.0.0.1:%d%s",
                             i < count ? user : "", real.at[i].port, i < count ? path : "");
  return list;
}

/* Most servers do it. That it costs nothing where few do shows fake/errors.c. */
static void check_refusal(const struct refusal *r) {
  int i, bad = check.bad;
  if (*server_command(&real.at[0], "%s", r->begin) == '-') return; /* this server cannot */
  servers_command(&real, 2, "%s", r->begin);
  real_open_list(&rl, list_of_urls(2, r->user, r->path), REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 300), REDLOCK_NO_QUORUM);
  for (i = 0; i < 2; i++)
    if (!CHECK(strncmp(redlock_server_error(&rl, i), r->word, strlen(r->word)) == 0))
      printf("    it says: %s\n", redlock_server_error(&rl, i));
  CHECK(real_votes(&lock, N, REDLOCK_VOTE_ERROR) > 0);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  redlock_close(&rl);
  servers_command(&real, 2, "%s", r->end);
  CHECK_EQ(real_keys_settle(NULL, N, "r", 0), 0); /* nor in the wrong database */
  if (check.bad != bad) printf("    %s after %s\n", r->word, r->begin);
}

/* What was pipelined behind AUTH must not cover its error, and a SET behind a refused SELECT would
   stand in database 0. */
TEST(what_a_server_refuses_is_an_error_vote) { /* R4 R15 */
  static const char want[] = "CONFIG SET requirepass right", none[] = "CONFIG SET requirepass \"\"";
  static const struct refusal refusals[] = {
    {"not a master", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "", "", 1},
    {"NOREPLICAS", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "",
     "", 0},
    {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "", "", 0},
    {"NOPERM", "ACL SETUSER default -set", "ACL SETUSER default +@all", "", "", 1},
    {"WRONGPASS", want, none, ":wrong@", "", 1},
    {"NOAUTH", want, none, "", "", 1},
    {"WRONGPASS", "PING", "PING", "nobody:secret@", "", 1},
    {"ERR", "PING", "PING", "", "/999", 0}
  };
  size_t i;
  for (i = 0; i < sizeof refusals / sizeof *refusals; i++)
    if (!refusals[i].since_6 || server_has_users(&real.at[0])) check_refusal(&refusals[i]);
}

/* ---- rights ---- */

static const char *const least_rights[] = {"+set", "+eval", "+get", "+del", "+pttl", "+pexpire"};
enum { LEAST_RIGHTS = sizeof least_rights / sizeof *least_rights };

/* All but one (-1 = all), and more. */
static void allow_ann(int but, const char *more) {
  char rights[80] = "";
  int i;
  for (i = 0; i < LEAST_RIGHTS; i++)
    if (i != but)
      snprintf(rights + strlen(rights), sizeof rights - strlen(rights), "%s ", least_rights[i]);
  servers_command(&real, N, "FLUSHALL");
  servers_command(&real, N, "ACL SETUSER ann reset on >s3cret ~r %s%s", rights, more);
}

/* Takes, extends and releases a lock as ann. */
static int ann_can_lock(const char *path, uint32_t max_ttl_ms, uint32_t wait_ms) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  int can;
  options.max_ttl_ms = max_ttl_ms;
  real_open_list_with(&rl, list_of_urls(N, "ann:s3cret@", path), options);
  can = redlock_acquire(&rl, &lock, "r", 1000, wait_ms) == REDLOCK_OK &&
        redlock_extend(&rl, &lock, 2000) == REDLOCK_OK &&
        redlock_release(&rl, &lock) == REDLOCK_OK;
  redlock_close(&rl);
  return can;
}

/* R15, and what the manual tells an administrator. */
TEST(the_least_rights_are_enough_and_each_is_needed) {
  int i;
  if (!server_has_users(&real.at[0])) SKIP("before Redis 6 there are no users");
  allow_ann(-1, "");
  CHECK(ann_can_lock("", 0, REAL_WAIT_MS));
  allow_ann(-1, "+select +info");
  CHECK(ann_can_lock("/1", 2000, REAL_WAIT_MS)); /* when they have been up for long enough */
  allow_ann(-1, "+select");
  CHECK(!ann_can_lock("/1", 2000, 0));
  allow_ann(-1, "+info");
  CHECK(!ann_can_lock("/1", 2000, 0));
  for (i = 0; i < LEAST_RIGHTS; i++) {
    allow_ann(i, "");
    if (!CHECK(!ann_can_lock("", 0, 0))) printf("    without %s\n", least_rights[i]);
  }
}

int main(int argc, char **argv) {
  check.before = let_us_in;
  return real_main(argc, argv, N, check_all);
}
