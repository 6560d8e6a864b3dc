/* handover.h: locks that change hands (R28). A giver forgets its lock, or its time is over. */
#ifndef FUZZ_HANDOVER_H
#define FUZZ_HANDOVER_H

static inline char *given_value_of(char resource) { return world.given[resource == 'b']; }

static inline void note_given(const struct slot *s) {
  if (s->resource) memcpy(given_value_of(s->resource), s->lock.value, sizeof s->given);
}

static inline int is_held(const struct user *u, const struct slot *s) {
  return redlock_remaining_ms(&u->rl, &s->lock) > 0;
}

/* Whether its value is one that a program may know: an acquire's, before its grant, is not. */
static inline int is_known(const struct user *u, const struct slot *s, char resource) {
  return u->open && s->resource == resource &&
         !(s->pending && s->operation == REDLOCK_ACQUIRE);
}

/* A release under way goes on: it finds the value, or nothing. */
static inline void forget(struct user *u, struct slot *s) {
  if (s->pending || s->kept) FUZZ_CHECK(redlock_cancel(&u->rl, &s->lock) == REDLOCK_OK);
  memset(s, 0, sizeof *s);
}

/* Some lock of this resource, a held one if there is one, is handed over. Its holder forgets it,
   but for the adopter's own, whose value is read where it is overwritten. */
static inline void hand_over(const struct slot *adopter, char resource) {
  struct user *u, *giver = NULL;
  struct slot *s, *given = NULL;
  if (is_failing()) return; /* one that cannot read its clock would seem to hold nothing */
  for (u = world.user; u != world.user + world.users; u++)
    for (s = u->slot; s != u->slot + SLOTS; s++)
      if (is_known(u, s, resource) && (!given || is_held(u, s))) giver = u, given = s;
  if (!given) return;
  note_given(given);
  if (given != adopter && is_held(giver, given)) forget(giver, given);
}

/* R28 R3: granted just now; in an honest world a value is adopted once. */
static inline void check_adopted(const struct slot *s) {
  int i;
  if (!s->adopts || s->lock.status != REDLOCK_OK) return;
  FUZZ_CHECK(memcmp(s->lock.value, s->given, sizeof s->given) != 0);
  if (!world.is_honest) return;
  for (i = 0; i < world.adoptions; i++)
    FUZZ_CHECK(memcmp(world.adopted[i], s->given, sizeof s->given) != 0);
  memcpy(world.adopted[world.adoptions++], s->given, sizeof s->given);
}

#endif
