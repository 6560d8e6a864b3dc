/* asked.h: what a client and the command ask of a server, and what an honest one answers. */
#ifndef ASKED_H
#define ASKED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 10 /* of a command; behind them none matters */ };

/* The six that --status asks, on each connection in this order; the release of a ticket; those of
   the handshake; and those of locks. */
enum question {
  TRY_SET, TRY_HELLO, TRY_TRACKING, TRY_DELEX, TRY_DELIFEQ, ASK_STATUS, ASK_RELEASE, ASK_LOGIN,
  ASK_HELLO, ASK_TRACKING, ASK_IDENTITY, ASK_PROOF, ASK_LOCK, ASK_ADOPTION, ASK_FENCED,
  ASK_EXTENSION, ASK_OTHER
};

struct bytes {
  const char *at;
  size_t size;
};

/* A literal, which may have zeros. */
#define BYTES(literal) {literal, sizeof(literal) - 1}

/* What a server of the tests says of itself: as the script of --status has it. */
#define TOLD(version, role, uptime, clock, rest) \
  TOLD_BY(ITS_RUN_ID, version, role, uptime, clock, rest)
#define TOLD_BY(run_id, version, role, uptime, clock, rest) \
  "\n\n" version "\n" role "\n" run_id "\n" uptime "\n" clock "\nstandalone\n0\nnoeviction\n0" rest
#define ITS_RUN_ID "0123456789012345678901234567890123456789"

static inline int is_word(struct bytes word, const char *text) {
  return word.size == strlen(text) && memcmp(word.at, text, word.size) == 0;
}

static inline int begins(struct bytes word, const char *text) {
  return word.size > strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

/* One command at the beginning of the text; how long it is, 0 = more is to come. */
static inline size_t split(const char *text, size_t size, struct bytes words[WORDS], int *count) {
  const char *at = text, *end = text + size;
  int i;
  *count = (int)strtol(at + 1, NULL, 10);
  for (i = 0; i < *count && i < WORDS; i++) {
    at = memchr(at, '$', (size_t)(end - at));
    if (!at || !memchr(at, '\n', (size_t)(end - at))) return 0;
    words[i].size = strtoul(at + 1, NULL, 10);
    words[i].at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    if (words[i].size + 2 > (size_t)(end - words[i].at)) return 0;
    at = words[i].at + words[i].size + 2;
  }
  return *count ? (size_t)(at - text) : 0;
}

/* Of a lock, by the script whose last word is what it may replace (R28). */
static inline enum question question_of_script(const struct bytes *words, int count) {
  int has_key = is_word(words[2], "1");
  if (is_word(words[2], "2")) return ASK_FENCED;
  if (begins(words[1], "local v=redis.call('get',KEYS[1])return v and")) return ASK_RELEASE;
  if (!has_key && count > 3) return ASK_STATUS;
  if (!has_key) return begins(words[1], "local i=") ? ASK_IDENTITY : ASK_PROOF;
  if (count == 7) return words[6].size && *words[6].at ? ASK_LOCK : ASK_ADOPTION; /* of nobody */
  return ASK_EXTENSION; /* or a roll-back, which is answered alike */
}

static inline enum question question_of(const struct bytes *words, int count) {
  if (is_word(words[0], "EVAL")) return question_of_script(words, count);
  if (is_word(words[0], "AUTH")) return ASK_LOGIN;
  if (is_word(words[0], "DELEX")) return TRY_DELEX;
  if (is_word(words[0], "DELIFEQ")) return TRY_DELIFEQ;
  if (is_word(words[0], "HELLO")) return count == 1 ? TRY_HELLO : ASK_HELLO;
  if (is_word(words[0], "SET")) return is_word(words[count - 1], "XX") ? TRY_SET : ASK_LOCK;
  if (is_word(words[0], "CLIENT"))
    return is_word(words[count - 1], "x") ? TRY_TRACKING : ASK_TRACKING;
  return ASK_OTHER;
}

static inline const char *put_bulk(char *to, const char *text) {
  sprintf(to, "$%d\r\n%s\r\n", (int)strlen(text), text);
  return to;
}

/* Of the server with that number, as Redis 7. */
static inline const char *honest_answer(enum question question, int number) {
  static char text[512], lines[400];
  switch (question) {
    case ASK_STATUS:
      sprintf(lines, TOLD_BY("%040d", "7.0.15", "master", "9999", "1700000000000000", ""), number);
      return put_bulk(text, lines);
    case ASK_HELLO:
      return "%3\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"
             "$4\r\nrole\r\n$6\r\nmaster\r\n";
    case ASK_IDENTITY: sprintf(text, "*2\r\n:99999\r\n$40\r\n%040d\r\n", number); return text;
    case ASK_PROOF: return "+redlock\r\n";
    case ASK_ADOPTION: return "$-1\r\n";
    case ASK_FENCED: return ":1700000000000000\r\n";
    case ASK_EXTENSION: case ASK_RELEASE: return ":1\r\n";
    case TRY_SET: return "-ERR syntax error\r\n";
    case TRY_HELLO: case TRY_TRACKING: case TRY_DELEX: case TRY_DELIFEQ:
      return "-ERR unknown command\r\n";
    default: return "+OK\r\n";
  }
}

#endif
