/* votes.c: the steps of the models that tests/induct proves, as the header takes them, from any
   state: a reply becomes a vote, a quorum becomes a deadline, and what a client knows of a key
   changes. What would follow a step is left out: proof.sh puts the functions below in the place of
   the header's, which are then called NAME_itself.
   replaces: rl_evaluate_round rl_set_error rl_clear_error rl_validity_ms
   replaces: rl_update_now rl_end_round rl_decide rl_finish_extension rl_abandon rl_fail_round
   replaces: rl_on_failed_round rl_round_due_ms rl_store_token rl_disconnect rl_expect_replies */
#include "inside.h"

static redlock rl;
static redlock_lock lock;
static rl_command command;

static void rl_evaluate_round(redlock *client, redlock_lock *l) { (void)client, (void)l; }
static void rl_set_error(rl_server *s, const char *text) { (void)s, (void)text; }
static void rl_clear_error(const redlock *client, rl_server *s) { (void)client, (void)s; }

/* It gives no YES. */
static void rl_disconnect(redlock *client, rl_server *s, const char *why) {
  (void)client, (void)why;
  if (lock.votes[s->index] == REDLOCK_VOTE_YES)
    lock.votes[s->index] = REDLOCK_VOTE_UNREACHABLE;
}

/* One of three servers. */
enum { SERVERS = 3 };

static rl_server *any_server(void) {
  int i;
  rl_server *s = rl.server + 1;
  for (i = 0; i < SERVERS; i++) {
    rl.server[i].bit = (rl_mask)(1u << i);
    rl.server[i].index = (uint8_t)i;
    rl.server[i].votes_from_ms = any(i64);
    lock.votes[i] = (redlock_vote)(any(u8) % (REDLOCK_VOTE_CLOCK + 1));
  }
  rl.server_count = SERVERS;
  rl.server_end = rl.server + SERVERS;
  rl.options.fencing = any(u8) & 1;
  rl.options.max_ttl_ms = any(u32);
  lock.t1_ms = any(i64);
  lock.maybe_set = any(u8);
  lock.is.hold.answered_by = any(u8);
  lock.is.hold.grant_t1_ms = any(i64);
  s->reconnect_ms = any(i64);
  given(lock.t1_ms >= 0 && lock.t1_ms < INT64_MAX / 2);
  return s;
}

/* Of any kind; of this lock's round or, if it is late, of one that has ended. */
static void any_command(int is_late) {
  command.kind = any(u8) % (RL_TASK_RELEASE + 1);
  command.sets_at = any(u8);
  given(command.kind != RL_TASK_SET || command.sets_at == (rl_mask)-1);
  given(command.kind != RL_TASK_RELEASE || command.sets_at == 0);
  command.t1_ms = any(i64);
  command.token = any(u64);
  command.lock = is_late && any(u8) ? NULL : &lock;
  command.is_open = !is_late;
  given(is_late || command.t1_ms == lock.t1_ms);
}

/* Any that the parser can tell of: OK and 1 are of their types. */
static rl_reply any_reply(rl_server *s) {
  rl_reply reply = (rl_reply)(RL_REPLY_OK + any(u8) % (RL_REPLY_OTHER - RL_REPLY_OK + 1));
  s->parser.outer_type = any(char);
  given(reply != RL_REPLY_OK || s->parser.outer_type == '+');
  given(reply != RL_REPLY_POSITIVE || s->parser.outer_type == ':');
  s->parser.negative = any(u8) & 1;
  s->parser.number = any_integer();
  return reply;
}

/* R4: OK to a SET; 1 to another script; with tokens, a number below the one proposed. */
static int is_yes(const rl_server *s, rl_reply reply) {
  int sets = (command.sets_at >> s->index) & 1;
  if (s->parser.outer_type == '$') return 0;
  if (command.kind == RL_TASK_SET && rl.options.fencing)
    return s->parser.outer_type == ':' && !s->parser.negative && s->parser.number > 0 &&
           s->parser.number < command.token && reply != RL_REPLY_NIL;
  return reply == (sets ? RL_REPLY_OK : RL_REPLY_POSITIVE);
}

/* Only a yes to this round's own command makes one, from a server that has a vote. */
void a_vote_is_a_yes_that_counts(void) { /* R4 R8 R24 */
  rl_server *s = any_server();
  rl_reply reply = any_reply(s);
  redlock_vote before[SERVERS];
  int i, is_late = any(u8) & 1;
  any_command(is_late);
  lock.deadline_ms = any(u8) & 1;
  for (i = 0; i < SERVERS; i++) before[i] = lock.votes[i];
  rl_on_command_reply(&rl, s, &command, reply);
  for (i = 0; i < SERVERS; i++)
    if (lock.votes[i] == REDLOCK_VOTE_YES && before[i] != REDLOCK_VOTE_YES)
      prove(i == s->index && !is_late && is_yes(s, reply) && lock.t1_ms >= s->votes_from_ms);
  reaches(lock.votes[s->index] == REDLOCK_VOTE_YES && before[s->index] == REDLOCK_VOTE_NONE);
}

static int64_t validity; /* that it is R1's is wp.sh's proof */
static int64_t rl_validity_ms(const redlock *client, uint32_t ttl_ms) {
  (void)client, (void)ttl_ms;
  return validity;
}

static int works;
static int rl_update_now(redlock *client) {
  int64_t later = any(i64);
  given(later >= client->now_ms);
  if (works) client->now_ms = later;
  return works;
}

static void rl_end_round(redlock *client, redlock_lock *l) { (void)client, (void)l; }
static void rl_decide(redlock *client, redlock_lock *l, redlock_status status) {
  (void)client;
  l->status = status;
}
static void rl_finish_extension(redlock *client, redlock_lock *l, redlock_status status) {
  rl_decide(client, l, status);
}
static void rl_abandon(redlock *client, redlock_lock *l) { (void)client, (void)l; }
static void rl_fail_round(redlock *client, redlock_lock *l, redlock_status status, int may_grant) {
  (void)client, (void)l, (void)status, (void)may_grant;
}
static void rl_on_failed_round(redlock *client, redlock_lock *l, redlock_status status,
                               const rl_tally *t) {
  (void)client, (void)l, (void)status, (void)t;
}
static int64_t rl_round_due_ms(const redlock *client, const redlock_lock *l) {
  (void)client, (void)l;
  return any(i64);
}
static void rl_store_token(redlock_lock *l, const rl_command *c) { (void)l, (void)c; }

/* What it takes to hold a lock, or to hold it for longer. */
void a_deadline_needs_a_quorum_in_time(void) { /* R1 R5 R18 R22 */
  int64_t before, deadline;
  int i, yes = 0;
  (void)any_server();
  rl.quorum = SERVERS / 2 + 1;
  rl.now_ms = any(i64);
  lock.task = any(u8) % (RL_TASK_RELEASE + 1);
  lock.adopts = any(u8) & 1;
  lock.command = &command;
  before = lock.deadline_ms = lock.task == RL_TASK_SET ? 0 : any(i64);
  validity = any(i64);
  works = any(u8) & 1;
  given(before >= 0 && before < INT64_MAX / 2 && rl.now_ms >= lock.t1_ms);
  given(validity >= -3 && validity <= UINT32_MAX);
  deadline = lock.t1_ms + validity;
  for (i = 0; i < SERVERS; i++) yes += lock.votes[i] == REDLOCK_VOTE_YES;
  rl_evaluate_round_itself(&rl, &lock);
  if (lock.deadline_ms != before) {
    prove(lock.task != RL_TASK_RELEASE && yes >= 2);
    prove(lock.deadline_ms == deadline && deadline > before);
    prove(works && rl.now_ms < (lock.task == RL_TASK_SET ? deadline : before));
  }
  reaches(lock.deadline_ms != before && before);
  reaches(lock.deadline_ms != before && !before);
}

/* As `process` in tests/induct/adoption.py says it of one value and server. Where no connection was
   lost since the grant, the SET's answer came before this reply, whether it was noted or not. */
void a_reply_tells_of_the_key(void) { /* R29 */
  rl_server *s = any_server();
  rl_reply reply = any_reply(s);
  rl_mask maybe = lock.maybe_set, answered = lock.is.hold.answered_by;
  int to_set, yes, extends, missing;
  any_command(any(u8) & 1);
  lock.deadline_ms = 1;
  given(command.lock && command.kind != RL_TASK_RELEASE);
  extends = command.kind == RL_TASK_EXTEND;
  to_set = (command.sets_at >> s->index) & 1;
  yes = is_yes(s, reply);
  missing = !yes && ((to_set && !extends) || (!to_set && (answered & s->bit)) ||
                     s->reconnect_ms < lock.is.hold.grant_t1_ms);
  rl_on_command_reply(&rl, s, &command, reply);
  prove(!(lock.is.hold.answered_by & s->bit) ==
        !((answered & s->bit) || (extends && (to_set || yes))));
  prove((lock.maybe_set & s->bit) == (maybe & s->bit) || missing);
  prove(!(lock.maybe_set & ~maybe));
  prove(((lock.maybe_set ^ maybe) & ~s->bit) == 0);
  prove(((lock.is.hold.answered_by ^ answered) & ~s->bit) == 0);
  reaches((lock.maybe_set ^ maybe) && !to_set);
  reaches((lock.is.hold.answered_by ^ answered) && !to_set);
}

/* As `notice` and `send` say it: an extension is a SET only where maybe_set is clear. */
void a_value_is_sent_where_it_is_not(void) { /* R29 R12 */
  rl_server *s = any_server();
  rl_mask maybe = lock.maybe_set, answered = lock.is.hold.answered_by, to;
  int restarted = lock.t1_ms + rl.options.max_ttl_ms < s->votes_from_ms;
  if (lock.votes[s->index] == REDLOCK_VOTE_YES) answered |= s->bit;
  to = rl_without_key(&rl, &lock);
  prove(!(to & lock.maybe_set & s->bit));
  prove(!(to & lock.is.hold.answered_by & s->bit));
  prove((lock.maybe_set & s->bit) == (restarted ? 0 : maybe & s->bit));
  prove(!(lock.is.hold.answered_by & ~answered & s->bit));
  reaches((to & s->bit) && (maybe & s->bit));
}

static void rl_expect_replies(const redlock *client, rl_server *s, uint32_t replies) {
  (void)client, (void)s, (void)replies;
}

/* As `send` says it: with the first byte of a SET, the server may have the key. */
void a_set_that_is_sent_is_noted(void) { /* R7 R12 R29 */
  rl_server *s = any_server();
  rl_mask maybe = lock.maybe_set;
  rl_command *c = rl.commands;
  size_t sent = any(u16);
  int begins, to_set;
  any_command(0);
  rl.ring = rl.commands;
  rl.ring_tail = 1;
  *c = command;
  c->unsent_to = any(u8);
  c->wire_size = any(u16);
  s->sent_bytes = any(u16);
  begins = s->sent_bytes == 0;
  to_set = begins && (c->sets_at & s->bit);
  given(sent > 0 && s->sent_bytes < c->wire_size && sent <= c->wire_size - s->sent_bytes);
  given(!begins || (c->unsent_to & s->bit));
  rl_on_bytes_sent(&rl, s, sent);
  prove(lock.maybe_set == (to_set ? maybe | s->bit : maybe));
  prove(!(c->unsent_to & s->bit) || !begins);
  reaches(lock.maybe_set != maybe && command.kind == RL_TASK_EXTEND);
}
