/* handshake.c: AUTH and SELECT, ahead of everything: nothing leaves before both have succeeded. */
#include "fixture.h"

/* A list of redis:// entries: user part, host, path. */
static void prepare_urls(int count, const char *user, const char *path) {
  int i;
  prepare(count);
  servers[0] = '\0';
  for (i = 0; i < count; i++) {
    size_t used = strlen(servers);
    snprintf(servers + used, sizeof servers - used, "%sredis://%ss%d%s", i ? "," : "", user, i,
             path);
  }
}

static void ask_password(const char *password) {
  SET_SERVERS(0, fake.servers - 1, store.password, password);
}

TEST(a_handshake_goes_alone_in_one_round_trip) { /* R4 */
  const struct fake_command *auth, *select, *set;
  prepare_urls(3, ":secret@", "/3");
  ask_password("secret");
  SET_SERVERS(0, 2, request_ms, 10);
  ready();
  start_timing();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(elapsed_ms(), 22); /* one round trip for all of it, and the lock's own */
  auth = fake_nth(&fake, 0, FAKE_ANY, 0);
  select = fake_nth(&fake, 0, FAKE_ANY, 1);
  set = fake_nth(&fake, 0, FAKE_ANY, 2);
  CHECK(auth && strcmp(auth->words, "AUTH secret") == 0);
  CHECK(select && strcmp(select->words, "SELECT 3") == 0);
  CHECK(auth && select && select->at == auth->at);
  CHECK(set && set->kind == FAKE_SET && set->at == auth->at + 11);
  CHECK(!fake_key_at(&fake, 0, "r")); /* database 3, not 0 */
}

TEST(a_password_is_said_once_for_each_connection) {
  prepare_urls(3, ":secret@", "/3");
  ask_password("secret");
  ready_and_warm();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  run_for(2);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_AUTH), 0);
  fake_reset(&fake, 0, FAKE_RST);
  run_for(1000);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_EXPIRED);
  run_for(1000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(fake_count(&fake, 0, FAKE_AUTH), 1);
  CHECK_EQ(fake_count(&fake, 1, FAKE_AUTH), 0);
}

/* A connection that is lost in the middle of its handshake is not made again for nothing. */
TEST(a_connection_lost_in_its_handshake_is_not_made_again_in_vain) { /* R27 */
  int opens;
  prepare_urls(1, ":secret@", "/3");
  ask_password("secret");
  fake.server[0].cut_in = 5;
  fake.server[0].cuts = 1000;
  fake.server[0].send_chunk = 3;
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(2000); /* whatever was due is too old */
  opens = fake.server[0].connections;
  CHECK(opens > 0);
  run_for(60000);
  CHECK_EQ(fake.server[0].connections, opens);
  CHECK_EQ(redlock_timeout_ms(&rl), -1);
}

/* Redis 6 and later take a password of any length. */
TEST(a_long_password_leaves_in_pieces) {
  static char password[70000];
  memset(password, 'p', sizeof password - 1);
  prepare(3);
  ask_password(password);
  options.password = password;
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
}

TEST(a_wrong_password_is_kept_and_told) { /* R4 R15 */
  int i;
  prepare(3);
  ask_password("secret");
  options.password = "guess";
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(2000);
  for (i = 0; i < 2; i++) {
    CHECK_EQ(lock.votes[i], REDLOCK_VOTE_ERROR);
    CHECK(strstr(redlock_server_error(&rl, i), "WRONGPASS") != NULL); /* not the NOAUTH behind */
  }
  end_without_a_key();
}

/* Behind a refused handshake nothing leaves: there is no vote, and nothing to undo. */
static void check_nothing_was_sent(void) {
  int i;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM);
  run_for(20);
  CHECK_EQ(sets(FAKE_ANY), 0);
  CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 0);
  for (i = 0; i < 3; i++) CHECK(redlock_server_error(&rl, i)[0] != '\0');
}

TEST(nothing_is_sent_behind_a_refused_select) { /* R4 */
  int i;
  prepare_urls(3, "", "/3");
  SET_SERVERS(0, 2, store.databases, 1);
  ready();
  for (i = 0; i < 30; i++) { /* however many connections are made */
    check_nothing_was_sent();
    run_for(500);
  }
  CHECK(strstr(redlock_server_error(&rl, 0), "DB index") != NULL);
  SET_SERVERS(0, 2, store.databases, 16);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 60000), REDLOCK_OK);
}

TEST(nothing_is_sent_behind_a_refused_auth) { /* R4: AUTH where none is set */
  prepare(3);
  options.password = "secret";
  ready();
  check_nothing_was_sent();
}

TEST(no_set_reaches_the_wrong_database) { /* R4 */
  prepare_urls(3, "", "/3");
  fake.server[2].store.databases = 1;
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_OK);
  run_for(20);
  CHECK_EQ(fake_live_keys(&fake), 2); /* in database 3 of the others */
  CHECK_EQ(lock.votes[2] == REDLOCK_VOTE_YES, 0);
}

/* The connection to the last server is lost, and the next one is not let into its database: the
   socket takes the handshake and nothing more until the refusal is known. */
TEST(no_extension_follows_a_refused_handshake) { /* R4 */
  const size_t handshake = sizeof "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n" - 1;
  prepare_urls(3, "", "/3");
  ready_and_hold(60000);
  run_for(5);
  forget_log();
  fake.server[0].reply_ms = SERVER_TIMEOUT / 2; /* so that the extension is still under way */
  fake.server[2].store.databases = 1;
  fake.server[2].socket_room = handshake;
  freeze(2, 2);
  fake_reset(&fake, 2, FAKE_RST);
  CHECK(redlock_step(&rl) == NULL);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 60000), REDLOCK_PENDING);
  run_for(5);
  fake.server[2].socket_room = 0;
  thaw(2, 2);
  run_for(5);
  CHECK_EQ(lock.votes[2], REDLOCK_VOTE_ERROR);
  fake.server[2].socket_room = SIZE_MAX;
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  run_for(5);
  CHECK(fake_count(&fake, 2, FAKE_SELECT) >= 1);
  CHECK_EQ(fake_count(&fake, 2, FAKE_EXTEND), 0);
  CHECK(strstr(redlock_server_error(&rl, 2), "DB index") != NULL);
}

/* Nobody needs the server any more that was asked who it is and says nothing. */
TEST(a_silent_handshake_is_given_up) { /* R13 R14 R27 */
  redlock_fd want[3];
  prepare_urls(3, ":secret@", "");
  ask_password("secret");
  freeze(2, 2);
  ready();
  take_and_release("r", 100);
  run_for(7000);
  CHECK_EQ(redlock_fds(&rl, want, 3), 2);
  CHECK_EQ(redlock_timeout_ms(&rl), -1);
}

/* When many connect at once, their handshakes take a server long: each was paid for. */
TEST(a_late_answer_costs_no_connection) { /* R13 R14 */
  int i;
  prepare_urls(3, ":secret@", "");
  ask_password("secret");
  SET_SERVERS(0, 2, thaw_at, now() + 4999);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 10000), REDLOCK_OK);
  for (i = 0; i < 3; i++) CHECK_EQ(fake.server[i].connections, 1);
}

/* Garbage that looks like its answer comes before all of the handshake has left. */
TEST(an_answer_to_what_has_not_left_is_none) { /* R4 R8 */
  int i;
  prepare(3);
  ask_password("secret");
  options.password = "secret";
  for (i = 0; i < 3; i++) {
    fake.server[i].send_chunk = fake.server[i].socket_room = 5;
    fake.server[i].request_ms = 10;
    fake.server[i].greeting = "+OK\r\n+OK\r\n+OK\r\n";
  }
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(200);
  CHECK_EQ(sets(FAKE_ANY), 0);
}

/* A server says as much as the whole handshake gets before it has taken all of it: none of that is
   an answer. */
TEST(no_answer_comes_ahead_of_its_question) { /* R4 R8 */
  prepare(3);
  freeze(2, 2);
  fake.server[2].socket_room = 10;
  fake.server[2].greeting = "-ERR 1\r\n-ERR 2\r\n+redlock\r\n";
  ready_and_hold(60000);
  run_for(5);
  CHECK(fake.server[2].connections > 1);
  fake.server[2].greeting = NULL;
  fake.server[2].socket_room = SIZE_MAX;
  thaw(2, 2);
  run_for(1000);
  CHECK_EQ(redlock_acquire(&rl, &other, "s", 60000, 0), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(fake_holders(&fake, "s"), 3);
}

/* To each question one form of reply is good, and of an error only one that refuses what the lock
   does not need. Anything else ends the connection, and is no vote. */
TEST(nothing_but_its_reply_follows_a_question) { /* R4 R8 */
  static const int kinds[] = {FAKE_AUTH, FAKE_SELECT, FAKE_HELLO, FAKE_TRACKING, FAKE_INFO,
                              FAKE_PROOF};
  static const char *const replies[] = {
    "+ok\r\n", "+OK!\r\n", "+\r\n", ":1\r\n", "$2\r\nOK\r\n", "$7\r\nredlock\r\n", "_\r\n",
    "*0\r\n", "*1\r\n:1\r\n", "%0\r\n", "-LOADING\r\n", "-BUSY\r\n", "-DENIED\r\n"
  };
  size_t i, k;
  for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (k = 0; k < sizeof replies / sizeof *replies; k++) {
      prepare_urls(3, ":secret@", "/3");
      ask_password("secret");
      options.max_ttl_ms = kinds[i] == FAKE_INFO ? 60000 : 0;
      SET_SERVERS(0, 2, store.refuse_hello, 0);
      servers_answer(0, 1, kinds[i], -1, replies[k]);
      ready();
      if (!CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM))
        printf("    question %d: %s\n", (int)i, replies[k]);
      CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
      CHECK_EQ(sets(0), 0);
      CHECK(redlock_server_error(&rl, 0)[0] != '\0');
    }
}

/* The connection says who it is. */
TEST(the_handshake_names_the_client) {
  prepare(3);
  ready_and_hold(1000);
  CHECK(strcmp(fake_nth(&fake, 0, FAKE_HELLO, 0)->words, "HELLO 3 SETNAME redlock") == 0);
}

/* What refuses an optional question is never a server's error: until the rest comes it says so. */
TEST(a_refusal_of_what_is_optional_is_not_told) { /* R15 */
  prepare(3);
  options.max_ttl_ms = 60000;
  SET_SERVERS(0, 2, store.refuse_tracking, 1);
  fake_answer(&fake, 2, FAKE_INFO, 1, NULL);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 30000, 0), REDLOCK_OK);
  run_for(10);
  CHECK(strcmp(redlock_server_error(&rl, 0), "") == 0);
  CHECK(strcmp(redlock_server_error(&rl, 2), "has not answered the handshake yet") == 0);
  run_for(SERVER_TIMEOUT);
  CHECK(strcmp(redlock_server_error(&rl, 2), "no answer within server_timeout_ms") == 0);
}

/* But what comes in its place, unasked, and ends the connection is. */
TEST(a_full_server_is_told) { /* R15 */
  prepare(3);
  SET_SERVERS(0, 2, greeting, "-ERR max number of clients reached\r\n");
  SET_SERVERS(0, 2, hangs_up, 1);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 30000, 100), REDLOCK_NO_QUORUM);
  CHECK(strstr(redlock_server_error(&rl, 0), "max number of clients") != NULL);
}
