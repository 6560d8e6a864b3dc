/* refine_tokens.h: tokens are accepted and granted by steps of ../induct/tokens.py, in worlds of
 * tokens, those too in which exclusion is broken on purpose. R24 is judged by what a server's own
 * clock tells of its life (quarantine='uptime').
 *
 *   begin     the last byte of the first SET of a value has been sent; a stranger's at once
 *   accept    the script has set both keys
 *   expire    a counter is gone, by no command
 *   restart   a server is up again
 *   grant     a lock with a token is seen
 *
 * That no clock loses more than F2 allows is for fencing.h to see to. */
#ifndef SIM_REFINE_TOKENS_H
#define SIM_REFINE_TOKENS_H

typedef struct tokens_round *tokens_rnd;
typedef uint32_t tokens_quo;

struct tokens_round {
  int begun, granted;
  uint32_t counted;
  int64_t token;
  double t1;
  big begun_turn, granted_turn; /* among all that begins or is granted */
  tokens_rnd before, greatest;  /* of its resource: granted before it; the greatest by then */
};

/* When a server was asked for its uptime, and what its clock showed; the first is its start. */
enum { ASKS = 16 };

struct tokens_asks {
  int count;
  double at[ASKS], wall[ASKS];
};

static struct tokens_model {
  tokens_rnd rnd; /* by value; a stranger's last */
  int resource;   /* whose model it is */
  int is_over;    /* its counter there has run out, and will be seen to */
  long rnds;
  big turn;
  tokens_rnd last[MAX_RESOURCES]; /* granted */
  double now, started[MAX_SERVERS];
  struct {
    int has;
    int64_t count;
    double expiry;
  } counter[MAX_RESOURCES][MAX_SERVERS];
  struct tokens_asks asks[MAX_SERVERS];
  int place[MAX_RESOURCES][MAX_SERVERS]; /* of the counter, among the server's keys */
} K;

/* ---- The mapping: what the model's words are here, in microseconds ---- */

static inline double wall_now(int x) { return (double)(clock_at(&W.server[x].clock, W.now) / US); }

/* At a time that was noted, or now. */
static inline double wall_at(int x, double when) {
  const struct tokens_asks *a = &K.asks[x];
  int i;
  for (i = 0; i < a->count; i++)
    if (a->at[i] == when) return a->wall[i];
  return wall_now(x);
}

#define T_now (K.now)
#define T_A ((double)W.cfg.quarantine_ms * 1000)
#define T_W (T_A / 2)
#define T_Q (T_A / fastest())
#define T_wall(x, t) wall_at(x, t)
#define T_token(r) ((double)(r)->token)
#define T_of(q, x) ((int)((q) >> (x)&1))
#define T_started(x) (K.started[x])
#define T_begun(r) ((r)->begun)
#define T_t1(r) ((r)->t1)
#define T_counted(r, x) ((int)((r)->counted >> (x)&1))
#define T_granted(r) ((r)->granted)
#define T_has(x) (K.counter[K.resource][x].has)
#define T_count(x) ((double)K.counter[K.resource][x].count)
#define T_expiry(x) (K.counter[K.resource][x].expiry)
#define T_after(p, r) ((p)->granted && (p)->granted_turn < (r)->begun_turn)

#define T_SET_now(v) (K.now = (v))
#define T_SET_started(x, v) (K.started[x] = (v))
#define T_SET_begun(r, v) ((r)->begun = (v), (r)->begun_turn = ++K.turn)
#define T_SET_t1(r, v) ((r)->t1 = (v))
#define T_SET_counted(r, x, v) ((r)->counted |= (uint32_t)((v) != 0) << (x))
#define T_SET_granted(r, v) ((r)->granted = (v), (r)->granted_turn = ++K.turn)
#define T_SET_has(x, v) (K.counter[K.resource][x].has = (v))
#define T_SET_count(x, v) (K.counter[K.resource][x].count = (int64_t)(v))
#define T_SET_expiry(x, v) (K.counter[K.resource][x].expiry = (v))
#define T_SET_after(p, r, v) ((void)0) /* it is told by turns */

#define T_EACH_Srv(x) for (int x = 0; x < W.cfg.servers; x++)
#define T_EACH_Rnd(r) for (tokens_rnd r = NULL; r;)
#define T_TAKEN(i) (T->step[MODEL_TOKENS][i]++)

#include "induct/emitted/tokens.h"

/* ---- Servers ---- */

static inline void tokens_begins(void) {
  int i;
  if (!K.rnd) K.rnd = (tokens_rnd)room_for((MAX_VALUES + 1) * sizeof *K.rnd);
  memset(K.rnd, 0, (size_t)K.rnds * sizeof *K.rnd);
  memset(&K.rnds, 0, sizeof K - offsetof(struct tokens_model, rnds));
  for (i = 0; i < MAX_SERVERS; i++) {
    K.started[i] = K.asks[i].at[0] = K.asks[i].wall[0] = -1e15;
    K.asks[i].count = 1;
  }
}

static inline void tokens_step(const char *why, const char *step, int64_t token, int server) {
  if (why)
    violation("refine: no %s (token %lld, server %d, resource %d): %s", step, (long long)token,
              server, K.resource, why);
}

static inline void tokens_tick_to_now(void) {
  double now = (double)W.now / 1000;
  if (K.now < now) tokens_step(tokens_tick(now - K.now), "tick", 0, -1);
  K.now = now;
}

static inline void tokens_asked(int x) {
  struct tokens_asks *a = &K.asks[x];
  int i = a->count < ASKS ? a->count++ : 1 + (int)(W.turn % (ASKS - 1));
  a->at[i] = (double)W.now / 1000;
  a->wall[i] = wall_now(x);
}

/* Which of them shows the most of its life. */
static inline double tokens_best_ask(int x) {
  const struct tokens_asks *a = &K.asks[x];
  double best = a->at[0], most = -1, more;
  int i;
  for (i = 0; i < a->count; i++) {
    more = a->wall[i] - a->wall[0] - (a->at[i] - a->at[0]);
    if (i && more <= most) continue;
    most = more;
    best = a->at[i];
  }
  return best;
}

/* The counter, though it may have run out: it is gone for good when a command looks at it, or needs
 * its room. A clock that is set back before that brings it back. */
static inline struct key *counter_of(int x, int resource) {
  struct store *s = &W.server[x].store;
  size_t size = strlen(W.name[resource]);
  int *place = &K.place[resource][x], i;
  for (i = 0; i < s->keys; i++) { /* most often where it was */
    struct key *k = &s->key[(*place + i) % s->keys];
    if (k->used && k->db == W.cfg.db && k->name_size == size + 6 &&
        !memcmp(k->name, W.name[resource], size) && !memcmp(k->name + size, ":fence", 6)) {
      *place = (int)(k - s->key);
      return k;
    }
  }
  return NULL;
}

static inline int64_t number_in(const struct key *k) {
  struct arg a = {k->value, k->value_size};
  int64_t n = -1;
  (void)arg_integer(a, &n);
  return n;
}

/* Whether the command that is about to run will find no counter. */
static inline void tokens_look_before(int x, int resource) {
  struct key *k = counter_of(x, resource);
  K.is_over = !k || (k->expires_ms && server_ms(&W.server[x]) > k->expires_ms);
  K.resource = resource;
  tokens_tick_to_now();
}

/* It is gone, or nothing has changed. */
static inline void tokens_sync(int x, int resource) {
  struct key *k = counter_of(x, resource);
  K.resource = resource;
  if (T_has(x) && !k) tokens_step(tokens_expire(x), "expire", (int64_t)T_count(x), x);
  if (k ? !T_has(x) || (double)number_in(k) != T_count(x) : T_has(x))
    violation("refine: server %d has counter %lld of resource %d, the model %lld", x,
              (long long)(k ? number_in(k) : 0), resource, (long long)(T_has(x) ? T_count(x) : 0));
}

static inline void tokens_restarted(int x) {
  int i;
  tokens_tick_to_now();
  for (i = 0; i < W.cfg.resources; i++) {
    struct key *k = counter_of(x, i);
    K.resource = i;
    tokens_step(tokens_restart(x, k != NULL, k ? (double)number_in(k) : 0,
                               k ? (double)(k->expires_ms + 1) * 1000 : 0), "restart", 0, x);
  }
  K.asks[x].count = 0;
  tokens_asked(x);
}

/* ---- Rounds ---- */

static inline tokens_rnd tokens_round_of(long value) {
  if (value >= K.rnds) K.rnds = value + 1;
  return &K.rnd[value];
}

static inline void tokens_sent(const struct seen *m) {
  tokens_rnd r;
  if (m->token < 0 || m->value < 0) return;
  r = tokens_round_of(m->value);
  if (r->begun) return;
  r->token = m->token;
  tokens_tick_to_now();
  tokens_step(tokens_begin(r), "begin", m->token, -1);
}

/* A stranger's round is of that server alone: what it asks for is at once. */
static inline tokens_rnd tokens_of_stranger(int64_t token) {
  tokens_rnd r = &K.rnd[MAX_VALUES];
  memset(r, 0, sizeof *r);
  r->token = token;
  tokens_step(tokens_begin(r), "begin", token, -1);
  return r;
}

static inline void tokens_ran(int x, const struct seen *m, const struct effect *e) {
  int i;
  K.resource = m->resource;
  if (e->kind == EFFECT_SET) {
    tokens_rnd r = m->value < 0 ? tokens_of_stranger(m->token) : tokens_round_of(m->value);
    if (K.is_over && T_has(x)) tokens_step(tokens_expire(x), "expire", (int64_t)T_count(x), x);
    if (r->token != m->token) tokens_step("one token of each value", "accept", m->token, x);
    tokens_step(tokens_accept(r, x, tokens_best_ask(x)), "accept", m->token, x);
  }
  for (i = 0; i < W.cfg.resources && !W.failed; i++) tokens_sync(x, i);
}

/* ---- Users ---- */

static inline void tokens_claim(const char *why, tokens_rnd r) {
  T->ordered++;
  tokens_step(why, "claim", r->token, -1);
}

/* The theorems: it differs from all that were granted since it began, and is above those before. */
static inline void tokens_granted(tokens_rnd r) {
  tokens_rnd p = K.last[K.resource];
  r->before = p;
  r->greatest = p && p->greatest->token > r->token ? p->greatest : r;
  K.last[K.resource] = r;
  for (; p && !T_after(p, r); p = p->before) tokens_claim(tokens_says_tokens_are_unique(p, r), r);
  if (p) tokens_claim(tokens_says_tokens_are_in_order(p->greatest, r), r);
}

/* A lock with a token is seen. */
static inline void tokens_look(const struct slot *s) {
  long value = value_of((const unsigned char *)(const void *)s->lock.value, VALUE_BYTES);
  uint32_t q = votes_shown(s);
  tokens_rnd r;
  if (value < 0 || (r = tokens_round_of(value))->granted) return;
  K.resource = s->resource;
  tokens_tick_to_now();
  if (count_of(q) < quorum())
    tokens_step("it is a quorum", "grant", (int64_t)s->lock.token, -1);
  else if (s->lock.token != (uint64_t)r->token)
    tokens_step("its own token", "grant", (int64_t)s->lock.token, -1);
  else
    tokens_step(tokens_grant(r, q), "grant", r->token, -1);
  if (!W.failed) tokens_granted(r);
}

#endif
