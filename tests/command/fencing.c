/* fencing.c: --fencing gives COMMAND a token (R25), and --status shows the servers' clocks. */
#include "tests/command/command.h"

#include "tests/redis/wall.h"

/* Servers that have just started vote after 3 s and what an uptime may be off. Less would be lost
   on a busy machine. */
#define FENCED "$redlock -t 3s --max-ttl 3s --fencing job -- "

static unsigned long long token_of_a_run(void) {
  CHECK_EQ(shell(FENCED "sh -c 'echo $REDLOCK_TOKEN' 2>/dev/null"), 0);
  return strtoull(output(), NULL, 10);
}

TEST(each_run_has_a_greater_token) { /* R25 */
  unsigned long long first = token_of_a_run();
  CHECK(first > 1000000000000000);
  CHECK(token_of_a_run() > first);
}

TEST(no_other_token_is_handed_on) {
  CHECK_PRINTS("<>\n", 0, "REDLOCK_TOKEN=1 $redlock job -- sh -c 'echo \"<$REDLOCK_TOKEN>\"'");
}

TEST(fencing_needs_the_longest_ttl) {
  refuses("--fencing job -- true", "--fencing needs --max-ttl");
}

/* One machine, one clock: all within a minute of each other. One of them is what the others are
   compared with, and has no sign. */
TEST(status_shows_the_clocks) {
  CHECK_SAYS("CLOCK", 0, "$redlock --status");
  if (server_info(&real.at[0], "server_time_usec:") < 0) SKIP("before 6.2 no server tells");
  CHECK(says(" 0.000s  ok") && !says("+0.000s") && !says("-0.000s"));
  CHECK_PRINTS("3\n", 0,
               "$redlock --status | grep -Ec ' [+-]?[0-5]?[0-9][.][0-9]{3}s  ok$'");
}

/* Two are left, an hour apart. A server that has just started votes after 3 s. */
TEST(a_clock_that_is_far_off_is_told) {
  wall_begin();
  if (!*wall_path) SKIP("no library can be loaded first");
  wall_set(3600);
  server_restart(&real.at[1]);
  wall_end();
  server_kill(&real.at[2]);
  CHECK_SAYS_ONCE("its clock is far from the others': set it, and keep it right by NTP", 121,
                  "$redlock -w 5s -t 3s --max-ttl 3s --fencing job -- true");
  server_kill(&real.at[1]);
}

int main(int argc, char **argv) { return command_main(argc, argv, 3); }
