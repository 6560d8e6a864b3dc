/* fencing.c: every acquire yields a token, over a quorum and in the same round trip (R25). */
#include "fixture.h"

enum { MAX_TTL = 8000, QUARTER_US = MAX_TTL * 250, MS = 1000, SECOND_US = 1000000 };

static void prepare_fenced(int count) {
  prepare(count);
  options.max_ttl_ms = MAX_TTL;
  options.fencing = 1;
}

/* All servers are connected, and their clocks known. */
static void fenced(int count) {
  prepare_fenced(count);
  ready_and_warm();
}

static int64_t wall_us(int server) { return fake_wall_us(&fake.server[server], now()); }

static const struct fake_command *set(int server, int k) {
  return fake_nth(&fake, server, FAKE_SET, k);
}

static redlock_status take(const char *resource) {
  return redlock_acquire(&rl, &lock, resource, 1000, 0);
}

/* The resource's last token, as servers first to last have it. */
static void count(int first, int last, const char *name, int64_t token) {
  char text[24];
  int i;
  snprintf(text, sizeof text, "%lld", (long long)token);
  for (i = first; i <= last; i++) fake_put(&fake, i, name, text, MAX_TTL);
}

/* ---- A grant and its token ------------------------------------------------------------------- */

TEST(a_grant_has_a_token) { /* R25 */
  char text[24];
  int i;
  prepare_fenced(3);
  ready();
  CHECK_EQ(take("r"), REDLOCK_OK);
  CHECK(llabs((int64_t)lock.token - wall_us(0) - QUARTER_US) < 5 * MS);
  run_for(5);
  snprintf(text, sizeof text, "%llu", (unsigned long long)lock.token);
  CHECK(keys_are(0, 2, "r:fence", text)); /* all 53 bits of it */
  for (i = 0; i < 3; i++) {
    CHECK(fake_pttl(&fake, i, "r:fence") > MAX_TTL - 20);
    CHECK(fake_pttl(&fake, i, "r") <= 1000);
  }
}

/* A hundred grants within one millisecond of our clock, and a millisecond's saw teeth between. */
TEST(tokens_rise_in_one_round_trip_each) { /* R25 */
  int i, reply_ms;
  for (reply_ms = 0; reply_ms < 2; reply_ms++) {
    uint64_t last = 0;
    fenced(3);
    SET_SERVERS(0, 2, reply_ms, reply_ms);
    for (i = 0; i < 100; i++) {
      CHECK_EQ(take("r"), REDLOCK_OK);
      CHECK(lock.token > last);
      last = lock.token;
      CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    }
    CHECK_EQ(sets(0), 100);
  }
}

/* The answers to the round that only asks for them. */
TEST(a_clock_that_was_not_known_is_not_off) { /* R25 R15 */
  int i;
  prepare_fenced(5);
  ready();
  start_and_send(&lock, "r", 1000, 0);
  run_for(2);
  CHECK_EQ(sets(0), 2);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
  for (i = 0; i < 5; i++) CHECK_EQ(redlock_server_error(&rl, i)[0], 0);
}

TEST(the_first_of_a_client_takes_two_rounds) { /* R25 */
  prepare_fenced(5);
  ready();
  start_timing();
  CHECK_EQ(take("r"), REDLOCK_OK); /* one attempt, wait_ms is 0 */
  CHECK_EQ(elapsed_ms(), 3);      /* the handshake, the probe, the grant: it rests nowhere */
  CHECK_EQ(set(0, 0)->token, 0);
  CHECK_EQ(sets(0), 2);
  CHECK(memcmp(&set(0, 0)->value, &set(0, 1)->value, sizeof(struct fake_text)) != 0); /* R3 */
  CHECK(strcmp(redlock_server_error(&rl, 0), "") == 0);
}

/* What a minority of five does in the worlds of the next tests. */
enum minority { OCCUPIED, DEAD, FROZEN, SLOW_AND_OCCUPIED, SLOW_AND_DEAD, MINORITIES };

static void put_minority(enum minority how, int first, int second) {
  if (how == OCCUPIED || how == SLOW_AND_OCCUPIED) occupy(first, first, "r", 60000);
  if (how == DEAD || how == SLOW_AND_DEAD) fake.server[first].refuses = 1;
  if (how == FROZEN) freeze(first, first);
  if (how >= SLOW_AND_OCCUPIED) fake.server[second].reply_ms = 4;
}

/* A client that knows no clock yet asks for those of a quorum, however soon others answer. */
static void a_first_call(enum minority how, int first, int second, int third_ms) {
  int k;
  prepare_fenced(5);
  put_minority(how, first, second);
  for (k = 0; third_ms && k < 5; k++)
    if (k != first && k != second) fake.server[k].reply_ms = third_ms * (k + 1);
  ready();
  if (!CHECK_EQ(take("r"), REDLOCK_OK))
    printf("    %d, servers %d and %d, %d\n", how, first, second, third_ms);
}

TEST(a_minority_does_not_decide_a_first_call) { /* R16 R23 R25 */
  int how, first, second, third_ms;
  for (how = 0; how < MINORITIES; how++)
    for (first = 0; first < 5; first++)
      for (second = 0; second < 5; second++)
        for (third_ms = 0; third_ms < 4 && first != second; third_ms += 3)
          a_first_call((enum minority)how, first, second, third_ms);
}

/* More than a minority have it taken: nothing is waited for then. */
TEST(a_majority_does) { /* R6 R23 R25 */
  prepare_fenced(5);
  occupy(0, 2, "r", 60000);
  SET_SERVERS(3, 4, reply_ms, 40);
  ready();
  CHECK_WITHIN_MS(take("r"), REDLOCK_TAKEN, 6);
}

TEST(extension_and_release_leave_it_alone) { /* R25 */
  uint64_t token;
  fenced(3);
  CHECK_EQ(take("r"), REDLOCK_OK);
  token = lock.token;
  CHECK_EQ(redlock_extend(&rl, &lock, 2000), REDLOCK_OK);
  CHECK_EQ(lock.token, token);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(fake_holders(&fake, "r:fence"), 3);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
}

/* ---- What counts as a yes -------------------------------------------------------------------- */

/* Servers 1 and 2 of three answer so; the vote, and the lock is not taken. */
static redlock_vote vote_for(const char *answer) {
  redlock_status status;
  fenced(3);
  servers_answer(1, 2, FAKE_SET, -1, answer);
  status = take("r");
  CHECK(status == REDLOCK_TAKEN || status == REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.token, 0);
  run_for(5);
  return lock.votes[1];
}

/* Long numbers, whatever their first digits, and whatever they are modulo 2^32 or 2^64. */
TEST(only_a_number_below_the_token_is_a_yes) { /* R4 R25 */
  static const struct { const char *answer; redlock_vote vote; } row[] = {
    {"$-1\r\n", REDLOCK_VOTE_TAKEN},
    {":0\r\n", REDLOCK_VOTE_ERROR},
    {":-0\r\n", REDLOCK_VOTE_ERROR},
    {"+OK\r\n", REDLOCK_VOTE_ERROR},
    {"$1\r\n1\r\n", REDLOCK_VOTE_TAKEN}, /* an age */
    {"-OOM\r\n", REDLOCK_VOTE_ERROR},
    {"*1\r\n:5\r\n", REDLOCK_VOTE_ERROR}, /* an aggregate that ends in one */
    {"%1\r\n$1\r\na\r\n:5\r\n", REDLOCK_VOTE_ERROR},
    {":9000000000000000\r\n", REDLOCK_VOTE_LOW},
    {":17900000000000000\r\n", REDLOCK_VOTE_LOW},
    {":18446744073709551617\r\n", REDLOCK_VOTE_LOW},
    {":100000000000000000000001\r\n", REDLOCK_VOTE_LOW},
    {":-9000000000000000\r\n", REDLOCK_VOTE_CLOCK},
    {":-18446744073709551617\r\n", REDLOCK_VOTE_CLOCK}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof *row; i++)
    if (!CHECK_EQ(vote_for(row[i].answer), row[i].vote)) printf("    %s\n", row[i].answer);
}

/* Who proposed the same number before has it. */
TEST(an_equal_token_is_taken_by_one) { /* R25 */
  fenced(3);
  CHECK_EQ(take("probe"), REDLOCK_OK);
  count(0, 2, "r:fence", (int64_t)lock.token + MS);
  forget_log();
  CHECK_EQ(redlock_acquire(&rl, &other, "r", 1000, 0), REDLOCK_OK);
  CHECK_EQ(set(0, 0)->token, (int64_t)lock.token + MS);
  CHECK(other.token > lock.token + MS);
}

/* Each server writes the counter before the lock: what fails between leaves no lock behind. */
TEST(no_lock_without_its_counter) { /* R25 */
  fenced(3);
  SET_SERVERS(0, 2, store.fail_write, 2);
  CHECK_EQ(take("r"), REDLOCK_NO_QUORUM);
  votes_are(&lock, 0, 1, REDLOCK_VOTE_ERROR);
  CHECK(fake_key_at(&fake, 0, "r:fence") != NULL);
  CHECK(fake_count(&fake, 0, FAKE_RELEASE) <= 1);
  SET_SERVERS(0, 2, store.fail_write, 0);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
}

/* ---- Asked again ----------------------------------------------------------------------------- */

/* The next of this client, for another resource too, goes on from there. */
TEST(a_greater_token_is_overtaken_at_once) { /* R25 */
  int64_t low;
  fenced(3);
  low = wall_us(0) + QUARTER_US + SECOND_US;
  count(0, 2, "r:fence", low);
  CHECK_IN_MS(take("r"), REDLOCK_OK, 2);
  CHECK_EQ(lock.token, low + 1);
  CHECK_EQ(sets(0), 2);
  CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 0); /* R7: who refused holds nothing */
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(take("r"), REDLOCK_OK);
  CHECK_EQ(lock.token, low + 2);
  CHECK_EQ(sets(0), 3);
}

TEST(the_greatest_token_is_overtaken) { /* R25 */
  int64_t low, most;
  fenced(5);
  low = wall_us(0) + QUARTER_US + SECOND_US / 4;
  most = low + SECOND_US / 4;
  count(0, 1, "r:fence", low);
  count(2, 2, "r:fence", most);
  count(3, 4, "r:fence", low - 1);
  CHECK_EQ(take("r"), REDLOCK_OK);
  CHECK_EQ(lock.token, most + 1);
}

/* The releases that server 2 takes no byte of leave room for one round; and one more of them takes
   that before its second. The attempt ends with its time, and the next one is made. */
TEST(no_second_round_without_room) { /* R25 R11 */
  enum { COUNT = REDLOCK_MAX_COMMANDS - 4 };
  static redlock_lock many[COUNT + 1];
  int i;
  fenced(3);
  for (i = 0; i <= COUNT; i++)
    CHECK_EQ(redlock_acquire(&rl, &many[i], numbered(i), 8000, 0), REDLOCK_OK);
  run_for(5);
  count(0, 1, "r:fence", wall_us(0) + QUARTER_US + SECOND_US);
  fake.server[2].socket_room = 0;
  for (i = 0; i < COUNT; i++) CHECK_EQ(redlock_start_release(&rl, &many[i]), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 1000), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_release(&rl, &many[COUNT]), REDLOCK_PENDING);
  run_for(SERVER_TIMEOUT);
  CHECK_EQ(sets(0), COUNT + 2);
  fake.server[2].socket_room = SIZE_MAX;
  CHECK_EQ(finish(&lock), REDLOCK_OK);
}

/* The counter is so far ahead that no token above it is in the window: within one attempt a server
   is asked twice more, and no oftener. */
TEST(an_attempt_is_counted_once) { /* R25 R9 R23 */
  uint32_t shortest;
  for (shortest = 0; shortest <= 100; shortest += 100) {
    prepare_fenced(3);
    options.max_attempts = 2;
    options.retry_delay_min_ms = shortest;
    options.retry_delay_max_ms = 100;
    ready_and_warm();
    count(0, 2, "r:fence", wall_us(0) + 4 * QUARTER_US);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 1000), REDLOCK_TAKEN);
    CHECK_EQ(lock.votes[1], REDLOCK_VOTE_LOW);
    CHECK_EQ(lock.token, 0);
    CHECK_EQ(fake_count(&fake, 0, FAKE_RELEASE), 0); /* R7: it holds nothing */
    CHECK_EQ(sets(0), 6);
    CHECK(set(0, 2)->at - set(0, 0)->at <= 3);
    CHECK(set(0, 3)->at - set(0, 2)->at >= shortest);
  }
}

/* What others proposed is no clock: the next guess is not pushed on by it. */
TEST(refusals_do_not_push_the_clock) { /* R25 */
  int i;
  fenced(3);
  for (i = 0; i < 50; i++) {
    count(0, 2, "r:fence", wall_us(0) + QUARTER_US + QUARTER_US / 2 + i);
    CHECK_EQ(take("r"), REDLOCK_OK);
    CHECK((int64_t)lock.token < wall_us(0) + 2 * QUARTER_US);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  }
  run_for(QUARTER_US / MS);
  CHECK_EQ(take("r"), REDLOCK_OK);
  CHECK((int64_t)lock.token <= wall_us(0) + QUARTER_US);
}

TEST(whoever_is_taken_is_not_asked_again) { /* R25 R9 */
  fenced(3);
  count(2, 2, "r:fence", wall_us(0) + QUARTER_US + SECOND_US);
  occupy(0, 1, "r", 5000);
  CHECK_EQ(take("r"), REDLOCK_TAKEN);
  CHECK_EQ(sets(0), 1);
}

/* The second round has what is left of the first one's time. */
TEST(both_rounds_share_one_deadline) { /* R25 R10 R9 */
  fenced(3);
  SET_SERVERS(0, 2, reply_ms, SERVER_TIMEOUT * 2 / 3);
  count(0, 2, "r:fence", wall_us(0) + QUARTER_US + SECOND_US);
  start_timing();
  CHECK_EQ(take("r"), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_TIMEOUT);
  CHECK_EQ(elapsed_ms(), SERVER_TIMEOUT);
  CHECK_EQ(lock.token, 0);
}

/* Of five, two refuse and three are asked: who said yes to the first token is rolled back, who
   refused it is not, and the second token goes to all. */
TEST(a_first_round_is_rolled_back) { /* R7 R25 */
  int i;
  fenced(5);
  count(0, 2, "r:fence", wall_us(0) + QUARTER_US + SECOND_US);
  CHECK_EQ(take("r"), REDLOCK_OK);
  run_for(5);
  for (i = 0; i < 5; i++) {
    CHECK_EQ(sets(i), 2);
    CHECK_EQ(fake_count(&fake, i, FAKE_RELEASE), i > 2);
  }
  CHECK_EQ(fake_holders(&fake, "r"), 5);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(5);
  CHECK_EQ(fake_holders(&fake, "r"), 0);
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

TEST(clocks_may_be_a_quarter_apart) { /* R25 */
  int off;
  for (off = 0; off < 3; off++) {
    prepare_fenced(3);
    fake.server[off].wall_us = QUARTER_US - 5 * MS;
    ready_and_warm();
    freeze((off + 1) % 3, (off + 1) % 3); /* so that it is needed */
    CHECK_EQ(take("r"), REDLOCK_OK);
    CHECK_EQ(sets(off), 1);
  }
}

/* With clocks an eighth of max_ttl_ms apart: in 99 of 100 acquires after a client's first. Two
   clients take the lock by turns, and replies take from 0 to 3 ms. */
TEST(one_round_trip_is_enough) { /* R25 */
  redlock *by[2];
  int i, k;
  prepare_fenced(3);
  by[0] = &rl;
  by[1] = &rival;
  for (i = 0; i < 3; i++) fake.server[i].wall_us = i * (int64_t)QUARTER_US / 4;
  ready();
  ready_rival();
  for (i = 0; i < 1000; i++) {
    redlock *client = by[i % 7 % 2];
    for (k = 0; k < 3; k++) fake.server[k].reply_ms = i * (k + 3) % 4;
    CHECK_EQ(redlock_acquire(client, &lock, "r", 1000, 0), REDLOCK_OK);
    fake_sleep(&fake, 4); /* a hand-over is slower than replies differ */
    CHECK_EQ(redlock_release(client, &lock), REDLOCK_OK);
  }
  CHECK(sets(0) <= 1010);
}

/* Each grant takes one round, and its token keeps to that server's clock. */
static void grants_keep_to_the_clock_of(int server, int64_t within_us) {
  int i;
  for (i = 0; i < 20; i++) {
    CHECK_EQ(take("r"), REDLOCK_OK);
    CHECK(llabs((int64_t)lock.token - wall_us(server) - QUARTER_US) < within_us);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  }
  CHECK_EQ(sets(0), 20);
}

/* An hour to either side, and a little more than the window. */
TEST(a_wild_minority_moves_nothing) { /* R25 R16 */
  static const int64_t wild_us[] = {3600ll * SECOND_US, -3600ll * SECOND_US, 4 * QUARTER_US,
                                    -4 * QUARTER_US};
  int k;
  for (k = 0; k < 4; k++) {
    prepare_fenced(5);
    fake.server[1].wall_us = wild_us[k];
    fake.server[3].wall_us = wild_us[(k + 1) % 4];
    ready_and_warm();
    grants_keep_to_the_clock_of(0, 5 * MS);
    CHECK_EQ(take("r"), REDLOCK_OK);
    CHECK(lock.votes[1] != REDLOCK_VOTE_YES);
  }
}

/* A clock of our own may count from the epoch, as the servers' do: one shows less than it, or just
   the same, and that is no wild clock, nor an unknown one. */
TEST(a_clock_that_counts_from_the_epoch_is_as_good) { /* R25 R16 */
  static const int64_t off_us[][3] = {{5000, -5000, 3600ll * SECOND_US}, {0, 0, 3600ll * SECOND_US},
                                      {-1000, -3000, -2000}};
  int i, k;
  for (k = 0; k < 3; k++) {
    prepare_fenced(3);
    for (i = 0; i < 3; i++) {
      fake.server[i].wall_us = off_us[k][i] - FAKE_WALL_US;
      fake.server[i].reply_ms = 0;
    }
    ready_and_warm();
    grants_keep_to_the_clock_of(1, 15 * MS);
  }
}

TEST(whose_clock_is_far_is_told) { /* R25 R15 R23 */
  prepare_fenced(3);
  fake.server[0].wall_us = 3600ll * SECOND_US;
  fake.server[1].refuses = 1;
  ready();
  CHECK_EQ(take("r"), REDLOCK_NO_QUORUM);
  CHECK(lock.votes[0] == REDLOCK_VOTE_CLOCK || lock.votes[2] == REDLOCK_VOTE_CLOCK);
  CHECK(strstr(redlock_server_error(&rl, lock.votes[0] == REDLOCK_VOTE_CLOCK ? 0 : 2), "clock"));
  CHECK_EQ(lock.token, 0);
}

/* All servers are set, forwards or back, while the client lives: it learns that in one round. */
TEST(a_step_of_all_clocks_costs_a_round) { /* R25 */
  int back;
  for (back = 0; back < 2; back++) {
    fenced(3);
    SET_SERVERS(0, 2, wall_us, (back ? -1 : 1) * 3600ll * SECOND_US);
    CHECK_EQ(take("r"), REDLOCK_OK);
    CHECK_EQ(sets(0), 2);
    CHECK(llabs((int64_t)lock.token - wall_us(0) - QUARTER_US) < 5 * MS);
    CHECK(strcmp(redlock_server_error(&rl, 0), "") == 0);
  }
}

/* It lapses in the queue, or is cancelled there. */
TEST(a_grant_that_is_not_handed_over_leaves_no_token) { /* R25 R1 */
  int cancelled;
  for (cancelled = 0; cancelled < 2; cancelled++) {
    redlock_lock *second;
    fenced(3);
    start_two(200);
    second = still_queued();
    if (cancelled) CHECK_EQ(redlock_cancel(&rl, second), REDLOCK_OK);
    else fake_sleep(&fake, 1000);
    take_all(&rl);
    CHECK_EQ(second->status, cancelled ? REDLOCK_CANCELLED : REDLOCK_EXPIRED);
    CHECK_EQ(second->token, 0);
  }
}

/* Its extension was granted, and ran out before it could be returned: the lock is lost, as another
   that is lost, and its token was its own. */
TEST(an_extension_that_is_not_handed_over_leaves_the_token) { /* R25 R1 R19 */
  uint64_t token;
  fenced(3);
  CHECK_EQ(take("r"), REDLOCK_OK);
  token = lock.token;
  CHECK(token != 0);
  CHECK_EQ(redlock_acquire(&rl, &other, "o", 1000, 0), REDLOCK_OK);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 1000), REDLOCK_PENDING);
  CHECK_EQ(redlock_extend(&rl, &other, 1000), REDLOCK_OK); /* this decides both */
  fake_sleep(&fake, 1000);
  take_all(&rl);
  CHECK_EQ(lock.status, REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK_EQ(lock.token, token);
}

/* ---- The quarantine -------------------------------------------------------------------------- */

/* It forgot its counters, but nobody hears its yes before its clock has passed them all. */
TEST(a_server_that_forgot_lets_no_older_token_in) { /* R24 R25 */
  int64_t last;
  fenced(3);
  CHECK_EQ(take("r"), REDLOCK_OK);
  last = (int64_t)lock.token;
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  restart(0, 2);
  SET_SERVERS(0, 2, wall_us, -MAX_TTL * 500 + 100 * MS);
  CHECK(redlock_acquire(&rl, &lock, "r", 1000, 3000) != REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 2 * MAX_TTL), REDLOCK_OK);
  CHECK((int64_t)lock.token > last);
}

/* A counter far from every clock is no counter of ours. */
TEST(a_wild_counter_is_not_gone_on_from) { /* R25 */
  int i;
  fenced(3);
  SET_SERVERS(0, 2, reply_ms, 0);
  for (i = 0; i < 2; i++) take_and_release("r", 1000); /* the first one learns the clocks anew */
  fake_answer(&fake, 0, FAKE_SET, 1, ":9000000000000000000\r\n");
  CHECK_EQ(take("x"), REDLOCK_OK);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_LOW);
  CHECK_EQ(sets(1), 3);
  CHECK_EQ(take("r"), REDLOCK_OK); /* within the same millisecond: above its last token */
  CHECK_EQ(sets(1), 4);
}

/* Of three one has it taken, one tells its clock, and the third answers when the round is over. The
   round has failed, and goes on for that clock, but not beyond its time: that of a short ttl. */
TEST(a_round_that_asks_for_clocks_ends_in_time) { /* R10 R16 R25 */
  enum { TTL = SERVER_TIMEOUT - 20, TRIES = 4, A_WHILE = 500 };
  prepare_fenced(3);
  SET_SERVERS(0, 2, store.refuse_hello, 0);
  occupy(0, 2, "r", 60000);
  ready();
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", TTL, A_WHILE + 1), REDLOCK_PENDING);
  run_for(A_WHILE);
  CHECK_EQ(sets(1), TRIES - 1); /* it waits to be told */
  fake.server[2].reply_ms = TTL + 10;
  forget_key(1, 2, "r");
  while (sets(1) < TRIES) CHECK(redlock_wait(&rl, 1) == NULL);
  start_timing();
  CHECK_EQ(finish(&lock), REDLOCK_TAKEN);
  CHECK(elapsed_ms() <= TTL);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_CLOCK);
  CHECK_EQ(set(1, TRIES - 1)->token, 0);
}

/* Nobody tells when a counter is within reach again: it is polled, more and more rarely. */
static void a_refused_waiter(int stepped_back) {
  prepare_fenced(3);
  SET_SERVERS(0, 2, store.refuse_hello, 0);
  ready_and_warm();
  take_and_release("r", 1000);
  run_for(100);
  if (stepped_back) SET_SERVERS(0, 2, wall_us, -9 * (int64_t)SECOND_US);
  else count(0, 2, "r:fence", wall_us(0) + 9 * (int64_t)SECOND_US);
  forget_log();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 4000), REDLOCK_TAKEN);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_LOW);
  CHECK(sets(0) >= 3 * 15 && sets(0) <= 3 * 150); /* three rounds each */
}

TEST(a_waiter_whose_token_is_refused_polls) { a_refused_waiter(0); } /* R25 R26 R9 */
TEST(a_waiter_after_clocks_stepped_back_polls) { a_refused_waiter(1); } /* R25 R26 R9 */

/* Server 0 cannot be reached; the others refuse a waiter's token. Its extra round fails: 1 and 2
   say TAKEN. It lingers. Server 0 is back, and says yes: with 3 and 4, whose answers take most of
   the time, that is a quorum. */
TEST(an_extra_round_that_is_open_again_has_its_whole_time) { /* R6 R10 R25 R26 */
  enum { TIMEOUT = 1900, SLOW = 400, SLOWER = 1600 };
  int i;
  prepare_fenced(5);
  options.server_timeout_ms = TIMEOUT;
  SET_SERVERS(0, 4, store.refuse_hello, 0);
  ready_and_warm();
  occupy(0, 4, "r", 60000);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 5000, REDLOCK_FOREVER), REDLOCK_PENDING);
  run_for(1000);
  take_away(0, 0);
  run_for(100);
  for (i = 1; i < 5; i++) fake_answer(&fake, i, FAKE_SET, 1, ":9000000000000000\r\n");
  forget_key(0, 0, "r");
  forget_key(3, 4, "r");
  forget_log();
  fake_push(&fake, 1, PUSH_OF_ALL); /* a third of the pushes that wake it */
  while (!sets(3)) run_for(1);
  SET_SERVERS(1, 2, reply_ms, SLOW);
  SET_SERVERS(3, 4, reply_ms, SLOWER);
  while (!lock.extra_rounds) run_for(1);
  start_timing();
  while (lock.votes[1] != REDLOCK_VOTE_TAKEN) run_for(1);
  votes_are(&lock, 3, 4, REDLOCK_VOTE_NONE);
  fake.server[0].refuses = 0;
  while (lock.votes[0] != REDLOCK_VOTE_YES && elapsed_ms() < TIMEOUT) run_for(1);
  CHECK_EQ(finish(&lock), REDLOCK_OK);
  CHECK_EQ(sets(3), 2); /* by this attempt */
}
