/* lib.c: one copy of the header under test, named LIB. */
void sim_assert(int truth, const char *text);
#define REDLOCK_ASSERT(truth) sim_assert((truth) ? 1 : 0, #truth)
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "lib.h"
#include "tests/invariants.h"

static void call_close(void *rl) { redlock_close((redlock *)rl); }

#define X(type, name, parameters, arguments) \
  static type call_##name parameters { return redlock_##name arguments; }
LIB_CALLS(X)
#undef X

static void check(void *rl) { rl_check((redlock *)rl); }

const struct lib LIB = {
    sizeof(redlock), call_close, check,
#define X(type, name, parameters, arguments) call_##name,
    LIB_CALLS(X)
#undef X
};
