/* addresses.c: every way to write a server down, and to log in to it. */
#include "real.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N = 3 };

/* Whether the server has a key in that database, once it has had its time: the SET follows the
   handshake, and an acquire does not wait for the slowest. */
static int has_key(redlock *rl, int server, const char *database) {
  int looks;
  for (looks = 0; looks < REAL_LOOKS; looks++) {
    if (strstr(server_command(&real.at[server], "INFO keyspace"), database)) return 1;
    redlock_wait(rl, REAL_LOOK_MS);
  }
  return 0;
}

/* One lock through this list, seen on every server, in this database. */
static void check_list(const char *list, const redlock_options *options, const char *database) {
  redlock rl;
  redlock_lock lock;
  int i;
  CHECK_EQ(redlock_init(&rl, list, options), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  for (i = 0; i < N; i++)
    if (!CHECK(has_key(&rl, i, database)))
      printf("    server %d: %s\n", i, redlock_server_error(&rl, i));
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(real_keys_settle(&rl, N, "r", 0), 0);
  redlock_close(&rl);
}

/* A list of before:port:after for each server. */
static const char *list_around(const char *before, const char *after) {
  static char list[4 * SERVERS_LIST];
  size_t used = 0;
  int i;
  for (i = 0; i < N; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s:%d%s", i ? ", " : "", before,
                             real.at[i].port, after);
  return list;
}

static const char *list_of_sockets(void) {
  static char list[N * (SERVERS_PATH + 8)];
  size_t used = 0;
  int i;
  for (i = 0; i < N; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%sunix:%s", i ? " " : "",
                             real.at[i].socket);
  return list;
}

static redlock_options patient(const char *username, const char *password) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  options.username = username;
  options.password = password;
  return options;
}

static void on_all(const char *command) {
  int i;
  for (i = 0; i < N; i++) server_command(&real.at[i], "%s", command);
}

static void host_and_port(void) {
  redlock_options options = patient(NULL, NULL);
  servers_heal(&real);
  check_list(list_around("127.0.0.1", ""), &options, "db0");
}

static void a_name_that_is_looked_up(void) {
  redlock_options options = patient(NULL, NULL);
  servers_heal(&real);
  check_list(list_around("localhost", ""), &options, "db0");
}

static void url_with_a_database(void) {
  redlock_options options = patient(NULL, NULL);
  servers_heal(&real);
  check_list(list_around("redis://127.0.0.1", "/5"), &options, "db5");
}

static void unix_sockets(void) {
  redlock_options options = patient(NULL, NULL);
  servers_heal(&real);
  check_list(list_of_sockets(), &options, "db0");
}

static void acl_user_and_password_in_the_url(void) {
  redlock_options options = patient(NULL, NULL);
  servers_heal(&real);
  on_all("ACL SETUSER bob on >s3cret ~* +@all");
  check_list(list_around("redis://bob:s3cret@127.0.0.1", "/3"), &options, "db3");
}

static void acl_user_and_password_in_the_options(void) {
  redlock_options options = patient("bob", "s3cret");
  servers_heal(&real);
  on_all("ACL SETUSER bob on >s3cret ~* +@all");
  check_list(list_around("127.0.0.1", ""), &options, "db0");
}

static void a_user_in_the_url_comes_before_the_options(void) {
  redlock_options options = patient("nobody", "wrong");
  servers_heal(&real);
  on_all("ACL SETUSER bob on >s3cret ~* +@all");
  check_list(list_around("redis://bob:s3cret@127.0.0.1", ""), &options, "db0");
}

/* R24 asks INFO; a lock needs no more than these. */
static void least_permissions_are_enough(void) {
  redlock_options options = patient("least", "s3cret");
  servers_heal(&real);
  on_all("ACL SETUSER least on >s3cret ~* +set +eval +get +del +pttl +pexpire +info");
  check_list(list_around("127.0.0.1", ""), &options, "db0");
}

static void with_password(const char *list, const redlock_options *options) {
  int i;
  on_all("CONFIG SET requirepass right");
  for (i = 0; i < N; i++) strcpy(real.at[i].login, "AUTH right");
  check_list(list, options, "db0");
  on_all("CONFIG SET requirepass \"\"");
  for (i = 0; i < N; i++) real.at[i].login[0] = '\0';
}

static void password_in_the_options(void) {
  redlock_options options = patient(NULL, "right");
  servers_heal(&real);
  with_password(list_around("127.0.0.1", ""), &options);
}

static void password_in_the_url(void) {
  redlock_options options = patient(NULL, NULL);
  servers_heal(&real);
  with_password(list_around("redis://:right@127.0.0.1", ""), &options);
}

static void password_over_unix_sockets(void) {
  redlock_options options = patient(NULL, "right");
  servers_heal(&real);
  with_password(list_of_sockets(), &options);
}

/* R5 */
static void one_address_twice_is_refused(void) {
  redlock rl;
  char list[SERVERS_LIST], twice[2 * SERVERS_LIST];
  servers_list(&real, 2, list);
  snprintf(twice, sizeof twice, "%s,redis://127.0.0.1:%d/0", list, real.at[0].port);
  CHECK_EQ(redlock_init(&rl, twice, NULL), REDLOCK_INVALID);
}

static int has_ipv6(void) {
  struct sockaddr_in6 at;
  int fd = socket(AF_INET6, SOCK_STREAM, 0), good;
  memset(&at, 0, sizeof at);
  at.sin6_family = AF_INET6;
  at.sin6_addr = in6addr_loopback;
  good = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
  if (fd >= 0) close(fd);
  return good;
}

/* The last of the tests: it restarts the servers with another address. */
static void ipv6(void) {
  redlock_options options = patient(NULL, NULL);
  int i;
  if (!has_ipv6()) SKIP("no ::1 here");
  for (i = 0; i < N; i++) {
    server_kill(&real.at[i]);
    server_start(&real.at[i], "--bind ::1");
  }
  check_list(list_around("[::1]", ""), &options, "db0");
  check_list(list_around("redis://[::1]", "/2"), &options, "db2");
}

static void tests(void) {
  RUN(host_and_port);
  RUN(a_name_that_is_looked_up);
  RUN(url_with_a_database);
  RUN(unix_sockets);
  RUN(acl_user_and_password_in_the_url);
  RUN(acl_user_and_password_in_the_options);
  RUN(a_user_in_the_url_comes_before_the_options);
  RUN(least_permissions_are_enough);
  RUN(password_in_the_options);
  RUN(password_in_the_url);
  RUN(password_over_unix_sockets);
  RUN(one_address_twice_is_refused);
  RUN(ipv6);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, tests); }
