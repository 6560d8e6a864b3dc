/* lib.h: the header under test, compiled twice: with its default ring, and with the smallest one,
 * in which room is always scarce (R11). A redlock_lock is the same in both; a client is not. */
#ifndef SIM_LIB_H
#define SIM_LIB_H

#include "redlock.h"

/* Every call that returns something: its type, name and parameters, and what is handed on. */
#define LIB_CALLS(X)                                                                              \
  X(redlock_status, init, (void *rl, const char *list, const redlock_options *o), (rl, list, o))  \
  X(redlock_status, acquire,                                                                      \
    (void *rl, redlock_lock *l, const char *name, uint32_t ttl_ms, uint32_t wait_ms),             \
    (rl, l, name, ttl_ms, wait_ms))                                                               \
  X(redlock_status, extend, (void *rl, redlock_lock *l, uint32_t ttl_ms), (rl, l, ttl_ms))        \
  X(redlock_status, release, (void *rl, redlock_lock *l), (rl, l))                                \
  X(redlock_status, start_acquire,                                                                \
    (void *rl, redlock_lock *l, const char *name, uint32_t ttl_ms, uint32_t wait_ms),             \
    (rl, l, name, ttl_ms, wait_ms))                                                               \
  X(redlock_status, adopt,                                                                        \
    (void *rl, redlock_lock *l, const char *name, uint32_t ttl_ms, const char *value),            \
    (rl, l, name, ttl_ms, value))                                                                 \
  X(redlock_status, start_adopt,                                                                  \
    (void *rl, redlock_lock *l, const char *name, uint32_t ttl_ms, const char *value),            \
    (rl, l, name, ttl_ms, value))                                                                 \
  X(redlock_status, start_extend, (void *rl, redlock_lock *l, uint32_t ttl_ms), (rl, l, ttl_ms))  \
  X(redlock_status, start_release, (void *rl, redlock_lock *l), (rl, l))                          \
  X(redlock_status, cancel, (void *rl, redlock_lock *l), (rl, l))                                 \
  X(redlock_status, keep, (void *rl, redlock_lock *l, uint32_t max_hold_ms), (rl, l, max_hold_ms)) \
  X(redlock_lock *, step, (void *rl), (rl))                                                       \
  X(redlock_lock *, step_on, (void *rl, uint32_t ready), (rl, ready))                             \
  X(int64_t, timeout_ms, (const void *rl), (rl))                                                  \
  X(int, fds, (const void *rl, redlock_fd *out, int capacity), (rl, out, capacity))               \
  X(int64_t, remaining_ms, (const void *rl, const redlock_lock *l), (rl, l))

struct lib {
  size_t size; /* of a client */
  void (*close)(void *rl);
  void (*check)(void *rl); /* what is always true of a client */
#define X(type, name, parameters, arguments) type(*name) parameters;
  LIB_CALLS(X)
#undef X
};

extern const struct lib lib_default, lib_small;

void sim_assert(int truth, const char *text); /* the header's own assertions */

#endif
