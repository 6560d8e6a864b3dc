/* urls.c: the list of servers. What a good entry comes to is seen in what io->open is given and
 * in the handshake; a bad one is refused with a word about it, and nothing is touched. */
#include "client.h"

#include <stdio.h>

/* The options stay as they are. */
static redlock_status init_anew(const char *list) {
  wire_reset();
  options.io = &wire.io;
  return init(list);
}

/* ---- Good entries ---------------------------------------------------------------------------- */

/* Appends the words of the command that the bytes begin with, each after a blank. */
static size_t spell_command(char *to, size_t room, const unsigned char *bytes, size_t size) {
  size_t at = 0, words = 0, length = 0, used = strlen(to);
  if (!wire_number(bytes, size, &at, &words)) return size;
  for (; words > 0 && wire_number(bytes, size, &at, &length); words--) {
    used += (size_t)snprintf(to + used, room - used, " %.*s", (int)length, bytes + at);
    at += length + 2;
  }
  return at;
}

/* What server i was told before the SET, as "AUTH me secret SELECT 2". */
static const char *handshake(int i) {
  static char text[2048];
  const struct wire_server *s = &wire.server[i];
  size_t at = 0;
  text[0] = text[1] = '\0';
  while (at < s->sent_size && !wire_is(s->sent + at, s->sent_size - at, "$3\r\nSET\r\n"))
    at += spell_command(text, sizeof text, s->sent + at, s->sent_size - at);
  return text[0] ? text + 1 : text;
}

static void is_text(const char *got, const char *want, const char *list) {
  if (!CHECK(strcmp(got, want) == 0)) printf("    of %s: \"%s\" is not \"%s\"\n", list, got, want);
}

/* The last entry of the list is this one. */
static void last_is(const char *list, const char *host, const char *port, const char *greeting) {
  redlock_fd fds[REDLOCK_MAX_SERVERS];
  int i;
  if (!CHECK_EQ(init_anew(list), REDLOCK_OK)) {
    printf("    of %s\n", list);
    return;
  }
  CHECK(wire_is_untouched());
  CHECK_EQ(acquire(1000), REDLOCK_OK);
  i = redlock_fds(&rl, fds, REDLOCK_MAX_SERVERS) - 1;
  is_text(wire.server[i].host, host, list);
  is_text(wire.server[i].port, port, list);
  is_text(handshake(i), greeting, list);
  CHECK(redlock_server_error(&rl, i) != NULL && redlock_server_error(&rl, i)[0] == '\0');
  CHECK(redlock_server_error(&rl, i + 1) == NULL);
  redlock_close(&rl);
}

/* A list, and what its last entry comes to. */
struct good {
  const char *list, *host, *port, *greeting;
};

static void all_are_good(const struct good *row, size_t rows) {
  for (; rows > 0; rows--, row++) last_is(row->list, row->host, row->port, row->greeting);
}

#define ALL_ARE_GOOD(rows) all_are_good(rows, sizeof rows / sizeof *rows)

TEST(a_good_entry_is_understood) {
  static const struct good rows[] = {
    {"a", "a", "6379", ""},
    {"a.example-1.org", "a.example-1.org", "6379", ""},
    {"10.0.0.1:1", "10.0.0.1", "1", ""},
    {"a:65535", "a", "65535", ""},
    {"[::1]", "::1", "6379", ""},
    {"[fe80::1%lo]:7000", "fe80::1%lo", "7000", ""},
    {"redis://[2001:db8::1]", "2001:db8::1", "6379", ""},
    {"redis://u:p@[2001:db8::1]:7000/3", "2001:db8::1", "7000", "AUTH u p SELECT 3"},
    {"redis://a", "a", "6379", ""},
    {"redis://a:7000/", "a", "7000", ""},
    {"redis://a/0", "a", "6379", ""},
    {"redis://a:7000/15", "a", "7000", "SELECT 15"},
    {"redis://:secret@a", "a", "6379", "AUTH secret"},
    {"redis://me:secret@a/2", "a", "6379", "AUTH me secret SELECT 2"},
    {"redis://me:se:c@ret@a", "a", "6379", "AUTH me se:c@ret"},
    {"redis://@a", "a", "6379", ""},
    {"redis://:@a", "a", "6379", ""},
    {"redis://m%65:%2f%2F%40%3a%25%2C%20@a", "a", "6379", "AUTH me //@:%, "},
    {"redis://me:%2541@a", "a", "6379", "AUTH me %41"},
    {"unix:/r.sock", "/r.sock", "", ""},
    {"unix:/run/redis:6/a@b%41.sock", "/run/redis:6/a@b%41.sock", "", ""}};
  ALL_ARE_GOOD(rows);
}

TEST(an_entry_is_found_behind_others) {
  static const struct good rows[] = {
    {"a,b,c", "c", "6379", ""},
    {"a b\tc", "c", "6379", ""},
    {"a\r\nb\r\nc\r\n", "c", "6379", ""},
    {",a,,b,,,c,", "c", "6379", ""},
    {"  a , b , c  ", "c", "6379", ""},
    {"a,b,c,d,e,f,g", "g", "6379", ""}, /* as many as there may be */
    {"ab,a,abc", "abc", "6379", ""},
    {"a,a:6380,a:1", "a", "1", ""}, /* one host may have many ports */
    {"1.1.1.1,1.1.1.11", "1.1.1.11", "6379", ""},
    {"unix:/run/A,unix:/run/a", "/run/a", "", ""}};
  ALL_ARE_GOOD(rows);
}

/* It would be dropped in silence, and the client would run as the default user. */
TEST(a_user_without_a_password_is_refused) {
  CHECK_EQ(init_anew("redis://me@a"), REDLOCK_INVALID);
  CHECK(strstr(redlock_server_error(&rl, 0), "needs a password") != NULL);
  CHECK_EQ(init_anew("redis://me:@a"), REDLOCK_INVALID);
  options.username = "us";
  CHECK_EQ(init_anew("a"), REDLOCK_INVALID);
  CHECK(strstr(redlock_server_error(&rl, 0), "needs a password") != NULL);
  CHECK_EQ(init_anew("redis://:own@a"), REDLOCK_OK);
  options.password = "";
  CHECK_EQ(init_anew("a"), REDLOCK_INVALID);
  memset(&options, 0, sizeof options);
}

TEST(the_options_fill_in_who_we_are) {
  static const struct good rows[] = {
    {"redis://a/4", "a", "6379", "AUTH us from%41options SELECT 4"},
    {"redis://@a", "a", "6379", "AUTH us from%41options"},
    {"redis://:@a", "a", "6379", "AUTH us from%41options"},
    {"redis://me@a", "a", "6379", "AUTH me from%41options"},
    {"redis://me:own@a", "a", "6379", "AUTH me own"},
    {"redis://:own@a", "a", "6379", "AUTH own"}}; /* the default user's, not ours */
  options.username = options.password = ""; /* a configuration file often has them */
  last_is("a", "a", "6379", "");
  options.password = "from%41options";
  last_is("a", "a", "6379", "AUTH from%41options");
  options.username = "us";
  ALL_ARE_GOOD(rows);
  memset(&options, 0, sizeof options);
}

TEST(a_long_list_is_still_found) {
  static char list[70000];
  memset(list, ' ', sizeof list);
  strcpy(list + 69000, "redis://u:p@far:7000/5");
  last_is(list, "far", "7000", "AUTH u p SELECT 5");
}

/* ---- Bad entries ----------------------------------------------------------------------------- */

/* Entry i is to blame, and nothing but the clock was asked. */
static void entry_is_refused(const char *list, int i) {
  const char *error;
  if (!CHECK_EQ(init_anew(list), REDLOCK_INVALID)) printf("    of %s\n", list);
  error = redlock_server_error(&rl, i);
  if (!CHECK(error != NULL && error[0] != '\0')) printf("    of %s\n", list);
  CHECK(wire_is_untouched());
  CHECK_EQ(acquire(1000), REDLOCK_INVALID);
  redlock_close(&rl);
  CHECK(wire_is_untouched());
}

/* Alone, behind a good entry and before one. */
static void is_refused(const char *entry) {
  char list[512];
  entry_is_refused(entry, 0);
  snprintf(list, sizeof list, "good,%s", entry);
  entry_is_refused(list, 1);
  snprintf(list, sizeof list, "good\n%s , better", entry);
  entry_is_refused(list, 1);
}

TEST(a_bad_entry_is_refused) {
  static const char *const bad[] = {
    /* ports */
    "a:0", "a:65536", "a:4294973675" /* 6379 in 32 bits */, "a:6379x", "a:-1", "a:+1", "a:",
    "a:%36", "[::1]:", "[::1]6379", "redis://a:", "redis://a:0/0", "redis://u:p@a:65536",
    /* hosts */
    ":6379", "[]", "[]:6379", "[::1", "[::1:6379", "redis://", "redis:///0", "redis://:6379",
    "redis://u:p@", "redis://u:p@:6379", "a/0", "u:p@a", "me@a",
    /* addresses without brackets */
    "::1", "1::", "::1:6379", "fe80::1%lo", "redis://2001:db8::1",
    /* other schemes, Sentinel, Cluster */
    "rediss://u:p@a:6379/0", "http://a:6379", "tcp://a:6379", "redis:a", "redis:/a", "://a",
    "redis-sentinel://a:26379/mymaster", "redis+sentinel://a:26379", "mymaster@a:26379",
    "a:26379;b:26379", "a:6379@16379", "a:6379/mymaster", "sentinel:a:26379",
    /* escapes */
    "redis://me:%@a", "redis://me:%4@a", "redis://me:%4g@a", "redis://me:%g4@a",
    "redis://me:100%@a", "redis://m%4:secret@a",
    /* databases; a '/' in a password must be written %2F */
    "redis://a/x", "redis://a/1x", "redis://a/-1", "redis://a/1/2", "redis://a//",
    "redis://a/99999999999", "redis://a/4294967296", "redis://a/0?timeout=5",
    "redis://:pass/word@a",
    /* sockets in the file system */
    "unix:", "unix:relative.sock", "unix:./a"};
  size_t i;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) is_refused(bad[i]);
}

TEST(a_list_says_what_tls_needs) {
  CHECK_EQ(init_anew("rediss://a"), REDLOCK_INVALID);
  CHECK(strstr(redlock_server_error(&rl, 0), "options.tls") != NULL);
  CHECK(strstr(redlock_server_error(&rl, 0), "io") != NULL);
}

/* The forms of an entry that a host of that length can stand in. */
static const char *const around_a_host[] = {"%s", "redis://u:p@%s:7000", "[%s]", "unix:/%s"};

TEST(a_host_has_a_longest_name) {
  char entry[400], host[300];
  int form;
  memset(host, 'h', sizeof host);
  for (form = 0; form < 4; form++) {
    host[form == 3 ? 255 : 256] = '\0';
    snprintf(entry, sizeof entry, around_a_host[form], host);
    is_refused(entry);
    host[255] = '\0';
    snprintf(entry, sizeof entry, around_a_host[form], host);
    if (form < 2) last_is(entry, host, form ? "7000" : "6379", form ? "AUTH u p" : "");
    host[255] = 'h';
  }
}

TEST(one_address_twice_is_refused) { /* R5 */
  static const struct { const char *list; int entry; } row[] = {
    {"a,b,c,b", 3}, {"a,A", 1}, {"redis.example.org,Redis.Example.ORG:6379", 1},
    {"a:06379,a", 1}, {"a:7000,b,redis://a:7000", 2}, {"redis://a/1,redis://a/2", 1},
    {"redis://u:p@a,redis://v:q@a", 1}, {"[::1],[::1]:6379", 1}, {"[fe80::A],[fe80::a]", 1},
    {"unix:/a,b,unix:/a", 2}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof *row; i++) entry_is_refused(row[i].list, row[i].entry);
}

TEST(a_list_of_too_many_or_none_is_refused) {
  static const char *const lists[] = { "", " ", ",", " , ,\r\n\t" };
  size_t i;
  CHECK_EQ(init_anew("a,b,c,d,e,f,g,h"), REDLOCK_INVALID);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0');
  CHECK(wire_is_untouched());
  for (i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    CHECK_EQ(init_anew(lists[i]), REDLOCK_INVALID);
    CHECK(redlock_server_error(&rl, 0) == NULL); /* there is no entry to say it of */
    CHECK(wire_is_untouched());
  }
}
