/* demo.c: Redlock on five real servers, in a few scenes. Run it by `make demo`.
 *
 * Everything that it starts ends with it, also on Ctrl-C. Its exit status is 0 when every scene
 * went as it should. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/deployed.h"
#include "tests/servers.h"
#include "tests/timing.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERVERS = 5, ROUNDS = 200, TTL_MS = 10000, WAIT_MS = 5000, TIMEOUT_MS = 500, SLOWER = 5,
       SHORT_MS = 2000, ROLL_MS = 300 };

static struct servers servers;
static char list[SERVERS_LIST];
static double healthy_us;
static int failures;

/* ---- the transcript ---- */

static void title(const char *text) {
  static int number;
  printf("\n%d. %s\n", ++number, text);
}

#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("   ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
}

/* What a scene promises. */
static int expect(int truth, const char *promise) {
  if (truth) return 1;
  say("NOT SO: %s", promise);
  failures++;
  return 0;
}

/* ---- the client ---- */

/* The time-out is long, so that waiting for a lost server would show, even now and then. */
static int open_with(redlock *rl, uint32_t max_ttl_ms, uint32_t fencing) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = TIMEOUT_MS;
  options.max_ttl_ms = max_ttl_ms;
  options.fencing = fencing;
  options.username = "locks";
  options.password = DEPLOYED_LOCKS;
  return expect(redlock_init(rl, list, &options) == REDLOCK_OK, "a client starts");
}

static int open_wary_client(redlock *rl, uint32_t max_ttl_ms) {
  return open_with(rl, max_ttl_ms, 0);
}

static int open_client(redlock *rl) { return open_wary_client(rl, 0); }

static int acquire(redlock *rl, redlock_lock *lock, uint32_t wait_ms) {
  redlock_status status = redlock_acquire(rl, lock, "invoice:42", TTL_MS, wait_ms);
  return status == REDLOCK_OK || expect(0, redlock_strerror(status));
}

static int release(redlock *rl, redlock_lock *lock) {
  redlock_status status = redlock_release(rl, lock);
  return status == REDLOCK_OK || expect(0, redlock_strerror(status));
}

/* The median of an acquire with its release, in microseconds. */
static double cycle_us(redlock *rl) {
  static int64_t figures[ROUNDS];
  redlock_lock lock;
  int i;
  for (i = 0; i < ROUNDS; i++) {
    int64_t start = timing_us();
    if (!acquire(rl, &lock, WAIT_MS) || !release(rl, &lock)) return 0;
    figures[i] = timing_us() - start;
  }
  return (double)timing_median(figures, ROUNDS);
}

static void compare(redlock *rl, const char *with) {
  double us = cycle_us(rl);
  say("%d x acquire and release %s: median %.0f us, %.2f of the healthy %.0f us", ROUNDS, with, us,
      us / healthy_us, healthy_us);
  expect(us > 0 && us < SLOWER * healthy_us, "as fast as with all of them");
}

/* ---- scenes ---- */

static void scene_healthy(redlock *rl) {
  title("five servers, all healthy");
  healthy_us = cycle_us(rl);
  say("%d x acquire and release: median %.0f us", ROUNDS, healthy_us);
  expect(healthy_us > 0, "every one of them is granted");
}

static void tell(int fd, char what) {
  expect(write(fd, &what, 1) == 1, "the two processes can talk");
}

static char hear(int fd) {
  char what = 0;
  return read(fd, &what, 1) == 1 ? what : 0;
}

/* The second process: tries once, then waits. Returns its exit status. */
static int contend(int to, int from) {
  redlock rl;
  redlock_lock lock;
  redlock_status status;
  int64_t start;
  if (!open_client(&rl)) return 1;
  status = redlock_acquire(&rl, &lock, "invoice:42", TTL_MS, 0);
  say("process %ld tries once: %s", (long)getpid(), redlock_strerror(status));
  expect(status == REDLOCK_TAKEN, "it is told that the lock is taken");
  tell(to, 't');
  hear(from);
  start = timing_ms();
  if (acquire(&rl, &lock, WAIT_MS))
    say("process %ld waits, and gets it after %ld ms", (long)getpid(), (long)(timing_ms() - start));
  release(&rl, &lock);
  redlock_close(&rl);
  fflush(stdout);
  return failures != 0;
}

/* What a client that only blocks does between pieces of its work: it reads late replies. */
static void work_for(redlock *rl, int64_t ms) {
  int64_t end = timing_ms() + ms;
  while (timing_ms() < end) (void)redlock_wait(rl, end - timing_ms());
}

/* The first process holds the lock until the second has been refused, and a little longer. */
static void hold_against(redlock *rl, redlock_lock *lock, int to, int from) {
  hear(from);
  tell(to, 'g');
  work_for(rl, 100); /* under the lock, while the other one waits */
  if (release(rl, lock)) say("process %ld releases it", (long)getpid());
  fflush(stdout);
}

static void scene_contention(redlock *rl) {
  redlock_lock lock;
  int there[2], back[2], status = 1;
  pid_t pid;
  title("two processes want one lock");
  if (!expect(pipe(there) == 0 && pipe(back) == 0, "there are pipes")) return;
  if (!acquire(rl, &lock, 0)) return;
  say("process %ld has it for %ld ms", (long)getpid(), (long)redlock_remaining_ms(rl, &lock));
  fflush(stdout);
  pid = fork();
  if (pid == 0) _exit(contend(back[1], there[0]));
  hold_against(rl, &lock, there[1], back[0]);
  waitpid(pid, &status, 0);
  expect(status == 0, "the second process ends well");
  close(there[0]);
  close(there[1]);
  close(back[0]);
  close(back[1]);
}

static void scene_extension(redlock *rl) {
  redlock_lock lock;
  title("a lock is extended, and never shortened");
  if (!acquire(rl, &lock, WAIT_MS)) return;
  say("acquired for %d ms: %ld ms are left", TTL_MS, (long)redlock_remaining_ms(rl, &lock));
  expect(redlock_extend(rl, &lock, 3 * TTL_MS) == REDLOCK_OK, "it is extended");
  say("extended to %d ms: %ld ms are left", 3 * TTL_MS, (long)redlock_remaining_ms(rl, &lock));
  expect(redlock_extend(rl, &lock, TTL_MS) == REDLOCK_OK, "it is extended again");
  say("extended to %d ms: %ld ms are left", TTL_MS, (long)redlock_remaining_ms(rl, &lock));
  expect(redlock_remaining_ms(rl, &lock) > TTL_MS, "the longer time stands");
  release(rl, &lock);
}

/* Three of five forget: one loses its disk, two were down when the lock was taken. */
static int hold_and_forget(redlock *holder, redlock_lock *held) {
  int i;
  server_kill(&servers.at[0]);
  server_kill(&servers.at[1]);
  if (!expect(redlock_acquire(holder, held, "invoice:42", SHORT_MS, WAIT_MS) == REDLOCK_OK,
              "old servers are trusted"))
    return 0;
  say("servers 0 and 1 are down: a client takes the lock on 2, 3 and 4 for %d ms", SHORT_MS);
  server_lose_disk(&servers.at[2]);
  for (i = 0; i < 3; i++) server_restart(&servers.at[i]);
  say("2 loses its disk; 0, 1 and 2 are back: a majority knows nothing of the lock");
  return 1;
}

/* What a second client gets, and for how long the first one still holds the lock. */
static redlock_status intrude(const char *who, uint32_t max_ttl_ms, uint32_t wait_ms,
                              const redlock *holder, const redlock_lock *held) {
  redlock rl;
  redlock_lock lock;
  if (!open_wary_client(&rl, max_ttl_ms)) return REDLOCK_SYSTEM;
  redlock_acquire(&rl, &lock, "invoice:42", SHORT_MS, wait_ms);
  say("%s: %s; the first one still has %ld ms", who, redlock_strerror(lock.status),
      (long)redlock_remaining_ms(holder, held));
  if (lock.status == REDLOCK_OK) redlock_release(&rl, &lock);
  redlock_close(&rl);
  return lock.status;
}

static void scene_forgotten(void) {
  redlock holder;
  redlock_lock held;
  title("servers forget while a lock is held: without max_ttl_ms, and with it");
  if (!open_wary_client(&holder, SHORT_MS)) return;
  if (hold_and_forget(&holder, &held)) {
    expect(intrude("a second client, without max_ttl_ms", 0, 0, &holder, &held) == REDLOCK_OK &&
               redlock_remaining_ms(&holder, &held) > 0, "two hold one lock");
    expect(intrude("a second client, with max_ttl_ms", SHORT_MS, 0, &holder, &held) != REDLOCK_OK,
           "it is refused");
    expect(intrude("with it, waiting", SHORT_MS, WAIT_MS, &holder, &held) == REDLOCK_OK &&
               redlock_remaining_ms(&holder, &held) == 0, "it comes after the first one");
  }
  redlock_close(&holder);
}

static void scene_killed(redlock *rl) {
  title("a server is killed (kill -9)");
  server_kill(&servers.at[0]);
  compare(rl, "with one dead");
  server_restart(&servers.at[0]);
}

/* The last releases may still be under way. */
static long keys_left(redlock *rl, const struct server *server) {
  long keys = server_number(server, "DBSIZE");
  int looks;
  for (looks = 0; looks < 100 && keys > 0; looks++) {
    work_for(rl, 10);
    keys = server_number(server, "DBSIZE");
  }
  return keys;
}

static void scene_frozen(redlock *rl) {
  redlock_lock lock;
  long keys;
  title("a server is frozen (SIGSTOP): it accepts connections and answers nothing");
  server_freeze(&servers.at[1]);
  compare(rl, "with one frozen");
  server_thaw(&servers.at[1]);
  if (acquire(rl, &lock, WAIT_MS)) release(rl, &lock);
  keys = keys_left(rl, &servers.at[1]);
  say("thawed: %ld keys of all those locks are left on it", keys);
  expect(keys == 0, "each release came behind its lock");
}

static void tell_refusal(const redlock *rl, const redlock_lock *lock, int64_t took_ms) {
  int i;
  say("refused after %ld ms: %s", (long)took_ms, redlock_strerror(lock->status));
  for (i = 0; i < SERVERS; i++) {
    const char *error = redlock_server_error(rl, i);
    say("  server %d (port %d): %s", i, servers.at[i].port, *error ? error : "no error");
  }
}

static void scene_majority_down(redlock *rl) {
  redlock_lock lock;
  int64_t start;
  int i;
  title("a majority is down: two dead, one frozen");
  server_kill(&servers.at[0]);
  server_kill(&servers.at[1]);
  server_freeze(&servers.at[2]);
  start = timing_ms();
  expect(redlock_acquire(rl, &lock, "invoice:42", TTL_MS, 0) == REDLOCK_NO_QUORUM,
         "the lock is refused");
  tell_refusal(rl, &lock, timing_ms() - start);
  for (i = 3; i < SERVERS; i++)
    expect(strcmp(server_command(&servers.at[i], "EXISTS invoice:42"), "0") == 0,
           "no key is left behind");
}

static void scene_healed(redlock *rl) {
  redlock_lock lock;
  title("all servers are back");
  servers_heal(&servers);
  if (acquire(rl, &lock, WAIT_MS)) say("the lock is granted again");
  release(rl, &lock);
}

/* The resource keeps the greatest token that it has seen, and refuses a smaller one. */
static int write_total(const struct server *storage, const redlock_lock *lock, int total) {
  const char *reply = server_command(
      storage,
      "EVAL \"if (redis.call('get', KEYS[2]) or '0') + 0 > ARGV[1] + 0 then return 0 end "
      "redis.call('set', KEYS[2], ARGV[1]) redis.call('set', KEYS[1], ARGV[2]) return 1\" "
      "2 total token %llu %d",
      (unsigned long long)lock->token, total);
  return strcmp(reply, "1") == 0;
}

static int take_fenced(redlock *rl, redlock_lock *lock) {
  int64_t start = timing_ms();
  if (!open_with(rl, SHORT_MS, 1)) return 0;
  redlock_acquire(rl, lock, "invoice:43", SHORT_MS, 2 * WAIT_MS);
  if (!expect(lock->status == REDLOCK_OK, redlock_strerror(lock->status))) return 0;
  say("process %ld gets it after %ld ms, for %ld ms; its token is %llu", (long)getpid(),
      (long)(timing_ms() - start), (long)redlock_remaining_ms(rl, lock),
      (unsigned long long)lock->token);
  return 1;
}

/* The process that is stopped between the lock and the write. Returns its exit status. */
static int write_late(const struct server *storage, int to, int from) {
  redlock rl;
  redlock_lock lock;
  int written = 0;
  if (take_fenced(&rl, &lock)) {
    tell(to, 't');
    hear(from);
    written = write_total(storage, &lock, 110);
    say("process %ld wakes and writes 110: %s", (long)getpid(), written ? "written" : "refused");
    redlock_close(&rl);
  }
  expect(!written, "who comes late is refused");
  fflush(stdout);
  return failures != 0;
}

static void take_over(const struct server *storage) {
  redlock rl;
  redlock_lock lock;
  int written;
  if (!take_fenced(&rl, &lock)) return;
  written = write_total(storage, &lock, 120);
  say("process %ld writes 120: %s", (long)getpid(), written ? "written" : "refused");
  expect(written, "who holds the lock can write");
  release(&rl, &lock);
  redlock_close(&rl);
}

static void scene_fenced(void) {
  struct server storage;
  int there[2], back[2], status = 1;
  pid_t pid;
  title("a holder is stopped for longer than its lock lasts (SIGSTOP), then wakes and writes");
  server_start(&storage, "");
  if (!expect(pipe(there) == 0 && pipe(back) == 0, "there are pipes")) return;
  fflush(stdout);
  pid = fork();
  if (pid == 0) _exit(write_late(&storage, back[1], there[0]));
  close(back[1]);
  hear(back[0]);
  kill(pid, SIGSTOP);
  say("process %ld is stopped", (long)pid);
  take_over(&storage);
  tell(there[1], 'g');
  kill(pid, SIGCONT);
  waitpid(pid, &status, 0);
  expect(status == 0, "the first process ends well");
  say("the total is %s", server_command(&storage, "GET total"));
  close(there[0]);
  close(there[1]);
  close(back[0]);
  server_kill(&storage);
}

/* What `redlock --status` shows. */
static int all_vote(const redlock *rl) {
  redlock_server_info info;
  int i;
  for (i = 0; i < SERVERS; i++)
    if (redlock_server_status(rl, i, &info) != REDLOCK_OK || !info.connected || info.quarantine_ms)
      return 0;
  return 1;
}

/* For so long, and until all vote; 0 = the lock is lost. */
static int keep_until_all_vote(redlock *rl, const redlock_lock *lock, int64_t ms) {
  int64_t start = timing_ms();
  do {
    if (redlock_wait(rl, 10) || !redlock_remaining_ms(rl, lock)) return 0;
  } while (timing_ms() < start + ms || (!all_vote(rl) && timing_ms() < start + WAIT_MS));
  return 1;
}

/* Each one when those before it vote again. */
static void roll_all(redlock *rl, const redlock_lock *lock) {
  int64_t start;
  int i;
  for (i = 0; i < SERVERS; i++) {
    start = timing_ms();
    server_lose_disk(&servers.at[i]);
    server_restart(&servers.at[i]);
    if (!expect(keep_until_all_vote(rl, lock, ROLL_MS), "the lock outlives it")) return;
    say("server %d restarts empty, and votes after %ld ms", i, (long)(timing_ms() - start));
    expect(server_number(&servers.at[i], "EXISTS invoice:44") == 1, "it was sent the lock again");
  }
  say("each has been sent the lock again: it is still held, for %ld ms",
      (long)redlock_remaining_ms(rl, lock));
}

static void scene_rolling(void) {
  redlock rl;
  redlock_lock lock;
  title("all servers restart empty, one by one, while a lock of 300 ms is kept");
  if (!open_wary_client(&rl, ROLL_MS)) return;
  redlock_acquire(&rl, &lock, "invoice:44", ROLL_MS, WAIT_MS);
  if (expect(lock.status == REDLOCK_OK, redlock_strerror(lock.status)) &&
      expect(redlock_keep(&rl, &lock, 0) == REDLOCK_OK, "it is kept") &&
      expect(keep_until_all_vote(&rl, &lock, 0), "all vote"))
    roll_all(&rl, &lock);
  expect(redlock_release(&rl, &lock) == REDLOCK_OK, "it is released by a quorum");
  redlock_close(&rl);
}

int main(void) {
  redlock rl;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (servers_missing()) {
    fprintf(stderr, "demo: %s\n", servers_missing());
    return 1;
  }
  servers_start(&servers, SERVERS, deployed_args());
  deployed_login(&servers);
  servers_list(&servers, SERVERS, list);
  printf("servers, as examples/deploy/redis.conf has them: %s\n", list);
  if (open_client(&rl)) {
    scene_healthy(&rl);
    scene_contention(&rl);
    scene_extension(&rl);
    scene_forgotten();
    scene_killed(&rl);
    scene_frozen(&rl);
    scene_majority_down(&rl);
    scene_healed(&rl);
    scene_fenced();
    scene_rolling();
    redlock_close(&rl);
  }
  servers_stop(&servers);
  printf("\n%s\n", failures ? "NOT everything went as it should: if this machine is busy, try again"
                            : "everything went as it should");
  return failures != 0;
}
