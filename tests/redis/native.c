/* native.c: releases by DELEX or DELIFEQ on servers that know one of them, and by the script where
 * the user must not. Servers that know neither get none. None of them is asked for what it does not
 * know: a connection leaves no error. */
#include "fixture.h"

enum { N = 3, MAX_TTL_MS = 2000 };

/* What the servers know, or NULL. */
static const char *known(void) { return server_native_release(&real.at[0]); }

/* How often the first server has run it, or refused it, since CONFIG RESETSTAT. */
static int64_t statistic(const char *command, const char *what) {
  char line[64];
  const char *at;
  snprintf(line, sizeof line, "cmdstat_%s:", command);
  at = strstr(server_command(&real.at[0], "INFO commandstats"), line);
  at = at ? strstr(at, what) : NULL;
  return at ? strtoll(at + strlen(what), NULL, 10) : 0;
}

static int64_t calls(const char *command) { return statistic(command, "calls="); }

static void reset_statistics(void) { servers_command(&real, N, "CONFIG RESETSTAT"); }

/* Until the first server's handshake has been heard, which says what the server knows: commands may
   leave right behind it (R4), and a release that does is a script. */
static void await_handshake(void) {
  int looks;
  for (looks = 0; looks < REAL_LOOKS && !real_has_vote(&rl, 0); looks++) real_let_settle(&rl);
  CHECK(real_has_vote(&rl, 0));
}

static void cycles(int count) {
  for (; count > 0; count--) {
    real_hold(&rl, &lock, N, "native", REAL_TTL_MS);
    await_handshake();
    real_release(&rl, &lock, N, "native");
  }
}

static int releases_natively(void) {
  redlock_server_info info;
  CHECK_EQ(redlock_server_status(&rl, 0, &info), REDLOCK_OK);
  return info.native_release;
}

TEST(the_command_that_the_servers_know_is_used) { /* R21 */
  const char *native = known();
  reset_statistics();
  real_open(&rl, N, REAL_WAIT_MS);
  cycles(10);
  CHECK_EQ(releases_natively(), native != NULL);
  if (native) CHECK_EQ(calls(native), 10);
  CHECK_EQ(calls("eval"), native ? 1 : 1 + 10); /* the handshake's */
}

/* The right is taken away while a lock is held: its release is refused once, sent again as a script
   on a new connection, and so are all others. */
TEST(a_right_that_is_taken_away_loses_no_release) { /* R7 R15 R21 */
  const char *native = known();
  redlock_options options = real_options(REAL_WAIT_MS);
  if (!native) SKIP("the server knows neither DELEX nor DELIFEQ");
  servers_command(&real, N, "ACL SETUSER some reset on >some ~* +@all");
  options.username = options.password = "some";
  real_open_with(&rl, N, options);
  cycles(1);
  CHECK(releases_natively());
  real_hold(&rl, &lock, N, "native", REAL_TTL_MS);
  servers_command(&real, N, "ACL SETUSER some -%s", native);
  reset_statistics();
  real_release(&rl, &lock, N, "native"); /* gone from all: so they have been sent it again */
  cycles(4);
  CHECK_EQ(statistic(native, "rejected_calls="), 1);
  CHECK_EQ(calls("eval"), 1 + 5); /* the new connection's handshake */
  CHECK(!releases_natively());
  servers_command(&real, N, "ACL DELUSER some");
}

/* People have alerts on both. */
TEST(connections_leave_no_error) { /* R15 R21 */
  int i, with;
  real_await_votes(1, MAX_TTL_MS);
  reset_statistics();
  servers_command(&real, 1, "ACL LOG RESET");
  for (with = 0; with <= 1; with++)
    for (i = 0; i < 100; i++) {
      redlock_options options = real_options(REAL_WAIT_MS);
      options.max_ttl_ms = with ? MAX_TTL_MS : 0;
      real_open_with(&rl, 1, options);
      CHECK_EQ(redlock_acquire(&rl, &lock, "native", MAX_TTL_MS / 2, REAL_WAIT_MS), REDLOCK_OK);
      CHECK_EQ(redlock_extend(&rl, &lock, MAX_TTL_MS), REDLOCK_OK);
      CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
      redlock_close(&rl);
    }
  CHECK(server_info(&real.at[0], "total_error_replies:") <= 0); /* -1 before 6.2 */
  CHECK_EQ(*server_command(&real.at[0], "ACL LOG"), server_has_users(&real.at[0]) ? '\0' : '-');
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
