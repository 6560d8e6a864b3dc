/* oracle.h: what must hold after each event, whatever the schedule. */
#ifndef ORACLE_H
#define ORACLE_H

static inline int is_failing(void) {
  const struct fake *f = &world.fake;
  return f->on_call || (f->fail_hook != FAKE_ANY && f->calls[f->fail_hook] < f->fail_until);
}

static inline int is_pending(const struct user *u) {
  int i, count = 0;
  for (i = 0; i < SLOTS; i++) count += u->slot[i].pending;
  return count;
}

/* ---- Outcomes -------------------------------------------------------------------------------- */

/* The statuses that an operation may come to. */
static inline void is_legal(const redlock_lock *lock, redlock_status status,
                            redlock_operation operation) {
  int acquires = operation == REDLOCK_ACQUIRE, lost = operation == REDLOCK_LOST;
  switch (status) {
    case REDLOCK_OK: FUZZ_CHECK(!lost); break;
    case REDLOCK_TAKEN: FUZZ_CHECK(acquires); break;
    case REDLOCK_NO_QUORUM: FUZZ_CHECK(!lost || world.options.keep_margin_ms); break;
    case REDLOCK_EXPIRED: break;
    case REDLOCK_CANCELLED: FUZZ_CHECK(operation == REDLOCK_RELEASE); break;
    case REDLOCK_LIMIT: FUZZ_CHECK(operation == REDLOCK_EXTEND || lost); break;
    case REDLOCK_INVALID: FUZZ_CHECK(operation == REDLOCK_EXTEND); break;
    case REDLOCK_SYSTEM: FUZZ_CHECK(world.has_failed); break;
    default: fuzz_fail("no such status", __FILE__, __LINE__);
  }
  if (acquires) FUZZ_CHECK(lock->status == status && lock->operation == REDLOCK_ACQUIRE);
}

/* R25: greater than that of every grant before. Nobody shares a lock, so that is their order. */
static inline void has_token(const struct slot *s) {
  const redlock_lock *lock = &s->lock;
  uint64_t *last = &world.token[s->resource == 'b'];
  int granted = lock->status == REDLOCK_OK;
  FUZZ_CHECK((lock->token != 0) == (granted && world.options.fencing));
  if (!granted || !world.options.fencing || !world.is_honest) return;
  FUZZ_CHECK(lock->token > *last);
  *last = lock->token;
}

#include "handover.h"

static inline void granted(const struct slot *s) {
  has_token(s);
  check_adopted(s);
}

/* A call that starts an operation: PENDING, or why not. */
static inline void started(struct slot *s, redlock_status status, redlock_operation operation) {
  if (status != REDLOCK_PENDING) return;
  FUZZ_CHECK(!s->pending && !s->kept);
  s->pending = 1;
  s->operation = operation;
  FUZZ_CHECK(s->lock.status == REDLOCK_PENDING && s->lock.operation == operation);
}

/* R20: not before so much is left. */
static inline void is_told_in_time(const struct user *u, const redlock_lock *lock) {
  if (lock->operation == REDLOCK_LOST && lock->status == REDLOCK_NO_QUORUM)
    FUZZ_CHECK(redlock_remaining_ms(&u->rl, lock) <= world.options.keep_margin_ms);
}

/* Step or wait gave this one back: it was owed, and is no more. */
static inline void handed(struct user *u, redlock_lock *lock) {
  struct slot *s = u->slot;
  while (s != u->slot + SLOTS && &s->lock != lock) s++;
  FUZZ_CHECK(s != u->slot + SLOTS);
  FUZZ_CHECK(s->pending || s->kept);
  FUZZ_CHECK(lock->operation == (s->kept ? REDLOCK_LOST : s->operation));
  FUZZ_CHECK(lock->status != REDLOCK_CANCELLED && lock->status != REDLOCK_INVALID);
  is_legal(lock, lock->status, lock->operation);
  is_told_in_time(u, lock);
  if (lock->operation == REDLOCK_ACQUIRE) granted(s);
  s->pending = s->kept = 0;
}

/* R9, R10: a blocking call ends in time, but for what the clock did by itself. What waits for room
   waits for the servers before it: up to twice server_timeout_ms more, for the reply that is timed
   and then for the last one (R13). */
static inline void took(int64_t begin, int64_t wait_ms) {
  int64_t most = wait_ms + 3 * ((int64_t)world.options.server_timeout_ms + 2);
  if (!world.is_rushed && !world.has_failed) FUZZ_CHECK(world.fake.now_ms - begin <= most);
}

/* ---- Steps: that each has a reason (R27), the fake sees to ----------------------------------- */

/* Steps, told what a poll would tell. */
static inline redlock_lock *step_once(struct user *u) {
  struct fake_client *client = &world.fake.client[u - world.user];
  redlock_fd fds[REDLOCK_MAX_SERVERS];
  uint32_t ready = 0;
  int i, count = redlock_fds(&u->rl, fds, REDLOCK_MAX_SERVERS);
  if (!world.tells) return redlock_step(&u->rl);
  for (i = 0; i < count; i++)
    if (fake_ready_count(&world.fake, client, &fds[i], 1)) ready |= UINT32_C(1) << fds[i].server;
  return redlock_step_on(&u->rl, ready);
}

static inline void step(struct user *u) {
  redlock_lock *lock;
  while ((lock = step_once(u)) != NULL) handed(u, lock);
}

/* ---- The locks ------------------------------------------------------------------------------- */

/* On how many servers one value holds the resource. */
static inline int support(char resource) {
  const struct key *key[FAKE_SERVERS];
  char name[2];
  int i, j, most = 0, found = 0;
  name[0] = resource;
  name[1] = '\0';
  for (i = 0; i < world.fake.servers; i++) {
    key[found] = fake_key_in(&world.fake, i, world.db, name);
    if (key[found]) found++;
  }
  for (i = 0; i < found; i++) {
    int same = 0;
    for (j = 0; j < found; j++)
      same += key[i]->value_size == key[j]->value_size &&
              memcmp(key[i]->value, key[j]->value, key[i]->value_size) == 0;
    if (same > most) most = same;
  }
  return most;
}

/* Nobody shares a lock; and while it is held, a majority has its value. */
static inline void check_resource(char resource) {
  int i, k, holders = 0;
  for (i = 0; i < world.users; i++)
    for (k = 0; k < SLOTS; k++) {
      struct slot *s = &world.user[i].slot[k];
      if (world.user[i].open && s->resource == resource)
        holders += redlock_remaining_ms(&world.user[i].rl, &s->lock) > 0;
    }
  FUZZ_CHECK(holders <= 1);
  if (holders && !world.forgot) FUZZ_CHECK(support(resource) > world.fake.servers / 2);
}

static inline void check_timeouts(const struct user *u) {
  int i;
  for (i = 0; i < SLOTS && u->open; i++)
    if (u->slot[i].pending || u->slot[i].kept) FUZZ_CHECK(redlock_timeout_ms(&u->rl) >= 0);
}

/* Looking must not move the clock, nor use a failure up. */
static inline void check_world(void) {
  struct fake *f = &world.fake;
  void (*on_call)(struct fake *, enum fake_hook, int) = f->on_call;
  int fail_hook = f->fail_hook, i;
  long calls = f->calls[FAKE_NOW];
  f->on_call = NULL;
  f->fail_hook = FAKE_ANY;
  if (world.is_honest) {
    check_resource('a');
    check_resource('b');
  }
  for (i = 0; i < world.users; i++) check_timeouts(&world.user[i]);
  f->on_call = on_call;
  f->fail_hook = fail_hook;
  f->calls[FAKE_NOW] = calls;
}

#endif
