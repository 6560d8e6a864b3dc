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

/* The machines whose YES it shows. */
static inline uint32_t votes_shown(const redlock_lock *lock) {
  uint32_t q = 0;
  int e;
  for (e = 0; e < servers_here(); e++)
    if (lock->votes[e] == REDLOCK_VOTE_YES) q |= UINT32_C(1) << server_of(e);
  return q;
}

#endif
