/* network.h: three servers and what connects thousands of clients to them, in virtual time. A
 * server is one thread, as Redis is: in each turn it accepts, reads and runs what has come, also
 * from clients that have gone, and then writes all replies. A handshake costs what the world says.
 * A SYN that finds the backlog full comes again after 1, 3 and 7 s. */
#ifndef FLEET_NETWORK_H
#define FLEET_NETWORK_H

#define REDLOCK_MAX_SERVERS 3
#define REDLOCK_MAX_RESOURCE 16
#define REDLOCK_MAX_COMMANDS 16
#define REDLOCK_NO_DNS
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t us;

enum {
  SERVERS = 3,
  MS = 1000,
  SECOND = 1000 * MS,
  WAY = 100,         /* one way through the network */
  COMMAND_COST = 30, /* these are measured on Redis 7 */
  ACCEPT_COST = 10,
  TURN_COST = 5,
  ACCEPTS = 1000,    /* in a turn */
  BACKLOG = 512,
  IN = 8192,
  OUT = 2048
};

static us now;

/* ---- Chance, and what is to happen ----------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static uint64_t chance(uint64_t below) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed * UINT64_C(0x2545F4914F6CDD1D) % below;
}

enum kind { SYN, SYN_ACK, DATA, FIN, REPLY, RST, TURN };

struct event {
  us at;
  long number; /* of two at one time the first comes first */
  enum kind kind;
  void *whose; /* a link, or of a TURN the server */
  int life;    /* the server's; or how often it was tried */
  char *data;
  int size;
};

static struct event *heap;
static long heap_size, heap_room, events_made;

static int comes_before(const struct event *a, const struct event *b) {
  return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static void will(us at, enum kind kind, void *whose, int life, char *data, int size) {
  struct event e = {at, events_made++, kind, whose, life, data, size};
  long i = heap_size++;
  if (heap_size > heap_room) {
    heap_room = 2 * heap_size;
    heap = (struct event *)realloc(heap, (size_t)heap_room * sizeof *heap);
    if (!heap) abort();
  }
  for (; i && comes_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
  heap[i] = e;
}

static struct event take_event(void) {
  struct event first = heap[0], e = heap[--heap_size];
  long i = 0, child;
  while ((child = 2 * i + 1) < heap_size) {
    child += child + 1 < heap_size && comes_before(&heap[child + 1], &heap[child]);
    if (!comes_before(&heap[child], &e)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = e;
  return first;
}

/* ---- Connections and servers ----------------------------------------------------------------- */

struct link {
  struct client *client;
  int server, life, references;
  enum { OPENING, OPEN, BROKEN } state; /* as its client sees it */
  int accepted, ready; /* by the server; in its queue of those that have sent something */
  int gone, ended;     /* its client has closed it; the server knows */
  int greeted;         /* its handshake has been paid for */
  int forgotten;       /* what is sent either way is lost */
  int wants_to_send;
  char in[IN], answer[OUT], out[OUT];
  int in_size, out_size;
  size_t answer_size;
  struct link *next;
};

struct queue {
  struct link *first, *last;
  int size;
};

struct server {
  int up, frozen, cut, life, turns; /* turns: one is to come */
  us busy_until;
  struct queue backlog, ready;
  long handshakes, for_the_dead, drops;
};

static struct server servers[SERVERS];
static us handshake_cost;

static void hold(struct link *k) { k->references++; }

static void let_go(struct link *k) {
  if (--k->references == 0) free(k);
}

static void enqueue(struct queue *q, struct link *k) {
  hold(k);
  k->next = NULL;
  if (q->last) q->last->next = k;
  else q->first = k;
  q->last = k;
  q->size++;
}

/* The caller has its reference then. */
static struct link *dequeue(struct queue *q) {
  struct link *k = q->first;
  if (!k) return NULL;
  q->first = k->next;
  if (!q->first) q->last = NULL;
  q->size--;
  return k;
}

static void look_for_work(struct server *s) {
  if (!s->up || s->frozen || s->turns || (!s->backlog.first && !s->ready.first)) return;
  s->turns = 1;
  will(now > s->busy_until ? now : s->busy_until, TURN, s, s->life, NULL, 0);
}

static void note_ready(struct link *k) {
  struct server *s = &servers[k->server];
  if (k->ready || !k->accepted) return;
  k->ready = 1;
  enqueue(&s->ready, k);
  look_for_work(s);
}

/* The end of the handshake. */
static int is_proof(const struct arg *args, int count) {
  return count > 1 && script_has(args[1], "{ok='redlock'}");
}

static const char *answer_to(const struct arg *args, int count) {
  static const char *const known[][2] = {
    {"AUTH", "+OK\r\n"}, {"SET", "+OK\r\n"}, {"EVAL", ":1\r\n"}};
  size_t i;
  if (is_proof(args, count)) return "+redlock\r\n";
  for (i = 0; i < sizeof known / sizeof *known; i++)
    if (args->size == strlen(known[i][0]) && !memcmp(args->at, known[i][0], args->size))
      return known[i][1];
  return "-ERR unknown command\r\n";
}

/* The rest of a handshake is paid for. */
static int is_for_a_lock(const struct arg *args, int count) {
  if (is_proof(args, count)) return 0;
  return memcmp(args->at, "SET", 3) == 0 || memcmp(args->at, "EVA", 3) == 0;
}

/* Runs what has come; returns what that costs. */
static us serve(struct server *s, struct link *k) {
  struct arg args[STORE_ARGS];
  us cost = 0;
  long used, at = 0;
  int count;
  while ((used = request_parse((const unsigned char *)k->in + at, (size_t)(k->in_size - at), args,
                               &count)) > 0) {
    const char *answer = answer_to(args, count);
    size_t size = strlen(answer);
    at += used;
    cost += !k->greeted ? handshake_cost : is_for_a_lock(args, count) ? COMMAND_COST : 0;
    if (!k->greeted) {
      s->handshakes++;
      s->for_the_dead += k->gone;
    }
    k->greeted = 1;
    if (k->answer_size + size > OUT) abort();
    memcpy(k->answer + k->answer_size, answer, size);
    k->answer_size += size;
  }
  k->in_size -= (int)at;
  memmove(k->in, k->in + at, (size_t)k->in_size);
  return cost;
}

static void write_answer(struct server *s, struct link *k) {
  char *data;
  if (!k->answer_size) return;
  data = (char *)malloc(k->answer_size);
  if (!data) abort();
  memcpy(data, k->answer, k->answer_size);
  hold(k);
  will(s->busy_until + WAY, REPLY, k, s->life, data, (int)k->answer_size);
  k->answer_size = 0;
}

static void take_turn(struct server *s) {
  struct queue ready;
  struct link *k, *next;
  us cost = TURN_COST;
  int i;
  for (i = 0; i < ACCEPTS && (k = dequeue(&s->backlog)) != NULL; i++) {
    k->accepted = 1;
    cost += ACCEPT_COST;
    s->turns = 1; /* this one */
    if (k->in_size || k->ended) note_ready(k);
    let_go(k);
  }
  ready = s->ready;
  memset(&s->ready, 0, sizeof s->ready);
  for (k = ready.first; k; k = k->next) cost += serve(s, k);
  s->busy_until = now + cost;
  s->turns = 0;
  for (k = ready.first; k; k = next) {
    next = k->next;
    k->ready = 0;
    if (k->ended) k->accepted = 0;
    write_answer(s, k);
    let_go(k);
  }
  look_for_work(s);
}

/* ---- What is on its way ---------------------------------------------------------------------- */

/* Below, in fleet.c: the client looks at this server. */
static void wake_client(struct client *c, int server);

static void on_syn(struct link *k, int tries) {
  struct server *s = &servers[k->server];
  if (k->gone) {
    let_go(k);
  } else if (s->cut || s->backlog.size >= BACKLOG) {
    s->drops += !s->cut;
    will(now + (SECOND << tries), SYN, k, tries + 1, NULL, 0);
  } else if (!s->up) {
    will(now + WAY, RST, k, 0, NULL, 0);
  } else {
    k->life = s->life;
    enqueue(&s->backlog, k);
    will(now + WAY, SYN_ACK, k, 0, NULL, 0);
    look_for_work(s);
  }
}

static void on_data(struct link *k, char *data, int size) {
  struct server *s = &servers[k->server];
  if (!s->up || k->life != s->life) {
    hold(k);
    will(now + WAY, RST, k, 0, NULL, 0);
  } else if (!k->forgotten) {
    if (k->in_size + size > IN) abort();
    memcpy(k->in + k->in_size, data, (size_t)size);
    k->in_size += size;
    note_ready(k);
  }
}

static void on_reply(struct link *k, const char *data, int size) {
  if (k->gone || k->forgotten || k->state != OPEN || k->life != servers[k->server].life) return;
  if (k->out_size + size > OUT) abort();
  memcpy(k->out + k->out_size, data, (size_t)size);
  k->out_size += size;
  wake_client(k->client, k->server);
}

/* A segment that is lost comes again after .2, .4, .8 s and so on. */
static int is_lost(const struct event *e) {
  const struct link *k = (const struct link *)e->whose;
  if (e->kind != DATA && e->kind != FIN && e->kind != REPLY) return 0;
  if (!servers[k->server].cut) return 0;
  will(now + (200 * MS << (e->life < 7 ? e->life : 7)), e->kind, e->whose, e->life + 1, e->data,
       e->size);
  return 1;
}

static void happens(struct event e) {
  struct link *k = (struct link *)e.whose;
  if (e.kind == TURN) {
    struct server *s = (struct server *)e.whose;
    if (s->up && !s->frozen && e.life == s->life) take_turn(s);
    else if (e.life == s->life) s->turns = 0;
    return;
  }
  if (e.kind == SYN) {
    on_syn(k, e.life);
    return;
  }
  if (is_lost(&e)) return;
  if (e.kind == DATA) on_data(k, e.data, e.size);
  if (e.kind == REPLY) on_reply(k, e.data, e.size);
  if (e.kind == FIN) {
    k->ended = 1;
    if (k->life == servers[k->server].life) note_ready(k);
  }
  if (!k->gone && (e.kind == RST || (e.kind == SYN_ACK && k->state == OPENING))) {
    k->state = e.kind == RST ? BROKEN : OPEN;
    if (e.kind == RST || k->wants_to_send) wake_client(k->client, k->server);
  }
  free(e.data);
  let_go(k);
}

#endif
