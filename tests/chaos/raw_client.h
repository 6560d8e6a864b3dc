/* raw_client.h: a client that speaks the fencing script by itself and proposes any token at all:
 * the order of tokens must not hang on how a client chooses. It also knows when a server was
 * started, and so needs no INFO for the quarantine (R24). It asks one server after the other: one
 * that is stopped meanwhile is heard by the next long after. */
#ifndef RAW_CLIENT_H
#define RAW_CLIENT_H

#include "grants.h"
#include "tests/servers.h"

enum {
  RAW_TTL_MS = 4, /* less than many a pause: exclusion is broken all the time */
  RAW_ERA_US = 300000
};

/* How a raw client votes and counts; a negative control has another one. */
struct raw_rules {
  const char *script; /* EVAL script 2 resource counter value ttl_ms beginning token max_ttl_ms */
  int quorum, quarantine;
  int wild;           /* how many of ten proposals are anything at all */
  int max_ttl_ms;
};

struct raw_client {
  struct raw_rules rules;
  const struct servers *servers;
  uint64_t seed;
  int64_t low;               /* the greatest counter that refused */
  int known[SERVERS];        /* the next is */
  int64_t ahead_us[SERVERS]; /* each server's clock less ours */
};

static inline uint64_t draw(uint64_t *seed, uint64_t below) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed % below;
}

/* The number that it answers; 0 = the lock is held, an error, or no answer. The value may be
   anything: nobody releases it. It is also what may stand there already. */
static inline int64_t raw_ask(const struct raw_client *c, int server, int64_t value,
                              int64_t token) {
  const char *reply = server_command(&c->servers->at[server],
                                     "EVAL \"%s\" 2 r r:fence %lld %d %lld %lld %d",
                                     c->rules.script, (long long)value, RAW_TTL_MS,
                                     (long long)value, (long long)token, c->rules.max_ttl_ms);
  return strtoll(reply, NULL, 10);
}

/* Whoever has answered was started by then, or earlier: this is looked at behind its answer. */
static inline int raw_trusts(const struct raw_client *c, int server, int64_t asked_us) {
  if (!c->rules.quarantine) return 1;
  return board->trusted_us[server] <= asked_us - (int64_t)c->rules.max_ttl_ms * 1000;
}

/* 1 = a yes, and counted */
static inline int raw_hear(struct raw_client *c, int server, int64_t reply, int64_t token,
                           int64_t asked_us) {
  if (reply == 0) return 0;
  if (reply >= token && token > 0) {
    c->low = reply;
    return 0;
  }
  c->ahead_us[server] = (reply < 0 ? -reply : reply) - timing_us();
  c->known[server] = 1;
  return reply > 0 && raw_trusts(c, server, asked_us);
}

/* The quorum-th smallest of the clocks that are known; 0 = fewer are. */
static inline int64_t raw_clock(const struct raw_client *c) {
  int64_t ahead[SERVERS];
  int i, count = 0;
  for (i = 0; i < SERVERS; i++)
    if (c->known[i]) ahead[count++] = c->ahead_us[i];
  if (count < 2) return 0;
  qsort(ahead, (size_t)count, sizeof *ahead, timing_compare);
  return ahead[1] + timing_us();
}

/* All clients are so at the same times: what has been forgotten comes to light when tokens from the
   far end of the window are followed by ones from its near end. */
static inline int raw_is_modest(void) {
  uint64_t era = (uint64_t)timing_us() / RAW_ERA_US + 1;
  return draw(&era, 7) < 3;
}

/* Anything at all, near the clock, just above a refusal, as a client should, or anywhere in the
   window. */
static inline int64_t raw_propose(struct raw_client *c) {
  int64_t clock = raw_clock(c), window = (int64_t)c->rules.max_ttl_ms * 500;
  if (clock == 0) return 0;
  if (draw(&c->seed, 10) < (uint64_t)c->rules.wild)
    return clock - 2 * window + (int64_t)draw(&c->seed, (uint64_t)(12 * window));
  if (raw_is_modest()) return clock + (int64_t)draw(&c->seed, (uint64_t)window / 16);
  if (c->low > clock && draw(&c->seed, 10) == 0) return c->low + 1;
  if (draw(&c->seed, 3) == 0) return clock + window / 2;
  return clock + (int64_t)draw(&c->seed, (uint64_t)window);
}

/* Sometimes it takes itself for the holder for long. */
static inline void raw_try(struct raw_client *c, struct notes *notes) {
  struct grant grant;
  int64_t token = raw_propose(c), value = token + timing_us();
  int i, yes = 0;
  grant.asked_us = timing_us();
  for (i = 0; i < SERVERS; i++)
    yes += raw_hear(c, i, raw_ask(c, i, value, token), token, grant.asked_us);
  grant.granted_us = timing_us();
  notes->rounds++;
  if (yes < c->rules.quorum || token == 0) return;
  grants_overstay(notes, 4, 2 * RAW_TTL_MS);
  grant.token = (uint64_t)token;
  grant.done_us = timing_us();
  grants_note(notes, grant);
}

static inline void raw_run(struct raw_client *c, struct notes *notes) {
  while (!board->stop) {
    if (board->hush) poll(NULL, 0, 1);
    else raw_try(c, notes);
    if (draw(&c->seed, 2)) poll(NULL, 0, (int)draw(&c->seed, 5));
  }
}

#endif
