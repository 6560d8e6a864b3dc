/* foreign.c: what other programs have put where a lock would be, of any bytes, length and type.
 * Both scripts leave it alone and never say yes; to a string they never say an error. */
#include "tests/library.h"
#include "tests/inside.h"

#include "fixture.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum { VALUES = 20000, LONGEST = 600, MAX_TTL = 4000, CALLS = 6 };

static const char own[] = "our-own-20-bytes....", given[] = "given-by-someone....";

/* ---- inline commands, and replies with their types ---- */

static FILE *commands, *replies;

static void dial(void) {
  struct sockaddr_un at;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  memset(&at, 0, sizeof at);
  at.sun_family = AF_UNIX;
  snprintf(at.sun_path, sizeof at.sun_path, "%s", real.at[0].socket);
  CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
  commands = fdopen(fd, "w");
  replies = fdopen(dup(fd), "r");
}

static void hang_up(void) {
  fclose(commands);
  fclose(replies);
}

struct reply {
  char type; /* the first byte: '$' is a string, also an empty one, or nil if size < 0 */
  long size;
  char text[LONGEST + 2];
};

static struct reply hear(void) {
  static struct reply r;
  memset(&r, 0, sizeof r);
  fflush(commands);
  if (!CHECK(fgets(r.text, (int)sizeof r.text, replies) != NULL)) return r;
  r.type = r.text[0];
  r.size = atol(r.text + 1);
  if (r.type == '$' && r.size >= 0)
    CHECK_EQ(fread(r.text, 1, (size_t)r.size + 2, replies), (size_t)r.size + 2);
  return r;
}

/* ---- the scripts ---- */

static void ask_to_set(const char *over) {
  fprintf(commands, "EVAL \"%s\" 1 r %s %d %s\r\n", INSIDE_RELEASE_SCRIPT, own, REAL_TTL_MS, over);
}

/* A token that fits. */
static void ask_for_token(const char *over) {
  struct timeval now;
  gettimeofday(&now, NULL);
  fprintf(commands, "EVAL \"%s\" 2 r r:fence %s %d %s %lld %d\r\n", INSIDE_FENCED_SCRIPT, own,
          MAX_TTL / 2, over, now.tv_sec * 1000000ll + now.tv_usec + MAX_TTL * 250, MAX_TTL);
}

/* A waiter and an adoption, the same for a token, an extension, a release: CALLS replies. */
static void ask_everything(void) {
  ask_to_set(own);
  ask_to_set(given);
  ask_for_token(own);
  ask_for_token(given);
  fprintf(commands, "EVAL \"%s\" 1 r %s %d\r\n", INSIDE_EXTEND_SCRIPT, own, REAL_TTL_MS);
  fprintf(commands, "EVAL \"%s\" 1 r %s\r\n", INSIDE_RELEASE_SCRIPT, own);
}

/* ---- values ---- */

struct value {
  char at[LONGEST];
  size_t size;
};

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

static void set(const struct value *v) {
  size_t i;
  fputs("SET r \"", commands);
  for (i = 0; i < v->size; i++) fprintf(commands, "\\x%02x", (unsigned char)v->at[i]);
  fputs("\"\r\n", commands);
}

/* Both scripts, in each of their uses, and then the key as it was. */
static int is_left_alone(const struct value *v) {
  int i, good;
  struct reply r;
  set(v);
  ask_everything();
  fputs("GET r\r\n", commands);
  good = hear().type == '+';
  for (i = 0; i < CALLS; i++) {
    r = hear();
    good &= r.type == '$' && r.size >= 0 && r.size <= 4;
  }
  r = hear();
  return good && r.type == '$' && r.size == (long)v->size && memcmp(r.text, v->at, v->size) == 0;
}

/* ---- tests ---- */

TEST(a_string_of_any_bytes_is_taken_and_stays) { /* R4 R21 R26 R28 */
  int i, good = 1;
  if (!server_takes_empty(&real.at[0])) SKIP("this server takes no empty value like this");
  dial();
  for (i = 0; i < VALUES && good; i++) {
    struct value v = draw();
    good = CHECK(is_left_alone(&v));
    if (!good) printf("    value %d, of %lu bytes\n", i, (unsigned long)v.size);
  }
  hang_up();
}

/* WRONGTYPE, from each of the scripts. */
TEST(another_type_is_an_error_and_stays) { /* R4 R15 R21 R28 */
  static const char *const keys[][2] = {{"RPUSH r x", "list"}, {"HSET r f x", "hash"},
                                        {"SADD r x", "set"}, {"ZADD r 1 x", "zset"},
                                        {"XADD r * f x", "stream"}};
  size_t k;
  int i;
  for (k = 0; k < sizeof keys / sizeof *keys; k++) {
    heal();
    if (*server_command(&real.at[0], "%s", keys[k][0]) == '-') continue; /* it has no such type */
    dial();
    ask_everything();
    for (i = 0; i < CALLS; i++) CHECK(strncmp(hear().text, "-WRONGTYPE ", 11) == 0);
    hang_up();
    CHECK(strcmp(server_command(&real.at[0], "TYPE r"), keys[k][1]) == 0);
    CHECK_EQ(server_number(&real.at[0], "DBSIZE"), 1);
  }
}

int main(int argc, char **argv) { return fixture_main(argc, argv, 1); }
