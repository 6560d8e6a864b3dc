/* sockets.h: what examples/bare_metal.c uses of lwIP; tests/portability/board.c plays it. */
#ifndef BOARD_SOCKETS_H
#define BOARD_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

enum { AF_INET = 2, SOCK_STREAM = 1, F_SETFL = 4, IPPROTO_TCP = 6, TCP_NODELAY = 1 };
enum { O_NONBLOCK = 1, SOL_SOCKET = 0xfff, SO_KEEPALIVE = 8, POLLIN = 1, POLLOUT = 2 };

typedef unsigned nfds_t;

struct in_addr {
  uint32_t s_addr;
};

struct sockaddr;

struct sockaddr_in {
  uint8_t sin_len, sin_family;
  uint16_t sin_port;
  struct in_addr sin_addr;
};

struct pollfd {
  int fd;
  short events, revents;
};

uint16_t htons(uint16_t number);
int lwip_inet_pton(int family, const char *text, void *to);
int lwip_socket(int family, int type, int protocol);
int lwip_fcntl(int fd, int command, int value);
int lwip_setsockopt(int fd, int level, int option, const void *value, unsigned size);
int lwip_connect(int fd, const struct sockaddr *to, unsigned size);
int lwip_send(int fd, const void *data, size_t size, int flags);
int lwip_recv(int fd, void *data, size_t size, int flags);
int lwip_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int lwip_close(int fd);

#endif
