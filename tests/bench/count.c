#include "tests/bench/count.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

long counts[COUNT_KINDS];

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __real_recv(int fd, void *data, size_t size, int flags);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
ssize_t __real_getrandom(void *data, size_t size, unsigned flags);
pid_t __real_getpid(void);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t size, int flags);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags);
pid_t __wrap_getpid(void);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags) {
  counts[COUNT_SEND]++;
  return __real_send(fd, data, size, flags);
}

ssize_t __wrap_recv(int fd, void *data, size_t size, int flags) {
  counts[COUNT_RECV]++;
  return __real_recv(fd, data, size, flags);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout) {
  counts[COUNT_POLL]++;
  return __real_poll(fds, count, timeout);
}

ssize_t __wrap_getrandom(void *data, size_t size, unsigned flags) {
  counts[COUNT_RANDOM]++;
  return __real_getrandom(data, size, flags);
}

pid_t __wrap_getpid(void) {
  counts[COUNT_PID]++;
  return __real_getpid();
}
