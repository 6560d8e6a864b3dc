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

static struct arg name_of(int resource) { return arg_of(W.name[resource]); }

static void stranger_tells(int server, int resource, int64_t size) {
  struct arg name = name_of(resource);
  note(N_STRANGER, server, resource, size);
  W.server[server].set_turn[resource] = ++W.key_turn;
  server_push(server, name.at, name.size, NULL);
}

/* Any bytes; some end as a great age does. */
static size_t draw_value(unsigned char *value) {
  size_t size = (size_t)(one_in(4) ? between(1, 60) : between(16, 40)), i;
  int tail = one_in(2);
  for (i = 0; i < size; i++) value[i] = (unsigned char)(tail && i >= 20 ? 0xff : below(256));
  return size;
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
  int from = pick(W.cfg.servers), list = one_in(6), i;
  int count = one_in(2) ? W.cfg.servers : (int)between(1, W.cfg.servers);
  for (i = 0; i < count; i++)
    if (!stranger_may_put((from + i) % W.cfg.servers, resource)) return 0;
  value.at = bytes;
  value.size = draw_value(bytes);
  t->holds = 1;
  t->like_ours = value.size == VALUE_BYTES + 3 && !list;
  if (t->like_ours) W.asked[resource]++; /* for all that can be told, it is someone older */
  for (i = 0; i < count; i++)
    stranger_puts((from + i) % W.cfg.servers, resource, value, list || one_in(16));
  T->strangers++;
  return 1;
}

/* Not yet where the server is down; elsewhere one after the other, or all at once. 1 = all gone. */
static int stranger_lets_go(int resource, int slowly) {
  int i, left = 0;
  for (i = 0; i < W.cfg.servers; i++) {
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

static ns draw_hold(void) { return one_in(2) ? skewed(MS, SEC) : skewed(SEC, 40 * SEC); }

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

/* Whether nobody holds it at a quorum of those who have told the waiter for so long. */
static int is_free_for(const struct client *c, int resource) {
  int i, count = 0;
  for (i = 0; i < W.cfg.servers; i++)
    count += tells_since(c, i, resource) <= W.now - BACK_OFF_S * SEC &&
             held_since(i, resource) == NEVER;
  return count >= quorum();
}

/* Another grant, and what is asked for later, begin anew. */
static void check_free(struct client *c) {
  const struct slot *s = &c->slot[0];
  ns begin = larger(c->asked, W.grant[s->resource].begin);
  if (s->state != S_ACQUIRING || s->lock.status != REDLOCK_PENDING ||
      !is_free_for(c, s->resource)) {
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
  int i;
  for (i = 0; i < W.cfg.resources && W.healed; i++) (void)stranger_lets_go(i, 0);
  if (W.healed) return;
  for (i = 0; i < W.cfg.clients; i++) check_free(&W.client[i]);
  schedule(W.now + 10 * MS, EV_FREE, 0, 0);
}

static void strangers_come(void) {
  int i;
  for (i = 0; i < W.cfg.resources; i++) schedule(skewed(MS, SEC), EV_STRANGER, i, 0);
  for (i = 0; i < W.cfg.liars; i++) W.server[i].liar = one_in(2) ? LIES_ALWAYS : LIES_WHERE_HELD;
  schedule(skewed(SEC, 10 * SEC), EV_TROUBLE, 0, 0);
  schedule(SEC, EV_FREE, 0, 0);
}

#endif
