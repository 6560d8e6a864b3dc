/* hooks.h: what a world calls when something is seen, in the order of the models: those of tokens
 * and adoption look at a command before that of locks takes its step. A world says which of them it
 * is held to, with has_tokens, has_locks and has_adoption. */
#ifndef REFINE_HOOKS_H
#define REFINE_HOOKS_H

#include "refine/adoption.h"

/* A command has left. is_led: for the life that the server leads. */
static inline void refine_sends(int server, const struct seen *m, int is_led, int in_part) {
  if (has_tokens()) tokens_sent(m);
  if (has_locks()) exclusion_sent(m);
  if (has_adoption() && is_led) adoption_sent(server, m, in_part);
}

/* What has gone or come by no command of a client. */
static inline void refine_syncs(int server, int resource) {
  if (has_locks() && exclusion_sync(server, resource) && has_adoption()) adoption_vanishes(server);
}

/* A command is about to run. */
static inline void refine_begins_to_run(int server, const struct seen *m) {
  if (has_tokens() && m->token >= 0) tokens_look_before(server, m->resource);
  refine_syncs(server, m->resource);
}

/* And has run, for a client, in that life of the server. l: who hears its answer, and where that
 * ends there */
static inline void refine_has_run(int server, uint32_t life, struct adoption_line *l, uint32_t end,
                                  const struct seen *m, const struct effect *e) {
  if (has_tokens() && m->token >= 0) tokens_ran(server, m, e);
  if (has_adoption()) adoption_ran(server, life, l, end, m, e);
  if (has_locks()) exclusion_ran(server, m, e);
}

/* It is up again. */
static inline void refine_restarts(int server) {
  if (has_tokens()) tokens_restarted(server);
  if (has_adoption()) adoption_restarted(server);
  if (has_locks()) exclusion_restarted(server);
}

/* ---- A look at a lock ---- */

/* As its user knows it. */
struct look {
  const redlock_lock *lock;
  long value;
  int resource, is_held, is_kept, acquires, releases, adopts;
  int64_t left_ms, now_ms; /* by its client's clock */
};

/* The machines whose YES it shows. */
static inline uint32_t votes_shown(const redlock_lock *lock) {
  uint32_t q = 0;
  for (int e = 0; e < servers_here(); e++)
    if (lock->votes[e] == REDLOCK_VOTE_YES) q |= UINT32_C(1) << server_of(e);
  return q;
}

/* 1 = it is granted, or for longer than was known. */
static inline int refine_looks(const struct look *k) {
  exclusion_att a = exclusion_att_of(k->value);
  uint32_t q = votes_shown(k->lock);
  int64_t deadline_ms = k->now_ms + k->left_ms;
  if (has_tokens() && k->is_held) tokens_look(k->value, k->resource, q, k->lock->token);
  if (has_adoption() && k->is_held && k->adopts) adoption_look(k->value, k->resource, q);
  if (!has_locks() || k->value < 0) return 0;
  X.resource = k->resource;
  if (!k->releases) exclusion_shows(a, q);
  if (k->left_ms <= 0 || k->acquires || has_failed()) return 0;
  if (a->stopped) exclusion_step("stopped(a)", "release", a, -1);
  (void)exclusion_reads(a);
  if (a->granted && deadline_ms <= a->deadline_ms) return 0;
  exclusion_granted(a, deadline_ms, q, k->is_kept, k->adopts);
  return 1;
}

/* ---- What is reported: how often each step was taken ---- */

static const char *const model_names[] = {"exclusion", "tokens", "adoption"};
static const char *const *const model_steps[] = {exclusion_steps, tokens_steps, adoption_steps};

#endif
