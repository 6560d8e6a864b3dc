/* keepalive.c: work of unknown length, under a lock that is extended for as long as it lasts. Copy
 * from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I.. keepalive.c -o keepalive
 *   ./keepalive 10.0.0.1,10.0.0.2,10.0.0.3
 *
 * A short ttl frees the lock soon after a crash; redlock_keep makes it last. The work is done in
 * pieces. Only between them is the lock extended and a loss noticed: so a piece takes at most a
 * quarter of (ttl - margin), and the margin is for the longest piece and what stopping takes. Kill
 * a majority of the servers to see the loss. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MS = 5000, WAIT_MS = 3000, PIECES = 100, PIECE_MS = 100, MARGIN_MS = 5 * PIECE_MS };
enum { LOOK_UP_PIECES = 30 };

/* One piece of the work, which can stop after any piece without harm. */
static void work_on(int piece, int64_t remaining_ms) {
  printf("piece %d of %d, locked for %ld ms more\n", piece, PIECES, (long)remaining_ms);
  (void)poll(NULL, 0, PIECE_MS);
}

/* Lets the client extend the lock if it is time, without waiting. redlock_wait returns the lock
   only when it cannot be kept; until then keep_margin_ms is left, enough for a piece. 0 = stop. */
static int is_still_ours(redlock *rl) { return redlock_wait(rl, 0) == NULL; }

/* A server that restarts may come back at another address, as a pod or a container does: then its
   name must be looked up again, or the lock stands on one server fewer for good. That may block, so
   it is done between two pieces; if a name server takes too long, is_still_ours says that the lock
   cannot be kept. */
static void look_up_again(redlock *rl) {
  redlock_server_info info;
  int i, away = 0;
  for (i = 0; redlock_server_status(rl, i, &info) == REDLOCK_OK; i++) away += !info.connected;
  if (away > 0) (void)redlock_resolve(rl);
}

/* Returns how many pieces were done while the lock could be kept. If the next run should go on from
   there, note it in the same place as the results. */
static int work(redlock *rl, redlock_lock *lock) {
  int piece = 0;
  while (piece < PIECES && is_still_ours(rl)) {
    piece++;
    work_on(piece, redlock_remaining_ms(rl, lock));
    if (piece % LOOK_UP_PIECES == 0) look_up_again(rl);
  }
  return piece;
}

/* Why a call failed: on this side (-1), and on each server that has something to say. */
static int explain(const redlock *rl, const char *what, redlock_status status) {
  const char *error;
  int i;
  fprintf(stderr, "%s: %s\n", what, redlock_strerror(status));
  for (i = -1; (error = redlock_server_error(rl, i)) != NULL; i++)
    if (*error) fprintf(stderr, "  server %d: %s\n", i, error);
  return 1;
}

static int run(redlock *rl) {
  redlock_lock lock;
  redlock_status status = redlock_acquire(rl, &lock, "report:2024", TTL_MS, WAIT_MS);
  int done;
  if (status != REDLOCK_OK) return explain(rl, "acquire", status);
  status = redlock_keep(rl, &lock, 0); /* 0: the limit of the options */
  if (status != REDLOCK_OK) return explain(rl, "keep", status);
  done = work(rl, &lock);
  if (done < PIECES) fprintf(stderr, "the lock cannot be kept: stopped after piece %d\n", done);
  status = redlock_release(rl, &lock); /* also ends the keeping */
  if (status != REDLOCK_OK) return explain(rl, "release", status);
  return done < PIECES;
}

int main(int argc, char **argv) {
  const char *servers = argc > 1 ? argv[1] : getenv("REDLOCK_SERVERS");
  redlock_options options;
  redlock rl;
  redlock_status status;
  int result;
  memset(&options, 0, sizeof options);
  options.keep_margin_ms = MARGIN_MS;
  if (!servers) servers = "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
  status = redlock_init(&rl, servers, &options);
  if (status != REDLOCK_OK) return explain(&rl, "init", status);
  result = run(&rl);
  redlock_close(&rl);
  return result;
}
