/* libuv.c: redlock.h in a loop of libuv. Copy what stands from here to here.
 *
 *   cc -I../.. libuv.c -luv -o libuv && ./libuv host1,host2,host3 */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

/* ---- from here: the client in the loop ------------------------------------------------------- */

#include <stdlib.h>
#include <uv.h>

static redlock client; /* redlock_init is yours, with options.closing = on_closing */
static uv_timer_t timer;
static struct watched {
  uv_poll_t poll; /* first: libuv hands this back */
  int server, events;
} *watched[REDLOCK_MAX_SERVERS];

static void on_decided(redlock_lock *l); /* yours: what a step has returned */
static void on_ready(uv_poll_t *poll, int status, int events);
static void on_time(uv_timer_t *t);
static void on_closed(uv_handle_t *handle) { free(handle); }

/* A word from the client before it closes a descriptor: libuv must not watch it any more. */
static void on_closing(void *ctx, int server, intptr_t fd) {
  (void)ctx, (void)fd;
  if (watched[server]) uv_close((uv_handle_t *)watched[server], on_closed);
  watched[server] = NULL;
}

static void watch(const redlock_fd *want) {
  int events = want->events & REDLOCK_WRITE ? UV_READABLE | UV_WRITABLE : UV_READABLE;
  struct watched *w = watched[want->server];
  if (!w) {
    if (!(w = watched[want->server] = calloc(1, sizeof *w))) abort();
    uv_poll_init_socket(uv_default_loop(), &w->poll, (uv_os_sock_t)want->fd);
    w->server = want->server;
  }
  if (w->events != events) uv_poll_start(&w->poll, w->events = events, on_ready);
}

/* Every step ends with a look at what to wait for now. Call step(0) after calls that start, cancel,
   keep or resolve, but not within on_decided. */
static void step(uint32_t ready) {
  redlock_fd want[REDLOCK_MAX_SERVERS];
  redlock_lock *l = redlock_step_on(&client, ready);
  int64_t timeout;
  int i;
  for (; l; l = redlock_step_on(&client, 0)) on_decided(l);
  for (i = redlock_fds(&client, want, REDLOCK_MAX_SERVERS); i > 0; i--) watch(&want[i - 1]);
  timeout = redlock_timeout_ms(&client);
  if (timeout < 0) uv_timer_stop(&timer);
  else uv_timer_start(&timer, on_time, (uint64_t)timeout, 0);
}

static void on_time(uv_timer_t *t) { (void)t, step(0); }
static void on_ready(uv_poll_t *poll, int status, int events) {
  struct watched *w = (struct watched *)poll;
  (void)events; /* an error is ready too: the client finds out */
  if (status < 0) w->events = 0; /* libuv no longer watches it */
  step(UINT32_C(1) << w->server);
}

/* After redlock_init. */
static void join_loop(void) {
  uv_timer_init(uv_default_loop(), &timer);
  step(0);
}

/* ---- to here --------------------------------------------------------------------------------- */

#include "cycles.h"

static void end_loop(void) { uv_stop(uv_default_loop()); }

int main(int argc, char **argv) {
  if (!begin(argc, argv, on_closing)) return 1;
  join_loop();
  if (!is_done()) uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  return end();
}
