/* strict.h: Winsock as Windows has it, where Wine is milder. A connection that was refused reads as
 * one that is still being made, and polls as ready: only SO_ERROR tells. And no one may wait for no
 * socket at all. Included before the header that is tested. */
#ifndef STRICT_H
#define STRICT_H

#include <winsock2.h>
#include <ws2tcpip.h>

enum { STRICT_UNDER_WAY, STRICT_STANDS, STRICT_REFUSED };

static unsigned char *strict_state(SOCKET fd) {
  static unsigned char states[1024];
  return &states[fd / 4 % sizeof states];
}

static int strict_connect(SOCKET fd, const struct sockaddr *to, int size) {
  *strict_state(fd) = STRICT_UNDER_WAY;
  return connect(fd, to, size);
}

static int strict_result(SOCKET fd, int result) {
  unsigned char *state = strict_state(fd);
  int error = WSAGetLastError();
  if (*state == STRICT_UNDER_WAY && result > 0) *state = STRICT_STANDS;
  if (*state == STRICT_UNDER_WAY && result < 0 && error != WSAEWOULDBLOCK && error != WSAENOTCONN)
    *state = STRICT_REFUSED;
  if (*state != STRICT_REFUSED) return result;
  WSASetLastError(WSAENOTCONN);
  return SOCKET_ERROR;
}

static int strict_send(SOCKET fd, const char *data, int size, int flags) {
  return strict_result(fd, send(fd, data, size, flags));
}

static int strict_recv(SOCKET fd, char *data, int size, int flags) {
  return strict_result(fd, recv(fd, data, size, flags));
}

static int strict_getsockopt(SOCKET fd, int level, int name, char *value, int *size) {
  int result = getsockopt(fd, level, name, value, size);
  if (*strict_state(fd) == STRICT_REFUSED && name == SO_ERROR)
    *(int *)(void *)value = WSAECONNREFUSED;
  return result;
}

static int strict_poll(WSAPOLLFD *fds, ULONG count, int timeout_ms) {
  int refused = 0, ready;
  ULONG i;
  for (i = 0; i < count; i++) refused += *strict_state(fds[i].fd) == STRICT_REFUSED;
  ready = count > 0 ? WSAPoll(fds, count, refused ? 0 : timeout_ms) : SOCKET_ERROR;
  for (i = 0; i < count; i++)
    if (*strict_state(fds[i].fd) == STRICT_REFUSED) fds[i].revents = POLLERR | POLLHUP | POLLWRNORM;
  return ready < 0 ? ready : ready + refused; /* some count twice: only the sign matters */
}

#define connect strict_connect
#define send strict_send
#define recv strict_recv
#define getsockopt strict_getsockopt
#define WSAPoll strict_poll

#endif
