/* command.h: what the tests of the command share: real servers, shell lines with a time limit, and
 * commands in the background. In a shell line $redlock is the command, $REDLOCK_SERVERS the
 * servers, $work an empty folder and $here that of the test program. REDLOCK in the environment
 * names another binary to test. */
#ifndef COMMAND_H
#define COMMAND_H

#include "tests/check.h"
#include "tests/servers.h"
#include "tests/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 1024, OUTPUT = 65536, LIMIT_MS = 180000 };

static struct servers real;
static char work[SERVERS_PATH], self[LINE];

static inline void sleep_ms(int ms) { (void)poll(NULL, 0, ms); }

/* The path of a file in the working folder. */
static inline const char *in_work(const char *name) {
  static char path[LINE];
  snprintf(path, sizeof path, "%s/%s", work, name);
  return path;
}

static inline const char *read_work(const char *name) {
  static char text[OUTPUT];
  FILE *file = fopen(in_work(name), "r");
  size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
  text[size] = '\0';
  if (file) fclose(file);
  return text;
}

/* What the last shell line printed, errors too. */
static inline const char *output(void) { return read_work("output"); }
static inline int says(const char *what) { return strstr(output(), what) != NULL; }

/* A shell line of its own process; its output goes to the named file, from which what an earlier
   one said is gone when this returns. */
static inline pid_t start_line(const char *line, const char *to) {
  int fd = open(in_work(to), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  pid_t pid = fork();
  if (pid != 0) {
    close(fd);
    return pid;
  }
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  _exit(127);
}

/* As a shell tells it: 128 + the signal. -1 = it did not end, and was killed. */
static inline int end_of(pid_t pid) {
  int64_t end = timing_ms() + LIMIT_MS;
  int status;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (timing_ms() > end) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return -1;
    }
    sleep_ms(1);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The text of a format and what follows it. */
#define FORMATTED(text, size, format)                \
  do {                                               \
    va_list arguments;                               \
    va_start(arguments, format);                     \
    (void)vsnprintf(text, size, format, arguments);  \
    va_end(arguments);                               \
  } while (0)

static inline pid_t start(const char *format, ...) {
  char line[LINE];
  FORMATTED(line, sizeof line, format);
  return start_line(line, "background");
}

static inline int shell(const char *format, ...) {
  char line[LINE];
  FORMATTED(line, sizeof line, format);
  return end_of(start_line(line, "output"));
}

/* How a shell line ends, and what it says, among other things. */
#define CHECK_SAYS(what, status, ...)                             \
  do {                                                            \
    CHECK_EQ(shell(__VA_ARGS__), status);                         \
    if (!CHECK(says(what))) printf("    said: %s\n", output());   \
  } while (0)

/* One time of ten will do: a busy machine may be too slow for a lock that lasts for less than a
   second, or for a server that has a tenth of a short ttl. */
#define CHECK_SAYS_ONCE(what, status, ...)                                        \
  do {                                                                            \
    int left = 10;                                                                \
    while ((shell(__VA_ARGS__) != (status) || !says(what)) && --left) continue;   \
    if (!CHECK(left > 0)) printf("    said: %s\n", output());                     \
  } while (0)

/* And nothing else. */
#define CHECK_PRINTS(what, status, ...)                                          \
  do {                                                                           \
    CHECK_EQ(shell(__VA_ARGS__), status);                                        \
    if (!CHECK(strcmp(output(), what) == 0)) printf("    said: %s\n", output()); \
  } while (0)

/* An error of usage. */
static inline void refuses(const char *arguments, const char *because) {
  CHECK_SAYS(because, 125, "$redlock %s", arguments);
}

static inline int exists(const char *name) { return access(in_work(name), F_OK) == 0; }

/* Until the file exists; 0 = it does not come. */
static inline int await_file(const char *name) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (!exists(name) && timing_ms() < end) sleep_ms(1);
  return exists(name);
}

static inline int told(const char *file, const char *words) {
  return strstr(read_work(file), words) != NULL;
}

/* Until the file says one or the other, or for a minute. */
static inline void await_either(const char *file, const char *words, const char *others) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (!told(file, words) && !told(file, others) && timing_ms() < end) sleep_ms(20);
}

/* Until the file says it, or the test fails. */
static inline int await_words(const char *file, const char *words) {
  await_either(file, words, words);
  if (CHECK(told(file, words))) return 1;
  printf("    said: %s\n", read_work(file));
  return 0;
}

/* How what was started in the background ends, and what it said, among other things. */
static inline void check_ends(pid_t pid, int status, const char *what) {
  CHECK_EQ(end_of(pid), status);
  if (!CHECK(told("background", what))) printf("    said: %s\n", read_work("background"));
}

/* A redlock with these options and this name, whose COMMAND runs when this returns. */
static inline pid_t start_command(const char *options_and_name, const char *command) {
  pid_t pid = start("exec $redlock %s -- sh -c 'touch $work/runs; %s'", options_and_name, command);
  CHECK(await_file("runs"));
  return pid;
}

/* Another one holds a lock, for 15 s. */
static inline pid_t start_holder(const char *options_and_name) {
  return start_command(options_and_name, "exec sleep 15");
}

/* COMMAND runs until the test says so. */
#define UNTIL_END "until test -e $work/end; do sleep 0.02; done"

static inline void let_it_end(void) { shell("touch $work/end"); }

/* A COMMAND that takes no SIGTERM and notes its process id; await_death: until it is killed. */
#define DEAF "sh -c 'trap \"\" TERM; echo $$ >$work/pid; touch $work/runs; " UNTIL_END "'"

static inline int await_death(void) {
  int64_t end = timing_ms() + LIMIT_MS;
  pid_t pid = (pid_t)atoi(read_work("pid"));
  while (kill(pid, 0) == 0 && timing_ms() < end) sleep_ms(10);
  return kill(pid, 0) != 0;
}

/* Writes to a pipe or a terminal that nobody reads, until it takes no more or has taken so many
   bytes; returns how many it took. */
static inline int fill(int fd, int most) {
  int taken = 0;
  CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  while (taken < most && write(fd, "", 1) == 1) taken++;
  CHECK(fcntl(fd, F_SETFL, 0) == 0);
  return taken;
}

static inline void terminate(pid_t pid) {
  kill(pid, SIGTERM);
  CHECK_EQ(end_of(pid), 128 + SIGTERM);
}

/* A connection to that port. */
static inline int dial(int port) {
  int fd = servers_dial(port);
  CHECK(fd >= 0);
  return fd;
}

/* How many servers have the key. */
static inline int holders(const char *key) {
  int i, count = 0;
  for (i = 0; i < real.count; i++)
    count += strcmp(server_command(&real.at[i], "EXISTS %s", key), "1") == 0;
  return count;
}

/* On how many of them it lives on for so long, both included. */
static inline int holders_for(const char *key, long least_ms, long most_ms) {
  char command[LINE];
  int i, count = 0;
  snprintf(command, sizeof command, "PTTL %s", key);
  for (i = 0; i < real.count; i++) {
    long left = server_number(&real.at[i], command);
    count += left >= least_ms && left <= most_ms;
  }
  return count;
}

/* Keys that ran out since the servers were made fresh. */
static inline long expired_keys(void) {
  long count = 0;
  int i;
  for (i = 0; i < real.count; i++) count += server_info(&real.at[i], "expired_keys:");
  return count;
}

/* Until so many have it: a release is on its way to the slower servers when the command ends. */
static inline int await_holders(const char *key, int count) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (holders(key) != count && timing_ms() < end) sleep_ms(2);
  return holders(key) == count;
}

static inline int is_held(const char *key) { return await_holders(key, real.count); }

/* And not expired. */
static inline int is_released(const char *key) {
  return await_holders(key, 0) && expired_keys() == 0;
}

static inline void use_servers(const char *format, ...) {
  char list[LINE];
  FORMATTED(list, sizeof list, format);
  setenv("REDLOCK_SERVERS", list, 1);
}

/* The default user of the first ones wants it; "" = none. */
static inline void want_password(int count, const char *password) {
  int i;
  for (i = 0; i < count; i++) server_want_password(&real.at[i], password);
}

/* A user of all servers with these rights. The commands from here on are his. */
static inline void use_ann(const char *rights) {
  char list[LINE] = "";
  int i;
  servers_command(&real, real.count, "ACL SETUSER ann reset on >s3cret %s", rights);
  for (i = 0; i < real.count; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "redis://ann:s3cret@127.0.0.1:%d,",
             real.at[i].port);
  use_servers("%s", list);
}

/* All servers well and empty, an empty folder, and the whole list: so each test begins. */
static inline void fresh(void) {
  char list[SERVERS_LIST];
  servers_heal(&real);
  servers_command(&real, real.count, "ACL DELUSER ann");
  servers_command(&real, real.count, "CONFIG RESETSTAT");
  shell("rm -rf $work/*");
  use_servers("%s", servers_list(&real, real.count, list));
}

/* A library that is loaded before libc refuses what follows: see preload/refuse.c. */
#define REFUSING \
  "LD_PRELOAD=$here/../command/refuse.so ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 " \
  "REFUSE="

static inline int cannot_refuse(void) {
  return shell("test -r $here/../command/refuse.so") != 0;
}

static inline void find_command(const char *program) {
  char here[LINE], path[LINE + 16];
  const char *slash = strrchr(program, '/');
  snprintf(self, sizeof self, "%s", program);
  snprintf(here, sizeof here, "%.*s", slash ? (int)(slash - program) : 1, slash ? program : ".");
  setenv("here", here, 1);
  snprintf(path, sizeof path, "%s/redlock", here);
  setenv("redlock", getenv("REDLOCK") ? getenv("REDLOCK") : path, 1);
  setenv("self", self, 1);
}

/* 0 = there are no servers, and so no tests. */
static inline int open_world(int argc, char **argv, int servers) {
  check_start(argc, argv);
  find_command(argv[0]);
  if (servers_missing()) return 0;
  servers_start(&real, servers, "");
  snprintf(work, sizeof work, "%s/work", servers_folder());
  if (mkdir(work, 0700)) {
    perror(work);
    exit(1);
  }
  setenv("work", work, 1);
  check.before = fresh;
  return 1;
}

static inline int close_world(void) {
  if (real.count) {
    servers_heal(&real);
    servers_stop(&real);
  } else {
    check.skipped++;
    printf("  skip  %s\n", servers_missing());
  }
  return check_end();
}

/* The main of a program: it runs every TEST. */
static inline int command_main(int argc, char **argv, int servers) {
  if (open_world(argc, argv, servers)) check_all();
  return close_world();
}

#endif
