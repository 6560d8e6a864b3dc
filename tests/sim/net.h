/* net.h: connections as two byte streams, with all that TCP lets through to the programs at its
 * ends. A lost segment is a late one; a partition holds everything back; a flow that was dropped in
 * silence never delivers again. */
#ifndef SIM_NET_H
#define SIM_NET_H

#include "queue.h"
#include "refine/refine.h"

static void server_input(struct conn *n);
static void client_ready(struct client *c, int entry);

enum { RETRANSMIT_FIRST = 200, RETRANSMIT_MOST = 2000 }; /* ms */

static inline struct conn *conn_at(int i, uint32_t id) {
  struct conn *n = &W.conn[i];
  return n->state != CONN_FREE && n->id == id ? n : NULL;
}

static inline int stands_at(const struct conn *n, int server) {
  return n->state == CONN_OPEN && n->server == server && !n->server_gone;
}

static inline ns latency(void) {
  ns t = between(W.cfg.latency_min, W.cfg.latency_max);
  if (W.healed) t = smaller(t, (ns)W.cfg.server_timeout_ms * MS / 8);
  if (fault(F_DELAY)) t += skewed(MS, 2 * SEC);
  if (fault(F_DROP)) t += (RETRANSMIT_FIRST << below(3)) * MS;
  return t;
}

/* How much later than others a slow server answers (R16). */
static inline ns slowness(const struct conn *n, int way) {
  int is_slow = way == DOWN && n->server < W.cfg.slow && !W.healed;
  T->slow_replies += (unsigned)is_slow;
  return is_slow ? W.cfg.slow_ms * MS : 0;
}

static inline int is_blocked(const struct conn *n, int way) {
  return n->silent || W.server[n->server].host_down ||
         W.now < W.blocked[n->client][n->server][way];
}

static inline struct chunk *chunk_at(struct pipe *p, int i) {
  return &p->chunk[(p->first + i) % PIPE_CHUNKS];
}

static inline void pipe_schedule(struct conn *n, int way) {
  struct pipe *p = &n->pipe[way];
  if (p->scheduled || p->count == 0) return;
  p->scheduled = 1;
  schedule(chunk_at(p, 0)->when, EV_DELIVER, (int)(n - W.conn) * 2 + way, n->id);
}

static inline void pipe_push(struct conn *n, int way, uint32_t end, int kind) {
  struct pipe *p = &n->pipe[way];
  struct chunk *k = p->count ? chunk_at(p, p->count - 1) : NULL;
  int full = p->count >= PIPE_CHUNKS - 1;
  if (kind == CHUNK_DATA && k && k->kind == CHUNK_DATA && (full || fault(F_MERGE))) {
    k->end = end;
    return;
  }
  if (p->count == PIPE_CHUNKS) return;
  k = chunk_at(p, p->count++);
  k->end = end;
  k->kind = kind;
  k->when = larger(p->last, W.now + latency() + slowness(n, way));
  p->last = k->when;
  pipe_schedule(n, way);
}

/* The bytes are on their way; those of a pipe that was cut are lost. */
static inline void pipe_write(struct conn *n, int way, const void *bytes, uint32_t size) {
  struct pipe *p = &n->pipe[way];
  uint32_t from_here = p->written, at = from_here & (PIPE_BYTES - 1);
  uint32_t first = PIPE_BYTES - at < size ? PIPE_BYTES - at : size;
  if (p->cut || size == 0) return;
  memcpy(p->bytes + at, bytes, first);
  memcpy(p->bytes, (const unsigned char *)bytes + first, size - first);
  p->written += size;
  while (p->written - from_here > 1 && fault(F_SPLIT)) {
    from_here += 1 + below(p->written - from_here - 1);
    pipe_push(n, way, from_here, CHUNK_DATA);
  }
  pipe_push(n, way, p->written, CHUNK_DATA);
}

/* Ends a direction at a random byte that has not arrived, or after the last. */
static inline void pipe_end(struct conn *n, int way, int kind, int anywhere) {
  struct pipe *p = &n->pipe[way];
  uint32_t end = p->written;
  if (p->cut) return;
  if (anywhere) end = p->arrived + below(p->written - p->arrived + 1);
  while (p->count > 0 && (p->count == 1 ? p->arrived : chunk_at(p, p->count - 2)->end) >= end &&
         chunk_at(p, p->count - 1)->end > end)
    p->count--;
  if (p->count > 0 && chunk_at(p, p->count - 1)->end > end) chunk_at(p, p->count - 1)->end = end;
  p->written = end;
  p->cut = 1;
  if (kind != CHUNK_DATA) pipe_push(n, way, end, kind);
}

/* Both ends hear of it, each in its time. side: 1 = the server did it, and is gone at once. */
static inline void conn_break(struct conn *n, int kind, int server_side) {
  note(N_BROKEN, n->id, kind, server_side);
  excuse(n);
  pipe_end(n, DOWN, kind, 1);
  if (server_side) n->server_gone = 1;
  pipe_end(n, UP, server_side ? CHUNK_DATA : kind, 1);
}

/* Freed when neither end, nor anything on its way, needs it. */
static inline void conn_tidy(struct conn *n) {
  struct pipe *up = &n->pipe[UP];
  if (!n->client_gone) return;
  if (n->server_gone || n->state != CONN_OPEN || n->silent ||
      (up->count == 0 && (up->over || up->cut) && up->read == up->arrived))
    n->state = CONN_FREE;
}

static inline struct conn *conn_new(int client, int entry) {
  struct conn *n;
  int i = 0;
  while (i < W.conns && W.conn[i].state != CONN_FREE) i++;
  if (i == MAX_CONNS) return NULL;
  if (i == W.conns) W.conns++;
  n = &W.conn[i];
  memset(n, 0, offsetof(struct conn, pipe));
  memset(&n->pipe[UP], 0, offsetof(struct pipe, bytes));
  memset(&n->pipe[DOWN], 0, offsetof(struct pipe, bytes));
  n->line.first = n->line.next = 0;
  n->state = CONN_OPENING;
  n->id = ++W.next_conn;
  n->client = client;
  n->entry = entry;
  n->server = W.cfg.entry_server[entry];
  schedule(W.now + 2 * latency(), EV_CONNECT, i, n->id);
  return n;
}

/* Some servers greet with an error and hang up. */
static inline void conn_unasked(struct conn *n) {
  int which = STORE_ERROR_ASKED + (int)below(STORE_ERRORS - STORE_ERROR_ASKED);
  char text[256];
  snprintf(text, sizeof text, "-%s\r\n", store_error(which));
  T->error_reply[which]++;
  pipe_write(n, DOWN, text, (uint32_t)strlen(text));
  pipe_end(n, DOWN, CHUNK_FIN, 0);
  pipe_end(n, UP, CHUNK_DATA, 1);
  excuse(n);
  n->server_gone = 1;
}

static inline void on_connect(int i, uint32_t id) {
  struct conn *n = conn_at(i, id);
  struct server *s;
  if (!n) return;
  s = &W.server[n->server];
  if (n->client_gone) {
    n->state = CONN_FREE;
    return;
  }
  if (is_blocked(n, UP) || is_blocked(n, DOWN)) {
    n->attempts++;
    schedule(W.now + (W.healed ? SEC : SEC << smaller(n->attempts - 1, 3)), EV_CONNECT, i, id);
    return;
  }
  if (s->down) {
    n->state = CONN_REFUSED;
  } else {
    n->state = CONN_OPEN;
    n->incarnation = s->incarnation;
    n->session.authed = s->store.password == NULL;
    note(N_STANDS, n->id, n->client, n->server);
    if (fault(F_ERROR_UNASKED)) conn_unasked(n);
  }
  client_ready(&W.client[n->client], n->entry);
}

/* What reaches a server that is not there any more is answered with a reset. */
static inline void on_arrival(struct conn *n, int way) {
  struct server *s = &W.server[n->server];
  if (way == DOWN) {
    if (!n->client_gone) client_ready(&W.client[n->client], n->entry);
    return;
  }
  if (!n->server_gone && !s->down && n->incarnation == s->incarnation) {
    server_input(n);
  } else if (!s->down || !s->host_down) {
    pipe_end(n, DOWN, CHUNK_RST, 0);
    n->pipe[UP].read = n->pipe[UP].arrived;
  }
}

static inline void on_deliver(int i, int way, uint32_t id) {
  struct conn *n = conn_at(i, id);
  struct pipe *p;
  struct chunk k;
  if (!n) return;
  p = &n->pipe[way];
  p->scheduled = 0;
  if (p->count == 0 || n->silent) return;
  k = *chunk_at(p, 0);
  if (is_blocked(n, way)) {
    p->again = smaller(larger(p->again * 2, RETRANSMIT_FIRST * MS), RETRANSMIT_MOST * MS);
    p->scheduled = 1;
    schedule(W.now + p->again, EV_DELIVER, i * 2 + way, id);
    return;
  }
  if (k.when > W.now) { /* the head was cut away meanwhile */
    pipe_schedule(n, way);
    return;
  }
  p->again = 0;
  p->first = (p->first + 1) % PIPE_CHUNKS;
  p->count--;
  p->arrived = k.end;
  if (k.kind != CHUNK_DATA) p->over = k.kind;
  on_arrival(n, way);
  if (n->state == CONN_FREE) return;
  pipe_schedule(n, way);
  conn_tidy(n);
}

#endif
