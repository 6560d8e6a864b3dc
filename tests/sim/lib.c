/* lib.c: one copy of the header under test, named LIB. */
void sim_assert(const char *text);
#define REDLOCK_ASSERT(truth) ((truth) ? (void)0 : sim_assert(#truth))
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "lib.h"
#include "tests/invariants.h"

static redlock_status init(redlock *rl, const char *servers, const redlock_options *options) {
  return redlock_init(rl, servers, options);
}

const struct lib LIB = {
    sizeof(redlock),       init,                redlock_close,         redlock_acquire,
    redlock_start_acquire, redlock_adopt,       redlock_start_adopt,   redlock_extend,
    redlock_start_extend,  redlock_keep,        redlock_release,       redlock_start_release,
    redlock_cancel,        redlock_step,        redlock_step_on,       redlock_timeout_ms,
    redlock_fds,           redlock_remaining_ms, rl_check};
