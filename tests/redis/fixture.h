/* fixture.h: what most tests on real servers begin with: all servers well and empty, and two
 * clients, with a lock for each. Both clients are closed behind the test. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "real.h"

static redlock rl, rival;
static redlock_lock lock, other;

static inline void heal(void) { servers_heal(&real); }

static inline void close_both(void) {
  redlock_close(&rl);
  redlock_close(&rival);
}

/* The main of a program: it runs every TEST. */
static inline int fixture_main(int argc, char **argv, int servers) {
  check.before = heal;
  check.after = close_both;
  (void)lock;
  (void)other;
  return real_main(argc, argv, servers, check_all);
}

#endif
