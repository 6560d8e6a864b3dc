/* queue.h: what is going to happen, ordered by time, then by who asked first. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "world.h"

enum {
  EV_WAKE,     /* client, turn */
  EV_CONNECT,  /* connection, id */
  EV_DELIVER,  /* connection * 2 + direction, id */
  EV_WRITABLE, /* client * MAX_SERVERS + entry */
  EV_CHAOS,
  EV_THAW,     /* server */
  EV_RESTART,  /* server */
  EV_PROMOTE,  /* server: a replica becomes master again */
  EV_REAP,     /* server: keys that have expired are seen to */
  EV_ADMIT,    /* server: it refuses no handshake any more */
  EV_REBIRTH,  /* client, life */
  EV_STALL,    /* most servers freeze until healing */
  EV_HEAL,
  EV_CALM,     /* the singles become like the others */
  EV_PROBE,
  EV_CLOCKS,   /* of the servers, in tokens' worlds */
  EV_STRANGER, /* resource */
  EV_TROUBLE,  /* of a server, in worlds of strangers */
  EV_FREE,     /* whether locks are free there, and for how long */
  EV_ROLL,     /* server: the next to restart, in worlds of rolling restarts */
  EV_END
};

static inline int event_before(const struct event *a, const struct event *b) {
  return a->when != b->when ? a->when < b->when : a->turn < b->turn;
}

static inline void schedule(ns when, int kind, int a, uint32_t b) {
  struct event e;
  int at = W.events;
  if (at == MAX_EVENTS) {
    violation("simulator: too many events");
    return;
  }
  e.when = larger(when, W.now);
  e.turn = W.turn++;
  e.kind = kind;
  e.a = a;
  e.b = b;
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
