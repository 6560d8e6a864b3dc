/* fixture.h: one client on one fake, for the test programs of this folder.
 * A test is   world(5); ... CHECK...;   or, to change the options or the list first,
 * prepare(5); options.max_attempts = 3; ready(); ...;   A world ends when the test does, or when
 * the next one begins; end() ends it before. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "../library.h"

#include "../check_main.h"
#include "fake.h"

/* drift at the default 10 000 ppm, and the millisecond by which elapsed time is rounded up */
#define DRIFT(ttl) (((ttl) + 99) / 100 + 2)
#define VALID(ttl) ((ttl) - DRIFT(ttl) - 1)

enum { HANDED = 1024, SERVER_TIMEOUT = 50 };

static struct fake fake;
static redlock rl;
static redlock rival; /* another client of the same servers, if any */
static redlock_options options;
static redlock_lock lock, other;
static char servers[512];
static redlock_lock *handed[HANDED]; /* what step and wait returned, in order */
static int handed_count;

/* A member of struct fake_server, of servers first to last. */
#define SET_SERVERS(first, last, member, value) do { \
    int each_; \
    for (each_ = (first); each_ <= (last); each_++) fake.server[each_].member = (value); \
  } while (0)

static int is_open; /* a world is */

/* What is true at the end of every test, whatever it is about. */
static inline void end(void) {
  if (!is_open) return;
  is_open = 0;
  fake.on_call = NULL;
  redlock_close(&rl);
  redlock_close(&rival);
  CHECK_EQ(fake_open_count(&fake), 0);
  if (!CHECK(!fake.misuse[0])) printf("    %s\n", fake.misuse);
  CHECK(fake_no_set_twice(&fake, options.max_ttl_ms != 0)); /* R12 R29 */
  fake_end(&fake);
}

static inline void prepare(int count) {
  int i;
  end();
  is_open = 1;
  check.after = end;
  fake_begin(&fake, count);
  memset(&rl, 0, sizeof rl);
  memset(&rival, 0, sizeof rival);
  memset(&options, 0, sizeof options);
  memset(&lock, 0, sizeof lock);
  memset(&other, 0, sizeof other);
  handed_count = 0;
  servers[0] = '\0';
  for (i = 0; i < count; i++) {
    size_t used = strlen(servers);
    snprintf(servers + used, sizeof servers - used, "%ss%d", i ? "," : "", i);
  }
  options.io = &fake.client[0].io;
  options.server_timeout_ms = SERVER_TIMEOUT;
  fake.client[0].rl = &rl;
  fake.watched[0] = &lock;
  fake.watched[1] = &other;
}

static inline void ready(void) { CHECK_EQ(redlock_init(&rl, servers, &options), REDLOCK_OK); }

/* With the options of our client. */
static inline void ready_rival(void) {
  redlock_options its = options;
  its.io = &fake.client[1].io;
  CHECK_EQ(redlock_init(&rival, servers, &its), REDLOCK_OK);
  fake.client[1].rl = &rival;
}

static inline int64_t now(void) { return fake.now_ms; }

static inline void note(redlock_lock *l) {
  if (l && handed_count < HANDED) handed[handed_count++] = l;
}

static int64_t timed_from;

static inline void start_timing(void) { timed_from = now(); }

static inline int64_t elapsed_ms(void) { return now() - timed_from; }

/* A blocking call that comes to that, in exactly so many simulated ms; or in so many at most. */
#define CHECK_IN_MS(call, want, ms) do { \
    start_timing(); \
    CHECK_EQ(call, want); \
    CHECK_EQ(elapsed_ms(), ms); \
  } while (0)
#define CHECK_WITHIN_MS(call, want, ms) do { \
    start_timing(); \
    CHECK_EQ(call, want); \
    CHECK(elapsed_ms() <= (ms)); \
  } while (0)

/* It was kept, and is returned once, since it is lost or its time is up. */
static inline void is_lost_once(const redlock_lock *l, redlock_status why) {
  CHECK_EQ(handed_count, 1);
  CHECK(handed[0] == l);
  CHECK_EQ(l->operation, REDLOCK_LOST);
  CHECK_EQ(l->status, why);
}

static inline void take_all(redlock *client) {
  redlock_lock *l;
  while ((l = redlock_step(client)) != NULL) note(l);
}

static inline size_t bytes_moved(void) {
  size_t i, sum = 0;
  for (i = 0; i < fake.connections; i++) sum += fake.connection[i].took + fake.connection[i].gave;
  return sum;
}

/* Lets the client work for so long. A client with nothing to do does not wait: then time passes
   without it. */
static inline void run_for(int64_t ms) {
  int64_t limit = now() + ms;
  int idle = 0;
  take_all(&rl);
  while (now() < limit) {
    int64_t before = now();
    size_t moved = bytes_moved();
    redlock_lock *l = redlock_wait(&rl, limit - now());
    note(l);
    idle = !l && now() == before && bytes_moved() == moved ? idle + 1 : 0;
    if (idle < 8) continue;
    fake_sleep(&fake, 1);
    idle = 0;
  }
  take_all(&rl);
}

/* Waits until this lock is returned, at most ten simulated minutes. */
static inline redlock_status finish(redlock_lock *wanted) {
  int64_t limit = now() + 600000;
  while (now() < limit) {
    redlock_lock *l = redlock_wait(&rl, limit - now());
    note(l);
    if (l == wanted) return l->status;
    if (!l && wanted->status != REDLOCK_PENDING) break;
  }
  CHECK(handed_count && handed[handed_count - 1] == wanted); /* it was never returned */
  return REDLOCK_PENDING;
}

static inline void forget_log(void) {
  fake.logged = 0;
  memset(fake.calls, 0, sizeof fake.calls);
}

/* Connects all the servers, so that what follows is a round trip and no more. */
static inline void warm(void) {
  CHECK_EQ(redlock_acquire(&rl, &other, "warm", 1000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
  run_for(10);
  memset(&other, 0, sizeof other);
  handed_count = 0;
  forget_log();
}

static inline void ready_and_warm(void) {
  ready();
  warm();
}

static inline void world(int count) {
  prepare(count);
  ready_and_warm();
}

/* The same, with servers that tell waiters (R26). */
static inline void prepare_waking(int count) {
  prepare(count);
  SET_SERVERS(0, count - 1, store.refuse_hello, 0);
}

static inline void world_waking(int count) {
  prepare_waking(count);
  ready_and_warm();
}

/* A push of all names, as after FLUSHALL. */
#define PUSH_OF(letter) ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\n" letter "\r\n"
#define PUSH_OF_ALL ">2\r\n$10\r\ninvalidate\r\n_\r\n"

/* R26: whatever is pushed, a waiter makes at most so many attempts. */
enum { A_SECOND = 1000, MOST_A_SECOND = 10 };

/* R13: of silence, from when the client began to wait, behind which a connection is given up. */
enum { LEAST_SILENCE = 5000, MOST_SILENCE = 6000 };

/* The SETs that a server ran since the log was forgotten: one for each attempt. */
static inline int sets(int server) { return fake_count(&fake, server, FAKE_SET); }

/* Of the calls of this hook from now on, the first of which is 1, these fail. */
static inline void fail_calls(int hook, long from, long until) {
  fake.calls[hook] = 0;
  fake.fail_hook = hook;
  fake.fail_from = from;
  fake.fail_until = until;
}

/* The names of many locks. */
static inline const char *numbered(int i) {
  static char name[16];
  snprintf(name, sizeof name, "many%d", i);
  return name;
}

/* Takes the lock for a test that is about something else. */
static inline void hold(const char *resource, uint32_t ttl_ms) {
  CHECK_EQ(redlock_acquire(&rl, &lock, resource, ttl_ms, 0), REDLOCK_OK);
}

/* The lock of most tests is "r". */
static inline void world_with_lock(int count, uint32_t ttl_ms) {
  world(count);
  hold("r", ttl_ms);
}

static inline void ready_and_hold(uint32_t ttl_ms) {
  ready();
  hold("r", ttl_ms);
}

static inline void take_and_release(const char *resource, uint32_t ttl_ms) {
  hold(resource, ttl_ms);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* Other locks take the slots of all earlier commands. */
static inline void retire_all(void) {
  int i;
  for (i = 0; i < REDLOCK_MAX_COMMANDS; i++) {
    CHECK_EQ(redlock_acquire(&rl, &other, numbered(i), 1000, 0), REDLOCK_OK);
    CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
  }
}

/* Its SETs are out, and nothing was heard of them yet. */
static inline void start_and_send(redlock_lock *l, const char *resource, uint32_t ttl_ms,
                                  uint32_t wait_ms) {
  CHECK_EQ(redlock_start_acquire(&rl, l, resource, ttl_ms, wait_ms), REDLOCK_PENDING);
  CHECK(redlock_step(&rl) == NULL);
}

/* Both will be decided in one turn. */
static inline void start_two(uint32_t ttl_ms) {
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "a", ttl_ms, 0), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_acquire(&rl, &other, "b", ttl_ms, 0), REDLOCK_PENDING);
}

/* They are, and one is returned: this is the other one, which is still in the queue. */
static inline redlock_lock *still_queued(void) {
  redlock_lock *first = NULL;
  int turns;
  for (turns = 0; turns < 10 && !first; turns++) first = redlock_wait(&rl, 10);
  CHECK((first == &lock || first == &other) && first->status == REDLOCK_OK);
  return first == &lock ? &other : &lock;
}

/* Nothing but redlock_wait(&rl, 0) between two pieces of work, for so long or until it is lost. At
   the worst moments: a piece ends a millisecond before the next extension is due. */
static inline void work_in_pieces(int64_t piece_ms, int at_worst, int64_t ms) {
  int64_t limit = now() + ms;
  while (now() < limit && !handed_count) {
    int64_t due = redlock_timeout_ms(&rl);
    fake_sleep(&fake, at_worst && due > SERVER_TIMEOUT && due <= piece_ms ? due - 1 : piece_ms);
    note(redlock_wait(&rl, 0));
  }
}

/* So many bytes still fit in front of a frozen server. */
static inline void leave_room(int server, size_t bytes) {
  const struct fake_stream *in = &fake.connection[fake.client[0].connection[server]].in;
  fake.server[server].socket_room = in->end - in->next + bytes;
}

/* Server 0 stands still for longer than its answers are worth waiting for, and its socket is full:
   of the release that is started here a part fits. */
static inline void release_into_a_full_socket(void) {
  hold("r", 60000);
  fake.server[0].thaw_at = now() + 200;
  CHECK_EQ(redlock_start_extend(&rl, &lock, 90000), REDLOCK_PENDING);
  CHECK(redlock_step(&rl) == NULL);
  leave_room(0, 20);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
}

/* ---- What happens to servers first to last ---- */

/* Replies take 1 ms from the first, 2 from the next, and so on. */
static inline void answer_in_turn(void) {
  int i;
  for (i = 0; i < fake.servers; i++) fake.server[i].reply_ms = i + 1;
}

/* They are gone, and stay away. */
static inline void take_away(int first, int last) {
  for (; first <= last; first++) {
    fake.server[first].refuses = 1;
    fake_reset(&fake, first, FAKE_RST);
  }
}

/* Another client's key. */
static inline void occupy(int first, int last, const char *key, int64_t ttl_ms) {
  for (; first <= last; first++) fake_put(&fake, first, key, "foreign", ttl_ms);
}

static inline void forget_key(int first, int last, const char *key) {
  for (; first <= last; first++) fake_forget(&fake, first, key);
}

/* All that these servers have there is that value. */
static inline int keys_are(int first, int last, const char *key, const char *value) {
  for (; first <= last; first++)
    if (!fake_key_is(&fake, first, key, value)) return 0;
  return 1;
}

/* The key begins with the lock's value. */
static inline int has_value_of(int server, const char *key, const redlock_lock *l) {
  const struct key *found = fake_key_at(&fake, server, key);
  return found && found->value_size >= 20 && memcmp(found->value, l->value, 20) == 0;
}

/* What a server stores of a lock: the value, and an age (R26). */
enum { STORED = 23 };

/* How long the holder of "r" had waited since its first wake-up; 0 = its value does not say. */
static inline long age_in_value(void) {
  const struct key *key = fake_key_at(&fake, 0, "r");
  const unsigned char *age = key ? key->value + 20 : NULL;
  return age && key->value_size == STORED ? age[0] * 65536L + age[1] * 256L + age[2] : 0;
}

/* It fails where it is written. */
#define votes_are(lock, first, last, vote) votes_are_at(lock, first, last, vote, __FILE__, __LINE__)

static inline void votes_are_at(const redlock_lock *l, int first, int last, redlock_vote vote,
                                const char *file, int line) {
  char text[16];
  for (; first <= last; first++) {
    snprintf(text, sizeof text, "votes[%d]", first);
    if (!check_equal(l->votes[first], vote, text, file, line)) return;
  }
}

static inline void servers_answer(int first, int last, int kind, int times, const char *bytes) {
  for (; first <= last; first++) fake_answer(&fake, first, kind, times, bytes);
}

static inline void freeze(int first, int last) { SET_SERVERS(first, last, thaw_at, FAKE_NEVER); }

static inline void thaw(int first, int last) {
  for (; first <= last; first++) fake_thaw(&fake, first);
}

static inline void reset(int first, int last, enum fake_end how) {
  for (; first <= last; first++) fake_reset(&fake, first, how);
}

static inline void restart(int first, int last) {
  for (; first <= last; first++) fake_restart(&fake, first);
}

static inline void end_without_a_key(void) {
  CHECK_EQ(fake_live_keys(&fake), 0);
  end();
}

#endif
