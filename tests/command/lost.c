/* lost.c: COMMAND never runs without the lock, and the lock does not outlive what held it.
 *
 * The tickers are this program itself: "tick NAME FILE SECONDS [deaf]" appends NAME to FILE every
 * few milliseconds, and "-" if the machine stood still meanwhile: then nobody could be stopped in
 * time either. Letters of two holders that stand mixed in the file would be an overlap. */
#include "tests/command/command.h"

/* A twentieth of the ttl is left for SIGKILL to work. With 40 ms, a busy machine let some tick too
   long: what is to be stopped may wait for a processor, and so may what stops it. */
enum { ROUNDS = 3, PAIRS = 5, TTL_MS = 3000, STALL_MS = 40 };

static int tick(char **argv, int deaf) {
  int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
  int64_t end = timing_ms() + 1000 * strtol(argv[2], NULL, 10);
  int64_t now = timing_ms(), last;
  if (deaf) signal(SIGTERM, SIG_IGN);
  do {
    if (write(fd, argv[0], 1) != 1) return 1;
    last = now;
    sleep_ms(3);
    now = timing_ms();
    if (now - last > STALL_MS && write(fd, "-", 1) != 1) return 1;
  } while (now < end);
  return 0;
}

/* ---- two holders never overlap ---- */

static char log_of_pair[PAIRS][16];
static pid_t first[PAIRS], second[PAIRS];

/* The first holder of each pair ticks until it is stopped, every other one deaf to SIGTERM; the
   second one waits for the lock. */
static void start_pairs(const char *login) {
  int i;
  fresh();
  for (i = 0; i < PAIRS; i++) {
    snprintf(log_of_pair[i], sizeof log_of_pair[i], "log%d", i);
    first[i] = start("%s exec $redlock -q -w 15s -t %dms job%d -- $self tick A $work/log%d 15 %s",
                     login, TTL_MS, i, i, i % 2 ? "deaf" : "");
  }
  for (i = 0; i < PAIRS; i++) CHECK(await_file(log_of_pair[i]));
  for (i = 0; i < PAIRS; i++)
    second[i] = start("exec $redlock -q -w 15s job%d -- $self tick B $work/log%d 0", i, i);
}

/* One A or more, then one B: no overlap. */
static int is_one_by_one(const char *log) {
  return *log == 'A' && strspn(log, "A") + 1 == strlen(log) && strchr(log, 'B');
}

static void check_pairs(void) {
  int i;
  for (i = 0; i < PAIRS; i++) {
    const char *log;
    CHECK_EQ(end_of(second[i]), 0);
    CHECK_EQ(end_of(first[i]), 122);
    log = read_work(log_of_pair[i]);
    if (strchr(log, '-')) printf("    the machine stood still: pair %d is not judged\n", i);
    else if (!CHECK(is_one_by_one(log))) printf("    pair %d: %s\n", i, log);
  }
}

TEST(freezing_a_majority_overlaps_nothing) {
  int round, i;
  for (round = 0; round < ROUNDS; round++) {
    start_pairs("");
    sleep_ms(round * TTL_MS / 6);
    for (i = 0; i < 3; i++) server_freeze(&real.at[(round + i) % 5]);
    sleep_ms(TTL_MS + 100);
    servers_mend(&real);
    check_pairs();
  }
}

/* A user of whom the servers can be told to serve him no longer. */
static void log_in(char login[SERVERS_LIST + 64]) {
  int i;
  strcpy(login, "REDLOCK_SERVERS=");
  for (i = 0; i < 5; i++)
    sprintf(login + strlen(login), "redis://bob:x@127.0.0.1:%d,", real.at[i].port);
  servers_command(&real, 5, "ACL SETUSER bob on >x ~* +@all");
}

/* Here the second holder has the lock as soon as the keys expire: nothing but the first one's
   access is taken away. */
TEST(cutting_one_off_overlaps_nothing) {
  char login[SERVERS_LIST + 64];
  int round;
  for (round = 0; round < ROUNDS; round++) {
    log_in(login);
    start_pairs(login);
    sleep_ms(round * TTL_MS / 6);
    servers_command(&real, 3, "ACL SETUSER bob -@all");
    check_pairs();
  }
}

/* ---- the ways to lose it ---- */

/* COMMAND notes SIGTERM from now on, and ends by it. */
static pid_t start_noting_term(const char *options_and_name) {
  pid_t pid = start_command(options_and_name, "trap \"echo term >$work/term; exit\" TERM; "
                            "touch $work/notes; while :; do sleep 0.02; done");
  CHECK(await_file("notes"));
  return pid;
}

TEST(keys_that_vanish_stop_command) {
  pid_t pid = start_noting_term("-t 5s job");
  servers_command(&real, 3, "FLUSHALL");
  check_ends(pid, 122, "'job' is lost: most servers no longer have its key");
  CHECK(told("term", "term\n") && is_released("job"));
}

/* Nobody else shall get it while COMMAND stops, if the servers serve again: a quorum of them has it
   for longer than the 5 s that were left. One whose connection is not back yet gets the next
   extension. */
TEST(a_lock_that_could_not_be_kept_is_held_until_command_is_gone) {
  char login[SERVERS_LIST + 64];
  int64_t end = timing_ms() + LIMIT_MS;
  pid_t pid;
  log_in(login);
  pid = start("%s exec $redlock -t 15s -k 5s job -- sh -c 'trap \"touch $work/term\" TERM; "
              "touch $work/runs; " UNTIL_END "'", login);
  CHECK(await_file("runs"));
  servers_command(&real, 3, "ACL SETUSER bob -@all");
  CHECK(await_file("term"));
  servers_command(&real, 3, "ACL SETUSER bob +@all");
  while (holders_for("job", 6000, LONG_MAX) < 3 && timing_ms() < end) sleep_ms(20);
  CHECK(timing_ms() < end);
  let_it_end();
  check_ends(pid, 122, "cannot be extended: too few servers answer");
}

TEST(a_suspended_holder_has_lost_it) { /* R2 */
  pid_t pid = start_holder("-t 3s job");
  kill(pid, SIGSTOP);
  while (holders("job") > 0) sleep_ms(10);
  kill(pid, SIGCONT);
  check_ends(pid, 122, "is lost: it expired while this machine was suspended");
}

/* A pipe that takes no more. */
static void open_full_log(int log[2]) {
  CHECK(pipe(log) == 0 && fill(log[1], INT_MAX) > 0);
}

/* What is said behind that, to its end. */
static void read_log(int log[2], char said[LINE]) {
  size_t size = 0;
  close(log[1]);
  while (size < LINE - 1 && read(log[0], said + size, 1) == 1) size += said[size] != '\0';
  said[size] = '\0';
  close(log[0]);
}

/* It is told why when there is room again. */
TEST(a_log_that_nobody_reads_keeps_no_command_alive) {
  char said[LINE];
  int log[2];
  pid_t pid;
  open_full_log(log);
  pid = start("exec $redlock -t 5s job -- " DEAF " 2>&%d", log[1]);
  CHECK(await_file("runs"));
  servers_command(&real, 5, "DEL job");
  CHECK(await_death());
  let_it_end();
  read_log(log, said);
  CHECK(strstr(said, "lock 'job' is lost"));
  CHECK_EQ(end_of(pid), 122);
}

/* What says "took lock" waits for a log that takes no more. What was rolled back did not expire. */
TEST(a_lock_that_ran_out_starts_no_command) {
  char said[LINE];
  int log[2];
  int64_t end = timing_ms() + LIMIT_MS;
  pid_t pid;
  open_full_log(log);
  pid = start("exec $redlock -v -t 1s job -- touch $work/runs 2>&%d", log[1]);
  while (expired_keys() < 3 && timing_ms() < end) {
    (void)holders("job"); /* a key that is asked for expires then */
    sleep_ms(10);
  }
  read_log(log, said);
  CHECK_EQ(end_of(pid), 122);
  CHECK(strstr(said, "'job' expired before COMMAND could start") && !exists("runs"));
}

TEST(a_release_that_fails_is_told) {
  pid_t pid = start_command("-t 60s job", UNTIL_END);
  servers_freeze(&real, 3);
  let_it_end();
  check_ends(pid, 0, "could not release lock 'job' on most servers: it expires by itself within "
                     "60000 ms");
}

TEST(a_loss_at_the_end_is_told) {
  pid_t pid = start_command("--min-hold 60s job", UNTIL_END);
  servers_command(&real, 5, "FLUSHALL");
  let_it_end();
  check_ends(pid, 122, "was lost before COMMAND ended with status 0");
  CHECK_EQ(holders("job"), 0);
}

/* What COMMAND started goes too, even when COMMAND itself heard SIGTERM at once. */
TEST(the_whole_group_is_stopped) {
  char before[OUTPUT];
  pid_t pid = start_command("-t 3s job", "$self tick A $work/log 15 deaf & wait");
  CHECK(await_file("log"));
  servers_freeze(&real, 3);
  check_ends(pid, 122, "too few servers answer");
  sleep_ms(20);
  snprintf(before, sizeof before, "%s", read_work("log"));
  sleep_ms(50);
  CHECK(strcmp(before, read_work("log")) == 0);
}

TEST(max_hold_stops_command) { /* R20 */
  int64_t from = timing_ms();
  CHECK_SAYS_ONCE("been held for --max-hold", 124, "$redlock -t 600ms -m 1s job -- sleep 15");
  CHECK(timing_ms() - from > 600 && timing_ms() - from < 15000);
  CHECK_SAYS_ONCE("", 124, "$redlock -m 300ms job -- sleep 15");
}

/* ---- what may not be signalled ---- */

/* A part of COMMAND that runs as another user, as behind sudo(8), under a redlock that may not
   signal it. */
#define PART "setpriv --reuid 54321 --clear-groups sh -c \"echo \\$\\$ >&3; exec sleep 60\""

static pid_t start_foreign(const char *options, const char *command) {
  pid_t pid = start("exec setpriv --bounding-set -kill $redlock -v %s job -- %s 3>$work/pid",
                    options, command);
  await_words("pid", "\n");
  return pid;
}

static const char cannot_stop[] = "runs as another user (sudo?), and no signal can stop it";

static int no_other_user(void) {
  return shell("setpriv --bounding-set -kill setpriv --reuid 54321 --clear-groups true") != 0;
}

/* It is told, and the lock is there again, until the part ends. */
static void check_outlived(pid_t pid, int status) {
  await_words("background", cannot_stop);
  CHECK(is_held("job"));
  kill((pid_t)atoi(read_work("pid")), SIGKILL);
  check_ends(pid, status, cannot_stop);
  CHECK(is_released("job"));
}

TEST(a_command_that_cannot_be_stopped_is_waited_for) {
  static const char *const commands[] = {
    PART, "sh -c 'trap \"\" TERM; " PART "; sleep 60'", "sh -c '" PART " & wait'"
  };
  size_t i;
  if (no_other_user()) SKIP("no other user can run it");
  for (i = 0; i < sizeof commands / sizeof *commands; i++) {
    pid_t pid;
    fresh();
    pid = start_foreign("-t 3s", commands[i]);
    servers_command(&real, 5, "FLUSHALL");
    await_words("background", "'job' is lost");
    check_outlived(pid, 122);
  }
}

/* The first extension comes before COMMAND, the third after the ttl. */
TEST(a_max_hold_that_cannot_be_enforced_ends_no_lock) { /* R20 */
  int64_t end = timing_ms() + LIMIT_MS;
  pid_t pid;
  if (no_other_user()) SKIP("no other user can run it");
  pid = start_foreign("-t 2s -m 2s", PART);
  await_words("background", "held for --max-hold");
  while (server_info(&real.at[0], "cmdstat_pexpire:calls=") < 3 && timing_ms() < end) sleep_ms(2);
  check_outlived(pid, 124);
  CHECK(!told("background", "it is killed"));
}

TEST(a_signal_that_does_not_arrive_is_told) {
  pid_t pid;
  if (no_other_user()) SKIP("no other user can run it");
  pid = start_foreign("", PART);
  kill(pid, SIGTERM);
  await_words("background", cannot_stop);
  CHECK(!told("background", "passed signal") && is_held("job"));
  check_outlived(pid, 128 + SIGKILL);
}

/* ---- signals and crashes ---- */

TEST(signals_are_handed_on) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
  size_t i;
  for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    pid_t pid;
    fresh();
    pid = start("exec $redlock job -- sh -c 'trap \"exit 33\" %d; touch $work/runs; "
                "while :; do sleep 0.02; done'", numbers[i]);
    CHECK(await_file("runs"));
    kill(pid, numbers[i]);
    CHECK_EQ(end_of(pid), 33);
    CHECK(is_released("job"));
  }
}

TEST(a_signal_ends_the_wait) {
  pid_t waiter, holder = start_holder("job");
  waiter = start_line("exec $redlock -v job -- touch $work/wrong", "waiter");
  await_words("waiter", "UTC: it is taken\n");
  terminate(waiter);
  kill(holder, SIGINT);
  CHECK_EQ(end_of(holder), 128 + SIGINT);
  CHECK(is_released("job") && !exists("wrong"));
}

/* The lock frees itself after its ttl; on Linux COMMAND is told to end at once. */
TEST(a_crash_frees_the_lock) {
  int status;
  pid_t pid = start_noting_term("-t 3s job");
  kill(pid, SIGKILL);
  CHECK_EQ(end_of(pid), 128 + SIGKILL);
  status = shell("$redlock -n job -- true");
  CHECK(status == 120 || (status == 0 && expired_keys() > 0)); /* by then */
  CHECK_EQ(shell("$redlock -w 10s job -- true"), 0);
#ifdef __linux__
  CHECK(await_file("term"));
#endif
}

int main(int argc, char **argv) {
  if (argc >= 5 && strcmp(argv[1], "tick") == 0) return tick(argv + 2, argc > 5);
  return command_main(argc, argv, 5);
}
