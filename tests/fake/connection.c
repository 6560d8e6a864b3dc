/* connection.c: connections that are refused, lost, black-holed and made again. */
#include "fixture.h"

static redlock_lock many[64];

static void use_for(int64_t ms) {
  int64_t limit = now() + ms;
  while (now() < limit) {
    take_and_release("r", 1000);
    run_for(50);
  }
}

/* Its servers refuse, are black holes, or no descriptor is to be had for them (EMFILE). */
TEST(a_minority_that_cannot_be_reached_costs_nothing) { /* R14 R16 */
  int how;
  for (how = 0; how < 3; how++) {
    prepare(5);
    fake.server[0].refuses = fake.server[3].refuses = how == 0;
    fake.server[0].connect_ms = fake.server[3].connect_ms = how == 1 ? FAKE_NEVER : 0;
    fake.server[0].open_fails = fake.server[3].open_fails = how == 2;
    ready();
    CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK, 1);
    if (how != 1) CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
    if (how != 1) CHECK(redlock_server_error(&rl, 0)[0] != '\0');
  }
}

TEST(black_holes_end_at_the_timeout) { /* R10 R14 */
  prepare(5);
  SET_SERVERS(0, 4, connect_ms, FAKE_NEVER);
  ready();
  CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM, SERVER_TIMEOUT);
  CHECK(fake_open_count(&fake) <= 5);
}

/* The gaps between the connections that were opened to one server. */
static int64_t open_gap(int server, int k) {
  int64_t last = -1;
  size_t i;
  for (i = 0; i < fake.connections; i++) {
    if (fake.connection[i].server != server) continue;
    if (k-- == 0) return fake.connection[i].usable_at - last;
    last = fake.connection[i].usable_at;
  }
  return -1;
}

TEST(backoff_is_random_and_grows_and_is_bounded) { /* R14 */
  int opens, k, early = 0;
  int64_t most = 0, least = 20000; /* of the long ones */
  prepare(3);
  fake.server[2].refuses = 1;
  ready();
  use_for(400000);
  opens = fake.server[2].connections;
  CHECK(opens > 300 && opens <= 1200);
  for (k = 1; k < opens; k++) {
    if (open_gap(2, k) > most) most = open_gap(2, k);
    early += open_gap(2, k) < 60;
    if (k > 20 && open_gap(2, k) < least) least = open_gap(2, k);
  }
  CHECK(early <= 6); /* soon at first, then not any more */
  CHECK(least >= 500 && most > least + 300 && most <= 20000); /* also after hundreds of failures */
  fake.server[2].refuses = 0;
  use_for(most * 3);
  forget_log();
  use_for(200);
  CHECK(sets(2) > 0); /* it is back */
}

/* However long it takes, it is given up when it is late, and not when a step comes by. */
TEST(a_slow_connect_has_its_whole_time) { /* R14 R27 */
  prepare(3);
  options.server_timeout_ms = 5000;
  fake.server[0].connect_ms = FAKE_NEVER;
  fake.server[1].connect_ms = 3000;
  ready();
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_PENDING);
  take_all(&rl);
  fake_sleep(&fake, 2500);
  take_all(&rl);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(fake.server[1].connections, 1);
}

TEST(an_acquire_without_a_descriptor_fails) { /* R14 R23 */
  prepare(5);
  SET_SERVERS(0, 4, open_fails, 1);
  ready();
  CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM, SERVER_TIMEOUT);
  SET_SERVERS(0, 4, open_fails, 0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 5000), REDLOCK_OK);
}

enum { HANDSHAKE = 140 }; /* bytes ahead of the first SET */

TEST(a_set_goes_once_whatever_byte_was_the_last) { /* R12 */
  size_t k;
  for (k = 0; k < 130 + HANDSHAKE; k++) {
    const struct fake_command *set;
    prepare(3);
    fake.server[2].cut_in = k;
    fake.server[2].cuts = 1;
    ready_and_hold(1000);
    run_for(45);
    set = fake_nth(&fake, 2, FAKE_SET, 0);
    CHECK(k <= HANDSHAKE || !set || set->connection == 1); /* some byte of it had left there */
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(1500);
    end_without_a_key();
  }
}

TEST(an_old_release_is_not_sent_any_more) { /* R12 (a): younger than its ttl */
  world_with_lock(3, 1000);
  run_for(2);
  take_away(2, 2);
  run_for(1);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(3000);
  fake.server[2].refuses = 0;
  use_for(40000);
  CHECK_EQ(fake_count(&fake, 2, FAKE_RELEASE), sets(2) - 1);
}

/* A server connects when the others have granted the lock: what is decided is not sent. */
TEST(a_slow_server_gets_no_set_of_a_round_that_is_over) { /* R12 */
  int released;
  for (released = 0; released < 2; released++) {
    prepare(3);
    fake.server[2].connect_ms = SERVER_TIMEOUT - 20;
    ready_and_hold(60000);
    if (released) CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(2000);
    CHECK_EQ(fake_count(&fake, 2, FAKE_ANY), 0); /* nor a release: it has nothing */
    CHECK_EQ(fake_holders(&fake, "r"), released ? 0 : 2);
  }
}

/* Two are away, and are not to be tried again yet. */
TEST(a_round_that_is_lost_as_it_begins_asks_nobody) { /* R6 R14 */
  world(3);
  take_away(1, 2);
  while (fake.calls[FAKE_OPEN] < 16) {
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    run_for(1);
  }
  run_for(1);
  forget_log();
  CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM, 0);
  CHECK_EQ(sets(0), 0);
}

/* They have got the SET, and are back at once: their answers are void all the same. */
TEST(a_majority_that_is_lost_decides_at_once) { /* R6 R12 R23 */
  world(3);
  freeze(2, 2);
  start_and_send(&lock, "r", 1000, 0);
  reset(0, 1, FAKE_RST);
  CHECK_IN_MS(finish(&lock), REDLOCK_NO_QUORUM, 0);
  votes_are(&lock, 0, 1, REDLOCK_VOTE_UNREACHABLE);
  CHECK_EQ(fake_open_count(&fake), 3);
}

TEST(a_connection_that_ends_while_idle_is_made_again) { /* R12 R14 R16 */
  world(3);
  restart(0, 1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 5000), REDLOCK_OK);
  reset(0, 1, FAKE_FIN); /* an idle timeout of the server's */
  run_for(1000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 2000), REDLOCK_OK);
}

/* It was opened for a command that grew old before it stood; the server may have closed it. */
TEST(an_unused_connection_serves_or_is_replaced) { /* R14 R16 */
  int closed;
  for (closed = 0; closed < 2; closed++) {
    world(1);
    fake.server[0].connect_ms = SERVER_TIMEOUT + 10;
    fake_reset(&fake, 0, FAKE_RST);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    run_for(5000);
    CHECK_EQ(fake.server[0].connections, 2);
    fake.server[0].connect_ms = 0;
    if (closed) fake_reset(&fake, 0, FAKE_FIN);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, closed ? 100 : 0), REDLOCK_OK);
    CHECK_EQ(fake.server[0].connections, 2 + closed);
  }
}

/* It is the first, and the server has closed it as it does with any that is idle: no SET goes
   there, and the next connection is made at once. */
TEST(an_unused_connection_that_was_closed_is_no_failure) { /* R14 R16 */
  prepare(1);
  fake.server[0].connect_ms = SERVER_TIMEOUT + 10;
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  run_for(5000);
  fake.server[0].connect_ms = 0;
  fake_reset(&fake, 0, FAKE_FIN);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(fake.server[0].connections, 2);
}

TEST(late_replies_of_many_commands_are_dropped) { /* R8 R13 */
  int i;
  world(5);
  fake.server[4].reply_ms = 45;
  for (i = 0; i < 500; i++) take_and_release("r", 1000); /* owing much is no reason to close */
  occupy(2, 4, "busy", 10000); /* while OKs for other locks are on their way */
  CHECK_EQ(redlock_acquire(&rl, &lock, "busy", 1000, 0), REDLOCK_TAKEN);
  run_for(200);
  CHECK_EQ(fake.server[4].connections, 1);
  CHECK_EQ(fake_live_keys(&fake), 3);
}

TEST(many_locks_share_one_send_for_each_server) {
  int i;
  world(3);
  for (i = 0; i < 10; i++)
    CHECK_EQ(redlock_start_acquire(&rl, &many[i], numbered(i), 1000, 0), REDLOCK_PENDING);
  run_for(5);
  CHECK_EQ(handed_count, 10);
  CHECK(fake.calls[FAKE_SEND] <= 2 * 3); /* two when the ring wraps */
  for (i = 0; i < 10; i++) CHECK_EQ(many[i].status, REDLOCK_OK);
}

static int sends_fail;

static int send_in_vain(void *ctx, int server, const void *data, size_t size) {
  return sends_fail && server < 2 ? -1 : fake_send(ctx, server, data, size);
}

/* Nothing else is wrong with these connections: no poll or recv says that they are broken. */
TEST(a_send_that_fails_ends_the_connection) { /* R14 R16 */
  static redlock_io io;
  prepare(3);
  io = *options.io;
  io.send = send_in_vain;
  options.io = &io;
  sends_fail = 0;
  ready_and_warm();
  fake.most_calls = 10000;
  sends_fail = 1;
  CHECK_WITHIN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM, 1);
  votes_are(&lock, 0, 1, REDLOCK_VOTE_UNREACHABLE);
  sends_fail = 0;
  run_for(1000);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
}
