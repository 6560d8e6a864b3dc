#include "tests/bench/count.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

long counts[COUNT_KINDS];

#define COUNTED(kind, type, name, parameters, arguments) \
  type __real_##name parameters;                         \
  type __wrap_##name parameters;                         \
  type __wrap_##name parameters {                        \
    counts[kind]++;                                      \
    return __real_##name arguments;                      \
  }

COUNTED(COUNT_SEND, ssize_t, send, (int fd, const void *data, size_t size, int flags),
        (fd, data, size, flags))
COUNTED(COUNT_RECV, ssize_t, recv, (int fd, void *data, size_t size, int flags),
        (fd, data, size, flags))
COUNTED(COUNT_POLL, int, poll, (struct pollfd *fds, nfds_t count, int timeout),
        (fds, count, timeout))
COUNTED(COUNT_RANDOM, ssize_t, getrandom, (void *data, size_t size, unsigned flags),
        (data, size, flags))
COUNTED(COUNT_PID, pid_t, getpid, (void), ())
