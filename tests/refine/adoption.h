/* adoption.h: values are set, adopted and put back by steps of ../induct/adoption.py; none is
 * adopted twice.
 *
 *   send      a SET of a value, or one over another's value, has been sent
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
 * of exclusion.h, before it takes the step. Not held to the model, as it is proved for less: a
 * giver that goes on; a value that a server has kept beyond a restart, or got back with an older
 * memory; one whose SET had left in part when it stopped. Nor worlds with two names of a server. */
#ifndef REFINE_ADOPTION_H
#define REFINE_ADOPTION_H

/* ---- The mapping: what the model's words are ---- */

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
#define A_under_way(m) ((m)->under_way && life_of((m)->server) == (m)->sent_to)
#define A_made(y) ((y)->made)
#define A_waits(y) ((y)->waits && life_of((y)->pair->server) == (y)->life)
#define A_made_at(y) ((y)->made_at)
#define A_maybe_set(u, x) ((u)->pair[x].maybe_set)
#define A_answered_by(u, x) ((u)->pair[x].answered_by)
#define A_knows(u, x) (life_of(x) == (u)->pair[x].known)
#define A_heard(u, x) ((u)->pair[x].heard)
#define A_stopped(u) ((u)->stopped)
#define A_replaced(u, x) ((u)->pair[x].replaced)
#define A_granted(u) ((u)->granted)

#define A_SET_time(v) (A.time = (int32_t)(v))
#define A_SET_present(x, v) ((void)(x), (void)(v)) /* exclusion.h does it */
#define A_SET_value(x, v) ((void)(v))
#define A_SET_sent(m, v) ((m)->sent = (v))
#define A_SET_under_way(m, v) ((m)->under_way = (v), (m)->sent_to = life_of((m)->server))
#define A_SET_made(y, v) ((y)->made = (v))
#define A_SET_waits(y, v) ((y)->waits = (v))
#define A_SET_made_at(y, v) ((y)->made_at = (int32_t)(v))
#define A_SET_maybe_set(u, x, v) ((u)->pair[x].maybe_set = (uint8_t)(v))
#define A_SET_answered_by(u, x, v) ((u)->pair[x].answered_by = (uint8_t)(v))
#define A_SET_knows(u, x, v) ((u)->pair[x].known = life_of(x))
#define A_SET_heard(u, x, v) ((u)->pair[x].heard = (int32_t)(v))
#define A_SET_stopped(u, v) ((u)->stopped = (v))
#define A_SET_replaced(u, x, v) ((u)->pair[x].replaced = (uint8_t)(v))
#define A_SET_granted(u, v) ((u)->granted = (v))

#define A_EACH_Srv(x) for (int x = 0; x < servers_here(); x++)
/* What ends with a life of a server is told by the life. */
#define A_EACH_Att(u) for (adoption_att u = NULL; u;)
#define A_EACH_Msg_with_to(m, x) for (adoption_msg m = ((void)(x), NULL); m;)
#define A_EACH_Rpl_with_by(y, x) for (adoption_rpl y = ((void)(x), NULL); y;)
#define A_TAKEN(i) (T->step[MODEL_ADOPTION][i]++)

#include "induct/emitted/adoption.h"

static inline void adoption_step(const char *why, const char *step, adoption_att u, int x) {
  refine_step(why, step, X.resource, u ? value_at(u) : -1, x);
}

/* NULL = it is passed over. */
static inline adoption_att adoption_held_to(long value) {
  adoption_att u = adoption_att_of(value);
  if (u->passed_over) return NULL;
  for (int x = 0; x < servers_here() && !u->pair[x].att; x++) {
    u->pair[x].att = u;
    u->pair[x].server = (uint8_t)x;
  }
  return u;
}

/* It had that giver; also if it is known no longer. */
static inline adoption_att another_of(adoption_att another, adoption_att giver) {
  another->giver = giver;
  return another;
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

/* Somebody begins to adopt it: its giver has stopped, or goes on, for which nothing is proved. */
static inline void adoption_gives(adoption_att g, long value) {
  if (value < 0 || somebody_has(value)) g->passed_over = 1;
  else if (!g->stopped) adoption_step(adoption_stop(g), "stop", g, -1);
}

/* To the life that server x leads. in_part: its first byte left earlier than its last. */
static inline void adoption_sent(int x, const struct seen *m, int in_part) {
  adoption_att u = adoption_held_to(m->value);
  adoption_msg p;
  if (!u || (m->kind != SEEN_EXTENSION && !is_seen_set(m))) return;
  X.resource = m->resource;
  p = &u->pair[x];
  if (!A_knows(u, x)) adoption_step(adoption_notice(u, x), "notice", u, x);
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
  adoption_step(adoption_send(p), "send", u, x);
  if (!has_failed()) adoption_claims(p);
}

/* Bytes were read: of which answers they are the end. */
static inline void adoption_heard(struct adoption_line *l, uint32_t read, int is_alive) {
  while (l->first != l->next) {
    adoption_rpl y = &l->answer[l->first % ANSWERS];
    if ((int32_t)(read - y->end) < 0) return;
    l->first++;
    if (!is_alive || A_about(y)->passed_over) continue;
    adoption_step(adoption_process(y, 1), "process", A_about(y), A_by(y));
    if (!has_failed()) adoption_claims(y->pair);
  }
}

/* ---- Servers ---- */

/* The answer of a command that has run. l: NULL = nobody hears it; end: where it ends there */
static inline adoption_rpl adoption_answers(struct adoption_line *l, adoption_msg p, uint32_t life,
                                            uint32_t end) {
  static struct adoption_answer unheard;
  adoption_rpl y = l ? &l->answer[l->next++ % ANSWERS] : &unheard;
  if (l && l->next - l->first > ANSWERS)
    refine_step("there is no room for another", "answer", X.resource, -1, p->server);
  memset(y, 0, sizeof *y);
  y->pair = p;
  y->life = life;
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
  if (g->passed_over || !adoption_held_to(value_at(g))) return;
  there = &g->pair[p->server];
  if (there->replacer)
    adoption_step(adoption_says_it_is_replaced_once(p->att, another_of(there->replacer, g),
                                                    p->server), "claim", p->att, p->server);
  there->replacer = p->att;
}

/* On server x, in that life; exclusion.h has not taken the step yet. */
static inline void adoption_ran(int x, uint32_t life, struct adoption_line *l, uint32_t end,
                                const struct seen *m, const struct effect *e) {
  adoption_att u = adoption_held_to(m->value);
  int yes = e->kind == EFFECT_SET || e->kind == EFFECT_EXTENDED, works;
  adoption_msg p;
  adoption_rpl y;
  X.resource = m->resource;
  if (e->kind == EFFECT_DELETED || e->kind == EFFECT_BLIND) adoption_vanishes(x);
  if (!u || m->kind == SEEN_RELEASE || (m->kind == SEEN_EXTENSION && e->kind == EFFECT_NONE))
    return;
  p = &u->pair[x];
  y = adoption_answers(l, p, life, end);
  y->to_set = m->kind != SEEN_EXTENSION;
  y->yes = (uint8_t)yes;
  works = m->kind == SEEN_SWAP ? X_present(x) && A_value(x) == u->giver : !X_present(x);
  if (m->kind == SEEN_EXTENSION) adoption_step(adoption_extend(u, x, y), "extend", u, x);
  else if (works && !yes) adoption_step(adoption_refuse(p, y), "refuse", u, x);
  else adoption_step(adoption_execute(p, y), "execute", u, x);
  if (m->kind == SEEN_SWAP && yes) adoption_replaces(p);
}

/* What it has kept or got back is passed over. */
static inline void adoption_restarted(int x) {
  refine_step(adoption_restart(x), "restart", X.resource, -1, x);
  for (int i = 0; i < resources_here(); i++) {
    struct key_seen k = key_seen(x, i);
    if (k.present && k.value >= 0) adoption_att_of(k.value)->passed_over = 1;
  }
}

/* ---- Users ---- */

/* An adopted lock is seen: its value was replaced at a quorum, by nobody else. */
static inline void adoption_look(long value, int resource, uint32_t q) {
  adoption_att u = adoption_held_to(value), g;
  if (!u || u->granted) return;
  X.resource = resource;
  g = u->giver ? u->giver : u;
  if (!g->passed_over) adoption_step(adoption_grant(u, q), "grant", u, -1);
  u->granted = 1;
  if (g->adopter && !g->passed_over)
    adoption_step(adoption_says_a_value_is_adopted_once(u, another_of(g->adopter, g)), "claim", u,
                  -1);
  g->adopter = u;
}

#endif
