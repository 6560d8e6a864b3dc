/* process.c: R17: in a child of fork() a client does nothing, and its parent does not notice. */
#include "real.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 3 };

static redlock rl;
static redlock_lock held, other;

static void begin(void) {
  servers_heal(&real);
  real_open(&rl, N, REAL_PATIENT_MS);
  real_hold(&rl, &held, N, "held");
}

/* Runs the calls in a child; true when all of them were refused there. */
static int refused_in_child(int (*calls)(void)) {
  int status = 1;
  pid_t pid = fork();
  if (pid == 0) _exit(calls() ? 0 : 1);
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int blocking_calls(void) {
  return redlock_acquire(&rl, &other, "other", REAL_TTL_MS, 0) == REDLOCK_INVALID &&
         redlock_extend(&rl, &held, REAL_TTL_MS) == REDLOCK_INVALID &&
         redlock_release(&rl, &held) == REDLOCK_INVALID &&
         redlock_resolve(&rl) == REDLOCK_INVALID;
}

static int stepping_calls(void) {
  return redlock_start_acquire(&rl, &other, "other", REAL_TTL_MS, 0) == REDLOCK_INVALID &&
         redlock_start_extend(&rl, &held, REAL_TTL_MS) == REDLOCK_INVALID &&
         redlock_start_release(&rl, &held) == REDLOCK_INVALID &&
         redlock_keep(&rl, &held, 0) == REDLOCK_INVALID &&
         redlock_cancel(&rl, &held) == REDLOCK_INVALID && redlock_step(&rl) == NULL &&
         redlock_wait(&rl, 0) == NULL;
}

static int just_close(void) {
  redlock_close(&rl);
  return 1;
}

/* Commands that the server has run, each look itself among them. */
static long commands(void) { return server_info(&real.at[0], "total_commands_processed:"); }

static void check_child_sends_nothing(int (*calls)(void)) {
  long before, after;
  begin();
  before = commands();
  CHECK(refused_in_child(calls));
  after = commands();
  CHECK_EQ(after - before, 1);
  CHECK(redlock_remaining_ms(&rl, &held) > 0);
  CHECK_EQ(redlock_extend(&rl, &held, REAL_TTL_MS), REDLOCK_OK);
  real_release(&rl, &held, N, "held");
  redlock_close(&rl);
}

TEST(a_child_is_refused_by_blocking_calls) { check_child_sends_nothing(blocking_calls); }

TEST(a_child_is_refused_by_stepping_calls) { check_child_sends_nothing(stepping_calls); }

TEST(a_child_that_closes_takes_nothing_away) { check_child_sends_nothing(just_close); }

/* With a client of its own a child contends like anyone. */
static int contends_on_its_own(void) {
  redlock own;
  real_open(&own, N, REAL_PATIENT_MS);
  if (redlock_acquire(&own, &other, "held", REAL_TTL_MS, 0) != REDLOCK_TAKEN) return 0;
  if (redlock_acquire(&own, &other, "other", REAL_TTL_MS, 0) != REDLOCK_OK) return 0;
  redlock_release(&own, &other);
  redlock_close(&own);
  return 1;
}

TEST(a_child_may_have_a_client_of_its_own) {
  begin();
  CHECK(refused_in_child(contends_on_its_own));
  CHECK_EQ(redlock_release(&rl, &held), REDLOCK_OK);
  redlock_close(&rl);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
