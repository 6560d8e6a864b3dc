/* status.c: --status. A small client asks each server what a lock does not need to know. */
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
  SECTIONS = 3,        /* of INFO */
  NEEDS = 6,           /* commands of a lock */
  FENCING_NEEDS = 3,
  WISHES = 1           /* of a waiter that is told; nobody is denied HELLO */
};

static const char is_it_there[] = "is it running, and is the address right?";
#define NO_KEY "redlock --status"
#define MOST_US (INT64_C(1) << 53) /* no clock shows more */

struct probe {
  int fd, index;
  const redlock_layer *layer; /* NULL = no TLS */
  char host[256];
  int expected;         /* replies until all is known; the last is PING's */
  int login;            /* how many of them are to AUTH and SELECT */
  int addresses, tried; /* a name's first two are tried in turn, as by the lock */
  struct sockaddr_storage address[2];
  socklen_t address_size[2];
  int64_t pinged_us, round_trip_us;
  size_t asked, sent, got, read;
  const char *advice;
  char error[160];      /* in the server's or the system's words */
  char ask[4096];
  char text[24576];     /* all that it answered, ending in 0 */
  char version[24], role[12], run_id[48];
  long uptime_s;
  int64_t ahead_us;     /* its wall clock: first less our clock, in the end less the others' */
  int tells_clock;
  int denied;           /* INFO is denied, or renamed */
  int unable;           /* it refuses what a lock needs */
  int is_hello;         /* it is being asked whether it speaks TLS */
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
  if (p->fd >= 0 && p->layer) p->layer->close(p->layer->ctx, p->index);
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

/* %XX of a URL. The list is valid: two digits follow. */
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

/* A part of the entry, or what is set for those that have none. */
static struct name or_default(struct name given, const char *by_default) {
  return given.size || !by_default ? given : whole(by_default);
}

static void ask_password(struct probe *p, struct name user, struct name secret) {
  struct name words[2];
  words[0] = secret.size ? user : or_default(user, set.user);
  words[1] = or_default(secret, set.password);
  if (words[1].size) ask(p, "AUTH", words[0].size ? words : words + 1, words[0].size ? 2 : 1);
}

static void ask_login(struct probe *p, struct name url) {
  char text[1024];
  struct name user, secret = url, database = from(url, find(url, '/'));
  secret.size -= database.size;
  secret.size = host_of(secret);
  if (secret.size > (int)sizeof text) secret.size = 0;
  if (secret.size > 0) secret.size--; /* the @ */
  user = secret;
  user.size = find(secret, ':');
  secret = from(secret, user.size < secret.size ? user.size + 1 : user.size);
  ask_password(p, decoded(user, text), decoded(secret, text + user.size));
  if (database.size < 2) return;
  database = from(database, 1);
  ask(p, "SELECT", &database, 1);
}

/* What a lock needs, so that what is denied or renamed is found, and nothing is changed: NX and XX
   exclude each other, no ttl is "x", and the key that is deleted is nobody's. */
static const char *const needs[NEEDS + FENCING_NEEDS + WISHES][6] = {
  {"SET", "KEY", "x", "NX", "XX"}, {"EVAL", "return 1", "0"}, {"GET", "KEY"}, {"DEL", NO_KEY},
  {"PTTL", "KEY"}, {"PEXPIRE", "KEY", "x"},
  {"TIME"}, {"SET", "FENCE", "x", "NX", "XX"}, {"GET", "FENCE"},
  {"CLIENT", "TRACKING", "OFF"}
};

/* KEY is the lock's, if it is named. */
static struct name word_of(const char *word) {
  static char fence[REDLOCK_MAX_RESOURCE + 8];
  const char *key = set.resource ? set.resource : NO_KEY;
  (void)snprintf(fence, sizeof fence, "%s:fence", key);
  return whole(strcmp(word, "KEY") == 0 ? key : strcmp(word, "FENCE") == 0 ? fence : word);
}

/* Of the replies to these, by position, which belongs to which: not all are asked. */
static int need_of(int position) {
  return position < NEEDS || set.fencing ? position : position + FENCING_NEEDS;
}

static void ask_needed(struct probe *p) {
  int i, count;
  for (i = 0; need_of(i) < NEEDS + FENCING_NEEDS + WISHES; i++) {
    const char *const *need = needs[need_of(i)];
    struct name words[5];
    for (count = 0; need[count + 1]; count++) words[count] = word_of(need[count + 1]);
    ask(p, need[0], words, count);
  }
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
  ask_needed(p);
}

/* ---- The connection -------------------------------------------------------------------------- */

static void add_address(struct probe *p, const void *address, socklen_t size) {
  if (p->addresses == 2 || size > (socklen_t)sizeof p->address[0]) return;
  memcpy(&p->address[p->addresses], address, size);
  p->address_size[p->addresses++] = size;
}

static void on_closed(struct probe *p, const char *why);

/* TLS has failed, and may say why. */
static void fail_layer(struct probe *p) {
  const char *error = p->layer->error(p->layer->ctx, p->index);
  if (error) fail_probe(p, error, advice_for(error));
  else on_closed(p, "it refuses or closes the connection");
}

static void on_connecting(struct probe *p) {
  if (p->layer && p->layer->open(p->layer->ctx, p->index, p->fd, p->host)) fail_layer(p);
}

/* To the next address; if there is none, the last error stands. */
static void connect_next(struct probe *p, int error) {
  while (p->tried < p->addresses) {
    int i = p->tried++;
    close_probe(p);
    p->fd = socket(p->address[i].ss_family, SOCK_STREAM, 0);
    if (p->fd >= 0) {
      (void)fcntl(p->fd, F_SETFL, O_NONBLOCK);
      if (connect(p->fd, (struct sockaddr *)&p->address[i], p->address_size[i]) == 0 ||
          errno == EINPROGRESS) {
        on_connecting(p);
        return;
      }
    }
    error = errno;
  }
  fail_probe(p, strerror(error), is_it_there);
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
  char port[8] = "6379";
  struct addrinfo hints, *found, *a;
  int v6 = entry.size > 0 && *entry.at == '[', end;
  entry.size = find(entry, '/');
  entry = from(entry, v6);
  end = find(entry, v6 ? ']' : ':');
  (void)snprintf(p->host, sizeof p->host, "%.*s", end, entry.at);
  entry = from(entry, end + v6);
  if (entry.size > 1) (void)snprintf(port, sizeof port, "%.*s", entry.size - 1, entry.at + 1);
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(p->host, port, &hints, &found) != 0) {
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
  if (strncmp(entry.at, "rediss://", 9) == 0) p->layer = tls_layer();
  ask_all(p, entry);
  if (is_path(entry)) connect_path(p, from(entry, 5));
  else connect_host(p, name_of(index));
}

/* Whoever ends the connection without a word may speak TLS, and then answers a client's hello. */
static void ask_tls(struct probe *p) {
  static const char hello[] =
    "\x16\x03\x01\0\x2f\x01\0\0\x2b\x03\x03" "redlock --status: TLS or not? ..."
    "\0\0\x04\xc0\x2f\xc0\x30\x01";
  p->is_hello = 1;
  p->asked = p->sent = 0;
  ask_bytes(p, hello, sizeof hello);
  p->tried--;
  connect_next(p, 0);
}

/* A server that does not know AUTH repeats its arguments: the password among them. */
static int size_to_show(const char *error) {
  size_t line = strcspn(error, "\r\n");
  const char *arguments = strstr(error, ", with args");
  return (int)(arguments && arguments < error + line ? (size_t)(arguments - error) : line);
}

/* An error of which only a part has come. */
static void fail_torn(struct probe *p) {
  const char *error = p->text + p->read;
  char words[96];
  (void)snprintf(words, sizeof words, "the connection broke within '%.*s'",
                 size_to_show(error) < 60 ? size_to_show(error) : 60, error);
  fail_probe(p, words, "try again, see its log");
}

static void on_closed(struct probe *p, const char *why) {
  if (p->is_hello) fail_probe(p, "it closes the connection", "is this a Redis? See its log");
  else if (p->got > p->read) fail_torn(p);
  else if (p->got) fail_probe(p, "it closed the connection", "see its log");
  else if (p->sent && !p->layer) ask_tls(p);
  else fail_probe(p, why, is_it_there);
}

static void send_asked(struct probe *p) {
  ssize_t sent;
  int error = 0;
  socklen_t size = (socklen_t)sizeof error;
  if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
    const char *rest = p->ask + p->sent;
    size_t size_left = p->asked - p->sent;
    if (p->layer) sent = p->layer->send(p->layer->ctx, p->index, rest, size_left);
    else sent = send(p->fd, rest, size_left, MSG_NOSIGNAL);
    if (sent >= 0) p->sent += (size_t)sent;
    else if (p->layer) fail_layer(p);
    else if (errno != EAGAIN && errno != EINTR) error = errno;
  }
  if (error && !p->sent) connect_next(p, error);
  else if (error) on_closed(p, strerror(error));
}

/* ---- The answers ----------------------------------------------------------------------------- */

/* Past one whole reply, or NULL when more of it is to come. */
static const char *past_reply(const char *at, const char *end) {
  const char *line = strstr(at, "\r\n");
  long size;
  if (!line) return NULL;
  line += 2;
  if (*at != '$' && *at != '*') return line;
  size = strtol(at + 1, NULL, 10);
  if (*at == '*') {
    for (; line && size > 0; size--) line = past_reply(line, end);
    return line;
  }
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
  copy_field(p, "\nserver_time_usec:", number, sizeof number); /* before 6.2 there is none */
  p->tells_clock = *number != 0;
  p->ahead_us = (int64_t)strtoll(number, NULL, 10) % MOST_US - p->pinged_us;
  copy_field(p, "\nredis_mode:", mode, sizeof mode);
  copy_field(p, "\nmaxmemory:", number, sizeof number);
  copy_field(p, "\nmaxmemory_policy:", policy, sizeof policy);
  p->votes = !p->unable;
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

static void take_error(struct probe *p, const char *at) {
  (void)snprintf(p->error, sizeof p->error, "%.*s", size_to_show(at), at);
  p->advice = advice_for(p->error);
}

static int begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

/* The command is denied, whatever its arguments, or there is none of this name. */
static int is_withheld(const char *error) {
  size_t size = strcspn(error, "\r\n");
  const char *key = strstr(error, "key");
  if (begins(error, "NOPERM")) return !key || key > error + size;
  return begins(error, "ERR unknown command");
}

/* A key matters if the lock is named; that of DEL is not the lock's. */
static int is_denied(const char *error, int need) {
  if (is_withheld(error)) return 1;
  return begins(error, "NOPERM") && set.resource && strcmp(needs[need][0], "DEL") != 0;
}

/* Whoever may not ask to be told polls. */
static void read_wish(struct probe *p, const char *error) {
  if (!begins(error, "NOPERM") || *p->error) return;
  complain(p, "waiters are not told when a lock is free",
           "this user needs +hello +client|tracking");
}

/* Locks need neither INFO nor PING. 0 = the rest need not be read. */
static int read_error(struct probe *p, const char *error, int reply) {
  int at = reply - p->login - SECTIONS, need = at < 0 ? -1 : need_of(at);
  if (need >= NEEDS + FENCING_NEEDS) {
    if (need < NEEDS + FENCING_NEEDS + WISHES) read_wish(p, error);
    return 1; /* PING is timed like a good reply */
  }
  if (need >= 0 && (begins(error, "ERR") || begins(error, "NOPERM")) && !is_denied(error, need))
    return 1; /* about our odd arguments, or a key that this user need not touch */
  if (!p->unable) take_error(p, error); /* the whole is read again when more has come */
  if (need >= 0) p->unable = 1;
  else if (reply >= p->login && is_withheld(error)) p->denied = 1;
  else close_probe(p);
  return p->fd >= 0;
}

static int read_reply(struct probe *p, const char *at, int reply) {
  if (*at == '-') return read_error(p, at + 1, reply);
  if (strchr("+:$*", *at)) return 1;
  if (*at == '\x15' || (p->is_hello && *at == '\x16')) /* an alert, or the handshake */
    fail_probe(p, "it speaks TLS", tls_hint());
  else
    fail_probe(p, "it does not answer as Redis does", "check host and port");
  return 0;
}

static void read_replies(struct probe *p) {
  const char *at = p->text, *end = p->text + p->got, *next;
  int count = 0;
  if (!strchr("+-:$", *at)) (void)read_reply(p, at, 0); /* it may have no end */
  if (p->fd < 0) return;
  for (; (next = past_reply(at, end)) != NULL; at = next)
    if (!read_reply(p, at, count++)) return;
  p->read = (size_t)(at - p->text);
  if (count < p->expected) return;
  if (!p->pinged_us) {
    ping(p);
    return;
  }
  p->round_trip_us = now_us() - p->pinged_us;
  p->may_vote = p->denied && !p->unable && !set.max_ttl_ms;
  if (!p->denied) read_answers(p);
  close_probe(p);
}

static void receive(struct probe *p) {
  char *to = p->text + p->got;
  size_t room = sizeof p->text - 1 - p->got;
  ssize_t got = p->layer ? p->layer->recv(p->layer->ctx, p->index, to, room)
                         : recv(p->fd, to, room, 0);
  if (got > 0) {
    p->got += (size_t)got;
    p->text[p->got] = 0;
    read_replies(p);
  } else if (p->layer) {
    if (got < 0) fail_layer(p);
  } else if (got == 0) {
    on_closed(p, "it closed the connection");
  } else if (errno != EAGAIN && errno != EINTR) {
    on_closed(p, strerror(errno));
  }
}

static short events_of(const struct probe *p) {
  unsigned events = p->sent < p->asked ? REDLOCK_WRITE : REDLOCK_READ;
  if (p->layer && p->fd >= 0) events = p->layer->want(p->layer->ctx, p->index, events);
  return (short)((events & REDLOCK_READ ? POLLIN : 0) | (events & REDLOCK_WRITE ? POLLOUT : 0));
}

/* One poll for all that are still asked; 0 = none is. */
static int poll_probes(int count, int64_t timeout_ms) {
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int i, open = 0;
  for (i = 0; i < count; i++) {
    struct probe *p = &probes[i];
    fds[i] = poll_entry(p->fd, events_of(p)); /* poll skips a closed one */
    open += p->fd >= 0;
  }
  if (!open || timeout_ms <= 0) return 0;
  (void)poll(fds, (nfds_t)count, (int)timeout_ms);
  for (i = 0; i < count; i++) {
    if (!fds[i].revents) continue;
    if (probes[i].sent < probes[i].asked) send_asked(&probes[i]);
    else receive(&probes[i]);
  }
  return 1;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* What is wrong with a server that answered. */
static void judge_probe(struct probe *p) {
  char text[QUARANTINE_WORDS];
  int64_t left_ms;
  int i;
  if (p->round_trip_us < 0) return;
  if (p->round_trip_us > (int64_t)server_timeout_ms() * 1000) {
    fail_probe(p, "too slow for this ttl", "use a longer --ttl, or servers nearby");
    p->votes = p->may_vote = 0;
  }
  left_ms = set.max_ttl_ms - ((int64_t)p->uptime_s - 2) * 1000;
  if (!p->denied && !p->unable && set.max_ttl_ms && left_ms > 0) {
    fail_probe(p, quarantine_words(left_ms, text), "wait");
    p->votes = 0;
  }
  for (i = 0; i < p->index; i++) {
    if (!*p->run_id || strcmp(probes[i].run_id, p->run_id) != 0) continue;
    fail_probe(p, "the same server as one above", "list it once");
    p->votes = 0;
  }
}

/* As a lock with a token sees them: against the quorum-th slowest. */
static void compare_clocks(int count) {
  int64_t base = INT64_MIN;
  int i, k, below;
  for (i = 0; i < count; i++) {
    for (k = below = 0; k < count; k++)
      below += probes[k].tells_clock && probes[k].ahead_us < probes[i].ahead_us;
    if (probes[i].tells_clock && below < quorum() && probes[i].ahead_us > base)
      base = probes[i].ahead_us;
  }
  for (i = 0; i < count; i++) {
    struct probe *p = &probes[i];
    int64_t most_us = (int64_t)set.max_ttl_ms * 250;
    if (!p->tells_clock) continue;
    p->ahead_us -= base;
    if (!set.fencing || !p->votes) continue;
    if (p->ahead_us <= most_us && p->ahead_us >= -most_us) continue;
    fail_probe(p, "its clock is far from the others'", "set it, and keep it right by NTP");
    p->votes = 0;
  }
}

static void format_uptime(long s, char text[24]) {
  if (s >= 86400) (void)snprintf(text, 24, "%ldd %ldh", s / 86400, s / 3600 % 24);
  else if (s >= 3600) (void)snprintf(text, 24, "%ldh %ldm", s / 3600, s / 60 % 60);
  else if (s >= 60) (void)snprintf(text, 24, "%ldm %lds", s / 60, s % 60);
  else (void)snprintf(text, 24, "%lds", s);
}

/* +0.012s, or in larger units; what is less than a millisecond has no sign */
static void format_clock(int64_t us, char text[32]) {
  int64_t most = us < 0 ? -us : us;
  const char *sign = most < 1000 ? "" : us < 0 ? "-" : "+";
  char time[24];
  if (most < 60000000)
    (void)snprintf(time, sizeof time, "%ld.%03lds", (long)(most / 1000000),
                   (long)(most % 1000000 / 1000));
  else format_uptime((long)(most / 1000000), time);
  (void)snprintf(text, 32, "%s%s", sign, time);
}

static void print_row(const struct probe *p, int width) {
  struct name name = name_of(p->index);
  char uptime[24] = "-", trip[32] = "-", clock[32] = "-";
  int answers = p->round_trip_us >= 0, knows = answers && !p->denied;
  if (knows) format_uptime(p->uptime_s, uptime);
  if (knows && p->tells_clock) format_clock(p->ahead_us, clock);
  if (answers)
    (void)snprintf(trip, sizeof trip, "%ld.%02ld ms", (long)(p->round_trip_us / 1000),
                   (long)(p->round_trip_us % 1000 / 10));
  printf("%-*.*s  %-5s  %-8s  %-7s  %8s  %10s  %8s  %s%s%s\n", width, name.size, name.at,
         knows || p->got ? "yes" : "NO", knows ? p->version : "-", knows ? p->role : "-", uptime,
         trip, clock, *p->error ? p->error : "ok", *p->error ? ": " : "",
         *p->error ? p->advice : "");
}

static const char *verdict(int votes, int may_vote) {
  if (votes >= quorum()) return "locks can be taken";
  if (votes + may_vote >= quorum()) return "without INFO nobody knows whether locks can be taken";
  return "NO LOCK CAN BE TAKEN";
}

static void print_table(int count, int votes, int may_vote) {
  int i, width = 6;
  for (i = 0; i < count; i++)
    if (name_of(i).size > width) width = name_of(i).size;
  printf("%-*s  %-5s  %-8s  %-7s  %8s  %10s  %8s  %s\n", width, "SERVER", "REACH", "VERSION",
         "ROLE", "UPTIME", "ROUND TRIP", "CLOCK", "STATE");
  for (i = 0; i < count; i++) print_row(&probes[i], width);
  printf("%d of %d servers can vote, %d are needed: %s\n", votes, count, quorum(),
         verdict(votes, may_vote));
}

/* ---- The same as JSON ------------------------------------------------------------------------ */

/* As text in JSON. What is not ASCII is left out: it need not be UTF-8. */
static void print_quoted(struct name text) {
  int i;
  putchar('"');
  for (i = 0; i < text.size; i++) {
    char c = text.at[i];
    if (c == '"' || c == '\\') putchar('\\');
    putchar(c < ' ' || c > '~' ? '?' : c);
  }
  putchar('"');
}

/* ,"key":"text" or null */
static void print_text(const char *key, const char *text) {
  printf(",\"%s\":", key);
  if (text && *text) print_quoted(whole(text));
  else fputs("null", stdout);
}

/* ,"key":number or null, in thousandths */
static void print_number(const char *key, int64_t thousandths) {
  printf(",\"%s\":", key);
  if (thousandths < 0) fputs("null", stdout);
  else printf("%ld.%03ld", (long)(thousandths / 1000), (long)(thousandths % 1000));
}

static const char *yes_or_no(int yes, int unknown) {
  return yes ? "true" : unknown ? "null" : "false";
}

static void print_json_row(const struct probe *p) {
  int knows = p->round_trip_us >= 0 && !p->denied;
  fputs("{\"server\":", stdout);
  print_quoted(name_of(p->index));
  printf(",\"reached\":%s", yes_or_no(knows || p->got, 0));
  printf(",\"votes\":%s", yes_or_no(p->votes, p->may_vote));
  print_text("version", knows ? p->version : NULL);
  print_text("role", knows ? p->role : NULL);
  print_number("uptime_s", knows ? (int64_t)p->uptime_s * 1000 : -1);
  print_number("round_trip_ms", p->round_trip_us);
  if (knows && p->tells_clock) printf(",\"clock_us\":%ld", (long)p->ahead_us);
  else print_text("clock_us", NULL);
  print_text("error", p->error);
  print_text("advice", *p->error ? p->advice : NULL);
  putchar('}');
}

static void print_json(int count, int votes, int may_vote) {
  int i;
  fputs("{\"servers\":[", stdout);
  for (i = 0; i < count; i++) {
    if (i) putchar(',');
    print_json_row(&probes[i]);
  }
  printf("],\"can_vote\":%d,\"needed\":%d,\"locks\":%s}\n", votes, quorum(),
         yes_or_no(votes >= quorum(), votes + may_vote >= quorum()));
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void fail_silent(struct probe *p) {
  const char *error = p->layer ? p->layer->error(p->layer->ctx, p->index) : NULL;
  if (error) fail_probe(p, error, advice_for(error));
  else fail_probe(p, "no answer", "is it frozen, or behind a firewall?");
}

static void ask_servers(int count) {
  int64_t end;
  int i;
  for (i = 0; i < count; i++) start_probe(i);
  end = now_ms() + PROBE_LIMIT_MS;
  while (poll_probes(count, end - now_ms())) {}
  for (i = 0; i < count; i++) {
    if (probes[i].fd >= 0) fail_silent(&probes[i]);
    judge_probe(&probes[i]);
  }
  compare_clocks(count);
}

void show_status(void) {
  int i, votes = 0, may_vote = 0, count = count_servers();
  ask_servers(count);
  for (i = 0; i < count; i++) {
    votes += probes[i].votes;
    may_vote += probes[i].may_vote;
  }
  (set.json ? print_json : print_table)(count, votes, may_vote);
  print_and_exit(votes + may_vote >= quorum() ? 0 : EXIT_NO_QUORUM);
}
