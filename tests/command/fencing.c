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

int main(int argc, char **argv) {
  if (open_world(argc, argv, 3)) check_all();
  return close_world();
}
