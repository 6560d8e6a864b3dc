/* redlock.h - 0.1.0 - the Redlock distributed lock in one C header - MIT-0

   A lock over N independent Redis or Valkey masters that is correct when servers die, freeze,
   restart and answer late. C99 and C++98, nothing beyond libc. No malloc, no threads, no globals,
   no floating point. Letters such as (R7) name the rules in the README.

   WHAT TO DO
     In ONE file:        #define REDLOCK_IMPLEMENTATION
                         #include "redlock.h"
     In all others:      #include "redlock.h"
     With -std=c99 (or any -std=cNN) POSIX names are hidden: also -D_POSIX_C_SOURCE=200809L.

   HELLO
     #define REDLOCK_IMPLEMENTATION
     #include "redlock.h"

     int main(void) {
       redlock rl;
       redlock_lock lock;
       if (redlock_init(&rl, "10.0.0.1,10.0.0.2,10.0.0.3", NULL)) return 1;
       if (redlock_acquire(&rl, &lock, "invoice:42", 10000, 3000) == REDLOCK_OK) {
         work(redlock_remaining_ms(&rl, &lock));
         redlock_release(&rl, &lock);
       }
       redlock_close(&rl);
     }

   MANY LOCKS, ONE THREAD
     The blocking calls are a loop over the stepping ones. To have hundreds of locks in flight, call
     redlock_start_acquire for each, then redlock_wait (or poll redlock_fds for redlock_timeout_ms
     yourself and call redlock_step) until every lock has been handed back.

   OPTIONS, for the compiler: the same in every file that includes the header
     REDLOCK_MAX_SERVERS    7     servers in the list (1 to 32)
     REDLOCK_MAX_RESOURCE   128   bytes of a resource's name (1 to 4096)
     REDLOCK_MAX_COMMANDS   32    commands in the log; a power of two, 4 or more
     REDLOCK_RING_BYTES     4096  bytes of encoded commands in the log
     REDLOCK_MAX_ERROR      112   bytes of the error text kept for each server (16 or more)
     REDLOCK_NO_POSIX             leaves the POSIX back end out: options.io must be given
     REDLOCK_NO_DNS               numeric addresses only: no getaddrinfo, 96 bytes less a server
     REDLOCK_STATIC               every function is static to the file
     REDLOCK_ASSERT(truth)        called with the invariants; nothing by default
   Smallest useful: 3 servers, 16, 4, 320, 16 and REDLOCK_NO_DNS: under 1 KB on 32 bits for client
   and lock. To have W locks in flight at once allow 2 commands and 400 bytes for each.

   OWNERSHIP AND THREADS
     The caller owns every struct; the list of servers, the strings in the options and the io must
     outlive the client. One client belongs to one thread and one process (R17); several clients
     share nothing. A lock belongs to the client while it is pending, kept, or decided and not yet
     returned by redlock_step or redlock_wait: until then it must not move, be copied or go away.

   ERRORS
     Every call says what happened by a redlock_status; redlock_server_error says it for one server.

   WHAT NO CLIENT CAN PROMISE
     A process that pauses after the grant can outlive its lock: where that matters, the resource
     itself must refuse it. A server's clock that is stepped forward expires keys early. A server
     that restarts empty forgets its locks: set max_ttl_ms (R24).

   LICENCE
     MIT No Attribution (MIT-0). The text stands in LICENSE. */

#ifndef REDLOCK_H
#define REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#define REDLOCK_VERSION "0.1.0"

#ifndef REDLOCK_MAX_SERVERS
#define REDLOCK_MAX_SERVERS 7
#endif
#ifndef REDLOCK_MAX_RESOURCE
#define REDLOCK_MAX_RESOURCE 128
#endif
#ifndef REDLOCK_MAX_COMMANDS
#define REDLOCK_MAX_COMMANDS 32
#endif
#ifndef REDLOCK_RING_BYTES
#define REDLOCK_RING_BYTES 4096
#endif
#ifndef REDLOCK_MAX_ERROR
#define REDLOCK_MAX_ERROR 112
#endif

#ifdef REDLOCK_STATIC
#define REDLOCK_API static inline
#elif defined(__cplusplus)
#define REDLOCK_API extern "C"
#else
#define REDLOCK_API extern
#endif

#define REDLOCK_FOREVER UINT32_MAX /* as wait_ms: no end */

typedef enum redlock_status {
  REDLOCK_OK = 0,
  REDLOCK_PENDING = 1,    /* not decided yet: keep stepping */
  REDLOCK_TAKEN = -1,     /* another client holds it: try again later, or wait */
  REDLOCK_NO_QUORUM = -2, /* too few servers answered with a vote: see redlock_server_error */
  REDLOCK_EXPIRED = -3,   /* validity ran out, or the lock is no longer ours: stop the work */
  REDLOCK_CANCELLED = -4, /* by redlock_cancel, or by a release before the grant */
  REDLOCK_LIMIT = -5,     /* max_hold_ms is reached; the lock stands until its deadline */
  REDLOCK_INVALID = -6,   /* a bad argument, a call out of order, another process: no effect */
  REDLOCK_SYSTEM = -7     /* no entropy, no socket, clock failure */
} redlock_status;

typedef enum redlock_operation {
  REDLOCK_ACQUIRE = 1,
  REDLOCK_EXTEND,
  REDLOCK_RELEASE,
  REDLOCK_LOST /* a kept lock is handed back: EXPIRED, LIMIT or SYSTEM says why */
} redlock_operation;

typedef enum redlock_vote {
  REDLOCK_VOTE_NONE,        /* no answer yet, or none was needed */
  REDLOCK_VOTE_YES,         /* set, extended or deleted */
  REDLOCK_VOTE_TAKEN,       /* another value is there, or none where ours should be */
  REDLOCK_VOTE_TIMEOUT,     /* no answer within server_timeout_ms */
  REDLOCK_VOTE_UNREACHABLE, /* no connection, or lost before the answer */
  REDLOCK_VOTE_ERROR,       /* an error reply, or a failed AUTH, SELECT or INFO */
  REDLOCK_VOTE_QUARANTINED  /* restarted less than max_ttl_ms ago (R24) */
} redlock_vote;

enum { REDLOCK_READ = 1, REDLOCK_WRITE = 2 };

typedef struct redlock_fd {
  intptr_t fd;         /* what io->open returned */
  int server;          /* position in the list, from 0 */
  unsigned events;     /* REDLOCK_READ | REDLOCK_WRITE; level-triggered */
  uint32_t generation; /* grows when the server is reopened: tells epoll users of a reused number */
} redlock_fd;

/* The world, for your own sockets, TLS, clock or simulator. No call may block but wait. */
typedef struct redlock_io {
  /* Starts connecting to host and port (port is "" and host starts with '/' for unix:). A number
     that is yours, or < 0 = failed. Both texts last only as long as the call. */
  intptr_t (*open)(void *ctx, int server, const char *host, const char *port);
  /* Bytes taken; 0 = not yet, also while connecting; < 0 = broken. */
  int (*send)(void *ctx, int server, const void *data, size_t size);
  /* Bytes given; 0 = not yet, also while connecting; < 0 = broken or closed. */
  int (*recv)(void *ctx, int server, void *data, size_t size);
  /* Ends what open returned; called once for each open that did not fail. */
  void (*close)(void *ctx, int server);
  /* Returns when any is ready or the time is up (-1 = no limit), early is allowed; < 0 = failed. */
  int (*wait)(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms);
  /* Monotonic milliseconds, counting suspend, late by less than 1 ms (R2); < 0 = failed. */
  int64_t (*now_ms)(void *ctx);
  /* Fills data from a cryptographic source (R3); 0 = all of it. */
  int (*entropy)(void *ctx, void *data, size_t size);
  void *ctx;
} redlock_io;

/* Zero is the default for every member. */
typedef struct redlock_options {
  uint32_t server_timeout_ms;  /* 50; what one server has for one answer (R10) */
  uint32_t retry_delay_min_ms; /* 100; a waiting acquire rests at random between these two (R9) */
  uint32_t retry_delay_max_ms; /* 200 */
  uint32_t max_attempts;       /* attempts of one acquire; 0 = only wait_ms bounds them */
  uint32_t drift_ppm;          /* 10 000; clocks' drift allowed for, below 1 000 000 (R1) */
  uint32_t max_hold_ms;        /* longest hold by extension; 0 = no limit (R20) */
  uint32_t max_ttl_ms;         /* longest ttl of any client; 0 = restart quarantine off (R24) */
  const char *username;        /* for entries of the list that name none; NULL = none */
  const char *password;
  const redlock_io *io;        /* NULL = the POSIX back end */
} redlock_options;

/* One lock. The first four members are for the caller to read; `user` is the caller's own. Zero it
   before the first use unless that use is an acquire. */
typedef struct redlock_lock {
  redlock_status status;       /* of the last operation */
  redlock_operation operation; /* the last one, or the one that is pending */
  redlock_vote votes[REDLOCK_MAX_SERVERS]; /* of its last round */
  void *user;                  /* never read or written by the library */
  /* private from here on */
  struct redlock_lock *next, *prev;
  int64_t t1_ms;       /* when this round's command was encoded (R1) */
  int64_t deadline_ms; /* the validity's end; 0 = not held (R22) */
  int64_t give_up_ms;  /* no attempt starts after this (R9) */
  int64_t due_ms;      /* when the clock next has a say */
  int64_t since_ms;    /* T1 of the grant: max_hold_ms counts from here (R20) */
  uint32_t ask_ms;     /* the ttl that this round asks for */
  uint32_t ttl_ms;     /* the longest asked for: no value of ours outlives it on a server */
  uint32_t max_hold_ms, attempts;
  uint32_t command;    /* the round's place in the log */
  uint32_t touched;    /* servers that may hold this attempt's value */
  uint16_t resource_size;
  uint8_t phase, task, held, kept, reserved;
  int8_t last;         /* the status of the last finished attempt */
  unsigned char value[20];
  char resource[REDLOCK_MAX_RESOURCE];
} redlock_lock;

/* private: one command of the log, from its encoding until it is retired */
typedef struct rl_command {
  redlock_lock *lock; /* who waits for the votes; NULL = decided */
  int64_t t1_ms;
  uint32_t ttl_ms;
  uint32_t due;       /* servers that shall still get it: no byte of it has left for them */
  uint32_t owed;      /* servers that got it and owe the reply on the connection they have */
  uint16_t size;      /* bytes in the ring */
  uint8_t kind;
} rl_command;

/* private: where the reply parser stands */
typedef struct rl_parser {
  uint32_t number, count;
  uint8_t state, type, negative, match;
} rl_parser;

#if !defined(REDLOCK_NO_POSIX) && !defined(REDLOCK_NO_DNS)
/* private: an address that was looked up */
typedef struct rl_address {
  unsigned char ip[16];
  uint32_t scope;
  uint16_t port;   /* network order */
  uint16_t family; /* 0 = none, else 4 or 6 */
} rl_address;
#endif

/* private: one server */
typedef struct rl_server {
  int64_t until_ms;    /* closed: not reopened before; open: replaced, if stalled, after */
  int64_t mark_ms;     /* when the marked command was sent; nothing owed: when last heard of */
  int64_t born_ms;     /* our time of its start, never too early (R24) */
  uint64_t run_id;     /* its first 16 digits; 0 = not seen */
  uint64_t next_run_id; /* what this handshake tells */
  intptr_t fd;
  uint32_t generation;
  uint32_t cursor;     /* the next command to send */
  uint32_t at;         /* the ring offset of its next byte */
  uint32_t answered;   /* no command before this one is owed */
  uint32_t owed;       /* replies to come on this connection */
  uint32_t late;       /* the first of them: to commands that have left the log */
  uint32_t mark;       /* replies until the marked command's own */
  rl_parser parser;
  uint16_t sent;       /* bytes of the cursor's command that have left */
  uint16_t entry, entry_size; /* its text in the list */
  uint16_t greeting_sent;
  uint8_t state, fails;
  uint8_t greeting;    /* replies of the handshake to come */
  uint8_t linked;      /* a byte has left: the connection stands */
  uint8_t stalled;     /* the marked reply is overdue (R13) */
  uint8_t undoing;     /* refused: the cursor's command is being undone */
  uint8_t wary;        /* the last handshake was refused: nothing goes before the next succeeds */
  uint8_t greeted;     /* all bytes of the handshake have left */
  uint8_t told;        /* the error text is from this connection's server itself */
  uint8_t seen;        /* what INFO has told so far */
  uint8_t line_size;
  uint32_t uptime_s;
  char line[29];       /* one line of INFO, cut */
  char error[REDLOCK_MAX_ERROR];
#if !defined(REDLOCK_NO_POSIX) && !defined(REDLOCK_NO_DNS)
  rl_address address[2]; /* tried in turn */
#endif
} rl_server;

typedef struct rl_list { /* private */
  redlock_lock *first, *last;
} rl_list;

/* The client. All members are private. */
typedef struct redlock {
  size_t size;        /* sizeof(redlock) once initialised */
  const redlock_io *io;
  void *ctx;
  redlock_options options;
  const char *list;
  long process;       /* who called init (R17) */
  int64_t now_ms;     /* the last good reading of the clock */
  int64_t due_ms;     /* no lock and no server has anything to do by the clock before */
  rl_list line;       /* locks that wait for room in the log (R11) */
  rl_list live;       /* locks with a round under way, resting between attempts, or kept */
  rl_list decided;    /* locks to hand back */
  uint32_t first, count;  /* the log: its oldest command, and how many */
  uint32_t tail, used;    /* the ring: the oldest command's offset, and all their bytes */
  uint32_t reserved_bytes, reserved_commands; /* for roll-backs (R7) */
  uint32_t quiet;     /* servers that wait() found unready: recv would be in vain */
  uint8_t servers, quorum;
  uint8_t fresh;      /* something was encoded since the last sending */
  rl_server server[REDLOCK_MAX_SERVERS];
  rl_command log[REDLOCK_MAX_COMMANDS];
  unsigned char ring[REDLOCK_RING_BYTES];
} redlock;

/* Prepares a client; connects nothing. servers: a list, separated by commas or white space, of
   host[:port], [v6]:port, redis://[user[:password]@]host[:port][/db] and unix:/path; port 6379 by
   default. Looks names up and may block on that; a name that is not found makes its server
   unreachable. options may be NULL. OK, INVALID (redlock_server_error tells which entry and why),
   or SYSTEM when the clock fails. */
#define redlock_init(rl, servers, options) \
  redlock_init_sized(rl, servers, options, sizeof(redlock), sizeof(redlock_lock))
REDLOCK_API redlock_status redlock_init_sized(redlock *rl, const char *servers,
                                              const redlock_options *options, size_t client_size,
                                              size_t lock_size);

/* Looks the names up again, may block; takes effect when a server is next opened. INVALID when two
   entries turn out to be one address. With your own io: does nothing, OK. */
REDLOCK_API redlock_status redlock_resolve(redlock *rl);

/* Cancels what is pending, gives roll-backs up to one server_timeout_ms to leave, closes. Does not
   release held locks. In another process than init's it only closes descriptors (R17). */
REDLOCK_API void redlock_close(redlock *rl);

/* Takes the lock `resource` (1 to REDLOCK_MAX_RESOURCE bytes; copied) for ttl_ms (R1 to R9).
   wait_ms: 0 = one attempt, REDLOCK_FOREVER = no end, else attempts go on for so long, and the call
   lasts at most one server_timeout_ms more. OK, TAKEN, NO_QUORUM, EXPIRED (a quorum came too late),
   INVALID, SYSTEM. Nothing in *lock is read, and all but `user` written, unless it is INVALID. */
REDLOCK_API redlock_status redlock_acquire(redlock *rl, redlock_lock *lock, const char *resource,
                                           uint32_t ttl_ms, uint32_t wait_ms);

/* Extends a held lock to ttl_ms from now, never shortens it (R18). NO_QUORUM changes nothing: try
   again until redlock_remaining_ms is 0 (R19). EXPIRED: the lock is gone. LIMIT: max_hold_ms. */
REDLOCK_API redlock_status redlock_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms);

/* Deletes the value, if it is still ours, on all servers (R21). The lock counts as released when
   this is called, whatever is returned. OK; EXPIRED: it was no longer ours; NO_QUORUM: too few
   answered, the rest is freed by its ttl. */
REDLOCK_API redlock_status redlock_release(redlock *rl, redlock_lock *lock);

/* The same, step by step: PENDING, or why not, and then nothing was touched. start_release of a
   lock that is not granted yet cancels it and says CANCELLED. wait_ms of start_acquire counts from
   the call; the first attempt is made however long the line for room in the log is (R11). */
REDLOCK_API redlock_status redlock_start_acquire(redlock *rl, redlock_lock *lock,
                                                 const char *resource, uint32_t ttl_ms,
                                                 uint32_t wait_ms);
REDLOCK_API redlock_status redlock_start_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms);
REDLOCK_API redlock_status redlock_start_release(redlock *rl, redlock_lock *lock);

/* Takes the lock out of the client at once; it will not be handed back. A pending acquire, or a
   grant not handed back yet, is rolled back; after a pending extension, or keep, it is still held;
   a pending release is no longer waited for. OK, or INVALID when nothing was pending. */
REDLOCK_API redlock_status redlock_cancel(redlock *rl, redlock_lock *lock);

/* Does what is due and hands back a lock that was just decided, or NULL. Each decision is handed
   back exactly once. Call it again until it returns NULL. */
REDLOCK_API redlock_lock *redlock_step(redlock *rl);

/* Waits for the network or the clock, at most timeout_ms (-1 = no limit), then steps. NULL also
   when nothing is pending at all. */
REDLOCK_API redlock_lock *redlock_wait(redlock *rl, int64_t timeout_ms);

/* Until redlock_step has something to do by the clock, in ms; 0 = now, -1 = never. */
REDLOCK_API int64_t redlock_timeout_ms(const redlock *rl);

/* What to poll for: fills up to capacity entries and returns how many there are. */
REDLOCK_API int redlock_fds(const redlock *rl, redlock_fd *fds, int capacity);

/* Extends a held lock from redlock_step, at half of its validity, until it is released, cancelled
   or lost: then it is handed back with the operation REDLOCK_LOST. max_hold_ms counts from the
   grant; 0 = that of the options (R20). OK, EXPIRED or INVALID. */
REDLOCK_API redlock_status redlock_keep(redlock *rl, redlock_lock *lock, uint32_t max_hold_ms);

/* How long the lock is still ours, in ms; 0 = not held (R22). */
REDLOCK_API int64_t redlock_remaining_ms(const redlock *rl, const redlock_lock *lock);

/* A short text for a status; never NULL. */
REDLOCK_API const char *redlock_strerror(redlock_status status);

/* The last error of a server, in its own words, and what to do; "" = none, NULL = no such server.
   Valid until the next call with this client. */
REDLOCK_API const char *redlock_server_error(const redlock *rl, int server);

#endif /* REDLOCK_H */

/* ============================================================================================== */
#if defined(REDLOCK_IMPLEMENTATION) && !defined(REDLOCK_IMPLEMENTED)
#define REDLOCK_IMPLEMENTED

#include <string.h>

#ifndef REDLOCK_NO_POSIX
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef REDLOCK_NO_DNS
#include <arpa/inet.h>
#else
#include <netdb.h>
#endif
#ifdef __linux__
#include <sys/random.h>
#endif
#ifndef CLOCK_MONOTONIC
#error "redlock.h: POSIX names are hidden; compile with -D_POSIX_C_SOURCE=200809L or -std=gnu99"
#endif
#endif

#ifndef REDLOCK_ASSERT
#define REDLOCK_ASSERT(truth) ((void)0)
#endif

#ifdef __cplusplus
#define RL_AS(type, value) static_cast<type>(value)
#else
#define RL_AS(type, value) ((type)(value))
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define RL_NULL nullptr
#else
#define RL_NULL NULL
#endif

/* ---- Configuration, checked ------------------------------------------------------------------ */

/* The two scripts. pcall and the returned table keep a server's own error word before 7.0 too. */
#define RL_OWNED                                                                                   \
  "local c,k=redis.pcall,KEYS[1]local v=c('get',k)"                                                \
  "if v~=ARGV[1]then return v and v.err and v or 0 end "
#define RL_RELEASE_SCRIPT RL_OWNED "return c('del',k)"
#define RL_EXTEND_SCRIPT                                                                           \
  RL_OWNED "if c('pttl',k)<ARGV[2]+0 then return c('pexpire',k,ARGV[2])end return 1"

#define RL_SET_HEAD "*6\r\n$3\r\nSET\r\n"
#define RL_SET_BYTES(resource_size) ((resource_size) + 82u)
#define RL_RELEASE_BYTES(resource_size) ((resource_size) + 64u + sizeof(RL_RELEASE_SCRIPT))
#define RL_EXTEND_BYTES(resource_size) ((resource_size) + 81u + sizeof(RL_EXTEND_SCRIPT))

enum {
  RL_VALUE_BYTES = 20,
  RL_HOST_BYTES = 256,      /* a host's name or a socket's path, with its end */
  RL_WINDOW_BYTES = 128,    /* what a private message is sent through */
  RL_RECEIVE_BYTES = 512,
  RL_RECEIVE_TURNS = 16,    /* so that one talkative server cannot hold a step up */
  RL_SEND_PASSES = 4,       /* a pass may queue roll-backs; more wait for the next step */
  RL_LINE_LIMIT = 4096,     /* a longer line is not Redis */
  RL_BULK_LIMIT = 65536,    /* so is a longer section of INFO */
  RL_BACKOFF_MIN_MS = 20,
  RL_BACKOFF_MAX_MS = 1000,
  RL_CONNECT_MS = 2000,     /* a connection that never stood is tried anew after this */
  RL_UPTIME_SLACK_MS = 2000 /* uptime_in_seconds is cut, and so is the start it counts from */
};

typedef char rl_check_servers[REDLOCK_MAX_SERVERS >= 1 && REDLOCK_MAX_SERVERS <= 32 ? 1 : -1];
typedef char rl_check_resource[REDLOCK_MAX_RESOURCE >= 1 && REDLOCK_MAX_RESOURCE <= 4096 ? 1 : -1];
typedef char rl_check_commands[REDLOCK_MAX_COMMANDS >= 4 &&
                               (REDLOCK_MAX_COMMANDS & (REDLOCK_MAX_COMMANDS - 1)) == 0 ? 1 : -1];
typedef char rl_check_error[REDLOCK_MAX_ERROR >= 16 ? 1 : -1];
typedef char rl_check_ring[RL_SET_BYTES(REDLOCK_MAX_RESOURCE) +
                           RL_RELEASE_BYTES(REDLOCK_MAX_RESOURCE) <= REDLOCK_RING_BYTES &&
                           RL_EXTEND_BYTES(REDLOCK_MAX_RESOURCE) <= REDLOCK_RING_BYTES ? 1 : -1];

enum { RL_CLOSED, RL_OPEN, RL_REFUSED };                        /* rl_server.state */
enum { RL_IDLE, RL_LINE, RL_VOTING, RL_RESTING, RL_KEEPING, RL_DECIDED }; /* redlock_lock.phase */
enum { RL_SET, RL_EXTEND, RL_RELEASE, RL_ABANDON };             /* rl_command.kind, .task */
enum { RL_NEVER, RL_HELD, RL_OVER };                            /* redlock_lock.held */

static uint32_t rl_bit(int server) { return UINT32_C(1) << server; }

static size_t rl_min(size_t a, size_t b) { return a < b ? a : b; }

/* ---- RESP: the encoder ----------------------------------------------------------------------- */

/* Writes into a ring, or through a window: `skip` bytes are dropped before `room` are kept. So a
   message is sent in pieces with no buffer of its own: it is simply written again. */
typedef struct rl_writer {
  unsigned char *data;
  size_t size, at;     /* of data; the offset wraps */
  size_t skip, room;
  size_t written;
} rl_writer;

static void rl_put(rl_writer *w, const void *bytes, size_t size) {
  const unsigned char *from = RL_AS(const unsigned char *, bytes);
  size_t dropped = rl_min(size, w->skip), straight;
  from += dropped;
  w->skip -= dropped;
  size = rl_min(size - dropped, w->room);
  w->room -= size;
  w->written += size;
  straight = rl_min(size, w->size - w->at);
  memcpy(w->data + w->at, from, straight);
  memcpy(w->data, from + straight, size - straight);
  w->at += size;
  if (w->at >= w->size) w->at -= w->size;
}

static void rl_put_text(rl_writer *w, const char *text) { rl_put(w, text, strlen(text)); }

/* Decimal digits, without an end; how many. */
static size_t rl_format(char text[10], uint32_t number) {
  char reversed[10];
  size_t digits = 0, i;
  do {
    reversed[digits++] = RL_AS(char, '0' + number % 10);
    number /= 10;
  } while (number);
  for (i = 0; i < digits; i++) text[i] = reversed[digits - 1 - i];
  return digits;
}

/* "*5\r\n" or "$20\r\n" */
static void rl_put_count(rl_writer *w, char type, size_t count) {
  char text[13];
  size_t size = 1 + rl_format(text + 1, RL_AS(uint32_t, count));
  text[0] = type;
  text[size++] = '\r';
  text[size++] = '\n';
  rl_put(w, text, size);
}

static void rl_put_bulk(rl_writer *w, const void *bytes, size_t size) {
  rl_put_count(w, '$', size);
  rl_put(w, bytes, size);
  rl_put(w, "\r\n", 2);
}

static void rl_put_bulk_number(rl_writer *w, uint32_t number) {
  char text[10];
  size_t size = rl_format(text, number);
  rl_put_bulk(w, text, size);
}

static void rl_write_set(rl_writer *w, const redlock_lock *lock) {
  rl_put_text(w, RL_SET_HEAD);
  rl_put_bulk(w, lock->resource, lock->resource_size);
  rl_put_bulk(w, lock->value, RL_VALUE_BYTES);
  rl_put_text(w, "$2\r\nPX\r\n");
  rl_put_bulk_number(w, lock->ask_ms);
  rl_put_text(w, "$2\r\nNX\r\n");
}

static void rl_write_release_head(rl_writer *w) {
  rl_put_text(w, "*5\r\n$4\r\nEVAL\r\n");
  rl_put_bulk(w, RL_RELEASE_SCRIPT, sizeof(RL_RELEASE_SCRIPT) - 1);
  rl_put_text(w, "$1\r\n1\r\n");
}

static void rl_write_release(rl_writer *w, const redlock_lock *lock) {
  rl_write_release_head(w);
  rl_put_bulk(w, lock->resource, lock->resource_size);
  rl_put_bulk(w, lock->value, RL_VALUE_BYTES);
}

static void rl_write_extend(rl_writer *w, const redlock_lock *lock) {
  rl_put_text(w, "*6\r\n$4\r\nEVAL\r\n");
  rl_put_bulk(w, RL_EXTEND_SCRIPT, sizeof(RL_EXTEND_SCRIPT) - 1);
  rl_put_text(w, "$1\r\n1\r\n");
  rl_put_bulk(w, lock->resource, lock->resource_size);
  rl_put_bulk(w, lock->value, RL_VALUE_BYTES);
  rl_put_bulk_number(w, lock->ask_ms);
}

/* ---- RESP: the reply parser ------------------------------------------------------------------ */

typedef enum rl_reply {
  RL_MORE,       /* the byte was taken, the reply goes on */
  RL_ERROR_BYTE, /* so it was, and it belongs to an error's text */
  RL_BULK_BYTE,  /* or to a bulk */
  RL_BAD,        /* no Redis sends this */
  RL_REPLY_OK,   /* exactly +OK */
  RL_REPLY_NIL,
  RL_REPLY_ZERO,
  RL_REPLY_POSITIVE,
  RL_REPLY_BULK,
  RL_REPLY_ERROR,
  RL_REPLY_OTHER /* well formed, and nothing that we ask for */
} rl_reply;

enum { RL_AT_TYPE, RL_AT_LINE, RL_AT_LF, RL_AT_BULK, RL_AT_BULK_CR, RL_AT_BULK_LF };

static rl_reply rl_parse_type(rl_parser *p, char c) {
  if (c != '+' && c != '-' && c != ':' && c != '$') return RL_BAD;
  memset(p, 0, sizeof *p);
  p->type = RL_AS(uint8_t, c);
  p->state = RL_AT_LINE;
  return RL_MORE;
}

/* A digit, or a first minus. Numbers stick at their greatest: only 0, 1 and sizes matter. */
static rl_reply rl_parse_digit(rl_parser *p, char c) {
  if (c == '-' && p->count == 1) {
    p->negative = 1;
    return RL_MORE;
  }
  if (c < '0' || c > '9') return RL_BAD;
  p->match = 1;
  if (p->number < 100000000) p->number = p->number * 10 + RL_AS(uint32_t, c - '0');
  return RL_MORE;
}

static rl_reply rl_parse_line(rl_parser *p, char c) {
  if (c == '\r') {
    p->state = RL_AT_LF;
    return RL_MORE;
  }
  if (c == '\n' || ++p->count > RL_LINE_LIMIT) return RL_BAD;
  if (p->type == '-') return RL_ERROR_BYTE;
  if (p->type != '+') return rl_parse_digit(p, c);
  if (p->count <= 2 && c == "OK"[p->count - 1]) p->match++;
  return RL_MORE;
}

static rl_reply rl_parse_line_end(rl_parser *p) {
  p->state = RL_AT_TYPE;
  if (p->type == '-') return RL_REPLY_ERROR;
  if (p->type == '+') return p->match == 2 && p->count == 2 ? RL_REPLY_OK : RL_REPLY_OTHER;
  if (!p->match) return RL_BAD;
  if (p->type == ':') {
    if (p->negative && p->number) return RL_REPLY_OTHER;
    return p->number ? RL_REPLY_POSITIVE : RL_REPLY_ZERO;
  }
  if (p->negative) return p->number == 1 ? RL_REPLY_NIL : RL_BAD;
  if (p->number > RL_BULK_LIMIT) return RL_BAD;
  p->state = p->number ? RL_AT_BULK : RL_AT_BULK_CR;
  return RL_MORE;
}

/* Takes one byte. What it returns from RL_REPLY_OK on is a whole reply. */
static rl_reply rl_parse(rl_parser *p, char c) {
  switch (p->state) {
    case RL_AT_TYPE: return rl_parse_type(p, c);
    case RL_AT_LINE: return rl_parse_line(p, c);
    case RL_AT_LF: return c == '\n' ? rl_parse_line_end(p) : RL_BAD;
    case RL_AT_BULK:
      if (--p->number == 0) p->state = RL_AT_BULK_CR;
      return RL_BULK_BYTE;
    case RL_AT_BULK_CR:
      p->state = RL_AT_BULK_LF;
      return c == '\r' ? RL_MORE : RL_BAD;
    default:
      p->state = RL_AT_TYPE;
      return c == '\n' ? RL_REPLY_BULK : RL_BAD;
  }
}

/* ---- The list of servers --------------------------------------------------------------------- */

typedef struct rl_text {
  const char *at;
  size_t size;
} rl_text;

typedef struct rl_target {
  rl_text host, port, user, password;
  uint32_t database;
  int user_encoded, password_encoded; /* with %XX */
} rl_target;

static rl_text rl_slice(const char *at, size_t size) {
  rl_text t;
  t.at = at;
  t.size = size;
  return t;
}

static rl_text rl_whole(const char *text) { return rl_slice(text, text ? strlen(text) : 0); }

static int rl_begins(rl_text t, const char *with) {
  size_t size = strlen(with);
  return t.size >= size && memcmp(t.at, with, size) == 0;
}

static rl_text rl_after(rl_text t, size_t size) { return rl_slice(t.at + size, t.size - size); }

static void rl_copy_text(char *to, rl_text t) {
  memcpy(to, t.at, t.size);
  to[t.size] = 0;
}

/* Where c stands in t, or t.size. */
static size_t rl_find(rl_text t, char c) {
  size_t i = 0;
  while (i < t.size && t.at[i] != c) i++;
  return i;
}

static int rl_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The number in t, or `limit` when there is none or it is too large. */
static uint32_t rl_number(rl_text t, uint32_t limit) {
  uint32_t number = 0;
  size_t i;
  for (i = 0; i < t.size && number < limit; i++) {
    if (t.at[i] < '0' || t.at[i] > '9') return limit;
    number = number * 10 + RL_AS(uint32_t, t.at[i] - '0');
  }
  return t.size && number < limit ? number : limit;
}

static int rl_is_encoded_well(rl_text t) {
  size_t i;
  for (i = 0; i < t.size; i++)
    if (t.at[i] == '%' && (i + 2 >= t.size || rl_hex(t.at[i + 1]) < 0 || rl_hex(t.at[i + 2]) < 0))
      return 0;
  return 1;
}

/* Each rl_parse_* returns NULL, or what is wrong. */
static const char *rl_parse_host(rl_text t, rl_target *out) {
  size_t end;
  if (t.size && t.at[0] == '[') {
    t = rl_after(t, 1);
    end = rl_find(t, ']');
    if (end == t.size) return "']' is missing";
    out->host = rl_slice(t.at, end);
    t = rl_after(t, end + 1);
  } else {
    end = rl_find(t, ':');
    out->host = rl_slice(t.at, end);
    t = rl_after(t, end);
    if (t.size && rl_find(rl_after(t, 1), ':') != t.size - 1)
      return "put an IPv6 address in brackets: [::1]:6379";
  }
  if (out->host.size == 0) return "the host is missing";
  if (out->host.size >= RL_HOST_BYTES) return "the host is too long";
  if (rl_find(out->host, '/') < out->host.size || rl_find(out->host, '@') < out->host.size)
    return "not a host[:port] nor a redis:// URL";
  if (t.size == 0) return RL_NULL;
  out->port = rl_after(t, 1);
  if (t.at[0] != ':' || out->port.size > 5) return "the port is not a number";
  if (rl_number(out->port, 65536) % 65536 == 0) return "the port is not from 1 to 65535";
  return RL_NULL;
}

static const char *rl_parse_url(rl_text t, rl_target *out) {
  rl_text authority = rl_slice(t.at, rl_find(t, '/'));
  size_t at = authority.size, colon;
  if (authority.size + 1 < t.size) {
    out->database = rl_number(rl_after(t, authority.size + 1), 1000000);
    if (out->database == 1000000) return "the database is not a number";
  }
  while (at > 0 && authority.at[at - 1] != '@') at--;
  if (at > 0) {
    rl_text secret = rl_slice(authority.at, at - 1);
    if (!rl_is_encoded_well(secret)) return "a '%' wants two hexadecimal digits";
    colon = rl_find(secret, ':');
    out->user = rl_slice(secret.at, colon);
    if (colon < secret.size) out->password = rl_after(secret, colon + 1);
    out->user_encoded = out->password_encoded = 1;
  }
  return rl_parse_host(rl_after(authority, at), out);
}

static const char *rl_parse_target(rl_text t, rl_target *out) {
  memset(out, 0, sizeof *out);
  out->port = rl_whole("6379");
  if (rl_begins(t, "rediss://")) return "TLS: bring your own io, with redis://";
  if (rl_begins(t, "redis://")) return rl_parse_url(rl_after(t, 8), out);
  if (!rl_begins(t, "unix:")) return rl_parse_host(t, out);
  out->host = rl_after(t, 5);
  out->port = rl_whole("");
  if (out->host.size == 0 || out->host.at[0] != '/') return "unix: wants a path from the root";
  return out->host.size < RL_HOST_BYTES ? RL_NULL : "the path is too long";
}

static rl_text rl_entry(const redlock *rl, int i) {
  return rl_slice(rl->list + rl->server[i].entry, rl->server[i].entry_size);
}

/* Where server i is and who we are there. The entry was found good by init. */
static void rl_find_target(const redlock *rl, int i, rl_target *out) {
  (void)rl_parse_target(rl_entry(rl, i), out);
  if (out->password.size) return;
  out->password = rl_whole(rl->options.password);
  out->password_encoded = 0;
  if (out->user.size) return;
  out->user = rl_whole(rl->options.username);
  out->user_encoded = 0;
}

static int rl_same_text(rl_text a, rl_text b) {
  size_t i;
  if (a.size != b.size) return 0;
  for (i = 0; i < a.size; i++) {
    int x = a.at[i], y = b.at[i];
    if (x >= 'A' && x <= 'Z') x += 'a' - 'A';
    if (y >= 'A' && y <= 'Z') y += 'a' - 'A';
    if (x != y) return 0;
  }
  return 1;
}

/* R5. Another user or database does not make another server. */
static int rl_is_twin(const redlock *rl, int i, int j) {
  rl_target a, b;
  rl_find_target(rl, i, &a);
  rl_find_target(rl, j, &b);
  return rl_same_text(a.host, b.host) &&
         rl_number(a.port, 65536) == rl_number(b.port, 65536);
}

/* ---- The client's lists and clock ------------------------------------------------------------ */

/* A reading that cannot be added to without overflow counts as a failure too. */
static int64_t rl_now(const redlock *rl) {
  int64_t now = rl->io->now_ms(rl->ctx);
  return now > INT64_MAX / 2 ? -1 : now;
}

/* Remembers that something is due then; rl_on_time finds out what. */
static void rl_note_due(redlock *rl, int64_t due_ms) {
  if (due_ms < rl->due_ms) rl->due_ms = due_ms;
}

/* Uniform in 0..span without a generator of our own (R3, R9); < 0 = no entropy. */
static int64_t rl_random(const redlock *rl, uint32_t span) {
  unsigned char b[4];
  uint64_t r;
  if (rl->io->entropy(rl->ctx, b, sizeof b)) return -1;
  r = RL_AS(uint64_t, b[0]) << 24 | RL_AS(uint64_t, b[1]) << 16 | RL_AS(uint64_t, b[2]) << 8 | b[3];
  return RL_AS(int64_t, (r * (RL_AS(uint64_t, span) + 1)) >> 32);
}

/* R1: ceil(ttl * ppm / 1e6) + 2 */
static int64_t rl_drift_ms(const redlock *rl, uint32_t ttl_ms) {
  return (RL_AS(int64_t, ttl_ms) * rl->options.drift_ppm + 999999) / 1000000 + 2;
}

/* R1: how long a ttl is good for, counted from T1; 1 ms is for clocks read in whole ones. */
static int64_t rl_validity_ms(const redlock *rl, uint32_t ttl_ms) {
  return RL_AS(int64_t, ttl_ms) - rl_drift_ms(rl, ttl_ms) - 1;
}

static rl_list *rl_list_of(redlock *rl, int phase) {
  if (phase == RL_LINE) return &rl->line;
  return phase == RL_DECIDED ? &rl->decided : &rl->live;
}

static void rl_unlink(redlock *rl, redlock_lock *lock) {
  rl_list *list = rl_list_of(rl, lock->phase);
  if (lock->phase == RL_IDLE) return;
  if (lock->prev) lock->prev->next = lock->next;
  else list->first = lock->next;
  if (lock->next) lock->next->prev = lock->prev;
  else list->last = lock->prev;
  lock->phase = RL_IDLE;
}

/* To the end of the list where locks of that phase stand. */
static void rl_move(redlock *rl, redlock_lock *lock, uint8_t phase) {
  rl_list *list = rl_list_of(rl, phase);
  rl_unlink(rl, lock);
  lock->phase = phase;
  lock->next = RL_NULL;
  lock->prev = list->last;
  if (list->last) list->last->next = lock;
  else list->first = lock;
  list->last = lock;
}

static int rl_is_in(const rl_list *list, const redlock_lock *lock) {
  const redlock_lock *l = list->first;
  while (l && l != lock) l = l->next;
  return l != RL_NULL;
}

/* The lock itself is not read: it may be anything. */
static int rl_owns(const redlock *rl, const redlock_lock *lock) {
  return rl_is_in(&rl->live, lock) || rl_is_in(&rl->line, lock) || rl_is_in(&rl->decided, lock);
}

/* ---- The log --------------------------------------------------------------------------------- */

static rl_command *rl_at(redlock *rl, uint32_t place) {
  return &rl->log[place & (REDLOCK_MAX_COMMANDS - 1)];
}

static uint32_t rl_end(const redlock *rl) { return rl->first + rl->count; }

static uint32_t rl_wrap(uint32_t offset) {
  return offset >= REDLOCK_RING_BYTES ? offset - REDLOCK_RING_BYTES : offset;
}

static uint32_t rl_bytes_needed(uint8_t kind, uint32_t resource_size) {
  if (kind == RL_EXTEND) return RL_AS(uint32_t, RL_EXTEND_BYTES(resource_size));
  if (kind != RL_SET) return RL_AS(uint32_t, RL_RELEASE_BYTES(resource_size));
  return RL_AS(uint32_t, RL_SET_BYTES(resource_size) + RL_RELEASE_BYTES(resource_size));
}

/* R7: room for the roll-back is taken together with the room for its SET. */
static void rl_reserve(redlock *rl, redlock_lock *lock) {
  lock->reserved = 1;
  rl->reserved_bytes += rl_bytes_needed(RL_RELEASE, lock->resource_size);
  rl->reserved_commands++;
}

static void rl_unreserve(redlock *rl, redlock_lock *lock) {
  if (!lock->reserved) return;
  lock->reserved = 0;
  rl->reserved_bytes -= rl_bytes_needed(RL_RELEASE, lock->resource_size);
  rl->reserved_commands--;
}

/* Appends the lock's command. The caller has seen to the room, and says who shall get it. */
static rl_command *rl_encode(redlock *rl, const redlock_lock *lock, uint8_t kind, int64_t now) {
  rl_command *c = rl_at(rl, rl_end(rl));
  rl_writer w;
  w.data = rl->ring;
  w.size = REDLOCK_RING_BYTES;
  w.at = rl_wrap(rl->tail + rl->used);
  w.skip = 0;
  w.room = REDLOCK_RING_BYTES - rl->used;
  w.written = 0;
  REDLOCK_ASSERT(rl->count < REDLOCK_MAX_COMMANDS);
  REDLOCK_ASSERT(rl_bytes_needed(kind, lock->resource_size) <= w.room);
  if (kind == RL_SET) rl_write_set(&w, lock);
  else if (kind == RL_EXTEND) rl_write_extend(&w, lock);
  else rl_write_release(&w, lock);
  memset(c, 0, sizeof *c);
  c->kind = kind;
  c->t1_ms = now;
  c->ttl_ms = kind == RL_RELEASE ? lock->ttl_ms : lock->ask_ms;
  c->size = RL_AS(uint16_t, w.written);
  rl->used += c->size;
  rl->count++;
  rl->fresh = 1;
  return c;
}

/* Whether a server that has no byte of c yet shall get it (R12, R13). */
static int rl_is_due(const redlock *rl, const rl_command *c, int i, int64_t now) {
  const rl_server *s = &rl->server[i];
  if (!(c->due & rl_bit(i))) return 0;
  if (s->state == RL_REFUSED || c->lock) return 1;
  if (now - c->t1_ms >= c->ttl_ms) return 0;
  return c->kind == RL_RELEASE || now - c->t1_ms < rl->options.server_timeout_ms;
}

/* Moves a server's cursor past what it need not get. */
static void rl_skip(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  while (s->sent == 0 && s->cursor != rl_end(rl)) {
    rl_command *c = rl_at(rl, s->cursor);
    if (rl_is_due(rl, c, i, now)) return;
    c->due &= ~rl_bit(i);
    s->at = rl_wrap(s->at + c->size);
    s->cursor++;
  }
}

static void rl_rewind(redlock *rl, int i) {
  rl_server *s = &rl->server[i];
  s->cursor = rl->first;
  s->at = rl->tail;
  s->sent = 0;
}

/* ---- Servers: errors ------------------------------------------------------------------------- */

static const char rl_broken[] = "it closed the connection";
static const char rl_not_connected[] = "connecting failed: is it running?";

static void rl_append_text(rl_server *s, const char *text) {
  size_t at = strlen(s->error), size = rl_min(strlen(text), REDLOCK_MAX_ERROR - 1 - at);
  memcpy(s->error + at, text, size);
  s->error[at + size] = 0;
}

static void rl_say(rl_server *s, const char *text) {
  s->error[0] = 0;
  rl_append_text(s, text);
}

/* R15: what a person can do about an error, by its first words. Nothing = wait, it passes. */
static const char *rl_advice(const char *error) {
  static const char *const advice[] = {
    "WRONGPASS", "check user and password",
    "NOAUTH", "check user and password",
    "NOPERM", "allow SET EVAL GET DEL PTTL PEXPIRE INFO",
    "DENIED", "protected mode: set a password",
    "READONLY", "a replica: list masters only",
    "MASTERDOWN", "a replica: list masters only",
    "MOVED", "a cluster: list plain masters only",
    "ASK ", "a cluster: list plain masters only",
    "CROSSSLOT", "a cluster: list plain masters only",
    "CLUSTERDOWN", "a cluster: list plain masters only",
    "WRONGTYPE", "others use this key: rename the resource",
    "MISCONF", "it cannot save: see its log and disk",
    "OOM", "raise maxmemory, keep noeviction",
    "NOREPLICAS", "its replicas are away",
    "ERR max number", "raise maxclients",
    "ERR unknown command", "needs SET NX PX and EVAL",
    "ERR DB index", "the list names a database it lacks",
    "ERR invalid DB", "the list names a database it lacks"
  };
  size_t i;
  for (i = 0; i < sizeof advice / sizeof advice[0]; i += 2)
    if (rl_begins(rl_whole(error), advice[i])) return advice[i + 1];
  return "";
}

/* One byte of an error's text. A handshake's error stays until a handshake succeeds: what was
   pipelined behind a refused one must not cover it. */
static void rl_capture(rl_server *s, char c) {
  size_t at = s->parser.count - 1, most = REDLOCK_MAX_ERROR - 1;
  if (most > 80) most -= 44; /* for the advice */
  if (s->state != RL_OPEN || at >= most) return;
  s->error[at] = c >= ' ' && c <= '~' ? c : '?';
  s->error[at + 1] = 0;
  s->told = 1;
}

static void rl_advise(rl_server *s) {
  const char *advice = rl_advice(s->error);
  if (s->state != RL_OPEN || !advice[0]) return;
  rl_append_text(s, ": ");
  rl_append_text(s, advice);
}

/* ---- Servers: sending ------------------------------------------------------------------------ */

/* The round looks at its votes again; below, in "Rounds". */
static void rl_vote(redlock *rl, rl_command *c, int i, redlock_vote vote);

/* The same vote for every undecided command that server i has not answered. */
static void rl_vote_all(redlock *rl, int i, redlock_vote vote) {
  uint32_t place = rl->first, end = rl_end(rl);
  for (; place != end; place++) {
    rl_command *c = rl_at(rl, place);
    if (c->lock && c->lock->votes[i] == REDLOCK_VOTE_NONE) rl_vote(rl, c, i, vote);
  }
}

/* R14: 0 at first, as when a server closed an idle connection; then growing, bounded, random. */
static int64_t rl_backoff_ms(const redlock *rl, unsigned fails) {
  int64_t most = RL_BACKOFF_MIN_MS, random;
  if (fails <= 1) return 0;
  for (; fails > 2 && most < RL_BACKOFF_MAX_MS; fails--) most *= 2;
  if (most > RL_BACKOFF_MAX_MS) most = RL_BACKOFF_MAX_MS;
  random = rl_random(rl, RL_AS(uint32_t, most / 2));
  return random < 0 ? most : most / 2 + random;
}

/* R12: what the connection left unanswered is void. Only releases may be sent again. */
static void rl_void(redlock *rl, int i, int was_refused) {
  uint32_t place = rl->first, end = rl_end(rl);
  for (; place != end; place++) {
    rl_command *c = rl_at(rl, place);
    int owed = (c->owed & rl_bit(i)) != 0;
    c->owed &= ~rl_bit(i);
    if (c->kind != RL_RELEASE && was_refused) c->due &= ~rl_bit(i);
    if (c->kind == RL_RELEASE && owed) c->due |= rl_bit(i);
    if (owed && c->lock) rl_vote(rl, c, i, REDLOCK_VOTE_UNREACHABLE);
  }
}

/* What a server that has no connection votes. */
static redlock_vote rl_absent_vote(const rl_server *s) {
  return s->wary ? REDLOCK_VOTE_ERROR : REDLOCK_VOTE_UNREACHABLE;
}

/* The connection is over, whatever the reason. */
static void rl_lose(redlock *rl, int i, int64_t now, const char *why) {
  rl_server *s = &rl->server[i];
  int was_refused = s->state == RL_REFUSED;
  int64_t delay;
  if (s->fd >= 0) rl->io->close(rl->ctx, i);
  if (!s->told && !s->wary) rl_say(s, why);
  if (s->fails < 255) s->fails++;
  delay = rl_backoff_ms(rl, s->fails);
  s->fd = -1;
  s->state = RL_CLOSED;
  s->stalled = 0;
  s->owed = s->late = s->mark = 0;
  s->until_ms = now + delay;
  s->answered = rl->first;
  rl_rewind(rl, i);
  rl_note_due(rl, s->until_ms);
  rl_void(rl, i, was_refused);
  if (delay) rl_vote_all(rl, i, rl_absent_vote(s));
}

/* One more reply is owed. Of all that are, one is marked and timed. */
static void rl_owe(redlock *rl, rl_server *s, int64_t now) {
  s->owed++;
  if (s->mark) return;
  s->mark = s->owed;
  s->mark_ms = now;
  rl_note_due(rl, now + rl->options.server_timeout_ms + 1);
}

/* How many bytes the connection took; 0 = none now, or it is lost. */
static size_t rl_send_bytes(redlock *rl, int i, int64_t now, const void *data, size_t size) {
  rl_server *s = &rl->server[i];
  int sent = rl->io->send(rl->ctx, i, data, size);
  if (sent < 0 || RL_AS(size_t, sent) > size) {
    rl_lose(rl, i, now, s->linked ? rl_broken : rl_not_connected);
    return 0;
  }
  if (sent > 0 && !s->linked) {
    s->linked = 1;
    s->stalled = 0;
  }
  return RL_AS(size_t, sent);
}

static void rl_put_secret(rl_writer *w, rl_text t, int encoded) {
  size_t size = t.size, i;
  for (i = 0; encoded && i < t.size; i++)
    if (t.at[i] == '%') size -= 2;
  rl_put_count(w, '$', size);
  for (i = 0; i < t.size; i++) {
    char c = t.at[i];
    if (encoded && c == '%') {
      c = RL_AS(char, rl_hex(t.at[i + 1]) * 16 + rl_hex(t.at[i + 2]));
      i += 2;
    }
    rl_put(w, &c, 1);
  }
  rl_put(w, "\r\n", 2);
}

/* The handshake, which stands ahead of everything on a connection; how many replies it gets. */
static uint8_t rl_write_greeting(const redlock *rl, int i, rl_writer *w) {
  uint8_t replies = 0;
  rl_target t;
  rl_find_target(rl, i, &t);
  if (t.password.size) {
    rl_put_count(w, '*', t.user.size ? 3 : 2);
    rl_put_bulk(w, "AUTH", 4);
    if (t.user.size) rl_put_secret(w, t.user, t.user_encoded);
    rl_put_secret(w, t.password, t.password_encoded);
    replies++;
  }
  if (t.database) {
    rl_put_text(w, "*2\r\n$6\r\nSELECT\r\n");
    rl_put_bulk_number(w, t.database);
    replies++;
  }
  if (rl->options.max_ttl_ms) { /* two calls: before 7.0 one takes one section */
    rl_put_text(w, "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n");
    rl_put_text(w, "*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n");
    replies = RL_AS(uint8_t, replies + 2);
  }
  return replies;
}

static void rl_open_window(rl_writer *w, unsigned char *window, size_t skip) {
  w->data = window;
  w->size = w->room = RL_WINDOW_BYTES;
  w->at = w->written = 0;
  w->skip = skip;
}

/* Whether the whole handshake has left. */
static int rl_send_greeting(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  while (!s->greeted) { /* each turn sends some of it, or is the last */
    unsigned char window[RL_WINDOW_BYTES];
    rl_writer w;
    uint8_t replies;
    size_t sent;
    rl_open_window(&w, window, s->greeting_sent);
    replies = rl_write_greeting(rl, i, &w);
    if (w.written == 0) {
      s->greeted = 1;
      return 1;
    }
    sent = rl_send_bytes(rl, i, now, window, w.written);
    if (sent == 0) return 0;
    for (; s->greeting_sent == 0 && s->greeting < replies; s->greeting++) rl_owe(rl, s, now);
    s->greeting_sent = RL_AS(uint16_t, s->greeting_sent + sent);
  }
  return 1;
}

/* R4: the release of a SET that went behind a handshake which was refused. Resource and value are
   taken from the SET itself, as they stand in the ring. */
static void rl_write_undo(redlock *rl, const rl_server *s, const rl_command *set, rl_writer *w) {
  char digits[10];
  size_t tail = rl_format(digits, set->ttl_ms), size, at, straight;
  tail += RL_AS(size_t, tail == 10) + 22; /* "$2 PX", "$5 10000", "$2 NX" and their ends */
  size = set->size - (sizeof(RL_SET_HEAD) - 1) - tail;
  at = rl_wrap(s->at + RL_AS(uint32_t, sizeof(RL_SET_HEAD) - 1));
  straight = rl_min(size, REDLOCK_RING_BYTES - at);
  rl_write_release_head(w);
  rl_put(w, rl->ring + at, straight);
  rl_put(w, rl->ring, size - straight);
}

/* Sends a piece of the undoing of the cursor's SET; 0 = no more now. */
static int rl_send_undo(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  rl_command *c = rl_at(rl, s->cursor);
  unsigned char window[RL_WINDOW_BYTES];
  rl_writer w;
  size_t sent;
  rl_open_window(&w, window, s->sent);
  rl_write_undo(rl, s, c, &w);
  if (w.written == 0) {
    s->sent = 0;
    s->at = rl_wrap(s->at + c->size);
    s->cursor++;
    return 1;
  }
  sent = rl_send_bytes(rl, i, now, window, w.written);
  if (sent && s->sent == 0) {
    c->due &= ~rl_bit(i);
    rl_owe(rl, s, now);
    s->late++;
  }
  if (sent) s->sent = RL_AS(uint16_t, s->sent + sent);
  return sent != 0;
}

/* How many bytes from the cursor on stand in one piece and are due to server i. */
static size_t rl_run(redlock *rl, int i, int64_t now) {
  const rl_server *s = &rl->server[i];
  size_t most = REDLOCK_RING_BYTES - s->at, run = 0;
  uint32_t place = s->cursor, end = rl_end(rl);
  if (place == end) return 0;
  run = RL_AS(size_t, rl_at(rl, place)->size - s->sent);
  if (s->state == RL_REFUSED) return rl_min(run, most);
  for (place++; place != end && run < most && rl_is_due(rl, rl_at(rl, place), i, now); place++)
    run += rl_at(rl, place)->size;
  return rl_min(run, most);
}

/* The first byte of c has left for server i. From here on it is never sent there again (R12). */
static void rl_on_first_byte(redlock *rl, int i, rl_command *c, int64_t now) {
  rl_server *s = &rl->server[i];
  REDLOCK_ASSERT(c->due & rl_bit(i));
  c->due &= ~rl_bit(i);
  rl_owe(rl, s, now);
  if (s->state == RL_REFUSED) s->late++;
  else c->owed |= rl_bit(i);
  if (c->kind != RL_SET) return;
  if (c->lock) c->lock->touched |= rl_bit(i);
  if (s->until_ms < c->t1_ms + c->ttl_ms) s->until_ms = c->t1_ms + c->ttl_ms; /* R13 */
}

static void rl_on_sent(redlock *rl, int i, size_t sent, int64_t now) {
  rl_server *s = &rl->server[i];
  while (sent > 0) {
    rl_command *c = rl_at(rl, s->cursor);
    size_t step = rl_min(sent, RL_AS(size_t, c->size - s->sent));
    if (s->sent == 0) rl_on_first_byte(rl, i, c, now);
    sent -= step;
    s->sent = RL_AS(uint16_t, s->sent + step);
    s->at = rl_wrap(s->at + RL_AS(uint32_t, step));
    if (s->sent < c->size) return;
    s->sent = 0;
    s->cursor++;
  }
}

/* Whether the next thing to send is the undoing of a SET. A command that was cut by the refusal is
   finished first; then the log is gone through once more. */
static int rl_is_undoing(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  if (s->state != RL_REFUSED) return 0;
  if (!s->undoing && s->sent == 0) {
    s->undoing = 1;
    rl_rewind(rl, i);
    rl_skip(rl, i, now);
  }
  return s->undoing && s->cursor != rl_end(rl) && rl_at(rl, s->cursor)->kind == RL_SET;
}

static void rl_send_commands(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  size_t run, sent;
  for (;;) { /* each turn moves the cursor, or is the last */
    rl_skip(rl, i, now);
    if (rl_is_undoing(rl, i, now)) {
      if (!rl_send_undo(rl, i, now)) return;
      continue;
    }
    run = rl_run(rl, i, now);
    if (run == 0) return;
    sent = rl_send_bytes(rl, i, now, rl->ring + s->at, run);
    if (s->state == RL_CLOSED) return;
    rl_on_sent(rl, i, sent, now);
    if (sent < run) return;
  }
}

static void rl_open(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  char host[RL_HOST_BYTES], port[6];
  rl_target t;
  rl_find_target(rl, i, &t);
  rl_copy_text(host, t.host);
  rl_copy_text(port, t.port);
  s->generation++;
  s->told = s->linked = s->greeted = s->greeting = s->undoing = s->seen = s->line_size = 0;
  s->greeting_sent = 0;
  memset(&s->parser, 0, sizeof s->parser);
  s->mark_ms = now;
  s->fd = rl->io->open(rl->ctx, i, host, port);
  if (s->fd < 0) {
    rl_lose(rl, i, now, "no connection: is the address right?");
    return;
  }
  s->state = RL_OPEN;
  s->until_ms = now + RL_CONNECT_MS;
  rl_note_due(rl, now + rl->options.server_timeout_ms + 1);
}

static void rl_receive(redlock *rl, int i, int64_t now);

/* A server may have closed a connection that was long quiet. Better to hear of that now than to
   lose a SET on it. */
static void rl_check_quiet(redlock *rl, int i, int64_t now) {
  const rl_server *s = &rl->server[i];
  if (s->linked && s->owed == 0 && now - s->mark_ms > rl->options.server_timeout_ms)
    rl_receive(rl, i, now);
}

/* Gives server i all that is due to it, over a new connection where need be. */
static void rl_send(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  int turn;
  for (turn = 0; turn < 2; turn++) { /* the first failure is tried again at once */
    int begun = s->state == RL_REFUSED || (s->greeting && !s->greeted);
    rl_skip(rl, i, now);
    if (s->cursor == rl_end(rl) && !begun) return;
    if (s->state != RL_CLOSED) rl_check_quiet(rl, i, now);
    if (s->state == RL_CLOSED) {
      if (now < s->until_ms) return;
      rl_open(rl, i, now);
    }
    if (s->state != RL_CLOSED && rl_send_greeting(rl, i, now) && !(s->wary && s->greeting))
      rl_send_commands(rl, i, now);
    if (s->state != RL_CLOSED) break;
  }
  if (s->state == RL_OPEN && s->stalled && !s->linked)
    rl_vote_all(rl, i, REDLOCK_VOTE_UNREACHABLE);
}

/* ---- Servers: receiving ---------------------------------------------------------------------- */

/* R4: the handshake failed. Nothing of this connection counts; SETs that went behind it are undone
   on it, each by a release, before it closes. */
static void rl_refuse(redlock *rl, int i, int64_t now, const char *why) {
  rl_server *s = &rl->server[i];
  uint32_t place = rl->first, end = rl_end(rl);
  if (!s->told) rl_say(s, why);
  s->wary = 1;
  s->state = RL_REFUSED;
  s->greeting = 0;
  s->late = s->owed;
  for (; place != end; place++) {
    rl_command *c = rl_at(rl, place);
    if (c->kind == RL_SET) c->due = (c->due & ~rl_bit(i)) | (c->owed & rl_bit(i));
    if (c->kind == RL_EXTEND) c->due &= ~rl_bit(i);
    c->owed &= ~rl_bit(i);
  }
  if (!s->greeted) rl_lose(rl, i, now, why);
  rl_vote_all(rl, i, REDLOCK_VOTE_ERROR);
}

enum { RL_SEEN_RUN_ID = 1, RL_SEEN_CHANGE = 2, RL_SEEN_UPTIME = 4, RL_SEEN_MASTER = 8 };

static void rl_on_run_id(rl_server *s, rl_text hex) {
  uint64_t id = 0;
  size_t i;
  for (i = 0; i < hex.size && i < 16; i++)
    id = id << 4 | RL_AS(uint64_t, rl_hex(hex.at[i]) & 15);
  if (id == 0) id = 1; /* 0 means none */
  s->seen |= RL_SEEN_RUN_ID;
  if (s->run_id != id) s->seen |= s->run_id ? RL_SEEN_CHANGE : 0;
  s->next_run_id = id;
}

static void rl_on_info_line(rl_server *s) {
  rl_text line = rl_slice(s->line, s->line_size);
  if (rl_begins(line, "run_id:")) rl_on_run_id(s, rl_after(line, 7));
  if (rl_begins(line, "role:master")) s->seen |= RL_SEEN_MASTER;
  if (!rl_begins(line, "uptime_in_seconds:")) return;
  s->seen |= RL_SEEN_UPTIME;
  s->uptime_s = rl_number(rl_after(line, 18), 1000000000);
  if (s->uptime_s == 1000000000) s->uptime_s = 0; /* no number, as when its clock was set back */
}

static void rl_on_info_byte(rl_server *s, char c) {
  if (c != '\r' && c != '\n') {
    if (s->line_size < sizeof s->line) s->line[s->line_size++] = c;
    return;
  }
  rl_on_info_line(s);
  s->line_size = 0;
}

static const char *rl_check_identity(const redlock *rl, int i) {
  const rl_server *s = &rl->server[i];
  int j;
  if (!(s->seen & RL_SEEN_RUN_ID) || !(s->seen & RL_SEEN_UPTIME))
    return "INFO tells no run_id and uptime: max_ttl_ms needs them";
  if (!(s->seen & RL_SEEN_MASTER)) return "not a master: list masters only";
  for (j = 0; j < rl->servers; j++) {
    const rl_server *other = &rl->server[j];
    if (j != i && other->state == RL_OPEN && other->linked && other->greeting == 0 &&
        other->run_id == s->next_run_id)
      return "the same server as another entry (one run_id): list it once";
  }
  return RL_NULL;
}

/* R24. The clock is read anew: a reading from before the reply would make the server older. */
static const char *rl_identify(redlock *rl, int i) {
  rl_server *s = &rl->server[i];
  const char *problem = rl_check_identity(rl, i);
  int64_t now = rl_now(rl);
  if (problem) return problem;
  if (now < 0) return "our clock failed";
  if (s->seen & RL_SEEN_CHANGE) s->born_ms = now;
  else if (s->run_id == 0)
    s->born_ms = now - RL_AS(int64_t, s->uptime_s) * 1000 + RL_UPTIME_SLACK_MS;
  s->run_id = s->next_run_id;
  return RL_NULL;
}

static int rl_is_quarantined(const redlock *rl, int i, int64_t now) {
  return rl->options.max_ttl_ms && now - rl->server[i].born_ms < rl->options.max_ttl_ms;
}

/* The server answers sensibly: it is trusted, and what was wrong is past. */
static void rl_on_good_reply(rl_server *s) {
  s->wary = s->fails = s->told = 0;
  s->error[0] = 0;
}

static void rl_on_greeting_reply(redlock *rl, int i, int64_t now, rl_reply reply) {
  rl_server *s = &rl->server[i];
  int infos = rl->options.max_ttl_ms ? 2 : 0;
  const char *problem = "the handshake got an odd reply";
  if (reply == (s->greeting > infos ? RL_REPLY_OK : RL_REPLY_BULK)) problem = RL_NULL;
  s->greeting--;
  if (!problem && s->greeting) return;
  if (!problem && infos) problem = rl_identify(rl, i);
  if (problem) rl_refuse(rl, i, now, problem);
  else rl_on_good_reply(s);
}

/* R4: what a reply to that command means. */
static redlock_vote rl_vote_of(uint8_t kind, rl_reply reply) {
  if (reply == (kind == RL_SET ? RL_REPLY_OK : RL_REPLY_POSITIVE)) return REDLOCK_VOTE_YES;
  if (reply == (kind == RL_SET ? RL_REPLY_NIL : RL_REPLY_ZERO)) return REDLOCK_VOTE_TAKEN;
  return REDLOCK_VOTE_ERROR;
}

/* Counts one owed reply off; the mark is set anew when its own reply has come (R13). */
static void rl_on_paid(rl_server *s, int64_t now) {
  s->owed--;
  s->mark--;
  if (s->mark) return;
  s->mark = s->owed;
  s->mark_ms = now;
  if (s->owed == 0) s->stalled = 0;
}

/* R8: the one place where a reply meets its command, or is dropped because it comes late. */
static void rl_on_reply(redlock *rl, int i, int64_t now, rl_reply reply) {
  rl_server *s = &rl->server[i];
  rl_command *c;
  redlock_vote vote;
  if (s->owed == 0) {
    rl_lose(rl, i, now, "a reply to nothing: is it a Redis server?");
    return;
  }
  rl_on_paid(s, now);
  if (s->greeting) {
    rl_on_greeting_reply(rl, i, now, reply);
    return;
  }
  if (s->late) {
    s->late--;
    return;
  }
  while (!(rl_at(rl, s->answered)->owed & rl_bit(i))) s->answered++;
  c = rl_at(rl, s->answered++);
  c->owed &= ~rl_bit(i);
  vote = rl_vote_of(c->kind, reply);
  if (vote != REDLOCK_VOTE_ERROR) rl_on_good_reply(s);
  else if (reply != RL_REPLY_ERROR) rl_say(s, "an odd reply: is it a Redis server?");
  if (vote != REDLOCK_VOTE_ERROR && rl_is_quarantined(rl, i, now)) vote = REDLOCK_VOTE_QUARANTINED;
  if (c->lock) rl_vote(rl, c, i, vote);
}

static void rl_on_byte(redlock *rl, int i, int64_t now, char byte) {
  rl_server *s = &rl->server[i];
  rl_reply reply = rl_parse(&s->parser, byte);
  if (reply == RL_MORE) return;
  if (reply == RL_REPLY_ERROR) rl_advise(s);
  if (reply == RL_ERROR_BYTE) rl_capture(s, byte);
  else if (reply == RL_BULK_BYTE) rl_on_info_byte(s, byte);
  else if (reply == RL_BAD) rl_lose(rl, i, now, "a malformed reply: is it a Redis server?");
  else rl_on_reply(rl, i, now, reply);
}

/* A refused connection closes when all is undone and answered. */
static void rl_check_refused(redlock *rl, int i, int64_t now) {
  const rl_server *s = &rl->server[i];
  if (s->state == RL_REFUSED && s->undoing && s->owed == 0 && s->cursor == rl_end(rl))
    rl_lose(rl, i, now, "");
}

static void rl_receive(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  unsigned char data[RL_RECEIVE_BYTES];
  int turn, k, got;
  for (turn = 0; turn < RL_RECEIVE_TURNS; turn++) {
    got = rl->io->recv(rl->ctx, i, data, sizeof data);
    if (got == 0) break;
    if (got < 0 || RL_AS(size_t, got) > sizeof data) {
      rl_lose(rl, i, now, s->linked ? rl_broken : rl_not_connected);
      return;
    }
    for (k = 0; k < got && s->state != RL_CLOSED; k++) rl_on_byte(rl, i, now, RL_AS(char, data[k]));
    if (s->state == RL_CLOSED || RL_AS(size_t, got) < sizeof data) break;
  }
  rl_check_refused(rl, i, now);
}

/* ---- Servers: the clock ---------------------------------------------------------------------- */

/* R13: nothing but releases from now on, and no one waits. One that never stood is still tried. */
static void rl_stall(redlock *rl, int i) {
  rl_server *s = &rl->server[i];
  uint32_t place = rl->first, end = rl_end(rl);
  s->stalled = 1;
  if (!s->told && !s->wary) rl_say(s, s->linked ? "no reply in time" : "connecting takes too long");
  for (; s->linked && place != end; place++) {
    rl_command *c = rl_at(rl, place);
    if (c->kind != RL_RELEASE) c->due &= ~rl_bit(i);
  }
  rl_vote_all(rl, i, s->linked ? REDLOCK_VOTE_TIMEOUT : REDLOCK_VOTE_UNREACHABLE);
}

static int rl_is_waited_for(const redlock *rl, int i) {
  const rl_server *s = &rl->server[i];
  return s->linked ? s->owed > 0 : s->cursor != rl_end(rl);
}

/* When the clock next has a say about server i. */
static int64_t rl_server_due(const redlock *rl, int i) {
  const rl_server *s = &rl->server[i];
  if (s->state == RL_CLOSED) return s->cursor != rl_end(rl) ? s->until_ms : INT64_MAX;
  if (!rl_is_waited_for(rl, i)) return INT64_MAX;
  return s->stalled ? s->until_ms : s->mark_ms + rl->options.server_timeout_ms + 1;
}

static void rl_on_server_time(redlock *rl, int i, int64_t now) {
  rl_server *s = &rl->server[i];
  if (s->state == RL_CLOSED || now < rl_server_due(rl, i)) return;
  if (!s->stalled) rl_stall(rl, i);
  if (now >= s->until_ms) rl_lose(rl, i, now, "no reply in time");
}

/* ---- Room in the log (R11) ------------------------------------------------------------------- */

/* Whether the log must keep c for server i: a part of it has left, or it can still be sent, or it
   may have to be undone. */
static int rl_is_pinned(const redlock *rl, const rl_command *c, int i, int64_t now) {
  const rl_server *s = &rl->server[i];
  if (s->state == RL_CLOSED || !s->linked) return 0;
  if (s->cursor == rl->first && s->sent > 0) return 1;
  if (s->greeting && (c->owed & rl_bit(i))) return 1;
  return rl_is_due(rl, c, i, now);
}

/* Takes the oldest command out of the log, if it is decided. A stalled server that stands in the
   way with bytes it does not take loses its connection, a healthy one is waited for. */
static int rl_retire(redlock *rl, int64_t now) {
  rl_command *c = rl_at(rl, rl->first);
  int i;
  if (rl->count == 0 || c->lock) return 0;
  for (i = 0; i < rl->servers; i++) {
    if (!rl_is_pinned(rl, c, i, now)) continue;
    if (!rl->server[i].stalled) return 0;
    rl_lose(rl, i, now, "no reply in time");
  }
  for (i = 0; i < rl->servers; i++) {
    rl_server *s = &rl->server[i];
    if (c->owed & rl_bit(i)) s->late++;
    if (s->answered == rl->first) s->answered++;
    if (s->cursor != rl->first) continue;
    s->at = rl_wrap(s->at + c->size);
    s->cursor++;
  }
  rl->tail = rl_wrap(rl->tail + c->size);
  rl->used -= c->size;
  rl->first++;
  rl->count--;
  return 1;
}

static int rl_make_room(redlock *rl, const redlock_lock *lock, int64_t now) {
  uint32_t bytes = rl_bytes_needed(lock->task, lock->resource_size);
  uint32_t commands = lock->task == RL_SET ? 2 : 1;
  do {
    if (rl->used + rl->reserved_bytes + bytes <= REDLOCK_RING_BYTES &&
        rl->count + rl->reserved_commands + commands <= REDLOCK_MAX_COMMANDS)
      return 1;
  } while (rl_retire(rl, now));
  return 0;
}

/* ---- Rounds: votes, quorum, decision --------------------------------------------------------- */

static void rl_judge(redlock *rl, redlock_lock *lock);

/* A vote is in. A release that went twice, because its connection was lost, finds nothing the
   second time: that is no news. */
static void rl_vote(redlock *rl, rl_command *c, int i, redlock_vote vote) {
  redlock_lock *lock = c->lock;
  if (c->kind == RL_RELEASE && lock->votes[i] != REDLOCK_VOTE_NONE && vote == REDLOCK_VOTE_TAKEN)
    return;
  lock->votes[i] = vote;
  rl_judge(rl, lock);
}

/* Decided: whatever still comes for this round is late. Returns the round's command. */
static rl_command *rl_settle(redlock *rl, redlock_lock *lock) {
  rl_command *c = rl_at(rl, lock->command);
  REDLOCK_ASSERT(c->lock == lock);
  c->lock = RL_NULL;
  return c;
}

/* Into the queue that redlock_step hands back from. */
static void rl_decide(redlock *rl, redlock_lock *lock, redlock_status status) {
  lock->status = status;
  if (lock->kept) lock->operation = REDLOCK_LOST;
  lock->kept = 0;
  rl_move(rl, lock, RL_DECIDED);
}

static void rl_wait_until(redlock *rl, redlock_lock *lock, uint8_t phase, int64_t due_ms) {
  rl_move(rl, lock, phase);
  lock->due_ms = due_ms;
  rl_note_due(rl, due_ms);
}

/* Takes its turn for room in the log; rl_serve_line goes on with the task. */
static void rl_queue(redlock *rl, redlock_lock *lock, uint8_t task) {
  lock->task = task;
  rl->fresh = 1;
  rl_wait_until(rl, lock, RL_LINE, task == RL_EXTEND ? lock->deadline_ms : INT64_MAX);
}

/* R7: the release goes to every server that any byte of the SET went to, behind it, at once. */
static void rl_roll_back(redlock *rl, redlock_lock *lock, int64_t now) {
  REDLOCK_ASSERT(lock->reserved);
  rl_unreserve(rl, lock);
  if (lock->touched) rl_encode(rl, lock, RL_RELEASE, now)->due = lock->touched;
  lock->touched = 0;
}

/* R9: what follows a failed attempt. */
static void rl_rest(redlock *rl, redlock_lock *lock, int64_t now) {
  const redlock_options *o = &rl->options;
  int64_t delay;
  if (now >= lock->give_up_ms || (o->max_attempts && lock->attempts >= o->max_attempts)) {
    rl_decide(rl, lock, RL_AS(redlock_status, lock->last));
    return;
  }
  delay = rl_random(rl, o->retry_delay_max_ms - o->retry_delay_min_ms);
  if (delay < 0) {
    rl_decide(rl, lock, REDLOCK_SYSTEM);
    return;
  }
  delay += now + o->retry_delay_min_ms;
  rl_wait_until(rl, lock, RL_RESTING, delay < lock->give_up_ms ? delay : lock->give_up_ms);
}

static void rl_fail_attempt(redlock *rl, redlock_lock *lock, redlock_status status, int64_t now) {
  rl_settle(rl, lock)->due = 0;
  rl_roll_back(rl, lock, now);
  lock->last = RL_AS(int8_t, status);
  if (status == REDLOCK_SYSTEM) rl_decide(rl, lock, status);
  else rl_rest(rl, lock, now);
}

/* A quorum said yes. R1: the clock is read after the last of them. */
static void rl_grant(redlock *rl, redlock_lock *lock) {
  int64_t now = rl_now(rl), deadline = lock->t1_ms + rl_validity_ms(rl, lock->ask_ms);
  if (now < 0 || now >= deadline) {
    rl_fail_attempt(rl, lock, now < 0 ? REDLOCK_SYSTEM : REDLOCK_EXPIRED, rl->now_ms);
    return;
  }
  lock->touched |= rl_settle(rl, lock)->due; /* where it may still be set */
  lock->deadline_ms = deadline;
  lock->since_ms = lock->t1_ms;
  lock->held = RL_HELD;
  rl_decide(rl, lock, REDLOCK_OK);
}

/* The lock is no longer ours: it is handed back when a release for all servers is in the log. */
static void rl_expire(redlock *rl, redlock_lock *lock) {
  if (lock->phase == RL_VOTING) rl_settle(rl, lock)->due = 0;
  lock->deadline_ms = 0;
  lock->held = RL_OVER;
  rl_queue(rl, lock, RL_ABANDON);
}

/* R19: a failed extension leaves everything as it was. */
static void rl_end_extension(redlock *rl, redlock_lock *lock, redlock_status status, int64_t now) {
  int64_t next = now + rl->options.retry_delay_min_ms;
  rl_command *c = rl_settle(rl, lock);
  if (status != REDLOCK_OK) c->due = 0;
  if (!lock->kept) {
    rl_decide(rl, lock, status);
    return;
  }
  if (status == REDLOCK_OK) next = now + (lock->deadline_ms - now) / 2;
  rl_wait_until(rl, lock, RL_KEEPING, next < lock->deadline_ms ? next : lock->deadline_ms);
}

static void rl_on_extended(redlock *rl, redlock_lock *lock) {
  int64_t now = rl_now(rl), deadline = lock->t1_ms + rl_validity_ms(rl, lock->ask_ms);
  if (now < 0) {
    rl_end_extension(rl, lock, REDLOCK_SYSTEM, rl->now_ms);
  } else if (now >= lock->deadline_ms) {
    rl_expire(rl, lock);
  } else {
    if (deadline > lock->deadline_ms) lock->deadline_ms = deadline; /* R18 */
    rl_end_extension(rl, lock, REDLOCK_OK, now);
  }
}

typedef struct rl_tally {
  int yes, taken, none, absent;
} rl_tally;

static rl_tally rl_count(const redlock *rl, const redlock_lock *lock) {
  rl_tally t;
  int i;
  memset(&t, 0, sizeof t);
  for (i = 0; i < rl->servers; i++) {
    if (lock->votes[i] == REDLOCK_VOTE_YES) t.yes++;
    else if (lock->votes[i] == REDLOCK_VOTE_TAKEN) t.taken++;
    else if (lock->votes[i] == REDLOCK_VOTE_NONE) t.none++;
    else t.absent++;
  }
  return t;
}

/* R21 */
static void rl_judge_release(redlock *rl, redlock_lock *lock, rl_tally t) {
  int spare = rl->servers - rl->quorum;
  redlock_status status = REDLOCK_OK;
  if (t.yes < rl->quorum) {
    if (t.taken > spare) status = REDLOCK_EXPIRED;
    else if (t.absent > spare) status = REDLOCK_NO_QUORUM;
    else if (t.none) return;
  }
  (void)rl_settle(rl, lock);
  rl_decide(rl, lock, status);
}

/* R6: decides as soon as no vote to come can change the outcome. */
static void rl_judge(redlock *rl, redlock_lock *lock) {
  rl_tally t = rl_count(rl, lock);
  int spare = rl->servers - rl->quorum;
  int hopeless = t.yes + t.none < rl->quorum;
  if (lock->task == RL_RELEASE) {
    rl_judge_release(rl, lock, t);
  } else if (lock->task == RL_EXTEND) {
    if (t.yes >= rl->quorum) rl_on_extended(rl, lock);
    else if (t.taken > spare) rl_expire(rl, lock); /* R19: proved */
    else if (hopeless) rl_end_extension(rl, lock, REDLOCK_NO_QUORUM, rl->now_ms);
  } else if (t.yes >= rl->quorum) {
    rl_grant(rl, lock);
  } else if (hopeless) { /* R23 */
    rl_fail_attempt(rl, lock, t.absent > spare ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN, rl->now_ms);
  }
}

/* ---- Locks: a round begins ------------------------------------------------------------------- */

/* R20: the longest ttl that keeps within max_hold_ms; 0 = none would gain anything. */
static uint32_t rl_clip(const redlock *rl, const redlock_lock *lock, uint32_t ttl_ms, int64_t now) {
  int64_t left = lock->since_ms + lock->max_hold_ms - now;
  if (lock->max_hold_ms == 0 || ttl_ms <= left) return ttl_ms;
  if (left <= 0 || now + rl_validity_ms(rl, RL_AS(uint32_t, left)) <= lock->deadline_ms) return 0;
  return RL_AS(uint32_t, left);
}

/* What a server votes before it is asked; NONE = it will be. */
static redlock_vote rl_first_vote(const rl_server *s, int64_t now) {
  if (s->state == RL_REFUSED) return REDLOCK_VOTE_ERROR;
  if (s->state == RL_CLOSED && now < s->until_ms) return rl_absent_vote(s);
  return s->linked && s->stalled ? REDLOCK_VOTE_TIMEOUT : REDLOCK_VOTE_NONE;
}

/* Who gets the command. One whose connection is down gets it if that is up again in time; one that
   is stalled or refused gets only what undoes a SET that it got (R13). */
static uint32_t rl_electorate(const redlock *rl, const redlock_lock *lock, uint8_t kind) {
  uint32_t due = kind == RL_RELEASE ? lock->touched : 0;
  int i;
  for (i = 0; i < rl->servers; i++) {
    const rl_server *s = &rl->server[i];
    if (s->state != RL_REFUSED && !(s->linked && s->stalled)) due |= rl_bit(i);
  }
  return due;
}

static void rl_start_round(redlock *rl, redlock_lock *lock, int64_t now) {
  rl_command *c;
  int i;
  if (lock->task == RL_SET) {
    rl_reserve(rl, lock);
    lock->touched = 0;
    lock->attempts++;
  }
  c = rl_encode(rl, lock, lock->task, now);
  c->lock = lock;
  c->due = rl_electorate(rl, lock, lock->task);
  lock->command = rl_end(rl) - 1;
  lock->t1_ms = now;
  for (i = 0; i < rl->servers; i++) lock->votes[i] = rl_first_vote(&rl->server[i], now);
  rl_wait_until(rl, lock, RL_VOTING, now + rl->options.server_timeout_ms);
  if (lock->task == RL_EXTEND && lock->deadline_ms < lock->due_ms)
    rl_wait_until(rl, lock, RL_VOTING, lock->deadline_ms);
  rl_judge(rl, lock);
}

static void rl_start_extension(redlock *rl, redlock_lock *lock, int64_t now) {
  lock->ask_ms = rl_clip(rl, lock, lock->ask_ms, now);
  if (now >= lock->deadline_ms) rl_expire(rl, lock);
  else if (lock->ask_ms == 0) rl_decide(rl, lock, REDLOCK_LIMIT);
  else rl_start_round(rl, lock, now);
}

/* Goes on with the first lock in line, now that there is room. T1 is taken here (R11). */
static void rl_start_task(redlock *rl, redlock_lock *lock, int64_t now) {
  if (lock->task == RL_EXTEND) {
    rl_start_extension(rl, lock, now);
  } else if (lock->task == RL_RELEASE) {
    rl_start_round(rl, lock, now);
  } else if (lock->task == RL_ABANDON) {
    rl_encode(rl, lock, RL_RELEASE, now)->due = rl_electorate(rl, lock, RL_RELEASE);
    rl_decide(rl, lock, REDLOCK_EXPIRED);
  } else if (lock->attempts && now > lock->give_up_ms) {
    rl_decide(rl, lock, RL_AS(redlock_status, lock->last));
  } else if (rl->io->entropy(rl->ctx, lock->value, RL_VALUE_BYTES)) { /* R3: fails closed */
    rl_decide(rl, lock, REDLOCK_SYSTEM);
  } else {
    rl_start_round(rl, lock, now);
  }
}

static void rl_serve_line(redlock *rl, int64_t now) {
  redlock_lock *lock;
  while ((lock = rl->line.first) != RL_NULL && rl_make_room(rl, lock, now))
    rl_start_task(rl, lock, now);
}

/* ---- Locks: the clock ------------------------------------------------------------------------ */

/* R10: the servers had their time. */
static void rl_time_out(redlock *rl, redlock_lock *lock, int64_t now) {
  const rl_command *c = rl_at(rl, lock->command);
  int i;
  if (lock->task == RL_EXTEND && now >= lock->deadline_ms) { /* R19 */
    rl_expire(rl, lock);
    return;
  }
  for (i = 0; i < rl->servers; i++)
    if (lock->votes[i] == REDLOCK_VOTE_NONE)
      lock->votes[i] = c->owed & rl_bit(i) ? REDLOCK_VOTE_TIMEOUT : REDLOCK_VOTE_UNREACHABLE;
  rl_judge(rl, lock);
}

static void rl_on_lock_time(redlock *rl, redlock_lock *lock, int64_t now) {
  if (now < lock->due_ms) return;
  if (lock->phase == RL_VOTING) {
    rl_time_out(rl, lock, now);
  } else if (lock->phase == RL_LINE) { /* an extension: nothing else in line is due by the clock */
    rl_expire(rl, lock);
  } else if (lock->phase == RL_RESTING) {
    rl_queue(rl, lock, RL_SET);
  } else {
    lock->ask_ms = lock->ttl_ms;
    rl_queue(rl, lock, RL_EXTEND);
  }
}

/* A lock may move to the end of the other list, or of its own with a due_ms to come. */
static void rl_on_list_time(redlock *rl, const rl_list *list, int64_t now) {
  redlock_lock *lock = list->first, *next;
  for (; lock; lock = next) {
    next = lock->next;
    rl_on_lock_time(rl, lock, now);
  }
}

static void rl_find_due(redlock *rl) {
  const redlock_lock *lock;
  int i;
  rl->due_ms = INT64_MAX;
  for (lock = rl->line.first; lock; lock = lock->next) rl_note_due(rl, lock->due_ms);
  for (lock = rl->live.first; lock; lock = lock->next) rl_note_due(rl, lock->due_ms);
  for (i = 0; i < rl->servers; i++) rl_note_due(rl, rl_server_due(rl, i));
}

static void rl_on_time(redlock *rl, int64_t now) {
  int i;
  for (i = 0; i < rl->servers; i++) rl_on_server_time(rl, i, now);
  rl_on_list_time(rl, &rl->line, now);
  rl_on_list_time(rl, &rl->live, now);
  rl_find_due(rl);
}

/* ---- The machine's one turn ------------------------------------------------------------------ */

static int rl_is_busy(redlock *rl, int64_t now) {
  return rl->fresh || (rl->line.first && rl_make_room(rl, rl->line.first, now));
}

/* Sends all that is due, and what the sending itself makes due. */
static void rl_work(redlock *rl, int64_t now) {
  int pass, i;
  for (pass = 0; pass < RL_SEND_PASSES; pass++) {
    rl->fresh = 0;
    rl_serve_line(rl, now);
    for (i = 0; i < rl->servers; i++) rl_send(rl, i, now);
    if (now >= rl->due_ms) rl_on_time(rl, now);
    if (!rl_is_busy(rl, now)) return;
  }
  rl->fresh = 1;
}

/* No clock, no lock: nothing can be promised any more. What went out is still rolled back. */
static void rl_on_clock_failure(redlock *rl) {
  redlock_lock *lock = rl->live.first, *next;
  for (; lock; lock = next) {
    next = lock->next;
    if (lock->phase == RL_VOTING && lock->task == RL_SET) {
      rl_fail_attempt(rl, lock, REDLOCK_SYSTEM, rl->now_ms);
      continue;
    }
    if (lock->phase == RL_VOTING) (void)rl_settle(rl, lock);
    rl_decide(rl, lock, REDLOCK_SYSTEM);
  }
  for (lock = rl->line.first; lock; lock = next) {
    next = lock->next;
    if (lock->task != RL_ABANDON) rl_decide(rl, lock, REDLOCK_SYSTEM);
  }
}

static void rl_turn(redlock *rl) {
  int64_t now = rl_now(rl);
  int i;
  if (now < 0) rl_on_clock_failure(rl);
  else rl->now_ms = now;
  now = rl->now_ms;
  for (i = 0; i < rl->servers; i++)
    if (rl->server[i].state != RL_CLOSED) rl_receive(rl, i, now);
  rl_work(rl, now);
  rl->quiet = 0;
}

/* As redlock_timeout_ms, but for the locks that are decided already. */
static int64_t rl_timeout_ms(const redlock *rl) {
  int64_t due = rl->due_ms, now;
  int i;
  if (rl->fresh) return 0;
  if (!rl->line.first && !rl->live.first)
    for (due = INT64_MAX, i = 0; i < rl->servers; i++)
      if (rl_server_due(rl, i) < due) due = rl_server_due(rl, i);
  if (due == INT64_MAX) return -1;
  now = rl_now(rl);
  return now < 0 || due <= now ? 0 : due - now;
}

static int rl_wants_to_write(const redlock *rl, int i) {
  const rl_server *s = &rl->server[i];
  if (!s->greeted) return s->greeting || s->cursor != rl_end(rl);
  return s->cursor != rl_end(rl) && !(s->wary && s->greeting);
}

static int rl_fds(const redlock *rl, redlock_fd *fds, int capacity) {
  int i, count = 0;
  for (i = 0; i < rl->servers; i++) {
    const rl_server *s = &rl->server[i];
    if (s->state == RL_CLOSED) continue;
    if (count < capacity) {
      fds[count].fd = s->fd;
      fds[count].server = i;
      fds[count].events = REDLOCK_READ;
      if (rl_wants_to_write(rl, i)) fds[count].events |= REDLOCK_WRITE;
      fds[count].generation = s->generation;
    }
    count++;
  }
  return count;
}

/* Whether the lock is decided; NULL stands for any. */
static int rl_is_decided(const redlock *rl, const redlock_lock *lock) {
  return lock ? lock->phase == RL_DECIDED : rl->decided.first != RL_NULL;
}

/* Unless the lock is decided: waits, at most limit_ms (-1 = no limit), and takes a turn.
   0 = waiting failed. */
static int rl_wait(redlock *rl, const redlock_lock *lock, int64_t limit_ms) {
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int64_t timeout;
  int count, ready;
  if (rl->fresh) rl_work(rl, rl->now_ms);
  if (rl_is_decided(rl, lock)) return 1;
  timeout = rl_timeout_ms(rl);
  if (limit_ms >= 0 && (timeout < 0 || timeout > limit_ms)) timeout = limit_ms;
  count = rl_fds(rl, want, REDLOCK_MAX_SERVERS);
  ready = rl->io->wait(rl->ctx, want, count, timeout);
  rl_turn(rl);
  return ready >= 0;
}

/* ---- Handing back ---------------------------------------------------------------------------- */

/* R1: a grant or extension that lapsed while it stood in the queue is not handed out. */
static int rl_has_lapsed(const redlock *rl, const redlock_lock *lock) {
  int64_t now;
  if (lock->status != REDLOCK_OK || lock->task == RL_RELEASE) return 0;
  now = rl_now(rl);
  return now < 0 || now >= lock->deadline_ms;
}

/* Gives a decided lock to the caller; 0 = it goes back to the line first, to be released. */
static int rl_hand_back(redlock *rl, redlock_lock *lock) {
  if (rl_has_lapsed(rl, lock)) {
    if (!lock->reserved) {
      rl_expire(rl, lock);
      rl_serve_line(rl, rl->now_ms);
      return 0;
    }
    lock->deadline_ms = 0;
    lock->held = RL_OVER;
    lock->status = REDLOCK_EXPIRED;
    rl_roll_back(rl, lock, rl->now_ms);
  }
  rl_unreserve(rl, lock);
  rl_unlink(rl, lock);
  return 1;
}

/* Takes a lock out of the client, as redlock_cancel documents it. */
static void rl_withdraw(redlock *rl, redlock_lock *lock) {
  int granted = lock->phase == RL_DECIDED && lock->status == REDLOCK_OK;
  if (lock->task == RL_SET) {
    if (lock->phase == RL_VOTING) rl_settle(rl, lock)->due = 0;
    if (lock->phase == RL_VOTING || granted) rl_roll_back(rl, lock, rl->now_ms);
    lock->held = RL_NEVER;
    lock->deadline_ms = 0;
  } else if (lock->phase == RL_VOTING) {
    (void)rl_settle(rl, lock);
  }
  rl_unreserve(rl, lock);
  rl_unlink(rl, lock);
  lock->kept = 0;
}

/* The blocking calls: turns until the caller's own lock is decided. The others' stay queued. */
static redlock_status rl_block(redlock *rl, redlock_lock *lock) {
  while (!rl_is_decided(rl, lock) || !rl_hand_back(rl, lock)) {
    if (rl_wait(rl, lock, -1)) continue;
    rl_withdraw(rl, lock);
    lock->status = REDLOCK_SYSTEM;
    break;
  }
  if (lock->status != REDLOCK_OK && rl->fresh) rl_work(rl, rl->now_ms); /* roll-backs leave now */
  return lock->status;
}

/* ---- The POSIX back end ---------------------------------------------------------------------- */

#ifndef REDLOCK_NO_POSIX

typedef union rl_sockaddr {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_un local;
} rl_sockaddr;

static socklen_t rl_unix_address(rl_sockaddr *a, const char *path) {
  size_t size = strlen(path);
  if (size >= sizeof a->local.sun_path) return 0;
  a->local.sun_family = AF_UNIX;
  memcpy(a->local.sun_path, path, size + 1);
  return RL_AS(socklen_t, sizeof a->local);
}

#ifdef REDLOCK_NO_DNS

static int rl_posix_resolve(redlock *rl, int i) {
  (void)rl;
  (void)i;
  return 1;
}

static socklen_t rl_posix_address(const redlock *rl, int i, const char *host, const char *port,
                                  rl_sockaddr *a) {
  uint16_t number = htons(RL_AS(uint16_t, rl_number(rl_whole(port), 65536)));
  (void)rl;
  (void)i;
  if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = number;
    return RL_AS(socklen_t, sizeof a->v4);
  }
  if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) != 1) return 0;
  a->v6.sin6_family = AF_INET6;
  a->v6.sin6_port = number;
  return RL_AS(socklen_t, sizeof a->v6);
}

#else

static int rl_keep_address(rl_address *to, const struct addrinfo *from) {
  rl_sockaddr a;
  if (from->ai_addrlen > sizeof a) return 0;
  memset(to, 0, sizeof *to);
  memcpy(&a, from->ai_addr, from->ai_addrlen);
  if (from->ai_family == AF_INET) {
    to->family = 4;
    to->port = a.v4.sin_port;
    memcpy(to->ip, &a.v4.sin_addr, 4);
  } else if (from->ai_family == AF_INET6) {
    to->family = 6;
    to->port = a.v6.sin6_port;
    to->scope = a.v6.sin6_scope_id;
    memcpy(to->ip, &a.v6.sin6_addr, 16);
  }
  return to->family != 0;
}

/* Keeps the first two addresses of the name; what was known stays when nothing is found. 0 = it is
   the address of an earlier entry (R5). */
static int rl_posix_resolve(redlock *rl, int i) {
  rl_server *s = &rl->server[i];
  struct addrinfo hints, *found = RL_NULL, *a;
  char host[RL_HOST_BYTES], port[6];
  rl_target t;
  int kept = 0, j;
  rl_find_target(rl, i, &t);
  rl_copy_text(host, t.host);
  rl_copy_text(port, t.port);
  if (host[0] == '/') return 1;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (getaddrinfo(host, port, &hints, &found) != 0) {
    if (s->address[0].family == 0) rl_say(s, "the name is not found: check it, or redlock_resolve");
    return 1;
  }
  memset(s->address, 0, sizeof s->address);
  for (a = found; a && kept < 2; a = a->ai_next) kept += rl_keep_address(&s->address[kept], a);
  freeaddrinfo(found);
  for (j = 0; j < i; j++)
    if (kept && memcmp(&rl->server[j].address[0], &s->address[0], sizeof s->address[0]) == 0)
      return 0;
  return 1;
}

/* The two addresses of a name take turns with each failure. */
static socklen_t rl_posix_address(const redlock *rl, int i, const char *host, const char *port,
                                  rl_sockaddr *a) {
  const rl_server *s = &rl->server[i];
  const rl_address *from = &s->address[s->address[1].family ? s->fails & 1 : 0];
  (void)host;
  (void)port;
  if (from->family == 4) {
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = from->port;
    memcpy(&a->v4.sin_addr, from->ip, 4);
    return RL_AS(socklen_t, sizeof a->v4);
  }
  if (from->family != 6) return 0;
  a->v6.sin6_family = AF_INET6;
  a->v6.sin6_port = from->port;
  a->v6.sin6_scope_id = from->scope;
  memcpy(&a->v6.sin6_addr, from->ip, 16);
  return RL_AS(socklen_t, sizeof a->v6);
}

#endif

/* Non-blocking, closed on exec, no delay, no SIGPIPE (R14); -1 = failed. */
static int rl_posix_socket(int family) {
  int one = 1, type = SOCK_STREAM, fd;
#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK)
  type |= SOCK_CLOEXEC | SOCK_NONBLOCK;
#endif
  fd = socket(family, type, 0);
  if (fd < 0) return -1;
#if !defined(SOCK_CLOEXEC) || !defined(SOCK_NONBLOCK)
  (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  (void)fcntl(fd, F_SETFL, O_NONBLOCK);
#endif
#ifdef SO_NOSIGPIPE
  (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &one, RL_AS(socklen_t, sizeof one));
#endif
  if (family != AF_UNIX)
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, RL_AS(socklen_t, sizeof one));
  return fd;
}

static intptr_t rl_posix_open(void *ctx, int server, const char *host, const char *port) {
  const redlock *rl = RL_AS(const redlock *, ctx);
  rl_sockaddr a;
  socklen_t size;
  int fd;
  memset(&a, 0, sizeof a);
  size = host[0] == '/' ? rl_unix_address(&a, host) : rl_posix_address(rl, server, host, port, &a);
  if (size == 0) return -1;
  fd = rl_posix_socket(a.any.sa_family);
  if (fd < 0) return -1;
  if (connect(fd, &a.any, size) == 0 || errno == EINPROGRESS || errno == EINTR) return fd;
  (void)close(fd);
  return -1;
}

static int rl_posix_fd(void *ctx, int server) {
  return RL_AS(int, RL_AS(const redlock *, ctx)->server[server].fd);
}

static int rl_posix_result(ssize_t result) {
  if (result >= 0) return RL_AS(int, result);
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN ||
         errno == EINPROGRESS ? 0 : -1;
}

static int rl_posix_send(void *ctx, int server, const void *data, size_t size) {
#ifdef MSG_NOSIGNAL
  return rl_posix_result(send(rl_posix_fd(ctx, server), data, size, MSG_NOSIGNAL));
#else
  return rl_posix_result(send(rl_posix_fd(ctx, server), data, size, 0));
#endif
}

static int rl_posix_recv(void *ctx, int server, void *data, size_t size) {
  ssize_t got;
  if (RL_AS(const redlock *, ctx)->quiet & rl_bit(server)) return 0;
  got = recv(rl_posix_fd(ctx, server), data, size, 0);
  return got == 0 ? -1 : rl_posix_result(got);
}

static void rl_posix_close(void *ctx, int server) { (void)close(rl_posix_fd(ctx, server)); }

static int rl_posix_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  redlock *rl = RL_AS(redlock *, ctx);
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int i, ready;
  for (i = 0; i < count; i++) {
    fds[i].fd = RL_AS(int, want[i].fd);
    fds[i].events = RL_AS(short, POLLIN | (want[i].events & REDLOCK_WRITE ? POLLOUT : 0));
    fds[i].revents = 0;
  }
  if (timeout_ms > 60000) timeout_ms = 60000; /* early is allowed, overflow is not */
  ready = poll(fds, RL_AS(nfds_t, count), RL_AS(int, timeout_ms));
  if (ready < 0) return errno == EINTR ? 0 : -1;
  for (i = 0; i < count; i++)
    if (fds[i].revents == 0) rl->quiet |= rl_bit(want[i].server);
  return ready;
}

/* R2: a clock that counts suspend. */
static int64_t rl_posix_now_ms(void *ctx) {
#if defined(__APPLE__) && defined(CLOCK_MONOTONIC_RAW)
  const clockid_t clock = CLOCK_MONOTONIC_RAW;
#elif defined(CLOCK_BOOTTIME)
  const clockid_t clock = CLOCK_BOOTTIME;
#else
  const clockid_t clock = CLOCK_MONOTONIC;
#endif
  struct timespec t;
  (void)ctx;
  if (clock_gettime(clock, &t) != 0) return -1;
  return RL_AS(int64_t, t.tv_sec) * 1000 + t.tv_nsec / 1000000;
}

/* R3 */
static int rl_posix_entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
#ifdef __linux__
  return getrandom(data, size, GRND_NONBLOCK) == RL_AS(ssize_t, size) ? 0 : -1;
#else
  {
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got;
    if (fd < 0) return -1;
    got = read(fd, data, size);
    (void)close(fd);
    return got == RL_AS(ssize_t, size) ? 0 : -1;
  }
#endif
}

static const redlock_io rl_posix_io = {
  rl_posix_open, rl_posix_send, rl_posix_recv, rl_posix_close,
  rl_posix_wait, rl_posix_now_ms, rl_posix_entropy, RL_NULL
};

/* Sets the back end up if the caller brings no io; 0 = there is none. */
static int rl_choose_io(redlock *rl, const redlock_io *io) {
  rl->io = io ? io : &rl_posix_io;
  rl->ctx = io ? io->ctx : rl;
  rl->process = RL_AS(long, getpid());
  return 1;
}

static int rl_is_posix(const redlock *rl) { return rl->io == &rl_posix_io; }

/* R17 */
static int rl_is_forked(const redlock *rl) {
  return rl_is_posix(rl) && rl->process != RL_AS(long, getpid());
}

#else

static int rl_choose_io(redlock *rl, const redlock_io *io) {
  rl->io = io;
  rl->ctx = io ? io->ctx : RL_NULL;
  return io != RL_NULL;
}

static int rl_is_posix(const redlock *rl) {
  (void)rl;
  return 0;
}

static int rl_is_forked(const redlock *rl) {
  (void)rl;
  return 0;
}

static int rl_posix_resolve(redlock *rl, int i) {
  (void)rl;
  (void)i;
  return 1;
}

#endif

/* ---- The public calls ------------------------------------------------------------------------ */

static int rl_is_separator(char c) {
  return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static redlock_status rl_take_options(redlock *rl, const redlock_options *options) {
  redlock_options *o = &rl->options;
  if (options) *o = *options;
  if (o->server_timeout_ms == 0) o->server_timeout_ms = 50;
  if (o->drift_ppm == 0) o->drift_ppm = 10000;
  if (o->retry_delay_min_ms == 0 && o->retry_delay_max_ms == 0) o->retry_delay_max_ms = 200;
  if (o->retry_delay_min_ms == 0)
    o->retry_delay_min_ms = o->retry_delay_max_ms < 100 ? o->retry_delay_max_ms : 100;
  if (o->retry_delay_max_ms == 0)
    o->retry_delay_max_ms = o->retry_delay_min_ms > 200 ? o->retry_delay_min_ms : 200;
  if (o->drift_ppm >= 1000000 || o->retry_delay_min_ms > o->retry_delay_max_ms)
    return REDLOCK_INVALID;
  return rl_choose_io(rl, o->io) ? REDLOCK_OK : REDLOCK_INVALID;
}

/* Takes one entry of the list; what is wrong with it stays as that server's error. */
static redlock_status rl_add_server(redlock *rl, rl_text entry) {
  int i = rl->servers, j;
  rl_server *s = &rl->server[i];
  rl_target t;
  const char *problem = rl_parse_target(entry, &t);
  size_t at = RL_AS(size_t, entry.at - rl->list);
  rl->servers++;
  s->fd = -1;
  s->entry = RL_AS(uint16_t, at);
  s->entry_size = RL_AS(uint16_t, entry.size);
  if (at + entry.size > 65535) problem = "the list is too long";
  for (j = 0; !problem && j < i; j++)
    if (rl_is_twin(rl, i, j)) problem = "this address is in the list twice";
  if (!problem && rl_is_posix(rl) && !rl_posix_resolve(rl, i))
    problem = "this is the address of an earlier entry";
  if (problem) rl_say(s, problem);
  return problem ? REDLOCK_INVALID : REDLOCK_OK;
}

static redlock_status rl_take_list(redlock *rl, const char *list) {
  redlock_status status = REDLOCK_OK;
  rl->list = list;
  while (status == REDLOCK_OK && *list) {
    size_t size = 0;
    while (list[size] && !rl_is_separator(list[size])) size++;
    if (size && rl->servers == REDLOCK_MAX_SERVERS) {
      rl_say(&rl->server[0], "more servers than REDLOCK_MAX_SERVERS");
      status = REDLOCK_INVALID;
    } else if (size) {
      status = rl_add_server(rl, rl_slice(list, size));
    }
    list += size + (list[size] != 0);
  }
  return rl->servers ? status : REDLOCK_INVALID;
}

REDLOCK_API redlock_status redlock_init_sized(redlock *rl, const char *servers,
                                              const redlock_options *options, size_t client_size,
                                              size_t lock_size) {
  redlock_status status;
  if (!rl || client_size != sizeof *rl || lock_size != sizeof(redlock_lock)) return REDLOCK_INVALID;
  memset(rl, 0, sizeof *rl);
  if (!servers) return REDLOCK_INVALID;
  rl->due_ms = INT64_MAX;
  status = rl_take_options(rl, options);
  if (status == REDLOCK_OK) status = rl_take_list(rl, servers);
  if (status != REDLOCK_OK) return status;
  rl->quorum = RL_AS(uint8_t, rl->servers / 2 + 1); /* R5 */
  rl->now_ms = rl_now(rl);
  if (rl->now_ms < 0) return REDLOCK_SYSTEM;
  rl->size = sizeof *rl;
  return REDLOCK_OK;
}

/* Whether this is a client, and this is its process. */
static int rl_is_ready(const redlock *rl) {
  return rl && rl->size == sizeof *rl && !rl_is_forked(rl);
}

/* Reads the clock at the begin of a call; 0 = it failed. */
static int rl_tick(redlock *rl) {
  int64_t now = rl_now(rl);
  if (now < 0) return 0;
  rl->now_ms = now;
  return 1;
}

REDLOCK_API redlock_status redlock_resolve(redlock *rl) {
  redlock_status status = REDLOCK_OK;
  int i;
  if (!rl_is_ready(rl)) return REDLOCK_INVALID;
  for (i = 0; rl_is_posix(rl) && i < rl->servers; i++) {
    if (rl_posix_resolve(rl, i)) continue;
    rl_say(&rl->server[i], "this is the address of an earlier entry");
    status = REDLOCK_INVALID;
  }
  return status;
}

static int rl_has_unsent(const redlock *rl) {
  int i;
  for (i = 0; i < rl->servers; i++)
    if (rl->server[i].state != RL_CLOSED && rl_wants_to_write(rl, i)) return 1;
  return 0;
}

REDLOCK_API void redlock_close(redlock *rl) {
  int64_t end;
  int i;
  if (!rl || rl->size != sizeof *rl) return;
  if (!rl_is_forked(rl)) {
    (void)rl_tick(rl);
    while (rl->line.first) rl_withdraw(rl, rl->line.first);
    while (rl->live.first) rl_withdraw(rl, rl->live.first);
    while (rl->decided.first) rl_withdraw(rl, rl->decided.first);
    end = rl->now_ms + rl->options.server_timeout_ms;
    rl_work(rl, rl->now_ms);
    while (rl_has_unsent(rl) && rl->now_ms < end && rl_tick(rl))
      if (!rl_wait(rl, RL_NULL, end - rl->now_ms)) break;
  }
  for (i = 0; i < rl->servers; i++)
    if (rl->server[i].fd >= 0) rl->io->close(rl->ctx, i);
  memset(rl, 0, sizeof *rl);
}

static int rl_is_good_ttl(const redlock *rl, uint32_t ttl_ms) {
  if (rl->options.max_ttl_ms && ttl_ms > rl->options.max_ttl_ms) return 0; /* R24 */
  return rl_validity_ms(rl, ttl_ms) > 0;
}

REDLOCK_API redlock_status redlock_start_acquire(redlock *rl, redlock_lock *lock,
                                                 const char *resource, uint32_t ttl_ms,
                                                 uint32_t wait_ms) {
  size_t size = 0;
  void *user;
  if (!rl_is_ready(rl) || !lock || !resource || !rl_is_good_ttl(rl, ttl_ms)) return REDLOCK_INVALID;
  while (size <= REDLOCK_MAX_RESOURCE && resource[size]) size++;
  if (size == 0 || size > REDLOCK_MAX_RESOURCE || rl_owns(rl, lock)) return REDLOCK_INVALID;
  if (!rl_tick(rl)) return REDLOCK_SYSTEM;
  user = lock->user;
  memset(lock, 0, sizeof *lock);
  lock->user = user;
  lock->status = REDLOCK_PENDING;
  lock->operation = REDLOCK_ACQUIRE;
  lock->ttl_ms = lock->ask_ms = ttl_ms;
  lock->max_hold_ms = rl->options.max_hold_ms;
  lock->give_up_ms = wait_ms == REDLOCK_FOREVER ? INT64_MAX : rl->now_ms + wait_ms;
  lock->resource_size = RL_AS(uint16_t, size);
  memcpy(lock->resource, resource, size);
  rl_queue(rl, lock, RL_SET);
  rl_serve_line(rl, rl->now_ms);
  return REDLOCK_PENDING;
}

/* A lock that is held, with nothing pending, and whose deadline stands. */
static redlock_status rl_check_held(redlock *rl, const redlock_lock *lock) {
  if (!rl_is_ready(rl) || !lock || lock->held == RL_NEVER) return REDLOCK_INVALID;
  if (lock->phase != RL_IDLE && lock->phase != RL_KEEPING) return REDLOCK_INVALID;
  if (!rl_tick(rl)) return REDLOCK_SYSTEM;
  return lock->held == RL_HELD && rl->now_ms < lock->deadline_ms ? REDLOCK_OK : REDLOCK_EXPIRED;
}

REDLOCK_API redlock_status redlock_start_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms) {
  redlock_status status = rl_check_held(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (lock->phase != RL_IDLE || !rl_is_good_ttl(rl, ttl_ms)) return REDLOCK_INVALID;
  if (rl_clip(rl, lock, ttl_ms, rl->now_ms) == 0) return REDLOCK_LIMIT;
  lock->status = REDLOCK_PENDING;
  lock->operation = REDLOCK_EXTEND;
  lock->ask_ms = ttl_ms;
  if (lock->ttl_ms < ttl_ms) lock->ttl_ms = ttl_ms;
  rl_queue(rl, lock, RL_EXTEND);
  rl_serve_line(rl, rl->now_ms);
  return REDLOCK_PENDING;
}

/* A SET that no byte of has left for some server yet need not go there any more (R12). */
static void rl_forget_set(redlock *rl, const redlock_lock *lock) {
  rl_command *c = rl_at(rl, lock->command);
  if (lock->command - rl->first >= rl->count || c->t1_ms != lock->since_ms || c->kind != RL_SET)
    return;
  if (c->size == 0 || c->lock) return;
  c->due = 0;
}

static redlock_status rl_cancel(redlock *rl, redlock_lock *lock) {
  int pending = lock->phase != RL_KEEPING;
  (void)rl_tick(rl);
  rl_withdraw(rl, lock);
  if (pending) lock->status = REDLOCK_CANCELLED;
  return REDLOCK_CANCELLED;
}

REDLOCK_API redlock_status redlock_start_release(redlock *rl, redlock_lock *lock) {
  if (!rl_is_ready(rl) || !lock) return REDLOCK_INVALID;
  if (lock->phase != RL_IDLE) {
    if (!rl_owns(rl, lock)) return REDLOCK_INVALID;
    if (lock->task == RL_SET) return rl_cancel(rl, lock);
    if (lock->phase != RL_DECIDED && lock->task != RL_EXTEND) return REDLOCK_INVALID;
    rl_withdraw(rl, lock);
  }
  if (lock->held != RL_HELD) return lock->held == RL_OVER ? REDLOCK_EXPIRED : REDLOCK_INVALID;
  if (!rl_tick(rl)) return REDLOCK_SYSTEM;
  rl_forget_set(rl, lock);
  lock->status = REDLOCK_PENDING;
  lock->operation = REDLOCK_RELEASE;
  lock->deadline_ms = 0; /* the hold ends here, whatever the servers say */
  lock->held = RL_OVER;
  rl_queue(rl, lock, RL_RELEASE);
  rl_serve_line(rl, rl->now_ms);
  return REDLOCK_PENDING;
}

REDLOCK_API redlock_status redlock_cancel(redlock *rl, redlock_lock *lock) {
  if (!rl_is_ready(rl) || !lock || !rl_owns(rl, lock)) return REDLOCK_INVALID;
  (void)rl_cancel(rl, lock);
  return REDLOCK_OK;
}

REDLOCK_API redlock_status redlock_keep(redlock *rl, redlock_lock *lock, uint32_t max_hold_ms) {
  redlock_status status = rl_check_held(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (max_hold_ms) lock->max_hold_ms = max_hold_ms;
  if (lock->kept) return REDLOCK_OK;
  lock->kept = 1;
  lock->task = RL_EXTEND;
  rl_wait_until(rl, lock, RL_KEEPING, rl->now_ms + (lock->deadline_ms - rl->now_ms) / 2);
  return REDLOCK_OK;
}

/* The next decided lock, NULL = none. A lapsed one comes back decided once it is being released. */
static redlock_lock *rl_next_decided(redlock *rl) {
  redlock_lock *lock;
  while ((lock = rl->decided.first) != RL_NULL)
    if (rl_hand_back(rl, lock)) return lock;
  return RL_NULL;
}

REDLOCK_API redlock_lock *redlock_step(redlock *rl) {
  if (!rl_is_ready(rl)) return RL_NULL;
  if (!rl->decided.first) rl_turn(rl);
  return rl_next_decided(rl);
}

REDLOCK_API redlock_lock *redlock_wait(redlock *rl, int64_t timeout_ms) {
  if (!rl_is_ready(rl)) return RL_NULL;
  if (timeout_ms < 0 && !rl->line.first && !rl->live.first && !rl->decided.first) {
    rl_work(rl, rl->now_ms);
    return RL_NULL;
  }
  (void)rl_wait(rl, RL_NULL, timeout_ms);
  return rl_next_decided(rl);
}

REDLOCK_API int64_t redlock_timeout_ms(const redlock *rl) {
  if (!rl_is_ready(rl)) return -1;
  return rl->decided.first ? 0 : rl_timeout_ms(rl);
}

REDLOCK_API int redlock_fds(const redlock *rl, redlock_fd *fds, int capacity) {
  return rl_is_ready(rl) ? rl_fds(rl, fds, capacity) : 0;
}

REDLOCK_API redlock_status redlock_acquire(redlock *rl, redlock_lock *lock, const char *resource,
                                           uint32_t ttl_ms, uint32_t wait_ms) {
  redlock_status status = redlock_start_acquire(rl, lock, resource, ttl_ms, wait_ms);
  return status == REDLOCK_PENDING ? rl_block(rl, lock) : status;
}

REDLOCK_API redlock_status redlock_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms) {
  redlock_status status = redlock_start_extend(rl, lock, ttl_ms);
  return status == REDLOCK_PENDING ? rl_block(rl, lock) : status;
}

REDLOCK_API redlock_status redlock_release(redlock *rl, redlock_lock *lock) {
  redlock_status status = redlock_start_release(rl, lock);
  if (status == REDLOCK_CANCELLED) rl_work(rl, rl->now_ms); /* the roll-back leaves now */
  return status == REDLOCK_PENDING ? rl_block(rl, lock) : status;
}

REDLOCK_API int64_t redlock_remaining_ms(const redlock *rl, const redlock_lock *lock) {
  int64_t now;
  if (!lock || lock->deadline_ms == 0 || !rl_is_ready(rl)) return 0;
  now = rl_now(rl);
  return now < 0 || now >= lock->deadline_ms ? 0 : lock->deadline_ms - now;
}

REDLOCK_API const char *redlock_strerror(redlock_status status) {
  switch (status) {
    case REDLOCK_OK: return "ok";
    case REDLOCK_PENDING: return "not decided yet";
    case REDLOCK_TAKEN: return "taken: another client holds the lock";
    case REDLOCK_NO_QUORUM: return "no quorum: too few servers answered";
    case REDLOCK_EXPIRED: return "expired: the lock is no longer ours";
    case REDLOCK_CANCELLED: return "cancelled";
    case REDLOCK_LIMIT: return "the longest hold is reached";
    case REDLOCK_INVALID: return "invalid argument or call";
    case REDLOCK_SYSTEM: return "the clock, the entropy or a socket failed";
  }
  return "unknown status";
}

REDLOCK_API const char *redlock_server_error(const redlock *rl, int server) {
  return rl && server >= 0 && server < rl->servers ? rl->server[server].error : RL_NULL;
}

#endif /* REDLOCK_IMPLEMENTATION */
