/* posix.c: the clock that the POSIX back end reads, and a process that stands still after poll. */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Every reading of a clock in the header goes through here. */
static int clocks_read, wrong_clocks, slept_s;

static int counted_clock_gettime(clockid_t id, struct timespec *to) {
  clocks_read++;
#ifdef CLOCK_BOOTTIME
  wrong_clocks += id != CLOCK_BOOTTIME;
#else
  wrong_clocks += id == CLOCK_REALTIME;
#endif
  if (clock_gettime(id, to)) return -1;
  to->tv_sec += slept_s;
  return 0;
}

/* Every wait too: the one server of this file, if any, works meanwhile. */
static int waited_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#define clock_gettime counted_clock_gettime
#define poll waited_poll
#define time(x) (wrong_clocks++, (time_t)(x))
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
#undef clock_gettime
#undef poll
#undef time

#include "../check.h"

static redlock rl;
static redlock_lock lock;

static int listener = -1, connection = -1;
static int sleeps; /* for a second, once, between the next poll and the work that follows it */

static void open_listener(char list[32]) {
  struct sockaddr_in a;
  socklen_t size = sizeof a;
  memset(&a, 0, sizeof a);
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&a, sizeof a) == 0);
  CHECK(listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&a, &size) == 0);
  snprintf(list, 32, "127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
}

static void close_listener(void) {
  close(connection);
  close(listener);
  connection = listener = -1;
}

/* Answers the one command that has come, or comes now. */
static void serve(void) {
  char bytes[1024];
  ssize_t size;
  const char *reply;
  if (connection < 0) connection = accept(listener, NULL, NULL);
  size = recv(connection, bytes, sizeof bytes, 0);
  if (!CHECK(size > 8)) return;
  reply = memcmp(bytes + 4, "$3\r\nSET", 7) == 0 ? "+OK\r\n" : ":1\r\n";
  CHECK(send(connection, reply, strlen(reply), 0) == (ssize_t)strlen(reply));
}

static int waited_poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
  int ready;
  if (listener >= 0 && count && !(fds[0].events & POLLOUT) && !sleeps) serve();
  ready = poll(fds, count, sleeps ? 0 : timeout_ms);
  if (!sleeps) return ready;
  sleeps = 0;
  slept_s++;
  serve();
  return ready;
}

/* Nobody listens on port 1 of this machine; no test below needs anybody to. */
static const char *const NOBODY = "127.0.0.1:1";

static void the_clock_counts_suspend_and_is_not_the_wall(void) { /* R2 */
  CHECK_EQ(redlock_init(&rl, NOBODY, NULL), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK(clocks_read > 0);
  CHECK_EQ(wrong_clocks, 0);
  redlock_close(&rl);
}

/* The answer came while the process stood still after poll: it counts, late as it seems. */
static void what_came_meanwhile_is_heard(void) { /* R16 */
  char list[32];
  open_listener(list);
  CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  sleeps = 1;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(slept_s, 1);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
  close_listener();
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(the_clock_counts_suspend_and_is_not_the_wall);
  RUN(what_came_meanwhile_is_heard);
  return check_end();
}
