/* native.c: releases by a command of the server's own, DELEX or DELIFEQ, where the handshake says
 * that it has one; by the script elsewhere, and where an error refuses the command (R21). */
#include "fixture.h"

static const struct fake_command *release_at(int server, int k) {
  return fake_nth(&fake, server, FAKE_RELEASE, k);
}

static int is_native(int server) {
  redlock_server_info info;
  CHECK_EQ(redlock_server_status(&rl, server, &info), REDLOCK_OK);
  return info.native_release;
}

/* How many of a server's releases were native. */
static int natives(int server) {
  int k = 0, count = 0;
  const struct fake_command *c;
  while ((c = release_at(server, k++)) != NULL) count += c->native;
  return count;
}

static void prepare_native(int count) {
  prepare(count);
  SET_SERVERS(0, count - 1, store.natives, STORE_DELEX);
}

static void world_waking(int count) {
  prepare_native(count);
  SET_SERVERS(0, count - 1, store.refuse_hello, 0);
  ready_and_warm();
}

static void world_native(int count) {
  prepare_native(count);
  ready_and_warm();
}

/* They know it, and say so, but do not let the user. */
static void world_refusing(int count) {
  prepare_native(count);
  SET_SERVERS(0, count - 1, store.refuse_natives, 1);
  ready();
}

/* Of five servers no two are alike, and each lock's commands leave for all of them at once. */
TEST(each_server_gets_what_it_knows) { /* R21 R8 */
  static const int native[] = {1, 1, 0, 1, 0};
  int i;
  prepare(5);
  fake.server[0].store.natives = STORE_DELEX;
  fake.server[1].store.natives = STORE_DELIFEQ;
  fake.server[3].store.natives = STORE_DELEX | STORE_DELIFEQ;
  fake.server[4].store.natives = STORE_DELEX;
  fake.server[4].store.refuse_list = 1;
  ready_and_warm();
  take_and_release("r", 10000);
  start_two(10000);
  run_for(10);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_release(&rl, &other), REDLOCK_PENDING);
  CHECK_EQ(finish(&other), REDLOCK_OK);
  run_for(10);
  for (i = 0; i < 5; i++) {
    CHECK_EQ(fake_count(&fake, i, FAKE_RELEASE), 3);
    CHECK_EQ(natives(i), 3 * native[i]);
    CHECK_EQ(is_native(i), native[i]);
    CHECK_EQ(redlock_server_error(&rl, i)[0], '\0');
  }
  end_without_a_key();
}

/* Bytes leave in pieces of any size. */
TEST(in_pieces_too) { /* R8 */
  size_t piece;
  for (piece = 1; piece < 90; piece++) {
    prepare(3);
    fake.server[0].store.natives = STORE_DELEX;
    fake.server[1].store.natives = STORE_DELIFEQ;
    SET_SERVERS(0, 2, send_chunk, piece);
    ready_and_warm();
    take_and_release("r", 10000);
    run_for(5);
    CHECK_EQ(natives(0) + natives(1), 2);
    end_without_a_key();
  }
}

/* The servers' answers say whose the key is, as the script's do. */
TEST(it_finds_only_its_own_value) { /* R21 */
  int i;
  world_native(5);
  hold("r", 1000);
  fake_sleep(&fake, 1500);
  occupy(0, 4, "r", 9000);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  run_for(10);
  for (i = 0; i < 5; i++) {
    CHECK(fake_key_is(&fake, i, "r", "foreign"));
    CHECK_EQ(natives(i), 1);
    CHECK_EQ(redlock_server_error(&rl, i)[0], '\0');
  }
  end();
}

/* It compares all that the SET stored, so the age behind the value too (R26). */
TEST(a_waiters_value_is_found) { /* R21 R26 */
  world_waking(3);
  occupy(0, 2, "r", 60000);
  start_and_send(&lock, "r", 10000, 30000);
  run_for(100);
  forget_key(0, 2, "r");
  occupy(0, 2, "r", 60000); /* woken in vain */
  run_for(200);
  forget_key(0, 2, "r");
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK(fake_key_at(&fake, 0, "r")->value_size > 20);
  forget_log();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(10);
  CHECK_EQ(natives(0), 1);
  end_without_a_key();
}

/* Whoever waits is pushed the change, as by a script. */
TEST(it_wakes_the_next) { /* R26 */
  int64_t released_at;
  world_waking(3);
  ready_rival();
  CHECK_EQ(redlock_acquire(&rival, &other, "r", 60000, 0), REDLOCK_OK);
  start_and_send(&lock, "r", 10000, 30000);
  run_for(500);
  released_at = now();
  forget_log();
  CHECK_EQ(redlock_release(&rival, &other), REDLOCK_OK);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK(now() - released_at < 100);
  CHECK_EQ(natives(0), 1);
  end();
}

/* An error to it loses no release: the script follows, its vote counts, and the command is not
   tried again on this connection. */
TEST(a_refused_one_is_sent_as_a_script) { /* R21 R7 */
  int i;
  world_refusing(5);
  hold("r", 60000);
  run_for(10);
  start_timing();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(elapsed_ms(), 2); /* the command's way there and back, and the script's */
  take_and_release("s", 60000);
  run_for(10);
  for (i = 0; i < 5; i++) {
    CHECK_EQ(fake_count(&fake, i, FAKE_RELEASE), 3);
    CHECK_EQ(natives(i), 1);
    CHECK(release_at(i, 0)->native);
    CHECK_EQ(is_native(i), 0);
  }
  end_without_a_key();
}

/* Whatever the error says. */
TEST(any_error_is_a_refusal) { /* R15 R21 */
  static const char *const errors[] = {
      "-NOPERM this user has no permissions to run the 'delex' command\r\n",
      "-ERR unknown command 'DELEX', with args beginning with: 'r' 'IFEQ' \r\n",
      "-BUSY Redis is busy running a script.\r\n", "-LOADING Redis is loading\r\n",
      "-MISCONF no disk\r\n", "-NOREPLICAS Not enough good replicas to write.\r\n",
      "-unsupported command\r\n", "-\r\n"};
  size_t k;
  for (k = 0; k < sizeof errors / sizeof errors[0]; k++) {
    world_native(3);
    servers_answer(0, 2, FAKE_RELEASE, 1, errors[k]);
    take_and_release("r", 60000);
    CHECK_EQ(lock.status, REDLOCK_OK);
    run_for(10);
    CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 2);
    end_without_a_key();
  }
}

/* Who answers every release with an error is asked twice, and the vote is an error then. */
TEST(an_error_to_the_script_stands) { /* R10 R21 R27 */
  world_native(3);
  servers_answer(0, 2, FAKE_RELEASE, -1, "-BUSY Redis is busy running a script.\r\n");
  hold("r", 60000);
  start_timing();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(elapsed_ms(), 2);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  run_for(30000);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 6);
  end();
}

/* While it waits for the script's answer, the round is open, and ends in its time. */
TEST(the_vote_of_a_refused_one_is_open) { /* R10 R23 */
  world_native(3);
  fake_answer(&fake, FAKE_ANY, FAKE_RELEASE, 3, "-NOPERM\r\n"); /* one each */
  servers_answer(0, 2, FAKE_RELEASE, -1, NULL);
  hold("r", 60000);
  start_timing();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(elapsed_ms(), SERVER_TIMEOUT);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_TIMEOUT);
  end();
}

/* Those that are under way together are all refused, and SETs that were sent behind them must not
   be taken for theirs: the scripts leave when the last answer is in. */
TEST(many_that_are_refused_at_once) { /* R7 R8 R12 */
  enum { MANY = 12 };
  static redlock_lock many[MANY], more[MANY];
  int i;
  world_refusing(3);
  for (i = 0; i < MANY; i++)
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), 60000, 0), REDLOCK_OK);
  run_for(10);
  fake.server[2].reply_ms = 7;
  for (i = 0; i < MANY; i++) {
    CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
    CHECK_EQ(redlock_start_acquire(&rl, &more[i], numbered(MANY + i), 60000, 0), REDLOCK_PENDING);
    fake_sleep(&fake, i % 3 == 0);
    take_all(&rl);
  }
  run_for(SERVER_TIMEOUT);
  for (i = 0; i < MANY; i++) {
    CHECK_EQ(many[i].status, REDLOCK_OK);
    CHECK_EQ(more[i].status, REDLOCK_OK);
    CHECK_EQ(fake_holders(&fake, numbered(i)), 0);
    CHECK_EQ(fake_holders(&fake, numbered(MANY + i)), 3);
  }
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_release(&rl, &more[i]), REDLOCK_OK);
  run_for(20);
  end_without_a_key();
}

/* The ring keeps a release of which it is not known yet whether it is refused, also behind a
   server whose answers are slow. */
TEST(a_refusal_that_comes_late_loses_none) { /* R7 R11 */
  int i;
  prepare_native(3);
  fake.server[2].store.refuse_natives = 1;
  fake.server[2].reply_ms = 45;
  ready();
  hold("first", 60000);
  run_for(100);
  for (i = 0; i < 50; i++) {
    CHECK_EQ(redlock_acquire(&rl, &other, numbered(i), 60000, 5000), REDLOCK_OK);
    CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
  }
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(500);
  end_without_a_key();
}

/* A server that is frozen then holds nothing up: the ring goes on without it (R13). */
TEST(who_is_frozen_pins_nothing) { /* R11 R13 */
  int i;
  prepare_native(3);
  ready();
  hold("first", 60000);
  run_for(100);
  fake_freeze(&fake, 2);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(SERVER_TIMEOUT + 5);
  for (i = 0; i < 100; i++) {
    start_timing();
    take_and_release(numbered(i), 60000);
    CHECK_EQ(elapsed_ms(), 2);
  }
  fake_thaw(&fake, 2);
  run_for(100);
  end_without_a_key();
}

/* Server 0 answers what its socket took, all at once, and takes the rest. */
static void thaw_with_room(void) {
  fake.server[0].socket_room = SIZE_MAX;
  fake.server[0].reply_ms = 0; /* they are there before the rest leaves */
  fake_thaw(&fake, 0);
}

/* The answer about the server's commands comes while a script is cut: that ends as it began. */
TEST(the_form_does_not_change_within_a_release) { /* R8 */
  size_t room;
  for (room = 190; room < 680; room += 3) {
    prepare_native(3);
    fake_freeze(&fake, 0);
    fake.server[0].socket_room = room;
    ready();
    take_and_release("r", 60000);
    thaw_with_room();
    run_for(20);
    CHECK_EQ(fake_count(&fake, 0, FAKE_SET), 1);
    CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 1);
    end_without_a_key();
  }
}

/* Nor does a refusal change it within the next one, of which the socket took a part. */
TEST(nor_does_a_refusal_change_it) { /* R8 */
  size_t room;
  for (room = 0; room < 160; room++) {
    world_refusing(3);
    CHECK_EQ(redlock_acquire(&rl, &lock, "a", 60000, 0), REDLOCK_OK);
    CHECK_EQ(redlock_acquire(&rl, &other, "b", 60000, 0), REDLOCK_OK);
    run_for(10);
    fake_freeze(&fake, 0);
    leave_room(0, room);
    CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
    CHECK_EQ(redlock_start_release(&rl, &other), REDLOCK_PENDING);
    run_for(10);
    thaw_with_room();
    run_for(10);
    CHECK_EQ(lock.status, REDLOCK_OK);
    CHECK_EQ(other.status, REDLOCK_OK);
    CHECK(natives(0) > 0);
    end_without_a_key();
  }
}

/* A new connection asks anew. */
TEST(after_a_reconnect_it_is_tried_again) { /* R12 */
  int i;
  world_refusing(3);
  take_and_release("r", 60000);
  run_for(10);
  SET_SERVERS(0, 2, store.refuse_natives, 0);
  reset(0, 2, FAKE_FIN);
  run_for(10);
  warm();
  take_and_release("s", 60000);
  for (i = 0; i < 3; i++) CHECK(natives(i) == 1 && is_native(i));
  end_without_a_key();
}

/* A connection that is lost before the script has left loses nothing either. */
TEST(a_refused_one_survives_its_connection) { /* R7 R12 */
  world_refusing(3);
  hold("r", 60000);
  run_for(10);
  fake.server[0].request_ms = 5;
  CHECK_EQ(redlock_start_acquire(&rl, &other, "s", 60000, 0), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  run_for(6); /* server 0 has refused, and its script is on its way */
  fake_reset(&fake, 0, FAKE_RST);
  run_for(SERVER_TIMEOUT);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
  CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
  run_for(20);
  end_without_a_key();
}

/* Who closes at once waits for that too. */
TEST(closing_sends_the_script) { /* R7 */
  world_refusing(3);
  hold("r", 60000);
  run_for(10);
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  redlock_close(&rl);
  fake_sleep(&fake, 5);
  end_without_a_key();
}

/* A roll-back is a release like any other. */
TEST(a_roll_back_is_native_too) { /* R7 */
  world_refusing(3);
  occupy(0, 1, "r", 60000);
  run_for(100);
  CHECK_EQ(redlock_acquire(&rl, &other, "warm", 1000, 0), REDLOCK_OK);
  run_for(10);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_TAKEN);
  run_for(10);
  CHECK_EQ(natives(2), 1);
  CHECK(!fake_key_at(&fake, 2, "r"));
  end();
}

/* The first release leaves before the server has said what it knows, as a script: that its answer
   is good says nothing of native ones. */
TEST(a_scripts_answer_proves_no_native_release) { /* R7 R21 */
  int i;
  prepare_native(3);
  fake.server[2].store.refuse_natives = 1;
  fake.server[2].reply_ms = SERVER_TIMEOUT - 5;
  ready();
  take_and_release("early", 60000);
  run_for(100);
  for (i = 0; i < 50; i++) take_and_release(numbered(i), 60000);
  run_for(1000);
  end_without_a_key();
}

/* Something is always under way to the servers that refuse it: it is sent again all the same. */
TEST(steady_traffic_does_not_keep_a_refused_release_waiting) { /* R21 R23 */
  static redlock_lock many[20];
  int i;
  prepare_native(3);
  SET_SERVERS(0, 2, store.refuse_natives, 1);
  SET_SERVERS(0, 2, reply_ms, 5);
  ready();
  hold("r", 60000);
  run_for(100);
  for (i = 0; i < 20; i++) {
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), 60000, 0), REDLOCK_PENDING);
    if (i == 2) CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
    run_for(4);
  }
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
  end();
}

/* A process that lives for one lock: it does not go before it knows. */
TEST(a_close_waits_for_a_refusal) { /* R7 */
  int first;
  for (first = 0; first < 3; first++) {
    prepare_native(3);
    options.server_timeout_ms = 250;
    SET_SERVERS(0, 2, store.refuse_natives, 1);
    SET_SERVERS(first, 2, reply_ms, 60);
    ready();
    hold("r", 60000);
    run_for(200);
    CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
    redlock_close(&rl);
    fake_sleep(&fake, 1000);
    end_without_a_key();
  }
}
