/* line: a crowd of W processes waits for one resource, and each holds it for so long. Closed:
 * who has had it wants it again at once. Drained: each leaves with its first. Beside them the
 * same crowd polls, at 50 to 250 ms as common libraries do. (crowd is about locks that nobody
 * waits for.) * line [W [HOLD_MS]]: that crowd alone. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/bench/processes.h"

enum { CROWD_MS = 4000, START_MS = 1000, WAIT_MS = 30000, POLL_MIN_MS = 50, POLL_MAX_MS = 250 };
enum way { CLOSED, DRAINED, POLLING };

/* What a process writes into the memory that all share. */
struct worker {
  int locks;
  int64_t longest_ns, last_ns;
  struct samples waits;
};

static struct servers set;
static struct worker *workers;
static redlock_options options;

/* By polling: attempts of its own, and rests between them. */
static redlock_status poll_for(redlock *client, redlock_lock *lock, int64_t end_ns) {
  redlock_status status;
  while ((status = redlock_acquire(client, lock, "crowded", BENCH_TTL_MS, 0)) != REDLOCK_OK) {
    if (bench_ns() > end_ns) return status;
    processes_sleep_ms(POLL_MIN_MS + rand() % (POLL_MAX_MS - POLL_MIN_MS));
  }
  return status;
}

static void work(struct worker *w, enum way way, int hold_ms, int64_t start_ns) {
  int64_t end_ns = start_ns + (int64_t)(way == DRAINED ? WAIT_MS : CROWD_MS) * 1000000, began;
  redlock client;
  redlock_lock lock;
  srand((unsigned)(w - workers));
  processes_begin(&client, &set, &options, (int)(w - workers));
  processes_sleep_until(start_ns);
  while ((began = bench_ns()) < end_ns) {
    uint32_t left_ms = (uint32_t)((end_ns - began) / 1000000);
    redlock_status status = way == POLLING ? poll_for(&client, &lock, end_ns) :
        redlock_acquire(&client, &lock, "crowded", BENCH_TTL_MS, left_ms);
    if (status != REDLOCK_OK) break;
    w->last_ns = bench_ns() - start_ns;
    samples_add(&w->waits, bench_ns() - began);
    w->locks++;
    if (hold_ms) processes_sleep_ms(hold_ms);
    (void)redlock_release(&client, &lock);
    if (way == DRAINED) break;
  }
  redlock_close(&client);
  _exit(0);
}

static void tell(int count, int hold_ms, enum way way) {
  static const char *const names[] = {"closed", "drained", "polling"};
  static struct samples waits;
  int64_t last_ns = 1;
  int i, k, sum = 0, none = 0;
  waits.count = 0;
  for (i = 0; i < count; i++) {
    sum += workers[i].locks;
    none += workers[i].locks == 0;
    if (workers[i].last_ns > last_ns) last_ns = workers[i].last_ns;
    for (k = 0; k < workers[i].waits.count; k++) samples_add(&waits, workers[i].waits.at[k]);
  }
  bench_say("  %2d ms; %3d  %-8s %6.0f locks/s  %6.0f commands a lock  %3d got none  p99 %6.0f ms"
            "  worst %6.0f ms\n", hold_ms, count, names[way],
            sum * 1e9 / (double)(way == DRAINED ? last_ns : (int64_t)CROWD_MS * 1000000),
            processes_commands(&set) / (sum ? sum : 1), none, samples_percentile(&waits, 99) / 1e6,
            samples_percentile(&waits, 100) / 1e6);
}

static void run_crowd(int count, int hold_ms, enum way way) {
  static pid_t pids[1024];
  int64_t start_ns = bench_ns() + (START_MS + 4 * count) * INT64_C(1000000);
  int i;
  memset(workers, 0, (size_t)count * sizeof *workers);
  processes_reset_commands(&set);
  for (i = 0; i < count; i++) {
    pids[i] = fork();
    if (pids[i] < 0) bench_die("no process");
    if (pids[i] == 0) work(&workers[i], way, hold_ms, start_ns);
  }
  processes_await(pids, count);
  tell(count, hold_ms, way);
}

int main(int argc, char **argv) {
  static const int sizes[] = {2, 8, 32, 128, 256};
  int size, hold, way, only = argc > 1 ? atoi(argv[1]) : 0, only_ms = argc > 2 ? atoi(argv[2]) : 0;
  options.server_timeout_ms = 500; /* a busy machine is no fault of the servers */
  workers = (struct worker *)processes_share(256 * sizeof *workers);
  bench_servers(&set, BENCH_SERVERS);
  bench_say("A crowd waits for one resource: hold; processes\n");
  for (hold = 2; hold <= 20; hold += 18)
    for (size = 0; size < 5; size++)
      for (way = CLOSED; way <= POLLING; way++)
        if ((!only || only == sizes[size]) && (!only_ms || only_ms == hold))
          run_crowd(sizes[size], hold, (enum way)way);
  servers_stop(&set);
  return 0;
}
