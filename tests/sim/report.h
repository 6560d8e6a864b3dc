/* report.h: what the runs amount to, and what of it never happened. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "run.h"

static const char *const operation_names[OPERATIONS] = {"refused", "acquire", "extend", "release",
                                                        "lost"};
static const char *const status_names[STATUSES] = {"PENDING", "OK",        "TAKEN",
                                                   "NO_QUORUM", "EXPIRED", "CANCELLED",
                                                   "LIMIT",   "INVALID",   "SYSTEM"};
static const char *const vote_names[VOTES] = {"none",        "yes",   "taken",      "timeout",
                                              "unreachable", "error", "quarantined",
                                              "low",         "clock"};

/* Sums up plain counters. */
static void totals_add(struct totals *to, const struct totals *from) {
  big *a = (big *)(void *)to;
  const big *b = (const big *)(const void *)from;
  for (size_t i = 0; i < sizeof *to / sizeof *a; i++) a[i] += b[i];
}

static void print_progress(const struct totals *t, double seconds) {
  printf("%6.0f s  %llu seeds, %.2f days of client time, %llu operations, %llu grants, %llu "
         "adoptions\n", seconds, t->runs, (double)t->client_ms / 86400e3, t->operations, t->grants,
         t->adoptions);
  fflush(stdout);
}

/* 1 = it never happened */
static int print_count(const char *what, big times) {
  printf("  %-40.40s %14llu%s\n", what, times, times ? "" : "  NEVER");
  return times == 0;
}

static int print_steps(const struct totals *t) {
  char step[64];
  int never = 0;
  puts("steps of the proved models:");
  for (int i = 0; i < MODELS; i++)
    for (int k = 0; model_steps[i][k]; k++) {
      snprintf(step, sizeof step, "%-10s %s", model_names[i], model_steps[i][k]);
      never += print_count(step, t->step[i][k]);
    }
  return never;
}

static int print_coverage(const struct totals *t) {
  char ending[64];
  int never = 0;
  puts("faults:");
  for (int i = 0; i < FAULT_COUNT; i++) never += print_count(fault_text[i], t->fault[i]);
  puts("error replies:");
  for (int i = 1; i < STORE_ERRORS; i++) never += print_count(store_error(i), t->error_reply[i]);
  puts("statuses:");
  for (int i = 0; i < OPERATIONS; i++)
    for (int k = 0; k < STATUSES; k++) {
      if (!is_expected(i, k) && !t->status[i][k]) continue;
      snprintf(ending, sizeof ending, "%-10s %s", operation_names[i], status_names[k]);
      never += print_count(ending, t->status[i][k]);
    }
  puts("votes:");
  for (int i = 0; i < VOTES; i++) never += print_count(vote_names[i], t->vote[i]);
  never += print_steps(t);
  puts("checks that had something to look at, and what they look at:");
#define X(name, text) never += print_count(text, t->name);
  OCCASIONS(X)
#undef X
  return never;
}

static void print_totals(const struct totals *t) {
  puts("in all:");
#define X(name, text) (void)print_count(text, t->name);
  FIGURES(X)
#undef X
}

#endif
