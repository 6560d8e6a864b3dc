/* forget_unseen.c: how locks are forgotten without a restart that the quarantine sees (R24): the
 * README lists these as assumptions. Each test shows what happens, good or bad: two hold the lock,
 * and the first one's extension fails. */
#include "real.h"
#include "wall.h"

#include <unistd.h>

enum { N = 3, ALL = 5, TTL_MS = REAL_TTL_MS, MAX_TTL_MS = 1000, HOUR = 3600, CLOCK_LOOKS = 40 };

static redlock holder, other;
static redlock_lock held, wanted;

/* ---- what the tests share ---- */

static const char *list_of(int first, int count) {
  static char list[SERVERS_LIST];
  int i;
  list[0] = '\0';
  for (i = first; i < first + count; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s127.0.0.1:%d", *list ? "," : "",
             real.at[i].port);
  return list;
}

static void open_with(redlock *rl, const char *list, uint32_t max_ttl_ms) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  options.max_ttl_ms = max_ttl_ms;
  real_open_list_with(rl, list, options);
}

/* The holder needs no quarantine of its own where it only holds. */
static void begin(const char *list) {
  servers_heal(&real);
  real_await_votes(ALL, MAX_TTL_MS);
  open_with(&other, list, MAX_TTL_MS);
  open_with(&holder, list, 0);
  CHECK_EQ(redlock_acquire(&holder, &held, "r", TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&other, &wanted, "r", MAX_TTL_MS, 0), REDLOCK_TAKEN);
}

static void check_second_holder(redlock *rl) {
  CHECK_EQ(redlock_acquire(rl, &wanted, "r", MAX_TTL_MS, 0), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&holder, &held) > 0);
}

/* TAKEN or NO_QUORUM: it depends on who answers first. */
static void check_refused(redlock *rl) {
  CHECK(redlock_acquire(rl, &wanted, "r", MAX_TTL_MS, 0) != REDLOCK_OK);
  CHECK(real_votes(&wanted, N, REDLOCK_VOTE_YES) <= real_minority(N));
}

/* R19: the servers prove it */
static void check_loss_is_noticed(void) {
  CHECK_EQ(redlock_extend(&holder, &held, TTL_MS), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&holder, &held), 0);
}

/* The servers are other ones now, or not reached yet: the loss may not be proved so soon. */
static void check_extension_fails(void) {
  CHECK(redlock_extend(&holder, &held, TTL_MS) != REDLOCK_OK);
}

static void end(void) {
  redlock_close(&holder);
  redlock_close(&other);
}

/* ---- the keys go, the server stays ---- */

static void flushall_is_invisible_and_the_extension_notices_the_loss(void) {
  begin(list_of(0, N));
  servers_command(&real, real_quorum(N), "FLUSHALL");
  check_second_holder(&other);
  check_loss_is_noticed();
  end();
}

/* ---- clocks ---- */

static long wall_s(const struct server *s) {
  return strtol(server_command(s, "TIME"), NULL, 10);
}

static int is_off_by(const struct server *s, long seconds) {
  return labs(wall_s(s) - (long)time(NULL) - seconds) < 60;
}

/* Valkey 9 reads the wall clock once in a millisecond at most. */
static int follows(const struct server *s, long seconds) {
  int looks;
  for (looks = 0; looks < CLOCK_LOOKS && !is_off_by(s, seconds); looks++)
    poll(NULL, 0, REAL_LOOK_MS);
  return looks < CLOCK_LOOKS;
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
  servers_heal(&real);
}

static const char *clock_missing(void) {
  int good = wall_path[0] && step_clocks(HOUR);
  wall_set(0);
  return good ? NULL : "no preloaded library sets the servers' clock here";
}

static void a_clock_stepped_forward_is_invisible_and_the_extension_notices_the_loss(void) {
  if (clock_missing()) SKIP(clock_missing());
  begin(list_of(0, N));
  CHECK(step_clocks(HOUR));
  check_second_holder(&other);
  check_loss_is_noticed();
  end();
  set_clocks_right();
}

static void restart_two(void) {
  server_restart(&real.at[0]);
  server_restart(&real.at[1]);
}

static void a_server_started_before_its_clock_was_set_is_trusted_too_early(void) {
  redlock newcomer;
  if (clock_missing()) SKIP(clock_missing());
  begin(list_of(0, N));
  restart_two();
  open_with(&newcomer, list_of(0, N), MAX_TTL_MS);
  check_refused(&newcomer);
  redlock_close(&newcomer);
  CHECK(step_clocks(HOUR));
  open_with(&newcomer, list_of(0, N), MAX_TTL_MS);
  check_second_holder(&newcomer);
  redlock_close(&newcomer);
  end();
  set_clocks_right();
}

/* It tells a negative uptime: the server counts as just started. */
static void a_clock_set_back_only_makes_a_server_wait(void) {
  int64_t start;
  if (clock_missing()) SKIP(clock_missing());
  begin(list_of(0, N));
  end();
  CHECK(step_clocks(-HOUR));
  CHECK(server_info(&real.at[0], "uptime_in_seconds:") < 0);
  open_with(&other, list_of(0, N), MAX_TTL_MS);
  start = timing_ms();
  CHECK_EQ(redlock_acquire(&other, &wanted, "new", MAX_TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(real_votes(&wanted, N, REDLOCK_VOTE_QUARANTINED) > real_minority(N));
  CHECK_EQ(redlock_acquire(&other, &wanted, "new", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK(timing_ms() - start >= MAX_TTL_MS);
  redlock_close(&other);
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
  server_command(replica, "REPLICAOF 127.0.0.1 %d", master->port);
  while (!strstr(server_command(replica, "INFO replication"), "master_link_status:up") &&
         CHECK(looks++ < REAL_LOOKS))
    poll(NULL, 0, REAL_LOOK_MS); /* the news is in another process */
}

/* Servers 0 and 1 have the replicas 3 and 4, which are promoted before the lock reached them:
   replication is not waited for. Then the addresses lead to them. */
static const char *masters_with_replicas(void) {
  static char list[2 * SERVERS_LIST];
  int i;
  for (i = 0; i < 2; i++) {
    server_command(&real.at[i], "CONFIG SET repl-diskless-sync-delay 0");
    follow(&real.at[N + i], &real.at[i]);
    lead_to(i, &real.at[i]);
  }
  snprintf(list, sizeof list, "unix:%s,unix:%s,127.0.0.1:%d", address_path(0), address_path(1),
           real.at[2].port);
  return list;
}

static void fail_over(void) {
  int i;
  for (i = 0; i < 2; i++) {
    lead_to(i, &real.at[N + i]);
    server_kill(&real.at[i]);
  }
}

/* The old master is seen to be gone by whoever knew it: run_id is another one. */
static void a_promoted_replica_is_quarantined_by_those_who_knew_the_master_and_no_one_else(void) {
  const char *list;
  redlock newcomer;
  int i;
  servers_heal(&real);
  list = masters_with_replicas();
  for (i = 0; i < 2; i++) server_command(&real.at[N + i], "REPLICAOF NO ONE");
  begin(list);
  fail_over();
  check_refused(&other);
  open_with(&newcomer, list, MAX_TTL_MS);
  check_second_holder(&newcomer);
  check_extension_fails();
  redlock_close(&newcomer);
  end();
}

/* ---- clients that do not agree ---- */

/* The other's max_ttl_ms is shorter than the lock that the servers forgot. */
static void with_a_shorter_max_ttl_ms_two_hold_it(void) {
  begin(list_of(0, N));
  restart_two();
  check_refused(&other);
  CHECK_EQ(redlock_acquire(&other, &wanted, "r", MAX_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&holder, &held) > 0);
  check_extension_fails();
  end();
}

/* The other's max_ttl_ms is longer than any lock: it waits in vain, and no one is harmed. */
static void with_a_longer_max_ttl_ms_one_only_waits(void) {
  redlock careful;
  begin(list_of(0, N));
  open_with(&careful, list_of(0, N), 1000 * REAL_TTL_MS);
  redlock_release(&holder, &held);
  CHECK_EQ(redlock_acquire(&careful, &wanted, "r", TTL_MS, 0), REDLOCK_NO_QUORUM);
  CHECK(real_votes(&wanted, N, REDLOCK_VOTE_QUARANTINED) > real_minority(N));
  redlock_close(&careful);
  end();
}

static void tests(void) {
  RUN(flushall_is_invisible_and_the_extension_notices_the_loss);
  RUN(a_clock_stepped_forward_is_invisible_and_the_extension_notices_the_loss);
  RUN(with_a_longer_max_ttl_ms_one_only_waits);
  RUN(a_clock_set_back_only_makes_a_server_wait);
  RUN(a_promoted_replica_is_quarantined_by_those_who_knew_the_master_and_no_one_else);
  RUN(with_a_shorter_max_ttl_ms_two_hold_it);
  RUN(a_server_started_before_its_clock_was_set_is_trusted_too_early);
}

int main(int argc, char **argv) {
  int result;
  wall_begin();
  result = real_main(argc, argv, ALL, tests);
  wall_end();
  return result;
}
