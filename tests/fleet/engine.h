/* engine.h: one version of redlock.h, as a crowd uses it, so that clients of several versions wait
 * for one lock. engine.c makes one of each header. What is an io is the same in all. */
#ifndef FLEET_ENGINE_H
#define FLEET_ENGINE_H

#include "redlock.h"

enum { NOTHING, GRANTED, OVER }; /* what a step has decided */

struct engine {
  const char *name;              /* NULL = its header is not there */
  size_t client_size, lock_size;
  int (*init)(void *client, const char *servers, const redlock_io *io, int poll_ms); /* 1 = well */
  int (*acquire)(void *client, void *lock, const char *resource, uint32_t ttl_ms, uint32_t wait_ms);
  int (*keep)(void *client, void *lock);
  int (*release)(void *client, void *lock);
  int (*step)(void *client, uint32_t ready);
  int64_t (*timeout_ms)(const void *client);
};

extern const struct engine engine_today, engine_1_2, engine_1_1, engine_1_0;

#endif
