/* model.h: every transition is a step of the model of locks that `make induct` proves. Its state is
 * a part of each world, kept by what is seen from outside: commands that leave, what servers do,
 * votes[] and redlock_remaining_ms. It is none of the form: each transition is held to the model
 * along the first history of its state. What a step asks for, and what the proof claims, stands in
 * ../induct/emitted/exclusion.h, written from the model; here stands what its words mean.
 *
 *   a round        a SET's: the first of its value. An extension's: each ms in which one is sent,
 *                  or a SET of a lock that is held (R29); what runs counts for each that asks for
 *                  no more: the model lets a command run at any time after T1
 *   T1             when its first byte leaves. As read: what the deadline comes to, when it is
 *                  seen, and no later than what the client's clock showed as it left
 *   clocks         each shows true time: what they may be off, V and L have (slips, early_ms)
 *   a grant        a lock, or a deadline that has moved, with the YES that it shows
 *   stop           a release leaves, or the value is handed over
 *
 * Out of the model are a server that lies, and lost memory without max_ttl_ms. Without that, one
 * that comes back with its keys has stood still. */
#ifndef EXPLORE_MODEL_H
#define EXPLORE_MODEL_H

#include "words.h"

typedef struct model_round *exclusion_rnd;
typedef struct model_attempt *exclusion_att;
typedef int exclusion_val;
typedef unsigned exclusion_quo;

enum { NOT_OURS = -1, LONG_AGO = -1000000 };

static unsigned long steps_taken[16];

/* What a client takes off a ttl (R1): for the drift of the clocks, 2 ms, and the 1 ms by which a
   clock that counts in ms may lag. */
static int64_t drift_of(int64_t ttl) { return (ttl * cfg.ppm + 999999) / 1000000 + 2 + 1; }

/* How much earlier than asked a key may expire: as early as that permits. */
static int64_t early_ms(void) {
  int64_t ttl = cfg.ttl < cfg.ttl2 ? cfg.ttl : cfg.ttl2;
  if (cfg.shorter && cfg.shorter < ttl) ttl = cfg.shorter;
  return drift_of(ttl) - cfg.slips;
}

static int out_of_model(void) {
  return cfg.liar >= 0 || (!cfg.max_ttl && cfg.faults && strpbrk(cfg.kinds, "mr"));
}

/* ---- What its words mean --------------------------------------------------------------------- */

static exclusion_att attempt_of(exclusion_val v) {
  static struct model_attempt nobody;
  return v < 0 ? &nobody : &W.side[v / VALUES].attempt[v % VALUES];
}

static exclusion_val number_of(const struct value *v) {
  return is_drawn(v) ? (v->client - 1) * VALUES + v->number : NOT_OURS;
}

/* The value of an attempt, or of one of its rounds. */
static exclusion_val value_at(const void *at) {
  int c = at >= (const void *)&W.side[1];
  return c * VALUES + (int)(((const char *)at - (const char *)W.side[c].attempt) /
                            (long)sizeof(struct model_attempt));
}

#define X_key(x) W.model.key[W.model.resource][x]

#define X_now ((double)W.model.now)
#define X_QA (cfg.max_ttl ? (double)cfg.max_ttl : 1e17)
#define X_V(r) ((double)((r)->ttl - drift_of((r)->ttl) + cfg.slips))
#define X_L(r) ((double)((r)->ttl - early_ms()))
#define X_attempt(r) attempt_of(value_at(r))
#define X_value_of(a) value_at(a)
#define X_extends(r) ((r)->extends)
#define X_adopts(r) ((r)->adopts)
#define X_replaced(r) ((r)->replaced)
#define X_of(q, x) ((int)((q) >> (x)&1))
#define X_server_clock(x) ((void)(x), X_now)
#define X_client_clock(a) ((void)(a), X_now)
#define X_started(x) ((double)W.model.started[x])
#define X_begun(r) ((r)->begun)
#define X_t1(r) ((double)(r)->t1)
#define X_read(r) ((double)(r)->read)
#define X_voted(r, x) ((r)->voted >> (x)&1)
#define X_granted(r) ((r)->granted)
#define X_quorum(r) ((r)->quorum)
#define X_adopted(r) ((r)->adopted)
#define X_stopped(a) ((a)->stopped)
#define X_present(x) (X_key(x).present)
#define X_value(x) (X_key(x).value)
#define X_expiry(x) ((double)X_key(x).end)

#define X_SET_now(v) (W.model.now = (int64_t)(v))
#define X_SET_server_clock(x, v) ((void)(v))
#define X_SET_client_clock(a, v) ((void)(v))
#define X_SET_started(x, v) (W.model.started[x] = (int64_t)(v))
#define X_SET_begun(r, v) ((r)->begun = (v))
#define X_SET_t1(r, v) ((r)->t1 = (int32_t)(v))
#define X_SET_read(r, v) ((r)->read = (int32_t)(v))
#define X_SET_voted(r, x, v) ((r)->voted = (uint8_t)((r)->voted | ((v) != 0) << (x)))
#define X_SET_granted(r, v) ((r)->granted = (v))
#define X_SET_quorum(r, v) ((r)->quorum = (uint8_t)(v))
#define X_SET_adopted(r, v) ((r)->adopted = (v))
#define X_SET_stopped(a, v) ((a)->stopped = (v))
#define X_SET_present(x, v) (X_key(x).present = (uint8_t)(v))
#define X_SET_value(x, v) (X_key(x).value = (int16_t)(v))
#define X_SET_expiry(x, v) (X_key(x).end = (int64_t)(v))

#define X_EACH_Srv(x) for (int x = 0; x < cfg.servers; x++)
#define X_EACH_Rnd_with_attempt(r, a) \
  for (exclusion_rnd r = (a)->round; r != (a)->round + MODEL_ROUNDS; r++)
#define X_EACH_Rnd_with_value_of_attempt(r, v) X_EACH_Rnd_with_attempt(r, attempt_of(v))
#define X_TAKEN(i) (steps_taken[i]++)

#include "induct/emitted/exclusion.h"

static void takes(const char *why_not, const char *step) {
  char text[sizeof why];
  if (!why_not) return;
  snprintf(text, sizeof text, "model: no %s: %s", step, why_not);
  fail(text);
}

/* What happens is of that resource, and now. */
static void model_at(int resource) {
  W.model.resource = (uint8_t)resource;
  if (W.model.now != W.now) takes(exclusion_tick((double)(W.now - W.model.now)), "tick");
}

static void model_begins(void) {
  int s;
  W.model.now = W.now;
  for (s = 0; s < SERVERS; s++)
    W.model.started[s] = cfg.max_ttl ? W.server[s].started : -INT64_C(1000000000000000000);
}

/* ---- Rounds begin, and attempts stop --------------------------------------------------------- */

/* A value is drawn, whose number stands nowhere any more. */
static void model_draws(const struct value *v) {
  memset(attempt_of(number_of(v)), 0, sizeof(struct model_attempt));
}

static void begun(exclusion_rnd r, int64_t ttl, int64_t clock, int adopts, exclusion_val replaced) {
  exclusion_att a = X_attempt(r);
  memset(r, 0, sizeof *r);
  r->ttl = (int32_t)ttl;
  r->latest = (int32_t)clock;
  r->extends = r != a->round;
  r->adopts = (uint8_t)adopts;
  r->replaced = (int16_t)replaced;
  if (r->extends) takes(exclusion_begin_extension(r, (double)clock), "begin_extension");
  else takes(exclusion_begin_acquire(r, (double)clock), "begin_acquire");
  takes(exclusion_says_axiom_1(r), "round");
  takes(exclusion_says_axiom_4(r), "round");
  takes(exclusion_says_axiom_5(r), "round");
}

/* The place of the oldest that was not granted, if all are in use. */
static exclusion_rnd place_for_round(exclusion_att a) {
  exclusion_rnd r, oldest = NULL;
  for (r = a->round + 1; r != a->round + MODEL_ROUNDS; r++) {
    if (!r->begun) return r;
    if (!oldest || r->granted < oldest->granted ||
        (r->granted == oldest->granted && r->t1 < oldest->t1))
      oldest = r;
  }
  return oldest;
}

/* Once in each ms. */
static void begin_more(exclusion_att a, int64_t ttl, int64_t clock) {
  exclusion_rnd r;
  for (r = a->round + 1; r != a->round + MODEL_ROUNDS; r++)
    if (r->begun && r->t1 == W.now && r->ttl == ttl && r->latest >= clock) return;
  begun(place_for_round(a), ttl, clock, 0, 0);
}

/* The first byte of a command of client c leaves. */
static void model_sends(int c, const struct command *m) {
  exclusion_att a = attempt_of(number_of(&m->value));
  struct value named;
  int names;
  if (out_of_model() || m->sort == ASKS || !is_drawn(&m->value)) return;
  model_at(m->resource);
  names = m->sort == SETS && names_a_value(m, &named);
  if (m->sort == RELEASES) takes(exclusion_stop(a), "stop");
  else if (m->sort == EXTENDS || a->granted) begin_more(a, m->ttl, clock_of(c));
  else if (!a->round->begun)
    begun(a->round, m->ttl, clock_of(c), names, names ? number_of(&named) : 0);
}

static void model_hands_over(const struct value *v) {
  if (!out_of_model()) takes(exclusion_stop(attempt_of(number_of(v))), "stop");
}

/* ---- Servers --------------------------------------------------------------------------------- */

/* What has gone or come by no command of a client. */
static void model_syncs(int x, int resource) {
  const struct value *v = &W.server[x].key[resource].value;
  model_at(resource);
  if (X_present(x) && (!v->client || number_of(v) != X_value(x)))
    takes(exclusion_expire(x), "expire");
  if (!X_present(x) && v->client)
    takes(exclusion_appear(x, number_of(v), (double)W.server[x].key[resource].end), "appear");
}

static void agrees(int x, int resource) {
  const struct value *v = &W.server[x].key[resource].value;
  if ((v->client != 0) != X_present(x) || (v->client && number_of(v) != X_value(x)))
    fail("model: another value is there");
  if (is_drawn(v) && W.server[x].key[resource].end != X_key(x).end)
    fail("model: a key's end is another");
}

/* For each round that asks for no more; for one of its own if that is known no longer. */
static void extended(int x, exclusion_att a, int64_t ttl) {
  exclusion_rnd r;
  int same = 0;
  for (r = a->round + 1; r != a->round + MODEL_ROUNDS; r++) same |= r->begun && r->ttl == ttl;
  if (!same) begun(place_for_round(a), ttl, LONG_AGO, 0, 0);
  for (r = a->round + 1; r != a->round + MODEL_ROUNDS; r++)
    if (r->begun && r->ttl <= ttl) takes(exclusion_execute_extension(r, x), "execute_extension");
}

/* A SET of a lock that is held puts its value back, or came late. */
static void was_set(int x, exclusion_att a, const struct command *m) {
  exclusion_rnd first = a->round;
  struct value named;
  if (names_a_value(m, &named)) {
    takes(exclusion_execute_swap(first, x), "execute_swap");
  } else if (!a->granted || (first->ttl == m->ttl && !first->adopts)) {
    takes(exclusion_execute_set(first, x), "execute_set");
    if (a->granted) extended(x, a, m->ttl);
  } else {
    takes(exclusion_appear(x, X_value_of(a), X_now + (double)(m->ttl - early_ms())), "appear");
    extended(x, a, m->ttl);
  }
}

/* A command has run on server x, which was in step before. */
static void model_runs(int x, const struct command *m, const struct effect *e) {
  exclusion_att a = attempt_of(number_of(&m->value));
  if (out_of_model() || m->sort == ASKS) return;
  model_at(m->resource);
  if (e->kind == EFFECT_DELETED || e->kind == EFFECT_BLIND)
    takes(exclusion_release(a, x), "release");
  if (e->kind == EFFECT_EXTENDED) extended(x, a, m->ttl);
  if (e->kind == EFFECT_SET) was_set(x, a, m);
  agrees(x, m->resource);
}

/* It goes down and forgets, or is up again. */
static void model_restarts(int x) {
  int r;
  for (r = 0; r < RESOURCES && !out_of_model(); r++) {
    const struct value *v = &W.server[x].key[r].value;
    model_at(r);
    if (cfg.max_ttl)
      takes(exclusion_restart(x, v->client != 0, number_of(v), (double)W.server[x].key[r].end),
            "restart");
  }
}

/* ---- Locks ----------------------------------------------------------------------------------- */

/* The servers whose YES it shows. */
static unsigned votes_shown(const redlock_lock *lock) {
  unsigned q = 0;
  int e;
  for (e = 0; e < cfg.servers; e++)
    if (lock->votes[e] == REDLOCK_VOTE_YES) q |= 1u << server_of(e);
  return q;
}

static int is_quorum(unsigned q) {
  int n = 0;
  for (; q; q &= q - 1) n++;
  return n > cfg.servers / 2;
}

/* Whether that round may have given this deadline, by these votes. */
static const char *granted_by(exclusion_rnd r, int64_t deadline, unsigned q) {
  int64_t read = deadline - (r->ttl - drift_of(r->ttl));
  const char *no;
  if (read > r->latest) return "(read <= client_clock(attempt(r))) at T1";
  if (!is_quorum(q)) return "it is a quorum";
  if ((no = exclusion_grant(r, q)) != NULL) return no;
  X_SET_read(r, read);
  return exclusion_says_T1(r);
}

/* By its SET, or by one of its extensions. A kept lock may show the votes of the next one. */
static void granted(exclusion_att a, int64_t deadline, unsigned q, int is_kept) {
  exclusion_rnd r = a->granted ? a->round + 1 : a->round;
  exclusion_rnd end = a->granted ? a->round + MODEL_ROUNDS : a->round + 1;
  const char *no = "begun(r)";
  for (; r != end && no; r++)
    if (r->begun) no = granted_by(r, deadline, is_kept && !is_quorum(q) ? r->voted : q);
  takes(no, a->granted ? "grant of an extension" : "grant");
  a->granted = 1;
  a->deadline = (int32_t)deadline;
}

/* A YES that it shows was said to its value, and counts: R4 R8 R19 R24. */
static void shows(const redlock_lock *lock, exclusion_att a) {
  unsigned voted = 0;
  X_EACH_Rnd_with_attempt(r, a) voted |= r->voted;
  if (votes_shown(lock) & ~voted) fail("model: votes that were not cast");
}

/* A lock of resource l, of which so much is left. */
static void model_looks(int c, int l, int64_t left) {
  const redlock_lock *lock = &W.side[c].lock[l];
  const struct user *u = &W.side[c].user[l];
  struct value v = value_of(lock);
  exclusion_att a = attempt_of(number_of(&v));
  if (u->state == IDLE || u->given || (u->state == PENDING && u->call == RELEASE)) return;
  if (!is_drawn(&v)) return;
  shows(lock, a);
  if (left <= 0 || acquires(u)) return;
  if (a->stopped) fail("model: held on, and stopped");
  if (!a->granted || clock_of(c) + left > a->deadline)
    granted(a, clock_of(c) + left, votes_shown(lock), u->state == KEPT);
}

/* What the proof claims of whoever holds it: votes last, a quorum has the value or cannot vote, and
   nobody else holds it. */
static void claims_of(exclusion_att a, exclusion_att other) {
  X_EACH_Rnd_with_attempt(r, a) {
    if (!r->granted) continue;
    X_EACH_Srv(x) {
      takes(exclusion_says_a_vote_lasts(r, x), "claim");
      takes(exclusion_says_a_quorum_has_the_value_or_cannot_vote(r, x), "claim");
    }
    X_EACH_Rnd_with_attempt(q, other) takes(exclusion_says_exclusion(r, q), "claim");
  }
}

/* left: of each client's lock of this resource. */
static void model_looks_at_all(int l, const int64_t *left) {
  exclusion_att holder[CLIENTS] = {NULL};
  int c, x;
  if (out_of_model()) return;
  for (x = 0; x < cfg.servers; x++)
    if (!W.server[x].down) model_syncs(x, l);
  for (c = 0; c < cfg.clients; c++) {
    struct value v = value_of(&W.side[c].lock[l]);
    model_at(l);
    model_looks(c, l, left[c]);
    holder[c] = attempt_of(left[c] > 0 && attempt_of(number_of(&v))->granted ? number_of(&v)
                                                                             : NOT_OURS);
  }
  for (c = 0; c < cfg.clients; c++)
    claims_of(holder[c], c + 1 < cfg.clients ? holder[c + 1] : attempt_of(NOT_OURS));
}

static void print_steps(void) {
  int i;
  printf("steps:");
  for (i = 0; exclusion_steps[i]; i++) printf(" %s %lu", exclusion_steps[i], steps_taken[i]);
  printf("\n");
}

#endif
