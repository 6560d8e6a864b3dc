/* peers.h: servers that are the input. Each takes real commands and answers as it should, or with
 * what the input says: errors, sizes that overflow, any bytes, pushes, words that it was sent;
 * late, in pieces, or never. When the input is over, it answers as it should. */
#ifndef FUZZ_PEERS_H
#define FUZZ_PEERS_H

#include "../asked.h"
#include "fuzz.h"

enum { PEERS = 48, PEER_ASKED = 16384, PEER_OUT = 32768 };

static struct peer {
  int is_open, has_ended; /* the connection, and it by the peer */
  int number;             /* of the server */
  int crawls;             /* it is read byte by byte */
  int64_t silent_until;
  char last[5];           /* bytes that were read of it */
  size_t asked_size, head, tail; /* of `out`, what is to be read */
  char asked[PEER_ASKED], out[PEER_OUT];
  int yes;                /* so many of what may be one were read of it, on all connections */
} peers[PEERS];

static struct fuzz_input *peers_input;
static int64_t peers_now_ms;

static inline void peer_open(struct peer *p, int number) {
  memset(p, 0, offsetof(struct peer, asked));
  p->is_open = 1;
  p->number = number;
}

static inline void peers_reset(void) {
  int i;
  for (i = 0; i < PEERS; i++) {
    memset(&peers[i], 0, offsetof(struct peer, asked));
    peers[i].yes = 0;
  }
}

static inline void peer_put(struct peer *p, const char *bytes, size_t size) {
  if (size > sizeof p->out - p->tail) {
    memmove(p->out, p->out + p->head, p->tail -= p->head);
    p->head = 0;
  }
  if (size > sizeof p->out - p->tail) {
    p->has_ended = 1;
    return;
  }
  memcpy(p->out + p->tail, bytes, size);
  p->tail += size;
}

static inline void peer_say(struct peer *p, const char *text) { peer_put(p, text, strlen(text)); }

/* Until a zero, or so many. */
static inline size_t peer_take(char *to, size_t most) {
  size_t size = 0;
  while (size < most && peers_input->at < peers_input->end) {
    to[size] = (char)fuzz_byte(peers_input);
    if (!to[size]) break;
    size++;
  }
  return size;
}

/* ---- What it says instead ---- */

static const char *const peer_errors[] = {
  "-ERR unknown command 'x', with args beginning with: 'a'\r\n", "-NOPERM no rights\r\n",
  "-LOADING x\r\n", "-WRONGTYPE y\r\n", "-OOM command not allowed\r\n", "-NOAUTH z\r\n",
  "-READONLY r\r\n", "-NOPERM No permissions to access a key\r\n", "-WRONGPASS w\r\n", "-\r\n",
  "-NOREPLICAS n\r\n", "-ERR max number of clients reached\r\n", "-MOVED 1 a:1\r\n",
  "-ERR invalid password\r\n", "-BUSY b\r\n", "-ERR AUTH <password> called without any\r\n"
};

static const char *const peer_lines[] = {
  "+OK\r\n", "$-1\r\n", ":1\r\n", ":0\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "*0\r\n", "+\r\n",
  "+redlock\r\n", "+QUEUED\r\n", "$0\r\n\r\n", "*-1\r\n", ":-1\r\n", "!3\r\nERR\r\n", "*1\r\n"
};

static const char *const peer_sizes[] = {
  "0", "1", "9999", "10000", "-2", "2147483646", "2147483647", "4294967295", "4611686018427387904",
  "9223372036854775806", "9223372036854775807", "18446744073709551615", "-9223372036854775808",
  "8191", "8000", "99999999999999999999999999"
};

static inline void say_size(struct peer *p, uint8_t how) {
  char text[64];
  sprintf(text, "%c%s\r\nhello\r\n", "$*%>~=|:"[fuzz_byte(peers_input) & 7], peer_sizes[how]);
  peer_say(p, text);
}

/* As --status asks for it, but for one line. */
static inline void say_lines(struct peer *p, uint8_t how) {
  static const char *const honest[] = {
    "", "", "7.0.15", "master", NULL, "9999", "1700000000000000", "standalone", "0", "noeviction",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709", "me      ", "15000"
  };
  enum { LINES = sizeof honest / sizeof *honest };
  char body[1024], head[32], line[256];
  size_t size = 0, i, more = peer_take(line, sizeof line - 1);
  for (i = 0; i < LINES && (i < LINES - 3 || how != 15); i++) {
    if (i == how) memcpy(body + size, line, more), size += more;
    else if (honest[i]) size += (size_t)sprintf(body + size, "%s", honest[i]);
    else size += (size_t)sprintf(body + size, "%040d", p->number);
    body[size++] = '\n';
  }
  peer_put(p, head, (size_t)sprintf(head, "$%d\r\n", (int)size));
  peer_put(p, body, size);
  peer_say(p, "\r\n");
}

/* An error that repeats what it was sent. */
static inline void say_words(struct peer *p, const struct bytes *words, int count) {
  int i;
  peer_say(p, "-ERR no such user: ");
  for (i = 1; i < count && i < 4; i++) {
    size_t k, size = words[i].size < 300 ? words[i].size : 300;
    peer_say(p, i > 1 ? " " : "");
    for (k = 0; k < size; k++) peer_put(p, words[i].at[k] < ' ' ? "?" : words[i].at + k, 1);
  }
  peer_say(p, "\r\n");
}

static inline void push(struct peer *p, uint8_t how) {
  static const char *const pushes[] = {
    ">2\r\n$10\r\ninvalidate\r\n_\r\n", ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n",
    ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\njob\r\n", ">0\r\n"
  };
  peer_say(p, pushes[how & 3]);
}

/* What belongs to no question. */
static inline void say_unasked(struct peer *p, uint8_t how) {
  char bytes[256];
  if (how < 8) push(p, how);
  else if (how == 8) p->has_ended = 1;
  else if (how == 9) p->crawls = 1;
  else if (how < 13) p->silent_until = peers_now_ms + (how - 9) * how * 77;
  else peer_put(p, bytes, peer_take(bytes, sizeof bytes));
}

/* One answer to the command in front. */
static inline void answer(struct peer *p, const struct bytes *words, int count) {
  uint8_t byte = fuzz_byte(peers_input), how = byte >> 4;
  char bytes[256];
  switch (byte & 15) {
    default: peer_say(p, honest_answer(question_of(words, count), p->number)); break;
    case 8: peer_say(p, peer_errors[how]); break;
    case 9: peer_say(p, peer_lines[how]); break;
    case 10: say_size(p, how); break;
    case 11: peer_put(p, bytes, peer_take(bytes, sizeof bytes)); break;
    case 12: say_lines(p, how); break;
    case 13: say_words(p, words, count); break;
    case 14: say_unasked(p, how); break;
    case 15: break; /* nothing: what follows is one answer too early */
  }
}

/* ---- As a socket ---- */

/* Each command that has come is answered now, and what else the input wants is said. */
static inline void peer_wake(struct peer *p) {
  struct bytes words[WORDS];
  size_t done = 0, size;
  int count, left = 64;
  if (p->silent_until > peers_now_ms) return;
  while (left-- > 0 && !p->has_ended &&
         (size = split(p->asked + done, p->asked_size - done, words, &count)) > 0) {
    answer(p, words, count);
    done += size;
  }
  if (!done && !p->has_ended && peers_input->at < peers_input->end && fuzz_byte(peers_input) > 250)
    say_unasked(p, fuzz_byte(peers_input) & 15);
  memmove(p->asked, p->asked + done, p->asked_size -= done);
}

static inline int peer_is_readable(struct peer *p) {
  if (p->head == p->tail) peer_wake(p);
  return p->silent_until <= peers_now_ms && (p->head < p->tail || p->has_ended);
}

static inline int peer_send(struct peer *p, const void *bytes, size_t size) {
  size_t room = sizeof p->asked - p->asked_size;
  FUZZ_CHECK(p->is_open);
  if (p->has_ended) return -1;
  if (size > room) size = room;
  memcpy(p->asked + p->asked_size, bytes, size);
  p->asked_size += size;
  return (int)size;
}

static inline int peer_is_writable(const struct peer *p) {
  return p->has_ended || p->asked_size < sizeof p->asked;
}

/* "+OK", or ":" and a digit: from whom neither was read, there is no yes (R4). */
static inline void note_yes(struct peer *p, char c) {
  memmove(p->last, p->last + 1, sizeof p->last - 1);
  p->last[sizeof p->last - 1] = c;
  p->yes += memcmp(p->last, "+OK\r\n", 5) == 0 || (p->last[3] == ':' && c >= '0' && c <= '9');
}

/* -1 = it has ended, 0 = not yet. */
static inline int peer_recv(struct peer *p, char *to, size_t room) {
  size_t size, i;
  FUZZ_CHECK(p->is_open);
  if (!peer_is_readable(p)) return 0;
  size = p->tail - p->head;
  if (size > room) size = room;
  if (p->crawls && size > 1) size = 1;
  if (size == 0) return room ? -1 : 0;
  memcpy(to, p->out + p->head, size);
  for (i = 0; i < size; i++) note_yes(p, to[i]);
  p->head += size;
  return (int)size;
}

#endif
