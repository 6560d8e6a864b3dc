/* hook_calls: each call of a hook fails once. The same world as in the random runs, and the same
 * checker, but the fault is placed by hand. (Schedules are placed by hand in tests/fake.) */
#include "check.h"
#include "run.h"

enum { TTL = 2000, TIMEOUT = 50, DB = 3 };

/* ---- the stage ---- */

static void stage(int servers, int clients) {
  struct config *k = &W.cfg;
  int i;
  world_reset(1);
  memset(k, 0, sizeof *k);
  k->servers = servers;
  k->clients = clients;
  k->resources = MAX_RESOURCES;
  k->slots = MAX_RESOURCES;
  k->db = DB;
  k->window = PIPE_BYTES / 2;
  for (i = 0; i < servers; i++) k->entry_server[i] = i;
  for (i = 0; i < MAX_RESOURCES; i++) snprintf(W.name[i], sizeof W.name[i], "resource-%d", i);
  k->server_timeout_ms = TIMEOUT;
  k->retry_min_ms = 10;
  k->retry_max_ms = 20;
  k->drift_ppm = 10000;
  k->ttl_min_ms = k->ttl_max_ms = TTL;
  k->latency_min = k->latency_max = MS;
  k->think_max = MS;
  k->duration = 3600 * SEC;
}

static void raise_curtain(void) {
  int i, k;
  start_servers();
  for (i = 0; i < W.cfg.clients; i++) W.client[i].manual = 1;
  start_clients();
  for (i = 0; i < W.cfg.clients; i++) {
    W.client[i].manual = 1;
    for (k = 0; k < W.client[i].slots; k++) W.client[i].slot[k].due = NEVER;
  }
}

static void pass_ms(int64_t ms) { run_until(W.now + ms * MS, NULL); }

/* A client is busy while it calls; its actor has no plans of its own. */
static struct client *enter(struct slot *s) {
  struct client *c = &W.client[s->client];
  c->busy = 1;
  return c;
}

static void leave(struct slot *s) {
  struct client *c = &W.client[s->client];
  s->due = NEVER;
  c->busy = 0;
  client_arm(c);
}

static struct slot *take(int client, uint32_t wait_ms) {
  struct slot *s = &W.client[client].slot[0];
  s->resource = 0;
  s->ttl_ms = TTL;
  start_acquire(enter(s), s, wait_ms);
  leave(s);
  return s;
}

static void let_go(struct slot *s) {
  start_release(enter(s), s);
  leave(s);
}

static void prolong(struct slot *s) {
  start_extend(enter(s), s);
  leave(s);
}

/* Actors do nothing by themselves. */
static void hush(void) {
  int i, k;
  for (i = 0; i < W.cfg.clients; i++)
    for (k = 0; k < W.client[i].slots; k++) W.client[i].slot[k].due = NEVER;
}

static void wait_for(struct slot *s, int64_t most_ms) {
  ns end = W.now + most_ms * MS;
  enum slot_state before = s->state;
  while (s->state == before && W.now < end && !W.failed) {
    run_until(W.now + MS / 4, NULL);
    hush();
  }
}

static int good(void) {
  if (W.failed) printf("    %s\n", W.message);
  return !W.failed;
}

/* ---- the k-th hook call fails ---- */

/* A little life: two clients take, extend and release. Returns how many hook calls it took. */
static uint64_t little_life(uint64_t fails_at) {
  struct slot *a, *b;
  stage(3, 2);
  raise_curtain();
  W.hook_fails_at = fails_at;
  a = take(0, 100);
  b = take(1, 400);
  wait_for(a, 600);
  if (a->state == S_HELD) prolong(a);
  pass_ms(100);
  hush();
  if (a->state == S_HELD) let_go(a);
  pass_ms(600);
  hush();
  if (b->state == S_HELD) let_go(b);
  pass_ms(1000);
  hush();
  check_forgotten();
  W.quiet = 1;
  client_close(&W.client[0]);
  client_close(&W.client[1]);
  W.quiet = 0;
  return W.hooks;
}

static void every_hook_call_may_fail(void) {
  uint64_t k, all = little_life(0);
  CHECK(good());
  CHECK(all > 100);
  for (k = 1; k <= all; k++) {
    (void)little_life(k);
    if (CHECK(good())) continue;
    printf("    hook call %llu of %llu\n", (unsigned long long)k, (unsigned long long)all);
    return;
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(every_hook_call_may_fail);
  return check_end();
}
