/* ticket.c: --take, --extend and --release hand a lock from process to process (R28). */
#include "tests/command/command.h"

enum { TAKEN = 120, NO_QUORUM = 121, LOST = 122 };

TEST(a_ticket_is_good_once) { /* R28 */
  CHECK_EQ(shell("$redlock --take job >$work/one && $redlock -n job true"), TAKEN);
  CHECK_EQ(shell("$redlock --extend $(cat $work/one) >$work/two && $redlock -n job true"), TAKEN);
  CHECK_SAYS("lock 'job' is not held by this ticket: "
             "it was released, it expired, or a later one has it", LOST,
             "$redlock --extend $(cat $work/one)");
  CHECK_EQ(shell("$redlock --release $(cat $work/one)"), LOST);
  CHECK_PRINTS("", 0, "$redlock --release $(cat $work/two)");
  CHECK(is_released("job"));
  CHECK_EQ(shell("$redlock --release $(cat $work/two)"), LOST);
}

TEST(an_extension_is_for_its_own_ttl) {
  CHECK_EQ(shell("$redlock -t 19s --extend $($redlock -t 60s --take job)"), 0);
  CHECK(holders_for("job", 1, 19000) > real.count / 2);
}

TEST(a_name_may_be_anything) {
  setenv("name", "a b/c%\n\xc3\xa9/0123456789abcdef0123456789abcdef01234567/8", 1);
  CHECK_EQ(shell("$redlock --take \"$name\" >$work/ticket && $redlock -n \"$name\" true"), TAKEN);
  CHECK_SAYS("1\n", 0, "wc -l <$work/ticket && ! LC_ALL=C grep '[^!-~]' $work/ticket");
  CHECK_EQ(shell("$redlock --release \"$(cat $work/ticket)\" && $redlock -n \"$name\" true"), 0);
}

/* ---- files ---- */

TEST(a_ticket_goes_through_a_file) {
  CHECK_PRINTS("", 0, "umask 0; $redlock --take --ticket-file $work/ticket job");
  CHECK_EQ(shell("find $work/ticket -perm 600 | grep -q . && cp $work/ticket $work/old"), 0);
  CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), 0);
  CHECK_EQ(shell("! cmp -s $work/ticket $work/old && $redlock --extend --ticket-file $work/old"),
           LOST);
  CHECK_PRINTS("old\noutput\n", 0, "$redlock --release --ticket-file $work/ticket && ls $work");
  CHECK(is_released("job"));
  refuses("--release --ticket-file $work/ticket", "there is no ticket in the file");
}

/* What nobody could extend or release is not held. */
TEST(a_ticket_that_cannot_be_written_holds_nothing) {
  CHECK_SAYS("cannot write the ticket of lock 'job'", 123, "$redlock --take job >/dev/full");
  CHECK(is_released("job"));
  CHECK_SAYS("No such file", 123, "$redlock --take --ticket-file $work/none/ticket job");
  CHECK(is_released("job"));
  CHECK_SAYS("cannot write the ticket of lock 'job': Bad file", 123, "$redlock --take job >&-");
  CHECK(is_released("job"));
}

/* Its process number may come again, in another container. */
TEST(no_left_over_file_is_in_the_way) {
  CHECK_EQ(shell("sh -c 'touch $work/ticket.$$; "
                 "exec $redlock --take --ticket-file $work/ticket job' && "
                 "$redlock --release --ticket-file $work/ticket"), 0);
}

/* ---- a COMMAND ---- */

/* It is kept for longer than the ttl that it was taken for, and then free. */
TEST(a_ticket_can_be_run_under) { /* R28 */
  CHECK_SAYS_ONCE("<a job>\n", 7,
                  "T=$($redlock -t 20s --take 'a job') && $redlock -t 1s --run \"$T\" -- sh -c '"
                  "echo \"<$REDLOCK_RESOURCE>\"; sleep 1.5; $redlock -n \"a job\" -- true; "
                  "test $? = 120 && exit 7'");
  CHECK(await_holders("\"a job\"", 0));
  CHECK_EQ(shell("T=$($redlock --take job) && $redlock --run $T -c 'exit 8'; test $? = 8 && "
                 "$redlock --run $T -- echo wrong"), LOST);
  CHECK(says("lock 'job' is not held by this ticket") && !says("wrong\n"));
  CHECK_EQ(shell("T=$($redlock --take job) && $redlock --min-hold 60s --run $T true && "
                 "$redlock -n job true"), TAKEN);
}

/* Its file holds the next ticket meanwhile: after a crash it can be adopted again. Whoever has the
   file may end it from elsewhere. */
TEST(a_ticket_in_a_file_can_be_run_under) { /* R28 */
  static const char run[] = "-t 12s --run --ticket-file $work/ticket";
  pid_t pid;
  CHECK_EQ(shell("$redlock --take --ticket-file $work/ticket job && cp $work/ticket $work/old && "
                 "$redlock %s -- cmp -s $work/ticket $work/old", run), 1);
  CHECK(!exists("ticket") && is_released("job"));
  CHECK_EQ(shell("$redlock -t 20s --take --ticket-file $work/ticket job"), 0);
  pid = start_holder(run);
  kill(pid, SIGKILL);
  CHECK_EQ(end_of(pid), 128 + SIGKILL);
  shell("rm $work/runs");
  pid = start_holder(run);
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
  CHECK_EQ(end_of(pid), LOST);
  CHECK(is_released("job"));
}

/* Who has the file can still release it. */
TEST(a_ticket_file_outlives_a_release_that_fails) { /* R28 */
  pid_t pid;
  CHECK_EQ(shell("$redlock -t 60s --take --ticket-file $work/ticket job"), 0);
  pid = start_command("-t 20s --server-timeout 500ms --run --ticket-file $work/ticket", UNTIL_END);
  servers_freeze(&real, 2);
  let_it_end();
  check_ends(pid, 0, "could not release lock 'job' on most servers");
  CHECK(exists("ticket"));
  servers_mend(&real);
  CHECK(shell("$redlock --release --ticket-file $work/ticket") != NO_QUORUM);
}

/* The next holder's ticket may stand in that file before the loss is noticed. */
TEST(a_lost_lock_takes_no_others_ticket_away) { /* R28 */
  static const char file[] = "--ticket-file $work/ticket";
  CHECK_EQ(shell("$redlock --take %s job && $redlock -t 12s --run %s -- sh -c '"
                 "$redlock --release %s && $redlock --take %s job && exec sleep 60'", file, file,
                 file, file), LOST);
  CHECK_EQ(shell("$redlock --release %s", file), 0);
  CHECK(is_released("job"));
}

/* ---- what goes wrong ---- */

/* Two servers refuse it before anything is changed there. */
TEST(a_ticket_can_outlive_a_missing_quorum) { /* R28 */
  CHECK_EQ(shell("$redlock --take --ticket-file $work/ticket job"), 0);
  want_password(2, "s3cret");
  CHECK_SAYS("cannot extend lock 'job': 2 of 3 servers are unavailable", NO_QUORUM,
             "$redlock --extend --ticket-file $work/ticket");
  want_password(2, "");
  CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), 0);
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
}

/* They are frozen when it begins, for as long as it waits. */
TEST(a_ticket_outlives_frozen_servers) { /* R28 */
  int step;
  for (step = 0; step < 2; step++) {
    CHECK_EQ(shell("$redlock -t 60s --take --ticket-file $work/ticket job"), 0);
    servers_freeze(&real, 3);
    CHECK_SAYS("lock 'job' and its ticket are as they were: try again before it expires", NO_QUORUM,
               "$redlock -t 5s %s", step ? "--run --ticket-file $work/ticket -- true"
                                         : "--extend --ticket-file $work/ticket");
    servers_mend(&real);
    CHECK_EQ(shell("$redlock -n job -- true"), TAKEN);
    CHECK(is_held("job"));
    CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), 0);
    CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
  }
}

/* A whole quorum must answer, of an even number too. */
TEST(a_ticket_outlives_half_of_the_servers) { /* R28 */
  use_servers("127.0.0.1:%d,127.0.0.1:%d", real.at[0].port, real.at[1].port);
  CHECK_EQ(shell("$redlock -t 60s --take --ticket-file $work/ticket job"), 0);
  server_freeze(&real.at[1]);
  CHECK_SAYS("lock 'job' and its ticket are as they were", NO_QUORUM,
             "$redlock -t 5s --extend --ticket-file $work/ticket");
  servers_mend(&real);
  CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), 0);
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
}

/* Behind the trial, which it passes, it may have the adoption, or not. */
TEST(a_quorum_that_falls_silent_in_the_middle_is_told) { /* R28 */
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_EQ(shell("$redlock -t 60s --take --ticket-file $work/ticket job"), 0);
  CHECK_SAYS("lock 'job' may be free already: the servers fell silent while it changed hands",
             NO_QUORUM, "REFUSE_PROCESSES=%ld,%ld " REFUSING "silence "
             "$redlock -t 5s --extend --ticket-file $work/ticket", (long)real.at[0].pid,
             (long)real.at[1].pid);
  CHECK(!says("as they were"));
  servers_freeze(&real, 2);
  servers_mend(&real);
  CHECK_EQ(shell("$redlock job -- $redlock --extend --ticket-file $work/ticket"), LOST);
}

/* A file that cannot be replaced, and a disk without room (root in a namespace of its own). */
TEST(a_ticket_that_cannot_be_replaced_stays_good) { /* R28 */
#define FULL_DISK "mkdir d && mount -t tmpfs -o size=16k t d && cp ticket d/at && " \
                  "{ cat /dev/zero >d/fill; true; }; "
  static const char *const places[] = {
    "touch at && mount --bind ticket at; exec $R --extend --ticket-file at",
    FULL_DISK "exec $R --extend --ticket-file d/at",
    FULL_DISK "exec $R --extend $(cat ticket) >d/out",
    FULL_DISK "exec $R --extend $(cat ticket) >>d/fill",
    "mkfifo d; cat d & exec 3>d; kill $!; wait; exec $R --extend $(cat ticket) >&3",
    "exec $R --extend $(cat ticket) >/dev/full",
    "exec $R --extend $(cat ticket) >&-"
  };
  size_t i;
  if (shell("unshare -rm true")) SKIP("no mounts of our own");
  for (i = 0; i < sizeof places / sizeof *places; i++) {
    CHECK_EQ(shell("$redlock -t 60s --take --ticket-file $work/ticket job"), 0);
    CHECK_SAYS("the lock and its ticket are as they were", 123,
               "R=$(realpath $redlock) && export R && cd $work && exec unshare -rm sh -c '%s' 2>&1",
               places[i]);
    CHECK_EQ(shell("$redlock -n job -- true"), TAKEN);
    CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), 0);
    CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
    CHECK_EQ(shell("ls $work | grep -q '^ticket[.]'"), 1);
    shell("rm -rf $work/d");
  }
}

/* What was in the file is still there. */
TEST(a_ticket_is_printed_into_a_file) {
  CHECK_EQ(shell("o=$work/out; T=$($redlock --take job) && { echo first; $redlock --extend $T; } "
                 ">$o && T=$(tail -n +2 $o) && $redlock --extend $T >>$o && "
                 "test $(wc -l <$o) = 3 && test \"$(head -n 1 $o)\" = first && "
                 "$redlock --release $(tail -n 1 $o)"), 0);
}

/* A release takes no memory; and one ticket's is known by its beginning, whatever a wait has put
   behind it (R26). */
TEST(a_ticket_is_released_on_full_servers) {
  pid_t waiter, holder = start_command("-t 20s job", UNTIL_END);
  waiter = start_line("exec $redlock -v -t 20s --take --ticket-file $work/ticket job", "waiter");
  await_words("waiter", "UTC: it is taken\n");
  let_it_end();
  CHECK_EQ(end_of(holder), 0);
  CHECK_EQ(end_of(waiter), 0);
  servers_command(&real, real.count, "CONFIG SET maxmemory 1");
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
  servers_command(&real, real.count, "CONFIG SET maxmemory 0");
  CHECK(!exists("ticket") && is_released("job"));
}

/* It is still there, to try again with. */
TEST(a_release_that_is_refused_is_told) {
  CHECK_EQ(shell("$redlock --take --ticket-file $work/ticket job"), 0);
  use_ann("~* +@all -del");
  CHECK_SAYS("refuses the release: ", NO_QUORUM,
             "$redlock --release --ticket-file $work/ticket");
  CHECK(says("this user needs +"));
  use_ann("~* +@all");
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
  CHECK(is_released("job"));
}

/* A ticket is a secret: no message repeats it. */
TEST(what_is_no_ticket_is_refused) {
#define DIGITS "012345678901234567890123456789012345678"
  static const char none[] = "this is no ticket";
  static const char *const rows[][2] = {
    {"--take", "RESOURCE is missing"},
    {"--extend", "the ticket, or --ticket-file, is missing"},
    {"--take --release job", "give one of"},
    {"--take job true", "run no COMMAND"},
    {"--release job/" DIGITS "9 x", "run no COMMAND"},
    {"--ticket-file x job true", "is for --take"},
    {"--run", "the ticket, or --ticket-file, is missing"},
    {"--run job/" DIGITS "9", "COMMAND is missing"},
    {"--run job/" DIGITS "9/1 true", "give --fencing"},
    {"--status --release job/" DIGITS "9", "leave out one"},
    {"--extend job", none},
    {"--extend /" DIGITS "9", none},
    {"--extend " DIGITS "9", none},
    {"--extend job/" DIGITS, none},
    {"--extend job/x" DIGITS "9", none},
    {"--extend job/" DIGITS "x", none},
    {"--extend j%2/" DIGITS "9", none},
    {"--extend j%00/" DIGITS "9", none},
    {"--extend " DIGITS "9/1", none},
    {"--extend job/" DIGITS "9/1", "give --fencing"}
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    refuses(rows[i][0], rows[i][1]);
    CHECK(!says("0123456789"));
  }
}

/* ---- tokens ---- */

static unsigned long long token(const char *file) {
  const char *slash = strrchr(read_work(file), '/');
  return slash ? strtoull(slash + 1, NULL, 10) : 0;
}

/* An extension does not wait until servers that have just started vote. */
TEST(each_ticket_has_a_greater_token) { /* R25 R28 */
  static const char step[] = "$redlock -t 12s --max-ttl 12s --fencing %s";
  CHECK_EQ(shell("until $redlock -t 12s --max-ttl 13s --status | grep '3 of 3'; "
                 "do sleep 0.1; done"), 0);
  CHECK_EQ(shell(step, "--take job >$work/one"), 0);
  CHECK_EQ(shell(step, "--extend $(cat $work/one) >$work/two"), 0);
  CHECK(token("one") > 1000000000000000);
  CHECK(token("two") > token("one"));
  CHECK_EQ(shell("$redlock --release $(cat $work/two)"), 0);
}

int main(int argc, char **argv) { return command_main(argc, argv, 3); }
