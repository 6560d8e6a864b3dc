/* fake_script.h: what tests ask the fake and tell it. */
#ifndef FAKE_SCRIPT_H
#define FAKE_SCRIPT_H

static inline void fake_server_begin(struct fake_server *s, unsigned number) {
  s->reply_ms = 1;
  s->send_chunk = s->recv_chunk = s->socket_room = SIZE_MAX;
  s->cut_in = s->cut_out = SIZE_MAX;
  s->store.databases = 16;
  s->store.refuse_hello = 1;
  s->run_id = 0xa0000000u + number;
  s->started_at = -1000000000;
}

static inline void fake_begin(struct fake *f, int servers) {
  int i;
  memset(f, 0, sizeof *f);
  f->servers = servers;
  f->now_ms = 1000000;
  f->fail_hook = FAKE_ANY;
  f->most_calls = 20000000;
  for (i = 0; i < servers; i++) fake_server_begin(&f->server[i], (unsigned)i);
  for (i = 0; i < FAKE_CLIENTS; i++) fake_client_begin(f, &f->client[i]);
}

static inline void fake_end(struct fake *f) {
  size_t i;
  int s;
  for (i = 0; i < f->connections; i++) {
    fake_stream_free(&f->connection[i].in);
    fake_stream_free(&f->connection[i].out);
    fake_stream_free(&f->connection[i].told);
  }
  for (s = 0; s < f->servers; s++) free(f->server[s].store.key);
  free(f->connection);
  free(f->log);
}

/* Time passes; nobody but the servers acts. */
static inline void fake_sleep(struct fake *f, int64_t ms) {
  int64_t end = f->now_ms + ms;
  while (f->now_ms < end) {
    int64_t next = fake_next_event(f);
    fake_pass(f, next < end ? next : end);
    fake_run(f);
  }
}

static inline int fake_open_count(const struct fake *f) {
  size_t i;
  int count = 0;
  for (i = 0; i < f->connections; i++) count += f->connection[i].held;
  return count;
}

static inline struct fake_rule *fake_answer(struct fake *f, int server, int kind, int times,
                                            const char *answer) {
  struct fake_rule *r = &f->rule[f->rules++];
  if (f->rules > FAKE_RULES) abort();
  memset(r, 0, sizeof *r);
  r->server = server;
  r->kind = kind;
  r->times = times;
  r->answer = answer;
  return r;
}

static inline void fake_thaw(struct fake *f, int server) {
  f->server[server].thaw_at = f->now_ms;
  fake_run(f);
}

/* A firewall forgets all connections that stand to the server; new ones work. */
static inline void fake_swallow(struct fake *f, int server) {
  size_t i;
  fake_run(f);
  for (i = 0; i < f->connections; i++) {
    struct fake_connection *c = &f->connection[i];
    if (c->server != server) continue;
    c->swallowed = 1;
    c->out.next = c->out.end;
  }
}

/* Ends every connection of a server; what it has not run yet is lost with an RST. */
static inline void fake_reset(struct fake *f, int server, enum fake_end end) {
  size_t i;
  for (i = 0; i < f->connections; i++) {
    struct fake_connection *c = &f->connection[i];
    if (c->server != server) continue;
    fake_break(f, c, end);
    if (end == FAKE_RST) c->in.next = c->in.end;
  }
}

static inline void fake_restart(struct fake *f, int server) {
  fake_reset(f, server, FAKE_RST);
  f->server[server].store.keys = 0;
  f->server[server].run_id += 0x100;
  f->server[server].started_at = f->now_ms;
}

static inline void fake_put(struct fake *f, int server, const char *key, const char *value,
                            int64_t ttl_ms) {
  fake_invalidate(f, server, arg_of(key), f->now_ms, NULL);
  fake_set_store(&f->server[server], f->now_ms);
  (void)store_put(&f->server[server].store, 0, arg_of(key), arg_of(value), ttl_ms);
}

static inline struct key *fake_key_in(struct fake *f, int server, int db, const char *key) {
  f->server[server].store.now_ms = f->now_ms;
  return store_find(&f->server[server].store, db, arg_of(key));
}

static inline struct key *fake_key_at(struct fake *f, int server, const char *key) {
  return fake_key_in(f, server, 0, key);
}

static inline void fake_forget(struct fake *f, int server, const char *key) {
  struct key *found = fake_key_at(f, server, key);
  if (!found) return;
  found->used = 0;
  fake_invalidate(f, server, arg_of(key), f->now_ms, NULL);
}

static inline void fake_flush(struct fake *f, int server) {
  struct arg all = {NULL, 0};
  f->server[server].store.keys = 0;
  fake_invalidate(f, server, all, f->now_ms, NULL);
}

/* Bytes that nobody asked for, on every connection of a server. */
static inline void fake_push(struct fake *f, int server, const char *bytes) {
  size_t i;
  for (i = 0; i < f->connections; i++)
    if (f->connection[i].server == server && f->connection[i].held)
      fake_reply(&f->server[server], &f->connection[i], bytes, strlen(bytes), f->now_ms);
}

/* On how many servers the key lives. */
static inline int fake_holders(struct fake *f, const char *key) {
  int server, count = 0;
  for (server = 0; server < f->servers; server++) count += fake_key_at(f, server, key) != NULL;
  return count;
}

static inline int fake_key_is(struct fake *f, int server, const char *key, const char *value) {
  const struct key *found = fake_key_at(f, server, key);
  return found && found->value_size == strlen(value) &&
         memcmp(found->value, value, found->value_size) == 0;
}

/* How long the key will live; 0 = it does not. */
static inline int64_t fake_pttl(struct fake *f, int server, const char *key) {
  const struct key *found = fake_key_at(f, server, key);
  return found ? found->expires_ms - f->now_ms : 0;
}

/* All live keys of all servers and databases. */
static inline int fake_live_keys(const struct fake *f) {
  int server, count = 0, i;
  for (server = 0; server < f->servers; server++) {
    const struct store *store = &f->server[server].store;
    for (i = 0; i < store->keys; i++)
      count += store->key[i].used && store->key[i].expires_ms >= f->now_ms;
  }
  return count;
}

/* The k-th command (from 0) of a kind that a server ran, or NULL. */
static inline const struct fake_command *fake_nth(const struct fake *f, int server, int kind,
                                                  int k) {
  size_t i;
  for (i = 0; i < f->logged; i++) {
    const struct fake_command *c = &f->log[i];
    if (server != FAKE_ANY && c->server != server) continue;
    if (kind == FAKE_ANY ? c->kind >= FAKE_HELLO : (int)c->kind != kind) continue;
    if (k-- == 0) return c;
  }
  return NULL;
}

static inline int fake_count(const struct fake *f, int server, int kind) {
  int k = 0;
  while (fake_nth(f, server, kind, k)) k++;
  return k;
}

/* Whether the answer begins with one of these signs. */
static inline int fake_answer_is(const struct fake_command *c, const char *signs) {
  return c->answer[0] && strchr(signs, c->answer[0]);
}

/* Whether it may put a value there. One that the server refused has not: it was said that another's
   is there, that the given one is not, or that the token will not do. */
static inline int fake_sets(const struct fake_command *c) {
  long long number = c->answer[0] == ':' ? strtoll(c->answer + 1, NULL, 10) : 0;
  if (c->fenced && (number < 0 || number >= c->token)) return 0;
  return c->kind == FAKE_SET && !fake_answer_is(c, "$_-");
}

/* Whether that server has told an extension since, before another command, that it is not there. */
static inline int fake_told_missing(const struct fake_command *since,
                                    const struct fake_command *before) {
  const struct fake_command *c;
  for (c = since; c < before; c++)
    if (c->kind == FAKE_EXTEND && c->server == since->server &&
        fake_text_same(&c->value, &since->value) && fake_answer_is(c, "$_"))
      return 1;
  return 0;
}

/* True when that server ran no two SETs with one value (R12) without a reason (R29): that the first
   has set nothing; or, with max_ttl_ms, a new life, or that it is not there any more. */
static inline int fake_no_set_twice_at(const struct fake *f, int server, int max_ttl) {
  size_t i, k;
  for (i = 0; i < f->logged; i++) {
    const struct fake_command *a = &f->log[i];
    for (k = 0; a->server == server && a->kind == FAKE_SET && k < i; k++) {
      const struct fake_command *b = &f->log[k];
      if (b->kind != FAKE_SET || b->server != server) continue;
      if (!fake_text_same(&a->value, &b->value)) continue;
      if (!fake_sets(b)) continue;
      if (!max_ttl || (a->life == b->life && !fake_told_missing(b, a))) return 0;
    }
  }
  return 1;
}

static inline int fake_no_set_twice(const struct fake *f, int max_ttl) {
  int i;
  for (i = 0; i < f->servers; i++)
    if (!fake_no_set_twice_at(f, i, max_ttl)) return 0;
  return 1;
}

#endif
