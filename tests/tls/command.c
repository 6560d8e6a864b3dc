/* command.c: the command with TLS, on real TLS servers. */
#include "tests/command/command.h"

#include "begin.h"

enum { N = 3 };

/* All over TLS, the last by number. */
static void fresh_tls(void) {
  char list[SERVERS_LIST];
  fresh();
  snprintf(list, sizeof list, "rediss://localhost:%d,rediss://localhost:%d,rediss://127.0.0.1:%d",
           real.at[0].port, real.at[1].port, real.at[2].port);
  use_servers(list);
}

static void locks_over_tls(void) {
  fresh_tls();
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt job -- sh -c 'exit 5'"), 5);
  CHECK(is_released("job"));
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt --status"), 0);
  CHECK(says("3 of 3 servers can vote"));
}

/* The one that COMMAND runs is to speak TLS too. */
static void command_sees_the_list_as_it_is(void) {
  char line[LINE];
  fresh_tls();
  snprintf(line, sizeof line, "rediss://default:s3cret@localhost:%d", real.at[0].port);
  use_servers(line);
  server_command(&real.at[0], "CONFIG SET requirepass s3cret");
  CHECK_EQ(shell("$redlock --insecure job -- sh -c 'echo $REDLOCK_SERVERS'"), 0);
  snprintf(line, sizeof line, "rediss://default@localhost:%d\n", real.at[0].port);
  if (!CHECK(strcmp(output(), line) == 0)) printf("    %s", output());
  snprintf(real.at[0].login, sizeof real.at[0].login, "AUTH s3cret");
  server_command(&real.at[0], "CONFIG SET requirepass \"\"");
  real.at[0].login[0] = '\0';
}

static void tells_what_is_wrong_with_a_certificate(void) {
  fresh_tls();
  CHECK_EQ(shell("$redlock -n job -- true"), 121);
  CHECK(says("name its authority's certificate with --cacert"));
  CHECK_EQ(shell("$redlock --status"), 121);
  CHECK(says("name its authority's certificate with --cacert"));
  CHECK_EQ(shell("$redlock --insecure job -- true"), 0);
  server_command(&real.at[2], "CONFIG SET tls-cert-file ../elsewhere.crt");
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt --status"), 0);
  CHECK(says("IP address mismatch: list it by the name or address that its certificate is for"));
  server_command(&real.at[2], "CONFIG SET tls-cert-file ../server.crt");
}

static void gives_its_own_certificate(void) {
  int i;
  fresh_tls();
  for (i = 0; i < N; i++) server_command(&real.at[i], "CONFIG SET tls-auth-clients yes");
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt -n job -- true"), 121);
  CHECK(says("give it a certificate with --cert and --key"));
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt --status"), 121);
  CHECK(says("give it a certificate with --cert and --key"));
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt --cert $certificates/client.crt "
                 "--key $certificates/server.key job -- true"), 0);
  CHECK_EQ(shell("cat $certificates/client.crt $certificates/server.key >$work/both && "
                 "$redlock --cacert $certificates/ca.crt --cert $work/both job -- true"), 0);
  for (i = 0; i < N; i++) server_command(&real.at[i], "CONFIG SET tls-auth-clients no");
}

static void tells_tls_from_none(void) {
  char list[SERVERS_LIST];
  struct server plain;
  server_start(&plain, "");
  fresh_tls();
  snprintf(list, sizeof list, "rediss://127.0.0.1:%d", plain.port);
  use_servers(list);
  CHECK_EQ(shell("$redlock -n job -- true"), 121);
  CHECK(says("it does not speak TLS: list it as redis://\n"));
  CHECK_EQ(shell("$redlock --status"), 121);
  CHECK(says("list it as redis://"));
  snprintf(list, sizeof list, "127.0.0.1:%d", real.at[0].port);
  use_servers(list);
  CHECK_EQ(shell("$redlock -n job -- true"), 121);
  CHECK(says("does this port want TLS?"));
  CHECK_EQ(shell("$redlock --status"), 121);
  CHECK(says("does this port want TLS?"));
  server_kill(&plain);
  snprintf(list, sizeof list, "rediss://127.0.0.1:%d", plain.port); /* nobody listens there now */
  use_servers(list);
  CHECK_EQ(shell("$redlock --status"), 121);
  CHECK(says("no connection: is it running"));
}

static void refuses(const char *line, const char *why) {
  CHECK_EQ(shell("$redlock %s job -- true", line), 125);
  if (!CHECK(says(why))) printf("    %s", output());
}

static void refuses_files_that_are_none(void) {
  fresh_tls();
  refuses("--cacert /nowhere", "there are no certificates in the file '/nowhere'");
  refuses("--cert /nowhere", "there is no certificate in the file '/nowhere'");
  refuses("--key /nowhere", "--key needs --cert");
  refuses("--cert $certificates/client.crt --key $certificates/ca.key", "does not hold the key");
}

static void tests(void) {
  RUN(locks_over_tls);
  RUN(command_sees_the_list_as_it_is);
  RUN(tells_what_is_wrong_with_a_certificate);
  RUN(gives_its_own_certificate);
  RUN(tells_tls_from_none);
  RUN(refuses_files_that_are_none);
}

static const char *why;

static void tls_is_missing(void) { SKIP(why); }

int main(int argc, char **argv) {
  check_start(argc, argv);
  find_command(argv[0]);
  why = servers_missing() ? servers_missing() : tls_missing();
  if (!why) {
    snprintf(work, sizeof work, "%s/work", servers_folder());
    setenv("work", work, 1);
    setenv("certificates", servers_folder(), 1);
    if (mkdir(work, 0700)) why = "no folder";
    else if (shell("$redlock --insecure -s 127.0.0.1:1 --status") == 125)
      why = "OpenSSL 3 is not installed (libssl-dev)";
  }
  if (why) {
    RUN(tls_is_missing);
    return check_end();
  }
  servers_start(&real, N, TLS_SERVER);
  tests();
  servers_stop(&real);
  return check_end();
}
