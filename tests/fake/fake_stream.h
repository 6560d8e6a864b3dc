/* fake_stream.h: bytes with a time of arrival, and commands read from them. */
#ifndef FAKE_STREAM_H
#define FAKE_STREAM_H

static inline void fake_stream_add(struct fake_stream *s, const void *data, size_t size,
                                   int64_t at) {
  size_t room = s->room, i;
  if (s->next == s->end) s->next = s->end = 0; /* all was read */
  s->byte = (unsigned char *)fake_grow(s->byte, &room, s->end + size, 1);
  room = s->room;
  s->at = (int64_t *)fake_grow(s->at, &room, s->end + size, sizeof *s->at);
  s->room = room;
  if (size) memcpy(s->byte + s->end, data, size);
  for (i = 0; i < size; i++) s->at[s->end + i] = at;
  s->end += size;
}

/* How many bytes have arrived by `now`. */
static inline size_t fake_stream_ready(const struct fake_stream *s, int64_t now) {
  size_t i = s->next;
  while (i < s->end && s->at[i] <= now) i++;
  return i - s->next;
}

static inline void fake_stream_free(struct fake_stream *s) {
  free(s->byte);
  free(s->at);
}

/* A command, in place: the arguments point into the stream. */
struct fake_args {
  int count;
  struct arg arg[STORE_ARGS];
  int64_t at; /* when its last byte arrived */
};

/* Takes one command that has arrived by `now` off the stream; returns its size. 0 = not all of it
   has, < 0 = it is malformed. */
static inline long fake_read_command(struct fake_stream *s, int64_t now, struct fake_args *a) {
  long used = request_parse(s->byte + s->next, fake_stream_ready(s, now), a->arg, &a->count);
  if (used <= 0) return used;
  s->next += (size_t)used;
  a->at = s->at[s->next - 1];
  return used;
}

static inline long long fake_arg_number(const struct fake_args *a, int i) {
  int64_t number = 0;
  return i < a->count && arg_integer(a->arg[i], &number) ? number : -1;
}

static inline struct fake_text fake_text_of(struct arg a) {
  struct fake_text t;
  memset(&t, 0, sizeof t);
  t.size = a.size < FAKE_TEXT ? a.size : FAKE_TEXT;
  if (t.size) memcpy(t.byte, a.at, t.size);
  return t;
}

static inline int fake_text_is(const struct fake_text *t, struct arg a) {
  return t->size == a.size && memcmp(t->byte, a.at, a.size) == 0;
}

static inline struct arg fake_arg_of(const struct fake_text *t) {
  struct arg a;
  a.at = t->byte;
  a.size = t->size;
  return a;
}

static inline int fake_text_same(const struct fake_text *a, const struct fake_text *b) {
  return fake_text_is(a, fake_arg_of(b));
}

#endif
