/* command.c: the command with TLS, on real TLS servers. */
#if defined(__has_include)
#if __has_include(<openssl/opensslv.h>)
#include <openssl/opensslv.h>
#endif
#endif

#include "tests/command/far.h"

#include "begin.h"

enum { N = 3 };

/* All over TLS, the last by number. */
static void fresh_tls(void) {
  fresh();
  use_servers("rediss://localhost:%d,rediss://localhost:%d,rediss://127.0.0.1:%d",
              real.at[0].port, real.at[1].port, real.at[2].port);
}

TEST(the_command_locks_over_tls) {
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt job -- sh -c 'exit 5'"), 5);
  CHECK(is_released("job"));
  CHECK_SAYS(", with TLS\n", 0, "$redlock -V");
  CHECK_SAYS("3 of 3 servers can vote", 0, "$redlock --cacert $certificates/ca.crt --status");
}

/* The one that COMMAND runs is to speak TLS too. */
TEST(what_the_command_runs_sees_the_list_as_it_is) {
  char line[LINE];
  use_servers("rediss://default:s3cret@localhost:%d", real.at[0].port);
  server_want_password(&real.at[0], "s3cret");
  CHECK_EQ(shell("$redlock --insecure job -- sh -c 'echo $REDLOCK_SERVERS'"), 0);
  snprintf(line, sizeof line, "rediss://default@localhost:%d\n", real.at[0].port);
  if (!CHECK(strcmp(output(), line) == 0)) printf("    %s", output());
  server_want_password(&real.at[0], "");
}

TEST(the_command_tells_what_is_wrong_with_a_certificate) {
  CHECK_SAYS("name its authority's certificate with --cacert", 121, "$redlock -n job -- true");
  CHECK_SAYS("name its authority's certificate with --cacert", 121, "$redlock --status");
  CHECK_EQ(shell("$redlock --insecure job -- true"), 0);
  server_command(&real.at[2], "CONFIG SET tls-cert-file ../elsewhere.crt");
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt --status"), 0);
  CHECK(says("IP address mismatch: list it by the name or address that its certificate is for"));
  server_command(&real.at[2], "CONFIG SET tls-cert-file ../server.crt");
  use_servers("rediss://localhost:%d", real.at[0].port);
  server_command(&real.at[0], "CONFIG SET tls-cert-file ../purpose.crt");
  CHECK_SAYS("serverAuth", 121, "$redlock --cacert $certificates/ca.crt job -- true"); /* at once */
  server_command(&real.at[0], "CONFIG SET tls-cert-file ../server.crt");
}

TEST(the_command_gives_its_own_certificate) {
  servers_command(&real, N, "CONFIG SET tls-auth-clients yes");
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt -n job -- true"), 121);
  CHECK(says("give it a certificate with --cert and --key"));
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt --status"), 121);
  CHECK(says("give it a certificate with --cert and --key"));
  CHECK_EQ(shell("$redlock --cacert $certificates/ca.crt --cert $certificates/client.crt "
                 "--key $certificates/server.key job -- true"), 0);
  CHECK_EQ(shell("cat $certificates/client.crt $certificates/server.key >$work/both && "
                 "$redlock --cacert $certificates/ca.crt --cert $work/both job -- true"), 0);
  servers_command(&real, N, "CONFIG SET tls-auth-clients no");
}

/* Hears what comes first, says this and closes. */
static pid_t start_peer(int *port, const char *says) {
  int listener = servers_listener(port);
  pid_t pid = fork();
  while (pid == 0) {
    char heard[LINE];
    int fd = accept(listener, NULL, NULL);
    if (recv(fd, heard, sizeof heard, 0) < 0 || send(fd, says, strlen(says), MSG_NOSIGNAL) < 0) {}
    shutdown(fd, SHUT_WR);
    while (recv(fd, heard, sizeof heard, 0) > 0) {}
    close(fd);
  }
  close(listener);
  return pid;
}

static void end_peer(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

TEST(what_is_not_tls_is_not_waited_for) { /* R15 */
  int port;
  pid_t peer = start_peer(&port, "HTTP/1.1 400 Bad Request\r\n\r\n");
  use_servers("rediss://127.0.0.1:%d", port);
  CHECK_SAYS("it does not speak TLS: list it as redis://\n", 121, "$redlock -n job -- true");
  CHECK_SAYS("list it as redis://", 121, "$redlock --status");
  CHECK_SAYS("--wait-anyway", 121, "$redlock job -- true");
  end_peer(peer);
}

/* Until the wait is over, it may come to speak. */
static void waits_to_the_end(const char *what) {
  CHECK_SAYS(what, 121, "$redlock -n -t 2s job -- true");
  CHECK_SAYS(what, 121, "$redlock --status");
  CHECK_SAYS(what, 121, "$redlock -w 3 -t 2s job -- true");
  CHECK(says("still waiting") && !says("--wait-anyway") && !says("redis://"));
}

TEST(who_hangs_up_in_the_handshake_is_waited_for) {
  int port;
  pid_t peer = start_peer(&port, "");
  use_servers("rediss://127.0.0.1:%d", port);
  waits_to_the_end("it hangs up in the TLS handshake: is this a port for TLS?");
  end_peer(peer);
}

/* Redis without TLS says nothing to it, and one that is only slow says nothing yet. */
TEST(silence_is_not_taken_for_no_tls) {
  struct server plain;
  server_start(&plain, "");
  use_servers("rediss://127.0.0.1:%d", plain.port);
  waits_to_the_end("ms (--server-timeout): is it frozen, overloaded or too far away? Or is this no "
                   "port for TLS?");
  server_kill(&plain);
}

TEST(slow_servers_are_waited_for_over_tls_too) { /* R15 */
  pid_t pid;
  servers_freeze(&real, 2);
  pid = start("exec $redlock -t 2s --cacert $certificates/ca.crt job -- touch $work/runs");
  await_either("background", "waiting no longer", "still waiting for lock 'job': 2 of 3");
  servers_mend(&real);
  check_ends(pid, 0, "no answer within 200 ms (--server-timeout)");
  CHECK(exists("runs"));
}

TEST(the_command_tells_tls_from_none) {
  struct server plain;
  server_start(&plain, "");
  use_servers("127.0.0.1:%d", real.at[0].port);
  CHECK_SAYS("does this port want TLS?", 121, "$redlock -n -t 2s job -- true");
  CHECK_SAYS("does this port want TLS?", 121, "$redlock --status");
  server_kill(&plain);
  use_servers("rediss://127.0.0.1:%d", plain.port); /* nobody listens there now */
  CHECK_SAYS("no connection: is it running", 121, "$redlock --status");
}

/* ---- certificates that change while redlock runs ---- */

/* In one go, as who renews them does it. */
static void put(const char *name, const char *from) {
  CHECK_EQ(shell("cd $certificates && cat %s >$work/new && mv $work/new $work/%s", from, name), 0);
}

#define OWN_FILES "--cacert $work/ca.crt --cert $work/own.crt --key $certificates/server.key "

/* The servers have another certificate, and trust others, from their next connection on. */
static void change_servers(const char *certificate, const char *authorities) {
  shell("cd $certificates && cat %s >servers-trust.crt", authorities);
  servers_command(&real, N, "CONFIG SET tls-ca-cert-file ../servers-trust.crt tls-cert-file ../%s",
                  certificate);
  servers_command(&real, N, "CLIENT KILL TYPE normal");
}

static void begin_with_certificates(void) {
  servers_command(&real, N, "CONFIG SET tls-auth-clients yes");
  put("ca.crt", "ca.crt");
  put("own.crt", "client.crt");
}

static void end_with_certificates(void) {
  servers_command(&real, N, "CONFIG SET tls-auth-clients no tls-ca-cert-file ../ca.crt "
                  "tls-cert-file ../server.crt");
}

/* Until each of a quorum lets it live for longer than when it was asked before. What a server said
   at first is no measure: right after an extension it is the most that it can say. */
static int await_extension(void) {
  int64_t end = timing_ms() + LIMIT_MS;
  int i, later, is_later[N] = {0};
  long left[N], before;
  for (i = 0; i < N; i++) left[i] = server_number(&real.at[i], "PTTL job");
  do {
    sleep_ms(20);
    for (later = i = 0; i < N; i++) {
      before = left[i];
      left[i] = server_number(&real.at[i], "PTTL job");
      is_later[i] |= left[i] > before;
      later += is_later[i];
    }
  } while (later < 2 && timing_ms() < end);
  return later >= 2;
}

TEST(a_kept_lock_outlives_its_authority_and_certificate) {
  pid_t pid;
  begin_with_certificates();
  pid = start_command("-t 6s " OWN_FILES "job", UNTIL_END);
  put("ca.crt", "ca.crt nobody.crt");
  put("own.crt", "stranger.crt");
  change_servers("stranger.crt", "nobody.crt");
  CHECK(await_extension() && await_extension());
  let_it_end();
  CHECK_EQ(end_of(pid), 0);
  CHECK(is_released("job"));
  end_with_certificates();
}

/* It waits for a lock; then nobody has that, and its own certificate has ended. */
TEST(a_stand_by_takes_over_with_a_new_certificate) {
  pid_t pid;
  begin_with_certificates();
  put("own.crt", "expired.crt");
  pid = start("exec $redlock -v --wait-anyway " OWN_FILES "job -- true");
  await_words("background", "it does not accept the certificate in '");
  CHECK(told("background", "/own.crt': is that too old, or by an authority that it does not"));
  put("own.crt", "nobody.key"); /* it is being written */
  put("own.crt", "client.crt");
  check_ends(pid, 0, "certificates, or their authorities, have changed: they are read again");
  end_with_certificates();
}

TEST(a_certificate_that_cannot_be_read_again_is_told_and_the_old_one_stays) {
  pid_t pid;
  begin_with_certificates();
  pid = start_command("-t 6s " OWN_FILES "job", UNTIL_END);
  put("own.crt", "nobody.key");
  servers_kill(&real, 1);
  await_words("background", "there is no certificate in the file '");
  CHECK(told("background", "the certificates that were there before are still used"));
  servers_mend(&real);
  let_it_end();
  CHECK_EQ(end_of(pid), 0);
  end_with_certificates();
}

TEST(an_authority_that_is_missing_in_the_file_is_told_with_its_name) {
  shell("cp $certificates/nobody.crt $work/ca.crt");
  CHECK_SAYS("/ca.crt' has signed its certificate: add that of its own", 121,
             "$redlock --cacert $work/ca.crt job -- true"); /* at once */
}

TEST(who_does_not_wait_gets_a_far_lock_over_tls) {
  check_is_near_enough("rediss://", "--cacert $certificates/ca.crt", 290, 6);
}

TEST(the_command_refuses_files_that_are_none) {
  refuses("--cacert /nowhere job -- true", "there are no certificates in the file '/nowhere'");
  refuses("--cert /nowhere job -- true", "there is no certificate in the file '/nowhere'");
  refuses("--key /nowhere job -- true", "--key needs --cert");
  refuses("--cert $certificates/client.crt --key $certificates/ca.key job -- true",
          "does not hold the key");
}

TEST(the_command_tells_that_openssl_cannot_be_used) {
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_SAYS("OpenSSL cannot be used: is the file in OPENSSL_CONF right?", 125,
             REFUSING "tls $redlock --insecure job -- true");
}

#if defined(OPENSSL_VERSION_MAJOR) && OPENSSL_VERSION_MAJOR >= 3

#include "flood.h"

static struct flood flood;

static void file_of(const char *name, char path[LINE]) {
  snprintf(path, LINE, "%s/%s", servers_folder(), name);
}

/* In the place of the first server. */
static void begin_flood(int kind) {
  char certificate[LINE], key[LINE];
  file_of("server.crt", certificate);
  file_of("server.key", key);
  flood_start(&flood, kind, 0, certificate, key);
  use_servers("rediss://localhost:%d,rediss://localhost:%d,rediss://127.0.0.1:%d", flood.port,
              real.at[1].port, real.at[2].port);
}

#define TRUSTING "$redlock --cacert $certificates/ca.crt "

TEST(beside_a_flood_the_command_ends_when_it_should) { /* R10 R16 */
  static const int kinds[] = {FLOOD_HELLO_REQUESTS, FLOOD_UPDATES, FLOOD_PUSHES};
  size_t i;
  for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    pid_t holder, waiter;
    begin_flood(kinds[i]);
    CHECK_EQ(shell(TRUSTING "-n job -- true"), 0);
    CHECK_SAYS("2 of 3 servers can vote", 0, TRUSTING "--status");
    holder = start("exec " TRUSTING "job -- sh -c 'touch $work/runs; exec sleep 1000'");
    CHECK(await_file("runs"));
    CHECK_SAYS("is taken", 120, TRUSTING "-n job -- true");
    CHECK_SAYS("is taken", 120, TRUSTING "-w 1 job -- true");
    waiter = start_line("exec " TRUSTING "-v job -- true", "waiter");
    await_words("waiter", "has been waiting");
    terminate(waiter);
    CHECK(*flood.connections > 0);
    terminate(holder);
    CHECK_EQ(shell(TRUSTING "-w 3 job -- true"), 0);
    flood_stop(&flood);
    CHECK_EQ(remove(in_work("runs")), 0);
  }
}

#endif

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
  check.before = fresh_tls;
  check_all();
  servers_stop(&real);
  return check_end();
}
