/* settings.c: the command line. */
#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_TTL_MS = 200 }; /* in less than this no process can be stopped with certainty */

struct settings set;

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

void usage(const char *format, const char *what) {
  say(format, is_secret(what) ? "(not shown: it may hold a password)" : what);
  say("'redlock --help' shows the options");
  exit(EXIT_USAGE);
}

/* Text on stdout that could not be written is a failure, as with any other command. */
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

void take_arguments(char **words) {
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
