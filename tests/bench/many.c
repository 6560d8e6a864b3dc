/* many.c: what one lock costs beside 100 to 100 000 others of its client, in basic blocks of code,
 * in virtual time, against servers that answer at once. The tests have 10 000; with "table" it
 * prints the rows of `make bench`, and fails as they do. */
#define REDLOCK_MAX_COMMANDS 512
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#define WIRE_BYTES 131072 /* a send with this ring may have a quarter of it */
#include "tests/unit/recording_io.h"

#include "tests/bench/work.h"
#include "tests/check.h"

#include <stdio.h>

enum { MOST = 100000, MANY = 10000, FEW = 100, TRIES = 100, TTL_MS = 30000, SPREAD_MS = 14000 };
enum { RUN_MS = 4000, MAX_TTL_MS = 60000, ASKED_MS = 3000, NAME = 16 };

static redlock client;
static redlock_lock locks[MOST], other;
static char names[MOST][NAME];

/* Basic blocks for one of each; `waiter`: for one attempt of one that waits. */
struct costs {
  long start, grant, extension, cancel, release, push, waiter;
};

static void fail(const char *what) {
  fprintf(stderr, "many: %s\n", what);
  exit(1);
}

static void begin(uint32_t max_ttl_ms) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  wire_reset();
  wire.forgets = wire.differ = 1;
  wire.client = "+OK\r\n";
  wire.hello = "%4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
               "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";
  options.io = &wire.io;
  options.max_ttl_ms = max_ttl_ms;
  if (redlock_init(&client, "a,b,c", &options) != REDLOCK_OK) fail("init");
}

static void start(redlock_lock *lock, const char *name, uint32_t wait_ms) {
  if (redlock_start_acquire(&client, lock, name, TTL_MS, wait_ms) != REDLOCK_PENDING) fail("start");
}

static void await_grant(const redlock_lock *lock) {
  redlock_lock *returned;
  do returned = redlock_wait(&client, 1000);
  while (!returned);
  if (returned != lock || lock->status != REDLOCK_OK) fail("no grant");
}

/* Time passes until then; no lock may be lost. */
static void run_until(int64_t end_ms) {
  while (wire.now_ms < end_ms)
    if (redlock_wait(&client, end_ms - wire.now_ms)) fail("a kept lock was lost");
}

/* Taken and kept at an even rate, so that their timers are spread. */
static void take_all(int count) {
  int64_t from = wire.now_ms;
  int i;
  for (i = 0; i < count; i++) {
    run_until(from + (int64_t)SPREAD_MS * i / count);
    start(&locks[i], names[i], 0);
    await_grant(&locks[i]);
    if (redlock_keep(&client, &locks[i], 0) != REDLOCK_OK) fail("it is not kept");
  }
  run_until(from + SPREAD_MS);
}

/* Beside `count` that are kept. */
static void measure_kept(struct costs *c, int count, uint32_t max_ttl_ms) {
  long from, extensions;
  int i;
  begin(max_ttl_ms);
  take_all(count);
  from = work_done;
  extensions = wire.evals;
  run_until(wire.now_ms + RUN_MS);
  c->extension = (work_done - from) / ((wire.evals - extensions) / client.server_count);
  c->start = c->grant = c->release = c->cancel = 0; /* for all TRIES, so far */
  for (i = 0; i < TRIES; i++) {
    from = work_done;
    start(&other, "other", 0);
    c->start += work_done - from;
    from = work_done;
    await_grant(&other);
    c->grant += work_done - from;
    from = work_done;
    if (redlock_release(&client, &other) != REDLOCK_OK) fail("release");
    c->release += work_done - from;
    from = work_done;
    if (redlock_cancel(&client, &locks[i * (count / TRIES)]) != REDLOCK_OK) fail("cancel");
    c->cancel += work_done - from;
  }
  c->start /= TRIES;
  c->grant /= TRIES;
  c->release /= TRIES;
  c->cancel /= TRIES;
  redlock_close(&client);
}

static void push(const char *name) {
  int i;
  for (i = 0; i < client.server_count; i++) {
    struct wire_server *s = &wire.server[i];
    int size = snprintf(s->reply + s->reply_size, sizeof s->reply - s->reply_size,
                        ">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%s\r\n", (int)strlen(name), name);
    s->reply_size += (size_t)size;
  }
}

/* `count` wait, each for a lock of its own that another client has. */
static void measure_waiters(struct costs *c, int count) {
  long from;
  int i;
  begin(0);
  wire.set = "_\r\n";
  wire.eval = "$3\r\n\001\001\001\r\n";
  for (i = 0; i < count; i++) start(&locks[i], names[i], REDLOCK_FOREVER);
  run_until(wire.now_ms + 2 * ASKED_MS); /* by now all are to be woken */
  from = work_done;
  wire.sets = wire.evals = 0;
  run_until(wire.now_ms + ASKED_MS);
  c->waiter = (work_done - from) / ((wire.evals + wire.sets) / client.server_count);
  from = work_done;
  for (i = 0; i < TRIES; i++) push(names[i * (count / TRIES)]);
  if (redlock_step(&client)) fail("a waiter was granted");
  c->push = (work_done - from) / TRIES;
  redlock_close(&client);
}

static struct costs measure(int count, uint32_t max_ttl_ms) {
  struct costs c;
  int i;
  for (i = 0; i < MOST; i++) snprintf(names[i], NAME, "invoice:%d", i);
  measure_kept(&c, count, max_ttl_ms);
  measure_waiters(&c, count);
  return c;
}

/* At most twice what it costs beside a few. */
static int stays(const char *what, long few, long many) {
  if (many <= 2 * few) return 1;
  printf("    %s: %ld beside a few, %ld beside many\n", what, few, many);
  return 0;
}

static int all_stay(const struct costs *few, const struct costs *many) {
#define STAYS(what) stays(#what, few->what, many->what)
  return STAYS(start) + STAYS(grant) + STAYS(extension) + STAYS(cancel) + STAYS(release) +
         STAYS(push) + STAYS(waiter) == 7;
#undef STAYS
}

static void costs_stay(uint32_t max_ttl_ms) {
  struct costs few = measure(FEW, max_ttl_ms), many = measure(MANY, max_ttl_ms);
  if (work_done == 0) SKIP("this compiler does not count basic blocks");
  CHECK(all_stay(&few, &many));
}

TEST(one_costs_the_same_beside_ten_thousand) { costs_stay(0); }

TEST(one_costs_the_same_where_servers_may_forget) { costs_stay(MAX_TTL_MS); } /* R24 R29 */

/* 0 = one costs more than twice as much beside 100 000. */
static int print_rows(uint32_t max_ttl_ms) {
  struct costs few, c;
  int count, stay = 1;
  for (count = FEW; count <= MOST; count *= 10) {
    c = measure(count, max_ttl_ms);
    if (count == FEW) few = c;
    stay = all_stay(&few, &c);
    printf("many %d %d | %ld %ld %ld %ld %ld %ld %ld\n", count, (int)max_ttl_ms, c.start, c.grant,
           c.extension, c.cancel, c.release, c.push, c.waiter);
  }
  return stay;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "table") == 0) {
    printf("basic blocks beside so many locks, with max_ttl_ms | "
           "start grant extension cancel release push waiter\n");
    return !(print_rows(0) & print_rows(MAX_TTL_MS));
  }
  check_start(argc, argv);
  check_all();
  return check_end();
}
