/* judge.c: what a round's votes come to, for every number of servers and every tally of their
   votes. The outcome of a round in which all have voted is written here in the rules' words; then a
   round is decided exactly when the missing votes cannot change it any more (R6). */
#include "inside.h"

enum { SERVERS = 32 };

struct round {
  uint8_t task;
  int adopts, servers;
  rl_tally said;
};

static int quorum_of(const struct round *r) { return r->servers / 2 + 1; }

/* When the quorum cannot be reached without them: "more than N - quorum". */
static int are_many(const struct round *r, int servers) {
  return servers > r->servers - quorum_of(r);
}

static redlock_status outcome(const struct round *r, int yes, int taken, int absent) {
  if (yes >= quorum_of(r)) return REDLOCK_OK;
  if (r->task == RL_TASK_EXTEND) /* R19 */
    return are_many(r, taken) ? REDLOCK_EXPIRED : REDLOCK_NO_QUORUM;
  if (r->task == RL_TASK_RELEASE && are_many(r, taken)) return REDLOCK_EXPIRED; /* R21 */
  if (r->task == RL_TASK_RELEASE) return are_many(r, absent) ? REDLOCK_NO_QUORUM : REDLOCK_OK;
  if (r->adopts) return are_many(r, taken) ? REDLOCK_TAKEN : REDLOCK_NO_QUORUM; /* R28 */
  return are_many(r, absent) ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN; /* R23 */
}

static int any_count(void) {
  int count = any(int);
  given(count >= 0 && count <= SERVERS);
  return count;
}

static struct round any_round(void) {
  struct round r = {0};
  r.task = any(u8);
  given(r.task == RL_TASK_SET || r.task == RL_TASK_EXTEND || r.task == RL_TASK_RELEASE);
  r.adopts = any(int) & 1;
  given(!r.adopts || r.task == RL_TASK_SET);
  r.said.yes = any_count();
  r.said.taken = any_count();
  r.said.absent = any_count();
  r.said.none = any_count();
  r.servers = r.said.yes + r.said.taken + r.said.absent + r.said.none;
  given(r.servers >= 1 && r.servers <= SERVERS);
  return r;
}

static redlock_status judged(const struct round *r) {
  return rl_judge(r->task, r->adopts, &r->said, quorum_of(r), r->servers - quorum_of(r));
}

/* Whatever those say that have not voted yet, a decision stands; of a failed acquire, that it has
   failed: which of the two statuses, the votes at the decision tell (R23). */
void a_decision_is_final(void) { /* R6 R19 R21 R23 R28 */
  struct round r = any_round();
  redlock_status status = judged(&r), last;
  int yes = any_count(), taken = any_count(), absent = any_count();
  given(yes + taken + absent == r.said.none);
  last = outcome(&r, r.said.yes + yes, r.said.taken + taken, r.said.absent + absent);
  if (r.task == RL_TASK_SET && !r.adopts && status != REDLOCK_OK && r.said.none > 0)
    prove(status == REDLOCK_PENDING || last != REDLOCK_OK);
  else
    prove(status == REDLOCK_PENDING || status == last);
  reaches(status == REDLOCK_OK && r.said.none > 0);
  reaches(status == REDLOCK_EXPIRED && r.said.none > 0);
  reaches(status == REDLOCK_NO_QUORUM && r.said.none > 0);
  reaches(status == REDLOCK_TAKEN && r.said.none > 0);
}

/* Nobody waits for votes that change nothing. */
void a_decision_is_early(void) { /* R6 */
  struct round r = any_round();
  redlock_status all_yes = outcome(&r, r.said.yes + r.said.none, r.said.taken, r.said.absent);
  redlock_status all_taken = outcome(&r, r.said.yes, r.said.taken + r.said.none, r.said.absent);
  redlock_status all_absent = outcome(&r, r.said.yes, r.said.taken, r.said.absent + r.said.none);
  given(judged(&r) == REDLOCK_PENDING);
  prove(r.said.none > 0);
  if (r.task == RL_TASK_SET && !r.adopts) prove(all_yes == REDLOCK_OK);
  else prove(all_yes != all_taken || all_yes != all_absent);
  reaches(r.task == RL_TASK_RELEASE);
  reaches(r.task == RL_TASK_EXTEND);
  reaches(r.adopts);
}
