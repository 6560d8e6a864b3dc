/* library.h: the header under test. With TESTS_LINK its implementation is in library.c, which is
 * compiled once for all programs; else it is in the program itself. */
#ifndef LIBRARY_H
#define LIBRARY_H

#ifndef TESTS_LINK
#define REDLOCK_IMPLEMENTATION
#endif
#include "redlock.h"

#ifdef TESTS_LINK
void library_check(redlock *rl);
#else
/* What is always true of a client, where REDLOCK_ASSERT is set. */
static inline void library_check(redlock *rl) {
  (void)rl;
#ifdef RL_CHECKED
  rl_check(rl);
#endif
}
#endif

#endif
