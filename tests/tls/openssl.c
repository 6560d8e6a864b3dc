/* openssl.c: examples/tls_openssl.h on real TLS servers: Redis's own, and a toy for what Redis does
 * not do. A client's certificate, and what is told of a port without TLS, are in command.c. CYCLES
 * in the environment makes the test in small buffers longer. */
#if defined(__has_include)
#if __has_include(<openssl/opensslv.h>)
#include <openssl/opensslv.h>
#endif
#endif

#define REDLOCK_MAX_COMMANDS 512
#include "tests/redis/real.h"

#if defined(OPENSSL_VERSION_MAJOR) && OPENSSL_VERSION_MAJOR >= 3

#include "examples/tls_openssl.h"
#include "begin.h"
#include "fake_server.h"

enum { N = 3, MANY = 128, SMALL_BUFFER = 2048, CYCLES = 1500 };

static redlock rl;
static redlock_lock lock;
static redlock_options options;
static tls t;
static struct server odd; /* its certificate changes */
static struct server plain;

/* ---- clients ---- */

static const char *in_folder(const char *name) {
  static char path[4][SERVERS_PATH];
  static unsigned next;
  char *to = path[next++ % 4];
  snprintf(to, sizeof path[0], "%s/%s", servers_folder(), name);
  return to;
}

static void prepare(void) {
  servers_heal(&real);
  CHECK_EQ(tls_begin(&t), 0);
  CHECK_EQ(SSL_CTX_load_verify_file(t.context, in_folder("ca.crt")), 1);
  options = real_options(REAL_PATIENT_MS);
  options.tls = &t.layer;
}

static void open_list(const char *list) {
  CHECK_EQ(redlock_init(&rl, real_keep_list(list), &options), REDLOCK_OK);
}

/* All servers, by name and by number. */
static void open_all(void) {
  char list[256];
  snprintf(list, sizeof list, "rediss://localhost:%d,rediss://127.0.0.1:%d,rediss://localhost:%d",
           real.at[0].port, real.at[1].port, real.at[2].port);
  open_list(list);
}

static void open_one(const char *scheme_and_host, int port) {
  char list[128];
  snprintf(list, sizeof list, "%s:%d", scheme_and_host, port);
  open_list(list);
}

static void end(void) {
  redlock_close(&rl);
  tls_end(&t);
}

static void cycle(void) {
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* ---- what works ---- */

TEST(a_list_may_mix_both_kinds) {
  char list[256];
  snprintf(list, sizeof list, "127.0.0.1:%d,rediss://localhost:%d,redis://u:p@127.0.0.1:1",
           plain.port, real.at[0].port);
  open_list(list);
  cycle();
}

/* Every lock is taken and freed again and again, all at once. Returns how many succeeded. */
static long many_cycles(long wanted) {
  static redlock_lock locks[MANY];
  static char names[MANY][32];
  redlock_lock *got;
  long started = 0, freed = 0, pending = 0, i;
  for (i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof names[i], "many:%ld", i);
    locks[i].user = names[i];
    pending += redlock_start_acquire(&rl, &locks[i], names[i], REAL_TTL_MS, REAL_WAIT_MS) ==
               REDLOCK_PENDING;
    started++;
  }
  while (pending > 0) {
    if ((got = redlock_wait(&rl, -1)) == NULL) continue;
    pending--;
    if (!CHECK_EQ(got->status, REDLOCK_OK)) continue;
    if (got->operation == REDLOCK_ACQUIRE) {
      pending += redlock_start_release(&rl, got) == REDLOCK_PENDING;
    } else if (++freed && started < wanted) {
      pending += redlock_start_acquire(&rl, got, (const char *)got->user, REAL_TTL_MS,
                                       REAL_WAIT_MS) == REDLOCK_PENDING;
      started++;
    }
  }
  return freed;
}

static void check_no_orphan(void) {
  int i;
  real_hold(&rl, &lock, N, "last", REAL_TTL_MS); /* behind all that was sent */
  real_release(&rl, &lock, N, "last");
  for (i = 0; i < N; i++) {
    CHECK_EQ(server_number(&real.at[i], "DBSIZE"), 0);
    CHECK_EQ(redlock_server_error(&rl, i)[0], 0);
  }
}

static int set_small(int fd, int option) {
  int size = SMALL_BUFFER;
  return setsockopt(fd, SOL_SOCKET, option, &size, sizeof size);
}

static int opens, short_sends;

static int open_small(void *ctx, int server, intptr_t fd, const char *host) {
  opens++;
  CHECK_EQ(set_small((int)fd, SO_SNDBUF), 0);
  CHECK_EQ(set_small((int)fd, SO_RCVBUF), 0);
  return tls_open(ctx, server, fd, host);
}

/* Counts how often bytes had to stay with OpenSSL, or with the client. */
static int count_short(void *ctx, int server, const void *data, size_t size) {
  int sent = tls_send(ctx, server, data, size);
  short_sends += sent == 0 || BIO_pending(SSL_get_wbio(t.ssl[server])) > 0;
  return sent;
}

TEST(many_cycles_in_small_buffers) { /* R8 R12 */
  const char *more = getenv("CYCLES");
  long cycles = more ? strtol(more, NULL, 10) : CYCLES;
  options.server_timeout_ms = REAL_TTL_MS;
  t.layer.open = open_small;
  t.layer.send = count_short;
  opens = short_sends = 0;
  open_all();
  CHECK_EQ(many_cycles(cycles), cycles);
  check_no_orphan();
  CHECK_EQ(opens, N); /* no connection was lost */
  CHECK(short_sends > 0);
  if (more) printf("    %ld cycles, %d times the socket did not take all\n", cycles, short_sends);
}

TEST(a_server_that_is_connected_again_is_resumed) {
  open_all();
  cycle();
  CHECK(!SSL_session_reused(t.ssl[0]));
  server_command(&real.at[0], "CLIENT KILL TYPE normal");
  while (redlock_server_error(&rl, 0)[0] == '\0') redlock_wait(&rl, REAL_LOOK_MS);
  cycle();
  while (redlock_server_error(&rl, 0)[0]) {
    cycle();
    redlock_wait(&rl, REAL_LOOK_MS);
  }
  CHECK(SSL_session_reused(t.ssl[0]));
}

/* R17: what its child closes is closed there alone: nothing of it goes to the servers. */
TEST(a_child_that_closes_takes_nothing_away) {
  int status = 1;
  pid_t child;
  open_all();
  cycle();
  child = fork();
  if (child == 0) {
    redlock_close(&rl);
    _exit(0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  opens = 0;
  t.layer.open = open_small;
  cycle();
  CHECK_EQ(opens, 0);
}

TEST(the_least_version_is_1_2) {
  CHECK(server_command(&odd, "CONFIG SET tls-protocols TLSv1.2")[0] == 'O');
  open_one("rediss://localhost", odd.port);
  cycle();
  CHECK(strcmp(SSL_get_version(t.ssl[0]), "TLSv1.2") == 0);
  CHECK_EQ(SSL_CTX_get_min_proto_version(t.context), TLS1_2_VERSION);
  server_command(&odd, "CONFIG SET tls-protocols \"\"");
}

/* ---- what is wrong is told ---- */

static void fails_with(const char *text) {
  const char *error;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_NO_QUORUM);
  error = redlock_server_error(&rl, 0);
  if (!CHECK(strstr(error, text) != NULL)) printf("    %s\n", error);
  redlock_close(&rl);
}

static void with_certificate(const char *name) {
  CHECK(server_command(&odd, "CONFIG SET tls-cert-file ../%s.crt", name)[0] == 'O');
}

TEST(a_bad_certificate_is_refused) {
  static const struct {
    const char *name, *host, *error;
  } bad[] = {
    {"stranger", "rediss://localhost", "unable to get local issuer certificate"},
    {"expired", "rediss://localhost", "has expired"},
    {"elsewhere", "rediss://localhost", "hostname mismatch"},
    {"elsewhere", "rediss://127.0.0.1", "IP address mismatch"},
    {"subject", "rediss://localhost", "hostname mismatch"}, /* it is in its CN alone */
    {"purpose", "rediss://localhost", "certificate purpose"}
  };
  size_t i;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    with_certificate(bad[i].name);
    open_one(bad[i].host, odd.port);
    fails_with(bad[i].error);
  }
  with_certificate("server");
}

/* No name here has two dots, and OpenSSL wants that behind a *. */
static int open_as_node(void *ctx, int server, intptr_t fd, const char *host) {
  (void)host;
  return tls_open(ctx, server, fd, "node.example.test");
}

TEST(a_star_stands_for_a_whole_label_and_the_first) { /* RFC 9525 */
  static const char *const names[] = {"partial", "inner", "whole"};
  size_t i;
  t.layer.open = open_as_node;
  for (i = 0; i < 3; i++) {
    with_certificate(names[i]);
    open_one("rediss://localhost", odd.port);
    if (i < 2) fails_with("hostname mismatch");
    else cycle();
  }
  with_certificate("server");
}

/* A program that exchanges the context: connections that stand go on, and no session is resumed
   that began before. */
TEST(a_context_that_is_replaced_is_that_of_the_next_connection) {
  SSL_CTX *context = tls_context();
  int looks;
  open_all();
  cycle();
  CHECK(context != NULL && SSL_CTX_load_verify_file(context, in_folder("nobody.crt")) == 1);
  tls_replace(&t, context);
  cycle();
  CHECK_EQ(redlock_server_error(&rl, 0)[0], 0);
  servers_command(&real, N, "CLIENT KILL TYPE normal");
  for (looks = 0; looks < REAL_LOOKS && !strstr(redlock_server_error(&rl, 0), "self-signed");
       looks++) {
    (void)redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0);
    redlock_wait(&rl, REAL_LOOK_MS);
  }
  CHECK(looks < REAL_LOOKS);
  context = tls_context();
  CHECK(context != NULL && SSL_CTX_load_verify_file(context, in_folder("ca.crt")) == 1);
  tls_replace(&t, context);
  cycle();
}

/* ---- the toy ---- */

static struct toy toy;

static void begin_toy(void) {
  toy_start(&toy, in_folder("server.crt"), in_folder("server.key"));
  open_one("rediss://localhost", toy.port);
}

static void end_toy(void) {
  redlock_close(&rl);
  toy_stop(&toy);
}

/* It is sent by its name, which is checked too; a number is no name. */
TEST(a_server_is_told_its_name) {
  begin_toy();
  cycle();
  CHECK(strcmp(toy.facts->asked_for, "localhost") == 0);
  redlock_close(&rl);
  open_one("rediss://127.0.0.1", toy.port);
  cycle();
  CHECK_EQ(toy.facts->asked_for[0], 0);
  end_toy();
}

TEST(keys_are_updated_in_between) { /* TLS 1.3 */
  int i;
  begin_toy();
  toy.facts->updates_keys = 1;
  for (i = 0; i < 20; i++) cycle();
  CHECK_EQ(toy.facts->connections, 1);
  CHECK(toy.facts->key_updates >= 20); /* one may answer several */
  end_toy();
}

/* It says that it has no more to say, but the connection stands. */
TEST(a_half_closed_connection_is_replaced) { /* R14 */
  int closes;
  begin_toy();
  for (closes = 1; closes <= 2; closes++) {
    toy.facts->half_closes = 1;
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_OK);
    while (toy.facts->connections == closes) {
      (void)redlock_release(&rl, &lock);
      (void)redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS);
    }
  }
  cycle();
  CHECK_EQ(toy.facts->connections, 3);
  CHECK(toy.facts->resumed > 0);
  end_toy();
}

/* Everything that the server sends comes 30 ms late. The loop is the program's own. */
TEST(a_slow_handshake_wakes_no_one_in_vain) { /* R27 */
  struct pollfd look;
  redlock_fd want;
  int64_t start = timing_ms();
  int wakes = 0;
  begin_toy();
  toy.facts->delay_ms = 30;
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", REAL_TTL_MS, REAL_WAIT_MS), REDLOCK_PENDING);
  while (redlock_step_on(&rl, 1) == NULL) {
    CHECK_EQ(redlock_fds(&rl, &want, 1), 1);
    look.fd = (int)want.fd;
    look.events = want.events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN;
    poll(&look, 1, (int)redlock_timeout_ms(&rl));
    wakes++;
  }
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK(timing_ms() - start >= 30);
  if (!CHECK(wakes <= 5)) printf("    %d wake-ups\n", wakes);
  end_toy();
}

/* ---- the example ---- */

TEST(the_example_runs) {
  char line[512];
  snprintf(line, sizeof line,
           "build/tests/examples/tls rediss://localhost:%d,rediss://localhost:%d,"
           "rediss://127.0.0.1:%d %s"
           " >%s 2>&1",
           real.at[0].port, real.at[1].port, real.at[2].port, in_folder("ca.crt"),
           in_folder("tls.log"));
  if (access("build/tests/examples/tls", X_OK)) SKIP("build/tests/examples/tls is not built");
  CHECK_EQ(system(line), 0);
}

static const char *why;

static void tls_is_missing(void) { SKIP(why); }

int main(int argc, char **argv) {
  if (servers_missing()) return real_main(argc, argv, 0, NULL);
  check_start(argc, argv);
  if ((why = tls_missing()) != NULL) {
    RUN(tls_is_missing);
    return check_end();
  }
  servers_start(&real, N, TLS_SERVER);
  server_start(&odd, TLS_SERVER);
  server_start(&plain, "");
  check.before = prepare;
  check.after = end;
  check_all();
  server_kill(&plain);
  server_kill(&odd);
  servers_stop(&real);
  return check_end();
}

#else

#include "tests/check_main.h"

TEST(openssl_is_missing) { SKIP("OpenSSL 3 is not installed (libssl-dev)"); }

#endif
