/* client.h: a client of the header, and the script that it sends. */
#ifndef CLIENT_H
#define CLIENT_H

#include "raw_client.h"
#include "redlock.h"
#include "tests/servers.h"

enum { CLIENT_TTL_MS = 10, CLIENT_TIMEOUT_MS = 100 };

static inline int client_open(redlock *rl, const char *list, uint32_t max_ttl_ms) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = CLIENT_TIMEOUT_MS;
  options.max_ttl_ms = max_ttl_ms;
  options.fencing = 1;
  return redlock_init(rl, list, &options) == REDLOCK_OK;
}

/* Every other holder keeps working when its lock has long ended, and never releases it. */
static inline void client_try(redlock *rl, uint64_t *seed, struct notes *notes) {
  struct grant grant;
  redlock_lock lock;
  redlock_status status;
  grant.asked_us = timing_us();
  status = redlock_acquire(rl, &lock, "r", CLIENT_TTL_MS + (uint32_t)draw(seed, 20), 0);
  grant.granted_us = timing_us();
  notes->rounds++;
  if (status != REDLOCK_OK) return;
  grant.token = lock.token;
  if (draw(seed, 2)) poll(NULL, 0, 4 * CLIENT_TTL_MS);
  else redlock_release(rl, &lock);
  grant.done_us = timing_us();
  grants_note(notes, grant);
}

static inline int client_run(const char *list, uint32_t max_ttl_ms, uint64_t seed,
                             struct notes *notes) {
  static redlock rl;
  if (!client_open(&rl, list, max_ttl_ms)) return 1;
  while (!board->stop) {
    if (!board->hush) client_try(&rl, &seed, notes);
    redlock_wait(&rl, 1 + (int64_t)draw(&seed, 5));
  }
  redlock_close(&rl);
  return 0;
}

/* ---- its script ---- */

/* A connection that is told whatever the server is. */
static inline FILE *monitor_open(int port) {
  FILE *stream;
  int fd = dial_port(port);
  if (fd < 0) return NULL;
  stream = fdopen(fd, "r");
  if (send(fd, "MONITOR\r\n", 9, MSG_NOSIGNAL) != 9) return NULL;
  return stream;
}

/* The quoted word that begins at `from`, without its quotes. */
static inline void monitor_word(const char *from, char *to, size_t room) {
  size_t size = 0;
  for (from++; *from && *from != '"' && size < room - 1; from++) {
    if (*from == '\\') from++;
    to[size++] = *from;
  }
  to[size] = '\0';
}

/* The EVAL for `resource`, as the server sees it come. 0 = it does not. */
static inline int monitor_script(FILE *stream, const char *resource, char *to, size_t room) {
  char line[4096], wanted[64];
  const char *at;
  snprintf(wanted, sizeof wanted, "\" \"2\" \"%s\"", resource);
  while (fgets(line, sizeof line, stream)) {
    at = strstr(line, "\"EVAL\" ");
    if (!at || !strstr(at, wanted)) continue;
    monitor_word(at + 7, to, room);
    return 1;
  }
  return 0;
}

static inline int client_script(const struct servers *servers, uint32_t max_ttl_ms, char *to,
                                size_t room) {
  static redlock rl;
  char list[SERVERS_LIST];
  redlock_lock lock;
  FILE *stream = monitor_open(servers->at[0].port);
  int found = 0;
  if (!stream) return 0;
  if (client_open(&rl, servers_list(servers, servers->count, list), max_ttl_ms) &&
      redlock_acquire(&rl, &lock, "script", CLIENT_TTL_MS, 5000) == REDLOCK_OK)
    found = monitor_script(stream, "script", to, room);
  redlock_close(&rl);
  fclose(stream);
  return found;
}

#endif
