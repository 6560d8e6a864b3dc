/* margin.c: options.keep_margin_ms: who works under a kept lock is told while there is time to stop
 * (R20). */
#include "fixture.h"

enum { TTL = 1000, MARGIN = 300 };

static int64_t end_ms; /* when the lock ends, as it was told last */

static void note_end(void) { end_ms = now() + redlock_remaining_ms(&rl, &lock); }

static void keep_with(int servers_count, uint32_t margin_ms, uint32_t max_hold_ms) {
  prepare(servers_count);
  options.keep_margin_ms = margin_ms;
  ready_and_warm();
  hold("r", TTL);
  CHECK_EQ(redlock_keep(&rl, &lock, max_hold_ms), REDLOCK_OK);
  note_end();
}

/* By no clock but the one that redlock_timeout_ms names. */
static void wait_for_the_loss(void) {
  int64_t limit = now() + 100 * TTL;
  while (!handed_count && now() < limit) {
    int64_t due = redlock_timeout_ms(&rl);
    CHECK(due >= 0);
    note(redlock_wait(&rl, -1));
    if (!handed_count) note_end();
  }
}

/* Told once, and held on as if nothing had been. */
static void is_told_with(int64_t left_ms, redlock_status why) {
  is_lost_once(&lock, why);
  CHECK_EQ(now() + redlock_remaining_ms(&rl, &lock), end_ms);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), left_ms);
}

TEST(who_cannot_extend_is_told_with_the_margin_left) {
  keep_with(5, MARGIN, 0);
  freeze(0, 2);
  wait_for_the_loss();
  is_told_with(MARGIN, REDLOCK_NO_QUORUM);
  CHECK_EQ(fake_holders(&fake, "r"), 5);
  run_for(MARGIN - 1);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 1);
  CHECK_EQ(handed_count, 1);
}

/* Refused at once, unreachable, or heard of too late. */
TEST(whatever_the_reason) {
  int why;
  for (why = 0; why < 3; why++) {
    keep_with(3, MARGIN, 0);
    if (why == 0) fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, -1, "-LOADING\r\n");
    else if (why == 1) take_away(0, 1);
    else SET_SERVERS(0, 1, reply_ms, SERVER_TIMEOUT + 1);
    wait_for_the_loss();
    is_told_with(MARGIN, REDLOCK_NO_QUORUM);
  }
}

/* What was asked for before, and is granted before the deadline, still counts. */
TEST(an_answer_that_waits_in_the_socket_counts) {
  keep_with(3, MARGIN, 0);
  SET_SERVERS(0, 2, reply_ms, 20);
  while (fake_count(&fake, 0, FAKE_EXTEND) == 0) CHECK(redlock_wait(&rl, 1) == NULL);
  fake_sleep(&fake, end_ms - MARGIN / 2 - now());
  take_all(&rl);
  CHECK_EQ(handed_count, 0);
  CHECK(now() + redlock_remaining_ms(&rl, &lock) > end_ms);
}

/* It wakes within its margin, or is kept so late, and nothing was tried: then one extension is; or
   it wakes behind its end. */
TEST(who_comes_within_the_margin_extends_first) {
  int way, well;
  for (way = 0; way < 6; way++) {
    well = way & 1;
    keep_with(3, MARGIN, 0);
    if (way >= 2) CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
    fake_sleep(&fake, end_ms - now() - MARGIN / 2);
    if (way >= 2) CHECK_EQ(redlock_keep(&rl, &lock, way >= 4 ? 100 * TTL : 0), REDLOCK_OK);
    if (!well) freeze(0, 1);
    run_for(SERVER_TIMEOUT + 10);
    if (!well) {
      is_lost_once(&lock, REDLOCK_NO_QUORUM);
      CHECK_EQ(now() + redlock_remaining_ms(&rl, &lock), end_ms);
      CHECK(redlock_remaining_ms(&rl, &lock) >= MARGIN / 2 - SERVER_TIMEOUT - 10);
      CHECK_EQ(fake_count(&fake, 2, FAKE_EXTEND), 1);
      continue;
    }
    CHECK_EQ(handed_count, 0);
    CHECK(redlock_remaining_ms(&rl, &lock) > TTL / 2);
    fake_sleep(&fake, redlock_remaining_ms(&rl, &lock));
    take_all(&rl);
    is_lost_once(&lock, REDLOCK_EXPIRED);
  }
}

/* The servers fall silent so late that the last round would go on. */
TEST(no_round_goes_on_into_the_margin) {
  keep_with(3, MARGIN, 0);
  fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, -1, "-LOADING\r\n");
  while (now() < end_ms - MARGIN - SERVER_TIMEOUT / 2) CHECK(redlock_wait(&rl, 1) == NULL);
  freeze(0, 2);
  wait_for_the_loss();
  is_told_with(MARGIN, REDLOCK_NO_QUORUM);
  votes_are(&lock, 0, 2, REDLOCK_VOTE_TIMEOUT);
}

/* An extension comes after two fifths of the time until the end, and more behind each that failed.
   */
TEST(the_margin_leaves_time_for_extensions) {
  static const int margins[] = {1, MARGIN, 490};
  size_t i;
  int k;
  for (i = 0; i < sizeof margins / sizeof *margins; i++) {
    const struct fake_command *first;
    int64_t from;
    keep_with(3, (uint32_t)margins[i], 0);
    from = now();
    fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, -1, "-LOADING\r\n");
    wait_for_the_loss();
    is_told_with(margins[i], REDLOCK_NO_QUORUM);
    first = fake_nth(&fake, 0, FAKE_EXTEND, 0);
    CHECK(first && first->at - from <= (end_ms - margins[i] - from) / 5 * 2 + 1);
    for (k = 0; k < fake_count(&fake, 0, FAKE_EXTEND); k++)
      CHECK(fake_nth(&fake, 0, FAKE_EXTEND, k)->at < end_ms - margins[i]);
    CHECK(k >= 2);
  }
}

TEST(an_outage_that_ends_before_is_survived) {
  keep_with(3, MARGIN, 0);
  run_for(300);
  freeze(0, 1);
  run_for(200);
  thaw(0, 1);
  run_for(20 * TTL);
  CHECK_EQ(handed_count, 0);
  CHECK(redlock_remaining_ms(&rl, &lock) > MARGIN);
}

/* Though extensions gain nothing before; from the first on, if the limit is not longer. */
TEST(a_limit_is_told_with_the_margin_left) {
  keep_with(3, MARGIN, 1);
  wait_for_the_loss();
  is_told_with(MARGIN, REDLOCK_LIMIT);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 0);
  keep_with(3, MARGIN, 3 * TTL);
  wait_for_the_loss();
  is_told_with(MARGIN, REDLOCK_LIMIT);
  CHECK(end_ms <= fake_nth(&fake, 0, FAKE_SET, 0)->at + 3 * TTL);
  CHECK(end_ms >= fake_nth(&fake, 0, FAKE_SET, 0)->at + 3 * TTL - DRIFT(TTL) - 1);
}

/* It only waited for its end: with another limit there is something to extend again. */
TEST(a_limit_that_is_raised_is_made_use_of) {
  keep_with(3, MARGIN, 1);
  run_for(TTL / 2);
  CHECK_EQ(redlock_keep(&rl, &lock, 3 * TTL), REDLOCK_OK);
  run_for(TTL);
  CHECK_EQ(handed_count, 0);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  note_end();
  wait_for_the_loss();
  is_told_with(MARGIN, REDLOCK_LIMIT);
}

/* Even if it is raised only then. */
TEST(a_limit_that_is_raised_within_the_margin_is_made_use_of) {
  keep_with(3, MARGIN, 1);
  run_for(TTL / 2);
  fake_sleep(&fake, redlock_remaining_ms(&rl, &lock) - MARGIN / 2);
  CHECK_EQ(redlock_keep(&rl, &lock, 3 * TTL), REDLOCK_OK);
  run_for(TTL / 10);
  CHECK_EQ(handed_count, 0);
  CHECK(redlock_remaining_ms(&rl, &lock) > TTL / 2);
}

TEST(a_proof_of_the_loss_waits_for_no_margin) {
  keep_with(3, MARGIN, 0);
  forget_key(0, 1, "r");
  run_for(TTL / 2);
  is_lost_once(&lock, REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
}

/* What the servers can do again, its holder can. */
TEST(who_was_told_can_go_on) {
  keep_with(3, MARGIN, 0);
  freeze(0, 1);
  wait_for_the_loss();
  is_told_with(MARGIN, REDLOCK_NO_QUORUM);
  thaw(0, 1);
  run_for(10);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(5 * TTL);
  CHECK_EQ(handed_count, 1);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(fake_live_keys(&fake), 0);
}

/* By hand, all of its time can be used. */
TEST(a_lock_that_is_not_kept_has_no_margin) {
  prepare(3);
  options.keep_margin_ms = MARGIN;
  ready_and_hold(TTL);
  note_end();
  SET_SERVERS(0, 2, reply_ms, SERVER_TIMEOUT - 10);
  fake_sleep(&fake, end_ms - MARGIN - now() - 10); /* a round that goes on into it */
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  note_end();
  fake_sleep(&fake, end_ms - now() - SERVER_TIMEOUT);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  CHECK(now() + redlock_remaining_ms(&rl, &lock) > end_ms);
}

/* Nothing was left to gain when it began: nobody waits for a margin to hear that. */
TEST(an_extension_by_hand_is_told_of_the_limit_at_once) {
  enum { HOLD = TTL / 2 };
  prepare(3);
  options.keep_margin_ms = MARGIN;
  options.max_hold_ms = HOLD;
  ready_and_hold(TTL);
  note_end();
  fake_sleep(&fake, HOLD - 20);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 10), REDLOCK_PENDING);
  fake_sleep(&fake, 15);
  CHECK_IN_MS(finish(&lock), REDLOCK_LIMIT, 0);
  CHECK_EQ(now() + redlock_remaining_ms(&rl, &lock), end_ms);
}

/* Half of the ttl would leave no time to extend in. What is extended by hand need not last so long:
   a minimum hold ends so. */
TEST(a_margin_of_half_of_the_ttl_is_refused) {
  static const char text[] = "ttl_ms is too short";
  const char value[20] = "";
  int ttl_ms = 1;
  prepare(3);
  options.keep_margin_ms = MARGIN;
  ready();
  for (; VALID(ttl_ms) <= 2 * MARGIN; ttl_ms++)
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", (uint32_t)ttl_ms, 0), REDLOCK_INVALID);
  CHECK(strcmp(redlock_server_error(&rl, -1), text) == 0);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", 2 * MARGIN, value), REDLOCK_INVALID);
  CHECK(strcmp(redlock_server_error(&rl, -1), text) == 0);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_SET), 0);
  hold("r", (uint32_t)ttl_ms);
  CHECK_EQ(redlock_extend(&rl, &lock, 10), REDLOCK_OK);
}

/* The largest there is: no sum may overflow. */
TEST(a_margin_beyond_every_ttl_is_refused) {
  prepare(3);
  options.keep_margin_ms = UINT32_MAX;
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", UINT32_MAX, 0), REDLOCK_INVALID);
  options.keep_margin_ms = UINT32_C(1) << 31;
  redlock_close(&rl);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", UINT32_MAX, 0), REDLOCK_INVALID);
}
