/* contract.c: what redlock_io promises of send and recv, broken on purpose, shows why it does. */
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
