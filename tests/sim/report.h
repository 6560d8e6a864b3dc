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

/* 1 = it never happened */
static int print_count(const char *what, uint64_t times) {
  printf("  %-40.40s %12llu%s\n", what, (unsigned long long)times, times ? "" : "  NEVER");
  return times == 0;
}

static const struct {
  const char *text;
  size_t at; /* in the totals */
} occasions[] = {{"steps before their time", offsetof(struct totals, reasons)},
                 {"waiters that know a quorum to be free", offsetof(struct totals, wakes)},
                 {"holds of other programs", offsetof(struct totals, strangers)},
                 {"lies about ages", offsetof(struct totals, lies)},
                 {"times in which few attempts are due", offsetof(struct totals, paces)},
                 {"looks at locks that are free", offsetof(struct totals, frees)},
                 {"restarts under a kept lock", offsetof(struct totals, rolls)},
                 {"adoptions", offsetof(struct totals, adoptions)},
                 {"attempts to adopt that failed", offsetof(struct totals, adoptions_refused)},
                 {"waiters that must be granted", offsetof(struct totals, probes)},
                 {"attempts that must find a quorum", offsetof(struct totals, attempts_checked)}};

static int print_coverage(const struct totals *t) {
  char ending[64];
  int i, k, missing = 0;
  puts("faults:");
  for (i = 0; i < FAULT_COUNT; i++) missing += print_count(fault_text[i], t->fault[i]);
  puts("error replies:");
  for (i = 1; i < STORE_ERRORS; i++) missing += print_count(store_error(i), t->error_reply[i]);
  puts("statuses:");
  for (i = 0; i < OPERATIONS; i++)
    for (k = 0; k < STATUSES; k++) {
      if (!is_expected(i, k) && !t->status[i][k]) continue;
      snprintf(ending, sizeof ending, "%-10s %s", operation_names[i], status_names[k]);
      missing += print_count(ending, t->status[i][k]);
    }
  puts("votes:");
  for (i = 0; i < VOTES; i++) missing += print_count(vote_names[i], t->vote[i]);
  puts("checks that had something to look at, and what they look at:");
  for (i = 0; i < (int)(sizeof occasions / sizeof occasions[0]); i++)
    missing += print_count(occasions[i].text, *(const uint64_t *)(const void *)
                                              ((const char *)t + occasions[i].at));
  return missing;
}

static void print_totals(const struct totals *t, double seconds) {
  printf("%llu seeds in %.0f s: %.2f days of simulated time, %.2f days (%.3f years) of client "
         "time\n",
         (unsigned long long)t->runs, seconds, (double)t->simulated_ms / 86400e3,
         (double)t->client_ms / 86400e3, (double)t->client_ms / 86400e3 / 365.25);
  printf("%llu operations (%.0f a second), %llu grants, %llu extensions, %llu blocking calls, %llu "
         "roll-backs, %llu waiters and %llu attempts after healing, %llu events\n",
         (unsigned long long)t->operations, (double)t->operations / (seconds > 0 ? seconds : 1),
         (unsigned long long)t->grants, (unsigned long long)t->extensions,
         (unsigned long long)t->blocking, (unsigned long long)t->rolled_back,
         (unsigned long long)t->probes, (unsigned long long)t->attempts_checked,
         (unsigned long long)t->events);
  printf("%llu adoptions, %llu attempts at one that failed\n", (unsigned long long)t->adoptions,
         (unsigned long long)t->adoptions_refused);
  if (t->fenced_runs)
    printf("tokens: %llu of %llu seeds, exclusion broken on purpose in %llu (%llu grants of two at "
           "once); %llu fenced grants, %llu of them there\n",
           (unsigned long long)t->fenced_runs, (unsigned long long)t->runs,
           (unsigned long long)t->broken_runs,
           (unsigned long long)t->fault[F_BROKEN_EXCLUSION], (unsigned long long)t->tokens,
           (unsigned long long)t->broken_tokens);
}

#endif
