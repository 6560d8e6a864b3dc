/* wall.h: the wall clock of programs that a test starts, set by the test (preload/wall.c).
 * Monotonic clocks go on as they are. */
#ifndef WALL_H
#define WALL_H

#include "tests/servers.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Holds the microseconds by which the chosen clock is off; "" = not in use. */
static char wall_path[SERVERS_PATH];

static inline void wall_set_us(int64_t us) {
  int fd = open(wall_path, O_RDWR);
  if (fd < 0) return;
  if (pwrite(fd, &us, sizeof us, 0) < 0) perror(wall_path);
  close(fd);
}

static inline void wall_set(long seconds) { wall_set_us((int64_t)seconds * 1000000); }

/* The library lies beside this program. */
static inline int wall_library(char *path, size_t room) {
  static const char name[] = "wall.so";
  ssize_t size = readlink("/proc/self/exe", path, room - sizeof name);
  if (size < 0) return 0;
  path[size] = '\0';
  strcpy(strrchr(path, '/') + 1, name);
  return access(path, R_OK) == 0;
}

/* One of several clocks: programs that are started from now on live by it, and wall_set sets it.
   Set it before the first one starts. */
static inline void wall_choose(int number) {
  snprintf(wall_path, sizeof wall_path, "%s/wall%d", servers_folder(), number);
  close(open(wall_path, O_RDWR | O_CREAT, 0600));
  setenv("REDLOCK_WALL_CLOCK", wall_path, 1);
}

/* From now on programs are started under it, where that is possible: by a link, for the path of a
   preloaded library may hold no blank. */
static inline void wall_begin(void) {
  char library[512], link[SERVERS_PATH];
  if (!wall_library(library, sizeof library)) return;
  snprintf(link, sizeof link, "%s/wall.so", servers_folder());
  if (symlink(library, link)) perror(link);
  wall_choose(0);
  wall_set(0);
  setenv("LD_PRELOAD", link, 1);
}

static inline void wall_end(void) { unsetenv("LD_PRELOAD"); }

#endif
