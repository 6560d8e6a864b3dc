/* lookup.c: names are looked up side by side, each by a process of its own, for the system's
 * look-up may block for many seconds. A name server that swallows one name keeps no other away, and
 * once the client has its first addresses, nothing waits for one. */
#include "command.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  FILES = 1024,        /* so many may be open */
  ADDRESSES = 16,      /* of each name: two would do, and more are told */
  GRACE_MS = 2000,     /* for the rest, when a quorum is known */
  PATIENCE_MS = 15000, /* for a quorum at first: longer than the system's own */
  GLANCE_MS = 6000,    /* the same of a status: longer than for the system's first name server */
  AGAIN_MS = 3000      /* a server that has been away for so long may have moved: its name is looked
                          up, and again so often */
};

struct addresses {
  int count;
  struct sockaddr_storage at[ADDRESSES];
};

static struct lookup {
  char host[256];
  int fd;      /* of who looks it up; -1 = it has ended */
  int is_new;  /* the client has not been told what it has found */
  int is_lost; /* the last one found nothing: what was found before stands */
  int moved;   /* it led to another address before */
  int64_t began_ms;
  struct addresses found;
} lookups[REDLOCK_MAX_SERVERS];

static int count; /* of names: what is numeric is none */
static int64_t limit_ms; /* for all of them, at first */
static int is_first = 1;

/* ---- The other process ----------------------------------------------------------------------- */

static void look_up_here(const char *host, struct addresses *found) {
  struct addrinfo hints, *all, *one;
  memset(&hints, 0, sizeof hints);
  memset(found, 0, sizeof *found);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, NULL, &hints, &all) != 0) return;
  for (one = all; one && found->count < ADDRESSES; one = one->ai_next)
    memcpy(&found->at[found->count++], one->ai_addr, one->ai_addrlen);
  freeaddrinfo(all);
}

/* It may outlive us: it must keep no connection, no pipe and no lock of a file. */
static void close_files(int but) {
  int fd;
  for (fd = 0; fd < FILES; fd++)
    if (fd != but) (void)close(fd);
}

static void look_up_there(const char *host, int to) {
  struct addresses found;
  signal_pipe[1] = -1; /* our handlers do nothing here */
  close_files(to);
  look_up_here(host, &found);
  if (write(to, &found, sizeof found) < 0) {}
  _exit(0);
}

/* ---- Here ------------------------------------------------------------------------------------ */

static int is_listed(const struct addresses *in, const struct sockaddr_storage *address) {
  int i;
  for (i = 0; i < in->count; i++)
    if (memcmp(&in->at[i], address, sizeof *address) == 0) return 1;
  return 0;
}

/* A name that is not found for a while leads where it led before. */
static void take_found(struct lookup *one, const struct addresses *found) {
  char text[64];
  int moves = one->found.count && found->count && !is_listed(&one->found, &found->at[0]);
  one->is_new = 1;
  one->is_lost = found->count == 0;
  if (one->is_lost) return;
  one->found = *found;
  if (!moves) return;
  one->moved = 1;
  format_address(&one->found.at[0], text);
  SAY_MORE("%s: this name now leads to another address, %s", one->host, text);
}

/* Where there is no other process, the first one blocks. */
static void begin(struct lookup *one) {
  struct addresses found;
  int ends[2];
  pid_t pid = -1;
  one->began_ms = now_ms();
  if (pipe(ends) == 0) {
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    pid = fork();
    if (pid == 0) look_up_there(one->host, ends[1]);
    (void)close(ends[1]);
    if (pid > 0) one->fd = ends[0];
    else (void)close(ends[0]);
  }
  if (pid > 0 || !is_first) return;
  look_up_here(one->host, &found);
  take_found(one, &found);
}

/* The host of an entry of the list; 0 = it has none, or a number. */
static int put_host(int i, char host[256]) {
  struct name name = name_of(i);
  struct in_addr number;
  name.size = find(name, '/');
  if (is_path(entry_of(i)) || name.size == 0 || *name.at == '[') return 0;
  name.size = find(name, ':');
  if (name.size > 255) return 0;
  memcpy(host, name.at, (size_t)name.size);
  host[name.size] = 0;
  return inet_pton(AF_INET, host, &number) == 0;
}

int is_by_name(int server) {
  char host[256];
  return put_host(server, host);
}

static struct lookup *find_lookup(const char *host) {
  int i;
  for (i = 0; i < count; i++)
    if (strcmp(lookups[i].host, host) == 0) return &lookups[i];
  return NULL;
}

static void take_names(void) {
  char host[256];
  int i;
  for (i = 0; entry_of(i).size && count < REDLOCK_MAX_SERVERS; i++) {
    if (!put_host(i, host) || find_lookup(host)) continue;
    lookups[count].fd = -1;
    (void)strcpy(lookups[count++].host, host);
  }
}

static void begin_all(void) {
  int i;
  take_names();
  for (i = 0; i < count; i++) begin(&lookups[i]);
  limit_ms = now_ms() + (set.status ? GLANCE_MS : 0 < set.wait_ms && set.wait_ms < PATIENCE_MS
                           ? set.wait_ms : PATIENCE_MS);
}

/* Its answer is one write, which a pipe keeps whole. */
static void take_answers(int64_t until_ms) {
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int64_t left = until_ms - now_ms();
  int i;
  for (i = 0; i < count; i++) fds[i] = poll_entry(lookups[i].fd, POLLIN);
  if (poll(fds, (nfds_t)count, left > 0 ? (int)left : 0) <= 0) return;
  for (i = 0; i < count; i++) {
    struct lookup *one = &lookups[i];
    struct addresses found;
    if (!fds[i].revents) continue;
    if (read(one->fd, &found, sizeof found) != (ssize_t)sizeof found) found.count = 0;
    (void)close(one->fd);
    one->fd = -1;
    take_found(one, &found);
  }
}

/* When too few names are outstanding to keep a quorum away, the rest has a moment more. */
static void await(const struct lookup *which) {
  int64_t grace_ms = now_ms() + GRACE_MS;
  while (which->fd >= 0) {
    int i, open = 0, entries = 0;
    int64_t until_ms = limit_ms;
    while (entry_of(entries).size) entries++;
    for (i = 0; i < count; i++) open += lookups[i].fd >= 0;
    if (open < (entries + 1) / 2 && grace_ms < until_ms) until_ms = grace_ms;
    if (now_ms() >= until_ms) return;
    take_answers(until_ms);
  }
}

/* ---- As the library calls it ----------------------------------------------------------------- */

static struct {
  struct addrinfo at[ADDRESSES];
  struct sockaddr_storage address[ADDRESSES];
} result;

static void put_result(const struct addresses *from, const char *port) {
  in_port_t number = htons((uint16_t)strtol(port, NULL, 10));
  int i;
  memset(&result, 0, sizeof result);
  for (i = 0; i < from->count; i++) {
    struct addrinfo *one = &result.at[i];
    result.address[i] = from->at[i];
    one->ai_family = from->at[i].ss_family;
    one->ai_addr = (struct sockaddr *)&result.address[i];
    one->ai_addrlen = sizeof(struct sockaddr_in6);
    one->ai_next = i + 1 < from->count ? one + 1 : NULL;
    if (one->ai_family == AF_INET) {
      ((struct sockaddr_in *)one->ai_addr)->sin_port = number;
      one->ai_addrlen = sizeof(struct sockaddr_in);
    } else {
      ((struct sockaddr_in6 *)one->ai_addr)->sin6_port = number;
    }
  }
}

/* A number needs no other process. */
static int read_number(const char *host, struct addresses *found) {
  struct addrinfo hints, *one;
  memset(&hints, 0, sizeof hints);
  hints.ai_flags = AI_NUMERICHOST;
  if (getaddrinfo(host, NULL, &hints, &one) != 0) return 0;
  found->count = 1;
  memcpy(&found->at[0], one->ai_addr, one->ai_addrlen);
  freeaddrinfo(one);
  return 1;
}

int look_up(const char *host, const char *port, const struct addrinfo *hints,
            struct addrinfo **all) {
  struct addresses number;
  struct lookup *one;
  (void)hints;
  *all = result.at;
  if (read_number(host, &number)) {
    put_result(&number, port);
    return 0;
  }
  if (is_first && count == 0) begin_all();
  one = find_lookup(host);
  if (!one) return EAI_NONAME;
  if (is_first) await(one);
  put_result(&one->found, port);
  return one->found.count ? 0 : one->fd < 0 ? EAI_NONAME : EAI_AGAIN;
}

void forget_look_up(struct addrinfo *all) { (void)all; }

/* ---- Again ----------------------------------------------------------------------------------- */

static struct lookup *lookup_of(int server) {
  char host[256];
  return put_host(server, host) ? find_lookup(host) : NULL;
}

/* Names of servers that answer are left alone: to look up is a cost, and to be misled a danger. */
static void begin_for_those_away(void) {
  static int64_t here_ms[REDLOCK_MAX_SERVERS];
  redlock_server_info info;
  int64_t now = now_ms();
  int i;
  for (i = 0; redlock_server_status(&client, i, &info) == REDLOCK_OK; i++) {
    struct lookup *one = lookup_of(i);
    if (info.connected || !here_ms[i]) here_ms[i] = now;
    if (!one || one->fd >= 0 || now < here_ms[i] + AGAIN_MS || now < one->began_ms + AGAIN_MS)
      continue;
    begin(one);
  }
}

/* SIGCHLD ends the wait of the loop that calls this. */
void follow_names(void) {
  int i, news = 0;
  is_first = 0;
  if (count == 0) return;
  begin_for_those_away();
  take_answers(0);
  for (i = 0; i < count; i++) {
    news += lookups[i].is_new;
    lookups[i].is_new = 0;
  }
  if (news) (void)redlock_resolve(&client); /* what is wrong then shows as that server's error */
}

int name_words(int server, char text[EXPLANATION]) {
  const struct lookup *one = lookup_of(server);
  char address[64];
  if (!one || !one->found.count || (!one->moved && !one->is_lost)) return 0;
  format_address(&one->found.at[0], address);
  if (one->is_lost)
    (void)snprintf(text, EXPLANATION, "its name is no longer found: it was %s; check it, and this "
                   "machine's DNS", address);
  else
    (void)snprintf(text, EXPLANATION, "its name now leads to another address: is it running at %s, "
                   "and is that right?", address);
  return (int)strcspn(text, ":");
}
