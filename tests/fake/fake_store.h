/* fake_store.h: a server's keys. They expire by the simulated clock, as Redis does: now > when. */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

static inline int fake_text_same(const struct fake_text *a, const struct fake_text *b) {
  return a->size == b->size && memcmp(a->byte, b->byte, a->size) == 0;
}

static inline struct fake_text fake_text_of(const char *words) {
  struct fake_text t;
  memset(&t, 0, sizeof t);
  t.size = strlen(words);
  if (t.size > FAKE_TEXT) t.size = FAKE_TEXT;
  memcpy(t.byte, words, t.size);
  return t;
}

static inline void fake_store_remove(struct fake_server *s, struct fake_key *key) {
  *key = s->keys[--s->key_count];
}

/* The live key, or NULL; an expired one goes away when it is looked at. */
static inline struct fake_key *fake_store_find(struct fake_server *s, int db,
                                               const struct fake_text *name, int64_t now) {
  size_t i = 0;
  while (i < s->key_count) {
    struct fake_key *key = &s->keys[i];
    int same = key->db == db && fake_text_same(&key->name, name);
    if (same && now <= key->expires_at) return key;
    if (same) fake_store_remove(s, key); /* another key now stands at i */
    else i++;
  }
  return NULL;
}

static inline void fake_store_add(struct fake_server *s, int db, const struct fake_text *name,
                                  const struct fake_text *value, int64_t expires_at) {
  struct fake_key *key;
  s->keys = (struct fake_key *)fake_grow(s->keys, &s->key_room, s->key_count + 1,
                                         sizeof *s->keys);
  key = &s->keys[s->key_count++];
  key->db = db;
  key->name = *name;
  key->value = *value;
  key->expires_at = expires_at;
}

#endif
