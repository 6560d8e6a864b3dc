/* wait_for_child.c: runs a program under a lock, and kills it before that ends. Copy from here.
 *
 *   cc -I.. wait_for_child.c -o wait_for_child && ./wait_for_child LIST nightly 30000 backup.sh */
#define _GNU_SOURCE /* ppoll; macOS has pselect */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_child(int number) { (void)number; } /* SIGCHLD ends a ppoll, no more */

/* As redlock_wait, but a signal of the mask ends it too. (A descriptor: see keep_thread.c.) */
static redlock_lock *wait_for_news(redlock *rl, const sigset_t *mask) {
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int64_t ms = redlock_timeout_ms(rl);
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  int i, count = redlock_fds(rl, want, REDLOCK_MAX_SERVERS);
  for (i = 0; i < count; i++) {
    fds[i].fd = (int)want[i].fd;
    fds[i].events = want[i].events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN;
  }
  (void)ppoll(fds, (nfds_t)count, ms < 0 ? NULL : &t, mask);
  return redlock_step(rl);
}

static int run(redlock *rl, const redlock_lock *lock, char **program) {
  int status = 1 << 8; /* of a fork that failed */
  sigset_t child, before;
  pid_t pid;
  signal(SIGCHLD, on_child);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &before); /* but in ppoll: so none comes unseen */
  if ((pid = fork()) == 0)
    _exit(sigprocmask(SIG_SETMASK, &before, NULL) || execvp(*program, program) ? 127 : 0);
  while (waitpid(pid, &status, WNOHANG) == 0) /* SIGTERM first? Then make the margin longer */
    if (wait_for_news(rl, &before)) kill(pid, SIGKILL);
  if (redlock_remaining_ms(rl, lock) == 0) return 70; /* too late: this process stood still */
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
  uint32_t ttl_ms = argc > 4 ? (uint32_t)atoi(argv[3]) : 0;
  redlock_options options = {.max_ttl_ms = ttl_ms, .keep_margin_ms = ttl_ms / 3};
  redlock rl;
  redlock_lock lock;
  int result = 75; /* no lock */
  if (argc < 5 || redlock_init(&rl, argv[1], &options)) return puts("wrong arguments"), 2;
  if (!redlock_acquire(&rl, &lock, argv[2], ttl_ms, 0) && !redlock_keep(&rl, &lock, 0))
    result = run(&rl, &lock, argv + 4);
  (void)redlock_release(&rl, &lock);
  redlock_close(&rl);
  return result;
}
