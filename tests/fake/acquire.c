/* acquire.c: when a lock is granted, when not, and how long it is said to be valid. */
#include "fixture.h"

/* Each server answers `late` ms after the SET, so the quorum stands at T1 + late. */
static redlock_status answered_late(int64_t late) {
  prepare(5);
  options.server_timeout_ms = 5000;
  ready_and_warm();
  SET_SERVERS(0, 4, reply_ms, late);
  return redlock_acquire(&rl, &lock, "r", 1000, 0);
}

TEST(one_millisecond_left_is_a_grant) { /* R1 */
  CHECK_EQ(answered_late(VALID(1000) - 1), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 1);
}

TEST(nothing_left_is_expired_and_rolled_back) { /* R1 R7 */
  CHECK_EQ(answered_late(VALID(1000)), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  run_for(1);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 5);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
}

/* That the queue checks again must not hide that the attempt failed: it has time for another. */
TEST(an_expired_attempt_is_retried) { /* R1 R9 */
  prepare(3);
  options.server_timeout_ms = 5000;
  ready_and_warm();
  SET_SERVERS(0, 2, reply_ms, VALID(1000));
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 5000), REDLOCK_PENDING);
  (void)redlock_step(&rl); /* the SETs are out, their replies on the way */
  SET_SERVERS(0, 2, reply_ms, 1);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(sets(0), 2);
}

TEST(drift_is_rounded_up) { /* R1 */
  static const struct { uint32_t ttl, ppm, drift; } row[] = {
      {1000, 0, 12}, {1001, 0, 13}, {100, 1, 3}, {1000, 153900, 156}, {4294967295u, 0, 42949675}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof row[0]; i++) {
    prepare(3);
    options.drift_ppm = row[i].ppm;
    ready_and_warm();
    hold("r", row[i].ttl);
    CHECK_EQ(redlock_remaining_ms(&rl, &lock), (int64_t)row[i].ttl - row[i].drift - 2);
  }
}

/* The machine is suspended while the reply that makes the quorum is being read. */
static void suspend_at_the_third_reply(struct fake *f, enum fake_hook hook, int server) {
  if (hook != FAKE_RECV || server != 2) return;
  if (!fake_stream_ready(&f->connection[f->client[0].connection[2]].out, f->now_ms)) return;
  f->now_ms += 5000;
  f->on_call = NULL;
}

TEST(suspended_at_the_last_reply_is_expired) { /* R1 R2 */
  world(3);
  occupy(0, 0, "r", 10000); /* so that the third server's yes is the one that counts */
  fake.on_call = suspend_at_the_third_reply;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
}

/* Time passes as soon as the first byte of a SET has been taken. */
static void suspend_at_the_first_send(struct fake *f, enum fake_hook hook, int server) {
  (void)server;
  if (hook != FAKE_SEND) return;
  f->now_ms += 300;
  f->on_call = NULL;
}

TEST(time_starts_before_the_first_byte) { /* R1 */
  prepare(3);
  options.server_timeout_ms = 5000;
  ready_and_warm();
  fake.on_call = suspend_at_the_first_send;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(1000) - 301);
}

TEST(a_grant_that_lapses_in_the_queue_is_expired) { /* R1 R22: at the hand-over */
  redlock_lock *second;
  world(3);
  start_two(1000);
  second = still_queued();
  fake_sleep(&fake, 988); /* the key itself still lives */
  CHECK_EQ(redlock_timeout_ms(&rl), 0);
  CHECK(redlock_step(&rl) == second);
  CHECK_EQ(second->status, REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, second), 0);
  run_for(1);
  CHECK_EQ(handed_count, 0);
  CHECK_EQ(fake_holders(&fake, second == &lock ? "a" : "b"), 0);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 3);
  CHECK_EQ(redlock_extend(&rl, second, 1000), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_keep(&rl, second, 0), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_start_release(&rl, second), REDLOCK_EXPIRED); /* and it has been released */
}

/* To the millisecond: it is held for as long as redlock_remaining_ms says, and no longer. */
TEST(a_grant_at_its_deadline_is_none) { /* R1 hand-over */
  redlock_lock *last;
  int left;
  for (left = 1; left >= 0; left--) {
    world(3);
    start_two(1000);
    last = finish(&lock) == REDLOCK_OK ? &other : &lock;
    fake_sleep(&fake, redlock_remaining_ms(&rl, &lock) - left);
    CHECK(redlock_step(&rl) == last);
    CHECK_EQ(last->status, left ? REDLOCK_OK : REDLOCK_EXPIRED);
  }
}

TEST(an_acquire_returns_at_the_third_answer) { /* R6 R23 */
  int taken;
  for (taken = 0; taken < 2; taken++) {
    world(5);
    answer_in_turn();
    if (taken) occupy(0, 2, "r", 10000);
    freeze(3, 4);
    CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), taken ? REDLOCK_TAKEN : REDLOCK_OK, 3);
    CHECK(fake.calls[FAKE_WAIT] <= 4); /* one for each reply, and none behind the third */
    CHECK_EQ(fake.calls[FAKE_SEND], taken ? 7 : 5); /* two are rolled back */
    CHECK_EQ(lock.votes[3], REDLOCK_VOTE_NONE);
  }
}

TEST(a_slow_server_is_waited_for_while_it_matters) { /* R6 */
  world(5);
  occupy(0, 1, "r", 10000);
  fake.server[4].reply_ms = 40;
  CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK, 40);
}

TEST(quorum_is_a_majority_of_the_configured) { /* R5 */
  int n, yes;
  for (n = 1; n <= REDLOCK_MAX_SERVERS; n++)
    for (yes = 0; yes <= n; yes++) {
      world(n);
      if (yes < n) occupy(yes, n - 1, "r", 10000);
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0),
               yes >= n / 2 + 1 ? REDLOCK_OK : REDLOCK_TAKEN);
    }
}

/* Every byte of the entropy shows in the value, and the value is the same on all servers. */
TEST(the_value_is_all_of_the_entropy) { /* R3 */
  static unsigned char bytes[20];
  struct fake_text value, first;
  int i;
  for (i = 0; i <= 20; i++) {
    memset(bytes, 7, sizeof bytes);
    if (i > 0) bytes[i - 1] = 9;
    world(3);
    fake.entropy = bytes;
    fake.entropy_size = sizeof bytes;
    hold("r", 1000);
    run_for(1);
    value = fake_nth(&fake, 0, FAKE_SET, 0)->value;
    CHECK(value.size >= 20);
    CHECK(fake_text_same(&value, &fake_nth(&fake, 2, FAKE_SET, 0)->value));
    if (i == 0) first = value;
    else CHECK(!fake_text_same(&value, &first));
  }
}

TEST(each_attempt_draws_a_fresh_value) { /* R3 */
  prepare(3);
  options.max_attempts = 4;
  ready_and_warm();
  fake.entropy_given = 0;
  fake_answer(&fake, FAKE_ANY, FAKE_SET, -1, "-LOADING dataset in memory\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_NO_QUORUM);
  CHECK_EQ(sets(0), 4);
  CHECK(!fake_text_same(&fake_nth(&fake, 0, FAKE_SET, 0)->value,
                        &fake_nth(&fake, 0, FAKE_SET, 1)->value));
  CHECK(fake.entropy_given >= 80);
}

