/* many.c: hundreds of locks in flight on one client, with far fewer places in its ring. */
#include "real.h"

enum { N = 5, LOCKS = 300 };

static redlock rl;
static redlock_lock locks[LOCKS];
static int decided[LOCKS];

static void name_lock(char name[24], int i) { snprintf(name, 24, "many-%d", i); }

static void start_acquires(void) {
  char name[24];
  int i;
  for (i = 0; i < LOCKS; i++) {
    name_lock(name, i);
    locks[i].user = &decided[i];
    CHECK_EQ(redlock_start_acquire(&rl, &locks[i], name, REAL_TTL_MS, REAL_WAIT_MS),
             REDLOCK_PENDING);
  }
}

static void start_releases(void) {
  int i;
  for (i = 0; i < LOCKS; i++) CHECK_EQ(redlock_start_release(&rl, &locks[i]), REDLOCK_PENDING);
}

/* Each decision is returned once: as many as there are locks, and then none. */
static void await_all(redlock_operation operation) {
  int i, left = LOCKS;
  int64_t end = timing_ms() + REAL_WAIT_MS;
  memset(decided, 0, sizeof decided);
  while (left > 0 && timing_ms() < end) {
    redlock_lock *lock = redlock_wait(&rl, REAL_LOOK_MS);
    if (!lock) continue;
    left--;
    ++*(int *)lock->user;
    CHECK_EQ(lock->operation, operation);
    CHECK_EQ(lock->status, REDLOCK_OK);
  }
  CHECK_EQ(left, 0);
  for (i = 0; i < LOCKS; i++) CHECK_EQ(decided[i], 1);
  CHECK(redlock_wait(&rl, 0) == NULL);
}

static void acquire_and_release_all(int keys) {
  start_acquires();
  await_all(REDLOCK_ACQUIRE);
  CHECK(server_number(&real.at[N - 1], "DBSIZE") <= LOCKS);
  CHECK_EQ(real_keys_settle(&rl, N, "many-0", keys), keys);
  start_releases();
  await_all(REDLOCK_RELEASE);
  CHECK_EQ(real_keys_settle(&rl, N, "many-0", 0), 0);
}

static void check_empty(int first) {
  int i, looks;
  for (i = first; i < N; i++) {
    for (looks = 0; looks < REAL_LOOKS && server_number(&real.at[i], "DBSIZE") > 0; looks++)
      redlock_wait(&rl, REAL_LOOK_MS);
    CHECK_EQ(server_number(&real.at[i], "DBSIZE"), 0);
  }
}

/* R8 R11 */
TEST(three_hundred_locks_are_decided_once_each) {
  int round;
  servers_heal(&real);
  real_open(&rl, N, REAL_PATIENT_MS);
  for (round = 0; round < 3; round++) acquire_and_release_all(N);
  check_empty(0);
  redlock_close(&rl);
}

/* R11 R16 */
TEST(three_hundred_locks_with_a_minority_killed) {
  servers_heal(&real);
  servers_kill(&real, 2);
  real_open(&rl, N, REAL_PATIENT_MS);
  acquire_and_release_all(N - 2);
  check_empty(2);
  redlock_close(&rl);
}

/* R11 R13 R16: the frozen ones lag further behind than the ring is long */
TEST(three_hundred_locks_with_a_minority_frozen) {
  servers_heal(&real);
  real_open(&rl, N, 200);
  real_cycle_us(&rl, 3);
  servers_freeze(&real, 2);
  acquire_and_release_all(N - 2);
  server_thaw(&real.at[0]);
  server_thaw(&real.at[1]);
  check_empty(0);
  redlock_close(&rl);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
