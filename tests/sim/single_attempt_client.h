/* single_attempt_client.h: clients whose user makes but single attempts: blocking acquires, one
 * after another, with short thinking between and no step. The library hears nothing but what such
 * a call lets it hear. Invariant 4 for them: after healing, a majority within reach ends NO_QUORUM
 * soon, not a ttl later. */
#ifndef SIM_SINGLE_ATTEMPT_CLIENT_H
#define SIM_SINGLE_ATTEMPT_CLIENT_H

#include "client.h"

enum { BACKOFF_MOST = 1024 }; /* ms: the header's own, between two connections */

static ns next_attempt(void) { return W.now + skewed(MS, 100 * MS); }

/* From here on they make attempts all the time. */
static void singles_hurry(void) {
  W.hurry = 1;
  for (int i = 0; i < W.cfg.clients; i++) {
    struct client *c = &W.client[i];
    if (!c->single || !c->alive || c->busy) continue;
    for (int k = 0; k < c->slots; k++) c->slot[k].due = next_attempt();
    client_wake_at(c, larger(W.now, c->paused_until));
  }
}

/* How long the library may take to see what is within reach, on a slow clock: a few timeouts and
 * two backoffs. A round that one backoff decides at once looks at no new connection, so that the
 * other one begins when the first ends. */
static ns reach_bound(void) {
  return (2 * BACKOFF_MOST + 8 * (ns)W.cfg.server_timeout_ms) * MS / 10 * 11;
}

/* How long they go on after healing: what was under way arrives, the bound passes, and they are
 * watched for a while. */
static ns attempts_time(void) {
  return W.cfg.singles ? RETRANSMIT_MOST * MS + reach_bound() + 2 * SEC : 0;
}

/* Nothing that was sent before healing is late any more. */
static int is_prompt(const struct conn *n) {
  ns soon = W.now + (ns)W.cfg.server_timeout_ms * MS / 8;
  return n->pipe[UP].last <= soon && n->pipe[DOWN].last <= soon;
}

/* Whether the client's next round must have this server's answer, once it has listened. Not so a
 * connection that is dead without a word: that costs 6 s (R13); nor one that may be in quarantine
 * still; nor one whose user loses a right, which the first refused release finds out: that costs
 * the connection, once; nor one whose handshakes shift. */
static int is_within_reach(const struct client *c, int entry) {
  const struct server *s = &W.server[W.cfg.entry_server[entry]];
  const struct conn *n = c->conn[entry];
  if (s->sick || s->down || is_frozen(s) || (W.cfg.quarantine_ms && s->incarnation)) return 0;
  if (W.cfg.shifts >> (s - W.server) & 1) return 0;
  if (W.cfg.no_natives_from && W.cfg.no_natives >> (s - W.server) & 1) return 0;
  if (!n || n->state == CONN_REFUSED || n->pipe[DOWN].over) return 1;
  return stands_at(n, n->server) && !n->silent && n->incarnation == s->incarnation && is_prompt(n);
}

/* Before each attempt: must it find a majority? */
static void single_looks(struct client *c) {
  int sure = 0, settled = W.healed && W.now >= W.healed_at + RETRANSMIT_MOST * MS;
  for (int i = 0; i < W.cfg.servers; i++) {
    ns *since = &c->reach_since[i];
    if (!settled || !is_within_reach(c, i)) *since = NEVER;
    else *since = smaller(*since, W.now);
    sure += *since <= W.now - reach_bound();
  }
  c->reaches_quorum = sure >= quorum() && !has_alias();
  T->attempts_checked += (unsigned)c->reaches_quorum;
}

static void check_attempt(const struct client *c, const struct slot *s) {
  if (c->single && c->reaches_quorum && s->lock.status == REDLOCK_NO_QUORUM)
    slot_fails(s, "invariant 4", "finds no quorum in one attempt, though a majority has been "
                                 "within reach for %lld ms", reach_bound() / MS);
}

#endif
