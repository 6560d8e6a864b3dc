/* run.h: one world from its first to its last moment. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "config.h"

static void dispatch(int kind, int a, uint32_t b) {
  switch (kind) {
#define X(name, what) \
  case EV_##name: what; break;
    EVENTS(X)
#undef X
  }
}

/* The world goes on until then, until *stop, or until something is wrong. */
static void run_until(ns until, const int *stop) {
  while (!W.failed && W.running && W.events && W.heap[0].when <= until) {
    struct event e = next_event();
    W.now = e.when;
    T->events++;
    dispatch(e.kind, e.a, e.b);
    if (stop && *stop) return;
  }
  if (!W.failed && W.running) W.now = larger(W.now, until);
}

static void world_reset(uint64_t seed) {
  memset(&W.seed, 0, sizeof W - offsetof(struct world, seed));
  W.seed = seed;
  rng_seed(&W.rng, seed);
  memset(&store_known_script, 0, sizeof store_known_script); /* a seed is one exact run */
  W.running = 1;
  for (int i = 0; i < MAX_CONNS; i++) W.conn[i].state = CONN_FREE;
  for (int i = 0; i < MAX_RESOURCES; i++) W.grant[i].value = -1;
  if (!W.value) W.value = (struct value *)room_for(MAX_VALUES * sizeof *W.value);
}

static void start_servers(void) {
  for (int i = 0; i < W.cfg.servers; i++) {
    struct server *s = &W.server[i];
    s->clock.local = INT64_C(1700000000) * SEC + between(-3600 * SEC, 3600 * SEC);
    s->clock.ppm = draw_ppm();
    if (W.cfg.fenced) clock_begins(s);
    s->store.now_ms = server_ms(s);
    s->store.started_s = s->store.now_ms / 1000 - 100000;
    s->store.key = s->memory;
    s->store.room = STORE_KEYS;
    s->store.databases = 16;
    s->store.password = W.cfg.password;
    s->store.kind = W.cfg.kind[i];
    s->store.refuse_hello = W.cfg.no_hello >> i & 1;
    s->store.refuse_tracking = W.cfg.no_tracking >> i & 1;
    s->store.natives = W.cfg.natives[i];
    s->forgot_at = -1;
    server_new_run_id(s);
  }
}

static void start_clients(void) {
  for (int i = 0; i < W.cfg.clients; i++) {
    struct client *c = &W.client[i];
    redlock *rl = c->rl ? c->rl : (redlock *)room_for(lib_large.size);
    memset(c, 0, sizeof *c);
    c->rl = rl;
    c->index = i;
    c->lib = W.cfg.small ? &lib_small : W.cfg.light ? &lib_large : &lib_default;
    c->single = i < W.cfg.singles;
    c->slots = c->single ? 1 : W.cfg.slots;
    c->clock.local = between(10000000, 20000000) * SEC;
    c->clock.local += between(0, SEC);
    c->clock.ppm = draw_ppm();
    client_start(c);
  }
}

/* The world that was drawn, from begin to end; 0 = something is wrong. */
static int run_world(void) {
  start_servers();
  start_clients();
  refine_begins();
  note(N_RUN, (int64_t)(W.seed >> 1), W.cfg.servers, W.cfg.clients);
  schedule(skewed(MS, W.cfg.chaos_every), EV_CHAOS, 0, 0);
  if (W.cfg.fenced) schedule(0, EV_CLOCKS, 0, 0);
  if (W.cfg.waiters) strangers_come();
  if (W.cfg.rolls) schedule(SEC, EV_ROLL, 0, 0);
  if (W.cfg.singles) schedule(W.cfg.duration - stall_length(), EV_STALL, 0, 0);
  schedule(W.cfg.duration, EV_HEAL, 0, 0);
  if (setjmp(W.leave) == 0) {
    W.can_leave = 1;
    run_until(NEVER, NULL);
  }
  W.can_leave = 0;
  return !W.failed;
}

static inline int run_seed(uint64_t seed) {
  int good;
  world_reset(seed);
  draw_config();
  if (W.log) print_config(W.log);
  good = run_world();
  T->runs++;
  T->outside_runs += (unsigned)W.cfg.out_of_model;
  T->handed_runs += (unsigned)W.cfg.hands;
  T->crowd_runs += (unsigned)W.cfg.crowd;
  T->waiter_runs += (unsigned)W.cfg.waiters;
  T->rolling_runs += (unsigned)W.cfg.rolls;
  T->fenced_runs += (unsigned)W.cfg.fenced;
  T->broken_runs += (unsigned)W.cfg.broken;
  T->simulated_ms += (big)(W.now / MS);
  T->client_ms += (big)(W.now / MS) * (big)W.cfg.clients;
  T->hash = T->hash * 31 + W.hash;
  return good;
}

#endif
