/* retry.c: when an acquire that waits tries again, and when it stops. */
#include "fixture.h"

/* The back-off between two attempts: from the decision, 1 ms after the SET, to the next SET. */
static int64_t back_off_ms(int k) {
  const struct fake_command *a = fake_nth(&fake, 0, FAKE_SET, k);
  const struct fake_command *b = fake_nth(&fake, 0, FAKE_SET, k + 1);
  return a && b ? b->at - a->at - 1 : -1;
}

/* So many attempts at a lock that is another's all the time. */
static void try_in_vain(uint32_t attempts) {
  options.max_attempts = attempts;
  ready_and_warm();
  occupy(0, 2, "r", 10000000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_TAKEN);
}

TEST(back_offs_lie_in_the_range_and_differ) { /* R9 */
  int64_t least = FAKE_NEVER, most = 0;
  int k;
  prepare(3);
  options.retry_delay_min_ms = 30;
  options.retry_delay_max_ms = 39;
  try_in_vain(201);
  for (k = 0; k < 200; k++) {
    if (back_off_ms(k) < least) least = back_off_ms(k);
    if (back_off_ms(k) > most) most = back_off_ms(k);
  }
  CHECK_EQ(least, 30); /* both ends come up among 200 of 10 */
  CHECK_EQ(most, 39);
}

/* The greatest of the back-offs from..to, after checking that none passes the default's ends. */
static int64_t longest_back_off_ms(int from, int to) {
  int64_t most = 0;
  for (; from < to; from++) {
    CHECK(back_off_ms(from) >= 1 && back_off_ms(from) <= 200);
    if (back_off_ms(from) > most) most = back_off_ms(from);
  }
  return most;
}

TEST(default_back_offs_are_short_first_and_long_later) { /* R9 */
  prepare(3);
  try_in_vain(1001);
  CHECK(back_off_ms(0) <= 1 + 199 / 8);
  CHECK(longest_back_off_ms(8, 64) <= 5); /* the range is 4: two attempts of 1 ms, and 2 */
  CHECK(longest_back_off_ms(64, 600) > 100);
  CHECK(longest_back_off_ms(600, 1000) > 190); /* the whole range, from 480 attempts on */
}

/* Two clients that collide must come apart: by as much as both their attempts take. */
TEST(slow_attempts_back_off_longer) { /* R9 */
  int i;
  prepare(3);
  for (i = 0; i < 3; i++) fake.server[i].request_ms = fake.server[i].reply_ms = 10;
  try_in_vain(64);
  CHECK(longest_back_off_ms(2, 14) > 20 + 30); /* the trip, and most of two */
  CHECK(longest_back_off_ms(2, 14) <= 20 + 1 + 42);
}

/* Servers hang, or say TAKEN, or tell waiters too. */
TEST(wait_ms_is_kept) { /* R9 R10 R26 */
  enum { HANG, POLLED, TELL, HOWS };
  int how;
  uint32_t wait_ms;
  for (how = 0; how < HOWS; how++)
    for (wait_ms = 1; wait_ms < 4000; wait_ms += 37) {
      if (how == TELL) world_waking(3);
      else world(3);
      if (how == HANG) freeze(0, 2);
      else occupy(0, 2, "r", 100000);
      CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 1000, wait_ms),
                      how == HANG ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN, wait_ms + SERVER_TIMEOUT);
      CHECK(how == HANG || elapsed_ms() >= wait_ms);
      CHECK(how != POLLED || sets(0) >= (int)wait_ms / 202);
    }
}

TEST(a_lock_that_comes_free_is_taken) { /* R9 */
  world(3);
  occupy(0, 2, "r", 700);
  start_timing();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 2000), REDLOCK_OK);
  CHECK(elapsed_ms() > 700 && elapsed_ms() <= 700 + 203);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(1000) - 1); /* of its own attempt alone */
}

TEST(the_last_attempt_gives_the_status) { /* R9 */
  prepare(3);
  options.max_attempts = 2;
  ready_and_warm();
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, "-LOADING\r\n");
  occupy(0, 2, "r", 10000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_TAKEN);
  fake_answer(&fake, FAKE_ANY, FAKE_SET, -1, "-LOADING\r\n")->skip = 3;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_NO_QUORUM);
}

/* The process stands still until the square of the time waited, in tenths of a second, is no number
   of 32 bits any more. */
TEST(who_waits_for_long_backs_off_for_long) { /* R9 */
  int attempts;
  prepare(3);
  options.retry_delay_max_ms = 2000000000;
  ready_and_warm();
  occupy(0, 2, "r", INT64_C(1000000000000));
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(10);
  fake_sleep(&fake, 65536 * 100);
  run_for(40);
  attempts = sets(0);
  run_for(60000);
  CHECK_EQ(sets(0), attempts);
}

/* The process stood still: the back-off was over in time, and the step comes too late. */
TEST(no_attempt_starts_after_the_wait) { /* R9 */
  prepare(3);
  options.retry_delay_min_ms = options.retry_delay_max_ms = 50;
  ready_and_warm();
  occupy(0, 2, "r", 10000);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 100), REDLOCK_PENDING);
  run_for(10);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
  fake_sleep(&fake, 1000);
  CHECK(redlock_step(&rl) == &lock);
  CHECK_EQ(lock.status, REDLOCK_TAKEN);
  CHECK_EQ(sets(0), 1);
}

enum { SHORTEST = 100, LONGEST = 300 };

/* As many tries, so far apart: with servers that tell, too, which is what a waiter tries to make
   use of in between. */
TEST(max_attempts_and_the_delays_mean_the_same_where_servers_tell) { /* R9 R26 */
  int tells, n, turn;
  for (tells = 0; tells < 2; tells++)
    for (n = 1; n <= 6; n++)
      for (turn = 0; turn < 5; turn++) {
        prepare(3);
        SET_SERVERS(0, 2, store.refuse_hello, !tells);
        fake.seed += (uint64_t)turn;
        options.retry_delay_min_ms = SHORTEST;
        options.retry_delay_max_ms = LONGEST;
        try_in_vain((uint32_t)n);
        CHECK(now() - fake_nth(&fake, 0, FAKE_SET, 0)->at >= (n - 1) * SHORTEST);
        CHECK(now() - fake_nth(&fake, 0, FAKE_SET, 0)->at <= n * (LONGEST + SERVER_TIMEOUT));
        CHECK(tells || sets(0) == n);
      }
}

/* Three attempts, 200 ms apart, as is usual. */
TEST(a_lock_that_comes_free_between_two_tries_is_taken) { /* R9 R26 */
  int tells, free_ms;
  for (tells = 0; tells < 2; tells++)
    for (free_ms = 20; free_ms < 400; free_ms += 20) {
      prepare(3);
      SET_SERVERS(0, 2, store.refuse_hello, !tells);
      options.max_attempts = 3;
      options.retry_delay_min_ms = options.retry_delay_max_ms = 200;
      ready_and_warm();
      occupy(0, 2, "r", free_ms);
      CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_OK,
                      tells ? free_ms + 40 : free_ms + 203);
    }
}
