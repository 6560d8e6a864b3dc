#include "tests/bench/scripted.h"

#include <string.h>

enum { SCRIPT_SERVERS = 5, SCRIPT_REPLIES = 16384 };

static struct {
  char replies[SCRIPT_REPLIES];
  size_t size;
  int begun; /* the last byte was a '*' */
} script[SCRIPT_SERVERS];

static int64_t script_clock;

static intptr_t script_open(void *ctx, int server, const char *host, const char *port) {
  (void)ctx;
  (void)host;
  (void)port;
  script[server].size = 0;
  return server;
}

static void script_answer(int server, const char *reply) {
  size_t size = strlen(reply);
  if (script[server].size + size > SCRIPT_REPLIES) return;
  memcpy(script[server].replies + script[server].size, reply, size);
  script[server].size += size;
}

/* "*6" is SET with NX and PX, "*5" the script that releases; a '*' without a number begins no
   command. One can be cut anywhere. */
static int script_send(void *ctx, int server, const void *data, size_t size) {
  const char *at = (const char *)data, *end = at + size;
  (void)ctx;
  while (at < end) {
    if (script[server].begun && *at >= '0' && *at <= '9')
      script_answer(server, *at == '6' ? "+OK\r\n" : ":1\r\n");
    at = (const char *)memchr(at, '*', (size_t)(end - at));
    script[server].begun = at != NULL;
    at = at ? at + 1 : end;
  }
  return (int)size;
}

static int script_recv(void *ctx, int server, void *data, size_t size) {
  size_t most = script[server].size < size ? script[server].size : size;
  (void)ctx;
  memcpy(data, script[server].replies, most);
  script[server].size -= most;
  memmove(script[server].replies, script[server].replies + most, script[server].size);
  return (int)most;
}

static void script_close(void *ctx, int server) {
  (void)ctx;
  (void)server;
}

static int script_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  (void)ctx;
  (void)want;
  (void)timeout_ms;
  script_clock++;
  return count;
}

static int64_t script_now_ms(void *ctx) {
  (void)ctx;
  return script_clock;
}

static int script_entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
  memset(data, 'v', size);
  return 0;
}

const redlock_io script_io = {script_open, script_send, script_recv, script_close,
                              script_wait, script_now_ms, script_entropy, NULL};
