/* audit.h: whether the form leaves out nothing that matters: a sample of worlds is kept, and any
 * two of one form must have successors of the same forms. */
#ifndef EXPLORE_AUDIT_H
#define EXPLORE_AUDIT_H

#include "search.h"

enum { AUDITS = 4096, AUDIT_EACH = 512 };

static struct audit {
  uint64_t hash, successors;
  struct world *world;
} audits[AUDITS];
static int audit_count;

static void audit_keep(uint64_t h) {
  struct audit *a = &audits[audit_count];
  if (h % AUDIT_EACH || audit_count == AUDITS) return;
  a->hash = h;
  a->world = (struct world *)malloc(sizeof W);
  if (!a->world) out_of_memory();
  world_copy(a->world, &W);
  audit_count++;
}

/* What the successors by one event come to. */
static uint64_t successors_by(const struct world *world, const struct event *e) {
  volatile uint64_t sum = 0;
  choices.given = 0;
  do {
    world_copy(&W, world);
    choices.used = 0;
    if (setjmp(failed)) {
      calm = idle = 0;
      sum += 7;
      continue;
    }
    apply(*e);
    sum += mix(state_hash(), pack_digits());
  } while (next_choices());
  return sum;
}

static uint64_t successors_of(const struct world *world) {
  struct event events[EVENTS];
  uint64_t sum = 0;
  int n;
  world_copy(&W, world);
  n = list_events(events);
  for (int i = 0; i < n; i++) sum += mix(successors_by(world, &events[i]) | 1, (uint64_t)i + 3);
  return sum;
}

static void make_form_behind(const struct world *world, struct event e) {
  choices.given = choices.used = 0;
  world_copy(&W, world);
  apply(e);
  (void)state_hash();
}

/* Which event it is, and where the forms differ behind it. */
static void show_difference(const struct audit *a, const struct audit *b) {
  static uint8_t first[sizeof form.byte];
  struct event events[EVENTS];
  size_t size;
  volatile int k = 0;
  world_copy(&W, a->world);
  (void)list_events(events);
  while (successors_by(a->world, &events[k]) == successors_by(b->world, &events[k])) k++;
  print_event(events[k]);
  if (setjmp(failed)) return;
  make_form_behind(a->world, events[k]);
  size = form.size;
  memcpy(first, form.byte, size);
  make_form_behind(b->world, events[k]);
  for (size_t i = 0; i < size && i < form.size; i++)
    if (first[i] != form.byte[i])
      printf("   byte %lu of the form: %d and %d\n", (unsigned long)i, first[i], form.byte[i]);
}

/* 0 = two worlds of one form differ. */
static int audit(void) {
  int pairs = 0, differ = 0;
  for (int i = 0; i < audit_count; i++) audits[i].successors = successors_of(audits[i].world);
  for (int i = 0; i < audit_count; i++)
    for (int j = 0; j < i; j++) {
      if (audits[i].hash != audits[j].hash) continue;
      pairs++;
      if (audits[i].successors != audits[j].successors && ++differ == 1)
        show_difference(&audits[j], &audits[i]);
    }
  printf("audit: %d pairs of one form, %d differ\n", pairs, differ);
  return differ == 0;
}

#endif
