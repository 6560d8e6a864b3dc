/* many_build.c: a ring from which on a client has many locks. Whose lock it is, is then no longer
 * looked for among all of them. */
#define REDLOCK_MAX_COMMANDS 256
#include "fixture.h"

enum { MANY = 100, FEW = 10, TTL = 60000 }; /* more, and fewer, than are looked at */
enum { MORE = 8 * REDLOCK_MAX_COMMANDS };   /* than the ring has room for */
enum { HELD_MS = 100000000, A_MOMENT = 40 };

static redlock_lock many[MORE];

static void keep_so_many(int count) {
  int i;
  for (i = 0; i < count; i++) {
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), TTL, 0), REDLOCK_OK);
    CHECK_EQ(redlock_keep(&rl, &many[i], 0), REDLOCK_OK);
  }
}

/* Its own are never refused, however long ago they came. */
TEST(each_of_many_is_cancelled_and_released) {
  int i;
  world(3);
  keep_so_many(MANY);
  for (i = 0; i < MANY; i++) {
    CHECK_EQ(redlock_cancel(&rl, &many[i]), REDLOCK_OK);
    CHECK(redlock_remaining_ms(&rl, &many[i]) > 0);
    CHECK_EQ(redlock_release(&rl, &many[i]), REDLOCK_OK);
  }
  run_for(10);
  end_without_a_key();
}

TEST(each_of_many_that_is_kept_is_released) {
  int i;
  world(3);
  keep_so_many(MANY);
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_release(&rl, &many[i]), REDLOCK_OK);
  run_for(10);
  end_without_a_key();
}

/* Among few, one of another client is told, and stays as it was. */
TEST(another_clients_lock_is_refused_among_few) {
  world(3);
  keep_so_many(FEW);
  ready_rival();
  CHECK_EQ(redlock_acquire(&rival, &other, "theirs", TTL, 0), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rival, &other, 0), REDLOCK_OK);
  CHECK_EQ(redlock_cancel(&rl, &other), REDLOCK_INVALID);
  CHECK_EQ(redlock_start_release(&rl, &other), REDLOCK_INVALID);
  CHECK(redlock_remaining_ms(&rival, &other) > 0);
  CHECK_EQ(redlock_release(&rival, &other), REDLOCK_OK);
}

/* With nothing pending there is nothing to cancel: what is held stays held. */
static void idle_is_not_cancelled(int others) {
  world(3);
  keep_so_many(others);
  hold("r", TTL);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_INVALID);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  run_for(10);
  CHECK_EQ(fake_holders(&fake, "r"), 3);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

TEST(a_held_lock_is_not_cancelled_beside_few) { idle_is_not_cancelled(FEW); }
TEST(a_held_lock_is_not_cancelled_beside_many) { idle_is_not_cancelled(MANY); }

/* Where the waiters for a name are looked for. */
static uint32_t bucket_of(const char *name) {
  uint32_t hash = 0;
  while (*name) hash = rl_hash(hash, *name++);
  return hash % RL_TRACKERS;
}

static void wait_for(redlock_lock *waiter, const char *name) {
  occupy(0, 2, name, HELD_MS);
  CHECK_EQ(redlock_start_acquire(&rl, waiter, name, TTL, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(100);
}

/* Two waiters that are looked for in one place: a push is for the one whose name it tells. Then its
   lock is forgotten, and the other one is still found. */
TEST(a_push_wakes_its_own_among_many) { /* R26 */
  int twin = 1;
  while (bucket_of(numbered(twin)) != bucket_of("many0")) twin++;
  world_waking(3);
  wait_for(&other, numbered(twin));
  wait_for(&lock, "many0");
  forget_log();
  forget_key(0, 2, "many0");
  CHECK_WITHIN_MS(finish(&lock), REDLOCK_OK, A_MOMENT);
  run_for(400);
  CHECK_EQ(sets(0), 1);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  memset(&lock, 0, sizeof lock);
  CHECK_EQ(other.status, REDLOCK_PENDING);
  forget_key(0, 2, numbered(twin));
  CHECK_WITHIN_MS(finish(&other), REDLOCK_OK, A_MOMENT);
}

/* Whoever leaves may be freed at once, and is looked at no more: who waits for the same name is
   still found behind it. */
TEST(a_waiter_that_leaves_hides_no_other) { /* R26 */
  int cancels;
  for (cancels = 0; cancels < 2; cancels++) {
    world_waking(3);
    wait_for(&other, "many0");
    CHECK_EQ(redlock_start_acquire(&rl, &lock, "many0", TTL, 200), REDLOCK_PENDING);
    run_for(100);
    if (cancels) CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
    else CHECK_EQ(finish(&lock), REDLOCK_TAKEN);
    memset(&lock, 0, sizeof lock);
    run_for(10);
    CHECK_EQ(other.status, REDLOCK_PENDING);
    forget_key(0, 2, "many0");
    CHECK_WITHIN_MS(finish(&other), REDLOCK_OK, A_MOMENT);
  }
}

/* Its SET is still to be sent, and will tell more than such a push. */
TEST(a_push_is_no_news_for_who_waits_for_room) { /* R11 R26 */
  world_waking(3);
  wait_for(&other, "many0");
  rl_set_phase(&rl, &other, RL_PHASE_QUEUED); /* as if there were none */
  rl_on_maybe_free(&rl, &rl.server[0], rl_hash_of(&other));
  CHECK_EQ(other.maybe_free, 0);
  forget_key(0, 2, "many0");
  CHECK_WITHIN_MS(finish(&other), REDLOCK_OK, A_MOMENT);
}

/* All have to be extended at once, and most of them wait for room: who blocks waits for none of
   them, in no attempt. */
TEST(blocking_calls_come_before_kept_locks) { /* R11 */
  world(3);
  keep_so_many(MORE);
  SET_SERVERS(0, 2, reply_ms, 40);
  fake_sleep(&fake, TTL / 2);
  occupy(0, 2, "busy", 60);
  CHECK(redlock_step(&rl) == NULL);
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", TTL, 2000), REDLOCK_OK);
  CHECK_EQ(fake_count(&fake, 0, FAKE_SET), MORE + 2);
  CHECK(fake_count(&fake, 0, FAKE_EXTEND) < MORE);
}
