/* hand_over.c: one process takes a lock, another one finishes the work under it.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I.. hand_over.c -o hand_over
 *   ./hand_over 10.0.0.1,10.0.0.2,10.0.0.3
 *
 * The ticket is lock.value: 20 bytes, a secret. Pass it on once: here through a pipe, between hosts
 * as you like, and to yourself after a reboot in a file with mode 600, written at each grant. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TTL_MS = 10000 };

static const char *list;

/* Why a call failed: on this side (-1), and on each server that has something to say. */
static int explain(const redlock *rl, const char *what, redlock_status status) {
  const char *error;
  int i;
  fprintf(stderr, "%s: %s\n", what, redlock_strerror(status));
  for (i = -1; (error = redlock_server_error(rl, i)) != NULL; i++)
    if (*error) fprintf(stderr, "  server %d: %s\n", i, error);
  return 1;
}

/* The giver: takes the lock and begins the work. From here on it does nothing more under the lock;
   nor does redlock_close release what is held. */
static int give(int to) {
  redlock rl;
  redlock_lock lock;
  redlock_status status = redlock_init(&rl, list, NULL);
  ssize_t sent = 0;
  if (status == REDLOCK_OK) status = redlock_acquire(&rl, &lock, "job:42", TTL_MS, 3000);
  if (status == REDLOCK_OK) {
    puts("first: takes the lock, begins the work, hands it over");
    sent = write(to, lock.value, sizeof lock.value);
  } else explain(&rl, "acquire", status);
  redlock_close(&rl);
  return sent != sizeof lock.value;
}

/* Whoever comes second with a ticket gets nothing, and disturbs nobody. */
static int come_late(const char ticket[20]) {
  redlock rl;
  redlock_lock lock;
  redlock_status status;
  status = redlock_init(&rl, list, NULL);
  if (status != REDLOCK_OK) return explain(&rl, "init", status);
  status = redlock_adopt(&rl, &lock, "job:42", TTL_MS, ticket);
  printf("third: has the same ticket: %s\n", redlock_strerror(status));
  redlock_close(&rl);
  return status != REDLOCK_TAKEN;
}

/* Each process has a client of its own (R17). Returns its exit status. */
static int run(int (*job)(const char *), const char *ticket) {
  int status = 1;
  pid_t pid;
  fflush(stdout);
  pid = fork();
  if (pid == 0) {
    status = job(ticket);
    fflush(stdout);
    _exit(status);
  }
  waitpid(pid, &status, 0);
  return status != 0;
}

/* The lock is ours as if we had acquired it: extend it, keep it, hand it on by its new value. */
static int adopt(const char ticket[20]) {
  redlock rl;
  redlock_lock lock;
  redlock_status status;
  int failed = 1;
  status = redlock_init(&rl, list, NULL);
  if (status != REDLOCK_OK) return explain(&rl, "init", status);
  status = redlock_adopt(&rl, &lock, "job:42", TTL_MS, ticket);
  printf("second: adopts it: %s\n", redlock_strerror(status));
  if (status == REDLOCK_OK) {
    failed = run(come_late, ticket);
    status = redlock_release(&rl, &lock);
    printf("second: finishes the work and releases the lock: %s\n", redlock_strerror(status));
  }
  redlock_close(&rl);
  return failed || status != REDLOCK_OK;
}

int main(int argc, char **argv) {
  char ticket[20];
  int ends[2];
  list = argc > 1 ? argv[1] : getenv("REDLOCK_SERVERS");
  if (!list) list = "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
  if (pipe(ends) || give(ends[1])) return 1;
  if (read(ends[0], ticket, sizeof ticket) != sizeof ticket) return 1;
  return run(adopt, ticket);
}
