/* state.h: the state of the models that `make induct` proves, as it is kept beside a world, and
 * what is seen of a command. Two worlds hold whatever happens to the models, the simulator
 * (refine.h, simulator.h) and the explorer (explorer.h). What is the same for both:
 *
 *   exclusion.h  locks: one model for each resource
 *   tokens.h     tokens
 *   adoption.h   SETs of a value, so that none is adopted twice
 *   hooks.h      what a world calls when something is seen
 *
 * The models' own words are written from them, to ../induct/emitted. A world says before this how
 * many SERVERS and RESOURCES there may be, how wide values, sets of servers and times are, and how
 * the rounds of an attempt stand together; and where what belongs to a value stands. */
#ifndef REFINE_STATE_H
#define REFINE_STATE_H

#include "store.h"

enum { MODEL_EXCLUSION, MODEL_TOKENS, MODEL_ADOPTION };

enum { NOT_OURS = -2 }; /* the value of another program */

/* ---- Locks ---- */

typedef struct exclusion_round *exclusion_rnd;
typedef struct exclusion_attempt *exclusion_att;
typedef long exclusion_val;
typedef uint32_t exclusion_quo;

struct exclusion_round {
  ROUND_STANDS
  uint8_t begun, extends, adopts, granted, adopted;
  uint8_t by_set; /* begun by a SET that puts the key back, and no script has told its ttl */
  model_servers voted, quorum;
  model_value replaced;
  int32_t ttl_ms;
  model_time t1, read, read_most; /* read_most: what its client's clock showed when it began */
};

struct exclusion_attempt {
  uint8_t gives_up, stopped, granted;
  int64_t deadline_ms;
  ROUNDS_STAND
};

struct exclusion_state {
  int resource; /* whose model it is */
  double now, started[SERVERS];
  struct {
    int present;
    model_value value;
    double expiry;
  } key[RESOURCES][SERVERS];
};

/* ---- Tokens ---- */

typedef struct tokens_round *tokens_rnd;
typedef uint32_t tokens_quo;

struct tokens_round {
  uint8_t begun, granted;
  model_servers counted;
  uint32_t begun_turn, granted_turn; /* among all that begins or is granted */
  int64_t token, above; /* above: the greatest of its resource that was granted when it began */
  double t1;
  ROUND_IS_GRANTED
};

struct tokens_state {
  int resource;  /* whose model it is */
  int is_over;   /* its counter there has run out, and will be seen to */
  uint32_t turn;
  int64_t greatest[RESOURCES];
  double now, started[SERVERS];
  struct {
    int has;
    int64_t count;
    double expiry;
  } counter[RESOURCES][SERVERS];
};

/* ---- Adoption ---- */

typedef struct adoption_attempt *adoption_att;
typedef struct adoption_pair *adoption_msg;
typedef struct adoption_answer *adoption_rpl;
typedef uint32_t adoption_quo;

/* A value and a server: what its client may know, and the SET that is on its way. */
struct adoption_pair {
  adoption_att att, replacer; /* replacer: who has adopted it there */
  uint8_t server, sent, swaps, under_way, maybe_set, answered_by, replaced;
  uint32_t known, sent_to;    /* which life of the server */
  int32_t heard;
};

struct adoption_attempt {
  adoption_att giver, adopter; /* adopter: who was granted the lock by this value */
  struct adoption_pair pair[SERVERS];
  uint8_t adopts, stopped, passed_over, granted;
};

struct adoption_answer {
  adoption_msg pair;
  uint8_t to_set, yes, made, waits;
  uint32_t life, end; /* end: of its bytes, on the connection */
  int32_t made_at;
};

/* The answers that a connection brings, in their order. */
struct adoption_line {
  uint32_t first, next;
  struct adoption_answer answer[ANSWERS];
};

/* ---- Values ---- */

/* Whose it is in each of the models. */
struct of_value {
  struct exclusion_attempt attempt;
  struct tokens_round round;
  struct adoption_attempt adoption;
};

/* Of those that are drawn, numbered from 0 on; and back, from anything that stands in it, but
 * NOT_OURS from what does not. */
static inline struct of_value *of_value(long value);
static inline long value_at(const void *in);

static inline exclusion_att exclusion_att_of(long value) {
  static struct exclusion_attempt nobody;
  return value < 0 ? &nobody : &of_value(value)->attempt;
}

static inline tokens_rnd tokens_round_of(long value) { return &of_value(value)->round; }

static inline adoption_att adoption_att_of(long value) {
  static struct adoption_attempt nobody = {.passed_over = 1};
  return value < 0 ? &nobody : &of_value(value)->adoption;
}

/* ---- What is seen ---- */

/* A command about a resource, by its words. */
enum seen_kind { SEEN_NOTHING, SEEN_SET, SEEN_SWAP, SEEN_EXTENSION, SEEN_RELEASE };

struct seen {
  enum seen_kind kind;
  int resource, own; /* own: which word its value is */
  long value, replaced; /* replaced: what a swap, that is an adoption's SET, asks for */
  int64_t ttl_ms, token; /* token: -1 = none */
};

static inline int resource_of(const unsigned char *name, size_t size);
static inline long value_seen(struct arg a);

/* A SET by script, whose words come from `own` on: value, ttl, and 20 bytes of what is given, which
 * are its own beginning where nothing is; a token. */
static inline void see_script(struct seen *m, const struct arg *own, int has_token) {
  const struct arg *given = own + 2;
  int gives = given->size != 20 || own->size < 20 || memcmp(given->at, own->at, 20) != 0;
  m->kind = gives ? SEEN_SWAP : SEEN_SET;
  if (gives) m->replaced = value_seen(*given);
  if (has_token && !arg_integer(own[3], &m->token)) m->token = -1;
}

/* SET key value [NX] PX ttl; EVAL script 1 key value [ttl [given]]; EVAL script 2 key counter value
 * ttl given token max_ttl; DELEX key IFEQ value; DELIFEQ key value. */
static inline struct seen see(int argc, const struct arg *argv) {
  struct seen m = {SEEN_NOTHING, -1, 0, NOT_OURS, NOT_OURS, 0, -1};
  int command = store_command_of(argc, argv), key = command == C_EVAL ? 3 : 1;
  enum script script = command == C_EVAL ? script_of(argc, argv) : SCRIPT_RELEASE;
  int own = key + 1 + (script == SCRIPT_FENCED) + (command == C_DELEX);
  if (command != C_SET && command != C_EVAL && command != C_DELEX && command != C_DELIFEQ) return m;
  if (argc <= own) return m;
  m.resource = resource_of(argv[key].at, argv[key].size);
  if (m.resource < 0) return m;
  m.own = own;
  m.value = value_seen(argv[own]);
  m.kind = SEEN_RELEASE;
  if (command == C_SET) {
    m.kind = SEEN_SET;
    for (int i = own + 1; i + 1 < argc; i++)
      if (arg_is(argv[i], "px") && !arg_integer(argv[i + 1], &m.ttl_ms)) m.kind = SEEN_NOTHING;
  }
  if (script == SCRIPT_EXTEND) m.kind = SEEN_EXTENSION;
  if (script == SCRIPT_TRACKED || script == SCRIPT_FENCED)
    see_script(&m, &argv[own], script == SCRIPT_FENCED);
  if (command == C_EVAL && m.kind != SEEN_RELEASE && !arg_integer(argv[own + 1], &m.ttl_ms))
    m.kind = SEEN_NOTHING;
  return m;
}

static inline int is_seen_set(const struct seen *m) {
  return m->kind == SEEN_SET || m->kind == SEEN_SWAP;
}

static inline void add_server(model_servers *to, int server, int is_one) {
  *to = (model_servers)(*to | (unsigned)(is_one != 0) << server);
}

static inline int servers_here(void);

static inline int is_quorum(uint32_t servers) {
  int n = 0;
  for (; servers; servers &= servers - 1) n++;
  return n > servers_here() / 2;
}

/* A key that clients take and release, and the counter of its tokens. */
struct key_seen {
  int present;
  long value;
  double end;
};

struct counter_seen {
  int has, is_over; /* is_over: it has run out, and will be seen to */
  int64_t count;
  double end;
};

#endif
