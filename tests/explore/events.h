/* events.h: what may happen next in a world, and that it happens. One event at a time: a user
 * calls, a client steps, a server executes one command, a fault comes or goes, time passes. */
#ifndef EXPLORE_EVENTS_H
#define EXPLORE_EVENTS_H

#include "checks.h"

enum event_kind {
  E_STEP, E_CALL, E_EXECUTE, E_EXECUTE_LOST, E_DROP_LOST, E_BREAK, E_HOLD, E_FREE, E_DOWN, E_UP,
  E_ROLL, E_ERR, E_HEAL, E_PAUSE, E_RESUME, E_CONNECT, E_TICK
};

static int64_t began_ms; /* when the first world began */

struct event {
  uint8_t kind, c, s, arg;
};

enum { EVENTS = 160 };

static const char call_letter[] = "awreskxdc";
static const char *const call_name[CALLS] = {
    "start_acquire", "start_acquire, waiting", "start_release", "start_extend",
    "start_extend with a shorter ttl", "keep", "cancel", "start_adopt", "close"};

/* ---- Calls ----------------------------------------------------------------------------------- */

static int may_adopt(int c, int l, int giver) {
  const struct user *u = user_of(giver);
  if (giver / LOCKS == c || giver / LOCKS >= cfg.clients || giver % LOCKS >= cfg.locks) return 0;
  if (giver % LOCKS != l || W.side[giver / LOCKS].paused) return 0;
  return W.side[c].user[l].state == IDLE && (!u->given || cfg.twice) &&
         (u->state == HELD || u->state == KEPT);
}

static int may_call(int c, int l, int call, int giver) {
  const struct user *u = &W.side[c].user[l];
  int mine = u->state == HELD && !u->given;
  const char *may = c && cfg.may2 ? cfg.may2 : cfg.may;
  if (!u->calls || W.side[c].paused || W.side[c].closed || !strchr(may, call_letter[call]))
    return 0;
  switch (call) {
    case ACQUIRE: case WAIT: return u->state == IDLE || (u->state == HELD && u->given);
    case RELEASE: return mine || u->state == KEPT || (u->state == PENDING && u->call != RELEASE);
    case ADOPT: return may_adopt(c, l, giver);
    case CANCEL: return u->state == PENDING || u->state == KEPT;
    case KEEP: return mine && (!is_rolling() || holds(c, l) > 2); /* else its end comes first */
    case CLOSE: return l == 0;
    default: return mine;
  }
}

static void await(int c, int l, int call, redlock_status got) {
  struct user *u = &W.side[c].user[l];
  if (got != REDLOCK_PENDING && !(got == REDLOCK_SYSTEM && W.side[c].upset))
    fail("6: a call is refused");
  u->state = got == REDLOCK_PENDING ? PENDING : u->state == PENDING ? IDLE : u->state;
  u->call = (uint8_t)call;
  u->begun_at = INT64_MAX;
}

/* A lock is used anew. What it held is nobody's any more; all else stays as it was. */
static void forget_value(int c, int l) {
  memset(W.side[c].lock[l].value, 0, sizeof W.side[c].lock[l].value);
  W.side[c].user[l].given = 0;
  W.side[c].user[l].state = IDLE;
  W.side[c].user[l].token = W.token;
}

static void call_acquire(int c, int l, int call) {
  uint32_t wait = call == ACQUIRE ? 0 : cfg.wait < 0 ? REDLOCK_FOREVER : (uint32_t)cfg.wait;
  forget_value(c, l);
  await(c, l, call,
        redlock_start_acquire(&W.side[c].rl, &W.side[c].lock[l], resource_name[l],
                              (uint32_t)ttl_of(l), wait));
}

/* The giver stops: what its value left may stay, or be taken over. */
static void call_adopt(int c, int l, int giver) {
  struct side *from = &W.side[giver / LOCKS];
  redlock_lock *lock = &from->lock[giver % LOCKS];
  struct value v = value_of(lock);
  if (user_of(giver)->state == KEPT) (void)redlock_cancel(&from->rl, lock);
  user_of(giver)->state = HELD;
  if (!user_of(giver)->given) user_of(giver)->given = 1;
  model_hands_over(&v);
  for (int e = 0; e < cfg.servers; e++) *fate_of(&v, e) |= EXCUSED;
  forget_value(c, l);
  W.side[c].user[l].giver = (uint8_t)giver;
  await(c, l, ADOPT, redlock_start_adopt(&W.side[c].rl, &W.side[c].lock[l],
                                         resource_name[l], (uint32_t)ttl_of(l),
                                         lock->value));
}

static void call_release(int c, int l) {
  struct user *u = &W.side[c].user[l];
  int acquiring = acquires(u);
  redlock_status got = redlock_start_release(&W.side[c].rl, &W.side[c].lock[l]);
  if (acquiring && got != REDLOCK_CANCELLED) fail("6: a release before the grant is no cancel");
  if (holds(c, l)) fail("R22: a release was called, and it is held");
  if (got == REDLOCK_CANCELLED) u->state = IDLE;
  else if (got == REDLOCK_EXPIRED && u->state == HELD) u->state = IDLE;
  else if (got != REDLOCK_EXPIRED) await(c, l, RELEASE, got); /* or its loss will be returned */
}

static void call_extend(int c, int l, int call) {
  struct user *u = &W.side[c].user[l];
  int ttl = call == SHORTEN ? cfg.shorter : ttl_of(l);
  redlock_status got = redlock_start_extend(&W.side[c].rl, &W.side[c].lock[l], (uint32_t)ttl);
  u->end = clock_of(c) + holds(c, l);
  if (got == REDLOCK_LIMIT && !cfg.max_hold) fail("R20: LIMIT, but there is none");
  if (got != REDLOCK_EXPIRED && got != REDLOCK_LIMIT) await(c, l, call, got);
}

static void call_cancel(int c, int l) {
  struct user *u = &W.side[c].user[l];
  redlock_lock *lock = &W.side[c].lock[l];
  int acquiring = acquires(u);
  if (redlock_cancel(&W.side[c].rl, lock) != REDLOCK_OK) fail("6: a cancel is refused");
#ifndef REDLOCK_NO_FENCING
  if (acquiring && lock->token) fail("R25: cancelled, and a token");
#endif
  u->state = acquiring || (u->state == PENDING && u->call == RELEASE) ? IDLE : HELD;
}

/* What was held lasts until its ttl ends; what was pending is rolled back, if bytes still leave. */
static void call_close(int c) {
  int64_t began = W.now;
  W.side[c].closed = 1;
  for (int l = 0; l < cfg.locks; l++) {
    struct value v = value_of(&W.side[c].lock[l]);
    for (int e = 0; e < cfg.servers && !acquires(&W.side[c].user[l]); e++)
      *fate_of(&v, e) |= EXCUSED;
  }
  redlock_close(&W.side[c].rl);
  if (W.now > began + TIMEOUT + RL_CLOSE_TIMEOUT_MS)
    fail("R10: redlock_close takes longer than a time-out and 50 ms");
  for (int e = 0; e < cfg.servers; e++)
    if (W.side[c].to[e].open) fail("R14: redlock_close leaves a connection");
  for (int l = 0; l < cfg.locks; l++) {
    memset(&W.side[c].user[l], 0, sizeof W.side[c].user[l]);
    memset(&W.side[c].lock[l], 0, sizeof W.side[c].lock[l]);
  }
}

static void make_call(int c, int l, int call, int giver) {
  struct user *u = &W.side[c].user[l];
  if (u->calls != NEVER) u->calls--;
  switch (call) {
    case ACQUIRE: case WAIT: call_acquire(c, l, call); break;
    case ADOPT: call_adopt(c, l, giver); break;
    case RELEASE: call_release(c, l); break;
    case EXTEND: case SHORTEN: call_extend(c, l, call); break;
    case CANCEL: call_cancel(c, l); break;
    case CLOSE: call_close(c); break;
    default: {
      redlock_status got = redlock_keep(&W.side[c].rl, &W.side[c].lock[l], 0);
      if (got == REDLOCK_OK) u->state = KEPT;
      else if (got != REDLOCK_EXPIRED && !W.side[c].upset) fail("6: a keep is refused");
    }
  }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void step(int c) {
  redlock_lock *lock = redlock_step_on(&W.side[c].rl, ready_servers(c));
  if (lock) check_returned(c, lock); /* its user may call before the next one is returned */
  for (int l = 0; l < cfg.locks && !lock; l++) /* it has done all that was due */
    if (W.side[c].user[l].begun_at == INT64_MAX) W.side[c].user[l].begun_at = clock_of(c);
  check_settled(c);
  check_idle_step(c);
}

/* Questions of the handshake do not matter to each other: all of them at once. */
static void execute_next(int c, int entry) {
  struct connection *k = &W.side[c].to[entry];
  struct command m;
  do {
    queue_take(&k->in, &m);
    execute(entry, &m, k);
  } while (asks(&m) && queue_begins_with_question(&k->in));
}

static void execute_lost(int c, int entry, int which) {
  struct command m;
  queue_take(&W.side[c].lost[entry][which], &m);
  if (!asks(&m)) execute(entry, &m, NULL);
}

/* The releases in what is dropped will not come: then the key may stay (R12). */
static void drop(int entry, struct queue *q) {
  struct command m;
  while (q->commands) {
    queue_take(q, &m);
    if (m.seen.kind == SEEN_RELEASE) *fate_of(&m.value, entry) |= EXCUSED;
  }
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static void break_connection(int c, int entry, int how) {
  struct connection *k = &W.side[c].to[entry];
  W.faults--;
  note_lost(c, entry, LOST_ON);
  leave_to_server(c, entry);
  k->broken = (uint8_t)how;
  k->held = k->full = k->slow = 0;
  k->session.reads = 0;
  if (how == RESET) lose_replies(k);
}

/* R29: in its next life the server may get each SET again; and if it has lost its memory, no key of
   what is held is left there that might stay. */
static void forget_sets(int c, int entry, int forgets) {
  struct value v = {.client = (uint8_t)(c + 1)};
  for (v.number = 0; v.number < VALUES && cfg.max_ttl; v.number++) {
    const struct user *u = user_with(&v);
    int gone = SENT | RAN | (forgets && u && !u->given ? LOST_ON | EXCUSED : 0);
    *fate_of(&v, entry) &= (uint8_t)~gone;
  }
}

static void take_down(int server, int forgets) {
  struct server *s = &W.server[server];
  W.faults--;
  s->down = 1;
  s->run++;
  for (int c = 0; c < cfg.clients; c++)
    for (int e = 0; e < cfg.servers; e++) {
      struct connection *k = &W.side[c].to[e];
      if (server_of(e) != server) continue;
      note_lost(c, e, LOST_ON);
      drop(e, &k->in);
      for (int z = 0; z < LOST; z++) drop(e, &W.side[c].lost[e][z]);
      forget_sets(c, e, forgets);
      if (!k->open) continue;
      memset(k, 0, sizeof *k);
      k->open = 1;
      k->broken = ENDED;
    }
  if (!forgets) return;
  s->forgot = 1;
  memset(s->key, 0, sizeof s->key);
  refine_restarts(server);
}

static void bring_up(int server) {
  W.server[server].down = 0;
  W.server[server].started = W.now;
  refine_restarts(server);
}

/* Whether redlock_server_status says of this entry that it votes. */
static int says_it_votes(int c, int entry) {
  const struct connection *k = &W.side[c].to[entry];
  redlock_server_info info;
  redlock_status got;
  idle = 1;
  got = redlock_server_status(&W.side[c].rl, entry, &info);
  idle = 0;
  return got == REDLOCK_OK && info.connected && !info.quarantine_ms && !k->broken && !k->greets;
}

/* R29: whoever holds or wants a lock has heard that the server is back, and that it votes. */
static int votes_again(int server) {
  for (int c = 0; c < cfg.clients; c++) {
    int active = 0;
    for (int l = 0; l < cfg.locks; l++) active |= W.side[c].user[l].state != IDLE;
    for (int e = 0; e < cfg.servers && active; e++)
      if (server_of(e) == server && !says_it_votes(c, e)) return 0;
  }
  return !W.server[server].down;
}

static int may_roll(int server) {
  for (int s = 0; s < cfg.servers; s++)
    if (s != server && !votes_again(s)) return 0;
  return 1;
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* Something is due that no fault delays. */
static int is_busy(void) {
  for (int c = 0; c < cfg.clients; c++) {
    if (is_step_due(c)) return 1;
    for (int e = 0; e < cfg.servers; e++) {
      const struct connection *k = &W.side[c].to[e];
      if (k->open && !k->broken && !k->held && k->in.commands) return 1;
    }
  }
  return 0;
}

/* Nothing lives whose time could matter to the millisecond. */
static int is_quiet(void) {
  for (int c = 0; c < cfg.clients; c++)
    for (int l = 0; l < cfg.locks; l++)
      if (W.side[c].user[l].state != IDLE && (W.side[c].user[l].state != HELD || holds(c, l)))
        return 0;
  for (int s = 0; s < cfg.servers; s++)
    for (int r = 0; r < RESOURCES; r++)
      if (is_client_key(key_of(s, r))) return 0;
  return 1;
}

static int64_t sooner(int64_t next, int64_t when) {
  return when > W.now && when < next ? when : next;
}

/* The next instant at which anything happens by itself; INT64_MAX = never. */
static int64_t next_instant(void) {
  int64_t next = INT64_MAX, left;
  for (int c = 0; c < cfg.clients; c++) {
    if (W.side[c].closed) continue;
    left = timeout_of(c);
    if (left > 0) next = sooner(next, W.now + left);
    for (int l = 0; l < cfg.locks; l++) next = sooner(next, W.now + left_of(c, l));
  }
  for (int s = 0; s < cfg.servers; s++)
    for (int r = 0; r < RESOURCES; r++)
      if (is_client_key(key_of(s, r))) next = sooner(next, end_of(key_of(s, r)));
  return next;
}

/* slips: clients whose clock stands still meanwhile. */
static void tick(int64_t ms, int slips) {
  check_margins();
  time_passes(ms);
  for (int c = 0; c < cfg.clients; c++)
    if (slips >> c & 1) {
      W.side[c].behind++;
      W.side[c].slips--;
    }
  for (int c = 0; c < cfg.clients; c++) {
    check_settled(c);
    check_idle_step(c);
  }
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void apply(struct event e) {
  struct side *side = &W.side[e.c];
  struct connection *k = &side->to[e.s];
  hook_calls = 0;
  switch (e.kind) {
    case E_STEP: step(e.c); break;
    case E_CALL: make_call(e.c, e.s, e.arg & 15, e.arg >> 4); break;
    case E_EXECUTE: execute_next(e.c, e.s); break;
    case E_EXECUTE_LOST: execute_lost(e.c, e.s, e.arg); break;
    case E_DROP_LOST: drop(e.s, &side->lost[e.s][e.arg]); break;
    case E_BREAK: break_connection(e.c, e.s, e.arg); break;
    case E_HOLD: W.faults--; k->held = 1; break;
    case E_FREE: k->held = k->full = 0; break;
    case E_CONNECT: k->slow = 0; break;
    case E_DOWN: take_down(e.s, e.arg); break;
    case E_ROLL: take_down(e.s, 1), bring_up(e.s); break;
    case E_UP: bring_up(e.s); break;
    case E_ERR: W.faults--; W.server[e.s].failing = e.arg; break;
    case E_HEAL: W.server[e.s].failing = 0; break;
    case E_PAUSE: W.faults--; side->paused = 1; break;
    case E_RESUME: side->paused = 0; break;
    default:
      if (W.ticks != NEVER) W.ticks--;
      tick(e.arg & 1 ? next_instant() - W.now : 1, e.arg >> 1);
  }
  check_state();
}

static struct event *add(struct event *to, int kind, int c, int s, int arg) {
  struct event e = {(uint8_t)kind, (uint8_t)c, (uint8_t)s, (uint8_t)arg};
  *to = e;
  return to + 1;
}

static struct event *list_calls(struct event *to, int c, int l) {
  int givers;
  for (int call = 0; call < CALLS; call++) {
    givers = call == ADOPT ? CLIENTS * LOCKS : 1;
    for (int giver = 0; giver < givers; giver++)
      if (may_call(c, l, call, giver)) to = add(to, E_CALL, c, l, call | giver << 4);
  }
  return to;
}

/* What it executes may have to wait for another. */
static int is_in_turn(const struct event *events, const struct event *to) {
  for (; cfg.in_turn && events != to; events++)
    if (events->kind == E_EXECUTE) return 0;
  return 1;
}

static struct event *list_connection(const struct event *events, struct event *to, int c, int e) {
  const struct connection *k = &W.side[c].to[e];
  int stands = k->open && !k->broken;
  if (stands && !k->held && k->in.commands && !W.server[server_of(e)].down &&
      is_in_turn(events, to))
    to = add(to, E_EXECUTE, c, e, 0);
  for (int z = 0; z < LOST; z++) {
    if (!W.side[c].lost[e][z].commands) continue;
    to = add(to, E_EXECUTE_LOST, c, e, z);
    to = add(to, E_DROP_LOST, c, e, z);
  }
  if (stands && may_fail('b')) to = add(to, E_BREAK, c, e, ENDED);
  if (stands && may_fail('b') && k->out_size) to = add(to, E_BREAK, c, e, RESET);
  if (stands && !k->held && may_fail('h')) to = add(to, E_HOLD, c, e, 0);
  if (k->held) to = add(to, E_FREE, c, e, 0);
  if (k->slow) to = add(to, E_CONNECT, c, e, 0);
  return to;
}

static struct event *list_server(struct event *to, int s) {
  const struct server *server = &W.server[s];
  if (!server->down && may_fail('d')) to = add(to, E_DOWN, 0, s, 0);
  if (!server->down && may_fail('m')) to = add(to, E_DOWN, 0, s, 1);
  if (server->down) to = add(to, E_UP, 0, s, 0);
  if (!server->down && may_fail('r') && may_roll(s)) to = add(to, E_ROLL, 0, s, 0);
  for (int how = 1; how <= (cfg.fencing ? 3 : 1) && !server->failing && may_fail('o'); how++)
    to = add(to, E_ERR, 0, s, how);
  if (server->failing) to = add(to, E_HEAL, 0, s, 0);
  return to;
}

static int may_slip(int slips) {
  for (int c = 0; c < cfg.clients; c++)
    if (slips >> c & 1 && !W.side[c].slips) return 0;
  return 1;
}

/* Time passes when nothing is due but what a fault delays. While nothing lives it goes to the next
   instant at once. */
static struct event *list_ticks(struct event *to) {
  if (!W.ticks || is_busy() || next_instant() == INT64_MAX) return to;
  for (int slips = 0; slips < 1 << cfg.clients; slips++)
    if (may_slip(slips))
      to = add(to, E_TICK, 0, 0, slips << 1 | (!slips && cfg.jumps > !is_quiet()));
  return to;
}

/* All that may come next. */
static int list_events(struct event *events) {
  struct event *to = events;
  for (int c = 0; c < cfg.clients; c++) {
    if (is_step_due(c)) to = add(to, E_STEP, c, 0, 0);
    for (int l = 0; l < cfg.locks; l++) to = list_calls(to, c, l);
    for (int e = 0; e < cfg.servers; e++) to = list_connection(events, to, c, e);
    if (!W.side[c].paused && may_fail('s')) to = add(to, E_PAUSE, c, 0, 0);
    if (W.side[c].paused) to = add(to, E_RESUME, c, 0, 0);
  }
  for (int s = 0; s < cfg.servers; s++) to = list_server(to, s);
  return (int)(list_ticks(to) - events);
}

static void print_event(struct event e) {
  static const char *const what[] = {
      "", "", "the server executes", "executes what a lost connection brought",
      "never gets what a lost connection brought", "the connection breaks", "stands still",
      "goes on", "goes down", "comes up", "restarts empty", "errs from now on", "errs no more",
      "the process is stopped", "the process goes on", "is connected at last", ""};
  printf("%5lld ms  ", (long long)(W.now - began_ms));
  if (e.kind == E_STEP) printf("c%d steps\n", e.c);
  else if (e.kind == E_CALL) printf("c%d calls %s for lock %d\n", e.c, call_name[e.arg & 15], e.s);
  else if (e.kind == E_TICK) printf("time passes%s\n", e.arg >> 1 ? " on one clock less" : "");
  else if (e.kind == E_PAUSE || e.kind == E_RESUME) printf("c%d: %s\n", e.c, what[e.kind]);
  else if (e.kind == E_DOWN) printf("s%d goes down%s\n", e.s, e.arg ? ", its memory is lost" : "");
  else if (e.kind >= E_UP && e.kind <= E_HEAL) printf("s%d %s\n", e.s, what[e.kind]);
  else printf("c%d s%d: %s\n", e.c, e.s, what[e.kind]);
}

#endif
