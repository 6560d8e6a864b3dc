/* built.c: what make builds besides the tests: the examples run, the command is small and quick,
 * and what is installed is whole. */
#include "tests/command/command.h"

#include <sys/stat.h>

enum { SMALL_BYTES = 168 * 1024, RUNS = 31, MORE_RUNS = 600, MANY = 3000 };

/* Runs a program without a shell and with no output; how long it took, or -1. */
static int64_t time_us(char *const *argv) {
  int64_t from = timing_us();
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) {
    int fd = open("/dev/null", O_RDWR);
    dup2(fd, STDOUT_FILENO);
    execvp(argv[0], argv);
    _exit(127);
  }
  waitpid(pid, &status, 0);
  return status == 0 ? timing_us() - from : -1;
}

static char *built(const char *name, char path[LINE]) {
  snprintf(path, LINE, "%s/../../%s", getenv("here"), name);
  return path;
}

/* By turns, and the least of each: so that what else the machine does falls on neither. On a
   busy one that takes more of them. */
static void starts_as_fast_as_a_ping(const char *name) {
  char path[LINE], port[8], cli[] = "redis-cli", flag[] = "-p", ping[] = "ping", job[] = "job";
  char run[] = "true";
  char *ping_argv[] = {cli, flag, port, ping, NULL}, *lock_argv[] = {path, job, run, NULL};
  int64_t ping_us = INT64_MAX, lock_us = INT64_MAX;
  int i;
  built(name, path);
  snprintf(port, sizeof port, "%d", real.at[0].port);
  if (access(path, X_OK)) SKIP("it is not built here");
  if (time_us(ping_argv) < 0) SKIP("no redis-cli");
  for (i = 0; i < RUNS || (lock_us >= 2 * ping_us && i < MORE_RUNS); i++) {
    int64_t pinged = time_us(ping_argv), locked = time_us(lock_argv);
    CHECK(pinged > 0 && locked > 0);
    if (pinged < ping_us) ping_us = pinged;
    if (locked < lock_us) lock_us = locked;
  }
  printf("    %s, five servers: %ld us; redis-cli ping: %ld us; ratio %.2f\n", name, (long)lock_us,
         (long)ping_us, (double)lock_us / (double)ping_us);
  CHECK(lock_us < 2 * ping_us);
}

TEST(the_command_starts_quickly) { starts_as_fast_as_a_ping("redlock"); }
TEST(the_static_command_starts_quickly) { starts_as_fast_as_a_ping("redlock-static"); }

TEST(the_static_command_is_small_and_says_what_it_needs) {
  char path[LINE];
  struct stat file;
  CHECK_SAYS("no-such-gcc is not installed: install musl-tools, or set STATIC_CC", 2,
             "make -s redlock-static BUILD=$work/b STATIC_CC=no-such-gcc");
  if (stat(built("redlock-static", path), &file) != 0) SKIP("no musl-gcc");
  printf("    redlock-static: %ld bytes\n", (long)file.st_size);
  CHECK(file.st_size < SMALL_BYTES);
}

/* ---- examples ---- */

/* What a slow server had not read when the connection closed lives until its ttl; no longer. */
static int all_keys_expire(const struct server *s) {
  char expected[32];
  long keys = server_number(s, "DBSIZE");
  snprintf(expected, sizeof expected, "expires=%ld,", keys);
  return keys == 0 || strstr(server_command(s, "INFO keyspace"), expected) != NULL;
}

static const char *no_epoll(void) {
  return shell("test -x $here/../examples/many_locks") ? "this system has no epoll" : NULL;
}

TEST(many_locks_grants_all) { /* R11 */
  int i;
  if (no_epoll()) SKIP(no_epoll());
  CHECK_SAYS("3000 granted and released, 0 refused", 0,
             "$here/../examples/many_locks $REDLOCK_SERVERS %d", MANY);
  for (i = 0; i < real.count; i++) CHECK(all_keys_expire(&real.at[i]));
}

/* Servers that come back are watched under a new generation. */
TEST(many_locks_bears_restarts) {
  pid_t pid;
  int i;
  if (no_epoll()) SKIP(no_epoll());
  pid = start("$here/../examples/many_locks $REDLOCK_SERVERS 40000 || test $? = 1");
  for (i = 0; i < 4; i++) {
    sleep_ms(60);
    server_restart(&real.at[i % 2]);
  }
  CHECK_EQ(end_of(pid), 0);
  CHECK(!strstr(read_work("background"), "epoll_ctl"));
}

/* Nothing that was freed is used; and a lock whose request is gone is free for the next one, or
   each would wait for ten seconds. */
TEST(requests_are_dropped_in_any_state) {
  int i;
  CHECK_SAYS(" dropped, 0 refused", 0, "$here/../examples/requests $REDLOCK_SERVERS 2000");
  for (i = 0; i < real.count; i++) CHECK(all_keys_expire(&real.at[i]));
}

/* By redlock_server_error(&rl, -1): no server can. */
TEST(examples_say_why_a_list_is_refused) {
  CHECK_PRINTS("", 0, "for each in keepalive many_locks requests several hand_over keep_thread "
                 "guard fencing/redis fencing/sqlite fencing/postgres tls; do "
                 "test -x $here/../examples/$each || continue; "
                 "test $each = tls && more= || more='a 1 1'; "
                 "timeout 9 $here/../examples/$each , $more >$work/said 2>&1 "
                 "&& echo $each succeeds; "
                 "grep -q 'the list is empty' $work/said || echo $each; done");
}

TEST(users_code_is_tested_without_servers) {
  CHECK_SAYS("0 failed", 0, "$here/../examples/unit_test");
}

static pid_t start_several(void) {
  pid_t pid = start("$here/../examples/several $REDLOCK_SERVERS b a");
  CHECK(is_held("a") && is_held("b"));
  return pid;
}

/* They last longer than their ttl, and end together. */
TEST(several_are_kept_together) {
  check_ends(start_several(), 0, "ok; 30 of 30");
  CHECK(is_released("a") && is_released("b"));
}

/* In the order of their names: the one that is free is taken first, and not left behind. */
TEST(several_are_taken_or_none) {
  servers_command(&real, real.count, "SET b another");
  check_ends(start_several(), 1, "taken; 0 of 30");
  CHECK(is_released("a") && is_held("b"));
}

/* An example that runs on has lost its keys: it ends and says so. */
static void stops_on_a_loss(const char *example, const char *said) {
  pid_t pid = start("$here/../examples/%s", example);
  CHECK(is_held("report:2024"));
  servers_command(&real, 3, "FLUSHALL");
  check_ends(pid, 1, said);
}

TEST(keepalive_notices_a_loss) {
  stops_on_a_loss("keepalive $REDLOCK_SERVERS", "the lock cannot be kept: stopped after piece");
}

TEST(keep_thread_stops_the_work_on_a_loss) {
  stops_on_a_loss("keep_thread $REDLOCK_SERVERS 600000", "not done: expired");
}

/* Most servers stand still: it ends while the lock is held, and says so. */
static void stops_in_time(const char *line, const char *said) {
  pid_t pid = start("exec %s", line);
  int i;
  CHECK(is_held("report:2024"));
  for (i = 0; i < 3; i++) server_freeze(&real.at[i]);
  check_ends(pid, 1, said);
}

TEST(keepalive_stops_in_time) { /* R20 */
  stops_in_time("$here/../examples/keepalive $REDLOCK_SERVERS",
                "the lock cannot be kept: stopped after piece");
}

TEST(keep_thread_stops_the_work_in_time) { /* R20 */
  stops_in_time("$here/../examples/keep_thread $REDLOCK_SERVERS 600000", "not done: no quorum");
}

TEST(python_stops_in_time) { /* R20 */
  if (shell("command -v python3")) SKIP("no python3");
  stops_in_time("python3 examples/libredlock.py $here/../../examples/libredlock.so "
                "$REDLOCK_SERVERS", "the lock cannot be kept: stopped with");
}

TEST(python_releases_when_it_is_done) {
  if (shell("command -v python3")) SKIP("no python3");
  CHECK_PRINTS("", 0, "python3 examples/libredlock.py $here/../../examples/libredlock.so "
               "$REDLOCK_SERVERS 1");
  CHECK(is_released("report:2024"));
}

/* Longer than the ttl, so that only an extension from the other thread can keep it. */
TEST(keep_thread_extends_while_the_work_blocks) {
  CHECK_SAYS("done: ok", 0, "$here/../examples/keep_thread $REDLOCK_SERVERS 2500");
  CHECK(is_released("report:2024"));
}

TEST(the_bare_metal_example_passes_on_toy_servers) {
  CHECK_SAYS("PASS", 0, "$here/../portability/board");
}

TEST(install_is_whole) {
  CHECK_EQ(shell("make -s install DESTDIR=$work/root PREFIX=/opt/x BUILD=$here/../.."), 0);
  CHECK_EQ(shell("cd $work/root/opt/x && ls bin/redlock include/redlock.h share/man/man1/redlock.1 "
                 "share/man/man3/redlock.3 share/pkgconfig/redlock.pc "
                 "share/bash-completion/completions/redlock share/zsh/site-functions/_redlock"), 0);
  CHECK_EQ(shell("grep -q 'redlock_start_acquire' $work/root/opt/x/share/man/man3/redlock.3"), 0);
  CHECK_EQ(shell("grep -q '^Version: [0-9]' $work/root/opt/x/share/pkgconfig/redlock.pc"), 0);
  CHECK_EQ(shell("grep -q '^includedir=${prefix}/include$' $work/root/opt/x/share/pkgconfig/*"), 0);
  CHECK_EQ(shell("cd $work/root/opt/x/share/man && "
                 "grep -ho '^.TH.* \"20..-..-..\"' man1/* man3/* | cut -d '\"' -f 2 | uniq -c | "
                 "grep ' 2 '"), 0);
  if (shell("command -v groff") != 0) return;
  CHECK_EQ(shell("cd $work/root/opt/x/share/man && groff -man -Tutf8 -ww man1/* man3/* 2>&1 "
                 ">/dev/null"), 0);
  CHECK(!*output());
}

/* The manual of the interface tells all that is public, and nothing else. */
TEST(manual_is_made_of_the_public_part) {
  CHECK_EQ(shell("cd $here/../../.. && make -s BUILD=$work $work/redlock.3 && "
                 "! grep -nE '(^|[^a-z])(rl_|RL_)' $work/redlock.3"), 0);
  /* Nor does it point to what is not installed. */
  CHECK_EQ(shell("! grep -nE '(^|[^A-Z])R[0-9]|tests/|far below' $work/redlock.3"), 0);
  CHECK_EQ(shell("sed '/^#endif .* REDLOCK_H/,$d' $here/../../../redlock.h | "
                 "grep -oE 'redlock_[a-z_]+\\(' | sort -u | "
                 "while read -r call; do grep -qF \"$call\" $work/redlock.3 || echo $call; "
                 "done"), 0);
  CHECK(!*output());
  CHECK_EQ(shell("sed '/^#ifndef REDLOCK_H/,$d' $here/../../../redlock.h >$work/head && "
                 "grep -cE '^     REDLOCK_' $work/head | "
                 "grep -x \"$(grep -c '^[.]BR \"REDLOCK_' $work/redlock.3)\""), 0);
  CHECK_EQ(shell("sed -n '/the text begins:$/,/^$/p' $work/head | "
                 "grep -cE '^     [^ ].{37} [^ ]' | "
                 "grep -x \"$(grep -c '^[.]B \"' $work/redlock.3)\""), 0);
}

TEST(manual_begins_with_every_call) {
  CHECK_EQ(shell("cd $here/../../.. && make -s BUILD=$work $work/redlock.3 && "
                 "sed -n '/^.SH SYNOPSIS/,/^.SH DESCRIPTION/p' $work/redlock.3 >$work/synopsis && "
                 "sed '/^#endif .* REDLOCK_H/,$d' redlock.h | sed -n '/^REDLOCK_API/p' | "
                 "grep -oE 'redlock_[a-z_]+[(]' | sed s/_sized// | while read -r call; do "
                 "grep -qF \" $call\" $work/synopsis || grep -qF \"*$call\" $work/synopsis || "
                 "echo $call; done"), 0);
  CHECK(!*output());
  CHECK_EQ(shell("grep -c '^redlock_status redlock_acquire(' $work/synopsis"), 0);
  CHECK_EQ(shell("grep -c 'uint32_t server_timeout_ms; */. default 250: ' $work/redlock.3"), 0);
}

TEST(manuals_fit_a_page_of_80_columns) {
  if (shell("command -v groff") != 0) SKIP("no groff");
  CHECK_EQ(shell("cd $here/../../.. && make -s BUILD=$work $work/redlock.3 && "
                 "for each in $work/redlock.3 examples/redlock/redlock.1; do "
                 "groff -man -Tascii -P-cbou -rLL=80n $each | awk 'length($0) > 80'; done"), 0);
  if (!CHECK(!*output())) printf("%s", output());
}

/* Folders that a packager names are heard, and what was installed can be taken away again. */
TEST(install_goes_where_it_is_told) {
  const char *where = "DESTDIR=$work/root PREFIX=/p MANDIR=/m INCLUDEDIR=/i BUILD=$here/../..";
  CHECK_EQ(shell("make -s install %s", where), 0);
  CHECK_EQ(shell("cd $work/root && ls p/bin/redlock i/redlock.h m/man1/redlock.1 m/man3/redlock.3 "
                 "&& grep '^includedir=/i$' p/share/pkgconfig/redlock.pc"), 0);
  CHECK_EQ(shell("make -s uninstall %s", where), 0);
  CHECK_PRINTS("", 0, "find $work/root -type f");
}

/* What `make redlock TLS=1` has built is not built again without TLS. */
TEST(install_takes_what_was_built_last) {
  static const char line[] = "make -n install BUILD=$work/b %s | grep -c DREDLOCK_COMMAND_TLS";
  if (shell("tests/tls/libraries $work/probe cc | grep -q ssl") != 0) SKIP("no OpenSSL");
  CHECK_EQ(shell("mkdir -p $work/b && touch $work/b/redlock-tls-1"), 0);
  CHECK_EQ(shell(line, ""), 0);
  CHECK_EQ(shell(line, "TLS="), 1);
  CHECK_EQ(shell("mv $work/b/redlock-tls-1 $work/b/redlock-tls-"), 0);
  CHECK_EQ(shell(line, ""), 1);
  CHECK_EQ(shell(line, "TLS=1"), 0);
  CHECK_EQ(shell("rm -r $work/b"), 0);
}

int main(int argc, char **argv) {
  if (open_world(argc, argv, 5)) check_all();
  return close_world();
}
