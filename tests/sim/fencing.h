/* fencing.h: the servers' wall clocks and memories in worlds of tokens (R25). What is assumed of
 * them holds (F2): in 2 max_ttl_ms a clock loses less than half of max_ttl_ms, by as much as a fast
 * clock of a client's shortens the quarantine, restarts included. Forwards it may go as it
 * likes. */
#ifndef SIM_FENCING_H
#define SIM_FENCING_H

#include "user.h"

static ns max_ttl(void) { return (ns)W.cfg.quarantine_ms * MS; }

/* How far a clock is ahead of what it is meant to show. */
static ns clock_error(const struct server *s) {
  return clock_at(&s->clock, W.now) - W.now - s->ahead;
}

static int wild_servers(void) {
  int count = 0;
  for (int i = 0; i < W.cfg.servers; i++) count += W.server[i].wild;
  return count;
}

/* At most a sixteenth of max_ttl_ms from each other; one may be far off. */
static void clock_begins(struct server *s) {
  ns apart = max_ttl() / 32, far = one_in(2) ? max_ttl() : 3600 * SEC, sign;
  s->ahead = INT64_C(1700000000) * SEC;
  s->clock.local = s->ahead + between(-apart, apart);
  if (W.cfg.servers < 3 || wild_servers() || W.odds[F_WILD_CLOCK] == 0 || !one_in(4)) return;
  T->fault[F_WILD_CLOCK]++;
  s->wild = 1;
  sign = one_in(2) ? 1 : -1;
  s->clock.local += sign * between(max_ttl() / 2, far);
}

/* NTP slews it, at the rate that clocks may differ by. */
static void clock_slews(struct server *s) {
  if (s->wild || W.cfg.rho_ppm == 0 || s->crawls_until) return;
  clock_set(&s->clock, W.now, 0, clock_error(s) > 0 ? -W.cfg.rho_ppm : W.cfg.rho_ppm);
}

/* What a clock may lose at once. The rest of the half is for what rates take, the clients' too. */
static ns clock_budget(void) {
  ns rates = max_ttl() / 1000000 * W.cfg.rho_ppm * 4;
  return larger(max_ttl() / 2 - rates - 20 * MS, 0);
}

/* Sets it back, or lets it crawl; then it must not lose any more for a while. */
static void clock_loses(struct server *s, int crawls) {
  ns lost = between(0, clock_budget()), time = between(lost * 4 / 3, 2 * max_ttl());
  if (s->spent_until > W.now || s->crawls_until) return;
  if (lost == 0) return;
  T->fault[crawls ? F_WALL_CRAWLS : F_WALL_BACK]++;
  if (!crawls) {
    clock_set(&s->clock, W.now, -lost, s->clock.ppm);
    time = 0;
  } else {
    clock_set(&s->clock, W.now, 0, -(int)(lost / (time / 1000000 + 1)));
    s->crawls_until = W.now + time;
  }
  s->spent_until = W.now + time + 2 * max_ttl();
}

static void clock_goes_forward(struct server *s, ns step) {
  if (step <= 0) return;
  clock_set(&s->clock, W.now, step, s->clock.ppm);
}

/* Past the ends of keys, or of counters too, or of anything. */
static ns forward_step(void) {
  ns longest[] = {4 * (ns)W.cfg.ttl_max_ms * MS, 2 * max_ttl(), 100 * SEC};
  return between(0, longest[one_in(4) ? 1 + below(2) : 0]);
}

/* All are put right again by it, but those that are further still. */
static void clocks_go_forward(void) {
  ns step = forward_step(), apart = max_ttl() / 32;
  T->fault[F_WALLS_FORWARD]++;
  for (int i = 0; i < W.cfg.servers; i++) {
    struct server *s = &W.server[i];
    s->ahead += step;
    clock_goes_forward(s, between(-apart, apart) - clock_error(s));
  }
}

/* ---- a stranger: it proposes what it likes, and the script is all that holds it ---- */

/* Near a clock, near the last token or that itself, or nonsense. */
static int64_t strange_token(int resource) {
  const struct server *s = &W.server[below((uint32_t)W.cfg.servers)];
  int64_t clock_us = clock_at(&s->clock, W.now) / US;
  int64_t window_us = (int64_t)W.cfg.quarantine_ms * 500;
  switch (below(4)) {
    case 0: return clock_us + between(0, 4 * window_us);
    case 1: return (int64_t)W.greatest_token[resource] + between(-1, 1);
    default: return clock_us + between(1, window_us);
  }
}

static struct arg number_arg(char text[24], int64_t number) {
  snprintf(text, 24, "%lld", (long long)number);
  return arg_of(text);
}

/* What the server says to it, by the script that the clients send; it never waits, and counts R24
 * as the clients do. 1 = yes. */
static int ask_for_stranger(struct server *s, int resource, int64_t token, struct key **set) {
  char ttl[24], text[24], longest[24], out[STORE_REPLY];
  struct arg value = arg_of("a stranger's");
  struct arg argv[] = {arg_of("EVAL"), store_known_text, arg_of("2"), name_of(resource),
                       arg_of(W.counter[resource]), value, number_arg(ttl, W.cfg.ttl_min_ms), value,
                       number_arg(text, token), number_arg(longest, W.cfg.quarantine_ms)};
  struct reply r = {out, 0};
  struct session session = {.db = W.cfg.db, .authed = 1};
  struct effect e = {0};
  struct seen seen;
  if (!store_known_script.is_fenced) return 0;
  s->store.now_ms = server_ms(s);
  s->store.now_us = clock_at(&s->clock, W.now) / US;
  s->store.error = 0;
  seen = refine_runs((int)(s - W.server), session.db, 10, argv);
  store_run(&s->store, &session, 10, argv, &r, &e);
  refine_ran((int)(s - W.server), NULL, &seen, &e, 0);
  *set = e.kind == EFFECT_SET ? e.key : NULL;
  return e.kind == EFFECT_SET && quarantined_until(s) <= W.now;
}

/* All it reaches at once; then it lets go, but of what it forgets. */
static void stranger_comes(void) {
  int resource = pick(W.cfg.resources), yes = 0;
  int64_t token = strange_token(resource);
  struct key *set[MAX_SERVERS];
  for (int i = 0; i < W.cfg.servers; i++) {
    struct server *s = &W.server[i];
    set[i] = NULL;
    if (!s->down && !is_frozen(s) && !s->store.replica && !one_in(8))
      yes += ask_for_stranger(s, resource, token, &set[i]);
  }
  T->fault[F_OTHER_TOKEN]++;
  if (yes >= quorum()) note_token(resource, (uint64_t)token);
  for (int i = 0; i < W.cfg.servers; i++)
    if (set[i] && !one_in(8)) set[i]->used = 0;
}

/* Compilers differ in which argument they draw first: here one is drawn before. */
static void clocks_strike(int kind, int server) {
  struct server *s = &W.server[server];
  ns length;
  if (W.odds[kind] == 0) return;
  switch (kind) {
    case F_OLD_IMAGE:
      if (s->down) return;
      T->fault[F_OLD_IMAGE]++;
      length = skewed(MS, 2 * max_ttl());
      server_crash(server, KEEP_IMAGE, (int)below(2), length);
      break;
    case F_OTHER_TOKEN: stranger_comes(); break;
    case F_WALLS_FORWARD: clocks_go_forward(); break;
    case F_WALL_FORWARD:
      T->fault[kind]++;
      clock_goes_forward(s, forward_step());
      break;
    case F_WALL_BACK:
    case F_WALL_CRAWLS:
      for (server = 0; server < W.cfg.servers; server++) /* often all at once */
        if (&W.server[server] == s || one_in(2))
          clock_loses(&W.server[server], kind == F_WALL_CRAWLS);
      break;
    default: break;
  }
}

static void on_clocks(void) {
  ns next = W.now + skewed(MS, max_ttl() / 4);
  int i;
  for (i = 0; i < W.cfg.servers; i++) {
    struct server *s = &W.server[i];
    if (s->crawls_until && s->crawls_until <= W.now) {
      s->crawls_until = 0;
      clock_set(&s->clock, W.now, 0, 0);
    }
    clock_slews(s);
    if (!one_in(16)) continue;
    memcpy(s->image, s->store.key, sizeof s->image);
    s->image_keys = s->store.keys;
  }
  if (!W.healed && W.cfg.broken && W.odds[F_WALLS_FORWARD]) clocks_go_forward();
  if (!W.healed && W.odds[F_OTHER_TOKEN]) stranger_comes();
  if (!W.healed && W.now >= W.strikes_at) {
    W.strikes_at = W.now + skewed(MS, 8 * (max_ttl() + 2 * SEC));
    i = pick(W.cfg.servers);
    clocks_strike(FIRST_OF_TOKENS + pick(FAULT_COUNT - FIRST_OF_TOKENS), i);
  }
  for (i = 0; i < W.cfg.servers; i++)
    if (W.server[i].crawls_until) next = smaller(next, W.server[i].crawls_until);
  schedule(next, EV_CLOCKS, 0, 0);
}

#endif
