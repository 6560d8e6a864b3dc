/* client.c: two whole clients on the fake servers; the input is the schedule.
 *
 * The first bytes choose the world, then each event has two: what happens and to whom, and how.
 * At the end all is healed, and what is pending must come back. What must hold: oracle.h. */
#include "../library.h"

#include "../fake/fake.h"
#include "fuzz.h"
#include "schedule.h"
#include "oracle.h"
#include "faults.h"
#include "told.h"

static const uint32_t ttls[] = {200, 1000, 50, 10, 500, 3, 1500, 30};
static const uint32_t waits[] = {0, 20, 100, REDLOCK_FOREVER};
static const uint32_t holds[] = {0, 40, 400, 1200};
static const int64_t times[] = {0, 1, 2, 5, 10, 20, 49, 50, 51, 100, 200, 400, 1000, 2000, 17, 3};

/* ---- The world ------------------------------------------------------------------------------- */

static void begin_user(int i) {
  struct user *u = &world.user[i];
  memset(u->slot, 0, sizeof u->slot);
  world.options.io = &world.fake.client[i].io;
  u->open = redlock_init(&u->rl, world.list, &world.options) == REDLOCK_OK;
  world.fake.client[i].rl = u->open ? &u->rl : NULL;
  FUZZ_CHECK(u->open || world.has_failed);
}

static void choose_options(uint8_t byte, uint8_t times_byte) {
  static const uint32_t timeouts[] = {50, 5, 20, 120};
  redlock_options *o = &world.options;
  memset(o, 0, sizeof *o);
  o->server_timeout_ms = PICK(timeouts, times_byte & 3);
  if (byte & 1) o->max_ttl_ms = 1000;
  if (byte & 2) o->password = world.password = "secret";
  if (byte & 4) o->max_attempts = 2;
  if (byte & 8) o->retry_delay_min_ms = 10;
  if (byte & 16) o->max_hold_ms = 300;
  if (byte & 32) world.db = 1;
  if (byte & 64) world.may_lie = 1;
  if (times_byte >> 6 == 3) o->keep_margin_ms = 20;
  world.tells = times_byte >> 4 & 1;
  if ((times_byte & 32) == 0) return;
  o->fencing = 1;
  o->max_ttl_ms = 1000;
}

static void begin_world(struct fuzz_input *in) {
  static const int64_t delays[] = {1, 0, 4, 30};
  uint8_t shape = fuzz_byte(in), byte = fuzz_byte(in), times_byte = fuzz_byte(in);
  int i, count = shape % 5 + 1;
  memset(&world, 0, offsetof(struct world, user));
  world.users = shape & 8 ? 1 : USERS;
  world.is_honest = 1;
  choose_options(byte, times_byte);
  fake_begin(&world.fake, count);
  world.fake.most_calls = 4000000; /* servers may take three bytes at a time */
  for (i = 0; i < count; i++) {
    char *end = world.list + strlen(world.list);
    if (world.db) sprintf(end, "redis://s%d/%d ", i, world.db);
    else sprintf(end, "s%d ", i);
    world.reply_ms = PICK(delays, times_byte >> 2 & 3);
    heal(i);
  }
  for (i = 0; i < world.users; i++) begin_user(i);
  if (fuzz.traces)
    fprintf(stderr, "%s, %u ms, options %u\n", world.list, world.options.server_timeout_ms, byte);
}

/* ---- What the program does ------------------------------------------------------------------- */

/* What an acquire or adoption said: when it returned, or when it only began. */
static void acquired(struct slot *s, char resource, redlock_status status) {
  if (status != REDLOCK_INVALID) s->resource = resource;
  started(s, status, REDLOCK_ACQUIRE);
  if (status == REDLOCK_INVALID || status == REDLOCK_PENDING) return;
  FUZZ_CHECK(!s->pending && !s->kept);
  is_legal(&s->lock, status, REDLOCK_ACQUIRE);
  granted(s);
}

static void start(struct user *u, struct slot *s, uint8_t how, int blocks) {
  uint32_t ttl = PICK(ttls, how & 7), wait = PICK(waits, how >> 4 & 3);
  const char *resource = how & 8 ? "b" : "a";
  int64_t begin = world.fake.now_ms;
  if (!s->pending) s->adopts = 0;
  if (blocks && wait == REDLOCK_FOREVER) wait = 10;
  acquired(s, *resource,
           blocks ? redlock_acquire(&u->rl, &s->lock, resource, ttl, wait)
                  : redlock_start_acquire(&u->rl, &s->lock, resource, ttl, wait));
  if (blocks) took(begin, wait);
}

/* What is handed over now, or the last value that was. */
static void adopt(struct user *u, struct slot *s, uint8_t how, int blocks) {
  uint32_t ttl = PICK(ttls, how & 7);
  const char *resource = how & 8 ? "b" : "a", *value;
  int64_t begin = world.fake.now_ms;
  int free = !s->pending && !s->kept;
  redlock_status status;
  if (free && !(how & 128)) hand_over(s, *resource);
  value = given_value_of(*resource);
  if (free) {
    s->adopts = 1;
    memcpy(s->given, value, sizeof s->given);
    if (memcmp(value, s->lock.value, sizeof s->given) == 0) value = s->lock.value;
  }
  status = blocks ? redlock_adopt(&u->rl, &s->lock, resource, ttl, value)
                  : redlock_start_adopt(&u->rl, &s->lock, resource, ttl, value);
  acquired(s, *resource, status);
  if (status == REDLOCK_INVALID && free && is_held(u, s)) forget(u, s); /* it gave its own away */
  if (blocks) took(begin, 0);
}

/* The greatest two bits of the second byte make it an adoption. */
static void acquire(struct user *u, struct slot *s, uint8_t how, int blocks) {
  if (how & 64) adopt(u, s, how, blocks);
  else start(u, s, how, blocks);
}

static void extend(struct user *u, struct slot *s, uint8_t how, int blocks) {
  uint32_t ttl = PICK(ttls, how & 7);
  int64_t begin = world.fake.now_ms;
  redlock_status status;
  if (!blocks) {
    status = redlock_start_extend(&u->rl, &s->lock, ttl);
    started(s, status, REDLOCK_EXTEND);
    return;
  }
  status = redlock_extend(&u->rl, &s->lock, ttl);
  is_legal(&s->lock, status, REDLOCK_EXTEND);
  took(begin, 0);
}

/* A release of what is pending or kept takes it over, a blocking one its loss as well. */
static void release(struct user *u, struct slot *s, int blocks) {
  int64_t begin = world.fake.now_ms;
  redlock_status status;
  if (!blocks) {
    status = redlock_start_release(&u->rl, &s->lock);
    if (status == REDLOCK_PENDING || status == REDLOCK_CANCELLED) s->pending = s->kept = 0;
    started(s, status, REDLOCK_RELEASE);
  } else {
    status = redlock_release(&u->rl, &s->lock);
    if (status == REDLOCK_INVALID) return;
    s->pending = s->kept = 0;
    is_legal(&s->lock, status, REDLOCK_RELEASE);
    took(begin, 0);
  }
  if (status == REDLOCK_PENDING || status == REDLOCK_OK)
    FUZZ_CHECK(redlock_remaining_ms(&u->rl, &s->lock) == 0);
}

static void cancel(struct user *u, struct slot *s) {
  int owned = s->pending || s->kept;
  redlock_status status = redlock_cancel(&u->rl, &s->lock);
  FUZZ_CHECK(status == (owned ? REDLOCK_OK : REDLOCK_INVALID));
  s->pending = s->kept = 0;
}

static void keep(struct user *u, struct slot *s, uint8_t how) {
  redlock_status status = redlock_keep(&u->rl, &s->lock, PICK(holds, how));
  if (status != REDLOCK_OK) return;
  FUZZ_CHECK(!s->pending);
  s->kept = 1;
}

static void wait_for(struct user *u, int64_t ms) {
  redlock_lock *lock = redlock_wait(&u->rl, ms);
  if (lock) handed(u, lock);
}

/* No longer than one server_timeout_ms, and nothing stays open. */
static void close_user(int i) {
  struct user *u = &world.user[i];
  int64_t begin = world.fake.now_ms;
  int server, k;
  if (!u->open) return;
  for (k = 0; k < SLOTS; k++) note_given(&u->slot[k]); /* to be resumed by another process */
  redlock_close(&u->rl);
  world.fake.client[i].rl = NULL;
  took(begin, 0);
  for (server = 0; server < world.fake.servers; server++)
    FUZZ_CHECK(world.fake.client[i].connection[server] < 0);
  u->open = 0;
}

/* The time that the client named, and then its step. */
static void until_due(struct user *u) {
  int64_t ms = redlock_timeout_ms(&u->rl);
  fake_sleep(&world.fake, ms < 0 ? 1 : ms < 3000 ? ms : 3000);
  step(u);
}

/* ---- The schedule ---------------------------------------------------------------------------- */

static void act(struct user *u, struct slot *s, enum event event, uint8_t how) {
  switch (event) {
    case START_ACQUIRE: acquire(u, s, how, 0); break;
    case START_EXTEND: extend(u, s, how, 0); break;
    case START_RELEASE: release(u, s, 0); break;
    case CANCEL: cancel(u, s); break;
    case KEEP: keep(u, s, how); break;
    case STEP: step(u); break;
    case UNTIL_DUE: until_due(u); break;
    case WAIT: wait_for(u, PICK(times, how)); break;
    case ACQUIRE: acquire(u, s, how, 1); break;
    case EXTEND: extend(u, s, how, 1); break;
    case RELEASE: release(u, s, 1); break;
    default: break;
  }
}

static const char *const names[] = {
  "start acquire", "start extend", "start release", "cancel", "keep", "step", "until due", "wait",
  "acquire", "extend", "release", "close", "time", "freeze", "end", "connect", "socket", "delay",
  "cut", "refuse", "fail", "change", "lie"
};

static void trace(enum event event, int who, uint8_t how) {
  fprintf(stderr, "%ld: ", (long)world.fake.now_ms - 1000000);
  if (event >= FREEZE) fprintf(stderr, "server %d: ", who % world.fake.servers);
  else fprintf(stderr, "client %d, lock %d: ", who % world.users, who / 2 % SLOTS);
  fprintf(stderr, "%s %u\n", names[event], how);
}

static void run_event(uint8_t what, uint8_t how) {
  enum event event = PICK(events, what & 31);
  int who = what >> 5, client = who % world.users;
  struct user *u = &world.user[client];
  fuzz.events++;
  if (fuzz.traces) trace(event, who, how);
  if (event >= FREEZE) trouble(event, who % world.fake.servers, how);
  else if (event == TIME) fake_sleep(&world.fake, PICK(times, how));
  else if (event == CLOSE) {
    close_user(client);
    begin_user(client);
  } else if (u->open) {
    act(u, &u->slot[who / 2 % SLOTS], event, how);
  }
  check_world();
}

/* All is well again: what is pending comes back, and soon. */
static void finish(struct user *u) {
  int64_t end = world.fake.now_ms + 30000, last = -1;
  int i, idle = 0;
  for (i = 0; i < SLOTS; i++)
    if (u->slot[i].kept) cancel(u, &u->slot[i]);
  while (is_pending(u)) {
    redlock_lock *lock = redlock_wait(&u->rl, -1);
    idle = lock || world.fake.now_ms > last ? 0 : idle + 1;
    last = world.fake.now_ms;
    if (lock) handed(u, lock);
    FUZZ_CHECK(idle < 100); /* R27: it is not woken for nothing */
    check_world();
    if (world.fake.now_ms < end) continue;
    FUZZ_CHECK(!world.is_honest); /* a connection that lost a reply may be of no use for ever */
    for (i = 0; i < SLOTS; i++) cancel(u, &u->slot[i]);
  }
}

static void end_world(void) {
  int i;
  world.reply_ms = 1;
  for (i = 0; i < world.fake.servers; i++) heal(i);
  stop_failing();
  for (i = 0; i < world.users; i++)
    if (world.user[i].open) finish(&world.user[i]);
  for (i = 0; i < world.users; i++) close_user(i);
  FUZZ_CHECK(fake_open_count(&world.fake) == 0);
  if (world.fake.misuse[0]) fuzz_fail(world.fake.misuse, "redlock_io", 0);
  hear_all(&world.fake); /* a server that lies may say "refused" of what it has set, or "missing" */
  FUZZ_CHECK(fake_no_set_twice(&world.fake, world.options.max_ttl_ms != 0)); /* R12 R29 */
  fake_end(&world.fake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in;
  int left = EVENTS;
  in.at = data;
  in.end = data + size;
  fuzz_count();
  begin_world(&in);
  world.input = &in;
  for (; in.end - in.at >= 2 && left > 0; left--) {
    uint8_t what = fuzz_byte(&in), how = fuzz_byte(&in);
    run_event(what, how);
  }
  end_world();
  return 0;
}
