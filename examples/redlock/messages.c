/* messages.c: what the command says, and what to do about what is wrong. */
#include "command.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* How long a message may keep the guard away: less than its slack. */
enum { WRITE_MS = 10 };

/* While the lock is held, no message waits until stderr has room: COMMAND would have no guard. What
   found no room is said before the next message, or after the release. */
static struct {
  int keeps;
  size_t size;
  char lines[4096];
} unsaid;

static void put(const char *lines, size_t size) {
  while (size > 0) {
    ssize_t said = write(STDERR_FILENO, lines, size);
    if (said < 0 && errno != EINTR) return; /* no one is listening */
    if (said < 0) continue;
    lines += said;
    size -= (size_t)said;
  }
}

void keep_unsaid(void) { unsaid.keeps = 1; }

void say_unsaid(void) {
  put(unsaid.lines, unsaid.size);
  unsaid.keeps = 0;
  unsaid.size = 0;
}

static int has_room(void) {
  struct pollfd out = poll_entry(STDERR_FILENO, POLLOUT);
  return poll(&out, 1, 0) > 0;
}

static void on_alarm(int number) { (void)number; }

/* A terminal with room for a part of a line takes that part and waits for more room. A timer ends
   this; it repeats, for the first may come before the write. */
static ssize_t write_in_time(const char *lines, size_t size) {
  static const struct itimerval timer = {{0, WRITE_MS * 1000}, {0, WRITE_MS * 1000}};
  struct itimerval old_timer;
  struct sigaction action, old_action;
  sigset_t alarms, old_mask;
  ssize_t said;
  int error;
  memset(&action, 0, sizeof action); /* no SA_RESTART: the write must return */
  action.sa_handler = on_alarm;
  (void)sigemptyset(&alarms);
  (void)sigaddset(&alarms, SIGALRM);
  (void)sigaction(SIGALRM, &action, &old_action);
  (void)sigprocmask(SIG_UNBLOCK, &alarms, &old_mask);
  (void)setitimer(ITIMER_REAL, &timer, &old_timer);
  said = write(STDERR_FILENO, lines, size);
  error = errno;
  (void)setitimer(ITIMER_REAL, &old_timer, NULL); /* of whoever started us */
  (void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
  (void)sigaction(SIGALRM, &old_action, NULL);
  errno = error;
  return said;
}

static void forget(size_t size) {
  unsaid.size -= size;
  memmove(unsaid.lines, unsaid.lines + size, unsaid.size);
}

/* The oldest lines give way. */
static void keep(const char *line, size_t size) {
  while (size > sizeof unsaid.lines - unsaid.size)
    forget((size_t)((char *)memchr(unsaid.lines, '\n', unsaid.size) - unsaid.lines) + 1);
  memcpy(unsaid.lines + unsaid.size, line, size);
  unsaid.size += size;
}

static void say_what_fits(void) {
  ssize_t said;
  if (!has_room()) return;
  said = write_in_time(unsaid.lines, unsaid.size);
  if (said < 0 && (errno == EINTR || errno == EAGAIN)) return;
  forget(said < 0 ? unsaid.size : (size_t)said); /* or no one is listening */
}

/* Whether a terminal obeys it, or is made to show what follows in another place: controls, line and
   paragraph separators, and what changes the direction of writing; or nobody sees it, like a byte
   order mark. */
static int is_obeyed(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

/* How many bytes the character of UTF-8 has that begins there; 0 = it is none, or is obeyed. */
static int harmless_size(const char *text) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned first = (unsigned char)*text;
  int i, size = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3
    : first < 0xF5 ? 4 : 0;
  uint32_t c = size > 1 ? first & (0x7Fu >> size) : first;
  for (i = 1; i < size; i++) {
    unsigned more = (unsigned char)text[i];
    if ((more & 0xC0) != 0x80) return 0;
    c = c << 6 | (more & 0x3F);
  }
  return size && c >= least[size] && !is_obeyed(c) ? size : 0;
}

/* A name or a label may hold anything. */
static void disarm(char *line) {
  while (*line) {
    int size = harmless_size(line);
    if (!size) *line = '?';
    line += size ? size : 1;
  }
}

/* To stdout. */
void print_line(const char *format, ...) {
  char line[2048];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  disarm(line);
  (void)puts(line);
}

/* One write each, so that they do not mix with what COMMAND prints. */
/* systemd names the socket or file that it has made stderr. */
static int is_journal(void) {
  const char *named = getenv("JOURNAL_STREAM");
  struct stat err;
  char ours[48];
  if (!named || fstat(STDERR_FILENO, &err) != 0) return 0;
  (void)snprintf(ours, sizeof ours, "%llu:%llu", (unsigned long long)err.st_dev,
                 (unsigned long long)err.st_ino);
  return strcmp(named, ours) == 0;
}

void say_as(enum level level, const char *format, ...) {
  static enum level last;
  char line[1024] = "";
  size_t head, size;
  va_list arguments;
  if (*format != ' ') last = level;
  (void)snprintf(line, sizeof line, "<%d>redlock: ", (int)last);
  if (!is_journal()) (void)strcpy(line, "redlock: ");
  head = strlen(line);
  va_start(arguments, format);
  (void)vsnprintf(line + head, sizeof line - head - 1, format, arguments);
  va_end(arguments);
  disarm(line);
  size = strlen(line);
  line[size++] = '\n';
  if (unsaid.keeps) {
    keep(line, size);
    say_what_fits();
  } else {
    put(line, size);
  }
}

const char *in_units(int64_t ms, char text[16]) {
  int whole = ms % 1000 == 0;
  (void)snprintf(text, 16, "%ld%s", (long)(whole ? ms / 1000 : ms), whole ? "s" : "ms");
  return text;
}

struct name entry_of(int i) {
  static const char between[] = ", \t\r\n";
  const char *at = set.servers + strspn(set.servers, between);
  struct name entry;
  for (; i > 0; i--) {
    at += strcspn(at, between);
    at += strspn(at, between);
  }
  entry.at = at;
  entry.size = (int)strcspn(at, between);
  return entry;
}

struct name from(struct name entry, int skip) {
  entry.at += skip;
  entry.size -= skip;
  return entry;
}

int find(struct name in, char c) {
  int i = 0;
  while (i < in.size && in.at[i] != c) i++;
  return i;
}

/* Where the host begins: behind "user:password@", if that is there. */
int host_of(struct name entry) {
  int i = entry.size;
  while (i > 0 && entry.at[i - 1] != '@') i--;
  return i;
}

/* What stands behind "redis://"; an entry of another kind has no such part. */
struct name url_of(struct name entry) {
  struct name url = from(entry, find(entry, ':'));
  if (url.size < 3 || strncmp(url.at, "://", 3) != 0) return from(entry, entry.size);
  return from(url, 3);
}

int is_path(struct name entry) {
  return entry.size > 5 && strncmp(entry.at, "unix:", 5) == 0;
}

int is_over_tls(int server) { return strncmp(entry_of(server).at, "rediss://", 9) == 0; }

/* Whether a part of it may be a password. In a malformed list it may be any part: a comma or a
   blank that was not written as %XX cuts an entry, and so a password, in two. */
int is_secret(const char *text) { return strchr(text, '@') || strstr(text, "://"); }

struct name name_of(int i) {
  struct name entry = entry_of(i), url = url_of(entry);
  if (is_path(entry)) return entry;
  if (url.size) entry = url;
  return from(entry, host_of(entry));
}

/* ---- A server's words ------------------------------------------------------------------------ */

/* What the server was sent, percent-encoded if it is from the list. */
static struct name password_of(int server, int *is_encoded) {
  struct name entry = entry_of(server), url = url_of(entry), password;
  int host = host_of(url), colon = find(url, ':');
  *is_encoded = colon < host;
  password.at = *is_encoded ? url.at + colon + 1 : set.password ? set.password : "";
  password.size = *is_encoded ? host - colon - 2 : (int)strlen(password.at);
  return password;
}

/* Whether the password stands there: what of it fits, if that is the end of the room. */
static int is_password_at(const char *at, const char *room_end, struct name password,
                          int is_encoded) {
  while (password.size > 0 && at < room_end) {
    int coded = is_encoded && *password.at == '%' && password.size > 2;
    char digits[3] = "", c = *password.at;
    if (coded) {
      memcpy(digits, password.at + 1, 2);
      c = (char)strtol(digits, NULL, 16);
    }
    if (*at++ != (c >= ' ' && c <= '~' ? c : '?')) return 0;
    password = from(password, coded ? 3 : 1);
  }
  return 1;
}

void hide_password(int server, char *words) {
  int is_encoded;
  struct name password = password_of(server, &is_encoded);
  const char *room_end = words + REDLOCK_MAX_ERROR - 1;
  if (password.size <= 0) return;
  while (*words && !is_password_at(words, room_end, password, is_encoded)) words++;
  if (*words) (void)snprintf(words, (size_t)(room_end - words) + 1, "***");
}

/* ---- What is wrong, and what to do about it -------------------------------------------------- */

/* What the library says itself, by how it begins. */
const char *in_words(const char *error) {
  static const char *const known[][2] = {
    {"no connection", "no connection: is it running, and is the address right?"},
    {"it hangs up", "it hangs up without a word: does this port want TLS? Is it perhaps a proxy? "
                    "Else see its log"},
    {"not an answer of Redis", "it does not answer as Redis does: check host and port; does it "
                               "want TLS?"},
    {"not a master", "it is no plain master (a replica, a sentinel, part of a cluster): list plain "
                     "masters only"},
    {"no run_id", "its INFO has no run_id or uptime: --max-ttl needs Redis or Valkey"},
    {"name not found", "the name is not found: check it, and this machine's DNS"},
    {"the same server", "it is the same server as another one in the list: list it once"},
    {"this address", "this address is in the list twice: list it once"},
    {"a user needs", "a user needs a password: write user:password@host, or use --password-file"},
    {"no TLS handshake: it hangs up",
     "it hangs up in the TLS handshake: is this a port for TLS? Is it perhaps a proxy? Else see "
     "its log"},
    {"no TLS", "it does not speak TLS: list it as redis://"},
    {"rediss:// needs", "this redlock was built without TLS: build it with 'make redlock TLS=1', "
                        "or list a port without TLS as redis://"},
    {"want ", "write host[:port], [v6]:port, unix:/path or "
              "redis://[user:password@]host[:port][/db]"},
    {"clock is off", "its clock is far from the others': set it, and keep it right by NTP"}
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; i++)
    if (strncmp(error, known[i][0], strlen(known[i][0])) == 0) return known[i][1];
  return error;
}

static int is_encoded_well(struct name text) {
  int i;
  for (i = 0; i < text.size; i++)
    if (text.at[i] == '%' && (!isxdigit((unsigned char)text.at[i + 1]) ||
                              !isxdigit((unsigned char)text.at[i + 2]))) return 0;
  return 1;
}

/* Whether it is ":", a number and nothing else: too large a number, or 0. */
static int is_out_of_range(struct name port) {
  long number = 0;
  int i;
  if (port.size < 2) return 0;
  for (i = 1; i < port.size; i++) {
    if (!isdigit((unsigned char)port.at[i])) return 0;
    if (number <= 65535) number = 10 * number + (port.at[i] - '0');
  }
  return number == 0 || number > 65535;
}

static int is_scheme(struct name scheme, const char *text) {
  return scheme.size == (int)strlen(text) && strncmp(scheme.at, text, strlen(text)) == 0;
}

/* Those that others write. */
static const char *slip_of_scheme(struct name scheme) {
  static const char *const known[][2] = {
    {"redis", NULL}, {"rediss", NULL}, {"unix", NULL},
    {"valkey", "valkey:// is unknown here: write redis://"},
    {"valkeys", "valkeys:// is unknown here: write rediss://"},
    {"redis+unix", "redis+unix:// is unknown here: write unix:/path"},
    {"redis-socket", "redis-socket:// is unknown here: write unix:/path"},
    {"tcp", "tcp:// is unknown here: write redis://, or host:port alone"}
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; i++)
    if (is_scheme(scheme, known[i][0])) return known[i][1];
  return "what stands before :// is unknown here: write redis://, rediss:// or unix:, in small "
         "letters";
}

/* Of a malformed entry the commonest slips have words of their own. */
const char *slip_of(struct name entry) {
  struct name url = url_of(entry), host = url.size ? url : entry, scheme = entry;
  scheme.size -= url.size + 3;
  if (url.size && slip_of_scheme(scheme)) return slip_of_scheme(scheme);
  if (find(url, '/') < host_of(url)) return "in user and password write / as %2F";
  host = from(host, host_of(host));
  host.size = find(host, '/');
  if (find(host, ';') < host.size) return "separate servers by commas, not by ;";
  host = from(host, find(host, host.size && *host.at == '[' ? ']' : ':'));
  if (host.size && *host.at == ']') host = from(host, 1);
  if (!is_encoded_well(url)) return "two hexadecimal digits must follow each %";
  if (is_out_of_range(host)) return "the port is out of range: 1 to 65535";
  if (host.size > 1 && find(from(host, 1), ':') < host.size - 1)
    return "write an IPv6 address as [v6]:port";
  return NULL;
}

static const char rights[] = "this user needs +set +eval +get +del +pttl +pexpire; for --max-ttl "
                             "and --status also +info, for --fencing also +time, for a /db also "
                             "+select, to be told while it waits +hello +client|tracking +getex";
static const char key[] = "this user may not use this lock's name: allow ~NAME in its ACL, and "
                          "~NAME:fence for --fencing";
static const char distrusted[] = "name its authority's certificate with --cacert";
static const char refused[] = "it does not accept our certificate: see --cert";
static const char misnamed[] = "list it by the name or address that its certificate is for";
static const char renamed[] = "it lacks or renames a command that locks need: SET EVAL GET DEL "
                              "PTTL PEXPIRE; with --max-ttl also INFO, with --fencing also TIME "
                              "(or is it a sentinel?)";
static const char proxy[] = "it is perhaps a proxy: list the masters themselves";

/* A server's own words, by how they begin or, after a *, by a part of them. These stay until
   somebody mends it (R15) ... */
static const char *const lasting[][2] = {
  {"NOAUTH", "it wants a password: see --password-file"},
  {"WRONGPASS", "check user and password"},
  {"ERR AUTH", "it has no password: give none, neither in the list nor in a file"},
  {"ERR invalid password", "check the password"},
  {"*access a key", key},
  {"*one of the keys", key},
  {"NOPERM", rights},
  {"*ACL failure", rights},
  {"*The user executing the script", rights},
  {"DENIED", "see protected-mode in its configuration"},
  {"READONLY", "it is a replica: list masters only"},
  {"MASTERDOWN", "it is a replica: list masters only"},
  {"MOVED", "it is part of a cluster: list plain masters"},
  {"ASK", "it is part of a cluster: list plain masters"},
  {"CROSSSLOT", "it is part of a cluster: list plain masters"},
  {"CLUSTERDOWN", "it is part of a cluster: list plain masters"},
  {"TRYAGAIN", "it is part of a cluster: list plain masters"},
  {"WRONGTYPE", "something else uses this name: choose another"},
  {"ERR unknown command", renamed},
  {"*command called from", renamed},
  {"*nsupported command", proxy},
  {"*non deterministic", "it is older than Redis 5: leave out --fencing"},
  {"ERR DB", "check the database's number"},
  {"self-signed certificate", distrusted},
  {"unable to get", distrusted},
  {"*mismatch", misnamed},
  {"certificate has expired", "renew it, or set this machine's clock"},
  {"certificate is not yet valid", "set this machine's clock, or the issuer's"},
  {"*certificate purpose", "it needs a certificate for servers (serverAuth)"},
  {"*too weak", "it needs a certificate with a longer key and a newer digest"},
  {"invalid CA certificate", "what signed its certificate is no authority's (CA:TRUE)"},
  {"*certificate required", "give it a certificate with --cert and --key"},
  {"*alert certificate", refused}, /* has expired, is revoked, unknown */
  {"*alert bad certificate", refused},
  {"*alert unsupported certificate", refused},
  {"*alert unknown ca", refused},
  {"wrong version", "list it as redis://, if it does not speak TLS"}
};
enum { LASTING = sizeof lasting / sizeof *lasting };

/* ... and these may pass. */
static const char *const passing[][2] = {
  {"ERR max number of clients", "raise maxclients in its configuration"},
  {"OOM", "see maxmemory in its configuration"},
  {"MISCONF", "it cannot write to its disk: see its log"},
  {"NOREPLICAS", "see min-replicas-to-write in its configuration"},
  {"LOADING", "wait, it is loading its data"},
  {"BUSY", "wait for the script that is running, or send SCRIPT KILL"}
};
enum { PASSING = sizeof passing / sizeof *passing };

/* A connection that breaks within an error leaves its beginning. */
static int is_torn(const char *error, const char *const table[][2], int count) {
  for (; count > 0; count--)
    if (strncmp(table[count - 1][0], error, strlen(error)) == 0) return 1;
  return 0;
}

static const char *find_advice(const char *error, const char *const table[][2], int count) {
  int i;
  for (i = 0; i < count; i++) {
    const char *text = table[i][0];
    if (*text == '*' ? strstr(error, text + 1) != NULL : strncmp(error, text, strlen(text)) == 0)
      return table[i][1];
  }
  return NULL;
}

/* The one that is missing, where the server names the command. */
static const char *right_for(const char *error) {
  static char text[96];
  const char *at = strstr(error, "run the '");
  size_t size;
  if (!at) return rights;
  at += strlen("run the '");
  size = strcspn(at, "'");
  if (!at[size] || size > 32) return rights;
  (void)snprintf(text, sizeof text, "this user needs +%.*s (see RIGHTS in redlock(1))", (int)size,
                 at);
  return text;
}

/* With the file that this is about. */
static const char *file_for(const char *advice) {
  static char text[EXPLANATION];
  const char *file = advice == refused ? set.cert : set.cacert;
  if (!file) return advice;
  (void)snprintf(text, sizeof text, advice == refused
                 ? "it does not accept the certificate in '%s': is that too old, or by an "
                   "authority that it does not trust? A new file is read when it is there"
                 : "no authority in '%s' has signed its certificate: add that of its own; a new "
                   "file is read when it is there", file);
  return text;
}

const char *advice_for(const char *error) {
  const char *advice = find_advice(error, passing, PASSING);
  if (!advice) advice = find_advice(error, lasting, LASTING);
  if (advice == rights) return right_for(error);
  if (advice == refused || advice == distrusted) return file_for(advice);
  if (advice) return advice;
  return is_torn(error, lasting, LASTING) || is_torn(error, passing, PASSING)
           ? "the connection broke within this error: try again" : "see its log";
}

/* The size of its first sentence, less the stop: ": " follows. */
int bare_size(const char *error) {
  const char *stop = strstr(error, ". ");
  int size = stop ? (int)(stop - error) : (int)strlen(error);
  while (size > 1 && strchr(".?!:", error[size - 1])) size--;
  return size;
}

void format_uptime(int64_t seconds, char text[24]) {
  long long s = seconds;
  if (s >= 86400) (void)snprintf(text, 24, "%lldd %lldh", s / 86400, s / 3600 % 24);
  else if (s >= 3600) (void)snprintf(text, 24, "%lldh %lldm", s / 3600, s / 60 % 60);
  else if (s >= 60) (void)snprintf(text, 24, "%lldm %llds", s / 60, s % 60);
  else (void)snprintf(text, 24, "%llds", s);
}

/* Of a server whose clock was ahead by so much when it started, or more. */
int set_back_words(int64_t seconds, char text[EXPLANATION]) {
  char time[24];
  format_uptime(seconds, time);
  (void)snprintf(text, EXPLANATION, "its clock was set back by %s since it started: it votes when "
                 "that is over; restart it", time);
  return (int)strcspn(text, ":");
}

/* Of a server that restarted less than --max-ttl ago. */
int quarantine_words(int64_t left_ms, char text[EXPLANATION]) {
  int64_t up_ms = set.max_ttl_ms - left_ms;
  char most[16];
  (void)snprintf(text, EXPLANATION, "up %lds of --max-ttl %s: it votes in %lds",
                 (long)(up_ms > 0 ? up_ms / 1000 : 0), in_units(set.max_ttl_ms, most),
                 (long)((left_ms + 999) / 1000));
  return (int)strcspn(text, ":");
}

/* Also in the library's words. */
int is_lasting(int server) {
  static const char *const own[] = {"not a master", "the same server", "no TLS handshake: is it"};
  const char *error = redlock_server_error(&client, server);
  size_t i;
  for (i = 0; i < sizeof own / sizeof *own; i++)
    if (strncmp(error, own[i], strlen(own[i])) == 0) return 1;
  return find_advice(error, lasting, LASTING) != NULL;
}

int is_about_rights(const char *error) { return find_advice(error, lasting, LASTING) == rights; }

int is_about_key(const char *error) { return advice_for(error) == key; }

/* What to do about an error of this side. */
static const char *advice_for_system(int error, int path) {
  switch (error) {
    case EMFILE: return "raise the limit (ulimit -n)";
    case ENFILE: case ENOBUFS: case ENOMEM: return "this machine is short of memory or of files";
    case EADDRNOTAVAIL:
      return "this machine has no local port left for it (see net.ipv4.ip_local_port_range), or "
             "not the address";
  }
  if (path) return "is the path right, and may this user and this service see it and open it?";
  if (error == EACCES || error == EPERM)
    return "this system forbids it: see its firewall, SELinux, and what confines this process";
  return "see this machine's addresses and routes";
}

/* A name may have an IPv6 and an IPv4 address, of which one leads nowhere. */
static void add_addresses(int server, char text[EXPLANATION]) {
  char words[ADDRESS_WORDS];
  size_t size = strlen(text);
  (void)address_words(server, words);
  if (*words) (void)snprintf(text + size, EXPLANATION - size, " (%s)", words);
}

/* Of a server without a connection, in the system's words if it has any. */
static int unreachable_words(int server, char text[EXPLANATION]) {
  int error = connect_error(server);
  const char *name = error == EMFILE ? "too many open files" : strerror(error);
  const char *advice = advice_for_system(error, is_path(entry_of(server)));
  if (error)
    (void)snprintf(text, EXPLANATION, "no connection: %s: %s", name, advice);
  else if (has_hung_up(server))
    (void)snprintf(text, EXPLANATION, "no connection: it has closed ours: did it restart, or throw "
                   "clients out (maxmemory-clients, timeout)? See its log");
  else return 0;
  add_addresses(server, text);
  return (int)strlen("no connection");
}

int is_time_out(const char *words) {
  return strncmp(words, "no answer within", 16) == 0 || strncmp(words, "has not answered", 16) == 0;
}

/* So old is a connection that a firewall may have forgotten. */
enum { FORGOTTEN_MS = 30000 };

int time_out_words(int server, uint32_t ms, char text[EXPLANATION]) {
  redlock_server_info info;
  int is_old = redlock_server_status(&client, server, &info) == REDLOCK_OK && info.connected &&
               connected_for_ms(server) >= FORGOTTEN_MS;
  const char *also =
    is_old ? " Or a firewall has forgotten the connection: 6 s later there is a new one"
    : is_over_tls(server) && is_silent_peer(server)
      ? " Or is this no port for TLS? Such a one says nothing either" : "";
  (void)snprintf(text, EXPLANATION, "no answer within %lu ms (--server-timeout): is it frozen, "
                 "overloaded or too far away?%s", (unsigned long)ms, also);
  add_addresses(server, text);
  return (int)strcspn(text, ":");
}

int explain(int server, char text[EXPLANATION]) {
  const char *error = redlock_server_error(&client, server), *words;
  char shown[REDLOCK_MAX_ERROR];
  redlock_vote vote = lock.votes[server];
  redlock_server_info info;
  int size, has_advice;
  (void)redlock_server_status(&client, server, &info);
  if (vote == REDLOCK_VOTE_TIMEOUT) error = "no answer within";
  if (vote == REDLOCK_VOTE_NONE && strncmp(error, "has not answered", 16) == 0) return 0; /* nor
                                                                           was it waited for */
  if (vote == REDLOCK_VOTE_QUARANTINED && !info.quarantine_ms) info.quarantine_ms = 1; /* since */
  if ((!*error || strncmp(error, "restarted", 9) == 0) && info.quarantine_ms)
    return set_back_s[server] ? set_back_words(set_back_s[server], text)
                              : quarantine_words(info.quarantine_ms, text);
  if (strncmp(error, "restarted", 9) == 0) return 0; /* it votes now */
  if (!*error && (vote == REDLOCK_VOTE_UNREACHABLE || vote == REDLOCK_VOTE_ERROR))
    error = info.connected ? "no answer within" : "no connection"; /* connected too late to vote */
  if (strcmp(error, "no connection") == 0) {
    if ((size = name_words(server, text)) > 0) return size;
    if ((size = unreachable_words(server, text)) > 0) return size;
  }
  if (is_time_out(error)) return time_out_words(server, server_timeout_ms(), text);
  (void)snprintf(shown, sizeof shown, "%s", error);
  hide_password(server, shown);
  error = shown;
  words = in_words(error);
  has_advice = words != error || strstr(error, " addresses: ");
  size = has_advice ? (int)strcspn(words, ":") : bare_size(error);
  if (has_advice) (void)snprintf(text, EXPLANATION, "%s", words);
  else if (*error) (void)snprintf(text, EXPLANATION, "%.*s: %s", size, error, advice_for(error));
  if (strcmp(error, "no connection") == 0 || strncmp(error, "it hangs up", 11) == 0)
    add_addresses(server, text);
  return size;
}

int count_complaints(void) {
  char text[EXPLANATION];
  int i, count = 0;
  for (i = 0; i < count_servers(); i++) count += explain(i, text) > 0;
  return count;
}

void say_servers(void) {
  char text[EXPLANATION];
  int i;
  for (i = 0; i < count_servers(); i++) {
    struct name name = name_of(i);
    if (explain(i, text)) say("  %.*s: %s", name.size, name.at, text);
  }
}
