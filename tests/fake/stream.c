/* stream.c: replies split, merged, cut, followed by garbage; sends cut short. */
#include "fixture.h"

/* One life of a lock; what an unlucky minority does must not show (R16). */
static void life(void) {
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &other, "r", 1000, 0), REDLOCK_TAKEN);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* In two pieces, or each byte by itself. */
TEST(replies_split_at_every_byte) { /* R8 */
  size_t at;
  for (at = 0; at < 12; at++) {
    world(3);
    SET_SERVERS(0, 2, gap_ms, at == 0);
    SET_SERVERS(0, 2, split_at, at);
    SET_SERVERS(0, 2, split_ms, 3);
    life();
  }
}

TEST(tiny_reads_and_writes_are_enough) { /* R8: short writes */
  int i;
  prepare(3);
  options.password = "secret";
  for (i = 0; i < 3; i++) {
    fake.server[i].send_chunk = fake.server[i].recv_chunk = 1;
    fake.server[i].store.password = "secret";
  }
  ready();
  life();
}

/* So many connections of each of these break at that byte. */
static void cut(int first, int last, int cuts, int inward, size_t at, enum fake_end how) {
  for (; first <= last; first++) {
    if (inward) fake.server[first].cut_in = at;
    else fake.server[first].cut_out = at;
    fake.server[first].cut_end = how;
    fake.server[first].cuts = cuts;
  }
}

static void cut_minority(int inward, size_t at, enum fake_end how) {
  prepare(5);
  cut(3, 4, 2, inward, at, how);
  ready();
  life();
  run_for(1500);
  CHECK_EQ(fake_live_keys(&fake), 0);
  life();
}

/* Of what is sent and of what is answered, so many bytes. */
static void cut_at_every_byte(void (*one)(int, size_t, enum fake_end), size_t sent,
                              size_t answered) {
  size_t at;
  for (at = 0; at < sent; at++) {
    one(1, at, FAKE_RST);
    one(1, at, FAKE_FIN);
  }
  for (at = 0; at < answered; at++) {
    one(0, at, FAKE_RST);
    one(0, at, FAKE_FIN);
  }
}

TEST(a_minority_cut_at_every_byte) { cut_at_every_byte(cut_minority, 160, 24); } /* R12 R16 */

/* All servers cut: the outcome is open, but it must be told, and nothing may outlive its ttl. */
static void cut_all(int inward, size_t at, enum fake_end how) {
  redlock_status got;
  prepare(5);
  cut(0, 4, 1, inward, at, how);
  ready();
  got = redlock_acquire(&rl, &lock, "r", 1000, 0);
  CHECK(got == REDLOCK_OK || got == REDLOCK_NO_QUORUM);
  CHECK((redlock_remaining_ms(&rl, &lock) > 0) == (got == REDLOCK_OK));
  if (got == REDLOCK_OK) CHECK(fake_holders(&fake, "r") >= 3);
  run_for(1100);
  CHECK_EQ(fake_live_keys(&fake), 0);
  CHECK_EQ(redlock_acquire(&rl, &other, "r", 1000, 5000), REDLOCK_OK);
}

TEST(all_servers_cut_at_every_byte_are_told) { cut_at_every_byte(cut_all, 100, 8); } /* R12 */

static const char *const garbage[] = {
    "HTTP/1.1 400 Bad Request\r\n\r\n", "\r\n", "+", "+OK", "+OK\n", "+OKAY\r\n", "+ok\r\n",
    "$5\r\nhello\r\n", "$-2\r\n", "$99999999999999999999\r\n", ":\r\n", ":1x\r\n", ":-1\r\n",
    "*1\r\n+OK\r\n", "*-1\r\n", "$0\r\n\r\n", "-\r\n", "\x16\x03\x01", "_\r\n", "#t\r\n",
    ":1\r\n", ":0\r\n", "+QUEUED\r\n", "+K\r\n", "+OOK\r\n", "$2\r\nOK\r\n"};

TEST(only_plus_ok_is_a_yes_to_set) { /* R4 R8 R16 */
  size_t g;
  for (g = 0; g < sizeof garbage / sizeof garbage[0]; g++) {
    redlock_status got;
    world(3);
    occupy(0, 0, "r", 300);
    fake_answer(&fake, 2, FAKE_SET, 1, garbage[g]);
    got = redlock_acquire(&rl, &lock, "r", 1000, 0);
    if (!CHECK(got != REDLOCK_OK)) printf("    %s\n", garbage[g]);
    CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
    run_for(1500);
    life();
  }
}

TEST(garbage_from_a_minority_does_not_show) { /* R16 */
  size_t g;
  for (g = 0; g < sizeof garbage / sizeof garbage[0]; g++) {
    prepare(5);
    servers_answer(0, 1, FAKE_ANY, -1, garbage[g]);
    ready();
    start_timing();
    life();
    CHECK_EQ(elapsed_ms(), 4);
  }
}

TEST(a_reply_too_many_ends_the_connection) { /* R8 */
  world(3);
  fake_answer(&fake, 1, FAKE_SET, 1, "+OK\r\n+OK\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  run_for(100);
  CHECK(redlock_server_error(&rl, 1)[0] != '\0');
  occupy(1, 2, "s", 10000);
  CHECK(redlock_acquire(&rl, &other, "s", 1000, 0) != REDLOCK_OK); /* it was no vote for this */
  CHECK(fake.server[1].connections >= 2);
}

TEST(a_reply_to_nothing_is_no_vote) { /* R8 R4 */
  int i;
  world(3);
  occupy(0, 2, "r", 10000);
  run_for(200);
  for (i = 0; i < 3; i++) /* out of nowhere, on the connection that stands */
    fake_stream_add(&fake.connection[fake.client[0].connection[i]].out, "+OK\r\n", 5, now());
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_TAKEN);
}

/* Server 0 answers an extension, or all that it owes, when a part of the last command has left. */
static int answers_a_part(int owes_more) {
  redlock_lock *extended = owes_more ? &other : &lock;
  world(3);
  hold("r", 60000);
  if (owes_more) CHECK_EQ(redlock_acquire(&rl, &other, "o", 60000, 0), REDLOCK_OK);
  run_for(10);
  freeze(0, 0);
  if (!owes_more) leave_room(0, 300);
  CHECK_EQ(redlock_start_extend(&rl, extended, 90000), REDLOCK_PENDING);
  CHECK_EQ(finish(extended), REDLOCK_OK);
  if (owes_more) {
    run_for(SERVER_TIMEOUT + 5);
    leave_room(0, 300);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    fake_push(&fake, 0, ":1\r\n");
  }
  fake_push(&fake, 0, ":1\r\n");
  run_for(5);
  return strcmp(redlock_server_error(&rl, 0), "not an answer of Redis") == 0;
}

/* Else the next command would begin where that one was cut. */
TEST(an_answer_to_a_part_of_a_command_ends_the_connection) { /* R8 R10 R16 */
  int owes_more;
  for (owes_more = 0; owes_more < 2; owes_more++) {
    if (!CHECK(answers_a_part(owes_more))) return;
    memset(&other, 0, sizeof other);
    CHECK_EQ(redlock_acquire(&rl, &other, "x", 1000, 0), REDLOCK_OK);
  }
}

TEST(a_script_says_yes_with_any_positive_number) { /* R4 */
  world_with_lock(3, 1000);
  fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, 3, ":17\r\n");
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_OK);
  fake_answer(&fake, FAKE_ANY, FAKE_EXTEND, 3, "+OK\r\n"); /* that is SET's word */
  CHECK_EQ(redlock_extend(&rl, &lock, 1000), REDLOCK_NO_QUORUM);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}
