/* forget.c: forget [RUNS]: R24: two of five servers are down, and a holder has the lock on the
 * other three. One of these is killed and comes back empty, and the two are started: a majority
 * knows nothing of the lock. Nobody may get it before the holder's deadline. Without the
 * quarantine this must go wrong, or the test would prove nothing.
 *
 * Runs go on side by side, each worker with servers of its own. */
#include "fixture.h"

enum { N = 5, RUNS = 3, WORKERS = 5, CONTROL = -1, TTL_MS = 3000, TRIES = 5 };

static uint32_t ttl_ms = TTL_MS; /* longer, where the machine was too slow for that */

struct story {
  int64_t left_ms;  /* of the hold, once all five are running again */
  int64_t early_ms; /* of the hold, when the second client was granted: 0 is as it should be */
  int64_t took_ms;  /* what the second client waited */
};

static void open_one(redlock *client, int number) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  options.max_ttl_ms = number == CONTROL ? 0 : ttl_ms;
  real_open_with(client, N, options);
}

static void take(redlock *client, redlock_lock *taken, const char *resource) {
  CHECK_EQ(redlock_acquire(client, taken, resource, ttl_ms, REAL_WAIT_MS + ttl_ms), REDLOCK_OK);
}

/* While the lock lasts. Returns for how long. */
static int64_t check_keys(int wanted) {
  int keys = real_keys(N, "r");
  int64_t left_ms = redlock_remaining_ms(&rl, &lock);
  if (left_ms > 0) CHECK_EQ(keys, wanted);
  return left_ms;
}

/* Each run loses other servers. In every other one the second client has seen the servers before,
   and times their return on its own clock: that is the sharpest case. */
static struct story play(int number) {
  struct story story;
  struct server *lost[3];
  int i;
  int64_t start;
  for (i = 0; i < 3; i++) lost[i] = &real.at[(number + N + i) % N];
  heal();
  open_one(&rl, number);
  open_one(&rival, number);
  if (number % 2) take(&rival, &other, "seen");
  server_kill(lost[0]);
  server_kill(lost[1]);
  take(&rl, &lock, "r");
  check_keys(3);
  server_kill(lost[2]);
  for (i = 0; i < 3; i++) server_restart(lost[i]);
  story.left_ms = check_keys(2);
  start = timing_ms();
  take(&rival, &other, "r");
  story.early_ms = redlock_remaining_ms(&rl, &lock);
  story.took_ms = timing_ms() - start;
  redlock_release(&rival, &other);
  close_both();
  return story;
}

/* The machine was so slow that the lock ran out before the servers were back, or before the second
   client had one that it must get too early. */
static int proves_nothing(int number, struct story story) {
  return story.left_ms == 0 || (number == CONTROL && story.early_ms == 0);
}

static void judge(int number) {
  struct story story;
  int tries = 0;
  do {
    ttl_ms = (uint32_t)TTL_MS << tries;
    story = play(number);
  } while (proves_nothing(number, story) && ++tries < TRIES);
  printf("    run %d: %ld ms left, the second client waits %ld ms\n", number, (long)story.left_ms,
         (long)story.took_ms);
  CHECK(story.left_ms > 0);
  CHECK_EQ(story.early_ms > 0, number == CONTROL);
}

/* ---- workers ---- */

static int runs = RUNS;

/* Every so many runs one, on servers of its own. The exit status: what failed. */
static void work(int first, int last, int step, pid_t parent) {
  int number;
  check.bad = 0;
  servers_start(&real, N, "");
  for (number = first; number <= last && getppid() == parent; number += step) judge(number);
  servers_stop(&real);
  exit(check.bad < 100 ? check.bad : 100);
}

static pid_t start_worker(int first, int last, int step) {
  pid_t parent = getpid(), pid;
  fflush(stdout);
  pid = fork();
  if (pid == 0) work(first, last, step, parent);
  return pid;
}

/* Beside them one without the quarantine: there two hold it. */
TEST(nobody_gets_a_held_lock_from_servers_that_forgot) { /* R24 */
  pid_t pids[WORKERS + 1];
  int i, workers = runs < WORKERS ? runs : WORKERS;
  for (i = 0; i < workers; i++) pids[i] = start_worker(i, runs - 1, workers);
  pids[workers] = start_worker(CONTROL, CONTROL, 1);
  for (i = 0; i <= workers; i++) CHECK_EQ(real_end_of(pids[i]), 0);
}

/* Its servers are the workers'. */
int main(int argc, char **argv) {
  runs = argc > 1 ? atoi(argv[1]) : RUNS;
  return fixture_main(1, argv, 0);
}
