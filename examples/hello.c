/* hello.c: take a lock, work, release it. Copy from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I.. hello.c -o hello
 *   ./hello 10.0.0.1,10.0.0.2,10.0.0.3
 *
 * The servers are independent masters, best an odd number of them: three tolerate the loss of one,
 * five the loss of two. Without an argument it uses REDLOCK_SERVERS, or else three servers on this
 * machine. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <stdio.h>
#include <stdlib.h>

static const char *servers_from(int argc, char **argv) {
  const char *list = argc > 1 ? argv[1] : getenv("REDLOCK_SERVERS");
  return list ? list : "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
}

/* The work that needs the lock. It must be done before the remaining time is over: check
   redlock_remaining_ms before each step that must not happen without the lock, and call
   redlock_extend if you need more time. */
static void work(int64_t remaining_ms) {
  printf("invoice:42 is locked for %ld ms more: working\n", (long)remaining_ms);
}

static const char *advice(redlock_status status) {
  switch (status) {
    case REDLOCK_TAKEN: return "another client holds it: wait longer, or try later";
    case REDLOCK_NO_QUORUM: return "a majority of the servers must answer: see below";
    case REDLOCK_EXPIRED: return "it took longer than the lock lasts: give it a longer ttl";
    case REDLOCK_INVALID: return "check the list of servers and the arguments";
    default: return "try again";
  }
}

static int explain(const redlock *rl, const char *what, redlock_status status) {
  const char *error;
  int i;
  fprintf(stderr, "%s: %s; %s\n", what, redlock_strerror(status), advice(status));
  error = redlock_server_error(rl, -1); /* on this side */
  if (*error) fprintf(stderr, "  %s\n", error);
  for (i = 0; (error = redlock_server_error(rl, i)) != NULL; i++)
    fprintf(stderr, "  server %d: %s\n", i, *error ? error : "no error");
  return 1;
}

int main(int argc, char **argv) {
  redlock rl;
  redlock_lock lock;
  redlock_status status;
  int result = 0;

  /* The list is not copied: it must outlive rl. NULL: default options. */
  status = redlock_init(&rl, servers_from(argc, argv), NULL);
  if (status != REDLOCK_OK) return explain(&rl, "init", status);

  /* Held for at most 10 s, even if this process dies; waits up to 3 s if another one has it. */
  status = redlock_acquire(&rl, &lock, "invoice:42", 10000, 3000);
  if (status == REDLOCK_OK) {
    work(redlock_remaining_ms(&rl, &lock));
    /* EXPIRED here means that the work took longer than the lock was ours. */
    status = redlock_release(&rl, &lock);
    if (status == REDLOCK_OK) printf("released\n");
    else result = explain(&rl, "release", status);
  } else {
    result = explain(&rl, "acquire", status);
  }
  redlock_close(&rl);
  return result;
}
