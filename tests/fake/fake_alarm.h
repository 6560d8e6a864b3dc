/* fake_alarm.h: who is told what changes. A connection that asked for it, and has read a key, is
 * told once when that is deleted, overwritten, extended or seen to have expired; of another
 * database too. Who changes a key himself is told behind his reply. */
#ifndef FAKE_ALARM_H
#define FAKE_ALARM_H

/* Replies come in order: none before the one in front of it. */
static inline void fake_reply(struct fake_server *s, struct fake_connection *c, const char *text,
                              size_t size, int64_t at) {
  size_t i;
  for (i = 0; i < size; i++) {
    int64_t when = at + s->reply_ms + s->gap_ms * (int64_t)i;
    if (s->split_at && i >= s->split_at) when += s->split_ms;
    if (c->out.end > 0 && c->out.at[c->out.end - 1] > when) when = c->out.at[c->out.end - 1];
    fake_stream_add(&c->out, text + i, 1, when);
  }
}

static inline void fake_remember(struct fake *f, struct fake_connection *c,
                                 const struct fake_text *key) {
  struct fake_server *s = &f->server[c->server];
  struct fake_alarm *alarm;
  size_t i, number = (size_t)(c - f->connection);
  for (i = 0; i < s->alarm_count; i++)
    if (s->alarms[i].connection == number && fake_text_same(&s->alarms[i].key, key)) return;
  s->alarms = (struct fake_alarm *)fake_grow(s->alarms, &s->alarm_room, s->alarm_count + 1,
                                             sizeof *s->alarms);
  alarm = &s->alarms[s->alarm_count++];
  alarm->connection = number;
  alarm->key = *key;
}

/* The key has changed (NULL = all have) by a connection's doing (NULL = no one's that listens). */
static inline void fake_tell(struct fake *f, int server, const struct fake_text *key, int64_t at,
                             const struct fake_connection *by) {
  struct fake_server *s = &f->server[server];
  char text[FAKE_TEXT + 64] = ">2\r\n$10\r\ninvalidate\r\n_\r\n";
  size_t i = 0;
  if (key)
    snprintf(text, sizeof text, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%.*s\r\n", (int)key->size,
             (int)key->size, (const char *)key->byte);
  while (i < s->alarm_count) {
    struct fake_alarm alarm = s->alarms[i];
    if (key && !fake_text_same(&alarm.key, key)) {
      i++;
      continue;
    }
    s->alarms[i] = s->alarms[--s->alarm_count];
    if (s->loses_pushes || (&f->connection[alarm.connection] == by && by->noloop)) continue;
    s->pushes++;
    fake_reply(s, &f->connection[alarm.connection], text, strlen(text), at);
  }
}

/* What has expired is seen: all of it in time, or one key that is looked at. */
static inline void fake_reap(struct fake *f, int server, const struct fake_text *name, int64_t at) {
  struct fake_server *s = &f->server[server];
  size_t i = 0;
  while (i < s->key_count) {
    struct fake_key key = s->keys[i];
    int same = name && fake_text_same(&key.name, name);
    if (at <= key.expires_at + (same ? 0 : s->reap_ms) || (name && !same)) {
      i++;
      continue;
    }
    fake_store_remove(s, &s->keys[i]);
    fake_tell(f, server, &key.name, at, NULL);
  }
}

/* The key of a command as it is now; all zero = there is none. */
static inline struct fake_key fake_look_at(struct fake_server *s, int db,
                                           const struct fake_command *command) {
  struct fake_key none, *key = fake_store_find(s, db, &command->key, command->at);
  memset(&none, 0, sizeof none);
  return key ? *key : none;
}

/* Whether a command reads the key, but not by what counts as a write: it does if GETEX is unknown
   or finds another value, and an extension asks for the ttl. */
static inline int fake_reads(const struct fake_server *s, const struct fake_command *command) {
  int is_same = command->answer[0] == ':';
  if (command->kind == FAKE_SET) return command->fenced || command->arms;
  return command->kind <= FAKE_EXTEND &&
         (command->kind == FAKE_EXTEND || !is_same || s->no_getex || !command->getex);
}

/* A command has run: whoever read the key is told of the change, and who reads it will be. */
static inline void fake_follow(struct fake *f, struct fake_connection *c,
                               const struct fake_command *command, const struct fake_key *before) {
  struct fake_key now = fake_look_at(&f->server[c->server], c->db, command);
  if (c->tracks && fake_reads(&f->server[c->server], command)) fake_remember(f, c, &command->key);
  if (now.expires_at != before->expires_at || !fake_text_same(&now.value, &before->value))
    fake_tell(f, c->server, &command->key, command->at, c);
}

#endif
