/* wake.c: waiting where the servers tell when a lock is free again (R26). */
#include "fixture.h"

enum { HELD_MS = 100000000, LONG = 10000, A_MOMENT = 40, FALLBACK_MS = 2000 };

static void start_waiter(void) {
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_PENDING);
}

/* A waiter for "r", which is held everywhere, whose attempts have all been made. */
static void wait_for_held(int first, int last) {
  occupy(first, last, "r", HELD_MS);
  start_waiter();
  run_for(100);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
}

static void wait_in_a_world_of(int count) {
  world_waking(count);
  wait_for_held(0, count - 1);
}

static void release_at(int first, int last) { forget_key(first, last, "r"); }

/* From now on it asks no more often than once in a fall-back. */
static void is_not_polled(int server) {
  forget_log();
  run_for(LONG);
  CHECK(sets(server) <= 1 + LONG / 1000);
}

static void comes_soon(void) { CHECK_WITHIN_MS(finish(&lock), REDLOCK_OK, A_MOMENT); }

/* Where locks are held for a moment, the second attempt gets them, and nobody had to be told: the
   first two attempts are plain, and the next ones tracked. */
TEST(waiting_costs_next_to_nothing) { /* R26 */
  int i;
  wait_in_a_world_of(5);
  CHECK(sets(0) <= 3);
  run_for(LONG);
  CHECK(sets(0) <= 2 + LONG / 1000 && sets(0) >= 2 + LONG / 2000);
  CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 0); /* TAKEN holds nothing */
  for (i = 0; i < sets(0); i++) CHECK_EQ(fake_nth(&fake, 0, FAKE_SET, i)->tracked, i > 1);
}

/* Nothing waits for what refuses nothing; a password is waited for, with all the rest at once. */
TEST(the_handshake_costs_no_trip_of_its_own) { /* R4 R26 */
  int with, i;
  for (with = 0; with < 2; with++) {
    prepare_waking(3);
    SET_SERVERS(0, 2, store.password, with ? "secret" : NULL);
    options.password = with ? "secret" : NULL;
    ready_and_hold(1000);
    for (i = 0; i < 3; i++) {
      const struct fake_command *hello = fake_nth(&fake, i, FAKE_HELLO, 0);
      const struct fake_command *tracking = fake_nth(&fake, i, FAKE_TRACKING, 0);
      CHECK(strcmp(hello->words, "HELLO 3 SETNAME redlock") == 0);
      CHECK(!fake_nth(&fake, i, FAKE_HELLO, 1));
      CHECK(strcmp(tracking->words, "CLIENT TRACKING ON") == 0 && tracking->at == hello->at);
      CHECK_EQ(fake_nth(&fake, i, FAKE_SET, 0)->at - hello->at, with);
      if (with) CHECK_EQ(fake_nth(&fake, i, FAKE_AUTH, 0)->at, hello->at);
    }
  }
}

/* Whatever they refuse it with: they are used as ever, and polled, with plain SETs. */
TEST(a_server_that_refuses_is_polled) { /* R26 */
  static const char *const answers[][2] = {
      {"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n", "-ERR\r\n"},
      {"-NOPROTO unsupported protocol version\r\n", "-ERR\r\n"},
      {"-NOPERM this user has no permissions to run the 'hello' command\r\n", "+OK\r\n"},
      {NULL, "-NOPERM this user has no permissions to run the 'client|tracking' command\r\n"}};
  size_t k;
  int i;
  for (k = 0; k < sizeof answers / sizeof answers[0]; k++) {
    prepare_waking(3);
    if (answers[k][0]) fake_answer(&fake, FAKE_ANY, FAKE_HELLO, -1, answers[k][0]);
    fake_answer(&fake, FAKE_ANY, FAKE_TRACKING, -1, answers[k][1]);
    ready_and_warm();
    CHECK_EQ(redlock_server_error(&rl, 0)[0], '\0');
    wait_for_held(0, 2);
    CHECK(sets(0) > 5);
    run_for(LONG);
    CHECK(sets(0) > 40);
    for (i = 0; i < sets(0); i++) CHECK(!fake_nth(&fake, 0, FAKE_SET, i)->tracked);
  }
}

TEST(who_is_busy_is_asked_again) { /* R26 */
  prepare_waking(3);
  fake_answer(&fake, 0, FAKE_TRACKING, 2, "-BUSY Redis is busy running a script.\r\n");
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 1000), REDLOCK_OK);
  CHECK(strncmp(redlock_server_error(&rl, 0), "BUSY", 4) == 0);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  warm();
  run_for(100);
  warm();
  CHECK_EQ(redlock_server_error(&rl, 0)[0], '\0');
  wait_for_held(0, 2);
  release_at(0, 1);
  comes_soon();
}

/* Some of five servers refuse to tell. */
TEST(a_majority_that_wakes_no_one_is_polled) { /* R26 */
  int refusing;
  for (refusing = 2; refusing <= 3; refusing++) {
    prepare_waking(5);
    SET_SERVERS(1, refusing, store.refuse_hello, 1);
    ready_and_warm();
    wait_for_held(0, 4);
    run_for(LONG);
    CHECK(refusing == 2 ? sets(0) <= 2 + LONG / 1000 : sets(0) > 40);
    if (refusing > 2) continue;
    release_at(0, 4);
    comes_soon();
  }
}

/* One is not enough, two of three are; more than a quorum at once are too. */
TEST(a_quorum_of_pushes_wakes) { /* R26 */
  int many;
  for (many = 0; many < 2; many++) {
    wait_in_a_world_of(5);
    run_for(LONG);
    forget_log();
    release_at(3, 3); /* with the two whose TAKEN came late: a quorum may be free */
    run_for(100);
    forget_log();
    release_at(0, many ? 2 : 1);
    if (!many) release_at(2, 2);
    comes_soon();
  }
}

/* Four say TAKEN, are freed and tell, before the fifth ends the round with an error. Nothing comes
 * after that. */
TEST(pushes_while_voting_count) { /* R26 */
  int i;
  world_waking(5);
  for (i = 0; i < 5; i++) fake.server[i].reply_ms = i == 2 ? 6 : 3;
  fake_answer(&fake, 2, FAKE_SET, -1, "-OOM command not allowed.\r\n");
  occupy(0, 4, "r", HELD_MS);
  start_waiter();
  while (sets(0) < 3) run_for(1);
  release_at(0, 4);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK(now() - fake_nth(&fake, 0, FAKE_SET, 2)->at <= A_MOMENT);
}

TEST(a_taken_that_comes_later_needs_no_release) { /* R7 R26 */
  int i;
  world_waking(5);
  for (i = 0; i < 5; i++) fake.server[i].reply_ms = i < 3 ? 1 : 3;
  wait_for_held(0, 4);
  forget_log();
  run_for(LONG);
  CHECK(sets(4) >= LONG / 2000);
  for (i = 0; i < 5; i++) CHECK_EQ(fake_count(&fake, i, FAKE_RELEASE), 0);
  release_at(0, 4);
  comes_soon();
}

/* Nor has it an error: it answers in time. */
TEST(a_much_slower_server_is_not_waited_for) { /* R6 R16 R26 */
  int i, errors = 0;
  world_waking(5);
  fake.server[4].reply_ms = 30;
  wait_for_held(0, 4);
  for (i = 0; i < LONG; i++) {
    run_for(1);
    errors += redlock_server_error(&rl, 4)[0] != 0;
  }
  CHECK_EQ(errors, 0);
  CHECK(fake_count(&fake, 4, FAKE_RELEASE) >= LONG / 2000);
  release_at(0, 4);
  comes_soon();
}

TEST(pushes_of_other_names_wake_no_one) { /* R26 */
  int i;
  wait_in_a_world_of(3);
  forget_log();
  for (i = 0; i < 20 * 3; i++)
    fake_push(&fake, i % 3, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nq\r\n"
                            ">2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\nr1\r\n");
  run_for(400);
  CHECK_EQ(sets(0), 0);
  for (i = 0; i < 20 * 3; i++)
    fake_push(&fake, i % 3, ">2\r\n$10\r\ninvalidate\r\n*2\r\n$2\r\nr1\r\n$0\r\n\r\n"
                            ">0\r\n>3\r\n$6\r\npubsub\r\n:1\r\n%1\r\n$1\r\na\r\n*1\r\n:7\r\n");
  run_for(400);
  CHECK(sets(0) <= 2); /* an empty name is as good as all names */
  CHECK_EQ(fake.server[0].connections, 1);
  release_at(0, 2);
  comes_soon();
}

TEST(a_push_of_all_names_wakes_all) { /* R26: FLUSHALL */
  int i;
  wait_in_a_world_of(3);
  for (i = 0; i < 3; i++) fake_flush(&fake, i);
  comes_soon();
}

/* A push stands between any two replies, and is cut anywhere. */
TEST(a_push_is_no_reply) { /* R8 R26 */
  size_t chunk;
  for (chunk = 1; chunk < 40; chunk++) {
    int i, k;
    world_waking(3);
    SET_SERVERS(0, 2, recv_chunk, chunk);
    occupy(0, 2, "r", HELD_MS);
    start_waiter();
    for (k = 0; k < 50; k++) {
      for (i = 0; i < 3; i++) fake_push(&fake, i, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\n+OK\r\n");
      CHECK_EQ(redlock_start_acquire(&rl, &other, "o", 1000, 0), REDLOCK_PENDING);
      CHECK_EQ(finish(&other), REDLOCK_OK);
      for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF_ALL);
      CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
    }
    CHECK_EQ(lock.status, REDLOCK_PENDING);
    CHECK_EQ(fake.server[0].connections, 1);
    release_at(0, 2);
    CHECK_EQ(finish(&lock), REDLOCK_OK);
  }
}

#define PUSH_OF_R PUSH_OF("r")

/* One server says TAKEN to a waiter and two say YES, each between two pushes of that very name; to
 * the command behind it they say the opposite. */
TEST(pushes_between_replies_leave_each_vote_as_it_is) { /* R4 R8 R26 */
  size_t chunk;
  for (chunk = 1; chunk < 100; chunk++) {
    int i;
    world_waking(3);
    SET_SERVERS(0, 2, recv_chunk, chunk);
    occupy(1, 2, "o", HELD_MS);
    wait_for_held(0, 2);
    SET_SERVERS(0, 2, reply_ms, 5);
    fake.server[2].reply_ms = 6; /* the last vote decides: none is left out */
    forget_log();
    fake_answer(&fake, 0, FAKE_SET, 1, PUSH_OF_R "$4\r\nfore\r\n" PUSH_OF_R)->runs = 1;
    for (i = 1; i < 3; i++)
      fake_answer(&fake, i, FAKE_SET, 1, PUSH_OF_R "+OK\r\n" PUSH_OF_R)->runs = 1;
    release_at(1, 2);
    while (sets(2) == 0) run_for(1);
    start_and_send(&other, "o", 1000, 0);
    CHECK_EQ(finish(&lock), REDLOCK_OK);
    votes_are(&lock, 0, 0, REDLOCK_VOTE_TAKEN);
    votes_are(&lock, 1, 2, REDLOCK_VOTE_YES);
    CHECK_EQ(finish(&other), REDLOCK_TAKEN);
    votes_are(&other, 0, 0, REDLOCK_VOTE_YES);
    votes_are(&other, 1, 2, REDLOCK_VOTE_TAKEN);
    CHECK_EQ(sets(2), 2); /* nobody had to ask again */
    CHECK_EQ(fake.server[2].connections, 1);
  }
}

TEST(a_release_by_the_same_client_wakes) { /* R26 */
  world_waking(3);
  CHECK_EQ(redlock_acquire(&rl, &other, "r", 60000, 0), REDLOCK_OK);
  start_waiter();
  run_for(LONG);
  CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
  comes_soon();
}

/* A read makes a server remember: whoever never waits reads as a writer does, where he can. */
TEST(a_client_that_never_waits_is_not_remembered) { /* R26 */
  int can, i;
  for (can = 0; can < 2; can++) {
    prepare_waking(3);
    SET_SERVERS(0, 2, store.refuse_getex, !can);
    ready();
    take_and_release("r", 1000);
    run_for(100);
    for (i = 0; i < 3; i++) CHECK_EQ(fake.server[i].pushes, !can);
    for (i = 0; i < 3; i++) CHECK_EQ(fake_read_count(&fake, i), 0);
  }
}

/* Behind a write Redis 7 sets whatever it is asked to. */
TEST(a_tracked_attempt_needs_memory) { /* R26 */
  wait_in_a_world_of(3);
  run_for(FALLBACK_MS);
  SET_SERVERS(0, 2, store.error, STORE_ERROR_OOM);
  release_at(0, 2);
  run_for(LONG);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
  SET_SERVERS(0, 2, store.error, 0);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
}

/* The push was lost with its connection: that it is ready again counts as one. */
TEST(a_new_connection_counts_as_a_push) { /* R26 R14 */
  int i;
  wait_in_a_world_of(3);
  run_for(FALLBACK_MS + 1);
  reset(0, 1, FAKE_RST);
  for (i = 0; i < 3; i++) fake.server[i].store.keys = 0; /* in silence */
  comes_soon();
}

/* Where it was not asked, nothing that is on its way there is of this lock, so that no roll-back
   pushes either. */
TEST(a_stalled_server_that_caught_up_counts_as_a_push) { /* R26 R13 */
  int asked;
  for (asked = 0; asked < 2; asked++) {
    world_waking(3);
    if (asked) wait_for_held(1, 2);
    freeze(0, 0);
    if (!asked) CHECK_EQ(redlock_acquire(&rl, &other, "other", 60000, 0), REDLOCK_OK);
    if (!asked) CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
    run_for(asked ? 3 * FALLBACK_MS : SERVER_TIMEOUT + 2);
    if (!asked) wait_for_held(1, 2);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_TIMEOUT); /* the two that say TAKEN are enough */
    fake_thaw(&fake, 0);
    run_for(20);
    release_at(1, 1);
    comes_soon();
  }
}

/* Its late reply is none of Redis, so its connection ends, and no next one comes. */
TEST(a_stalled_server_that_is_disconnected_counts_as_none) { /* R26 R13 R8 */
  wait_in_a_world_of(3);
  freeze(0, 1);
  servers_answer(0, 1, FAKE_SET, 1, "+QUEUED\r\n");
  CHECK_EQ(redlock_acquire(&rl, &other, "other", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(2);
  SET_SERVERS(0, 1, refuses, 1);
  forget_log();
  thaw(0, 1);
  run_for(A_MOMENT);
  CHECK_EQ(fake_open_count(&fake), 1);
  CHECK_EQ(sets(2), 0);
}

/* It has tried for long enough to have come to its usual back-off. */
static void wait_until_settled(void) {
  start_waiter();
  run_for(3000);
  forget_log();
}

/* Nothing that may be free can be found out by asking more often. */
TEST(servers_that_err_are_polled) { /* R26 */
  world_waking(3);
  fake_answer(&fake, 0, FAKE_SET, -1, "-OOM command not allowed.\r\n");
  fake_answer(&fake, 1, FAKE_SET, -1, "-READONLY You can't write against a read only replica.\r\n");
  wait_until_settled();
  run_for(LONG);
  CHECK(sets(0) > 40 && sets(0) < LONG / 50);
}

/* Each attempt finds the lock free, and its quorum when the time is up: no push will tell that the
   servers are faster again. */
TEST(a_quorum_that_comes_late_is_polled_for) { /* R26 R1 */
  int i;
  world_waking(3);
  SET_SERVERS(0, 2, reply_ms, 40);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 40, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(LONG);
  CHECK(sets(0) > 40);
  for (i = 0; i < sets(0); i++) CHECK(!fake_nth(&fake, 0, FAKE_SET, i)->tracked);
  SET_SERVERS(0, 2, reply_ms, 1);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
}

/* The process stands still within its first attempt, for a hundred seconds. */
TEST(a_pause_makes_no_back_off_longer) { /* R9 R26 */
  world_waking(3);
  occupy(0, 2, "r", HELD_MS);
  start_waiter();
  CHECK(redlock_step(&rl) == NULL);
  fake_sleep(&fake, 100000);
  run_for(4 * SERVER_TIMEOUT);
  CHECK(sets(0) >= 2);
}

/* It is told just before its time is up: the last attempt is made then, and not in its turn. */
TEST(a_push_makes_no_wait_longer) { /* R9 R26 */
  int i, k, before;
  for (k = 1; k <= 10; k++) {
    world_waking(3);
    SET_SERVERS(0, 2, reply_ms, 20);
    occupy(0, 2, "r", HELD_MS);
    start_timing();
    CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 1000), REDLOCK_PENDING);
    run_for(1000 - 20 - k); /* a push takes as long as a reply */
    before = sets(0);
    fake.seed = (uint64_t)k; /* for another turn */
    for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF_ALL);
    CHECK_EQ(finish(&lock), REDLOCK_TAKEN);
    CHECK(elapsed_ms() <= 1000 + SERVER_TIMEOUT);
    CHECK_EQ(sets(0), before + 1);
  }
}

TEST(lost_pushes_cost_a_back_off) { /* R26 */
  prepare_waking(3);
  SET_SERVERS(0, 2, loses_pushes, 1);
  ready_and_warm();
  wait_for_held(0, 2);
  run_for(LONG);
  release_at(0, 2);
  CHECK_WITHIN_MS(finish(&lock), REDLOCK_OK, FALLBACK_MS + A_MOMENT);
  CHECK(elapsed_ms() > A_MOMENT);
}

/* ... and nothing else: the fallback finds one server of three free that pushed nothing, and the
   waiter goes on as before. */
TEST(a_waiter_that_missed_a_push_does_not_poll) { /* R26 */
  world_waking(3);
  SET_SERVERS(0, 2, loses_pushes, 1);
  wait_for_held(0, 2);
  release_at(0, 0);
  run_for(FALLBACK_MS + 100);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
  is_not_polled(0);
  SET_SERVERS(0, 2, loses_pushes, 0);
  run_for(FALLBACK_MS + 100); /* it reads the keys anew */
  forget_log();
  release_at(1, 2);
  comes_soon();
}

/* ---- Whichever servers hold the key, are down, err, are in quarantine or far away ---- */

enum { NEAR, FAR, FARTHER, FREE, DEAD, ERRING, YOUNG, MUTE, STATES };

/* Server i as it will be; the first three hold the key. */
static void put_into(int i, int state) {
  static const int reply_ms[STATES] = {1, 5, 30, 1, 1, 1, 1, 1};
  fake.server[i].reply_ms = reply_ms[state];
  if (state <= FARTHER) occupy(i, i, "r", HELD_MS);
  if (state == DEAD) fake.server[i].refuses = 1;
  if (state == ERRING) fake_answer(&fake, i, FAKE_SET, -1, "-OOM command not allowed.\r\n");
  if (state == YOUNG) fake.server[i].started_at = 999000;
  if (state == MUTE) freeze(i, i);
}

/* A waiter there asks no more often than once in a fall-back, and ends soon after the release. An
   attempt that is refused a token has three rounds (R25). */
static int waits_quietly(const int *state, int fenced) {
  int64_t start;
  int i, good, tried = 0;
  prepare_waking(3);
  options.max_ttl_ms = HELD_MS;
  options.server_timeout_ms = 250;
#ifndef REDLOCK_NO_FENCING
  options.fencing = (uint32_t)fenced;
#endif
  for (i = 0; i < 3; i++) put_into(i, state[i]);
  ready();
  start_waiter();
  run_for(1000);
  forget_log();
  run_for(LONG);
  for (i = 0; i < 3; i++) tried = sets(i) > tried ? sets(i) : tried;
  good = CHECK(lock.status == REDLOCK_PENDING && tried <= (fenced ? 3 : 1) * (1 + LONG / 1000));
  start = now();
  forget_key(0, 2, "r");
  good &= CHECK_EQ(finish(&lock), REDLOCK_OK) & CHECK(now() - start <= 8 * SERVER_TIMEOUT);
  if (!good)
    printf("    %d %d %d fenced %d tried %d\n", state[0], state[1], state[2], fenced, tried);
  return good;
}

/* As long as a quorum tells, and none can be had. */
TEST(no_static_world_is_polled) { /* R26 R6 */
  int world_of, fenced, i;
  for (world_of = 0; world_of < STATES * STATES * STATES; world_of++) {
    int state[3], tell = 0, open = 0;
    state[0] = world_of % STATES;
    state[1] = world_of / STATES % STATES;
    state[2] = world_of / STATES / STATES;
    for (i = 0; i < 3; i++) {
      tell += state[i] <= FREE;
      open += state[i] == FREE;
    }
    for (fenced = 0; fenced < 2 && tell >= 2 && open < 2; fenced++)
      (void)waits_quietly(state, fenced);
  }
}

/* A waiter is told; but a server that is free says nothing of the key as long as its quarantine
   lasts. That it says yes behind it is no sign of a lost push. */
TEST(the_end_of_a_quarantine_makes_nobody_poll) { /* R26 R24 */
  enum { QUARANTINE_MS = 8000 };
  prepare_waking(3);
  options.max_ttl_ms = QUARANTINE_MS;
  ready_and_warm();
  run_for(QUARANTINE_MS);
  restart(0, 0);
  occupy(1, 2, "r", HELD_MS);
  wait_until_settled();
  run_for(QUARANTINE_MS);
  is_not_polled(1);
  release_at(1, 2);
  comes_soon();
}

/* The key is a list, say: a plain SET says that it is there, and what reads it fails. */
TEST(a_key_of_another_type_costs_what_polling_does) { /* R26 */
  int polled = 0, waking, i;
  for (waking = 0; waking < 2; waking++) {
    prepare_waking(3);
    SET_SERVERS(0, 2, store.refuse_hello, !waking);
    ready_and_warm();
    occupy(0, 2, "r", HELD_MS);
    for (i = 0; i < 3; i++) fake_key_at(&fake, i, "r")->list = 1;
    wait_until_settled();
    run_for(4 * LONG);
    if (!waking) polled = sets(0);
    else CHECK(sets(0) * 10 <= polled * 12);
    release_at(0, 2);
    if (waking) comes_soon();
  }
}

/* No attempt can succeed: each quorum comes too late. */
TEST(answers_that_come_too_late_are_polled) { /* R26 R9 */
  world_waking(3);
  SET_SERVERS(0, 2, reply_ms, 20);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 15, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(LONG);
  CHECK(sets(0) < LONG / 50 && sets(0) > LONG / 500);
}

/* A waiter's round fails while server 0, which was sent the SET, is overdue with an earlier answer
   (TIMEOUT): 1 and 2 say TAKEN. It lingers. Server 0 says yes after all: with 3 and 4, whose
   answers take 30 ms of their 50, that may be a quorum. They are not late. */
TEST(a_round_that_is_open_again_has_its_whole_time) { /* R6 R10 R26 */
  int sets_before;
  world_waking(5);
  occupy(0, 4, "r", HELD_MS);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(300);
  freeze(0, 0);
  CHECK_EQ(redlock_start_acquire(&rl, &other, "o", 60000, 0), REDLOCK_PENDING);
  run_for(8);
  SET_SERVERS(1, 2, reply_ms, 5);
  SET_SERVERS(3, 4, reply_ms, 30);
  forget_key(0, 0, "r");
  forget_key(3, 4, "r");
  fake_push(&fake, 1, PUSH_OF_ALL); /* a third of the pushes that wake it */
  for (sets_before = sets(3); sets(3) == sets_before;) run_for(1);
  while (lock.votes[0] != REDLOCK_VOTE_TIMEOUT) run_for(1);
  votes_are(&lock, 1, 2, REDLOCK_VOTE_TAKEN);
  votes_are(&lock, 3, 4, REDLOCK_VOTE_NONE);
  fake_thaw(&fake, 0);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(redlock_server_error(&rl, 3)[0], 0);
  CHECK_EQ(sets(3), sets_before + 1); /* by this attempt */
}

enum { UNWOKEN = 2 }; /* a waiter's first attempts */

/* Each refusal is followed by a push: the servers' table of what was read is too small. */
static void push_behind_each_refusal(void) {
  int i;
  for (i = 0; i < 3; i++)
    fake_answer(&fake, i, FAKE_SET, -1, "$0\r\n\r\n" PUSH_OF_R)->runs = 1;
}

/* Nobody asks more often for that, and the more rarely, the longer it lasts. */
TEST(wake_ups_for_nothing_make_no_storm) { /* R26 */
  int first;
  world_waking(3);
  push_behind_each_refusal();
  occupy(0, 2, "r", HELD_MS);
  start_waiter();
  run_for(A_SECOND);
  first = sets(0) - UNWOKEN;
  CHECK(first <= MOST_A_SECOND);
  forget_log();
  run_for(LONG);
  CHECK(sets(0) < first * LONG / A_SECOND);
  CHECK(sets(0) >= LONG / FALLBACK_MS); /* it is told, after all */
  fake.rules = 0;
  release_at(0, 2);
  CHECK_WITHIN_MS(finish(&lock), REDLOCK_OK, FALLBACK_MS);
}

enum { AGELESS = 7 }; /* the size of a value of another library */

/* Another holder, which had not waited, if it tells an age. */
static void hand_over_to(int sign, size_t size) {
  int i;
  occupy(0, 2, "r", HELD_MS);
  for (i = 0; i < 3; i++) {
    struct key *key = fake_key_at(&fake, i, "r");
    key->value_size = size;
    memset(key->value, 0, STORED);
    memset(key->value, sign, AGELESS);
  }
}

/* A waiter at three servers. */
static void wait_for_one_of(size_t size) {
  world_waking(3);
  hand_over_to('~', size);
  start_waiter();
  run_for(100);
}

static void wait_for_a_newcomer(void) { wait_for_one_of(STORED); }

/* A kept lock's extensions are pushed, too: not all of them are answered, while it tells an age. */
TEST(extensions_wake_more_and_more_rarely) { /* R26 */
  int i, k;
  wait_for_a_newcomer();
  for (k = 0; k < 40; k++) {
    if (k == 20) forget_log();
    for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF_R);
    run_for(A_SECOND / 2);
  }
  CHECK(sets(0) <= 20 * 3 / 4);
}

/* Where an attempt is woken for the first time, the lock is taken at once: also a moment after an
   attempt that was made because a push might have been lost. The holder tells an age: else each of
   these begins the back-off anew. */
TEST(the_fall_back_delays_no_wake_up) { /* R26 */
  wait_for_a_newcomer();
  forget_log();
  while (sets(0) < LONG / FALLBACK_MS) run_for(1);
  run_for(2);
  release_at(0, 2);
  comes_soon();
}

/* All that there is is pushed, every millisecond. */
static void run_beside_pushes(int64_t ms) {
  int64_t end_ms = now() + ms;
  while (now() < end_ms) {
    int i;
    for (i = 0; i < 3; i++) fake_push(&fake, i, PUSH_OF_ALL);
    run_for(1);
  }
}

static int is_attempt(const struct fake_command *c) {
  return c->server == 0 && c->kind == FAKE_SET;
}

/* The most attempts in any so many ms, since the log was forgotten. */
static int most_attempts_in(int64_t ms) {
  const struct fake_command *first = fake.log, *last = fake.log;
  int count = 0, most = 0;
  for (; last < fake.log + fake.logged; last++) {
    count += is_attempt(last);
    for (; first->at <= last->at - ms; first++) count -= is_attempt(first);
    if (count > most) most = count;
  }
  return most;
}

enum { AT_ITS_EDGES = 4 }; /* more, where the seconds that are looked at begin anywhere */

/* Its value is of another library: what was pushed may be of a hand-over, for all that a waiter
   knows. It may have polled servers that erred just before. */
TEST(a_holder_without_an_age_is_asked_for_ten_times_a_second) { /* R26 */
  int turn, errs;
  for (turn = 0; turn < 6; turn++) {
    errs = turn % 2;
    world_waking(3);
    SET_SERVERS(0, 2, reply_ms, turn / 2); /* the faster, the more attempts would fit */
    SET_SERVERS(0, 2, store.error, errs ? STORE_ERROR_OOM : 0);
    hand_over_to('~', AGELESS);
    start_waiter();
    run_beside_pushes(A_SECOND / 2);
    SET_SERVERS(0, 2, store.error, 0);
    forget_log();
    run_beside_pushes(3 * A_SECOND);
    CHECK(most_attempts_in(2 * A_SECOND) <= 2 * MOST_A_SECOND + AT_ITS_EDGES);
    forget_log();
    run_beside_pushes(LONG);
    CHECK(most_attempts_in(A_SECOND) <= MOST_A_SECOND);
    CHECK(sets(0) >= LONG / FALLBACK_MS); /* it is told, after all */
  }
}

/* Neither pushes for nothing nor a hand-over behind some of them, of which nothing else tells, keep
   a waiter from a free lock for longer than a fall-back, and its turn; nor where an attempt takes
   longer. */
TEST(a_lock_is_found_free_behind_any_pushes_and_hand_over) { /* R26 */
  int turn;
  for (turn = 0; turn < 20; turn++) {
    size_t size = turn % 2 ? STORED : AGELESS;
    wait_for_one_of(size);
    SET_SERVERS(0, 2, reply_ms, turn % 3 * 10);
    run_beside_pushes(A_SECOND * (1 + turn / 2));
    if (turn % 4 < 2) hand_over_to('*', size);
    run_for(A_SECOND * turn / 10);
    CHECK_EQ(lock.status, REDLOCK_PENDING);
    release_at(0, 2);
    CHECK_WITHIN_MS(finish(&lock), REDLOCK_OK, FALLBACK_MS + A_SECOND);
  }
}

/* Two hand-overs a second are no storm: behind them, too, a free lock is found at once. */
TEST(hand_overs_without_an_age_keep_nobody_back) { /* R26 */
  int turn, i, k;
  for (turn = 0; turn < 10; turn++) {
    wait_for_one_of(AGELESS);
    for (i = 0; i < 10 + turn; i++) {
      hand_over_to('a' + i, AGELESS);
      for (k = 0; k < 3; k++) fake_push(&fake, k, PUSH_OF_ALL);
      run_for(A_SECOND / 2);
    }
    CHECK_EQ(lock.status, REDLOCK_PENDING);
    release_at(0, 2);
    comes_soon();
  }
}

/* A plain SET cannot find its own value: it is no other entry's server that answers so. */
TEST(a_number_for_a_plain_set_is_no_second_name) { /* R5 R8 */
  world(3);
  fake_answer(&fake, 1, FAKE_SET, -1, ":1\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_OK);
  run_for(10);
  CHECK(strcmp(redlock_server_error(&rl, 1), "not an answer of Redis") == 0);
}

/* Three addresses of one server: it sets the lock by one name, and finds that very value by the
   others. That is told for as long as it lasts, and nothing is asked again and again. */
TEST(one_server_by_three_names_is_told_of) { /* R5 R26 */
  int i;
  world_waking(3);
  for (i = 1; i < 3; i++) {
    fake_answer(&fake, i, FAKE_SET, 2, "$-1\r\n"); /* plain ones */
    fake_answer(&fake, i, FAKE_SET, -1, ":1\r\n" PUSH_OF_R);
  }
  start_waiter();
  run_for(3 * A_SECOND);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
  for (i = 1; i < 3; i++)
    CHECK(strcmp(redlock_server_error(&rl, i), "the same server as another entry") == 0);
  CHECK_EQ(redlock_server_error(&rl, 0)[0], 0);
  forget_log();
  run_for(LONG);
  CHECK(sets(0) < LONG / 50); /* as servers that err are polled */
  fake.rules = 0;             /* whoever moved the addresses has moved them back */
  CHECK_WITHIN_MS(finish(&lock), REDLOCK_OK, LONG + A_SECOND);
}
