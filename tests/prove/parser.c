/* parser.c: the reply parser. Most of it is by induction: one byte, from any state that is_legal
   allows. So it holds for replies of any length, from anyone, in any pieces. */
#include "inside.h"

/* What is true of a parser between two bytes. */
static int is_legal(const rl_parser *p) {
  static const uint32_t powers[] = {1, 10, 100, 1000, 10000};
  if (p->state > RL_AT_BULK || p->negative > 1) return 0;
  if (p->state == RL_AT_TYPE) return 1;
  if (p->elements_left == 0 && p->outer_type != p->type &&
      !((p->outer_type == '$' || p->outer_type == '=') && p->type == '_'))
    return 0;
  if (p->state == RL_AT_BULK)
    return p->type == '_' && p->negative && p->count >= 1 && p->count <= 9999;
  if (p->count > RL_MAX_LINE) return 0;
  if (p->type == '+' || p->type == '-') return !p->negative;
  if (p->type == '_') return 1;
  if (p->count < p->negative) return 0; /* a sign is one of the bytes */
  return p->count > RL_MAX_SIZE_DIGITS || p->number < powers[p->count];
}

void a_new_parser_is_legal(void) {
  rl_parser p;
  memset(&p, 0, sizeof p);
  prove(is_legal(&p) && p.state == RL_AT_TYPE && p.elements_left == 0);
  reaches(is_legal(&p));
}

void a_legal_parser_stays_legal(void) {
  rl_parser p = any(parser);
  rl_reply reply;
  given(is_legal(&p));
  reply = rl_parse(&p, any(char));
  prove(reply >= RL_PARSE_MORE && reply <= RL_PUSH);
  if (reply == RL_PARSE_INVALID) return; /* the connection ends */
  prove(is_legal(&p));
  if (reply >= RL_REPLY_OK) /* another begins */
    prove(p.state == RL_AT_TYPE && p.elements_left == 0);
  if (reply == RL_PARSE_ERROR_TEXT)
    prove(p.count >= 1 && p.count <= RL_MAX_LINE && p.elements_left == 0);
  reaches(reply == RL_REPLY_OK);
  reaches(reply == RL_PUSH);
  reaches(reply == RL_PARSE_ERROR_TEXT && p.count == RL_MAX_LINE);
  reaches(reply == RL_PARSE_MORE && p.state == RL_AT_BULK && p.count == 9999);
}

/* Each element ends: this falls with each of its bytes. A line has at most RL_MAX_LINE of them,
   a bulk four digits' worth. */
static uint32_t bytes_left(const rl_parser *p) {
  int behind_bulk = p->type == '_' && p->negative;
  if (p->state == RL_AT_TYPE) return 400000;
  if (p->state == RL_AT_LINE) return (behind_bulk ? 1 : 300000) + RL_MAX_LINE - p->count;
  if (p->state == RL_AT_BULK) return 100000 + p->count;
  return p->type == '$' || p->type == '=' ? 250000 : 0;
}

void each_element_ends(void) {
  rl_parser p = any(parser), before = p;
  rl_reply reply;
  given(is_legal(&p));
  reply = rl_parse(&p, any(char));
  reaches(reply != RL_PARSE_INVALID && before.state == RL_AT_BULK && p.state == RL_AT_LINE);
  if (reply == RL_PARSE_INVALID || p.state == RL_AT_TYPE) return;
  prove(bytes_left(&p) < bytes_left(&before));
}

/* Of an aggregate only the end is told, when its last element has ended, and it is no vote. */
void an_aggregate_is_never_a_yes(void) { /* R4 R26 */
  rl_parser p = any(parser), before = p;
  rl_reply reply;
  int ended;
  given(is_legal(&p) && p.elements_left > 0 && p.elements_left < UINT32_MAX - 200000);
  reply = rl_parse(&p, any(char));
  prove(reply == RL_PARSE_MORE || reply == RL_PARSE_INVALID || reply == RL_REPLY_OTHER ||
        reply == RL_PUSH);
  if (reply == RL_PARSE_INVALID) return;
  ended = p.state == RL_AT_TYPE;
  prove(reply == RL_PUSH ? p.elements_left == 0 && before.outer_type == '>' : 1);
  prove((reply != RL_PARSE_MORE) == (p.elements_left == 0));
  prove(p.elements_left >= before.elements_left - (ended ? 1 : 0)); /* or as many more as it has */
  if (!ended) prove(p.elements_left == before.elements_left);
  prove(p.outer_type == before.outer_type);
  if (ended) /* R8: where it has one too few, the next reply stands */
    prove(before.type != '+' && before.type != '-');
  reaches(reply == RL_PUSH);
  reaches(reply == RL_REPLY_OTHER);
  reaches(p.elements_left > before.elements_left);
}

/* R4: a yes to a SET is +OK, one to an extension or release is a number above zero, a fenced one a
   number below the token; no other reply's last byte, however it began, is a yes. */
void a_yes_is_its_own_reply(void) {
  static redlock rl;
  rl_server s = any(server);
  rl_command c;
  rl_reply reply;
  redlock_vote vote;
  given(is_legal(&s.parser));
  c.kind = any(u8);
  given(c.kind <= RL_TASK_RELEASE);
  c.token = any(u64);
  rl.options.fencing = any(u32);
  s.bit = 1;
  c.sets_at = c.kind == RL_TASK_SET || (c.kind == RL_TASK_EXTEND && (any(u8) & 1)); /* R29 */
  reply = rl_parse(&s.parser, any(char));
  if (reply < RL_REPLY_OK || reply == RL_PUSH) return;
  vote = rl_vote_of(&rl, &s, &c, reply);
  reaches(vote == REDLOCK_VOTE_YES && c.kind == RL_TASK_SET && rl.options.fencing);
  reaches(vote == REDLOCK_VOTE_YES && c.kind == RL_TASK_RELEASE);
  reaches(vote == REDLOCK_VOTE_YES && c.kind == RL_TASK_EXTEND && c.sets_at);
  reaches(vote == REDLOCK_VOTE_TAKEN);
  if (vote != REDLOCK_VOTE_YES) return;
  if (!c.sets_at || (c.kind == RL_TASK_SET && rl.options.fencing))
    prove(s.parser.outer_type == ':' && s.parser.number > 0 && !s.parser.negative);
  else prove(s.parser.outer_type == '+' && s.parser.count == 2 && s.parser.hash == 'O' * 257 + 'K');
  if (c.kind == RL_TASK_SET && rl.options.fencing) prove(s.parser.number < c.token);
}

/* Every string of up to N bytes against the grammar, said as plain comparisons. */
#ifndef N
#define N 7
#endif

static int is(const char *bytes, size_t size, const char *text) {
  size_t i = 0;
  for (; i < size; i++)
    if (text[i] != bytes[i] || !text[i]) return 0;
  return text[i] == 0;
}

/* A type, perhaps a sign, digits, CR LF: what they say, or -1. */
static int32_t number_of(const char *bytes, size_t size, char type, int negative) {
  int32_t value = 0;
  size_t i, from = negative ? 2 : 1;
  if (size < from + 3 || bytes[0] != type || (negative && bytes[1] != '-')) return -1;
  if (bytes[size - 2] != '\r' || bytes[size - 1] != '\n') return -1;
  for (i = from; i < size - 2; i++) {
    if (bytes[i] < '0' || bytes[i] > '9') return -1;
    value = value * 10 + (bytes[i] - '0');
  }
  return value;
}

static int is_nil(const char *bytes, size_t size) {
  return is(bytes, size, "_\r\n") || number_of(bytes, size, '$', 1) == 1;
}

void a_reply_means_what_it_says(void) { /* R4 */
  char bytes[N];
  size_t size = 0;
  int32_t positive, negative;
  rl_parser p;
  rl_reply reply = RL_PARSE_MORE;
  memset(&p, 0, sizeof p);
  while (size < N && reply <= RL_PARSE_ERROR_TEXT) {
    bytes[size] = any(char);
    reply = rl_parse(&p, bytes[size++]);
  }
  positive = number_of(bytes, size, ':', 0);
  negative = number_of(bytes, size, ':', 1);
  prove((reply == RL_REPLY_OK) == is(bytes, size, "+OK\r\n"));
  prove((reply == RL_REPLY_NIL) == is_nil(bytes, size));
  prove((reply == RL_REPLY_POSITIVE) == (positive > 0));
  if (reply == RL_REPLY_POSITIVE) prove((int32_t)p.number == positive && !p.negative);
  if (reply == RL_REPLY_OTHER && p.outer_type == ':')
    prove(p.number == 0 || (p.negative && (int32_t)p.number == negative));
  if (reply == RL_REPLY_ERROR) prove(bytes[0] == '-');
  if (reply == RL_PUSH) prove(bytes[0] == '>');
  if (reply >= RL_REPLY_OK) prove(p.outer_type == (unsigned char)bytes[0]);
  if (reply >= RL_REPLY_OK) prove(bytes[size - 1] == '\n');
  reaches(reply == RL_REPLY_OK);
  reaches(reply == RL_REPLY_NIL && bytes[0] == '$');
  reaches(reply == RL_REPLY_POSITIVE && size == N);
  reaches(reply == RL_REPLY_OTHER && p.outer_type == ':' && p.negative && p.number == 12);
  reaches(reply == RL_PUSH);
}

/* An error's text stays within its room and ends there, whatever the byte. */
void an_errors_text_fits(void) { /* R15 */
  rl_server s = any(server);
  given(s.parser.count >= 1 && s.parser.count <= RL_MAX_LINE);
  s.error[REDLOCK_MAX_ERROR - 1] = 0;
  rl_capture_error_byte(&s, any(char));
  prove(s.error[REDLOCK_MAX_ERROR - 1] == 0);
  reaches(s.parser.count == REDLOCK_MAX_ERROR - 1 && s.error[REDLOCK_MAX_ERROR - 2] == 'x');
}
