/* extend.c: what an extension may change and what it must leave alone. */
#include "fixture.h"

TEST(an_extension_counts_from_its_own_start) { /* R18 */
  world_with_lock(5, 1000);
  fake_sleep(&fake, 500);
  CHECK_EQ(redlock_extend(&rl, &lock, 3000), REDLOCK_OK);
  CHECK_EQ(lock.operation, REDLOCK_EXTEND);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(3000) - 1);
  run_for(1);
  CHECK_EQ(fake_nth(&fake, 0, FAKE_EXTEND, 0)->ttl_ms, 3000);
  CHECK(fake_text_same(&fake_nth(&fake, 0, FAKE_EXTEND, 0)->value,
                       &fake_nth(&fake, 0, FAKE_SET, 0)->value));
  CHECK_EQ(fake_pttl(&fake, 4, "r"), 3000 - 2);
}

TEST(an_extension_never_shortens) { /* R18 */
  int64_t before;
  world_with_lock(5, 10000);
  before = redlock_remaining_ms(&rl, &lock);
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), before - 1);
  run_for(2);
  CHECK_EQ(fake_pttl(&fake, 0, "r"), 10000 - 4);
}

TEST(a_failed_extension_changes_nothing_and_can_be_repeated) { /* R19 R22 */
  int64_t before;
  world_with_lock(5, 1000);
  run_for(3);
  freeze(0, 2);
  before = now() + redlock_remaining_ms(&rl, &lock);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 1000), REDLOCK_PENDING);
  CHECK_EQ(now() + redlock_remaining_ms(&rl, &lock), before); /* R22: positive while it lasts */
  CHECK_EQ(finish(&lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(now() + redlock_remaining_ms(&rl, &lock), before);
  run_for(100);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 0);
  thaw(0, 2);
  run_for(5);
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(1000) - 1);
}

TEST(two_of_five_gone_is_not_proved) { /* R19 */
  world_with_lock(5, 10000);
  run_for(3);
  forget_key(0, 1, "r");
  freeze(2, 2);
  CHECK_EQ(redlock_extend(&rl, &lock, 20000), REDLOCK_NO_QUORUM);
  CHECK(redlock_remaining_ms(&rl, &lock) > 9000);
  fake_thaw(&fake, 2);
  run_for(5);
  CHECK_EQ(redlock_extend(&rl, &lock, 20000), REDLOCK_OK);
  CHECK_EQ(fake_holders(&fake, "r"), 3); /* a vanished key is not created */
}

TEST(an_extension_after_the_deadline_is_refused) { /* R18 R22 */
  world_with_lock(5, 1000);
  fake_sleep(&fake, VALID(1000) - 1); /* the keys still live: only the clock says no */
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_EXPIRED);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 0);
}

/* 19 ms are left, and the answers take so long. */
static redlock_status extend_at_the_end(int64_t reply_ms) {
  world_with_lock(5, 1000);
  run_for(3);
  fake_sleep(&fake, 1000 - DRIFT(1000) - 24);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 19);
  SET_SERVERS(0, 4, reply_ms, reply_ms);
  return redlock_extend(&rl, &lock, 5000);
}

TEST(the_old_deadline_ends_an_extension) { /* R19: EXPIRED, and released everywhere */
  CHECK_EQ(extend_at_the_end(19), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  run_for(1);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 5);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
}

TEST(one_millisecond_before_the_old_deadline_counts) { /* R18 */
  CHECK_EQ(extend_at_the_end(18), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(5000) - 18);
}

TEST(max_hold_bounds_all_extensions) { /* R20 */
  int64_t grant;
  redlock_status got = REDLOCK_OK;
  prepare(3);
  options.max_hold_ms = 3000;
  ready_and_warm();
  grant = now();
  hold("r", 1000);
  while (got == REDLOCK_OK && now() - grant < 20000) {
    fake_sleep(&fake, 50);
    got = redlock_extend(&rl, &lock, 1000);
    CHECK(now() + redlock_remaining_ms(&rl, &lock) <= grant + 3000);
  }
  CHECK_EQ(got, REDLOCK_LIMIT);
  CHECK(now() < grant + 3000);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0); /* it stands until its deadline */
}

/* It took no bytes while a quorum decided: what is decided is not sent, and the next one is. */
TEST(a_slow_server_is_extended_by_the_next_one) { /* R12 R18 */
  world_with_lock(3, 1000);
  run_for(500);
  fake.server[2].socket_room = 0;
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
  fake.server[2].socket_room = SIZE_MAX;
  run_for(5);
  CHECK_EQ(fake_count(&fake, 2, FAKE_EXTEND), 0);
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
  run_for(5);
  CHECK(fake_pttl(&fake, 2, "r") > 900);
}

/* The process stood still past the deadline, and then hears that the extension failed. */
TEST(a_failure_that_is_heard_too_late_ends_the_hold) { /* R19 */
  world_with_lock(3, 100);
  fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, 3, "-LOADING\r\n");
  CHECK_EQ(redlock_start_extend(&rl, &lock, 100), REDLOCK_PENDING);
  take_all(&rl);
  fake_sleep(&fake, 200);
  CHECK_EQ(finish(&lock), REDLOCK_EXPIRED);
  run_for(5);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 3);
}

/* Two are extended in one turn, and one of them is returned: the other one's time runs out before
   it is, while its keys still live. One server never had them. */
TEST(an_extension_that_lapses_in_the_queue_is_expired) { /* R1 R19 */
  redlock_lock *second;
  world(3);
  occupy(0, 0, "a", 60000);
  occupy(0, 0, "b", 60000);
  hold("a", 1000);
  CHECK_EQ(redlock_acquire(&rl, &other, "b", 1000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 1000), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_extend(&rl, &other, 1000), REDLOCK_PENDING);
  second = still_queued();
  forget_log();
  fake_sleep(&fake, VALID(1000));
  CHECK_EQ(fake_live_keys(&fake), 6);
  run_for(1);
  CHECK_EQ(handed_count, 1);
  CHECK(handed[0] == second && second->status == REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, second), 0);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 3); /* where it may be */
  CHECK_EQ(fake_live_keys(&fake), 4);
}
