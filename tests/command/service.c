/* service.c: the command as a service of systemd: the manual's units, and what a service manager
 * hands to the process that it has started. */
#include "tests/command/command.h"

/* ---- the manual's units ---- */

/* Writes each unit of redlock(1) to a file of its own; returns how many. */
static int write_units(void) {
  CHECK_EQ(shell("awk '/^    \\[(Unit|Service)\\]/ { n += !inside; inside = 1 } "
                 "/^[.]fi/ { inside = 0 } "
                 "inside { sub(/^ +/, \"\"); gsub(/\\\\-/, \"-\"); sub(/\\\\e$/, \"\\\\\"); "
                 "gsub(/\\/usr\\/local\\/bin\\/[a-z]+/, \"/bin/true\"); "
                 "print >(ENVIRON[\"work\"] \"/unit\" n \".service\") } END { print n }' "
                 "examples/redlock/redlock.1"), 0);
  return (int)strtol(output(), NULL, 10);
}

TEST(the_manuals_units_are_good) {
  int i, count = write_units();
  CHECK_EQ(count, 2);
  CHECK_EQ(shell("grep -q -- '--min-hold 5m' $work/unit1.service && "
                 "grep -q '^NotifyAccess=all$' $work/unit2.service"), 0);
  CHECK_EQ(shell("for line in StartLimitIntervalSec=0 SuccessExitStatus=143 RestartSec=5s; do "
                 "grep -qx $line $work/unit2.service || exit; done"), 0);
  if (shell("command -v systemd-analyze") != 0) SKIP("no systemd-analyze");
  for (i = 1; i <= count; i++) {
    CHECK_EQ(shell("systemd-analyze verify $work/unit%d.service 2>&1 | grep unit%d", i, i), 1);
    if (*output()) printf("    %s\n", output());
  }
}

/* As the manual writes a password for one, and not as a shell has it. */
TEST(a_password_in_a_unit_has_each_percent_sign_twice) {
  if (shell("command -v systemd-analyze") != 0) SKIP("no systemd-analyze");
  CHECK_EQ(shell("sed -n 's/^[.]BR \\(Environment=REDLOCK_SERVERS=[^ ]*\\) .*/\\1/p' "
                 "examples/redlock/redlock.1 >$work/line && grep -q %%%%40 $work/line"), 0);
  CHECK_EQ(shell("for f in line once; do sed s/%%%%/%%/ $work/line >$work/once; "
                 "{ printf '[Service]\nType=oneshot\nExecStart=/bin/true\n'; cat $work/$f; } "
                 ">$work/$f.service; done"), 0);
  CHECK_EQ(shell("systemd-analyze verify $work/line.service 2>&1 | grep ignoring"), 1);
  CHECK_EQ(shell("systemd-analyze verify $work/once.service 2>&1 | grep ignoring"), 0);
}

/* ---- what COMMAND gets ---- */

/* The shell becomes redlock, so both have one process id; COMMAND's sh has another. */
static void command_sees(const char *variables, const char *test) {
  CHECK_EQ(shell("echo passed >$work/socket; env %s sh -c 'LISTEN_PID=${LISTEN_PID:-$$} "
                 "WATCHDOG_PID=${WATCHDOG_PID:-$$} exec $redlock a -- $redlock b -- sh -c \"$0\"' "
                 "'%s' 3<$work/socket", variables, test), 0);
}

TEST(what_is_meant_for_the_service_names_command) {
  command_sees("LISTEN_FDS=1", "test $LISTEN_PID = $$ && test $WATCHDOG_PID = $$ && "
               "read x <&3 && test $x = passed");
  command_sees("LISTEN_PID=1 WATCHDOG_PID=1", "test $LISTEN_PID = 1 && test $WATCHDOG_PID = 1");
  CHECK_EQ(shell("$redlock job -- sh -c 'test -z \"$LISTEN_PID$WATCHDOG_PID\"'"), 0);
}

/* Only if what systemd has named is still there. */
TEST(the_journal_is_told_how_grave_a_line_is) {
  static const char *const lines[][2] = {
    {"$redlock -v job -- true", "<6>redlock: took lock 'job'"},
    {"$redlock -n -s 127.0.0.1:1,127.0.0.1:2 job -- true", "<3>redlock:   127.0.0.1:2: no conn"},
    {"$redlock job -- sh -c 'sleep 0.3 & exit 3'", "<4>redlock: COMMAND ended with status 3"}
  };
  size_t i;
  for (i = 0; i < sizeof lines / sizeof *lines; i++) {
    shell("touch $work/log; export JOURNAL_STREAM=$(stat -c %%d:%%i $work/log); %s 2>$work/log",
          lines[i][0]);
    if (!CHECK(told("log", lines[i][1]))) printf("    said: %s\n", read_work("log"));
    shell("touch $work/log; export JOURNAL_STREAM=1:2; %s 2>$work/log", lines[i][0]);
    CHECK(told("log", lines[i][1] + 3) && !told("log", "<"));
  }
}

int main(int argc, char **argv) { return command_main(argc, argv, 3); }
