/* status.c: what the client knows of each server, without asking it. */
#include "fixture.h"

enum { MAX_TTL = 10000 };

static redlock_server_info of(int server) {
  redlock_server_info info;
  memset(&info, 0xff, sizeof info);
  CHECK_EQ(redlock_server_status(&rl, server, &info), REDLOCK_OK);
  return info;
}

static void prepare_fenced(int count) {
  prepare_waking(count);
  options.max_ttl_ms = MAX_TTL;
  options.fencing = 1;
}

TEST(a_client_knows_nothing_before_the_first_connection) {
  int i;
  prepare_fenced(3);
  fake.now_ms = 100; /* not long ago is when its clock began */
  ready();
  for (i = 0; i < 3; i++) {
    redlock_server_info info = of(i);
    CHECK_EQ(info.connected, 0);
    CHECK_EQ(info.tracking, 0);
    CHECK_EQ(info.quarantine_ms, 0);
    CHECK_EQ(info.clock_offset_us, 0);
  }
}

TEST(the_status_tells_who_is_connected_and_who_tells_waiters) { /* R26 */
  prepare_fenced(3);
  fake_answer(&fake, 1, FAKE_TRACKING, -1, "-ERR no\r\n");
  fake.server[2].refuses = 1;
  ready_and_hold(1000);
  run_for(5);
  CHECK_EQ(of(0).connected, 1);
  CHECK_EQ(of(0).tracking, 1);
  CHECK_EQ(of(1).connected, 1);
  CHECK_EQ(of(1).tracking, 0);
  CHECK_EQ(of(2).connected, 0);
  CHECK_EQ(of(2).tracking, 0);
  CHECK_EQ(of(2).clock_offset_us, 0); /* R25: nothing is known of it */
}

/* The system accepts for a program that stands still. */
TEST(a_server_that_never_answered_is_not_connected) {
  prepare(3);
  freeze(2, 2);
  ready_and_hold(1000);
  CHECK_EQ(of(0).connected, 1);
  CHECK_EQ(of(2).connected, 0);
}

/* To the millisecond: an acquire that begins before it has ended is in vain, one at its end is not.
   Time goes on though no call reads the clock. */
TEST(the_status_tells_when_a_restarted_server_votes) { /* R24 */
  int64_t left;
  int i, early;
  for (early = 1; early >= 0; early--) {
    prepare_fenced(3);
    for (i = 0; i < 3; i++) fake.server[i].started_at = now() - (i ? 4000 : 100000);
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    CHECK_EQ(of(0).quarantine_ms, 0);
    left = of(1).quarantine_ms;
    CHECK(left > MAX_TTL - 4000 && left <= MAX_TTL - 4000 + 3000);
    fake_sleep(&fake, left - early);
    CHECK_EQ(of(1).quarantine_ms, early);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), early ? REDLOCK_NO_QUORUM : REDLOCK_OK);
  }
}

TEST(a_clock_is_off_the_quorum_th_slowest_one) { /* R25 */
  prepare_fenced(3);
  fake.server[0].wall_us = -3000000;
  fake.server[2].wall_us = 500000;
  ready_and_warm();
  CHECK(of(0).clock_offset_us > -3000000 - 5000 && of(0).clock_offset_us < -3000000 + 5000);
  CHECK_EQ(of(1).clock_offset_us, 0);
  CHECK(of(2).clock_offset_us > 500000 - 5000 && of(2).clock_offset_us < 500000 + 5000);
}

TEST(a_client_without_the_options_tells_nothing_of_them) { /* R24 R25 */
  prepare(3);
  fake.server[1].started_at = now();
  fake.server[1].wall_us = 500000;
  ready_and_warm();
  CHECK_EQ(of(1).connected, 1);
  CHECK_EQ(of(1).quarantine_ms, 0);
  CHECK_EQ(of(1).clock_offset_us, 0);
}

TEST(who_asks_for_no_server_of_the_list_is_told_so) {
  redlock_server_info info;
  prepare(3);
  CHECK_EQ(redlock_server_status(&rl, 0, &info), REDLOCK_INVALID);
  ready();
  CHECK_EQ(redlock_server_status(NULL, 0, &info), REDLOCK_INVALID);
  CHECK_EQ(redlock_server_status(&rl, -1, &info), REDLOCK_INVALID);
  CHECK_EQ(redlock_server_status(&rl, 3, &info), REDLOCK_INVALID);
  CHECK_EQ(redlock_server_status(&rl, 0, NULL), REDLOCK_INVALID);
  CHECK_EQ(redlock_server_status(&rl, 2, &info), REDLOCK_OK);
}
