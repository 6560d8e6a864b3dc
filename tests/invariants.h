/* invariants.h: what is always true of a client: whenever a hook is called, and whenever a
 * public call has returned. Included behind the implementation, where REDLOCK_ASSERT is set. */
#ifndef INVARIANTS_H
#define INVARIANTS_H

/* R25: a lock that is held has a token, and none that was not granted. */
static void rl_check_token(const redlock *rl, const redlock_lock *lock) {
#ifdef REDLOCK_NO_FENCING
  (void)rl, (void)lock;
#else
  REDLOCK_ASSERT(!lock->deadline_ms || (lock->token != 0) == (rl->options.fencing != 0));
  REDLOCK_ASSERT(lock->granted || lock->token == 0);
  REDLOCK_ASSERT(lock->again <= RL_SECOND_ROUNDS);
#endif
}

static void rl_check_list(const redlock *rl, const rl_link *list, uint8_t least, uint8_t most) {
  const redlock_lock *lock = rl_first(list);
  REDLOCK_ASSERT(list->next->prev == list && list->prev->next == list);
  for (; lock; lock = rl_next(list, lock)) {
    REDLOCK_ASSERT(lock->link.next->prev == &lock->link && lock->link.prev->next == &lock->link);
    REDLOCK_ASSERT(lock->phase >= least && lock->phase <= most);
    REDLOCK_ASSERT(lock->alarm <= RL_MISTRUSTS && (lock->attempts || lock->alarm == RL_POLLS));
    REDLOCK_ASSERT(lock->granted || lock->deadline_ms == 0);
    REDLOCK_ASSERT(!lock->kept || lock->urgent);
    REDLOCK_ASSERT(!lock->kept || (lock->deadline_ms && lock->task == RL_EXTEND) ||
                   lock->task == RL_ABANDON);
    rl_check_token(rl, lock);
  }
}

/* In the line those that are urgent stand first. */
static void rl_check_line(const redlock *rl) {
  const redlock_lock *lock = rl_first(&rl->line), *last = RL_NULL;
  for (; lock && lock->urgent; lock = rl_next(&rl->line, lock)) last = lock;
  REDLOCK_ASSERT(rl->urgent == (last ? &last->link : &rl->line));
  for (; lock; lock = rl_next(&rl->line, lock)) REDLOCK_ASSERT(!lock->urgent);
}

/* A lock whose round is under way and its command know each other. R7: room for a roll-back is kept
   for each acquire from its SET to its hand-back. */
static void rl_check_rounds(redlock *rl) {
  const redlock_lock *lock = rl_first(&rl->live);
  uint32_t reserved = 0, rounds = 0, place;
  for (; lock; lock = rl_next(&rl->live, lock)) {
    reserved += lock->reserved;
    if (lock->phase != RL_VOTING) continue;
    rounds++;
    REDLOCK_ASSERT(lock->command->lock == lock);
    REDLOCK_ASSERT(lock->command->kind == lock->task);
  }
  for (lock = rl_first(&rl->decided); lock; lock = rl_next(&rl->decided, lock))
    reserved += lock->reserved;
  REDLOCK_ASSERT(rl->reserved == reserved && rl_count(rl) + reserved <= REDLOCK_MAX_COMMANDS);
  for (place = rl->first; place != rl->end; place++) {
    const rl_command *c = rl_at(rl, place);
    rounds -= c->lock != RL_NULL;
    REDLOCK_ASSERT(!(c->due & c->owed));
  }
  REDLOCK_ASSERT(rounds == 0);
}

/* The two cursors of a server: what stands before `cursor` has left or never will, what stands
   before `answered` is not owed any more. */
static void rl_check_server(redlock *rl, const rl_server *s) {
  uint32_t place = rl->first, owed = s->greeting + s->late;
  uint32_t sent = s->cursor - rl->first, answered = s->answered - rl->first;
  REDLOCK_ASSERT((s->state == RL_CLOSED) == (s->fd < 0));
  REDLOCK_ASSERT(s->greeting == 0 || s->state >= RL_GREETING);
  REDLOCK_ASSERT(!s->wakes || s->state >= RL_GREETING); /* R26 */
  REDLOCK_ASSERT(s->state >= RL_GREETING || s->owed == 0);
  REDLOCK_ASSERT(s->mark <= s->owed);
  REDLOCK_ASSERT(sent <= rl_count(rl) && answered <= sent + 1);
  for (; place != rl->end; place++) {
    const rl_command *c = rl_at(rl, place);
    int is_owed = (c->owed & s->bit) != 0;
    owed += is_owed ? 1 : 0;
    REDLOCK_ASSERT(!is_owed || place - rl->first >= answered);
    REDLOCK_ASSERT(!is_owed || place - rl->first <= sent);
    REDLOCK_ASSERT(!(c->due & s->bit) || place - rl->first >= sent);
  }
  REDLOCK_ASSERT(s->owed == owed);
}

/* What is true of a client whenever a hook is called and whenever a public call has returned. It
   takes time, so only tests call it, through REDLOCK_ASSERT. */
static inline void rl_check(redlock *rl) {
  int i;
  if (!rl_is_client(rl)) return;
  REDLOCK_ASSERT(rl->servers >= 1 && rl->servers <= REDLOCK_MAX_SERVERS);
  REDLOCK_ASSERT(rl->quorum == rl->servers / 2 + 1); /* R5 */
  rl_check_list(rl, &rl->line, RL_LINE, RL_LINE);
  rl_check_list(rl, &rl->live, RL_VOTING, RL_KEEPING);
  rl_check_list(rl, &rl->decided, RL_DECIDED, RL_DECIDED);
  rl_check_line(rl);
  rl_check_rounds(rl);
  for (i = 0; i < rl->servers; i++) rl_check_server(rl, &rl->server[i]);
}

#endif
