/* clock.c: R2: the clock counts a suspend. (That it is not the wall clock shows fake/posix.c.) A
 * suspend is played by a time namespace whose boot clock is an hour ahead: a process enters it in
 * the middle of a hold, and every other clock goes on as it was. */
#include "fixture.h"

#include <fcntl.h>

#ifdef __linux__
#include <linux/sched.h>
int unshare(int flags); /* hidden by -std=c99 */
int setns(int fd, int type);
#endif

enum { N = 3, HOUR = 3600, HOUR_MS = HOUR * 1000, PASSED = 0, FAILED = 1, NOT_HERE = 2 };

static int64_t read_ms(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) ? -1 : (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#ifdef CLONE_NEWTIME
static int leap(void) {
  static const char offset[] = "boottime 3600 0\n";
  int fd, good;
  if (unshare(CLONE_NEWTIME) && unshare(CLONE_NEWUSER | CLONE_NEWTIME)) return 0;
  fd = open("/proc/self/timens_offsets", O_WRONLY);
  good = fd >= 0 && write(fd, offset, sizeof offset - 1) == sizeof offset - 1;
  close(fd);
  fd = open("/proc/self/ns/time_for_children", O_RDONLY);
  good = good && fd >= 0 && setns(fd, CLONE_NEWTIME) == 0;
  close(fd);
  return good;
}

static int boot_clock_leaps(void) {
  int64_t boot = read_ms(CLOCK_BOOTTIME), monotonic = read_ms(CLOCK_MONOTONIC);
  if (!leap()) return 0;
  CHECK(read_ms(CLOCK_BOOTTIME) - boot >= HOUR_MS);
  CHECK(read_ms(CLOCK_MONOTONIC) - monotonic < HOUR_MS);
  return 1;
}
#else
static int boot_clock_leaps(void) { return 0; }
#endif

/* A held lock, and a kept one. In a child, because its clocks do not come back. */
static int suspended(void) {
  real_open(&rl, N, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &other, "kept", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &other, 0), REDLOCK_OK);
  if (!boot_clock_leaps()) return NOT_HERE;
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_EXPIRED);
  CHECK(redlock_step(&rl) == &other);
  CHECK_EQ(other.operation, REDLOCK_LOST);
  CHECK_EQ(other.status, REDLOCK_EXPIRED);
  redlock_close(&rl);
  return check.bad ? FAILED : PASSED;
}

TEST(a_suspend_ends_a_lock_that_is_held_or_kept) { /* R2 R22 */
  int result;
  pid_t pid;
  fflush(stdout);
  pid = fork();
  if (pid == 0) _exit(suspended());
  result = real_end_of(pid);
  if (result == NOT_HERE) SKIP("no time namespaces here, or not permitted");
  CHECK_EQ(result, PASSED);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
