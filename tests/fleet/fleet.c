/* fleet.c: thousands of clients, each of which keeps a lock of its own, while their servers
 * restart, freeze or are cut off, in virtual time: whether all are served again, how soon, and how
 * many locks were lost (R13 R14). A fleet can keep itself down: a client that gives up before its
 * server has answered leaves it the work, and comes back with more. What a handshake costs is
 * assumed: .25 ms is Redis on a slow machine, 1.5 ms is TLS. */
#include "network.h"

#include "../check_main.h"

enum { TTL = 10000 };

struct client {
  redlock rl;
  redlock_lock lock;
  redlock_io io;
  enum { RESTS, ACQUIRES, KEEPS } state;
  int place; /* in the heap of clients */
  us rests_until, due;
  struct link *link[SERVERS];
};

static struct client *clients, **by_due;
static int client_count;
static uint32_t ttl_ms;

/* What went wrong, and when it last did. */
static struct {
  long no_quorum, lost, opened, handshakes, for_the_dead, drops;
  us trouble_at;
} seen;

/* ---- The clients' network -------------------------------------------------------------------- */

static intptr_t fleet_open(void *ctx, int server, const char *host, const char *port) {
  struct client *c = (struct client *)ctx;
  struct link *k = (struct link *)calloc(1, sizeof *k);
  (void)host, (void)port;
  if (!k) abort();
  k->client = c;
  k->server = server;
  k->references = 2; /* the client's, and the SYN's */
  c->link[server] = k;
  will(now + WAY, SYN, k, 0, NULL, 0);
  seen.opened++;
  return 1 + server;
}

static int fleet_send(void *ctx, int server, const void *data, size_t size) {
  struct link *k = ((struct client *)ctx)->link[server];
  char *copy;
  if (k->state != OPEN) return k->state == BROKEN ? -1 : 0;
  copy = (char *)malloc(size);
  if (!copy) abort();
  memcpy(copy, data, size);
  hold(k);
  will(now + WAY, DATA, k, 0, copy, (int)size);
  return (int)size;
}

static int fleet_recv(void *ctx, int server, void *data, size_t size) {
  struct link *k = ((struct client *)ctx)->link[server];
  int got = k->out_size < (int)size ? k->out_size : (int)size;
  if (got == 0) return k->state == BROKEN ? -1 : 0;
  memcpy(data, k->out, (size_t)got);
  k->out_size -= got;
  memmove(k->out, k->out + got, (size_t)k->out_size);
  return got;
}

static void fleet_close(void *ctx, int server) {
  struct client *c = (struct client *)ctx;
  struct link *k = c->link[server];
  c->link[server] = NULL;
  k->gone = 1;
  will(now + WAY, FIN, k, 0, NULL, 0); /* it has the client's reference */
  seen.trouble_at = now;
}

/* Only redlock_close waits: it shall not. */
static int fleet_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  (void)ctx, (void)want, (void)count, (void)timeout_ms;
  return -1;
}

static int64_t fleet_now_ms(void *ctx) { return (void)ctx, now / MS + 1000; }

static int fleet_entropy(void *ctx, void *data, size_t size) {
  unsigned char *to = (unsigned char *)data;
  (void)ctx;
  while (size--) *to++ = (unsigned char)chance(256);
  return 0;
}

static const redlock_io fleet_io = {fleet_open, fleet_send,   fleet_recv,    fleet_close,
                                    fleet_wait, fleet_now_ms, fleet_entropy, NULL};

/* ---- What a client does ---------------------------------------------------------------------- */

static void put_in_place(struct client *c, int i) {
  by_due[i] = c;
  c->place = i;
}

static void set_due(struct client *c, us due) {
  int i = c->place, child;
  c->due = due;
  for (; i && by_due[(i - 1) / 2]->due > due; i = (i - 1) / 2) put_in_place(by_due[(i - 1) / 2], i);
  while ((child = 2 * i + 1) < client_count) {
    child += child + 1 < client_count && by_due[child + 1]->due < by_due[child]->due;
    if (by_due[child]->due >= due) break;
    put_in_place(by_due[child], i);
    i = child;
  }
  put_in_place(c, i);
}

/* It has no lock: it tries again after 1 to 10 s. */
static void rest(struct client *c) {
  c->state = RESTS;
  c->rests_until = now + SECOND + (us)chance(9 * SECOND);
}

static void take_result(struct client *c) {
  if (c->lock.operation == REDLOCK_ACQUIRE && c->lock.status == REDLOCK_OK) {
    c->state = KEEPS;
    CHECK_EQ(redlock_keep(&c->rl, &c->lock, 0), REDLOCK_OK);
    return;
  }
  if (c->lock.operation == REDLOCK_ACQUIRE) seen.no_quorum++;
  else seen.lost++;
  seen.trouble_at = now;
  rest(c);
}

static void run_client(struct client *c, uint32_t ready) {
  redlock_fd fds[SERVERS];
  us due = INT64_MAX;
  int64_t left;
  int i, count;
  if (c->state == RESTS && c->rests_until <= now) {
    char name[16];
    snprintf(name, sizeof name, "%d", (int)(c - clients));
    c->state = ACQUIRES;
    CHECK_EQ(redlock_start_acquire(&c->rl, &c->lock, name, ttl_ms, 0), REDLOCK_PENDING);
  }
  while (redlock_step_on(&c->rl, ready)) {
    take_result(c);
    ready = 0;
  }
  for (i = 0; i < SERVERS; i++)
    if (c->link[i]) c->link[i]->wants_to_send = 0;
  count = redlock_fds(&c->rl, fds, SERVERS);
  for (i = 0; i < count; i++)
    c->link[fds[i].server]->wants_to_send = (fds[i].events & REDLOCK_WRITE) != 0;
  left = redlock_timeout_ms(&c->rl);
  if (left >= 0) due = left ? (now / MS + left) * MS : now + 1;
  if (c->state == RESTS && c->rests_until < due) due = c->rests_until;
  set_due(c, due > now ? due : now + 1);
}

static void wake_client(struct client *c, int server) { run_client(c, 1u << server); }

/* ---- The world ------------------------------------------------------------------------------- */

static void run_until(us end) {
  for (;;) {
    us next = by_due[0]->due;
    int is_event = heap_size && heap[0].at <= next;
    if (is_event) next = heap[0].at;
    if (next > end) break;
    now = next;
    if (is_event) happens(take_event());
    else run_client(by_due[0], 0);
  }
  now = end;
}

/* They connect slowly, one after the other, and then all of them keep a lock. */
static void begin(int count, us handshake, uint32_t ttl) {
  us slow = (us)count * (handshake + 200) * 2;
  int i;
  now = 0;
  client_count = 0;
  handshake_cost = handshake;
  ttl_ms = ttl;
  if (slow < 10 * SECOND) slow = 10 * SECOND;
  memset(servers, 0, sizeof servers);
  for (i = 0; i < SERVERS; i++) servers[i].up = 1;
  clients = (struct client *)calloc((size_t)count, sizeof *clients);
  by_due = (struct client **)calloc((size_t)count, sizeof *by_due);
  if (!clients || !by_due) abort();
  for (i = 0; i < count; i++) {
    struct client *c = &clients[i];
    redlock_options options;
    memset(&options, 0, sizeof options);
    c->io = fleet_io;
    c->io.ctx = c;
    options.io = &c->io;
    options.password = "secret";
    CHECK_EQ(redlock_init(&c->rl, "10.0.0.1,10.0.0.2,10.0.0.3", &options), REDLOCK_OK);
    c->rests_until = (us)chance((uint64_t)slow);
    put_in_place(c, client_count++);
    set_due(c, c->rests_until);
  }
  run_until(slow + 12 * SECOND);
  memset(&seen, 0, sizeof seen);
  for (i = 0; i < SERVERS; i++)
    servers[i].handshakes = servers[i].for_the_dead = servers[i].drops = 0;
}

static long keeping(void) {
  long count = 0;
  int i;
  for (i = 0; i < client_count; i++) count += clients[i].state == KEEPS;
  return count;
}

/* After so long all of them keep a lock again. It was restored after so many ms, when for the last
   time a call had failed or a connection had ended; so many of a thousand locks were lost. */
static void end(const char *what, us watched, int most_ms, int most_lost) {
  us restored = now;
  long lost;
  int i;
  run_until(now + watched);
  restored = seen.trouble_at > restored ? (seen.trouble_at - restored) / MS : 0;
  lost = seen.lost * 1000 / client_count;
  for (i = 0; i < SERVERS; i++) {
    seen.handshakes += servers[i].handshakes;
    seen.for_the_dead += servers[i].for_the_dead;
    seen.drops += servers[i].drops;
  }
  printf("  %-46s restored after %5.1f s, %5ld locks lost, %5ld times no quorum, %6ld connects, "
         "%6ld handshakes (%ld for the dead), %6ld SYNs dropped\n", what, (double)restored / 1000,
         seen.lost, seen.no_quorum, seen.opened, seen.handshakes, seen.for_the_dead, seen.drops);
  CHECK(restored <= most_ms);
  CHECK(lost <= most_lost);
  CHECK_EQ(keeping(), client_count);
  for (i = 0; i < client_count; i++) redlock_close(&clients[i].rl);
  by_due[0]->due = INT64_MAX;
  run_until(now + (us)3600 * SECOND);
  CHECK_EQ(heap_size, 0);
  free(clients);
  free(by_due);
}

static void set_up(int up) {
  int i, k;
  for (i = 0; i < SERVERS; i++) {
    struct server *s = &servers[i];
    struct link *gone;
    s->up = up;
    s->busy_until = now;
    if (up) continue;
    for (k = 0; k < client_count; k++)
      if (clients[k].link[i] && clients[k].link[i]->state == OPEN) {
        hold(clients[k].link[i]);
        will(now + WAY, RST, clients[k].link[i], 0, NULL, 0);
      }
    while ((gone = dequeue(&s->backlog)) != NULL) let_go(gone);
    while ((gone = dequeue(&s->ready)) != NULL) let_go(gone);
    s->turns = 0;
    s->life++;
  }
}

static void set_frozen(int frozen) {
  int i;
  for (i = 0; i < SERVERS; i++) {
    servers[i].frozen = frozen;
    if (servers[i].busy_until < now) servers[i].busy_until = now;
    look_for_work(&servers[i]);
  }
}

static void set_cut(int cut) {
  int i;
  for (i = 0; i < SERVERS; i++) servers[i].cut = cut;
}

static void forget_connections(void) {
  int i, s;
  for (i = 0; i < client_count; i++)
    for (s = 0; s < SERVERS; s++)
      if (clients[i].link[s]) clients[i].link[s]->forgotten = 1;
}

/* ---- The tests ------------------------------------------------------------------------------- */

/* All three servers are down for a second. */
static void restart(int count, us handshake, int most_ms, int most_lost) {
  char what[64];
  begin(count, handshake, TTL);
  set_up(0);
  run_until(now + SECOND);
  set_up(1);
  snprintf(what, sizeof what, "%d restart, a handshake of %.2f ms:", count, (double)handshake / MS);
  end(what, 40 * SECOND, most_ms, most_lost);
}

TEST(a_fleet_outlives_a_restart) { /* R14 */
  restart(2500, 400, 3000, 0);
  restart(5000, 400, 5000, 2);
}

TEST(a_fleet_that_needs_seconds_to_connect_recovers) { /* R13 R14 */
  restart(2500, 1500, 6000, 20);
  restart(10000, 400, 9000, 120);
}

static void freeze(int count, us frozen, int most_ms, int most_lost) {
  char what[64];
  begin(count, 250, TTL);
  set_frozen(1);
  run_until(now + frozen);
  set_frozen(0);
  snprintf(what, sizeof what, "%d, their servers frozen for %.1f s:", count,
           (double)frozen / SECOND);
  end(what, 40 * SECOND, most_ms, most_lost);
}

/* The ttl is 10 s, and half of that is over when a lock is extended. */
TEST(a_fleet_outlives_a_freeze) { /* R13 R14 */
  freeze(5000, 400 * MS, 0, 0);
  freeze(5000, 5 * SECOND, 1000, 50);
  freeze(2500, 20 * SECOND, 15000, 1000);
}

TEST(a_fleet_outlives_a_cut) { /* R13 R14 */
  begin(2500, 250, TTL);
  set_cut(1);
  run_until(now + 10 * SECOND);
  set_cut(0);
  end("2500, cut off for 10 s:", 40 * SECOND, 12000, 1000);
}

/* A gateway is replaced. */
TEST(a_fleet_outlives_forgotten_connections) { /* R13 */
  begin(2500, 250, 30000);
  forget_connections();
  end("2500, all connections forgotten, ttl 30 s:", 60 * SECOND, 22000, 0);
}
