/* native.c: releases by DELEX or DELIFEQ on servers that know one of them, and by the script where
 * the user must not. Servers that know neither get none. */
#include "fixture.h"

enum { N = 3 };

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

static void cycles(int count) {
  for (; count > 0; count--) {
    real_hold(&rl, &lock, N, "native");
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
  if (native) CHECK_EQ(calls(native), 1 + 10); /* the trial, which finds no key */
  CHECK_EQ(calls("eval"), native ? 0 : 10);
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
  real_hold(&rl, &lock, N, "native");
  servers_command(&real, N, "ACL SETUSER some -%s", native);
  reset_statistics();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  cycles(4);
  CHECK_EQ(real_keys(N, "native"), 0);
  CHECK_EQ(statistic(native, "rejected_calls="), 2); /* and the next trial */
  CHECK_EQ(calls("eval"), 5);
  CHECK(!releases_natively());
  servers_command(&real, N, "ACL DELUSER some");
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
