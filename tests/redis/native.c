/* native.c: releases by DELEX or DELIFEQ on servers that know one of them, and by the script where
 * the user must not. Servers that know neither get none. */
#include "real.h"

enum { SERVERS = 3 };

/* How often the server has run it, or refused it, or an EVAL, since CONFIG RESETSTAT. */
static int64_t statistic(const struct server *s, const char *command, const char *what) {
  char line[64];
  const char *info = server_command(s, "INFO commandstats"), *at;
  snprintf(line, sizeof line, "cmdstat_%s:", command);
  at = info ? strstr(info, line) : NULL;
  at = at ? strstr(at, what) : NULL;
  return at ? strtoll(at + strlen(what), NULL, 10) : 0;
}

static int64_t calls(const char *command) {
  return statistic(&real.at[0], command, "calls=");
}

static void reset_statistics(void) { servers_command(&real, SERVERS, "CONFIG RESETSTAT"); }

static void cycles(redlock *rl, int count) {
  redlock_lock lock;
  for (; count > 0; count--) {
    real_hold(rl, &lock, SERVERS, "native");
    real_release(rl, &lock, SERVERS, "native");
  }
}

TEST(what_the_server_knows_is_used) { /* R21 */
  const char *native;
  redlock_server_info info;
  redlock rl;
  servers_heal(&real);
  native = server_native_release(&real.at[0]);
  reset_statistics();
  real_open(&rl, SERVERS, REAL_WAIT_MS);
  cycles(&rl, 10);
  CHECK_EQ(redlock_server_status(&rl, 0, &info), REDLOCK_OK);
  CHECK_EQ(info.native_release, native != NULL);
  if (native) CHECK_EQ(calls(native), 1 + 10); /* the trial, which finds no key */
  CHECK_EQ(calls("eval"), native ? 0 : 10);
  redlock_close(&rl);
}

/* A lock that another client takes over is left alone. */
TEST(anothers_value_stays) { /* R21 */
  redlock rl;
  redlock_lock lock;
  int i;
  servers_heal(&real);
  real_open(&rl, SERVERS, REAL_WAIT_MS);
  cycles(&rl, 1);
  real_hold(&rl, &lock, SERVERS, "native");
  servers_command(&real, SERVERS, "SET native other PX 60000");
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  for (i = 0; i < SERVERS; i++)
    CHECK(strcmp(server_command(&real.at[i], "GET native"), "other") == 0);
  servers_command(&real, SERVERS, "DEL native");
  redlock_close(&rl);
}

/* Lets the user "some" do what these rules say, on all servers. */
static void allow_some(const char *rules, const char *native) {
  servers_command(&real, SERVERS, "ACL SETUSER some %s%s", rules, native);
}

static void forget_some(void) { servers_command(&real, SERVERS, "ACL DELUSER some"); }

static int releases_natively(const redlock *rl) {
  redlock_server_info info;
  CHECK_EQ(redlock_server_status(rl, 0, &info), REDLOCK_OK);
  return info.native_release;
}

static void open_as_some(redlock *rl) {
  redlock_options options = real_options(REAL_WAIT_MS);
  options.username = options.password = "some";
  real_open_with(rl, SERVERS, options);
}

/* Whoever must not run it is refused in the handshake, and as well off as ever. */
TEST(who_must_not_run_it_releases_by_the_script) { /* R21 R15 */
  const char *native;
  redlock rl;
  servers_heal(&real);
  native = server_native_release(&real.at[0]);
  if (!native) SKIP("the server knows neither DELEX nor DELIFEQ");
  allow_some("reset on >some ~* +@all -", native);
  reset_statistics();
  open_as_some(&rl);
  cycles(&rl, 5);
  CHECK_EQ(statistic(&real.at[0], native, "rejected_calls="), 1);
  CHECK_EQ(calls("eval"), 5);
  CHECK(!releases_natively(&rl));
  CHECK_EQ(redlock_server_error(&rl, 0)[0], '\0');
  redlock_close(&rl);
  forget_some();
}

/* So is whoever may lock certain names only, unless redlock is one of them. */
TEST(who_is_limited_to_names_needs_one_more) {
  const char *native;
  redlock rl;
  int may;
  servers_heal(&real);
  native = server_native_release(&real.at[0]);
  if (!native) SKIP("the server knows neither DELEX nor DELIFEQ");
  for (may = 0; may < 2; may++) {
    allow_some(may ? "reset on >some ~nat* ~redlock +@all" : "reset on >some ~nat* +@all", "");
    reset_statistics();
    open_as_some(&rl);
    cycles(&rl, 5);
    CHECK_EQ(calls("eval"), may ? 0 : 5);
    CHECK_EQ(releases_natively(&rl), may);
    redlock_close(&rl);
  }
  forget_some();
}

/* The right is taken away while a lock is held: its release is refused once, sent again as a script
   on a new connection, and so are all others. */
TEST(a_right_that_is_taken_away_loses_no_release) { /* R21 R7 */
  const char *native;
  redlock_lock lock;
  redlock rl;
  int i;
  servers_heal(&real);
  native = server_native_release(&real.at[0]);
  if (!native) SKIP("the server knows neither DELEX nor DELIFEQ");
  allow_some("reset on >some ~* +@all", "");
  open_as_some(&rl);
  cycles(&rl, 1);
  CHECK(releases_natively(&rl));
  real_hold(&rl, &lock, SERVERS, "native");
  allow_some("-", native);
  reset_statistics();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  cycles(&rl, 4);
  for (i = 0; i < SERVERS; i++) CHECK_EQ(*server_command(&real.at[i], "EXISTS native"), '0');
  CHECK_EQ(statistic(&real.at[0], native, "rejected_calls="), 2); /* and the next trial */
  CHECK_EQ(calls("eval"), 5);
  CHECK(!releases_natively(&rl));
  redlock_close(&rl);
  forget_some();
}

/* A waiter is pushed the change, and need not poll for it (R26). */
TEST(it_wakes_who_waits) {
  redlock holder, waiter;
  redlock_lock held, wanted;
  int64_t released_at;
  servers_heal(&real);
  if (*server_command(&real.at[0], "HELLO 2") == '-') SKIP("no wake-ups before Redis 6");
  real_open(&holder, SERVERS, REAL_WAIT_MS);
  real_open(&waiter, SERVERS, REAL_WAIT_MS);
  cycles(&holder, 1);
  cycles(&waiter, 1);
  real_hold(&holder, &held, SERVERS, "native");
  CHECK_EQ(redlock_start_acquire(&waiter, &wanted, "native", 30000, REDLOCK_FOREVER),
           REDLOCK_PENDING);
  released_at = timing_us() + 700000; /* by then it rests until it is told */
  while (timing_us() < released_at) CHECK(redlock_wait(&waiter, 10) == NULL);
  reset_statistics();
  CHECK_EQ(redlock_release(&holder, &held), REDLOCK_OK);
  while (wanted.status == REDLOCK_PENDING) (void)redlock_wait(&waiter, REAL_WAIT_MS);
  CHECK_EQ(wanted.status, REDLOCK_OK);
  CHECK(calls("eval") < 20);
  CHECK_EQ(redlock_release(&waiter, &wanted), REDLOCK_OK);
  redlock_close(&holder);
  redlock_close(&waiter);
}

int main(int argc, char **argv) { return real_main(argc, argv, SERVERS, check_all); }
