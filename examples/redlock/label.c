/* label.c: the value of each lock begins with this host's name, so that --status tells who holds
 * the lock. The other 12 bytes are random, which is enough (R3). */
#include "command.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/random.h>
#endif

enum { LABEL = 8 };

/* Whether all of it is random now. Linux fails before it has enough, rather than block. */
static int draw(void *data, size_t size) {
#ifdef __linux__
  return getrandom(data, size, GRND_NONBLOCK) == (ssize_t)size;
#else
  int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, data, size);
  if (fd >= 0) (void)close(fd);
  return got == (ssize_t)size;
#endif
}

/* Its end, without the domain, for there the names of like hosts differ; blanks follow a shorter
   one. */
static void put_label(char *to) {
  char host[256] = "";
  size_t size;
  (void)gethostname(host, sizeof host - 1);
  size = strcspn(host, ".");
  if (size == 0) return; /* it stays random */
  memset(to, ' ', LABEL);
  if (size <= LABEL) memcpy(to, host, size);
  else memcpy(to, host + size - LABEL, LABEL);
}

int labelled_entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
  if (!draw(data, size)) return -1;
  if (size == sizeof lock.value) put_label((char *)data);
  return 0;
}
