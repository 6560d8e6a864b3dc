/* urls.c: the list of servers. What a good entry comes to is seen in what io->open is given and
 * in the handshake; a bad one is refused with a word about it, and nothing is touched. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check_main.h"
#include "recording_io.h"

#include <stdio.h>

static redlock rl;
static redlock_lock lock;
static redlock_options options;

static redlock_status init(const char *list) {
  wire_reset();
  options.io = &wire.io;
  return redlock_init(&rl, list, &options);
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
  if (!CHECK_EQ(init(list), REDLOCK_OK)) {
    printf("    of %s\n", list);
    return;
  }
  CHECK(wire_is_untouched());
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_OK);
  i = redlock_fds(&rl, fds, REDLOCK_MAX_SERVERS) - 1;
  is_text(wire.server[i].host, host, list);
  is_text(wire.server[i].port, port, list);
  is_text(handshake(i), greeting, list);
  CHECK(redlock_server_error(&rl, i) != NULL && redlock_server_error(&rl, i)[0] == '\0');
  CHECK(redlock_server_error(&rl, i + 1) == NULL);
  redlock_close(&rl);
}

TEST(hosts) {
  last_is("a", "a", "6379", "");
  last_is("a.example-1.org", "a.example-1.org", "6379", "");
  last_is("10.0.0.1", "10.0.0.1", "6379", "");
  last_is("10.0.0.1:1", "10.0.0.1", "1", "");
  last_is("a:65535", "a", "65535", "");
  last_is("x,a:7000", "a", "7000", "");
  last_is("ab,a,abc", "abc", "6379", "");
}

TEST(addresses_in_brackets) {
  last_is("[::1]", "::1", "6379", "");
  last_is("[::1]:7000", "::1", "7000", "");
  last_is("[fe80::1%lo]", "fe80::1%lo", "6379", "");
  last_is("[fe80::1%lo]:7000", "fe80::1%lo", "7000", "");
  last_is("redis://[2001:db8::1]", "2001:db8::1", "6379", "");
  last_is("redis://u:p@[2001:db8::1]:7000/3", "2001:db8::1", "7000", "AUTH u p SELECT 3");
}

TEST(urls) {
  last_is("redis://a", "a", "6379", "");
  last_is("redis://a/", "a", "6379", "");
  last_is("redis://a:7000", "a", "7000", "");
  last_is("redis://a:7000/", "a", "7000", "");
  last_is("redis://a/0", "a", "6379", "");
  last_is("redis://a/15", "a", "6379", "SELECT 15");
  last_is("redis://a:7000/15", "a", "7000", "SELECT 15");
}

TEST(users_and_passwords) {
  last_is("redis://:secret@a", "a", "6379", "AUTH secret");
  last_is("redis://me:secret@a:7000", "a", "7000", "AUTH me secret");
  last_is("redis://me:secret@a/2", "a", "6379", "AUTH me secret SELECT 2");
  last_is("redis://me:se:cret@a", "a", "6379", "AUTH me se:cret");
  last_is("redis://me:se@cret@a", "a", "6379", "AUTH me se@cret");
  last_is("redis://@a", "a", "6379", "");
  last_is("redis://:@a", "a", "6379", "");
}

/* It would be dropped in silence, and the client would run as the default user. */
TEST(a_user_without_a_password_is_refused) {
  CHECK_EQ(init("redis://me@a"), REDLOCK_INVALID);
  CHECK(strstr(redlock_server_error(&rl, 0), "needs a password") != NULL);
  CHECK_EQ(init("redis://me:@a"), REDLOCK_INVALID);
  options.username = "us";
  CHECK_EQ(init("a"), REDLOCK_INVALID);
  CHECK(strstr(redlock_server_error(&rl, 0), "needs a password") != NULL);
  CHECK_EQ(init("redis://:own@a"), REDLOCK_OK);
  options.password = "";
  CHECK_EQ(init("a"), REDLOCK_INVALID);
  memset(&options, 0, sizeof options);
}

TEST(encoded_users_and_passwords) {
  last_is("redis://m%65:%73ecret@a", "a", "6379", "AUTH me secret");
  last_is("redis://me:%2f%2F%40%3a%25%2C%20@a", "a", "6379", "AUTH me //@:%, ");
  last_is("redis://me:100%25@a", "a", "6379", "AUTH me 100%");
  last_is("redis://me:%2541@a", "a", "6379", "AUTH me %41");
  last_is("redis://%3A:%40@a", "a", "6379", "AUTH : @");
}

TEST(options_fill_in_who_we_are) {
  options.username = options.password = ""; /* a configuration file often has them */
  last_is("a", "a", "6379", "");
  options.password = "from%41options";
  last_is("a", "a", "6379", "AUTH from%41options");
  options.username = "us";
  last_is("a", "a", "6379", "AUTH us from%41options");
  last_is("redis://a/4", "a", "6379", "AUTH us from%41options SELECT 4");
  last_is("redis://@a", "a", "6379", "AUTH us from%41options");
  last_is("redis://:@a", "a", "6379", "AUTH us from%41options");
  last_is("redis://me@a", "a", "6379", "AUTH me from%41options");
  last_is("redis://me:own@a", "a", "6379", "AUTH me own");
  last_is("redis://:own@a", "a", "6379", "AUTH own"); /* the default user's, not ours */
  memset(&options, 0, sizeof options);
}

TEST(sockets_in_the_file_system) {
  last_is("unix:/r.sock", "/r.sock", "", "");
  last_is("unix:/run/redis:6/a@b%41.sock", "/run/redis:6/a@b%41.sock", "", "");
  last_is("unix:/a,unix:/b", "/b", "", "");
}

TEST(separators) {
  static const char *const lists[] = {
    "a,b,c", "a b c", "a\tb\nc", "a\r\nb\r\nc\r\n", ",a,,b,,,c,", "  a , b , c  ", "\n\na,b\nc,",
    " a, b\t\n,c ,"
  };
  size_t i;
  for (i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    last_is(lists[i], "c", "6379", "");
    CHECK_EQ(init(lists[i]), REDLOCK_OK);
    CHECK(redlock_server_error(&rl, 2) && !redlock_server_error(&rl, 3));
  }
}

TEST(as_many_as_there_may_be) {
  last_is("a,b,c,d,e,f,g", "g", "6379", "");
}

TEST(one_host_may_have_many_ports) {
  last_is("a:1,a:2,a:3", "a", "3", "");
  last_is("a,a:6380", "a", "6380", "");
  last_is("1.1.1.1,1.1.1.11", "1.1.1.11", "6379", "");
}

TEST(longest_host) {
  char entry[300], host[256];
  memset(host, 'h', sizeof host);
  host[255] = '\0';
  last_is(host, host, "6379", "");
  snprintf(entry, sizeof entry, "redis://u:p@%s:7000/1", host);
  last_is(entry, host, "7000", "AUTH u p SELECT 1");
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
  if (!CHECK_EQ(init(list), REDLOCK_INVALID)) printf("    of %s\n", list);
  error = redlock_server_error(&rl, i);
  if (!CHECK(error != NULL && error[0] != '\0')) printf("    of %s\n", list);
  CHECK(wire_is_untouched());
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_INVALID);
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

TEST(bad_ports) {
  is_refused("a:0");
  is_refused("a:00000");
  is_refused("a:65536");
  is_refused("a:99999");
  is_refused("a:4294973675"); /* 6379 in 32 bits */
  is_refused("a:6379x");
  is_refused("a:x");
  is_refused("a:-1");
  is_refused("a:+1");
  is_refused("a:");
  is_refused("a:%36");
  is_refused("[::1]:");
  is_refused("[::1]:0");
  is_refused("[::1]6379");
  is_refused("redis://a:");
  is_refused("redis://a:0/0");
  is_refused("redis://u:p@a:65536");
}

TEST(bad_hosts) {
  is_refused(":6379");
  is_refused("[]");
  is_refused("[]:6379");
  is_refused("[::1");
  is_refused("[::1:6379");
  is_refused("redis://");
  is_refused("redis:///0");
  is_refused("redis://:6379");
  is_refused("redis://u:p@");
  is_refused("redis://u:p@:6379");
  is_refused("a/0");
  is_refused("u:p@a");
  is_refused("me@a");
}

TEST(bare_addresses) {
  is_refused("::1");
  is_refused("::");
  is_refused("1::");
  is_refused("::1:6379");
  is_refused("fe80::1%lo");
  is_refused("2001:db8::1");
  is_refused("redis://2001:db8::1");
}

TEST(other_schemes) {
  is_refused("rediss://a");
  is_refused("rediss://u:p@a:6379/0");
  is_refused("http://a");
  is_refused("http://a:6379");
  is_refused("tcp://a:6379");
  is_refused("redis-sentinel://a:26379/mymaster");
  is_refused("redis+sentinel://a:26379");
  is_refused("redis:a");
  is_refused("redis:/a");
  is_refused("://a");
}

TEST(what_tls_needs_is_told) {
  CHECK_EQ(init("rediss://a"), REDLOCK_INVALID);
  CHECK(strstr(redlock_server_error(&rl, 0), "options.tls") != NULL);
  CHECK(strstr(redlock_server_error(&rl, 0), "io") != NULL);
}

TEST(sentinels_and_other_garbage) {
  is_refused("mymaster@a:26379");
  is_refused("a:26379;b:26379");
  is_refused("a:6379@16379");
  is_refused("a:6379/mymaster");
  is_refused("sentinel:a:26379");
}

TEST(bad_escapes) {
  is_refused("redis://me:%@a");
  is_refused("redis://me:%4@a");
  is_refused("redis://me:%4g@a");
  is_refused("redis://me:%g4@a");
  is_refused("redis://me:100%@a");
  is_refused("redis://me:%%41@a");
  is_refused("redis://m%:secret@a");
  is_refused("redis://m%4:secret@a");
  is_refused("redis://%@a");
}

TEST(bad_databases) {
  is_refused("redis://a/x");
  is_refused("redis://a/1x");
  is_refused("redis://a/-1");
  is_refused("redis://a/1/2");
  is_refused("redis://a//");
  is_refused("redis://a/99999999999");
  is_refused("redis://a/4294967296");
  is_refused("redis://a/0?timeout=5");
  is_refused("redis://:pass/word@a"); /* a '/' must be written %2F */
}

TEST(bad_sockets) {
  is_refused("unix:");
  is_refused("unix:relative.sock");
  is_refused("unix:./a");
}

TEST(too_long_a_host) {
  char host[300], entry[400];
  memset(host, 'h', sizeof host);
  host[256] = '\0';
  is_refused(host);
  snprintf(entry, sizeof entry, "redis://u:p@%s:7000", host);
  is_refused(entry);
  snprintf(entry, sizeof entry, "[%s]", host);
  is_refused(entry);
  host[255] = '\0';
  snprintf(entry, sizeof entry, "unix:/%s", host);
  is_refused(entry);
}

TEST(one_address_twice) { /* R5 */
  entry_is_refused("a,a", 1);
  entry_is_refused("a,b,c,b", 3);
  entry_is_refused("a,A", 1);
  entry_is_refused("redis.example.org,Redis.Example.ORG:6379", 1);
  entry_is_refused("a,a:6379", 1);
  entry_is_refused("a:06379,a", 1);
  entry_is_refused("a:7000,b,redis://a:7000", 2);
  entry_is_refused("redis://a/1,redis://a/2", 1);
  entry_is_refused("redis://u:p@a,redis://v:q@a", 1);
  entry_is_refused("[::1],[::1]:6379", 1);
  entry_is_refused("[fe80::A],[fe80::a]", 1);
  entry_is_refused("unix:/a,b,unix:/a", 2);
}

TEST(sockets_that_differ_in_case_are_two) {
  last_is("unix:/run/A,unix:/run/a", "/run/a", "", "");
}

TEST(too_many) {
  CHECK_EQ(init("a,b,c,d,e,f,g,h"), REDLOCK_INVALID);
  CHECK(redlock_server_error(&rl, 0)[0] != '\0');
  CHECK(wire_is_untouched());
}

/* There is no entry to say it of. */
TEST(too_few) {
  static const char *const lists[] = { "", " ", ",", " , ,\r\n\t" };
  size_t i;
  for (i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    CHECK_EQ(init(lists[i]), REDLOCK_INVALID);
    CHECK(redlock_server_error(&rl, 0) == NULL);
    CHECK(wire_is_untouched());
  }
}

/* Every prefix of good lists and every good list with one byte changed: anything but a crash. */
TEST(spoilt_lists_do_no_harm) {
  static const char good[] = "redis://me:%41b@[fe80::1%lo]:7000/12 unix:/a,b:1,[::1]:2";
  char list[sizeof good];
  size_t at;
  int byte;
  for (at = 0; at < sizeof good - 1; at++) {
    for (byte = 0; byte < 256; byte++) {
      memcpy(list, good, sizeof good);
      list[at] = (char)byte;
      if (init(list) == REDLOCK_OK) (void)redlock_acquire(&rl, &lock, "r", 1000, 0);
      else CHECK(wire_is_untouched());
    }
  }
}
