/* lib.c: one copy of the header under test, named LIB. */
void sim_assert(const char *text);
#define REDLOCK_ASSERT(truth) ((truth) ? (void)0 : sim_assert(#truth))
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "lib.h"
#include "tests/invariants.h"

#define X(name) redlock_##name,
const struct lib LIB = {sizeof(redlock), sizeof(redlock_lock), rl_check, LIB_CALLS(X)};
