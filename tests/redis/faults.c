/* faults.c: servers that are killed, frozen, black-holed or come back. Latencies are compared with
 * those of the healthy set in the same run, and with the time-out that a waiting client would
 * pay, never with a number of milliseconds. */
#include "fixture.h"

enum { N = 5, CYCLES = 100, TIMEOUT_MS = 500 };

typedef void (*fault)(struct server *s);

/* What a cycle takes while all is well. */
static int64_t open_healthy(void) {
  real_open(&rl, N, TIMEOUT_MS);
  return real_cycle_us(&rl, CYCLES);
}

/* A client that waits for a lost server pays TIMEOUT_MS each time, so half of it is far off. */
static void check_latency(int64_t healthy_us) {
  int64_t us = real_cycle_us(&rl, CYCLES);
  printf("    median %ld us, healthy %ld us\n", (long)us, (long)healthy_us);
  CHECK(us < 5 * healthy_us + TIMEOUT_MS * 1000 / 2);
}

static void check_lost_minority(fault lose) {
  int64_t healthy_us = open_healthy();
  int i;
  for (i = 0; i < real_minority(N); i++) {
    lose(&real.at[i]);
    check_latency(healthy_us);
  }
}

TEST(a_killed_minority_costs_nothing) { check_lost_minority(server_kill); } /* R14 R16 */

TEST(a_frozen_minority_costs_nothing) { check_lost_minority(server_freeze); } /* R13 R16 */

TEST(a_black_holed_minority_costs_nothing) { /* R14 R16 */
  struct blackhole hole[2];
  char list[2 * SERVERS_LIST], healthy[SERVERS_LIST];
  int64_t healthy_us = open_healthy();
  int i;
  for (i = 0; i < real_minority(N); i++) blackhole_open(&hole[i]);
  snprintf(list, sizeof list, "127.0.0.1:%d,127.0.0.1:%d,%s", hole[0].port, hole[1].port,
           servers_list(&real, N - 2, healthy));
  redlock_close(&rl);
  real_open_list(&rl, list, TIMEOUT_MS);
  check_latency(healthy_us);
  for (i = 0; i < real_minority(N); i++) blackhole_close(&hole[i]);
}

/* Each call returns, and says why. What failed can be tried again: the lock is not given up. */
TEST(calls_to_a_frozen_majority_are_told_no_quorum) { /* R10 R19 R22 R23 */
  int i;
  real_open(&rl, N, 100);
  CHECK_EQ(redlock_acquire(&rl, &lock, "held", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  servers_freeze(&real, real_quorum(N));
  CHECK_EQ(redlock_acquire(&rl, &other, "r", REAL_TTL_MS, 300), REDLOCK_NO_QUORUM);
  CHECK(real_votes(&other, N, REDLOCK_VOTE_TIMEOUT) > real_minority(N));
  for (i = 0; i < real_quorum(N); i++) CHECK(redlock_server_error(&rl, i)[0] != '\0');
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_NO_QUORUM);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  CHECK_EQ(real_keys(N, "held"), real_minority(N));
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  heal();
  CHECK_EQ(redlock_acquire(&rl, &lock, "after", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
}

/* Two fail and come back, then two others fail: without the first there is no quorum. */
static void two_by_two(fault begin, fault end, uint32_t server_timeout_ms, int cycles) {
  int round;
  real_open(&rl, N, server_timeout_ms);
  for (round = 0; round < N; round++) {
    struct server *a = &real.at[round], *b = &real.at[(round + 1) % N];
    begin(a);
    begin(b);
    real_cycle_us(&rl, cycles);
    end(a);
    end(b);
  }
}

TEST(restarted_servers_are_joined_again) { /* R14 */
  two_by_two(server_kill, server_restart, REAL_PATIENT_MS, 3);
}

/* When they have caught up. */
TEST(thawed_servers_are_joined_again) { /* R13 */
  two_by_two(server_freeze, server_thaw, 100, 20);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
