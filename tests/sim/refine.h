/* refine.h: whatever happens is a step of the models that `make induct` proves. Their state is kept
 * here beside the world, from what is seen from outside: the bytes that clients send and read, what
 * servers do, votes[], value, token and redlock_remaining_ms. What each step asks for, and what the
 * proofs claim, is not written here: ../induct/emit.py writes it from the models.
 *
 *   refine_exclusion.h  locks: one model for each resource, of the list's database
 *   refine_tokens.h     tokens
 *   refine_adoption.h   SETs of a value, so that none is adopted twice
 *
 * The hooks, all of them, are at the end: of a run's begin, of bytes that a client has sent or
 * read, of a command before and after it has run, of a server that is up again, and of each look at
 * a lock.
 *
 * A step that a model has not is a violation, "refine: ...". Each step is counted, and --coverage
 * fails if one was never taken: a mapping that maps nothing is found. */
#ifndef SIM_REFINE_H
#define SIM_REFINE_H

#include "checker.h"

enum { MODEL_EXCLUSION, MODEL_TOKENS, MODEL_ADOPTION };

/* A command about a resource, by its words. */
enum seen_kind { SEEN_NOTHING, SEEN_SET, SEEN_SWAP, SEEN_EXTENSION, SEEN_RELEASE };

enum { NOT_OURS = -2 }; /* the value of another program */

struct seen {
  enum seen_kind kind;
  int resource;
  long value, replaced; /* replaced: what a swap, that is an adoption's SET, asks for */
  int64_t ttl_ms, token; /* token: -1 = none */
};

static inline int is_refined(void) { return !W.unrefined && !W.failed; }

/* `why` is what the model says against the step: NULL = nothing. */
static inline void refine_step(const char *why, const char *step, int resource, long value,
                               int server) {
  if (why)
    violation("refine: no %s (value %ld, server %d, resource %d): %s", step, value, server,
              resource, why);
}

static inline long value_seen(struct arg a) {
  long v = value_of(a.at, a.size);
  return v < 0 ? NOT_OURS : v;
}

static inline long value_in(const struct key *k) {
  struct arg a = {k->value, k->value_size};
  return k->list ? NOT_OURS : value_seen(a);
}

/* A SET by script, whose words come from `own` on: value, ttl, and 20 bytes of what is given, which
 * are its own beginning where nothing is; a token. */
static inline void see_script(struct seen *m, const struct arg *own, int has_token) {
  const struct arg *given = own + 2;
  int gives = given->size != VALUE_BYTES || own->size < VALUE_BYTES ||
              memcmp(given->at, own->at, VALUE_BYTES) != 0;
  m->kind = gives ? SEEN_SWAP : SEEN_SET;
  if (gives) m->replaced = value_seen(*given);
  if (has_token && !arg_integer(own[3], &m->token)) m->token = -1;
}

static inline struct seen see(int argc, const struct arg *argv) {
  struct seen m = {SEEN_NOTHING, -1, NOT_OURS, NOT_OURS, 0, -1};
  int command = store_command_of(argc, argv), key = command == C_EVAL ? 3 : 1, i;
  enum script script = command == C_EVAL ? script_of(argc, argv) : SCRIPT_RELEASE;
  int own = key + 1 + (script == SCRIPT_FENCED) + (command == C_DELEX);
  if (command != C_SET && command != C_EVAL && command != C_DELEX && command != C_DELIFEQ) return m;
  if (argc <= own) return m;
  m.resource = resource_of(argv[key].at, argv[key].size);
  if (m.resource < 0) return m;
  m.value = value_seen(argv[own]);
  m.kind = SEEN_RELEASE;
  if (command == C_SET) {
    m.kind = SEEN_SET;
    for (i = own + 1; i + 1 < argc; i++)
      if (arg_is(argv[i], "px") && !arg_integer(argv[i + 1], &m.ttl_ms)) m.kind = SEEN_NOTHING;
  }
  if (script == SCRIPT_EXTEND) m.kind = SEEN_EXTENSION;
  if (script == SCRIPT_TRACKED || script == SCRIPT_FENCED)
    see_script(&m, &argv[own], script == SCRIPT_FENCED);
  if (command == C_EVAL && m.kind != SEEN_RELEASE && !arg_integer(argv[own + 1], &m.ttl_ms))
    m.kind = SEEN_NOTHING;
  return m;
}

static inline int count_of(uint32_t servers) {
  int n = 0;
  for (; servers; servers &= servers - 1) n++;
  return n;
}

/* The machines whose YES it shows. */
static inline uint32_t votes_shown(const struct slot *s) {
  uint32_t q = 0;
  int i;
  for (i = 0; i < W.cfg.servers; i++)
    if (s->lock.votes[i] == REDLOCK_VOTE_YES) q |= UINT32_C(1) << W.cfg.entry_server[i];
  return q;
}

#include "refine_exclusion.h"
#include "refine_tokens.h"
#include "refine_adoption.h"

/* ---- The hooks ---- */

/* Clocks show what they show, and nothing has happened. */
static inline void refine_begins(void) {
  if (W.unrefined) return;
  exclusion_begins();
  tokens_begins();
  adoption_begins();
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
    if (W.cfg.fenced) tokens_sent(&m);
    if (!W.cfg.out_of_model) exclusion_sent(&m);
    if (has_adoption()) adoption_sent(n, &m, n->in_part);
    n->in_part = 0;
  }
  n->in_part = up->written != n->refined;
}

static inline void refine_heard(const struct conn *n) {
  if (is_refined() && has_adoption()) adoption_heard(n);
}

/* A command is about to run on that server, in that database. */
static inline struct seen refine_runs(int server, int db, int argc, const struct arg *argv) {
  struct seen m = see(argc, argv);
  if (!is_refined()) return m;
  if (W.cfg.fenced && store_command_of(argc, argv) == C_INFO) tokens_asked(server);
  if (db != W.cfg.db) m.kind = SEEN_NOTHING;
  if (m.kind == SEEN_NOTHING) return m;
  if (W.cfg.fenced && m.token >= 0) tokens_look_before(server, m.resource);
  if (!W.cfg.out_of_model && exclusion_sync(server, m.resource) && has_adoption())
    adoption_vanishes(server);
  return m;
}

/* And has run. n: NULL = for a stranger, which is seen when a client comes next. answer: the size
 * of what is about to be written. */
static inline void refine_ran(int server, const struct conn *n, const struct seen *m,
                              const struct effect *e, size_t answer) {
  if (!is_refined() || m->kind == SEEN_NOTHING) return;
  if (W.cfg.fenced && m->token >= 0) tokens_ran(server, m, e);
  if (n && has_adoption()) adoption_ran(n, m, e, n->pipe[DOWN].written + (uint32_t)answer);
  if (n && !W.cfg.out_of_model) exclusion_ran(server, m, e);
}

static inline void refine_restarted(int server) {
  if (!is_refined()) return;
  if (W.cfg.fenced) tokens_restarted(server);
  if (has_adoption()) adoption_restarted(server);
  if (!W.cfg.out_of_model) exclusion_restarted(server);
}

/* A look at a lock, of which so much is left. */
static inline void refine_look(struct client *c, struct slot *s, int64_t left_ms) {
  if (!is_refined() || s->state == S_IDLE) return;
  if (W.cfg.fenced && s->state == S_HELD) tokens_look(s);
  if (has_adoption() && s->state == S_HELD) adoption_look(s);
  if (!W.cfg.out_of_model) exclusion_look(c, s, left_ms);
}

#endif
