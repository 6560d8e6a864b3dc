/* tree.c: all that COMMAND has started, wherever it went.
 *
 * Its process group is signalled at once and as a whole. What has left the group (by timeout(1),
 * set -m, setsid) is found on Linux: whoever loses its parent becomes our child, so all that
 * COMMAND has started stands below us, and /proc tells who is whose child. */
#include "command.h"

#include <dirent.h>
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

/* Another redlock passes signals on to all below it, timeout(1) to its group: once is enough. */
enum { GROUP, BEYOND, IN_TIMEOUT, IN_REDLOCK };
enum { MOST = 1024, TICKS_MS = 20 /* two of the clock by which /proc says when a process began */ };

struct process {
  pid_t id, parent, group, session;
  unsigned long long began;
  int where;
  char name[16];
};

static struct process found[MOST]; /* parents first */
static int count;

static struct process self = {0, 0, 0, 0, 0, BEYOND, ""}, command;
static int gathers, sees; /* orphans become our children; and /proc tells of them */
static int had_some;      /* children, before COMMAND was started */
static int is_group_gone; /* and its number may come again */

/* ---- What /proc tells ------------------------------------------------------------------------ */

static int read_text(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
  if (fd >= 0) (void)close(fd);
  if (got < 0) return 0;
  text[got] = '\0';
  return 1;
}

/* Whether it is there. Any bytes may stand in its name. */
static int look_at(pid_t id, struct process *it) {
  char path[32], text[1024], *name, *end;
  int parent, group, session;
  (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)id);
  if (!read_text(path, text, sizeof text)) return 0;
  name = strchr(text, '(');
  end = strrchr(text, ')');
  if (!name || !end ||
      sscanf(end, ") %*c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
             &parent, &group, &session, &it->began) != 4)
    return 0;
  (void)snprintf(it->name, sizeof it->name, "%.*s", (int)(end - name - 1), name + 1);
  it->id = id;
  it->parent = (pid_t)parent;
  it->group = (pid_t)group;
  it->session = (pid_t)session;
  return 1;
}

/* Ours below us may be older than COMMAND: a script's that has become redlock. Look-ups of names
   are in our group. */
static int is_of_command(const struct process *it) {
  return it->began >= command.began && (it->parent != self.id || it->group != self.group);
}

static int is_known(pid_t id) {
  int i;
  for (i = 0; i < count; i++)
    if (found[i].id == id) return 1;
  return 0;
}

static int place_of(const struct process *it, const struct process *parent) {
  if (it->group == command.id) return GROUP;
  if (strcmp(parent->name, self.name) == 0 && parent->id != self.id) return IN_REDLOCK;
  if (parent->where == IN_REDLOCK) return IN_REDLOCK;
  if (it->group != parent->group) return BEYOND;
  return strcmp(parent->name, "timeout") == 0 ? IN_TIMEOUT : parent->where;
}

static void add(pid_t id, const struct process *parent) {
  struct process *it = &found[count];
  if (count == MOST || is_known(id) || !look_at(id, it) || !is_of_command(it)) return;
  it->where = place_of(it, parent);
  count++;
}

/* Of one thread. A number may stand on both sides of a piece's end. */
static int add_children_of(const struct process *parent, const char *thread) {
  char path[300], text[4096];
  size_t kept = 0;
  ssize_t got;
  int fd;
  (void)snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)parent->id, thread);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  while ((got = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
    char *at = text, *blank;
    text[kept + (size_t)got] = '\0';
    while ((blank = strchr(at, ' ')) != NULL) {
      add((pid_t)strtol(at, NULL, 10), parent);
      at = blank + 1;
    }
    kept = strlen(at);
    memmove(text, at, kept + 1);
  }
  (void)close(fd);
  return 1;
}

/* Returns whether they could be looked for. */
static int add_children(const struct process *parent) {
  char path[32];
  struct dirent *entry;
  int seen = 0;
  DIR *threads;
  (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)parent->id);
  threads = opendir(path);
  while (threads && (entry = readdir(threads)) != NULL)
    if (*entry->d_name != '.') seen += add_children_of(parent, entry->d_name);
  if (threads) (void)closedir(threads);
  return seen;
}

/* Who forks and ends meanwhile moves its children: again, until there is nobody new. */
static void find_all(void) {
  int before, i;
  count = 0;
  if (!sees) return;
  do {
    before = count;
    (void)add_children(&self);
    for (i = 0; i < count; i++) (void)add_children(&found[i]);
  } while (count > before);
}

/* ---- Before COMMAND, and when it is there ---------------------------------------------------- */

/* A number of /proc must mean to kill what it means there: it may be that of another namespace. */
static int can_look(void) {
  char text[24] = "";
  return readlink("/proc/self", text, sizeof text - 1) > 0 &&
         strtol(text, NULL, 10) == (long)getpid() && look_at(getpid(), &self) &&
         add_children(&self);
}

static int have_children(void) {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* COMMAND is to be younger than those that are ours already. */
void gather_orphans(void) {
#ifdef __linux__
  gathers = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
#endif
  had_some = have_children();
  if (had_some) (void)poll(NULL, 0, TICKS_MS);
}

void know_command(pid_t id) {
  sees = gathers && can_look() && look_at(id, &command);
  command.id = id;
}

/* ---- Signals --------------------------------------------------------------------------------- */

static int kill_group(int number) {
  errno = ESRCH;
  return is_group_gone ? -1 : kill(-command.id, number);
}

enum heard signal_group(int number) {
  if (kill_group(number) == 0) return HEARD;
  return errno == EPERM ? DENIED : UNHEARD;
}

/* A number comes again only when all others have had their turn. */
static int is_still(const struct process *it) {
  struct process now;
  return look_at(it->id, &now) && now.began == it->began;
}

/* What is stopped from the terminal is of its session. */
static int is_for(const struct process *it, int number) {
  int is_handed_on = number == SIGTERM || number == SIGINT || number == SIGHUP ||
                     number == SIGQUIT || number == SIGALRM;
  if (it->where == GROUP || (it->where != BEYOND && is_handed_on)) return 0;
  return number != SIGTSTP || it->session == self.session;
}

/* To those that were found beyond the group. */
static enum heard signal_found(int number) {
  enum heard heard = UNHEARD;
  int i;
  for (i = 0; i < count; i++) {
    if (!is_for(&found[i], number) || !is_still(&found[i])) continue;
    if (kill(found[i].id, number) == 0) heard = heard == UNHEARD ? HEARD : heard;
    else if (errno == EPERM) heard = DENIED;
  }
  return heard;
}

enum heard signal_beyond(int number) {
  find_all();
  return signal_found(number);
}

/* They are found before the first one can end by it, for then its children move. */
enum heard signal_all(int number) {
  enum heard group, beyond;
  find_all();
  group = signal_group(number);
  beyond = signal_found(number);
  return group == DENIED || beyond == UNHEARD ? group : beyond;
}

/* ---- Who is left ----------------------------------------------------------------------------- */

/* Each of them is below a child of ours. */
static int find_children(void) {
  count = 0;
  return sees && add_children(&self);
}

enum left who_is_left(void) {
  enum left left = NOBODY;
  int i;
  if (kill_group(0) == 0) return SOMEBODY;
  if (errno == EPERM) left = FOREIGN;
  else is_group_gone = 1;
  if (!gathers || !have_children()) return left;
  if (!find_children()) return had_some ? left : UNSEEN;
  for (i = 0; i < count; i++) {
    if (kill(found[i].id, 0) == 0) return SOMEBODY;
    if (errno == EPERM) left = FOREIGN;
  }
  return left;
}

void name_left(char text[NAME_LEFT]) {
  char others[24] = "";
  (void)find_children();
  if (count > 1) (void)snprintf(others, sizeof others, " and %d more", count - 1);
  if (count == 0) (void)snprintf(text, NAME_LEFT, "a process");
  else
    (void)snprintf(text, NAME_LEFT, "process %ld (%s)%s", (long)found[0].id, found[0].name, others);
}
