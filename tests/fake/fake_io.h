/* fake_io.h: redlock_io on the fake: sockets, the clock, entropy, and their failures. */
#ifndef FAKE_IO_H
#define FAKE_IO_H

static inline int fake_is_broken(const struct fake *f, const struct fake_connection *c) {
  return c->broken_at <= f->now_ms;
}

/* Counts the call and lets the script act; true = this one shall fail. What is always true of a
   client is true whenever it calls a hook. An idle step changes nothing that would be checked. */
static inline int fake_enter(struct fake_client *client, enum fake_hook hook, int server) {
  struct fake *f = client->fake;
  long k;
  if (f->idle) return 0;
  if (client->rl) library_check(client->rl);
  k = ++f->calls[hook];
  if (k > f->most_calls) {
    printf("    the client never stops calling hook %d\n", (int)hook);
    exit(3);
  }
  if (f->on_call) f->on_call(f, hook, server);
  return f->fail_hook == (int)hook && k >= f->fail_from && k <= f->fail_until;
}

static inline struct fake_connection *fake_current(struct fake_client *client, int server) {
  struct fake *f = client->fake;
  if (server < 0 || server >= f->servers || client->connection[server] < 0) {
    fake_misuse(f, "a call on a server that is not open", server);
    return NULL;
  }
  return &f->connection[client->connection[server]];
}

static inline void fake_break(struct fake *f, struct fake_connection *c, enum fake_end end) {
  if (c->broken_at > f->now_ms) c->broken_at = f->now_ms;
  c->end = end;
}

static inline intptr_t fake_open(void *ctx, int server, const char *host, const char *port) {
  struct fake_client *client = (struct fake_client *)ctx;
  struct fake *f = client->fake;
  struct fake_server *s = &f->server[server];
  struct fake_connection *c;
  if (!host || !host[0] || !port) fake_misuse(f, "no host", server);
  if (f->idle) return fake_acts_early(f, "opens", server);
  f->idle_waits = 0;
  if (fake_enter(client, FAKE_OPEN, server) || s->open_fails) return -1;
  if (client->connection[server] >= 0) fake_misuse(f, "opened twice", server);
  f->connection = (struct fake_connection *)fake_grow(
      f->connection, &f->connection_room, f->connections + 1, sizeof *f->connection);
  client->connection[server] = (int)f->connections;
  c = &f->connection[f->connections++];
  memset(c, 0, sizeof *c);
  c->server = server;
  c->client = (int)(client - f->client);
  c->number = ++s->connections;
  c->held = 1;
  c->usable_at = s->connect_ms == FAKE_NEVER ? FAKE_NEVER : f->now_ms + s->connect_ms;
  c->broken_at = s->refuses || s->hangs_up ? c->usable_at : FAKE_NEVER;
  c->end = s->refuses ? FAKE_RST : FAKE_FIN;
  if (s->greeting) fake_stream_add(&c->out, s->greeting, strlen(s->greeting), c->usable_at);
  return 1000 + client->connection[server];
}

static inline size_t fake_least(size_t a, size_t b) { return a < b ? a : b; }

/* What this connection takes now: chunks, a full socket, a cut to come. */
static inline size_t fake_send_room(const struct fake *f, const struct fake_connection *c) {
  const struct fake_server *s = &f->server[c->server];
  size_t waiting = c->in.end - c->in.next, room = s->send_chunk;
  if (f->now_ms < c->usable_at) return 0;
  if (waiting >= s->socket_room) return 0;
  room = fake_least(room, s->socket_room - waiting);
  if (s->cuts > 0 && s->cut_in != SIZE_MAX) room = fake_least(room, s->cut_in - c->took);
  return room;
}

static inline int fake_is_cut(const struct fake *f, const struct fake_connection *c) {
  const struct fake_server *s = &f->server[c->server];
  return s->cuts > 0 && (c->took >= s->cut_in || c->gave >= s->cut_out);
}

static inline void fake_cut(struct fake *f, struct fake_connection *c) {
  struct fake_server *s = &f->server[c->server];
  if (!fake_is_cut(f, c)) return;
  s->cuts--;
  fake_break(f, c, s->cut_end);
}

static inline int fake_send(void *ctx, int server, const void *data, size_t size) {
  struct fake_client *client = (struct fake_client *)ctx;
  struct fake *f = client->fake;
  struct fake_connection *c = fake_current(client, server);
  int fails = fake_enter(client, FAKE_SEND, server);
  if (!c) return -1;
  if (f->idle)
    return f->wanted[server] & REDLOCK_WRITE ? 0 : fake_acts_early(f, "sends", server);
  if (f->now_ms >= c->usable_at) fake_cut(f, c);
  if (fails) fake_break(f, c, FAKE_RST);
  if (fake_is_broken(f, c)) f->idle_waits = 0;
  if (fake_is_broken(f, c)) return c->end == FAKE_RST ? -1 : (int)size;
  if (size == 0) fake_misuse(f, "sends nothing", server);
  if (c->swallowed) return f->idle_waits = 0, (int)size;
  size = fake_least(size, fake_send_room(f, c));
  fake_stream_add(&c->in, data, size, f->now_ms + f->server[server].request_ms);
  c->took += size;
  fake_run(f);
  if (size) fake_cut(f, c);
  if (size) f->idle_waits = 0;
  return (int)size;
}

static inline int fake_recv(void *ctx, int server, void *data, size_t size) {
  struct fake_client *client = (struct fake_client *)ctx;
  struct fake *f = client->fake;
  struct fake_connection *c = fake_current(client, server);
  struct fake_server *s = &f->server[server];
  int fails = fake_enter(client, FAKE_RECV, server);
  if (!c) return -1;
  if (f->idle) return 0;
  if (f->now_ms >= c->usable_at) fake_cut(f, c);
  if (fails) fake_break(f, c, FAKE_RST);
  fake_run(f);
  if (fake_is_broken(f, c) && c->end == FAKE_RST) return -1;
  size = fake_least(size, fake_least(s->recv_chunk, fake_stream_ready(&c->out, f->now_ms)));
  if (s->cuts > 0 && s->cut_out != SIZE_MAX) size = fake_least(size, s->cut_out - c->gave);
  if (size) memcpy(data, c->out.byte + c->out.next, size);
  c->out.next += size;
  c->gave += size;
  if (size == 0 && fake_is_broken(f, c)) return -1;
  if (size) fake_cut(f, c);
  if (size) f->idle_waits = 0;
  return (int)size;
}

static inline void fake_close(void *ctx, int server) {
  struct fake_client *client = (struct fake_client *)ctx;
  struct fake_connection *c = fake_current(client, server);
  (void)fake_enter(client, FAKE_CLOSE, server);
  if (client->fake->idle) (void)fake_acts_early(client->fake, "closes", server);
  if (!c) return;
  client->fake->idle_waits = 0;
  c->held = 0; /* what it was sent stays: a frozen server still runs it */
  client->connection[server] = -1;
}

static inline int fake_is_ready(struct fake *f, struct fake_client *client, const redlock_fd *w) {
  struct fake_connection *c = fake_current(client, w->server);
  if (!c) return 1;
  if (w->fd != 1000 + client->connection[w->server]) fake_misuse(f, "a wrong fd", w->server);
  if (fake_is_broken(f, c)) return 1;
  if ((w->events & REDLOCK_READ) && fake_stream_ready(&c->out, f->now_ms)) return 1;
  if (f->now_ms < c->usable_at) return 0;
  return fake_is_cut(f, c) || ((w->events & REDLOCK_WRITE) && fake_send_room(f, c) > 0);
}

static inline int64_t fake_sooner(const struct fake *f, int64_t a, int64_t b) {
  return b > f->now_ms && b < a ? b : a;
}

/* When a server sees the next key expire: of interest only where somebody has read one. */
static inline int64_t fake_next_expiry(const struct fake *f, int server) {
  const struct fake_server *s = &f->server[server];
  int64_t next = FAKE_NEVER;
  int i;
  if (!fake_read_count(f, server)) return next;
  for (i = 0; i < s->store.keys; i++)
    if (s->store.key[i].used) next = fake_sooner(f, next, s->store.key[i].expires_ms + 1);
  return next;
}

/* The next moment at which anything happens by itself. */
static inline int64_t fake_next_event(const struct fake *f) {
  int64_t next = FAKE_NEVER;
  size_t i;
  int k;
  for (k = 0; k < f->servers; k++)
    next = fake_sooner(f, next, fake_next_expiry(f, k));
  for (i = 0; i < f->connections; i++) {
    const struct fake_connection *c = &f->connection[i];
    if (c->in.next < c->in.end) {
      next = fake_sooner(f, next, c->in.at[c->in.end - 1]);
      next = fake_sooner(f, next, f->server[c->server].thaw_at);
    }
    if (!c->held) continue;
    next = fake_sooner(f, next, c->usable_at);
    next = fake_sooner(f, next, c->broken_at);
    if (c->out.next < c->out.end) {
      size_t at = c->out.next;
      while (at < c->out.end && c->out.at[at] <= f->now_ms) at++;
      if (at < c->out.end) next = fake_sooner(f, next, c->out.at[at]);
    }
  }
  return next;
}

static inline int fake_ready_count(struct fake *f, struct fake_client *client,
                                   const redlock_fd *want, int count) {
  int i, ready = 0;
  fake_run(f);
  for (i = 0; i < count; i++) ready += fake_is_ready(f, client, &want[i]) != 0;
  return ready;
}

static inline int fake_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  struct fake_client *client = (struct fake_client *)ctx;
  struct fake *f = client->fake;
  int64_t end = timeout_ms < 0 ? FAKE_NEVER : f->now_ms + timeout_ms;
  int ready;
  if (fake_enter(client, FAKE_WAIT, -1)) return -1;
  fake_check_spin(f);
  while ((ready = fake_ready_count(f, client, want, count)) == 0 && f->now_ms < end) {
    int64_t next = fake_next_event(f);
    if (next == FAKE_NEVER && end == FAKE_NEVER) {
      fake_misuse(f, "waits for ever for nothing", -1);
      return -1;
    }
    fake_pass(f, next < end ? next : end);
  }
  return ready;
}

static inline int64_t fake_now(void *ctx) {
  struct fake_client *client = (struct fake_client *)ctx;
  return fake_enter(client, FAKE_NOW, -1) ? -1 : client->fake->now_ms;
}

/* Not random, but never the same twice. */
static inline unsigned char fake_random_byte(struct fake *f) {
  uint64_t z = (f->seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (unsigned char)(z >> 40);
}

static inline int fake_entropy(void *ctx, void *data, size_t size) {
  struct fake_client *client = (struct fake_client *)ctx;
  struct fake *f = client->fake;
  unsigned char *to = (unsigned char *)data;
  size_t i;
  if (f->idle) return fake_acts_early(f, "asks for entropy", -1);
  if (fake_enter(client, FAKE_ENTROPY, -1)) return -1;
  f->idle_waits = 0;
  for (i = 0; i < size; i++)
    to[i] = f->entropy ? f->entropy[i % f->entropy_size] : fake_random_byte(f);
  f->entropy_given += size;
  return 0;
}

static inline void fake_client_begin(struct fake *f, struct fake_client *client) {
  int i;
  client->fake = f;
  client->io.open = fake_open;
  client->io.send = fake_send;
  client->io.recv = fake_recv;
  client->io.close = fake_close;
  client->io.wait = fake_wait;
  client->io.now_ms = fake_now;
  client->io.entropy = fake_entropy;
  client->io.ctx = client;
  for (i = 0; i < FAKE_SERVERS; i++) client->connection[i] = -1;
}

#endif
