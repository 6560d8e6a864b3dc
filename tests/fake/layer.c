/* layer.c: options.tls. The layer of these tests shakes hands by one command of its own, which the
 * fake servers answer, and passes all else on as it is. */
#include "fixture.h"

enum { HELD = 4096 };

#define HELLO "*1\r\n$4\r\nTLS!\r\n" /* what no server knows: the answer to it is an error */

static struct end {
  int open, greeted, is_ready;
  char held[HELD]; /* taken, and not passed on yet */
  size_t size;
  char answer[64]; /* to HELLO */
  size_t got;
  const char *why;
} ends[FAKE_SERVERS];

static redlock_layer layer;
static int opens, closes;
static char hosts[256];

/* ---- the layer ---- */

static int fails_at; /* the hook that fails for server 0, if any */

static int fails(int hook, int server) {
  if (fake.idle || server != 0 || fails_at != hook) return 0;
  ends[0].why = "a bad certificate";
  return 1;
}

static int layer_open(void *ctx, int server, intptr_t fd, const char *host) {
  struct end *e = &ends[server];
  CHECK(ctx == &fake && !e->open);
  CHECK_EQ(fd, 1000 + fake.client[0].connection[server]);
  memset(e, 0, sizeof *e);
  e->open = 1;
  memcpy(e->held, HELLO, sizeof HELLO - 1);
  e->size = sizeof HELLO - 1;
  snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts), "%s ", host);
  opens++;
  return fails(FAKE_OPEN, server) ? -1 : 0;
}

static int flush(int server) {
  struct end *e = &ends[server];
  int sent;
  if (fake.idle || e->size == 0) return 0;
  sent = fake_send(&fake.client[0], server, e->held, e->size);
  if (sent < 0) return -1;
  e->size -= (size_t)sent;
  memmove(e->held, e->held + sent, e->size);
  return 0;
}

/* The server's answer to HELLO is the layer's alone. */
static int shake(int server) {
  struct end *e = &ends[server];
  while (!e->is_ready && !fake.idle) {
    int got = fake_recv(&fake.client[0], server, e->answer + e->got, 1);
    if (got <= 0) return got;
    e->is_ready = e->answer[e->got++] == '\n';
  }
  return 0;
}

static int layer_send(void *ctx, int server, const void *data, size_t size) {
  struct end *e = &ends[server];
  (void)ctx;
  if (fails(FAKE_SEND, server) || flush(server) || shake(server)) return -1;
  if (!e->is_ready || e->size || fake.idle) return 0;
  if (size > HELD) size = HELD;
  memcpy(e->held, data, size);
  e->size = size;
  return flush(server) ? -1 : (int)size;
}

static int layer_recv(void *ctx, int server, void *data, size_t size) {
  (void)ctx;
  if (fails(FAKE_RECV, server) || flush(server) || shake(server)) return -1;
  return ends[server].is_ready ? fake_recv(&fake.client[0], server, data, size) : 0;
}

static void layer_close(void *ctx, int server) {
  (void)ctx;
  CHECK(ends[server].open);
  CHECK(fake.client[0].connection[server] >= 0); /* the socket ends behind it */
  ends[server].open = 0;
  closes++;
}

/* While it shakes hands, bytes of the client's have no place, whatever room there is. */
static unsigned layer_want(void *ctx, int server, unsigned events) {
  const struct end *e = &ends[server];
  (void)ctx;
  if (!e->is_ready) events = REDLOCK_READ;
  return e->size ? events | REDLOCK_WRITE : events;
}

static const char *layer_error(void *ctx, int server) {
  (void)ctx;
  return ends[server].why;
}

/* ---- */

static void layered_end(void) {
  end();
  CHECK_EQ(closes, opens);
}

/* Of three servers the first two are behind the layer. */
static void layered_prepare(void) {
  static const redlock_layer good = {
    layer_open, layer_send, layer_recv, layer_close, layer_want, layer_error, &fake
  };
  layered_end();
  prepare(3);
  check.after = layered_end;
  memset(ends, 0, sizeof ends);
  opens = closes = 0;
  fails_at = FAKE_ANY;
  hosts[0] = '\0';
  layer = good;
  options.tls = &layer;
  snprintf(servers, sizeof servers, "rediss://s0,rediss://s1:7000,redis://s2");
}

static void layered_world(void) {
  layered_prepare();
  ready_and_warm();
}

TEST(a_list_may_mix_both_kinds) {
  layered_world();
  CHECK(strcmp(hosts, "s0 s1 ") == 0);
  hold("r", 1000);
  run_for(5);
  CHECK_EQ(fake_holders(&fake, "r"), 3);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  CHECK_EQ(fake_live_keys(&fake), 0);
}

TEST(nothing_leaves_before_hands_are_shaken) { /* R4 */
  layered_prepare();
  snprintf(servers, sizeof servers, "rediss://u:pw@[::1]:7000/3");
  fake.server[0].store.username = "u";
  fake.server[0].store.password = "pw";
  ready_and_hold(1000);
  CHECK(strcmp(hosts, "::1 ") == 0);
  CHECK(strcmp(fake_nth(&fake, 0, FAKE_ANY, 0)->words, "TLS!") == 0);
  CHECK_EQ(fake_nth(&fake, 0, FAKE_ANY, 1)->kind, FAKE_AUTH);
  CHECK(strcmp(fake_nth(&fake, 0, FAKE_ANY, 2)->words, "SELECT 3") == 0);
  CHECK_EQ(fake_count(&fake, 0, FAKE_OTHER), 1);
}

/* Connecting takes 10 ms, and the answer 20. There is room to send all the time. */
TEST(a_slow_handshake_wakes_no_one_in_vain) { /* R27 */
  layered_prepare();
  snprintf(servers, sizeof servers, "rediss://s0");
  options.server_timeout_ms = 200;
  fake.server[0].connect_ms = 10;
  fake.server[0].reply_ms = 20;
  ready_and_hold(1000);
  CHECK_EQ(now() - 1000000, 50); /* two round trips */
  CHECK(fake.calls[FAKE_WAIT] <= 4);
}

/* Each look takes the handshake a step further, and comes when that is long overdue; some begin an
   extension, too. */
TEST(who_looks_rarely_is_connected_again) { /* R13 R14 */
  int looks;
  for (looks = 0; looks < 10; looks++) {
    layered_prepare();
    SET_SERVERS(0, 2, connect_ms, 1);
    ready_and_hold(60000);
    CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
    work_in_pieces(7000, 0, looks * 7000);
    reset(0, 0, FAKE_RST);
    work_in_pieces(7000, 0, 70000);
    CHECK_EQ(handed_count, 0);
    CHECK_EQ(fake.server[0].connections, 2);
  }
}

/* But whose connect never comes to an end is given up, and asked anew. */
TEST(who_looks_rarely_gives_a_hanging_handshake_up) { /* R13 R14 */
  layered_prepare();
  ready_and_hold(60000);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  fake.server[0].connect_ms = FAKE_NEVER;
  reset(0, 0, FAKE_RST);
  work_in_pieces(7000, 0, 140000);
  CHECK_EQ(handed_count, 0);
  CHECK(fake.server[0].connections >= 4);
}

/* More is taken than the socket takes: what is held leaves as the socket has room. */
TEST(what_a_layer_holds_back_leaves_by_itself) {
  layered_world();
  fake.server[0].send_chunk = 7;
  fake.server[2].open_fails = 1;
  fake_reset(&fake, 2, FAKE_RST);
  take_and_release("r", 1000);
  CHECK_EQ(fake_live_keys(&fake), 0);
}

TEST(close_waits_for_what_a_layer_holds_back) { /* R21 */
  layered_prepare();
  snprintf(servers, sizeof servers, "rediss://s0");
  options.server_timeout_ms = 1000;
  ready_and_warm();
  release_into_a_full_socket();
  CHECK(redlock_step(&rl) == NULL);
  CHECK(ends[0].size > 0);
  redlock_close(&rl);
  CHECK_EQ(fake_live_keys(&fake), 0);
}

TEST(a_layer_says_why_it_failed) { /* R15 */
  static const int hooks[] = {FAKE_OPEN, FAKE_SEND, FAKE_RECV};
  size_t i;
  for (i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
    layered_prepare();
    fails_at = hooks[i];
    ready_and_hold(1000);
    run_for(5);
    CHECK_EQ(lock.votes[0], REDLOCK_VOTE_UNREACHABLE);
    if (!CHECK(strcmp(redlock_server_error(&rl, 0), "a bad certificate") == 0))
      printf("    %s\n", redlock_server_error(&rl, 0));
    CHECK_EQ(redlock_server_error(&rl, 1)[0], 0);
    fails_at = FAKE_ANY;
    CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
    run_for(2000);
    hold("warm", 1000); /* its connection stands only when the others have decided this */
    run_for(5);
    hold("s", 1000);
    run_for(5);
    CHECK_EQ(fake_holders(&fake, "s"), 3);
    CHECK_EQ(redlock_server_error(&rl, 0)[0], 0); /* it is well again */
  }
}

TEST(a_layer_with_nothing_to_say_leaves_it_to_us) { /* R15 */
  layered_world();
  fake_reset(&fake, 0, FAKE_RST);
  take_all(&rl);
  CHECK(strstr(redlock_server_error(&rl, 0), "connection"));
}

static const char *error_of_a_handshake(void *ctx, int server) {
  (void)ctx;
  return ends[server].is_ready ? NULL : "no handshake";
}

TEST(a_layer_says_what_an_answer_waits_for) { /* R15 */
  layered_prepare();
  layer.error = error_of_a_handshake;
  snprintf(servers, sizeof servers, "rediss://s0");
  fake_answer(&fake, 0, FAKE_OTHER, 1, NULL);
  ready();
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 1000, 0), REDLOCK_NO_QUORUM);
  CHECK(strcmp(redlock_server_error(&rl, 0), "no handshake") == 0);
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, 7000), REDLOCK_OK); /* on the next one (R13) */
  freeze(0, 0);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_NO_QUORUM);
  CHECK(strstr(redlock_server_error(&rl, 0), "no answer"));
}

/* What was wrong with the last connection is not what is wrong without one. */
TEST(a_layer_is_not_asked_where_it_is_not_open) { /* R15 */
  layered_prepare();
  fails_at = FAKE_RECV;
  ready_and_hold(1000);
  run_for(5);
  fake.server[0].open_fails = 1;
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  run_for(2000);
  hold("s", 1000);
  run_for(2000);
  CHECK(strstr(redlock_server_error(&rl, 0), "connection"));
}

TEST(without_a_layer_it_says_what_to_do) {
  layered_prepare();
  options.tls = NULL;
  CHECK_EQ(redlock_init(&rl, servers, &options), REDLOCK_INVALID);
  CHECK(strstr(redlock_server_error(&rl, 0), "options.tls"));
}
