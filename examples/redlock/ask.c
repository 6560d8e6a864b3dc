/* ask.c: what the library has no call for, asked over the client's own connections. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* there SIGPIPE ends us, as it would end any other command */
#endif

/* How long servers may take to connect, if too few have for a quorum; and then the others; and each
   to answer. */
enum { CONNECT_MS = 5000, GRACE_MS = 2000, ANSWER_MS = 2000, PAUSE_MS = 20 };

struct answer answers[REDLOCK_MAX_SERVERS];

static int64_t now_us(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- Connections ----------------------------------------------------------------------------- */

const char *key_or_none(void) { return set.resource ? set.resource : NO_KEY; }

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

uint32_t connect_limit_ms(void) { return later(CONNECT_MS, set.server_timeout_ms); }

static uint32_t answer_limit_ms(void) { return later(ANSWER_MS, set.server_timeout_ms); }

static int is_connected(int server) {
  redlock_server_info info;
  (void)redlock_server_status(&client, server, &info);
  return info.connected;
}

/* Whether it has answered the handshake, or is known not to: one that is only late may yet. */
static int is_settled(int server) {
  const char *error = redlock_server_error(&client, server);
  return is_connected(server) || (*error && !is_time_out(error));
}

static int count_connected(void) {
  int i, connected = 0;
  for (i = 0; i < count_servers(); i++) connected += is_connected(i);
  return connected;
}

static int is_any_late(void) {
  int i, late = 0;
  for (i = 0; i < count_servers(); i++) late += is_connected(i) && is_awaited(i);
  return late;
}

/* To take over what nobody holds changes nothing, and connects to all. A quorum decides that, and
   does not wait for the others: so it is tried again until all are settled. */
void connect_all(void) {
  static const char nobody[sizeof lock.value] = "";
  const uint32_t grace_ms = later(GRACE_MS, set.server_timeout_ms);
  int64_t end = now_ms() + connect_limit_ms(), next = 0;
  int settled = 0, count = count_servers();
  while ((settled < count || redlock_timeout_ms(&client) >= 0) && now_ms() < end) {
    if (settled < count && now_ms() >= next) { /* while the last one is pending it is INVALID */
      (void)redlock_start_adopt(&client, &lock, key_or_none(), set.ttl_ms, nobody);
      next = now_ms() + PAUSE_MS;
    }
    (void)redlock_wait(&client, PAUSE_MS);
    for (settled = 0; settled < count && is_settled(settled);) settled++;
    if (end > now_ms() + grace_ms && count_connected() >= quorum()) end = now_ms() + grace_ms;
  }
  end = now_ms() + answer_limit_ms();
  while (is_any_late() && now_ms() < end) (void)redlock_wait(&client, PAUSE_MS);
}

/* ---- The question ---------------------------------------------------------------------------- */

const char *take_line(char to[REDLOCK_MAX_ERROR], const char *at) {
  size_t size = strcspn(at, "\r\n"), i;
  for (i = 0; i < size && i + 1 < REDLOCK_MAX_ERROR; i++)
    to[i] = at[i] >= ' ' && at[i] <= '~' ? at[i] : '?';
  to[i] = 0;
  return at + size;
}

/* What a waiter is told may come between them. */
static void read_replies(struct answer *a, int server, size_t got, int replies) {
  for (; got > 0 && a->fd >= 0; got--) {
    enum end end = end_of(server, a->text[a->got++]);
    a->is_garbled = end == END_BAD;
    if (end == END_REPLY) a->count++;
    if (a->count == replies) a->took_us = now_us() - a->asked_us;
    if (a->count == replies || a->is_garbled) a->fd = -1;
    else if (end != END_NONE) a->reply[a->count] = a->text + a->got;
  }
}

/* A layer may hold what poll no longer sees. */
static void receive(struct answer *a, int server, int replies) {
  const redlock_layer *tls = a->layer;
  while (a->fd >= 0) {
    char *to = a->text + a->got;
    size_t room = sizeof a->text - 1 - a->got;
    ssize_t got = tls ? tls->recv(tls->ctx, server, to, room) : recv(a->fd, to, room, 0);
    if (got > 0) {
      read_replies(a, server, (size_t)got, replies);
      continue;
    }
    a->is_garbled = room == 0; /* so long is no answer */
    if (room && (got < 0 ? !tls && (errno == EAGAIN || errno == EINTR) : tls != NULL)) return;
    a->fd = -1; /* or it hung up */
  }
}

/* The socket's buffer is empty: all fits, or the connection is lost. */
static void send_request(struct answer *a, int server, const char *request, size_t size) {
  const redlock_layer *tls = a->layer;
  ssize_t sent;
  a->asked_us = now_us();
  sent = tls ? tls->send(tls->ctx, server, request, size)
             : send(a->fd, request, size, MSG_NOSIGNAL);
  if (sent != (ssize_t)size) a->fd = -1;
}

/* Those that the client has reached and awaits no reply from. */
static void begin_asking(const char *request, size_t size) {
  redlock_fd fds[REDLOCK_MAX_SERVERS];
  int i, count = redlock_fds(&client, fds, REDLOCK_MAX_SERVERS);
  for (i = 0; i < count; i++) {
    int server = fds[i].server;
    struct answer *a = &answers[server];
    if (!is_connected(server) || is_awaited(server)) continue;
    a->fd = (int)fds[i].fd;
    if (is_over_tls(server)) a->layer = tls_layer();
    send_request(a, server, request, size);
  }
}

void ask_all(const char *request, size_t size, int replies) {
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int64_t end = now_ms() + answer_limit_ms();
  int i, open = 1, count = count_servers();
  for (i = 0; i < count; i++) {
    memset(&answers[i], 0, sizeof answers[i]);
    answers[i].fd = -1;
    answers[i].took_us = -1;
    answers[i].reply[0] = answers[i].text;
  }
  begin_asking(request, size);
  while (open && now_ms() < end) {
    for (open = i = 0; i < count; i++) {
      fds[i] = poll_entry(answers[i].fd, POLLIN); /* poll skips -1 */
      open += answers[i].fd >= 0;
    }
    if (open) (void)poll(fds, (nfds_t)count, (int)(end - now_ms()));
    for (i = 0; i < count; i++)
      if (open && fds[i].revents) receive(&answers[i], i, replies);
  }
}

/* ---- Clocks that were set back --------------------------------------------------------------- */

int64_t set_back_s[REDLOCK_MAX_SERVERS];

/* A negative uptime is none to the client: again and again, such a server has just started. */
static int is_new(int server) {
  redlock_server_info info;
  (void)redlock_server_status(&client, server, &info);
  return info.quarantine_ms + 1000 > set.max_ttl_ms;
}

void ask_uptimes(void) {
  static const char uptimes[] =
    "*3\r\n$4\r\nEVAL\r\n$84\r\n"
    "return tonumber(string.match(redis.call('info','server'),'uptime_in_seconds:(%S+)'))\r\n"
    "$1\r\n0\r\n";
  int i, new_ones = 0, count = count_servers();
  for (i = 0; i < count; i++) new_ones += is_new(i);
  if (!set.max_ttl_ms || !new_ones) return;
  ask_all(uptimes, sizeof uptimes - 1, 1);
  for (i = 0; i < count; i++)
    if (answers[i].took_us >= 0 && strncmp(answers[i].reply[0], ":-", 2) == 0)
      set_back_s[i] = strtoll(answers[i].reply[0] + 2, NULL, 10);
}
