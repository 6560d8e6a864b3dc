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

/* To the second: its uptime counts less 2 s. And for as long as a ttl may be. */
TEST(a_young_server_does_not_vote) { /* R24 */
  static const uint32_t max_ttl_ms[] = {MAX_TTL, 400000000};
  int k, young;
  for (k = 0; k < 2; k++)
    for (young = 0; young < 2; young++) {
      prepare_started(3, (int64_t)max_ttl_ms[k] + 3000 - young);
      options.max_ttl_ms = max_ttl_ms[k];
      ready();
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), young ? REDLOCK_NO_QUORUM : REDLOCK_OK);
      CHECK_EQ(lock.votes[0], young ? REDLOCK_VOTE_QUARANTINED : REDLOCK_VOTE_YES);
      run_for(10);
      CHECK_EQ(fake_live_keys(&fake), young ? 0 : 3);
    }
}

/* Its SET would be void, since T1 is in the quarantine. */
TEST(one_that_ends_in_the_handshake_is_not_waited_for) { /* R6 R24 */
  prepare_started(3, 1000000);
  options.server_timeout_ms = 3000;
  fake.server[0].started_at = now() - MAX_TTL - 2000;
  fake.server[0].connect_ms = 1500;
  occupy(1, 1, "r", 60000);
  ready();
  start_timing();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 5000, 0), REDLOCK_TAKEN);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_QUARANTINED);
  CHECK_EQ(sets(0), 0);
  CHECK(elapsed_ms() < options.server_timeout_ms);
}

/* Without a clock nobody knows since when it has been up. */
TEST(whose_uptime_no_clock_times_does_not_vote) { /* R24 R2 */
  prepare_started(3, 1000000);
  ready();
  start_and_send(&lock, "r", 1000, 0);
  fake_sleep(&fake, 1);
  fail_calls(FAKE_NOW, 3, 3); /* the step's own reading works, and that of the last answer */
  CHECK(redlock_step(&rl) == NULL);
  CHECK(strstr(redlock_server_error(&rl, 0), "clock") != NULL);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  run_for(1000);
  occupy(1, 1, "s", 60000); /* so that it is needed, and it votes again */
  CHECK_EQ(redlock_acquire(&rl, &other, "s", 1000, 1000), REDLOCK_OK);
  CHECK_EQ(redlock_server_error(&rl, 0)[0], 0);
}

/* A server's run_id may begin with any digits. That it is the same one is known all the same. */
TEST(a_run_id_of_noughts_is_one) { /* R24 */
  prepare_started(3, 1000000);
  fake.server[0].run_id = 0;
  ready_and_hold(1000);
  run_for(5);
  fake_reset(&fake, 0, FAKE_FIN);
  run_for(5);
  occupy(1, 1, "s", 60000); /* so that it is needed */
  CHECK_EQ(redlock_acquire(&rl, &other, "s", 1000, 0), REDLOCK_OK);
}

/* Two run_ids may begin with the same digits: then the uptime tells of the restart, by more than it
   may be off. Seconds that are cut tell nothing. */
TEST(a_restart_with_the_same_digits_is_seen) { /* R24 */
  int younger;
  for (younger = 0; younger < 2; younger++) {
    uint32_t run_id;
    prepare_started(3, 1000000);
    run_id = fake.server[0].run_id;
    ready_and_hold(1000);
    run_for(5);
    restart(0, 0);
    fake.server[0].run_id = run_id;
    if (!younger) fake.server[0].started_at = now() - 1000000 + 1500;
    run_for(5);
    occupy(1, 1, "s", 60000); /* so that it is needed */
    CHECK_EQ(redlock_acquire(&rl, &other, "s", 1000, 0),
             younger ? REDLOCK_TAKEN : REDLOCK_OK);
    CHECK_EQ(other.votes[0], younger ? REDLOCK_VOTE_QUARANTINED : REDLOCK_VOTE_YES);
  }
}

TEST(a_restarted_majority_grants_nothing) { /* R24 */
  prepare_started(5, 1000000);
  ready_and_hold(8000);
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
  CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK, 1);
}

/* A node of a Cluster may be replaced by its replica, which has not heard of the lock. */
TEST(only_a_plain_master_votes) { /* R24 R15: loudly */
  static const char *const says[] = {"not a master", "not a master", "can't run this command"};
  int how;
  for (how = 0; how < 3; how++) {
    prepare_started(3, 1000000);
    SET_SERVERS(0, 2, store.refuse_hello, 0);
    SET_SERVERS(0, 1, store.replica, how == 0);
    SET_SERVERS(0, 1, store.cluster, how == 1);
    SET_SERVERS(0, 1, store.refuse_info, how == 2);
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
    run_for(20);
    CHECK(strstr(redlock_server_error(&rl, 0), says[how]) != NULL);
    CHECK_EQ(fake_live_keys(&fake), 0);
  }
}

/* Its reply has one form: a number and a string. */
TEST(nothing_else_tells_run_id_and_uptime) { /* R4 R24 */
  static const char *const answers[] = {
    ":123456\r\n", "$6\r\n123456\r\n", "+OK\r\n", "_\r\n", "*0\r\n", "*1\r\n:123456\r\n",
    "*1\r\n$2\r\nab\r\n", "*2\r\n$2\r\nab\r\n$2\r\ncd\r\n", "*2\r\n:123456\r\n_\r\n",
    "*2\r\n:123456\r\n:123456\r\n", "*2\r\n:123456\r\n$0\r\n\r\n",
    "*2\r\n:123456\r\n*1\r\n$2\r\nab\r\n", "%1\r\n:123456\r\n$2\r\nab\r\n"
  };
  size_t k;
  int i;
  for (k = 0; k < sizeof answers / sizeof *answers; k++) {
    prepare_started(3, 1000000);
    for (i = 0; i < 2; i++) fake_answer(&fake, i, FAKE_INFO, -1, answers[k]);
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
    CHECK(redlock_server_error(&rl, 0)[0] != '\0');
  }
}

/* Also where nothing is asked of INFO. */
TEST(what_calls_itself_no_plain_master_gets_no_lock) { /* R4 R15 */
  int how;
  for (how = 0; how < 3; how++) {
    prepare(3);
    SET_SERVERS(0, 2, store.refuse_hello, 0);
    SET_SERVERS(0, 1, store.replica, how == 0);
    SET_SERVERS(0, 1, store.cluster, how == 1);
    if (how == 2) /* a sentinel, which tells no role */
      servers_answer(0, 1, FAKE_HELLO, -1,
                     "%3\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
                     "$4\r\nmode\r\n$8\r\nsentinel\r\n");
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    run_for(20);
    CHECK(strstr(redlock_server_error(&rl, 0), "not a master") != NULL);
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
    fake.server[0].store.replica = !k;
    fake.server[0].store.refuse_info = k; /* who says nothing of itself */
    fake.server[2].run_id = fake.server[1].run_id;
    ready();
    for (i = 0; i < 3; i++) {
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
      CHECK(strstr(redlock_server_error(&rl, 0), k ? "The user" : "not a master") != NULL);
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

/* Without a run_id a restart goes unseen, without an uptime it may have been just now. */
TEST(who_hides_its_start_does_not_vote) { /* R24: loudly */
  int run_id, i;
  for (run_id = 0; run_id < 2; run_id++) {
    prepare_started(3, 1000000);
    SET_SERVERS(0, 1, store.hide_run_id, run_id);
    SET_SERVERS(0, 1, store.hide_uptime, !run_id);
    ready();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    votes_are(&lock, 0, 1, REDLOCK_VOTE_ERROR);
    run_for(20);
    CHECK(strcmp(redlock_server_error(&rl, 0), "no run_id or uptime in its INFO") == 0);
    CHECK_EQ(fake_live_keys(&fake), 0);
    for (i = 0; i < 2; i++) fake.server[i].store.hide_run_id = fake.server[i].store.hide_uptime = 0;
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 15000), REDLOCK_OK);
  }
}

/* The first name said yes and went away, and the round goes on: the second says it in its place. */
TEST(a_server_says_yes_by_one_name_alone) { /* R5 */
  prepare_started(3, 1000000);
  fake.server[2].run_id = fake.server[0].run_id;
  fake.server[2].connect_ms = 20;
  ready_and_hold(5000);
  freeze(1, 1);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 9000), REDLOCK_PENDING);
  run_for(5);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_YES);
  fake.server[0].refuses = 1;
  fake_reset(&fake, 0, FAKE_RST);
  fake_answer(&fake, 2, FAKE_EXTEND, -1, ":1\r\n"); /* the same server: it has the value */
  CHECK_EQ(finish(&lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
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
static void move_the_first_server(void) {
  prepare_started(3, 1000000);
  fake.server[1].refuses = 1;
  ready();
  take_and_release("first", 5000);
  run_for(15000);
  occupy(2, 2, "r", 60000);
  fake.server[1].refuses = 0;
  fake.server[1].run_id = fake.server[0].run_id;
  fake.server[0].run_id += 0x1000;
  fake.server[0].reply_ms = SERVER_TIMEOUT / 4;
  fake_reset(&fake, 0, FAKE_RST);
  CHECK(redlock_step(&rl) == NULL);
}

/* What the entry knew was the other server's: how long the new one runs is all that counts. */
TEST(an_entry_that_lost_its_server_votes_by_uptime) { /* R5 R24 */
  int young;
  for (young = 0; young < 2; young++) {
    move_the_first_server();
    if (young) fake.server[0].started_at = now() - 2000;
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), young ? REDLOCK_TAKEN : REDLOCK_OK);
    CHECK_EQ(lock.votes[0], young ? REDLOCK_VOTE_QUARANTINED : REDLOCK_VOTE_YES);
    CHECK_EQ(lock.votes[1], REDLOCK_VOTE_YES); /* it answers at its new entry: it has one vote */
    CHECK(strcmp(redlock_server_error(&rl, 1), "") == 0);
  }
}

TEST(a_client_without_max_ttl_asks_for_no_info) { /* R24 */
  prepare(3);
  fake.server[0].started_at = now();
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 100000000, 0), REDLOCK_OK);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_INFO), 0);
}

TEST(no_question_is_added_to_later_ones) { /* R24 */
  prepare_started(3, 1000000);
  ready_and_warm();
  CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK, 1);
  CHECK_IN_MS(redlock_extend(&rl, &lock, 2000), REDLOCK_OK, 1);
  CHECK_IN_MS(redlock_release(&rl, &lock), REDLOCK_OK, 1);
  run_for(10);
  CHECK_EQ(fake.logged, 3 * 3);
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
