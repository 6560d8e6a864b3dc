/* release.c: compare-and-delete on every server. */
#include "fixture.h"

TEST(servers_that_never_voted_are_released_too) { /* R21 */
  world(5);
  fake.server[3].reply_ms = fake.server[4].reply_ms = 30;
  hold("r", 10000); /* decided by the first three */
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  end_without_a_key();
}

TEST(a_lock_counts_as_released_when_release_is_called) { /* R22 */
  world_with_lock(5, 10000);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(lock.operation, REDLOCK_RELEASE);
}

TEST(an_expired_lock_is_told_so_once_and_anothers_left_alone) { /* R21 */
  world_with_lock(5, 1000);
  fake_sleep(&fake, 1500);
  occupy(0, 4, "r", 9000);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  run_for(5000);
  CHECK(keys_are(0, 4, "r", "foreign"));
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 5); /* never repeated */
}

TEST(hung_servers_do_not_hold_a_release_up) { /* R10 R21 */
  world_with_lock(5, 10000);
  freeze(0, 4);
  CHECK_IN_MS(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM, SERVER_TIMEOUT);
  thaw(0, 4);
  run_for(2);
  end_without_a_key();
}

/* Two servers delete the value and lose the connection before they can say so; asked again they
   find nothing. That is no news: the two that say nothing decide. */
TEST(what_it_deleted_itself_is_no_loss) { /* R21 R12 */
  int i;
  world_with_lock(5, 10000);
  run_for(2);
  fake_forget(&fake, 2, "r");
  freeze(3, 4);
  SET_SERVERS(0, 1, reply_ms, 10);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  run_for(5);
  reset(0, 1, FAKE_RST);
  CHECK_EQ(finish(&lock), REDLOCK_NO_QUORUM);
  for (i = 0; i < 2; i++) CHECK(strcmp(fake_nth(&fake, i, FAKE_RELEASE, 1)->answer, "$-1") == 0);
}

TEST(a_release_returns_at_the_third_yes) { /* R6 R21 */
  world_with_lock(5, 10000);
  run_for(2);
  answer_in_turn();
  freeze(3, 4);
  CHECK_IN_MS(redlock_release(&rl, &lock), REDLOCK_OK, 3);
}

TEST(a_release_during_an_extension_wins) { /* R21: the extension cannot bring it back */
  world_with_lock(3, 10000);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 10000), REDLOCK_PENDING);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  end_without_a_key();
}

/* A server was down when the lock was released, and comes back when only the shorter ttl is over:
   that of the SET, or of an extension that asked for less than the value had left. */
TEST(a_release_goes_out_for_the_longest_ttl) { /* R12 (a) R18 R21 */
  int shorter;
  for (shorter = 0; shorter < 2; shorter++) {
    world_with_lock(3, shorter ? 10000 : 200);
    CHECK_EQ(redlock_extend(&rl, &lock, shorter ? 200 : 60000), REDLOCK_OK);
    run_for(5);
    take_away(2, 2);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(2000);
    CHECK_EQ(fake_live_keys(&fake), 1);
    fake.server[2].refuses = 0;
    run_for(3000);
    end_without_a_key();
  }
}

/* It has nothing to delete; but a part of the SET is enough to get both. */
TEST(a_server_that_got_no_byte_of_the_set_gets_neither) { /* R7 R12 */
  int bytes;
  for (bytes = 0; bytes < 2; bytes++) {
    world(3);
    fake.server[2].socket_room = (size_t)bytes;
    take_and_release("r", 60000);
    if (!bytes) CHECK_EQ(lock.votes[2], REDLOCK_VOTE_TAKEN); /* ours is missing there */
    fake.server[2].socket_room = SIZE_MAX;
    run_for(5);
    CHECK_EQ(sets(2), bytes);
    CHECK_EQ(fake_count(&fake, 2, FAKE_RELEASE), bytes);
    end_without_a_key();
  }
}

/* Its answers are waited for as any, however short the lock was. */
TEST(a_short_ttl_leaves_it_its_time) { /* R21 R10 */
  world(3);
  hold("r", SERVER_TIMEOUT / 2);
  SET_SERVERS(0, 2, reply_ms, SERVER_TIMEOUT - 10);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* Two servers stand at the same command; what follows it is for one of them. */
TEST(a_roll_back_goes_only_where_it_is_due) { /* R7 */
  world(3);
  occupy(1, 1, "b", 1000);
  fake.server[0].reply_ms = fake.server[2].reply_ms = 20;
  CHECK_EQ(redlock_start_acquire(&rl, &other, "b", 1000, 0), REDLOCK_PENDING);
  CHECK(redlock_wait(&rl, 2) == NULL);
  CHECK(redlock_wait(&rl, 2) == NULL);
  CHECK_EQ(other.votes[1], REDLOCK_VOTE_TAKEN);
  fake.server[0].send_chunk = fake.server[1].send_chunk = 0;
  start_and_send(&lock, "a", 1000, 0);
  CHECK_EQ(redlock_cancel(&rl, &other), REDLOCK_OK);
  CHECK(redlock_step(&rl) == NULL);
  forget_log();
  fake.server[0].send_chunk = fake.server[1].send_chunk = SIZE_MAX;
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 1);
  CHECK_EQ(sets(1), 1);
  CHECK_EQ(fake_count(&fake, 1, FAKE_RELEASE), 0);
}

/* A held lock outlives its client: where the next has put another's SET, it withholds nothing. */
TEST(a_lock_of_an_earlier_client_is_released_alone) { /* R12 R21 */
  world(3);
  redlock_close(&rl);
  ready_and_hold(60000);
  run_for(50);
  redlock_close(&rl);
  ready();
  CHECK_EQ(redlock_start_acquire(&rl, &other, "s", 60000, 0), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  run_for(300);
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK_EQ(other.status, REDLOCK_OK);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
}

static int64_t stopped_at; /* 0 = the clock goes */
static long stopped_waits;

static int64_t clock_that_stops(void *ctx) {
  (void)ctx;
  return stopped_at ? stopped_at : fake.now_ms;
}

static int wait_that_counts(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  stopped_waits++;
  if (stopped_waits > 10000) abort(); /* or else it would never end */
  return fake_wait(ctx, want, count, timeout_ms);
}

/* As under a debugger, or a tool that fakes clocks: it ends, though no time seems to pass. */
TEST(close_ends_though_the_clock_stands_still) { /* R10 R21 */
  prepare(3);
  stopped_at = 0;
  stopped_waits = 0;
  options.now_ms = clock_that_stops;
  ready_and_hold(60000);
  freeze(0, 2);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  fake.client[0].io.wait = wait_that_counts;
  stopped_at = now();
  redlock_close(&rl);
  CHECK(stopped_waits > 0);
}

/* Its place in the ring of the earlier client is that of its own extension in the next one's: that
   is no SET, and withheld from nobody. */
TEST(an_extension_is_not_withheld_as_if_it_were_the_set) { /* R12 R18 R21 */
  world(3);
  redlock_close(&rl);
  ready_and_hold(60000);
  redlock_close(&rl);
  ready();
  fake.server[2].connect_ms = 20;
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(50);
  end_without_a_key();
}
