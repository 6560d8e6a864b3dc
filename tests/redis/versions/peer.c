/* peer.c SERVERS FOLDER GRANTS: takes one lock again and again, holds it for a while, and finds out
 * whether it is alone. It wants the lock again when a few others have had it, and ends when all
 * together have had it so many times. No server may have said an error.
 * versions.sh builds it with the headers of several versions, so it uses only what all of them
 * have. Compiled with FENCED, a grant's token must be greater than the last one of any peer. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FENCED
enum { TTL_MS = 6000, TIMEOUT_MS = 1500 }; /* for TTL_MS a server that has started has no vote */
#else
enum { TTL_MS = 20000, TIMEOUT_MS = 2000 };
#endif
enum { WAIT_MS = 60000, REST_MS = 5, OTHERS = 4, SERVERS = 3 };

static redlock client;
static redlock_lock lock;
static char inside[512], tokens[512], granted[512];

static void fail(const char *what) {
  printf("%s: %s\n", REDLOCK_VERSION, what);
  exit(1);
}

#ifdef FENCED
static void check_token(void) {
  unsigned long long last = 0;
  FILE *file = fopen(tokens, "r+");
  if (!file) file = fopen(tokens, "w+");
  if (!file) fail("cannot open the file of tokens");
  if (fscanf(file, "%llu", &last) == 1 && lock.token <= last) fail("a token that is not greater");
  rewind(file);
  fprintf(file, "%llu\n", (unsigned long long)lock.token);
  fclose(file);
}
#endif

/* The file is there while somebody holds the lock. */
static void work(int turn) {
  int fd = open(inside, O_CREAT | O_EXCL, 0600);
  if (fd < 0) fail("two hold the lock");
  close(fd);
#ifdef FENCED
  check_token();
#endif
  if (turn % 4 == 0 && redlock_extend(&client, &lock, TTL_MS) != REDLOCK_OK) fail("no extension");
  unlink(inside);
}

static void check_errors(void) {
  int i;
  for (i = 0; i < SERVERS; i++) {
    const char *error = redlock_server_error(&client, i);
    if (*error && strncmp(error, "restarted", 9) != 0) /* one may have no vote yet (R24) */
      fail(error);
  }
}

/* There is a byte for each. */
static long count_grants(const char *more) {
  FILE *file = fopen(granted, "a");
  long count;
  if (!file || fputs(more, file) < 0 || fseek(file, 0, SEEK_END)) fail("cannot count the grants");
  count = ftell(file);
  fclose(file);
  return count;
}

/* Whoever asked again at once would often be ahead of those who have to be told. */
static void let_others(long until) {
  while (count_grants("") < until) (void)poll(NULL, 0, REST_MS);
}

int main(int argc, char **argv) {
  redlock_options options;
  long grants = argc > 3 ? atol(argv[3]) : 0, all = 0;
  int turn;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = TIMEOUT_MS;
#ifdef FENCED
  options.fencing = 1;
  options.max_ttl_ms = TTL_MS;
#endif
  snprintf(inside, sizeof inside, "%s/inside", argv[2]);
  snprintf(tokens, sizeof tokens, "%s/tokens", argv[2]);
  snprintf(granted, sizeof granted, "%s/granted", argv[2]);
  if (redlock_init(&client, argv[1], &options) != REDLOCK_OK) fail("not initialised");
  for (turn = 0; all < grants; turn++) {
    if (redlock_acquire(&client, &lock, "shared", TTL_MS, WAIT_MS) != REDLOCK_OK) fail("no lock");
    work(turn);
    all = count_grants(".");
    (void)poll(NULL, 0, REST_MS);
    if (redlock_release(&client, &lock) != REDLOCK_OK) fail("not released");
    let_others(all + OTHERS < grants ? all + OTHERS : grants);
  }
  check_errors();
  redlock_close(&client);
  printf("%d turns\n", turn);
  return 0;
}
