/* pipelined: W locks in flight on one client and one thread, against the floor with as many.
 *
 * Built twice: with the default configuration, and with a log that has room for them all
 * (BENCH_BIG in bench.mk). Each lock is another resource; it is released as soon as it is handed
 * back, and taken again as soon as it is released. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/floor.h"

enum { TURNS = 10, TURN_MS = 30, WARM_UP_NS = 100000000, PATIENCE_MS = 2000 };

static const int widths[] = {1, 8, 64, 256};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* What is measured with one width. */
struct row {
  struct series floor, ours, ratio, gain, floor_cpu, cpu;
};

struct pace {
  double rate;   /* cycles a second */
  double cpu_ns; /* this thread's own time for each, in user and kernel space */
};

static struct servers set;
static struct floor probe;
static redlock client;
static redlock_lock locks[FLOOR_WIDTH];
static char names[FLOOR_WIDTH][24];

static void begin(redlock_lock *lock) {
  const char *name = names[lock - locks];
  if (redlock_start_acquire(&client, lock, name, BENCH_TTL_MS, 0) != REDLOCK_PENDING)
    bench_die("an acquire does not start");
}

/* Goes on with a lock that was handed back; 1 = a cycle is done. */
static int go_on(redlock_lock *lock) {
  if (lock->status != REDLOCK_OK) bench_die(redlock_strerror(lock->status));
  if (lock->operation == REDLOCK_RELEASE) return 1;
  if (redlock_start_release(&client, lock) != REDLOCK_PENDING) bench_die("no release");
  return 0;
}

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

static int64_t probe_run(int64_t until_ns) { return floor_run(&probe, until_ns); }

static int64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void add_pace(struct pace *to, int64_t (*run)(int64_t), int ms) {
  int64_t start = bench_ns(), cpu = cpu_ns(), cycles = run(start + (int64_t)ms * 1000000);
  to->rate += (double)cycles * 1e9 / (double)(bench_ns() - start) / TURNS;
  if (cycles) to->cpu_ns += (double)(cpu_ns() - cpu) / (double)cycles / TURNS;
}

/* The one that does not run has its replies waiting in its sockets: no work for anyone. */
static void run_round(struct row *row) {
  struct pace floors = {0, 0}, ours = {0, 0};
  int turn;
  for (turn = 0; turn < TURNS; turn++) {
    add_pace(turn % 2 ? &ours : &floors, turn % 2 ? client_run : probe_run, TURN_MS);
    add_pace(turn % 2 ? &floors : &ours, turn % 2 ? probe_run : client_run, TURN_MS);
  }
  series_add(&row->floor, floors.rate);
  series_add(&row->ours, ours.rate);
  series_add(&row->ratio, ours.rate / floors.rate);
  series_add(&row->floor_cpu, floors.cpu_ns / 1000);
  series_add(&row->cpu, ours.cpu_ns / floors.cpu_ns);
}

static void open_both(int width, char list[SERVERS_LIST]) {
  int ports[BENCH_SERVERS], i;
  redlock_options options;
  servers_heal(&set);
  for (i = 0; i < BENCH_SERVERS; i++) ports[i] = set.at[i].port;
  floor_open(&probe, ports, width, "floor");
  servers_list(&set, BENCH_SERVERS, list);
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = PATIENCE_MS;
  if (redlock_init(&client, list, &options)) bench_die("redlock_init failed");
  for (i = 0; i < width; i++) {
    snprintf(names[i], sizeof names[i], "client:%d", i);
    begin(&locks[i]);
  }
}

static void measure(struct row *row, int width, struct row *single) {
  char list[SERVERS_LIST];
  int round;
  open_both(width, list);
  probe_run(bench_ns() + WARM_UP_NS);
  client_run(bench_ns() + WARM_UP_NS);
  for (round = 0; round < BENCH_ROUNDS; round++) run_round(row);
  for (round = 0; round < BENCH_ROUNDS; round++)
    series_add(&row->gain, row->ours.at[round] / series_median(&single->ours));
  redlock_close(&client);
  floor_close(&probe);
  bench_say(".");
}

static void print_figure(struct series *figure, int width, const char *what,
                         const char *verdict) {
  char name[64];
  snprintf(name, sizeof name, "W = %d: %s", width, what);
  series_row(name, figure, verdict);
}

static void print_width(struct row *row, int width) {
  int big = REDLOCK_MAX_COMMANDS >= 2 * FLOOR_WIDTH && width == FLOOR_WIDTH;
  print_figure(&row->floor, width, "floor, cycles a second", "");
  print_figure(&row->ours, width, "redlock.h, cycles a second", "");
  print_figure(&row->ratio, width, "of the floor",
               big ? bench_met(series_median(&row->ratio) >= 0.85) : "");
  print_figure(&row->floor_cpu, width, "floor, own microseconds a cycle", "");
  print_figure(&row->cpu, width, "own time, times the floor", "");
  print_figure(&row->gain, width, "times one at a time",
               big ? bench_met(series_median(&row->gain) >= 8) : "");
}

/* With an argument: only that W. */
int main(int argc, char **argv) {
  static struct row rows[WIDTHS];
  int i, only = argc > 1 ? atoi(argv[1]) : 0;
  bench_servers(&set, BENCH_SERVERS);
  bench_say("Many locks in flight, with a log of %d commands ", REDLOCK_MAX_COMMANDS);
  for (i = 0; i < WIDTHS; i++)
    if (!only || only == widths[i]) measure(&rows[i], widths[i], &rows[only ? i : 0]);
  bench_head("");
  for (i = 0; i < WIDTHS; i++)
    if (!only || only == widths[i]) print_width(&rows[i], widths[i]);
  servers_stop(&set);
  return 0;
}
