/* hostile.c: servers that answer whatever they like. None of them ends the command, forges what it
 * tells of the others, reaches the terminal, or costs a ticket. */
#include "tests/command/liar.h"
#include "tests/json.h"

/* What it says of one of the servers. */
static const char *told_of(const char *json, int port) {
  static char text[LINE];
  char begin[64];
  const char *at, *end;
  snprintf(begin, sizeof begin, "{\"server\":\"127.0.0.1:%d\",", port);
  at = strstr(json, begin);
  end = at ? past_value(at) : NULL;
  snprintf(text, sizeof text, "%.*s", end ? (int)(end - at) : 0, at);
  return text;
}

static int is_well(const char *told) {
  return strstr(told, "\"role\":\"master\",\"error\":null,\"advice\":null,\"reached\":true,"
                      "\"votes\":true,\"uptime_s\":") != NULL;
}

enum { REDLOCK_WORDS = 160 /* of a server are kept */ };

/* ---- one lie of each, and the three servers behind them ---- */

static char everybody[LINE];

/* Each hangs up behind its answer: what is cut is not waited for. */
static pid_t begin_lies(enum question question, const struct bytes *answers, int count) {
  struct liar liars[LIARS];
  int i;
  for (i = 0; i < count; i++) {
    liars[i].question = question;
    liars[i].answer = answers[i];
    liars[i].hangs_up = 1;
  }
  return start_liars(liars, count, everybody);
}

/* A table or a line of text: nothing that a terminal obeys. */
static int is_plain(const char *text) {
  while (*text == '\n' || (*text >= ' ' && *text <= '~')) text++;
  return *text == 0;
}

static int lines_in(const char *text) {
  int count = 0;
  for (; *text; text++) count += *text == '\n';
  return count;
}

/* However much is made of it, the report is whole, and right of those that do not lie. */
static void check_status(int liars) {
  int i, count = liars + real.count, status = shell("$redlock --status --json job");
  CHECK(status == 0 || status == 121);
  CHECK(is_report_of(output(), count));
  for (i = 0; i < real.count; i++)
    if (!CHECK(is_well(told_of(output(), real.at[i].port)))) printf("    said: %s\n", output());
  CHECK_EQ(shell("$redlock --status job"), status);
  CHECK(is_plain(output()));
  CHECK_EQ(lines_in(output()), 1 + count + 1 + (count % 2 == 0) + 2); /* of the lock and the list */
}

static void lie_in(enum question question, const struct bytes *answers, int count) {
  int i;
  for (i = 0; i < count; i += LIARS) {
    int some = count - i < LIARS ? count - i : LIARS;
    pid_t pid = begin_lies(question, answers + i, some);
    char list[SERVERS_LIST];
    use_servers("%s%s", everybody, servers_list(&real, real.count, list));
    check_status(some);
    stop_liars(pid);
  }
}

/* What is no answer to any question, of each type: sizes that overflow, that are negative, that
   never come; answers that are cut, and that belong to something else. */
static const struct bytes wrong[] = {
  BYTES("$9223372036854775807\r\nhello\r\n"), BYTES("$9223372036854775806\r\nhello\r\n"),
  BYTES("$2147483647\r\nhello\r\n"), BYTES("$2147483646\r\n"),
  BYTES("$-9223372036854775808\r\nhello\r\n"), BYTES("$-2\r\n"), BYTES("$5\r\nhel"),
  BYTES("=9223372036854775807\r\ntxt:\r\n"), BYTES("*2\r\n$9223372036854775807\r\nhello\r\n"),
  BYTES("*9223372036854775807\r\n:1\r\n"), BYTES("*-9\r\n"),
  BYTES("%4611686018427387904\r\n+a\r\n+b\r\n"), BYTES("~2147483647\r\n"),
  BYTES(">9223372036854775807\r\n$1\r\na\r\n"), BYTES(">9999\r\n*9999\r\n%9999\r\n"),
  BYTES(":99999999999999999999999999\r\n"), BYTES("+\r\n"), BYTES("\0\0\0\0\r\n"), BYTES(""),
  BYTES("-\r\n"), BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), BYTES("$-1\r\n"),
  BYTES("*0\r\n"), BYTES("#t\r\n"), BYTES("|1\r\n+a\r\n+b\r\n")
};
enum { WRONG = sizeof wrong / sizeof *wrong };

TEST(no_answer_of_a_server_ends_a_status) {
  int question;
  for (question = TRY_SET; question <= ASK_STATUS; question++)
    lie_in((enum question)question, wrong, WRONG);
}

/* One of three: what is said of all of them is right too. */
TEST(one_server_that_lies_changes_no_others_status) {
  struct liar liar = {ASK_STATUS, BYTES("$9223372036854775807\r\nhello\r\n"), 0, 0};
  pid_t pid = start_liars(&liar, 1, everybody);
  use_servers("%s127.0.0.1:%d,127.0.0.1:%d", everybody, real.at[0].port, real.at[1].port);
  CHECK_SAYS("\"can_vote\":2,\"needed\":2,\"locks\":true}\n", 0, "$redlock --status --json");
  CHECK(is_report_of(output(), 3));
  CHECK(is_well(told_of(output(), real.at[0].port)) && is_well(told_of(output(), real.at[1].port)));
  CHECK(says("\"error\":\"it does not answer as Redis does\""));
  stop_liars(pid);
}

/* ---- what is a good answer, with words that are none ---- */

#define OF_LOCK "\nda39a3ee5e6b4b0d3255bfef95601890afd80709\n"
#define NOW "1700000000000000"

static const struct bytes words[] = {
  BYTES(TOLD("7.0.15", "master", "9}],\"x\":[{\"a\":9", NOW, "")),
  BYTES(TOLD("7.0.15", "master", "x", "y", "")), BYTES(TOLD("7.0.15", "master", "-5", "-5", "")),
  BYTES(TOLD("7.0.15", "master", "99999999999999999999", "99999999999999999999", "")),
  BYTES(TOLD("7.0.15", "master", "9223372036854775807", "-9223372036854775808", "")),
  BYTES(TOLD("7.0.15", "master", "1e9", " 1", "")), BYTES(TOLD("7.0.15", "master", "0x10", "", "")),
  BYTES(TOLD("7.0.15", "master", "007", "NaN", "")),
  BYTES(TOLD("7.0.15", "master", "\033]0;owned\007", NOW, "")),
  BYTES(TOLD("7.\x9b" "2J", "master\xe2\x80\xae", "9", NOW, "")),
  BYTES(TOLD("\xc2\x9b" "31m\xe0\x82\x9b", "\x85\x8d\x8e", "9", NOW, "")),
  BYTES(TOLD("7\"},{\"", "\\", "9", NOW, OF_LOCK "me      \n0,\"can_vote\":3} {\"x\":0")),
  BYTES(TOLD("7\0 15", "master", "9\0", NOW, "")), BYTES("\n\n\n"), BYTES(""), BYTES("x"),
  BYTES("ERR \033[31mred \xc2\x9b" "31m \xe2\x80\xae rtl \",\"votes\":true\n\n7.0.15"),
  BYTES(TOLD("7.0.15", "master", "9", NOW, OF_LOCK "\033[2J    \n9223372036854775807")),
  BYTES(TOLD("7.0.15", "master", "9", NOW, OF_LOCK "\",\"x\":\"\n-9223372036854775808")),
  BYTES(TOLD("7.0.15", "master", "9", NOW, OF_LOCK "\x9b\xe2\x80\xae\nnull"))
};
enum { TALES = sizeof words / sizeof *words };

static void lie_in_words(const struct bytes *tales, int count) {
  static char texts[TALES][400];
  struct bytes answers[TALES];
  int i;
  for (i = 0; i < count; i++) {
    size_t size = (size_t)sprintf(texts[i], "$%d\r\n", (int)tales[i].size);
    memcpy(texts[i] + size, tales[i].at, tales[i].size);
    memcpy(texts[i] + size + tales[i].size, "\r\n", 3);
    answers[i].at = texts[i];
    answers[i].size = size + tales[i].size + 2;
  }
  lie_in(ASK_STATUS, answers, count);
}

TEST(no_word_of_a_server_is_more_than_a_word) { lie_in_words(words, TALES); }

/* One that says this of itself, to a status. */
static pid_t start_teller(struct bytes told, char *list) {
  char answer[400];
  struct liar liar = {ASK_STATUS, BYTES(""), 0, 0};
  liar.answer.at = answer;
  liar.answer.size = (size_t)sprintf(answer, "$%d\r\n%s\r\n", (int)told.size, told.at);
  return start_liars(&liar, 1, list);
}

/* A number is what was read of it. */
TEST(a_number_is_printed_from_the_number) {
  static const struct {
    struct bytes told;
    const char *json;
  } rows[] = {
    {BYTES(TOLD("7.0.15", "master", "007", "", "")), "\"uptime_s\":7,"},
    {BYTES(TOLD("7.0.15", "master", "0", "", "")), "\"uptime_s\":0,"},
    {BYTES(TOLD("7.0.15", "master", "4294967296", "", "")), "\"uptime_s\":4294967296,"},
    {BYTES(TOLD("7.0.15", "master", "9 ", "", "")), "\"uptime_s\":null,"},
    {BYTES(TOLD("7.0.15", "master", "-9", "x", "")), "\"clock_us\":null}"},
    {BYTES(TOLD("7.0.15", "master", "9", NOW, "")), "\"clock_us\":0}"},
    {BYTES(TOLD("7.0.15", "master", "9", "", OF_LOCK "me      \n4294967296")),
     "\"left_ms\":4294967296,"},
    {BYTES(TOLD("7.0.15", "master", "9", "", OF_LOCK "me      \n-1")), "\"left_ms\":-1,"},
    {BYTES(TOLD("7.0.15", "master", "9", "", OF_LOCK "me      \n-2")), "\"left_ms\":null,"},
    {BYTES(TOLD("7.0.15", "master", "9", "", OF_LOCK "me      \n9}")), "\"left_ms\":null,"}
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    char list[64] = "";
    pid_t pid = start_teller(rows[i].told, list);
    use_servers("%s", list);
    CHECK_SAYS(rows[i].json, 0, "$redlock --status --json job");
    stop_liars(pid);
  }
}

/* A client waits for what an uptime of 9 s may be off, and counts the vote 1 ms later; so --status
   would say 0 or not, by how long it takes, for a second. */
TEST(a_server_votes_from_the_second_on_in_which_nobody_waits_for_it) { /* R24 */
  static const struct {
    struct bytes told;
    int status;
  } rows[] = {
    {BYTES(TOLD("7.0.15", "master", "9", NOW, "")), 121},
    {BYTES(TOLD("7.0.15", "master", "10", NOW, "")), 0}
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    char list[64] = "";
    pid_t pid = start_teller(rows[i].told, list);
    use_servers("%s", list);
    CHECK_SAYS(i ? "1 of 1" : "up 6s of --max-ttl 7s: it votes in 1s", rows[i].status,
               "$redlock --status -t 1s --max-ttl 7s");
    stop_liars(pid);
  }
}

/* ---- tickets ---- */

static void put_ticket_file(void) {
  CHECK_EQ(shell("echo job/0123456789012345678901234567890123456789 >$work/ticket"), 0);
}

/* They are all there are, and none of them has released it. */
TEST(no_answer_of_a_server_costs_a_ticket) {
  int i;
  for (i = 0; i < WRONG; i += LIARS) {
    pid_t pid = begin_lies(ASK_RELEASE, wrong + i, WRONG - i < LIARS ? WRONG - i : LIARS);
    use_servers("%s", everybody);
    put_ticket_file();
    CHECK_EQ(shell("$redlock --release --ticket-file $work/ticket"), 121);
    CHECK(exists("ticket") && is_plain(output()));
    stop_liars(pid);
  }
}

TEST(a_release_that_is_killed_leaves_its_ticket) {
  struct liar silent = {ASK_RELEASE, BYTES(""), 0, 0};
  pid_t pid = start_liars(&silent, 1, everybody), release;
  use_servers("%s", everybody);
  put_ticket_file();
  release = start("exec $redlock --release --ticket-file $work/ticket");
  CHECK(await_file("asked"));
  kill(release, SIGKILL);
  CHECK_EQ(end_of(release), 128 + SIGKILL);
  CHECK(exists("ticket"));
  stop_liars(pid);
}

/* Nor does one who does not know of the lock: the servers that do may be away. */
TEST(a_ticket_that_is_not_known_keeps_its_file) {
  struct liar liar = {ASK_RELEASE, BYTES(":0\r\n"), 0, 0};
  pid_t pid = start_liars(&liar, 1, everybody);
  use_servers("%s", everybody);
  put_ticket_file();
  CHECK_SAYS("is not held by this ticket", 122, "$redlock --release --ticket-file $work/ticket");
  CHECK(exists("ticket"));
  stop_liars(pid);
}

TEST(a_refused_release_is_told_in_harmless_words) {
  struct liar liar = {ASK_RELEASE, BYTES("-ERR \033]0;x\007 \x9b" "2J \xe2\x80\xaertl\r\n"), 0, 0};
  pid_t pid = start_liars(&liar, 1, everybody);
  use_servers("%s", everybody);
  put_ticket_file();
  CHECK_SAYS("refuses the release: ERR ?]0;x? ?2J ???rtl: ", 121,
             "$redlock --release --ticket-file $work/ticket");
  stop_liars(pid);
}

/* ---- passwords ---- */

#define SECRET "hunter2 \xc3\xa4%41"
#define ENCODED "hunter2%20%C3%a4%2541"
#define FIFTY "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcd"

static int shows(const char *part) {
  if (!says(part)) return 0;
  printf("    said: %s\n", output());
  return 1;
}

/* Whatever it was sent, to whatever question, and wherever its words are shown. */
static void check_hidden(enum question question, const char *answer, const char *password,
                         const char *part) {
  static const char *const uses[] = {"--status job", "--status --json job", "-n job -- true",
                                     "--release job/0123456789012345678901234567890123456789"};
  struct liar liar = {question, BYTES(""), 0, 0};
  char list[64];
  pid_t pid;
  size_t i;
  int hidden = 0;
  liar.answer.at = answer;
  liar.answer.size = strlen(answer);
  pid = start_liars(&liar, 1, list);
  use_servers(password ? "redis://ann:%s@%s" : "%.0s%s", password ? password : "", list);
  for (i = 0; i < sizeof uses / sizeof *uses; i++) {
    (void)shell("XDG_CONFIG_HOME=$work $redlock %s", uses[i]);
    CHECK(!shows(part));
    hidden += says("***");
  }
  if (!CHECK(hidden > 0)) printf("    %d %s", (int)question, answer);
  stop_liars(pid);
}

TEST(no_password_is_told_in_a_servers_words) {
  static const char shown[] = "hunter2 ??%41"; /* as any other word would be */
  char text[256];
  shell("mkdir -m 700 $work/redlock; umask 077; printf 'hunter2 \\303\\244%%41' "
        ">$work/redlock/password");
  check_hidden(ASK_LOGIN, "-ERR no such user: ann " SECRET ": see its log\r\n", ENCODED, shown);
  check_hidden(ASK_LOGIN, "-ERR no such user: " SECRET "\r\n", NULL, shown);
  check_hidden(ASK_PROOF, "-LOADING " SECRET ". Wait\r\n", NULL, shown);
  check_hidden(ASK_LOCK, "-OOM " SECRET "\r\n", ENCODED, shown);
  check_hidden(TRY_SET, "-OOM " SECRET "\r\n", ENCODED, shown);
  check_hidden(ASK_RELEASE, "-NOPERM " SECRET "\r\n", NULL, shown);
  check_hidden(ASK_STATUS, "-NOPERM run the '" SECRET "' x\r\n", NULL, shown);
  check_hidden(ASK_STATUS, put_bulk(text, "ERR " SECRET "\nERR " SECRET "\n7 " SECRET "\n" SECRET
                                    "\nr\n" SECRET "\n"), NULL, shown);
  /* of a long one, what still fits is hidden too */
  snprintf(text, sizeof text, "-ERR %0*d " FIFTY "\r\n", REDLOCK_WORDS - 40, 0);
  check_hidden(ASK_LOGIN, text, FIFTY, "0123456789abcdef");
}

/* What a good answer says anyway is no repetition. */
TEST(a_password_that_is_a_common_word_hides_no_status) {
  static const char *const common[] = {"master", "standalone", "noeviction", "9", "7.0.15"};
  size_t i;
  for (i = 0; i < sizeof common / sizeof *common; i++) {
    want_password(3, common[i]);
    shell("echo %s >$work/password", common[i]);
    CHECK_SAYS("\"role\":\"master\",\"error\":null", 0,
               "$redlock --status --json --password-file $work/password");
    CHECK(!says("\"uptime_s\":null") && !says("\"clock_us\":null"));
  }
  want_password(3, "");
  shell("echo hunter2 >$work/password");
  use_servers("127.0.0.1:%d", real.at[0].port);
  CHECK_SAYS("ERR AUTH <password> called without any password configured", 121,
             "$redlock -n --password-file $work/password job -- true");
}

int main(int argc, char **argv) { return command_main(argc, argv, 3); }
