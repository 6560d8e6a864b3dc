/* many.c: hundreds of locks in flight on one client, with far fewer places in its ring. */
#include "fixture.h"

enum { N = 5, LOST = 2, LOCKS = 300 };

static redlock_lock locks[LOCKS];
static int decided[LOCKS];

/* Each decision is returned once: as many as there are locks, and then none. */
static void await_all(redlock_operation operation) {
  int i, left = LOCKS;
  int64_t end = timing_ms() + REAL_WAIT_MS;
  memset(decided, 0, sizeof decided);
  while (left > 0 && timing_ms() < end) {
    redlock_lock *back = redlock_wait(&rl, REAL_LOOK_MS);
    if (!back) continue;
    left--;
    ++*(int *)back->user;
    CHECK_EQ(back->operation, operation);
    CHECK_EQ(back->status, REDLOCK_OK);
  }
  CHECK_EQ(left, 0);
  for (i = 0; i < LOCKS; i++) CHECK_EQ(decided[i], 1);
  CHECK(redlock_wait(&rl, 0) == NULL);
}

/* The frozen ones lag further behind than the ring is long. */
TEST(three_hundred_locks_bear_a_frozen_minority) { /* R8 R11 R13 R16 */
  char name[24];
  int i, looks;
  real_open(&rl, N, 200);
  real_cycle_us(&rl, 3);
  servers_freeze(&real, LOST);
  for (i = 0; i < LOCKS; i++) {
    snprintf(name, sizeof name, "many-%d", i);
    locks[i].user = &decided[i];
    CHECK_EQ(redlock_start_acquire(&rl, &locks[i], name, REAL_TTL_MS, REAL_WAIT_MS),
             REDLOCK_PENDING);
  }
  await_all(REDLOCK_ACQUIRE);
  CHECK(server_number(&real.at[N - 1], "DBSIZE") <= LOCKS);
  CHECK_EQ(real_keys_settle(&rl, N, "many-0", N - LOST), N - LOST);
  for (i = 0; i < LOCKS; i++) CHECK_EQ(redlock_start_release(&rl, &locks[i]), REDLOCK_PENDING);
  await_all(REDLOCK_RELEASE);
  servers_mend(&real);
  for (i = 0; i < N; i++) {
    for (looks = 0; looks < REAL_LOOKS && server_number(&real.at[i], "DBSIZE") > 0; looks++)
      redlock_wait(&rl, REAL_LOOK_MS);
    CHECK_EQ(server_number(&real.at[i], "DBSIZE"), 0);
  }
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
