/* refine.h: whatever happens in the simulator is a step of the models that `make induct` proves.
 * Their state is kept beside the world, from what is seen from outside: the bytes that clients send
 * and read, what servers do, votes[], value, token and redlock_remaining_ms. hooks.h and what it
 * includes map that to their steps, simulator.h says what their words are here, and
 * ../induct/emit.py writes from the models what each step asks for, and what the proofs claim.
 *
 * The hooks, all of them, stand here: of a run's begin, of bytes that a client has sent or read, of
 * a command before and after it has run, of a server that is up again, and of each look at a lock.
 *
 * A step that a model has not is a violation, "refine: ...". Each step is counted, and --coverage
 * fails if one was never taken: a mapping that maps nothing is found. */
#ifndef REFINE_REFINE_H
#define REFINE_REFINE_H

#include "simulator.h"

static inline int is_refined(void) { return !W.unrefined && !W.failed; }

/* Clocks show what they show, and nothing has happened. */
static inline void refine_begins(void) {
  if (!W.unrefined) models_begin();
}

/* Bytes have been sent: a command begins its round when its last byte has. */
static inline void refine_sent(struct conn *n) {
  static unsigned char data[PIPE_BYTES];
  const struct pipe *up = &n->pipe[UP];
  uint32_t first = n->refined, size = up->written - first;
  struct arg argv[STORE_ARGS];
  int argc;
  if (!is_refined() || (int32_t)size <= 0) return;
  pipe_copy(up, first, data, size);
  while (n->refined != up->written) {
    uint32_t at = n->refined - first;
    long used = request_parse(data + at, size - at, argv, &argc);
    struct seen m;
    if (used <= 0 || W.failed) break;
    n->refined += (uint32_t)used;
    m = see(argc, argv);
    refine_sends(n->server, &m, n->incarnation == life_of(n->server), n->in_part);
    n->in_part = 0;
  }
  n->in_part = up->written != n->refined;
}

static inline void refine_heard(struct conn *n) {
  if (is_refined() && has_adoption())
    adoption_heard(&n->line, n->pipe[DOWN].read, n->incarnation == life_of(n->server));
}

/* A command is about to run on that server, in that database. */
static inline struct seen refine_runs(int server, int db, int argc, const struct arg *argv) {
  struct seen m = see(argc, argv);
  if (!is_refined()) return m;
  if (has_tokens() && store_command_of(argc, argv) == C_INFO) tokens_asked(server);
  if (db != W.cfg.db) m.kind = SEEN_NOTHING;
  if (m.kind != SEEN_NOTHING) refine_begins_to_run(server, &m);
  return m;
}

/* And has run. n: NULL = for a stranger, which is seen when a client comes next. answer: the size
 * of what is about to be written. */
static inline void refine_ran(int server, struct conn *n, const struct seen *m,
                              const struct effect *e, size_t answer) {
  if (!is_refined() || m->kind == SEEN_NOTHING) return;
  if (!n && m->token >= 0) tokens_ran(server, m, e);
  if (!n) return;
  refine_has_run(server, n->incarnation, &n->line, n->pipe[DOWN].written + (uint32_t)answer, m,
                 e);
  if (has_locks() && !W.failed) exclusion_claims(server);
}

static inline void refine_restarted(int server) {
  if (!is_refined()) return;
  refine_restarts(server);
  M.asks[server].count = 0;
  if (has_tokens()) tokens_asked(server);
  for (int i = 0; has_locks() && i < W.cfg.resources && !W.failed; i++) {
    X.resource = i;
    exclusion_claims(server);
  }
}

/* Its value, if it was drawn in this life. */
static inline long own_value(const struct client *c, const struct slot *s) {
  long value = value_of_lock(s);
  const struct value *v = &W.value[value < 0 ? 0 : value];
  return value >= 0 && v->client == c->index && v->life == c->life ? value : NOT_OURS;
}

/* A look at a lock, of which so much is left. */
static inline void refine_look(const struct client *c, const struct slot *s, int64_t left_ms) {
  struct look k = {&s->lock, own_value(c, s), s->resource, s->state == S_HELD, s->state == S_KEPT,
                   s->state == S_ACQUIRING, s->state == S_RELEASING, s->adopts, left_ms,
                   client_ms(c)};
  if (!is_refined() || s->state == S_IDLE) return;
  if (has_locks() && left_ms > 0 && k.value < 0 && !k.acquires)
    violation("refine: client %d slot %d holds a lock by no value", c->index, s->index);
  if (refine_looks(&k)) exclusion_is_held(s->resource, k.value);
}

#endif
