/* names.c: names are looked up by redlock_init and redlock_resolve alone, and what they come to
 * may not be another entry's address (R5). The resolver is a table in this file. */
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int look_up(const char *name, const char *port, const struct addrinfo *hints,
                   struct addrinfo **found);
static void forget(struct addrinfo *found);

static int later_clock(clockid_t clock, struct timespec *time);

#define getaddrinfo look_up
#define freeaddrinfo forget
#define clock_gettime later_clock
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check_main.h"

#undef clock_gettime

static int later_s; /* so much time has passed */

static int later_clock(clockid_t clock, struct timespec *time) {
  int failed = clock_gettime(clock, time);
  time->tv_sec += later_s;
  return failed;
}

/* ---- The resolver ---------------------------------------------------------------------------- */

/* A name's addresses: '4' and a digit is 127.0.0.digit, '6' and a digit is ::digit, and '?' and a
   digit is of a family that the client does not know. */
static struct name {
  const char *name;
  const char *addresses;
} names[8];

static int name_count;
static long lookups, answers_held;

struct answer {
  struct addrinfo info; /* first: a pointer to it is one to the answer */
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address;
};

static void name_is(const char *name, const char *addresses) {
  int i = 0;
  while (i < name_count && strcmp(names[i].name, name) != 0) i++;
  if (i == name_count) name_count++;
  names[i].name = name;
  names[i].addresses = addresses;
}

static struct addrinfo *answer_of(const char *address, const char *port, struct addrinfo *next) {
  struct answer *a = calloc(1, sizeof *a);
  in_port_t number = htons((uint16_t)atoi(port));
  if (!a) abort();
  a->info.ai_next = next;
  a->info.ai_addr = &a->address.any;
  a->info.ai_family = address[0] == '4' ? AF_INET : address[0] == '6' ? AF_INET6 : AF_UNSPEC;
  if (address[0] != '6') {
    a->info.ai_addrlen = sizeof a->address.v4;
    a->address.v4.sin_family = (sa_family_t)a->info.ai_family;
    a->address.v4.sin_port = number;
    a->address.v4.sin_addr.s_addr = htonl(0x7f000000u + (uint32_t)(address[1] - '0'));
  } else {
    a->info.ai_addrlen = sizeof a->address.v6;
    a->address.v6.sin6_family = AF_INET6;
    a->address.v6.sin6_port = number;
    a->address.v6.sin6_addr.s6_addr[15] = (unsigned char)(address[1] - '0');
  }
  answers_held++;
  return &a->info;
}

static int look_up(const char *name, const char *port, const struct addrinfo *hints,
                   struct addrinfo **found) {
  struct addrinfo *first = NULL;
  size_t at;
  int i = 0;
  (void)hints;
  lookups++;
  while (i < name_count && strcmp(names[i].name, name) != 0) i++;
  if (i == name_count || names[i].addresses[0] == '\0') return EAI_NONAME;
  for (at = strlen(names[i].addresses); at > 0; at -= 2)
    first = answer_of(names[i].addresses + at - 2, port, first);
  *found = first;
  return 0;
}

static void forget(struct addrinfo *found) {
  while (found) {
    struct addrinfo *next = found->ai_next;
    free(found);
    answers_held--;
    found = next;
  }
}

/* ---- The tests ------------------------------------------------------------------------------- */

static redlock rl;
static redlock_lock lock;

static redlock_status init(const char *list) {
  lookups = 0;
  return redlock_init(&rl, list, NULL);
}

static void begin(void) {
  name_count = 0;
  answers_held = 0;
  name_is("one", "41");
  name_is("two", "42");
  name_is("three", "43");
}

static void twins(const char *list, int entry) {
  const char *error;
  if (!CHECK_EQ(init(list), REDLOCK_INVALID)) printf("    of %s\n", list);
  error = redlock_server_error(&rl, entry);
  if (!CHECK(error && error[0])) printf("    of %s\n", list);
  CHECK_EQ(answers_held, 0);
}

TEST(each_name_is_looked_up_once) {
  begin();
  CHECK_EQ(init("one,two:1,unix:/path,redis://three/2"), REDLOCK_OK);
  CHECK_EQ(lookups, 3);
  CHECK_EQ(answers_held, 0);
  redlock_close(&rl);
}

TEST(two_names_of_one_address) { /* R5 */
  begin();
  name_is("uno", "41");
  twins("one,two,uno", 2);
  twins("uno:7000,one:7000", 1);
  CHECK_EQ(init("one:1,uno:2"), REDLOCK_OK);
  redlock_close(&rl);
}

/* Each of a name's addresses may be tried, so none may be another's. */
TEST(a_name_with_two_addresses) { /* R5 */
  begin();
  name_is("both", "6141");
  name_is("sixth", "61");
  twins("both,sixth", 1);
  twins("sixth,both", 1);
  twins("both,one", 1);
  twins("one,both", 1);
  name_is("turned", "4161");
  twins("both,two,turned", 2);
  name_is("overlaps", "4941");
  twins("both,two,overlaps", 2);
}

TEST(a_name_that_is_not_found) {
  const char *error;
  begin();
  CHECK_EQ(init("one,nowhere,two"), REDLOCK_OK);
  error = redlock_server_error(&rl, 1);
  CHECK(error && strstr(error, "name"));
  redlock_close(&rl);
  CHECK_EQ(init("nowhere,nobody"), REDLOCK_OK); /* two unknowns are not one address */
  redlock_close(&rl);
}

/* Port 1 of this machine answers no one; that the names stay unasked is the point. */
TEST(no_lock_looks_a_name_up) {
  begin();
  CHECK_EQ(init("one:1,nowhere:1,two:1"), REDLOCK_OK);
  lookups = 0;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_UNREACHABLE);
  CHECK(strstr(redlock_server_error(&rl, 1), "name")); /* says more than that nothing is open */
  redlock_close(&rl);
  CHECK_EQ(lookups, 0);
}

TEST(resolve_looks_them_up_again) {
  begin();
  CHECK_EQ(init("one,two,nowhere"), REDLOCK_OK);
  name_is("nowhere", "45");
  lookups = 0;
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK_EQ(lookups, 3);
  CHECK_EQ(answers_held, 0);
  redlock_close(&rl);
}

/* What the two names come to now; "" = they are not found. */
static redlock_status resolve_to(const char *one, const char *two) {
  name_is("one", one);
  name_is("two", two);
  return redlock_resolve(&rl);
}

static void begin_with_two(void) {
  begin();
  CHECK_EQ(init("one,two"), REDLOCK_OK);
}

TEST(resolve_finds_new_twins) { /* R5 */
  begin_with_two();
  CHECK_EQ(resolve_to("41", "41"), REDLOCK_INVALID);
  CHECK(redlock_server_error(&rl, 0)[0] || redlock_server_error(&rl, 1)[0]);
  redlock_close(&rl);
}

/* Two names that change places share nothing at any time. */
TEST(resolve_lets_names_change_places) {
  begin_with_two();
  CHECK_EQ(resolve_to("42", "41"), REDLOCK_OK);
  redlock_close(&rl);
}

/* What was known of a name stays, and is still nobody else's. */
TEST(resolve_keeps_what_it_cannot_find) { /* R5 */
  begin_with_two();
  CHECK_EQ(resolve_to("", "42"), REDLOCK_OK);
  CHECK_EQ(resolve_to("", "41"), REDLOCK_INVALID);
  redlock_close(&rl);
}

/* Both have gone, and the second one's new address is not known yet. */
TEST(resolve_checks_what_it_keeps) { /* R5 */
  begin_with_two();
  CHECK_EQ(resolve_to("42", ""), REDLOCK_INVALID);
  redlock_close(&rl);
}

/* On 127.0.0.number; port 0 = a free one, which is told. */
static int listen_on(int number, char port[8]) {
  struct sockaddr_in a;
  socklen_t size = sizeof a;
  const int on = 1;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  memset(&a, 0, sizeof a);
  a.sin_family = AF_INET;
  a.sin_port = htons((uint16_t)atoi(port));
  a.sin_addr.s_addr = htonl(0x7f000000u + (uint32_t)number);
  CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 8) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&a, &size) == 0);
  snprintf(port, 8, "%u", (unsigned)ntohs(a.sin_port));
  return fd;
}

static int listen_on_loopback(char port[8]) {
  snprintf(port, 8, "0");
  return listen_on(1, port);
}

static int was_called(int listener) {
  struct pollfd one = {listener, POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}

/* Steps until someone has connected to the listener; returns the connection. */
static int step_until_called(int listener) {
  int turns;
  for (turns = 0; turns < 1000 && !was_called(listener); turns++) (void)redlock_wait(&rl, 10);
  return CHECK(was_called(listener)) ? accept(listener, NULL, NULL) : -1;
}

/* Steps until bytes have come. */
static void step_until_asked(int connection) {
  char bytes[512];
  int turns;
  for (turns = 0; turns < 1000 && recv(connection, bytes, sizeof bytes, MSG_DONTWAIT) <= 0; turns++)
    (void)redlock_wait(&rl, 10);
}

/* Takes a lock of one server, answers for it, and then hangs up, as a server with `timeout` does
   with a connection that is idle. */
static void lock_once(int listener) {
  int connection;
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_PENDING);
  connection = step_until_called(listener);
  step_until_asked(connection);
  /* the handshake's too */
  CHECK_EQ(send(connection, "-ERR\r\n-ERR\r\n-ERR\r\n-ERR\r\n+OK\r\n", 29, 0), 29);
  while (lock.status == REDLOCK_PENDING) (void)redlock_wait(&rl, 10000);
  CHECK_EQ(lock.status, REDLOCK_OK);
  close(connection);
  (void)redlock_wait(&rl, 10000); /* it hears of that */
}

static redlock_status init_patient(const char *list) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = 10000;
  return redlock_init(&rl, list, &options);
}

/* The list "NAME:port", of the port that someone listens on. */
static void begin_on(const char *name, const char *addresses, const char *port) {
  static char list[16]; /* it must outlive the client */
  begin();
  name_is(name, addresses);
  snprintf(list, sizeof list, "%s:%s", name, port);
  CHECK_EQ(init_patient(list), REDLOCK_OK);
}

static int first_listener, second_listener; /* those who listen on the two addresses of a name */

static void begin_with_both(const char *who) {
  static char list[32];
  char port[8];
  first_listener = listen_on_loopback(port);
  second_listener = listen_on(2, port);
  begin();
  name_is("both", "4142");
  snprintf(list, sizeof list, "%sboth:%s", who, port);
  CHECK_EQ(init_patient(list), REDLOCK_OK);
}

static void end_without_the_second(void) {
  CHECK(!was_called(second_listener));
  redlock_close(&rl);
  close(first_listener);
  close(second_listener);
}

TEST(an_address_that_worked_is_not_left) { /* R14 */
  int i;
  begin_with_both("");
  for (i = 0; i < 5; i++) lock_once(first_listener);
  end_without_the_second();
}

/* A server that hangs up in the middle of the handshake is there all the same. */
TEST(an_address_that_greets_badly_is_not_left) { /* R14 */
  int i;
  begin_with_both("redis://:secret@");
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, REDLOCK_FOREVER), REDLOCK_PENDING);
  for (i = 0; i < 3 && !was_called(second_listener); i++) {
    int connection = step_until_called(first_listener);
    step_until_asked(connection);
    close(connection);
    (void)redlock_wait(&rl, 10000); /* it hears of that */
    (void)redlock_wait(&rl, 100);
  }
  end_without_the_second();
}

/* What cannot be connected to, and what was told already, takes no place. */
TEST(the_second_address_is_another_one) { /* R14 */
  static const char *const answers[] = { "?3414142", "414241" };
  char port[8] = "0";
  int listener = listen_on(2, port), i;
  for (i = 0; i < 2; i++) {
    begin_on("odd", answers[i], port);
    lock_once(listener);
    redlock_close(&rl);
  }
  close(listener);
}

TEST(the_next_address_is_tried_at_once) { /* R14 */
  char port[8];
  int listener = listen_on_loopback(port), i;
  begin_on("both", "4241", port);
  lock_once(listener); /* the first address costs no attempt */
  close(listener);
  for (i = 0; i < 5; i++) {
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    later_s += 2; /* no back-off is longer */
  }
  listener = listen_on(1, port);
  lock_once(listener);
  redlock_close(&rl);
  close(listener);
}

/* A round-robin name gives its addresses in another order each time it is asked. */
TEST(resolve_bears_another_order) { /* R14 */
  char port[8], byte;
  int listener = listen_on_loopback(port), connection;
  begin_on("both", "4142", port);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_PENDING);
  connection = step_until_called(listener);
  name_is("both", "4241");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK(recv(connection, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0);
  CHECK_EQ(lock.status, REDLOCK_PENDING);
  name_is("both", "41"); /* the other one alone has gone */
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK(recv(connection, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0);
  redlock_close(&rl);
  close(connection);
  close(listener);
}

TEST(a_quiet_connection_is_probed) { /* R14: no NAT drops it in silence */
  char port[8];
  int listener = listen_on_loopback(port), connection, on = 0;
  socklen_t size = sizeof on;
  redlock_fd fd;
  begin_on("one", "41", port);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_PENDING);
  connection = step_until_called(listener);
  CHECK_EQ(redlock_fds(&rl, &fd, 1), 1);
  CHECK_EQ(getsockopt((int)fd.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
  CHECK(on);
#ifdef TCP_KEEPIDLE
  CHECK_EQ(getsockopt((int)fd.fd, IPPROTO_TCP, TCP_KEEPIDLE, &on, &size), 0);
  CHECK_EQ(on, 60);
#endif
  redlock_close(&rl);
  close(connection);
  close(listener);
}

/* Where a name no longer leads, another entry's may lead now. */
TEST(resolve_ends_connections_to_old_addresses) { /* R5 */
  char port[8], list[16], bytes[512];
  int listener = listen_on_loopback(port), connection;
  const struct timeval patience = {10, 0};
  ssize_t got = 1;
  begin();
  snprintf(list, sizeof list, "one:%s", port);
  CHECK_EQ(init(list), REDLOCK_OK);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, REDLOCK_FOREVER), REDLOCK_PENDING);
  CHECK(redlock_step(&rl) == NULL);
  connection = accept(listener, NULL, NULL);
  (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK(recv(connection, bytes, sizeof bytes, MSG_DONTWAIT) != 0); /* nothing has changed */
  name_is("one", "42");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  while (got > 0) got = recv(connection, bytes, sizeof bytes, 0);
  CHECK_EQ(got, 0);
  redlock_close(&rl);
  close(connection);
  close(listener);
}

/* Two entries are found to be one server: the second has no vote any more. */
TEST(a_twin_that_resolve_finds_is_not_connected) { /* R5 */
  char port[8], list[32];
  redlock_fd want[2];
  int listener = listen_on_loopback(port);
  begin();
  snprintf(list, sizeof list, "one:%s,two:%s", port, port);
  CHECK_EQ(init_patient(list), REDLOCK_OK);
  name_is("two", "41");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_INVALID);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 100, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_UNREACHABLE);
  CHECK_EQ(redlock_fds(&rl, want, 2), 1);
  CHECK_EQ(want[0].server, 0);
  redlock_close(&rl);
  close(listener);
}

/* What is not kept takes nobody's place: the last entry is still itself, and is connected. */
TEST(a_name_with_four_addresses) {
  char first[8], last[8], list[64];
  redlock_fd want[3];
  int listeners[2], count;
  listeners[0] = listen_on_loopback(first);
  listeners[1] = listen_on_loopback(last);
  begin();
  name_is("many", "44454647");
  snprintf(list, sizeof list, "one:%s,many:%s,one:%s", first, first, last);
  CHECK_EQ(init(list), REDLOCK_OK);
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK_EQ(answers_held, 0);
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  (void)redlock_step(&rl);
  count = redlock_fds(&rl, want, 3);
  CHECK(count >= 2 && count <= 3 && want[count - 1].server == 2);
  redlock_close(&rl);
  close(listeners[0]);
  close(listeners[1]);
}
