/* reference_parser.h: a second parser of replies, independent of the one under test: it sees all
 * the bytes at once. Include it after inside.h. */
#ifndef REFERENCE_PARSER_H
#define REFERENCE_PARSER_H

#include <string.h>

enum { MOST_SIZE = 5 /* digits of one, with its sign */ };

static inline int is_number(const char *text, size_t size) {
  size_t i = size > 0 && text[0] == '-';
  if (i == size) return 0;
  while (i < size && text[i] >= '0' && text[i] <= '9') i++;
  return i == size;
}

static inline double number_of(const char *text, size_t size) {
  size_t i = text[0] == '-';
  double number = 0;
  for (; i < size; i++) number = number * 10 + (text[i] - '0');
  return text[0] == '-' ? -number : number;
}

/* What the line of a reply means; *bulk is its payload's size, or -1. */
static inline inside_reply judge_line(char type, const char *text, size_t size, long *bulk) {
  double number;
  *bulk = -1;
  if (type == '-') return INSIDE_ERROR;
  if (type == '_') return size ? INSIDE_BAD : INSIDE_NIL;
  if (type == '+') return size == 2 && memcmp(text, "OK", 2) == 0 ? INSIDE_OK : INSIDE_OTHER;
  if (!is_number(text, size)) return INSIDE_BAD;
  number = number_of(text, size);
  if (type == ':') { /* digits beyond those that fit are ignored, whatever zeros lead */
    if (size >= INSIDE_MAX_DIGITS) number = number_of(text, INSIDE_MAX_DIGITS - 1);
    return number > 0 ? INSIDE_POSITIVE : INSIDE_OTHER;
  }
  if (size > MOST_SIZE || (text[0] == '-' && type != '$')) return INSIDE_BAD;
  if (text[0] == '-') return number > -1.5 && number < -0.5 ? INSIDE_NIL : INSIDE_BAD;
  *bulk = (long)number;
  return INSIDE_OTHER;
}

/* One element that the bytes begin with, the head of an aggregate too, and its size; MORE = it is
 * not all there. A line that cannot become right any more is BAD at its end at the latest. */
static inline inside_reply judge_one(const char *bytes, size_t size, size_t *taken, long *bulk) {
  const char *cr, *lf;
  size_t line;
  inside_reply reply;
  cr = memchr(bytes + 1, '\r', size - 1);
  lf = memchr(bytes + 1, '\n', cr ? (size_t)(cr - bytes) - 1 : size - 1);
  if (lf) return INSIDE_BAD;
  if (!cr || cr + 1 == bytes + size) return INSIDE_MORE;
  if (cr[1] != '\n') return INSIDE_BAD;
  if (!strchr("+-:$_*>%", bytes[0]) || bytes[0] == '\0') return INSIDE_BAD;
  line = (size_t)(cr - bytes) + 2;
  reply = judge_line(bytes[0], bytes + 1, line - 3, bulk);
  *taken = line;
  if (*bulk < 0 || bytes[0] != '$') return reply;
  line += (size_t)*bulk;
  if (line < size && bytes[line] != '\r') return INSIDE_BAD;
  if (line + 1 < size && bytes[line + 1] != '\n') return INSIDE_BAD;
  *taken = line + 2;
  return line + 2 <= size ? INSIDE_OTHER : INSIDE_MORE;
}

/* A whole reply, whatever aggregates stand in it, or a whole push; that is told as its elements
 * are. */
static inline inside_reply judge(const char *bytes, size_t size, size_t *taken, int *push) {
  size_t at = 0, one;
  long left = 1, count;
  inside_reply reply = INSIDE_MORE;
  *push = size > 0 && bytes[0] == '>';
  for (; left > 0; left--, at += one) {
    if (at >= size) return INSIDE_MORE;
    reply = judge_one(bytes + at, size - at, &one, &count);
    if (reply <= INSIDE_BAD) return reply;
    if (count > 0 && strchr("*>%", bytes[at])) left += bytes[at] == '%' ? 2 * count : count;
  }
  *taken = at;
  return strchr("*>%", bytes[0]) ? INSIDE_OTHER : reply;
}

#endif
