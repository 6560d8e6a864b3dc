/* shifts.h: a reply that has an element too few or too many, or comes behind another one, or not at
 * all. fake/shift.c has it at each place, the simulator at random. Needs ../store.h. */
#ifndef SHIFTS_H
#define SHIFTS_H

enum shift { SHIFT_NONE, SHIFT_TOO_FEW, SHIFT_TOO_MANY, SHIFT_ONE_MORE, SHIFT_MISSING, SHIFTS };

/* Each type. The first few are what stands elsewhere in a handshake, or behind it; the last two are
   no elements, and shift nothing. */
static const char *const shift_texts[] = {
  "+OK\r\n", "-ERR unknown command\r\n", "_\r\n", "+redlock\r\n", "$1\r\nx\r\n", "*0\r\n",
  "-LOADING\r\n", ":1\r\n", "$-1\r\n", "#t\r\n", ",3.25\r\n", "(34928903284092385093248509\r\n",
  "=7\r\ntxt:one\r\n", "!9\r\nERR error\r\n", "*2\r\n$1\r\nx\r\n:2\r\n", "~1\r\n:1\r\n",
  "%1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n", "|1\r\n$3\r\nttl\r\n:3600\r\n",
  ">2\r\n$10\r\ninvalidate\r\n_\r\n"
};
enum {
  SHIFT_TEXTS = sizeof shift_texts / sizeof *shift_texts,
  SHIFT_FEW = 6,                  /* the first few */
  SHIFT_ELEMENTS = SHIFT_TEXTS - 2
};

/* The end of what begins at at. */
static inline size_t shift_end(const char *text, size_t at) {
  long count = strtol(text + at + 1, NULL, 10);
  long members = strchr("*~>", text[at]) ? count : strchr("%|", text[at]) ? 2 * count : 0;
  size_t next = at + strcspn(text + at, "\n") + 1;
  if (strchr("$=!", text[at]) && count >= 0) next += (size_t)count + 2;
  while (members-- > 0) next = shift_end(text, next);
  return next;
}

/* Where an element of the reply begins, counted through nested ones; SIZE_MAX = it has fewer. The
   one behind the last begins at the reply's end. */
static inline size_t shift_element(const struct reply *r, int element) {
  const char *text = r->at;
  size_t at = strchr("*~%", text[0]) ? strcspn(text, "\n") + 1 : r->size;
  while (element-- > 0) {
    if (at >= r->size) return SIZE_MAX;
    at = strchr("*~%", text[at]) ? at + strcspn(text + at, "\n") + 1 : shift_end(text, at);
  }
  return at;
}

/* Puts text there, in place of so many bytes. */
static inline void shift_replace(struct reply *r, size_t at, size_t bytes, const char *text) {
  size_t size = strlen(text);
  memmove(r->at + at + size, r->at + at + bytes, r->size - at - bytes);
  memcpy(r->at + at, text, size);
  r->size += size - bytes;
}

/* Whether there is such a place. is_last: of the handshake's last reply: what would stand behind it
   stands before a SET's, and nobody could tell it from that. The reply's buffer has room. */
static inline int shift_reply(struct reply *r, enum shift kind, int element, const char *text,
                              int is_last) {
  size_t at;
  if (r->size == 0) return 0;
  r->at[r->size] = '\0';
  at = kind == SHIFT_TOO_FEW || kind == SHIFT_TOO_MANY ? shift_element(r, element) : 0;
  if (at == SIZE_MAX || (at == r->size && (kind == SHIFT_TOO_FEW || is_last))) return 0;
  if (kind == SHIFT_TOO_FEW) shift_replace(r, at, shift_end(r->at, at) - at, "");
  else if (kind == SHIFT_MISSING) r->size = 0;
  else if (kind != SHIFT_NONE) shift_replace(r, at, 0, text);
  return 1;
}

#endif
