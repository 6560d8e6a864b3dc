/* refuse.c: a system that refuses what REFUSE names, for LD_PRELOAD: "clock", "random", "memory",
 * "tls", "names" (each has three addresses), "swallowed" (a look-up of such a name takes 8 s),
 * "folder" (to sync one), "group" (of processes), "signals" (to catch them), "ends" (of children),
 * "speed" (an hour passes with its second OK, a SET's: the first is the handshake's), "nonblocking"
 * (fcntl), "proc" (to say who we are there), "silence" (to sync a file stops REFUSE_PROCESSES),
 * "socket" or "connect" (with the errno REFUSE_ERROR) or "talk" (a connection ends behind its first
 * byte); if REFUSE_FROM names a file, once that is there. */
#ifdef __linux__
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int refuses(const char *what) {
  const char *refused = getenv("REFUSE"), *from = getenv("REFUSE_FROM");
  errno = what[0] == 'm' ? ENOMEM : ENOSYS;
  return refused && strcmp(refused, what) == 0 && (!from || syscall(SYS_access, from, F_OK) == 0);
}

static int oks;

int clock_gettime(clockid_t id, struct timespec *t) {
  int failed = (int)syscall(SYS_clock_gettime, id, t);
  if (oks > 1) t->tv_sec += 3600;
  return refuses("clock") ? -1 : failed;
}

static int fails(const char *what) {
  if (!refuses(what)) return 0;
  errno = atoi(getenv("REFUSE_ERROR"));
  return 1;
}

int socket(int family, int type, int protocol) {
  return fails("socket") ? -1 : (int)syscall(SYS_socket, family, type, protocol);
}

int connect(int fd, const struct sockaddr *to, socklen_t size) {
  return fails("connect") ? -1 : (int)syscall(SYS_connect, fd, to, size);
}

ssize_t recv(int fd, void *data, size_t size, int flags) {
  static char has_talked[1024];
  ssize_t got, i;
  if (refuses("talk") && fd < (int)sizeof has_talked) {
    has_talked[fd] = !has_talked[fd];
    if (!has_talked[fd]) return 0;
    size = 1;
  }
  got = syscall(SYS_recvfrom, fd, data, size, flags, NULL, NULL);
  for (i = 0; i + 5 <= got && refuses("speed"); i++)
    if (memcmp((char *)data + i, "+OK\r\n", 5) == 0) oks++;
  return got;
}

static void stop_all(const char *ids) {
  char *end;
  for (; *ids; ids = *end ? end + 1 : end) kill((pid_t)strtol(ids, &end, 10), SIGSTOP);
}

int fsync(int fd) {
  struct stat file;
  int fails = refuses("folder") && fstat(fd, &file) == 0 && S_ISDIR(file.st_mode);
  if (refuses("silence")) stop_all(getenv("REFUSE_PROCESSES"));
  if (fails) errno = EIO;
  return fails ? -1 : (int)syscall(SYS_fsync, fd);
}

int fcntl(int fd, int what, ...) {
  va_list more;
  long value;
  va_start(more, what);
  value = va_arg(more, long);
  va_end(more);
  if (refuses("nonblocking") && what == F_SETFL) {
    errno = EPERM;
    return -1;
  }
  return (int)syscall(SYS_fcntl, fd, what, value);
}

ssize_t readlink(const char *path, char *to, size_t room) {
  if (refuses("proc") && strcmp(path, "/proc/self") == 0) return -1;
  return syscall(SYS_readlinkat, AT_FDCWD, path, to, room);
}

int setpgid(pid_t pid, pid_t group) {
  int fails = refuses("group");
  if (fails) errno = EPERM;
  return fails ? -1 : (int)syscall(SYS_setpgid, pid, group);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  int (*next)(int, const struct sigaction *, struct sigaction *);
  *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
  if (!refuses("signals")) return next(number, action, old);
  errno = EPERM;
  return -1;
}

pid_t waitpid(pid_t pid, int *status, int options) {
  int fails = refuses("ends");
  if (fails) errno = EPERM;
  return fails ? -1 : (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

ssize_t getrandom(void *data, size_t size, unsigned flags) {
  return refuses("random") ? -1 : syscall(SYS_getrandom, data, size, flags);
}

int setenv(const char *name, const char *value, int overwrite) {
  int (*next)(const char *, const char *, int);
  *(void **)&next = dlsym(RTLD_NEXT, "setenv");
  return refuses("memory") ? -1 : next(name, value, overwrite);
}

int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
                struct addrinfo **found) {
  static const char *const addresses[] = {"127.0.0.3", "127.0.0.2", "127.0.0.1"};
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  struct addrinfo *all = NULL;
  size_t i;
  *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
  if (refuses("swallowed") && strncmp(name, "swallowed", 9) == 0 &&
      !(hints->ai_flags & AI_NUMERICHOST)) sleep(8);
  if (!refuses("names") || hints->ai_flags & AI_NUMERICHOST) return next(name, port, hints, found);
  for (i = 0; i < sizeof addresses / sizeof *addresses; i++) {
    int failed = next(addresses[i], port, hints, found);
    if (failed) return failed;
    (*found)->ai_next = all;
    all = *found;
  }
  return 0;
}

void *SSL_CTX_new(const void *method) {
  void *(*next)(const void *);
  *(void **)&next = dlsym(RTLD_NEXT, "SSL_CTX_new");
  return refuses("tls") ? NULL : next(method);
}
#endif
