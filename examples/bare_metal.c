/* bare_metal.c: redlock.h without an operating system. The hooks below are all that it needs; the
 * comments say what stands there on lwIP. Here they lead to three toy servers in memory, and the
 * program runs anywhere:
 *
 *   cc -DREDLOCK_NO_POSIX -I.. bare_metal.c -o bare_metal && ./bare_metal */
#ifndef REDLOCK_NO_POSIX
#define REDLOCK_NO_POSIX
#endif
#define REDLOCK_MAX_SERVERS 3 /* client and lock: under 1 KB on 32 bits */
#define REDLOCK_MAX_RESOURCE 16
#define REDLOCK_MAX_COMMANDS 4
#define REDLOCK_MAX_ERROR 16
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <stdio.h>
#include <string.h>

/* ---- The toy servers: each knows one key --------------------------------------------------- */

static struct toy {
  int down, held;
  char owner[20];
  int64_t expires_ms;
  char asked[320], replies[64];
  size_t got, ready; /* bytes of the two */
} toys[REDLOCK_MAX_SERVERS];

static int64_t ticks_ms = 1000;

static void reply(struct toy *t, const char *text) {
  memcpy(t->replies + t->ready, text, strlen(text));
  t->ready += strlen(text);
}

/* SET key value PX ttl NX, or EVAL script 1 key value [ttl] */
static void execute(struct toy *t, const char **words, size_t count) {
  int is_set = *words[0] == 'S', ours;
  const char *value = words[is_set ? 2 : 4];
  if (ticks_ms >= t->expires_ms) t->held = 0;
  ours = t->held && memcmp(t->owner, value, sizeof t->owner) == 0;
  if (is_set && !t->held) memcpy(t->owner, value, sizeof t->owner);
  if (is_set) reply(t, t->held ? "$-1\r\n" : "+OK\r\n");
  else reply(t, ours ? ":1\r\n" : ":0\r\n");
  if (is_set ? !t->held : ours && count == 6) t->expires_ms = ticks_ms + 1000;
  t->held = is_set || (t->held && !(ours && count == 5));
}

/* "*3\r\n" or "$20\r\n"; NULL = the rest of it is to come */
static const char *past_number(const char *at, const char *end, size_t *number) {
  for (*number = 0, at++; at < end && *at != '\r'; at++)
    *number = *number * 10 + (size_t)(*at - '0');
  return end - at < 2 ? NULL : at + 2;
}

/* Executes one command when all of it is there. */
static const char *past_command(struct toy *t, const char *at, const char *end) {
  const char *words[8];
  size_t count, length, i;
  at = past_number(at, end, &count);
  for (i = 0; at && i < count; i++) {
    at = past_number(at, end, &length);
    if (!at || (size_t)(end - at) < length + 2) return NULL;
    words[i] = at;
    at += length + 2;
  }
  if (at) execute(t, words, count);
  return at;
}

/* ---- The hooks ------------------------------------------------------------------------------ */

/* tcp_new and tcp_connect to an address of yours, with the callbacks set up; or lwip_socket,
   lwip_fcntl(O_NONBLOCK) and lwip_connect. Any number that is not negative stands for it. */
static intptr_t net_open(void *ctx, int server, const char *host, const char *port) {
  (void)ctx, (void)host, (void)port;
  return toys[server].down ? -1 : server;
}

/* tcp_write of min(size, tcp_sndbuf) and tcp_output; 0 when there is no room yet. What is sent may
   be a part of a command. */
static int net_send(void *ctx, int server, const void *data, size_t size) {
  struct toy *t = &toys[server];
  const char *next;
  (void)ctx;
  if (t->down) return -1;
  if (size > sizeof t->asked - t->got) size = sizeof t->asked - t->got;
  memcpy(t->asked + t->got, data, size);
  t->got += size;
  while (t->got && (next = past_command(t, t->asked, t->asked + t->got)) != NULL) {
    t->got -= (size_t)(next - t->asked);
    memmove(t->asked, next, t->got);
  }
  return (int)size;
}

/* Bytes of the pbufs that the tcp_recv callback queued, then tcp_recved; 0 when there are none, -1
   when the callback got a NULL pbuf or tcp_err was called. */
static int net_recv(void *ctx, int server, void *data, size_t size) {
  struct toy *t = &toys[server];
  size_t given = t->ready < size ? t->ready : size;
  (void)ctx;
  if (t->down) return -1;
  memcpy(data, t->replies, given);
  t->ready -= given;
  memmove(t->replies, t->replies + given, t->ready);
  return (int)given;
}

/* tcp_close, or tcp_abort when that fails; lwip_close. */
static void net_close(void *ctx, int server) {
  (void)ctx;
  toys[server].ready = toys[server].got = 0;
}

/* Sleep until an interrupt or a callback has news, at most timeout_ms: a semaphore that callbacks
   give, or WFI; with sockets, lwip_poll over `want`. It is not used when a main loop of your own
   calls redlock_step. */
static int net_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  int i;
  (void)ctx;
  for (i = 0; i < count; i++)
    if (toys[want[i].server].ready) return 1;
  ticks_ms += timeout_ms > 0 ? timeout_ms : 1; /* here time passes only by waiting */
  return 0;
}

/* The tick count as 64 bits: one of 32 wraps after 49 days. It must go on in sleep modes. */
static int64_t board_now_ms(void *ctx) {
  (void)ctx;
  return ticks_ms;
}

/* The hardware's random generator. THIS ONE IS NOT RANDOM: two boards would hold the same lock. */
static int board_entropy(void *ctx, void *data, size_t size) {
  static uint32_t state = 1;
  unsigned char *to = (unsigned char *)data;
  (void)ctx;
  while (size--) *to++ = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
  return 0;
}

static const redlock_io board = {
  net_open, net_send, net_recv, net_close, net_wait, board_now_ms, board_entropy, NULL
};

/* ---- The application ------------------------------------------------------------------------ */

static redlock client;
static redlock_lock lock, other;
static int failures;

static void expect(const char *what, redlock_status status, redlock_status wanted) {
  printf("%-30s %s\n", what, redlock_strerror(status));
  failures += status != wanted;
}

int main(void) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.io = &board;
  expect("init", redlock_init(&client, "10.0.0.1,10.0.0.2,10.0.0.3", &options), REDLOCK_OK);
  expect("acquire", redlock_acquire(&client, &lock, "valve:7", 1000, 0), REDLOCK_OK);
  expect("acquire it again", redlock_acquire(&client, &other, "valve:7", 1000, 0), REDLOCK_TAKEN);
  expect("extend", redlock_extend(&client, &lock, 1000), REDLOCK_OK);
  toys[0].down = 1;
  expect("release, one server down", redlock_release(&client, &lock), REDLOCK_OK);
  expect("acquire", redlock_acquire(&client, &lock, "valve:7", 1000, 0), REDLOCK_OK);
  toys[1].down = 1;
  expect("release, two servers down", redlock_release(&client, &lock), REDLOCK_NO_QUORUM);
  redlock_close(&client);
  printf("%s\n", failures ? "FAIL" : "PASS");
  return failures != 0;
}
