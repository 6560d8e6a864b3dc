/* conformance: the simulated server and a real one get the same random commands, in the same random
 * pieces, and must answer the same bytes, on the connection that asks and on one beside it, which
 * is told of changes. Times to live are compared with a margin; of INFO, what the header reads. */
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "inside.h" /* for the scripts, word for word */
#include "servers.h"
#include "base.h"
#include "../store.h"

enum { COMMANDS = 3000, BATCH = 8, REPLY_MS = 2000, MARGIN_MS = 60, TEXT = 4096, ROOM = 48 };

/* A connection to both servers. */
struct link {
  int fd;
  struct session session;
};

static struct rng rng;
static struct server real;
static enum store_kind kind; /* what the real one is */
static unsigned natives;     /* of releases: the commands that it knows */

#define RELEASE "EVAL $l 1 $k $v" /* see word_for */
static const char *native_release = RELEASE; /* by such a command, if there is one */

static int is_old;           /* before 7.0: other words for errors, and PX may overflow */
static int has_getex;        /* 6.2 and later */
static struct key keys[ROOM];
static struct store store;
static struct link own = {-1, {0}}, other = {-1, {0}};

static uint32_t below(uint32_t n) { return (uint32_t)(((rng_next(&rng) >> 32) * n) >> 32); }

static int64_t wall_ms(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

/* ---- the real one ---- */

static void connect_link(struct link *l) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  if (l->fd >= 0) close(l->fd);
  snprintf(at.sun_path, sizeof at.sun_path, "%s", real.socket);
  l->fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&at, sizeof at)) {
    printf("    cannot connect: %s\n", strerror(errno));
    exit(1);
  }
  memset(&l->session, 0, sizeof l->session);
  l->session.authed = store.password == NULL;
}

static void reconnect(void) {
  connect_link(&own);
  connect_link(&other);
}

static void send_all(const struct link *l, const char *bytes, size_t size, int cut) {
  while (size > 0) {
    size_t piece = cut ? 1 + below((uint32_t)size) : size;
    ssize_t sent = write(l->fd, bytes, piece);
    if (sent <= 0) exit(1);
    bytes += sent;
    size -= (size_t)sent;
  }
}

/* How many of them come in time; up to the end of a line, if that is wanted. */
static size_t read_some(const struct link *l, char *to, size_t size, int line) {
  struct pollfd p = {l->fd, POLLIN, 0};
  size_t at = 0;
  while (at < size && poll(&p, 1, REPLY_MS) == 1 && read(l->fd, to + at, 1) == 1)
    if (to[at++] == '\n' && line) break;
  return at;
}

/* No version tells it, so it is asked. */
static enum store_kind learn_kind(void) {
  static const char lines[] = "NOSUCH\r\nAUTH wrong\r\nPING\r\n";
  char first[256] = "", second[256] = "";
  reconnect();
  send_all(&own, lines, strlen(lines), 0);
  (void)read_some(&own, first, sizeof first - 1, 1);
  (void)read_some(&own, second, sizeof second - 1, 1);
  if (strncmp(first, "-NOAUTH", 7) == 0) return KIND_VALKEY;
  return strncmp(second, "-NOAUTH", 7) == 0 ? KIND_REDIS_8 : KIND_REDIS_7;
}

/* Without GETEX (before 6.2) releases read by GET, which is remembered. */
static void start_real(void) {
  const char *native;
  server_start(&real, "");
  server_want_password(&real, "secret");
  kind = learn_kind();
  server_want_password(&real, "");
  is_old = server_has_old_errors(&real);
  reconnect();
  has_getex = strncmp(server_command(&real, "GETEX nosuch"), "-ERR unknown", 12) != 0;
  native = server_native_release(&real);
  if (native) natives = strcmp(native, "delex") == 0 ? STORE_DELEX : STORE_DELIFEQ;
  if (native) native_release = natives == STORE_DELEX ? "DELEX $k IFEQ $v" : "DELIFEQ $k $v";
  printf("  the real server is of the kind %s, releases by %.*s%s\n", store_kind_text(kind),
         (int)strcspn(native_release, " "), native_release,
         is_old ? ", but is old: it gets only what the header sends" : "");
}

/* ---- the scripts, as they are sent or as the header's comments spell them out ---- */

enum { SCRIPT = 2048, INDENT = 5 };

/* The lines behind "NAME:" in a comment of the header that are indented as it indents Lua. */
static void read_readable(const char *name, char to[SCRIPT]) {
  FILE *header = fopen("redlock.h", "r");
  char line[256], title[64];
  int inside = 0;
  size_t size = 0;
  snprintf(title, sizeof title, "   %s:\n", name);
  while (header && fgets(line, (int)sizeof line, header) && size < SCRIPT - sizeof line) {
    if (inside && strncmp(line, "     ", INDENT) != 0) break;
    if (inside) size += (size_t)snprintf(to + size, SCRIPT - size, "%s", line + INDENT);
    inside |= strcmp(line, title) == 0;
  }
  if (header) fclose(header);
  CHECK(inside && size > 0);
  if (size > 4 && strcmp(to + size - 4, " */\n") == 0) to[size - 4] = 0; /* the comment's end */
}

/* As sent, and as spelt out. */
static struct spelling {
  const char *name, *sent;
  char readable[SCRIPT];
} scripts[] = {{"RL_LOCK_SCRIPT", INSIDE_RELEASE_SCRIPT, ""},
               {"RL_INFO_SCRIPT", INSIDE_INFO_SCRIPT, ""},
               {"RL_FENCED_SCRIPT", INSIDE_FENCED_SCRIPT, ""}};

enum { LOCK, INFO, FENCED };

/* ---- commands, as lines ---- */

struct message {
  char bytes[TEXT];
  size_t size;
};

/* Values as the header draws them: 20 bytes of anything. */
enum { VALUE = 20 };
static const char values[3][VALUE + 1] = {"\0\1\2\r\n$5\r\n*3+OK -ERR", "aaaaaaaaaaaaaaaaaaaa",
                                          "aaaaaaaaaaaaaaaaaaab"};

static const char *other_script; /* $x */

#define ANY_OF(texts) texts[below(sizeof texts / sizeof texts[0])]

/* What stands for a word "$...", by its letter. */
static const char *word_for(char letter) {
  static const char *const names[] = {"a", "resource:42", "with space", "\r\n", "list"},
                    *const ttls[] = {"30000", "60000", "45000", "120000", "31000"},
                    *const bad_ttls[] = {"0", "-1", "abc", "9223372036854775807", "1.5", "", "007",
                                         "99999999999999999999"};
  static char fresh[VALUE + 6], number[VALUE + 1];
  static unsigned attempts, longer = 200000;
  switch (letter) {
    case 'l': return scripts[LOCK].sent;
    case 'i': return scripts[INFO].sent;
    case 'x': return other_script;
    case 'k': return ANY_OF(names);
    case 't': return ANY_OF(ttls);
    case 'b': return ANY_OF(bad_ttls);
    case 'v': return ANY_OF(values);
    case '1': return values[1];
    case 'n': /* a value of its own, as each attempt has; an age has three bytes */
      snprintf(fresh, VALUE + 1 + below(5), "%020uages", ++attempts);
      return fresh;
    case 'a': return fresh; /* again: the value of the last attempt */
    case 's': /* its beginning; or an older one (R28) */
    case 'o':
      snprintf(number, sizeof number, "%020u", attempts - (letter == 'o' ? 1 + below(6) : 0));
      return number;
    case 'h': /* whether an extension changes anything must not be chance */
      snprintf(number, sizeof number, "%u", below(2) ? 1000 : ++longer);
      return number;
    default: return "";
  }
}

/* One of "a|b|c", in its place. */
static char *alternative(char *word) {
  uint32_t n = 1;
  for (uint32_t i = 0; word[i]; i++) n += word[i] == '|';
  for (n = below(n); n > 0; n--) word = strchr(word, '|') + 1;
  word[strcspn(word, "|")] = 0;
  return word;
}

static void put(struct message *m, const char *word) {
  size_t size = word == values[0] ? VALUE : strlen(word);
  m->size += (size_t)snprintf(m->bytes + m->size, TEXT - m->size, "$%lu\r\n", (unsigned long)size);
  memcpy(m->bytes + m->size, word, size);
  memcpy(m->bytes + m->size + size, "\r\n", 2);
  m->size += size + 2;
}

/* The request of these words, separated by blanks. */
static void say(struct message *m, const char *format, ...) {
  char words[256], *word;
  const char *at;
  va_list list;
  int count = 1;
  va_start(list, format);
  vsnprintf(words, sizeof words, format, list);
  va_end(list);
  for (at = words; *at; at++) count += *at == ' ';
  m->size = (size_t)snprintf(m->bytes, TEXT, "*%d\r\n", count);
  for (word = strtok(words, " "); word; word = strtok(NULL, " ")) {
    word = alternative(word);
    put(m, *word == '$' ? word_for(word[1]) : word);
  }
}

#define SET "SET|SET|SET|set $k $v PX $t NX|NX|NX|nx"
#define ATTEMPT "EVAL $l 1 $k $n|$n|$a $t $s|$o|$v"

/* Only what the header sends; the last one not to an old server. */
static void make_own(struct message *m) {
  const char *const lines[] = {SET, SET, RELEASE, native_release, "EVAL $l 1 $k $v $t", ATTEMPT};
  say(m, lines[below(is_old ? 5 : 6)]);
}

static void make(struct message *m) {
  static const char *const others[] = {
      "SET $k $v PX $b", "SET $k $v PX $t", "SET $k $v PX $b NX", "SET $k $v PX $t PX", "GET $k",
      "GET $k", "GET $k", "GET $k", "DEL $k", "DEL $k", "RPUSH list x", "SET|EVAL", "AUTH secret",
      "SELECT 0|3|15|16|-1|x|99999", "AUTH default|other wrong", "NOSUCH arg1 arg2"};
  if (is_old || below(4)) make_own(m);
  else say(m, ANY_OF(others));
}

/* ---- the comparison ---- */

enum { EVAL_AT = 14 }; /* where the script stands in a request: "*5\r\n$4\r\nEVAL\r\n" */

/* What is sent to the real server: in half of the requests the script is the readable one. */
static size_t put_on_wire(const struct message *m, char to[2 * TEXT]) {
  static const char bulk[] = "$%lu\r\n%s\r\n";
  char its[SCRIPT + 8];
  memcpy(to, m->bytes, m->size);
  for (int i = LOCK; i <= FENCED; i++) {
    const char *sent = scripts[i].sent, *readable = scripts[i].readable;
    size_t size = (size_t)sprintf(its, bulk, (unsigned long)strlen(sent), sent), other_size;
    if (m->size < EVAL_AT + size || memcmp(m->bytes + EVAL_AT, its, size) != 0) continue;
    if (below(2)) break;
    other_size = (size_t)sprintf(to + EVAL_AT, bulk, (unsigned long)strlen(readable), readable);
    memcpy(to + EVAL_AT + other_size, m->bytes + EVAL_AT + size, m->size - EVAL_AT - size);
    return m->size - size + other_size;
  }
  return m->size;
}

static void show(const char *who, const char *bytes, size_t size) {
  printf("    %s: ", who);
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] >= ' ' && bytes[i] <= '~') putchar(bytes[i]);
    else printf("\\x%02x", (unsigned)(unsigned char)bytes[i]);
  }
  putchar('\n');
}

static int expect(const struct link *l, const struct reply *r, const struct message *m) {
  static char got[4 * STORE_REPLY];
  size_t size = read_some(l, got, r->size, 0);
  if (CHECK(size == r->size && memcmp(got, r->at, size) == 0)) return 1;
  show(l == &own ? "own" : "the other", m->bytes, m->size);
  show("simulated", r->at, r->size);
  show("real", got, size);
  return 0;
}

/* What the simulated one does with the request, and says to who asks and to the other. It also
 * arrives piece by piece: it must not be taken for complete too early. Before 7.0 NOLOOP does not
 * heed what a script does, whose push comes first. */
static void simulate(struct link *by, const struct message *m, struct reply *r,
                     struct reply *told) {
  struct link *beside = by == &own ? &other : &own;
  const unsigned char *bytes = (const unsigned char *)m->bytes;
  struct arg argv[STORE_ARGS];
  struct effect e = {0};
  char spare[STORE_REPLY];
  struct reply own_push = {spare, 0};
  int argc = 0;
  CHECK_EQ(request_parse(bytes, below((uint32_t)m->size), argv, &argc), 0);
  CHECK_EQ(request_parse(bytes, m->size, argv, &argc), (long)m->size);
  store.now_ms = wall_ms();
  store_run(&store, &by->session, argc, argv, r, &e);
  if (!e.changed) return;
  if (session_forgets(&by->session, e.subject, e.subject_size) &&
      (!by->session.noloop || is_old))
    reply_push(&own_push, e.subject, e.subject_size);
  if (is_old) memmove(r->at + own_push.size, r->at, r->size);
  memcpy(is_old ? r->at : r->at + r->size, own_push.at, own_push.size);
  r->size += own_push.size;
  if (session_forgets(&beside->session, e.subject, e.subject_size))
    reply_push(told, e.subject, e.subject_size);
}

/* A batch goes out in one stream, cut anywhere or nowhere; the replies come in the same order. */
static int exchange_batch(struct link *by, struct message *m, int count, int cut) {
  static char replies[BATCH][2 * STORE_REPLY], pushes[2 * STORE_REPLY];
  static char stream[BATCH * 2 * TEXT];
  struct reply r[BATCH], told = {pushes, 0};
  size_t size = 0;
  by->session.unsent = 0;
  for (int i = 0; i < count; i++) {
    r[i].at = replies[i];
    r[i].size = 0;
    size += put_on_wire(&m[i], stream + size);
    simulate(by, &m[i], &r[i], &told);
  }
  send_all(by, stream, size, cut);
  for (int i = 0; i < count; i++)
    if (!expect(by, &r[i], &m[i])) return 0;
  return expect(by == &own ? &other : &own, &told, &m[count - 1]);
}

static int is_auth(const struct message *m) { return memcmp(m->bytes + 8, "AUTH", 4) == 0; }

/* Whether earlier replies are still unsent at an AUTH is chance in a stream that is cut: an AUTH
   begins a batch. */
static int exchange(struct message *m, int count) {
  int size;
  for (; count > 0; m += size, count -= size) {
    for (size = 1; size < count && !is_auth(&m[size]);) size++;
    if (!exchange_batch(&own, m, size, 1)) return 0;
  }
  return 1;
}

static int ask(struct link *by, const char *line) {
  struct message m;
  say(&m, line);
  return exchange_batch(by, &m, 1, 1);
}

static void run_random(int commands) {
  static struct message m[BATCH];
  int done = 0, count;
  while (done < commands) {
    count = 1 + (int)below(BATCH);
    for (int i = 0; i < count; i++) make(&m[i]);
    if (!exchange(m, count)) return;
    done += count;
  }
}

static void begin_test(void) {
  memset(&store, 0, sizeof store);
  store.key = keys;
  store.room = ROOM;
  store.databases = 16;
  store.kind = kind;
  store.natives = natives;
  store.refuse_getex = !has_getex;
  rng_seed(&rng, 4711);
  reconnect();
  server_command(&real, "FLUSHALL");
}

#define NEEDS_7() \
  do {            \
    if (is_old) SKIP("before 7.0 errors have other words"); \
  } while (0)

#define NEEDS_PUSHES() \
  do {                 \
    if (*server_command(&real, "HELLO") == '-') SKIP("before 6.0 nothing is pushed"); \
  } while (0)

TEST(random_commands_get_the_same_replies) {
  begin_test();
  run_random(COMMANDS);
}

static void begin_with_password(void) {
  begin_test();
  server_want_password(&real, "secret");
  store.password = "secret";
  reconnect();
}

TEST(a_server_with_a_password_answers_alike) {
  begin_with_password();
  for (int i = 0; i < 20; i++) {
    reconnect();
    run_random(30);
  }
  server_want_password(&real, "");
}

/* Redis 8 leaves a reply out: a client that sends anything before AUTH must not count on one. */
TEST(a_refused_auth_behind_other_replies_is_answered_alike) {
  static const char *const lines[] = {"AUTH wrong", "GET a",       "AUTH wrong", "NOSUCH a",
                                      "AUTH secret", "AUTH wrong", "SELECT 1"};
  struct message m[7];
  NEEDS_7();
  begin_with_password();
  for (int i = 0; i < 7; i++) say(&m[i], lines[i]);
  exchange_batch(&own, m, 7, 0);
  server_want_password(&real, "");
}

static void run_own(int count) {
  struct message m;
  while (count-- > 0) {
    make_own(&m);
    if (!exchange(&m, 1)) break;
  }
}

TEST(a_replica_answers_alike) {
  NEEDS_7();
  begin_test();
  run_random(200);
  server_command(&real, "REPLICAOF 127.0.0.1 1");
  store.replica = 1;
  for (; store.keys > 0 && store.key[store.keys - 1].used == 0; store.keys--) {}
  run_own(300);
  server_command(&real, "REPLICAOF NO ONE");
}

TEST(a_server_out_of_memory_answers_alike) {
  begin_test();
  run_random(200);
  server_command(&real, "CONFIG SET maxmemory 1");
  store.error = STORE_ERROR_OOM;
  run_own(300);
  server_command(&real, "CONFIG SET maxmemory 0");
}

TEST(keys_expire_alike) {
  begin_test();
  if (!ask(&own, "SET short x PX 40 NX") || !ask(&own, "GET short")) return;
  poll(NULL, 0, 20 + MARGIN_MS);
  if (!ask(&own, "GET short") || !ask(&own, "SET short x PX 5000 NX")) return;
  poll(NULL, 0, MARGIN_MS);
  ask(&own, "GET short");
}

/* The number in each of them passes for the same, and all else is: the same request to both. */
static void numbers_are_near(const struct message *m, int64_t margin) {
  char out[STORE_REPLY + 1], wire[2 * TEXT], answer[128];
  struct reply r = {out, 0}, told = {wire, 0};
  char *number = NULL, *at;
  simulate(&own, m, &r, &told);
  out[r.size] = 0;
  send_all(&own, wire, put_on_wire(m, wire), 1);
  for (at = out; *at; at = strchr(at, '\n') + 1) { /* a line at a time */
    answer[read_some(&own, answer, sizeof answer - 1, 1)] = 0;
    if (*at != ':' && !CHECK(strncmp(at, answer, strlen(answer)) == 0 && *answer)) return;
    if (*at != ':') continue;
    number = at;
    CHECK(*answer == ':');
    CHECK(llabs(strtoll(at + 1, NULL, 10) - strtoll(answer + 1, NULL, 10)) <= margin);
  }
  CHECK(number != NULL);
}

/* An extension lengthens, and never shortens; nor does a SET that finds its own value there. */
TEST(times_to_live_are_the_same) {
  static const char *const ttls[] = {"20000", "40000", "10000", "50000", "50000", "1"};
  struct message m;
  begin_test();
  if (!ask(&own, "SET short $1 PX 15000 NX")) return;
  for (size_t i = 0; i < sizeof ttls / sizeof ttls[0]; i++) {
    say(&m, "EVAL $l 1 short $1 %s%s", ttls[i], i % 2 ? " $1" : "");
    if (!exchange(&m, 1)) return;
    say(&m, "PTTL short");
    numbers_are_near(&m, MARGIN_MS);
  }
}

TEST(the_run_id_and_the_uptime_are_told_alike) { /* R24 */
  const char *line;
  struct message m;
  begin_test();
  store.started_s = wall_ms() / 1000 - server_info(&real, "uptime_in_seconds:");
  line = server_command(&real, "INFO server");
  line = line ? strstr(line, "run_id:") : NULL;
  if (!CHECK(line != NULL)) return;
  memcpy(store.run_id, line + 7, 40);
  say(&m, "EVAL $i 0");
  numbers_are_near(&m, 2);
}

TEST(the_proof_of_a_handshake_is_answered_alike) { /* R8 */
  begin_test();
  ask(&own, "EVAL return{ok='redlock'} 0");
}

/* ---- pushes (R26) ---- */

/* HELLO's own reply tells the version: only its end is looked for. */
static int begin_resp3(struct link *l, int noloop) {
  const char *hello = noloop ? "HELLO 3\r\nCLIENT TRACKING ON NOLOOP\r\nPING\r\n"
                             : "HELLO 3\r\nCLIENT TRACKING ON\r\nPING\r\n";
  char line[256] = "";
  int lines = 0;
  send_all(l, hello, strlen(hello), 0);
  while (strncmp(line, "+PONG", 5) != 0 && lines < 1000) {
    line[read_some(l, line, sizeof line - 1, 1)] = 0;
    if (!CHECK(*line && *line != '-')) return 0;
    lines++;
  }
  l->session.resp3 = l->session.tracks = 1;
  l->session.noloop = noloop;
  return 1;
}

/* What waiters, holders and other programs send: who asks reads, or changes what the other read. */
static void make_tracked(struct message *m) {
  const char *const lines[] = {"SET $k $v PX $t", "DEL $k", "GET $k", SET, RELEASE, native_release,
                               "RPUSH another|another|another|list x", ATTEMPT,
                               "EVAL $l 1 $k $v $h"};
  say(m, ANY_OF(lines));
}

static void pushes_are_the_same(int noloop) {
  struct message m;
  if (is_old) SKIP("before 7.0 some pushes leave behind the reply");
  begin_test();
  if (!begin_resp3(&own, noloop) || !begin_resp3(&other, 0)) return;
  for (int i = 0; i < COMMANDS; i++) {
    make_tracked(&m);
    if (!exchange_batch(below(2) ? &own : &other, &m, 1, 1)) return;
  }
}

TEST(pushes_to_all_are_the_same) { pushes_are_the_same(0); } /* R26 */

TEST(pushes_to_all_but_whoever_did_it_are_the_same) { pushes_are_the_same(1); } /* R26 */

static void expect_push(const char *key, const struct message *because) {
  char bytes[128];
  struct reply push = {bytes, 0};
  reply_push(&push, (const unsigned char *)key, key ? strlen(key) : 0);
  expect(&own, &push, because);
  own.session.reads = 0;
}

/* What nobody does to the key, and what is done to all. */
TEST(an_expiry_and_a_flush_are_pushed_alike) { /* R26 */
  NEEDS_PUSHES();
  static const struct message expiry = {"expiry", 6}, flush = {"FLUSHALL", 8};
  begin_test();
  if (!begin_resp3(&own, 0)) return;
  ask(&other, "SET r x PX 150");
  ask(&own, "EVAL $l 1 r $1 30000 $1");
  expect_push("r", &expiry); /* within the patience of a read */
  ask(&other, "SET r x PX 50000");
  ask(&own, "EVAL $l 1 r $1 30000 $1");
  server_command(&real, "FLUSHALL");
  expect_push(NULL, &flush);
}

TEST(nothing_is_pushed_without_hello) { /* R26 */
  NEEDS_PUSHES();
  static char ok[] = "+OK\r\n";
  struct reply r = {ok, 5};
  struct message m = {"CLIENT TRACKING ON\r\n", 20};
  begin_test();
  send_all(&own, m.bytes, m.size, 0);
  expect(&own, &r, &m);
  ask(&other, "SET r x PX 50000");
  ask(&own, "EVAL $l 1 r $1 30000 $1");
  ask(&other, "DEL r");
  ask(&own, "EVAL $l 1 r $1");
}

/* ---- the fenced script (R25), in both spellings ---- */

#define SCRIPTS_CLOCK "1700000000000005" /* instead of the real server's */

/* The script with that clock. */
static void fix_clock(const char *script, char to[SCRIPT]) {
  static const char call[] = "redis.call('time')";
  const char *at = strstr(script, call);
  if (!CHECK(at != NULL)) return;
  snprintf(to, SCRIPT, "%.*s{'1700000000','5'}%s", (int)(at - script), script,
           at + sizeof call - 1);
}

/* A world begins with these keys; "" = none, "list" = a key of another type. */
struct fenced_world {
  const char *lock, *counter, *beginning, *token;
};

static void put_key(const char *key, const char *value) {
  struct key *k;
  if (!*value) return;
  k = store_put(&store, 0, arg_of(key), arg_of(value), 0);
  k->expires_ms = 0;
  k->list = strcmp(value, "list") == 0;
  if (k->list) k->value_size = 0;
  server_command(&real, k->list ? "RPUSH %s %s" : "SET %s %s", key, value);
}

static void say_fenced(struct message *m, const char *script, const struct fenced_world *w) {
  other_script = script;
  say(m, "EVAL $x 2 k f $1 30000 %s %s 60000", w->beginning, w->token);
}

/* The answers, and both keys behind them. A script that fails says where, each in its own words. */
static int fenced_is_alike(const char *script, const struct fenced_world *w) {
  char out[STORE_REPLY] = "", spare[STORE_REPLY], answer[STORE_REPLY] = "";
  struct reply r = {out, 0}, told = {spare, 0};
  struct message m;
  server_command(&real, "FLUSHALL");
  store.keys = 0;
  put_key("k", w->lock);
  put_key("f", w->counter);
  say_fenced(&m, scripts[FENCED].sent, w);
  simulate(&own, &m, &r, &told);
  say_fenced(&m, script, w);
  send_all(&own, m.bytes, m.size, 0);
  if (strstr(out, "arithmetic") == NULL) {
    if (!expect(&own, &r, &m)) return 0;
  } else {
    (void)read_some(&own, answer, sizeof answer - 1, 1);
    if (!CHECK(*answer == '-' && strstr(answer, "arithmetic"))) return 0;
  }
  return ask(&own, "GET k") && ask(&own, "GET f");
}

static void compare_spellings(const struct fenced_world *w) {
  char shorter[SCRIPT], longer[SCRIPT];
  struct message m;
  fix_clock(scripts[FENCED].sent, shorter);
  fix_clock(scripts[FENCED].readable, longer);
  store.now_us = strtoll(SCRIPTS_CLOCK, NULL, 10);
  for (int i = 0; i < 2; i++) {
    if (!fenced_is_alike(i ? longer : shorter, w))
      printf("    lock %s, counter %s, beginning %s, token %s\n", w->lock, w->counter,
             w->beginning, w->token);
    say(&m, i ? "PTTL k" : "PTTL f");
    numbers_are_near(&m, MARGIN_MS);
  }
}

TEST(the_fenced_script_answers_alike_in_both_spellings) { /* R25 */
  static const char *const locks[] = {"", "list", "aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaage",
                                      "aaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaabage", "short"};
  static const char *const tokens[] = {"1", SCRIPTS_CLOCK, "1700000000000006", "1700000030000005",
                                       "1700000030000006", "9000000000000000"};
  static const char *const counters[] = {"", "list", "1", "1700000000000005", "1700000000000006",
                                         "1700000030000005", "nonsense"};
  struct fenced_world w;
  begin_test();
  for (int i = 0; i < 7 * 6 * 7 * 2; i++) {
    w.lock = locks[i % 7];
    w.token = tokens[i / 7 % 6];
    w.counter = counters[i / 42 % 7];
    w.beginning = values[1 + i / 294];
    compare_spellings(&w);
  }
}

static void the_real_server_is_missing(void) { SKIP(servers_missing()); }

int main(int argc, char **argv) {
  check_start(argc, argv);
  if (servers_missing()) {
    RUN(the_real_server_is_missing);
    return check_end();
  }
  start_real();
  for (int i = LOCK; i <= FENCED; i++) read_readable(scripts[i].name, scripts[i].readable);
  check_all();
  return check_end();
}
