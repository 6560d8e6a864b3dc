/* json.h: whether a text is JSON, as RFC 8259 has it, and what --status prints. Each past_...
 * returns where that ends, NULL = this is none. */
#ifndef TESTS_JSON_H
#define TESTS_JSON_H

#include <string.h>

static inline const char *past_value(const char *at);

static inline const char *past_string(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; at++) {
    if (*at < ' ' || *at > '~') return NULL; /* we promise ASCII, and it has no controls */
    if (*at == '\\' && !strchr("\"\\/bfnrt", *++at)) return NULL;
  }
  return at + 1;
}

static inline const char *past_number(const char *at) {
  size_t whole;
  at += *at == '-';
  whole = strspn(at, "0123456789");
  if (!whole || (*at == '0' && whole > 1)) return NULL;
  at += whole;
  if (*at != '.') return at;
  whole = strspn(at + 1, "0123456789");
  return whole ? at + 1 + whole : NULL;
}

/* Of an object or an array. */
static inline const char *past_members(const char *at, char end) {
  const char *next = at + 1;
  if (*next == end) return next + 1;
  do {
    next = end == '}' ? past_string(next) : next;
    if (!next || (end == '}' && *next++ != ':')) return NULL;
    next = past_value(next);
  } while (next && *next++ == ',');
  return next && next[-1] == end ? next : NULL;
}

static inline const char *past_value(const char *at) {
  static const char *const words[] = {"null", "true", "false"};
  size_t i;
  for (i = 0; i < 3; i++)
    if (strncmp(at, words[i], strlen(words[i])) == 0) return at + strlen(words[i]);
  return *at == '{' ? past_members(at, '}') : *at == '[' ? past_members(at, ']')
         : *at == '"' ? past_string(at) : past_number(at);
}

/* One line, whose "servers" has so many members. */
static inline int is_report_of(const char *json, int count) {
  const char *at, *end = past_value(json);
  if (!end || strcmp(end, "\n") || strncmp(json, "{\"servers\":[", 12)) return 0;
  for (at = json + 12; at && *at == '{'; count--) {
    at = past_value(at);
    if (at && *at == ',') at++;
  }
  return at && *at == ']' && count == 0;
}

#endif
