/* crowd.h: up to ten thousand clients that want one lock (R26), and five servers that take so long
 * for each command. The clock moves from event to event, so a busy machine measures what a quiet
 * one does. No request is lost, and each direction of a connection keeps its order. Some clients
 * may be others: of an earlier version, or another library's, which poll, and whose values tell no
 * age. Include check_main.h before this. */
#ifndef FLEET_CROWD_H
#define FLEET_CROWD_H

#include "../store.h"
#include "engine.h"

enum { SERVERS = 5, LATENCY_US = 50, PUSH_US = 2, BYTES = 2048, KEYS = 8, A_SECOND = 1000000,
       TTL_MS = 10000, WAIT_MS = 600000, NO_TIME = -1 };
enum { UP, DOWN, STEP, PUSHES };            /* what an event is */
enum { THINKING, WAITING, HOLDING, GONE };

struct way {
  int size;
  int64_t last; /* when its last bytes arrive */
  unsigned char bytes[BYTES];
};

struct conn {
  int client, server;
  uint32_t life; /* which connection it is: what was on its way to an earlier one is lost */
  struct session session;
  struct way way[2];
};

struct client {
  const struct engine *engine;
  void *rl, *lock;
  redlock_io io;
  struct conn conn[SERVERS];
  int state;
  int64_t next, began; /* when it does what comes next; when it began to wait */
  int is_other;
  uint32_t turn;       /* of its last step to come: an earlier one is void */
};

struct event {
  int64_t at;
  uint64_t order;
  int kind, client, server;
  uint32_t turn; /* of a step; of bytes, the life of their connection */
  size_t size;
  unsigned char *bytes;
};

struct world {
  int clients, hold_ms, think_ms; /* think_ms < 0: each wants it once */
  int keeps;             /* the first one takes it first, and whoever has it keeps it */
  int64_t command_us;
  int64_t latency_us;    /* one way takes this to twice this; 0 = LATENCY_US */
  int others;            /* how many clients are others, the last ones ... */
  const struct engine *version; /* ... of that version; NULL = of this one ... */
  int poll_ms;           /* ... or another library's, which polls after that long to three times
                            that; 0 = they are not */
  int64_t others_us;     /* their latency, if not 0 */
  int pushes_ms;         /* so often all that is tracked is pushed, for nothing; 0 = never */
  int ttl_ms;            /* 0 = TTL_MS */
  uint64_t seed;
};

/* What those of one kind have got: this version's, or the others. */
struct share {
  long grants;
  int64_t longest_wait_us;
};

static const char NAME[] = "contended";
static struct world world;
static struct share ours, others;
static struct server {
  struct store store;
  struct key keys[KEYS];
  int64_t busy_until;
} server[SERVERS];
static struct client *client;
static struct event *heap;
static size_t events, room;
static uint64_t order, chance;
static int64_t now_us, released_us;
static long commands, grants, handovers;
static int64_t handover_us[1 << 16], longest_handover_us, longest_wait_us;

static uint64_t draw(void) {
  chance ^= chance << 13;
  chance ^= chance >> 7;
  chance ^= chance << 17;
  return chance * UINT64_C(0x2545F4914F6CDD1D);
}

static int64_t draw_below(int64_t most) { return (int64_t)(draw() % (uint64_t)most); }

/* ---- events ---- */

static int is_before(const struct event *a, const struct event *b) {
  return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void add(struct event e) {
  size_t i = events++;
  e.order = order++;
  if (events > room) heap = (struct event *)realloc(heap, sizeof *heap * (room = 2 * events));
  if (!heap) abort();
  for (; i && is_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
  heap[i] = e;
}

static struct event take(void) {
  struct event first = heap[0], last = heap[--events];
  size_t i = 0, k;
  while ((k = 2 * i + 1) < events) {
    if (k + 1 < events && is_before(&heap[k + 1], &heap[k])) k++;
    if (!is_before(&heap[k], &last)) break;
    heap[i] = heap[k];
    i = k;
  }
  heap[i] = last;
  return first;
}

static int64_t latency_of(const struct client *c) {
  if (c->is_other && world.others_us) return world.others_us;
  return world.latency_us ? world.latency_us : LATENCY_US;
}

static void carry(int way, struct conn *c, int64_t from, const void *data, size_t size) {
  struct event e;
  int64_t latency_us = latency_of(&client[c->client]);
  int64_t at = from + latency_us + draw_below(latency_us);
  memset(&e, 0, sizeof e);
  if (at < c->way[way].last) at = c->way[way].last;
  c->way[way].last = e.at = at;
  e.kind = way;
  e.client = c->client;
  e.server = c->server;
  e.turn = c->life;
  e.size = size;
  e.bytes = (unsigned char *)malloc(size);
  if (!e.bytes) abort();
  memcpy(e.bytes, data, size);
  add(e);
}

static void arrive(struct way *w, const struct event *e) {
  if ((size_t)w->size + e->size > BYTES) abort();
  memcpy(w->bytes + w->size, e->bytes, e->size);
  w->size += (int)e->size;
}

static void drop(struct way *w, int size) {
  w->size -= size;
  memmove(w->bytes, w->bytes + size, (size_t)w->size);
}

/* ---- servers ---- */

static void push(int at, const unsigned char *name, size_t size) {
  char text[128];
  int i;
  for (i = 0; i < world.clients; i++) {
    struct conn *c = &client[i].conn[at];
    struct reply r = {text, 0};
    if (!session_forgets(&c->session, name, size)) continue;
    server[at].busy_until += PUSH_US;
    reply_push(&r, name, size);
    carry(DOWN, c, server[at].busy_until, r.at, r.size);
  }
}

static int is_foreign(const struct client *c) { return c->is_other && world.poll_ms; }

/* The values of another library have no age behind them, as all but their owner see them. */
static void set_ages(struct server *s, int reader, size_t size) {
  int i;
  for (i = 0; i < KEYS; i++)
    if (s->keys[i].used && is_foreign(&client[s->keys[i].owner]) &&
        (int)s->keys[i].owner != reader)
      s->keys[i].value_size = size;
}

/* Whatever was read is pushed, as by a server whose table of that is too small. */
static void push_for_nothing(void) {
  struct event e;
  int i;
  for (i = 0; i < SERVERS; i++) {
    if (server[i].busy_until < now_us) server[i].busy_until = now_us;
    push(i, (const unsigned char *)NAME, sizeof NAME - 1);
  }
  memset(&e, 0, sizeof e);
  e.at = now_us + 1000 * (int64_t)world.pushes_ms;
  e.kind = PUSHES;
  add(e);
}

/* One command after another. What it does is done in the order of arrival, its reply comes
   later. */
static void serve(struct conn *c) {
  static char text[STORE_REPLY];
  struct server *s = &server[c->server];
  struct way *in = &c->way[UP];
  struct arg argv[STORE_ARGS];
  int argc;
  long used;
  while ((used = request_parse(in->bytes, (size_t)in->size, argv, &argc)) > 0) {
    struct reply r = {text, 0};
    struct effect e;
    memset(&e, 0, sizeof e);
    if (s->busy_until < now_us) s->busy_until = now_us;
    s->busy_until += world.command_us;
    s->store.now_ms = s->busy_until / 1000;
    s->store.now_us = s->busy_until;
    commands += store_command_of(argc, argv) == C_SET || store_command_of(argc, argv) == C_EVAL;
    s->store.refuse_hello = is_foreign(&client[c->client]);
    set_ages(s, c->client, 20);
    store_run(&s->store, &c->session, argc, argv, &r, &e);
    set_ages(s, c->client, 23);
    if (e.kind == EFFECT_SET) e.key->owner = (uint32_t)c->client;
    if (r.size) carry(DOWN, c, s->busy_until, r.at, r.size);
    if (e.changed) push(c->server, e.subject, e.subject_size);
    drop(in, (int)used);
  }
}

/* ---- the hooks ---- */

static struct conn *conn_of(void *ctx, int at) { return &((struct client *)ctx)->conn[at]; }

static intptr_t on_open(void *ctx, int at, const char *host, const char *port) {
  struct conn *c = conn_of(ctx, at);
  (void)host;
  (void)port;
  c->session.authed = 1;
  return 1;
}

static int on_send(void *ctx, int at, const void *data, size_t size) {
  carry(UP, conn_of(ctx, at), now_us, data, size);
  return (int)size;
}

static int on_recv(void *ctx, int at, void *data, size_t size) {
  struct way *w = &conn_of(ctx, at)->way[DOWN];
  int got = w->size < (int)size ? w->size : (int)size;
  memcpy(data, w->bytes, (size_t)got);
  drop(w, got);
  return got;
}

static void on_close(void *ctx, int at) {
  struct conn *c = conn_of(ctx, at);
  c->life++;
  memset(&c->session, 0, sizeof c->session);
  c->way[UP].size = c->way[DOWN].size = 0;
}

static int on_wait(void *ctx, const redlock_fd *want, int count, int64_t limit) {
  (void)ctx;
  (void)want;
  (void)count;
  (void)limit;
  return 0;
}

static int64_t on_now(void *ctx) {
  (void)ctx;
  return A_SECOND + now_us / 1000;
}

static int on_entropy(void *ctx, void *data, size_t size) {
  unsigned char *at = (unsigned char *)data;
  (void)ctx;
  while (size--) *at++ = (unsigned char)(draw() >> 40);
  return 0;
}

/* ---- clients ---- */

static void note_wait(const struct client *c) {
  struct share *s = c->is_other ? &others : &ours;
  int64_t waited_us = now_us - c->began;
  if (waited_us > s->longest_wait_us) s->longest_wait_us = waited_us;
  if (waited_us > longest_wait_us) longest_wait_us = waited_us;
}

static void on_grant(struct client *c) {
  grants++;
  (c->is_other ? &others : &ours)->grants++;
  note_wait(c);
  if (released_us != NO_TIME && released_us >= c->began) {
    handover_us[handovers++ % (1 << 16)] = now_us - released_us;
    if (now_us - released_us > longest_handover_us) longest_handover_us = now_us - released_us;
  }
  released_us = NO_TIME;
  c->state = HOLDING;
  c->next = now_us + 1000 * (int64_t)world.hold_ms;
  if (world.keeps) CHECK(c->engine->keep(c->rl, c->lock));
}

static void on_decided(struct client *c, int decided) {
  if (decided == GRANTED) {
    on_grant(c);
    return;
  }
  c->state = world.think_ms < 0 ? GONE : THINKING;
  c->next = now_us + 1000 * (int64_t)world.think_ms;
}

static void act(struct client *c) {
  if (now_us < c->next) return;
  if (c->state == THINKING) {
    c->state = WAITING;
    c->began = now_us;
    CHECK(c->engine->acquire(c->rl, c->lock, NAME, (uint32_t)(world.ttl_ms ? world.ttl_ms : TTL_MS),
                             WAIT_MS));
  } else if (c->state == HOLDING) {
    released_us = now_us;
    c->next = INT64_MAX;
    CHECK(c->engine->release(c->rl, c->lock));
  }
}

/* A poll takes a little longer than it is told. */
static void step(struct client *c, uint32_t ready) {
  struct event e;
  int64_t limit;
  int decided;
  memset(&e, 0, sizeof e);
  do {
    act(c);
    decided = c->engine->step(c->rl, ready);
    ready = 0;
    if (decided) on_decided(c, decided);
  } while (decided);
  limit = c->engine->timeout_ms(c->rl);
  e.at = limit < 0 ? INT64_MAX : now_us + 1000 * limit + 20 + draw_below(80);
  if ((c->state == THINKING || c->state == HOLDING) && c->next < e.at) e.at = c->next;
  e.turn = ++c->turn;
  e.kind = STEP;
  e.client = (int)(c - client);
  if (e.at != INT64_MAX) add(e);
}

static void happen(struct event *e) {
  struct client *c = &client[e->client];
  if (e->kind == PUSHES) {
    push_for_nothing();
    return;
  }
  if (e->turn != (e->kind == STEP ? c->turn : c->conn[e->server].life)) return;
  if (e->kind == UP) {
    arrive(&c->conn[e->server].way[UP], e);
    serve(&c->conn[e->server]);
  } else if (e->kind == DOWN) {
    arrive(&c->conn[e->server].way[DOWN], e);
    step(c, 1u << e->server);
  } else {
    step(c, 0);
  }
}

static void begin(struct client *c) {
  int i, poll_ms = c->is_other ? world.poll_ms : 0;
  for (i = 0; i < SERVERS; i++) {
    c->conn[i].client = (int)(c - client);
    c->conn[i].server = i;
  }
  c->io.open = on_open;
  c->io.send = on_send;
  c->io.recv = on_recv;
  c->io.close = on_close;
  c->io.wait = on_wait;
  c->io.now_ms = on_now;
  c->io.entropy = on_entropy;
  c->io.ctx = c;
  c->engine = c->is_other && world.version ? world.version : &engine_today;
  c->rl = malloc(c->engine->client_size);
  c->lock = malloc(c->engine->lock_size);
  if (!c->rl || !c->lock) abort();
  CHECK(c->engine->init(c->rl, "s0,s1,s2,s3,s4", &c->io, poll_ms));
  c->next = draw_below(20000);
  if (world.keeps && c != client) c->next += 30000;
  step(c, 0);
}

static void end(struct client *c) {
  if (c->state == WAITING) note_wait(c);
  free(c->rl);
  free(c->lock);
}

/* Runs it until it is over, or for so long; returns how long it took, in seconds. */
static double run(struct world w, int seconds) {
  int i;
  world = w;
  client = (struct client *)calloc((size_t)w.clients, sizeof *client);
  if (!client) abort();
  memset(server, 0, sizeof server);
  for (i = 0; i < SERVERS; i++) {
    server[i].store.key = server[i].keys;
    server[i].store.room = KEYS;
    snprintf(server[i].store.run_id, sizeof server[i].store.run_id, "%040d", i + 1);
  }
  now_us = longest_handover_us = longest_wait_us = 0;
  commands = grants = handovers = 0;
  memset(&ours, 0, sizeof ours);
  memset(&others, 0, sizeof others);
  released_us = NO_TIME;
  chance = UINT64_C(88172645463325252) + 7919 * w.seed;
  for (i = 0; i < w.clients; i++) client[i].is_other = i >= w.clients - w.others;
  for (i = 0; i < w.clients; i++) begin(&client[i]);
  if (w.pushes_ms) push_for_nothing();
  while (events && heap[0].at <= (int64_t)seconds * A_SECOND &&
         (w.think_ms >= 0 || grants < w.clients)) {
    struct event e = take();
    now_us = e.at;
    happen(&e);
    free(e.bytes);
  }
  for (; events; free(take().bytes)) {}
  for (i = 0; i < w.clients; i++) end(&client[i]);
  free(client);
  printf("    %d want it, %d ms: %.1f locks a second, %.1f commands a lock, %.0f a second\n",
         w.clients, w.hold_ms, (double)grants * A_SECOND / (double)now_us,
         (double)commands / (double)(grants ? grants : 1),
         (double)commands * A_SECOND / (double)now_us);
  return (double)now_us / A_SECOND;
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t median_handover_us(void) {
  qsort(handover_us, (size_t)handovers, sizeof *handover_us, compare);
  return handovers ? handover_us[handovers / 2] : INT64_MAX;
}

static struct world of(int clients, int hold_ms, int think_ms, int64_t command_us) {
  struct world w;
  memset(&w, 0, sizeof w);
  w.clients = clients;
  w.hold_ms = hold_ms;
  w.think_ms = think_ms;
  w.command_us = command_us;
  return w;
}

#endif
