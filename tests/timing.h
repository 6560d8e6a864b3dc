/* timing.h: a clock and the median, for figures that are compared within one run. */
#ifndef TIMING_H
#define TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline int64_t timing_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t timing_ms(void) { return timing_us() / 1000; }

static inline int timing_compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static inline int64_t timing_median(int64_t *figures, int count) {
  qsort(figures, (size_t)count, sizeof *figures, timing_compare);
  return figures[count / 2];
}

#endif
