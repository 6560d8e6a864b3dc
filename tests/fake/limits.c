/* limits.c: the edges of what may be asked: names, lists, and far more locks than room. */
#include "fixture.h"

enum { MANY = 500 };

static redlock_lock many[MANY];

static void list_is_refused(const char *list) {
  prepare(8);
  if (!CHECK_EQ(redlock_init(&rl, list, &options), REDLOCK_INVALID)) printf("    %s\n", list);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_INVALID);
}

TEST(one_address_twice_is_refused) { /* R5 */
  list_is_refused("a,b,a");
  list_is_refused("a a:6379 b");
  list_is_refused("a,redis://a/2,b");
  list_is_refused("unix:/x,b,unix:/x");
}

TEST(a_resource_may_hold_any_byte) {
  world(3);
  take_and_release("a \r\n$5\r\nb*\xff\x01", 1000);
  end_without_a_key();
}

static void start_many(void) {
  int i;
  for (i = 0; i < MANY; i++)
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), 60000, 0), REDLOCK_PENDING);
}

static int handed_once_each(void) {
  static int seen[MANY];
  int i;
  memset(seen, 0, sizeof seen);
  for (i = 0; i < handed_count; i++) seen[handed[i] - many]++;
  for (i = 0; i < MANY; i++)
    if (seen[i] != 1) return 0;
  return handed_count == MANY;
}

/* Each was returned once, with that status. */
static void all_came_to(redlock_status status) {
  int i;
  CHECK(handed_once_each());
  for (i = 0; i < MANY; i++) CHECK_EQ(many[i].status, status);
}

/* How long that takes, if the caller does nothing else. */
static int64_t wait_for_all(void) {
  start_timing();
  while (handed_count < MANY && elapsed_ms() < 60000) note(redlock_wait(&rl, 1000));
  return elapsed_ms();
}

/* In turn; and T1 is not before the room is there. */
TEST(hundreds_of_starts_wait_for_room) { /* R11 R1 */
  int i;
  world(5);
  SET_SERVERS(0, 4, reply_ms, 20);
  start_timing();
  start_many();
  while (handed_count < MANY && elapsed_ms() < 60000) {
    redlock_lock *l = redlock_wait(&rl, 1000);
    note(l);
    CHECK(!l || redlock_remaining_ms(&rl, l) == VALID(60000) - 20); /* not what it waited */
  }
  CHECK(elapsed_ms() > 100); /* they did wait */
  all_came_to(REDLOCK_OK);
  for (i = 0; i < MANY; i++) CHECK(handed[i] == &many[i]);
  run_for(20);
  CHECK_EQ(fake_live_keys(&fake), MANY * 5);
  handed_count = 0;
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  run_for(2000);
  CHECK(handed_once_each());
  end_without_a_key();
}

TEST(hundreds_cancelled_in_the_queue_leave_nothing) { /* R11 */
  int i;
  world(3);
  freeze(0, 2);
  start_many();
  run_for(1);
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_cancel(&rl, &many[i]), REDLOCK_OK);
  run_for(10);
  CHECK_EQ(handed_count, 0);
  thaw(0, 2);
  run_for(1000);
  CHECK_EQ(fake_live_keys(&fake), 0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 1000), REDLOCK_OK);
}

TEST(hundreds_on_dead_servers_all_fail) { /* R11 R10 */
  world(3);
  freeze(0, 2);
  start_many();
  (void)wait_for_all();
  all_came_to(REDLOCK_NO_QUORUM);
  thaw(0, 2);
  run_for(1000);
  end_without_a_key();
}

/* Many locks are held, and a gateway forgets connections. Those from the first on are released. */
static void release_many_into(int forgotten, int first) {
  int i;
  world(3);
  start_many();
  (void)wait_for_all();
  all_came_to(REDLOCK_OK);
  run_for(10);
  CHECK_EQ(fake_live_keys(&fake), MANY * 3);
  handed_count = 0;
  for (i = 0; i < forgotten; i++) fake_swallow(&fake, i);
  for (i = first; i < MANY; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
}

/* Far more than the ring holds: the others wait for their turn, and none is lost. */
TEST(releases_that_a_majority_owes_go_on_the_next_connection) { /* R7 R11 R13 */
  int forgotten;
  for (forgotten = 2; forgotten <= 3; forgotten++) {
    release_many_into(forgotten, 0);
    run_for(8000); /* 6 s of silence, and some */
    CHECK(handed_once_each());
    end_without_a_key();
  }
}

TEST(who_blocks_waits_for_no_owed_release) { /* R10 R11 R13 */
  int i, blocking = 8; /* more than have slots of their own */
  release_many_into(3, blocking);
  run_for(4 * SERVER_TIMEOUT);
  CHECK(handed_count < MANY / 2);
  for (i = 0; i < blocking; i++)
    CHECK_WITHIN_MS(redlock_release(&rl, &many[i]), REDLOCK_NO_QUORUM, SERVER_TIMEOUT);
  run_for(8000);
  CHECK_EQ(handed_count, MANY - blocking);
  end();
}

/* What the ring has room for beside what is urgent. */
enum { RINGFUL = REDLOCK_MAX_COMMANDS - 2 };

/* As many locks are held as the ring takes releases. */
static void hold_a_ringful(void) {
  int i;
  world(3);
  for (i = 0; i < RINGFUL; i++)
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), 60000, 0), REDLOCK_OK);
  run_for(10);
}

/* They are released, and a majority says nothing to that. */
static void release_a_ringful(void) {
  int i;
  start_timing();
  for (i = 0; i < RINGFUL; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  run_for(SERVER_TIMEOUT + 2);
  CHECK_EQ(handed_count, RINGFUL);
  CHECK_EQ(many[0].status, REDLOCK_NO_QUORUM);
}

/* What befalls a majority that owes the answers to a ring full of releases. */
enum { FORGOTTEN, FROZEN, DUMB, FATES };

static void befall_the_majority(int fate) {
  int i;
  if (fate == FROZEN) freeze(1, 2);
  for (i = 1; i < 3; i++) {
    if (fate == FORGOTTEN) fake_swallow(&fake, i);
    if (fate == DUMB) fake_answer(&fake, i, FAKE_ANY, -1, NULL); /* but for handshakes */
  }
}

/* It has the time of one connection, which brings no answer, and no other start waits for that
   again. */
TEST(a_start_waits_behind_owed_releases_once) { /* R7 R11 R13 */
  int fate, i;
  for (fate = 0; fate < FATES; fate++) {
    redlock_status status = fate == FORGOTTEN ? REDLOCK_OK : REDLOCK_NO_QUORUM;
    hold_a_ringful();
    befall_the_majority(fate);
    release_a_ringful();
    CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_PENDING);
    CHECK_EQ(finish(&lock), status);
    if (!CHECK(elapsed_ms() >= LEAST_SILENCE && elapsed_ms() <= MOST_SILENCE + 3 * SERVER_TIMEOUT))
      printf("    fate %d: %ld ms\n", fate, (long)elapsed_ms());
    for (i = 0; i < 5; i++) {
      CHECK_EQ(redlock_start_acquire(&rl, &other, numbered(i), 60000, 0), REDLOCK_PENDING);
      CHECK_WITHIN_MS(finish(&other), status, 2 * SERVER_TIMEOUT);
    }
    if (fate == FORGOTTEN) CHECK_EQ(fake_live_keys(&fake), 3 * (1 + i));
  }
}

static int given_up(int server) { return fake.server[server].connections > 1; }

/* Two of three owe the answers to a ring full of releases, and the socket of the third is full of
   its part of one. A start that can wait costs that one no connection before its time, and no
   release is lost: its next connection carries them. */
TEST(a_full_socket_behind_owed_releases_has_its_time) { /* R7 R11 R13 */
  int server, i;
  for (server = 0; server < 3; server++) {
    hold_a_ringful();
    freeze(0, 2);
    leave_room(server, 20);
    release_a_ringful();
    CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_PENDING);
    while (!given_up(server) && elapsed_ms() < 2 * MOST_SILENCE) run_for(1);
    CHECK(elapsed_ms() >= LEAST_SILENCE && elapsed_ms() <= MOST_SILENCE + 1);
    while (!(given_up(0) && given_up(1) && given_up(2)) && elapsed_ms() < 2 * MOST_SILENCE)
      run_for(1);
    fake.server[server].socket_room = SIZE_MAX;
    thaw(0, 2);
    CHECK_EQ(finish(&lock), REDLOCK_OK);
    run_for(10);
    CHECK_EQ(fake_live_keys(&fake), 3); /* those of r */
    for (i = 0; i < RINGFUL; i++) {
      const struct fake_command *release = fake_nth(&fake, server, FAKE_RELEASE, i);
      if (!CHECK(release && release->connection == 2)) break;
    }
  }
}

/* Nor where the sockets of a majority have taken no byte of any: it owes them as well. */
TEST(sockets_that_take_no_byte_of_owed_releases_have_their_time) { /* R7 R11 R13 */
  int server;
  hold_a_ringful();
  freeze(0, 2);
  for (server = 0; server < 2; server++) leave_room(server, 0);
  release_a_ringful();
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_PENDING);
  run_for(LEAST_SILENCE - 1);
  CHECK(!given_up(0) && !given_up(1));
  for (server = 0; server < 2; server++) fake.server[server].socket_room = SIZE_MAX;
  thaw(0, 2);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  run_for(10);
  CHECK_EQ(fake_live_keys(&fake), 3); /* those of r */
}

TEST(a_held_lock_needs_no_room_of_others) { /* R7 R10: the place of its release is reserved */
  world_with_lock(3, 60000);
  start_many();
  CHECK_WITHIN_MS(redlock_extend(&rl, &lock, 60000), REDLOCK_OK, 200);
  CHECK_WITHIN_MS(redlock_release(&rl, &lock), REDLOCK_OK, 200);
  run_for(2000);
  CHECK(!fake_key_at(&fake, 0, "r"));
}

/* Hundreds of kept locks have to be extended at once, and the last of them is kept no more. */
TEST(blocking_calls_come_behind_kept_locks) { /* R11 */
  int i, count;
  world(3);
  CHECK_EQ(redlock_acquire(&rl, &other, "other", 60000, 0), REDLOCK_OK);
  start_many();
  run_for(2000);
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_keep(&rl, &many[i], 0), REDLOCK_OK);
  fake_sleep(&fake, 30000);
  CHECK(redlock_step(&rl) == NULL);
  CHECK_EQ(redlock_cancel(&rl, &many[MANY - 1]), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &other, 60000), REDLOCK_OK);
  count = fake_count(&fake, 0, FAKE_EXTEND);
  CHECK_EQ(count, MANY);
  CHECK_EQ(fake_nth(&fake, 0, FAKE_EXTEND, count - 1)->key.byte[0], 'o');
}

/* It was found to have expired while nobody took the grants that keep all the room. */
TEST(a_release_of_an_expired_lock_does_not_wait) { /* R10 */
  world_with_lock(3, 200);
  start_many();
  occupy(0, 2, "busy", 60000);
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", 1000, 50), REDLOCK_TAKEN);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 1000), REDLOCK_PENDING);
  fake_sleep(&fake, 300);
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", 1000, 0), REDLOCK_TAKEN);
  fake_sleep(&fake, 100);
  fail_calls(FAKE_ENTROPY, 1, LONG_MAX); /* this one ends in the call that it begins in ... */
  CHECK_EQ(redlock_acquire(&rl, &other, "free", 1000, 0), REDLOCK_SYSTEM);
  fake.fail_hook = FAKE_ANY; /* ... when all is done that can be, and the clock has no say */
  CHECK_WITHIN_MS(redlock_release(&rl, &lock), REDLOCK_EXPIRED, 1);
}

/* While a blocking call goes on, grants pile up in the queue; then they are all cancelled, some
   granted, some under way, some in line. Or the ring is full of rounds that one slow server still
   has to decide. */
TEST(cancelled_grants_are_released_though_the_ring_was_full) { /* R7 R11 */
  int slow, i;
  for (slow = 0; slow < 2; slow++) {
    world(3);
    if (slow)
      for (i = MANY - 40; i < MANY; i++) occupy(1, 1, numbered(i), 1000);
    hold("r", 60000);
    if (slow) fake.server[2].reply_ms = 40;
    start_many();
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    for (i = 0; i < MANY; i++) CHECK_EQ(redlock_cancel(&rl, &many[i]), REDLOCK_OK);
    run_for(2000);
    CHECK_EQ(handed_count, 0);
    CHECK_EQ(fake_live_keys(&fake), 0);
  }
}

/* Grants that nobody can take hold all the room while a blocking call needs some; then they are
   cancelled. What was borrowed from them is nobody's any more: others go on. */
TEST(cancelled_grants_leave_room_for_others) { /* R7 R11 */
  int i;
  world(3);
  start_many();
  occupy(0, 2, "busy", 60000);
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", 60000, 500), REDLOCK_TAKEN);
  hold("r", 60000);
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_cancel(&rl, &many[i]), REDLOCK_OK);
  run_for(100);
  CHECK_EQ(fake_live_keys(&fake), 6); /* those of r and of the busy one */
  start_many();
  run_for(2000);
  all_came_to(REDLOCK_OK);
}

TEST(grants_that_close_withdraws_are_released) { /* R7 R11 */
  world_with_lock(3, 60000);
  start_many();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  redlock_close(&rl);
  end_without_a_key();
}

/* Far more than the ring has room for, on servers that are well. */
TEST(started_releases_leave_though_they_are_cancelled_or_the_client_closed) { /* R21 R11 */
  int i, closes;
  for (closes = 0; closes < 2; closes++) {
    world(3);
    start_many();
    run_for(2000);
    for (i = 0; i < MANY; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
    for (i = 0; i < MANY && !closes; i++) CHECK_EQ(redlock_cancel(&rl, &many[i]), REDLOCK_OK);
    if (closes) redlock_close(&rl);
    else run_for(100);
    end_without_a_key();
  }
}

/* The process stands still until hundreds of kept locks are over. A blocking call for another lock
   finds that. When its first attempt has failed the releases of all leave, however many, while it
   backs off. */
TEST(hundreds_of_lost_locks_are_released_at_once) { /* R19 R11 R27 */
  int64_t start;
  int i;
  prepare(3);
  options.retry_delay_min_ms = 500;
  options.max_attempts = 2;
  ready();
  start_many();
  run_for(2000);
  for (i = 0; i < MANY; i++) CHECK_EQ(redlock_keep(&rl, &many[i], 0), REDLOCK_OK);
  fake_sleep(&fake, VALID(60000)); /* over for us, not yet for the servers */
  occupy(0, 2, "busy", 60000);
  SET_SERVERS(0, 2, reply_ms, 40);
  start = now();
  CHECK_EQ(redlock_acquire(&rl, &other, "busy", 60000, 2000), REDLOCK_TAKEN);
  for (i = 0; i < MANY; i++) CHECK(!fake_key_at(&fake, 0, numbered(i)));
  for (i = 0; i < 3 * MANY; i++)
    if (!CHECK(fake_nth(&fake, FAKE_ANY, FAKE_RELEASE, i)->at <= start + 40)) break;
}

/* One server has a part of a command when the ring is full: the rest of it follows in any case. */
TEST(a_command_that_left_in_part_stays_in_the_ring) { /* R11 R12 */
  int i;
  world(3);
  fake.server[0].thaw_at = now() + SERVER_TIMEOUT - 10;
  fake.server[0].socket_room = 10;
  for (i = 0; i < REDLOCK_MAX_COMMANDS; i++) {
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
    (void)redlock_release(&rl, &lock);
    if (now() >= fake.server[0].thaw_at) fake.server[0].socket_room = SIZE_MAX;
  }
  fake.server[0].socket_room = SIZE_MAX;
  run_for(1500);
  CHECK_EQ(fake_count(&fake, 0, FAKE_OTHER), 0);
  end_without_a_key();
}

TEST(hundreds_are_granted_beside_a_stalled_server) { /* R11 R13 R16 */
  int i;
  world(5);
  freeze(2, 2);
  start_many();
  CHECK(wait_for_all() < 1000);
  all_came_to(REDLOCK_OK);
  for (i = 0; i < MANY; i++) (void)redlock_start_release(&rl, &many[i]);
  run_for(5000);
  thaw(2, 2);
  run_for(20000);
  end_without_a_key();
}
