/* cycles.h: what the three examples do with their loop: a lock is taken, used and released, again
 * and again. In your program its own work stands here. */
#ifndef CYCLES_H
#define CYCLES_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TTL_MS = 10000, WAIT_MS = 30000, LOOK_UP_S = 3 };

static redlock_lock lock; /* it must not move while the client has it */
static long left, granted, refused;

static void end_loop(void);

static int is_done(void) { return left < 0; }

/* A server that restarts may come back at another address, as a pod or a container does: then its
   name must be looked up again. That may block the whole loop, and here no lock is held that could
   run out. If your loop must never block, list addresses, or give the client a thread of its
   own. */
static void look_up_again(void) {
  static time_t last;
  redlock_server_info info;
  int i, away = 0;
  if (time(NULL) - last < LOOK_UP_S) return;
  for (i = 0; redlock_server_status(&client, i, &info) == REDLOCK_OK; i++) away += !info.connected;
  if (away > 0) (void)redlock_resolve(&client);
  last = time(NULL);
}

static void start_next(void) {
  look_up_again();
  while (left-- > 0) {
    if (redlock_start_acquire(&client, &lock, "loop", TTL_MS, WAIT_MS) == REDLOCK_PENDING) return;
    refused++; /* it will not be returned by a step */
  }
}

/* What was decided says l->operation, how it ended says l->status. */
static void on_decided(redlock_lock *l) {
  int taken = l->operation == REDLOCK_ACQUIRE && l->status == REDLOCK_OK;
  granted += taken;
  refused += l->operation == REDLOCK_ACQUIRE && !taken;
  if (taken) (void)redlock_start_release(&client, l); /* here the work would begin */
  else start_next();
  if (is_done()) end_loop();
}

/* PROGRAM SERVERS CYCLES; closing is told of each descriptor that is about to be closed. Then the
   first cycle is under way, unless none can be. */
static int begin(int argc, char **argv, void (*closing)(void *ctx, int server, intptr_t fd)) {
  const char *servers = argc > 1 ? argv[1] : "127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381";
  redlock_options options = {0};
  redlock_status status;
  options.closing = closing;
  status = redlock_init(&client, servers, &options);
  left = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
  if (status == REDLOCK_OK) start_next();
  else fprintf(stderr, "init: %s\n", redlock_server_error(&client, -1));
  return status == REDLOCK_OK;
}

static int end(void) {
  redlock_close(&client);
  printf("%ld granted and released, %ld refused\n", granted, refused);
  return refused != 0;
}

#endif
