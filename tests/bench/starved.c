/* starved: 30 000 kept locks in one client that gets a fifth of a core, on real servers: how many
 * are lost, and how long a blocking call for another lock takes beside them.
 *
 *   starved [LOCKS [SECONDS [TTL_MS [MAX_TTL_MS]]]]
 *
 * A child stops this process (SIGSTOP) for 40 of each 50 ms: that needs no rights, and a stop is
 * harder than a quota, which takes nothing from who uses little. The locks are taken together,
 * at full speed, so their timers come together too, which is the worst case. The servers are not
 * stopped. With a MAX_TTL_MS they vote when they have run for so long. Exit: 0 if no lock was lost,
 * which is the bound. */
#define REDLOCK_MAX_COMMANDS 1024
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/bench.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 100000, NAME = 16, RUN_MS = 10, STOP_MS = 40, MARGIN_MS = 1000, WAIT_MS = 5000 };

static struct servers set;
static redlock client;
static redlock_lock locks[MOST], other;
static long lost;
static struct {
  pid_t pid;
  int ends[2];
} throttle;

static void count_lost(const redlock_lock *lock) {
  if (!lock) return;
  if (lost++ < 3)
    bench_say("  lost: %s, %ld ms left\n", redlock_strerror(lock->status),
              (long)redlock_remaining_ms(&client, lock));
}

/* Until the other end of the pipe is closed: by the parent, or by its end. Each stop has its go. */
static void throttle_parent(pid_t parent, int fd) {
  struct pollfd end;
  end.fd = fd;
  end.events = POLLIN;
  while (poll(&end, 1, RUN_MS) == 0) {
    if (kill(parent, SIGSTOP)) break;
    (void)poll(NULL, 0, STOP_MS);
    if (kill(parent, SIGCONT)) break;
  }
  _exit(0);
}

static void begin_throttle(void) {
  pid_t parent = getpid();
  if (pipe(throttle.ends)) bench_die("no pipe");
  throttle.pid = fork();
  if (throttle.pid < 0) bench_die("no fork");
  if (throttle.pid > 0) return;
  close(throttle.ends[1]);
  throttle_parent(parent, throttle.ends[0]);
}

static void end_throttle(void) {
  close(throttle.ends[1]);
  (void)waitpid(throttle.pid, NULL, 0);
}

/* Until they vote. */
static void await_servers(uint32_t max_ttl_ms) {
  redlock_status status = redlock_acquire(&client, &other, "other", BENCH_TTL_MS,
                                          max_ttl_ms + WAIT_MS);
  if (status != REDLOCK_OK) bench_die(redlock_strerror(status));
  (void)redlock_release(&client, &other);
}

static void take_all(int count, uint32_t ttl_ms) {
  static char names[MOST][NAME];
  redlock_lock *lock;
  int i, granted = 0;
  for (i = 0; i < count; i++) {
    snprintf(names[i], NAME, "kept:%d", i);
    if (redlock_start_acquire(&client, &locks[i], names[i], ttl_ms, WAIT_MS) != REDLOCK_PENDING)
      bench_die("start");
  }
  while (granted < count) {
    lock = redlock_wait(&client, 10000);
    if (!lock) continue;
    if (lock->operation == REDLOCK_LOST) bench_die("lost before the time");
    if (lock->status != REDLOCK_OK) bench_die(redlock_strerror(lock->status));
    if (redlock_keep(&client, lock, 0) != REDLOCK_OK) bench_die("keep");
    granted++;
  }
}

/* What is kept is stepped by each call; a blocking one for another lock every second. */
static void keep_for(int seconds, int64_t *worst_ns) {
  int64_t end = bench_ns() + (int64_t)seconds * 1000000000, next = bench_ns(), started;
  while (bench_ns() < end) {
    count_lost(redlock_wait(&client, 100));
    if (bench_ns() < next) continue;
    started = bench_ns();
    if (redlock_acquire(&client, &other, "other", BENCH_TTL_MS, WAIT_MS) != REDLOCK_OK)
      bench_say("  beside them: %s\n", redlock_server_error(&client, 0));
    (void)redlock_release(&client, &other);
    if (bench_ns() - started > *worst_ns) *worst_ns = bench_ns() - started;
    next = bench_ns() + 1000000000;
  }
}

static int64_t own_us(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec +
         used.ru_stime.tv_usec;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 30000, seconds = argc > 2 ? atoi(argv[2]) : 45;
  uint32_t ttl_ms = argc > 3 ? (uint32_t)atoi(argv[3]) : 30000;
  const char *missing = servers_missing();
  redlock_options options;
  char list[SERVERS_LIST];
  int64_t used, worst_ns = 0;
  int i, held = 0;
  if (missing) return printf("starved: skipped, %s\n", missing), 0;
  if (count < 1 || count > MOST || seconds < 1)
    bench_die("starved [LOCKS [SECONDS [TTL_MS [MAX_TTL_MS]]]]");
  memset(&options, 0, sizeof options);
  options.max_ttl_ms = argc > 4 ? (uint32_t)atoi(argv[4]) : 0;
  options.keep_margin_ms = MARGIN_MS;
  servers_start(&set, 3, "");
  if (redlock_init(&client, servers_list(&set, 3, list), &options)) bench_die("init");
  await_servers(options.max_ttl_ms);
  take_all(count, ttl_ms);
  begin_throttle();
  used = own_us();
  keep_for(seconds, &worst_ns);
  used = own_us() - used;
  end_throttle();
  for (i = 0; i < count; i++) held += redlock_remaining_ms(&client, &locks[i]) > 0;
  bench_say("starved: %d kept with a ttl of %lu ms, for %d s, running %d of each %d ms (SIGSTOP):\n"
            "  %ld lost, %d held; %.1f %% of a core used; another lock took at most %ld ms\n",
            count, (unsigned long)ttl_ms, seconds, RUN_MS, RUN_MS + STOP_MS, lost, held,
            (double)used / 10000 / seconds, (long)(worst_ns / 1000000));
  redlock_close(&client);
  return lost > 0 || held != count;
}
