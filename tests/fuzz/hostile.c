/* hostile.c: a whole client against servers that are the input: see peers.h. Its clock, its random
 * numbers, its sockets and its layer may fail too, and the program may do anything.
 *
 * Neither may break the client's invariants, R3, R4 or R10, nor put into a text what cannot be
 * printed; and what was opened is closed. */
#include "../library.h"

#include "peers.h"

enum { SERVERS = REDLOCK_MAX_SERVERS, LOCKS = 6, EVENTS = 300, MOST_CALLS = 200000 };

static struct {
  redlock rl;
  redlock_lock lock[LOCKS];
  int yes_before[LOCKS][SERVERS]; /* when its acquire began */
  int is_open, servers, calls;
  int is_flaky;     /* the hooks fail as the input says */
  int is_rushed;    /* the clock has moved by itself */
  int drawn;        /* so many values were */
  redlock_options options;
  char list[SERVERS * 64];
  struct fuzz_input in;
} world;

static uint8_t flaw(void) { return world.is_flaky ? fuzz_byte(&world.in) : 0; }

static void check(void) {
  FUZZ_CHECK(++world.calls < MOST_CALLS);
  if (world.is_open) library_check(&world.rl);
}

/* ---- The hooks ------------------------------------------------------------------------------- */

static intptr_t open_peer(void *ctx, int server, const char *host, const char *port) {
  (void)ctx, (void)host, (void)port;
  check();
  FUZZ_CHECK(server >= 0 && server < world.servers && !peers[server].is_open);
  if (flaw() > 240) return -1;
  peer_open(&peers[server], server);
  return server + 10;
}

/* In part, or not at all. */
static int send_to(void *ctx, int server, const void *data, size_t size) {
  uint8_t how = flaw();
  (void)ctx;
  check();
  if (how > 250) return -1;
  if (how > 200) size = (how & 1) && size ? size % (how & 63) : 0;
  return peer_send(&peers[server], data, size);
}

static int recv_from(void *ctx, int server, void *data, size_t size) {
  (void)ctx;
  check();
  if (flaw() > 252) return -1;
  return peer_recv(&peers[server], data, size);
}

static void close_peer(void *ctx, int server) {
  (void)ctx;
  FUZZ_CHECK(peers[server].is_open);
  peers[server].is_open = 0;
}

static int wait_for(void *ctx, const redlock_fd *want, int count, int64_t ms) {
  int i, ready = 0;
  (void)ctx;
  check();
  if (flaw() > 253) return -1;
  for (i = 0; i < count; i++)
    ready |= peer_is_readable(&peers[want[i].server]) ||
             ((want[i].events & REDLOCK_WRITE) && peer_is_writable(&peers[want[i].server]));
  if (!ready) peers_now_ms += ms < 0 || ms > 3000 ? 3000 : ms;
  return 1;
}

static int64_t now(void *ctx) {
  uint8_t how = flaw();
  (void)ctx;
  if (how > 253) return -1;
  if (how == 253) return peers_now_ms - 5;
  if (how < 250) return peers_now_ms;
  world.is_rushed = 1;
  return peers_now_ms += how == 250 ? 60000 : (how - 250) * 40;
}

/* R3: no value twice. */
static int draw(void *ctx, void *data, size_t size) {
  (void)ctx;
  if (flaw() > 250) return -1;
  memset(data, 0x55, size);
  memcpy(data, &world.drawn, size < sizeof world.drawn ? size : sizeof world.drawn);
  world.drawn++;
  return 0;
}

static const redlock_io io = {open_peer, send_to, recv_from, close_peer, wait_for, now, draw, NULL};

static int layer_open(void *ctx, int server, intptr_t fd, const char *host) {
  (void)ctx, (void)host;
  FUZZ_CHECK(fd == server + 10);
  return flaw() > 240;
}

static void layer_close(void *ctx, int server) {
  (void)ctx;
  FUZZ_CHECK(peers[server].is_open);
}

static unsigned layer_want(void *ctx, int server, unsigned events) {
  (void)ctx, (void)server;
  return events;
}

static const char *layer_error(void *ctx, int server) {
  (void)ctx, (void)server;
  return flaw() & 1 ? "a layer's words, which are longer than the place that they have, so that "
                      "they have to be cut somewhere, and must not be left without an end" : NULL;
}

static const redlock_layer layer = {layer_open, send_to, recv_from, layer_close, layer_want,
                                    layer_error, NULL};

/* ---- The client ------------------------------------------------------------------------------ */

static void choose_options(uint8_t byte) {
  redlock_options *o = &world.options;
  memset(o, 0, sizeof *o);
  o->io = &io;
  o->tls = &layer;
  if (byte & 1) o->password = "secret";
  if (byte & 2) o->server_timeout_ms = 50;
  if (byte & 4) o->max_ttl_ms = 1000;
  if (byte & 8) o->max_attempts = 3;
  if (byte & 16) o->max_hold_ms = 300;
  if (byte & 32) o->keep_margin_ms = 5;
#ifndef REDLOCK_NO_FENCING
  if (byte & 64) o->fencing = 1;
#endif
  if (byte & 64) o->max_ttl_ms = 60000;
}

static void open_client(void) {
  uint8_t how = fuzz_byte(&world.in), kind = fuzz_byte(&world.in);
  char *end = world.list;
  int i, was_flaky = kind >> 7;
  choose_options(how);
  world.servers = kind % SERVERS + 1;
  peers_reset();
  for (i = 0; i < world.servers; i++)
    end += sprintf(end, kind & 32 && i % 2 ? "rediss://u:%%41%d@h%d/%d," : kind & 64
                     ? "redis://:p@h%d:%d/%d," : "h%d:%d,", i + 1, i + 1, i & 3);
  world.is_flaky = 0;
  world.is_open = redlock_init(&world.rl, world.list, &world.options) == REDLOCK_OK;
  world.is_flaky = was_flaky;
  memset(world.lock, 0, sizeof world.lock);
}

static void close_client(void) {
  int i;
  if (!world.is_open) return;
  redlock_close(&world.rl);
  world.is_open = 0;
  for (i = 0; i < world.servers; i++) FUZZ_CHECK(!peers[i].is_open);
}

/* What is said of each server can be printed. */
static void read_texts(void) {
  redlock_server_info info;
  const char *text;
  int i;
  for (i = -1; (text = redlock_server_error(&world.rl, i)) != NULL; i++) {
    for (; *text; text++) FUZZ_CHECK(*text >= ' ' && *text <= '~');
    if (i >= 0) FUZZ_CHECK(redlock_server_status(&world.rl, i, &info) == REDLOCK_OK);
  }
}

/* ---- The program ----------------------------------------------------------------------------- */

static int yes_now[SERVERS]; /* when the event began */

static void begun(const redlock_lock *lock, redlock_status status) {
  if (status == REDLOCK_INVALID) return;
  memcpy(world.yes_before[lock - world.lock], yes_now, sizeof yes_now);
}

/* R4, R5: whoever may have said yes since it began is a quorum. */
static void granted(const redlock_lock *lock) {
  int i, which = (int)(lock - world.lock), count = 0;
  for (i = 0; i < world.servers; i++) count += peers[i].yes > world.yes_before[which][i];
  FUZZ_CHECK(count > world.servers / 2);
}

static void handed(const redlock_lock *lock) {
  if (!lock) return;
  FUZZ_CHECK(lock >= world.lock && lock < world.lock + LOCKS);
  if (lock->status == REDLOCK_OK && lock->operation == REDLOCK_ACQUIRE) granted(lock);
}

/* R9, R10: as oracle.h of the other client has it. */
static void took(int64_t from_ms, int64_t wait_ms) {
  uint32_t most = world.options.server_timeout_ms ? world.options.server_timeout_ms : 250;
  if (world.is_flaky || world.is_rushed) return;
  FUZZ_CHECK(peers_now_ms - from_ms <= wait_ms + 2 * (int64_t)most + 2);
}

static const uint32_t ttls[] = {10, 50, 200, 1000, 3, 30000, 2147483647u, 4294967295u};
static const int64_t jumps[] = {0, 1, 5, 20, 50, 51, 100, 250, 251, 1000, 5001, 6001, 60000};

static void act(uint8_t what, uint8_t how) {
  redlock_lock *lock = &world.lock[how % LOCKS];
  static char longest[REDLOCK_MAX_RESOURCE + 1];
  const char *name = how & 64 ? "a" : how & 32 ? "job" : longest;
  uint32_t ttl = ttls[what >> 5];
  int64_t from = peers_now_ms;
  redlock_status status;
  char value[sizeof lock->value];
  int i;
  memset(longest, 'n', REDLOCK_MAX_RESOURCE);
  for (i = 0; i < SERVERS; i++) yes_now[i] = peers[i].yes;
  memcpy(value, world.lock[how / LOCKS % LOCKS].value, sizeof value);
  switch (what & 31) {
    case 0: case 1: case 2:
      begun(lock, redlock_start_acquire(&world.rl, lock, name, ttl, how & 128 ? 100 : 0));
      break;
    case 3: begun(lock, redlock_start_adopt(&world.rl, lock, name, ttl, value)); break;
    case 4: (void)redlock_start_extend(&world.rl, lock, ttl); break;
    case 5: (void)redlock_start_release(&world.rl, lock); break;
    case 6: (void)redlock_cancel(&world.rl, lock); break;
    case 7: (void)redlock_keep(&world.rl, lock, how & 128 ? 500 : 0); break;
    case 8: (void)redlock_resolve(&world.rl); break;
    case 9: peers_now_ms += jumps[how % 13]; break;
    case 10: read_texts(); break;
    case 11: close_client(); open_client(); break;
    case 12: handed(redlock_wait(&world.rl, how)); break;
    case 13: handed(redlock_step_on(&world.rl, how)); break;
    case 14:
      status = redlock_acquire(&world.rl, lock, name, ttl, how >> 6);
      begun(lock, status);
      if (status == REDLOCK_OK) granted(lock);
      took(from, how >> 6);
      break;
    case 15: (void)redlock_extend(&world.rl, lock, ttl); took(from, 0); break;
    case 16: (void)redlock_release(&world.rl, lock); took(from, 0); break;
    default: handed(redlock_step(&world.rl)); break;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int left = EVENTS;
  fuzz_count();
  memset(&world, 0, sizeof world);
  world.in.at = data;
  world.in.end = data + size;
  peers_input = &world.in;
  peers_now_ms = 1000000;
  open_client();
  for (; world.in.at < world.in.end && left > 0 && world.is_open; left--) {
    uint8_t what = fuzz_byte(&world.in), how = fuzz_byte(&world.in);
    fuzz.events++;
    act(what, how);
    if (world.is_open) check();
  }
  world.is_flaky = 0;
  if (world.is_open) read_texts();
  close_client();
  return 0;
}
