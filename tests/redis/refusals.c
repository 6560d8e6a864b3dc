/* refusals.c: servers that answer with an error. R4 R15 R16: it is the vote `error`, its words are
 * kept, a minority of such servers changes nothing and a majority is NO_QUORUM. */
#include "real.h"

#include <sys/stat.h>
#include <unistd.h>

enum { N = 3, CYCLES = 50 };

/* What one server does about every acquire, and how it is talked out of it. */
struct refusal {
  const char *word;   /* the error's first */
  const char *begin;  /* commands */
  const char *end;
};

static void check_word(const redlock *rl, int server, const char *word) {
  const char *error = redlock_server_error(rl, server);
  const char *end = strchr(word, ' ');
  size_t size = end ? (size_t)(end - word) : strlen(word);
  if (!CHECK(size ? strncmp(error, word, size) == 0 : *error == '\0'))
    printf("    it says: %s\n", error);
}

/* The decision does not wait for the last server, so its words may come a little later. */
static void cycle_until_error(redlock *rl, int server) {
  int64_t end = timing_ms() + REAL_WAIT_MS;
  while (redlock_server_error(rl, server)[0] == '\0' && timing_ms() < end) real_cycle_us(rl, 1);
}

static void check_all_well(const char *list) {
  redlock rl;
  real_open_list(&rl, list, REAL_PATIENT_MS);
  real_cycle_us(&rl, CYCLES);
  check_word(&rl, 0, "");
  check_word(&rl, 1, "");
  redlock_close(&rl);
}

static void check_minority(const char *list, int server, const char *word) {
  redlock rl;
  real_open_list(&rl, list, REAL_PATIENT_MS);
  cycle_until_error(&rl, server);
  check_word(&rl, server, word);
  real_cycle_us(&rl, CYCLES);
  check_word(&rl, server, word);
  redlock_close(&rl);
}

static void check_majority(const char *list, int first, int count, const char *word) {
  redlock rl;
  redlock_lock lock;
  int i;
  real_open_list(&rl, list, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 300), REDLOCK_NO_QUORUM);
  for (i = first; i < first + count; i++) check_word(&rl, i, word);
  CHECK(real_votes(&lock, N, REDLOCK_VOTE_ERROR) > 0);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  redlock_close(&rl);
}

static void check_refusal(const struct refusal *r) {
  char list[SERVERS_LIST];
  servers_heal(&real);
  servers_list(&real, N, list);
  server_command(&real.at[0], "%s", r->begin);
  check_minority(list, 0, r->word);
  server_command(&real.at[1], "%s", r->begin);
  check_majority(list, 0, 2, r->word);
  servers_command(&real, 2, "%s", r->end);
  check_all_well(list);
}

TEST(what_a_server_refuses_is_an_error_vote) {
  static const struct refusal refusals[] = {
    {"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
    {"NOREPLICAS", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
    {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
    {"NOPERM", "ACL SETUSER default -set", "ACL SETUSER default +@all"}
  };
  size_t i;
  for (i = 0; i < sizeof refusals / sizeof *refusals; i++) check_refusal(&refusals[i]);
}

/* A folder that has the file's name, so that what is saved cannot be put in place. */
static void obstacle(const struct server *s, char path[SERVERS_PATH + 16]) {
  snprintf(path, SERVERS_PATH + 16, "%s/dump.rdb", s->dir);
}

static int break_saving(const struct server *s) {
  char path[SERVERS_PATH + 16];
  int looks;
  obstacle(s, path);
  mkdir(path, 0700);
  server_command(s, "BGSAVE");
  for (looks = 0; looks < REAL_LOOKS; looks++) {
    if (strstr(server_command(s, "INFO persistence"), "rdb_last_bgsave_status:err")) return 1;
    poll(NULL, 0, REAL_LOOK_MS);
  }
  return 0;
}

TEST(misconf_is_an_error_vote) {
  static const struct refusal r = {"MISCONF", "CONFIG SET save \"3600 1000\"",
                                   "CONFIG SET save \"\""};
  char path[SERVERS_PATH + 16];
  int i;
  servers_heal(&real);
  for (i = 0; i < 2; i++) CHECK(break_saving(&real.at[i]));
  check_refusal(&r);
  for (i = 0; i < 2; i++) {
    obstacle(&real.at[i], path);
    rmdir(path);
  }
}

/* ---- the handshake ---- */

static void list_of_urls(char *list, size_t room, const char *user, int bad, const char *path) {
  int i;
  size_t used = 0;
  list[0] = '\0';
  for (i = 0; i < N; i++)
    used += (size_t)snprintf(list + used, room - used, " redis://%s127.0.0.1:%d%s",
                             i < bad ? user : "", real.at[i].port, i < bad ? path : "");
}

/* Lists whose first one, or two, entries name this user or database. */
static void check_url(const char *user, const char *path, const char *word) {
  char list[4 * SERVERS_LIST];
  list_of_urls(list, sizeof list, user, 1, path);
  check_minority(list, 0, word);
  list_of_urls(list, sizeof list, user, 2, path);
  check_majority(list, 0, 2, word);
}

/* The NOAUTH of what was pipelined behind AUTH must not cover it. */
TEST(wrong_password_says_wrongpass) {
  char list[4 * SERVERS_LIST];
  servers_heal(&real);
  server_want_password(&real.at[0], "right");
  list_of_urls(list, sizeof list, ":wrong@", 1, "");
  check_minority(list, 0, "WRONGPASS");
  server_want_password(&real.at[1], "right");
  list_of_urls(list, sizeof list, ":wrong@", 2, "");
  check_majority(list, 0, 2, "WRONGPASS");
  server_want_password(&real.at[0], "");
  server_want_password(&real.at[1], "");
}

TEST(a_missing_password_says_noauth) {
  char list[SERVERS_LIST];
  servers_heal(&real);
  servers_list(&real, N, list);
  server_want_password(&real.at[0], "right");
  check_minority(list, 0, "NOAUTH");
  server_want_password(&real.at[1], "right");
  check_majority(list, 0, 2, "NOAUTH");
  server_want_password(&real.at[0], "");
  server_want_password(&real.at[1], "");
}

TEST(unknown_user_says_wrongpass) {
  servers_heal(&real);
  check_url("nobody:secret@", "", "WRONGPASS");
}

/* R4: the SET behind a refused SELECT would stand in database 0 */
TEST(refused_select_leaves_no_key_in_database_0) {
  int i;
  servers_heal(&real);
  check_url("", "/999", "ERR");
  for (i = 0; i < N; i++) {
    server_command(&real.at[i], "PING"); /* what came before has been run */
    CHECK_EQ(server_number(&real.at[i], "DBSIZE"), 0);
  }
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
  for (i = 0; i < N; i++) {
    server_command(&real.at[i], "FLUSHALL");
    server_command(&real.at[i], "ACL SETUSER ann reset on >s3cret ~r %s%s", rights, more);
  }
}

/* Takes, extends and releases a lock as ann. */
static int ann_can_lock(const char *path, uint32_t max_ttl_ms, uint32_t wait_ms) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  redlock rl;
  redlock_lock lock;
  char list[4 * SERVERS_LIST];
  int can;
  list_of_urls(list, sizeof list, "ann:s3cret@", N, path);
  options.max_ttl_ms = max_ttl_ms;
  CHECK_EQ(redlock_init(&rl, list, &options), REDLOCK_OK);
  can = redlock_acquire(&rl, &lock, "r", 1000, wait_ms) == REDLOCK_OK &&
        redlock_extend(&rl, &lock, 2000) == REDLOCK_OK &&
        redlock_release(&rl, &lock) == REDLOCK_OK;
  redlock_close(&rl);
  return can;
}

/* R15, and what the manual tells an administrator. */
TEST(the_least_rights_are_enough_and_each_is_needed) {
  int i;
  servers_heal(&real);
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

/* It comes unasked, before any command. */
TEST(too_many_clients_is_an_error) {
  redlock first, second;
  redlock_lock lock;
  char list[SERVERS_LIST];
  servers_heal(&real);
  servers_list(&real, 1, list);
  real_open_list(&first, list, REAL_PATIENT_MS);
  real_open_list(&second, list, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&first, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK(strcmp(server_command(&real.at[0], "CONFIG SET maxclients 1"), "OK") == 0);
  CHECK_EQ(redlock_acquire(&second, &lock, "s", REAL_TTL_MS, 300), REDLOCK_NO_QUORUM);
  check_word(&second, 0, "ERR");
  CHECK(strstr(redlock_server_error(&second, 0), "max number of clients") != NULL);
  redlock_close(&second);
  redlock_close(&first);
  server_restart(&real.at[0]);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
