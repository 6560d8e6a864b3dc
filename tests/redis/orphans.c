/* orphans.c: when a frozen server thaws, it runs what waits in its sockets. By R7 the roll-back is
 * there too, behind the SET, so that no key is left that nobody releases. */
#include "real.h"

enum { TRIES = 50, TIMEOUT_MS = 20 };

/* How many SETs the server has run. */
static long sets(const struct server *s) {
  long calls = server_info(s, "cmdstat_set:calls=");
  return calls < 0 ? 0 : calls;
}

static void await_sets(const struct server *s, long wanted) {
  int looks;
  for (looks = 0; looks < REAL_LOOKS && sets(s) < wanted; looks++) poll(NULL, 0, REAL_LOOK_MS);
}

static void report(int orphans) {
  printf("    %d tries, %d orphans\n", TRIES, orphans);
  CHECK_EQ(orphans, 0);
}

static void name_try(char name[24], int i) { snprintf(name, 24, "try-%d", i); }

/* So short a time-out can be over before the servers that are well have answered. */
static void release(redlock *rl, redlock_lock *lock) {
  redlock_status status = redlock_release(rl, lock);
  CHECK(status == REDLOCK_OK || status == REDLOCK_NO_QUORUM);
}

/* The next grant of the same client comes after the reply to the roll-back: R8. */
static int orphan_of_a_client_that_goes_on(redlock *rl, struct server *s, int i) {
  redlock_lock lock;
  char name[24];
  name_try(name, i);
  server_freeze(s);
  CHECK_EQ(redlock_acquire(rl, &lock, name, REAL_TTL_MS, 0), REDLOCK_NO_QUORUM);
  server_thaw(s);
  CHECK_EQ(redlock_acquire(rl, &lock, "next", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  release(rl, &lock);
  return real_keys(1, name);
}

/* R7 R8 R13 */
TEST(thawed_server_holds_no_orphan_of_a_client_that_goes_on) {
  redlock rl;
  int i, orphans = 0;
  long before;
  servers_heal(&real);
  before = sets(&real.at[0]);
  real_open(&rl, 1, TIMEOUT_MS);
  for (i = 0; i < TRIES; i++) orphans += orphan_of_a_client_that_goes_on(&rl, &real.at[0], i);
  redlock_close(&rl);
  CHECK(sets(&real.at[0]) >= before + 2 * TRIES); /* or nothing was tried at all */
  report(orphans);
}

static int orphan_of_a_client_that_ended(struct server *s, int i) {
  redlock rl;
  redlock_lock lock;
  char name[24];
  long before = sets(s);
  name_try(name, i);
  real_open(&rl, 1, TIMEOUT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "connect", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  release(&rl, &lock);
  server_freeze(s);
  CHECK_EQ(redlock_acquire(&rl, &lock, name, REAL_TTL_MS, 0), REDLOCK_NO_QUORUM);
  redlock_close(&rl);
  server_thaw(s);
  await_sets(s, before + 2);
  return real_keys(1, name);
}

/* R7: close lets the roll-backs leave */
TEST(thawed_server_holds_no_orphan_of_a_client_that_ended) {
  int i, orphans = 0;
  servers_heal(&real);
  for (i = 0; i < TRIES; i++) orphans += orphan_of_a_client_that_ended(&real.at[0], i);
  report(orphans);
}

/* One of three frozen: the lock is granted and released without it, and it must follow. */
static int orphan_of_a_granted_lock(redlock *rl, struct server *s, int i) {
  redlock_lock lock;
  char name[24];
  long before = sets(s);
  name_try(name, i);
  server_freeze(s);
  CHECK_EQ(redlock_acquire(rl, &lock, name, REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  release(rl, &lock);
  server_thaw(s);
  await_sets(s, before + 1);
  return real_keys_settle(rl, 3, name, 0);
}

/* Joined again, so that the next try sends it a SET. */
static void rejoin(redlock *rl, const struct server *s) {
  long before = sets(s);
  int looks;
  for (looks = 0; looks < REAL_LOOKS && sets(s) == before; looks++) real_cycle_us(rl, 1);
}

/* R7 R13 R21 */
TEST(thawed_server_holds_no_orphan_of_a_lock_that_was_released) {
  redlock rl;
  int i, orphans = 0;
  servers_heal(&real);
  real_open(&rl, 3, TIMEOUT_MS);
  for (i = 0; i < TRIES; i++) {
    rejoin(&rl, &real.at[1]);
    orphans += orphan_of_a_granted_lock(&rl, &real.at[1], i);
  }
  redlock_close(&rl);
  report(orphans);
}

int main(int argc, char **argv) { return real_main(argc, argv, 3, check_all); }
