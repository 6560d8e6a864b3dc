/* restore.c: a held lock outlives its servers: one that restarts empty is sent the value again,
   once in each life, and is asked nothing else that would be in the way (R29). */
#include "fixture.h"

enum { MAX_TTL = 10000, TTL = 4000, FOREVER = 100000000 };

static void prepare_old(int count) {
  prepare(count);
  options.max_ttl_ms = MAX_TTL;
  SET_SERVERS(0, count - 1, started_at, now() - 1000000);
}

static void old_world(void) {
  prepare_old(3);
  ready_and_warm();
}

/* All servers are old, and our client holds "r" on them. */
static void hold_on_old(int count) {
  prepare_old(count);
  ready_and_warm();
  hold("r", TTL);
  run_for(10);
  forget_log();
}

static void keep(void) {
  hold("r", TTL);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
}

static void extend(void) {
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  run_for(10);
}

static void keep_on_old(int count) {
  hold_on_old(count);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
}

/* And our client has noticed: another lock has made it connect again. */
static void restart_seen(int server) {
  restart(server, server);
  warm();
}

static void hold_and_restart(void) {
  hold_on_old(3);
  restart_seen(0);
}

/* The value, and of what stands behind it no more than an age. */
static int has_our_value(int server) {
  return has_value_of(server, "r", &lock) && fake_key_at(&fake, server, "r")->value_size == STORED;
}

/* One server after the other, each when those before it vote again. */
TEST(a_kept_lock_outlives_three_servers) { /* R29 */
  int i, turn;
  keep_on_old(3);
  for (turn = 0; turn < 3; turn++)
    for (i = 0; i < 3; i++) {
      restart(i, i);
      run_for(MAX_TTL + TTL);
      CHECK_EQ(handed_count, 0);
      CHECK(has_our_value(i));
      CHECK_EQ(sets(i), turn + 1);
    }
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(10);
  end_without_a_key();
}

/* Two of three at once. */
TEST(a_quorum_that_restarts_at_once_loses_the_lock) { /* R29 R24 */
  keep_on_old(3);
  restart(0, 1);
  run_for(2 * TTL);
  is_lost_once(&lock, REDLOCK_EXPIRED);
}

/* In its place: to extend what is not there would be of no use. */
TEST(the_value_goes_with_the_extension) { /* R29 */
  hold_and_restart();
  extend();
  CHECK_EQ(fake_nth(&fake, 0, FAKE_SET, 0)->ttl_ms, TTL);
  CHECK_EQ(fake_count(&fake, 0, FAKE_EXTEND), 0);
  extend();
  CHECK_EQ(sets(0), 1);
  CHECK_EQ(fake_count(&fake, 0, FAKE_EXTEND), 1);
}

/* Its key is there when the extension runs; but the others do not make a quorum. */
TEST(the_value_makes_no_extension_succeed) { /* R29 R24 */
  hold_and_restart();
  freeze(1, 1);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_NO_QUORUM);
  CHECK(has_our_value(0));
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_QUARANTINED);
}

/* What fewer than a quorum have lost, each of them is sent again, once it has said so; also if its
   connection has broken since the grant, which it answered. */
TEST(a_server_that_lost_the_key_gets_the_value) { /* R29 R19 */
  int breaks;
  for (breaks = 0; breaks < 2; breaks++) {
    hold_on_old(5);
    forget_key(0, 1, "r");
    if (breaks) {
      reset(0, 1, FAKE_RST);
      extend(); /* decided by the others; these two connect again */
    }
    extend();
    CHECK_EQ(sets(FAKE_ANY), 0);
    extend();
    CHECK(has_our_value(0) && has_our_value(1));
    CHECK_EQ(sets(FAKE_ANY), 2);
  }
}

/* It is told as a loss: what an operator does to take it away. */
TEST(a_quorum_that_lost_the_key_loses_the_lock) { /* R29 R19 */
  hold_on_old(5);
  forget_key(0, 1, "r");
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  forget_key(2, 4, "r");
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_EXPIRED);
  run_for(10);
  end_without_a_key();
}

/* By turns it is offered, and asked for: what refuses it may be our own key. */
TEST(the_value_replaces_nobody_elses) { /* R29 */
  hold_and_restart();
  occupy(0, 0, "r", FOREVER);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  extend();
  extend();
  CHECK_EQ(sets(0), 2);
  CHECK_EQ(fake_count(&fake, 0, FAKE_EXTEND), 1);
  CHECK(fake_key_is(&fake, 0, "r", "foreign"));
}

/* It had another's key when the lock was taken, and answered when that was decided: in time, or too
   late to vote; and the command may leave the ring before the next extension. Extensions find out
   whether it is gone. Then another server may restart. */
TEST(a_server_that_had_anothers_key_gets_the_value) { /* R29 */
  int late;
  for (late = 0; late < 3; late++) {
    old_world();
    fake.server[2].reply_ms = late ? 30 : 1;
    occupy(2, 2, "r", FOREVER);
    keep();
    run_for(40);
    fake.server[2].reply_ms = 1;
    if (late == 2) retire_all();
    run_for(TTL);
    CHECK(fake_key_is(&fake, 2, "r", "foreign"));
    forget_key(2, 2, "r");
    run_for(2 * TTL);
    CHECK(has_our_value(2));
    forget_log();
    run_for(TTL);
    CHECK_EQ(sets(2), 0);
    restart(0, 0);
    run_for(TTL);
    CHECK_EQ(handed_count, 0);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(10);
    end_without_a_key();
  }
}

/* Nobody watches the lock when that answer comes: it is held, and not kept yet. */
TEST(an_answer_between_the_grant_and_the_keeping_is_noted) { /* R29 */
  old_world();
  fake.server[2].reply_ms = 5;
  occupy(2, 2, "r", TTL / 2);
  hold("r", TTL);
  run_for(30);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(3 * TTL);
  CHECK(has_our_value(2));
}

/* Each answer of a slow server comes when the extension is over. */
TEST(what_a_slow_server_says_behind_an_extension_is_noted) { /* R29 */
  old_world();
  fake.server[2].reply_ms = 5;
  keep();
  run_for(TTL);
  forget_key(2, 2, "r");
  run_for(2 * TTL);
  CHECK(has_our_value(2));
}

/* A lock that is extended by hand, where all servers close idle connections, and the event loop has
   seen it. */
TEST(the_value_comes_where_idle_connections_are_closed) { /* R29 R12 */
  int i;
  hold_on_old(3);
  restart(2, 2);
  run_for(10);
  for (i = 0; i < 4; i++) {
    fake_sleep(&fake, 1000);
    reset(0, 2, FAKE_FIN);
    run_for(5);
    extend();
  }
  CHECK(has_our_value(2));
  CHECK_EQ(sets(2), 1);
}

static void restart_with_keys(int server) {
  reset(server, server, FAKE_RST);
  fake.server[server].run_id += 0x100;
  fake.server[server].started_at = now();
}

/* All servers restart with their keys, one after the other: ours is there, so SETs set nothing. */
static void keeps_on_reloaded(void) {
  int i;
  keep_on_old(3);
  for (i = 0; i < 3; i++) {
    restart_with_keys(i);
    run_for(MAX_TTL + TTL);
  }
  forget_log();
}

TEST(a_server_that_restarts_with_its_keys_is_sent_the_value_once) { /* R12 R29 */
  keeps_on_reloaded();
  run_for(10 * TTL);
  CHECK_EQ(handed_count, 0);
  CHECK_EQ(sets(FAKE_ANY), 0);
}

TEST(what_an_operator_deletes_stays_deleted_behind_restarts) { /* R19 R29 */
  keeps_on_reloaded();
  forget_key(0, 2, "r");
  run_for(TTL);
  is_lost_once(&lock, REDLOCK_EXPIRED);
  end_without_a_key();
}

/* Of three one has another's key, and the operator deletes that, and ours on one of two. Its answer
   is the first or the last that is read. */
TEST(the_value_is_a_vote_where_it_is_set) { /* R18 R29 */
  int its;
  for (its = 0; its <= 2; its += 2) {
    old_world();
    occupy(its, its, "r", FOREVER);
    SET_SERVERS(0, 2, reply_ms, 5);
    SET_SERVERS(its, its, reply_ms, 1); /* it is heard before the grant: ours is not there */
    hold("r", TTL);
    SET_SERVERS(0, 2, reply_ms, 1);
    forget_key(its, its, "r");
    forget_key(1, 1, "r");
    CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK); /* a quorum holds it again */
    CHECK(has_our_value(its));
    CHECK_EQ(lock.votes[its], REDLOCK_VOTE_YES);
    CHECK_EQ(lock.votes[1], REDLOCK_VOTE_TAKEN);
  }
}

/* Without a quarantine nothing is put where it may have been lost. */
TEST(without_max_ttl_no_server_is_sent_the_value_again) { /* R29 R12 */
  int i;
  prepare(3);
  ready_and_warm();
  hold("r", TTL);
  run_for(10);
  forget_log();
  restart(2, 2);
  for (i = 0; i < 4; i++) extend();
  CHECK_EQ(sets(2), 0);
}

/* But where it never was it is put once, and no more than that. */
TEST(without_max_ttl_who_refused_at_the_grant_is_asked_once_more) { /* R29 R12 */
  int i;
  prepare(3);
  ready_and_warm();
  occupy(2, 2, "r", FOREVER);
  SET_SERVERS(0, 1, reply_ms, 3); /* that of the third is heard before the grant */
  hold("r", TTL);
  forget_log();
  for (i = 0; i < 4; i++) extend();
  CHECK_EQ(sets(2), 1);
  CHECK(fake_key_is(&fake, 2, "r", "foreign"));
}

/* One server connects 50 ms later than the others, when the lock has been granted: it has nothing
   then, and its key with the first extension, kept or by hand. */
TEST(a_server_that_connects_late_gets_the_value_with_the_first_extension) { /* R12 R29 */
  int way;
  for (way = 0; way < 8; way++) {
    int count = way & 1 ? 5 : 3, max_ttl = way & 2, kept = way & 4;
    prepare_old(count);
    options.max_ttl_ms = max_ttl ? MAX_TTL : 0;
    options.server_timeout_ms = 250;
    fake.server[0].connect_ms = 50;
    ready();
    hold("r", TTL);
    if (kept) CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
    run_for(TTL / 4);
    CHECK_EQ(fake_holders(&fake, "r"), count - 1);
    if (kept) run_for(TTL / 2);
    else extend();
    CHECK_EQ(fake_holders(&fake, "r"), count);
    CHECK_EQ(sets(0), 1);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(10);
    end_without_a_key();
  }
}

TEST(the_release_goes_behind_the_value) { /* R29 R7 */
  hold_and_restart();
  SET_SERVERS(0, 0, request_ms, 20);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(100);
  CHECK_EQ(sets(0), 1);
  CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 1);
  end_without_a_key();
}

/* It stalls with the value: a stalled server gets releases of what it was sent. */
TEST(the_release_goes_behind_the_value_of_a_stalled_server) { /* R29 R13 */
  old_world();
  restart_seen(0);
  hold("r", TTL);
  freeze(0, 0);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  run_for(2 * SERVER_TIMEOUT);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  thaw(0, 0);
  run_for(100);
  CHECK_EQ(sets(0), 1);
  end_without_a_key();
}

/* It waits in front of a full socket while its extension is open, and meets a life for which it was
   not meant. */
TEST(the_value_goes_to_no_later_life) { /* R29 R12 */
  hold_and_restart();
  fake.server[0].socket_room = 0;
  SET_SERVERS(1, 2, reply_ms, SERVER_TIMEOUT - 10);
  CHECK_EQ(redlock_start_extend(&rl, &lock, TTL), REDLOCK_PENDING);
  run_for(1);
  fake.server[0].socket_room = 1000000;
  restart(0, 0);
  run_for(SERVER_TIMEOUT);
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK_EQ(sets(0), 0);
  extend();
  CHECK_EQ(sets(0), 1);
}

/* A server that was down when the lock was taken. */
TEST(a_server_that_comes_late_gets_the_value_too) { /* R29 */
  prepare_old(3);
  fake.server[0].refuses = 1;
  ready_and_hold(TTL);
  fake.server[0].refuses = 0;
  restart(0, 0);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(MAX_TTL);
  CHECK(has_our_value(0));
  CHECK_EQ(sets(0), 1);
}

/* ---- Who does not hold it yet, or any more ---- */

/* Long after all is well again, server 1 restarts: then server 0 must hold the key. */
static void outlives_a_restart(void) {
  run_for(2 * MAX_TTL);
  CHECK_EQ(handed_count, 0);
  CHECK(has_our_value(0));
  restart(1, 1);
  run_for(MAX_TTL + 2 * TTL);
  CHECK_EQ(handed_count, 0);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

static void keep_and_restart(void) {
  keep_on_old(3);
  restart_seen(0);
}

TEST(a_server_that_connects_late_gets_the_value) { /* R29 */
  prepare_old(3);
  fake.server[0].connect_ms = 1000;
  ready();
  keep();
  run_for(2000);
  fake.server[0].connect_ms = 0;
  outlives_a_restart();
}

TEST(a_server_that_refused_at_the_grant_gets_the_value) { /* R29 */
  old_world();
  take_away(0, 0);
  keep();
  run_for(500);
  fake.server[0].refuses = 0;
  outlives_a_restart();
}

/* While a handshake was not over. */
TEST(a_server_whose_set_was_retired_gets_the_value) { /* R29 R11 */
  prepare_old(3);
  fake.server[0].reply_ms = 40;
  ready();
  keep();
  retire_all();
  fake.server[0].reply_ms = 1;
  outlives_a_restart();
}

/* It was given up before the value came, and is retired behind that. */
TEST(the_value_is_sent_once_though_its_first_set_was_given_up) { /* R29 R12 */
  prepare_old(3);
  fake.server[0].connect_ms = 1000;
  ready();
  keep();
  run_for(TTL);
  CHECK(has_our_value(0));
  retire_all();
  forget_log();
  run_for(2 * TTL);
  CHECK_EQ(sets(FAKE_ANY), 0);
}

TEST(the_value_that_a_stall_kept_back_is_sent_later) { /* R29 R13 */
  keep_and_restart();
  freeze(0, 0);
  leave_room(0, 0);
  run_for(TTL / 2 + 200);
  fake.server[0].socket_room = 1000000;
  thaw(0, 0);
  outlives_a_restart();
}

TEST(the_value_that_a_lost_connection_kept_back_is_sent_later) { /* R29 R12 */
  keep_and_restart();
  fake.server[0].socket_room = 0;
  while (!fake_count(&fake, 1, FAKE_EXTEND)) run_for(1);
  take_away(0, 0);
  run_for(4 * SERVER_TIMEOUT);
  fake.server[0].refuses = 0;
  fake.server[0].socket_room = 1000000;
  outlives_a_restart();
}

/* Each extension gives up what the one before has not sent. */
TEST(the_value_that_waits_is_sent_once) { /* R29 R12 */
  int i;
  hold_and_restart();
  fake.server[0].socket_room = 0;
  for (i = 0; i < 3; i++) CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  fake.server[0].socket_room = 1000000;
  run_for(10);
  extend();
  extend();
  CHECK_EQ(sets(0), 1);
}

/* At the grant, or when the value comes again. */
TEST(a_server_that_answered_with_an_error_gets_the_value) { /* R29 R15 */
  static const char text[] = "-NOREPLICAS Not enough good replicas to write.\r\n";
  old_world();
  fake_answer(&fake, 0, FAKE_SET, 1, text);
  keep();
  outlives_a_restart();
  keep_and_restart();
  fake_answer(&fake, 0, FAKE_SET, 2, text);
  fake_answer(&fake, 0, FAKE_EXTEND, 2, text);
  outlives_a_restart();
}

/* Its key has run out there. Perhaps it answered the SET late, when its lock was neither kept nor
   being extended; or so late that only the extension's answer is noted. */
TEST(a_server_that_was_cut_off_for_a_ttl_gets_the_value) { /* R29 */
  int late;
  for (late = 0; late < 3; late++) {
    old_world();
    fake.server[0].reply_ms = late ? 20 : 1;
    if (late == 2) freeze(0, 0);
    hold("r", TTL);
    if (late == 2) retire_all();
    thaw(0, 0);
    run_for(40);
    CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
    run_for(TTL);
    take_away(0, 0);
    run_for(2 * TTL);
    fake.server[0].refuses = 0;
    fake.server[0].reply_ms = 1;
    outlives_a_restart();
  }
}

/* Its answer is lost with a connection, and it may still come to set the value. */
TEST(a_set_that_was_not_answered_is_not_sent_again) { /* R29 R12 R28 */
  int i;
  hold_and_restart();
  freeze(0, 0);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  reset(0, 0, FAKE_RST);
  thaw(0, 0);
  forget_log();
  for (i = 0; i < 7; i++) extend();
  CHECK(fake_count(&fake, 0, FAKE_EXTEND) >= 4); /* by a new connection */
  CHECK_EQ(sets(0), 0);
}

/* An ERROR of its first handshake is no answer to the SET that the second has let out. */
TEST(an_error_of_a_handshake_answers_no_set) { /* R29 R12 R28 */
  int i;
  prepare_old(3);
  fake_answer(&fake, 0, FAKE_INFO, 1, "-LOADING Redis is loading the dataset in memory\r\n");
  SET_SERVERS(1, 2, reply_ms, 15);
  ready();
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_PENDING);
  while (fake_count(&fake, 0, FAKE_INFO) < 2) run_for(1);
  fake.server[0].request_ms = 400;
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  reset(0, 0, FAKE_FIN); /* the SET arrives all the same */
  fake.server[0].request_ms = 0;
  for (i = 0; i < 4; i++) extend();
  run_for(500);
  CHECK_EQ(sets(0), 1);
}

/* Two say that it is not there, while the value waits for a full socket, and others for a full
   ring: that is told at once, and the value goes nowhere any more. */
TEST(the_value_of_a_lost_lock_is_not_sent) { /* R29 R12 R19 */
  static redlock_lock many[40];
  int i;
  hold_and_restart();
  fake.server[0].thaw_at = now() + 60;
  CHECK_EQ(redlock_acquire(&rl, &other, "s", TTL, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &other, TTL), REDLOCK_OK);
  leave_room(0, 0);
  fake_sleep(&fake, 10);
  SET_SERVERS(1, 2, reply_ms, 30);
  forget_key(1, 2, "r");
  CHECK_EQ(redlock_start_extend(&rl, &lock, TTL), REDLOCK_PENDING);
  memset(many, 0, sizeof many);
  for (i = 0; i < 40; i++)
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), 1000, 0), REDLOCK_PENDING);
  run_for(31);
  CHECK_EQ(lock.status, REDLOCK_EXPIRED);
  fake.server[0].socket_room = 1000000;
  fake.server[0].thaw_at = now() + 600;
  run_for(800);
  CHECK(!fake_key_at(&fake, 0, "r"));
}

/* ---- Tokens ---- */

TEST(the_value_goes_as_a_plain_set_with_tokens_too) { /* R29 R25 */
  prepare_old(3);
  options.fencing = 1;
  ready_and_warm();
  hold("r", TTL);
  restart_seen(0);
  extend();
  CHECK(has_our_value(0));
  CHECK(!fake_nth(&fake, 0, FAKE_SET, 0)->fenced);
  CHECK(!fake_key_at(&fake, 0, "r:fence"));
  CHECK_EQ(redlock_server_error(&rl, 0)[0], 'r'); /* "restarted", and no word of its answer */
}

/* ---- Nobody is in the way ---- */

static int sets_of_rival(int server) {
  int k, count = 0;
  for (k = 0; k < sets(server); k++) count += fake_nth(&fake, server, FAKE_SET, k)->client == 1;
  return count;
}

static redlock_status rival_tries(void) {
  redlock_status status = redlock_acquire(&rival, &other, "r", TTL, 0);
  (void)redlock_wait(&rival, 10);
  return status;
}

TEST(who_does_not_hold_the_lock_sends_nothing_to_the_restarted) { /* R29 */
  hold_on_old(3);
  ready_rival();
  CHECK_EQ(rival_tries(), REDLOCK_TAKEN);
  restart_seen(0);
  CHECK_EQ(rival_tries(), REDLOCK_TAKEN); /* it finds out in the middle of this */
  CHECK_EQ(rival_tries(), REDLOCK_TAKEN);
  CHECK_EQ(other.votes[0], REDLOCK_VOTE_QUARANTINED);
  CHECK(strstr(redlock_server_error(&rival, 0), "restarted") != NULL);
  CHECK_EQ(sets_of_rival(0), 0);
  extend();
  CHECK(has_our_value(0));
}

/* A new client learns only in its first handshakes, behind T1, who has no vote: the SET stays
   unsent there. */
TEST(a_newcomer_sends_nothing_to_the_restarted) { /* R29 */
  keep_on_old(3);
  restart(0, 0);
  run_for(MAX_TTL / 2);
  ready_rival();
  CHECK_EQ(rival_tries(), REDLOCK_TAKEN);
  CHECK_EQ(other.votes[0], REDLOCK_VOTE_QUARANTINED);
  CHECK_EQ(sets_of_rival(1), 1);
  CHECK_EQ(sets_of_rival(0), 0);
}

/* Nor does it wait for that server's answer, which would decide nothing. */
TEST(a_newcomer_does_not_wait_for_the_restarted) { /* R29 R6 */
  hold_on_old(3);
  ready_rival();
  CHECK_EQ(rival_tries(), REDLOCK_TAKEN);
  restart(0, 0);
  forget_key(1, 1, "r");
  start_timing();
  CHECK_EQ(rival_tries(), REDLOCK_TAKEN);
  CHECK(elapsed_ms() < SERVER_TIMEOUT);
}

/* An extension by less leaves the others their longer ttl (R18), and so it does this one. */
TEST(the_value_lasts_as_long_as_the_hold) { /* R29 R18 */
  hold_and_restart();
  CHECK_EQ(redlock_extend(&rl, &lock, TTL / 4), REDLOCK_OK);
  run_for(TTL / 2);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  CHECK(has_our_value(0));
}

/* Server 0 is slow and has no vote, and server 1 has lost the key: neither an extension nor a
   release can come to more than it does by the answer of server 2. */
TEST(nobody_waits_for_a_server_without_a_vote) { /* R6 R24 */
  hold_and_restart();
  extend();
  SET_SERVERS(0, 0, reply_ms, SERVER_TIMEOUT - 10);
  forget_key(1, 1, "r");
  CHECK_WITHIN_MS(redlock_extend(&rl, &lock, TTL), REDLOCK_NO_QUORUM, 5);
  CHECK_WITHIN_MS(redlock_release(&rl, &lock), REDLOCK_OK, 5);
}

/* ---- What is in the way of it ---- */

/* A caller that only blocks hears of the restart within its extension, in the millisecond of T1 or
   later: then the next extension brings the value. */
TEST(a_restart_may_be_heard_of_at_any_time) { /* R29 */
  static const int pauses[] = {20, 49, 50, 51, 52, 100, 500, 1000};
  int i, way;
  for (way = 0; way < 9 * 8; way++) {
    hold_on_old(3);
    SET_SERVERS(0, 2, connect_ms, way / 3 % 3);
    SET_SERVERS(0, 2, reply_ms, way % 3);
    fake_sleep(&fake, pauses[way / 9]);
    restart(0, 0);
    for (i = 0; i < 3; i++) {
      fake_sleep(&fake, pauses[way / 9]);
      CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
    }
    run_for(10);
    CHECK(has_our_value(0));
    CHECK_EQ(sets(0), 1);
  }
}

/* It had been sent the SET of the round that took the lock, in its earlier life. */
TEST(a_server_that_restarts_within_the_round_gets_the_value) { /* R29 */
  old_world();
  SET_SERVERS(1, 2, reply_ms, 10);
  start_and_send(&lock, "r", TTL, 0);
  run_for(2);
  restart(0, 0);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  run_for(MAX_TTL + 3 * TTL);
  CHECK(has_our_value(0));
  restart(1, 1);
  run_for(MAX_TTL + 2 * TTL);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

/* Four more extensions, in which it is made up for. */
static void extend_often(void) {
  int i;
  for (i = 0; i < 4; i++) {
    run_for(500);
    extend();
  }
  CHECK(has_our_value(0));
}

/* What is left out once, since the server stalls, the next extension makes up for. */
TEST(a_stall_is_made_up_for) { /* R29 R13 */
  hold_and_restart();
  freeze(0, 0);
  CHECK_EQ(redlock_acquire(&rl, &other, "s", TTL, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &other, TTL), REDLOCK_OK); /* its SET is awaited */
  run_for(SERVER_TIMEOUT + 10);
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  thaw(0, 0);
  extend_often();
}

TEST(a_stalled_server_is_not_sent_the_value) { /* R29 R13 */
  size_t moved;
  hold_and_restart();
  freeze(0, 0);
  CHECK_EQ(redlock_acquire(&rl, &other, "s", TTL, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &other, TTL), REDLOCK_OK); /* its SET is awaited */
  run_for(SERVER_TIMEOUT + 10);
  moved = fake.connection[fake.client[0].connection[0]].took;
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  run_for(10);
  CHECK_EQ(fake.connection[fake.client[0].connection[0]].took, moved);
}

TEST(no_room_is_made_up_for) { /* R29 R11 */
  static redlock_lock many[20];
  int i, k;
  for (k = 12; k < 17; k++) {
    hold_and_restart();
    CHECK_EQ(redlock_acquire(&rl, &other, "s", TTL, 0), REDLOCK_OK);
    run_for(10);
    SET_SERVERS(0, 2, request_ms, 10);
    for (i = 0; i < k; i++)
      CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), TTL, 0), REDLOCK_PENDING);
    CHECK_EQ(redlock_start_release(&rl, &other), REDLOCK_PENDING);
    CHECK(redlock_step(&rl) == NULL);
    CHECK_EQ(redlock_start_extend(&rl, &lock, TTL), REDLOCK_PENDING);
    CHECK_EQ(finish(&lock), REDLOCK_OK);
    extend_often();
  }
}

/* It votes again when the lock is first extended: it gets the value then. */
TEST(a_server_without_a_vote_at_the_grant_is_not_forgotten) { /* R29 */
  old_world();
  restart_seen(0);
  run_for(MAX_TTL - TTL / 4);
  hold("r", TTL);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_QUARANTINED);
  run_for(TTL / 2);
  forget_log();
  extend();
  CHECK(has_our_value(0));
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  restart(1, 1);
  run_for(2 * TTL);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  CHECK_EQ(sets(0), 1);
}

/* ---- Adoption ---- */

/* Where the given value is not there, the adopter's goes ahead of its first extension. */
TEST(an_adopted_lock_is_restored_too) { /* R29 R28 */
  char given[20];
  hold_on_old(3);
  memcpy(given, lock.value, sizeof given);
  restart_seen(0);
  SET_SERVERS(1, 2, reply_ms, 5);
  forget_log();
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", TTL, given), REDLOCK_OK);
  run_for(10);
  CHECK_EQ(sets(0), 1);
  extend();
  CHECK_EQ(sets(0), 2);
  CHECK(fake_nth(&fake, 0, FAKE_SET, 0)->adopts && !fake_nth(&fake, 0, FAKE_SET, 1)->adopts);
  CHECK(has_our_value(0));
}

/* It could only say what is no vote; the other server alone is no quorum. */
TEST(an_adoption_does_not_wait_for_a_server_without_a_vote) { /* R6 R28 */
  char given[20];
  hold_on_old(3);
  memcpy(given, lock.value, sizeof given);
  restart_seen(0);
  SET_SERVERS(0, 0, reply_ms, 40);
  SET_SERVERS(1, 1, reply_ms, 5);
  SET_SERVERS(2, 2, open_fails, 1);
  restart(2, 2);
  run_for(1);
  CHECK_IN_MS(redlock_adopt(&rl, &other, "r", TTL, given), REDLOCK_NO_QUORUM, 0);
}

TEST(what_was_adopted_there_is_not_sent_again) { /* R29 R28 */
  char given[20];
  hold_and_restart();
  CHECK_EQ(redlock_extend(&rl, &lock, TTL), REDLOCK_OK);
  memcpy(given, lock.value, sizeof given);
  forget_log();
  CHECK_EQ(redlock_adopt(&rl, &lock, "r", TTL, given), REDLOCK_OK);
  extend();
  CHECK_EQ(sets(0), 1);
  CHECK(has_our_value(0));
}

/* The giver sends its value to server 1, which has restarted; that connection is lost, and the SET
   is late. B adopts the value, but does not reach server 2, and lets go. Then the SET comes, and C
   adopts the value. Returns how many of the two have held the lock. */
static int adopted_behind_a_late_set(void (*restarts)(int)) {
  static redlock_lock b, c;
  struct arg value = {NULL, 0};
  int count = 0;
  keep_on_old(3);
  ready_rival();
  restarts(1);
  CHECK_EQ(redlock_acquire(&rl, &other, "warm", TTL, 0), REDLOCK_OK); /* it connects again */
  freeze(1, 1);
  forget_log();
  run_for(TTL / 2 + 10); /* an extension, and the SET */
  reset(1, 1, FAKE_RST);
  thaw(1, 1);
  run_for(MAX_TTL + TTL);
  CHECK_EQ(sets(1), 0);
  CHECK_EQ(handed_count, 0);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK); /* the giver stops */

  freeze(2, 2);
  if (redlock_adopt(&rival, &b, "r", TTL, lock.value) == REDLOCK_OK) {
    count++;
    CHECK_EQ(redlock_release(&rival, &b), REDLOCK_OK);
  }
  reset(2, 2, FAKE_RST); /* what B sent there is lost */
  thaw(2, 2);
  fake_sleep(&fake, 10);
  CHECK(!fake_key_at(&fake, 1, "r"));

  value.at = (const unsigned char *)lock.value;
  value.size = sizeof lock.value;
  fake_set_store(&fake.server[1], now());
  (void)store_put(&fake.server[1].store, 0, arg_of("r"), value, TTL);
  return count + (redlock_adopt(&rival, &c, "r", TTL, lock.value) == REDLOCK_OK);
}

/* As adoption.py proves: where the SET is under way, the value is not. */
TEST(a_late_set_gives_no_second_adoption) { /* R28 R29 */
  CHECK_EQ(adopted_behind_a_late_set(restart_seen), 1);
}

/* What R28 asks for: here the value is where the SET is under way, and is adopted twice, one after
   the other. */
TEST(a_server_that_restarts_with_its_keys_may_give_a_second_adoption) { /* R28 R29 */
  CHECK_EQ(adopted_behind_a_late_set(restart_with_keys), 2);
}
