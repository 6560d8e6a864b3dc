/* contract.c: what redlock_io and redlock_layer promise of send and recv, broken on purpose, shows
 * why they do. */
#include "fixture.h"

static redlock_io io;
static int breaks; /* the contract; else the hook does nearly the same, and keeps it */
static int full;   /* the socket takes nothing */
static char kept[8192];
static size_t kept_size;

static void contract_world(int servers_in_it) {
  prepare(servers_in_it);
  io = fake.client[0].io;
  options.io = &io;
  kept_size = 0;
  ready_and_warm();
}

/* A full socket; whoever breaks the contract takes the bytes all the same, as a TLS library does
   that has made a record of them, and lets them leave before the next ones. */
static int send_later(void *ctx, int server, const void *data, size_t size) {
  if (fake.idle) return fake_send(ctx, server, data, size);
  if (full) {
    memcpy(kept, data, size);
    kept_size = size;
    return 0;
  }
  if (breaks && kept_size) CHECK_EQ(fake_send(ctx, server, kept, kept_size), kept_size);
  kept_size = 0;
  return fake_send(ctx, server, data, size);
}

/* "a" is cancelled before any byte of it left, and "b" is another's: to say so, its reply must not
   be taken for the one of "a". */
static redlock_status acquire_behind_a_refusal(void) {
  redlock_status got;
  contract_world(1);
  occupy(0, 0, "b", 60000);
  io.send = send_later;
  full = 1;
  start_and_send(&lock, "a", 60000, 0);
  CHECK_EQ(redlock_cancel(&rl, &lock), REDLOCK_OK);
  full = 0;
  got = redlock_acquire(&rl, &other, "b", 1000, 0);
  CHECK_EQ(fake_holders(&fake, "a"), breaks); /* an orphan */
  io.send = fake_send;
  return got;
}

TEST(refused_bytes_that_leave_give_two_the_lock) { /* R8 */
  breaks = 0;
  CHECK_EQ(acquire_behind_a_refusal(), REDLOCK_TAKEN);
  breaks = 1;
  CHECK_EQ(acquire_behind_a_refusal(), REDLOCK_OK); /* that is how bad it is */
}

enum { FLOOD_MS = 30000, KEPT_MS = 3000 };

static int64_t flood_ms; /* of work, which server 0 has sent and is no answer */

/* Whoever breaks the contract goes on until nothing is left of it. */
static int read_flood(void *ctx, int server, void *data, size_t size) {
  int64_t piece = breaks ? flood_ms : 1;
  if (fake.idle || server != 0 || flood_ms == 0) return fake_recv(ctx, server, data, size);
  fake.now_ms += piece;
  flood_ms -= piece;
  fake.idle_waits = 0; /* there was something to read (R27) */
  return 0;
}

/* Returns how often another lock was taken meanwhile. */
static int keep_beside_a_flood(void) {
  int taken = 0;
  int64_t end;
  contract_world(3);
  hold("kept", KEPT_MS);
  CHECK_EQ(redlock_keep(&rl, &lock, 0), REDLOCK_OK);
  flood_ms = FLOOD_MS;
  io.recv = read_flood;
  for (end = now() + FLOOD_MS; now() < end; run_for(100)) {
    taken += redlock_acquire(&rl, &other, "other", KEPT_MS, 0) == REDLOCK_OK;
    if (other.status == REDLOCK_OK) (void)redlock_release(&rl, &other);
  }
  io.recv = fake_recv;
  return taken;
}

TEST(a_call_that_lasts_as_long_as_a_peer_likes_loses_a_kept_lock) { /* R10 R16 */
  breaks = 0;
  CHECK(keep_beside_a_flood() > FLOOD_MS / 200);
  CHECK_EQ(handed_count, 0);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  breaks = 1;
  CHECK(keep_beside_a_flood() <= 1);
  is_lost_once(&lock, REDLOCK_EXPIRED); /* another may have had it for 27 s */
}
