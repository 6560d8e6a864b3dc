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
#include "../hang.h"

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

enum { OPENED = 24 };

static int opened[OPENED], opened_count; /* descriptors of the test's own */

static int keep(int fd) {
  if (opened_count < OPENED) opened[opened_count++] = fd;
  return fd;
}

static const redlock_layer *tls;

static void put_away(void) {
  redlock_close(&rl);
  tls = NULL;
  CHECK_EQ(answers_held, 0);
  while (opened_count > 0) close(opened[--opened_count]);
}

static redlock_status init_with(const char *list, uint32_t server_timeout_ms) {
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = server_timeout_ms;
  options.tls = tls;
  redlock_close(&rl);
  lookups = 0;
  return redlock_init(&rl, list, &options);
}

static redlock_status init(const char *list) { return init_with(list, 10000); }

static void begin(void) {
  check.after = put_away;
  name_count = 0;
  name_is("one", "41");
  name_is("two", "42");
  name_is("three", "43");
}

TEST(each_name_is_looked_up_once) {
  begin();
  CHECK_EQ(init("one,two:1,unix:/path,redis://three/2"), REDLOCK_OK);
  CHECK_EQ(lookups, 3);
}

/* Each of a name's addresses may be tried, so none may be another's. */
TEST(names_that_share_an_address_are_twins) { /* R5 */
  static const struct { const char *list; int entry; } row[] = {
    {"one,two,uno", 2}, {"uno:7000,one:7000", 1}, {"both,sixth", 1}, {"sixth,both", 1},
    {"both,one", 1}, {"one,both", 1}, {"both,two,turned", 2}, {"both,two,overlaps", 2}};
  size_t i;
  begin();
  name_is("uno", "41");
  name_is("both", "6141");
  name_is("sixth", "61");
  name_is("turned", "4161");
  name_is("overlaps", "6941");
  for (i = 0; i < sizeof row / sizeof *row; i++) {
    const char *error;
    if (!CHECK_EQ(init(row[i].list), REDLOCK_INVALID)) printf("    of %s\n", row[i].list);
    error = redlock_server_error(&rl, row[i].entry);
    if (!CHECK(error && error[0])) printf("    of %s\n", row[i].list);
  }
  CHECK_EQ(init("one:1,uno:2"), REDLOCK_OK);
}

static int says(const char *text, const char *name, const char *count) {
  int good = strstr(text, name) && strstr(text, count) && strstr(text, "a name of its own");
  if (!CHECK(good)) printf("    %s\n", text);
  return good;
}

/* The next client's list may begin with another of them. */
TEST(a_name_with_several_addresses_is_refused) { /* R5 */
  static const struct { const char *addresses, *count; } row[] = {
    {"4142", "2 addresses"}, {"414141424142", "2 addresses"}, {"6162", "2 addresses"},
    {"414243", "3 addresses"}, {"614162", "3 addresses"}, {"416142", "3 addresses"},
    {"?3?44142", "2 addresses"}, {"414243444546474849", "9 addresses"}};
  static const char *const fine[] = {"41", "61", "4161", "6141", "41416161", "?341?461"};
  size_t i;
  begin();
  for (i = 0; i < sizeof row / sizeof *row; i++) {
    name_is("locks.example", row[i].addresses);
    CHECK_EQ(init("9.9.9.9,locks.example,two:1"), REDLOCK_INVALID);
    says(redlock_server_error(&rl, -1), "locks.example", row[i].count);
    says(redlock_server_error(&rl, 1), "locks.example", row[i].count);
  }
  for (i = 0; i < sizeof fine / sizeof *fine; i++) {
    name_is("locks.example", fine[i]);
    if (!CHECK_EQ(init("three,locks.example"), REDLOCK_OK)) printf("    %s\n", fine[i]);
  }
}

/* A text that does not fit is cut, and ends. */
TEST(a_long_name_with_several_addresses_is_refused) {
  char list[256];
  begin();
  memset(list, 'n', sizeof list - 1);
  list[sizeof list - 1] = '\0';
  name_is(list, "4142");
  CHECK_EQ(init(list), REDLOCK_INVALID);
  CHECK_EQ(strlen(redlock_server_error(&rl, -1)), REDLOCK_MAX_ERROR - 1);
}

/* Port 1 of this machine answers no one; that the names stay unasked is the point. */
TEST(a_name_that_is_not_found_is_told_and_not_asked_for_again) {
  begin();
  CHECK_EQ(init("nowhere,nobody"), REDLOCK_OK); /* two unknowns are not one address */
  CHECK_EQ(init("one:1,nowhere:1,two:1"), REDLOCK_OK);
  CHECK(strstr(redlock_server_error(&rl, 1), "name"));
  lookups = 0;
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_UNREACHABLE);
  CHECK(strstr(redlock_server_error(&rl, 1), "name")); /* says more than that nothing is open */
  CHECK_EQ(lookups, 0);
  name_is("nowhere", "45");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK_EQ(lookups, 3);
}

/* What two names come to, 127.0.0.1 and 127.0.0.2 before. "" = it is not found: what was known of
   it stays, and is still nobody else's. */
TEST(resolve_compares_what_the_names_come_to_then) { /* R5 */
  static const struct { const char *one, *two; redlock_status want; } row[] = {
    {"41", "41", REDLOCK_INVALID}, {"42", "41", REDLOCK_OK} /* they change places */,
    {"", "43", REDLOCK_OK}, {"", "41", REDLOCK_INVALID}, {"42", "", REDLOCK_INVALID}};
  size_t i;
  for (i = 0; i < sizeof row / sizeof *row; i++) {
    begin();
    CHECK_EQ(init("one,two"), REDLOCK_OK);
    name_is("one", row[i].one);
    name_is("two", row[i].two);
    if (!CHECK_EQ(redlock_resolve(&rl), row[i].want)) printf("    row %zu\n", i);
    if (row[i].want != REDLOCK_OK)
      CHECK(redlock_server_error(&rl, 0)[0] || redlock_server_error(&rl, 1)[0]);
  }
}

/* ---- Connections to what the names come to --------------------------------------------------- */

/* On such an address, as in the table; port 0 = a free one, which is told. -1 = there is none. */
static int listen_on(const char *address, char port[8]) {
  struct addrinfo *its = answer_of(address, port, NULL);
  struct sockaddr_in6 a; /* room for either; both have the port at one place */
  socklen_t size = sizeof a;
  const int on = 1;
  int fd = socket(its->ai_family, SOCK_STREAM, 0);
  int bound = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
              bind(fd, its->ai_addr, its->ai_addrlen) == 0 && listen(fd, 8) == 0;
  forget(its);
  if (fd >= 0) keep(fd);
  if (!bound) return -1;
  CHECK(getsockname(fd, (struct sockaddr *)&a, &size) == 0);
  snprintf(port, 8, "%u", (unsigned)ntohs(a.sin6_port));
  return fd;
}

/* Fills the listener's queue until a connect hangs; 0 = it has no end here. */
static int becomes_a_black_hole(int listener, const char *address, const char *port) {
  struct addrinfo *its = answer_of(address, port, NULL);
  int hangs = 0;
  CHECK(listen(listener, 0) == 0);
  while (!hangs && opened_count < OPENED)
    hangs = connect_hangs(keep(socket(its->ai_family, SOCK_STREAM, 0)), its->ai_addr,
                          its->ai_addrlen);
  forget(its);
  return hangs;
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

static void greet(int connection) {
  static const char greeting[] = "-ERR\r\n-ERR\r\n+redlock\r\n";
  CHECK(send(connection, greeting, sizeof greeting - 1, 0) > 0);
}

/* Steps until the SET has come, which may wait for the handshake, and answers both. */
static void serve(int connection) {
  char bytes[1024];
  size_t size = 0;
  int turns, set = 0;
  for (turns = 0; turns < 1000 && !set; turns++) {
    ssize_t got = recv(connection, bytes + size, sizeof bytes - 1 - size, MSG_DONTWAIT);
    if (got > 0 && size == 0) greet(connection);
    if (got > 0) size += (size_t)got;
    set = size > 7 && memcmp(bytes + size - 7, "10000\r\n", 7) == 0; /* its ttl comes last */
    (void)redlock_wait(&rl, 10);
  }
  CHECK_EQ(send(connection, "+OK\r\n", 5, 0), 5);
}

static void start(uint32_t wait_ms) {
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, wait_ms), REDLOCK_PENDING);
}

/* Takes a lock of one server, answers for it, and then hangs up, as a server with `timeout` does
   with a connection that is idle. */
static void lock_once(int listener) {
  int connection;
  start(0);
  connection = step_until_called(listener);
  serve(connection);
  while (lock.status == REDLOCK_PENDING) (void)redlock_wait(&rl, 10000);
  CHECK_EQ(lock.status, REDLOCK_OK);
  close(connection);
  (void)redlock_wait(&rl, 10000); /* it hears of that */
}

static int is_open(int connection) {
  char byte;
  return recv(connection, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
}

/* A list of names, each followed by the port, on which someone listens on that address; returns
   the listener. The name "both" has those addresses. */
static char port[8];
static char list[64]; /* it must outlive the client */

static int begin_on(const char *address, const char *form, const char *addresses) {
  int listener;
  snprintf(port, sizeof port, "0");
  listener = listen_on(address, port);
  if (listener < 0) return -1;
  begin();
  name_is("both", addresses);
  snprintf(list, sizeof list, form, port, port);
  CHECK_EQ(init(list), REDLOCK_OK);
  return listener;
}

TEST(an_address_that_worked_is_not_left) { /* R14 */
  int first = begin_on("41", "both:%s", "4161"), second = listen_on("61", port), i;
  if (second < 0) SKIP("no IPv6 here");
  for (i = 0; i < 5; i++) lock_once(first);
  CHECK(!was_called(second));
}

/* It hangs up in the handshake, says nothing, or swallows the connect: the other one is tried in
   the same attempt. */
TEST(an_address_that_does_not_greet_is_left_at_once) { /* R14 */
  enum { HANGS_UP, MUTE, HOLE, HOWS };
  int how;
  for (how = 0; how < HOWS; how++) {
    int first = begin_on("41", "both:%s", "4161"), second = listen_on("61", port), connection;
    if (second < 0) SKIP("no IPv6 here");
    if (how == HOLE && !becomes_a_black_hole(first, "41", port)) SKIP("no connect hangs here");
    start(0);
    if (how == HOLE) {
      CHECK(redlock_step(&rl) == NULL);
    } else {
      connection = keep(step_until_called(first));
      step_until_asked(connection);
      if (how == HANGS_UP) CHECK(shutdown(connection, SHUT_RDWR) == 0);
    }
    if (how != HANGS_UP) later_s += 3; /* a quarter of server_timeout_ms, and a little */
    connection = step_until_called(second);
    serve(connection);
    while (lock.status == REDLOCK_PENDING) (void)redlock_wait(&rl, 10000);
    if (!CHECK_EQ(lock.status, REDLOCK_OK)) printf("    %d\n", how);
    close(connection);
    put_away();
  }
}

/* Haste must not cost an address that is merely slow. */
TEST(an_address_that_greets_within_its_part_is_kept) { /* R14 */
  int first = begin_on("41", "both:%s", "4161"), second = listen_on("61", port), connection;
  if (second < 0) SKIP("no IPv6 here");
  start(0);
  connection = keep(step_until_called(first));
  step_until_asked(connection);
  later_s += 2; /* less than a quarter of server_timeout_ms */
  CHECK(redlock_step(&rl) == NULL);
  if (!CHECK(is_open(connection))) return;
  greet(connection);
  step_until_asked(connection);
  CHECK_EQ(send(connection, "+OK\r\n", 5, 0), 5);
  while (lock.status == REDLOCK_PENDING) (void)redlock_wait(&rl, 10000);
  CHECK_EQ(lock.status, REDLOCK_OK);
  CHECK(!was_called(second));
}

/* Slower than that, and the other one is dead: it has all of server_timeout_ms the next time. */
/* ---- a layer whose servers never shake hands ---- */

static int mute_open(void *ctx, int server, intptr_t fd, const char *host) {
  (void)ctx, (void)server, (void)fd, (void)host;
  return 0;
}

static int mute_send(void *ctx, int server, const void *data, size_t size) {
  (void)ctx, (void)server, (void)data, (void)size;
  return 0;
}

static int mute_recv(void *ctx, int server, void *data, size_t size) {
  (void)ctx, (void)server, (void)data, (void)size;
  return 0;
}

static void mute_close(void *ctx, int server) { (void)ctx, (void)server; }

static unsigned mute_want(void *ctx, int server, unsigned events) {
  (void)ctx, (void)server, (void)events;
  return 0;
}

static const char *mute_error(void *ctx, int server) {
  (void)ctx, (void)server;
  return NULL;
}

static const redlock_layer mute = {mute_open,  mute_send,  mute_recv, mute_close,
                                   mute_want, mute_error, NULL};

/* Three of its six trips. */
TEST(over_tls_an_address_has_half_of_the_time) { /* R14 */
  int first, second;
  tls = &mute;
  first = begin_on("41", "rediss://both:%s", "4161");
  second = listen_on("61", port);
  if (second < 0) SKIP("no IPv6 here");
  start(0);
  keep(step_until_called(first));
  later_s += 3; /* more than a quarter of server_timeout_ms */
  CHECK(redlock_step(&rl) == NULL);
  CHECK(redlock_step(&rl) == NULL);
  CHECK(!was_called(second));
  later_s += 3;
  keep(step_until_called(second));
}

TEST(an_address_that_is_slow_is_tried_again_without_haste) { /* R14 */
  int first = begin_on("41", "both:%s", "4161"), second = listen_on("61", port), connection;
  if (second < 0) SKIP("no IPv6 here");
  close(second);
  opened_count--;
  start(REDLOCK_FOREVER);
  connection = keep(step_until_called(first));
  step_until_asked(connection);
  later_s += 3; /* more than a quarter */
  connection = step_until_called(first);
  step_until_asked(connection);
  later_s += 3;
  CHECK(redlock_step(&rl) == NULL);
  CHECK(is_open(connection));
  close(connection);
}

/* What cannot be connected to, and what was told already, takes no place. */
TEST(the_second_address_is_another_one) { /* R14 */
  static const char *const answers[] = { "?3616141", "616141" };
  int i;
  for (i = 0; i < 2; i++) lock_once(begin_on("41", "both:%s", answers[i]));
}

TEST(the_next_address_is_tried_at_once) { /* R14 */
  int listener = begin_on("41", "both:%s", "6141"), i;
  lock_once(listener); /* the first address costs no attempt */
  close(listener);
  opened_count--;
  for (i = 0; i < 5; i++) {
    CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
    later_s += 2; /* no back-off is longer */
  }
  lock_once(listen_on("41", port));
}

/* It is overdue after a quarter of server_timeout_ms, and the second is tried then. */
TEST(an_address_that_hangs_is_left_for_the_next) { /* R13 R14 */
  int first = begin_on("41", "both:%s", "4161"), second = listen_on("61", port), turns;
  if (second < 0) SKIP("no IPv6 here");
  if (!becomes_a_black_hole(first, "41", port)) SKIP("no connect hangs here");
  CHECK_EQ(init_with(list, 100), REDLOCK_OK);
  start(REDLOCK_FOREVER);
  CHECK(redlock_step(&rl) == NULL);
  later_s++; /* a server without another address has 2 s */
  for (turns = 0; turns < 3; turns++) CHECK(redlock_step(&rl) == NULL);
  CHECK(was_called(second));
}

/* Behind a failed connection there is no haste: it has its whole time, but not the 2 s of a server
   without another address. */
TEST(an_address_that_hangs_again_is_left_after_its_time) { /* R13 R14 */
  int first = begin_on("41", "both:%s", "4161"), second = listen_on("61", port), turns;
  if (second < 0) SKIP("no IPv6 here");
  if (!becomes_a_black_hole(first, "41", port)) SKIP("no connect hangs here");
  close(second); /* it is refused there, and comes back */
  opened_count--;
  CHECK_EQ(init_with(list, 1000), REDLOCK_OK);
  start(REDLOCK_FOREVER);
  CHECK(redlock_step(&rl) == NULL);
  later_s++; /* more than a quarter */
  for (turns = 0; turns < 10 && !rl.server[0].failed_connections; turns++) (void)redlock_step(&rl);
  later_s += 2; /* no back-off is longer */
  for (turns = 0; turns < 10 && rl.server[0].state != RL_STATE_CONNECTING; turns++)
    (void)redlock_step(&rl);
  second = listen_on("61", port);
  later_s++;
  for (turns = 0; turns < 20; turns++) (void)redlock_wait(&rl, 10);
  CHECK(was_called(second));
}

/* Which family comes first may change with the network. */
TEST(resolve_bears_another_order) { /* R14 */
  int connection, listener = begin_on("41", "both:%s", "4161");
  start(0);
  connection = keep(step_until_called(listener));
  name_is("both", "6141");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK(is_open(connection));
  name_is("both", "41"); /* the other one alone has gone */
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK(is_open(connection));
}

/* Where a name no longer leads, another entry's may lead now. */
TEST(resolve_ends_connections_to_old_addresses) { /* R5 */
  const struct timeval patience = {10, 0};
  char bytes[512];
  ssize_t got = 1;
  int connection, listener = begin_on("41", "one:%s", "41");
  start(REDLOCK_FOREVER);
  connection = keep(step_until_called(listener));
  (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  CHECK(is_open(connection)); /* nothing has changed */
  name_is("one", "42");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  while (got > 0) got = recv(connection, bytes, sizeof bytes, 0);
  CHECK_EQ(got, 0);
}

TEST(a_quiet_connection_is_probed) { /* R14: no NAT drops it in silence */
  int listener = begin_on("41", "one:%s", "41"), on = 0;
  socklen_t size = sizeof on;
  redlock_fd fd;
  start(0);
  keep(step_until_called(listener));
  CHECK_EQ(redlock_fds(&rl, &fd, 1), 1);
  CHECK_EQ(getsockopt((int)fd.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
  CHECK(on);
#ifdef TCP_KEEPIDLE
  CHECK_EQ(getsockopt((int)fd.fd, IPPROTO_TCP, TCP_KEEPIDLE, &on, &size), 0);
  CHECK_EQ(on, 60);
#endif
}

/* Two entries are found to be one server: the second has no vote any more. */
TEST(a_twin_that_resolve_finds_is_not_connected) { /* R5 */
  redlock_fd want[2];
  (void)begin_on("41", "one:%s,two:%s", "41");
  name_is("two", "41");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_INVALID);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 100, 0), REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[1], REDLOCK_VOTE_UNREACHABLE);
  CHECK_EQ(redlock_fds(&rl, want, 2), 1);
  CHECK_EQ(want[0].server, 0);
}

/* The name of one server is given to more of them: its entry has no vote any more, until it is one
   server's again. */
TEST(several_addresses_that_resolve_finds_are_not_connected) { /* R5 */
  redlock_fd want[2];
  int listener = begin_on("41", "one:%s", "41");
  lock_once(listener);
  start(0);
  keep(step_until_called(listener));
  name_is("one", "4142");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_INVALID);
  says(redlock_server_error(&rl, -1), "one", "2 addresses");
  CHECK_EQ(redlock_fds(&rl, want, 2), 0);
  while (redlock_wait(&rl, 10000) != &lock) CHECK_EQ(lock.status, REDLOCK_PENDING);
  CHECK_EQ(lock.status, REDLOCK_NO_QUORUM);
  CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
  says(redlock_server_error(&rl, 0), "one", "2 addresses");
  name_is("one", "41");
  CHECK_EQ(redlock_resolve(&rl), REDLOCK_OK);
  later_s += 2; /* no back-off is longer */
  start(0);
  keep(step_until_called(listener));
}
