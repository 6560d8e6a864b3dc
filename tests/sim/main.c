/* sim: random runs, one per seed.  sim [--seed=N] [--runs=N] [--seconds=N] [--jobs=N] [--coverage] */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

void sim_assert(int truth, const char *text) {
  if (!truth) VIOLATION("REDLOCK_ASSERT: %s", text);
}

enum { MAX_JOBS = 64, HANG_S = 60, TAIL_LINES = 60 };

struct settings {
  uint64_t seed, runs;
  double seconds;
  int jobs, coverage, replay, quiet;
};

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, i;
  double t0 = now_s();
  if (n == 1) W.log = stdout;
  for (i = 0; i < n; i++) {
    double ts = now_s(); uint64_t te = T->events;
    if (!run_seed(seed + i)) {
      printf("seed %llu: %s\n", (unsigned long long)(seed + i), W.message);
    }
    if (getenv("SLOW") && now_s() - ts > 0.5) printf("slow seed %llu %.2f %llu\n", (unsigned long long)(seed + i), now_s() - ts, (unsigned long long)(T->events - te));
    fflush(stdout);
  }
  printf("%llu runs %.1f s; %llu events %llu ops %llu grants %llu ext %llu probes; client time %.1f d; hash %llx\n", (unsigned long long)n, now_s() - t0,
         (unsigned long long)T->events, (unsigned long long)T->operations, (unsigned long long)T->grants, (unsigned long long)T->extensions, (unsigned long long)T->probes,
         (double)T->client_ms / 86400e3, (unsigned long long)T->hash);
  return 0;
}
