/* process.c: R17: in a child of fork() a client does nothing, and its parent does not notice. */
#include "fixture.h"

enum { N = 3 };

static void begin(void) {
  real_open(&rl, N, REAL_PATIENT_MS);
  real_hold(&rl, &lock, N, "held");
}

/* Runs the calls in a child. True when all of them did there what they should. */
static int in_child(int (*calls)(void)) {
  pid_t pid = fork();
  if (pid == 0) _exit(!calls());
  return real_end_of(pid) == 0;
}

static int every_call_is_refused(void) {
  return redlock_acquire(&rl, &other, "other", REAL_TTL_MS, 0) == REDLOCK_INVALID &&
         redlock_extend(&rl, &lock, REAL_TTL_MS) == REDLOCK_INVALID &&
         redlock_release(&rl, &lock) == REDLOCK_INVALID &&
         redlock_resolve(&rl) == REDLOCK_INVALID &&
         redlock_start_acquire(&rl, &other, "other", REAL_TTL_MS, 0) == REDLOCK_INVALID &&
         redlock_start_extend(&rl, &lock, REAL_TTL_MS) == REDLOCK_INVALID &&
         redlock_start_release(&rl, &lock) == REDLOCK_INVALID &&
         redlock_keep(&rl, &lock, 0) == REDLOCK_INVALID &&
         redlock_cancel(&rl, &lock) == REDLOCK_INVALID && redlock_step(&rl) == NULL &&
         redlock_wait(&rl, 0) == NULL;
}

static int it_closes(void) {
  redlock_close(&rl);
  return 1;
}

/* Commands that the server has run, each look itself among them. */
static long commands(void) { return server_info(&real.at[0], "total_commands_processed:"); }

static void check_child_sends_nothing(int (*calls)(void)) {
  long before;
  begin();
  before = commands();
  CHECK(in_child(calls));
  CHECK_EQ(commands() - before, 1);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  real_release(&rl, &lock, N, "held");
}

TEST(a_child_is_refused_by_every_call) { check_child_sends_nothing(every_call_is_refused); }

TEST(a_child_that_closes_takes_nothing_away) { check_child_sends_nothing(it_closes); }

static int it_contends_on_its_own(void) {
  real_open(&rival, N, REAL_PATIENT_MS);
  return redlock_acquire(&rival, &other, "held", REAL_TTL_MS, 0) == REDLOCK_TAKEN &&
         redlock_acquire(&rival, &other, "other", REAL_TTL_MS, 0) == REDLOCK_OK &&
         redlock_release(&rival, &other) == REDLOCK_OK;
}

TEST(a_child_may_have_a_client_of_its_own) {
  begin();
  CHECK(in_child(it_contends_on_its_own));
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
