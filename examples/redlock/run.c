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
#include <sys/syscall.h>
long syscall(long number, ...); /* which POSIX does not know */
#endif

/* At what COMMAND has started, of which not all is heard, and the lock */
enum { STOPPING_LOOK_MS = 10, ENDING_LOOK_MS = 50 };
enum { TIMED_OUT = 124 }; /* the status of timeout(1), which does not wait for all either */
enum { TELL_LEFT_MS = 1000 }; /* then it is told who holds the lock behind COMMAND's end */

/* ---- Signals --------------------------------------------------------------------------------- */

/* Handlers write the signal's number to a pipe that the poll loop reads. */
int signal_pipe[2];

#ifdef SIGRTMAX
#define LAST_SIGNAL SIGRTMAX
#else
#define LAST_SIGNAL 31
#endif

/* All that is not here is passed on to COMMAND, and ends the wait before it runs: none but SIGKILL
   ends us while we hold a lock. Not every system has, or shows, all of these. */
enum kind {
  KEPT = 1, /* by default it ends no program; or redlock has its own use for it */
  ENDING,   /* COMMAND's time is over, and that of all that it has started */
  FAULT     /* passed on if it comes from elsewhere, and else a slip of our own */
};

static const struct {
  int number;
  enum kind kind;
} known_signals[] = {
  {SIGKILL, KEPT}, {SIGSTOP, KEPT}, {SIGCHLD, KEPT}, {SIGCONT, KEPT}, {SIGTSTP, KEPT},
  {SIGTTIN, KEPT}, {SIGTTOU, KEPT}, {SIGPIPE, KEPT},
  {SIGINT, ENDING}, {SIGTERM, ENDING}, {SIGHUP, ENDING}, {SIGQUIT, ENDING}, {SIGALRM, ENDING},
  {SIGSEGV, FAULT}, {SIGBUS, FAULT}, {SIGFPE, FAULT}, {SIGILL, FAULT},
#ifdef SIGXFSZ
  {SIGXFSZ, KEPT},
#endif
#ifdef SIGURG
  {SIGURG, KEPT},
#endif
#ifdef SIGWINCH
  {SIGWINCH, KEPT},
#endif
#ifdef SIGINFO
  {SIGINFO, KEPT},
#endif
#ifdef SIGXCPU
  {SIGXCPU, ENDING},
#endif
#ifdef SIGVTALRM
  {SIGVTALRM, ENDING},
#endif
#ifdef SIGPROF
  {SIGPROF, ENDING},
#endif
#ifdef SIGPWR
  {SIGPWR, ENDING},
#endif
#ifdef SIGTRAP
  {SIGTRAP, FAULT},
#endif
#ifdef SIGSYS
  {SIGSYS, FAULT},
#endif
};
enum { KNOWN = sizeof known_signals / sizeof *known_signals };

static int is_of(int number, enum kind kind) {
  int i = 0;
  while (i < KNOWN && known_signals[i].number != number) i++;
  return i < KNOWN && known_signals[i].kind == kind;
}

static int is_passed_on(int number) { return !is_of(number, KEPT); }
static int ends_all(int number) { return is_of(number, ENDING); }

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

static int set_action(int number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return sigaction(number, &action, NULL);
}

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_code <= 0) { /* from elsewhere */
    on_signal(number);
    return;
  }
  (void)set_action(number, SIG_DFL);
  (void)raise(number);
}

/* What nohup(1) or a shell ignores stays ignored, also in COMMAND. A sanitizer keeps its own. */
static void catch_signal(int number) {
  struct sigaction action;
  if (sigaction(number, NULL, &action) != 0 || action.sa_handler != SIG_DFL) return;
  if (!is_of(number, FAULT)) {
    (void)set_action(number, on_signal);
    return;
  }
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  (void)sigaction(number, &action, NULL);
}

static int is_caught(const struct sigaction *action) {
  return action->sa_handler == on_signal || action->sa_sigaction == on_fault;
}

/* A message to a closed stderr, or to a file that may not grow, must not end us while we hold a
   lock; we pass the terminal on while we are in the background; and a pager in our group that is
   stopped for reading does not stop us, for COMMAND would run on. */
static const int ignored[] = {
#ifdef SIGXFSZ
  SIGXFSZ,
#endif
  SIGPIPE, SIGTTOU, SIGTTIN
};
enum { IGNORED = sizeof ignored / sizeof *ignored };

/* What COMMAND is to have again. */
static struct sigaction old_action[IGNORED];
static sigset_t old_mask;

static void ignore_signals(void) {
  int i;
  for (i = 0; i < IGNORED; i++) {
    (void)sigaction(ignored[i], NULL, &old_action[i]);
    (void)set_action(ignored[i], SIG_IGN);
  }
}

/* A process may be started with all signals blocked; then COMMAND's end would not be heard of, nor
   what is to be passed on. */
static void unblock_signals(void) {
  sigset_t heard;
  int number;
  (void)sigemptyset(&heard);
  (void)sigaddset(&heard, SIGCHLD);
  (void)sigaddset(&heard, SIGTSTP);
  (void)sigaddset(&heard, SIGCONT);
  for (number = 1; number <= LAST_SIGNAL; number++)
    if (is_passed_on(number)) (void)sigaddset(&heard, number);
  (void)sigprocmask(SIG_UNBLOCK, &heard, &old_mask);
}

/* libc keeps signals for its threads, and hides them: they would end us too. The kernel's structure
   begins with the handler. */
#if defined(__linux__) && defined(SIGRTMIN)
enum { FIRST_HIDDEN = 32, HIDDEN = 4, KERNEL_SET = 8, KERNEL_ACTION = 16 };
static unsigned long old_hidden[HIDDEN][KERNEL_ACTION];

static void change_hidden_signals(int ignore) {
  unsigned long action[KERNEL_ACTION] = {0};
  int i;
  *action = (unsigned long)(uintptr_t)SIG_IGN;
  for (i = 0; i < HIDDEN && FIRST_HIDDEN + i < SIGRTMIN; i++)
    (void)syscall(SYS_rt_sigaction, FIRST_HIDDEN + i, ignore ? action : old_hidden[i],
                  ignore ? old_hidden[i] : NULL, KERNEL_SET);
}
#else
static void change_hidden_signals(int ignore) { (void)ignore; }
#endif

/* One that could block would keep the guard from the lock. */
static void open_signal_pipe(void) {
  int i, failed = pipe(signal_pipe);
  for (i = 0; i < 2 && !failed; i++)
    failed = fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC) != 0 ||
             fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK) != 0;
  if (!failed) return;
  say("cannot create a pipe: %s: %s", strerror(errno),
      errno == EPERM || errno == EACCES ? "allow fcntl(2)" : "raise the limit (ulimit -n)");
  exit(EXIT_SYSTEM);
}

static int read_signal(void) {
  unsigned char number;
  return read(signal_pipe[0], &number, 1) == 1 ? number : 0;
}

static pid_t reap(void);

int next_signal(void) {
  int number;
  while ((number = read_signal()) == SIGCHLD) (void)reap();
  return number;
}

/* A sandbox may let us run a command, and not let us hear of its end: the lock would be held for
   ever behind that. Those that looked names up have ended before we heard of ends. */
static void hear_of_ends(void) {
  const char *call = set_action(SIGCHLD, on_signal) != 0 ? "rt_sigaction"
                     : reap() < 0 && errno != ECHILD ? "wait4" : NULL;
  if (!call || !set.command) return;
  say("cannot be told of the end of '%s': %s: allow %s(2)", set.command[0], strerror(errno), call);
  exit(EXIT_SYSTEM);
}

void catch_signals(void) {
  int i;
  ignore_signals();
  open_signal_pipe();
  hear_of_ends();
  for (i = 1; i <= LAST_SIGNAL; i++)
    if (is_passed_on(i)) catch_signal(i);
  unblock_signals();
  change_hidden_signals(1);
}

/* ---- The command ----------------------------------------------------------------------------- */

static struct run {
  pid_t child;        /* also the id of its process group */
  int ended, status;  /* as waitpid tells it */
  int stopping;       /* the exit status that says why it is stopped; 0 = it is not */
  int killed;
  int paused;         /* it was, from the terminal, until just now */
  int foreign;        /* a part of COMMAND cannot be signalled, and that is told */
  int told_to_end;    /* by a signal: it is over when all that it has started is */
  int tells_left;     /* who that is, and that is told */
  int told_to_stop;   /* by a SIGTSTP that was passed on */
  int refused;        /* the terminal, which nobody can give to it */
  int64_t kill_at_ms, ended_ms;
  int64_t gone_by_ms; /* after SIGKILL; 0 = it has not been sent */
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

/* Where /proc does not tell of it. Returns 1. */
static int note_unseen(void) {
  if (!run.foreign)
    say("'%s' has started what is no longer in its process group, and without /proc no signal can "
        "stop it: the lock is held until it ends", set.command[0]);
  return run.foreign = 1;
}

static int note_heard(enum heard heard) {
  if (heard == DENIED) (void)note_foreign();
  return heard == HEARD;
}

/* COMMAND, its process group, and what has left that if the signal is for all. Returns whether a
   part of it got it. */
static int signal_command(int number) {
  int is_for_all = ends_all(number) || number == SIGKILL || number == SIGCONT || number == SIGTSTP;
  return note_heard(is_for_all ? signal_all(number) : signal_group(number));
}

/* Only what exec would not reset. */
static void reset_signals(void) {
  struct sigaction old;
  int number;
  for (number = 1; number <= LAST_SIGNAL; number++)
    if (sigaction(number, NULL, &old) == 0 && is_caught(&old)) (void)set_action(number, SIG_DFL);
  (void)set_action(SIGCHLD, SIG_DFL);
  (void)set_action(SIGTSTP, SIG_DFL);
  (void)set_action(SIGCONT, SIG_DFL);
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
  if (setpgid(0, 0) != 0) {
    say("no process group can be made for '%s': %s: it did not run; allow setpgid(2)",
        set.command[0], strerror(errno));
    _exit(EXIT_SYSTEM);
  }
#ifdef __linux__
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody extends the lock after our death */
#endif
  if (getppid() != parent) _exit(EXIT_SYSTEM);
  reset_signals();
  change_hidden_signals(0);
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
  (void)set_action(SIGCONT, on_continue);
  gather_orphans();
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_BLOCK, &all, &mask);
  run.child = fork();
  if (run.child == 0) become_command(parent);
  if (run.child > 0) (void)setpgid(run.child, run.child); /* so does the child: whoever is first */
  if (run.child > 0) know_command(run.child);
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
  if (ends_all(number)) run.told_to_end = 1;
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

/* COMMAND was stopped from the terminal, so the shell expects its whole job to stop, what has left
   its group too, and a redlock around this one must see the same cause. The lock is not extended
   meanwhile; continue_command looks at it first. In a group that no shell controls the kernel
   ignores this signal, and we go on at once. Returns whether we were stopped. */
static int stop_with_command(int number) {
  struct sigaction old;
  move_terminal(run.child, getpgrp());
  (void)pass_on_waiting();
  (void)signal_beyond(SIGTSTP);
  (void)sigaction(number, NULL, &old);
  (void)set_action(number, SIG_DFL);
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
  (void)note_heard(signal_group(SIGHUP));
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

/* SIGTERM when the validity left is just enough to stop COMMAND, and SIGKILL later, to all that it
   has started. */
static void guard_lock(void) {
  if (run.stopping) { /* and again what is started meanwhile */
    if (now_ms() < run.kill_at_ms) return;
    if (signal_command(SIGKILL) && !run.killed++)
      SAY_MORE("COMMAND did not stop in time: it is killed");
    if (!run.gone_by_ms) run.gone_by_ms = now_ms() + slack_ms();
  } else if (lock.operation == REDLOCK_LOST) {
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
  warn("lock '%s' stands on %d of %d servers: %s", set.resource, has, count,
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
  if (count == quorum() || run.stopping) return;
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

/* As a shell tells of it, timeout(1) too. 0 = COMMAND has ended by itself. */
static int signal_that_ended(int status) {
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  if (code == TIMED_OUT) return SIGTERM;
  return code > EXIT_SIGNAL && code <= EXIT_SIGNAL + LAST_SIGNAL ? code - EXIT_SIGNAL : 0;
}

/* What was ended by a signal meant to leave nothing behind. One that came from elsewhere, as from
   the terminal, its group has; the rest of it has not. */
static void on_command_ended(int status) {
  int number = signal_that_ended(status), is_new = !run.told_to_end;
  run.ended = 1;
  run.ended_ms = now_ms();
  run.status = status;
  if (number) run.told_to_end = 1;
  if (is_new && WIFSIGNALED(status) && ends_all(number)) (void)note_heard(signal_beyond(number));
}

/* COMMAND, and whatever else has become our child: all orphans of what it has started. Returns what
   waitpid does in the end: 0 = others are there, < 0 = none, or errno says more. */
static pid_t reap(void) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    int is_command = pid == run.child && !run.ended;
    if (WIFSTOPPED(status)) {
      if (is_command || getpgid(pid) == run.child) on_command_stopped(WSTOPSIG(status));
    } else if (is_command) {
      on_command_ended(status);
    }
  }
  return pid;
}

/* Where COMMAND is to end, all that it has started is to. After a suspend, it is past the time for
   SIGKILL, and that has not been sent. */
static int is_left(void) {
  enum left left = who_is_left();
  if (!run.stopping) return run.told_to_end && left != NOBODY;
  if (left == SOMEBODY) return !run.gone_by_ms || now_ms() < run.gone_by_ms;
  return left == FOREIGN ? note_foreign() : left == UNSEEN ? note_unseen() : 0;
}

static int must_go_on(void) { return !run.ended || is_left(); }

static void take_signals(void) {
  int number;
  while ((number = next_signal()) != 0)
    if (must_go_on()) pass_on(number);
}

/* Whoever waits for the lock may wonder. The terminal's ^C is for them now, unless one of COMMAND's
   group has it. */
static void wait_for_the_rest(void) {
  char name[NAME_LEFT];
  if (!run.ended) return;
  if (signal_group(0) == UNHEARD) move_terminal(run.child, getpgrp());
  if (run.stopping || run.tells_left || now_ms() < run.ended_ms + TELL_LEFT_MS) return;
  run.tells_left = 1;
  name_left(name);
  warn("COMMAND has ended, and what it started goes on: %s: lock '%s' is held until that ends",
       name, set.resource);
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

/* A COMMAND that succeeds may mean to leave something. */
static void tell_of_the_rest(int status) {
  char name[NAME_LEFT];
  if (who_is_left() == NOBODY) return;
  name_left(name);
  if (run.stopping) say("COMMAND does not end, in spite of SIGKILL: %s is still there", name);
  else if (!status) SAY_MORE("COMMAND has ended, and what it started goes on without the lock: %s",
                             name);
  else
    warn("COMMAND ended with status %d, and what it started goes on without the lock: %s", status,
         name);
}

static int hold(void) {
  int status;
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
    wait_for_the_rest();
    wait_for_news(run.stopping ? STOPPING_LOOK_MS : run.ended ? ENDING_LOOK_MS : -1);
    take_signals();
    (void)redlock_step(&client); /* a loss shows in the time that remains */
    (void)(renew_password() || renew_certificates());
    follow_names();
    watch_quorum();
    if (run.stopping == EXIT_LOST || (run.stopping && run.foreign)) hold_on();
  }
  move_terminal(run.child, getpgrp());
  status = WIFEXITED(run.status) ? WEXITSTATUS(run.status) : EXIT_SIGNAL + WTERMSIG(run.status);
  tell_of_the_rest(status);
  return run.stopping ? run.stopping : status;
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
  warn("could not keep lock '%s' for --min-hold on most servers: it may be free in %ld ms",
       set.resource, (long)redlock_remaining_ms(&client, &lock));
  say_servers();
}

/* COMMAND has ended. If the lock is gone now, COMMAND was not alone to the end. */
static int let_go(int exit_status) {
  int64_t rest = rest_ms();
  redlock_status status = rest > 0 ? leave_lock(rest) : redlock_release(&client, &lock);
  if (status != REDLOCK_NO_QUORUM || rest > 0) remove_ticket_file(); /* or whoever has it may try */
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
