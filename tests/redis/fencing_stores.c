/* fencing_stores.c: R25 at the resource: examples/fencing over real stores. A holder is stopped by
 * SIGSTOP between its read and its write, and its lock's key expires; another one takes the lock
 * over and adds something. Then the first one wakes: its write is refused. Without the check it is
 * not, and the other's addition is lost. */
#include "tests/command/command.h"

#include "wall.h"

enum { N = 3, OLD_S = 600, FIRST = 10, SECOND = 1, ADDED = 0, REFUSED = 2, ATTEMPTS = 10 };

struct store {
  const char *program;
  char where[LINE];    /* the words that say where it is */
  const char *missing; /* why it is not there, or NULL */
};

static struct store sqlite = {"sqlite", "", NULL}, redis = {"redis", "", NULL},
                    postgres = {"postgres", "", NULL};

/* ---- a program that has read the total, and waits for Enter ---- */

struct adding {
  pid_t pid;
  int enter;
  char said[16]; /* its file */
  long before;   /* the total that it has read */
};

/* The last total that it tells. */
static long total_in(const char *file) {
  static const char before[] = "the total is ";
  const char *at, *last = NULL, *text = read_work(file);
  for (at = strstr(text, before); at; at = strstr(at + 1, before)) last = at;
  return CHECK(last != NULL) ? strtol(last + sizeof before - 1, NULL, 10) : -1;
}

static struct adding start_once(const struct store *s, int amount, const char *unchecked) {
  static int number;
  struct adding one;
  char line[LINE], fifo[16];
  snprintf(one.said, sizeof one.said, "said%d", ++number);
  snprintf(fifo, sizeof fifo, "enter%d", number);
  CHECK_EQ(mkfifo(in_work(fifo), 0600), 0);
  one.enter = open(in_work(fifo), O_RDWR | O_CLOEXEC);
  /* gcc 12's search for leaks, at the end, sometimes goes on for ever */
  snprintf(line, sizeof line, "ASAN_OPTIONS=detect_leaks=0 exec $here/../examples/fencing/%s "
           "$REDLOCK_SERVERS %.500s %d %s <$work/%s",
           s->program, s->where, amount, unchecked, fifo);
  one.pid = start_line(line, one.said);
  return one;
}

/* Until it has read, or has told that it got no lock: 0. */
static int gets_lock(const struct adding *one) {
  await_either(one->said, "press Enter", "acquire: ");
  return !told(one->said, "acquire: ");
}

/* A server has 250 ms to reply: on a machine that is slow, or stands still, its acquire may fail,
   and it ends. Then another one is started. */
static struct adding start_adding(const struct store *s, int amount, const char *unchecked) {
  struct adding one = start_once(s, amount, unchecked);
  int attempts;
  for (attempts = 1; attempts < ATTEMPTS && !gets_lock(&one); attempts++) {
    end_of(one.pid);
    close(one.enter);
    one = start_once(s, amount, unchecked);
  }
  await_words(one.said, "press Enter");
  one.before = total_in(one.said);
  return one;
}

/* For as long as its lock lasts, and a little longer. */
static void pause_it(const struct adding *one) {
  kill(one->pid, SIGSTOP);
  servers_command(&real, N, "DEL invoice:42");
}

/* How it ends when it may write. */
static int end_adding(const struct adding *one) {
  int status;
  CHECK(write(one->enter, "\n", 1) == 1);
  kill(one->pid, SIGCONT);
  status = end_of(one->pid);
  close(one->enter);
  return status;
}

/* The total that it leaves. */
static long finish(const struct adding *one) {
  if (!CHECK_EQ(end_adding(one), ADDED)) printf("    said: %s\n", read_work(one->said));
  return total_in(one->said);
}

static long add(const struct store *s, int amount, const char *unchecked) {
  struct adding one = start_adding(s, amount, unchecked);
  return finish(&one);
}

/* ---- tests ---- */

/* NULL = it can be tried. */
static const char *why_not(const struct store *s) {
  if (shell("test -x $here/../examples/fencing/%s", s->program))
    return "it is not built: pkg-config does not know its library";
  return s->missing;
}

/* It wakes when the next holder has read and not written yet: the read has shown the token. */
static void refuses_who_paused(const struct store *s) {
  struct adding first, second;
  if (why_not(s)) SKIP(why_not(s));
  first = start_adding(s, FIRST, "");
  pause_it(&first);
  second = start_adding(s, SECOND, "");
  CHECK_EQ(second.before, first.before);
  CHECK_EQ(end_adding(&first), REFUSED);
  CHECK_EQ(finish(&second), first.before + SECOND);
  CHECK_EQ(add(s, 0, ""), first.before + SECOND);
}

/* Or the test would prove nothing. */
static void loses_an_update_without_the_check(const struct store *s) {
  struct adding first;
  if (why_not(s)) SKIP(why_not(s));
  first = start_adding(s, FIRST, "unchecked");
  pause_it(&first);
  CHECK_EQ(add(s, SECOND, "unchecked"), first.before + SECOND);
  CHECK_EQ(finish(&first), first.before + FIRST);
  CHECK_EQ(add(s, 0, "unchecked"), first.before + FIRST);
}

TEST(sqlite_refuses_a_holder_that_paused) { refuses_who_paused(&sqlite); }
TEST(sqlite_without_the_check_loses_an_update) { loses_an_update_without_the_check(&sqlite); }
TEST(redis_refuses_a_holder_that_paused) { refuses_who_paused(&redis); }
TEST(redis_without_the_check_loses_an_update) { loses_an_update_without_the_check(&redis); }

/* Its server takes a while to start. It prints where it is, or why it is not. */
static struct store *postgres_is_there(void) {
  static const char file[] = "../postgres";
  if (*postgres.where || !await_words(file, "\n")) return &postgres;
  snprintf(postgres.where, sizeof postgres.where, "'%.*s'", (int)strcspn(read_work(file), "\n"),
           read_work(file));
  if (!told(file, "host=")) postgres.missing = postgres.where;
  return &postgres;
}

TEST(postgres_refuses_a_holder_that_paused) { refuses_who_paused(postgres_is_there()); }
TEST(postgres_without_the_check_loses_an_update) {
  loses_an_update_without_the_check(postgres_is_there());
}

/* The servers start with their clocks behind: as soon as these are right, they look old enough for
   the quarantine. */
int main(int argc, char **argv) {
  struct server storage;
  FILE *postgres_server;
  if (servers_missing()) return command_main(argc, argv, N);
  wall_begin();
  wall_set(-OLD_S);
  (void)open_world(argc, argv, N);
  wall_set(0);
  wall_end();
  server_start(&storage, "");
  snprintf(sqlite.where, sizeof sqlite.where, "'%s/invoices.db'", servers_folder());
  snprintf(redis.where, sizeof redis.where, "127.0.0.1 %d", storage.port);
  postgres_server = popen("tests/postgres-server >$work/../postgres", "w");
  check_all();
  pclose(postgres_server);
  server_kill(&storage);
  return close_world();
}
