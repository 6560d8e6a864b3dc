/* reach.c: what this system said when the client connected. The library tells only that there is no
 * connection; whether that is for want of a port, a route or a right, the system's own words say.
 * redlock.c has the library call these in place of the system's functions. */
#include "command.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { ADDRESSES = 2 * REDLOCK_MAX_SERVERS, FAMILIES = 3 };

/* The last connection to an address. */
static struct attempt {
  struct sockaddr_storage to;
  int fd;
  int error;    /* 0 = none, or it is still being made */
  int has_spoken, has_left; /* the other side: it has sent something, and then closed */
  int is_closed;            /* by the other side */
  int64_t began_ms;
} attempts[ADDRESSES];

static int family_error[FAMILIES]; /* why there was no socket */

/* ---- Noting ---------------------------------------------------------------------------------- */

static int is_same(const struct sockaddr_storage *a, const struct sockaddr *other) {
  const void *b = other;
  if (a->ss_family != other->sa_family) return 0;
  if (other->sa_family == AF_UNIX)
    return strcmp(((const struct sockaddr_un *)(const void *)a)->sun_path,
                  ((const struct sockaddr_un *)b)->sun_path) == 0;
  if (other->sa_family == AF_INET) {
    const struct sockaddr_in *in = (const void *)a, *in_b = b;
    return in->sin_port == in_b->sin_port && in->sin_addr.s_addr == in_b->sin_addr.s_addr;
  } else {
    const struct sockaddr_in6 *in = (const void *)a, *in_b = b;
    return in->sin6_port == in_b->sin6_port &&
           memcmp(&in->sin6_addr, &in_b->sin6_addr, sizeof in->sin6_addr) == 0;
  }
}

static struct attempt *find_attempt(const struct sockaddr *to) {
  struct attempt *a = attempts;
  while (a != attempts + ADDRESSES && !is_same(&a->to, to)) a++;
  return a != attempts + ADDRESSES ? a : NULL;
}

/* One for another address: the oldest, since names may lead elsewhere by now. */
static struct attempt *begin_attempt(const struct sockaddr *to, socklen_t size) {
  struct attempt *a = attempts, *oldest = attempts;
  for (; a != attempts + ADDRESSES; a++)
    if (a->began_ms < oldest->began_ms) oldest = a;
  memset(oldest, 0, sizeof *oldest);
  memcpy(&oldest->to, to, size);
  return oldest;
}

static struct attempt *attempt_on(int fd) {
  struct attempt *a = attempts;
  while (a != attempts + ADDRESSES && (!a->began_ms || a->fd != fd)) a++;
  return a != attempts + ADDRESSES ? a : NULL;
}

static int *error_of(int family) {
  return &family_error[family == AF_INET ? 0 : family == AF_INET6 ? 1 : 2];
}

int noted_socket(int family, int type, int protocol) {
  int fd = socket(family, type, protocol);
  *error_of(family) = fd < 0 ? errno : 0;
  return fd;
}

int noted_connect(int fd, const struct sockaddr *to, socklen_t size) {
  struct attempt *a = find_attempt(to), *other = attempt_on(fd);
  int failed = connect(fd, to, size), error = errno;
  if (other) other->fd = -1; /* the number is another's now */
  if (!a) a = begin_attempt(to, size);
  a->fd = fd;
  a->began_ms = now_ms();
  a->has_spoken = a->is_closed = 0;
  a->error = failed && error != EINPROGRESS && error != EINTR ? error : 0;
  errno = error;
  return failed;
}

/* What came of it: size < 0 = an error, 0 = the other side has closed. */
static void note_result(int fd, ssize_t size, int is_closed) {
  struct attempt *a = attempt_on(fd);
  int error = errno;
  if (!a || (size < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR ||
                          error == ENOTCONN || error == EINPROGRESS))) return;
  if (size < 0) is_closed = error == ECONNRESET || error == EPIPE;
  a->is_closed = is_closed;
  if (is_closed) a->has_left = a->has_spoken;
  else if (size < 0) a->error = error;
}

ssize_t noted_send(int fd, const void *data, size_t size, int flags) {
  ssize_t sent = send(fd, data, size, flags);
  note_result(fd, sent, 0);
  return sent;
}

ssize_t noted_recv(int fd, void *data, size_t size, int flags) {
  ssize_t got = recv(fd, data, size, flags);
  struct attempt *a = got > 0 ? attempt_on(fd) : NULL;
  note_result(fd, got, got == 0);
  if (a) a->has_spoken = 1;
  return got;
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* That to the server that began last, among those to all its addresses; NULL = none. *error: why
   this system lets nobody connect, 0 = to one of them it does. */
static const struct attempt *last_attempt(int server, int *error) {
  const struct attempt *last = NULL;
  struct sockaddr_storage at[2];
  int i, count = addresses_of(server, at), is_open = 0;
  *error = 0;
  for (i = 0; i < count; i++) {
    const struct attempt *a = find_attempt((const struct sockaddr *)(const void *)&at[i]);
    int its = *error_of(at[i].ss_family);
    if (!its && !a) continue;
    if (!its) its = a->error;
    if (!its || its == ECONNREFUSED || its == EAGAIN) is_open = 1;
    else *error = its;
    if (a && (!last || a->began_ms >= last->began_ms)) last = a;
  }
  if (is_open) *error = 0;
  return last;
}

int connect_error(int server) {
  int error;
  (void)last_attempt(server, &error);
  return error;
}

int has_hung_up(int server) {
  int error;
  const struct attempt *last = last_attempt(server, &error);
  return last && last->has_left && last->error != ECONNREFUSED;
}

int is_silent_peer(int server) {
  int error;
  const struct attempt *last = last_attempt(server, &error);
  return last && !last->has_spoken;
}

int64_t connected_for_ms(int server) {
  int error;
  const struct attempt *last = last_attempt(server, &error);
  return last ? now_ms() - last->began_ms : 0;
}

/* ---- Two addresses --------------------------------------------------------------------------- */

void format_address(const struct sockaddr_storage *at, char text[64]) {
  const void *any = at, *number = &((const struct sockaddr_in6 *)any)->sin6_addr;
  if (at->ss_family == AF_INET) number = &((const struct sockaddr_in *)any)->sin_addr;
  if (!inet_ntop(at->ss_family, number, text, 64)) (void)strcpy(text, "?");
}

static int is_silent(const struct attempt *a) {
  return a && !a->has_spoken && !a->is_closed && !a->error;
}

/* It was left when the other one was tried, or it has not been left. */
static int64_t silent_for_ms(const struct attempt *a, const struct attempt *other) {
  return (other && other->began_ms > a->began_ms ? other->began_ms : now_ms()) - a->began_ms;
}

static int put_outcome(char *to, size_t room, const struct attempt *a,
                       const struct attempt *other) {
  if (is_silent(a))
    return snprintf(to, room, "no answer in %ld ms", (long)silent_for_ms(a, other));
  return snprintf(to, room, "%s", a->error ? strerror(a->error)
                                           : a->is_closed ? "it hangs up" : "it answers");
}

int address_words(int server, char text[ADDRESS_WORDS]) {
  struct sockaddr_storage at[2];
  const struct attempt *of[2];
  int i, size = 0, has_silent = 0;
  *text = 0;
  if (addresses_of(server, at) < 2) return 0;
  for (i = 0; i < 2; i++) of[i] = find_attempt((const struct sockaddr *)(const void *)&at[i]);
  for (i = 0; i < 2; i++) {
    char number[64];
    if (!of[i]) continue;
    format_address(&at[i], number);
    size += snprintf(text + size, ADDRESS_WORDS - (size_t)size, "%s%s: ", size ? ", " : "", number);
    size += put_outcome(text + size, ADDRESS_WORDS - (size_t)size, of[i], of[!i]);
    has_silent |= is_silent(of[i]);
  }
  return has_silent;
}
