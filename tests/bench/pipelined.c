/* pipelined: W locks in flight on one client and one thread, against the floor with as many, whose
 * releases are the cheapest that the servers know; and beside it one whose releases are scripts.
 *
 * Built twice: with the default configuration, and with a ring that has room for them all
 * (BENCH_BIG in bench.mk). */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/floor.h"

#define IN_FLIGHT FLOOR_WIDTH
#include "tests/bench/in_flight.h"

enum { TURNS = 10, TURN_MS = 30 };

static const int widths[] = {1, 8, 64, 256};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* What is measured with one width. */
struct row {
  struct series floor, ours, ratio, of_scripts, gain, floor_cpu, cpu;
};

struct pace {
  double rate;   /* cycles a second */
  double cpu_ns; /* this thread's own time for each, in user and kernel space */
};

static struct floor probe, scripts; /* scripts.width = 0: the probe's releases are scripts */

static int64_t probe_run(int64_t until_ns) { return floor_run(&probe, until_ns); }

static int64_t scripts_run(int64_t until_ns) { return floor_run(&scripts, until_ns); }

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
  struct pace floors = {0, 0}, ours = {0, 0}, old = {0, 0};
  int turn;
  for (turn = 0; turn < TURNS; turn++) {
    add_pace(turn % 2 ? &ours : &floors, turn % 2 ? client_run : probe_run, TURN_MS);
    add_pace(turn % 2 ? &floors : &ours, turn % 2 ? probe_run : client_run, TURN_MS);
    if (scripts.width) add_pace(&old, scripts_run, TURN_MS);
  }
  series_add(&row->floor, floors.rate);
  series_add(&row->ours, ours.rate);
  series_add(&row->ratio, ours.rate / floors.rate);
  if (scripts.width) series_add(&row->of_scripts, ours.rate / old.rate);
  series_add(&row->floor_cpu, floors.cpu_ns / 1000);
  series_add(&row->cpu, ours.cpu_ns / floors.cpu_ns);
}

static void open_both(int width) {
  int ports[BENCH_SERVERS], i;
  enum floor_release cheapest;
  servers_heal(&set);
  cheapest = floor_cheapest(&set.at[0]);
  for (i = 0; i < BENCH_SERVERS; i++) ports[i] = set.at[i].port;
  floor_open(&probe, ports, width, "floor", cheapest);
  if (cheapest != FLOOR_SCRIPTS) floor_open(&scripts, ports, width, "scripts", FLOOR_SCRIPTS);
  client_open(width);
}

static void measure(struct row *row, int width, struct row *single) {
  int round;
  open_both(width);
  probe_run(bench_ns() + WARM_UP_NS);
  if (scripts.width) scripts_run(bench_ns() + WARM_UP_NS);
  client_run(bench_ns() + WARM_UP_NS);
  for (round = 0; round < bench_rounds(); round++) run_round(row);
  for (round = 0; round < bench_rounds(); round++)
    series_add(&row->gain, row->ours.at[round] / series_median(&single->ours));
  redlock_close(&client);
  floor_close(&probe);
  if (scripts.width) floor_close(&scripts);
  bench_say(".");
}

static void print_figure(struct series *figure, int width, const char *what,
                         const char *verdict) {
  char name[64];
  snprintf(name, sizeof name, "W = %d: %s", width, what);
  series_row(name, figure, verdict);
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
  print_figure(&row->floor, width, "floor, cycles a second", "");
  print_figure(&row->ours, width, "redlock.h, cycles a second", "");
  print_figure(&row->ratio, width, "of the floor",
               least > 0 ? bench_met(series_median(&row->ratio) >= least) : "");
  if (scripts.width)
    print_figure(&row->of_scripts, width, "of the floor with scripts", "");
  print_figure(&row->floor_cpu, width, "floor, own microseconds a cycle", "");
  print_figure(&row->cpu, width, "own time, times the floor", "");
  print_figure(&row->gain, width, "times one at a time",
               big && width == FLOOR_WIDTH ? bench_met(series_median(&row->gain) >= 8) : "");
}

/* With an argument: only that W. */
int main(int argc, char **argv) {
  static struct row rows[WIDTHS];
  int i, only = argc > 1 ? atoi(argv[1]) : 0;
  bench_servers(&set, BENCH_SERVERS);
  bench_say("Many locks in flight, with a ring of %d commands ", REDLOCK_MAX_COMMANDS);
  for (i = 0; i < WIDTHS; i++)
    if (!only || only == widths[i]) measure(&rows[i], widths[i], &rows[only ? i : 0]);
  bench_say(" the floor releases by %s", floor_text(probe.release));
  bench_head("");
  for (i = 0; i < WIDTHS; i++)
    if (!only || only == widths[i]) print_width(&rows[i], widths[i]);
  servers_stop(&set);
  return 0;
}
