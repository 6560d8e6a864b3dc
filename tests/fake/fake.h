/* fake.h: a scripted set of servers behind redlock_io, with a clock that only moves when told.
 *
 * Nothing here sleeps or opens a socket: time passes in io->wait, in fake_sleep, or wherever a
 * script (fake.on_call) moves it, so a test can step the clock between any two calls and assert
 * on exact milliseconds. Every misbehaviour is a member of struct fake_server or a fake_rule;
 * what happened stands in the log, in the stores and in the counters.
 *
 * ../store.h        what a server answers, and its keys: a new script is taught there
 * fake_stream.h     bytes with a time of arrival
 * fake_tracking.h   replies, and who gets a push of what changes (R26)
 * fake_server.h     which command it was, and what is done with it
 * fake_io.h         the hooks, the clock, the failures
 * fake_idle_step.h  the check of every test that no step acts before its time (R27)
 * fake_script.h     what tests ask and tell
 * fixture.h         one client on one fake, for the test programs */
#ifndef FAKE_H
#define FAKE_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../store.h"

#define FAKE_NEVER INT64_MAX
#define FAKE_ANY (-1)

/* What servers' wall clocks show, in microseconds, when the fake's clock shows 0. */
#define FAKE_WALL_US INT64_C(1790000000000000)

enum { FAKE_SERVERS = 32, FAKE_CLIENTS = 2, FAKE_RULES = 64, FAKE_TEXT = 160,
       FAKE_WATCHED = 2 };

enum fake_hook {
  FAKE_OPEN, FAKE_SEND, FAKE_RECV, FAKE_CLOSE, FAKE_WAIT, FAKE_NOW, FAKE_ENTROPY, FAKE_HOOKS
};

enum fake_kind {
  FAKE_SET, FAKE_RELEASE, FAKE_EXTEND, FAKE_AUTH, FAKE_SELECT, FAKE_INFO, FAKE_OTHER,
  FAKE_HELLO, FAKE_TRACKING, FAKE_PROOF /* every connection begins with these: FAKE_ANY leaves them
                                           out */
};

/* A FIN lets the replies before it through, an RST does not. */
enum fake_end { FAKE_RST, FAKE_FIN };

/* Binary-safe: a lock's value may hold any byte. */
struct fake_text {
  size_t size;
  unsigned char byte[FAKE_TEXT];
};

struct fake_stream {
  unsigned char *byte;
  int64_t *at; /* when each byte arrives */
  size_t next, end, room;
};

/* One command as a server ran it. */
struct fake_command {
  int server, client;
  int connection; /* the server's first connection is 1 */
  unsigned life;  /* the server's run_id */
  int64_t at;
  enum fake_kind kind;
  struct fake_text key, value;
  long long ttl_ms;
  int fenced; /* a SET by the script of R25 */
  long long token;
  int tracked; /* a SET by a script that reads the key if it is refused */
  int adopts; /* a SET that wants another value to be there (R28) */
  int native; /* a release by a command of the server's own */
  char words[48]; /* AUTH, SELECT, INFO and what is unknown: the words */
  char answer[48];
};

struct fake_connection {
  int server, client, number;
  int held;          /* the client has not closed it */
  int swallowed;     /* what is sent either way is lost, without a word */
  int64_t usable_at; /* when the connect is through */
  int64_t broken_at;
  enum fake_end end;
  struct fake_stream in, out;
  struct fake_stream told; /* all that the server has sent: nothing is taken from it */
  size_t took, gave; /* bytes in either direction */
  int replies;       /* to commands */
  struct session session;
};

/* Answers commands of one kind with something else. */
struct fake_rule {
  int server;         /* or FAKE_ANY */
  int kind;           /* or FAKE_ANY */
  int skip, times;    /* leave the first `skip` alone, then act so often (< 0 = for ever) */
  int runs;           /* the command is run all the same */
  const char *answer; /* raw bytes; NULL = none ever comes */
};

struct fake_server {
  /* the script */
  int64_t connect_ms;              /* FAKE_NEVER = a black hole */
  int64_t request_ms, reply_ms;    /* one way each */
  int64_t thaw_at;                 /* frozen until; FAKE_NEVER = for good */
  int open_fails, refuses;
  size_t send_chunk, recv_chunk;   /* the most of one call */
  size_t socket_room;              /* what fits in front of a frozen server */
  size_t split_at;                 /* the bytes of a reply from here on ... */
  int64_t split_ms;                /* ... come so much later */
  int64_t gap_ms;                  /* between any two bytes of a reply */
  size_t cut_in, cut_out;          /* bytes of a connection before it breaks */
  int cuts;                        /* how many connections that shall happen to */
  enum fake_end cut_end;
  const char *greeting;            /* said before anything was asked ... */
  int hangs_up;                    /* ... and then the connection ends */
  int loses_pushes, pushes;
  int64_t wall_us;                 /* its wall clock less the others' */
  int64_t started_at;
  unsigned run_id;
  struct store store;              /* what it answers, and the keys */
  /* the state */
  int connections;
};

struct fake;

struct fake_client {
  struct fake *fake;
  redlock_io io;
  redlock *rl; /* whose steps must have a reason (R27); NULL = nobody's */
  int connection[FAKE_SERVERS]; /* index, or -1 */
};

struct fake {
  int servers;
  int64_t now_ms;
  uint64_t seed;
  const unsigned char *entropy; /* NULL = pseudo-random, else this over and over */
  size_t entropy_size, entropy_given;
  struct fake_server server[FAKE_SERVERS];
  struct fake_client client[FAKE_CLIENTS];
  struct fake_connection *connection;
  size_t connections, connection_room;
  struct fake_command *log;
  size_t logged, log_room;
  struct fake_rule rule[FAKE_RULES];
  int rules;
  long calls[FAKE_HOOKS], most_calls; /* more of one hook: the client never ends */
  int fail_hook; /* FAKE_ANY = none */
  long fail_from, fail_until;
  void (*on_call)(struct fake *f, enum fake_hook hook, int server);
  /* sees each reply, the connection's first, second and so on, and may change it */
  void (*on_reply)(struct fake *f, const struct fake_connection *c, struct reply *r);
  redlock_lock *watched[FAKE_WATCHED]; /* a step without a reason does not change them */
  int idle;          /* such a step is under way: no hook may act */
  int64_t named_at;  /* when the client said there will be something to do */
  unsigned wanted[FAKE_SERVERS]; /* the events it said it waits for */
  int idle_waits;    /* waits in a row without an act or time between */
  char misuse[112]; /* the first breach of redlock_io's contract; "" = none */
};

static inline void *fake_grow(void *memory, size_t *room, size_t need, size_t each) {
  if (need <= *room) return memory;
  *room = need * 2;
  memory = realloc(memory, *room * each);
  if (!memory) abort();
  return memory;
}

static inline void fake_misuse(struct fake *f, const char *what, int server) {
  if (!f->misuse[0]) snprintf(f->misuse, sizeof f->misuse, "%s, server %d", what, server);
}

#include "fake_stream.h"
#include "fake_tracking.h"
#include "fake_server.h"
#include "fake_idle_step.h"
#include "fake_io.h"
#include "fake_script.h"

#endif
