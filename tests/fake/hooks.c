/* hooks.c: the k-th call of each hook fails, for k = 1 to 200; once, and from then on. */
#include "fixture.h"

enum { CALLS = 200, TTL = 2000 };

static int is_defined(redlock_status got) { return got >= REDLOCK_SYSTEM && got <= REDLOCK_OK; }

/* Something of everything: take, extend, keep, be refused, wait, free. Unless the caller was told
   OK, no quorum of servers may keep the key once the roll-backs have had their time. */
static void life(void) {
  redlock_status got = redlock_acquire(&rl, &lock, "r", TTL, 300);
  CHECK(is_defined(got));
  if (got != REDLOCK_OK) {
    CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
    run_for(100);
    CHECK(fake_holders(&fake, "r") < 2);
  }
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
  SET_SERVERS(0, 2, store.password, "secret");
  fail_calls(hook, from, until);
}

static void fails_once(int hook, long k) {
  redlock_status got;
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
}

/* Nothing works any more from the k-th call on: the calls must still end. */
static void fails_for_good(int hook, long k) {
  prepare_failure(hook, k, LONG_MAX);
  if (redlock_init(&rl, servers, &options) == REDLOCK_OK) {
    redlock_status got = redlock_acquire(&rl, &lock, "r", TTL, 300);
    CHECK(is_defined(got));
    if (got != REDLOCK_OK) CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
    CHECK(is_defined(redlock_extend(&rl, &lock, TTL)));
    CHECK(is_defined(redlock_acquire(&rl, &other, "s", TTL, 0)));
    CHECK(is_defined(redlock_release(&rl, &lock)));
  }
}

static void each_call(int hook) {
  long k;
  for (k = 1; k <= CALLS; k++) {
    int before = check.bad;
    fails_once(hook, k);
    fails_for_good(hook, k);
    if (check.bad != before) printf("    hook %d, call %ld\n", hook, k);
  }
}

TEST(the_kth_open_fails) { each_call(FAKE_OPEN); }       /* R14 */
TEST(the_kth_send_fails) { each_call(FAKE_SEND); }       /* R12 */
TEST(the_kth_recv_fails) { each_call(FAKE_RECV); }       /* R12 */
TEST(the_kth_wait_fails) { each_call(FAKE_WAIT); }       /* R10 */
TEST(the_kth_clock_fails) { each_call(FAKE_NOW); }       /* R2 */
TEST(the_kth_entropy_fails) { each_call(FAKE_ENTROPY); } /* R3 */

/* No call of this hook works from now on. */
static void fail_from_now_on(int hook) { fail_calls(hook, 1, LONG_MAX); }

/* The k-th reading of the clock from now on fails, and no other. */
static void fail_clock_at(long k) { fail_calls(FAKE_NOW, k, k); }

TEST(an_extension_without_a_clock_changes_nothing) { /* R19 */
  long k;
  for (k = 1; k <= 12; k++) {
    redlock_status got;
    world_with_lock(3, 60000);
    fail_clock_at(k);
    got = redlock_extend(&rl, &lock, 60000);
    CHECK(got == REDLOCK_OK || got == REDLOCK_SYSTEM);
    fake.fail_hook = FAKE_ANY;
    CHECK(redlock_remaining_ms(&rl, &lock) > 0);
    CHECK_EQ(fake_holders(&fake, "r"), 3);
  }
}

TEST(releases_need_no_clock) { /* R21 */
  static redlock_lock many[20];
  int i;
  world(3);
  for (i = 0; i < 20; i++)
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), 60000, 0), REDLOCK_OK);
  for (i = 0; i < 20; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  fail_clock_at(1);
  run_for(10);
  CHECK_EQ(handed_count, 20);
  end_without_a_key();
}

static int64_t last_reading;

static void no_clock_for_good(struct fake *f, enum fake_hook hook, int server) {
  (void)hook;
  (void)server;
  if (f->now_ms <= last_reading) return;
  fail_from_now_on(FAKE_NOW);
}

/* An extension waits for room that a server keeps, until its lock runs out. Then there is no clock
   any more. */
TEST(nobody_waits_for_room_without_a_clock) { /* R10 */
  static redlock_lock many[REDLOCK_MAX_COMMANDS - 1];
  int k;
  char name[REDLOCK_MAX_RESOURCE + 1];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  world(3);
  for (k = 0; k < REDLOCK_MAX_COMMANDS - 1; k++)
    CHECK_EQ(redlock_acquire(&rl, &many[k], numbered(k), 60000, 0), REDLOCK_OK);
  hold(name, 60);
  last_reading = now() + redlock_remaining_ms(&rl, &lock);
  freeze(0, 0);
  fake.server[0].socket_room = 10;
  run_for(20);
  for (k = 0; k < REDLOCK_MAX_COMMANDS - 1; k++) /* none is sent there */
    CHECK_EQ(redlock_release(&rl, &many[k]), REDLOCK_OK);
  fake.on_call = no_clock_for_good;
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), REDLOCK_EXPIRED);
  CHECK_EQ(fake_count(&fake, 1, FAKE_EXTEND), 0);
}

TEST(a_clock_that_fails_is_no_reason_to_wait) { /* R27 */
  world(3);
  start_and_send(&lock, "r", TTL, 0);
  CHECK(redlock_timeout_ms(&rl) > 0);
  fail_clock_at(1);
  CHECK_EQ(redlock_timeout_ms(&rl), 0);
  fake.fail_hook = FAKE_ANY;
}

/* What the servers owe is late by no clock then, and nobody waits for it. */
TEST(a_loop_does_not_spin_while_the_clock_fails) { /* R27 */
  int turns;
  world(3);
  freeze(0, 2);
  start_and_send(&lock, "r", TTL, 0);
  fail_from_now_on(FAKE_NOW);
  CHECK(redlock_step(&rl) == &lock);
  CHECK_EQ(lock.status, REDLOCK_SYSTEM);
  start_timing();
  for (turns = 0; turns < 100; turns++) {
    fake_sleep(&fake, redlock_timeout_ms(&rl)); /* as an event loop does */
    CHECK(redlock_step(&rl) == NULL);
  }
  CHECK(elapsed_ms() >= 500);
  fake.fail_hook = FAKE_ANY;
  thaw(0, 2);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 100), REDLOCK_OK);
}

/* Two operations are decided in one turn, and one of them is returned; then there is no clock.
   Returns the other one. */
static redlock_lock *no_clock_at_hand_over(void) {
  redlock_lock *second = still_queued();
  fail_from_now_on(FAKE_NOW);
  CHECK(redlock_step(&rl) == second);
  CHECK_EQ(second->status, REDLOCK_SYSTEM);
  fake.fail_hook = FAKE_ANY;
  return second;
}

TEST(no_grant_is_handed_over_without_a_clock) { /* R1 R7 */
  redlock_lock *lost;
  world(3);
  start_two(TTL);
  lost = no_clock_at_hand_over();
  CHECK_EQ(redlock_remaining_ms(&rl, lost), 0);
  run_for(10);
  CHECK_EQ(fake_holders(&fake, lost == &lock ? "a" : "b"), 0);
}

/* The steps that return the others are asked nothing new. */
TEST(what_failed_is_said_with_each_lock) {
  world(3);
  start_two(TTL);
  CHECK(redlock_step(&rl) == NULL);
  fail_clock_at(1);
  CHECK(redlock_step(&rl) != NULL);
  CHECK(redlock_step(&rl) != NULL);
  CHECK(lock.status == REDLOCK_SYSTEM && other.status == REDLOCK_SYSTEM);
  CHECK(strcmp(redlock_server_error(&rl, -1), "our clock failed") == 0);
  CHECK(redlock_step(&rl) == NULL);
  CHECK_EQ(redlock_server_error(&rl, -1)[0], 0);
}

TEST(an_extension_handed_over_without_a_clock_is_still_held) { /* R19 */
  redlock_lock *unsure;
  world(3);
  hold("a", TTL);
  CHECK_EQ(redlock_acquire(&rl, &other, "b", TTL, 0), REDLOCK_OK);
  CHECK_EQ(redlock_start_extend(&rl, &lock, TTL), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_extend(&rl, &other, TTL), REDLOCK_PENDING);
  unsure = no_clock_at_hand_over();
  CHECK(redlock_remaining_ms(&rl, unsure) > 0);
  CHECK_EQ(redlock_release(&rl, unsure), REDLOCK_OK);
}

/* The first draw is the value, the second the back-off behind the refusal: one that is not random
   would bring all together. */
TEST(a_back_off_without_entropy_ends_the_attempt) { /* R9 */
  world(3);
  occupy(0, 2, "r", 60000);
  fail_calls(FAKE_ENTROPY, 2, 2);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 500), REDLOCK_SYSTEM);
  CHECK_EQ(sets(0), 1);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  run_for(10);
  CHECK_EQ(fake_live_keys(&fake), 3); /* the other client's */
}

/* Server 0's hooks count wrongly, from now on; the others' are as before. */
static redlock_io wrong;
static int wrong_hook;

static int send_too_much(void *ctx, int server, const void *data, size_t size) {
  if (server != 0 || wrong_hook != FAKE_SEND || fake.idle)
    return fake_send(ctx, server, data, size);
  return (int)size + 1;
}

static int recv_too_much(void *ctx, int server, void *data, size_t size) {
  int got = fake_recv(ctx, server, data, size);
  if (server != 0 || wrong_hook != FAKE_RECV || got <= 0) return got;
  memset(data, '-', size); /* an error whose end is still to come */
  return (int)size + 1;
}

TEST(hooks_that_return_more_than_was_asked) { /* R16: as a connection that broke */
  static const int hooks[] = { FAKE_SEND, FAKE_RECV };
  size_t i;
  for (i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
    prepare(3);
    wrong = fake.client[0].io;
    wrong.send = send_too_much;
    wrong.recv = recv_too_much;
    options.io = &wrong;
    wrong_hook = FAKE_ANY;
    ready_and_warm();
    wrong_hook = hooks[i];
    hold("r", TTL);
    run_for(20);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
    CHECK(redlock_server_error(&rl, 0)[0] != '\0');
    wrong_hook = FAKE_ANY;
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  }
}

/* The clock is stepped by so much at the k-th call of a hook: a suspended machine. */
static int step_hook;
static long step_at;
static int64_t step_ms;

static void step_at_hook(struct fake *f, enum fake_hook hook, int server) {
  (void)server;
  if ((int)hook == step_hook && f->calls[hook] == step_at) f->now_ms += step_ms;
}

/* The clock jumps over the lock's end, and not over the keys'. */
TEST(an_extension_that_lapses_anywhere_is_expired) { /* R19 */
  for (step_at = 1; step_at <= 20; step_at++) {
    redlock_status got;
    world_with_lock(3, TTL);
    fake.calls[FAKE_NOW] = 0;
    step_hook = FAKE_NOW;
    step_ms = VALID(TTL);
    fake.on_call = step_at_hook;
    got = redlock_extend(&rl, &lock, TTL);
    CHECK(got == REDLOCK_OK || got == REDLOCK_EXPIRED);
    if (got == REDLOCK_EXPIRED) CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
    fake.on_call = NULL;
    (void)redlock_release(&rl, &lock);
    run_for(10);
    end_without_a_key();
  }
}

static enum fake_hook last_hook;

static void remember_hook(struct fake *f, enum fake_hook hook, int server) {
  (void)f;
  (void)server;
  last_hook = hook;
}

/* Nothing stands between the last check and the return, though a slow server is still to get it. */
TEST(the_clock_is_the_last_that_a_grant_asks) { /* R1 */
  world(3);
  fake.server[2].socket_room = 5;
  fake.on_call = remember_hook;
  hold("r", TTL);
  CHECK_EQ(last_hook, FAKE_NOW);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  CHECK_EQ(last_hook, FAKE_NOW);
}

/* Wherever the pause comes, a grant that is handed over is never said to be longer than it is. */
TEST(a_grant_never_outlives_its_keys) { /* R1 */
  for (step_hook = FAKE_SEND; step_hook <= FAKE_ENTROPY; step_hook++)
    for (step_at = 1; step_at <= 20; step_at++)
      for (step_ms = 100; step_ms <= 2100; step_ms += 1000) {
        int i;
        prepare(3);
        options.server_timeout_ms = 10000;
        ready_and_warm();
        fake.on_call = step_at_hook;
        if (redlock_acquire(&rl, &lock, "r", TTL, 0) == REDLOCK_OK) {
          int64_t left = redlock_remaining_ms(&rl, &lock);
          for (i = 0; i < 2; i++) CHECK(fake_pttl(&fake, i, "r") >= left);
        }
      }
}

static int own_clocks, own_entropies;

static int64_t own_now(void *ctx) {
  if (!fake.idle) ++*(int *)ctx;
  return fake.now_ms;
}

static int own_entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
  own_entropies++;
  return fake_entropy(&fake.client[0], data, size);
}

/* A board with sockets may have no source of entropy that the library knows of. */
TEST(clock_and_entropy_can_be_replaced_alone) { /* R2 R3 */
  prepare(3);
  options.now_ms = own_now;
  options.entropy = own_entropy;
  options.ctx = &own_clocks;
  own_clocks = own_entropies = 0;
  fail_from_now_on(FAKE_NOW);
  ready();
  occupy(0, 2, "busy", 60000);
  hold("r", TTL);
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", TTL, 10), REDLOCK_TAKEN);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(fake.calls[FAKE_NOW], 0);
  CHECK(own_clocks > 0);
  CHECK_EQ(own_entropies, fake.calls[FAKE_ENTROPY]);
}

/* The k-th use from now on fails, and the text says of what. */
static void says(int hook, const char *what) {
  world(3);
  CHECK_EQ(redlock_server_error(&rl, -1)[0], 0);
  fail_from_now_on(hook);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 500), REDLOCK_SYSTEM);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  if (!CHECK(strstr(redlock_server_error(&rl, -1), what)))
    printf("    %s\n", redlock_server_error(&rl, -1));
  fake.fail_hook = FAKE_ANY;
}

TEST(a_failure_grants_nothing_and_says_which_it_was) { /* R1 R2 R3 */
  says(FAKE_NOW, "clock");
  says(FAKE_ENTROPY, "entropy");
  says(FAKE_WAIT, "wait");
  prepare(3);
  fail_from_now_on(FAKE_NOW);
  CHECK_EQ(redlock_init(&rl, servers, &options), REDLOCK_SYSTEM);
  CHECK(strstr(redlock_server_error(&rl, -1), "clock"));
}
