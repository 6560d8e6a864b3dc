/* inside.h: all that tests know of the header's insides. Include it after the implementation. When
 * that is renamed or rewritten only this file follows, and what looks inside for its own sake:
 * invariants.h says what is always true there, prove proves private functions, and explore tells
 * states apart. */
#ifndef INSIDE_H
#define INSIDE_H

#include <string.h>

/* ---- The parser ------------------------------------------------------------------------------ */

typedef rl_parser inside_parser; /* zeroed: between two replies */

typedef enum inside_reply {
  INSIDE_MORE, /* the byte was taken, and the reply goes on */
  INSIDE_BAD,
  INSIDE_OK,   /* from here on: a whole reply */
  INSIDE_NIL,
  INSIDE_POSITIVE,
  INSIDE_ERROR,
  INSIDE_OTHER,
  INSIDE_PUSHED /* not a reply: an element of a push */
} inside_reply;

static inline inside_reply inside_parse(inside_parser *parser, char byte) {
  switch (rl_parse(parser, byte)) {
    case RL_PARSE_MORE:
    case RL_PARSE_ERROR_TEXT: return INSIDE_MORE;
    case RL_PARSE_INVALID: return INSIDE_BAD;
    case RL_REPLY_OK: return INSIDE_OK;
    case RL_REPLY_NIL: return INSIDE_NIL;
    case RL_REPLY_POSITIVE: return INSIDE_POSITIVE;
    case RL_REPLY_ERROR: return INSIDE_ERROR;
    case RL_REPLY_STATUS:
    case RL_REPLY_OTHER: return INSIDE_OTHER;
    case RL_PUSH: return INSIDE_PUSHED;
  }
  return INSIDE_BAD;
}

/* Nothing of a reply, or of an aggregate, has been read that is not at its end. */
static inline int inside_is_between(const inside_parser *parser) {
  return parser->state == RL_AT_TYPE && parser->elements_left == 0;
}

/* ---- Commands -------------------------------------------------------------------------------- */

/* The scripts are proved on real servers, in tests/redis; here only what frames them. */
#define INSIDE_RELEASE_SCRIPT RL_LOCK_SCRIPT
#define INSIDE_INFO_SCRIPT RL_INFO_SCRIPT
#define INSIDE_EXTEND_SCRIPT RL_LOCK_SCRIPT
#define INSIDE_FENCED_SCRIPT RL_FENCED_SCRIPT

/* ---- Waiters --------------------------------------------------------------------------------- */

/* The age that is told of a waiter with that value, which began to wait then. */
static inline uint32_t inside_age_ms(redlock *rl, uint32_t began_ms,
                                     const unsigned char value[20]) {
  redlock_lock lock;
  memset(&lock, 0, sizeof lock);
  lock.tracks = 1;
  lock.is.wait.began_ms = began_ms;
  memcpy(lock.value, value, 20);
  return rl_waiter_age(rl, &lock);
}

/* ---- Addresses ------------------------------------------------------------------------------- */

#ifdef AF_INET
/* From a socket's address of that size to the form that is compared, and back; the size then. */
static inline size_t inside_respell(void *to, const void *from, size_t size) {
  rl_sockaddr before, after;
  rl_address spelt;
  memset(&before, 0, sizeof before);
  memset(&after, 0, sizeof after);
  memcpy(&before, from, size);
  spelt = rl_normalise_address(&before);
  size = (size_t)rl_make_sockaddr(&after, &spelt);
  memcpy(to, &after, size);
  return size;
}
#endif

#endif
