/* explorer.h: every transition of the explorer is a step of the models that `make induct` proves.
 * Their state is a part of each world, kept by what is seen from outside: commands that leave, what
 * servers do, answers that are read, votes[], token and redlock_remaining_ms. It is none of the
 * form: each transition is held to the models along the first history of its state. hooks.h and
 * what it includes map what is seen to their steps; here stands what their words mean, and what is
 * seen.
 *
 *   sent           when its first byte leaves
 *   clocks         each shows true time: what they may be off, V and L have (slips, early_ms)
 *   an extension   of a lock, the last few are known: what runs later is taken for one of its own
 *   stop           a release leaves, or the value is handed over
 *
 * Out of the models are a server that lies, and lost memory without max_ttl_ms; of that of
 * adoption, two names of one server. */
#ifndef REFINE_EXPLORER_H
#define REFINE_EXPLORER_H

#include "explore/words.h"

enum { LONG_AGO = -1000000, ROUNDING = 0 };

/* How often each step was taken, and each claim asked for. */
static struct {
  unsigned long step[3][16], lasts, pairs, ordered, spent;
} told, *const T = &told;

/* What a client takes off a ttl (R1): for the drift of the clocks, 2 ms, and the 1 ms by which a
   clock that counts in ms may lag. */
static int64_t drift_of(int64_t ttl) { return (ttl * cfg.ppm + 999999) / 1000000 + 2 + 1; }

/* How much earlier than asked a key may expire: as early as that permits. */
static int64_t early_ms(void) {
  int64_t ttl = cfg.ttl < cfg.ttl2 ? cfg.ttl : cfg.ttl2;
  if (cfg.shorter && cfg.shorter < ttl) ttl = cfg.shorter;
  return drift_of(ttl) - cfg.slips;
}

/* As the server sees it, a key's end is when that is over. */
static int64_t end_of(const struct key *k) { return k->expires_ms - early_ms(); }

static int out_of_model(void) {
  return cfg.liar >= 0 || (!cfg.max_ttl && cfg.faults && strpbrk(cfg.kinds, "mr"));
}

static int has_locks(void) { return !out_of_model(); }
static int has_tokens(void) { return cfg.fencing && !out_of_model(); }
static int has_adoption(void) { return !cfg.twins && !out_of_model(); }

static int is_heard(const struct connection *k) { return k && k->open && !k->broken; }

static void refine_step(const char *why, const char *step, int resource, long value, int server) {
  char text[sizeof failure];
  (void)resource, (void)value, (void)server;
  if (!why) return;
  snprintf(text, sizeof text, "model: no %s: %s", step, why);
  fail(text);
}

/* ---- What their words mean ------------------------------------------------------------------- */

#define X W.model.locks
#define K W.model.tokens
#define A W.model

static int has_failed(void) { return 0; } /* what fails does not return */
static int servers_here(void) { return cfg.servers; }
static int resources_here(void) { return cfg.locks; }
static int max_ttl_here(void) { return cfg.max_ttl; }
static int judges_restarts(void) { return cfg.max_ttl != 0; }
static double fastest(void) { return 1; }

static struct key_seen key_seen(int x, int resource) {
  const struct key *k = key_of(x, resource);
  struct value v = value_in(k);
  struct key_seen seen = {k != NULL, number_of(&v), k ? (double)end_of(k) : 0};
  return seen;
}

static int is_end(double end, double expiry) { return end >= expiry && end <= expiry; }

static struct of_value *of_value(long v) { return &W.side[v / VALUES].of[v % VALUES]; }

static long value_at(const void *in) {
  int c = in >= (const void *)&W.side[1];
  size_t at = (size_t)((const char *)in - (const char *)W.side[c].of) / sizeof *W.side[c].of;
  return at < VALUES ? c * VALUES + (long)at : NOT_OURS;
}

/* ---- Locks ---- */

static int64_t valid_ms(int64_t ttl) { return ttl - drift_of(ttl); }
static double lasts_at_server(int64_t ttl) { return (double)(ttl - early_ms()); }
static double as_the_client_reads(exclusion_att a, int64_t ms) { return (void)a, (double)ms; }

#define X_QA (cfg.max_ttl ? (double)cfg.max_ttl : 1e17)
#define X_V(r) ((double)(valid_ms((r)->ttl_ms) + cfg.slips))
#define X_L(r) lasts_at_server((r)->ttl_ms)
#define X_attempt(r) exclusion_att_of(value_at(r))
#define X_server_clock(x) ((void)(x), X.now)
#define X_client_clock(a) ((void)(a), X.now)
#define X_SET_server_clock(x, v) ((void)(v))
#define X_SET_client_clock(a, v) ((void)(v))
#define X_EACH_Rnd_with_attempt(r, a) \
  for (exclusion_rnd r = (a)->round; r != (a)->round + MODEL_ROUNDS; r++)
#define EACH_EXTENSION(r, a)                                                     \
  for (exclusion_rnd r = (a)->round + 1; r != (a)->round + MODEL_ROUNDS; r++) \
    if (r->begun)

static exclusion_rnd X_first(exclusion_att a) { return a->round->begun ? a->round : NULL; }

/* The place of the oldest that was not granted, if all are in use. */
static exclusion_rnd place_for_round(exclusion_att a) {
  exclusion_rnd r, oldest = NULL;
  for (r = a->round + 1; r != a->round + MODEL_ROUNDS; r++) {
    if (!r->begun) return r;
    if (!oldest || r->granted < oldest->granted ||
        (r->granted == oldest->granted && r->t1 < oldest->t1))
      oldest = r;
  }
  return oldest;
}

static exclusion_rnd exclusion_new_round(exclusion_att a, int64_t ttl, int extends, double reads) {
  exclusion_rnd r = extends ? place_for_round(a) : a->round;
  memset(r, 0, sizeof *r);
  r->ttl_ms = (int32_t)ttl;
  r->read_most = (model_time)reads;
  r->extends = (uint8_t)extends;
  return r;
}

#include "refine/exclusion.h"

static void ticks_to_now(void) {
  if (X.now < (double)W.now)
    refine_step(exclusion_tick((double)W.now - X.now), "tick", 0, -1, -1);
}

static void exclusion_ticks_server(int x) { (void)x, ticks_to_now(); }

static double exclusion_reads(exclusion_att a) {
  ticks_to_now();
  return (double)clock_of((int)(value_at(a) / VALUES));
}

/* One of its extensions, if that is known no longer. */
static void extension_is_known(exclusion_att a, int64_t ttl) {
  EACH_EXTENSION(r, a)
    if (r->ttl_ms == ttl) return;
  exclusion_begin_another(a, ttl, LONG_AGO, 0);
}

/* ---- Tokens ---- */

static double true_us(void) { return (double)W.now * 1000; }
static double wall_at(int x, double us) { return us + 100 + 10 * x; }
static double best_ask(int x) { return (void)x, K.now; } /* all clocks go as true time does */

static struct counter_seen counter_seen(int x, int resource) {
  const struct key *k = counter_of(x, resource);
  struct counter_seen seen = {k != NULL, 0, k ? count_in(k) : 0,
                              k ? wall_at(x, (double)k->expires_ms * 1000) : 0};
  return seen;
}

/* All that are known, also those before. */
#define EACH_GRANTED_SINCE(p, r)                            \
  for (int v = 0; v < cfg.clients * VALUES; v++)            \
    for (tokens_rnd p = tokens_round_of(v); p; p = NULL)    \
      if (p->granted && p->resource == K.resource)

static void is_granted_now(tokens_rnd r) { r->resource = (uint8_t)K.resource; }

#include "refine/tokens.h"

/* ---- Adoption ---- */

/* Adopters that are known no longer. */
static struct adoption_attempt forgotten = {
    .granted = 1, .pair = {{.replaced = 1}, {.replaced = 1}, {.replaced = 1}}};

static uint32_t life_of(int server) { return W.server[server].run; }

static int somebody_has(long v) {
  struct value value = {.client = (uint8_t)(v / VALUES + 1), .number = (uint8_t)(v % VALUES)};
  const struct user *u = user_with(&value);
  return u && !u->given;
}

#include "refine/hooks.h"

/* ---- What is seen ---------------------------------------------------------------------------- */

static void model_begins(void) {
  X.now = (double)W.now;
  for (int s = 0; s < SERVERS; s++) {
    X.started[s] = cfg.max_ttl ? (double)W.server[s].started : -1e18;
    K.started[s] = (double)W.server[s].started * 1000;
  }
}

/* A value is drawn, whose number stands nowhere any more. */
static void model_draws(long value) {
  adoption_att u = adoption_att_of(value), z;
  for (int v = 0; v < cfg.clients * VALUES; v++) {
    z = adoption_att_of(v);
    if (z->giver == u) z->giver = adoption_att_of(NOT_OURS);
    if (z->adopter == u) z->adopter = &forgotten;
    for (int x = 0; x < cfg.servers; x++)
      if (z->pair[x].replacer == u) z->pair[x].replacer = &forgotten;
  }
  memset(of_value(value), 0, sizeof(struct of_value));
}

/* in_part: its first byte left earlier. */
static void model_sends(int server, const struct seen *m, int in_part) {
  if (m->value >= 0) refine_sends(server, m, 1, in_part);
}

static void model_hands_over(const struct value *v) {
  if (out_of_model()) return;
  refine_step(exclusion_stop(exclusion_att_of(number_of(v))), "stop", 0, -1, -1);
}

/* So much of what a connection has brought is read. */
static void model_hears(struct connection *k, size_t size) {
  k->read += (uint32_t)size;
  if (has_adoption()) adoption_heard(&k->line, k->read, 1);
}

/* A command has run. k: who hears that it answers, in so many bytes */
static void model_runs(int x, const struct seen *m, const struct effect *e, struct connection *k,
                       size_t answer) {
  exclusion_att a = exclusion_att_of(m->value);
  if (has_locks() && (e->kind == EFFECT_EXTENDED || (e->kind == EFFECT_SET && a->granted)))
    extension_is_known(a, m->ttl_ms);
  refine_has_run(x, life_of(x), is_heard(k) ? &k->line : NULL,
                 is_heard(k) ? k->written + (uint32_t)answer : 0, m, e);
}

/* A lock of resource l, of which so much is left. */
static void model_looks(int c, int l, int64_t left) {
  const struct user *u = &W.side[c].user[l];
  struct value v = value_of(&W.side[c].lock[l]);
  struct look k = {&W.side[c].lock[l], number_of(&v), l, u->state == HELD, u->state == KEPT,
                   acquires(u), 0, u->call == ADOPT, left, clock_of(c)};
  if (u->state == IDLE || u->given || (u->state == PENDING && u->call == RELEASE)) return;
  if (is_drawn(&v)) (void)refine_looks(&k);
}

/* left: of each client's lock of this resource. What the proof claims of who holds it. */
static void model_looks_at_all(int l, const int64_t *left) {
  exclusion_att holder[CLIENTS] = {NULL};
  if (out_of_model()) return;
  for (int x = 0; x < cfg.servers; x++)
    if (!W.server[x].down) refine_syncs(x, l);
  for (int c = 0; c < cfg.clients; c++) {
    struct value v = value_of(&W.side[c].lock[l]);
    exclusion_att a = exclusion_att_of(number_of(&v));
    model_looks(c, l, left[c]);
    holder[c] = left[c] > 0 && a->granted ? a : exclusion_att_of(NOT_OURS);
    X_EACH_Rnd_with_attempt(r, holder[c])
      if (r->granted)
        X_EACH_Srv(x2) exclusion_claims_of(r, x2);
  }
  if (cfg.clients > 1) exclusion_excludes(holder[0], holder[1]);
}

static void print_steps(void) {
  printf("steps:");
  for (int m = 0; m < 3; m++)
    for (int i = 0; model_steps[m][i]; i++)
      printf(" %s:%s %lu", model_names[m], model_steps[m][i], told.step[m][i]);
  printf(" claims:lasts %lu claims:pairs %lu claims:ordered %lu claims:spent %lu\n", told.lasts,
         told.pairs, told.ordered, told.spent);
}

#endif
