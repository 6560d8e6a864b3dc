/* denied.c: what the command says when this system denies it what it needs. */
#include "command.h"

#define DESCRIPTORS "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n "

/* First there is room for one descriptor more, which the loader uses and gives back; then the
   search for leaks would need more. */
TEST(want_of_a_pipe_or_a_socket_is_told) {
  CHECK_SAYS("cannot create a pipe: Too many open files: raise the limit (ulimit -n)\n", 123,
             DESCRIPTORS "4; exec $redlock job -- true");
  CHECK_SAYS("no connection: too many open files: raise the limit (ulimit -n)\n", 121,
             DESCRIPTORS "5; ASAN_OPTIONS=detect_leaks=0 exec $redlock -n job -- true");
}

/* To wait for a signal's byte would be to guard no lock. */
TEST(a_pipe_that_would_block_is_refused) {
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_SAYS("cannot create a pipe: Operation not permitted: allow fcntl(2)\n", 123,
             REFUSING "nonblocking $redlock job -- true");
  CHECK(is_released("job"));
}

/* As by a sandbox (seccomp): nobody would hear of COMMAND's end. */
TEST(want_of_the_end_of_command_is_told) {
  static const struct {
    const char *refused, *words;
  } rows[] = {
    {"signals", "of the end of 'true': Operation not permitted: allow rt_sigaction(2)\n"},
    {"ends", "of the end of 'true': Operation not permitted: allow wait4(2)\n"}
  };
  size_t i;
  if (cannot_refuse()) SKIP("no library can be loaded first");
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_SAYS(rows[i].words, 123, REFUSING "%s $redlock job -- true", rows[i].refused);
    CHECK(holders("job") == 0);
    CHECK_EQ(shell(REFUSING "%s $redlock --take job >$work/ticket", rows[i].refused), 0);
    CHECK_EQ(shell("$redlock --release $(cat $work/ticket)"), 0);
  }
}

/* No limit of processes binds root. The search for leaks would need a process too. */
TEST(want_of_a_process_is_told) {
  const char *as = geteuid() ? "" : "setpriv --reuid 54321 --clear-groups";
  if (shell("ASAN_OPTIONS=detect_leaks=0 %s prlimit --nproc=0 $redlock --version", as))
    SKIP("no other user can run it");
  CHECK_SAYS("cannot start a process for 'true': Resource temporarily unavailable: "
             "raise the limit (ulimit -u), or try again later\n", 123,
             "ASAN_OPTIONS=detect_leaks=0 %s prlimit --nproc=0 $redlock job -- true", as);
  CHECK(is_released("job"));
}

TEST(want_of_a_clock_of_chance_or_memory_is_told) {
  static const struct {
    const char *refused, *words;
  } rows[] = {
    {"clock", "this system's clock cannot be read, and no lock is safe without"},
    {"random", "cannot take lock 'job': this system's clock or random numbers failed: try again"},
    {"memory", "no memory for the environment of 'true': it did not run"}
  };
  size_t i;
  if (cannot_refuse()) SKIP("no library can be loaded first");
  for (i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK_SAYS(rows[i].words, 123, REFUSING "%s $redlock job -- true", rows[i].refused);
  CHECK(is_released("job"));
}

TEST(a_name_of_several_servers_is_told) { /* R5 */
  static const char *const uses[] = {"--status", "--status job", "job -- true"};
  size_t i;
  if (cannot_refuse()) SKIP("no library can be loaded first");
  for (i = 0; i < sizeof uses / sizeof *uses; i++)
    CHECK_SAYS("server 'locks.example:7001': locks.example has 3 addresses: list each server by an "
               "address or a name of its own\n", 125,
               REFUSING "names $redlock -s locks.example:7001 %s", uses[i]);
}

/* A ticket that a crash takes away is none. */
TEST(a_folder_that_cannot_be_synced_is_told) {
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_SAYS("cannot write the ticket of lock 'job': Input/output error; the lock is released", 123,
             REFUSING "folder $redlock --take --ticket-file $work/ticket job");
  CHECK(is_released("job"));
}

/* By a name server: each of the two would keep it for 8 s. */
TEST(names_that_are_swallowed_keep_no_quorum_away) {
  int64_t began = timing_ms(), from = began;
  pid_t status;
  if (cannot_refuse()) SKIP("no library can be loaded first");
  status = start(REFUSING "swallowed exec $redlock --status -s 127.0.0.1:%d,swallowed.example:1,"
                 "swallowed.example.com:1", real.at[0].port);
  CHECK_PRINTS("job\n", 0, REFUSING "swallowed $redlock -n -s 127.0.0.1:%d,swallowed.example:1,"
               "127.0.0.1:%d,swallowed.example.com:1,localhost:%d job -- printenv REDLOCK_RESOURCE "
               "| cat", real.at[0].port, real.at[1].port, real.at[2].port);
  CHECK(timing_ms() - from < 8000);
  from = timing_ms();
  CHECK_EQ(shell(REFUSING "swallowed $redlock -w 2s -s 127.0.0.1:%d,swallowed.example:1,"
                 "swallowed.example.com:1 job -- true", real.at[0].port), 121);
  CHECK(timing_ms() - from < 8000);
  CHECK_EQ(end_of(status), 121);
  CHECK(timing_ms() - began < 8000);
}

/* R1: one server's answer makes the quorum; from a second one it would not come in time. */
TEST(an_answer_that_comes_too_late_is_told) {
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_SAYS("cannot take lock 'job': the servers answered too late; use a longer --ttl", 121,
             REFUSING "speed $redlock -s redis://127.0.0.1:%d -n job -- true",
             real.at[0].port);
  CHECK(is_released("job"));
}

/* R19, R22 */
TEST(a_clock_that_fails_stops_command) {
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_SAYS("giving up lock 'job': this system's clock cannot be read; stopping COMMAND", 122,
             REFUSING "clock REFUSE_FROM=$work/now $redlock -t 5s job -- "
             "sh -c 'touch $work/now; exec sleep 15'");
}

int main(int argc, char **argv) { return command_main(argc, argv, 3); }
