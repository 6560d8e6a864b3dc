/* run.c: signals, and COMMAND: started, guarded and stopped as the lock allows. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { STOPPING_LOOK_MS = 10 }; /* at COMMAND's group, of which nothing is heard, and the lock */

/* ---- Signals --------------------------------------------------------------------------------- */

/* Handlers write the signal's number to a pipe that the poll loop reads. */
int signal_pipe[2];

/* Passed on to COMMAND; before it runs they end the wait. */
static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { HANDED_ON = sizeof handed_on / sizeof *handed_on };

static void on_signal(int number) {
  int saved = errno;
  char byte = (char)number;
  if (write(signal_pipe[1], &byte, 1) < 0) {} /* full: enough are waiting */
  errno = saved;
}

static volatile sig_atomic_t continued;

static void on_continue(int number) {
  continued = 1;
  on_signal(number);
}

static void set_action(int number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  (void)sigaction(number, &action, NULL);
}

/* What nohup(1) or a shell ignores stays ignored, also in COMMAND. */
static void catch_signal(int number) {
  struct sigaction old;
  if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
    set_action(number, on_signal);
}

/* A message to a closed stderr must not end us while we hold a lock; we pass the terminal on while
   we are in the background; and a pager in our group that is stopped for reading does not stop us,
   for COMMAND would run on. */
static const int ignored[] = {SIGPIPE, SIGTTOU, SIGTTIN};
enum { IGNORED = sizeof ignored / sizeof *ignored };

/* What COMMAND is to have again. */
static struct sigaction old_action[IGNORED];
static sigset_t old_mask;

static void ignore_signals(void) {
  int i;
  for (i = 0; i < IGNORED; i++) {
    (void)sigaction(ignored[i], NULL, &old_action[i]);
    set_action(ignored[i], SIG_IGN);
  }
}

/* A process may be started with all signals blocked; then COMMAND's end would not be heard of, nor
   what is to be passed on. */
static void unblock_signals(void) {
  sigset_t heard;
  int i;
  (void)sigemptyset(&heard);
  (void)sigaddset(&heard, SIGCHLD);
  (void)sigaddset(&heard, SIGTSTP);
  (void)sigaddset(&heard, SIGCONT);
  for (i = 0; i < HANDED_ON; i++) (void)sigaddset(&heard, handed_on[i]);
  (void)sigprocmask(SIG_UNBLOCK, &heard, &old_mask);
}

static void open_signal_pipe(void) {
  int i;
  if (pipe(signal_pipe) != 0) {
    say("cannot create a pipe: %s: raise the limit (ulimit -n)", strerror(errno));
    exit(EXIT_SYSTEM);
  }
  for (i = 0; i < 2; i++) {
    (void)fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC);
    (void)fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK);
  }
}

static int read_signal(void) {
  unsigned char number;
  return read(signal_pipe[0], &number, 1) == 1 ? number : 0;
}

static void reap(void);

int next_signal(void) {
  int number;
  while ((number = read_signal()) == SIGCHLD) reap();
  return number;
}

void catch_signals(void) {
  int i;
  ignore_signals();
  open_signal_pipe();
  set_action(SIGCHLD, on_signal);
  for (i = 0; i < HANDED_ON; i++) catch_signal(handed_on[i]);
  unblock_signals();
}

/* ---- The command ----------------------------------------------------------------------------- */

static struct run {
  pid_t child;        /* also the id of its process group */
  int ended, status;  /* as waitpid tells it */
  int stopping;       /* the exit status that says why it is stopped; 0 = it is not */
  int killed;
  int paused;         /* it was, from the terminal, until just now */
  int foreign;        /* a part of COMMAND may not be signalled, and that is told */
  int told_to_stop;   /* by a SIGTSTP that was passed on */
  int refused;        /* the terminal, which nobody can give to it */
  int64_t kill_at_ms;
  int64_t since_ms;   /* when the lock was granted, or a little later */
  int tty;            /* the terminal, -1 = none */
} run;

/* As sudo(8) makes it. Returns 1. */
static int note_foreign(void) {
  if (!run.foreign)
    say("'%s', or a part of it, runs as another user (sudo?), and no signal can stop it: run "
        "redlock itself as that user (sudo redlock ...)", set.command[0]);
  return run.foreign = 1;
}

/* COMMAND and all that it started, unless that left its process group. Returns whether a part of
   it got the signal. */
static int signal_command(int number) {
  if (kill(-run.child, number) == 0) return 1;
  if (errno == EPERM) (void)note_foreign();
  return 0;
}

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
  set_action(SIGCONT, SIG_DFL);
}

/* The list in use, without its passwords; returns its end. */
static char *put_open_list(char *to) {
  int i, count = count_servers();
  for (i = 0; i < count; i++) {
    struct name entry = entry_of(i), url = url_of(entry);
    int host = host_of(url), user = find(url, ':');
    if (user > host - 1) user = host - 1;
    to += sprintf(to, "%s%.*s", i ? "," : "", entry.size - url.size, entry.at);
    if (user > 0) to += sprintf(to, "%.*s@", user, url.at);
    to += sprintf(to, "%.*s", url.size - host, url.at + host);
  }
  return to;
}

/* A service manager speaks to the process that it has started: what it names us for is meant for
   COMMAND, which gets our descriptors. */
static void rename_process(const char *variable, pid_t parent) {
  const char *named = getenv(variable);
  char ours[24];
  if (!named || strtol(named, NULL, 10) != (long)parent) return;
  (void)snprintf(ours, sizeof ours, "%ld", (long)getpid());
  (void)setenv(variable, ours, 1);
}

static void pass_service_on(pid_t parent) {
  rename_process("LISTEN_PID", parent);
  rename_process("WATCHDOG_PID", parent);
  (void)unsetenv("LISTEN_PIDFDID"); /* it says the same in another way, which need not be there */
}

/* COMMAND is told no password; if it runs a redlock itself, there are password files. */
static void set_environment(void) {
  const char *list = getenv("REDLOCK_SERVERS");
  char *open_list = NULL, token[24];
  int failed = 0;
  (void)snprintf(token, sizeof token, "%llu", (unsigned long long)lock.token);
  if (lock.token) failed = setenv("REDLOCK_TOKEN", token, 1);
  else (void)unsetenv("REDLOCK_TOKEN"); /* another lock's */
  if (failed || setenv("REDLOCK_RESOURCE", set.resource, 1) != 0) {
    say("no memory for the environment of '%s': it did not run; free some, and try again",
        set.command[0]);
    _exit(EXIT_SYSTEM);
  }
  if (!list || !strchr(list, '@')) return;
  if (list == set.servers) open_list = malloc(strlen(list) + 1);
  if (open_list) *put_open_list(open_list) = 0;
  if (!open_list || setenv("REDLOCK_SERVERS", open_list, 1) != 0) (void)unsetenv("REDLOCK_SERVERS");
}

/* Whether COMMAND is there: then it is something else that is missing. */
static int is_there(void) {
  const char *at = getenv("PATH");
  char path[4096];
  if (strchr(set.command[0], '/')) return access(set.command[0], X_OK) == 0;
  for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
    (void)snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, set.command[0]);
    if (access(path, X_OK) == 0) return 1;
  }
  return 0;
}

/* Why there is no such file, where that is not plain. */
static const char *slip_of_command(int error) {
  if (error != ENOENT) return "";
  if (is_there()) return ": it is there, but not the interpreter that its first line (#!) names";
  if (strchr(set.command[0], ' ')) return ": if it is a shell's line, write -c before it";
  return strchr(set.command[0], '/') ? "" : ": it is not in PATH";
}

/* In the child. All signals are blocked until none of our handlers is left. */
static void become_command(pid_t parent) {
  int error, i;
  (void)setpgid(0, 0);
#ifdef __linux__
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody extends the lock after our death */
#endif
  if (getppid() != parent) _exit(EXIT_SYSTEM);
  reset_signals();
  for (i = 0; i < IGNORED; i++) (void)sigaction(ignored[i], &old_action[i], NULL);
  set_environment();
  pass_service_on(parent);
  (void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
  (void)execvp(set.command[0], set.command);
  error = errno;
  say("cannot run '%s': %s%s", set.command[0], strerror(error), slip_of_command(error));
  _exit(error == ENOENT && !is_there() ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

static void start_command(void) {
  sigset_t all, mask;
  pid_t parent = getpid();
  catch_signal(SIGTSTP);
  set_action(SIGCONT, on_continue);
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_BLOCK, &all, &mask);
  run.child = fork();
  if (run.child == 0) become_command(parent);
  if (run.child > 0) (void)setpgid(run.child, run.child); /* so does the child: whoever is first */
  (void)sigprocmask(SIG_SETMASK, &mask, NULL);
  if (run.child > 0) return;
  say("cannot start a process for '%s': %s: raise the limit (ulimit -u), or try again later",
      set.command[0], strerror(errno));
  (void)redlock_release(&client, &lock);
  finish(EXIT_SYSTEM);
}

/* ---- The terminal ---------------------------------------------------------------------------- */

/* COMMAND's process group is a background job at first: ^C and ^Z come to us and are passed on. It
   gets the terminal when it asks, that is, when it is stopped for reading from it or changing its
   settings. So a pager after us in a pipeline keeps the terminal unless COMMAND wants it too. */

static int owns_terminal(pid_t group) { return run.tty >= 0 && tcgetpgrp(run.tty) == group; }

static void move_terminal(pid_t source, pid_t target) {
  if (owns_terminal(source)) (void)tcsetpgrp(run.tty, target);
}

/* With a terminal, continue_command is what continues COMMAND. */
static void pass_on(int number) {
  if (number == SIGCONT && run.tty >= 0) return;
  if (number == SIGTSTP) run.told_to_stop = 1;
  if (signal_command(number)) SAY_MORE("passed signal %d on to COMMAND", number);
}

/* All that has come, except SIGTSTP; returns whether that has come. A SIGCHLD tells nothing new,
   since reap is what calls this. */
static int pass_on_waiting(void) {
  int number, stops = 0;
  while ((number = read_signal()) != 0)
    if (number == SIGTSTP) stops = 1;
    else if (number != SIGCHLD) pass_on(number);
  return stops;
}

/* COMMAND was stopped from the terminal, so the shell expects its whole job to stop, and a redlock
   around this one must see the same cause. The lock is not extended meanwhile; continue_command
   looks at it first. In a group that no shell controls the kernel ignores this signal, and we go on
   at once. Returns whether we were stopped. */
static int stop_with_command(int number) {
  struct sigaction old;
  move_terminal(run.child, getpgrp());
  (void)pass_on_waiting();
  (void)sigaction(number, NULL, &old);
  set_action(number, SIG_DFL);
  continued = 0;
  (void)kill(0, number);
  (void)sigaction(number, &old, NULL);
  run.paused = continued;
  return continued;
}

static void guard_lock(void);

/* What ends COMMAND must be there before it runs again: a SIGTERM that is due; and a ^C, or COMMAND
   reads the line typed behind it. A ^Z comes after SIGCONT, which would undo it. */
static void continue_command(void) {
  int stops;
  (void)redlock_step(&client);
  guard_lock();
  run.paused = run.told_to_stop = 0;
  stops = pass_on_waiting();
  (void)signal_command(SIGCONT);
  if (stops && !run.stopping) pass_on(SIGTSTP);
}

/* The kernel hangs up on those who are stopped when the last shell that could continue them goes.
   Who does not end by that stays stopped, or it would ask again at once. */
static void refuse_terminal(void) {
  if (run.refused++) return;
  say("COMMAND wants the terminal, and no shell is left to give it: it gets SIGHUP");
  (void)signal_command(SIGHUP);
  (void)signal_command(SIGCONT);
}

/* Some programs stop themselves when they are told to. */
static void on_command_stopped(int number) {
  int wants = number == SIGTTIN || number == SIGTTOU;
  int had = owns_terminal(run.child);
  if (number == SIGSTOP && (had || run.told_to_stop)) number = SIGTSTP;
  if (run.tty < 0 || (!wants && number != SIGTSTP)) return; /* a debugger or a person did it */
  if ((!wants || !owns_terminal(getpgrp())) && !stop_with_command(number) && wants) {
    refuse_terminal();
    return;
  }
  if (wants || had) move_terminal(getpgrp(), run.child);
  continue_command();
}

/* ---- Holding --------------------------------------------------------------------------------- */

static void stop_command(int exit_status) {
  run.stopping = exit_status;
  run.kill_at_ms = now_ms() + set.kill_ms;
  (void)signal_command(SIGTERM);
  (void)signal_command(SIGCONT); /* a stopped process gets it only then */
}

static void say_loss(void) {
  int64_t left = redlock_remaining_ms(&client, &lock);
  if (lock.operation == REDLOCK_LOST && lock.status == REDLOCK_SYSTEM)
    say("giving up lock '%s': this system's clock cannot be read; stopping COMMAND", set.resource);
  else if (run.paused)
    say("lock '%s' is lost: it ran out while the job was stopped (^Z); stopping COMMAND",
        set.resource);
  else if (count_votes(REDLOCK_VOTE_TAKEN) > count_servers() - quorum())
    say("lock '%s' is lost: most servers no longer have its key (restarted empty, flushed, deleted "
        "by hand?); stopping COMMAND", set.resource);
  else if (left <= 0)
    say("lock '%s' is lost: it expired while this machine was suspended, or too few servers "
        "answered; stopping COMMAND", set.resource);
  else
    say("lock '%s' cannot be extended: too few servers answer; %ld ms are left; stopping COMMAND",
        set.resource, (long)left);
  say_servers();
}

/* SIGTERM when the validity left is just enough to stop COMMAND, and SIGKILL later. */
static void guard_lock(void) {
  if (run.stopping) {
    if (run.killed || now_ms() < run.kill_at_ms) return;
    run.killed = 1;
    if (signal_command(SIGKILL)) SAY_MORE("COMMAND did not stop in time: it is killed");
  } else if (!run.ended && lock.operation == REDLOCK_LOST) {
    int over = lock.status == REDLOCK_LIMIT;
    stop_command(over ? EXIT_MAX_HOLD : EXIT_LOST); /* first of all */
    if (over) say("lock '%s' has been held for --max-hold: stopping COMMAND", set.resource);
    else say_loss();
  }
}

/* ---- What the lock stands on ----------------------------------------------------------------- */

enum { BARE_MS = 5000 }; /* then it is told: by then a name that leads elsewhere is looked up */

static struct {
  int lacks[REDLOCK_MAX_SERVERS]; /* of those whose last answer was that it has no such key */
  int is_bare, is_told;           /* no more than a quorum is well */
  int64_t since_ms;
} stand;

/* A round ends with a quorum's votes, and does not hear the others. */
static int is_missing(int server) {
  redlock_server_info info;
  redlock_vote vote = lock.votes[server];
  (void)redlock_server_status(&client, server, &info);
  if (vote == REDLOCK_VOTE_YES || vote == REDLOCK_VOTE_TAKEN)
    stand.lacks[server] = vote == REDLOCK_VOTE_TAKEN;
  return stand.lacks[server] || !info.connected || info.quarantine_ms > 0 ||
         *redlock_server_error(&client, server);
}

static void say_bare(int has, int count) {
  char text[EXPLANATION];
  int i;
  say("lock '%s' stands on %d of %d servers: %s", set.resource, has, count,
      has < quorum() ? "too few to extend it" : "the loss of one more ends it");
  for (i = 0; i < count; i++)
    if (is_missing(i))
      say("  %.*s: %s", name_of(i).size, name_of(i).at,
          explain(i, text) > 0 ? text : stand.lacks[i] ? "it does not have the lock"
          : "it was away: it gets the lock with an extension");
}

/* Whoever looks after the servers should know before the next one is stopped. One that is back has
   the key with the next extension, and so within a ttl. */
static void watch_quorum(void) {
  int i, is_bare, count = count_servers(), has = count;
  if (count == quorum() || run.stopping || run.ended) return;
  for (i = 0; i < count; i++) has -= is_missing(i);
  is_bare = has <= quorum();
  if (is_bare != stand.is_bare) stand.since_ms = now_ms();
  stand.is_bare = is_bare;
  if (stand.is_told == is_bare) return;
  if (now_ms() - stand.since_ms < (is_bare ? BARE_MS : (int64_t)set.ttl_ms)) return;
  stand.is_told = is_bare;
  if (is_bare) say_bare(has, count);
  else SAY_MORE("lock '%s' stands on %d of %d servers again", set.resource, has, count);
}

/* ---- Holding, to the end --------------------------------------------------------------------- */

/* COMMAND, and whatever else has become our child: process 1 gets all orphans. */
static void reap(void) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (pid != run.child || run.ended) continue;
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
  while ((number = next_signal()) != 0)
    if (!run.ended) pass_on(number);
}

/* When COMMAND is stopped, what it started has to go too. What is killed is gone in a moment. */
static int must_go_on(void) {
  if (!run.ended || !run.stopping) return !run.ended;
  if (kill(-run.child, 0) == 0) return now_ms() < run.kill_at_ms + slack_ms();
  return errno == EPERM && note_foreign();
}

/* Until COMMAND is gone, a lock that could not be kept is extended if that becomes possible, and
   taken again if it is lost. For what cannot be stopped there is no --max-hold. */
static void hold_on(void) {
  int64_t left = redlock_remaining_ms(&client, &lock);
  if (lock.status == REDLOCK_PENDING || left > set.ttl_ms / 2) return;
  if (run.foreign && redlock_keep(&client, &lock, 0) == REDLOCK_OK)
    (void)redlock_cancel(&client, &lock); /* it could not be kept: only its limit is gone */
  if (redlock_start_extend(&client, &lock, set.ttl_ms) == REDLOCK_EXPIRED)
    (void)redlock_start_acquire(&client, &lock, set.resource, set.ttl_ms, REDLOCK_FOREVER);
}

static int hold(void) {
  run.since_ms = now_ms();
  if (redlock_keep(&client, &lock, set.max_hold_ms) != REDLOCK_OK || redlock_step(&client)) {
    say("lock '%s' expired before COMMAND could start (was this machine suspended?): COMMAND did "
        "not run; try again", set.resource);
    return EXIT_LOST;
  }
  start_command();
  keep_unsaid();
  SAY_MORE("COMMAND runs as process %ld", (long)run.child);
  while (must_go_on()) {
    guard_lock();
    wait_for_news(run.stopping ? STOPPING_LOOK_MS : -1);
    take_signals();
    (void)redlock_step(&client); /* a loss shows in the time that remains */
    (void)renew_password();
    follow_names();
    watch_quorum();
    if (run.stopping == EXIT_LOST || (run.stopping && run.foreign)) hold_on();
  }
  move_terminal(run.child, getpgrp());
  if (run.stopping) return run.stopping;
  return WIFEXITED(run.status) ? WEXITSTATUS(run.status) : EXIT_SIGNAL + WTERMSIG(run.status);
}

/* How long the lock must outlast COMMAND; one that is lost must not. */
static int64_t rest_ms(void) {
  if (!run.ended || run.stopping == EXIT_LOST) return 0;
  return run.since_ms + set.min_hold_ms - now_ms();
}

/* It lasts for so long now, on a quorum, or longer if it did anyway. */
static redlock_status leave_lock(int64_t rest) {
  (void)redlock_cancel(&client, &lock); /* it is kept no longer */
  return redlock_extend(&client, &lock, rest > MIN_TTL_MS ? (uint32_t)rest : MIN_TTL_MS);
}

static void say_let_go(redlock_status status, int is_left) {
  if (status == REDLOCK_OK && !is_left) SAY_MORE("released lock '%s'", set.resource);
  if (status == REDLOCK_OK || status == REDLOCK_LIMIT || run.stopping) return;
  if (!is_left) {
    say_unreleased();
    return;
  }
  say("could not keep lock '%s' for --min-hold on most servers: it may be free in %ld ms",
      set.resource, (long)redlock_remaining_ms(&client, &lock));
  say_servers();
}

/* COMMAND has ended. If the lock is gone now, COMMAND was not alone to the end. */
static int let_go(int exit_status) {
  int64_t rest = rest_ms();
  redlock_status status;
  remove_ticket_file();
  status = rest > 0 ? leave_lock(rest) : redlock_release(&client, &lock);
  if (status != REDLOCK_EXPIRED) {
    say_let_go(status, rest > 0);
  } else if (!run.stopping && exit_status != EXIT_LOST) {
    say("lock '%s' was lost before COMMAND ended with status %d: another holder may have run at "
        "the same time; use a longer --ttl, and servers that keep their keys", set.resource,
        exit_status);
    return EXIT_LOST;
  }
  return exit_status;
}

int run_command(void) {
  int status;
  run.tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
  status = let_go(hold());
  say_unsaid();
  return status;
}
