#include "servers.h"
#include "hang.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum {
  PIDS = 64,
  START_TRIES = 20,
  READY_LOOKS = 2000, /* of LOOK_MS each */
  LOOK_MS = 5,
  COMMAND_SECONDS = 5
};

/* What has to be ended and removed, by the process that started it and by no child of it. */
static pid_t owner;
static volatile pid_t pids[PIDS];
static char root[SERVERS_PATH - 32];

static void fail(const char *what) {
  fprintf(stderr, "servers: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* ---- the end ---- */

static void remember(pid_t from, pid_t to) {
  int i;
  for (i = 0; i < PIDS; i++)
    if (pids[i] == from) {
      pids[i] = to;
      return;
    }
  fail("too many servers");
}

static void await_exit(pid_t pid) {
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}

/* Only calls that a signal handler may make. */
static void remove_folder(const char *folder) {
  pid_t pid = fork();
  if (pid == 0) {
    execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
    _exit(127);
  }
  if (pid > 0) await_exit(pid);
}

static void tidy(void) {
  int i;
  if (getpid() != owner) return;
  for (i = 0; i < PIDS; i++) {
    if (!pids[i]) continue;
    kill(pids[i], SIGKILL);
    await_exit(pids[i]);
    pids[i] = 0;
  }
  if (root[0]) remove_folder(root);
  root[0] = '\0';
}

static void on_signal(int number) {
  tidy();
  raise(number); /* the handler is reset: this ends the process as it should */
}

static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void catch_endings(void) {
  struct sigaction action;
  int i;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER);
  for (i = 0; i < ENDINGS; i++) sigaction(endings[i], &action, NULL);
}

static void make_root(void) {
  const char *where = getenv("TMPDIR");
  if (!where || !*where || strlen(where) + 24 > sizeof root) where = "/tmp";
  owner = getpid();
  snprintf(root, sizeof root, "%s/redlock-XXXXXX", where);
  if (!mkdtemp(root)) {
    root[0] = '\0';
    fail("no temporary folder");
  }
  atexit(tidy);
  catch_endings();
}

const char *servers_folder(void) {
  if (!root[0]) make_root();
  return root;
}

/* ---- the start ---- */

/* So that whatever is started from here finds the same. */
static const char *server_program(void) {
  const char *path = getenv("REDIS_SERVER");
  char found[1024] = "";
  FILE *search;
  if (path && *path) return path;
  search = popen("command -v redis-server || command -v valkey-server", "r");
  if (search && fgets(found, sizeof found, search)) {
    found[strcspn(found, "\n")] = '\0';
    setenv("REDIS_SERVER", found, 1);
  }
  if (search) pclose(search);
  return *found ? getenv("REDIS_SERVER") : NULL;
}

const char *servers_missing(void) {
  const char *path = server_program();
  if (!path)
    return "no server: install redis-server or valkey-server, or set REDIS_SERVER to its path";
  if (access(path, X_OK)) return "REDIS_SERVER is not a program";
  return NULL;
}

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in at;
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET;
  at.sin_port = htons((unsigned short)port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

static int open_socket(int family) {
  int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) fail("socket");
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

static int port_is_free(int port) {
  struct sockaddr_in at = loopback(port);
  int fd = open_socket(AF_INET);
  int free = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
  close(fd);
  return free;
}

enum { RESERVED_FDS = 100 }; /* from there on: a shell can name descriptors below 10 alone */

/* While the server is dead, another of these programs might take its port. So each binds its
   ports on 127.0.0.2 too, for as long as it runs. */
static int reserve(int port) {
  struct sockaddr_in at = loopback(port);
  int low = open_socket(AF_INET), fd = fcntl(low, F_DUPFD_CLOEXEC, RESERVED_FDS), one_address;
  close(low);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0) return 1;
  one_address = errno == EADDRNOTAVAIL; /* not on Linux */
  close(fd);
  return one_address;
}

/* Below the range that systems take for outgoing connections: a client that tries a dead server's
   port again and again would one day meet itself there. */
static int free_port(void) {
  static unsigned state;
  int tries;
  if (!state) state = (unsigned)getpid() * 2654435761u ^ (unsigned)time(NULL);
  for (tries = 0; tries < 1000; tries++) {
    int port;
    state = state * 1664525u + 1013904223u;
    port = 15000 + (int)((state >> 8) % 17000);
    if (port_is_free(port) && reserve(port)) return port;
  }
  fail("no free port");
  return 0;
}

/* What a server has to say goes to its log. */
static void be_silent(void) {
  int fd = open("/dev/null", O_RDWR);
  dup2(fd, STDIN_FILENO);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
}

/* What it keeps on disk, a configuration says, if there is one. */
static void be_server(const struct server *s) {
  char line[1024], port[8];
  int has_file = s->args[0] == '/';
  snprintf(port, sizeof port, "%d", s->port);
  setenv("port", port, 1);
  snprintf(line, sizeof line,
           "exec \"$REDIS_SERVER\" %s --port %s --bind 127.0.0.1 --unixsocket '%s' --dir '%s' "
           "--logfile '%s/log' --loglevel warning %s %s", has_file ? s->args : "", port, s->socket,
           s->dir, s->dir, has_file ? "" : "--save '' --appendonly no", has_file ? "" : s->args);
  execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  _exit(127);
}

static void die_with_parent(pid_t parent) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) _exit(1);
}

/* No ending may come between the fork and the note of the child's id. */
static void spawn(struct server *s, int inherited) {
  sigset_t set, old;
  pid_t parent = getpid();
  int i;
  sigemptyset(&set);
  for (i = 0; i < ENDINGS; i++) sigaddset(&set, endings[i]);
  sigprocmask(SIG_BLOCK, &set, &old);
  s->pid = fork();
  if (s->pid > 0) remember(0, s->pid);
  sigprocmask(SIG_SETMASK, &old, NULL);
  if (s->pid < 0) fail("fork");
  if (s->pid > 0) return;
  fcntl(inherited, F_SETFD, 0);
  die_with_parent(parent);
  be_silent();
  be_server(s);
}

/* The pipe's other end is the server's: it is readable when the server has ended. */
static int has_ended(int pipe_end) {
  struct pollfd look;
  look.fd = pipe_end;
  look.events = POLLIN;
  return poll(&look, 1, LOOK_MS) > 0;
}

static int answers(const struct server *s) {
  const char *reply = server_command(s, "PING");
  return reply[0] != '(' && strncmp(reply, "-LOADING", 8) != 0;
}

static int await_ready(const struct server *s, int pipe_end) {
  int looks;
  for (looks = 0; looks < READY_LOOKS; looks++) {
    if (answers(s)) return 1;
    if (has_ended(pipe_end)) return 0;
  }
  return 0;
}

/* 0 = it ended, most likely because its port was taken. */
static int launch(struct server *s) {
  int ends[2], ready;
  if (pipe(ends)) fail("pipe");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  spawn(s, ends[1]);
  close(ends[1]);
  ready = await_ready(s, ends[0]);
  close(ends[0]);
  if (!ready) server_kill(s);
  return ready;
}

/* On a port of its own: in the folder of an earlier server it would find what that one kept. */
static void settle_in(struct server *s) {
  for (;;) {
    s->port = free_port();
    snprintf(s->dir, sizeof s->dir, "%s/%d", root, s->port);
    snprintf(s->socket, sizeof s->socket, "%s/sock", s->dir);
    if (mkdir(s->dir, 0700) == 0) return;
    if (errno != EEXIST) fail(s->dir);
  }
}

static void refuse_to_start(void) {
  fprintf(stderr, "servers: '%s' does not start: is it a redis-server or valkey-server?\n",
          getenv("REDIS_SERVER"));
  exit(1);
}

void server_start(struct server *s, const char *args) {
  int tries;
  if (servers_missing()) fail(servers_missing());
  (void)servers_folder();
  memset(s, 0, sizeof *s);
  snprintf(s->args, sizeof s->args, "%s", args ? args : "");
  for (tries = 0; tries < START_TRIES; tries++) {
    settle_in(s);
    if (launch(s)) return;
  }
  refuse_to_start();
}

void server_restart(struct server *s) {
  int tries;
  if (s->pid) server_kill(s);
  for (tries = 0; tries < START_TRIES; tries++)
    if (launch(s)) return;
  refuse_to_start();
}

/* ---- faults ---- */

void server_kill(struct server *s) {
  if (!s->pid) return;
  kill(s->pid, SIGKILL);
  await_exit(s->pid);
  remember(s->pid, 0);
  s->pid = 0;
  s->frozen = 0;
}

void server_lose_disk(struct server *s) {
  server_kill(s);
  remove_folder(s->dir);
  if (mkdir(s->dir, 0700)) fail(s->dir);
}

static void signal_and_await(struct server *s, int number, int options) {
  kill(s->pid, number);
  while (waitpid(s->pid, NULL, options) < 0 && errno == EINTR) {}
}

void server_freeze(struct server *s) {
  if (!s->pid || s->frozen) return;
  signal_and_await(s, SIGSTOP, WUNTRACED);
  s->frozen = 1;
}

void server_thaw(struct server *s) {
  if (!s->pid || !s->frozen) return;
  signal_and_await(s, SIGCONT, WCONTINUED);
  s->frozen = 0;
}

/* ---- a command ---- */

static FILE *dial(const struct server *s) {
  struct sockaddr_un at;
  struct timeval limit;
  FILE *stream;
  int fd = open_socket(AF_UNIX);
  memset(&at, 0, sizeof at);
  at.sun_family = AF_UNIX;
  snprintf(at.sun_path, sizeof at.sun_path, "%.103s", s->socket);
  limit.tv_sec = COMMAND_SECONDS;
  limit.tv_usec = 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, (struct sockaddr *)&at, sizeof at)) {
    close(fd);
    return NULL;
  }
  stream = fdopen(fd, "r+");
  if (!stream) fail("fdopen");
  return stream;
}

struct text {
  char bytes[32768];
  size_t size;
};

static void append(struct text *to, const char *bytes, size_t size) {
  if (size > sizeof to->bytes - 1 - to->size) size = sizeof to->bytes - 1 - to->size;
  memcpy(to->bytes + to->size, bytes, size);
  to->size += size;
  to->bytes[to->size] = '\0';
}

static int read_bulk(FILE *stream, long size, struct text *reply) {
  long i;
  if (size < 0) append(reply, "(nil)", 5);
  for (i = 0; i < size + 2 && size >= 0; i++) {
    int c = getc(stream);
    char byte = (char)c;
    if (c == EOF) return -1;
    if (i < size) append(reply, &byte, 1);
  }
  return 0;
}

/* How many more replies follow because of this one, or -1. */
static long read_element(FILE *stream, struct text *reply) {
  char line[1024];
  if (!fgets(line, sizeof line, stream)) return -1;
  line[strcspn(line, "\r\n")] = '\0';
  if (line[0] == '*') return strtol(line + 1, NULL, 10);
  if (reply->size) append(reply, " ", 1);
  if (line[0] == '$') return read_bulk(stream, strtol(line + 1, NULL, 10), reply);
  append(reply, line[0] == '-' ? line : line + 1, strlen(line[0] == '-' ? line : line + 1));
  return 0;
}

static void read_reply(FILE *stream, struct text *reply) {
  long left = 1;
  reply->size = 0;
  reply->bytes[0] = '\0';
  while (left-- > 0) {
    long more = read_element(stream, reply);
    if (more < 0) {
      snprintf(reply->bytes, sizeof reply->bytes, "(no answer)");
      return;
    }
    left += more;
  }
}

static const char *converse(FILE *stream, const char *login, const char *command) {
  static struct text reply;
  if (*login) fprintf(stream, "%s\r\n", login);
  fprintf(stream, "%s\r\n", command);
  fflush(stream);
  if (*login) read_reply(stream, &reply);
  read_reply(stream, &reply);
  return reply.bytes;
}

static const char *command_of(const struct server *s, const char *format, va_list arguments) {
  char command[1024];
  const char *reply;
  FILE *stream = dial(s);
  if (!stream) return "(not reachable)";
  vsnprintf(command, sizeof command, format, arguments);
  reply = converse(stream, s->login, command);
  fclose(stream);
  return reply;
}

const char *server_command(const struct server *s, const char *format, ...) {
  const char *reply;
  va_list arguments;
  va_start(arguments, format);
  reply = command_of(s, format, arguments);
  va_end(arguments);
  return reply;
}

void servers_command(const struct servers *set, int count, const char *format, ...) {
  va_list arguments;
  int i;
  for (i = 0; i < count; i++) {
    va_start(arguments, format);
    command_of(&set->at[i], format, arguments);
    va_end(arguments);
  }
}

int server_has_users(const struct server *s) { return *server_command(s, "ACL WHOAMI") != '-'; }

/* "-ERR Error running script (call to f_..." or "-@user_script: 1: ...": none begins as it
     should. */
int server_has_old_errors(const struct server *s) {
  return strncmp(server_command(s, "EVAL \"return redis.call('nosuch')\" 0"), "-ERR Un", 7) != 0;
}

int server_takes_empty(const struct server *s) { return *server_command(s, "ECHO \"\"") != '-'; }

const char *server_native_release(const struct server *s) {
  if (*server_command(s, "DELIFEQ none x") != '-') return "delifeq";
  return *server_command(s, "DELEX none IFEQ x") != '-' ? "delex" : NULL;
}

void server_want_password(struct server *s, const char *password) {
  server_command(s, "CONFIG SET requirepass \"%s\"", password);
  snprintf(s->login, sizeof s->login, "%s%s", *password ? "AUTH " : "", password);
}

static long number(const char *text) {
  char *end;
  long value = strtol(text, &end, 10);
  return end == text ? -1 : value;
}

long server_number(const struct server *s, const char *command) {
  return number(server_command(s, "%s", command));
}

long server_info(const struct server *s, const char *field) {
  char wanted[64];
  const char *found;
  snprintf(wanted, sizeof wanted, "\n%s", field);
  found = strstr(server_command(s, "INFO ALL"), wanted);
  return found ? number(found + strlen(wanted)) : -1;
}

/* ---- sets ---- */

void servers_start(struct servers *set, int count, const char *args) {
  int i;
  set->count = count;
  for (i = 0; i < count; i++) server_start(&set->at[i], args);
}

void servers_kill(struct servers *set, int count) {
  while (count-- > 0) server_kill(&set->at[count]);
}

void servers_freeze(struct servers *set, int count) {
  while (count-- > 0) server_freeze(&set->at[count]);
}

void servers_stop(struct servers *set) {
  servers_kill(set, set->count);
  set->count = 0;
}

void servers_mend(struct servers *set) {
  struct server *s = set->at;
  for (; s != set->at + set->count; s++) {
    if (!s->pid) server_restart(s);
    server_thaw(s);
  }
}

void servers_heal(struct servers *set) {
  servers_mend(set);
  servers_command(set, set->count, "FLUSHALL");
}

const char *servers_list(const struct servers *set, int count, char text[SERVERS_LIST]) {
  size_t used = 0;
  int i;
  text[0] = '\0';
  for (i = 0; i < count && used < SERVERS_LIST; i++)
    used += (size_t)snprintf(text + used, SERVERS_LIST - used, "%s127.0.0.1:%d", i ? "," : "",
                             set->at[i].port);
  return text;
}

/* ---- black hole ---- */

/* 1 = it stood at once, 0 = it hangs. */
static int knock(struct blackhole *hole) {
  struct sockaddr_in at = loopback(hole->port);
  int fd = hole->fds[hole->count++] = open_socket(AF_INET);
  return !connect_hangs(fd, (struct sockaddr *)&at, sizeof at);
}

int servers_dial(int port) {
  struct sockaddr_in at = loopback(port);
  int fd = open_socket(AF_INET);
  if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
  close(fd);
  return -1;
}

int servers_listener(int *port) {
  struct sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  int fd = open_socket(AF_INET);
  if (bind(fd, (struct sockaddr *)&at, size) || listen(fd, 16) ||
      getsockname(fd, (struct sockaddr *)&at, &size))
    fail("no port to listen on");
  *port = ntohs(at.sin_port);
  return fd;
}

void blackhole_open(struct blackhole *hole) {
  struct sockaddr_in at;
  int fd = open_socket(AF_INET);
  hole->port = free_port();
  hole->fds[0] = fd;
  hole->count = 1;
  at = loopback(hole->port);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 0)) fail("black hole");
  while (knock(hole))
    if (hole->count == SERVERS_FILLERS) fail("the black hole is bottomless");
}

void blackhole_close(struct blackhole *hole) {
  while (hole->count > 0) close(hole->fds[--hole->count]);
}
