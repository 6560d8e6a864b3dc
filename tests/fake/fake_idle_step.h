/* fake_idle_step.h: R27, a step has a reason. Whenever time is about to pass for a client that has
 * nothing to receive and no room to send, and redlock_timeout_ms named a later moment, one more
 * step is taken just before. It must do nothing, and reveal no earlier due time. Then everything
 * is put back: no test sees a trace of it, unless it fails. */
#ifndef FAKE_IDLE_STEP_H
#define FAKE_IDLE_STEP_H

enum { FAKE_IDLE_WAITS = 64 };

static inline int fake_ready_count(struct fake *f, struct fake_client *client,
                                   const redlock_fd *want, int count);

/* What the hook that is called then returns: failure. */
static inline int fake_acts_early(struct fake *f, const char *what, int server) {
  char text[80];
  snprintf(text, sizeof text, "R27: %s, %lld ms before there is anything to do", what,
           (long long)(f->named_at - f->now_ms));
  fake_misuse(f, text, server);
  return -1;
}

static inline int64_t fake_named(const struct fake *f, const struct fake_client *client) {
  int64_t timeout_ms = redlock_timeout_ms(client->rl);
  return timeout_ms < 0 ? FAKE_NEVER : f->now_ms + timeout_ms;
}

/* To send is in vain only where it was asked for, and what was waited for may be too old by now. */
static inline int fake_waits_for_more(struct fake *f, const struct fake_client *client) {
  redlock_fd want[FAKE_SERVERS];
  int i, count = redlock_fds(client->rl, want, FAKE_SERVERS);
  for (i = 0; i < count; i++)
    if (want[i].events & ~f->wanted[want[i].server]) return 1;
  return 0;
}

static inline void fake_idle_step(struct fake *f, const struct fake_client *client) {
  redlock before = *client->rl;
  redlock_lock locks[FAKE_WATCHED];
  int i;
  for (i = 0; i < FAKE_WATCHED && f->watched[i]; i++)
    memcpy(&locks[i], f->watched[i], sizeof locks[i]);
  if (redlock_step(client->rl)) (void)fake_acts_early(f, "a lock is returned", -1);
  if (fake_waits_for_more(f, client)) (void)fake_acts_early(f, "it waits for more", -1);
  if (fake_named(f, client) < f->named_at) (void)fake_acts_early(f, "it names an earlier time", -1);
  for (i = 0; i < FAKE_WATCHED && f->watched[i]; i++) {
    if (memcmp(&locks[i], f->watched[i], sizeof locks[i]))
      (void)fake_acts_early(f, "a lock changes", -1);
  }
  if (!f->misuse[0]) *client->rl = before; /* else the locks are others too: it goes on from here */
}

/* Nothing happens by itself from now until then. */
static inline void fake_check_reason(struct fake *f, struct fake_client *client, int64_t until) {
  redlock_fd want[FAKE_SERVERS];
  int64_t now = f->now_ms;
  int i, count;
  f->idle = 1;
  count = redlock_fds(client->rl, want, FAKE_SERVERS);
  f->named_at = fake_named(f, client);
  memset(f->wanted, 0, sizeof f->wanted);
  for (i = 0; i < count; i++) f->wanted[want[i].server] = want[i].events;
  if (f->named_at > now && fake_ready_count(f, client, want, count) == 0) {
    f->now_ms = (f->named_at < until ? f->named_at : until) - 1;
    fake_idle_step(f, client);
    f->now_ms = now;
  }
  f->idle = 0;
}

static inline void fake_pass(struct fake *f, int64_t until) {
  int i;
  for (i = 0; i < FAKE_CLIENTS; i++)
    if (f->client[i].rl) fake_check_reason(f, &f->client[i], until);
  f->now_ms = until;
  f->idle_waits = 0;
}

/* The converse: when it is time, there is something to do, or another time to name. */
static inline void fake_check_spin(struct fake *f) {
  if (++f->idle_waits == FAKE_IDLE_WAITS) fake_misuse(f, "R27: it wakes and does nothing", -1);
}

#endif
