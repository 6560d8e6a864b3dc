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
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 1024, OUTPUT = 65536, LIMIT_MS = 60000 };

static struct servers real;
static char work[SERVERS_PATH], self[LINE];

static inline void rest(int ms) { (void)poll(NULL, 0, ms); }

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

/* A shell line of its own process; its output goes to the named file. */
static inline pid_t start_line(const char *line, const char *to) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  {
    int fd = open(in_work(to), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
  }
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
    rest(1);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline pid_t start_formatted(const char *to, const char *format, va_list arguments) {
  char line[LINE];
  vsnprintf(line, sizeof line, format, arguments);
  return start_line(line, to);
}

static inline pid_t start(const char *format, ...) {
  pid_t pid;
  va_list arguments;
  va_start(arguments, format);
  pid = start_formatted("background", format, arguments);
  va_end(arguments);
  return pid;
}

static inline int shell(const char *format, ...) {
  pid_t pid;
  va_list arguments;
  va_start(arguments, format);
  pid = start_formatted("output", format, arguments);
  va_end(arguments);
  return end_of(pid);
}

/* How a shell line ends, and what it says, among other things. */
#define CHECK_SAYS(what, status, ...)                             \
  do {                                                            \
    CHECK_EQ(shell(__VA_ARGS__), status);                         \
    if (!CHECK(says(what))) printf("    said: %s\n", output()); \
  } while (0)

/* An error of usage. */
static inline void refuses(const char *arguments, const char *because) {
  CHECK_SAYS(because, 125, "$redlock %s", arguments);
}

/* Until the file exists; 0 = it does not come. */
static inline int await_file(const char *name) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (access(in_work(name), F_OK) != 0 && timing_ms() < end) rest(1);
  return access(in_work(name), F_OK) == 0;
}

/* Until the file says it, or the test fails. */
static inline int await_words(const char *file, const char *words) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (!strstr(read_work(file), words) && timing_ms() < end) rest(20);
  if (CHECK(strstr(read_work(file), words))) return 1;
  printf("    said: %s\n", read_work(file));
  return 0;
}

/* Another one holds a lock, for 15 s. */
static inline pid_t start_holder(const char *options_and_name) {
  pid_t pid = start("exec $redlock %s -- sh -c 'touch $work/runs; exec sleep 15'",
                    options_and_name);
  CHECK(await_file("runs"));
  return pid;
}

static inline void terminate(pid_t pid) {
  kill(pid, SIGTERM);
  CHECK_EQ(end_of(pid), 128 + SIGTERM);
}

/* How many servers have the key. */
static inline int holders(const char *key) {
  int i, count = 0;
  for (i = 0; i < real.count; i++)
    count += strcmp(server_command(&real.at[i], "EXISTS %s", key), "1") == 0;
  return count;
}

/* Keys that ran out since the servers were made fresh. */
static inline long expired_keys(void) {
  long count = 0;
  int i;
  for (i = 0; i < real.count; i++) count += server_info(&real.at[i], "expired_keys:");
  return count;
}

/* And not expired. A release is on its way to the slower servers when the command ends. */
static inline int is_released(const char *key) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (holders(key) > 0 && timing_ms() < end) rest(2);
  return holders(key) == 0 && expired_keys() == 0;
}

static inline int is_held(const char *key) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (holders(key) < real.count && timing_ms() < end) rest(2);
  return holders(key) == real.count;
}

static inline void use_servers(const char *format, ...) {
  char list[LINE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(list, sizeof list, format, arguments);
  va_end(arguments);
  setenv("REDLOCK_SERVERS", list, 1);
}

/* All servers well and empty, an empty folder, and the whole list. */
static inline void fresh(void) {
  char list[SERVERS_LIST];
  servers_heal(&real);
  servers_command(&real, real.count, "CONFIG RESETSTAT");
  shell("rm -f $work/*");
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

#endif
