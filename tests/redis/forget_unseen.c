/* forget_unseen.c: how locks are forgotten without a restart that the quarantine sees (R24): the
 * README lists these as assumptions. Each test shows what happens, good or bad: rl holds the lock,
 * its rival gets it too, and the first one's extension fails. */
#include "fixture.h"
#include "wall.h"

enum { N = 3, ALL = 5, TTL_MS = REAL_TTL_MS, MAX_TTL_MS = 1000, HOUR = 3600, CLOCK_LOOKS = 40 };

static void open_wary(redlock *client, const char *list) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  options.max_ttl_ms = MAX_TTL_MS;
  real_open_list_with(client, list, options);
}

static const char *three(void) {
  static char list[SERVERS_LIST];
  return servers_list(&real, N, list);
}

/* The holder needs no quarantine of its own where it only holds. */
static void begin(const char *list) {
  real_await_votes(ALL, MAX_TTL_MS);
  open_wary(&rival, list);
  real_open_list(&rl, list, REAL_PATIENT_MS);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", MAX_TTL_MS, 0), REDLOCK_TAKEN);
}

static void check_second_holder(void) {
  CHECK_EQ(redlock_acquire(&rival, &other, "r", MAX_TTL_MS, 0), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

/* TAKEN or NO_QUORUM: it depends on who answers first. */
static void check_refused(void) {
  CHECK(redlock_acquire(&rival, &other, "r", MAX_TTL_MS, 0) != REDLOCK_OK);
  CHECK(real_votes(&other, N, REDLOCK_VOTE_YES) <= real_minority(N));
}

/* The servers prove it. */
static void check_loss_is_noticed(void) {
  CHECK_EQ(redlock_extend(&rl, &lock, TTL_MS), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
}

/* Another client, which knows nothing of the servers. */
static void open_newcomer(const char *list) {
  redlock_close(&rival);
  open_wary(&rival, list);
}

/* ---- the keys go, the server stays ---- */

TEST(flushall_is_invisible_and_the_extension_notices_the_loss) { /* R19 R24 */
  begin(three());
  servers_command(&real, real_quorum(N), "FLUSHALL");
  check_second_holder();
  check_loss_is_noticed();
}

/* ---- clocks ---- */

/* Valkey 9 reads the wall clock once in a millisecond at most. */
static int follows(const struct server *s, long seconds) {
  int looks;
  for (looks = 0; looks < CLOCK_LOOKS; looks++) {
    long wall_s = strtol(server_command(s, "TIME"), NULL, 10);
    if (labs(wall_s - (long)time(NULL) - seconds) < 60) return 1;
    poll(NULL, 0, REAL_LOOK_MS);
  }
  return 0;
}

/* True when the servers' clocks follow. */
static int step_clocks(long seconds) {
  int i, good = 1;
  wall_set(seconds);
  for (i = 0; i < ALL; i++) good = good && follows(&real.at[i], seconds);
  return good;
}

/* Keys that were set meanwhile would live for another hour. */
static void set_clocks_right(void) {
  CHECK(step_clocks(0));
  heal();
}

static const char *clock_missing(void) {
  int good = wall_path[0] && step_clocks(HOUR);
  wall_set(0);
  return good ? NULL : "no preloaded library sets the servers' clock here";
}

TEST(a_clock_stepped_forward_is_invisible_and_the_extension_notices_the_loss) { /* R19 R24 */
  if (clock_missing()) SKIP(clock_missing());
  begin(three());
  CHECK(step_clocks(HOUR));
  check_second_holder();
  check_loss_is_noticed();
  set_clocks_right();
}

/* ---- another server behind the same address ---- */

static const char *address_path(int i) {
  static char path[2][SERVERS_PATH + 16];
  snprintf(path[i], sizeof path[i], "%s/at", real.at[i].dir);
  return path[i];
}

static void lead_to(int i, const struct server *s) {
  unlink(address_path(i));
  CHECK_EQ(symlink(s->socket, address_path(i)), 0);
}

static void follow(struct server *replica, const struct server *master) {
  int looks = 0;
  server_command(master, "CONFIG SET repl-diskless-sync-delay 0");
  server_command(replica, "REPLICAOF 127.0.0.1 %d", master->port);
  while (!strstr(server_command(replica, "INFO replication"), "master_link_status:up") &&
         CHECK(looks++ < REAL_LOOKS))
    poll(NULL, 0, REAL_LOOK_MS); /* the news is in another process */
}

/* Servers 0 and 1 have the replicas 3 and 4, which are promoted before the lock reached them:
   replication is not waited for. Then the addresses lead to them. The old master is seen to be gone
   by whoever knew it: run_id is another one. */
TEST(a_promoted_replica_is_quarantined_by_those_who_knew_the_master_and_no_one_else) { /* R24 */
  char list[3 * SERVERS_PATH];
  int i;
  for (i = 0; i < 2; i++) {
    follow(&real.at[N + i], &real.at[i]);
    lead_to(i, &real.at[i]);
    server_command(&real.at[N + i], "REPLICAOF NO ONE");
  }
  snprintf(list, sizeof list, "unix:%s,unix:%s,127.0.0.1:%d", address_path(0), address_path(1),
           real.at[2].port);
  begin(list);
  for (i = 0; i < 2; i++) {
    lead_to(i, &real.at[N + i]);
    server_kill(&real.at[i]);
  }
  check_refused();
  open_newcomer(list);
  check_second_holder();
  CHECK(redlock_extend(&rl, &lock, TTL_MS) != REDLOCK_OK); /* those servers are other ones */
}

/* ---- restarts ---- */

TEST(a_server_started_before_its_clock_was_set_is_trusted_too_early) { /* R24 */
  if (clock_missing()) SKIP(clock_missing());
  begin(three());
  server_restart(&real.at[0]);
  server_restart(&real.at[1]);
  open_newcomer(three());
  check_refused();
  CHECK(step_clocks(HOUR));
  open_newcomer(three());
  check_second_holder();
  set_clocks_right();
}

int main(int argc, char **argv) {
  int result;
  wall_begin();
  result = fixture_main(argc, argv, ALL);
  wall_end();
  return result;
}
