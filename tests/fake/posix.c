/* posix.c: what the POSIX back end asks of the system: the clock that it reads, entropy that does
 * not come, signals, sockets that cannot be had or leak, times that poll cannot count, and a
 * process that stands still after poll. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/random.h>
#endif

/* Every reading of a clock in the header goes through here. */
static int clocks_read, wrong_clocks, slept_s, no_clock;

static int counted_clock_gettime(clockid_t id, struct timespec *to) {
  clocks_read++;
#ifdef CLOCK_BOOTTIME
  wrong_clocks += id != CLOCK_BOOTTIME;
#else
  wrong_clocks += id == CLOCK_REALTIME;
#endif
  if (no_clock || clock_gettime(id, to)) return -1;
  to->tv_sec += slept_s;
  return 0;
}

/* Every wait too: the one server of this file, if any, works meanwhile. */
static int waited_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

/* Entropy lacks so many bytes; < 0 = none comes. */
static int entropy_lacks;

#ifdef __linux__
static ssize_t lacking_getrandom(void *to, size_t size, unsigned flags) {
  if (entropy_lacks < 0) errno = EAGAIN;
  return entropy_lacks < 0 ? -1 : getrandom(to, size - (size_t)entropy_lacks, flags);
}
#define getrandom lacking_getrandom
#endif

/* So many of each call that a signal may interrupt are. A connect goes on all the same. */
static int interrupted_connects, interrupted_sends, interrupted_recvs;
static int interruption = EINTR;
static int connects, recvs; /* how many were made */

static int is_interrupted(int *left) {
  if (*left == 0) return 0;
  --*left;
  errno = interruption;
  return 1;
}

static int interrupted_connect(int fd, const struct sockaddr *to, socklen_t size) {
  int result = connect(fd, to, size);
  connects++;
  return is_interrupted(&interrupted_connects) ? -1 : result;
}

static ssize_t interrupted_send(int fd, const void *bytes, size_t size, int flags) {
  return is_interrupted(&interrupted_sends) ? -1 : send(fd, bytes, size, flags);
}

static ssize_t interrupted_recv(int fd, void *bytes, size_t size, int flags) {
  recvs++;
  return is_interrupted(&interrupted_recvs) ? -1 : recv(fd, bytes, size, flags);
}

#define clock_gettime counted_clock_gettime
#define poll waited_poll
#define connect interrupted_connect
#define send interrupted_send
#define recv interrupted_recv
#define time(x) (wrong_clocks++, (time_t)(x))
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"
#undef clock_gettime
#undef poll
#undef time
#undef connect
#undef send
#undef recv

#include "../check_main.h"

static redlock rl;
static redlock_lock lock;

static int listener = -1, connection = -1;
static int sleeps; /* for a second, once, between the next poll and the work that follows it */
static int rings;  /* SIGALRM comes, once, while the next poll waits */
static int asked_ms, is_only_asked; /* how long the last poll was to wait, and that it shall not */
static int asked_events, poll_fails;

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

/* Behind each test. */
static void put_away(void) {
  redlock_close(&rl);
  if (connection >= 0) close(connection);
  if (listener >= 0) close(listener);
  connection = listener = -1;
  interrupted_sends = interrupted_recvs = is_only_asked = poll_fails = 0;
}

/* The server's descriptor is never 0, 1 or 2 either. */
static int accept_high(void) {
  int low = accept(listener, NULL, NULL), high = fcntl(low, F_DUPFD, 3);
  close(low);
  return high;
}

/* Answers the one command that has come, or HELLO, CLIENT, the proof and the SET behind
   them. */
static void serve(void) {
  char bytes[1024];
  ssize_t size;
  const char *reply;
  if (connection < 0) connection = accept_high();
  size = recv(connection, bytes, sizeof bytes, MSG_DONTWAIT);
  if (!CHECK(size > 8)) return;
  reply = memcmp(bytes + 4, "$3\r\nSET", 7) == 0 ? "+OK\r\n" : ":1\r\n";
  if (memcmp(bytes + 4, "$5\r\nHELLO", 9) == 0) reply = "-ERR\r\n-ERR\r\n+redlock\r\n+OK\r\n";
  CHECK(send(connection, reply, strlen(reply), 0) == (ssize_t)strlen(reply));
}

static void heard(int signal_number) { (void)signal_number; }

/* Waits until a signal has come. It comes again and again, for the first may be early; and one may
   be late, for valgrind hands them on by itself: so they are ignored from then on. */
static int poll_until_it_rings(struct pollfd *fds, nfds_t count) {
  static const struct itimerval often = {{0, 1000}, {0, 1000}}, never;
  struct sigaction ring;
  int ready, error;
  memset(&ring, 0, sizeof ring);
  ring.sa_handler = heard;
  CHECK(sigaction(SIGALRM, &ring, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
  ready = poll(fds, count, -1);
  error = errno;
  ring.sa_handler = SIG_IGN;
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0 && sigaction(SIGALRM, &ring, NULL) == 0);
  CHECK(ready < 0 && error == EINTR);
  errno = error;
  return ready;
}

static int waited_poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
  int ready;
  asked_ms = timeout_ms;
  asked_events = count ? fds[0].events : 0;
  if (is_only_asked) return 0;
  errno = ENOMEM;
  if (poll_fails) return -1;
  if (rings && count && !(fds[0].events & POLLOUT)) {
    rings = 0;
    return poll_until_it_rings(fds, count);
  }
  ready = poll(fds, count, 0);
  if (!sleeps && ready == 0 && listener >= 0 && count && !(fds[0].events & POLLOUT)) serve();
  if (!sleeps) return poll(fds, count, timeout_ms);
  sleeps = 0;
  slept_s++;
  serve();
  return ready;
}

/* longer than any delay on a busy machine */
enum { PATIENT_MS = 5000 };

/* A client whose one server is well, and has been used. server_timeout_ms: 0 = the default. */
static redlock_options options;

static void begin_served(uint32_t server_timeout_ms) {
  static char list[32]; /* it must outlive the client */
  check.after = put_away;
  options.server_timeout_ms = server_timeout_ms;
  open_listener(list);
  CHECK_EQ(redlock_init(&rl, list, &options), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* The client hears of it. */
static void hang_up(void) {
  close(connection);
  connection = -1;
  CHECK(redlock_step(&rl) == NULL);
}

/* The answer came while the process stood still after poll: it counts, late as it seems. */
TEST(an_answer_that_came_meanwhile_is_heard) { /* R16 */
  begin_served(0);
  sleeps = 1;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(slept_s, 1);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* A value of less than 20 bytes, or of none, might be another's. */
TEST(a_value_of_less_entropy_is_none) { /* R3 */
#ifdef __linux__
  static const int lacks[] = { 1, 19, 20, -1 };
  size_t i;
  begin_served(PATIENT_MS);
  for (i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
    entropy_lacks = lacks[i];
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 1000), REDLOCK_SYSTEM);
    CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  }
  entropy_lacks = 0;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
#else
  SKIP("entropy does not come from getrandom here");
#endif
}

TEST(a_signal_does_not_end_a_wait) { /* R14 */
  begin_served(PATIENT_MS);
  rings = 1;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(rings, 0);
}

/* Some systems say ENOTCONN while a connection is being made. */
TEST(an_interruption_does_not_end_a_connection) { /* R14 */
  static const int errors[] = {EINTR, ENOTCONN};
  int i;
  begin_served(PATIENT_MS);
  for (i = 0; i < 2; i++) {
    interruption = errors[i];
    interrupted_sends = interrupted_recvs = 1;
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
    CHECK_EQ(interrupted_sends + interrupted_recvs, 0);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  }
  interruption = EINTR;
  hang_up();
  interrupted_connects = 1;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  CHECK_EQ(interrupted_connects, 0);
}

TEST(a_poll_that_fails_ends_a_blocking_call) {
  begin_served(PATIENT_MS);
  poll_fails = 1;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 5000), REDLOCK_SYSTEM);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
}

TEST(a_full_socket_is_waited_for_both_ways) { /* R16 */
  begin_served(PATIENT_MS);
  interrupted_sends = INT_MAX;
  is_only_asked = 1;
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_PENDING);
  CHECK(redlock_wait(&rl, 0) == NULL);
  CHECK_EQ(asked_events, POLLIN | POLLOUT);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  interrupted_sends = is_only_asked = 0;
}

/* poll has just said that there is nothing. */
TEST(a_wait_in_vain_asks_no_server) {
  begin_served(PATIENT_MS);
  is_only_asked = 1;
  recvs = 0;
  CHECK(redlock_wait(&rl, 1) == NULL);
  CHECK_EQ(recvs, 0);
  is_only_asked = 0;
}

/* What a program prints that has closed its output must not go to a server, as a command. */
static int standard[3]; /* copies of 0, 1, 2 */

static void close_standard(int closed) { /* a bit for each */
  int i;
  fflush(stdout);
  for (i = 0; i < 3; i++)
    if (closed & 1 << i) close(i);
}

static void reopen_standard(int closed) {
  int i;
  for (i = 0; i < 3; i++)
    if (closed & 1 << i) dup2(standard[i], i);
}

static int is_closed(int fd) { return fcntl(fd, F_GETFD) < 0; }

/* Connects anew; returns the descriptor. Nothing may be printed meanwhile. */
static int descriptor_with(int closed, int *flags, int *status) {
  redlock_fd want;
  int ok, i;
  hang_up();
  close_standard(closed);
  ok = redlock_acquire(&rl, &lock, "r", 10000, 0) == REDLOCK_OK;
  ok &= redlock_release(&rl, &lock) == REDLOCK_OK && redlock_fds(&rl, &want, 1) == 1;
  for (i = 0; i < 3; i++) ok &= is_closed(i) == (closed >> i & 1);
  *flags = ok ? fcntl((int)want.fd, F_GETFD) : -1;
  *status = ok ? fcntl((int)want.fd, F_GETFL) : -1;
  reopen_standard(closed);
  CHECK(ok);
  return ok ? (int)want.fd : -1;
}

TEST(a_socket_is_never_a_standard_descriptor) { /* R14 */
  int closed, i, flags, status;
  for (i = 0; i < 3; i++)
    if ((standard[i] = fcntl(i, F_DUPFD, 10)) < 0) SKIP("one of them is closed");
  begin_served(PATIENT_MS);
  for (closed = 0; closed < 8; closed++) {
    if (!CHECK(descriptor_with(closed, &flags, &status) > 2)) printf("    closed: %d\n", closed);
    CHECK(flags & FD_CLOEXEC);
    CHECK(status & O_NONBLOCK);
  }
  put_away();
  for (i = 0; i < 3; i++) close(standard[i]);
}

TEST(a_reset_is_heard_of) { /* R14 */
  const struct linger none = {1, 0};
  redlock_fd want;
  begin_served(PATIENT_MS);
  CHECK_EQ(redlock_fds(&rl, &want, 1), 1);
  CHECK_EQ(setsockopt(connection, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
  hang_up();
  CHECK_EQ(redlock_fds(&rl, &want, 1), 0);
}

/* TCP_NODELAY: a command must not wait for an answer. And a machine may have no IPv6. */
TEST(bytes_leave_at_once_and_by_ipv4) {
  struct sockaddr_in6 a; /* room for either */
  socklen_t size = sizeof a, on_size;
  redlock_fd want;
  int on = 0;
  on_size = sizeof on;
  begin_served(PATIENT_MS);
  CHECK_EQ(redlock_fds(&rl, &want, 1), 1);
  CHECK_EQ(getsockopt((int)want.fd, IPPROTO_TCP, TCP_NODELAY, &on, &on_size), 0);
  CHECK(on != 0);
  CHECK_EQ(getpeername((int)want.fd, (struct sockaddr *)&a, &size), 0);
  CHECK_EQ(a.sin6_family, AF_INET);
}

/* ---- Where nobody listens -------------------------------------------------------------------- */

/* Nobody listens on port 1 of this machine. */
static const char *const NOBODY = "127.0.0.1:1";

TEST(the_clock_counts_suspend_and_is_not_the_wall) { /* R2 */
  CHECK_EQ(redlock_init(&rl, NOBODY, NULL), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK(clocks_read > 0);
  CHECK_EQ(wrong_clocks, 0);
}

TEST(a_clock_that_is_lacking_is_told) { /* R2 */
  no_clock = 1;
  CHECK_EQ(redlock_init(&rl, NOBODY, NULL), REDLOCK_SYSTEM);
  no_clock = 0;
  CHECK_EQ(redlock_init(&rl, NOBODY, NULL), REDLOCK_OK);
  no_clock = 1;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_SYSTEM);
  no_clock = 0;
}

/* The next descriptor that the system would give. */
static int next_descriptor(void) {
  int fd = dup(0);
  if (fd >= 0) close(fd);
  return fd;
}

/* One attempt on this list fails for want of a server, with so many tries to connect, and leaves no
   descriptor. */
static void check_nobody(const char *list, int tries) {
  int before = next_descriptor();
  CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_OK);
  connects = 0;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(connects, tries);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
  CHECK_EQ(redlock_fds(&rl, NULL, 0), 0);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0');
  CHECK_EQ(next_descriptor(), before);
  redlock_close(&rl);
}

/* It is tried twice, and then no more for a while. */
TEST(a_place_where_nobody_listens_is_unreachable) { /* R14 */
  check_nobody(NOBODY, 2);
  check_nobody("unix:/nowhere/at/all", 2);
}

TEST(a_place_where_nobody_listens_is_known_without_waiting) { /* R14 R16 */
  int steps = 0;
  CHECK_EQ(redlock_init(&rl, "unix:/nowhere/at/all", NULL), REDLOCK_OK);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  while (steps < 5 && redlock_step(&rl) == NULL) steps++;
  CHECK_EQ(lock.status, REDLOCK_NO_QUORUM);
}

TEST(a_server_without_a_descriptor_is_unreachable) { /* R14 R16: EMFILE */
  struct rlimit limit, none;
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none = limit;
  none.rlim_cur = (rlim_t)next_descriptor();
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  check_nobody(NOBODY, 0);
  CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* sockaddr_un has room for about 108 bytes, with the end; what is cut would be another path. */
TEST(a_socket_with_a_long_path_is_unreachable) {
  const struct sockaddr_un *room = NULL;
  const size_t sizes[] = {200, sizeof room->sun_path};
  int i;
  for (i = 0; i < 2; i++) {
    char list[5 + 200 + 1];
    memset(list, 'p', sizeof list);
    memcpy(list, "unix:/", 6);
    list[5 + sizes[i]] = '\0';
    check_nobody(list, 0);
  }
}

/* poll counts in an int. Early is allowed, at once or never is not. */
TEST(a_wait_may_be_longer_than_poll_can_count) {
  static const int64_t waits[] = {
    INT_MAX, (int64_t)INT_MAX + 1, (int64_t)1 << 32, ((int64_t)1 << 32) + 5, INT64_MAX
  };
  size_t i;
  CHECK_EQ(redlock_init(&rl, NOBODY, NULL), REDLOCK_OK);
  is_only_asked = 1;
  for (i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    CHECK(redlock_wait(&rl, waits[i]) == NULL);
    CHECK(asked_ms >= 1000);
  }
  is_only_asked = 0;
  redlock_close(&rl);
}

static int farewells;

static void on_closing(void *ctx, int server, intptr_t fd) {
  (void)ctx;
  (void)server;
  CHECK(fcntl((int)fd, F_GETFD) >= 0); /* it is open still */
  farewells++;
}

/* A child may share its parent's epoll instance: what it took out there, its parent would miss. */
TEST(a_child_closes_without_a_word) { /* R17 */
  int told = -1;
  pid_t child;
  options.closing = on_closing;
  begin_served(PATIENT_MS);
  farewells = 0;
  child = fork();
  if (child == 0) {
    redlock_close(&rl);
    _exit(farewells);
  }
  CHECK(child > 0 && waitpid(child, &told, 0) == child);
  CHECK(WIFEXITED(told) && WEXITSTATUS(told) == 0);
  put_away();
  options.closing = NULL;
  CHECK_EQ(farewells, 1);
}
