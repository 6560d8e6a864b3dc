/* several.c: several resources at once, or none of them. Copy from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I.. several.c -o several
 *   ./several 10.0.0.1,10.0.0.2,10.0.0.3 account:7 account:4
 *
 * Everybody takes them in the order of their names, so no two wait for each other. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, TTL_MS = 2000, WAIT_MS = 3000, PIECES = 30, PIECE_MS = 100 };

static redlock client;
static redlock_lock locks[MOST]; /* a lock must not move while it is kept */

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Keeps the locks that it has while it waits for the next one. No name may occur twice. */
static redlock_status acquire_all(char **names, int count) {
  redlock_status status = REDLOCK_OK;
  int i;
  qsort(names, (size_t)count, sizeof *names, by_name);
  for (i = 0; i < count && status == REDLOCK_OK; i++) {
    status = redlock_acquire(&client, &locks[i], names[i], TTL_MS, WAIT_MS);
    if (status == REDLOCK_OK) status = redlock_keep(&client, &locks[i], 0);
  }
  return status;
}

/* How long all are still ours: the shortest time. 0 = one is lost, and the work must stop. */
static int64_t remaining_ms(int count) {
  int64_t least = INT64_MAX, its;
  while (count-- > 0)
    if ((its = redlock_remaining_ms(&client, &locks[count])) < least) least = its;
  return least;
}

int main(int argc, char **argv) {
  int count = argc - 2, done = 0;
  redlock_status status;
  if (count < 1 || count > MOST) return puts("usage: several SERVERS NAME..., up to 8 names"), 2;
  if (redlock_init(&client, argv[1], NULL)) return puts(redlock_server_error(&client, -1)), 2;
  status = acquire_all(argv + 2, count);
  while (status == REDLOCK_OK && done < PIECES && remaining_ms(count) > PIECE_MS) {
    (void)poll(NULL, 0, PIECE_MS); /* a piece of the work */
    done++;
    (void)redlock_wait(&client, 0); /* extends the locks when it is time */
  }
  if (status == REDLOCK_OK && done < PIECES) status = REDLOCK_EXPIRED; /* one is lost */
  if (status == REDLOCK_INVALID) puts(redlock_server_error(&client, -1));
  while (count > 0) (void)redlock_release(&client, &locks[--count]); /* those that are held */
  redlock_close(&client);
  printf("%s; %d of %d pieces done\n", redlock_strerror(status), done, PIECES);
  return done != PIECES;
}
