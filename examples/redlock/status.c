/* status.c: --status. The client connects to each server as it would for a lock, and knows what is
 * wrong. What a lock does not need to know is then asked over the client's own connections. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MOST (INT64_C(1) << 53) /* no clock shows more us, and any reader of JSON takes it */

/* What a server answers, a line each. The first two say why it refuses, or nothing. */
enum {
  REFUSAL, NO_INFO, VERSION, ROLE, RUN_ID, UPTIME, CLOCK, MODE, MEMORY, POLICY, EVICTED,
  HOLDER, LABEL, LEFT, LINES /* of a lock that is named and held */
};

struct report {
  char line[LINES][REDLOCK_MAX_ERROR];
  int64_t asked_us, round_trip_us; /* as its answer has them */
  int64_t ahead_us;    /* its wall clock: first less our clock, in the end less the others' */
  char hint[480];      /* what more rights would give, and which address is silent; "" = nothing */
  int reached, votes, is_sentinel;
  int wrong;           /* so much of the words says what is wrong; behind ": ", what to do */
  char words[EXPLANATION];
};

static struct report reports[REDLOCK_MAX_SERVERS];

static long connect_ms, answer_ms; /* how long servers had for each */

/* What is found first stands. */
static void complain(struct report *r, const char *error, const char *advice) {
  if (r->wrong) return;
  r->wrong = bare_size(error);
  (void)snprintf(r->words, sizeof r->words, "%.*s: %s", r->wrong, error, advice);
}

static void deny(struct report *r, const char *error, const char *advice) {
  complain(r, error, advice);
  r->votes = 0;
}

/* What a server tells as a number, -1 = that is none. */
static int64_t number_in(const char *line) {
  int64_t number = 0;
  const char *c;
  for (c = line; *c >= '0' && *c <= '9' && number <= MOST; c++) number = number * 10 + (*c - '0');
  return *line && !*c && number <= MOST ? number : -1;
}

/* ---- What the servers are asked -------------------------------------------------------------- */

/* Tries each command that locks need, so that what is denied or renamed is found, and nothing is
   changed: NX and XX exclude each other, no ttl is "x", and the key that is deleted is not there.
   What is denied of a key matters if the lock is named. The value itself is a secret. Some servers
   do not say what they deny a script. */
static const char script[] =
  "local key,named,fenced,wrong=ARGV[1],ARGV[2]=='1',ARGV[3]=='1','' "
  "local function refusal(a,c)return type(a)=='table'and a.err and"
  "(a.err:gsub('this command or sub.*',\"the '\"..c:lower()..\"' command\"))or''end "
  "local function try(matters,c,...)local a=redis.pcall(c,...)local r=refusal(a,c)"
  "if wrong==''and not r:find('syntax error')and not r:find('not an integer')"
  "and(matters or not r:find('key'))then wrong=r end return a end "
  "local v,left=try(named,'GET',key),try(named,'PTTL',key)try(named,'PEXPIRE',key,'x')"
  "local there=redis.pcall('PTTL','" NO_KEY "')"
  "if there==-2 or type(there)=='table'then try(false,'DEL','" NO_KEY "')end "
  "if fenced then local f=key..':fence' "
  "try(true,'TIME')try(named,'GET',f)try(named,'SET',f,'x','NX','XX')end " /* as a token does */
  "local i=redis.pcall('INFO')local lines=wrong..'\\n'..refusal(i,'INFO')"
  "i=type(i)=='table'and''or i:gsub('\\nrole:slave','\\nrole:replica')"
  "for f in((i:find('\\nvalkey_version')and'valkey'or'redis')..'_version role run_id "
  "uptime_in_seconds server_time_usec redis_mode maxmemory maxmemory_policy evicted_clients')"
  ":gmatch('%S+')do "
  "lines=lines..'\\n'..(i:match('\\n'..f..':([^\\r]*)')or'')end "
  "if named and type(v)=='string'and type(left)=='number'then lines=lines..'\\n'.."
  "redis.sha1hex(v:sub(1,20))..'\\n'..(v:match('^'..('[ -~]'):rep(8))or''):gsub(' +$','')..'\\n'.."
  "(left~=0 and left or'')end return lines"; /* -1 = it has no ttl */

static char request[sizeof script + 4 * MAX_RESOURCE + 340];
static size_t request_size;

/* The first alone says what refuses every write: within a script some servers do not ask. The next
   two say what kind of server it is and whether it may wake waiters, and two more whether releases
   may do without a script. They change nothing: no lock's value is empty. */
enum { SET_REPLY, HELLO_REPLY, TRACKING_REPLY, DELEX_REPLY, DELIFEQ_REPLY, SCRIPT_REPLY, REPLIES };

static void write_request(void) {
  const char *key = key_or_none();
  int size = (int)strlen(key);
  request_size = (size_t)snprintf(request, sizeof request,
    "*5\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\nx\r\n$2\r\nNX\r\n$2\r\nXX\r\n"
    "*1\r\n$5\r\nHELLO\r\n*3\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$1\r\nx\r\n"
    "*4\r\n$5\r\nDELEX\r\n$%d\r\n%s\r\n$4\r\nIFEQ\r\n$0\r\n\r\n"
    "*3\r\n$7\r\nDELIFEQ\r\n$%d\r\n%s\r\n$0\r\n\r\n"
    "*6\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n$%d\r\n%s\r\n$1\r\n%d\r\n$1\r\n%d\r\n",
    size, key, size, key, size, key, (int)sizeof script - 1, script, size, key,
    set.resource != NULL, set.fencing);
}

/* A key matters if the lock is named. */
static int is_about_no_lock(const char *error) { return !set.resource && is_about_key(error); }

/* An error, less the arguments that some servers repeat: they may be long. */
static void take_error(struct report *r, const char *error) {
  char *line = r->line[REFUSAL], *arguments;
  (void)take_line(line, error);
  if (strncmp(line, "ERR syntax", 10) == 0 || is_about_no_lock(line)) *line = 0;
  arguments = strstr(line, ", with args");
  if (arguments) *arguments = 0;
}

static void take_lines(struct report *r, const char *at) {
  char other[REDLOCK_MAX_ERROR];
  int i;
  for (i = 0; i < LINES; i++) {
    at = take_line(i == REFUSAL && *r->line[i] ? other : r->line[i], at);
    at += *at == '\n';
  }
}

/* What this user lacks to be woken, or to see all of the table; locks do without. */
static void add_hint(struct report *r, const char *right, const char *what) {
  size_t size = strlen(r->hint);
  (void)snprintf(r->hint + size, sizeof r->hint - size, "; %s would %s", right, what);
}

static void take_hello(struct report *r, const char *hello, const char *tracking) {
  static const char wake[] = "let it wake waiters";
  const char *mode = strstr(hello, "\r\nsentinel\r\n");
  r->is_sentinel = mode && mode < tracking;
  if (strncmp(hello, "-NOPERM", 7) == 0) add_hint(r, "+hello", wake);
  if (strncmp(tracking, "-NOPERM", 7) == 0) add_hint(r, "+client|tracking", wake);
}

/* What a server does not know, no user lacks the right to. */
static void take_native(struct report *r, const char *delex, const char *delifeq) {
  int is_valkey = strncmp(delifeq, "-NOPERM", 7) == 0 || *delifeq == ':';
  const char *native = is_valkey ? delifeq : delex;
  if (strncmp(native, "-NOPERM", 7) != 0 || is_about_key(native + 1)) return;
  add_hint(r, is_valkey ? "+delifeq" : "+delex", "release without a script");
}

static void take_replies(struct report *r, const struct answer *a) {
  static const int shown[] = {REFUSAL, NO_INFO, VERSION, LABEL}; /* and a ROLE that we know not */
  enum { SHOWN = sizeof shown / sizeof *shown };
  const char *const *reply = a->reply;
  int i;
  r->asked_us = a->asked_us;
  r->round_trip_us = a->took_us;
  if (a->is_garbled || (a->took_us >= 0 && !strchr("$-", *reply[SCRIPT_REPLY])))
    complain(r, "it does not answer as Redis does", "check host and port");
  if (a->took_us < 0 || r->wrong) return;
  take_hello(r, reply[HELLO_REPLY], reply[TRACKING_REPLY]);
  take_native(r, reply[DELEX_REPLY], reply[DELIFEQ_REPLY]);
  if (*reply[SET_REPLY] == '-') take_error(r, reply[SET_REPLY] + 1);
  if (*reply[SCRIPT_REPLY] == '$') take_lines(r, strchr(reply[SCRIPT_REPLY], '\n') + 1);
  else if (!*r->line[REFUSAL]) take_error(r, reply[SCRIPT_REPLY] + 1); /* the script is refused */
  for (i = 0; i < SHOWN; i++) hide_password((int)(r - reports), r->line[shown[i]]);
}

/* ---- The judgement --------------------------------------------------------------------------- */

static void judge_info(struct report *r) {
  const struct report *above;
  if (strcmp(r->line[ROLE], "replica") == 0) deny(r, "it is a replica", "list masters only");
  else if (*r->line[ROLE] && strcmp(r->line[ROLE], "master") != 0) {
    deny(r, "it is no plain master", "list masters that replicate nothing (KeyDB: no "
         "active-replica)");
    hide_password((int)(r - reports), r->line[ROLE]);
  }
  if (*r->line[MODE] && strcmp(r->line[MODE], "standalone") != 0)
    deny(r, "it is part of a cluster", "list plain masters only");
  if (r->is_sentinel) deny(r, "it is a sentinel", "list the masters themselves, and no replicas");
  for (above = reports; above != r; above++)
    if (*r->line[RUN_ID] && strcmp(above->line[RUN_ID], r->line[RUN_ID]) == 0)
      deny(r, "the same server as one above", "list it once");
}

/* In words as of explain. */
static void deny_as_told(struct report *r, int size, char *words) {
  words[size] = 0;
  deny(r, words, words + size + 2);
}

/* Uptimes are whole seconds. This client may have waited for the last part of one by now, and who
   connects next in that second would wait for it again: so the server votes with the next one. */
static void judge_quarantine(struct report *r) {
  char words[EXPLANATION];
  int64_t uptime_s = number_in(r->line[UPTIME]);
  int64_t left_ms = uptime_s < 0 ? 0 : quarantine_after_ms(uptime_s);
  if (left_ms > 0) deny_as_told(r, quarantine_words(left_ms, words), words);
}

/* A negative one: its wall clock was ahead when it started. */
static void judge_uptime(struct report *r) {
  char error[EXPLANATION];
  int64_t back_s = *r->line[UPTIME] == '-' ? number_in(r->line[UPTIME] + 1) : 0;
  int size = set_back_words(back_s, error);
  if (back_s <= 0) return;
  error[size] = 0;
  (set.max_ttl_ms ? deny : complain)(r, error, error + size + 2);
}

static void deny_in_its_words(struct report *r) {
  if (*r->line[REFUSAL]) deny(r, r->line[REFUSAL], advice_for(r->line[REFUSAL]));
}

static void deny_for_silence(struct report *r, int server, long ms) {
  char error[EXPLANATION];
  deny_as_told(r, time_out_words(server, (uint32_t)ms, error), error);
}

static void add_silent_address(struct report *r, int server) {
  char words[ADDRESS_WORDS];
  size_t size = strlen(r->hint);
  if (address_words(server, words))
    (void)snprintf(r->hint + size, sizeof r->hint - size, "; %s", words);
}

/* What the client says comes first, but for a right: it may not know which. Three capitals begin a
   server's own words. */
static void judge(struct report *r, int server) {
  const char *error = redlock_server_error(&client, server);
  redlock_server_info info;
  (void)redlock_server_status(&client, server, &info);
  r->reached = info.connected || strspn(error, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") > 2;
  r->votes = r->round_trip_us >= 0 && !r->wrong;
  judge_info(r);
  judge_uptime(r);
  if (is_about_rights(r->line[REFUSAL])) deny_in_its_words(r);
  if (!r->wrong && !is_about_no_lock(error)) {
    r->wrong = explain(server, r->words);
    if (is_time_out(r->words)) r->wrong = 0; /* it may have answered since */
    r->votes = r->votes && !r->wrong;
  }
  deny_in_its_words(r);
  judge_quarantine(r);
  if (!r->votes) deny_for_silence(r, server, info.connected ? answer_ms : connect_ms);
  if (is_about_rights(r->line[NO_INFO])) add_hint(r, "+info", "tell its version and role");
  else if (*r->line[NO_INFO]) complain(r, r->line[NO_INFO], advice_for(r->line[NO_INFO]));
  if (number_in(r->line[MEMORY]) > 0 && strcmp(r->line[POLICY], "noeviction") != 0)
    complain(r, "it may evict locks", "set maxmemory-policy noeviction");
  if (number_in(r->line[EVICTED]) > 0)
    add_hint(r, "it has thrown out clients to save memory: a higher maxmemory-clients",
             "keep them");
  add_silent_address(r, server);
  if (!info.tracking && !strstr(r->hint, "waiters") && strtol(r->line[VERSION], NULL, 10) >= 6)
    complain(r, "waiters are not told when a lock is free", "it lacks HELLO or CLIENT");
}

static int has_clock(const struct report *r) { return number_in(r->line[CLOCK]) >= 0; }

/* As a lock with a token sees them: against the quorum-th slowest. */
static void compare_clocks(int count) {
  int64_t base = INT64_MIN, most_us = (int64_t)set.max_ttl_ms * 250;
  struct report *r, *other, *end = reports + count;
  for (r = reports; r != end; r++) r->ahead_us = number_in(r->line[CLOCK]) - r->asked_us;
  for (r = reports; r != end; r++) {
    int below = 0;
    for (other = reports; other != end; other++)
      below += has_clock(other) && other->ahead_us < r->ahead_us;
    if (has_clock(r) && below < quorum() && r->ahead_us > base) base = r->ahead_us;
  }
  for (r = reports; r != end; r++) {
    if (!has_clock(r)) continue;
    r->ahead_us -= base;
    if (set.fencing && (r->ahead_us > most_us || r->ahead_us < -most_us))
      deny(r, "its clock is far from the others'", "set it, and keep it right by NTP");
  }
}

/* ---- The table ------------------------------------------------------------------------------- */

enum { NO_TTL = -1 };

/* 0 = it has no such lock, or does not say. */
static int64_t left_ms(const struct report *r) {
  int64_t left = number_in(r->line[LEFT]);
  if (strcmp(r->line[LEFT], "-1") == 0) return NO_TTL;
  return left < 0 ? 0 : left;
}

static int lasts_longer(const struct report *r, const struct report *other) {
  if (left_ms(other) == NO_TTL) return 0;
  return left_ms(r) == NO_TTL || left_ms(r) > left_ms(other);
}

/* The value of the named lock that most servers have: of those, the one that keeps it longest. */
static const struct report *find_holder(int count, int *most) {
  const struct report *r, *other, *holder = reports, *end = reports + count;
  for (r = reports; r != end; r++) {
    int same = 0;
    for (other = reports; other != end; other++)
      same += *r->line[HOLDER] && strcmp(r->line[HOLDER], other->line[HOLDER]) == 0;
    if (same < *most || (same == *most && !lasts_longer(r, holder))) continue;
    *most = same;
    holder = r;
  }
  return holder;
}

/* +0.012s, or in larger units; what is less than a millisecond has no sign */
static void format_clock(int64_t us, char text[32]) {
  int64_t most = us < 0 ? -us : us;
  const char *sign = most < 1000 ? "" : us < 0 ? "-" : "+";
  char time[24];
  if (most < 60000000)
    (void)snprintf(time, sizeof time, "%ld.%03lds", (long)(most / 1000000),
                   (long)(most % 1000000 / 1000));
  else format_uptime(most / 1000000, time);
  (void)snprintf(text, 32, "%s%s", sign, time);
}

static const char *or_else(const char *text, const char *by_default) {
  return *text ? text : by_default;
}

static void print_row(const struct report *r, struct name name, int width) {
  char uptime[24] = "-", trip[32] = "-", clock[32] = "-";
  if (number_in(r->line[UPTIME]) >= 0) format_uptime(number_in(r->line[UPTIME]), uptime);
  if (has_clock(r)) format_clock(r->ahead_us, clock);
  if (r->round_trip_us >= 0)
    (void)snprintf(trip, sizeof trip, "%ld.%02ld ms", (long)(r->round_trip_us / 1000),
                   (long)(r->round_trip_us % 1000 / 10));
  print_line("%-*.*s  %-5s  %-8s  %-7s  %8s  %10s  %8s  %s%s", width, name.size, name.at,
             r->reached ? "yes" : "NO", or_else(r->line[VERSION], "-"), or_else(r->line[ROLE], "-"),
             uptime, trip, clock, r->wrong ? r->words : "ok", r->wrong ? "" : r->hint);
}

/* Of the lock that is named. */
static void print_holder(int count) {
  char label[32] = "", left[96] = "";
  int has = 0;
  const struct report *holder = find_holder(count, &has);
  if (*holder->line[LABEL])
    (void)snprintf(label, sizeof label, ", labelled '%.8s'", holder->line[LABEL]);
  if (left_ms(holder) == NO_TTL)
    (void)snprintf(left, sizeof left, ", which never ends by itself (it has no ttl): delete it by "
                   "hand if nobody holds it");
  else if (left_ms(holder))
    (void)snprintf(left, sizeof left, ", for %llds at most",
                   (long long)(left_ms(holder) + 999) / 1000);
  print_line("%d of %d servers have lock '%s'%s%s", has, count, set.resource, label, left);
}

/* Names were looked up just now; other clients may know older addresses. */
static void print_restarts(int count, int votes) { /* R29 */
  int i, has = 0, names = 0;
  if (set.resource) (void)find_holder(count, &has);
  for (i = 0; i < count; i++) names += is_by_name(i);
  if (votes < count) puts("not all vote: restart no server, or kept locks may be lost");
  else if (has > 0 && has < count)
    print_line("all vote, but not all have lock '%s': restart none that has it, or it may be lost",
               set.resource);
  else if (names)
    puts("all vote: the next server can be restarted, and kept locks stay, if servers keep their "
         "addresses or clients look names up again (redlock does, within 10s)");
  else puts("all vote: the next server can be restarted, and kept locks stay");
}

static void print_table(int count, int votes) {
  char most[16];
  int i, width = 6;
  for (i = 0; i < count; i++)
    if (name_of(i).size > width) width = name_of(i).size;
  printf("%-*s  %-5s  %-8s  %-7s  %8s  %10s  %8s  %s\n", width, "SERVER", "REACH", "VERSION",
         "ROLE", "UPTIME", "ROUND TRIP", "CLOCK", "STATE");
  for (i = 0; i < count; i++) print_row(&reports[i], name_of(i), width);
  printf("%d of %d servers can vote, %d are needed: %s\n", votes, count, quorum(),
         votes >= quorum() ? "locks can be taken" : "NO SAFE LOCK CAN BE TAKEN");
  if (set.max_ttl_ms) print_restarts(count, votes);
  if (count % 2 == 0)
    printf("%d servers bear the loss of %d, as %d would: list an odd number\n", count,
           count - quorum(), count - 1);
  if (set.resource) print_holder(count);
  printf("the list is from %s", set.servers_from);
  if (set.max_ttl_ms) printf(", --max-ttl %s from %s", in_units(set.max_ttl_ms, most),
                             set.max_ttl_from);
  putchar('\n');
}

/* ---- The same as JSON ------------------------------------------------------------------------ */

/* "key":"text" or null. What is not ASCII is left out: it need not be UTF-8. */
static void print_text(const char *key, const char *text, int size) {
  int i;
  printf("\"%s\":%s", key, size ? "\"" : "null");
  for (i = 0; i < size; i++) {
    if (text[i] == '"' || text[i] == '\\') putchar('\\');
    putchar(text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
  }
  fputs(size ? "\"," : ",", stdout);
}

/* "key":number or null */
static void print_number(const char *key, int64_t number, int is_known) {
  if (is_known) printf("\"%s\":%lld", key, (long long)number);
  else printf("\"%s\":null", key);
}

static const char *yes_or_no(int yes) { return yes ? "true" : "false"; }

/* What stands behind the error or "ok". */
static const char *advice_in(const struct report *r) {
  if (r->wrong) return r->words + r->wrong + 2;
  return *r->hint ? r->hint + 2 : "";
}

static void print_json_row(const struct report *r, struct name name) {
  const char *advice = advice_in(r);
  char trip[32] = "null";
  if (r->round_trip_us >= 0)
    (void)snprintf(trip, sizeof trip, "%ld.%03ld", (long)(r->round_trip_us / 1000),
                   (long)(r->round_trip_us % 1000));
  putchar('{');
  print_text("server", name.at, name.size);
  print_text("version", r->line[VERSION], (int)strlen(r->line[VERSION]));
  print_text("role", r->line[ROLE], (int)strlen(r->line[ROLE]));
  print_text("error", r->words, r->wrong);
  print_text("advice", advice, (int)strlen(advice));
  printf("\"reached\":%s,\"votes\":%s,", yes_or_no(r->reached), yes_or_no(r->votes));
  print_number("uptime_s", number_in(r->line[UPTIME]), number_in(r->line[UPTIME]) >= 0);
  printf(",\"round_trip_ms\":%s,", trip);
  print_number("clock_us", r->ahead_us, has_clock(r));
  putchar('}');
}

static void print_json(int count, int votes) {
  int i, has = 0;
  const struct report *holder = find_holder(count, &has);
  fputs("{\"servers\":[", stdout);
  for (i = 0; i < count; i++) {
    if (i) putchar(',');
    print_json_row(&reports[i], name_of(i));
  }
  fputs("],", stdout);
  print_text("list_from", set.servers_from, (int)strlen(set.servers_from));
  print_text("max_ttl_from", set.max_ttl_from, set.max_ttl_ms ? (int)strlen(set.max_ttl_from) : 0);
  print_text("label", holder->line[LABEL], (int)strlen(holder->line[LABEL]));
  printf("\"have_lock\":%d,", has);
  print_number("left_ms", left_ms(holder), left_ms(holder) != 0);
  printf(",\"can_vote\":%d,\"needed\":%d,\"locks\":%s}\n", votes, quorum(),
         yes_or_no(votes >= quorum()));
}

/* ---- All of it ------------------------------------------------------------------------------- */

void show_status(void) {
  int i, votes = 0, count = count_servers();
  int64_t began = now_ms(), connected;
  connect_all();
  write_request();
  connected = now_ms();
  ask_all(request, request_size, REPLIES);
  connect_ms = (long)(connected - began);
  answer_ms = (long)(now_ms() - connected);
  for (i = 0; i < count; i++) {
    take_replies(&reports[i], &answers[i]);
    judge(&reports[i], i);
  }
  compare_clocks(count);
  for (i = 0; i < count; i++) votes += reports[i].votes;
  (set.json ? print_json : print_table)(count, votes);
  if (votes < quorum()) print_and_exit(EXIT_NO_QUORUM);
  print_and_exit(set.strict && votes < count ? EXIT_MINORITY : 0);
}
