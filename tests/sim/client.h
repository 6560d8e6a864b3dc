/* client.h: a client process: it wakes when a socket is ready or its time has come, does what its
 * user wants, steps the library until nothing is returned, and sleeps. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "keep.h"
#include "paces.h"

static void actor_act(struct client *c);
static void actor_returned(struct client *c, struct slot *s);

enum { SPIN_LIMIT = 3000 };

static void client_wake_at(struct client *c, ns when) {
  if (when >= c->wake) return;
  c->wake = when;
  schedule(when, EV_WAKE, c->index, ++c->wake_turn);
}

/* How long it takes until a process runs. */
static ns awakening(void) { return between(1 * US, 40 * US); }

static void client_ready(struct client *c, int entry) {
  if (!c->alive || !is_ready(c, entry)) return;
  if (c->in_wait) c->woken = 1;
  else if (!c->busy && !c->single)
    client_wake_at(c, larger(W.now + awakening(), c->paused_until));
}

/* The clock must not fail the checker itself. */
static int64_t remaining_of(struct client *c, struct slot *s) {
  int64_t ms;
  W.quiet++;
  ms = c->lib->remaining_ms(c->rl, &s->lock);
  W.quiet--;
  return ms;
}

/* ---- what the checker sees of held locks, after each thing that the client does ---- */

/* How many servers really hold the slot's value now. */
static int holders(const struct slot *s) {
  int count = 0;
  for (int i = 0; i < MAX_SERVERS; i++) {
    struct key *k = key_of(&W.server[i], s->resource, W.cfg.db);
    count += k && is_voter(i) && value_of(k->value, k->value_size) == s->value;
  }
  return count;
}

/* Given up before its deadline: then it must really have been lost. A failed clock is an excuse. */
static void lock_is_lost(struct client *c, struct slot *s) {
  int early = client_ms(c) < s->deadline_ms && s->value >= 0;
  if (early && clocks_work() && holders(s) >= quorum())
    slot_fails(s, "R19", "gives its lock up, %lld ms early, and a quorum holds it",
               (long long)(s->deadline_ms - client_ms(c)));
  grant_ends(s);
  s->deadline_ms = 0;
}

static void look_at_lock(struct client *c, struct slot *s) {
  int64_t left = remaining_of(c, s), deadline_ms;
  refine_look(c, s, left);
  if (s->state != S_HELD && s->state != S_KEPT && s->state != S_EXTENDING) {
    if (left && s->state != S_ACQUIRING &&
        !W.cfg.out_of_model) /* a grant may wait to be returned */
      slot_fails(s, "R22", "is not held, and %lld ms remain", (long long)left);
    return;
  }
  if (left == 0) {
    if (s->deadline_ms == 0) return;
    if (client_ms(c) >= s->deadline_ms) return;
    if (s->state == S_HELD && !W.cfg.out_of_model)
      slot_fails(s, "R22", "is held for %lld ms more, and none remain",
                 (long long)(s->deadline_ms - client_ms(c)));
    lock_is_lost(c, s);
    return;
  }
  deadline_ms = client_ms(c) + left;
  if (deadline_ms == s->deadline_ms || W.cfg.out_of_model) return;
  if (deadline_ms < s->deadline_ms)
    slot_fails(s, "R18", "has its deadline shortened by %lld ms",
               (long long)(s->deadline_ms - deadline_ms));
  if (s->state == S_HELD) slot_fails(s, "R22", "has its deadline moved with nothing pending");
  if (s->hold_ms && deadline_ms > s->granted_ms + s->hold_ms)
    slot_fails(s, "R20", "is extended to %lld ms of hold, the limit is %lld",
               (long long)(deadline_ms - s->granted_ms), (long long)s->hold_ms);
  s->deadline_ms = deadline_ms;
  grant_extends(s, client_when(c, deadline_ms));
}

/* Invariant 5: what is pending must be decided by now, or the client be told to come again soon. */
static void check_bound(struct client *c, struct slot *s, int64_t timeout_ms) {
  int64_t now_ms = client_ms(c);
  if (s->bound_ms < 0 || s->state == S_IDLE || s->state == S_HELD || s->state == S_KEPT) return;
  if (now_ms > s->bound_ms && timeout_ms != 0)
    slot_fails(s, "invariant 5", "is pending in state %d, %lld ms beyond its deadline", s->state,
               (long long)(now_ms - s->bound_ms));
  if (timeout_ms < 0 || now_ms + timeout_ms > larger(s->bound_ms, now_ms) + 1)
    slot_fails(s, "invariant 5", "is due by %lld ms, timeout_ms says %lld",
               (long long)(s->bound_ms - now_ms), (long long)timeout_ms);
}

static void look_at_all(struct client *c) {
  for (int i = 0; i < c->slots && !W.failed; i++) look_at_lock(c, &c->slot[i]);
}

/* ---- asleep and awake ---- */

static void check_spin(struct client *c) {
  if (c->happened || c->idle_wakes == 0) {
    c->idle_wakes = 0;
    c->idle_since = W.now;
  }
  if (++c->idle_wakes < SPIN_LIMIT) return;
  if (W.now - c->idle_since < SEC)
    violation("spin: client %d woke %d times in %lld ns to do nothing", c->index, SPIN_LIMIT,
              W.now - c->idle_since);
  c->idle_wakes = 0;
}

/* When the library wants to be stepped, and what it waits for. */
static ns library_due(struct client *c) {
  redlock_fd want[MAX_SERVERS];
  int64_t timeout_ms;
  ns when = NEVER;
  int count;
  note_promise(c);
  timeout_ms = c->named_ms == INT64_MAX ? -1 : c->named_ms - client_ms(c);
  count = c->lib->fds(c->rl, want, MAX_SERVERS);
  look_at_fds(c, want, count);
  for (int i = 0; i < c->slots; i++) {
    check_bound(c, &c->slot[i], timeout_ms);
    check_alarm(c, &c->slot[i], timeout_ms);
  }
  if (timeout_ms >= 0) when = client_when(c, client_ms(c) + timeout_ms);
  if (any_ready(c)) when = W.now;
  watch_clogs(c);
  return when;
}

/* When the client wants to be woken. */
static void client_arm(struct client *c) {
  ns when;
  if (!c->alive || W.failed) return;
  when = c->single ? NEVER : library_due(c);
  for (int i = 0; i < c->slots; i++) when = smaller(when, c->slot[i].due);
  if (when == NEVER && c->paused_until <= W.now) return;
  client_wake_at(c, larger(larger(when, W.now), c->paused_until) + awakening());
}

static struct slot *slot_of(struct client *c, redlock_lock *lock) {
  for (int i = 0; i < c->slots; i++)
    if (&c->slot[i].lock == lock) return &c->slot[i];
  violation("invariant 6: client %d is returned what was never a lock of its own", c->index);
  return NULL;
}

static void took_back(struct client *c, redlock_lock *lock) {
  struct slot *s = slot_of(c, lock);
  if (!s) return;
  c->happened = 1;
  note(N_BACK, c->index, s->index, lock->status);
  if (lock->user != s) slot_fails(s, "user", "lost its pointer");
  if (s->state == S_IDLE || s->state == S_HELD)
    slot_fails(s, "invariant 6", "is returned (status %d), but nothing was pending", lock->status);
  actor_returned(c, s);
}

/* In every ninth world the clients are event loops, which tell the library who is ready, once. (No
 * kept seed is among them: what those catch, they go on to catch.) */
static redlock_lock *step_once(struct client *c, int turn) {
  uint32_t ready = 0;
  if (W.seed % 9 != 0) return c->lib->step(c->rl);
  for (int i = 0; i < W.cfg.servers && turn == 0; i++) ready |= (uint32_t)is_ready(c, i) << i;
  return c->lib->step_on(c->rl, ready);
}

/* Steps until nothing comes back, or the process is interrupted between two steps. */
static void client_step(struct client *c) {
  redlock_lock *lock = NULL;
  int64_t began_ms = client_ms(c);
  int turn = 0;
  while (!W.failed && (lock = step_once(c, turn)) != NULL) {
    took_back(c, lock);
    look_at_all(c);
    if (++turn > 4 * MAX_SLOTS) violation("step: client %d never comes to an end", c->index);
    if (one_in(16)) break;
    began_ms = client_ms(c);
  }
  look_at_all(c);
  if (!lock) check_kept(c, began_ms);
}

/* What is still in the queue when the client falls asleep begins when it wakes (R11, seed
 * 800002112), and has one timeout from then on. */
static void allow_one_more_round(struct client *c, ns wakes) {
  int64_t least_ms = clock_at(&c->clock, wakes) / MS + W.cfg.server_timeout_ms + 3;
  for (int i = 0; i < c->slots; i++)
    if (c->slot[i].bound_ms >= 0) c->slot[i].bound_ms = larger(c->slot[i].bound_ms, least_ms);
}

static void client_pause(struct client *c) {
  ns length = 0;
  if (fault(F_PAUSE_BETWEEN)) length = skewed(1, (ns)W.cfg.server_timeout_ms * MS * 3);
  if (fault(F_SUSPEND)) length = skewed(MS, (ns)W.cfg.ttl_max_ms * MS * 2);
  if (length) {
    note(N_PAUSE, c->index, length, -1);
    c->paused_until = c->stood = W.now + length;
    allow_one_more_round(c, W.now + length);
  }
  if (!W.cfg.light) forgive(c, length); /* the queue has stood still too (R11) */
}

static void client_wake(struct client *c, uint32_t turn) {
  if (turn != c->wake_turn) return;
  c->wake = NEVER;
  if (!c->alive || c->busy) return;
  if (W.now < c->paused_until) {
    client_wake_at(c, c->paused_until);
    return;
  }
  if (c->single && W.depth > 0) { /* it blocks, and another one stands still in a call already */
    client_wake_at(c, W.now + between(MS, 10 * MS));
    return;
  }
  check_wakes(c);
  if (W.cfg.waiters) check_paces(c);
  check_reason(c);
  check_spin(c);
  c->happened = 0;
  c->busy = 1;
  actor_act(c);
  if (c->alive && !c->single) client_step(c);
  c->busy = 0;
  client_pause(c);
  client_arm(c);
}

/* ---- birth and death ---- */

static void write_list(struct client *c, int inline_password) {
  size_t size = 0;
  c->list[0] = 0;
  for (int i = 0; i < W.cfg.servers; i++) {
    int to = W.cfg.entry_server[i];
    size += (size_t)snprintf(c->list + size, sizeof c->list - size, "%sredis://%s%s%s%c%d/%d",
                             i ? "," : "", inline_password ? "default:" : "",
                             inline_password ? W.cfg.password : "", inline_password ? "@" : "",
                             to == i ? 's' : 't', to, W.cfg.db);
  }
}

static void fill_options(struct client *c, int inline_password) {
  redlock_options *o = &c->options;
  memset(o, 0, sizeof *o);
  o->server_timeout_ms = W.cfg.server_timeout_ms;
  o->retry_delay_min_ms = W.cfg.retry_min_ms;
  o->retry_delay_max_ms = W.cfg.retry_max_ms;
  o->max_attempts = W.cfg.max_attempts;
  o->drift_ppm = W.cfg.drift_ppm;
  o->max_hold_ms = W.cfg.max_hold_ms;
  o->keep_margin_ms = W.cfg.keep_margin_ms;
  o->max_ttl_ms = W.cfg.quarantine_ms;
  o->fencing = (uint32_t)W.cfg.fenced;
  if (W.cfg.password && !inline_password) o->password = W.cfg.password;
  c->io = sim_io;
  c->io.ctx = c;
  o->io = &c->io;
}

static void client_start(struct client *c) {
  int inline_password = W.cfg.password != NULL && one_in(2);
  redlock_status status;
  c->life++;
  c->busy = c->in_wait = c->woken = c->closing = 0;
  c->paused_until = 0;
  write_list(c, inline_password);
  fill_options(c, inline_password);
  memset(c->rl, 0xa5, c->lib->size);
  for (int i = 0; i < MAX_SERVERS; i++) {
    c->conn[i] = NULL;
    c->want[i] = 0;
    c->last_fd[i] = 0;
    c->last_generation[i] = 0;
    c->reach_since[i] = NEVER;
  }
  c->named_at = NEVER;
  c->stood = c->pushed_at = c->asked = W.now;
  for (int i = 0; i < c->slots; i++) {
    struct slot *s = &c->slot[i];
    memset(s, 0, sizeof *s);
    s->client = c->index;
    s->index = i;
    s->due = W.now + between(0, W.cfg.think_max);
    s->bound_ms = -1;
    s->value = -1;
  }
  W.quiet++;
  status = c->lib->init(c->rl, c->list, &c->options);
  W.quiet--;
  note(N_REBIRTH, c->index, c->life, status);
  if (status != REDLOCK_OK) violation("init: client %d: %d", c->index, status);
  c->alive = 1;
  c->wake = NEVER;
  client_wake_at(c, W.now + awakening());
}

static void client_reborn(struct client *c, uint32_t life) {
  if (!c->alive && c->life == life) client_start(c);
}

/* The process dies: its kernel closes its sockets, or its whole host is gone without a word. */
static void client_die(struct client *c) {
  int kind, host = one_in(3);
  c->alive = 0;
  c->life++; /* what it leaves behind has no owner any more */
  for (int i = 0; i < W.cfg.servers; i++) {
    struct conn *n = c->conn[i];
    if (!n) continue;
    c->conn[i] = NULL;
    excuse(n);
    kind = host ? CHUNK_DATA : one_in(2) ? CHUNK_FIN : CHUNK_RST;
    pipe_end(n, UP, kind, one_in(2));
    n->pipe[DOWN].cut = 1;
    n->client_gone = 1;
    conn_tidy(n);
  }
}

static void client_close(struct client *c) {
  int open = 0;
  int64_t before = client_ms(c);
  ns began = W.now;
  c->busy = c->closing = 1;
  c->lib->close(c->rl);
  for (int i = 0; i < W.cfg.servers; i++) open += c->conn[i] != NULL;
  if (open) violation("close: client %d leaves %d connections open", c->index, open);
  if (W.depth == 0 && W.odds[F_PAUSE_INSIDE] == 0 && !W.cfg.out_of_model && /* its clock may step */
      client_ms(c) - before > (int64_t)W.cfg.server_timeout_ms + 2)
    violation("close: client %d took %lld ns", c->index, W.now - began);
  c->alive = 0;
  c->life++;
  c->busy = 0;
}

#endif
