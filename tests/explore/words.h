/* words.h: commands on their way to a server, as short as they can be. What all commands of a sort
 * have in common stands in a table outside the world, which only grows, so that its places are the
 * same in all worlds. Values and tokens stand beside it: the form of a state gives them other
 * names. Which command it is, the store knows. */
#ifndef EXPLORE_WORDS_H
#define EXPLORE_WORDS_H

#include "world.h"

enum {
  WORDS_MAX = 0xfe00,
  A_TOKEN = 1, A_VALUE = 2, /* marks; no word begins with one */
  TOKEN_DIGITS = 10 /* the clocks' microseconds have as many; no other number does */
};

/* ---- The table ------------------------------------------------------------------------------- */

static struct {
  char *at;
  size_t size;
} word[WORDS_MAX];
static unsigned words = 1; /* 0 = none */

static uint16_t word_of(const void *bytes, size_t size) {
  unsigned i;
  for (i = 1; i < words; i++)
    if (word[i].size == size && memcmp(word[i].at, bytes, size) == 0) return (uint16_t)i;
  if (words == WORDS_MAX) fail("world: too many words");
  word[i].at = (char *)malloc(size + 1);
  if (!word[i].at) exit(4);
  memcpy(word[i].at, bytes, size);
  word[i].size = size;
  words++;
  return (uint16_t)i;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* What h_entropy draws: who, which, and a row of v. */
static void value_write(char *at, const struct value *v) {
  memset(at, 'v', RL_VALUE_BYTES);
  at[0] = (char)v->client;
  at[1] = (char)v->number;
  memcpy(at + RL_VALUE_BYTES, v->age, v->age_size);
}

/* 0 = it is none, and *v is none. */
static int value_read(const void *bytes, size_t size, struct value *v) {
  const unsigned char *at = (const unsigned char *)bytes;
  memset(v, 0, sizeof *v);
  if (size != RL_VALUE_BYTES && size != RL_VALUE_BYTES + sizeof v->age) return 0;
  for (size_t i = 2; i < RL_VALUE_BYTES; i++)
    if (at[i] != 'v') return 0;
  if (!at[0] || at[0] > SOMEBODY || at[1] >= VALUES) return 0;
  v->client = at[0];
  v->number = at[1];
  v->age_size = (uint8_t)(size - RL_VALUE_BYTES);
  memcpy(v->age, at + RL_VALUE_BYTES, v->age_size);
  return 1;
}

static struct value value_of(const redlock_lock *lock) {
  struct value v;
  (void)value_read(lock->value, RL_VALUE_BYTES, &v);
  return v;
}

static int value_is(const struct value *a, const struct value *b) {
  return a->client == b->client && a->number == b->number;
}

/* By one of the clients: somebody's stay for ever. */
static int is_drawn(const struct value *v) { return v->client && v->client <= cfg.clients; }

static uint8_t *fate_of(const struct value *v, int entry) {
  static uint8_t anybodys;
  if (!is_drawn(v)) return &anybodys;
  return &W.side[v->client - 1].fate[v->number][entry];
}

/* Of all that the clients drew. */
static long number_of(const struct value *v) {
  return is_drawn(v) ? (v->client - 1) * VALUES + v->number : NOT_OURS;
}

/* Whoever uses a lock of this value; NULL = nobody. */
static const struct user *user_with(const struct value *v) {
  for (int l = 0; l < cfg.locks && is_drawn(v); l++) {
    struct value own = value_of(&W.side[v->client - 1].lock[l]);
    const struct user *u = &W.side[v->client - 1].user[l];
    if (value_is(&own, v) && u->state != IDLE) return u;
  }
  return NULL;
}

static int acquires(const struct user *u) {
  return u && u->state == PENDING && (u->call == ACQUIRE || u->call == WAIT || u->call == ADOPT);
}

static const char *value_text(const struct value *v) {
  static char text[4][24];
  static int k;
  k = (k + 1) % 4;
  if (v->client == SOMEBODY) return "somebody's";
  if (!v->client) return "none";
  snprintf(text[k], sizeof text[k], "c%d#%d%s", v->client - 1, v->number,
           v->age_size ? "+age" : "");
  return text[k];
}

/* ---- Keys: "r" and "q", and with tokens "r:fence" and "q:fence" (R25) ------------------------ */

static struct key *key_named(int server, int resource, size_t size) {
  struct key *k = W.server[server].key, *end = k + 2 * RESOURCES;
  for (; k != end; k++)
    if (k->used && k->name_size == size && k->name[0] == *resource_name[resource]) return k;
  return NULL;
}

static struct key *key_of(int server, int resource) { return key_named(server, resource, 1); }
static struct key *counter_of(int server, int resource) { return key_named(server, resource, 7); }

static struct value value_in(const struct key *k) {
  struct value v = {0};
  if (k && !value_read(k->value, k->value_size, &v)) fail("a key of no value");
  return v;
}

static int is_client_key(const struct key *k) {
  struct value v = value_in(k);
  return is_drawn(&v);
}

static int64_t count_in(const struct key *k) {
  struct arg text = {k->value, k->value_size};
  int64_t count;
  if (!arg_integer(text, &count)) fail("a counter of no number");
  return count;
}

static int has_read(const struct connection *k, int resource) {
  return session_has(&k->session, (const unsigned char *)resource_name[resource], 1) >= 0;
}

/* ---- Commands -------------------------------------------------------------------------------- */

struct command {
  int argc;
  struct arg argv[STORE_ARGS];
  char text[256];          /* where the values and numbers in it stand */
  struct seen seen;
  struct value value;
};

static const char *const kind_name[] = {"a question", "SET", "SET", "extension", "release"};

/* It is of the handshake. */
static int asks(const struct command *m) { return m->seen.kind == SEEN_NOTHING; }

static int resource_of(const unsigned char *name, size_t size) {
  return size == 1 && (*name == 'r' || *name == 'q') ? *name == 'q' : -1;
}

static long value_seen(struct arg a) {
  struct value v;
  (void)value_read(a.at, a.size, &v);
  return number_of(&v);
}

static void describe(struct command *m) {
  m->seen = see(m->argc, m->argv);
  if (!value_read(m->argv[m->seen.own].at, m->argv[m->seen.own].size, &m->value) && !asks(m))
    fail("R3: a value that is not 20 bytes of entropy");
}

static int is_token(struct arg a) {
  size_t i;
  for (i = 0; i < a.size && a.at[i] >= '0' && a.at[i] <= '9'; i++) {}
  return a.size >= TOKEN_DIGITS && a.size < 20 && i == a.size;
}

/* 1 = there is room for it. */
static int queue_add(struct queue *q, const struct command *m) {
  char text[STORE_COMMAND];
  struct message *to = &q->message[q->commands];
  size_t size = 0;
  if (q->commands == QUEUE) return 0;
  for (int i = 0; i < m->argc; i++) {
    struct arg a = m->argv[i];
    struct value v;
    if (value_read(a.at, a.size, &v)) {
      text[size++] = A_VALUE;
      to->value[to->values++] = v;
    } else if (is_token(a) && arg_integer(a, &to->token)) {
      text[size++] = A_TOKEN;
    } else {
      memcpy(text + size, a.at, a.size);
      size += a.size;
    }
    text[size++] = 0;
  }
  to->text = word_of(text, size);
  q->commands++;
  return 1;
}

static void read_message(const struct message *from, struct command *m) {
  const char *at = word[from->text].at, *end = at + word[from->text].size;
  char *to = m->text;
  int v = 0;
  m->argc = 0;
  for (; at != end; at += strlen(at) + 1) {
    struct arg *a = &m->argv[m->argc++];
    *a = arg_of(*at == A_VALUE || *at == A_TOKEN ? to : at);
    if (*at == A_VALUE) {
      value_write(to, &from->value[v]);
      a->size = (size_t)RL_VALUE_BYTES + from->value[v++].age_size;
    } else if (*at == A_TOKEN) {
      a->size = (size_t)sprintf(to, "%lld", (long long)from->token);
    }
    if (*at == A_VALUE || *at == A_TOKEN) to += a->size + 1;
  }
  describe(m);
}

static void queue_take(struct queue *q, struct command *m) {
  read_message(&q->message[0], m);
  memmove(q->message, q->message + 1, --q->commands * sizeof *q->message);
  memset(&q->message[q->commands], 0, sizeof *q->message);
}

static int queue_begins_with_question(const struct queue *q) {
  struct command m;
  if (!q->commands) return 0;
  read_message(&q->message[0], &m);
  return asks(&m);
}

#endif
