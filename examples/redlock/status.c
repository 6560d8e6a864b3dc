/* status.c: --status. A client of its own asks each server what the lock does not need to know. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* there SIGPIPE ends us, as it would end any other command */
#endif

enum {
  PROBE_LIMIT_MS = 2000,
  SECTIONS = 3         /* of INFO */
};

struct probe {
  int fd, index;
  int expected;         /* replies until all is known; the last is PING's */
  int login;            /* how many of them are to AUTH and SELECT */
  int addresses, tried; /* a name's first two are tried in turn, as by the lock */
  struct sockaddr_storage address[2];
  socklen_t address_size[2];
  int64_t pinged_us, round_trip_us;
  size_t asked, sent, got;
  const char *advice;
  char error[160];      /* in the server's or the system's words */
  char ask[2048];
  char text[24576];     /* all that it answered, ending in 0 */
  char version[24], role[12], run_id[48];
  long uptime_s;
  int denied;           /* this user may not ask for INFO */
  int votes, may_vote;  /* whether a lock could count on it; what INFO would tell is not known */
};

static struct probe probes[REDLOCK_MAX_SERVERS];

static int64_t now_us(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void complain(struct probe *p, const char *error, const char *advice) {
  (void)snprintf(p->error, sizeof p->error, "%s", error);
  p->advice = advice;
}

static void close_probe(struct probe *p) {
  if (p->fd >= 0) (void)close(p->fd);
  p->fd = -1;
}

static void fail_probe(struct probe *p, const char *error, const char *advice) {
  complain(p, error, advice);
  close_probe(p);
}

static void ask_bytes(struct probe *p, const char *bytes, size_t size) {
  if (size > sizeof p->ask - p->asked) size = sizeof p->ask - p->asked;
  memcpy(p->ask + p->asked, bytes, size);
  p->asked += size;
}

static void ask_line(struct probe *p, char type, size_t number) {
  char line[24];
  int size = snprintf(line, sizeof line, "%c%lu\r\n", type, (unsigned long)number);
  ask_bytes(p, line, (size_t)size);
}

static void ask_word(struct probe *p, struct name word) {
  ask_line(p, '$', (size_t)word.size);
  ask_bytes(p, word.at, (size_t)word.size);
  ask_bytes(p, "\r\n", 2);
}

static struct name whole(const char *text) {
  struct name name;
  name.at = text;
  name.size = (int)strlen(text);
  return name;
}

static void ask(struct probe *p, const char *command, const struct name *arguments, int count) {
  int i;
  ask_line(p, '*', (size_t)count + 1);
  ask_word(p, whole(command));
  for (i = 0; i < count; i++) ask_word(p, arguments[i]);
  p->expected++;
}

/* %XX of a URL. The list was found good before: two digits follow. */
static struct name decoded(struct name in, char *out) {
  struct name name;
  char digits[3] = "", *to = out;
  int i;
  for (i = 0; i < in.size; i++) {
    if (in.at[i] == '%') {
      memcpy(digits, in.at + i + 1, 2);
      *to++ = (char)strtoul(digits, NULL, 16);
      i += 2;
    } else {
      *to++ = in.at[i];
    }
  }
  name.at = out;
  name.size = (int)(to - out);
  return name;
}

static void ask_login(struct probe *p, struct name url) {
  char text[1024];
  struct name words[2], secret = url, database = from(url, find(url, '/'));
  int colon;
  secret.size -= database.size;
  secret.size = host_of(secret);
  if (secret.size > 0 && secret.size < (int)sizeof text) {
    secret.size--; /* the @ */
    colon = find(secret, ':');
    words[0] = words[1] = secret;
    words[0].size = colon;
    words[0] = decoded(words[0], text);
    words[1] = decoded(from(secret, colon < secret.size ? colon + 1 : colon), text + colon);
    if (words[1].size) ask(p, "AUTH", words[0].size ? words : words + 1, words[0].size ? 2 : 1);
  }
  if (database.size < 2) return;
  words[0] = from(database, 1);
  ask(p, "SELECT", words, 1);
}

static void ask_all(struct probe *p, struct name entry) {
  static const char *const sections[SECTIONS] = {"server", "replication", "memory"};
  int i;
  ask_login(p, url_of(entry));
  p->login = p->expected;
  for (i = 0; i < SECTIONS; i++) { /* before 7.0 one call takes one section */
    struct name section = whole(sections[i]);
    ask(p, "INFO", &section, 1);
  }
}

/* ---- The connection -------------------------------------------------------------------------- */

static void add_address(struct probe *p, const void *address, socklen_t size) {
  if (p->addresses == 2 || size > (socklen_t)sizeof p->address[0]) return;
  memcpy(&p->address[p->addresses], address, size);
  p->address_size[p->addresses++] = size;
}

/* To the next address; when there is none, the last one's error stands. */
static void connect_next(struct probe *p, int error) {
  while (p->tried < p->addresses) {
    int i = p->tried++;
    if (p->fd >= 0) (void)close(p->fd);
    p->fd = socket(p->address[i].ss_family, SOCK_STREAM, 0);
    if (p->fd >= 0) {
      (void)fcntl(p->fd, F_SETFL, O_NONBLOCK);
      if (connect(p->fd, (struct sockaddr *)&p->address[i], p->address_size[i]) == 0) return;
      if (errno == EINPROGRESS) return;
    }
    error = errno;
  }
  fail_probe(p, strerror(error), "is it running, is the address right?");
}

static void connect_path(struct probe *p, struct name path) {
  struct sockaddr_un at;
  memset(&at, 0, sizeof at);
  at.sun_family = AF_UNIX;
  if ((size_t)path.size >= sizeof at.sun_path) {
    fail_probe(p, "the path is too long", "use a shorter one");
    return;
  }
  memcpy(at.sun_path, path.at, (size_t)path.size);
  add_address(p, &at, (socklen_t)sizeof at);
  connect_next(p, 0);
}

/* host[:port] or [v6][:port] */
static void connect_host(struct probe *p, struct name entry) {
  char host[256], port[8] = "6379";
  struct addrinfo hints, *found, *a;
  int v6 = entry.size > 0 && *entry.at == '[', end;
  entry.size = find(entry, '/');
  entry = from(entry, v6);
  end = find(entry, v6 ? ']' : ':');
  (void)snprintf(host, sizeof host, "%.*s", end, entry.at);
  entry = from(entry, end + v6);
  if (entry.size > 1) (void)snprintf(port, sizeof port, "%.*s", entry.size - 1, entry.at + 1);
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, port, &hints, &found) != 0) {
    fail_probe(p, "the name is not found", "check it, and this machine's DNS");
    return;
  }
  for (a = found; a; a = a->ai_next) add_address(p, a->ai_addr, a->ai_addrlen);
  freeaddrinfo(found);
  connect_next(p, 0);
}

static void start_probe(int index) {
  struct probe *p = &probes[index];
  struct name entry = entry_of(index);
  p->fd = -1;
  p->index = index;
  p->round_trip_us = -1;
  ask_all(p, entry);
  if (is_path(entry)) connect_path(p, from(entry, 5));
  else connect_host(p, name_of(index));
}

static void send_asked(struct probe *p) {
  ssize_t sent;
  int error = 0;
  socklen_t size = (socklen_t)sizeof error;
  if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
    sent = send(p->fd, p->ask + p->sent, p->asked - p->sent, MSG_NOSIGNAL);
    if (sent >= 0) p->sent += (size_t)sent;
    else if (errno != EAGAIN && errno != EINTR) error = errno;
  }
  if (error && !p->sent) connect_next(p, error);
  else if (error) fail_probe(p, strerror(error), "is it running, is the address right?");
}

/* ---- The answers ----------------------------------------------------------------------------- */

/* Past one whole reply, or NULL when more of it is to come. */
static const char *past_reply(const char *at, const char *end) {
  const char *line = strstr(at, "\r\n");
  long size;
  if (!line) return NULL;
  line += 2;
  if (*at != '$') return line;
  size = strtol(at + 1, NULL, 10);
  if (size < 0) return line;
  return size + 2 <= end - line ? line + size + 2 : NULL;
}

/* The value of one line of INFO, or "". */
static void copy_field(const struct probe *p, const char *field, char *to, size_t size) {
  const char *at = strstr(p->text, field);
  size_t length = 0;
  if (at) {
    at += strlen(field);
    length = strcspn(at, "\r\n");
  }
  if (length > size - 1) length = size - 1;
  if (at) memcpy(to, at, length);
  to[length] = 0;
}

static void read_answers(struct probe *p) {
  char number[24], policy[24], mode[16];
  copy_field(p, "\nvalkey_version:", p->version, sizeof p->version);
  if (!*p->version) copy_field(p, "\nredis_version:", p->version, sizeof p->version);
  copy_field(p, "\nrole:", p->role, sizeof p->role);
  copy_field(p, "\nrun_id:", p->run_id, sizeof p->run_id);
  copy_field(p, "\nuptime_in_seconds:", number, sizeof number);
  p->uptime_s = strtol(number, NULL, 10);
  copy_field(p, "\nredis_mode:", mode, sizeof mode);
  copy_field(p, "\nmaxmemory:", number, sizeof number);
  copy_field(p, "\nmaxmemory_policy:", policy, sizeof policy);
  p->votes = 1;
  if (strtol(number, NULL, 10) > 0 && strcmp(policy, "noeviction") != 0)
    fail_probe(p, "it may evict locks", "set maxmemory-policy noeviction");
  if (*mode && strcmp(mode, "standalone") != 0) {
    fail_probe(p, "it is part of a cluster, or a sentinel", "list plain masters only");
    p->votes = 0;
  }
  if (strcmp(p->role, "slave") == 0) {
    memcpy(p->role, "replica", sizeof "replica");
    fail_probe(p, "it is a replica", "list masters only");
    p->votes = 0;
  }
}

/* All replies but PING's have come: now it is timed. */
static void ping(struct probe *p) {
  p->pinged_us = now_us();
  ask(p, "PING", NULL, 0);
  send_asked(p);
}

/* A server that does not know AUTH repeats its arguments: the password among them. */
static void take_error(struct probe *p, const char *at) {
  char *arguments;
  (void)snprintf(p->error, sizeof p->error, "%.*s", (int)strcspn(at, "\r\n"), at);
  arguments = strstr(p->error, ", with args");
  if (arguments) *arguments = 0;
  p->advice = advice_for(p->error) ? advice_for(p->error) : "see its log";
}

/* Without INFO and PING locks can be had all the same. 0 = it is in vain to read on. */
static int read_error(struct probe *p, const char *error, int reply) {
  int denied = reply >= p->login && strncmp(error, "NOPERM", 6) == 0;
  if (denied && reply >= p->login + SECTIONS) return 1; /* to PING, as late as a good one */
  take_error(p, error);
  p->denied = denied;
  if (!denied) close_probe(p);
  return denied;
}

static int read_reply(struct probe *p, const char *at, int reply) {
  if (*at == '-') return read_error(p, at + 1, reply);
  if (strchr("+:$", *at)) return 1;
  fail_probe(p, "this is not how Redis answers", "check host and port");
  return 0;
}

static void read_replies(struct probe *p) {
  const char *at = p->text, *end = p->text + p->got, *next;
  int count = 0;
  for (; (next = past_reply(at, end)) != NULL; at = next)
    if (!read_reply(p, at, count++)) return;
  if (count < p->expected) return;
  if (!p->pinged_us) {
    ping(p);
    return;
  }
  p->round_trip_us = now_us() - p->pinged_us;
  p->may_vote = p->denied && !set.max_ttl_ms;
  if (!p->denied) read_answers(p);
  close_probe(p);
}

static void receive(struct probe *p) {
  ssize_t got = recv(p->fd, p->text + p->got, sizeof p->text - 1 - p->got, 0);
  if (got > 0) {
    p->got += (size_t)got;
    p->text[p->got] = 0;
    read_replies(p);
  } else if (got == 0) {
    fail_probe(p, "it closed the connection", "is this a Redis, see its log");
  } else if (errno != EAGAIN && errno != EINTR) {
    fail_probe(p, strerror(errno), "is it running, is the address right?");
  }
}

/* One poll for all that are still asked; 0 = none is. */
static int poll_probes(int count, int64_t timeout_ms) {
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int i, open = 0;
  for (i = 0; i < count; i++) {
    struct probe *p = &probes[i];
    fds[i] = poll_entry(p->fd, p->sent < p->asked ? POLLOUT : POLLIN); /* poll skips a closed one */
    open += p->fd >= 0;
  }
  if (!open || timeout_ms <= 0) return 0;
  (void)poll(fds, (nfds_t)count, (int)timeout_ms);
  for (i = 0; i < count; i++) {
    if (!fds[i].revents) continue;
    if (fds[i].events & POLLOUT) send_asked(&probes[i]);
    else receive(&probes[i]);
  }
  return 1;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* What is wrong though it answered. */
static void judge_probe(struct probe *p) {
  int i;
  if (p->round_trip_us < 0) return;
  if (p->round_trip_us > (int64_t)server_timeout_ms() * 1000) {
    fail_probe(p, "too slow for this ttl", "use a longer --ttl, or servers nearby");
    p->votes = p->may_vote = 0;
  }
  if (!p->denied && set.max_ttl_ms && p->uptime_s - 2 < (long)(set.max_ttl_ms / 1000)) {
    fail_probe(p, "restarted less than --max-ttl ago", "wait: it will vote later");
    p->votes = 0;
  }
  for (i = 0; i < p->index; i++) {
    if (!*p->run_id || strcmp(probes[i].run_id, p->run_id) != 0) continue;
    fail_probe(p, "the same server as one above", "list it once");
    p->votes = 0;
  }
}

static void format_uptime(long s, char text[24]) {
  if (s >= 86400) (void)snprintf(text, 24, "%ldd %ldh", s / 86400, s / 3600 % 24);
  else if (s >= 3600) (void)snprintf(text, 24, "%ldh %ldm", s / 3600, s / 60 % 60);
  else if (s >= 60) (void)snprintf(text, 24, "%ldm %lds", s / 60, s % 60);
  else (void)snprintf(text, 24, "%lds", s);
}

static void print_row(const struct probe *p, int width) {
  struct name name = name_of(p->index);
  char uptime[24] = "-", trip[32] = "-";
  int answers = p->round_trip_us >= 0, knows = answers && !p->denied;
  if (knows) format_uptime(p->uptime_s, uptime);
  if (answers)
    (void)snprintf(trip, sizeof trip, "%ld.%02ld ms", (long)(p->round_trip_us / 1000),
                   (long)(p->round_trip_us % 1000 / 10));
  printf("%-*.*s  %-5s  %-8s  %-7s  %8s  %10s  %s%s%s\n", width, name.size, name.at,
         knows || p->got ? "yes" : "NO", knows ? p->version : "-", knows ? p->role : "-", uptime,
         trip, *p->error ? p->error : "ok", *p->error ? ": " : "", *p->error ? p->advice : "");
}

static const char *verdict(int votes, int may_vote) {
  if (votes >= quorum()) return "locks can be taken";
  if (votes + may_vote >= quorum()) return "whether locks can be taken, INFO would tell";
  return "NO LOCK CAN BE TAKEN";
}

static int print_table(int count) {
  int i, width = 6, votes = 0, may_vote = 0;
  for (i = 0; i < count; i++)
    if (name_of(i).size > width) width = name_of(i).size;
  printf("%-*s  %-5s  %-8s  %-7s  %8s  %10s  %s\n", width, "SERVER", "REACH", "VERSION", "ROLE",
         "UPTIME", "ROUND TRIP", "STATE");
  for (i = 0; i < count; i++) {
    print_row(&probes[i], width);
    votes += probes[i].votes;
    may_vote += probes[i].may_vote;
  }
  printf("%d of %d servers can vote, %d must: %s\n", votes, count, quorum(),
         verdict(votes, may_vote));
  return votes + may_vote >= quorum() ? 0 : EXIT_NO_QUORUM;
}

void show_status(void) {
  int i, count = count_servers();
  int64_t end;
  for (i = 0; i < count; i++) start_probe(i);
  end = now_ms() + PROBE_LIMIT_MS;
  while (poll_probes(count, end - now_ms())) {}
  for (i = 0; i < count; i++) {
    if (probes[i].fd >= 0)
      fail_probe(&probes[i], "no answer", "is it frozen, or behind a firewall?");
    judge_probe(&probes[i]);
  }
  print_and_exit(print_table(count));
}
