/* glib.c: redlock.h in GLib's main loop, as a source. Copy what stands from here to here.
 *
 *   cc -I../.. glib.c $(pkg-config --cflags --libs glib-2.0) -o glib && ./glib host1,host2,host3 */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

/* ---- from here: the client in the loop ------------------------------------------------------- */

#include <glib.h>

static redlock client; /* redlock_init is yours, with options.closing = on_closing */
static GSource *source;
static struct {
  gpointer tag; /* a descriptor in the source; NULL = none */
  GIOCondition events;
} watched[REDLOCK_MAX_SERVERS];

static void on_decided(redlock_lock *l); /* yours: what a step has returned */

/* A word from the client before it closes a descriptor: GLib must not watch it any more. */
static void on_closing(void *ctx, int server, intptr_t fd) {
  (void)ctx, (void)fd;
  if (watched[server].tag) g_source_remove_unix_fd(source, watched[server].tag);
  watched[server].tag = NULL;
}

/* Told only what is new: each word to GLib wakes its loop, which asks again. */
static void watch(const redlock_fd *want) {
  GIOCondition events = want->events & REDLOCK_WRITE ? G_IO_IN | G_IO_OUT : G_IO_IN;
  gpointer tag = watched[want->server].tag;
  if (!tag) watched[want->server].tag = g_source_add_unix_fd(source, (gint)want->fd, events);
  else if (watched[want->server].events != events) g_source_modify_unix_fd(source, tag, events);
  watched[want->server].events = events;
}

/* Asked before each poll: so nothing has to be told after a step, or after a call of yours. */
static gboolean prepare(GSource *s, gint *timeout) {
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int64_t ms = redlock_timeout_ms(&client);
  int i = redlock_fds(&client, want, REDLOCK_MAX_SERVERS);
  while (i-- > 0) watch(&want[i]);
  *timeout = (gint)(ms > 60000 ? 60000 : ms);
  (void)s;
  return ms == 0;
}

static uint32_t ready_servers(void) {
  uint32_t ready = 0, i;
  for (i = 0; i < REDLOCK_MAX_SERVERS; i++)
    if (watched[i].tag && g_source_query_unix_fd(source, watched[i].tag))
      ready |= UINT32_C(1) << i;
  return ready;
}

static gboolean check(GSource *s) {
  return s == source && (ready_servers() || redlock_timeout_ms(&client) == 0);
}

static gboolean dispatch(GSource *s, GSourceFunc callback, gpointer data) {
  redlock_lock *l = redlock_step_on(&client, ready_servers());
  for (; l; l = redlock_step_on(&client, 0)) on_decided(l);
  return (void)s, (void)callback, (void)data, G_SOURCE_CONTINUE;
}

/* After redlock_init; NULL = the default context. */
static void join_loop(GMainContext *context) {
  static GSourceFuncs functions = {prepare, check, dispatch, NULL, NULL, NULL};
  source = g_source_new(&functions, sizeof *source);
  g_source_attach(source, context);
}

/* ---- to here --------------------------------------------------------------------------------- */

#include "cycles.h"

static GMainLoop *loop;

static void end_loop(void) { g_main_loop_quit(loop); }

int main(int argc, char **argv) {
  if (!begin(argc, argv, on_closing)) return 1;
  loop = g_main_loop_new(NULL, FALSE);
  join_loop(NULL);
  if (!is_done()) g_main_loop_run(loop);
  return end();
}
