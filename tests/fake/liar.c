/* liar.c: servers that lie, as a minority (R16). Whatever they say: nothing crashes or hangs, no
 * lock that a majority holds for another is granted, no call takes longer than with dead ones, and
 * none of them is told another's password. That is all: Redlock is not Byzantine, as the last tests
 * show. */
#include "fixture.h"

enum { TTL = 8000, MAX_TTL = 60000, HELD_MS = 300, RETRY_MS = 200, CYCLES = 10 };

struct lie {
  const char *name;
  const char *answer; /* to what? */
  int to_handshake, to_commands;
  const char *greeting; /* said unasked */
  const char *push;     /* said again and again */
  int64_t gap_ms;       /* between two bytes of the truth */
};

#define EVER 1, 1, NULL, NULL, 0 /* to whatever is asked */
#define LATER 0, 1, NULL, NULL, 0
#define FIRST 1, 0, NULL, NULL, 0
#define GARBAGE "\x16\x03\x01\xff\xfe\x7f*%$>_\r\r\n\n"

static char greater[24] = ":1790000009000000\r\n"; /* than the last one that it was offered ... */
static int64_t greater_by_us = MAX_TTL * 100;       /* ... by so much */

static const struct lie lies[] = {
  {"yes to all", "+OK\r\n", EVER},
  {"yes to all commands", "+OK\r\n", LATER},
  {"one to all", ":1\r\n", EVER},
  {"one to all commands", ":1\r\n", LATER},
  {"nil to all", "$-1\r\n", EVER},
  {"nil to all commands", "$-1\r\n", LATER},
  {"nothing was ours", ":0\r\n", LATER},
  {"an old age", ":9223372036854775807\r\n", FIRST},
  {"a negative age", ":-9223372036854775808\r\n", FIRST},
  {"no age", ":0\r\n", FIRST},
  {"the greatest number", ":18446744073709551615\r\n", LATER},
  {"the greatest token", ":9223372036854775807\r\n", LATER},
  {"a greater token", ":1790000009000000\r\n", LATER},
  {"always a greater token", greater, LATER},
  {"the least number", ":-9223372036854775808\r\n", LATER},
  {"two answers to each", "+OK\r\n+OK\r\n", LATER},
  {"garbage", GARBAGE, EVER},
  {"garbage to all commands", GARBAGE, LATER},
  {"an error without an end", "-ERR this is not over yet", LATER},
  {"a bulk without an end", "$2147483647\r\nOK", LATER},
  {"too large a bulk", "$99999999999999999999\r\n", LATER},
  {"an aggregate without an end", "*2147483647\r\n:1\r\n", LATER},
  {"aggregates without an end", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", LATER},
  {"an error for a while", "-LOADING\r\n", LATER},
  {"unasked yes", NULL, 0, 0, "+OK\r\n+OK\r\n+OK\r\n:1\r\n", NULL, 0},
  {"unasked garbage", NULL, 0, 0, GARBAGE, NULL, 0},
  {"pushes without an end", NULL, 0, 0, NULL,
   ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nr\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n", 0},
  {"a byte a second", NULL, 0, 0, NULL, NULL, 1000}
};
enum { LIES = sizeof lies / sizeof *lies };

static int liars; /* the first ones of the list */
static const char *pushed;

static void go_on_lying(struct fake *f, enum fake_hook hook, int server) {
  const struct fake_command *last = f->logged ? &f->log[f->logged - 1] : NULL;
  if (last && last->token)
    snprintf(greater, sizeof greater, ":%lld\r\n", last->token + greater_by_us);
  if (!pushed || hook != FAKE_RECV || f->calls[hook] % 2) return;
  for (server = 0; server < liars; server++) fake_push(f, server, pushed);
}

static void tell_lies(int server, const struct lie *lie) {
  static const int handshake[] = {FAKE_AUTH, FAKE_SELECT, FAKE_INFO, FAKE_HELLO, FAKE_TRACKING};
  static const int commands[] = {FAKE_SET, FAKE_RELEASE, FAKE_EXTEND, FAKE_OTHER};
  int i;
  for (i = 0; lie->to_handshake && i < 5; i++)
    fake_answer(&fake, server, handshake[i], -1, lie->answer);
  for (i = 0; lie->to_commands && i < 4; i++)
    fake_answer(&fake, server, commands[i], -1, lie->answer);
  fake.server[server].greeting = lie->greeting;
  fake.server[server].gap_ms = lie->gap_ms;
}

/* lie NULL = they are dead: they take what is sent, and say nothing */
static void begin(int count, int fencing, const struct lie *lie) {
  int i;
  prepare(count);
  options.max_ttl_ms = fencing ? MAX_TTL : 0;
  options.fencing = (uint32_t)fencing;
  SET_SERVERS(0, count - 1, store.refuse_hello, 0);
  for (i = 0; i < liars; i++)
    if (lie) tell_lies(i, lie);
    else freeze(i, i);
  pushed = lie ? lie->push : NULL;
  fake.on_call = go_on_lying;
  ready();
}

/* How long a lock takes, from its acquire to its release, which both come true. */
static int64_t cycle_ms(uint64_t *last) {
  int64_t start = now();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) <= VALID(TTL));
  if (options.fencing) {
    CHECK(lock.token > *last);
    CHECK((int64_t)lock.token <= fake_wall_us(&fake.server[liars], now()) + MAX_TTL * 500);
    *last = lock.token;
  }
  CHECK_EQ(redlock_extend(&rl, &lock, 2 * TTL), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  return now() - start;
}

struct cost {
  int64_t cycles_ms, wait_ms;
  int sets; /* at one that is honest, while it waits */
};

static struct cost cost_of(int count, int fencing, const struct lie *lie) {
  struct cost cost = {0, 0, 0};
  uint64_t last = 0;
  int i;
  begin(count, fencing, lie);
  for (i = 0; i < CYCLES; i++) cost.cycles_ms += cycle_ms(&last);
  run_for(10);
  for (i = liars; i < count; i++) CHECK(!fake_key_at(&fake, i, "r")); /* R7 */
  occupy(liars, count - 1, "r", HELD_MS);
  CHECK(redlock_acquire(&rl, &lock, "r", TTL, 0) != REDLOCK_OK);
  forget_log();
  cost.wait_ms = -now();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 100 * HELD_MS), REDLOCK_OK);
  cost.wait_ms += now();
  cost.sets = fake_count(&fake, count - 1, FAKE_SET);
  for (i = liars; i < count - 1; i++) CHECK(!fake_key_is(&fake, i, "r", "foreign"));
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  return cost;
}

static void compare(int count, int fencing) {
  struct cost dead, lied;
  int i;
  liars = (count - 1) / 2;
  dead = cost_of(count, fencing, NULL);
  for (i = 0; i < LIES; i++) {
    int bad = check.bad;
    lied = cost_of(count, fencing, &lies[i]);
    CHECK(lied.cycles_ms <= dead.cycles_ms + fencing * CYCLES); /* a greater token: a round more */
    CHECK(lied.wait_ms <= dead.wait_ms + RETRY_MS);
    CHECK(lied.sets <= 2 * dead.sets + 4);
    if (check.bad != bad)
      printf("    %s, %d of %d: %ld and %ld ms, %d attempts; dead: %ld and %ld ms, %d\n",
             lies[i].name, liars, count, (long)lied.cycles_ms, (long)lied.wait_ms, lied.sets,
             (long)dead.cycles_ms, (long)dead.wait_ms, dead.sets);
  }
}

TEST(one_of_three_is_as_good_as_dead) { compare(3, 0); }          /* R16 R10 R4 */
TEST(two_of_five_are_as_good_as_dead) { compare(5, 0); }          /* R16 R10 R4 */
TEST(lying_servers_move_no_token) { compare(3, 1); compare(5, 1); } /* R25 R24 */

/* It says first that its clock is far ahead, and then that it has seen a greater token, by as much
   as anybody may believe. The others' clocks differ by as much as they may. */
TEST(a_liars_counter_has_no_other_refuse) { /* R16 R25 */
  static const struct lie lie = {"a greater counter", greater, LATER};
  static char ahead[32];
  int k, i, apart;
  for (k = 1; k < 30; k++)
    for (apart = 0; apart <= 2; apart++) {
      liars = 1;
      greater_by_us = k % 3 ? (int64_t)MAX_TTL * 10 * k : (int64_t)MAX_TTL * 10 * k - 1000;
      begin(3, 1, NULL);
      thaw(0, 0);
      snprintf(ahead, sizeof ahead, ":-%lld\r\n",
               (long long)(fake_wall_us(&fake.server[1], now()) + MAX_TTL * 100));
      fake_answer(&fake, 0, FAKE_SET, 1, ahead);
      fake.server[2].wall_us = -(int64_t)MAX_TTL * 50 * apart;
      tell_lies(0, &lie);
      for (i = 0; i < CYCLES; i++) {
        CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_OK);
        CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
        CHECK(*redlock_server_error(&rl, 2) == '\0');
      }
    }
  greater_by_us = MAX_TTL * 100;
}

/* What is asked of them is answered by whoever is there: so each is told its own password alone, or
   the one that the options have for all. */
TEST(none_is_told_anothers_password) { /* R16 */
  int i, k;
  for (k = 0; k < LIES; k++) {
    const struct fake_command *asked;
    liars = 1;
    begin(3, 0, &lies[k]);
    memset(&rl, 0, sizeof rl); /* not opened yet */
    snprintf(servers, sizeof servers,
             "redis://:its-own@s0,redis://:secret-1@s1,redis://:secret-2@s2");
    fake.server[1].store.password = "secret-1";
    fake.server[2].store.password = "secret-2";
    ready();
    take_and_release("r", TTL);
    run_for(1000);
    for (i = 0; (asked = fake_nth(&fake, 0, FAKE_AUTH, i)) != NULL; i++)
      CHECK(strcmp(asked->words, "AUTH its-own") == 0);
    CHECK(i > 0 || lies[k].greeting);
  }
}

/* The other two are split, one vote each, and nothing fails: the liar makes both a majority. */
TEST(one_liar_that_says_yes_gives_a_split_vote_two_winners) {
  int i;
  world(3);
  ready_rival();
  fake_answer(&fake, 2, FAKE_SET, 9, "+OK\r\n");
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_acquire(&rival, &other, "r", TTL, 0), REDLOCK_PENDING);
  fake.server[1].request_ms = 3; /* there the rival's comes first, and ours at the other one */
  (void)redlock_step(&rl);
  fake.server[1].request_ms = 0;
  fake.server[0].request_ms = 3;
  (void)redlock_step(&rival);
  for (i = 0; i < 10; i++) {
    (void)redlock_wait(&rl, 1);
    (void)redlock_wait(&rival, 1);
  }
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  CHECK(redlock_remaining_ms(&rival, &other) > 0);
}

/* What nothing here can prevent, and the README says: servers 0 and 2 have both said yes to two. */
TEST(one_liar_and_one_lost_connection_give_two_holders) {
  liars = 1;
  begin(3, 0, &lies[1]);
  warm();
  fake.on_call = NULL;
  ready_rival();
  freeze(2, 2);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 0), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rival, &other, "r", TTL, 0), REDLOCK_TAKEN); /* not by the lie alone */
  fake.server[2].thaw_at = 0;
  fake_reset(&fake, 2, FAKE_RST); /* its SET is lost, and it comes back without it */
  CHECK_EQ(redlock_acquire(&rival, &other, "r", TTL, 1000), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0 && redlock_remaining_ms(&rival, &other) > 0);
}

/* Nor can tokens stay in order then: no honest server has seen both, and their clocks differ. */
static int64_t later_token_less_earlier(int64_t behind_us) {
  int64_t earlier;
  liars = 1;
  begin(3, 1, NULL);
  thaw(0, 0);
  fake.server[2].wall_us = -behind_us;
  freeze(2, 2);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", TTL, 1000), REDLOCK_OK);
  earlier = (int64_t)lock.token;
  thaw(2, 2);
  fake_reset(&fake, 2, FAKE_RST); /* its SET is lost */
  fake_flush(&fake, 0);           /* the liar says yes once more, and has whichever time it likes */
  fake.server[0].wall_us = -behind_us;
  freeze(1, 1);
  ready_rival();
  CHECK_EQ(redlock_acquire(&rival, &other, "r", TTL, 1000), REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
  return (int64_t)other.token - earlier;
}

TEST(one_liar_and_one_lost_connection_turn_tokens_round) { /* R25 */
  CHECK(later_token_less_earlier(0) > 0);
  CHECK(later_token_less_earlier(MAX_TTL * 50) < 0);
}
