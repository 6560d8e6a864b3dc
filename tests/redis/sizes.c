/* sizes.c: every number of servers, whole and with servers lost. */
#include "fixture.h"

static void each_size(void (*scene)(int n)) {
  static const int sizes[] = {1, 2, 3, 4, 5, 7};
  size_t i;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int bad = check.bad;
    heal();
    real_open(&rl, sizes[i], REAL_PATIENT_MS);
    real_open(&rival, sizes[i], REAL_PATIENT_MS);
    scene(sizes[i]);
    close_both();
    if (check.bad != bad) printf("    with %d servers\n", sizes[i]);
  }
}

static void one_holds(int n) {
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK(real_votes(&lock, n, REDLOCK_VOTE_YES) >= real_quorum(n));
  CHECK(redlock_remaining_ms(&rl, &lock) <= REAL_TTL_MS);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", REAL_TTL_MS, 0), REDLOCK_TAKEN);
  CHECK(real_votes(&other, n, REDLOCK_VOTE_TAKEN) > real_minority(n));
  CHECK_EQ(redlock_extend(&rl, &lock, 10 * REAL_TTL_MS), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK); /* it never shortens */
  CHECK(redlock_remaining_ms(&rl, &lock) > REAL_TTL_MS);
  CHECK(server_number(&real.at[0], "PTTL r") > REAL_TTL_MS);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  real_release(&rival, &other, n, "r");
}

TEST(one_client_holds_and_the_other_is_told_taken) { each_size(one_holds); } /* R4 R5 R18 R21 R22 */

/* The last ones, before the client knows them. Others leave the keys where the lock is refused for
   their whole ttl. */
static void kill_from(int first, int n) {
  for (; first < n; first++) server_kill(&real.at[first]);
}

static void a_minority_is_killed_and_one_more(int n) {
  kill_from(real_quorum(n), n);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  real_release(&rl, &lock, n, "r");
  kill_from(real_quorum(n) - 1, n);
  CHECK_EQ(redlock_acquire(&rival, &lock, "r", REAL_TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(real_votes(&lock, n, REDLOCK_VOTE_UNREACHABLE) > 0);
  CHECK(redlock_server_error(&rival, n - 1)[0] != '\0');
  CHECK_EQ(redlock_remaining_ms(&rival, &lock), 0);
  CHECK_EQ(real_keys_settle(&rival, n, "r", 0), 0);
}

/* And with one more there is no quorum: R5 R7 R16 R21 R23 */
TEST(a_killed_minority_changes_nothing) { each_size(a_minority_is_killed_and_one_more); }

/* What one takes on half of the servers the other lacks. Whoever has it releases it. */
static void two_ask_at_once(int n) {
  redlock *const client[] = {&rl, &rival};
  redlock_lock *const asked[] = {&lock, &other};
  int64_t end = timing_ms() + REAL_WAIT_MS;
  int i, round, had;
  (void)n;
  for (round = 0; round < 10; round++) {
    for (i = 0; i < 2; i++)
      CHECK_EQ(redlock_start_acquire(client[i], asked[i], "r", REAL_TTL_MS, REAL_WAIT_MS),
               REDLOCK_PENDING);
    for (i = had = 0; had < 2 && timing_ms() < end; i = !i) {
      if (redlock_wait(client[i], 1) != asked[i]) continue;
      CHECK_EQ(asked[i]->status, REDLOCK_OK);
      CHECK_EQ(redlock_release(client[i], asked[i]), REDLOCK_OK);
      had++;
    }
    CHECK_EQ(had, 2);
  }
}

TEST(two_clients_at_once_both_get_it) { each_size(two_ask_at_once); } /* R5 R7 R9 */

int main(int argc, char **argv) { return fixture_main(argc, argv, 7); }
