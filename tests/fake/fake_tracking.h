/* fake_tracking.h: replies, and the pushes that say what changed (R26). A connection that asked for
 * it, and has read a key, gets one push when that is deleted, overwritten, extended or seen to have
 * expired; of another database too. Whoever changes a key gets its own push behind the reply. */
#ifndef FAKE_TRACKING_H
#define FAKE_TRACKING_H

/* Replies come in order: none before the one in front of it. */
static inline void fake_reply(struct fake_server *s, struct fake_connection *c, const char *text,
                              size_t size, int64_t at) {
  size_t i;
  fake_stream_add(&c->told, text, size, at);
  for (i = 0; i < size; i++) {
    int64_t when = at + s->reply_ms + s->gap_ms * (int64_t)i;
    if (s->split_at && i >= s->split_at) when += s->split_ms;
    if (c->out.end > 0 && c->out.at[c->out.end - 1] > when) when = c->out.at[c->out.end - 1];
    fake_stream_add(&c->out, text + i, 1, when);
  }
}

/* How many keys the connections of a server have read and got no push of since. */
static inline int fake_read_count(const struct fake *f, int server) {
  size_t i;
  int count = 0;
  for (i = 0; i < f->connections; i++)
    if (f->connection[i].server == server) count += f->connection[i].session.reads;
  return count;
}

/* 1 = this connection had read the name (NULL = anything). */
static inline int fake_forgets(struct session *c, struct arg name) {
  int had = c->reads > 0;
  if (name.at) return session_forgets(c, name.at, name.size);
  c->reads = 0;
  return had;
}

/* The key has changed (NULL = all have) by a connection's doing (NULL = no one's that listens). */
static inline void fake_invalidate(struct fake *f, int server, struct arg name, int64_t at,
                                   const struct fake_connection *by) {
  struct fake_server *s = &f->server[server];
  char text[STORE_NAME + 64];
  size_t i;
  for (i = 0; i < f->connections; i++) {
    struct fake_connection *c = &f->connection[i];
    struct reply r = {text, 0};
    if (c->server != server || !fake_forgets(&c->session, name)) continue;
    if (s->loses_pushes || (c == by && c->session.noloop)) continue;
    s->pushes++;
    reply_push(&r, name.at, name.size);
    fake_reply(s, c, r.at, r.size, at);
  }
}

/* What has expired is seen: all of it, or one key that is looked at. */
static inline void fake_reap(struct fake *f, int server, const struct fake_text *name, int64_t at) {
  struct fake_server *s = &f->server[server];
  int i;
  for (i = 0; i < s->store.keys; i++) {
    struct key *key = &s->store.key[i];
    struct arg its = {key->name, key->name_size};
    if (!key->used || at <= key->expires_ms || (name && !fake_text_is(name, its))) continue;
    key->used = 0;
    fake_invalidate(f, server, its, at, NULL);
  }
}

#endif
