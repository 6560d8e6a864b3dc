/* sizes.c: every number of servers, whole and with servers lost. */
#include "real.h"

static const int sizes[] = {1, 2, 3, 4, 5, 7};

static void each_size(void (*scene)(int n)) {
  size_t i;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int bad = check.bad;
    servers_heal(&real);
    scene(sizes[i]);
    if (check.bad != bad) printf("    with %d servers\n", sizes[i]);
  }
}

/* The last ones of the first n. */
static void kill_last(int n, int count) {
  while (count-- > 0) server_kill(&real.at[--n]);
}

/* R4 R5 R21 */
static void scene_one_holder(int n) {
  redlock a, b;
  redlock_lock held, wanted;
  real_open(&a, n, REAL_PATIENT_MS);
  real_open(&b, n, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&a, &held, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK(real_votes(&held, n, REDLOCK_VOTE_YES) >= real_quorum(n));
  CHECK_EQ(redlock_acquire(&b, &wanted, "r", REAL_TTL_MS, 0), REDLOCK_TAKEN);
  CHECK(real_votes(&wanted, n, REDLOCK_VOTE_TAKEN) > real_minority(n));
  CHECK_EQ(redlock_release(&a, &held), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&b, &wanted, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  real_release(&b, &wanted, n, "r");
  redlock_close(&a);
  redlock_close(&b);
}

TEST(one_client_holds_the_others_are_told_taken) { each_size(scene_one_holder); }

/* R18 R22 */
static void scene_extend(int n) {
  redlock rl;
  redlock_lock lock;
  real_open(&rl, n, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) <= REAL_TTL_MS);
  CHECK_EQ(redlock_extend(&rl, &lock, 10 * REAL_TTL_MS), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > REAL_TTL_MS);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > REAL_TTL_MS);
  CHECK(server_number(&real.at[0], "PTTL r") > REAL_TTL_MS);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(real_keys_settle(&rl, n, "r", 0), 0);
  redlock_close(&rl);
}

TEST(extension_adds_and_never_shortens) { each_size(scene_extend); }

/* R5 R7 R16 R21: others throw here and leave the keys for their whole ttl */
static void scene_minority_killed(int n) {
  redlock rl;
  redlock_lock lock;
  real_open(&rl, n, REAL_PATIENT_MS);
  kill_last(n, real_minority(n));
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  real_release(&rl, &lock, n, "r");
  redlock_close(&rl);
}

TEST(a_killed_minority_changes_nothing) { each_size(scene_minority_killed); }

/* R7 R23 */
static void scene_majority_killed(int n) {
  redlock rl;
  redlock_lock lock;
  real_open(&rl, n, REAL_PATIENT_MS);
  kill_last(n, real_minority(n) + 1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(real_votes(&lock, n, REDLOCK_VOTE_UNREACHABLE) > 0);
  CHECK(redlock_server_error(&rl, n - 1)[0] != '\0');
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(real_keys_settle(&rl, n, "r", 0), 0);
  redlock_close(&rl);
}

TEST(a_killed_majority_refuses_and_leaves_no_keys) { each_size(scene_majority_killed); }

/* ---- ties ---- */

/* Each lock that is granted is released. Returns how many of the two clients had it. */
static int share(redlock *client, redlock_lock *lock) {
  int had[2] = {0, 0}, i;
  int64_t end = timing_ms() + REAL_WAIT_MS;
  while (had[0] + had[1] < 2 && timing_ms() < end)
    for (i = 0; i < 2; i++) {
      if (redlock_wait(&client[i], 1) != &lock[i]) continue;
      if (lock[i].operation != REDLOCK_ACQUIRE) continue;
      had[i] = CHECK_EQ(lock[i].status, REDLOCK_OK);
      CHECK_EQ(redlock_start_release(&client[i], &lock[i]), REDLOCK_PENDING);
    }
  return had[0] + had[1];
}

/* Two clients at once: what one takes on half of the servers the other lacks. R5 R7 R9 */
static void scene_tie(int n) {
  redlock client[2];
  redlock_lock lock[2];
  int i, round;
  for (i = 0; i < 2; i++) real_open(&client[i], n, REAL_PATIENT_MS);
  for (round = 0; round < 10; round++) {
    for (i = 0; i < 2; i++)
      CHECK_EQ(redlock_start_acquire(&client[i], &lock[i], "r", REAL_TTL_MS, REAL_WAIT_MS),
               REDLOCK_PENDING);
    CHECK_EQ(share(client, lock), 2);
    for (i = 0; i < 2; i++) redlock_cancel(&client[i], &lock[i]);
  }
  for (i = 0; i < 2; i++) redlock_close(&client[i]);
}

TEST(two_clients_at_once_both_get_it) { each_size(scene_tie); }

/* Half of the servers are another client's. R5 R7 R23 */
static void scene_half_taken(int n) {
  redlock rl;
  redlock_lock lock;
  if (n % 2) return;
  real_open(&rl, n, REAL_PATIENT_MS);
  servers_command(&real, n / 2, "SET r other PX 300");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  servers_command(&real, n / 2, "SET r other PX 300000");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_TAKEN);
  CHECK_EQ(real_keys_settle(&rl, n, "r", n / 2), n / 2);
  redlock_close(&rl);
}

TEST(even_n_tie_resolves) { each_size(scene_half_taken); }

int main(int argc, char **argv) { return real_main(argc, argv, 7, check_all); }
