/* contend.c: contend [SECONDS [SEED]]: eight processes add one to a number in a file, again and
 * again, under one lock, while servers are killed, frozen and thawed at random, a minority at a
 * time; a killed one comes back empty only after the longest ttl. No addition may be lost. */
#include "fixture.h"

#include <fcntl.h>

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
  int number, turns; /* files: the number, and a byte for each addition */
} run;

static uint64_t draw(uint64_t below) {
  run.seed ^= run.seed << 13;
  run.seed ^= run.seed >> 7;
  run.seed ^= run.seed << 17;
  return run.seed % below;
}

/* ---- a contender ---- */

static long read_number(void) {
  char text[32] = "";
  if (pread(run.number, text, sizeof text - 1, 0) < 0) return -1;
  return strtol(text, NULL, 10);
}

/* The time between the read and the write is where a second holder would do harm. */
static void add_one(void) {
  char text[32];
  int size = snprintf(text, sizeof text, "%-20ld\n", read_number() + 1);
  poll(NULL, 0, WORK_MS);
  if (redlock_remaining_ms(&rl, &lock) == 0) return; /* this process stood still */
  if (pwrite(run.number, text, (size_t)size, 0) != size) _exit(2);
  if (write(run.turns, "+", 1) != 1) _exit(2);
}

static int take_turn(uint32_t wait_ms) {
  int may;
  if (redlock_acquire(&rl, &lock, "number", TTL_MS, wait_ms) != REDLOCK_OK) return 0;
  may = redlock_remaining_ms(&rl, &lock) > MARGIN_MS;
  if (may) add_one();
  redlock_release(&rl, &lock);
  return may;
}

/* Until that time; then once more, with the faults over: nobody is shut out. A slow machine may
   grant a lock with too little time left. */
static int contend(int64_t end_ms, pid_t parent) {
  int misses = 0;
  real_open(&rl, N, 100);
  while (timing_ms() < end_ms && getppid() == parent) take_turn(500);
  while (!take_turn(REAL_WAIT_MS))
    if (++misses == 10) return 3;
  redlock_close(&rl);
  return 0;
}

/* ---- the faults ---- */

/* One server's fault. A frozen one may be thawed at any time, a killed one may not come back. */
struct fault {
  int server, killed;
  int64_t since_ms;
};

static void begin_fault(struct fault *f, int busy) {
  do f->server = (int)draw(N);
  while (f->server == busy);
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

static int open_file(const char *name, int how) {
  char path[SERVERS_PATH + 16];
  int fd;
  snprintf(path, sizeof path, "%s/%s", servers_folder(), name);
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | how, 0600);
  CHECK(fd >= 0);
  return fd;
}

TEST(eight_processes_lose_no_update) { /* R1 R4 R5 R7 R13 R16 */
  pid_t contenders[PROCESSES], parent = getpid();
  int64_t end_ms = timing_ms() + run.seconds * 1000;
  long turns;
  int i, faults;
  run.number = open_file("number", 0);
  run.turns = open_file("turns", O_APPEND);
  printf("    seed %llu, %ld s\n", (unsigned long long)run.seed, (long)run.seconds);
  for (i = 0; i < PROCESSES; i++) {
    contenders[i] = fork();
    if (contenders[i] == 0) _exit(contend(end_ms, parent));
  }
  faults = make_trouble(end_ms);
  poll(NULL, 0, FORGET_MS); /* what is still dead comes back when its locks have ended */
  servers_mend(&real);
  for (i = 0; i < PROCESSES; i++) CHECK_EQ(real_end_of(contenders[i]), 0);
  turns = (long)lseek(run.turns, 0, SEEK_END);
  printf("    %d faults, %ld turns\n", faults, turns);
  CHECK(turns >= PROCESSES);
  if (!CHECK_EQ(read_number(), turns)) printf("    lost: %ld of them\n", turns - read_number());
}

int main(int argc, char **argv) {
  run.seconds = argc > 1 ? strtol(argv[1], NULL, 10) : SECONDS;
  run.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)timing_us();
  if (run.seed == 0) run.seed = 1;
  return fixture_main(1, argv, N);
}
