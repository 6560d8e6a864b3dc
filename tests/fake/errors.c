/* errors.c: every class of error reply, asked for or not (R15). */
#include "fixture.h"

static const char *const errors[] = {
    "-LOADING Redis is loading the dataset in memory\r\n",
    "-BUSY Redis is busy running a script.\r\n",
    "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
    "-MISCONF Redis is configured to save RDB snapshots\r\n",
    "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "-NOREPLICAS Not enough good replicas to write.\r\n",
    "-MASTERDOWN Link with MASTER is down\r\n",
    "-CLUSTERDOWN The cluster is down\r\n",
    "-READONLY You can't write against a read only replica.\r\n",
    "-ERR max number of clients reached\r\n",
    "-NOAUTH Authentication required.\r\n",
    "-WRONGPASS invalid username-password pair\r\n",
    "-NOPERM this user has no permissions\r\n",
    "-DENIED Redis is running in protected mode\r\n",
    "-MOVED 3999 127.0.0.1:6381\r\n",
    "-ASK 3999 127.0.0.1:6381\r\n",
    "-CROSSSLOT Keys in request don't hash to the same slot\r\n",
    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
    "-ERR unknown command 'EVAL'\r\n",
    "-SOMETHING new\r\n"};

enum { ERRORS = sizeof errors / sizeof errors[0] };

/* The error's own words stand in the text that is kept. */
static int is_kept(int server, const char *error) {
  char words[24];
  snprintf(words, sizeof words, "%.*s", (int)strcspn(error + 1, "\r"), error + 1);
  return strstr(redlock_server_error(&rl, server), words) != NULL;
}

/* From all servers; and from a minority, which does not show. */
TEST(each_error_is_no_vote_and_is_kept) { /* R15 R16 R23 */
  int e;
  for (e = 0; e < ERRORS; e++) {
    const char *text = errors[e] + 1;
    size_t size = strcspn(text, "\r"); /* the text is the server's own, and all of it */
    world(3);
    fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, errors[e]);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
    CHECK_EQ(strlen(redlock_server_error(&rl, 0)), size);
    if (!CHECK(memcmp(redlock_server_error(&rl, 0), text, size) == 0))
      printf("    %s\n", redlock_server_error(&rl, 0));
    run_for(3000);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 3000), REDLOCK_OK);
    world(5);
    servers_answer(0, 1, FAKE_ANY, -1, errors[e]);
    CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK, 1);
    CHECK_IN_MS(redlock_extend(&rl, &lock, 1000), REDLOCK_OK, 1);
    CHECK_IN_MS(redlock_release(&rl, &lock), REDLOCK_OK, 1);
  }
}

TEST(a_reply_that_is_no_answer_is_told) { /* R4 R15 */
  world(3);
  fake_answer(&fake, 2, FAKE_SET, 1, "+QUEUED\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  run_for(20);
  CHECK(strcmp(redlock_server_error(&rl, 2), "not an answer of Redis") == 0);
}

/* It counts nothing that was deleted. */
TEST(a_text_is_no_answer_to_a_release) { /* R4 R15 R21 */
  world_with_lock(3, 1000);
  servers_answer(0, 1, FAKE_RELEASE, 1, "$6\r\nQUEUED\r\n");
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  votes_are(&lock, 0, 1, REDLOCK_VOTE_ERROR);
  CHECK(strcmp(redlock_server_error(&rl, 0), "not an answer of Redis") == 0);
}

/* The arguments of an unknown command are quoted, and the lock's value is one of them. Nor is it
   shown when the rest of the error never comes. */
TEST(the_locks_value_is_not_shown) { /* R15 */
  static const char *const quoting[] = {
      "-ERR unknown command 'SET', with args beginning with: 'r' 'the value'\r\n",
      "-ERR unknown command 'SET', with args beginning with: 'r' 'the value"};
  int torn;
  for (torn = 0; torn < 2; torn++) {
    world(3);
    fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, quoting[torn]);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    CHECK(strstr(redlock_server_error(&rl, 0), "unknown command 'SET'") != NULL);
    CHECK(strstr(redlock_server_error(&rl, 0), "value") == NULL);
  }
}

/* The roll-back behind a refused SET is answered well, for it has nothing to delete. That does not
   say that the next SET will be taken. */
TEST(a_roll_back_that_finds_nothing_leaves_the_error) { /* R15 R7 */
  world(3);
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, errors[4]);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(20);
  CHECK(is_kept(0, errors[4]));
}

TEST(control_bytes_are_not_passed_on) { /* R15: the text may go to a terminal */
  const char *c;
  world(3);
  fake_answer(&fake, 0, FAKE_SET, 1, "-LOADING \x01\x1b[2J\x7f\x80\xff\t ~end\r\n");
  hold("r", 1000);
  run_for(5);
  for (c = redlock_server_error(&rl, 0); *c; c++) CHECK(*c >= ' ' && *c <= '~');
  CHECK(strstr(redlock_server_error(&rl, 0), "LOADING ") != NULL);
  CHECK(strstr(redlock_server_error(&rl, 0), " ~end") != NULL);
}

/* The server says why it hangs up before it is asked anything. */
TEST(an_error_unasked_is_kept) { /* R15 R16 */
  static const char *const unasked[] = {"-ERR max number of clients reached\r\n",
                                        "-DENIED Redis is running in protected mode because\r\n"};
  int k;
  for (k = 0; k < 4; k++) {
    int majority = k % 2;
    prepare(5);
    SET_SERVERS(0, 1 + majority, greeting, unasked[k / 2]);
    SET_SERVERS(0, 1 + majority, hangs_up, 1);
    ready();
    CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0),
                    majority ? REDLOCK_NO_QUORUM : REDLOCK_OK, SERVER_TIMEOUT);
    run_for(20);
    CHECK(is_kept(0, unasked[k / 2]));
    SET_SERVERS(0, 2, greeting, NULL);
    SET_SERVERS(0, 2, hangs_up, 0);
    run_for(2000);
    CHECK_EQ(redlock_acquire(&rl, &lock, "s", 1000, 20000), REDLOCK_OK);
  }
}

static int send_after_the_end(void *ctx, int server, const void *data, size_t size) {
  return server == 0 ? -1 : fake_send(ctx, server, data, size);
}

/* The first sign of the hang-up may be that sending fails, before the server was heard. */
TEST(an_error_is_read_after_a_failed_send) { /* R15 */
  static redlock_io io;
  prepare(3);
  io = *options.io;
  io.send = send_after_the_end;
  options.io = &io;
  fake.server[0].greeting = "-ERR max number of clients reached\r\n";
  fake.server[0].hangs_up = 1;
  ready_and_hold(1000);
  CHECK(strstr(redlock_server_error(&rl, 0), "max number of clients"));
}

/* As a port does that wants TLS, when it is spoken to without. */
TEST(who_hangs_up_unanswered_may_want_tls) { /* R15 */
  prepare(3);
  fake.server[0].cut_in = 1;
  fake.server[0].cuts = INT_MAX;
  ready_and_hold(1000);
  run_for(100);
  if (!CHECK(strstr(redlock_server_error(&rl, 0), "rediss://")))
    printf("    %s\n", redlock_server_error(&rl, 0));
  fake.server[0].cuts = 0;
  fake_reset(&fake, 1, FAKE_RST); /* it may just have died */
  run_for(1);
  if (!CHECK(strstr(redlock_server_error(&rl, 1), "no connection")))
    printf("    %s\n", redlock_server_error(&rl, 1));
  fake.server[2].cut_in = 1; /* many reconnect at once: it has spoken before */
  fake.server[2].cuts = INT_MAX;
  fake_reset(&fake, 2, FAKE_RST);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(100);
  CHECK(fake.server[2].connections > 2);
  if (!CHECK(strstr(redlock_server_error(&rl, 2), "no connection")))
    printf("    %s\n", redlock_server_error(&rl, 2));
}

/* What it said on an earlier connection is no news of the next. */
TEST(an_error_of_an_earlier_connection_gives_way) { /* R15 */
  world(3);
  fake_answer(&fake, 0, FAKE_SET, 1, errors[0]);
  take_and_release("r", 1000);
  run_for(5);
  CHECK(is_kept(0, errors[0]));
  take_away(0, 0);
  take_and_release("r", 1000);
  run_for(50);
  CHECK(strcmp(redlock_server_error(&rl, 0), "no connection") == 0);
}
