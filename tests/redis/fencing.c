/* fencing.c: R25's script on a real server: numbers as great as they come, errors, rights; and
 * tokens over a quorum of servers. Its edges are in tests/sim/conformance.c. */
#include "tests/library.h"
#include "tests/inside.h"

#include "fixture.h"

enum { N = 3, MAX_TTL = 8000 };

#define CLOCK_US INT64_C(1790000000000000)
#define LARGEST (INT64_C(1) << 53) /* of the numbers that Lua tells apart */

/* The script, with a clock of ours. */
static const char *with_our_clock(void) {
  static const char theirs[] = "t=redis.call('time')t=t[1]*1000000+t[2]", ours[] = "t=ARGV[6]+0 ";
  static char text[sizeof INSIDE_FENCED_SCRIPT + sizeof ours];
  const char *script = INSIDE_FENCED_SCRIPT, *clock = strstr(script, theirs);
  if (!CHECK(clock != NULL)) return script;
  snprintf(text, sizeof text, "%.*s%s%s", (int)(clock - script), script, ours,
           clock + strlen(theirs));
  return text;
}

static const char *ask_as(const struct server *s, const char *script, int64_t token,
                          int64_t clock_us) {
  return server_command(s, "EVAL \"%s\" 2 r r:fence value 5000 value %lld %d %lld", script,
                        (long long)token, MAX_TTL, (long long)clock_us);
}

static const char *ask_at(int64_t token, int64_t clock_us) {
  return ask_as(&real.at[0], with_our_clock(), token, clock_us);
}

static int64_t number(const char *reply) {
  return *reply == '-' && (reply[1] < '0' || reply[1] > '9') ? 0 : strtoll(reply, NULL, 10);
}

static int has(const char *key) { return real_keys(1, key); }

/* Neither is rounded, nor written with an exponent, up to the largest number. */
TEST(tokens_are_exact) {
  int64_t token;
  for (token = LARGEST - 3; token < LARGEST; token++) {
    heal();
    CHECK_EQ(number(ask_at(token, token - 1)), token - 1);
    CHECK_EQ(server_number(&real.at[0], "GET r:fence"), token);
    CHECK(strlen(server_command(&real.at[0], "GET r:fence")) == 16);
    servers_command(&real, 1, "DEL r");
    CHECK_EQ(number(ask_at(token, token - 1)), token); /* refused by itself */
  }
}

/* As it is sent: in microseconds since 1970. */
TEST(the_clock_is_that_of_the_server) {
  int64_t told = -number(ask_as(&real.at[0], INSIDE_FENCED_SCRIPT, 0, 0));
  int64_t seen = number(server_command(&real.at[0], "TIME")); /* its seconds */
  CHECK(told / 1000000 <= seen && seen - told / 1000000 <= 60);
}

/* ---- what fails, fails closed ---- */

/* Redis 6 says "-@user_script: 1: -READONLY ..." */
TEST(errors_keep_their_first_word_and_leave_no_lock) { /* R15 */
  static const struct {
    const char *begin, *end, *said;
    int since_7; /* before that, scripts write all the same */
  } rows[] = {
    {"SET r:fence garbage", "DEL r:fence", "-ERR", 0},
    {"RPUSH r:fence 1", "DEL r:fence", "-WRONGTYPE", 0},
    {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "-OOM", 0},
    {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "-NOREPLICAS", 1},
    {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "-READONLY", 0}
  };
  int is_old = server_has_old_errors(&real.at[0]);
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *reply, *found;
    if (rows[i].since_7 && is_old) continue;
    servers_command(&real, 1, "%s", rows[i].begin);
    reply = ask_at(CLOCK_US + 1, CLOCK_US);
    found = strstr(reply, rows[i].said);
    if (!CHECK(*reply == '-' && found && (is_old || found == reply)))
      printf("    %s\n", reply);
    CHECK(!has("r"));
    servers_command(&real, 1, "%s", rows[i].end);
  }
  CHECK_EQ(number(ask_at(CLOCK_US + 1, CLOCK_US)), CLOCK_US);
}

/* As a user of these rights. */
static const char *ask_with(const char *rights) {
  struct server as = real.at[0];
  servers_command(&real, 1, "ACL SETUSER f reset on >f +eval %s", rights);
  snprintf(as.login, sizeof as.login, "AUTH f f");
  return ask_as(&as, with_our_clock(), CLOCK_US + 1, CLOCK_US);
}

/* Who must not GET does not overwrite what is there either. */
TEST(a_right_that_is_missing_leaves_no_lock) {
  static const char *const lacking[] = {"~r +get +set", "~r ~r:fence +set", "~r ~r:fence +get"};
  int i;
  if (*server_command(&real.at[0], "ACL WHOAMI") == '-') SKIP("no ACL before Redis 6");
  for (i = 0; i < 3; i++) {
    CHECK(*ask_with(lacking[i]) == '-');
    CHECK(!has("r"));
    heal();
  }
  CHECK_EQ(number(ask_with("~r ~r:fence +get +set")), CLOCK_US);
  servers_command(&real, 1, "SET r other");
  CHECK(*ask_with("~r ~r:fence +set") == '-');
  CHECK(strcmp(server_command(&real.at[0], "GET r"), "other") == 0);
  servers_command(&real, 1, "ACL DELUSER f");
}

/* ---- over a quorum ---- */

/* Servers that started just now are in quarantine for it: so it is as short as may be. */
static void open_fenced(redlock *client) {
  redlock_options options = real_options(250);
  options.max_ttl_ms = 1000;
  options.fencing = 1;
  real_open_with(client, N, options);
}

static uint64_t token_of(redlock *client) {
  uint64_t token;
  redlock_status status, released;
  int left = 10; /* times that a busy machine may be too slow for such a lock */
  do {
    if (!CHECK(redlock_acquire(client, &lock, "r", 500, REAL_WAIT_MS) == REDLOCK_OK)) return 0;
    token = lock.token;
    status = redlock_extend(client, &lock, 500);
    released = redlock_release(client, &lock);
    if (status == REDLOCK_OK) status = released;
    CHECK(lock.token == token);
  } while ((status == REDLOCK_NO_QUORUM || status == REDLOCK_EXPIRED) && --left);
  CHECK_EQ(status, REDLOCK_OK);
  return token;
}

TEST(tokens_rise_from_client_to_client_while_servers_die) {
  uint64_t last = 0, token;
  int i;
  open_fenced(&rl);
  open_fenced(&rival);
  for (i = 0; i < 30; i++) {
    if (i == 10 || i == 20) server_kill(&real.at[i / 10]);
    token = token_of(i % 3 ? &rl : &rival);
    CHECK(token > last);
    last = token;
    if (i == 15 || i == 25) server_restart(&real.at[i / 10]);
  }
}

static void tokens_are_given(void) { SKIP("before Redis 5 no script may write behind TIME"); }

/* They need a script that does both. */
static void check_tokens(void) {
  const char *reply = server_command(&real.at[0], "EVAL \"redis.call('time') "
                                     "redis.call('del','x') return 1\" 0");
  if (*reply == '-') RUN(tokens_are_given);
  else check_all();
}

int main(int argc, char **argv) {
  check.before = heal;
  check.after = close_both;
  return real_main(argc, argv, N, check_tokens);
}
