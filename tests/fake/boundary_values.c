/* boundary_values.c: what faults planted in the header showed to be untested; see tests/mutants. */
#include "fixture.h"

enum { TTL = 10000 };

TEST(a_clock_that_fails_is_no_reason_to_try_again) { /* R1 R9 */
  long k;
  for (k = 1; k <= 12; k++) {
    redlock_status got;
    world(3);
    fail_calls(FAKE_NOW, k, k);
    got = redlock_acquire(&rl, &lock, "r", TTL, 5000);
    CHECK(got == REDLOCK_OK || got == REDLOCK_SYSTEM);
    fake.fail_hook = FAKE_ANY;
    run_for(10);
    CHECK(sets(0) <= 1);
    CHECK_EQ(fake_holders(&fake, "r"), got == REDLOCK_OK ? 3 : 0);
  }
}

TEST(an_extension_that_failed_goes_to_nobody_later) { /* R19 */
  world_with_lock(3, TTL);
  fake.server[2].connect_ms = 20;
  fake_reset(&fake, 2, FAKE_RST);
  run_for(2);
  servers_answer(0, 1, FAKE_EXTEND, 1, "-OOM no memory\r\n");
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_NO_QUORUM);
  run_for(1000);
  CHECK_EQ(redlock_acquire(&rl, &other, "o", TTL, 0), REDLOCK_OK);
  run_for(100);
  CHECK_EQ(sets(2), 2);
  CHECK_EQ(fake_count(&fake, 2, FAKE_EXTEND), 0);
}

TEST(an_extension_of_a_lost_lock_goes_to_nobody_later) { /* R19 R12 */
  world_with_lock(3, TTL);
  run_for(2);
  fake.server[2].connect_ms = 20;
  fake_reset(&fake, 2, FAKE_RST);
  forget_key(0, 1, "r");
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_EXPIRED);
  run_for(100);
  CHECK_EQ(fake_count(&fake, 2, FAKE_EXTEND), 0);
  CHECK_EQ(fake_count(&fake, 2, FAKE_RELEASE), 1);
}

TEST(an_extension_past_the_limit_asks_for_nothing) { /* R20 */
  int64_t granted;
  int late;
  for (late = 0; late <= 1; late++) {
    prepare(3);
    options.max_hold_ms = 500;
    ready_and_warm();
    granted = now();
    hold("r", TTL);
    fake_sleep(&fake, granted + 500 + late - now());
    CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_LIMIT);
    CHECK(redlock_remaining_ms(&rl, &lock) > 0);
    CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 0);
  }
}

/* One server refuses, two answer late: it is tried again and again meanwhile. */
TEST(a_back_off_without_entropy_waits_all_the_same) { /* R14 */
  int before;
  prepare(3);
  options.server_timeout_ms = 1000;
  ready_and_warm();
  fake.server[0].reply_ms = fake.server[1].reply_ms = 900;
  take_away(2, 2);
  before = fake.server[2].connections;
  fail_calls(FAKE_ENTROPY, 2, LONG_MAX); /* the first is the lock's value */
  hold("r", 60000);
  CHECK(fake.server[2].connections - before >= 5);
  CHECK(fake.server[2].connections - before <= 12);
  fake.fail_hook = FAKE_ANY;
}

/* Its clock was set back after it started. */
TEST(a_negative_uptime_counts_as_none) { /* R24 */
  prepare(3);
  options.max_ttl_ms = 1000;
  SET_SERVERS(0, 2, started_at, now() + 500000);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_QUARANTINED);
  run_for(900);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(150);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
}

/* Its values tell ages: the times since then have 32 bits. */
static void wait_for_a_holder(uint32_t attempts, uint32_t delay_ms) {
  int i;
  prepare_waking(3);
  options.max_attempts = attempts;
  options.retry_delay_min_ms = options.retry_delay_max_ms = delay_ms;
  ready_and_warm();
  for (i = 0; i < 3; i++) fake_put(&fake, i, "r", "01234567890123456789zzz", INT64_MAX / 2);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", TTL, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(500);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
}

/* That long after the holder was found, to the millisecond, the lock may be free. */
TEST(a_hold_of_49_days_divides_nothing_by_zero) { /* R26 */
  int i;
  wait_for_a_holder(0, 0);
  fake.now_ms = (int64_t)lock.is.wait.held_since_ms + UINT32_MAX - 200;
  run_for(199);
  for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF("r"));
  run_for(5);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
}

TEST(a_few_attempts_with_the_longest_delays_last_for_long) { /* R9 R26 */
  wait_for_a_holder(3, UINT32_MAX / 2 + 1);
}

/* Keys that it has long left alone, one after the other, on servers that owe no answer. */
TEST(any_number_of_pushes_leaves_the_next_acquire_its_connections) { /* R13 R26 */
  int i, count;
  prepare_waking(3);
  ready_and_warm();
  for (count = 0; count < RL_MAX_IDLE_READS; count++) {
    for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF("x"));
    run_for(1);
  }
  for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF("x"));
  SET_SERVERS(0, 2, reply_ms, 5);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_OK);
}

TEST(resolve_leaves_an_io_of_the_callers_own_alone) {
  world(3);
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK_EQ(fake.calls[FAKE_OPEN] + fake.calls[FAKE_CLOSE], 0);
  CHECK_EQ(redlock_server_error(&rl, 0)[0], '\0'); /* no name was looked for */
  hold("r", TTL);
}

/* Of four, two answer with an error and two have lost the key: the last answer decides between too
   few votes and a proved loss. */
static void lose_two_of_four(int kind) {
  world_with_lock(4, TTL);
  run_for(2);
  servers_answer(0, 1, kind, 1, "-OOM no memory\r\n");
  forget_key(2, 3, "r");
  fake.server[3].reply_ms = 20;
}

TEST(an_even_number_of_servers_can_still_prove_the_loss) { /* R21 R19 */
  lose_two_of_four(FAKE_RELEASE);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  lose_two_of_four(FAKE_EXTEND);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_EXPIRED);
}

/* The process stands still between the call and the first step. */
TEST(an_extension_that_starts_too_late_asks_for_nothing) { /* R18 */
  world_with_lock(3, 1000);
  fake_sleep(&fake, 900);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 1000), REDLOCK_PENDING);
  fake_sleep(&fake, 200);
  CHECK_EQ(finish(&lock), REDLOCK_EXPIRED);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 0);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
}

/* One that is being made has its handshake to send: it is finished for whoever comes next. */
TEST(a_connection_with_nothing_to_say_does_not_ask_to_write) { /* R27 R14 */
  redlock_fd want[3];
  prepare(3);
  SET_SERVERS(0, 2, store.password, "secret");
  options.password = "secret";
  fake.server[0].connect_ms = FAKE_NEVER;
  ready();
  start_and_send(&lock, "r", 1000, 0);
  CHECK_EQ(redlock_fds(&rl, want, 3), 3);
  CHECK(want[0].server == 0 && (want[0].events & REDLOCK_WRITE));
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  (void)redlock_step(&rl);
  CHECK_EQ(redlock_fds(&rl, want, 3), 3);
  CHECK_EQ(want[0].events, REDLOCK_READ | REDLOCK_WRITE);
  CHECK_EQ(want[1].events, REDLOCK_READ);
}

/* Its connection stands just after it was given up. What it is sent then is a sign of life. */
TEST(a_server_that_connected_late_is_asked_at_once) { /* R13 R14 */
  prepare(3);
  fake.server[2].connect_ms = SERVER_TIMEOUT + 10;
  fake.server[2].reply_ms = 30;
  ready_and_hold(60000);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK); /* this needs the connection */
  run_for(SERVER_TIMEOUT + 15);
  CHECK_EQ(fake_count(&fake, 2, FAKE_ANY), 0);
  CHECK_EQ(redlock_acquire(&rl, &other, "o", 60000, 0), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(sets(2), 1);
}
