/* orphans.c: when a frozen server thaws, it runs what waits in its sockets. By R7 the roll-back is
 * there too, behind the SET, so that no key is left that nobody releases. */
#include "fixture.h"

enum { TRIES = 50, TIMEOUT_MS = 20 };

/* How many SETs the server has run. */
static long sets(const struct server *s) {
  long calls = server_info(s, "cmdstat_set:calls=");
  return calls < 0 ? 0 : calls;
}

/* The next grant of the same client comes after the reply to the roll-back. So short a time-out can
   be over before its release is answered. */
static int leaves_an_orphan(struct server *s, const char *name) {
  long before = sets(s);
  server_freeze(s);
  CHECK_EQ(redlock_acquire(&rl, &lock, name, REAL_TTL_MS, 0), REDLOCK_NO_QUORUM);
  server_thaw(s);
  CHECK_EQ(redlock_acquire(&rl, &lock, "next", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  (void)redlock_release(&rl, &lock);
  CHECK(lock.status == REDLOCK_OK || lock.status == REDLOCK_NO_QUORUM);
  CHECK(sets(s) >= before + 2); /* or nothing was tried at all */
  return real_keys(1, name);
}

TEST(a_thawed_server_holds_no_orphan_of_a_client_that_goes_on) { /* R7 R8 R13 */
  char name[24];
  int i, orphans = 0;
  real_open(&rl, 1, TIMEOUT_MS);
  for (i = 0; i < TRIES; i++) {
    snprintf(name, sizeof name, "try-%d", i);
    orphans += leaves_an_orphan(&real.at[0], name);
  }
  CHECK_EQ(orphans, 0);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, 1); }
