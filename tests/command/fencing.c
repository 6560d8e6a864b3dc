/* fencing.c: --fencing gives COMMAND a token (R25), and --status shows the servers' clocks. */
#include "tests/command/command.h"

#include <stdlib.h>

/* Servers that have just started vote after 3 s and what an uptime may be off. Less would be lost
   on a busy machine. */
#define FENCED "$redlock -t 3s --max-ttl 3s --fencing job -- "

static unsigned long long token(const char *file) { return strtoull(read_work(file), NULL, 10); }

TEST(gives_a_greater_token_each_time) { /* R25 */
  fresh();
  CHECK_EQ(shell(FENCED "sh -c 'echo $REDLOCK_TOKEN >$work/first'"), 0);
  CHECK_EQ(shell(FENCED "sh -c 'echo $REDLOCK_TOKEN >$work/second'"), 0);
  CHECK(token("first") > 1000000000000000);
  CHECK(token("second") > token("first"));
}

TEST(hands_no_other_token_on) {
  fresh();
  CHECK_EQ(shell("REDLOCK_TOKEN=1 $redlock job -- sh -c 'echo \"<$REDLOCK_TOKEN>\"'"), 0);
  CHECK(strcmp(output(), "<>\n") == 0);
}

TEST(needs_the_longest_ttl) {
  fresh();
  CHECK_SAYS("--fencing needs --max-ttl", 125, "$redlock --fencing job -- true");
}

TEST(status_shows_the_clocks) {
  fresh();
  CHECK_SAYS("CLOCK", 0, "$redlock --status");
  if (server_info(&real.at[0], "server_time_usec:") < 0) SKIP("before 6.2 no server tells");
  CHECK_EQ(shell("$redlock --status | grep -Ec ' [+-]?[0-5]?[0-9][.][0-9]{3}s  ok$'"), 0);
  CHECK(strcmp(output(), "3\n") == 0); /* one machine, one clock: within a minute of each other */
}

/* One of them is what the others are compared with. */
TEST(no_difference_has_no_sign) {
  fresh();
  if (server_info(&real.at[0], "server_time_usec:") < 0) SKIP("before 6.2 no server tells");
  CHECK_SAYS(" 0.000s  ok", 0, "$redlock --status");
  CHECK(!says("+0.000s") && !says("-0.000s"));
}

/* Two are left, an hour apart. A server that has just started votes after 3 s. */
TEST(tells_of_a_clock_that_is_far_off) {
  char path[LINE];
  if (cannot_refuse()) SKIP("no library can be loaded first");
  fresh();
  snprintf(path, sizeof path, "%s/../command/refuse.so", getenv("here"));
  setenv("LD_PRELOAD", path, 1);
  setenv("REFUSE", "time", 1);
  server_kill(&real.at[1]);
  server_restart(&real.at[1]);
  unsetenv("LD_PRELOAD");
  unsetenv("REFUSE");
  server_kill(&real.at[2]);
  CHECK_SAYS("its clock is far from the others': set it, and keep it right by NTP", 121,
             "$redlock -w 5s -t 3s --max-ttl 3s --fencing job -- true");
  server_kill(&real.at[1]);
}

int main(int argc, char **argv) {
  if (open_world(argc, argv, 3)) check_all();
  return close_world();
}
