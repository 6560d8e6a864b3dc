/* system.h: the system as the command sees it, whose calls are renamed to these: servers that are
 * the input, files in memory, a clock that moves when nothing is ready, no processes. */
#ifndef FUZZ_SYSTEM_H
#define FUZZ_SYSTEM_H

#include "peers.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum {
  FIRST_SOCKET = 100, FIRST_FILE = 200, FILES = 5, FILE_BYTES = 2048, SAID = 1 << 16, VARIABLES = 6,
  BEGAN_MS = 1000000,
  ENDLESS_POLLS = 200, /* then what may wait for ever does */
  MOST_POLLS = 20000, MOST_MS = 40000 /* and what may not has ended */
};

/* The files that are there. */
enum file { PASSWORD_FILE, TICKET_FILE, HOST_FILE, NEW_FILE /* becomes the ticket's */, NO_FILE };

static struct system {
  jmp_buf out;
  int status;
  int is_endless;
  int polls;
  struct {
    int is_there;
    mode_t mode;
    uid_t owner;
    size_t size, at;
    char bytes[FILE_BYTES];
  } file[FILES];
  const char *name[VARIABLES]; /* of variables, and what is in them */
  char *variable[VARIABLES];
  size_t said; /* to stderr */
  char text[SAID];
} sys;

/* What the target knows of what was asked for. */
static const char *ticket_path(void);
static int may_wait(void); /* without end */

static void end(int status) {
  sys.status = status;
  longjmp(sys.out, 1);
}

/* ---- Files ---- */

static enum file file_of(const char *path) {
  const char *ticket = ticket_path();
  if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return NO_FILE;
  if (strncmp(path, REDLOCK_COMMAND_FOLDER, strlen(REDLOCK_COMMAND_FOLDER)) == 0) return HOST_FILE;
  return ticket && strcmp(path, ticket) == 0 ? TICKET_FILE : PASSWORD_FILE;
}

int fuzz_open(const char *path, int flags, ...);
int fuzz_open(const char *path, int flags, ...) {
  enum file which = file_of(path);
  size_t size = strlen(path);
  (void)flags;
  if (size && path[size - 1] == '.') return FIRST_FILE + NO_FILE; /* a folder */
  if (strcmp(path, "/dev/null") == 0) return FIRST_FILE + NO_FILE;
  if (which == NO_FILE || !sys.file[which].is_there) {
    errno = ENOENT;
    return -1;
  }
  sys.file[which].at = 0;
  return FIRST_FILE + (int)which;
}

int fuzz_mkstemp(char *path);
int fuzz_mkstemp(char *path) {
  (void)path;
  sys.file[NEW_FILE].is_there = 1;
  sys.file[NEW_FILE].size = 0;
  return FIRST_FILE + NEW_FILE;
}

int fuzz_rename(const char *from, const char *to);
int fuzz_rename(const char *from, const char *to) {
  (void)from;
  FUZZ_CHECK(file_of(to) == TICKET_FILE);
  sys.file[TICKET_FILE] = sys.file[NEW_FILE];
  sys.file[NEW_FILE].is_there = 0;
  return 0;
}

int fuzz_unlink(const char *path);
int fuzz_unlink(const char *path) {
  enum file which = file_of(path);
  sys.file[which == TICKET_FILE ? TICKET_FILE : NEW_FILE].is_there = 0;
  return 0;
}

int fuzz_fstat(int fd, struct stat *to);
int fuzz_fstat(int fd, struct stat *to) {
  memset(to, 0, sizeof *to);
  if (fd == STDOUT_FILENO) return 0; /* a pipe */
  if (fd < FIRST_FILE || fd >= FIRST_FILE + NO_FILE) return -1;
  to->st_mode = sys.file[fd - FIRST_FILE].mode;
  to->st_uid = sys.file[fd - FIRST_FILE].owner;
  return 0;
}

int fuzz_lstat(const char *path, struct stat *to);
int fuzz_lstat(const char *path, struct stat *to) {
  return fuzz_fstat(FIRST_FILE + (int)file_of(path), to);
}

/* Of the folder of the host's files: root's. */
int fuzz_stat(const char *path, struct stat *to);
int fuzz_stat(const char *path, struct stat *to) {
  (void)path;
  memset(to, 0, sizeof *to);
  to->st_mode = S_IFDIR | 0755;
  return 0;
}

int fuzz_ftruncate(int fd, off_t size);
int fuzz_ftruncate(int fd, off_t size) {
  FUZZ_CHECK(fd == FIRST_FILE + NEW_FILE);
  sys.file[NEW_FILE].size = (size_t)size;
  return 0;
}

ssize_t fuzz_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t fuzz_pwrite(int fd, const void *bytes, size_t size, off_t at) {
  FUZZ_CHECK(fd == FIRST_FILE + NEW_FILE && at == 0 && size <= FILE_BYTES);
  memcpy(sys.file[NEW_FILE].bytes, bytes, size);
  sys.file[NEW_FILE].size = size;
  return (ssize_t)size;
}

ssize_t fuzz_readlink(const char *path, char *to, size_t room);
ssize_t fuzz_readlink(const char *path, char *to, size_t room) {
  (void)path, (void)to, (void)room;
  return -1;
}

void *fuzz_opendir(const char *path);
void *fuzz_opendir(const char *path) {
  (void)path;
  return NULL;
}

static struct peer *peer_of(int fd) {
  return fd >= FIRST_SOCKET && fd < FIRST_SOCKET + PEERS ? &peers[fd - FIRST_SOCKET] : NULL;
}

ssize_t fuzz_read(int fd, void *to, size_t room);
ssize_t fuzz_read(int fd, void *to, size_t room) {
  int which = fd - FIRST_FILE;
  size_t left;
  if (which < 0 || which >= NO_FILE) {
    errno = EAGAIN; /* the signals' pipe */
    return -1;
  }
  left = sys.file[which].size - sys.file[which].at;
  if (room > left) room = left;
  memcpy(to, sys.file[which].bytes + sys.file[which].at, room);
  sys.file[which].at += room;
  return (ssize_t)room;
}

ssize_t fuzz_write(int fd, const void *bytes, size_t size);
ssize_t fuzz_write(int fd, const void *bytes, size_t size) {
  char *to = fd == STDERR_FILENO ? sys.text : sys.file[NEW_FILE].bytes;
  size_t *used = fd == STDERR_FILENO ? &sys.said : &sys.file[NEW_FILE].size;
  if (fd == STDOUT_FILENO && !size) return 0; /* is there any room? */
  FUZZ_CHECK(fd == STDERR_FILENO || fd == FIRST_FILE + NEW_FILE);
  if (size > (fd == STDERR_FILENO ? SAID : FILE_BYTES) - *used) return -1;
  memcpy(to + *used, bytes, size);
  *used += size;
  return (ssize_t)size;
}

int fuzz_close(int fd);
int fuzz_close(int fd) {
  struct peer *p = peer_of(fd);
  if (p) p->is_open = 0;
  return 0;
}

int fuzz_access(const char *path, int mode);
int fuzz_access(const char *path, int mode) { (void)path, (void)mode; return -1; }

int fuzz_fsync(int fd);
int fuzz_fsync(int fd) { (void)fd; return 0; }

int fuzz_dup(int fd);
int fuzz_dup(int fd) { return fd; }

int fuzz_fcntl(int fd, int what, ...);
int fuzz_fcntl(int fd, int what, ...) { (void)fd, (void)what; return 0; }

/* ---- Sockets and names ---- */

int fuzz_socket(int family, int type, int protocol);
int fuzz_socket(int family, int type, int protocol) {
  int i = 0;
  (void)family, (void)protocol;
  while (i < PEERS && peers[i].is_open) i++;
  errno = EMFILE;
  if (i == PEERS) return -1;
  peers[i].is_open = 1;
  peers[i].number = type == SOCK_DGRAM ? SOCK_DGRAM : 0;
  return FIRST_SOCKET + i;
}

/* The server's number is its port. A datagram's socket only asks for the route. */
int fuzz_connect(int fd, const struct sockaddr *to, socklen_t size);
int fuzz_connect(int fd, const struct sockaddr *to, socklen_t size) {
  struct sockaddr_in in;
  FUZZ_CHECK(peer_of(fd) && size >= sizeof to->sa_family);
  if (peer_of(fd)->number == SOCK_DGRAM || to->sa_family == AF_UNIX) return 0;
  memset(&in, 0, sizeof in);
  memcpy(&in, to, size < sizeof in ? size : sizeof in);
  peer_open(peer_of(fd), ntohs(in.sin_port)); /* as in IPv6 */
  errno = EINPROGRESS;
  return -1;
}

ssize_t fuzz_send(int fd, const void *bytes, size_t size, int flags);
ssize_t fuzz_send(int fd, const void *bytes, size_t size, int flags) {
  int sent = peer_send(peer_of(fd), bytes, size);
  (void)flags;
  errno = sent < 0 ? ECONNRESET : EAGAIN;
  return sent > 0 || !size ? sent : -1;
}

ssize_t fuzz_recv(int fd, void *to, size_t room, int flags);
ssize_t fuzz_recv(int fd, void *to, size_t room, int flags) {
  int got = peer_recv(peer_of(fd), to, room);
  (void)flags;
  errno = EAGAIN;
  return got > 0 ? got : got < 0 ? 0 : -1;
}

int fuzz_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int fuzz_setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
  (void)fd, (void)level, (void)name, (void)value, (void)size;
  return 0;
}

static struct addrinfo found_names[2];

/* Of any name that begins with a letter up to m, one address or two. */
int fuzz_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                     struct addrinfo **found);
int fuzz_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                     struct addrinfo **found) {
  static struct sockaddr_in at[2];
  int i, count = *host >= 'k' ? 2 : 1;
  if (hints->ai_flags & AI_NUMERICHOST) return getaddrinfo(host, port, hints, found);
  if (*host < 'a' || *host > 'm') return EAI_NONAME;
  memset(found_names, 0, sizeof found_names);
  for (i = 0; i < count; i++) {
    at[i].sin_family = AF_INET;
    at[i].sin_addr.s_addr = htonl(0x7f000000u + (unsigned)*host + (unsigned)i);
    found_names[i].ai_family = AF_INET;
    found_names[i].ai_addr = (struct sockaddr *)&at[i];
    found_names[i].ai_addrlen = sizeof at[i];
    found_names[i].ai_next = i + 1 < count ? &found_names[i + 1] : NULL;
  }
  *found = found_names;
  return 0;
}

void fuzz_freeaddrinfo(struct addrinfo *found);
void fuzz_freeaddrinfo(struct addrinfo *found) {
  if (found != found_names) freeaddrinfo(found);
}

/* ---- Time ---- */

int fuzz_clock_gettime(clockid_t clock, struct timespec *to);
int fuzz_clock_gettime(clockid_t clock, struct timespec *to) {
  (void)clock;
  to->tv_sec = (time_t)(peers_now_ms / 1000);
  to->tv_nsec = (long)(peers_now_ms % 1000) * 1000000;
  return 0;
}

int fuzz_poll(struct pollfd *fds, nfds_t count, int ms);
int fuzz_poll(struct pollfd *fds, nfds_t count, int ms) {
  int ready = 0, late;
  nfds_t i;
  for (i = 0; i < count; i++) {
    struct peer *p = peer_of(fds[i].fd);
    fds[i].revents = (short)(!p || peer_is_writable(p) ? fds[i].events & POLLOUT : 0);
    if (p && peer_is_readable(p)) fds[i].revents |= POLLIN;
    ready += fds[i].fd >= 0 && fds[i].revents;
  }
  if (!ready) peers_now_ms += ms < 0 || ms > 1000 ? 1000 : ms;
  else if (ms) peers_now_ms++; /* an answer takes its time */
  late = ++sys.polls >= MOST_POLLS || peers_now_ms >= BEGAN_MS + MOST_MS;
  sys.is_endless = (late || sys.polls > ENDLESS_POLLS) && may_wait();
  FUZZ_CHECK(!late || sys.is_endless);
  if (!sys.is_endless) return ready;
  end(-1);
  return 0;
}

/* ---- Processes and signals ---- */

pid_t fuzz_fork(void);
pid_t fuzz_fork(void) {
  errno = EAGAIN;
  return -1;
}

int fuzz_pipe(int ends[2]);
int fuzz_pipe(int ends[2]) {
  ends[0] = ends[1] = FIRST_FILE + NO_FILE;
  return 0;
}

pid_t fuzz_waitpid(pid_t pid, int *status, int how);
pid_t fuzz_waitpid(pid_t pid, int *status, int how) {
  (void)pid, (void)status, (void)how;
  errno = ECHILD;
  return -1;
}

int fuzz_waitid(int kind, unsigned id, void *info, int how);
int fuzz_waitid(int kind, unsigned id, void *info, int how) {
  (void)kind, (void)id, (void)info, (void)how;
  return -1;
}

pid_t fuzz_getpgid(pid_t pid);
pid_t fuzz_getpgid(pid_t pid) { (void)pid; return -1; }

int fuzz_kill(pid_t pid, int number);
int fuzz_kill(pid_t pid, int number) { (void)pid, (void)number; return -1; }

int fuzz_raise(int number);
int fuzz_raise(int number) {
  end(128 + number);
  return 0;
}

long fuzz_syscall(long number, ...);
long fuzz_syscall(long number, ...) { (void)number; return -1; }

int fuzz_sigaction(int number, const void *action, void *old);
int fuzz_sigaction(int number, const void *action, void *old) {
  (void)number, (void)action;
  if (old) memset(old, 0, sizeof(struct sigaction));
  return 0;
}

int fuzz_sigprocmask(int how, const sigset_t *mask, sigset_t *old);
int fuzz_sigprocmask(int how, const sigset_t *mask, sigset_t *old) {
  (void)how, (void)mask, (void)old;
  return 0;
}

int fuzz_setitimer(int which, const void *timer, void *old);
int fuzz_setitimer(int which, const void *timer, void *old) {
  (void)which, (void)timer, (void)old;
  return 0;
}

/* ---- Who and where ---- */

char *fuzz_getenv(const char *name);
char *fuzz_getenv(const char *name) {
  int i;
  for (i = 0; i < VARIABLES && sys.name[i]; i++)
    if (strcmp(sys.name[i], name) == 0) return sys.variable[i];
  return NULL;
}

int fuzz_gethostname(char *to, size_t size);
int fuzz_gethostname(char *to, size_t size) {
  (void)snprintf(to, size, "host.example");
  return 0;
}

ssize_t fuzz_getrandom(void *to, size_t size, unsigned flags);
ssize_t fuzz_getrandom(void *to, size_t size, unsigned flags) {
  static int drawn;
  (void)flags;
  memset(to, 0x55, size);
  memcpy(to, &drawn, size < sizeof drawn ? size : sizeof drawn);
  drawn++;
  return (ssize_t)size;
}

void fuzz_exit(int status);
void fuzz_exit(int status) { end(status); }

void fuzz__exit(int status);
void fuzz__exit(int status) { end(status); }

#endif
