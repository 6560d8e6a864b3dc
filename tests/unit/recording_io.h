/* recording_io.h: the least redlock_io that a client can be watched through.
 *
 * It keeps what was opened and every byte that was sent, counts the calls of each hook, and
 * answers every whole command at once, with what the test has put into `wire`. Time passes in
 * io->wait alone, and only when there is nothing to read or write. tests/fake has the servers
 * that misbehave; here only bytes and arguments matter. */
#ifndef RECORDING_IO_H
#define RECORDING_IO_H

#include "redlock.h"

#include <stdlib.h>
#include <string.h>

enum wire_hook {
  WIRE_OPEN, WIRE_SEND, WIRE_RECV, WIRE_CLOSE, WIRE_WAIT, WIRE_NOW, WIRE_ENTROPY, WIRE_HOOKS
};

#ifndef WIRE_BYTES
#define WIRE_BYTES 32768
#endif

enum { WIRE_HOST = 300 };

struct wire_server {
  char host[WIRE_HOST], port[8];
  unsigned char sent[WIRE_BYTES]; /* since it was opened */
  size_t sent_size, answered;     /* bytes of it whose commands were answered */
  char reply[WIRE_BYTES / 8];
  size_t reply_size;
};

static struct {
  redlock_io io;
  int64_t now_ms;
  int64_t set_at_ms;               /* when the last SET came, and how many did */
  long sets, evals;
  unsigned char entropy;           /* the first byte of the next value, or all bytes if ... */
  int entropy_stays;
  const char *set, *eval, *auth, *select; /* the answers, as raw bytes */
  const char *hello, *client;      /* ... to the question who it is, and to CLIENT TRACKING */
  int forgets;                     /* no command is kept that was answered */
  int differ;                      /* each has a run_id of its own */
  long calls[WIRE_HOOKS];
  struct wire_server server[REDLOCK_MAX_SERVERS];
} wire;

/* How the question for what INFO tells begins, and the handshake's last one. */
#define WIRE_INFO "$4\r\nEVAL\r\n$107\r\nlocal i=redis.call('info',"
#define WIRE_PROOF "$4\r\nEVAL\r\n$20\r\nreturn{ok='redlock'}\r\n"

/* ---- The commands, as a server reads them ---------------------------------------------------- */

/* "*6\r\n" or "$3\r\n" at *at; 0 = the line is not whole. */
static inline int wire_number(const unsigned char *bytes, size_t size, size_t *at, size_t *number) {
  size_t i = *at + 1;
  for (*number = 0; i < size && bytes[i] != '\r'; i++)
    *number = *number * 10 + (size_t)(bytes[i] - '0');
  *at = i + 2;
  return *at <= size;
}

/* The size of the whole command that the bytes begin with; 0 = it is not all there. */
static inline size_t wire_command_size(const unsigned char *bytes, size_t size) {
  size_t at = 0, words, length;
  if (!wire_number(bytes, size, &at, &words)) return 0;
  for (; words > 0; words--) {
    if (!wire_number(bytes, size, &at, &length)) return 0;
    at += length + 2;
    if (at > size) return 0;
  }
  return at;
}

static inline int wire_is(const unsigned char *command, size_t size, const char *begin) {
  size_t at = command[2] == '\r' ? 4 : 5; /* behind the number of words */
  return size > at + strlen(begin) && memcmp(command + at, begin, strlen(begin)) == 0;
}

/* For how long it has run, and who it is. */
static inline const char *wire_info(const struct wire_server *s) {
  static char info[] = "*2\r\n:9999\r\n$4\r\n1234\r\n";
  info[sizeof info - 4] = (char)('4' + (wire.differ ? s - wire.server : 0));
  return info;
}

static inline const char *wire_answer(const struct wire_server *s, const unsigned char *command,
                                      size_t size) {
  if (wire_is(command, size, "$3\r\nSET\r\n")) {
    wire.sets++;
    wire.set_at_ms = wire.now_ms;
    return wire.set;
  }
  if (wire_is(command, size, WIRE_INFO)) return wire_info(s);
  if (wire_is(command, size, WIRE_PROOF)) return "+redlock\r\n";
  if (wire_is(command, size, "$4\r\nEVAL\r\n")) {
    wire.evals++;
    return wire.eval;
  }
  if (wire_is(command, size, "$6\r\nCLIENT\r\n")) return wire.client;
  if (wire_is(command, size, "$5\r\nHELLO\r\n")) return wire.hello;
  if (wire_is(command, size, "$5\r\nDELEX\r\n")) return wire.eval;
  if (wire_is(command, size, "$7\r\nDELIFEQ\r\n")) return wire.eval;
  if (wire_is(command, size, "$4\r\nAUTH\r\n")) return wire.auth;
  if (wire_is(command, size, "$6\r\nSELECT\r\n")) return wire.select;
  return "-ERR unknown command\r\n";
}

/* HELLO, CLIENT TRACKING and the proof, which every connection begins with, leave no trace: no test
 * here is about them. */
static inline int wire_is_unseen(const unsigned char *command, size_t size) {
  return wire_is(command, size, "$5\r\nHELLO\r\n") ||
         wire_is(command, size, "$6\r\nCLIENT\r\n") ||
         wire_is(command, size, WIRE_PROOF);
}

static inline void wire_drop(struct wire_server *s, size_t size) {
  s->sent_size -= size;
  memmove(s->sent + s->answered, s->sent + s->answered + size, s->sent_size - s->answered);
}

static inline void wire_answer_all(struct wire_server *s) {
  size_t size, length;
  const char *answer;
  while ((size = wire_command_size(s->sent + s->answered, s->sent_size - s->answered)) > 0) {
    answer = wire_answer(s, s->sent + s->answered, size);
    length = strlen(answer);
    if (s->reply_size + length > sizeof s->reply) abort();
    memcpy(s->reply + s->reply_size, answer, length);
    s->reply_size += length;
    if (wire.forgets || wire_is_unseen(s->sent + s->answered, size)) wire_drop(s, size);
    else s->answered += size;
  }
}

/* ---- The hooks ------------------------------------------------------------------------------- */

static inline intptr_t wire_open(void *ctx, int server, const char *host, const char *port) {
  struct wire_server *s = &wire.server[server];
  (void)ctx;
  wire.calls[WIRE_OPEN]++;
  if (strlen(host) >= sizeof s->host || strlen(port) >= sizeof s->port) abort();
  memset(s, 0, sizeof *s);
  strcpy(s->host, host);
  strcpy(s->port, port);
  return server;
}

static inline int wire_send(void *ctx, int server, const void *data, size_t size) {
  struct wire_server *s = &wire.server[server];
  (void)ctx;
  wire.calls[WIRE_SEND]++;
  if (s->sent_size + size > sizeof s->sent) abort();
  memcpy(s->sent + s->sent_size, data, size);
  s->sent_size += size;
  wire_answer_all(s);
  return (int)size;
}

static inline int wire_recv(void *ctx, int server, void *data, size_t size) {
  struct wire_server *s = &wire.server[server];
  (void)ctx;
  wire.calls[WIRE_RECV]++;
  if (size > s->reply_size) size = s->reply_size;
  memcpy(data, s->reply, size);
  s->reply_size -= size;
  memmove(s->reply, s->reply + size, s->reply_size);
  return (int)size;
}

static inline void wire_close(void *ctx, int server) {
  (void)ctx;
  (void)server;
  wire.calls[WIRE_CLOSE]++;
}

static inline int wire_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  int i, ready = 0;
  (void)ctx;
  wire.calls[WIRE_WAIT]++;
  for (i = 0; i < count; i++)
    if ((want[i].events & REDLOCK_WRITE) || wire.server[want[i].server].reply_size) ready++;
  if (ready == 0 && timeout_ms < 0) abort(); /* nothing would ever wake it */
  if (ready == 0) wire.now_ms += timeout_ms;
  return ready;
}

static inline int64_t wire_now_ms(void *ctx) {
  (void)ctx;
  wire.calls[WIRE_NOW]++;
  return wire.now_ms;
}

/* Every value is another one, and over time each byte stands everywhere in it, CR and LF too. */
static inline int wire_entropy(void *ctx, void *data, size_t size) {
  unsigned char *to = data;
  size_t i;
  (void)ctx;
  wire.calls[WIRE_ENTROPY]++;
  for (i = 0; i < size; i++) to[i] = (unsigned char)(wire.entropy + (wire.entropy_stays ? 0 : i));
  if (!wire.entropy_stays) wire.entropy++;
  return 0;
}

/* ---- What tests ask and tell ----------------------------------------------------------------- */

/* Everything forgotten; all servers say yes. */
static inline void wire_reset(void) {
  memset(&wire, 0, sizeof wire);
  wire.io.open = wire_open;
  wire.io.send = wire_send;
  wire.io.recv = wire_recv;
  wire.io.close = wire_close;
  wire.io.wait = wire_wait;
  wire.io.now_ms = wire_now_ms;
  wire.io.entropy = wire_entropy;
  wire.now_ms = 1000000;
  wire.set = wire.auth = wire.select = "+OK\r\n";
  wire.eval = ":1\r\n";
  wire.hello = wire.client = "-ERR unknown command\r\n";
}

static inline void wire_forget_calls(void) { memset(wire.calls, 0, sizeof wire.calls); }

static inline long wire_calls(void) {
  long sum = 0;
  int hook;
  for (hook = 0; hook < WIRE_HOOKS; hook++) sum += wire.calls[hook];
  return sum;
}

/* Whether nothing but the clock was looked at. */
static inline int wire_is_untouched(void) { return wire_calls() == wire.calls[WIRE_NOW]; }

#endif
