/* keep.c: locks that the client extends by itself. */
#include "fixture.h"

static void held_for_kept(uint32_t ttl_ms, uint32_t max_hold_ms) {
  world_with_lock(5, ttl_ms);
  CHECK_EQ(redlock_keep(&rl, &lock, max_hold_ms), REDLOCK_OK);
}

/* Counted from T1. */
TEST(a_kept_lock_is_extended_at_two_fifths_of_its_validity) { /* R20 */
  const struct fake_command *set, *first;
  held_for_kept(1000, 0);
  run_for(10000);
  CHECK(redlock_remaining_ms(&rl, &lock) >= VALID(1000) * 3 / 5 - 3);
  CHECK_EQ(handed_count, 0);
  set = fake_nth(&fake, 0, FAKE_SET, 0);
  first = fake_nth(&fake, 0, FAKE_EXTEND, 0);
  CHECK(first && first->at - set->at >= 385 && first->at - set->at <= 396);
  CHECK(first && first->ttl_ms == 1000);
  CHECK(fake_count(&fake, 0, FAKE_EXTEND) >= 24 && fake_count(&fake, 0, FAKE_EXTEND) <= 26);
  CHECK_EQ(fake_holders(&fake, "r"), 5);
}

static const uint32_t ttls[] = {1000, 4000, 60000};
enum { TTLS = sizeof ttls / sizeof *ttls, MARGINS = 3, PHASES = 3 };

static uint32_t margin_of(uint32_t ttl, int i) { return i == 0 ? 0 : i == 1 ? ttl / 10 : ttl / 3; }

static void keep_with_margin(uint32_t ttl, uint32_t margin) {
  prepare(3);
  options.keep_margin_ms = margin;
  ready_and_hold(ttl);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
}

/* At most a quarter of what the margin leaves of the ttl apart, whatever the interval and phase. */
TEST(who_asks_every_quarter_keeps_the_lock) { /* R20 */
  int t, m, phase;
  for (t = 0; t < TTLS; t++)
    for (m = 0; m < MARGINS; m++) {
      uint32_t margin = margin_of(ttls[t], m), most = (ttls[t] - margin) / 4, piece = most;
      for (; piece > most / 5; piece -= most / 9)
        for (phase = 0; phase < 2 * PHASES; phase++) {
          keep_with_margin(ttls[t], margin);
          fake_sleep(&fake, piece * (uint32_t)phase / PHASES / 2);
          work_in_pieces(piece, phase & 1, 4 * ttls[t]);
          if (CHECK_EQ(handed_count, 0)) continue;
          printf("    ttl %u, margin %u, pieces of %u, phase %d\n", ttls[t], margin, piece, phase);
          return;
        }
    }
}

/* A connect takes a while, and one connection after the other is lost. */
TEST(who_asks_every_quarter_is_connected_again) { /* R14 R20 */
  static const int64_t pieces[] = {1000, 2500, 6000, 15000};
  size_t k;
  int i;
  for (k = 0; k < sizeof pieces / sizeof pieces[0]; k++) {
    prepare(3);
    SET_SERVERS(0, 2, connect_ms, 1);
    ready_and_hold(60000);
    CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
    for (i = 0; i < 3; i++) {
      reset(i, i, FAKE_RST);
      work_in_pieces(pieces[k], 0, 300000);
      CHECK_EQ(handed_count, 0);
      CHECK(redlock_server_error(&rl, i)[0] == '\0');
      CHECK_EQ(fake.server[i].connections, 2);
    }
  }
}

/* The servers may fall silent at any time. */
TEST(a_loss_is_told_with_the_margin_less_a_piece_left) { /* R20 */
  int t, m, when;
  for (t = 0; t < TTLS; t++)
    for (m = 1; m < MARGINS; m++) {
      uint32_t margin = margin_of(ttls[t], m), most = (ttls[t] - margin) / 4, piece = most;
      if (most > margin) piece = most = margin;
      for (; piece > most / 5; piece -= most / 4)
        for (when = 0; when < 12; when++) {
          keep_with_margin(ttls[t], margin);
          work_in_pieces(piece, 0, ttls[t] * (uint32_t)when / 12);
          freeze(0, 1);
          work_in_pieces(piece, when & 1, 2 * ttls[t]);
          is_lost_once(&lock, REDLOCK_NO_QUORUM);
          if (CHECK(redlock_remaining_ms(&rl, &lock) >= margin - piece)) continue;
          printf("    ttl %u, margin %u, pieces of %u, %d\n", ttls[t], margin, piece, when);
          return;
        }
    }
}

TEST(a_kept_lock_is_extended_by_its_longest_ttl) { /* R18 */
  const struct fake_command *first;
  world_with_lock(5, 2000);
  CHECK_EQ(redlock_extend(&rl, &lock, 200), REDLOCK_OK); /* it leaves the longer one */
  forget_log();
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(1100);
  first = fake_nth(&fake, 0, FAKE_EXTEND, 0);
  CHECK(first && first->ttl_ms == 2000);
}

/* Those that fall due first are extended first, however many wait for room. */
/* The last extension before it was raised asked for what the old one left. */
TEST(a_limit_that_is_raised_shortens_no_later_extension) { /* R18 R20 */
  const struct fake_command *next;
  held_for_kept(1000, 1500);
  run_for(900);
  CHECK_EQ(redlock_keep(&rl, &lock, 60000), REDLOCK_OK);
  forget_log();
  run_for(1000);
  next = fake_nth(&fake, 0, FAKE_EXTEND, 0);
  CHECK(next && next->ttl_ms == 1000);
}

TEST(many_are_kept_in_turn) { /* R11 R19 */
  static redlock_lock many[80];
  int i;
  prepare(3);
  options.server_timeout_ms = 1000;
  ready();
  for (i = 0; i < 80; i++) {
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), 1000, 0), REDLOCK_OK);
    CHECK_EQ(redlock_keep(&rl, &many[i], 0), REDLOCK_OK);
  }
  SET_SERVERS(0, 2, reply_ms, 100);
  run_for(20000);
  CHECK_EQ(handed_count, 0); /* none was lost */
  CHECK_EQ(fake_live_keys(&fake), 80 * 3);
}

TEST(no_limit_asked_for_is_that_of_the_options) { /* R20 */
  held_for_kept(1000, 2000);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(10000);
  CHECK_EQ(handed_count, 0);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  CHECK_EQ(redlock_keep(&rl, &lock, 1), REDLOCK_OK); /* while it is kept, too */
  run_for(2000);
  is_lost_once(&lock, REDLOCK_LIMIT);
}

TEST(a_short_outage_is_survived) { /* R19 */
  held_for_kept(1000, 0);
  run_for(400);
  freeze(0, 4);
  run_for(400);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  thaw(0, 4);
  run_for(300);
  CHECK(redlock_remaining_ms(&rl, &lock) > VALID(1000) / 2);
  CHECK_EQ(handed_count, 0);
}

static int64_t extended_at(int k) { return fake_nth(&fake, 0, FAKE_EXTEND, k)->at; }

/* Again after the longest back-off, or half of what is left of the lock, whichever is less. */
TEST(a_failed_extension_is_tried_again) { /* R19 */
  int k, most;
  held_for_kept(2000, 0);
  fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, -1, "-LOADING\r\n");
  run_for(1970);
  most = fake_count(&fake, 0, FAKE_EXTEND);
  CHECK(most >= 8 && most <= 14);
  CHECK(extended_at(1) - extended_at(0) >= 200 && extended_at(1) - extended_at(0) <= 203);
  for (k = 2; k < most; k++)
    CHECK(extended_at(k) - extended_at(k - 1) <= extended_at(k - 1) - extended_at(k - 2) + 1);
  CHECK_EQ(handed_count, 0);
}

/* The keys are gone, or nobody stepped for long, perhaps behind an extension that failed. */
TEST(the_loss_is_returned_once) { /* R19 R22 */
  int paused;
  for (paused = 0; paused < 3; paused++) {
    held_for_kept(1000, 0);
    if (paused == 2) fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, -1, "-LOADING\r\n");
    run_for(paused == 2 ? 450 : 100);
    if (paused) fake_sleep(&fake, 60000);
    else forget_key(0, 4, "r");
    if (paused) CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
    run_for(5000);
    is_lost_once(&lock, REDLOCK_EXPIRED);
    CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
    CHECK_EQ(fake_holders(&fake, "r"), 0);
  }
}

TEST(a_long_outage_loses_it_at_the_deadline) { /* R19 */
  int64_t deadline;
  held_for_kept(1000, 0);
  freeze(0, 4);
  deadline = now() + redlock_remaining_ms(&rl, &lock);
  while (!handed_count && now() < deadline + 1000) note(redlock_wait(&rl, 5000));
  CHECK_EQ(now(), deadline);
  thaw(0, 4);
  run_for(100);
  CHECK_EQ(fake_holders(&fake, "r"), 0); /* released everywhere */
  is_lost_once(&lock, REDLOCK_EXPIRED);
}

/* Of the call, or of the options. */
TEST(the_limit_is_returned_once) { /* R20 */
  int64_t grant;
  int of_options;
  for (of_options = 0; of_options < 2; of_options++) {
    prepare(5);
    options.max_hold_ms = of_options ? 3000 : 0;
    ready_and_warm();
    hold("r", 1000);
    CHECK_EQ(redlock_keep(&rl, &lock, of_options ? 0 : 3000), REDLOCK_OK);
    grant = fake_nth(&fake, 0, FAKE_SET, 0)->at;
    while (!handed_count && now() < grant + 20000) note(redlock_wait(&rl, 20000));
    CHECK(now() <= grant + 3000);
    CHECK(now() + redlock_remaining_ms(&rl, &lock) <= grant + 3000);
    run_for(5000);
    is_lost_once(&lock, REDLOCK_LIMIT);
    CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  }
}

TEST(a_lock_that_was_returned_can_be_kept_again) { /* R20 */
  held_for_kept(1000, 2000);
  while (!handed_count) note(redlock_wait(&rl, 1000));
  is_lost_once(&lock, REDLOCK_LIMIT);
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_LIMIT); /* kept, it would be INVALID */
  CHECK_EQ(redlock_keep(&rl, &lock, 100000), REDLOCK_OK);
  run_for(5000);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

TEST(a_limit_that_is_past_already_ends_it) { /* R20 */
  int64_t end_at;
  held_for_kept(2000, 0);
  run_for(500);
  end_at = now() + redlock_remaining_ms(&rl, &lock);
  CHECK_EQ(redlock_keep(&rl, &lock, 300), REDLOCK_OK);
  run_for(1000);
  is_lost_once(&lock, REDLOCK_LIMIT);
  CHECK_EQ(now() + redlock_remaining_ms(&rl, &lock), end_at); /* as it was: no more, no less */
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 0);
}

/* A cancel leaves it held. */
TEST(a_release_or_a_cancel_ends_the_keeping) {
  int cancels;
  for (cancels = 0; cancels < 2; cancels++) {
    held_for_kept(1000, 0);
    run_for(2000);
    if (cancels) CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
    else CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    CHECK_EQ(lock.status, REDLOCK_OK); /* no operation was pending, so none was cancelled */
    CHECK_EQ(redlock_remaining_ms(&rl, &lock) > 0, cancels);
    forget_log();
    run_for(5000);
    CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 0);
    CHECK_EQ(handed_count, 0);
    CHECK_EQ(fake_live_keys(&fake), 0); /* released, or at its end */
  }
}

/* Grants that nobody can take fill the ring, while the caller is in a blocking call. */
TEST(want_of_room_does_not_lose_a_kept_lock) { /* R11 R20 */
  static redlock_lock many[30];
  int i;
  held_for_kept(2000, 0);
  for (i = 0; i < 30; i++)
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), 60000, 0), REDLOCK_PENDING);
  occupy(0, 4, "busy", 60000);
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", 1000, 10000), REDLOCK_TAKEN);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

/* It is asked for in time, the process stands still until it is over, and then the quorum's yes is
   there but no clock to judge it by. */
TEST(a_clock_that_fails_does_not_put_the_loss_off) { /* R19 R27 */
  held_for_kept(1000, 0);
  run_for(10);
  fake_sleep(&fake, redlock_timeout_ms(&rl));
  CHECK(redlock_step(&rl) == NULL);
  fake_sleep(&fake, 1000);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 5);
  fail_calls(FAKE_NOW, 2, 2);
  CHECK(redlock_step(&rl) == &lock);
  CHECK_EQ(lock.operation, REDLOCK_LOST);
  CHECK_EQ(lock.status, REDLOCK_EXPIRED);
}

/* Without a clock nobody can keep it. It is held on. */
TEST(a_clock_that_fails_ends_the_keeping) { /* R2 R22 */
  held_for_kept(1000, 0);
  run_for(10);
  fail_calls(FAKE_NOW, 1, 1);
  take_all(&rl);
  is_lost_once(&lock, REDLOCK_SYSTEM);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

TEST(a_release_hands_the_loss_back) { /* R21 */
  held_for_kept(1000, 0);
  occupy(0, 4, "busy", 60000);
  fake_sleep(&fake, 2000);
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", 1000, 0), REDLOCK_TAKEN); /* finds the loss */
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  memset(&lock, 0xa5, sizeof lock);
  CHECK(redlock_wait(&rl, 0) == NULL);
}

TEST(hundreds_of_steps_wait_only_when_due) { /* no busy loop */
  held_for_kept(1000, 0);
  fake.calls[FAKE_WAIT] = 0;
  run_for(10000);
  CHECK(fake.calls[FAKE_WAIT] < 21 * 8);
}

/* Nobody waits for the release of a lock that is given up, and the next thing to do by the clock is
   far away. That a majority does not answer it is noticed in time all the same. */
TEST(a_silent_server_is_noticed_while_nothing_else_is_due) { /* R13 R27 */
  held_for_kept(60000, 0);
  CHECK_EQ(redlock_acquire(&rl, &other, "x", 60000, 0), REDLOCK_OK);
  run_for(1000);
  freeze(2, 4);
  CHECK_EQ(redlock_start_release(&rl, &other), REDLOCK_PENDING);
  CHECK_EQ(redlock_cancel(&rl, &other), REDLOCK_OK);
  CHECK(redlock_step(&rl) == NULL);
  CHECK(redlock_timeout_ms(&rl) >= SERVER_TIMEOUT); /* not earlier than there is a reason */
  CHECK(redlock_timeout_ms(&rl) <= SERVER_TIMEOUT + 1);
  run_for(4 * SERVER_TIMEOUT);
  CHECK(!strcmp(redlock_server_error(&rl, 4), "no answer within server_timeout_ms"));
  CHECK_EQ(redlock_acquire(&rl, &other, "y", 60000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(other.votes[4], REDLOCK_VOTE_TIMEOUT);
}

/* While nothing was active nobody missed it. */
TEST(what_was_lost_before_is_connected_to_at_once) { /* R14 R27 */
  world_with_lock(3, 10000);
  run_for(5);
  fake_reset(&fake, 2, FAKE_RST);
  run_for(1000);
  CHECK_EQ(fake_open_count(&fake), 2);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  CHECK_EQ(redlock_timeout_ms(&rl), 0);
  take_all(&rl);
  CHECK_EQ(fake_open_count(&fake), 3);
}

/* Its extension waits for room behind releases that one server is not sent, until it has run out:
   that is told then, and not when there is room. */
TEST(a_kept_lock_without_room_is_lost_at_its_deadline) { /* R11 R19 */
  static redlock_lock many[REDLOCK_MAX_COMMANDS - 1];
  int64_t end;
  int k;
  prepare(3);
  options.server_timeout_ms = 5000;
  ready_and_warm();
  for (k = 0; k < REDLOCK_MAX_COMMANDS - 1; k++)
    CHECK_EQ(redlock_acquire(&rl, &many[k], numbered(k), 60000, 0), REDLOCK_OK);
  hold("r", 1000);
  run_for(20);
  freeze(0, 0);
  fake.server[0].socket_room = 10;
  for (k = 0; k < REDLOCK_MAX_COMMANDS - 1; k++)
    CHECK_EQ(redlock_release(&rl, &many[k]), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  end = now() + redlock_remaining_ms(&rl, &lock);
  while (!handed_count && now() < end + 100) run_for(1);
  is_lost_once(&lock, REDLOCK_EXPIRED);
  CHECK(now() >= end && now() <= end + 1);
}
