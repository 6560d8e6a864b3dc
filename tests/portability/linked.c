/* linked.c: the smallest firmware that takes and releases one lock, for size.sh: what such a
 * program pays, libgcc's parts included. With -DWITHOUT it is the same program without locks. */
#ifdef WITHOUT
int main(void) { return 0; }
#else
#define REDLOCK_NO_POSIX
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

static volatile int wire; /* so that nothing is known of what the hooks return */

static intptr_t open_(void *ctx, int server, const char *host, const char *port) {
  (void)ctx, (void)server, (void)host, (void)port;
  return wire;
}
static int send_(void *ctx, int server, const void *data, size_t size) {
  (void)ctx, (void)server, (void)data, (void)size;
  return wire;
}
static int recv_(void *ctx, int server, void *data, size_t size) {
  (void)ctx, (void)server, (void)data, (void)size;
  return wire;
}
static void close_(void *ctx, int server) { (void)ctx, (void)server; }
static int wait_(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  (void)ctx, (void)want, (void)count, (void)timeout_ms;
  return wire;
}
static int64_t now_(void *ctx) {
  (void)ctx;
  return wire;
}
static int entropy_(void *ctx, void *data, size_t size) {
  (void)ctx, (void)data, (void)size;
  return wire;
}

int main(void) {
  static const redlock_io io = {open_, send_, recv_, close_, wait_, now_, entropy_, NULL};
  static redlock_options options;
  static redlock rl;
  static redlock_lock lock;
  options.io = &io;
  if (redlock_init(&rl, "10.0.0.1,10.0.0.2,10.0.0.3", &options)) return 1;
  if (redlock_acquire(&rl, &lock, "resource", 10000, 0)) return 2;
  return redlock_release(&rl, &lock);
}
#endif
