/* hooks.c: the k-th call of each hook fails, for k = 1 to 200; once, and from then on. */
#include "world.h"

enum { CALLS = 200, TTL = 2000 };

static int is_defined(redlock_status got) {
  return got >= REDLOCK_SYSTEM && got <= REDLOCK_OK;
}

static void told(int hook, long k, int good) {
  if (!good) printf("    hook %d, call %ld\n", hook, k);
}

/* No lock without the caller's knowing: unless it was told OK, no quorum of servers may keep the
   key once the roll-backs have had their time. */
static void no_secret_lock(const redlock_lock *l, redlock_status got, const char *key) {
  if (got == REDLOCK_OK) return;
  CHECK_EQ(redlock_remaining_ms(&rl, l), 0);
  run_for(100);
  CHECK(fake_holders(&fake, key) < 2);
}

/* Something of everything: take, extend, keep, be refused, wait, free. */
static void life(void) {
  redlock_status got = redlock_acquire(&rl, &lock, "r", TTL, 300);
  CHECK(is_defined(got));
  no_secret_lock(&lock, got, "r");
  got = redlock_extend(&rl, &lock, TTL);
  CHECK(is_defined(got));
  if (got != REDLOCK_OK) (void)redlock_keep(&rl, &lock, 0);
  occupy(0, 2, "busy", 250);
  got = redlock_acquire(&rl, &other, "busy", TTL, 600);
  CHECK(is_defined(got));
  if (got != REDLOCK_OK) CHECK_EQ(redlock_remaining_ms(&rl, &other), 0);
  run_for(100);
  CHECK(is_defined(redlock_release(&rl, &lock)));
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK(is_defined(redlock_release(&rl, &other)));
}

static void prepare_failure(int hook, long from, long until) {
  prepare(3);
  options.password = "secret";
  fake.server[0].password = fake.server[1].password = fake.server[2].password = "secret";
  fake.fail_hook = hook;
  fake.fail_from = from;
  fake.fail_until = until;
}

static void fails_once(int hook, long k) {
  redlock_status got;
  int before = check.bad;
  prepare_failure(hook, k, k);
  got = redlock_init(&rl, servers, &options);
  CHECK(got == REDLOCK_OK || (got == REDLOCK_SYSTEM && hook == FAKE_NOW));
  if (got == REDLOCK_OK) {
    life();
    fake.fail_hook = FAKE_ANY;
    run_for(TTL + 100);
    CHECK_EQ(fake_live_keys(&fake), 0);
    CHECK_EQ(redlock_acquire(&rl, &lock, "again", TTL, 5000), REDLOCK_OK);
  }
  end();
  told(hook, k, check.bad == before);
}

/* Nothing works any more from the k-th call on: the calls must still end. */
static void fails_for_good(int hook, long k) {
  int before = check.bad;
  prepare_failure(hook, k, LONG_MAX);
  if (redlock_init(&rl, servers, &options) == REDLOCK_OK) {
    redlock_status got = redlock_acquire(&rl, &lock, "r", TTL, 300);
    CHECK(is_defined(got));
    if (got != REDLOCK_OK) CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
    CHECK(is_defined(redlock_extend(&rl, &lock, TTL)));
    CHECK(is_defined(redlock_acquire(&rl, &other, "s", TTL, 0)));
    CHECK(is_defined(redlock_release(&rl, &lock)));
  }
  end();
  told(hook, k, check.bad == before);
}

static void each_call(int hook) {
  long k;
  for (k = 1; k <= CALLS; k++) {
    fails_once(hook, k);
    fails_for_good(hook, k);
  }
}

static void the_kth_open_fails(void) { each_call(FAKE_OPEN); }       /* R14 */
static void the_kth_send_fails(void) { each_call(FAKE_SEND); }       /* R12 */
static void the_kth_recv_fails(void) { each_call(FAKE_RECV); }       /* R12 */
static void the_kth_wait_fails(void) { each_call(FAKE_WAIT); }       /* R10 */
static void the_kth_clock_fails(void) { each_call(FAKE_NOW); }       /* R2 */
static void the_kth_entropy_fails(void) { each_call(FAKE_ENTROPY); } /* R3 */

static void a_clock_that_fails_grants_nothing(void) { /* R1 R2 */
  world(3);
  fake.fail_hook = FAKE_NOW;
  fake.fail_from = 1;
  fake.fail_until = LONG_MAX;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_SYSTEM);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  fake.fail_hook = FAKE_ANY;
  run_for(20);
  CHECK_EQ(fake_live_keys(&fake), 0);
  end();
}

/* The k-th reading of the clock from now on fails, and no other. */
static void fail_clock_at(long k) {
  fake.calls[FAKE_NOW] = 0;
  fake.fail_hook = FAKE_NOW;
  fake.fail_from = fake.fail_until = k;
}

static void an_extension_without_a_clock_changes_nothing(void) { /* R19 */
  long k;
  for (k = 1; k <= 12; k++) {
    redlock_status got;
    world(3);
    hold("r", 60000);
    fail_clock_at(k);
    got = redlock_extend(&rl, &lock, 60000);
    CHECK(got == REDLOCK_OK || got == REDLOCK_SYSTEM);
    fake.fail_hook = FAKE_ANY;
    CHECK(redlock_remaining_ms(&rl, &lock) > 0);
    CHECK_EQ(fake_holders(&fake, "r"), 3);
    end();
  }
}

static void releases_need_no_clock(void) { /* R21 */
  static redlock_lock many[20];
  int i;
  world(3);
  for (i = 0; i < 20; i++) {
    char name[16];
    snprintf(name, sizeof name, "r%d", i);
    CHECK_EQ(redlock_acquire(&rl, &many[i], name, 60000, 0), REDLOCK_OK);
  }
  for (i = 0; i < 20; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  fail_clock_at(1);
  run_for(10);
  CHECK_EQ(handed_count, 20);
  CHECK_EQ(fake_live_keys(&fake), 0);
  end();
}

static void an_acquire_without_a_clock_leaves_no_lock(void) { /* R22 */
  world(3);
  memset(&lock, 0xa5, sizeof lock);
  fail_clock_at(1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_SYSTEM);
  CHECK_EQ(lock.status, REDLOCK_SYSTEM);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  end();
}

static int64_t last_reading;

static void no_clock_for_good(struct fake *f, enum fake_hook hook, int server) {
  (void)hook;
  (void)server;
  if (f->now_ms <= last_reading) return;
  f->fail_hook = FAKE_NOW;
  f->fail_from = 1;
  f->fail_until = LONG_MAX;
}

/* An expired lock waits for room that a server keeps, and then there is no clock any more. */
static void nobody_waits_for_room_without_a_clock(void) { /* R10 */
  char name[REDLOCK_MAX_RESOURCE + 1];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  world(3);
  CHECK_EQ(redlock_acquire(&rl, &other, "o", 60000, 0), REDLOCK_OK);
  hold(name, 60);
  last_reading = lock.deadline_ms;
  fake_freeze(&fake, 0);
  fake.server[0].socket_room = 10;
  run_for(20);
  while (rl_make_room(&rl, &other, RL_EXTEND))
    if (!CHECK_EQ(redlock_extend(&rl, &other, 70000), REDLOCK_OK)) break;
  fake.on_call = no_clock_for_good;
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), REDLOCK_EXPIRED);
  fake.on_call = NULL;
  end();
}

static void a_clock_that_fails_says_zero(void) { /* R22 */
  world(3);
  hold("r", TTL);
  fake.fail_hook = FAKE_NOW;
  fake.fail_from = 1;
  fake.fail_until = LONG_MAX;
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  fake.fail_hook = FAKE_ANY;
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  end();
}

/* The clock is stepped by so much at the k-th reading: a suspended machine. */
static long step_at;
static int64_t step_ms;

static void step_clock(struct fake *f, enum fake_hook hook, int server) {
  (void)server;
  if (hook == FAKE_NOW && f->calls[FAKE_NOW] == step_at) f->now_ms += step_ms;
}

static void time_lost_between_any_two_calls(void) { /* R1 R2 */
  for (step_at = 1; step_at <= 60; step_at++) {
    redlock_status got;
    step_ms = 60000;
    world(3);
    fake.on_call = step_clock;
    got = redlock_acquire(&rl, &lock, "r", TTL, 0);
    CHECK(is_defined(got));
    if (got == REDLOCK_OK && redlock_remaining_ms(&rl, &lock) > 0)
      CHECK(fake_holders(&fake, "r") >= 2);
    fake.on_call = NULL;
    run_for(1000);
    if (got != REDLOCK_OK) CHECK_EQ(fake_live_keys(&fake), 0);
    end();
  }
}

static int step_hook;

static void step_at_hook(struct fake *f, enum fake_hook hook, int server) {
  (void)server;
  if ((int)hook == step_hook && f->calls[hook] == step_at) f->now_ms += step_ms;
}

/* Wherever the pause comes, a grant that is handed over is never said to be longer than it is. */
static void a_grant_never_outlives_its_keys(void) { /* R1 */
  for (step_hook = FAKE_SEND; step_hook <= FAKE_ENTROPY; step_hook++)
    for (step_at = 1; step_at <= 20; step_at++)
      for (step_ms = 100; step_ms <= 2100; step_ms += 1000) {
        int i;
        prepare(3);
        options.server_timeout_ms = 10000;
        ready();
        warm();
        fake.on_call = step_at_hook;
        if (redlock_acquire(&rl, &lock, "r", TTL, 0) == REDLOCK_OK) {
          int64_t left = redlock_remaining_ms(&rl, &lock);
          for (i = 0; i < 2; i++) CHECK(fake_pttl(&fake, i, "r") >= left);
        }
        fake.on_call = NULL;
        end();
      }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(the_kth_open_fails);
  RUN(the_kth_send_fails);
  RUN(the_kth_recv_fails);
  RUN(the_kth_wait_fails);
  RUN(the_kth_clock_fails);
  RUN(the_kth_entropy_fails);
  RUN(a_clock_that_fails_grants_nothing);
  RUN(an_extension_without_a_clock_changes_nothing);
  RUN(releases_need_no_clock);
  RUN(an_acquire_without_a_clock_leaves_no_lock);
  RUN(nobody_waits_for_room_without_a_clock);
  RUN(a_clock_that_fails_says_zero);
  RUN(time_lost_between_any_two_calls);
  RUN(a_grant_never_outlives_its_keys);
  return check_end();
}
