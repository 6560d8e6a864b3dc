/* words.c: what the command says of slips and oddities, so that nobody is sent the wrong way. */
#include "tests/command/command.h"

#include <sys/socket.h>

/* ---- the list ---- */

TEST(a_slip_in_the_list_is_named) {
  static const char *const rows[][2] = {
    {"redis://ann:s3/cret@127.0.0.1", "in user and password write / as %2F"},
    {"valkey://127.0.0.1", "valkey:// is unknown here: write redis://"},
    {"valkeys://ann:s3cret@127.0.0.1", "valkeys:// is unknown here: write rediss://"},
    {"redis+unix:///run/redis.sock", "redis+unix:// is unknown here: write unix:/path"},
    {"tcp://127.0.0.1:6379", "tcp:// is unknown here: write redis://, or host:port alone"},
    {"REDIS://127.0.0.1", "unknown here: write redis://, rediss:// or unix:, in small letters"},
    {"http://127.0.0.1", "unknown here: write redis://, rediss:// or unix:, in small letters"},
    {"127.0.0.1 7001", "server '7001' is a number: write host:port"},
    {"redis://ann:s3cret@127.0.0.1,7001", "server 2 of the list is a number: write host:port"}
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_SAYS(rows[i][1], 125, "$redlock -n -s '%s' job -- true", rows[i][0]);
    CHECK(!says("s3"));
    CHECK_SAYS(rows[i][1], 125, "$redlock --status -s '%s'", rows[i][0]);
  }
}

/* In the system's own words: a path that is hidden or forbidden, a route that is not there. */
TEST(why_a_server_cannot_be_reached_is_told) {
  static const char lone[] = "ip link set lo up && exec $redlock -n -s 192.0.2.1 job -- true";
  const char *as = geteuid() ? "" : "setpriv --reuid 54321 --clear-groups";
  CHECK_SAYS("no connection: No such file or directory: is the path right", 121,
             "$redlock -n -s unix:$work/none job -- true");
  CHECK_SAYS("no connection: No such file or directory: is the path right", 121,
             "$redlock --status -s unix:$work/none");
  CHECK_SAYS("no connection: is it running", 121, "$redlock -n -s 127.0.0.1:1 job -- true");
  CHECK_EQ(shell("mkdir -p $work/private && chmod 0 $work/private"), 0);
  if (shell("%s $redlock -V", as) == 0)
    CHECK_SAYS("no connection: Permission denied: is the path right", 121,
               "%s $redlock -n -s unix:$work/private/sock job -- true", as);
  if (shell("unshare -rn sh -c 'ip link set lo up'")) SKIP("no network namespaces");
  CHECK_SAYS("no connection: Network is unreachable: see this machine's addresses and routes", 121,
             "unshare -rn sh -c '%s'", lone);
}

/* ---- what a status shows ---- */

TEST(a_lock_that_never_ends_is_told) {
  static const char never[] = "3 of 3 servers have lock 'job', labelled 'plain te', which never "
                              "ends by itself (it has no ttl): delete it by hand if nobody "
                              "holds it";
  servers_command(&real, 3, "SET job \"plain text\"");
  CHECK_SAYS(never, 0, "$redlock --status job");
  CHECK_SAYS("\"have_lock\":3,\"left_ms\":-1,", 0, "$redlock --status --json job");
  servers_command(&real, 2, "PEXPIRE job 60000"); /* the longest counts */
  CHECK_SAYS(never, 0, "$redlock --status job");
  servers_command(&real, 3, "PEXPIRE job 60000");
  CHECK_SAYS("labelled 'plain te', for 60s at most\n", 0, "$redlock --status job");
}

TEST(an_even_number_of_servers_is_told) {
  static const char list[] = "$redlock --status -s 127.0.0.1:%d,127.0.0.1:%d";
  CHECK_SAYS("2 servers bear the loss of 0, as 1 would: list an odd number\n", 0, list,
             real.at[0].port, real.at[1].port);
  CHECK_EQ(shell("$redlock --status"), 0);
  CHECK(!says("odd number"));
}

/* Forwards to a server, which calls itself "active" (as KeyDB's active-replica does) and no master;
   one connection after another. */
static pid_t start_other_role(int *port) {
  int listener = servers_listener(port);
  pid_t pid = fork();
  while (pid == 0) {
    struct pollfd ends[2];
    char bytes[65536], *at;
    int i;
    ends[0].fd = accept(listener, NULL, NULL);
    ends[1].fd = dial(real.at[0].port);
    ends[0].events = ends[1].events = POLLIN;
    for (i = 0; poll(ends, 2, -1) > 0; i = 0) {
      ssize_t got;
      if (!ends[0].revents) i = 1;
      got = read(ends[i].fd, bytes, sizeof bytes - 1);
      if (got <= 0) break;
      bytes[got] = 0;
      for (at = bytes; i && (at = strstr(at, "master")) != NULL;) memcpy(at, "active", 6);
      if (write(ends[!i].fd, bytes, (size_t)got) != got) break;
    }
    close(ends[0].fd);
    close(ends[1].fd);
  }
  close(listener);
  return pid;
}

TEST(whatever_is_no_plain_master_is_told) {
  int port;
  pid_t pid = start_other_role(&port);
  use_servers("127.0.0.1:%d", port);
  CHECK_SAYS("it is no plain master (", 121, "$redlock --status");
  CHECK(says("NO SAFE LOCK CAN BE TAKEN"));
  kill(pid, SIGKILL);
  CHECK_EQ(end_of(pid), 128 + SIGKILL);
}

/* Before Redis 5 no script may write behind TIME. */
TEST(a_server_that_can_give_no_tokens_is_told) { /* R25 */
  static const char what[] = "it is older than Redis 5: leave out --fencing";
  if (*server_command(&real.at[0], "EVAL \"redis.call('time') redis.call('del','x')\" 0") != '-')
    SKIP("this one can");
  CHECK_EQ(shell("until $redlock --max-ttl 1s --status | grep -q '3 of 3'; do sleep 0.1; done"), 0);
  CHECK_SAYS(what, 121, "$redlock --fencing --max-ttl 1s -t 1s --status");
  CHECK_SAYS(what, 121, "$redlock --fencing --max-ttl 1s -t 1s job -- true");
}

/* ---- the wait ---- */

/* Some of the waiters begin so long before their servers vote that the trouble would be told just
   when it is over. */
TEST(a_server_that_votes_again_is_no_trouble) { /* R24 */
  int i;
  for (i = 0; i < 3; i++) server_restart(&real.at[i]);
  CHECK_EQ(shell("i=0; while test $((i += 1)) -le 50; do "
                 "$redlock -w 20s -t 2s --max-ttl 2s job$i -- true 2>$work/said$i & sleep 0.06; "
                 "done; wait; cat $work/said*"), 0);
  CHECK(!says("see its log"));
}

/* ---- COMMAND ---- */

TEST(a_missing_interpreter_is_told) {
  static const char what[] = "No such file or directory: it is there, but not the interpreter that "
                             "its first line (#!) names";
  CHECK_EQ(shell("printf '#!/no/such/shell\n' >$work/bad && chmod +x $work/bad"), 0);
  CHECK_SAYS(what, 126, "$redlock job -- $work/bad");
  CHECK_SAYS(what, 126, "PATH=/none:$work:$PATH $redlock job -- bad");
  CHECK_SAYS("No such file or directory: it is not in PATH", 127, "$redlock job -- nothing-here");
}

/* A name may hold what a terminal obeys: ESC, a newline, CSI in UTF-8; but also an umlaut. CSI may
   be one byte, or written too long; and writing may be turned around. */
TEST(names_are_printed_safely) {
  static const char name[] = "\"$(printf 'j\\033[2J\\nb\\302\\233c\\303\\274')\"";
  static const char *const more[][2] = {
    {"j\x9b" "2J", "'j?2J'"}, {"j\xe0\x82\x9b", "'j??\?'"}, {"j\xe2\x80\xae.", "'j???.'"},
    {"j\xe2\x81\xa7.", "'j???.'"}, {"j\xd8\x9c.", "'j??.'"}, {"j\xf0\x80\x82\x9b", "'j???\?'"},
    {"\xef\xbb\xbfj", "'???j'"}, {"j\xc3", "'j?'"}, {"j\xe2\x82", "'j?\?'"},
    {"j\xf5\x80\x80\x80", "'j???\?'"},
    {"j\xc2\xa0\xe2\x82\xac\xf0\x9f\x94\x92",
     "'j\xc2\xa0\xe2\x82\xac\xf0\x9f\x94\x92'"}
  };
  size_t i;
  pid_t holder = start_holder("\"$(printf 'j\\033[2J\\nb\\302\\233c\\303\\274')\"");
  CHECK_SAYS("lock 'j?[2J?b??c\303\274' is taken", 120, "$redlock -n %s -- true", name);
  CHECK(!says("\033"));
  CHECK_SAYS("have lock 'j?[2J?b??c\303\274', labelled", 0, "$redlock --status %s", name);
  CHECK(!says("\033"));
  terminate(holder);
  for (i = 0; i < sizeof more / sizeof *more; i++)
    CHECK_SAYS(more[i][1], 0, "$redlock --status '%s'", more[i][0]);
}

int main(int argc, char **argv) { return command_main(argc, argv, 3); }
