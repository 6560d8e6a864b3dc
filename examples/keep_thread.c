/* keep_thread.c: work that blocks for as long as it likes, under a lock that a second thread keeps.
 * Copy the interface and the keeper from here.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -I.. keep_thread.c -pthread -o keep_thread
 *   ./keep_thread 10.0.0.1,10.0.0.2,10.0.0.3 60000
 *
 * The thread has a client of its own, for a client belongs to one thread: it takes the lock,
 * extends it and releases it. The work runs where it always did. A third thread, the guard, stops
 * the work. */
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- The interface --------------------------------------------------------------------------- */

struct keeper;

/* OK = the calling thread may work, until keeper_stop. Else why there is no lock: then there is
   nothing to stop. Both strings must outlive k. When the lock can be kept no longer, MARGIN_MS
   before its end, the thread is sent that signal, again and again until keeper_stop: so whatever it
   blocks in returns with EINTR. The signal is optional: with 0 the thread asks keeper_status often
   enough. If it cannot be interrupted, perhaps in a library, only _exit is sure to stop it. */
static redlock_status keeper_start(struct keeper *k, const char *servers, const char *resource,
                                   int signal_number);

/* OK = it is ours. Ask before what must not happen without the lock. */
static redlock_status keeper_status(struct keeper *k);

/* The work is over. OK = it was under the lock from beginning to end. */
static redlock_status keeper_stop(struct keeper *k);

/* ---- The keeper ------------------------------------------------------------------------------ */

enum { TTL_MS = 2000, MARGIN_MS = 500, WAIT_MS = 3000, NUDGE_MS = 10, GUARD_MS = 50 };
enum { LOOK_UP_MS = 3000 };

struct keeper {
  int signal_number;
  const char *servers, *resource;
  pthread_t thread, worker;
  int over[2];           /* a pipe: a byte comes when the work is over */
  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t changed;
  redlock_status status; /* PENDING until the lock is taken; OK = it is ours; else why not */
  int64_t end_ms;        /* until then, by now_ms: MARGIN_MS before the lock's own end */
};

/* It goes on while the machine is suspended, where a clock does. */
static int64_t now_ms(void) {
#if defined(__linux__) || defined(__OpenBSD__)
  const clockid_t clock = CLOCK_BOOTTIME;
#else
  const clockid_t clock = CLOCK_MONOTONIC;
#endif
  struct timespec t = {0, 0};
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void set_status(struct keeper *k, redlock_status status, int64_t end_ms) {
  pthread_mutex_lock(&k->mutex);
  k->status = status;
  k->end_ms = end_ms;
  pthread_cond_signal(&k->changed);
  pthread_mutex_unlock(&k->mutex);
}

/* By the clock too: a pause of the machine may end for the work before it does for the keeper. */
static redlock_status keeper_status(struct keeper *k) {
  redlock_status status;
  pthread_mutex_lock(&k->mutex);
  status = k->status == REDLOCK_OK && now_ms() >= k->end_ms ? REDLOCK_EXPIRED : k->status;
  pthread_mutex_unlock(&k->mutex);
  return status;
}

/* Waits for the servers, the clock or the end of the work. 1 = the work is over. */
static int wait_for_news(const struct keeper *k, const redlock *rl) {
  struct pollfd fds[REDLOCK_MAX_SERVERS + 1];
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int64_t timeout = redlock_timeout_ms(rl);
  int i, count = redlock_fds(rl, want, REDLOCK_MAX_SERVERS);
  memset(fds, 0, sizeof fds);
  for (i = 0; i < count; i++) {
    fds[i].fd = (int)want[i].fd;
    fds[i].events = want[i].events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN;
  }
  fds[count].fd = k->over[0];
  fds[count].events = POLLIN;
  (void)poll(fds, (nfds_t)count + 1, (int)(timeout > 60000 ? 60000 : timeout));
  return fds[count].revents != 0;
}

static int is_over(const struct keeper *k, int timeout_ms) {
  struct pollfd end;
  end.fd = k->over[0];
  end.events = POLLIN;
  return poll(&end, 1, timeout_ms) > 0;
}

/* It asks keeper_status alone, so nothing that detains the keeper lets the work outlive the lock.
   The signal may come just before the work blocks, and do nothing: so there is always another. */
static void *guard(void *keeper) {
  struct keeper *k = keeper;
  while (!is_over(k, GUARD_MS))
    while (keeper_status(k) != REDLOCK_OK && !is_over(k, NUDGE_MS))
      pthread_kill(k->worker, k->signal_number);
  return NULL;
}

/* The clock first: too early an end does no harm. */
static void tell_hold(struct keeper *k, const redlock *rl, const redlock_lock *lock) {
  int64_t now = now_ms();
  set_status(k, REDLOCK_OK, now + redlock_remaining_ms(rl, lock) - MARGIN_MS);
}

/* A server that restarts may come back at another address, as a pod or a container does: then its
   name must be looked up again, or the lock stands on one server fewer for good. That may block,
   and then nothing extends the lock: if a name server takes too long, the guard stops the work. */
static void look_up_again(redlock *rl, int64_t *next_ms) {
  redlock_server_info info;
  int i, away = 0;
  if (now_ms() < *next_ms) return;
  for (i = 0; redlock_server_status(rl, i, &info) == REDLOCK_OK; i++) away += !info.connected;
  if (away > 0) (void)redlock_resolve(rl);
  *next_ms = now_ms() + LOOK_UP_MS;
}

/* Extends the lock until the work is over, then releases it. Returns how that ended. It steps
   whenever redlock_timeout_ms says so, which is often enough. By a clock of your own, step at
   least every quarter of TTL_MS - MARGIN_MS, 375 ms here: and let the margin cover the time that
   stopping takes and the longest time between two steps. */
static redlock_status keep_until_over(struct keeper *k, redlock *rl, redlock_lock *lock) {
  redlock_status status = redlock_keep(rl, lock, 0); /* 0: no limit but the options' own */
  int64_t look_up_ms = now_ms() + LOOK_UP_MS;
  while (status == REDLOCK_OK && !wait_for_news(k, rl)) {
    if (redlock_step(rl) == lock) status = lock->status; /* only a loss returns it */
    else tell_hold(k, rl, lock);
    look_up_again(rl, &look_up_ms);
  }
  if (status == REDLOCK_OK) {
    int in_time = redlock_remaining_ms(rl, lock) > 0;
    status = redlock_release(rl, lock);
    return status == REDLOCK_OK && !in_time ? REDLOCK_EXPIRED : status;
  }
  set_status(k, status, 0);
  (void)is_over(k, -1);
  (void)redlock_release(rl, lock); /* unless it is EXPIRED it is still held */
  return status;
}

static redlock_status keep_guarded(struct keeper *k, redlock *rl, redlock_lock *lock) {
  pthread_t thread;
  redlock_status status;
  if (pthread_create(&thread, NULL, guard, k) != 0) {
    (void)redlock_release(rl, lock);
    return REDLOCK_SYSTEM;
  }
  tell_hold(k, rl, lock);
  status = keep_until_over(k, rl, lock);
  pthread_join(thread, NULL);
  return status;
}

static void *keep(void *keeper) {
  struct keeper *k = keeper;
  redlock_options options;
  redlock rl;
  redlock_lock lock;
  redlock_status status;
  memset(&options, 0, sizeof options);
  options.keep_margin_ms = MARGIN_MS;
  status = redlock_init(&rl, k->servers, &options);
  if (status == REDLOCK_OK) {
    status = redlock_acquire(&rl, &lock, k->resource, TTL_MS, WAIT_MS);
    if (status == REDLOCK_OK) status = keep_guarded(k, &rl, &lock);
  }
  if (status == REDLOCK_INVALID) fprintf(stderr, "%s\n", redlock_server_error(&rl, -1));
  set_status(k, status, 0);
  redlock_close(&rl);
  return NULL;
}

static void on_nudge(int number) { (void)number; }

static redlock_status keeper_stop(struct keeper *k) {
  while (write(k->over[1], "", 1) < 0 && errno == EINTR) continue;
  pthread_join(k->thread, NULL);
  close(k->over[0]);
  close(k->over[1]);
  return k->status;
}

/* No SA_RESTART: calls must return. */
static void catch_nudges(int signal_number) {
  struct sigaction nudge;
  memset(&nudge, 0, sizeof nudge);
  nudge.sa_handler = on_nudge;
  if (signal_number) sigaction(signal_number, &nudge, NULL);
}

static redlock_status keeper_start(struct keeper *k, const char *servers, const char *resource,
                                   int signal_number) {
  redlock_status status;
  catch_nudges(signal_number);
  k->signal_number = signal_number;
  k->servers = servers;
  k->resource = resource;
  k->worker = pthread_self();
  k->status = REDLOCK_PENDING;
  pthread_mutex_init(&k->mutex, NULL);
  pthread_cond_init(&k->changed, NULL);
  if (pipe(k->over) != 0) return REDLOCK_SYSTEM;
  if (pthread_create(&k->thread, NULL, keep, k) != 0) {
    close(k->over[0]);
    close(k->over[1]);
    return REDLOCK_SYSTEM;
  }
  pthread_mutex_lock(&k->mutex);
  while (k->status == REDLOCK_PENDING) pthread_cond_wait(&k->changed, &k->mutex);
  pthread_mutex_unlock(&k->mutex);
  status = keeper_status(k);
  if (status != REDLOCK_OK) (void)keeper_stop(k);
  return status;
}

/* ---- The work -------------------------------------------------------------------------------- */

/* Blocks, as reading from a slow peer would. 0 = stopped, for the lock was lost. */
static int work(struct keeper *k, long ms) {
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0)
    if (errno != EINTR || keeper_status(k) != REDLOCK_OK) return 0;
  return keeper_status(k) == REDLOCK_OK;
}

int main(int argc, char **argv) {
  const char *servers = argc > 1 ? argv[1] : "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
  struct keeper keeper;
  redlock_status status = keeper_start(&keeper, servers, "report:2024", SIGUSR1);
  int done = 0;
  if (status == REDLOCK_OK) {
    done = work(&keeper, argc > 2 ? strtol(argv[2], NULL, 10) : 10000);
    if (!done) fprintf(stderr, "the work is stopped\n");
    status = keeper_stop(&keeper);
  }
  printf("%s: %s\n", done ? "done" : "not done", redlock_strerror(status));
  return !done || status != REDLOCK_OK;
}
