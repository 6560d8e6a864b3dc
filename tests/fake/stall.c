/* stall.c: a server that takes bytes and does not answer (R13). */
#include "fixture.h"

/* One lock is taken and freed while the server is frozen; then it is stalled. */
static void stall(int first, int last, uint32_t ttl_ms) {
  world(5);
  freeze(first, last);
  take_and_release("first", ttl_ms);
  run_for(SERVER_TIMEOUT + 2);
}

static void use(int times) {
  int i;
  for (i = 0; i < times; i++) {
    int64_t start = now();
    CHECK_EQ(redlock_acquire(&rl, &lock, "next", 60000, 0), REDLOCK_OK);
    CHECK_EQ(now() - start, 1);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    CHECK_EQ(now() - start, 2);
  }
}

TEST(a_stalled_server_gets_nothing_more) { /* R13 */
  int server;
  for (server = 0; server < 5; server++) {
    stall(server, server, 60000);
    use(100);
    fake_thaw(&fake, server);
    CHECK_EQ(fake_count(&fake, server, FAKE_ANY), 2); /* the first lock's SET and its release */
    CHECK_EQ(fake_count(&fake, server, FAKE_RELEASE), 1);
    end_without_a_key();
  }
}

/* Times are cut to whole milliseconds: one that answers a millisecond late is slow, and not silent.
   It is asked again. */
TEST(a_server_has_the_whole_of_its_time) { /* R10 R13 */
  world(3);
  SET_SERVERS(0, 2, thaw_at, now() + SERVER_TIMEOUT);
  CHECK_EQ(redlock_acquire(&rl, &lock, "late", 60000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(redlock_acquire(&rl, &lock, "next", 60000, 0), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(fake_live_keys(&fake), 3);
}

/* The whole process stands still for so long, just before the SET leaves for the frozen server. */
static int64_t sleep_ms;

static void sleep_before_the_last_send(struct fake *f, enum fake_hook hook, int server) {
  if (hook != FAKE_SEND || server != 4) return;
  f->on_call = NULL;
  fake_sleep(f, sleep_ms);
}

TEST(a_set_that_left_late_is_undone_all_the_same) { /* R13 R7 */
  /* two ttl; longer than a connection may be silent */
  for (sleep_ms = 2000; sleep_ms <= 42000; sleep_ms += 40000) {
    world(5);
    freeze(4, 4);
    fake.on_call = sleep_before_the_last_send;
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_EXPIRED);
    run_for(100);
    fake_thaw(&fake, 4);
    run_for(10);
    CHECK_EQ(fake.server[4].connections, 1);
    CHECK_EQ(sets(4), 1);
    end_without_a_key();
  }
}

/* The clock fails once, when it is asked how late the SET has left. */
static void no_clock_after_the_last_send(struct fake *f, enum fake_hook hook, int server) {
  if (hook != FAKE_SEND || server != 4) return;
  f->on_call = NULL;
  fail_calls(FAKE_NOW, 1, 1);
}

TEST(a_late_set_is_undone_though_a_clock_failed) { /* R13 R7 */
  world(5);
  freeze(4, 4);
  fake.on_call = no_clock_after_the_last_send;
  hold("r", 60000);
  run_for(5000);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  fake_thaw(&fake, 4);
  run_for(10);
  CHECK_EQ(fake.server[4].connections, 1);
  end_without_a_key();
}

/* It was not connected yet when the others granted the lock, and is given the value later. */
TEST(a_set_that_left_with_an_extension_is_undone_too) { /* R13 R7 */
  prepare(3);
  fake.server[2].connect_ms = 20;
  freeze(2, 2);
  ready_and_hold(60000);
  run_for(30);
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), REDLOCK_OK);
  run_for(3 * SERVER_TIMEOUT);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  thaw(2, 2);
  run_for(10);
  CHECK_EQ(sets(2), 1);
  end_without_a_key();
}

/* The bytes that leave for the last server from now on need so long. */
static redlock_status take_sending_for(int64_t ms, const char *resource) {
  fake.server[4].request_ms = ms;
  return redlock_acquire(&rl, &lock, resource, 60000, 0);
}

/* It owes three answers and gives one: it is still behind, gets nothing and holds up nobody. */
TEST(one_answer_of_three_is_not_caught_up) { /* R13 */
  int64_t first = 4 * SERVER_TIMEOUT, last = 8 * SERVER_TIMEOUT;
  world(5);
  CHECK_EQ(take_sending_for(first, "a"), REDLOCK_OK);
  CHECK_EQ(take_sending_for(last, "b"), REDLOCK_OK);
  CHECK_EQ(take_sending_for(last, "c"), REDLOCK_OK);
  while (now() < fake_nth(&fake, 0, FAKE_SET, 0)->at + first + 5) run_for(1);
  CHECK_EQ(sets(4), 1);
  CHECK_EQ(take_sending_for(0, "d"), REDLOCK_OK);
  while (now() < fake_nth(&fake, 0, FAKE_SET, 2)->at + last + 5) run_for(1);
  CHECK_EQ(take_sending_for(0, "e"), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(fake_holders(&fake, "a") + fake_holders(&fake, "b") + fake_holders(&fake, "c"), 15);
  CHECK_EQ(fake_holders(&fake, "d"), 4);
  CHECK_EQ(fake_holders(&fake, "e"), 5); /* now it has */
}

/* It answers all the time, and each answer is later than the last. */
TEST(answers_to_others_are_not_the_one_that_is_overdue) { /* R13 */
  char name[] = "a";
  int k;
  world(5);
  for (k = 1; k <= 5; k++, name[0]++)
    CHECK_EQ(take_sending_for(k * (SERVER_TIMEOUT - 10), name), REDLOCK_OK);
  run_for(2 * SERVER_TIMEOUT);
  CHECK_EQ(sets(4), 2);
  CHECK_EQ(take_sending_for(0, "next"), REDLOCK_OK);
  CHECK_EQ(lock.votes[4], REDLOCK_VOTE_TIMEOUT);
  run_for(5 * SERVER_TIMEOUT);
  CHECK_EQ(sets(4), 5);
}

/* The client did not step meanwhile: it hears of that before it asks the others. */
TEST(a_stalled_servers_answer_is_heard_before_a_round) { /* R13 R16 */
  stall(4, 4, 60000);
  fake_thaw(&fake, 4);
  fake_sleep(&fake, 5);
  occupy(0, 1, "next", 60000); /* so that it is needed */
  CHECK_EQ(redlock_acquire(&rl, &lock, "next", 60000, 0), REDLOCK_OK);
}

/* Whatever it carried: no ttl and no age of the connection makes that longer or shorter. */
TEST(a_silent_connection_is_given_up_after_5_to_6_s) { /* R13 */
  static const uint32_t ttl[] = {1000, 5000, 60000, 3600000};
  int64_t least = INT64_MAX, most = 0, began;
  int i;
  for (i = 0; i < 40; i++) {
    world(5);
    fake.seed += (uint64_t)i;
    run_for(i % 3 * 10000);
    freeze(4, 4);
    began = now();
    take_and_release("first", ttl[i % 4]);
    while (fake.server[4].connections == 1 && now() < began + 2 * MOST_SILENCE) {
      use(1);
      run_for(10);
    }
    if (now() - began < least) least = now() - began;
    if (now() - began > most) most = now() - began;
    end();
  }
  CHECK(least >= LEAST_SILENCE && most <= MOST_SILENCE + 20);
  CHECK(most - least > (MOST_SILENCE - LEAST_SILENCE) / 2); /* at random: not all at once */
}

/* When server 3 is given up, which falls silent so much later than server 4. */
static int64_t silence_behind_another(int64_t later_ms, int turn) {
  int64_t began;
  world(5);
  fake.seed += (uint64_t)turn;
  freeze(4, 4);
  take_and_release("first", 60000);
  run_for(later_ms);
  freeze(3, 3);
  began = now();
  take_and_release("second", 60000);
  while (fake.server[3].connections == 1 && now() < began + 2 * MOST_SILENCE) run_for(10);
  return now() - began;
}

/* The other one's time is over long before: who falls silent later has its own. */
TEST(who_falls_silent_seconds_later_is_given_up_seconds_later) { /* R13 */
  int64_t later_ms;
  int turn = 0;
  for (later_ms = MOST_SILENCE - LEAST_SILENCE + SERVER_TIMEOUT; later_ms < 2 * MOST_SILENCE;
       later_ms += 450) {
    int64_t silence_ms = silence_behind_another(later_ms, turn++);
    if (!CHECK(silence_ms >= LEAST_SILENCE && silence_ms <= MOST_SILENCE + 20))
      printf("    %ld ms later: %ld ms\n", (long)later_ms, (long)silence_ms);
  }
}

/* It gives a sign of life now and then: an answer to one of many that are owed. */
TEST(an_answer_to_any_begins_the_silence_anew) { /* R13 */
  int i;
  world(5);
  for (i = 1; i <= 4; i++) CHECK_EQ(take_sending_for(i * 4000, numbered(i)), REDLOCK_OK);
  run_for(17000);
  CHECK_EQ(fake_open_count(&fake), 5);
}

/* What else a server may send, and how often. */
static const struct chatter {
  const char *bytes;
  int gap_ms;
} chatter[] = {
  {PUSH_OF("x"), 10}, /* pushes of another key */
  {PUSH_OF_ALL, 500},
  {">9\r\n", 100},                                        /* a push that never ends */
  {"-", 3000}                                             /* a byte of an answer, and a byte */
};
enum { CHATTER = sizeof chatter / sizeof *chatter };

static int hears_for(int64_t began, int64_t ms) {
  return fake.server[4].connections == 1 && now() < began + ms;
}

TEST(only_an_awaited_answer_is_a_sign_of_life) { /* R13 */
  int i;
  for (i = 0; i < 2 * CHATTER; i++) {
    const struct chatter *c = &chatter[i / 2];
    int64_t began;
    world_waking(5);
    fake_answer(&fake, 4, FAKE_SET, 100000, NULL);
    began = now();
    take_and_release("first", 60000);
    while (hears_for(began, 2 * MOST_SILENCE)) {
      fake_push(&fake, 4, c->bytes);
      run_for(c->gap_ms);
      if (i % 2) (void)redlock_acquire(&rl, &lock, "next", 1000, 0);
    }
    if (!CHECK(now() - began >= LEAST_SILENCE && now() - began <= MOST_SILENCE + 2 * c->gap_ms))
      printf("    %s: %ld ms\n", c->bytes, (long)(now() - began));
  }
}

/* An answer comes each 4 s, and between them all that a busy server has to push. */
TEST(a_slow_server_that_pushes_is_kept) { /* R13 R26 */
  int64_t began;
  int i;
  world_waking(5);
  began = now();
  for (i = 1; i <= 4; i++) CHECK_EQ(take_sending_for(i * 4000, numbered(i)), REDLOCK_OK);
  while (hears_for(began, 20000)) {
    fake_push(&fake, 4, PUSH_OF_ALL);
    run_for(10);
  }
  CHECK_EQ(fake_open_count(&fake), 5);
  CHECK_EQ(fake.server[4].connections, 1);
  for (i = 1; i <= 4; i++) CHECK_EQ(fake_holders(&fake, numbered(i)), 5);
}

/* What comes late on a connection that stood for long is heard: it was paid for (R14). */
TEST(a_late_answer_to_an_extension_costs_no_connection) { /* R13 R14 */
  int i;
  world(5);
  run_for(10000);
  hold("r", 60000);
  run_for(10000);
  SET_SERVERS(0, 4, thaw_at, now() + LEAST_SILENCE - 1);
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), REDLOCK_NO_QUORUM);
  run_for(LEAST_SILENCE);
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), REDLOCK_OK);
  for (i = 0; i < 5; i++) CHECK_EQ(fake.server[i].connections, 1);
}

/* ---- A firewall forgets connections ---------------------------------------------------------- */

static void swallow(int first, int last) {
  for (; first <= last; first++) fake_swallow(&fake, first);
}

/* Whatever the ttl is. */
TEST(connections_that_were_forgotten_cost_6_s) { /* R13 */
  static const uint32_t ttl[] = {1000, 60000, 3600000};
  int i, waits;
  for (i = 0; i < 6; i++) {
    int64_t began;
    world(3);
    take_and_release("r", ttl[i / 2]);
    swallow(0, 2);
    began = now();
    waits = i % 2 ? 20000 : 0;
    while (redlock_acquire(&rl, &lock, "r", ttl[i / 2], (uint32_t)waits) != REDLOCK_OK &&
           now() < began + 60000)
      fake_sleep(&fake, 500);
    CHECK(now() - began <= MOST_SILENCE + 1000);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    end_without_a_key();
  }
}

/* Forgotten before its first extension, or long after. */
TEST(a_kept_lock_outlives_forgotten_connections) { /* R13 */
  int i, all;
  for (i = 0; i < 24; i++) {
    all = i % 2;
    world_with_lock(3, i % 4 < 2 ? 15000 : 60000);
    CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
    run_for(i / 2 * 3000);
    swallow(0, all ? 2 : 0);
    run_for(60000);
    CHECK_EQ(handed_count, 0);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(10000);
    end_without_a_key();
  }
}

/* The SETs are there, and their releases were swallowed: they go first on the next connection. */
TEST(a_release_that_was_swallowed_goes_first) { /* R13 R7 R12 */
  int i;
  world_with_lock(3, 60000);
  run_for(100);
  swallow(0, 2);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  forget_log();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 20000), REDLOCK_OK);
  run_for(MOST_SILENCE);
  for (i = 0; i < 3; i++) {
    const struct fake_command *release = fake_nth(&fake, i, FAKE_RELEASE, 0);
    if (!CHECK(release)) break;
    CHECK_EQ(release->connection, 2);
    CHECK(!sets(i) || release < fake_nth(&fake, i, FAKE_SET, 0));
  }
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  end_without_a_key();
}

/* One server freezes before it has answered the handshake, and the ring is used up behind that: no
   cycle waits for it. */
TEST(a_late_handshake_is_heard) { /* R13 R4 R16 R11 */
  int refused, i;
  for (refused = 0; refused < 2; refused++) {
    prepare(5);
    options.max_ttl_ms = 60000;
    ready();
    freeze(4, 4);
    take_and_release("r", 60000);
    start_timing();
    for (i = 0; i < 99; i++) take_and_release("r", 60000);
    CHECK_EQ(elapsed_ms(), 2 * 99);
    if (refused) fake_answer(&fake, 4, FAKE_INFO, 1, "-ERR no INFO\r\n");
    fake_thaw(&fake, 4);
    run_for(10);
    CHECK_EQ(sets(4), 0);
    CHECK((strstr(redlock_server_error(&rl, 4), "no INFO") != NULL) == refused);
    if (refused) continue;
    CHECK_EQ(fake.server[4].connections, 1);
    hold("s", 60000);
    run_for(10);
    CHECK_EQ(fake_holders(&fake, "s"), 5); /* it has caught up */
  }
}

TEST(bytes_that_cannot_be_sent_end_the_connection) { /* R13: a ring behind */
  int i, slow = 0;
  world(5);
  freeze(4, 4);
  fake.server[4].socket_room = 10;
  for (i = 0; i < 400; i++) {
    int64_t start = now();
    take_and_release("r", 60000);
    CHECK(now() - start <= SERVER_TIMEOUT + 4);
    slow += now() - start > 4;
  }
  CHECK(slow <= 8); /* a ring full of it is waited for once on each new connection, no more */
  fake.server[4].socket_room = SIZE_MAX;
  fake_thaw(&fake, 4);
  run_for(30000);
  forget_log();
  for (i = 0; i < 20; i++) {
    take_and_release("r", 60000);
    run_for(500);
  }
  CHECK(sets(4) > 0); /* it is back */
  end_without_a_key();
}

/* What the old connection owed is void: the new one is waited for like any. */
TEST(a_stalled_servers_next_connection_has_its_time) { /* R13 R14 */
  stall(4, 4, 60000);
  fake.server[4].connect_ms = SERVER_TIMEOUT / 2;
  fake_reset(&fake, 4, FAKE_RST);
  fake_thaw(&fake, 4);
  occupy(0, 1, "next", 60000); /* so that it is needed */
  CHECK_EQ(redlock_acquire(&rl, &lock, "next", 60000, 0), REDLOCK_OK);
}

/* A majority whose connections did not come to stand in time is not waited for again. One that
   stands still is, or whose sockets take nothing: for server_timeout_ms each time, no longer. */
TEST(a_silent_majority_is_waited_for_once_a_round) { /* R6 R10 R13 R14 */
  enum { FROZEN, HANGING, FULL, HOWS };
  int how, i;
  for (how = 0; how < HOWS; how++) {
    prepare(3);
    SET_SERVERS(1, 2, connect_ms, how == HANGING ? FAKE_NEVER : 0);
    ready();
    if (how == FULL) hold("held", 60000);
    if (how == FROZEN) freeze(1, 2);
    if (how == FULL) SET_SERVERS(1, 2, socket_room, 0);
    if (how == FULL) CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
    else CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM);
    run_for(5);
    for (i = 0; i < 3; i++) {
      CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM,
                      how == HANGING ? 1 : SERVER_TIMEOUT + 1);
      CHECK(how == HANGING || elapsed_ms() >= SERVER_TIMEOUT);
    }
    CHECK_EQ(lock.votes[1], how == HANGING ? REDLOCK_VOTE_UNREACHABLE : REDLOCK_VOTE_TIMEOUT);
    CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 60000, 300), REDLOCK_NO_QUORUM,
                    300 + SERVER_TIMEOUT + 1);
  }
}

/* So many of N stand still that the others are no quorum, and are stalled. */
static void stall_majority(int count, redlock_status status) {
  world(count);
  hold("held", 60000);
  freeze(count / 2, count - 1);
  CHECK_EQ(redlock_extend(&rl, &lock, 60000), status);
  run_for(SERVER_TIMEOUT + 2);
}

/* As many as a quorum lacks run on in time. Each server is sent one SET, and only when it has
   answered what it owed. */
TEST(a_majority_that_is_late_is_waited_for) { /* R6 R12 R13 */
  int count, i;
  for (count = 1; count <= 5; count++) {
    stall_majority(count, REDLOCK_NO_QUORUM);
    forget_log();
    fake.server[count / 2].thaw_at = now() + SERVER_TIMEOUT / 2;
    CHECK_WITHIN_MS(redlock_acquire(&rl, &other, "r", 60000, 0), REDLOCK_OK,
                    SERVER_TIMEOUT / 2 + 3);
    CHECK(elapsed_ms() >= SERVER_TIMEOUT / 2);
    CHECK_WITHIN_MS(redlock_extend(&rl, &lock, 60000), REDLOCK_OK, 1);
    for (i = 0; i < count; i++) CHECK_EQ(sets(i), i <= count / 2);
    thaw(0, count - 1);
    run_for(10);
    for (i = 0; i < count; i++) CHECK_EQ(sets(i), i <= count / 2);
    CHECK_EQ(redlock_release(&rl, &other), REDLOCK_OK);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    end_without_a_key();
  }
}

TEST(so_is_one_that_is_to_extend_or_release) { /* R6 R13 */
  int releases;
  for (releases = 0; releases < 2; releases++) {
    stall_majority(3, REDLOCK_NO_QUORUM);
    SET_SERVERS(1, 2, thaw_at, now() + SERVER_TIMEOUT / 2);
    CHECK_EQ(releases ? redlock_release(&rl, &lock) : redlock_extend(&rl, &lock, 60000),
             REDLOCK_OK);
  }
}

/* It stalls while the round is open: that has the rest of its time. */
TEST(a_round_has_its_time_though_a_majority_stalls) { /* R6 R13 */
  world(3);
  SET_SERVERS(1, 2, thaw_at, now() + SERVER_TIMEOUT + 5);
  start_and_send(&other, "other", 60000, 0);
  run_for(10);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_OK);
}

/* R13's reason: what a frozen server has in its socket runs at the thaw. */
TEST(a_frozen_majority_is_sent_no_more) { /* R7 R12 R13 */
  int i;
  stall_majority(3, REDLOCK_NO_QUORUM);
  forget_log();
  for (i = 0; i < 20; i++) {
    CHECK_EQ(redlock_acquire(&rl, &other, "r", 60000, 0), REDLOCK_NO_QUORUM);
    if (i % 5 == 0) CHECK_EQ(redlock_acquire(&rl, &other, "r", 60000, 300), REDLOCK_NO_QUORUM);
  }
  thaw(1, 2);
  run_for(10);
  CHECK_EQ(sets(1) + sets(2), 0);
  CHECK_EQ(fake.server[1].connections, 1);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  end_without_a_key();
}

/* One lock waits for two servers that are silent for long, and one that runs. What the ring has for
   them is not lost. */
TEST(a_wait_for_a_majority_costs_no_room) { /* R7 R11 R13 */
  world_with_lock(3, 60000);
  run_for(100);
  swallow(1, 2);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 60000, 20000), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(MOST_SILENCE);
  end_without_a_key();
}

/* The connection is kept for the longer lock. All of the shorter one's SET fits in its socket, and
   nothing of its release. The SET's reply is the last that is
   outstanding, and comes when the release is older than its ttl. */
static void let_the_release_age(int64_t ttl_ms) {
  world(5);
  freeze(4, 4);
  take_and_release("long", 60000);
  leave_room(4, 79);
  CHECK_EQ(redlock_acquire(&rl, &lock, "short", (uint32_t)ttl_ms, 0), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(2 * ttl_ms);
  CHECK_EQ(sets(4), 0);
}

TEST(a_release_is_not_too_old_when_it_is_all_that_is_outstanding) { /* R7 */
  let_the_release_age(500);
  fake_thaw(&fake, 4);
  fake_pass(&fake, now() + 5);
  CHECK_EQ(sets(4), 2);
  CHECK_EQ(fake_holders(&fake, "short"), 1);
  fake.server[4].socket_room = SIZE_MAX;
  run_for(5);
  end_without_a_key();
}

/* The process is paused before it hears that reply, for longer than the ttl, and the socket takes
   the release a little later still. */
static void sleep_before_the_server_is_heard(struct fake *f, enum fake_hook hook, int server) {
  if (hook != FAKE_RECV || server != 4) return;
  f->on_call = NULL;
  fake_sleep(f, 600);
  fake_thaw(f, 4);
  fake_sleep(f, 5);
}

TEST(a_release_is_not_too_old_when_its_reply_is_heard_late) { /* R7 */
  let_the_release_age(500);
  fake.server[4].socket_room = 0;
  fake.on_call = sleep_before_the_server_is_heard;
  CHECK(redlock_step(&rl) == NULL);
  fake_pass(&fake, now() + 100);
  fake.server[4].socket_room = SIZE_MAX;
  run_for(5);
  CHECK_EQ(fake_count(&fake, 4, FAKE_RELEASE), 2);
  end_without_a_key();
}

/* How long 400 cycles take beside a server that takes 450 bytes at a time. If it answers in time,
   it keeps no key; else it may be given up, and a key stay for its ttl. */
static int64_t cycles_beside_a_small_window(int64_t one_way_ms) {
  int64_t start;
  int i;
  world(3);
  fake.server[2].request_ms = fake.server[2].reply_ms = one_way_ms;
  fake.server[2].socket_room = 450;
  start = now();
  for (i = 0; i < 400; i++) take_and_release("r", 60000);
  start = now() - start;
  fake.server[2].socket_room = SIZE_MAX;
  run_for(10 * one_way_ms);
  if (fake.server[2].connections == 1) CHECK_EQ(fake_live_keys(&fake), 0);
  CHECK(fake.server[2].connections == 1 || 2 * one_way_ms > SERVER_TIMEOUT);
  return start;
}

TEST(a_small_window_holds_up_nobody) { /* R16 */
  int64_t one_way_ms, fast = cycles_beside_a_small_window(0);
  for (one_way_ms = 5; one_way_ms <= 160; one_way_ms *= 2) {
    int64_t took = cycles_beside_a_small_window(one_way_ms);
    printf("    %lld ms one way: %lld ms, %lld with none\n", (long long)one_way_ms, (long long)took,
           (long long)fast);
    if (one_way_ms <= 40) CHECK(took * 10 <= fast * 13);
  }
}

/* Its socket was full until all that was due to it was too old: it owes nothing. */
TEST(a_server_that_was_spared_all_is_asked_again) { /* R13 */
  world(5);
  fake.server[4].socket_room = 0;
  CHECK_EQ(redlock_acquire(&rl, &lock, "first", 200, 0), REDLOCK_OK);
  run_for(SERVER_TIMEOUT + 2);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(500);
  fake.server[4].socket_room = SIZE_MAX;
  occupy(0, 1, "next", 60000); /* so that it is needed */
  CHECK_EQ(redlock_acquire(&rl, &lock, "next", 60000, 0), REDLOCK_OK);
}

/* A lock that waits keeps two connects under way, which hang. That is known by now: the next lock
   does not find it out anew. */
TEST(a_connect_that_is_overdue_is_not_waited_for) { /* R6 R13 R16 */
  prepare(3);
  SET_SERVERS(1, 2, connect_ms, FAKE_NEVER);
  ready();
  start_and_send(&other, "other", 60000, 60000);
  run_for(2 * SERVER_TIMEOUT);
  CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_NO_QUORUM, 1);
  votes_are(&lock, 1, 2, REDLOCK_VOTE_UNREACHABLE);
  CHECK_EQ(other.status, REDLOCK_PENDING);
}

/* Its first answer is overdue, though its socket has become full since. */
TEST(a_socket_that_becomes_full_gives_no_more_time) { /* R13 R16 */
  world(3);
  freeze(2, 2);
  hold("a", 60000);
  run_for(SERVER_TIMEOUT - 10);
  leave_room(2, 20);
  hold("b", 60000);
  run_for(12);
  occupy(0, 0, "r", 60000); /* so that it is needed */
  CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_TAKEN, 1);
  votes_are(&lock, 2, 2, REDLOCK_VOTE_TIMEOUT);
}
