/* terminal.c: the command under a shell with job control, played by this program on a pseudo
 * terminal. The command runs in the foreground of it. */
#include "tests/command/command.h"

#include <sys/ioctl.h>
#include <termios.h>

static int master;

static void become_shell(const char *line) {
  int tty;
  setsid();
  tty = open(ptsname(master), O_RDWR);
  ioctl(tty, TIOCSCTTY, 0);
  signal(SIGTTOU, SIG_IGN);
  dup2(tty, STDIN_FILENO);
  dup2(tty, STDOUT_FILENO);
  dup2(tty, STDERR_FILENO);
  execl(self, self, "shell", line, (char *)NULL);
  _exit(99);
}

/* The session's leader: runs the line as a foreground job. When that is stopped it notes so, waits,
   and puts it into the foreground again. Exits with the job's status. */
static int be_shell(const char *line) {
  int status;
  pid_t job = fork();
  if (job == 0) {
    setpgid(0, 0);
    tcsetpgrp(STDIN_FILENO, getpid());
    signal(SIGTTOU, SIG_DFL);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
  }
  snprintf(work, sizeof work, "%s", getenv("work"));
  setpgid(job, job);
  while (waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status)) {
    int ours = tcgetpgrp(STDIN_FILENO) == job;
    tcsetpgrp(STDIN_FILENO, getpgrp());
    close(open(in_work(ours ? "stopped" : "odd"), O_CREAT | O_WRONLY, 0600));
    await_file("continue");
    tcsetpgrp(STDIN_FILENO, job);
    kill(-job, SIGCONT);
  }
  if (tcgetpgrp(STDIN_FILENO) != job) return 98; /* the terminal was not given back */
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Opens `master`; returns whether there are pseudo terminals. */
static int open_master(void) {
  master = posix_openpt(O_RDWR | O_NOCTTY);
  return master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0;
}

static pid_t start_shell(const char *line) {
  pid_t pid;
  if (!open_master()) return -1;
  pid = fork();
  if (pid == 0) become_shell(line);
  return pid;
}

static void type(const char *text) { CHECK(write(master, text, strlen(text)) > 0); }

static int shell_ends(pid_t pid) {
  int status = end_of(pid);
  close(master);
  return status;
}

TEST(command_reads_from_the_terminal) {
  pid_t pid = start_shell("exec $redlock job -- sh -c 'read x; echo \"$x\" >$work/read; exit 5'");
  if (pid < 0) SKIP("no pseudo terminal");
  type("hello\n");
  CHECK_EQ(shell_ends(pid), 5);
  CHECK(strcmp(read_work("read"), "hello\n") == 0);
  CHECK(is_released("job"));
}

/* ^C, while it runs or reads; and a line, for a reader that began to wait just behind it. No reader
   gets the line before the ^C. */
static void interrupt(const char *body) {
  char line[LINE];
  pid_t pid;
  snprintf(line, sizeof line, "exec $redlock job -- sh -c 'trap \"exit 7\" INT; touch $work/runs; "
           "%s'", body);
  pid = start_shell(line);
  if (pid < 0) SKIP("no pseudo terminal");
  CHECK(await_file("runs"));
  type("\003\n");
  CHECK_EQ(shell_ends(pid), 7);
}

TEST(an_interrupt_reaches_command) { interrupt("while :; do sleep 0.02; done"); }
TEST(an_interrupt_reaches_a_reader) { interrupt("read x"); }

/* ^Z stops the whole job. It goes on if the lock still stands. The bodies start no process: a shell
   whose child is stopped between vfork and exec cannot stop itself. */
static pid_t start_and_stop(const char *options, const char *body, const char *ready) {
  char line[LINE];
  pid_t pid;
  snprintf(line, sizeof line,
           "exec $redlock -q %s job -- sh -c 'touch $work/runs; %s' 2>$work/said", options, body);
  pid = start_shell(line);
  if (pid < 0) return pid;
  CHECK(await_file("runs") && await_file(ready));
  sleep_ms(200);
  type("\032");
  CHECK(await_file("stopped"));
  CHECK(!exists("odd"));
  return pid;
}

static void stop_and_continue(const char *options, const char *body, int pause_ms,
                              const char *typed, int expected) {
  pid_t pid = start_and_stop(options, body, "runs");
  if (pid < 0) SKIP("no pseudo terminal");
  sleep_ms(pause_ms);
  close(open(in_work("continue"), O_CREAT | O_WRONLY, 0600));
  if (*typed) {
    sleep_ms(200);
    type(typed);
  }
  CHECK_EQ(shell_ends(pid), expected);
}

TEST(stopped_jobs_go_on) {
  stop_and_continue("-t 20s", "until test -f $work/continue; do :; done; exit 8", 100, "", 8);
}

TEST(stopped_readers_go_on) {
  stop_and_continue("-t 20s", "read x; exit 9", 100, "x\n", 9);
}

TEST(stopped_jobs_lose_the_lock) {
  stop_and_continue("-t 2s", "while :; do :; done", 2500, "", 122);
  CHECK(told("said", "lock 'job' is lost: it ran out while the job was stopped (^Z)"));
}

/* SIGSTOP is no stop from the terminal, but what ^Z made of it is. */
TEST(programs_that_stop_themselves_go_on) {
  stop_and_continue("-t 20s", "trap \"kill -STOP $$\" TSTP; until test -f $work/continue; do :; "
                    "done; exit 8", 100, "", 8);
}

/* A part of COMMAND in a group or a session of its own: notes its process id, and ends when the job
   goes on. */
static int be_part(const char *name) {
  FILE *file;
  snprintf(work, sizeof work, "%s", getenv("work"));
  if (strcmp(name, "session") == 0) setsid();
  else setpgid(0, 0);
  file = fopen(in_work(name), "w");
  fprintf(file, "%ld\n", (long)getpid());
  fclose(file);
  await_file("continue");
  return 0;
}

/* As /proc tells it; 0 = it is gone. */
static char state_of(const char *name) {
  char path[64], text[LINE] = "", *end;
  FILE *file;
  snprintf(path, sizeof path, "/proc/%d/stat", atoi(read_work(name)));
  file = fopen(path, "r");
  if (file && fgets(text, sizeof text, file) == NULL) *text = 0;
  if (file) fclose(file);
  end = strrchr(text, ')');
  return end ? end[2] : 0;
}

static int await_stop(const char *name) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (state_of(name) != 'T' && timing_ms() < end) sleep_ms(5);
  return state_of(name) == 'T';
}

/* What has left the group stops with the job, and goes on with it; another session's has no part in
   what a terminal does. */
TEST(stopped_jobs_stop_what_has_left_their_group) {
  pid_t pid;
  if (access("/proc/self/task", R_OK)) SKIP("no /proc");
  pid = start_and_stop("-t 20s", "$self part group & $self part session & "
                       "until test -s $work/group && test -s $work/session; do :; done; "
                       ": >$work/ready; until test -f $work/continue; do :; done; wait; exit 8",
                       "ready");
  if (pid < 0) SKIP("no pseudo terminal");
  CHECK(await_stop("group"));
  CHECK(state_of("session") && state_of("session") != 'T');
  close(open(in_work("continue"), O_CREAT | O_WRONLY, 0600));
  CHECK_EQ(shell_ends(pid), 8);
}

/* A line that ends by itself, and in which the shell sees no job stopped. */
static void check_line(const char *line, int expected) {
  pid_t pid = start_shell(line);
  if (pid < 0) SKIP("no pseudo terminal");
  close(open(in_work("continue"), O_CREAT | O_WRONLY, 0600));
  type("hello\n");
  CHECK_EQ(shell_ends(pid), expected);
  CHECK(!exists("stopped") && !exists("odd"));
}

TEST(two_locks_give_command_the_terminal) {
  check_line("exec $redlock a -- $redlock b -- sh -c 'read x; test $x = hello && exit 5'", 5);
}

/* A pager beside us in a pipeline that reads from the background stops its whole process group. */
TEST(a_pager_stops_no_guard) {
  check_line("exec $redlock job -- sh -c 'kill -TTIN $PPID; kill -TTOU $PPID; exit 5'", 5);
}

/* In the background, when the shell that put it there is gone. */
TEST(a_terminal_that_nobody_gives_is_not_asked_for_again_and_again) {
  pid_t pid = start_shell("set -m; "
                          "sh -c '$redlock -v -t 20s job -- cat /dev/tty 2>$work/said & ' & "
                          "wait; until test -e $work/end; do sleep 0.02; done");
  if (pid < 0) SKIP("no pseudo terminal");
  await_words("said", "COMMAND wants the terminal, and no shell is left to give it");
  await_words("said", "released lock 'job'");
  let_it_end();
  CHECK_EQ(shell_ends(pid), 0);
}

/* One that nobody reads, until `master` is read. */
static int open_idle_terminal(void) {
  if (!open_master()) return -1;
  fcntl(master, F_SETFD, FD_CLOEXEC);
  return open(ptsname(master), O_RDWR | O_NOCTTY);
}

static void close_terminal(int tty) {
  close(tty);
  close(master);
}

/* How much one takes, or -1. */
static int room_of_a_terminal(void) {
  int room, tty = open_idle_terminal();
  if (tty < 0) return -1;
  room = fill(tty, INT_MAX);
  close_terminal(tty);
  return room;
}

/* One that takes one byte more, or -1. How much it takes depends on when the kernel moves what was
   written, too: so it is tried with new ones until two in a row take as much. */
static int open_nearly_full_terminal(void) {
  int tries;
  for (tries = 0; tries < 20; tries++) {
    int room = room_of_a_terminal(), tty = room < 0 ? -1 : open_idle_terminal();
    if (tty < 0 || fill(tty, room - 1) == room - 1) return tty;
    close_terminal(tty);
  }
  CHECK(!"two terminals in a row take as much");
  return -1;
}

/* It takes the line with the longest name but for its end, which waits. */
TEST(a_terminal_with_little_room_keeps_no_command_alive) {
  char byte;
  int tty = open_nearly_full_terminal();
  pid_t pid;
  if (tty < 0) SKIP("no pseudo terminal");
  pid = start("exec $redlock -t 3s %0128d -- " DEAF " 2>&%d", 1, tty);
  CHECK(await_file("runs"));
  servers_command(&real, 3, "FLUSHALL");
  CHECK(await_death());
  close(tty);
  while (read(master, &byte, 1) == 1) continue;
  CHECK_EQ(shell_ends(pid), 122);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "shell") == 0) return be_shell(argv[2]);
  if (argc == 3 && strcmp(argv[1], "part") == 0) return be_part(argv[2]);
  return command_main(argc, argv, 3);
}
