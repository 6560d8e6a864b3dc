/* redlock.c: flock(1) for a quorum. Runs a command while this host holds a lock on most of the
 * servers, extends the lock meanwhile, and stops the command when the lock is being lost.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I.. redlock.c -o redlock
 *   ./redlock -s 10.0.0.1,10.0.0.2,10.0.0.3 -n nightly -- ./backup.sh
 *
 * The manual is redlock.1. One poll loop waits for the servers, for signals and for the command. */
#define REDLOCK_MAX_SERVERS 15
#define REDLOCK_MAX_RESOURCE 255
#define REDLOCK_MAX_ERROR 160
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* there SIGPIPE ends us, as it would end any other command */
#endif

/* Out of the way of what commands use; 124 to 127 are as with timeout(1) and env(1). */
enum {
  EXIT_TAKEN = 120,
  EXIT_NO_QUORUM = 121,
  EXIT_LOST = 122,
  EXIT_SYSTEM = 123,
  EXIT_MAX_HOLD = 124,
  EXIT_USAGE = 125,
  EXIT_NOT_RUN = 126,
  EXIT_NOT_FOUND = 127,
  EXIT_SIGNAL = 128    /* plus the signal's number */
};

enum {
  MIN_TTL_MS = 200,    /* in less than this no process can be stopped with certainty */
  NOTICE_MS = 5000,    /* then a wait for servers that do not answer is told */
  GROUP_LOOK_MS = 10,
  PROBE_LIMIT_MS = 2000,
  SECTIONS = 3         /* of INFO */
};

static struct settings {
  const char *servers, *resource;
  char **command;
  uint32_t ttl_ms, wait_ms, kill_ms, max_hold_ms, max_ttl_ms;
  int has_kill, taken_status, quiet, verbose, status;
} set;

static redlock client;
static redlock_lock lock;

/* ---- Messages -------------------------------------------------------------------------------- */

/* One write each, so that they do not mix with what COMMAND prints. */
static void say(const char *format, ...)
#ifdef __GNUC__
  __attribute__((format(printf, 1, 2)))
#endif
  ;

static void say(const char *format, ...) {
  char line[1024] = "redlock: ";
  size_t head = strlen(line), size;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(line + head, sizeof line - head - 1, format, arguments);
  va_end(arguments);
  size = strlen(line);
  line[size++] = '\n';
  if (write(STDERR_FILENO, line, size) < 0) return; /* no one is listening */
}

#define SAY_MORE(...) (set.verbose ? say(__VA_ARGS__) : (void)0)

/* Entry i of the list without user and password, as printf's "%.*s" wants it. */
struct name {
  int size;
  const char *at;
};

static struct name entry_of(int i) {
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

static struct name from(struct name entry, int skip) {
  entry.at += skip;
  entry.size -= skip;
  return entry;
}

static int find(struct name in, char c) {
  int i = 0;
  while (i < in.size && in.at[i] != c) i++;
  return i;
}

/* Where the host begins: behind "user:password@", if that is there. */
static int host_of(struct name entry) {
  int i = entry.size;
  while (i > 0 && entry.at[i - 1] != '@') i--;
  return i;
}

/* What stands behind "redis://"; an entry of another kind has no such part. */
static struct name url_of(struct name entry) {
  struct name url = from(entry, find(entry, ':'));
  if (url.size < 3 || strncmp(url.at, "://", 3) != 0) return from(entry, entry.size);
  return from(url, 3);
}

static int is_path(struct name entry) {
  return entry.size > 5 && strncmp(entry.at, "unix:", 5) == 0;
}

/* Whether a part of it may be a password. In a malformed list it may be any part: a comma or a
   blank that was not written as %XX cuts an entry, and so a password, in two. */
static int is_secret(const char *text) { return strchr(text, '@') || strstr(text, "://"); }

/* In a list that was found good. */
static struct name name_of(int i) {
  struct name entry = entry_of(i), url = url_of(entry);
  if (is_path(entry)) return entry;
  if (url.size) entry = url;
  return from(entry, host_of(entry));
}

/* What a person can do about an error, known by how it begins; NULL = it tells enough itself. */
static const char *advice_for(const char *error) {
  static const char rights[] = "locks need +set +eval +get +del +pttl +pexpire and the keys, "
                               "--status and --max-ttl +info, a /db +select";
  static const char *const known[][2] = {
    {"NOAUTH", "give user and password: redis://user:password@host"},
    {"WRONGPASS", "check user and password in the list"},
    {"ERR AUTH", "it wants no password: take it out of the list"},
    {"ERR invalid password", "check the password in the list"},
    {"NOPERM", rights},
    {"ERR ACL failure", rights},
    {"ERR The user executing", rights},
    {"DENIED", "see protected-mode in its configuration"},
    {"ERR max", "raise maxclients in its configuration"},
    {"OOM", "see maxmemory in its configuration"},
    {"MISCONF", "it cannot write to its disk: see its log"},
    {"LOADING", "wait: it reads its data"},
    {"BUSY", "wait: a script runs, or SCRIPT KILL"},
    {"READONLY", "list masters only"},
    {"MASTERDOWN", "list masters only"},
    {"MOVED", "list plain masters, no Cluster"},
    {"CLUSTERDOWN", "list plain masters, no Cluster"},
    {"WRONGTYPE", "something else uses this key"},
    {"ERR unknown command", "it renames or lacks this command"},
    {"ERR DB", "check the database's number in the list"},
    {"no connection", "does it run, is the address right?"},
  };
  size_t i;
  for (i = 0; i < sizeof known / sizeof *known; i++)
    if (strncmp(error, known[i][0], strlen(known[i][0])) == 0) return known[i][1];
  return NULL;
}

/* Why a server did not help; NULL = it did its part. */
static const char *complaint(int server) {
  const char *error = redlock_server_error(&client, server);
  switch (lock.votes[server]) {
    case REDLOCK_VOTE_TIMEOUT: return "no answer in time: is it frozen, overloaded, too far away?";
    case REDLOCK_VOTE_QUARANTINED: return "restarted less than --max-ttl ago: it will vote later";
    case REDLOCK_VOTE_UNREACHABLE:
    case REDLOCK_VOTE_ERROR: return *error ? error : "not reached: is the address right?";
    default: return *error ? error : NULL;
  }
}

static void say_servers(void) {
  int i;
  for (i = 0; redlock_server_error(&client, i); i++) {
    struct name name = name_of(i);
    const char *why = complaint(i), *advice = why ? advice_for(why) : NULL;
    if (!why) continue;
    say("  %.*s: %s%s%s", name.size, name.at, why, advice ? ": " : "", advice ? advice : "");
  }
}

static int count_servers(void) {
  int count = 0;
  while (redlock_server_error(&client, count)) count++;
  return count;
}

static int quorum(void) { return count_servers() / 2 + 1; }

static int count_votes(redlock_vote vote) {
  int i, count = 0;
  for (i = 0; i < count_servers(); i++) count += lock.votes[i] == vote;
  return count;
}

/* Those that gave no vote by the time of the decision, which is made as soon as it can be. */
static int count_absent(void) {
  return count_servers() - count_votes(REDLOCK_VOTE_YES) - count_votes(REDLOCK_VOTE_TAKEN) -
         count_votes(REDLOCK_VOTE_NONE);
}

/* ---- Options --------------------------------------------------------------------------------- */

static const char help[] =
  "Usage: redlock [options] RESOURCE [--] COMMAND [ARG...]\n"
  "       redlock [options] --status\n"
  "Runs COMMAND while it holds the lock RESOURCE on most of the servers.\n"
  "\n"
  "  -s, --servers LIST     host[:port],...  or set REDLOCK_SERVERS\n"
  "  -t, --ttl TIME         the lock outlives a crash by this much (30s)\n"
  "  -w, --wait TIME        give up if it is not free by then (waits for ever)\n"
  "  -n, --nonblock         give up at once\n"
  "  -E, --conflict-exit-code N  exit status when it is taken (120)\n"
  "  -k, --kill-after TIME  COMMAND has this long after SIGTERM (ttl/6)\n"
  "  -m, --max-hold TIME    stop COMMAND, so that it is gone by then\n"
  "      --max-ttl TIME     the longest ttl of all clients: a server votes only\n"
  "                         when it has been up for longer\n"
  "      --status           who answers, since when it is up, what is wrong\n"
  "  -q, --quiet            say nothing when the lock is taken\n"
  "  -v, --verbose          say what is done        -h, --help    -V, --version\n"
  "\n"
  "TIME is 500ms, 30s, 5m or 1h. LIST also takes redis://user:password@host/db\n"
  "and unix:/path. Example:  redlock -s a,b,c -n nightly -- ./backup.sh\n"
  "Exit status: COMMAND's own, 128+N when signal N ended it, 120 taken,\n"
  "121 no quorum, 122 lock lost, 123 system error, 124 max-hold is over,\n"
  "125 usage, 126 COMMAND cannot be run, 127 COMMAND not found.\n";

static void usage(const char *format, const char *what) {
  say(format, is_secret(what) ? "(not shown: it may hold a password)" : what);
  say("'redlock --help' shows the options");
  exit(EXIT_USAGE);
}

/* Text on stdout that could not be written is a failure, as with any other command. */
static void print_and_exit(int status) {
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

static uint32_t duration(const char *text) {
  char *unit;
  unsigned long number, ms;
  errno = 0;
  number = strtoul(text, &unit, 10);
  ms = unit_ms(unit);
  if (*text < '0' || *text > '9' || ms == 0)
    usage("'%s' is not a time: write 500ms, 30s, 5m or 1h", text);
  if (errno || number > INT32_MAX / ms) usage("'%s' is too long: 24d is the most", text);
  return (uint32_t)(number * ms);
}

/* A time that is no limit when it is 0, and so is not taken. */
static uint32_t limit(const char *option, const char *text) {
  uint32_t ms = duration(text);
  if (ms == 0) usage("%s 0 would be no limit: leave the option out", option);
  return ms;
}

static int exit_code(const char *text) {
  char *end;
  long number = strtol(text, &end, 10);
  if (end == text || *end || number < 0 || number > 255)
    usage("'%s' is not an exit status: 0 to 255", text);
  return (int)number;
}

/* Capitals that are no option's letter stand for options without one. */
static const struct option {
  char letter;
  int takes_value;
  const char *name;
} known_options[] = {
  {'s', 1, "servers"}, {'t', 1, "ttl"}, {'w', 1, "wait"}, {'n', 0, "nonblock"},
  {'E', 1, "conflict-exit-code"}, {'k', 1, "kill-after"}, {'m', 1, "max-hold"},
  {'T', 1, "max-ttl"}, {'S', 0, "status"}, {'q', 0, "quiet"}, {'v', 0, "verbose"},
  {'h', 0, "help"}, {'V', 0, "version"}
};
enum { OPTIONS = sizeof known_options / sizeof *known_options };

static void take_option(char letter, const char *value) {
  switch (letter) {
    case 's': set.servers = value; break;
    case 't': set.ttl_ms = duration(value); break;
    case 'w': set.wait_ms = duration(value); break;
    case 'n': set.wait_ms = 0; break;
    case 'E': set.taken_status = exit_code(value); break;
    case 'k': set.kill_ms = duration(value); set.has_kill = 1; break;
    case 'm': set.max_hold_ms = limit("--max-hold", value); break;
    case 'T': set.max_ttl_ms = limit("--max-ttl", value); break;
    case 'S': set.status = 1; break;
    case 'q': set.quiet = 1; break;
    case 'v': set.verbose = 1; break;
    case 'h': fputs(help, stdout); print_and_exit(0); break;
    default: puts("redlock " REDLOCK_VERSION); print_and_exit(0); break;
  }
}

static const struct option *find_option(char letter, const char *name, size_t size) {
  int i;
  for (i = 0; i < OPTIONS; i++) {
    const struct option *o = &known_options[i];
    if (name ? strlen(o->name) == size && memcmp(o->name, name, size) == 0
             : o->letter == letter && letter != 'T' && letter != 'S') return o;
  }
  return NULL;
}

/* --name, --name=value and --name value; how many words it took */
static int take_long(char **words) {
  const char *name = words[0] + 2, *value = strchr(name, '=');
  const struct option *o = find_option(0, name, value ? (size_t)(value - name) : strlen(name));
  if (!o) usage("there is no option '%s'", words[0]);
  if (!o->takes_value) {
    if (value) usage("'%s': this option takes no value", words[0]);
    take_option(o->letter, NULL);
    return 1;
  }
  if (!value && !words[1]) usage("'%s' needs a value", words[0]);
  take_option(o->letter, value ? value + 1 : words[1]);
  return value ? 1 : 2;
}

/* -n, -nq, -w10s and -w 10s; how many words it took */
static int take_short(char **words) {
  const char *at = words[0] + 1;
  for (; *at; at++) {
    const struct option *o = find_option(*at, NULL, 0);
    if (!o) usage("there is no such option in '%s'", words[0]);
    if (o->takes_value) {
      if (!at[1] && !words[1]) usage("'%s' needs a value", words[0]);
      take_option(*at, at[1] ? at + 1 : words[1]);
      return at[1] ? 1 : 2;
    }
    take_option(*at, NULL);
  }
  return 1;
}

/* Up to RESOURCE, or past "--". Returns what follows. */
static char **take_options(char **words) {
  while (*words && words[0][0] == '-' && words[0][1]) {
    if (strcmp(*words, "--") == 0) return words + 1;
    words += words[0][1] == '-' ? take_long(words) : take_short(words);
  }
  return words;
}

/* RESOURCE [--] COMMAND... */
static void take_operands(char **operands) {
  if (!operands[0]) usage("%s", "RESOURCE is missing: the name of the lock");
  set.resource = operands[0];
  set.command = operands + 1;
  if (set.command[0] && strcmp(set.command[0], "--") == 0) set.command++;
  else if (set.command[0] && *set.command[0] == '-')
    usage("'%s' stands behind RESOURCE: options come before it", set.command[0]);
  if (!set.command[0]) usage("%s", "COMMAND is missing: what to run under the lock");
  if (!*set.resource || strlen(set.resource) > REDLOCK_MAX_RESOURCE)
    usage("RESOURCE '%s' is empty or longer than 255 bytes", set.resource);
}

/* Stopping COMMAND takes kill_ms at the end of the validity. Extensions begin at half of it: there
   must be time for some between the two. */
static void check_times(void) {
  if (set.max_hold_ms && set.max_hold_ms < set.ttl_ms) set.ttl_ms = set.max_hold_ms;
  if (set.ttl_ms < MIN_TTL_MS) usage("%s", "--ttl and --max-hold must be 200ms or more");
  if (set.max_ttl_ms && set.ttl_ms > set.max_ttl_ms)
    usage("%s", "--ttl is longer than --max-ttl, the longest of all clients: shorten one");
  if (!set.has_kill) set.kill_ms = set.ttl_ms / 6;
  if (set.kill_ms > set.ttl_ms / 3)
    usage("%s", "--kill-after may be a third of --ttl at most: COMMAND must end before the lock");
}

static void take_arguments(char **words) {
  set.servers = getenv("REDLOCK_SERVERS");
  set.ttl_ms = 30000;
  set.wait_ms = REDLOCK_FOREVER;
  set.taken_status = EXIT_TAKEN;
  words = take_options(words);
  if (!set.servers || !set.servers[strspn(set.servers, ", \t\r\n")])
    usage("%s", "no servers: give --servers host,host,host or set REDLOCK_SERVERS");
  if (!set.status) take_operands(words);
  else if (*words) usage("'%s': --status takes no RESOURCE", *words);
  check_times();
}

/* ---- Signals --------------------------------------------------------------------------------- */

/* Handlers write the signal's number to a pipe that the poll loop reads. */
static int signal_pipe[2];

/* Those that COMMAND gets in our place; before it runs they end us. */
static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { HANDED_ON = sizeof handed_on / sizeof *handed_on };

static void on_signal(int number) {
  int saved = errno;
  char byte = (char)number;
  if (write(signal_pipe[1], &byte, 1) < 0) {} /* full: enough are waiting */
  errno = saved;
}

static void set_action(int number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  (void)sigaction(number, &action, NULL);
}

/* What nohup(1) or a shell had ignored stays so, for COMMAND too. */
static void catch_signal(int number) {
  struct sigaction old;
  if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
    set_action(number, on_signal);
}

/* As they were, for COMMAND. */
static struct sigaction old_broken_pipe, old_background;

/* A message on a closed stderr must not end us while we hold a lock; and the terminal is handed on
   from the background. */
static void ignore_signals(void) {
  (void)sigaction(SIGPIPE, NULL, &old_broken_pipe);
  (void)sigaction(SIGTTOU, NULL, &old_background);
  set_action(SIGPIPE, SIG_IGN);
  set_action(SIGTTOU, SIG_IGN);
}

static void open_signal_pipe(void) {
  int i;
  if (pipe(signal_pipe) != 0) {
    say("no pipe: %s", strerror(errno));
    exit(EXIT_SYSTEM);
  }
  for (i = 0; i < 2; i++) {
    (void)fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC);
    (void)fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK);
  }
}

/* The next signal that came, 0 = none. */
static int next_signal(void) {
  unsigned char number;
  return read(signal_pipe[0], &number, 1) == 1 ? number : 0;
}

/* ---- The loop's one wait --------------------------------------------------------------------- */

static int64_t now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* For times, -1 = never. */
static int64_t sooner(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

static struct pollfd poll_entry(int fd, short events) {
  struct pollfd entry;
  entry.fd = fd;
  entry.events = events;
  entry.revents = 0;
  return entry;
}

/* Until a server, a signal or the clock has something for us, at most limit_ms (-1 = no limit). */
static void wait_for_news(int64_t limit_ms) {
  struct pollfd fds[1 + REDLOCK_MAX_SERVERS];
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int i, count = redlock_fds(&client, want, REDLOCK_MAX_SERVERS);
  int64_t timeout = sooner(redlock_timeout_ms(&client), limit_ms);
  fds[0] = poll_entry(signal_pipe[0], POLLIN);
  for (i = 0; i < count; i++)
    fds[i + 1] = poll_entry((int)want[i].fd,
                            want[i].events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN);
  if (timeout > 60000) timeout = 60000;
  (void)poll(fds, (nfds_t)count + 1, (int)timeout);
}

/* ---- The client ------------------------------------------------------------------------------ */

static void finish(int status) {
  redlock_close(&client);
  exit(status);
}

/* A far server may be slow, and to wait for it costs nothing when the others decide. But there must
   be time for many attempts within a ttl. */
static uint32_t server_timeout_ms(void) {
  uint32_t ms = set.ttl_ms / 60;
  return ms < 50 ? 50 : ms > 500 ? 500 : ms;
}

static void say_bad_list(void) {
  const char *error;
  int i;
  for (i = 0; (error = redlock_server_error(&client, i)) != NULL; i++) {
    struct name name = entry_of(i);
    if (!*error) continue;
    if (is_secret(set.servers)) say("server %d of the list: %s", i + 1, error);
    else say("server '%.*s': %s", name.size, name.at, error);
  }
}

static void open_client(void) {
  redlock_options options;
  redlock_status status;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = server_timeout_ms();
  options.max_ttl_ms = set.max_ttl_ms;
  status = redlock_init(&client, set.servers, &options);
  if (status == REDLOCK_OK) return;
  if (status != REDLOCK_INVALID) {
    say("the clock cannot be read: %s", redlock_strerror(status));
    exit(EXIT_SYSTEM);
  }
  say_bad_list();
  usage("%s", "the list of servers is not good: correct --servers or REDLOCK_SERVERS");
}

static void explain_refusal(redlock_status status) {
  if (status == REDLOCK_TAKEN) {
    if (!set.quiet)
      say("lock '%s' is taken: another one holds it; try again later, or use --wait", set.resource);
    finish(set.taken_status);
  }
  if (status == REDLOCK_SYSTEM) {
    say("no lock '%s': this system gave no clock or random bytes, or waiting failed", set.resource);
    finish(EXIT_SYSTEM);
  }
  if (status == REDLOCK_EXPIRED)
    say("no lock '%s': a quorum answered too late; use a longer --ttl", set.resource);
  else
    say("no lock '%s': no quorum, %d of %d servers do not vote and only %d may; see each below",
        set.resource, count_absent(), count_servers(), count_servers() - quorum());
  say_servers();
  finish(EXIT_NO_QUORUM);
}

/* Someone who waits for ever shall know when it is for servers and not for another holder. */
static void notice_silence(int64_t since_ms, int *told) {
  int i, silent = 0;
  if (*told || now_ms() - since_ms < NOTICE_MS) return;
  *told = 1;
  for (i = 0; i < count_servers(); i++) silent += *redlock_server_error(&client, i) != 0;
  if (silent <= count_servers() - quorum()) return;
  say("still waiting for lock '%s': %d of %d servers are in trouble", set.resource, silent,
      count_servers());
  say_servers();
}

static void acquire(void) {
  int64_t since = now_ms();
  int number, told = 0;
  redlock_status status =
    redlock_start_acquire(&client, &lock, set.resource, set.ttl_ms, set.wait_ms);
  while (status == REDLOCK_PENDING) {
    wait_for_news(told ? -1 : NOTICE_MS);
    number = next_signal();
    if (number) {
      (void)redlock_cancel(&client, &lock); /* close lets the roll-back leave */
      finish(EXIT_SIGNAL + number);
    }
    if (redlock_step(&client)) status = lock.status;
    notice_silence(since, &told);
  }
  if (status != REDLOCK_OK) explain_refusal(status);
  SAY_MORE("lock '%s' is taken by us after %ld ms, with %d of %d votes, for %ld ms", set.resource,
           (long)(now_ms() - since), count_votes(REDLOCK_VOTE_YES), count_servers(),
           (long)redlock_remaining_ms(&client, &lock));
}

/* ---- The command ----------------------------------------------------------------------------- */

static struct run {
  pid_t child;        /* also the id of its process group */
  int ended, status;  /* as waitpid tells it */
  int stopping;       /* the exit status that says why it is stopped; 0 = it is not */
  int killed;
  int64_t kill_at_ms;
  int64_t end_ms;     /* when --max-hold is over */
  int tty;            /* the terminal, -1 = none */
} run;

/* COMMAND and all it started, as far as that stayed in its process group. */
static void signal_command(int number) { (void)kill(-run.child, number); }

/* Only what exec would not reset. */
static void reset_signals(void) {
  int i;
  for (i = 0; i < HANDED_ON; i++) {
    struct sigaction old;
    if (sigaction(handed_on[i], NULL, &old) == 0 && old.sa_handler == on_signal)
      set_action(handed_on[i], SIG_DFL);
  }
  set_action(SIGCHLD, SIG_DFL);
  set_action(SIGTSTP, SIG_DFL);
}

/* In the child. All signals are blocked until none of our handlers is left. */
static void become_command(pid_t parent, const sigset_t *mask) {
  (void)setpgid(0, 0);
#ifdef __linux__
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody extends the lock after our death */
#endif
  if (getppid() != parent) _exit(EXIT_SYSTEM);
  reset_signals();
  (void)sigaction(SIGPIPE, &old_broken_pipe, NULL);
  (void)sigaction(SIGTTOU, &old_background, NULL);
  (void)sigprocmask(SIG_SETMASK, mask, NULL);
  (void)execvp(set.command[0], set.command);
  say("cannot run '%s': %s", set.command[0], strerror(errno));
  _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

static void start_command(void) {
  sigset_t all, mask;
  pid_t parent = getpid();
  set_action(SIGCHLD, on_signal);
  catch_signal(SIGTSTP);
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_BLOCK, &all, &mask);
  run.child = fork();
  if (run.child == 0) become_command(parent, &mask);
  if (run.child > 0) (void)setpgid(run.child, run.child); /* as the child does: who comes first */
  (void)sigprocmask(SIG_SETMASK, &mask, NULL);
  if (run.child > 0) return;
  say("cannot fork to run '%s': %s", set.command[0], strerror(errno));
  (void)redlock_release(&client, &lock);
  finish(EXIT_SYSTEM);
}

/* ---- The terminal ---------------------------------------------------------------------------- */

/* COMMAND's process group is a background job at first: ^C and ^Z come to us and are handed on. It
   gets the terminal when it asks, that is, when it is stopped for reading from it or setting it. So
   a pager behind us in a pipeline keeps the terminal unless COMMAND wants it too. */

static int owns_terminal(pid_t group) { return run.tty >= 0 && tcgetpgrp(run.tty) == group; }

static void move_terminal(pid_t source, pid_t target) {
  if (owns_terminal(source)) (void)tcsetpgrp(run.tty, target);
}

/* COMMAND was stopped from the terminal, so the shell expects its whole job to stop. The lock is
   not extended meanwhile; continue_command looks at it first. In a group that no shell controls
   the kernel ignores this SIGTSTP, and we go on at once. */
static void stop_with_command(void) {
  move_terminal(run.child, getpgrp());
  set_action(SIGTSTP, SIG_DFL);
  (void)kill(0, SIGTSTP);
  set_action(SIGTSTP, on_signal);
}

static void guard_lock(void);

/* A SIGTERM that is due must be there before it runs again. */
static void continue_command(void) {
  guard_lock();
  signal_command(SIGCONT);
}

static void on_command_stopped(int number) {
  int wants = number == SIGTTIN || number == SIGTTOU;
  int had = owns_terminal(run.child);
  if (run.tty < 0 || (!wants && number != SIGTSTP)) return; /* a debugger or a person: not ours */
  if (!wants || !owns_terminal(getpgrp())) stop_with_command();
  if (wants || had) move_terminal(getpgrp(), run.child);
  continue_command();
}

/* ---- Holding --------------------------------------------------------------------------------- */

/* After SIGKILL a process takes a moment to go, and so does the news of it. */
static int64_t slack_ms(void) {
  int64_t ms = set.ttl_ms / 20;
  return ms < 20 ? 20 : ms > 500 ? 500 : ms;
}

/* What must be left of the validity when SIGTERM is sent. */
static int64_t margin_ms(void) { return set.kill_ms + slack_ms(); }

static void stop_command(int exit_status) {
  run.stopping = exit_status;
  run.kill_at_ms = now_ms() + set.kill_ms;
  signal_command(SIGTERM);
  signal_command(SIGCONT); /* one that is stopped does not hear it otherwise */
}

static void say_loss(int64_t left) {
  if (lock.operation == REDLOCK_LOST && lock.status == REDLOCK_SYSTEM)
    say("lock '%s' is given up: the clock cannot be read; stopping COMMAND", set.resource);
  else if (count_votes(REDLOCK_VOTE_TAKEN) > count_servers() - quorum())
    say("lock '%s' is lost: its key is gone from most servers (were they restarted empty, flushed, "
        "or is it deleted by hand?); stopping COMMAND", set.resource);
  else if (left <= 0)
    say("lock '%s' is lost: it ran out while this machine stood still, or no quorum answered; "
        "stopping COMMAND", set.resource);
  else
    say("lock '%s' cannot be extended: no quorum answers, %ld ms are left; stopping COMMAND",
        set.resource, (long)left);
  say_servers();
}

/* Whether --max-hold is what ends the lock: extensions are cut so that none goes beyond it. */
static int is_max_hold_over(int64_t left) {
  return set.max_hold_ms && run.end_ms - now_ms() <= left + slack_ms();
}

/* SIGTERM when the rest of the validity is just enough to stop COMMAND in, and SIGKILL later. */
static void guard_lock(void) {
  int64_t left = redlock_remaining_ms(&client, &lock);
  int over = is_max_hold_over(left);
  if (run.stopping) {
    if (run.killed || now_ms() < run.kill_at_ms) return;
    run.killed = 1;
    SAY_MORE("COMMAND did not end in time: SIGKILL");
    signal_command(SIGKILL);
  } else if (!run.ended && left <= margin_ms()) {
    stop_command(over ? EXIT_MAX_HOLD : EXIT_LOST); /* first of all */
    if (over) say("lock '%s' was held for --max-hold: stopping COMMAND", set.resource);
    else say_loss(left);
  }
}

/* Until guard_lock has something to do. */
static int64_t guard_due_ms(void) {
  int64_t due;
  if (run.ended) return GROUP_LOOK_MS;
  if (run.killed) return -1;
  if (run.stopping) due = run.kill_at_ms - now_ms();
  else due = redlock_remaining_ms(&client, &lock) - margin_ms();
  return due < 0 ? 0 : due;
}

static void reap(void) {
  int status;
  while (!run.ended && waitpid(run.child, &status, WNOHANG | WUNTRACED) == run.child) {
    if (WIFSTOPPED(status)) {
      on_command_stopped(WSTOPSIG(status));
    } else {
      run.ended = 1;
      run.status = status;
    }
  }
}

static void take_signals(void) {
  int number;
  while ((number = next_signal()) != 0) {
    if (number == SIGCHLD) {
      reap();
    } else if (!run.ended) {
      SAY_MORE("signal %d is handed on to COMMAND", number);
      signal_command(number);
    }
  }
}

/* When COMMAND is being stopped, what it started has to go too. */
static int must_go_on(void) {
  return !run.ended || (run.stopping && !run.killed && kill(-run.child, 0) == 0);
}

static int hold(void) {
  int64_t left = redlock_remaining_ms(&client, &lock);
  run.end_ms = now_ms() + set.max_hold_ms - (set.ttl_ms - left);
  if (redlock_keep(&client, &lock, set.max_hold_ms) != REDLOCK_OK || left <= margin_ms()) {
    say("lock '%s' ran out before COMMAND could start: this machine stood still; COMMAND did not "
        "run, try again", set.resource);
    return EXIT_LOST;
  }
  start_command();
  SAY_MORE("COMMAND runs as process %ld", (long)run.child);
  while (must_go_on()) {
    guard_lock();
    wait_for_news(guard_due_ms());
    take_signals();
    (void)redlock_step(&client); /* a loss is seen in what remains */
  }
  move_terminal(run.child, getpgrp());
  if (run.stopping) return run.stopping;
  return WIFEXITED(run.status) ? WEXITSTATUS(run.status) : EXIT_SIGNAL + WTERMSIG(run.status);
}

/* COMMAND has ended. That the lock is gone now means that it was not alone to the end. */
static int release(int exit_status) {
  redlock_status status = redlock_release(&client, &lock);
  if (status == REDLOCK_NO_QUORUM && !run.stopping) {
    say("lock '%s' could not be released on most servers: it frees itself within %ld ms",
        set.resource, (long)set.ttl_ms);
    say_servers();
  } else if (status == REDLOCK_EXPIRED && !run.stopping && exit_status != EXIT_LOST) {
    say("lock '%s' was lost before COMMAND ended with status %d: see what else may have run; "
        "use a longer --ttl, and servers that keep their keys", set.resource, exit_status);
    return EXIT_LOST;
  }
  SAY_MORE("lock '%s': release: %s", set.resource, redlock_strerror(status));
  return exit_status;
}

static int run_locked(void) {
  int i;
  ignore_signals();
  open_signal_pipe();
  for (i = 0; i < HANDED_ON; i++) catch_signal(handed_on[i]);
  acquire();
  if (setenv("REDLOCK_RESOURCE", set.resource, 1) != 0) say("no memory for REDLOCK_RESOURCE");
  run.tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
  return release(hold());
}

/* ---- Status ---------------------------------------------------------------------------------- */

/* A client of its own asks each server what the lock does not need to know. */
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

/* ---- Status: the connection ---- */

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

/* ---- Status: the answers ---- */

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

/* ---- Status: the table ---- */

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

static void show_status(void) {
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

/* ---- Main ------------------------------------------------------------------------------------ */

/* If one of the three is closed, the next socket would get its number, and our messages, or
   COMMAND's output, would go to a server. COMMAND finds it closed again. */
static void occupy_standard_files(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) (void)close(fd);
}

int main(int argc, char **argv) {
  int status;
  occupy_standard_files();
  if (argc < 1) return EXIT_USAGE;
  take_arguments(argv + 1);
  open_client();
  if (set.status) show_status();
  status = run_locked();
  finish(status);
  return status;
}
