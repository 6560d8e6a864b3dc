/* lib.c: one copy of the header under test. LIB names it, LIB_TEXT is that name for people. */
void sim_assert(int truth, const char *text);
#define REDLOCK_ASSERT(truth) sim_assert((truth) ? 1 : 0, #truth)
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "lib.h"

static redlock_status init(void *rl, const char *servers, const redlock_options *options) {
  return redlock_init((redlock *)rl, servers, options);
}
static void close_client(void *rl) { redlock_close((redlock *)rl); }
static redlock_status acquire(void *rl, redlock_lock *l, const char *name, uint32_t ttl,
                              uint32_t wait) {
  return redlock_acquire((redlock *)rl, l, name, ttl, wait);
}
static redlock_status extend(void *rl, redlock_lock *l, uint32_t ttl) {
  return redlock_extend((redlock *)rl, l, ttl);
}
static redlock_status release(void *rl, redlock_lock *l) {
  return redlock_release((redlock *)rl, l);
}
static redlock_status start_acquire(void *rl, redlock_lock *l, const char *name, uint32_t ttl,
                                    uint32_t wait) {
  return redlock_start_acquire((redlock *)rl, l, name, ttl, wait);
}
static redlock_status start_extend(void *rl, redlock_lock *l, uint32_t ttl) {
  return redlock_start_extend((redlock *)rl, l, ttl);
}
static redlock_status start_release(void *rl, redlock_lock *l) {
  return redlock_start_release((redlock *)rl, l);
}
static redlock_status cancel(void *rl, redlock_lock *l) { return redlock_cancel((redlock *)rl, l); }
static redlock_lock *step(void *rl) { return redlock_step((redlock *)rl); }
static redlock_lock *wait_client(void *rl, int64_t ms) { return redlock_wait((redlock *)rl, ms); }
static int64_t timeout_ms(const void *rl) { return redlock_timeout_ms((const redlock *)rl); }
static int fds(const void *rl, redlock_fd *out, int capacity) {
  return redlock_fds((const redlock *)rl, out, capacity);
}
static redlock_status keep(void *rl, redlock_lock *l, uint32_t max_hold_ms) {
  return redlock_keep((redlock *)rl, l, max_hold_ms);
}
static int64_t remaining_ms(const void *rl, const redlock_lock *l) {
  return redlock_remaining_ms((const redlock *)rl, l);
}
static const char *server_error(const void *rl, int server) {
  return redlock_server_error((const redlock *)rl, server);
}

const struct lib LIB = {
    LIB_TEXT,  sizeof(redlock), REDLOCK_MAX_COMMANDS,
    init,      close_client,    acquire,
    extend,    release,         start_acquire,
    start_extend, start_release, cancel,
    step,      wait_client,     timeout_ms,
    fds,       keep,            remaining_ms,
    server_error};
