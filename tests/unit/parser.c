/* parser.c: replies of every sort, as examples. tests/prove looks at every reply, and tests/fuzz at
 * whole clients that get them in pieces. */
#include "client.h"

/* What each reply is, and what a server that answers a SET with it votes. */
static const struct reply {
  const char *bytes;
  inside_reply means;
  redlock_vote vote;
} replies[] = {
  {"+OK\r\n", INSIDE_OK, REDLOCK_VOTE_YES},
  {"+OKAY\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {"+ok\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {"+\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {"+QUEUED\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {"-ERR unknown command 'SET'\r\n", INSIDE_ERROR, REDLOCK_VOTE_ERROR},
  {"-\r\n", INSIDE_ERROR, REDLOCK_VOTE_ERROR},
  {":000\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {":007\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR},
  {":-1\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {":4294967296\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR},
  {":18446744073709551616\r\n", INSIDE_POSITIVE, REDLOCK_VOTE_ERROR},
  {"$-1\r\n", INSIDE_NIL, REDLOCK_VOTE_TAKEN},
  {"$0\r\n\r\n", INSIDE_OTHER, REDLOCK_VOTE_TAKEN},
  {"$4\r\n\r\n:1\r\n", INSIDE_OTHER, REDLOCK_VOTE_TAKEN},
  {"$11\r\n+OK\r\n:1\r\n\r\n\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR}, /* longer than an age */
  {"_\r\n", INSIDE_NIL, REDLOCK_VOTE_TAKEN}, /* from here on: RESP3 */
  {"*0\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {"*2\r\n_\r\n$-1\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {"%1\r\n:2\r\n*2\r\n%1\r\n:1\r\n_\r\n*0\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR},
  {"*5\r\n#t\r\n,1.5\r\n,-inf\r\n(-3490000000000\r\n=6\r\ntxt:OK\r\n", INSIDE_OTHER,
   REDLOCK_VOTE_ERROR}, /* what nobody looks at */
  {"*2\r\n~2\r\n:1\r\n:2\r\n|1\r\n:1\r\n:2\r\n:3\r\n", INSIDE_OTHER, REDLOCK_VOTE_ERROR}
};

enum { REPLIES = sizeof replies / sizeof replies[0] };

/* What the bytes come to, and how many of them that took. Between any two bytes the parser moves:
   nothing but its own state may count. */
static inside_reply feed(const char *bytes, size_t size, size_t *taken) {
  inside_parser parser;
  inside_reply reply = INSIDE_MORE;
  memset(&parser, 0, sizeof parser);
  for (*taken = 0; *taken < size && reply == INSIDE_MORE; ++*taken) {
    inside_parser moved = parser;
    memset(&parser, 0xa5, sizeof parser);
    reply = inside_parse(&moved, bytes[*taken]);
    parser = moved;
    if (reply == INSIDE_PUSHED && !inside_is_between(&parser)) reply = INSIDE_MORE;
  }
  return reply;
}

static void show(int good, const char *bytes) {
  if (good) return;
  printf("    with \"");
  for (; *bytes; bytes++)
    printf(*bytes >= ' ' && *bytes <= '~' ? "%c" : "\\x%02x", (unsigned char)*bytes);
  printf("\"\n");
}

TEST(each_reply_means_what_it_should) { /* R4 */
  int i;
  for (i = 0; i < REPLIES; i++) {
    size_t taken, size = strlen(replies[i].bytes);
    show(CHECK_EQ(feed(replies[i].bytes, size - 1, &taken), INSIDE_MORE), replies[i].bytes);
    show(CHECK_EQ(feed(replies[i].bytes, size, &taken), replies[i].means), replies[i].bytes);
    show(CHECK_EQ(taken, size), replies[i].bytes);
  }
}

TEST(what_no_server_says_is_bad) { /* R8 */
  static const char *const bad[] = {
    "HTTP/1.1 400 Bad Request\r\n", "\r\n", "+OK\n", "+OK\rx", ":\r\n", ":--1\r\n", ":1.0\r\n",
    "$\r\n", "$-2\r\n", "$1\r\nab", "$0\r\n\r+", "*\r\n", "*-1\r\n", ">-1\r\n", "_1\r\n",
    "#t\r\n", ",1.5\r\n", "(349\r\n", /* of RESP3, but no answer to us */
    "!2\r\nOK\r\n", "$?\r\n", "*10000\r\n", "$1048577\r\n",
    "*1\r\n+OK\r\n", "%1\r\n:1\r\n+x\r\n", "*2\r\n:1\r\n-x", "*1\r\n~1\r\n+OK\r\n", /* too short */
    ">2\r\n:1\r\n+OK\r\n", ">1\r\n-x", /* so is a push that takes the next reply in */
    "$4294967301\r\n", "$18446744073709551617\r\n"
  };
  size_t i, taken;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
    show(CHECK_EQ(feed(bad[i], strlen(bad[i]), &taken), INSIDE_BAD), bad[i]);
}

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

TEST(a_line_is_bounded) {
  CHECK(longest_line('+', 'x') >= 100);
  CHECK(longest_line('-', 'x') >= 1024); /* a script's error tells where it happened */
  CHECK(longest_line(':', '9') >= 20);
  CHECK(longest_line('$', '0') >= 1);
}

TEST(a_bulk_ends_where_it_said) {
  static char bulk[9999 + 9] = "$9999\r\n";
  size_t taken;
  memset(bulk + 7, '\r', 10000);
  bulk[10007] = '\n';
  CHECK_EQ(feed(bulk, sizeof bulk, &taken), INSIDE_OTHER);
  CHECK_EQ(taken, sizeof bulk);
}

/* ---- Through the public calls ---------------------------------------------------------------- */

/* To a SET. (A script says yes with a number: fake/stream.c, as replies come in pieces there.) */
TEST(a_reply_is_a_vote) { /* R4 R8 */
  const struct reply *r;
  for (r = replies; r < replies + REPLIES; r++) {
    begin("a");
    wire.set = r->bytes;
    CHECK_EQ(acquire(1000) == REDLOCK_OK, r->vote == REDLOCK_VOTE_YES);
    show(CHECK_EQ(lock.votes[0], r->vote), r->bytes);
  }
}

TEST(a_malformed_reply_ends_the_connection) { /* R8 */
  begin("a");
  wire.set = "#t\r\n";
  CHECK_EQ(acquire(1000), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
  CHECK(wire.calls[WIRE_CLOSE] > 0);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0');
}
