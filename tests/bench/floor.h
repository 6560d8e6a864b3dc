/* floor.h: the least work that a single thread can do, to measure others against.
 *
 * It encodes, parses, times, randomises and checks nothing: W locks in flight are a period of W
 * SETs and W releases, encoded once: by the cheapest command that the servers know, or by scripts.
 * Command k + W may leave when command k has its third reply. Each turn is one send to each server
 * that has something to get, one poll, and one recv from each server that is ready. W = 1 is one
 * lock at a time. Replies have known sizes: bytes are only counted, and searched for a '$' or '0',
 * which means that the lock was not free, or not there. */
#ifndef FLOOR_H
#define FLOOR_H

#include "tests/bench/bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  FLOOR_WIDTH = 256, /* the most locks in flight */
  FLOOR_COMMAND = 320,
  FLOOR_SET_REPLY = 5,    /* +OK */
  FLOOR_RELEASE_REPLY = 4 /* :1 */
};

/* A release or an extension by compare alone. The library's own script is 100 bytes longer, for
   hand-over and wake-ups, and costs the servers more: most of what it lacks at 256 in flight. */
#define FLOOR_SCRIPT                                                                               \
  "local c,k,t=redis.pcall,KEYS[1],ARGV[2]local v=c('get',k)"                                      \
  "if v~=ARGV[1]then return v and v.err and v or 0 end "                                           \
  "return not t and c('del',k)or c('pttl',k)<t+0 and c('pexpire',k,t)or 1"

enum floor_release { FLOOR_SCRIPTS, FLOOR_DELEX, FLOOR_DELIFEQ };

struct floor {
  int width;
  enum floor_release release;
  struct pollfd fds[BENCH_SERVERS];
  size_t begin[2 * FLOOR_WIDTH + 1];     /* where each command of the period stands */
  char bytes[2 * FLOOR_WIDTH * FLOOR_COMMAND];
  int64_t sent[BENCH_SERVERS];           /* bytes, over all periods */
  int64_t got[BENCH_SERVERS];
  int64_t decided;                       /* commands with a quorum of replies */
  int64_t allowed;                       /* commands that may leave */
};

static inline void floor_encode(struct floor *f, int k) {
  char *to = f->bytes + f->begin[k], key[32], value[32];
  int lock = k % f->width, size;
  snprintf(key, sizeof key, "floor:%d", lock);
  snprintf(value, sizeof value, "floor-%014d", lock);
  if (k < f->width)
    size = sprintf(to, "*6\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$20\r\n%s\r\n"
                       "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n%d\r\n",
                   (int)strlen(key), key, value, BENCH_TTL_MS);
  else if (f->release == FLOOR_DELEX)
    size = sprintf(to, "*4\r\n$5\r\nDELEX\r\n$%d\r\n%s\r\n$4\r\nIFEQ\r\n$20\r\n%s\r\n",
                   (int)strlen(key), key, value);
  else if (f->release == FLOOR_DELIFEQ)
    size = sprintf(to, "*3\r\n$7\r\nDELIFEQ\r\n$%d\r\n%s\r\n$20\r\n%s\r\n",
                   (int)strlen(key), key, value);
  else
    size = sprintf(to, "*5\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n1\r\n$%d\r\n%s\r\n$20\r\n%s\r\n",
                   (int)strlen(FLOOR_SCRIPT), FLOOR_SCRIPT, (int)strlen(key), key, value);
  f->begin[k + 1] = f->begin[k] + (size_t)size;
}

static inline int floor_connect(int port) {
  struct sockaddr_in at;
  int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET;
  at.sin_port = htons((unsigned short)port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at)) bench_die("floor: no connection");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

static inline const char *floor_text(enum floor_release release) {
  static const char *const text[] = {"scripts", "DELEX", "DELIFEQ"};
  return text[release];
}

/* The cheapest release that this server knows; scripts with FLOOR=scripts in the environment. */
static inline enum floor_release floor_cheapest(const struct server *s) {
  const char *wanted = getenv("FLOOR");
  if (wanted && strcmp(wanted, floor_text(FLOOR_SCRIPTS)) == 0) return FLOOR_SCRIPTS;
  if (*server_command(s, "DELIFEQ none x") != '-') return FLOOR_DELIFEQ;
  return *server_command(s, "DELEX none IFEQ x") != '-' ? FLOOR_DELEX : FLOOR_SCRIPTS;
}

static inline void floor_open(struct floor *f, const struct servers *set, int width) {
  int i, k;
  memset(f, 0, sizeof *f);
  f->width = width;
  f->release = floor_cheapest(&set->at[0]);
  for (k = 0; k < 2 * width; k++) floor_encode(f, k);
  for (i = 0; i < BENCH_SERVERS; i++) {
    f->fds[i].fd = floor_connect(set->at[i].port);
    f->fds[i].events = POLLIN;
  }
}

static inline void floor_close(struct floor *f) {
  int i;
  for (i = 0; i < BENCH_SERVERS; i++) close(f->fds[i].fd);
}

/* Bytes of all commands before command k. */
static inline int64_t floor_offset(const struct floor *f, int64_t k) {
  int64_t period = 2 * f->width;
  return k / period * (int64_t)f->begin[period] + (int64_t)f->begin[k % period];
}

static inline void floor_send(struct floor *f, int i, int64_t end) {
  int64_t period = (int64_t)f->begin[2 * f->width];
  while (f->sent[i] < end) { /* twice where the period ends in between */
    int64_t at = f->sent[i] % period, most = period - at, size = end - f->sent[i];
    ssize_t sent = send(f->fds[i].fd, f->bytes + at, (size_t)(size < most ? size : most),
                        MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) bench_die("floor: send failed");
    if (sent <= 0) return;
    f->sent[i] += sent;
  }
}

static inline void floor_receive(struct floor *f, int i) {
  char data[4096];
  ssize_t got = recv(f->fds[i].fd, data, sizeof data, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) bench_die("floor: recv failed");
  if (memchr(data, '$', (size_t)got) || memchr(data, '0', (size_t)got))
    bench_die("floor: the lock was not free, or not there");
  f->got[i] += got;
}

/* How many commands that many bytes of replies answer. */
static inline int64_t floor_replies(const struct floor *f, int64_t bytes) {
  int64_t w = f->width, period = w * (FLOOR_SET_REPLY + FLOOR_RELEASE_REPLY);
  int64_t rest = bytes % period, sets = w * FLOOR_SET_REPLY;
  int64_t whole = bytes / period * 2 * w;
  if (rest < sets) return whole + rest / FLOOR_SET_REPLY;
  return whole + w + (rest - sets) / FLOOR_RELEASE_REPLY;
}

/* The greatest count that a quorum of servers has reached. */
static inline int64_t floor_decided(const struct floor *f) {
  int64_t most = f->decided;
  int i, j;
  for (i = 0; i < BENCH_SERVERS; i++) {
    int64_t replies = floor_replies(f, f->got[i]);
    int reached = 0;
    for (j = 0; j < BENCH_SERVERS; j++) reached += floor_replies(f, f->got[j]) >= replies;
    if (reached >= BENCH_QUORUM && replies > most) most = replies;
  }
  return most;
}

static inline void floor_turn(struct floor *f) {
  int64_t end = floor_offset(f, f->allowed);
  int i;
  for (i = 0; i < BENCH_SERVERS; i++) floor_send(f, i, end);
  if (poll(f->fds, BENCH_SERVERS, -1) < 0) bench_die("floor: poll failed");
  for (i = 0; i < BENCH_SERVERS; i++)
    if (f->fds[i].revents) floor_receive(f, i);
  f->decided = floor_decided(f);
}

/* One lock at a time: the next command, to its third reply. */
static inline void floor_command(struct floor *f) {
  f->allowed++;
  while (f->decided < f->allowed) floor_turn(f);
}

/* W in flight, for that long; cycles done. */
static inline int64_t floor_run(struct floor *f, int64_t until_ns) {
  int64_t before = f->decided;
  while (bench_ns() < until_ns) {
    f->allowed = f->decided + f->width;
    floor_turn(f);
  }
  return (f->decided - before) / 2;
}

#endif
