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
  REDLOCK_ASSERT(lock->ever_granted || lock->token == 0);
  REDLOCK_ASSERT(lock->extra_rounds <= RL_MAX_EXTRA_ROUNDS);
#endif
}

static void rl_check_list(const redlock *rl, int number, uint8_t least, uint8_t most) {
  const rl_link *list = &rl->lists[number];
  const redlock_lock *lock = rl_list_first(list);
  REDLOCK_ASSERT(list->next->prev == list && list->prev->next == list);
  for (; lock; lock = rl_list_next(list, lock)) {
    REDLOCK_ASSERT(lock->link.next->prev == &lock->link && lock->link.prev->next == &lock->link);
    REDLOCK_ASSERT(lock->phase >= least && lock->phase <= most);
    REDLOCK_ASSERT(number > RL_LIST_QUEUED || lock->urgent == (number == RL_LIST_URGENT));
    REDLOCK_ASSERT(lock->wake_mode <= RL_WAKE_PUSH &&
                   (lock->attempts || lock->wake_mode == RL_WAKE_POLL));
    REDLOCK_ASSERT(lock->ever_granted || lock->deadline_ms == 0);
    REDLOCK_ASSERT(!lock->kept || lock->urgent);
    REDLOCK_ASSERT(!lock->kept || (lock->deadline_ms && lock->task == RL_TASK_EXTEND) ||
                   lock->task == RL_TASK_ABANDON);
    rl_check_token(rl, lock);
  }
}

/* A lock whose round is under way and its command know each other. R7: room for a roll-back is kept
   for each acquire from its SET to its hand-back. */
static void rl_check_rounds(redlock *rl) {
  const rl_link *list = &rl->lists[RL_LIST_WOKEN];
  const redlock_lock *lock;
  uint32_t reserved = 0, rounds = 0, place;
  for (; list != rl->lists + RL_LISTS; list++)
    for (lock = rl_list_first(list); lock; lock = rl_list_next(list, lock)) {
      reserved += lock->has_reserved_slot;
      if (lock->phase != RL_PHASE_VOTING) continue;
      rounds++;
      REDLOCK_ASSERT(lock->command->lock == lock);
      REDLOCK_ASSERT(lock->command->kind == lock->task);
    }
  REDLOCK_ASSERT(rl->reserved_slots == reserved &&
                 rl_ring_count(rl) + reserved <= REDLOCK_MAX_COMMANDS);
  for (place = rl->ring_head; place != rl->ring_tail; place++) {
    const rl_command *c = rl_command_at(rl, place);
    rounds -= c->lock != RL_NULL;
    REDLOCK_ASSERT(!(c->unsent_to & c->awaited_from));
  }
  REDLOCK_ASSERT(rounds == 0);
}

/* The two cursors of a server: what stands before `cursor` has left or never will, what stands
   before `answered` is not owed any more. */
static void rl_check_server(redlock *rl, const rl_server *s) {
  uint32_t place = rl->ring_head, owed = s->handshake_replies + s->stale_replies;
  uint32_t sent = s->send_next - rl->ring_head, answered = s->reply_next - rl->ring_head;
  REDLOCK_ASSERT((s->state == RL_STATE_CLOSED) == (s->fd < 0));
  REDLOCK_ASSERT(s->handshake_replies == 0 || s->state >= RL_STATE_HANDSHAKE);
  REDLOCK_ASSERT(!s->tracking || s->state >= RL_STATE_HANDSHAKE); /* R26 */
  REDLOCK_ASSERT(s->state >= RL_STATE_HANDSHAKE || s->outstanding == 0);
  REDLOCK_ASSERT(s->timed_reply <= s->outstanding);
  REDLOCK_ASSERT(sent <= rl_ring_count(rl) && answered <= sent + 1);
  for (; place != rl->ring_tail; place++) {
    const rl_command *c = rl_command_at(rl, place);
    int is_owed = (c->awaited_from & s->bit) != 0;
    owed += is_owed ? 1 : 0;
    REDLOCK_ASSERT(!is_owed || place - rl->ring_head >= answered);
    REDLOCK_ASSERT(!is_owed || place - rl->ring_head <= sent);
    REDLOCK_ASSERT(!(c->unsent_to & s->bit) || place - rl->ring_head >= sent);
  }
  REDLOCK_ASSERT(s->outstanding == owed);
  REDLOCK_ASSERT(!s->release_form || (s->state >= RL_STATE_HANDSHAKE && !s->wants_scripts));
}

/* What is true of a client whenever a hook is called and whenever a public call has returned. It
   takes time, so only tests call it, through REDLOCK_ASSERT. */
static inline void rl_check(redlock *rl) {
  int i;
  if (!rl_is_initialised(rl)) return;
  REDLOCK_ASSERT(rl->server_count >= 1 && rl->server_count <= REDLOCK_MAX_SERVERS);
  REDLOCK_ASSERT(rl->quorum == rl->server_count / 2 + 1); /* R5 */
  rl_check_list(rl, RL_LIST_URGENT, RL_PHASE_QUEUED, RL_PHASE_QUEUED);
  rl_check_list(rl, RL_LIST_QUEUED, RL_PHASE_QUEUED, RL_PHASE_QUEUED);
  rl_check_list(rl, RL_LIST_WOKEN, RL_PHASE_VOTING, RL_PHASE_BACKOFF);
  rl_check_list(rl, RL_LIST_ACTIVE, RL_PHASE_VOTING, RL_PHASE_KEPT);
  rl_check_list(rl, RL_LIST_DECIDED, RL_PHASE_DECIDED, RL_PHASE_DECIDED);
  rl_check_rounds(rl);
  for (i = 0; i < rl->server_count; i++) rl_check_server(rl, &rl->server[i]);
}

#endif
