/* single: lock and release, one at a time, without contention, against the floor; and the same with
 * fencing tokens (R25). The floor's releases are the cheapest that the servers know; beside it is
 * one whose releases are scripts, where those differ.
 *
 * All take turns of TURN cycles on the same five servers, so that what else the machine does
 * affects all alike. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/count.h"
#include "tests/bench/floor.h"

enum { TURNS = 12, TURN = 150, WARM_UP = 200 };
enum { FLOOR, OURS, FENCED, SCRIPTS, PARTIES };
enum { FENCED_TTL_MS = 4000 }; /* the longest ttl of all: new servers vote when they are that old */

struct round {
  struct samples lock, release;
  int64_t ns;
  long counts[COUNT_KINDS];
};

static struct floor probe, scripts;
static redlock client, fenced;

static void floor_cycle(struct floor *f, struct round *r) {
  int64_t start = bench_ns(), locked;
  floor_command(f);
  locked = bench_ns();
  floor_command(f);
  samples_add(&r->lock, locked - start);
  samples_add(&r->release, bench_ns() - locked);
}

static void probe_cycle(struct round *r) { floor_cycle(&probe, r); }

static void scripts_cycle(struct round *r) { floor_cycle(&scripts, r); }

static void cycle_of(redlock *rl, const char *resource, uint32_t ttl_ms, struct round *r) {
  redlock_lock lock;
  int64_t start = bench_ns(), locked;
  if (redlock_acquire(rl, &lock, resource, ttl_ms, 0)) bench_die("not granted");
  locked = bench_ns();
  if (redlock_release(rl, &lock)) bench_die("not released");
  samples_add(&r->lock, locked - start);
  samples_add(&r->release, bench_ns() - locked);
}

static void client_cycle(struct round *r) {
  cycle_of(&client, "client:0", BENCH_TTL_MS, r);
}

static void fenced_cycle(struct round *r) {
  cycle_of(&fenced, "fenced:0", FENCED_TTL_MS, r);
}

static void (*const party_cycle[PARTIES])(struct round *) = {
  probe_cycle, client_cycle, fenced_cycle, scripts_cycle
};

static void take_turn(struct round *rounds, int party, int count) {
  struct round *r = &rounds[party];
  int64_t start = bench_ns();
  long before[COUNT_KINDS];
  int i;
  memcpy(before, counts, sizeof before);
  for (i = 0; i < count; i++) party_cycle[party](r);
  for (i = 0; i < COUNT_KINDS; i++) r->counts[i] += counts[i] - before[i];
  r->ns += bench_ns() - start;
}

static void run_round(struct round *rounds) {
  int turn, i;
  memset(rounds, 0, PARTIES * sizeof *rounds);
  for (turn = 0; turn < TURNS; turn++)
    for (i = 0; i < PARTIES; i++) /* each time another one begins */
      take_turn(rounds, (turn + i) % PARTIES, TURN);
}

/* ---- what is printed ---- */

enum { FLOOR_LOCK, FLOOR_P99, FLOOR_RATE, FLOOR_CALLS,
       LOCK, LOCK_P99, RELEASE, RATE, CALLS, NET_CALLS, LOCK_US, CYCLES,
       FENCED_US, FENCED_LOCK, OLD_LOCK, OLD_RELEASE, OLD_RATE, FIGURES };

/* Calls a cycle, of the first kinds in enum count_kind. */
static double calls(const struct round *r, int kinds) {
  double sum = 0;
  int i;
  for (i = 0; i < kinds; i++) sum += (double)r->counts[i];
  return sum / (TURNS * TURN);
}

static void note_fenced(struct series *s, struct round *with, struct round *without) {
  double lock = samples_percentile(&with->lock, 50);
  series_add(&s[FENCED_US], lock / 1000);
  series_add(&s[FENCED_LOCK], lock / samples_percentile(&without->lock, 50));
}

/* Against the floor with scripts. */
static void note_scripts(struct series *s, struct round *old, struct round *ours) {
  series_add(&s[OLD_LOCK], samples_percentile(&ours->lock, 50) /
                           samples_percentile(&old->lock, 50));
  series_add(&s[OLD_RELEASE], samples_percentile(&ours->release, 50) /
                              samples_percentile(&old->release, 50));
  series_add(&s[OLD_RATE], (double)old->ns / (double)ours->ns);
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
  double token = series_median(&s[FENCED_LOCK]);
  series_row("floor: lock, microseconds", &s[FLOOR_LOCK], "");
  series_row("floor: lock, p99, microseconds", &s[FLOOR_P99], "");
  series_row("floor: cycles a second", &s[FLOOR_RATE], "");
  series_row("floor: system calls a cycle", &s[FLOOR_CALLS], "");
  series_row("redlock.h: lock, microseconds", &s[LOCK_US], "");
  series_row("redlock.h: cycles a second", &s[CYCLES], "");
  series_row("with a token: lock, microseconds", &s[FENCED_US], "");
  series_row("with a token: lock, times without", &s[FENCED_LOCK], bench_met(token <= 1.4));
  series_row("lock, median: times the floor", &s[LOCK], bench_met(lock <= 1.10));
  series_row("lock, p99: times the floor", &s[LOCK_P99], "");
  series_row("release, median: times the floor", &s[RELEASE], "");
  series_row("cycles a second: of the floor", &s[RATE], "");
  series_row("lock, median: times the floor with scripts", &s[OLD_LOCK], "");
  series_row("release, median: times the floor with scripts", &s[OLD_RELEASE], "");
  series_row("cycles a second: of the floor with scripts", &s[OLD_RATE], "");
  series_row("system calls: times the floor", &s[CALLS], bench_met(all <= 1.0));
  series_row("send, recv and poll alone: times the floor", &s[NET_CALLS], "");
}

static void open_all(const struct servers *set, char list[SERVERS_LIST]) {
  redlock_options options;
  int ports[BENCH_SERVERS], i;
  for (i = 0; i < BENCH_SERVERS; i++) ports[i] = set->at[i].port;
  floor_open(&probe, ports, 1, "floor", floor_cheapest(&set->at[0]));
  floor_open(&scripts, ports, 1, "scripts", FLOOR_SCRIPTS);
  servers_list(set, BENCH_SERVERS, list);
  memset(&options, 0, sizeof options);
  options.fencing = 1;
  options.max_ttl_ms = FENCED_TTL_MS;
  if (redlock_init(&client, list, NULL) || redlock_init(&fenced, list, &options))
    bench_die("redlock_init failed");
}

/* The quarantine is over, and the servers' clocks are known. */
static void await_votes(void) {
  redlock_lock lock;
  if (redlock_acquire(&fenced, &lock, "fenced:0", FENCED_TTL_MS, 4 * FENCED_TTL_MS))
    bench_die("no token");
  (void)redlock_release(&fenced, &lock);
}

int main(void) {
  static struct servers set;
  static struct round rounds[PARTIES];
  static struct series s[FIGURES];
  char list[SERVERS_LIST];
  int round, i;
  bench_servers(&set, BENCH_SERVERS);
  open_all(&set, list);
  await_votes();
  bench_say("One lock at a time: %d rounds of %d cycles each ", bench_rounds(), TURNS * TURN);
  for (i = 0; i < PARTIES; i++) take_turn(rounds, i, WARM_UP);
  for (round = 0; round < bench_rounds(); round++) {
    run_round(rounds);
    note_round(s, &rounds[FLOOR], &rounds[OURS]);
    note_fenced(s, &rounds[FENCED], &rounds[OURS]);
    note_scripts(s, &rounds[SCRIPTS], &rounds[OURS]);
    bench_say(".");
  }
  bench_say(" the floor releases by %s", floor_text(probe.release));
  bench_head("");
  print_rows(s);
  print_calls("floor", &rounds[FLOOR]);
  print_calls("redlock.h", &rounds[OURS]);
  redlock_close(&client);
  redlock_close(&fenced);
  floor_close(&probe);
  floor_close(&scripts);
  servers_stop(&set);
  return 0;
}
