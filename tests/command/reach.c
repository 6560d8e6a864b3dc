/* reach.c: why there is no connection, or no vote, is told as what it is: this side's doing or
 * that of the server. */
#include "tests/command/command.h"

#include "tests/redis/wall.h"

enum { N = 3, NO_QUORUM = 121 };

/* ---- this side ---- */

/* What a system may answer when it is asked for a connection, and what helps. */
static const struct {
  const char *call;
  int error;
  const char *advice;
} refusals[] = {
  {"connect", EADDRNOTAVAIL, "this machine has no local port left"},
  {"connect", EACCES, "this system forbids it"},
  {"connect", EPERM, "this system forbids it"},
  {"connect", ENOBUFS, "this machine is short of memory or of files"},
  {"connect", ENETUNREACH, "see this machine's addresses and routes"},
  {"connect", EHOSTUNREACH, "see this machine's addresses and routes"},
  {"socket", EMFILE, "raise the limit (ulimit -n)"},
  {"socket", ENFILE, "this machine is short of memory or of files"},
  {"socket", EACCES, "this system forbids it"},
  {"socket", EAFNOSUPPORT, "see this machine's addresses and routes"}
};

TEST(an_error_of_this_side_is_not_the_servers) {
  size_t i;
  if (cannot_refuse()) SKIP("no library can be loaded first");
  for (i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    int error = refusals[i].error;
    CHECK_SAYS(refusals[i].advice, NO_QUORUM, "REFUSE_ERROR=%d " REFUSING "%s $redlock -n job true",
               error, refusals[i].call);
    CHECK(says(error == EMFILE ? "no connection: too many open files" : strerror(error)));
    CHECK(!says("is it running"));
  }
  CHECK_SAYS("no connection: Cannot assign requested address: this machine has no local port left",
             NO_QUORUM, "REFUSE_ERROR=%d " REFUSING "connect $redlock --status", EADDRNOTAVAIL);
}

/* An end of the connection is nobody's fault here, nor is a server's end. */
TEST(what_ends_our_connection_is_told) {
  static const char what[] = "no connection: it has closed ours: did it restart, or throw clients "
                             "out (maxmemory-clients, timeout)? See its log";
  if (cannot_refuse()) SKIP("no library can be loaded first");
  CHECK_SAYS(what, NO_QUORUM, REFUSING "talk $redlock -n job -- true");
  servers_kill(&real, N);
  CHECK_SAYS("no connection: is it running", NO_QUORUM, "$redlock -n job -- true");
  CHECK(!says(what));
}

/* ---- the server's memory ---- */

TEST(clients_that_a_server_has_thrown_out_are_told) {
  struct server *s = &real.at[0];
  int64_t end = timing_ms() + LIMIT_MS;
  static char bytes[600000] = "*1\r\n$1000000\r\n";
  int fd;
  if (*server_command(s, "CONFIG SET maxmemory-clients 300kb") == '-') SKIP("before Redis 7");
  fd = dial(s->port);
  (void)!write(fd, bytes, sizeof bytes);
  while (server_info(s, "evicted_clients:") < 1 && timing_ms() < end) sleep_ms(10);
  close(fd);
  server_command(s, "CONFIG SET maxmemory-clients 0");
  CHECK_SAYS("it has thrown out clients to save memory: a higher maxmemory-clients would keep them",
             0, "$redlock --status");
  server_command(s, "CONFIG RESETSTAT");
  CHECK_EQ(shell("$redlock --status"), 0);
  CHECK(!says("maxmemory-clients"));
}

/* ---- the server's clock ---- */

/* Its clock was an hour ahead when it started, as that of a machine that keeps local time. */
TEST(a_clock_that_was_set_back_is_told) { /* R24 */
  static const char what[] = "its clock was set back by 1h 1m since it started: it votes when "
                             "that is over; restart it\n";
  wall_begin();
  if (!*wall_path) SKIP("no library can be loaded first");
  wall_set(3700);
  server_restart(&real.at[0]);
  wall_end();
  use_servers("127.0.0.1:%d", real.at[0].port);
  CHECK_EQ(shell("$redlock --status"), 0);
  CHECK(!says("set back"));
  wall_set(0);
  CHECK_SAYS(what, NO_QUORUM, "$redlock -n -t 1s --max-ttl 1s job -- true");
  CHECK(!says("up 0s"));
  CHECK_SAYS(what, NO_QUORUM, "$redlock --status --max-ttl 1s");
  CHECK_SAYS(what, 0, "$redlock --status"); /* it votes, but keys stay for longer */
  server_kill(&real.at[0]);
}

int main(int argc, char **argv) { return command_main(argc, argv, N); }
