/* rolling.h: worlds of rolling restarts (R29). One client keeps a lock, the others want it all the
 * time, and the servers are upgraded: one after the other goes down and comes back empty, each when
 * those before it vote again. Whatever the others do, the lock is never lost (user.h looks). */
#ifndef SIM_ROLLING_H
#define SIM_ROLLING_H

#include "strangers.h"

/* Beyond its quarantine: what whole seconds of uptime may hide, and until every client is connected
 * again and the lock has been extended. */
static ns until_it_votes(const struct server *s) {
  return s->down_until + ((ns)W.cfg.quarantine_ms + W.cfg.ttl_max_ms) * MS + 4 * SEC;
}

static void on_roll(int server) {
  struct server *s = &W.server[server];
  if (W.healed) return;
  if (W.client[0].slot[0].state != S_KEPT) {
    schedule(W.now + SEC, EV_ROLL, server, 0);
    return;
  }
  server_crash(server, KEEP_NONE, 0, skewed(MS, 5 * SEC));
  T->rolls++;
  note(N_FAULT, F_CRASH_NONE, server, s->down_until - W.now);
  schedule(until_it_votes(s) + skewed(MS, SEC), EV_ROLL, (server + 1) % W.cfg.servers, 0);
}

#endif
