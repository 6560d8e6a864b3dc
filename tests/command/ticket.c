/* ticket.c: --take, --extend and --release hand a lock from process to process (R28). */
#include "tests/command/command.h"

enum { TAKEN = 120, NO_QUORUM = 121, LOST = 122 };

TEST(a_ticket_is_good_once) { /* R28 */
  fresh();
  CHECK_EQ(shell("$redlock --take job >$work/one && $redlock -n job true"), TAKEN);
  CHECK_EQ(shell("$redlock --extend $(cat $work/one) >$work/two && $redlock -n job true"), TAKEN);
  CHECK_EQ(shell("$redlock --extend $(cat $work/one)"), LOST);
  CHECK(says("lock 'job' is not held by this ticket: "
             "it was released, it expired, or a later one has it"));
  CHECK_EQ(shell("$redlock --release $(cat $work/one)"), LOST);
  CHECK_EQ(shell("$redlock --release $(cat $work/two)"), 0);
  CHECK(!*output() && is_released("job"));
  CHECK_EQ(shell("$redlock --release $(cat $work/two)"), LOST);
}

TEST(of_three_who_extend_at_once_one_does) { /* R28 */
  int round;
  for (round = 0; round < 5; round++) {
    fresh();
    CHECK_EQ(shell("T=$($redlock -t 60s --take job); for i in 1 2 3; do "
                   "$redlock -t 60s --extend $T >$work/next$i 2>/dev/null & done; wait; "
                   "cat $work/next*; test $(cat $work/next* | wc -l) -le 1"), 0);
    CHECK_EQ(shell("for i in 1 2 3; do test ! -s $work/next$i || "
                   "$redlock -t 60s --release $(cat $work/next$i) || exit; done"), 0);
  }
}

TEST(extends_for_its_own_ttl) {
  fresh();
  CHECK_EQ(shell("$redlock -t 1s --extend $($redlock -t 20s --take job)"), 0);
  CHECK_EQ(shell("$redlock -w 10s job true"), 0);
}

TEST(a_name_may_be_anything) {
  fresh();
  setenv("name", "a b/c%\n\xc3\xa9/0123456789abcdef0123456789abcdef01234567/8", 1);
  CHECK_EQ(shell("$redlock --take \"$name\" >$work/ticket && $redlock -n \"$name\" true"), TAKEN);
  CHECK_SAYS("1\n", 0, "wc -l <$work/ticket && ! LC_ALL=C grep '[^!-~]' $work/ticket");
  CHECK_EQ(shell("$redlock --release \"$(cat $work/ticket)\" && $redlock -n \"$name\" true"), 0);
}

/* ---- files ---- */

TEST(a_ticket_goes_through_a_file) {
  fresh();
  CHECK_EQ(shell("umask 0; $redlock --take --ticket-file $work/ticket job"), 0);
  CHECK(!*output());
  CHECK_EQ(shell("find $work/ticket -perm 600 | grep -q . && cp $work/ticket $work/old"), 0);
  CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), 0);
  CHECK_EQ(shell("! cmp -s $work/ticket $work/old && $redlock --extend --ticket-file $work/old"),
           LOST);
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket && ls $work"), 0);
  CHECK(strcmp(output(), "old\noutput\n") == 0);
  CHECK(is_released("job"));
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 125);
  CHECK(says("there is no ticket in the file"));
}

/* What nobody could extend or release is not held. */
TEST(a_ticket_that_cannot_be_written_holds_nothing) {
  fresh();
  CHECK_EQ(shell("$redlock --take job >/dev/full"), 123);
  CHECK(says("cannot write the ticket of lock 'job'") && is_released("job"));
  CHECK_EQ(shell("$redlock --take --ticket-file $work/none/ticket job"), 123);
  CHECK(says("No such file") && is_released("job"));
  CHECK_SAYS("cannot write the ticket of lock 'job': Bad file", 123, "$redlock --take job >&-");
  CHECK(is_released("job"));
}

/* Its process number may come again, in another container. */
TEST(no_left_over_file_is_in_the_way) {
  fresh();
  CHECK_EQ(shell("sh -c 'touch $work/ticket.$$; "
                 "exec $redlock --take --ticket-file $work/ticket job' && "
                 "$redlock --release --ticket-file $work/ticket"), 0);
}

/* ---- a COMMAND ---- */

/* It is kept for longer than the ttl that it was taken for, and then free. */
TEST(a_ticket_can_be_run_under) { /* R28 */
  fresh();
  CHECK_EQ(shell("T=$($redlock -t 20s --take 'a job') && $redlock -t 1s --run \"$T\" -- sh -c '"
                 "echo \"<$REDLOCK_RESOURCE>\"; sleep 1.5; $redlock -n \"a job\" -- true; "
                 "test $? = 120 && exit 7'"), 7);
  CHECK(says("<a job>\n") && is_released("\"a job\""));
  CHECK_EQ(shell("T=$($redlock --take job) && $redlock --run $T -c 'exit 8'; test $? = 8 && "
                 "$redlock --run $T -- echo wrong"), LOST);
  CHECK(says("lock 'job' is not held by this ticket") && !says("wrong\n"));
  CHECK_EQ(shell("T=$($redlock --take job) && $redlock --min-hold 60s --run $T true && "
                 "$redlock -n job true"), TAKEN);
}

/* Its file holds the next ticket meanwhile: after a crash it can be taken over again. */
TEST(a_ticket_in_a_file_can_be_run_under) { /* R28 */
  pid_t pid;
  fresh();
  CHECK_EQ(shell("$redlock --take --ticket-file $work/ticket job && cp $work/ticket $work/old && "
                 "$redlock --run --ticket-file $work/ticket -- cmp -s $work/ticket $work/old"), 1);
  CHECK(access(in_work("ticket"), F_OK) != 0 && is_released("job"));
  CHECK_EQ(shell("$redlock --take --ticket-file $work/ticket job"), 0);
  pid = start("exec $redlock --run --ticket-file $work/ticket -- "
              "sh -c 'touch $work/runs; sleep 9'");
  CHECK(await_file("runs"));
  kill(pid, SIGKILL);
  CHECK_EQ(end_of(pid), 128 + SIGKILL);
  CHECK_EQ(shell("$redlock --run --ticket-file $work/ticket -- true"), 0);
  CHECK(is_released("job"));
}

/* Whoever has the file may end it from elsewhere. */
TEST(a_ticket_that_is_taken_away_stops_command) {
  pid_t pid;
  fresh();
  CHECK_EQ(shell("$redlock --take --ticket-file $work/ticket job"), 0);
  pid = start("exec $redlock -t 2s --run --ticket-file $work/ticket -- "
              "sh -c 'touch $work/runs; exec sleep 15'");
  CHECK(await_file("runs"));
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
  CHECK_EQ(end_of(pid), LOST);
}

/* ---- what goes wrong ---- */

/* Two servers refuse it before anything is changed there. */
static void want_password(const char *password) {
  server_want_password(&real.at[0], password);
  server_want_password(&real.at[1], password);
}

TEST(a_ticket_can_outlive_a_missing_quorum) {
  fresh();
  CHECK_EQ(shell("$redlock --take --ticket-file $work/ticket job"), 0);
  want_password("s3cret");
  CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), NO_QUORUM);
  CHECK(says("cannot extend lock 'job': 2 of 3 servers are unavailable"));
  want_password("");
  CHECK_EQ(shell("$redlock --extend --ticket-file $work/ticket"), 0);
  CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 0);
}

/* A ticket is a secret: no message repeats it. */
static void keeps_secret(const char *arguments, const char *because) {
  refuses(arguments, because);
  CHECK(!says("0123456789"));
}

TEST(refuses_what_is_no_ticket) {
  static const char none[] = "this is no ticket";
  fresh();
  keeps_secret("--take", "RESOURCE is missing");
  keeps_secret("--extend", "the ticket, or --ticket-file, is missing");
  keeps_secret("--take --release job", "give one of");
  keeps_secret("--take job true", "run no COMMAND");
  keeps_secret("--release job/0123456789012345678901234567890123456789 x", "run no COMMAND");
  keeps_secret("--ticket-file x job true", "is for --take");
  keeps_secret("--run", "the ticket, or --ticket-file, is missing");
  keeps_secret("--run job/0123456789012345678901234567890123456789", "COMMAND is missing");
  keeps_secret("--run job/0123456789012345678901234567890123456789/1 true", "give --fencing");
  keeps_secret("--status --release job/0123456789012345678901234567890123456789", "leave out one");
  keeps_secret("--extend job", none);
  keeps_secret("--extend /0123456789012345678901234567890123456789", none);
  keeps_secret("--extend 0123456789012345678901234567890123456789", none);
  keeps_secret("--extend job/012345678901234567890123456789012345678", none);
  keeps_secret("--extend job/x0123456789012345678901234567890123456789", none);
  keeps_secret("--extend job/012345678901234567890123456789012345678x", none);
  keeps_secret("--extend j%%2/0123456789012345678901234567890123456789", none);
  keeps_secret("--extend j%%00/0123456789012345678901234567890123456789", none);
  keeps_secret("--extend 0123456789012345678901234567890123456789/1", none);
  keeps_secret("--extend job/0123456789012345678901234567890123456789/1", "give --fencing");
}

/* ---- tokens ---- */

static unsigned long long token(const char *file) {
  const char *slash = strrchr(read_work(file), '/');
  return slash ? strtoull(slash + 1, NULL, 10) : 0;
}

/* An extension does not wait until servers that have just started vote. */
TEST(each_ticket_has_a_greater_token) { /* R25 R28 */
  static const char step[] = "$redlock -t 1s --max-ttl 1s --fencing %s";
  fresh();
  CHECK_EQ(shell("until $redlock -t 1s --max-ttl 2s --status | grep '3 of 3'; do sleep 0.1; done"),
           0);
  CHECK_EQ(shell(step, "--take job >$work/one"), 0);
  CHECK_EQ(shell(step, "--extend $(cat $work/one) >$work/two"), 0);
  CHECK(token("one") > 1000000000000000);
  CHECK(token("two") > token("one"));
  CHECK_EQ(shell("$redlock --release $(cat $work/two)"), 0);
}

int main(int argc, char **argv) {
  if (open_world(argc, argv, 3)) check_all();
  return close_world();
}
