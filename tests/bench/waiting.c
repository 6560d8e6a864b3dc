/* waiting: several processes want one resource that is held for long, on servers that tell when it
 * is free again (R26), and beside it on servers that know no HELLO, where waiting is polling. What it
 * costs is counted at the clients; a hand-over lasts from the call of a release to the next grant.
 *
 * waiting [SECONDS]: of the row with 300 ms holds; 100 s make about 300 hand-overs. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/bench.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { MOST_PROCESSES = 9, WAIT_MS = 60000, START_MS = 200, MOST_HANDOVERS = 4096 };

/* The first process may keep the lock from begin to end. */
struct load {
  const char *name;
  int processes, hold_ms, think_ms, seconds, keeps;
  double least_rate, most_commands, most_a_second, most_p50, most_p99; /* the limits; 0 = none */
};

struct shared {
  atomic_llong released_ns, commands, held_ns, held_commands, end_ns;
  atomic_int handovers, grants[MOST_PROCESSES];
  int64_t handover_ns[MOST_HANDOVERS];
};

static struct servers told, polled;
static struct shared *shared;

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);

/* Every command about a lock is a SET or an EVAL; none is cut between these bytes as a rule. */
static int commands_in(const char *at, size_t size) {
  int count = 0;
  size_t i;
  for (i = 0; i + 8 < size; i++)
    count += memcmp(at + i, "EVAL\r\n$", 7) == 0 || memcmp(at + i, "\nSET\r\n$", 7) == 0;
  return count;
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags) {
  ssize_t sent = __real_send(fd, data, size, flags);
  if (sent > 0 && shared) atomic_fetch_add(&shared->commands, commands_in((const char *)data, (size_t)sent));
  return sent;
}

static void sleep_until(int64_t ns) {
  int64_t left = ns - bench_ns();
  struct timespec t;
  if (left <= 0) return;
  t.tv_sec = (time_t)(left / 1000000000);
  t.tv_nsec = (long)(left % 1000000000);
  nanosleep(&t, NULL);
}

/* What the others send meanwhile is counted once all have come to rest. */
static void hold(const struct load *load, int64_t now) {
  int64_t end = now + (int64_t)load->hold_ms * 1000000, settled = now + 150000000, before;
  if (settled > end) {
    sleep_until(end);
    return;
  }
  sleep_until(settled);
  before = atomic_load(&shared->commands);
  sleep_until(end);
  atomic_fetch_add(&shared->held_commands, atomic_load(&shared->commands) - before);
  atomic_fetch_add(&shared->held_ns, end - settled);
}

static void take_once(redlock *client, const struct load *load, int process) {
  redlock_lock lock;
  int64_t start = bench_ns(), now, released;
  int k;
  if (redlock_acquire(client, &lock, "contended", BENCH_TTL_MS, WAIT_MS) != REDLOCK_OK) return;
  now = bench_ns();
  released = atomic_load(&shared->released_ns);
  if (released > start) {
    k = atomic_fetch_add(&shared->handovers, 1);
    if (k < MOST_HANDOVERS) shared->handover_ns[k] = now - released;
  }
  atomic_fetch_add(&shared->grants[process], 1);
  hold(load, now);
  atomic_store(&shared->released_ns, bench_ns());
  (void)redlock_release(client, &lock);
  atomic_store(&shared->end_ns, bench_ns());
  if (load->think_ms) sleep_until(bench_ns() + (int64_t)load->think_ms * 1000000);
}

static void keep(redlock *client, int64_t end_ns) {
  redlock_lock lock;
  if (redlock_acquire(client, &lock, "contended", 1000, 0) != REDLOCK_OK) bench_die("not taken");
  (void)redlock_keep(client, &lock, 0);
  while (bench_ns() < end_ns) (void)redlock_wait(client, 20);
  (void)redlock_release(client, &lock);
}

static void work(const struct servers *set, const struct load *load, int process, int64_t start_ns) {
  char list[SERVERS_LIST], own[24];
  int64_t end_ns = start_ns + (int64_t)load->seconds * 1000000000;
  redlock_options options;
  redlock client;
  redlock_lock lock;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 500;
  servers_list(set, BENCH_SERVERS, list);
  snprintf(own, sizeof own, "own:%d", process);
  if (redlock_init(&client, list, &options)) _exit(1);
  if (redlock_acquire(&client, &lock, own, BENCH_TTL_MS, 0) == REDLOCK_OK) /* connects */
    (void)redlock_release(&client, &lock);
  sleep_until(start_ns - (load->keeps && process == 0 ? START_MS / 4 * 1000000 : 0));
  if (load->keeps && process == 0) keep(&client, end_ns);
  while (!load->keeps && bench_ns() < end_ns) take_once(&client, load, process);
  if (load->keeps && process)
    (void)redlock_acquire(&client, &lock, "contended", BENCH_TTL_MS, (uint32_t)load->seconds * 1000 - 100);
  redlock_close(&client);
  _exit(0);
}

static int grants_of(const struct load *load, int *least, int *most) {
  int i, sum = 0;
  *least = *most = atomic_load(&shared->grants[0]);
  for (i = 0; i < load->processes; i++) {
    int own = atomic_load(&shared->grants[i]);
    sum += own;
    if (own < *least) *least = own;
    if (own > *most) *most = own;
  }
  return sum;
}

static const char *limit(double figure, double most) {
  return most == 0 ? "" : bench_met(figure <= most);
}

static void print_row(const struct load *load, const char *how, int64_t start_ns, int is_told) {
  double seconds = load->keeps ? load->seconds : (double)(atomic_load(&shared->end_ns) - start_ns) / 1e9;
  double held_s = (double)atomic_load(&shared->held_ns) / 1e9, rate;
  static struct samples handovers;
  int least, most, i, grants = grants_of(load, &least, &most);
  double commands = (double)atomic_load(&shared->commands), p50, p99;
  handovers.count = 0;
  for (i = 0; i < atomic_load(&shared->handovers) && i < MOST_HANDOVERS; i++)
    samples_add(&handovers, shared->handover_ns[i]);
  rate = held_s > 0 ? (double)atomic_load(&shared->held_commands) / held_s : commands / seconds;
  p50 = samples_percentile(&handovers, 50) / 1e6;
  p99 = samples_percentile(&handovers, 99) / 1e6;
  bench_say("  %-7s %7.1f locks/s %8.1f commands/lock %8.1f commands/s%s  hand-over p50 %7.2f p99 %7.2f ms"
            " (%d)  least %d most %d\n", how, (double)grants / seconds, commands / (grants ? grants : 1),
            rate, held_s > 0 ? " while held" : "", p50, p99, handovers.count, least, most);
  if (!is_told) return;
  if (load->least_rate > 0)
    bench_say("          at least %.0f locks/s: %s\n", load->least_rate,
              bench_met((double)grants / seconds >= load->least_rate));
  if (load->most_commands > 0)
    bench_say("          at most %.0f commands/lock: %s\n", load->most_commands,
              limit(commands / (grants ? grants : 1), load->most_commands));
  if (load->most_a_second > 0)
    bench_say("          at most %.0f commands/s: %s\n", load->most_a_second,
              limit(rate, load->most_a_second));
  if (load->most_p50 > 0)
    bench_say("          hand-over p50 at most %.0f ms: %s\n", load->most_p50, limit(p50, load->most_p50));
  if (load->most_p99 > 0)
    bench_say("          hand-over p99 at most %.0f ms: %s\n", load->most_p99, limit(p99, load->most_p99));
}

static void run(const struct servers *set, const struct load *load, const char *how, int is_told) {
  pid_t pids[MOST_PROCESSES];
  int64_t start_ns = bench_ns() + START_MS * 1000000;
  int i, status;
  memset(shared, 0, sizeof *shared);
  for (i = 0; i < load->processes; i++) {
    pids[i] = fork();
    if (pids[i] < 0) bench_die("no process");
    if (pids[i] == 0) work(set, load, i, start_ns);
  }
  for (i = 0; i < load->processes; i++)
    if (waitpid(pids[i], &status, 0) < 0 || status) bench_die("a process failed");
  print_row(load, how, start_ns, is_told);
}

static void share_memory(void) {
  FILE *file = tmpfile();
  void *memory;
  if (!file || ftruncate(fileno(file), (off_t)sizeof *shared)) bench_die("no temporary file");
  memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  if (memory == MAP_FAILED) bench_die("no shared memory");
  shared = (struct shared *)memory;
}

int main(int argc, char **argv) {
  struct load loads[] = {
      {.name = "8 processes, 5 ms hold, 5 ms think", .processes = 8, .hold_ms = 5, .think_ms = 5,
       .seconds = 5, .least_rate = 170, .most_commands = 50},
      {.name = "8 processes, no hold, no think", .processes = 8, .seconds = 5},
      {.name = "8 processes, 100 ms hold", .processes = 8, .hold_ms = 100, .think_ms = 5, .seconds = 5,
       .most_commands = 80},
      {.name = "8 processes, 300 ms hold", .processes = 8, .hold_ms = 300, .think_ms = 5, .seconds = 15,
       .most_p50 = 3, .most_p99 = 20},
      {.name = "8 processes, 2 s hold", .processes = 8, .hold_ms = 2000, .think_ms = 5, .seconds = 6,
       .most_a_second = 40},
      {.name = "a waiter and a holder, 2 s hold", .processes = 2, .hold_ms = 2000, .think_ms = 5,
       .seconds = 10, .most_a_second = 6, .most_p50 = 2},
      {.name = "8 waiters, a lock kept with a ttl of 1 s", .processes = 9, .seconds = 5, .keeps = 1,
       .most_a_second = 120}};
  size_t i;
  if (argc > 1) loads[3].seconds = atoi(argv[1]);
  share_memory();
  bench_servers(&told, BENCH_SERVERS);
  servers_start(&polled, BENCH_SERVERS, "--rename-command HELLO none");
  bench_say("Waiting, %d servers: told, and polled as on servers without HELLO\n", BENCH_SERVERS);
  for (i = 0; i < sizeof loads / sizeof loads[0]; i++) {
    bench_say("\n  %s, %d s\n", loads[i].name, loads[i].seconds);
    run(&told, &loads[i], "told", 1);
    run(&polled, &loads[i], "polled", 0);
  }
  servers_stop(&told);
  servers_stop(&polled);
  return 0;
}
