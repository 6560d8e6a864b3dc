/* invariants.h: what is always true of a client: whenever a hook is called, and whenever a public
 * call has returned. The map in redlock.h says it in words, under the same numbers. Included behind
 * the implementation, where REDLOCK_ASSERT is set. */
#ifndef INVARIANTS_H
#define INVARIANTS_H

/* I4: what was granted, and its token (R25). */
static void rl_check_grant(const redlock *rl, const redlock_lock *lock) {
  REDLOCK_ASSERT(lock->ever_granted || lock->deadline_ms == 0);
#ifdef REDLOCK_NO_FENCING
  (void)rl;
#else
  REDLOCK_ASSERT(!lock->deadline_ms || (lock->token != 0) == (rl->options.fencing != 0));
  REDLOCK_ASSERT(lock->ever_granted || lock->token == 0);
#endif
  REDLOCK_ASSERT(lock->extra_rounds <= RL_MAX_EXTRA_ROUNDS);
}

/* I3: where a slot must be reserved, and where none may be. */
static void rl_check_slot(const redlock_lock *lock) {
  int releases = lock->task == RL_TASK_RELEASE;
  if (lock->phase == RL_PHASE_VOTING) REDLOCK_ASSERT(lock->has_reserved_slot != releases);
  if (lock->phase == RL_PHASE_DECIDED && lock->status == REDLOCK_OK)
    REDLOCK_ASSERT(lock->has_reserved_slot != releases);
  if (lock->phase == RL_PHASE_QUEUED || lock->phase == RL_PHASE_KEPT)
    REDLOCK_ASSERT(!lock->has_reserved_slot);
}

/* The phases of a list's locks. */
static int rl_phases_of(int list) {
  if (list == RL_LIST_DECIDED) return 1 << RL_PHASE_DECIDED;
  if (list < RL_LIST_ACTIVE) return 1 << RL_PHASE_QUEUED;
  return 1 << RL_PHASE_VOTING | 1 << RL_PHASE_BACKOFF | 1 << RL_PHASE_KEPT;
}

/* I1: of many, each stands where it is looked for, and no timer is forgotten. */
static void rl_check_place(const redlock *rl, const redlock_lock *lock, int list) {
  REDLOCK_ASSERT(rl_phases_of(list) >> lock->phase & 1);
  if (lock->phase == RL_PHASE_QUEUED)
    REDLOCK_ASSERT(lock->urgent == (list == RL_LIST_URGENT));
  if (!RL_HAS_MANY || list == RL_LIST_DECIDED) return;
  REDLOCK_ASSERT(rl->in_call || rl->due_ms[list] <= lock->timer_ms); /* it may be looked through */
}

/* I6: of many, who tracks is in the bucket of its hash. */
static void rl_check_tracker(const redlock *rl, const redlock_lock *lock) {
#if RL_HAS_MANY
  const redlock_lock *at = rl->trackers[rl_hash_of(lock) % RL_TRACKERS];
  while (lock->tracks && at != lock) {
    REDLOCK_ASSERT(at);
    at = at->next_tracker;
  }
#endif
  (void)rl;
  (void)lock;
}

/* I5, I6. */
static void rl_check_lock(const redlock *rl, const redlock_lock *lock) {
  int64_t end = lock->deadline_ms - rl->options.keep_margin_ms;
  REDLOCK_ASSERT(!lock->kept || lock->urgent);
  REDLOCK_ASSERT(!lock->kept || (lock->deadline_ms && lock->task == RL_TASK_EXTEND));
  REDLOCK_ASSERT(!lock->kept || lock->timer_ms <= end || end <= rl->now_ms);
  REDLOCK_ASSERT(lock->attempts || !lock->tracks);
}

/* I1 to I6: each lock in its list; returns how many rounds are open, and counts reserved slots. */
static uint32_t rl_check_locks(redlock *rl, uint32_t *reserved) {
  uint32_t rounds = 0, place;
  int i;
  for (i = 0; i < RL_LISTS; i++) {
    const rl_link *list = &rl->lists[i];
    const redlock_lock *lock = rl_list_first(list);
    REDLOCK_ASSERT(list->next->prev == list && list->prev->next == list);
    for (; lock; lock = rl_list_next(list, lock)) {
      REDLOCK_ASSERT(lock->link.next->prev == &lock->link && lock->link.prev->next == &lock->link);
      rl_check_place(rl, lock, i);
      rl_check_lock(rl, lock);
      rl_check_tracker(rl, lock);
      rl_check_grant(rl, lock);
      rl_check_slot(lock);
      *reserved += lock->has_reserved_slot;
      if (lock->phase != RL_PHASE_VOTING) continue;
      rounds++;
      REDLOCK_ASSERT(lock->command->lock == lock && lock->command->is_open);
      REDLOCK_ASSERT(lock->command->kind == lock->task);
      place = (uint32_t)(lock->command - rl->ring) - rl->ring_head;
      REDLOCK_ASSERT((place & (REDLOCK_MAX_COMMANDS - 1)) < rl_ring_count(rl));
    }
  }
  return rounds;
}

/* I2, I3, I7. */
static void rl_check_ring(redlock *rl) {
  uint32_t reserved = 0, rounds = rl_check_locks(rl, &reserved), place;
  REDLOCK_ASSERT(rl->reserved_slots == reserved &&
                 rl_ring_count(rl) + reserved <= REDLOCK_MAX_COMMANDS);
  for (place = rl->ring_head; place != rl->ring_tail; place++) {
    const rl_command *c = rl_command_at(rl, place);
    rounds -= c->is_open;
    REDLOCK_ASSERT(c->lock || !c->is_open);
    REDLOCK_ASSERT(!c->lock || (c->lock->command == c && c->lock->phase != RL_PHASE_IDLE));
    REDLOCK_ASSERT(!(c->unsent_to & c->awaited_from));
    REDLOCK_ASSERT(c->is_open || c->kind == RL_TASK_RELEASE || !c->unsent_to);
  }
  REDLOCK_ASSERT(rounds == 0);
}

/* I8, I9, I10. */
static void rl_check_server(redlock *rl, const rl_server *s) {
  uint32_t place = rl->ring_head, outstanding = s->handshake_replies + s->retired_replies;
  uint32_t send_next = s->send_next - rl->ring_head, reply_next = s->reply_next - rl->ring_head;
  REDLOCK_ASSERT((s->state == RL_STATE_CLOSED) == (s->fd < 0));
  REDLOCK_ASSERT(s->state >= RL_STATE_HANDSHAKE ||
                 (!s->handshake_replies && !s->tracking && !s->outstanding && !s->release_form));
  REDLOCK_ASSERT(!s->release_form || !s->wants_scripts);
  REDLOCK_ASSERT(s->timed_reply <= s->outstanding);
  REDLOCK_ASSERT(send_next <= rl_ring_count(rl) && reply_next <= send_next + 1);
  for (; place != rl->ring_tail; place++) {
    const rl_command *c = rl_command_at(rl, place);
    uint32_t at = place - rl->ring_head;
    int is_awaited = (c->awaited_from & s->bit) != 0;
    outstanding += is_awaited ? 1 : 0;
    REDLOCK_ASSERT(!is_awaited || (at >= reply_next && at <= send_next));
    REDLOCK_ASSERT(!(c->unsent_to & s->bit) || at >= send_next || c->is_open);
  }
  REDLOCK_ASSERT(s->outstanding == outstanding);
}

/* It takes time, so only tests call it, through REDLOCK_ASSERT. */
static inline void rl_check(redlock *rl) {
  int i;
  if (!rl_is_initialised(rl)) return;
  REDLOCK_ASSERT(rl->server_count >= 1 && rl->server_count <= REDLOCK_MAX_SERVERS);
  REDLOCK_ASSERT(rl->quorum == rl->server_count / 2 + 1); /* R5 */
  rl_check_ring(rl);
  for (i = 0; i < rl->server_count; i++) rl_check_server(rl, &rl->server[i]);
}

#endif
