/* contend.c: contend [SECONDS [SEED]]: eight processes add one to a number in a file, again and
 * again, under one lock, while servers are killed, frozen and thawed at random, a minority at a
 * time; a killed one comes back empty only after the longest ttl. No addition may be lost. */
#include "real.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  N = 5,
  PROCESSES = 8,
  SECONDS = 8,
  TTL_MS = 2000,
  MARGIN_MS = TTL_MS / 2, /* no addition begins with less: a pause in it is not the lock's fault */
  WORK_MS = 1,
  FORGET_MS = TTL_MS + 100 /* after it no lock is left that a killed server knew of */
};

static struct {
  int64_t seconds;
  uint64_t seed;
  char path[SERVERS_PATH + 16];
} run;

struct result {
  long added, failed;
};

static uint64_t draw(uint64_t below) {
  run.seed ^= run.seed << 13;
  run.seed ^= run.seed >> 7;
  run.seed ^= run.seed << 17;
  return run.seed % below;
}

/* ---- a contender ---- */

static long read_number(int fd) {
  char text[32] = "";
  if (pread(fd, text, sizeof text - 1, 0) < 0) return -1;
  return strtol(text, NULL, 10);
}

static void write_number(int fd, long number) {
  char text[32];
  int size = snprintf(text, sizeof text, "%-20ld\n", number);
  if (pwrite(fd, text, (size_t)size, 0) != size) _exit(2);
}

/* The time between the read and the write is where a second holder would do harm. */
static void add_one(int fd) {
  long number = read_number(fd);
  poll(NULL, 0, WORK_MS);
  write_number(fd, number + 1);
}

static int take_turn(redlock *rl, int fd, uint32_t wait_ms) {
  redlock_lock lock;
  int may;
  if (redlock_acquire(rl, &lock, "number", TTL_MS, wait_ms) != REDLOCK_OK) return 0;
  may = redlock_remaining_ms(rl, &lock) > MARGIN_MS;
  if (may) add_one(fd);
  redlock_release(rl, &lock);
  return may;
}

/* Until the starter closes its end; then once more, with the faults over: nobody is shut out. */
static struct result contend(int stop, pid_t parent) {
  struct result result = {0, 0};
  struct pollfd look;
  redlock rl;
  int fd = open(run.path, O_RDWR);
  look.fd = stop;
  look.events = POLLIN;
  real_open(&rl, N, 100);
  while (poll(&look, 1, 0) == 0 && getppid() == parent) {
    if (take_turn(&rl, fd, 500)) result.added++;
    else result.failed++;
  }
  if (!CHECK(take_turn(&rl, fd, REAL_WAIT_MS))) _exit(3);
  result.added++;
  redlock_close(&rl);
  close(fd);
  return result;
}

/* ---- the starter ---- */

struct contender {
  pid_t pid;
  int from; /* its result comes here */
};

/* Not for the servers: one that held an end would keep the pipe open. */
static void open_pipe(int ends[2]) {
  if (pipe(ends)) _exit(2);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}

static struct contender start_contender(const int stop[2]) {
  struct contender one;
  pid_t parent = getpid();
  int ends[2];
  open_pipe(ends);
  one.pid = fork();
  if (one.pid == 0) {
    struct result result;
    close(stop[1]);
    close(ends[0]);
    result = contend(stop[0], parent);
    _exit(write(ends[1], &result, sizeof result) != sizeof result);
  }
  close(ends[1]);
  one.from = ends[0];
  return one;
}

static struct result await_contender(struct contender one) {
  struct result result = {0, 0};
  int status = 1;
  CHECK(read(one.from, &result, sizeof result) == sizeof result);
  CHECK(waitpid(one.pid, &status, 0) == one.pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  close(one.from);
  return result;
}

/* One server's fault. A frozen one may be thawed at any time, a killed one may not come back. */
struct fault {
  int server, killed;
  int64_t since_ms;
};

static void begin_fault(struct fault *f, int other) {
  do f->server = (int)draw(N);
  while (f->server == other);
  f->killed = draw(8) == 0; /* it lasts longer than the others */
  f->since_ms = timing_ms();
  if (f->killed) server_kill(&real.at[f->server]);
  else server_freeze(&real.at[f->server]);
}

static void end_fault(struct fault *f) {
  struct server *s = &real.at[f->server];
  if (f->killed && timing_ms() - f->since_ms < FORGET_MS) return;
  if (f->killed) server_restart(s);
  else server_thaw(s);
  f->server = -1;
}

/* Two of five at a time at most, each for itself. */
static int make_trouble(int64_t end_ms) {
  struct fault faults[2] = {{-1, 0, 0}, {-1, 0, 0}};
  int count = 0;
  while (timing_ms() < end_ms) {
    int which = (int)draw(2);
    if (faults[which].server >= 0) {
      end_fault(&faults[which]);
    } else {
      begin_fault(&faults[which], faults[1 - which].server);
      count++;
    }
    poll(NULL, 0, (int)draw(200));
  }
  return count;
}

/* What is still dead comes back when its locks have ended. Nothing else is forgotten: the others'
   locks are held. */
static void end_trouble(void) {
  poll(NULL, 0, FORGET_MS);
  servers_mend(&real);
}

static void make_file(void) {
  int fd;
  snprintf(run.path, sizeof run.path, "%s/number", real.at[0].dir);
  fd = open(run.path, O_RDWR | O_CREAT, 0600);
  CHECK(fd >= 0);
  write_number(fd, 0);
  close(fd);
}

static void check_number(long added) {
  int fd = open(run.path, O_RDONLY);
  long number = read_number(fd);
  close(fd);
  if (!CHECK_EQ(number, added)) printf("    lost: %ld of %ld\n", added - number, added);
}

/* R1 R4 R5 R7 R13 R16 */
TEST(eight_processes_lose_no_update) {
  struct contender contenders[PROCESSES];
  struct result sum = {0, 0};
  int stop[2], i, faults;
  servers_heal(&real);
  make_file();
  printf("    seed %llu, %ld s\n", (unsigned long long)run.seed, (long)run.seconds);
  open_pipe(stop);
  for (i = 0; i < PROCESSES; i++) contenders[i] = start_contender(stop);
  faults = make_trouble(timing_ms() + run.seconds * 1000);
  end_trouble();
  close(stop[1]);
  for (i = 0; i < PROCESSES; i++) {
    struct result one = await_contender(contenders[i]);
    sum.added += one.added;
    sum.failed += one.failed;
  }
  close(stop[0]);
  printf("    %d faults, %ld turns, %ld tries in vain\n", faults, sum.added, sum.failed);
  check_number(sum.added);
}

int main(int argc, char **argv) {
  run.seconds = argc > 1 ? strtol(argv[1], NULL, 10) : SECONDS;
  run.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)timing_us();
  if (run.seed == 0) run.seed = 1;
  return real_main(1, argv, N, check_all);
}
