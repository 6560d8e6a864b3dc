/* paces.h: how many attempts waiters make in worlds of strangers (strangers.h), by R26's words:
 * with pushes at work a waiter sends next to nothing while the lock is held, whichever servers hold
 * its key, are down, err or are in quarantine, as long as a quorum tells; and wake-ups for nothing
 * are answered more and more rarely, until it changes hands. What is true of the servers counts
 * here, whatever a client knows of them. */
#ifndef SIM_PACES_H
#define SIM_PACES_H

#include "wake.h"

/* Since when a server has been fit to answer; NEVER = it is not. */
static inline ns fit_since(const struct server *s) {
  if (s->down || s->frozen_until || s->liar || s->store.replica || W.now < s->error_until)
    return NEVER;
  return larger(s->troubled_at, s->error_until);
}

/* Since when it has been so for this client, which is connected to it, and trusts its memory. */
static inline ns fit_for(const struct client *c, int entry) {
  const struct conn *n = c->conn[entry];
  if (!n || !stands_at(n, n->server) || n->silent || !n->ready_at) return NEVER;
  if (W.now < doubted_until(n)) return NEVER;
  return larger(larger(n->ready_at, doubted_until(n)), fit_since(&W.server[n->server]));
}

/* Since when it has told the client of changes. It errs where the key is of another type. */
static inline ns tells_since(const struct client *c, int entry, int resource) {
  ns fit = fit_for(c, entry);
  const struct key *k = key_of(&W.server[W.cfg.entry_server[entry]], resource, W.cfg.db);
  return fit == NEVER || (k && k->list) || !c->conn[entry]->session.tracks ? NEVER : fit;
}

/* Since when the key has been there, and no attempt under way has set it; NEVER = not so. What
 * an attempt leaves behind where a server refuses its release is one that nobody holds. */
static inline ns held_since(int server, int resource) {
  const struct key *k = key_of(&W.server[server], resource, W.cfg.db);
  long value = k ? value_of(k->value, k->value_size) : -1;
  ns over;
  if (!k) return NEVER;
  if (value < 0) return larger(k->set_at, W.server[server].troubled_at);
  if (W.grant[resource].value == value) return larger(k->set_at, W.grant[resource].begin);
  over = W.value[value].drawn + 2 * ((ns)W.cfg.server_timeout_ms + 2) * MS;
  return over <= W.now ? over : NEVER;
}

/* Since when a quorum has told the client. */
static inline ns told_since(const struct client *c, int resource) {
  ns since[MAX_SERVERS] = {0};
  for (int i = 0; i < W.cfg.servers; i++) since[i] = tells_since(c, i, resource);
  return nth_earliest(since, W.cfg.servers, quorum());
}

/* Since when nobody can get the lock, whoever else may be free. */
static inline ns taken_since(int resource) {
  ns since[MAX_SERVERS] = {0};
  for (int i = 0; i < W.cfg.servers; i++) since[i] = held_since(W.cfg.entry_server[i], resource);
  return nth_earliest(since, W.cfg.servers, W.cfg.servers - quorum() + 1);
}

/* While nothing has changed since then: at most so many attempts in so long, and one more for each
 * push that is heard, of servers that do not count. */
static inline void check_pace(const struct client *c, struct pace *p, ns since, ns length,
                              unsigned most, const char *why) {
  if (p->from == NEVER || since > p->from) {
    p->from = since < NEVER ? W.now : NEVER;
    p->drawn = c->drawn;
    p->heard = c->heard;
  }
  if (p->from == NEVER) return;
  if (c->drawn - p->drawn > most + c->heard - p->heard)
    violation("R26: client %d has made %u attempts in %lld ms, though %s", c->index,
              c->drawn - p->drawn, (W.now - p->from) / MS, why);
  if (W.now - p->from < length) return;
  T->paces++;
  T->rare_paces += p == &c->rare;
  p->from = NEVER;
}

enum { TOLD_S = 4, TOLD_MOST = 8 };

/* Whoever is told backs off for a second or more. */
static inline ns told_in_vain_since(const struct client *c, const struct slot *s) {
  ns since = larger(told_since(c, s->resource), taken_since(s->resource));
  for (int i = 0; i < W.cfg.servers && since < NEVER; i++)
    if (c->conn[i]) since = larger(since, c->conn[i]->ready_at);
  return larger(since, c->asked);
}

enum { HURRIED_S = 2, HURRIED_MOST = 10 * HURRIED_S + 4, RARE_S = 4, RARE_MOST = 10 };

/* Whether two servers have one value of a resource. */
static inline int hold_alike(int server, int other, int resource) {
  const struct key *a = key_of(&W.server[server], resource, W.cfg.db);
  const struct key *b = key_of(&W.server[other], resource, W.cfg.db);
  return a && b && a->value_size == b->value_size && !memcmp(a->value, b->value, a->value_size);
}

/* Since when a quorum that tells no lies has had the value that this server has; NEVER = it has
 * not. Beside one liar of two that hold it, each new lie may look like another holder. */
static inline ns shared_since(int server, int resource) {
  ns since[MAX_SERVERS] = {0};
  for (int i = 0; i < W.cfg.servers; i++) {
    int other = W.cfg.entry_server[i];
    int counts = hold_alike(server, other, resource) && !W.server[other].liar;
    since[i] = counts ? held_since(other, resource) : NEVER;
  }
  return nth_earliest(since, W.cfg.servers, quorum());
}

/* Since when a quorum has had one value, whatever attempts find or leave beside it. */
static inline ns held_by_one_since(int resource) {
  ns since = NEVER;
  for (int i = 0; i < W.cfg.servers; i++)
    since = smaller(since, shared_since(W.cfg.entry_server[i], resource));
  return since;
}

/* Whether a quorum's values tell an age. If not, another library holds it, or a key of another type
 * does: what was pushed a second later may be of another holder, for all that a waiter knows. */
static inline int tells_ages(int resource) {
  int count = 0;
  for (int i = 0; i < W.cfg.servers; i++) {
    const struct key *k = key_of(&W.server[i], resource, W.cfg.db);
    count += k && !k->list && k->value_size == VALUE_BYTES + 3;
  }
  return count >= quorum();
}

/* Whether the last attempt was told of the holder by more than N - quorum servers, in its own time:
 * no less makes one known. What comes when an attempt is over, as from slow servers, tells it
 * nothing. */
static inline int is_shown(const struct client *c, const struct slot *s, ns since) {
  int count = 0;
  for (int i = 0; i < W.cfg.servers && since < NEVER; i++) {
    const struct conn *n = c->conn[i];
    int server = W.cfg.entry_server[i];
    count += n && s->lock.votes[i] == REDLOCK_VOTE_TAKEN && !W.server[server].liar &&
             n->told_at[s->resource] > larger(c->last_draw, since) &&
             shared_since(server, s->resource) < NEVER;
  }
  return count > W.cfg.servers - quorum();
}

/* Since when it has known the holder that there is since then; NEVER = it does not. */
static inline ns shown_since(struct client *c, const struct slot *s, ns since) {
  if (c->shown_at < since || since == NEVER) c->shown_at = NEVER;
  if (c->shown_at == NEVER && is_shown(c, s, since)) c->shown_at = W.now;
  return c->shown_at;
}

/* Ten a second, and a few at the edges, whatever servers push; and when a waiter has known the
 * holder for four seconds, ten in four are enough. */
static inline void check_hurried(struct client *c, const struct slot *s, ns told) {
  ns since = told < NEVER ? larger(told, held_by_one_since(s->resource)) : NEVER;
  ns shown = shown_since(c, s, since);
  ns later = shown < NEVER && tells_ages(s->resource) ? shown + RARE_S * SEC : NEVER;
  c->hurried.heard = c->rare.heard = c->heard;
  check_pace(c, &c->hurried, since, HURRIED_S * SEC, HURRIED_MOST,
             "whoever holds the lock has not changed, whatever was pushed");
  check_pace(c, &c->rare, later <= W.now ? later : NEVER, RARE_S * SEC, RARE_MOST,
             "whoever holds the lock has not changed for seconds, whatever was pushed");
}

enum { POLLED_S = 10, GROWN_S = 3 };

/* Nobody makes more attempts than who polls: back-offs that have grown (R9) last half of the
 * longest, on average. Where a server cannot vote a vote that is missing may be taken for one that
 * tells, and two attempts follow each back-off: that is not looked at. */
static inline void check_polled(struct client *c) {
  unsigned back_offs = POLLED_S * 1000 / (W.cfg.retry_max_ms / 2);
  ns since = larger(c->asked + GROWN_S * SEC, c->pushed_at);
  for (int i = 0; i < W.cfg.servers; i++) since = larger(since, fit_for(c, i));
  check_pace(c, &c->polled, since <= W.now ? since : NEVER, POLLED_S * SEC,
             back_offs + back_offs / 2, "its back-offs must have grown, and nothing was pushed");
}

static inline void check_paces(struct client *c) {
  const struct slot *s = &c->slot[0];
  ns told;
  if (s->state != S_ACQUIRING || s->lock.status != REDLOCK_PENDING) {
    c->told.from = c->polled.from = c->hurried.from = c->rare.from = NEVER;
    return;
  }
  told = told_in_vain_since(c, s);
  check_hurried(c, s, told);
  if (W.cfg.forgets) return; /* what is pushed there is not counted one by one */
  check_pace(c, &c->told, told, TOLD_S * SEC, TOLD_MOST,
             "a quorum tells, and whoever holds the lock has not changed");
  check_polled(c);
}

#endif
