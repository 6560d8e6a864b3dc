/* addresses.c: every way to write a server down, and to log in to it. */
#include "fixture.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { N = 3 };

#define SOCKETS "unix:"

/* Each server's port, or socket, stands between before and after. */
static const char *list_of(const char *before, const char *after) {
  static char list[N * (SERVERS_PATH + 48)];
  size_t used = 0;
  int i;
  for (i = 0; i < N; i++) {
    char port[16];
    snprintf(port, sizeof port, ":%d", real.at[i].port);
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s%s%s", i ? ", " : "", before,
                             strcmp(before, SOCKETS) ? port : real.at[i].socket, after);
  }
  return list;
}

/* Whether the server has a key in that database, once it has had its time: an acquire does not wait
   for the slowest handshake, and an extension brings it the key (R29). */
static int has_key(int server, const char *database) {
  int looks;
  for (looks = 0; looks < REAL_LOOKS; looks++) {
    if (strstr(server_command(&real.at[server], "INFO keyspace"), database)) return 1;
    redlock_wait(&rl, REAL_LOOK_MS);
    redlock_extend(&rl, &lock, REAL_TTL_MS);
  }
  return 0;
}

/* One lock through the list, and as this user of the options, seen on every server in that
   database. */
static void takes_a_lock(const char *before, const char *after, const char *database,
                         const char *username, const char *password) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  int i, bad = check.bad;
  options.username = username;
  options.password = password;
  CHECK_EQ(redlock_init(&rl, list_of(before, after), &options), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  for (i = 0; i < N; i++)
    if (!CHECK(has_key(i, database)))
      printf("    server %d: %s\n", i, redlock_server_error(&rl, i));
  real_release(&rl, &lock, N, "r");
  redlock_close(&rl);
  if (check.bad != bad) printf("    with the list %s\n", list_of(before, after));
}

/* A user in the URL comes before the options. */
TEST(a_server_is_found_by_its_host_url_or_socket) {
  servers_command(&real, N, "ACL SETUSER bob on >s3cret ~* +@all");
  takes_a_lock("127.0.0.1", "", "db0", NULL, NULL);
  takes_a_lock("redis://127.0.0.1", "/5", "db5", NULL, NULL);
  takes_a_lock(SOCKETS, "", "db0", NULL, NULL);
  if (!server_has_users(&real.at[0])) return; /* before Redis 6 */
  takes_a_lock("redis://bob:s3cret@127.0.0.1", "/3", "db3", NULL, NULL);
  takes_a_lock("127.0.0.1", "", "db0", "bob", "s3cret");
  takes_a_lock("redis://bob:s3cret@127.0.0.1", "", "db0", "nobody", "wrong");
}

TEST(a_password_stands_in_the_url_or_the_options) {
  int i;
  if (!server_takes_empty(&real.at[0])) SKIP("this server's password cannot be taken away");
  for (i = 0; i < N; i++) server_want_password(&real.at[i], "right");
  takes_a_lock("127.0.0.1", "", "db0", NULL, "right");
  takes_a_lock("redis://:right@127.0.0.1", "", "db0", NULL, NULL);
  takes_a_lock(SOCKETS, "", "db0", NULL, "right");
  for (i = 0; i < N; i++) server_want_password(&real.at[i], "");
}

TEST(names_are_looked_up) {
  struct addrinfo *found;
  if (getaddrinfo("localhost", NULL, NULL, &found)) SKIP("localhost is no name here");
  freeaddrinfo(found);
  takes_a_lock("localhost", "", "db0", NULL, NULL);
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
TEST(a_server_is_found_by_ipv6) {
  int i;
  if (!has_ipv6()) SKIP("no ::1 here");
  for (i = 0; i < N; i++) {
    server_kill(&real.at[i]);
    server_start(&real.at[i], "--bind ::1");
  }
  takes_a_lock("[::1]", "", "db0", NULL, NULL);
  takes_a_lock("redis://[::1]", "/2", "db2", NULL, NULL);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
