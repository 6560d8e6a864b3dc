/* library.c: the implementation, for the programs that are linked with it. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#define TESTS_LINK
#include "library.h"

void library_check(redlock *rl) { rl_check(rl); }
