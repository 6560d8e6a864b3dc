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

/* The main of a program whose servers have these arguments: it runs every TEST. */
static inline int fixture_main_with(int argc, char **argv, int servers,
                                    const char *(*args)(void)) {
  check.before = heal;
  check.after = close_both;
  (void)lock;
  (void)other;
  return real_main_with(argc, argv, servers, args, check_all);
}

static inline int fixture_main(int argc, char **argv, int servers) {
  return fixture_main_with(argc, argv, servers, real_plain);
}

#endif
