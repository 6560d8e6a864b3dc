/* library.c: the implementation, for the programs that are linked with it. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

void library_check(redlock *rl);

void library_check(redlock *rl) {
  (void)rl;
#ifdef RL_CHECKED
  rl_check(rl);
#endif
}
