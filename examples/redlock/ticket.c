/* ticket.c: --take, --extend, --run and --release. A lock that outlives this process is held by
 * whoever has its ticket, and each ticket is good for one of the other three: R28 in
 * tests/README.md.
 *
 * A ticket is NAME/VALUE or NAME/VALUE/TOKEN: NAME with %XX for what is not plainly printable, the
 * lock's value in hexadecimal digits, and with --fencing the token. */
#include "command.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { VALUE = sizeof lock.value, TICKET = 3 * MAX_RESOURCE + 2 * VALUE + 24 };

static char ticket[TICKET + 1], name[MAX_RESOURCE + 1];

/* ---- Its form -------------------------------------------------------------------------------- */

static void put_ticket(void) {
  char *to = ticket;
  const char *c;
  int i;
  for (c = set.resource; *c; c++)
    to += sprintf(to, isgraph((unsigned char)*c) && *c != '%' ? "%c" : "%%%02X", (unsigned char)*c);
  *to++ = '/';
  for (i = 0; i < VALUE; i++) to += sprintf(to, "%02x", (unsigned char)lock.value[i]);
  if (lock.token) to += sprintf(to, "/%llu", (unsigned long long)lock.token);
  (void)sprintf(to, "\n");
}

/* Two hexadecimal digits, or -1 */
static int byte_of(const char *digits) {
  char text[3] = "";
  memcpy(text, digits, 2);
  if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1])) return -1;
  return (int)strtol(text, NULL, 16);
}

static int read_value(const char *at, size_t size) {
  size_t i;
  for (i = 0; size == 2 * VALUE && i < VALUE; i++) {
    int byte = byte_of(at + 2 * i);
    if (byte < 0) return 0;
    set.value[i] = (char)byte;
  }
  return size == 2 * VALUE;
}

static int read_name(const char *at, const char *end) {
  size_t size = 0;
  while (at < end) {
    int coded = *at == '%', byte = coded && end - at > 2 ? byte_of(at + 1) : *at;
    if (size == MAX_RESOURCE || byte <= 0 || (coded && end - at < 3)) return 0;
    name[size++] = (char)byte;
    at += coded ? 3 : 1;
  }
  set.resource = name;
  return size > 0;
}

/* From its end, for a name may hold any number of slashes. */
static int read_ticket(const char *text) {
  const char *end = text + strcspn(text, "\r\n"), *at = end;
  while (at > text && at[-1] != '/') at--;
  if (!read_value(at, (size_t)(end - at))) { /* then that was the token */
    end = at - 1;
    if (at == text || strspn(at, "0123456789") == 0) return 0;
    set.has_token = 1;
    for (at = end; at > text && at[-1] != '/';) at--;
    if (!read_value(at, (size_t)(end - at))) return 0;
  }
  return at > text && read_name(text, at - 1);
}

/* ---- Its file -------------------------------------------------------------------------------- */

static int read_file(char text[TICKET + 1]) {
  int fd = open(set.ticket_file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  ssize_t got = fd < 0 ? -1 : read(fd, text, TICKET);
  if (fd >= 0) (void)close(fd);
  text[got < 0 ? 0 : got] = '\0';
  return got >= 0;
}

/* After a loss, or after a release, the next one's may stand there. */
void remove_ticket_file(void) {
  char text[TICKET + 1];
  if (!set.ticket_file || !read_file(text)) return;
  if (strcmp(text, ticket) == 0) (void)unlink(set.ticket_file);
}

/* Not every folder can be read, or synced. */
static int sync_folder(void) {
  char path[4096];
  const char *slash = strrchr(set.ticket_file, '/');
  int size = slash ? (int)(slash - set.ticket_file) + 1 : 0, fd, failed;
  (void)snprintf(path, sizeof path, "%.*s.", size, set.ticket_file);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  failed = fd >= 0 && fsync(fd) != 0 && errno == EIO;
  if (fd >= 0) (void)close(fd);
  if (failed) errno = EIO;
  return !failed;
}

/* The file of the next ticket, beside that of this one: its room is there before the lock changes
   hands. */
static struct {
  int fd; /* 0 = there is none */
  char path[4096];
} next;

static int fill_next(void) {
  size_t size = strlen(ticket);
  return pwrite(next.fd, ticket, size, 0) == (ssize_t)size &&
         ftruncate(next.fd, (off_t)size) == 0 && fsync(next.fd) == 0;
}

void drop_next_ticket(void) {
  if (!next.fd) return;
  (void)close(next.fd);
  (void)unlink(next.path);
  next.fd = 0;
}

static int make_next(void) {
  int size = snprintf(next.path, sizeof next.path, "%s.XXXXXX", set.ticket_file), error;
  errno = ENAMETOOLONG;
  if (size >= (int)sizeof next.path || (next.fd = mkstemp(next.path)) < 0) next.fd = 0;
  if (!next.fd) return 0;
  (void)fcntl(next.fd, F_SETFD, FD_CLOEXEC);
  if (fill_next()) return 1;
  error = errno;
  drop_next_ticket();
  errno = error;
  return 0;
}

/* The old ticket or the new one is there, whole, whatever happens; and nobody else can read it. */
static int place_next(void) {
  int error;
  if (fill_next() && rename(next.path, set.ticket_file) == 0) {
    (void)close(next.fd);
    next.fd = 0;
    return sync_folder();
  }
  error = errno;
  drop_next_ticket();
  errno = error;
  return 0;
}

/* Whether somebody may still read it: a pipe may have no reader. */
static int is_read(void) {
  struct pollfd out = poll_entry(STDOUT_FILENO, POLLOUT);
  errno = EPIPE;
  return poll(&out, 1, 0) <= 0 || !(out.revents & (POLLERR | POLLHUP));
}

/* Others may write behind what a trial would write in a log: so its disk is asked, if that tells,
   and what is left of the log's last block counts. */
static int can_append(const struct stat *out) {
  struct statvfs disk;
  uint64_t used;
  if (fstatvfs(STDOUT_FILENO, &disk) != 0 || !disk.f_blocks || !disk.f_frsize) return 1;
  used = (uint64_t)out->st_size % disk.f_frsize; /* of the last block; 0 = all */
  errno = ENOSPC;
  return (geteuid() ? disk.f_bavail : disk.f_bfree) > 0 ||
         (used > 0 && used + TICKET <= disk.f_frsize);
}

/* Whether stdout has room for the next ticket. */
static int can_print(void) {
  static const char blank[TICKET];
  struct stat out;
  int error, can;
  if (write(STDOUT_FILENO, blank, 0) < 0 || fstat(STDOUT_FILENO, &out) != 0) return 0;
  if (!S_ISREG(out.st_mode)) return is_read();
  if (fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) return can_append(&out);
  can = pwrite(STDOUT_FILENO, blank, sizeof blank, out.st_size) == (ssize_t)sizeof blank &&
        fsync(STDOUT_FILENO) == 0;
  error = errno;
  (void)ftruncate(STDOUT_FILENO, out.st_size);
  errno = error;
  return can;
}

/* A full disk, a file that cannot be replaced (a bind mount): this is met before the old ticket is
   void. It takes its own place, and behind that the next one has its file. */
void prepare_next_ticket(void) {
  if (set.ticket_file ? make_next() && place_next() && make_next()
                      : set.step == RUN_TICKET || can_print()) return;
  say("cannot write the ticket of lock '%s': %s; the lock and its ticket are as they were",
      set.resource, strerror(errno));
  finish(EXIT_SYSTEM);
}

static int hand_out(void) {
  put_ticket();
  if (set.ticket_file) return (next.fd || make_next()) && place_next();
  return fputs(ticket, stdout) != EOF && fflush(stdout) == 0;
}

/* ---- The steps ------------------------------------------------------------------------------- */

void take_ticket(const char *text) {
  if (!text && !read_file(ticket))
    usage("there is no ticket in the file '%s'", set.ticket_file);
  if (!read_ticket(text ? text : ticket))
    usage("%s", "this is no ticket: give what --take or --extend has printed, or --ticket-file");
  if (set.has_token && !set.fencing && set.step != RELEASE)
    usage("%s", "this ticket has a token: give --fencing and --max-ttl, as all of its lock must");
}

/* Compares and deletes. The library's release compares all of a value, and a ticket has only its
   beginning. It takes no memory, which servers may lack. */
static void ask_for_release(void) {
  static const char script[] = "local v=redis.call('get',KEYS[1])"
                               "return v and v:sub(1,20)==ARGV[1]and redis.call('del',KEYS[1])or 0";
  char request[sizeof script + MAX_RESOURCE + VALUE + 100];
  int size = snprintf(request, sizeof request,
                      "*5\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n1\r\n$%d\r\n%s\r\n$%d\r\n",
                      (int)sizeof script - 1, script, (int)strlen(set.resource), set.resource,
                      (int)VALUE);
  memcpy(request + size, set.value, VALUE);
  memcpy(request + size + VALUE, "\r\n", 2);
  ask_all(request, (size_t)size + VALUE + 2, 1);
}

static int count_replies(const char *what) {
  int i, count = 0;
  for (i = 0; i < count_servers(); i++)
    count += answers[i].took_us >= 0 && strncmp(answers[i].reply[0], what, strlen(what)) == 0;
  return count;
}

/* What the client itself has not met. */
static void say_refusals(void) {
  char error[REDLOCK_MAX_ERROR];
  int i;
  for (i = 0; i < count_servers(); i++) {
    const char *reply = answers[i].reply[0];
    if (answers[i].took_us < 0 || *reply != '-') continue;
    (void)take_line(error, reply + 1);
    hide_password(i, error);
    say("%.*s refuses the release: %.*s: %s", name_of(i).size, name_of(i).at, bare_size(error),
        error, advice_for(error));
  }
}

/* Until it has succeeded, whoever has the ticket may try again. */
redlock_status release_ticket(void) {
  connect_all();
  ask_for_release();
  if (count_replies(":1\r\n") >= quorum()) {
    remove_ticket_file();
    return REDLOCK_OK;
  }
  if (count_replies(":0\r\n") > count_servers() - quorum()) return REDLOCK_TAKEN;
  say_refusals();
  return REDLOCK_NO_QUORUM;
}

/* What nobody could extend or release is not to be held. */
static int drop_taken(void) {
  int error = errno;
  int released = redlock_release(&client, &lock) == REDLOCK_OK;
  say("cannot write the ticket of lock '%s': %s; the lock %s", set.resource, strerror(error),
      released ? "is released" : "expires by itself");
  return EXIT_SYSTEM;
}

/* With the next ticket in its file whoever comes after a crash or a reboot can go on. */
int take_step(void) {
  if (set.step == RUN_TICKET && !set.ticket_file) return run_command();
  if (!hand_out()) return drop_taken();
  return set.step == RUN_TICKET ? run_command() : 0;
}
