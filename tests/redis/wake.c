/* wake.c: waiting on real servers, which tell when a lock is free again (R26). The rest that relies
 * on it lasts a second or two: what is noticed in half of that was pushed. */
#include "real.h"

enum { N = 3, LEAST_FALLBACK_MS = 1000, TURNS = 9, SETTLED_MS = 300 };

static redlock rl;
static redlock_lock lock;

static void on_all(const char *line) {
  servers_command(&real, N, "%s", line);
}

static void run_for(int64_t ms) {
  int64_t end = timing_ms() + ms;
  while (timing_ms() < end) (void)redlock_wait(&rl, end - timing_ms());
}

/* A waiter, in back-off for long, on what another client holds everywhere. */
static void wait_for(const char *held) {
  on_all(held);
  real_open(&rl, N, REAL_PATIENT_MS);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", REAL_TTL_MS, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(SETTLED_MS);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
}

static int64_t until_granted(void) {
  int64_t start = timing_ms();
  while (lock.status == REDLOCK_PENDING && timing_ms() - start < 20000)
    (void)redlock_wait(&rl, 1000);
  CHECK_EQ(lock.status, REDLOCK_OK);
  (void)redlock_release(&rl, &lock);
  redlock_close(&rl);
  return timing_ms() - start;
}

/* The median of a few, so that one slow turn of the machine is no matter. */
static void is_noticed(const char *held, const char *freed) {
  int64_t figures[TURNS];
  int turn;
  for (turn = 0; turn < TURNS; turn++) {
    wait_for(held);
    if (freed) on_all(freed);
    figures[turn] = until_granted();
    on_all("FLUSHALL");
  }
  if (!CHECK(timing_median(figures, TURNS) < LEAST_FALLBACK_MS / 2))
    printf("    %s: noticed after %lld ms\n", freed ? freed : "expiry",
           (long long)timing_median(figures, TURNS));
}

static int knows_hello(void) {
  return strncmp(server_command(&real.at[0], "HELLO 2"), "-ERR", 4) != 0;
}

TEST(a_release_is_noticed) { /* R26 */
  if (!knows_hello()) SKIP("before redis 6");
  is_noticed("SET r x PX 60000", "DEL r");
}

TEST(flushall_is_noticed) { /* R26 */
  if (!knows_hello()) SKIP("before redis 6");
  is_noticed("SET r x PX 60000", "FLUSHALL");
}

/* Seen by the server itself within a tenth of a second. */
TEST(expiry_is_noticed) { /* R26 */
  if (!knows_hello()) SKIP("before redis 6");
  is_noticed("SET r x PX 500", NULL);
}

TEST(a_release_by_the_same_client_is_noticed) { /* R26 */
  redlock_lock other;
  int64_t start;
  if (!knows_hello()) SKIP("before redis 6");
  real_open(&rl, N, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &other, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", REAL_TTL_MS, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(SETTLED_MS);
  start = timing_ms();
  CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
  (void)until_granted();
  CHECK(timing_ms() - start < LEAST_FALLBACK_MS / 2);
}

/* EVALs that the servers have run: each attempt after the first is one. */
static long scripts(void) {
  long sum = 0, calls;
  int i;
  for (i = 0; i < N; i++) {
    calls = server_info(&real.at[i], "cmdstat_eval:calls=");
    sum += calls > 0 ? calls : 0;
  }
  return sum;
}

TEST(waiting_costs_next_to_nothing) { /* R26 */
  long before;
  if (!knows_hello()) SKIP("before redis 6");
  wait_for("SET r x PX 60000");
  before = scripts();
  run_for(3000);
  CHECK(scripts() - before <= 3 * 2 * N); /* an attempt a second, and who is slow rolls it back */
  on_all("DEL r");
  (void)until_granted();
}

TEST(who_renames_hello_is_polled) { /* R26 */
  struct servers old;
  char list[SERVERS_LIST];
  servers_start(&old, 1, "--rename-command HELLO none");
  server_command(&old.at[0], "SET r x PX 1000");
  real_open_list(&rl, servers_list(&old, 1, list), REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 30000), REDLOCK_OK);
  CHECK_EQ(redlock_server_error(&rl, 0)[0], '\0');
  CHECK(server_info(&old.at[0], "cmdstat_eval:calls=") <= 0); /* plain SETs alone */
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
  servers_stop(&old);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
