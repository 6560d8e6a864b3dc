/* posix.c: which clock the POSIX back end reads, and what a forked child may do. */
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Every reading of a clock in the header goes through here. */
static int clocks_read, wrong_clocks;

static int counted_clock_gettime(clockid_t id, struct timespec *to) {
  clocks_read++;
#ifdef CLOCK_BOOTTIME
  wrong_clocks += id != CLOCK_BOOTTIME;
#else
  wrong_clocks += id == CLOCK_REALTIME;
#endif
  return clock_gettime(id, to);
}

#define clock_gettime counted_clock_gettime
#define time(x) (wrong_clocks++, (time_t)(x))
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
#undef clock_gettime
#undef time

#include "../check.h"

static redlock rl;
static redlock_lock lock, held;

/* Nobody listens on port 1 of this machine; no test below needs anybody to. */
static const char *const NOBODY = "127.0.0.1:1";

static void the_clock_counts_suspend_and_is_not_the_wall(void) { /* R2 */
  CHECK_EQ(redlock_init(&rl, NOBODY, NULL), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK(clocks_read > 0);
  CHECK_EQ(wrong_clocks, 0);
  redlock_close(&rl);
}

/* In the child: 0 = each call was refused. */
static int everything_is_refused(void) {
  int bad = 0;
  bad += redlock_acquire(&rl, &lock, "r", 1000, 0) != REDLOCK_INVALID;
  bad += redlock_start_acquire(&rl, &lock, "r", 1000, 0) != REDLOCK_INVALID;
  bad += redlock_extend(&rl, &held, 1000) != REDLOCK_INVALID;
  bad += redlock_start_extend(&rl, &held, 1000) != REDLOCK_INVALID;
  bad += redlock_release(&rl, &held) != REDLOCK_INVALID;
  bad += redlock_start_release(&rl, &held) != REDLOCK_INVALID;
  bad += redlock_cancel(&rl, &held) != REDLOCK_INVALID;
  bad += redlock_keep(&rl, &held, 0) != REDLOCK_INVALID;
  bad += redlock_resolve(&rl) != REDLOCK_INVALID;
  bad += redlock_step(&rl) != NULL;
  bad += redlock_wait(&rl, 0) != NULL;
  redlock_close(&rl);
  return bad;
}

static void a_forked_child_is_refused_everything(void) { /* R17 */
  int status = -1;
  pid_t child;
  CHECK_EQ(redlock_init(&rl, NOBODY, NULL), REDLOCK_OK);
  CHECK_EQ(redlock_start_acquire(&rl, &held, "r", 1000, 5000), REDLOCK_PENDING);
  child = fork();
  if (child == 0) _exit(everything_is_refused());
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQ(redlock_cancel(&rl, &held), REDLOCK_OK); /* the parent goes on */
  redlock_close(&rl);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(the_clock_counts_suspend_and_is_not_the_wall);
  RUN(a_forked_child_is_refused_everything);
  return check_end();
}
