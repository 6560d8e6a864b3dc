/* user.h: what users do with locks: take them, with and without waiting, work, extend, keep,
 * release, change their minds, misuse the calls, or simply forget. Each slot is one lock in some
 * user's hand. */
#ifndef SIM_USER_H
#define SIM_USER_H

#include "single_attempt_client.h"

/* Which status an operation can end with, as a place in the totals. Operation 0, and INVALID, stand
 * for every call out of order. */
static int is_expected(int operation, int place) {
  static const char *const expected[OPERATIONS] = {"7", "123458", "13468", "13458", "3468"};
  return strchr(expected[operation], '0' + place) != NULL;
}

static void count_status(int operation, redlock_status status) {
  T->status[operation][REDLOCK_PENDING - status]++;
}

static ns think(void) { return W.now + skewed(10 * US, W.cfg.think_max); }

/* When the user of an idle lock wants it again. */
static ns next_start(const struct slot *s) {
  int single = W.client[s->client].single;
  if (single && (W.hurry || s->lock.status == REDLOCK_NO_QUORUM)) return next_attempt();
  return W.winding && !single ? NEVER : think();
}

/* R11: a server keeps room until the reply that is timed is overdue, or comes, and then the last
 * one is. Answers that a quorum owes keep it too, until connections are given up: 6 s behind the
 * last sign of life (R13). */
static void set_bound(struct client *c, struct slot *s, int64_t more_ms) {
  int64_t queue_ms = 2 * ((int64_t)W.cfg.server_timeout_ms + 3);
  if (!W.cfg.light) queue_ms = (queue_ms + 6000) * (1 + (int64_t)c->slots);
  s->bound_ms = client_ms(c) + more_ms + W.cfg.server_timeout_ms + 2 + queue_ms;
  if (W.cfg.out_of_model) s->bound_ms = -1; /* its clock may be stepped */
}

/* The library has nothing to do with this lock: the memory is the user's again. */
static void forget(struct slot *s) {
  memset(&s->lock, 0, sizeof s->lock);
  s->lock.user = s;
}

static void become_idle(struct slot *s) {
  s->state = S_IDLE;
  s->deadline_ms = 0;
  s->bound_ms = -1;
  s->probe = 0;
  s->due = next_start(s);
}

/* Only the single waiter of the end does not give up. */
static void become_idle_or_ask_again(struct slot *s) {
  if (!s->probe) {
    become_idle(s);
    return;
  }
  s->state = S_IDLE;
  s->due = W.now + 100 * MS;
}

/* Nobody wants it any more, and nobody says so: its keys stay. */
static void let_lie(struct slot *s) {
  s->value = -1;
  forget(s);
  become_idle(s);
}

#include "handover.h"

/* ---- what comes back ---- */

/* R23, and what each status must look like in the votes. An adoption is TAKEN where more than
   N - quorum servers say that the given value is not there; to it a refused token says nothing of
   the lock (R28). */
static void check_classification(const struct slot *s) {
  int absent = 0, yes = 0, gone = 0, spare = W.cfg.servers - quorum(), none_decided;
  redlock_status status = s->lock.status;
  for (int i = 0; i < W.cfg.servers; i++) {
    redlock_vote v = s->lock.votes[i];
    T->vote[v]++;
    yes += v == REDLOCK_VOTE_YES;
    gone += v == REDLOCK_VOTE_TAKEN;
    absent += v >= REDLOCK_VOTE_TIMEOUT && v != REDLOCK_VOTE_LOW;
  }
  if ((status == REDLOCK_OK || status == REDLOCK_EXPIRED) && yes < quorum())
    slot_fails(s, "R5", "says %d with %d votes", status, yes);
  none_decided = s->adopts ? gone <= spare : absent > spare;
  if ((status == REDLOCK_NO_QUORUM) != none_decided && status != REDLOCK_SYSTEM &&
      status != REDLOCK_OK && status != REDLOCK_EXPIRED)
    slot_fails(s, "R23", "says %d while %d of %d gave no answer", status, absent, W.cfg.servers);
}

static ns when_to_act(struct slot *s, int64_t left_ms) {
  if (s->probe) return W.now;
  if (W.hurry && W.client[s->client].single) return next_attempt();
  if (one_in(8)) return W.now + skewed(0, left_ms * 3 * MS); /* perhaps too late */
  if ((W.cfg.fenced || W.cfg.hands) && !one_in(8)) return W.now + skewed(0, MS);
  return W.now + skewed(0, left_ms * MS);
}

static void on_acquired(struct client *c, struct slot *s) {
  int64_t left = remaining_of(c, s);
  redlock_status status = s->lock.status;
  check_classification(s);
  check_attempt(c, s);
  s->bound_ms = -1;
  if (status == REDLOCK_OK) {
    if (left <= 0) slot_fails(s, "R1", "is handed a lock whose validity has passed");
    s->state = S_HELD;
    s->granted_ms = client_ms(c);
    s->deadline_ms = s->granted_ms + left;
    s->hold_ms = W.cfg.max_hold_ms;
    s->due = when_to_act(s, left);
    grant_begins(s, client_when(c, s->deadline_ms));
    W.given[s->resource].attempts = 0;
    T->adoptions += (unsigned)s->adopts;
    if (!s->probe) return;
    W.probes_left--;
    T->probes++;
    return;
  }
  if (s->lock.token)
    slot_fails(s, "R25", "has a token without a lock (status %d)", s->lock.status);
  T->adoptions_refused += (unsigned)s->adopts;
  if (left) slot_fails(s, "R22", "has no lock, and %lld ms remain", (long long)left);
  become_idle_or_ask_again(s);
}

static void on_extended(struct client *c, struct slot *s) {
  redlock_status status = s->lock.status;
  s->bound_ms = -1;
  look_at_lock(c, s);
  if (s->state == S_KEPT) check_given_up(s, remaining_of(c, s));
  s->state = S_HELD;
  s->due = when_to_act(s, remaining_of(c, s));
  if (status == REDLOCK_OK && remaining_of(c, s) <= 0)
    slot_fails(s, "R1", "is handed an extension whose validity has passed");
  if (status != REDLOCK_EXPIRED) return;
  if (remaining_of(c, s)) slot_fails(s, "R19", "is lost, and still remains");
  lock_is_lost(c, s);
  become_idle(s);
}

/* Who keeps a lock while all servers restart, one by one: rolling.h. */
static int is_keeper(const struct client *c) {
  return W.cfg.rolls && c->index == 0 && !W.healed;
}

static void actor_returned(struct client *c, struct slot *s) {
  static const int expected[SLOT_STATES] = {0, REDLOCK_ACQUIRE, 0, REDLOCK_LOST, REDLOCK_EXTEND,
                                            REDLOCK_RELEASE};
  redlock_status status = s->lock.status;
  T->operations++;
  if ((int)s->lock.operation != expected[s->state] || status == REDLOCK_PENDING ||
      status < REDLOCK_SYSTEM) {
    slot_fails(s, "invariant 6", "in state %d is returned as operation %d, status %d", s->state,
               s->lock.operation, status);
    return;
  }
  count_status((int)s->lock.operation, status);
  if (!is_expected((int)s->lock.operation, REDLOCK_PENDING - status) ||
      status == REDLOCK_CANCELLED)
    slot_fails(s, "status", "gets %d from operation %d", status, s->lock.operation);
  if (s->state == S_KEPT && is_keeper(c))
    violation("R29: the kept lock is lost, though no two servers lacked a vote at once: status %d",
              status);
  if (s->state == S_ACQUIRING) on_acquired(c, s);
  else if (s->state == S_RELEASING) become_idle(s);
  else on_extended(c, s);
}

/* A blocking call has returned. */
static void returned(struct client *c, struct slot *s, redlock_status status, ns began) {
  int64_t bound_ms = s->bound_ms;
  T->blocking++;
  forgive(c, W.now - began); /* the other locks' decisions had to wait */
  s->bound_ms = bound_ms;
  note(N_STARTED, c->index, s->index, status);
  if (status != s->lock.status)
    slot_fails(s, "status", "gets %d, and the lock says %d", status, s->lock.status);
  if (s->bound_ms >= 0 && client_ms(c) > s->bound_ms)
    slot_fails(s, "invariant 5", "waits %lld ms too long in a blocking call",
               (long long)(client_ms(c) - s->bound_ms));
  actor_returned(c, s);
  look_at_all(c);
}

static int may_block(const struct client *c) {
  if (c->single) return 1;
  return W.depth == 0 && !W.winding && !W.odds[F_CLIENT_STEP] && one_in(8);
}

/* ---- the calls ---- */

/* What the slot is about to do: an attempt to acquire, or to adopt. */
static redlock_status ask_library(struct client *c, struct slot *s, int blocks, uint32_t wait_ms) {
  const char *name = W.name[s->resource];
  if (s->adopts)
    return (blocks ? c->lib->adopt : c->lib->start_adopt)(c->rl, &s->lock, name, s->ttl_ms,
                                                          s->given);
  return (blocks ? c->lib->acquire : c->lib->start_acquire)(c->rl, &s->lock, name, s->ttl_ms,
                                                            wait_ms);
}

static void start_acquire(struct client *c, struct slot *s, uint32_t wait_ms) {
  int64_t wait = wait_ms == REDLOCK_FOREVER ? 0 : wait_ms;
  int blocks = wait_ms != REDLOCK_FOREVER && may_block(c);
  ns began = W.now;
  redlock_status status;
  if (c->single) single_looks(c);
  c->pushed_at = c->asked = W.now;
  s->value = -1;
  s->deadline_ms = 0;
  memset(&s->lock, s->probe ? 0 : (int)below(256), sizeof s->lock); /* it need not be zeroed */
  s->lock.user = s;
  note(N_START, c->index, s->index, s->resource);
  note_queue(c, s);
  set_bound(c, s, wait);
  if (wait_ms == REDLOCK_FOREVER) s->bound_ms = -1;
  s->state = S_ACQUIRING;
  s->due = NEVER;
  c->happened = 1;
  s->lock.status = REDLOCK_PENDING;
  status = ask_library(c, s, blocks, wait_ms);
  if (blocks && s->lock.status != REDLOCK_PENDING) { /* else it never began */
    returned(c, s, status, began);
    return;
  }
  note(N_STARTED, c->index, s->index, status);
  if (status == REDLOCK_PENDING) {
    if (!s->probe && one_in(8)) s->due = think();
    return;
  }
  forget(s);
  count_status(REDLOCK_ACQUIRE, status);
  if (status != REDLOCK_SYSTEM) slot_fails(s, "status", "gets %d from start_acquire", status);
  become_idle_or_ask_again(s);
}

/* An extension that was refused at once changed nothing. */
static void on_not_started(struct client *c, struct slot *s, redlock_status status) {
  int alive = client_ms(c) < s->deadline_ms;
  count_status(REDLOCK_EXTEND, status);
  if (status == REDLOCK_EXPIRED ? alive && remaining_of(c, s) > 0
                                : status != REDLOCK_LIMIT && status != REDLOCK_SYSTEM)
    slot_fails(s, "status", "gets %d from extend", status);
  s->due = think();
  if (status == REDLOCK_EXPIRED) become_idle(s);
}

static void start_extend(struct client *c, struct slot *s) {
  uint32_t ttl = (uint32_t)between(W.cfg.ttl_min_ms, W.cfg.ttl_max_ms);
  int blocks;
  ns began = W.now;
  redlock_status status;
  note(N_EXTEND, c->index, s->index, ttl);
  set_bound(c, s, W.cfg.server_timeout_ms + 3); /* a lost one waits for room for its release */
  s->due = NEVER;
  c->happened = 1;
  blocks = may_block(c);
  if (blocks) s->state = S_EXTENDING;
  status = (blocks ? c->lib->extend : c->lib->start_extend)(c->rl, &s->lock, ttl);
  if (blocks && s->lock.operation == REDLOCK_EXTEND && s->lock.status == status &&
      status != REDLOCK_LIMIT && status != REDLOCK_PENDING) {
    returned(c, s, status, began);
    return;
  }
  note(N_STARTED, c->index, s->index, status);
  if (!blocks) s->state = status == REDLOCK_PENDING ? S_EXTENDING : S_HELD;
  if (status == REDLOCK_PENDING) {
    if (!blocks && one_in(8)) s->due = think();
    return;
  }
  look_at_lock(c, s);
  s->state = S_HELD;
  on_not_started(c, s, status);
}

static void start_release(struct client *c, struct slot *s) {
  int acquiring = s->state == S_ACQUIRING, blocks;
  int stands = s->value >= 0 && client_ms(c) < s->deadline_ms;
  enum slot_state before = s->state;
  long value = s->value;
  ns began = W.now;
  redlock_status status;
  note(N_RELEASE, c->index, s->index, s->value);
  s->due = NEVER;
  c->happened = 1;
  if (!acquiring) grant_ends(s); /* it ends when release is called */
  s->deadline_ms = 0;
  set_bound(c, s, W.cfg.server_timeout_ms + 3);
  blocks = !acquiring && may_block(c);
  if (blocks) s->state = S_RELEASING;
  status = (blocks ? c->lib->release : c->lib->start_release)(c->rl, &s->lock);
  if (blocks && s->lock.operation == REDLOCK_RELEASE && s->lock.status == status) {
    returned(c, s, status, began);
    return;
  }
  note(N_STARTED, c->index, s->index, status);
  count_status(REDLOCK_RELEASE, status);
  s->state = S_RELEASING;
  if (status == REDLOCK_PENDING) {
    if (one_in(8)) s->due = think();
    return;
  }
  if (((status == REDLOCK_EXPIRED && !blocks) || status == REDLOCK_INVALID) &&
      !acquiring && before != S_HELD && !stands) { /* a known loss is still to be returned */
    s->state = before;
    return;
  }
  if (status != REDLOCK_SYSTEM && status != (acquiring ? REDLOCK_CANCELLED : REDLOCK_EXPIRED))
    slot_fails(s, "status", "gets %d from start_release", status);
  if (status == REDLOCK_SYSTEM) { /* nothing was done, and this user does not try again */
    if (value >= 0) W.value[value].is_granted = 1;
    forget(s);
  }
  if (status == REDLOCK_EXPIRED && stands && !W.cfg.out_of_model && !W.odds[F_NO_CLOCK])
    slot_fails(s, "R21", "releases a lock that was held, and nothing is sent");
  become_idle(s);
}

/* After it the lock is out of the client's hands: held after an extension or keep, else free. */
static void cancel(struct client *c, struct slot *s) {
  redlock_status status;
  note(N_CANCEL, c->index, s->index, s->state);
  c->happened = 1;
  status = c->lib->cancel(c->rl, &s->lock);
  s->bound_ms = -1;
  if (status != REDLOCK_OK)
    slot_fails(s, "status", "in state %d gets %d from cancel", s->state, status);
  if (s->state == S_KEPT || s->state == S_EXTENDING) {
    look_at_lock(c, s);
    s->state = S_HELD;
    s->due = think();
    return;
  }
  count_status(s->state == S_ACQUIRING ? REDLOCK_ACQUIRE : REDLOCK_RELEASE, REDLOCK_CANCELLED);
  become_idle(s);
}

static void keep(struct client *c, struct slot *s) {
  uint32_t limit = is_keeper(c) || one_in(2) ? 0
                                             : (uint32_t)between(1, 4 * (int64_t)W.cfg.ttl_max_ms);
  redlock_status status = c->lib->keep(c->rl, &s->lock, limit);
  note(N_KEEP, c->index, s->index, limit);
  c->happened = 1;
  if (status == REDLOCK_OK) {
    s->hold_ms = limit ? limit : W.cfg.max_hold_ms;
    s->state = S_KEPT;
    s->overdue = 0;
    s->due = W.now + skewed(MS, W.cfg.fenced ? 4 * (ns)W.cfg.ttl_max_ms * MS : W.cfg.duration / 4);
    if (is_keeper(c)) s->due = NEVER;
    return;
  }
  on_not_started(c, s, status);
}

/* Calls that make no sense must be refused, and change nothing. */
static void misuse(struct client *c, struct slot *s) {
  redlock_status status = REDLOCK_INVALID;
  int pending = s->state != S_IDLE && s->state != S_HELD;
  switch (below(5)) {
    case 0:
      if (pending) status = c->lib->start_acquire(c->rl, &s->lock, "x", 1000, 0);
      break;
    case 1:
      if (pending && s->state != S_KEPT) status = c->lib->start_extend(c->rl, &s->lock, 1000);
      break;
    case 2:
      if (s->state == S_HELD) status = c->lib->cancel(c->rl, &s->lock);
      break;
    case 3:
      if (s->state == S_RELEASING) status = c->lib->keep(c->rl, &s->lock, 0);
      break;
    default:
      if (W.cfg.quarantine_ms && s->state == S_HELD && s->deadline_ms - client_ms(c) > 0)
        status = c->lib->start_extend(c->rl, &s->lock, W.cfg.quarantine_ms + 1);
  }
  if (status == REDLOCK_EXPIRED || status == REDLOCK_SYSTEM) return; /* as good a refusal */
  count_status(0, status);
  if (status != REDLOCK_INVALID)
    slot_fails(s, "misuse", "in state %d: a call out of order says %d", s->state, status);
}

/* ---- what to do next ---- */

static uint32_t draw_wait(void) {
  if (W.cfg.waiters && !one_in(8)) return REDLOCK_FOREVER;
  switch (below(4)) {
    case 0: return 0;
    case 1: return (uint32_t)between(1, 2 * (int64_t)W.cfg.server_timeout_ms);
    case 2: return (uint32_t)between(1, 5000);
    default: return one_in(4) ? REDLOCK_FOREVER : (uint32_t)between(1, 1000);
  }
}

/* Whether all servers have had the value of the kept lock since it was granted: a server that was
 * not connected then gets it with an extension, unless attempts of others keep it busy. */
static int keeper_is_everywhere(void) {
  struct slot *s = &W.client[0].slot[0];
  if (s->state != S_KEPT) s->everywhere = 0;
  else if (!s->everywhere) s->everywhere = holders(s) == W.cfg.servers - has_alias();
  return s->everywhere;
}

static void act_idle(struct client *c, struct slot *s) {
  if (W.winding && !s->probe && !c->single) {
    s->due = NEVER;
    return;
  }
  if (W.cfg.rolls && c->index && !W.healed && !keeper_is_everywhere()) {
    s->due = W.now + 10 * MS; /* the keeper comes first, and has it on all servers */
    return;
  }
  s->adopts = 0;
  if (!s->probe) s->resource = pick(W.cfg.resources);
  s->ttl_ms = s->probe || W.hurry ? W.cfg.ttl_max_ms
                                  : (uint32_t)skewed(W.cfg.ttl_min_ms, W.cfg.ttl_max_ms);
  s->adopts = wants_to_adopt(s);
  start_acquire(c, s, s->probe || is_keeper(c) ? REDLOCK_FOREVER
                      : c->single || s->adopts ? 0 : draw_wait());
}

static void act_held(struct client *c, struct slot *s) {
  uint32_t what;
  if (is_keeper(c)) { /* with time for an extension, at least */
    int64_t least_ms = 2 * (int64_t)W.cfg.server_timeout_ms + W.cfg.keep_margin_ms;
    if (remaining_of(c, s) > least_ms) keep(c, s);
    else start_release(c, s);
    return;
  }
  if (s->probe || c->single || W.winding == 1 || W.cfg.rolls || (W.cfg.waiters && !one_in(4))) {
    start_release(c, s);
    return;
  }
  if (W.winding) {
    let_lie(s);
    return;
  }
  if (W.cfg.hands && s->value >= 0 && !one_in(4)) {
    hand_over(c, s);
    return;
  }
  what = W.cfg.fenced && !one_in(16) ? 0 : below(8); /* there, many grants count */
  if (what < 3) start_release(c, s);
  else if (what < 6) start_extend(c, s);
  else if (what < 7) keep(c, s);
  else let_lie(s); /* it lapses by itself */
}

static void act_pending(struct client *c, struct slot *s) {
  if (s->state == S_RELEASING || s->probe) {
    s->due = NEVER;
    if (!s->probe) cancel(c, s);
  } else if (one_in(2) || (s->state != S_ACQUIRING && W.winding)) {
    start_release(c, s);
  } else {
    cancel(c, s);
  }
}

static void act(struct client *c, struct slot *s) {
  s->due = NEVER;
  if (one_in(32)) misuse(c, s);
  if (W.failed) return;
  if (s->state == S_IDLE) act_idle(c, s);
  else if (s->state == S_HELD) act_held(c, s);
  else act_pending(c, s);
}

static void burst(struct client *c) {
  for (int i = 0; i < c->slots && !W.failed; i++)
    if (c->slot[i].state == S_IDLE && !W.winding) act_idle(c, &c->slot[i]);
}

static void actor_act(struct client *c) {
  if (fault(F_CLIENT_CRASH)) {
    client_die(c);
    schedule(W.now + skewed(MS, 10 * SEC), EV_REBIRTH, c->index, c->life);
    return;
  }
  if (W.depth == 0 && W.odds[F_CLIENT_CRASH] && !W.healed && one_in(20000)) {
    client_close(c);
    schedule(W.now + MS, EV_REBIRTH, c->index, c->life);
    return;
  }
  if (fault(F_BURST)) burst(c);
  for (int i = 0; i < c->slots && !W.failed; i++)
    for (int turn = 0; c->slot[i].due <= W.now && turn < 4 && !W.failed; turn++)
      act(c, &c->slot[i]);
  look_at_all(c);
}

/* After healing everyone comes to an end: 1 = releasing what they hold, 2 = leaving it lie. */
static void wind_down(struct client *c) {
  c->paused_until = W.now; /* no one sleeps any longer */
  for (int i = 0; i < c->slots; i++) {
    struct slot *s = &c->slot[i];
    if (s->state == S_IDLE && !s->probe) s->due = next_start(s);
    if (s->state == S_HELD || s->state == S_KEPT || s->state == S_ACQUIRING)
      s->due = W.now + between(0, 10 * MS);
  }
  if (c->alive && !c->busy) client_wake_at(c, W.now);
}

#endif
