/* redlock.c: flock(1) for a quorum. Runs a command while this host holds a lock on most of the
 * servers, extends the lock meanwhile, and stops the command when the lock is being lost.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I../.. *.c -o redlock
 *   ./redlock -s 10.0.0.1,10.0.0.2,10.0.0.3 -n nightly -- ./backup.sh
 *
 * The manual is redlock.1; settings.c reads the command line, messages.c says what is wrong, run.c
 * runs COMMAND, tree.c finds all that it has started, ticket.c hands locks on, label.c says whose
 * they are, lookup.c looks names up, reach.c notes why there is no connection, status.c is
 * --status, and ask.c asks what the library does not. One poll loop waits for the servers, for
 * signals and for COMMAND. */
#include <sys/socket.h>
#define REDLOCK_IMPLEMENTATION
#define getaddrinfo look_up /* lookup.c */
#define freeaddrinfo forget_look_up
#define socket(family, type, protocol) noted_socket(family, type, protocol) /* reach.c */
#define connect(fd, to, size) noted_connect(fd, to, size)
#define send(fd, data, size, flags) noted_send(fd, data, size, flags)
#define recv(fd, data, size, flags) noted_recv(fd, data, size, flags)
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* While the lock is waited for. */
enum {
  TELL_MS = 1000,        /* then --verbose tells who waits; and what has been wrong for so long, */
  TELL_AGAIN_MS = 60000, /* and again so often */
  SPLIT_MS = 200,        /* for so long, who may not wait tries where the votes were split */
  HOPELESS_MS = 1000     /* then what only a person can mend is waited for no longer; a server
                            without a connection is tried at least once more in that time */
};

enum { LEAST_TIMEOUT_MS = 50, MOST_TIMEOUT_MS = 5000 }; /* that follow from a ttl */

redlock client;
redlock_lock lock;
static int64_t started_ms;

int count_servers(void) {
  int count = 0;
  while (redlock_server_error(&client, count)) count++;
  return count;
}

int quorum(void) { return count_servers() / 2 + 1; }

int count_votes(redlock_vote vote) {
  int i, count = 0;
  for (i = 0; i < count_servers(); i++) count += lock.votes[i] == vote;
  return count;
}

/* ---- The loop's one wait --------------------------------------------------------------------- */

/* As the library's: where it can, it goes on while the machine is suspended. */
int64_t now_ms(void) {
#if defined(__linux__) || defined(__OpenBSD__)
  const clockid_t clock = CLOCK_BOOTTIME;
#else
  const clockid_t clock = CLOCK_MONOTONIC;
#endif
  struct timespec t = {0, 0};
  (void)clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* For times, -1 = never. */
static int64_t sooner(int64_t a, int64_t b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

struct pollfd poll_entry(int fd, short events) {
  struct pollfd entry;
  entry.fd = fd;
  entry.events = events;
  entry.revents = 0;
  return entry;
}

/* The longest poll: its timeout stands still while the machine is suspended. */
enum { LOOK_MS = 1000 };

/* Until a server, a signal or the clock has something for us, at most limit_ms (-1 = no limit). */
void wait_for_news(int64_t limit_ms) {
  struct pollfd fds[1 + REDLOCK_MAX_SERVERS];
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int i, count = redlock_fds(&client, want, REDLOCK_MAX_SERVERS);
  int64_t timeout = sooner(redlock_timeout_ms(&client), limit_ms);
  fds[0] = poll_entry(signal_pipe[0], POLLIN);
  for (i = 0; i < count; i++)
    fds[i + 1] = poll_entry((int)want[i].fd,
                            want[i].events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN);
  if (timeout < 0 || timeout > LOOK_MS) timeout = LOOK_MS;
  (void)poll(fds, (nfds_t)count + 1, (int)timeout);
}

/* ---- The client ------------------------------------------------------------------------------ */

/* By the library's own parser. It goes on where the client has stopped, perhaps within a push. */
enum end end_of(int server, char byte) {
  rl_reply reply = rl_parse(&client.server[server].parser, byte);
  if (reply == RL_PARSE_MORE || reply == RL_PARSE_ERROR_TEXT) return END_NONE;
  return reply == RL_PARSE_INVALID ? END_BAD : reply == RL_PUSH ? END_PUSH : END_REPLY;
}

int addresses_of(int server, struct sockaddr_storage at[2]) {
  const rl_server *s = &client.server[server];
  char host[RL_HOST_BYTES], port[6];
  rl_sockaddr address;
  int i, count = 0;
  memset(at, 0, 2 * sizeof *at);
  rl_copy_host_port(s, host, port);
  if (*host == '/') {
    at[0].ss_family = AF_UNIX;
    (void)snprintf(((struct sockaddr_un *)(void *)at)->sun_path, sizeof address.local.sun_path,
                   "%.*s", (int)sizeof address.local.sun_path - 1, host);
    return 1;
  }
  for (i = 0; i < RL_MAX_ADDRESSES; i++) {
    if (!s->addresses[i].port) continue;
    memset(&address, 0, sizeof address);
    memcpy(&at[count++], &address, rl_make_sockaddr(&address, &s->addresses[i]));
  }
  return count;
}

int is_awaited(int server) { return client.server[server].outstanding > 0; }

int64_t quarantine_after_ms(int64_t uptime_s) {
  return set.max_ttl_ms ? (int64_t)set.max_ttl_ms + 1 + RL_UPTIME_SLACK_MS - uptime_s * 1000 : 0;
}

void finish(int status) {
  redlock_close(&client);
  exit(status);
}

/* A distant server may be slow, or a loaded one, and waiting for it costs nothing if the others
   decide. But there must be time for some attempts within what keep_margin_ms leaves of a ttl.
   Beside eight busy loops on two processors, with one server of three frozen, a third of all
   attempts found no quorum within a sixtieth of 1 to 3 s, and 2 % within a tenth. After 5 s of
   silence the library gives a connection up (R13). */
uint32_t server_timeout_ms(void) {
  uint32_t ms = set.ttl_ms / 10;
  if (set.status) return connect_limit_ms();
  if (set.server_timeout_ms) return set.server_timeout_ms;
  return ms < LEAST_TIMEOUT_MS ? LEAST_TIMEOUT_MS : ms > MOST_TIMEOUT_MS ? MOST_TIMEOUT_MS : ms;
}

/* After SIGKILL it takes a moment until a process is gone and we hear of it. */
uint32_t slack_ms(void) {
  uint32_t ms = set.ttl_ms / 20;
  return ms < 20 ? 20 : ms > 500 ? 500 : ms;
}

/* A redlock that runs this one has taken the passwords out of its list. */
static int is_password_removed(const char *error) {
  return strncmp(error, "a user needs", 12) == 0 && getenv("REDLOCK_RESOURCE") &&
         set.servers == getenv("REDLOCK_SERVERS");
}

static const char *words_for(struct name entry, const char *error) {
  const char *slip = strncmp(error, "want ", 5) == 0 ? slip_of(entry) : NULL;
  if (is_password_removed(error))
    return "the redlock around this one hands no password on: use --password-file";
  return slip ? slip : in_words(error);
}

static const char bad_list[] = "the list of servers is not valid: correct %s";

static void say_bad_list(void) {
  const char *error = redlock_server_error(&client, -1);
  int i;
  if (strncmp(error, "more servers", 12) == 0) {
    for (i = 0; entry_of(i).size;) i++;
    say("there are %d servers in the list: %d are the most", i, REDLOCK_MAX_SERVERS);
    return;
  }
  for (i = 0; (error = redlock_server_error(&client, i)) != NULL; i++) {
    struct name name = entry_of(i);
    if (!*error) continue;
    if (is_secret(set.servers)) say("server %d of the list: %s", i + 1, words_for(name, error));
    else say("server '%.*s': %s", name.size, name.at, words_for(name, error));
  }
}

/* A blank for the colon makes a host of it: 0.0.27.89. */
static void refuse_bare_port(void) {
  int i;
  for (i = 0; i < count_servers(); i++) {
    struct name name = name_of(i);
    if (name.size > 5 || (int)strspn(name.at, "0123456789") < name.size) continue;
    if (is_secret(set.servers)) say("server %d of the list is a number: write host:port", i + 1);
    else say("server '%.*s' is a number: write host:port", name.size, name.at);
    usage(bad_list, set.servers_from);
  }
}

static void open_client(void) {
  redlock_options options;
  redlock_status status;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = server_timeout_ms();
  options.max_ttl_ms = set.max_ttl_ms;
  options.keep_margin_ms = set.kill_ms + slack_ms();
  options.fencing = set.fencing && !set.status; /* which takes no lock */
  options.username = set.user;
  options.password = set.password;
  options.tls = tls_layer();
  if (!set.no_label) options.entropy = labelled_entropy;
  status = redlock_init(&client, set.servers, &options);
  if (status == REDLOCK_OK) {
    refuse_bare_port();
    return;
  }
  if (status != REDLOCK_INVALID) {
    say("this system's clock cannot be read, and no lock is safe without: see clock_gettime(2)");
    exit(EXIT_SYSTEM);
  }
  say_bad_list();
  usage(bad_list, set.servers_from);
}

/* ---- The lock -------------------------------------------------------------------------------- */

/* Whether a redlock that runs this one holds the same lock, as far as its COMMAND can tell. */
static int is_nested(void) {
  const char *outer = getenv("REDLOCK_RESOURCE");
  return outer && strcmp(outer, set.resource) == 0;
}

static const char nested[] = "the redlock around this one seems to hold it (see REDLOCK_RESOURCE): "
                             "leave one of the two out";

static void say_unavailable(enum level level, const char *what) {
  int wrong = count_complaints(), count = count_servers(), spare = count - quorum();
  char most[32] = "none";
  if (spare) (void)snprintf(most, sizeof most, "at most %d", spare);
  if (count == 1)
    say_as(level, "%s lock '%s': the only server is unavailable", what, set.resource);
  else
    say_as(level, "%s lock '%s': %d of %d servers %s unavailable; %s may be", what, set.resource,
           wrong, count, wrong == 1 ? "is" : "are", most);
}

void say_unreleased(void) {
  say("could not release lock '%s' on most servers: it expires by itself within %ld ms",
      set.resource, (long)set.ttl_ms);
  say_servers();
}

static void say_gone(void) {
  say("lock '%s' is not held by this ticket: it was released, it expired, or a later one has it",
      set.resource);
  finish(EXIT_LOST);
}

static void explain_refusal(redlock_status status) {
  static const char *const cannot[] = {"cannot take", "cannot take", "cannot extend",
                                       "cannot release", "cannot take over"};
  if (status == REDLOCK_TAKEN && set.step > TAKE) say_gone();
  if (status == REDLOCK_TAKEN) {
    if (!set.quiet)
      say("lock '%s' is taken: %s", set.resource,
          is_nested() ? nested : "try again later, or wait with --wait");
    finish(set.taken_status);
  }
  if (status == REDLOCK_SYSTEM) {
    say("%s lock '%s': this system's clock or random numbers failed: try again, if it has just "
        "started", cannot[set.step], set.resource);
    finish(EXIT_SYSTEM);
  }
  if (status == REDLOCK_EXPIRED)
    say("%s lock '%s': the servers answered too late; use a longer --ttl", cannot[set.step],
        set.resource);
  else
    say_unavailable(ERROR, cannot[set.step]);
  ask_uptimes();
  say_servers();
  finish(EXIT_NO_QUORUM);
}

/* ---- The wait -------------------------------------------------------------------------------- */

static struct {
  time_t since;        /* by the wall clock */
  int64_t since_ms;
  int64_t tell_ms;     /* when --verbose tells next */
  int64_t well_ms;     /* when a quorum was last seen without trouble */
  int64_t trouble_ms;  /* when trouble is told next */
  int64_t hope_ms;     /* when time alone could last give a quorum */
  int told_nested;
} waiting;

/* With what is wrong only a person can mend a quorum. */
static int is_for_a_person(void) {
  int i, lasting = 0;
  for (i = 0; i < count_servers(); i++) lasting += is_lasting(i);
  return lasting > count_servers() - quorum();
}

/* With that, one for itself. */
static int is_hopeless(void) {
  if (renew_password() || renew_certificates() || !is_for_a_person()) waiting.hope_ms = now_ms();
  return !set.wait_anyway && now_ms() - waiting.hope_ms >= HOPELESS_MS;
}

static int is_quorum_troubled(void) { return count_complaints() > count_servers() - quorum(); }

/* Whoever waits for ever should know when it is for servers and not for another holder. */
static void tell_trouble(void) {
  int64_t now = now_ms();
  if (!is_quorum_troubled()) waiting.well_ms = now;
  if (now - waiting.well_ms < TELL_MS || now < waiting.trouble_ms) return;
  waiting.trouble_ms = now + TELL_AGAIN_MS;
  say_unavailable(WARNING, "still waiting for");
  say_servers();
}

/* That would be for ever. */
static void tell_nested(void) {
  if (waiting.told_nested || !is_nested() || now_ms() - waiting.since_ms < TELL_MS) return;
  waiting.told_nested = 1;
  if (!is_quorum_troubled()) warn("still waiting for lock '%s': %s", set.resource, nested);
}

static void tell_who_waits(void) {
  char host[256] = "";
  struct tm t;
  if (!set.verbose || now_ms() < waiting.tell_ms) return;
  waiting.tell_ms = now_ms() + TELL_AGAIN_MS;
  (void)gethostname(host, sizeof host - 1);
  if (!gmtime_r(&waiting.since, &t)) return;
  say("process %ld on %s has been waiting for lock '%s' since %d-%02d-%02d %02d:%02d:%02d UTC: %s",
      (long)getpid(), host, set.resource, t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
      t.tm_min, t.tm_sec, is_quorum_troubled() ? "too few servers can vote" : "it is taken");
}

static void begin_waiting(void) {
  waiting.since = time(NULL);
  waiting.since_ms = now_ms();
  waiting.tell_ms = waiting.since_ms + TELL_MS;
  waiting.well_ms = waiting.hope_ms = waiting.since_ms;
}

/* What looking up names has left of it. */
static uint32_t wait_left_ms(void) {
  int64_t left = set.wait_ms + started_ms - now_ms();
  if (set.wait_ms == REDLOCK_FOREVER) return REDLOCK_FOREVER;
  return left > 0 ? (uint32_t)left : 0;
}

static redlock_status start_acquire(void) {
  return redlock_start_acquire(&client, &lock, set.resource, set.ttl_ms - 1, wait_left_ms());
}

/* Until that is decided. */
static redlock_status wait_for_lock(redlock_status status) {
  int number;
  begin_waiting();
  while (status == REDLOCK_PENDING) {
    wait_for_news(TELL_MS);
    number = next_signal();
    if (number) {
      (void)redlock_cancel(&client, &lock); /* closing lets the roll-back leave */
      finish(EXIT_SIGNAL + number);
    }
    if (redlock_step(&client)) {
      status = lock.status;
    } else if (is_hopeless()) {
      (void)redlock_cancel(&client, &lock);
      status = REDLOCK_NO_QUORUM;
      say("waiting no longer: only a person can fix this (--wait-anyway waits for that too)");
    } else {
      tell_trouble();
      tell_nested();
      tell_who_waits();
      follow_names();
    }
  }
  return status;
}

/* Where some servers said yes and others that it is taken, perhaps nobody has it: two asked at
   once, or several entries lead to one server. Who may not wait tries again, but only for a
   moment. */
static int are_votes_split(redlock_status status) {
  return set.wait_ms == 0 && status == REDLOCK_TAKEN && count_votes(REDLOCK_VOTE_YES);
}

static int count_connected(void) {
  redlock_server_info info;
  int i, count = 0;
  for (i = 0; i < count_servers(); i++) {
    (void)redlock_server_status(&client, i, &info);
    count += info.connected && !*redlock_server_error(&client, i);
  }
  return count;
}

/* To take over what nobody holds changes nothing, and shows whether a quorum does what a change of
   hands needs. */
static redlock_status try_servers(void) {
  static const char nobody[sizeof lock.value] = "";
  redlock_status status;
  int64_t end = now_ms() + server_timeout_ms();
  status = wait_for_lock(redlock_start_adopt(&client, &lock, set.resource, set.ttl_ms, nobody));
  if (status != REDLOCK_TAKEN) return status;
  while (count_connected() < quorum() && now_ms() < end) (void)redlock_wait(&client, LOOK_MS / 50);
  return count_connected() < quorum() ? REDLOCK_NO_QUORUM : REDLOCK_OK;
}

/* A failed adoption may end the lock: it is begun only when a quorum has just answered, and no
   signal ends it. */
static redlock_status adopt(void) {
  redlock_status status = try_servers();
  if (status != REDLOCK_OK) {
    say("lock '%s' and its ticket are as they were: try again before it expires", set.resource);
    return status;
  }
  prepare_next_ticket();
  status = redlock_adopt(&client, &lock, set.resource, set.ttl_ms, set.value);
  if (status == REDLOCK_OK) return status;
  drop_next_ticket();
  if (status != REDLOCK_TAKEN)
    say("lock '%s' may be free already: the servers fell silent while it changed hands",
        set.resource);
  return status;
}

static void acquire(void) {
  redlock_status status = set.step > TAKE ? adopt() : wait_for_lock(start_acquire());
  if (set.step <= TAKE && are_votes_split(status)) {
    set.wait_ms = (uint32_t)(now_ms() - started_ms) + SPLIT_MS;
    status = wait_for_lock(start_acquire());
  }
  if (status != REDLOCK_OK) explain_refusal(status);
  SAY_MORE("took lock '%s' after %ld ms with %d of %d votes; it is valid for %ld ms", set.resource,
           (long)(now_ms() - waiting.since_ms), count_votes(REDLOCK_VOTE_YES), count_servers(),
           (long)redlock_remaining_ms(&client, &lock));
}

/* Rights that a SET does without, or a renamed EVAL, would show in the middle of COMMAND. The lock
   was taken for 1 ms less than the ttl: so this sets its time on each server. One that is only slow
   is asked again later. */
static void try_extension(void) {
  if (redlock_extend(&client, &lock, set.ttl_ms) != REDLOCK_NO_QUORUM || !is_for_a_person()) return;
  say_unavailable(ERROR, "cannot keep");
  say_servers();
  if (redlock_release(&client, &lock) != REDLOCK_OK) say_unreleased();
  finish(EXIT_NO_QUORUM);
}

static void release_and_exit(void) {
  redlock_status status = release_ticket();
  if (status != REDLOCK_OK) explain_refusal(status);
  finish(0);
}

/* ---- Main ------------------------------------------------------------------------------------ */

/* If one of the three is closed, the next socket would get its number, and our messages or
   COMMAND's output would go to a server. What is written to one still fails, for a ticket that goes
   nowhere would leave a lock; and COMMAND finds it closed again. */
static void occupy_standard_files(void) {
  int fd;
  do fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) (void)close(fd);
}

int main(int argc, char **argv) {
  int status;
  occupy_standard_files();
  if (argc < 1) return EXIT_USAGE;
  started_ms = now_ms();
  take_arguments(argv + 1);
  open_client();
  if (set.status) show_status();
  if (set.step == RELEASE) release_and_exit();
  catch_signals();
  acquire();
  if (set.step != EXTEND) try_extension();
  status = set.step ? take_step() : run_command();
  finish(status);
  return status;
}
