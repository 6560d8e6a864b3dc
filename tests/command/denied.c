/* denied.c: what the command says when this system denies it what it needs. */
#include "command.h"

/* There is room for one descriptor more, which the loader uses and gives back. */
TEST(tells_that_there_is_no_pipe) {
  fresh();
  CHECK_SAYS("cannot create a pipe: Too many open files: raise the limit (ulimit -n)\n", 123,
             "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n 4; exec $redlock job -- true");
}

/* No limit of processes binds root. The search for leaks would need a process too. */
TEST(tells_that_there_is_no_process) {
  const char *as = geteuid() ? "" : "setpriv --reuid 54321 --clear-groups";
  fresh();
  if (shell("ASAN_OPTIONS=detect_leaks=0 %s prlimit --nproc=0 $redlock --version", as))
    SKIP("no other user can run it");
  CHECK_SAYS("cannot start a process for 'true': Resource temporarily unavailable: "
             "raise the limit (ulimit -u), or try again later\n", 123,
             "ASAN_OPTIONS=detect_leaks=0 %s prlimit --nproc=0 $redlock job -- true", as);
  CHECK(is_released("job"));
}

int main(int argc, char **argv) {
  if (open_world(argc, argv, 3)) check_all();
  return close_world();
}
