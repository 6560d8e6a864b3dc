/* addresses.c: every way to write a server down, and to log in to it. */
#include "real.h"

#include <netdb.h>
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
  real_release(&rl, &lock, N, "r");
  redlock_close(&rl);
}

/* How each server is written down: its port, or socket, stands between before and after. */
struct form {
  const char *before, *after, *database;
  const char *username, *password; /* of the options */
};

#define SOCKETS "unix:"

static const char *list_in(const struct form *form) {
  static char list[N * (SERVERS_PATH + 48)];
  size_t used = 0;
  int i;
  for (i = 0; i < N; i++) {
    char port[16];
    snprintf(port, sizeof port, ":%d", real.at[i].port);
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s%s%s", i ? ", " : "",
                             form->before,
                             strcmp(form->before, SOCKETS) ? port : real.at[i].socket, form->after);
  }
  return list;
}

static void check_forms(const struct form *form, size_t count) {
  for (; count > 0; count--, form++) {
    int bad = check.bad;
    redlock_options options = real_options(REAL_PATIENT_MS);
    options.username = form->username;
    options.password = form->password;
    check_list(list_in(form), &options, form->database);
    if (check.bad != bad) printf("    with the list %s\n", list_in(form));
  }
}

#define CHECK_FORMS(forms) check_forms(forms, sizeof(forms) / sizeof *(forms))

TEST(hosts_urls_and_sockets) {
  static const struct form forms[] = {
    {"127.0.0.1", "", "db0", NULL, NULL},
    {"redis://127.0.0.1", "/5", "db5", NULL, NULL},
    {SOCKETS, "", "db0", NULL, NULL}
  };
  servers_heal(&real);
  CHECK_FORMS(forms);
}

TEST(names_are_looked_up) {
  static const struct form forms[] = {{"localhost", "", "db0", NULL, NULL}};
  struct addrinfo *found;
  if (getaddrinfo("localhost", NULL, NULL, &found)) SKIP("localhost is no name here");
  freeaddrinfo(found);
  servers_heal(&real);
  CHECK_FORMS(forms);
}

/* A user in the URL comes before the options. */
TEST(users_of_the_url_and_of_the_options) {
  static const struct form forms[] = {
    {"redis://bob:s3cret@127.0.0.1", "/3", "db3", NULL, NULL},
    {"127.0.0.1", "", "db0", "bob", "s3cret"},
    {"redis://bob:s3cret@127.0.0.1", "", "db0", "nobody", "wrong"}
  };
  servers_heal(&real);
  servers_command(&real, N, "ACL SETUSER bob on >s3cret ~* +@all");
  CHECK_FORMS(forms);
}

TEST(passwords_of_the_url_and_of_the_options) {
  static const struct form forms[] = {
    {"127.0.0.1", "", "db0", NULL, "right"},
    {"redis://:right@127.0.0.1", "", "db0", NULL, NULL},
    {SOCKETS, "", "db0", NULL, "right"}
  };
  int i;
  servers_heal(&real);
  for (i = 0; i < N; i++) server_want_password(&real.at[i], "right");
  CHECK_FORMS(forms);
  for (i = 0; i < N; i++) server_want_password(&real.at[i], "");
}

/* R5 */
TEST(one_address_twice_is_refused) {
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
TEST(ipv6) {
  static const struct form forms[] = {
    {"[::1]", "", "db0", NULL, NULL},
    {"redis://[::1]", "/2", "db2", NULL, NULL}
  };
  int i;
  if (!has_ipv6()) SKIP("no ::1 here");
  for (i = 0; i < N; i++) {
    server_kill(&real.at[i]);
    server_start(&real.at[i], "--bind ::1");
  }
  CHECK_FORMS(forms);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, check_all); }
