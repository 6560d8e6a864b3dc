/* faults.h: what can go wrong with a server, a connection or a hook. */
#ifndef FUZZ_FAULTS_H
#define FUZZ_FAULTS_H

/* As it was at first, but for its keys, its connections and when it started. */
static inline void heal(int server) {
  struct fake_server *s = &world.fake.server[server], was = *s;
  memset(&s->store, 0, sizeof s->store);
  fake_server_begin(s, (unsigned)server);
  s->connections = was.connections;
  s->store.key = was.store.key;
  s->store.keys = was.store.keys;
  s->store.room = was.store.room;
  if (was.connections) s->started_at = was.started_at;
  s->run_id |= was.run_id & 0xff00; /* as often as it restarted */
  if (s->run_id != was.run_id) fake_reset(&world.fake, server, FAKE_RST); /* as any other server */
  s->reply_ms = world.reply_ms;
  s->store.password = world.password;
  s->thaw_at = s->connect_ms = s->request_ms = s->split_ms = s->gap_ms = 0;
  s->split_at = 0;
  s->open_fails = s->refuses = s->cuts = s->hangs_up = 0;
  s->greeting = NULL;
  world.fake.rules = 0;
  fake_thaw(&world.fake, server);
}

static inline void stop_failing(void) {
  world.fake.fail_hook = FAKE_ANY;
  world.fake.on_call = NULL;
}

static inline void jump(struct fake *f, enum fake_hook hook, int server) {
  (void)hook;
  (void)server;
  if (world.jump_after-- > 0) return;
  f->on_call = NULL;
  f->now_ms += world.jump_ms;
}

static inline void freeze(int server, uint8_t how) {
  static const int64_t times[] = {0, 10, 60, 300, 1000, 2500};
  struct fake_server *s = &world.fake.server[server];
  int64_t ms = PICK(times, how);
  if (ms) s->thaw_at = world.fake.now_ms + ms;
  else fake_thaw(&world.fake, server);
}

static inline void connecting(int server, uint8_t how) {
  static const int64_t times[] = {0, 1, 20, 70, 2500, FAKE_NEVER};
  struct fake_server *s = &world.fake.server[server];
  s->connect_ms = PICK(times, how >> 3);
  s->refuses = how % 8 == 1;
  s->open_fails = how % 8 == 2;
  s->hangs_up = how % 8 == 3;
  s->greeting = s->hangs_up && how & 8 ? "-ERR max number of clients reached\r\n" : NULL;
}

static inline void narrow(int server, uint8_t how) {
  static const size_t sizes[] = {SIZE_MAX, 3, 11, 60, 200};
  struct fake_server *s = &world.fake.server[server];
  s->send_chunk = PICK(sizes, how & 7);
  s->recv_chunk = PICK(sizes, how >> 3 & 7);
  s->socket_room = how >> 6 ? (size_t)(how >> 6) * 350 : SIZE_MAX; /* a whole command */
}

static inline void delay(int server, uint8_t how) {
  static const int64_t times[] = {0, 1, 12, 48, 75, 260, 2, 20};
  struct fake_server *s = &world.fake.server[server];
  s->reply_ms = PICK(times, how & 7);
  s->request_ms = PICK(times, how >> 3 & 3);
  s->split_at = how >> 6;
  s->split_ms = how & 32 ? 30 : 3;
}

static inline void cut(int server, uint8_t how) {
  struct fake_server *s = &world.fake.server[server];
  size_t at = (size_t)(how & 63) * 5 + 1;
  s->cuts = 1;
  s->cut_end = how & 64 ? FAKE_FIN : FAKE_RST;
  s->cut_in = how & 128 ? at : SIZE_MAX;
  s->cut_out = how & 128 ? SIZE_MAX : at / 8 + 1;
}

/* The next command of a kind is refused, whether or not it was run; or the handshake is. */
static inline void refuse(int server, uint8_t how) {
  static const char *const errors[] = {
    "-LOADING Redis is loading\r\n", "-READONLY replica\r\n", "-OOM command not allowed\r\n",
    "-ERR unknown command 'SET', with args beginning with: 'a'\r\n", "-\r\n", "+QUEUED\r\n"
  };
  struct fake *f = &world.fake;
  if (f->rules == FAKE_RULES) f->rules = 0;
  fake_answer(f, server, how & 7 ? (how & 7) - 1 : FAKE_ANY, how >> 6 ? 1 : 3,
              PICK(errors, how >> 4))->runs = how >> 3 & 1;
}

/* The next calls of a hook fail, or the clock jumps in the middle of a call. */
static inline void fail(uint8_t how) {
  struct fake *f = &world.fake;
  if (how & 8) {
    world.jump_after = how & 7;
    world.jump_ms = how >> 4 == 15 ? 2000 : (how >> 4) * 5;
    world.is_rushed = 1;
    f->on_call = jump;
    return;
  }
  f->fail_hook = (how & 7) % FAKE_HOOKS;
  f->fail_from = f->calls[f->fail_hook] + 1;
  f->fail_until = f->calls[f->fail_hook] + 1 + (how >> 4);
  world.has_failed = 1;
}

/* It restarts with nothing: only with the quarantine does that share no lock. */
static inline void restart(int server) {
  if (world.options.max_ttl_ms == 0 && !world.may_lie) return;
  if (world.options.max_ttl_ms == 0) world.is_honest = 0;
  fake_restart(&world.fake, server);
  world.forgot = 1;
}

/* Somebody else's lock, if it is free. */
static inline void occupy(int server, const char *key, int64_t ttl_ms) {
  if (!fake_key_at(&world.fake, server, key))
    fake_put(&world.fake, server, key, "foreign", ttl_ms);
}

/* What the server itself is. */
static inline void change(int server, uint8_t how) {
  struct fake_server *s = &world.fake.server[server];
  switch (how & 7) {
    case 1: s->store.password = s->store.password ? NULL : "other"; break;
    case 2: s->store.databases = s->store.databases == 16 ? 1 : 16; break;
    case 3: s->store.refuse_info = !s->store.refuse_info; break;
    case 4: s->store.replica = !s->store.replica; break;
    case 5: s->run_id = world.fake.server[0].run_id; break;
    case 6: occupy(server, how & 8 ? "a" : "b", how); break;
    default: restart(server); break;
  }
}

/* Bytes that nobody asked for. */
static inline void stray(int server, const char *bytes) {
  size_t i;
  for (i = 0; i < world.fake.connections; i++) {
    struct fake_connection *c = &world.fake.connection[i];
    if (c->server == server && c->held)
      fake_reply(&world.fake.server[server], c, bytes, strlen(bytes), world.fake.now_ms);
  }
}

/* The next bytes of the input, up to a zero. */
static inline const char *raw_bytes(size_t count) {
  static char texts[EVENTS][17];
  char *text = texts[world.raw_texts++];
  size_t i;
  for (i = 0; i < count; i++) text[i] = (char)fuzz_byte(world.input);
  text[count] = '\0';
  return text;
}

/* Answers, and what is none, that shift the votes or turn them. */
static inline void lie(int server, uint8_t how) {
  static const char *const words[] = {
    "+OK\r\n", "$-1\r\n", ":1\r\n", ":0\r\n", "-ERR\r\n", "+", "$3\r\nabc\r\n", "\r\n",
    "$999\r\n", "$70000\r\n", "_\r\n", ">2\r\n", ":99999999999999999999\r\n", "-LOADING\r\n",
    "*1\r\n", "+OK\r\n+OK\r\n"
  };
  const char *text;
  if (!world.may_lie) return;
  text = how & 16 ? raw_bytes((how & 15) + 1u) : PICK(words, how);
  world.is_honest = 0;
  if (world.fake.rules == FAKE_RULES) world.fake.rules = 0;
  if (how & 128) stray(server, text);
  else fake_answer(&world.fake, server, how & 64 ? FAKE_SET : FAKE_ANY, 1, how & 32 ? NULL : text);
}

static inline void trouble(enum event event, int server, uint8_t how) {
  switch (event) {
    case FREEZE: freeze(server, how); break;
    case END: fake_reset(&world.fake, server, how & 1 ? FAKE_FIN : FAKE_RST); break;
    case CONNECT: connecting(server, how); break;
    case SOCKET: narrow(server, how); break;
    case DELAY: delay(server, how); break;
    case CUT: cut(server, how); break;
    case REFUSE: refuse(server, how); break;
    case FAIL: fail(how); break;
    case CHANGE: change(server, how); break;
    default: lie(server, how); break;
  }
}

#endif
