/* restore.c: R29: all servers restart empty, one by one, under a kept lock that somebody else waits
 * for: nobody loses or gets it. */
#include "fixture.h"

enum { N = 3, TTL_MS = 3000 };

/* Both work for a moment; whether the lock is still kept, and by its keeper alone. */
static int all_is_well(void) {
  redlock_lock *got = redlock_wait(&rival, REAL_LOOK_MS), *lost = redlock_wait(&rl, 0);
  return !got && !lost;
}

static int await_vote(int server, int has_one) {
  while (real_has_vote(&rl, server) != has_one)
    if (!all_is_well()) return 0;
  return 1;
}

/* As an upgrade would. It comes back empty, and has the key before it votes. */
static int outlives_restart_of(int server) {
  server_kill(&real.at[server]);
  server_restart(&real.at[server]);
  return await_vote(server, 0) && await_vote(server, 1) &&
         strcmp(server_command(&real.at[server], "EXISTS r"), "1") == 0;
}

TEST(a_kept_lock_outlives_its_servers) { /* R29 */
  redlock_options options = real_options(REAL_PATIENT_MS);
  int i;
  options.max_ttl_ms = TTL_MS;
  real_await_votes(N, TTL_MS);
  real_open_with(&rl, N, options);
  real_open_with(&rival, N, options);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(&rl, N, "r", N), N);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  CHECK_EQ(redlock_start_acquire(&rival, &other, "r", TTL_MS, REDLOCK_FOREVER), REDLOCK_PENDING);
  for (i = 0; i < N; i++)
    if (!CHECK(outlives_restart_of(i))) break;
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  while (other.status == REDLOCK_PENDING) redlock_wait(&rival, REAL_LOOK_MS);
  CHECK_EQ(other.status, REDLOCK_OK);
  real_release(&rival, &other, N, "r");
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
