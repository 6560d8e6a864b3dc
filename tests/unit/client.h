/* client.h: one client on recording_io.h, for the test programs of this folder: what they begin
 * with. */
#ifndef CLIENT_H
#define CLIENT_H

#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check_main.h"
#include "../inside.h"
#include "recording_io.h"

static redlock rl;
static redlock_lock lock;
static redlock_options options;

/* All servers say yes, and the options are the default ones. */
static inline void prepare(void) {
  wire_reset();
  memset(&rl, 0, sizeof rl);
  memset(&lock, 0, sizeof lock);
  memset(&options, 0, sizeof options);
  options.io = &wire.io;
}

static inline redlock_status init(const char *servers) {
  return redlock_init(&rl, servers, &options);
}

static inline void ready(const char *servers) { CHECK_EQ(init(servers), REDLOCK_OK); }

static inline void begin(const char *servers) {
  prepare();
  ready(servers);
}

static inline redlock_status acquire(uint32_t ttl_ms) {
  return redlock_acquire(&rl, &lock, "r", ttl_ms, 0);
}

#endif
