/* wall.h: the wall clock of programs that a test starts, set by the test (preload/wall.c).
 * Monotonic clocks go on as they are. */
#ifndef WALL_H
#define WALL_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char wall_path[64]; /* holds the seconds by which it is off; "" = not in use */

static inline void wall_set(long seconds) {
  int fd = open(wall_path, O_RDWR);
  if (fd < 0) return;
  if (pwrite(fd, &seconds, sizeof seconds, 0) < 0) perror(wall_path);
  close(fd);
}

/* The library lies beside this program. */
static inline int wall_library(char *path, size_t room) {
  static const char name[] = "wall.so";
  ssize_t size = readlink("/proc/self/exe", path, room - sizeof name);
  if (size < 0) return 0;
  path[size] = '\0';
  strcpy(strrchr(path, '/') + 1, name);
  return access(path, R_OK) == 0;
}

/* From now on programs are started under it, where that is possible. */
static inline void wall_begin(void) {
  char library[512];
  int fd;
  if (!wall_library(library, sizeof library)) return;
  strcpy(wall_path, "/tmp/redlock-wall-XXXXXX");
  fd = mkstemp(wall_path);
  if (fd >= 0) close(fd);
  wall_set(0);
  setenv("REDLOCK_WALL_CLOCK", wall_path, 1);
  setenv("LD_PRELOAD", library, 1);
}

static inline void wall_end(void) {
  unsetenv("LD_PRELOAD");
  if (wall_path[0]) unlink(wall_path);
  wall_path[0] = '\0';
}

#endif
