/* line.c: a crowd waits in line (R26): a value says how long its holder had waited, and whoever has
 * waited for less lets others try first. Two clients, the old one and the
 * young one, and a holder whose value says what a test wants. */
#include "fixture.h"

#include <limits.h>

enum { TTL = 60000, LONG_AGO = 5000, TURNS = 60, GREATEST = (1 << 24) - 1, OFTEN = 33 };

static redlock *const young = &rival;
static redlock_lock its;

static void world_of_two(void) {
  prepare_waking(3);
  memset(&its, 0, sizeof its);
  ready();
  ready_rival();
  warm();
}

/* Both clients work for a millisecond. */
static void pass(void) {
  fake_sleep(&fake, 1);
  (void)redlock_step(young);
  (void)redlock_step(&rl);
}

static void pass_for(int64_t ms) {
  int64_t end_ms = now() + ms;
  while (now() < end_ms) pass();
}

/* What the holder's value says at one server: that it had waited for so long. If it is of another
   size than a waiter's, another program's is there, and says nothing. */
static void say_age(int server, long age_ms, size_t size) {
  struct key *key = fake_key_at(&fake, server, "r");
  memset(key->value, '~', size);
  key->value_size = size;
  if (size != STORED) return;
  key->value[20] = (unsigned char)(age_ms >> 16);
  key->value[21] = (unsigned char)(age_ms >> 8);
  key->value[22] = (unsigned char)age_ms;
}

/* The lock changes hands, which tells whoever waits. No two holders waited for as long. */
static void hold_with(long age_ms, size_t size) {
  static int holders;
  int i, differs = ++holders % 7;
  occupy(0, 2, "r", TTL);
  for (i = 0; i < 3; i++)
    say_age(i, age_ms < 8 ? age_ms + 1 + differs : age_ms - age_ms / 100 * differs, size);
}

static void hold_with_age(long age_ms) { hold_with(age_ms, STORED); }

static void let_go(void) { forget_key(0, 2, "r"); }

/* It waits, and has tried in vain. */
static void begin(redlock *client, redlock_lock *lock_of_it) {
  CHECK_EQ(redlock_start_acquire(client, lock_of_it, "r", TTL, REDLOCK_FOREVER), REDLOCK_PENDING);
  pass_for(50);
}

static int has_tried(int client, size_t since) {
  for (; since < fake.logged; since++)
    if (fake.log[since].client == client && fake.log[since].kind == FAKE_SET) return 1;
  return 0;
}

/* The waiter has heard that the holder changed: lets it try in vain. */
static void pass_attempt(const redlock_lock *l) {
  size_t since = fake.logged;
  int64_t end_ms = now() + 3000;
  while (!has_tried(l == &its, since) && now() < end_ms) pass();
  pass_for(3);
}

/* The holder changes so many times. */
static void pass_attempts(const redlock_lock *l, int count, long age_ms) {
  while (count--) {
    hold_with_age(age_ms);
    pass_attempt(l);
  }
}

/* How long, in ms, until the old one gets what is free now, and lets go: a minute at most. */
static int64_t time_to_win(void) {
  int64_t start = now(), end_ms;
  let_go();
  while (lock.status == REDLOCK_PENDING && now() < start + 60000) pass();
  end_ms = now();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  return end_ms - start;
}

static void end_of_turn(void) {
  if (lock.status == REDLOCK_PENDING) redlock_cancel(&rl, &lock);
  if (its.status == REDLOCK_PENDING) redlock_cancel(young, &its);
  (void)redlock_release(&rl, &lock);
  (void)redlock_release(young, &its);
  pass_for(5);
}

/* An old and a young waiter, both of which have been woken and have tried again. */
static void wait_old_and_young(void) {
  hold_with_age(LONG_AGO);
  begin(&rl, &lock);
  hold_with_age(LONG_AGO);
  pass_for(LONG_AGO);
  begin(young, &its);
  pass_attempts(&its, 8, LONG_AGO);
  CHECK(lock.status == REDLOCK_PENDING && its.status == REDLOCK_PENDING);
}

/* Whoever wins tells its age to whoever comes next. */
TEST(the_old_waiter_wins) { /* R26 */
  int turn, old = 0;
  world_of_two();
  for (turn = 0; turn < TURNS; turn++) {
    int64_t limit;
    wait_old_and_young();
    let_go();
    for (limit = now() + 3000; lock.status == REDLOCK_PENDING && its.status == REDLOCK_PENDING &&
                               now() < limit;)
      pass();
    if (lock.status == REDLOCK_OK) {
      old++;
      CHECK(age_in_value() >= LONG_AGO && age_in_value() <= 5 * LONG_AGO);
    } else {
      CHECK_EQ(its.status, REDLOCK_OK);
    }
    end_of_turn();
  }
  CHECK(old >= TURNS * 9 / 10);
}

/* What a holder tells may be of other times, or a lie: it costs a second at most. */
TEST(no_age_keeps_a_waiter_away) { /* R26 */
  static const long ages[] = {5000, 100000, GREATEST};
  size_t k;
  int turn;
  world_of_two();
  for (k = 0; k < sizeof ages / sizeof ages[0]; k++)
    for (turn = 0; turn < 20; turn++) {
      hold_with_age(ages[k]);
      begin(&rl, &lock);
      if (turn % 5 == 0) pass_attempts(&lock, OFTEN, ages[k]);
      CHECK(time_to_win() <= 1100);
    }
}

/* The holder has the lock at servers 0 and 1, and server 1 is slow. Server 2 has a value of another
   age each time. All push for nothing. */
TEST(what_a_minority_tells_is_no_change_of_hands) { /* R26 */
  int k, i;
  world_of_two();
  hold_with_age(300);
  begin(&rl, &lock);
  hold_with_age(300);
  pass_attempt(&lock);
  fake.server[1].reply_ms = 30;
  forget_log();
  for (k = 0; k < A_SECOND; k++) {
    say_age(2, 100 + k % 100, STORED);
    for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF_ALL);
    pass();
  }
  CHECK(sets(0) > 2 && sets(0) <= MOST_A_SECOND);
  end_of_turn();
}

/* The holder has the lock at servers 1 and 2, and server 2 errs each other time: then server 1
   alone tells of it, and one does not count. All push for nothing. */
TEST(nothing_told_is_no_change_of_hands) { /* R26 */
  int k, i, seen;
  world_of_two();
  hold_with_age(300);
  begin(&rl, &lock);
  forget_key(0, 0, "r");
  forget_log();
  for (k = seen = 0; k < 2 * A_SECOND; k++) {
    if (sets(2) != seen) {
      seen = sets(2);
      if (seen % 2) fake_answer(&fake, 2, FAKE_SET, -1, "-OOM command not allowed.\r\n");
      else fake.rules = 0;
    }
    for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF_ALL);
    pass();
  }
  CHECK(seen > 4 && seen <= 2 * MOST_A_SECOND);
  fake.rules = 0;
  end_of_turn();
}

/* It is as if nobody waited, whoever held the lock before. */
TEST(a_value_of_another_size_tells_no_age) { /* R26 */
  size_t size;
  int k;
  world_of_two();
  for (size = 1; size <= 40; size += size == 22 ? 2 : 1) {
    hold_with(0, size);
    begin(&rl, &lock);
    for (k = 0; k < OFTEN; k++) {
      hold_with_age(1);
      pass_attempt(&lock);
      hold_with(0, size);
      pass_attempt(&lock);
    }
    CHECK(time_to_win() <= 60);
  }
}

/* The holder changes often, and one of three tells another age than the others: how long the lock
   is free then. */
static int64_t time_beside_a_liar(int liar, long age_ms, long its_age_ms) {
  int k;
  hold_with_age(0);
  begin(&rl, &lock);
  for (k = 0; k < OFTEN; k++) {
    hold_with_age(age_ms);
    say_age(liar, its_age_ms, STORED);
    pass_attempt(&lock);
  }
  return time_to_win();
}

/* It says that the holder is very old, whichever server it is. */
TEST(a_minority_that_lies_delays_nobody) { /* R26 R16 */
  int liar;
  world_of_two();
  for (liar = 0; liar < 3; liar++) CHECK(time_beside_a_liar(liar, 0, GREATEST) <= 60);
}

/* Nor does one that says that nobody waits hurry anybody: the others say who waited. */
TEST(a_minority_that_hides_an_age_hurries_nobody) { /* R26 R16 */
  int64_t backed_off_ms = 0;
  int turn;
  world_of_two();
  for (turn = 0; turn < 20; turn++) backed_off_ms += time_beside_a_liar(turn % 3, 100000, 0);
  CHECK(backed_off_ms >= 20 * 250);
}

/* Whatever ages say: it has waited for 50 ms, and each of four slots lasts for two attempts. */
TEST(a_turn_is_hardly_later_than_the_time_waited) { /* R26 */
  int turn;
  world_of_two();
  for (turn = 0; turn < 20; turn++) {
    int before = sets(0);
    hold_with_age(GREATEST);
    begin(&rl, &lock);
    CHECK_EQ(sets(0) - before, 3);
    CHECK(time_to_win() <= 50 + 4 * 2 * 3 + 20);
  }
}

/* One that has just come, and found it free, has no age to tell. Who is not in turn backs off as
   before it came. */
TEST(a_newcomer_makes_nobody_try_sooner) { /* R26 */
  int64_t backed_off_ms = 0;
  int turn;
  world_of_two();
  for (turn = 0; turn < 20; turn++) {
    hold_with_age(0);
    begin(&rl, &lock);
    pass_attempts(&lock, OFTEN, 100000);
    pass_attempts(&lock, 2, 0);
    backed_off_ms += time_to_win();
  }
  CHECK(backed_off_ms >= 20 * 250);
}

/* Those who came at once have the same age, but for their luck: the ages that they tell differ. */
TEST(chance_tells_apart_who_came_at_once) { /* R26 */
  long least = LONG_MAX, most = 0;
  int turn;
  world_of_two();
  for (turn = 0; turn < TURNS; turn++) {
    hold_with_age(0);
    begin(&rl, &lock);
    pass_for(LONG_AGO);
    let_go();
    while (lock.status == REDLOCK_PENDING) pass();
    CHECK(age_in_value() >= LONG_AGO);
    if (age_in_value() < least) least = age_in_value();
    if (age_in_value() > most) most = age_in_value();
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  }
  CHECK(least <= LONG_AGO * 5 / 4 && most >= least + LONG_AGO / 4);
}

/* Pushes for nothing make a waiter rest. It wakes at once again when it sees another holder. */
TEST(another_holder_ends_the_rest_after_wake_ups_for_nothing) { /* R26 */
  int turn, k, i;
  world_of_two();
  for (turn = 0; turn < 20; turn++) {
    hold_with_age(100);
    begin(&rl, &lock);
    for (k = 0; k < 20; k++) {
      for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF_ALL);
      pass_attempt(&lock);
    }
    hold_with_age(0);
    pass_attempt(&lock);
    CHECK(time_to_win() <= 60);
  }
}

/* A client takes a lock again and again, each time right behind its release. Nobody has woken it,
   yet the waiter sees that the lock changes hands, and goes on trying. */
TEST(newcomers_that_follow_one_another_are_told_apart) { /* R26 */
  int turn, k;
  world_of_two();
  for (turn = 0; turn < 20; turn++) {
    CHECK_EQ(redlock_acquire(young, &its, "r", TTL, 0), REDLOCK_OK);
    begin(&rl, &lock);
    for (k = 0; k < 20; k++) {
      CHECK_EQ(redlock_release(young, &its), REDLOCK_OK);
      CHECK_EQ(redlock_acquire(young, &its, "r", TTL, 0), REDLOCK_OK);
      pass_attempt(&lock);
    }
    CHECK_EQ(redlock_release(young, &its), REDLOCK_OK);
    CHECK(time_to_win() <= 60);
  }
}
