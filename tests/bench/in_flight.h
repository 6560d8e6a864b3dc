/* in_flight.h: one client that keeps many locks in flight on one thread. Each lock is another
 * resource; it is released as soon as it is returned, and taken again as soon as it is released.
 * Who includes this has built redlock.h, and says how many locks at most: IN_FLIGHT. */
#ifndef IN_FLIGHT_H
#define IN_FLIGHT_H

#include "tests/bench/bench.h"

enum { PATIENCE_MS = 2000, WARM_UP_NS = 100000000 };

static struct servers set;
static redlock client;
static redlock_lock locks[IN_FLIGHT];
static char names[IN_FLIGHT][24];

static void begin(redlock_lock *lock) {
  const char *name = names[lock - locks];
  if (redlock_start_acquire(&client, lock, name, BENCH_TTL_MS, 0) != REDLOCK_PENDING)
    bench_die("an acquire does not start");
}

/* Goes on with a lock that was returned; 1 = a cycle is done. */
static int go_on(redlock_lock *lock) {
  if (lock->status != REDLOCK_OK) bench_die(redlock_strerror(lock->status));
  if (lock->operation == REDLOCK_RELEASE) return 1;
  if (redlock_start_release(&client, lock) != REDLOCK_PENDING) bench_die("no release");
  return 0;
}

/* How many cycles were done. */
static int64_t client_run(int64_t until_ns) {
  int64_t cycles = 0;
  redlock_lock *lock;
  while (bench_ns() < until_ns) { /* each turn of this loop hands one lock back */
    lock = redlock_wait(&client, -1);
    if (!lock || !go_on(lock)) continue;
    cycles++;
    begin(lock);
  }
  return cycles;
}

/* One wait for a lock that is held: from then on the servers remember what this client reads. */
static void wait_once(void) {
  static redlock_lock held, wanted;
  if (redlock_acquire(&client, &held, "waited for", BENCH_TTL_MS, 0) != REDLOCK_OK ||
      redlock_acquire(&client, &wanted, "waited for", BENCH_TTL_MS, 20) != REDLOCK_TAKEN ||
      redlock_release(&client, &held) != REDLOCK_OK)
    bench_die("no wait");
}

static void client_open(int width) {
  static char list[SERVERS_LIST]; /* the client reads it as long as it is open */
  redlock_options options;
  int i;
  servers_list(&set, BENCH_SERVERS, list);
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = PATIENCE_MS;
  if (redlock_init(&client, list, &options)) bench_die("redlock_init failed");
  wait_once();
  for (i = 0; i < width; i++) {
    snprintf(names[i], sizeof names[i], "client:%d", i);
    begin(&locks[i]);
  }
}

#endif
