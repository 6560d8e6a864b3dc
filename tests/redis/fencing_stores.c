/* fencing_stores.c: R25 at the resource: examples/fencing over real stores. A holder is stopped by
 * SIGSTOP between its read and its write, for longer than its lock lasts; another one takes the
 * lock over and adds something. Then the first one wakes: its write is refused. Without the check
 * it is not, and the other's addition is lost. */
#include "real.h"
#include "wall.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3, OLD_S = 60, FIRST = 10, SECOND = 1, ADDED = 0, REFUSED = 2, WORDS = 8, LINE = 512 };

static char here[LINE]; /* the folder of this program */

/* ---- a program with pipes ---- */

struct child {
  pid_t pid;
  int to, from;
};

static void open_pipe(int ends[2]) {
  if (pipe(ends)) exit(1);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}

static struct child start(char *const words[]) {
  struct child child;
  int to[2], from[2];
  open_pipe(to);
  open_pipe(from);
  fflush(stdout);
  child.pid = fork();
  if (child.pid == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    execv(words[0], words);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  child.to = to[1];
  child.from = from[0];
  return child;
}

/* One line, without its end; "" when there is none. */
static const char *hear(struct child child) {
  static char line[LINE];
  size_t size = 0;
  while (size < sizeof line - 1 && read(child.from, line + size, 1) == 1 && line[size] != '\n')
    size++;
  line[size] = '\0';
  return line;
}

static void press_enter(struct child child) { CHECK(write(child.to, "\n", 1) == 1); }

static int await(struct child child) {
  int status = -1;
  close(child.to);
  close(child.from);
  CHECK(waitpid(child.pid, &status, 0) == child.pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the stores ---- */

struct store {
  const char *program, *where, *more; /* more: NULL = one word tells where it is */
  const char *missing;
};

static char *copy(const char *word) {
  static char texts[8 * WORDS][LINE];
  static int next;
  char *to = texts[next++ % (8 * WORDS)];
  snprintf(to, LINE, "%s", word);
  return to;
}

static struct child start_adding(const struct store *s, int amount, int unchecked) {
  char path[LINE], list[SERVERS_LIST], number[16], *words[WORDS];
  int count = 0;
  snprintf(path, sizeof path, "%.400s/../examples/fencing/%s", here, s->program);
  snprintf(number, sizeof number, "%d", amount);
  words[count++] = copy(path);
  words[count++] = copy(servers_list(&real, N, list));
  words[count++] = copy(s->where);
  if (s->more) words[count++] = copy(s->more);
  words[count++] = copy(number);
  if (unchecked) words[count++] = copy("unchecked");
  words[count] = NULL;
  return start(words);
}

static int is_built(const struct store *s) {
  char path[LINE];
  snprintf(path, sizeof path, "%.400s/../examples/fencing/%s", here, s->program);
  return access(path, X_OK) == 0;
}

static long total_in(const char *line) {
  static const char before[] = "the total is ";
  const char *at = strstr(line, before);
  return CHECK(at != NULL) ? strtol(at + sizeof before - 1, NULL, 10) : -1;
}

/* The total that it has read; it waits then. */
static long hear_total(struct child child) {
  const char *line = hear(child);
  CHECK(strstr(line, "press Enter") != NULL);
  return total_in(line);
}

/* The total that it leaves. */
static long finish(struct child child) {
  long total;
  press_enter(child);
  total = total_in(hear(child));
  CHECK_EQ(await(child), ADDED);
  return total;
}

static long add(const struct store *s, int amount, int unchecked) {
  struct child child = start_adding(s, amount, unchecked);
  (void)hear_total(child);
  return finish(child);
}

struct paused {
  struct child child;
  long before; /* the total that it has read */
};

/* Between its read and its write. */
static struct paused pause_one(const struct store *s, int unchecked) {
  struct paused first;
  first.child = start_adding(s, FIRST, unchecked);
  first.before = hear_total(first.child);
  kill(first.child.pid, SIGSTOP);
  return first;
}

/* How it ends. */
static int wake(struct paused first) {
  press_enter(first.child);
  kill(first.child.pid, SIGCONT);
  (void)hear(first.child);
  return await(first.child);
}

/* NULL = it can be tried. */
static const char *why_not(const struct store *s) {
  if (!is_built(s)) return "it is not built: pkg-config does not know its library";
  return s->missing;
}

/* It wakes when the next holder has read and not written yet: the read has shown the token. */
static void refuses_who_paused(const struct store *s) {
  struct paused first;
  struct child second;
  if (why_not(s)) SKIP(why_not(s));
  first = pause_one(s, 0);
  second = start_adding(s, SECOND, 0);
  CHECK_EQ(hear_total(second), first.before);
  CHECK_EQ(wake(first), REFUSED);
  CHECK_EQ(finish(second), first.before + SECOND);
  CHECK_EQ(add(s, 0, 0), first.before + SECOND);
}

/* Or the test would prove nothing. */
static void loses_an_update_without_the_check(const struct store *s) {
  struct paused first;
  if (why_not(s)) SKIP(why_not(s));
  first = pause_one(s, 1);
  CHECK_EQ(add(s, SECOND, 1), first.before + SECOND);
  CHECK_EQ(wake(first), ADDED);
  CHECK_EQ(add(s, 0, 1), first.before + FIRST);
}

/* ---- tests ---- */

static struct store sqlite = {"sqlite", NULL, NULL, NULL};
static struct store redis = {"redis", "127.0.0.1", NULL, NULL};
static struct store postgres = {"postgres", NULL, NULL, NULL};

TEST(sqlite_refuses_a_holder_that_paused) { refuses_who_paused(&sqlite); }
TEST(sqlite_without_the_check_loses_an_update) { loses_an_update_without_the_check(&sqlite); }
TEST(redis_refuses_a_holder_that_paused) { refuses_who_paused(&redis); }
TEST(redis_without_the_check_loses_an_update) { loses_an_update_without_the_check(&redis); }

static struct child postgres_server;

/* It prints where it is, or why it is not. */
static struct store *postgres_is_there(void) {
  static char line[LINE];
  if (*line) return &postgres;
  snprintf(line, sizeof line, "%s", hear(postgres_server));
  if (strncmp(line, "host=", 5) == 0) postgres.where = line;
  else postgres.missing = line;
  return &postgres;
}

TEST(postgres_refuses_a_holder_that_paused) { refuses_who_paused(postgres_is_there()); }
TEST(postgres_without_the_check_loses_an_update) {
  loses_an_update_without_the_check(postgres_is_there());
}

static void tests(void) {
  static char file[LINE], port[8];
  char *words[] = {copy("/bin/sh"), copy("tests/postgres-server"), NULL};
  struct server storage;
  wall_set(0);
  wall_end();
  postgres_server = start(words); /* it takes a while: the others go first */
  server_start(&storage, "");
  snprintf(file, sizeof file, "%s/invoices.db", servers_folder());
  snprintf(port, sizeof port, "%d", storage.port);
  sqlite.where = file;
  redis.more = port;
  check_all();
  (void)await(postgres_server);
  server_kill(&storage);
}

/* The servers start with their clocks behind: as soon as these are right, they look old enough for
   the quarantine. */
int main(int argc, char **argv) {
  snprintf(here, sizeof here, "%.*s", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
  signal(SIGPIPE, SIG_IGN);
  if (!servers_missing()) {
    wall_begin();
    wall_set(-OLD_S);
  }
  return real_main(argc, argv, N, tests);
}
