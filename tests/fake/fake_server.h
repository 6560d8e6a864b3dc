/* fake_server.h: what a server does with a command.
 * The scripts are known by their words, not run: 'info' tells of the server, ':fence' sets with a
 * token (fenced.h), 'pexpire' extends, 'del' releases; a script that does not ask 'get'
 * has no owner check, one that does not ask 'pttl' shortens. The tests on real servers prove that the text
 * itself does what it says. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

static inline enum fake_kind fake_kind_of(const struct fake_args *a) {
  if (fake_arg_is(a, 0, "SET")) return FAKE_SET;
  if (fake_arg_is(a, 0, "AUTH")) return FAKE_AUTH;
  if (fake_arg_is(a, 0, "SELECT")) return FAKE_SELECT;
  if (fake_arg_is(a, 0, "HELLO")) return FAKE_HELLO;
  if (fake_arg_is(a, 0, "CLIENT") && fake_arg_is(a, 1, "TRACKING")) return FAKE_TRACKING;
  if (!fake_arg_is(a, 0, "EVAL")) return FAKE_OTHER;
  if (fake_arg_has(a, 1, "info")) return FAKE_INFO;
  if (a->count >= 7) return FAKE_SET;
  if (a->count > 5 && fake_arg_has(a, 1, "pexpire")) return FAKE_EXTEND;
  if (fake_arg_has(a, 1, "del") || fake_arg_has(a, 1, "DEL")) return FAKE_RELEASE;
  return FAKE_OTHER;
}

/* What stands behind the 20 bytes of the value that is there. */
static inline const char *fake_age(const struct fake_key *key, char *room, size_t size) {
  size_t age = key->value.size > 20 ? key->value.size - 20 : 0;
  int head;
  if (age > 3) age = 3;
  head = snprintf(room, size, "$%d\r\n", (int)age);
  memcpy(room + head, key->value.byte + 20, age);
  memcpy(room + (size_t)head + age, "\r\n", 3);
  return room;
}

static inline const char *fake_run_set(struct fake_server *s, int db, const struct fake_args *a,
                                       const struct fake_command *c, char *room, size_t size) {
  int nx = c->arms, i;
  for (i = 3; i < a->count; i++)
    if (fake_arg_is(a, i, "NX")) nx = 1;
  if (c->ttl_ms <= 0) return "-ERR invalid expire time in 'set' command\r\n";
  if (s->writes == 0 && (!c->arms || fake_arg_has(a, 1, "local v=n or c(")))
    return "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
  if (fake_store_find(s, db, &c->key, c->at)) {
    if (nx && c->arms) return fake_age(fake_store_find(s, db, &c->key, c->at), room, size);
    if (nx) return "$-1\r\n";
    fake_store_remove(s, fake_store_find(s, db, &c->key, c->at));
  }
  fake_store_add(s, db, &c->key, &c->value, c->at + c->ttl_ms);
  return "+OK\r\n";
}

/* Its wall clock, in microseconds. */
static inline int64_t fake_wall_us(const struct fake_server *s, int64_t at) {
  return FAKE_WALL_US + at * 1000 + s->wall_us;
}

/* A key's number; < 0 = it holds something else. */
static inline int64_t fake_counter(const struct fake_key *key) {
  int64_t number = key->value.size ? 0 : -1;
  size_t i;
  for (i = 0; i < key->value.size && number >= 0; i++) {
    int digit = key->value.byte[i] - '0';
    number = digit >= 0 && digit <= 9 ? number * 10 + digit : -1;
  }
  return number;
}

static inline struct fake_text fake_counter_name(const struct fake_command *c) {
  struct fake_text name = c->key, end = fake_text_of(":fence");
  if (name.size + end.size > FAKE_TEXT) abort();
  memcpy(name.byte + name.size, end.byte, end.size);
  name.size += end.size;
  return name;
}

/* SET key value PX ttl; 0 = the server is out of memory, in the middle of the script. */
static inline int fake_overwrite(struct fake_server *s, int db, const struct fake_text *name,
                                 const struct fake_text *value, int64_t at, int64_t ttl_ms) {
  struct fake_key *old = fake_store_find(s, db, name, at);
  if (s->writes == 0) return 0;
  s->writes -= s->writes > 0;
  if (old) fake_store_remove(s, old);
  fake_store_add(s, db, name, value, at + ttl_ms);
  return 1;
}

static inline struct fenced_facts fake_facts(struct fake_server *s, int db,
                                             const struct fake_text *name,
                                             const struct fake_command *c) {
  struct fenced_facts facts;
  const struct fake_key *counter;
  facts.taken = fake_store_find(s, db, &c->key, c->at) != NULL;
  counter = fake_store_find(s, db, name, c->at);
  facts.has_counter = counter != NULL;
  facts.counter = counter ? fake_counter(counter) : 0;
  facts.clock_us = fake_wall_us(s, c->at);
  facts.token = c->token;
  facts.max_ttl_ms = c->max_ttl_ms;
  facts.ttl_ms = c->ttl_ms;
  return facts;
}

/* EVAL script 1 key value ttl token max_ttl (R25) */
static inline const char *fake_run_fenced(struct fake_server *s, int db, const struct fake_args *a,
                                          const struct fake_command *c, char *room, size_t size) {
  struct fenced_script script = fenced_read((const char *)a->arg[1], a->size[1]);
  struct fake_text name = fake_counter_name(c), token = fake_arg_text(a, 6);
  struct fenced_facts facts = fake_facts(s, db, &name, c);
  struct fenced_plan plan = fenced_decide(&script, &facts);
  int k;
  if (facts.counter < 0 && script.counter && (plan.writes || plan.reply == facts.counter))
    return "-ERR user_script:1: attempt to perform arithmetic on a string value\r\n";
  for (k = 0; k < 2 && plan.writes; k++)
    if (k == script.lock_first ? !fake_overwrite(s, db, &name, &token, c->at, plan.counter_px_ms)
                               : !fake_overwrite(s, db, &c->key, &c->value, c->at, c->ttl_ms))
      return "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
  if (plan.reply == 0) return fake_age(fake_store_find(s, db, &c->key, c->at), room, size);
  snprintf(room, size, ":%lld\r\n", (long long)plan.reply);
  return room;
}

static inline const char *fake_run_script(struct fake_server *s, int db,
                                          const struct fake_args *a, const struct fake_command *c,
                                          char *room, size_t size) {
  struct fake_key *key = fake_store_find(s, db, &c->key, c->at);
  int checks_owner = fake_arg_has(a, 1, "get") || fake_arg_has(a, 1, "GET");
  int checks_ttl = fake_arg_has(a, 1, "pttl") || fake_arg_has(a, 1, "PTTL");
  if (s->no_getex && c->getex && !fake_arg_has(a, 1, "if v~=w then v=c('get',k)end"))
    return "-ERR unknown command 'getex'\r\n";
  if (!key) return "$-1\r\n";
  if (checks_owner && !fake_text_same(&key->value, &c->value)) return fake_age(key, room, size);
  if (c->kind == FAKE_RELEASE) {
    struct fake_text name = fake_counter_name(c);
    fake_store_remove(s, key);
    key = fake_arg_has(a, 1, ":fence") ? fake_store_find(s, db, &name, c->at) : NULL;
    if (key) fake_store_remove(s, key);
  } else if (!checks_ttl || key->expires_at < c->at + c->ttl_ms) {
    key->expires_at = c->at + c->ttl_ms;
  }
  return ":1\r\n";
}

static inline const char *fake_run_auth(struct fake_server *s, struct fake_connection *c,
                                        const struct fake_args *a) {
  const char *user = s->username ? s->username : "default";
  int right = s->password && a->count >= 2 && fake_arg_has(a, a->count - 1, s->password) &&
              (a->count == 2 || fake_arg_is(a, 1, user));
  if (!s->password) return "-ERR AUTH <password> called without any password configured\r\n";
  if (!right) return "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
  c->authed = 1;
  return "+OK\r\n";
}

static inline const char *fake_run_select(struct fake_server *s, struct fake_connection *c,
                                          const struct fake_args *a) {
  long long db = fake_arg_number(a, 1);
  if (db < 0 || db >= s->databases) return "-ERR DB index is out of range\r\n";
  c->db = (int)db;
  return "+OK\r\n";
}

/* With a map that has an array of maps in it, as where there are modules. */
static inline const char *fake_run_hello(struct fake_server *s, struct fake_connection *c) {
  if (!s->wakes) return "-ERR unknown command 'HELLO', with args beginning with: '3' \r\n";
  c->resp3 = 1;
  return "%5\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n$4\r\nrole\r\n$0\r\n\r\n"
         "+x\r\n_\r\n$7\r\nmodules\r\n*2\r\n%2\r\n$3\r\nver\r\n:-1\r\n$4\r\nargs\r\n*1\r\n_\r\n"
         "%1\r\n:0\r\n*0\r\n";
}

static inline const char *fake_run_tracking(struct fake_server *s, struct fake_connection *c,
                                            const struct fake_args *a) {
  if (!s->wakes) return "-ERR Unknown subcommand or wrong number of arguments for 'TRACKING'\r\n";
  c->tracks = c->resp3;
  c->noloop = fake_arg_is(a, 3, "NOLOOP");
  return "+OK\r\n";
}

/* EVAL script 0 run_id 16, or uptime_in_seconds 10 */
static inline const char *fake_run_info(const struct fake_server *s, int64_t at,
                                        const struct fake_args *a, char *room, size_t size) {
  int asks_run_id = fake_arg_is(a, 3, "run_id");
  if (s->no_info) return "-ERR The user executing the script can't run this command\r\n";
  if (*s->role != 'm') return "$-1\r\n";
  if (asks_run_id ? s->hides_run_id : s->hides_uptime)
    return "-ERR user_script:1: attempt to index a nil value\r\n";
  if (asks_run_id) snprintf(room, size, ":%u\r\n", s->run_id);
  else snprintf(room, size, ":%lld\r\n", (long long)((at - s->started_at) / 1000));
  return room;
}

static inline const char *fake_run_command(struct fake_server *s, struct fake_connection *c,
                                           const struct fake_args *a,
                                           const struct fake_command *command, char *room,
                                           size_t size) {
  if (s->password && !c->authed && command->kind != FAKE_AUTH)
    return "-NOAUTH Authentication required.\r\n";
  switch (command->kind) {
    case FAKE_SET:
      if (command->fenced) return fake_run_fenced(s, c->db, a, command, room, size);
      return fake_run_set(s, c->db, a, command, room, size);
    case FAKE_RELEASE:
    case FAKE_EXTEND: return fake_run_script(s, c->db, a, command, room, size);
    case FAKE_AUTH: return fake_run_auth(s, c, a);
    case FAKE_SELECT: return fake_run_select(s, c, a);
    case FAKE_INFO: return fake_run_info(s, command->at, a, room, size);
    case FAKE_HELLO: return fake_run_hello(s, c);
    case FAKE_TRACKING: return fake_run_tracking(s, c, a);
    case FAKE_OTHER: break;
  }
  return "-ERR unknown command\r\n";
}

/* SET key value [NX] PX ttl, in any order of the options;
   EVAL script 1 key value [ttl [PX]], or EVAL script 1 key value ttl token max_ttl */
static inline void fake_describe(struct fake_command *c, const struct fake_args *a) {
  int first = fake_arg_is(a, 0, "SET") ? 1 : 3, i;
  if (c->kind <= FAKE_EXTEND) {
    c->key = fake_arg_text(a, first);
    c->value = fake_arg_text(a, first + 1);
    c->fenced = c->kind == FAKE_SET && first == 3 && fake_arg_has(a, 1, ":fence");
    c->arms = c->kind == FAKE_SET && first == 3 && !c->fenced;
    if (c->fenced) {
      c->token = fake_arg_number(a, 6);
      c->max_ttl_ms = fake_arg_number(a, 7);
    }
    if (first == 3) c->ttl_ms = fake_arg_number(a, 5);
    if (c->kind == FAKE_RELEASE) c->ttl_ms = 0;
    c->getex = first == 3 && fake_arg_has(a, 1, "'getex'");
    for (i = 3; first == 1 && i + 1 < a->count; i++)
      if (fake_arg_is(a, i, "PX")) c->ttl_ms = fake_arg_number(a, i + 1);
    return;
  }
  for (i = 0; i < a->count; i++) {
    size_t used = strlen(c->words);
    snprintf(c->words + used, sizeof c->words - used, "%s%.*s", i ? " " : "", (int)a->size[i],
             (const char *)a->arg[i]);
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

/* A string may have any bytes; but what a test answers may be anything. */
static inline size_t fake_answer_size(const char *answer, int is_rule) {
  if (is_rule || answer[0] != '$' || answer[1] == '-') return strlen(answer);
  return strcspn(answer, "\n") + 1 + (size_t)strtoul(answer + 1, NULL, 10) + 2;
}

static inline void fake_execute(struct fake *f, struct fake_connection *c,
                                const struct fake_args *a) {
  struct fake_server *s = &f->server[c->server];
  struct fake_command *command;
  struct fake_rule *rule;
  struct fake_key before;
  const char *answer = NULL;
  char room[640];
  f->log = (struct fake_command *)fake_grow(f->log, &f->log_room, f->logged + 1, sizeof *f->log);
  command = &f->log[f->logged++];
  memset(command, 0, sizeof *command);
  command->server = c->server;
  command->client = c->client;
  command->connection = c->number;
  command->at = a->at > s->thaw_at ? a->at : s->thaw_at;
  command->kind = fake_kind_of(a);
  fake_describe(command, a);
  fake_reap(f, c->server, &command->key, command->at);
  before = fake_look_at(s, c->db, command);
  rule = fake_rule_for(f, command);
  if (!rule || rule->runs) answer = fake_run_command(s, c, a, command, room, sizeof room);
  if (rule) answer = rule->answer;
  if (answer && c->resp3 && strcmp(answer, "$-1\r\n") == 0) answer = "_\r\n";
  if (answer)
    snprintf(command->answer, sizeof command->answer, "%.*s", (int)strcspn(answer, "\r"), answer);
  if (answer) fake_reply(s, c, answer, fake_answer_size(answer, rule != NULL), command->at);
  fake_follow(f, c, command, &before);
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
    int got = FAKE_PART;
    if (f->server[c->server].thaw_at > f->now_ms) continue;
    while (c->in.next < c->in.end &&
           (got = fake_read_command(&c->in, f->now_ms, &args)) == FAKE_WHOLE)
      fake_execute(f, c, &args);
    if (got == FAKE_MALFORMED) {
      fake_misuse(f, "malformed command", c->server);
      c->in.next = c->in.end;
    }
  }
}

#endif
