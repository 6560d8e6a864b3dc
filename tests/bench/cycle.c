/* cycle CYCLES [W]: lock and release against servers that say yes, for a profiler to look at.
 * Without W by the blocking calls, one at a time; with W by the stepping ones, so many in flight.
 * What begins with script_ is the servers': the script `instructions` counts only the library's.
 * (tests/store.h would take longer than all that is measured.) */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the servers ---- */

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

static const redlock_io script_io = {script_open, script_send, script_recv, script_close,
                              script_wait, script_now_ms, script_entropy, NULL};

/* ---- the client ---- */

enum { TTL_MS = 10000, WIDTH = 256 };

static redlock client;

static int one_at_a_time(long cycles) {
  redlock_lock lock;
  for (; cycles > 0; cycles--)
    if (redlock_acquire(&client, &lock, "invoice:42", TTL_MS, 0) != REDLOCK_OK ||
        redlock_release(&client, &lock) != REDLOCK_OK)
      return 1;
  return 0;
}

static int in_flight(long cycles, long width) {
  static redlock_lock locks[WIDTH];
  static char names[WIDTH][16];
  long i;
  for (i = 0; i < width; i++) {
    snprintf(names[i], sizeof names[i], "invoice:%ld", i);
    redlock_start_acquire(&client, &locks[i], names[i], TTL_MS, 0);
  }
  while (cycles > 0) {
    redlock_lock *lock = redlock_wait(&client, -1);
    if (!lock) continue;
    if (lock->status != REDLOCK_OK) return 1;
    cycles -= lock->operation == REDLOCK_RELEASE;
    if (lock->operation == REDLOCK_ACQUIRE) redlock_start_release(&client, lock);
    else redlock_start_acquire(&client, lock, names[lock - locks], TTL_MS, 0);
  }
  return 0;
}

int main(int argc, char **argv) {
  long cycles = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
  long width = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
  redlock_options options = {0};
  options.io = &script_io;
  if (width < 0 || width > WIDTH || redlock_init(&client, "a,b,c,d,e", &options)) return 1;
  return width ? in_flight(cycles, width) : one_at_a_time(cycles);
}
