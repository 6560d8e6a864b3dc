/* lib.h: the header under test, compiled three times: with its default ring, with the smallest one,
 * in which room is always scarce (R11), and with one for many locks (RL_HAS_MANY). A redlock_lock
 * begins alike in all; for many it is larger, but all read and write the same of it: who has room
 * for such a one may hand it to each. A client differs: only pointers to one pass. */
#ifndef SIM_LIB_H
#define SIM_LIB_H

#include "redlock.h"

/* The calls, each as redlock_NAME. */
#define LIB_CALLS(X)                                                                        \
  X(init) X(close) X(acquire) X(start_acquire) X(adopt) X(start_adopt) X(extend)            \
  X(start_extend) X(keep) X(release) X(start_release) X(cancel) X(step) X(step_on)          \
  X(timeout_ms) X(fds) X(remaining_ms)

struct lib {
  size_t size, lock_size; /* of a client, and of a lock */
  void (*check)(redlock *); /* what is always true of a client */
#define X(name) __typeof__(redlock_##name) *name;
  LIB_CALLS(X)
#undef X
};

extern const struct lib lib_default, lib_small, lib_large;

void sim_assert(const char *text); /* one of the header's own assertions does not hold */

#endif
