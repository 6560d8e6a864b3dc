/* hang.h: a connect that hangs, for black holes: the queue of who listens there is full. */
#ifndef HANG_H
#define HANG_H

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

/* Starts to connect; 1 = that hangs, 0 = it stood at once. */
static inline int connect_hangs(int fd, const struct sockaddr *to, socklen_t size) {
  struct pollfd look = {-1, POLLOUT, 0};
  look.fd = fd;
  (void)fcntl(fd, F_SETFL, O_NONBLOCK);
  return connect(fd, to, size) != 0 && poll(&look, 1, 200) == 0;
}

#endif
