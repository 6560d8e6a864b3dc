/* form.h: the form of a state. Two worlds of one form differ in nothing that matters: times stand
 * in it relative to now, and no further than anything compares them; places in the ring relative to
 * the oldest command that lives; values under names in the order in which they appear; tokens
 * relative to now. What is dead is left out. `audit=1` looks whether worlds of one form do have the
 * same successors.
 *
 * This file alone knows private names of the header. Whoever adds a member to a struct decides here
 * whether it belongs to the form, then corrects the sizes below: until then nothing compiles. (What
 * only clients of many locks use is the same in all of these: trackers, due_ms.) */
#ifndef EXPLORE_FORM_H
#define EXPLORE_FORM_H

#include "events.h"

#if defined(__x86_64__) && defined(__LP64__) && !defined(REDLOCK_NO_FENCING) && \
    !defined(ANY_SIZE) /* a planted bug may change one */
#define SIZE_IS(type, bytes) typedef char form_knows_##type[sizeof(type) == (bytes) ? 1 : -1]
SIZE_IS(redlock_lock, 208);
SIZE_IS(rl_command, 112);
SIZE_IS(rl_parser, 32);
SIZE_IS(rl_server, 152);
SIZE_IS(redlock, 736 + RING * sizeof(rl_command));
#endif

static struct {
  uint8_t byte[8192];
  size_t size;
  uint8_t name[CLIENTS][VALUES]; /* of each value, in the order in which they appear */
  struct value named[CLIENTS * VALUES];
  int names;
} form;

enum { LONG_MS = 20000, NAME_OF_SOMEBODY = 250 };

static void put8(int x) { form.byte[form.size++] = (uint8_t)x; }

static void put16(int64_t x) {
  put8((int)(x & 255));
  put8((int)(x >> 8 & 255));
}

static void put64(uint64_t x) {
  memcpy(form.byte + form.size, &x, sizeof x);
  form.size += sizeof x;
}

static int64_t within(int64_t x, int64_t least, int64_t most) {
  return x < least ? least : x > most ? most : x;
}

/* A time, as far from now as anything compares it: between -past and LONG_MS. */
static void put_time(int64_t when, int64_t now, int64_t past) {
  put16(when >= INT64_MAX / 2 ? 32767 : within(when - now, -past, LONG_MS));
}

static void put_token(uint64_t token) { put64(token ? token - (uint64_t)W.now * 1000 : 0); }

static void put_value(const struct value *v) {
  if (!v->client) {
    put8(0);
  } else if (v->client > cfg.clients) {
    put8(NAME_OF_SOMEBODY);
  } else {
    uint8_t *name = &form.name[v->client - 1][v->number];
    if (!*name) {
      form.named[form.names] = *v;
      *name = (uint8_t)++form.names;
    }
    put8(*name);
  }
  if (v->age_size) put8(NAME_OF_SOMEBODY + 1);
  for (int i = 0; i < v->age_size; i++) put8(v->age[i]);
}

static void put_raw_value(const char *at, size_t size) {
  struct value v;
  (void)value_read(at, size, &v);
  put_value(&v);
}

/* ---- Locks and their users ------------------------------------------------------------------- */

static void put_user(int c, const struct user *u) {
  int64_t now = clock_of(c);
  put8(u->state | u->given << 2);
  put8(u->calls);
  if (u->state == IDLE) return;
  put8(u->call);
  if (cfg.twice) put8(u->giver);
  if (cfg.fencing) put_token(u->token);
  if (u->state == PENDING) put_time(u->begun_at, now, TIMEOUT + 2);
  if (u->state == PENDING && (u->call == EXTEND || u->call == SHORTEN)) put_time(u->end, now, 0);
  if (cfg.max_hold) put_time(u->granted_at, W.now, cfg.max_hold + cfg.ttl + 2);
}

static void put_waiter(const redlock_lock *k, int64_t now) {
  const rl_waiter *w = &k->is.wait;
  uint32_t now32 = (uint32_t)now;
  put_time(w->last_start_ms, now, 0);
  put16(within(now32 - w->began_ms, 0, 4000));
  if (k->tracks) {
    put16(within(now32 - w->held_since_ms, 0, 30000));
    put16(within((uint32_t)(now - k->t1_ms), 0, 4000));
    put16(within(w->holder_age, 0, 30000));
    put8(k->vain);
  }
  put16(k->holder);
  if (k->phase == RL_PHASE_BACKOFF) put16(k->slot_ms);
  for (int i = 0; i < SERVERS && k->phase == RL_PHASE_VOTING; i++) put16(w->told[i]);
}

/* What only an operation under way has. */
static void put_operation(const redlock_lock *k, int64_t now) {
  put8(k->last_result);
  put8((int)k->operation | k->tracks << 4 | k->round_failed << 7);
  put8((int)k->status);
  put8(k->maybe_set);
  put8(k->maybe_free);
  if (k->phase == RL_PHASE_VOTING || k->phase == RL_PHASE_DECIDED || k->tracks)
    for (int e = 0; e < cfg.servers; e++) put8((int)k->votes[e]);
  put16((int)k->round_ttl_ms);
  put8((int)within(k->attempts, 0, 33));
  if (!k->ever_granted) put_waiter(k, now);
  else if (k->task == RL_TASK_SET) put_time(k->is.hold.grant_t1_ms, now, 0);
  if (k->phase == RL_PHASE_VOTING) put_time(k->t1_ms, now, 100);
  put_time(k->timer_ms, now, 0);
}

/* A place in the ring, from the oldest command that lives. */
static void put_place(uint32_t place, uint32_t head) { put8((int)((place - head) & (RING - 1))); }

/* Of those that may hold its value, servers that have answered its SET; the next extension adds
   those that said YES in the last round (R29). */
static int answered_by(const redlock_lock *k) {
  int by = k->is.hold.answered_by;
  for (int e = 0; e < cfg.servers && k->phase != RL_PHASE_VOTING; e++)
    by |= (k->votes[e] == REDLOCK_VOTE_YES) << e;
  return by & k->maybe_set;
}

/* Servers whose connection was not lost since the grant: what it carries comes behind the SET. */
static int never_lost(int c, const redlock_lock *k) {
  int by = 0;
  for (int e = 0; e < cfg.servers; e++)
    by |= (W.side[c].rl.server[e].reconnect_ms < k->is.hold.grant_t1_ms) << e;
  return by & k->maybe_set;
}

static void put_lock(int c, int l, uint32_t head) {
  const redlock_lock *k = &W.side[c].lock[l];
  const struct user *u = &W.side[c].user[l];
  int64_t now = clock_of(c);
  put_user(c, u);
  put8(k->phase);
  if (u->state == IDLE || (u->given && k->phase == RL_PHASE_IDLE)) {
    if (u->given) put_raw_value(k->value, RL_VALUE_BYTES);
    return;
  }
  put8(k->task | k->extra_rounds << 4);
  put8(k->ever_granted | k->kept << 1 | k->has_reserved_slot << 2 | k->urgent << 3 |
       k->adopts << 4);
  put_raw_value(k->value, RL_VALUE_BYTES);
  put_time(k->deadline_ms ? k->deadline_ms : INT64_MAX, now, 0);
  put16((int)k->longest_ttl_ms);
  if (k->ever_granted && cfg.max_hold) put_time(k->is.hold.grant_t1_ms, now, 2000);
  if (k->deadline_ms) put8((cfg.max_ttl ? answered_by(k) : 0) | k->maybe_set << 4);
  if (k->deadline_ms && cfg.max_ttl) put8(never_lost(c, k));
  put_token(k->token);
  if (k->adopts) put_raw_value(k->resource + RL_REPLACED_AT, RL_VALUE_BYTES);
  for (int i = 0; i < (int)sizeof k->age; i++) put8(k->age[i]);
  if (k->phase == RL_PHASE_IDLE) return;
  if (k->phase == RL_PHASE_VOTING) put_place((uint32_t)(k->command - W.side[c].rl.ring), head);
  put_operation(k, now);
}

static void put_list(int c, const rl_link *list) {
  const redlock_lock *lock = rl_list_first(list);
  for (; lock; lock = rl_list_next(list, lock)) put8(1 + (int)(lock - W.side[c].lock));
  put8(0);
}

/* ---- The ring and the connections ------------------------------------------------------------ */

static int is_of_use(const rl_command *k) { return k->is_open || k->unsent_to || k->awaited_from; }

static int is_dead_command(int c, uint32_t place) {
  redlock *rl = &W.side[c].rl;
  const rl_command *k = rl_command_at(rl, place);
  const rl_server *s;
  if (is_of_use(k)) return 0;
  for (s = rl->server; s != rl->server_end; s++)
    if (s->send_next == place && s->sent_bytes) return 0;
  return 1;
}

static void put_command(int c, const rl_command *k) {
  const char *value = k->args + 12; /* "$1\r\nr\r\n$23\r\n" */
  put8(k->kind | k->form << 2 | k->is_open << 5);
  put8(k->unsent_to | k->awaited_from << 4);
  if (!is_of_use(k)) return;
  put8(k->lock ? 1 + (int)(k->lock - W.side[c].lock) : 0);
  if (k->kind == RL_TASK_EXTEND) put8(k->sets_at & ((1 << cfg.servers) - 1));
  put_time(k->t1_ms, clock_of(c), 200);
  put16((int)k->ttl_ms);
  put16((int)k->longest_ttl_ms);
  put8(k->args[4]);
  put_raw_value(value, RL_STORED_BYTES);
  if (k->kind != RL_TASK_SET) return;
  if (k->form == RL_FORM_SWAP) put_raw_value(k->args + k->args_size, RL_VALUE_BYTES);
  put_token(k->token);
}

static void put_parser(const rl_parser *p) {
  put8(p->state | (p->elements_left ? 8 : 0));
  if (!p->state && !p->elements_left) return;
  put8(p->type);
  put8(p->outer_type);
  put8(p->negative);
  put16(p->count);
  put16(p->hash & 65535);
  put8((int)p->elements_left);
  put8(p->nested | p->words << 1);
  put16(p->before & 65535);
  put64(p->version);
  put64(p->number);
}

/* R24: a run_id that is not known, that of the server now, or an older one. */
static int run_known(const rl_server *s, uint32_t id) {
  char text[41];
  const char *at = text;
  uint32_t hash = 0;
  write_run_id(text, server_of(s->index));
  while (*at) hash = rl_hash(hash, *at++);
  return id == 0 ? 0 : id == hash ? 1 : 2;
}

static void put_server_of(int c, const rl_server *s, uint32_t head) {
  int64_t now = clock_of(c);
  int32_t next = (int32_t)(s->send_next - head), answered = (int32_t)(s->reply_next - head);
  put8(s->state | s->stalled << 3 | s->last_send << 4 | s->handshake_failed << 6);
  put8((int)within(s->failed_connections, 0, 10));
  put8(s->handshake_replies | s->tracking << 4);
  put16((int)s->sent_bytes);
  put8(next < 0 ? 0 : next);
  put8(answered < 0 ? 0 : answered);
  put8((int)s->outstanding);
  put8((s->release_form != 0) | s->wants_scripts << 1);
  put8((int)s->retired_replies);
  put8((int)s->timed_reply);
  if (cfg.max_ttl) {
    put8(run_known(s, s->run_id));
    put_time(s->votes_from_ms, now, 200);
  }
  if (s->state == RL_STATE_CLOSED) put_time(s->reconnect_ms, now, 0);
  if (s->stalled) put16((int)s->patience_ms);
  put_time(s->timed_since_ms, now, s->stalled ? LEAST_SILENCE + 2 : TIMEOUT + 2);
  put64(s->clock_offset_us);
  put_parser(&s->parser);
}

static void put_client(int c) {
  redlock *rl = &W.side[c].rl;
  uint32_t head = rl->ring_head;
  int64_t now = clock_of(c);
  rl_server *s;
  while (head != rl->ring_tail && is_dead_command(c, head)) head++;
  put8(rl->work_pending | rl->readable << 1);
  put8((int)rl->reserved_slots);
  put_time(rl->timer_ms, now, 0);
  for (int l = 0; l < RL_LISTS; l++) put_list(c, &rl->lists[l]);
  put_token(rl->last_token);
  for (int l = 0; l < cfg.locks; l++) put_lock(c, l, head);
  put8((int)(rl->ring_tail - head));
  for (uint32_t at = head; at != rl->ring_tail; at++) put_command(c, rl_command_at(rl, at));
  for (s = rl->server; s != rl->server_end; s++) put_server_of(c, s, head);
}

/* ---- The world ------------------------------------------------------------------------------- */

static void put_queue(const struct queue *q) {
  const struct message *m = q->message;
  put8(q->commands);
  for (; m != q->message + q->commands; m++) {
    put16(m->text);
    for (int v = 0; v < m->values; v++) put_value(&m->value[v]);
    if (m->token) put_token((uint64_t)m->token);
  }
}

/* Replies; what a clock says in them is relative to now. A run_id has more digits. */
static void put_replies(const struct connection *k) {
  size_t i = 0;
  put16(k->out_size);
  while (i < k->out_size) {
    size_t digits = i;
    uint64_t said = 0;
    while (digits < k->out_size && k->out[digits] >= '0' && k->out[digits] <= '9')
      said = said * 10 + (uint64_t)(k->out[digits++] - '0');
    if (digits - i >= TOKEN_DIGITS && digits - i <= RL_MAX_DIGITS) {
      put_token(said);
      i = digits;
    } else {
      do put8(k->out[i++]);
      while (i < digits);
    }
  }
}

static void put_connection(int c, int e) {
  const struct connection *k = &W.side[c].to[e];
  put8(k->open | k->broken << 1 | k->held << 3 | k->full << 4 | k->slow << 5 | k->overdue << 6 |
       k->blocked << 7);
  put8(k->session.resp3 | k->session.tracks << 1 | k->session.noloop << 2 | has_read(k, 0) << 3 |
       has_read(k, 1) << 4);
  put16((int)word[k->cut].size | k->noted << 15 |
        (k->cut && k->was_overdue) << 14);
  put8(k->carries);
  if (is_owed(k)) put_time(k->owed_since, W.now, LEAST_SILENCE + W.side[c].behind + 2);
  if (is_owed(k)) put8(k->late);
  put_replies(k);
  put_queue(&k->in);
  for (int z = 0; z < LOST; z++) put_queue(&W.side[c].lost[e][z]);
}

static void put_store(int server) {
  const struct server *s = &W.server[server];
  put8(s->down | s->failing << 1 | s->forgot << 3);
  if (cfg.max_ttl) put_time(s->started, W.now, LONG_MS);
  for (int r = 0; r < RESOURCES; r++) {
    const struct key *k = key_of(server, r), *counter = counter_of(server, r);
    struct value v = value_in(k);
    put_value(&v);
    if (k) put_time(end_of(k), W.now, 0);
    if (!cfg.fencing) continue;
    put_token(counter ? (uint64_t)count_in(counter) : 0);
    if (counter) put_time(counter->expires_ms, W.now, 0);
  }
}

/* What became of the values that still stand anywhere, in the order of their names. */
static void put_fates(void) {
  for (int i = 0; i < form.names; i++)
    for (int e = 0; e < cfg.servers; e++) put8(*fate_of(&form.named[i], e));
}

static void make_form(void) {
  form.size = 0;
  form.names = 0;
  memset(form.name, 0, sizeof form.name);
  put8(W.faults);
  put8(W.ticks);
  for (int c = 0; c < cfg.clients; c++) {
    const struct side *side = &W.side[c];
    put8(side->paused | side->closed << 1 | side->upset << 2 | side->slips << 3);
    if (!side->closed) put_client(c);
  }
  for (int s = 0; s < cfg.servers; s++) put_store(s);
  if (cfg.fencing) put_token(W.token);
  for (int c = 0; c < cfg.clients; c++)
    for (int e = 0; e < cfg.servers; e++) put_connection(c, e);
  put_fates();
}

/* The numbers of values that stand nowhere any more may be drawn again. */
static void forget_values(void) {
  for (int c = 0; c < cfg.clients; c++)
    for (int n = 0; n < VALUES; n++)
      if (!form.name[c][n]) W.side[c].drawn &= ~(1u << n);
}

static uint64_t mix(uint64_t h, uint64_t w) {
  h = (h ^ w) * UINT64_C(0x9fb21c651e98df25);
  h ^= h >> 35;
  h *= UINT64_C(0xd6e8feb86659fd93);
  return h ^ h >> 32;
}

/* 64 bits of the form; never 0. */
static uint64_t state_hash(void) {
  uint64_t h, w;
  make_form();
  h = form.size;
  while (form.size % 8) put8(0);
  for (size_t i = 0; i < form.size; i += 8) {
    memcpy(&w, form.byte + i, 8);
    h = mix(h, w);
  }
  return h ? h : 1;
}

#endif
