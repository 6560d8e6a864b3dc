/* conformance: the simulated server and a real one get the same random commands, in the same random
 * pieces, and must answer the same bytes. Times to live are compared with a margin; of INFO, the
 * lines that the header reads. */
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "redlock.h" /* for the scripts, word for word */

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
#include "servers.h"
#include "base.h"
#include "../store.h"

enum { COMMANDS = 3000, BATCH = 8, REPLY_MS = 2000, MARGIN_MS = 60, TEXT = 4096,
       ROOM = 48 };

static struct rng rng;
static struct server real;
static enum store_kind kind; /* what the real one is */
static unsigned natives;     /* of releases: the commands that it knows */
static int is_old;            /* before 7.0: other words for errors, and PX may overflow */
static int has_getex;         /* 6.2 and later */
static struct key keys[ROOM];
static struct store store;
static struct session session;
static int fd = -1;

static uint32_t below(uint32_t n) { return (uint32_t)(((rng_next(&rng) >> 32) * n) >> 32); }

static int64_t wall_ms(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

static void sleep_ms(long ms) {
  struct timespec t;
  t.tv_sec = ms / 1000;
  t.tv_nsec = ms % 1000 * 1000000;
  nanosleep(&t, NULL);
}

/* ---- the real one ---- */

static void reconnect(void) {
  struct sockaddr_un at;
  if (fd >= 0) close(fd);
  memset(&at, 0, sizeof at);
  at.sun_family = AF_UNIX;
  snprintf(at.sun_path, sizeof at.sun_path, "%s", real.socket);
  fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at)) {
    printf("    cannot connect: %s\n", strerror(errno));
    exit(1);
  }
  memset(&session, 0, sizeof session);
  session.authed = store.password == NULL;
}

static void send_all(const char *bytes, size_t size, int cut) {
  while (size > 0) {
    size_t piece = cut ? 1 + below((uint32_t)size) : size;
    ssize_t sent = write(fd, bytes, piece);
    if (sent <= 0) exit(1);
    bytes += sent;
    size -= (size_t)sent;
  }
}

/* One byte, or -1 when none comes. */
static int read_byte(void) {
  struct pollfd p;
  unsigned char c;
  p.fd = fd;
  p.events = POLLIN;
  if (poll(&p, 1, REPLY_MS) != 1 || read(fd, &c, 1) != 1) return -1;
  return c;
}

static size_t read_some(char *to, size_t size) {
  size_t at = 0;
  int c;
  while (at < size && (c = read_byte()) >= 0) to[at++] = (char)c;
  return at;
}

/* A whole reply, whatever it is. */
static size_t read_reply(char *to, size_t most) {
  size_t size = 0;
  int c;
  long more;
  while (size < most && (c = read_byte()) >= 0) {
    to[size++] = (char)c;
    if (c == '\n') break;
  }
  if (size == 0 || to[0] != '$') return size;
  more = strtol(to + 1, NULL, 10);
  if (more < 0 || size + (size_t)more + 2 > most) return size;
  return size + read_some(to + size, (size_t)more + 2);
}

/* No version tells it, so it is asked. */
static enum store_kind learn_kind(void) {
  static const char ask[] = "NOSUCH\r\nAUTH wrong\r\nPING\r\n";
  char first[256], second[256];
  reconnect();
  send_all(ask, sizeof ask - 1, 0);
  first[read_reply(first, sizeof first - 1)] = 0;
  second[read_reply(second, sizeof second - 1)] = 0;
  if (strncmp(first, "-NOAUTH", 7) == 0) return KIND_VALKEY;
  return strncmp(second, "-NOAUTH", 7) == 0 ? KIND_REDIS_8 : KIND_REDIS_7;
}

/* Before 6.2: what releases then reads by GET, which is remembered. */
static int learn_getex(void) {
  char first[256];
  reconnect();
  send_all("GETEX nosuch\r\n", 14, 0);
  first[read_reply(first, sizeof first - 1)] = 0;
  return strncmp(first, "-ERR unknown", 12) != 0;
}

/* Which commands of its own it has for releases, by its errors. */
static unsigned learn_natives(void) {
  char first[256], second[256];
  reconnect();
  send_all("DELEX nosuch IFEQ x\r\nDELIFEQ nosuch x\r\n", 39, 0);
  first[read_reply(first, sizeof first - 1)] = 0;
  second[read_reply(second, sizeof second - 1)] = 0;
  return (first[0] == ':' ? STORE_DELEX : 0u) | (second[0] == ':' ? STORE_DELIFEQ : 0u);
}

static void start_real(void) {
  server_start(&real, "");
  server_want_password(&real, "secret");
  kind = learn_kind();
  server_want_password(&real, "");
  is_old = server_info(&real, "redis_version:") < 7;
  has_getex = learn_getex();
  natives = learn_natives();
  printf("  the real server is of the kind %s, knows%s%s%s%s\n", store_kind_text(kind),
         natives & STORE_DELEX ? " DELEX" : "", natives & STORE_DELIFEQ ? " DELIFEQ" : "",
         natives ? "" : " neither DELEX nor DELIFEQ",
         is_old ? ", but old: it gets only what the header sends" : "");
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

static char readable_lock[SCRIPT], readable_info[SCRIPT], readable_fenced[SCRIPT];

static void read_scripts(void) {
  read_readable("RL_LOCK_SCRIPT", readable_lock);
  read_readable("RL_INFO_SCRIPT", readable_info);
  read_readable("RL_FENCED_SCRIPT", readable_fenced);
}

/* ---- random commands ---- */

struct message {
  char bytes[TEXT];
  size_t size;
};

static void put(struct message *m, const char *bytes, size_t size) {
  m->size += (size_t)snprintf(m->bytes + m->size, TEXT - m->size, "$%lu\r\n", (unsigned long)size);
  memcpy(m->bytes + m->size, bytes, size);
  memcpy(m->bytes + m->size + size, "\r\n", 2);
  m->size += size + 2;
}

static void begin(struct message *m, int words) {
  m->size = (size_t)snprintf(m->bytes, TEXT, "*%d\r\n", words);
}

/* Values as the header draws them: 20 bytes of anything. */
enum { VALUE = 20 };
static const char values[3][VALUE + 1] = {"\0\1\2\r\n$5\r\n*3+OK -ERR", "aaaaaaaaaaaaaaaaaaaa",
                                          "aaaaaaaaaaaaaaaaaaab"};

static void word(struct message *m, const char *text) {
  put(m, text, text == values[0] ? VALUE : strlen(text));
}

/* The request of so many of these words. */
static void say(struct message *m, int words, ...) {
  va_list list;
  va_start(list, words);
  begin(m, words);
  while (words-- > 0) word(m, va_arg(list, const char *));
  va_end(list);
}

static const char *a_value(void) { return values[below(3)]; }

static const char *a_name(void) {
  static const char *const names[] = {"a", "resource:42", "with space", "\r\n", "list"};
  return names[below(5)];
}

static const char *a_ttl(void) {
  static const char *const ttl[] = {"30000", "60000", "45000", "120000", "31000"};
  return ttl[below(5)];
}

static void make_set(struct message *m) {
  say(m, 6, below(4) ? "SET" : "set", a_name(), a_value(), "PX", a_ttl(), below(4) ? "NX" : "nx");
}

static void make_bad_set(struct message *m) {
  static const char *const texts[] = {"0", "-1", "abc", "9223372036854775807", "1.5", "", "007",
                                      "99999999999999999999"};
  const char *bad = texts[below(8)];
  if (below(2)) say(m, 5, "SET", a_name(), a_value(), "PX", below(2) ? bad : a_ttl());
  else if (below(4)) say(m, 6, "SET", a_name(), a_value(), "PX", bad, "NX");
  else say(m, 6, "SET", a_name(), a_value(), "PX", a_ttl(), "PX"); /* a syntax error */
}

static void make_release(struct message *m) {
  unsigned native = below(2) ? natives : 0;
  if (native & STORE_DELEX) say(m, 4, "DELEX", a_name(), "IFEQ", a_value());
  else if (native) say(m, 3, "DELIFEQ", a_name(), a_value());
  else say(m, 5, "EVAL", RL_LOCK_SCRIPT, "1", a_name(), a_value());
}

static void make_extend(struct message *m) {
  say(m, 6, "EVAL", RL_LOCK_SCRIPT, "1", a_name(), a_value(), a_ttl());
}

static void make_look(struct message *m) { say(m, 2, below(3) == 1 ? "DEL" : "GET", a_name()); }

static void make_odd(struct message *m) {
  static const char *const select[] = {"0", "3", "15", "16", "-1", "x", "99999"};
  switch (below(6)) {
    case 0:
    case 1: say(m, 2, "SELECT", select[below(7)]); break;
    case 2: say(m, 2, "AUTH", "secret"); break;
    case 3: say(m, 3, "AUTH", below(2) ? "default" : "other", "wrong"); break;
    case 4: say(m, 3, "NOSUCH", "arg1", "arg2"); break;
    default: say(m, 1, below(2) ? "SET" : "EVAL");
  }
}

/* With a value of its own, as each attempt has. */
static void make_arm(struct message *m) {
  static unsigned attempt;
  char value[VALUE + 6], same[VALUE + 1], old[VALUE + 1];
  snprintf(old, sizeof old, "%020u", attempt - below(6));
  snprintf(value, VALUE + 1 + below(5), "%020uages", ++attempt); /* an age has three bytes */
  snprintf(same, sizeof same, "%.20s", value);
  say(m, 7, "EVAL", RL_LOCK_SCRIPT, "1", a_name(), value, a_ttl(),
      below(3) == 0 ? old /* R28 */ : below(4) == 0 ? a_value() : same);
}

/* Only what the header sends. */
static void make_own(struct message *m) {
  if (!is_old && below(4) == 0) make_arm(m);
  else if (below(2)) make_set(m);
  else if (below(2)) make_release(m);
  else make_extend(m);
}

static void make(struct message *m) {
  if (is_old) make_own(m);
  else switch (below(14)) {
    case 0:
    case 1:
    case 2: make_set(m); break;
    case 3: make_bad_set(m); break;
    case 4:
    case 5:
    case 6: make_release(m); break;
    case 7:
    case 8: make_extend(m); break;
    case 9: make_look(m); break;
    case 10:
      if (below(8) == 0) say(m, 3, "RPUSH", "list", "x");
      else make_look(m);
      break;
    case 11:
    case 12: make_arm(m); break;
    default: make_odd(m);
  }
}

/* ---- the comparison ---- */

enum { EVAL_AT = 14 }; /* where the script stands in a request: "*5\r\n$4\r\nEVAL\r\n" */

/* What is sent to the real server: in half of the requests the script is the readable one. */
static size_t put_on_wire(const struct message *m, const char *script, const char *readable,
                          char to[2 * TEXT]) {
  static const char bulk[] = "$%lu\r\n%s\r\n";
  char its[SCRIPT];
  size_t size = (size_t)sprintf(its, bulk, (unsigned long)strlen(script), script), other;
  memcpy(to, m->bytes, m->size);
  if (below(2) || m->size < EVAL_AT + size || memcmp(m->bytes + EVAL_AT, its, size) != 0)
    return m->size;
  other = (size_t)sprintf(to + EVAL_AT, bulk, (unsigned long)strlen(readable), readable);
  memcpy(to + EVAL_AT + other, m->bytes + EVAL_AT + size, m->size - EVAL_AT - size);
  return m->size - size + other;
}

static void send_message(const struct message *m, const char *script, const char *readable) {
  char wire[2 * TEXT];
  send_all(wire, put_on_wire(m, script, readable, wire), 1);
}

/* What the simulated one does with the request, and says. */
static struct effect run(struct session *as, const struct message *m, char *out, struct reply *r) {
  struct arg argv[STORE_ARGS];
  struct effect e;
  int argc = 0;
  CHECK_EQ(request_parse((const unsigned char *)m->bytes, m->size, argv, &argc), (long)m->size);
  memset(&e, 0, sizeof e);
  r->at = out;
  r->size = 0;
  store.now_ms = wall_ms();
  store_run(&store, as, argc, argv, r, &e);
  return e;
}

/* The request also arrives piece by piece: it must not be taken for complete too early. */
static size_t simulate(const struct message *m, char *out) {
  struct arg argv[STORE_ARGS];
  struct reply r;
  int argc = 0;
  size_t cut = below((uint32_t)m->size);
  CHECK_EQ(request_parse((const unsigned char *)m->bytes, cut, argv, &argc), 0);
  (void)run(&session, m, out, &r);
  return r.size;
}

static void show(const char *who, const char *bytes, size_t size) {
  size_t i;
  printf("    %s: ", who);
  for (i = 0; i < size; i++) {
    if (bytes[i] >= ' ' && bytes[i] <= '~') putchar(bytes[i]);
    else printf("\\x%02x", (unsigned)(unsigned char)bytes[i]);
  }
  putchar('\n');
}

static int compare(const struct message *m, const char *simulated, size_t size) {
  static char answer[2 * STORE_REPLY];
  size_t got = size ? read_reply(answer, sizeof answer) : 0; /* none: the next one shows it */
  if (CHECK(got == size && memcmp(answer, simulated, size) == 0)) return 1;
  show("sent", m->bytes, m->size);
  show("simulated", simulated, size);
  show("real", answer, got);
  return 0;
}

/* A batch goes out in one stream, cut anywhere or nowhere; the replies come in the same order. */
static int exchange_batch(struct message *m, int count, int cut) {
  static char replies[BATCH][STORE_REPLY], stream[BATCH * 2 * TEXT];
  size_t sizes[BATCH], size = 0;
  int i;
  session.unsent = 0;
  for (i = 0; i < count; i++) {
    size += put_on_wire(&m[i], RL_LOCK_SCRIPT, readable_lock, stream + size);
    sizes[i] = simulate(&m[i], replies[i]);
  }
  send_all(stream, size, cut);
  for (i = 0; i < count; i++)
    if (!compare(&m[i], replies[i], sizes[i])) return 0;
  return 1;
}

static int is_auth(const struct message *m) { return memcmp(m->bytes + 8, "AUTH", 4) == 0; }

/* Whether earlier replies are still unsent at an AUTH is chance in a stream that is cut: an AUTH
   begins a batch. */
static int exchange(struct message *m, int count) {
  int size;
  for (; count > 0; m += size, count -= size) {
    for (size = 1; size < count && !is_auth(&m[size]);) size++;
    if (!exchange_batch(m, size, 1)) return 0;
  }
  return 1;
}

static void run_random(int commands) {
  static struct message m[BATCH];
  int done = 0, i, count;
  while (done < commands) {
    count = 1 + (int)below(BATCH);
    for (i = 0; i < count; i++) make(&m[i]);
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

TEST(random_commands_get_the_same_replies) {
  begin_test();
  run_random(COMMANDS);
}

TEST(a_server_with_a_password) {
  int i;
  begin_test();
  server_want_password(&real, "secret");
  store.password = "secret";
  for (i = 0; i < 20; i++) {
    reconnect();
    run_random(30);
  }
  server_want_password(&real, "");
}

/* Redis 8 leaves a reply out: a client that sends anything before AUTH must not count on one. */
TEST(a_refused_auth_behind_other_replies) {
  struct message m[7];
  NEEDS_7();
  begin_test();
  server_want_password(&real, "secret");
  store.password = "secret";
  reconnect();
  say(&m[0], 2, "AUTH", "wrong");
  say(&m[1], 2, "GET", "a");
  say(&m[2], 2, "AUTH", "wrong");
  say(&m[3], 2, "NOSUCH", "a");
  say(&m[4], 2, "AUTH", "secret");
  say(&m[5], 2, "AUTH", "wrong");
  say(&m[6], 2, "SELECT", "1");
  exchange_batch(m, 7, 0);
  server_want_password(&real, "");
}

static void run_own(int count) {
  struct message m[1];
  int i;
  for (i = 0; i < count; i++) {
    make_own(m);
    if (!exchange(m, 1)) break;
  }
}

TEST(a_replica) {
  NEEDS_7();
  begin_test();
  run_random(200);
  server_command(&real, "REPLICAOF 127.0.0.1 1");
  store.replica = 1;
  for (; store.keys > 0 && store.key[store.keys - 1].used == 0; store.keys--) {}
  run_own(300);
  server_command(&real, "REPLICAOF NO ONE");
}

TEST(a_server_out_of_memory) {
  begin_test();
  run_random(200);
  server_command(&real, "CONFIG SET maxmemory 1");
  store.error = STORE_ERROR_OOM;
  run_own(300);
  server_command(&real, "CONFIG SET maxmemory 0");
}

static void set_for(struct message *m, const char *ttl) {
  say(m, 6, "SET", "short", a_value(), "PX", ttl, "NX");
}

TEST(keys_expire) {
  struct message m[2];
  begin_test();
  set_for(&m[0], "40");
  say(&m[1], 2, "GET", "short");
  if (!exchange(m, 2)) return;
  sleep_ms(20 + MARGIN_MS);
  if (!exchange(&m[1], 1)) return;
  set_for(&m[0], "5000");
  if (!exchange(m, 2)) return;
  sleep_ms(MARGIN_MS);
  exchange(&m[1], 1);
}

/* One message, answered by the simulated server and by the real one: two texts. */
static void ask_both(struct message *m, char *out, char *answer, size_t room) {
  out[simulate(m, out)] = 0;
  send_message(m, RL_INFO_SCRIPT, readable_info);
  answer[read_reply(answer, room - 1)] = 0;
}

static int64_t ttl_of_both(int64_t *simulated) {
  struct message m;
  char out[STORE_REPLY + 1], answer[64];
  say(&m, 2, "PTTL", "short");
  ask_both(&m, out, answer, sizeof answer);
  *simulated = strtoll(out + 1, NULL, 10);
  return strtoll(answer + 1, NULL, 10);
}

/* An extension lengthens, and never shortens. */
TEST(times_to_live_are_the_same) {
  static const char *const ttls[] = {"20000", "40000", "10000", "50000", "50000", "1"};
  struct message m;
  int64_t simulated, actual;
  size_t i;
  begin_test();
  say(&m, 6, "SET", "short", values[1], "PX", "15000", "NX");
  if (!exchange(&m, 1)) return;
  for (i = 0; i < sizeof ttls / sizeof ttls[0]; i++) {
    say(&m, 6, "EVAL", RL_LOCK_SCRIPT, "1", "short", values[1], ttls[i]);
    if (!exchange(&m, 1)) return;
    actual = ttl_of_both(&simulated);
    CHECK(actual > 0 && simulated - actual < MARGIN_MS && actual - simulated < MARGIN_MS);
  }
}

/* ---- pushes (R26) ---- */

/* What is pushed to the connection when another one does this. */
static size_t simulate_other(const struct message *m, char *out) {
  static struct session other;
  static char spare[STORE_REPLY];
  struct reply r;
  struct effect e;
  other.db = session.db;
  other.authed = 1;
  e = run(&other, m, spare, &r);
  r.at = out;
  r.size = 0;
  if (e.changed && session_forgets(&session, e.subject, e.subject_size))
    reply_push(&r, e.subject, e.subject_size);
  return r.size;
}

static void expect(const char *bytes, size_t size, const char *what) {
  static char got[2 * STORE_REPLY];
  size_t all = read_some(got, size);
  if (CHECK(all == size && memcmp(got, bytes, size) == 0)) return;
  printf("    %s\n", what);
  show("simulated", bytes, size);
  show("real", got, all);
}

static void make_line(struct message *m, const char *line) {
  char words[256], *at = words, *one;
  int count = 1;
  snprintf(words, sizeof words, "%s", line);
  for (at = words; *at; at++) count += *at == ' ';
  begin(m, count);
  for (one = strtok(words, " "); one; one = strtok(NULL, " ")) word(m, one);
}

static void another_does(const char *line) {
  static char push[STORE_REPLY];
  struct message m;
  size_t size;
  make_line(&m, line);
  size = simulate_other(&m, push);
  server_command(&real, "%s", line);
  expect(push, size, line);
}

/* So it was before 7.0, where NOLOOP does not heed what a script does. */
static void put_push_first(char *out, size_t reply, size_t all) {
  char answer[64];
  if (reply > sizeof answer) return;
  memcpy(answer, out, reply);
  memmove(out, out + reply, all - reply);
  memcpy(out + all - reply, answer, reply);
}

#define ARM "30000" /* the ttl of what sets; any other extends, and none releases */

/* The reply to the script with this behind its value, and what is pushed to the connection of its
 * own doing behind it. */
static void own_says(const char *key, const char *rest) {
  static char out[STORE_REPLY];
  struct message m;
  struct effect e;
  struct reply r;
  size_t size;
  say(&m, strcmp(rest, ARM) == 0 ? 7 : *rest ? 6 : 5, "EVAL", RL_LOCK_SCRIPT, "1", key, values[1],
      rest, values[1]);
  e = run(&session, &m, out, &r);
  size = r.size;
  if (e.changed && session_forgets(&session, e.subject, e.subject_size) &&
      (!session.noloop || is_old))
    reply_push(&r, e.subject, e.subject_size);
  if (is_old) put_push_first(out, size, r.size);
  send_message(&m, RL_LOCK_SCRIPT, readable_lock);
  expect(out, r.size, *rest ? rest : "release");
}

/* The same by the server's own command; the script's, where it has none. */
static void own_deletes(const char *key) {
  static char out[STORE_REPLY];
  struct message m;
  struct effect e;
  struct reply r;
  if (!natives) {
    own_says(key, "");
    return;
  }
  if (natives & STORE_DELEX) say(&m, 4, "DELEX", key, "IFEQ", values[1]);
  else say(&m, 3, "DELIFEQ", key, values[1]);
  e = run(&session, &m, out, &r);
  if (e.changed && session_forgets(&session, e.subject, e.subject_size))
    reply_push(&r, e.subject, e.subject_size);
  send_all(m.bytes, m.size, 1);
  expect(out, r.size, "native release");
}

/* HELLO's own reply tells the version: only its end is looked for. */
static int begin_resp3(int noloop) {
  const char *ask = noloop ? "HELLO 3\r\nCLIENT TRACKING ON NOLOOP\r\nPING\r\n"
                           : "HELLO 3\r\nCLIENT TRACKING ON\r\nPING\r\n";
  static char got[STORE_REPLY];
  size_t size = 0;
  int c;
  send_all(ask, strlen(ask), 0);
  while (size < sizeof got - 1 && (c = read_byte()) >= 0) {
    got[size++] = (char)c;
    got[size] = 0;
    if (size >= 7 && strcmp(got + size - 7, "+PONG\r\n") == 0) break;
  }
  session.resp3 = session.tracks = 1;
  session.noloop = noloop;
  return CHECK(got[0] == '%' && strstr(got, "+OK\r\n+PONG\r\n"));
}

TEST(pushes_are_the_same) { /* R26 */
  static char push[128];
  struct reply nil;
  begin_test();
  if (!begin_resp3(0)) return;
  another_does("SET r x PX 50000");
  own_says("r", ARM);                    /* nil, and it is armed */
  another_does("SET q x");               /* another name */
  another_does("DEL r");
  another_does("DEL r");
  own_says("r", ARM);                    /* OK */
  another_does("DEL r");                 /* not read */
  another_does("SET r x PX 50000");
  own_says("r", ARM);
  own_says("r", ARM);                    /* twice, and pushed once */
  another_does("SET r y PX 50000");
  another_does("DEL r");
  own_says("r", ARM);
  own_says("r", "60000");                /* extended: pushes its own doing */
  own_says("r", "10000");                /* not changed, but its ttl was read */
  own_says("r", "");                     /* released: pushed again */
  own_says("r", "");                     /* read while absent */
  another_does("SET r x PX 50000");
  another_does("DEL r");
  own_says("r", ARM);                    /* OK, and pushes its own doing */
  own_says("r", "");                     /* nothing was read: no push */
  own_says("r", "");
  another_does("SET r x PX 50000");
  own_says("r", "");                     /* another's: read */
  another_does("RPUSH q2 x");
  another_does("DEL r");
  another_does("SET r x PX 50000");
  own_says("r", ARM);
  nil.at = push;
  nil.size = 0;
  reply_push(&nil, NULL, 0);
  session.reads = 0;
  server_command(&real, "FLUSHALL");
  expect(push, nil.size, "FLUSHALL");
  store.keys = 0;
  another_does("SET r x PX 150");
  own_says("r", ARM);
  nil.size = 0;
  reply_push(&nil, (const unsigned char *)"r", 1);
  expect(push, nil.size, "expiry");      /* within the patience of a read */
  reconnect();
  another_does("SET r x PX 50000");
  send_all("CLIENT TRACKING ON\r\n", 20, 0);
  expect("+OK\r\n", 5, "TRACKING without HELLO");
  own_says("r", ARM);
  another_does("DEL r");                 /* and nothing is pushed */
  own_says("r", "");
}

/* Who reads the key is told that a native release took it; who releases so has read nothing. */
TEST(a_native_release_pushes_too) { /* R26 */
  static char push[64];
  struct reply r;
  begin_test();
  if (!begin_resp3(0)) return;
  own_says("r", ARM);    /* OK, and it is armed */
  own_deletes("r");      /* pushed */
  own_says("r", ARM);
  another_does("DEL r");
  if (natives) own_deletes("r"); /* nothing is there, and nothing was read */
  another_does("SET r x PX 50000");
  own_says("r", ARM);    /* another's, and it is read */
  own_deletes("r");      /* it stays */
  r.at = push;
  r.size = 0;
  reply_push(&r, (const unsigned char *)"r", 1);
  if (!natives) return;
  server_command(&real, natives & STORE_DELEX ? "DELEX r IFEQ x" : "DELIFEQ r x");
  expect(push, r.size, "another's native release");
}

/* What the handshake tries: one that it has finds no key, and any other is an error. */
TEST(a_trial_is_answered_alike) {
  static char out[STORE_REPLY];
  struct message m;
  struct reply r;
  int which;
  NEEDS_7();
  begin_test();
  for (which = 0; which < 2; which++) {
    if (which) say(&m, 3, "DELIFEQ", "redlock", "");
    else say(&m, 4, "DELEX", "redlock", "IFEQ", "");
    (void)run(&session, &m, out, &r);
    send_all(m.bytes, m.size, 1);
    expect(out, r.size, "a trial");
  }
}

TEST(nobody_is_told_of_his_own_changes) { /* R26 */
  begin_test();
  if (!begin_resp3(1)) return;
  own_says("r", ARM);     /* OK */
  own_says("r", "60000"); /* extended */
  own_says("r", "");      /* released; what was read is forgotten by it */
  another_does("SET r x PX 50000");
  own_says("r", ARM);     /* nil */
  another_does("DEL r");  /* pushed */
}

/* The script of R24, about this line of INFO. */
static void say_info(struct message *m, const char *line, const char *base) {
  say(m, 5, "EVAL", RL_INFO_SCRIPT, "0", line, base);
}

static void ask_info(const char *line, const char *base, char *out, char *answer) {
  struct message m;
  say_info(&m, line, base);
  ask_both(&m, out, answer, 64);
  CHECK(out[0] == ':' && answer[0] == ':');
}

TEST(the_run_id_is_told_as_a_number) { /* R24 */
  static char out[STORE_REPLY + 1], answer[64];
  const char *line;
  begin_test();
  line = server_command(&real, "INFO server");
  line = line ? strstr(line, "run_id:") : NULL;
  if (!CHECK(line != NULL)) return;
  memcpy(store.run_id, line + 7, 40);
  ask_info("run_id", "16", out, answer);
  CHECK(strncmp(out, answer, strcspn(out, "\r")) == 0);
}

TEST(the_uptime_is_told_as_a_number) { /* R24 */
  static char out[STORE_REPLY + 1], answer[64];
  begin_test();
  store.started_s = wall_ms() / 1000 - server_info(&real, "uptime_in_seconds:");
  ask_info("uptime_in_seconds", "10", out, answer);
  CHECK(labs(atol(out + 1) - atol(answer + 1)) <= 2);
}

TEST(a_replica_tells_neither) { /* R24 */
  struct message m;
  begin_test();
  server_command(&real, "REPLICAOF 127.0.0.1 1");
  store.replica = 1;
  say_info(&m, "run_id", "16");
  (void)exchange(&m, 1);
  server_command(&real, "REPLICAOF NO ONE");
}

/* ---- the fenced script, in both spellings, on the real server alone ---- */

#define SCRIPTS_CLOCK "1700000000000005" /* instead of the server's, so that replies are the same */

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
  if (strcmp(value, "list") == 0) server_command(&real, "RPUSH %s x", key);
  else if (*value) server_command(&real, "SET %s %s", key, value);
}

/* The reply, and what the keys are then. */
static void run_fenced(const char *script, const struct fenced_world *w, char *out, size_t room) {
  struct message m;
  size_t size;
  server_command(&real, "FLUSHALL");
  put_key("k", w->lock);
  put_key("f", w->counter);
  say(&m, 10, "EVAL", script, "2", "k", "f", values[1], "30000", w->beginning, w->token, "60000");
  send_all(m.bytes, m.size, 0);
  size = read_reply(out, room - 1);
  out[size] = 0;
  if (strstr(out, "user_script")) out[11] = 0; /* the place within it */
  size = strlen(out);
  size += (size_t)snprintf(out + size, room - size, "lock %s", server_command(&real, "GET k"));
  size += (size_t)snprintf(out + size, room - size, ", counter %s", server_command(&real, "GET f"));
  snprintf(out + size, room - size, ", ttls %d %d", server_number(&real, "PTTL k") > 29000,
           server_number(&real, "PTTL f") > 59000);
}

static void compare_spellings(const struct fenced_world *w) {
  char shorter[SCRIPT], longer[SCRIPT], first[512], second[512];
  fix_clock(RL_FENCED_SCRIPT, shorter);
  fix_clock(readable_fenced, longer);
  run_fenced(shorter, w, first, sizeof first);
  run_fenced(longer, w, second, sizeof second);
  if (CHECK(strcmp(first, second) == 0)) return;
  printf("    lock %s, counter %s, beginning %s, token %s\n", w->lock, w->counter, w->beginning,
         w->token);
  show("as sent", first, strlen(first));
  show("as spelt out", second, strlen(second));
}

TEST(the_readable_fenced_script_is_the_one_sent) { /* R25 */
  static const char *const locks[] = {"", "list", "aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaage",
                                      "aaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaabage", "short"};
  static const char *const tokens[] = {"1", SCRIPTS_CLOCK, "1700000000000006", "1700000030000005",
                                       "1700000030000006", "9000000000000000"};
  static const char *const counters[] = {"", "list", "1", "1700000000000005", "1700000000000006",
                                         "1700000030000005", "nonsense"};
  struct fenced_world w;
  int i, j, k, n;
  begin_test();
  for (i = 0; i < 7; i++)
    for (j = 0; j < 6; j++)
      for (k = 0; k < 7; k++)
        for (n = 1; n < 3; n++) {
          w.lock = locks[i];
          w.token = tokens[j];
          w.counter = counters[k];
          w.beginning = values[n];
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
  read_scripts();
  check_all();
  return check_end();
}
