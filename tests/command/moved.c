/* moved.c: servers that come back under their names, but at other addresses, as a pod or container
 * that is made anew. In a mount namespace of its own /etc/hosts is ours. */
#include "tests/command/command.h"

enum { SERVERS = 3 };

static const char here[] = "127.0.0.1", there[] = "127.0.0.3", nowhere[] = "127.0.0.9";

/* Where a.redlock, b.redlock and c.redlock lead; "" = nowhere. */
static void lead(const char *a, const char *b, const char *c) {
  const char *const to[SERVERS] = {a, b, c};
  char lines[LINE] = "", address[64];
  int i, used = 0, taken;
  for (i = 0; i < SERVERS; i++) {
    const char *at = to[i];
    for (; sscanf(at, "%63s%n", address, &taken) == 1; at += taken)
      used += snprintf(lines + used, sizeof lines - (size_t)used, "%s %c.redlock\n", address,
                       "abc"[i]);
  }
  shell("printf '127.0.0.1 localhost\n%s' >$work/hosts", lines);
}

static const char *missing(void) {
  lead(here, here, here);
  return shell("unshare -rm sh -c 'mount --bind $work/hosts /etc/hosts && getent hosts a.redlock'")
           ? "no mount namespaces" : NULL;
}

/* What $names lists are the servers by their names. */
static pid_t start_inside(const char *line) {
  return start("names=a.redlock:%d,b.redlock:%d,c.redlock:%d exec unshare -rm sh -c "
               "'mount --bind $work/hosts /etc/hosts && exec %s'", real.at[0].port,
               real.at[1].port, real.at[2].port, line);
}

static pid_t start_named(const char *options, const char *command) {
  char line[LINE];
  snprintf(line, sizeof line, "$redlock -v %s -s $names job -- %s", options, command);
  return start_inside(line);
}

static pid_t start_named_holder(const char *options) {
  pid_t pid = start_named(options, "sh -c \"touch $work/runs; " UNTIL_END "\"");
  CHECK(await_file("runs"));
  return pid;
}

static void restart_there(int server) {
  struct server *s = &real.at[server];
  snprintf(s->args, sizeof s->args, "--bind %s", there);
  server_restart(s);
  s->args[0] = 0;
}

/* Until so many clients are connected, beside us who ask. */
static int await_clients(int server, int count) {
  int64_t end = timing_ms() + LIMIT_MS;
  while (server_info(&real.at[server], "connected_clients:") <= count && timing_ms() < end)
    sleep_ms(20);
  return server_info(&real.at[server], "connected_clients:") > count;
}

/* What comes next finds all of them where they were. */
static void let_all_end(pid_t holder, const char *what) {
  let_it_end();
  check_ends(holder, 0, what);
  servers_kill(&real, SERVERS);
}

static int times_told(const char *words) {
  const char *at = read_work("background");
  int times = 0;
  for (; (at = strstr(at, words)) != NULL; at++) times++;
  return times;
}

/* The lock stands on all servers again, for the so manieth time, or it is gone. */
static int await_recovery(int times) {
  static const char again[] = "lock 'job' stands on 3 of 3 servers again";
  int64_t end = timing_ms() + LIMIT_MS;
  while (times_told(again) < times && !told("background", "stopping COMMAND") &&
         timing_ms() < end) sleep_ms(20);
  return times_told(again) == times && is_held("job");
}

/* With the second one the lock would be lost, if it were not on the first one again. */
TEST(a_rolling_restart_to_other_addresses_keeps_the_lock) { /* R29 */
  pid_t holder;
  int i;
  if (missing()) SKIP(missing());
  holder = start_named_holder("-t 3s --max-ttl 4s");
  for (i = 0; i < 2; i++) {
    server_kill(&real.at[i]);
    lead(there, i ? there : here, here);
    restart_there(i);
    if (!CHECK(await_recovery(i + 1))) break;
  }
  CHECK_EQ(times_told("redlock: this name now leads to another address, 127.0.0.3\n"), 2);
  let_all_end(holder, "released lock 'job'");
}

TEST(a_name_that_is_gone_for_a_while_is_followed) {
  pid_t holder;
  if (missing()) SKIP(missing());
  holder = start_named_holder("-t 3s");
  server_kill(&real.at[0]);
  lead("", here, here);
  await_words("background", "lock 'job' stands on 2 of 3 servers: the loss of one more ends it\n");
  await_words("background", ": its name is no longer found: it was 127.0.0.1; check it, and this ");
  restart_there(0);
  lead(there, here, here);
  CHECK(await_clients(0, 1));
  let_all_end(holder, "a.redlock: this name now leads to another address, 127.0.0.3\n");
}

/* The name of one that answers is not looked up: nothing that becomes of it does harm. */
TEST(a_name_that_leads_to_several_is_told_and_left) { /* R5 */
  pid_t holder;
  if (missing()) SKIP(missing());
  holder = start_named_holder("-t 3s");
  server_kill(&real.at[0]);
  lead("127.0.0.3 127.0.0.4", "127.0.0.5 127.0.0.6", nowhere);
  restart_there(0);
  await_words("background", ": a.redlock has 2 addresses: list each server by an address or a name "
                            "of its own\n");
  CHECK(server_info(&real.at[0], "connected_clients:") == 1);
  lead(there, nowhere, "");
  CHECK(await_clients(0, 1));
  let_all_end(holder, "released lock 'job'");
  CHECK(!told("background", "b.redlock") && !told("background", "c.redlock"));
}

TEST(a_loss_by_names_that_lead_elsewhere_is_told) {
  pid_t holder;
  if (missing()) SKIP(missing());
  holder = start_named_holder("-t 7s");
  servers_kill(&real, 2);
  lead(nowhere, nowhere, here);
  check_ends(holder, 122, "its name now leads to another address: is it running at 127.0.0.9,");
}

TEST(names_are_looked_up_again_in_the_wait) {
  pid_t waiter;
  if (missing()) SKIP(missing());
  lead(nowhere, nowhere, nowhere);
  waiter = start_named("-w 30s", "true");
  await_words("background", "still waiting for lock 'job': 3 of 3 servers are unavailable");
  lead(here, here, here);
  CHECK_EQ(end_of(waiter), 0);
}

/* ---- two addresses ---- */

/* Connects to ::1 at a server's port stand, and nothing answers there. -1 = there is no such
   address here. */
static int mute_on_ipv6(int server) {
  struct sockaddr_in6 at;
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  memset(&at, 0, sizeof at);
  at.sin6_family = AF_INET6;
  at.sin6_addr = in6addr_loopback;
  at.sin6_port = htons((uint16_t)real.at[server].port);
  if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 64) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* How it ends, and whether it names the address that is silent and says this of the other. */
static void check_addresses(int status, const char *of_the_other, const char *line) {
  int ended = end_of(start_inside(line));
  const char *said = read_work("background");
  int good = CHECK_EQ(ended, status) && CHECK(strstr(said, "::1: no answer in ")) &&
             CHECK(strstr(said, of_the_other));
  if (!good) printf("    said: %s\n", said);
}

/* IPv6 leads nowhere, and IPv4 does. */
TEST(the_address_of_a_name_that_is_silent_is_told) { /* R14 */
  int i, fds[SERVERS], has_all = 1;
  if (missing()) SKIP(missing());
  for (i = 0; i < SERVERS; i++) has_all &= (fds[i] = mute_on_ipv6(i)) >= 0;
  lead("::1 127.0.0.1", "::1 127.0.0.1", here);
  if (has_all) {
    CHECK_EQ(end_of(start_named("-n", "true")), 0);
    check_addresses(0, " ms, 127.0.0.1: it answers\n", "$redlock --status -s $names");
    servers_kill(&real, SERVERS);
    check_addresses(121, " ms, 127.0.0.1: Connection refused)\n", "$redlock -n -s $names job true");
    CHECK(told("background", ": no connection: is it running, and is the address right? (::1: "));
    check_addresses(121, " ms, 127.0.0.1: Connection refused)\n", "$redlock --status -s $names");
    lead(here, here, here);
    CHECK_EQ(end_of(start_inside("$redlock -n -s $names job true")), 121);
    CHECK(!told("background", "127.0.0.1: ")); /* there is but one */
  }
  for (i = 0; i < SERVERS; i++) if (fds[i] >= 0) close(fds[i]);
  if (!has_all) SKIP("no IPv6 here");
}

/* ---- names that lead elsewhere, again ---- */

/* By a name server, from then on: one that was looked up here, after 3 s, would keep the guard away
   for 8 s. */
TEST(names_that_are_swallowed_keep_no_guard_away) {
  int64_t end = timing_ms() + LIMIT_MS;
  pid_t holder;
  if (cannot_refuse()) SKIP("no library can be loaded first");
  holder = start(REFUSING "swallowed REFUSE_FROM=$work/runs exec $redlock -t 4s -s 127.0.0.1:%d,"
                 "127.0.0.1:%d,swallowed.example:1 job -- sh -c 'touch $work/runs; " UNTIL_END "'",
                 real.at[0].port, real.at[1].port);
  while (server_info(&real.at[0], "cmdstat_pexpire:calls=") < 5 && timing_ms() < end) sleep_ms(20);
  let_it_end();
  CHECK_EQ(end_of(holder), 0);
}

/* Returns whether a child of this one has ended, and stays unreaped. */
static int has_dead_children(pid_t parent) {
  int64_t end = timing_ms() + 3000;
  int has;
  do has = shell("for i in $(cat /proc/%d/task/%d/children); do "
                 "! grep -q '^State:.Z' /proc/$i/status || exit 1; done", (int)parent, (int)parent);
  while (has && timing_ms() < end);
  return has;
}

/* Whoever looked them up has ended before redlock hears of ends; not always: so several times. */
TEST(nobody_who_looked_up_names_is_left_unreaped) {
  int i, has = 0;
  if (missing()) SKIP(missing());
  if (access("/proc/self/task", R_OK)) SKIP("no /proc");
  for (i = 0; i < 6 && !has; i++) {
    pid_t holder = start_named_holder("");
    has = has_dead_children(holder);
    let_it_end();
    check_ends(holder, 0, "released lock 'job'");
    shell("rm -f $work/runs $work/end");
  }
  CHECK(!has);
}

/* ---- examples ---- */

static void follow_a_move(const char *const lines[], int count) {
  pid_t pids[2];
  int i;
  if (missing()) SKIP(missing());
  for (i = 0; i < count; i++) pids[i] = start_inside(lines[i]);
  CHECK(await_clients(0, count));
  server_kill(&real.at[0]);
  lead(there, here, here);
  restart_there(0);
  CHECK(await_clients(0, count));
  for (i = 0; i < count; i++) terminate(pids[i]);
  server_kill(&real.at[0]);
}

TEST(keep_thread_follows_a_move) {
  static const char *const line = "$here/../examples/keep_thread $names 60000";
  follow_a_move(&line, 1);
}

/* The loop where libuv is installed. */
TEST(keepalive_and_a_loop_follow_a_move) {
  static const char *const lines[] = {"$here/../examples/keepalive $names",
                                      "$here/../examples/loops/libuv $names 1000000"};
  follow_a_move(lines, shell("test -x $here/../examples/loops/libuv") ? 1 : 2);
}

/* The keeper waits for a name server for 8 s, and is not over before. */
TEST(keep_thread_stops_the_work_while_names_are_looked_up) {
  int64_t stopped;
  pid_t pid;
  if (cannot_refuse()) SKIP("no library can be loaded first");
  pid = start(REFUSING "swallowed REFUSE_FROM=$work/now exec $here/../examples/keep_thread "
              "swallowed.example:1,127.0.0.1:%d,127.0.0.1:%d 60000", real.at[0].port,
              real.at[1].port);
  CHECK(await_clients(0, 1));
  shell("touch $work/now");
  await_words("background", "the work is stopped\n");
  stopped = timing_ms();
  check_ends(pid, 1, "not done: expired\n");
  CHECK(timing_ms() - stopped > 1000);
}

/* ---- what --status says of the next restart ---- */

static void await_status(const char *arguments, const char *what) {
  int64_t end = timing_ms() + LIMIT_MS;
  do shell("$redlock --status --max-ttl 1s -t 1s %s", arguments);
  while (!says(what) && timing_ms() < end);
  if (!CHECK(says(what))) printf("    said: %s\n", output());
}

TEST(status_says_what_a_restart_would_do) { /* R29 */
  char names[LINE];
  await_status("", "all vote: the next server can be restarted, and kept locks stay\n");
  snprintf(names, sizeof names, "-s localhost:%d", real.at[0].port);
  await_status(names, "stay, if servers keep their addresses or clients look names up again (");
  servers_command(&real, 2, "SET job another PX 60000");
  await_status("job", "all vote, but not all have lock 'job': restart none that has it, or it may");
}

int main(int argc, char **argv) { return command_main(argc, argv, SERVERS); }
