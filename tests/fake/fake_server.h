/* fake_server.h: which command it was, for the log and the rules; what the store answers to it. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

static inline enum fake_kind fake_kind_of(const struct fake_args *a) {
  static const enum fake_kind scripts[] = {FAKE_RELEASE, FAKE_EXTEND, FAKE_SET, FAKE_SET,
                                           FAKE_INFO};
  switch (store_command_of(a->count, a->arg)) {
    case C_SET: return FAKE_SET;
    case C_EVAL: return scripts[script_of(a->count, a->arg)];
    case C_AUTH: return FAKE_AUTH;
    case C_SELECT: return FAKE_SELECT;
    case C_INFO: return FAKE_INFO;
    case C_PROOF: return FAKE_PROOF;
    case C_HELLO: return FAKE_HELLO;
    case C_CLIENT: return FAKE_TRACKING;
    case C_DELEX:
    case C_DELIFEQ: return FAKE_RELEASE;
    default: return FAKE_OTHER;
  }
}

/* SET key value [NX] PX ttl, in any order of the options */
static inline void fake_describe_set(struct fake_command *c, const struct fake_args *a) {
  int i;
  for (i = 3; i + 1 < a->count; i++)
    if (arg_is(a->arg[i], "px")) c->ttl_ms = fake_arg_number(a, i + 1);
}

/* EVAL script 1 key value [ttl [beginning]], EVAL script 2 key counter value ttl beginning token
   max_ttl */
static inline void fake_describe_script(struct fake_command *c, const struct fake_args *a) {
  enum script script = script_of(a->count, a->arg);
  int at = script == SCRIPT_FENCED ? 6 : 5;
  c->fenced = script == SCRIPT_FENCED;
  c->tracked = script == SCRIPT_TRACKED;
  c->value = fake_text_of(a->arg[at - 1]);
  if (script != SCRIPT_RELEASE) c->ttl_ms = fake_arg_number(a, at);
  c->adopts = (c->fenced || c->tracked) &&
             (c->value.size < a->arg[at + 1].size ||
              memcmp(c->value.byte, a->arg[at + 1].at, a->arg[at + 1].size) != 0);
  if (c->fenced) c->token = fake_arg_number(a, 8);
}

static inline void fake_describe(struct fake_command *c, const struct fake_args *a) {
  int first = arg_is(a->arg[0], "eval") ? 3 : 1, i;
  if (c->kind <= FAKE_EXTEND) {
    if (first < a->count) c->key = fake_text_of(a->arg[first]);
    if (first == 1) c->value = fake_text_of(a->arg[c->kind == FAKE_SET ? 2 : a->count - 1]);
    if (c->kind == FAKE_SET && first == 1) fake_describe_set(c, a);
    c->native = c->kind == FAKE_RELEASE && first == 1;
    if (first == 3) fake_describe_script(c, a);
    return;
  }
  for (i = 0; i < a->count; i++) {
    size_t used = strlen(c->words);
    snprintf(c->words + used, sizeof c->words - used, "%s%.*s", i ? " " : "",
             (int)a->arg[i].size, (const char *)a->arg[i].at);
  }
}

static inline struct fake_rule *fake_rule_for(struct fake *f, const struct fake_command *c) {
  int i;
  for (i = 0; i < f->rules; i++) {
    struct fake_rule *r = &f->rule[i];
    if (r->server != FAKE_ANY && r->server != c->server) continue;
    if (r->kind == FAKE_ANY ? c->kind >= FAKE_HELLO : r->kind != (int)c->kind) continue;
    if (r->skip > 0) {
      r->skip--;
      continue;
    }
    if (r->times == 0) continue;
    if (r->times > 0) r->times--;
    return r;
  }
  return NULL;
}

/* Its wall clock, in microseconds. */
static inline int64_t fake_wall_us(const struct fake_server *s, int64_t at) {
  return FAKE_WALL_US + at * 1000 + s->wall_us;
}

/* The store's own clocks, its name, and room for the keys of one more command. */
static inline void fake_set_store(struct fake_server *s, int64_t at) {
  struct store *store = &s->store;
  size_t room = (size_t)store->room;
  store->now_ms = at;
  store->now_us = fake_wall_us(s, at);
  store->started_s = at / 1000 - (at - s->started_at) / 1000;
  snprintf(store->run_id, sizeof store->run_id, "%08x%032d", s->run_id, 0);
  store->key = (struct key *)fake_grow(store->key, &room, (size_t)store->keys + 2,
                                       sizeof *store->key);
  store->room = (int)room;
}

static inline struct fake_command *fake_log(struct fake *f, const struct fake_connection *c,
                                            const struct fake_args *a) {
  struct fake_command *command;
  int64_t thaw_at = f->server[c->server].thaw_at;
  f->log = (struct fake_command *)fake_grow(f->log, &f->log_room, f->logged + 1, sizeof *f->log);
  command = &f->log[f->logged++];
  memset(command, 0, sizeof *command);
  command->server = c->server;
  command->client = c->client;
  command->connection = c->number;
  command->life = f->server[c->server].run_id;
  command->at = a->at > thaw_at ? a->at : thaw_at;
  command->kind = fake_kind_of(a);
  fake_describe(command, a);
  return command;
}

/* A rule's answer, of any length; a nil is one that the client knows. */
static inline struct arg fake_rule_answer(const struct fake_rule *rule, const struct session *c) {
  const char *text = rule->answer ? rule->answer : "";
  return arg_of(c->resp3 && strcmp(text, "$-1\r\n") == 0 ? "_\r\n" : text);
}

/* Runs a command: the answer is the store's, or a rule's. */
static inline void fake_execute(struct fake *f, struct fake_connection *c,
                                const struct fake_args *a) {
  static char room[STORE_REPLY];
  struct fake_server *s = &f->server[c->server];
  struct fake_command *command = fake_log(f, c, a);
  struct fake_rule *rule;
  struct reply r = {room, 0};
  struct arg answer;
  struct effect e;
  memset(&e, 0, sizeof e);
  fake_reap(f, c->server, &command->key, command->at);
  fake_set_store(s, command->at);
  rule = fake_rule_for(f, command);
  if (!rule || rule->runs) store_run(&s->store, &c->session, a->count, a->arg, &r, &e);
  if (c->session.reads == STORE_READS) fake_misuse(f, "STORE_READS is too small", c->server);
  if (f->on_reply) f->on_reply(f, c, &r);
  c->replies++;
  answer.at = (const unsigned char *)r.at;
  answer.size = r.size;
  if (rule) answer = fake_rule_answer(rule, &c->session);
  snprintf(command->answer, sizeof command->answer, "%.*s", (int)answer.size,
           (const char *)answer.at);
  command->answer[strcspn(command->answer, "\r")] = '\0';
  fake_reply(s, c, (const char *)answer.at, answer.size, command->at);
  if (e.changed) fake_invalidate(f, c->server, fake_arg_of(&command->key), command->at, c);
}

/* Runs what has arrived. The newest connection goes first: a command that was sent on another
   connection to be behind one that waits here overtakes it, as it may on a real server. */
static inline void fake_run(struct fake *f) {
  size_t i;
  int k;
  for (k = 0; k < f->servers; k++) fake_reap(f, k, NULL, f->now_ms);
  for (i = f->connections; i-- > 0;) {
    struct fake_connection *c = &f->connection[i];
    struct fake_args args;
    long got = 0;
    if (f->server[c->server].thaw_at > f->now_ms) continue;
    while (c->in.next < c->in.end && (got = fake_read_command(&c->in, f->now_ms, &args)) > 0)
      fake_execute(f, c, &args);
    if (got >= 0) continue;
    fake_misuse(f, "malformed command", c->server);
    c->in.next = c->in.end;
  }
}

#endif
