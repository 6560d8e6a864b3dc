/* told.h: what a server has told of each command, to a client that counts replies (R8): the k-th on
 * a connection is to the k-th command there. If it lies, it is not what the fake has logged: bytes
 * that nobody asked for come before an answer, and what is no whole reply swallows the next. */
#ifndef FUZZ_TOLD_H
#define FUZZ_TOLD_H

/* How many more parts follow this line; *bytes is what stands behind it itself, of a string. */
static inline long parts_behind(const char *line, long *bytes) {
  long number = strtol(line + 1, NULL, 10);
  *bytes = strchr("$=", *line) && number >= 0 ? number + 2 : 0;
  if (number <= 0 || !strchr("*~>%|", *line)) return *line == '|';
  return *line == '%' ? 2 * number : *line == '|' ? 2 * number + 1 : number;
}

/* Where the reply or push at `at` ends; NULL = it is not whole. */
static inline const char *end_of_told(const char *at, const char *end) {
  long parts = 1, bytes;
  for (; parts > 0; parts--) {
    const char *line = at;
    at = memchr(at, '\n', (size_t)(end - at));
    if (!at) return NULL;
    at++;
    parts += parts_behind(line, &bytes);
    if (bytes > end - at || parts > end - at + 1) return NULL;
    at += bytes;
  }
  return at;
}

/* The next reply, behind pushes; NULL = there is none that is whole. */
static inline const char *next_told(const char *at, const char *end) {
  while (at && at < end && *at == '>') at = end_of_told(at, end);
  return at && at < end && end_of_told(at, end) ? at : NULL;
}

static inline void hear_connection(struct fake *f, const struct fake_connection *c) {
  const char *at = (const char *)c->told.byte, *end = at ? at + c->told.end - 1 : at;
  size_t i;
  for (i = 0; i < f->logged; i++) {
    struct fake_command *command = &f->log[i];
    if (command->server != c->server || command->connection != c->number) continue;
    at = next_told(at, end);
    snprintf(command->answer, sizeof command->answer, "%.*s",
             at ? (int)strcspn(at, "\r\n") : 0, at ? at : "");
    if (at) at = end_of_told(at, end);
  }
}

/* Each command's answer in the log becomes what the client was told of it; "" = nothing. */
static inline void hear_all(struct fake *f) {
  size_t i;
  for (i = 0; i < f->connections; i++) {
    struct fake_connection *c = &f->connection[i];
    fake_stream_add(&c->told, "", 1, 0); /* a zero behind it */
    hear_connection(f, c);
  }
}

#endif
