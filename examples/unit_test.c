/* unit_test.c: tests of your own code without a server, a socket or a clock. Copy from here, with
 * redlock.h, tests/fake/fake*.h, and tests/library.h, library.c, store.h and fenced.h, into folders
 * of these names; -I names the one that redlock.h and tests are in.
 *
 *   cc -std=c99 -I.. unit_test.c -o unit_test
 *   ./unit_test
 *
 * fake.h is a redlock_io with servers behind it that do as they are told. Its time passes while the
 * library waits, and in fake_sleep: a test of a timeout of minutes takes no time. */
#define REDLOCK_NO_POSIX   /* no sockets */
#include "tests/library.h" /* redlock.h, and in this file its implementation */
#include "tests/fake/fake.h"

#include <stdio.h>

enum { SERVERS = 3, QUORUM = 2, TTL_MS = 10000, WAIT_MS = 500, PIECES = 3600, PIECE_MS = 1000,
       PIECES_BEFORE_THE_LOSS = 5 };

/* ---- your code: it is given the client, so a test may give it another one ---- */

static struct fake fake;
static int pieces, pieces_without_lock;

static void do_a_piece(void) { /* yours would do work; here its time passes */
  fake_sleep(&fake, PIECE_MS);
  pieces++;
}

static redlock_status work_for_an_hour(redlock *client) {
  redlock_lock lock;
  redlock_status status = redlock_acquire(client, &lock, "invoice:42", TTL_MS, WAIT_MS);
  if (status != REDLOCK_OK) return status;
  (void)redlock_keep(client, &lock, 0);
  while (pieces < PIECES && redlock_remaining_ms(client, &lock) > PIECE_MS) {
    do_a_piece();
    if (redlock_remaining_ms(client, &lock) == 0) pieces_without_lock++; /* for the tests */
    (void)redlock_wait(client, 0); /* extends it when it is time */
  }
  status = redlock_release(client, &lock);
  return pieces < PIECES ? REDLOCK_EXPIRED : status;
}

/* ---- the tests ---- */

static redlock client;

static void begin(void) {
  redlock_options options = {0};
  pieces = pieces_without_lock = 0;
  fake_begin(&fake, SERVERS);
  options.io = &fake.client[0].io;
  (void)redlock_init(&client, "s0,s1,s2", &options); /* the fake asks for no addresses */
}

static int end(const char *name, int good) {
  redlock_close(&client);
  fake_end(&fake);
  printf("%s  %s\n", good ? "ok  " : "FAIL", name);
  return !good;
}

static int an_hour_is_worked(void) {
  begin();
  return end("an hour is worked", work_for_an_hour(&client) == REDLOCK_OK && pieces == PIECES);
}

static int another_has_it(void) {
  int i;
  begin();
  for (i = 0; i < QUORUM; i++) fake_put(&fake, i, "invoice:42", "another's value", 60000);
  return end("another has it", work_for_an_hour(&client) == REDLOCK_TAKEN);
}

static int answers_come_too_late(void) {
  int i;
  begin();
  for (i = 0; i < QUORUM; i++) fake.server[i].reply_ms = 30000;
  return end("answers come too late", work_for_an_hour(&client) == REDLOCK_NO_QUORUM);
}

/* Two of the three servers stop when some of the work is done. */
static void stop_a_quorum(struct fake *f, enum fake_hook hook, int server) {
  int i;
  (void)hook;
  (void)server;
  if (pieces < PIECES_BEFORE_THE_LOSS) return;
  for (i = 0; i < QUORUM; i++) f->server[i].thaw_at = FAKE_NEVER;
}

static int the_quorum_is_lost(void) {
  redlock_status status;
  begin();
  fake.on_call = stop_a_quorum;
  status = work_for_an_hour(&client);
  return end("the quorum is lost", status == REDLOCK_EXPIRED && !pieces_without_lock);
}

int main(void) {
  int failed = an_hour_is_worked() + another_has_it() + answers_come_too_late() +
               the_quorum_is_lost();
  printf("%d failed\n", failed);
  return failed != 0;
}
