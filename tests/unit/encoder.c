/* encoder.c: every command and the handshake, spelled out as examples. tests/prove shows that each
 * is RESP, for any resource, value, ttl and token, and that what leaves in pieces is what would
 * leave at once. */
#include "client.h"

static char want[8192];
static size_t want_size;

/* The values are of letters. */
static void begin_letters(void) {
  begin("a");
  wire.entropy = 'A';
  want_size = 0;
}

static void add_bytes(const char *at, size_t size) {
  memcpy(want + want_size, at, size);
  want_size += size;
}

static void add(const char *text) { add_bytes(text, strlen(text)); }

/* As a bulk string. */
static void add_word(const char *at, size_t size) {
  char header[24];
  snprintf(header, sizeof header, "$%zu\r\n", size);
  add(header);
  add_bytes(at, size);
  add("\r\n");
}

/* What a script does is proved on real servers, here only what frames it. */
static void add_script(const char *script) { add_word(script, strlen(script)); }

/* The last that was sent is what is wanted. */
static void was_sent(void) {
  const struct wire_server *s = &wire.server[0];
  CHECK(s->sent_size >= want_size &&
        memcmp(s->sent + s->sent_size - want_size, want, want_size) == 0);
}

/* ---- Each command ---------------------------------------------------------------------------- */

#define NAME "$10\r\ninvoice:42\r\n"

/* The value, and a newcomer's age, which hangs on its last letter (R26). */
static void add_value(const char *letters) {
  char stored[23] = {0};
  memcpy(stored, letters, 20);
  stored[22] = (char)(letters[19] / 16 + 1);
  add_word(stored, sizeof stored);
}

#define LETTERS "ABCDEFGHIJKLMNOPQRST"

static void hold(void) {
  CHECK_EQ(redlock_acquire(&rl, &lock, "invoice:42", 10000, 0), REDLOCK_OK);
}

TEST(a_set_is_spelled_so) {
  begin_letters();
  hold();
  add("*6\r\n$3\r\nSET\r\n" NAME);
  add_value(LETTERS);
  add("$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n");
  was_sent();
  CHECK_EQ(wire.server[0].sent_size, want_size);
}

/* By a command of the server's own, where HELLO tells that it has one. */
#define HELLO(server)                                                                              \
  "%4\r\n$6\r\nserver\r\n" server "\r\n$7\r\nversion\r\n$5\r\n9.1.2\r\n"                           \
  "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"

TEST(a_release_is_spelled_so) {
  int form;
  for (form = 0; form < 3; form++) {
    begin_letters();
    if (form == 1) wire.hello = HELLO("$5\r\nredis");
    if (form == 2) wire.hello = HELLO("$6\r\nvalkey");
    hold();
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    add(form == 1 ? "*4\r\n$5\r\nDELEX\r\n" NAME "$4\r\nIFEQ\r\n"
        : form == 2 ? "*3\r\n$7\r\nDELIFEQ\r\n" NAME : "*5\r\n$4\r\nEVAL\r\n");
    if (form == 0) add_script(INSIDE_RELEASE_SCRIPT);
    if (form == 0) add("$1\r\n1\r\n" NAME);
    add_value(LETTERS);
    was_sent();
  }
}

TEST(an_extension_is_spelled_so) {
  begin_letters();
  hold();
  CHECK_EQ(redlock_extend(&rl, &lock, 4294967295u), REDLOCK_OK);
  add("*6\r\n$4\r\nEVAL\r\n");
  add_script(INSIDE_EXTEND_SCRIPT);
  add("$1\r\n1\r\n" NAME);
  add_value(LETTERS);
  add("$10\r\n4294967295\r\n");
  was_sent();
}

/* The second time without the age: nothing is to be there that begins so (R28). */
static void add_fenced(const char *letters, const char *token) {
  add("*10\r\n$4\r\nEVAL\r\n");
  add_script(INSIDE_FENCED_SCRIPT);
  add("$1\r\n2\r\n" NAME "$16\r\ninvoice:42:fence\r\n");
  add_value(letters);
  add("$4\r\n4000\r\n");
  add_word(letters, 20);
  add(token);
  add("$4\r\n5000\r\n");
}

/* The first asks for the clock. The token of the next ones is a quarter of max_ttl_ms ahead of it,
   and then one more, in all its digits. */
TEST(a_fenced_set_is_spelled_so) { /* R25 */
  begin_letters();
  options.max_ttl_ms = 5000;
  options.fencing = 1;
  ready("a");
  wire.eval = ":-1790000000000000\r\n";
  CHECK_EQ(redlock_acquire(&rl, &lock, "invoice:42", 4000, 0), REDLOCK_NO_QUORUM);
  add_fenced(LETTERS, "$1\r\n0\r\n");
  add_fenced("BCDEFGHIJKLMNOPQRSTU", "$16\r\n1790000001250000\r\n");
  add_fenced("CDEFGHIJKLMNOPQRSTUV", "$16\r\n1790000001250001\r\n");
  was_sent();
}

/* ---- The handshake --------------------------------------------------------------------------- */

static void handshake_is(const char *entry, const char *spelled) {
  const struct wire_server *s = &wire.server[0];
  redlock_close(&rl);
  ready(entry);
  CHECK_EQ(acquire(1000), REDLOCK_OK);
  CHECK(s->sent_size > strlen(spelled) && memcmp(s->sent, spelled, strlen(spelled)) == 0);
  CHECK(memcmp(s->sent + strlen(spelled), "*6\r\n$3\r\nSET", 11) == 0);
}

TEST(auth_and_select_are_spelled_so) {
  begin_letters();
  handshake_is("redis://:secret@a/0", "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n");
  handshake_is("redis://a/123", "*2\r\n$6\r\nSELECT\r\n$3\r\n123\r\n");
  handshake_is("redis://m%45:s%0d%0A%25@a", "*3\r\n$4\r\nAUTH\r\n$2\r\nmE\r\n$4\r\ns\r\n%\r\n");
  options.password = "other%41"; /* options are taken as they are */
  options.username = "you";
  handshake_is("a", "*3\r\n$4\r\nAUTH\r\n$3\r\nyou\r\n$8\r\nother%41\r\n");
}

TEST(the_whole_handshake_keeps_its_order) {
  begin_letters();
  options.max_ttl_ms = 5000;
  handshake_is("redis://u:p@a/9",
               "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n9\r\n"
               "*3\r\n$4\r\nEVAL\r\n$107\r\n" INSIDE_INFO_SCRIPT "\r\n$1\r\n0\r\n");
}
