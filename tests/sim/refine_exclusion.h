/* refine_exclusion.h: locks are taken, held, extended, adopted, put back and let go by steps of
 * ../induct/exclusion.py.
 *
 *   begin_acquire      the last byte of the first SET of a value has been sent
 *   begin_extension    the last byte of an extension has, or of a SET of a lock that is held (R29)
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
#ifndef SIM_REFINE_EXCLUSION_H
#define SIM_REFINE_EXCLUSION_H

typedef struct exclusion_round *exclusion_rnd;
typedef struct exclusion_attempt *exclusion_att;
typedef long exclusion_val;
typedef uint32_t exclusion_quo;

enum { MAX_ROUNDS = 1 << 20, OPEN_ROUNDS = 256 }; /* that many extensions of a lock */

struct exclusion_round {
  exclusion_att att;
  exclusion_rnd next; /* of the attempt, the newest first */
  int begun, extends, adopts, granted, adopted;
  int by_set; /* begun by a SET that puts the key back, and no script has told its ttl */
  long replaced;
  uint32_t voted, quorum;
  int64_t ttl_ms;
  double t1, read, read_most; /* read_most: what its client's clock showed when it began */
};

struct exclusion_attempt {
  long value;
  int resource, gives_up, stopped, granted;
  exclusion_rnd rounds, first; /* first: its SET's */
  int64_t deadline_ms;
};

struct exclusion_key {
  int present;
  long value;
  double expiry;
};

struct exclusion_clock {
  ns base;          /* what it showed as the run began */
  double now, when; /* as scaled, at that true time */
};

static struct exclusion_model {
  exclusion_att att; /* by value */
  exclusion_rnd rnd;
  long atts, rnds;
  int resource;      /* whose model it is */
  double now, started[MAX_SERVERS];
  struct exclusion_key key[MAX_RESOURCES][MAX_SERVERS];
  struct exclusion_clock server[MAX_SERVERS], client[MAX_CLIENTS];
  exclusion_att holder[MAX_RESOURCES]; /* who was last granted it */
} X;

/* ---- The mapping: what the model's words are here, in nanoseconds ---- */

enum { ROUNDING_NS = 4, CLOCK_STEP_MS = 1 }; /* of a scaled clock; R2 */

static inline double fastest(void) { return 1 + W.cfg.rho_ppm * 1e-6; }
static inline double slowest(void) { return 1 - W.cfg.rho_ppm * 1e-6; }

/* R1 */
static inline int64_t validity_ms(int64_t ttl_ms) {
  return ttl_ms - (ttl_ms * W.cfg.drift_ppm + 999999) / 1000000 - 2;
}

/* The client of an attempt, by its value. */
static inline struct exclusion_clock *clock_of_client(exclusion_att a) {
  return &X.client[W.value[a->value].client];
}

#define X_now (X.now)
#define X_QA (W.cfg.quarantine_ms ? (double)W.cfg.quarantine_ms * 1e6 / fastest() : 1e17)
#define X_V(r) ((double)validity_ms((r)->ttl_ms) * 1e6 / slowest())
#define X_L(r) ((double)(r)->ttl_ms * 1e6 / fastest() - 2 * ROUNDING_NS)
#define X_attempt(r) ((r)->att)
#define X_value_of(a) ((a)->value)
#define X_extends(r) ((r)->extends)
#define X_adopts(r) ((r)->adopts)
#define X_replaced(r) ((r)->replaced)
#define X_of(q, x) ((int)((q) >> (x)&1))
#define X_server_clock(x) (X.server[x].now)
#define X_client_clock(a) (clock_of_client(a)->now)
#define X_started(x) (X.started[x])
#define X_begun(r) ((r)->begun)
#define X_t1(r) ((r)->t1)
#define X_read(r) ((r)->read)
#define X_voted(r, x) ((int)((r)->voted >> (x)&1))
#define X_granted(r) ((r)->granted)
#define X_quorum(r) ((r)->quorum)
#define X_adopted(r) ((r)->adopted)
#define X_stopped(a) ((a)->stopped)
#define X_present(x) (X.key[X.resource][x].present)
#define X_value(x) (X.key[X.resource][x].value)
#define X_expiry(x) (X.key[X.resource][x].expiry)

#define X_SET_now(v) (X.now = (v))
#define X_SET_server_clock(x, v) (X.server[x].now = (v))
#define X_SET_client_clock(a, v) (clock_of_client(a)->now = (v))
#define X_SET_started(x, v) (X.started[x] = (v))
#define X_SET_begun(r, v) ((r)->begun = (v))
#define X_SET_t1(r, v) ((r)->t1 = (v))
#define X_SET_read(r, v) ((r)->read = (v))
#define X_SET_voted(r, x, v) ((r)->voted |= (uint32_t)((v) != 0) << (x))
#define X_SET_granted(r, v) ((r)->granted = (v))
#define X_SET_quorum(r, v) ((r)->quorum = (v))
#define X_SET_adopted(r, v) ((r)->adopted = (v))
#define X_SET_stopped(a, v) ((a)->stopped = (v))
#define X_SET_present(x, v) (X.key[X.resource][x].present = (v))
#define X_SET_value(x, v) (X.key[X.resource][x].value = (v))
#define X_SET_expiry(x, v) (X.key[X.resource][x].expiry = (v))

#define X_EACH_Srv(x) for (int x = 0; x < W.cfg.servers; x++)
#define X_EACH_Rnd_with_attempt(r, a) for (exclusion_rnd r = (a)->rounds; r; r = r->next)
#define X_EACH_Rnd_with_value_of_attempt(r, v) X_EACH_Rnd_with_attempt(r, exclusion_att_of(v))
#define X_TAKEN(i) (T->step[MODEL_EXCLUSION][i]++)

/* The attempt that drew this value. That of another program has no rounds. */
static inline exclusion_att exclusion_att_of(long value) {
  static struct exclusion_attempt nobody;
  if (value < 0) return &nobody;
  if (value >= X.atts) X.atts = value + 1;
  X.att[value].value = value;
  return &X.att[value];
}

#include "induct/emitted/exclusion.h"

/* ---- Time ---- */

static inline double at_server(int x, ns local) {
  return (double)(local - X.server[x].base) / fastest();
}

static inline double at_client(int c, ns local) {
  return (double)(local - X.client[c].base) / slowest();
}

/* Which of the two a clock shows, that cannot be read more exactly. */
static inline double as_read(double clock, double bound) {
  double off = clock - bound;
  return off > -ROUNDING_NS && off < ROUNDING_NS ? bound : clock;
}

/* No server's clock gains on true time, and none of a client's falls behind it. Each is looked at
 * when something happens there: what the model asks of a tick, it asks of each clock. */
static inline void exclusion_tick_to_now(void) {
  if (X.now < (double)W.now)
    refine_step(exclusion_tick((double)W.now - X.now), "tick", X.resource, -1, -1);
}

static inline void exclusion_tick_server(int x) {
  struct exclusion_clock *k = &X.server[x];
  double d = (double)W.now - k->when, now = at_server(x, clock_at(&W.server[x].clock, W.now));
  exclusion_tick_to_now();
  if (now > k->now + d) now = as_read(now, k->now + d);
  refine_step(exclusion_tick_server_clock(x, now, d), "tick_server_clock", X.resource, -1, x);
  k->when = X.now;
}

static inline void exclusion_tick_client(exclusion_att a) {
  struct exclusion_clock *k = clock_of_client(a);
  int c = W.value[a->value].client;
  double d = (double)W.now - k->when, now = at_client(c, clock_at(&W.client[c].clock, W.now));
  exclusion_tick_to_now();
  if (now < k->now + d) now = as_read(now, k->now + d);
  refine_step(exclusion_tick_client_clock(a, now, d), "tick_client_clock", X.resource, a->value,
              -1);
  k->when = X.now;
}

static inline void exclusion_begins(void) {
  int i;
  if (!X.att) X.att = (exclusion_att)room_for(MAX_VALUES * sizeof *X.att);
  if (!X.rnd) X.rnd = (exclusion_rnd)room_for(MAX_ROUNDS * sizeof *X.rnd);
  memset(X.att, 0, (size_t)X.atts * sizeof *X.att);
  memset(&X.atts, 0, sizeof X - offsetof(struct exclusion_model, atts));
  for (i = 0; i < MAX_SERVERS; i++) {
    X.server[i].base = clock_at(&W.server[i].clock, W.now);
    X.started[i] = -1e18;
  }
  for (i = 0; i < MAX_CLIENTS; i++) X.client[i].base = clock_at(&W.client[i].clock, W.now);
}

/* ---- Rounds begin, and attempts stop ---- */

/* It begins now, if the model lets it. */
static inline exclusion_rnd exclusion_round_of(exclusion_att a, int64_t ttl_ms) {
  exclusion_rnd r = &X.rnd[X.rnds];
  if (X.rnds + 1 == MAX_ROUNDS) violation("refine: there is no room for another round");
  else X.rnds++;
  memset(r, 0, sizeof *r);
  r->att = a;
  r->ttl_ms = ttl_ms;
  exclusion_tick_client(a);
  r->read_most = X_client_clock(a);
  return r;
}

static inline void exclusion_has_begun(exclusion_rnd r, const char *why, const char *step) {
  exclusion_att a = r->att;
  refine_step(why, step, a->resource, a->value, -1);
  refine_step(exclusion_says_axiom_1(r), "round", a->resource, a->value, -1);
  refine_step(exclusion_says_axiom_4(r), "round", a->resource, a->value, -1);
  refine_step(exclusion_says_axiom_5(r), "round", a->resource, a->value, -1);
  r->next = a->rounds;
  a->rounds = r;
}

static inline void exclusion_begin_set(exclusion_att a, const struct seen *m) {
  exclusion_rnd r = exclusion_round_of(a, m->ttl_ms);
  r->adopts = m->kind == SEEN_SWAP;
  r->replaced = m->replaced;
  exclusion_has_begun(r, exclusion_begin_acquire(r, r->read_most), "begin_acquire");
  a->first = r;
  if (a->gives_up) refine_step(exclusion_stop(a), "stop", m->resource, m->value, -1);
}

/* Once at each moment. */
static inline void exclusion_begin_more(exclusion_att a, int64_t ttl_ms) {
  exclusion_rnd r = a->rounds;
  for (; r && r->t1 >= (double)W.now; r = r->next)
    if (r->extends && r->ttl_ms == ttl_ms) return;
  r = exclusion_round_of(a, ttl_ms);
  r->extends = 1;
  exclusion_has_begun(r, exclusion_begin_extension(r, r->read_most), "begin_extension");
}

/* A SET that puts a key back asks for the lock's longest ttl (R29). What its round asks for is told
 * by its scripts, on other servers and perhaps later: max_hold_ms may leave less. */
static inline void exclusion_script_tells(exclusion_att a, int64_t ttl_ms) {
  exclusion_rnd r = a->rounds;
  for (; r && r->by_set; r = r->next) {
    r->by_set = 0;
    if (r->ttl_ms > ttl_ms) r->ttl_ms = ttl_ms;
  }
}

/* It has left, or will. */
static inline void exclusion_sent(const struct seen *m) {
  exclusion_att a = exclusion_att_of(m->value);
  if (m->kind == SEEN_NOTHING || m->value < 0) return;
  X.resource = a->resource = m->resource;
  if (m->kind == SEEN_RELEASE) {
    a->gives_up = 1; /* perhaps before a SET of it has left whole, on another connection */
    if (a->first && !a->stopped)
      refine_step(exclusion_stop(a), "stop", m->resource, m->value, -1);
  } else if (m->kind != SEEN_EXTENSION && !a->granted) {
    if (!a->first) exclusion_begin_set(a, m);
  } else if (m->kind != SEEN_SWAP) {
    exclusion_rnd newest = a->rounds;
    if (m->kind == SEEN_EXTENSION) exclusion_script_tells(a, m->ttl_ms);
    exclusion_begin_more(a, m->ttl_ms);
    if (a->rounds != newest) a->rounds->by_set = m->kind != SEEN_EXTENSION;
  }
}

/* ---- Servers ---- */

static inline double end_of(int x, const struct key *k) {
  return k->expires_ms ? at_server(x, (k->expires_ms + 1) * MS) : 1e18;
}

static inline void exclusion_appears(int x, long value, double end) {
  refine_step(exclusion_appear(x, value, end), "appear", X.resource, value, x);
}

/* What has gone or come since, by no command of a client. Another program lets go as it likes. 1 =
 * a key has gone */
static inline int exclusion_sync(int x, int resource) {
  struct key *k = key_of(&W.server[x], resource, W.cfg.db);
  int gone;
  X.resource = resource;
  exclusion_tick_server(x);
  gone = X_present(x) && (!k || value_in(k) != X_value(x));
  if (gone) {
    if (X_value(x) < 0) X_SET_present(x, 0);
    else refine_step(exclusion_expire(x), "expire", resource, X_value(x), x);
  }
  if (!X_present(x) && k) exclusion_appears(x, value_in(k), end_of(x, k));
  return gone;
}

/* The world and the model hold the same. Servers count whole milliseconds. */
static inline void exclusion_agrees(int x) {
  struct key *k = key_of(&W.server[x], X.resource, W.cfg.db);
  double late;
  if ((k != NULL) != X_present(x) || (k && value_in(k) != X_value(x))) {
    violation("refine: server %d has value %ld of resource %d, the model %ld", x,
              k ? value_in(k) : -1, X.resource, X_present(x) ? X_value(x) : -1);
    return;
  }
  if (!k || X_value(x) < 0) return;
  late = (end_of(x, k) - X_expiry(x)) * fastest();
  if (late < -4 * ROUNDING_NS || late > 1e6 + 4 * ROUNDING_NS)
    violation("refine: server %d keeps value %ld of resource %d for %.0f ns more than the model", x,
              X_value(x), X.resource, late);
}

/* What the proof claims of the votes for whoever was last granted it: that they last, and that a
 * quorum has the value or cannot vote. If it fails, this was no run of the model. */
static inline void exclusion_claims(int x) {
  exclusion_att a = X.holder[X.resource];
  exclusion_rnd r = a ? a->rounds : NULL;
  if (a) exclusion_tick_client(a);
  for (; r; r = r->next) {
    if (!r->granted) continue;
    T->lasts += (unsigned)X_voted(r, x);
    refine_step(exclusion_says_a_vote_lasts(r, x), "claim", X.resource, a->value, x);
    refine_step(exclusion_says_a_quorum_has_the_value_or_cannot_vote(r, x), "claim", X.resource,
                a->value, x);
    if (r->extends) return; /* the newest */
  }
}

/* For each round that asks for no more. why: what is wrong if there is none */
static inline void exclusion_extended(exclusion_att a, int x, int64_t ttl_ms, const char *why) {
  exclusion_rnd r = a->rounds;
  int open = 0;
  for (; r && r->extends && open < OPEN_ROUNDS; r = r->next, open++) {
    if (r->ttl_ms > ttl_ms) continue;
    if ((why = exclusion_execute_extension(r, x)) != NULL) break;
  }
  refine_step(why, "execute_extension", X.resource, a->value, x);
}

static inline void exclusion_was_set(int x, exclusion_att a, const struct seen *m) {
  exclusion_rnd first = a->first;
  if (m->kind == SEEN_SWAP) {
    refine_step(first ? exclusion_execute_swap(first, x) : "begun(r)", "execute_swap", m->resource,
                m->value, x);
  } else if (!a->granted || (first->ttl_ms == m->ttl_ms && !first->adopts)) {
    refine_step(first ? exclusion_execute_set(first, x) : "begun(r)", "execute_set", m->resource,
                m->value, x);
    if (a->granted) exclusion_extended(a, x, m->ttl_ms, NULL); /* perhaps it was put back */
  } else {
    exclusion_appears(x, m->value, X_server_clock(x) + (double)m->ttl_ms * 1e6 / fastest());
    exclusion_extended(a, x, m->ttl_ms, NULL);
  }
}

static inline void exclusion_ran(int x, const struct seen *m, const struct effect *e) {
  exclusion_att a = exclusion_att_of(m->value);
  int does = e->kind == EFFECT_SET || e->kind == EFFECT_EXTENDED || e->kind == EFFECT_DELETED ||
             e->kind == EFFECT_BLIND;
  X.resource = m->resource;
  if (does && m->value < 0) {
    violation("refine: server %d obeys a value that nobody drew", x);
  } else if (does && m->kind == SEEN_RELEASE) {
    refine_step(exclusion_release(a, x), "release", m->resource, m->value, x);
  } else if (e->kind == EFFECT_EXTENDED) {
    if (m->kind != SEEN_EXTENSION) exclusion_begin_more(a, m->ttl_ms); /* it found itself there */
    exclusion_extended(a, x, m->ttl_ms, "begun(r)");
  } else if (does) {
    exclusion_was_set(x, a, m);
  }
  if (!W.failed) exclusion_agrees(x);
  if (!W.failed) exclusion_claims(x);
}

static inline void exclusion_restarted(int x) {
  int i;
  for (i = 0; i < W.cfg.resources; i++) {
    struct key *k = key_of(&W.server[x], i, W.cfg.db);
    exclusion_tick_server(x);
    X.resource = i;
    if (!W.cfg.quarantine_ms) (void)exclusion_sync(x, i);
    else
      refine_step(exclusion_restart(x, k != NULL, k ? value_in(k) : NOT_OURS, k ? end_of(x, k) : 0),
                  "restart", i, -1, x);
    if (!W.failed) exclusion_claims(x);
  }
}

/* ---- Users ---- */

/* Whether that round may have given this deadline, by these votes. */
static inline const char *exclusion_grant_by(exclusion_rnd r, int64_t deadline_ms, uint32_t q) {
  int64_t read_ms = deadline_ms - (validity_ms(r->ttl_ms) - CLOCK_STEP_MS);
  double read = at_client(W.value[r->att->value].client, read_ms * MS);
  const char *why;
  if (read > r->read_most) return "(read <= client_clock(attempt(r)))";
  if ((why = exclusion_grant(r, q)) != NULL) return why;
  X_SET_read(r, read - ROUNDING_NS);
  return exclusion_says_T1(r);
}

/* By one of its rounds that may still be won. q: 0 = the votes show the next one already */
static inline const char *exclusion_grant_more(exclusion_att a, int64_t deadline_ms, uint32_t q) {
  const char *why = "begun(r)", *other;
  exclusion_rnd r = a->rounds;
  int open = 0;
  for (; r && r->extends && open < OPEN_ROUNDS; r = r->next, open++) {
    if (!q && count_of(r->voted) < quorum()) continue;
    other = exclusion_grant_by(r, deadline_ms, q ? q : r->voted);
    if (!other) return NULL;
    if (strncmp(other, "(read", 5) || !strcmp(why, "begun(r)")) why = other;
  }
  return why;
}

/* The theorem. */
static inline void exclusion_holds(exclusion_att a) {
  exclusion_att b = X.holder[a->resource];
  exclusion_rnd r, q;
  if (b && b != a) {
    exclusion_tick_client(b);
    for (r = a->rounds; r; r = r->next)
      for (q = b->rounds; q && r->granted; q = q->next) {
        T->pairs++;
        refine_step(exclusion_says_exclusion(r, q), "claim", a->resource, a->value, -1);
      }
  }
  X.holder[a->resource] = a;
}

static inline void exclusion_granted(struct slot *s, exclusion_att a, int64_t deadline_ms) {
  uint32_t q = votes_shown(s);
  const char *why = "begun(r)", *step = a->granted ? "grant of an extension" : "grant";
  if (count_of(q) < quorum() && s->state != S_KEPT) why = "it is a quorum";
  else if (count_of(q) < quorum()) q = 0;
  if (!strcmp(why, "begun(r)") && a->granted) why = exclusion_grant_more(a, deadline_ms, q);
  else if (!strcmp(why, "begun(r)") && a->first)
    why = a->first->adopts == s->adopts ? exclusion_grant_by(a->first, deadline_ms, q)
                                        : "adopts(r)";
  if (why && !strncmp(why, "(read", 5)) step = a->granted ? "begin_extension" : "begin_acquire";
  refine_step(why, step, a->resource, a->value, -1);
  a->granted = 1;
  a->deadline_ms = deadline_ms;
  exclusion_holds(a);
}

/* A YES that a lock shows was said to its value, and counts: R4 R8 R19 R24. */
static inline void exclusion_shows(const struct slot *s, exclusion_att a) {
  uint32_t q = votes_shown(s), voted = a->first ? a->first->voted : 0;
  exclusion_rnd r = a->rounds;
  int open = 0;
  for (; r && (q & ~voted) && open < 4 * OPEN_ROUNDS; r = r->next, open++) voted |= r->voted;
  if (q & ~voted)
    violation("refine: client %d slot %d shows votes %x for value %ld, the model has %x", s->client,
              s->index, q, a->value, voted);
}

static inline void exclusion_look(struct client *c, struct slot *s, int64_t left_ms) {
  long value = value_of((const unsigned char *)(const void *)s->lock.value, VALUE_BYTES);
  exclusion_att a;
  if (value >= 0 && (W.value[value].client != c->index || W.value[value].life != c->life))
    value = NOT_OURS;
  if (left_ms > 0 && value < 0 && s->state != S_ACQUIRING)
    violation("refine: client %d slot %d holds a lock by no value", c->index, s->index);
  if (value < 0) return;
  a = exclusion_att_of(value);
  X.resource = a->resource = s->resource;
  if (s->state != S_RELEASING) exclusion_shows(s, a);
  if (left_ms <= 0 || s->state == S_ACQUIRING || W.failed) return;
  if (a->stopped) refine_step("stopped(a)", "release", a->resource, value, -1);
  exclusion_tick_client(a);
  if (!a->granted || client_ms(c) + left_ms > a->deadline_ms)
    exclusion_granted(s, a, client_ms(c) + left_ms);
}

#endif
