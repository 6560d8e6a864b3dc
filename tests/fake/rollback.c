/* rollback.c: what a failed, expired or cancelled attempt leaves behind. */
#include "fixture.h"

/* Each SET that a server ran is followed on the same connection by a release of the same value. */
static void check_undone(int server) {
  const struct fake_command *set = fake_nth(&fake, server, FAKE_SET, 0);
  const struct fake_command *undo = fake_nth(&fake, server, FAKE_RELEASE, 0);
  CHECK(set && undo && undo > set);
  if (!set || !undo) return;
  CHECK_EQ(undo->connection, set->connection);
  CHECK(fake_text_same(&undo->value, &set->value));
  CHECK(fake_text_same(&undo->key, &set->key));
}

static void end_with_all_undone(void) {
  int i;
  for (i = 0; i < fake.servers; i++) check_undone(i);
  end_without_a_key();
}

/* A server that said TAKEN holds nothing of the attempt: it gets no release. */
TEST(a_taken_lock_is_rolled_back_where_it_may_be_set) { /* R7 */
  int i;
  world(5);
  occupy(2, 4, "r", 10000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_TAKEN);
  run_for(2);
  for (i = 0; i < 2; i++) check_undone(i);
  for (i = 2; i < 5; i++) CHECK_EQ(fake_count(&fake, i, FAKE_RELEASE), 0);
  CHECK(keys_are(2, 4, "r", "foreign"));
  CHECK_EQ(fake_live_keys(&fake), 3);
}

TEST(a_roll_back_leaves_at_once_and_is_not_waited_for) { /* R7 */
  world(5);
  occupy(0, 2, "r", 10000);
  fake_answer(&fake, FAKE_ANY, FAKE_RELEASE, -1, NULL);
  CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_TAKEN, 1);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 2); /* to those that had not said TAKEN */
}

TEST(a_frozen_server_runs_the_set_then_the_release) { /* R7 */
  world(5);
  freeze(0, 4);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM);
  run_for(1000);
  CHECK_EQ(fake.logged, 0);
  thaw(0, 4);
  end_with_all_undone();
}

TEST(half_a_set_in_a_full_socket_is_undone_behind_it) { /* R7 */
  world(5);
  freeze(0, 4);
  SET_SERVERS(0, 4, socket_room, 17);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM);
  run_for(200);
  SET_SERVERS(0, 4, socket_room, SIZE_MAX);
  thaw(0, 4);
  run_for(20);
  end_with_all_undone();
}

TEST(a_server_that_got_nothing_gets_no_set_later) { /* R7 R12 */
  prepare(5);
  SET_SERVERS(0, 4, connect_ms, 80);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM);
  run_for(500);
  CHECK_EQ(sets(FAKE_ANY), 0);
  end_without_a_key();
}

/* Nor does one whose socket is full until the round's time is up, the process being stopped. */
TEST(nothing_is_sent_for_a_round_whose_time_is_up) { /* R1 R10 */
  world(3);
  SET_SERVERS(1, 2, socket_room, 0);
  start_and_send(&lock, "r", 60000, 0);
  fake_sleep(&fake, 20000);
  SET_SERVERS(1, 2, socket_room, SIZE_MAX);
  CHECK_EQ(finish(&lock), REDLOCK_NO_QUORUM);
  run_for(10);
  CHECK_EQ(sets(1) + sets(2), 0);
  end_without_a_key();
}

TEST(a_cancelled_attempt_is_rolled_back) { /* R7 */
  world(5);
  freeze(0, 4);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 60000, 1000), REDLOCK_PENDING);
  run_for(10);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(lock.status, REDLOCK_CANCELLED);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_INVALID);
  memset(&lock, 0x55, sizeof lock); /* it is the caller's again, at once */
  run_for(5);
  thaw(0, 4);
  run_for(5);
  CHECK_EQ(handed_count, 0);
  end_with_all_undone();
}

TEST(each_retry_is_rolled_back_with_its_own_value) { /* R7 R3 */
  int k;
  prepare(3);
  options.max_attempts = 5;
  ready_and_warm();
  occupy(1, 2, "r", 100000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, REDLOCK_FOREVER), REDLOCK_TAKEN);
  run_for(5);
  CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 5);
  for (k = 0; k < 5; k++) {
    const struct fake_command *set = fake_nth(&fake, 0, FAKE_SET, k);
    const struct fake_command *undo = fake_nth(&fake, 0, FAKE_RELEASE, k);
    CHECK(set && undo && undo > set && fake_text_same(&set->value, &undo->value));
    CHECK(set && strcmp(set->answer, "+OK") == 0); /* never in its own way */
  }
  CHECK(!fake_key_at(&fake, 0, "r"));
}

/* The caller makes no other call. */
TEST(a_roll_back_leaves_before_the_call_returns) { /* R7 */
  world(3);
  fail_calls(FAKE_WAIT, 1, 1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_SYSTEM);
  CHECK_EQ(sets(FAKE_ANY), 3);
  fake_sleep(&fake, 5);
  end_without_a_key();
}

/* The process stood still, and a server is back when the SET would have run out, not its release:
   that is as old as the cancel. */
TEST(a_roll_back_is_as_old_as_the_cancel) { /* R7 R12 (a) */
  world(3);
  start_and_send(&lock, "r", 1000, 0);
  take_away(2, 2);
  fake_sleep(&fake, 900);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  run_for(300);
  fake.server[2].refuses = 0;
  run_for(600);
  CHECK_EQ(fake_count(&fake, 2, FAKE_RELEASE), 1);
}
