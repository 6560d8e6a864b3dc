/* engine.c: the header beside which this is compiled, named ENGINE. A test that has a client
 * already, from tests/library.h, includes it. */
#ifndef REDLOCK_H
#define REDLOCK_STATIC
#define REDLOCK_MAX_SERVERS 5
#define REDLOCK_MAX_RESOURCE 16
#define REDLOCK_MAX_COMMANDS 16
#define REDLOCK_NO_DNS
#define REDLOCK_IMPLEMENTATION
#endif
#include "engine.h"

#ifdef NO_ENGINE /* there is no history that it could be taken from */

const struct engine ENGINE;

#else

static int engine_init(void *client, const char *servers, const redlock_io *io, int poll_ms) {
  redlock_options o;
  memset(&o, 0, sizeof o);
  o.io = io;
  o.server_timeout_ms = 1000;
  o.retry_delay_min_ms = (uint32_t)poll_ms;
  o.retry_delay_max_ms = 3 * (uint32_t)poll_ms;
  return redlock_init((redlock *)client, servers, &o) == REDLOCK_OK;
}

static int engine_acquire(void *client, void *lock, const char *resource, uint32_t ttl_ms,
                          uint32_t wait_ms) {
  return redlock_start_acquire((redlock *)client, (redlock_lock *)lock, resource, ttl_ms,
                               wait_ms) == REDLOCK_PENDING;
}

static int engine_keep(void *client, void *lock) {
  return redlock_keep((redlock *)client, (redlock_lock *)lock, 0) == REDLOCK_OK;
}

static int engine_release(void *client, void *lock) {
  return redlock_start_release((redlock *)client, (redlock_lock *)lock) == REDLOCK_PENDING;
}

static int engine_step(void *client, uint32_t ready) {
  const redlock_lock *l = redlock_step_on((redlock *)client, ready);
  if (!l) return NOTHING;
  return l->operation == REDLOCK_ACQUIRE && l->status == REDLOCK_OK ? GRANTED : OVER;
}

static int64_t engine_timeout_ms(const void *client) {
  return redlock_timeout_ms((const redlock *)client);
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
const struct engine ENGINE = {
  "of " TEXT(VERSION), sizeof(redlock), sizeof(redlock_lock), engine_init, engine_acquire,
  engine_keep, engine_release, engine_step, engine_timeout_ms};

#endif
