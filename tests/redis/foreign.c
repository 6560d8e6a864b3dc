/* foreign.c: what other programs have put where a lock would be, of any bytes, length and type.
 * Both scripts leave it alone and never say yes; to a string they never say an error. */
#include "real.h"
#include "../inside.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { VALUES = 20000, LONGEST = 600, MAX_TTL = 4000, CALLS = 6 };

struct value {
  char at[LONGEST];
  size_t size;
};

struct reply {
  char type; /* the first byte: '$' is a string, also an empty one, or nil if size < 0 */
  long size;
  char text[LONGEST + 2];
};

static const char own[] = "our own 20 bytes....";
static const char given[] = "given by someone....";

/* ---- Words and replies, in RESP -------------------------------------------------------------- */

static FILE *replies;
static char out[8 * LONGEST + 8192];
static size_t out_size;

static void dial(const struct server *s) {
  struct sockaddr_un at;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  memset(&at, 0, sizeof at);
  at.sun_family = AF_UNIX;
  snprintf(at.sun_path, sizeof at.sun_path, "%s", s->socket);
  CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
  replies = fdopen(fd, "r");
}

static void put(const void *bytes, size_t size) {
  memcpy(out + out_size, bytes, size);
  out_size += size;
}

static void begin_command(int words) {
  out_size += (size_t)sprintf(out + out_size, "*%d\r\n", words);
}

static void word_of(const void *bytes, size_t size) {
  out_size += (size_t)sprintf(out + out_size, "$%lu\r\n", (unsigned long)size);
  put(bytes, size);
  put("\r\n", 2);
}

static void word(const char *text) { word_of(text, strlen(text)); }

static void number(long long n) {
  char text[24];
  snprintf(text, sizeof text, "%lld", n);
  word(text);
}

static void flush_out(void) {
  CHECK(write(fileno(replies), out, out_size) == (ssize_t)out_size);
  out_size = 0;
}

static struct reply hear(void) {
  static struct reply r;
  memset(&r, 0, sizeof r);
  if (!CHECK(fgets(r.text, (int)sizeof r.text, replies) != NULL)) return r;
  r.type = r.text[0];
  r.size = atol(r.text + 1);
  if (r.type == '$' && r.size >= 0)
    CHECK_EQ(fread(r.text, 1, (size_t)r.size + 2, replies), (size_t)r.size + 2);
  return r;
}

/* ---- The scripts ----------------------------------------------------------------------------- */

static void begin_script(const char *script, int words) {
  begin_command(4 + words);
  word("EVAL");
  word(script);
  word("1");
  word("r");
  word(own);
}

static void ask_to_set(const char *over) {
  begin_script(INSIDE_RELEASE_SCRIPT, 3);
  number(REAL_TTL_MS);
  word(over);
}

/* A token that fits. */
static void ask_for_token(const char *over) {
  struct timeval now;
  gettimeofday(&now, NULL);
  begin_script(INSIDE_FENCED_SCRIPT, 5);
  number(MAX_TTL / 2);
  word(over);
  number(now.tv_sec * 1000000ll + now.tv_usec + MAX_TTL * 250);
  number(MAX_TTL);
}

/* A waiter and an adoption, the same for a token, an extension, a release: CALLS replies. */
static void ask_everything(void) {
  ask_to_set(own);
  ask_to_set(given);
  ask_for_token(own);
  ask_for_token(given);
  begin_script(INSIDE_EXTEND_SCRIPT, 2);
  number(REAL_TTL_MS);
  begin_script(INSIDE_RELEASE_SCRIPT, 1);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static unsigned drawn(void) {
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return state >> 16;
}

/* Lengths around those of our own, and endings that a number could be read from. */
static struct value draw(void) {
  static const size_t sizes[] = {0, 19, 20, 21, 22, 23, 24, LONGEST};
  static const char *const ends[] = {"", "1e15", "9007199254740991", "-1", "0x7f", "inf", "nan",
                                     "1234567", " 12", "\r\n+OK\r\n", ":1"};
  const char *end = ends[drawn() % (sizeof ends / sizeof *ends)];
  size_t i, length = strlen(end);
  struct value v;
  v.size = drawn() % 2 ? sizes[drawn() % 8] : drawn() % 48;
  for (i = 0; i < v.size; i++) v.at[i] = (char)drawn();
  if (length <= v.size) memcpy(v.at + v.size - length, end, length);
  return v;
}

/* Both scripts, in each of their uses, and then the key as it was. */
static int is_left_alone(const struct value *v) {
  int i, good = 1;
  struct reply r;
  begin_command(3);
  word("SET");
  word("r");
  word_of(v->at, v->size);
  ask_everything();
  begin_command(2);
  word("GET");
  word("r");
  flush_out();
  good &= hear().type == '+';
  for (i = 0; i < CALLS; i++) {
    r = hear();
    good &= r.type == '$' && r.size >= 0 && r.size <= 4;
  }
  r = hear();
  return good && r.type == '$' && r.size == (long)v->size && memcmp(r.text, v->at, v->size) == 0;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

TEST(a_string_of_any_bytes_is_taken_and_stays) { /* R4 R21 R26 */
  int i, good = 1;
  servers_heal(&real);
  dial(&real.at[0]);
  for (i = 0; i < VALUES && good; i++) {
    struct value v = draw();
    good = CHECK(is_left_alone(&v));
    if (!good) printf("    value %d, of %lu bytes\n", i, (unsigned long)v.size);
  }
  fclose(replies);
}

/* WRONGTYPE, from each of the scripts. */
TEST(another_type_is_an_error_and_stays) { /* R4 R15 R21 */
  static const char *const keys[] = {"RPUSH r x", "HSET r f x", "SADD r x", "ZADD r 1 x",
                                     "XADD r * f x"};
  size_t k;
  int i;
  for (k = 0; k < sizeof keys / sizeof *keys; k++) {
    char type[16];
    servers_heal(&real);
    server_command(&real.at[0], "%s", keys[k]);
    snprintf(type, sizeof type, "%s", server_command(&real.at[0], "TYPE r"));
    dial(&real.at[0]);
    ask_everything();
    flush_out();
    for (i = 0; i < CALLS; i++) CHECK(strncmp(hear().text, "-WRONGTYPE ", 11) == 0);
    CHECK(strcmp(server_command(&real.at[0], "TYPE r"), type) == 0);
    CHECK_EQ(server_number(&real.at[0], "DBSIZE"), 1);
    fclose(replies);
  }
}

static void open_client(redlock *rl, uint32_t fencing, uint32_t attempts) {
  redlock_options options = real_options(MAX_TTL / 4); /* the most that tokens allow */
  options.fencing = fencing;
  options.max_ttl_ms = fencing ? MAX_TTL : 0;
  options.max_attempts = attempts;
  real_open_with(rl, 1, options);
}

/* A client whose last attempt is the first that has a script: without fencing two plain SETs come
   before it. */
static void open_waiter(redlock *rl, uint32_t fencing) {
  open_client(rl, fencing, fencing ? 1 : 3);
}

TEST(to_a_waiter_any_string_is_a_lock_of_others) { /* R23 R26 */
  uint32_t fencing;
  int i;
  servers_heal(&real);
  real_await_votes(1, MAX_TTL);
  for (fencing = 0; fencing < 2; fencing++) {
    redlock rl;
    redlock_lock lock;
    open_waiter(&rl, fencing);
    for (i = 0; i < 40; i++) {
      struct value v = draw();
      dial(&real.at[0]);
      begin_command(3);
      word("SET");
      word("r");
      word_of(v.at, v.size);
      flush_out();
      CHECK_EQ(hear().type, '+');
      fclose(replies);
      CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL / 2, REAL_WAIT_MS), REDLOCK_TAKEN);
      CHECK_EQ(lock.votes[0], REDLOCK_VOTE_TAKEN);
      CHECK_EQ(redlock_server_error(&rl, 0)[0], 0);
    }
    redlock_close(&rl);
  }
}

TEST(to_a_waiter_another_type_is_an_error) { /* R15 R23 R26 */
  uint32_t fencing;
  servers_heal(&real);
  real_await_votes(1, MAX_TTL);
  server_command(&real.at[0], "RPUSH r x");
  for (fencing = 0; fencing < 2; fencing++) {
    redlock rl;
    redlock_lock lock;
    open_waiter(&rl, fencing);
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL / 2, REAL_WAIT_MS), REDLOCK_NO_QUORUM);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_ERROR);
    CHECK(strncmp(redlock_server_error(&rl, 0), "WRONGTYPE", 9) == 0);
    redlock_close(&rl);
  }
}

/* A plain SET says nil, as of any key. */
TEST(without_waiting_another_type_is_a_lock_of_others) { /* R23 */
  redlock rl;
  redlock_lock lock;
  servers_heal(&real);
  server_command(&real.at[0], "RPUSH r x");
  open_client(&rl, 0, 1);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", MAX_TTL / 2, 0), REDLOCK_TAKEN);
  redlock_close(&rl);
}

int main(int argc, char **argv) { return real_main(argc, argv, 1, check_all); }
