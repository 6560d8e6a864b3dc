/* ending.c: the lock is held until the work is over, however COMMAND is written, and COMMAND leaves
 * behind only what it means to.
 *
 * A step is this program itself: "step NAME" writes its process id to $work/NAME.runs, notes in
 * NAME.told that a signal has told it to end, and finishes its work until NAME.end is there. So is
 * "timed NAME", a child of timeout(1): that tells it twice, as its child and as one of its group,
 * which counts once. */
#include "tests/command/command.h"

static int is_timed;
static volatile sig_atomic_t told_times, told_by_timeout;

static void on_told(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  if (!is_timed || info->si_pid != getppid() || !told_by_timeout++) told_times++;
}

static const char *file_of(const char *name, const char *what) {
  static char file[64];
  snprintf(file, sizeof file, "%s.%s", name, what);
  return file;
}

static void note(const char *name, const char *what) {
  FILE *file = fopen(in_work(file_of(name, what)), "w");
  fprintf(file, "%ld\n", (long)getpid());
  fclose(file);
}

static int step(const char *name) {
  static const int numbers[] = {SIGTERM, SIGHUP, SIGINT, SIGALRM, SIGXCPU};
  int64_t end = timing_ms() + LIMIT_MS;
  struct sigaction action;
  size_t i;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_told;
  action.sa_flags = SA_SIGINFO;
  snprintf(work, sizeof work, "%s", getenv("work"));
  for (i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
  note(name, "runs");
  while (!exists(file_of(name, "end")) && timing_ms() < end) {
    if (told_times) note(name, "told");
    if (told_times > 1) note(name, "twice");
    sleep_ms(5);
  }
  return 0;
}

/* How a script may write its step. */
static const char *const ways[] = {
  "$self step $n; echo next",
  "$self step $n & wait",
  "(trap \"\" HUP; $self step $n & ) ; sleep 60",
  "timeout 300 $self timed $n; echo next",
  "trap : TERM; timeout 300 $self timed $n; echo next",
  "set -m; $self step $n & wait",
  "setsid $self step $n & wait",
  "timeout 300 sh -c \"setsid \\$self step $n & wait\"; echo next",
  "setsid sh -c \"setsid sh -c \\\"\\$self step $n & wait\\\" & wait\" & wait",
  "$redlock other$n -- $self step $n; echo next"
};
enum { WAYS = sizeof ways / sizeof *ways };

static pid_t jobs[WAYS];
static char names[WAYS][8];

static int can_follow(void) {
#ifdef __linux__
  return access("/proc/self/task", R_OK) == 0 && shell("command -v timeout setsid") == 0;
#else
  return 0;
#endif
}

static void start_jobs(const char *options) {
  int i;
  for (i = 0; i < WAYS; i++) {
    char line[LINE];
    snprintf(names[i], sizeof names[i], "w%d", i);
    snprintf(line, sizeof line, "n=%s; export n; exec $redlock %s %s -- sh -c '%s'", names[i],
             options, names[i], ways[i]);
    jobs[i] = start_line(line, file_of(names[i], "said"));
  }
  for (i = 0; i < WAYS; i++) CHECK(await_file(file_of(names[i], "runs")));
}

static pid_t id_of(const char *name) { return (pid_t)atoi(read_work(file_of(name, "runs"))); }

static void check_over(const char *name) {
  if (!CHECK(kill(id_of(name), 0) != 0)) printf("    the step of %s is still there\n", name);
}

/* SIGKILL needs a processor to work, and redlock waits for that for a moment only; but not until
   the step ends by itself. */
static void check_killed(const char *name) {
  int64_t end = timing_ms() + LIMIT_MS / 4;
  while (kill(id_of(name), 0) == 0 && timing_ms() < end) sleep_ms(5);
  check_over(name);
}

/* Each step hears of it once it is told, and the lock is there until it has finished. */
static void end_by(int number) {
  int i;
  start_jobs("");
  for (i = 0; i < WAYS; i++) kill(jobs[i], number);
  for (i = 0; i < WAYS; i++)
    if (!CHECK(await_file(file_of(names[i], "told")))) printf("    %s\n", ways[i]);
  await_words(file_of(names[0], "said"), "COMMAND has ended, and what it started goes on: process");
  for (i = 0; i < WAYS; i++)
    if (!CHECK(holders(names[i]) > real.count / 2)) printf("    %s\n", ways[i]);
  for (i = 0; i < WAYS; i++) note(names[i], "end");
  for (i = 0; i < WAYS; i++) {
    int status = end_of(jobs[i]); /* of a shell that ends by it, or finishes its script */
    if (!CHECK(status == 128 + number || status == 0)) printf("    %d: %s\n", status, ways[i]);
    if (!CHECK(!exists(file_of(names[i], "twice")))) printf("    told twice: %s\n", ways[i]);
    check_over(names[i]);
    CHECK(await_holders(names[i], 0));
  }
  CHECK_EQ(expired_keys(), 0);
}

TEST(what_a_signal_ends_holds_the_lock_until_it_is_over) {
  if (!can_follow()) SKIP("no /proc, timeout or setsid");
  end_by(SIGTERM);
}

TEST(a_time_limit_by_alarm_ends_all) {
  if (!can_follow()) SKIP("no /proc, timeout or setsid");
  end_by(SIGALRM);
}

/* Also where the signal did not come through redlock, as that of the terminal, or of systemd to all
   processes of a service. */
TEST(a_command_that_a_signal_has_ended_leaves_nothing) {
  pid_t pid;
  if (!can_follow()) SKIP("no /proc, timeout or setsid");
  pid = start("exec $redlock job -- sh -c 'echo $$ >$work/pid; setsid $self step s; echo next'");
  CHECK(await_file("s.runs"));
  kill((pid_t)atoi(read_work("pid")), SIGTERM);
  CHECK(await_file("s.told"));
  await_words("background", "COMMAND has ended, and what it started goes on: ");
  CHECK(is_held("job"));
  note("s", "end");
  CHECK_EQ(end_of(pid), 128 + SIGTERM);
  check_over("s");
  CHECK(is_released("job"));
}

/* What timeout(1) ends it leaves behind, if that has left its group: its status counts as a
   signal's end, whoever ends with it. */
TEST(a_command_that_has_timed_out_holds_the_lock_for_what_it_leaves) {
  pid_t pid = start("exec $redlock job -- sh -c '$self step s & until test -e $work/s.runs; do "
                    "sleep 0.02; done; exit 124'");
  await_words("background", "COMMAND has ended, and what it started goes on: ");
  CHECK(is_held("job") && !exists("s.told"));
  note("s", "end");
  CHECK_EQ(end_of(pid), 124);
  CHECK(is_released("job"));
}

/* ---- what /proc shows ---- */

/* It cannot be found, but it is there. */
TEST(without_proc_the_lock_is_held_until_the_work_is_over) {
  static const char *const ends[] = {"kill -TERM $$", "exec sleep 60"};
  int i;
  if (!can_follow() || cannot_refuse()) SKIP("no library can be loaded first");
  for (i = 0; i < 2; i++) { /* a signal, and a loss */
    pid_t pid = start(REFUSING "proc $redlock -t 3s job -- sh -c 'setsid env -u LD_PRELOAD $self "
                      "step s & until test -e $work/s.runs; do sleep 0.02; done; %s'", ends[i]);
    CHECK(await_file("s.runs"));
    if (i) servers_command(&real, real.count, "FLUSHALL");
    await_words("background", i ? "and without /proc no signal can stop it: the lock is held until"
                                : "COMMAND has ended, and what it started goes on: a process");
    CHECK(await_holders("job", real.count));
    note("s", "end");
    CHECK_EQ(end_of(pid), i ? 122 : 128 + SIGTERM);
    check_over("s");
    CHECK(await_holders("job", 0));
    shell("rm -f $work/s.*");
  }
}

/* In a container, where it is process 1; COMMAND signals it by that number. */
TEST(process_1_ends_all_and_waits_for_it) {
  pid_t pid;
  if (!can_follow() || shell("unshare -rpf --mount-proc true")) SKIP("no processes of our own");
  pid = start("R=$(realpath $redlock) && exec unshare -rpf --mount-proc $R job -- sh -c '"
              "setsid $self step s & until test -e $work/s.runs; do sleep 0.02; done; "
              "kill -TERM 1; sleep 60'");
  CHECK(await_file("s.told"));
  await_words("background", "COMMAND has ended, and what it started goes on: process ");
  CHECK(is_held("job"));
  note("s", "end");
  CHECK_EQ(end_of(pid), 128 + SIGTERM);
  CHECK(is_released("job"));
}

/* Orphans that are not COMMAND's are none of its affairs, but somebody has to bury them. */
TEST(process_1_buries_orphans) {
  if (!can_follow() || shell("unshare -rpf --mount-proc true")) SKIP("no processes of our own");
  CHECK_PRINTS("0\n", 0, "R=$(realpath $redlock) && exec unshare -rpf --mount-proc $R "
               "job -- sh -c '(true & true & true &) ; (sleep 0.1 &) ; sleep 0.3; "
               "grep -l \"^State:.Z\" /proc/[0-9]*/status | wc -l'");
}

/* Where users see their own processes alone. */
#define HIDING "mount -t proc -o hidepid=2 proc /proc && ASAN_OPTIONS=detect_leaks=0 " \
               "exec setpriv --reuid 54321 --regid 54321 --clear-groups"

TEST(hidden_processes_of_others_hide_none_of_ours) {
  pid_t pid;
  shell("chmod 777 $work && chmod 711 $work/..");
  if (!can_follow() || geteuid() || shell("unshare -m sh -c '" HIDING " $redlock --version'"))
    SKIP("nothing can be hidden");
  pid = start("exec unshare -m sh -c '" HIDING " $redlock job -- "
              "sh -c \"setsid $self step s & wait\"'");
  CHECK(await_file("s.runs"));
  kill(pid, SIGTERM);
  CHECK(await_file("s.told"));
  CHECK(is_held("job"));
  close(open(in_work("s.end"), O_CREAT | O_WRONLY, 0600));
  CHECK_EQ(end_of(pid), 128 + SIGTERM);
  CHECK(is_released("job"));
}

/* They do not hear SIGTERM. */
static void stop_all(const char *options, int is_lost, int status) {
  int i;
  start_jobs(options);
  if (is_lost) servers_command(&real, real.count, "FLUSHALL");
  for (i = 0; i < WAYS; i++) {
    CHECK_EQ(end_of(jobs[i]), status);
    check_killed(names[i]);
  }
}

TEST(a_loss_stops_what_has_left_the_group) {
  if (!can_follow()) SKIP("no /proc, timeout or setsid");
  stop_all("-t 3s", 1, 122);
}

TEST(max_hold_stops_what_has_left_the_group) { /* R20 */
  if (!can_follow()) SKIP("no /proc, timeout or setsid");
  stop_all("-t 6s -m 5s", 0, 124);
}

/* A lock that is lost meanwhile, too. */
TEST(what_outlives_a_signal_is_stopped_by_a_loss) {
  pid_t pid = start("exec $redlock -t 3s job -- sh -c '$self step s; echo next'");
  CHECK(await_file("s.runs"));
  kill(pid, SIGTERM);
  CHECK(await_file("s.told"));
  servers_command(&real, real.count, "FLUSHALL");
  check_ends(pid, 122, "'job' is lost");
  check_killed("s");
}

/* As with a machine that is suspended just then, or too busy. */
TEST(what_is_stopped_is_killed_though_the_time_for_that_has_passed) {
  enum { KILL_MS = 300 };
  pid_t pid = start("exec $redlock -t 3s -k %dms job -- sh -c '$self step s; echo next'", KILL_MS);
  CHECK(await_file("s.runs"));
  servers_command(&real, real.count, "FLUSHALL");
  CHECK(await_file("s.told"));
  kill(pid, SIGSTOP);
  sleep_ms(3 * KILL_MS);
  kill(pid, SIGCONT);
  check_ends(pid, 122, "'job' is lost");
  check_killed("s");
}

TEST(a_daemon_that_command_leaves_behind_stays) {
  CHECK_PRINTS("", 0, "$redlock job -- sh -c '(setsid $self step s &) ; "
                      "until test -e $work/s.runs; do sleep 0.02; done' 2>&1");
  CHECK(is_released("job") && kill(id_of("s"), 0) == 0);
  note("s", "end");
}

TEST(a_command_that_fails_tells_what_it_leaves_behind) {
  CHECK_SAYS("COMMAND ended with status 3, and what it started goes on without the lock: ", 3,
             "$redlock job -- sh -c '$self step s & until test -e $work/s.runs; do sleep 0.02; "
             "done; exit 3'");
  CHECK(is_released("job"));
  note("s", "end");
}

/* A script that has become redlock may have children. */
TEST(what_command_did_not_start_is_left_alone) {
  pid_t pid = start("setsid $self step old & until test -e $work/old.runs; do sleep 0.02; done; "
                    "exec $redlock job -- sh -c 'touch $work/runs; exec sleep 15'");
  CHECK(await_file("runs"));
  kill(pid, SIGTERM);
  CHECK_EQ(end_of(pid), 128 + SIGTERM);
  CHECK(is_released("job") && !exists("old.told") && kill(id_of("old"), 0) == 0);
  note("old", "end");
}

/* ---- signals ---- */

/* 32 and 33 are libc's own on Linux. */
TEST(no_signal_ends_redlock_before_command) {
  static const int passed_on[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGABRT, SIGUSR2,
#ifdef SIGRTMAX
                                  37, 64, SIGPWR, SIGIO,
#endif
                                  SIGSYS};
  static const int ignored[] = {SIGXFSZ, SIGPIPE, SIGURG, SIGWINCH, SIGTTIN, SIGTTOU,
#ifdef __linux__
                                32, 33,
#endif
                                SIGCHLD};
  enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };
  pid_t pids[PASSED_ON];
  size_t i, j;
  for (i = 0; i < PASSED_ON; i++) {
    pids[i] = start("ulimit -c 0; exec $redlock s%d -- sh -c 'touch $work/s%d; exec sleep 60'",
                    (int)i, (int)i);
  }
  for (i = 0; i < PASSED_ON; i++) {
    char name[16];
    snprintf(name, sizeof name, "s%d", (int)i);
    CHECK(await_file(name));
    for (j = 0; j < sizeof ignored / sizeof *ignored; j++) kill(pids[i], ignored[j]);
    kill(pids[i], passed_on[i]);
    CHECK_EQ(end_of(pids[i]), 128 + passed_on[i]);
    CHECK(await_holders(name, 0));
  }
  CHECK_EQ(expired_keys(), 0);
}

/* An alarm survives exec. */
TEST(an_inherited_alarm_ends_command_and_then_redlock) {
  CHECK_EQ(shell("exec $self alarm $redlock job -- sh -c 'trap \"exit 7\" ALRM; "
                 "while :; do sleep 0.02; done'"), 7);
  CHECK(is_released("job"));
}

TEST(a_full_log_file_ends_no_command) {
  CHECK_EQ(shell("ulimit -f 0; trap : TERM; $redlock -v job -- sh -c 'exit 6' 2>$work/log"), 6);
  CHECK(is_released("job"));
}

/* What it would not be alone in cannot be stopped. */
TEST(a_group_that_cannot_be_made_starts_no_command) {
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_SAYS("no process group can be made for 'touch': Operation not permitted: it did not run",
             123, REFUSING "group $redlock job -- touch $work/runs");
  CHECK(!exists("runs") && is_released("job"));
}

static int become_alarmed(char **program) {
  alarm(1);
  execvp(*program, program);
  return 127;
}

int main(int argc, char **argv) {
  is_timed = argc > 2 && strcmp(argv[1], "timed") == 0;
  if (is_timed || (argc > 2 && strcmp(argv[1], "step") == 0)) return step(argv[2]);
  if (argc > 2 && strcmp(argv[1], "alarm") == 0) return become_alarmed(argv + 2);
  return command_main(argc, argv, 3);
}
