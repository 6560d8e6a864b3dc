/* which_status.c: every combination of what five servers can say, for each of the three rounds. */
#include "fixture.h"

enum { SERVERS = 5, QUORUM = 3, MOST_MISSING = SERVERS - QUORUM };

static const char *const LOADING = "-LOADING Redis is loading the dataset in memory\r\n";

/* y = yes, n = no (taken or gone), t = timeout, u = unreachable, e = error */
static void arrange(int server, char answer, int kind) {
  if (answer == 'n' && kind == FAKE_SET) occupy(server, server, "r", 100000);
  if (answer == 'n' && kind != FAKE_SET) fake_forget(&fake, server, "r");
  if (answer == 't') freeze(server, server);
  if (answer == 'e') fake_answer(&fake, server, kind, -1, LOADING);
  if (answer != 'u') return;
  fake.server[server].refuses = 1;
  fake_reset(&fake, server, FAKE_RST);
}

static int count(const char *answers, const char *of) {
  int n = 0;
  for (; *answers; answers++) n += strchr(of, *answers) != NULL;
  return n;
}

static int missing_votes(const redlock_lock *l) {
  int i, n = 0;
  for (i = 0; i < SERVERS; i++)
    n += l->votes[i] != REDLOCK_VOTE_NONE && l->votes[i] != REDLOCK_VOTE_YES &&
         l->votes[i] != REDLOCK_VOTE_TAKEN;
  return n;
}

/* A round never takes longer than one timeout. */
static void arrange_all(const char *answers, int kind) {
  int i;
  for (i = 0; i < SERVERS; i++) arrange(i, answers[i], kind);
}

static void acquire_with(const char *answers) {
  int64_t start;
  int missing = count(answers, "tue");
  redlock_status got;
  world(SERVERS);
  arrange_all(answers, FAKE_SET);
  start = now();
  got = redlock_acquire(&rl, &lock, "r", 1000, 0);
  CHECK(now() - start <= SERVER_TIMEOUT);
  if (count(answers, "y") >= QUORUM) {
    CHECK_EQ(got, REDLOCK_OK);
  } else {
    CHECK_EQ(got, missing_votes(&lock) > MOST_MISSING ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN);
    if (missing <= MOST_MISSING) CHECK_EQ(got, REDLOCK_TAKEN);
    if (missing == SERVERS) CHECK_EQ(got, REDLOCK_NO_QUORUM);
    CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  }
}

static void extend_with(const char *answers) {
  int64_t start, left;
  redlock_status got;
  world_with_lock(SERVERS, 1000);
  run_for(2);
  arrange_all(answers, FAKE_EXTEND);
  start = now();
  got = redlock_extend(&rl, &lock, 2000);
  left = redlock_remaining_ms(&rl, &lock);
  CHECK(now() - start <= SERVER_TIMEOUT);
  if (count(answers, "y") >= QUORUM) {
    CHECK_EQ(got, REDLOCK_OK);
    CHECK_EQ(left, VALID(2000) - (now() - start));
  } else if (count(answers, "n") > MOST_MISSING) {
    CHECK_EQ(got, REDLOCK_EXPIRED);
    CHECK_EQ(left, 0);
    run_for(3);
    CHECK(fake_holders(&fake, "r") <= 2); /* never created again */
  } else {
    CHECK_EQ(got, REDLOCK_NO_QUORUM);
    CHECK_EQ(left, VALID(1000) - 3 - (now() - start));
    CHECK_EQ(fake_count(&fake, FAKE_ANY, FAKE_RELEASE), 0);
  }
}

static redlock_status release_status(const char *answers) {
  if (count(answers, "y") >= QUORUM) return REDLOCK_OK;
  if (count(answers, "n") > MOST_MISSING) return REDLOCK_EXPIRED;
  return count(answers, "yn") < QUORUM ? REDLOCK_NO_QUORUM : REDLOCK_OK;
}

static void release_with(const char *answers) {
  int64_t start;
  world_with_lock(SERVERS, 1000);
  run_for(2);
  arrange_all(answers, FAKE_RELEASE);
  start = now();
  CHECK_EQ(redlock_release(&rl, &lock), release_status(answers));
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK(now() - start <= SERVER_TIMEOUT);
}

static void each_combination(void (*test)(const char *)) {
  char answers[SERVERS + 1];
  int number, i, rest, bad;
  answers[SERVERS] = '\0';
  for (number = 0; number < 5 * 5 * 5 * 5 * 5; number++) {
    for (i = 0, rest = number; i < SERVERS; i++, rest /= 5) answers[i] = "yntue"[rest % 5];
    bad = check.bad;
    test(answers);
    if (check.bad != bad) printf("    with %s\n", answers);
  }
}

TEST(acquire_every_combination) { each_combination(acquire_with); } /* R23 R10 */
TEST(extend_every_combination) { each_combination(extend_with); }   /* R18 R19 */
TEST(release_every_combination) { each_combination(release_with); } /* R21 R10 */

TEST(votes_tell_how_each_server_failed) { /* R23 */
  world(5);
  arrange_all("ytyue", FAKE_SET); /* the timeout is the one that decides */
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_YES);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_TIMEOUT);
  CHECK_EQ(lock.votes[2], REDLOCK_VOTE_YES);
  CHECK_EQ(lock.votes[3], REDLOCK_VOTE_UNREACHABLE);
  CHECK_EQ(lock.votes[4], REDLOCK_VOTE_ERROR);
}

/* They have the same time, and the last two alone got the SET: one connect hangs, and one server
   says nothing to the handshake. */
TEST(votes_tell_whether_the_set_got_there) { /* R10 R23 */
  prepare(5);
  SET_SERVERS(0, 4, store.password, "secret");
  options.password = "secret";
  fake.server[1].connect_ms = FAKE_NEVER;
  freeze(2, 2);
  servers_answer(3, 4, FAKE_SET, 1, NULL);
  ready();
  CHECK_IN_MS(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM, SERVER_TIMEOUT);
  votes_are(&lock, 0, 0, REDLOCK_VOTE_YES);
  votes_are(&lock, 1, 2, REDLOCK_VOTE_UNREACHABLE);
  votes_are(&lock, 3, 4, REDLOCK_VOTE_TIMEOUT);
}
