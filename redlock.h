/* redlock.h - 1.0.0 - the Redlock distributed lock in one C header - MIT-0

   A lock over N independent Redis or Valkey masters that stays correct while servers die, freeze,
   restart or reply late. C99 and C++98, nothing beyond libc. No malloc, no threads, no globals,
   no floating point. Numbers such as (R7) name the rules in tests/README.md.

   WHAT TO DO
     In ONE file:        #define REDLOCK_IMPLEMENTATION
                         #include "redlock.h"
     In all others:      #include "redlock.h"
     -std=c99 (and any -std=cNN) hides POSIX names: add -D_POSIX_C_SOURCE=200809L.
     Windows: link ws2_32 and bcrypt; in the one file, include this before windows.h.

   HELLO
     #define REDLOCK_IMPLEMENTATION
     #include "redlock.h"

     int main(void) {
       redlock rl;
       redlock_lock lock;
       // the list is not copied: it must outlive rl. NULL: every option has its default, and
       // max_ttl_ms is off; set it if two holders would corrupt data
       if (redlock_init(&rl, "10.0.0.1,10.0.0.2,10.0.0.3", NULL)) return 1;
       // held for at most 10 s, even if this process dies; waited for up to 3 s
       if (redlock_acquire(&rl, &lock, "invoice:42", 10000, 3000) == REDLOCK_OK) {
         // your work, within redlock_remaining_ms(&rl, &lock)
         redlock_release(&rl, &lock);
       }
       redlock_close(&rl);
     }

   MANY LOCKS, ONE THREAD
     The blocking calls are a loop over the stepping ones. To keep hundreds of locks in flight, call
     redlock_start_acquire for each, then redlock_wait until every lock has been handed back.

   AN EVENT LOOP OF YOUR OWN
     After every call that starts, cancels, keeps, steps or resolves, ask redlock_fds and
     redlock_timeout_ms what to watch and for how long. When a descriptor is ready or the time is
     up, call redlock_step_on with the servers that are ready, then with 0 until it returns NULL.
     (When something is due by the clock it reads from all of them anyway.) Stop watching a
     descriptor before it is closed: options.closing tells you in time.

   OPTIONS, for the compiler: the same in every file that includes the header
     REDLOCK_MAX_SERVERS    7     servers in the list (1 to 32)
     REDLOCK_MAX_RESOURCE   128   bytes of a resource's name (1 to 4096)
     REDLOCK_MAX_COMMANDS   32    commands in the log; a power of two, 4 or more
     REDLOCK_MAX_ERROR      112   bytes of the error text kept for each server (16 or more)
     REDLOCK_NO_POSIX             no system sockets and no options.tls: options.io must be given
     REDLOCK_NO_DNS               numeric addresses only, no getaddrinfo: saves 52 bytes per server
     REDLOCK_NO_TEXTS             every error text is ""
     REDLOCK_NO_QUARANTINE        no max_ttl_ms: if servers restart at will, two may hold a lock
                                  (R24); two entries with one run_id go unnoticed (R5)
     REDLOCK_NO_FENCING           no fencing tokens (R25); implied by REDLOCK_NO_QUARANTINE
     REDLOCK_NO_URL               no redis:// in the list: database 0 only, one password for all,
                                  no options.tls
     REDLOCK_STATIC               every function is static to the file
     REDLOCK_API                  what precedes each function, for a DLL; in C++ with extern "C"
     REDLOCK_ASSERT(truth)        checks invariants, as assert would; does nothing by default
   The smallest useful sizes are 3, 16, 4 and 16: with REDLOCK_NO_DNS and REDLOCK_NO_FENCING, client
   and lock then take less than 1 KB together on 32 bits. For W locks in flight at once, allow
   2 W + 2 commands: each takes about 64 bytes plus REDLOCK_MAX_RESOURCE. (REDLOCK_RING_BYTES of
   0.1.0 is ignored.)

   OWNERSHIP AND THREADS
     The caller owns every struct; the list of servers, the strings in the options, the io and the
     layer must outlive the client. One client belongs to one thread and one process (R17);
     clients share nothing. Do not move or copy a client after redlock_init: every call on the copy
     is INVALID. A lock belongs to the client while it is pending, kept, or decided but not yet
     returned by redlock_step or redlock_wait: until then do not move, copy or free it.

   ERRORS
     Calls return a redlock_status; below, each says what to do. redlock_server_error says what is
     wrong with one server, in the server's own words if it sent any. What to do about it, by how
     the text begins:
     LOADING, BUSY                          nothing: it passes
     NOAUTH, WRONGPASS                      check user and password
     NOPERM                                 give the user the rights under RIGHTS in redlock(1); if
                                            it speaks of keys, also the resource's name (~NAME)
     ERR ACL failure, ERR The user          the same: NOPERM within a script
     ERR unknown command, ERR Unknown Redis the server lacks or renames SET, EVAL, GET, DEL, PTTL,
                                            PEXPIRE or INFO
     READONLY, MASTERDOWN, not a master     list masters only, no replica
     MOVED, ASK, CLUSTERDOWN, CROSSSLOT     list plain masters only, no Cluster
     OOM, MISCONF, NOREPLICAS               check its memory, disk, min-replicas-to-write
     DENIED, ERR max number of clients      check its protected-mode, maxclients
     WRONGTYPE                              something else uses this key: choose another name
     no connection                          is it running? Is the address right? If it runs, does
                                            this port want TLS?
     it hangs up                            does this port want TLS? Else see the server's log
     no TLS handshake                       the port answers, but not in TLS
     self-signed certificate, unable to get the layer does not trust the server's authority
     hostname mismatch, IP address mismatch list it by the name or number in its certificate
     name not found                         check the list and DNS, then redlock_resolve
     no answer within server_timeout_ms     is it frozen, overloaded, too far away for that time?
     not an answer of Redis                 check host and port; does this port want TLS?
     the same server as another entry       correct the list
     clock is off                           set its clock: tokens need it (R25)
     a part, such as LOADI                  the connection broke within an error: try again

   WHAT NO CLIENT CAN PROMISE
     A process that pauses after the grant can outlive its lock: where that matters, the resource
     itself must refuse its writes, by the lock's token (R25). If a server's clock is stepped
     forward, its keys expire early. A server that restarts empty has forgotten its locks: set
     max_ttl_ms (R24).

   LICENCE
     MIT No Attribution (MIT-0); see LICENSE. */

#ifndef REDLOCK_H
#define REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#define REDLOCK_VERSION "1.0.0"
#define REDLOCK_VERSION_NUMBER 10000 /* 10000 * major + 100 * minor + patch */

#ifndef REDLOCK_MAX_SERVERS
#define REDLOCK_MAX_SERVERS 7
#endif
#ifndef REDLOCK_MAX_RESOURCE
#define REDLOCK_MAX_RESOURCE 128
#endif
#ifndef REDLOCK_MAX_COMMANDS
#define REDLOCK_MAX_COMMANDS 32
#endif
#ifndef REDLOCK_MAX_ERROR
#define REDLOCK_MAX_ERROR 112
#endif

#if defined(REDLOCK_NO_QUARANTINE) && !defined(REDLOCK_NO_FENCING)
#define REDLOCK_NO_FENCING /* tokens need the quarantine */
#endif

#ifdef REDLOCK_API /* yours */
#elif defined(REDLOCK_STATIC)
#define REDLOCK_API static inline
#elif defined(__cplusplus)
#define REDLOCK_API extern "C"
#else
#define REDLOCK_API extern
#endif

#define REDLOCK_FOREVER UINT32_MAX /* as wait_ms: never give up */

typedef enum redlock_status {
  REDLOCK_OK = 0,         /* work, within redlock_remaining_ms */
  REDLOCK_PENDING = 1,    /* not decided yet: keep stepping */
  REDLOCK_TAKEN = -1,     /* another client holds it: try again later, or wait */
  REDLOCK_NO_QUORUM = -2, /* too few servers voted: redlock_server_error says which and why. After
                             an extension the lock is still held: try again */
  REDLOCK_EXPIRED = -3,   /* its time ran out, or the lock is no longer ours: stop the work */
  REDLOCK_CANCELLED = -4, /* by redlock_cancel, or by a release before the grant */
  REDLOCK_LIMIT = -5,     /* max_hold_ms is reached: finish before redlock_remaining_ms is 0 */
  REDLOCK_INVALID = -6,   /* a bad argument, a call out of order, another process: no effect.
                             redlock_server_error(rl, -1) says which: fix the caller */
  REDLOCK_SYSTEM = -7     /* clock, entropy or waiting failed: redlock_server_error(rl, -1) says
                             which */
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
  REDLOCK_VOTE_TAKEN,       /* another value is there, or ours is missing */
  REDLOCK_VOTE_TIMEOUT,     /* no answer within server_timeout_ms */
  REDLOCK_VOTE_UNREACHABLE, /* no connection, or lost before the answer */
  REDLOCK_VOTE_ERROR,       /* an error reply, or a failed AUTH, SELECT or INFO */
  REDLOCK_VOTE_QUARANTINED, /* restarted less than max_ttl_ms ago (R24) */
  REDLOCK_VOTE_LOW,         /* it has seen a greater token; we ask again at once (R25) */
  REDLOCK_VOTE_CLOCK        /* its clock is too far from the others' (R25) */
} redlock_vote;

enum { REDLOCK_READ = 1, REDLOCK_WRITE = 2 };

typedef struct redlock_fd {
  intptr_t fd;         /* what io->open returned */
  int server;          /* position in the list, from 0 */
  unsigned events;     /* REDLOCK_READ | REDLOCK_WRITE; level-triggered */
  uint32_t generation; /* grows at each reconnect: shows epoll users that a number is reused */
} redlock_fd;

/* The outside world, for those who bring sockets, a clock or a simulator of their own. Only wait
   may block, and none may call the client. */
typedef struct redlock_io {
  /* Starts connecting to host and port (for unix:, host starts with '/' and port is ""). Returns a
     number of your choice, or < 0 = failed. Both strings are valid only during the call. */
  intptr_t (*open)(void *ctx, int server, const char *host, const char *port);
  /* Returns the bytes taken; < 0 = broken; 0 = none, also while connecting: then none of these
     bytes may ever leave, since the next call may offer others. */
  int (*send)(void *ctx, int server, const void *data, size_t size);
  /* Returns the bytes given; < 0 = broken or closed; fewer than asked for (or 0) = there is no more
     now: what arrives later must make the server ready. After 16 full reads in a row,
     redlock_timeout_ms is 0 and the server gets another turn. */
  int (*recv)(void *ctx, int server, void *data, size_t size);
  /* Closes what open returned; called once for each open that did not fail. */
  void (*close)(void *ctx, int server);
  /* Returns when any is ready or the time is up (-1 = no limit), or earlier; < 0 = failed. */
  int (*wait)(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms);
  /* Monotonic milliseconds, going on during suspend, less than 1 ms behind (R2); < 0 = failed.
     A clock of longer steps makes locks seem valid for up to a step too long: add step_ms *
     1 000 000 / (the shortest ttl_ms) to drift_ppm, as 2 000 for steps of 10 ms and 5 000. */
  int64_t (*now_ms)(void *ctx);
  /* Fills data from a cryptographic source (R3); 0 = success, all of it. Two clients that draw the
     same value hold the same lock: no seed that is built in, no clock, no number of the device. Of
     the 20 bytes asked for a value, 12 must be random; a label that tells who holds the lock may
     come first. */
  int (*entropy)(void *ctx, void *data, size_t size);
  void *ctx;
} redlock_io;

/* A layer, such as TLS, over the sockets of the rediss:// entries; examples/tls_openssl.h is one.
   It has nothing to do with names, the clock or waiting. All six functions are required; none may
   block, call the client or raise SIGPIPE. */
typedef struct redlock_layer {
  /* Begins on what io->open returned, which is still connecting. host is as in the list, without
     brackets, and valid only during the call. 0 = success. */
  int (*open)(void *ctx, int server, intptr_t fd, const char *host);
  /* As in redlock_io; 0 also during the TLS handshake. What send took but could not pass on must
     leave at the next call of the layer: recv is called whenever the server is ready, and must send
     it first. */
  int (*send)(void *ctx, int server, const void *data, size_t size);
  int (*recv)(void *ctx, int server, void *data, size_t size);
  /* Ends what open began, also if open failed. Sends nothing: a forked child calls it too (R17). */
  void (*close)(void *ctx, int server);
  /* What to poll for when the client would poll for `events`. */
  unsigned (*want)(void *ctx, int server, unsigned events);
  /* Why the last open, send or recv failed, or what it is waiting for; NULL = unknown. After a
     send that failed, recv is called once more: keep the first reason. */
  const char *(*error)(void *ctx, int server);
  void *ctx;
} redlock_layer;

/* Zero means the default for every member. */
typedef struct redlock_options {
  uint32_t server_timeout_ms;  /* 250; time for one server to connect, greet and answer (R10). Allow
                                  four round trips, six with TLS; a long one costs nothing while a
                                  quorum answers */
  uint32_t retry_delay_min_ms; /* 0; a waiting acquire that polls rests for a random time between */
  uint32_t retry_delay_max_ms; /* 200; these (R9): with a minimum of 0, short at first, then longer.
                                  Where servers tell when to try again, it waits for that (R26) */
  uint32_t max_attempts;       /* attempts of one acquire; 0 = limited by wait_ms only */
  uint32_t drift_ppm;          /* 10 000; clock drift to allow for, below 1 000 000 (R1) */
  uint32_t max_hold_ms;        /* longest hold by extension; 0 = no limit (R20) */
  uint32_t max_ttl_ms;         /* longest ttl of any client, the same in all of them; 0 = restart
                                  quarantine off (R24) */
#ifndef REDLOCK_NO_FENCING
  uint32_t fencing;            /* 1 = every grant has a token (R25). Needs max_ttl_ms, the same in
                                  all clients and at least 4 * server_timeout_ms, and servers whose
                                  clocks agree within a quarter of it */
#endif
  const char *username;        /* for entries of the list without one; NULL = none */
  const char *password;
  const redlock_io *io;        /* NULL = the sockets of the system, POSIX or Windows */
  const redlock_layer *tls;    /* for rediss:// in the list; NULL = none */
  /* Each may be NULL. The first two replace those of the io, be it yours or the system's. */
  int64_t (*now_ms)(void *ctx);
  int (*entropy)(void *ctx, void *data, size_t size);
  /* Called just before a server's descriptor is closed, but not in a forked child, whose loop may
     be the parent's. It must not call the client. */
  void (*closing)(void *ctx, int server, intptr_t fd);
  void *ctx;                   /* passed to these three */
} redlock_options;

/* private: a set of servers, one bit each */
#if REDLOCK_MAX_SERVERS <= 8
typedef uint8_t rl_set;
#elif REDLOCK_MAX_SERVERS <= 16
typedef uint16_t rl_set;
#else
typedef uint32_t rl_set;
#endif

/* private: a place in one of the client's lists */
typedef struct rl_link {
  struct rl_link *next, *prev;
} rl_link;

/* One lock. Read status, operation, votes, token and value; `user`, at its end, is yours.
   Zero-initialise it unless its first use is an acquire. */
typedef struct redlock_lock {
  rl_link link;                /* private, up to status */
  uint8_t phase, task, granted, kept, reserved, urgent;
  int8_t last;                 /* the status of the last finished attempt */
#ifndef REDLOCK_NO_FENCING
  uint8_t again;               /* rounds of this attempt after its first (R25) */
#endif
  uint8_t adopts;              /* its SET replaces the value that ends `resource` (R28) */
  uint8_t alarm;               /* whether its attempts ask to be told, and its rests rely on that */
  rl_set touched;              /* servers that may hold this attempt's value */
  rl_set news;                 /* servers that told of a change since their vote (R26) */
  rl_set known;                /* the news when the round began: a yes there is no surprise */
  redlock_status status;       /* of the last operation */
  redlock_operation operation; /* the last one, or the one that is pending */
  redlock_vote votes[REDLOCK_MAX_SERVERS]; /* of its last round */
#ifndef REDLOCK_NO_FENCING
  uint64_t token;              /* greater than that of every earlier grant of this resource (R25);
                                  0 = none. Hand it to what you write to, and let that check it */
#endif
  char value[20];              /* what a held lock's keys begin with (R3), any bytes. A SECRET: who
                                  knows it can take the lock over, by redlock_adopt */
  uint16_t resource_size;      /* private, up to user */
  struct rl_command *command; /* the round's, in the log */
  uint32_t ask_ms;     /* the ttl that this round asks for */
  uint32_t ttl_ms;     /* the longest asked for: no value of ours outlives it on a server */
  uint32_t max_hold_ms; /* until the grant: when it began to wait, its last 32 bits */
  uint32_t attempts;
  uint32_t hash;       /* of the resource */
  uint32_t told_ms;    /* when it was first told, the last 32 bits; 0 = never (R26) */
  uint32_t ahead_ms;   /* the greatest that this attempt was told */
  uint32_t failed_ms;  /* when the last attempt failed, its last 32 bits */
  int64_t t1_ms;       /* when this round's command was encoded (R1); at rest: less its end */
  int64_t deadline_ms; /* the validity's end; 0 = not held (R22) */
  int64_t due_ms;      /* when there is next something to do by the clock */
  int64_t since_ms;    /* T1 of the grant (R20); until then: no attempt starts after this (R9) */
  char age[3];                 /* behind the value, of one who has been told */
  char resource[REDLOCK_MAX_RESOURCE];
  void *user;                  /* never read or written by the library */
} redlock_lock;

typedef struct redlock redlock; /* the client; its members stand at the end, and are private */

/* Prepares a client; does not connect. servers: a list, separated by commas or white space, of
   host[:port], [v6]:port, redis://[user[:password]@]host[:port][/db], rediss:// for the same over
   options.tls, and unix:/path; port 6379 by default. It is not copied, since it may be of any
   length: it must outlive the client, which a string that a function returned does not. Looks names
   up, which may block; a name that is not found makes its server unreachable. A user needs a
   password, in the list or in the options. options may be NULL. Returns OK, INVALID
   (redlock_server_error says which entry and why), or SYSTEM if the clock fails. */
#define redlock_init(rl, servers, options) \
  redlock_init_sized(rl, servers, options, sizeof(redlock), sizeof(redlock_lock))
REDLOCK_API redlock_status redlock_init_sized(redlock *rl, const char *servers,
                                              const redlock_options *options, size_t client_size,
                                              size_t lock_size);

/* Looks the names up again, which may block; reconnects to a server whose address has changed.
   INVALID if two entries turn out to be one address. With your own io: does nothing, OK. */
REDLOCK_API redlock_status redlock_resolve(redlock *rl);

/* Cancels what is pending and closes. A lock that is held is NOT released, kept or not: release it
   first, or its ttl will. Before that, roll-backs and releases have up to one server_timeout_ms to
   leave on open connections (unless the log has no room for them), everything else at most 50 ms.
   In a forked child it only closes descriptors (R17). */
REDLOCK_API void redlock_close(redlock *rl);

/* Takes the lock `resource` (1 to REDLOCK_MAX_RESOURCE bytes; copied) for ttl_ms (R1 to R9).
   wait_ms: 0 = one attempt, REDLOCK_FOREVER = never give up, else keep trying for that long; the
   call takes at most one server_timeout_ms more. Redis 6 and later tell a waiting client when the
   lock may be free (R26); without that it polls. Returns OK, TAKEN, NO_QUORUM, EXPIRED (the quorum
   came too late), INVALID or SYSTEM. *lock need not be initialised; unless the result is INVALID,
   everything in it except `user` is overwritten. */
REDLOCK_API redlock_status redlock_acquire(redlock *rl, redlock_lock *lock, const char *resource,
                                           uint32_t ttl_ms, uint32_t wait_ms);

/* Takes a held lock over from another client, of any process, host or boot (R28). The giver passes
   its lock.value on and stops: it forgets the lock (first redlock_cancel, if it is kept). This
   is one attempt to acquire, but a server grants it only if that value is still there, and puts
   a fresh one in its place. So of all who try one at most succeeds, and once, and whatever the
   giver still sends finds nothing. OK: the lock has a new value, and a new token; max_hold_ms
   counts anew. TAKEN: it is not held under that value any more. After NO_QUORUM, EXPIRED or a
   cancel it may be lost, for what the attempt took is released: try again. Even an attempt that
   fails can end what a giver that has not stopped relies on. resource: at most
   REDLOCK_MAX_RESOURCE - 20 bytes. */
REDLOCK_API redlock_status redlock_adopt(redlock *rl, redlock_lock *lock, const char *resource,
                                         uint32_t ttl_ms, const char value[20]);

/* Extends a held lock to ttl_ms from now; never shortens it (R18). NO_QUORUM changes nothing: try
   again until redlock_remaining_ms is 0 (R19). EXPIRED: the lock is lost. LIMIT: max_hold_ms is
   reached. */
REDLOCK_API redlock_status redlock_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms);

/* Deletes the value on every server where it is still ours (R21). Whatever this returns, the lock
   is no longer held from the call on. EXPIRED: it was no longer ours. NO_QUORUM: too few servers
   answered; on the others its ttl frees the lock. */
REDLOCK_API redlock_status redlock_release(redlock *rl, redlock_lock *lock);

/* The same without blocking: redlock_step does the rest. PENDING on success; any other status
   changes nothing, except that after SYSTEM from an acquire the lock is not held, and that
   releasing a lock before its grant cancels it (CANCELLED). wait_ms of start_acquire counts from
   the call, but the first attempt is always made, however long it waits for room in the log
   (R11). */
REDLOCK_API redlock_status redlock_start_acquire(redlock *rl, redlock_lock *lock,
                                                 const char *resource, uint32_t ttl_ms,
                                                 uint32_t wait_ms);
REDLOCK_API redlock_status redlock_start_adopt(redlock *rl, redlock_lock *lock,
                                               const char *resource, uint32_t ttl_ms,
                                               const char value[20]);
REDLOCK_API redlock_status redlock_start_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms);
REDLOCK_API redlock_status redlock_start_release(redlock *rl, redlock_lock *lock);

/* Takes the lock out of the client at once; it will not be handed back. A pending acquire, or a
   grant that was not handed back yet, is rolled back. After a pending extension or a keep, the lock
   is still held. A pending release goes on unattended, or is dropped if it is still waiting for
   room in the log. Returns OK, or INVALID if nothing was pending. */
REDLOCK_API redlock_status redlock_cancel(redlock *rl, redlock_lock *lock);

/* Does what is due. Returns a lock that has just been decided, or NULL; each decision is returned
   exactly once. Call it until it returns NULL. */
REDLOCK_API redlock_lock *redlock_step(redlock *rl);

/* The same for a loop that knows which servers are ready: one bit for each (0 = none, else
   1u << redlock_fd.server). It saves a useless recv on the others. Bits passed while locks are
   still being handed back are kept for later. */
REDLOCK_API redlock_lock *redlock_step_on(redlock *rl, uint32_t ready);

/* Waits for the network or the clock, at most timeout_ms (-1 = no limit), then steps. Also returns
   NULL if nothing is pending at all. */
REDLOCK_API redlock_lock *redlock_wait(redlock *rl, int64_t timeout_ms);

/* Milliseconds until redlock_step has something to do by the clock; 0 = now, -1 = never. */
REDLOCK_API int64_t redlock_timeout_ms(const redlock *rl);

/* What to poll for: fills up to capacity entries and returns how many there are. */
REDLOCK_API int redlock_fds(const redlock *rl, redlock_fd *fds, int capacity);

/* Keeps a held lock: redlock_step extends it at half of its validity, until it is released,
   cancelled or lost. A lost one is handed back with the operation REDLOCK_LOST. max_hold_ms counts
   from the grant; 0 = that of the options (R20). Returns OK, EXPIRED, SYSTEM or INVALID (also while
   an extension is under way). */
REDLOCK_API redlock_status redlock_keep(redlock *rl, redlock_lock *lock, uint32_t max_hold_ms);

/* How long the lock is still ours, in ms; 0 = not held (R22). */
REDLOCK_API int64_t redlock_remaining_ms(const redlock *rl, const redlock_lock *lock);

/* A short text for a status; never NULL. */
REDLOCK_API const char *redlock_strerror(redlock_status status);

/* The last error of a server, in its own words if it sent any (R15; ERRORS above says what to do
   about each); "" = none, NULL = no such server. Server -1 is this side: why a call was INVALID, or
   which of clock, entropy or waiting failed, last. Valid until the next call with this client. */
REDLOCK_API const char *redlock_server_error(const redlock *rl, int server);

/* What the client knows of a server by now; nothing is asked of it. */
typedef struct redlock_server_info {
  int connected;           /* 1 = it has answered the whole handshake, and the connection stands */
  int tracking;            /* 1 = it tells waiters when to try again (R26) */
  int64_t quarantine_ms;   /* until its votes count; 0 = they do, or it is not known (R24) */
  int64_t clock_offset_us; /* its clock less the quorum-th slowest one, by which tokens are chosen:
                              a quarter of max_ttl_ms is too far (R25); 0 = also not known */
} redlock_server_info;

/* Fills *info; INVALID if there is no such server. */
REDLOCK_API redlock_status redlock_server_status(const redlock *rl, int server,
                                                 redlock_server_info *info);

/* ---- Private: what clients are made of ------------------------------------------------------- */

/* private: an address as IPv6 (::ffff:a.b.c.d for IPv4), so that each has one spelling; all zero =
   none */
typedef struct rl_address {
  unsigned char ip[16];
  uint32_t scope;
  uint32_t port;       /* in the network's order */
} rl_address;

enum { RL_ADDRESSES = 2 }; /* private: of a name, tried in turn */

/* private: a number in a reply */
#ifdef REDLOCK_NO_FENCING
typedef uint32_t rl_integer;
#define RL_LOW_HALF(number) (number)
#else
typedef uint64_t rl_integer;
#define RL_LOW_HALF(number) RL_AS(uint32_t, number)
#endif

/* private: one command of the log, from T1 until it is retired; its bytes are made as they leave */
typedef struct rl_command {
  int64_t t1_ms;
#ifndef REDLOCK_NO_FENCING
  uint64_t token;     /* the proposal; 0 = none, it asks for the clock (R25) */
#endif
  redlock_lock *lock; /* who waits for the votes; NULL = decided */
  uint32_t ttl_ms;
  uint16_t size;      /* bytes on the wire */
  uint16_t words_size;
  rl_set due;         /* servers still to be sent it: no byte of it has left for them */
  rl_set owed;        /* servers that got it and owe the reply on the connection they have */
  uint8_t kind;
  uint8_t form;       /* of a SET */
  uint8_t aged;       /* bytes behind the value's own (R26) */
  char words[REDLOCK_MAX_RESOURCE + 39]; /* resource and value, as they go on the wire; then what
                                            the SET replaces (R28) */
} rl_command;

/* private: where the reply parser stands */
typedef struct rl_parser {
  uint8_t state, negative;
  uint8_t type;        /* what it begins with */
  uint8_t whole;       /* the same of the aggregate */
  uint32_t count;      /* bytes of the line; of a bulk, those to come */
  uint32_t hash;       /* of a text or a bulk; of an error, its first byte */
  uint32_t more;       /* of an aggregate: elements to come; 0 = there is none */
  rl_integer number;
} rl_parser;

/* private: one server, as a small machine:

     closed, until until_ms -> connecting, no byte has left -> greeting -> greeted -> ready

   Greeted: all of the handshake has left. When all of it has succeeded the server is ready; at once
   if it is R26's two alone. Any failure makes it closed again.
   What else is remembered, who sets it, and who clears it:

     greeting  replies of the handshake to come   its first byte          each of them; closing
     stalled   the marked reply is overdue (R13)  the clock               nothing is owed; closing
     full      not all of the last bytes left;    each send               each send; none is due;
               RL_BROKEN: nor ever will                                   closing
     wary      the last handshake was refused     the refusal             the next good reply
     told      `error` is the server's own words  each byte of an error   opening; a good reply
     second    which of two addresses is in use   a connection that never stood; redlock_resolve
     wakes     2 = it tells what changes (R26)    HELLO, CLIENT TRACKING      closing

   Small members come first in these structs: it makes the code smaller. */
typedef struct rl_server {
  rl_set bit;          /* stands for this server in a set of them */
  uint8_t index;       /* in the list */
  uint8_t state, fails;
  uint8_t layered;     /* it is reached through options.tls */
  uint8_t greeting, stalled, full, wary, told, second, wakes; /* see above */
  rl_parser parser;
  uint32_t sent;       /* bytes of the handshake, or of the cursor's command, that have left */
  const char *entry;   /* where its text in the list begins */
  uint32_t generation;
  uint32_t cursor;     /* the next command to send */
  uint32_t answered;   /* no command before this one is owed */
  uint32_t owed;       /* replies to come on this connection */
  uint32_t late;       /* the first of them: to commands that have left the log */
  uint32_t mark;       /* replies until the marked command's own */
  uint32_t run_id;     /* its first digits; 0 = not seen */
  uint32_t next_run_id;
  intptr_t fd;         /* -1 = closed */
  int64_t until_ms;    /* closed: not reopened before; else, if it is stalled: not kept after */
  int64_t mark_ms;     /* when the marked command was sent; nothing owed: when last heard of */
  int64_t born_ms;     /* our time of its start, never too early (R24) */
#ifndef REDLOCK_NO_FENCING
  uint64_t ahead_us;   /* its wall clock less our clock + RL_EVEN_US; 0 = not known (R25) */
#endif
  char error[REDLOCK_MAX_ERROR];
#if !defined(REDLOCK_NO_POSIX) && !defined(REDLOCK_NO_DNS)
  rl_address address[RL_ADDRESSES];
#endif
} rl_server;

/* private: the client */
struct redlock {
  uint8_t servers;    /* RL_MISBUILT stands here whatever the sizes are set to */
  uint8_t quorum;
  uint8_t fresh;      /* something was queued or encoded since the last sending */
  rl_set ready;       /* servers to hear in the next turn: of others there is no news */
  rl_server *last;    /* what follows the last server */
  rl_command *log;    /* where the commands are; in a client that was moved, another's */
  uint32_t first, end;    /* the log: its oldest command, and what follows the last */
  uint32_t reserved;      /* commands, for roll-backs (R7) */
  const redlock_io *io;
  void *ctx;
  int64_t now_ms;     /* the last good reading of the clock */
  int64_t due_ms;     /* until then no lock and no server has anything to do by the clock */
  rl_link line;       /* locks that wait for room in the log (R11), the urgent ones first */
  rl_link *urgent;    /* the last urgent one's place in the line; none: the line itself */
  rl_link live;       /* locks with a round under way, resting between attempts, or kept */
  rl_link decided;    /* locks to hand back */
  const char *failed; /* what did on our side, last: a call, clock, entropy, wait; NULL = nothing */
  const redlock_lock *handed; /* the last handed back, if it is in no list since: saves a search */
#ifndef REDLOCK_NO_FENCING
  uint64_t token;     /* the last one that was proposed, or refused one (R25) */
#endif
  redlock_options options;
  long process;       /* who called init (R17) */
  rl_server server[REDLOCK_MAX_SERVERS];
  rl_command commands[REDLOCK_MAX_COMMANDS];
};

#endif /* REDLOCK_H */

/* ============================================================================================== */
#if defined(REDLOCK_IMPLEMENTATION) && !defined(REDLOCK_IMPLEMENTED)
#define REDLOCK_IMPLEMENTED

#include <string.h>

#if defined(__has_include) && !defined(_WIN32) && !defined(REDLOCK_NO_POSIX)
#if !__has_include(<sys/socket.h>)
#error "redlock.h: no sockets here: define REDLOCK_NO_POSIX and give options.io"
#define RL_UNFIT /* to be compiled: one error is enough */
#endif
#endif

#if defined(_WIN32) && !defined(REDLOCK_NO_POSIX)
#include <winsock2.h>
#include <ws2tcpip.h>
#include <afunix.h>
#include <bcrypt.h>
#elif !defined(REDLOCK_NO_POSIX) && !defined(RL_UNFIT)
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef REDLOCK_NO_DNS
#include <arpa/inet.h>
#else
#include <netdb.h>
#endif
#ifdef __has_include /* what old and small systems lack */
#if !__has_include(<poll.h>)
#define RL_SYS_POLL
#endif
#if !__has_include(<sys/random.h>)
#define RL_DEV_URANDOM
#endif
#endif
#if !defined(__linux__) && !defined(ESP_PLATFORM)
#define RL_DEV_URANDOM
#elif defined(__ANDROID_API__) && __ANDROID_API__ < 28
#define RL_DEV_URANDOM
#endif
#ifdef RL_SYS_POLL
#include <sys/poll.h>
#else
#include <poll.h>
#endif
#ifndef RL_DEV_URANDOM
#include <sys/random.h>
#endif
#if !defined(CLOCK_MONOTONIC) || !(defined(AI_PASSIVE) || defined(REDLOCK_NO_DNS))
#error "redlock.h: POSIX names are hidden; compile with -D_POSIX_C_SOURCE=200809L or -std=gnu99"
#define RL_UNFIT
#endif
#if defined(SO_NOSIGPIPE)
#define RL_NO_SIGPIPE SO_NOSIGPIPE
#elif defined(__APPLE__)
#define RL_NO_SIGPIPE 0x1022 /* its name is hidden with _POSIX_C_SOURCE */
#elif !defined(MSG_NOSIGNAL)
#error "redlock.h: no MSG_NOSIGNAL and no SO_NOSIGPIPE: a lost connection would end the process"
#define RL_UNFIT
#endif
#endif

#ifndef RL_UNFIT

#ifndef REDLOCK_ASSERT
#define REDLOCK_ASSERT(truth) ((void)0)
#endif

#ifdef __cplusplus
#define RL_AS(type, value) static_cast<type>(value)
#else
#define RL_AS(type, value) ((type)(value))
#endif
#ifdef __GNUC__
#define RL_APART __attribute__((noinline)) /* its buffer leaves the stack when it returns */
#else
#define RL_APART
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define RL_NULL nullptr
#else
#define RL_NULL NULL
#endif

/* ---- Configuration, checked ------------------------------------------------------------------ */

/* Code that is left out is never reached, so the compiler drops it. */
#ifdef REDLOCK_NO_TEXTS
#define RL_HAS_TEXTS 0
#else
#define RL_HAS_TEXTS 1
#endif
#ifdef REDLOCK_NO_URL
#define RL_HAS_URL 0
#else
#define RL_HAS_URL 1
#endif
#if defined(REDLOCK_NO_URL) || defined(REDLOCK_NO_POSIX)
#define RL_HAS_LAYER 0
#else
#define RL_HAS_LAYER 1
#endif
#ifdef REDLOCK_NO_QUARANTINE
#define RL_MAX_TTL(rl) 0u
#else
#define RL_MAX_TTL(rl) ((rl)->options.max_ttl_ms)
#endif

/* The script that releases, or extends if it is given a ttl. Given a third word, it sets: where
   there is nothing, if that is how its own value begins; else in the place of a value that
   begins so (R28). Since it has read the key in the same instant, the server tells once when
   that changes (R26). Another value there: the age behind it, a string; nothing there: nil.
   Servers remember what read-only commands read. GETEX is none, so that whoever never waits
   costs them no memory; but not all know or allow it, and behind it Redis 7 does not ask
   whether there is memory to set anything. pcall and the returned table keep a server's own
   error word before 7.0 too; what only a missing right refuses is called. */
#define RL_SCRIPT                                                                                  \
  "local c,k,w,t,n=redis.pcall,KEYS[1],unpack(ARGV)local v=not n and c('getex',k)"                 \
  "v=v==w and v or c('get',k)"                                                                     \
  "return v==w and(t and(redis.call('pttl',k)<t+0 and c('pexpire',k,t)or 1)or c('del',k))"         \
  "or v and v.err and v or(v or w):sub(1,20)==n and c('set',k,w,'PX',t)or v and v:sub(21,23)"

/* R24: one number from INFO, or nil from a replica: the first digits of run_id, or the uptime, cut
   to eight digits (then it is too low, which is safe). */
#define RL_INFO_SCRIPT                                                                             \
  "local i=redis.call('info')return i:find('role:master')and "                                     \
  "tonumber(i:match(ARGV[1]..':(%-?%w+)'):sub(1,8),ARGV[2])"

#ifdef REDLOCK_NO_FENCING
#define RL_FENCING(rl) 0
#else
#define RL_FENCING(rl) ((rl)->options.fencing)

/* R25: sets the lock, as above, if the token fits: it is above the server's clock and the last
   token, and at most half of max_ttl_ms ahead. The counter is written first, so that no lock stands
   without it. A string, nil: taken, as above. Below zero: less the clock, which the token does not
   fit. At least the token: the counter, which refused it. Else the clock, and the lock is set. */
#define RL_FENCED_SCRIPT                                                                           \
  "local c,k,w,l,n,p,m,t,f=redis.pcall,KEYS[1],unpack(ARGV)local v=c('get',k)"                     \
  "if v and v.err then return v end if(v or w):sub(1,20)~=n then return v and v:sub(21,23)end "    \
  "t=redis.call('time')t=t[1]*1e6+t[2]"                                                            \
  "if p-t<=0 or p-t>m*500 then return-t end f=k..':fence'v=c('get',f)"                             \
  "if v and(v.err or v-p>=0)then return v.err and v or v+0 end "                                   \
  "v=c('set',f,p,'PX',m)if v.err then return v end "                                               \
  "v=c('set',k,w,'PX',l)return v.err and v or t"
#define RL_FENCED_HEAD "*9\r\n$4\r\nEVAL\r\n$418\r\n" RL_FENCED_SCRIPT "\r\n$1\r\n1\r\n"
typedef char rl_check_fenced[sizeof(RL_FENCED_SCRIPT) == 418 + 1 ? 1 : -1];
#endif

/* How the commands begin in RESP: the part that never varies. */
#define RL_SET_HEAD "*6\r\n$3\r\nSET\r\n"
#define RL_EVAL_HEAD "\r\n$4\r\nEVAL\r\n$279\r\n" RL_SCRIPT "\r\n$1\r\n1\r\n"
#define RL_INFO_HEAD "*5\r\n$4\r\nEVAL\r\n$114\r\n" RL_INFO_SCRIPT "\r\n$1\r\n0\r\n"

/* R2: NuttX counts ticks, of 10 ms by default, unless a timer of the chip is its clock. */
#if defined(CONFIG_USEC_PER_TICK) && !defined(CONFIG_SCHED_TICKLESS) && \
    !defined(CONFIG_TIMER_ARCH) && !defined(CONFIG_ALARM_ARCH)
#define RL_CLOCK_STEP_MS (CONFIG_USEC_PER_TICK / 1000 + 1)
#else
#define RL_CLOCK_STEP_MS 1
#endif

enum {
  RL_MISBUILT = 255,        /* as a number of servers */
  RL_VALUE_BYTES = 20,
  RL_OLD_AT = REDLOCK_MAX_RESOURCE < 20 ? 0 : REDLOCK_MAX_RESOURCE - 20, /* in lock.resource */
  RL_HOST_BYTES = 256,      /* a host's name or a socket's path, with its end */
  RL_GREETING_BYTES = 128,  /* of the handshake that are sent at once */
#ifdef REDLOCK_NO_POSIX
  RL_WINDOW_BYTES = REDLOCK_MAX_COMMANDS < 32 ? 256 : 512, /* sent at once; on the stack */
#else
  RL_WINDOW_BYTES = REDLOCK_MAX_COMMANDS < 32 ? 2048 :
                    REDLOCK_MAX_COMMANDS < 512 ? 64 * REDLOCK_MAX_COMMANDS : 32768,
#endif
  RL_SECOND_ROUNDS = 2,     /* of one attempt, at most (R25) */
  RL_DOZE_MS = 1000,        /* to twice as long, where the servers tell when to try again */
  RL_SPARE = 2,             /* commands of the log that only what is urgent may take */
  RL_RECEIVE_BYTES = REDLOCK_MAX_COMMANDS < 32 ? 256 : 512, /* the same */
  RL_RECEIVE_TURNS = 16,    /* so that one talkative server cannot hold a step up */
  RL_SEND_PASSES = 4,       /* a pass may queue roll-backs; more wait for the next step */
  RL_LINE_LIMIT = 4096,     /* Redis sends no longer line */
  RL_SIZE_DIGITS = 5,       /* nor a longer bulk or aggregate: we ask for none */
  RL_BACKOFF_MIN_MS = 16,
  RL_BACKOFF_DOUBLINGS = 6, /* up to about 1 s */
  RL_CONNECT_MS = 2000,     /* a stalled one that never connected is tried again after this */
  RL_CLOSE_MS = 50,         /* redlock_close waits at most this long for answers */
  RL_KEEPALIVE_S = 60,      /* a quiet connection is probed, so that no NAT drops it */
  RL_UPTIME_SLACK_MS = 2000 /* uptime_in_seconds is cut, and so is the start it counts from */
};

typedef char rl_check_servers[REDLOCK_MAX_SERVERS >= 1 && REDLOCK_MAX_SERVERS <= 32 ? 1 : -1];
typedef char rl_check_resource[REDLOCK_MAX_RESOURCE >= 1 && REDLOCK_MAX_RESOURCE <= 4096 ? 1 : -1];
typedef char rl_check_commands[REDLOCK_MAX_COMMANDS >= 4 &&
                               (REDLOCK_MAX_COMMANDS & (REDLOCK_MAX_COMMANDS - 1)) == 0 ? 1 : -1];
typedef char rl_check_scripts[sizeof(RL_SCRIPT) == 279 + 1 &&
                              sizeof(RL_INFO_SCRIPT) == 114 + 1 ? 1 : -1];
typedef char rl_check_error[REDLOCK_MAX_ERROR >= 16 ? 1 : -1];

enum { RL_CLOSED, RL_CONNECTING, RL_GREETING, RL_GREETED, RL_READY }; /* rl_server.state */
enum { RL_BROKEN = 2 };                                         /* rl_server.full */
enum { RL_IDLE, RL_LINE, RL_VOTING, RL_RESTING, RL_KEEPING, RL_DECIDED }; /* redlock_lock.phase */
enum { RL_SET, RL_EXTEND, RL_RELEASE, RL_ABANDON };             /* rl_command.kind, .task */
enum { RL_PLAIN, RL_ARMED, RL_SWAPS };                          /* rl_command.form */
enum { RL_POLLS, RL_ARMS, RL_DOZES, RL_MISTRUSTS };             /* redlock_lock.alarm */

static size_t rl_min(size_t a, size_t b) { return a < b ? a : b; }

static void rl_remove(rl_set *set, rl_set other) { *set = RL_AS(rl_set, *set & ~other); }

static int rl_members(rl_set set) {
  int count = 0;
  for (; set; count++) set = RL_AS(rl_set, set & (set - 1));
  return count;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

typedef struct rl_text {
  const char *at;
  size_t size;
} rl_text;

static rl_text rl_slice(const char *at, size_t size) {
  rl_text t;
  t.at = at;
  t.size = size;
  return t;
}

static rl_text rl_after(rl_text t, size_t size) { return rl_slice(t.at + size, t.size - size); }

/* Where the first of these characters stands in a part of the list, or its size. */
static size_t rl_find(rl_text t, const char *any) { return rl_min(strcspn(t.at, any), t.size); }

static void rl_copy_out(char *to, rl_text t) {
  memcpy(to, t.at, t.size);
  to[t.size] = 0;
}

/* More than 15 if it is not a digit. */
static uint32_t rl_hex(char c) {
  if (c >= '0' && c <= '9') return RL_AS(uint32_t, c - '0');
  c = RL_AS(char, c | 32);
  return c >= 'a' ? RL_AS(uint32_t, c - 'a' + 10) : 16;
}

/* The number in t, or `limit` if there is none or it is too large. */
static uint32_t rl_number(rl_text t, uint32_t limit) {
  uint32_t number = t.size ? 0 : limit;
  size_t i;
  for (i = 0; i < t.size && number < limit; i++)
    number = rl_hex(t.at[i]) < 10 ? number * 10 + rl_hex(t.at[i]) : limit;
  return number < limit ? number : limit;
}

enum { RL_DIGITS = sizeof(rl_integer) > 4 ? 20 : 10 };

/* Takes a number's last digit off it. Without 64-bit division: libgcc's takes 750 bytes. */
static char rl_take_digit(rl_integer *number) {
#ifdef REDLOCK_NO_FENCING
  uint32_t low = *number;
  *number = low / 10;
#else
  uint32_t high = RL_AS(uint32_t, *number >> 32), low = RL_AS(uint32_t, *number), middle = 0;
  if (high) { /* only a token's */
    middle = high % 10 << 16 | low >> 16;
    low = middle % 10 << 16 | (low & 65535);
  }
  *number = RL_AS(uint64_t, high / 10) << 32 | (middle / 10 << 16 | low / 10);
#endif
  return RL_AS(char, '0' + low % 10);
}

/* Decimal digits, at most RL_DIGITS, in front of `at`; returns where they begin. */
static char *rl_format(char *at, rl_integer number) {
  do *--at = rl_take_digit(&number);
  while (number);
  return at;
}

/* ---- RESP: the encoder ----------------------------------------------------------------------- */

/* Writes through a window: drops `skip` bytes, then keeps `room`. So a message can be sent in
   pieces without a buffer: it is simply written again. */
typedef struct rl_writer {
  char *at;
  size_t skip, room;
  size_t total;        /* bytes of the whole message so far */
} rl_writer;

static void rl_put(rl_writer *w, const char *bytes, size_t size) {
  size_t dropped = rl_min(size, w->skip);
  w->total += size;
  w->skip -= dropped;
  size = rl_min(size - dropped, w->room);
  memcpy(w->at, bytes + dropped, size);
  w->at += size;
  w->room -= size;
}

/* What is RESP already. */
static void rl_put_raw(rl_writer *w, const char *text) { rl_put(w, text, strlen(text)); }

/* The head of a word: "$20\r\n" */
static void rl_put_size(rl_writer *w, size_t size) {
  char head[RL_DIGITS + 3];
  char *at = rl_format(head + 1 + RL_DIGITS, RL_AS(uint32_t, size));
  *--at = '$';
  head[RL_DIGITS + 1] = '\r';
  head[RL_DIGITS + 2] = '\n';
  rl_put(w, at, RL_AS(size_t, head + sizeof head - at));
}

/* One word of a command: "$3\r\nSET\r\n" */
static void rl_put_word(rl_writer *w, const char *at, size_t size) {
  rl_put_size(w, size);
  rl_put(w, at, size);
  rl_put(w, "\r\n", 2);
}

static void rl_put_number(rl_writer *w, rl_integer number) {
  char digits[RL_DIGITS];
  const char *at = rl_format(digits + RL_DIGITS, number);
  rl_put_word(w, at, RL_AS(size_t, digits + RL_DIGITS - at));
}

/* A word of a URL, where %XX stands for one byte. */
static void rl_put_encoded(rl_writer *w, const char *at, size_t size) {
  const char *end = at + size, *c;
  for (c = at; c != end; c++)
    if (*c == '%') size -= 2;
  rl_put_size(w, size);
  for (; at != end; at++) {
    char byte = *at;
    if (byte == '%') {
      byte = RL_AS(char, rl_hex(at[1]) * 16 + rl_hex(at[2]));
      at += 2;
    }
    rl_put(w, &byte, 1);
  }
  rl_put(w, "\r\n", 2);
}

#ifdef REDLOCK_NO_FENCING
#define RL_FENCED_HEAD "" /* never used */
static void rl_put_token(rl_writer *w, const redlock *rl, const rl_command *c) {
  (void)w, (void)rl, (void)c;
}
#else

/* What a fenced SET says more than another one by script. */
static void rl_put_token(rl_writer *w, const redlock *rl, const rl_command *c) {
  rl_put_number(w, c->token);
  rl_put_number(w, rl->options.max_ttl_ms);
}

#endif

static void rl_put_command(rl_writer *w, const redlock *rl, const rl_command *c) {
  int sets = c->kind == RL_SET, fenced = sets && RL_FENCING(rl), plain = sets && !c->form;
  size_t back = c->form == RL_SWAPS ? 0u : RL_VALUE_BYTES + 2u + c->aged; /* to what is replaced */
  if (!plain && !fenced) rl_put(w, sets ? "*7" : c->kind == RL_RELEASE ? "*5" : "*6", 2);
  rl_put_raw(w, fenced ? RL_FENCED_HEAD : plain ? RL_SET_HEAD : RL_EVAL_HEAD);
  rl_put(w, c->words, c->words_size);
  if (plain) rl_put_raw(w, "$2\r\nNX\r\n$2\r\nPX\r\n");
  if (c->kind != RL_RELEASE) rl_put_number(w, c->ttl_ms);
  if (sets && !plain) rl_put_word(w, c->words + c->words_size - back, RL_VALUE_BYTES);
  if (fenced) rl_put_token(w, rl, c);
}

/* ---- RESP: the reply parser ------------------------------------------------------------------ */

typedef enum rl_reply {
  RL_MORE,       /* the byte was taken, the reply goes on */
  RL_ERROR_BYTE, /* the same, and it belongs to an error's text */
  RL_BAD,        /* no Redis sends this */
  RL_REPLY_OK,   /* exactly +OK */
  RL_REPLY_NIL,
  RL_REPLY_POSITIVE,
  RL_REPLY_ERROR,
  RL_REPLY_OTHER, /* well formed, but not what we asked for */
  RL_PUSHED       /* no reply: a push; `hash` is that of its last element, 0 = nil */
} rl_reply;

enum { RL_AT_TYPE, RL_AT_LINE, RL_AT_LF, RL_AT_BULK };

/* Of a name, or of a reply's text. Two bytes are never taken for two others; a mistake about names
   costs an attempt. */
static uint32_t rl_hash(uint32_t hash, char c) { return hash * 257 + RL_AS(unsigned char, c); }

/* A number that would not fit loses its last digits: no number that matters is so large. */
static rl_reply rl_parse_line(rl_parser *p, char c) {
  if (c == '\r') {
    p->state = RL_AT_LF;
    return RL_MORE;
  }
  if (c == '\n' || ++p->count > RL_LINE_LIMIT) return RL_BAD;
  if (p->type == '-') {
    if (p->count == 1) p->hash = rl_hash(0, c);
    return RL_ERROR_BYTE;
  }
  if (p->type == '+') {
    p->hash = rl_hash(p->hash, c);
  } else if (c == '-' && p->count == 1) {
    p->negative = 1;
  } else {
    if (c < '0' || c > '9') return RL_BAD;
    if (p->count < RL_DIGITS) p->number = p->number * 10 + RL_AS(uint32_t, c - '0');
  }
  return RL_MORE;
}

/* What follows the bytes of a bulk is an empty line, like that of a nil, but "negative". */
static rl_reply rl_parse_line_end(rl_parser *p) {
  uint32_t number = RL_LOW_HALF(p->number);
  p->state = RL_AT_TYPE;
  if (p->type == '-') return RL_REPLY_ERROR;
  if (p->type == '+')
    return p->count == 2 && p->hash == 'O' * 257 + 'K' ? RL_REPLY_OK : RL_REPLY_OTHER;
  if (p->type == '_') return p->count ? RL_BAD : p->negative ? RL_REPLY_OTHER : RL_REPLY_NIL;
  if (p->count == p->negative) return RL_BAD;
  if (p->type == ':') return p->negative || !p->number ? RL_REPLY_OTHER : RL_REPLY_POSITIVE;
  if (p->count > RL_SIZE_DIGITS) return RL_BAD;
  if (p->negative) return number == 1 && p->type == '$' ? RL_REPLY_NIL : RL_BAD;
  if (p->type == '$') {
    p->type = '_';
    p->negative = 1;
    p->count = number;
    p->state = number ? RL_AT_BULK : RL_AT_LINE;
    return RL_MORE;
  }
  if (p->type == '%') number *= 2;
  else if (p->type != '*' && p->type != '>') return RL_BAD;
  p->more += number + (p->more == 0);
  return RL_REPLY_OTHER;
}

/* Takes one byte. RL_REPLY_OK and all after it mean a whole reply, or an element. */
static rl_reply rl_parse_byte(rl_parser *p, char c) {
  switch (p->state) {
    case RL_AT_TYPE:
      p->number = p->count = p->negative = 0;
      p->hash = 0;
      p->type = RL_AS(uint8_t, c);
      if (p->more == 0) p->whole = p->type;
      p->state = RL_AT_LINE;
      return RL_MORE;
    case RL_AT_LINE: return rl_parse_line(p, c);
    case RL_AT_LF: return c == '\n' ? rl_parse_line_end(p) : RL_BAD;
    default:
      p->hash = rl_hash(p->hash, c);
      if (--p->count == 0) p->state = RL_AT_LINE;
      return RL_MORE;
  }
}

/* The same, but of an aggregate (RESP3) only the end is told. */
static rl_reply rl_parse(rl_parser *p, char c) {
  rl_reply reply = rl_parse_byte(p, c);
  if (p->more == 0 || reply == RL_BAD) return reply;
  if (reply < RL_REPLY_OK || --p->more) return RL_MORE;
  return p->whole == '>' ? RL_PUSHED : RL_REPLY_OTHER;
}

/* ---- The list of servers --------------------------------------------------------------------- */

typedef struct rl_target {
  rl_text host;
  rl_text user, password; /* as in the URL, encoded */
  uint32_t port, database;
  uint8_t tls;
} rl_target;

static int rl_is_encoded_well(rl_text t) {
  size_t i;
  for (i = 0; i < t.size; i++) /* behind it stands another character of the list */
    if (t.at[i] == '%' && (rl_hex(t.at[i + 1]) > 15 || rl_hex(t.at[i + 2]) > 15)) return 0;
  return 1;
}

/* user[:password] of a URL */
static int rl_parse_secret(rl_text t, rl_target *out) {
  size_t colon = rl_find(t, ":");
  out->user = rl_slice(t.at, colon);
  if (colon < t.size) out->password = rl_after(t, colon + 1);
  return rl_is_encoded_well(t);
}

/* host[:port] or [v6][:port] */
static int rl_parse_host(rl_text t, rl_target *out) {
  int v6 = *t.at == '[';
  size_t end;
  if (v6) t = rl_after(t, 1);
  end = rl_find(t, v6 ? "]" : ":");
  out->host = rl_slice(t.at, end);
  if (end == 0 || end >= RL_HOST_BYTES || (v6 && end == t.size)) return 0;
  if (rl_find(out->host, "/@?#;") < end) return 0; /* in no host's name */
  t = rl_after(t, end + RL_AS(size_t, v6));
  if (t.size == 0) return 1;
  out->port = rl_number(rl_after(t, 1), 65536) % 65536;
  return *t.at == ':' && out->port;
}

static int rl_parse_url(rl_text t, rl_target *out) {
  size_t slash = rl_find(t, "/"), at = slash;
  if (slash + 1 < t.size) out->database = rl_number(rl_after(t, slash + 1), 1000000);
  if (out->database == 1000000) return 0;
  t.size = slash;
  while (at > 0 && t.at[at - 1] != '@') at--;
  if (at > 0 && !rl_parse_secret(rl_slice(t.at, at - 1), out)) return 0;
  return rl_parse_host(rl_after(t, at), out);
}

#define RL_BETWEEN ", \t\r\n" /* the entries of the list */

/* The entry of the list that begins there. */
static rl_text rl_entry(const char *at) { return rl_slice(at, strcspn(at, RL_BETWEEN)); }

/* One entry of the list; 0 = malformed. */
static int rl_parse_target(const char *entry, rl_target *out) {
  rl_text t = rl_entry(entry);
  memset(out, 0, sizeof *out);
  out->host = rl_slice("", 0);
  out->port = 6379;
  out->tls = RL_HAS_URL && strncmp(entry, "rediss://", 9) == 0;
  if (RL_HAS_URL && (out->tls || strncmp(entry, "redis://", 8) == 0))
    return rl_parse_url(rl_after(t, 8u + out->tls), out);
  if (strncmp(entry, "unix:", 5) != 0) return rl_parse_host(t, out);
  out->host = rl_after(t, 5);
  out->port = 0;
  return *out->host.at == '/' && out->host.size < RL_HOST_BYTES;
}

/* Where a server is. The entry was found good by init. */
static void rl_copy_target(const rl_server *s, char host[RL_HOST_BYTES], char port[6]) {
  char digits[RL_DIGITS];
  rl_target t;
  (void)rl_parse_target(s->entry, &t);
  rl_copy_out(host, t.host);
  *port = 0;
  if (t.port) {
    const char *at = rl_format(digits + RL_DIGITS, t.port);
    rl_copy_out(port, rl_slice(at, RL_AS(size_t, digits + RL_DIGITS - at)));
  }
}

static int rl_is_same_text(rl_text a, rl_text b) {
  int letter = *a.at == '/' ? 0 : 'a' - 'A'; /* a path has case, a host's name has none */
  size_t i = 0;
  if (a.size != b.size) return 0;
  while (i < a.size && (a.at[i] | letter) == (b.at[i] | letter)) i++;
  return i == a.size;
}

/* R5. Another user or database does not make another server. */
static int rl_is_twin(const rl_target *t, const rl_server *other) {
  rl_target o;
  (void)rl_parse_target(other->entry, &o);
  return rl_is_same_text(t->host, o.host) && t->port == o.port;
}

/* ---- The client's lists and clock ------------------------------------------------------------ */

static const char rl_no_clock[] = "our clock failed";
static const char rl_no_entropy[] = "our entropy failed";
static const char rl_no_wait[] = "our waiting failed";

static void rl_blame(redlock *rl, const char *what) {
  if (RL_HAS_TEXTS) rl->failed = what;
}

/* A reading so great that adding to it could overflow counts as a failure too. */
static int64_t rl_now(const redlock *rl) {
  const redlock_options *o = &rl->options;
  int64_t now = o->now_ms ? o->now_ms(o->ctx) : rl->io->now_ms(rl->ctx);
  return now >= INT64_MAX / 2 ? -1 : now;
}

/* Reads the clock for all that follows in this turn; 0 = it failed, and the old reading stays. */
static int rl_tick(redlock *rl) {
  int64_t now = rl_now(rl);
  if (now >= 0) rl->now_ms = now;
  else rl_blame(rl, rl_no_clock);
  return now >= 0;
}

/* Remembers that something is due then; rl_on_time finds out what. */
static void rl_note_due(redlock *rl, int64_t due_ms) {
  if (due_ms < rl->due_ms) rl->due_ms = due_ms;
}

/* 0 = there is none. */
static int rl_draw(redlock *rl, void *data, size_t size) {
  const redlock_options *o = &rl->options;
  int bad = o->entropy ? o->entropy(o->ctx, data, size) : rl->io->entropy(rl->ctx, data, size);
  if (bad) rl_blame(rl, rl_no_entropy);
  return !bad;
}

/* Uniform in 0..span without a generator of our own (R3, R9); < 0 = no entropy. */
static int64_t rl_random(redlock *rl, uint32_t span) {
  uint32_t r;
  if (!rl_draw(rl, &r, sizeof r)) return -1;
  return RL_AS(int64_t, (r * (RL_AS(uint64_t, span) + 1)) >> 32);
}

/* R1: how long a ttl is valid, counted from T1: minus ceil(ttl * ppm / 1e6) + 2 for drift, and
   minus 1 because clocks are read in whole milliseconds, or what they count in (R2). */
static int64_t rl_validity_ms(const redlock *rl, uint32_t ttl_ms) {
  uint32_t ppm = rl->options.drift_ppm, rest = ttl_ms % 1000000; /* 32 bits hold every step */
  uint32_t drift = (rest % 1000 * ppm + 999) / 1000;
  drift = ttl_ms / 1000000 * ppm + (rest / 1000 * ppm + drift + 999) / 1000;
  return RL_AS(int64_t, ttl_ms) - drift - 2 - RL_CLOCK_STEP_MS;
}

static void rl_unlink(redlock *rl, redlock_lock *lock) {
  if (rl->urgent == &lock->link) rl->urgent = lock->link.prev;
  lock->link.next->prev = lock->link.prev;
  lock->link.prev->next = lock->link.next;
  lock->phase = RL_IDLE;
}

/* To the end of the list where locks of that phase stand. In the line, those that are urgent go
   before the others: a blocking call waits for them, or they are kept. Of those that are live,
   waiters for news come first, so that news need not look further (R26). */
static void rl_move(redlock *rl, redlock_lock *lock, uint8_t phase) {
  rl_link *list = phase == RL_LINE ? &rl->line : phase == RL_DECIDED ? &rl->decided : &rl->live;
  rl_link *after;
  if (lock->phase != RL_IDLE) rl_unlink(rl, lock);
  if (rl->handed == lock) rl->handed = RL_NULL;
  after = list == &rl->live && lock->alarm ? list : list->prev;
  if (phase == RL_LINE && lock->urgent) {
    after = rl->urgent;
    rl->urgent = &lock->link;
  }
  lock->phase = phase;
  lock->link.prev = after;
  lock->link.next = after->next;
  after->next->prev = &lock->link;
  after->next = &lock->link;
}

static int rl_is_empty(const rl_link *list) { return list->next == list; }

/* The first lock of a list, NULL = none. The link is a lock's first member. */
static redlock_lock *rl_first(const rl_link *list) {
  return rl_is_empty(list) ? RL_NULL : RL_AS(redlock_lock *, RL_AS(void *, list->next));
}

/* The next one of the same list, NULL = none. */
static redlock_lock *rl_next(const rl_link *list, const redlock_lock *lock) {
  return lock->link.next == list ? RL_NULL : RL_AS(redlock_lock *, RL_AS(void *, lock->link.next));
}

/* A lock that is not decided yet, NULL = none. First those with a command in the log. */
static redlock_lock *rl_undecided(const redlock *rl) {
  return rl_first(rl_is_empty(&rl->live) ? &rl->line : &rl->live);
}

/* The lock itself is not read: it may be anything. */
static int rl_is_in(const rl_link *list, const redlock_lock *lock) {
  const rl_link *link = list->next;
  while (link != list && link != &lock->link) link = link->next;
  return link != list;
}

static int rl_owns(const redlock *rl, const redlock_lock *lock) {
  return rl_is_in(&rl->live, lock) || rl_is_in(&rl->line, lock) || rl_is_in(&rl->decided, lock);
}

/* Whether this is a client and still where it was initialised: a copy would share its sockets, and
   its lists would point into the original. */
static int rl_is_client(const redlock *rl) {
  return rl && rl->servers != RL_MISBUILT && rl->log == rl->commands;
}

/* ---- Fencing tokens (R25) -------------------------------------------------------------------- */

#ifdef REDLOCK_NO_FENCING

static void rl_set_token(redlock *rl, rl_command *c) { (void)rl, (void)c; }

static redlock_vote rl_fenced_vote(redlock *rl, rl_server *s, const rl_command *c) {
  return (void)rl, (void)s, (void)c, REDLOCK_VOTE_ERROR;
}

static int rl_is_far(const rl_command *c, redlock_vote vote) { return (void)c, (void)vote, 0; }

static int rl_is_low(redlock_vote vote) { return (void)vote, 0; }

static int rl_is_refused(redlock_vote vote) { return (void)vote, 0; }

static void rl_give_token(redlock_lock *lock, const rl_command *c) { (void)lock, (void)c; }

static int rl_is_second(const redlock_lock *lock) { return (void)lock, 0; }

static int rl_asks_again(const redlock *rl, redlock_lock *lock) { return (void)rl, (void)lock, 0; }

static void rl_end_attempt(redlock_lock *lock) { (void)lock; }

static int64_t rl_offset_us(const redlock *rl, const rl_server *s) { return (void)rl, (void)s, 0; }

#else

/* An ahead_us that says that its clock shows what ours does: one that shows less is no wild one. */
#define RL_EVEN_US (UINT64_C(1) << 63)

static uint64_t rl_now_us(const redlock *rl) { return RL_AS(uint64_t, rl->now_ms) * 1000; }

/* A quarter of max_ttl_ms, in microseconds. */
static uint64_t rl_quarter_us(const redlock *rl) {
  return RL_AS(uint64_t, rl->options.max_ttl_ms) * 250;
}

/* The ahead_us of the quorum-th slowest of the servers' clocks, so that a minority of wild clocks
   changes nothing. 0 = too few are known yet. */
static uint64_t rl_ahead_us(const redlock *rl) {
  const rl_server *s, *other;
  uint64_t ahead = 0;
  for (s = rl->server; s != rl->last; s++) {
    int below = 0;
    for (other = rl->server; other != rl->last; other++) below += other->ahead_us < s->ahead_us;
    if (below < rl->quorum && s->ahead_us > ahead) ahead = s->ahead_us;
  }
  return ahead;
}

/* What a command proposes: the middle of what servers accept, so that their clocks may differ by a
   quarter of max_ttl_ms either way; 0 asks them for their clocks. It would sometimes be too low,
   since our clock has whole milliseconds and some replies take longer: then it is the last + 1. */
static void rl_set_token(redlock *rl, rl_command *c) {
  uint64_t token = 0;
  if (rl->options.fencing && c->kind == RL_SET) token = rl_ahead_us(rl);
  if (token) {
    token += rl_now_us(rl) + rl_quarter_us(rl) - RL_EVEN_US;
    if (rl->token - token < rl_quarter_us(rl)) token = rl->token + 1;
    rl->token = token;
  }
  c->token = token;
}

/* What a number says in answer to a fenced SET: less the clock, which the token does not fit; the
   clock, which is below the token; or a counter, which is not. That is no clock: proposals guessed
   from it would run away from the clocks. */
static redlock_vote rl_fenced_vote(redlock *rl, rl_server *s, const rl_command *c) {
  uint64_t number = s->parser.number;
  redlock_vote vote = REDLOCK_VOTE_CLOCK;
  if (s->parser.whole != ':' || number == 0) return REDLOCK_VOTE_ERROR;
  if (!s->parser.negative) vote = number < c->token ? REDLOCK_VOTE_YES : REDLOCK_VOTE_LOW;
  if (vote == REDLOCK_VOTE_LOW) {
    if (number - rl->token < rl_quarter_us(rl)) rl->token = number;
  } else {
    s->ahead_us = number - rl_now_us(rl) + RL_EVEN_US;
  }
  return vote;
}

/* Whether the server's clock refused a token (and was not just asked for). */
static int rl_is_far(const rl_command *c, redlock_vote vote) {
  return vote == REDLOCK_VOTE_CLOCK && c->token != 0;
}

static int rl_is_low(redlock_vote vote) { return vote == REDLOCK_VOTE_LOW; }

/* Whether a token was refused, and nothing set. */
static int rl_is_refused(redlock_vote vote) { return vote >= REDLOCK_VOTE_LOW; }

/* c = NULL: the lock is not held after all. */
static void rl_give_token(redlock_lock *lock, const rl_command *c) {
  lock->token = c ? c->token : 0;
}

/* Whether this round, or the next one, is not the first of its attempt. */
static int rl_is_second(const redlock_lock *lock) { return lock->task == RL_SET && lock->again; }

/* Whether there is another round at once, in the first one's time. */
static int rl_asks_again(const redlock *rl, redlock_lock *lock) {
  if (lock->again == RL_SECOND_ROUNDS || rl->now_ms >= lock->due_ms) return 0;
  lock->again++;
  return 1;
}

static void rl_end_attempt(redlock_lock *lock) { lock->again = 0; }

static int64_t rl_offset_us(const redlock *rl, const rl_server *s) {
  uint64_t ahead = rl_ahead_us(rl);
  return ahead && s->ahead_us ? RL_AS(int64_t, s->ahead_us - ahead) : 0;
}

#endif

/* ---- The log --------------------------------------------------------------------------------- */

static rl_command *rl_at(redlock *rl, uint32_t place) {
  return &rl->log[place & (REDLOCK_MAX_COMMANDS - 1)];
}

/* How many commands it holds. */
static uint32_t rl_count(const redlock *rl) { return rl->end - rl->first; }

static void rl_unreserve(redlock *rl, redlock_lock *lock) {
  rl->reserved -= lock->reserved;
  lock->reserved = 0;
  if (!rl_is_empty(&rl->line)) rl->fresh = 1;
}

/* Appends the lock's command. The caller has made sure of the room, and says who is to get it. */
static rl_command *rl_encode(redlock *rl, const redlock_lock *lock, uint8_t kind, rl_set due) {
  rl_command *c = rl_at(rl, rl->end++);
  rl_writer w = {c->words, 0, sizeof c->words, 0};
  REDLOCK_ASSERT(rl_count(rl) <= REDLOCK_MAX_COMMANDS);
  rl_put_word(&w, lock->resource, lock->resource_size);
  c->aged = lock->told_ms ? sizeof lock->age : 0;
  rl_put_size(&w, RL_VALUE_BYTES + c->aged);
  rl_put(&w, lock->value, RL_VALUE_BYTES);
  rl_put(&w, lock->age, c->aged);
  rl_put_raw(&w, "\r\n");
  c->words_size = RL_AS(uint16_t, w.total);
  if (lock->adopts) rl_put(&w, lock->resource + RL_OLD_AT, RL_VALUE_BYTES);
  c->lock = RL_NULL;
  c->kind = kind;
  c->form = lock->adopts ? RL_SWAPS : lock->alarm || RL_FENCING(rl) ? RL_ARMED : RL_PLAIN;
  c->t1_ms = rl->now_ms;
  c->ttl_ms = kind == RL_RELEASE ? lock->ttl_ms : lock->ask_ms;
  c->due = due;
  c->owed = 0;
  rl_set_token(rl, c);
  w.room = w.total = 0; /* it only counts now */
  rl_put_command(&w, rl, c);
  c->size = RL_AS(uint16_t, w.total);
  rl->fresh = 1;
  return c;
}

/* When a decided command becomes too old to be sent (R12). */
static int64_t rl_age_out_ms(const redlock *rl, const rl_command *c) {
  uint32_t limit = rl->options.server_timeout_ms;
  return c->t1_ms + (c->kind == RL_RELEASE || c->ttl_ms < limit ? c->ttl_ms : limit);
}

/* Whether a server that has no byte of c yet shall get it (R12, R13). */
static int rl_is_due(const redlock *rl, const rl_server *s, const rl_command *c) {
  if (!(c->due & s->bit)) return 0;
  return c->lock || rl->now_ms < rl_age_out_ms(rl, c);
}

/* Moves a server's cursor past what it need not get; 0 = it stands at the end. */
static int rl_skip(redlock *rl, rl_server *s) {
  for (; s->cursor != rl->end; s->cursor++) {
    rl_command *c = rl_at(rl, s->cursor);
    if (s->sent || rl_is_due(rl, s, c)) return 1;
    rl_remove(&c->due, s->bit);
  }
  return 0;
}

/* ---- Servers: errors ------------------------------------------------------------------------- */

static const char rl_lost[] = "no connection";
static const char rl_mute[] = "it hangs up: is it rediss://?";
static const char rl_late[] = "no answer within server_timeout_ms";
static const char rl_odd[] = "not an answer of Redis";
static const char rl_twin[] = "the same server as another entry";

/* An error that we find ourselves. It does not replace the server's own words on this connection,
   which say more, nor a handshake's error, which stays until a handshake succeeds. */
static void rl_say(rl_server *s, const char *text) {
  if (!RL_HAS_TEXTS || s->told || s->wary) return;
  rl_copy_out(s->error, rl_slice(text, rl_min(strlen(text), REDLOCK_MAX_ERROR - 1)));
}

/* Whether its bytes go through options.tls. */
static int rl_is_layered(const rl_server *s) { return RL_HAS_LAYER && s->layered; }

/* What is wrong with a connection: if there is a layer, it knows better. */
static void rl_say_why(const redlock *rl, rl_server *s, const char *why) {
  const redlock_layer *tls = rl->options.tls;
  const char *its = rl_is_layered(s) && s->fd >= 0 ? tls->error(tls->ctx, s->index) : RL_NULL;
  if (RL_HAS_LAYER && why == rl_lost && s->state > RL_CONNECTING && !s->parser.type)
    why = rl_mute;
  rl_say(s, its ? its : why);
}

/* One byte of an error's text. One that quotes the command's words ends before them, also when it
   never ends: the lock's value is among them, or a password. */
static void rl_capture(rl_server *s, char c) {
  size_t at = s->parser.count - 1;
  char *quoted;
  if (!RL_HAS_TEXTS || at >= REDLOCK_MAX_ERROR - 1) return;
  s->error[at] = c >= ' ' && c <= '~' ? c : '?';
  s->error[at + 1] = 0;
  s->told = 1;
  quoted = strstr(s->error, ", with args");
  if (quoted) *quoted = 0;
}

/* ---- Servers: a connection's end ------------------------------------------------------------- */

/* The round looks at its votes again; below, in "Rounds". */
static void rl_judge(redlock *rl, redlock_lock *lock);

/* R26: something may be free there; below, in "Locks: the clock". */
static void rl_on_news(redlock *rl, const rl_server *s, uint32_t hash);

/* A vote for every undecided command that the server has not answered; NONE = its votes may have
   changed, and all rounds look at them. */
static void rl_vote_all(redlock *rl, const rl_server *s, redlock_vote vote) {
  int votes = vote != REDLOCK_VOTE_NONE;
  uint32_t place;
  for (place = rl->first; place != rl->end; place++) {
    redlock_lock *lock = rl_at(rl, place)->lock;
    if (!lock || (votes && lock->votes[s->index] != REDLOCK_VOTE_NONE)) continue;
    if (votes) lock->votes[s->index] = vote;
    rl_judge(rl, lock);
  }
}

/* R14: 0 at first, as when a server closed an idle connection; then growing, bounded, random. */
static uint32_t rl_backoff_ms(redlock *rl, unsigned fails) {
  uint32_t half;
  int64_t random;
  if (fails <= 1) return 0;
  half = RL_BACKOFF_MIN_MS / 2u << rl_min(fails - 2, RL_BACKOFF_DOUBLINGS);
  random = rl_random(rl, half);
  return half + (random < 0 ? half : RL_AS(uint32_t, random));
}

/* What a server votes while it has no connection. */
static redlock_vote rl_absent_vote(const rl_server *s) {
  return s->wary ? REDLOCK_VOTE_ERROR : REDLOCK_VOTE_UNREACHABLE;
}

/* R14: we switch to the name's other address only if no connection to this one ever succeeded.
   Returns the wait in ms: none before the second is tried. */
static uint32_t rl_reopen_ms(redlock *rl, rl_server *s) {
#if !defined(REDLOCK_NO_POSIX) && !defined(REDLOCK_NO_DNS)
  if (s->state < RL_GREETING && s->address[1].port) {
    s->second = !s->second;
    if (s->second) return 0;
  }
#endif
  return rl_backoff_ms(rl, s->fails);
}

/* How long at least to wait for a connection that does not become ready, in ms. None is given up
   before it is late. */
static uint32_t rl_connect_ms(const rl_server *s) {
#if !defined(REDLOCK_NO_POSIX) && !defined(REDLOCK_NO_DNS)
  if (s->address[1].port) return 0;
#endif
  (void)s;
  return RL_CONNECT_MS;
}

static int rl_has_said_yes(const rl_command *c, const rl_server *s) {
  return c->lock->votes[s->index] == REDLOCK_VOTE_YES;
}

static void rl_shut(redlock *rl, const rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  if (s->fd < 0) return;
  if (rl->options.closing) rl->options.closing(rl->options.ctx, s->index, s->fd);
  if (rl_is_layered(s)) (tls->close)(tls->ctx, s->index);
  (rl->io->close)(rl->ctx, s->index);
}

/* The connection is over, whatever the reason. R12: what it left unanswered is void, and only
   releases may be sent again. R5: a yes to anything undecided is void too, since the server may now
   be behind another entry and say yes again there. */
static void rl_lose(redlock *rl, rl_server *s, const char *why) {
  uint32_t place, delay;
  rl_say_why(rl, s, why);
  rl_shut(rl, s);
  if (s->fails < 255) s->fails++;
  delay = rl_reopen_ms(rl, s);
  s->fd = -1;
  s->state = RL_CLOSED;
  s->stalled = s->full = s->greeting = s->wakes = 0;
  s->owed = s->late = s->mark = 0;
  s->until_ms = rl->now_ms + delay;
  s->answered = s->cursor = rl->first;
  s->sent = 0;
  rl->fresh = 1; /* the first failure is tried again at once, any later one when it is time */
  for (place = rl->first; place != rl->end; place++) {
    rl_command *c = rl_at(rl, place);
    rl_set owed = c->owed & s->bit;
    rl_remove(&c->owed, s->bit);
    if (c->kind == RL_RELEASE) c->due |= owed;
    if (c->lock && (owed || (c->kind != RL_RELEASE && rl_has_said_yes(c, s))))
      c->lock->votes[s->index] = REDLOCK_VOTE_UNREACHABLE;
  }
  rl_vote_all(rl, s, REDLOCK_VOTE_NONE);
  if (delay) rl_vote_all(rl, s, rl_absent_vote(s));
}

/* ---- Servers: sending ------------------------------------------------------------------------ */

/* From now on the server has one server_timeout_ms. */
static void rl_mark_reply(const redlock *rl, rl_server *s) {
  s->mark = s->owed;
  s->mark_ms = rl->now_ms;
}

/* So many more replies are owed. Of all that are, one is marked and timed. */
static void rl_owe(const redlock *rl, rl_server *s, uint32_t replies) {
  s->owed += replies;
  if (!s->mark) rl_mark_reply(rl, s);
}

/* How many bytes the connection took; 0 = none now, or it is broken: then it is heard once more
   after the sending, since what came before the end may say why, and lost. */
static size_t rl_send_bytes(redlock *rl, rl_server *s, const char *data, size_t size) {
  const redlock_layer *tls = rl->options.tls; /* hooks in parentheses: lwIP's send is a macro */
  int sent = rl_is_layered(s) ? (tls->send)(tls->ctx, s->index, data, size)
                              : (rl->io->send)(rl->ctx, s->index, data, size);
  int part = sent < RL_AS(int, size);
  if (RL_AS(size_t, sent) > size) { /* below zero too */
    s->full = RL_BROKEN;
    return 0;
  }
  if (sent) {
    if (s->state == RL_CONNECTING) s->state = RL_GREETING;
    if (s->owed == 0) s->stalled = 0;
  }
  if (part && s->state != RL_CONNECTING && s->owed == 0 && !s->full) rl_mark_reply(rl, s);
  s->full = RL_AS(uint8_t, part);
  return RL_AS(size_t, sent);
}

static int rl_has(const char *option) { return option && *option; }

/* A user without a password. Init refuses it: redis-cli would take the user for a password, other
   clients would not. */
static int rl_lacks_password(const redlock *rl, const rl_target *t) {
  if (t->password.size || rl_has(rl->options.password)) return 0;
  return t->user.size || rl_has(rl->options.username);
}

/* A word that the entry of the list gives, or else the options do. */
static void rl_put_secret(rl_writer *w, const rl_text *encoded, const char *option) {
  if (encoded->size) rl_put_encoded(w, encoded->at, encoded->size);
  else rl_put_word(w, option, strlen(option));
}

/* Who we are. */
static uint8_t rl_put_auth(const redlock *rl, const rl_target *t, rl_writer *w) {
  const redlock_options *o = &rl->options;
  int has_user = t->user.size || (!t->password.size && rl_has(o->username));
  if (!t->password.size && !rl_has(o->password)) return 0;
  rl_put_raw(w, has_user ? "*3\r\n$4\r\nAUTH\r\n" : "*2\r\n$4\r\nAUTH\r\n");
  if (has_user) rl_put_secret(w, &t->user, o->username);
  rl_put_secret(w, &t->password, o->password);
  return 1;
}

/* The handshake, which comes first on every connection; returns how many replies it gets. */
static uint8_t rl_put_greeting(const redlock *rl, const rl_server *s, rl_writer *w) {
  uint8_t replies;
  rl_target t;
  (void)rl_parse_target(s->entry, &t);
  replies = rl_put_auth(rl, &t, w);
  if (t.database) {
    rl_put_raw(w, "*2\r\n$6\r\nSELECT\r\n");
    rl_put_number(w, t.database);
    replies++;
  }
  rl_put_raw(w, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
                "*3\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$2\r\nON\r\n");
  if (RL_MAX_TTL(rl) == 0) return RL_AS(uint8_t, replies + 2);
  rl_put_raw(w, RL_INFO_HEAD);
  rl_put_raw(w, "$6\r\nrun_id\r\n$2\r\n16\r\n");
  rl_put_raw(w, RL_INFO_HEAD);
  rl_put_raw(w, "$17\r\nuptime_in_seconds\r\n$2\r\n10\r\n");
  return RL_AS(uint8_t, replies + 4);
}

/* Sends what is left of the handshake. R4: nothing else leaves before all of it has succeeded. But
   R26's two, if they stand alone, are not waited for: what a server in trouble refuses behind them
   is undone like anything that is lost with a connection. */
RL_APART static void rl_send_greeting(redlock *rl, rl_server *s) {
  char window[RL_GREETING_BYTES];
  while (s->state < RL_GREETED) {
    rl_writer w = {window, s->sent, sizeof window, 0};
    uint8_t replies = rl_put_greeting(rl, s, &w);
    size_t size = RL_AS(size_t, w.at - window), sent;
    if (size == 0) { /* all of it has left */
      s->state = replies == 2 ? RL_READY : RL_GREETED;
      s->sent = 0;
      return;
    }
    sent = rl_send_bytes(rl, s, window, size);
    if (sent == 0) return;
    if (s->sent == 0) {
      s->greeting = replies;
      rl_owe(rl, s, replies);
    }
    s->sent += RL_AS(uint32_t, sent);
  }
}

/* Commands from one place of the log on, as they leave. */
typedef struct rl_window {
  uint32_t place, end; /* the first of them, and what follows the last */
  size_t sent;         /* bytes of the first that have left before */
  size_t size;         /* in bytes; 0 = there are none */
  char data[RL_WINDOW_BYTES];
} rl_window;

/* Fills the window with what the server is to get next. The last command may be cut. */
static void rl_fill(redlock *rl, const rl_server *s, rl_window *w) {
  rl_writer out = {w->data, s->sent, sizeof w->data, 0};
  w->place = w->end = s->cursor;
  w->sent = s->sent;
  do rl_put_command(&out, rl, rl_at(rl, w->end++));
  while (out.room && w->end != rl->end && rl_is_due(rl, s, rl_at(rl, w->end)));
  w->size = sizeof w->data - out.room;
}

/* Whether the window, filled for another server, is exactly what this one is to get. */
static int rl_is_filled_for(redlock *rl, const rl_server *s, const rl_window *w) {
  uint32_t place = w->place + (w->sent != 0);
  if (w->size == 0 || s->cursor != w->place || s->sent != w->sent) return 0;
  while (place != w->end && rl_is_due(rl, s, rl_at(rl, place))) place++;
  return place == w->end;
}

/* R13: a SET is with the server, for its ttl from now on. */
static void rl_on_set_sent(rl_server *s, const rl_command *c, int64_t now_ms) {
  if (c->lock) c->lock->touched |= s->bit;
  if (s->until_ms < now_ms + c->ttl_ms) s->until_ms = now_ms + c->ttl_ms;
}

/* The clock, read again: the process may have been paused since this turn began. */
static int64_t rl_latest_ms(const redlock *rl) {
  int64_t now_ms = rl_now(rl);
  return now_ms < rl->now_ms ? rl->now_ms : now_ms;
}

/* So many bytes from the cursor on have left. From its first byte on a command is never sent to
   this server again (R12). */
static void rl_on_sent(redlock *rl, rl_server *s, size_t sent) {
  int64_t now_ms = -1;
  while (sent > 0) {
    rl_command *c = rl_at(rl, s->cursor);
    size_t left = RL_AS(size_t, c->size - s->sent), step = rl_min(sent, left);
    if (s->sent == 0) {
      REDLOCK_ASSERT(c->due & s->bit);
      rl_remove(&c->due, s->bit);
      c->owed |= s->bit;
      rl_owe(rl, s, 1);
      if (c->kind == RL_SET && now_ms < 0) now_ms = rl_latest_ms(rl);
      if (c->kind == RL_SET) rl_on_set_sent(s, c, now_ms);
    }
    sent -= step;
    s->sent = RL_AS(uint32_t, step < left ? s->sent + step : 0);
    if (step == left) s->cursor++;
  }
}

/* Sends one window to a server; whether it may take another. */
static int rl_send_window(redlock *rl, rl_server *s, rl_window *w) {
  size_t sent;
  if (s->state != RL_READY || s->full == RL_BROKEN || !rl_skip(rl, s)) return 0;
  if (!rl_is_filled_for(rl, s, w)) rl_fill(rl, s, w);
  sent = rl_send_bytes(rl, s, w->data, w->size);
  rl_on_sent(rl, s, sent);
  return sent == w->size;
}

/* Sends a window at a time to each server in turn; servers at the same place share a window. */
RL_APART static void rl_send_windows(redlock *rl) {
  rl_server *s = rl->server;
  rl_window window;
  int idle = 0;
  window.size = 0;
  while (idle != rl->servers) { /* each turn sends something, or finds nothing to send */
    idle = rl_send_window(rl, s, &window) ? 0 : idle + 1;
    if (++s == rl->last) s = rl->server;
  }
}

/* 0 = no connection can be made. */
RL_APART static int rl_open(redlock *rl, rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  char host[RL_HOST_BYTES], port[6];
  rl_copy_target(s, host, port);
  s->generation++;
  s->told = 0;
  memset(&s->parser, 0, sizeof s->parser);
  rl_mark_reply(rl, s);
  s->fd = rl->io->open(rl->ctx, s->index, host, port);
  s->state = s->fd < 0 ? RL_CLOSED : RL_CONNECTING;
  s->until_ms = rl->now_ms + rl_connect_ms(s);
  return s->fd >= 0 && !(rl_is_layered(s) && tls->open(tls->ctx, s->index, s->fd, host));
}

/* R14: whether anything waits for a connection: a command, or a lock that rests or is kept. */
static int rl_is_wanted(const redlock *rl, const rl_server *s) {
  return s->cursor != rl->end || (s->state < RL_READY && !rl_is_empty(&rl->live));
}

/* When there is next something to do by the clock for the server. */
static int64_t rl_server_due(const redlock *rl, const rl_server *s) {
  if (s->state < RL_GREETING ? !rl_is_wanted(rl, s) : s->owed == 0 && !s->full) return INT64_MAX;
  if (s->state == RL_CLOSED || s->stalled) return s->until_ms;
  return s->mark_ms + rl->options.server_timeout_ms + 1;
}

/* ---- Servers: receiving ---------------------------------------------------------------------- */

/* R4: the handshake failed. If its reply was no error, what a reply before it said, which refused
   nothing, gives way. */
static void rl_refuse(redlock *rl, rl_server *s, const char *why) {
  if (s->parser.whole != '-') s->told = s->wary = 0;
  rl_say(s, why);
  s->wary = 1;
  rl_lose(rl, s, why);
  rl_vote_all(rl, s, REDLOCK_VOTE_ERROR);
}

/* R5: whether another entry has a connection to this same server. If that entry has lost its
   connection, the server is now s's. */
static int rl_is_other_name(redlock *rl, rl_server *s) {
  rl_server *other = rl->server, *loser;
  while (other != rl->last && (other == s || other->run_id != s->next_run_id)) other++;
  if (other == rl->last) return 0;
  loser = other->state == RL_READY ? s : other;
  loser->run_id = 0;
  return loser == s;
}

/* R24. The clock is read again: a reading from before the reply would make the server seem older. A
   restart that we have seen is timed on our clock; a negative uptime means that the server's clock
   was set back. */
static const char *rl_identify(redlock *rl, rl_server *s) {
  int64_t uptime_s = s->parser.negative ? 0 : RL_AS(int64_t, RL_LOW_HALF(s->parser.number));
  if (rl_is_other_name(rl, s)) return rl_twin;
  if (!rl_tick(rl)) return rl_no_clock;
  if (s->run_id == 0) s->born_ms = rl->now_ms - uptime_s * 1000 + RL_UPTIME_SLACK_MS;
  else if (s->run_id != s->next_run_id) s->born_ms = rl->now_ms;
  s->run_id = s->next_run_id;
  return RL_NULL;
}

/* The server answers sensibly: whatever was wrong is over. */
static void rl_on_good_reply(rl_server *s) {
  s->wary = s->told = 0;
  s->error[0] = 0;
}

/* R26: who does not know HELLO, or may not, wakes no one, and nothing is wrong with that. What a
   server says in trouble, and neither ERR nor NO..., ends the handshake: it is asked again. */
static const char *rl_judge_wakes(rl_server *s, rl_reply reply, int is_hello) {
  uint32_t first = s->parser.hash;
  s->wakes = RL_AS(uint8_t, s->wakes + (reply == (is_hello ? RL_REPLY_OTHER : RL_REPLY_OK)));
  return reply == RL_REPLY_ERROR && first != 'E' && first != 'N' ? rl_odd : RL_NULL;
}

/* What is wrong with one reply of the handshake; NULL = nothing. Its last two are R24's, and those
   before them R26's. */
static const char *rl_judge_greeting(redlock *rl, rl_server *s, rl_reply reply) {
  int left = s->greeting - (RL_MAX_TTL(rl) ? 2 : 0);
  if (s->greeting == 0 && s->state < RL_GREETED) return rl_odd; /* to what has not left */
  if (left >= 2) return reply == RL_REPLY_OK ? RL_NULL : rl_odd;
  if (left >= 0) return rl_judge_wakes(s, reply, left);
  if (reply == RL_REPLY_NIL) return "not a master: list masters only";
  if (s->parser.whole != ':') return rl_odd;
  if (s->greeting == 0) return rl_identify(rl, s);
  s->next_run_id = RL_LOW_HALF(s->parser.number);
  if (s->next_run_id == 0) s->next_run_id = 1; /* 0 means none */
  return RL_NULL;
}

static void rl_on_greeting_reply(redlock *rl, rl_server *s, rl_reply reply) {
  const char *problem;
  s->greeting--;
  problem = rl_judge_greeting(rl, s, reply);
  if (problem) {
    rl_refuse(rl, s, problem);
  } else if (s->greeting == 0) {
    s->state = RL_READY;
    rl_on_good_reply(s);
    rl_on_news(rl, s, 0); /* R26 */
  }
}

/* R4: what a reply to that command means. */
static redlock_vote rl_vote_of(redlock *rl, rl_server *s, const rl_command *c, rl_reply reply) {
  int sets = c->kind == RL_SET;
  if (reply == RL_REPLY_NIL || s->parser.whole == '$') return REDLOCK_VOTE_TAKEN;
  if (sets && RL_FENCING(rl)) return rl_fenced_vote(rl, s, c);
  return reply == (sets ? RL_REPLY_OK : RL_REPLY_POSITIVE) ? REDLOCK_VOTE_YES : REDLOCK_VOTE_ERROR;
}

/* Counts one owed reply off; the mark is set anew when its own reply has come (R13). */
static void rl_on_paid(redlock *rl, rl_server *s) {
  s->owed--;
  if (--s->mark == 0) rl_mark_reply(rl, s);
  if (s->owed == 0) s->stalled = 0;
}

/* R4, R24: what a command's own reply counts for. A release that was sent twice, because its
   connection was lost, finds nothing the second time: that tells nothing. */
static void rl_on_answer(redlock *rl, rl_server *s, rl_command *c, rl_reply reply) {
  redlock_vote vote = rl_vote_of(rl, s, c, reply), *its;
  int sets_nothing = vote == REDLOCK_VOTE_TAKEN || rl_is_refused(vote);
  if (vote == REDLOCK_VOTE_ERROR) {
    if (reply != RL_REPLY_ERROR) rl_say(s, rl_odd);
  } else {
    s->fails = 0; /* a roll-back that finds nothing says no more about what refused its SET */
    if (c->kind != RL_RELEASE || vote == REDLOCK_VOTE_YES) rl_on_good_reply(s);
    if (rl_is_far(c, vote)) rl_say(s, "clock is off");
    if (RL_MAX_TTL(rl) && c->t1_ms - s->born_ms < RL_MAX_TTL(rl)) vote = REDLOCK_VOTE_QUARANTINED;
  }
  if (!c->lock) return;
  if (c->kind == RL_SET && sets_nothing) rl_remove(&c->lock->touched, s->bit); /* R7 */
  its = &c->lock->votes[s->index];
  if (c->kind == RL_RELEASE && *its != REDLOCK_VOTE_NONE && vote == REDLOCK_VOTE_TAKEN) return;
  *its = vote;
  if (reply != RL_REPLY_OK && s->parser.hash > c->lock->ahead_ms)
    c->lock->ahead_ms = s->parser.hash; /* as good as the three bytes: rl_hash weighs them so */
  rl_remove(&c->lock->news, s->bit); /* that was before */
  rl_judge(rl, c->lock);
}

/* R8: the one place where a reply meets its command, or is dropped because it comes late. */
static void rl_on_reply(redlock *rl, rl_server *s, rl_reply reply) {
  int stalled = s->stalled;
  rl_command *c;
  if (s->owed == 0) {
    rl_lose(rl, s, rl_odd);
    return;
  }
  rl_on_paid(rl, s);
  if (s->greeting) {
    rl_on_greeting_reply(rl, s, reply);
    return;
  }
  if (s->late) {
    s->late--;
  } else {
    do {
      REDLOCK_ASSERT(s->answered != s->cursor + 1);
      c = rl_at(rl, s->answered++);
    } while (!(c->owed & s->bit));
    rl_remove(&c->owed, s->bit);
    rl_on_answer(rl, s, c, reply);
  }
  if (stalled && !s->stalled) rl_on_news(rl, s, 0); /* R26 */
}

static void rl_on_byte(redlock *rl, rl_server *s, char byte) {
  rl_reply reply = rl_parse(&s->parser, byte);
  if (reply == RL_MORE) return;
  if (reply == RL_ERROR_BYTE) rl_capture(s, byte);
  else if (reply == RL_PUSHED) rl_on_news(rl, s, s->parser.hash);
  else if (reply == RL_BAD) rl_lose(rl, s, rl_odd);
  else rl_on_reply(rl, s, reply);
}

RL_APART static void rl_receive(redlock *rl, rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  char data[RL_RECEIVE_BYTES];
  int turn, k, got;
  for (turn = 0; turn < RL_RECEIVE_TURNS; turn++) {
    got = rl_is_layered(s) ? (tls->recv)(tls->ctx, s->index, data, sizeof data)
                           : (rl->io->recv)(rl->ctx, s->index, data, sizeof data);
    if (RL_AS(unsigned, got) > RL_RECEIVE_BYTES) rl_lose(rl, s, rl_lost);
    for (k = 0; k < got && s->state != RL_CLOSED; k++) rl_on_byte(rl, s, data[k]);
    if (s->state == RL_CLOSED || got < RL_RECEIVE_BYTES) return;
  }
  rl->ready |= s->bit;
}

/* ---- Servers: a round of sending ------------------------------------------------------------- */

/* Makes a server ready for what is due to it, with a new connection if necessary. A connection that
   was quiet for long may have been closed: better to notice now than to lose a SET on it. */
static void rl_attend(redlock *rl, rl_server *s) {
  (void)rl_skip(rl, s);
  if (s->state != RL_GREETING && !rl_is_wanted(rl, s)) {
    if (s->owed == 0) s->stalled = s->full = 0; /* it has caught up with what it was spared */
    return;
  }
  if (s->state != RL_CLOSED && s->owed == 0 &&
      rl->now_ms - s->mark_ms > rl->options.server_timeout_ms)
    rl_receive(rl, s);
  if (s->state == RL_CLOSED && rl->now_ms >= s->until_ms && !rl_open(rl, s))
    rl_lose(rl, s, rl_lost);
  if (s->state != RL_CLOSED) rl_send_greeting(rl, s);
}

/* What came before the end may say why. */
static void rl_on_broken(redlock *rl, rl_server *s) {
  if (s->full != RL_BROKEN) return;
  rl_receive(rl, s);
  if (s->state != RL_CLOSED) rl_lose(rl, s, rl_lost);
}

/* Nobody waits for what is late, or never connected. */
static void rl_on_stalled(redlock *rl, rl_server *s) {
  if (s->stalled) rl_vote_all(rl, s, REDLOCK_VOTE_UNREACHABLE);
}

/* Sends every server what is due to it. Nothing is received before the window is off the stack. */
static void rl_send(redlock *rl) {
  rl_server *s;
  for (s = rl->server; s != rl->last; s++) rl_attend(rl, s);
  rl_send_windows(rl);
  for (s = rl->server; s != rl->last; s++) {
    rl_on_broken(rl, s);
    rl_on_stalled(rl, s);
  }
}

/* ---- Servers: the clock ---------------------------------------------------------------------- */

/* R13: from now on it gets only releases, and nobody waits for it. If it never connected, we still
   try. */
static void rl_stall(redlock *rl, rl_server *s) {
  uint32_t place;
  s->stalled = 1;
  rl_say_why(rl, s, rl_late);
  for (place = rl->first; s->state != RL_CONNECTING && place != rl->end; place++) {
    rl_command *c = rl_at(rl, place);
    if (c->kind != RL_RELEASE) rl_remove(&c->due, s->bit);
  }
  rl_vote_all(rl, s, s->state == RL_CONNECTING ? REDLOCK_VOTE_UNREACHABLE : REDLOCK_VOTE_TIMEOUT);
}

static void rl_on_server_time(redlock *rl, rl_server *s) {
  if (s->state == RL_CLOSED || rl->now_ms < rl_server_due(rl, s)) return;
  rl_stall(rl, s);
  if (rl->now_ms >= s->until_ms) rl_lose(rl, s, rl_late);
}

/* ---- Room in the log (R11) ------------------------------------------------------------------- */

/* Whether the log must keep its first command for a server: a part of it has left, or it can still
   be sent. One that is not ready has got nothing on this connection, and pins nothing. */
static int rl_is_pinned(const redlock *rl, const rl_server *s, const rl_command *first) {
  if (s->state != RL_READY) return 0;
  return (s->cursor == rl->first && s->sent) || rl_is_due(rl, s, first);
}

/* Takes the first command out of the log, if it is decided. A stalled server in the way, which
   accepts no more bytes, loses its connection; a healthy one is waited for, until the command is
   too old or, if a part of it has left, until that is late. */
static int rl_retire(redlock *rl) {
  const rl_command *c = rl_at(rl, rl->first);
  rl_server *s;
  if (rl_count(rl) == 0 || c->lock) return 0;
  for (s = rl->server; s != rl->last; s++) {
    if (!rl_is_pinned(rl, s, c)) continue;
    if (!s->stalled || !s->full) {
      if (rl->now_ms < rl_age_out_ms(rl, c)) rl_note_due(rl, rl_age_out_ms(rl, c));
      return 0;
    }
    rl_lose(rl, s, rl_late);
  }
  for (s = rl->server; s != rl->last; s++) {
    if (c->owed & s->bit) s->late++;
    if (s->answered == rl->first) s->answered++;
    if (s->cursor == rl->first) s->cursor++;
  }
  rl->first++;
  return 1;
}

/* R7: an acquire reserves the room for its roll-back. The last two commands are for what must not
   wait in line: blocking calls, kept locks, releases that nobody waits for. */
static int rl_make_room(redlock *rl, const redlock_lock *lock, uint8_t task) {
  uint32_t need = task == RL_SET ? 2 : 1;
  if (!lock->urgent) need += RL_SPARE;
  while (rl_count(rl) + rl->reserved + need > REDLOCK_MAX_COMMANDS)
    if (!rl_retire(rl)) return 0;
  return 1;
}

/* ---- Rounds: votes, quorum, decision --------------------------------------------------------- */

/* Decided: whatever still comes for this round is late. Returns the round's command. */
static rl_command *rl_settle(redlock_lock *lock) {
  rl_command *c = lock->command;
  REDLOCK_ASSERT(c->lock == lock);
  c->lock = RL_NULL;
  if (lock->phase == RL_VOTING) lock->phase = RL_RESTING;
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

/* Takes its turn for room in the log; rl_start_task goes on with it. */
static void rl_queue(redlock *rl, redlock_lock *lock, uint8_t task) {
  int64_t end = INT64_MAX;
  lock->task = task;
  rl->fresh = 1;
  if (task == RL_EXTEND) end = lock->deadline_ms;
  else if (rl_is_second(lock)) end = lock->due_ms;
  else if (task == RL_SET && lock->attempts) end = lock->since_ms;
  rl_wait_until(rl, lock, RL_LINE, end);
}

/* R7: the release goes to every server that any byte of the SET went to, behind it, at once. */
static void rl_roll_back(redlock *rl, redlock_lock *lock) {
  rl_unreserve(rl, lock);
  if (lock->touched) rl_encode(rl, lock, RL_RELEASE, lock->touched);
  lock->touched = 0;
}

static uint32_t rl_waited_ms(const redlock *rl, const redlock_lock *lock) {
  return RL_AS(uint32_t, rl->now_ms) - lock->max_hold_ms;
}

/* R9: the least range of a random rest: more than two attempts like the last one, since clients
   that collide must come apart. Wider at first: who has waited longer comes first more often. */
static uint32_t rl_range_ms(const redlock *rl, const redlock_lock *lock) {
  uint32_t took = RL_AS(uint32_t, -lock->t1_ms), limit = rl->options.server_timeout_ms;
  if (took > limit) took = limit; /* we were paused */
  return 2 * took + (rl_waited_ms(rl, lock) < 24 ? 12 : 1);
}

/* R26: for how long others have had it since this one was first told; up to a quarter more by luck,
   so that those who came at once differ: the last byte, since a label may come first. The value
   tells it in three bytes. */
static uint32_t rl_age_ms(const redlock *rl, const redlock_lock *lock) {
  uint32_t age = RL_AS(uint32_t, rl->now_ms) - lock->told_ms, most = 1u << 23;
  if (!lock->told_ms) return 0;
  if (age > most) age = most;
  return age + (age * RL_AS(unsigned char, lock->value[RL_VALUE_BYTES - 1]) >> 10);
}

/* R26: a random rest for one who is told that it may be free. A crowd waits in line: the holder had
   waited for as long as its value tells. Who has not rests longer, in proportion, but at most a
   second; unless it is among the next few, as far as its rest tells how long a hold is. */
static int64_t rl_line_ms(redlock *rl, redlock_lock *lock) {
  uint32_t now = RL_AS(uint32_t, rl->now_ms), rested = now - lock->failed_ms;
  uint32_t own = rl_age_ms(rl, lock) + 16 * rested, early = 0;
  if (!lock->told_ms && rl_members(lock->news) >= rl->quorum)
    lock->told_ms = (now - 1) | 1; /* neither 0 nor to come; whoever just arms is told of nothing */
  if (own < lock->ahead_ms) early = lock->ahead_ms - own;
  if (early > 2 * RL_DOZE_MS) early = 2 * RL_DOZE_MS;
  return rl_random(rl, rl_range_ms(rl, lock) + early / 2);
}

/* R26: at how many servers the resource may be free, for all that is known when an attempt fails.
   Whether a quorum of them tells when it changes; then the next attempt asks them to. But one that
   is found free without a word, when a rest that relied on that ended by itself, told nothing. What
   nobody tells of is polled: that answers come too late, or that clocks do not fit. */
static int rl_look_out(const redlock *rl, redlock_lock *lock) {
  const rl_server *s;
  int unasked, tell = 0, refused = 0;
  for (s = rl->server; s != rl->last; s++) {
    redlock_vote vote = lock->votes[s->index];
    if (vote < REDLOCK_VOTE_TAKEN || rl_is_refused(vote)) lock->news |= s->bit;
    if (vote == REDLOCK_VOTE_YES && lock->alarm == RL_DOZES && !(lock->known & s->bit))
      lock->alarm = RL_MISTRUSTS;
    refused += rl_is_refused(vote);
    tell += (vote <= REDLOCK_VOTE_TAKEN || rl_is_refused(vote)) && s->wakes == 2;
  }
  if (tell < rl->quorum || refused >= rl->quorum || lock->last == REDLOCK_EXPIRED) {
    lock->alarm = RL_POLLS;
    return 0;
  }
  unasked = lock->alarm == RL_POLLS && !RL_FENCING(rl);
  if (lock->alarm == RL_POLLS) lock->alarm = RL_ARMS;
  return unasked || rl_members(lock->news) >= rl->quorum;
}

/* R9: how long to rest before the next attempt; < 0 = no entropy. Where nothing tells when to try
   again, a lock that is held for long is tried more and more rarely. */
static int64_t rl_rest_ms(redlock *rl, redlock_lock *lock) {
  const redlock_options *o = &rl->options;
  uint32_t least = o->retry_delay_min_ms ? o->retry_delay_min_ms : 1;
  uint32_t most = o->retry_delay_max_ms - least, late = rl_waited_ms(rl, lock) / 100, range;
  int64_t random;
  lock->t1_ms -= rl->now_ms; /* so long did it take */
  lock->failed_ms = RL_AS(uint32_t, rl->now_ms);
  if (rl_look_out(rl, lock)) return rl_line_ms(rl, lock);
  range = rl_range_ms(rl, lock);
  if (range < late * late) range = late * late;
  if (range > most || late > 999 || o->retry_delay_min_ms) range = most;
  if (lock->alarm == RL_ARMS || lock->alarm == RL_DOZES) {
    lock->alarm = RL_DOZES;
    least = range = RL_DOZE_MS;
  }
  random = rl_random(rl, range);
  return random < 0 ? random : random + least;
}

/* R9: what follows a failed attempt. */
static void rl_rest(redlock *rl, redlock_lock *lock) {
  uint32_t attempts = rl->options.max_attempts;
  int64_t delay;
  rl_end_attempt(lock);
  if (rl->now_ms >= lock->since_ms || (attempts && lock->attempts >= attempts)) {
    rl_decide(rl, lock, RL_AS(redlock_status, lock->last));
    return;
  }
  delay = rl_rest_ms(rl, lock);
  if (delay < 0) {
    rl_decide(rl, lock, REDLOCK_SYSTEM);
    return;
  }
  delay += rl->now_ms;
  rl_wait_until(rl, lock, RL_RESTING, delay < lock->since_ms ? delay : lock->since_ms);
}

/* refused: whether another token may do (R25): with those that refused no more than this one, and
   those that have not answered, it would be a quorum. */
static void rl_fail_attempt(redlock *rl, redlock_lock *lock, redlock_status status, int refused) {
  rl_settle(lock)->due = 0;
  rl_roll_back(rl, lock);
  lock->last = RL_AS(int8_t, status);
  if (status == REDLOCK_SYSTEM) rl_decide(rl, lock, status);
  else if (refused && rl_asks_again(rl, lock)) rl_queue(rl, lock, RL_SET);
  else rl_rest(rl, lock);
}

/* The lock is no longer ours: it is handed back when a release for all servers is in the log. */
static void rl_expire(redlock *rl, redlock_lock *lock) {
  if (lock->phase == RL_VOTING) rl_settle(lock)->due = 0;
  lock->deadline_ms = 0;
  rl_queue(rl, lock, RL_ABANDON);
}

/* A kept lock is extended after half of what is left of it, and not later than in longest_ms. */
static void rl_keep_on(redlock *rl, redlock_lock *lock, uint32_t longest_ms) {
  int64_t left = lock->deadline_ms - rl->now_ms;
  uint32_t delay = left > 0 ? RL_AS(uint32_t, left) / 2 + 1 : 0;
  rl_wait_until(rl, lock, RL_KEEPING, rl->now_ms + (delay < longest_ms ? delay : longest_ms));
}

/* R19: a failed extension leaves everything as it was. */
static void rl_end_extension(redlock *rl, redlock_lock *lock, redlock_status status) {
  rl_command *c = rl_settle(lock);
  if (status != REDLOCK_OK) c->due = 0;
  if (!lock->kept) rl_decide(rl, lock, status);
  else rl_keep_on(rl, lock, status == REDLOCK_OK ? UINT32_MAX : rl->options.retry_delay_max_ms);
}

/* A quorum said yes to a SET or an extension. R1: the clock is read after the last of them. */
static void rl_on_quorum(redlock *rl, redlock_lock *lock) {
  int64_t deadline = lock->t1_ms + rl_validity_ms(rl, lock->ask_ms);
  int extends = lock->task == RL_EXTEND, works = rl_tick(rl);
  int64_t end = extends ? lock->deadline_ms : deadline;
  redlock_status status = !works ? REDLOCK_SYSTEM : rl->now_ms < end ? REDLOCK_OK : REDLOCK_EXPIRED;
  if (extends) {
    if (status == REDLOCK_OK && deadline > end) lock->deadline_ms = deadline; /* R18 */
    if (status == REDLOCK_EXPIRED) rl_expire(rl, lock);
    else rl_end_extension(rl, lock, status);
  } else if (status != REDLOCK_OK) {
    rl_fail_attempt(rl, lock, status, 0);
  } else {
    const rl_command *c = rl_settle(lock);
    lock->touched |= c->due; /* where it may still be set */
    rl_give_token(lock, c);
    lock->deadline_ms = deadline;
    lock->since_ms = lock->t1_ms;
    lock->max_hold_ms = rl->options.max_hold_ms;
    lock->granted = 1;
    lock->alarm = RL_POLLS;
    rl_decide(rl, lock, REDLOCK_OK);
  }
}

/* R7: who says nil needs no roll-back. So if nobody has said yes to an attempt of one who waits,
   those who have not answered get as long again; or all their time, if a token was refused: what is
   free there, and what may be elsewhere, must not pass for a quorum. */
static int rl_lingers(redlock *rl, redlock_lock *lock, int refused) {
  int64_t due_ms = 2 * rl->now_ms - lock->t1_ms + 2;
  if (!lock->alarm || rl->now_ms >= lock->due_ms) return 0;
  if (due_ms < lock->due_ms && !refused) lock->due_ms = due_ms;
  rl_note_due(rl, lock->due_ms);
  return 1;
}

/* R6: decides as soon as no vote to come can change the outcome. R19, R21, R23: what it is. */
static void rl_judge(redlock *rl, redlock_lock *lock) {
  int i, yes = 0, none = 0, taken = 0, absent = 0, refused = 0;
  int quorum = rl->quorum, spare = rl->servers - quorum;
  for (i = 0; i < rl->servers; i++) {
    redlock_vote vote = lock->votes[i];
    if (rl_is_refused(vote)) refused++;
    if (vote == REDLOCK_VOTE_YES) yes++;
    else if (vote == REDLOCK_VOTE_NONE) none++;
    else if (vote == REDLOCK_VOTE_TAKEN || rl_is_low(vote)) taken++;
    else absent++;
  }
  if (lock->task == RL_RELEASE) {
    redlock_status status = REDLOCK_OK;
    if (yes < quorum) {
      if (taken > spare) status = REDLOCK_EXPIRED;
      else if (absent > spare && taken + none <= spare) status = REDLOCK_NO_QUORUM;
      else if (none) return;
    }
    (void)rl_settle(lock);
    rl_decide(rl, lock, status);
  } else if (yes >= quorum) {
    rl_on_quorum(rl, lock);
  } else if (lock->task == RL_EXTEND && taken > spare) {
    rl_expire(rl, lock); /* proved lost */
  } else if (yes + none < quorum) {
    if (lock->task == RL_SET && none && !yes && rl_lingers(rl, lock, refused)) return;
    if (lock->task == RL_SET)
      rl_fail_attempt(rl, lock, absent > spare ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN,
                      yes + none + refused >= quorum);
    else if (rl->now_ms >= lock->deadline_ms)
      rl_expire(rl, lock);
    else if (taken + none <= spare) /* the loss cannot be proved any more */
      rl_end_extension(rl, lock, REDLOCK_NO_QUORUM);
  }
}

/* ---- Locks: a round begins ------------------------------------------------------------------- */

/* R20: the longest ttl that keeps within max_hold_ms; 0 = none would gain anything. */
static uint32_t rl_clip(const redlock *rl, const redlock_lock *lock, uint32_t ttl_ms) {
  int64_t left = lock->since_ms + lock->max_hold_ms - rl->now_ms;
  if (lock->max_hold_ms == 0 || ttl_ms <= left) return ttl_ms;
  ttl_ms = left > 0 ? RL_AS(uint32_t, left) : 0;
  return rl->now_ms + rl_validity_ms(rl, ttl_ms) > lock->deadline_ms ? ttl_ms : 0;
}

/* What a server votes before it is asked; NONE = it will be. */
static redlock_vote rl_first_vote(const redlock *rl, const rl_server *s) {
  if (s->state >= RL_GREETING && s->stalled) return REDLOCK_VOTE_TIMEOUT;
  if (s->state == RL_CLOSED && rl->now_ms < s->until_ms) return rl_absent_vote(s);
  return REDLOCK_VOTE_NONE;
}

/* Puts the lock's command into the log for everyone who can get it. One whose connection is down
   gets it if that is up again in time; one that is stalled gets only what undoes a SET
   that it got (R13). */
static rl_command *rl_ask(redlock *rl, const redlock_lock *lock, uint8_t kind) {
  rl_set due = kind == RL_RELEASE ? lock->touched : 0;
  const rl_server *s;
  for (s = rl->server; s != rl->last; s++)
    if (s->state < RL_GREETING || !s->stalled) due |= s->bit;
  return rl_encode(rl, lock, kind, due);
}

/* Behind the value; the highest of three bytes first. */
static void rl_tell_age(redlock_lock *lock, uint32_t age_ms) {
  char *at = lock->age + sizeof lock->age;
  for (; at != lock->age; age_ms >>= 8) *--at = RL_AS(char, age_ms & 255);
}

static void rl_start_round(redlock *rl, redlock_lock *lock) {
  int64_t due = rl_is_second(lock) ? lock->due_ms : rl->now_ms + rl->options.server_timeout_ms;
  int64_t end = lock->task == RL_EXTEND ? lock->deadline_ms : rl->now_ms + lock->ask_ms;
  const rl_server *s;
  if (lock->task == RL_SET) {
    lock->reserved = 1;
    rl->reserved++;
    if (lock->attempts < UINT32_MAX && !rl_is_second(lock)) lock->attempts++;
    lock->ahead_ms = 0;
    rl_tell_age(lock, rl_age_ms(rl, lock));
  }
  lock->known = lock->news;
  lock->command = rl_ask(rl, lock, lock->task);
  lock->command->lock = lock;
  lock->t1_ms = rl->now_ms;
  if (lock->task != RL_RELEASE && end < due) due = end; /* no yes can come in time after that */
  for (s = rl->server; s != rl->last; s++) lock->votes[s->index] = rl_first_vote(rl, s);
  lock->news = 0;
  rl_wait_until(rl, lock, RL_VOTING, due);
  rl_judge(rl, lock);
}

/* Goes on with the first lock in line, now that there is room. T1 is taken here (R11). */
static void rl_start_task(redlock *rl, redlock_lock *lock) {
  if (lock->task == RL_EXTEND) lock->ask_ms = rl_clip(rl, lock, lock->ask_ms);
  if (lock->task == RL_ABANDON) {
    (void)rl_ask(rl, lock, RL_RELEASE);
    rl_decide(rl, lock, REDLOCK_EXPIRED);
  } else if (lock->task == RL_EXTEND && rl->now_ms >= lock->deadline_ms) {
    rl_expire(rl, lock);
  } else if (lock->task == RL_EXTEND && lock->ask_ms == 0) {
    rl_decide(rl, lock, REDLOCK_LIMIT);
  } else if (lock->task == RL_SET && lock->attempts && !rl_is_second(lock) &&
             rl->now_ms > lock->since_ms) {
    rl_decide(rl, lock, RL_AS(redlock_status, lock->last));
  } else if (lock->task == RL_SET && !rl_draw(rl, lock->value, RL_VALUE_BYTES)) {
    rl_decide(rl, lock, REDLOCK_SYSTEM); /* R3: fails closed */
  } else {
    rl_start_round(rl, lock);
  }
}

/* The first lock in line, once there is room for it. */
static redlock_lock *rl_admit(redlock *rl) {
  redlock_lock *lock = rl_first(&rl->line);
  return lock && rl_make_room(rl, lock, lock->task) ? lock : RL_NULL;
}

/* ---- Locks: the clock ------------------------------------------------------------------------ */

/* R10: the servers had their time; or a waiter, which has failed, waits no longer for the last of
   them, who may be in time, and has been asked to tell (R26). */
static void rl_time_out(redlock *rl, redlock_lock *lock) {
  const rl_command *c = lock->command;
  int lingered = lock->alarm && rl->now_ms - lock->t1_ms < rl->options.server_timeout_ms, open = 0;
  rl_server *s;
  for (s = rl->server; s != rl->last; s++) open += lock->votes[s->index] <= REDLOCK_VOTE_YES;
  if (open >= rl->quorum) lingered = 0;
  for (s = rl->server; s != rl->last && !lingered; s++) {
    redlock_vote *vote = &lock->votes[s->index];
    if (*vote != REDLOCK_VOTE_NONE) continue;
    *vote = c->owed & s->bit ? REDLOCK_VOTE_TIMEOUT : REDLOCK_VOTE_UNREACHABLE;
    rl_say_why(rl, s, rl_late);
  }
  rl_judge(rl, lock);
}

/* R26: a server told, if not in so many words, that something may be free there: the name with that
   hash, 0 = anything. Who rests, and may find a quorum free from now on, tries soon. What is told
   by a server in quarantine is that our own SET was rolled back there. */
static void rl_on_news(redlock *rl, const rl_server *s, uint32_t hash) {
  redlock_lock *lock = rl_first(&rl->live);
  for (; lock && lock->alarm; lock = rl_next(&rl->live, lock)) {
    int64_t due_ms;
    if (hash && hash != lock->hash) continue;
    if ((lock->news & s->bit) || lock->votes[s->index] == REDLOCK_VOTE_QUARANTINED) continue;
    lock->news |= s->bit;
    if (rl_members(lock->news) != rl->quorum) continue;
    lock->alarm = RL_ARMS;
    if (lock->phase != RL_RESTING) continue;
    due_ms = rl->now_ms + rl_line_ms(rl, lock);
    if (due_ms < lock->due_ms) lock->due_ms = due_ms;
    rl_note_due(rl, due_ms);
  }
}

static void rl_on_lock_time(redlock *rl, redlock_lock *lock) {
  if (rl->now_ms < lock->due_ms) {
    rl_note_due(rl, lock->due_ms);
  } else if (lock->phase == RL_RESTING) {
    rl_queue(rl, lock, RL_SET);
  } else if (lock->task == RL_EXTEND && rl->now_ms >= lock->deadline_ms) {
    rl_expire(rl, lock); /* R19 */
  } else if (lock->phase == RL_VOTING) {
    rl_time_out(rl, lock);
  } else if (rl_is_second(lock)) {
    rl_rest(rl, lock); /* no room in time */
  } else if (lock->task == RL_SET) {
    rl_decide(rl, lock, RL_AS(redlock_status, lock->last)); /* R9: no room in time */
  } else {
    lock->ask_ms = lock->ttl_ms;
    rl_queue(rl, lock, RL_EXTEND);
  }
}

/* What is due in one list by now, and when its next lock will be. A lock may move to another list,
   or to the end of its own with a due_ms to come. */
static void rl_on_list_time(redlock *rl, const rl_link *list) {
  redlock_lock *lock = rl_first(list), *next;
  for (; lock; lock = next) {
    next = rl_next(list, lock);
    rl_on_lock_time(rl, lock);
  }
}

static void rl_on_time(redlock *rl) {
  rl_server *s;
  for (s = rl->server; s != rl->last; s++) rl_on_server_time(rl, s);
  rl->due_ms = INT64_MAX;
  rl_on_list_time(rl, &rl->line);
  rl_on_list_time(rl, &rl->live);
}

/* ---- Locks: the way out ---------------------------------------------------------------------- */

/* Releases a lock without anyone waiting for it. Sending may have to make room first, which the
   line must not take; if there is none, the value lives until its ttl. */
static void rl_release_unseen(redlock *rl, redlock_lock *lock) {
  int room = lock->reserved;
  rl_unreserve(rl, lock);
  lock->urgent = 1;
  if (!room && !rl_make_room(rl, lock, RL_RELEASE)) rl_send(rl);
  if (room || rl_make_room(rl, lock, RL_RELEASE)) (void)rl_ask(rl, lock, RL_RELEASE);
}

/* Takes a lock out of the client, as redlock_cancel documents it. */
static void rl_withdraw(redlock *rl, redlock_lock *lock) {
  int unsent = lock->phase == RL_LINE && lock->task >= RL_RELEASE;
  int voting = lock->phase == RL_VOTING, keeping = lock->phase == RL_KEEPING;
  rl_unlink(rl, lock);
  rl->fresh = 1; /* R11: there may be room now */
  if (voting) {
    rl_command *c = rl_settle(lock);
    if (c->kind == RL_SET) c->due = 0;
  }
  if (voting && lock->reserved) rl_roll_back(rl, lock);
  else if (unsent || lock->reserved) rl_release_unseen(rl, lock);
  if (lock->task == RL_SET) {
    lock->granted = 0;
    lock->deadline_ms = 0;
    rl_give_token(lock, RL_NULL);
  }
  if (!keeping) lock->status = REDLOCK_CANCELLED;
  lock->kept = lock->urgent = 0;
}

/* Without a clock nothing can be promised. What went out is still rolled back, and a release still
   leaves, since it needs no clock; but nobody waits for it, since nothing would end the wait. */
static void rl_give_up(redlock *rl) {
  redlock_lock *lock;
  while ((lock = rl_undecided(rl)) != RL_NULL) {
    uint8_t kept = lock->kept;
    rl_withdraw(rl, lock);
    lock->kept = kept; /* its loss is told */
    rl_decide(rl, lock, lock->task == RL_ABANDON ? REDLOCK_EXPIRED : REDLOCK_SYSTEM);
  }
}

/* ---- The machine's one turn ------------------------------------------------------------------ */

/* Sends all that is due, and what the sending itself makes due. */
static void rl_work(redlock *rl) {
  const rl_server *s;
  redlock_lock *lock;
  int pass;
  for (pass = 0; pass < RL_SEND_PASSES; pass++) {
    rl->fresh = 0;
    while ((lock = rl_admit(rl)) != RL_NULL) rl_start_task(rl, lock);
    rl_send(rl);
    if (rl->now_ms >= rl->due_ms || rl_is_empty(&rl->live)) rl_on_time(rl);
    for (s = rl->server; s != rl->last; s++) rl_note_due(rl, rl_server_due(rl, s));
    if (!rl_admit(rl) && !rl->fresh) return;
  }
  rl->fresh = 1;
}

/* Reads from the servers that are ready, or from all if anything is due by the clock, so that what
   came in time counts even if we were paused, also during the reading. If a round may begin, it
   reads from stalled servers too: a round that is decided before anything is received would never
   see a server come back. */
static void rl_turn(redlock *rl) {
  rl_server *s;
  int64_t now_ms;
  if (!rl_tick(rl)) rl_give_up(rl);
  do { /* again only where a decision or a handshake read the clock anew */
    rl_set ready = rl->now_ms >= rl->due_ms ? RL_AS(rl_set, -1) : rl->ready;
    now_ms = rl->now_ms;
    rl->ready = 0;
    for (s = rl->server; s != rl->last; s++)
      if (s->state != RL_CLOSED && ((ready & s->bit) || (rl->fresh && s->stalled)))
        rl_receive(rl, s);
  } while (rl->now_ms != now_ms && rl->now_ms >= rl->due_ms);
  rl_work(rl);
}

/* As redlock_timeout_ms, but for the locks that are decided already. Without a clock the next step
   gives up all that is undecided; after that it is tried again now and then. */
static int64_t rl_timeout_ms(const redlock *rl) {
  int64_t now;
  if (rl->fresh || rl->ready) return 0;
  if (rl->due_ms == INT64_MAX) return -1;
  now = rl_now(rl);
  if (now < 0) return rl_undecided(rl) ? 0 : RL_BACKOFF_MIN_MS;
  return rl->due_ms <= now ? 0 : rl->due_ms - now;
}

/* What to poll a connection for. */
static unsigned rl_events(const redlock *rl, const rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  int writes = s->state == RL_GREETING || (s->state != RL_GREETED && rl_is_wanted(rl, s));
  unsigned events = writes ? REDLOCK_READ | REDLOCK_WRITE : REDLOCK_READ;
  return rl_is_layered(s) ? tls->want(tls->ctx, s->index, events) : events;
}

static int rl_fds(const redlock *rl, redlock_fd *fds, int capacity) {
  const rl_server *s;
  int count = 0;
  for (s = rl->server; s != rl->last; s++) {
    if (s->state == RL_CLOSED || count++ >= capacity) continue;
    fds->fd = s->fd;
    fds->server = s->index;
    fds->events = rl_events(rl, s);
    fds->generation = s->generation;
    fds++;
  }
  return count;
}

/* Whether the lock is decided; NULL = any lock. */
static int rl_is_decided(const redlock *rl, const redlock_lock *lock) {
  return lock ? lock->phase == RL_DECIDED : !rl_is_empty(&rl->decided);
}

/* Waits, at most limit_ms (-1 = no limit); 0 = it failed. */
#ifndef REDLOCK_NO_POSIX
RL_APART /* 20 bytes of code that a board need not pay: its window is smaller */
#endif
static int rl_poll(redlock *rl, int64_t limit_ms) {
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int64_t timeout = rl_timeout_ms(rl);
  int count = rl_fds(rl, want, REDLOCK_MAX_SERVERS);
  if (rl->options.io) rl->ready = RL_AS(rl_set, -1); /* it does not say which */
  if (limit_ms >= 0 && (timeout < 0 || timeout > limit_ms)) timeout = limit_ms;
  return rl->io->wait(rl->ctx, want, count, timeout) >= 0;
}

/* Unless the lock is decided: waits, and takes a turn. 0 = waiting failed. */
static int rl_wait(redlock *rl, const redlock_lock *lock, int64_t limit_ms) {
  int waited;
  if (rl_is_decided(rl, lock)) return 1; /* what the caller starts meanwhile leaves in one piece */
  if (rl->fresh) rl_turn(rl);
  if (rl_is_decided(rl, lock)) return 1;
  waited = rl_poll(rl, limit_ms);
  if (!waited) rl_blame(rl, rl_no_wait);
  rl_turn(rl);
  return waited;
}

/* ---- Handing back ---------------------------------------------------------------------------- */

/* R1: a grant or extension that lapsed in the queue is not handed out as one. */
static redlock_status rl_status_now(redlock *rl, const redlock_lock *lock) {
  if (lock->status != REDLOCK_OK || lock->task == RL_RELEASE) return lock->status;
  if (!rl_tick(rl)) return REDLOCK_SYSTEM;
  return rl->now_ms < lock->deadline_ms ? REDLOCK_OK : REDLOCK_EXPIRED;
}

/* Gives a decided lock to the caller; 0 = it goes back to the line first, to be released. R19: an
   extension that cannot be checked leaves the lock as it was. */
static int rl_hand_back(redlock *rl, redlock_lock *lock) {
  redlock_status decided = lock->status;
  lock->status = rl_status_now(rl, lock);
  if (lock->status != decided && (lock->task == RL_SET || lock->status == REDLOCK_EXPIRED)) {
    if (!lock->reserved) {
      rl_expire(rl, lock);
      return 0;
    }
    lock->deadline_ms = 0;
    rl_give_token(lock, RL_NULL);
    rl_roll_back(rl, lock);
  }
  rl_unreserve(rl, lock);
  rl_unlink(rl, lock);
  lock->urgent = 0;
  rl->handed = lock;
  return 1;
}

/* The blocking calls: turns until the caller's own lock is decided. Others stay queued. */
static redlock_status rl_block(redlock *rl, redlock_lock *lock, redlock_status status) {
  if (status == REDLOCK_CANCELLED) rl_turn(rl);
  if (status != REDLOCK_PENDING) return status;
  lock->urgent = rl->fresh = 1; /* there may be room for it now */
  if (lock->phase == RL_LINE) rl_move(rl, lock, RL_LINE);
  while (!rl_is_decided(rl, lock) || !rl_hand_back(rl, lock)) {
    if (rl_wait(rl, lock, -1)) continue;
    rl_withdraw(rl, lock);
    lock->status = REDLOCK_SYSTEM;
    break;
  }
  if (lock->status != REDLOCK_OK && rl->fresh) rl_turn(rl); /* roll-backs leave now */
  return lock->status;
}

/* ---- The system's sockets: what Windows and POSIX call differently --------------------------- */

#if defined(_WIN32) && !defined(REDLOCK_NO_POSIX)

typedef SOCKET rl_socket;

static int rl_system_close_socket(rl_socket fd) { return closesocket(fd); }

/* A connection that failed reads like one that is still being made, but for SO_ERROR. */
static int rl_system_is_later(rl_socket fd) {
  int error = WSAGetLastError(), problem = 0, size = RL_AS(int, sizeof problem);
  void *to = &problem;
  if (error == WSAENOTCONN) (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, RL_AS(char *, to), &size);
  return problem == 0 && (error == WSAEWOULDBLOCK || error == WSAENOTCONN);
}

static int rl_system_is_connecting(void) { return WSAGetLastError() == WSAEWOULDBLOCK; }

/* Before Windows 10 2004 it does not report a refused connection: the time-outs do. */
static int rl_system_poll(struct pollfd *fds, int count, int timeout_ms) {
  if (count) return WSAPoll(fds, RL_AS(ULONG, count), timeout_ms);
  Sleep(RL_AS(DWORD, timeout_ms)); /* -1 is INFINITE */
  return 0;
}

/* Non-blocking, not inherited by children; -1 = failed. */
static intptr_t rl_system_socket(int family) {
  u_long on = 1;
  rl_socket fd = WSASocketW(family, SOCK_STREAM, 0, RL_NULL, 0,
                            WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
  if (fd == INVALID_SOCKET) return -1;
  (void)ioctlsocket(fd, RL_AS(long, FIONBIO), &on);
  return RL_AS(intptr_t, fd);
}

/* R2. It counts sleep and hibernation, in steps far below 1 ms. */
static int64_t rl_system_now_ms(void *ctx) {
  LARGE_INTEGER count, second;
  (void)ctx;
  if (!QueryPerformanceCounter(&count) || !QueryPerformanceFrequency(&second)) return -1;
  return count.QuadPart / second.QuadPart * 1000 +
         count.QuadPart % second.QuadPart * 1000 / second.QuadPart;
}

static int rl_system_entropy(void *ctx, void *data, size_t size) { /* R3 */
  (void)ctx;
  return BCryptGenRandom(RL_NULL, RL_AS(UCHAR *, data), RL_AS(ULONG, size),
                         BCRYPT_USE_SYSTEM_PREFERRED_RNG);
}

/* R17: on Windows no process is a copy of another. Winsock counts its users per process. */
static long rl_system_start(void) {
  WSADATA about;
  (void)WSAStartup(MAKEWORD(2, 2), &about);
  return 0;
}

static long rl_system_process(void) { return 0; }

#elif !defined(REDLOCK_NO_POSIX)

typedef int rl_socket;

static int rl_system_close_socket(rl_socket fd) { return close(fd); }

static int rl_system_is_later(rl_socket fd) {
  (void)fd;
#if EAGAIN != EWOULDBLOCK
  if (errno == EAGAIN) return 1;
#endif
  return errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN || errno == EINPROGRESS;
}

static int rl_system_is_connecting(void) { return errno == EINPROGRESS || errno == EINTR; }

static int rl_system_poll(struct pollfd *fds, int count, int timeout_ms) {
#ifdef ESP_PLATFORM
  int ready = poll(fds, RL_AS(nfds_t, count), timeout_ms); /* it refuses NULL */
#else
  int ready = poll(count ? fds : RL_NULL, RL_AS(nfds_t, count), timeout_ms); /* lwIP wants NULL */
#endif
  return ready < 0 && errno == EINTR ? 0 : ready;
}

/* Non-blocking, closed on exec (R14); -1 = failed. */
static intptr_t rl_system_socket(int family) {
#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK) && !defined(__NuttX__) /* it may ignore them */
  return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
  int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  (void)fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
#endif
}

/* R2: a clock that counts suspend. */
static int64_t rl_system_now_ms(void *ctx) {
#if defined(__APPLE__) && defined(CLOCK_MONOTONIC_RAW)
  const clockid_t clock = CLOCK_MONOTONIC_RAW;
#elif defined(__linux__) || defined(__OpenBSD__) /* elsewhere the name promises no such clock */
  const clockid_t clock = CLOCK_BOOTTIME;
#else
  const clockid_t clock = CLOCK_MONOTONIC;
#endif
  struct timespec t;
  int64_t now_ms;
  (void)ctx;
  if (clock_gettime(clock, &t) != 0) return -1;
  now_ms = t.tv_sec;
  return now_ms * 1000 + RL_AS(int32_t, t.tv_nsec) / 1000000;
}

/* R3: how many bytes were drawn. Nothing may block here: before Linux's pool is ready it fails. */
#if defined(CONFIG_DEV_URANDOM_XORSHIFT128) || defined(CONFIG_DEV_URANDOM_CONGRUENTIAL)

/* NuttX without a generator of the hardware: all boards would draw the same. */
static ssize_t rl_system_draw(void *data, size_t size) {
  (void)data, (void)size;
  return -1;
}

#elif defined(RL_DEV_URANDOM)

static ssize_t rl_system_draw(void *data, size_t size) {
  ssize_t got;
  int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  got = read(fd, data, size);
  (void)close(fd);
  return got;
}

#else

static ssize_t rl_system_draw(void *data, size_t size) {
#ifdef GRND_NONBLOCK
  return getrandom(data, size, GRND_NONBLOCK);
#else
  return getrandom(data, size, 0);
#endif
}

#endif

static int rl_system_entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
  return rl_system_draw(data, size) == RL_AS(ssize_t, size) ? 0 : -1;
}

static long rl_system_process(void) { return RL_AS(long, getpid()); }

static long rl_system_start(void) { return rl_system_process(); }

#endif

/* ---- The system's sockets -------------------------------------------------------------------- */

#ifndef REDLOCK_NO_POSIX

typedef union rl_sockaddr {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_un local;
} rl_sockaddr;

static const unsigned char rl_v4_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};

static int rl_is_v4(const rl_address *a) { return memcmp(a->ip, rl_v4_mapped, 12) == 0; }

static int rl_is_same_address(const rl_address *a, const rl_address *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

/* R5: the one spelling of an address. 0.0.0.0 and :: mean this machine. */
static rl_address rl_spell(const rl_sockaddr *a) {
  static const unsigned char nobody[16] = {0};
  rl_address out;
  memset(&out, 0, sizeof out);
  if (a->any.sa_family == AF_INET6) {
    memcpy(out.ip, &a->v6.sin6_addr, 16);
    if (out.ip[0] == 0xfe && (out.ip[1] & 0xc0) == 0x80) /* no other kind has one */
      out.scope = RL_AS(uint32_t, a->v6.sin6_scope_id);
    out.port = a->v6.sin6_port;
  } else {
    memcpy(out.ip, rl_v4_mapped, 12);
    memcpy(out.ip + 12, &a->v4.sin_addr, 4);
    out.port = a->v4.sin_port;
  }
  if (memcmp(out.ip, nobody, 16) == 0) out.ip[15] = 1;
  if (rl_is_v4(&out) && memcmp(out.ip + 12, nobody, 4) == 0) {
    out.ip[12] = 127;
    out.ip[15] = 1;
  }
  return out;
}

static socklen_t rl_fill_sockaddr(rl_sockaddr *a, const rl_address *from) {
  if (rl_is_v4(from)) {
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = RL_AS(uint16_t, from->port);
    memcpy(&a->v4.sin_addr, from->ip + 12, 4);
    return RL_AS(socklen_t, sizeof a->v4);
  }
  a->v6.sin6_family = AF_INET6;
  a->v6.sin6_port = RL_AS(uint16_t, from->port);
  a->v6.sin6_scope_id = from->scope;
  memcpy(&a->v6.sin6_addr, from->ip, 16);
  return RL_AS(socklen_t, sizeof a->v6);
}

#ifdef REDLOCK_NO_DNS

/* What the entry says; no port = it is not a numeric address. */
static rl_address rl_address_of(const rl_server *s) {
  char host[RL_HOST_BYTES];
  rl_address none;
  rl_sockaddr a;
  rl_target t;
  uint16_t number;
  memset(&none, 0, sizeof none);
  memset(&a, 0, sizeof a);
  (void)rl_parse_target(s->entry, &t);
  rl_copy_out(host, t.host);
  number = htons(RL_AS(uint16_t, t.port));
  a.any.sa_family = AF_INET;
  a.v4.sin_port = number;
  if (inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) return rl_spell(&a);
  a.any.sa_family = AF_INET6;
  a.v6.sin6_port = number;
  return inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1 ? rl_spell(&a) : none;
}

/* 0 = it is the address of an earlier entry (R5). */
static int rl_system_resolve(redlock *rl, rl_server *s) {
  rl_address own = rl_address_of(s);
  const rl_server *other = rl->server;
  for (; other != s; other++) {
    rl_address its = rl_address_of(other);
    if (own.port && rl_is_same_address(&own, &its)) return 0;
  }
  return 1;
}

#else

static rl_address rl_address_of(const rl_server *s) { return s->address[s->second]; }

/* Keeps the first of the name's addresses. When none is found, what was known stays. */
static int rl_look_up(const char *host, const char *port, rl_address found[RL_ADDRESSES]) {
  struct addrinfo hints, *all, *one;
  int kept = 0;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, port, &hints, &all) != 0) return 0;
  memset(found, 0, RL_ADDRESSES * sizeof *found);
  for (one = all; one && kept < RL_ADDRESSES; one = one->ai_next) {
    rl_sockaddr a;
    rl_address spelt;
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    memset(&a, 0, sizeof a);
    memcpy(&a, one->ai_addr, rl_min(RL_AS(size_t, one->ai_addrlen), sizeof a));
    spelt = rl_spell(&a);
    if (!rl_is_same_address(&found[0], &spelt)) found[kept++] = spelt;
  }
  freeaddrinfo(all);
  return 1;
}

/* Whether s has an address in common with an entry before it (R5). */
static int rl_is_known(const redlock *rl, const rl_server *s) {
  const rl_server *other = rl->server;
  int i;
  for (; other != s; other++)
    for (i = 0; i < RL_ADDRESSES * RL_ADDRESSES; i++) {
      const rl_address *own = &s->address[i / RL_ADDRESSES];
      if (own->port && rl_is_same_address(own, &other->address[i % RL_ADDRESSES])) return 1;
    }
  return 0;
}

/* Looks a server's name up. A connection to an address that is no longer its own is closed: another
   entry may be there by now. 0 = it is the address of an earlier entry, and then this one has none:
   two votes would be worse than none (R5). */
static int rl_system_resolve(redlock *rl, rl_server *s) {
  rl_address used = rl_address_of(s);
  char host[RL_HOST_BYTES], port[6];
  uint8_t second;
  int known;
  rl_copy_target(s, host, port);
  if (*host == '/') return 1;
  if (!rl_look_up(host, port, s->address) && used.port == 0) rl_say(s, "name not found");
  known = rl_is_known(rl, s);
  if (known) memset(s->address, 0, sizeof s->address);
  second = used.port && rl_is_same_address(&used, &s->address[1]);
  if (s->fd >= 0 && !rl_is_same_address(&used, &s->address[second])) {
    (void)rl_tick(rl);
    rl_lose(rl, s, rl_lost);
  }
  s->second = second;
  return !known;
}

#endif

/* What is set for every socket: level, option, value. */
static const int rl_socket_options[][3] = {
#ifdef TCP_KEEPIDLE
  {IPPROTO_TCP, TCP_KEEPIDLE, RL_KEEPALIVE_S},
#endif
#ifdef RL_NO_SIGPIPE
  {SOL_SOCKET, RL_NO_SIGPIPE, 1},
#endif
  {IPPROTO_TCP, TCP_NODELAY, 1},
  {SOL_SOCKET, SO_KEEPALIVE, 1}
};

static void rl_system_set(rl_socket fd) {
  size_t i = 0, count = sizeof rl_socket_options / sizeof *rl_socket_options;
  for (; i < count; i++) {
    const int *option = rl_socket_options[i];
    const void *value = &option[2];
    (void)setsockopt(fd, option[0], option[1], RL_AS(const char *, value), sizeof *option);
  }
}

static intptr_t rl_system_open(void *ctx, int server, const char *host, const char *port) {
  rl_server *s = &RL_AS(redlock *, ctx)->server[server];
  size_t size = strlen(host) + 1;
  rl_sockaddr a;
  socklen_t length = RL_AS(socklen_t, sizeof a.local);
  intptr_t fd;
  (void)port;
  memset(&a, 0, sizeof a);
  if (*host != '/') {
    rl_address to = rl_address_of(s);
    if (to.port == 0) {
      s->told = *s->error != 0; /* why there is no address says more than that nothing is open */
      return -1;
    }
    length = rl_fill_sockaddr(&a, &to);
  } else {
    if (size > sizeof a.local.sun_path) return -1;
    a.local.sun_family = AF_UNIX;
    memcpy(a.local.sun_path, host, size);
  }
  fd = rl_system_socket(a.any.sa_family);
  if (fd < 0) return -1;
  rl_system_set(RL_AS(rl_socket, fd));
  if (connect(RL_AS(rl_socket, fd), &a.any, length) == 0) return fd;
  if (rl_system_is_connecting()) return fd;
  (void)rl_system_close_socket(RL_AS(rl_socket, fd));
  return -1;
}

static rl_socket rl_system_fd(void *ctx, int server) {
  return RL_AS(rl_socket, RL_AS(const redlock *, ctx)->server[server].fd);
}

static int rl_system_result(rl_socket fd, intptr_t result) {
  if (result >= 0) return RL_AS(int, result);
  return rl_system_is_later(fd) ? 0 : -1;
}

/* At most a window: 16 bits hold what is sent and received at once, on every system. */
static int rl_system_send(void *ctx, int server, const void *data, size_t size) {
#ifdef MSG_NOSIGNAL
  const int flags = MSG_NOSIGNAL;
#else
  const int flags = 0;
#endif
  rl_socket fd = rl_system_fd(ctx, server);
  return rl_system_result(fd, send(fd, RL_AS(const char *, data), RL_AS(uint16_t, size), flags));
}

static int rl_system_recv(void *ctx, int server, void *data, size_t size) {
  rl_socket fd = rl_system_fd(ctx, server);
  intptr_t got;
  got = recv(fd, RL_AS(char *, data), RL_AS(uint16_t, size), 0);
  return got == 0 ? -1 : rl_system_result(fd, got);
}

static void rl_system_close(void *ctx, int server) {
  (void)rl_system_close_socket(rl_system_fd(ctx, server));
}

static int rl_system_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  redlock *rl = RL_AS(redlock *, ctx);
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int i, ready;
  for (i = 0; i < count; i++) {
    fds[i].fd = RL_AS(rl_socket, want[i].fd);
    fds[i].events = POLLIN;
    fds[i].revents = 0;
    if (want[i].events & REDLOCK_WRITE) fds[i].events |= POLLOUT;
  }
  if (timeout_ms > 60000) timeout_ms = 60000; /* early is allowed, overflow is not */
  ready = rl_system_poll(fds, count, RL_AS(int, timeout_ms));
  for (i = 0; ready >= 0 && i < count; i++)
    if (fds[i].revents) rl->ready |= rl->server[want[i].server].bit;
  return ready;
}

static const redlock_io rl_system = {
  rl_system_open, rl_system_send, rl_system_recv, rl_system_close,
  rl_system_wait, rl_system_now_ms, rl_system_entropy, RL_NULL
};

/* Sets the back end up if the caller brings no io; 0 = there is none. */
static int rl_choose_io(redlock *rl) {
  const redlock_io *own = rl->options.io;
  rl->io = own ? own : &rl_system;
  rl->ctx = own ? own->ctx : rl;
  rl->process = own ? 0 : rl_system_start();
  return 1;
}

static int rl_is_system(const redlock *rl) { return rl->io == &rl_system; }

/* R17 */
static int rl_is_forked(const redlock *rl) {
  return rl_is_system(rl) && rl->process != rl_system_process();
}

#else

static int rl_choose_io(redlock *rl) {
  rl->io = rl->options.io;
  rl->ctx = rl->io ? rl->io->ctx : RL_NULL;
  return rl->io != RL_NULL;
}

static int rl_is_system(const redlock *rl) { return !rl->io; }

static int rl_is_forked(const redlock *rl) { return !rl->io; }

static int rl_system_resolve(redlock *rl, rl_server *s) { return rl->server != s || !rl->io; }

#endif

/* ---- The public calls ------------------------------------------------------------------------ */

static const char rl_twice[] = "this address is in the list twice";
static const char rl_too_many[] = "more servers than REDLOCK_MAX_SERVERS";
static const char rl_not_held[] = "the lock is not held";
static const char rl_under_way[] = "the lock is busy"; /* pending, kept, or to be handed back */

/* What was refused leaves its reason. No more of a client built otherwise may be there. */
static redlock_status rl_invalid(redlock *rl, const char *why) {
  if (rl && rl->servers != RL_MISBUILT) rl_blame(rl, why);
  return REDLOCK_INVALID;
}

static redlock_status rl_take_options(redlock *rl, const redlock_options *options) {
  redlock_options *o = &rl->options;
  uint32_t *min = &o->retry_delay_min_ms, *max = &o->retry_delay_max_ms;
  if (options) *o = *options;
  if (o->server_timeout_ms == 0) o->server_timeout_ms = 250;
  if (o->drift_ppm == 0) o->drift_ppm = 10000;
  if (*max == 0) *max = *min > 200 ? *min : 200;
  if (o->max_ttl_ms != RL_MAX_TTL(rl)) /* no quarantine: not one in name alone */
    return rl_invalid(rl, "max_ttl_ms: REDLOCK_NO_QUARANTINE is set");
  if (RL_FENCING(rl) && o->max_ttl_ms / 4 < o->server_timeout_ms) /* R25 */
    return rl_invalid(rl, "fencing: max_ttl_ms is below 4 * server_timeout_ms");
  if (o->drift_ppm >= 1000000) return rl_invalid(rl, "drift_ppm: 1 000 000 or more");
  if (*min > *max) return rl_invalid(rl, "retry_delay_min_ms is above the maximum");
  return rl_choose_io(rl) ? REDLOCK_OK : rl_invalid(rl, "options.io is missing");
}

/* What is wrong with the next server's entry; NULL = nothing. */
static const char *rl_judge_entry(redlock *rl, rl_server *s) {
  const rl_server *other = rl->server;
  rl_target t;
  if (!rl_parse_target(s->entry, &t))
    return "want host[:port], [v6]:port, unix:/path or redis://[user:password@]host[:port][/db]";
  s->layered = t.tls;
  if (t.tls && !(RL_HAS_LAYER && rl->options.tls))
    return "TLS: give options.tls, as examples/tls.c does, or your own io with redis://";
  if (rl_lacks_password(rl, &t)) return "a user needs a password: user:password@host";
  for (; other != s; other++)
    if (rl_is_twin(&t, other)) return rl_twice;
  return rl_is_system(rl) && !rl_system_resolve(rl, s) ? rl_twice : RL_NULL;
}

/* Takes the entries of the list; what is wrong with one stays as that server's error too. */
static redlock_status rl_take_list(redlock *rl, const char *list) {
  while (*(list += strspn(list, RL_BETWEEN)) != 0) {
    rl_server *s = rl->last;
    const char *problem;
    if (rl->servers == REDLOCK_MAX_SERVERS) {
      rl_say(rl->server, rl_too_many);
      return rl_invalid(rl, rl_too_many);
    }
    rl->last++;
    s->index = rl->servers++;
    s->bit = RL_AS(rl_set, UINT32_C(1) << s->index);
    s->fd = -1;
    s->entry = list;
    problem = rl_judge_entry(rl, s);
    if (problem) {
      rl_say(s, problem);
      return rl_invalid(rl, problem);
    }
    list += rl_entry(list).size;
  }
  rl->quorum = RL_AS(uint8_t, rl->servers / 2 + 1); /* R5 */
  return rl->servers ? REDLOCK_OK : rl_invalid(rl, "the list of servers is empty");
}

static void rl_empty(rl_link *list) { list->next = list->prev = list; }

REDLOCK_API redlock_status redlock_init_sized(redlock *rl, const char *servers,
                                              const redlock_options *options, size_t client_size,
                                              size_t lock_size) {
  redlock_status status;
  if (!rl) return REDLOCK_INVALID;
  if (client_size != sizeof *rl || lock_size != sizeof(redlock_lock)) {
    rl->servers = RL_MISBUILT; /* no more of it may be there */
    return REDLOCK_INVALID;
  }
  memset(rl, 0, sizeof *rl);
  rl_empty(&rl->line);
  rl->urgent = &rl->line;
  rl_empty(&rl->live);
  rl_empty(&rl->decided);
  rl->due_ms = INT64_MAX;
  rl->last = rl->server;
  status = rl_take_options(rl, options);
  if (status == REDLOCK_OK) status = rl_take_list(rl, servers ? servers : "");
  if (status == REDLOCK_OK && !rl_tick(rl)) status = REDLOCK_SYSTEM;
  if (status == REDLOCK_OK) rl->log = rl->commands;
  return status;
}

/* Whether this is a client, and this is its process. */
static int rl_is_ready(const redlock *rl) { return rl_is_client(rl) && !rl_is_forked(rl); }

/* OK = the same, and there is a lock. */
static redlock_status rl_check_call(redlock *rl, const void *lock) {
  if (!rl_is_client(rl)) return rl_invalid(rl, "no client: moved, closed, or init failed");
  if (rl_is_forked(rl)) return rl_invalid(rl, "the client is another process's");
  return lock ? REDLOCK_OK : rl_invalid(rl, "lock is NULL");
}

REDLOCK_API redlock_status redlock_resolve(redlock *rl) {
  redlock_status status = rl_check_call(rl, rl);
  int i;
  if (status != REDLOCK_OK) return status;
  for (i = 0; rl_is_system(rl) && i < rl->servers; i++) {
    if (rl_system_resolve(rl, &rl->server[i])) continue;
    rl_say(&rl->server[i], rl_twice);
    status = rl_invalid(rl, rl_twice);
  }
  return status;
}

/* The next decided lock, NULL = none. A lapsed one comes back decided once it is being released. */
static redlock_lock *rl_next_decided(redlock *rl) {
  redlock_lock *lock;
  while ((lock = rl_first(&rl->decided)) != RL_NULL)
    if (rl_hand_back(rl, lock)) return lock;
  return RL_NULL;
}

/* How long redlock_close still waits for a server, in ms: for its last bytes to leave, and briefly
   for their answers, since closing a socket with unread replies makes the other side drop what it
   has not read yet. */
static int64_t rl_parting_ms(const redlock *rl, const rl_server *s, int64_t start_ms) {
  int64_t limit = rl->options.server_timeout_ms;
  int leaves = s->state != RL_CLOSED && (rl_events(rl, s) & REDLOCK_WRITE);
  if (!leaves && (s->owed == 0 || s->stalled)) return 0;
  if (limit > RL_CLOSE_MS && !(leaves && s->state == RL_READY)) limit = RL_CLOSE_MS;
  return start_ms + limit - rl->now_ms;
}

REDLOCK_API void redlock_close(redlock *rl) {
  redlock_lock *lock;
  rl_server *s;
  int64_t start, left;
  if (!rl_is_client(rl)) return;
  if (rl_is_forked(rl)) {
    rl->options.closing = RL_NULL;
  } else {
    (void)rl_tick(rl);
    start = rl->now_ms;
    while ((lock = rl_undecided(rl)) != RL_NULL) rl_withdraw(rl, lock);
    while ((lock = rl_first(&rl->decided)) != RL_NULL) rl_withdraw(rl, lock);
    rl_work(rl);
    for (s = rl->server; s != rl->last; s++)
      while ((left = rl_parting_ms(rl, s, start)) > 0)
        if (!rl_wait(rl, RL_NULL, left) || !rl_tick(rl)) start = INT64_MIN / 2;
  }
  for (s = rl->server; s != rl->last; s++) rl_shut(rl, s);
  memset(rl, 0, sizeof *rl);
}

static redlock_status rl_check_ttl(redlock *rl, uint32_t ttl_ms) {
  if (RL_MAX_TTL(rl) && ttl_ms > RL_MAX_TTL(rl))
    return rl_invalid(rl, "ttl_ms is above max_ttl_ms"); /* R24 */
  return rl_validity_ms(rl, ttl_ms) > 0 ? REDLOCK_OK : rl_invalid(rl, "ttl_ms is too short");
}

/* Begins an operation. The next step or wait encodes it when it can be sent; T1 is taken then. */
static redlock_status rl_start(redlock *rl, redlock_lock *lock, uint8_t task,
                               redlock_operation operation) {
  lock->status = REDLOCK_PENDING;
  lock->operation = operation;
  rl_queue(rl, lock, task);
  return REDLOCK_PENDING;
}

static const char rl_long_name[] = "the resource's name is too long";

REDLOCK_API redlock_status redlock_start_acquire(redlock *rl, redlock_lock *lock,
                                                 const char *resource, uint32_t ttl_ms,
                                                 uint32_t wait_ms) {
  redlock_status status = rl_check_call(rl, lock);
  size_t size = 0;
  uint32_t hash = 0;
  if (status == REDLOCK_OK) status = rl_check_ttl(rl, ttl_ms);
  if (status != REDLOCK_OK) return status;
  while (resource && size <= REDLOCK_MAX_RESOURCE && resource[size])
    hash = rl_hash(hash, resource[size++]);
  if (size == 0) return rl_invalid(rl, "the resource's name is empty");
  if (size > REDLOCK_MAX_RESOURCE) return rl_invalid(rl, rl_long_name);
  if (lock != rl->handed && rl_owns(rl, lock)) return rl_invalid(rl, rl_under_way);
  memset(lock, 0, offsetof(redlock_lock, user));
  lock->operation = REDLOCK_ACQUIRE;
  lock->status = REDLOCK_SYSTEM;
  if (!rl_tick(rl)) return REDLOCK_SYSTEM;
  lock->ttl_ms = lock->ask_ms = ttl_ms;
  lock->max_hold_ms = RL_AS(uint32_t, rl->now_ms);
  lock->since_ms = wait_ms == REDLOCK_FOREVER ? INT64_MAX : rl->now_ms + wait_ms;
  lock->resource_size = RL_AS(uint16_t, size);
  memcpy(lock->resource, resource, size);
  lock->hash = hash;
  return rl_start(rl, lock, RL_SET, REDLOCK_ACQUIRE);
}

/* The value may be this very lock's. Nothing is encoded before the next step. */
REDLOCK_API redlock_status redlock_start_adopt(redlock *rl, redlock_lock *lock,
                                               const char *resource, uint32_t ttl_ms,
                                               const char value[20]) {
  char old[RL_VALUE_BYTES];
  redlock_status status = rl_check_call(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (!value) return rl_invalid(rl, "value is NULL");
  if (resource && strlen(resource) + RL_VALUE_BYTES > REDLOCK_MAX_RESOURCE)
    return rl_invalid(rl, rl_long_name);
  memcpy(old, value, sizeof old);
  status = redlock_start_acquire(rl, lock, resource, ttl_ms, 0);
  if (status != REDLOCK_PENDING) return status;
  memcpy(lock->resource + RL_OLD_AT, old, sizeof old);
  lock->adopts = 1;
  return status;
}

/* OK = the lock is held, no operation is pending, and its deadline has not passed. */
static redlock_status rl_check_held(redlock *rl, const redlock_lock *lock) {
  redlock_status status = rl_check_call(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (!lock->granted) return rl_invalid(rl, rl_not_held);
  if (lock->phase != RL_IDLE && lock->phase != RL_KEEPING) return rl_invalid(rl, rl_under_way);
  if (!rl_tick(rl)) return REDLOCK_SYSTEM;
  return rl->now_ms < lock->deadline_ms ? REDLOCK_OK : REDLOCK_EXPIRED;
}

REDLOCK_API redlock_status redlock_start_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms) {
  redlock_status status = rl_check_held(rl, lock);
  if (status == REDLOCK_OK) status = rl_check_ttl(rl, ttl_ms);
  if (status != REDLOCK_OK) return status;
  if (lock->kept) return rl_invalid(rl, rl_under_way);
  if (rl_clip(rl, lock, ttl_ms) == 0) return REDLOCK_LIMIT;
  lock->ask_ms = ttl_ms;
  if (lock->ttl_ms < ttl_ms) lock->ttl_ms = ttl_ms;
  return rl_start(rl, lock, RL_EXTEND, REDLOCK_EXTEND);
}

REDLOCK_API redlock_status redlock_start_release(redlock *rl, redlock_lock *lock) {
  redlock_status status = rl_check_call(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (lock->phase != RL_IDLE) {
    int acquiring = lock->operation == REDLOCK_ACQUIRE && !lock->kept;
    if (!rl_owns(rl, lock)) return rl_invalid(rl, rl_not_held);
    if (lock->task == RL_RELEASE && lock->phase != RL_DECIDED) return rl_invalid(rl, rl_under_way);
    if (!acquiring && !lock->deadline_ms) return REDLOCK_EXPIRED; /* still to be handed back */
    (void)rl_tick(rl);
    rl_withdraw(rl, lock);
    if (acquiring) return REDLOCK_CANCELLED;
  }
  if (!lock->granted) return rl_invalid(rl, rl_not_held);
  if (!lock->deadline_ms) return REDLOCK_EXPIRED;
  lock->deadline_ms = 0; /* the hold ends here, whatever the servers say */
  return rl_start(rl, lock, RL_RELEASE, REDLOCK_RELEASE);
}

REDLOCK_API redlock_status redlock_cancel(redlock *rl, redlock_lock *lock) {
  redlock_status status = rl_check_call(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (!rl_owns(rl, lock)) return rl_invalid(rl, "nothing is pending");
  (void)rl_tick(rl);
  rl_withdraw(rl, lock);
  return REDLOCK_OK;
}

REDLOCK_API redlock_status redlock_keep(redlock *rl, redlock_lock *lock, uint32_t max_hold_ms) {
  redlock_status status = rl_check_held(rl, lock);
  if (status != REDLOCK_OK) return status;
  lock->max_hold_ms = max_hold_ms ? max_hold_ms : rl->options.max_hold_ms;
  if (lock->kept) return REDLOCK_OK;
  lock->kept = lock->urgent = 1; /* it may run out for want of room */
  lock->task = RL_EXTEND;
  rl_keep_on(rl, lock, UINT32_MAX);
  return REDLOCK_OK;
}

REDLOCK_API redlock_lock *redlock_step_on(redlock *rl, uint32_t ready) {
  if (!rl_is_ready(rl)) return RL_NULL;
  rl->ready |= RL_AS(rl_set, ready);
  if (rl_is_empty(&rl->decided)) rl_turn(rl);
  return rl_next_decided(rl);
}

REDLOCK_API redlock_lock *redlock_step(redlock *rl) { return redlock_step_on(rl, UINT32_MAX); }

REDLOCK_API redlock_lock *redlock_wait(redlock *rl, int64_t timeout_ms) {
  if (!rl_is_ready(rl)) return RL_NULL;
  if (timeout_ms < 0 && !rl_undecided(rl)) timeout_ms = 0;
  (void)rl_wait(rl, RL_NULL, timeout_ms);
  return rl_next_decided(rl);
}

REDLOCK_API int64_t redlock_timeout_ms(const redlock *rl) {
  if (!rl_is_ready(rl)) return -1;
  return rl_is_empty(&rl->decided) ? rl_timeout_ms(rl) : 0;
}

REDLOCK_API int redlock_fds(const redlock *rl, redlock_fd *fds, int capacity) {
  return rl_is_ready(rl) ? rl_fds(rl, fds, capacity) : 0;
}

REDLOCK_API redlock_status redlock_acquire(redlock *rl, redlock_lock *lock, const char *resource,
                                           uint32_t ttl_ms, uint32_t wait_ms) {
  return rl_block(rl, lock, redlock_start_acquire(rl, lock, resource, ttl_ms, wait_ms));
}

REDLOCK_API redlock_status redlock_adopt(redlock *rl, redlock_lock *lock, const char *resource,
                                         uint32_t ttl_ms, const char value[20]) {
  return rl_block(rl, lock, redlock_start_adopt(rl, lock, resource, ttl_ms, value));
}

REDLOCK_API redlock_status redlock_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms) {
  return rl_block(rl, lock, redlock_start_extend(rl, lock, ttl_ms));
}

REDLOCK_API redlock_status redlock_release(redlock *rl, redlock_lock *lock) {
  redlock_status status = redlock_start_release(rl, lock);
  if (status == REDLOCK_EXPIRED && lock->phase != RL_IDLE) status = REDLOCK_PENDING; /* its loss */
  return rl_block(rl, lock, status);
}

REDLOCK_API int64_t redlock_remaining_ms(const redlock *rl, const redlock_lock *lock) {
  int64_t now;
  if (!lock || lock->deadline_ms == 0 || !rl_is_ready(rl)) return 0;
  now = rl_now(rl);
  return now < 0 || now >= lock->deadline_ms ? 0 : lock->deadline_ms - now;
}

REDLOCK_API const char *redlock_strerror(redlock_status status) {
  if (!RL_HAS_TEXTS) return "";
  switch (RL_AS(int, status)) {
    case REDLOCK_OK: return "ok";
    case REDLOCK_PENDING: return "not decided yet";
    case REDLOCK_TAKEN: return "taken";
    case REDLOCK_NO_QUORUM: return "no quorum";
    case REDLOCK_EXPIRED: return "expired";
    case REDLOCK_CANCELLED: return "cancelled";
    case REDLOCK_LIMIT: return "max_hold_ms is reached";
    case REDLOCK_INVALID: return "invalid";
    case REDLOCK_SYSTEM: return "clock, entropy or wait failed";
    default: return "unknown status";
  }
}

REDLOCK_API const char *redlock_server_error(const redlock *rl, int server) {
  if (!rl || server < -1 || server >= rl->servers) return RL_NULL;
  if (rl->servers == RL_MISBUILT) return "built with other REDLOCK_ sizes";
  if (server < 0) return rl->failed ? rl->failed : "";
  return rl->server[server].error;
}

REDLOCK_API redlock_status redlock_server_status(const redlock *rl, int server,
                                                 redlock_server_info *info) {
  const rl_server *s;
  int64_t left = 0;
  if (!rl_is_ready(rl) || !info || server < 0 || server >= rl->servers) return REDLOCK_INVALID;
  s = &rl->server[server];
  if (RL_MAX_TTL(rl) && s->run_id) left = s->born_ms + RL_MAX_TTL(rl) - rl_latest_ms(rl);
  info->connected = s->state == RL_READY && s->greeting == 0;
  info->tracking = s->wakes == 2;
  info->quarantine_ms = left > 0 ? left : 0;
  info->clock_offset_us = rl_offset_us(rl, s);
  return REDLOCK_OK;
}

#endif /* RL_UNFIT */
#endif /* REDLOCK_IMPLEMENTATION */
