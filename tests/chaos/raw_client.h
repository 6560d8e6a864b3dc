/* raw_client.h: a client that speaks the fencing script by itself and proposes any token at all:
 * the order of tokens must not hang on how a client chooses. It also knows when a server was
 * started, and so needs no INFO for the quarantine (R24). */
#ifndef RAW_CLIENT_H
#define RAW_CLIENT_H

#include "grants.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  BARE_TTL_MS = 4,       /* less than many a pause: exclusion is broken all the time */
  BARE_TIMEOUT_US = 100000,
  BARE_ERA_US = 300000
};

/* How a bare client votes and counts; a negative control has another one. */
struct bare_rules {
  const char *script; /* EVAL script 2 resource counter value ttl_ms value token max_ttl_ms */
  int quorum, quarantine;
  int wild;           /* how many of ten proposals are anything at all */
  int max_ttl_ms;
};

struct bare_server {
  int fd;              /* -1 = none */
  int owed, asked;     /* replies to come; the last of them is this round's */
  int64_t trusted_us;  /* when the process behind this connection was certainly running */
  int64_t ahead_us;    /* its clock less ours */
  int known;           /* ahead_us is */
  size_t size;
  char text[1024];
};

struct bare {
  const struct bare_rules *rules;
  const int *ports;
  uint64_t seed;
  int64_t low;         /* the greatest counter that refused */
  struct bare_server at[SERVERS];
};

static inline uint64_t draw(uint64_t *seed, uint64_t below) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed % below;
}

static inline void bare_close(struct bare_server *s) {
  if (s->fd >= 0) close(s->fd);
  s->fd = -1;
  s->owed = 0;
  s->size = 0;
}

/* -1 = nobody listens there. */
static inline int dial_port(int port) {
  struct sockaddr_in to;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((unsigned short)port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

/* Whoever answers here was started after `trusted_us` was last set to never: it is read behind the
   connect. */
static inline void bare_connect(struct bare *b, int i) {
  struct bare_server *s = &b->at[i];
  int on = 1;
  s->fd = dial_port(b->ports[i]);
  if (s->fd < 0) return;
  setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  s->trusted_us = board->trusted_us[i];
}

static inline size_t bare_word(char *to, size_t room, const char *word) {
  return (size_t)snprintf(to, room, "$%zu\r\n%s\r\n", strlen(word), word);
}

static inline size_t bare_number(char *to, size_t room, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  return bare_word(to, room, text);
}

/* The value may be anything: nobody releases it. It is also what may stand there already. */
static inline size_t bare_command(const struct bare *b, char *to, size_t room, int64_t token) {
  int64_t value = token + timing_us();
  size_t size = (size_t)snprintf(to, room, "*10\r\n$4\r\nEVAL\r\n");
  size += bare_word(to + size, room - size, b->rules->script);
  size += bare_word(to + size, room - size, "2");
  size += bare_word(to + size, room - size, "r");
  size += bare_word(to + size, room - size, "r:fence");
  size += bare_number(to + size, room - size, value);
  size += bare_number(to + size, room - size, BARE_TTL_MS);
  size += bare_number(to + size, room - size, value);
  size += bare_number(to + size, room - size, token);
  return size + bare_number(to + size, room - size, b->rules->max_ttl_ms);
}

static inline void bare_ask(struct bare *b, int64_t token) {
  char text[2048];
  size_t size = bare_command(b, text, sizeof text, token);
  int i;
  for (i = 0; i < SERVERS; i++) {
    struct bare_server *s = &b->at[i];
    s->asked = 0;
    if (s->fd < 0) bare_connect(b, i);
    if (s->fd >= 0 && s->trusted_us == INT64_MAX) s->trusted_us = board->trusted_us[i];
    if (s->fd < 0) continue;
    if (send(s->fd, text, size, MSG_NOSIGNAL) != (ssize_t)size) {
      bare_close(s);
      continue;
    }
    s->owed++;
    s->asked = 1;
  }
}

/* Takes one line out; 0 = there is none. */
static inline int bare_line(struct bare_server *s, char *line, size_t room) {
  char *end = memchr(s->text, '\n', s->size);
  size_t size;
  if (!end) return 0;
  size = (size_t)(end + 1 - s->text);
  snprintf(line, room, "%.*s", (int)size, s->text);
  s->size -= size;
  memmove(s->text, end + 1, s->size);
  return 1;
}

static inline int bare_receive(struct bare_server *s, int64_t until_us) {
  struct pollfd look;
  int64_t left_us = until_us - timing_us();
  ssize_t size;
  look.fd = s->fd;
  look.events = POLLIN;
  if (left_us <= 0 || poll(&look, 1, (int)(left_us / 1000) + 1) <= 0) return 0;
  size = recv(s->fd, s->text + s->size, sizeof s->text - s->size, 0);
  if (size <= 0) bare_close(s);
  else s->size += (size_t)size;
  return size > 0;
}

/* The number that answers this round; 0 = nil, an error, or nothing yet. Late ones are dropped. The
 * age of a holder that is a bare client is an empty string, which has a second line. */
static inline int64_t bare_reply(struct bare_server *s, int64_t until_us) {
  char line[256];
  while (s->asked && s->owed) {
    if (!bare_line(s, line, sizeof line)) {
      if (!bare_receive(s, until_us)) return 0;
      continue;
    }
    if (line[0] == '$' && line[1] != '-') continue;
    if (--s->owed == 0) return line[0] == ':' ? strtoll(line + 1, NULL, 10) : 0;
  }
  return 0;
}

static inline int bare_trusts(const struct bare *b, const struct bare_server *s, int64_t asked_us) {
  if (!b->rules->quarantine) return 1;
  return s->trusted_us <= asked_us - (int64_t)b->rules->max_ttl_ms * 1000;
}

/* 1 = a yes, and counted */
static inline int bare_hear(struct bare *b, int i, int64_t token, int64_t asked_us) {
  struct bare_server *s = &b->at[i];
  int64_t reply = bare_reply(s, asked_us + BARE_TIMEOUT_US);
  if (reply == 0) return 0;
  if (reply >= token && token > 0) {
    b->low = reply;
    return 0;
  }
  s->ahead_us = (reply < 0 ? -reply : reply) - timing_us();
  s->known = 1;
  return reply > 0 && bare_trusts(b, s, asked_us);
}

/* The quorum-th smallest of the clocks that are known; 0 = fewer are. */
static inline int64_t bare_clock(const struct bare *b) {
  int64_t ahead[SERVERS];
  int i, count = 0;
  for (i = 0; i < SERVERS; i++)
    if (b->at[i].known) ahead[count++] = b->at[i].ahead_us;
  if (count < 2) return 0;
  qsort(ahead, (size_t)count, sizeof *ahead, timing_compare);
  return ahead[1] + timing_us();
}

/* All clients are so at the same times: what has been forgotten comes to light when tokens from the
   far end of the window are followed by ones from its near end. */
static inline int bare_is_modest(void) {
  uint64_t era = (uint64_t)timing_us() / BARE_ERA_US + 1;
  return draw(&era, 7) < 3;
}

/* Anything at all, near the clock, just above a refusal, as a client should, or anywhere in the
   window. */
static inline int64_t bare_propose(struct bare *b) {
  int64_t clock = bare_clock(b), window = (int64_t)b->rules->max_ttl_ms * 500;
  if (clock == 0) return 0;
  if (draw(&b->seed, 10) < (uint64_t)b->rules->wild)
    return clock - 2 * window + (int64_t)draw(&b->seed, (uint64_t)(12 * window));
  if (bare_is_modest()) return clock + (int64_t)draw(&b->seed, (uint64_t)window / 16);
  if (b->low > clock && draw(&b->seed, 10) == 0) return b->low + 1;
  if (draw(&b->seed, 3) == 0) return clock + window / 2;
  return clock + (int64_t)draw(&b->seed, (uint64_t)window);
}

static inline void bare_try(struct bare *b, struct notes *notes) {
  struct grant grant;
  int64_t token = bare_propose(b);
  int i, yes = 0;
  grant.asked_us = timing_us();
  bare_ask(b, token);
  for (i = 0; i < SERVERS; i++) yes += bare_hear(b, i, token, grant.asked_us);
  grant.granted_us = timing_us();
  notes->rounds++;
  if (yes < b->rules->quorum || token == 0) return;
  if (draw(&b->seed, 4) == 0) poll(NULL, 0, 2 * BARE_TTL_MS); /* and takes itself for the holder */
  grant.token = (uint64_t)token;
  grant.done_us = timing_us();
  grants_note(notes, grant);
}

static inline void bare_client(const struct bare_rules *rules, const int *ports, uint64_t seed,
                               struct notes *notes) {
  static struct bare b;
  int i;
  b.rules = rules;
  b.ports = ports;
  b.seed = seed;
  for (i = 0; i < SERVERS; i++) b.at[i].fd = -1;
  while (!board->stop) {
    if (board->hush) poll(NULL, 0, 1);
    else bare_try(&b, notes);
    if (draw(&b.seed, 2)) poll(NULL, 0, (int)draw(&b.seed, 5));
  }
}

#endif
