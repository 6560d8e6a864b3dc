/* descriptors.c: the system's clock and sockets that cannot be had, and no socket that leaks. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int no_clock;

static int doubtful_clock_gettime(clockid_t id, struct timespec *to) {
  return no_clock ? -1 : clock_gettime(id, to);
}

#define clock_gettime doubtful_clock_gettime
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
#undef clock_gettime

#include "../check_main.h"

static redlock rl;
static redlock_lock lock;

/* The next descriptor that the system would give. */
static int next_descriptor(void) {
  int fd = dup(0);
  if (fd >= 0) close(fd);
  return fd;
}

/* One attempt on this list fails for want of a server, and leaves no descriptor. */
static void check_nobody(const char *list) {
  int before = next_descriptor();
  CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
  CHECK_EQ(redlock_fds(&rl, NULL, 0), 0);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0');
  CHECK_EQ(next_descriptor(), before);
  redlock_close(&rl);
}

TEST(a_path_where_nobody_listens) { check_nobody("unix:/nowhere/at/all"); } /* R14 */

TEST(it_is_known_without_waiting) { /* R14 R16 */
  int steps = 0;
  CHECK_EQ(redlock_init(&rl, "unix:/nowhere/at/all", NULL), REDLOCK_OK);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  while (steps < 5 && redlock_step(&rl) == NULL) steps++;
  CHECK_EQ(lock.status, REDLOCK_NO_QUORUM);
  redlock_close(&rl);
}

TEST(a_port_where_nobody_listens) { check_nobody("127.0.0.1:1"); } /* R14 */

TEST(no_descriptor_is_left) { /* R14 R16: EMFILE */
  struct rlimit limit, none;
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none = limit;
  none.rlim_cur = (rlim_t)next_descriptor();
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  check_nobody("127.0.0.1:1");
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int listen_somewhere(char list[32]) {
  struct sockaddr_in a;
  socklen_t size = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  memset(&a, 0, sizeof a);
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 4) == 0);
  CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &size), 0);
  snprintf(list, 32, "127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
  return fd;
}

TEST(a_connection_that_is_reset_is_lost) { /* R12 */
  const struct linger reset = {1, 0};
  redlock_server_info info;
  redlock_options options;
  char list[32];
  int listener = listen_somewhere(list), connection;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 2000;
  CHECK_EQ(redlock_init(&rl, list, &options), REDLOCK_OK);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_PENDING);
  (void)redlock_step(&rl);
  connection = accept(listener, NULL, NULL);
  (void)redlock_step(&rl);
  CHECK_EQ(send(connection, "-ERR\r\n-ERR\r\n-ERR\r\n-ERR\r\n", 24, 0), 24); /* to the handshake */
  while (redlock_server_status(&rl, 0, &info) == REDLOCK_OK && !info.connected &&
         lock.status == REDLOCK_PENDING)
    (void)redlock_wait(&rl, 1);
  CHECK_EQ(setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
  close(connection);
  while (lock.status == REDLOCK_PENDING) (void)redlock_wait(&rl, -1);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
  redlock_close(&rl);
  close(listener);
}

TEST(no_clock_is_told) { /* R2 */
  no_clock = 1;
  CHECK_EQ(redlock_init(&rl, "127.0.0.1:1", NULL), REDLOCK_SYSTEM);
  no_clock = 0;
  CHECK_EQ(redlock_init(&rl, "127.0.0.1:1", NULL), REDLOCK_OK);
  no_clock = 1;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_SYSTEM);
  no_clock = 0;
  redlock_close(&rl);
}
