/* checks.h: what must be true, in the words of the rules: of what clients return and of what the
 * servers hold and have said. Nothing here looks into a client but invariants.h. */
#ifndef EXPLORE_CHECKS_H
#define EXPLORE_CHECKS_H

#include "io.h"

static int quorum(void) { return cfg.servers / 2 + 1; }

static int spare(void) { return cfg.servers - quorum(); }

static int64_t timeout_of(int c) {
  int64_t timeout;
  idle = 1;
  timeout = redlock_timeout_ms(&W.side[c].rl);
  idle = 0;
  return timeout;
}

/* The servers on which the client may act now. */
static uint32_t ready_servers(int c) {
  redlock_fd fds[SERVERS];
  uint32_t ready = 0;
  int n = redlock_fds(&W.side[c].rl, fds, SERVERS);
  for (int i = 0; i < n; i++) {
    const struct connection *k = &W.side[c].to[fds[i].server];
    if (!k->open) fail("a descriptor that is not open");
    if (is_readable(k) || ((fds[i].events & REDLOCK_WRITE) && has_room(k, 1)))
      ready |= 1u << fds[i].server;
  }
  return ready;
}

/* R20: whoever runs has been told of a kept lock's end before time goes on, or has it extended
 * once, since nothing was tried before. */
static void check_margins(void) {
  for (int c = 0; c < cfg.clients; c++)
    for (int l = 0; l < cfg.locks; l++)
      if (W.side[c].user[l].state == KEPT && !W.side[c].paused && !W.side[c].closed &&
          holds(c, l) <= cfg.margin && holds(c, l) > 0 &&
          W.side[c].lock[l].t1_ms < W.side[c].lock[l].deadline_ms - cfg.margin)
        fail("R20: a lock is still kept with the margin left");
}

static int is_step_due(int c) {
  return !W.side[c].paused && !W.side[c].closed && (timeout_of(c) == 0 || ready_servers(c));
}

/* ---- In every state -------------------------------------------------------------------------- */

static int votes_of(const redlock_lock *lock, redlock_vote vote) {
  int n = 0;
  for (int e = 0; e < cfg.servers; e++) n += lock->votes[e] == vote;
  return n;
}

/* Of whoever has so much of a lock left. That nobody else has, the model sees to (R1). */
static void check_holder(const struct user *u, int64_t left) {
  if (left <= 0 || acquires(u)) return; /* a grant may wait to be returned */
  if (u->state == IDLE || (u->state == PENDING && u->call == RELEASE))
    fail("R19 R22: it is lost, refused or given up, and held");
  if (cfg.max_hold && u->granted_at && W.now + left > u->granted_at + cfg.max_hold &&
      W.now + left > u->granted_at + cfg.ttl)
    fail("R20: a lock is held for longer than max_hold_ms");
}

static void check_state(void) {
  int64_t left[CLIENTS];
  for (int c = 0; c < cfg.clients; c++) rl_check(&W.side[c].rl);
  for (int l = 0; l < cfg.locks; l++) {
    for (int c = 0; c < cfg.clients; c++) {
      left[c] = holds(c, l);
      check_holder(&W.side[c].user[l], left[c]);
    }
    model_looks_at_all(l, left);
  }
}

/* ---- When a client has done all that is due -------------------------------------------------- */

/* R12: what is undecided has no yes of a connection that is lost. */
static void check_void_votes(const redlock_lock *lock) {
  struct value v = value_of(lock);
  for (int e = 0; e < cfg.servers; e++)
    if (lock->votes[e] == REDLOCK_VOTE_YES && (*fate_of(&v, e) & CLOSED_ON))
      fail("R12: a yes is kept whose connection is lost");
}

/* R24: a server of which the client has heard that it restarted, and so casts no vote. */
static int is_known_quarantined(int c, int entry) {
  const struct connection *k = &W.side[c].to[entry];
  return k->open && !k->broken && !k->greets && is_quarantined(server_of(entry));
}

/* Whether votes to come tell TAKEN from NO_QUORUM: an adoption waits for them (R16, R23). */
static int is_open_adoption(const redlock_lock *lock, int none) {
  int taken = votes_of(lock, REDLOCK_VOTE_TAKEN);
  return lock->adopts && taken <= spare() && taken + none > spare();
}

/* R6: who is overdue may still answer, and is waited for if the others are no quorum. */
static int late_of(const redlock_lock *lock) {
  int voted = votes_of(lock, REDLOCK_VOTE_YES) + votes_of(lock, REDLOCK_VOTE_NONE) +
              votes_of(lock, REDLOCK_VOTE_TAKEN) + votes_of(lock, REDLOCK_VOTE_LOW);
  return cfg.servers - voted > spare() ? votes_of(lock, REDLOCK_VOTE_TIMEOUT) : 0;
}

/* R6, R9, R10: a pending call is decided as soon, and as late, as the rules say. */
static void check_pending(int c, int l) {
  const redlock_lock *lock = &W.side[c].lock[l];
  const struct user *u = &W.side[c].user[l];
  int yes = votes_of(lock, REDLOCK_VOTE_YES);
  int none = votes_of(lock, REDLOCK_VOTE_NONE) + late_of(lock);
  int once = u->call == ACQUIRE || u->call == ADOPT;
  int64_t most = u->call == WAIT ? cfg.wait + TIMEOUT : TIMEOUT;
  if (u->state != PENDING || RING < 8 || W.side[c].upset) return;
  for (int e = 0; e < cfg.servers; e++)
    none -= lock->votes[e] == REDLOCK_VOTE_NONE && is_known_quarantined(c, e);
  if (once && yes >= quorum())
    fail("R6: a quorum said yes, and it is not decided");
  if (once) check_void_votes(lock);
  if (once && yes + none < quorum() && !is_open_adoption(lock, none))
    fail("R6: no quorum can say yes any more, and it is not decided");
  if ((u->call != WAIT || cfg.wait >= 0) && clock_of(c) - most > u->begun_at)
    fail("R9 R10: a call lasts longer than wait_ms and server_timeout_ms");
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* R13: which replies are overdue; and a connection on which one is, is replaced after 5 s (the
   random part is the least). */
static void check_overdue(int c) {
  for (int e = 0; e < cfg.servers; e++) {
    struct connection *k = &W.side[c].to[e];
    int64_t from = k->owed_since + k->late, due = from + TIMEOUT + W.side[c].behind, end;
    if (!is_owed(k) || k->slow || W.now <= due) continue;
    k->overdue = 1;
    end = later(due, from + LEAST_SILENCE) + 1;
    if (k->cut && !k->noted) continue; /* of what, is not known yet: it may be a SET */
    if (W.now > end + W.side[c].behind) fail("R13: a connection that stands still is not given up");
  }
}

static void check_settled(int c) {
  if (W.side[c].closed || W.side[c].paused || is_step_due(c)) return;
  for (int l = 0; l < cfg.locks; l++) check_pending(c, l);
  check_overdue(c);
}

/* R27: before the time that redlock_timeout_ms names, a step does nothing that can be seen. It is
   undone: it may drop what is too old. */
static void check_idle_step(int c) {
  static struct side saved;
  redlock *rl = &W.side[c].rl;
  redlock_fd fds[SERVERS];
  int n;
  if (W.side[c].closed || timeout_of(c) == 0) return;
  idle = 1;
  idle_writes = 0;
  n = redlock_fds(rl, fds, SERVERS);
  for (int i = 0; i < n; i++)
    if (fds[i].events & REDLOCK_WRITE) idle_writes |= 1u << fds[i].server;
  memcpy(&saved, &W.side[c], offsetof(struct side, user));
  if (redlock_step_on(rl, (1u << cfg.servers) - 1)) fail("R27: an idle step returns a lock");
  memcpy(&W.side[c], &saved, offsetof(struct side, user));
  idle = 0;
}

/* ---- When a lock is returned ----------------------------------------------------------------- */

static const char *status_text(int status) {
  static const char *const text[] = {"PENDING", "OK", "TAKEN", "NO_QUORUM", "EXPIRED", "CANCELLED",
                                     "LIMIT", "INVALID", "SYSTEM"};
  return status >= -7 && status <= 1 ? text[1 - status] : "?";
}

/* What the votes of the last round come to. */
struct tally {
  int yes, taken, low, absent;
};

static struct tally tally_of(const redlock_lock *lock) {
  struct tally t = {votes_of(lock, REDLOCK_VOTE_YES), votes_of(lock, REDLOCK_VOTE_TAKEN),
                    votes_of(lock, REDLOCK_VOTE_LOW), 0};
  t.absent = cfg.servers - t.yes - t.taken - votes_of(lock, REDLOCK_VOTE_NONE);
  return t;
}

/* R4: a vote is what that server said to this value. */
static void check_votes(const redlock_lock *lock) {
  struct value v = value_of(lock);
  for (int e = 0; e < cfg.servers; e++) {
    int fate = *fate_of(&v, e);
    if (lock->votes[e] == REDLOCK_VOTE_YES && !(fate & SAID_YES))
      fail("R4: a yes that was not said");
    if (lock->votes[e] == REDLOCK_VOTE_TAKEN && !(fate & SAID_NO))
      fail("R4: a nil that was not said");
  }
}

/* R29: all that happens is that one server after the other restarts empty. */
static int is_rolling(void) {
  return cfg.max_ttl && cfg.servers > 2 && strcmp(cfg.kinds, "r") == 0;
}

/* R29: that takes no lock. */
static void check_not_lost(const redlock_lock *lock) {
  if (is_rolling() && lock->status != REDLOCK_OK && lock->status != REDLOCK_LIMIT)
    fail("R29: a lock is lost, though a quorum has voted all the time");
}

/* A giver as a number: of its client and its lock. */
static struct user *user_of(int giver) { return &W.side[giver / LOCKS].user[giver % LOCKS]; }

/* R1, R25, R28. By a quorum, the model sees to (R5). */
static void check_grant(int c, int l) {
  const redlock_lock *lock = &W.side[c].lock[l];
  if (holds(c, l) <= 0) fail("R1: granted, and not held");
  W.side[c].user[l].granted_at = W.now;
  if (cfg.twice && W.side[c].user[l].call == ADOPT &&
      ++user_of(W.side[c].user[l].giver)->given > 2)
    fail("R28: a value is adopted twice");
  if (!cfg.fencing) return;
  if (lock->token <= W.side[c].user[l].token) fail("R25: a token that does not rise");
  if (lock->token > W.token) W.token = lock->token;
}

/* R9, R23, R25 */
static void check_refusal(int c, int l, const struct tally *t) {
  const redlock_lock *lock = &W.side[c].lock[l];
  const struct user *u = &W.side[c].user[l];
  int adopts = u->call == ADOPT, absent = t->absent - t->low;
  if (lock->token) fail("R25: not granted, and a token");
  if (u->call == WAIT && cfg.wait < 0 && lock->status != REDLOCK_EXPIRED &&
      lock->status != REDLOCK_SYSTEM)
    fail("R9: it was to wait for ever"); /* EXPIRED: the grant lapsed before it was returned (R1) */
  if (lock->status == REDLOCK_TAKEN && (adopts ? t->taken <= spare() : t->taken + t->low == 0))
    fail("R23: TAKEN, but too few said so");
  if (lock->status == REDLOCK_NO_QUORUM && (adopts ? t->taken > spare() : absent <= spare()))
    fail("R23: NO_QUORUM, but enough voted");
}

/* R18, R19 */
static void check_extension(int c, int l, const struct tally *t) {
  const redlock_lock *lock = &W.side[c].lock[l];
  const struct user *u = &W.side[c].user[l];
  check_not_lost(lock);
  if (lock->status == REDLOCK_OK && (t->yes < quorum() || holds(c, l) <= 0))
    fail("R18: extended without a quorum in time");
  if (lock->status == REDLOCK_EXPIRED) {
    if (clock_of(c) < u->end && t->taken <= spare())
      fail("R19: EXPIRED before its time, and the loss is not proved");
  } else if (u->end > clock_of(c) && holds(c, l) < u->end - clock_of(c)) {
    fail("R18 R19: an extension shortened the lock");
  }
}

/* R21 */
static void check_release(const redlock_lock *lock, const struct tally *t) {
  if (lock->status == REDLOCK_EXPIRED && t->taken <= spare())
    fail("R21: EXPIRED, but too few said that it is not there");
  if (lock->status == REDLOCK_NO_QUORUM && t->absent <= spare())
    fail("R21: NO_QUORUM, but enough answered");
}

/* What the user may go on with, until its time is over. */
static int is_still_held(const redlock_lock *lock) {
  if (lock->operation == REDLOCK_RELEASE) return 0;
  if (lock->operation == REDLOCK_ACQUIRE) return lock->status == REDLOCK_OK;
  return lock->status != REDLOCK_EXPIRED;
}

static void check_returned(int c, redlock_lock *lock) {
  int l = (int)(lock - W.side[c].lock);
  struct user *u = &W.side[c].user[l];
  struct tally t = tally_of(lock);
  SAY("      c%d returns lock %d: operation %d, %s; %d yes, %d taken, %d absent\n", c, l,
      (int)lock->operation, status_text(lock->status), t.yes, t.taken, t.absent);
  if (u->state != PENDING && u->state != KEPT) fail("6: a lock is returned that nobody awaits");
  if ((lock->operation == REDLOCK_LOST) != (u->state == KEPT)) fail("6: LOST is for kept locks");
  if (lock->status == REDLOCK_PENDING || lock->status == REDLOCK_INVALID ||
      lock->status == REDLOCK_CANCELLED)
    fail("6: a status that cannot be");
  if (lock->status == REDLOCK_LIMIT && !cfg.max_hold) fail("R20: LIMIT, but there is none");
  if (lock->status == REDLOCK_SYSTEM) {
    if (!W.side[c].upset) fail("6: SYSTEM, and nothing failed here");
  } else if (lock->operation == REDLOCK_ACQUIRE) {
    check_votes(lock);
    if (lock->status == REDLOCK_OK) check_grant(c, l);
    else check_refusal(c, l, &t);
  } else if (lock->operation == REDLOCK_RELEASE) {
    check_release(lock, &t);
  } else if (lock->operation == REDLOCK_EXTEND) {
    check_extension(c, l, &t);
  } else {
    check_not_lost(lock);
    if (holds(c, l) > cfg.margin && (lock->status == REDLOCK_NO_QUORUM ||
                                     (lock->status == REDLOCK_LIMIT && cfg.margin)))
      fail("R20: given up with more than the margin left");
  }
  u->state = is_still_held(lock) ? HELD : IDLE;
  if (u->state == IDLE) u->granted_at = 0;
}

/* ---- When all that is due is done ------------------------------------------------------------ */

static int is_wanted(const struct value *v) {
  const struct user *u = user_with(v);
  return !is_drawn(v) || (u && !u->given);
}

/* By whichever entry of the list it came. */
static int may_stay(const struct value *v, int server) {
  int fate = 0;
  for (int e = 0; e < cfg.servers; e++)
    if (server_of(e) == server) fate |= *fate_of(v, e);
  return server == cfg.liar || W.server[server].failing || (fate & (EXCUSED | LOST_ON));
}

/* R7, R12, R21: no key is left behind on a connection that stands. */
static void check_residue(void) {
  static char text[100];
  for (int s = 0; s < cfg.servers; s++)
    for (int r = 0; r < RESOURCES; r++) {
      const struct key *k = key_of(s, r);
      struct value v = value_in(k);
      if (!k || end_of(k) <= W.now || is_wanted(&v) || may_stay(&v, s)) continue;
      snprintf(text, sizeof text, "R7: the key %s of %s stays on s%d, and nobody deletes it",
               resource_name[r], value_text(&v), s);
      fail(text);
    }
}

#endif
