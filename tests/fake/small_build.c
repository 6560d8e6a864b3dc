/* small_build.c: the smallest sizes that the header names. What does not fit is cut, or waits. */
#define REDLOCK_MAX_SERVERS 3
#define REDLOCK_MAX_RESOURCE 16
#define REDLOCK_MAX_COMMANDS 4
#define REDLOCK_MAX_ERROR 16
#include "fixture.h"

enum { MANY = 40, MOST = REDLOCK_MAX_ERROR - 1 };

static redlock_lock many[MANY];

/* An error of so many bytes, from server 0 alone. */
static void check_cut(size_t size) {
  static char text[200];
  const char *kept;
  memset(text, 'x', sizeof text);
  memcpy(text, "-OOM ", 5);
  memcpy(text + 1 + size, "\r\n", 3);
  world(3);
  fake_answer(&fake, 0, FAKE_SET, 1, text);
  hold("r", 1000);
  run_for(5);
  kept = redlock_server_error(&rl, 0);
  if (!CHECK_EQ(strlen(kept), size < MOST ? size : MOST)) printf("    '%s' of %zu\n", kept, size);
  CHECK(strncmp(kept, "OOM xxxxxxxxxxx", size) == 0 || size >= REDLOCK_MAX_ERROR);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

TEST(an_error_is_cut_where_its_room_ends) { /* R15 */
  size_t size;
  for (size = 4; size < 160; size++) check_cut(size);
}

TEST(what_we_say_ourselves_is_cut_too) { /* R15 */
  world(3);
  freeze(0, 0);
  hold("r", 1000);
  run_for(SERVER_TIMEOUT + 2);
  CHECK_EQ(strlen(redlock_server_error(&rl, 0)), REDLOCK_MAX_ERROR - 1);
  CHECK_EQ(strlen(redlock_server_error(&rl, 1)), 0);
}

TEST(a_refused_list_says_why_in_little_room) {
  prepare(3);
  CHECK_EQ(redlock_init(&rl, "a,b:port", &options), REDLOCK_INVALID);
  CHECK_EQ(strlen(redlock_server_error(&rl, 1)), REDLOCK_MAX_ERROR - 1);
}

TEST(the_longest_name_goes_through_it_all) { /* R11 */
  world(3);
  hold("sixteen bytes of", 60000);
  CHECK_EQ(redlock_extend(&rl, &lock, 120000), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "seventeen bytes o", 1000, 0), REDLOCK_INVALID);
  run_for(5);
  end_without_a_key();
}

TEST(far_more_locks_than_room_are_taken_and_freed) { /* R11 */
  int i;
  world(3);
  for (i = 0; i < MANY; i++)
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), 60000, 0), REDLOCK_PENDING);
  run_for(1000);
  CHECK_EQ(handed_count, MANY);
  for (i = 0; i < MANY; i++) CHECK_EQ(many[i].status, REDLOCK_OK);
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  run_for(1000);
  CHECK_EQ(handed_count, 2 * MANY);
  end_without_a_key();
}

/* What the handshake was begun for has left the ring, and nothing has come after it. */
TEST(a_handshake_goes_on_with_an_empty_ring) { /* R27 */
  prepare(3);
  options.password = "secret";
  SET_SERVERS(0, 2, store.password, "secret");
  SET_SERVERS(0, 2, socket_room, 10);
  freeze(0, 2);
  ready();
  start_and_send(&lock, "r", 1000, 0);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  fail_calls(FAKE_ENTROPY, 1, 1000);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  CHECK_EQ(finish(&lock), REDLOCK_SYSTEM);
  fake.fail_hook = FAKE_ANY;
  SET_SERVERS(0, 2, socket_room, SIZE_MAX);
  thaw(0, 2);
  run_for(5);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_AUTH), 3);
}
