/* keep.h: R19 and R20: whoever keeps a lock is told that it could not be extended keep_margin_ms
 * before its deadline, and holds it on: not later, but for a step, and not before. */
#ifndef SIM_KEEP_H
#define SIM_KEEP_H

#include "io.h"

static int clocks_work(void) { return !W.cfg.out_of_model && !W.odds[F_NO_CLOCK]; }

enum { QUEUED = 1 }; /* a phase: RL_PHASE_QUEUED */

/* Whoever comes first when only the margin is left has one extension tried: until that is over, the
 * lock is kept on. So it is while that waits for room in the ring (R11). */
static int64_t end_of_keeping_ms(const struct slot *s) {
  int64_t end_ms = s->deadline_ms - W.cfg.keep_margin_ms;
  if (s->lock.phase == QUEUED && s->lock.timer_ms == s->deadline_ms) return s->deadline_ms;
  return s->lock.t1_ms < end_ms ? end_ms : s->lock.t1_ms + W.cfg.server_timeout_ms;
}

/* After a step that began then, and has returned all that it had. Not at that time, if what came
 * last was that an extension has failed: the next step is due at once, and returns it. */
static void check_kept(struct client *c, int64_t began_ms) {
  for (int i = 0; clocks_work() && i < c->slots; i++) {
    struct slot *s = &c->slot[i];
    int64_t left = s->deadline_ms - began_ms;
    if (s->state != S_KEPT || began_ms < end_of_keeping_ms(s) || left <= 0) s->overdue = 0;
    else if (s->overdue++)
      slot_fails(s, "R20", "is still kept by the second step %lld ms before its deadline",
                 (long long)left);
  }
}

/* Before it sleeps: it must be told to come in time. */
static void check_alarm(struct client *c, struct slot *s, int64_t timeout_ms) {
  int64_t end_ms = end_of_keeping_ms(s), now_ms = client_ms(c);
  if (s->state != S_KEPT || now_ms >= s->deadline_ms || !clocks_work()) return;
  if (timeout_ms < 0 || now_ms + timeout_ms > larger(end_ms, now_ms) + 1)
    slot_fails(s, "R20", "is kept until %lld ms, timeout_ms says %lld",
               (long long)(end_ms - now_ms), (long long)timeout_ms);
}

/* It is given up, and no loss of it is what is told. */
static void check_given_up(const struct slot *s, int64_t left_ms) {
  redlock_status status = s->lock.status;
  if (status != REDLOCK_NO_QUORUM && (status != REDLOCK_LIMIT || !W.cfg.keep_margin_ms)) return;
  if (left_ms > 0) T->margins++;
  if (left_ms > W.cfg.keep_margin_ms || !W.cfg.keep_margin_ms)
    slot_fails(s, "R20", "is given up with status %d, and %lld ms remain", status,
               (long long)left_ms);
}

#endif
