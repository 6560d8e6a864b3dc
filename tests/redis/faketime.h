/* faketime.h: a wall clock that a test sets for programs it starts, by libfaketime where that is
 * installed. Monotonic clocks go on as they are. */
#ifndef FAKETIME_H
#define FAKETIME_H

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char faketime_file[64]; /* "" = not in use */

/* Copies the library's path, or says no. */
static inline int faketime_find(char *path, size_t room) {
  static const char *const where[] = {
    "/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1",
    "/usr/local/lib*/faketime/libfaketime.so.1", "/usr/lib*/libfaketime.so.1"
  };
  size_t i;
  path[0] = '\0';
  for (i = 0; i < sizeof where / sizeof *where && !path[0]; i++) {
    glob_t found;
    if (glob(where[i], 0, NULL, &found) == 0) snprintf(path, room, "%s", found.gl_pathv[0]);
    globfree(&found);
  }
  return path[0] != '\0';
}

/* The wall clock of all programs started under it is so far off from now on. */
static inline void faketime_set(long seconds) {
  FILE *file = fopen(faketime_file, "w");
  if (!file) return;
  fprintf(file, "%+ld\n", seconds);
  fclose(file);
}

/* From now on programs are started under it. False = it is not installed. */
static inline int faketime_begin(void) {
  char library[256];
  int fd;
  if (!faketime_find(library, sizeof library)) return 0;
  strcpy(faketime_file, "/tmp/redlock-clock-XXXXXX");
  fd = mkstemp(faketime_file);
  if (fd < 0) return 0;
  close(fd);
  faketime_set(0);
  setenv("FAKETIME_TIMESTAMP_FILE", faketime_file, 1);
  setenv("FAKETIME_NO_CACHE", "1", 1);
  setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
  setenv("LD_PRELOAD", library, 1);
  return 1;
}

static inline void faketime_end(void) {
  unsetenv("LD_PRELOAD");
  if (faketime_file[0]) unlink(faketime_file);
  faketime_file[0] = '\0';
}

#endif
