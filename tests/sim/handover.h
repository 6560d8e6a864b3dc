/* handover.h: users who hand their locks over, and users who adopt them (R28). A giver stops: it
 * forgets its lock, or it is paused until its time is over and then does what it likes. Of the last
 * values given away anyone may adopt any, at any time, alone or at once. */
#ifndef SIM_HANDOVER_H
#define SIM_HANDOVER_H

/* Some who do nothing look at once whether there is something to adopt. */
static void wake_adopters(void) {
  int k;
  for (int i = 0; i < W.cfg.clients; i++) {
    struct client *c = &W.client[i];
    if (!c->alive || c->single || one_in(2)) continue;
    k = pick(c->slots);
    if (c->slot[k].state != S_IDLE || c->slot[k].probe) continue;
    c->slot[k].due = W.now + skewed(0, 2 * MS);
    if (!c->busy) client_wake_at(c, larger(c->slot[k].due, c->paused_until));
  }
}

/* From now on nobody relies on the lock; its keys stay. */
static void hand_over(struct client *c, struct slot *s) {
  struct given *t = &W.given[s->resource];
  struct grant *g = &W.grant[s->resource];
  int64_t left = s->deadline_ms - client_ms(c);
  memcpy(t->value[t->count++ % GIVEN], s->lock.value, sizeof s->lock.value);
  t->attempts = 6;
  if (g->value == s->value) g->value = -1;
  wake_adopters();
  if (W.server_bug == GIVERS_GO_ON) {
    s->due = think();
    return;
  }
  if (left > 0 && one_in(4)) { /* it is only paused */
    s->due = client_when(c, s->deadline_ms + 1) + skewed(0, left * MS);
    return;
  }
  let_lie(s);
}

/* Whether it shall adopt, and what: mostly what is new. */
static int wants_to_adopt(struct slot *s) {
  struct given *t = &W.given[s->resource];
  unsigned known = t->count < GIVEN ? t->count : GIVEN, back = 1;
  if (!W.cfg.hands || s->probe || W.hurry || known == 0) return 0;
  if (strlen(W.name[s->resource]) > REDLOCK_MAX_RESOURCE - sizeof s->given) return 0;
  if (t->attempts == 0 && !one_in(32)) return 0;
  if (t->attempts == 0) back = 1 + below(known);
  else t->attempts--;
  memcpy(s->given, t->value[(t->count - back) % GIVEN], sizeof s->given);
  return 1;
}

#endif
