/* use.c: the command as scripts use it: statuses, messages, files, options. */
#include "tests/command/command.h"

enum { TAKEN = 120, NO_QUORUM = 121 };

/* ---- what COMMAND sees ---- */

TEST(the_status_is_that_of_command) {
  CHECK_PRINTS("", 0, "$redlock job -- true");
  CHECK_EQ(shell("$redlock job false"), 1);
  CHECK_EQ(shell("$redlock job -- sh -c 'exit 42'"), 42);
  CHECK_EQ(shell("$redlock job -- sh -c 'kill -9 $$'"), 128 + SIGKILL);
  CHECK(is_released("job"));
}

TEST(why_exec_fails_is_told) {
  CHECK_SAYS("cannot run '/no/such/command': No such file or directory\n", 127,
             "$redlock job -- /no/such/command");
  CHECK_SAYS("No such file or directory: it is not in PATH\n", 127,
             "$redlock job -- no-such-command");
  CHECK_SAYS("if it is a shell's line, write -c before it\n", 127,
             "$redlock job -- 'echo a | cat'");
  CHECK_SAYS("cannot run '/etc/passwd'", 126, "$redlock job -- /etc/passwd");
  CHECK(is_released("job"));
}

/* Until the first server has extended the lock so often. */
static int await_extensions(int times) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (server_info(&real.at[0], "cmdstat_pexpire:calls=") < times && timing_ms() < end)
    sleep_ms(2);
  return timing_ms() < end;
}

TEST(the_lock_is_held_while_command_runs) {
  pid_t pid = start_command("-t 3s 'a job'", "echo \"<$REDLOCK_RESOURCE>\"; " UNTIL_END);
  CHECK(await_extensions(3)); /* one each third of the ttl */
  CHECK(holders("\"a job\"") >= 3);
  let_it_end();
  check_ends(pid, 0, "<a job>\n");
  CHECK(is_released("\"a job\""));
}

TEST(stdin_and_long_output_are_passed_on) {
  CHECK_PRINTS("hello\n", 0, "echo hello | $redlock job -- cat");
  CHECK_PRINTS("5000000\n", 0, "$redlock job -- head -c 5000000 /dev/zero | wc -c | tr -d ' '");
}

/* A closed stdout must not become a connection, nor be open for COMMAND. */
TEST(closed_files_do_no_harm) {
  CHECK_EQ(shell("$redlock job -- sh -c 'echo x 2>/dev/null; echo $? >$work/echo' >&-"), 0);
  CHECK(!told("echo", "0\n"));
  CHECK_EQ(shell("$redlock -v job -- true <&- >&- 2>&-"), 0);
  CHECK_EQ(shell("$redlock -v job -- true 2>&1 >/dev/null | true"), 0);
  CHECK(is_released("job"));
  CHECK_SAYS("cannot write", 123, "$redlock --help >/dev/full");
}

/* What a shell or nohup(1) ignores, COMMAND ignores; the rest is as it was. */
TEST(command_gets_no_files_and_its_own_signals) {
  if (access("/proc/self/fd", R_OK)) SKIP("no /proc");
  CHECK_EQ(shell("$redlock job -- sh -c 'for f in 3 4 5 6 7 8 9 10 11 12; do "
                 "test -e /proc/$$/fd/$f && readlink /proc/$$/fd/$f; done; true'"), 0);
  CHECK(!says("socket") && !says("pipe") && !says("tty"));
  CHECK_PRINTS("", 0, "trap '' HUP; sed -n '/^Sig[BI]/p' /proc/self/status >$work/before; "
                      "$redlock job -- sed -n '/^Sig[BI]/p' /proc/self/status "
                      "| cmp - $work/before");
}

static int become_blocked(char **program) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  execvp(*program, program);
  return 127;
}

/* As a daemon's thread may start it. */
TEST(blocked_signals_hide_no_end) {
  static const char mask[] = "sed -n /^SigBlk/p /proc/self/status";
  CHECK_EQ(shell("$self blocked $redlock job -- sh -c 'exit 5'"), 5);
  CHECK(is_released("job"));
  if (access("/proc/self/status", R_OK)) SKIP("no /proc");
  CHECK_PRINTS("", 0, "$self blocked %s >$work/before; "
                      "$self blocked $redlock job -- %s | cmp - $work/before", mask, mask);
}

/* Before COMMAND runs and while it does. */
TEST(blocked_signals_still_end_it) {
  pid_t waiter, holder = start("exec $self blocked $redlock job -- " DEAF);
  CHECK(await_file("runs"));
  waiter = start_line("exec $self blocked $redlock -v job -- true", "waiter");
  await_words("waiter", "UTC: it is taken\n");
  terminate(waiter);
  kill(holder, SIGTERM);
  let_it_end();
  CHECK_EQ(end_of(holder), 0);
}

/* As where no shell is in control: in a session of its own, which has none. */
TEST(a_stop_without_a_terminal_is_undone) {
  pid_t pid = start("exec $self alone $redlock -v job -- sh -c 'touch $work/runs; " UNTIL_END "'");
  CHECK(await_file("runs"));
  kill(pid, SIGTSTP);
  await_words("background", "passed signal ");
  kill(pid, SIGCONT);
  let_it_end();
  check_ends(pid, 0, "released lock");
}

/* ---- when there is no lock ---- */

TEST(a_lock_that_is_taken_is_told) {
  int64_t from;
  pid_t pid = start_command("job", UNTIL_END);
  CHECK_SAYS("'job' is taken", TAKEN, "$redlock -n job -- echo wrong");
  CHECK(!says("wrong"));
  CHECK_PRINTS("", 7, "$redlock -nq -E 7 job -- echo wrong");
  from = timing_ms();
  CHECK_EQ(shell("$redlock -w 400ms job -- echo wrong"), TAKEN);
  CHECK(timing_ms() - from >= 400);
  CHECK_EQ(shell("$redlock -n another -- true"), 0);
  let_it_end();
  CHECK_EQ(shell("$redlock --wait=10s job -- true"), 0); /* when the first has ended */
  CHECK_EQ(end_of(pid), 0);
}

/* So often was the first server sent a SET by a redlock that may not wait, and found this taken. */
static long sets_of_one_try(const char *name) {
  long before = server_info(&real.at[0], "cmdstat_set:calls=");
  CHECK_SAYS("' is taken", TAKEN, "$redlock -n %s -- echo wrong", name);
  return server_info(&real.at[0], "cmdstat_set:calls=") - before;
}

/* Several that start at once may have split the votes, and then nobody has it. One time of ten will
   do: where the others are heard first, the vote of the first does not count. */
TEST(who_has_a_vote_tries_again) {
  int left = 10;
  servers_command(&real, real.count, "SET split another");
  CHECK(sets_of_one_try("split") <= 1);
  servers_command(&real, 1, "DEL split");
  while (sets_of_one_try("split") < 2 && --left) continue;
  CHECK(left > 0);
  servers_command(&real, real.count, "DEL split");
}

/* A quarter of a second is no trouble with a ttl of 5 s: one time of ten, as a machine may add much
   to it. */
TEST(slow_servers_are_waited_for) {
  int status, left = 10;
  do {
    servers_command(&real, real.count, "CLIENT PAUSE 250");
    status = shell("$redlock -n -t 5s job -- true");
  } while (status && --left);
  CHECK(left > 0);
}

/* As many are told as are listed, also where fewer had voted when it was decided. */
TEST(a_missing_quorum_is_told) {
  char expected[64];
  servers_kill(&real, 2);
  CHECK_EQ(shell("$redlock -w 10s job -- true"), 0); /* three are enough */
  server_freeze(&real.at[2]);
  CHECK_SAYS("3 of 5 servers are unavailable; at most 2 may be", NO_QUORUM,
             "$redlock -n job -- echo wrong");
  CHECK(!says("wrong"));
  snprintf(expected, sizeof expected, "  127.0.0.1:%d: no answer within ", real.at[2].port);
  CHECK(says(expected));
  snprintf(expected, sizeof expected, "  127.0.0.1:%d: no connection: is it", real.at[0].port);
  CHECK(says(expected));
  servers_kill(&real, 4);
  CHECK_SAYS("4 of 5 servers are unavailable; at most 2 may be", 0,
             "$redlock -n job -- true 2>&1 | tee /dev/stderr | grep -c '^redlock:   ' "
             ">$work/listed");
  CHECK(told("listed", "4\n"));
}

/* ---- a redlock under a redlock ---- */

TEST(a_redlock_around_it_that_holds_the_lock_is_told) {
  CHECK_SAYS("lock 'job' is taken: the redlock around this one seems to hold it", TAKEN,
             "$redlock job -- $redlock -n job -- true");
  CHECK_SAYS("still waiting for lock 'job': the redlock around this one seems to hold it", TAKEN,
             "$redlock job -- $redlock -w 2s job -- true");
  CHECK_PRINTS("", 0, "$redlock job -- $redlock other -- true");
}

TEST(why_no_password_is_handed_on_is_told) {
  use_ann("~* +@all");
  CHECK_SAYS("the redlock around this one hands no password on: use --password-file", 125,
             "$redlock job -- $redlock other -- true");
  CHECK_EQ(shell("echo s3cret >$work/password; "
                 "$redlock job -- $redlock --password-file $work/password other -- true"), 0);
  refuses("-s redis://ann@127.0.0.1 job -- true",
          "a user needs a password: write user:password@host");
}

/* ---- usage ---- */

TEST(bad_usage_is_refused) {
  static const char *const rows[][2] = {
    {"", "RESOURCE is missing"},
    {"job", "COMMAND is missing: 'job' was read as RESOURCE, the lock's name"},
    {"-s a true", "'true' was read as RESOURCE, and what follows -s as the servers"},
    {"job --", "COMMAND is missing"},
    {"job -n true", "put options before it"},
    {"'' -- true", "RESOURCE is empty: give the lock a name"},
    {"-nz job -- true", "there is no option '-z'"},
    {"--wat job -- true", "there is no option '--wat'"},
    {"--nonblock=1 job -- true", "'--nonblock=1' takes no value: leave out what"},
    {"-w", "needs a value"},
    {"--ttl", "needs a value"},
    {"-t 5x job -- true", "'5x' is not a time"},
    {"-t -5 job -- true", "is not a time"},
    {"-t 30000 job -- true", "'30000' needs a unit"},
    {"-w 1000 job -- true", "'1000' needs a unit"},
    {"-m 1000.5 job -- true", "'1000.5' needs a unit"},
    {"--max-ttl 1000 job -- true", "'1000' needs a unit"},
    {"-t . job -- true", "'.' is not a time"},
    {"-t 1.5.5 job -- true", "is not a time"},
    {"-t 1,5 job -- true", "is not a time"},
    {"-t 24.9d job -- true", "'24.9d' is too long"},
    {"-t 99999h job -- true", "too long"},
    {"-t 0.199 job -- true", "200ms or more"},
    {"-m 0 job -- true", "--max-hold 0 would be no limit: leave the option out"},
    {"-t 10ms job -- true", "200ms or more"},
    {"-t 3s -k 2s job -- true", "a third of --ttl"},
    {"-t 3s --max-ttl 2s job -- true", "--ttl 3s is longer than --max-ttl 2s"},
    {"-t 2s --max-ttl 1.5s job -- true", "--ttl 2s is longer than --max-ttl 1500ms"},
    {"--max-ttl 100ms job -- true", "200ms or more"},
    {"-E 256 job -- true", "'256' is not an exit status: write 0 to 255"},
    {"--json job -- true", "--json is for --status: give both"},
    {"--strict job -- true", "--strict is for --status: give both, or leave it out"},
    {"--status job true", "leave out 'true': --status runs no COMMAND"},
    {"-s '' job -- true", "no servers"},
    {"-s a:b:c job -- true", "server 'a:b:c'"},
    {"-s ::1 job -- true", "server '::1': write an IPv6 address as [v6]:port"},
    {"-s 'a:7001;b:7002' job -- true", "separate servers by commas, not by ;"},
    {"-s a:99999 job -- true", "server 'a:99999': the port is out of range: 1 to 65535"},
    {"-s redis://[::1]:65536/2 job -- true", "the port is out of range"},
    {"-s a:0 job -- true", "the port is out of range"},
    {"-s a:6379x job -- true", "write host[:port]"},
    {"-s redis://u:s3%zz@a job -- true", "two hexadecimal digits must follow each %"},
    {"-s $(printf 'h:%s,' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16) job -- true",
     "redlock: there are 16 servers in the list: 15 are the most"},
    {"-s 127.0.0.1:1,127.0.0.1:1 job -- true", "this address is in the list twice: list it once"}
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) refuses(rows[i][0], rows[i][1]);
  refuses("$(printf %0300d 0) -- true", "00...' is longer than 255 bytes: give the lock a shorter");
  CHECK(strcspn(output(), "\n") < 130);
}

/* A comma or a blank that should have been written as %XX cuts it. */
TEST(no_part_of_a_password_is_told) {
  static const char *const lines[] = {
    "-s redis://:hunter,2secret@a job -- true",   "-s 'redis://:hunter 2secret@a' job -- true",
    "-s redis://u:hunter,2secret job -- true",    "-s redis://:2secret,hunter,@a --status",
    "-s redis://u:hunter@2,secret@a --status",    "--server=redis://:hunter,2secret@a job -- true",
    "--status job redis://u:hunter2secret@a",     "-nx=redis://u:hunter2secret@a job -- true",
    "-t redis://u:hunter2secret@a job -- true",   "-s redis://u:hunter2secret%@a job -- true",
    "-s redis://u:hunter/secret@a job -- true",   "-s rediss://u:hunter2secret@a job -- true"
  };
  size_t i;
  for (i = 0; i < sizeof lines / sizeof *lines; i++) {
    refuses(lines[i], "redlock: ");
    if (!CHECK(!says("hunter") && !says("secret"))) printf("    said: %s", output());
  }
}

TEST(the_help_is_short_and_narrow) {
  CHECK_EQ(shell("env -u REDLOCK_SERVERS $redlock --help"), 0);
  CHECK_EQ(shell("$redlock -h | awk 'length > 79 || NR > 32 { bad = 1 } END { exit bad }'"), 0);
  CHECK_SAYS(" with", 0, "$redlock -V");
  CHECK(strncmp(output(), "redlock ", 8) == 0);
}

/* ---- status ---- */

TEST(the_status_of_servers_is_shown) {
  CHECK_SAYS("SERVER", 0, "$redlock --status");
  CHECK(says("5 of 5 servers can vote, 3 are needed: locks can be taken"));
  CHECK(says("master") && says(" ms ") && says("  ok\n"));
  CHECK_SAYS("s of --max-ttl 3600s: it votes in 3", NO_QUORUM, "$redlock --max-ttl 1h --status");
  CHECK(says("not all vote: restart no server"));
}

/* Locks can be taken, and yet somebody should look. */
TEST(a_strict_status_misses_each_server) {
  CHECK_EQ(shell("$redlock --status --strict"), 0);
  server_kill(&real.at[0]);
  CHECK_EQ(shell("$redlock --status"), 0);
  CHECK_SAYS("4 of 5 servers can vote, 3 are needed: locks can be taken", 119,
             "$redlock --status --strict");
  CHECK_SAYS("\"can_vote\":4,\"needed\":3,\"locks\":true", 119,
             "$redlock --status --strict --json");
  servers_kill(&real, 3);
  CHECK_EQ(shell("$redlock --status --strict"), NO_QUORUM);
}

TEST(the_status_tells_what_is_wrong_with_each_server) {
  server_kill(&real.at[0]);
  server_freeze(&real.at[1]);
  server_command(&real.at[2], "REPLICAOF 127.0.0.1 1");
  server_command(&real.at[3], "CONFIG SET maxmemory 100mb"); /* before 7.0 one at a time */
  server_command(&real.at[3], "CONFIG SET maxmemory-policy allkeys-lru");
  use_servers("127.0.0.1:%d 127.0.0.1:%d 127.0.0.1:%d unix:%s redis://:s3cret@127.0.0.1:%d "
              "no.such.host.invalid", real.at[0].port, real.at[1].port, real.at[2].port,
              real.at[3].socket, real.at[4].port);
  CHECK_SAYS("no connection: is it running", NO_QUORUM, "$redlock --status");
  CHECK(says("(--server-timeout): is it frozen"));
  CHECK(says("it is no plain master ("));
  CHECK(says("it may evict locks: set maxmemory-policy noeviction"));
  CHECK(says("it has no password: give none") || says("WRONGPASS"));
  CHECK(says("the name is not found: check it"));
  CHECK(says("1 of 6 servers can vote, 4 are needed: NO SAFE LOCK") && !says("s3cret"));
  server_command(&real.at[2], "REPLICAOF NO ONE");
  server_command(&real.at[3], "CONFIG SET maxmemory 0");
  server_command(&real.at[3], "CONFIG SET maxmemory-policy noeviction");
}

/* ---- a user of few rights ---- */

/* The rights as the manual has them. */
#define LEAST_RIGHTS "~job +set +eval +get +del +pttl +pexpire"

/* Inside the scripts too, where what was denied must not be taken for an answer. */
TEST(a_right_that_a_script_lacks_is_told) {
  use_ann("~other ~other:fence +@all -time");
  CHECK_SAYS("+time", NO_QUORUM, "$redlock --fencing --max-ttl 1s -t 1s -w 4s other -- true");
}

/* No COMMAND, and no ticket, is for a lock that could not be kept. */
static void is_not_held(const char *what) {
  CHECK_SAYS(what, NO_QUORUM, "$redlock job -- echo wrong");
  CHECK((says("cannot keep lock 'job': ") || says("cannot take lock 'job': ")) && !says("wrong\n"));
  servers_command(&real, real.count, "DEL job"); /* what could not be released */
  CHECK_SAYS(what, NO_QUORUM, "$redlock --take job");
  CHECK(!says("job/"));
  servers_command(&real, real.count, "DEL job");
}

TEST(a_lock_that_could_not_be_extended_is_not_held) {
  static const char *const rights[] = {"eval", "pttl", "pexpire"};
  struct server odd;
  size_t i;
  for (i = 0; i < sizeof rights / sizeof *rights; i++) {
    char all_but[32];
    snprintf(all_but, sizeof all_but, "~job +@all -%s", rights[i]);
    use_ann(all_but);
    is_not_held("this user needs +");
  }
  server_start(&odd, "--rename-command EVAL nothing");
  use_servers("127.0.0.1:%d", odd.port);
  is_not_held("it lacks or renames a command that locks need: SET EVAL");
  server_kill(&odd);
}

/* A server may be slow just then: it is asked again while COMMAND runs. */
TEST(an_extension_that_only_fails_now_stops_nothing) {
  use_ann("~job +@all -pexpire");
  servers_command(&real, 2, "ACL SETUSER ann +pexpire");
  server_freeze(&real.at[4]);
  CHECK_PRINTS("hello\n", 0, "$redlock -n job -- echo hello 2>$work/said");
}

TEST(a_status_needs_info_and_locks_do_not) {
  use_ann(LEAST_RIGHTS);
  CHECK_PRINTS("", 0, "$redlock job -- true");
  CHECK_SAYS_ONCE("+info", NO_QUORUM, "$redlock -n --max-ttl 1s job -- true");
  CHECK_SAYS("  ok; ", 0, "$redlock --status");
  CHECK(says("+client|tracking would let it wake waiters"));
  CHECK(says("; +info would tell its version and role\n") && !says("NOPERM") && !says("ERR"));
  CHECK(says("5 of 5 servers can vote, 3 are needed: locks can be taken"));
  CHECK(!says(" 0s ") && !says("s3cret"));
  CHECK_SAYS("NO SAFE LOCK CAN BE TAKEN", NO_QUORUM, "$redlock --max-ttl 1s -t 1s --status");
  use_ann("~job +info +eval");
  CHECK_SAYS("this user needs +set (see", NO_QUORUM, "$redlock --status");
  CHECK(says("NOPERM") && says("NO SAFE LOCK CAN BE TAKEN"));
  use_ann(LEAST_RIGHTS " +info");
  CHECK_SAYS("5 of 5 servers can vote, 3 are needed: locks can be taken", 0, "$redlock --status");
  CHECK(!says("NOPERM"));
}

static int become_alone(char **program) {
  setsid();
  execvp(*program, program);
  return 127;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "alone") == 0) return become_alone(argv + 2);
  if (argc > 2 && strcmp(argv[1], "blocked") == 0) return become_blocked(argv + 2);
  return command_main(argc, argv, 5);
}
