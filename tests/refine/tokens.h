/* tokens.h: tokens are accepted and granted by steps of ../induct/tokens.py, in worlds of tokens.
 * R24 is judged by what a server's own clock tells of its life (quarantine='uptime').
 *
 *   begin     the first SET of a value has been sent; a stranger's at once
 *   accept    the script has set both keys
 *   expire    a counter is gone, by no command
 *   restart   a server is up again
 *   grant     a lock with a token is seen
 *
 * That no clock loses more than F2 allows is for the world to see to. */
#ifndef REFINE_TOKENS_H
#define REFINE_TOKENS_H

/* ---- The mapping: what the model's words are, in microseconds ---- */

#define T_now (K.now)
#define T_A ((double)max_ttl_here() * 1000)
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
#define T_SET_counted(r, x, v) add_server(&(r)->counted, x, v)
#define T_SET_granted(r, v) ((r)->granted = (v), (r)->granted_turn = ++K.turn)
#define T_SET_has(x, v) (K.counter[K.resource][x].has = (v))
#define T_SET_count(x, v) (K.counter[K.resource][x].count = (int64_t)(v))
#define T_SET_expiry(x, v) (K.counter[K.resource][x].expiry = (v))
#define T_SET_after(p, r, v) ((void)0) /* it is told by turns */

#define T_EACH_Srv(x) for (int x = 0; x < servers_here(); x++)
#define T_EACH_Rnd(r) for (tokens_rnd r = NULL; r;)
#define T_TAKEN(i) (T->step[MODEL_TOKENS][i]++)

#include "induct/emitted/tokens.h"

static inline void tokens_step(const char *why, const char *step, int64_t token, int server) {
  refine_step(why, step, K.resource, (long)token, server);
}

static inline void tokens_tick_to_now(void) {
  double now = true_us();
  if (K.now < now) tokens_step(tokens_tick(now - K.now), "tick", 0, -1);
  K.now = now;
}

/* ---- Servers ---- */

/* The command that is about to run may find no counter. */
static inline void tokens_look_before(int x, int resource) {
  struct counter_seen k = counter_seen(x, resource);
  K.is_over = !k.has || k.is_over;
  K.resource = resource;
  tokens_tick_to_now();
}

/* It is gone, or nothing has changed. */
static inline void tokens_sync(int x, int resource) {
  struct counter_seen k = counter_seen(x, resource);
  K.resource = resource;
  if (T_has(x) && !k.has) tokens_step(tokens_expire(x), "expire", (int64_t)T_count(x), x);
  if (k.has != T_has(x) || (k.has && (double)k.count != T_count(x)))
    tokens_step("another counter is there", "agreement", k.count, x);
}

static inline void tokens_restarted(int x) {
  tokens_tick_to_now();
  for (int i = 0; i < resources_here(); i++) {
    struct counter_seen k = counter_seen(x, i);
    K.resource = i;
    tokens_step(tokens_restart(x, k.has, (double)k.count, k.end), "restart", 0, x);
  }
}

/* ---- Rounds ---- */

static inline void tokens_begins_now(tokens_rnd r, int64_t token) {
  r->token = token;
  r->above = K.greatest[K.resource];
  tokens_step(tokens_begin(r), "begin", token, -1);
}

static inline void tokens_sent(const struct seen *m) {
  if (m->token < 0 || m->value < 0 || tokens_round_of(m->value)->begun) return;
  K.resource = m->resource;
  tokens_tick_to_now();
  tokens_begins_now(tokens_round_of(m->value), m->token);
}

/* A stranger's round is of that server alone: what it asks for is at once. */
static inline tokens_rnd tokens_of_stranger(int64_t token) {
  static struct tokens_round stranger;
  memset(&stranger, 0, sizeof stranger);
  tokens_begins_now(&stranger, token);
  return &stranger;
}

static inline void tokens_ran(int x, const struct seen *m, const struct effect *e) {
  struct counter_seen k = counter_seen(x, m->resource);
  K.resource = m->resource;
  if (e->kind == EFFECT_SET || (k.has && k.count == m->token && T_count(x) != (double)k.count)) {
    tokens_rnd r = m->value < 0 ? tokens_of_stranger(m->token) : tokens_round_of(m->value);
    if (K.is_over && T_has(x)) tokens_step(tokens_expire(x), "expire", (int64_t)T_count(x), x);
    if (r->begun && r->token != m->token)
      tokens_step("one token of each value", "accept", m->token, x);
    tokens_step(tokens_accept(r, x, best_ask(x)), "accept", m->token, x);
  }
  for (int i = 0; i < resources_here() && !has_failed(); i++) tokens_sync(x, i);
}

/* ---- Users ---- */

/* The theorems: it differs from all that were granted since it began, and is above those before. */
static inline void tokens_claim(tokens_rnd r) {
  struct tokens_round before = {0};
  before.granted = 1;
  before.token = r->above;
  if (r->above) tokens_step(tokens_says_tokens_are_in_order(&before, r), "claim", r->token, -1);
  T->ordered += r->above != 0;
  EACH_GRANTED_SINCE(p, r) {
    T->ordered++;
    tokens_step(tokens_says_tokens_are_unique(p, r), "claim", r->token, -1);
  }
}

/* A lock with a token is seen, and the votes that it shows. It keeps the token (R25). */
static inline void tokens_look(long value, int resource, uint32_t q, uint64_t token) {
  tokens_rnd r = value < 0 ? NULL : tokens_round_of(value);
  const char *why = NULL;
  if (!r || (r->granted && token == (uint64_t)r->token)) return;
  K.resource = resource;
  tokens_tick_to_now();
  if (token != (uint64_t)r->token) why = "its own token";
  else if (!is_quorum(q)) why = "it is a quorum";
  else why = tokens_grant(r, q);
  tokens_step(why, "grant", (int64_t)token, -1);
  if (has_failed()) return;
  tokens_claim(r);
  is_granted_now(r);
  if (r->token > K.greatest[resource]) K.greatest[resource] = r->token;
}

#endif
