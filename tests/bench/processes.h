/* processes.h: several processes that want one resource, each with a client of its own. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "tests/bench/bench.h"

#include <sys/mman.h>
#include <sys/wait.h>

/* Zeroed memory that all processes share from now on. */
static inline void *processes_share(size_t size) {
  FILE *file = tmpfile();
  void *memory;
  if (!file || ftruncate(fileno(file), (off_t)size)) bench_die("no temporary file");
  memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  if (memory == MAP_FAILED) bench_die("no shared memory");
  return memory;
}

static inline void processes_sleep_until(int64_t ns) {
  int64_t left = ns - bench_ns();
  struct timespec t;
  if (left <= 0) return;
  t.tv_sec = (time_t)(left / 1000000000);
  t.tv_nsec = (long)(left % 1000000000);
  nanosleep(&t, NULL);
}

static inline void processes_sleep_ms(int ms) {
  processes_sleep_until(bench_ns() + (int64_t)ms * 1000000);
}

/* The client of one process, connected: it takes a lock of its own. */
static inline void processes_begin(redlock *client, const struct servers *set,
                                   const redlock_options *options, int process) {
  char list[SERVERS_LIST], own[24];
  redlock_lock lock;
  servers_list(set, BENCH_SERVERS, list);
  snprintf(own, sizeof own, "own:%d", process);
  if (redlock_init(client, list, options)) _exit(1);
  if (redlock_acquire(client, &lock, own, BENCH_TTL_MS, 0) == REDLOCK_OK)
    (void)redlock_release(client, &lock);
}

/* The servers count from here on. */
static inline void processes_reset_commands(struct servers *set) {
  int i;
  for (i = 0; i < BENCH_SERVERS; i++) server_command(&set->at[i], "CONFIG RESETSTAT");
}

/* What the servers have counted so far. A SET by script that succeeds counts twice. */
static inline double processes_commands(const struct servers *set) {
  double sum = 0;
  int i;
  for (i = 0; i < BENCH_SERVERS; i++)
    sum += (double)server_info(&set->at[i], "cmdstat_set:calls=") +
           (double)server_info(&set->at[i], "cmdstat_eval:calls=");
  return sum;
}

static inline void processes_await(const pid_t *pids, int count) {
  int i, status;
  for (i = 0; i < count; i++)
    if (waitpid(pids[i], &status, 0) < 0 || status) bench_die("a process failed");
}

#endif
