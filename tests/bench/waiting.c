/* waiting: several processes want one resource. Woken: the servers tell when it is free again
 * (R26). Polling: beside it on servers that know no HELLO. A hand-over lasts from the call of a
 * release to the next grant; commands are counted as the clients send them. The rounds of both take
 * turns: a busy machine is busy for both.
 *
 * waiting [ROW [SECONDS [HOLD_MS [THINK_MS [PROCESSES]]]]]: one row alone, from 1 on; `4 100` makes
 * 300 hand-overs. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/bench.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { MOST_PROCESSES = 1024, WAIT_MS = 60000, START_MS = 200, SETTLED_MS = 150 };

enum sort {
  CONTENDS, /* each wants it again and again until the time is over; the last ones still get it */
  CROWD,    /* and nobody gets it after that */
  DRAINS,   /* each leaves with its first lock */
  KEEPS     /* the first process keeps the lock from begin to end */
};

struct load {
  const char *name;
  enum sort sort;
  int processes, hold_ms, think_ms, seconds, rounds;
  int poll_min_ms, poll_max_ms; /* of those that poll; 0 = the default */
  int as_polling;               /* if polling does not reach the rate, its own is enough */
  double least_rate, most_commands, most_a_second, most_a_hold; /* the limits; 0 = none */
  double most_p50, most_p99, most_wait, least_share;
};

struct times {
  atomic_int count;
  int64_t ns[BENCH_SAMPLES];
};

/* What the processes of one round write. */
struct shared {
  atomic_llong released_ns, commands, held_ns, held_commands, hold_commands, end_ns;
  atomic_int grants[MOST_PROCESSES];
  struct times handovers, waits;
};

/* What came of all rounds. */
struct outcome {
  struct series rate, commands, a_second, a_hold;
  struct samples handovers, waits;
  int grants[MOST_PROCESSES];
};

static struct servers waking, polled;
static struct outcome outcomes[2]; /* woken, polling */
static struct shared *shared;

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);

/* Every command about a lock begins so; none is cut between these bytes as a rule. */
static int commands_in(const char *at, size_t size) {
  static const char *const words[] = {"\nSET\r\n$", "\nEVAL\r\n$", "\nDELEX\r\n$",
                                      "\nDELIFEQ\r\n$"};
  int count = 0, k;
  size_t i;
  for (i = 0; i + 12 < size; i++)
    for (k = 0; k < 4 && at[i] == '\n'; k++)
      count += memcmp(at + i, words[k], strlen(words[k])) == 0;
  return count;
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags) {
  ssize_t sent = __real_send(fd, data, size, flags);
  if (sent > 0 && shared)
    atomic_fetch_add(&shared->commands, commands_in((const char *)data, (size_t)sent));
  return sent;
}

/* ---- one process ---- */

static void sleep_until(int64_t ns) {
  int64_t left = ns - bench_ns();
  struct timespec t;
  if (left <= 0) return;
  t.tv_sec = (time_t)(left / 1000000000);
  t.tv_nsec = (long)(left % 1000000000);
  nanosleep(&t, NULL);
}

static int64_t after_ms(int64_t ms) { return bench_ns() + ms * 1000000; }

static void times_add(struct times *t, int64_t ns) {
  int k = atomic_fetch_add(&t->count, 1);
  if (k < BENCH_SAMPLES) t->ns[k] = ns;
}

/* What the others send meanwhile is counted, and again once all have come to rest. */
static void hold(const struct load *load, int64_t now) {
  int64_t end = now + (int64_t)load->hold_ms * 1000000, settled = now + SETTLED_MS * 1000000;
  int64_t first = atomic_load(&shared->commands), before;
  if (settled > end) {
    sleep_until(end);
    return;
  }
  sleep_until(settled);
  before = atomic_load(&shared->commands);
  sleep_until(end);
  atomic_fetch_add(&shared->hold_commands, atomic_load(&shared->commands) - first);
  atomic_fetch_add(&shared->held_commands, atomic_load(&shared->commands) - before);
  atomic_fetch_add(&shared->held_ns, end - settled);
}

/* 0 = it was not granted. */
static int take_once(redlock *client, const struct load *load, int process, int64_t end_ns) {
  redlock_lock lock;
  int64_t start = bench_ns(), now, released, left_ms = (end_ns - start) / 1000000;
  uint32_t wait_ms = load->sort == CONTENDS ? WAIT_MS : left_ms > 0 ? (uint32_t)left_ms : 0;
  if (redlock_acquire(client, &lock, "contended", BENCH_TTL_MS, wait_ms) != REDLOCK_OK) return 0;
  now = bench_ns();
  released = atomic_load(&shared->released_ns);
  if (released > start) times_add(&shared->handovers, now - released);
  times_add(&shared->waits, now - start);
  atomic_fetch_add(&shared->grants[process], 1);
  hold(load, now);
  atomic_store(&shared->released_ns, bench_ns());
  (void)redlock_release(client, &lock);
  atomic_store(&shared->end_ns, bench_ns());
  return 1;
}

static void contend(redlock *client, const struct load *load, int process, int64_t end_ns) {
  while (bench_ns() < end_ns && take_once(client, load, process, end_ns) && load->sort != DRAINS)
    sleep_until(after_ms(load->think_ms));
}

/* The others wait for it in vain. */
static void keep(redlock *client, const struct load *load, int process, int64_t end_ns) {
  redlock_lock lock;
  if (process) {
    (void)redlock_acquire(client, &lock, "contended", BENCH_TTL_MS,
                          (uint32_t)load->seconds * 1000 - 100);
    return;
  }
  if (redlock_acquire(client, &lock, "contended", 1000, 0) != REDLOCK_OK) bench_die("not taken");
  (void)redlock_keep(client, &lock, 0);
  while (bench_ns() < end_ns) (void)redlock_wait(client, 20);
  (void)redlock_release(client, &lock);
}

/* Connected, by a lock of its own. */
static void begin(redlock *client, const struct servers *set, const struct load *load,
                  int process) {
  static char list[SERVERS_LIST];
  char own[24];
  redlock_options options;
  redlock_lock lock;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 500; /* a busy machine is no fault of the servers */
  if (set == &polled) {
    options.retry_delay_min_ms = (uint32_t)load->poll_min_ms;
    options.retry_delay_max_ms = (uint32_t)load->poll_max_ms;
  }
  snprintf(own, sizeof own, "own:%d", process);
  if (redlock_init(client, servers_list(set, BENCH_SERVERS, list), &options)) _exit(1);
  if (redlock_acquire(client, &lock, own, BENCH_TTL_MS, 0) == REDLOCK_OK)
    (void)redlock_release(client, &lock);
}

static void work(const struct servers *set, const struct load *load, int process,
                 int64_t start_ns) {
  int64_t end_ns = start_ns + (int64_t)load->seconds * 1000000000;
  int is_keeper = load->sort == KEEPS && process == 0;
  redlock client;
  begin(&client, set, load, process);
  sleep_until(start_ns - (is_keeper ? START_MS / 4 * 1000000 : 0));
  (load->sort == KEEPS ? keep : contend)(&client, load, process, end_ns);
  redlock_close(&client);
  _exit(0);
}

/* ---- all of them ---- */

static void take_times(struct samples *to, struct times *from) {
  int i, count = atomic_load(&from->count);
  for (i = 0; i < count && i < BENCH_SAMPLES; i++) samples_add(to, from->ns[i]);
}

static void note_round(struct outcome *o, const struct load *load, int64_t start_ns) {
  double seconds = load->seconds, held_s = (double)atomic_load(&shared->held_ns) / 1e9;
  double commands = (double)atomic_load(&shared->commands);
  int i, sum = 0;
  for (i = 0; i < load->processes; i++) {
    sum += atomic_load(&shared->grants[i]);
    o->grants[i] += atomic_load(&shared->grants[i]);
  }
  if (load->sort != KEEPS) seconds = (double)(atomic_load(&shared->end_ns) - start_ns) / 1e9;
  series_add(&o->rate, sum / seconds);
  series_add(&o->commands, commands / (sum ? sum : 1));
  series_add(&o->a_second, held_s > 0 ? (double)atomic_load(&shared->held_commands) / held_s
                                      : commands / seconds);
  series_add(&o->a_hold, (double)atomic_load(&shared->hold_commands) / (sum ? sum : 1));
  take_times(&o->handovers, &shared->handovers);
  take_times(&o->waits, &shared->waits);
}

static void run_round(const struct servers *set, const struct load *load, struct outcome *o) {
  static pid_t pids[MOST_PROCESSES];
  int64_t start_ns = after_ms(START_MS + 10 * load->processes);
  int i, status;
  memset(shared, 0, sizeof *shared);
  for (i = 0; i < load->processes; i++) {
    pids[i] = fork();
    if (pids[i] < 0) bench_die("no process");
    if (pids[i] == 0) work(set, load, i, start_ns);
  }
  sleep_until(start_ns - START_MS / 2 * 1000000);
  atomic_store(&shared->commands, 0); /* what connecting took */
  for (i = 0; i < load->processes; i++)
    if (waitpid(pids[i], &status, 0) < 0 || status) bench_die("a process failed");
  note_round(o, load, start_ns);
}

/* ---- what is printed; plot.awk reads it ---- */

/* Of all processes. */
struct shares {
  int least, most, none;
};

static struct shares shares_of(const struct outcome *o, const struct load *load) {
  struct shares s = {o->grants[0], o->grants[0], 0};
  int i;
  for (i = 0; i < load->processes; i++) {
    if (o->grants[i] < s.least) s.least = o->grants[i];
    if (o->grants[i] > s.most) s.most = o->grants[i];
    s.none += o->grants[i] == 0;
  }
  return s;
}

static void print_outcome(struct outcome *o, const struct load *load, const char *how) {
  struct shares s = shares_of(o, load);
  bench_say("  %-7s %7.1f locks/s %7.1f commands a lock %8.1f a second%s", how,
            series_median(&o->rate), series_median(&o->commands), series_median(&o->a_second),
            load->hold_ms > SETTLED_MS ? " while held" : "");
  if (load->hold_ms > SETTLED_MS) bench_say(" %7.1f a hold", series_median(&o->a_hold));
  bench_say("\n          hand-over p50 %7.2f p99 %7.2f ms (%d)  wait p99 %7.1f worst %7.1f ms"
            "  least %d most %d  %d got none\n", samples_percentile(&o->handovers, 50) / 1e6,
            samples_percentile(&o->handovers, 99) / 1e6, o->handovers.count,
            samples_percentile(&o->waits, 99) / 1e6, samples_percentile(&o->waits, 100) / 1e6,
            s.least, s.most, s.none);
}

static void at_most(const char *what, double figure, double limit) {
  if (limit > 0)
    bench_say("          %s: at most %.0f: %s\n", what, limit, bench_met(figure <= limit));
}

static void at_least(const char *what, double figure, double limit) {
  if (limit > 0)
    bench_say("          %s: at least %.4g: %s\n", what, limit, bench_met(figure >= limit));
}

static void judge(struct outcome *o, struct outcome *beside, const struct load *load) {
  double rate = load->least_rate, polls = series_median(&beside->rate);
  struct shares s = shares_of(o, load);
  if (load->as_polling && polls < rate) rate = polls;
  at_least("locks a second", series_median(&o->rate), rate);
  at_most("commands a lock", series_median(&o->commands), load->most_commands);
  at_most("commands a second", series_median(&o->a_second), load->most_a_second);
  at_most("commands a hold", series_median(&o->a_hold), load->most_a_hold);
  at_most("hand-over p50, ms", samples_percentile(&o->handovers, 50) / 1e6, load->most_p50);
  at_most("hand-over p99, ms", samples_percentile(&o->handovers, 99) / 1e6, load->most_p99);
  at_most("wait p99, ms", samples_percentile(&o->waits, 99) / 1e6, load->most_wait);
  at_least("least of a process, times the most", s.most ? (double)s.least / s.most : 0,
           load->least_share);
}

static void run(const struct load *load) {
  int round;
  bench_say("\n  %s, %d x %d s\n", load->name, load->rounds, load->seconds);
  memset(outcomes, 0, sizeof outcomes);
  for (round = 0; round < load->rounds; round++) {
    run_round(&waking, load, &outcomes[0]);
    if (load->sort != DRAINS) run_round(&polled, load, &outcomes[1]);
  }
  print_outcome(&outcomes[0], load, "woken");
  if (load->sort != DRAINS) print_outcome(&outcomes[1], load, "polling");
  judge(&outcomes[0], &outcomes[1], load);
}

#define OF_CROWD .hold_ms = 20, .rounds = 1, .poll_min_ms = 50, .poll_max_ms = 250

static struct load loads[] = {
    {.name = "8 processes, 5 ms hold, 5 ms think", .processes = 8, .hold_ms = 5, .think_ms = 5,
     .seconds = 3, .rounds = 5, .least_rate = 170, .as_polling = 1, .most_commands = 50,
     .most_wait = 150, .least_share = .75},
    {.name = "8 processes, no hold, no think", .processes = 8, .seconds = 10, .rounds = 1,
     .least_share = 1e-4},
    {.name = "8 processes, 100 ms hold", .processes = 8, .hold_ms = 100, .think_ms = 5,
     .seconds = 5, .rounds = 1, .most_commands = 80},
    {.name = "8 processes, 300 ms hold", .processes = 8, .hold_ms = 300, .think_ms = 5,
     .seconds = 10, .rounds = 1, .most_p50 = 3, .most_p99 = 20},
    {.name = "8 processes, 2 s hold", .processes = 8, .hold_ms = 2000, .think_ms = 5, .seconds = 6,
     .rounds = 1, .most_a_second = 40},
    {.name = "a waiter and a holder, 10 s hold", .processes = 2, .hold_ms = 10000, .think_ms = 5,
     .seconds = 11, .rounds = 1, .most_a_hold = 60, .most_p50 = 2},
    {.name = "8 waiters, a lock kept with a ttl of 1 s", .processes = 9, .seconds = 10, .rounds = 1,
     .sort = KEEPS, .most_a_second = 120},
    {.name = "8 processes, 5 ms hold, 5 ms think, a poll every 100 to 200 ms", .processes = 8,
     .hold_ms = 5, .think_ms = 5, .seconds = 3, .rounds = 3, .poll_min_ms = 100,
     .poll_max_ms = 200},
    {.name = "a crowd of 2", .sort = CROWD, .processes = 2, .seconds = 4, OF_CROWD},
    {.name = "a crowd of 8", .sort = CROWD, .processes = 8, .seconds = 4, OF_CROWD},
    {.name = "a crowd of 32", .sort = CROWD, .processes = 32, .seconds = 4, OF_CROWD},
    {.name = "a crowd of 128", .sort = CROWD, .processes = 128, .seconds = 4, OF_CROWD},
    {.name = "a crowd of 256", .sort = CROWD, .processes = 256, .seconds = 4, OF_CROWD},
    {.name = "a crowd of 128, each once", .sort = DRAINS, .processes = 128, .seconds = 30,
     OF_CROWD}};

static void *share(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) bench_die("no shared memory");
  return memory;
}

int main(int argc, char **argv) {
  int i, count = (int)(sizeof loads / sizeof loads[0]), only = argc > 1 ? atoi(argv[1]) : 0;
  shared = (struct shared *)share(sizeof *shared);
  bench_servers(&waking, BENCH_SERVERS);
  servers_start(&polled, BENCH_SERVERS, "--rename-command HELLO none");
  bench_say("Waiting, %d servers: woken, and polling as on servers without HELLO\n",
            BENCH_SERVERS);
  for (i = 0; i < count; i++) {
    if (only && only != i + 1) continue;
    if (argc > 2) loads[i].seconds = atoi(argv[2]);
    if (argc > 3) loads[i].hold_ms = atoi(argv[3]);
    if (argc > 4) loads[i].think_ms = atoi(argv[4]);
    if (argc > 5) loads[i].processes = atoi(argv[5]);
    if (loads[i].processes < 2 || loads[i].processes > MOST_PROCESSES) bench_die("2 to 1024");
    run(&loads[i]);
  }
  servers_stop(&waking);
  servers_stop(&polled);
  return 0;
}
