/* arguments.c: what is refused, that refusing touches neither the lock nor the world, and what
 * each call says when it is out of order. */
#include "client.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static redlock_lock before;

static void begin_three(void) {
  begin("a,b,c");
  lock.user = &lock;
  wire_forget_calls();
}

static void hold(void) {
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_OK);
  (void)redlock_step(&rl); /* the answers that the grant did not wait for */
  wire_forget_calls();
}

/* It is encoded, and sent by the next step. */
static void start(void) {
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 10000, 0), REDLOCK_PENDING);
  wire_forget_calls();
}

static void remember(void) { memcpy(&before, &lock, sizeof lock); }

static int is_unchanged(void) { return memcmp(&before, &lock, sizeof lock) == 0; }

/* ---- A client that is none ------------------------------------------------------------------- */

/* Every call, with the least that could otherwise be right. */
static int all_are_invalid(redlock *client) {
  redlock_server_info info;
  redlock_fd fds[REDLOCK_MAX_SERVERS];
  int bad = 0;
  bad += redlock_acquire(client, &lock, "r", 1000, 0) != REDLOCK_INVALID;
  bad += redlock_extend(client, &lock, 1000) != REDLOCK_INVALID;
  bad += redlock_release(client, &lock) != REDLOCK_INVALID;
  bad += redlock_start_acquire(client, &lock, "r", 1000, 0) != REDLOCK_INVALID;
  bad += redlock_start_extend(client, &lock, 1000) != REDLOCK_INVALID;
  bad += redlock_start_release(client, &lock) != REDLOCK_INVALID;
  bad += redlock_cancel(client, &lock) != REDLOCK_INVALID;
  bad += redlock_keep(client, &lock, 0) != REDLOCK_INVALID;
  bad += redlock_resolve(client) != REDLOCK_INVALID;
  bad += redlock_step(client) != NULL;
  bad += redlock_wait(client, -1) != NULL;
  bad += redlock_wait(client, 60000) != NULL;
  bad += redlock_timeout_ms(client) != -1;
  bad += redlock_fds(client, fds, REDLOCK_MAX_SERVERS) != 0;
  bad += redlock_server_status(client, 0, &info) != REDLOCK_INVALID;
  bad += redlock_remaining_ms(client, &lock) != 0;
  return bad == 0;
}

TEST(a_client_that_never_began_refuses_every_call) {
  int zeroed;
  for (zeroed = 0; zeroed < 2; zeroed++) {
    redlock *client = zeroed ? &rl : NULL;
    prepare();
    remember();
    CHECK(all_are_invalid(client));
    CHECK(is_unchanged());
    CHECK(redlock_server_error(client, 0) == NULL);
    redlock_close(client);
    CHECK_EQ(wire_calls(), 0);
  }
}

/* With a lock in hand that was good before. */
TEST(a_closed_client_refuses_every_call) {
  begin_three();
  hold();
  redlock_close(&rl);
  wire_forget_calls();
  CHECK(all_are_invalid(&rl));
  redlock_close(&rl);
  CHECK_EQ(wire_calls(), 0);
  ready("a,b,c"); /* and it can be used again */
  hold();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* ---- Another process (R17) ------------------------------------------------------------------- */

static char path[100]; /* less than a socket's may be long */
static char list[120]; /* it must outlive the client */

/* A server that accepts and says nothing: a knock on it can be seen. */
static int listen_there(void) {
  struct sockaddr_un a;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const char *folder = getenv("TMPDIR");
  if (!folder || !*folder || strlen(folder) + 32 > sizeof path) folder = "/tmp";
  memset(&a, 0, sizeof a);
  a.sun_family = AF_UNIX;
  snprintf(path, sizeof path, "%s/redlock-arguments-%ld", folder, (long)getpid());
  strcpy(a.sun_path, path);
  (void)unlink(path);
  if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof a) || listen(fd, 8)) return -1;
  return fd;
}

/* For a connection to be accepted, or bytes to be read. */
static int is_knocked_on(int fd) {
  struct pollfd p;
  p.fd = fd;
  p.events = POLLIN;
  p.revents = 0;
  return poll(&p, 1, 50) > 0;
}

/* A client whose one server is a socket of the test's own, which is returned. */
static int begin_with_a_listener(void) {
  int fd;
  prepare();
  fd = listen_there();
  snprintf(list, sizeof list, "unix:%s", path);
  CHECK(fd >= 0);
  CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_OK);
  return fd;
}

/* The connection that the client has made, or -1. */
static int accept_there(int fd) { return is_knocked_on(fd) ? accept(fd, NULL, NULL) : -1; }

static void end_there(int fd, int peer) {
  (void)close(peer);
  (void)close(fd);
  (void)unlink(path);
}

static void answer(int peer, const char *bytes) {
  size_t size = strlen(bytes);
  CHECK(write(peer, bytes, size) == (ssize_t)size);
}

#define HANDSHAKE_ANSWERS "-ERR\r\n-ERR\r\n+redlock\r\n"

static int passes_in_a_child(int (*test)(void)) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(test() ? 0 : 1);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Steps until that lock is returned: it and all before it, INVALID and not held. */
static int ends_invalid(const redlock_lock *last) {
  const redlock_lock *got;
  do {
    got = redlock_step(&rl);
    if (!got || got->status != REDLOCK_INVALID || redlock_remaining_ms(&rl, got)) return 0;
  } while (got != last);
  return redlock_step(&rl) == NULL && redlock_timeout_ms(&rl) == -1;
}

static int says_why(redlock_status status) {
  return status == REDLOCK_INVALID && strstr(redlock_server_error(&rl, -1), "another process");
}

static int forked_calls_are_invalid(void) {
  static redlock_lock own;
  redlock_server_info info;
  int good = redlock_start_acquire(&rl, &own, "s", 1000, 0) == REDLOCK_PENDING;
  good = good && ends_invalid(&own);
  good = good && says_why(redlock_resolve(&rl));
  good = good && says_why(redlock_acquire(&rl, &own, "s", 1000, REDLOCK_FOREVER));
  good = good && redlock_start_acquire(&rl, &own, "s", 1000, 0) == REDLOCK_PENDING;
  good = good && says_why(redlock_release(&rl, &own));
  good = good && redlock_wait(&rl, -1) == NULL;
  good = good && redlock_server_status(&rl, 0, &info) == REDLOCK_INVALID;
  redlock_close(&rl);
  return good && all_are_invalid(&rl);
}

static redlock_lock second;

static int the_grant_is_the_parents(void) { return ends_invalid(&second); }

static const redlock_lock *next_of(redlock *client) {
  const redlock_lock *got;
  while ((got = redlock_wait(client, 1000)) == NULL && redlock_timeout_ms(client) >= 0) continue;
  return got;
}

/* Two are granted at once, and one is returned: then the child takes the other. */
TEST(what_was_granted_before_the_fork_is_the_parents) { /* R17 */
  int fd = begin_with_a_listener(), peer;
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 60000, 0), REDLOCK_PENDING);
  CHECK_EQ(redlock_start_acquire(&rl, &second, "s", 60000, 0), REDLOCK_PENDING);
  (void)redlock_step(&rl);
  peer = accept_there(fd);
  answer(peer, HANDSHAKE_ANSWERS "+OK\r\n+OK\r\n");
  CHECK(next_of(&rl) == &lock);
  CHECK(passes_in_a_child(the_grant_is_the_parents));
  CHECK(redlock_step(&rl) == &second);
  CHECK_EQ(second.status, REDLOCK_OK);
  CHECK(redlock_remaining_ms(&rl, &second) > 0);
  redlock_close(&rl);
  end_there(fd, peer);
}

/* The child inherits a connection, and a lock that is to be rolled back when the client closes. */
TEST(a_forked_client_refuses_what_it_has_and_leaves_its_connection_alone) { /* R17 */
  char bytes[1024];
  int fd = begin_with_a_listener(), peer;
  CHECK(passes_in_a_child(forked_calls_are_invalid));
  CHECK(!is_knocked_on(fd));
  CHECK_EQ(redlock_start_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_PENDING);
  (void)redlock_step(&rl);
  peer = accept_there(fd); /* so a knock would have been seen */
  CHECK(is_knocked_on(peer) && read(peer, bytes, sizeof bytes) > 0);
  CHECK(passes_in_a_child(forked_calls_are_invalid));
  CHECK(!is_knocked_on(peer));
  redlock_close(&rl);
  CHECK(is_knocked_on(peer)); /* here it is rolled back */
  end_there(fd, peer);
}

enum { MORE_THAN_ROOM = 2 * REDLOCK_MAX_COMMANDS };

static redlock_lock held[MORE_THAN_ROOM];

static int the_releases_are_the_parents(void) { return ends_invalid(&held[MORE_THAN_ROOM - 1]); }

/* They wait for the next step, in the child too; and there are more than have room. */
TEST(what_was_to_be_released_at_the_fork_is_the_parents) { /* R17 */
  char bytes[1024], name[16];
  int fd = begin_with_a_listener(), peer = -1, i;
  for (i = 0; i < MORE_THAN_ROOM; i++) {
    snprintf(name, sizeof name, "%d", i);
    CHECK_EQ(redlock_start_acquire(&rl, &held[i], name, 60000, 0), REDLOCK_PENDING);
    (void)redlock_step(&rl);
    if (i == 0) peer = accept_there(fd);
    answer(peer, i == 0 ? HANDSHAKE_ANSWERS "+OK\r\n" : "+OK\r\n");
    CHECK(next_of(&rl) == &held[i]);
    CHECK_EQ(held[i].status, REDLOCK_OK);
  }
  for (i = 0; i < MORE_THAN_ROOM; i++)
    CHECK_EQ(redlock_start_release(&rl, &held[i]), REDLOCK_PENDING);
  while (is_knocked_on(peer) && read(peer, bytes, sizeof bytes) > 0) continue;
  CHECK(passes_in_a_child(the_releases_are_the_parents));
  CHECK(!is_knocked_on(peer));
  (void)redlock_step(&rl);
  CHECK(is_knocked_on(peer));
  redlock_close(&rl);
  end_there(fd, peer);
}

/* ---- What is refused, and why ---------------------------------------------------------------- */

static void because(redlock *client, redlock_status status, const char *why) {
  CHECK_EQ(status, REDLOCK_INVALID);
  if (!CHECK(strcmp(redlock_server_error(client, -1), why) == 0))
    printf("    '%s', not '%s'\n", redlock_server_error(client, -1), why);
}

TEST(init_says_why_of_the_options) {
  prepare();
  options.drift_ppm = 1000000;
  because(&rl, init("a,b,c"), "drift_ppm is too large");
  prepare();
  options.retry_delay_min_ms = 300;
  options.retry_delay_max_ms = 299;
  because(&rl, init("a,b,c"), "retry_delay_min_ms is too long");
  prepare();
  options.fencing = 1;
  because(&rl, init("a,b,c"), "fencing: max_ttl_ms is below 4 * server_timeout_ms");
  options.max_ttl_ms = 999;
  because(&rl, init("a,b,c"), "fencing: max_ttl_ms is below 4 * server_timeout_ms");
  options.max_ttl_ms = 1000;
  ready("a,b,c");
}

/* That of an entry it tells of the entry too. */
TEST(init_says_why_of_the_list) {
  static const char empty[] = "the list is empty";
  char many[3 * REDLOCK_MAX_SERVERS + 4] = "a";
  int i;
  prepare();
  CHECK_EQ(redlock_init(NULL, "a", &options), REDLOCK_INVALID);
  because(&rl, init(NULL), empty);
  CHECK(all_are_invalid(&rl));
  because(&rl, init(" , "), empty);
  because(&rl, init("a,b,a"), "this address is in the list twice");
  CHECK(strcmp(redlock_server_error(&rl, 2), redlock_server_error(&rl, -1)) == 0);
  CHECK(all_are_invalid(&rl));
  redlock_close(&rl);
  for (i = 0; i < REDLOCK_MAX_SERVERS; i++) snprintf(many + 2 * i, 4, "%c,a", 'b' + i);
  because(&rl, init(many), "more servers than REDLOCK_MAX_SERVERS");
  CHECK_EQ(wire_calls(), 0);
}

TEST(init_reads_nothing_in_the_client) {
  prepare();
  memset(&rl, 0xa5, sizeof rl);
  ready("a,b,c");
  hold();
  memset(&rl, 0xa5, sizeof rl);
  CHECK_EQ(init(NULL), REDLOCK_INVALID);
  CHECK(redlock_server_error(&rl, 0) == NULL);
  CHECK(all_are_invalid(&rl));
}

static redlock_status init_sized(void *client, size_t client_size, size_t lock_size) {
  return redlock_init_sized((redlock *)client, "a", &options, client_size, lock_size);
}

/* As a binding with its own idea of the structs calls it: nothing behind its client is touched. */
TEST(init_with_other_sizes_is_refused) {
  static union {
    redlock client;
    unsigned char bytes[sizeof(redlock) + 8];
  } theirs;
  size_t sizes[] = {64, sizeof(redlock) - 8, sizeof(redlock) + 8}, i, k;
  prepare();
  for (i = 0; i < 3; i++) {
    memset(&theirs, 0xa5, sizeof theirs);
    CHECK_EQ(init_sized(&theirs, sizes[i], sizeof(redlock_lock)), REDLOCK_INVALID);
    CHECK(all_are_invalid(&theirs.client));
    CHECK(redlock_server_error(&theirs.client, 0) == NULL);
    CHECK(*redlock_server_error(&theirs.client, -1));
    redlock_close(&theirs.client);
    for (k = sizes[i]; k < sizeof theirs; k++) CHECK_EQ(theirs.bytes[k], 0xa5);
  }
  CHECK_EQ(init_sized(&rl, sizeof rl, sizeof(redlock_lock) + 8), REDLOCK_INVALID);
  CHECK_EQ(init_sized(&rl, sizeof rl, sizeof(redlock_lock) - 8), REDLOCK_INVALID);
  CHECK(all_are_invalid(&rl));
  CHECK_EQ(wire_calls(), 0);
  CHECK_EQ(init_sized(&rl, sizeof rl, sizeof(redlock_lock)), REDLOCK_OK);
}

/* Its lists lead into the place that it came from, where nobody may be any more. */
TEST(a_moved_client_is_refused) { /* R17 */
  static const char why[] = "no client: moved, closed, or init failed";
  static redlock moved;
  begin_three();
  hold();
  moved = rl;
  because(&moved, redlock_acquire(&moved, &lock, "r", 1000, 0), why);
  because(&moved, redlock_resolve(&moved), why);
  CHECK_EQ(redlock_server_error(&rl, -1)[0], '\0');
  redlock_close(&rl);
  because(&rl, redlock_extend(&rl, &lock, 1000), why);
  memset(&rl, 0xa5, sizeof rl);
  CHECK(all_are_invalid(&moved));
}

/* ---- acquire --------------------------------------------------------------------------------- */

static void acquire_is_refused(redlock_lock *which, const char *resource, uint32_t ttl_ms,
                               const char *why) {
  remember();
  because(&rl, redlock_acquire(&rl, which, resource, ttl_ms, 0), why);
  because(&rl, redlock_acquire(&rl, which, resource, ttl_ms, REDLOCK_FOREVER), why);
  because(&rl, redlock_start_acquire(&rl, which, resource, ttl_ms, 0), why);
  CHECK(is_unchanged());
  CHECK(wire_is_untouched());
  CHECK(redlock_step(&rl) == NULL);
}

/* No byte behind the limit is looked at: the name need not even end. */
TEST(acquire_wants_a_lock_and_a_good_resource) {
  char *name = malloc(REDLOCK_MAX_RESOURCE + 1);
  if (!name) abort();
  memset(name, 'n', REDLOCK_MAX_RESOURCE + 1);
  begin_three();
  acquire_is_refused(NULL, "r", 1000, "lock or value is NULL");
  acquire_is_refused(&lock, NULL, 1000, "resource is empty");
  acquire_is_refused(&lock, "", 1000, "resource is empty");
  acquire_is_refused(&lock, name, 1000, "resource is too long");
  name[REDLOCK_MAX_RESOURCE] = '\0';
  CHECK_EQ(redlock_acquire(&rl, &lock, name, 1000, 0), REDLOCK_OK);
  CHECK(lock.user == &lock);
  free(name);
}

TEST(acquire_wants_a_good_ttl) { /* R1 R24 */
  prepare();
  options.max_ttl_ms = 5000;
  ready("a,b,c");
  acquire_is_refused(&lock, "r", 0, "ttl_ms is too short");
  acquire_is_refused(&lock, "r", 4, "ttl_ms is too short");
  acquire_is_refused(&lock, "r", 5001, "ttl_ms is above max_ttl_ms");
  acquire_is_refused(&lock, "r", UINT32_MAX, "ttl_ms is above max_ttl_ms");
}

TEST(acquire_reads_nothing_in_the_lock) {
  begin_three();
  memset(&lock, 0xa5, sizeof lock);
  hold();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

/* ---- extend, release, keep, cancel ----------------------------------------------------------- */

/* Those that want a lock which is held: with one that never was, or is no more. */
static void none_is_held(redlock_lock *l, redlock_status want) {
  wire_forget_calls();
  CHECK_EQ(redlock_extend(&rl, l, 1000), want);
  CHECK_EQ(redlock_start_extend(&rl, l, 1000), want);
  CHECK_EQ(redlock_release(&rl, l), want);
  CHECK_EQ(redlock_start_release(&rl, l), want);
  CHECK_EQ(redlock_keep(&rl, l, 0), want);
  if (l && want == REDLOCK_INVALID) because(&rl, redlock_keep(&rl, l, 0), "the lock is not held");
  CHECK_EQ(redlock_cancel(&rl, l), REDLOCK_INVALID);
  CHECK_EQ(redlock_remaining_ms(&rl, l), 0);
  CHECK(wire_is_untouched());
}

TEST(a_lock_that_is_not_held_is_refused) {
  begin_three();
  none_is_held(NULL, REDLOCK_INVALID);
  none_is_held(&lock, REDLOCK_INVALID); /* it never was */
  wire.set = "$-1\r\n";
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_TAKEN);
  (void)redlock_step(&rl);
  none_is_held(&lock, REDLOCK_INVALID);
  start();
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(lock.status, REDLOCK_CANCELLED);
  none_is_held(&lock, REDLOCK_INVALID);
  begin_three();
  hold();
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  (void)redlock_step(&rl);
  none_is_held(&lock, REDLOCK_EXPIRED);
}

TEST(extend_wants_a_good_ttl) { /* R24 */
  static const uint32_t bad[] = {0, 4, 20001};
  size_t i;
  prepare();
  options.max_ttl_ms = 20000;
  ready("a");
  hold();
  remember();
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    CHECK_EQ(redlock_extend(&rl, &lock, bad[i]), REDLOCK_INVALID);
    CHECK_EQ(redlock_start_extend(&rl, &lock, bad[i]), REDLOCK_INVALID);
  }
  CHECK(is_unchanged());
  CHECK(wire_is_untouched());
  CHECK_EQ(redlock_extend(&rl, &lock, 20000), REDLOCK_OK);
}

/* What a lock refuses while anything is under way. */
static void is_busy(void) {
  wire_forget_calls();
  remember();
  because(&rl, redlock_acquire(&rl, &lock, "r", 10000, 0), "the lock is busy");
  because(&rl, redlock_acquire(&rl, &lock, "r", 10000, REDLOCK_FOREVER), "the lock is busy");
  because(&rl, redlock_start_acquire(&rl, &lock, "r", 10000, 0), "the lock is busy");
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_INVALID);
  CHECK_EQ(redlock_start_extend(&rl, &lock, 10000), REDLOCK_INVALID);
  CHECK(is_unchanged());
  CHECK(wire_is_untouched());
}

static void is_busy_and_not_to_be_kept(void) {
  is_busy();
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_INVALID);
  CHECK(is_unchanged());
}

TEST(a_pending_acquire_refuses_all_but_its_end) {
  begin_three();
  start();
  is_busy_and_not_to_be_kept();
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_CANCELLED); /* which is a cancel */
  CHECK(redlock_step(&rl) == NULL);
}

TEST(a_pending_extension_refuses_all_but_its_end) {
  begin_three();
  hold();
  CHECK_EQ(redlock_start_extend(&rl, &lock, 10000), REDLOCK_PENDING);
  is_busy_and_not_to_be_kept();
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

TEST(a_pending_release_refuses_all_but_its_end) {
  begin_three();
  hold();
  CHECK_EQ(redlock_start_release(&rl, &lock), REDLOCK_PENDING);
  is_busy_and_not_to_be_kept();
  because(&rl, redlock_start_release(&rl, &lock), "the lock is busy");
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK(redlock_wait(&rl, 1000) == &lock);
  CHECK_EQ(lock.status, REDLOCK_OK);
}

TEST(a_kept_lock_refuses_to_be_extended) {
  begin_three();
  hold();
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  is_busy();
  because(&rl, redlock_extend(&rl, &lock, 10000), "the lock is busy");
  CHECK_EQ(redlock_keep(&rl, &lock, 60000), REDLOCK_OK); /* another limit may be set */
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
}

TEST(an_idle_lock_has_nothing_to_cancel) {
  begin_three();
  hold();
  remember();
  because(&rl, redlock_cancel(&rl, &lock), "nothing is pending");
  CHECK(is_unchanged());
  CHECK(wire_is_untouched());
  CHECK(redlock_remaining_ms(&rl, &lock) > 0);
}

/* A lock that another client holds pending is not this one's to touch. */
TEST(another_clients_lock_is_refused) {
  static redlock other;
  begin_three();
  start();
  CHECK_EQ(redlock_init(&other, "x,y,z", &options), REDLOCK_OK);
  CHECK_EQ(redlock_cancel(&other, &lock), REDLOCK_INVALID);
  CHECK_EQ(redlock_start_release(&other, &lock), REDLOCK_INVALID);
  CHECK_EQ(redlock_start_extend(&other, &lock, 10000), REDLOCK_INVALID);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
}

/* ---- What only tells ------------------------------------------------------------------------- */

/* C lets an enumeration hold what it does not name, as long as its type does. */
TEST(every_status_has_its_own_words) {
  static const int unknown[] = { -8, 2, INT_MAX, INT_MIN };
  int a, b;
  for (a = REDLOCK_SYSTEM; a <= REDLOCK_PENDING; a++) {
    const char *text = redlock_strerror((redlock_status)a);
    CHECK(text && text[0]);
    for (b = REDLOCK_SYSTEM - 1; b < a; b++)
      CHECK(strcmp(text, redlock_strerror((redlock_status)b)) != 0);
  }
  for (a = 0; a < 4; a++) CHECK(redlock_strerror((redlock_status)unknown[a])[0]);
}

TEST(a_server_that_is_none_has_no_error) { /* R15 */
  begin_three();
  CHECK(redlock_server_error(&rl, 0) && redlock_server_error(&rl, 0)[0] == '\0');
  CHECK(redlock_server_error(&rl, 2) != NULL);
  CHECK(redlock_server_error(&rl, 3) == NULL);
  CHECK_EQ(redlock_server_error(&rl, -1)[0], 0); /* this side */
  CHECK(redlock_server_error(&rl, -2) == NULL);
  CHECK(redlock_server_error(&rl, INT_MAX) == NULL);
  CHECK(redlock_server_error(&rl, INT_MIN) == NULL);
}

TEST(fds_without_room_are_only_counted) {
  redlock_fd fds[2];
  begin_three();
  hold();
  CHECK_EQ(redlock_fds(&rl, NULL, 0), 3);
  fds[1].fd = -77;
  CHECK_EQ(redlock_fds(&rl, fds, 1), 3);
  CHECK_EQ(fds[0].fd, 0);
  CHECK_EQ(fds[1].fd, -77);
  CHECK_EQ(redlock_fds(&rl, fds, -1), 3);
}
