/* addresses.c: every way to write a server down, and to log in to it. */
#include "fixture.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { N = 3 };

#define SOCKETS "unix:"

/* How each server is written down: its port, or socket, stands between before and after. */
struct form {
  const char *before, *after, *database;
  const char *username, *password; /* of the options */
};

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

/* Whether the server has a key in that database, once it has had its time: the SET follows the
   handshake, and an acquire does not wait for the slowest. */
static int has_key(int server, const char *database) {
  int looks;
  for (looks = 0; looks < REAL_LOOKS; looks++) {
    if (strstr(server_command(&real.at[server], "INFO keyspace"), database)) return 1;
    redlock_wait(&rl, REAL_LOOK_MS);
  }
  return 0;
}

/* One lock through the list, seen on every server, in its database. */
static void check_form(const struct form *form) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  int i, bad = check.bad;
  options.username = form->username;
  options.password = form->password;
  CHECK_EQ(redlock_init(&rl, list_in(form), &options), REDLOCK_OK);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", REAL_TTL_MS, 0), REDLOCK_OK);
  for (i = 0; i < N; i++)
    if (!CHECK(has_key(i, form->database)))
      printf("    server %d: %s\n", i, redlock_server_error(&rl, i));
  real_release(&rl, &lock, N, "r");
  redlock_close(&rl);
  if (check.bad != bad) printf("    with the list %s\n", list_in(form));
}

static void check_forms(const struct form *form) {
  for (; form->before; form++) check_form(form);
}

/* A user in the URL comes before the options. */
TEST(a_server_is_found_by_its_host_url_or_socket) {
  static const struct form forms[] = {
    {"127.0.0.1", "", "db0", NULL, NULL},
    {"redis://127.0.0.1", "/5", "db5", NULL, NULL},
    {SOCKETS, "", "db0", NULL, NULL},
    {"redis://bob:s3cret@127.0.0.1", "/3", "db3", NULL, NULL},
    {"127.0.0.1", "", "db0", "bob", "s3cret"},
    {"redis://bob:s3cret@127.0.0.1", "", "db0", "nobody", "wrong"},
    {NULL, NULL, NULL, NULL, NULL}
  };
  servers_command(&real, N, "ACL SETUSER bob on >s3cret ~* +@all");
  check_forms(forms);
}

TEST(a_password_stands_in_the_url_or_the_options) {
  static const struct form forms[] = {
    {"127.0.0.1", "", "db0", NULL, "right"},
    {"redis://:right@127.0.0.1", "", "db0", NULL, NULL},
    {SOCKETS, "", "db0", NULL, "right"},
    {NULL, NULL, NULL, NULL, NULL}
  };
  int i;
  for (i = 0; i < N; i++) server_want_password(&real.at[i], "right");
  check_forms(forms);
  for (i = 0; i < N; i++) server_want_password(&real.at[i], "");
}

TEST(names_are_looked_up) {
  static const struct form form = {"localhost", "", "db0", NULL, NULL};
  struct addrinfo *found;
  if (getaddrinfo("localhost", NULL, NULL, &found)) SKIP("localhost is no name here");
  freeaddrinfo(found);
  check_form(&form);
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
  static const struct form forms[] = {{"[::1]", "", "db0", NULL, NULL},
                                      {"redis://[::1]", "/2", "db2", NULL, NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};
  int i;
  if (!has_ipv6()) SKIP("no ::1 here");
  for (i = 0; i < N; i++) {
    server_kill(&real.at[i]);
    server_start(&real.at[i], "--bind ::1");
  }
  check_forms(forms);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
