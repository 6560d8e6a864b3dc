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
                                              "unreachable", "error", "quarantined"};

/* Sums up plain counters. */
static void totals_add(struct totals *to, const struct totals *from) {
  uint64_t *a = (uint64_t *)(void *)to;
  const uint64_t *b = (const uint64_t *)(const void *)from;
  size_t i;
  for (i = 0; i < sizeof *to / sizeof *a; i++) a[i] += b[i];
}

static void print_progress(const struct totals *t, double seconds) {
  uint64_t faults = 0;
  int i;
  for (i = 0; i < FAULT_COUNT; i++) faults += t->fault[i];
  printf("%6.0f s  %llu seeds, %.2f days of client time, %llu operations, %llu grants, %llu "
         "extensions, %llu faults\n",
         seconds, (unsigned long long)t->runs, (double)t->client_ms / 86400e3,
         (unsigned long long)t->operations, (unsigned long long)t->grants,
         (unsigned long long)t->extensions, (unsigned long long)faults);
  fflush(stdout);
}

/* Which status an operation can end with. INVALID stands for every call out of order. */
static int is_expected(int operation, int status) {
  static const char *const expected[OPERATIONS] = {"7", "123458", "13468", "13458", "468"};
  return strchr(expected[operation], '0' + status) != NULL;
}

static int print_coverage(const struct totals *t) {
  int i, k, missing = 0;
  puts("faults:");
  for (i = 0; i < FAULT_COUNT; i++) {
    printf("  %-40s %12llu%s\n", fault_text(i), (unsigned long long)t->fault[i],
           t->fault[i] ? "" : "  NEVER");
    missing += t->fault[i] == 0;
  }
  puts("error replies:");
  for (i = 1; i < STORE_ERRORS; i++) {
    printf("  %-40.40s %12llu%s\n", store_error(i), (unsigned long long)t->error_reply[i],
           t->error_reply[i] ? "" : "  NEVER");
    missing += t->error_reply[i] == 0;
  }
  puts("statuses:");
  for (i = 0; i < OPERATIONS; i++)
    for (k = 0; k < STATUSES; k++) {
      if (!is_expected(i, k) && !t->status[i][k]) continue;
      printf("  %-10s %-29s %12llu%s\n", operation_names[i], status_names[k],
             (unsigned long long)t->status[i][k], t->status[i][k] ? "" : "  NEVER");
      missing += t->status[i][k] == 0;
    }
  puts("votes:");
  for (i = 0; i < VOTES; i++) {
    printf("  %-40s %12llu%s\n", vote_names[i], (unsigned long long)t->vote[i],
           t->vote[i] ? "" : "  NEVER");
    missing += t->vote[i] == 0;
  }
  return missing;
}

static void print_totals(const struct totals *t, double seconds) {
  printf("%llu seeds in %.0f s: %.2f days of simulated time, %.2f days (%.3f years) of client "
         "time\n",
         (unsigned long long)t->runs, seconds, (double)t->simulated_ms / 86400e3,
         (double)t->client_ms / 86400e3, (double)t->client_ms / 86400e3 / 365.25);
  printf("%llu operations (%.0f a second), %llu grants, %llu extensions, %llu blocking calls, %llu "
         "roll-backs, %llu waiters after healing, %llu events\n",
         (unsigned long long)t->operations, (double)t->operations / (seconds > 0 ? seconds : 1),
         (unsigned long long)t->grants, (unsigned long long)t->extensions,
         (unsigned long long)t->blocking, (unsigned long long)t->rolled_back,
         (unsigned long long)t->probes, (unsigned long long)t->events);
}

#endif
