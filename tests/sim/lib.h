/* lib.h: the header under test, compiled three times: with its default ring, with the smallest one,
 * in which room is always scarce (R11), and with one for many locks (RL_HAS_MANY). A redlock_lock
 * is the same in all; a client is not: only pointers to one pass. */
#ifndef SIM_LIB_H
#define SIM_LIB_H

#include "redlock.h"

typedef redlock_status lib_acquire(redlock *, redlock_lock *, const char *, uint32_t, uint32_t);
typedef redlock_status lib_adopt(redlock *, redlock_lock *, const char *, uint32_t, const char *);
typedef redlock_status lib_extend(redlock *, redlock_lock *, uint32_t);
typedef redlock_status lib_release(redlock *, redlock_lock *);

struct lib {
  size_t size; /* of a client */
  redlock_status (*init)(redlock *, const char *, const redlock_options *);
  void (*close)(redlock *);
  lib_acquire *acquire, *start_acquire;
  lib_adopt *adopt, *start_adopt;
  lib_extend *extend, *start_extend, *keep;
  lib_release *release, *start_release, *cancel;
  redlock_lock *(*step)(redlock *);
  redlock_lock *(*step_on)(redlock *, uint32_t);
  int64_t (*timeout_ms)(const redlock *);
  int (*fds)(const redlock *, redlock_fd *, int);
  int64_t (*remaining_ms)(const redlock *, const redlock_lock *);
  void (*check)(redlock *); /* what is always true of a client */
};

extern const struct lib lib_default, lib_small, lib_large;

void sim_assert(const char *text); /* one of the header's own assertions does not hold */

#endif
