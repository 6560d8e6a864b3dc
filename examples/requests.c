/* requests.c: locks within requests that may end at any moment, as those of a server's pool do.
 * Copy drop() from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I.. requests.c -o requests
 *   ./requests 10.0.0.1,10.0.0.2,10.0.0.3 1000
 *
 * Two dozen requests at a time want one of four accounts each. Now and then a peer hangs up, and
 * its request is dropped, whether it waits for the lock, holds it or releases it. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 24, ACCOUNTS = 4, TTL_MS = 10000 };

static redlock client;
static long left, done, dropped, refused;
static struct request {
  redlock_lock lock;
  int slot;
} *requests[AT_ONCE];

/* Whatever the lock was about to do, it leaves the client. A release that is due goes on without
   it: the next step sends that, or redlock_close. */
static void drop(struct request *r) {
  (void)redlock_start_release(&client, &r->lock);
  (void)redlock_cancel(&client, &r->lock);
  requests[r->slot] = NULL;
  free(r);
}

static void start_request(int slot) {
  struct request *r = requests[slot] = calloc(1, sizeof *r);
  char account[32];
  if (!r) abort();
  r->slot = slot;
  r->lock.user = r;
  (void)snprintf(account, sizeof account, "account:%ld", left-- % ACCOUNTS);
  if (redlock_start_acquire(&client, &r->lock, account, TTL_MS, REDLOCK_FOREVER) == REDLOCK_PENDING)
    return;
  refused++;
  drop(r);
}

/* It is returned twice: with its lock, for the work; and when that is released. */
static void on_decided(struct request *r) {
  int is_ours = r->lock.operation == REDLOCK_ACQUIRE && r->lock.status == REDLOCK_OK;
  if (is_ours && redlock_start_release(&client, &r->lock) == REDLOCK_PENDING) return;
  if (r->lock.operation == REDLOCK_RELEASE) done++;
  else refused++;
  drop(r);
}

int main(int argc, char **argv) {
  const char *servers = argc > 1 ? argv[1] : "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
  int turn, slot;
  if (redlock_init(&client, servers, NULL)) return puts(redlock_server_error(&client, -1)), 1;
  left = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
  for (turn = 0; left > 0; turn++) {
    redlock_lock *lock;
    for (slot = 0; slot < AT_ONCE && left > 0; slot++)
      if (!requests[slot]) start_request(slot);
    lock = redlock_wait(&client, 1);
    if (lock) on_decided(lock->user);
    slot = turn % AT_ONCE;
    if (turn % 3 || !requests[slot]) continue;
    dropped++; /* its peer hangs up */
    drop(requests[slot]);
  }
  for (slot = 0; slot < AT_ONCE; slot++)
    if (requests[slot]) dropped++, drop(requests[slot]);
  redlock_close(&client); /* behind the last of them */
  printf("%ld done, %ld dropped, %ld refused\n", done, dropped, refused);
  return refused != 0;
}
