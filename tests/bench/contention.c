/* contention: 8 processes want one resource, each with a client of its own. With no hold time, and
 * with 5 ms of holding and 5 ms of thinking.
 *
 * contention [MIN MAX [SECONDS]]: retry delays other than the default, and longer rounds. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/processes.h"

enum { PROCESSES = 8, WAIT_MS = 60000, ROUND_MS = 2000, START_MS = 150 };

/* What a process writes into the memory that all share. */
struct worker {
  struct samples waits;
  int failed;
};

/* How the processes spend their time, and what came of it in each round. */
struct load {
  const char *name;
  int hold_ms, think_ms;
  struct series rate, share, p99, commands;
  struct samples waits;
  int least, most;
};

static struct servers set;
static struct worker *workers;
static redlock_options options;
static int round_ms = ROUND_MS;

/* One lock; its waiting time counts when it was granted before the end. */
static void take_once(redlock *client, struct worker *w, const struct load *load, int64_t end_ns) {
  redlock_lock lock;
  int64_t start = bench_ns(), granted;
  if (redlock_acquire(client, &lock, "contended", BENCH_TTL_MS, WAIT_MS) != REDLOCK_OK) {
    w->failed++;
    return;
  }
  granted = bench_ns();
  if (granted < end_ns) samples_add(&w->waits, granted - start);
  if (load->hold_ms) processes_sleep_ms(load->hold_ms);
  (void)redlock_release(client, &lock);
  if (load->think_ms) processes_sleep_ms(load->think_ms);
}

static void work(struct worker *w, const struct load *load, int64_t start_ns) {
  int64_t end_ns = start_ns + (int64_t)round_ms * 1000000;
  redlock client;
  processes_begin(&client, &set, &options, (int)(w - workers));
  processes_sleep_until(start_ns);
  while (bench_ns() < end_ns) take_once(&client, w, load, end_ns);
  redlock_close(&client);
  _exit(0);
}

static void note_round(struct load *load) {
  static struct samples waits;
  int i, k, sum = 0, least = workers[0].waits.count, most = 0;
  waits.count = 0;
  for (i = 0; i < PROCESSES; i++) {
    const struct samples *own = &workers[i].waits;
    if (workers[i].failed) bench_die("a lock was not granted");
    for (k = 0; k < own->count; k++) samples_add(&waits, own->at[k]);
    for (k = 0; k < own->count; k++) samples_add(&load->waits, own->at[k]);
    if (own->count < least) least = own->count;
    if (own->count > most) most = own->count;
    sum += own->count;
  }
  load->least += least;
  load->most += most;
  series_add(&load->rate, sum * 1000.0 / round_ms);
  series_add(&load->share, (double)most / (least ? least : 1));
  series_add(&load->p99, samples_percentile(&waits, 99) / 1e6);
  series_add(&load->commands, processes_commands(&set) / (sum ? sum : 1));
}

static void run_round(struct load *load) {
  pid_t pids[PROCESSES];
  int64_t start_ns = bench_ns() + START_MS * 1000000;
  int i;
  memset(workers, 0, PROCESSES * sizeof *workers);
  processes_reset_commands(&set);
  for (i = 0; i < PROCESSES; i++) {
    pids[i] = fork();
    if (pids[i] < 0) bench_die("no process");
    if (pids[i] == 0) work(&workers[i], load, start_ns);
  }
  processes_await(pids, PROCESSES);
  note_round(load);
  bench_say(".");
}

static void print_load(struct load *load) {
  bench_say("\n  %s", load->name);
  bench_head("");
  series_row("locks a second", &load->rate, "");
  series_row("p99 of the wait, milliseconds", &load->p99, "");
  series_row("most per process, times the least", &load->share, "");
  series_row("commands per lock, all servers", &load->commands, "(10 is the least)");
  bench_say("  all rounds: p99 %.0f ms, worst %.0f ms; a process got %d to %d locks a round\n",
            samples_percentile(&load->waits, 99) / 1e6,
            samples_percentile(&load->waits, 100) / 1e6, load->least / bench_rounds(),
            load->most / bench_rounds());
}

int main(int argc, char **argv) {
  static struct load loads[] = {{.name = "no hold, no think"},
                                {.name = "5 ms hold, 5 ms think", .hold_ms = 5, .think_ms = 5}};
  int round, i;
  if (argc > 2) {
    options.retry_delay_min_ms = (uint32_t)atoi(argv[1]);
    options.retry_delay_max_ms = (uint32_t)atoi(argv[2]);
  }
  if (argc > 3) round_ms = 1000 * atoi(argv[3]);
  options.server_timeout_ms = 500; /* a busy machine is no fault of the servers */
  workers = (struct worker *)processes_share(PROCESSES * sizeof *workers);
  bench_servers(&set, BENCH_SERVERS);
  bench_say("Contention: %d processes, %d rounds of %d ms ", PROCESSES, bench_rounds(), round_ms);
  for (round = 0; round < bench_rounds(); round++)
    for (i = 0; i < 2; i++) run_round(&loads[i]);
  for (i = 0; i < 2; i++) print_load(&loads[i]);
  servers_stop(&set);
  return 0;
}
