/* libredlock.c: one lock by a handle, for languages that cannot compile C: no struct is seen from
 * outside, so no size can be wrong, and the list of servers is copied. libredlock.py calls it.
 *
 *   cc -O2 -shared -fPIC -fvisibility=hidden -I.. libredlock.c -o libredlock.so
 *
 * A handle belongs to one thread at a time: put a mutex around its calls, or make one for each. */
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

typedef struct libredlock {
  redlock client;
  redlock_lock lock;
  char *servers;
} libredlock;

/* max_ttl_ms 0 = not set; with fencing 1 it must be set. NULL: no memory. With a wrong list or
   option each acquire is REDLOCK_INVALID (-6): ask libredlock_error(handle, -1) before it. */
EXPORT libredlock *libredlock_new(const char *servers, uint32_t keep_margin_ms, uint32_t max_ttl_ms,
                                  int fencing) {
  size_t size = strlen(servers) + 1;
  redlock_options options;
  libredlock *l = (libredlock *)calloc(1, sizeof *l);
  if (!l) return NULL;
  if (!(l->servers = (char *)malloc(size))) {
    free(l);
    return NULL;
  }
  memcpy(l->servers, servers, size);
  memset(&options, 0, sizeof options);
  options.keep_margin_ms = keep_margin_ms;
  options.max_ttl_ms = max_ttl_ms;
  options.fencing = fencing != 0;
  (void)redlock_init(&l->client, l->servers, &options);
  return l;
}

/* 0 = the lock is held, and kept for as long as libredlock_wait is called; else a status. */
EXPORT int libredlock_acquire(libredlock *l, const char *name, uint32_t ttl_ms, uint32_t wait_ms) {
  redlock_status status = redlock_acquire(&l->client, &l->lock, name, ttl_ms, wait_ms);
  return (int)(status ? status : redlock_keep(&l->client, &l->lock, 0));
}

EXPORT int64_t libredlock_remaining_ms(libredlock *l) {
  return redlock_remaining_ms(&l->client, &l->lock);
}

/* Extends the lock when that is due, and returns after at most so long; as often as redlock_keep
   says. 1 = kept; 0 = it is lost or soon will be: stop within libredlock_remaining_ms. */
EXPORT int libredlock_wait(libredlock *l, int64_t ms) {
  (void)redlock_wait(&l->client, ms);
  return l->lock.operation != REDLOCK_LOST && libredlock_remaining_ms(l) > 0;
}

EXPORT uint64_t libredlock_token(const libredlock *l) { return l->lock.token; }

EXPORT int libredlock_release(libredlock *l) { return (int)redlock_release(&l->client, &l->lock); }

EXPORT const char *libredlock_text(int status) { return redlock_strerror((redlock_status)status); }

/* Of one server, counted from 0, or of this side (-1); NULL behind the last one. */
EXPORT const char *libredlock_error(const libredlock *l, int server) {
  return redlock_server_error(&l->client, server);
}

/* Without a release the lock stays until its ttl is over. */
EXPORT void libredlock_free(libredlock *l) {
  if (!l) return;
  (void)redlock_close(&l->client);
  free(l->servers);
  free(l);
}
