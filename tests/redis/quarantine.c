/* quarantine.c: R24: servers that may have forgotten locks, or whose replicas may, cast no vote.
 * What it is for shows forget.c. */
#include "fixture.h"

enum { N = 3, MAX_TTL_MS = 1500 };

static void check_no_quorum(const struct servers *set) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  char list[SERVERS_LIST];
  options.max_ttl_ms = MAX_TTL_MS;
  real_open_list_with(&rl, servers_list(set, set->count, list), options);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, 0), REDLOCK_NO_QUORUM);
}

TEST(young_servers_cast_no_vote_yet) {
  int i;
  for (i = 0; i < N; i++) server_restart(&real.at[i]);
  check_no_quorum(&real);
  CHECK(real_votes(&lock, N, REDLOCK_VOTE_QUARANTINED) > 0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  real_release(&rl, &lock, N, "r");
}

TEST(who_is_no_master_or_does_not_tell_casts_no_vote) {
  static const struct {
    const char *begin, *end, *said;
  } rows[] = {
    {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "master"},
    {"ACL SETUSER default -info", "ACL SETUSER default +@all", ""} /* each version in other words */
  };
  size_t i;
  real_await_votes(N, MAX_TTL_MS);
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (*server_command(&real.at[0], "%s", rows[i].begin) == '-') continue; /* it cannot */
    servers_command(&real, 2, "%s", rows[i].begin);
    check_no_quorum(&real);
    CHECK(redlock_server_error(&rl, 0)[0] && strstr(redlock_server_error(&rl, 0), rows[i].said));
    redlock_close(&rl);
    servers_command(&real, 2, "%s", rows[i].end);
  }
}

TEST(a_node_of_a_cluster_casts_no_vote) {
  struct servers node;
  if (strstr(server_command(&real.at[0], "CLUSTER INFO"), "unknown command"))
    SKIP("before Redis 3 there are no clusters");
  servers_start(&node, 1, "--cluster-enabled yes");
  check_no_quorum(&node);
  CHECK(strncmp(redlock_server_error(&rl, 0), "not a master", 12) == 0);
  servers_stop(&node);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
