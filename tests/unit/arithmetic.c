/* arithmetic.c: validity, waits and the clock, by a few examples at the ends of their ranges (R1 R2
 * R9). tests/prove looks at every value. */
#include "client.h"

/* ---- Validity and drift (R1) ----------------------------------------------------------------- */

/* By hand: the ttl, less the drift, less 2, less the millisecond by which elapsed time is rounded
   up. An acquire that takes no time has all of it; one that could have none is refused. */
TEST(a_validity_is_what_a_pencil_says) {
  static const struct { uint32_t ppm, ttl_ms; int64_t valid_ms; } row[] = {
      {0, 0, 0}, {0, 4, 4 - 1 - 2 - 1}, {0, 5, 1}, {0, 101, 101 - 2 - 3},
      {0, UINT32_MAX, INT64_C(4294967295) - 42949673 - 3}, {1, 1000001, 1000001 - 2 - 3},
      {153900, 10000, 10000 - 1539 - 3}, {999999, 3000001, 0}, {999999, 4000000, 1}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof row[0]; i++) {
    prepare();
    options.drift_ppm = row[i].ppm;
    ready("a");
    CHECK_EQ(acquire(row[i].ttl_ms), row[i].valid_ms ? REDLOCK_OK : REDLOCK_INVALID);
    if (!CHECK_EQ(redlock_remaining_ms(&rl, &lock), row[i].valid_ms)) printf("    row %zu\n", i);
    memset(&lock, 0, sizeof lock);
  }
}

/* ---- The clock (R2) -------------------------------------------------------------------------- */

TEST(a_clock_is_good_from_zero_to_half_of_what_there_is) {
  static const struct { int64_t now_ms; redlock_status want; } row[] = {
      {0, REDLOCK_OK}, {INT64_MAX / 2 - 1, REDLOCK_OK}, {-1, REDLOCK_SYSTEM},
      {INT64_MAX / 2, REDLOCK_SYSTEM}, {INT64_MIN, REDLOCK_SYSTEM}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof row[0]; i++) {
    prepare();
    wire.now_ms = row[i].now_ms;
    CHECK_EQ(init("a"), row[i].want);
    CHECK_EQ(acquire(1000), row[i].want == REDLOCK_OK ? REDLOCK_OK : REDLOCK_INVALID);
  }
}

/* The clock of a client that holds a lock, asks for one and keeps one runs off. */
TEST(a_clock_that_fails_later_is_told) {
  static const int64_t bad[] = { -1, INT64_MAX / 2 };
  redlock_lock held, asked, kept;
  size_t i;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    begin("a");
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

/* ---- Ages (R26) ------------------------------------------------------------------------------ */

/* All that one label is on may be told at once: what differs is behind it. */
TEST(luck_is_not_in_the_label) { /* R26 R3 */
  unsigned char value[20] = {0};
  uint32_t age;
  prepare();
  wire.now_ms = 9001;
  ready("a");
  age = inside_age_ms(&rl, 1001, value);
  CHECK_EQ(age, 8001);
  memset(value, 0x7f, 8);
  CHECK_EQ(inside_age_ms(&rl, 1001, value), age);
  memset(value + 8, 0x7f, 12);
  CHECK(inside_age_ms(&rl, 1001, value) > age);
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
  if (!CHECK_EQ(init("a"), REDLOCK_OK)) return -1;
  start = wire.now_ms;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_TAKEN);
  CHECK_EQ(wire.sets, 2);
  return wire.set_at_ms - start;
}

/* From the least number that can be drawn to the greatest; 0 = the default of that end. */
TEST(back_offs_reach_both_ends_of_their_range) {
  static const struct { uint32_t min_ms, max_ms; int64_t least_ms, most_ms; } row[] = {
      {1, 2, 1, 2}, {100, 299, 100, 299}, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
      {0, 0, 1, 13}, {0, 5000, 1, 13}, {0, UINT32_MAX, 1, 13}, {0, 1, 1, 1}, {50, 0, 50, 200},
      {201, 0, 201, 201}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof row[0]; i++) {
    CHECK_EQ(back_off_ms(row[i].min_ms, row[i].max_ms, 0x00), row[i].least_ms);
    CHECK_EQ(back_off_ms(row[i].min_ms, row[i].max_ms, 0xff), row[i].most_ms);
  }
  CHECK_EQ(back_off_ms(100, 299, 0x80), 200);
}

static void begin_taken(uint32_t every_ms) {
  prepare();
  wire.set = "$-1\r\n";
  options.retry_delay_min_ms = options.retry_delay_max_ms = every_ms;
  ready("a");
}

TEST(forever_is_longer_than_any_wait) {
  int turn;
  begin_taken(0);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_PENDING);
  wire.now_ms += INT64_C(3) * UINT32_MAX;
  CHECK(redlock_wait(&rl, 1000) == NULL);
  wire.set = "+OK\r\n";
  for (turn = 0; turn < 100 && redlock_wait(&rl, 1000) != &lock; turn++) { }
  CHECK_EQ(lock.status, REDLOCK_OK);
}

TEST(the_longest_wait_ends) {
  int64_t start;
  begin_taken(100000000);
  start = wire.now_ms;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, UINT32_MAX - 1), REDLOCK_TAKEN);
  CHECK(wire.now_ms - start <= INT64_C(4294967294) + 50);
  CHECK(wire.sets >= 42);
}
