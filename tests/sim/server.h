/* server.h: a simulated Redis process: reads requests off its connections, runs them, replies. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "net.h"
#include "wake.h"

static inline void server_new_run_id(struct server *s) {
  for (int i = 0; i < 40; i++) s->store.run_id[i] = "0123456789abcdef"[below(16)];
  s->store.run_id[40] = 0;
}

static inline int is_frozen(const struct server *s) { return s->frozen_until > W.now; }

/* A server that refuses a SELECT or an AUTH still runs what comes next. */
static inline void count_refusal(int command, const struct reply *r) {
  if (r->size && r->at[0] != '-') return;
  if (command == C_AUTH) T->fault[F_AUTH_REFUSED]++;
  if (command == C_SELECT) T->fault[F_SELECT_REFUSED]++;
  if (command == C_INFO) T->fault[F_INFO_REFUSED]++;
}

/* R26: whoever has read the name gets a push, behind what was answered before. by: who did it;
 * handed: by an adoption. */
static inline void server_push(int server, const unsigned char *name, size_t size,
                               const struct conn *by, int handed) {
  char out[STORE_NAME + 64];
  for (int i = 0; i < W.conns; i++) {
    struct conn *n = &W.conn[i];
    struct reply r = {out, 0};
    if (!stands_at(n, server) || !session_forgets(&n->session, name, size)) continue;
    reply_push(&r, name, size);
    if (n != by || !n->session.noloop) pipe_write(n, DOWN, r.at, (uint32_t)r.size);
    wake_sent(n, resource_of(name, size), handed); /* by the own reply, if there is no push */
  }
}

/* Keys that have expired are seen within 100 ms. */
static inline void server_reap(int server) {
  struct server *s = &W.server[server];
  if (s->down) return;
  if (is_frozen(s)) {
    schedule(s->frozen_until, EV_REAP, server, 0);
    return;
  }
  s->store.now_ms = server_ms(s);
  for (int i = 0; i < W.conns; i++) {
    struct session *c = &W.conn[i].session;
    if (!stands_at(&W.conn[i], server)) continue;
    for (int k = c->reads; k-- > 0;) {
      struct read read = c->read[k];
      struct arg name = {read.name, read.size};
      if (!read.present || store_find(&s->store, c->db, name)) continue;
      server_push(server, read.name, read.size, NULL, 0);
      k = c->reads;
    }
  }
}

/* Its table of what was read is too small (tracking-table-max-keys): it tells all who read the key,
 * as if that had changed. */
static inline void server_forgets(struct conn *n, const struct effect *e) {
  if (!W.cfg.forgets || e->kind != EFFECT_SET_REFUSED || !n->session.tracks) return;
  T->forgotten++;
  server_push(n->server, e->name, e->name_size, NULL, 0);
}

/* What was read, and is there, will be seen to expire. */
static inline void server_follow(struct conn *n, const struct effect *e) {
  struct server *s = &W.server[n->server];
  struct key *k;
  struct arg name = {e->subject, e->subject_size};
  if (e->changed) server_push(n->server, name.at, name.size, n, e->kind == EFFECT_SET);
  if (session_has(&n->session, name.at, name.size) < 0) return;
  k = store_find(&s->store, n->session.db, name);
  if (!k || k->reaped_ms == k->expires_ms) return;
  k->reaped_ms = k->expires_ms;
  schedule(clock_when(&s->clock, (k->expires_ms + 1) * MS) + between(0, 100 * MS), EV_REAP,
           n->server, 0);
}

/* A push that no one has waited for. */
static inline void server_chatter(struct conn *n) {
  char out[128];
  struct reply r = {out, 0};
  int nil = one_in(2);
  if (!n->session.tracks || !fault(F_PUSH)) return;
  reply_push(&r, nil ? NULL : (const unsigned char *)"+OK\r\n:1", 8);
  pipe_write(n, DOWN, r.at, (uint32_t)r.size);
  for (int i = 0; i < W.cfg.resources && nil; i++) wake_sent(n, i, 0);
}

static inline void server_reply(struct conn *n, const struct reply *r) {
  static const char *const junk[] = {"HTTP/1.1 400 Bad Request\r\n", ":\r\n", "$-2\r\n", "*1\r\n",
                                     "\r\n", "+OK\n", ":1x\r\n", "$99999999\r\n"};
  const char *bad = junk[below(8)];
  note(N_REPLY, n->server, n->id, (int64_t)r->size);
  if (fault(F_GARBAGE)) {
    pipe_write(n, DOWN, bad, (uint32_t)strlen(bad));
    conn_break(n, CHUNK_FIN, 1);
    return;
  }
  pipe_write(n, DOWN, r->at, (uint32_t)r->size);
  n->last_reply_end = n->pipe[DOWN].written;
  if (!n->reply_end) n->reply_end = n->last_reply_end;
  if (fault(F_UNOWED)) {
    bad = one_in(2) ? "+PONG\r\n" : "-ERR idle for too long\r\n";
    pipe_write(n, DOWN, bad, (uint32_t)strlen(bad));
    conn_break(n, CHUNK_FIN, 1);
  }
  if (fault(F_FIN)) conn_break(n, CHUNK_FIN, 1);
  if (fault(F_RST)) conn_break(n, CHUNK_RST, (int)below(2));
}

/* R16: asked how long the holder of a lock had waited, a liar says that it was for hours: always,
 * or where there is one. It may well push. */
static inline int server_lies(struct server *s, struct conn *n, int command, int argc,
                              const struct arg *argv, const struct seen *seen) {
  static char age[] = "$3\r\n\177\177\177\r\n";
  struct reply r = {age, sizeof age - 1};
  struct effect none = {0};
  if (!s->liar || command != C_EVAL || script_of(argc, argv) != SCRIPT_TRACKED) return 0;
  if (s->liar == LIES_WHERE_HELD && !store_find(&s->store, n->session.db, argv[3])) return 0;
  T->lies++;
  session_reads(&n->session, argv[3], 1);
  refine_ran(n->server, n, seen, &none, r.size);
  server_reply(n, &r);
  return 1;
}

/* A right was withdrawn: if the client has retired the release by then, since much was under way or
 * the server was frozen or in trouble, it cannot know which one is refused. It must send no more of
 * that kind, and so begin a new connection. */
static inline void excuse_withdrawn(struct server *s, struct conn *n, int command,
                                    const struct arg *argv, const struct reply *r) {
  struct key *k;
  long v;
  if (!s->store.refuse_natives || (command != C_DELEX && command != C_DELIFEQ)) return;
  if (r->size == 0 || r->at[0] != '-') return;
  n->denied = 1;
  k = store_find(&s->store, n->session.db, argv[1]);
  v = k ? value_of(k->value, k->value_size) : -1;
  if (v < 0 || k->owner != n->id) return;
  if (W.value[v].drawn <= s->troubled_at) k->excused = 1;
  k->refused = 1;
}

/* R8: a reply of the handshake in eight may have too little or too much, anywhere: always of a sort
 * that shifts what follows, once a connection, for two might make up for each other. Drawn beside
 * the rest. */
static inline int server_shifts(struct server *s, const struct conn *n, int command,
                                struct reply *r) {
  uint64_t x;
  int is_of_the_handshake = command == C_AUTH || command == C_SELECT || command == C_HELLO ||
                            command == C_CLIENT || command == C_INFO || command == C_PROOF;
  if (!(W.cfg.shifts >> n->server & 1) || !is_of_the_handshake || n->shifted) return 0;
  if (W.healed || W.quiet) return 0;
  x = splitmix(&W.shift_random);
  if (x % 8 || !shift_reply(r, (enum shift)(1 + (x >> 8) % (SHIFTS - 1)), (int)(x >> 16 & 15),
                            shift_texts[(x >> 24) % SHIFT_ELEMENTS],
                            command == (W.cfg.quarantine_ms ? C_INFO : C_PROOF)))
    return 0;
  s->excuse = s->troubled_at = W.now;
  T->fault[F_SHIFTED]++;
  return 1;
}

/* What no server does, on purpose (--server-bug=N). The guards of the models that no bug of the
 * header breaks must say so: tests/mutants/guards.txt. 16 is of users: handover.h. */
enum {
  DROPS_A_KEY = 1, STEPS_ITS_CLOCK, SAYS_TAKEN_TWICE, ERRS_TWICE, EXTENDS_ALL,
  EXTENDS_WHAT_IS_GONE, EXTENDS_ANOTHERS, DELETES_WHAT_IS_GONE, SETS_OVER_ANOTHERS,
  SWAPS_WHAT_IS_GONE, RESTORES_OVER_ANOTHERS, SETS_WHAT_NOBODY_SENT, SWAPS_WHAT_NOBODY_SENT,
  EXTENDS_UNASKED, ANSWERS_UNASKED, SETS_FOR_SWAPS = GIVERS_GO_ON + 1, SWAPS_FOR_SETS
};

/* One step in 64. */
static inline void server_misbehaves(struct server *s) {
  int keys = s->store.keys;
  if (W.turn % 64) return;
  if (W.server_bug == DROPS_A_KEY && keys) s->store.key[W.turn / 64 % (unsigned)keys].used = 0;
  if (W.server_bug == STEPS_ITS_CLOCK) clock_set(&s->clock, W.now, SEC, s->clock.ppm);
}

/* A command has another effect than it should: only where a key is there, or only where none is. */
static inline void server_misreports(int server, struct seen *m, struct effect *e) {
  enum { EITHER, THERE, GONE };
  static const struct {
    big bug;
    enum seen_kind command;
    int effect, where, instead;
  } misreports[] = {
      {EXTENDS_ALL, SEEN_EXTENSION, EFFECT_NOT_EXTENDED, EITHER, EFFECT_EXTENDED},
      {EXTENDS_WHAT_IS_GONE, SEEN_EXTENSION, EFFECT_NOT_EXTENDED, GONE, EFFECT_EXTENDED},
      {EXTENDS_ANOTHERS, SEEN_EXTENSION, EFFECT_NOT_EXTENDED, THERE, EFFECT_EXTENDED},
      {DELETES_WHAT_IS_GONE, SEEN_RELEASE, EFFECT_NOT_DELETED, GONE, EFFECT_DELETED},
      {SETS_OVER_ANOTHERS, SEEN_SET, EFFECT_SET_REFUSED, THERE, EFFECT_SET},
      {SWAPS_WHAT_IS_GONE, SEEN_SWAP, EFFECT_SET_REFUSED, GONE, EFFECT_SET},
      {RESTORES_OVER_ANOTHERS, SEEN_SET, EFFECT_SET_REFUSED, THERE, EFFECT_SET},
      {SETS_WHAT_NOBODY_SENT, SEEN_SET, EFFECT_SET, EITHER, EFFECT_SET},
      {SWAPS_WHAT_NOBODY_SENT, SEEN_SWAP, EFFECT_SET, EITHER, EFFECT_SET},
      {SETS_FOR_SWAPS, SEEN_SWAP, EFFECT_SET, EITHER, EFFECT_SET},
      {SWAPS_FOR_SETS, SEEN_SET, EFFECT_SET, EITHER, EFFECT_SET}};
  int i, where, count = (int)(sizeof misreports / sizeof misreports[0]);
  for (i = 0; i < count && misreports[i].bug != W.server_bug;) i++;
  if (i == count || m->kind != misreports[i].command || e->kind != misreports[i].effect) return;
  where = key_of(&W.server[server], m->resource, W.cfg.db) ? THERE : GONE;
  if (misreports[i].where != EITHER && misreports[i].where != where) return;
  if (W.server_bug == RESTORES_OVER_ANOTHERS && !was_adopted(m->value)) return;
  e->kind = misreports[i].instead;
  if (W.server_bug == SETS_FOR_SWAPS) m->kind = SEEN_SET;
  else if (W.server_bug == SWAPS_FOR_SETS) m->kind = SEEN_SWAP;
  else if (W.server_bug >= SETS_WHAT_NOBODY_SENT) m->value = W.values; /* which nobody has drawn */
}

/* Another command runs behind it; 0 = none. */
static inline int server_runs_another(struct seen *m, struct effect *e) {
  int sets = m->kind == SEEN_SET || m->kind == SEEN_SWAP;
  if (W.server_bug == SAYS_TAKEN_TWICE) return sets && e->kind == EFFECT_SET_REFUSED;
  if (W.server_bug == ERRS_TWICE) return sets && e->kind == EFFECT_NONE;
  if (W.server_bug != EXTENDS_UNASKED && W.server_bug != ANSWERS_UNASKED) return 0;
  if (!sets || e->kind != EFFECT_SET) return 0;
  m->kind = SEEN_EXTENSION;
  e->kind = W.server_bug == EXTENDS_UNASKED ? EFFECT_EXTENDED : EFFECT_NOT_EXTENDED;
  if (W.server_bug == ANSWERS_UNASKED) m->value = W.values;
  return 1;
}

static inline void server_run(struct conn *n, int argc, const struct arg *argv) {
  struct server *s = &W.server[n->server];
  static char out[STORE_REPLY];
  struct reply r = {out, 0};
  struct effect e = {0};
  struct seen seen;
  int command = store_command_of(argc, argv);
  s->store.now_ms = server_ms(s);
  s->store.now_us = clock_at(&s->clock, W.now) / US;
  s->store.error = W.now < s->error_until ? s->error : 0;
  s->store.refuse_natives =
      W.now >= W.cfg.no_natives_from && (W.cfg.no_natives >> n->server & 1) != 0;
  if (store_fails(&s->store, command)) {
    T->error_reply[s->store.error]++;
    T->fault[F_ERROR_REPLY]++;
  }
  if (s->store.error || s->store.replica) s->excuse = s->troubled_at = W.now;
  if (W.server_bug) server_misbehaves(s);
  seen = refine_runs(n->server, n->session.db, argc, argv);
  if (server_lies(s, n, command, argc, argv, &seen)) return;
  store_run(&s->store, &n->session, argc, argv, &r, &e);
  count_refusal(command, &r);
  n->shifted |= server_shifts(s, n, command, &r);
  excuse_withdrawn(s, n, command, argv, &r);
  check_effect(n, &e);
  if (W.server_bug) server_misreports(n->server, &seen, &e);
  server_chatter(n);
  refine_ran(n->server, n, &seen, &e, r.size);
  if (W.server_bug && server_runs_another(&seen, &e)) refine_ran(n->server, n, &seen, &e, r.size);
  if (r.size) server_reply(n, &r);
  server_follow(n, &e);
  server_forgets(n, &e);
  if (!n->shifted) wake_noted(s, n, command, &r, &e);
}

/* Runs one request; 0 = there is none. */
static inline int server_read(struct conn *n) {
  struct pipe *up = &n->pipe[UP], *down = &n->pipe[DOWN];
  static unsigned char data[STORE_COMMAND];
  struct arg argv[STORE_ARGS];
  uint32_t size = up->arrived - up->read;
  long used;
  int argc;
  if (size > STORE_COMMAND) size = STORE_COMMAND;
  if (size == 0 || n->server_gone) return 0;
  if (down->written - down->read > PIPE_BYTES - 2 * STORE_REPLY) return 0; /* it does not read */
  pipe_copy(up, up->read, data, size);
  used = request_parse(data, size, argv, &argc);
  if (used < 0 || (used == 0 && size == STORE_COMMAND))
    violation("protocol: client %d sends server %d what is no request", n->client, n->server);
  if (used <= 0) return 0;
  up->read += (uint32_t)used;
  server_run(n, argc, argv);
  return !W.failed;
}

static void server_input(struct conn *n) {
  struct server *s = &W.server[n->server];
  struct pipe *up = &n->pipe[UP];
  uint32_t before = up->read;
  if (is_frozen(s) || s->down || n->incarnation != s->incarnation) return;
  n->session.unsent = 0; /* a new turn: what came before was written at the end of the last one */
  while (server_read(n)) {}
  if (up->over && !n->server_gone) {
    n->server_gone = 1;
    pipe_end(n, DOWN, CHUNK_FIN, 0);
  }
  if (up->read != before && !n->client_gone) client_ready(&W.client[n->client], n->entry);
  conn_tidy(n);
}

/* ---- what happens to servers ---- */

static inline void server_serve_all(int server) {
  int from = pick(W.conns);
  for (int i = 0; i < W.conns; i++) {
    struct conn *n = &W.conn[(from + i) % W.conns];
    if (n->state == CONN_OPEN && n->server == server) server_input(n);
  }
}

static inline void server_freeze(int server, ns length) {
  struct server *s = &W.server[server];
  if (s->down || is_frozen(s)) return;
  s->frozen_until = W.now + length;
  schedule(s->frozen_until, EV_THAW, server, 0);
}

static inline void server_thaw(int server) {
  struct server *s = &W.server[server];
  if (is_frozen(s) || s->frozen_until == 0) return;
  s->frozen_until = 0;
  s->troubled_at = W.now;
  note(N_THAW, server, 0, 0);
  if (!s->down) server_serve_all(server);
}

enum { KEEP_ALL, KEEP_SOME, KEEP_NONE, KEEP_IMAGE };

/* KEEP_IMAGE: it is as it was then: RDB from before, or an AOF that lacks its tail. */
static inline void server_forget(struct server *s, int kept) {
  int image = kept == KEEP_IMAGE;
  if (image) memcpy(s->store.key, s->image, sizeof s->image);
  if (image) s->store.keys = s->image_keys;
  for (int i = 0; i < s->store.keys; i++)
    if (image) s->store.key[i].excused = 1;
    else if (kept == KEEP_NONE || one_in(2)) s->store.key[i].used = 0;
}

/* A process that dies resets its connections; a host that dies says nothing. */
static inline void server_crash(int server, int kept, int host, ns length) {
  struct server *s = &W.server[server];
  if (s->down) return;
  s->down = 1;
  s->host_down = host;
  s->frozen_until = 0;
  s->down_until = W.now + length;
  if (kept != KEEP_ALL) {
    s->lost = 1;
    server_forget(s, kept);
  }
  for (int i = 0; i < W.conns; i++) {
    struct conn *n = &W.conn[i];
    if (!stands_at(n, server)) continue;
    if (!host) conn_break(n, CHUNK_RST, 1);
    else {
      excuse(n);
      n->server_gone = 1;
      pipe_end(n, DOWN, CHUNK_DATA, 1);
      n->pipe[DOWN].cut = 0; /* the reset that answers the next segment can still come */
      n->pipe[DOWN].count = 0;
      n->pipe[DOWN].written = n->pipe[DOWN].arrived;
    }
    conn_tidy(n);
  }
  schedule(s->down_until, EV_RESTART, server, 0);
}

static inline void server_restart(int server) {
  struct server *s = &W.server[server];
  int keys = 0;
  if (!s->down || s->down_until > W.now) return;
  s->down = s->host_down = 0;
  s->incarnation++;
  s->restarted_at = s->troubled_at = W.now;
  if (s->lost) s->forgot_at = W.now;
  s->lost = 0;
  s->store.started_s = server_ms(s) / 1000;
  server_new_run_id(s);
  for (int i = 0; i < s->store.keys; i++) keys += s->store.key[i].used;
  note(N_RESTART, server, s->incarnation, keys);
  refine_restarted(server);
}

#endif
