/* parser.c: what a server may say.
 *
 * The first byte says how the client greets and how its input is cut; the rest is what the server
 * says. A client that gets it in pieces must come to the same result as one that gets it all at
 * once. (tests/prove shows what each reply means.) */
#define REDLOCK_MAX_SERVERS 1
#define REDLOCK_MAX_RESOURCE 16
#define REDLOCK_MAX_COMMANDS 4
#define REDLOCK_MAX_ERROR 80
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../inside.h"
#include "fuzz.h"

enum { MOST = 1024, OUTCOMES = 8 };

/* What came of it. */
struct outcome {
  int handed, closes;
  int operation[OUTCOMES], status[OUTCOMES], vote[OUTCOMES];
  char error[REDLOCK_MAX_ERROR];
};

static struct {
  const char *bytes;
  size_t size, given, most; /* `most` leave at once */
  size_t asked;             /* the answers to what was asked end here */
  int64_t now_ms;
  int opens, closes;
  size_t words, left;       /* of the command that is being read, and bytes of its word */
  size_t number;
  int mark;
} wire;

/* ---- The server ------------------------------------------------------------------------------ */

/* One command more was read: one reply more may leave, with what is pushed ahead of it. */
static void ask(void) {
  inside_parser parser;
  inside_reply reply = INSIDE_MORE;
  memset(&parser, 0, sizeof parser);
  while (wire.asked < wire.size && (reply == INSIDE_MORE || reply == INSIDE_PUSHED))
    reply = inside_parse(&parser, wire.bytes[wire.asked++]);
  if (reply == INSIDE_BAD) wire.asked = wire.size;
}

static void read_byte(char c) {
  if (wire.left > 0) {
    if (--wire.left == 0 && --wire.words == 0) ask();
  } else if (c == '*' || c == '$') {
    wire.mark = c;
    wire.number = 0;
  } else if (c == '\n') {
    if (wire.mark == '*') wire.words = wire.number;
    else wire.left = wire.number + 2;
  } else if (c != '\r') {
    wire.number = wire.number * 10 + (size_t)(c - '0');
  }
}

static intptr_t wire_open(void *ctx, int server, const char *host, const char *port) {
  (void)ctx, (void)server, (void)host, (void)port;
  return wire.opens++ ? -1 : 1;
}

static int wire_send(void *ctx, int server, const void *data, size_t size) {
  size_t i;
  (void)ctx, (void)server;
  for (i = 0; i < size; i++) read_byte(((const char *)data)[i]);
  return (int)size;
}

static int wire_recv(void *ctx, int server, void *data, size_t size) {
  size_t ready = wire.asked - wire.given;
  (void)ctx, (void)server;
  if (size > ready) size = ready;
  if (size > wire.most) size = wire.most;
  memcpy(data, wire.bytes + wire.given, size);
  wire.given += size;
  return (int)size;
}

static void wire_close(void *ctx, int server) {
  (void)ctx, (void)server;
  wire.closes++;
}

static int wire_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  (void)ctx, (void)want, (void)count;
  wire.now_ms += timeout_ms;
  return 0;
}

static int64_t wire_now(void *ctx) {
  (void)ctx;
  return wire.now_ms;
}

static int wire_entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
  memset(data, 'v', size);
  return 0;
}

static const redlock_io io = {
  wire_open, wire_send, wire_recv, wire_close, wire_wait, wire_now, wire_entropy, NULL
};

/* ---- The client ------------------------------------------------------------------------------ */

/* Taken, extended and released, as far as it gets. */
static void go_on(redlock *rl, redlock_lock *lock, struct outcome *out) {
  FUZZ_CHECK(out->handed < OUTCOMES);
  out->operation[out->handed] = (int)lock->operation;
  out->status[out->handed] = (int)lock->status;
  out->vote[out->handed++] = (int)lock->votes[0];
  if (lock->operation == REDLOCK_ACQUIRE && lock->status == REDLOCK_OK)
    (void)redlock_start_extend(rl, lock, 2000);
  else if (lock->operation == REDLOCK_EXTEND)
    (void)redlock_start_release(rl, lock);
}

/* Steps until nothing moves any more; then what nobody asked for comes too. */
static void converse(redlock *rl, struct outcome *out) {
  int quiet = 0, turn;
  for (turn = 0; turn < 6 * MOST && quiet < 6; turn++) {
    size_t before = wire.given;
    int handed = out->handed;
    redlock_lock *lock;
    while ((lock = redlock_step(rl)) != NULL) go_on(rl, lock, out);
    quiet = wire.given == before && out->handed == handed ? quiet + 1 : 0;
    if (quiet == 3) wire.asked = wire.size;
  }
  FUZZ_CHECK(quiet == 6);
}

static void run(const redlock_options *options, const char *bytes, size_t size, size_t most,
                struct outcome *out) {
  redlock rl;
  redlock_lock lock;
  const char *c;
  memset(&wire, 0, sizeof wire);
  memset(out, 0, sizeof *out);
  memset(&lock, 0, sizeof lock);
  wire.bytes = bytes;
  wire.size = size;
  wire.most = most;
  wire.now_ms = 1000000;
  FUZZ_CHECK(redlock_init(&rl, "a", options) == REDLOCK_OK);
  FUZZ_CHECK(redlock_start_acquire(&rl, &lock, "r", 1000, 0) == REDLOCK_PENDING);
  converse(&rl, out);
  strcpy(out->error, redlock_server_error(&rl, 0));
  for (c = out->error; *c; c++) FUZZ_CHECK(*c >= ' ' && *c <= '~');
  out->closes = wire.closes;
  redlock_close(&rl);
  FUZZ_CHECK(wire.closes == (wire.opens > 0));
}

static void pieces_make_no_difference(uint8_t how, const char *bytes, size_t size) {
  static const size_t most[] = {1, 2, 3, 5, 8, 13, 21, 100};
  redlock_options options;
  struct outcome whole, cut;
  memset(&options, 0, sizeof options);
  options.io = &io;
  if (how & 1) options.max_ttl_ms = 3000;
  if (how & 2) options.password = "secret";
  run(&options, bytes, size, SIZE_MAX, &whole);
  run(&options, bytes, size, most[how >> 2 & 7], &cut);
  FUZZ_CHECK(memcmp(&whole, &cut, sizeof whole) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_count();
  if (size < 2 || size > MOST) return 0;
  pieces_make_no_difference(data[0], (const char *)data + 1, size - 1);
  return 0;
}
