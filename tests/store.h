/* store.h: one server without its sockets, for the fakes, the simulator and the fuzzer: bytes in,
 * exactly the bytes that a real one would answer out. sim/conformance.c holds it to that. It knows
 * the commands that redlock.h sends, and a few more to look at the result. It is of any kind: Redis
 * 7 and later, or Valkey.
 *
 * Scripts are not run but known by their words. A new one is taught here and nowhere else:
 *   script_of    which script it is
 *   store_eval   what it does; fenced.h: what that of R25 does
 *   sim/conformance.c, make_*: that a real server does and answers the same */
#ifndef STORE_H
#define STORE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fenced.h"

#ifndef STORE_NAME /* the explorer's are smaller: it copies its servers for each event */
#define STORE_NAME 160
#define STORE_VALUE 64
#define STORE_READS 16
#endif

enum {
  STORE_ARGS = 12,
  STORE_REPLY = 4096,
  STORE_COMMAND = 2048 /* the longest command, in bytes */
};

struct key {
  int used, db;
  int list;               /* not a string: every GET is a WRONGTYPE */
  size_t name_size, value_size;
  unsigned char name[STORE_NAME], value[STORE_VALUE];
  int64_t expires_ms;     /* on the server's clock; 0 = never */
  int64_t reaped_ms;      /* the expiry that will be seen to */
  int64_t set_at;         /* for the checker: when that was, or it was extended ... */
  uint32_t owner;         /* ... the connection that set it ... */
  int excused;            /* ... and whether that was broken by no fault of the client */
  int refused;            /* a native release of it was (the simulator's) */
};

/* What a command did, for the checker. */
enum effect_kind {
  EFFECT_NONE, EFFECT_SET, EFFECT_SET_REFUSED, EFFECT_DELETED, EFFECT_NOT_DELETED, EFFECT_EXTENDED,
  EFFECT_NOT_EXTENDED, EFFECT_BLIND /* deleted or extended without looking at the value */
};

struct effect {
  int kind;
  struct key *key;        /* set or extended */
  const unsigned char *name, *value;
  size_t name_size, value_size;
  int64_t ttl_ms;
  int changed;            /* the key is another than before */
  const unsigned char *subject; /* its name */
  size_t subject_size;
};

/* How servers differ, all of it before the password is given. */
enum store_kind {
  KIND_REDIS_7,           /* errors of arity and of unknown commands come before NOAUTH */
  KIND_REDIS_8,           /* the same, but a failed AUTH behind unsent replies gets no reply */
  KIND_VALKEY,            /* NOAUTH comes first */
  STORE_KINDS
};

static inline const char *store_kind_text(enum store_kind kind) {
  static const char *const text[STORE_KINDS] = {"Redis 7", "Redis 8", "Valkey"};
  return text[kind];
}

enum { STORE_DELEX = 1, STORE_DELIFEQ = 2 };

struct arg {
  const unsigned char *at;
  size_t size;
};

/* What a connection has read, and will get one push of (R26). */
struct read {
  size_t size;
  int present;            /* it was there: that it expires is pushed too */
  unsigned char name[STORE_NAME];
};

struct session {
  int db, authed;
  int resp3, tracks, noloop;
  int reads;
  struct read read[STORE_READS];
  int unsent;             /* replies that this turn of the server's loop has not written yet */
};

struct store {
  struct key *key;        /* room for so many: what does not fit is an error */
  int room, keys;         /* keys: high-water mark */
  int64_t now_ms, now_us; /* its own wall clock */
  int64_t started_s;
  char run_id[41];
  int replica;
  const char *username, *password; /* NULL = default, none */
  enum store_kind kind;
  int databases;
  int error;              /* an error that every command with a key gets; 0 = none */
  int refuse_auth, refuse_select, refuse_info;
  int refuse_hello, refuse_tracking, refuse_getex;
  unsigned natives;       /* STORE_DELEX, STORE_DELIFEQ: it knows them */
  int refuse_natives;     /* ... but the user may not run them */
  int cluster;            /* HELLO says so; it is told nothing else of it */
  const char *version;    /* what HELLO says; NULL = one that fits its commands */
  int hide_run_id, hide_uptime; /* INFO does not tell that much */
  int fail_write;         /* which write of R25's script finds no memory; 0 = none */
};

enum { STORE_ERRORS = 19, STORE_ERROR_LOADING = 1, STORE_ERROR_BUSY = 2, STORE_ERROR_OOM = 4,
       STORE_ERROR_READONLY = 9, STORE_ERROR_NOAUTH = 10, STORE_ERROR_WRONGTYPE = 15,
       STORE_ERROR_ASKED = 17 };

/* R15, word for word. The kinds that come unasked stand last. */
static inline const char *store_error(int i) {
  static const char *const text[STORE_ERRORS] = {
    "",
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
    "disk. Commands that may modify the data set are disabled, because this instance is "
    "configured to report errors during writes if RDB snapshotting fails "
    "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB "
    "error.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "NOREPLICAS Not enough good replicas to write.",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "CLUSTERDOWN The cluster is down",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "READONLY You can't write against a read only replica.",
    "NOAUTH Authentication required.",
    "NOPERM this user has no permissions to run the 'set' command",
    "MOVED 3999 127.0.0.1:6381",
    "ASK 3999 127.0.0.1:6381",
    "CROSSSLOT Keys in request don't hash to the same slot",
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "ERR unknown command 'SET', with args beginning with: ",
    "ERR max number of clients reached",
    "DENIED Redis is running in protected mode because protected mode is enabled and no password "
    "is set for the default user."
  };
  return text[i];
}

/* ---- replies ---- */

struct reply {
  char *at;
  size_t size;
};

static inline void reply_bytes(struct reply *r, const void *bytes, size_t size) {
  if (r->size + size > STORE_REPLY) return;
  memcpy(r->at + r->size, bytes, size);
  r->size += size;
}

static inline void reply_text(struct reply *r, const char *text) {
  reply_bytes(r, text, strlen(text));
}

static inline void reply_error(struct reply *r, const char *text) {
  reply_text(r, "-");
  reply_text(r, text);
  reply_text(r, "\r\n");
}

static inline void reply_integer(struct reply *r, int64_t n) {
  char text[32];
  snprintf(text, sizeof text, ":%lld\r\n", (long long)n);
  reply_text(r, text);
}

static inline void reply_bulk(struct reply *r, const void *bytes, size_t size) {
  char text[32];
  snprintf(text, sizeof text, "$%lu\r\n", (unsigned long)size);
  reply_text(r, text);
  reply_bytes(r, bytes, size);
  reply_text(r, "\r\n");
}

static inline void reply_nil(struct reply *r, const struct session *c) {
  reply_text(r, c->resp3 ? "_\r\n" : "$-1\r\n");
}

/* ---- who reads what (R26) ---- */

/* Where the name stands among what was read; -1 = nowhere. */
static inline int session_has(const struct session *c, const unsigned char *name, size_t size) {
  int i = c->reads;
  while (i-- > 0)
    if (c->read[i].size == size && memcmp(c->read[i].name, name, size) == 0) return i;
  return -1;
}

static inline void session_reads(struct session *c, struct arg name, int present) {
  int i = session_has(c, name.at, name.size);
  if (!c->tracks || name.size > STORE_NAME || (i < 0 && c->reads == STORE_READS)) return;
  if (i < 0) i = c->reads++;
  c->read[i].size = name.size;
  c->read[i].present = present;
  memcpy(c->read[i].name, name.at, name.size);
}

/* 1 = it had been read, and is not any more. */
static inline int session_forgets(struct session *c, const unsigned char *name, size_t size) {
  int i = session_has(c, name, size);
  if (i >= 0) c->read[i] = c->read[--c->reads];
  return i >= 0;
}

/* The push; NULL = of nil. */
static inline void reply_push(struct reply *r, const unsigned char *name, size_t size) {
  reply_text(r, ">2\r\n$10\r\ninvalidate\r\n");
  reply_text(r, name ? "*1\r\n" : "_\r\n");
  if (name) reply_bulk(r, name, size);
}

/* ---- keys ---- */

/* Its time has run out, though nobody may have looked at it since. */
static inline int key_is_over(const struct key *k, int64_t now_ms) {
  return k->expires_ms && now_ms > k->expires_ms;
}

/* The key of that name, be it over or not. */
static inline struct key *store_look_up(const struct store *s, int db, struct arg name) {
  int i;
  for (i = 0; i < s->keys; i++) {
    struct key *k = &s->key[i];
    if (k->used && k->db == db && k->name_size == name.size &&
        memcmp(k->name, name.at, name.size) == 0)
      return k;
  }
  return NULL;
}

static inline struct key *store_find(struct store *s, int db, struct arg name) {
  struct key *k = store_look_up(s, db, name);
  if (!k || !key_is_over(k, s->now_ms)) return k;
  k->used = 0;
  return NULL;
}

static inline struct key *store_add(struct store *s, int db, struct arg name) {
  int i = 0;
  struct key *k;
  while (i < s->keys && s->key[i].used && !key_is_over(&s->key[i], s->now_ms)) i++;
  if (i == s->room || name.size > STORE_NAME) return NULL;
  if (i == s->keys) s->keys++;
  k = &s->key[i];
  memset(k, 0, sizeof *k);
  k->used = 1;
  k->db = db;
  memcpy(k->name, name.at, name.size);
  k->name_size = name.size;
  return k;
}

static inline struct key *store_put(struct store *s, int db, struct arg name, struct arg value,
                                    int64_t ttl_ms) {
  struct key *k = store_find(s, db, name);
  if (!k) k = store_add(s, db, name);
  if (!k || value.size > STORE_VALUE) return NULL;
  memcpy(k->value, value.at, value.size);
  k->value_size = value.size;
  k->list = 0;
  k->expires_ms = s->now_ms + ttl_ms;
  return k;
}

static inline int key_has(const struct key *k, struct arg value) {
  return k && !k->list && k->value_size == value.size &&
         memcmp(k->value, value.at, value.size) == 0;
}

static inline int arg_is(struct arg a, const char *text) {
  size_t i;
  for (i = 0; i < a.size && text[i]; i++) {
    int c = a.at[i];
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
    if (c != text[i]) return 0;
  }
  return i == a.size && !text[i];
}

/* As Redis' string2ll; 0 = not an integer. */
static inline int arg_integer(struct arg a, int64_t *out) {
  uint64_t n = 0;
  size_t i = 0;
  int negative = a.size > 1 && a.at[0] == '-';
  if (negative) i++;
  if (i == a.size || (a.at[i] == '0' && a.size > 1)) return 0;
  for (; i < a.size; i++) {
    uint64_t digit = (uint64_t)(a.at[i] - '0');
    if (a.at[i] < '0' || a.at[i] > '9' || n > (UINT64_MAX - digit) / 10) return 0;
    n = n * 10 + digit;
  }
  if (n > (uint64_t)INT64_MAX) return 0;
  *out = negative ? -(int64_t)n : (int64_t)n;
  return 1;
}

/* ---- commands ---- */

static inline void store_wrong_arity(struct reply *r, const char *name) {
  char text[96];
  snprintf(text, sizeof text, "ERR wrong number of arguments for '%s' command", name);
  reply_error(r, text);
}

/* The expiry of SET PX and PEXPIRE; 0 = it was refused. */
static inline int store_expiry(struct store *s, struct arg a, const char *command, struct reply *r,
                               int64_t *when) {
  char text[80];
  if (!arg_integer(a, when)) {
    reply_error(r, "ERR value is not an integer or out of range");
    return 0;
  }
  if (*when <= 0 || *when > INT64_MAX - s->now_ms) {
    snprintf(text, sizeof text, "ERR invalid expire time in '%s' command", command);
    reply_error(r, text);
    return 0;
  }
  return 1;
}

static inline void store_note(struct effect *e, int kind, struct arg name, struct arg value) {
  e->kind = kind;
  e->name = name.at;
  e->name_size = name.size;
  e->value = value.at;
  e->value_size = value.size;
}

static inline void store_set(struct store *s, struct session *c, int argc, const struct arg *argv,
                             struct reply *r, struct effect *e) {
  int nx = 0, px = 0, i;
  int64_t ttl = 0;
  struct key *k;
  for (i = 3; i < argc; i++) {
    if (arg_is(argv[i], "nx") && !nx) nx = 1;
    else if (arg_is(argv[i], "px") && !px && i + 1 < argc) px = ++i;
    else {
      reply_error(r, "ERR syntax error");
      return;
    }
  }
  if (px && !store_expiry(s, argv[px], "set", r, &ttl)) return;
  k = store_find(s, c->db, argv[1]);
  e->ttl_ms = ttl;
  store_note(e, EFFECT_SET_REFUSED, argv[1], argv[2]);
  if (s->replica) {
    e->kind = EFFECT_NONE;
    reply_error(r, store_error(STORE_ERROR_READONLY));
    return;
  }
  if (k && nx) {
    reply_nil(r, c);
    return;
  }
  k = store_put(s, c->db, argv[1], argv[2], ttl);
  if (!k) {
    reply_error(r, "ERR the simulated server is full");
    return;
  }
  if (!px) k->expires_ms = 0;
  store_note(e, EFFECT_SET, argv[1], argv[2]);
  e->key = k;
  reply_text(r, "+OK\r\n");
}

static inline int script_has(struct arg script, const char *word) {
  const unsigned char *at = script.at, *end = script.at + script.size;
  size_t size = strlen(word);
  for (; size <= (size_t)(end - at); at++) {
    at = (const unsigned char *)memchr(at, word[0], (size_t)(end - at) - size + 1);
    if (!at) return 0;
    if (memcmp(at, word, size) == 0) return 1;
  }
  return 0;
}

enum script { SCRIPT_RELEASE, SCRIPT_EXTEND, SCRIPT_TRACKED, SCRIPT_FENCED, SCRIPT_INFO,
              SCRIPT_PROOF };

/* Which of them it is, by the words in it and by its arguments. A planted bug takes words away. */
static inline enum script script_of(int argc, const struct arg *argv) {
  if (argc == 10 && script_has(argv[1], "KEYS[2]")) return SCRIPT_FENCED;
  if (script_has(argv[1], "'info'")) return SCRIPT_INFO;
  if (script_has(argv[1], "{ok=")) return SCRIPT_PROOF;
  if (argc == 7) return SCRIPT_TRACKED;
  return argc > 5 && script_has(argv[1], "pexpire") ? SCRIPT_EXTEND : SCRIPT_RELEASE;
}

static inline void store_del(struct store *s, struct key *k, struct reply *r, struct effect *e,
                             int looked) {
  if (s->replica) {
    reply_error(r, store_error(STORE_ERROR_READONLY));
    return;
  }
  if (!k) {
    reply_integer(r, 0);
    return;
  }
  e->kind = looked ? EFFECT_DELETED : EFFECT_BLIND;
  k->used = 0;
  reply_integer(r, 1);
}

static inline void store_extend(struct store *s, struct key *k, struct arg ttl, int looks_at_ttl,
                                struct reply *r, struct effect *e) {
  int64_t n = 0, left = k->expires_ms ? k->expires_ms - s->now_ms : -1;
  if (!arg_integer(ttl, &n)) {
    reply_error(r, "ERR value is not an integer or out of range");
    return;
  }
  e->kind = EFFECT_EXTENDED;
  e->key = k;
  e->ttl_ms = n;
  if (looks_at_ttl && left >= n) {
    reply_integer(r, 1);
    return;
  }
  if (s->replica) {
    e->kind = EFFECT_NONE;
    reply_error(r, store_error(STORE_ERROR_READONLY));
    return;
  }
  k->expires_ms = s->now_ms + n;
  if (n <= 0) k->used = 0;
  reply_integer(r, 1);
}

static inline struct arg arg_of(const char *text) {
  struct arg a;
  a.at = (const unsigned char *)text;
  a.size = strlen(text);
  return a;
}

/* What a SET by script asks for by its third word: its own value's beginning, that nothing is
   there; else that what is there begins so (R28). */
static inline int store_lets(const struct key *k, const struct arg *argv) {
  const unsigned char *at = k ? k->value : argv[4].at;
  size_t size = k ? k->value_size : argv[4].size;
  if (size > 20) size = 20;
  return size == argv[6].size && memcmp(at, argv[6].at, size) == 0;
}

/* What R25's script is told of the keys, and what it fails by if it looks at the counter; 0 = it
   fails in any case, and has said so. */
static inline int store_facts(struct store *s, struct session *c, const struct arg *argv,
                              struct arg counter, struct fenced_facts *f, const char **fault,
                              struct reply *r) {
  static const char no_number[] =
      "ERR user_script:1: attempt to perform arithmetic on a string value";
  const struct key *k;
  struct arg text;
  memset(f, 0, sizeof *f);
  f->taken = !store_lets(store_find(s, c->db, argv[3]), argv);
  k = store_find(s, c->db, counter);
  text.at = k ? k->value : NULL;
  text.size = k ? k->value_size : 0;
  f->has_counter = k && arg_integer(text, &f->counter);
  *fault = !k || f->has_counter ? NULL : k->list ? store_error(STORE_ERROR_WRONGTYPE) : no_number;
  f->clock_us = s->now_us;
  if (arg_integer(argv[5], &f->ttl_ms) && arg_integer(argv[7], &f->token) &&
      arg_integer(argv[8], &f->max_ttl_ms))
    return 1;
  reply_error(r, no_number);
  return 0;
}

/* What the scripts say of a key that is not as it should be. */
static inline void reply_age(struct reply *r, const struct session *c, const struct key *k) {
  size_t size = k && k->value_size > 20 ? k->value_size - 20 : 0;
  if (!k) reply_nil(r, c);
  else reply_bulk(r, k->value + 20, size < 4 ? size : 4);
}

/* Both keys of R25, in the script's order; 0 = one of the writes found no memory. */
static inline int store_write_both(struct store *s, int db, const struct arg *argv,
                                   struct arg counter, const struct fenced_script *script,
                                   const struct fenced_facts *facts,
                                   const struct fenced_plan *plan, struct effect *e) {
  int k;
  for (k = 1; k <= 2; k++) {
    if (k == s->fail_write) return 0;
    if ((k == 1) != script->lock_first) {
      (void)store_put(s, db, counter, argv[7], plan->counter_px_ms);
    } else {
      e->key = store_put(s, db, argv[3], argv[4], facts->ttl_ms);
      e->kind = e->key ? EFFECT_SET : EFFECT_NONE;
    }
  }
  return 1;
}

/* R25: EVAL script 2 resource counter value ttl beginning token max_ttl. */
static inline void store_fenced(struct store *s, struct session *c, const struct arg *all,
                                const struct fenced_script *script, struct reply *r,
                                struct effect *e) {
  struct arg argv[9], counter = all[4]; /* argv: as if there were one key */
  struct fenced_facts facts;
  struct fenced_plan plan;
  const char *fault;
  struct key *k = store_find(s, c->db, all[3]);
  if (counter.size > STORE_NAME) return;
  memcpy(argv, all, 4 * sizeof *argv);
  memcpy(argv + 4, all + 5, 5 * sizeof *argv);
  if (k && k->list && script->looks) {
    reply_error(r, store_error(STORE_ERROR_WRONGTYPE));
    return;
  }
  if (!store_facts(s, c, argv, counter, &facts, &fault, r)) return;
  plan = fenced_decide(script, &facts);
  if (plan.writes && fault && script->counter) {
    reply_error(r, fault);
    return;
  }
  if (plan.writes && (s->replica || s->error == STORE_ERROR_OOM)) {
    reply_error(r, s->replica ? store_error(STORE_ERROR_READONLY) : store_error(STORE_ERROR_OOM));
    return;
  }
  store_note(e, EFFECT_SET_REFUSED, argv[3], argv[4]);
  e->ttl_ms = facts.ttl_ms;
  if (plan.writes && !store_write_both(s, c->db, argv, counter, script, &facts, &plan, e))
    reply_error(r, store_error(STORE_ERROR_OOM));
  else if (plan.reply) reply_integer(r, plan.reply);
  else reply_age(r, c, k);
}

/* The last one that was sent: there is but one. */
static struct fenced_script store_known_script;
static struct arg store_known_text;

static inline const struct fenced_script *store_script(struct arg text) {
  static unsigned char known[1024];
  if (!store_known_script.is_fenced || text.size != store_known_text.size ||
      memcmp(text.at, known, text.size)) {
    store_known_script = fenced_read((const char *)text.at, text.size);
    store_known_text.at = known;
    store_known_text.size = text.size < sizeof known ? text.size : 0;
    memcpy(known, text.at, store_known_text.size);
  }
  return &store_known_script;
}

/* Only a planted bug does. */
static inline void store_forget_counter(struct store *s, int db, struct arg resource) {
  unsigned char name[STORE_NAME + 8];
  struct arg counter = {name, resource.size + 6};
  struct key *k;
  if (counter.size > STORE_NAME) return;
  memcpy(name, resource.at, resource.size);
  memcpy(name + resource.size, ":fence", 6);
  k = store_find(s, db, counter);
  if (k) k->used = 0;
}

/* DELEX key IFEQ value, DELIFEQ key value: argv is the key, and the value. The words for what is no
   string are each server's own. */
static inline void store_native(struct store *s, struct session *c, const struct arg *argv,
                                const char *no_string, struct reply *r, struct effect *e) {
  struct key *k = store_find(s, c->db, argv[0]);
  store_note(e, EFFECT_NOT_DELETED, argv[0], argv[1]);
  if (s->replica) {
    e->kind = EFFECT_NONE;
    reply_error(r, store_error(STORE_ERROR_READONLY));
  } else if (k && k->list) {
    reply_error(r, no_string);
  } else if (key_has(k, argv[1])) {
    store_del(s, k, r, e, 1);
  } else {
    reply_integer(r, 0);
  }
}

static inline void store_delex(struct store *s, struct session *c, const struct arg *argv,
                               struct reply *r, struct effect *e) {
  struct arg words[2];
  words[0] = argv[1];
  words[1] = argv[3];
  store_native(s, c, words, "ERR Key should be of string type if conditions are specified", r, e);
}

/* R26 R28: EVAL script 1 resource value ttl beginning, which has read the key. Where its own value
   is there already, that of a server of two names (R5), it extends it. */
static inline void store_set_tracked(struct store *s, struct session *c, const struct arg *argv,
                                     struct key *k, struct reply *r, struct effect *e) {
  struct arg set[5];
  set[1] = argv[3];
  set[2] = argv[4];
  set[3] = arg_of("PX");
  set[4] = argv[5];
  store_note(e, EFFECT_SET_REFUSED, argv[3], argv[4]);
  if (k && k->list) reply_error(r, store_error(STORE_ERROR_WRONGTYPE));
  else if (key_has(k, argv[4]) && script_has(argv[1], "v==w and"))
    store_extend(s, k, argv[5], script_has(argv[1], "'pttl'"), r, e);
  else if (!store_lets(k, argv) && script_has(argv[1], "(v or w):sub(1,20)==n"))
    reply_age(r, c, k);
  else if (s->error == STORE_ERROR_OOM && script_has(argv[1], "v=not n and c("))
    reply_error(r, store_error(s->error)); /* behind a write, as GETEX is, it would be set */
  else store_set(s, c, 5, set, r, e);
}

/* Whether a release or extension, which finds its own value or not, reads the key by what counts as
   a read. */
static inline int store_reads(const struct store *s, struct arg script, int finds, int extends) {
  return !finds || extends || s->refuse_getex || !script_has(script, "'getex'");
}

/* What it does. What a planted bug took away from it, it does not. */
static inline void store_eval(struct store *s, struct session *c, int argc, const struct arg *argv,
                              struct reply *r, struct effect *e) {
  struct key *k = store_find(s, c->db, argv[3]);
  struct arg none = {NULL, 0}, value = argc > 4 ? argv[4] : none;
  enum script script = script_of(argc, argv);
  int extends = script == SCRIPT_EXTEND, looks = script_has(argv[1], "'get'"), finds;
  if (script == SCRIPT_FENCED) {
    session_reads(c, argv[3], k != NULL);
    store_fenced(s, c, argv, store_script(argv[1]), r, e);
    return;
  }
  if (script == SCRIPT_TRACKED) {
    if (looks) session_reads(c, argv[3], k != NULL);
    store_set_tracked(s, c, argv, k, r, e);
    return;
  }
  finds = key_has(k, value);
  if (looks && store_reads(s, argv[1], finds, extends)) session_reads(c, argv[3], k != NULL);
  if (s->refuse_getex && script_has(argv[1], "'getex'") && !script_has(argv[1], "or c('get',k)")) {
    reply_error(r, "ERR unknown command 'getex'"); /* and no GET instead */
    return;
  }
  store_note(e, extends ? EFFECT_NOT_EXTENDED : EFFECT_NOT_DELETED, argv[3], value);
  if (looks && k && k->list) {
    reply_error(r, store_error(STORE_ERROR_WRONGTYPE));
    return;
  }
  if (looks && !finds) {
    reply_age(r, c, k);
    return;
  }
  if (extends && k) store_extend(s, k, argv[5], script_has(argv[1], "'pttl'"), r, e);
  else store_del(s, k, r, e, looks);
  if (!extends && script_has(argv[1], ":fence")) store_forget_counter(s, c->db, argv[3]);
}

static inline void store_wrong_password(const struct store *s, const struct session *c,
                                        struct reply *r) {
  if (s->kind == KIND_REDIS_8 && c->unsent) return;
  reply_error(r, "WRONGPASS invalid username-password pair or user is disabled.");
}

static inline void store_auth(struct store *s, struct session *c, int argc, const struct arg *argv,
                              struct reply *r) {
  struct arg given = argv[argc - 1];
  int user_ok = argc == 2 || arg_is(argv[1], s->username ? s->username : "default");
  if (s->refuse_auth) {
    store_wrong_password(s, c, r);
    return;
  }
  if (argc == 2 && !s->password) {
    reply_error(r, "ERR AUTH <password> called without any password configured for the default "
                   "user. Are you sure your configuration is correct?");
    return;
  }
  if (!user_ok || (s->password && (given.size != strlen(s->password) ||
                                   memcmp(given.at, s->password, given.size)))) {
    store_wrong_password(s, c, r);
    return;
  }
  c->authed = 1;
  reply_text(r, "+OK\r\n");
}

static inline void store_select(struct store *s, struct session *c, const struct arg *argv,
                                struct reply *r) {
  int64_t n;
  if (!arg_integer(argv[1], &n)) {
    reply_error(r, "ERR value is not an integer or out of range");
  } else if (n < 0 || n >= s->databases || s->refuse_select) {
    reply_error(r, "ERR DB index is out of range");
  } else {
    c->db = (int)n;
    reply_text(r, "+OK\r\n");
  }
}

/* R24's script: as many of uptime and run_id as there are, up to the first that is missing. */
static inline void store_info(struct store *s, struct reply *r) {
  if (s->refuse_info) {
    reply_error(r, "ERR The user executing the script can't run this command or subcommand");
  } else if (s->hide_uptime) {
    reply_text(r, "*0\r\n");
  } else {
    reply_text(r, s->hide_run_id ? "*1\r\n" : "*2\r\n");
    reply_integer(r, s->now_ms / 1000 - s->started_s);
    if (!s->hide_run_id) reply_bulk(r, s->run_id, strlen(s->run_id));
  }
}

/* The script that ends a handshake returns its own word. */
static inline void store_prove(const struct arg *argv, struct reply *r) {
  const unsigned char *from = argv[1].at + strcspn((const char *)argv[1].at, "'") + 1;
  reply_text(r, "+");
  reply_bytes(r, from, strcspn((const char *)from, "'"));
  reply_text(r, "\r\n");
}

/* Only for conformance, to look at what the others did. */
static inline void store_look(struct store *s, struct session *c, int what, struct arg name,
                              struct reply *r, struct effect *e) {
  struct key *k = store_find(s, c->db, name);
  if (what == 'g' || what == 'p') session_reads(c, name, k != NULL);
  if (what == 'd') {
    store_del(s, k, r, e, 0);
  } else if (what == 'p') {
    reply_integer(r, !k ? -2 : !k->expires_ms ? -1 : k->expires_ms - s->now_ms);
  } else if (what == 'l') {
    if (k && !k->list) {
      reply_error(r, store_error(STORE_ERROR_WRONGTYPE));
      return;
    }
    if (!k) k = store_add(s, c->db, name);
    if (k) k->list++;
    reply_integer(r, k ? k->list : 0);
  } else if (k && k->list) {
    reply_error(r, store_error(STORE_ERROR_WRONGTYPE));
  } else if (k) {
    reply_bulk(r, k->value, k->value_size);
  } else {
    reply_nil(r, c);
  }
}

/* What it calls itself: the first release that has its commands, or one before. */
static inline void reply_name(struct reply *r, const struct store *s) {
  int is_valkey = s->natives & STORE_DELIFEQ || (s->kind == KIND_VALKEY && !s->natives);
  const char *version = is_valkey ? s->natives ? "9.0.0" : "8.1.4"
                        : s->natives ? "8.4.0" : s->kind == KIND_REDIS_7 ? "7.0.15" : "8.2.12";
  if (s->version) version = s->version;
  reply_text(r, is_valkey ? "$6\r\nserver\r\n$6\r\nvalkey\r\n" : "$6\r\nserver\r\n$5\r\nredis\r\n");
  reply_text(r, "$7\r\nversion\r\n");
  reply_bulk(r, version, strlen(version));
}

/* A map in which a list of maps stands, as where there are modules. */
static inline void store_hello(struct store *s, struct session *c, struct reply *r) {
  if (s->refuse_hello) {
    reply_error(r, "ERR unknown command 'HELLO', with args beginning with: '3' ");
    return;
  }
  c->resp3 = 1;
  reply_text(r, "%7\r\n");
  reply_name(r, s);
  reply_text(r, "$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:7\r\n$4\r\nmode\r\n");
  reply_text(r, s->cluster ? "$7\r\ncluster\r\n" : "$10\r\nstandalone\r\n");
  reply_text(r, "$4\r\nrole\r\n");
  reply_text(r, s->replica ? "$7\r\nreplica\r\n" : "$6\r\nmaster\r\n");
  reply_text(r, "$7\r\nmodules\r\n");
  reply_text(r, s->kind == KIND_REDIS_7 ? "*0\r\n"
                : "*1\r\n%2\r\n$4\r\nname\r\n$2\r\nvs\r\n$4\r\nargs\r\n*1\r\n$0\r\n\r\n");
}

static inline void store_tracking(struct store *s, struct session *c, int argc,
                                  const struct arg *argv, struct reply *r) {
  if (s->refuse_tracking || s->refuse_hello) {
    reply_error(r, "NOPERM User default has no permissions to run the 'client|tracking' command");
    return;
  }
  c->tracks = c->resp3;
  c->noloop = argc > 3 && arg_is(argv[3], "noloop");
  reply_text(r, "+OK\r\n");
}

static inline void store_unknown(int argc, const struct arg *argv, struct reply *r) {
  char text[256];
  int size = snprintf(text, sizeof text, "ERR unknown command '%.*s', with args beginning with: ",
                      argv[0].size < 128 ? (int)argv[0].size : 128, (const char *)argv[0].at), i;
  for (i = 1; i < argc && size < 200; i++)
    size += snprintf(text + size, sizeof text - (size_t)size, "'%.*s' ",
                     (int)argv[i].size < 128 - size ? (int)argv[i].size : 128 - size,
                     (const char *)argv[i].at);
  reply_error(r, text);
}

enum { C_SET, C_EVAL, C_AUTH, C_SELECT, C_INFO, C_GET, C_PTTL, C_DEL, C_RPUSH, C_PING, C_FLUSHALL,
       C_PROOF, C_HELLO, C_CLIENT, C_DELEX, C_DELIFEQ };

static const struct store_command {
  const char *name;
  int least, most; /* words */
} store_commands[] = {{"set", 3, 99},    {"eval", 3, 99}, {"auth", 2, 3},   {"select", 2, 2},
                      {"", 3, 99},        {"get", 2, 2},   {"pttl", 2, 2},   {"del", 2, 99},
                      {"rpush", 3, 99},  {"ping", 1, 2},  {"flushall", 1, 2},
                      {"", 3, 99},       {"hello", 1, 99},  {"client", 3, 99}, {"delex", 4, 4},
                      {"delifeq", 3, 3}};

/* Whether the server has the command. */
static inline int store_knows(const struct store *s, int command) {
  if (command == C_DELEX) return (s->natives & STORE_DELEX) != 0;
  return command >= 0 && (command != C_DELIFEQ || s->natives & STORE_DELIFEQ);
}

/* The scripts of a handshake count as commands of their own. */
static inline int store_command_of(int argc, const struct arg *argv) {
  int i, command = -1;
  enum script script;
  for (i = 0; i < (int)(sizeof store_commands / sizeof store_commands[0]); i++)
    if (arg_is(argv[0], store_commands[i].name)) command = i;
  if (command != C_EVAL || argc < 2) return command;
  script = script_of(argc, argv);
  return script == SCRIPT_INFO ? C_INFO : script == SCRIPT_PROOF ? C_PROOF : command;
}

/* An error that this server has for every command with a key. OOM lets a script that frees pass;
   what stops all scripts stops the one that ends a handshake. */
static inline int store_fails(const struct store *s, int command) {
  int native = command == C_DELEX || command == C_DELIFEQ;
  if (command == C_PROOF) return s->error == STORE_ERROR_LOADING || s->error == STORE_ERROR_BUSY;
  if (!s->error || (command != C_SET && command != C_EVAL && !native)) return 0;
  return command == C_SET || s->error != STORE_ERROR_OOM;
}

/* The key of a command, though it may have expired; not used = there is none. */
static inline struct key store_subject(const struct store *s, const struct session *c,
                                       const struct effect *e) {
  struct key none;
  int i;
  memset(&none, 0, sizeof none);
  for (i = 0; i < s->keys && e->subject_size; i++) {
    const struct key *k = &s->key[i];
    if (k->used && k->db == c->db && k->name_size == e->subject_size &&
        memcmp(k->name, e->subject, k->name_size) == 0)
      return *k;
  }
  return none;
}

static inline int key_is_same(const struct key *a, const struct key *b) {
  return a->used == b->used && a->list == b->list && a->expires_ms == b->expires_ms &&
         a->value_size == b->value_size && memcmp(a->value, b->value, a->value_size) == 0;
}

static inline void store_run(struct store *s, struct session *c, int argc, const struct arg *argv,
                             struct reply *r, struct effect *e) {
  struct key before, after;
  int command = store_command_of(argc, argv);
  int locked = s->password && !c->authed && command != C_AUTH;
  int key = command == C_EVAL ? 3 : 1;
  e->kind = EFFECT_NONE;
  if (command >= 0 && command != C_AUTH && (command < C_PING || command > C_CLIENT) &&
      key < argc) {
    e->subject = argv[key].at;
    e->subject_size = argv[key].size;
  }
  before = store_subject(s, c, e);
  if (locked && s->kind == KIND_VALKEY) {
    reply_error(r, store_error(STORE_ERROR_NOAUTH));
  } else if (!store_knows(s, command)) {
    store_unknown(argc, argv, r);
  } else if (argc < store_commands[command].least || argc > store_commands[command].most) {
    store_wrong_arity(r, store_commands[command].name);
  } else if (locked) {
    reply_error(r, store_error(STORE_ERROR_NOAUTH));
  } else if (s->refuse_natives && command > C_CLIENT) {
    reply_error(r, "NOPERM this user has no permissions to run the 'delex' command");
  } else if (store_fails(s, command)) {
    reply_error(r, store_error(s->error));
  } else {
    switch (command) {
      case C_SET: store_set(s, c, argc, argv, r, e); break;
      case C_EVAL: store_eval(s, c, argc, argv, r, e); break;
      case C_AUTH: store_auth(s, c, argc, argv, r); break;
      case C_SELECT: store_select(s, c, argv, r); break;
      case C_INFO: store_info(s, r); break;
      case C_PROOF: store_prove(argv, r); break;
      case C_HELLO: store_hello(s, c, r); break;
      case C_CLIENT: store_tracking(s, c, argc, argv, r); break;
      case C_DELEX: store_delex(s, c, argv, r, e); break;
      case C_DELIFEQ: store_native(s, c, argv + 1, store_error(STORE_ERROR_WRONGTYPE), r, e); break;
      case C_GET: store_look(s, c, 'g', argv[1], r, e); break;
      case C_PTTL: store_look(s, c, 'p', argv[1], r, e); break;
      case C_DEL: store_look(s, c, 'd', argv[1], r, e); break;
      case C_RPUSH: store_look(s, c, 'l', argv[1], r, e); break;
      case C_PING: reply_text(r, "+PONG\r\n"); break;
      default:
        s->keys = 0;
        reply_text(r, "+OK\r\n");
    }
  }
  c->unsent += r->size > 0;
  after = store_subject(s, c, e);
  e->changed = e->kind == EFFECT_SET || !key_is_same(&before, &after);
}

/* ---- requests ---- */

/* A number up to CR LF at *at; -1 = not all there yet, -2 = malformed. */
static inline int64_t request_number(const unsigned char *data, size_t size, size_t *at,
    char type) {
  int64_t n = 0;
  size_t i = *at;
  if (i >= size) return -1;
  if (data[i++] != type) return -2;
  for (; i < size && data[i] != '\r'; i++) {
    if (data[i] < '0' || data[i] > '9' || n > 100000) return -2;
    n = n * 10 + (data[i] - '0');
  }
  if (i + 1 >= size) return -1;
  if (data[i + 1] != '\n') return -2;
  *at = i + 2;
  return n;
}

/* How many bytes the first request has, 0 = it is not complete, -1 = it is malformed. */
static inline long request_parse(const unsigned char *data, size_t size, struct arg *argv,
                                 int *argc) {
  size_t at = 0;
  int64_t count = request_number(data, size, &at, '*'), n;
  int i;
  if (count == -1) return 0;
  if (count < 1 || count > STORE_ARGS) return -1;
  for (i = 0; i < (int)count; i++) {
    n = request_number(data, size, &at, '$');
    if (n == -1) return 0;
    if (n < 0) return -1;
    if (at + (size_t)n + 2 > size) return 0;
    argv[i].at = data + at;
    argv[i].size = (size_t)n;
    at += (size_t)n + 2;
    if (data[at - 2] != '\r' || data[at - 1] != '\n') return -1;
  }
  *argc = (int)count;
  return (long)at;
}

#endif
