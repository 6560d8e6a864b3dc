/* stepping.c: the stepping interface: each decision is returned exactly once. */
#include "fixture.h"

static redlock_lock third;

TEST(a_busy_queue_does_not_stop_a_blocking_call) {
  world(3);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "a", 60000, 0), REDLOCK_PENDING);
  CHECK_EQ(redlock_acquire(&rl, &other, "b", 60000, 0), REDLOCK_OK);
  occupy(0, 2, "c", 10000);
  start_timing();
  fake.calls[FAKE_WAIT] = 0;
  CHECK_EQ(redlock_acquire(&rl, &third, "c", 1000, 1000), REDLOCK_TAKEN);
  CHECK(elapsed_ms() <= 1000 + SERVER_TIMEOUT);
  /* it waits: it does not spin over the queue */
  CHECK(fake.calls[FAKE_WAIT] < 5 * sets(0));
  take_all(&rl);
  CHECK_EQ(handed_count, 1);
  CHECK(handed[0] == &lock);
}

TEST(a_cancel_between_attempts_ends_the_wait) {
  int before;
  world(3);
  occupy(0, 2, "r", 100000);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 5000), REDLOCK_PENDING);
  run_for(20);
  for (before = sets(0); sets(0) == before;) run_for(1);
  run_for(2); /* it has been answered */
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  forget_log();
  run_for(1000);
  CHECK_EQ(fake.logged, 0);
  CHECK_EQ(handed_count, 0);
}

TEST(a_cancelled_extension_leaves_the_lock_held) { /* R19 */
  int64_t before;
  world_with_lock(3, 10000);
  before = redlock_remaining_ms(&rl, &lock);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 20000), REDLOCK_PENDING);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), before);
  run_for(10);
  CHECK_EQ(handed_count, 0);
  CHECK(fake_holders(&fake, "r") == 3);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* One server has no room for it yet. */
TEST(what_is_unsent_of_a_cancelled_extension_is_not_sent) { /* R12 R19 */
  world_with_lock(3, 10000);
  run_for(5);
  fake.server[2].socket_room = 0;
  CHECK_EQ(redlock_start_extend(&rl, &lock, 20000), REDLOCK_PENDING);
  CHECK(redlock_step(&rl) == NULL);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  fake.server[2].socket_room = SIZE_MAX;
  run_for(5);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_EXTEND), 2);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK); /* it is still held */
}

/* It was decided, and not returned: its caller has never held it. */
TEST(a_grant_that_is_cancelled_was_never_held) { /* R7 */
  redlock_lock *second;
  world(3);
  start_two(10000);
  second = still_queued();
  CHECK_EQ(redlock_cancel(&rl, second), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, second, 10000), REDLOCK_INVALID);
  CHECK_EQ(redlock_release(&rl, second), REDLOCK_INVALID);
}

/* Two are decided in one turn, and the caller asks again for the one it has not got back yet. */
TEST(a_second_release_of_a_decided_one_is_told) { /* R21 */
  redlock_lock *second;
  world(3);
  hold("a", 60000);
  CHECK_EQ(redlock_acquire(&rl, &other, "b", 60000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_release(&rl, &other), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_release(&rl, &other), REDLOCK_INVALID); /* not decided yet */
  second = still_queued();
  CHECK_EQ(redlock_start_release(&rl, second), REDLOCK_EXPIRED);
  CHECK(redlock_step(&rl) == second);
  CHECK_EQ(second->status, REDLOCK_OK);
  CHECK(redlock_step(&rl) == NULL);
}

/* Nobody need call again. */
TEST(a_release_of_a_pending_acquire_is_a_cancel) { /* R7 */
  int blocks;
  for (blocks = 0; blocks < 2; blocks++) {
    world(3);
    start_and_send(&lock, "r", 10000, 5000);
    CHECK_EQ(sets(FAKE_ANY), 3);
    if (blocks) CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_CANCELLED);
    else CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_CANCELLED);
    CHECK_EQ(lock.status, REDLOCK_CANCELLED);
    if (!blocks) run_for(10);
    CHECK_EQ(handed_count, 0);
    CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 3);
    end_without_a_key();
  }
}

/* It is held, and nothing has failed, whether an extension was under way or not. */
TEST(a_cancelled_keep_leaves_the_status_as_it_was) { /* R19 */
  int extending;
  for (extending = 0; extending < 2; extending++) {
    world(3);
    hold("r", 1000);
    CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
    SET_SERVERS(0, 2, reply_ms, 20);
    run_for(10);
    while (extending && !fake_count(&fake, FAKE_ANY, FAKE_EXTEND)) run_for(1);
    CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
    CHECK_EQ(lock.status, REDLOCK_OK);
    CHECK_EQ(lock.operation, REDLOCK_ACQUIRE);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(50);
    end_without_a_key();
  }
}

TEST(the_resource_is_copied) {
  char name[8] = "r";
  world(3);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, name, 1000, 0), REDLOCK_PENDING);
  name[0] = 'x';
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  end_without_a_key();
}

TEST(close_rolls_back_what_is_pending) { /* R7 */
  world(3);
  hold("held", 60000);
  freeze(0, 2);
  CHECK_EQ(redlock_start_acquire(&rl, &other, "r", 60000, 5000), REDLOCK_PENDING);
  run_for(5);
  start_timing();
  redlock_close(&rl);
  CHECK(elapsed_ms() <= SERVER_TIMEOUT);
  CHECK_EQ(other.status, REDLOCK_CANCELLED);
  thaw(0, 2);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 3);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
  CHECK_EQ(fake_holders(&fake, "held"), 3); /* a held lock is not released */
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_INVALID);
  redlock_close(&rl);
}

/* How long close takes behind a release, with the third server, or all, in such a state. It needs
   no vote: what it waits for is that bytes leave, and for a moment that the answers come, for a
   socket that is closed with answers unread may take back what was sent. */
enum { WELL, DOWN, HANGING, STALLED, SILENT, ALL_SLOW, ALL_FULL };

static int64_t close_takes(int state) {
  prepare(3);
  options.server_timeout_ms = state == SILENT || state == HANGING ? 5000 : SERVER_TIMEOUT;
  fake.server[2].connect_ms = state == HANGING ? FAKE_NEVER : 0;
  fake.server[2].refuses = state == DOWN;
  ready_and_hold(60000);
  run_for(5);
  if (state == STALLED || state == SILENT) freeze(2, 2);
  if (state == ALL_SLOW) SET_SERVERS(0, 2, reply_ms, 10);
  if (state == ALL_FULL) SET_SERVERS(0, 2, socket_room, 5);
  if (state < ALL_SLOW) CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  else CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  if (state < SILENT && state != HANGING) run_for(2 * SERVER_TIMEOUT);
  start_timing();
  redlock_close(&rl);
  return elapsed_ms();
}

TEST(close_waits_for_nobody_in_vain) { /* R10 R13 R16 R21 */
  CHECK_EQ(close_takes(WELL), 0);
  CHECK_EQ(close_takes(DOWN), 0);
  CHECK_EQ(close_takes(STALLED), 0);
  CHECK(close_takes(HANGING) <= 50);
  CHECK(close_takes(SILENT) <= 50);
  CHECK_EQ(close_takes(ALL_SLOW), 10);
  CHECK(close_takes(ALL_FULL) <= SERVER_TIMEOUT);
}

/* The sockets take a few bytes at a time; or the servers have closed the idle connections, and
   nobody has heard of it yet. */
/* Nothing reads the clock between the pause and the close. */
TEST(close_waits_as_long_behind_a_pause) { /* R21 */
  world_with_lock(3, 60000);
  run_for(5);
  fake_sleep(&fake, 10000);
  fake.server[1].reply_ms = 10;
  fake.server[2].reply_ms = 20;
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  start_timing();
  redlock_close(&rl);
  CHECK_EQ(elapsed_ms(), 20);
}

TEST(close_waits_until_all_has_left) { /* R14 R21 */
  int lost;
  for (lost = 0; lost < 2; lost++) {
    world_with_lock(3, 60000);
    run_for(5);
    if (lost) reset(0, 2, FAKE_RST);
    else SET_SERVERS(0, 2, send_chunk, 10);
    CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
    redlock_close(&rl);
    end_without_a_key();
  }
}

TEST(close_waits_for_a_full_socket) { /* R21 */
  prepare(1);
  options.server_timeout_ms = 1000;
  ready_and_warm();
  release_into_a_full_socket();
  redlock_close(&rl);
  end_without_a_key();
}

/* Another server's answer comes a byte at a time, and each byte ends a wait: that costs the full
   socket of its time what the clock says, or 1 ms, as where the clock stands still. */
TEST(close_waits_for_a_full_socket_though_it_is_woken_often) { /* R21 */
  static char error[512];
  memset(error, 'x', sizeof error - 1);
  memcpy(error, "-ERR ", 5);
  memcpy(error + sizeof error - 3, "\r\n", 2);
  prepare(2);
  options.server_timeout_ms = 1000;
  ready_and_warm();
  release_into_a_full_socket();
  fake.server[1].recv_chunk = 1;
  fake_answer(&fake, 1, FAKE_RELEASE, 1, error);
  redlock_close(&rl);
  CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 1);
}

/* What the caller starts between two that are returned leaves with what follows. */
TEST(what_is_started_meanwhile_leaves_in_one_piece) {
  redlock_lock *first;
  world(3);
  start_two(60000);
  first = still_queued() == &lock ? &other : &lock;
  CHECK_EQ(redlock_start_release(&rl, first), REDLOCK_PENDING);
  forget_log();
  CHECK(redlock_wait(&rl, 10) != NULL);
  CHECK_EQ(fake.calls[FAKE_SEND], 0);
}

/* Nor is a time-out left of what was decided and answered. */
TEST(nothing_to_do_means_never) { /* R27 */
  world(3);
  run_for(5000);
  CHECK_EQ(redlock_timeout_ms(&rl), -1);
  CHECK(redlock_wait(&rl, -1) == NULL);
  take_and_release("r", 60000);
  run_for(2);
  CHECK_EQ(redlock_timeout_ms(&rl), -1);
}

TEST(a_wait_without_a_limit_waits_for_what_is_pending_or_kept) { /* R20 */
  redlock_lock *got = NULL;
  int turns;
  world(3);
  SET_SERVERS(0, 2, reply_ms, 30);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  for (turns = 0; turns < 10 && !got; turns++) got = redlock_wait(&rl, -1);
  CHECK(got == &lock && lock.status == REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  for (turns = 0; turns < 20; turns++) CHECK(redlock_wait(&rl, -1) == NULL);
  CHECK(fake_count(&fake, 0, FAKE_EXTEND) >= 2);
}

/* Early is allowed, late is not: who sleeps for the timeout meets the deadline exactly. */
TEST(the_timeout_meets_the_deadline) { /* R10 */
  redlock_lock *got = NULL;
  int turns;
  world(3);
  freeze(0, 2);
  start_timing();
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  for (turns = 0; turns < 10 && !got; turns++) {
    CHECK(redlock_timeout_ms(&rl) >= 0);
    fake_sleep(&fake, redlock_timeout_ms(&rl));
    got = redlock_step(&rl);
  }
  CHECK(got == &lock);
  CHECK_EQ(elapsed_ms(), SERVER_TIMEOUT);
  CHECK_EQ(lock.status, REDLOCK_NO_QUORUM);
}

TEST(fds_are_those_that_were_opened) {
  redlock_fd want[8];
  uint32_t generation;
  int i, count;
  world(3);
  start_and_send(&lock, "r", 1000, 0);
  count = redlock_fds(&rl, want, 8);
  CHECK_EQ(count, 3);
  for (i = 0; i < count && i < 8; i++) {
    CHECK_EQ(want[i].fd, 1000 + fake.client[0].connection[want[i].server]);
    CHECK(want[i].events & REDLOCK_READ);
  }
  CHECK_EQ(redlock_fds(&rl, want, 1), 3);
  CHECK_EQ(redlock_fds(&rl, NULL, 0), 3);
  generation = want[0].generation;
  fake_reset(&fake, want[0].server, FAKE_RST);
  run_for(1000);
  CHECK_EQ(redlock_acquire(&rl, &other, "s", 1000, 0), REDLOCK_OK);
  run_for(1000);
  CHECK_EQ(redlock_acquire(&rl, &other, "t", 1000, 0), REDLOCK_OK);
  count = redlock_fds(&rl, want, 8);
  CHECK(count == 3 && want[0].generation > generation);
}

TEST(a_loop_needs_only_step_and_timeout) {
  int turns;
  redlock_lock *got = NULL;
  world(3);
  occupy(0, 2, "r", 500);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 2000), REDLOCK_PENDING);
  for (turns = 0; turns < 4000 && !got; turns++) {
    int64_t wait_ms = redlock_timeout_ms(&rl);
    redlock_fd want[8];
    int count = redlock_fds(&rl, want, 8);
    CHECK(wait_ms >= 0);
    (void)fake.client[0].io.wait(fake.client[0].io.ctx, want, count, wait_ms);
    got = redlock_step(&rl);
  }
  CHECK(got == &lock && lock.status == REDLOCK_OK);
  CHECK(turns < 8 * sets(0)); /* none of them idle */
}

/* How often each server was asked for bytes. */
static int heard[3];

static void count_heard(struct fake *f, enum fake_hook hook, int server) {
  (void)f;
  if (hook == FAKE_RECV) heard[server]++;
}

TEST(no_server_is_heard_that_is_not_ready) {
  world(3);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  memset(heard, 0, sizeof heard);
  fake.on_call = count_heard;
  CHECK(redlock_step_on(&rl, 0) == NULL);
  CHECK_EQ(sets(FAKE_ANY), 3); /* it sends all the same */
  CHECK_EQ(heard[0] + heard[1] + heard[2], 0);
  fake_sleep(&fake, 1);
  CHECK(redlock_step_on(&rl, 1u << 2) == NULL);
  CHECK_EQ(heard[0] + heard[1], 0);
  CHECK_EQ(heard[2], 1);
  CHECK(redlock_step_on(&rl, 1u << 0) == &lock);
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK(redlock_step_on(&rl, 0) == NULL);
  CHECK_EQ(heard[0] + heard[1] * 100 + heard[2], 2);
}

/* A loop may run its timers before it looks at its descriptors: the answers are there in time. */
TEST(what_is_due_by_the_clock_hears_every_server) { /* R16 */
  world(3);
  SET_SERVERS(0, 2, reply_ms, SERVER_TIMEOUT);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  CHECK(redlock_step_on(&rl, 0) == NULL);
  fake_sleep(&fake, redlock_timeout_ms(&rl));
  CHECK(redlock_step_on(&rl, 0) == &lock);
  CHECK_EQ(lock.status, REDLOCK_OK);
}

/* The program slept, and then drops one lock: the other's answers came while it did. */
TEST(a_release_that_cancels_hears_what_is_in_time) { /* R16 */
  world(3);
  start_and_send(&other, "b", 1000, 0);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "a", 1000, 0), REDLOCK_PENDING);
  fake_sleep(&fake, 2 * SERVER_TIMEOUT);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_CANCELLED);
  CHECK_EQ(finish(&other), REDLOCK_OK);
}

static long lost_at;

static void lose_time(struct fake *f, enum fake_hook hook, int server) {
  (void)server;
  if (hook == FAKE_NOW && f->calls[FAKE_NOW] == lost_at) f->now_ms += 2 * SERVER_TIMEOUT;
}

/* One lock waits for the last server's yes, which comes while the process stands still. Wherever
   in the other's acquire that is, which may lapse by it, the yes is heard before it is late. */
TEST(time_lost_within_a_call_makes_no_answer_late) { /* R16 */
  for (lost_at = 1; lost_at <= 16; lost_at++) {
    world(3);
    occupy(1, 1, "b", 1000);
    fake.server[2].reply_ms = 20;
    start_and_send(&other, "b", 1000, 0);
    forget_log();
    fake.on_call = lose_time;
    (void)redlock_acquire(&rl, &lock, "a", 60, 0);
    fake.on_call = NULL;
    if (!CHECK_EQ(finish(&other), REDLOCK_OK)) printf("    at %ld\n", lost_at);
  }
}

/* It hears of two servers, and stands still when they have granted one lock: the third one's
   answer for the other lock is there as well. */
TEST(time_lost_while_it_hears_makes_no_answer_late) { /* R16 */
  for (lost_at = 1; lost_at <= 4; lost_at++) {
    world(3);
    occupy(1, 1, "b", 1000);
    CHECK_EQ(redlock_start_acquire(&rl, &lock, "a", 1000, 0), REDLOCK_PENDING);
    start_and_send(&other, "b", 1000, 0);
    fake_sleep(&fake, 1);
    forget_log();
    fake.on_call = lose_time;
    CHECK(redlock_step_on(&rl, 3) != NULL);
    fake.on_call = NULL;
    CHECK_EQ(lock.status, REDLOCK_OK);
    take_all(&rl);
    if (!CHECK_EQ(other.status, REDLOCK_OK)) printf("    at %ld\n", lost_at);
  }
}

/* Two are decided at once; a third one's answers come before the second is returned. */
TEST(who_is_ready_while_locks_are_returned_is_kept) {
  world(3);
  start_two(1000);
  CHECK(redlock_step_on(&rl, 0) == NULL);
  CHECK_EQ(redlock_start_acquire(&rl, &third, "c", 1000, 0), REDLOCK_PENDING);
  fake_sleep(&fake, 1);
  CHECK(redlock_step_on(&rl, 7) != NULL); /* and the third one's SET leaves */
  fake_sleep(&fake, 1);
  CHECK(redlock_step_on(&rl, 7) != NULL);
  CHECK_EQ(redlock_timeout_ms(&rl), 0);
  CHECK(redlock_step_on(&rl, 0) == &third);
}

/* After 16 full receives it is another's turn. What is left may be held where no poll sees it. */
TEST(a_talkative_server_is_come_back_to) { /* R10 */
  static char answer[10000];
  size_t size = 0;
  for (; size < sizeof answer - 10; size += 4) memcpy(answer + size, ">0\r\n", 4); /* pushes */
  memcpy(answer + size, "$-1\r", 5);
  world(1);
  fake_answer(&fake, 0, FAKE_SET, 1, answer);
  fake_answer(&fake, 0, FAKE_SET, 1, "\n+OK\r\n");
  CHECK_EQ(redlock_start_acquire(&rl, &other, "a", 1000, 0), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "b", 1000, 0), REDLOCK_PENDING);
  CHECK(redlock_step_on(&rl, 0) == NULL);
  fake_sleep(&fake, 1);
  CHECK(redlock_step_on(&rl, 1) == NULL);
  CHECK_EQ(redlock_timeout_ms(&rl), 0);
  CHECK(redlock_step_on(&rl, 0) == &other);
  CHECK_EQ(other.votes[0], REDLOCK_VOTE_TAKEN);
  CHECK(redlock_step_on(&rl, 0) == &lock);
  CHECK_EQ(lock.status, REDLOCK_OK);
}

/* No time passes. The last server pushes that so often, if it is not left before. */
static void flood(const char *push, int times) {
  int i;
  memset(heard, 0, sizeof heard);
  fake.on_call = count_heard;
  fake.server[2].reply_ms = 0;
  for (i = 0; i < times && fake_open_count(&fake) == 3; i++) {
    fake_push(&fake, 2, push);
    CHECK(redlock_step_on(&rl, 1u << 2) == NULL);
  }
  fake.on_call = NULL;
}

/* In full reads, or a few bytes at a time. */
TEST(who_sends_without_end_is_left) { /* R13 R27 */
  static char much[10000];
  int full;
  size_t size = 0;
  for (; size < sizeof much - 4; size += 4) memcpy(much + size, ">0\r\n", 4);
  for (full = 0; full < 2; full++) {
    world(3);
    flood(full ? much : ">0\r\n", 100000);
    CHECK(heard[2] <= 100 * REDLOCK_MAX_COMMANDS);
    CHECK_EQ(fake_open_count(&fake), 2);
    hold("r", 60000);
  }
}

/* A thousand locks of others are freed at once, again and again. */
TEST(who_pushes_and_answers_is_kept) { /* R13 R26 */
  int i;
  world(3);
  for (i = 0; i < 10; i++) {
    flood(">0\r\n", 1000);
    take_and_release("r", 60000);
    run_for(5);
  }
  CHECK_EQ(fake.server[2].connections, 1);
  CHECK_EQ(fake_open_count(&fake), 3);
}

/* It gets all releases, and answers none: what is sent to it is no sign of its life. */
TEST(who_pushes_and_owes_every_answer_is_left) { /* R13 R27 */
  int64_t begin_ms;
  int i;
  world(3);
  freeze(2, 2);
  begin_ms = now();
  for (i = 0; i < 30; i++) {
    flood(">0\r\n", 100);
    take_and_release("r", 60000);
  }
  CHECK(now() - begin_ms < RL_SILENCE_MS); /* nor is it given up for its silence */
  CHECK(fake.server[2].connections >= 2 || fake_open_count(&fake) == 2);
}

/* It answers late: something is awaited all the time. */
TEST(who_pushes_and_always_owes_an_answer_is_kept) { /* R13 R26 */
  int i, ms;
  world(3);
  fake.server[2].reply_ms = 40;
  for (i = 0; i < 200; i++) {
    redlock_lock *l = i % 2 ? &lock : &other;
    CHECK_EQ(redlock_start_acquire(&rl, l, i % 2 ? "a" : "b", 60000, 0), REDLOCK_PENDING);
    for (ms = 0; ms < 20; ms++) {
      fake_push(&fake, 2, ">0\r\n");
      run_for(1);
    }
    CHECK_EQ(redlock_start_release(&rl, l), REDLOCK_PENDING);
    CHECK_EQ(finish(l), REDLOCK_OK);
  }
  CHECK_EQ(fake.server[2].connections, 1);
}

static int farewells;

static void on_closing(void *ctx, int server, intptr_t fd) {
  CHECK(ctx == &farewells);
  CHECK_EQ(fd, 1000 + fake.client[0].connection[server]);
  farewells++;
}

TEST(each_descriptor_is_told_before_it_is_closed) {
  prepare(5);
  options.closing = on_closing;
  options.ctx = &farewells;
  farewells = 0;
  fake.server[4].connect_ms = FAKE_NEVER; /* told also of one that never stood */
  ready_and_warm();
  fake_reset(&fake, 1, FAKE_RST);
  take_all(&rl);
  CHECK_EQ(farewells, 1);
  fake.server[1].open_fails = 1; /* nothing was opened, nothing is closed */
  hold("r", 1000);
  CHECK_EQ(farewells, 1);
  redlock_close(&rl);
  CHECK_EQ(farewells, 5);
}

/* Each hook calls the client, which is in a call: of this thread, or of another. */
static void call_the_client(struct fake *f, enum fake_hook hook, int server) {
  (void)server;
  if (hook != FAKE_WAIT) return;
  f->on_call = NULL;
  CHECK_EQ(redlock_start_acquire(&rl, &other, "x", 1000, 0), REDLOCK_INVALID);
  CHECK(strcmp(redlock_server_error(&rl, -1), "another call is under way") == 0);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_INVALID);
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_INVALID);
  CHECK(redlock_step(&rl) == NULL);
}

TEST(a_call_while_another_is_under_way_is_invalid) { /* R17 */
  world(3);
  fake.on_call = call_the_client;
  hold("r", 60000);
  CHECK(!fake.on_call);
  CHECK_EQ(redlock_server_error(&rl, -1)[0] != 0, 1);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  CHECK_EQ(redlock_server_error(&rl, -1)[0], 0);
  fake.on_call = call_the_client;
  redlock_close(&rl);
  CHECK(!fake.on_call);
}

/* What one call said of this side is not said of the next. */
TEST(the_next_call_forgets_why_one_was_invalid) {
  world(3);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1, 0), REDLOCK_INVALID);
  CHECK(strcmp(redlock_server_error(&rl, -1), "ttl_ms is too short") == 0);
  hold("r", 60000);
  CHECK_EQ(redlock_server_error(&rl, -1)[0], 0);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 1), REDLOCK_INVALID);
  CHECK(redlock_server_error(&rl, -1)[0] != 0);
  CHECK(redlock_step(&rl) == NULL);
  CHECK_EQ(redlock_server_error(&rl, -1)[0], 0);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

TEST(each_decision_comes_once) {
  world(3);
  occupy(0, 2, "b", 10000);
  start_two(1000);
  run_for(100);
  CHECK_EQ(handed_count, 2);
  CHECK(handed[0] != handed[1]);
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK_EQ(other.status, REDLOCK_TAKEN);
  handed_count = 0;
  CHECK_EQ(redlock_start_extend(&rl, &lock, 1000), REDLOCK_PENDING);
  run_for(100);
  CHECK_EQ(handed_count, 1);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  run_for(100);
  CHECK_EQ(handed_count, 2);
  CHECK_EQ(lock.operation, REDLOCK_RELEASE);
}

TEST(a_blocking_call_returns_its_own_lock_alone) {
  world(3);
  start_two(1000);
  CHECK_EQ(redlock_acquire(&rl, &third, "c", 1000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &third), REDLOCK_OK);
  CHECK_EQ(redlock_timeout_ms(&rl), 0); /* the queue is not empty */
  take_all(&rl);
  CHECK_EQ(handed_count, 2);
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK_EQ(other.status, REDLOCK_OK);
}
