/* bugs_of_other_libraries.c: what other Redlock clients get wrong, one named test each. The bugs
 * were read in their sources, many of them reproduced; the tests fail on a client with them. */
#include "fixture.h"

static void two_clients(int count) {
  world(count);
  ready_rival();
}

/* Both clients work until both locks are decided, or for so long. */
static void race(int64_t ms) {
  int64_t limit = now() + ms;
  while (now() < limit && (lock.status == REDLOCK_PENDING || other.status == REDLOCK_PENDING)) {
    int64_t a, b;
    take_all(&rl);
    take_all(&rival);
    a = redlock_timeout_ms(&rl);
    b = redlock_timeout_ms(&rival);
    if (a == 0 || b == 0) continue;
    fake_sleep(&fake, 1);
  }
}

/* Each half of the servers hears another client first: nobody has a majority. */
static void tie(int count) {
  two_clients(count);
  SET_SERVERS(0, count - 1, request_ms, 0);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 2000, 20000), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_acquire(&rival, &other, "r", 2000, 20000), REDLOCK_PENDING);
  occupy(0, count / 2 - 1, "r", 150); /* neither gets these in the first attempt */
  race(30000);
  CHECK(lock.status == REDLOCK_OK || other.status == REDLOCK_OK);
  end();
}

TEST(node_redlock_even_n_tie) { /* R5 R10 */
  tie(2);
  tie(4);
}

TEST(node_redlock_even_n_needs_more_than_half) { /* R5 */
  world(4);
  occupy(0, 1, "r", 10000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_TAKEN);
  end();
}

/* Three servers, patience, and replies that take so long. */
static void slow_world(int64_t reply_ms) {
  prepare(3);
  options.server_timeout_ms = 5000;
  ready_and_warm();
  SET_SERVERS(0, 2, reply_ms, reply_ms);
}

TEST(node_redlock_validity_unchecked) { /* R1: handed out 53 ms too late */
  slow_world(VALID(100) + 1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 100, 0), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  end();
}

TEST(node_redlock_blocks_itself) { /* R7 R3 */
  world(5);
  servers_answer(2, 4, FAKE_SET, 1, "-LOADING\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 1000), REDLOCK_OK);
  CHECK_EQ(fake_count(&fake, 0, FAKE_SET), 2);
  CHECK(!fake_text_same(&fake_nth(&fake, 0, FAKE_SET, 0)->value,
                        &fake_nth(&fake, 0, FAKE_SET, 1)->value));
  end();
}

TEST(node_redlock_release_of_an_expired_lock) { /* R21: no retries, no throw */
  world(3);
  hold("r", 100);
  fake_sleep(&fake, 500);
  start_timing();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  CHECK(elapsed_ms() <= 1);
  run_for(10000);
  CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 1);
  end();
}

TEST(redlock_cs_wall_clock) { /* R2: posix.c proves it of the POSIX back end */
  world(3);
  hold("r", 1000);
  fake_sleep(&fake, 5000);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0); /* only io->now_ms says what time it is */
  end();
}

TEST(redispp_extends_a_foreign_key) { /* R18 */
  int i;
  world(3);
  hold("r", 10000);
  run_for(2);
  forget_key(0, 2, "r");
  occupy(0, 2, "r", 100);
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_EXPIRED);
  for (i = 0; i < 3; i++)
    CHECK(fake_key_is(&fake, i, "r", "foreign") && fake_pttl(&fake, i, "r") <= 100);
  end();
}

TEST(redispp_extends_a_missing_key) { /* R18 */
  world(3);
  hold("r", 10000);
  run_for(2);
  forget_key(0, 2, "r");
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_EXPIRED);
  end_without_a_key();
}

TEST(redispp_rolls_back_with_the_key_as_token) { /* R7 */
  world(3);
  occupy(0, 1, "r", 10000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_TAKEN);
  run_for(5);
  CHECK(!fake_key_at(&fake, 2, "r"));
  CHECK(fake_text_same(&fake_nth(&fake, 2, FAKE_SET, 0)->value,
                       &fake_nth(&fake, 2, FAKE_RELEASE, 0)->value));
  end();
}

TEST(redispp_one_dead_server_of_three) { /* R16 R21 */
  int dead;
  for (dead = 0; dead < 3; dead++) {
    prepare(3);
    fake.server[dead].refuses = 1;
    ready();
    take_and_release("r", 10000);
    end_without_a_key();
  }
}

TEST(redispp_retry_delay_has_no_effect) { /* R9: 358 SETs a second at 500 ms */
  prepare(3);
  options.retry_delay_min_ms = options.retry_delay_max_ms = 500;
  ready_and_warm();
  occupy(0, 2, "r", 100000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 2000), REDLOCK_TAKEN);
  CHECK(fake_count(&fake, 0, FAKE_SET) >= 4 && fake_count(&fake, 0, FAKE_SET) <= 5);
  end();
}

TEST(redispp_token_of_a_32_bit_seed) { /* R3 */
  prepare(3);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK(fake.entropy_given >= 20);
  end();
}

TEST(redsync_cancel_skips_roll_back) { /* R7 */
  world(3);
  freeze(0, 2);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 60000, 1000), REDLOCK_PENDING);
  run_for(5);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  run_for(5);
  thaw(0, 2);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_SET), 3);
  end_without_a_key();
}

TEST(redsync_roll_back_overtakes_the_set) { /* R7: one connection, in order */
  int i;
  world(3);
  freeze(0, 2);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM);
  run_for(100);
  thaw(0, 2); /* the fake serves newer connections first */
  for (i = 0; i < 3; i++) {
    CHECK_EQ(fake_nth(&fake, i, FAKE_SET, 0)->connection,
             fake_nth(&fake, i, FAKE_RELEASE, 0)->connection);
  }
  end_without_a_key();
}

TEST(redsync_unlock_and_extend_have_no_timeout) { /* R10 */
  world(3);
  hold("r", 60000);
  freeze(0, 2);
  start_timing();
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), REDLOCK_NO_QUORUM);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK(elapsed_ms() <= 2 * SERVER_TIMEOUT);
  end();
}

TEST(redisson_unit_conversion_repeats) { /* R1 R18: 10 s, 2.7 h, 115 days */
  int k;
  prepare(3);
  options.max_attempts = 4;
  ready_and_warm();
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 9, "-LOADING\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, REDLOCK_FOREVER), REDLOCK_OK);
  for (k = 0; k < 4; k++) CHECK_EQ(fake_nth(&fake, 0, FAKE_SET, k)->ttl_ms, 10000);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(10000) - 1);
  for (k = 0; k < 4; k++) CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(10000) - 1);
  end();
}

TEST(redisson_elapsed_time_unchecked) { /* R1 */
  slow_world(400);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(1000) - 400);
  end();
}

TEST(redisson_is_held_needs_all) { /* R5 */
  prepare(5);
  fake.server[0].refuses = fake.server[1].refuses = 1;
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
  end();
}

TEST(redlock_py_quorum_and_one_dead_raises) { /* R16 */
  world(5);
  fake.server[4].refuses = 1;
  fake_reset(&fake, 4, FAKE_RST);
  take_and_release("r", 60000);
  end_without_a_key();
}

TEST(redlock_rs_validity_underflows) { /* R1: 1.8e19 ms */
  slow_world(VALID(10) + 1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10, 0), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  end();
  slow_world(4000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  end();
}

TEST(redlock_rs_one_error_aborts_without_unlocking) { /* R7 */
  world(5);
  fake_answer(&fake, 1, FAKE_SET, 1, "-LOADING\r\n");
  take_and_release("r", 60000);
  occupy(2, 3, "s", 60000);
  fake_answer(&fake, 1, FAKE_SET, 1, "-LOADING\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "s", 60000, 0), REDLOCK_TAKEN);
  run_for(5);
  CHECK_EQ(fake_live_keys(&fake), 2);
  end();
}

TEST(rslock_failed_extend_unlocks) { /* R19 */
  world(3);
  hold("r", 10000);
  run_for(2);
  fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, 3, "-OOM command not allowed\r\n");
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_NO_QUORUM);
  run_for(100);
  CHECK_EQ(fake_holders(&fake, "r"), 3);
  CHECK(redlock_remaining_ms(&rl, &lock) > 9000);
  end();
}

TEST(rslock_underflow_on_a_short_ttl) { /* R1 */
  world(3);
  hold("r", 100);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(100) - 1);
  CHECK_EQ(redlock_extend(&rl, &lock, 100), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(100) - 1);
  end();
}

TEST(redlock_php_quorum_in_floating_point) { /* R5: 3 of 3, 4 of 5 */
  int n;
  for (n = 1; n <= 7; n += 2) {
    world(n);
    if (n > 1) occupy(n / 2 + 1, n - 1, "r", 10000);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
    end();
  }
}

TEST(redlock_php_token_of_the_time) { /* R3: two in one millisecond */
  world(3);
  start_two(1000);
  run_for(5);
  CHECK(!fake_text_same(&fake_nth(&fake, 0, FAKE_SET, 0)->value,
                        &fake_nth(&fake, 0, FAKE_SET, 1)->value));
  end();
}

TEST(distlock_extend_takes_any_lock_over) { /* R18 */
  two_clients(3);
  hold("r", 100);
  fake_sleep(&fake, 200);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK(redlock_remaining_ms(&rival, &other) > 0);
  CHECK_EQ(redlock_release(&rival, &other), REDLOCK_OK);
  end();
}

TEST(distlock_never_rolls_back) { /* R7 */
  world(3);
  occupy(0, 1, "r", 10000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 500), REDLOCK_TAKEN);
  run_for(5);
  CHECK_EQ(fake_live_keys(&fake), 2);
  end();
}

TEST(distlock_forked_children_draw_equal_tokens) { /* R3: posix.c has the fork, R17 */
  unsigned char a[20], b[20];
  world(3);
  hold("a", 1000);
  memcpy(a, fake_nth(&fake, 0, FAKE_SET, 0)->value.byte, sizeof a);
  hold("b", 1000);
  memcpy(b, fake_nth(&fake, 0, FAKE_SET, 1)->value.byte, sizeof b);
  CHECK(memcmp(a, b, sizeof a) != 0);
  CHECK(fake.entropy_given >= 60); /* each value is drawn anew: no state that a fork could copy */
  end();
}

TEST(redlock_cpp_int_overflow) { /* R1 */
  world(3);
  hold("r", 4000000000u);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 4000000000 - 40000002 - 2);
  CHECK_EQ(redlock_extend(&rl, &lock, 4294967295u), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > 4200000000);
  end();
}

TEST(redlock_cpp_clock_of_one_second) { /* R1 */
  world(3);
  hold("r", 1500);
  fake_sleep(&fake, 123);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(1500) - 124);
  end();
}

TEST(redlock_cpp_no_command_timeout) { /* R10 */
  prepare(3);
  fake.server[0].connect_ms = fake.server[1].connect_ms = FAKE_NEVER;
  ready();
  start_timing();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(elapsed_ms(), SERVER_TIMEOUT);
  end();
}

TEST(redlock_cpp_one_token_for_all_resources) { /* R3 */
  world(3);
  hold("a", 1000);
  CHECK_EQ(redlock_acquire(&rl, &other, "b", 1000, 0), REDLOCK_OK);
  CHECK(!fake_text_same(&fake_nth(&fake, 0, FAKE_SET, 0)->value,
                        &fake_nth(&fake, 0, FAKE_SET, 1)->value));
  end();
}

TEST(redlock_net_extend_creates_missing_keys) { /* R19 */
  world(5);
  hold("r", 10000);
  run_for(2);
  forget_key(0, 1, "r");
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(fake_holders(&fake, "r"), 3);
  end();
}

TEST(redlock_net_lost_turns_back_to_acquired) { /* R19 R22 */
  world(3);
  hold("r", 10000);
  run_for(2);
  forget_key(0, 2, "r");
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_EXPIRED);
  CHECK(redlock_extend(&rl, &lock, 10000) != REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  end();
}

TEST(redlock_net_is_acquired_ignores_time) { /* R22 */
  world(3);
  hold("r", 1000);
  fake_sleep(&fake, VALID(1000) - 2);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 1);
  fake_sleep(&fake, 1);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  end();
}

TEST(redlock_rb_failed_extend_deletes) { /* R19 */
  world(3);
  hold("r", 10000);
  run_for(2);
  freeze(0, 1);
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_NO_QUORUM);
  run_for(100);
  thaw(0, 1);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 0);
  CHECK_EQ(fake_holders(&fake, "r"), 3);
  end();
}

TEST(pottery_overstates_the_ttl_left) { /* R22 */
  int i;
  world(3);
  hold("r", 1000);
  for (i = 0; i < 900; i += 10) {
    CHECK(redlock_remaining_ms(&rl, &lock) <= fake_pttl(&fake, 0, "r"));
    fake_sleep(&fake, 10);
  }
  end();
}

TEST(pottery_straggling_set_after_the_release) { /* R7 */
  int connect_ms;
  for (connect_ms = 1; connect_ms < 60; connect_ms++) {
    prepare(3);
    fake.server[2].connect_ms = connect_ms;
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_OK);
    run_for(10);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(3000);
    end_without_a_key();
  }
}

TEST(aioredlock_watchdog_fails_with_the_extension) { /* R20 R19 */
  world(3);
  hold("r", 1000);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, 6, "-LOADING\r\n"); /* two rounds of it */
  run_for(5000);
  CHECK_EQ(handed_count, 0);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  end();
}

TEST(aioredlock_is_locked_ignores_the_owner) { /* R22 */
  two_clients(3);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_TAKEN);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(redlock_release(&rival, &other), REDLOCK_OK);
  end();
}

TEST(all_of_them_trust_a_server_that_forgot) { /* R24; more of it in quarantine.c */
  prepare(3);
  options.max_ttl_ms = 10000;
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  restart(0, 1);
  run_for(100);
  CHECK(redlock_acquire(&rl, &other, "r", 10000, 1000) != REDLOCK_OK);
  end();
}
