/* wall.c: a wall clock that is off by as many microseconds as stand in a file; for LD_PRELOAD.
 * Only system calls, no calls of libc: allocators ask for the time before anything is set up,
 * which libfaketime does not survive under a server with jemalloc. */
#ifdef __linux__
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset; /* the file, mapped */

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("REDLOCK_WALL_CLOCK");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (at != MAP_FAILED) offset = at;
}

int clock_gettime(clockid_t id, struct timespec *t) {
  int64_t us;
  if (syscall(SYS_clock_gettime, id, t)) return -1;
  if (!offset || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return 0;
  us = (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000 + *offset;
  t->tv_sec = (time_t)(us / 1000000);
  t->tv_nsec = (long)(us % 1000000 * 1000);
  return 0;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
  struct timespec t;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &t)) return -1;
  to->tv_sec = t.tv_sec;
  to->tv_usec = t.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *to) {
  struct timespec t;
  if (clock_gettime(CLOCK_REALTIME, &t)) return -1;
  if (to) *to = t.tv_sec;
  return t.tv_sec;
}
#else
typedef int nothing_here;
#endif
