/* config.h: what kind of world a seed makes. */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include "chaos.h"

static void each_entry_is_a_server(struct config *k) {
  for (int i = 0; i < k->servers; i++) k->entry_server[i] = i;
}

static void draw_sizes(struct config *k) {
  static const int servers[] = {5, 5, 5, 3, 3, 3, 7, 4, 2, 1};
  k->servers = servers[below(10)];
  if (k->servers > MAX_SERVERS) k->servers = MAX_SERVERS;
  k->clients = (int)between(1, FEW_CLIENTS);
  k->resources = (int)skewed(1, MAX_RESOURCES);
  k->slots = (int)skewed(1, one_in(4) ? MAX_SLOTS : 6);
  k->light = one_in(3);
  if (k->light) k->slots = (int)between(1, 3);
  k->small = !k->light && one_in(2);
  k->db = one_in(2) ? 0 : (int)between(1, 15);
  k->password = one_in(2) ? "secret" : NULL;
  k->window = 2048u << below(4);
  each_entry_is_a_server(k);
}

static void draw_clocks(struct config *k) {
  static const int rho[] = {0, 200, 5000, 5000, 5000, 20000, 83300};
  int64_t needed;
  k->rho_ppm = rho[below(7)];
  needed = (2000000LL * k->rho_ppm + 1000000 + k->rho_ppm - 1) / (1000000 + k->rho_ppm);
  k->drift_ppm = (uint32_t)larger(needed, one_in(2) ? 10000 : 1);
}

static void draw_times(struct config *k) {
  static const int64_t longest_ttl[] = {400, 2000, 2000, 10000, 10000, 30000, 60000};
  k->latency_min = between(20 * US, 2 * MS);
  k->latency_max = k->latency_min + skewed(10 * US, 10 * MS);
  k->server_timeout_ms = (uint32_t)(between(3, 8) * (k->latency_max / MS + 4));
  if (k->server_timeout_ms > 120) k->server_timeout_ms = 120;
  k->ttl_max_ms = (uint32_t)longest_ttl[below(7)];
  k->ttl_min_ms = (uint32_t)smaller(k->ttl_max_ms,
      60 + 8 * k->latency_max / MS + k->ttl_max_ms / 8);
  k->retry_min_ms = (uint32_t)skewed(1, 200);
  k->retry_max_ms = k->retry_min_ms + (uint32_t)skewed(1, 200);
  k->max_attempts = one_in(4) ? (uint32_t)between(1, 5) : 0;
  k->max_hold_ms = one_in(4) ? (uint32_t)between(k->ttl_max_ms / 2, 6 * (int64_t)k->ttl_max_ms) : 0;
  k->quarantine_ms = one_in(2) ? k->ttl_max_ms : 0;
  k->think_max = skewed(MS, 2 * (ns)k->ttl_max_ms * MS);
  if (k->light && k->think_max < 10 * MS) k->think_max = 10 * MS;
  k->chaos_every = skewed(20 * MS, (ns)k->ttl_max_ms * 2 * MS + SEC);
  k->duration = between(10, 120) * SEC;
  if (k->ttl_max_ms < 10000) k->duration /= 2;
  if (one_in(3)) { /* a calm world, in which long things happen */
    k->think_max += skewed(SEC, 30 * SEC);
    k->chaos_every += skewed(100 * MS, 10 * SEC);
    k->retry_min_ms += 100;
    k->retry_max_ms += 200;
    k->duration = between(120, 3600) * SEC;
  }
  k->orphans_checked = k->ttl_max_ms >= 10000 && one_in(2);
  if (k->retry_max_ms % 2) k->retry_min_ms = 0; /* the default: short back-offs first (R9) */
}

/* Swarm: two in five faults are off, the others have odds over three decades. */
static void draw_odds(struct config *k) {
  for (int i = 0; i < FIRST_OF_TOKENS; i++) {
    int shift = (int)below(10);
    W.odds[i] = below(5) < 2 ? 0 : 30000u >> shift;
    if (i >= FIRST_OUT_OF_MODEL && !k->out_of_model) W.odds[i] = 0;
  }
  W.odds[F_SPLIT] *= 8;
  W.odds[F_SHORT_READ] *= 8;
  W.odds[F_RST] /= 16;
  W.odds[F_FIN] /= 16;
  W.odds[F_GARBAGE] /= 16;
  W.odds[F_UNOWED] /= 16;
  W.odds[F_PAUSE_INSIDE] /= 8;
  W.odds[F_SUSPEND] /= 32;
  W.odds[F_CLIENT_CRASH] /= 64;
  W.odds[F_NO_CLOCK] /= 64;
  W.odds[F_WAIT_FAILED] /= 8;
}

static void make_faults_rare(void) {
  for (int i = 0; i < FIRST_OF_TOKENS; i++) W.odds[i] /= 64;
}

/* Two names for one server are seen through only where INFO is asked for, and answered. */
static void draw_alias(struct config *k) {
  if (k->servers < 3 || !k->quarantine_ms || !W.odds[F_ALIAS] || !one_in(4)) return;
  k->entry_server[k->servers - 1] = (int)below((uint32_t)k->servers - 1);
  W.odds[F_AUTH_REFUSED] = W.odds[F_SELECT_REFUSED] = W.odds[F_INFO_REFUSED] = 0;
  W.odds[F_REPLICA] = 0;
  T->fault[F_ALIAS]++;
}

/* This and the next are drawn beside the rest: a seed makes the world that it made before. */
static void draw_kinds(struct config *k) {
  uint64_t x = W.seed ^ 0x6b1d;
  for (int i = 0; i < k->servers; i++) k->kind[i] = (enum store_kind)(splitmix(&x) % STORE_KINDS);
}

static void draw_wakes(struct config *k) {
  uint64_t x = W.seed ^ 0x77616b65, r = splitmix(&x);
  k->no_hello = r % 4 ? 0 : (unsigned)(r >> 8) & (unsigned)(r >> 40);
  k->no_tracking = r >> 4 & 7 ? 0 : (unsigned)(r >> 20);
  if (k->no_hello | k->no_tracking) T->fault[F_HELLO_REFUSED]++;
}

/* Half of the worlds know nothing but scripts; in the others servers differ. In rolling restarts no
 * right is withdrawn: a refused release ends a connection that a value may be under way on, which
 * is then not sent again in this life of the server (R29). */
static void draw_natives(struct config *k) {
  uint64_t x = W.seed ^ 0x64656c, r = splitmix(&x);
  for (int i = 0; i < k->servers && r % 2; i++) k->natives[i] = (unsigned)(splitmix(&x) % 4);
  k->no_natives = k->rolls || (r >> 3 & 1) ? 0 : (unsigned)(r >> 40);
  k->no_natives_from = r >> 1 & 1 ? 0 : (ns)(r >> 8 & 0xfff) * 10 * MS;
}

/* In a few worlds, some servers. In rolling restarts none: it would be out all the time. Where it
 * is all servers, a few seconds show it: each client begins with handshakes. */
static void draw_shifts(struct config *k) {
  uint64_t x = W.seed ^ 0x7368696674, r = splitmix(&x);
  if (W.seed & SHIFTED_SEED) k->duration = (ns)(1 + (r >> 40) % 5) * SEC;
  k->shifts = W.seed & SHIFTED_SEED ? ~0u : r % 16 ? 0 : (unsigned)(r >> 8);
  if (k->rolls) k->shifts = 0;
  W.shift_random = r;
}

/* In a few worlds, and twice that is less than the shortest ttl without its drift. */
static void draw_margin(struct config *k) {
  uint64_t x = W.seed ^ 0x6561726c79, r = splitmix(&x);
  int64_t drift = ((int64_t)k->ttl_min_ms * k->drift_ppm + 999999) / 1000000;
  int64_t most = (k->ttl_min_ms - drift - 4) / 2;
  if (r % 8 == 4 && most > 0) k->keep_margin_ms = 1 + (uint32_t)((r >> 8) % (uint64_t)most);
}

static void draw_singles(struct config *k) {
  uint64_t x = W.seed ^ 0x7219, r = splitmix(&x);
  if (k->out_of_model || r % 4) return;
  k->singles = (int)smaller(1 + (int64_t)(r >> 32 & 1), k->clients);
}

/* Some seeds make worlds in which each lock has a token: short ttls, few resources and many grants.
 * In a third of them exclusion is broken on purpose: the servers' clocks are set forward past the
 * keys' ends, all at once. The rest is as in the model. */
static void draw_fenced(struct config *k) {
  static const int64_t longest_ttl[] = {5, 20, 100, 400, 2000};
  int calm = !one_in(4);
  k->fenced = 1;
  k->broken = k->out_of_model = W.seed % 3 == 0;
  k->resources = (int)between(1, 3);
  k->light = 0;
  k->slots = (int)skewed(1, 6);
  k->clients = (int)skewed(1, FEW_CLIENTS);
  k->latency_max = k->latency_min + skewed(10 * US, k->broken ? MS : 4 * MS);
  k->server_timeout_ms = (uint32_t)(between(3, 8) * (k->latency_max / MS + 4));
  k->ttl_max_ms = (uint32_t)(k->broken ? longest_ttl[below(5)] : between(100, 2000));
  k->ttl_min_ms = k->broken ? 5 : k->ttl_max_ms / 2 + 40;
  if (k->ttl_min_ms > k->ttl_max_ms) k->ttl_min_ms = k->ttl_max_ms;
  if (k->broken) k->drift_ppm = 1;
  k->quarantine_ms = 4 * k->server_timeout_ms + (uint32_t)skewed(0, 2000);
  if (k->quarantine_ms < k->ttl_max_ms) k->quarantine_ms = k->ttl_max_ms;
  if (k->max_hold_ms) k->max_hold_ms = 2 * k->ttl_max_ms;
  k->retry_min_ms = 0;
  k->retry_max_ms = (uint32_t)between(5, 50);
  k->think_max = skewed(50 * US, 20 * MS);
  k->chaos_every = between(2, 24) * ((ns)k->quarantine_ms * MS + 2 * SEC);
  k->duration = between(10, 120) * SEC;
  k->orphans_checked = 0;
  each_entry_is_a_server(k);
  if (calm) make_faults_rare(); /* many grants */
  for (int i = FIRST_OUT_OF_MODEL; i < FIRST_OF_TOKENS; i++) W.odds[i] = 0;
  for (int i = FIRST_OF_TOKENS; i < FAULT_COUNT; i++) W.odds[i] = !one_in(4);
  for (int i = F_WALLS_FORWARD; i <= F_WALL_CRAWLS && !k->broken; i++) W.odds[i] = 0;
}

/* In others locks change hands: several users for few resources, and in most of them few faults. */
static void draw_handed(struct config *k) {
  k->hands = 1;
  k->resources = (int)between(1, 3);
  k->clients = (int)larger(k->clients, between(3, FEW_CLIENTS));
  k->slots = (int)smaller(k->slots, between(1, 6));
  k->think_max = skewed(50 * US, 20 * MS);
  if (W.seed % 4) make_faults_rare();
}

/* And in others a crowd waits for one lock, 20 to 60 of them, with few faults in most. */
static void draw_crowd(struct config *k) {
  k->crowd = k->light = 1;
  k->small = 0;
  k->resources = 1;
  k->slots = 2;
  k->clients = (int)between(FEW_CLIENTS, MAX_CLIENTS);
  k->servers = (int)smaller(k->servers, 5);
  k->retry_min_ms = 0;
  k->retry_max_ms = (uint32_t)between(200, 400);
  k->think_max = skewed(MS, 50 * MS);
  k->duration = between(5, 30) * SEC;
  each_entry_is_a_server(k);
  if (W.seed % 4) make_faults_rare();
}

static void draw_good_network(struct config *k) {
  k->latency_max = k->latency_min + skewed(10 * US, 5 * MS);
  k->server_timeout_ms = (uint32_t)between(30, 60);
}

/* No fault but those of the world itself; no limit but the waiting time. */
static void calm(struct config *k) {
  k->light = 1;
  k->small = k->out_of_model = k->orphans_checked = 0;
  k->ttl_min_ms = k->ttl_max_ms / 2;
  k->retry_min_ms = k->max_attempts = k->max_hold_ms = 0;
  each_entry_is_a_server(k);
  memset(W.odds, 0, sizeof W.odds);
}

/* In some of these, a minority is slow, and a time-out long (R16); in some, all is pushed for
 * nothing. */
static void draw_paces(struct config *k, uint64_t x) {
  uint64_t r = splitmix(&x);
  k->forgets = r % 4 == 0;
  r = splitmix(&x);
  if (k->forgets && r % 2) k->pushes_ms = 1 << (r >> 8) % 9;
  r = splitmix(&x);
  if (k->servers < 3 || r % 3) return;
  k->slow = 1 + (int)((r >> 8) % (uint64_t)(k->servers - k->servers / 2 - 1));
  k->server_timeout_ms = 200 + (uint32_t)((r >> 16) % 300);
  k->slow_ms = (int)k->server_timeout_ms / (5 + (int)((r >> 32) % 4));
}

/* And in others a few wait for long while strangers hold, on a good network: what goes wrong there
 * is in strangers.h. A lone waiter in half of them. */
static void draw_waiters(struct config *k) {
  uint64_t x = W.seed ^ 0x7461626c65;
  int minority;
  k->waiters = 1;
  k->resources = (int)between(1, 2);
  k->slots = 1;
  k->clients = one_in(2) ? 1 : (int)between(2, 5);
  draw_good_network(k);
  k->ttl_max_ms = (uint32_t)between(2000, 10000);
  k->quarantine_ms = one_in(2) ? k->ttl_max_ms : 0;
  k->retry_max_ms = (uint32_t)between(200, 400);
  k->think_max = skewed(MS, 50 * MS);
  k->duration = between(30, 120) * SEC;
  calm(k);
  minority = k->servers - k->servers / 2 - 1;
  k->liars = one_in(2) ? (int)between(0, minority) : 0;
  k->errs = (int)below(2);
  k->restarts = (int)below(2);
  draw_paces(k, x);
}

/* And in others all servers restart, one by one, on a good network (R29). */
static void draw_rolling(struct config *k) {
  k->rolls = 1;
  k->resources = k->slots = 1;
  k->servers = (int)between(3, MAX_SERVERS);
  k->clients = (int)between(1, 9);
  draw_good_network(k);
  k->ttl_max_ms = (uint32_t)between(1000, 10000);
  k->quarantine_ms = k->ttl_max_ms + (uint32_t)skewed(0, 5000);
  k->retry_max_ms = (uint32_t)between(20, 400);
  k->think_max = skewed(MS, 50 * MS);
  k->duration = between(100, 400) * SEC;
  calm(k);
}

static void draw_names(void) {
  int size;
  for (int i = 0; i < W.cfg.resources; i++) {
    size = one_in(4) ? REDLOCK_MAX_RESOURCE : (int)between(2, 40);
    for (int k = 0; k < size; k++)
      W.name[i][k] = (char)(one_in(8) ? 128 + below(128) : 33 + below(94));
    W.name[i][0] = (char)('a' + i);
    W.name[i][size] = 0;
    snprintf(W.counter[i], sizeof W.counter[i], "%s:fence", W.name[i]);
  }
}

static void draw_world(struct config *k) {
  draw_sizes(k);
  draw_clocks(k);
  draw_times(k);
  draw_odds(k);
  draw_alias(k);
  if (W.seed & WAITER_SEED) {
    draw_waiters(k);
    return;
  }
  if (W.seed & ROLLING_SEED) {
    draw_rolling(k);
    return;
  }
  if (W.seed & FENCED_SEED) draw_fenced(k);
  if (W.seed & HANDED_SEED) draw_handed(k);
  if (W.seed & CROWD_SEED) draw_crowd(k);
}

static void draw_config(void) {
  struct config *k = &W.cfg;
  memset(k, 0, sizeof *k);
  k->out_of_model = one_in(8) && !W.wall_clock;
  draw_world(k);
  draw_names();
  draw_kinds(k);
  draw_wakes(k);
  draw_natives(k);
  draw_shifts(k);
  draw_margin(k);
  if (!k->fenced && !k->hands && !k->waiters && !k->rolls) draw_singles(k);
}

/* Two in three clocks are as far off as they may be. */
static int draw_ppm(void) {
  int rho = W.cfg.rho_ppm;
  if (rho == 0) return 0;
  if (one_in(3)) return (int)between(-rho, rho);
  T->fault[F_RHO]++;
  return one_in(2) ? rho : -rho;
}

static void print_config(FILE *f) {
  const struct config *k = &W.cfg;
#define X(type, name) fprintf(f, #name " %lld, ", (long long)k->name);
  SETTINGS(X)
#undef X
  fprintf(f, "password %s\nkinds of servers:", k->password ? k->password : "none");
  for (int i = 0; i < k->servers; i++)
    fprintf(f, " %s%s", store_kind_text(k->kind[i]), k->natives[i] ? "+native" : "");
  fprintf(f, "\nfaults, per million:");
  for (int i = 0; i < FAULT_COUNT; i++)
    if (W.odds[i]) fprintf(f, " [%s] %u;", fault_text[i], W.odds[i]);
  putc('\n', f);
}

#endif
