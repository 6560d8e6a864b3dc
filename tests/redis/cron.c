/* cron.c: cron's way, as examples/wait_for_child.c goes it: each of two hosts starts one job again
 * and again, under a lock, and stops it before that ends. Servers are killed, restart empty and
 * freeze meanwhile: never do two jobs run, and none outlives its lock. */
#include "tests/command/command.h"

enum { N = 3, HOSTS = 2, JOBS = 5 };

/* Takes the file that a job holds, or with F_GETLK only looks; 0 = another process has it. */
static int take(int file, int command) {
  struct flock whole = {.l_type = F_WRLCK};
  return fcntl(file, command, &whole) == 0 && (command == F_SETLK || whole.l_type == F_UNLCK);
}

/* Alone, or it says so. It runs for a moment; and on and on while there is a file "long". */
static int job(void) {
  int file = open(in_work("alone"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (!take(file, F_SETLK)) return close(open(in_work("two"), O_CREAT, 0600));
  if (write(open(in_work("jobs"), O_WRONLY | O_CREAT | O_APPEND, 0600), ".", 1) != 1) return 1;
  do sleep_ms(10);
  while (exists("long"));
  return 0;
}

/* Not in step with the other one: two that share the votes again and again would get no lock. */
static pid_t start_host(int number) {
  char line[LINE];
  snprintf(line, sizeof line, "until test -e $work/end; do $here/../examples/wait_for_child "
           "$REDLOCK_SERVERS minute 3000 $self job; test $? != 70 || touch $work/late; "
           "sleep 0.%d; done", number + 1);
  return start_line(line, "host");
}

static long jobs(void) { return (long)strlen(read_work("jobs")); }

/* So many more begin. */
static int go_on(int more) {
  int64_t end = timing_ms() + LIMIT_MS;
  long wanted = jobs() + more;
  while (jobs() < wanted && timing_ms() < end) sleep_ms(5);
  return jobs() >= wanted;
}

static void await_job(int runs) {
  int file = open(in_work("alone"), O_RDWR | O_CLOEXEC);
  while (take(file, F_GETLK) == runs) sleep_ms(10);
  close(file);
}

TEST(two_hosts_never_run_a_job_at_once) { /* R1 R20 R24 */
  pid_t host[HOSTS];
  int i;
  if (shell("test -x $here/../examples/wait_for_child")) SKIP("it is not built: no ppoll");
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* gcc 12's search may go on for ever */
  for (i = 0; i < HOSTS; i++) host[i] = start_host(i);
  CHECK(go_on(JOBS)); /* the servers are young: they vote after three seconds */
  server_kill(&real.at[0]);
  CHECK(go_on(JOBS));
  server_restart(&real.at[0]);
  server_freeze(&real.at[1]); /* nobody has a quorum until the first is old enough */
  CHECK(go_on(JOBS));
  server_thaw(&real.at[1]);
  shell("touch $work/long");
  await_job(1);
  server_freeze(&real.at[1]);
  server_freeze(&real.at[2]);
  await_job(0); /* it is stopped */
  shell("rm $work/long");
  server_thaw(&real.at[1]);
  server_thaw(&real.at[2]);
  CHECK(go_on(JOBS));
  let_it_end();
  for (i = 0; i < HOSTS; i++) CHECK_EQ(end_of(host[i]), 0);
  CHECK(!exists("two") && !exists("late"));
}

int main(int argc, char **argv) {
  snprintf(work, sizeof work, "%s", getenv("work") ? getenv("work") : "");
  if (argc > 1 && strcmp(argv[1], "job") == 0) return job();
  return command_main(argc, argv, N);
}
