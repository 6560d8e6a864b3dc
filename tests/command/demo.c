/* demo.c: what `make demo` shows, and what it says of a slow machine and of a faulty header. */
#include "tests/command/command.h"

static int demo_says(const char *what) {
  if (says(what)) return 1;
  printf("    said: %s\n", output());
  return 0;
}

static void demo_shows(const char *scenes, const char *last) {
  CHECK_EQ(shell("$here/../../demo %s", scenes), 0);
  CHECK(demo_says(last));
  CHECK(!says("NOT"));
}

/* Scene 4 takes a lock for two seconds, in which three servers start: here they take longer. */
static pid_t start_slowly(void) {
  CHECK_EQ(shell("printf '#!/bin/sh\nsleep 0.7\nexec %%s \"$@\"\n' \"$REDIS_SERVER\" "
                 ">$work/slow && chmod +x $work/slow"), 0);
  return start("REDIS_SERVER=$work/slow exec $here/../../demo 4");
}

/* They mostly wait: side by side. */
TEST(scenes_go_as_they_should_and_a_slow_machine_is_no_failure) {
  pid_t slow = start_slowly();
  demo_shows("1 2 3 4 5 6", "\n6. ");
  demo_shows("7 8 9 10", "\n10. ");
  check_ends(slow, 0, "(too slow a machine to show that two hold one lock then)");
  CHECK(told("background", "once more, with more time") && !told("background", "NOT"));
}

/* Unless the machine stands still just then. */
TEST(a_faulty_header_is_a_failure) { /* R18 */
  int status;
  CHECK_EQ(shell("BUILD=$work tests/mutants/run plant extension-shortens >$work/redlock.h"), 0);
  CHECK_EQ(shell("${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -I$work -I. examples/demo.c "
                 "tests/servers.c -o $work/demo"), 0);
  status = shell("$work/demo 3");
  if (status == 0) CHECK(demo_says("too slow a machine to show that the longer time stands"));
  else CHECK(demo_says("NOT SO: the longer time stands") && demo_says("NOT everything went"));
}

int main(int argc, char **argv) { return command_main(argc, argv, 1); }
