/* errors.c: what stands between a user and the lock: each says what it is and what to do, in words
 * of the command. And what the command does while it waits. */
#include "tests/command/command.h"

#include <sys/socket.h>

/* ---- servers that are none ---- */

/* Takes connections, and answers each first message. */
struct odd {
  pid_t pid;
  int port;
};

static void odd_start(struct odd *odd, const char *answer) {
  int listener = servers_listener(&odd->port);
  odd->pid = fork();
  while (odd->pid == 0) {
    char bytes[4096];
    int fd = accept(listener, NULL, NULL);
    if (fd >= 0 && recv(fd, bytes, sizeof bytes, 0) > 0)
      (void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    close(fd);
  }
  close(listener);
}

/* Neither an identifier of the library nor a constant of its sources, nor a password. */
static int speaks_plainly(const char *file) {
  static const char *const never[] = {"REDLOCK_MAX", "_ms", "another entry", "io,",
                                      "?:", ".:", "::", "s3cret"};
  size_t i;
  for (i = 0; i < sizeof never / sizeof *never; i++)
    if (told(file, never[i])) return 0;
  return 1;
}

/* What a lock and --status say of the one server: number is that of the question. Again where the
   machine is too busy for the time that a server has. */
static pid_t start_asking(int number, const char *user, int port) {
  return start("export REDLOCK_SERVERS=redis://%s127.0.0.1:%d; n=%d; "
               "again() { test $((i += 1)) -lt 20 && grep -q 'no answer within' $work/$1$n; }; "
               "i=0; while $redlock -n job -- true >$work/lock$n 2>&1 || test $? = 121 || exit; "
               "again lock; do continue; done; i=0; "
               "while $redlock --status >$work/status$n 2>&1; test $? = 121 || exit; "
               "again status; do continue; done", user, port, number);
}

static void check_answer(int number, pid_t pid, const char *what) {
  static const char *const files[] = {"lock", "status"};
  char file[16];
  int i;
  CHECK_EQ(end_of(pid), 0);
  for (i = 0; i < 2; i++) {
    snprintf(file, sizeof file, "%s%d", files[i], number);
    if (!CHECK(told(file, what) && speaks_plainly(file)))
      printf("    not '%s' but: %s\n", what, read_work(file));
  }
}

static void one_server_says(const char *user, int port, const char *what) {
  check_answer(0, start_asking(0, user, port), what);
}

/* What servers answer, as Redis writes it where it is one, and what the command says of each: side
   by side, for it tries again. */
TEST(what_servers_answer_is_explained) { /* R15 */
  static const char *const known[][2] = {
    {"", "it hangs up without a word: does this port want TLS?"},
    {"\x15\x03\x01", /* an alert */
     "it does not answer as Redis does: check host and port; does it want TLS?"},
    {"HTTP/1.1 400 Bad Request\r\n\r\n", "it does not answer as Redis does"},
    {"-LOADI", "LOADI: the connection broke within this error: try again"},
    {"-NOAUTH Authent", "it wants a password"},
    {"-ERR unknown command 'AUTH', with args beginning with: 's3cret",
     "unknown command 'AUTH': it lacks or renames"},
    {"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
     "user is disabled: check user and password"},
    {"-ERR AUTH <password> called without any password configured for the default user. Are you "
     "sure your configuration is correct?\r\n", "for the default user: it has no password: give"},
    {"-ERR invalid password\r\n", "ERR invalid password: check the password"},
    {"-DENIED Redis is running in protected mode because no password is set. In this mode\r\n",
     "no password is set: see protected-mode in its configuration"},
    {"-ERR max number of clients reached\r\n", "reached: raise maxclients in its configuration"},
    {"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
     "> 'maxmemory': see maxmemory in its configuration"},
    {"-NOREPLICAS Not enough good replicas to write.\r\n", "write: see min-replicas-to-write"},
    {"-MISCONF Redis is unable to persist to disk. Commands are disabled.\r\n",
     "unable to persist to disk: it cannot write to its disk: see its log"},
    {"-LOADING Redis is loading the dataset in memory\r\n", "memory: wait, it is loading its data"},
    {"-BUSY Redis is busy running a script. You can only call SCRIPT KILL.\r\n",
     "running a script: wait for the script that is running, or send SCRIPT KILL"},
    {"-MOVED 15495 127.0.0.1:7001\r\n", "7001: it is part of a cluster: list plain masters"},
    {"-CLUSTERDOWN Hash slot not served\r\n", "it is part of a cluster: list plain masters"},
    {"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
     "value: something else uses this name: choose another"},
    {"-ERR DB index is out of range\r\n", "range: check the database's number"},
    {"-unsupported command 'HELLO'\r\n", "command 'HELLO': it is perhaps a proxy: list"},
    {"-SOMETHING else.\r\n", "SOMETHING else: see its log"}
  };
  enum { KNOWN = sizeof known / sizeof *known };
  struct odd odd[KNOWN];
  pid_t asking[KNOWN];
  int i;
  for (i = 0; i < KNOWN; i++) {
    odd_start(&odd[i], known[i][0]);
    asking[i] = start_asking(i, "", odd[i].port);
  }
  for (i = 0; i < KNOWN; i++) {
    check_answer(i, asking[i], known[i][1]);
    kill(odd[i].pid, SIGKILL);
    waitpid(odd[i].pid, NULL, 0);
  }
}

TEST(a_command_without_tls_says_so) {
  static const char what[] =
      "this redlock was built without TLS: build it with 'make redlock TLS=1'";
  refuses("-s rediss://127.0.0.1 job -- true", what);
  refuses("--insecure job -- true", what);
  CHECK_SAYS(", without TLS\n", 0, "$redlock -V");
}

/* ---- what a server withholds ---- */

static void server_with_says(const char *args, const char *what) {
  struct server odd;
  server_start(&odd, args);
  one_server_says("", odd.port, what);
  server_kill(&odd);
}

TEST(a_server_that_is_set_up_otherwise_is_told) {
  static const char what[] = "it lacks or renames a command that locks need: SET EVAL GET DEL";
  server_with_says("--cluster-enabled yes", "it is no plain master (");
  server_with_says("--rename-command SET nothing", what);
  if (server_native_release(&real.at[0])) return; /* a lock that is not extended needs no other */
  server_with_says("--rename-command EVAL nothing", what);
  server_with_says("--rename-command DEL nothing", what); /* inside the script */
}

/* It answers HELLO, and knows no locks. */
TEST(a_sentinel_is_told) {
  pid_t pid;
  int port;
  if (server_info(&real.at[0], "server_time_usec:") < 0) SKIP("before 6.2 the words are others");
  close(servers_listener(&port));
  pid = start("touch $work/sentinel.conf && exec $REDIS_SERVER $work/sentinel.conf --sentinel "
              "--port %d --bind 127.0.0.1", port);
  if (!await_words("background", "Sentinel ID is")) return;
  use_servers("127.0.0.1:%d", port);
  CHECK_SAYS("it is no plain master (", 121, "$redlock --status");
  CHECK_SAYS("it is no plain master (", 121, "$redlock -n job -- true");
  CHECK(says("cannot take lock 'job': the only server is unavailable\n"));
  kill(pid, SIGTERM);
  CHECK_EQ(end_of(pid), 0);
}

/* By its run_id, which --max-ttl and --status ask for; else since it has the lock already. */
TEST(a_server_that_is_listed_under_two_names_is_told) { /* R5 */
  use_servers("127.0.0.1:%d,unix:%s", real.at[0].port, real.at[0].socket);
  CHECK_SAYS_ONCE("it is the same server as another one in the list: list it once", 121,
                  "$redlock -n --max-ttl 200ms -t 200ms job -- true");
  CHECK_SAYS_ONCE("it is the same server as another one in the list: list it once", 121,
                  "$redlock -n -q -E 0 job -- true");
  CHECK_SAYS_ONCE("it is the same server as another one in the list: list it once", 121,
                  "$redlock -w 30s job -- true");
  CHECK_SAYS("the same server as one above: list it once", 121, "$redlock --status");
  CHECK(speaks_plainly("output"));
}

static void give_ann(const char *rights) {
  server_command(&real.at[0], "FLUSHALL"); /* what could not be released */
  server_command(&real.at[0], "ACL SETUSER ann reset on >s3cret %s", rights);
}

static void ann_is_told(const char *rights, const char *what) {
  give_ann(rights);
  one_server_says("ann:s3cret@", real.at[0].port, what);
}

TEST(what_an_acl_denies_is_told) {
  const char *native = server_native_release(&real.at[0]);
  char rights[64];
  snprintf(rights, sizeof rights, "~* +@all -del %s%s", native ? "-" : "", native ? native : "");
  ann_is_told("~* +@all -set", "this user needs +set (see RIGHTS in redlock(1))");
  ann_is_told(rights, "+del"); /* inside the script */
  ann_is_told("~* +set +eval +info", "+get");
  CHECK(told("status0", "this user needs +get (see")); /* the status knows what it has tried */
  give_ann("~other +@all");
  use_servers("redis://ann:s3cret@127.0.0.1:%d", real.at[0].port);
  CHECK_SAYS("this user may not use this lock's name: allow ~NAME in its ACL", 121,
             "$redlock -n job -- true");
  CHECK_EQ(shell("$redlock -n other -- true"), 0);
  CHECK_EQ(shell("$redlock --status"), 0);
}

/* Each right that the options need, and the keys of a lock that is named. Again where the machine
   is too busy for the time that a server has. */
static void status_says(const char *ann, const char *options, int exit_status, const char *what) {
  int tries = 0, status;
  give_ann(ann);
  do status = shell("$redlock --status %s", options);
  while (says("no answer within") && ++tries < 20);
  CHECK_EQ(status, exit_status);
  if (!CHECK(says(what))) printf("    %s: %s", ann, output());
}

TEST(a_status_tries_each_right) {
  static const char fenced[] = "--fencing --max-ttl 1s -t 1s";
  if (server_info(&real.at[0], "server_time_usec:") < 0) SKIP("before 6.2 the words are others");
  CHECK_EQ(shell("until $redlock --max-ttl 1s --status | grep -q '3 of 3'; do sleep 0.1; done"), 0);
  use_servers("redis://ann:s3cret@127.0.0.1:%d", real.at[0].port);
  status_says("~job* +@all -time", "", 0, "locks can be taken");
  status_says("~job* +@all -time", fenced, 121, "+time");
  status_says("~job* +@all", "job", 0, "s  ok");
  status_says("~job* +@all", "other", 121, "this user may not use this lock's name: allow ~NAME");
  status_says("~job +@all", "--fencing --max-ttl 1s -t 1s job", 121, "~NAME:fence");
  status_says("~job +@all -client", "job", 0,
              "ok; +client|tracking would let it wake waiters\n");
  CHECK_EQ(server_number(&real.at[0], "DBSIZE"), 0);
}

/* Where the server knows a command for that, but the user has no right to it. */
TEST(a_status_says_that_releases_need_a_script) { /* R21 */
  static const char what[] = "would release without a script";
  const struct server *s = &real.at[0];
  const char *native = server_native_release(s);
  char rights[40] = "~job* +@all";
  use_servers("127.0.0.1:%d", s->port);
  (void)shell("$redlock --status");
  CHECK(!says(what));
  if (*server_command(s, "ACL WHOAMI") == '-') SKIP("before Redis 6 there are no users");
  if (native) snprintf(rights, sizeof rights, "~job* +@all -%s", native);
  give_ann(rights);
  use_servers("redis://ann:s3cret@127.0.0.1:%d", s->port);
  (void)shell("$redlock --status job");
  CHECK_EQ(says(what) != 0, native != NULL);
}

TEST(a_status_changes_nothing) {
  CHECK_EQ(shell("$redlock -t 20s 'redlock --status' -- $redlock --status"), 0);
  CHECK_EQ(shell("$redlock -t 20s 'redlock --status' -- $redlock --status 'redlock --status'"), 0);
}

/* The value is a secret, less a label that it may begin with. */
TEST(a_status_tells_who_holds_a_lock) {
  int i;
  CHECK_SAYS("0 of 3 servers have lock 'job'\n", 0, "$redlock --status job");
  CHECK_SAYS("3 of 3 servers have lock 'job', for ", 0,
             "$redlock --no-label --take job >$work/ticket && $redlock --status job");
  for (i = 0; i < 3; i++)
    server_command(&real.at[i], "SET other %s-0123456789 PX 60000", i == 1 ? "another" : "billing");
  CHECK_SAYS("2 of 3 servers have lock 'other', labelled 'billing-', for ", 0,
             "$redlock --status other");
  CHECK(!says("0123"));
  CHECK_SAYS("\"label\":\"billing-\",\"have_lock\":2,\"left_ms\":", 0,
             "$redlock --status --json other");
  CHECK(!says("0123"));
}

/* A host of that name takes a lock, and the status calls it so. */
TEST(a_lock_is_labelled_with_the_hosts_name) {
  static const char *const hosts[][2] = {{"web1", "web1"}, {"web1.example.com", "web1"},
                                         {"database", "database"}, {"web-frontend-12", "ntend-12"}};
  char expected[64];
  int i;
  if (shell("unshare -ru sh -c 'echo x >/proc/sys/kernel/hostname'")) SKIP("no name of our own");
  for (i = 0; i < 4; i++) {
    CHECK_EQ(shell("unshare -ru sh -c 'echo %s >/proc/sys/kernel/hostname && "
                   "exec $redlock --take job%d' >$work/ticket", hosts[i][0], i), 0);
    snprintf(expected, sizeof expected, "have lock 'job%d', labelled '%s', for ", i, hosts[i][1]);
    CHECK_SAYS(expected, 0, "$redlock --status job%d", i);
  }
}

/* Two locks of one host: 12 bytes of the value are random. */
TEST(a_label_leaves_enough_to_chance) { /* R3 */
  CHECK_EQ(shell("for n in 1 2; do $redlock --take job$n >$work/t$n || exit; "
                 "sed 's|.*/||' $work/t$n | cut -c 1-16 >$work/l$n; "
                 "sed 's|.*/||' $work/t$n | cut -c 17-40 | fold -w 2 >$work/r$n; done; "
                 "cmp $work/l1 $work/l2 && paste $work/r1 $work/r2 | awk '$1 == $2' | wc -l"), 0);
  CHECK(strtol(output(), NULL, 10) < 4);
}

/* Of what --status says with these options, as JSON. */
static void json_says(const char *options, int status, const char *filter) {
  CHECK_EQ(shell("$redlock --status --json %s >$work/json", options), status);
  if (!CHECK(shell("jq -e '%s' $work/json", filter) == 0)) printf("    %s", read_work("json"));
}

TEST(a_status_is_told_as_json) {
  if (shell("command -v jq") != 0) SKIP("no jq");
  server_kill(&real.at[1]);
  json_says("", 0, ".can_vote == 2 and .needed == 2 and .locks and (.servers | length) == 3 and "
            "(.servers[1] | .error != null and .advice != null and (.reached | not) and "
            ".version == null)");
  json_says("", 0, ".servers[0] | .error == null and .votes and .reached and .uptime_s >= 0 and "
            ".round_trip_ms > 0 and .role == \"master\" and (.server | test(\"127.0.0.1:\"))");
  server_kill(&real.at[2]);
  json_says("", 121, ".locks == false");
  json_says("-s 'a\"b\\c'", 121, ".servers[0].server == \"a\\\"b\\\\c\"");
}

/* ---- waiting ---- */

/* Trouble too, whenever it begins: here after it was told that another one holds the lock. */
TEST(a_verbose_waiter_tells_who_it_is_and_what_it_waits_for) {
  char expected[LINE];
  pid_t waiter, holder = start_holder("-t 20s job");
  waiter = start_line("exec $redlock -v job -- true", "waiter");
  await_words("waiter", " UTC: it is taken\n");
  servers_kill(&real, 2);
  await_words("waiter", "still waiting for lock 'job': 2 of 3 servers are unavailable");
  terminate(holder);
  servers_mend(&real);
  CHECK_EQ(end_of(waiter), 0);
  snprintf(expected, sizeof expected, "redlock: process %ld on ", (long)waiter);
  CHECK(told("waiter", expected));
  CHECK(told("waiter", " has been waiting for lock 'job' since 20"));
  CHECK(told("waiter", "took lock 'job' after"));
  CHECK(told("waiter", "released lock 'job'"));
}

/* Nobody has the key: those that could hand it out have no vote yet. */
TEST(a_wait_for_restarted_servers_is_told) { /* R24 */
  pid_t waiter = start_line("exec $redlock -v --max-ttl 1h job -- true", "waiter");
  await_words("waiter", "still waiting for lock 'job': 3 of 3 servers are unavailable");
  await_words("waiter", "s of --max-ttl 3600s: it votes in 3");
  await_words("waiter", "UTC: too few servers can vote\n");
  terminate(waiter);
  CHECK(!told("waiter", "it is taken"));
}

/* ---- process 1 ---- */

TEST(process_1_reaps_orphans) {
  if (shell("unshare -rpf --mount-proc true")) SKIP("no process namespaces");
  CHECK_EQ(shell("unshare -rpf --mount-proc $redlock job -- sh -c '"
                 "(sleep 0.05 & echo $! >$work/orphan); read o <$work/orphan; i=0; "
                 "while test -d /proc/$o; do sleep 0.02; test $((i += 1)) -lt 500 || exit 9; "
                 "done'"), 0);
  CHECK(is_released("job"));
}

int main(int argc, char **argv) { return command_main(argc, argv, 3); }
