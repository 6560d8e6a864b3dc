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

TEST(each_error_is_no_vote_and_is_kept) { /* R15 R23 */
  size_t size;
  int e;
  for (e = 0; e < ERRORS; e++) {
    world(3);
    fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, errors[e]);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
    size = strcspn(errors[e] + 1, "\r"); /* the text is the server's own, and all of it */
    CHECK_EQ(strlen(redlock_server_error(&rl, 0)), size);
    if (!CHECK(memcmp(redlock_server_error(&rl, 0), errors[e] + 1, size) == 0))
      printf("    %s\n", redlock_server_error(&rl, 0));
    run_for(3000);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 3000), REDLOCK_OK);
  }
}

TEST(a_reply_that_is_no_answer_is_told) { /* R4 R15 */
  world(3);
  fake_answer(&fake, 2, FAKE_SET, 1, "+QUEUED\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  run_for(20);
  CHECK(strcmp(redlock_server_error(&rl, 2), "not an answer of Redis") == 0);
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

TEST(an_error_is_gone_after_a_good_reply) { /* R15 */
  world(3);
  fake_answer(&fake, 0, FAKE_SET, 1, errors[0]);
  hold("r", 1000);
  run_for(5);
  CHECK(is_kept(0, errors[0]));
  CHECK_EQ(redlock_acquire(&rl, &other, "s", 1000, 0), REDLOCK_OK);
  run_for(5);
  CHECK(strcmp(redlock_server_error(&rl, 0), "") == 0);
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

TEST(each_error_from_a_minority_does_not_show) { /* R15 R16 */
  int e;
  for (e = 0; e < ERRORS; e++) {
    world(5);
    servers_answer(0, 1, FAKE_ANY, -1, errors[e]);
    start_timing();
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
    CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    CHECK_EQ(elapsed_ms(), 3);
  }
}

TEST(errors_split_at_every_byte_are_kept_whole) { /* R15 R8 */
  size_t at;
  for (at = 1; at < 30; at++) {
    world(3);
    fake.server[0].split_at = at;
    fake.server[0].split_ms = 1;
    fake_answer(&fake, 0, FAKE_SET, 1, errors[0]);
    occupy(1, 1, "r", 1000);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_TAKEN);
    CHECK(is_kept(0, errors[0]));
  }
}

TEST(a_long_error_is_cut) { /* R15 */
  static char text[6000];
  memset(text, 'x', sizeof text - 1);
  memcpy(text, "-ERR ", 5);
  memcpy(text + sizeof text - 3, "\r\n", 2);
  world(3);
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 3, text);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK(strlen(redlock_server_error(&rl, 0)) < REDLOCK_MAX_ERROR);
  CHECK(strncmp(redlock_server_error(&rl, 0), "ERR xxx", 7) == 0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 3000), REDLOCK_OK);
}

/* The server says why it hangs up before it is asked anything. */
static void greeted(const char *error, int majority) {
  int64_t start;
  int i;
  prepare(5);
  for (i = 0; i < (majority ? 3 : 2); i++) {
    fake.server[i].greeting = error;
    fake.server[i].hangs_up = 1;
  }
  ready();
  start = now();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), majority ? REDLOCK_NO_QUORUM : REDLOCK_OK);
  CHECK(now() - start <= SERVER_TIMEOUT);
  run_for(20);
  CHECK(is_kept(0, error));
  SET_SERVERS(0, 2, greeting, NULL);
  SET_SERVERS(0, 2, hangs_up, 0);
  run_for(2000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "s", 1000, 20000), REDLOCK_OK);
}

TEST(max_number_of_clients_unasked) { /* R15 R16 */
  greeted("-ERR max number of clients reached\r\n", 0);
  greeted("-ERR max number of clients reached\r\n", 1);
}

TEST(denied_unasked) { /* R15 R16 */
  greeted("-DENIED Redis is running in protected mode because\r\n", 0);
  greeted("-DENIED Redis is running in protected mode because\r\n", 1);
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
  ready();
  hold("r", 1000);
  CHECK(strstr(redlock_server_error(&rl, 0), "max number of clients"));
}

TEST(no_such_server_is_null) { /* R15 */
  world(3);
  CHECK(redlock_server_error(&rl, -2) == NULL);
  CHECK(redlock_server_error(&rl, 3) == NULL);
  CHECK(redlock_server_error(&rl, 2) != NULL && !redlock_server_error(&rl, 2)[0]);
}

/* As a port does that wants TLS, when it is spoken to without. */
TEST(who_hangs_up_unanswered_may_want_tls) { /* R15 */
  world(3);
  fake.server[0].cut_in = 1;
  fake.server[0].cuts = INT_MAX;
  hold("r", 1000);
  run_for(100);
  if (!CHECK(strstr(redlock_server_error(&rl, 0), "rediss://")))
    printf("    %s\n", redlock_server_error(&rl, 0));
  fake.server[0].cuts = 0;
  fake_reset(&fake, 1, FAKE_RST); /* it may just have died */
  run_for(1);
  if (!CHECK(strstr(redlock_server_error(&rl, 1), "no connection")))
    printf("    %s\n", redlock_server_error(&rl, 1));
}
