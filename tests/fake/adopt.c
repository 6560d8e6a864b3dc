/* adopt.c: a held lock changes hands (R28). A second client, the giver, takes it; ours adopts
   it. */
#include "fixture.h"

enum { TTL = 10000 };

static redlock *const giver = &rival;
static redlock_lock given;

/* The giver holds "r" on every server. */
static void give(void) {
  memset(&given, 0, sizeof given);
  ready_rival();
  CHECK_EQ(redlock_acquire(giver, &given, "r", TTL, 0), REDLOCK_OK);
  fake_sleep(&fake, 5);
  forget_log();
}

static void given_world(int count) {
  world(count);
  give();
}

static redlock_status adopt(void) { return redlock_adopt(&rl, &lock, "r", TTL, given.value); }

static void start(void) {
  CHECK_EQ(redlock_start_adopt(&rl, &lock, "r", TTL, given.value), REDLOCK_PENDING);
}

/* On how many servers the key is this lock's. */
static int hold_value(const redlock_lock *l) {
  int i, count = 0;
  for (i = 0; i < fake.servers; i++) count += has_value_of(i, "r", l);
  return count;
}

/* The adopter has it, whatever the giver has done or believes. */
static void check_adopted(void) {
  run_for(5);
  CHECK_EQ(hold_value(&lock), fake.servers);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
}

/* ---- One attempt ----------------------------------------------------------------------------- */

TEST(an_adoption_takes_one_round_trip_and_a_fresh_value) { /* R28 R3 */
  given_world(3);
  CHECK_IN_MS(adopt(), REDLOCK_OK, 1);
  CHECK_EQ(lock.operation, REDLOCK_ACQUIRE);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(TTL) - 1);
  CHECK(memcmp(lock.value, given.value, sizeof lock.value) != 0);
  CHECK_EQ(redlock_adopt(&rl, &other, "r", TTL, given.value), REDLOCK_TAKEN); /* once is enough */
  votes_are(&other, 0, 1, REDLOCK_VOTE_TAKEN);
  CHECK_EQ(redlock_remaining_ms(&rl, &other), 0);
  check_adopted();
}

/* Each has a server's worth of luck: neither has a quorum, or one does. */
TEST(two_adoptions_at_once_give_one_holder_at_most) { /* R28 */
  int first;
  for (first = 0; first < 2; first++) {
    given_world(3);
    fake.server[0].request_ms = 3;
    CHECK_EQ(redlock_start_adopt(&rl, &lock, "r", TTL, given.value), REDLOCK_PENDING);
    if (first) (void)redlock_step(&rl);
    fake.server[0].request_ms = 0;
    fake.server[1].request_ms = fake.server[2].request_ms = first ? 0 : 2;
    CHECK_EQ(redlock_start_adopt(giver, &given, "r", TTL, given.value), REDLOCK_PENDING);
    while (given.status == REDLOCK_PENDING) (void)redlock_wait(giver, 10);
    CHECK(finish(&lock) != given.status || lock.status != REDLOCK_OK);
    CHECK(lock.status == REDLOCK_OK || given.status == REDLOCK_OK);
  }
}

TEST(an_absent_key_is_never_created) { /* R28 */
  given_world(3);
  CHECK_EQ(redlock_release(giver, &given), REDLOCK_OK);
  forget_log();
  CHECK_EQ(adopt(), REDLOCK_TAKEN);
  run_for(5);
  CHECK_EQ(fake_live_keys(&fake), 0);
  CHECK(fake_count(&fake, FAKE_ANY, FAKE_RELEASE) <= 1); /* R7: TAKEN needs none */
}

/* Whatever stands there: even what is most like a value that is not there. */
TEST(anothers_lock_is_left_alone) { /* R28 R21 */
  static const char *const theirs[] = {"foreign", "", "NX", "XX", "01234567890123456789"};
  size_t k;
  int i;
  for (k = 0; k < sizeof theirs / sizeof *theirs; k++) {
    world(3);
    for (i = 0; i < 3; i++) fake_put(&fake, i, "r", theirs[k], TTL);
    CHECK_EQ(redlock_adopt(&rl, &lock, "r", TTL, "0123456789012345678x"), REDLOCK_TAKEN);
    CHECK_EQ(redlock_adopt(&rl, &lock, "r", TTL, "x1234567890123456789"), REDLOCK_TAKEN);
    run_for(5);
    CHECK(keys_are(0, 2, "r", theirs[k]));
  }
}

/* ---- The giver ------------------------------------------------------------------------------- */

/* It wakes when its own time is over, and its library releases what it thinks is its own (R19). */
TEST(a_paused_giver_changes_nothing) { /* R28 R19 R21 */
  int kept;
  for (kept = 0; kept < 2; kept++) {
    given_world(3);
    if (kept) CHECK_EQ(redlock_keep(giver, &given, 0), REDLOCK_OK);
    CHECK_EQ(adopt(), REDLOCK_OK);
    CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
    run_for(2 * TTL);
    if (kept) CHECK(redlock_wait(giver, 10) == &given && given.operation == REDLOCK_LOST);
    CHECK_EQ(redlock_remaining_ms(giver, &given), 0);
    CHECK_EQ(redlock_release(giver, &given), REDLOCK_EXPIRED);
    CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
    check_adopted();
  }
}

/* Its extension is under way; the adoption overtakes it. */
TEST(what_is_still_under_way_finds_nothing) { /* R28 */
  given_world(3);
  SET_SERVERS(0, 2, request_ms, 20);
  CHECK_EQ(redlock_start_extend(giver, &given, 6 * TTL), REDLOCK_PENDING);
  (void)redlock_step(giver);
  CHECK_EQ(redlock_cancel(giver, &given), REDLOCK_OK);
  SET_SERVERS(0, 2, request_ms, 0);
  CHECK_EQ(adopt(), REDLOCK_OK);
  run_for(30);
  CHECK(fake_pttl(&fake, 0, "r") <= TTL);
  check_adopted();
}

/* ---- Failure --------------------------------------------------------------------------------- */

/* What the first try took is gone, and a quorum is left. */
TEST(an_adoption_by_a_minority_can_be_tried_again) { /* R28 R7 R23 */
  given_world(5);
  take_away(2, 4);
  CHECK_EQ(adopt(), REDLOCK_NO_QUORUM);
  run_for(5);
  CHECK_EQ(hold_value(&lock), 0);
  CHECK_EQ(hold_value(&given), 3);
  SET_SERVERS(2, 4, refuses, 0);
  run_for(3000);
  CHECK_EQ(adopt(), REDLOCK_OK);
  CHECK_EQ(hold_value(&lock), 3);
}

TEST(a_quorum_that_comes_too_late_frees_the_lock) { /* R28 R1 */
  given_world(3);
  SET_SERVERS(0, 2, reply_ms, 45);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", 40, given.value), REDLOCK_NO_QUORUM);
  run_for(200);
  end_without_a_key();
}

/* Some byte of it had left: it is not sent again, and a release follows. */
TEST(an_adoption_goes_once_whatever_byte_was_the_last) { /* R28 R12 */
  size_t k;
  for (k = 0; k < 700; k += k / 8 + 1) {
    given_world(3);
    fake.server[2].cut_in = fake.connection[fake.client[0].connection[2]].took + k;
    fake.server[2].cuts = 1;
    CHECK_EQ(adopt(), REDLOCK_OK);
    run_for(100);
    CHECK(sets(2) <= 1);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(2 * TTL);
    end_without_a_key();
  }
}

/* In line, with its SET out, and decided, when another lock has been returned first. */
TEST(an_adoption_that_is_cancelled_or_that_close_ends_is_rolled_back) { /* R28 R7 */
  int way;
  for (way = 0; way < 2 * 3; way++) {
    int closes = way / 3, phase = way % 3;
    given_world(3);
    CHECK_EQ(redlock_start_acquire(&rl, &other, "s", TTL, 0), REDLOCK_PENDING);
    start();
    if (phase == 1) CHECK(redlock_step(&rl) == NULL);
    while (phase == 2 && other.status == REDLOCK_PENDING) (void)redlock_wait(&rl, 10);
    if (closes) redlock_close(&rl);
    else CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
    if (!closes) run_for(100);
    CHECK_EQ(hold_value(&lock), 0);
    CHECK_EQ(hold_value(&given), phase == 0 ? 3 : 0);
  }
}

/* ---- Arguments ------------------------------------------------------------------------------- */

TEST(what_is_invalid_changes_nothing) { /* R28 */
  char name[REDLOCK_MAX_RESOURCE + 1];
  redlock_lock before;
  given_world(3);
  CHECK_EQ(adopt(), REDLOCK_OK);
  run_for(5);
  before = lock;
  forget_log();
  memset(name, 'n', sizeof name);
  name[REDLOCK_MAX_RESOURCE - 19] = '\0';
  CHECK_EQ(redlock_adopt(&rl, &lock, name, TTL, given.value), REDLOCK_INVALID);
  CHECK_EQ(redlock_adopt(&rl, &lock, "", TTL, given.value), REDLOCK_INVALID);
  CHECK_EQ(redlock_adopt(&rl, &lock, NULL, TTL, given.value), REDLOCK_INVALID);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", TTL, NULL), REDLOCK_INVALID);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", 0, given.value), REDLOCK_INVALID);
  CHECK_EQ(redlock_adopt(&rl, NULL, "r", TTL, given.value), REDLOCK_INVALID);
  CHECK_EQ(redlock_adopt(NULL, &lock, "r", TTL, given.value), REDLOCK_INVALID);
  CHECK_EQ(fake.logged, 0);
  CHECK(memcmp(&before, &lock, sizeof lock) == 0);
  check_adopted();
}

TEST(a_pending_lock_is_not_overwritten) { /* R28 */
  given_world(3);
  start();
  CHECK_EQ(redlock_start_adopt(&rl, &lock, "r", TTL, given.value), REDLOCK_INVALID);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  check_adopted();
}

/* As a process does that resumes its own lock: the struct is overwritten, the value is read
   first. */
TEST(a_lock_adopts_itself) { /* R28 */
  char first[20];
  world_with_lock(3, TTL);
  memcpy(first, lock.value, sizeof first);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", TTL, lock.value), REDLOCK_OK);
  CHECK(memcmp(first, lock.value, sizeof first) != 0);
  check_adopted();
}

TEST(an_adopted_lock_is_kept_and_its_hold_counts_anew) { /* R28 R20 */
  prepare(3);
  options.max_hold_ms = 2 * TTL;
  ready_and_warm();
  give();
  fake_sleep(&fake, TTL - 1000);
  CHECK_EQ(adopt(), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(2 * TTL - 1000);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  run_for(2000);
  CHECK_EQ(lock.status, REDLOCK_LIMIT);
}

/* Where room is short it waits in line with its value. */
TEST(an_adoption_waits_in_the_queue) { /* R28 R11 */
  static redlock_lock many[2 * REDLOCK_MAX_COMMANDS];
  int i;
  given_world(3);
  for (i = 0; i < 2 * REDLOCK_MAX_COMMANDS; i++)
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), TTL, 0), REDLOCK_PENDING);
  start();
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  check_adopted();
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

#ifndef REDLOCK_NO_FENCING

static void fenced_world(int count) {
  prepare(count);
  options.max_ttl_ms = 2 * TTL;
  options.fencing = 1;
  ready();
}

static void fenced_given_world(int count) {
  fenced_world(count);
  warm();
  give();
}

/* The first of a client asks for the clocks before, and changes nothing by that. */
TEST(an_adopted_locks_token_is_greater) { /* R28 R25 */
  int first;
  for (first = 0; first < 2; first++) {
    fenced_world(3);
    if (!first) warm();
    give();
    CHECK_EQ(adopt(), REDLOCK_OK);
    CHECK(lock.token > given.token && given.token > 0);
    CHECK_EQ(sets(0), 1 + first);
    CHECK_EQ(redlock_adopt(&rl, &other, "r", TTL, given.value), REDLOCK_TAKEN);
    CHECK_EQ(other.token, 0);
    check_adopted();
  }
}

/* One of five never had it, and two are slow: the near ones do not decide. */
TEST(a_minority_does_not_decide_the_first_of_a_client) { /* R16 R28 R25 */
  int never, slow;
  for (never = 0; never < 5; never++)
    for (slow = 0; slow < 5; slow++) {
      fenced_world(5);
      give();
      forget_key(never, never, "r");
      fake.server[slow].reply_ms = 4;
      fake.server[(slow + 1) % 5].reply_ms = 3;
      CHECK_EQ(adopt(), REDLOCK_OK);
    }
}

/* What a minority says, beside servers that say nothing of it, proves nothing. */
TEST(taken_is_what_a_majority_says) { /* R23 R28 */
  int gone;
  for (gone = 0; gone <= 3; gone++) {
    fenced_given_world(5);
    forget_key(0, gone - 1, "r");
    take_away(3, 4);
    CHECK_EQ(adopt(), gone == 0 ? REDLOCK_OK : gone < 3 ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN);
  }
}

/* Servers first to last have seen a token that is so much greater. */
static void raise_counters(int first, int last, uint64_t by) {
  char text[24];
  int i;
  snprintf(text, sizeof text, "%llu", (unsigned long long)(given.token + by));
  for (i = first; i <= last; i++) fake_put(&fake, i, "r:fence", text, 2 * TTL);
}

/* One had set it already, and rolls back: the others grant the second round. */
TEST(a_low_token_is_raised_at_once) { /* R28 R25 */
  fenced_given_world(5);
  raise_counters(1, 4, 3000000);
  CHECK_EQ(adopt(), REDLOCK_OK);
  CHECK_EQ(sets(1), 2);
  CHECK_EQ(lock.token, given.token + 3000001);
  run_for(5);
  CHECK_EQ(hold_value(&lock), 4);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* No token fits, of whatever round; but the lock is there, and a later attempt may have it. */
TEST(refused_tokens_do_not_say_that_it_is_taken) { /* R28 R23 R25 */
  fenced_given_world(3);
  raise_counters(0, 2, 2 * TTL * 500);
  CHECK_EQ(adopt(), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_LOW);
  CHECK_EQ(hold_value(&given), 3);
  run_for(TTL / 2 + TTL / 4); /* within what a proposal follows (R16) */
  CHECK_EQ(adopt(), REDLOCK_OK);
}

#endif
