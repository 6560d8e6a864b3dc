/* line: a crowd of W processes waits for one resource, and each holds it for so long. Closed:
 * who has had it wants it again, at once or after a while. Drained: each leaves with its first, and
 * has 30 s to wait for it. Beside it the same crowd polls at 50 to 250 ms, as common libraries do.
 * (The program crowd is about locks that nobody waits for.)
 *
 * line                                     what is drawn, and 128 that drain: a minute
 * line all                                 two holds, each crowd in all three ways: four minutes
 * line W [HOLD_MS [THINK_MS [SECONDS]]]    that crowd alone; W from 2 to 256 */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/processes.h"

enum { START_MS = 1000, WAIT_MS = 30000, POLL_MIN_MS = 50, POLL_MAX_MS = 250, MOST = 256 };
enum way { CLOSED, DRAINED, POLLING };

struct crowd {
  int count, hold_ms, think_ms, seconds;
};

/* What a process writes into the memory that all share. */
struct worker {
  int locks, first; /* the first attempt got it */
  int64_t last_ns;
  struct samples waits;
};

static struct servers set;
static struct worker *workers;
static redlock_options options;

/* By polling: attempts of its own, and back-offs between them; how many attempts, 0 = no lock. */
static int poll_for(redlock *client, redlock_lock *lock, int64_t end_ns) {
  int tries = 1;
  while (redlock_acquire(client, lock, "crowded", BENCH_TTL_MS, 0) != REDLOCK_OK) {
    if (bench_ns() > end_ns) return 0;
    processes_sleep_ms(POLL_MIN_MS + rand() % (POLL_MAX_MS - POLL_MIN_MS));
    tries++;
  }
  return tries;
}

static int wait_for(redlock *client, redlock_lock *lock, int64_t end_ns) {
  int64_t left_ms = (end_ns - bench_ns()) / 1000000;
  redlock_status status = redlock_acquire(client, lock, "crowded", BENCH_TTL_MS,
                                          left_ms > 0 ? (uint32_t)left_ms : 0);
  return status == REDLOCK_OK ? (int)lock->attempts : 0;
}

static int64_t lasts_ns(const struct crowd *crowd, enum way way) {
  return (way == DRAINED ? WAIT_MS : crowd->seconds * 1000) * INT64_C(1000000);
}

static void work(struct worker *w, const struct crowd *crowd, enum way way, int64_t start_ns) {
  int64_t end_ns = start_ns + lasts_ns(crowd, way), began;
  redlock client;
  redlock_lock lock;
  srand((unsigned)(w - workers));
  processes_begin(&client, &set, &options, (int)(w - workers));
  processes_sleep_until(start_ns);
  while ((began = bench_ns()) < end_ns) {
    int tries = (way == POLLING ? poll_for : wait_for)(&client, &lock, end_ns);
    if (!tries) break;
    w->last_ns = bench_ns() - start_ns;
    samples_add(&w->waits, bench_ns() - began);
    w->locks++;
    w->first += tries == 1;
    if (crowd->hold_ms) processes_sleep_ms(crowd->hold_ms);
    (void)redlock_release(&client, &lock);
    if (way == DRAINED) break;
    if (crowd->think_ms) processes_sleep_ms(crowd->think_ms);
  }
  redlock_close(&client);
  _exit(0);
}

/* One line, which plot.awk reads. */
static void tell(const struct crowd *crowd, enum way way) {
  static const char *const names[] = {"closed", "drained", "polling"};
  static struct samples waits;
  int64_t last_ns = 1;
  int i, k, sum = 0, first = 0, none = 0;
  waits.count = 0;
  for (i = 0; i < crowd->count; i++) {
    sum += workers[i].locks;
    first += workers[i].first;
    none += workers[i].locks == 0;
    if (workers[i].last_ns > last_ns) last_ns = workers[i].last_ns;
    for (k = 0; k < workers[i].waits.count; k++) samples_add(&waits, workers[i].waits.at[k]);
  }
  bench_say("  %2d ms; %3d  %-8s %6.0f locks/s  %6.0f commands a lock  %3d got none  p99 %6.0f ms"
            "  worst %6.0f ms  first %3d%%\n", crowd->hold_ms, crowd->count, names[way],
            sum * 1e9 / (double)(way == DRAINED ? last_ns : lasts_ns(crowd, way)),
            processes_commands(&set) / (sum ? sum : 1), none, samples_percentile(&waits, 99) / 1e6,
            samples_percentile(&waits, 100) / 1e6, 100 * first / (sum ? sum : 1));
}

static void run_crowd(const struct crowd *crowd, enum way way) {
  static pid_t pids[MOST];
  int64_t start_ns = bench_ns() + (START_MS + 4 * crowd->count) * INT64_C(1000000);
  int i;
  memset(workers, 0, (size_t)crowd->count * sizeof *workers);
  processes_reset_commands(&set);
  for (i = 0; i < crowd->count; i++) {
    pids[i] = fork();
    if (pids[i] < 0) bench_die("no process");
    if (pids[i] == 0) work(&workers[i], crowd, way, start_ns);
  }
  processes_await(pids, crowd->count);
  tell(crowd, way);
}

static void run_ways(const struct crowd *crowd) {
  int way;
  for (way = CLOSED; way <= POLLING; way++) run_crowd(crowd, (enum way)way);
}

/* With a hold of 20 ms what is drawn; more of that, and of 2 ms, for all. */
static void run_sizes(int all) {
  static const int sizes[] = {2, 8, 32, 128, 256};
  struct crowd crowd = {0, 20, 0, 4};
  int i;
  for (crowd.hold_ms = all ? 2 : 20; crowd.hold_ms <= 20; crowd.hold_ms += 18)
    for (i = 0; i < 5; i++) {
      crowd.count = sizes[i];
      if (all) {
        run_ways(&crowd);
        continue;
      }
      run_crowd(&crowd, CLOSED);
      run_crowd(&crowd, POLLING);
      if (crowd.count == 128) run_crowd(&crowd, DRAINED);
    }
}

static int within(const char *word, int least, int most) {
  int value = atoi(word);
  if (value < least || value > most) bench_die("line [all | W [HOLD_MS [THINK_MS [SECONDS]]]]");
  return value;
}

int main(int argc, char **argv) {
  struct crowd crowd = {0, 20, 0, 4};
  int all = argc > 1 && strcmp(argv[1], "all") == 0;
  if (argc > 1 && !all) crowd.count = within(argv[1], 2, MOST);
  if (argc > 2) crowd.hold_ms = within(argv[2], 0, 10000);
  if (argc > 3) crowd.think_ms = within(argv[3], 0, 10000);
  if (argc > 4) crowd.seconds = within(argv[4], 1, 60);
  options.server_timeout_ms = 500; /* a busy machine is no fault of the servers */
  workers = (struct worker *)processes_share(MOST * sizeof *workers);
  bench_servers(&set, BENCH_SERVERS);
  bench_say("A crowd waits for one resource: hold; processes\n");
  if (crowd.count) run_ways(&crowd);
  else run_sizes(all);
  servers_stop(&set);
  return 0;
}
