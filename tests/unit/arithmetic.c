/* arithmetic.c: validity, drift, waits and the clock, at the ends of their ranges (R1 R2 R9). */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check_main.h"
#include "../inside.h"
#include "recording_io.h"

enum { VALID_10_S = 10000 - 100 - 2 - 1 }; /* ms that an acquire of 10 s has, if it takes none */

static redlock rl;
static redlock_lock lock;
static redlock_options options;

static void prepare(void) {
  wire_reset();
  memset(&options, 0, sizeof options);
  options.io = &wire.io;
}

static redlock_status init(void) { return redlock_init(&rl, "a", &options); }

static void begin(void) {
  prepare();
  CHECK_EQ(init(), REDLOCK_OK);
}

static redlock_status acquire(uint32_t ttl_ms) {
  return redlock_acquire(&rl, &lock, "r", ttl_ms, 0);
}

/* ---- Validity and drift (R1) ----------------------------------------------------------------- */

static void begin_with_drift(uint32_t ppm) {
  prepare();
  options.drift_ppm = ppm;
  CHECK_EQ(init(), REDLOCK_OK);
}

/* An acquire that takes no time has all of the validity, one that could have none is refused. */
static void ttl_is_good_for(uint32_t ttl_ms, int64_t valid_ms) {
  int good = CHECK_EQ(acquire(ttl_ms), valid_ms > 0 ? REDLOCK_OK : REDLOCK_INVALID);
  if (valid_ms > 0) {
    good &= CHECK_EQ(redlock_remaining_ms(&rl, &lock), valid_ms);
    good &= CHECK_EQ(redlock_extend(&rl, &lock, ttl_ms), REDLOCK_OK);
    good &= CHECK_EQ(redlock_remaining_ms(&rl, &lock), valid_ms);
    good &= CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  }
  if (!good) printf("    with ttl %lu\n", (unsigned long)ttl_ms);
  wire_forget(0);
}

/* By hand: the ttl, less the drift, less 2, less the millisecond by which elapsed time is rounded
   up. tests/prove has every ttl with every drift. */
TEST(validity_by_hand) {
  static const struct { uint32_t ppm, ttl_ms; int64_t valid_ms; } row[] = {
      {0, 0, 0}, {0, 4, 4 - 1 - 2 - 1}, {0, 5, 1}, {0, 100, 96}, {0, 101, 101 - 2 - 3},
      {0, UINT32_MAX, INT64_C(4294967295) - 42949673 - 3},
      {1, 1000000, 1000000 - 1 - 3}, {1, 1000001, 1000001 - 2 - 3},
      {1, UINT32_MAX, INT64_C(4294967295) - 4295 - 3},
      {153900, 10000, 10000 - 1539 - 3}, {500000, 8, 1}, {500000, 7, 0},
      {999999, 3000000, 0}, {999999, 3000001, 0}, {999999, 4000000, 1},
      {999999, UINT32_MAX, 4294 - 3}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof row[0]; i++) {
    begin_with_drift(row[i].ppm);
    ttl_is_good_for(row[i].ttl_ms, row[i].valid_ms);
  }
}

TEST(drift_of_all_the_ttl_is_refused) {
  static const uint32_t ppm[] = { 1000000, 1000001, UINT32_MAX };
  size_t i;
  for (i = 0; i < sizeof ppm / sizeof ppm[0]; i++) {
    prepare();
    options.drift_ppm = ppm[i];
    CHECK_EQ(init(), REDLOCK_INVALID);
  }
}

TEST(elapsed_time_is_taken_off) {
  begin();
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_PENDING);
  CHECK(redlock_step(&rl) == NULL); /* it is sent, the answer is there for the next */
  wire.now_ms += 37;
  CHECK(redlock_step(&rl) == &lock);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID_10_S - 37);
  wire.now_ms += VALID_10_S - 38;
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 1);
  wire.now_ms++;
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  wire.now_ms = INT64_C(1) << 60;
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
}

/* ---- The clock ------------------------------------------------------------------------------- */

TEST(a_clock_at_zero_is_good) {
  prepare();
  wire.now_ms = 0;
  CHECK_EQ(init(), REDLOCK_OK);
  ttl_is_good_for(5, 1);
  ttl_is_good_for(10000, VALID_10_S);
  CHECK_EQ(wire.now_ms, 0);
}

TEST(a_clock_that_fails_is_told) {
  prepare();
  wire.now_ms = -1;
  CHECK_EQ(init(), REDLOCK_SYSTEM);
  CHECK_EQ(acquire(1000), REDLOCK_INVALID); /* there is no client */
  wire.now_ms = INT64_MIN;
  CHECK_EQ(init(), REDLOCK_SYSTEM);
}

/* The clock of a client that holds a lock, asks for one and keeps one runs off. */
TEST(a_clock_that_fails_later_is_told) {
  static const int64_t bad[] = { -1, INT64_MAX / 2 };
  redlock_lock held, asked, kept;
  size_t i;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    begin();
    CHECK_EQ(redlock_acquire(&rl, &held, "held", 10000, 0), REDLOCK_OK);
    CHECK_EQ(redlock_acquire(&rl, &kept, "kept", 10000, 0), REDLOCK_OK);
    CHECK_EQ(redlock_keep(&rl, &kept, 0), REDLOCK_OK);
    CHECK_EQ(redlock_start_acquire(&rl, &asked, "asked", 10000, REDLOCK_FOREVER), REDLOCK_PENDING);
    wire.now_ms = bad[i];
    CHECK_EQ(redlock_remaining_ms(&rl, &held), 0);
    CHECK_EQ(redlock_extend(&rl, &held, 10000), REDLOCK_SYSTEM);
    CHECK_EQ(acquire(10000), REDLOCK_SYSTEM);
    CHECK(redlock_step(&rl) != NULL);
    CHECK(redlock_step(&rl) != NULL);
    CHECK(redlock_step(&rl) == NULL);
    CHECK_EQ(asked.status, REDLOCK_SYSTEM);
    CHECK_EQ(kept.status, REDLOCK_SYSTEM);
    CHECK_EQ(kept.operation, REDLOCK_LOST);
  }
}

/* A lock asked for at the clock's first millisecond lingers at the last one that is let through: an
   overflow is seen by a build with sanitizers. */
TEST(twice_the_latest_time_fits) { /* R7 */
  prepare();
  wire.now_ms = INT64_MAX / 2;
  CHECK_EQ(init(), REDLOCK_SYSTEM);
  wire.now_ms--;
  CHECK_EQ(init(), REDLOCK_OK);
  CHECK_EQ(inside_fails_at_ms(&rl), 2 * (INT64_MAX / 2 - 1) + 2);
}

/* All that one label is on may be told at once: what differs is behind it. */
TEST(luck_is_not_in_the_label) { /* R26 R3 */
  unsigned char value[20] = {0};
  prepare();
  wire.now_ms = 9001;
  CHECK_EQ(init(), REDLOCK_OK);
  memset(value, 0x7f, 8);
  CHECK_EQ(inside_age_ms(&rl, 1001, value), 8000);
  memset(value + 8, 0x7f, 12);
  CHECK_EQ(inside_age_ms(&rl, 1001, value), 8000 + 8000 * 127 / 512);
}

/* As late as it may be, with the largest of everything that is added to it. */
TEST(a_late_clock_has_room_for_all_that_is_added) {
  prepare();
  wire.now_ms = INT64_C(1) << 60;
  options.server_timeout_ms = UINT32_MAX;
  options.retry_delay_min_ms = options.retry_delay_max_ms = UINT32_MAX;
  options.max_hold_ms = UINT32_MAX;
  CHECK_EQ(init(), REDLOCK_OK);
  ttl_is_good_for(UINT32_MAX, INT64_C(4294967295) - 42949673 - 3);
  wire.set = "$-1\r\n";
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", UINT32_MAX, UINT32_MAX - 1), REDLOCK_TAKEN);
  CHECK(wire.now_ms - (INT64_C(1) << 60) <= INT64_C(2) * UINT32_MAX);
}

/* ---- Waiting and back-off (R9) --------------------------------------------------------------- */

/* How long a client backs off after its first attempt, when its entropy is `random` all over. */
static int64_t back_off_ms(uint32_t min_ms, uint32_t max_ms, unsigned char random) {
  int64_t start;
  prepare();
  options.retry_delay_min_ms = min_ms;
  options.retry_delay_max_ms = max_ms;
  options.max_attempts = 2;
  wire.entropy = random;
  wire.entropy_stays = 1;
  wire.set = "$-1\r\n";
  if (!CHECK_EQ(init(), REDLOCK_OK)) return -1;
  start = wire.now_ms;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_TAKEN);
  CHECK_EQ(wire.sets, 2);
  return wire.set_at_ms - start;
}

static void back_offs_are_in_their_range(uint32_t min_ms, uint32_t max_ms) {
  CHECK_EQ(back_off_ms(min_ms, max_ms, 0x00), min_ms);
  CHECK_EQ(back_off_ms(min_ms, max_ms, 0xff), max_ms);
}

TEST(back_offs_reach_both_ends_of_their_range) {
  back_offs_are_in_their_range(1, 2);
  back_offs_are_in_their_range(100, 200);
  back_offs_are_in_their_range(UINT32_MAX, UINT32_MAX);
}

TEST(a_back_off_in_the_middle_is_in_the_middle) {
  CHECK_EQ(back_off_ms(100, 299, 0x80), 200);
  CHECK_EQ(back_off_ms(1, UINT32_MAX, 0x80) >> 24, 0x80);
}

TEST(back_offs_have_defaults) {
  CHECK_EQ(back_off_ms(0, 0, 0x00), 1);
  CHECK_EQ(back_off_ms(0, 0, 0xff), 1 + 12);
  CHECK_EQ(back_off_ms(0, 5000, 0x00), 1);
  CHECK_EQ(back_off_ms(0, 5000, 0xff), 1 + 12);
  CHECK_EQ(back_off_ms(50, 0, 0x00), 50);
  CHECK_EQ(back_off_ms(50, 0, 0xff), 200);
}

/* One end alone is given, near or on the far side of the other's default. */
TEST(one_end_of_the_range_is_never_passed) {
  uint32_t max_ms;
  for (max_ms = 1; max_ms <= 5; max_ms++) {
    CHECK(back_off_ms(0, max_ms, 0xff) <= max_ms);
    CHECK_EQ(back_off_ms(0, max_ms, 0x00), 1);
  }
  CHECK_EQ(back_off_ms(0, UINT32_MAX, 0xff), 1 + 12);
  CHECK_EQ(back_off_ms(201, 0, 0xff), 201);
  CHECK(back_off_ms(1000, 0, 0x00) >= 1000);
  CHECK(back_off_ms(1000, 0, 0xff) >= 1000);
}

TEST(a_range_upside_down_is_refused) {
  prepare();
  options.retry_delay_min_ms = 2;
  options.retry_delay_max_ms = 1;
  CHECK_EQ(init(), REDLOCK_INVALID);
  options.retry_delay_min_ms = UINT32_MAX;
  options.retry_delay_max_ms = UINT32_MAX - 1;
  CHECK_EQ(init(), REDLOCK_INVALID);
}

static int64_t wait_ms(uint32_t wait) {
  int64_t start = wire.now_ms;
  wire.sets = 0;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, wait), REDLOCK_TAKEN);
  wire_forget(0);
  return wire.now_ms - start;
}

static void begin_taken(void) {
  begin();
  wire.set = "$-1\r\n";
}

TEST(a_wait_ends_with_its_last_attempt) {
  uint32_t wait;
  begin_taken();
  options.retry_delay_min_ms = 100;
  CHECK_EQ(init(), REDLOCK_OK);
  for (wait = 1; wait < 1000; wait += 13) {
    int64_t took = wait_ms(wait);
    CHECK(took <= wait + 50);
    CHECK(took + 200 >= wait);
    CHECK(wire.sets >= 2 && wire.sets <= 2 + (long)wait / 100);
  }
}

TEST(forever_is_longer_than_any_wait) {
  int turn;
  begin_taken();
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_PENDING);
  wire.now_ms += INT64_C(3) * UINT32_MAX;
  CHECK(redlock_wait(&rl, 1000) == NULL);
  wire.now_ms += INT64_C(3) * UINT32_MAX;
  CHECK(redlock_wait(&rl, 1000) == NULL);
  wire.set = "+OK\r\n";
  for (turn = 0; turn < 100 && redlock_wait(&rl, 1000) != &lock; turn++) { }
  CHECK_EQ(lock.status, REDLOCK_OK);
}

TEST(the_longest_wait_ends) {
  begin_taken();
  options.retry_delay_min_ms = options.retry_delay_max_ms = 100000000;
  CHECK_EQ(init(), REDLOCK_OK);
  CHECK(wait_ms(UINT32_MAX - 1) <= INT64_C(4294967294) + 50);
  CHECK(wire.sets >= 42);
}
