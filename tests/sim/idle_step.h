/* idle_step.h: R27, a step has a reason: before the time that redlock_timeout_ms named, with
 * nothing to receive and no room to send, one more step does nothing and reveals no earlier due
 * time. That step is taken just before the client wakes, with hooks that find nothing, and then
 * undone: the run goes on as if it had not happened. One of eight is looked at so. */
#ifndef SIM_IDLE_STEP_H
#define SIM_IDLE_STEP_H

#include "clock.h"

/* Asked for in W.quiet, where the clock does not fail. */
static int64_t time_named(struct client *c) {
  int64_t timeout_ms = c->lib->timeout_ms(c->rl);
  return timeout_ms < 0 ? INT64_MAX : client_ms(c) + timeout_ms;
}

/* What the client says goes for until it is called again. */
static void note_promise(struct client *c) {
  W.quiet++;
  c->named_ms = time_named(c);
  W.quiet--;
  c->named_at = W.now;
}

/* A hook is called in a step that has nothing to do. */
static int acts_early(struct client *c, const char *what) {
  violation("R27: client %d %s, and it named %lld ms more for the next thing to do", c->index, what,
            (long long)(c->named_ms - client_ms(c)));
  return -1;
}

/* The moment to look at: before what was named, and not before the client was left alone. */
static ns last_moment(const struct client *c) {
  ns named = client_when(c, c->named_ms);
  return smaller(W.now, named == NEVER ? NEVER : named - 1);
}

/* What was waited for in vain may have become too old to send. */
static int waits_for_no_more(struct client *c) {
  redlock_fd now[MAX_SERVERS];
  int count = c->lib->fds(c->rl, now, MAX_SERVERS), open = 0;
  for (int i = 0; i < W.cfg.servers; i++) open += c->want[i] != 0;
  for (int i = 0; i < count && count == open; i++)
    if (now[i].events & ~c->want[now[i].server]) return 0;
  return count == open;
}

static void take_idle_step(struct client *c) {
  static struct slot before[MAX_SLOTS];
  size_t size = (size_t)c->slots * sizeof *before;
  memcpy(before, c->slot, size);
  if (c->lib->step(c->rl)) acts_early(c, "returns a lock");
  if (memcmp(before, c->slot, size)) acts_early(c, "changes a lock");
  if (!waits_for_no_more(c)) acts_early(c, "waits for more");
  if (time_named(c) < c->named_ms) acts_early(c, "would have had something to do earlier");
  memcpy(c->slot, before, size);
}

static void check_reason(struct client *c) {
  static void *before;
  ns now = W.now, when = last_moment(c), named_at = c->named_at;
  c->named_at = NEVER; /* each is looked at once */
  if (W.turn % 8) return; /* each would take half of the time */
  if (when < named_at || c->clock.at > named_at || W.failed) return;
  if (!before) before = room_for(lib_large.size);
  memcpy(before, c->rl, c->lib->size);
  W.quiet++;
  W.now = when;
  W.idle = 1;
  take_idle_step(c);
  W.idle = 0;
  W.now = now;
  W.quiet--;
  memcpy(c->rl, before, c->lib->size);
  T->reasons++;
}

#endif
