/* minutes.h: how long a program of `make chaos` takes. */
#ifndef MINUTES_H
#define MINUTES_H

#include "tests/timing.h"

/* MINUTES from the environment; 2 without it. */
static inline int64_t minutes_wanted(void) {
  const char *text = getenv("MINUTES");
  return text && *text ? strtol(text, NULL, 10) : 2;
}

#endif
