/* checker.h: the invariants, over true time, each with a message of its own.
 *
 *   1 grants of one resource never overlap,
 *   2 at every instant of a grant a majority of distinct servers holds its value or cannot vote,
 *   7 tokens are unique and in order, also where exclusion is broken on purpose:
 *     these are what the proofs claim, and refine.h asks for; and
 *   3 a release never removes another's value: each looks at it before, and refine.h says whose
 *   4 after healing a single waiter is granted the lock in time (probes), nothing is orphaned
 *   5 no call takes longer than its deadline allows
 *   6 each started lock is returned exactly once
 *
 * Out of the model only 3, 6 and 7 are asked for, and that nothing crashes. */
#ifndef SIM_CHECKER_H
#define SIM_CHECKER_H

#include "clock.h"
#include "queue.h"

enum { VALUE_BYTES = 20, NEWCOMER_AGE = 16 }; /* at most, if no wake-up has come (R26) */

/* ---- values: their first 8 bytes tell which draw they are, the rest is random ---- */

static inline uint32_t value_seal(uint32_t index) {
  uint64_t x = W.seed ^ ((uint64_t)index << 20);
  return (uint32_t)splitmix(&x);
}

static inline void put32(unsigned char *to, uint32_t x) {
  for (int i = 0; i < 4; i++) to[i] = (unsigned char)(x >> (8 * i));
}

static inline uint32_t get32(const unsigned char *from) {
  return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
         (uint32_t)from[3] << 24;
}

/* 0 = drawn, -1 = the run is too busy even when healed: it ends, with no verdict on its waiters. */
static inline int value_draw(struct client *c, unsigned char *out) {
  struct value *v = &W.value[W.values];
  if (W.values == MAX_VALUES / 2) schedule(W.now, EV_HEAL, 0, 0); /* a busy run ends early */
  if (W.values == MAX_VALUES) {
    W.running = 0;
    return -1;
  }
  memset(v, 0, sizeof *v);
  v->client = c->index;
  v->life = c->life;
  v->drawn = W.now;
  c->last_draw = c->draws[c->drawn % DRAWS] = W.now;
  c->told_at[c->drawn % DRAWS] = c->told_of;
  c->heard_at[c->drawn++ % DRAWS] = c->heard;
  put32(out, (uint32_t)W.values);
  put32(out + 4, value_seal((uint32_t)W.values));
  for (int i = 8; i < VALUE_BYTES; i++) out[i] = (unsigned char)below(256);
  W.values++;
  return 0;
}

static inline long value_of(const unsigned char *bytes, size_t size) {
  uint32_t index;
  if (size != VALUE_BYTES && size != VALUE_BYTES + 3) return -1; /* with its age */
  index = get32(bytes);
  return (long)index < W.values && get32(bytes + 4) == value_seal(index) ? (long)index : -1;
}

static inline int resource_of(const unsigned char *name, size_t size) {
  for (int i = 0; i < W.cfg.resources; i++)
    if (strlen(W.name[i]) == size && memcmp(W.name[i], name, size) == 0) return i;
  return -1;
}

static inline struct arg name_of(int resource) { return arg_of(W.name[resource]); }

/* ---- who holds what ---- */

/* It is in the list by its own name. */
static inline int is_voter(int server) {
  return server < W.cfg.servers && W.cfg.entry_server[server] == server;
}

static inline int quorum(void) { return W.cfg.servers / 2 + 1; }

static inline struct key *key_of(struct server *s, int resource, int db) {
  struct key *k = store_look_up(&s->store, db, name_of(resource));
  return k && !key_is_over(k, server_ms(s)) ? k : NULL;
}

/* A server that forgot cannot vote until a whole max_ttl_ms has passed on the fastest clock. */
static inline ns quarantined_until(const struct server *s) {
  ns whole = (ns)W.cfg.quarantine_ms * MS;
  if (s->lost) return s->down_until + whole - whole / 1000000 * W.cfg.rho_ppm;
  if (s->forgot_at < 0 || !W.cfg.quarantine_ms) return 0;
  return s->forgot_at + whole - whole / 1000000 * W.cfg.rho_ppm;
}

/* The n-th of these times. */
static inline ns nth_earliest(ns *times, int count, int n) {
  int k;
  for (int i = 1; i < count; i++) {
    ns t = times[i];
    for (k = i; k > 0 && times[k - 1] > t; k--) times[k] = times[k - 1];
    times[k] = t;
  }
  return times[n - 1];
}

/* The value of a lock: the one look at what the header keeps for itself. */
static inline long value_of_lock(const struct slot *s) {
  return value_of((const unsigned char *)(const void *)s->lock.value, VALUE_BYTES);
}

/* ---- grants: who may hold what, by which value and with which token, refine.h says ---- */

static inline void note_token(int resource, uint64_t token) {
  if (token > W.greatest_token[resource]) W.greatest_token[resource] = token;
}

/* A fenced lock's, as refine.h sees to. */
static inline void note_grants_token(const struct slot *s) {
  if (!s->lock.token) return;
  if (!W.cfg.fenced) slot_fails(s, "R25", "is granted a token that it did not ask for");
  T->tokens++;
  T->broken_tokens += (unsigned)W.cfg.broken;
  note_token(s->resource, s->lock.token);
}

static inline void grant_stands(const struct slot *s, ns end) {
  struct grant *g = &W.grant[s->resource];
  g->value = s->value;
  g->end = end;
}

static inline void grant_begins(struct slot *s, ns end) {
  struct grant *g = &W.grant[s->resource];
  long value = value_of_lock(s);
  T->grants++;
  note(N_GRANT, s->client, s->index, value);
  note(N_UNTIL, s->resource, value, end);
  s->value = value;
  note_grants_token(s);
  if (value < 0) return;
  if (g->value >= 0 && g->end > W.now) T->fault[F_BROKEN_EXCLUSION] += (unsigned)W.cfg.broken;
  W.value[value].is_granted = 1;
  g->begin = W.now;
  grant_stands(s, end);
}

static inline void grant_extends(struct slot *s, ns end) {
  T->extensions++;
  note(N_UNTIL, s->resource, s->value, end);
  if (s->value >= 0 && !W.cfg.out_of_model) grant_stands(s, end);
}

/* It was released, or is known to be lost: from now on no one wants the value. */
static inline void grant_ends(struct slot *s) {
  struct grant *g = &W.grant[s->resource];
  if (s->value < 0) return;
  note(N_OVER, s->resource, s->value, 0);
  W.value[s->value].is_granted = 0;
  if (g->value == s->value) g->value = -1;
  s->value = -1;
}

/* ---- what servers are told ---- */

static inline int has_alias(void) { return !is_voter(W.cfg.servers - 1); }

/* R13: a connection may be given up after 5 s of silence, on a clock that may be fast. */
static const ns LEAST_SILENCE = 4 * SEC;

static inline void check_set(struct conn *n, struct effect *e) {
  uint32_t bit = UINT32_C(1) << n->server;
  long index = value_of(e->value, e->value_size);
  struct value *v = &W.value[index];
  if (index < 0 || resource_of(e->name, e->name_size) < 0) {
    violation("R3: server %d gets a SET with a value or a name that no one drew", n->server);
    return;
  }
  if ((v->set_on & bit) && !W.cfg.quarantine_ms && !has_alias())
    violation("R29: without max_ttl_ms the SET of value %ld is sent to server %d again", index,
              n->server);
  v->set_on &= ~bit;
  if (e->kind != EFFECT_SET) return;
  v->set_on |= bit;
  e->key->owner = n->id;
  e->key->refused = 0;
  e->key->excused = n->excused;
}

/* R12: the value may be set there again. */
static inline void note_missing(const struct conn *n, const struct effect *e) {
  long index = value_of(e->value, e->value_size);
  if (index >= 0) W.value[index].set_on &= ~(UINT32_C(1) << n->server);
}

static inline void check_effect(struct conn *n, struct effect *e) {
  note(N_COMMAND, n->server, e->kind, e->kind ? value_of(e->value, e->value_size) : -1);
  if (e->key) e->key->set_at = W.now; /* set, or extended */
  if (e->kind == EFFECT_SET || e->kind == EFFECT_SET_REFUSED) check_set(n, e);
  if (e->kind == EFFECT_NOT_EXTENDED) note_missing(n, e);
  if (e->kind == EFFECT_BLIND)
    violation("invariant 3: client %d deletes or extends a key on server %d, whatever its value",
              n->client, n->server);
}

/* What its SETs left behind is no one's fault. Or what could not be released in the form that the
 * client knew. */
static inline void excuse_keys(const struct conn *n, int only_refused) {
  struct store *s = &W.server[n->server].store;
  for (int i = 0; i < s->keys; i++) {
    struct key *k = &s->key[i];
    if (!k->used || k->owner != n->id) continue;
    if (!only_refused || k->refused) k->excused = 1;
  }
}

/* The world broke a connection. */
static inline void excuse(struct conn *n) {
  if (!n->excused) excuse_keys(n, 0);
  n->excused = 1;
}

/* ---- R7: nothing is left behind ---- */

static inline int is_wanted(long value) {
  const struct value *v = &W.value[value];
  const struct client *c = &W.client[v->client];
  return v->is_granted || !c->alive || c->life != v->life;
}

static inline void check_orphans_of(int server) {
  struct server *s = &W.server[server];
  for (int i = 0; i < s->store.keys; i++) {
    struct key *k = &s->store.key[i];
    long v = value_of(k->value, k->value_size);
    if (!k->used || k->excused || v < 0 || key_is_over(k, server_ms(s))) continue;
    if (is_wanted(v) || s->excuse >= W.value[v].drawn) continue;
    violation("R7: server %d still holds value %ld of client %d, which was given up, and its "
              "connection was never broken", server, v, W.value[v].client);
  }
}

static inline void check_orphans(void) {
  for (int i = 0; i < MAX_SERVERS; i++)
    if (is_voter(i) && !W.server[i].sick) check_orphans_of(i);
}

#endif
