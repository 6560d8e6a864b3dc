/* faults.c: servers that are killed, frozen, black-holed or come back. Latencies are compared with
 * those of the healthy set in the same run, and with the time-out that a waiting client would
 * pay, never with a number of milliseconds. */
#include "real.h"

enum { N = 5, CYCLES = 100, TIMEOUT_MS = 500 };

typedef void (*fault)(struct server *s);

/* R16: a client that waits for a lost server pays TIMEOUT_MS each time, so half of it is far off */
static void check_latency(redlock *rl, int64_t healthy_us) {
  int64_t us = real_cycle_us(rl, CYCLES);
  printf("    median %ld us, healthy %ld us\n", (long)us, (long)healthy_us);
  CHECK(us < 5 * healthy_us + TIMEOUT_MS * 1000 / 2);
}

/* What a cycle takes while all is well. */
static int64_t open_healthy(redlock *rl) {
  servers_heal(&real);
  real_open(rl, N, TIMEOUT_MS);
  return real_cycle_us(rl, CYCLES);
}

static void check_lost_minority(fault lose) {
  redlock rl;
  int64_t healthy_us = open_healthy(&rl);
  int i;
  for (i = 0; i < real_minority(N); i++) {
    lose(&real.at[i]);
    check_latency(&rl, healthy_us);
  }
  redlock_close(&rl);
}

TEST(killed_minority_costs_nothing) { check_lost_minority(server_kill); } /* R14 */

TEST(frozen_minority_costs_nothing) { check_lost_minority(server_freeze); } /* R13 */

static void list_with_holes(const struct blackhole *hole, int holes, char *list, size_t room) {
  char healthy[SERVERS_LIST];
  servers_list(&real, N - holes, healthy);
  snprintf(list, room, "127.0.0.1:%d", hole[0].port);
  if (holes > 1) snprintf(list + strlen(list), room - strlen(list), ",127.0.0.1:%d", hole[1].port);
  snprintf(list + strlen(list), room - strlen(list), ",%s", healthy);
}

/* R14 R16 */
TEST(black_holed_minority_costs_nothing) {
  struct blackhole hole[2];
  char list[2 * SERVERS_LIST];
  redlock rl;
  int64_t healthy_us = open_healthy(&rl);
  int i;
  redlock_close(&rl);
  for (i = 0; i < 2; i++) blackhole_open(&hole[i]);
  for (i = 1; i <= real_minority(N); i++) {
    list_with_holes(hole, i, list, sizeof list);
    real_open_list(&rl, list, TIMEOUT_MS);
    check_latency(&rl, healthy_us);
    redlock_close(&rl);
  }
  for (i = 0; i < 2; i++) blackhole_close(&hole[i]);
}

/* R10 R23: each call returns, and says why */
TEST(frozen_majority_is_no_quorum) {
  redlock rl;
  redlock_lock lock, held;
  int i;
  servers_heal(&real);
  real_open(&rl, N, 100);
  CHECK_EQ(redlock_acquire(&rl, &held, "held", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  servers_freeze(&real, real_quorum(N));
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 300), REDLOCK_NO_QUORUM);
  CHECK(real_votes(&lock, N, REDLOCK_VOTE_TIMEOUT) > real_minority(N));
  for (i = 0; i < real_quorum(N); i++) CHECK(redlock_server_error(&rl, i)[0] != '\0');
  CHECK_EQ(redlock_extend(&rl, &held, REAL_TTL_MS), REDLOCK_NO_QUORUM);
  CHECK_EQ(redlock_release(&rl, &held), REDLOCK_NO_QUORUM);
  servers_heal(&real);
  CHECK_EQ(redlock_acquire(&rl, &lock, "after", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  redlock_close(&rl);
}

/* Two fail and come back, then two others fail: without the first there is no quorum. */
static void two_by_two(void (*fail)(struct server *), void (*mend)(struct server *),
                       uint32_t server_timeout_ms, int cycles) {
  redlock rl;
  int round;
  servers_heal(&real);
  real_open(&rl, N, server_timeout_ms);
  for (round = 0; round < N; round++) {
    struct server *a = &real.at[round], *b = &real.at[(round + 1) % N];
    fail(a);
    fail(b);
    real_cycle_us(&rl, cycles);
    mend(a);
    mend(b);
  }
  redlock_close(&rl);
}

/* R14 */
TEST(restarted_servers_are_rejoined) {
  two_by_two(server_kill, server_restart, REAL_PATIENT_MS, 3);
}

/* R13: frozen ones are taken back when they have caught up */
TEST(thawed_servers_are_rejoined) { two_by_two(server_freeze, server_thaw, 100, 20); }

/* R12 R14: servers close idle connections; the next call is none the worse */
TEST(closed_connections_are_opened_again) {
  redlock rl;
  redlock_lock lock;
  int round;
  servers_heal(&real);
  real_open(&rl, N, REAL_PATIENT_MS);
  for (round = 0; round < 10; round++) {
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
    servers_command(&real, N, "CLIENT KILL TYPE normal");
    redlock_release(&rl, &lock);
    CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  }
  redlock_close(&rl);
}

/* R12 R14: a majority dies under a held lock, and the release says so instead of hanging */
TEST(release_without_a_majority_is_no_quorum) {
  redlock rl;
  redlock_lock lock;
  servers_heal(&real);
  real_open(&rl, N, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  servers_kill(&real, real_quorum(N));
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  redlock_close(&rl);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
