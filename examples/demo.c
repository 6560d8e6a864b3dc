/* demo.c: Redlock on five real servers, in a few scenes. Run it by `make demo`.
 *
 *   demo [NUMBER...]   only these scenes
 *
 * Everything that it starts ends with it, also on Ctrl-C. Its exit status is 0 unless a scene went
 * otherwise than it should. A scene that this machine was too slow to show is tried once more, with
 * more time, and is no failure. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "tests/deployed.h"
#include "tests/servers.h"
#include "tests/timing.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* No scene that waits for an event needs a hundredth of TTL_MS or WAIT_MS on a quiet machine. The
   others need a twentieth of SHORT_MS and of ROLL_MS, and get MORE_TIME times as much when they are
   tried again. */
enum { SERVERS = 5, ROUNDS = 200, CYCLES_MS = 1500, TTL_MS = 30000, WAIT_MS = 20000,
       TIMEOUT_MS = 500, SHORT_MS = 2000, ROLL_MS = 300, LONG_MS = 3000, MORE_TIME = 3 };

static struct servers servers;
static char list[SERVERS_LIST];
static char name[24]; /* of the lock: each try has its own, so no other one's keys matter */
static double healthy_us;
static int patience;  /* 1, or MORE_TIME */

/* ---- how slow this machine is ---- */

enum verdict { SHOWN, TOO_SLOW, WRONG };

/* Of the scene that is played; all processes that play in it share this. */
static struct scene {
  volatile enum verdict verdict;
  volatile int64_t pause_ms; /* the longest for which the pacer, or its server, stood still */
} *scene;

static int64_t slowest_ms; /* the same of all scenes before */
static int64_t restart_ms; /* the longest start of a server */

enum { PACE_MS = 5, QUIET_MS = 10 }; /* a quiet machine makes no longer pause */

/* A process, and a server like the others, with which nothing is done but this. */
static void keep_pace(const struct server *server, pid_t parent) {
  while (getppid() == parent) {
    int64_t start = timing_ms(), took;
    (void)server_command(server, "SET pace %ld PX 1000", (long)start);
    (void)poll(NULL, 0, PACE_MS);
    took = timing_ms() - start - PACE_MS;
    if (took > scene->pause_ms) scene->pause_ms = took;
  }
  _exit(0);
}

static int map_scene(void) {
  char path[SERVERS_PATH];
  void *at;
  int fd;
  (void)snprintf(path, sizeof path, "%s/scene", servers_folder());
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof *scene) != 0) return 0;
  at = mmap(NULL, sizeof *scene, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  (void)close(fd);
  scene = at == MAP_FAILED ? NULL : (struct scene *)at;
  return scene != NULL;
}

static int start_pacer(void) {
  static struct servers pace;
  pid_t parent = getpid(), pid;
  if (!map_scene()) return 0;
  servers_start(&pace, 1, deployed_args());
  deployed_login(&pace);
  pid = fork();
  if (pid == 0) keep_pace(&pace.at[0], parent);
  return pid > 0;
}

/* ---- the transcript ---- */

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

/* Always 0. */
static int is_too_slow(const char *promise) {
  say("(too slow a machine to show that %s)", promise);
  if (scene->verdict == SHOWN) scene->verdict = TOO_SLOW;
  return 0;
}

/* What a scene promises, unless this machine stood still meanwhile. */
static int expect(int truth, const char *promise) {
  if (truth) return 1;
  if (scene->verdict == TOO_SLOW || scene->pause_ms > QUIET_MS) return is_too_slow(promise);
  say("NOT SO: %s", promise);
  scene->verdict = WRONG;
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

static int acquire_for(redlock *rl, redlock_lock *lock, uint32_t ttl_ms) {
  redlock_status status = redlock_acquire(rl, lock, name, ttl_ms, WAIT_MS);
  if (status != REDLOCK_OK) say("%s", redlock_strerror(status));
  return expect(status == REDLOCK_OK, "the lock is granted");
}

static int acquire(redlock *rl, redlock_lock *lock) { return acquire_for(rl, lock, TTL_MS); }

static int release(redlock *rl, redlock_lock *lock) {
  redlock_status status = redlock_release(rl, lock);
  if (status != REDLOCK_OK) say("%s", redlock_strerror(status));
  return expect(status == REDLOCK_OK, "the lock is released");
}

/* What a client that only blocks does between pieces of its work: it reads late replies. */
static void work_for(redlock *rl, int64_t ms) {
  int64_t end = timing_ms() + ms;
  while (timing_ms() < end) (void)redlock_wait(rl, end - timing_ms());
}

static int has_key(const struct server *server) {
  return strcmp(server_command(server, "EXISTS %s", name), "0") != 0;
}

static void restart(struct server *server) {
  int64_t start = timing_ms(), took;
  server_restart(server);
  took = timing_ms() - start;
  if (took > restart_ms) restart_ms = took;
}

/* A release returns at a quorum: it may still be under way to the others. */
static int is_key_gone(redlock *rl, const struct server *server) {
  int64_t end = timing_ms() + WAIT_MS;
  while (has_key(server) && timing_ms() < end) work_for(rl, 10);
  return !has_key(server);
}

/* An acquire with its release, again and again. */
struct cycles {
  int count;
  double median_us;
};

static struct cycles run_cycles(redlock *rl) {
  static int64_t figures[ROUNDS];
  struct cycles cycles = {0, 0};
  redlock_lock lock;
  int64_t end = timing_ms() + CYCLES_MS;
  while (cycles.count < ROUNDS && (cycles.count == 0 || timing_ms() < end)) {
    int64_t start = timing_us();
    if (!acquire(rl, &lock) || !release(rl, &lock)) return cycles;
    figures[cycles.count++] = timing_us() - start;
  }
  cycles.median_us = (double)timing_median(figures, cycles.count);
  return cycles;
}

/* Whoever waits for the lost server waits for TIMEOUT_MS. */
static void compare(redlock *rl, const char *with) {
  struct cycles cycles = run_cycles(rl);
  if (cycles.median_us <= 0) return;
  if (healthy_us > 0)
    say("%d x acquire and release %s: median %.0f us, %.2f of the healthy %.0f us", cycles.count,
        with, cycles.median_us, cycles.median_us / healthy_us, healthy_us);
  else
    say("%d x acquire and release %s: median %.0f us", cycles.count, with, cycles.median_us);
  expect(cycles.median_us < TIMEOUT_MS * 1000 / 10, "nobody waits for it");
}

/* ---- two processes ---- */

struct other {
  pid_t pid;
  int socket; /* to it */
};

static void tell(int fd, char what) {
  expect(write(fd, &what, 1) == 1, "the two processes can talk");
}

static char hear(int fd) {
  char what = 0;
  return read(fd, &what, 1) == 1 ? what : 0;
}

static int start_other(struct other *other, void (*play)(int socket)) {
  int ends[2];
  if (!expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there are sockets")) return 0;
  fflush(stdout);
  other->pid = fork();
  if (other->pid == 0) {
    close(ends[0]);
    play(ends[1]);
    fflush(stdout);
    _exit(0);
  }
  close(ends[1]);
  other->socket = ends[0];
  if (other->pid < 0) close(ends[0]);
  return expect(other->pid > 0, "there is a second process");
}

static void await_other(struct other *other) {
  int status = 1;
  waitpid(other->pid, &status, 0);
  expect(status == 0, "the second process ends well");
  close(other->socket);
}

/* ---- the scenes ---- */

static void scene_healthy(redlock *rl) {
  struct cycles cycles = run_cycles(rl);
  healthy_us = cycles.median_us;
  if (healthy_us > 0)
    say("%d x acquire and release: median %.0f us", cycles.count, healthy_us);
}

/* The second process: tries once, then waits. */
static void contend(int socket) {
  redlock rl;
  redlock_lock lock;
  redlock_status status;
  int64_t start;
  if (!open_client(&rl)) return;
  status = redlock_acquire(&rl, &lock, name, TTL_MS, 0);
  say("process %ld tries once: %s", (long)getpid(), redlock_strerror(status));
  expect(status == REDLOCK_TAKEN, "it is told that the lock is taken");
  if (status == REDLOCK_OK) redlock_release(&rl, &lock);
  tell(socket, 't');
  hear(socket);
  start = timing_ms();
  if (acquire(&rl, &lock)) {
    say("process %ld waits, and gets it after %ld ms", (long)getpid(), (long)(timing_ms() - start));
    release(&rl, &lock);
  }
  redlock_close(&rl);
}

/* The first process holds the lock until the second has been refused, and a little longer. */
static void hold_against(redlock *rl, redlock_lock *lock, int socket) {
  hear(socket);
  tell(socket, 'g');
  work_for(rl, 100); /* under the lock, while the other one waits */
  if (release(rl, lock)) say("process %ld releases it", (long)getpid());
  fflush(stdout);
}

static void scene_contention(redlock *rl) {
  redlock_lock lock;
  struct other other;
  if (!acquire(rl, &lock)) return;
  say("process %ld has it for %ld ms", (long)getpid(), (long)redlock_remaining_ms(rl, &lock));
  if (!start_other(&other, contend)) return;
  hold_against(rl, &lock, other.socket);
  await_other(&other);
}

static void scene_extension(redlock *rl) {
  redlock_lock lock;
  if (!acquire(rl, &lock)) return;
  say("acquired for %d ms: %ld ms are left", TTL_MS, (long)redlock_remaining_ms(rl, &lock));
  expect(redlock_extend(rl, &lock, 3 * TTL_MS) == REDLOCK_OK, "it is extended");
  say("extended to %d ms: %ld ms are left", 3 * TTL_MS, (long)redlock_remaining_ms(rl, &lock));
  expect(redlock_extend(rl, &lock, TTL_MS) == REDLOCK_OK, "it is extended again");
  say("extended to %d ms: %ld ms are left", TTL_MS, (long)redlock_remaining_ms(rl, &lock));
  expect(redlock_remaining_ms(rl, &lock) > TTL_MS, "the longer time stands");
  release(rl, &lock);
}

static uint32_t short_ms(void) { return (uint32_t)(SHORT_MS * patience); }

/* Three of five forget: one loses its disk, two were down when the lock was taken. */
static int hold_and_forget(redlock *holder, redlock_lock *held) {
  int i;
  server_kill(&servers.at[0]);
  server_kill(&servers.at[1]);
  if (!acquire_for(holder, held, short_ms())) return 0;
  say("servers 0 and 1 are down: a client takes the lock on 2, 3 and 4 for %ld ms",
      (long)short_ms());
  server_lose_disk(&servers.at[2]);
  for (i = 0; i < 3; i++) restart(&servers.at[i]);
  say("2 loses its disk; 0, 1 and 2 are back: a majority knows nothing of the lock");
  return 1;
}

/* What a second client gets, and for how long the first one still holds the lock. */
static redlock_status intrude(const char *who, uint32_t max_ttl_ms, uint32_t wait_ms,
                              const redlock *holder, const redlock_lock *held) {
  redlock rl;
  redlock_lock lock;
  if (!open_wary_client(&rl, max_ttl_ms)) return REDLOCK_SYSTEM;
  redlock_acquire(&rl, &lock, name, short_ms(), wait_ms);
  say("%s: %s; the first one still has %ld ms", who, redlock_strerror(lock.status),
      (long)redlock_remaining_ms(holder, held));
  if (lock.status == REDLOCK_OK) redlock_release(&rl, &lock);
  redlock_close(&rl);
  return lock.status;
}

/* What is promised speaks of a lock that still runs. */
static void expect_while_held(int truth, const char *promise, const redlock *holder,
                              const redlock_lock *held) {
  if (redlock_remaining_ms(holder, held) > 0) expect(truth, promise);
  else is_too_slow(promise);
}

static void scene_forgotten(redlock *rl) {
  redlock holder;
  redlock_lock held;
  redlock_status status;
  (void)rl;
  if (!open_wary_client(&holder, short_ms())) return;
  if (hold_and_forget(&holder, &held)) {
    status = intrude("a second client, without max_ttl_ms", 0, 0, &holder, &held);
    expect_while_held(status == REDLOCK_OK, "two hold one lock then", &holder, &held);
    status = intrude("a second client, with max_ttl_ms", short_ms(), 0, &holder, &held);
    expect_while_held(status != REDLOCK_OK, "it is refused", &holder, &held);
    status = intrude("with it, waiting", short_ms(), WAIT_MS, &holder, &held);
    expect(status == REDLOCK_OK, "it gets the lock");
    expect(redlock_remaining_ms(&holder, &held) == 0, "it comes after the first one");
  }
  redlock_close(&holder);
}

static void scene_killed(redlock *rl) {
  server_kill(&servers.at[0]);
  compare(rl, "with one dead");
  restart(&servers.at[0]);
}

static void scene_frozen(redlock *rl) {
  redlock_lock lock;
  int gone;
  server_freeze(&servers.at[1]);
  compare(rl, "with one frozen");
  server_thaw(&servers.at[1]);
  if (acquire(rl, &lock)) release(rl, &lock);
  gone = is_key_gone(rl, &servers.at[1]);
  say("thawed: %s of all those locks is left on it", gone ? "no key" : "a key");
  expect(gone, "each release came behind its lock");
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
  server_kill(&servers.at[0]);
  server_kill(&servers.at[1]);
  server_freeze(&servers.at[2]);
  start = timing_ms();
  expect(redlock_acquire(rl, &lock, name, TTL_MS, 0) == REDLOCK_NO_QUORUM, "the lock is refused");
  tell_refusal(rl, &lock, timing_ms() - start);
  for (i = 3; i < SERVERS; i++)
    expect(is_key_gone(rl, &servers.at[i]), "no key is left behind");
}

static void scene_healed(redlock *rl) {
  redlock_lock lock;
  servers_mend(&servers);
  if (!acquire(rl, &lock)) return;
  say("the lock is granted again");
  release(rl, &lock);
}

static struct server storage;

/* The resource keeps the greatest token that it has seen, and refuses a smaller one. */
static int write_total(const redlock_lock *lock, int total) {
  const char *reply = server_command(
      &storage,
      "EVAL \"if (redis.call('get', KEYS[2]) or '0') + 0 > ARGV[1] + 0 then return 0 end "
      "redis.call('set', KEYS[2], ARGV[1]) redis.call('set', KEYS[1], ARGV[2]) return 1\" "
      "2 total token %llu %d",
      (unsigned long long)lock->token, total);
  int written = strcmp(reply, "1") == 0, refused = strcmp(reply, "0") == 0;
  say("process %ld writes %d: %s", (long)getpid(), total,
      written ? "written" : refused ? "refused" : reply);
  expect(written || refused, "the storage answers");
  return written;
}

static int take_fenced(redlock *rl, redlock_lock *lock) {
  int64_t start = timing_ms();
  if (!open_with(rl, short_ms(), 1)) return 0;
  if (acquire_for(rl, lock, short_ms())) {
    say("process %ld gets it after %ld ms, for %ld ms; its token is %llu", (long)getpid(),
        (long)(timing_ms() - start), (long)redlock_remaining_ms(rl, lock),
        (unsigned long long)lock->token);
    return 1;
  }
  redlock_close(rl);
  return 0;
}

/* The process that is stopped between the lock and the write. */
static void write_late(int socket) {
  redlock rl;
  redlock_lock lock;
  if (!take_fenced(&rl, &lock)) return;
  tell(socket, 't');
  hear(socket);
  say("process %ld wakes", (long)getpid());
  expect(!write_total(&lock, 110), "who comes late is refused");
  redlock_close(&rl);
}

static void take_over(void) {
  redlock rl;
  redlock_lock lock;
  if (!take_fenced(&rl, &lock)) return;
  expect(write_total(&lock, 120), "who holds the lock can write");
  redlock_close(&rl);
}

static void stop_and_take_over(struct other *other) {
  kill(other->pid, SIGSTOP);
  say("process %ld is stopped", (long)other->pid);
  take_over();
  tell(other->socket, 'g');
  kill(other->pid, SIGCONT);
}

static void scene_fenced(redlock *rl) {
  struct other other;
  (void)rl;
  server_start(&storage, "");
  if (start_other(&other, write_late)) {
    if (hear(other.socket)) stop_and_take_over(&other); /* else it has said why not */
    await_other(&other);
    say("the total is %s", server_command(&storage, "GET total"));
  }
  server_kill(&storage);
}

/* As short as this machine allows: what it did in the scenes before tells. */
static uint32_t roll_ms(void) {
  int64_t ms = ROLL_MS;
  if (ms < 20 * slowest_ms) ms = 20 * slowest_ms;
  if (ms < 4 * restart_ms) ms = 4 * restart_ms;
  return (uint32_t)((ms < LONG_MS ? ms : LONG_MS) * patience);
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

/* While the lock is kept; 0 = it is lost, or not all do in time. */
static int keep_until_all_vote(redlock *rl, const redlock_lock *lock) {
  int64_t end = timing_ms() + WAIT_MS;
  do {
    if (redlock_wait(rl, 10)) break;
    if (all_vote(rl)) return 1;
  } while (redlock_remaining_ms(rl, lock) && timing_ms() < end);
  return 0;
}

static int keep_until_key(redlock *rl, const redlock_lock *lock, const struct server *server) {
  int64_t end = timing_ms() + WAIT_MS;
  while (!has_key(server) && redlock_remaining_ms(rl, lock) && timing_ms() < end)
    (void)redlock_wait(rl, 10);
  return has_key(server);
}

/* While a server starts nobody extends the lock. */
static int roll_one(redlock *rl, const redlock_lock *lock, uint32_t ms, int i) {
  static const char promise[] = "the lock outlives it";
  int64_t start = timing_ms(), took;
  server_lose_disk(&servers.at[i]);
  restart(&servers.at[i]);
  took = timing_ms() - start;
  if (!keep_until_all_vote(rl, lock))
    return took > ms / 4 ? is_too_slow(promise) : expect(0, promise);
  say("server %d restarts empty, and votes after %ld ms", i, (long)(timing_ms() - start));
  return expect(keep_until_key(rl, lock, &servers.at[i]), "it is sent the lock again");
}

/* Each one when those before it vote again. */
static void roll_all(redlock *rl, redlock_lock *lock, uint32_t ms) {
  int i;
  for (i = 0; i < SERVERS; i++)
    if (!roll_one(rl, lock, ms, i)) return;
  say("each has been sent the lock again: it is still held, for %ld ms",
      (long)redlock_remaining_ms(rl, lock));
  release(rl, lock);
}

static void scene_rolling(redlock *rl) {
  uint32_t ms = roll_ms();
  redlock keeper;
  redlock_lock lock;
  (void)rl;
  if (!open_wary_client(&keeper, ms)) return;
  if (acquire_for(&keeper, &lock, ms)) {
    say("it is taken for %ld ms", (long)ms);
    if (expect(redlock_keep(&keeper, &lock, 0) == REDLOCK_OK, "it is kept") &&
        expect(keep_until_all_vote(&keeper, &lock), "all vote"))
      roll_all(&keeper, &lock, ms);
  }
  redlock_close(&keeper);
}

/* ---- all of them ---- */

static const struct {
  const char *title;
  void (*play)(redlock *rl);
} scenes[] = {
  {"five servers, all healthy", scene_healthy},
  {"two processes want one lock", scene_contention},
  {"a lock is extended, and never shortened", scene_extension},
  {"servers forget while a lock is held: without max_ttl_ms, and with it", scene_forgotten},
  {"a server is killed (kill -9)", scene_killed},
  {"a server is frozen (SIGSTOP): it accepts connections and answers nothing", scene_frozen},
  {"a majority is down: two dead, one frozen", scene_majority_down},
  {"all servers are back", scene_healed},
  {"a holder is stopped for longer than its lock lasts (SIGSTOP), then wakes and writes",
   scene_fenced},
  {"all servers restart empty, one by one, while a short lock is kept", scene_rolling}
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static void play(int number, redlock *rl) {
  static int tries;
  (void)snprintf(name, sizeof name, "invoice:%d", 42 + tries++);
  scene->verdict = SHOWN;
  scene->pause_ms = 0;
  scenes[number].play(rl);
  if (scene->pause_ms > slowest_ms) slowest_ms = scene->pause_ms;
}

/* What it comes to. */
static enum verdict show(int number, redlock *rl) {
  printf("\n%d. %s\n", number + 1, scenes[number].title);
  patience = 1;
  play(number, rl);
  if (scene->verdict == TOO_SLOW) {
    say("once more, with more time");
    servers_mend(&servers);
    patience = MORE_TIME;
    play(number, rl);
  }
  if (scene->verdict == TOO_SLOW) say("this machine is too slow for this scene now");
  return scene->verdict;
}

static int is_wanted(int number, int argc, char **argv) {
  int i;
  for (i = 1; i < argc; i++)
    if (atoi(argv[i]) == number + 1) return 1;
  return argc < 2;
}

static int show_all(int argc, char **argv) {
  redlock rl;
  int i, count[WRONG + 1] = {0, 0, 0};
  if (!open_client(&rl)) return 1;
  for (i = 0; i < SCENES; i++) {
    if (!is_wanted(i, argc, argv)) continue;
    if (scenes[i].play != scene_healed) servers_mend(&servers);
    count[show(i, &rl)]++;
  }
  redlock_close(&rl);
  if (count[WRONG]) puts("\nNOT everything went as it should");
  else if (count[TOO_SLOW])
    printf("\n%d of %d scenes went as they should; this machine is too slow for the others\n",
           count[SHOWN], count[SHOWN] + count[TOO_SLOW]);
  else puts("\neverything went as it should");
  return count[WRONG] > 0;
}

int main(int argc, char **argv) {
  int status;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (deployed_missing()) {
    fprintf(stderr, "demo: %s\n", deployed_missing());
    return 1;
  }
  servers_start(&servers, SERVERS, deployed_args());
  deployed_login(&servers);
  servers_list(&servers, SERVERS, list);
  printf("servers, as examples/deploy/redis.conf has them: %s\n", list);
  if (!start_pacer()) {
    fprintf(stderr, "demo: no memory or process for the pacer\n");
    return 1;
  }
  status = show_all(argc, argv);
  servers_stop(&servers);
  return status;
}
