/* adopt.c: locks that change hands on real servers, between processes (R28). */
#include "fixture.h"

#include <signal.h>

enum { N = 3, ADOPTERS = 3, ROUNDS = 25, HAS_IT = 10 };
enum { PATIENT_MS = REAL_TTL_MS }; /* server_timeout_ms: an adoption is not tried again */

static char given[20];

/* A lock whose value is given away. */
static void hold_and_give(void) {
  real_hold(&rl, &lock, N, "r", REAL_TTL_MS);
  memcpy(given, lock.value, sizeof given);
}

static redlock_status adopt(const char *resource) {
  return redlock_adopt(&rl, &lock, resource, REAL_TTL_MS, given);
}

/* How many servers have the lock's own value. */
static int own_values(void) {
  int i, count = 0;
  for (i = 0; i < N; i++)
    count += memcmp(server_command(&real.at[i], "GET r"), lock.value, sizeof lock.value) == 0;
  return count;
}

/* All of them, once the slowest one has set it: an adoption returns with a quorum. */
static int own_values_settle(void) {
  int looks;
  for (looks = 0; looks < REAL_LOOKS && own_values() != N; looks++) real_let_settle(&rl);
  return own_values();
}

TEST(only_a_key_that_is_there_is_adopted) { /* R28 */
  real_open(&rl, N, PATIENT_MS);
  hold_and_give();
  CHECK_EQ(adopt("s"), REDLOCK_TAKEN);
  CHECK_EQ(real_keys(N, "s"), 0);
  CHECK_EQ(adopt("r"), REDLOCK_OK);
  CHECK(memcmp(lock.value, given, sizeof given) != 0);
  CHECK_EQ(redlock_extend(&rl, &lock, 2 * REAL_TTL_MS), REDLOCK_OK);
  real_release(&rl, &lock, N, "r");
  CHECK_EQ(adopt("r"), REDLOCK_TAKEN);
  CHECK_EQ(real_keys(N, "r"), 0);
}

/* ---- processes ---- */

/* Takes the lock, passes its value on, and is stopped. When it wakes it goes on as if nothing had
   been. 0 = it is told that its lock is gone. */
static int give_and_be_stopped(int to) {
  real_open(&rl, N, PATIENT_MS);
  hold_and_give();
  if (write(to, given, sizeof given) != sizeof given) return 2;
  raise(SIGSTOP);
  return redlock_extend(&rl, &lock, 2 * REAL_TTL_MS) == REDLOCK_OK ||
         redlock_release(&rl, &lock) == REDLOCK_OK;
}

TEST(a_stopped_giver_wakes_and_changes_nothing) { /* R28 R19 */
  int ends[2], status = 1;
  pid_t pid;
  CHECK(pipe(ends) == 0);
  pid = fork();
  if (pid == 0) _exit(give_and_be_stopped(ends[1]));
  CHECK(read(ends[0], given, sizeof given) == sizeof given);
  CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
  real_open(&rl, N, PATIENT_MS);
  CHECK_EQ(adopt("r"), REDLOCK_OK);
  CHECK_EQ(own_values_settle(), N); /* where the given one still stands, the giver may delete it */
  kill(pid, SIGCONT);
  CHECK_EQ(real_end_of(pid), 0);
  CHECK_EQ(own_values(), N);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  real_release(&rl, &lock, N, "r");
  close(ends[0]);
  close(ends[1]);
}

/* When the starter closes its end of the pipe. HAS_IT is its exit status if so. */
static pid_t start_adopter(const int go[2]) {
  char none;
  int has;
  pid_t pid = fork();
  if (pid != 0) return pid;
  close(go[1]);
  real_open(&rival, N, PATIENT_MS);
  if (read(go[0], &none, 1) != 0) _exit(2);
  has = redlock_adopt(&rival, &other, "r", REAL_TTL_MS, given) == REDLOCK_OK;
  redlock_close(&rival);
  _exit(has ? HAS_IT : 0);
}

TEST(of_three_adopters_at_once_never_two_succeed) { /* R28 */
  int go[2], i, round, all = 0;
  pid_t pid[ADOPTERS];
  real_open(&rl, N, PATIENT_MS);
  for (round = 0; round < ROUNDS; round++) {
    int count = 0;
    hold_and_give();
    CHECK(pipe(go) == 0);
    for (i = 0; i < ADOPTERS; i++) pid[i] = start_adopter(go);
    close(go[0]);
    close(go[1]);
    for (i = 0; i < ADOPTERS; i++) {
      int end = real_end_of(pid[i]);
      CHECK(end == 0 || end == HAS_IT);
      count += end == HAS_IT;
    }
    CHECK(count <= 1);
    all += count;
    heal();
  }
  CHECK(all > 0);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
