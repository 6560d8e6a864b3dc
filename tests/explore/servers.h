/* servers.h: what a server of the world does with a command. tests/store.h runs it. Keys expire as
 * early as R1 permits, so that one millisecond too much in a client shows. */
#ifndef EXPLORE_SERVERS_H
#define EXPLORE_SERVERS_H

#include "refine/explorer.h"

enum { ERROR = 7 }; /* CLUSTERDOWN: a short one */

static int64_t wall_us(int server) { return W.now * 1000 + 100 + 10 * server; }

/* R24: it may have forgotten a lock. */
static int is_quarantined(int server) {
  return W.now < W.server[server].started + cfg.max_ttl;
}

/* ---- Replies --------------------------------------------------------------------------------- */

static void say(struct connection *k, const char *bytes, size_t size) {
  if (!is_heard(k)) return;
  if (k->out_size + size > OUT) fail("world: too many replies");
  memcpy(k->out + k->out_size, bytes, size);
  k->out_size = (uint16_t)(k->out_size + size);
  k->written += (uint32_t)size;
}

static void print_bytes(const char *bytes, size_t size) {
  for (; size; size--, bytes++)
    if (*bytes != '\r') printf("%c", *bytes == '\n' ? ' ' : *bytes < ' ' ? '.' : *bytes);
}

/* R26: whoever has read the key is told once, behind what was answered before. */
static void tell_change(int server, int resource, const struct connection *by) {
  char bytes[64];
  struct reply push = {bytes, 0};
  const unsigned char *name = (const unsigned char *)resource_name[resource];
  reply_push(&push, name, 1);
  for (int c = 0; c < cfg.clients; c++)
    for (int e = 0; e < cfg.servers; e++) {
      struct connection *k = &W.side[c].to[e];
      if (server_of(e) != server || !session_forgets(&k->session, name, 1)) continue;
      if (k != by || !k->session.noloop) say(k, push.at, push.size);
    }
}

static void expire(int server) {
  for (int r = 0; r < RESOURCES; r++) {
    struct key *k = key_of(server, r), *counter = counter_of(server, r);
    if (counter && W.now >= counter->expires_ms) counter->used = 0;
    if (!k || W.now < end_of(k)) continue;
    k->used = 0;
    tell_change(server, r, NULL);
  }
}

static void time_passes(int64_t ms) {
  W.now += ms;
  for (int s = 0; s < cfg.servers; s++) expire(s);
}

static void write_run_id(char text[41], int server) {
  snprintf(text, 41, "%08x%032d", 0x1000 * ((unsigned)server + 1) + W.server[server].run, 0);
}

static struct store *store_of(int server) {
  static struct store store = {.room = 2 * RESOURCES, .keys = 2 * RESOURCES, .databases = 16};
  struct server *s = &W.server[server];
  store.key = s->key;
  store.now_ms = W.now;
  store.now_us = wall_us(server);
  store.started_s = W.now / 1000 - (W.now - s->started) / 1000;
  write_run_id(store.run_id, server);
  store.refuse_hello = !cfg.push && !cfg.natives;
  store.refuse_tracking = !cfg.push;
  store.natives = (unsigned)cfg.natives;
  store.error = s->failing == 1 ? ERROR : 0;
  store.fail_write = s->failing > 1 ? s->failing - 1 : 0;
  return &store;
}

/* Somebody's value, for ever. */
static void put_foreign(int server) {
  static const struct value value = {.client = SOMEBODY};
  char bytes[RL_VALUE_BYTES];
  struct arg a = {(unsigned char *)bytes, sizeof bytes};
  value_write(bytes, &value);
  (void)store_put(store_of(server), 0, arg_of(resource_name[0]), a, INT64_MAX / 4);
}

/* ---- One command ----------------------------------------------------------------------------- */

/* R16: any answer that is well formed. 0 = the right one. */
static int lie(int server, struct reply *r) {
  static const char *const lies[] = {"", "+OK\r\n", ":1\r\n", ":0\r\n", "$-1\r\n", "$0\r\n\r\n",
                                     "-ERR no\r\n", ":-1\r\n", "*1\r\n+OK\r\n"};
  int k = server == cfg.liar ? choose(9) : 0;
  if (k == 0) return 0;
  r->size = 0;
  reply_text(r, lies[k]);
  return 1;
}

/* R4: whether it says yes, in the rule's words: +OK to a SET, with tokens a number below it (R25),
   :1 to an extension or release. */
static int says_yes(const struct command *m, const struct reply *r) {
  long long number;
  char text[24];
  if (!is_seen_set(&m->seen)) return r->size == 4 && memcmp(r->at, ":1\r\n", 4) == 0;
  if (!cfg.fencing) return r->size == 5 && memcmp(r->at, "+OK\r\n", 5) == 0;
  snprintf(text, sizeof text, "%.*s", (int)r->size, r->at);
  return sscanf(text, ":%lld", &number) == 1 && number > 0 && number < m->seen.token;
}

static int64_t held_for(const struct user *u);

/* Notes what became of the value (R4, R12, R21). heard: the client may get the reply. */
static void note_effect(int entry, const struct command *m, const struct effect *e,
                        const struct reply *r, int heard) {
  uint8_t *fate = fate_of(&m->value, entry);
  const struct user *u = user_with(&m->value);
  if (e->kind == EFFECT_BLIND) fail("R21: a key is deleted or extended, whatever its value");
  if (m->seen.kind == SEEN_RELEASE && r->size && r->at[0] == '-') *fate |= EXCUSED;
  if (cfg.max_ttl && m->seen.kind == SEEN_EXTENSION && (*fate & RAN) && strchr("$_", r->at[0]))
    *fate &= (uint8_t)~(SENT | RAN); /* R29: it is not there, and may be sent again */
  if (!is_seen_set(&m->seen)) return;
  if (e->kind == EFFECT_SET && u && is_quarantined(server_of(entry)) &&
      end_of(e->key) < W.now + held_for(u))
    fail("R29: a value is sent again for less than the lock is held");
  if (*fate & RAN) fail("R12: a SET is executed twice in one life of a server");
  *fate = (uint8_t)(*fate | RAN | (says_yes(m, r) ? SAID_YES : SAID_NO));
  if (!heard && e->kind == EFFECT_SET) *fate |= EXCUSED; /* R12: an orphan of a lost connection */
}

/* An error of the handshake: its words take room, and the client has no texts here. */
static void shorten_error(struct reply *r) {
  if (r->size < 4 || memcmp(r->at, "-ERR", 4) != 0) return;
  r->size = 0;
  reply_text(r, "-ERR\r\n");
}

/* Executes one command of entry `entry` of a client's list; k = NULL: nobody hears the reply. */
static void execute(int entry, const struct command *m, struct connection *k) {
  char bytes[STORE_REPLY];
  struct reply r = {bytes, 0};
  struct effect e = {0};
  struct session none = {0};
  int server = server_of(entry), lies = 0;
  expire(server);
  if (!asks(m)) refine_begins_to_run(server, &m->seen);
  store_run(store_of(server), k ? &k->session : &none, m->argc, m->argv, &r, &e);
  shorten_error(&r);
  if (!asks(m)) {
    lies = lie(server, &r);
    model_runs(server, &m->seen, &e, k, r.size);
    note_effect(entry, m, &e, &r, k != NULL);
  }
  say(k, r.at, r.size);
  if (k && k->out_size) k->replies++;
  if (verbose) {
    printf("      s%d runs %s", server, kind_name[m->seen.kind]);
    if (!asks(m)) printf(" %s of %s", resource_name[m->seen.resource], value_text(&m->value));
    printf(": ");
    if (is_heard(k)) print_bytes(r.at, r.size);
    else printf("nobody hears");
    printf("%s\n", lies ? " (a lie)" : "");
  }
  if (e.changed) tell_change(server, m->seen.resource, k);
}

#endif
