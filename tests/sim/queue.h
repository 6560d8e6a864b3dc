/* queue.h: what is going to happen, ordered by time, then by who asked first. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "world.h"

/* Each kind, and what happens: a, b are the event's own. A connection is told with its id. */
#define EVENTS(X)                                                                  \
  X(WAKE, client_wake(&W.client[a], b))                                            \
  X(CONNECT, on_connect(a, b))                                                     \
  X(DELIVER, on_deliver(a / 2, a % 2, b))                                          \
  X(WRITABLE, client_ready(&W.client[a / MAX_SERVERS], a % MAX_SERVERS))           \
  X(CHAOS, chaos())                                                                \
  X(THAW, server_thaw(a))                                                          \
  X(RESTART, server_restart(a))                                                    \
  X(PROMOTE, W.server[a].store.replica = 0) /* with its data: connections stay */  \
  X(REAP, server_reap(a))                   /* keys that have expired */           \
  X(ADMIT, on_admit(a))                     /* no handshake is refused any more */ \
  X(REBIRTH, client_reborn(&W.client[a], b))                                       \
  X(STALL, on_stall())                      /* most servers freeze until healing */ \
  X(HEAL, on_heal())                                                               \
  X(CALM, on_calm())                        /* the singles become like others */   \
  X(PROBE, on_probe())                                                             \
  X(CLOCKS, on_clocks())                    /* of servers, in tokens' worlds */    \
  X(STRANGER, on_stranger(a))               /* a resource's */                     \
  X(TROUBLE, on_trouble())                  /* of a server, beside strangers */    \
  X(FREE, on_free())                        /* whether locks are, for how long */  \
  X(PUSHES, on_pushes())                    /* for nothing, beside strangers */    \
  X(ROLL, on_roll(a))                       /* the next server to restart */       \
  X(END, on_end())

enum event_kind {
#define X(name, what) EV_##name,
  EVENTS(X)
#undef X
};

static inline int event_before(const struct event *a, const struct event *b) {
  return a->when != b->when ? a->when < b->when : a->turn < b->turn;
}

static inline void schedule(ns when, int kind, int a, uint32_t b) {
  struct event e = {larger(when, W.now), W.turn, kind, a, b};
  int at = W.events;
  if (at == MAX_EVENTS) {
    violation("simulator: too many events");
    return;
  }
  W.turn++;
  W.events++;
  for (; at > 0 && event_before(&e, &W.heap[(at - 1) / 2]); at = (at - 1) / 2)
    W.heap[at] = W.heap[(at - 1) / 2];
  W.heap[at] = e;
}

static inline struct event next_event(void) {
  struct event first = W.heap[0], last = W.heap[--W.events];
  int at = 0, child;
  for (; (child = 2 * at + 1) < W.events; at = child) {
    if (child + 1 < W.events && event_before(&W.heap[child + 1], &W.heap[child])) child++;
    if (event_before(&last, &W.heap[child])) break;
    W.heap[at] = W.heap[child];
  }
  W.heap[at] = last;
  return first;
}

#endif
