/* search.h: every state, breadth first, so that the first violation has a shortest schedule. States
 * are known by 64 bits of their forms (two may collide: at 10^8 states, 1 in 3 000). Worlds that
 * wait to be visited are kept as what differs from the first one. */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include <time.h>

#include "finish.h"

static struct world root;

static struct {
  unsigned long transitions, depth;
  size_t states, most_bytes;
  int complete, violated;
} found;

static double seconds(void) { /* of this process: machines are shared */
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- The states that are known --------------------------------------------------------------- */

static struct {
  uint64_t *at;
  size_t room;
} known;

static int insert(uint64_t h) {
  size_t i = h & (known.room - 1);
  while (known.at[i]) {
    if (known.at[i] == h) return 0;
    i = (i + 1) & (known.room - 1);
  }
  known.at[i] = h;
  return 1;
}

static void out_of_memory(void) {
  printf("out of memory\n");
  exit(4);
}

static void make_room(void) {
  uint64_t *old = known.at;
  size_t n = known.room;
  if (found.states * 10 < known.room * 7) return;
  known.room = n ? 2 * n : (size_t)1 << 16;
  known.at = (uint64_t *)calloc(known.room, sizeof *known.at);
  if (!known.at) out_of_memory();
  for (size_t i = 0; i < n; i++)
    if (old[i]) (void)insert(old[i]);
  free(old);
}

/* How each state was reached; and until it has been visited, its world. */
struct origin {
  uint32_t parent, world_size;
  struct event event;
  uint64_t digits;
  uint8_t *world;
};

static struct {
  struct origin *at;
  size_t room, bytes; /* of the worlds */
} origins;

/* The choices made within an event: four bits each, and how many. */
static uint64_t pack_digits(void) {
  uint64_t d = 0;
  for (int i = choices.used; i-- > 0;) d = d << 4 | choices.digit[i];
  return d | (uint64_t)choices.used << 56;
}

static void unpack_digits(uint64_t d) {
  choices.given = (int)(d >> 56);
  choices.used = 0;
  for (int i = 0; i < choices.given; i++) choices.digit[i] = (uint8_t)(d >> 4 * i & 15);
}

/* The next choices for the same event; 0 = there are none. */
static int next_choices(void) {
  int i = choices.used - 1;
  while (i >= 0 && choices.digit[i] + 1 >= choices.arity[i]) i--;
  if (i < 0) return 0;
  choices.digit[i]++;
  choices.given = i + 1;
  return 1;
}

/* ---- The worlds to be visited ---------------------------------------------------------------- */

enum { WORDS = (sizeof(struct world) + 7) / 8, BITMAP = (WORDS + 7) / 8 };

union flat {
  struct world world;
  uint64_t word[WORDS];
};

static union flat base, packed;

/* The world as the last state's: a bit for each word that differs from the first one's, then those.
   0 = there is no room. */
static int keep_world(void) {
  static struct {
    uint8_t bits[BITMAP];
    uint64_t diff[WORDS];
  } all;
  struct origin *o = &origins.at[found.states - 1];
  size_t n = 0;
  memset(all.bits, 0, sizeof all.bits);
  world_copy(&packed.world, &W);
  for (size_t i = 0; i < (world_size() + 7) / 8; i++)
    if (packed.word[i] != base.word[i]) {
      all.bits[i / 8] = (uint8_t)(all.bits[i / 8] | 1 << i % 8);
      all.diff[n++] = packed.word[i];
    }
  o->world_size = (uint32_t)(BITMAP + n * 8);
  origins.bytes += o->world_size;
  if (origins.bytes > (size_t)cfg.megabytes << 20) return 0;
  o->world = (uint8_t *)malloc(o->world_size);
  if (!o->world) out_of_memory();
  memcpy(o->world, all.bits, BITMAP);
  memcpy(o->world + BITMAP, all.diff, n * 8);
  return 1;
}

static void take_world(struct origin *o, struct world *to) {
  const uint8_t *next = o->world + BITMAP;
  memcpy(&packed, &base, sizeof packed);
  for (size_t i = 0; i < (world_size() + 7) / 8; i++)
    if (o->world[i / 8] >> i % 8 & 1) {
      memcpy(&packed.word[i], next, 8);
      next += 8;
    }
  world_copy(to, &packed.world);
  free(o->world);
  origins.bytes -= o->world_size;
}

/* ---- A violation ----------------------------------------------------------------------------- */

/* The schedule to that state, then the event that fails, if any, or what follows by itself. */
static void print_schedule(uint32_t at, const struct event *last, uint64_t digits, int left_alone) {
  static uint32_t path[100000];
  uint32_t n = 0;
  for (; at && n < 100000; at = origins.at[at].parent) path[n++] = at;
  printf("VIOLATION: %s\nschedule of %u events:\n", failure, n + (last != NULL));
  world_copy(&W, &root);
  verbose = 1;
  if (setjmp(failed)) {
    printf("   FAILS: %s\n", failure);
    return;
  }
  while (n-- > 0) {
    print_event(origins.at[path[n]].event);
    unpack_digits(origins.at[path[n]].digits);
    apply(origins.at[path[n]].event);
    make_form();
    forget_values();
  }
  if (last) {
    print_event(*last);
    unpack_digits(digits);
    apply(*last);
  }
  if (left_alone) printf("   left to itself%s:\n", left_alone == 2 ? ", all heals" : "");
  if (left_alone) finish(left_alone - 1);
  printf("   (it does not fail again)\n");
}

/* A failure was caught: 1 = a violation, which is shown; 0 = the world was too small for it. */
static int caught(uint32_t at, const struct event *last, uint64_t digits, int left_alone) {
  calm = idle = 0;
  if (strncmp(failure, "world:", 6) == 0) {
    if (found.complete > 0) printf("  %s\n", failure);
    found.complete = 0;
    return 0;
  }
  found.violated = 1;
  print_schedule(at, last, digits, left_alone);
  return 1;
}

/* ---- The search ------------------------------------------------------------------------------ */

static void audit_keep(uint64_t h);

static void note_origin(uint32_t parent, struct event e) {
  if (found.states == origins.room) {
    origins.room = origins.room ? 2 * origins.room : 1 << 16;
    origins.at = (struct origin *)realloc(origins.at, origins.room * sizeof *origins.at);
    if (!origins.at) out_of_memory();
  }
  origins.at[found.states].parent = parent;
  origins.at[found.states].event = e;
  origins.at[found.states].digits = pack_digits();
  found.states++;
  make_room();
}

static void search_begin(void) {
  static const struct event none;
  memcpy(&base, &root, sizeof root);
  make_room();
  world_copy(&W, &root);
  (void)insert(state_hash());
  found.complete = 1;
  note_origin(0, none);
  (void)keep_world();
}

/* One in four new states, left to itself: twice, as it heals and as it is. 0 = a violation. */
static int try_finish(uint64_t h) {
  static struct world kept;
  static volatile int heals;
  int used = choices.used;
  if (!cfg.finish || (h >> 20) % 4 != 0) return 1;
  world_copy(&kept, &W);
  if (setjmp(failed)) {
    int bad = caught((uint32_t)(found.states - 1), NULL, 0, 1 + heals);
    choices.used = used;
    return !bad;
  }
  for (heals = 1; heals >= 0; heals--) {
    world_copy(&W, &kept);
    hook_calls = 0;
    finish(heals);
  }
  choices.used = used;
  return 1;
}

/* Applies an event, with each of its choices. 0 = the search is over. */
static int expand(const struct world *now, uint32_t at, const struct event *event) {
  choices.given = 0;
  do {
    uint64_t h;
    world_copy(&W, now);
    choices.used = 0;
    if (setjmp(failed)) {
      if (caught(at, event, pack_digits(), 0)) return 0;
      continue;
    }
    apply(*event);
    found.transitions++;
    h = state_hash();
    if (cfg.audit) audit_keep(h);
    if (!insert(h)) continue;
    note_origin(at, *event);
    forget_values();
    if (!keep_world()) {
      printf("  no memory for more\n");
      found.complete = 0;
      return 0;
    }
    if (!try_finish(h)) return 0;
  } while (next_choices());
  return 1;
}

/* 0 = the bounds are reached. */
static int goes_on(uint32_t at, double began) {
  static double shown;
  double t = seconds() - began;
  if (origins.bytes > found.most_bytes) found.most_bytes = origins.bytes;
  if (at % 1024) return 1;
  if (t - shown > 30) {
    shown = t;
    printf("  %.0f s: %lu states, %lu visited, depth %lu, %.2f GB\n", t,
           (unsigned long)found.states, (unsigned long)at, found.depth,
           (double)origins.bytes / 1e9);
    fflush(stdout);
  }
  if (t < cfg.seconds) return 1;
  found.complete = 0;
  return 0;
}

/* 0 = a violation. */
static int search(void) {
  static struct world now;
  struct event events[EVENTS];
  volatile uint32_t at, level_end = 1;
  double began = seconds(), t;
  int n, ended = 0;
  search_begin();
  for (at = 0; at < found.states && !ended && goes_on(at, began); at++) {
    if (at == level_end) {
      found.depth++;
      level_end = (uint32_t)found.states;
    }
    take_world(&origins.at[at], &now);
    world_copy(&W, &now);
    if (setjmp(failed)) {
      (void)caught(at, NULL, 0, 0);
      break;
    }
    n = list_events(events);
    for (int i = 0; i < n && !ended; i++) ended = !expand(&now, at, &events[i]);
  }
  t = seconds() - began;
  printf("%s: %lu states, %lu transitions, depth %lu, %.1f s, %.2f GB%s\n",
         found.violated ? "VIOLATION" : found.complete ? "complete" : "cut short",
         (unsigned long)found.states, found.transitions, found.depth, t,
         ((double)found.most_bytes + (double)known.room * 8 +
          (double)origins.room * sizeof *origins.at) / 1e9,
         choices_cut ? ", choices cut" : "");
  return !found.violated;
}

#endif
