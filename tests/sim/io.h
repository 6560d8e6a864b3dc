/* io.h: the redlock_io of a simulated client. Every hook may fail, do less than asked, or take
 * long: then the world goes on while the call stands still. */
#ifndef SIM_IO_H
#define SIM_IO_H

#include "idle_step.h"
#include "server.h"

static void run_until(ns until, const int *stop);

/* No call can be quicker than its own process. */
static void forgive(struct client *c, ns late) {
  for (int i = 0; late > 0 && i < c->slots; i++)
    if (c->slot[i].bound_ms >= 0) c->slot[i].bound_ms += late / MS * 2 + 2;
}

/* The client's process stands still in the middle of a call. */
static void pause_inside(struct client *c, ns length) {
  ns before = W.now;
  if (W.depth >= MAX_DEPTH || W.failed) return;
  note(N_PAUSE, c->index, length, W.depth);
  W.depth++;
  run_until(W.now + length, &W.healed); /* no one sleeps beyond healing */
  W.depth--;
  forgive(c, W.now - before);
  if (W.now - before > 4 * MS) c->stood = W.now;
}

static void hook_pause(struct client *c) {
  ns longest = 4 * MS;
  if (!c->busy || !fault(F_PAUSE_INSIDE)) return;
  if (one_in(4)) longest = (ns)W.cfg.ttl_max_ms * MS;
  pause_inside(c, skewed(1, longest));
}

static struct conn *conn_of(struct client *c, int entry) {
  if (entry < 0 || entry >= W.cfg.servers || !c->conn[entry]) {
    violation("io: client %d uses entry %d, which is not open", c->index, entry);
    return NULL;
  }
  return c->conn[entry];
}

/* The lowest number that is free, as POSIX does: numbers are used again at once. */
static int lowest_fd(const struct client *c) {
  int fd = 3, again = 1;
  while (again) {
    again = 0;
    for (int i = 0; i < W.cfg.servers; i++)
      if (c->conn[i] && c->conn[i]->fd == fd) again = 1;
    fd += again;
  }
  return fd;
}

static intptr_t io_open(void *ctx, int entry, const char *host, const char *port) {
  struct client *c = (struct client *)ctx;
  struct conn *n;
  char want[16];
  if (W.idle) return acts_early(c, "opens a connection");
  snprintf(want, sizeof want, "%c%d", W.cfg.entry_server[entry] == entry ? 's' : 't',
           W.cfg.entry_server[entry]);
  if (strcmp(host, want) || strcmp(port, "6379"))
    violation("io: client %d opens %s:%s for entry %d", c->index, host, port, entry);
  if (c->conn[entry])
    violation("io: client %d opens entry %d, which was not closed", c->index, entry);
  c->happened = 1;
  hook_pause(c);
  if (fault(F_NO_FD)) return -1;
  n = conn_new(c->index, entry);
  if (!n) return -1;
  n->fd = lowest_fd(c);
  c->conn[entry] = n;
  note(N_OPEN, c->index, entry, n->id);
  return n->fd;
}

static uint32_t room_to_send(const struct client *c, const struct conn *n) {
  uint32_t under_way = n->pipe[UP].written - n->pipe[UP].read;
  if (n->pipe[UP].cut) return PIPE_BYTES / 2;
  if (W.now < W.clogged[c->index][n->server]) return 0;
  return under_way < W.cfg.window ? W.cfg.window - under_way : 0;
}

static int io_send(void *ctx, int entry, const void *data, size_t size) {
  struct client *c = (struct client *)ctx;
  struct conn *n = conn_of(c, entry);
  size_t room;
  if (!n || size == 0 || size > 65536) return -1;
  if (W.idle) return c->want[entry] & REDLOCK_WRITE ? 0 : acts_early(c, "sends");
  hook_pause(c);
  if (n->state == CONN_OPENING) return 0;
  if (n->state == CONN_REFUSED || n->pipe[DOWN].over == CHUNK_RST) return -1;
  room = fault(F_EINTR) ? 0 : room_to_send(c, n);
  if (room > size) room = size;
  if (room > 1 && fault(F_SHORT_WRITE)) room = 1 + below((uint32_t)room - 1);
  n->backlogged = room < size;
  if (room == 0) return 0;
  note(N_SENT, c->index, n->id, (int64_t)room);
  c->happened = 1;
  if (!n->heard_at) n->heard_at = W.now;
  pipe_write(n, UP, data, (uint32_t)room);
  refine_sent(n);
  if (fault(F_RST)) conn_break(n, CHUNK_RST, (int)below(2));
  hook_pause(c);
  return (int)room;
}

/* R13: a whole reply, not a part of one or a push. Of several at once the last counts. */
static void note_heard(struct conn *n) {
  uint32_t read = n->pipe[DOWN].read;
  if (!n->reply_end || read < n->reply_end) return;
  n->heard_at = W.now;
  n->reply_end = read < n->last_reply_end ? n->last_reply_end : 0;
}

static int io_recv(void *ctx, int entry, void *data, size_t size) {
  struct client *c = (struct client *)ctx;
  struct conn *n = conn_of(c, entry);
  struct pipe *p;
  size_t got;
  if (!n || size == 0) return -1;
  if (W.idle) return 0;
  hook_pause(c);
  if (n->state == CONN_OPENING || fault(F_EINTR)) return 0;
  if (n->state == CONN_REFUSED) {
    c->happened = 1;
    return -1;
  }
  p = &n->pipe[DOWN];
  got = p->arrived - p->read;
  if (p->over == CHUNK_RST && one_in(2)) got = 0; /* a reset may throw away what was not read */
  if (got > size) got = size;
  if (got > 1 && fault(F_SHORT_READ)) got = 1 + below((uint32_t)got - 1);
  if (got == 0 && !p->over) return 0;
  c->happened = 1;
  if (got == 0) return -1;
  pipe_copy(p, p->read, data, (uint32_t)got);
  p->read += (uint32_t)got;
  refine_heard(n);
  note_heard(n);
  wake_heard(c, n);
  note(N_GOT, c->index, n->id, (int64_t)got);
  server_input(n);
  return (int)got;
}

/* Bytes that were not read turn the end into a reset, which overtakes what was not sent yet. */
static void io_close(void *ctx, int entry) {
  struct client *c = (struct client *)ctx;
  struct conn *n = conn_of(c, entry);
  int unread;
  if (W.idle) acts_early(c, "closes a connection");
  if (!n || W.idle) return;
  c->happened = 1;
  note(N_CLOSE, c->index, entry, n->id);
  unread = n->pipe[DOWN].arrived != n->pipe[DOWN].read;
  c->conn[entry] = NULL;
  if (n->backlogged || n->pipe[DOWN].over || c->closing) excuse(n);
  if (n->shifted || n->denied) excuse(n); /* a SET on it may run behind the next one's release */
  if (has_alias()) excuse(n); /* a known gap: a twin's late SET is not undone */
  if (n->heard_at && W.now - n->heard_at >= LEAST_SILENCE) excuse(n); /* given up (R13) */
  if (n->state == CONN_OPEN) {
    uint32_t all = n->pipe[UP].written;
    pipe_end(n, UP, unread ? CHUNK_RST : CHUNK_FIN, unread);
    if (n->pipe[UP].written != all) excuse(n);
    n->pipe[DOWN].cut = 1;
  }
  n->client_gone = 1;
  excuse_keys(n, 1);
  conn_tidy(n);
}

static void look_at_fds(struct client *c, const redlock_fd *want, int count) {
  for (int i = 0; i < W.cfg.servers; i++) c->want[i] = 0;
  for (int i = 0; i < count; i++) {
    struct conn *n = conn_of(c, want[i].server);
    int e = want[i].server;
    if (!n) return;
    if (want[i].fd != n->fd)
      violation("fds: client %d entry %d tells descriptor %ld, it is %d", c->index, e,
                (long)want[i].fd, n->fd);
    if (c->last_fd[e] != (int)n->id && want[i].generation <= c->last_generation[e])
      violation("fds: client %d entry %d was reopened, and its generation did not grow", c->index,
                e);
    c->last_fd[e] = (int)n->id;
    c->last_generation[e] = want[i].generation;
    c->want[e] = want[i].events;
  }
}

static int is_ready(const struct client *c, int entry) {
  const struct conn *n = c->conn[entry];
  unsigned want = c->want[entry];
  if (!want || !n || n->state == CONN_OPENING) return 0;
  if (n->state == CONN_REFUSED || n->pipe[DOWN].over == CHUNK_RST) return 1;
  if ((want & REDLOCK_READ) && (n->pipe[DOWN].arrived != n->pipe[DOWN].read || n->pipe[DOWN].over))
    return 1;
  return (want & REDLOCK_WRITE) && room_to_send(c, n) > 0;
}

static int any_ready(const struct client *c) {
  int ready = 0;
  for (int i = 0; i < W.cfg.servers; i++) ready += is_ready(c, i);
  return ready;
}

static void watch_clogs(struct client *c) {
  for (int i = 0; i < W.cfg.servers; i++) {
    ns until;
    if (!(c->want[i] & REDLOCK_WRITE) || !c->conn[i]) continue;
    until = W.clogged[c->index][c->conn[i]->server];
    if (until <= W.now || until == c->clog_ends[i]) continue;
    c->clog_ends[i] = until;
    schedule(until, EV_WRITABLE, c->index * MAX_SERVERS + i, 0);
  }
}

static int io_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  struct client *c = (struct client *)ctx;
  ns until = timeout_ms < 0 ? W.now + 3600 * SEC : client_when(c, client_ms(c) + timeout_ms);
  int ready, all = 0;
  look_at_fds(c, want, count);
  for (int i = 0; i < W.cfg.servers; i++) all += c->conn[i] != NULL;
  if (all != count) violation("wait: client %d has %d connections and waits for %d", c->index, all,
                              count);
  if (W.failed || !W.running || fault(F_WAIT_FAILED)) return -1;
  if (fault(F_EINTR)) return 0;
  ready = any_ready(c);
  if (!ready && W.depth < MAX_DEPTH) {
    note_promise(c);
    watch_clogs(c);
    c->in_wait = 1;
    c->woken = 0;
    W.depth++;
    run_until(until, &c->woken);
    W.depth--;
    c->in_wait = 0;
    check_reason(c);
    forgive(c, W.now - until);
    ready = any_ready(c);
  }
  hook_pause(c);
  return ready;
}

/* Now and then: each time would take all the time. */
static void check_client(struct client *c) {
  if (++c->checks % 64 == 0) c->lib->check(c->rl);
}

static int64_t io_now(void *ctx) {
  struct client *c = (struct client *)ctx;
  check_client(c);
  if (fault(F_NO_CLOCK)) return -1;
  return client_ms(c);
}

static int io_entropy(void *ctx, void *data, size_t size) {
  struct client *c = (struct client *)ctx;
  unsigned char *to = (unsigned char *)data;
  check_client(c);
  if (W.idle) return acts_early(c, "asks for entropy");
  c->happened = 1; /* an attempt begins, though it may end before anything is sent */
  hook_pause(c);
  if (fault(F_NO_ENTROPY)) return -1;
  if (size == VALUE_BYTES) return value_draw(c, to);
  for (size_t i = 0; i < size; i++) to[i] = (unsigned char)below(256);
  return 0;
}

static const redlock_io sim_io = {io_open, io_send,    io_recv, io_close, io_wait,
                                  io_now,  io_entropy, NULL};

#endif
