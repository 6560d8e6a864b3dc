/* bugs_of_other_libraries.c: what other Redlock clients get wrong, and the test that fails on a
 * client with that bug. The bugs were read in their sources, many of them reproduced. Those that no
 * other test is about have theirs here. */
#include "fixture.h"

/* program: of tests, NULL = this one. */
static const struct bug {
  const char *library, *bug, *program, *test;
} bugs[] = {
    {"node-redlock", "with an even number, two clients that have half each never come apart",
     "redis/sizes", "two_clients_at_once_both_get_it"},
    {"node-redlock", "of an even number, half is enough",
     "fake/acquire", "quorum_is_a_majority_of_the_configured"},
    {"node-redlock", "the validity is not checked before the lock is returned",
     "fake/acquire", "nothing_left_is_expired_and_rolled_back"},
    {"node-redlock", "its own keys block its retries",
     "fake/rollback", "each_retry_is_rolled_back_with_its_own_value"},
    {"node-redlock", "the release of an expired lock is retried, and throws",
     "fake/release", "an_expired_lock_is_told_so_once"},
    {"redlock-cs", "the validity counts by the wall clock",
     "fake/posix", "the_clock_counts_suspend_and_is_not_the_wall"},
    {"redis++", "extends a foreign key", NULL, "a_lost_lock_stays_lost_and_anothers_key_as_it_is"},
    {"redis++", "extends a missing key", "fake/which_status", "extend_every_combination"},
    {"redis++", "rolls back with the key's name as the token",
     "fake/rollback", "a_taken_lock_is_rolled_back_where_it_may_be_set"},
    {"redis++", "one dead server of three: no lock",
     "fake/which_status", "acquire_every_combination"},
    {"redis++", "the retry delay has no effect: 358 SETs a second at 500 ms",
     "fake/retry", "back_offs_lie_in_the_range_and_differ"},
    {"redis++", "a token of a 32-bit seed", "fake/acquire", "the_value_is_all_of_the_entropy"},
    {"redsync", "a cancelled acquire is not rolled back",
     "fake/rollback", "a_cancelled_attempt_is_rolled_back"},
    {"redsync", "the roll-back may overtake the SET",
     "fake/rollback", "a_frozen_server_runs_the_set_then_the_release"},
    {"redsync", "an extension has no time-out", "fake/which_status", "extend_every_combination"},
    {"redsync", "a release has no time-out",
     "fake/release", "hung_servers_do_not_hold_a_release_up"},
    {"Redisson", "each retry multiplies the ttl: 10 s, 2.7 h, 115 days",
     NULL, "retries_and_extensions_keep_the_ttl"},
    {"Redisson", "the time that has passed is not taken off",
     "fake/acquire", "one_millisecond_left_is_a_grant"},
    {"Redisson", "held only if all servers say so",
     "fake/which_status", "extend_every_combination"},
    {"redlock-py", "a quorum and one dead server: throws, and leaves its keys",
     "redis/sizes", "a_killed_minority_changes_nothing"},
    {"redlock-rs", "the validity goes below 0: 1.8e19 ms",
     "fake/acquire", "suspended_at_the_last_reply_is_expired"},
    {"redlock-rs", "one error ends the attempt, and its keys stay",
     NULL, "an_attempt_with_an_error_is_rolled_back"},
    {"rslock", "a failed extension releases",
     "fake/extend", "a_failed_extension_changes_nothing_and_can_be_repeated"},
    {"rslock", "the validity of a short ttl goes below 0", "fake/acquire", "drift_is_rounded_up"},
    {"redlock-php", "the quorum in floating point: 3 of 3, 4 of 5",
     "fake/acquire", "quorum_is_a_majority_of_the_configured"},
    {"redlock-php", "a token of the time: two alike in one millisecond",
     "fake/acquire", "the_value_is_all_of_the_entropy"},
    {"distlock", "an extension takes another's lock over",
     "fake/extend", "an_extension_after_the_deadline_is_refused"},
    {"distlock", "nothing is rolled back",
     "fake/rollback", "a_taken_lock_is_rolled_back_where_it_may_be_set"},
    {"distlock", "forked children draw equal tokens",
     "fake/acquire", "each_attempt_draws_a_fresh_value"},
    {"redlock-cpp", "long ttls overflow an int", "fake/acquire", "drift_is_rounded_up"},
    {"redlock-cpp", "a clock of whole seconds", "fake/acquire", "one_millisecond_left_is_a_grant"},
    {"redlock-cpp", "commands have no time-out",
     "fake/connection", "black_holes_end_at_the_timeout"},
    {"redlock-cpp", "one token for all resources",
     "fake/acquire", "each_attempt_draws_a_fresh_value"},
    {"RedLock.net", "an extension creates missing keys",
     "fake/extend", "two_of_five_gone_is_not_proved"},
    {"RedLock.net", "a lost lock is extended, and held again",
     NULL, "a_lost_lock_stays_lost_and_anothers_key_as_it_is"},

    {"RedLock.net", "held, whatever the time",
     "fake/extend", "an_extension_after_the_deadline_is_refused"},
    {"redlock-rb", "a failed extension deletes",
     "fake/extend", "a_failed_extension_changes_nothing_and_can_be_repeated"},
    {"Pottery", "tells more time than the keys have left",
     "fake/hooks", "a_grant_never_outlives_its_keys"},
    {"Pottery", "a SET that is late comes after the release",
     "fake/connection", "a_slow_server_gets_no_set_that_was_released"},
    {"aioredlock", "its watchdog ends with the first extension that fails",
     "fake/keep", "a_short_outage_is_survived"},
    {"aioredlock", "locked, whoever the owner is",
     "fake/which_status", "acquire_every_combination"},
    {"all of them", "trust a server that has forgotten",
     "fake/quarantine", "a_restarted_majority_grants_nothing"},
};

TEST(a_lost_lock_stays_lost_and_anothers_key_as_it_is) { /* R18 R19 R22 */
  int i;
  world_with_lock(3, 10000);
  run_for(2);
  forget_key(0, 2, "r");
  occupy(0, 2, "r", 100);
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_EXPIRED);
  CHECK(redlock_extend(&rl, &lock, 10000) != REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK(keys_are(0, 2, "r", "foreign"));
  for (i = 0; i < 3; i++) CHECK(fake_pttl(&fake, i, "r") <= 100);
}

TEST(retries_and_extensions_keep_the_ttl) { /* R1 R18 */
  int k;
  prepare(3);
  options.max_attempts = 4;
  ready_and_warm();
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 9, "-LOADING\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, REDLOCK_FOREVER), REDLOCK_OK);
  for (k = 0; k < 4; k++) CHECK_EQ(fake_nth(&fake, 0, FAKE_SET, k)->ttl_ms, 10000);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(10000) - 1);
  for (k = 0; k < 4; k++) CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(10000) - 1);
}

TEST(an_attempt_with_an_error_is_rolled_back) { /* R7 */
  world(5);
  fake_answer(&fake, 1, FAKE_SET, 1, "-LOADING\r\n");
  take_and_release("r", 60000);
  occupy(2, 3, "s", 60000);
  fake_answer(&fake, 1, FAKE_SET, 1, "-LOADING\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "s", 60000, 0), REDLOCK_TAKEN);
  run_for(5);
  CHECK_EQ(fake_live_keys(&fake), 2);
}

/* Whether a line of the file begins with the text. */
static int has_line(const char *path, const char *text) {
  char line[256];
  int found = 0;
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  while (!found && fgets(line, sizeof line, file)) found = !strncmp(line, text, strlen(text));
  fclose(file);
  return found;
}

TEST(each_bug_has_its_test) { /* in the folder that the tests are run from, the repository's */
  size_t i;
  for (i = 0; i < sizeof bugs / sizeof *bugs; i++) {
    char path[64], head[128];
    const char *program = bugs[i].program ? bugs[i].program : "fake/bugs_of_other_libraries";
    snprintf(path, sizeof path, "tests/%s.c", program);
    snprintf(head, sizeof head, "TEST(%s)", bugs[i].test);
    if (!CHECK(has_line(path, head)))
      printf("    %s has no %s (%s: %s)\n", path, head, bugs[i].library, bugs[i].bug);
  }
}
