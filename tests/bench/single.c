/* single: lock and release, one at a time, without contention, against the floor; and the same with
 * fencing tokens (R25). The floor's releases are the cheapest that the servers know, or scripts
 * with FLOOR=scripts.
 *
 * All take turns of TURN cycles on the same five servers, so that what else the machine does
 * affects all alike. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/count.h"
#include "tests/bench/floor.h"

enum { TURNS = 12, TURN = 150, WARM_UP = 200 };
enum { FLOOR, OURS, FENCED, PARTIES };
enum { FENCED_TTL_MS = 4000 }; /* the longest ttl of all: new servers vote when they are that old */

struct round {
  struct samples lock, release;
  int64_t ns;
  long counts[COUNT_KINDS];
};

static struct floor probe;
static redlock client, fenced;

static void floor_cycle(struct round *r) {
  int64_t start = bench_ns(), locked;
  floor_command(&probe);
  locked = bench_ns();
  floor_command(&probe);
  samples_add(&r->lock, locked - start);
  samples_add(&r->release, bench_ns() - locked);
}

static void library_cycle(redlock *rl, uint32_t ttl_ms, struct round *r) {
  const char *resource = rl == &fenced ? "fenced:0" : "client:0";
  redlock_lock lock;
  int64_t start = bench_ns(), locked;
  if (redlock_acquire(rl, &lock, resource, ttl_ms, 0)) bench_die("not granted");
  locked = bench_ns();
  if (redlock_release(rl, &lock)) bench_die("not released");
  samples_add(&r->lock, locked - start);
  samples_add(&r->release, bench_ns() - locked);
}

static void cycle_of(int party, struct round *r) {
  if (party == FLOOR) floor_cycle(r);
  else if (party == OURS) library_cycle(&client, BENCH_TTL_MS, r);
  else library_cycle(&fenced, FENCED_TTL_MS, r);
}

static void take_turn(struct round *rounds, int party, int count) {
  struct round *r = &rounds[party];
  int64_t start = bench_ns();
  long before[COUNT_KINDS];
  int i;
  memcpy(before, counts, sizeof before);
  for (i = 0; i < count; i++) cycle_of(party, r);
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

/* Of each round. */
enum { FLOOR_LOCK, FLOOR_P99, FLOOR_RATE, FLOOR_CALLS, LOCK_US, RATE, FENCED_US, FENCED_LOCK, LOCK,
       LOCK_P99, RELEASE, SHARE, CALLS, NET_CALLS, FIGURES };

static const struct {
  const char *name;
  double most; /* the limit; 0 = none */
} figures[FIGURES] = {{"floor: lock, microseconds", 0},
                      {"floor: lock, p99, microseconds", 0},
                      {"floor: cycles a second", 0},
                      {"floor: system calls a cycle", 0},
                      {"redlock.h: lock, microseconds", 0},
                      {"redlock.h: cycles a second", 0},
                      {"with a token: lock, microseconds", 0},
                      {"with a token: lock, times without", 1.4},
                      {"lock, median: times the floor", 1.1},
                      {"lock, p99: times the floor", 0},
                      {"release, median: times the floor", 0},
                      {"cycles a second: of the floor", 0},
                      {"system calls: times the floor", 1},
                      {"send, recv and poll alone: times the floor", 0}};

/* Calls a cycle, of the first kinds in enum count_kind. */
static double calls(const struct round *r, int kinds) {
  double sum = 0;
  int i;
  for (i = 0; i < kinds; i++) sum += (double)r->counts[i];
  return sum / (TURNS * TURN);
}

static double rate(const struct round *r) { return 1e9 * TURNS * TURN / (double)r->ns; }

static double lock_us(struct round *r, int percent) {
  return samples_percentile(&r->lock, percent) / 1000;
}

static double release_us(struct round *r) { return samples_percentile(&r->release, 50) / 1000; }

static void note_round(struct series *s, struct round *rounds) {
  struct round *least = &rounds[FLOOR], *ours = &rounds[OURS];
  double of[FIGURES];
  int i;
  of[FLOOR_LOCK] = lock_us(least, 50);
  of[FLOOR_P99] = lock_us(least, 99);
  of[FLOOR_RATE] = rate(least);
  of[FLOOR_CALLS] = calls(least, COUNT_KINDS);
  of[LOCK_US] = lock_us(ours, 50);
  of[RATE] = rate(ours);
  of[FENCED_US] = lock_us(&rounds[FENCED], 50);
  of[FENCED_LOCK] = of[FENCED_US] / of[LOCK_US];
  of[LOCK] = of[LOCK_US] / of[FLOOR_LOCK];
  of[LOCK_P99] = lock_us(ours, 99) / of[FLOOR_P99];
  of[RELEASE] = release_us(ours) / release_us(least);
  of[SHARE] = of[RATE] / of[FLOOR_RATE];
  of[CALLS] = calls(ours, COUNT_KINDS) / of[FLOOR_CALLS];
  of[NET_CALLS] = calls(ours, COUNT_NETWORK) / calls(least, COUNT_NETWORK);
  for (i = 0; i < FIGURES; i++) series_add(&s[i], of[i]);
}

static void print_rows(struct series *s) {
  int i;
  for (i = 0; i < FIGURES; i++)
    series_row(figures[i].name, &s[i],
               figures[i].most > 0 ? bench_met(series_median(&s[i]) <= figures[i].most) : "");
}

static void print_calls(const char *who, const struct round *r) {
  static const char *const names[COUNT_KINDS] = {"send", "recv", "poll", "getrandom", "getpid"};
  int i;
  bench_say("  %s, a cycle:", who);
  for (i = 0; i < COUNT_KINDS; i++)
    bench_say(" %s %.2f", names[i], (double)r->counts[i] / (TURNS * TURN));
  bench_say("\n");
}

static void open_all(const struct servers *set, char list[SERVERS_LIST]) {
  redlock_options options;
  floor_open(&probe, set, 1);
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
    note_round(s, rounds);
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
  servers_stop(&set);
  return 0;
}
