/* parser.c: replies of every sort, whole, split, merged and spoilt, one by one. (tests/fuzz
 * compares the parser with a second one, and tests/prove looks at every reply.) */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check_main.h"
#include "../inside.h"
#include "recording_io.h"

#define REPLY(text, means, vote) { text, sizeof(text) - 1, means, vote }

/* What each reply is, and what a server that answers a SET with it votes. */
static const struct reply {
  const char *bytes;
  size_t size;
  inside_reply means;
  redlock_vote vote;
} replies[] = {
  REPLY("+OK\r\n", INSIDE_OK, REDLOCK_VOTE_YES),
  REPLY("+OKAY\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("+OK \r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("+O\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("+K\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("+ok\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("+OQOK\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("+\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("+QUEUED\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("-ERR unknown command 'SET'\r\n", INSIDE_ERROR, REDLOCK_VOTE_ERROR),
  REPLY("-OK\r\n", INSIDE_ERROR, REDLOCK_VOTE_ERROR),
  REPLY("-\r\n", INSIDE_ERROR, REDLOCK_VOTE_ERROR),
  REPLY(":0\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY(":000\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY(":1\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR),
  REPLY(":007\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR),
  REPLY(":-1\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY(":-99999999999\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY(":99999999999\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR),
  REPLY(":4294967296\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR),
  REPLY(":18446744073709551616\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR),
  REPLY("$-1\r\n", INSIDE_NIL, REDLOCK_VOTE_TAKEN),
  REPLY("$0\r\n\r\n", INSIDE_OTHER, REDLOCK_VOTE_TAKEN),
  REPLY("$1\r\n\r\r\n", INSIDE_OTHER, REDLOCK_VOTE_TAKEN),
  REPLY("$2\r\nOK\r\n", INSIDE_OTHER, REDLOCK_VOTE_TAKEN),
  REPLY("$11\r\n+OK\r\n:1\r\n\r\n\r\n", INSIDE_OTHER, REDLOCK_VOTE_TAKEN),
  REPLY("_\r\n", INSIDE_NIL, REDLOCK_VOTE_TAKEN), /* from here on: RESP3 */
  REPLY("*0\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("*2\r\n_\r\n$-1\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("%1\r\n+OK\r\n*2\r\n%1\r\n:1\r\n-x\r\n*0\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR),
  REPLY("$3\r\n\0\xff\n\r\n", INSIDE_OTHER, REDLOCK_VOTE_TAKEN)
};

enum { REPLIES = sizeof replies / sizeof replies[0] };

/* Between any two bytes the parser moves: nothing but its own state may count. */
static inside_reply feed(inside_parser *parser, const char *bytes, size_t size, size_t *taken) {
  size_t i;
  int pushed = 0;
  for (i = 0; i < size; i++) {
    inside_parser moved = *parser;
    inside_reply reply;
    memset(parser, 0xa5, sizeof *parser);
    reply = inside_parse(&moved, bytes[i]);
    *parser = moved;
    *taken = i + 1;
    if (reply == INSIDE_PUSHED) pushed = 1; /* it ends where the next reply begins */
    else if (reply != INSIDE_MORE) return reply;
    if (pushed && inside_is_between(parser)) return INSIDE_PUSHED;
  }
  return INSIDE_MORE;
}

/* The same, of a parser that has read nothing yet. */
static inside_reply feed_anew(const char *bytes, size_t size, size_t *taken) {
  inside_parser parser;
  memset(&parser, 0, sizeof parser);
  *taken = 0;
  return feed(&parser, bytes, size, taken);
}

static void show(const char *bytes, size_t size) {
  size_t i;
  printf("    with \"");
  for (i = 0; i < size; i++)
    printf(bytes[i] >= ' ' && bytes[i] <= '~' ? "%c" : "\\x%02x", (unsigned char)bytes[i]);
  printf("\"\n");
}

/* ---- Good replies ---------------------------------------------------------------------------- */

TEST(each_reply_means_what_it_should) {
  int i;
  for (i = 0; i < REPLIES; i++) {
    size_t taken;
    CHECK_EQ(feed_anew(replies[i].bytes, replies[i].size, &taken), replies[i].means);
    if (!CHECK_EQ(taken, replies[i].size)) show(replies[i].bytes, replies[i].size);
  }
}

TEST(a_cut_reply_means_nothing_yet) {
  size_t taken;
  int i;
  for (i = 0; i < REPLIES; i++)
    CHECK_EQ(feed_anew(replies[i].bytes, replies[i].size - 1, &taken), INSIDE_MORE);
}

/* Each behind each other one. */
TEST(merged_replies_are_told_apart) {
  char bytes[96];
  int i, j;
  for (i = 0; i < REPLIES; i++)
    for (j = 0; j < REPLIES; j++) {
      inside_parser parser;
      size_t taken, both = replies[i].size + replies[j].size;
      memset(&parser, 0, sizeof parser);
      memcpy(bytes, replies[i].bytes, replies[i].size);
      memcpy(bytes + replies[i].size, replies[j].bytes, replies[j].size);
      CHECK_EQ(feed(&parser, bytes, both, &taken), replies[i].means);
      CHECK_EQ(taken, replies[i].size);
      CHECK_EQ(feed(&parser, bytes + taken, both - taken, &taken), replies[j].means);
      CHECK_EQ(taken, replies[j].size);
    }
}

/* ---- Bad replies ----------------------------------------------------------------------------- */

static void is_bad(const char *bytes) {
  size_t taken;
  if (!CHECK_EQ(feed_anew(bytes, strlen(bytes), &taken), INSIDE_BAD)) show(bytes, strlen(bytes));
}

TEST(what_no_server_says_is_bad) {
  is_bad("HTTP/1.1 400 Bad Request\r\n");
  is_bad("\r\n");
  is_bad("*\r\n");
  is_bad("*-2\r\n");
  is_bad("*x\r\n");
  is_bad("*-1\r\n");
  is_bad(">-1\r\n");
  is_bad("*1\r\nx1\r\n");
  is_bad(">2\r\n$1\r\na\r\nxx");
  is_bad("%1\r\n:1\r\n:x");
  is_bad("_1\r\n");
  is_bad("_-\r\n");
  is_bad("#t\r\n"); /* of RESP3 too, but in no answer to what we ask */
  is_bad(",1.5\r\n");
  is_bad("(349\r\n");
  is_bad("=6\r\ntxt:OK\r\n");
  is_bad("!2\r\nOK\r\n");
  is_bad("~1\r\n+OK\r\n");
  is_bad("|1\r\n");
  is_bad("$?\r\n");
  is_bad("*100000\r\n");
  is_bad("%100000\r\n");
  is_bad("+OK\n");
  is_bad("+OK\rx");
  is_bad("+OK\r\r\n");
  is_bad(":\r\n");
  is_bad(":-\r\n");
  is_bad(":1-\r\n");
  is_bad(":--1\r\n");
  is_bad(":+1\r\n");
  is_bad(": 1\r\n");
  is_bad(":1.0\r\n");
  is_bad("$\r\n");
  is_bad("$-\r\n");
  is_bad("$-2\r\n");
  is_bad("$-11\r\n");
  is_bad("$-0\r\n");
  is_bad("$0\r\n+");
  is_bad("$0\r\n\r+");
  is_bad("$1\r\nab");
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

/* How many bytes of `fill` a line of that type may have; -1 = there seems to be no end. */
static long longest_line(char type, char fill) {
  inside_parser parser;
  long size;
  memset(&parser, 0, sizeof parser);
  CHECK_EQ(inside_parse(&parser, type), INSIDE_MORE);
  for (size = 0; size < 1 << 20; size++)
    if (inside_parse(&parser, fill) == INSIDE_BAD) return size;
  return -1;
}

TEST(lines_are_bounded) {
  CHECK(longest_line('+', 'x') >= 100);
  CHECK(longest_line('-', 'x') >= 1024); /* a script's error tells where it happened */
  CHECK(longest_line(':', '9') >= 20);
  CHECK(longest_line(':', '0') >= 20);
  CHECK(longest_line('$', '0') >= 1);
}

static inside_reply size_of_a_bulk(const char *digits) {
  inside_parser parser;
  size_t taken = 0;
  memset(&parser, 0, sizeof parser);
  CHECK_EQ(inside_parse(&parser, '$'), INSIDE_MORE);
  CHECK_EQ(feed(&parser, digits, strlen(digits), &taken), INSIDE_MORE);
  CHECK_EQ(inside_parse(&parser, '\r'), INSIDE_MORE);
  return inside_parse(&parser, '\n');
}

TEST(bulks_are_bounded) {
  CHECK_EQ(size_of_a_bulk("16384"), INSIDE_MORE); /* a long INFO */
  CHECK_EQ(size_of_a_bulk("1048577"), INSIDE_BAD);
  CHECK_EQ(size_of_a_bulk("999999999"), INSIDE_BAD);
  CHECK_EQ(size_of_a_bulk("4294967295"), INSIDE_BAD);
  CHECK_EQ(size_of_a_bulk("4294967296"), INSIDE_BAD); /* 0 in 32 bits */
  CHECK_EQ(size_of_a_bulk("4294967301"), INSIDE_BAD);
  CHECK_EQ(size_of_a_bulk("18446744073709551617"), INSIDE_BAD);
}

TEST(a_bulk_ends_where_it_said) {
  inside_parser parser;
  long i;
  memset(&parser, 0, sizeof parser);
  for (i = 0; i < 8; i++) CHECK_EQ(inside_parse(&parser, "$16384\r\n"[i]), INSIDE_MORE);
  for (i = 0; i < 16385; i++) CHECK_EQ(inside_parse(&parser, '\r'), INSIDE_MORE);
  CHECK_EQ(inside_parse(&parser, '\n'), INSIDE_OTHER);
  CHECK_EQ(inside_parse(&parser, '+'), INSIDE_MORE);
}

/* ---- Through the public calls ---------------------------------------------------------------- */

static redlock rl;
static redlock_lock lock;

static void begin(void) {
  redlock_options options;
  wire_reset();
  memset(&options, 0, sizeof options);
  options.io = &wire.io;
  CHECK_EQ(redlock_init(&rl, "a", &options), REDLOCK_OK);
}

static redlock_status status_of(redlock_vote vote) {
  if (vote == REDLOCK_VOTE_YES) return REDLOCK_OK;
  return vote == REDLOCK_VOTE_TAKEN ? REDLOCK_TAKEN : REDLOCK_NO_QUORUM;
}

/* With a 0 byte in it, a reply can not be an answer of the wire's. */
static int is_text(const struct reply *r) { return strlen(r->bytes) == r->size; }

TEST(a_set_is_voted_on_in_pieces_of_any_size) {
  int i;
  for (i = 0; i < REPLIES; i++) {
    size_t most;
    for (most = 1; is_text(&replies[i]) && most <= replies[i].size; most++) {
      begin();
      wire.set = replies[i].bytes;
      wire.recv_most = most;
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), status_of(replies[i].vote));
      if (!CHECK_EQ(lock.votes[0], replies[i].vote)) show(replies[i].bytes, replies[i].size);
    }
  }
}

static redlock_vote vote_of_a_script(const struct reply *reply) {
  if (reply->means == INSIDE_POSITIVE) return REDLOCK_VOTE_YES;
  return reply->vote == REDLOCK_VOTE_TAKEN ? REDLOCK_VOTE_TAKEN : REDLOCK_VOTE_ERROR;
}

TEST(a_script_is_voted_on_in_pieces_of_any_size) {
  int i;
  for (i = 0; i < REPLIES; i++) {
    size_t most;
    for (most = 1; is_text(&replies[i]) && most <= replies[i].size; most++) {
      begin();
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
      wire.eval = replies[i].bytes;
      wire.recv_most = most;
      (void)redlock_extend(&rl, &lock, 1000);
      if (!CHECK_EQ(lock.votes[0], vote_of_a_script(&replies[i])))
        show(replies[i].bytes, replies[i].size);
    }
  }
}

TEST(a_malformed_reply_ends_the_connection) { /* R8 */
  begin();
  wire.set = "|0\r\n";
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
  CHECK(wire.calls[WIRE_CLOSE] > 0);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0');
}

TEST(a_reply_too_many_ends_the_connection) { /* R8 */
  begin();
  wire.set = "+OK\r\n+OK\r\n";
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  (void)redlock_step(&rl);
  CHECK(wire.calls[WIRE_CLOSE] > 0);
}
