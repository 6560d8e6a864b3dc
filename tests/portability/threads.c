/* threads.c: clients share nothing. Each of two threads has one of its own, and both go for the
 * same resource on the same real servers. The thread sanitizer sees whatever they should share. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/check.h"
#include "tests/servers.h"

#include <pthread.h>

enum { THREADS = 2, TURNS = 100, TTL_MS = 20000, WAIT_MS = 60000 };

static char list[SERVERS_LIST];

struct worker {
  pthread_t thread;
  int turns;
  redlock_status problem; /* of the call that ended it, or OK */
};

static void *work(void *argument) {
  struct worker *w = argument;
  redlock rl;
  redlock_lock lock;
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 2000;
  w->problem = redlock_init(&rl, list, &options);
  while (w->problem == REDLOCK_OK && w->turns < TURNS) {
    w->problem = redlock_acquire(&rl, &lock, "threads", TTL_MS, WAIT_MS);
    if (w->problem != REDLOCK_OK) break;
    w->turns++;
    w->problem = redlock_release(&rl, &lock);
  }
  redlock_close(&rl);
  return NULL;
}

static void two_threads_share_nothing(void) {
  static struct servers set;
  struct worker workers[THREADS];
  int i;
  if (servers_missing()) SKIP(servers_missing());
  servers_start(&set, 3, "");
  servers_list(&set, 3, list);
  memset(workers, 0, sizeof workers);
  for (i = 0; i < THREADS; i++)
    CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  for (i = 0; i < THREADS; i++) {
    CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
    CHECK_EQ(workers[i].problem, REDLOCK_OK);
    CHECK_EQ(workers[i].turns, TURNS);
  }
  servers_stop(&set);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(two_threads_share_nothing);
  return check_end();
}
