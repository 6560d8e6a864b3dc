/* refine_adoption.h: values are set, adopted and put back by steps of ../induct/adoption.py; none
 * is adopted twice.
 *
 *   send      the last byte of a SET of a value, or of one over another's value, has been sent
 *   execute   a server has done it, or has left it since another key is there, or the given is not
 *   refuse    it answered it, and did nothing for another reason
 *   extend    a server has answered an extension of the value
 *   process   the client has read the whole of an answer, from the life that the server leads
 *   vanish    a key is gone, by a release or by itself
 *   notice    something about the value is sent to a later life of the server for the first time
 *   restart   a server is up again
 *   stop      at the latest when somebody begins to adopt the value, and no user has it any more
 *   grant     an adopted lock is seen
 *
 * The model speaks of what a client knows (maybe_set, answered_by). That is not looked at: what a
 * client may know at best is told by the answers that it has read. So a SET which is sent while the
 * model's maybe_set stands is the error. Where a refused SET clears it, it is taken to.
 *
 * A message is named by its value and its server, since there is but one on its way. Keys are those
 * of refine_exclusion.h, before it takes the step. Not held to the model, as it is proved for less:
 * a giver that goes on; a value that a server has kept beyond a restart, or got back with an older
 * memory; one whose SET had left in part when it stopped. Nor worlds with two names of a server. */
#ifndef SIM_REFINE_ADOPTION_H
#define SIM_REFINE_ADOPTION_H

typedef struct adoption_attempt *adoption_att;
typedef struct adoption_pair *adoption_msg;
typedef struct adoption_answer *adoption_rpl;
typedef uint32_t adoption_quo;

/* A value and a server: what its client may know, and the SET that is on its way. */
struct adoption_pair {
  adoption_att att, replacer; /* replacer: who has adopted it there */
  int server, sent, swaps, under_way, maybe_set, answered_by, replaced;
  uint32_t known, sent_to; /* which life of the server */
  double heard;
};

struct adoption_attempt {
  adoption_att giver, adopter; /* adopter: who was granted the lock by this value */
  adoption_msg pair;           /* one for each server */
  int adopts, stopped, passed_over, granted;
};

struct adoption_answer {
  adoption_msg pair;
  int to_set, yes, made, waits;
  uint32_t life, end; /* end: of its bytes, on the connection */
  double made_at;
};

enum { ANSWERS = 1 << 10, MAX_PAIRS = 1 << 21 };

/* The answers that a connection brings, in their order. */
struct adoption_line {
  uint32_t id; /* of the connection */
  unsigned first, next;
  struct adoption_answer answer[ANSWERS];
};

static struct adoption_model {
  adoption_att att; /* by value */
  adoption_msg pair;
  struct adoption_line *line; /* by connection */
  long atts, pairs;
  double time;
} A;

/* ---- The mapping: what the model's words are here ---- */

static inline adoption_att adoption_att_of(long value) {
  static struct adoption_attempt nobody;
  if (value < 0) return &nobody;
  if (value >= A.atts) A.atts = value + 1;
  return &A.att[value];
}

static inline int leads_life(int server, uint32_t life) {
  return W.server[server].incarnation == life;
}

#define A_time (A.time)
#define A_sets(m) ((m)->att)
#define A_to(m) ((m)->server)
#define A_swaps(m) ((m)->swaps)
#define A_about(y) ((y)->pair->att)
#define A_by(y) ((y)->pair->server)
#define A_to_set(y) ((y)->to_set)
#define A_yes(y) ((y)->yes)
#define A_adopts(u) ((u)->adopts)
#define A_giver(u) ((u)->giver)
#define A_of(q, x) ((int)((q) >> (x)&1))
#define A_present(x) X_present(x)
#define A_value(x) adoption_att_of(X_value(x))
#define A_sent(m) ((m)->sent)
#define A_under_way(m) ((m)->under_way && leads_life((m)->server, (m)->sent_to))
#define A_made(y) ((y)->made)
#define A_waits(y) ((y)->waits && leads_life((y)->pair->server, (y)->life))
#define A_made_at(y) ((y)->made_at)
#define A_maybe_set(u, x) ((u)->pair[x].maybe_set)
#define A_answered_by(u, x) ((u)->pair[x].answered_by)
#define A_knows(u, x) leads_life(x, (u)->pair[x].known)
#define A_heard(u, x) ((u)->pair[x].heard)
#define A_stopped(u) ((u)->stopped)
#define A_replaced(u, x) ((u)->pair[x].replaced)
#define A_granted(u) ((u)->granted)

#define A_SET_time(v) (A.time = (v))
#define A_SET_present(x, v) ((void)(x), (void)(v)) /* refine_exclusion.h does it */
#define A_SET_value(x, v) ((void)(v))
#define A_SET_sent(m, v) ((m)->sent = (v))
#define A_SET_under_way(m, v) \
  ((m)->under_way = (v), (m)->sent_to = W.server[(m)->server].incarnation)
#define A_SET_made(y, v) ((y)->made = (v))
#define A_SET_waits(y, v) ((y)->waits = (v))
#define A_SET_made_at(y, v) ((y)->made_at = (v))
#define A_SET_maybe_set(u, x, v) ((u)->pair[x].maybe_set = (v))
#define A_SET_answered_by(u, x, v) ((u)->pair[x].answered_by = (v))
#define A_SET_knows(u, x, v) ((u)->pair[x].known = W.server[x].incarnation)
#define A_SET_heard(u, x, v) ((u)->pair[x].heard = (v))
#define A_SET_stopped(u, v) ((u)->stopped = (v))
#define A_SET_replaced(u, x, v) ((u)->pair[x].replaced = (v))
#define A_SET_granted(u, v) ((u)->granted = (v))

#define A_EACH_Srv(x) for (int x = 0; x < W.cfg.servers; x++)
/* What ends with a life of a server is told by the life. */
#define A_EACH_Att(u) for (adoption_att u = NULL; u;)
#define A_EACH_Msg_with_to(m, x) for (adoption_msg m = ((void)(x), NULL); m;)
#define A_EACH_Rpl_with_by(y, x) for (adoption_rpl y = ((void)(x), NULL); y;)
#define A_TAKEN(i) (T->step[MODEL_ADOPTION][i]++)

#include "induct/emitted/adoption.h"

/* ---- What is kept ---- */

static inline int has_adoption(void) { return !W.cfg.out_of_model && !has_alias(); }

static inline void adoption_begins(void) {
  int i;
  if (!A.att) A.att = (adoption_att)room_for(MAX_VALUES * sizeof *A.att);
  if (!A.pair) A.pair = (adoption_msg)room_for(MAX_PAIRS * sizeof *A.pair);
  if (!A.line) A.line = (struct adoption_line *)room_for(MAX_CONNS * sizeof *A.line);
  memset(A.att, 0, (size_t)A.atts * sizeof *A.att);
  memset(A.pair, 0, (size_t)A.pairs * sizeof *A.pair);
  for (i = 0; i < MAX_CONNS; i++) A.line[i].id = 0;
  A.atts = A.pairs = 0;
}

/* NULL = it is passed over. */
static inline adoption_att adoption_held_to(long value) {
  adoption_att u = adoption_att_of(value);
  int i;
  if (value < 0 || u->passed_over) return NULL;
  if (!u->pair && A.pairs + W.cfg.servers > MAX_PAIRS) u->passed_over = 1;
  if (u->pair || u->passed_over) return u->pair ? u : NULL;
  u->pair = &A.pair[A.pairs];
  A.pairs += W.cfg.servers;
  for (i = 0; i < W.cfg.servers; i++) {
    u->pair[i].att = u;
    u->pair[i].server = i;
  }
  return u;
}

static inline void adoption_step(const char *why, const char *step, adoption_att u, int x) {
  refine_step(why, step, X.resource, (long)(u - A.att), x);
}

/* What the proof claims of a value at a server. If it fails, this was no run of the model. */
static inline void adoption_claims(adoption_msg m) {
  adoption_att u = m->att;
  int x = m->server;
  T->spent += (unsigned)m->replaced;
  adoption_step(adoption_says_then_the_value_is_not_there(m), "claim", u, x);
  adoption_step(adoption_says_and_the_client_knows(m), "claim", u, x);
  adoption_step(adoption_says_where_it_may_send(u, x), "claim", u, x);
  if (!u->adopts || u->giver->passed_over) return;
  adoption_step(adoption_says_a_giver_has_stopped(m), "claim", u, x);
  adoption_step(adoption_says_what_was_replaced_is_spent(u, x), "claim", u, x);
}

/* ---- Clients ---- */

/* A user has a lock of this value still. */
static inline int somebody_has(long value) {
  const struct value *v = &W.value[value];
  const struct client *c = &W.client[v->client];
  int i;
  for (i = 0; c->alive && c->life == v->life && i < c->slots; i++) {
    const struct slot *s = &c->slot[i];
    if (s->state != S_IDLE && s->state != S_RELEASING &&
        value_of((const unsigned char *)(const void *)s->lock.value, VALUE_BYTES) == value)
      return 1;
  }
  return 0;
}

/* Somebody begins to adopt it: its giver has stopped, or goes on, for which nothing is proved. */
static inline void adoption_gives(adoption_att g, long value) {
  if (value < 0 || somebody_has(value)) g->passed_over = 1;
  else if (!g->stopped) adoption_step(adoption_stop(g), "stop", g, -1);
}

/* in_part: its first byte left earlier than its last. */
static inline void adoption_sent(const struct conn *n, const struct seen *m, int in_part) {
  adoption_att u = adoption_held_to(m->value);
  adoption_msg p;
  if (!u || m->kind == SEEN_RELEASE || !leads_life(n->server, n->incarnation)) return;
  X.resource = m->resource;
  p = &u->pair[n->server];
  if (!A_knows(u, n->server)) adoption_step(adoption_notice(u, n->server), "notice", u, n->server);
  if (m->kind == SEEN_EXTENSION) return;
  if (in_part && u->stopped) {
    u->passed_over = 1;
    return;
  }
  if (m->kind == SEEN_SWAP && !u->giver) {
    u->adopts = 1;
    u->giver = adoption_att_of(m->replaced);
    adoption_gives(u->giver, m->replaced);
  }
  p->sent = 0; /* a new message; but the last one may be on its way still */
  p->swaps = m->kind == SEEN_SWAP;
  if (p->swaps && u->giver->passed_over) u->giver->stopped = 1;
  adoption_step(adoption_send(p), "send", u, n->server);
  if (!W.failed) adoption_claims(p);
}

/* Bytes were read: of which answers they are the end. */
static inline void adoption_heard(const struct conn *n) {
  struct adoption_line *l = &A.line[conn_index(n)];
  while (l->id == n->id && l->first != l->next) {
    adoption_rpl y = &l->answer[l->first % ANSWERS];
    if ((int32_t)(n->pipe[DOWN].read - y->end) < 0) return;
    l->first++;
    if (!leads_life(n->server, n->incarnation) || A_about(y)->passed_over) continue;
    adoption_step(adoption_process(y, 1), "process", A_about(y), A_by(y));
    if (!W.failed) adoption_claims(y->pair);
  }
}

/* ---- Servers ---- */

/* The answer of a command that has run, which ends there. */
static inline adoption_rpl adoption_answers(const struct conn *n, adoption_msg p, int to_set,
                                            int yes, uint32_t end) {
  struct adoption_line *l = &A.line[conn_index(n)];
  adoption_rpl y;
  if (l->id != n->id) {
    l->id = n->id;
    l->first = l->next = 0;
  }
  if (l->next - l->first == ANSWERS) violation("refine: there is no room for another answer");
  y = &l->answer[l->next++ % ANSWERS];
  memset(y, 0, sizeof *y);
  y->pair = p;
  y->to_set = to_set;
  y->yes = yes;
  y->life = n->incarnation;
  y->end = end;
  return y;
}

static inline void adoption_vanishes(int x) {
  refine_step(adoption_vanish(x), "vanish", X.resource, -1, x);
}

/* It adopts the value there: no other has. */
static inline void adoption_replaces(adoption_msg p) {
  adoption_att g = p->att->giver;
  adoption_msg there;
  if (g->passed_over || !g->pair) return;
  there = &g->pair[p->server];
  if (there->replacer)
    adoption_step(adoption_says_it_is_replaced_once(p->att, there->replacer, p->server), "claim",
                  p->att, p->server);
  there->replacer = p->att;
}

/* end: where the answer ends, on the connection; refine_exclusion.h has not taken the step yet. */
static inline void adoption_ran(const struct conn *n, const struct seen *m, const struct effect *e,
                                uint32_t end) {
  adoption_att u = adoption_held_to(m->value);
  int x = n->server, yes = e->kind == EFFECT_SET || e->kind == EFFECT_EXTENDED, works;
  adoption_msg p;
  adoption_rpl y;
  X.resource = m->resource;
  if (e->kind == EFFECT_DELETED || e->kind == EFFECT_BLIND) adoption_vanishes(x);
  if (!u || m->kind == SEEN_RELEASE || (m->kind == SEEN_EXTENSION && e->kind == EFFECT_NONE))
    return;
  p = &u->pair[x];
  y = adoption_answers(n, p, m->kind != SEEN_EXTENSION, yes, end);
  works = m->kind == SEEN_SWAP ? X_present(x) && A_value(x) == u->giver : !X_present(x);
  if (m->kind == SEEN_EXTENSION) adoption_step(adoption_extend(u, x, y), "extend", u, x);
  else if (works && !yes) adoption_step(adoption_refuse(p, y), "refuse", u, x);
  else adoption_step(adoption_execute(p, y), "execute", u, x);
  if (m->kind == SEEN_SWAP && yes) adoption_replaces(p);
}

/* What it has kept or got back is passed over. */
static inline void adoption_restarted(int x) {
  const struct store *s = &W.server[x].store;
  int i;
  refine_step(adoption_restart(x), "restart", X.resource, -1, x);
  for (i = 0; i < s->keys; i++)
    if (s->key[i].used && value_in(&s->key[i]) >= 0)
      adoption_att_of(value_in(&s->key[i]))->passed_over = 1;
}

/* ---- Users ---- */

/* An adopted lock is seen: its value was replaced at a quorum, by nobody else. */
static inline void adoption_look(const struct slot *s) {
  long value = value_of((const unsigned char *)(const void *)s->lock.value, VALUE_BYTES);
  adoption_att u = adoption_held_to(value), g;
  if (!u || u->granted || !s->adopts) return;
  X.resource = s->resource;
  g = u->giver ? u->giver : u;
  if (!g->passed_over) adoption_step(adoption_grant(u, votes_shown(s)), "grant", u, -1);
  u->granted = 1;
  if (g->adopter && !g->passed_over)
    adoption_step(adoption_says_a_value_is_adopted_once(u, g->adopter), "claim", u, -1);
  g->adopter = u;
}

#endif
