/* visitor.c: a client of another system than the servers'. visited.c starts them, lets them fail,
 * and tells the list in VISITOR_SERVERS, and in VISITOR_UP whether a majority is up. No time-out is
 * short: an emulated system may be slow. */
#ifdef _WIN32
#include "tests/portability/strict.h"
#endif
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/check.h"

#include <stdlib.h>

enum { MANY = 64, TTL_MS = 60000, WAIT_MS = 60000 };

static redlock rl, other;
static redlock_lock lock, second, many[MANY];

static redlock_status start(redlock *client, const char *list) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 2000;
  memset(&lock, 0, sizeof lock);
  memset(&second, 0, sizeof second);
  memset(many, 0, sizeof many);
  return redlock_init(client, list, &options);
}

static void begin(redlock *client) {
  CHECK_EQ(start(client, getenv("VISITOR_SERVERS")), REDLOCK_OK);
}

static void a_lock_is_held_extended_and_released(void) {
  begin(&rl);
  begin(&other);
  CHECK_EQ(redlock_acquire(&rl, &lock, "visit", TTL_MS, WAIT_MS), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0 && redlock_remaining_ms(&rl, &lock) < TTL_MS);
  CHECK_EQ(redlock_acquire(&other, &second, "visit", TTL_MS, 0), REDLOCK_TAKEN);
  CHECK_EQ(redlock_extend(&rl, &lock, 2 * TTL_MS), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > TTL_MS);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&other, &second, "visit", TTL_MS, WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_release(&other, &second), REDLOCK_OK);
  redlock_close(&rl);
  redlock_close(&other);
}

/* Each attempt draws its own value, or the other's lock would pass for ours. */
static void the_values_of_two_locks_differ(void) {
  begin(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "one", TTL_MS, WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &second, "two", TTL_MS, WAIT_MS), REDLOCK_OK);
  CHECK(memcmp(lock.value, second.value, sizeof lock.value) != 0);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &second), REDLOCK_OK);
  redlock_close(&rl);
}

static int wait_for_all(redlock_status wanted) {
  int back = 0, turns;
  redlock_lock *done;
  for (turns = 0; turns < 100000 && back < MANY; turns++) {
    done = redlock_wait(&rl, 100);
    if (done && done->status == wanted) back++;
  }
  return back;
}

static void many_locks_are_in_flight(void) {
  char name[16];
  int i;
  begin(&rl);
  for (i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "many:%d", i);
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], name, TTL_MS, WAIT_MS), REDLOCK_PENDING);
  }
  CHECK_EQ(wait_for_all(REDLOCK_OK), MANY);
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  CHECK_EQ(wait_for_all(REDLOCK_OK), MANY);
  redlock_close(&rl);
}

/* The clock goes on, and so do the waits that nothing but the clock ends. */
static void a_kept_lock_outlives_its_ttl(void) {
  int64_t before;
  int turns;
  begin(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "kept", 4000, WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, 5000), REDLOCK_OK);
  before = redlock_remaining_ms(&rl, &lock);
  CHECK(redlock_wait(&rl, 20) == NULL);
  CHECK(redlock_remaining_ms(&rl, &lock) < before);
  for (turns = 0; turns < 100000 && redlock_wait(&rl, 1000) != &lock; turns++) { }
  CHECK_EQ(lock.operation, REDLOCK_LOST);
  CHECK(lock.status == REDLOCK_LIMIT || lock.status == REDLOCK_EXPIRED);
  redlock_close(&rl);
}

static void nothing_to_poll_is_waited_for_too(void) {
  begin(&rl);
  CHECK(redlock_wait(&rl, 5) == NULL);
  CHECK_EQ(redlock_timeout_ms(&rl), -1);
  redlock_close(&rl);
}

static void is_out_of_reach(const char *list, const char *error) {
  CHECK_EQ(start(&rl, list), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL_MS, 300), REDLOCK_NO_QUORUM); /* no socket */
  if (!CHECK(strstr(redlock_server_error(&rl, 0), error) != NULL))
    printf("    %s: %s\n", list, redlock_server_error(&rl, 0));
  redlock_close(&rl);
}

/* A refusal is noticed, and is not taken for a connection that is still being made. */
static void what_cannot_be_reached_says_so(void) {
  is_out_of_reach("127.0.0.1:1", "no connection");
  is_out_of_reach("unix:/there/is/none", "no connection");
  is_out_of_reach("no.such.host.invalid", "");
  CHECK_EQ(start(&rl, "127.0.0.1:1,127.0.0.1:1"), REDLOCK_INVALID);
}

static void no_majority_is_no_quorum(void) {
  begin(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL_MS, 0), REDLOCK_NO_QUORUM);
  redlock_close(&rl);
}

int main(int argc, char **argv) {
  const char *up = getenv("VISITOR_UP");
  check_start(argc, argv);
  if (up && *up == '1') {
    RUN(a_lock_is_held_extended_and_released);
    RUN(the_values_of_two_locks_differ);
    RUN(many_locks_are_in_flight);
    RUN(a_kept_lock_outlives_its_ttl);
    RUN(nothing_to_poll_is_waited_for_too);
  } else {
    RUN(no_majority_is_no_quorum);
  }
  RUN(what_cannot_be_reached_says_so);
  return check_end();
}
