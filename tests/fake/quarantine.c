/* quarantine.c: servers that may have forgotten locks do not vote (R24), nor one twice (R5). */
#include "fixture.h"

enum { MAX_TTL = 10000 };

/* All servers started `uptime_ms` ago. */
static void prepare_started(int count, int64_t uptime_ms) {
  prepare(count);
  options.max_ttl_ms = MAX_TTL;
  SET_SERVERS(0, count - 1, started_at, now() - uptime_ms);
}

TEST(info_goes_before_the_first_vote) { /* R24 R4 */
  prepare_started(3, 1000000);
  SET_SERVERS(0, 2, request_ms, 10);
  ready();
  start_timing();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(elapsed_ms(), 22); /* one round trip for it, and the lock's own */
  CHECK_EQ(fake_nth(&fake, 0, FAKE_ANY, 0)->kind, FAKE_INFO);
}

TEST(ttl_over_the_maximum_is_invalid) { /* R24 */
  prepare_started(3, 1000000);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL + 1, 0), REDLOCK_INVALID);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, MAX_TTL + 1), REDLOCK_INVALID);
}

TEST(a_young_server_does_not_vote) { /* R24: uptime less 2 s */
  prepare_started(3, MAX_TTL + 1999);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_QUARANTINED);
  run_for(10);
  end_without_a_key();
}

/* T1 comes before the answer that tells the uptime, which is in whole seconds. */
TEST(an_old_server_votes) { /* R24 */
  prepare_started(3, MAX_TTL + 3000);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
}

/* Without a clock nobody knows since when it has been up. */
TEST(whose_uptime_no_clock_times_does_not_vote) { /* R24 R2 */
  prepare_started(3, 1000000);
  ready();
  start_and_send(&lock, "r", 1000, 0);
  fake_sleep(&fake, 1);
  fail_calls(FAKE_NOW, 2, 2); /* the step's own reading works */
  CHECK(redlock_step(&rl) == NULL);
  CHECK(strstr(redlock_server_error(&rl, 0), "clock") != NULL);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  run_for(1000);
  occupy(1, 1, "s", 60000); /* so that it is needed, and it votes again */
  CHECK_EQ(redlock_acquire(&rl, &other, "s", 1000, 1000), REDLOCK_OK);
  CHECK_EQ(redlock_server_error(&rl, 0)[0], 0);
}

/* As long as a ttl may be, and to the second. */
TEST(a_long_quarantine_is_exact) { /* R24 */
  static const int64_t max_ttl_ms = 400000000;
  int young;
  for (young = 0; young < 2; young++) {
    prepare_started(3, max_ttl_ms + 3000 - young);
    options.max_ttl_ms = (uint32_t)max_ttl_ms;
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), young ? REDLOCK_NO_QUORUM : REDLOCK_OK);
  }
}

/* A server's run_id may begin with any digits. That it is the same one is known all the same,
   though it tells a short uptime now, for its clock was set. */
TEST(a_run_id_of_noughts_is_one) { /* R24 */
  prepare_started(3, 1000000);
  fake.server[0].run_id = 0;
  ready();
  hold("r", 1000);
  run_for(5);
  fake.server[0].started_at = now();
  fake_reset(&fake, 0, FAKE_FIN);
  run_for(5);
  occupy(1, 1, "s", 60000); /* so that it is needed */
  CHECK_EQ(redlock_acquire(&rl, &other, "s", 1000, 0), REDLOCK_OK);
}

TEST(a_server_votes_when_it_is_old_enough) { /* R24: local time since INFO counts */
  prepare_started(3, 8000);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(3900);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(200);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
}

TEST(a_restarted_majority_grants_nothing) { /* R24 */
  prepare_started(5, 1000000);
  ready();
  hold("r", 8000);
  restart(2, 4);
  run_for(1000);
  CHECK(redlock_acquire(&rl, &other, "r", 8000, 300) != REDLOCK_OK);
  run_for(15000);
  CHECK_EQ(redlock_acquire(&rl, &other, "r", 8000, 3000), REDLOCK_OK);
}

TEST(a_restarted_minority_does_not_show) { /* R24 R16 */
  prepare_started(5, 1000000);
  ready_and_warm();
  restart(0, 1);
  start_timing();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK(elapsed_ms() <= 1);
}

TEST(a_replica_does_not_vote) { /* R24 */
  prepare_started(3, 1000000);
  SET_SERVERS(0, 1, store.replica, 1);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0');
}

/* Nor is an array that ends in a number the number that was asked for. */
TEST(an_array_tells_no_run_id) { /* R4 R24 */
  int i, k;
  for (k = 0; k < 2; k++) { /* nor the uptime */
    prepare_started(3, 1000000);
    for (i = 0; i < 2; i++) fake_answer(&fake, i, FAKE_INFO, -1, "*1\r\n:123456\r\n")->skip = k;
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  }
}

/* What a server may not or cannot tell waiters is not what is wrong with it. So it stays when it is
   refused for the second time. */
TEST(a_refused_wake_up_request_hides_nothing) { /* R15 R24 R26 */
  static const char no_hello[] = "-ERR unknown command `HELLO`, with args: `3`, \r\n";
  static const char no_tracking[] =
      "-NOPERM this user has no permissions to run the 'client|tracking' command\r\n";
  int i, k;
  for (k = 0; k < 2; k++) {
    prepare_started(3, 1000000);
    for (i = 0; i < 3; i++) {
      fake.server[i].store.refuse_hello = 0;
      if (k) fake_answer(&fake, i, FAKE_HELLO, -1, no_hello);
      fake_answer(&fake, i, FAKE_TRACKING, -1, no_tracking);
    }
    fake.server[0].store.replica = 1;
    fake.server[2].run_id = fake.server[1].run_id;
    ready();
    for (i = 0; i < 3; i++) {
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
      CHECK(strcmp(redlock_server_error(&rl, 0), "not a master: list plain masters only") == 0);
      CHECK(strcmp(redlock_server_error(&rl, 1), "") == 0);
      CHECK(strcmp(redlock_server_error(&rl, 2), "the same server as another entry") == 0);
      run_for(100);
    }
  }
}

/* Its own words stay: they are about what was refused. */
TEST(a_refusal_in_its_own_words_stays) { /* R15 R24 */
  prepare_started(3, 1000000);
  fake_answer(&fake, 0, FAKE_TRACKING, -1, "-NOPERM 'client|tracking'\r\n");
  fake_answer(&fake, 0, FAKE_INFO, -1, "-NOPERM 'info'\r\n");
  ready_and_warm();
  CHECK(strcmp(redlock_server_error(&rl, 0), "NOPERM 'info'") == 0);
}

TEST(no_info_no_vote) { /* R24: loudly */
  prepare_started(3, 1000000);
  SET_SERVERS(0, 1, store.refuse_info, 1);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(20);
  CHECK(strstr(redlock_server_error(&rl, 0), "can't run this command") != NULL);
  end_without_a_key();
}

/* A node of a Cluster may be replaced by its replica, which has not heard of the lock. */
TEST(a_cluster_node_does_not_vote) { /* R24 */
  prepare_started(3, 1000000);
  SET_SERVERS(0, 1, store.cluster, 1);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  CHECK(strncmp(redlock_server_error(&rl, 0), "not a master", 12) == 0);
  end_without_a_key();
}

/* Without a run_id a restart goes unseen, without an uptime it may have been just now. */
TEST(who_hides_its_start_does_not_vote) { /* R24: loudly */
  int run_id, i;
  for (run_id = 0; run_id < 2; run_id++) {
    prepare_started(3, 1000000);
    SET_SERVERS(0, 1, store.hide_run_id, run_id);
    SET_SERVERS(0, 1, store.hide_uptime, !run_id);
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    for (i = 0; i < 2; i++) CHECK_EQ(lock.votes[i], REDLOCK_VOTE_ERROR);
    run_for(20);
    CHECK(strcmp(redlock_server_error(&rl, 0), "no run_id or uptime in its INFO") == 0);
    CHECK_EQ(fake_live_keys(&fake), 0);
    for (i = 0; i < 2; i++) fake.server[i].store.hide_run_id = fake.server[i].store.hide_uptime = 0;
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 15000), REDLOCK_OK);
  }
}

TEST(an_old_readonly_server_does_not_vote) { /* R24 R15 */
  prepare_started(3, 1000000);
  ready_and_warm();
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, "-READONLY You can't write\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
}

TEST(one_server_behind_two_entries_is_refused) { /* R5 */
  prepare_started(3, 1000000);
  fake.server[1].run_id = fake.server[0].run_id;
  fake.server[2].refuses = 1;
  ready();
  CHECK(redlock_acquire(&rl, &lock, "r", 1000, 0) != REDLOCK_OK);
  run_for(20);
  CHECK(redlock_server_error(&rl, 0)[0] || redlock_server_error(&rl, 1)[0]);
}

/* The first name said yes and went away, and the round goes on: the second says it in its place. */
TEST(it_says_yes_by_one_name_alone) { /* R5 */
  prepare_started(3, 1000000);
  fake.server[2].run_id = fake.server[0].run_id;
  fake.server[2].connect_ms = 20;
  ready();
  hold("r", 5000);
  fake_freeze(&fake, 1);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 9000), REDLOCK_PENDING);
  run_for(5);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_YES);
  fake.server[0].refuses = 1;
  fake_reset(&fake, 0, FAKE_RST);
  fake_answer(&fake, 2, FAKE_EXTEND, -1, ":1\r\n"); /* the same server: it has the value */
  CHECK_EQ(finish(&lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
}

/* It moves while an extension is under way, and another server takes its place. */
TEST(a_server_that_moves_votes_once) { /* R5 */
  prepare_started(3, 1000000);
  fake.server[2].refuses = 1;
  ready();
  hold("r", 2000);
  run_for(500);
  fake_freeze(&fake, 0);
  fake.server[2].refuses = 0;
  fake.server[2].connect_ms = 20;
  fake.server[2].run_id = fake.server[1].run_id;
  CHECK_EQ(redlock_start_extend(&rl, &lock, 5000), REDLOCK_PENDING);
  run_for(1);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_YES);
  fake.server[1].run_id += 0x1000;
  fake_reset(&fake, 1, FAKE_RST);
  fake_answer(&fake, 2, FAKE_EXTEND, -1, ":1\r\n"); /* it has the value */
  CHECK_EQ(redlock_start_acquire(&rl, &other, "x", 1000, 0), REDLOCK_PENDING); /* so they connect */
  CHECK(finish(&lock) != REDLOCK_OK);
}

TEST(a_server_may_move_to_another_name) { /* R5 */
  prepare_started(3, 1000000);
  options.retry_delay_min_ms = 100;
  ready_and_warm();
  fake.server[1].run_id = fake.server[0].run_id;
  fake.server[0].refuses = 1; /* where it was, nobody is any more */
  reset(0, 1, FAKE_RST);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 15000), REDLOCK_OK);
}

TEST(servers_may_change_names) { /* R5 R24 */
  unsigned first;
  prepare_started(3, 1000000);
  options.retry_delay_min_ms = 100;
  ready_and_warm();
  first = fake.server[0].run_id;
  fake.server[0].run_id = fake.server[1].run_id;
  fake.server[1].run_id = first;
  fake.server[2].refuses = 1; /* so that both are needed */
  reset(0, 2, FAKE_RST);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 15000), REDLOCK_OK);
}

/* The server of entry 0 goes to entry 1, where nobody was, and another one takes its place: there
   the handshake takes long. The third server is of no use. */
static void move_the_first_server(int64_t handshake_ms) {
  prepare_started(3, 1000000);
  fake.server[1].refuses = 1;
  ready();
  take_and_release("first", 5000);
  run_for(15000);
  occupy(2, 2, "r", 60000);
  fake.server[1].refuses = 0;
  fake.server[1].run_id = fake.server[0].run_id;
  fake.server[0].run_id += 0x1000;
  fake.server[0].reply_ms = handshake_ms;
  fake_reset(&fake, 0, FAKE_RST);
  CHECK(redlock_step(&rl) == NULL);
}

/* While the handshake of its old entry goes on it answers at the new one: it has one vote. */
TEST(one_whose_old_entry_is_still_connecting_votes) { /* R5 */
  move_the_first_server(SERVER_TIMEOUT / 4);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_YES);
  CHECK(strcmp(redlock_server_error(&rl, 1), "") == 0);
}

/* What the entry knew was the other server's: how long the new one runs is all that counts. */
TEST(an_entry_that_lost_its_server_votes_by_uptime) { /* R5 R24 */
  int young;
  for (young = 0; young < 2; young++) {
    move_the_first_server(SERVER_TIMEOUT / 4);
    if (young) fake.server[0].started_at = now() - 2000;
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), young ? REDLOCK_TAKEN : REDLOCK_OK);
    CHECK_EQ(lock.votes[0], young ? REDLOCK_VOTE_QUARANTINED : REDLOCK_VOTE_YES);
  }
}

TEST(off_means_no_info) { /* R24 */
  prepare(3);
  fake.server[0].started_at = now();
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 100000000, 0), REDLOCK_OK);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_INFO), 0);
}

/* What the network has had to do. */
struct cost {
  int64_t ms;
  long waits;
  size_t sent, received;
};

static struct cost cost_so_far(void) {
  struct cost c;
  size_t i;
  c.ms = now();
  c.waits = fake.calls[FAKE_WAIT];
  c.sent = c.received = 0;
  for (i = 0; i < fake.connections; i++) {
    c.sent += fake.connection[i].took;
    c.received += fake.connection[i].gave;
  }
  return c;
}

static struct cost cost_since(struct cost was) {
  struct cost c = cost_so_far();
  c.ms -= was.ms;
  c.waits -= was.waits;
  c.sent -= was.sent;
  c.received -= was.received;
  return c;
}

static void prepare_slow(uint32_t max_ttl_ms) {
  prepare_started(3, 1000000);
  options.max_ttl_ms = max_ttl_ms;
  SET_SERVERS(0, 2, request_ms, 10);
  ready();
}

static struct cost cost_of_the_first(uint32_t max_ttl_ms) {
  struct cost c;
  prepare_slow(max_ttl_ms);
  c = cost_so_far();
  hold("r", 1000);
  c = cost_since(c);
  return c;
}

static struct cost cost_of_later_ones(uint32_t max_ttl_ms) {
  struct cost c;
  int i;
  prepare_slow(max_ttl_ms);
  warm();
  run_for(100);
  c = cost_so_far();
  for (i = 0; i < 10; i++) {
    hold("r", 1000);
    CHECK_EQ(redlock_extend(&rl, &lock, 2000), REDLOCK_OK);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  }
  run_for(100);
  c = cost_since(c);
  return c;
}

TEST(one_round_trip_is_added_to_the_first_lock) { /* R24 R4 */
  struct cost with = cost_of_the_first(MAX_TTL), without = cost_of_the_first(0);
  CHECK_EQ(with.ms, 2 * without.ms);
  CHECK(with.sent > without.sent);
}

TEST(no_byte_is_added_to_later_ones) { /* R24 */
  struct cost with = cost_of_later_ones(MAX_TTL), without = cost_of_later_ones(0);
  CHECK_EQ(with.ms, without.ms);
  CHECK_EQ(with.waits, without.waits);
  CHECK_EQ(with.sent, without.sent);
  CHECK_EQ(with.received, without.received);
}

TEST(info_split_at_every_byte) { /* R24 R8 */
  size_t at;
  for (at = 1; at < 260; at++) {
    prepare_started(3, MAX_TTL + (at & 1 ? 3000 : 2999));
    SET_SERVERS(0, 2, split_at, at);
    SET_SERVERS(0, 2, split_ms, 2);
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), at & 1 ? REDLOCK_OK : REDLOCK_NO_QUORUM);
  }
}

/* The SET leaves before it is old enough, and its answer comes after. */
TEST(what_was_asked_too_early_is_no_vote) { /* R24: T1 counts */
  prepare_started(3, 1000000);
  options.server_timeout_ms = 500;
  ready_and_warm();
  restart(0, 2);
  run_for(1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "x", 500, 0), REDLOCK_NO_QUORUM);
  run_for(MAX_TTL - 100);
  SET_SERVERS(0, 2, reply_ms, 200);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_QUARANTINED);
}
