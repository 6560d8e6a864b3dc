/* no_features_build.c: a build without error texts, without the quarantine, and without
 * credentials and databases in the list. What it cannot do it refuses; the lock is the same. */
#define REDLOCK_NO_TEXTS
#define REDLOCK_NO_QUARANTINE
#define REDLOCK_NO_URL
#include "fixture.h"

TEST(locks_are_the_same) {
  world(5);
  freeze(4, 4);
  hold("r", 1000);
  CHECK_EQ(redlock_extend(&rl, &lock, 5000), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &other, "r", 1000, 0), REDLOCK_TAKEN);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &other, "r", 1000, 0), REDLOCK_OK);
}

TEST(there_is_no_quarantine_to_rely_on) { /* R24 */
  prepare(3);
  options.max_ttl_ms = 1000;
  CHECK_EQ(redlock_init(&rl, servers, &options), REDLOCK_INVALID);
}

TEST(no_entry_of_the_list_is_a_url) {
  prepare(3);
  CHECK_EQ(redlock_init(&rl, "redis://a", &options), REDLOCK_INVALID);
  CHECK_EQ(redlock_init(&rl, "redis://:secret@a/1", &options), REDLOCK_INVALID);
}

TEST(a_password_of_the_options_goes_as_ever) { /* R4 */
  prepare(3);
  SET_SERVERS(0, 2, store.password, "secret");
  options.password = "secret";
  ready_and_hold(1000);
}

TEST(there_are_no_texts) {
  world(3);
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, "-OOM command not allowed\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  CHECK(strcmp(redlock_server_error(&rl, 0), "") == 0);
  CHECK(redlock_server_error(&rl, 3) == NULL);
  CHECK_EQ(redlock_acquire(&rl, &lock, "", 1000, 0), REDLOCK_INVALID);
  CHECK(strcmp(redlock_server_error(&rl, -1), "") == 0);
  CHECK(strcmp(redlock_strerror(REDLOCK_TAKEN), "") == 0);
}

/* Without the text of its error too: then it is connected again, and asked again. */
TEST(who_is_busy_is_asked_again) { /* R26 */
  prepare(3);
  SET_SERVERS(0, 2, store.refuse_hello, 0);
  fake_answer(&fake, 0, FAKE_TRACKING, 1, "-BUSY Redis is busy running a script.\r\n");
  fake_answer(&fake, 1, FAKE_TRACKING, 1, "-ERR unknown subcommand 'TRACKING'\r\n");
  fake_answer(&fake, 2, FAKE_TRACKING, 1, "-NOPERM 'client|tracking'\r\n");
  ready_and_hold(1000);
  run_for(100);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(fake_count(&fake, 0, FAKE_TRACKING), 2);
  CHECK_EQ(fake_count(&fake, 1, FAKE_TRACKING), 1);
  CHECK_EQ(fake_count(&fake, 2, FAKE_TRACKING), 1);
}
