/* libevent.c: redlock.h in a loop of libevent. Copy what stands from here to here.
 *
 *   cc -I../.. libevent.c -levent_core -o libevent && ./libevent host1,host2,host3 */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

/* ---- from here: the client in the loop ------------------------------------------------------- */

#include <event2/event.h>
#include <stdlib.h>

static redlock client; /* redlock_init is yours, with options.closing = on_closing */
static struct event_base *base;
static struct event *timer, *watched[REDLOCK_MAX_SERVERS];

static void on_decided(redlock_lock *l); /* yours: what a step has returned */
static void on_ready(evutil_socket_t fd, short what, void *server);

/* A word from the client before it closes a descriptor: libevent must not watch it any more. */
static void on_closing(void *ctx, int server, intptr_t fd) {
  (void)ctx, (void)fd;
  if (watched[server]) event_free(watched[server]);
  watched[server] = NULL;
}

static void watch(const redlock_fd *want) {
  short events = EV_READ | EV_PERSIST | (want->events & REDLOCK_WRITE ? EV_WRITE : 0);
  struct event **e = &watched[want->server];
  if (*e && event_get_events(*e) == events) return;
  if (*e) event_free(*e);
  *e = event_new(base, (evutil_socket_t)want->fd, events, on_ready, (void *)(intptr_t)want->server);
  if (!*e || event_add(*e, NULL) != 0) abort();
}

/* Every step ends with a look at what to wait for now. Call step(0) after calls that start, cancel,
   keep or resolve, but not within on_decided. */
static void step(uint32_t ready) {
  redlock_fd want[REDLOCK_MAX_SERVERS];
  redlock_lock *l = redlock_step_on(&client, ready);
  int64_t timeout;
  struct timeval t;
  int i;
  for (; l; l = redlock_step_on(&client, 0)) on_decided(l);
  for (i = redlock_fds(&client, want, REDLOCK_MAX_SERVERS); i > 0; i--) watch(&want[i - 1]);
  timeout = redlock_timeout_ms(&client);
  t.tv_sec = (time_t)(timeout / 1000);
  t.tv_usec = (suseconds_t)(timeout % 1000 * 1000);
  if (timeout < 0) event_del(timer);
  else event_add(timer, &t);
}

static void on_ready(evutil_socket_t fd, short what, void *server) {
  (void)fd; /* the timer has none, and is no server */
  step(what & EV_TIMEOUT ? 0 : UINT32_C(1) << (intptr_t)server);
}

/* After redlock_init. 0 = no memory. */
static int join_loop(struct event_base *loop) {
  base = loop;
  timer = event_new(base, -1, 0, on_ready, NULL);
  if (timer) step(0);
  return timer != NULL;
}

/* ---- to here --------------------------------------------------------------------------------- */

#include "cycles.h"

static void end_loop(void) { event_base_loopbreak(base); }

int main(int argc, char **argv) {
  struct event_base *loop = event_base_new();
  if (!loop || !begin(argc, argv, on_closing) || !join_loop(loop)) return 1;
  if (!is_done()) event_base_dispatch(loop);
  return end();
}
