/* lwip_posix.c: the header's own POSIX part over lwIP, which it reaches through macros, as where
 * LWIP_COMPAT_SOCKETS is set: ESP-IDF's sockets are these. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <lwip/sockets.h>

#undef SOCK_NONBLOCK /* lwIP has no such flags */
#define socket(family, type, protocol) lwip_socket(family, type, protocol)
#define connect(fd, to, size) lwip_connect(fd, to, size)
#define setsockopt(fd, level, option, value, size) lwip_setsockopt(fd, level, option, value, size)
#define send(fd, data, size, flags) lwip_send(fd, data, size, flags)
#define recv(fd, data, size, flags) lwip_recv(fd, data, size, flags)
#define poll(fds, count, timeout) lwip_poll(fds, count, timeout)
#define fcntl(fd, command, value) lwip_fcntl(fd, command, value)
#define close(fd) lwip_close(fd)

#define REDLOCK_MAX_SERVERS 3
#define REDLOCK_NO_DNS /* lwIP's getaddrinfo would ask its own servers */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

static redlock client;
static redlock_lock lock;

static redlock_status start_client(const char *servers) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 1000;
  return redlock_init(&client, servers, &options);
}

static redlock_status turn_valve(void (*work)(int64_t remaining_ms)) {
  redlock_status status = redlock_acquire(&client, &lock, "valve:7", 5000, 1000);
  if (status != REDLOCK_OK) return status;
  work(redlock_remaining_ms(&client, &lock));
  return redlock_release(&client, &lock);
}

#include "tests/portability/lwip_toys.h"
