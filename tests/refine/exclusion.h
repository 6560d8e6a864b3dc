/* exclusion.h: locks are taken, held, extended, adopted, put back and let go by steps of
 * ../induct/exclusion.py.
 *
 *   begin_acquire      the first SET of a value has been sent
 *   begin_extension    an extension has, or a SET of a lock that is held (R29)
 *   execute_...        a server has done it. A value that is put back appears, and is extended
 *   grant              a lock, or a deadline that has moved, is seen: by the YES that it shows
 *   stop               a release has been sent: then nothing may be left of it
 *   release, expire    a key goes, by a command or by itself
 *   appear             a key comes: of another program, or put back
 *   restart, tick      a server is up again; clocks go on
 *
 * An extension's round is not seen, only its commands. So each moment in which one is sent begins a
 * round, and each that runs counts for all of them that ask for no longer a ttl: the model lets a
 * command run at any time after T1, any number of times. The grant says which round it was.
 *
 * T1 as read is told by the deadline, when it is seen: it lies the validity before that (R1). The
 * client read it before it sent anything, so it is no later than its clock was as the round began.
 *
 * With max_ttl_ms = 0, R24 asks for nothing: then a server that comes back with all its keys has
 * stood still, and what another lacks had run out. */
#ifndef REFINE_EXCLUSION_H
#define REFINE_EXCLUSION_H

/* ---- The mapping: what the model's words are. The world says what the others are ---- */

#define X_now (X.now)
#define X_value_of(a) value_at(a)
#define X_extends(r) ((r)->extends)
#define X_adopts(r) ((r)->adopts)
#define X_replaced(r) ((r)->replaced)
#define X_of(q, x) ((int)((q) >> (x)&1))
#define X_started(x) (X.started[x])
#define X_begun(r) ((r)->begun)
#define X_t1(r) ((double)(r)->t1)
#define X_read(r) ((double)(r)->read)
#define X_read_most(r) ((double)(r)->read_most)
#define X_voted(r, x) ((int)((r)->voted >> (x)&1))
#define X_granted(r) ((r)->granted)
#define X_quorum(r) ((r)->quorum)
#define X_adopted(r) ((r)->adopted)
#define X_stopped(a) ((a)->stopped)
#define X_present(x) (X.key[X.resource][x].present)
#define X_value(x) (X.key[X.resource][x].value)
#define X_expiry(x) (X.key[X.resource][x].expiry)

#define X_SET_now(v) (X.now = (v))
#define X_SET_started(x, v) (X.started[x] = (v))
#define X_SET_begun(r, v) ((r)->begun = (v))
#define X_SET_t1(r, v) ((r)->t1 = (model_time)(v))
#define X_SET_read(r, v) ((r)->read = (model_time)(v))
#define X_SET_voted(r, x, v) add_server(&(r)->voted, x, v)
#define X_SET_granted(r, v) ((r)->granted = (v))
#define X_SET_quorum(r, v) ((r)->quorum = (model_servers)(v))
#define X_SET_adopted(r, v) ((r)->adopted = (v))
#define X_SET_stopped(a, v) ((a)->stopped = (v))
#define X_SET_present(x, v) (X.key[X.resource][x].present = (v))
#define X_SET_value(x, v) (X.key[X.resource][x].value = (model_value)(v))
#define X_SET_expiry(x, v) (X.key[X.resource][x].expiry = (v))

#define X_EACH_Srv(x) for (int x = 0; x < servers_here(); x++)
#define X_EACH_Rnd_with_value_of_attempt(r, v) X_EACH_Rnd_with_attempt(r, exclusion_att_of(v))
#define X_TAKEN(i) (T->step[MODEL_EXCLUSION][i]++)

#include "induct/emitted/exclusion.h"

static inline void exclusion_ticks_server(int x);
static inline double exclusion_reads(exclusion_att a);

static inline void exclusion_step(const char *why, const char *step, exclusion_att a, int x) {
  refine_step(why, step, X.resource, a ? X_value_of(a) : -1, x);
}

/* ---- Rounds begin, and attempts stop ---- */

static inline void exclusion_has_begun(exclusion_rnd r, const char *why) {
  exclusion_att a = X_attempt(r);
  exclusion_step(why, r->extends ? "begin_extension" : "begin_acquire", a, -1);
  exclusion_step(exclusion_says_axiom_1(r), "round", a, -1);
  exclusion_step(exclusion_says_axiom_4(r), "round", a, -1);
  exclusion_step(exclusion_says_axiom_5(r), "round", a, -1);
}

static inline void exclusion_begin_set(exclusion_att a, const struct seen *m) {
  exclusion_rnd r = exclusion_new_round(a, m->ttl_ms, 0, exclusion_reads(a));
  r->adopts = m->kind == SEEN_SWAP;
  r->replaced = (model_value)m->replaced;
  exclusion_has_begun(r, exclusion_begin_acquire(r, X_read_most(r)));
  if (a->gives_up) exclusion_step(exclusion_stop(a), "stop", a, -1);
}

static inline void exclusion_begin_another(exclusion_att a, int64_t ttl_ms, double reads,
                                           int by_set) {
  exclusion_rnd r = exclusion_new_round(a, ttl_ms, 1, reads);
  r->by_set = (uint8_t)by_set;
  exclusion_has_begun(r, exclusion_begin_extension(r, X_read_most(r)));
}

/* Once at each moment. */
static inline void exclusion_begin_more(exclusion_att a, int64_t ttl_ms, int by_set) {
  double reads = exclusion_reads(a);
  EACH_EXTENSION(r, a)
    if (X_t1(r) >= X_now && r->ttl_ms == ttl_ms && X_read_most(r) >= reads) return;
  exclusion_begin_another(a, ttl_ms, reads, by_set);
}

/* A SET that puts a key back asks for the lock's longest ttl (R29). What its round asks for is told
 * by its scripts, on other servers and perhaps later: max_hold_ms may leave less. */
static inline void exclusion_script_tells(exclusion_att a, int64_t ttl_ms) {
  EACH_EXTENSION(r, a) {
    if (r->by_set && r->ttl_ms > ttl_ms) r->ttl_ms = (int32_t)ttl_ms;
    r->by_set = 0;
  }
}

/* It has left, or will. */
static inline void exclusion_sent(const struct seen *m) {
  exclusion_att a = exclusion_att_of(m->value);
  if (m->kind == SEEN_NOTHING || m->value < 0) return;
  X.resource = m->resource;
  if (m->kind == SEEN_RELEASE) {
    a->gives_up = 1; /* perhaps before a SET of it has left whole, on another connection */
    if (X_first(a) && !a->stopped) exclusion_step(exclusion_stop(a), "stop", a, -1);
  } else if (m->kind != SEEN_EXTENSION && !a->granted) {
    if (!X_first(a)) exclusion_begin_set(a, m);
  } else if (m->kind != SEEN_SWAP) {
    if (m->kind == SEEN_EXTENSION) exclusion_script_tells(a, m->ttl_ms);
    exclusion_begin_more(a, m->ttl_ms, m->kind != SEEN_EXTENSION);
  }
}

/* ---- Servers ---- */

/* What has gone or come since, by no command of a client. Another program lets go as it likes. 1 =
 * a key has gone */
static inline int exclusion_sync(int x, int resource) {
  struct key_seen k = key_seen(x, resource);
  int gone;
  X.resource = resource;
  exclusion_ticks_server(x);
  gone = X_present(x) && (!k.present || k.value != X_value(x));
  if (gone) {
    if (X_value(x) < 0) X_SET_present(x, 0);
    else refine_step(exclusion_expire(x), "expire", resource, X_value(x), x);
  }
  if (!X_present(x) && k.present)
    refine_step(exclusion_appear(x, k.value, k.end), "appear", resource, k.value, x);
  return gone;
}

/* The world and the model hold the same. Servers count whole milliseconds. */
static inline void exclusion_agrees(int x) {
  struct key_seen k = key_seen(x, X.resource);
  if (k.present != X_present(x) || (k.present && k.value != X_value(x)))
    refine_step("another value is there", "agreement", X.resource, k.value, x);
  else if (k.present && k.value >= 0 && !is_end(k.end, X_expiry(x)))
    refine_step("its end is another", "agreement", X.resource, k.value, x);
}

/* What the proof claims of a vote for whoever holds it: that it lasts, and that a quorum has the
 * value or cannot vote. If it fails, this was no run of the model. */
static inline void exclusion_claims_of(exclusion_rnd r, int x) {
  T->lasts += (unsigned)X_voted(r, x);
  exclusion_step(exclusion_says_a_vote_lasts(r, x), "claim", X_attempt(r), x);
  exclusion_step(exclusion_says_a_quorum_has_the_value_or_cannot_vote(r, x), "claim", X_attempt(r),
                 x);
}

/* The theorem. */
static inline void exclusion_excludes(exclusion_att a, exclusion_att b) {
  X_EACH_Rnd_with_attempt(r, a)
    if (r->granted)
      X_EACH_Rnd_with_attempt(q, b) {
        T->pairs++;
        exclusion_step(exclusion_says_exclusion(r, q), "claim", a, -1);
      }
}

/* For each round that asks for no more. why: what is wrong if there is none */
static inline void exclusion_extended(exclusion_att a, int x, int64_t ttl_ms, const char *why) {
  EACH_EXTENSION(r, a) {
    if (r->ttl_ms > ttl_ms) continue;
    if ((why = exclusion_execute_extension(r, x)) != NULL) break;
  }
  exclusion_step(why, "execute_extension", a, x);
}

static inline void exclusion_was_set(int x, exclusion_att a, const struct seen *m) {
  exclusion_rnd first = X_first(a);
  if (m->kind == SEEN_SWAP) {
    exclusion_step(first ? exclusion_execute_swap(first, x) : "begun(r)", "execute_swap", a, x);
  } else if (!a->granted || (first->ttl_ms == m->ttl_ms && !first->adopts)) {
    exclusion_step(first ? exclusion_execute_set(first, x) : "begun(r)", "execute_set", a, x);
    if (a->granted) exclusion_extended(a, x, m->ttl_ms, NULL); /* perhaps it was put back */
  } else {
    exclusion_step(exclusion_appear(x, m->value, X_server_clock(x) + lasts_at_server(m->ttl_ms)),
                   "appear", a, x);
    exclusion_extended(a, x, m->ttl_ms, NULL);
  }
}

static inline void exclusion_ran(int x, const struct seen *m, const struct effect *e) {
  exclusion_att a = exclusion_att_of(m->value);
  int does = e->kind == EFFECT_SET || e->kind == EFFECT_EXTENDED || e->kind == EFFECT_DELETED ||
             e->kind == EFFECT_BLIND;
  X.resource = m->resource;
  if (does && m->value < 0) {
    refine_step("it obeys a value that nobody drew", "command", X.resource, m->value, x);
  } else if (does && m->kind == SEEN_RELEASE) {
    exclusion_step(exclusion_release(a, x), "release", a, x);
  } else if (e->kind == EFFECT_EXTENDED) {
    if (m->kind != SEEN_EXTENSION) exclusion_begin_more(a, m->ttl_ms, 0); /* it found itself */
    exclusion_extended(a, x, m->ttl_ms, "begun(r)");
  } else if (does) {
    exclusion_was_set(x, a, m);
  }
  if (!has_failed()) exclusion_agrees(x);
}

static inline void exclusion_restarted(int x) {
  for (int i = 0; i < resources_here(); i++) {
    struct key_seen k = key_seen(x, i);
    exclusion_ticks_server(x);
    X.resource = i;
    if (!judges_restarts()) (void)exclusion_sync(x, i);
    else refine_step(exclusion_restart(x, k.present, k.value, k.end), "restart", i, -1, x);
  }
}

/* ---- Users ---- */

/* Whether that round may have given this deadline, by these votes. */
static inline const char *exclusion_grant_by(exclusion_rnd r, int64_t deadline_ms, uint32_t q) {
  double read = as_the_client_reads(X_attempt(r), deadline_ms - valid_ms(r->ttl_ms));
  const char *why;
  if (read > X_read_most(r)) return "(read <= client_clock(attempt(r)))";
  if ((why = exclusion_grant(r, q)) != NULL) return why;
  X_SET_read(r, read - ROUNDING);
  return exclusion_says_T1(r);
}

/* By one of its rounds that may still be won. q: 0 = the votes show the next one already */
static inline const char *exclusion_grant_more(exclusion_att a, int64_t deadline_ms, uint32_t q) {
  const char *why = "begun(r)", *other;
  EACH_EXTENSION(r, a) {
    if (!q && !is_quorum(r->voted)) continue;
    other = exclusion_grant_by(r, deadline_ms, q ? q : r->voted);
    if (!other) return NULL;
    if (strncmp(other, "(read", 5) || !strcmp(why, "begun(r)")) why = other;
  }
  return why;
}

static inline void exclusion_granted(exclusion_att a, int64_t deadline_ms, uint32_t q, int is_kept,
                                     int adopts) {
  const char *why = "begun(r)", *step = a->granted ? "grant of an extension" : "grant";
  exclusion_rnd first = X_first(a);
  if (!is_quorum(q) && !(is_kept && a->granted)) why = "it is a quorum";
  else if (a->granted) why = exclusion_grant_more(a, deadline_ms, is_quorum(q) ? q : 0);
  else if (first)
    why = first->adopts != adopts ? "adopts(r)" : exclusion_grant_by(first, deadline_ms, q);
  if (why && !strncmp(why, "(read", 5)) step = a->granted ? "begin_extension" : "begin_acquire";
  exclusion_step(why, step, a, -1);
  a->granted = 1;
  a->deadline_ms = deadline_ms;
}

/* A YES that a lock shows was said to its value, and counts: R4 R8 R19 R24. */
static inline void exclusion_shows(exclusion_att a, uint32_t q) {
  X_EACH_Rnd_with_attempt(r, a) {
    q &= ~(uint32_t)r->voted;
    if (!q) return;
  }
  if (q) exclusion_step("votes that were not cast", "look", a, -1);
}

#endif
