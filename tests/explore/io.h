/* io.h: redlock_io on the world. Within a step each hook may choose: which replies have arrived,
 * and where a fault may be paid for, how much a send takes, a break, a pause of the process. */
#ifndef EXPLORE_IO_H
#define EXPLORE_IO_H

#include "servers.h"

enum { MOST_HOOKS = 3000, MOST_PIECES = 2 * QUEUE };

static int number[CLIENTS]; /* each client's, for its hooks */
static int idle;            /* a step without a reason is under way: no hook may act (R27) */
static uint32_t idle_writes; /* but it may try where it waits for room */
static int hook_calls;
static unsigned long draws; /* values drawn, ever */

static struct side *enter(void *ctx) {
  struct side *side = &W.side[*(int *)ctx];
  if (++hook_calls > MOST_HOOKS) fail("R10: a call that never ends");
  if (!calm && !idle) rl_check(&side->rl);
  return side;
}

static int64_t left_of(int c, int l) {
  int64_t left;
  idle = 1;
  left = redlock_remaining_ms(&W.side[c].rl, &W.side[c].lock[l]);
  idle = 0;
  return left;
}

/* For how long the lock is held; what was handed over is not. */
static int64_t holds(int c, int l) {
  return W.side[c].user[l].given ? 0 : left_of(c, l);
}

static int64_t held_for(const struct user *u) {
  int c = cfg.clients > 1 && u >= W.side[1].user;
  return holds(c, (int)(u - W.side[c].user));
}

/* ---- What leaves ----------------------------------------------------------------------------- */

/* What was sent or heard just now may be timed by a clock that is read behind the pause (R7). */
static void pause_for_a_while(void) {
  for (int c = 0; c < cfg.clients; c++)
    for (int e = 0; e < cfg.servers; e++)
      if (W.side[c].to[e].owed_since == W.now) W.side[c].to[e].late = PAUSE;
  time_passes(PAUSE);
}

/* The process is paused within a call: just before the clock is read, or bytes pass. */
static void pause_within(void) {
  if (idle || !chooses_fault('i')) return;
  SAY("      the process is paused for %d ms\n", PAUSE);
  pause_for_a_while();
}

/* The first byte of a command leaves: R7, R12, R13. */
static void note_sent(int c, int entry, const struct command *m) {
  struct connection *k = &W.side[c].to[entry];
  uint8_t *fate = fate_of(&m->value, entry);
  const struct user *u = user_with(&m->value);
  if (asks(m)) return;
  model_sends(server_of(entry), &m->seen, k->cut != 0);
  if (m->value.client != c + 1) fail("R21: a value of another client is sent");
  if (m->seen.kind == SEEN_RELEASE) *fate |= RELEASE_SENT;
  if (cfg.max_ttl && k->greets) fail("R4: a command leaves before the handshake has succeeded");
  if (m->seen.kind != SEEN_RELEASE && (k->cut ? k->was_overdue : k->overdue))
    fail("R13: a stalled server gets more than releases");
  if (!is_seen_set(&m->seen)) return;
  if (!k->cut && (!u || (u->state == PENDING && u->call == RELEASE)))
    fail("R12: a SET is sent although its lock is not wanted any more");
  if (u && is_quarantined(server_of(entry)) && m->seen.kind == SEEN_SET) {
    if (acquires(u) && !held_for(u))
      fail("R29: a SET of what is not held is sent to a server without a vote");
    if (m->seen.token >= 0 && u->granted_at && W.server[server_of(entry)].started >= u->granted_at)
      fail("R29: a value is sent again with a token");
  }
  if ((*fate & SENT) && (*fate & (RAN | SAID_NO | SAID_YES)) != (RAN | SAID_NO))
    fail("R12: a SET is sent again to one life of a server that has not said ours is not there");
  if (*fate & RELEASE_SENT) fail("R7: a SET is sent behind its own roll-back");
  *fate = (uint8_t)((*fate | SENT) & ~RAN);
  k->carries = 1;
}

/* The commands in some bytes, and where each ends. The last may not be whole. */
struct pieces {
  struct command command[MOST_PIECES];
  size_t end[MOST_PIECES];
  int whole;
  size_t size;
};

static void take_apart(const char *bytes, size_t size, struct pieces *p) {
  size_t at = 0;
  p->whole = 0;
  p->size = size;
  while (at < size && p->whole < MOST_PIECES) {
    struct command *m = &p->command[p->whole];
    long step = request_parse((const unsigned char *)bytes + at, size - at, m->argv, &m->argc);
    if (step < 0) fail("a malformed request");
    if (step == 0) return;
    describe(m);
    at += (size_t)step;
    p->end[p->whole++] = at;
  }
}

/* How many bytes the socket takes (fault p): all, or up to before or within a command; -1 = it
   breaks. before: bytes that it took earlier. */
static long socket_room(struct connection *k, const struct pieces *p, size_t before) {
  int count = p->whole + (p->whole == 0 || p->end[p->whole - 1] < p->size), how, piece;
  size_t from, to;
  if (!may_fail('p')) return (long)(p->size - before);
  how = choose(count < 6 ? 2 + 2 * count : 14);
  if (how == 0) return (long)(p->size - before);
  W.faults--;
  if (how == 1) return -1;
  piece = (how - 2) / 2;
  from = piece ? p->end[piece - 1] : 0;
  to = piece < p->whole ? p->end[piece] : p->size;
  if (from < before) from = before;
  k->full = k->held = 1;
  return (long)((how % 2 ? from + (to - from + 1) / 2 : from) - before);
}

/* Whether the client waits for a reply. */
static int is_owed(const struct connection *k) {
  return k->open && (k->in.commands || k->cut || k->replies);
}

static void owe_from_now(struct connection *k) {
  k->owed_since = W.now;
  k->late = 0;
}

/* The socket has taken the bytes up to `size`. */
static void take_in(int c, int entry, const char *bytes, const struct pieces *p, size_t size) {
  struct connection *k = &W.side[c].to[entry];
  size_t from = 0;
  int i;
  if (!is_owed(k)) owe_from_now(k);
  for (i = 0; i < p->whole && p->end[i] <= size; i++) {
    if (!k->cut || !k->noted) note_sent(c, entry, &p->command[i]);
    k->cut = k->noted = 0;
    if (!queue_add(&k->in, &p->command[i])) fail("world: a queue is too small");
    SAY("      c%d s%d:   %s %s\n", c, entry, kind_name[p->command[i].seen.kind],
        asks(&p->command[i]) ? "" : value_text(&p->command[i].value));
    from = p->end[i];
  }
  if (size > from && !k->cut) k->was_overdue = k->overdue;
  if (i < p->whole && size > from && !k->noted) {
    note_sent(c, entry, &p->command[i]);
    k->noted = 1;
  }
  k->cut = from < size ? word_of(bytes + from, size - from) : 0;
}

/* The server acts on all of it before the client goes on. */
static void pause_behind(int entry, struct connection *k) {
  struct command m;
  if (!k->in.commands || idle || !chooses_fault('i')) return;
  while (k->in.commands) {
    queue_take(&k->in, &m);
    execute(entry, &m, k);
  }
  SAY("      the process is paused for %d ms behind the send\n", PAUSE);
  pause_for_a_while();
}

static void lose_replies(struct connection *k) {
  k->out_size = k->replies = 0;
  memset(k->out, 0, OUT);
}

static int has_room(const struct connection *k, int commands) {
  return !k->slow && !k->full && k->in.commands + commands <= QUEUE;
}

/* Leaves out what the queue has no room for; 0 = nothing is left. */
static int shorten(const struct connection *k, struct pieces *p, size_t before) {
  int fit = 0;
  while (fit < p->whole && has_room(k, fit + 1)) fit++;
  if (fit < p->whole || !has_room(k, 0)) {
    p->whole = fit;
    p->size = fit ? p->end[fit - 1] : before;
  }
  return p->size > before;
}

static int send_some(void *ctx, int entry, const void *data, size_t size) {
  static char bytes[STORE_COMMAND + RL_OUTPUT_BYTES];
  static struct pieces p;
  struct connection *k = &enter(ctx)->to[entry];
  int c = *(int *)ctx;
  size_t before = word[k->cut].size;
  long room;
  if (!k->open) fail("a send on a closed connection");
  if (idle && !(idle_writes >> entry & 1)) fail("R27: an idle step sends");
  if (idle) return 0;
  if (size == 0) fail("it sends nothing");
  pause_within();
  if (k->broken) return k->broken == RESET ? -1 : (int)size;
  memcpy(bytes, word[k->cut].at ? word[k->cut].at : "", before);
  memcpy(bytes + before, data, size);
  take_apart(bytes, before + size, &p);
  if (!shorten(k, &p, before)) return 0;
  room = socket_room(k, &p, before);
  if (room < 0) {
    SAY("      c%d s%d: the connection breaks as it sends\n", c, entry);
    k->broken = RESET;
    lose_replies(k);
    return -1;
  }
  SAY("      c%d s%d: sends %ld of %lu bytes\n", c, entry, room, (unsigned long)size);
  if (room) take_in(c, entry, bytes, &p, before + (size_t)room);
  pause_behind(entry, k);
  return (int)room;
}

static int hook_send(void *ctx, int entry, const void *data, size_t size) {
  int sent = send_some(ctx, entry, data, size);
  if (!idle) W.side[*(int *)ctx].to[entry].blocked = sent < (int)size;
  return sent;
}

/* ---- What arrives ---------------------------------------------------------------------------- */

static int hook_recv(void *ctx, int entry, void *data, size_t size) {
  struct side *side = enter(ctx);
  struct connection *k = &side->to[entry];
  size_t n = k->out_size;
  int how;
  if (!k->open) fail("a recv on a closed connection");
  if (idle) return 0;
  pause_within();
  if (k->broken == RESET) return -1;
  if (n == 0) return k->broken ? -1 : 0;
  if (k->held) return 0;
  how = side->closed || cfg.in_turn ? 0 : choose(may_fail('p') ? 3 : 2);
  if (how == 1) return 0;
  if (how == 2) { /* half of the last reply but one */
    W.faults--;
    while (n > 1 && memchr(k->out, '\n', n - 1)) n--;
    n = (n + 1) / 2;
  }
  if (n > size) n = size;
  memcpy(data, k->out, n);
  if (verbose) {
    printf("      c%d s%d: reads ", *(int *)ctx, entry);
    print_bytes(k->out, n);
    printf("\n");
  }
  model_hears(k, n);
  k->out_size = (uint16_t)(k->out_size - n);
  memmove(k->out, k->out + n, k->out_size);
  memset(k->out + k->out_size, 0, n);
  if (!k->out_size && k->replies) owe_from_now(k); /* no part of one, and no push (R13) */
  if (!k->out_size) k->replies = 0;
  if (!k->out_size && !k->cut && !queue_begins_with_question(&k->in)) k->greets = 0;
  if (!is_owed(k)) k->overdue = 0;
  return (int)n;
}

/* ---- Connections ----------------------------------------------------------------------------- */

static intptr_t hook_open(void *ctx, int entry, const char *host, const char *port) {
  struct connection *k = &enter(ctx)->to[entry];
  int c = *(int *)ctx, how = 0;
  (void)host, (void)port;
  if (idle) fail("R27: an idle step opens a connection");
  if (k->open) fail("a connection is opened twice");
  if (may_fail('c')) how = choose(3);
  if (how) W.faults--;
  if (W.server[server_of(entry)].down) how = 1;
  SAY("      c%d s%d: %s\n", c, entry, how == 0 ? "connects" : how == 1 ? "is refused" :
      "its connect hangs");
  if (how == 1) return -1;
  memset(k, 0, sizeof *k);
  k->open = 1;
  k->slow = how == 2;
  k->greets = 1;
  return 100 + entry;
}

/* R12: what was set on a connection that is lost may stay. */
static void note_lost(int c, int entry, int how) {
  for (int n = 0; n < VALUES; n++)
    if (W.side[c].fate[n][entry] & SENT)
      W.side[c].fate[n][entry] = (uint8_t)(W.side[c].fate[n][entry] | how);
}

/* What the server has been sent already it may still execute. */
static void leave_to_server(int c, int entry) {
  struct connection *k = &W.side[c].to[entry];
  struct queue *lost = W.side[c].lost[entry];
  int i;
  for (i = 0; i < LOST - 1 && lost[i].commands; i++) {} /* at worst the last one is forgotten */
  if (k->in.commands) lost[i] = k->in;
  memset(&k->in, 0, sizeof k->in);
  k->cut = k->noted = k->was_overdue = 0;
}

static void hook_close(void *ctx, int entry) {
  struct connection *k = &enter(ctx)->to[entry];
  int c = *(int *)ctx;
  if (idle) fail("R27: an idle step closes");
  if (!k->open) fail("a connection is closed twice");
  SAY("      c%d s%d: closes\n", c, entry);
  if (k->carries && !k->broken && !k->blocked && !k->slow && !W.side[c].closed &&
      server_of(entry) != cfg.liar && /* R8: what is not its reply ends it */
      !(cfg.twins && cfg.push) &&     /* R5: so does a 1 to a SET: its value is there already */
      (!is_owed(k) || W.now < k->owed_since + LEAST_SILENCE))
    fail("R13: a connection is given up that was not silent for 5 s");
  if (!W.side[c].closed || k->cut || k->held || k->slow) note_lost(c, entry, LOST_ON);
  note_lost(c, entry, CLOSED_ON);
  leave_to_server(c, entry);
  memset(k, 0, sizeof *k);
}

/* ---- Waiting, the clock, entropy ------------------------------------------------------------- */

static int is_readable(const struct connection *k) {
  return k->open && (k->broken || (k->out_size && !k->held));
}

/* Only redlock_close waits: the servers act, or else time passes. */
static int hook_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  struct side *side = enter(ctx);
  struct command m;
  int ready = 0;
  if (!side->closed) fail("R10: a call that does not block waits");
  for (int i = 0; i < count; i++) {
    struct connection *k = &side->to[want[i].server];
    while (k->in.commands && !k->held && !k->broken) {
      queue_take(&k->in, &m);
      execute(want[i].server, &m, k);
    }
    ready += is_readable(k);
  }
  if (!ready && timeout_ms < 0) fail("R10: it waits for ever for nothing");
  if (!ready) time_passes(timeout_ms ? timeout_ms : 1);
  return ready;
}

static int64_t hook_now(void *ctx) {
  struct side *side = enter(ctx);
  pause_within();
  if (!idle && chooses_fault('k')) {
    SAY("      the clock fails\n");
    side->upset = 1;
    return -1;
  }
  return clock_of(*(int *)ctx);
}

static int hook_entropy(void *ctx, void *data, size_t size) {
  struct side *side = enter(ctx);
  struct value v = {.client = (uint8_t)(*(int *)ctx + 1)};
  if (idle) fail("R27: an idle step asks for entropy");
  if (chooses_fault('e')) {
    SAY("      there is no entropy\n");
    side->upset = 1;
    return -1;
  }
  memset(data, 0, size);
  if (size == 4) return 0; /* a random number: the least */
  if (size != RL_VALUE_BYTES) fail("R3: a value is not 20 random bytes");
  while (side->drawn >> v.number & 1) v.number++;
  if (v.number == VALUES) fail("world: too many values");
  side->drawn |= 1u << v.number;
  memset(side->fate[v.number], 0, sizeof side->fate[0]);
  model_draws(number_of(&v));
  value_write((char *)data, &v);
  draws++;
  return 0;
}

static const redlock_io world_io = {hook_open, hook_send, hook_recv,    hook_close,
                                    hook_wait, hook_now,  hook_entropy, NULL};
static redlock_io io[CLIENTS];

#endif
