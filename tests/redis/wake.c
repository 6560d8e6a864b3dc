/* wake.c: waiting on real servers, which push when a lock may be free again (R26). The back-off of
 * a waiter that counts on that lasts a second or two: what is noticed in half of it was pushed. */
#include "fixture.h"

enum { N = 3, LEAST_BACK_OFF_MS = 1000, TURNS = 5, SETTLED_MS = 300 };

static void start_waiting(void) {
  int64_t end = timing_ms() + SETTLED_MS;
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", REAL_TTL_MS, REDLOCK_FOREVER), REDLOCK_PENDING);
  while (timing_ms() < end) (void)redlock_wait(&rl, end - timing_ms());
  CHECK_EQ(lock.status, REDLOCK_PENDING);
}

static int64_t until_granted(void) {
  int64_t start = timing_ms();
  while (lock.status == REDLOCK_PENDING && timing_ms() - start < REAL_WAIT_MS)
    (void)redlock_wait(&rl, 1000);
  CHECK_EQ(lock.status, REDLOCK_OK);
  (void)redlock_release(&rl, &lock);
  return timing_ms() - start;
}

/* The median of a few, so that one slow turn of the machine is no matter. */
static void check_noticed(const char *held, const char *freed) {
  int64_t figures[TURNS], median;
  int turn;
  for (turn = 0; turn < TURNS; turn++) {
    servers_command(&real, N, "%s", held);
    real_open(&rl, N, REAL_PATIENT_MS);
    start_waiting();
    servers_command(&real, N, "%s", freed);
    figures[turn] = until_granted();
    redlock_close(&rl);
    heal();
  }
  median = timing_median(figures, TURNS);
  if (!CHECK(median < LEAST_BACK_OFF_MS / 2)) printf("    after %lld ms\n", (long long)median);
}

TEST(a_key_that_goes_is_noticed) { /* R26 */
  if (*server_command(&real.at[0], "HELLO 2") == '-') SKIP("no pushes before Redis 6");
  check_noticed("SET r x PX 60000", "DEL r");
  check_noticed("SET r x PX 60000", "FLUSHALL");
  check_noticed("SET r x PX 60000", "PEXPIRE r 100"); /* tried in vain once, then as it runs out */
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
