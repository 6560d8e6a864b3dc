/* quarantine.c: R24: servers that may have forgotten locks cast no vote. */
#include "real.h"

enum { N = 3, MAX_TTL_MS = 1500 };

static void open_wary(redlock *rl, const char *list) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  options.max_ttl_ms = MAX_TTL_MS;
  real_open_list_with(rl, list, options);
}

static void open_all(redlock *rl) {
  char list[SERVERS_LIST];
  open_wary(rl, servers_list(&real, N, list));
}

static void restart(int i) {
  server_kill(&real.at[i]);
  server_restart(&real.at[i]);
}

/* A program that was just started over servers that were just started. */
TEST(young_servers_cast_no_vote_yet) {
  redlock rl;
  redlock_lock lock;
  int i;
  for (i = 0; i < N; i++) restart(i);
  open_all(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(real_votes(&lock, N, REDLOCK_VOTE_QUARANTINED) > 0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  real_release(&rl, &lock, N, "r");
  redlock_close(&rl);
}

/* All others grant the lock twice here. seen: the other client knows the servers already. */
static void restart_majority_under_a_held_lock(int seen) {
  redlock holder, other;
  redlock_lock held, wanted;
  real_await_votes(N, MAX_TTL_MS);
  open_all(&holder);
  if (seen) {
    open_all(&other);
    CHECK_EQ(redlock_acquire(&other, &wanted, "seen", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
    CHECK_EQ(redlock_release(&other, &wanted), REDLOCK_OK);
  }
  CHECK_EQ(redlock_acquire(&holder, &held, "r", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  restart(0);
  restart(1);
  if (!seen) open_all(&other);
  CHECK_EQ(redlock_acquire(&other, &wanted, "r", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&holder, &held), 0);
  CHECK_EQ(redlock_release(&other, &wanted), REDLOCK_OK);
  redlock_close(&other);
  redlock_close(&holder);
}

TEST(restarted_majority_does_not_grant_a_held_lock) { restart_majority_under_a_held_lock(1); }

TEST(restarted_majority_does_not_grant_to_a_new_client) { restart_majority_under_a_held_lock(0); }

TEST(restarted_minority_is_not_noticed) {
  redlock rl;
  redlock_lock lock;
  real_await_votes(N, MAX_TTL_MS);
  open_all(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  restart(0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, 0), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
}

TEST(ttl_over_the_longest_is_invalid) {
  redlock rl;
  redlock_lock lock;
  open_all(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS + 1, 0), REDLOCK_INVALID);
  redlock_close(&rl);
}

/* A replica's promotion would forget just as a restart does. */
TEST(a_replica_casts_no_vote) {
  redlock rl;
  redlock_lock lock;
  real_await_votes(N, MAX_TTL_MS);
  servers_command(&real, 2, "REPLICAOF 127.0.0.1 1");
  open_all(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(strstr(redlock_server_error(&rl, 0), "master") != NULL);
  redlock_close(&rl);
  servers_command(&real, 2, "REPLICAOF NO ONE");
}

/* R5: one run_id behind two entries */
TEST(one_server_behind_two_entries_has_one_vote) {
  char list[2 * SERVERS_LIST];
  redlock rl;
  redlock_lock lock;
  real_await_votes(N, MAX_TTL_MS);
  snprintf(list, sizeof list, "127.0.0.1:%d,unix:%s", real.at[0].port, real.at[0].socket);
  open_wary(&rl, list);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, 500), REDLOCK_NO_QUORUM);
  CHECK_EQ(real_keys_settle(&rl, 1, "r", 0), 0);
  redlock_close(&rl);
}

/* INFO denied = no vote, and it is said. */
TEST(a_server_without_info_casts_no_vote) {
  redlock rl;
  redlock_lock lock;
  real_await_votes(N, MAX_TTL_MS);
  servers_command(&real, 2, "ACL SETUSER default -info");
  open_all(&rl);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0'); /* each version says it in other words */
  redlock_close(&rl);
  servers_command(&real, 2, "ACL SETUSER default +@all");
}

/* What a Cluster's node grants, its replica may not know. */
TEST(a_node_of_a_cluster_casts_no_vote) { /* R24 */
  struct servers node;
  char list[SERVERS_LIST];
  redlock rl;
  redlock_lock lock;
  servers_start(&node, 1, "--cluster-enabled yes");
  open_wary(&rl, servers_list(&node, 1, list));
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(strncmp(redlock_server_error(&rl, 0), "not a master", 12) == 0);
  redlock_close(&rl);
  servers_stop(&node);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
