/* board.c: examples/bare_metal.c wherever there is a C compiler, over three toy servers in memory
 * that play lwIP. A connection stands one wait after it was asked for, as a real one would. */
#include "examples/bare_metal.c"

#include "tests/portability/fake_servers.h"

#include <errno.h>

enum { FIRST_FD = 5, FIRST_PORT = 7001, SOCKETS = REDLOCK_MAX_SERVERS };

static uint32_t ticks_ms = UINT32_MAX;
static int connects[REDLOCK_MAX_SERVERS], stands[REDLOCK_MAX_SERVERS];
static int taken[SOCKETS], toy_of[SOCKETS];

uint32_t sys_now(void) { return ticks_ms; }

static int64_t toys_now_ms(void) { return board_now_ms(NULL); }

uint16_t htons(uint16_t number) { return number; }

/* Any address will do: the ports tell the toys apart. */
int lwip_inet_pton(int family, const char *text, void *to) {
  memset(to, 0, sizeof(struct in_addr));
  return family == AF_INET && *text >= '0' && *text <= '9';
}

int lwip_socket(int family, int type, int protocol) {
  int i = 0;
  (void)family, (void)type, (void)protocol;
  while (i < SOCKETS && taken[i]) i++;
  if (i == SOCKETS) return -1;
  taken[i] = 1;
  return FIRST_FD + i;
}

int lwip_fcntl(int fd, int command, int value) {
  return fd >= FIRST_FD && command == F_SETFL && value == O_NONBLOCK ? 0 : -1;
}

int lwip_setsockopt(int fd, int level, int option, const void *value, unsigned size) {
  (void)fd, (void)level, (void)option, (void)value, (void)size;
  return 0;
}

static int later(int error) {
  errno = error;
  return -1;
}

int lwip_connect(int fd, const struct sockaddr *to, unsigned size) {
  int toy = ((const struct sockaddr_in *)(const void *)to)->sin_port - FIRST_PORT;
  (void)size;
  toy_of[fd - FIRST_FD] = toy;
  if (toys[toy].down) return later(ECONNREFUSED);
  connects[toy] = 1;
  return later(EINPROGRESS);
}

int lwip_send(int fd, const void *data, size_t size, int flags) {
  int toy = toy_of[fd - FIRST_FD];
  (void)flags;
  if (toys[toy].down) return later(ECONNRESET);
  if (!stands[toy]) return later(EINPROGRESS);
  size = toy_take(&toys[toy], data, size > 50 ? 50 : size);
  return size ? (int)size : later(EWOULDBLOCK);
}

int lwip_recv(int fd, void *data, size_t size, int flags) {
  int toy = toy_of[fd - FIRST_FD];
  (void)flags;
  if (toys[toy].down) return 0;
  size = toy_give(&toys[toy], data, size);
  return size ? (int)size : later(EWOULDBLOCK);
}

/* Time passes only here. */
int lwip_poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
  int ready = 0;
  nfds_t i;
  if ((fds == NULL) != (count == 0)) return later(EINVAL); /* as lwIP has it */
  for (i = 0; i < count; i++) {
    int toy = toy_of[fds[i].fd - FIRST_FD];
    ready += (fds[i].events & POLLOUT) || toys[toy].ready || toys[toy].down;
    stands[toy] |= connects[toy];
  }
  ticks_ms += ready ? 1 : (uint32_t)(timeout_ms > 0 ? timeout_ms : 1);
  return ready;
}

int lwip_close(int fd) {
  int toy = toy_of[fd - FIRST_FD];
  toys[toy].ready = toys[toy].got = 0;
  connects[toy] = stands[toy] = taken[fd - FIRST_FD] = 0;
  return 0;
}

static void take_down(int toy) { toys[toy].down = 1; }

int main(void) {
  int64_t before = board_now_ms(NULL);
  ticks_ms++; /* it wraps */
  toys_failures = board_now_ms(NULL) != before + 1;
  return toys_run("10.0.0.1:7001,10.0.0.1:7002,10.0.0.1:7003", take_down);
}
