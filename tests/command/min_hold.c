/* min_hold.c: --min-hold keeps the lock for a while when COMMAND has ended. */
#include "tests/command/command.h"

#include <limits.h>

enum { SERVERS = 3 };

static int is_taken(const char *key) { return shell("$redlock -n %s -- true", key) == 120; }

/* How long the servers keep the lock from now on: the least of them. */
static long left_ms(const char *key) {
  char command[64];
  long left, least = LONG_MAX;
  int i;
  snprintf(command, sizeof command, "PTTL %s", key);
  for (i = 0; i < real.count; i++) {
    left = server_number(&real.at[i], command);
    if (left < least) least = left;
  }
  return least;
}

TEST(the_lock_outlasts_command) {
  fresh();
  CHECK_EQ(shell("$redlock -t 1s --min-hold 60s job -- true"), 0);
  CHECK(!*output() && is_held("job") && is_taken("job"));
  CHECK(left_ms("job") > 1000 && left_ms("job") <= 60000);
}

/* By its ttl, whatever else is asked for. */
TEST(a_ttl_is_never_shortened) {
  fresh();
  CHECK_EQ(shell("$redlock -t 60s --min-hold 1s job -- true"), 0);
  CHECK(is_taken("job") && left_ms("job") > 1000);
}

TEST(it_is_free_when_the_time_is_over) {
  int64_t from = timing_ms();
  fresh();
  CHECK_EQ(shell("$redlock -t 200ms --min-hold 700ms job -- true"), 0);
  CHECK_EQ(shell("$redlock -w 30s job -- true"), 0);
  CHECK(timing_ms() - from >= 700);
}

TEST(a_command_that_took_longer_frees_it) {
  fresh();
  CHECK_EQ(shell("$redlock --min-hold 200ms job -- sleep 0.3"), 0);
  CHECK(is_released("job"));
}

TEST(the_status_is_that_of_command) {
  fresh();
  CHECK_EQ(shell("$redlock --min-hold 60s job -- sh -c 'exit 3'"), 3);
  CHECK_EQ(shell("$redlock --min-hold 60s other -- sh -c 'kill -9 $$'"), 128 + SIGKILL);
  CHECK_EQ(shell("$redlock --min-hold 20s -m 20s third -- true"), 0);
  CHECK(is_taken("job") && is_taken("other") && is_taken("third"));
}

/* Hosts whose clocks are half a second apart, and a job that is done before. */
TEST(a_cron_job_runs_once) {
  int host;
  fresh();
  for (host = 0; host < 3; host++)
    CHECK_EQ(shell("$redlock -n -q -E 0 -t 5s --min-hold 60s nightly -- "
                   "sh -c 'echo ran >>$work/log'"), 0);
  CHECK(strcmp(read_work("log"), "ran\n") == 0);
}

/* ---- what goes wrong ---- */

/* COMMAND ends when the servers are frozen, or have lost the lock. */
static void command_ends_after(const char *options, void (*happens)(void), int status,
                               const char *what) {
  pid_t pid;
  fresh();
  pid = start("exec $redlock %s job -- sh -c "
              "'touch $work/runs; while ! test -e $work/end; do sleep 0.02; done'", options);
  CHECK(await_file("runs"));
  happens();
  shell("touch $work/end");
  CHECK_EQ(end_of(pid), status);
  if (!CHECK(strstr(read_work("background"), what))) printf("    %s", read_work("background"));
}

static void freeze(void) { servers_freeze(&real, SERVERS); }
static void flush(void) { servers_command(&real, SERVERS, "FLUSHALL"); }

TEST(what_cannot_be_kept_is_told) {
  command_ends_after("-t 60s --min-hold 90s", freeze, 0,
                     "could not keep lock 'job' for --min-hold on most servers: it may be free");
}

TEST(a_loss_is_told) {
  command_ends_after("--min-hold 60s", flush, 122, "was lost before COMMAND ended with status 0");
  CHECK_EQ(holders("job"), 0);
}

/* It is lost since it cannot be extended, and 2 s are left to release it. */
TEST(a_lost_lock_is_not_kept) {
  char list[SERVERS_LIST] = "";
  int i;
  fresh();
  servers_command(&real, SERVERS, "ACL SETUSER ann on >x ~* +@all -pexpire");
  for (i = 0; i < SERVERS; i++)
    sprintf(list + strlen(list), "redis://ann:x@127.0.0.1:%d,", real.at[i].port);
  use_servers("%s", list);
  CHECK_SAYS("cannot be extended", 122, "$redlock -t 6s -k 2s --min-hold 1h job -- sleep 15");
  CHECK(is_released("job"));
  servers_command(&real, SERVERS, "ACL DELUSER ann");
}

TEST(what_cannot_be_meant_is_refused) {
  fresh();
  refuses("--min-hold 0 job -- true", "leave the option out");
  refuses("--min-hold 6s -t 5s --max-ttl 5s job -- true",
          "--min-hold 6s is longer than --max-ttl 5s: give a shorter --min-hold");
  refuses("--min-hold 6s -m 5s job -- true", "--min-hold 6s is longer than --max-hold 5s");
  refuses("--min-hold 6s --take job", "--min-hold is for COMMAND");
}

int main(int argc, char **argv) {
  if (open_world(argc, argv, SERVERS)) check_all();
  return close_world();
}
