/* use.c: the command as scripts use it: statuses, messages, files, options. */
#include "tests/command/command.h"

/* ---- what COMMAND sees ---- */

TEST(exits_as_command_does) {
  fresh();
  CHECK_EQ(shell("$redlock job -- true"), 0);
  CHECK(!*output());
  CHECK_EQ(shell("$redlock job false"), 1);
  CHECK_EQ(shell("$redlock job -- sh -c 'exit 42'"), 42);
  CHECK_EQ(shell("$redlock job -- sh -c 'kill -9 $$'"), 128 + SIGKILL);
  CHECK(is_released("job"));
}

TEST(tells_why_exec_fails) {
  fresh();
  CHECK_EQ(shell("$redlock job -- /no/such/command"), 127);
  CHECK(says("cannot run '/no/such/command': No such file or directory\n"));
  CHECK_EQ(shell("$redlock job -- no-such-command"), 127);
  CHECK(says("No such file or directory: it is not in PATH\n"));
  CHECK_EQ(shell("$redlock job -- 'echo a | cat'"), 127);
  CHECK(says("if it is a shell's line, write -c before it\n"));
  CHECK_SAYS("cannot run '/etc/passwd'", 126, "$redlock job -- /etc/passwd");
  CHECK(is_released("job"));
}

/* A COMMAND that runs until the test says so. */
#define UNTIL_END "sh -c 'echo \"$REDLOCK_RESOURCE\" >$work/name; " \
                  "until [ -e $work/end ]; do sleep 0.02; done'"

static long extensions(void) {
  long count = 0, calls;
  int i;
  for (i = 0; i < real.count; i++) {
    calls = server_info(&real.at[i], "cmdstat_pexpire:calls=");
    if (calls > 0) count += calls;
  }
  return count;
}

/* Until the lock has been extended so often on all servers, or oftener where some missed one. */
static int await_extensions(int times) {
  int64_t end = timing_ms() + LIMIT_MS;
  long wanted = extensions() + times * real.count;
  while (extensions() < wanted && timing_ms() < end) rest(2);
  return extensions() >= wanted;
}

TEST(holds_while_command_runs) {
  pid_t pid;
  fresh();
  pid = start("$redlock -t 4s 'a job' -- " UNTIL_END);
  CHECK(await_file("name"));
  CHECK(await_extensions(2)); /* one each third of the ttl */
  CHECK(holders("\"a job\"") >= 3);
  CHECK_EQ(shell("touch $work/end"), 0);
  CHECK_EQ(end_of(pid), 0);
  CHECK(is_released("\"a job\""));
  CHECK(strcmp(read_work("name"), "a job\n") == 0);
}

TEST(passes_stdin_and_long_output) {
  fresh();
  CHECK_EQ(shell("echo hello | $redlock job -- cat"), 0);
  CHECK(strcmp(output(), "hello\n") == 0);
  CHECK_EQ(shell("$redlock job -- head -c 5000000 /dev/zero | wc -c | tr -d ' '"), 0);
  CHECK(strcmp(output(), "5000000\n") == 0);
}

/* A closed stdout must not become a connection, nor be open for COMMAND. */
TEST(survives_closed_files) {
  fresh();
  CHECK_EQ(shell("$redlock job -- sh -c 'echo x 2>/dev/null; echo $? >$work/echo' >&-"), 0);
  CHECK(strcmp(read_work("echo"), "0\n") != 0);
  CHECK_EQ(shell("$redlock -v job -- true <&- >&- 2>&-"), 0);
  CHECK_EQ(shell("$redlock -v job -- true 2>&1 >/dev/null | true"), 0);
  CHECK(is_released("job"));
  CHECK_SAYS("cannot write", 123, "$redlock --help >/dev/full");
}

TEST(leaves_no_file_open) {
  fresh();
  if (access("/proc/self/fd", R_OK)) SKIP("no /proc");
  CHECK_EQ(shell("$redlock job -- sh -c 'for f in 3 4 5 6 7 8 9 10 11 12; do "
                 "test -e /proc/$$/fd/$f && readlink /proc/$$/fd/$f; done; true'"), 0);
  CHECK(!says("socket") && !says("pipe") && !says("tty"));
}

/* What a shell or nohup(1) ignores, COMMAND ignores; the rest is as it was. */
TEST(leaves_signals_alone) {
  char before[128];
  fresh();
  if (access("/proc/self/status", R_OK)) SKIP("no /proc");
  shell("trap '' HUP; sed -n '/^Sig[BI]/p' /proc/self/status");
  snprintf(before, sizeof before, "%.127s", output());
  CHECK_EQ(shell("trap '' HUP; $redlock job -- sed -n '/^Sig[BI]/p' /proc/self/status"), 0);
  CHECK(strcmp(before, output()) == 0);
}

/* ---- when there is no lock ---- */

TEST(tells_taken) {
  pid_t pid;
  int64_t from;
  fresh();
  pid = start("$redlock job -- sh -c 'touch $work/runs; sleep 2'");
  CHECK(await_file("runs"));
  CHECK_EQ(shell("$redlock -n job -- echo wrong"), 120);
  CHECK(says("'job' is taken") && !says("wrong"));
  CHECK_EQ(shell("$redlock -nq -E 7 job -- echo wrong"), 7);
  CHECK(!*output());
  from = timing_ms();
  CHECK_EQ(shell("$redlock -w 400ms job -- echo wrong"), 120);
  CHECK(timing_ms() - from >= 400);
  CHECK_EQ(shell("$redlock -n another -- true"), 0);
  CHECK_EQ(shell("$redlock --wait=10s job -- true"), 0); /* when the first has ended */
  CHECK_EQ(end_of(pid), 0);
}

TEST(tells_no_quorum) {
  char expected[64];
  fresh();
  servers_kill(&real, 2);
  CHECK_EQ(shell("$redlock -n job -- true"), 0); /* three are enough */
  server_freeze(&real.at[2]);
  CHECK_EQ(shell("$redlock -n job -- echo wrong"), 121);
  CHECK(says("3 of 5 servers are unavailable; at most 2 may be") && !says("wrong"));
  snprintf(expected, sizeof expected, "  127.0.0.1:%d: no answer in time", real.at[2].port);
  CHECK(says(expected));
  snprintf(expected, sizeof expected, "  127.0.0.1:%d: no connection: is it",
           real.at[0].port);
  CHECK(says(expected));
}

TEST(tells_wrong_password) {
  char row[64];
  fresh();
  use_servers("redis://ann:s3cret@127.0.0.1:%d/3", real.at[0].port);
  CHECK_EQ(shell("$redlock -n job -- echo wrong"), 121);
  CHECK(says("WRONGPASS") && says("check user") && !says("s3cret") && !says("wrong\n"));
  snprintf(row, sizeof row, "  127.0.0.1:%d/3: ", real.at[0].port);
  CHECK(says(row));
  server_command(&real.at[0], "ACL SETUSER ann on >s3cret ~* +@all");
  CHECK_EQ(shell("$redlock -n job -- true"), 0);
  server_command(&real.at[0], "ACL DELUSER ann");
}

TEST(tells_restarted_servers) {
  fresh();
  CHECK_EQ(shell("$redlock -n --max-ttl 1h job -- echo wrong"), 121);
  CHECK(says("servers are unavailable") && says("s of --max-ttl 3600s: it votes in 3"));
}

/* As many as are listed, also where fewer had voted when it was decided. */
TEST(counts_whom_it_lists) {
  fresh();
  servers_kill(&real, 4);
  CHECK_EQ(shell("$redlock -n job -- true 2>&1 | tee /dev/stderr | grep -c '^redlock:   ' "
                 ">$work/listed"), 0);
  CHECK(says("4 of 5 servers are unavailable; at most 2 may be"));
  CHECK_EQ(strtol(read_work("listed"), NULL, 10), 4);
}

/* ---- a redlock under a redlock ---- */

TEST(tells_that_it_holds_the_lock_itself) {
  fresh();
  CHECK_EQ(shell("$redlock job -- $redlock -n job -- true"), 120);
  CHECK(says("lock 'job' is taken: the redlock around this one seems to hold it"));
  CHECK_EQ(shell("$redlock job -- $redlock -w 3s job -- true"), 120);
  CHECK(says("still waiting for lock 'job': the redlock around this one seems to hold it"));
  CHECK_EQ(shell("$redlock job -- $redlock other -- true"), 0);
  CHECK(!*output());
}

TEST(tells_why_no_password_is_handed_on) {
  fresh();
  server_command(&real.at[0], "ACL SETUSER ann on >s3cret ~* +@all");
  CHECK_EQ(shell("echo s3cret >$work/password; "
                 "export REDLOCK_SERVERS=redis://ann:s3cret@127.0.0.1:%d; $redlock job -- "
                 "$redlock other -- true", real.at[0].port), 125);
  CHECK(says("the redlock around this one hands no password on: use --password-file"));
  CHECK_EQ(shell("export REDLOCK_SERVERS=redis://ann:s3cret@127.0.0.1:%d; "
                 "$redlock job -- $redlock --password-file $work/password other -- true",
                 real.at[0].port), 0);
  CHECK_EQ(shell("$redlock -s redis://ann@127.0.0.1 job -- true"), 125);
  CHECK(says("a user needs a password: write user:password@host"));
  server_command(&real.at[0], "ACL DELUSER ann");
}

/* ---- usage ---- */

TEST(refuses_bad_usage) {
  fresh();
  refuses("", "RESOURCE is missing");
  refuses("job", "COMMAND is missing: 'job' was read as RESOURCE, the lock's name");
  refuses("-s a true", "'true' was read as RESOURCE, and what follows -s as the servers");
  refuses("job --", "COMMAND is missing");
  refuses("job -n true", "put options before it");
  refuses("'' -- true", "RESOURCE is empty: give the lock a name");
  refuses("$(printf %0300d 0) -- true", "00...' is longer than 255 bytes: give the lock a shorter");
  CHECK(strcspn(output(), "\n") < 130);
  refuses("-nx job -- true", "there is no option '-x'");
  refuses("--wat job -- true", "there is no option '--wat'");
  refuses("--nonblock=1 job -- true", "'--nonblock=1' takes no value: leave out what");
  refuses("-w", "needs a value");
  refuses("--ttl", "needs a value");
  refuses("-t 5x job -- true", "'5x' is not a time");
  refuses("-t -5 job -- true", "is not a time");
  refuses("-m 0 job -- true", "--max-hold 0 would be no limit: leave the option out");
  refuses("-t 99999h job -- true", "too long");
  refuses("-t 10ms job -- true", "200ms or more");
  refuses("-t 3s -k 2s job -- true", "a third of --ttl");
  refuses("-t 3s --max-ttl 2s job -- true", "--ttl 3s is longer than --max-ttl 2s");
  refuses("-t 2s --max-ttl 1.5s job -- true", "--ttl 2s is longer than --max-ttl 1500ms");
  refuses("--max-ttl 100ms job -- true", "200ms or more");
  refuses("-E 256 job -- true", "'256' is not an exit status: write 0 to 255");
  refuses("--json job -- true", "--json is for --status: give both");
  refuses("--status job true", "leave out 'true': --status runs no COMMAND");
  refuses("-s '' job -- true", "no servers");
  refuses("-s a:b:c job -- true", "server 'a:b:c'");
  refuses("-s ::1 job -- true", "server '::1': write an IPv6 address as [v6]:port");
  refuses("-s 'a:7001;b:7002' job -- true", "separate servers by commas, not by ;");
  refuses("-s a:99999 job -- true", "server 'a:99999': the port is out of range: 1 to 65535");
  refuses("-s redis://[::1]:65536/2 job -- true", "the port is out of range");
  refuses("-s a:0 job -- true", "the port is out of range");
  refuses("-s a:6379x job -- true", "write host[:port]");
  refuses("-s redis://u:s3%zz@a job -- true", "two hexadecimal digits must follow each %");
  refuses("-s rediss://u:s3cret@a job -- true", "TLS");
  CHECK(!says("s3cret"));
  refuses("-s redis://u:s3/cret@a job -- true", "server 1 of the list");
  CHECK(!says("s3") && !says("cret"));
  refuses("-s 127.0.0.1:1,127.0.0.1:1 job -- true", "twice");
}

/* A comma or a blank that should have been written as %XX cuts it. */
TEST(never_tells_a_part_of_a_password) {
  static const char *const lines[] = {
    "-s redis://:hunter,2secret@a job -- true",   "-s 'redis://:hunter 2secret@a' job -- true",
    "-s redis://u:hunter,2secret job -- true",    "-s redis://:2secret,hunter,@a --status",
    "-s redis://u:hunter@2,secret@a --status",     "--server=redis://:hunter,2secret@a job -- true",
    "--status job redis://u:hunter2secret@a",         "-nx=redis://u:hunter2secret@a job -- true",
    "-t redis://u:hunter2secret@a job -- true",   "-s redis://u:hunter2secret%@a job -- true"
  };
  size_t i;
  fresh();
  for (i = 0; i < sizeof lines / sizeof *lines; i++) {
    refuses(lines[i], "redlock: ");
    if (!CHECK(!says("hunter") && !says("secret"))) printf("    said: %s", output());
  }
}

TEST(helps_on_one_screen) {
  CHECK_EQ(shell("env -u REDLOCK_SERVERS $redlock --help"), 0);
  CHECK_EQ(shell("$redlock -h | awk 'length > 79 || NR > 23 { bad = 1 } END { exit bad }'"), 0);
  CHECK_EQ(shell("$redlock -V"), 0);
  CHECK(strncmp(output(), "redlock ", 8) == 0 && says(" with"));
}

/* ---- status ---- */

TEST(shows_status) {
  fresh();
  CHECK_EQ(shell("$redlock --status"), 0);
  CHECK(says("SERVER") && says("5 of 5 servers can vote, 3 are needed: locks can be taken"));
  CHECK(says("master") && says(" ms ") && says("  ok\n"));
  /* Its clock, from 6.2 on. */
  CHECK(says("s  ok") || server_info(&real.at[0], "server_time_usec:") < 0);
  CHECK_SAYS("s of --max-ttl 3600s: it votes in 3", 121, "$redlock --max-ttl 1h --status");
  CHECK_SAYS("not all vote: restart no server", 121, "$redlock --max-ttl 1h --status");
}

/* Locks can be taken, and yet somebody should look. */
TEST(a_strict_status_misses_each_server) {
  fresh();
  CHECK_EQ(shell("$redlock --status --strict"), 0);
  server_kill(&real.at[0]);
  CHECK_EQ(shell("$redlock --status"), 0);
  CHECK_SAYS("4 of 5 servers can vote, 3 are needed: locks can be taken", 119,
             "$redlock --status --strict");
  CHECK_SAYS("\"can_vote\":4,\"needed\":3,\"locks\":true", 119,
             "$redlock --status --strict --json");
  servers_kill(&real, 3);
  CHECK_EQ(shell("$redlock --status --strict"), 121);
  refuses("--strict job -- true", "--strict is for --status: give both, or leave it out");
}

TEST(shows_what_is_wrong) {
  char row[64];
  fresh();
  server_kill(&real.at[0]);
  server_freeze(&real.at[1]);
  server_command(&real.at[2], "REPLICAOF 127.0.0.1 1");
  server_command(&real.at[3], "CONFIG SET maxmemory 100mb"); /* before 7.0 one at a time */
  server_command(&real.at[3], "CONFIG SET maxmemory-policy allkeys-lru");
  use_servers("127.0.0.1:%d 127.0.0.1:%d 127.0.0.1:%d unix:%s redis://:s3cret@127.0.0.1:%d "
              "no.such.host.invalid", real.at[0].port, real.at[1].port, real.at[2].port,
              real.at[3].socket, real.at[4].port);
  CHECK_SAYS("no connection: is it running", 121, "$redlock --status");
  CHECK(says("no answer in time: is it frozen"));
  CHECK(says("it is a replica: list masters only"));
  CHECK(says("it may evict locks: set maxmemory-policy noeviction"));
  CHECK(says("it has no password: give none") || says("WRONGPASS"));
  CHECK(says("the name is not found: check it"));
  CHECK(says("1 of 6 servers can vote, 4 are needed: NO SAFE LOCK") && !says("s3cret"));
  snprintf(row, sizeof row, "127.0.0.1:%d", real.at[4].port);
  CHECK(says(row));
  server_command(&real.at[2], "REPLICAOF NO ONE");
  server_command(&real.at[3], "CONFIG SET maxmemory 0");
  server_command(&real.at[3], "CONFIG SET maxmemory-policy noeviction");
}

/* ---- a user of few rights ---- */

static void use_ann(const char *rights) {
  char list[4 * SERVERS_LIST];
  int i, used = 0;
  for (i = 0; i < real.count; i++) {
    server_command(&real.at[i], "ACL SETUSER ann reset on >s3cret ~job %s", rights);
    used += snprintf(list + used, sizeof list - (size_t)used, "redis://ann:s3cret@127.0.0.1:%d ",
                     real.at[i].port);
  }
  use_servers("%s", list);
}

/* The rights as the manual has them. */
TEST(least_rights_are_enough) {
  pid_t pid;
  fresh();
  use_ann("+set +eval +get +del +pttl +pexpire");
  pid = start("$redlock -t 4s job -- " UNTIL_END);
  CHECK(await_file("name") && await_extensions(1));
  CHECK_EQ(shell("touch $work/end"), 0);
  CHECK_EQ(end_of(pid), 0);
  CHECK(!*read_work("background") && is_released("job"));
  CHECK_SAYS("+info", 121, "$redlock -n --max-ttl 1s job -- true");
  use_ann("+set +eval +get +del +pttl +pexpire +info");
  CHECK_EQ(shell("$redlock --max-ttl 1s -t 1s job -- true"), 0);
}

/* Inside the scripts too, where what was denied must not be taken for an answer. */
TEST(a_right_that_a_script_lacks_is_told) {
  fresh();
  use_ann("+@all -pttl");
  CHECK_SAYS("+pttl", 122, "$redlock -t 500ms job -- sleep 9");
  fresh();
  use_ann("+@all -time ~job:fence");
  CHECK_SAYS("+time", 121, "$redlock --fencing --max-ttl 1s -t 1s -w 4s job -- true");
}

TEST(status_needs_info_and_locks_do_not) {
  fresh();
  use_ann("+set +eval +get +del +pttl +pexpire");
  CHECK_SAYS("  ok; ", 0, "$redlock --status");
  CHECK(says("+client|tracking would let it wake waiters"));
  CHECK(says("; +info would tell its version and role\n") && !says("NOPERM") && !says("ERR"));
  CHECK(says("5 of 5 servers can vote, 3 are needed: locks can be taken"));
  CHECK(!says(" 0s ") && !says("s3cret"));
  CHECK_SAYS("NO SAFE LOCK CAN BE TAKEN", 121, "$redlock --max-ttl 1s -t 1s --status");
  use_ann("+info");
  CHECK_EQ(shell("$redlock --status"), 121);
  CHECK(says("NOPERM") && says("this user needs +set (see") && says("NO SAFE LOCK CAN BE TAKEN"));
  use_ann("+info +set +eval +get +del +pttl +pexpire");
  CHECK_EQ(shell("$redlock --status"), 0);
  CHECK(says("5 of 5 servers can vote, 3 are needed: locks can be taken") && !says("NOPERM"));
}

/* Such a server repeats what it was given. */
TEST(status_does_not_repeat_a_password) {
  struct server odd;
  server_start(&odd, "--rename-command AUTH nothing");
  use_servers("redis://ann:s3cret@127.0.0.1:%d", odd.port);
  CHECK_EQ(shell("$redlock --status"), 121);
  CHECK(says("ERR unknown command") && !says("s3cret") && !says("ann"));
  server_kill(&odd);
}

int main(int argc, char **argv) {
  if (open_world(argc, argv, 5)) check_all();
  return close_world();
}
