/* many_locks.c: hundreds of locks in flight in one thread, on epoll. Copy from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I.. many_locks.c -o many_locks
 *   ./many_locks 10.0.0.1,10.0.0.2,10.0.0.3 10000
 *
 * All locks share one connection to each server. Your own descriptors can share the epoll
 * set: give them other numbers in data.u64. Linux only; for kqueue, only watch() differs. */

/* The command ring holds what is in flight: 2 commands per lock. What does not fit waits for room,
   so this affects only speed. */
#define IN_FLIGHT 256
#define REDLOCK_MAX_COMMANDS 1024
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { TTL_MS = 10000, WAIT_MS = 2000 };

/* Large, so not on the stack. */
static redlock client;
static redlock_lock locks[IN_FLIGHT]; /* a lock must not move while the client has it */

static struct {
  long started, wanted; /* acquires so far, and in all */
  long in_flight;
  long granted, refused;
  redlock_status refusal; /* the last one */
} count;

/* ---- epoll ----------------------------------------------------------------------------------- */

static int epoll_fd;
static unsigned watched[REDLOCK_MAX_SERVERS]; /* the events that epoll knows of; 0 = none */

/* A word from the client before it closes a descriptor. If a forked child has it too, epoll would
   tell of it for ever. */
static void on_closing(void *ctx, int server, intptr_t fd) {
  (void)ctx;
  (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, (int)fd, NULL);
  watched[server] = 0;
}

static void watch(const redlock_fd *want) {
  struct epoll_event event;
  int action = watched[want->server] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (watched[want->server] == want->events) return;
  event.events = EPOLLIN;
  if (want->events & REDLOCK_WRITE) event.events |= EPOLLOUT;
  event.data.u64 = (uint64_t)want->server;
  if (epoll_ctl(epoll_fd, action, (int)want->fd, &event) != 0) perror("epoll_ctl");
  watched[want->server] = want->events;
}

static void watch_all(void) {
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int i, open = redlock_fds(&client, want, REDLOCK_MAX_SERVERS);
  for (i = 0; i < open; i++) watch(&want[i]);
}

/* The servers that are ready, one bit each. */
static uint32_t wait_for_events(void) {
  struct epoll_event events[REDLOCK_MAX_SERVERS];
  int64_t timeout = redlock_timeout_ms(&client);
  uint32_t ready = 0;
  int i;
  if (timeout > 60000) timeout = 60000;
  watch_all();
  for (i = epoll_wait(epoll_fd, events, REDLOCK_MAX_SERVERS, (int)timeout); i > 0; i--)
    ready |= UINT32_C(1) << events[i - 1].data.u64;
  return ready;
}

/* ---- the locks ------------------------------------------------------------------------------- */

/* Each lock has a job of its own; `user` can point at it. */
static void work(const redlock_lock *lock) { (void)lock; }

static void start_next(redlock_lock *lock) {
  char resource[32];
  redlock_status status;
  if (count.started == count.wanted) return;
  (void)snprintf(resource, sizeof resource, "order:%ld", count.started); /* it is copied */
  status = redlock_start_acquire(&client, lock, resource, TTL_MS, WAIT_MS);
  count.started++;
  if (status == REDLOCK_PENDING) {
    count.in_flight++;
  } else {
    count.refused++;
    count.refusal = status;
  }
}

/* lock->operation says what was decided, lock->status how it ended. */
static void on_decided(redlock_lock *lock) {
  count.in_flight--;
  if (lock->operation == REDLOCK_ACQUIRE && lock->status == REDLOCK_OK) {
    count.granted++;
    work(lock);
    if (redlock_start_release(&client, lock) == REDLOCK_PENDING) {
      count.in_flight++;
      return; /* redlock_step_on returns it once more, released */
    }
  } else if (lock->operation == REDLOCK_ACQUIRE) {
    count.refused++;
    count.refusal = lock->status;
    if (lock->status == REDLOCK_NO_QUORUM && count.granted == 0)
      count.wanted = count.started; /* there was never a quorum: see lock->votes */
  }
  start_next(lock); /* whatever the release returns, the hold ended when it was called */
}

static void run(void) {
  redlock_lock *lock;
  uint32_t ready = 0;
  int i;
  for (i = 0; i < IN_FLIGHT; i++) start_next(&locks[i]);
  while (count.in_flight > 0) {
    lock = redlock_step_on(&client, ready); /* pass each event once */
    for (; lock; lock = redlock_step_on(&client, 0)) on_decided(lock);
    if (count.in_flight > 0) ready = wait_for_events();
  }
}

/* Why a call failed: on this side (-1), and on each server that has something to say. */
static int explain(const redlock *rl, const char *what, redlock_status status) {
  const char *error;
  int i;
  fprintf(stderr, "%s: %s\n", what, redlock_strerror(status));
  for (i = -1; (error = redlock_server_error(rl, i)) != NULL; i++)
    if (*error) fprintf(stderr, "  server %d: %s\n", i, error);
  return 1;
}

int main(int argc, char **argv) {
  const char *servers = argc > 1 ? argv[1] : getenv("REDLOCK_SERVERS");
  redlock_options options = {0};
  redlock_status status;
  count.wanted = argc > 2 ? strtol(argv[2], NULL, 10) : 10000;
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  options.closing = on_closing;
  if (!servers) servers = "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
  status = redlock_init(&client, servers, &options);
  if (epoll_fd < 0) return perror("epoll_create1"), 1;
  if (status != REDLOCK_OK) return explain(&client, "init", status);
  run();
  printf("%ld granted and released, %ld refused\n", count.granted, count.refused);
  if (count.refused) (void)explain(&client, "the last refusal", count.refusal);
  redlock_close(&client);
  (void)close(epoll_fd);
  return count.refused != 0;
}
