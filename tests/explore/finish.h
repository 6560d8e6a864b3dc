/* finish.h: a world left to itself, from any state: without more faults and without choices,
 * everything that is pending is decided in time (R9, R10), no key is left behind (R7), and nobody
 * polls (R26, R27). */
#ifndef EXPLORE_FINISH_H
#define EXPLORE_FINISH_H

#include "form.h"

enum { MOST_TURNS = 80, MOST_INSTANTS = 6000 };

static void print_step(int c) {
  struct event e;
  if (verbose) (void)add(&e, E_STEP, c, 0, 0), print_event(e);
}

static void apply_one(int kind, int c, int s, int arg) {
  struct event e;
  (void)add(&e, kind, c, s, arg);
  apply(e);
}

/* The servers do all that a client has sent. */
static int serve(int c) {
  int acted = 0;
  for (int e = 0; e < cfg.servers; e++) {
    const struct connection *k = &W.side[c].to[e];
    for (int z = 0; z < LOST; z++)
      while (W.side[c].lost[e][z].commands) apply_one(E_EXECUTE_LOST, c, e, z);
    while (k->open && !k->broken && !k->held && !W.server[server_of(e)].down && k->in.commands) {
      apply_one(E_EXECUTE, c, e, 0);
      acted = 1;
    }
  }
  return acted;
}

/* Numbers of values run short: looks which stand nowhere any more. */
static void save_numbers(int c) {
  if (W.side[c].drawn >> VALUES / 2 == 0) return;
  make_form();
  forget_values();
}

/* All that is due now, in one order. */
static void settle(void) {
  int more = 1;
  for (int turn = 0; more; turn++) {
    if (turn > MOST_TURNS) fail("R27: steps without end at one instant");
    more = 0;
    for (int c = 0; c < cfg.clients; c++) {
      more |= serve(c);
      save_numbers(c);
      if (!is_step_due(c)) continue;
      print_step(c);
      apply_one(E_STEP, c, 0, 0);
      more = 1;
    }
  }
}

/* heals: what stands still goes on; else it does so for ever. Nobody keeps a lock any longer. */
static void end_faults(int heals) {
  for (int s = 0; s < cfg.servers && heals; s++) {
    if (W.server[s].down) bring_up(s);
    W.server[s].failing = 0;
  }
  for (int c = 0; c < cfg.clients; c++) {
    W.side[c].paused = 0;
    for (int e = 0; e < cfg.servers && heals; e++) {
      struct connection *k = &W.side[c].to[e];
      k->held = k->full = k->slow = 0;
    }
    for (int l = 0; l < cfg.locks; l++)
      if (W.side[c].user[l].state == KEPT && !W.side[c].closed) {
        SAY("      (c%d cancels the keeping of lock %d)\n", c, l);
        make_call(c, l, CANCEL, 0);
      }
  }
}

static int count_pending(int waiters) {
  int n = 0;
  for (int c = 0; c < cfg.clients; c++)
    for (int l = 0; l < cfg.locks; l++)
      n += W.side[c].user[l].state == PENDING && (waiters || W.side[c].user[l].call != WAIT);
  return n;
}

/* R26: while nothing changes, a waiter makes next to no attempts: one each second and a few more.
   Only the second half is counted: until then all servers have told what they had to, and what is
   in quarantine has left it. */
static void stand_still(void) {
  int64_t began = W.now, next;
  unsigned long before = draws, most = (unsigned long)(cfg.still / 2000 + 2);
  while ((next = next_instant()) != INT64_MAX && next < began + cfg.still) {
    if (next < began + cfg.still / 2) before = draws;
    if (draws > before + most * (unsigned long)(cfg.locks * cfg.clients))
      fail("R26: a waiter polls");
    tick(next - W.now, 0);
    settle();
  }
}

static void finish(int heals) {
  int64_t began = W.now, next;
  int instants = 0, is_first = 1;
  calm = 1;
  end_faults(heals);
  for (;;) {
    settle();
    if (heals && is_first) check_residue();
    is_first = 0;
    if (!count_pending(heals && !cfg.still)) break;
    next = next_instant();
    if (next == INT64_MAX) fail("R10: a pending lock waits for ever for nothing");
    if (next - began > cfg.finish || ++instants > MOST_INSTANTS)
      fail("R9 R10: a pending lock is not decided in time");
    tick(next - W.now, 0);
    check_state();
  }
  if (heals && cfg.still && count_pending(1)) stand_still();
  calm = 0;
}

#endif
