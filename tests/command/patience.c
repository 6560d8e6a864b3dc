/* patience.c: what a waiting redlock waits for, and what it does not: servers with which so much is
 * wrong that only a person can mend it (R15). */
#include "tests/command/command.h"

enum { SERVERS = 3, NO_QUORUM = 121 };

/* As one who waits for ever finds them. */
static void is_given_up(const char *what) {
  CHECK_SAYS(what, NO_QUORUM, "$redlock job -- echo wrong");
  CHECK(says("cannot take lock 'job': ") && says("--wait-anyway") && !says("wrong\n"));
}

/* ---- a quorum's worth ---- */

TEST(passwords_and_rights_are_not_waited_for) {
  want_password(2, "s3cret");
  is_given_up("it wants a password: see --password-file");
  CHECK_SAYS("2 of 3 servers are unavailable", NO_QUORUM, "$redlock -w 60s job -- true");
  want_password(2, "");
  use_servers("redis://ann:x@127.0.0.1:%d,redis://ann:x@127.0.0.1:%d", real.at[0].port,
              real.at[1].port);
  is_given_up("check user and password");
  CHECK(says("2 of 2 servers are unavailable; none may be\n"));
  use_ann("~* +@all -set");
  is_given_up("NOPERM");
}

TEST(replicas_and_clusters_are_not_waited_for) {
  struct server odd;
  servers_command(&real, SERVERS, "REPLICAOF 127.0.0.1 1");
  is_given_up("it is no plain master (");
  CHECK_SAYS("it is no plain master (", NO_QUORUM,
             "$redlock --max-ttl 200ms job -- true");
  servers_command(&real, SERVERS, "REPLICAOF NO ONE");
  server_start(&odd, "--cluster-enabled yes");
  use_servers("127.0.0.1:%d", odd.port);
  is_given_up("it is no plain master (");
  server_kill(&odd);
}

/* ---- what may pass ---- */

TEST(one_wrong_server_of_three_changes_nothing) {
  pid_t holder, waiter;
  want_password(1, "s3cret");
  holder = start_command("-t 5s job", UNTIL_END);
  CHECK_EQ(shell("$redlock -w 1s job -- true"), 120);
  waiter = start_line("exec $redlock -v job -- true", "waiter");
  await_words("waiter", "UTC: it is taken\n");
  let_it_end();
  CHECK_EQ(end_of(holder), 0);
  CHECK_EQ(end_of(waiter), 0);
  want_password(1, "");
}

/* Until it is told, and then what is done about it is enough. */
static void is_waited_for(const char *option, const char *what) {
  pid_t waiter = start("exec $redlock %s job -- true", option);
  await_words("background", what);
  servers_mend(&real);
  want_password(SERVERS, "");
  CHECK_EQ(end_of(waiter), 0);
}

TEST(a_dead_server_besides_is_waited_for) {
  want_password(1, "s3cret");
  server_kill(&real.at[1]);
  is_waited_for("", "still waiting for lock 'job': 2 of 3 servers are unavailable");
}

TEST(a_waiter_that_is_told_to_waits_anyway) {
  want_password(SERVERS, "s3cret");
  is_waited_for("--wait-anyway",
                "still waiting for lock 'job': 3 of 3 servers are unavailable");
}

int main(int argc, char **argv) { return command_main(argc, argv, SERVERS); }
