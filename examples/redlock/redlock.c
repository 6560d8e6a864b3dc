/* redlock.c: flock(1) for a quorum. Runs a command while this host holds a lock on most of the
 * servers, extends the lock meanwhile, and stops the command when the lock is being lost.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I../.. *.c -o redlock
 *   ./redlock -s 10.0.0.1,10.0.0.2,10.0.0.3 -n nightly -- ./backup.sh
 *
 * The manual is redlock.1; settings.c reads the command line, messages.c says what is wrong, run.c
 * runs COMMAND, status.c is --status. One poll loop waits for the servers, for signals and for
 * COMMAND. */
#define REDLOCK_IMPLEMENTATION
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NOTICE_MS = 5000 }; /* then a wait for servers that do not answer is told */

redlock client;
redlock_lock lock;

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

/* Those that gave no vote by the time of the decision, which is made as soon as it can be. */
static int count_absent(void) {
  return count_servers() - count_votes(REDLOCK_VOTE_YES) - count_votes(REDLOCK_VOTE_TAKEN) -
         count_votes(REDLOCK_VOTE_NONE);
}

/* ---- The loop's one wait --------------------------------------------------------------------- */

int64_t now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
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
  if (timeout > 60000) timeout = 60000;
  (void)poll(fds, (nfds_t)count + 1, (int)timeout);
}

/* ---- The client ------------------------------------------------------------------------------ */

void finish(int status) {
  redlock_close(&client);
  exit(status);
}

/* A far server may be slow, and to wait for it costs nothing when the others decide. But there must
   be time for many attempts within a ttl. */
uint32_t server_timeout_ms(void) {
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

/* ---- The lock -------------------------------------------------------------------------------- */

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
  catch_signals();
  acquire();
  status = run_command();
  finish(status);
  return status;
}
