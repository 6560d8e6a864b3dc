/* faults: how long a lock takes while a server is killed, frozen or out of reach, against the
 * healthy case in the same run. (That it is one round trip, fake/handshake.c shows.)
 *
 * Servers 0 to 4 stay healthy. Each case has its own client, which connected to its five servers
 * before the fault, and the cases take turns. The first locks after the fault are timed too. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/bench.h"

enum {
  TURNS = 10,
  TURN = 40,
  KILLED = 5, /* servers of their own for the faults */
  FROZEN = 6,
  LIST = SERVERS_LIST + 48
};

enum { HEALTHY, ONE_KILLED, ONE_FROZEN, ONE_HOLE, TWO_AWAY, CASES };

struct trial {
  const char *name;
  redlock client;
  char list[LIST], resource[24];
  struct samples lock;
  struct series median, p99; /* times the healthy case */
  struct series median_us, p99_us;
  int64_t worst_ns;
};

static struct servers set;
static struct blackhole hole;
static struct trial trials[CASES];

static void time_cycle(struct trial *t) {
  redlock_lock lock;
  int64_t start = bench_ns(), locked;
  redlock_status status = redlock_acquire(&t->client, &lock, t->resource, BENCH_TTL_MS, 0);
  locked = bench_ns() - start;
  if (status != REDLOCK_OK) bench_die(redlock_strerror(status));
  samples_add(&t->lock, locked);
  if (locked > t->worst_ns) t->worst_ns = locked;
  (void)redlock_release(&t->client, &lock);
}

static void take_turn(struct trial *t, int cycles) {
  while (cycles-- > 0) time_cycle(t);
}

static void open_trial(struct trial *t, const char *name, int fourth, int fifth) {
  size_t used;
  servers_list(&set, 3, t->list);
  used = strlen(t->list);
  snprintf(t->list + used, LIST - used, ",127.0.0.1:%d,127.0.0.1:%d", fourth, fifth);
  snprintf(t->resource, sizeof t->resource, "fault:%d", (int)(t - trials));
  t->name = name;
  if (redlock_init(&t->client, t->list, NULL)) bench_die(redlock_server_error(&t->client, 0));
  if (fifth != hole.port) take_turn(t, TURN); /* connected, before anything is wrong */
  t->lock.count = 0;
  t->worst_ns = 0;
}

static void open_trials(void) {
  int well = set.at[3].port, killed = set.at[KILLED].port, frozen = set.at[FROZEN].port;
  open_trial(&trials[HEALTHY], "healthy", well, set.at[4].port);
  open_trial(&trials[ONE_KILLED], "one killed", well, killed);
  open_trial(&trials[ONE_FROZEN], "one frozen", well, frozen);
  open_trial(&trials[ONE_HOLE], "one black-holed", well, hole.port);
  open_trial(&trials[TWO_AWAY], "one killed, one frozen", killed, frozen);
}

static void note_round(struct trial *t, double healthy, double healthy_p99) {
  double median = samples_percentile(&t->lock, 50), p99 = samples_percentile(&t->lock, 99);
  series_add(&t->median, median / healthy);
  series_add(&t->p99, p99 / healthy_p99);
  series_add(&t->median_us, median / 1000);
  series_add(&t->p99_us, p99 / 1000);
}

static void run_round(void) {
  double median, p99;
  int turn, i;
  for (i = 0; i < CASES; i++) trials[i].lock.count = 0;
  for (turn = 0; turn < TURNS * CASES; turn++) /* each time another case begins */
    take_turn(&trials[(turn + turn / CASES) % CASES], TURN);
  median = samples_percentile(&trials[HEALTHY].lock, 50);
  p99 = samples_percentile(&trials[HEALTHY].lock, 99);
  for (i = 0; i < CASES; i++) note_round(&trials[i], median, p99);
}

static void print_trial(struct trial *t) {
  char note[64];
  double median = series_median(&t->median);
  /* with two away the slowest of three is waited for, not the third of five */
  series_row_of(t->name, "lock, median", &t->median,
                t == &trials[TWO_AWAY] ? "" : bench_met(median <= 1.1));
  snprintf(note, sizeof note, "worst %.1f of the healthy worst",
           (double)t->worst_ns / (double)trials[HEALTHY].worst_ns);
  series_row_of(t->name, "lock, p99", &t->p99, note);
}

static void print_times(struct trial *t) {
  series_row_of(t->name, "lock, microseconds", &t->median_us, "");
  series_row_of(t->name, "p99, microseconds", &t->p99_us, "");
}

static void run_faults(void) {
  int round, i;
  blackhole_open(&hole);
  open_trials();
  server_kill(&set.at[KILLED]);
  server_freeze(&set.at[FROZEN]);
  bench_say("Faults: %d rounds of %d locks in each case ", bench_rounds(), TURNS * TURN);
  for (round = 0; round < bench_rounds(); round++) {
    run_round();
    bench_say(".");
  }
  bench_head("\n  Lock, times the healthy case (below 1: fewer servers share the processors)");
  for (i = 1; i < CASES; i++) print_trial(&trials[i]);
  for (i = 0; i < CASES; i++) print_times(&trials[i]);
  for (i = 0; i < CASES; i++) redlock_close(&trials[i].client);
  blackhole_close(&hole);
}

int main(void) {
  bench_servers(&set, SERVERS_MAX);
  run_faults();
  servers_stop(&set);
  return 0;
}
