/* keep.c: locks that are extended from redlock_wait alone. */
#include "real.h"

enum { N = 3, TTL_MS = 300, SLICE_MS = 20, PAUSE_MS = TTL_MS / 4, TRIES = 12 };

static redlock rl;
static redlock_lock lock;
static int paused; /* this process stood still for so long that it may lose the lock by right */

/* Failures of a test that was held up by the machine say nothing: it is tried again. */
static void calmly(void (*scene)(void)) {
  int tries, bad = check.bad;
  for (tries = 0; tries < TRIES; tries++) {
    check.bad = bad;
    paused = 0;
    scene();
    if (check.bad == bad || !paused) return;
    printf("    the machine stood still: once more\n");
  }
}

static void begin_kept(uint32_t max_hold_ms) {
  servers_heal(&real);
  real_open(&rl, N, 100);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, max_hold_ms), REDLOCK_OK);
}

/* Steps for so long; the lock if it was returned in that time. */
static redlock_lock *step_for(int64_t ms) {
  int64_t start = timing_ms(), last = start, now = start;
  redlock_lock *back = NULL;
  while (!back && now < start + ms) {
    back = redlock_wait(&rl, SLICE_MS);
    now = timing_ms();
    if (now - last > PAUSE_MS) paused = 1;
    last = now;
  }
  return back;
}

/* R18 R20 */
static void scene_outlives(void) {
  redlock other;
  redlock_lock wanted;
  begin_kept(0);
  CHECK(step_for(4 * TTL_MS) == NULL);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  real_open(&other, N, 100);
  CHECK_EQ(redlock_acquire(&other, &wanted, "r", TTL_MS, 0), REDLOCK_TAKEN);
  redlock_close(&other);
  real_release(&rl, &lock, N, "r");
  CHECK(step_for(TTL_MS) == NULL);
  redlock_close(&rl);
}

/* R16 R18 */
static void scene_minority(void) {
  begin_kept(0);
  server_kill(&real.at[0]);
  CHECK(step_for(3 * TTL_MS) == NULL);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  redlock_release(&rl, &lock);
  redlock_close(&rl);
}

static void check_lost(redlock_status status) {
  redlock_lock *back = step_for(REAL_WAIT_MS);
  if (!CHECK(back == &lock)) return;
  CHECK_EQ(lock.operation, REDLOCK_LOST);
  CHECK_EQ(lock.status, status);
}

/* R19 R20 */
static void scene_majority(void) {
  begin_kept(0);
  CHECK(step_for(TTL_MS) == NULL);
  servers_kill(&real, 2);
  check_lost(REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK(step_for(TTL_MS) == NULL); /* and once only */
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  redlock_close(&rl);
}

/* R19: it is proved gone, so nobody waits for the deadline */
static void scene_keys_gone(void) {
  int i;
  begin_kept(0);
  CHECK(step_for(TTL_MS) == NULL);
  servers_command(&real, N, "SET r other");
  check_lost(REDLOCK_EXPIRED);
  for (i = 0; i < N; i++) CHECK(strcmp(server_command(&real.at[i], "GET r"), "other") == 0);
  redlock_close(&rl);
}

/* R20 */
static void scene_limit(void) {
  int64_t start = timing_ms(), held_ms;
  begin_kept(3 * TTL_MS);
  check_lost(REDLOCK_LIMIT);
  held_ms = timing_ms() - start;
  CHECK(held_ms >= TTL_MS); /* it was extended, else it would be EXPIRED here */
  redlock_release(&rl, &lock);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  redlock_close(&rl);
}

/* R20: an extension is cut to what the limit leaves */
TEST(no_extension_passes_the_limit) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  servers_heal(&real);
  options.max_hold_ms = 2 * REAL_TTL_MS;
  real_open_with(&rl, N, options);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, 5 * REAL_TTL_MS), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > REAL_TTL_MS);
  CHECK(redlock_remaining_ms(&rl, &lock) <= 2 * REAL_TTL_MS);
  CHECK(server_number(&real.at[0], "PTTL r") <= 2 * REAL_TTL_MS);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
}

TEST(kept_lock_outlives_its_ttl) { calmly(scene_outlives); }

TEST(kept_lock_bears_a_lost_minority) { calmly(scene_minority); }

TEST(kept_lock_is_returned_when_a_majority_is_killed) { calmly(scene_majority); }

TEST(kept_lock_is_returned_when_its_keys_are_gone) { calmly(scene_keys_gone); }

TEST(kept_lock_ends_at_its_limit) { calmly(scene_limit); }

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
