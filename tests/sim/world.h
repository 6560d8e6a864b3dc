/* world.h: what there is in the simulated world. It is one static object: a process runs one world
 * at a time. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "faults.h"
#include "lib.h"
#include "../store.h"
#include "../shifts.h"

enum {
  MAX_SERVERS = REDLOCK_MAX_SERVERS,
  MAX_CLIENTS = 30,
  FEW_CLIENTS = 10, /* where no crowd waits */
  MAX_SLOTS = 40,
  MAX_RESOURCES = 8,
  MAX_CONNS = 400,
  MAX_EVENTS = 1 << 16,
  MAX_VALUES = 1 << 18,
  MAX_TURNS = 1500000, /* events of one run, about: a busier one is healed early */
  PIPE_BYTES = 16384, /* a power of two */
  PIPE_CHUNKS = 64,
  DRAWS = 64,
  MAX_DEPTH = 3, /* pauses inside calls inside pauses */
  MESSAGE_BYTES = 400
};

/* The state of the proved models: ../refine/simulator.h. */
enum {
  SERVERS = MAX_SERVERS, RESOURCES = MAX_RESOURCES,
  ANSWERS = 1 << 13, /* that many of 3 bytes fit into the largest window */
  MAX_ROUNDS = 1 << 20, OPEN_ROUNDS = 256 /* that many extensions of a lock */
};

typedef uint32_t model_servers;
typedef long model_value;
typedef double model_time;

/* Rounds stand in a list, the newest first. first: its SET's */
#define ROUND_STANDS exclusion_att att; exclusion_rnd next;
#define ROUNDS_STAND exclusion_rnd rounds, first;
#define ROUND_IS_GRANTED tokens_rnd earlier; /* of its resource */

#include "refine/state.h"

enum { UP, DOWN }; /* client to server, server to client */

/* local(t) = local + (t - at) * (1 + ppm / 1e6) */
struct clock {
  ns at, local;
  ns set_back; /* by all steps against its way */
  int ppm;
};

/* ---- the network ---- */

enum { CHUNK_DATA, CHUNK_FIN, CHUNK_RST };

struct chunk {
  uint32_t end; /* of its bytes, counted from the connection's begin */
  int kind;
  ns when;
};

/* One direction of a connection. The positions only grow. */
struct pipe {
  uint32_t written, arrived, read;
  int first, count; /* chunks under way */
  int scheduled;    /* a delivery is in the queue of events */
  int over;         /* CHUNK_FIN or CHUNK_RST has arrived */
  int cut;          /* nothing more can be written */
  ns last;
  ns again;         /* the next retransmission waits so long */
  struct chunk chunk[PIPE_CHUNKS];
  unsigned char bytes[PIPE_BYTES];
};

/* So many of its bytes, from that one on: at once, but where it begins anew. */
static inline void pipe_copy(const struct pipe *p, uint32_t from, void *to, uint32_t size) {
  uint32_t at = from & (PIPE_BYTES - 1), first = PIPE_BYTES - at < size ? PIPE_BYTES - at : size;
  memcpy(to, p->bytes + at, first);
  memcpy((unsigned char *)to + first, p->bytes, size - first);
}

enum { CONN_FREE, CONN_OPENING, CONN_OPEN, CONN_REFUSED };

/* What a connection brings of a resource: "it has changed", or that the connection is ready. */
struct wake_up {
  uint32_t turn;    /* among all that happens to keys; 0 = nothing was pushed, or beside a key */
  int handed;       /* beside another holder's key */
  int unread;
  ns read;          /* 0 = not yet */
  uint32_t end;     /* of it, among all bytes of the connection */
};

struct conn {
  int state;
  uint32_t id;
  int client, entry, server;
  uint32_t incarnation;  /* the server's, when it was accepted */
  int client_gone;       /* closed, or its process died */
  int server_gone;
  int silent;            /* the flow was dropped in silence: nothing ever arrives again */
  int excused;           /* the world broke it: what it left behind is no one's fault */
  int backlogged;        /* the last send was not taken whole */
  ns heard_at;           /* when the client last heard a reply, or first sent; 0 = it never did */
  uint32_t reply_end, last_reply_end; /* in the pipe: the first not read, and the last */
  int shifted;           /* its handshake was */
  uint32_t refined;      /* how much of what the client has sent refine.h has seen, and ... */
  int in_part;           /* ... whether the next command has left in part */
  int denied;            /* a native release was refused, so that the client ends it */
  ns ready_at;           /* when its handshake was answered */
  int fd;
  int attempts;
  struct session session;
  struct wake_up wake_up[MAX_RESOURCES];
  ns told_at[MAX_RESOURCES]; /* when an attempt that tracks was last told of a holder */
  struct pipe pipe[2];
  struct adoption_line line; /* of the answers in it: refine.h */
};

/* ---- servers ---- */

enum { STORE_KEYS = 48 };

struct server {
  struct clock clock;
  struct store store;
  struct key memory[STORE_KEYS]; /* of the store */
  uint32_t incarnation;
  int down, host_down;   /* host_down: not even a RST comes back */
  ns frozen_until;       /* 0 = not frozen */
  ns down_until;
  int lost;              /* it is down and has lost some of its memory */
  ns forgot_at;          /* when it came up without some of its memory; -1 = never */
  ns error_until;
  int error;             /* which error, while error_until lasts */
  ns excuse;             /* until then it may have refused a release for a reason of its own */
  int liar;              /* about ages: strangers.h */
  ns troubled_at;        /* when it last came up, thawed or said an error */
  ns restarted_at;       /* if it has */
  uint32_t set_turn[MAX_RESOURCES]; /* when the resource was last set there */
  int sick;              /* one of the minority that does not heal */
  int wild;              /* its wall clock is not kept right */
  ns ahead;              /* of the true time, as its wall clock is meant to be */
  ns spent_until;        /* until then it must not lose more (F2) */
  ns crawls_until;       /* 0 = it does not crawl */
  struct key image[STORE_KEYS]; /* of its memory, from some time ago */
  int image_keys;
};

/* ---- clients ---- */

enum { LIES_WHERE_HELD = 1, LIES_ALWAYS };

enum slot_state { S_IDLE, S_ACQUIRING, S_HELD, S_KEPT, S_EXTENDING, S_RELEASING, SLOT_STATES };

struct slot {
  redlock_lock lock;
  enum slot_state state;
  int client, index, resource;
  uint32_t ttl_ms;
  ns due;               /* when the actor does the next thing with it */
  int64_t deadline_ms;  /* as last seen, on the client's clock; 0 = none */
  int64_t granted_ms;   /* on the client's clock */
  int64_t hold_ms;      /* max_hold_ms of this hold; 0 = none */
  int64_t bound_ms;     /* the pending operation must be decided by then; -1 = no bound */
  long value;           /* that was granted; -1 = none */
  int adopts;           /* its acquire is an adoption (R28) of this value */
  char given[20];
  int overdue;          /* steps that had to return a kept lock: keep.h */
  int everywhere;       /* a keeper's value has been on all servers */
  int probe;            /* the single waiter of the end (invariant 4) */
  uint32_t asked_after; /* how many acquires of the resource had begun when this did ... */
  int beside;           /* ... and whether one of them was pending then */
  unsigned drawn_before; /* how many attempts its client had made by then */
};

/* The attempts within a time. */
struct pace {
  ns from; /* NEVER = they need not be few now */
  unsigned drawn;
  uint32_t heard;
};

struct client {
  int index, alive;
  int busy;             /* it is inside a call, or thinking: no wake-up now */
  int in_wait;          /* it is inside io->wait ... */
  int woken;            /* ... which shall return */
  int single;            /* see single_attempt_client.h */
  uint32_t life;        /* grows with each rebirth */
  struct clock clock;
  const struct lib *lib;
  redlock *rl;
  unsigned checks;       /* occasions for one (io.h) */
  redlock_io io;
  redlock_options options;
  char list[MAX_SERVERS * 64];
  struct conn *conn[MAX_SERVERS]; /* of each entry, or NULL */
  uint32_t last_generation[MAX_SERVERS];
  int last_fd[MAX_SERVERS];
  unsigned want[MAX_SERVERS];
  ns clog_ends[MAX_SERVERS]; /* for which end of a clog a wake-up is in the queue */
  ns reach_since[MAX_SERVERS]; /* since when a single can reach it, after healing; or NEVER */
  int reaches_quorum;        /* a single's attempt must not end with NO_QUORUM */
  ns wake;                   /* when the wake-up in the queue is due */
  uint32_t wake_turn;        /* older wake-ups are void */
  ns paused_until;
  int slots;
  struct slot slot[MAX_SLOTS];
  uint32_t idle_wakes;       /* wake-ups in a row in which nothing happened */
  ns idle_since;
  int happened;
  ns last_draw;              /* of a value: an attempt has begun */
  ns stood;                  /* until when it has not run */
  ns draws[DRAWS];           /* the last of them, in turn ... */
  unsigned drawn;
  uint32_t heard_at[DRAWS];  /* how much it had heard of by then, and ... */
  uint32_t heard;            /* ... by now: pushes, and ends of handshakes */
  uint32_t told_at[DRAWS];   /* with those pushes, too, that ... */
  uint32_t told_of;          /* ... found the same key there again, as of an extension */
  struct pace told, polled, hurried, rare; /* how many attempts it makes */
  ns shown_at;               /* since when it knows whose the lock is; NEVER = it does not */
  ns free_at, quick_at;      /* since when what it waits for has been free, and that at a quorum of
                                quick servers; NEVER = it is not */
  ns asked;                  /* since when it has been asked for nothing */
  ns pushed_at;              /* since when no push has come, and it asked for nothing */
  int64_t named_ms;          /* R27: until when it has nothing to do, by its clock; as it ... */
  ns named_at;               /* ... said then */
  int closing;
};

/* ---- the checker's books ---- */

struct value {
  int client;
  uint32_t life;
  int is_granted;  /* and not known to be over */
  uint32_t set_on; /* servers that did its SET, and have not said since that it is gone */
  ns drawn;
};

struct grant {
  long value; /* -1 = none */
  ns begin, end;
};

/* The last values that were given away, stale ones too (R28). */
enum { GIVEN = 4 };

struct given {
  char value[GIVEN][20];
  unsigned count;
  int attempts; /* how often the last one is still worth an attempt */
};

/* Another program that takes a resource now and then: strangers.h. */
struct stranger {
  int holds;
  int like_ours; /* and its value is as long as one of ours with an age */
};

struct event {
  ns when;
  uint32_t turn;
  int kind, a;
  uint32_t b;
};

/* What a seed decides, as far as it is one number: the report of a failure tells them all. */
#define SETTINGS(X)                                                                               \
  X(int, servers) X(int, clients) X(int, resources) X(int, slots)                                 \
  X(int, singles) /* how many of the clients: single_attempt_client.h */                          \
  X(unsigned, no_hello) X(unsigned, no_tracking) /* servers that wake no one */                   \
  X(unsigned, no_natives) /* servers where the user may not run them, from then on: */            \
  X(ns, no_natives_from)                                                                          \
  X(unsigned, shifts) /* servers whose handshakes have too little or too much: shifts.h */        \
  X(int, db) X(int, small) X(int, light)                                                          \
  X(uint32_t, server_timeout_ms) X(uint32_t, retry_min_ms) X(uint32_t, retry_max_ms)              \
  X(uint32_t, max_attempts) X(uint32_t, drift_ppm) X(uint32_t, max_hold_ms)                       \
  X(uint32_t, keep_margin_ms)                                                                     \
  X(uint32_t, quarantine_ms) /* max_ttl_ms */                                                     \
  X(uint32_t, ttl_min_ms) X(uint32_t, ttl_max_ms) X(int, rho_ppm)                                 \
  X(ns, latency_min) X(ns, latency_max) X(ns, think_max) X(ns, chaos_every) X(ns, duration)       \
  X(uint32_t, window) X(int, out_of_model) X(int, orphans_checked)                                \
  X(int, fenced)  /* every lock has a token: fencing.h ... */                                     \
  X(int, broken)  /* ... though exclusion is broken on purpose */                                 \
  X(int, hands)   /* locks change hands: handover.h */                                            \
  X(int, crowd)   /* many wait for one resource (R26) */                                          \
  X(int, waiters) /* some wait, and strangers hold: strangers.h; with these troubles: */          \
  X(int, liars) X(int, errs) X(int, restarts)                                                     \
  X(int, forgets) /* ... and with servers that can track next to nothing; there ... */            \
  X(int, pushes_ms) /* ... they also push all that is tracked, about so often; 0 = they do not */ \
  X(int, slow) X(int, slow_ms) /* so many servers answer late, but in time */                     \
  X(int, rolls)   /* one keeps a lock while the servers restart: rolling.h */

struct config {
#define X(type, name) type name;
  SETTINGS(X)
#undef X
  int entry_server[MAX_SERVERS]; /* which server the k-th entry of the list leads to */
  enum store_kind kind[MAX_SERVERS];
  unsigned natives[MAX_SERVERS]; /* STORE_DELEX, STORE_DELIFEQ: they know them */
  const char *password;          /* NULL = none is asked for */
};

enum { OPERATIONS = 5, STATUSES = 9, VOTES = 9, MODELS = 3, MODEL_STEPS = 16 };

/* What checks look at: `make sim` fails if one of these never happened. */
#define OCCASIONS(X)                                     \
  X(reasons, "steps before their time")                  \
  X(wakes, "waiters that know a quorum to be free")      \
  X(strangers, "holds of other programs")                \
  X(forgotten, "names that a server could not track")    \
  X(lies, "lies about ages")                             \
  X(paces, "times in which few attempts are due")        \
  X(frees, "looks at locks that are free")               \
  X(alone, "looks at waiters that are alone")            \
  X(slow_replies, "replies that are late, but in time")  \
  X(vain_pushes, "pushes for nothing, of all names")     \
  X(rolls, "restarts under a kept lock")                 \
  X(margins, "kept locks that are told with time left")  \
  X(adoptions, "adoptions")                              \
  X(adoptions_refused, "attempts to adopt that failed")  \
  X(probes, "waiters that must be granted")              \
  X(attempts_checked, "attempts that must find a quorum") \
  X(lasts, "votes that must last (refine.h)")            \
  X(pairs, "rounds of two holders that exclude each other") \
  X(ordered, "tokens that are unique and in order")       \
  X(spent, "values that are adopted and must stay spent")

/* And what else the report tells. */
#define FIGURES(X)                                       \
  X(rare_paces, "times when hardly an attempt is due")   \
  X(runs, "seeds")                                       \
  X(events, "events")                                    \
  X(operations, "operations")                            \
  X(blocking, "blocking calls")                          \
  X(grants, "grants")                                    \
  X(extensions, "extensions")                            \
  X(simulated_ms, "ms of simulated time")                \
  X(client_ms, "ms of client time")                      \
  X(outside_runs, "seeds out of the model")              \
  X(handed_runs, "seeds of locks that change hands")     \
  X(crowd_runs, "seeds of crowds")                       \
  X(waiter_runs, "seeds of few waiters")                 \
  X(rolling_runs, "seeds of rolling restarts")           \
  X(fenced_runs, "seeds with tokens")                    \
  X(tokens, "tokens")                                    \
  X(broken_runs, "seeds with exclusion broken")          \
  X(broken_tokens, "tokens there")

/* Counted over all runs; plain numbers, so that a worker can keep them in shared memory. */
struct totals {
#define X(name, text) big name;
  FIGURES(X)
  OCCASIONS(X)
#undef X
  big fault[FAULT_COUNT];
  big status[OPERATIONS][STATUSES]; /* REDLOCK_PENDING - status is the place */
  big vote[VOTES], error_reply[STORE_ERRORS];
  big step[MODELS][MODEL_STEPS]; /* of the proved models: refine.h */
  big hash, seed; /* seed: under way */
};

static struct world {
  /* What stays from one run to the next. */
  FILE *log;
  big server_bug;           /* see server.h */
  big wall_clock;           /* a planted bug: now_ms is stepped as a wall clock is */
  big unrefined, alone;     /* without refine.h; with its checks alone */
  big unadopted;            /* without the model of adoption */
  struct value *value;
  int can_leave;            /* run_world is to be left at once by `leave` */
  jmp_buf leave;
  struct config cfg;
  struct client client[MAX_CLIENTS]; /* the room of their libraries */
  struct conn conn[MAX_CONNS];       /* as far as `conns`, a high-water mark */
  struct event heap[MAX_EVENTS];
  /* What a run begins without. */
  uint64_t shift_random; /* of R8's worlds */
  big seed;
  struct rng rng;
  ns now;
  uint32_t odds[FAULT_COUNT]; /* per million opportunities */
  int healed, winding, quiet; /* quiet: hooks do no mischief */
  int idle;                   /* R27: the step that is taken must do nothing */
  ns healed_at;
  ns strikes_at;              /* when a server's clock or memory is next seen to: fencing.h */
  int hurry;                  /* singles make attempts all the time */
  int depth;
  int failed, running;
  char message[MESSAGE_BYTES];
  uint64_t hash;
  char name[MAX_RESOURCES][REDLOCK_MAX_RESOURCE + 1];
  char counter[MAX_RESOURCES][REDLOCK_MAX_RESOURCE + sizeof ":fence"]; /* its name */
  struct server server[MAX_SERVERS];
  int conns;
  uint32_t next_conn;
  ns blocked[MAX_CLIENTS][MAX_SERVERS][2];
  ns clogged[MAX_CLIENTS][MAX_SERVERS];
  struct grant grant[MAX_RESOURCES];
  struct given given[MAX_RESOURCES];
  uint64_t greatest_token[MAX_RESOURCES]; /* that was granted */
  struct stranger stranger[MAX_RESOURCES];
  long values;
  int events;
  uint32_t turn;
  uint32_t asked[MAX_RESOURCES]; /* how many acquires of it have begun */
  uint32_t key_turn;
  int probes_left;
  ns probe_deadline;
} W;

static struct totals totals_of_this_process;
static struct totals *T = &totals_of_this_process;

/* For as long as the process runs. */
static inline void *room_for(size_t size) {
  void *room = calloc(1, size);
  if (!room) exit(3);
  return room;
}

/* ---- chance ---- */

static inline uint64_t chance64(void) { return rng_next(&W.rng); }

static inline uint32_t below(uint32_t n) {
  return (uint32_t)(((chance64() >> 32) * (uint64_t)n) >> 32);
}

/* One of so many; 0 if there is none. */
static inline int pick(int n) { return n ? (int)below((uint32_t)n) : 0; }

static inline int64_t between(int64_t low, int64_t high) {
  if (high <= low) return low;
  return low + (int64_t)(chance64() % (uint64_t)(high - low + 1));
}

/* Small ones often, large ones sometimes. */
static inline int64_t skewed(int64_t low, int64_t high) {
  int shift = (int)below(8);
  return between(low, low + ((high - low) >> shift));
}

static inline int one_in(uint32_t n) { return below(n) == 0; }

/* ---- the event log: always hashed, written only when a run is shown ---- */

static inline void mix(int64_t x) {
  W.hash = rotl(W.hash ^ (uint64_t)x, 27) * UINT64_C(0x9e3779b97f4a7c15);
}

#define NOTES(X)                                                                \
  X(RUN, "run %lld of %lld servers, %lld clients")                              \
  X(SENT, "client %lld sends on connection %lld: %lld bytes")                   \
  X(GOT, "client %lld receives on connection %lld: %lld bytes")                 \
  X(OPEN, "client %lld opens entry %lld: connection %lld")                      \
  X(CLOSE, "client %lld closes entry %lld: connection %lld")                    \
  X(STANDS, "connection %lld of client %lld to server %lld stands")             \
  X(BROKEN, "connection %lld breaks: kind %lld, server side %lld")              \
  X(COMMAND, "server %lld runs command kind %lld of value %lld")                \
  X(START, "client %lld slot %lld: start, resource %lld")                       \
  X(STARTED, "client %lld slot %lld: returned %lld")                            \
  X(EXTEND, "client %lld slot %lld: extend, ttl %lld")                          \
  X(KEEP, "client %lld slot %lld: keep, max hold %lld")                         \
  X(RELEASE, "client %lld slot %lld: release, value %lld")                      \
  X(CANCEL, "client %lld slot %lld: cancel in state %lld")                      \
  X(BACK, "client %lld slot %lld: returned with status %lld")                \
  X(GRANT, "client %lld slot %lld: GRANTED value %lld")                         \
  X(UNTIL, "resource %lld: value %lld valid until %lld ns")                     \
  X(OVER, "resource %lld: hold of value %lld ends")                             \
  X(FAULT, "fault %lld at %lld, for %lld ns")                                   \
  X(HEAL, "healed; sick servers %llx, still down %lld %lld")                    \
  X(PAUSE, "client %lld pauses for %lld ns, depth %lld")                        \
  X(REBIRTH, "client %lld starts anew, life %lld, status %lld")                 \
  X(RESTART, "server %lld restarts, incarnation %lld, keys %lld")               \
  X(THAW, "server %lld thaws, %lld %lld")                                       \
  X(EXPIRE, "server %lld: key of value %lld expires; connection %lld")          \
  X(PROBE, "probe of resource %lld by client %lld slot %lld")                   \
  X(STRANGER, "server %lld: another program's key of resource %lld, %lld bytes (-1 = it goes)")   \
  X(REPLY, "server %lld replies on connection %lld: %lld bytes")

enum note {
#define X(name, text) N_##name,
  NOTES(X)
#undef X
};

static inline void write_note(int kind, int64_t a, int64_t b, int64_t c) {
  static const char *const text[] = {
#define X(name, format) format,
      NOTES(X)
#undef X
  };
  fprintf(W.log, "%12lld.%06lld ms  %*s", W.now / MS, W.now % MS, W.depth * 2, "");
  if (kind == N_FAULT)
    fprintf(W.log, "fault: %s at %lld, for %lld ms", fault_text[(int)a], (long long)b,
            (long long)(c / MS));
  else
    fprintf(W.log, text[kind], (long long)a, (long long)b, (long long)c);
  putc('\n', W.log);
}

static inline void note(int kind, int64_t a, int64_t b, int64_t c) {
  mix(kind);
  mix(W.now);
  mix(a);
  mix(b);
  mix(c);
  if (W.log) write_note(kind, a, b, c);
}

/* Whether this fault strikes here and now. */
static inline int fault(int kind) {
  if (W.odds[kind] == 0 || W.healed || W.quiet || below(1000000) >= W.odds[kind]) return 0;
  T->fault[kind]++;
  return 1;
}

#ifdef __GNUC__
#define CHECKED_FORMAT(at) __attribute__((format(printf, at, (at) + 1)))
#else
#define CHECKED_FORMAT(at)
#endif

/* The first violation ends the run. */
CHECKED_FORMAT(1) static void violation(const char *format, ...) {
  va_list list;
  if (W.failed || (W.alone && strncmp(format, "refine", 6) != 0)) return;
  W.failed = 1;
  va_start(list, format);
  vsnprintf(W.message, MESSAGE_BYTES, format, list);
  va_end(list);
}

/* The same, of one slot. */
CHECKED_FORMAT(3)
static void slot_fails(const struct slot *s, const char *rule, const char *format, ...) {
  char text[MESSAGE_BYTES];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  violation("%s: client %d slot %d %s", rule, s->client, s->index, text);
}

/* The header's own assertions. What comes after one that fails may never end: the run is left. */
void sim_assert(const char *text) {
  if (W.alone) return;
  violation("REDLOCK_ASSERT: %s", text);
  if (W.can_leave) longjmp(W.leave, 1);
}

#endif
