/* patience.c: what a waiting redlock waits for, and what it does not: servers with which so much is
 * wrong that only a person can mend it (R15). */
#include "tests/command/command.h"

enum { SERVERS = 3, NO_QUORUM = 121 };

static void want_password(int count, const char *password) {
  int i;
  for (i = 0; i < count; i++) server_want_password(&real.at[i], password);
}

/* As one who waits for ever finds them. */
static void is_given_up(const char *what) {
  CHECK_SAYS(what, NO_QUORUM, "$redlock job -- echo wrong");
  CHECK(says("cannot take lock 'job': ") && says("--wait-anyway") && !says("wrong\n"));
}

/* ---- a quorum's worth ---- */

TEST(missing_passwords_are_not_waited_for) {
  fresh();
  want_password(2, "s3cret");
  is_given_up("it wants a password: see --password-file");
  CHECK(says("2 of 3 servers are unavailable"));
  CHECK_EQ(shell("$redlock -w 60s job -- true"), NO_QUORUM);
  want_password(2, "");
}

TEST(wrong_passwords_are_not_waited_for) {
  fresh();
  use_servers("redis://ann:x@127.0.0.1:%d,redis://ann:x@127.0.0.1:%d", real.at[0].port,
              real.at[1].port);
  is_given_up("check user and password");
  CHECK(says("2 of 2 servers are unavailable; none may be\n"));
}

TEST(missing_rights_are_not_waited_for) {
  fresh();
  server_command(&real.at[0], "ACL SETUSER ann on >x ~* +@all -set");
  use_servers("redis://ann:x@127.0.0.1:%d", real.at[0].port);
  is_given_up("NOPERM");
  server_command(&real.at[0], "ACL DELUSER ann");
}

TEST(replicas_are_not_waited_for) {
  fresh();
  servers_command(&real, SERVERS, "REPLICAOF 127.0.0.1 1");
  is_given_up("it is a replica: list masters only");
  CHECK_SAYS("it is a replica, or part of a cluster: list plain masters only", NO_QUORUM,
             "$redlock --max-ttl 200ms job -- true");
  servers_command(&real, SERVERS, "REPLICAOF NO ONE");
}

TEST(a_cluster_is_not_waited_for) {
  struct server odd;
  fresh();
  server_start(&odd, "--cluster-enabled yes");
  use_servers("127.0.0.1:%d", odd.port);
  is_given_up("it is part of a cluster");
  server_kill(&odd);
}

/* ---- what may pass ---- */

TEST(one_wrong_server_of_three_changes_nothing) {
  pid_t holder, waiter;
  fresh();
  want_password(1, "s3cret");
  CHECK_EQ(shell("$redlock job -- true"), 0);
  holder = start("exec $redlock -t 5s job -- sh -c 'touch $work/runs; "
                 "until test -e $work/end; do sleep 0.02; done'");
  CHECK(await_file("runs"));
  CHECK_EQ(shell("$redlock -w 3s job -- true"), 120);
  waiter = start("exec $redlock job -- true");
  rest(100);
  shell("touch $work/end");
  CHECK_EQ(end_of(holder), 0);
  CHECK_EQ(end_of(waiter), 0);
  want_password(1, "");
}

TEST(a_dead_server_besides_is_waited_for) {
  pid_t waiter;
  fresh();
  want_password(1, "s3cret");
  server_kill(&real.at[1]);
  waiter = start("exec $redlock job -- true");
  await_words("background", "still waiting for lock 'job': 2 of 3 servers are unavailable");
  server_restart(&real.at[1]);
  CHECK_EQ(end_of(waiter), 0);
  want_password(1, "");
}

TEST(who_wants_to_waits_anyway) {
  pid_t waiter;
  fresh();
  want_password(SERVERS, "s3cret");
  waiter = start("exec $redlock --wait-anyway job -- true");
  await_words("background", "still waiting for lock 'job': 3 of 3 servers are unavailable");
  want_password(SERVERS, "");
  CHECK_EQ(end_of(waiter), 0);
}

int main(int argc, char **argv) {
  if (open_world(argc, argv, SERVERS)) check_all();
  return close_world();
}
