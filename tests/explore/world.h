/* world.h: a small world of clients, servers and connections. It is flat and lies at one address:
 * a copy of it can be put back, and all pointers of the clients still hold. It includes the header
 * as shipped; every step of a client is a public call. */
#ifndef EXPLORE_WORLD_H
#define EXPLORE_WORLD_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  CLIENTS = 2,
  LOCKS = 2,     /* of each client */
  SERVERS = 3,
  RESOURCES = 2,
  VALUES = 24,   /* of each client that stand anywhere at once */
  QUEUE = 8,     /* commands that wait in front of a server, on each connection: then it is full */
  LOST = 2,      /* lost connections whose commands the server may still execute */
  OUT = 512,     /* bytes of replies that wait in front of a client */
  NEVER = 255,   /* of a count: without limit */
  TIMEOUT = 3,   /* server_timeout_ms */
  PAUSE = 7      /* ms of the fault i */
};

static void fail(const char *what);

#ifndef RING
#define RING 8
#endif
#define REDLOCK_MAX_SERVERS 3
#define REDLOCK_MAX_COMMANDS RING
#define REDLOCK_MAX_RESOURCE 24
#define REDLOCK_MAX_ERROR 16
#define REDLOCK_NO_POSIX
#define REDLOCK_NO_DNS
#define REDLOCK_NO_URL
#define REDLOCK_NO_TEXTS
#define REDLOCK_STATIC
#define REDLOCK_ASSERT(truth) ((truth) ? (void)0 : fail("invariant: " #truth))
#define REDLOCK_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "redlock.h"
#pragma GCC diagnostic pop
#include "invariants.h"

/* What servers hold, and what connections have read, is tests/store.h's: names are short. */
#define STORE_NAME 8
#define STORE_VALUE 24
#define STORE_READS RESOURCES

/* The state of the proved models, which is none of the form: see explorer.h. */
typedef uint8_t model_servers;
typedef int16_t model_value;
typedef int32_t model_time;
enum { MODEL_ROUNDS = 6, ANSWERS = 16 };
#define ROUND_STANDS
#define ROUNDS_STAND struct exclusion_round round[MODEL_ROUNDS]; /* that of the SET, extensions' */
#define ROUND_IS_GRANTED uint8_t resource;
#include "refine/state.h"

/* A value: who drew it, which of theirs it is, and the age behind it (R26). */
struct value {
  uint8_t client;          /* 1 and up; SOMEBODY: drawn by none of the clients; 0 = none */
  uint8_t number, age_size;
  char age[3];
};

enum { SOMEBODY = CLIENTS + 1 };

/* Commands on their way: see words.h. */
struct message {
  uint16_t text;           /* a place in the table, where marks stand for these: */
  uint8_t values;
  struct value value[2];
  int64_t token;
};

struct queue {
  uint8_t commands;
  struct message message[QUEUE];
};

struct connection {
  uint8_t open;            /* the client has it */
  uint8_t broken;          /* ENDED, RESET */
  uint8_t held;            /* nothing passes: the network stands still */
  uint8_t full;            /* and its socket takes no more */
  uint8_t blocked;         /* the last send was cut short */
  uint8_t slow;            /* it is still being made */
  uint8_t greets;          /* the handshake has not been answered yet (R4) */
  uint8_t overdue;         /* a reply was, when its client had last done all that was due (R13) */
  uint8_t noted;           /* of a command whose beginning was sent it is known what it is ... */
  uint8_t was_overdue;     /* ... and whether a reply was overdue then */
  uint8_t carries;         /* a SET was sent on it (R13) */
  uint16_t cut;            /* the word that is that beginning; 0 = none */
  uint16_t out_size;
  uint8_t replies;         /* in `out`; the rest are pushes */
  uint8_t late;            /* the client may time it from so much later */
  int64_t owed_since;      /* since when the client has waited for a reply */
  struct session session;
  struct queue in;
  char out[OUT];
  struct adoption_line line; /* of the answers in it, and how many bytes were: explorer.h */
  uint32_t written, read;
};

enum { ENDED = 1, RESET = 2 };
enum { LEAST_SILENCE = 5000 }; /* ms, of a connection before it is given up (R13) */

struct server {
  uint8_t down;
  uint8_t failing;         /* 1 = each command with a key gets an error; more: store.fail_write */
  uint8_t run;             /* the number of its run_id */
  uint8_t forgot;          /* it has lost its memory */
  int64_t started;
  struct key key[2 * RESOURCES];
};

enum call { ACQUIRE, WAIT, RELEASE, EXTEND, SHORTEN, KEEP, CANCEL, ADOPT, CLOSE, CALLS };
enum user_state { IDLE, PENDING, HELD, KEPT };

/* What the user of a lock knows. */
struct user {
  uint8_t state;
  uint8_t given;           /* the value was handed over (R28); 2: and adopted */
  uint8_t giver;           /* of an adoption */
  uint8_t calls;           /* that may still be made */
  uint8_t call;            /* the pending one */
  uint64_t token;          /* the greatest that anybody had when the acquire began (R25) */
  int64_t begun_at;        /* when the client began the pending one; INT64_MAX: not yet */
  int64_t granted_at;      /* when the grant was returned (R20) */
  int64_t end;             /* how long the lock was held when its extension was called (R19) */
};

/* What became of a value on a server. */
enum {
  SENT = 1, RELEASE_SENT = 2, RAN = 4, SAID_YES = 8, SAID_NO = 16,
  EXCUSED = 32,            /* its key may stay */
  LOST_ON = 64,            /* so may it: its connection was lost */
  CLOSED_ON = 128
};

/* A client, its users, and its connections. */
struct side {
  redlock rl;
  redlock_lock lock[LOCKS];
  struct user user[LOCKS];
  uint32_t drawn;          /* the numbers of values that stand anywhere, one bit each */
  uint8_t paused;          /* its process is stopped */
  uint8_t slips, behind;   /* its clock may still stand still for so many ms; it has for so many */
  uint8_t closed;
  uint8_t upset;           /* its clock or entropy has failed */
  struct connection to[SERVERS];
  struct queue lost[SERVERS][LOST];
  uint8_t fate[VALUES][SERVERS];
  struct of_value of[VALUES];
};

struct world {
  struct {
    struct exclusion_state locks;
    struct tokens_state tokens;
    int32_t time;
  } model;
  int64_t now;
  uint8_t faults;          /* that may still come */
  uint8_t ticks;           /* of the clock */
  uint64_t token;          /* the greatest one returned */
  struct server server[SERVERS];
  struct side side[CLIENTS]; /* last: with one client the other is not copied */
};

static struct world W;

/* What the worlds of one run have in common: main.c has the options. */
static struct {
  int clients, locks, servers, faults, calls, calls2, ticks, jumps, slips, push, warm, twins, liar,
      foreign, natives, in_turn, young, held, twice, ttl, ttl2, shorter, wait, ppm,
      max_ttl, fencing, max_hold, margin, finish, still, seconds, megabytes, audit;
  const char *may, *may2, *kinds;
} cfg;

static size_t world_size(void) {
  return offsetof(struct world, side) + (size_t)cfg.clients * sizeof(struct side);
}

static void world_copy(struct world *to, const struct world *from) {
  memcpy(to, from, world_size());
}

/* Entries of the list that are one server (R5). */
static int server_of(int entry) { return cfg.twins && entry == 1 ? 0 : entry; }

static int64_t clock_of(int c) { return W.now - W.side[c].behind; }

static int ttl_of(int lock) { return lock ? cfg.ttl2 : cfg.ttl; }

static const char *const resource_name[RESOURCES] = {"r", "q"};

/* ---- Failures -------------------------------------------------------------------------------- */

static int verbose;
static jmp_buf failed;
static char failure[400];

static void fail(const char *what) {
  snprintf(failure, sizeof failure, "%s", what);
  longjmp(failed, 1);
}

#define SAY(...) do { if (verbose) printf(__VA_ARGS__); } while (0)

/* ---- Choices --------------------------------------------------------------------------------- */

/* Within an event the hooks choose; each choice is a digit, and the search counts them up. */
enum { DIGITS = 14 };

static struct {
  uint8_t digit[DIGITS], arity[DIGITS];
  int used, given;
} choices;

static int calm;           /* there is nothing to choose: no fault, and all that can arrive does */
static unsigned long choices_cut;

static int choose(int n) {
  int k = choices.used;
  if (n <= 1 || calm) return 0;
  if (k == DIGITS || n > 15) {
    choices_cut++;
    return 0;
  }
  if (k >= choices.given) choices.digit[k] = 0;
  choices.arity[k] = (uint8_t)n;
  choices.used++;
  return choices.digit[k];
}

/* Whether a fault of this kind may happen here. */
static int may_fail(char kind) {
  return !calm && W.faults > 0 && strchr(cfg.kinds, kind) != NULL;
}

static int chooses_fault(char kind) {
  if (!may_fail(kind) || !choose(2)) return 0;
  W.faults--;
  return 1;
}

#endif
