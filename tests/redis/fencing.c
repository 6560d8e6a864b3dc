/* fencing.c: R25's script at its edges, on a real server, and tokens over a quorum of them. The
 * clock is handed in where an edge lies at a microsecond; the rest of the script is as it is. */
#include "real.h"
#include "../inside.h"

enum { N = 3, MAX_TTL = 8000 };

#define WINDOW_US INT64_C(4000000)
#define CLOCK_US INT64_C(1790000000000000)
#define LARGEST (INT64_C(1) << 53) /* of the numbers that Lua tells apart */

static const char of_the_server[] = "t=redis.call('time')t=t[1]*1000000+t[2]";
static const char handed_in[] = "t=ARGV[6]+0 ";

static struct server *server;

/* The script, with a clock of ours. */
static const char *with_our_clock(void) {
  static char text[sizeof INSIDE_FENCED_SCRIPT + sizeof handed_in];
  const char *script = INSIDE_FENCED_SCRIPT, *clock = strstr(script, of_the_server);
  if (!CHECK(clock != NULL)) return script;
  snprintf(text, sizeof text, "%.*s%s%s", (int)(clock - script), script, handed_in,
           clock + strlen(of_the_server));
  return text;
}

static const char *ask(const char *script, int64_t token, int64_t clock_us) {
  return server_command(server, "EVAL \"%s\" 2 r r:fence value 5000 value %lld %d %lld", script,
                        (long long)token, MAX_TTL, (long long)clock_us);
}

static const char *ask_at(int64_t token, int64_t clock_us) {
  return ask(with_our_clock(), token, clock_us);
}

static int is_number(const char *reply, int64_t number) {
  return *reply != '-' ? strtoll(reply, NULL, 10) == number
                       : number < 0 && strtoll(reply, NULL, 10) == number;
}

static void begin(void) {
  servers_heal(&real);
  server = &real.at[0];
}

static int has_key(const char *name) { return server_number(server, name) == 1; }

static int has_lock(void) { return has_key("EXISTS r"); }
static int has_counter(void) { return has_key("EXISTS r:fence"); }

/* ---- The edges ------------------------------------------------------------------------------- */

TEST(a_token_is_above_the_clock) {
  begin();
  CHECK(is_number(ask_at(CLOCK_US - 1, CLOCK_US), -CLOCK_US));
  CHECK(is_number(ask_at(CLOCK_US, CLOCK_US), -CLOCK_US));
  CHECK(!has_lock() && !has_counter());
  CHECK(is_number(ask_at(CLOCK_US + 1, CLOCK_US), CLOCK_US));
  CHECK(has_lock() && has_counter());
}

TEST(a_token_is_at_most_half_of_max_ttl_ahead) {
  begin();
  CHECK(is_number(ask_at(CLOCK_US + WINDOW_US + 1, CLOCK_US), -CLOCK_US));
  CHECK(!has_lock() && !has_counter());
  CHECK(is_number(ask_at(CLOCK_US + WINDOW_US, CLOCK_US), CLOCK_US));
  CHECK(has_lock() && has_counter());
}

TEST(a_token_is_above_the_last_one) {
  const int64_t last = CLOCK_US + 1000;
  int more;
  for (more = -1; more < 2; more++) {
    begin();
    server_command(server, "SET r:fence %lld", (long long)last);
    CHECK(is_number(ask_at(last + more, CLOCK_US), more > 0 ? CLOCK_US : last));
    CHECK_EQ(has_lock(), more > 0);
    CHECK_EQ(server_number(server, "GET r:fence"), more > 0 ? last + more : last);
  }
}

/* The lock is looked at first: else each waiter would ask again at once. */
TEST(a_taken_lock_says_so_whatever_the_token) {
  static const int64_t ahead[] = {-1, 1, WINDOW_US + 1};
  int i;
  begin();
  server_command(server, "SET r other");
  for (i = 0; i < 3; i++)
    CHECK(strcmp(ask_at(CLOCK_US + ahead[i], CLOCK_US), "") == 0);
  CHECK(!has_counter());
  CHECK(strcmp(server_command(server, "GET r"), "other") == 0);
}

/* Neither is rounded, nor written with an exponent, up to the largest number. */
TEST(tokens_are_exact) {
  int64_t token;
  for (token = LARGEST - 3; token < LARGEST; token++) {
    begin();
    CHECK(is_number(ask_at(token, token - 1), token - 1));
    CHECK_EQ(server_number(server, "GET r:fence"), token);
    CHECK(strlen(server_command(server, "GET r:fence")) == 16);
    server_command(server, "DEL r");
    CHECK(is_number(ask_at(token, token - 1), token)); /* refused by itself */
  }
}

TEST(both_keys_have_their_time) {
  begin();
  CHECK(is_number(ask_at(CLOCK_US + 1, CLOCK_US), CLOCK_US));
  CHECK(server_number(server, "PTTL r") <= 5000);
  CHECK(server_number(server, "PTTL r:fence") <= MAX_TTL);
  CHECK(server_number(server, "PTTL r:fence") > 5000);
}

/* As it is sent: in microseconds since 1970. */
TEST(the_clock_is_that_of_the_server) {
  int64_t told, seen;
  begin();
  told = -strtoll(ask(INSIDE_FENCED_SCRIPT, 0, 0), NULL, 10);
  seen = strtoll(server_command(server, "TIME"), NULL, 10); /* its seconds */
  CHECK(told / 1000000 <= seen && seen - told / 1000000 <= 60);
}

/* ---- What fails, fails closed ---------------------------------------------------------------- */

static int is_redis_6(void) { return server_info(server, "redis_version:") < 7; }

/* Redis 6 says "-@user_script: 1: -READONLY ..." */
static void check_error(const char *begins) {
  int anywhere = is_redis_6();
  const char *reply = ask_at(CLOCK_US + 1, CLOCK_US), *found = strstr(reply, begins);
  if (!CHECK(*reply == '-' && found && (anywhere || found == reply))) printf("    %s\n", reply);
  CHECK(!has_lock());
}

TEST(a_counter_that_is_none_is_an_error) {
  begin();
  server_command(server, "SET r:fence garbage");
  check_error("-ERR");
  server_command(server, "DEL r:fence");
  server_command(server, "RPUSH r:fence 1");
  check_error("-WRONGTYPE");
}

TEST(errors_keep_their_first_word) { /* R15 */
  begin();
  server_command(server, "CONFIG SET maxmemory 1");
  check_error("-OOM");
  server_command(server, "CONFIG SET maxmemory 0");
  if (!is_redis_6()) { /* before that, scripts write all the same */
    server_command(server, "CONFIG SET min-replicas-to-write 1");
    check_error("-NOREPLICAS");
    server_command(server, "CONFIG SET min-replicas-to-write 0");
  }
  server_command(server, "REPLICAOF 127.0.0.1 1");
  check_error("-READONLY");
  server_command(server, "REPLICAOF NO ONE");
  CHECK(is_number(ask_at(CLOCK_US + 1, CLOCK_US), CLOCK_US));
}

/* With all commands and keys but one. 1 = it said yes. */
static int is_allowed_without(const char *keys, const char *commands) {
  struct server as;
  const char *reply;
  server_command(server, "DEL r r:fence");
  server_command(server, "ACL SETUSER f reset on >f +eval %s %s", keys, commands);
  as = *server;
  snprintf(as.login, sizeof as.login, "AUTH f f");
  reply = server_command(&as, "EVAL \"%s\" 2 r r:fence value 5000 value %lld %d %lld",
                         with_our_clock(),
                         (long long)CLOCK_US + 1, MAX_TTL, (long long)CLOCK_US);
  return is_number(reply, CLOCK_US);
}

TEST(a_right_that_is_missing_leaves_no_lock) {
  begin();
  if (*server_command(server, "ACL WHOAMI") == '-') SKIP("no ACL before Redis 6");
  CHECK(is_allowed_without("~r ~r:fence", "+get +set"));
  CHECK(!is_allowed_without("~r", "+get +set"));
  CHECK(!has_lock());
  CHECK(!is_allowed_without("~r ~r:fence", "+set"));
  CHECK(!has_lock());
  CHECK(!is_allowed_without("~r ~r:fence", "+get"));
  CHECK(!has_lock());
  server_command(server, "ACL DELUSER f");
}

/* Who must not GET does not overwrite what is there. */
TEST(a_lock_that_may_not_be_looked_at_stays) {
  struct server as;
  begin();
  if (*server_command(server, "ACL WHOAMI") == '-') SKIP("no ACL before Redis 6");
  server_command(server, "SET r other");
  server_command(server, "ACL SETUSER f reset on >f ~r ~r:fence +eval +set");
  as = *server;
  snprintf(as.login, sizeof as.login, "AUTH f f");
  CHECK(*server_command(&as, "EVAL \"%s\" 2 r r:fence value 5000 value %lld %d %lld",
                         with_our_clock(),
                        (long long)CLOCK_US + 1, MAX_TTL, (long long)CLOCK_US) == '-');
  CHECK(strcmp(server_command(server, "GET r"), "other") == 0);
  server_command(server, "ACL DELUSER f");
}

/* ---- Over a quorum --------------------------------------------------------------------------- */

/* Servers that started just now are in quarantine for it: so it is as short as may be. */
static void open_fenced(redlock *rl, uint32_t server_timeout_ms) {
  redlock_options options = real_options(server_timeout_ms);
  options.max_ttl_ms = 4 * server_timeout_ms;
  options.fencing = 1;
  real_open_with(rl, N, options);
}

static uint64_t token_of(redlock *rl, const char *resource) {
  redlock_lock lock;
  uint64_t token;
  if (!CHECK(redlock_acquire(rl, &lock, resource, 500, REAL_WAIT_MS) == REDLOCK_OK)) return 0;
  token = lock.token;
  CHECK_EQ(redlock_extend(rl, &lock, 500), REDLOCK_OK);
  CHECK(lock.token == token);
  CHECK_EQ(redlock_release(rl, &lock), REDLOCK_OK);
  CHECK(lock.token == token);
  return token;
}

TEST(tokens_rise_from_client_to_client) {
  redlock one, two;
  uint64_t last = 0, token;
  int i;
  begin();
  open_fenced(&one, 250);
  open_fenced(&two, 250);
  for (i = 0; i < 50; i++) {
    token = token_of(i % 3 ? &one : &two, "r");
    CHECK(token > last);
    last = token;
  }
  redlock_close(&one);
  redlock_close(&two);
}

TEST(tokens_rise_while_a_server_is_dead) {
  redlock rl;
  uint64_t last = 0, token;
  int i;
  begin();
  open_fenced(&rl, 250);
  for (i = 0; i < N; i++) {
    server_kill(&real.at[i]);
    token = token_of(&rl, "r");
    CHECK(token > last);
    last = token;
    server_restart(&real.at[i]);
  }
  redlock_close(&rl);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
