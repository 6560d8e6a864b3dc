/* wall.h: the wall clock of programs that a test starts, set by the test (preload/wall.c).
 * Monotonic clocks go on as they are. */
#ifndef WALL_H
#define WALL_H

#include "tests/servers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char wall_path[SERVERS_PATH]; /* holds the seconds by which it is off; "" = not in use */

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

/* From now on programs are started under it, where that is possible: by a link, for the path of a
   preloaded library may hold no blank. */
static inline void wall_begin(void) {
  char library[512], link[SERVERS_PATH];
  if (!wall_library(library, sizeof library)) return;
  snprintf(link, sizeof link, "%s/wall.so", servers_folder());
  snprintf(wall_path, sizeof wall_path, "%s/wall", servers_folder());
  close(open(wall_path, O_RDWR | O_CREAT, 0600));
  if (symlink(library, link)) perror(link);
  wall_set(0);
  setenv("REDLOCK_WALL_CLOCK", wall_path, 1);
  setenv("LD_PRELOAD", link, 1);
}

static inline void wall_end(void) { unsetenv("LD_PRELOAD"); }

#endif
