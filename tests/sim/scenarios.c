/* scenarios: schedules that once broke a simpler wording of a rule, written down. The same world as
 * in the random runs, and the same checker, but every fault is placed by hand. */
#include "check.h"
#include "run.h"

enum { TTL = 2000, TIMEOUT = 50, DB = 3 };

/* ---- the stage ---- */

static void stage(int servers, int clients, int small) {
  struct config *k = &W.cfg;
  int i;
  world_reset(1);
  memset(k, 0, sizeof *k);
  k->servers = servers;
  k->clients = clients;
  k->resources = MAX_RESOURCES;
  k->slots = MAX_RESOURCES;
  k->small = small;
  k->db = DB;
  k->window = PIPE_BYTES / 2;
  for (i = 0; i < servers; i++) k->entry_server[i] = i;
  for (i = 0; i < MAX_RESOURCES; i++) snprintf(W.name[i], sizeof W.name[i], "resource-%d", i);
  k->server_timeout_ms = TIMEOUT;
  k->retry_min_ms = 10;
  k->retry_max_ms = 20;
  k->drift_ppm = 10000;
  k->ttl_min_ms = k->ttl_max_ms = TTL;
  k->latency_min = k->latency_max = MS;
  k->think_max = MS;
  k->duration = 3600 * SEC;
}

static void raise_curtain(void) {
  int i, k;
  start_servers();
  for (i = 0; i < W.cfg.clients; i++) W.client[i].manual = 1;
  start_clients();
  for (i = 0; i < W.cfg.clients; i++) {
    W.client[i].manual = 1;
    for (k = 0; k < W.client[i].slots; k++) W.client[i].slot[k].due = NEVER;
  }
}

static void play(int servers, int clients) {
  stage(servers, clients, 0);
  raise_curtain();
}

static void pass_ms(int64_t ms) { run_until(W.now + ms * MS, NULL); }

/* A client is busy while it calls; its actor has no plans of its own. */
static struct client *enter(struct slot *s) {
  struct client *c = &W.client[s->client];
  c->busy = 1;
  return c;
}

static void leave(struct slot *s) {
  struct client *c = &W.client[s->client];
  s->due = NEVER;
  c->busy = 0;
  client_arm(c);
}

static struct slot *take(int client, int index, int resource, uint32_t wait_ms) {
  struct slot *s = &W.client[client].slot[index];
  s->resource = resource;
  s->ttl_ms = TTL;
  start_acquire(enter(s), s, wait_ms);
  leave(s);
  return s;
}

static void let_go(struct slot *s) {
  start_release(enter(s), s);
  leave(s);
}

static void prolong(struct slot *s) {
  start_extend(enter(s), s);
  leave(s);
}

static void stand_still(int client, int still) {
  W.client[client].paused = still;
  if (!still) client_arm(&W.client[client]);
}

/* Actors in a scenario do nothing by themselves. */
static void hush(void) {
  int i, k;
  for (i = 0; i < W.cfg.clients; i++)
    for (k = 0; k < W.client[i].slots; k++) W.client[i].slot[k].due = NEVER;
}

static void wait_for(struct slot *s, int64_t most_ms) {
  ns end = W.now + most_ms * MS;
  enum slot_state before = s->state;
  while (s->state == before && W.now < end && !W.failed) {
    run_until(W.now + MS / 4, NULL);
    hush();
  }
}

/* One attempt, and its outcome. */
static struct slot *attempt(int client, int index, int resource, int64_t most_ms) {
  struct slot *s = take(client, index, resource, 0);
  wait_for(s, most_ms);
  return s;
}

static int good(void) {
  if (W.failed) printf("    %s\n", W.message);
  return !W.failed;
}

/* Another value at the key, put there past the simulation. */
static void occupy(int server, int resource) {
  struct store *s = &W.server[server].store;
  struct arg name;
  struct key *k;
  name.at = (const unsigned char *)W.name[resource];
  name.size = strlen(W.name[resource]);
  s->now_ms = server_ms(&W.server[server]);
  k = store_add(s, DB, name);
  if (!CHECK(k != NULL)) return;
  memcpy(k->value, "someone else's value", 20);
  k->value_size = 20;
  k->expires_ms = s->now_ms + 3600000;
}

static int has_key(int server, int resource, int db) {
  return key_of(&W.server[server], resource, db) != NULL;
}

static int keys(int resource, int db) {
  int i, count = 0;
  for (i = 0; i < W.cfg.servers; i++) count += has_key(i, resource, db);
  return count;
}

static void lose_key(int server, int resource) {
  struct key *k = key_of(&W.server[server], resource, DB);
  if (k) k->used = 0;
}

static void cut_off(int server, int64_t ms) {
  int i, way;
  for (i = 0; i < W.cfg.clients; i++)
    for (way = 0; way < 2; way++) W.blocked[i][server][way] = ms ? W.now + ms * MS : 0;
}

static uint32_t connection_id(int client, int entry) {
  int i = W.client[client].conn[entry];
  return i < 0 ? 0 : W.conn[i].id;
}

/* ---- R1: the check at hand-over ---- */

/* Two grants are decided in one step; the caller takes one, sleeps through the other's validity,
 * and asks again. */
static void r1_a_grant_that_lapsed_in_the_queue_is_not_handed_out(void) {
  struct client *c;
  redlock_lock *first, *second;
  struct slot *a, *b;
  play(3, 1);
  c = &W.client[0];
  a = take(0, 0, 0, 0);
  b = take(0, 1, 1, 0);
  run_until(W.now + 5 * MS, NULL); /* connected, greeted, and the SETs are on their way */
  stand_still(0, 1);
  pass_ms(20);
  c->busy = 1;
  first = c->lib->step(c->rl);
  CHECK(first == &a->lock && first->status == REDLOCK_OK);
  if (first) took_back(c, first);
  pass_ms(2 * TTL);
  second = c->lib->step(c->rl);
  CHECK(second == &b->lock);
  CHECK_EQ(b->lock.status, REDLOCK_EXPIRED);
  CHECK_EQ(remaining_of(c, b), 0);
  if (second) took_back(c, second);
  CHECK(good());
}

/* What was granted late is released: nobody waits for its ttl. */
static void r1_a_lapsed_grant_is_released_first(void) {
  struct slot *a, *b;
  int i;
  play(3, 2);
  for (i = 0; i < 3; i++) W.server[i].clock.ppm = -500000; /* its keys live long */
  a = take(0, 0, 0, 0);
  run_until(W.now + 5 * MS, NULL); /* connected, greeted, and the SETs are on their way */
  stand_still(0, 1);
  pass_ms(TTL + 100);
  CHECK_EQ(keys(0, DB), 3);
  stand_still(0, 0);
  wait_for(a, 100);
  CHECK_EQ(a->lock.status, REDLOCK_EXPIRED);
  pass_ms(20);
  CHECK_EQ(keys(0, DB), 0);
  b = attempt(1, 0, 0, 100);
  CHECK_EQ(b->lock.status, REDLOCK_OK);
  CHECK(good());
}

/* ---- R4: a refused handshake ---- */

static void r4_a_refused_select_votes_error_and_leaves_nothing_in_database_0(void) {
  struct slot *s;
  play(3, 1);
  W.server[0].store.refuse_select = 1;
  s = attempt(0, 0, 0, 200);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  pass_ms(50);
  CHECK_EQ(s->lock.votes[0] == REDLOCK_VOTE_YES, 0);
  CHECK_EQ(keys(0, 0), 0);
  CHECK_EQ(keys(0, DB), 2);
  CHECK(good());
}

static void r4_two_of_three_refuse_and_no_quorum_is_claimed(void) {
  struct slot *s;
  play(3, 1);
  W.server[0].store.refuse_select = W.server[2].store.refuse_select = 1;
  s = attempt(0, 0, 0, 200);
  CHECK_EQ(s->lock.status, REDLOCK_NO_QUORUM);
  CHECK_EQ(s->lock.votes[0], REDLOCK_VOTE_ERROR);
  pass_ms(50);
  CHECK_EQ(keys(0, 0) + keys(0, DB), 0);
  CHECK(good());
}

/* ---- R7: the roll-back stands behind its SET ---- */

static void r7_a_frozen_server_that_thaws_runs_the_set_and_then_its_roll_back(void) {
  struct slot *s;
  uint32_t before;
  play(3, 1);
  attempt(0, 0, 1, 100); /* the connections stand */
  before = connection_id(0, 1);
  server_freeze(1, 300 * MS);
  server_freeze(2, 300 * MS);
  s = attempt(0, 1, 0, 200);
  CHECK_EQ(s->lock.status, REDLOCK_NO_QUORUM);
  pass_ms(400);
  CHECK_EQ(keys(0, DB), 0);
  CHECK_EQ(connection_id(0, 1), before);
  CHECK(good());
}

static void r7_a_cancelled_attempt_leaves_nothing(void) {
  struct slot *s;
  struct client *c;
  play(3, 1);
  attempt(0, 0, 1, 100);
  c = &W.client[0];
  s = take(0, 1, 0, 0);
  run_until(W.now + MS / 2, NULL); /* the SETs are on their way */
  c->busy = 1;
  cancel(c, s);
  c->busy = 0;
  hush();
  client_arm(c);
  pass_ms(20);
  CHECK_EQ(keys(0, DB), 0);
  CHECK(good());
}

/* ---- R11: no room in the log ---- */

static void r11_more_starts_than_slots_wait_their_turn_and_all_come_back(void) {
  struct slot *s[MAX_RESOURCES];
  int i;
  stage(3, 1, 1);
  raise_curtain();
  for (i = 0; i < MAX_RESOURCES; i++) s[i] = take(0, i, i, 1000);
  pass_ms(500);
  hush();
  for (i = 0; i < MAX_RESOURCES; i++) {
    CHECK_EQ(s[i]->state, S_HELD);
    CHECK(W.grant[i].value >= 0);
  }
  CHECK(good());
}

/* T1 is taken when the command is encoded: what waited in line for a frozen server's room is not
 * granted a validity that began before its SET could leave. */
static void r11_t1_is_taken_when_there_is_room(void) {
  struct slot *s[MAX_RESOURCES];
  int i, held = 0;
  stage(3, 1, 1);
  raise_curtain();
  server_freeze(1, 200 * MS);
  for (i = 0; i < MAX_RESOURCES; i++) s[i] = take(0, i, i, 2000);
  for (i = 0; i < 40; i++) {
    pass_ms(25);
    hush();
  }
  for (i = 0; i < MAX_RESOURCES; i++) held += s[i]->state == S_HELD;
  CHECK_EQ(held, MAX_RESOURCES);
  CHECK(good()); /* the checker has compared each validity with the keys' lives */
}

/* ---- R12: what a new connection gets ---- */

static void r12_a_set_is_never_sent_twice(void) {
  struct slot *s;
  int i;
  play(3, 1);
  attempt(0, 0, 1, 100);
  cut_off(0, 500);
  s = take(0, 1, 0, 0);
  run_until(W.now + MS + MS / 2, NULL);
  for (i = 0; i < 3; i++) conn_break(&W.conn[W.client[0].conn[i]], CHUNK_RST, 1);
  wait_for(s, 200);
  pass_ms(1000);
  CHECK_EQ(s->lock.status == REDLOCK_OK, 0);
  CHECK(good()); /* the servers count the SETs of each value */
}

/* All idle connections were closed meanwhile: the SETs go out over new ones. */
static void r12_a_set_that_never_left_goes_out_over_the_new_connection(void) {
  struct slot *s;
  int i;
  play(3, 1);
  attempt(0, 0, 1, 100);
  pass_ms(10);
  stand_still(0, 1);
  for (i = 0; i < 3; i++) conn_break(&W.conn[W.client[0].conn[i]], CHUNK_FIN, 1);
  pass_ms(10);
  s = take(0, 1, 0, 0);
  stand_still(0, 0);
  wait_for(s, 200);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  CHECK(good());
}

/* A release that was under way when its connection broke goes out again. */
static void r12_a_release_goes_out_again(void) {
  struct slot *s;
  play(3, 1);
  s = attempt(0, 0, 0, 100);
  let_go(s);
  conn_break(&W.conn[W.client[0].conn[1]], CHUNK_RST, 1);
  pass_ms(1500);
  CHECK_EQ(keys(0, DB), 0);
  CHECK(good());
}

/* ---- R13: a stalled server ---- */

static void r13_a_stalled_server_costs_nothing_and_comes_back(void) {
  struct slot *s;
  uint32_t before;
  ns began;
  play(3, 1);
  attempt(0, 0, 1, 100);
  before = connection_id(0, 2);
  server_freeze(2, 700 * MS);
  attempt(0, 1, 2, 100);
  pass_ms(2 * TIMEOUT);
  began = W.now;
  s = attempt(0, 2, 0, 100);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  CHECK_EQ(s->lock.votes[2], REDLOCK_VOTE_TIMEOUT);
  CHECK(W.now - began < 5 * MS);
  pass_ms(800);
  CHECK_EQ(connection_id(0, 2), before);
  s = attempt(0, 3, 3, 100);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  pass_ms(5);
  CHECK(has_key(2, 3, DB));
  CHECK(good());
}

static void r13_a_stalled_connection_is_replaced_when_its_youngest_set_is_one_ttl_old(void) {
  struct slot *s;
  uint32_t before;
  play(3, 1);
  attempt(0, 0, 1, 100);
  before = connection_id(0, 2);
  server_freeze(2, 60 * SEC);
  attempt(0, 1, 2, 100);
  pass_ms(TTL - 200);
  CHECK_EQ(connection_id(0, 2), before);
  pass_ms(400);
  CHECK(connection_id(0, 2) != before);
  s = attempt(0, 2, 0, 200);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  CHECK(good());
}

/* The roll-back reaches a stalled server although nothing else does. */
static void r13_a_stalled_server_gets_the_releases_that_it_is_owed(void) {
  struct slot *s;
  play(3, 1);
  attempt(0, 0, 1, 100);
  server_freeze(1, 400 * MS);
  server_freeze(2, 400 * MS);
  attempt(0, 1, 0, 200);
  s = attempt(0, 2, 2, 200); /* never sent to them */
  CHECK_EQ(s->lock.status, REDLOCK_NO_QUORUM);
  pass_ms(500);
  CHECK_EQ(keys(0, DB) + keys(2, DB), 0);
  CHECK(good());
}

/* ---- found by the random runs ---- */

static void take_and_let_go(int times, int64_t most_ms, redlock_status expected) {
  struct slot *s;
  int i;
  for (i = 0; i < times && !W.failed; i++) {
    s = take(0, 0, 0, 0);
    wait_for(s, most_ms);
    if (!CHECK_EQ(s->lock.status, expected) || s->state == S_ACQUIRING) return;
    if (s->state != S_HELD) continue;
    let_go(s);
    wait_for(s, most_ms);
  }
}

/* A socket takes nothing although nothing is owed: it is given up like any silent server, holds no
 * one up, and is used again when it takes bytes. */
static void a_full_socket_with_nothing_owed_holds_no_one_up(void) {
  play(3, 1);
  take_and_let_go(1, 100, REDLOCK_OK);
  pass_ms(20);
  W.clogged[0][1] = W.now + 400 * MS;
  take_and_let_go(40, 4 * TIMEOUT, REDLOCK_OK);
  CHECK(good());
}

/* All that was due to it has grown old when it takes bytes again: it has caught up. */
static void a_socket_that_was_full_is_used_again(void) {
  struct slot *s;
  play(3, 1);
  take_and_let_go(1, 100, REDLOCK_OK);
  pass_ms(20);
  W.clogged[0][1] = W.now + 300 * MS;
  attempt(0, 1, 1, 100);
  pass_ms(500);
  s = attempt(0, 2, 2, 100);
  pass_ms(20);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  CHECK(has_key(1, 2, DB));
  CHECK(good());
}

/* The log is full of what a server could not be told, for it never answered the handshake. */
static void a_full_log_behind_a_frozen_handshake_orphans_nothing(void) {
  play(3, 1);
  server_freeze(1, 600 * MS);
  server_freeze(2, 600 * MS);
  take_and_let_go(25, 4 * TIMEOUT, REDLOCK_NO_QUORUM);
  pass_ms(700);
  CHECK_EQ(keys(0, 0) + keys(0, DB), 0);
  CHECK(good());
}

/* A server that refused and then froze gets nothing, so it may not keep room in the log. */
static void a_server_that_refused_and_froze_keeps_no_room(void) {
  stage(3, 1, 1);
  raise_curtain();
  W.server[0].store.refuse_select = 1;
  take_and_let_go(3, 4 * TIMEOUT, REDLOCK_OK);
  pass_ms(100);
  server_freeze(0, 10 * SEC);
  take_and_let_go(20, 4 * TIMEOUT, REDLOCK_OK);
  CHECK(good());
}

/* ---- R19: extensions that fail ---- */

static void r19_a_failed_extension_changes_nothing(void) {
  struct slot *s;
  struct client *c;
  int64_t before;
  play(3, 1);
  c = &W.client[0];
  s = attempt(0, 0, 0, 100);
  before = s->deadline_ms;
  cut_off(1, 300);
  cut_off(2, 300);
  prolong(s);
  wait_for(s, 200);
  CHECK_EQ(s->lock.status, REDLOCK_NO_QUORUM);
  CHECK_EQ(client_ms(c) + remaining_of(c, s), before);
  cut_off(1, 0);
  cut_off(2, 0);
  pass_ms(600);
  prolong(s);
  wait_for(s, 200);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  CHECK(client_ms(c) + remaining_of(c, s) > before);
  CHECK(good());
}

static void r19_a_vanished_key_is_never_created_again(void) {
  struct slot *s;
  play(3, 1);
  s = attempt(0, 0, 0, 100);
  lose_key(1, 0);
  prolong(s);
  wait_for(s, 100);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  pass_ms(10);
  CHECK_EQ(keys(0, DB), 2);
  CHECK(good());
}

static void r19_a_proved_loss_ends_the_hold_at_once(void) {
  struct slot *s;
  play(3, 1);
  s = attempt(0, 0, 0, 100);
  lose_key(0, 0);
  lose_key(1, 0);
  prolong(s);
  wait_for(s, 100);
  CHECK_EQ(s->lock.status, REDLOCK_EXPIRED);
  CHECK_EQ(remaining_of(&W.client[0], s), 0);
  pass_ms(20);
  CHECK_EQ(keys(0, DB), 0);
  CHECK(good());
}

/* ---- R21: what a release says ---- */

static void r21_a_release_says_how_many_still_had_it(void) {
  struct slot *s;
  int lost, expected[4] = {REDLOCK_OK, REDLOCK_OK, REDLOCK_EXPIRED, REDLOCK_EXPIRED};
  for (lost = 0; lost < 4; lost++) {
    play(3, 1);
    s = attempt(0, 0, 0, 100);
    pass_ms(10);
    W.grant[0].value = -1; /* the keys go by the test's own hand */
    if (lost > 0) lose_key(0, 0);
    if (lost > 1) lose_key(1, 0);
    if (lost > 2) lose_key(2, 0);
    let_go(s);
    wait_for(s, 200);
    CHECK_EQ(s->lock.status, expected[lost]);
    CHECK(good());
  }
}

static void r21_a_release_that_too_few_answer_says_no_quorum(void) {
  struct slot *s;
  play(3, 1);
  s = attempt(0, 0, 0, 100);
  cut_off(0, 500);
  cut_off(1, 500);
  let_go(s);
  wait_for(s, 200);
  CHECK_EQ(s->lock.status, REDLOCK_NO_QUORUM);
  pass_ms(1500);
  CHECK_EQ(keys(0, DB), 0); /* it stood in the sockets all the while */
  CHECK(good());
}

static void r21_a_release_never_touches_anothers_value(void) {
  struct slot *s;
  play(3, 1);
  s = attempt(0, 0, 0, 100);
  pass_ms(10);
  W.grant[0].value = -1;
  lose_key(1, 0);
  occupy(1, 0);
  let_go(s);
  wait_for(s, 200);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  pass_ms(10);
  CHECK_EQ(keys(0, DB), 1);
  CHECK(has_key(1, 0, DB));
  CHECK(good());
}

/* It goes to all servers, also to those that never voted. */
static void r21_a_release_goes_to_the_servers_that_never_voted(void) {
  struct slot *s;
  play(5, 1);
  attempt(0, 0, 1, 100);
  server_freeze(4, 30 * MS);
  s = attempt(0, 1, 0, 20);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  CHECK_EQ(s->lock.votes[4], REDLOCK_VOTE_NONE);
  let_go(s);
  pass_ms(100);
  CHECK_EQ(keys(0, DB), 0);
  CHECK(good());
}

/* ---- R23: why an acquire failed ---- */

static void r23(int taken, int silent, redlock_status expected) {
  struct slot *s;
  int i;
  play(5, 1);
  attempt(0, 0, 1, 100);
  for (i = 0; i < taken; i++) occupy(i, 0);
  for (i = taken; i < taken + silent; i++) server_freeze(i, 300 * MS);
  s = attempt(0, 1, 0, 200);
  CHECK_EQ(s->lock.status, expected);
  CHECK(good());
}

static void r23_why_an_acquire_failed(void) {
  r23(0, 2, REDLOCK_OK);
  r23(2, 0, REDLOCK_OK);
  r23(2, 1, REDLOCK_TAKEN); /* 2 yes, 2 taken, 1 timeout of 5 */
  r23(1, 2, REDLOCK_TAKEN);
  r23(3, 2, REDLOCK_TAKEN);
  r23(0, 3, REDLOCK_NO_QUORUM);
  r23(2, 3, REDLOCK_NO_QUORUM);
}

/* ---- R5: one server, two names ---- */

static void r5_a_twin_counts_once_and_undoes_nothing(void) {
  struct slot *s;
  stage(3, 1, 0);
  W.cfg.quarantine_ms = TTL;
  W.cfg.entry_server[2] = 1;
  raise_curtain();
  s = attempt(0, 0, 0, 200);
  CHECK_EQ(s->lock.status, REDLOCK_OK);
  pass_ms(50);
  CHECK_EQ(keys(0, DB), 2);
  CHECK(good());
}

/* ---- R24: a server that forgot ---- */

static void r24_a_server_that_forgot_casts_no_vote_until_it_is_old_enough(void) {
  struct slot *a, *b;
  stage(3, 2, 0);
  W.cfg.quarantine_ms = TTL;
  raise_curtain();
  cut_off(2, 100);
  a = attempt(0, 0, 0, 100);
  CHECK_EQ(a->lock.status, REDLOCK_OK);
  pass_ms(200);
  server_crash(1, KEEP_NONE, 0, 5 * MS);
  pass_ms(10);
  b = attempt(1, 0, 0, 200);
  CHECK(b->lock.status != REDLOCK_OK);
  CHECK_EQ(b->lock.votes[1], REDLOCK_VOTE_QUARANTINED);
  b = take(1, 1, 0, REDLOCK_FOREVER);
  wait_for(b, 3 * TTL + 3000);
  CHECK_EQ(b->lock.status, REDLOCK_OK);
  CHECK(good());
}

/* ---- the k-th hook call fails ---- */

/* A little life: two clients take, extend and release. Returns how many hook calls it took. */
static uint64_t little_life(uint64_t fails_at) {
  struct slot *a, *b;
  play(3, 2);
  W.hook_fails_at = fails_at;
  a = take(0, 0, 0, 100);
  b = take(1, 0, 0, 400);
  wait_for(a, 600);
  if (a->state == S_HELD) prolong(a);
  pass_ms(100);
  hush();
  if (a->state == S_HELD) let_go(a);
  pass_ms(600);
  hush();
  if (b->state == S_HELD) let_go(b);
  pass_ms(1000);
  hush();
  check_forgotten();
  W.quiet = 1;
  client_close(&W.client[0]);
  client_close(&W.client[1]);
  W.quiet = 0;
  return W.hooks;
}

static void every_hook_call_may_fail(void) {
  uint64_t k, all = little_life(0);
  CHECK(good());
  CHECK(all > 100);
  for (k = 1; k <= all; k++) {
    (void)little_life(k);
    if (CHECK(good())) continue;
    printf("    hook call %llu of %llu\n", (unsigned long long)k, (unsigned long long)all);
    return;
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(r1_a_grant_that_lapsed_in_the_queue_is_not_handed_out);
  RUN(r1_a_lapsed_grant_is_released_first);
  RUN(r4_a_refused_select_votes_error_and_leaves_nothing_in_database_0);
  RUN(r4_two_of_three_refuse_and_no_quorum_is_claimed);
  RUN(r5_a_twin_counts_once_and_undoes_nothing);
  RUN(r7_a_frozen_server_that_thaws_runs_the_set_and_then_its_roll_back);
  RUN(r7_a_cancelled_attempt_leaves_nothing);
  RUN(r11_more_starts_than_slots_wait_their_turn_and_all_come_back);
  RUN(r11_t1_is_taken_when_there_is_room);
  RUN(r12_a_set_is_never_sent_twice);
  RUN(r12_a_set_that_never_left_goes_out_over_the_new_connection);
  RUN(r12_a_release_goes_out_again);
  RUN(r13_a_stalled_server_costs_nothing_and_comes_back);
  RUN(r13_a_stalled_connection_is_replaced_when_its_youngest_set_is_one_ttl_old);
  RUN(r13_a_stalled_server_gets_the_releases_that_it_is_owed);
  RUN(a_full_socket_with_nothing_owed_holds_no_one_up);
  RUN(a_socket_that_was_full_is_used_again);
  RUN(a_full_log_behind_a_frozen_handshake_orphans_nothing);
  RUN(a_server_that_refused_and_froze_keeps_no_room);
  RUN(r19_a_failed_extension_changes_nothing);
  RUN(r19_a_vanished_key_is_never_created_again);
  RUN(r19_a_proved_loss_ends_the_hold_at_once);
  RUN(r21_a_release_says_how_many_still_had_it);
  RUN(r21_a_release_that_too_few_answer_says_no_quorum);
  RUN(r21_a_release_never_touches_anothers_value);
  RUN(r21_a_release_goes_to_the_servers_that_never_voted);
  RUN(r23_why_an_acquire_failed);
  RUN(r24_a_server_that_forgot_casts_no_vote_until_it_is_old_enough);
  RUN(every_hook_call_may_fail);
  return check_end();
}
