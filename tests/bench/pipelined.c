/* pipelined: W locks in flight on one client and one thread, against the floor with as many, whose
 * releases are the cheapest that the servers know, or scripts with FLOOR=scripts.
 * Each lock is another resource; it is released as soon as it is returned, and taken again as soon
 * as it is released.
 *
 * Built three times: with the default configuration, with a ring that has room for 256 (BENCH_BIG
 * in bench.mk), and with one for 10 000, of which it says how fast they are beside 256: nothing
 * that a step does may walk all locks. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/floor.h"

enum { FEW = FLOOR_WIDTH, MANY = 10000, TURNS = 10, TURN_MS = 30, LONG_TURN_MS = 1000,
       PATIENCE_MS = 2000, WARM_UP_NS = 100000000 };

static struct servers set;
static redlock client;
static redlock_lock locks[MANY];
static char names[MANY][24];

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

/* ---- beside the floor ---- */

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

static struct floor probe;

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

static void measure(struct row *row, int width, struct row *single) {
  int round;
  servers_heal(&set);
  floor_open(&probe, &set, width);
  client_open(width);
  probe_run(bench_ns() + WARM_UP_NS);
  client_run(bench_ns() + WARM_UP_NS);
  for (round = 0; round < bench_rounds(); round++) run_round(row);
  for (round = 0; round < bench_rounds(); round++)
    series_add(&row->gain, row->ours.at[round] / series_median(&single->ours));
  redlock_close(&client);
  floor_close(&probe);
  bench_say(".");
}

/* The share of the floor that is asked for; 0 = none is. */
static double least_share(int width, int big) {
  if (width == 8) return 0.85;
  if (width == FLOOR_WIDTH) return big ? 0.90 : 0.45;
  return 0;
}

static void print_width(struct row *row, int width) {
  int big = REDLOCK_MAX_COMMANDS >= 2 * FLOOR_WIDTH;
  double least = least_share(width, big);
  char w[16];
  snprintf(w, sizeof w, "W = %d", width);
  series_row_of(w, "floor, cycles a second", &row->floor, "");
  series_row_of(w, "redlock.h, cycles a second", &row->ours, "");
  series_row_of(w, "of the floor", &row->ratio,
                least > 0 ? bench_met(series_median(&row->ratio) >= least) : "");
  series_row_of(w, "floor, own microseconds a cycle", &row->floor_cpu, "");
  series_row_of(w, "own time, times the floor", &row->cpu, "");
  series_row_of(w, "times one at a time", &row->gain,
                big && width == FLOOR_WIDTH ? bench_met(series_median(&row->gain) >= 8) : "");
}

static void measure_widths(int only) {
  static struct row rows[WIDTHS];
  int i;
  for (i = 0; i < WIDTHS; i++)
    if (!only || only == widths[i]) measure(&rows[i], widths[i], &rows[only ? i : 0]);
  bench_say(" the floor releases by %s", floor_text(probe.release));
  bench_head("");
  for (i = 0; i < WIDTHS; i++)
    if (!only || only == widths[i]) print_width(&rows[i], widths[i]);
}

/* ---- ten thousand, beside a few ---- */

/* Cycles a second with so many in flight. */
static double rate_of(int width) {
  int64_t start, cycles;
  servers_heal(&set);
  client_open(width);
  (void)client_run(bench_ns() + 5 * (int64_t)WARM_UP_NS);
  start = bench_ns();
  cycles = client_run(start + (int64_t)LONG_TURN_MS * 1000000); /* each goes round ten times */
  bench_say(".");
  start = bench_ns() - start;
  redlock_close(&client);
  return (double)cycles * 1e9 / (double)start;
}

static void measure_many(void) {
  static struct series few, many, ratio;
  int round;
  for (round = 0; round < bench_rounds(); round++) {
    double least = rate_of(FEW), most = rate_of(MANY);
    series_add(&few, least);
    series_add(&many, most);
    series_add(&ratio, most / least);
  }
  bench_head("");
  series_row("256 in flight, cycles a second", &few, "");
  series_row("10 000 in flight, cycles a second", &many, "");
  series_row("10 000 in flight, of 256", &ratio, bench_met(series_median(&ratio) >= 0.6));
}

/* With an argument: only that W. */
int main(int argc, char **argv) {
  bench_servers(&set, BENCH_SERVERS);
  bench_say("Many locks in flight, with a ring of %d commands ", REDLOCK_MAX_COMMANDS);
  if (REDLOCK_MAX_COMMANDS > 2 * MANY) measure_many();
  else measure_widths(argc > 1 ? atoi(argv[1]) : 0);
  servers_stop(&set);
  return 0;
}
