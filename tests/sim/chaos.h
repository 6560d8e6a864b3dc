/* chaos.h: the faults that last a while, and their end. */
#ifndef SIM_CHAOS_H
#define SIM_CHAOS_H

#include "rolling.h"

static void chaos_partition(int kind, ns length) {
  int client = pick(W.cfg.clients), server = pick(W.cfg.servers);
  int whole = one_in(3); /* the server's link, or one client's way to it */
  for (int i = 0; i < W.cfg.clients; i++) {
    if (!whole && i != client) continue;
    if (kind != F_PARTITION_DOWN) W.blocked[i][server][UP] = W.now + length;
    if (kind != F_PARTITION_UP) W.blocked[i][server][DOWN] = W.now + length;
  }
}

static void chaos_silent_drop(void) {
  int from = pick(W.conns);
  for (int i = 0; i < W.conns; i++) {
    struct conn *n = &W.conn[(from + i) % W.conns];
    if (n->state != CONN_OPEN || n->client_gone) continue;
    excuse(n);
    n->silent = 1;
    return;
  }
}

/* A crash that loses memory is within the model only if that cannot be seen: quarantine, or a
 * restart later than the longest ttl. */
static void chaos_crash(int server, int kind, ns length) {
  int kept = kind == F_CRASH_SOME ? KEEP_SOME : kind == F_CRASH_NONE ? KEEP_NONE : KEEP_ALL;
  ns longest = (ns)W.cfg.ttl_max_ms * MS;
  if (kind == F_AMNESIA) kept = KEEP_NONE;
  if (kept != KEEP_ALL && kind != F_AMNESIA && !W.cfg.quarantine_ms)
    length += longest + longest / 5 + 10 * MS;
  server_crash(server, kept, kind == F_HOST_CRASH, length);
}

static void chaos_clock_step(struct clock *c) {
  ns step = one_in(2) ? between(-5 * SEC, 5 * SEC) : between(-3600 * SEC, 3600 * SEC);
  clock_set(c, W.now, step, c->ppm);
  if (step < 0) c->set_back -= step;
}

/* What a client waits for comes when its clock has caught up, and that may take hours (R2). */
static void heal_clock(struct clock *c) {
  if (!c->set_back) return;
  clock_set(c, W.now, c->set_back, c->ppm);
  c->set_back = 0;
}

static void chaos_strike(int kind, int server, ns length) {
  struct server *s = &W.server[server];
  int i;
  switch (kind) {
    case F_PARTITION_UP:
    case F_PARTITION_DOWN:
    case F_PARTITION_BOTH: chaos_partition(kind, length); break;
    case F_SILENT_DROP: chaos_silent_drop(); break;
    case F_CLOG:
      i = pick(W.cfg.clients);
      W.clogged[i][pick(W.cfg.servers)] = W.now + length;
      break;
    case F_FREEZE: server_freeze(server, length); break;
    case F_CRASH_ALL:
    case F_CRASH_SOME:
    case F_CRASH_NONE:
    case F_HOST_CRASH:
    case F_AMNESIA: chaos_crash(server, kind, length); break;
    case F_REPLICA:
      s->store.replica = 1;
      schedule(W.now + length, EV_PROMOTE, server, 0);
      break;
    case F_ERROR_REPLY:
      s->error = 1 + (int)below(STORE_ERROR_ASKED - 1);
      s->error_until = W.now + length;
      break;
    case F_AUTH_REFUSED:
    case F_SELECT_REFUSED:
    case F_INFO_REFUSED:
      s->store.refuse_auth |= kind == F_AUTH_REFUSED;
      s->store.refuse_select |= kind == F_SELECT_REFUSED;
      s->store.refuse_info |= kind == F_INFO_REFUSED;
      schedule(W.now + length, EV_ADMIT, server, 0);
      break;
    case F_SERVER_STEP: chaos_clock_step(&s->clock); break;
    case F_CLIENT_STEP: chaos_clock_step(&W.client[server % W.cfg.clients].clock); break;
    case F_FLUSHALL: server_forget(s, KEEP_NONE); break;
    case F_PROMOTION: server_forget(s, KEEP_SOME); break;
    default: break;
  }
}

static void chaos(void) {
  static const int kinds[] = {
      F_PARTITION_UP, F_PARTITION_DOWN, F_PARTITION_BOTH, F_SILENT_DROP,  F_CLOG,
      F_FREEZE,       F_CRASH_ALL,      F_CRASH_SOME,     F_CRASH_NONE,   F_HOST_CRASH,
      F_REPLICA,      F_ERROR_REPLY,    F_AUTH_REFUSED,   F_SELECT_REFUSED, F_INFO_REFUSED,
      F_SERVER_STEP,  F_CLIENT_STEP,    F_FLUSHALL,       F_PROMOTION,    F_AMNESIA};
  int kind = kinds[below((uint32_t)(sizeof kinds / sizeof kinds[0]))];
  int server = pick(W.cfg.servers);
  ns length = skewed(MS, smaller((ns)W.cfg.ttl_max_ms * 2 * MS, 60 * SEC));
  if (W.healed) return;
  schedule(W.now + skewed(MS, W.cfg.chaos_every), EV_CHAOS, 0, 0);
  if (W.wall_clock) chaos_clock_step(&W.client[server % W.cfg.clients].clock);
  if (W.turn > MAX_TURNS) schedule(W.now, EV_HEAL, 0, 0);
  if (W.odds[kind] == 0 || W.cfg.entry_server[server] != server) return;
  /* those that are counted where they are felt */
  if (kind != F_ERROR_REPLY && kind != F_AUTH_REFUSED && kind != F_SELECT_REFUSED &&
      kind != F_INFO_REFUSED)
    T->fault[kind]++;
  note(N_FAULT, kind, server, length);
  chaos_strike(kind, server, length);
}

/* ---- the end of the singles' world: a majority stalls, and is there again at healing ---- */

/* Long enough to be given up, and short beside a ttl. */
static ns stall_length(void) {
  return between(2 * (int64_t)W.cfg.server_timeout_ms, W.cfg.ttl_max_ms / 5) * MS;
}

static void on_stall(void) {
  int count = (int)between(W.cfg.servers - quorum() + 1, W.cfg.servers);
  int from = pick(W.cfg.servers);
  ns length = W.cfg.duration - W.now + SEC;
  if (W.healed) return;
  for (int i = 0; i < count; i++) {
    int server = (from + i) % W.cfg.servers;
    T->fault[F_FREEZE]++;
    note(N_FAULT, F_FREEZE, server, length);
    server_freeze(server, length);
  }
  singles_hurry();
}

static void on_calm(void) {
  for (int i = 0; i < W.cfg.singles; i++) {
    W.client[i].single = 0;
    wind_down(&W.client[i]);
  }
}

static void on_admit(int server) {
  struct store *s = &W.server[server].store;
  if (!W.server[server].sick) s->refuse_auth = s->refuse_select = s->refuse_info = 0;
}

static void heal_server(int server) {
  struct server *s = &W.server[server];
  s->error_until = 0;
  s->store.refuse_auth = s->store.refuse_select = s->store.refuse_info = s->store.replica = 0;
  if (is_frozen(s)) {
    s->frozen_until = W.now;
    server_thaw(server);
  }
  if (s->down && (!s->lost || W.cfg.quarantine_ms)) {
    s->down_until = W.now;
    server_restart(server);
  }
}

/* The minority that stays as it is, or gets worse. */
static void choose_sick(void) {
  int left = W.cfg.servers - quorum() - wild_servers() - W.cfg.liars;
  if (has_alias() || W.cfg.out_of_model) left = 0;
  for (int i = 0; i < W.cfg.servers && left > 0; i++) {
    struct server *s = &W.server[i];
    if (!one_in(3)) continue;
    left--;
    s->sick = 1;
    switch (below(4)) {
      case 0: server_freeze(i, 3600 * SEC); break;
      case 1: server_crash(i, KEEP_ALL, (int)below(2), 3600 * SEC); break;
      case 2:
        s->error = 1 + (int)below(STORE_ERROR_ASKED - 1);
        s->error_until = NEVER;
        break;
      default: break; /* whatever it suffers from already */
    }
  }
}

static void heal_network(void) {
  for (int c = 0; c < MAX_CLIENTS; c++)
    for (int s = 0; s < MAX_SERVERS; s++) {
      if (W.server[s].sick) continue;
      W.blocked[c][s][UP] = W.blocked[c][s][DOWN] = 0;
      if (W.clogged[c][s] > W.now) schedule(W.now, EV_WRITABLE, c * MAX_SERVERS + s, 0);
      W.clogged[c][s] = 0;
    }
  for (int c = 0; c < W.conns; c++) W.conn[c].pipe[UP].again = W.conn[c].pipe[DOWN].again = 0;
}

static ns quiet_time(void) {
  return (2 * RETRANSMIT_MOST + 1000 + 8 * (ns)W.cfg.server_timeout_ms) * MS;
}

/* Invariant 4: within the longest ttl, the quarantine, backoff and a few retries. The longest ttl
 * counts twice, since a frozen SET may have run just now; a flow that was dropped in silence is
 * given up after 6 s (R13). A delayed restart counts once more. */
static ns probe_bound(void) {
  ns ttl = (ns)W.cfg.ttl_max_ms, more = (ns)W.cfg.quarantine_ms;
  ns retry = (ns)W.cfg.retry_max_ms + W.cfg.server_timeout_ms;
  ns bound = (3 * ttl + (more ? more + 3000 : 0) + 12 * retry + 14000) * MS;
  return bound + bound / 1000000 * W.cfg.rho_ppm * 2;
}

static void on_heal(void) {
  if (W.healed) return;
  choose_sick();
  W.healed = W.hurry = 1;
  W.healed_at = W.now;
  note(N_HEAL, 0, 0, 0);
  heal_network();
  for (int i = 0; i < MAX_SERVERS; i++)
    if (!W.server[i].sick) heal_server(i);
  W.winding = one_in(2) ? 1 : 2;
  if (W.cfg.orphans_checked) W.winding = 1;
  for (int i = 0; i < W.cfg.clients; i++) {
    heal_clock(&W.client[i].clock);
    wind_down(&W.client[i]);
  }
  if (W.cfg.singles) schedule(W.now + attempts_time(), EV_CALM, 0, 0);
  schedule(W.now + attempts_time() + (W.winding == 1 ? quiet_time() : 0), EV_PROBE, 0, 0);
}

/* One waiter for each resource, on whatever client is alive. */
static void probe(int resource) {
  int from = pick(W.cfg.clients);
  for (int k = 0; k < W.cfg.clients; k++) {
    struct client *c = &W.client[(from + k) % W.cfg.clients];
    if (!c->alive) continue;
    for (int i = 0; i < c->slots; i++) {
      struct slot *s = &c->slot[i];
      if (s->state != S_IDLE || s->probe) continue;
      note(N_PROBE, resource, c->index, i);
      s->probe = 1;
      s->resource = resource;
      s->due = W.now;
      if (!c->busy) client_wake_at(c, W.now);
      W.probes_left++;
      return;
    }
  }
}

static void on_probe(void) {
  if (W.winding == 1 && !W.cfg.out_of_model) check_orphans();
  if (!W.cfg.out_of_model)
    for (int i = 0; i < W.cfg.resources; i++) probe(i);
  W.probe_deadline = W.now + probe_bound();
  schedule(W.now + quiet_time(), EV_END, 0, 0);
}

static void check_forgotten(void) {
  for (int i = 0; i < W.cfg.clients; i++) {
    const struct client *c = &W.client[i];
    for (int k = 0; k < c->slots && c->alive; k++)
      if (c->slot[k].state != S_IDLE)
        violation("invariant 6: client %d slot %d is forgotten in state %d", i, k,
                  c->slot[k].state);
  }
}

/* Over when every waiter had its lock, or the bound has passed. */
static void on_end(void) {
  int busy = 0;
  for (int i = 0; i < W.cfg.clients; i++) busy += W.client[i].busy;
  if (busy || (W.probes_left && W.now < W.probe_deadline)) {
    schedule(busy ? W.now + SEC : smaller(W.now + SEC, W.probe_deadline), EV_END, 0, 0);
    return;
  }
  if (W.probes_left)
    violation("invariant 4: %d waiters are not granted their lock %lld ms after healing",
              W.probes_left, probe_bound() / MS);
  else if (W.winding != 4) {
    W.winding = 4; /* the last ones come to rest */
    for (int i = 0; i < W.cfg.clients; i++) wind_down(&W.client[i]);
    schedule(W.now + quiet_time(), EV_END, 0, 0);
    return;
  }
  check_forgotten();
  W.running = 0;
}

#endif
