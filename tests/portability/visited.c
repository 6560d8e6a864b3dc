/* visited.c: real servers for visitor.c, a program for another system, which VISITOR starts. Some
 * servers fail between its visits. What counts is what it prints, not its exit status: an emulator
 * that does nothing exits with 0 too. */
#include "tests/check.h"
#include "tests/servers.h"

#include <stdlib.h>

enum { N = 5 };

static struct servers set;

static void is_visited_well(int up) {
  char line[256], list[SERVERS_LIST];
  int passed = 0, failed = -1;
  FILE *said;
  servers_list(&set, N, list);
  setenv("VISITOR_SERVERS", list, 1);
  setenv("VISITOR_UP", up ? "1" : "0", 1);
  said = popen(getenv("VISITOR"), "r");
  if (!CHECK(said != NULL)) return;
  while (fgets(line, sizeof line, said)) {
    printf("    %s", line);
    if (sscanf(line, "%d passed, %d failed", &passed, &failed) != 2) failed = -1;
  }
  CHECK_EQ(pclose(said), 0);
  CHECK(passed > 0);
  CHECK_EQ(failed, 0);
}

static void a_visitor_is_served_where_all_are_up(void) { is_visited_well(1); }

static void a_visitor_is_served_where_one_is_dead_and_one_hangs(void) {
  server_kill(&set.at[1]);
  server_freeze(&set.at[3]);
  is_visited_well(1);
}

static void a_visitor_is_told_that_three_are_dead(void) {
  servers_heal(&set);
  server_kill(&set.at[0]);
  server_kill(&set.at[2]);
  server_kill(&set.at[4]);
  is_visited_well(0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  servers_start(&set, N, "");
  RUN(a_visitor_is_served_where_all_are_up);
  RUN(a_visitor_is_served_where_one_is_dead_and_one_hangs);
  RUN(a_visitor_is_told_that_three_are_dead);
  servers_stop(&set);
  return check_end();
}
