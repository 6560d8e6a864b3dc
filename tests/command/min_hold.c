/* min_hold.c: --min-hold keeps the lock for a while when COMMAND has ended. */
#include "tests/command/command.h"

enum { SERVERS = 3, LOST = 122 };

static int is_taken(const char *key) { return shell("$redlock -n %s -- true", key) == 120; }

/* Every server keeps the lock for more than 20 s from now on, and for no longer than this. */
static int is_kept(const char *key, long most_ms) {
  return is_taken(key) && holders_for(key, 20001, most_ms) == real.count;
}

TEST(the_lock_outlasts_command_and_a_ttl_is_never_shortened) {
  CHECK_PRINTS("", 0, "$redlock -t 20s --min-hold 60s job -- true");
  CHECK_PRINTS("", 0, "$redlock -t 60s --min-hold 1s other -- true");
  CHECK(is_held("job") && is_kept("job", 60000) && is_held("other") && is_kept("other", 60000));
}

TEST(the_lock_is_free_when_the_time_is_over) {
  int64_t from;
  int status, left = 10; /* times that a busy machine may be too slow for such a lock */
  do {
    from = timing_ms();
    status = shell("$redlock -t 200ms --min-hold 700ms job -- true");
  } while ((status != 0 || *output()) && --left);
  CHECK(status == 0 && !*output());
  CHECK_EQ(shell("$redlock -w 30s job -- true"), 0);
  CHECK(timing_ms() - from >= 700);
}

TEST(a_command_that_took_longer_frees_it) {
  CHECK_EQ(shell("$redlock --min-hold 200ms job -- sleep 0.3"), 0);
  CHECK(is_released("job"));
}

TEST(the_status_is_that_of_command) {
  CHECK_EQ(shell("$redlock --min-hold 60s job -- sh -c 'exit 3'"), 3);
  CHECK_EQ(shell("$redlock --min-hold 60s other -- sh -c 'kill -9 $$'"), 128 + SIGKILL);
  CHECK_EQ(shell("$redlock --min-hold 20s -m 20s third -- true"), 0);
  CHECK(is_taken("job") && is_taken("other") && is_taken("third"));
}

/* ---- what goes wrong ---- */

TEST(what_cannot_be_kept_is_told) {
  pid_t pid = start_command("-t 60s --min-hold 90s job", UNTIL_END);
  servers_freeze(&real, SERVERS);
  let_it_end();
  check_ends(pid, 0, "could not keep lock 'job' for --min-hold on most servers: it may be free");
}

/* It is lost since it cannot be extended, and 2 s are left to release it. */
TEST(a_lost_lock_is_not_kept) {
  pid_t pid;
  use_ann("~* +@all");
  pid = start_holder("-t 6s -k 2s --min-hold 1h job");
  servers_command(&real, SERVERS, "ACL SETUSER ann -pexpire");
  check_ends(pid, LOST, "cannot be extended");
  CHECK(is_released("job"));
}

TEST(what_cannot_be_meant_is_refused) {
  refuses("--min-hold 0 job -- true", "leave the option out");
  refuses("--min-hold 6s -t 5s --max-ttl 5s job -- true",
          "--min-hold 6s is longer than --max-ttl 5s: give a shorter --min-hold");
  refuses("--min-hold 6s -m 5s job -- true", "--min-hold 6s is longer than --max-hold 5s");
  refuses("--min-hold 6s --take job", "--min-hold is for COMMAND");
}

int main(int argc, char **argv) { return command_main(argc, argv, SERVERS); }
