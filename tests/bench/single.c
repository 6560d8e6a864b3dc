/* single: lock and release, one at a time, without contention, against the floor.
 *
 * The two take turns of TURN cycles on the same five servers, so that what else the machine does
 * affects both alike. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/count.h"
#include "tests/bench/floor.h"

enum { TURNS = 12, TURN = 150, WARM_UP = 200 };

struct round {
  struct samples lock, release;
  int64_t ns;
  long counts[COUNT_KINDS];
};

static struct floor probe;
static redlock client;

static void probe_cycle(struct round *r) {
  int64_t start = bench_ns(), locked;
  floor_command(&probe);
  locked = bench_ns();
  floor_command(&probe);
  samples_add(&r->lock, locked - start);
  samples_add(&r->release, bench_ns() - locked);
}

static void client_cycle(struct round *r) {
  redlock_lock lock;
  int64_t start = bench_ns(), locked;
  if (redlock_acquire(&client, &lock, "client:0", BENCH_TTL_MS, 0)) bench_die("not granted");
  locked = bench_ns();
  if (redlock_release(&client, &lock)) bench_die("not released");
  samples_add(&r->lock, locked - start);
  samples_add(&r->release, bench_ns() - locked);
}

static void take_turn(struct round *r, void (*cycle)(struct round *), int cycles) {
  int64_t start = bench_ns();
  long before[COUNT_KINDS];
  int i;
  memcpy(before, counts, sizeof before);
  for (i = 0; i < cycles; i++) cycle(r);
  for (i = 0; i < COUNT_KINDS; i++) r->counts[i] += counts[i] - before[i];
  r->ns += bench_ns() - start;
}

static void run_round(struct round *floors, struct round *ours) {
  int turn;
  memset(floors, 0, sizeof *floors);
  memset(ours, 0, sizeof *ours);
  for (turn = 0; turn < TURNS; turn++) {
    take_turn(turn % 2 ? ours : floors, turn % 2 ? client_cycle : probe_cycle, TURN);
    take_turn(turn % 2 ? floors : ours, turn % 2 ? probe_cycle : client_cycle, TURN);
  }
}

/* ---- what is printed ---- */

enum { FLOOR_LOCK, FLOOR_P99, FLOOR_RATE, FLOOR_CALLS,
       LOCK, LOCK_P99, RELEASE, RATE, CALLS, NET_CALLS, LOCK_US, CYCLES, FIGURES };

/* Calls a cycle, of the first kinds in enum count_kind. */
static double calls(const struct round *r, int kinds) {
  double sum = 0;
  int i;
  for (i = 0; i < kinds; i++) sum += (double)r->counts[i];
  return sum / (TURNS * TURN);
}

static void note_round(struct series *s, struct round *floors, struct round *ours) {
  double lock = samples_percentile(&floors->lock, 50), p99 = samples_percentile(&floors->lock, 99);
  double cycles = 1e9 * TURNS * TURN;
  series_add(&s[FLOOR_LOCK], lock / 1000);
  series_add(&s[FLOOR_P99], p99 / 1000);
  series_add(&s[FLOOR_RATE], cycles / (double)floors->ns);
  series_add(&s[FLOOR_CALLS], calls(floors, COUNT_KINDS));
  series_add(&s[LOCK_US], samples_percentile(&ours->lock, 50) / 1000);
  series_add(&s[CYCLES], cycles / (double)ours->ns);
  series_add(&s[LOCK], samples_percentile(&ours->lock, 50) / lock);
  series_add(&s[LOCK_P99], samples_percentile(&ours->lock, 99) / p99);
  series_add(&s[RELEASE], samples_percentile(&ours->release, 50) /
                          samples_percentile(&floors->release, 50));
  series_add(&s[RATE], (double)floors->ns / (double)ours->ns);
  series_add(&s[CALLS], calls(ours, COUNT_KINDS) / calls(floors, COUNT_KINDS));
  series_add(&s[NET_CALLS], calls(ours, COUNT_NETWORK) / calls(floors, COUNT_NETWORK));
}

static void print_calls(const char *who, const struct round *r) {
  double per = TURNS * TURN;
  bench_say("  %s, a cycle: send %.2f, recv %.2f, poll %.2f, getrandom %.2f, getpid %.2f\n", who,
            (double)r->counts[COUNT_SEND] / per, (double)r->counts[COUNT_RECV] / per,
            (double)r->counts[COUNT_POLL] / per, (double)r->counts[COUNT_RANDOM] / per,
            (double)r->counts[COUNT_PID] / per);
}

static void print_rows(struct series *s) {
  double lock = series_median(&s[LOCK]), all = series_median(&s[CALLS]);
  series_row("floor: lock, microseconds", &s[FLOOR_LOCK], "");
  series_row("floor: lock, p99, microseconds", &s[FLOOR_P99], "");
  series_row("floor: cycles a second", &s[FLOOR_RATE], "");
  series_row("floor: system calls a cycle", &s[FLOOR_CALLS], "");
  series_row("redlock.h: lock, microseconds", &s[LOCK_US], "");
  series_row("redlock.h: cycles a second", &s[CYCLES], "");
  series_row("lock, median: times the floor", &s[LOCK], bench_met(lock <= 1.10));
  series_row("lock, p99: times the floor", &s[LOCK_P99], "");
  series_row("release, median: times the floor", &s[RELEASE], "");
  series_row("cycles a second: of the floor", &s[RATE], "");
  series_row("system calls: times the floor", &s[CALLS], bench_met(all <= 1.0));
  series_row("send, recv and poll alone: times the floor", &s[NET_CALLS], "");
}

static void open_both(const struct servers *set, char list[SERVERS_LIST]) {
  int ports[BENCH_SERVERS], i;
  for (i = 0; i < BENCH_SERVERS; i++) ports[i] = set->at[i].port;
  floor_open(&probe, ports, 1, "floor");
  servers_list(set, BENCH_SERVERS, list);
  if (redlock_init(&client, list, NULL)) bench_die("redlock_init failed");
}

int main(void) {
  static struct servers set;
  static struct round floors, ours;
  static struct series s[FIGURES];
  char list[SERVERS_LIST];
  int round;
  bench_servers(&set, BENCH_SERVERS);
  open_both(&set, list);
  bench_say("One lock at a time: %d rounds of %d cycles each ", BENCH_ROUNDS, TURNS * TURN);
  take_turn(&floors, probe_cycle, WARM_UP);
  take_turn(&ours, client_cycle, WARM_UP);
  for (round = 0; round < BENCH_ROUNDS; round++) {
    run_round(&floors, &ours);
    note_round(s, &floors, &ours);
    bench_say(".");
  }
  bench_head("");
  print_rows(s);
  print_calls("floor", &floors);
  print_calls("redlock.h", &ours);
  redlock_close(&client);
  floor_close(&probe);
  servers_stop(&set);
  return 0;
}
