/* simulator.h: what the words of the proved models are in the simulator's world. Their state stands
 * beside it. Times are in nanoseconds, by clocks that are scaled to what the model says of them;
 * those of tokens in microseconds. */
#ifndef REFINE_SIMULATOR_H
#define REFINE_SIMULATOR_H

#include "sim/checker.h"

enum { GIVERS_GO_ON = 16 }; /* --server-bug: those who are said to have stopped */

enum { ROUNDING = 4 /* of a scaled clock */ };

/* A clock: as it began, and as it was last looked at. */
struct exclusion_clock {
  ns base;          /* what it showed as the run began */
  double now, when; /* as scaled, at that true time */
};

/* When a server was asked for its uptime, and what its clock showed; the first is its start. */
enum { ASKS = 16 };

struct tokens_asks {
  int count;
  double at[ASKS], wall[ASKS];
};

static struct {
  struct of_value *of;
  exclusion_rnd rnd;
  /* What a run begins without. */
  long values, rnds;
  struct exclusion_clock server[MAX_SERVERS], client[MAX_CLIENTS];
  exclusion_att holder[MAX_RESOURCES];  /* who was last granted it */
  tokens_rnd granted[MAX_RESOURCES];    /* the last */
  struct tokens_asks asks[MAX_SERVERS];
} M;

static struct exclusion_state X;
static struct tokens_state K;
static struct { int32_t time; } A;

/* `why` is what the model says against the step: NULL = nothing. */
static inline void refine_step(const char *why, const char *step, int resource, long value,
                               int server) {
  if (why)
    violation("refine: no %s (value %ld, server %d, resource %d): %s", step, value, server,
              resource, why);
}

static inline int has_failed(void) { return W.failed; }
static inline int has_tokens(void) { return W.cfg.fenced; }
static inline int has_locks(void) { return !W.cfg.out_of_model; }
static inline int has_adoption(void) {
  return !W.unadopted && !W.cfg.out_of_model && !has_alias();
}
static inline int server_of(int entry) { return W.cfg.entry_server[entry]; }
static inline int servers_here(void) { return W.cfg.servers; }
static inline int resources_here(void) { return W.cfg.resources; }
static inline int64_t max_ttl_here(void) { return W.cfg.quarantine_ms; }
static inline double fastest(void) { return 1 + W.cfg.rho_ppm * 1e-6; }
static inline double slowest(void) { return 1 - W.cfg.rho_ppm * 1e-6; }

static inline struct of_value *of_value(long value) {
  if (value >= M.values) M.values = value + 1;
  return &M.of[value];
}

static inline long value_at(const void *in) {
  size_t at = (size_t)((const char *)in - (const char *)M.of) / sizeof *M.of;
  return at < MAX_VALUES ? (long)at : NOT_OURS;
}

static inline long value_seen(struct arg a) {
  long v = value_of(a.at, a.size);
  return v < 0 ? NOT_OURS : v;
}

static inline long value_in(const struct key *k) {
  struct arg a = {k->value, k->value_size};
  return k->list ? NOT_OURS : value_seen(a);
}

static inline double at_server(int x, ns local) {
  return (double)(local - M.server[x].base) / fastest();
}

static inline double at_client(int c, ns local) {
  return (double)(local - M.client[c].base) / slowest();
}

static inline struct key_seen key_seen(int x, int resource) {
  struct key *k = key_of(&W.server[x], resource, W.cfg.db);
  struct key_seen seen = {k != NULL, k ? value_in(k) : NOT_OURS, 1e18};
  if (k && k->expires_ms) seen.end = at_server(x, (k->expires_ms + 1) * MS);
  return seen;
}

/* ---- Locks ---- */

/* R1. With the 1 ms by which a clock that counts in ms may lag (R2). */
static inline int64_t valid_ms(int64_t ttl_ms) {
  return ttl_ms - (ttl_ms * W.cfg.drift_ppm + 999999) / 1000000 - 2 - 1;
}

static inline double lasts_at_server(int64_t ttl_ms) { return (double)ttl_ms * 1e6 / fastest(); }

static inline int judges_restarts(void) { return W.cfg.quarantine_ms != 0; }

/* Servers count whole milliseconds. */
static inline int is_end(double end, double expiry) {
  double late = (end - expiry) * fastest();
  return late >= -4 * ROUNDING && late <= 1e6 + 4 * ROUNDING;
}

static inline int client_of(exclusion_att a) { return W.value[value_at(a)].client; }

static inline double as_the_client_reads(exclusion_att a, int64_t ms) {
  return at_client(client_of(a), ms * MS);
}

#define X_QA (W.cfg.quarantine_ms ? (double)W.cfg.quarantine_ms * 1e6 / fastest() : 1e17)
#define X_V(r) ((double)(valid_ms((r)->ttl_ms) + 1) * 1e6 / slowest())
#define X_L(r) (lasts_at_server((r)->ttl_ms) - 2 * ROUNDING)
#define X_attempt(r) ((r)->att)
#define X_first(a) ((a)->first)
#define X_server_clock(x) (M.server[x].now)
#define X_client_clock(a) (M.client[client_of(a)].now)
#define X_SET_server_clock(x, v) (M.server[x].now = (v))
#define X_SET_client_clock(a, v) (M.client[client_of(a)].now = (v))
#define X_EACH_Rnd_with_attempt(r, a) for (exclusion_rnd r = (a)->rounds; r; r = r->next)
#define EACH_EXTENSION(r, a)               \
  for (int open = 0; open == 0; open++)    \
    for (exclusion_rnd r = (a)->rounds; r && r->extends && open < OPEN_ROUNDS; r = r->next, open++)

static inline exclusion_rnd exclusion_new_round(exclusion_att a, int64_t ttl_ms, int extends,
                                                double reads) {
  exclusion_rnd r = &M.rnd[M.rnds];
  if (M.rnds + 1 == MAX_ROUNDS) violation("refine: there is no room for another round");
  else M.rnds++;
  memset(r, 0, sizeof *r);
  r->att = a;
  r->ttl_ms = (int32_t)ttl_ms;
  r->extends = (uint8_t)extends;
  r->read_most = reads;
  r->next = a->rounds;
  a->rounds = r;
  if (!extends) a->first = r;
  return r;
}

#include "refine/exclusion.h"

/* The value was set over the one that it adopts. */
static inline int was_adopted(long value) {
  exclusion_rnd first = exclusion_att_of(value)->first;
  return first && first->adopts;
}

/* Which of the two a clock shows, that cannot be read more exactly. */
static inline double as_read(double clock, double bound) {
  double off = clock - bound;
  return off > -ROUNDING && off < ROUNDING ? bound : clock;
}

/* No server's clock gains on true time, and none of a client's falls behind it. Each is looked at
 * when something happens there: what the model asks of a tick, it asks of each clock. */
static inline void exclusion_ticks_to_now(void) {
  if (X.now < (double)W.now)
    refine_step(exclusion_tick((double)W.now - X.now), "tick", X.resource, -1, -1);
}

static inline void exclusion_ticks_server(int x) {
  struct exclusion_clock *k = &M.server[x];
  double d = (double)W.now - k->when, now = at_server(x, clock_at(&W.server[x].clock, W.now));
  exclusion_ticks_to_now();
  if (now > k->now + d) now = as_read(now, k->now + d);
  refine_step(exclusion_tick_server_clock(x, now, d), "tick_server_clock", X.resource, -1, x);
  k->when = X.now;
}

static inline double exclusion_reads(exclusion_att a) {
  int c = client_of(a);
  struct exclusion_clock *k = &M.client[c];
  double d = (double)W.now - k->when, now = at_client(c, clock_at(&W.client[c].clock, W.now));
  exclusion_ticks_to_now();
  if (now < k->now + d) now = as_read(now, k->now + d);
  exclusion_step(exclusion_tick_client_clock(a, now, d), "tick_client_clock", a, -1);
  k->when = X.now;
  return k->now;
}

/* For whoever was last granted it. */
static inline void exclusion_claims(int x) {
  exclusion_att a = M.holder[X.resource];
  exclusion_rnd r = a ? a->rounds : NULL;
  if (a) (void)exclusion_reads(a);
  for (; r; r = r->next) {
    if (!r->granted) continue;
    exclusion_claims_of(r, x);
    if (r->extends) return; /* the newest */
  }
}

/* A value is granted, or for longer. Whoever was granted it before must not hold it now. */
static inline void exclusion_is_held(int resource, long value) {
  exclusion_att a = exclusion_att_of(value), b = M.holder[resource];
  if (b && b != a) {
    (void)exclusion_reads(b);
    exclusion_excludes(a, b);
  }
  M.holder[resource] = a;
}

/* ---- Tokens ---- */

static inline double true_us(void) { return (double)W.now / 1000; }

static inline double wall_now(int x) { return (double)(clock_at(&W.server[x].clock, W.now) / US); }

/* At a time that was noted, or now. */
static inline double wall_at(int x, double when) {
  const struct tokens_asks *a = &M.asks[x];
  for (int i = 0; i < a->count; i++)
    if (a->at[i] == when) return a->wall[i];
  return wall_now(x);
}

/* Which of them shows the most of its life. */
static inline double best_ask(int x) {
  const struct tokens_asks *a = &M.asks[x];
  double best = a->at[0], most = -1, more;
  for (int i = 0; i < a->count; i++) {
    more = a->wall[i] - a->wall[0] - (a->at[i] - a->at[0]);
    if (i && more <= most) continue;
    most = more;
    best = a->at[i];
  }
  return best;
}

static inline void tokens_asked(int x) {
  struct tokens_asks *a = &M.asks[x];
  int i = a->count < ASKS ? a->count++ : 1 + (int)(W.turn % (ASKS - 1));
  a->at[i] = true_us();
  a->wall[i] = wall_now(x);
}

/* The counter, though it may have run out: it is gone for good when a command looks at it, or needs
 * its room. A clock that is set back before that brings it back. */
static inline struct counter_seen counter_seen(int x, int resource) {
  struct store *s = &W.server[x].store;
  struct key *k = store_look_up(s, W.cfg.db, arg_of(W.counter[resource]));
  struct counter_seen seen = {k != NULL, k && key_is_over(k, server_ms(&W.server[x])), -1, 0};
  struct arg text = {k ? k->value : NULL, k ? k->value_size : 0};
  if (!k) return seen;
  (void)arg_integer(text, &seen.count);
  seen.end = (double)(k->expires_ms + 1) * 1000;
  return seen;
}

#define EACH_GRANTED_SINCE(p, r) \
  for (tokens_rnd p = M.granted[K.resource]; p && !T_after(p, r); p = p->earlier)

static inline void is_granted_now(tokens_rnd r) {
  r->earlier = M.granted[K.resource];
  M.granted[K.resource] = r;
}

#include "refine/tokens.h"

/* ---- Adoption ---- */

static inline uint32_t life_of(int server) { return W.server[server].incarnation; }

/* A user has a lock of this value still. */
static inline int somebody_has(long value) {
  const struct value *v = &W.value[value];
  const struct client *c = &W.client[v->client];
  if (W.server_bug == GIVERS_GO_ON) return 0;
  for (int i = 0; c->alive && c->life == v->life && i < c->slots; i++) {
    const struct slot *s = &c->slot[i];
    if (s->state != S_IDLE && s->state != S_RELEASING && value_of_lock(s) == value) return 1;
  }
  return 0;
}

#include "refine/hooks.h"

/* ---- A run begins ---- */

static inline void models_begin(void) {
  if (!M.of) {
    M.of = (struct of_value *)room_for(MAX_VALUES * sizeof *M.of);
    M.rnd = (exclusion_rnd)room_for(MAX_ROUNDS * sizeof *M.rnd);
  }
  memset(M.of, 0, (size_t)M.values * sizeof *M.of);
  memset(&M.values, 0, sizeof M - ((size_t)((char *)&M.values - (char *)&M)));
  memset(&X, 0, sizeof X);
  memset(&K, 0, sizeof K);
  for (int i = 0; i < MAX_SERVERS; i++) {
    M.server[i].base = clock_at(&W.server[i].clock, W.now);
    X.started[i] = -1e18;
    K.started[i] = M.asks[i].at[0] = M.asks[i].wall[0] = -1e15;
    M.asks[i].count = 1;
  }
  for (int i = 0; i < MAX_CLIENTS; i++) M.client[i].base = clock_at(&W.client[i].clock, W.now);
}

#endif
