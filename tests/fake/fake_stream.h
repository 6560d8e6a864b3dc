/* fake_stream.h: bytes with a time of arrival, and RESP commands read from them. */
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
  FAKE_FREE(s->byte);
  FAKE_FREE(s->at);
}

/* A command, in place: the arguments point into the stream. */
struct fake_args {
  int count;
  const unsigned char *arg[12];
  size_t size[12];
  int64_t at; /* when its last byte arrived */
};

enum { FAKE_MALFORMED = -1, FAKE_PART = 0, FAKE_WHOLE = 1 };

/* Reads "<mark><digits>\r\n" at *pos. */
static inline int fake_read_number(const struct fake_stream *s, size_t *pos, size_t end, int mark,
                                   size_t *number) {
  size_t p = *pos, digits = 0;
  if (p < end && s->byte[p++] != mark) return FAKE_MALFORMED;
  for (*number = 0; p < end && s->byte[p] >= '0' && s->byte[p] <= '9'; p++, digits++)
    *number = *number * 10 + (size_t)(s->byte[p] - '0');
  if (p + 2 > end) return FAKE_PART;
  if (!digits || s->byte[p] != '\r' || s->byte[p + 1] != '\n') return FAKE_MALFORMED;
  *pos = p + 2;
  return FAKE_WHOLE;
}

static inline int fake_read_argument(const struct fake_stream *s, size_t *pos, size_t end,
                                     struct fake_args *a) {
  size_t size;
  int got = fake_read_number(s, pos, end, '$', &size);
  if (got != FAKE_WHOLE) return got;
  if (*pos + size + 2 > end) return FAKE_PART;
  if (s->byte[*pos + size] != '\r' || s->byte[*pos + size + 1] != '\n') return FAKE_MALFORMED;
  a->arg[a->count] = s->byte + *pos;
  a->size[a->count++] = size;
  *pos += size + 2;
  return FAKE_WHOLE;
}

/* Takes one command that has arrived by `now` off the stream. */
static inline int fake_read_command(struct fake_stream *s, int64_t now, struct fake_args *a) {
  size_t pos = s->next, end = s->next + fake_stream_ready(s, now), left;
  int got;
  a->count = 0;
  if (pos == end) return FAKE_PART;
  got = fake_read_number(s, &pos, end, '*', &left);
  if (got == FAKE_WHOLE && (left < 1 || left > 12)) return FAKE_MALFORMED;
  while (got == FAKE_WHOLE && left--) got = fake_read_argument(s, &pos, end, a);
  if (got != FAKE_WHOLE) return got;
  a->at = s->at[pos - 1];
  s->next = pos;
  return FAKE_WHOLE;
}

static inline int fake_arg_is(const struct fake_args *a, int i, const char *word) {
  size_t k, size = strlen(word);
  if (i >= a->count || a->size[i] != size) return 0;
  for (k = 0; k < size; k++)
    if ((a->arg[i][k] | 32) != (unsigned char)(word[k] | 32)) return 0;
  return 1;
}

static inline int fake_arg_has(const struct fake_args *a, int i, const char *word) {
  size_t k, size = strlen(word);
  for (k = 0; i < a->count && k + size <= a->size[i]; k++) {
    size_t same = 0; /* not memcmp: most differ at once */
    while (same < size && a->arg[i][k + same] == (unsigned char)word[same]) same++;
    if (same == size) return 1;
  }
  return 0;
}

static inline long long fake_arg_number(const struct fake_args *a, int i) {
  long long number = 0;
  size_t k;
  for (k = 0; i < a->count && k < a->size[i]; k++) {
    if (a->arg[i][k] < '0' || a->arg[i][k] > '9') return -1;
    number = number * 10 + (a->arg[i][k] - '0');
  }
  return number;
}

static inline struct fake_text fake_arg_text(const struct fake_args *a, int i) {
  struct fake_text t;
  memset(&t, 0, sizeof t);
  if (i >= a->count) return t;
  t.size = a->size[i] < FAKE_TEXT ? a->size[i] : FAKE_TEXT;
  memcpy(t.byte, a->arg[i], t.size);
  return t;
}

#endif
