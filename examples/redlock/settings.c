/* settings.c: the command line. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  DEFAULT_TTL_MS = 30000,
  UNIT_FROM = 1000, /* so many seconds may well be meant as milliseconds */
  LONGEST_TIMEOUT_MS = 100000 /* that --max-ttl allows for (R24) */
};

struct settings set;

static const char help[] =
  "Usage: redlock [options] RESOURCE [--] COMMAND [ARG...]\n"
  "       redlock [options] --run TICKET [--] COMMAND [ARG...]\n"
  "       redlock [options] --status [--strict] [--json] [RESOURCE]\n"
  "       redlock [options] --take RESOURCE | --extend TICKET | --release TICKET\n"
  "Runs COMMAND while holding the lock RESOURCE on most of the servers.\n"
  "  -s, --servers LIST  host[:port],... or REDLOCK_SERVERS, /etc/redlock/servers\n"
  "      --user NAME, --password-file FILE  for servers listed without their own\n"
  "      --cacert FILE, --cert FILE, --key FILE, --insecure  for rediss://\n"
  "  -c, --command LINE     COMMAND is this line for /bin/sh\n"
  "  -t, --ttl TIME         how long the lock outlives a crash (30s)\n"
  "  -w, --wait, --timeout TIME  give up after this long (default: never)\n"
  "      --wait-anyway      wait for wrong passwords and missing rights too\n"
  "      --server-timeout TIME  how long a server may take (a tenth of the ttl)\n"
  "  -n, --nb, --nonblock   give up at once\n"
  "  -q, --quiet; -E, --conflict-exit-code N  if taken: say nothing; exit N (120)\n"
  "  -k, --kill-after TIME  between SIGTERM and SIGKILL if it is lost (ttl/6)\n"
  "  -m, --max-hold TIME, --min-hold TIME  hold for no longer, and for no less\n"
  "      --max-ttl TIME     longest ttl of any client; or set REDLOCK_MAX_TTL\n"
  "      --fencing          give COMMAND a REDLOCK_TOKEN; needs --max-ttl\n"
  "      --no-label         keep this host's name out of the lock\n"
  "  -x, -e, --exclusive, -o, --close, -F, --no-fork  flock's, and so anyway\n"
  "      --status           show which servers answer, and who holds RESOURCE\n"
  "      --strict, --json   with it: exit 119 if a server is missing; print JSON\n"
  "      --take             take the lock, print a ticket, exit: it stays held\n"
  "      --extend           extend the lock of TICKET, print the next ticket\n"
  "      --run              run COMMAND under the lock of TICKET\n"
  "      --release          release the lock of TICKET\n"
  "      --ticket-file FILE  holds the ticket, out of sight of ps\n"
  "  -v, --verbose          say what it does        -h, --help    -V, --version\n"
  "TIME is 30s, 0.5s, 5m, 1h. LIST takes unix:/path, redis[s]://user:pass@host/db.\n"
  "Exit status: COMMAND's, 128 + its signal; 119 strict, 120 taken, 121 no quorum,\n"
  "122 lost, 123 system, 124 max-hold, 125 usage, 126 cannot run, 127 not found.\n";

void usage(const char *format, const char *what) {
  say(format, is_secret(what) ? "(not shown: it may hold a password)" : what);
  say("'redlock --help' shows the options");
  exit(EXIT_USAGE);
}

/* A failure to write to stdout is a failure, as with any other command. */
void print_and_exit(int status) {
  if (fflush(stdout) != 0 || ferror(stdout)) {
    say("cannot write to stdout: %s", strerror(errno));
    status = EXIT_SYSTEM;
  }
  exit(status);
}

/* Milliseconds in one of a duration's unit, seconds when there is none; 0 = no such unit. */
static unsigned long unit_ms(const char *unit) {
  static const struct { const char *name; unsigned long ms; } units[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}
  };
  size_t i;
  for (i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(unit, units[i].name) == 0) return units[i].ms;
  return 0;
}

/* The digits behind a point as a part of `unit`, rounded up: no time becomes 0. */
static uint64_t part_of(const char *digits, unsigned long unit) {
  uint64_t part = 0, whole = 1;
  for (; *digits >= '0' && *digits <= '9' && whole < 1000000000; digits++) {
    part = part * 10 + (uint64_t)(*digits - '0');
    whole *= 10;
  }
  return (part * unit + whole - 1) / whole;
}

static uint32_t duration(const char *text) {
  size_t digits = strspn(text, "0123456789"), more = 0;
  const char *point = text + digits;
  unsigned long number, ms;
  uint64_t sum;
  errno = 0;
  number = strtoul(text, NULL, 10);
  if (*point == '.') more = strspn(point + 1, "0123456789") + 1;
  ms = unit_ms(point + more);
  if (digits + more < 1 + (more > 0) || ms == 0)
    usage("'%s' is not a time: write 30s, 0.5s, 500ms, 5m or 1h", text);
  if (!point[more] && number >= UNIT_FROM)
    usage("'%s' needs a unit: without one it is in seconds; 30s and 30000ms are the same", text);
  sum = (uint64_t)number * ms + (more ? part_of(point + 1, ms) : 0);
  if (errno || number > INT32_MAX / ms || sum > INT32_MAX)
    usage("'%s' is too long: 24d is the most", text);
  return (uint32_t)sum;
}

/* A limit; 0 would mean none, and is refused. */
static uint32_t limit(const char *option, const char *text) {
  uint32_t ms = duration(text);
  if (ms == 0) usage("%s 0 would be no limit: leave the option out", option);
  return ms;
}

static int exit_code(const char *text) {
  char *end;
  long number = strtol(text, &end, 10);
  if (end == text || *end || number < 0 || number > 255)
    usage("'%s' is not an exit status: write 0 to 255", text);
  return (int)number;
}

/* ---- The password ---------------------------------------------------------------------------- */

enum {
  PASSWORD = 512,
  AGAIN_MS = 1000, /* between two looks at the file */
  WRITER_MS = 1000,     /* so long at least, who writes to a named pipe may take to open it; */
  WRITER_LOOK_MS = 1000 /* poll's timeout stands still while the machine is suspended */
};

static char password[PASSWORD], own_path[1024];
static const char *password_path; /* where it comes from; NULL = from no file */

/* What editors put in front of a text, and nobody sees. */
static int begins_with_mark(const char *text) {
  return strncmp(text, "\xEF\xBB\xBF", 3) == 0 || strncmp(text, "\xFF\xFE", 2) == 0 ||
         strncmp(text, "\xFE\xFF", 2) == 0;
}

/* Until its end, or its room is full. A pipe may have nothing yet; -1 = not readable. */
static ssize_t read_file(int fd, char to[PASSWORD]) {
  ssize_t got, size = 0;
  while ((got = read(fd, to + size, PASSWORD - 1 - (size_t)size)) != 0) {
    struct pollfd in = poll_entry(fd, POLLIN);
    if (got > 0) size += got;
    else if (errno != EAGAIN && errno != EINTR) return -1;
    else (void)poll(&in, 1, -1);
  }
  return size;
}

/* The file's first line. NULL = well, else what is wrong, of the file. */
static const char *load_password(int fd, char to[PASSWORD]) {
  ssize_t size = read_file(fd, to);
  (void)close(fd);
  if (size < 0) return "cannot read the password file '%s': it must be a file";
  to[size] = 0;
  if (begins_with_mark(to))
    return "the password file '%s' begins with a byte order mark, which nobody sees and servers "
           "take for a part of the password: save it as UTF-8 without one";
  if (strlen(to) < (size_t)size && !to[strcspn(to, "\r\n")])
    return "there is a zero byte in the password file '%s': save it as plain text";
  if (size == PASSWORD - 1) return "the password in '%s' is too long: 510 bytes are the most";
  to[strcspn(to, "\r\n")] = 0;
  return *to ? NULL : "the password file '%s' is empty: write the password in its first line";
}

static void read_password(int fd, const char *path) {
  const char *wrong = load_password(fd, password);
  if (wrong) usage(wrong, path);
  password_path = path;
  set.password = password;
}

/* A named pipe is waited for as long as the lock: until somebody opens it for writing, whoever
   reads it finds its end. */
static int64_t writer_limit_ms(void) {
  int is_short = set.status || set.step > TAKE || set.wait_ms < WRITER_MS;
  if (is_short) return now_ms() + WRITER_MS;
  return set.wait_ms == REDLOCK_FOREVER ? INT64_MAX : now_ms() + set.wait_ms;
}

static void await_writer(int fd, const char *path) {
  struct pollfd in = poll_entry(fd, POLLIN);
  int64_t limit_ms = writer_limit_ms();
  struct stat file;
  if (lstat(path, &file) != 0 || !S_ISFIFO(file.st_mode)) return; /* <(...) has its writer */
  while (poll(&in, 1, WRITER_LOOK_MS) == 0)
    if (now_ms() >= limit_ms) usage("nobody has written to the password file '%s', a pipe", path);
}

/* Whoever names a file knows who may read it: a container's secrets are open to all inside. */
static void take_password_file(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0)
    usage("cannot open the password file '%s': check its name, and who may read it", path);
  await_writer(fd, path);
  read_password(fd, path);
}

/* Whether it is this user's: sudo(8) may leave HOME as it was. */
static int is_own(int fd, struct stat *file) {
  return fstat(fd, file) == 0 && file->st_uid == geteuid();
}

static int is_open_to_others(const struct stat *file) {
  return (file->st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

/* The user's own, if there is one: for nobody else's eyes, as with ssh(1). */
static void take_own_password(void) {
  const char *base = getenv("XDG_CONFIG_HOME"), *below = "";
  struct stat file;
  int fd;
  if (!base || *base != '/') {
    base = getenv("HOME");
    below = "/.config";
  }
  if (!base || snprintf(own_path, sizeof own_path, "%s%s/redlock/password", base, below) >=
                 (int)sizeof own_path) return;
  fd = open(own_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return;
  await_writer(fd, own_path);
  if (!is_own(fd, &file)) {
    (void)close(fd);
    return;
  }
  if (is_open_to_others(&file))
    usage("'%s' is open to other users: chmod 600 it, and change the password", own_path);
  read_password(fd, own_path);
}

/* A pipe has no second password. */
static int load_password_again(char to[PASSWORD]) {
  struct stat file;
  int fd = open(password_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), own;
  if (fd < 0) return 0;
  own = is_own(fd, &file);
  if (!S_ISREG(file.st_mode) || (password_path == own_path && (!own || is_open_to_others(&file)))) {
    (void)close(fd);
    return 0;
  }
  return load_password(fd, to) == NULL;
}

static int is_password_refused(void) {
  const char *error;
  int i;
  for (i = 0; (error = redlock_server_error(&client, i)) != NULL; i++)
    if (strncmp(error, "WRONGPASS", 9) == 0 || strncmp(error, "ERR invalid password", 20) == 0)
      return 1;
  return 0;
}

/* The client takes what stands here for the next connection. */
int renew_password(void) {
  static int64_t again_ms;
  char now[PASSWORD];
  if (!password_path || !is_password_refused() || now_ms() < again_ms) return 0;
  again_ms = now_ms() + AGAIN_MS;
  if (!load_password_again(now) || strcmp(now, password) == 0) return 0;
  SAY_MORE("a server refuses the password: its file has a new one");
  (void)strcpy(password, now);
  return 1;
}

/* ---- The host's own settings ----------------------------------------------------------------- */

/* No variable leads elsewhere: whoever runs this with another's rights is not to be misled. */
#ifndef REDLOCK_COMMAND_FOLDER
#define REDLOCK_COMMAND_FOLDER "/etc/redlock"
#endif

enum { FILE_SIZE = 8192 };

static int is_trusted(const struct stat *file) {
  return (file->st_uid == 0 || file->st_uid == geteuid()) &&
         !(file->st_mode & (S_IWGRP | S_IWOTH));
}

/* A # begins a comment where an entry could begin; blanks take its place. */
static void blank_comments(char *at) {
  static const char between[] = ", \t\r\n";
  int begins = 1;
  for (; *at; at++) {
    if (*at == '#' && begins)
      for (; *at && *at != '\n'; at++) *at = ' ';
    if (!*at) return;
    begins = strchr(between, *at) != NULL;
  }
}

/* Whoever may write one decides which servers are asked, and gets their passwords. */
static void check_file(int fd, const char *path) {
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
    usage("'%s' must be a file", path);
  if (!is_trusted(&file))
    usage("'%s' may be written by others: chown root it, and chmod go-w", path);
  if (stat(REDLOCK_COMMAND_FOLDER, &file) != 0 || !is_trusted(&file))
    usage("%s", "others may write to " REDLOCK_COMMAND_FOLDER ": chown root it, and chmod go-w");
}

/* What the file says, NULL = there is none, or it says nothing. One that is there and cannot be
   read is not passed over: the host's clients would not agree. */
static const char *read_setting(const char *path, char text[FILE_SIZE]) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  ssize_t got, size = 0;
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return NULL;
  if (fd < 0) usage("cannot open '%s': check who may read it", path);
  check_file(fd, path);
  while ((got = read(fd, text + size, FILE_SIZE - 1 - (size_t)size)) > 0) size += got;
  (void)close(fd);
  if (got < 0 || size == FILE_SIZE - 1) usage("'%s' cannot be read, or is too long", path);
  text[size] = 0;
  if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) memset(text, ' ', 3); /* some editors put it there */
  blank_comments(text);
  text += strspn(text, " \t\r\n");
  return *text ? text : NULL;
}

/* The same of one word. */
static const char *read_word(const char *path, char text[FILE_SIZE]) {
  char *word = text;
  const char *found = read_setting(path, text);
  size_t size;
  if (!found) return NULL;
  word += found - text;
  size = strcspn(word, " \t\r\n");
  if (word[size + strspn(word + size, " \t\r\n")]) usage("'%s' must hold one word", path);
  word[size] = 0;
  return word;
}

/* With the host's list goes its user; another list may have none. */
static void take_servers(void) {
  static const char path[] = REDLOCK_COMMAND_FOLDER "/servers";
  static char list[FILE_SIZE], user[FILE_SIZE];
  const char *variable = getenv("REDLOCK_SERVERS");
  set.servers_from = "--servers";
  if (set.servers) return;
  set.servers = variable;
  set.servers_from = "REDLOCK_SERVERS";
  if (variable && variable[strspn(variable, ", \t\r\n")]) return;
  set.servers = read_setting(path, list);
  set.servers_from = path;
  if (set.servers && !set.user) set.user = read_word(REDLOCK_COMMAND_FOLDER "/user", user);
}

/* ---- Options --------------------------------------------------------------------------------- */

/* Capitals that are no letter of an option stand for options that have none. */
static const char long_only[] = "TSPUJACKIMLXRDHWGNYO";

static const struct option {
  char letter;
  int takes_value;
  const char *name;
} known_options[] = {
  {'s', 1, "servers"}, {'t', 1, "ttl"}, {'w', 1, "wait"}, {'n', 0, "nonblock"},
  {'E', 1, "conflict-exit-code"}, {'k', 1, "kill-after"}, {'m', 1, "max-hold"},
  {'T', 1, "max-ttl"}, {'S', 0, "status"}, {'q', 0, "quiet"}, {'v', 0, "verbose"},
  {'h', 0, "help"}, {'V', 0, "version"}, {'w', 1, "timeout"}, {'n', 0, "nb"},
  {'c', 1, "command"}, {'U', 1, "user"}, {'P', 1, "password-file"}, {'J', 0, "json"},
  {'A', 1, "cacert"}, {'C', 1, "cert"}, {'K', 1, "key"}, {'I', 0, "insecure"},
  {'M', 0, "fencing"}, {'L', 0, "take"}, {'X', 0, "extend"}, {'R', 0, "release"},
  {'D', 1, "ticket-file"}, {'H', 1, "min-hold"}, {'W', 0, "wait-anyway"}, {'G', 0, "run"},
  {'N', 0, "no-label"}, {'Y', 0, "strict"}, {'O', 1, "server-timeout"},
  {'x', 0, "exclusive"}, {'e', 0, "exclusive"}, {'o', 0, "close"}, {'F', 0, "no-fork"}
};
enum { OPTIONS = sizeof known_options / sizeof *known_options };

static void take_shell_command(char *line) {
  static char shell[] = "/bin/sh", flag[] = "-c", *words[] = {shell, flag, NULL, NULL};
  words[2] = line;
  set.command = words;
}

static void choose(enum step step) {
  if (set.step && set.step != step)
    usage("%s", "give one of --take, --extend, --run and --release");
  set.step = step;
}

static void print_version(void) {
  printf("redlock %s, %s TLS\n", REDLOCK_VERSION, has_tls ? "with" : "without");
  print_and_exit(0);
}

static void take_option(char letter, char *value) {
  switch (letter) {
    case 's': set.servers = value; break;
    case 't': set.ttl_ms = duration(value); set.has_ttl = 1; break;
    case 'w': set.wait_ms = duration(value); break;
    case 'n': set.wait_ms = 0; break;
    case 'W': set.wait_anyway = 1; break;
    case 'E': set.taken_status = exit_code(value); break;
    case 'k': set.kill_ms = duration(value); set.has_kill = 1; break;
    case 'm': set.max_hold_ms = limit("--max-hold", value); break;
    case 'H': set.min_hold_ms = limit("--min-hold", value); break;
    case 'T': set.max_ttl_ms = limit("--max-ttl", value); break;
    case 'O': set.server_timeout_ms = limit("--server-timeout", value); break;
    case 'M': set.fencing = 1; break;
    case 'x': case 'e': case 'o': case 'F': break; /* flock's, of what is so anyway */
    case 'S': set.status = 1; break;
    case 'J': set.json = 1; break;
    case 'Y': set.strict = 1; break;
    case 'L': choose(TAKE); break;
    case 'X': choose(EXTEND); break;
    case 'R': choose(RELEASE); break;
    case 'G': choose(RUN_TICKET); break;
    case 'N': set.no_label = 1; break;
    case 'D': set.ticket_file = value; break;
    case 'c': take_shell_command(value); break;
    case 'U': set.user = value; break;
    case 'P': password_path = value; break;
    case 'A': set.cacert = value; break;
    case 'C': set.cert = value; break;
    case 'K': set.key = value; break;
    case 'I': set.insecure = 1; break;
    case 'q': set.quiet = 1; break;
    case 'v': set.verbose = 1; break;
    case 'h': fputs(help, stdout); print_and_exit(0); break;
    default: print_version(); break;
  }
}

static const struct option *find_option(char letter, const char *name, size_t size) {
  int i;
  for (i = 0; i < OPTIONS; i++) {
    const struct option *o = &known_options[i];
    if (name ? strlen(o->name) == size && memcmp(o->name, name, size) == 0
             : o->letter == letter && !strchr(long_only, letter)) return o;
  }
  return NULL;
}

/* --name, --name=value and --name value; how many words it took */
static int take_long(char **words) {
  char *name = words[0] + 2, *value = strchr(name, '=');
  const struct option *o = find_option(0, name, value ? (size_t)(value - name) : strlen(name));
  if (!o) usage("there is no option '%s'", words[0]);
  if (!o->takes_value) {
    if (value) usage("'%s' takes no value: leave out what follows the '='", words[0]);
    take_option(o->letter, NULL);
    return 1;
  }
  if (!value && !words[1]) usage("'%s' needs a value", words[0]);
  take_option(o->letter, value ? value + 1 : words[1]);
  return value ? 1 : 2;
}

static void no_such_letter(char letter) {
  char option[3] = "-";
  option[1] = letter;
  usage("there is no option '%s'", option);
}

/* -n, -nq, -w10s and -w 10s; how many words it took */
static int take_short(char **words) {
  char *at = words[0] + 1;
  for (; *at; at++) {
    const struct option *o = find_option(*at, NULL, 0);
    if (!o) no_such_letter(*at);
    if (o->takes_value) {
      if (!at[1] && !words[1]) usage("'%s' needs a value", words[0]);
      take_option(*at, at[1] ? at + 1 : words[1]);
      return at[1] ? 1 : 2;
    }
    take_option(*at, NULL);
  }
  return 1;
}

static int take_long_or_short(char **words) {
  return words[0][1] == '-' ? take_long(words) : take_short(words);
}

/* Up to RESOURCE, or past "--". Returns what follows. */
static char **take_options(char **words) {
  while (*words && words[0][0] == '-' && words[0][1]) {
    if (strcmp(*words, "--") == 0) return words + 1;
    words += take_long_or_short(words);
  }
  return words;
}

/* [--] COMMAND [ARG...], or -c LINE as with flock(1) */
static void take_command(char **words) {
  if (words[0] && (strcmp(words[0], "-c") == 0 || strcmp(words[0], "--command") == 0))
    words += take_long_or_short(words);
  if (set.command && words[0])
    usage("leave out '%s': with --command nothing may follow RESOURCE", words[0]);
  if (set.command) return;
  set.command = words;
  if (words[0] && strcmp(words[0], "--") == 0) set.command++;
  else if (words[0] && *words[0] == '-')
    usage("'%s' follows RESOURCE: put options before it", words[0]);
  if (!set.command[0] && set.step == RUN_TICKET)
    usage("%s", "COMMAND is missing: what to run under the lock of the ticket");
  if (!set.command[0])
    usage(strcmp(set.servers_from, "--servers") != 0
            ? "COMMAND is missing: '%s' was read as RESOURCE, the lock's name"
            : "COMMAND is missing: '%s' was read as RESOURCE, and what follows -s as the servers",
          set.resource);
}

static void take_resource(const char *name) {
  set.resource = name;
  if (!*name) usage("%s", "RESOURCE is empty: give the lock a name");
  if (strlen(name) > MAX_RESOURCE)
    usage("RESOURCE '%.40s...' is longer than 255 bytes: give the lock a shorter name", name);
}

/* RESOURCE, or a ticket that is not in a file. Returns what follows. */
static char **take_operand(char **operands) {
  if (set.step <= TAKE) {
    if (!operands[0]) usage("%s", "RESOURCE is missing: the name of the lock");
    take_resource(operands[0]);
    return operands + 1;
  }
  if (!set.ticket_file && !operands[0])
    usage("%s", "the ticket, or --ticket-file, is missing");
  take_ticket(set.ticket_file ? NULL : operands[0]);
  return operands + !set.ticket_file;
}

static int runs_command(void) { return set.step == RUN_COMMAND || set.step == RUN_TICKET; }

static void take_operands(char **operands) {
  operands = take_operand(operands);
  if (runs_command()) take_command(operands);
  else if (operands[0])
    usage("%s", "--take, --extend and --release run no COMMAND, and take one name or ticket");
}

static void check_order(const char *shorter, uint32_t ms, const char *longer, uint32_t most_ms,
                        const char *advice) {
  char text[200], time[16], most[16];
  if (!most_ms || ms <= most_ms) return;
  (void)snprintf(text, sizeof text, "%s %s is longer than %s %s: %s", shorter, in_units(ms, time),
                 longer, in_units(most_ms, most), advice);
  usage("%s", text);
}

static void check_hold(void) {
  if (set.min_hold_ms && !runs_command())
    usage("%s", "--min-hold is for COMMAND: give --take and --extend a longer --ttl");
  check_order("--min-hold", set.min_hold_ms, "--max-hold", set.max_hold_ms, "raise the latter");
  check_order("--min-hold", set.min_hold_ms, "--max-ttl", set.max_ttl_ms,
              "give a shorter --min-hold, or raise --max-ttl for all clients");
}

/* The file's counts for every list: a longer quarantine than needed grants nothing wrong. */
static void take_max_ttl(void) {
  static const char path[] = REDLOCK_COMMAND_FOLDER "/max-ttl";
  static char word[FILE_SIZE];
  const char *text = getenv("REDLOCK_MAX_TTL");
  set.max_ttl_from = set.max_ttl_ms ? "--max-ttl" : "REDLOCK_MAX_TTL";
  if (set.max_ttl_ms) return;
  if (!text || !*text) {
    text = read_word(path, word);
    set.max_ttl_from = path;
  }
  if (text) set.max_ttl_ms = limit(set.max_ttl_from, text);
}

static void choose_ttl(void) {
  if (set.has_ttl) return;
  set.ttl_ms = DEFAULT_TTL_MS;
  if (set.max_ttl_ms && set.max_ttl_ms < set.ttl_ms) set.ttl_ms = set.max_ttl_ms;
}

/* A lock that is extended from two fifths of its ttl on must hear of that in time. A status takes
   none. */
static void check_server_timeout(void) {
  static const char shorter[] = "give a shorter one";
  if (set.server_timeout_ms > LONGEST_TIMEOUT_MS)
    usage("%s", "--server-timeout can be at most 100s");
  if (set.status) return;
  check_order("--server-timeout", set.server_timeout_ms, "half of --ttl", set.ttl_ms / 2, shorter);
  if (set.fencing)
    check_order("--server-timeout", set.server_timeout_ms, "a quarter of --max-ttl",
                set.max_ttl_ms / 4, shorter);
}

/* Stopping COMMAND takes kill_ms at the end of the validity. Extensions begin at two fifths of what
   is before that, and there must be time for some. */
static void check_times(void) {
  take_max_ttl();
  choose_ttl();
  if (set.max_hold_ms && set.max_hold_ms < set.ttl_ms) set.ttl_ms = set.max_hold_ms;
  if (set.ttl_ms < MIN_TTL_MS) usage("%s", "--ttl, --max-ttl and --max-hold must be 200ms or more");
  check_order("--ttl", set.ttl_ms, "--max-ttl", set.max_ttl_ms,
              "give a shorter --ttl, or raise --max-ttl for all clients");
  check_hold();
  if (set.fencing && !set.max_ttl_ms)
    usage("%s", "--fencing needs --max-ttl, as long as the longest --ttl and the same for all");
  check_server_timeout();
  if (!set.has_kill) set.kill_ms = set.ttl_ms / 6;
  if (set.kill_ms > set.ttl_ms / 3)
    usage("%s", "--kill-after can be at most a third of --ttl: COMMAND must end before the lock");
}

void take_arguments(char **words) {
  set.wait_ms = REDLOCK_FOREVER;
  set.taken_status = EXIT_TAKEN;
  words = take_options(words);
  take_servers();
  if (!set.servers || !set.servers[strspn(set.servers, ", \t\r\n")])
    usage("%s", "no servers: give --servers host,host,host or set REDLOCK_SERVERS, or list them in "
          REDLOCK_COMMAND_FOLDER "/servers");
  if (set.status && set.step)
    usage("%s", "--status takes, extends and releases nothing: leave out one of the two");
  if (!set.status) take_operands(words);
  else if (*words) take_resource(*words);
  if (set.status && *words && words[1]) usage("leave out '%s': --status runs no COMMAND", words[1]);
  if (set.ticket_file && !set.step)
    usage("%s", "--ticket-file is for --take, --extend, --run and --release: give one of them");
  if ((set.json || set.strict) && !set.status)
    usage("%s is for --status: give both, or leave it out", set.json ? "--json" : "--strict");
  if (password_path) take_password_file(password_path);
  else take_own_password();
  check_times();
}
