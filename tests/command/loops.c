/* loops.c: the examples of event loops, each where its library is installed: they take every lock,
 * also while servers are killed, and are no dearer than the blocking calls. */
#include "tests/command/command.h"

#include <sys/resource.h>

enum { CYCLES = 500, LONG = 6000, RUNS = 3, WAIT_MS = 1000 };

static char why[LINE];

static const char *missing(const char *loop) {
  snprintf(why, sizeof why, "%s is not installed, or pkg-config", loop);
  return shell("test -x $here/../examples/loops/%s", loop) ? why : NULL;
}

static void takes_every_lock(const char *loop) {
  if (missing(loop)) SKIP(missing(loop));
  CHECK_SAYS("500 granted and released, 0 refused", 0,
             "$here/../examples/loops/%s $REDLOCK_SERVERS %d", loop, CYCLES);
  CHECK(is_released("loop"));
}

/* The loop stands still meanwhile: else it might be done before the servers are. */
static void kill_beside(pid_t loop, int first, int last) {
  int i;
  sleep_ms(40);
  kill(loop, SIGSTOP);
  for (i = first; i <= last; i++) server_kill(&real.at[i]);
  kill(loop, SIGCONT);
  sleep_ms(20);
}

/* A connection that ends is watched no more, whatever number the next one gets. */
static void bears_killed_servers(const char *loop) {
  pid_t pid;
  int i;
  if (missing(loop)) SKIP(missing(loop));
  pid = start("exec $here/../examples/loops/%s $REDLOCK_SERVERS %d", loop, LONG);
  for (i = 0; i < 4; i++) {
    kill_beside(pid, i % 2, i % 2);
    servers_mend(&real);
  }
  kill_beside(pid, 0, 2); /* most of them: it waits, and goes on */
  servers_mend(&real);
  check_ends(pid, 0, "6000 granted and released, 0 refused");
}

static int64_t processor_ms_of_children(void) {
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000) +
         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

/* A wait for a lock is a sleep. */
static void sleeps_while_it_waits(const char *loop) {
  pid_t holder, waiter;
  int64_t before = processor_ms_of_children();
  if (missing(loop)) SKIP(missing(loop));
  holder = start_holder("loop");
  waiter = start("exec $here/../examples/loops/%s $REDLOCK_SERVERS 1", loop);
  sleep_ms(WAIT_MS);
  terminate(waiter);
  CHECK(processor_ms_of_children() - before < WAIT_MS / 2);
  terminate(holder);
}

TEST(libuv_sleeps_while_it_waits) { sleeps_while_it_waits("libuv"); }
TEST(libevent_sleeps_while_it_waits) { sleeps_while_it_waits("libevent"); }
TEST(glib_sleeps_while_it_waits) { sleeps_while_it_waits("glib"); }
TEST(libuv_takes_every_lock) { takes_every_lock("libuv"); }
TEST(libevent_takes_every_lock) { takes_every_lock("libevent"); }
TEST(glib_takes_every_lock) { takes_every_lock("glib"); }
TEST(libuv_bears_killed_servers) { bears_killed_servers("libuv"); }
TEST(libevent_bears_killed_servers) { bears_killed_servers("libevent"); }
TEST(glib_bears_killed_servers) { bears_killed_servers("glib"); }

/* How often recv was called in so many cycles. */
static long received(const char *program) {
  CHECK_EQ(shell("$here/../loops/%s $REDLOCK_SERVERS %d", program, CYCLES), 0);
  return strtol(strrchr(output(), ',') ? strchr(output(), '\n') : "0", NULL, 10);
}

/* By turns: how many replies come with one recv is a matter of chance, and of load. */
static int receives_as_rarely(void) {
  long loop = 0, blocking = 0;
  int i;
  for (i = 0; i < RUNS; i++) {
    blocking += received("blocking");
    loop += received("libuv");
  }
  printf("    recv in %d cycles, five servers: libuv %ld, blocking %ld; ratio %.2f\n",
         RUNS * CYCLES, loop, blocking, (double)loop / (double)blocking);
  return blocking > 0 && 10 * loop <= 11 * blocking;
}

TEST(libuv_receives_as_rarely_as_the_blocking_calls) {
  if (shell("test -x $here/../loops/libuv")) SKIP("libuv is not installed, or recv not counted");
  CHECK(receives_as_rarely() || receives_as_rarely() || receives_as_rarely());
}

int main(int argc, char **argv) { return command_main(argc, argv, 5); }
