/* grants.h: what the clients of a scene share with the process that judges it: each client notes
 * its own grants, in memory that both see. */
#ifndef GRANTS_H
#define GRANTS_H

#include "tests/timing.h"

#include <string.h>
#include <sys/mman.h>

enum { CLIENTS = 6, SERVERS = 3, GRANTS = 200000 };

struct grant {
  int64_t asked_us, granted_us; /* before the acquire was called, and after it had returned */
  int64_t done_us;              /* until then the client took the lock for its own */
  uint64_t token;
};

struct notes {
  volatile long grants, rounds;
  struct grant grant[GRANTS];
};

/* Written by one process each: the notes by their client, all else by the starter. */
struct board {
  volatile int stop, hush;              /* end; send nothing for now */
  volatile int64_t trusted_us[SERVERS]; /* when it was certainly running; INT64_MAX = it is not */
  struct notes notes[CLIENTS];
};

static struct board *board;

static inline int grants_open(void) {
  void *at = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 0;
  board = (struct board *)at;
  return 1;
}

static inline void grants_forget(void) {
  int i;
  board->stop = board->hush = 0;
  for (i = 0; i < CLIENTS; i++) board->notes[i].grants = board->notes[i].rounds = 0;
}

/* The grant is whole before it is counted. */
static inline void grants_note(struct notes *notes, struct grant grant) {
  if (notes->grants == GRANTS) return;
  notes->grant[notes->grants] = grant;
  __sync_synchronize();
  notes->grants++;
}

/* ---- the judge ---- */

struct verdict {
  long grants, rounds;
  long overlapping; /* grants while another client still took the lock for its own */
  const char *fault; /* NULL = tokens are unique and ordered */
  uint64_t token;
};

static inline int compare_numbers(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static inline int by_token(const void *a, const void *b) {
  return compare_numbers(((const struct grant *)a)->token, ((const struct grant *)b)->token);
}

static inline int by_asked(const void *a, const void *b) {
  int64_t x = ((const struct grant *)a)->asked_us, y = ((const struct grant *)b)->asked_us;
  return (x > y) - (x < y);
}

static inline int by_granted(const void *a, const void *b) {
  int64_t x = ((const struct grant *)a)->granted_us, y = ((const struct grant *)b)->granted_us;
  return (x > y) - (x < y);
}

static inline void find_fault(struct verdict *v, const char *fault, uint64_t token) {
  if (v->fault) return;
  v->fault = fault;
  v->token = token;
}

static inline void judge_uniqueness(struct verdict *v, struct grant *all) {
  long i;
  qsort(all, (size_t)v->grants, sizeof *all, by_token);
  if (v->grants > 0 && all[0].token == 0) find_fault(v, "a grant without a token", 0);
  for (i = 1; i < v->grants; i++)
    if (all[i].token == all[i - 1].token) find_fault(v, "two grants have one token", all[i].token);
}

/* Each token is above all that had been returned before it was asked for. */
static inline void judge_order(struct verdict *v, struct grant *all, struct grant *ends) {
  uint64_t most = 0;
  long i, k = 0;
  memcpy(ends, all, (size_t)v->grants * sizeof *all);
  qsort(all, (size_t)v->grants, sizeof *all, by_asked);
  qsort(ends, (size_t)v->grants, sizeof *ends, by_granted);
  for (i = 0; i < v->grants; i++) {
    for (; k < v->grants && ends[k].granted_us < all[i].asked_us; k++)
      if (ends[k].token > most) most = ends[k].token;
    if (all[i].token <= most) find_fault(v, "a token is not above an earlier one", all[i].token);
  }
}

/* `ends` are in the order of the grants' return. */
static inline void count_overlaps(struct verdict *v, const struct grant *ends) {
  int64_t until = 0;
  long i;
  for (i = 0; i < v->grants; i++) {
    v->overlapping += ends[i].granted_us < until;
    if (ends[i].done_us > until) until = ends[i].done_us;
  }
}

/* Also while the clients are at work. */
static inline struct verdict grants_judge(void) {
  struct verdict v = {0, 0, 0, NULL, 0};
  size_t room = (size_t)CLIENTS * GRANTS * sizeof(struct grant);
  struct grant *all = malloc(room), *ends = malloc(room);
  int i;
  for (i = 0; all && ends && i < CLIENTS; i++) {
    long count = board->notes[i].grants;
    __sync_synchronize();
    memcpy(all + v.grants, board->notes[i].grant, (size_t)count * sizeof *all);
    v.grants += count;
    v.rounds += board->notes[i].rounds;
  }
  if (all && ends) {
    judge_uniqueness(&v, all);
    judge_order(&v, all, ends);
    count_overlaps(&v, ends);
  }
  free(all);
  free(ends);
  return v;
}

#endif
