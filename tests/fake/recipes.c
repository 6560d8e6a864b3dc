/* recipes.c: what the header's RECIPES say, done as they say it. */
#include "fixture.h"

enum { MANY = 100, HOLD_MS = 5000, TTL = 20000 };

static redlock_lock many[MANY];

static void hold_many(void) {
  int i;
  for (i = 0; i < MANY; i++)
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), TTL, 0), REDLOCK_OK);
}

/* What it was is gone: whatever the client still read or wrote there would be found out. */
static void free_lock(redlock_lock *l) { memset(l, 0xa5, sizeof *l); }

static void drop(redlock_lock *l) {
  (void)redlock_start_release(&rl, l);
  (void)redlock_cancel(&rl, l);
  free_lock(l);
}

static int is_untouched(const redlock_lock *l) {
  redlock_lock freed;
  free_lock(&freed);
  return memcmp(l, &freed, sizeof freed) == 0;
}

/* Each brings the lock into a state that an object may be freed in. */
static void is_not_taken(void) {
  occupy(0, 1, "r", TTL);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_TAKEN);
}

static void is_queued(void) {
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_PENDING);
}

static void votes(void) {
  is_queued();
  CHECK(redlock_step(&rl) == NULL);
}

static void waits(void) {
  occupy(0, 1, "r", TTL);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", TTL, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(100);
}

/* While another one is waited for. */
static void is_granted_and_not_returned(void) {
  is_queued();
  CHECK_EQ(redlock_acquire(&rl, &other, "x", TTL, 0), REDLOCK_OK);
  CHECK_EQ(lock.status, REDLOCK_OK);
}

static void is_held(void) { hold("r", TTL); }

static void is_kept(void) {
  hold("r", TTL);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(TTL);
}

static void is_extended(void) {
  hold("r", TTL);
  CHECK_EQ(redlock_start_extend(&rl, &lock, TTL), REDLOCK_PENDING);
  CHECK(redlock_step(&rl) == NULL);
}

static void is_lost_and_not_returned(void) {
  is_kept();
  forget_key(0, 2, "r");
  fake_sleep(&fake, TTL / 2);
  CHECK_EQ(redlock_acquire(&rl, &other, "x", TTL, 0), REDLOCK_OK); /* finds the loss */
}

static void is_released(void) {
  hold("r", TTL);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  CHECK(redlock_step(&rl) == NULL);
}

static void has_run_out(void) {
  hold("r", TTL);
  fake_sleep(&fake, TTL);
}

/* What was freed is neither read nor written any more, and no key of it stays. */
TEST(an_object_is_freed_in_any_state) {
  static void (*const states[])(void) = {
    is_not_taken, waits, is_queued, votes, is_granted_and_not_returned, is_held, is_kept,
    is_extended, is_lost_and_not_returned, is_released, has_run_out
  };
  size_t i;
  for (i = 0; i < sizeof states / sizeof *states; i++) {
    int taken = i < 2 ? 2 : 0; /* by another one */
    world(3);
    states[i]();
    drop(&lock);
    run_for(20);
    CHECK_EQ(fake_holders(&fake, "r"), taken);
    run_for(2 * TTL);
    if (!CHECK(is_untouched(&lock) && handed_count == 0)) printf("    in state %d\n", (int)i);
  }
}

TEST(one_that_was_never_used_is_freed) {
  world(3);
  drop(&lock); /* zero */
  CHECK(redlock_wait(&rl, -1) == NULL);
}

/* Three times as many as the ring has room for, and none of the keys stays. */
TEST(many_are_freed_at_once) {
  int i;
  world(3);
  hold_many();
  for (i = 0; i < MANY; i++) drop(&many[i]);
  run_for(10);
  CHECK_EQ(fake_live_keys(&fake), 0);
  for (i = 0; i < MANY; i++) CHECK(is_untouched(&many[i]));
}

/* No step follows: it sends them. */
TEST(a_close_sends_what_was_started_and_cancelled) {
  int i;
  world(3);
  hold_many();
  for (i = 0; i < MANY; i++) drop(&many[i]);
  redlock_close(&rl);
  fake_sleep(&fake, 10);
  CHECK_EQ(fake_live_keys(&fake), 0);
}

/* Release first: behind a close it is too late, and the keys stay. */
TEST(a_close_leaves_what_is_held) {
  world(3);
  hold("r", TTL);
  redlock_close(&rl);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_INVALID);
  CHECK_EQ(fake_holders(&fake, "r"), 3);
}

/* The work took 100 ms. The lock is held for the rest, and nobody else gets it before. */
TEST(a_minimum_hold_outlasts_the_work) {
  int64_t began, rest;
  world(3);
  ready_rival();
  began = now();
  hold("r", 1000);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(100);
  rest = began + HOLD_MS - now();
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, (uint32_t)rest), REDLOCK_OK);
  redlock_close(&rl);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", 1000, 0), REDLOCK_TAKEN);
  fake_sleep(&fake, began + HOLD_MS - now() - 10);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", 1000, 0), REDLOCK_TAKEN);
  fake_sleep(&fake, 20);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", 1000, 0), REDLOCK_OK);
}

/* Three attempts, 200 ms apart: it gets what becomes free between them, and gives up after them. */
TEST(a_count_and_a_delay_are_a_wait) {
  enum { COUNT = 3, DELAY = 200 };
  int waking, frees;
  for (waking = 0; waking < 2; waking++)
    for (frees = 0; frees < 2; frees++) {
      if (waking) world_waking(3);
      else world(3);
      occupy(0, 1, "r", frees ? DELAY + 10 : TTL);
      start_timing();
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, COUNT * DELAY),
               frees ? REDLOCK_OK : REDLOCK_TAKEN);
      CHECK(elapsed_ms() >= (frees ? DELAY : COUNT * DELAY));
      CHECK(elapsed_ms() <= COUNT * DELAY + SERVER_TIMEOUT);
    }
}
