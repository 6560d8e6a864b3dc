/* strangers.h: worlds of few waiters (R26). Other programs take a lock for a while, with values of
 * their own, or with a key of another type, at some servers or at all; meanwhile a minority lies
 * about ages (R16), errors pass, servers restart, and quarantines end.
 *
 * The oracle is R26's own words, in true time: soon after the lock is free at a quorum that tells,
 * some waiter has it: within the plain range, and a second more only where others wait too. How
 * many attempts waiters make meanwhile is looked at in paces.h. */
#ifndef SIM_STRANGERS_H
#define SIM_STRANGERS_H

#include "fencing.h"

static void stranger_tells(int server, int resource, int64_t size) {
  struct arg name = name_of(resource);
  note(N_STRANGER, server, resource, size);
  W.server[server].set_turn[resource] = ++W.key_turn;
  server_push(server, name.at, name.size, NULL, 0);
}

/* Any bytes; some end as a great age does. Where all is pushed for nothing, half of the worlds know
 * no values but those of newcomers: there a waiter can tell that the lock has not changed hands,
 * and nobody goes before it. */
static size_t draw_value(unsigned char *value) {
  size_t size = (size_t)(one_in(4) ? between(1, 60) : between(16, 40)), i;
  int tail = one_in(2);
  for (i = 0; i < size; i++) value[i] = (unsigned char)(tail && i >= 20 ? 0xff : below(256));
  if (!(W.cfg.pushes_ms & 0x55)) return size;
  for (; i < VALUE_BYTES; i++) value[i] = (unsigned char)below(256);
  value[VALUE_BYTES] = value[VALUE_BYTES + 1] = 0;
  value[VALUE_BYTES + 2] = (unsigned char)between(1, NEWCOMER_AGE);
  return VALUE_BYTES + 3;
}

static int stranger_may_put(int server, int resource) {
  const struct server *s = &W.server[server];
  return !s->down && !s->frozen_until && !s->store.replica &&
         !key_of(&W.server[server], resource, W.cfg.db);
}

static void stranger_puts(int server, int resource, struct arg value, int list) {
  struct server *s = &W.server[server];
  struct key *k;
  s->store.now_ms = server_ms(s);
  k = store_put(&s->store, W.cfg.db, name_of(resource), value, 3600 * 1000);
  if (!k) return;
  k->list = list;
  k->set_at = W.now;
  stranger_tells(server, resource, (int64_t)value.size);
}

/* Where it is free, if it is so at all that it wants. */
static int stranger_takes(int resource) {
  struct stranger *t = &W.stranger[resource];
  unsigned char bytes[STORE_VALUE];
  struct arg value;
  int from = pick(W.cfg.servers), list = one_in(6);
  int count = one_in(2) ? W.cfg.servers : (int)between(1, W.cfg.servers);
  for (int i = 0; i < count; i++)
    if (!stranger_may_put((from + i) % W.cfg.servers, resource)) return 0;
  value.at = bytes;
  value.size = draw_value(bytes);
  t->holds = 1;
  t->like_ours = value.size == VALUE_BYTES + 3 && !list;
  if (t->like_ours) W.asked[resource]++; /* for all that can be told, it is someone older */
  for (int i = 0; i < count; i++)
    stranger_puts((from + i) % W.cfg.servers, resource, value, list || one_in(16));
  T->strangers++;
  return 1;
}

/* Not yet where the server is down; elsewhere one after the other, or all at once. 1 = all gone. */
static int stranger_lets_go(int resource, int slowly) {
  int left = 0;
  for (int i = 0; i < W.cfg.servers; i++) {
    struct key *k = key_of(&W.server[i], resource, W.cfg.db);
    if (!k || value_of(k->value, k->value_size) >= 0) continue;
    if (W.server[i].down || W.server[i].frozen_until || (slowly && one_in(2))) left++;
    else {
      if (k->list) W.server[i].troubled_at = W.now; /* till now it erred */
      k->used = 0;
      stranger_tells(i, resource, -1);
    }
  }
  return left == 0;
}

/* For long where it can be told that it has not changed. */
static ns draw_hold(void) {
  if (W.cfg.pushes_ms & 0x55) return between(10 * SEC, 40 * SEC);
  return one_in(2) ? skewed(MS, SEC) : skewed(SEC, 40 * SEC);
}

static void on_stranger(int resource) {
  struct stranger *t = &W.stranger[resource];
  ns next = W.now + between(MS, 20 * MS);
  if (!t->holds && W.healed) return;
  if (!t->holds) {
    if (stranger_takes(resource)) next = W.now + draw_hold();
  } else if (stranger_lets_go(resource, one_in(4))) {
    t->holds = t->like_ours = 0;
    next = W.now + skewed(MS, 3 * SEC);
  }
  schedule(next, EV_STRANGER, resource, 0);
}

static void on_trouble(void) {
  int server = pick(W.cfg.servers);
  struct server *s = &W.server[server];
  ns length = skewed(MS, 3 * SEC);
  if (W.healed) return;
  schedule(W.now + skewed(50 * MS, 8 * SEC), EV_TROUBLE, 0, 0);
  if (W.cfg.errs && one_in(2)) {
    s->error = 1 + (int)below(STORE_ERROR_READONLY);
    s->error_until = W.now + length;
    note(N_FAULT, F_ERROR_REPLY, server, length);
  } else if (W.cfg.restarts) {
    int kept = W.cfg.quarantine_ms ? KEEP_NONE : KEEP_ALL;
    note(N_FAULT, kept == KEEP_ALL ? F_CRASH_ALL : F_CRASH_NONE, server, length);
    server_crash(server, kept, 0, length);
  }
}

/* More than the back-off that a push costs which an earlier trouble has lost. */
enum { BACK_OFF_S = 3 };

/* Whether nobody holds it there, and the server has told the waiter for so long. */
static int is_free_at(const struct client *c, int entry, int resource) {
  return tells_since(c, entry, resource) <= W.now - BACK_OFF_S * SEC &&
         held_since(entry, resource) == NEVER;
}

static int is_free_for(const struct client *c, int resource) {
  int count = 0;
  for (int i = 0; i < W.cfg.servers; i++) count += is_free_at(c, i, resource);
  return count >= quorum();
}

/* Whether it knows so of a quorum of those that are not slow. */
static int knows_quick_ones(const struct client *c, const struct slot *s) {
  int count = 0;
  for (int i = W.cfg.slow; i < W.cfg.servers; i++)
    count += is_free_at(c, i, s->resource) && wake_knows(c, s, i) < NEVER;
  return count >= quorum();
}

/* Whether a waiter is alone, and has been woken for nothing by nobody: whoever held the lock, for
 * however long, and however often its timer looked. */
static int is_alone(const struct client *c, const struct slot *s) {
  return !has_queued(s) && c->drawn - s->drawn_before >= 3 && woken_in_a_row(c, s) == 0;
}

/* What an attempt takes at quick servers, which then lingers for as long again (R6); its back-off
 * (R9), and a turn among none; for an attempt that was under way, and for the one that follows. On
 * a slow clock of whole ms, which is looked at each 10 ms. */
static ns quick_bound(void) {
  ns attempt = 4 * W.cfg.latency_max + 2 * MS, slot = 2 * attempt + MS;
  return 2 * (attempt + slot + 3 * MS) / 10 * 12 + 10 * MS;
}

/* Such a waiter has it at once, however slow a minority is (R16). */
static void check_quick(struct client *c, const struct slot *s) {
  T->alone += (unsigned)is_alone(c, s);
  if (!is_alone(c, s) || !knows_quick_ones(c, s)) {
    c->quick_at = NEVER;
    return;
  }
  if (c->quick_at == NEVER) c->quick_at = W.now;
  if (W.now <= c->quick_at + quick_bound()) return;
  violation("R26: client %d, which is alone, has known for %lld ms that resource %d is free at a "
            "quorum of quick servers, and does not have it", c->index,
            (W.now - c->quick_at) / MS, s->resource);
}

/* Another grant, and what is asked for later, begin anew. */
static void check_free(struct client *c) {
  const struct slot *s = &c->slot[0];
  ns begin = larger(c->asked, W.grant[s->resource].begin);
  int waits = s->state == S_ACQUIRING && s->lock.status == REDLOCK_PENDING;
  if (waits) check_quick(c, s);
  else c->quick_at = NEVER;
  if (!waits || !is_free_for(c, s->resource)) {
    c->free_at = NEVER;
    return;
  }
  if (c->free_at == NEVER || c->free_at < begin) c->free_at = W.now;
  T->frees++;
  if (W.now <= c->free_at + wake_bound(c, s, c->free_at)) return;
  violation("R26: resource %d has been free for %lld ms at a quorum that tells client %d, and "
            "nobody has it", s->resource, (W.now - c->free_at) / MS, c->index);
}

/* Strangers let go when the world heals. */
static void on_free(void) {
  for (int i = 0; i < W.cfg.resources && W.healed; i++) (void)stranger_lets_go(i, 0);
  if (W.healed) return;
  for (int i = 0; i < W.cfg.clients; i++) check_free(&W.client[i]);
  schedule(W.now + 10 * MS, EV_FREE, 0, 0);
}

/* All that is tracked is pushed, as if there were no room for it. */
static void on_pushes(void) {
  if (W.healed) return;
  for (int i = 0; i < W.cfg.servers; i++)
    for (int k = 0; k < W.cfg.resources; k++)
      server_push(i, name_of(k).at, name_of(k).size, NULL, 0);
  T->vain_pushes++;
  schedule(W.now + between(US, 2 * W.cfg.pushes_ms * MS), EV_PUSHES, 0, 0);
}

static void strangers_come(void) {
  for (int i = 0; i < W.cfg.resources; i++) schedule(skewed(MS, SEC), EV_STRANGER, i, 0);
  for (int i = 0; i < W.cfg.liars; i++)
    W.server[i].liar = one_in(2) ? LIES_ALWAYS : LIES_WHERE_HELD;
  schedule(skewed(SEC, 10 * SEC), EV_TROUBLE, 0, 0);
  schedule(SEC, EV_FREE, 0, 0);
  if (W.cfg.pushes_ms) schedule(SEC, EV_PUSHES, 0, 0);
}

#endif
