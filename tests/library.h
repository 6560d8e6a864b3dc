/* library.h: the header under test. With TESTS_LINK its implementation is compiled once, by
 * library.c, for all programs; else it is a part of this one. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "redlock.h"

/* What is always true of a client, where REDLOCK_ASSERT is set. */
void library_check(redlock *rl);

#ifndef TESTS_LINK
#include "library.c"
#endif

#endif
