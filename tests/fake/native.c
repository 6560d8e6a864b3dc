/* native.c: releases by a command of the server's own, DELEX or DELIFEQ, where HELLO says that the
 * server is new enough; by the script elsewhere, and where an error refuses the command (R21). */
#include "fixture.h"

static int is_native(int server) {
  redlock_server_info info;
  CHECK_EQ(redlock_server_status(&rl, server, &info), REDLOCK_OK);
  return info.native_release;
}

/* How many of a server's releases were native. */
static int natives(int server) {
  int k = 0, count = 0;
  const struct fake_command *c;
  while ((c = fake_nth(&fake, server, FAKE_RELEASE, k++)) != NULL) count += c->native;
  return count;
}

static void prepare_native(int count) {
  prepare(count);
  SET_SERVERS(0, count - 1, store.refuse_hello, 0);
  SET_SERVERS(0, count - 1, store.refuse_tracking, 1);
  SET_SERVERS(0, count - 1, store.natives, STORE_DELEX);
}

static void world_native(int count) {
  prepare_native(count);
  ready_and_warm();
}

static void hold_natively(int count) {
  world_native(count);
  hold("r", 60000);
  run_for(10);
  forget_log();
}

/* Of five servers no two are alike, and each lock's commands leave for all of them at once. */
TEST(each_server_gets_what_it_knows) { /* R21 R8 */
  static const int native[] = {1, 1, 0, 1, 0};
  int i;
  prepare_native(5);
  fake.server[1].store.natives = STORE_DELIFEQ;
  fake.server[2].store.natives = 0;
  fake.server[3].store.natives = STORE_DELEX | STORE_DELIFEQ;
  fake.server[4].store.refuse_hello = 1;
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

/* The servers' answers say whose the key is, as the script's do. */
TEST(a_native_release_finds_only_its_own_value) { /* R21 */
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
}

/* It compares all that the SET stored, so the age behind the value too (R26). */
TEST(a_waiters_value_is_found) { /* R21 R26 */
  prepare_native(3);
  SET_SERVERS(0, 2, store.refuse_tracking, 0);
  ready_and_warm();
  occupy(0, 2, "r", 60000);
  start_and_send(&lock, "r", 10000, 30000);
  run_for(100);
  forget_key(0, 2, "r");
  occupy(0, 2, "r", 60000); /* woken in vain */
  run_for(200);
  forget_key(0, 2, "r");
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK(age_in_value() > 16);
  forget_log();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(10);
  CHECK_EQ(natives(0), 1);
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
    freeze(0, 0);
    fake.server[0].socket_room = room;
    ready();
    take_and_release("r", 60000);
    thaw_with_room();
    run_for(20);
    CHECK_EQ(sets(0), 1);
    CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 1);
    end_without_a_key();
  }
}

/* What calls itself so knows the command: Redis from 8.4 on, Valkey from 9.0 on. */
TEST(the_version_tells_the_form) {
  static const struct {
    const char *version;
    int natives, native;
  } servers_say[] = {
    {"8.4.0", STORE_DELEX, 1},   {"8.3.9", STORE_DELEX, 0},    {"8.10.0", STORE_DELEX, 1},
    {"8.0.15", STORE_DELEX, 0},  {"7.0.15", STORE_DELEX, 0},   {"7.9.255", STORE_DELEX, 0},
    {"9.0.0", STORE_DELEX, 1},   {"10.0.0", STORE_DELEX, 1},   {"8.4.0-rc1", STORE_DELEX, 0},
    {"8.4", STORE_DELEX, 0},     {"", STORE_DELEX, 0},        
    {"7.8.4.0", STORE_DELEX, 0}, {"255.255.255", STORE_DELEX, 0}, {"unstable", STORE_DELEX, 0},
    {"9.0.0", STORE_DELIFEQ, 1}, {"9.1.2", STORE_DELIFEQ, 1},  {"8.1.4", STORE_DELIFEQ, 0},
    {"7.2.11", STORE_DELIFEQ, 0}, {"10.0.0", STORE_DELIFEQ, 1}
  };
  size_t k;
  for (k = 0; k < sizeof servers_say / sizeof *servers_say; k++) {
    prepare_native(3);
    SET_SERVERS(0, 2, store.natives, (unsigned)servers_say[k].natives);
    SET_SERVERS(0, 2, store.version, servers_say[k].version);
    ready_and_warm();
    take_and_release("r", 60000);
    run_for(10);
    if (!CHECK_EQ(natives(0), servers_say[k].native)) printf("    %s\n", servers_say[k].version);
    CHECK_EQ(is_native(0), servers_say[k].native);
    CHECK_EQ(redlock_server_error(&rl, 0)[0], '\0');
    end_without_a_key();
  }
}

/* A kind of server that we do not know gets scripts, whatever its version. */
TEST(an_unknown_server_gets_scripts) {
  prepare_native(3);
  servers_answer(0, 2, FAKE_HELLO, -1,
                 "%4\r\n$6\r\nserver\r\n$6\r\nkeydb!\r\n$7\r\nversion\r\n$5\r\n9.9.9\r\n"
                 "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n");
  ready_and_warm();
  take_and_release("r", 60000);
  run_for(10);
  CHECK_EQ(natives(0), 0);
}

/* A new connection may find another release of the server. */
TEST(each_connection_is_told_the_version) {
  int i;
  prepare_native(3);
  SET_SERVERS(0, 2, store.natives, 0);
  ready_and_warm();
  take_and_release("r", 60000);
  run_for(10);
  SET_SERVERS(0, 2, store.natives, STORE_DELEX);
  reset(0, 2, FAKE_FIN);
  run_for(10);
  warm();
  forget_log();
  take_and_release("s", 60000);
  for (i = 0; i < 3; i++) CHECK(natives(i) == 1 && is_native(i));
  end_without_a_key();
}

/* If an error refuses it all the same, for the user has lost the right, no release is lost: the
   script follows on a new connection, its vote counts, and the server's own command is not tried
   again. */
TEST(a_refused_release_is_sent_as_a_script) { /* R21 R7 R12 */
  int i;
  hold_natively(5);
  SET_SERVERS(0, 4, store.refuse_natives, 1);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  take_and_release("s", 60000);
  reset(0, 4, FAKE_FIN);
  run_for(10);
  SET_SERVERS(0, 4, store.refuse_natives, 0);
  take_and_release("t", 60000);
  run_for(10);
  for (i = 0; i < 5; i++) {
    CHECK_EQ(fake_count(&fake, i, FAKE_RELEASE), 4);
    CHECK(fake_nth(&fake, i, FAKE_RELEASE, 0)->native);
    CHECK_EQ(natives(i), 1);
    CHECK_EQ(is_native(i), 0);
  }
  end_without_a_key();
}

/* Also if so much is under way all the time that each release is retired before the server's answer
   comes. Its key stays, but no later one. */
TEST(a_refusal_that_comes_late_is_the_last) { /* R21 R11 */
  int turn;
  world_native(3);
  SET_SERVERS(0, 0, store.refuse_natives, 1);
  fake.server[0].reply_ms = SERVER_TIMEOUT - 10; /* a stalled one would be sent no SETs */
  for (turn = 0; turn < 4; turn++) retire_all(); /* the first answers have come */
  CHECK(natives(0) > 0);
  forget_log();
  for (turn = 0; turn < 6; turn++) retire_all();
  CHECK_EQ(natives(0), 0);
}

/* Only rights and unknown commands are a matter of the form: any other error stands, as it would
   for a script. */
TEST(errors_to_a_native_release_stand) { /* R10 R15 R27 */
  static const char *const errors[] = {"-BUSY Redis is busy running a script.\r\n",
                                       "-LOADING Redis is loading\r\n", "-MISCONF no disk\r\n",
                                       "-WRONGTYPE no string\r\n", "-\r\n",
                                       "-NOREPLICAS Not enough good replicas to write.\r\n",
                                       "-EXECABORT no\r\n", "-E\r\n"};
  size_t k;
  for (k = 0; k < sizeof errors / sizeof errors[0]; k++) {
    hold_natively(3);
    servers_answer(0, 2, FAKE_RELEASE, -1, errors[k]);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
    run_for(30000);
    CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 3);
    CHECK_EQ(fake.server[0].connections, 1);
    CHECK(is_native(0));
  }
}

/* Who refuses the script as well is asked twice in all, and the vote is an error then. */
TEST(an_error_to_the_script_stands) { /* R10 R21 R27 */
  hold_natively(3);
  servers_answer(0, 2, FAKE_RELEASE, -1, "-NOPERM\r\n");
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
  run_for(30000);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 6);
}

/* While it waits for the script's answer, the round is open, and ends in its time. */
TEST(the_vote_of_a_refused_release_is_open) { /* R10 R23 */
  hold_natively(3);
  fake_answer(&fake, FAKE_ANY, FAKE_RELEASE, 3, "-NOPERM\r\n"); /* one each */
  servers_answer(0, 2, FAKE_RELEASE, -1, NULL);
  CHECK_IN_MS(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM, SERVER_TIMEOUT);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_TIMEOUT);
}
