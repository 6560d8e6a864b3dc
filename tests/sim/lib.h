/* lib.h: the header under test, compiled twice: with its default log, and with the smallest one, in
 * which room is always scarce (R11). A redlock_lock is the same in both; a client is not. */
#ifndef SIM_LIB_H
#define SIM_LIB_H

#include "redlock.h"

struct lib {
  const char *name;
  size_t size; /* of a client */
  int commands;
  redlock_status (*init)(void *rl, const char *servers, const redlock_options *options);
  void (*close)(void *rl);
  redlock_status (*acquire)(void *rl, redlock_lock *l, const char *name, uint32_t ttl,
      uint32_t wait);
  redlock_status (*extend)(void *rl, redlock_lock *l, uint32_t ttl);
  redlock_status (*release)(void *rl, redlock_lock *l);
  redlock_status (*start_acquire)(void *rl, redlock_lock *l, const char *name, uint32_t ttl,
                                  uint32_t wait);
  redlock_status (*start_extend)(void *rl, redlock_lock *l, uint32_t ttl);
  redlock_status (*start_release)(void *rl, redlock_lock *l);
  redlock_status (*cancel)(void *rl, redlock_lock *l);
  redlock_lock *(*step)(void *rl);
  redlock_lock *(*wait)(void *rl, int64_t timeout_ms);
  int64_t (*timeout_ms)(const void *rl);
  int (*fds)(const void *rl, redlock_fd *fds, int capacity);
  redlock_status (*keep)(void *rl, redlock_lock *l, uint32_t max_hold_ms);
  int64_t (*remaining_ms)(const void *rl, const redlock_lock *l);
  const char *(*server_error)(const void *rl, int server);
};

extern const struct lib lib_default, lib_small;

void sim_assert(int truth, const char *text); /* the header's own assertions */

#endif
