/* threads.c: clients share nothing: each of two threads has one of its own, and both go for the
 * same resource on the same real servers. And a client needs no more than a mutex to be shared. The
 * thread sanitizer sees whatever they should share, or should not. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/check.h"
#include "tests/servers.h"

#include <pthread.h>

enum { THREADS = 2, TURNS = 100, TTL_MS = 20000, WAIT_MS = 60000 };

static struct servers set;
static char list[SERVERS_LIST];

struct worker {
  pthread_t thread;
  int number;
  int turns;
  redlock_status problem; /* of the call that ended it, or OK */
};

static redlock_status open_client(redlock *rl) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 2000;
  return redlock_init(rl, list, &options);
}

/* All of them finish their turns. */
static void run_workers(void *(*work)(void *)) {
  struct worker workers[THREADS];
  int i;
  memset(workers, 0, sizeof workers);
  for (i = 0; i < THREADS; i++) {
    workers[i].number = i;
    CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (i = 0; i < THREADS; i++) {
    CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
    CHECK_EQ(workers[i].problem, REDLOCK_OK);
    CHECK_EQ(workers[i].turns, TURNS);
  }
}

/* ---- a client for each ---- */

static void *work_alone(void *worker) {
  struct worker *w = worker;
  redlock rl;
  redlock_lock lock;
  w->problem = open_client(&rl);
  while (w->problem == REDLOCK_OK && w->turns < TURNS) {
    w->problem = redlock_acquire(&rl, &lock, "threads", TTL_MS, WAIT_MS);
    if (w->problem != REDLOCK_OK) break;
    w->turns++;
    w->problem = redlock_release(&rl, &lock);
  }
  redlock_close(&rl);
  return NULL;
}

static void two_threads_share_nothing(void) { run_workers(work_alone); }

/* ---- one client, behind a mutex ---- */

static redlock shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define GUARDED(result, call)     \
  do {                            \
    pthread_mutex_lock(&mutex);   \
    (result) = (call);            \
    pthread_mutex_unlock(&mutex); \
  } while (0)

/* Whoever steps may be handed the other's lock: so each takes all that is decided, and looks at its
   own. */
static redlock_status wait_and_look(const redlock_lock *lock) {
  while (redlock_wait(&shared, 1)) continue;
  return lock->status;
}

static redlock_status take_shared(redlock_lock *lock, const char *name) {
  redlock_status status;
  GUARDED(status, redlock_start_acquire(&shared, lock, name, TTL_MS, 0));
  while (status == REDLOCK_PENDING) GUARDED(status, wait_and_look(lock));
  return status;
}

/* By turns a blocking call and stepping ones. */
static void *work_shared(void *worker) {
  struct worker *w = worker;
  redlock_lock lock;
  int64_t left;
  const char *name = w->number ? "one" : "other";
  while (w->problem == REDLOCK_OK && w->turns < TURNS) {
    if (w->turns % 2) w->problem = take_shared(&lock, name);
    else GUARDED(w->problem, redlock_acquire(&shared, &lock, name, TTL_MS, 0));
    if (w->problem != REDLOCK_OK) break;
    GUARDED(left, redlock_remaining_ms(&shared, &lock));
    w->turns += left > 0;
    GUARDED(w->problem, redlock_release(&shared, &lock));
  }
  return NULL;
}

static void a_mutex_is_enough_to_share_one(void) {
  CHECK_EQ(open_client(&shared), REDLOCK_OK);
  run_workers(work_shared);
  redlock_close(&shared);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  if (servers_missing()) {
    printf("  skip  %s\n", servers_missing());
    check.skipped++;
    return check_end();
  }
  servers_start(&set, 3, "");
  servers_list(&set, 3, list);
  RUN(two_threads_share_nothing);
  RUN(a_mutex_is_enough_to_share_one);
  servers_stop(&set);
  return check_end();
}
