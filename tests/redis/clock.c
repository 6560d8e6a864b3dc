/* clock.c: R2: the clock counts a suspend and does not know the wall clock. A suspend is played by
 * a time namespace whose boot clock is an hour ahead: this process enters it in the middle of a
 * hold, and every other clock goes on as it was. */
#include "fixture.h"
#include "wall.h"

#ifdef __linux__
#include <linux/sched.h>
int unshare(int flags); /* hidden by -std=c99 */
int setns(int fd, int type);
#endif

enum { N = 3, HOUR = 3600, HOUR_MS = HOUR * 1000, PASSED = 0, FAILED = 1, NOT_HERE = 2 };

static void hold(void) {
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
}

static int64_t read_ms(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) ? -1 : (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Runs it in a child, because the child's clocks do not come back. Its exit status. */
static int in_child(int (*story)(void)) {
  pid_t pid;
  fflush(stdout);
  pid = fork();
  if (pid == 0) {
    int result = story();
    _exit(check.bad ? FAILED : result);
  }
  return real_end_of(pid);
}

/* ---- suspend ---- */

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

/* A held lock, and a kept one. */
static int suspended(void) {
  real_open(&rl, N, REAL_PATIENT_MS);
  hold();
  CHECK_EQ(redlock_acquire(&rl, &other, "kept", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &other, 0), REDLOCK_OK);
  if (!boot_clock_leaps()) return NOT_HERE;
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_EXPIRED);
  CHECK(redlock_step(&rl) == &other);
  CHECK_EQ(other.operation, REDLOCK_LOST);
  CHECK_EQ(other.status, REDLOCK_EXPIRED);
  redlock_close(&rl);
  return PASSED;
}

TEST(a_suspend_ends_a_lock_that_is_held_or_kept) { /* R2 R22 */
  int result = in_child(suspended);
  if (result == NOT_HERE) SKIP("no time namespaces here, or not permitted");
  CHECK_EQ(result, PASSED);
}

/* ---- the wall ---- */

static int wall_moves(void) {
  time_t was = time(NULL);
  wall_set(HOUR);
  return time(NULL) - was >= HOUR;
}

static void check_step(long seconds) {
  int64_t left_ms = redlock_remaining_ms(&rl, &lock);
  wall_set(seconds);
  CHECK(left_ms > 0 && redlock_remaining_ms(&rl, &lock) <= left_ms);
  CHECK(left_ms - redlock_remaining_ms(&rl, &lock) < REAL_TTL_MS / 4);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
}

/* In a program started with a clock of its own, by the test below. */
static int stepped(const char *list, const char *file) {
  snprintf(wall_path, sizeof wall_path, "%s", file);
  if (!wall_moves()) return NOT_HERE;
  real_open_list(&rl, list, REAL_PATIENT_MS);
  hold();
  check_step(HOUR);
  check_step(-HOUR);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
  return check.bad ? FAILED : PASSED;
}

/* The sanitizer, where there is one, wants to be the first library. */
static int start_stepped(void) {
  char list[SERVERS_LIST];
  setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
  execl("/proc/self/exe", "clock", "--stepped", servers_list(&real, N, list), wall_path,
        (char *)NULL);
  return NOT_HERE;
}

TEST(a_step_of_the_wall_clock_is_not_seen) { /* R2 */
  int result;
  wall_begin();
  result = in_child(start_stepped);
  wall_end();
  if (result == NOT_HERE) SKIP("no preloaded library sets the clock here");
  CHECK_EQ(result, PASSED);
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "--stepped") == 0) return stepped(argv[2], argv[3]);
  return fixture_main(argc, argv, N);
}
