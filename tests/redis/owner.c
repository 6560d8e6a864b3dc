/* owner.c: whose key it is: extensions and releases touch their own value alone. */
#include "real.h"

enum { N = 3 };

static redlock rl;
static redlock_lock lock;

/* Every test begins with an empty set of three and, where it says so, a held lock. */
static void begin(void) {
  servers_heal(&real);
  real_open(&rl, N, REAL_PATIENT_MS);
}

static void begin_held(void) {
  begin();
  real_hold(&rl, &lock, N, "r");
}

static void check_others(int count, const char *value) {
  int i;
  for (i = 0; i < count; i++) CHECK(strcmp(server_command(&real.at[i], "GET r"), value) == 0);
}

/* R18 R19 */
TEST(extend_refuses_foreign_key) {
  begin_held();
  servers_command(&real, N, "SET r other PX 5000");
  CHECK_EQ(redlock_extend(&rl, &lock, 10 * REAL_TTL_MS), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  check_others(N, "other");
  CHECK(server_number(&real.at[0], "PTTL r") <= 5000);
  redlock_close(&rl);
}

/* R18 R19 */
TEST(extend_refuses_missing_key) {
  begin_held();
  servers_command(&real, N, "DEL r");
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  redlock_close(&rl);
  CHECK_EQ(real_keys(N, "r"), 0);
}

/* R19: what is lost on a minority is not created again */
TEST(extend_creates_no_key_in_a_minority) {
  begin_held();
  servers_command(&real, 1, "DEL r");
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  check_others(1, "(nil)");
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
}

/* R19 R22: others unlock, or delete a valid lock */
TEST(failed_extend_keeps_the_lock) {
  begin_held();
  redlock_close(&rl);
  real_open(&rl, N, 100);
  real_hold(&rl, &lock, N, "s");
  servers_freeze(&real, 2);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_NO_QUORUM);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  server_thaw(&real.at[0]);
  server_thaw(&real.at[1]);
  CHECK_EQ(real_keys(N, "s"), N);
  redlock_release(&rl, &lock);
  CHECK_EQ(real_keys_settle(&rl, N, "s", 0), 0);
  redlock_close(&rl);
}

/* R21: others retry it and then throw over the caller's result */
TEST(release_of_expired_lock_is_calm) {
  redlock_status status;
  begin();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 300, REAL_WAIT_MS), REDLOCK_OK);
  real_await_end(&rl, &lock);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  servers_command(&real, N, "SET r other");
  status = redlock_release(&rl, &lock);
  CHECK(status == REDLOCK_EXPIRED || status == REDLOCK_INVALID);
  check_others(N, "other");
  redlock_close(&rl);
}

/* R21 */
TEST(release_spares_a_foreign_key) {
  begin_held();
  servers_command(&real, N, "SET r other");
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  check_others(N, "other");
  redlock_close(&rl);
}

/* R21 */
TEST(release_of_a_lock_lost_in_a_minority_is_ok) {
  begin_held();
  servers_command(&real, 1, "SET r other");
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 1), 1);
  check_others(1, "other");
  redlock_close(&rl);
}

/* R7: others lack the roll-back and are refused by their own key */
TEST(no_attempt_blocks_the_next) {
  int i;
  begin();
  servers_command(&real, 2, "SET r other");
  for (i = 0; i < 20; i++) CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0),
                                    REDLOCK_TAKEN);
  servers_command(&real, 2, "DEL r");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  real_release(&rl, &lock, N, "r");
  redlock_close(&rl);
}

/* R7: others skip the roll-back when the caller gives up */
TEST(cancelled_acquire_leaves_no_keys) {
  int i;
  begin();
  for (i = 0; i < 20; i++) {
    CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_PENDING);
    if (i % 2) redlock_step(&rl);
    CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
    CHECK(redlock_wait(&rl, 1) == NULL);
  }
  CHECK_EQ(redlock_acquire(&rl, &lock, "after", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  redlock_close(&rl);
}

/* R3 */
TEST(each_value_is_new_and_of_20_bytes) {
  char first[64];
  begin_held();
  CHECK_EQ(server_number(&real.at[0], "STRLEN r"), 20);
  snprintf(first, sizeof first, "%s", server_command(&real.at[0],
           "EVAL \"return redis.sha1hex(redis.call('get', KEYS[1]))\" 1 r"));
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  real_hold(&rl, &lock, N, "r");
  CHECK(strlen(first) == 40 && strcmp(first, server_command(&real.at[0],
        "EVAL \"return redis.sha1hex(redis.call('get', KEYS[1]))\" 1 r")) != 0);
  redlock_close(&rl);
}

/* R9: others send hundreds of SETs a second whatever the delay is. A slow machine sends fewer. */
TEST(retry_delay_is_kept) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  long attempts;
  servers_heal(&real);
  servers_command(&real, N, "SET r other");
  servers_command(&real, N, "CONFIG RESETSTAT");
  options.retry_delay_min_ms = 200;
  options.retry_delay_max_ms = 300;
  real_open_with(&rl, N, options);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 1000), REDLOCK_TAKEN);
  redlock_close(&rl);
  attempts = server_info(&real.at[0], "cmdstat_set:calls=") +
             server_info(&real.at[0], "cmdstat_get:calls="); /* the first is plain */
  CHECK(attempts >= 2 && attempts <= 1 + 1000 / 200);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
