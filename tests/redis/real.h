/* real.h: what the tests on real servers share: one set of servers for a whole program, healed
 * before each test, and clients over the first n of them. */
#ifndef REAL_H
#define REAL_H

#include "tests/library.h"

#include "tests/check.h"
#include "tests/servers.h"
#include "tests/timing.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  REAL_TTL_MS = 20000,    /* longer than any delay on a busy machine */
  REAL_PATIENT_MS = 2000, /* server_timeout_ms where every server is meant to answer */
  REAL_WAIT_MS = 20000,
  REAL_LOOKS = 1000,      /* at most, of REAL_LOOK_MS each, for what comes soon */
  REAL_LOOK_MS = 5
};

static struct servers real;

static void real_server_is_missing(void) {
  const char *ci = getenv("CI");
  if (ci && strcmp(ci, "true") == 0) CHECK(servers_missing() == NULL);
  else SKIP(servers_missing());
}

/* The main of a program: starts the servers, runs the tests, ends the servers. */
static inline int real_main_with(int argc, char **argv, int servers, const char *(*args)(void),
                                 void (*tests)(void)) {
  check_start(argc, argv);
  if (servers_missing()) {
    check.argc = 0;
    RUN(real_server_is_missing);
    return check_end();
  }
  servers_start(&real, servers, args ? args() : "");
  tests();
  servers_stop(&real);
  return check_end();
}

static inline int real_main(int argc, char **argv, int servers, void (*tests)(void)) {
  return real_main_with(argc, argv, servers, NULL, tests);
}

/* ---- clients ---- */

static inline redlock_options real_options(uint32_t server_timeout_ms) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = server_timeout_ms;
  return options;
}

/* The list must outlive the client: it is kept here, for a few clients at a time. */
static inline const char *real_keep_list(const char *text) {
  static char lists[8][4 * SERVERS_LIST];
  static unsigned next;
  char *list = lists[next++ % 8];
  snprintf(list, sizeof lists[0], "%s", text);
  return list;
}

static inline void real_open_list_with(redlock *rl, const char *list, redlock_options options) {
  CHECK_EQ(redlock_init(rl, real_keep_list(list), &options), REDLOCK_OK);
}

static inline void real_open_list(redlock *rl, const char *list, uint32_t server_timeout_ms) {
  real_open_list_with(rl, list, real_options(server_timeout_ms));
}

static inline void real_open_with(redlock *rl, int n, redlock_options options) {
  char list[SERVERS_LIST];
  real_open_list_with(rl, servers_list(&real, n, list), options);
}

static inline void real_open(redlock *rl, int n, uint32_t server_timeout_ms) {
  real_open_with(rl, n, real_options(server_timeout_ms));
}

/* ---- looks ---- */

/* How a child ends: its exit status, or -1. */
static inline int real_end_of(pid_t pid) {
  int status = 0;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int real_quorum(int n) { return n / 2 + 1; }

/* As many servers as can be lost. */
static inline int real_minority(int n) { return n - real_quorum(n); }

/* Servers that hold the key, of the first n that can be asked. */
static inline int real_keys(int n, const char *resource) {
  int i, count = 0;
  for (i = 0; i < n; i++)
    if (real.at[i].pid && !real.at[i].frozen)
      count += strcmp(server_command(&real.at[i], "EXISTS %s", resource), "1") == 0;
  return count;
}

/* Before another look: what was sent after the decision needs a moment, and the client a step. */
static inline void real_let_settle(redlock *rl) {
  if (rl) redlock_wait(rl, REAL_LOOK_MS);
  poll(NULL, 0, REAL_LOOK_MS); /* nothing to wait on: the news is in another process */
}

/* The number of keys, once it is the wanted one. */
static inline int real_keys_settle(redlock *rl, int n, const char *resource, int wanted) {
  int looks, count = real_keys(n, resource);
  for (looks = 0; looks < REAL_LOOKS && count != wanted; looks++) {
    real_let_settle(rl);
    count = real_keys(n, resource);
  }
  return count;
}

/* Until each of them has a vote with every client of this max_ttl_ms (R24). They tell whole
   seconds, so one client may trust a server a second before another does: all do from here on. */
static inline void real_await_votes(int n, uint32_t max_ttl_ms) {
  long old_enough_s = max_ttl_ms / 1000 + 3;
  int i;
  for (i = 0; i < n; i++)
    while (server_info(&real.at[i], "uptime_in_seconds:") < old_enough_s)
      poll(NULL, 0, REAL_LOOK_MS);
}

/* Whether it votes with this client, as far as that knows: of a restart it hears after a while. */
static inline int real_has_vote(redlock *rl, int server) {
  redlock_server_info info;
  CHECK_EQ(redlock_server_status(rl, server, &info), REDLOCK_OK);
  return info.connected && !info.quarantine_ms;
}

/* Taken, and on every server: who could be sent nothing before the grant gets it with an extension
   (R12). */
static inline void real_hold(redlock *rl, redlock_lock *lock, int n, const char *resource,
                             uint32_t ttl_ms) {
  int looks, status = redlock_acquire(rl, lock, resource, ttl_ms, REAL_WAIT_MS);
  for (looks = 0; looks < REAL_LOOKS && status == REDLOCK_OK; looks++) {
    if (real_keys(n, resource) == n) break;
    real_let_settle(rl);
    if (real_keys(n, resource) < n) status = redlock_extend(rl, lock, ttl_ms);
  }
  CHECK_EQ(status, REDLOCK_OK);
  CHECK_EQ(real_keys(n, resource), n);
}

/* Released, and on no server. */
static inline void real_release(redlock *rl, redlock_lock *lock, int n, const char *resource) {
  CHECK_EQ(redlock_release(rl, lock), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(rl, n, resource, 0), 0);
}

static inline int real_votes(const redlock_lock *lock, int n, redlock_vote vote) {
  int i, count = 0;
  for (i = 0; i < n; i++) count += lock->votes[i] == vote;
  return count;
}

/* The median of an acquire and its release. Every one of them has to succeed; but a busy machine
   may keep a server that is needed from answering a release in time, now and then. */
static inline int64_t real_cycle_us(redlock *rl, int times) {
  static int64_t figures[1000];
  redlock_lock lock;
  int i, late = 0;
  for (i = 0; i < times; i++) {
    int64_t start = timing_us();
    if (!CHECK(redlock_acquire(rl, &lock, "cycle", REAL_TTL_MS, REAL_WAIT_MS) == REDLOCK_OK))
      return INT64_MAX / 4;
    if (redlock_release(rl, &lock) != REDLOCK_OK &&
        !CHECK(lock.status == REDLOCK_NO_QUORUM && ++late <= 1 + times / 10))
      return INT64_MAX / 4;
    figures[i] = timing_us() - start;
  }
  return timing_median(figures, times);
}

#endif
