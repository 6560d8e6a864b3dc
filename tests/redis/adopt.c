/* adopt.c: locks that change hands on real servers, between processes (R28). */
#include "real.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3, ADOPTERS = 3, ROUNDS = 25, GIVEN_MS = 1500 };

static redlock rl;
static redlock_lock lock;

static void begin(void) {
  servers_heal(&real);
  real_open(&rl, N, REAL_PATIENT_MS);
}

static void hold(const char *resource, uint32_t ttl_ms) {
  CHECK_EQ(redlock_acquire(&rl, &lock, resource, ttl_ms, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(&rl, N, resource, N), N);
}

static int hear(int from, void *what, size_t size) {
  return read(from, what, size) == (ssize_t)size;
}

static void tell(int to, const void *what, size_t size) {
  CHECK(write(to, what, size) == (ssize_t)size);
}

/* ---- The scripts, at their edges ------------------------------------------------------------- */

TEST(only_a_key_that_is_there_is_taken_over) { /* R28 */
  char value[20];
  begin();
  hold("r", REAL_TTL_MS);
  memcpy(value, lock.value, sizeof value);
  CHECK_EQ(redlock_adopt(&rl, &lock, "s", REAL_TTL_MS, value), REDLOCK_TAKEN);
  CHECK_EQ(real_keys(N, "s"), 0);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", REAL_TTL_MS, value), REDLOCK_OK);
  CHECK(memcmp(lock.value, value, sizeof value) != 0);
  CHECK_EQ(redlock_extend(&rl, &lock, 2 * REAL_TTL_MS), REDLOCK_OK);
  real_release(&rl, &lock, N, "r");
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", REAL_TTL_MS, value), REDLOCK_TAKEN);
  CHECK_EQ(real_keys(N, "r"), 0);
  redlock_close(&rl);
}

/* Not even an empty one, which a string's beginning could be mistaken for. */
TEST(what_others_have_set_is_left_alone) { /* R28 R21 */
  static const char *const theirs[] = {"other", "\"\"", "0123456789012345678x"};
  size_t k;
  int i;
  begin();
  for (k = 0; k < sizeof theirs / sizeof *theirs; k++) {
    servers_command(&real, N, "SET r %s PX 60000", theirs[k]);
    CHECK_EQ(redlock_adopt(&rl, &lock, "r", REAL_TTL_MS, "01234567890123456789"), REDLOCK_TAKEN);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 300), REDLOCK_TAKEN); /* tracked */
    for (i = 0; i < N; i++)
      CHECK_EQ(server_number(&real.at[i], "STRLEN r"),
               *theirs[k] == '"' ? 0 : (long)strlen(theirs[k]));
  }
  redlock_close(&rl);
}

static void refused_by(const char *command, const char *back, const char *word) {
  char value[20];
  begin();
  hold("r", REAL_TTL_MS);
  memcpy(value, lock.value, sizeof value);
  servers_command(&real, N, "%s", command);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", REAL_TTL_MS, value), REDLOCK_NO_QUORUM);
  CHECK(strstr(redlock_server_error(&rl, 0), word) || strstr(redlock_server_error(&rl, 1), word));
  servers_command(&real, N, "%s", back);
  redlock_close(&rl);
}

TEST(a_key_of_another_type_is_an_error) { /* R28 R15 */
  refused_by("EVAL \"redis.call('del','r')return redis.call('rpush','r','x')\" 1 r", "DEL r",
             "WRONGTYPE");
}

TEST(a_user_who_may_not_get_adopts_nothing) { /* R28 R15 */
  /* The rest of the words depends on the version. */
  refused_by("ACL SETUSER default -get", "ACL SETUSER default +@all", "script");
}

/* The server would take no new key; it finds that before anything is changed. */
TEST(without_memory_nothing_is_lost) { /* R28 R15 */
  char value[20];
  begin();
  hold("r", REAL_TTL_MS);
  memcpy(value, lock.value, sizeof value);
  servers_command(&real, N, "CONFIG SET maxmemory 1");
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", REAL_TTL_MS, value), REDLOCK_NO_QUORUM);
  servers_command(&real, N, "CONFIG SET maxmemory 0");
  CHECK_EQ(real_keys(N, "r"), N);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", REAL_TTL_MS, value), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* Takes the lock, passes it on, and is stopped until long after its time. What it then says itself:
   1 = its lock is gone, and its release found nothing. */
static int give_and_be_stopped(int to, int from) {
  redlock own;
  redlock_lock given;
  char go;
  int gone;
  real_open(&own, N, REAL_PATIENT_MS);
  if (redlock_acquire(&own, &given, "r", GIVEN_MS, 0) != REDLOCK_OK) return 2;
  if (write(to, given.value, sizeof given.value) != sizeof given.value) return 2;
  if (!hear(from, &go, 1)) return 2;
  gone = redlock_remaining_ms(&own, &given) == 0;
  gone &= redlock_release(&own, &given) != REDLOCK_OK;
  redlock_close(&own);
  return !gone;
}

TEST(a_stopped_giver_wakes_and_changes_nothing) { /* R28 R19 */
  int there[2], back[2], status = 1;
  char value[20];
  pid_t pid;
  begin();
  CHECK(pipe(there) == 0 && pipe(back) == 0);
  pid = fork();
  if (pid == 0) _exit(give_and_be_stopped(there[1], back[0]));
  CHECK(hear(there[0], value, sizeof value));
  kill(pid, SIGSTOP);
  waitpid(pid, NULL, WUNTRACED);
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", REAL_TTL_MS, value), REDLOCK_OK);
  poll(NULL, 0, GIVEN_MS + 100); /* the giver's time passes */
  tell(back[1], "g", 1);
  kill(pid, SIGCONT);
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQ(real_keys(N, "r"), N);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
  close(there[0]);
  close(there[1]);
  close(back[0]);
  close(back[1]);
}

/* Each round: the ticket comes, one byte goes back: whether this one has the lock. */
static int adopt_again_and_again(int from, int to) {
  redlock own;
  redlock_lock mine;
  char value[20], has;
  real_open(&own, N, REAL_PATIENT_MS);
  while (hear(from, value, sizeof value)) {
    has = redlock_adopt(&own, &mine, "r", REAL_TTL_MS, value) == REDLOCK_OK;
    if (write(to, &has, 1) != 1) return 1;
    if (!hear(from, value, sizeof value)) return 1; /* all have tried */
    if (has && redlock_release(&own, &mine) != REDLOCK_OK) return 1;
    if (write(to, &has, 1) != 1) return 1;
  }
  redlock_close(&own);
  return 0;
}

TEST(of_three_adopters_at_once_never_two_succeed) { /* R28 */
  int to[ADOPTERS][2], from[ADOPTERS][2], i, round, successes = 0;
  pid_t pid[ADOPTERS];
  begin();
  for (i = 0; i < ADOPTERS; i++) {
    CHECK(pipe(to[i]) == 0 && pipe(from[i]) == 0);
    pid[i] = fork();
    if (pid[i] == 0) {
      int k;
      for (k = 0; k <= i; k++) close(to[k][1]);
      _exit(adopt_again_and_again(to[i][0], from[i][1]));
    }
  }
  for (round = 0; round < ROUNDS; round++) {
    char has, count = 0;
    hold("r", REAL_TTL_MS);
    for (i = 0; i < ADOPTERS; i++) tell(to[i][1], lock.value, sizeof lock.value);
    for (i = 0; i < ADOPTERS; i++) count = (char)(count + (hear(from[i][0], &has, 1) && has));
    CHECK(count <= 1);
    successes += count;
    for (i = 0; i < ADOPTERS; i++) tell(to[i][1], lock.value, sizeof lock.value);
    for (i = 0; i < ADOPTERS; i++) CHECK(hear(from[i][0], &has, 1));
    CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  }
  CHECK(successes > 0);
  for (i = 0; i < ADOPTERS; i++) close(to[i][1]);
  for (i = 0; i < ADOPTERS; i++) {
    int status = 1;
    waitpid(pid[i], &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(to[i][0]);
    close(from[i][0]);
    close(from[i][1]);
  }
  redlock_close(&rl);
}

#ifndef REDLOCK_NO_FENCING
TEST(tokens_rise_from_hand_to_hand) { /* R28 R25 */
  redlock_options options = real_options(REAL_PATIENT_MS);
  uint64_t last = 0;
  int i;
  servers_heal(&real);
  options.max_ttl_ms = 4 * REAL_PATIENT_MS;
  options.fencing = 1;
  real_open_with(&rl, N, options);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 4000, REAL_WAIT_MS), REDLOCK_OK);
  for (i = 0; i < 10; i++) {
    CHECK_EQ(redlock_adopt(&rl, &lock, "r", 4000, lock.value), REDLOCK_OK);
    CHECK(lock.token > last);
    last = lock.token;
  }
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
}
#endif

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
