/* bare_metal.c: redlock.h on a board without an operating system that it knows, over lwIP's BSD
 * sockets (ESP-IDF's too) or Zephyr's. Copy from here: the hooks below are all that it needs.
 *
 *   cc -DREDLOCK_NO_POSIX -I.. -I(lwIP) -c bare_metal.c
 *
 * lwIP needs LWIP_SOCKET, LWIP_POLL (or write net_wait with lwip_select) and SO_KEEPALIVE
 * (LWIP_TCP_KEEPALIVE). All of a client's calls belong into one task. tests/portability runs this
 * on lwIP itself, and on three toy servers in memory wherever there is a C compiler. */
#ifndef REDLOCK_NO_POSIX
#define REDLOCK_NO_POSIX
#endif
#define REDLOCK_MAX_SERVERS 3 /* client and lock: 1.1 KB on 32 bits; 1 KB with REDLOCK_NO_FENCING */
#define REDLOCK_MAX_RESOURCE 16
#define REDLOCK_MAX_COMMANDS 4
#define REDLOCK_MAX_ERROR 16
#define REDLOCK_IMPLEMENTATION /* in one file of the program only */
#include "redlock.h"

#ifdef __ZEPHYR__ /* raise CONFIG_ZVFS_POLL_MAX (before 4.0: CONFIG_NET_SOCKETS_POLL_MAX) to the
                     number of servers */
#include <errno.h>
#include <fcntl.h>
#include <zephyr/kernel.h>
#include <zephyr/net/socket.h>
#define lwip_socket zsock_socket
#define lwip_setsockopt zsock_setsockopt
#define lwip_fcntl zsock_fcntl
#define lwip_inet_pton zsock_inet_pton
#define lwip_connect zsock_connect
#define lwip_send zsock_send
#define lwip_recv zsock_recv
#define lwip_close zsock_close
#define lwip_poll zsock_poll
#define sys_now k_uptime_get_32
#define pollfd zsock_pollfd
#define nfds_t int
#undef POLLIN
#undef POLLOUT
#define POLLIN ZSOCK_POLLIN
#define POLLOUT ZSOCK_POLLOUT
#else
#include <lwip/errno.h>
#include <lwip/sockets.h>
#include <lwip/sys.h>
#endif

#include <stdlib.h>
#include <string.h>

/* ---- The network ----------------------------------------------------------------------------- */

static int sockets[REDLOCK_MAX_SERVERS]; /* by the server's place in the list */

/* Not yet, or broken? While it connects, lwIP says EINPROGRESS. */
static int result_of(int result) {
  if (result >= 0) return result;
  return errno == EWOULDBLOCK || errno == EAGAIN || errno == EINPROGRESS ? 0 : -1;
}

/* Zephyr says ENOTCONN while it connects, and later too if that has failed. */
static int result_at(int server, int result) {
#ifdef __ZEPHYR__
  int error = 0;
  socklen_t size = sizeof error;
  if (result < 0 && errno == ENOTCONN &&
      zsock_getsockopt(sockets[server], SOL_SOCKET, SO_ERROR, &error, &size) == 0 && !error)
    return 0;
#endif
  (void)server;
  return result_of(result);
}

static void set_option(int fd, int level, int option) {
  int on = 1;
  (void)lwip_setsockopt(fd, level, option, &on, sizeof on);
}

/* Numeric addresses only. Looking up a name would block here: do so beforehand
   (dns_gethostbyname), and put its address into the list. */
static intptr_t net_open(void *ctx, int server, const char *host, const char *port) {
  struct sockaddr_in to;
  int fd = lwip_socket(AF_INET, SOCK_STREAM, 0);
  (void)ctx;
  if (fd < 0) return -1;
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)atoi(port));
  (void)lwip_fcntl(fd, F_SETFL, O_NONBLOCK);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE);
  sockets[server] = fd;
  if (lwip_inet_pton(AF_INET, host, &to.sin_addr) == 1 &&
      result_of(lwip_connect(fd, (const struct sockaddr *)&to, sizeof to)) == 0)
    return fd;
  (void)lwip_close(fd);
  return -1;
}

/* What lwIP takes now may be a part of a command: the rest comes with the next call. */
static int net_send(void *ctx, int server, const void *data, size_t size) {
  (void)ctx;
  return result_at(server, (int)lwip_send(sockets[server], data, size, 0));
}

/* From lwIP, 0 means that the other side has closed; from here it means nothing yet. */
static int net_recv(void *ctx, int server, void *data, size_t size) {
  int got = (int)lwip_recv(sockets[server], data, size, 0);
  (void)ctx;
  return got == 0 ? -1 : result_at(server, got);
}

static void net_close(void *ctx, int server) {
  (void)ctx;
  (void)lwip_close(sockets[server]);
}

/* The one hook that may block; the scheduler runs other tasks meanwhile. A main loop of your own
   calls redlock_step instead; then only redlock_close uses this. */
static int net_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int i;
  (void)ctx;
  for (i = 0; i < count; i++) {
    fds[i].fd = (int)want[i].fd;
    fds[i].events = want[i].events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN;
    fds[i].revents = 0;
  }
  if (timeout_ms > 60000) timeout_ms = 60000; /* early is allowed, overflow is not */
  return result_of(lwip_poll(count ? fds : NULL, (nfds_t)count, (int)timeout_ms));
}

/* ---- The board ------------------------------------------------------------------------------- */

/* How long a step of the clock takes; FreeRTOS's tick is 10 ms by default. Take a finer clock where
   there is one: on ESP-IDF esp_timer_get_time() / 1000. */
enum { TTL_MS = 5000, CLOCK_STEP_MS = 10 };

/* sys_now counts milliseconds in 32 bits, and wraps after 49 days: this must be called more often
   than that. It must go on in sleep modes (R2): a tick that stops makes locks live too long. */
static int64_t board_now_ms(void *ctx) {
  static uint32_t last, wraps;
  uint32_t now = sys_now();
  (void)ctx;
  if (now < last) wraps++;
  last = now;
  return (int64_t)wraps << 32 | now;
}

/* Yours: the hardware's random generator (ESP-IDF: esp_fill_random with the radio on; Zephyr:
   sys_csrand_get); 0 = all of data is filled. LWIP_RAND will not do: two boards that draw the same
   value hold the same lock (R3). */
int board_random(void *data, size_t size);

static int board_entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
  return board_random(data, size);
}

static const redlock_io board = {
  net_open, net_send, net_recv, net_close, net_wait, board_now_ms, board_entropy, NULL
};

/* ---- The application ------------------------------------------------------------------------- */

static redlock client;
static redlock_lock lock;

static redlock_status start_client(const char *servers) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.io = &board;
  options.server_timeout_ms = 1000; /* a lost packet is sent again in time */
  options.drift_ppm = 10000 + CLOCK_STEP_MS * 1000000 / TTL_MS; /* R2: what a step may hide */
  return redlock_init(&client, servers, &options);
}

/* One turn of a task. OK = the work was done under the lock. */
redlock_status turn_valve(void (*work)(int64_t remaining_ms));

redlock_status turn_valve(void (*work)(int64_t remaining_ms)) {
  redlock_status status = redlock_acquire(&client, &lock, "valve:7", TTL_MS, 1000);
  if (status != REDLOCK_OK) return status;
  work(redlock_remaining_ms(&client, &lock));
  return redlock_release(&client, &lock);
}
