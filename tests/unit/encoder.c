/* encoder.c: every byte of every command and of the handshake, spelled out, whole and in pieces.
 * (tests/prove looks at every resource, value, ttl and window.) */
#define REDLOCK_MAX_SERVERS 3
#define REDLOCK_MAX_RESOURCE 16
#define REDLOCK_MAX_COMMANDS 4

#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check_main.h"
#include "../inside.h"
#include "recording_io.h"
#include "reference_encoder.h"

static redlock rl;
static redlock_lock lock;
static redlock_options options;
static struct bytes want;

static void begin(const char *servers) {
  wire_reset();
  memset(&options, 0, sizeof options);
  options.io = &wire.io;
  want.size = 0;
  CHECK_EQ(redlock_init(&rl, servers, &options), REDLOCK_OK);
}

/* ---- Each command, spelled out --------------------------------------------------------------- */

TEST(set_is_spelled_so) {
  static const char spelled[] = "*6\r\n$3\r\nSET\r\n$10\r\ninvoice:42\r\n"
                                "$20\r\nABCDEFGHIJKLMNOPQRST\r\n"
                                "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n";
  begin("a");
  wire.entropy = 'A';
  add_text(&want, spelled);
  CHECK_EQ(redlock_acquire(&rl, &lock, "invoice:42", 10000, 0), REDLOCK_OK);
  CHECK(was_sent(0, &want));
}

static void begin_held(void) {
  begin("a");
  wire.entropy = 'A';
  CHECK_EQ(redlock_acquire(&rl, &lock, "invoice:42", 10000, 0), REDLOCK_OK);
  wire_forget(0);
}

TEST(release_is_spelled_so) {
  begin_held();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  add_text(&want, "*5\r\n$4\r\nEVAL\r\n");
  add_string(&want, INSIDE_RELEASE_SCRIPT);
  add_text(&want, "$1\r\n1\r\n$10\r\ninvoice:42\r\n$20\r\nABCDEFGHIJKLMNOPQRST\r\n");
  CHECK(was_sent(0, &want));
}

/* Where the server answered the trial of a command of its own. */
TEST(a_native_release_is_spelled_so) {
  int i;
  for (i = 0; i < 3; i++) {
    begin("a");
    if (i == 0) wire.delex = ":0\r\n";
    if (i == 1) wire.delifeq = ":0\r\n";
    wire.entropy = 'A';
    CHECK_EQ(redlock_acquire(&rl, &lock, "invoice:42", 10000, 0), REDLOCK_OK);
    wire_forget(0);
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    add_text(&want, i == 0 ? "*4\r\n$5\r\nDELEX\r\n$10\r\ninvoice:42\r\n$4\r\nIFEQ\r\n"
                    : i == 1 ? "*3\r\n$7\r\nDELIFEQ\r\n$10\r\ninvoice:42\r\n"
                             : "*5\r\n$4\r\nEVAL\r\n");
    if (i == 2) add_string(&want, INSIDE_RELEASE_SCRIPT);
    if (i == 2) add_text(&want, "$1\r\n1\r\n$10\r\ninvoice:42\r\n");
    add_text(&want, "$20\r\nABCDEFGHIJKLMNOPQRST\r\n");
    CHECK(was_sent(0, &want));
  }
}

TEST(extend_is_spelled_so) {
  begin_held();
  CHECK_EQ(redlock_extend(&rl, &lock, 4294967295u), REDLOCK_OK);
  add_text(&want, "*6\r\n$4\r\nEVAL\r\n");
  add_string(&want, INSIDE_EXTEND_SCRIPT);
  add_text(&want, "$1\r\n1\r\n$10\r\ninvoice:42\r\n$20\r\nABCDEFGHIJKLMNOPQRST\r\n");
  add_text(&want, "$10\r\n4294967295\r\n");
  CHECK(was_sent(0, &want));
}

static void add_fenced(unsigned char first, const char *token) {
  unsigned char value[VALUE_BYTES];
  value_of(value, first);
  add_words(&want, 10);
  add_string(&want, "EVAL");
  add_string(&want, INSIDE_FENCED_SCRIPT);
  add_text(&want, "$1\r\n2\r\n$10\r\ninvoice:42\r\n$16\r\ninvoice:42:fence\r\n");
  add_word(&want, value, VALUE_BYTES);
  add_text(&want, "$4\r\n4000\r\n");
  add_word(&want, value, VALUE_BYTES); /* R28: nothing is to be there */
  add_string(&want, token);
  add_text(&want, "$4\r\n5000\r\n");
}

/* The first asks for the clock. The token of the next ones is a quarter of max_ttl_ms ahead of it,
   and then one more, in all its digits. */
TEST(fenced_set_is_spelled_so) { /* R25 */
  const struct wire_server *s = &wire.server[0];
  begin("a");
  options.max_ttl_ms = 5000;
  options.fencing = 1;
  CHECK_EQ(redlock_init(&rl, "a", &options), REDLOCK_OK);
  wire.entropy = 'A';
  wire.eval = ":-1790000000000000\r\n";
  CHECK_EQ(redlock_acquire(&rl, &lock, "invoice:42", 4000, 0), REDLOCK_NO_QUORUM);
  add_fenced('A', "0");
  add_fenced('B', "1790000001250000");
  add_fenced('C', "1790000001250001");
  CHECK(s->sent_size > want.size);
  CHECK(memcmp(s->sent + s->sent_size - want.size, want.at, want.size) == 0);
}

/* A script that deletes or extends without having looked is worse than none. */
TEST(scripts_look_before_they_act) {
  const char *get = strstr(INSIDE_RELEASE_SCRIPT, "get");
  CHECK(get && strstr(get, "v==w and") && strstr(get, "del"));
  get = strstr(INSIDE_EXTEND_SCRIPT, "get");
  CHECK(get && strstr(get, "v==w and") && strstr(get, "pttl") && strstr(get, "pexpire"));
}

/* ---- The handshake --------------------------------------------------------------------------- */

static void handshake_is(const char *entry, const char *spelled) {
  const struct wire_server *s = &wire.server[0];
  redlock_close(&rl);
  CHECK_EQ(redlock_init(&rl, entry, &options), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  CHECK(s->sent_size > strlen(spelled) && memcmp(s->sent, spelled, strlen(spelled)) == 0);
  CHECK(memcmp(s->sent + strlen(spelled), "*6\r\n$3\r\nSET", 11) == 0);
}

TEST(auth_is_spelled_so) {
  begin("a");
  handshake_is("redis://:secret@a", "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n");
  handshake_is("redis://me:secret@a", "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\n");
  handshake_is("redis://m%45:s%0d%0A%25@a", "*3\r\n$4\r\nAUTH\r\n$2\r\nmE\r\n$4\r\ns\r\n%\r\n");
  options.password = "other%41"; /* options are taken as they are */
  handshake_is("a", "*2\r\n$4\r\nAUTH\r\n$8\r\nother%41\r\n");
  options.username = "you";
  handshake_is("a", "*3\r\n$4\r\nAUTH\r\n$3\r\nyou\r\n$8\r\nother%41\r\n");
  handshake_is("redis://me:secret@a", "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\n");
  handshake_is("redis://me@a", "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$8\r\nother%41\r\n");
}

TEST(select_is_spelled_so) {
  begin("a");
  handshake_is("redis://a/0", "");
  handshake_is("redis://a/7", "*2\r\n$6\r\nSELECT\r\n$1\r\n7\r\n");
  handshake_is("redis://a/123", "*2\r\n$6\r\nSELECT\r\n$3\r\n123\r\n");
}

/* R24's question. The script is proved on real servers, here only what frames it. */
#define ASKS(size, word, base)                                                                     \
  "*5\r\n$4\r\nEVAL\r\n$155\r\n" INSIDE_INFO_SCRIPT "\r\n$1\r\n0\r\n" \
  "$" size "\r\n" word "\r\n$2\r\n" base "\r\n"

TEST(info_is_spelled_so) {
  begin("a");
  options.max_ttl_ms = 5000;
  handshake_is("a", ASKS("6", "run_id", "16") ASKS("17", "uptime_in_seconds", "10"));
}

TEST(the_whole_handshake_keeps_its_order) {
  begin("a");
  options.max_ttl_ms = 5000;
  handshake_is("redis://u:p@a/9",
               "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n9\r\n"
               ASKS("6", "run_id", "16") ASKS("17", "uptime_in_seconds", "10"));
}

/* Longer than any window that it may be sent through, in pieces of every size. */
TEST(a_handshake_of_any_length_in_any_pieces) {
  char password[400];
  size_t size, most;
  for (size = 1; size < sizeof password; size += 7) {
    for (most = 1; most < 200; most += 11) {
      memset(password, 'p', sizeof password);
      password[size] = '\0';
      begin("redis://a/7");
      options.password = password;
      redlock_close(&rl);
      CHECK_EQ(redlock_init(&rl, "redis://a/7", &options), REDLOCK_OK);
      wire.server[0].send_most = most;
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
      add_words(&want, 2);
      add_string(&want, "AUTH");
      add_string(&want, password);
      add_text(&want, "*2\r\n$6\r\nSELECT\r\n$1\r\n7\r\n");
      CHECK(memcmp(wire.server[0].sent, want.at, want.size) == 0);
      CHECK(memcmp(wire.server[0].sent + want.size, "*6\r\n$3\r\nSET", 11) == 0);
    }
  }
}

/* ---- Commands in pieces ---------------------------------------------------------------------- */

/* Until all servers have got what is wanted; slow ones take many turns. */
static void flush(void) {
  int turns, i;
  for (turns = 0; turns < 10000; turns++) {
    for (i = 0; i < REDLOCK_MAX_SERVERS && was_sent(i, &want);) i++;
    if (i == REDLOCK_MAX_SERVERS) break;
    (void)redlock_wait(&rl, 0);
  }
  (void)redlock_wait(&rl, 0); /* the last answers */
  for (i = 0; i < REDLOCK_MAX_SERVERS; i++) {
    CHECK(was_sent(i, &want));
    wire_forget(i);
  }
  want.size = 0;
}

static void one_hold(const char *resource, uint32_t ttl_ms) {
  unsigned char value[VALUE_BYTES];
  value_of(value, wire.entropy);
  add_set(&want, resource, value, ttl_ms);
  CHECK_EQ(redlock_acquire(&rl, &lock, resource, ttl_ms, 0), REDLOCK_OK);
  flush();
  add_extend(&want, resource, value, ttl_ms + 1);
  CHECK_EQ(redlock_extend(&rl, &lock, ttl_ms + 1), REDLOCK_OK);
  flush();
  add_release(&want, resource, value);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  flush();
}

/* Resources of 1 to 16 bytes, ttls of 1 to 10 digits. */
static void hold_sixteen(size_t most) {
  static const char name[] = "abcdefghijklmnop";
  uint32_t ttl_ms = 9;
  int i;
  begin("a,b,c");
  for (i = 1; i < REDLOCK_MAX_SERVERS; i++) wire.server[i].send_most = most * (size_t)i;
  for (i = 0; i < 16; i++) {
    one_hold(name + i, ttl_ms);
    ttl_ms = ttl_ms == 9 ? 42 : ttl_ms == 4200000000u ? 9 : ttl_ms * 10;
  }
}

TEST(commands_leave_whole) { hold_sixteen(0); }
TEST(commands_leave_in_pieces_of_1_and_2) { hold_sixteen(1); }
TEST(commands_leave_in_pieces_of_13_and_26) { hold_sixteen(13); }
