/* forget.c: forget [RUNS]: R24: two of five servers are down, and a holder has the lock on the
 * other three. One of these is killed and comes back empty, and the two are started: a majority
 * knows nothing of the lock. Nobody may get it before the holder's deadline. Without the
 * quarantine this must go wrong, or the test would prove nothing.
 *
 * Runs go on side by side, each worker with servers of its own. */
#include "real.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 5, RUNS = 3, WORKERS = 5, TTL_MS = 3000, TRIES = 5 };

static int runs = RUNS;

struct story {
  int number;
  uint32_t max_ttl_ms;
  redlock holder, other;
  redlock_lock held, wanted;
  int64_t left_ms;  /* of the hold, once all five are running again */
  int64_t early_ms; /* of the hold, when the second client was granted: 0 is as it should be */
  int64_t took_ms;  /* what the second client waited */
};

/* Each run loses other servers. */
static struct server *pick(const struct story *s, int i) { return &real.at[(s->number + i) % N]; }

static void open_one(const struct story *s, redlock *rl) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  options.max_ttl_ms = s->max_ttl_ms;
  real_open_with(rl, N, options);
}

static void take(redlock *rl, redlock_lock *lock, const char *resource) {
  CHECK_EQ(redlock_acquire(rl, lock, resource, TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
}

/* In every other run the second client has seen the servers before, and times their return on its
   own clock: that is the sharpest case. */
static void let_it_see_them(struct story *s) {
  open_one(s, &s->other);
  if (s->number % 2 == 0) return;
  take(&s->other, &s->wanted, "seen");
  redlock_release(&s->other, &s->wanted);
}

/* While the lock lasts. */
static void check_keys(struct story *s, int wanted) {
  int keys = real_keys(N, "r");
  s->left_ms = redlock_remaining_ms(&s->holder, &s->held);
  if (s->left_ms > 0) CHECK_EQ(keys, wanted);
}

static void hold_three(struct story *s) {
  open_one(s, &s->holder);
  server_kill(pick(s, 0));
  server_kill(pick(s, 1));
  take(&s->holder, &s->held, "r");
  check_keys(s, 3);
}

static void forget(struct story *s) {
  int i;
  server_kill(pick(s, 2));
  for (i = 0; i < 3; i++) server_restart(pick(s, i));
  check_keys(s, 2);
}

static void want_it(struct story *s) {
  int64_t start = timing_ms();
  take(&s->other, &s->wanted, "r");
  s->early_ms = redlock_remaining_ms(&s->holder, &s->held);
  s->took_ms = timing_ms() - start;
}

static void play(struct story *s) {
  servers_heal(&real);
  let_it_see_them(s);
  hold_three(s);
  forget(s);
  want_it(s);
  redlock_release(&s->other, &s->wanted);
  redlock_close(&s->other);
  redlock_close(&s->holder);
}

/* Again where the machine was so slow that the lock ran out before the servers were back. */
static struct story play_in_time(int number, uint32_t max_ttl_ms) {
  struct story s;
  int tries = 0;
  do {
    memset(&s, 0, sizeof s);
    s.number = number;
    s.max_ttl_ms = max_ttl_ms;
    play(&s);
  } while (s.left_ms == 0 && ++tries < TRIES);
  CHECK(s.left_ms > 0);
  return s;
}

/* R24 */
static void judge_run(int number) {
  struct story s = play_in_time(number, TTL_MS);
  printf("    run %d: %ld ms left, the second client waits %ld ms\n", number, (long)s.left_ms,
         (long)s.took_ms);
  CHECK_EQ(s.early_ms, 0);
}

static void judge_control(void) {
  struct story s = play_in_time(0, 0);
  printf("    both hold it for %ld ms\n", (long)s.early_ms);
  CHECK(s.early_ms > 0);
}

/* ---- workers ---- */

/* Every so many runs one; -1 = the run without the quarantine. The exit status: what failed. */
static void work(int first, int step, pid_t parent) {
  int number;
  check.bad = 0;
  servers_start(&real, N, "");
  if (first < 0) judge_control();
  for (number = first; first >= 0 && number < runs && getppid() == parent; number += step)
    judge_run(number);
  servers_stop(&real);
  exit(check.bad < 100 ? check.bad : 100);
}

static pid_t start_worker(int first, int step) {
  pid_t parent = getpid(), pid;
  fflush(stdout);
  pid = fork();
  if (pid == 0) work(first, step, parent);
  return pid;
}

static void await_worker(pid_t pid) {
  int status = -1;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 0);
}

static void nobody_gets_a_held_lock_from_servers_that_forgot(void) {
  pid_t pids[WORKERS];
  int i, workers = runs < WORKERS ? runs : WORKERS;
  for (i = 0; i < workers; i++) pids[i] = start_worker(i, workers);
  for (i = 0; i < workers; i++) await_worker(pids[i]);
}

static void without_the_quarantine_two_hold_it(void) { await_worker(start_worker(-1, 1)); }

int main(int argc, char **argv) {
  runs = argc > 1 ? atoi(argv[1]) : RUNS;
  check_start(1, argv);
  if (servers_missing()) {
    RUN(real_server_is_missing);
    return check_end();
  }
  RUN(without_the_quarantine_two_hold_it);
  RUN(nobody_gets_a_held_lock_from_servers_that_forgot);
  return check_end();
}
