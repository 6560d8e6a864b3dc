/* inside.h: all that the unit tests know of the header's insides. Include it after the
 * implementation; when that is renamed or rewritten, only this file follows. */
#ifndef INSIDE_H
#define INSIDE_H

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
    case RL_REPLY_OTHER: return INSIDE_OTHER;
    case RL_PUSH: return INSIDE_PUSHED;
  }
  return INSIDE_BAD;
}

/* Nothing of a reply, or of an aggregate, has been read that is not at its end. */
static inline int inside_is_between(const inside_parser *parser) {
  return parser->state == RL_AT_TYPE && parser->elements_left == 0;
}

/* The scripts are proved on real servers, in tests/redis; here only what frames them. */
#define INSIDE_RELEASE_SCRIPT RL_LOCK_SCRIPT
#define INSIDE_MAX_DIGITS RL_MAX_DIGITS
#define INSIDE_INFO_SCRIPT RL_INFO_SCRIPT
#define INSIDE_EXTEND_SCRIPT RL_LOCK_SCRIPT
#define INSIDE_FENCED_SCRIPT RL_FENCED_SCRIPT

#endif
