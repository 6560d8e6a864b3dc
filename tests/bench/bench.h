/* bench.h: rounds, percentiles and rows. Every figure is a ratio within one run, or a count. */
#ifndef BENCH_H
#define BENCH_H

#include "tests/servers.h"
#include "tests/timing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  BENCH_SERVERS = 5,
  BENCH_QUORUM = 3,
  BENCH_ROUNDS = 7, /* of each row; the median of them is printed, and the least and most */
  BENCH_TTL_MS = 10000,
  BENCH_SAMPLES = 20000
};

/* One figure for each round. */
struct series {
  double at[BENCH_ROUNDS];
  int count;
};

/* Times of one round, in nanoseconds. */
struct samples {
  int64_t at[BENCH_SAMPLES];
  int count;
};

static inline int64_t bench_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void bench_die(const char *what) {
  fprintf(stderr, "bench: %s\n", what);
  exit(1);
}

static inline void bench_say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

/* Fewer rounds are asked for by ROUNDS in the environment. */
static inline int bench_rounds(void) {
  const char *wanted = getenv("ROUNDS");
  int rounds = wanted ? atoi(wanted) : BENCH_ROUNDS;
  return rounds > 0 && rounds < BENCH_ROUNDS ? rounds : BENCH_ROUNDS;
}

/* ---- samples ---- */

static inline void samples_add(struct samples *s, int64_t ns) {
  if (s->count < BENCH_SAMPLES) s->at[s->count++] = ns;
}

/* Sorts; the value that so many percent of the samples do not exceed. */
static inline double samples_percentile(struct samples *s, int percent) {
  int place = (int)((int64_t)s->count * percent / 100);
  if (s->count == 0) return 0;
  qsort(s->at, (size_t)s->count, sizeof *s->at, timing_compare);
  return (double)s->at[place < s->count ? place : s->count - 1];
}

/* ---- series ---- */

static inline void series_add(struct series *s, double figure) {
  if (s->count < BENCH_ROUNDS) s->at[s->count++] = figure;
}

static inline int series_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts; the value in the middle. */
static inline double series_median(struct series *s) {
  qsort(s->at, (size_t)s->count, sizeof *s->at, series_compare);
  return s->count ? s->at[s->count / 2] : 0;
}

/* "name  median  (least - most)  note" */
static inline void series_row(const char *name, struct series *s, const char *note) {
  double median = series_median(s);
  bench_say("  %-42s %8.2f   (%.2f - %.2f)  %s\n", name, median, s->at[0],
            s->at[s->count ? s->count - 1 : 0], note);
}

/* Of one of several subjects. */
static inline void series_row_of(const char *subject, const char *what, struct series *s,
                                 const char *note) {
  char name[64];
  snprintf(name, sizeof name, "%s: %s", subject, what);
  series_row(name, s, note);
}

static inline void bench_head(const char *title) {
  bench_say("\n%s\n  %-42s %8s   (least - most of %d rounds)\n", title, "", "median",
            bench_rounds());
}

/* Where a target stands beside a figure: at most, or at least, so much. */
static inline const char *bench_met(int met) { return met ? "target met" : "TARGET MISSED"; }

/* ---- servers ---- */

static inline void bench_servers(struct servers *set, int count) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (servers_missing()) bench_die(servers_missing());
  servers_start(set, count, "");
}

#endif
