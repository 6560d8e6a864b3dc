/* idle_step.c: R27: what there is to do by the clock is done on time, and nothing before. Every
 * other test is under the check of fake_idle_step.h too; these are what it found. */
#define REDLOCK_MAX_COMMANDS 4 /* so that room is scarce */
#include "fixture.h"

enum { LONG_TIMEOUT = 5000 };

static void slow_world(void) {
  prepare(3);
  options.server_timeout_ms = LONG_TIMEOUT;
  ready_and_warm();
}

/* Server 1 is in a long back-off, and server 2 hangs: a quorum needs server 1 again. */
TEST(r14_the_end_of_a_back_off_is_in_time_for_an_acquire) {
  slow_world();
  fake.server[1].refuses = 1;
  fake_reset(&fake, 1, FAKE_RST);
  while (fake.calls[FAKE_OPEN] < 6) {
    CHECK_EQ(redlock_acquire(&rl, &other, "other", 10, 0), REDLOCK_OK);
    CHECK(redlock_release(&rl, &other) != REDLOCK_INVALID);
    run_for(30);
  }
  fake.server[1].refuses = 0;
  freeze(2, 2);
  start_timing();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  CHECK(elapsed_ms() < LONG_TIMEOUT);
}

/* So is the end of a connect that nothing came of. */
TEST(r14_a_connect_that_hangs_is_given_up_in_time_for_an_acquire) {
  prepare(3);
  fake.server[1].connect_ms = FAKE_NEVER;
  ready_and_warm();
  run_for(1970);
  fake.server[1].connect_ms = 0; /* from the next one on */
  freeze(2, 2);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
}

static redlock_lock many[5];

/* The first two with that ttl. */
static void hold_five(uint32_t ttl_ms) {
  int i;
  slow_world();
  for (i = 0; i < 5; i++)
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), i < 2 ? ttl_ms : 60000, 0), REDLOCK_OK);
}

/* Two releases fill the ring but for what is spared, the others wait in the queue. */
TEST(r11_a_cancel_that_frees_room_wakes_the_queue) {
  int64_t start;
  int i;
  hold_five(60000);
  freeze(0, 2);
  for (i = 0; i < 5; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  run_for(10);
  start = now();
  CHECK_EQ(redlock_cancel(&rl, &many[0]), REDLOCK_OK);
  fake_sleep(&fake, redlock_timeout_ms(&rl)); /* as an event loop does */
  take_all(&rl);
  CHECK_EQ(now(), start);
  thaw(0, 2);
  run_for(10);
  end_without_a_key();
}

/* The ring is full of releases that nobody answers when a waiter's back-off is over. */
TEST(r9_a_waiter_without_room_waits_no_longer_than_it_may) {
  int i;
  hold_five(60000);
  occupy(0, 2, "r", 60000);
  start_and_send(&lock, "r", 1000, 200);
  run_for(1);
  freeze(0, 2);
  for (i = 0; i < 5; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  CHECK_WITHIN_MS(finish(&lock), REDLOCK_TAKEN, 200);
  CHECK_EQ(sets(0), 6); /* it made one attempt */
}

/* Server 2 has set keys and takes no more bytes: their releases wait for it until it is overdue,
   however short the ttl is, since the SETs may still be on their way. */
TEST(r11_a_release_that_is_overdue_wakes_the_queue) {
  int i;
  hold_five(300);
  run_for(5);
  fake.server[2].socket_room = 0;
  start_timing();
  for (i = 0; i < 3; i++) CHECK_EQ(redlock_release(&rl, &many[i]), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "c", 10000, 0), REDLOCK_OK);
  CHECK(elapsed_ms() > 300 && elapsed_ms() <= LONG_TIMEOUT + 2);
}

/* From its second call on a socket takes nothing. */
static void take_one_piece(struct fake *f, enum fake_hook hook, int server) {
  if (hook != FAKE_SEND || server != 2) return;
  if (f->server[2].send_chunk == SIZE_MAX) f->server[2].send_chunk = 5;
  else f->server[2].socket_room = 0;
}

/* Server 2 has got all of the first two commands, and a part of the third. */
TEST(r11_a_part_of_a_command_pins_that_command_alone) {
  slow_world();
  take_and_release("a", 60000);
  fake.on_call = take_one_piece;
  take_and_release("b", 60000);
  start_timing();
  hold("c", 60000);
  CHECK(elapsed_ms() <= 1);
}

/* The ring has no room for other releases; what nobody waits for may take what is spared. */
TEST(r11_a_cancelled_release_takes_the_last_room) {
  int i;
  hold_five(60000);
  freeze(0, 2);
  for (i = 0; i < 5; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  run_for(10);
  CHECK_EQ(redlock_cancel(&rl, &many[4]), REDLOCK_OK);
  thaw(0, 2);
  run_for(10);
  end_without_a_key();
}

/* The ring is full of rounds that nobody answers: two releases, and extensions of two kept locks.
   A release that waits for room is dropped when it is cancelled, and its value lives until its
   ttl. */
TEST(r11_a_cancelled_release_without_room_is_dropped) {
  int i;
  hold_five(2000);
  for (i = 0; i < 2; i++) CHECK_EQ(redlock_keep(&rl, &many[i], 0), REDLOCK_OK);
  run_for(10);
  freeze(0, 2);
  for (i = 2; i < 5; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  run_for(1200);
  CHECK_EQ(redlock_cancel(&rl, &many[4]), REDLOCK_OK);
  thaw(0, 2);
  run_for(10);
  CHECK(many[2].status == REDLOCK_OK && many[3].status == REDLOCK_OK);
  CHECK_EQ(fake_holders(&fake, numbered(4)), 3);
  CHECK(redlock_remaining_ms(&rl, &many[0]) > 0 && redlock_remaining_ms(&rl, &many[1]) > 0);
  hold("next", 1000);
}

static int64_t end_ms;

/* The ring is full of rounds that nobody answers: two releases, and extensions of two locks that
   last for longer. Then the lock is to be extended. */
static void keep_without_room(uint32_t margin_ms) {
  int i;
  prepare(3);
  options.server_timeout_ms = LONG_TIMEOUT;
  options.keep_margin_ms = margin_ms;
  ready_and_warm();
  for (i = 0; i < 4; i++)
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), 4000, 0), REDLOCK_OK);
  for (i = 0; i < 2; i++) CHECK_EQ(redlock_keep(&rl, &many[i], 0), REDLOCK_OK);
  run_for(1300); /* not yet two fifths of it */
  hold("r", 1000);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  end_ms = now() + redlock_remaining_ms(&rl, &lock);
  freeze(0, 2);
  for (i = 2; i < 4; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
}

TEST(r20_want_of_room_is_told_with_the_margin_left) {
  enum { MARGIN = 300 };
  keep_without_room(MARGIN);
  while (!handed_count && now() < end_ms) note(redlock_wait(&rl, -1));
  is_lost_once(&lock, REDLOCK_NO_QUORUM);
  CHECK_EQ(now(), end_ms - MARGIN);
}

/* Its loss is told when its release has room. */
TEST(r27_a_lost_lock_waits_for_room_without_a_timer) {
  int turns;
  keep_without_room(0);
  for (turns = 0; turns < 100 && now() <= end_ms; turns++) note(redlock_wait(&rl, -1));
  CHECK(now() > end_ms && turns < 100);
  thaw(0, 2);
  run_for(10);
  CHECK_EQ(lock.operation, REDLOCK_LOST);
  CHECK_EQ(lock.status, REDLOCK_EXPIRED);
}
