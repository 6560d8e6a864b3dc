/* grants.h: what the clients of a scene share with the process that judges it: each client notes
 * its own grants, in memory that both see. */
#ifndef GRANTS_H
#define GRANTS_H

#include "tests/timing.h"

#include <poll.h>
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

/* Written by one process each: the notes by their client, all else by the starter; but by all
   clients the number of grants. */
struct board {
  volatile int stop, hush;              /* end; send nothing for now */
  volatile long granted;                /* of all clients, also those that are not noted yet */
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
  board->granted = 0;
  for (i = 0; i < CLIENTS; i++) board->notes[i].grants = board->notes[i].rounds = 0;
}

/* Called at each grant. One in so many of a client's, its first one among them, takes the lock for
   its own for ms, and then until the next grant: that is one to a second holder, however slow the
   machine. Only the last one granted waits, so there is always somebody who asks. Returns whether
   it did. */
static inline int grants_overstay(const struct notes *notes, int one_in, int ms) {
  long own = __sync_add_and_fetch(&board->granted, 1);
  if (notes->grants % one_in) return 0;
  do poll(NULL, 0, ms);
  while (board->granted == own && !board->stop);
  return 1;
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
};

static inline int by_granted(const void *a, const void *b) {
  return timing_compare(&((const struct grant *)a)->granted_us,
                        &((const struct grant *)b)->granted_us);
}

static inline void find_fault(struct verdict *v, const char *fault) {
  if (!v->fault) v->fault = fault;
}

/* tokens: room for all of them. None is greater than INT64_MAX. */
static inline void judge_uniqueness(struct verdict *v, const struct grant *all, int64_t *tokens) {
  long i;
  for (i = 0; i < v->grants; i++) tokens[i] = (int64_t)all[i].token;
  qsort(tokens, (size_t)v->grants, sizeof *tokens, timing_compare);
  if (v->grants > 0 && tokens[0] == 0) find_fault(v, "a grant without a token");
  for (i = 1; i < v->grants; i++)
    if (tokens[i] == tokens[i - 1]) find_fault(v, "two grants have one token");
}

/* Each token is above all that had been returned before it was asked for. most: room for the
   greatest of those up to each grant, which are in the order of their return. */
static inline void judge_order(struct verdict *v, const struct grant *all, int64_t *most) {
  long i, before;
  for (i = 0; i < v->grants; i++) {
    int64_t token = (int64_t)all[i].token;
    for (before = i; before > 0 && all[before - 1].granted_us >= all[i].asked_us;) before--;
    if (before > 0 && token <= most[before - 1])
      find_fault(v, "a token is not above an earlier one");
    most[i] = i > 0 && most[i - 1] > token ? most[i - 1] : token;
  }
}

static inline void count_overlaps(struct verdict *v, const struct grant *all) {
  int64_t until = 0;
  long i;
  for (i = 0; i < v->grants; i++) {
    v->overlapping += all[i].granted_us < until;
    if (all[i].done_us > until) until = all[i].done_us;
  }
}

/* Also while the clients are at work. */
static inline struct verdict grants_judge(void) {
  static struct grant all[CLIENTS * GRANTS];
  static int64_t room[CLIENTS * GRANTS];
  struct verdict v = {0, 0, 0, NULL};
  int i;
  for (i = 0; i < CLIENTS; i++) {
    long count = board->notes[i].grants;
    __sync_synchronize();
    memcpy(all + v.grants, board->notes[i].grant, (size_t)count * sizeof *all);
    v.grants += count;
    v.rounds += board->notes[i].rounds;
  }
  qsort(all, (size_t)v.grants, sizeof *all, by_granted);
  judge_uniqueness(&v, all, room);
  judge_order(&v, all, room);
  count_overlaps(&v, all);
  return v;
}

#endif
