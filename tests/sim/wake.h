/* wake.h: the invariant of wake-ups (R26): where pushes arrive, no waiter backs off for long
 * while the lock is free on a quorum of servers that it reaches. And its converse: who gets
 * no push does not make attempt after attempt.
 *
 * A server counts for a client when the resource is free there, and the client has read a push that
 * says so, or the end of a handshake that came later than the last SET. */
#ifndef SIM_WAKE_H
#define SIM_WAKE_H

#include "net.h"

/* A push of a resource is on its way, at the end of what was written. That it is free is known
 * by it only if it is. handed: by an adoption (R28); for all that a waiter knows, it was free. */
static inline void wake_sent(struct conn *n, int resource, int handed) {
  struct wake_up *t;
  if (resource < 0) return;
  t = &n->wake_up[resource];
  t->turn = key_of(&W.server[n->server], resource, n->session.db) ? 0 : ++W.key_turn;
  t->read = 0;
  t->handed = handed;
  t->unread = 1;
  t->end = n->pipe[DOWN].written;
}

/* A command has been answered: a resource has been set, or a connection is ready, if this was the
 * last of its handshake. */
static inline void wake_noted(struct server *s, struct conn *n, int command,
                              const struct reply *r, const struct effect *e) {
  int resource = resource_of(e->name, e->name_size);
  if (e->kind == EFFECT_SET && resource >= 0) s->set_turn[resource] = ++W.key_turn;
  if (e->kind == EFFECT_SET_REFUSED && command == C_EVAL && resource >= 0)
    n->told_at[resource] = W.now;
  if (command != (W.cfg.quarantine_ms ? C_INFO : C_PROOF)) return;
  if (r->size == 0 || r->at[0] == '-') return;
  n->ready_at = W.now + slowness(n, DOWN);
  for (int i = 0; i < W.cfg.resources && n->session.tracks; i++) wake_sent(n, i, 0);
}

static inline void wake_heard(struct client *c, struct conn *n) {
  for (int i = 0; i < W.cfg.resources; i++) {
    struct wake_up *t = &n->wake_up[i];
    if (!t->unread || (int32_t)(n->pipe[DOWN].read - t->end) < 0) continue;
    t->unread = 0;
    c->told_of++;
    c->heard += t->turn || t->handed;
    if (!t->turn) continue;
    t->read = W.now;
    c->pushed_at = W.now;
  }
}

/* Until when its client may take the server to be in quarantine (R24): its uptime in whole seconds
 * less 2 s, or since the connection stands, which first showed the restart, or another run_id than
 * a handshake that shifted; on a slow clock, and behind a whole back-off. */
static inline ns doubted_until(const struct conn *n) {
  const struct server *s = &W.server[n->server];
  ns whole = ((ns)W.cfg.quarantine_ms + 3000 + 2000) * MS;
  if (!W.cfg.quarantine_ms || !(s->incarnation || W.cfg.shifts >> n->server & 1)) return 0;
  return larger(s->restarted_at, n->ready_at) + whole / 10 * 12;
}

/* Since when the client knows that the resource is free at the server of an entry; NEVER = it does
 * not. Who did not answer the last attempt, or in vain, counts only when it was heard later; who
 * cannot vote now, or lies, does not. */
static inline ns wake_knows(const struct client *c, const struct slot *s, int entry) {
  const struct conn *n = c->conn[entry];
  struct server *server = &W.server[W.cfg.entry_server[entry]];
  const struct wake_up *t;
  ns round = ((ns)W.cfg.server_timeout_ms + 2) * MS;
  if (!n || !stands_at(n, n->server) || n->silent || !n->session.tracks) return NEVER;
  t = &n->wake_up[s->resource];
  if (!t->read || t->turn < server->set_turn[s->resource]) return NEVER;
  if (key_of(server, s->resource, n->session.db)) return NEVER;
  if (server->liar || W.now < server->error_until) return NEVER;
  if (s->lock.votes[entry] == REDLOCK_VOTE_QUARANTINED && W.now < doubted_until(n)) return NEVER;
  if (s->lock.votes[entry] > REDLOCK_VOTE_TAKEN && t->read < c->last_draw + 2 * round) return NEVER;
  return t->read;
}

static inline ns wake_since(const struct client *c, const struct slot *s) {
  ns known[MAX_SERVERS] = {0};
  for (int i = 0; i < W.cfg.servers; i++) known[i] = wake_knows(c, s, i);
  return nth_earliest(known, W.cfg.servers, quorum());
}

/* Whether the lock of a resource, or what is left of one, was given to somebody who had waited. */
static inline int holder_has_waited(int resource) {
  for (int i = 0; i < W.cfg.servers; i++) {
    const struct key *k = key_of(&W.server[i], resource, W.cfg.db);
    const unsigned char *age = k ? k->value + VALUE_BYTES : NULL;
    if (k && k->value_size > VALUE_BYTES && (age[0] || age[1] || age[2] > NEWCOMER_AGE)) return 1;
  }
  return 0;
}

/* An acquire begins: who else is waiting for its resource, or was until a moment ago. */
static inline void note_queue(const struct client *c, struct slot *s) {
  s->drawn_before = c->drawn;
  s->asked_after = ++W.asked[s->resource];
  s->beside = W.stranger[s->resource].like_ours || holder_has_waited(s->resource);
  for (int i = 0; i < W.cfg.clients; i++)
    for (int k = 0; k < W.client[i].slots; k++) {
      const struct slot *other = &W.client[i].slot[k];
      if (other != s && other->resource == s->resource && other->state == S_ACQUIRING)
        s->beside = 1;
    }
}

/* Whether there was a queue: another acquire of the resource was pending while this one was, or the
 * holder had waited. A newcomer cannot tell that it has gone. */
static inline int has_queued(const struct slot *s) {
  return s->beside || W.asked[s->resource] != s->asked_after;
}

/* How many of its last attempts, in a row, something that it heard may have led to, be it a push of
 * an extension; or that others in the queue kept from a quorum. */
static inline unsigned woken_in_a_row(const struct client *c, const struct slot *s) {
  unsigned made = c->drawn - s->drawn_before, n = 0;
  if (c->slots > 1 || has_queued(s) || W.cfg.forgets) return made;
  for (; n + 1 < made && n + 1 < DRAWS; n++)
    if (c->told_at[(c->drawn - n - 1) % DRAWS] == c->told_at[(c->drawn - n - 2) % DRAWS]) break;
  return n;
}

/* What its last attempt may have taken, in ms: longer than a server's time only if the client has
 * stood still meanwhile; that counts for a second at most. */
static inline ns attempt_took(const struct client *c) {
  return larger((ns)W.cfg.server_timeout_ms, smaller((c->stood - c->last_draw) / MS, 1000));
}

/* How much longer than others one may rest that has been woken for nothing, in ms: each time
 * doubles that, which begins with what its attempts take; 2 s at most, as if it had been told of
 * nothing; from its last attempt on. */
static inline ns rest_for_nothing(const struct client *c, const struct slot *s, ns since) {
  ns woken = smaller(woken_in_a_row(c, s), 10);
  ns most = smaller((2 * attempt_took(c) + 1) << woken, 2000);
  ns rested = larger(since - c->last_draw, 0) / MS;
  return woken ? larger(most - rested, 0) : 0;
}

/* A short back-off, or a polled one, and its attempt, on a slow clock. A second more only where
 * there was a queue. */
static inline ns wake_bound(const struct client *c, const struct slot *s, ns since) {
  ns queue = has_queued(s) ? 1000 : 0;
  return (queue + rest_for_nothing(c, s, since) + 16 + W.cfg.retry_max_ms +
          4 * (attempt_took(c) + 2) + 40) * MS / 10 * 12;
}

/* Only where no attempt may have to wait for room (R11). */
static inline void check_woken(const struct client *c, const struct slot *s) {
  ns since = wake_since(c, s);
  if (since == NEVER || since <= larger(c->last_draw, c->stood)) return;
  T->wakes++;
  if (W.now <= since + wake_bound(c, s, since)) return;
  slot_fails(s, "R26", "backs off still, though it has known for %lld ms that resource %d is free "
                       "on a quorum of servers", (W.now - since) / MS, s->resource);
}

/* With the default back-offs, which grow to retry_max_ms in 2 s, nobody makes many
 * attempts for nothing, in worlds with quarantine, dead servers and crowds too: a push of one
 * server is worth a few attempts, of each waiter. Where it polls, two attempts may follow each
 * back-off: a plain one, and one that makes the servers track the key. In worlds of tokens an
 * attempt may draw three values: there it is looked at only while nothing is heard. */
static inline void check_rate(const struct client *c) {
  unsigned oldest = c->drawn % DRAWS;
  uint32_t heard = c->heard - c->heard_at[oldest];
  ns first = c->draws[oldest], since = W.cfg.fenced ? c->pushed_at : c->asked;
  int slots = W.cfg.fenced ? 1 : 2;
  if (W.cfg.forgets || W.cfg.retry_min_ms || W.cfg.retry_max_ms < 100u * (uint32_t)c->slots) return;
  if (c->slots > slots || c->drawn < DRAWS) return;
  if (first < since + 3 * SEC || c->last_draw - first > SEC) return;
  if (heard * 4 * (uint32_t)c->slots >= DRAWS) return;
  violation("R26: client %d has made %d attempts in %lld ms, and heard %u times",
            c->index, DRAWS, (c->last_draw - first) / MS, heard);
}

static inline void check_wakes(const struct client *c) {
  if (W.cfg.out_of_model || c->single || has_alias()) return;
  check_rate(c);
  for (int i = 0; i < c->slots && W.cfg.light; i++)
    if (c->slot[i].state == S_ACQUIRING && c->slot[i].lock.status == REDLOCK_PENDING)
      check_woken(c, &c->slot[i]);
}

#endif
