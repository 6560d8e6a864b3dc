/* sim: random runs, one for each seed. The options stand in usage(). */
#define REDLOCK_MAX_COMMANDS 256 /* as in lib_large, whose locks are the largest */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "regression_seeds.h"
#include "report.h"

enum { MAX_JOBS = 64, HANG_S = 60, MORE_S = 600 };

static struct {
  big seed, runs, seconds, jobs, kept;
  big coverage, steps, processor_time, replay, hash, silent, mixed, always; /* bits of each seed */
  const char *logs; /* a folder */
  struct {
    int over; /* no seed is begun any more */
    struct totals job[MAX_JOBS];
  } *shared;
} opt;

/* What takes a number, and what is on or off, or adds a bit to each seed. */
static const struct option {
  const char *name;
  big *number, *flag, bit;
  const char *text;
} options[] = {
    {"--seed=", &opt.seed, NULL, 0, "the first seed; by default the time"},
    {"--runs=", &opt.runs, NULL, 0, "how many seeds; by default as many as the seconds allow"},
    {"--seconds=", &opt.seconds, NULL, 0, "by default 60"},
    {"--jobs=", &opt.jobs, NULL, 0, "processes side by side"},
    {"--replay", NULL, &opt.replay, 1, "one seed, with its event log on the standard output"},
    {"--coverage", NULL, &opt.coverage, 1, "fails if some fault, status or vote never occurred"},
    {"--steps", NULL, &opt.steps, 1, "fails if some step of a proved model was never taken"},
    {"--processor-time", NULL, &opt.processor_time, 1, "prints it, in ms"},
    {"--hash", NULL, &opt.hash, 1, "prints the hash of all event logs"},
    {"--silent", NULL, &opt.silent, 1, "only the outcome"},
    {"--kept", NULL, &opt.kept, KEPT_SEEDS, "the kept seeds first; without --runs, no others"},
    {"--fencing", NULL, &opt.always, FENCED_SEED, "worlds of tokens only; else each fourth"},
    {"--handed", NULL, &opt.always, HANDED_SEED, "locks change hands only; else two of eight"},
    {"--crowd", NULL, &opt.always, CROWD_SEED, "a crowd waits only; else one of sixteen"},
    {"--waiters", NULL, &opt.always, WAITER_SEED, "few waiters and strangers; else one of sixteen"},
    {"--shifted", NULL, &opt.always, SHIFTED_SEED, "handshakes shift (R8); else in one of sixteen"},
    {"--wall-clock", NULL, &W.wall_clock, 1, "a planted bug: the clients' clock is stepped"},
    {"--server-bug=", &W.server_bug, NULL, 0, "what no server does: server.h"},
    {"--unrefined", NULL, &W.unrefined, 1, "without refine.h"},
    {"--unadopted", NULL, &W.unadopted, 1, "without the model of adoption"},
    {"--alone", NULL, &W.alone, 1, "with the checks of refine.h alone"},
    {"--rolling", NULL, &opt.always, ROLLING_SEED, "rolling restarts; else one of sixteen"}};

enum { OPTIONS = sizeof options / sizeof options[0] };

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Of the jobs. */
static double processor_ms(void) {
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

static int usage(void) {
  char word[24];
  puts("sim, with any of:");
  for (int i = 0; i < OPTIONS; i++) {
    snprintf(word, sizeof word, "%s%s", options[i].name, options[i].number ? "N" : "");
    printf("  %-16s %s\n", word, options[i].text);
  }
  puts("  --logs=DIR       where the log of a failed run goes; by default the current folder");
  return 2;
}

static const char *value_of_option(const char *arg, const char *name) {
  size_t size = strlen(name);
  return strncmp(arg, name, size) == 0 ? arg + size : NULL;
}

static int take_option(const char *arg) {
  const char *v;
  for (int i = 0; i < OPTIONS; i++) {
    const struct option *o = &options[i];
    if ((v = value_of_option(arg, o->name)) == NULL || (o->flag && *v)) continue;
    if (o->number) *o->number = strtoull(v, NULL, 10);
    else *o->flag |= o->bit;
    return 1;
  }
  if ((v = value_of_option(arg, "--logs=")) != NULL) opt.logs = v;
  else return 0;
  return 1;
}

/* ---- one run, shown ---- */

/* The same seed again, this time with its log. */
static void show_failure(big seed) {
  char path[512], command[600];
  struct totals spare, *counted = T;
  snprintf(path, sizeof path, "%s/sim-%llu.log", opt.logs ? opt.logs : ".", seed);
  W.log = fopen(path, "w");
  if (!W.log) return;
  T = &spare;
  memset(&spare, 0, sizeof spare);
  (void)run_seed(seed);
  T = counted;
  fclose(W.log);
  W.log = NULL;
  printf("\nthe end of %s:\n", path);
  fflush(stdout);
  snprintf(command, sizeof command, "tail -n 120 '%s'", path);
  if (system(command)) puts("(no tail)");
  puts("");
  print_config(stdout);
  printf("\nFAILED with seed %llu: %s\n  again: make sim SEED=%llu\n", seed, W.message, seed);
  fflush(stdout);
}

static int replay(void) {
  int good;
  W.log = stdout;
  good = run_seed(opt.seed);
  printf("seed %llu: %s\n", opt.seed, good ? "no violation" : W.message);
  return !good;
}

/* ---- many runs ---- */

/* Which worlds the i-th seed makes where none is wanted alone. */
static big bits_at(big i) {
  return (i % 4 == 3 ? FENCED_SEED : 0) + (i % 8 >= 6 ? HANDED_SEED : 0) +
         (i % 16 == 5 ? CROWD_SEED : 0) + (i % 16 == 9 ? WAITER_SEED : 0) +
         (i % 16 == 13 ? ROLLING_SEED : 0);
}

/* What must have happened takes as many seeds on a busy machine: so --coverage counts this job's
   time of a processor, unless it has taken MORE_S longer. */
static double spent_s(double begin) {
  double wall_s = now_s() - begin;
  if (!opt.coverage || wall_s >= (double)opt.seconds + MORE_S) return wall_s;
  return (double)clock() / CLOCKS_PER_SEC;
}

/* The i-th seed of all jobs; 0 = it is over. */
static big seed_at(big i, double begin) {
  if (opt.shared->over) return 0;
  if (i < opt.kept) return kept_seeds[i];
  i -= opt.kept;
  if (opt.runs ? i >= opt.runs : spent_s(begin) >= (double)opt.seconds) return 0;
  return opt.seed + i + (opt.always | (opt.mixed ? bits_at(i) : 0));
}

/* A seed that takes so long hangs. What else the machine does counts not. */
static void limit_time(void) {
  struct itimerval most = {{0, 0}, {HANG_S, 0}};
  setitimer(ITIMER_VIRTUAL, &most, NULL);
}

static void sum_up(struct totals *sum) {
  big i;
  memset(sum, 0, sizeof *sum);
  for (i = 0; i < opt.jobs; i++) totals_add(sum, &opt.shared->job[i]);
}

/* The first job looks now and then at what all have done. */
static void look_at_all_jobs(double begin) {
  static double shown;
  struct totals sum;
  double t = now_s() - begin;
  if (t - shown < (opt.seconds > 600 ? 60 : 10) || opt.silent) return;
  shown = t;
  sum_up(&sum);
  print_progress(&sum, t);
}

static int work(int job, double begin) {
  big i;
  T = &opt.shared->job[job];
  for (i = (big)job; (T->seed = seed_at(i, begin)) != 0; i += opt.jobs) {
    big seed = T->seed;
    limit_time();
    if (!run_seed(seed)) {
      opt.shared->over = 1;
      if (opt.silent)
        printf("seed %llu: %s; %llu grants, %llu events\n", seed, W.message, T->grants, T->events);
      else show_failure(seed);
      return 1;
    }
    if (job == 0) look_at_all_jobs(begin);
  }
  return 0;
}

/* Any of the jobs has ended; 1 = badly. */
static int reap(const pid_t *pids) {
  int status, job = 0;
  pid_t pid = wait(&status);
  if (pid < 0) return 1;
  while (pids[job] != pid) job++;
  if (WIFSIGNALED(status))
    printf("FAILED: seed %llu ended by signal %d%s\n", opt.shared->job[job].seed,
           WTERMSIG(status), WTERMSIG(status) == SIGVTALRM ? ": it hangs" : "");
  opt.shared->over |= status != 0;
  return status != 0;
}

static int run_jobs(double begin) {
  pid_t pids[MAX_JOBS];
  int bad = 0;
  fflush(stdout);
  for (int i = 0; i < (int)opt.jobs; i++) {
    pids[i] = fork();
    if (pids[i] == 0) {
      bad = work(i, begin);
      fflush(stdout);
      _exit(bad);
    }
  }
  for (int i = 0; i < (int)opt.jobs; i++) bad |= reap(pids);
  return bad;
}

int main(int argc, char **argv) {
  struct totals sum;
  double begin = now_s();
  int bad;
  opt.seconds = 60;
  opt.jobs = 1;
  if (lib_large.lock_size > sizeof(redlock_lock)) {
    fprintf(stderr, "sim: there is no room for the locks of lib_large\n");
    return 2;
  }
#ifdef SIM_TEST /* no options: always the same few seeds */
  opt.seed = 1;
  opt.runs = SIM_TEST;
  opt.mixed = 1;
  opt.kept = KEPT_SEEDS;
  opt.jobs = 2;
#endif
  for (int i = 1; i < argc; i++)
    if (!take_option(argv[i])) return usage();
  if (argc > 1 && opt.kept) opt.seconds = 0;
  if (!opt.seed) opt.seed = (big)time(NULL) % 10000000 * 10000;
  if (!opt.runs) opt.mixed = 1;
  if (opt.replay) return replay();
  if (opt.jobs < 1 || opt.jobs > MAX_JOBS) return usage();
  opt.shared = mmap(NULL, sizeof *opt.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                    -1, 0);
  if (opt.shared == MAP_FAILED) return 3;
  if (!opt.silent) printf("seeds from %llu on\n", opt.seed);
  bad = run_jobs(begin);
  sum_up(&sum);
  if (!opt.silent) print_totals(&sum);
  if (opt.coverage && !bad && print_coverage(&sum)) {
    puts("FAILED: something never happened");
    bad = 1;
  }
  if (opt.steps && print_steps(&sum)) {
    puts("FAILED: a step was never taken");
    bad = 1;
  }
  if (opt.steps && !bad) puts("mismatches: 0");
  if (opt.processor_time) printf("processor time %.0f ms\n", processor_ms());
  if (opt.hash) printf("hash %016llx\n", sum.hash);
  if (sum.runs) sum.runs -= (unsigned)bad;
  printf("%llu passed, %d failed\n", sum.runs, bad);
  return bad;
}
