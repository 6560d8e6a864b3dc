/* library.c: the implementation, for the programs that are linked with it. */
#ifdef REDLOCK_ASSERT
#define HAS_INVARIANTS
#endif
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
#ifdef HAS_INVARIANTS
#include "invariants.h"
#endif

void library_check(redlock *rl);

void library_check(redlock *rl) {
  (void)rl;
#ifdef HAS_INVARIANTS
  rl_check(rl);
#endif
}
