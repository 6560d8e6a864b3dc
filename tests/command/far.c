/* far.c: servers that are far away, or slow: whoever does not wait gets a lock, a status says so,
 * and what is too late is told with the time that it had (R10). */
#include "tests/command/far.h"

enum { N = 3, NO_QUORUM = 121, USAGE = 125 };

TEST(who_does_not_wait_gets_a_lock_from_the_other_side_of_the_earth) {
  check_is_near_enough("", "", 290, 4);
}

/* Farther than one attempt with this ttl reaches: the connection is there for the next one. */
TEST(a_status_does_not_deny_a_lock_that_a_waiter_gets) {
  char list[SERVERS_LIST];
  pid_t pids[N], waiter;
  far_start_all(pids, N, "", 400, list);
  use_servers("%s", list);
  waiter = start("exec $redlock -t 10s -w 30s job -- true");
  CHECK_SAYS("no answer within 500 ms (--server-timeout): is it frozen", NO_QUORUM,
             "$redlock -n -t 5s other -- true");
  CHECK_SAYS("3 of 3 servers can vote, 2 are needed: locks can be taken", 0,
             "$redlock -t 5s --status");
  CHECK_EQ(end_of(waiter), 0);
  CHECK_EQ(shell("$redlock -n -t 10s --server-timeout 4s other -- true"), 0);
  far_end_all(pids, N);
}

/* Behind a blackhole nobody answers: where the others are a quorum, a status soon waits no longer,
   and names the time that has passed. */
TEST(what_did_not_answer_is_told_with_the_time_that_it_had) {
  struct blackhole hole;
  blackhole_open(&hole);
  use_servers("127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", real.at[0].port, hole.port,
              real.at[1].port);
  CHECK_SAYS("no answer within 20", 0, "$redlock --status"); /* 20xx ms */
  CHECK(says(" ms (--server-timeout): is it frozen, overloaded or too far away?\n"));
  CHECK(says("2 of 3 servers can vote, 2 are needed: locks can be taken"));
  use_servers("127.0.0.1:%d", hole.port);
  CHECK_SAYS("no answer within 100 ms (--server-timeout): is it frozen, overloaded or too far "
             "away?\n", NO_QUORUM, "$redlock -n --server-timeout 0.1 job -- true");
  blackhole_close(&hole);
}

TEST(a_time_for_servers_fits_the_other_times) {
  static const char *const rows[][2] = {
    {"--server-timeout 0 job -- true", "--server-timeout 0 would be no limit"},
    {"--server-timeout 101s -t 1h job -- true", "--server-timeout can be at most 100s"},
    {"--server-timeout 1.1s -t 2s job -- true",
     "--server-timeout 1100ms is longer than half of --ttl 1s: give a shorter one"},
    {"--server-timeout 2s --max-ttl 6s -t 5s --fencing job -- true",
     "--server-timeout 2s is longer than a quarter of --max-ttl 1500ms: give a shorter one"},
    {"--fencing job -- true", "--fencing needs --max-ttl"}
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK_SAYS(rows[i][1], USAGE, "$redlock %s", rows[i][0]);
  CHECK_EQ(shell("$redlock --server-timeout 20s --status"), 0); /* which takes no lock */
}

int main(int argc, char **argv) { return command_main(argc, argv, N); }
