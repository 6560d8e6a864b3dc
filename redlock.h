/* redlock.h - 1.3.0 - the Redlock distributed lock in one C header - MIT-0

   A lock over N independent Redis or Valkey masters that stays correct while servers die, freeze or
   reply late; with max_ttl_ms, also while they restart. C90 with stdint.h, and C++98; beyond that
   only libc. No malloc, no threads, no globals, no floating point. T1 is when a round begins,
   before its first send. Numbers such as (R7) name the rules, far below: search for "The rules".

   WHAT TO DO
     In ONE file:        #define REDLOCK_IMPLEMENTATION
                         #include "redlock.h"
     In all others:      #include "redlock.h"
     -std=c99 (and any -std=cNN) hides POSIX names: add -D_POSIX_C_SOURCE=200809L.
     Windows: link ws2_32 and bcrypt; in the one file, include this before windows.h.

   HELLO
     #define REDLOCK_IMPLEMENTATION // in one file of your program
     #include "redlock.h"
     #include <stdio.h>

     int main(void) {
       redlock rl;
       redlock_lock lock;
       // NULL: default options; set max_ttl_ms if two holders would do harm
       if (redlock_init(&rl, "127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003", NULL)) return 1;
       // hold it for at most 10 s, even if this process dies; wait for up to 3 s
       redlock_status status = redlock_acquire(&rl, &lock, "invoice:42", 10000, 3000);
       if (status == REDLOCK_OK) {
         printf("locked for %ld ms\n", (long)redlock_remaining_ms(&rl, &lock)); // your work
         status = redlock_release(&rl, &lock);
       }
       printf("%s\n", redlock_strerror(status));
       redlock_close(&rl);
     }

   MANY LOCKS, ONE THREAD
     The blocking calls are a loop over the stepping ones. To keep hundreds of locks in flight, call
     redlock_start_acquire for each, then redlock_wait until it has returned every lock.

   AN EVENT LOOP OF YOUR OWN
     After every call that starts, cancels, keeps, steps or resolves, ask redlock_fds and
     redlock_timeout_ms what to watch and for how long. When a descriptor is ready or the time is
     up, call redlock_step_on with the servers that are ready, then with 0 until it returns NULL.
     (When something is due by the clock, a step reads from all of them anyway.) Stop watching a
     descriptor before it is closed: options.closing tells you in time.

   RECIPES
     Before you free an object that contains a lock, such as a pooled request, call
     redlock_start_release and then redlock_cancel, whatever its state and whatever they return. The
     client then no longer refers to the struct; a release that is still due goes out with the next
     step, or with redlock_close.
     A minimum hold, though the work was short: redlock_cancel if the lock is kept, redlock_extend
     to the rest of that time, and no release; redlock_close leaves it held. That time plus the ttl
     must be shorter than the period of the work, or the lock of one run may still be held when the
     next one begins, which then does nothing.
     A retry count and a delay, as other libraries have them, are mostly wait_ms = count * delay:
     servers wake waiting clients, so no delay is needed. (For exactly so many attempts, so far
     apart, see options.max_attempts.)

   OPTIONS, for the compiler: the same in every file that includes the header
     REDLOCK_MAX_SERVERS    7     servers in the list (1 to 32)
     REDLOCK_MAX_RESOURCE   128   bytes of a resource's name (1 to 4096)
     REDLOCK_MAX_COMMANDS   32    size of the command ring; a power of two, 4 or more
     REDLOCK_MAX_ERROR      112   bytes of the error text kept for each server (16 or more)
     REDLOCK_NO_POSIX             no system sockets and no options.tls: options.io must be given
     REDLOCK_NO_DNS               numeric addresses only, no getaddrinfo: saves 48 bytes per server
     REDLOCK_NO_TEXTS             every error text is ""
     REDLOCK_NO_QUARANTINE        no max_ttl_ms: if servers restart at will, two clients may hold
                                  one lock (R24); two entries with one run_id go unnoticed (R5)
     REDLOCK_NO_FENCING           no fencing tokens (R25); implied by REDLOCK_NO_QUARANTINE
     REDLOCK_NO_URL               no redis:// in the list: database 0 only, one password for all,
                                  no options.tls
     REDLOCK_STATIC               all functions are static: define REDLOCK_IMPLEMENTATION in each
                                  file
     REDLOCK_API                  what precedes each function, for a DLL; in C++ with extern "C"
     REDLOCK_ASSERT(truth)        checks invariants, as assert would; does nothing by default
   Sizes are plain numbers. Two files that see other structs do not link: version and sizes stand in
   the symbols of the functions. What else changes structs is found by redlock_init, which compares
   the sizes that its caller sees. With GCC and Clang, -fshort-enums changes none, and packed
   structs, as where another header has left packing on, do not compile. If a program has a second
   copy of this version, as in a library that it links, define REDLOCK_STATIC where yours is
   included.
   The smallest useful sizes are 3, 16, 4 and 16: with REDLOCK_NO_DNS and REDLOCK_NO_FENCING, client
   and lock then take about 1 KB together on 32 bits. For W locks in flight at once, allow 2 W + 2
   commands, of REDLOCK_MAX_RESOURCE and about 90 bytes each (80 on 32 bits). With 256 commands or
   more, what one lock costs does not grow with the number of locks, and calls that block need not
   wait until kept locks are extended: choose that for clients with more than about a thousand
   locks, pending or kept. (REDLOCK_RING_BYTES of 0.1.0 is ignored.)

   OWNERSHIP AND THREADS
     The caller owns every struct; the list of servers, the strings in the options, the io and the
     layer must outlive the client. One client belongs to one thread and one process. In a forked
     child, calls that block return INVALID, and what is started becomes INVALID with the next step:
     all that a child can do is to close it (R17; with an io of your own, nothing notices a fork).
     Sockets are closed by exec, and none raises SIGPIPE (R14). Clients share nothing. A call while
     another is blocked or steps is an error, often detected (INVALID), not always. Threads may
     share a client if a mutex of yours is held around every call, even those that only ask, and
     wherever a lock's members are read; a blocking call keeps the others out for as long as it
     takes. The options are copied. Neither they nor the list can be changed later: close the
     client, and begin anew. Do not move or copy a client after redlock_init: every call on the copy
     is INVALID. A lock belongs to the client while it is pending, kept, or decided but not yet
     returned by redlock_step or redlock_wait: until then do not move, copy or free it. So keep both
     in memory that does not move and is not garbage-collected: C.calloc in Go, a Box in Rust. A
     held lock is for the client that took it: another one adopts it by its value
     (redlock_start_adopt).

   ERRORS
     Calls return a redlock_status; its comments below say what to do about each.
     redlock_server_error says what is wrong with one server, in the server's own words if it sent
     any. What to do about it, by how the text begins:
     LOADING, BUSY                          nothing: it passes
     NOAUTH, WRONGPASS                      check user and password
     NOPERM                                 give the user the rights under RIGHTS in redlock(1); if
                                            it speaks of keys, also the resource's name (~NAME)
     ERR ACL failure, ERR The user          the same: NOPERM within a script
     ERR unknown command, ERR Unknown Redis the server lacks or renames SET, EVAL, GET, DEL, PTTL,
                                            PEXPIRE or INFO; of DELEX, DELIFEQ: nothing
     READONLY, MASTERDOWN                   list masters only, no replica
     not a master                           list plain masters only, no replica, no Cluster
     no run_id                              max_ttl_ms needs a server whose INFO has one
     MOVED, ASK, CLUSTERDOWN, CROSSSLOT     list plain masters only, no Cluster
     OOM, MISCONF, NOREPLICAS               check its memory, disk, min-replicas-to-write
     DENIED, ERR max number of clients      check its protected-mode, maxclients
     WRONGTYPE                              something else uses this key: choose another name
     no connection                          is it running? Is the address right? If it runs, does
                                            this port want TLS?
     it hangs up                            does this port want TLS? Else see the server's log
     no TLS handshake (a layer's words)     the port answers, but not in TLS
     self-signed certificate, unable to get the layer does not trust the server's authority
     hostname mismatch, IP address mismatch list it by the name or number in its certificate
     name not found                         check the list and DNS, then redlock_resolve
     (the name) has 3 addresses             it is several servers: list each by an address or a
                                            name of its own; one IPv4 and one IPv6 address are one
     no answer within server_timeout_ms     (or what was left of the lock, if less): is it frozen,
                                            overloaded, or too far away for that time? If it is
                                            well, a firewall or NAT between has forgotten the
                                            connection: in 6 s there is a new one (R13).
                                            If it answers a few locks and not many, the
                                            path drops large packets (MTU)
     not an answer of Redis                 check host and port; does this port want TLS?
     the same server as another entry       correct the list
     clock is off                           set its clock: tokens need it (R25)
     restarted                              nothing: it votes again when max_ttl_ms, and up to
                                            2 s more, have passed since its start; or, if we
                                            knew it before, since we heard of the restart (R24)
     has not answered the handshake yet     nothing, unless it stays so: is it overloaded?
     a part, such as LOADI                  the connection broke within an error: try again
     @user_script                           Redis before 7.0 puts this before the error of a script

   WHAT NO CLIENT CAN PROMISE
     A process that pauses after the grant can outlive its lock: where that matters, the resource
     itself must refuse its writes, by the lock's token (R25). If a server's clock is stepped
     forward, its keys expire early, and if it has restarted, it seems old enough to vote. A server
     that restarts empty has forgotten its locks: set max_ttl_ms (R24).

   LICENCE
     MIT No Attribution (MIT-0); see LICENSE. */

#ifndef REDLOCK_H
#define REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#define REDLOCK_VERSION "1.3.0"
#define REDLOCK_VERSION_NUMBER 10300 /* 10000 * major + 100 * minor + patch */

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

/* private: no warning of what a file does not call; C90 has no word for that, most compilers do */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define RL_INLINE inline
#elif defined(__GNUC__) || defined(_MSC_VER)
#define RL_INLINE __inline
#else
#define RL_INLINE
#endif

#ifdef REDLOCK_API /* yours */
#elif defined(REDLOCK_STATIC)
#define REDLOCK_API static RL_INLINE
#elif defined(__cplusplus)
#define REDLOCK_API extern "C"
#else
#define REDLOCK_API extern
#endif

/* The version and the sizes stand in the symbols, so that two files which see other structs do not
   link, and two versions do not get in each other's way. */
#ifndef REDLOCK_STATIC
#ifdef REDLOCK_NO_FENCING
#define RL_TOKENS n
#else
#define RL_TOKENS f
#endif
#ifdef REDLOCK_NO_POSIX
#define RL_SOCKETS n
#elif defined(REDLOCK_NO_DNS)
#define RL_SOCKETS d
#else
#define RL_SOCKETS p
#endif
#define RL_PASTE(name, v, s, r, c, e, t, p) redlock_##name##_##v##_##s##_##r##_##c##_##e##_##t##p
#define RL_EXPAND(name, v, s, r, c, e, t, p) RL_PASTE(name, v, s, r, c, e, t, p)
#define RL_SIZED(name)                                                                       \
  RL_EXPAND(name, REDLOCK_VERSION_NUMBER, REDLOCK_MAX_SERVERS, REDLOCK_MAX_RESOURCE,         \
            REDLOCK_MAX_COMMANDS, REDLOCK_MAX_ERROR, RL_TOKENS, RL_SOCKETS)
#define redlock_init_sized RL_SIZED(init_sized)
#define redlock_resolve RL_SIZED(resolve)
#define redlock_close RL_SIZED(close)
#define redlock_acquire RL_SIZED(acquire)
#define redlock_adopt RL_SIZED(adopt)
#define redlock_extend RL_SIZED(extend)
#define redlock_release RL_SIZED(release)
#define redlock_start_acquire RL_SIZED(start_acquire)
#define redlock_start_adopt RL_SIZED(start_adopt)
#define redlock_start_extend RL_SIZED(start_extend)
#define redlock_start_release RL_SIZED(start_release)
#define redlock_cancel RL_SIZED(cancel)
#define redlock_step RL_SIZED(step)
#define redlock_step_on RL_SIZED(step_on)
#define redlock_wait RL_SIZED(wait)
#define redlock_keep RL_SIZED(keep)
#define redlock_fds RL_SIZED(fds)
#define redlock_timeout_ms RL_SIZED(timeout_ms)
#define redlock_remaining_ms RL_SIZED(remaining_ms)
#define redlock_strerror RL_SIZED(strerror)
#define redlock_server_error RL_SIZED(server_error)
#define redlock_server_status RL_SIZED(server_status)
#endif

/* private: the structs are the same with every option of the compiler. Those enums that stand in
   them take as many bytes with -fshort-enums, the default of bare ARM, as without. */
#if defined(__CPROVER__) /* which knows no mode */
#define RL_WIDTH
#elif defined(__GNUC__) && defined(__ARM_EABI__) && !defined(__linux__)
#define RL_WIDTH __attribute__((mode(QI)))
#elif defined(__GNUC__)
#define RL_WIDTH __attribute__((mode(SI)))
#else
#define RL_WIDTH
#endif
#ifdef __GNUC__ /* if this fails, structs are packed here, and are not those of other files */
struct rl_unpacked {
  char first;
  void *second;
};
typedef char rl_check_packing[sizeof(struct rl_unpacked) - sizeof(void *) == __alignof__(void *)
                                  ? 1 : -1];
#endif

#define REDLOCK_FOREVER UINT32_MAX /* as wait_ms: never give up */

typedef enum redlock_status {
  REDLOCK_OK = 0,         /* work, within redlock_remaining_ms */
  REDLOCK_PENDING = 1,    /* not decided yet: keep stepping */
  REDLOCK_TAKEN = -1,     /* another client holds it, or several that try at once have split the
                             votes, or a server has seen a greater token: try again later, or
                             wait */
  REDLOCK_NO_QUORUM = -2, /* too few servers voted: redlock_server_error says which and why. After
                             an extension the lock is still held: try again. After a release it
                             is not: there is nothing to do */
  REDLOCK_EXPIRED = -3,   /* its time ran out, or the lock is no longer ours: stop the work */
  REDLOCK_CANCELLED = -4, /* by redlock_cancel, or by a release before the grant */
  REDLOCK_LIMIT = -5,     /* max_hold_ms allows no more: finish before redlock_remaining_ms is 0 */
  REDLOCK_INVALID = -6,   /* a bad argument, a call out of order, another process: no effect.
                             redlock_server_error(rl, -1) says which: fix the caller */
  REDLOCK_SYSTEM = -7     /* clock, entropy or waiting failed: redlock_server_error(rl, -1) says
                             which */
} RL_WIDTH redlock_status;

typedef enum redlock_operation {
  REDLOCK_ACQUIRE = 1, /* an adoption, too */
  REDLOCK_EXTEND,
  REDLOCK_RELEASE,
  REDLOCK_LOST /* a kept lock is returned, for good: EXPIRED, LIMIT, NO_QUORUM or SYSTEM says why.
                  After all but EXPIRED it is still held for redlock_remaining_ms */
} RL_WIDTH redlock_operation;

typedef enum redlock_vote {
  REDLOCK_VOTE_NONE,        /* no answer yet, or none was needed */
  REDLOCK_VOTE_YES,         /* set, extended or deleted */
  REDLOCK_VOTE_TAKEN,       /* another value is there, or ours is missing */
  REDLOCK_VOTE_TIMEOUT,     /* no answer in time: server_timeout_ms, or what the lock has left */
  REDLOCK_VOTE_UNREACHABLE, /* no connection, lost before the answer, or its handshake not over */
  REDLOCK_VOTE_ERROR,       /* an error reply, to the handshake too (AUTH, SELECT, INFO...) */
  REDLOCK_VOTE_QUARANTINED, /* restarted less than max_ttl_ms ago (R24) */
  REDLOCK_VOTE_LOW,         /* it has seen a greater token (R25) */
  REDLOCK_VOTE_CLOCK        /* its clock is too far from the others', or not known yet. After LOW
                               and CLOCK another token is tried at once, up to twice (R25) */
} RL_WIDTH redlock_vote;

enum { REDLOCK_READ = 1, REDLOCK_WRITE = 2 };

typedef struct redlock_fd {
  intptr_t fd;         /* what io->open returned */
  int server;          /* position in the list, from 0 */
  unsigned events;     /* REDLOCK_READ | REDLOCK_WRITE; level-triggered */
  uint32_t generation; /* another one after each reconnect: shows epoll users a reused number */
} redlock_fd;

/* The outside world, for those who bring sockets, a clock or a simulator of their own. Only wait
   may block, and no hook may call the client. What a hook reads and does in one call must be
   bounded, whatever a server sends: until it returns, no lock is extended (R10). */
typedef struct redlock_io {
  /* Starts connecting to host and port (for unix:, host starts with '/' and port is ""). All
     clients must find the same server there (R5). Returns a number of your choice, or < 0 = failed;
     so no pointer: above 0x80000000 on 32 bits it is negative (Socket_t of FreeRTOS+TCP is one). A
     stack that takes bytes while it connects is fine. Both strings are valid during the call. */
  intptr_t (*open)(void *ctx, int server, const char *host, const char *port);
  /* Returns how many bytes it accepted; < 0 = broken; 0 = none, also while connecting. It must
     never send a byte that it did not count: the next call may offer others in its place. */
  int (*send)(void *ctx, int server, const void *data, size_t size);
  /* Returns how many bytes it read; < 0 = broken or closed. Fewer than asked for (or 0) = no more
     now: the server must become ready when more arrives. After 16 full reads in a row,
     redlock_timeout_ms is 0, and the next step reads on. */
  int (*recv)(void *ctx, int server, void *data, size_t size);
  /* Closes what open returned; called once for each open that did not fail. */
  void (*close)(void *ctx, int server);
  /* Returns when any is ready or the time is up (-1 = no limit), or earlier; < 0 = failed. */
  int (*wait)(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms);
  /* Monotonic milliseconds, going on during suspend, less than 1 ms behind (R2); < 0 = failed.
     A clock with longer steps makes locks seem valid for up to a step too long: add step_ms *
     1 000 000 / (the shortest ttl_ms) to drift_ppm: 2 000 for steps of 10 ms and a ttl of 5 000. */
  int64_t (*now_ms)(void *ctx);
  /* Fills all of data from a cryptographic source (R3); 0 = success. Two clients that draw the same
     value hold the same lock: so use no built-in seed, no clock and no number of the device. Of the
     20 bytes asked for a value, 12 must be random; a label that tells who holds the lock may come
     first. */
  int (*entropy)(void *ctx, void *data, size_t size);
  void *ctx;
} redlock_io;

/* A layer, such as TLS, over the sockets of the rediss:// entries; examples/tls_openssl.h is one.
   It has nothing to do with names, the clock or waiting. All six functions are required; none may
   block, call the client or raise SIGPIPE. What one call reads (a few kB), does and holds back for
   later must be bounded, even if it is no byte of Redis's and has no end: messages of a handshake,
   tickets, key updates. A library that reads until the socket is empty does not keep to that: give
   it a piece at a time. */
typedef struct redlock_layer {
  /* Begins on what io->open returned, which is still connecting. host is as in the list, without
     brackets, and valid only during the call. 0 = success. */
  int (*open)(void *ctx, int server, intptr_t fd, const char *host);
  /* As in redlock_io; 0 also during the TLS handshake. What send accepted but could not pass on
     must leave at the next call of the layer: the client calls recv whenever the server is ready,
     and recv must send it first. */
  int (*send)(void *ctx, int server, const void *data, size_t size);
  int (*recv)(void *ctx, int server, void *data, size_t size);
  /* Ends what open began, even if open failed. Sends nothing: a forked child calls it too (R17). */
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
  uint32_t server_timeout_ms;  /* default 250: how long one server may take to connect, complete
                                  the handshake and reply (R10). Allow four round trips, six with
                                  TLS. A long one costs nothing while a quorum replies, up to half
                                  of a kept lock's ttl. At most 100 s with max_ttl_ms, or 6 s if
                                  clocks drift by 8.33 % (R24) */
  /* What other libraries call retry count and delay: 3 retries, 200 ms apart with a jitter of
     50 ms, are max_attempts 4, a shortest back-off of 150 and a longest of 250, and wait_ms
     REDLOCK_FOREVER. */
  uint32_t retry_delay_min_ms; /* default 0: shortest back-off between two attempts of a waiting
                                  acquire */
  uint32_t retry_delay_max_ms; /* default 200: longest. It is random; with a minimum of 0, short at
                                  first, then longer. A waiter that servers wake waits for that
                                  instead, unless max_attempts is set (R26) */
  uint32_t max_attempts;       /* default 0: no limit but wait_ms. How many attempts one acquire
                                  makes. Where servers wake the waiter it may make more, but it does
                                  not give up before (max_attempts - 1) * retry_delay_min_ms (R9) */
  uint32_t drift_ppm;          /* default 10 000: clock drift to allow for, below 1 000 000 (R1) */
  uint32_t max_hold_ms;        /* default 0: no limit. Longest hold by extension (R20) */
  uint32_t max_ttl_ms;         /* default 0: restart quarantine off. Longest ttl of any client, the
                                  same in all of them (R24) */
#ifndef REDLOCK_NO_FENCING
  uint32_t fencing;            /* 1 = every grant has a token (R25). Needs max_ttl_ms, the same in
                                  all clients and at least 4 * server_timeout_ms, and servers whose
                                  clocks are right within a tenth of it */
#endif
  const char *username;        /* for entries of the list without user and password; NULL = none */
  const char *password;        /* for those without one; NULL = none */
  const redlock_io *io;        /* NULL = sockets, clock and entropy of the system, POSIX or Windows;
                                  examples/README.md names them */
  const redlock_layer *tls;    /* for rediss:// in the list; NULL = none */
  /* Each may be NULL. The first two replace those of the io, be it yours or the system's. */
  int64_t (*now_ms)(void *ctx);
  int (*entropy)(void *ctx, void *data, size_t size);
  /* Called just before a server's descriptor is closed, but not in a forked child, whose loop may
     be the parent's. It must not call the client. */
  void (*closing)(void *ctx, int server, intptr_t fd);
  void *ctx;                   /* passed to these three */
  uint32_t keep_margin_ms;     /* default 0: how long before its deadline a kept lock that could not
                                  be extended is returned, by the next call: the time that stopping
                                  takes, and the longest time between two calls (R20). Each ttl_ms
                                  must be longer than twice that plus its drift */
} redlock_options;

/* private: a set of servers, one bit each */
#if REDLOCK_MAX_SERVERS <= 8
typedef uint8_t rl_mask;
#elif REDLOCK_MAX_SERVERS <= 16
typedef uint16_t rl_mask;
#else
typedef uint32_t rl_mask;
#endif

/* private: with a large ring there may be thousands of locks. Then none is looked at for the sake
   of another one: those whose timers are not due for a while stand aside, and those that track are
   found by the hashes of their resources. */
#if REDLOCK_MAX_COMMANDS < 4 || (REDLOCK_MAX_COMMANDS & (REDLOCK_MAX_COMMANDS - 1))
#error "redlock.h: REDLOCK_MAX_COMMANDS must be a number, a power of two, and at least 4"
#endif
#define RL_HAS_MANY (REDLOCK_MAX_COMMANDS >= 256)
#define RL_TRACKERS (RL_HAS_MANY ? 16 * REDLOCK_MAX_COMMANDS : 1) /* a power of two */

/* private: links a lock into one of the client's lists */
typedef struct rl_link {
  struct rl_link *next, *prev;
} rl_link;

/* private: what a pending acquire knows, until the grant; 32 bits of a time are the low ones */
typedef struct rl_waiter {
  int64_t last_start_ms;   /* no attempt may start after this, but the first (R9) */
  uint32_t began_ms;       /* when redlock_start_acquire was called */
  uint32_t held_since_ms;  /* when the present holder was first found, or may have come (R26) */
  uint32_t holder_age;     /* the age behind the values of the latest holders (R26) */
  uint32_t told[REDLOCK_MAX_SERVERS]; /* what each server told of the holder in this round: its age,
                                         or RL_NO_AGE; 0 = nothing */
} rl_waiter;

/* private: what a hold is bounded by, from the grant on (R20) */
typedef struct rl_hold {
  int64_t grant_t1_ms;     /* T1 of the grant */
  uint32_t max_hold_ms;    /* 0 = no limit */
  rl_mask answered_by;     /* servers where no SET of it is still to come (R29): they have answered
                              the last one, or were found to hold the value since. Those that said
                              YES in the last round are added as the next one begins */
} rl_hold;

/* One lock. Read status, operation, votes, token and value; `user`, at its end, is yours.
   Zero-initialise it unless its first use is an acquire or an adoption. */
typedef struct redlock_lock {
  rl_link link;                /* private, up to status */
  redlock_status status;       /* of the last operation */
  redlock_operation operation; /* the last one, or the one that is pending */
  uint8_t phase, task;         /* private, up to token: RL_PHASE_, RL_TASK_ */
  uint8_t ever_granted;        /* an acquire of it succeeded once; a release does not clear it */
  uint8_t kept, has_reserved_slot, urgent;
  int8_t last_result;          /* the status of the last finished attempt */
  uint8_t adopts;              /* its SET replaces the value that ends `resource` (R28) */
  uint8_t tracks;              /* its next attempt makes the servers track the key (R26) */
  uint8_t vain;                /* wake-ups in vain, each of which doubles its back-off (R26) */
  uint8_t round_failed;        /* its round has failed, and waits for the last votes (R6) */
  uint8_t extra_rounds;        /* rounds of this attempt after its first (R25); 0 once granted */
  rl_mask maybe_set;           /* servers that were sent a byte of a SET of this value, and may hold
                                  it. A bit is cleared when the server says that it does not (once
                                  held: rl_note_key), and when it has restarted since the last T1 */
  rl_mask maybe_free;          /* servers where it may be free: so said the last attempt, or a push
                                  since (R26) */
  uint16_t slot_ms;            /* twice what its last attempt took (R9) */
  uint16_t holder;             /* the low bits of what was told of the latest holder (R26) */
  uint32_t attempts;
#ifndef REDLOCK_NO_FENCING
  uint64_t token;              /* greater than that of every earlier grant of this resource (R25);
                                  0 = none. Send it with each write: the resource must check it */
#endif
  struct rl_command *command;  /* private, up to votes: its last round's, in the ring. That is
                                  over, and it is another lock's, if command->lock is not this one.
                                  NULL if IDLE */
  uint32_t round_ttl_ms;       /* the ttl that this round requests */
  int64_t t1_ms;               /* T1 of the last round (R1) */
  int64_t deadline_ms;         /* held until then; 0 = not held (R22). Nothing else says so */
  int64_t timer_ms;            /* when its phase ends at the latest */
  union {
    rl_waiter wait;            /* until rl_on_quorum grants it */
    rl_hold hold;              /* from then on */
  } is;
  uint32_t longest_ttl_ms;     /* the longest requested so far: no server keeps our value longer */
  uint16_t resource_size;
  redlock_vote votes[REDLOCK_MAX_SERVERS]; /* of its last round */
  char value[20];              /* what a held lock's keys begin with (R3), any bytes. A SECRET:
                                  whoever knows it can take the lock over, by redlock_adopt */
  char age[3];                 /* private, up to user: what a server stores behind it (R26) */
  char resource[REDLOCK_MAX_RESOURCE];
#if RL_HAS_MANY
  struct redlock_lock *next_tracker; /* the next one in its bucket of `trackers` */
  uint32_t hash;               /* of the resource, once it tracks */
#endif
  void *user;                  /* never read or written by the library */
} redlock_lock;

typedef struct redlock redlock; /* the client; its members stand at the end, and are private */

/* Prepares a client; the first call that needs a server connects to it, and connections stay open.
   A lost one is made again by the next call that needs it. servers: a list, separated by commas or
   white space, of host[:port], [v6]:port, redis://[user[:password]@]host[:port][/db], rediss:// for
   the same over options.tls, and unix:/path; port 6379 by default. It is not copied, since it may
   be of any length: it must outlive the client, so no temporary string will do. Looks names up,
   which may block; a name that is not found makes its server unreachable, and one that has several
   addresses of one family, so that clients may find different servers there, is refused (R5). A
   user needs a password, in the list or in the options. options may be NULL. Returns OK, INVALID
   (redlock_server_error says which entry and why), or SYSTEM if the clock fails. */
static RL_INLINE redlock_status redlock_init(redlock *rl, const char *servers,
                                             const redlock_options *options);

/* What redlock_init calls, with sizeof(redlock) and sizeof(redlock_lock), and what a binding calls
   that declares these structs itself, with the sizes that it gives them. INVALID, without
   a text, if they are others here: then only client_size bytes are cleared, and each later call
   is INVALID. */
REDLOCK_API redlock_status redlock_init_sized(redlock *rl, const char *servers,
                                              const redlock_options *options, size_t client_size,
                                              size_t lock_size);

/* Looks the names up again, which may block; reconnects to a server whose address has changed.
   INVALID if two entries turn out to be one address, or a name has several by now: then the later
   one, or that one, has none until a later call finds it mended. With your own io: does nothing,
   OK. */
REDLOCK_API redlock_status redlock_resolve(redlock *rl);

/* Cancels what is pending and closes. A held lock, kept or not, is NOT released: release it first,
   or it lasts until its ttl ends. (Handlers at a program's exit may run in another order than you
   think, often last in, first out: let one handler do both.) First it sends what is due on open
   connections: roll-backs, and releases that have a slot in the command ring, cancelled or not.
   That takes at most one server_timeout_ms for all servers together; at most 50 ms of it is spent
   waiting for replies, and none on a server that is overdue. In a forked child it only closes
   descriptors (R17). */
REDLOCK_API void redlock_close(redlock *rl);

/* Takes the lock `resource` (1 to REDLOCK_MAX_RESOURCE bytes, any but NUL; copied) for ttl_ms,
   which is at most max_ttl_ms, if that is set, and leaves something after the drift (R1 to R9).
   wait_ms: 0 = one attempt, REDLOCK_FOREVER = never give up, else keep trying for that long; the
   call takes at most one server_timeout_ms more, plus the time that it waits for room in the
   command ring, which other pending locks may fill (R11). Redis 6 and later wake a waiting client
   when the lock may be free (R26); without that it polls. Returns OK, TAKEN, NO_QUORUM, EXPIRED
   (the quorum came too late, or the grant ran out before it could be returned, also with
   REDLOCK_FOREVER), INVALID or SYSTEM. *lock need not be initialised; unless the result is INVALID,
   everything in it except `user` is overwritten. OK: a quorum holds the key, and the ttl counts
   from T1, less drift_ppm of it and 3 ms. A server that could not be sent it by then, since it was
   still connecting or took no bytes, does not hold it before the first extension that reaches it
   (R29). Anything else: each server that was sent the SET is sent the release behind it, whether it
   answered or not; a late answer is dropped (R7, R8). */
REDLOCK_API redlock_status redlock_acquire(redlock *rl, redlock_lock *lock, const char *resource,
                                           uint32_t ttl_ms, uint32_t wait_ms);

/* Takes over a lock that another client (of any process, host or boot) holds, by its lock.value
   (R28). The giver must have stopped: it cancels the lock if that is kept, and makes no further
   call for it. One attempt: a server agrees only if that value is still there, and puts a fresh one
   in its place. OK: the lock is ours, with a new value and token; max_hold_ms counts anew. TAKEN:
   more than a minority say that the value is gone. NO_QUORUM, EXPIRED, or a cancel: try again; what
   is left may suffice. Any failed attempt may end the lock, since what it took over is deleted, and
   a giver that goes on is not notified. Of all that try, at most one succeeds, once. That presumes
   that the giver has stopped, and that servers restart empty: else see Hand-over in
   examples/README.md. resource: at most REDLOCK_MAX_RESOURCE - 20 bytes. */
REDLOCK_API redlock_status redlock_adopt(redlock *rl, redlock_lock *lock, const char *resource,
                                         uint32_t ttl_ms, const char value[20]);

/* Extends a held lock to ttl_ms from now; never shortens it (R18). A server that does not hold its
   key yet is given it (R29). NO_QUORUM changes nothing: try again until redlock_remaining_ms is 0
   (R19). EXPIRED: the lock is lost. LIMIT: it cannot be extended any further, because of
   max_hold_ms. INVALID, among others, while it is kept. */
REDLOCK_API redlock_status redlock_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms);

/* Deletes the key on every server that may hold it, where its value is still ours (R21). Unless
   this returns INVALID, the lock is no longer held from the call on. OK: a quorum has deleted it,
   or did not have it. It does not wait for the others; if one must be reconnected, its release
   leaves with a later call. EXPIRED: it was no longer ours; if servers had said so before, nothing
   is sent. NO_QUORUM: too few servers answered; there is nothing to do: on the others its ttl frees
   the lock, if the release does not reach them before. Like an extension and an adoption, it takes
   at most one server_timeout_ms, plus the time that it waits for room in the command ring (R11). */
REDLOCK_API redlock_status redlock_release(redlock *rl, redlock_lock *lock);

/* The same without blocking: redlock_step does the rest. PENDING on success. Any other status means
   that nothing has changed, with two exceptions: after SYSTEM from an acquire the lock is not held;
   releasing a lock before its grant cancels it (CANCELLED). wait_ms counts from the call, but the
   first attempt is always made, however long it waits for room in the command ring (R11). */
REDLOCK_API redlock_status redlock_start_acquire(redlock *rl, redlock_lock *lock,
                                                 const char *resource, uint32_t ttl_ms,
                                                 uint32_t wait_ms);
REDLOCK_API redlock_status redlock_start_adopt(redlock *rl, redlock_lock *lock,
                                               const char *resource, uint32_t ttl_ms,
                                               const char value[20]);
REDLOCK_API redlock_status redlock_start_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms);
REDLOCK_API redlock_status redlock_start_release(redlock *rl, redlock_lock *lock);

/* Takes the lock out of the client at once; it will not be returned by redlock_step. A pending
   acquire, or a grant not yet returned, is rolled back, by the next step: this sends nothing. After
   a pending extension or a keep, the lock is still held; what is unsent of that is not sent. A
   pending release goes on unattended. If the command ring has no room for it, what is due is sent
   first, and if it still finds none, it is dropped.
   Returns OK, or INVALID if nothing was pending. */
REDLOCK_API redlock_status redlock_cancel(redlock *rl, redlock_lock *lock);

/* Does what is due. Returns a lock that has just been decided, or NULL; each decision is returned
   exactly once. Call it until it returns NULL. Then redlock_timeout_ms says when to call again. */
REDLOCK_API redlock_lock *redlock_step(redlock *rl);

/* The same for an event loop that knows which servers are ready: one bit for each (0 = none, else
   1u << redlock_fd.server). It saves a useless recv on the others. While locks are still being
   returned, the bits are kept for later. */
REDLOCK_API redlock_lock *redlock_step_on(redlock *rl, uint32_t ready);

/* Waits for the network or the clock, at most timeout_ms (-1 = no limit, but not if nothing is
   pending or kept), then steps. NULL: nothing has been decided yet. */
REDLOCK_API redlock_lock *redlock_wait(redlock *rl, int64_t timeout_ms);

/* Milliseconds until redlock_step has something to do, even if no server becomes ready; 0 = now, -1
   = never. */
REDLOCK_API int64_t redlock_timeout_ms(const redlock *rl);

/* What to poll for: fills up to capacity entries and returns how many there are. */
REDLOCK_API int redlock_fds(const redlock *rl, redlock_fd *fds, int capacity);

/* Keeps a held lock: redlock_step, redlock_wait and calls that block extend it, each time to the
   longest ttl_ms that was asked for, until it is released, cancelled or lost. Call one of them when
   redlock_timeout_ms or a descriptor says so, or at least every quarter of ttl_ms - keep_margin_ms:
   one call sends the extension, and the next may be the first to read the answer. (That is enough
   while a quorum of connections lasts: if they break together, each step back takes a call, and one
   every tenth is needed. The more often you call, the longer an outage the lock survives.) An
   extension begins when two fifths of the time from T1 to the end are over; the end is the deadline
   less options.keep_margin_ms. One that fails is repeated after retry_delay_max_ms, or two fifths
   of the time until the end if that is less. If the first call after a pause finds only the margin
   left, one extension is still tried. A lock that cannot be kept is returned with
   the operation REDLOCK_LOST, and status EXPIRED (lost: stop at once), NO_QUORUM (only with a
   margin: it is held for redlock_remaining_ms more; stop within that, then release it) or LIMIT
   (the same, because of max_hold_ms; without a margin it is returned as soon as a further extension
   would gain nothing).
   A long hold needs max_ttl_ms: without it, two of three servers that restart empty, one after the
   other as in every upgrade, end it, although no two were down at once. With it, a server that
   loses the key (it restarts, or is cut off for longer than the ttl) is sent it again. All servers
   may lose it one after another, if between two losses the first votes again and two extensions
   have succeeded (R29). max_hold_ms counts from T1 of the grant; 0 = that of the options (R20).
   Returns OK, EXPIRED, SYSTEM or INVALID (also while an extension is pending). */
REDLOCK_API redlock_status redlock_keep(redlock *rl, redlock_lock *lock, uint32_t max_hold_ms);

/* How long the lock is still ours, in ms; 0 = not held (R22). */
REDLOCK_API int64_t redlock_remaining_ms(const redlock *rl, const redlock_lock *lock);

/* A short text for a status; never NULL. */
REDLOCK_API const char *redlock_strerror(redlock_status status);

/* The last error of a server, in its own words if it sent any (R15; ERRORS above says what to do
   about each); "" = none, NULL = no such server. Server -1 is this side: why the last call was
   INVALID, or which of clock, entropy or waiting failed in it. Valid until the next call with this
   client. What Redis quotes of our arguments is cut; but a server that lies can repeat the password
   that it was sent, so look for it before others see the text. */
REDLOCK_API const char *redlock_server_error(const redlock *rl, int server);

/* What the client knows of a server so far; it asks the server nothing. */
typedef struct redlock_server_info {
  int connected;           /* 1 = it has answered the whole handshake, and the connection stands */
  int tracking;            /* 1 = it wakes waiters when the lock may be free (R26) */
  int native_release;      /* 1 = it releases without a script, by DELEX or DELIFEQ */
  int64_t quarantine_ms;   /* until its votes count; 0 = they do, or it is not known (R24) */
  int64_t clock_offset_us; /* how far it is ahead of the quorum-th slowest clock, which tokens
                              follow: a quarter of max_ttl_ms is too far (R25); 0 may mean that
                              it is not known */
} redlock_server_info;

/* Fills *info; INVALID, without a text, if there is no such server. */
REDLOCK_API redlock_status redlock_server_status(const redlock *rl, int server,
                                                 redlock_server_info *info);

/* ---- Private: what clients are made of. The public part ends here ---------------------------- */

/* private: an address as IPv6 (::ffff:a.b.c.d for IPv4), so that each has one spelling; all zero =
   none */
typedef struct rl_address {
  unsigned char ip[16];
  uint32_t scope;
  uint32_t port;       /* in the network's order */
} rl_address;

enum { RL_MAX_ADDRESSES = 2 }; /* private: addresses kept of each name */

/* private: the lists of a client's locks; rl_list_of chooses one. Timers are run in this order:
   what an active lock has put into the queue waits for the next pass. */
enum {
  RL_LIST_URGENT,  /* waiting for room in the ring, before the others (R11): a blocking call waits
                      for this lock, or it is kept */
  RL_LIST_QUEUED,  /* waiting for room in the ring */
  RL_LIST_ACTIVE,  /* voting, backing off or kept */
  RL_LIST_LATER,   /* of many, those that had RL_LATER_MS to go when they were last looked at */
  RL_LIST_DECIDED = RL_LIST_LATER + RL_HAS_MANY, /* to be returned by redlock_step, redlock_wait */
  RL_LISTS
};

/* private: a number in a reply */
#ifdef REDLOCK_NO_FENCING
typedef uint32_t rl_integer;
#define RL_LOW32(number) (number)
#else
typedef uint64_t rl_integer;
#define RL_LOW32(number) ((uint32_t)(number))
#endif

/* private: one command in the ring, from T1 until it is retired. Only its two arguments are stored;
   the rest is encoded each time it is sent. */
typedef struct rl_command {
  int64_t t1_ms;
  redlock_lock *lock;   /* whose round this is or was; NULL = it has begun another, or has left */
  uint32_t ttl_ms;      /* that an extension asks for */
  uint32_t longest_ttl_ms; /* the lock's: a SET asks for it, and a release need not be sent later */
  uint16_t wire_size;   /* bytes, as it was encoded last */
  uint16_t args_size;   /* of `args`, without what the SET replaces */
  rl_mask unsent_to;    /* servers that must still be sent it, and were sent no byte of it */
  rl_mask sets_at;      /* servers for which it is a SET: of an attempt, all; of an extension, those
                           that do not hold the value (R29); of a release, none */
  rl_mask awaited_from; /* servers that were sent it on this connection and have not replied */
  uint8_t is_open;      /* its round has not ended */
  uint8_t kind;         /* RL_TASK_ */
  uint8_t form;         /* RL_FORM_, where nothing else is said: see rl_form_for */
#ifndef REDLOCK_NO_FENCING
  uint64_t token;       /* proposed fencing token; 0 = none: only asks for the clock (R25) */
#endif
  /* Resource and value, encoded as RESP; then what the SET replaces (R28). Short names have at most
     two digits in their length. */
  char args[REDLOCK_MAX_RESOURCE + (REDLOCK_MAX_RESOURCE < 100 ? 37 : 39)];
} rl_command;

/* private: where the reply parser stands */
typedef struct rl_parser {
  uint8_t state, negative;
  uint8_t type;           /* first byte of the current element */
  uint8_t outer_type;     /* first byte of the outermost reply */
  uint16_t count;         /* bytes read of the line; in a bulk string, bytes still to come */
  uint8_t nested;         /* in the aggregate, another one has begun; before that: */
  uint8_t words;          /* RL_WORD_: what stands in it */
  uint32_t hash;          /* of a simple or bulk string; of an error, its first three bytes; a
                             number itself, or 0 if it is negative */
  uint32_t elements_left; /* elements of the aggregate still to come; 0 = not inside one */
  uint32_t before;        /* hash of the element in front of this one, while not nested */
  uint32_t version;       /* 0x080400 of a bulk string that is 8.4.0 */
  rl_integer number;
} rl_parser;

/* private: one server and its connection. The states, and who leads there:

     CLOSED, until reconnect_ms     rl_disconnect, on any failure
     CONNECTING, no byte sent          rl_connect
     HANDSHAKE, HANDSHAKE_SENT         rl_send_handshake, with the first and the last byte
     READY                             rl_on_handshake_reply, when every reply was good; at once, if
                                       it waits for nothing (R4)

   The rest, who sets and who clears it, and what it forbids:

     handshake_replies  replies of the handshake to come. Its first byte sets it, each of them
                        counts it down. Until it is 0, a reply belongs to no command.
     stalled            it is overdue to connect, to take bytes or to reply (R13). Its timer sets
                        it. It is cleared when no reply is outstanding any more, and the server has
                        replied, takes bytes or needs none; and by rl_disconnect. Only releases are
                        sent, and the rest of what was begun; no round waits for it in which the
                        others may still be a quorum.
     last_send          how it ended: RL_SEND_. Each send sets it; rl_prepare does when nothing is
                        left to send or outstanding. A stalled server whose last send was cut short
                        loses its connection when the ring needs room (rl_retire_oldest).
     handshake_failed   rl_fail_handshake sets it, for a twin too (R5); a good reply and
                        redlock_resolve clear it. While the server is away (rl_reach) it votes
                        ERROR, not UNREACHABLE, and `error` stays.
     error_is_theirs    `error` is in the server's own words, or says that the name was not found:
                        ours do not replace it. An error reply and rl_system_open set it. A good
                        reply, a new connection, a refused TRACKING, a handshake that fails without
                        an error reply, and redlock_resolve clear it.
     address_index      which of the name's addresses is in use; changed by a connection that ends
                        without a handshake, and by redlock_resolve.
     tracking           1 = it pushes invalidations (R26): HELLO was accepted, and CLIENT TRACKING
                        not refused.
     release_form       RL_RELEASE_: how releases are encoded. The handshake sets it, but not within
                        a command that is cut; rl_disconnect makes it the script again.
     wants_scripts      an error has refused a release in the server's own form, for good: the
                        handshake no longer sets another one.

   What is small or used most comes first in these structs: that saves 400 bytes on Cortex-M4. */
typedef struct rl_server {
  rl_mask bit;              /* this server's bit in an rl_mask */
  uint8_t index;            /* in the list */
  uint8_t state;            /* RL_STATE_ */
  uint8_t failed_connections; /* connections in a row without a good reply to a command (R14) */
  uint8_t over_tls;         /* it is reached through options.tls */
  uint8_t handshake_replies, stalled, last_send, handshake_failed; /* see above */
  uint8_t error_is_theirs, address_index, tracking;
  uint8_t release_form, wants_scripts;
  uint16_t patience_ms;     /* stalled: how long it may be silent until it is disconnected */
  rl_parser parser;
  uint32_t sent_bytes;      /* of the handshake, until READY; then of the command at send_next */
  const char *entry;        /* its entry in the caller's list */
  uint16_t generation;
  uint16_t idle_reads;      /* that brought bytes, since a reply was last awaited, or came (R13) */
  uint32_t send_next;       /* ring index of the next command to send */
  uint32_t reply_next;      /* ring index; no earlier command awaits a reply */
  uint32_t outstanding;     /* replies still to come on this connection */
  uint32_t retired_replies;   /* of those, the next so many answer retired commands */
  uint32_t timed_reply;     /* replies to come, up to and including the timed one */
  uint32_t run_id;          /* hash of its run_id; 0 = not known */
  intptr_t fd;              /* -1 = closed */
  int64_t reconnect_ms;     /* CLOSED: not to be connected before */
  int64_t timed_since_ms;   /* when its wait began; none outstanding: when last heard from */
  int64_t votes_from_ms;    /* it votes on what begins then or later (R24); 0 = not known yet */
#ifndef REDLOCK_NO_FENCING
  uint64_t clock_offset_us; /* its clock less ours + RL_ZERO_OFFSET_US; 0 = not known (R25) */
#endif
  char error[REDLOCK_MAX_ERROR];
#if !defined(REDLOCK_NO_POSIX) && !defined(REDLOCK_NO_DNS)
  rl_address addresses[RL_MAX_ADDRESSES];
#endif
} rl_server;

/* private: the client */
struct redlock {
  uint8_t server_count;
  uint8_t quorum;
  uint8_t work_pending;     /* another pass has something to send, start or give room to */
  uint8_t in_call;          /* a call that steps is under way: it refuses all others */
  rl_mask readable;         /* servers to read from in the next step */
  rl_server *server_end;    /* one past the last server */
  rl_command *ring;         /* = commands (140 bytes smaller than to say so); not in a copy */
  const char *local_error;  /* what last failed here: a call, clock, entropy or wait; or NULL */
  uint32_t ring_head;       /* index of the oldest command */
  uint32_t ring_tail;       /* one past the newest */
  uint32_t reserved_slots;  /* ring slots reserved for roll-backs (R7) */
  const redlock_io *io;
  void *io_ctx;
  int64_t now_ms;           /* the last good reading of the clock */
  int64_t timer_ms;         /* no timer of any lock or server expires before this */
  redlock_options options;
#ifndef REDLOCK_NO_FENCING
  uint64_t last_token;      /* the last token proposed, or the counter that refused it; a counter
                               that is greater by a quarter of max_ttl_ms lies (R25) */
#endif
  rl_link lists[RL_LISTS];  /* its locks */
  int64_t due_ms[RL_HAS_MANY ? RL_LISTS : 1]; /* no timer in that list expires before this */
  redlock_lock *trackers[RL_TRACKERS]; /* of many, those that track, by the hash (R26) */
  long owner_pid;           /* the process that called redlock_init (R17) */
  rl_server server[REDLOCK_MAX_SERVERS];
  rl_command commands[REDLOCK_MAX_COMMANDS];
};

static RL_INLINE redlock_status redlock_init(redlock *rl, const char *servers,
                                             const redlock_options *options) {
  return redlock_init_sized(rl, servers, options, sizeof *rl, sizeof(redlock_lock));
}

#endif /* REDLOCK_H */

/* ============================================================================================== */
#if defined(REDLOCK_IMPLEMENTATION) && !defined(REDLOCK_IMPLEMENTED)
#define REDLOCK_IMPLEMENTED

/* ---- The rules --------------------------------------------------------------------------------

   What each line of the code answers to. The project's tests/README.md says which tests show it.
   Exclusion, adoption and tokens (R1, R18, R24, R25, R28, R29) are proved for any number of clients
   and servers; tests/induct has the invariants, in words too.

   R1  T1 is taken before the SET leaves; a lock is valid for ttl - drift - 2 ms - one step of the
       clock (1 ms) from T1 on, checked after the last vote that counts, and again when it is
       returned.
   R2  The clock is monotonic and counts suspend; its steps are allowed for.
   R3  Each attempt's value begins with fresh random bytes. No entropy, no lock.
   R4  A yes is exactly OK, or 1 from an extension or a release, to the round's own command. None
       leaves before the handshake has succeeded, unless that asks for nothing that it depends on
       (no password, no database, no max_ttl_ms, no second address): then it leaves right behind it.
   R5  The quorum is N/2 + 1 of the servers in the list, which are all different; each entry is one
       server, the same one for all clients. Who finds its own value there says that they are not.
   R6  A round ends when no vote that is missing can change the outcome. If too few others can vote
       for a quorum, it also waits, within its time, for servers that are overdue (R13). The failed
       round of a waiter that is to be woken lingers, if nobody said yes (R16, R25).
   R7  A failed attempt and a lost lock are rolled back at once, behind what may have set or
       lengthened the key. Room for that is reserved.
   R8  Replies are matched by position. Late ones are dropped. Surplus ones end the connection, and
       those of a form that their command cannot get, or that are not what the handshake expects: so
       no position is off.
   R9  Retries back off at random, within wait_ms and max_attempts; n attempts take no less than
       n - 1 times the shortest delay, with wake-ups as without.
   R10 Each operation has a deadline. Nothing blocks but io->wait.
   R11 A command for which the ring has no room waits in the queue; T1 is taken behind that.
   R12 Replies of a lost connection are void. What is decided is not sent, but for releases. A SET
       is never sent twice to one life of a server, which ends with its restart; but see R29.
   R13 A server whose reply is overdue is stalled: until it has answered all that it owes, it gets
       releases only, and no round waits for it in which the others may still be a quorum (R6).
       When a connection that has taken bytes has brought no awaited reply for 5 to 6 s, or in more
       reads than there is to push, it is given up, whatever it carried. The releases of its SETs go
       first on the next one; if a quorum owes the replies to them and the ring is full, all that is
       not urgent waits for that.
   R14 Reconnects back off at random. Of two addresses, the other is tried when one brings no
       handshake: the first time, after a quarter of server_timeout_ms. No SIGPIPE; close on exec;
       never descriptor 0, 1 or 2.
   R15 Each server's last error is kept.
   R16 A minority changes neither the outcome nor, noticeably, the time. One that lies, but says yes
       to nobody who has it not, does neither while all others stand; but with tokens, or another's
       run_id, it can keep all out; and who says yes to all makes two winners of a split vote. Among
       waiters, a split vote waits for one that is slow, but answers within server_timeout_ms.
   R17 A forked child sends nothing, reads nothing and is granted nothing (the sockets of the
       system): a step there ends all that is pending as INVALID. A call that only starts something
       asks the system for nothing but the time.
   R18 An extension needs a quorum in time, checks the owner, and never shortens.
   R19 A failed extension changes nothing, unless it proves that the lock is lost.
   R20 max_hold_ms bounds the whole hold. A kept lock that could not be extended is returned
       keep_margin_ms before its deadline, still held.
   R21 A release compares and deletes, on all servers that may hold the key.
   R22 How long a lock is still held depends on its deadline alone.
   R23 The votes tell TAKEN, NO_QUORUM and EXPIRED apart.
   R24 A server that started less than max_ttl_ms before a command's T1 casts no vote on it.
   R25 With fencing, a grant that was asked for after another was returned has the greater token.
   R26 Wake-ups are hints: none grants, and a lost one costs a wait. With them a waiter sends next
       to nothing while the lock is held: wake-ups for nothing are answered more and more rarely,
       until it changes hands. A crowd waits in line; where servers cannot keep up, it rests.
   R27 A step has a reason: a reply, room to send, or a timer.
   R28 An adoption sets its value only over the given one. A value is adopted at most once, if its
       giver has stopped and servers restart empty.
   R29 For a server that does not hold a held lock's key, the extension is a plain SET: it was not
       sent the value, or has said no when the lock was taken; with max_ttl_ms also if it has
       restarted or has lost the key. If the reply to that SET is lost with the connection, it is
       not sent again, since it may still arrive: not before the server restarts, or has said YES
       to an extension and then lost the key. Until a server that has restarted votes, nobody asks
       it for a new lock.

   ---- A map ------------------------------------------------------------------------------------

   A lock's life is its phase. rl_set_phase alone changes it, and its list with it; rl_may_follow
   has the ways. Who takes them:

     IDLE -> QUEUED       rl_start_operation, for every call that starts something
     QUEUED -> VOTING     rl_start_round, once the ring has room; T1 is taken there (R1, R11)
     QUEUED -> DECIDED    rl_begin_attempt and rl_begin_extension, without a round: no entropy, no
                          time left, LIMIT, or a lock that has run out (rl_abandon);
                          rl_on_lock_timer: no room in time
     VOTING -> BACKOFF    rl_end_round, whatever follows: rl_evaluate_round has judged the votes
     BACKOFF -> DECIDED   rl_decide
     BACKOFF -> QUEUED    rl_fail_round, for an extra round (R25); rl_on_lock_timer, when the
                          back-off is over: rl_schedule_retry drew it (R9), and rl_on_maybe_free may
                          have ended it (R26)
     BACKOFF -> BACKOFF   rl_schedule_retry, until the back-off is over
     BACKOFF -> KEPT      rl_finish_extension
     IDLE or KEPT -> KEPT redlock_keep; with another limit, if max_hold_ms allowed no more
     KEPT -> QUEUED       rl_on_held_timer, to be extended; KEPT or QUEUED -> DECIDED, if it could
                          not be, and keep_margin_ms is left, or it has run out (rl_abandon)
     QUEUED -> KEPT       rl_begin_extension, if max_hold_ms allows no more: until keep_margin_ms is
                          left
     DECIDED -> IDLE      rl_hand_back, for redlock_step, redlock_wait and the blocking calls; what
                          has run out meanwhile is rolled back there
     QUEUED -> BACKOFF    rl_on_lock_timer: an extra round found no room in time
     QUEUED -> QUEUED     rl_until_decided: it is urgent now
     any -> IDLE          rl_cancel; an open round is ended first
     IDLE -> DECIDED      rl_fail_all, if the clock has failed, or in a forked child

   A lock is held while deadline_ms is not 0 and has not passed. No phase, status or flag says so.
   A server's life is its state, in the comment of rl_server.

   What holds, whenever a hook is called and whenever a public call has returned. In the tests,
   invariants.h checks each of these then:

     I1  A lock that is not IDLE is in one list, that of its phase. QUEUED: by `urgent`. Active, of
         many: by how long its timer had to go when it was last looked at.
     I2  VOTING: its command is in the ring, is of its task, is open, and knows the lock. No other
         command is open. What knows a lock is the command of its last round, and the lock has not
         left the client.
     I3  Each acquire and each extension has a slot reserved for the release behind it, from its
         round's start until it is rolled back or returned; that of a kept lock until the round
         ends. Commands and reserved slots together always have room in the ring.
     I4  Only what was granted has a deadline; and with fencing, what has a deadline has a token.
     I5  A kept lock is urgent, and is held: its task is EXTEND. Its timer is not later than the end
         of its keeping, unless that has passed.
     I6  Only an acquire that has made an attempt tracks.
     I7  A command is either unsent or awaited at a server, or neither: never both. If its round has
         ended, only a release is unsent.
     I8  At each server, what stands before send_next in the ring was sent or never will be, or
         waits in its open round; and of what stands before reply_next, nothing is awaited.
     I9  outstanding counts the replies of the handshake, those to retired commands and the awaited
         ones, and timed_reply is one of them.
     I10 A server that is CLOSED has no descriptor, and all others have one. Before HANDSHAKE
         nothing is outstanding; what the handshake found out is forgotten (tracking, release_form).

   A command's way through the ring: rl_append_command puts it at the tail, and marks in
   unsent_to the servers that must get it. rl_flush sends; with the first byte rl_on_bytes_sent
   moves a server to awaited_from. rl_on_reply finds the command of a reply by its position (R8),
   rl_on_command_reply makes it a vote, rl_evaluate_round counts the votes, and rl_end_round cuts
   the command off its lock. rl_retire_oldest takes commands out at the head.

   Why the quarantine (R24): a server that restarts empty has forgotten which locks it granted. With
   those that never had the key it makes a quorum for a second holder, while the first still works.
   A disk does not help: by default a crash loses the last second of writes. Nor does an operator
   who lets a ttl pass before a start: services are restarted by programs. So the clients wait. No
   ttl is longer than max_ttl_ms; so whatever a server may have forgotten has run out once it is
   that old, and until then its votes do not count. The handshake asks for its run_id, which tells
   of a restart, and for its uptime. Where these leave a doubt, it counts as younger than it is. But
   servers reckon their uptime by the wall clock: one that is set after the start makes them older.

   Why tokens come from clocks (R25): a token must be greater than that of every grant before, but
   two quorums may share only one server. A counter on one server is lost with it. A counter on each
   runs ahead wherever attempts fail, so that a later grant by others may have the lower number; and
   it must never expire, or be lost in a restart. So the client proposes a time, above the servers'
   clocks, and each server checks it in the script that sets the lock: it must be above the last
   token accepted there, and above the server's clock, but not by more than half of max_ttl_ms. The
   server that two quorums share thus keeps the order. What a restart forgets, or what expires, was
   at most that far ahead: the clock has passed it before the server votes again. A wrong proposal,
   even a malicious one, costs a round and never the order; the replies bring the clocks.

   How a waiter is woken (R26): a waiter that asks again and again keeps N servers busy, most of all
   when a crowd waits for hours; one that asks rarely leaves a free lock unused. A message from the
   holder would be lost with it, and a queue on the servers would be one more thing that a restart
   forgets. So the servers tell, by client tracking, which the handshake turns on: who has read a
   key is sent one push when it changes. A push may be lost, late, or a minority's lie. It is
   therefore a hint: all that it can do is to end a back-off, and without it the timer does. It may
   be for nothing: extensions are pushed too, and so is what a server with a small table of such
   keys forgets. rl_choose_rest counts the servers that would push, and says what follows a failed
   attempt. If a quorum would, the next attempt but one is RL_FORM_TRACKED, which makes the servers
   track the key. If that fails too, the lock backs off until they push. The parser reports a push
   as RL_PUSH; rl_on_maybe_free adds the server to maybe_free and, at a quorum, sets the lock's
   timer to its turn, if that is earlier. A server that connects, or has replied to all that was
   overdue, counts as if it had pushed every key, to those that track: a waiter that polls is told
   of nothing. A push that comes while an attempt is open counts when that has failed, unless its
   server votes later: then the vote is newer.

   When a woken waiter tries (R26): if all tried at once, none would find a quorum. So it rests for
   a turn, at random within a window, behind a back-off. The window is a line of tickets: each value
   carries an age, how long its holder had waited, and who is younger by the length of n holds has n
   before it (rl_turn_ms). The window grows with n squared: the sum of the inverse squares is
   finite, so of any crowd the same few are admitted in each slot, the eldest first, and whoever is
   missing costs a slot. It is hardly longer than the time waited, since ages may be of other times:
   so they double a wait at most. The back-off is that of a shared cable: it doubles with each
   wake-up in vain, up to 2 s, and shrinks when another holder shows, or may be there, if it tells
   no age (rl_note_holder). That alone keeps a crowd whose votes split from splitting them for ever.

   Every loop is bounded: by the servers, the ring, a list, a text, the bytes to send, a constant.
   Those whose end is less plain:
     rl_send_to_all  each turn sends something, or finds one more server idle
     rl_run_passes   each start takes a lock out of the urgent or the queued ones
     rl_process      repeats only if a reply read the clock and a timer is due by then; no round
                     starts meanwhile, so these replies run out
     rl_until_decided
                     a round ends by its timer, a wait by its deadline (R10; REDLOCK_FOREVER has
                     none); in the queue, what the oldest command waits for takes bytes, or stalls
                     and is disconnected: that makes room
     redlock_close   by the clock (rl_linger_ms) */

#include <string.h>

#if defined(__has_include) && !defined(_WIN32) && !defined(REDLOCK_NO_POSIX)
#if !__has_include(<sys/socket.h>)
#error "redlock.h: no sockets here: define REDLOCK_NO_POSIX and give options.io"
#define RL_UNSUPPORTED /* to be compiled: one error is enough */
#endif
#endif

#if defined(_WIN32) && !defined(REDLOCK_NO_POSIX)
#include <winsock2.h>
#include <ws2tcpip.h>
#include <afunix.h>
#include <bcrypt.h>
#elif !defined(REDLOCK_NO_POSIX) && !defined(RL_UNSUPPORTED)
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
#include <sys/poll.h>
#define RL_SYS_POLL
#endif
#if !__has_include(<sys/random.h>) || (defined(__GLIBC__) && __GLIBC__ == 2 && __GLIBC_MINOR__ < 25)
#define RL_DEV_URANDOM /* <sys/random.h> may be there, for a later glibc than is linked */
#endif
#endif
#if (!defined(__linux__) && !defined(ESP_PLATFORM)) || \
    (defined(__ANDROID_API__) && __ANDROID_API__ < 28)
#define RL_DEV_URANDOM
#endif
#ifndef RL_SYS_POLL
#include <poll.h>
#endif
#ifndef RL_DEV_URANDOM
#include <sys/random.h>
#endif
#if !defined(CLOCK_MONOTONIC) || !(defined(AI_PASSIVE) || defined(REDLOCK_NO_DNS))
#error "redlock.h: POSIX names are hidden; compile with -D_POSIX_C_SOURCE=200809L or -std=gnu99"
#define RL_UNSUPPORTED
#endif
#if defined(SO_NOSIGPIPE)
#define RL_NO_SIGPIPE SO_NOSIGPIPE
#elif defined(__APPLE__)
#define RL_NO_SIGPIPE 0x1022 /* its name is hidden with _POSIX_C_SOURCE */
#elif !defined(MSG_NOSIGNAL)
#error "redlock.h: no MSG_NOSIGNAL and no SO_NOSIGPIPE: a lost connection would end the process"
#define RL_UNSUPPORTED
#endif
#endif

#ifndef RL_UNSUPPORTED

#ifndef REDLOCK_ASSERT
#define REDLOCK_ASSERT(truth) ((void)(0 && (truth))) /* compiled, and never evaluated */
#endif

#ifdef __GNUC__
/* For a function whose buffer must leave the stack when it returns, or that is smaller so. */
#define RL_NOINLINE __attribute__((noinline))
#else
#define RL_NOINLINE
#endif
#if defined(__OPTIMIZE_SIZE__) && defined(__thumb__) /* what is often called: smaller, but slower */
#define RL_SMALL RL_NOINLINE
#else
#define RL_SMALL
#endif

/* ---- Configuration, checked ------------------------------------------------------------------ */

/* Build options become constants: the compiler drops the code that they disable. */
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
#ifdef REDLOCK_NO_POSIX
#define RL_HAS_SOCKETS 0
#else
#define RL_HAS_SOCKETS 1
#endif
#define RL_HAS_TLS (RL_HAS_URL && RL_HAS_SOCKETS)
#ifdef REDLOCK_NO_QUARANTINE
#define RL_HAS_QUARANTINE 0
#else
#define RL_HAS_QUARANTINE 1
#endif
#define RL_MAX_TTL(rl) (RL_HAS_QUARANTINE ? (rl)->options.max_ttl_ms : 0u)

/* The script of releases, extensions, and SETs that are neither plain nor fenced. Redis tracks what
   GET reads: after a SET it pushes one invalidation when the key changes (R26). That takes memory,
   so a release or an extension tries GETEX first, which is not tracked, and clients that never wait
   cost none. Not every server knows or permits GETEX. A SET does without it: behind such a write,
   Redis 7 no longer checks that there is memory for the SET. pcall, and returning the error, keep
   the server's own words before 7.0 too; PTTL needs no pcall: it fails only if the user lacks the
   right. What follows is sent with shorter names; a test shows that both do the same.
   RL_LOCK_SCRIPT:
     local key, value, ttl, beginning = KEYS[1], unpack(ARGV)
     local there = not beginning and redis.pcall('getex', key)
     if there ~= value then there = redis.pcall('get', key) end
     if there == value then
       if not ttl then return redis.pcall('del', key) end
       if redis.call('pttl', key) >= ttl + 0 then return 1 end -- R18: it is never shortened
       return redis.pcall('pexpire', key, ttl)
     end
     if there and there.err then return there end
     -- RL_FORM_TRACKED: it is our own beginning, which only a missing key counts as
     -- RL_FORM_SWAP: it is that of the value to replace (R28)
     local found = (there or value):sub(1, 20)
     if found == beginning then return redis.pcall('set', key, value, 'PX', ttl) end
     -- nil: no key. 3 bytes: the age of a holder (R26); else it is a value of another program
     return there and there:sub(21, 24) */
#define RL_LOCK_SCRIPT                                                                             \
  "local c,k,w,t,n=redis.pcall,KEYS[1],unpack(ARGV)local v=not n and c('getex',k)"                 \
  "v=v==w and v or c('get',k)"                                                                     \
  "return v==w and(t and(redis.call('pttl',k)<t+0 and c('pexpire',k,t)or 1)or c('del',k))"         \
  "or v and v.err and v or(v or w):sub(1,20)==n and c('set',k,w,'PX',t)or v and v:sub(21,24)"

/* R24: for how long the server has run, and who it is. Where INFO lacks one of these, fewer than
   two are returned.
   RL_INFO_SCRIPT:
     local info = redis.call('info', 'server')
     return {tonumber(info:match('uptime_in_seconds:(%S+)')), info:match('run_id:(%S+)')} */
#define RL_INFO_SCRIPT                                                                             \
  "local i=redis.call('info','server')"                                                            \
  "return{tonumber(i:match'uptime_in_seconds:(%S+)'),i:match'run_id:(%S+)'}"

#ifdef REDLOCK_NO_FENCING
#define RL_HAS_FENCING 0
#define RL_FENCING(rl) 0
/* Without tokens there is nothing to do, and nothing to know. */
#define RL_FENCED_SCRIPT ""
#define rl_put_counter(w, c) ((void)0)
#define rl_put_token(w, rl, c) ((void)(rl))
#define rl_propose_token(rl, c) ((void)0)
#define rl_asks_clocks(c) 0
#define rl_fenced_vote(rl, s, c) ((void)(rl), REDLOCK_VOTE_ERROR)
#define rl_store_token(lock, c) ((void)0)
#define rl_offset_us(rl, s) 0
#else
#define RL_HAS_FENCING 1
#define RL_FENCING(rl) ((rl)->options.fencing)

/* R25: a SET with a second key, the counter: the last token that this server accepted for the
   resource. The counter is written before the lock, so that no server grants one without it.
   RL_FENCED_SCRIPT:
     local key, counter, value, ttl, beginning, token, max_ttl = KEYS[1], KEYS[2], unpack(ARGV)
     local there = redis.pcall('get', key)
     if there and there.err then return there end
     local found = (there or value):sub(1, 20) -- as above
     if found ~= beginning then return there and there:sub(21, 24) end
     local time = redis.call('time')
     local clock = time[1] * 1000000 + time[2]
     -- the clock refuses the token: it must be above, by at most half of max_ttl_ms
     if token - clock <= 0 or token - clock > max_ttl * 500 then return -clock end
     -- the counter refuses it: the token must be above it
     local last = redis.pcall('get', counter)
     if last and last.err then return last end
     if last and last - token >= 0 then return last + 0 end
     local set = redis.pcall('set', counter, token, 'PX', max_ttl)
     if set.err then return set end
     set = redis.pcall('set', key, value, 'PX', ttl)
     if set.err then return set end
     return clock -- it is below the token: the lock is set */
#define RL_FENCED_SCRIPT                                                                           \
  "local c,k,f,w,l,n,p,m,t=redis.pcall,KEYS[1],KEYS[2],unpack(ARGV)local v=c('get',k)"             \
  "if v and v.err then return v end if(v or w):sub(1,20)~=n then return v and v:sub(21,24)end "    \
  "t=redis.call('time')t=t[1]*1000000+t[2]"                                                        \
  "if p-t<=0 or p-t>m*500 then return-t end v=c('get',f)"                                          \
  "if v and(v.err or v-p>=0)then return v.err and v or v+0 end "                                   \
  "v=c('set',f,p,'PX',m)if v.err then return v end "                                               \
  "v=c('set',k,w,'PX',l)return v.err and v or t"
#endif

/* R2: NuttX counts ticks, of 10 ms by default, unless a timer of the chip is its clock. */
#if defined(CONFIG_USEC_PER_TICK) && !defined(CONFIG_SCHED_TICKLESS) && \
    !defined(CONFIG_TIMER_ARCH) && !defined(CONFIG_ALARM_ARCH)
#define RL_CLOCK_STEP_MS (CONFIG_USEC_PER_TICK / 1000 + 1)
#else
#define RL_CLOCK_STEP_MS 1
#endif

enum {
  RL_VALUE_BYTES = 20,
  RL_AGE_BYTES = 3,             /* behind it (R26) */
  RL_STORED_BYTES = RL_VALUE_BYTES + RL_AGE_BYTES,
  RL_VALUE_HEADER = 5,          /* "$23\r\n" */
  RL_REPLACED_AT = REDLOCK_MAX_RESOURCE < 20 ? 0 : REDLOCK_MAX_RESOURCE - 20, /* in lock.resource */
  RL_HOST_BYTES = 256,          /* host name or socket path, with its NUL */
  RL_HANDSHAKE_BYTES = 136,     /* the handshake is sent in chunks of this: what each gets */
  RL_RECEIVE_BYTES = REDLOCK_MAX_COMMANDS < 32 ? 256 : 512, /* on the stack */
  /* Commands are encoded in chunks of this, on the stack too. */
  RL_OUTPUT_BYTES = !RL_HAS_SOCKETS ? RL_RECEIVE_BYTES :
                    REDLOCK_MAX_COMMANDS < 32 ? 2048 :
                    REDLOCK_MAX_COMMANDS < 512 ? 64 * REDLOCK_MAX_COMMANDS : 32768,
  RL_MAX_RECEIVES = 16,         /* full reads of one server in a step: it must not starve others */
  RL_MAX_IDLE_READS = REDLOCK_MAX_COMMANDS < 1024 ? 64 * REDLOCK_MAX_COMMANDS : UINT16_MAX,
                                /* without an awaited reply (R13): more than an honest server has
                                   to push, once for each key that is tracked, some in each read */
  RL_MAX_PASSES = 4,            /* one may create work for another; the next step does the rest */
  RL_MAX_EXTRA_ROUNDS = 2,      /* in one attempt (R25) */
  RL_LATER_MS = 128,            /* of many locks, one whose timer takes 15 s is looked at 117 times
                                   in the list LATER, and then once in each ms in which another one
                                   of its list is due */
  RL_MISUSE_LOOKS = RL_HAS_MANY ? 16 : 64, /* so many locks are looked at, the newest first, for
                                   one that is started twice */
  RL_PUSH_WAIT_MS = 1000,       /* wakes or not, a waiter retries after 1 to 2 times this */
  RL_NEWCOMER_MS = 11,          /* a waiter that does not know the holder rests for up to this more:
                                   who has waited longer goes first */
  RL_POLL_UNIT_MS = 100,        /* after n units of waiting, back-offs are spread by n * n ms */
  RL_TURN_SLOTS = 4,            /* no turn is later than these and the time waited (rl_turn_ms) */
  RL_MAX_RANK = 127,            /* more make no difference: that is a second, in slots of 1 ms */
  RL_MAX_BACK_OFF_MS = 2000,    /* a wake-up in vain delays no longer than silence; ten thousand
                                   that each try once in this are what servers bear */
  RL_MOST_DOUBLINGS = 10,       /* of 1 ms: ten attempts fill a second, whatever is pushed, and the
                                   next ones take as long each */
  RL_VAIN_PART = 4,             /* of the doublings, another holder leaves this part: none of a few;
                                   but who has seen many holders come and go is one of a crowd */
  RL_FORGOTTEN_PART = 8,        /* of a holder's age, each attempt forgets this: a newcomer may slip
                                   in between */
  RL_NO_AGE = 1,                /* told: the value of another program */
  RL_MAX_AGE_MS = 1 << 23,      /* with what is added at random, an age fits into three bytes */
  RL_URGENT_SLOTS = 2,          /* ring slots for urgent commands only */
  RL_MAX_LINE = 4096,           /* longest line accepted; Redis sends none longer */
  RL_MAX_SIZE_DIGITS = 4,       /* of a bulk string's or aggregate's size; we ask for none larger */
  RL_BACKOFF_FIRST_MS = 16,     /* the first back-off of a server takes a half to all of this, */
  RL_BACKOFF_DOUBLINGS = 6,     /* and each failure doubles it, so often: at last 512 to 1 024 ms */
  RL_CONNECT_TIMEOUT_MS = 2000, /* a connect that hangs is given up after this, or after
                                   server_timeout_ms if there is a second address, while
                                   something needs the connection; else it has no timer */
  RL_TWIN_MS = 10000,           /* a server that is listed twice stays away for so long (R5) */
  RL_SILENCE_MS = 5000,         /* a connection that has taken bytes is given up after so long a */
  RL_SILENCE_SPREAD_MS = 1000,  /* silence, and up to this more: longer than most freezes and storms
                                   of reconnects, and short for one that a NAT has forgotten */
  RL_CLOSE_TIMEOUT_MS = 50,     /* redlock_close waits at most this long for replies */
  RL_KEEPALIVE_S = 60,          /* a quiet connection is probed, so that no NAT drops it */
  RL_UPTIME_SLACK_MS = 2000,    /* uptime_in_seconds, and the start it counts from, are cut */
  RL_OWN_FORM_SINCE = 0x080400, /* 8.4.0: Redis; Valkey has no release between 8.1 and 9.0 */
  RL_OWN_FORM_UNTIL = 0xff0000  /* builds between two releases say 255.255.255 */
};

typedef char rl_check_int[sizeof(int) >= 4 ? 1 : -1];
typedef char rl_check_servers[REDLOCK_MAX_SERVERS >= 1 && REDLOCK_MAX_SERVERS <= 32 ? 1 : -1];
typedef char rl_check_resource[REDLOCK_MAX_RESOURCE >= 1 && REDLOCK_MAX_RESOURCE <= 4096 ? 1 : -1];
typedef char rl_check_error[REDLOCK_MAX_ERROR >= 16 ? 1 : -1];

/* The prefix names the variable. */
enum {
  RL_STATE_CLOSED, RL_STATE_CONNECTING, RL_STATE_HANDSHAKE, RL_STATE_HANDSHAKE_SENT, RL_STATE_READY
};
enum { RL_SEND_WHOLE, RL_SEND_CUT_SHORT, RL_SEND_BROKEN };
enum {
  RL_PHASE_IDLE,    /* in no list */
  RL_PHASE_QUEUED,  /* waits for room in the ring */
  RL_PHASE_VOTING,  /* its round is open */
  RL_PHASE_BACKOFF, /* between two rounds: it backs off, or the next phase is about to be chosen */
  RL_PHASE_KEPT,    /* to be extended in time */
  RL_PHASE_DECIDED  /* waits to be returned */
};
enum { RL_TASK_SET, RL_TASK_EXTEND, RL_TASK_RELEASE };
enum { /* how a command is spelled; the first three are rl_server.release_form too */
  RL_RELEASE_SCRIPT,  /* every server knows it */
  RL_RELEASE_DELEX,   /* Redis 8.4 */
  RL_RELEASE_DELIFEQ, /* Valkey 9.0 */
  RL_FORM_EXTEND,     /* by script */
  RL_FORM_PLAIN,      /* SET NX PX */
  RL_FORM_TRACKED,    /* a SET by script: the server tracks the key; TAKEN brings the holder's age.
                         With fencing, all SETs of attempts */
  RL_FORM_SWAP        /* a SET by script, over a given value (R28) */
};

static size_t rl_min(size_t a, size_t b) { return a < b ? a : b; }

static uint32_t rl_limit(uint32_t number, uint32_t most) { return number < most ? number : most; }

static void rl_mask_remove(rl_mask *set, rl_mask other) { *set = (rl_mask)(*set & ~other); }

static RL_SMALL int rl_mask_count(rl_mask set) {
  int count = 0;
  for (; set; count++) set = (rl_mask)(set & (set - 1));
  return count;
}

/* ---- Spans of text --------------------------------------------------------------------------- */

typedef struct rl_span {
  const char *at;
  size_t size;
} rl_span;

static rl_span rl_span_make(const char *at, const char *end) {
  rl_span t;
  t.at = at;
  t.size = (size_t)(end - at);
  return t;
}

/* The first of these characters in a part of a C string, or the part's end. */
static const char *rl_find(const char *at, const char *end, const char *any) {
  const char *found = at + strcspn(at, any);
  return found < end ? found : end;
}

static RL_SMALL void rl_store_text(char *to, const char *at, size_t size) {
  memcpy(to, at, size);
  to[size] = 0;
}

/* The value of a hex digit; above 15 if it is none. */
static uint32_t rl_hex_digit(char c) {
  if (c >= '0' && c <= '9') return (uint32_t)(c - '0');
  c = (char)(c | 32);
  return c >= 'a' ? (uint32_t)(c - 'a' + 10) : 16;
}

/* The number in a text, or `limit` if there is none or it is too large. */
static uint32_t rl_parse_number(const char *at, const char *end, uint32_t limit) {
  uint32_t number = at == end ? limit : 0;
  for (; at != end && number < limit; at++)
    number = rl_hex_digit(*at) < 10 ? number * 10 + rl_hex_digit(*at) : limit;
  return rl_limit(number, limit);
}

enum { RL_MAX_DIGITS = sizeof(rl_integer) > 4 ? 20 : 10 };

/* Removes and returns the last decimal digit. Without 64-bit division: libgcc's takes 750 bytes.
   Numbers may have only 32 bits, so they are shifted by 16, twice. */
static char rl_pop_digit(rl_integer *number) {
  uint32_t high = RL_LOW32(*number >> 16 >> 16), low = RL_LOW32(*number), middle = 0;
  if (high) { /* only tokens are that large */
    middle = high % 10 << 16 | low >> 16;
    low = middle % 10 << 16 | (low & 65535);
  }
  *number = high / 10;
  *number = *number << 16 << 16 | (middle / 10 << 16 | low / 10);
  return (char)('0' + low % 10);
}

/* Writes decimal digits, at most RL_MAX_DIGITS, that end before at; returns the first. */
static char *rl_format_decimal(char *at, rl_integer number) {
  do *--at = rl_pop_digit(&number);
  while (number);
  return at;
}

/* ---- RESP: the encoder ----------------------------------------------------------------------- */

/* Writes a slice of a message: drops skip bytes, then keeps room. A message that is sent in pieces
   needs no buffer: it is encoded again for each piece. */
typedef struct rl_writer {
  char *at;
  size_t skip, room;
  size_t total;        /* bytes of the whole message so far */
} rl_writer;

static rl_writer rl_writer_make(char *at, size_t skip, size_t room) {
  rl_writer w;
  w.at = at;
  w.skip = skip;
  w.room = room;
  w.total = 0;
  return w;
}

static void rl_put(rl_writer *w, const char *bytes, size_t size) {
  size_t dropped = rl_min(size, w->skip);
  w->total += size;
  w->skip -= dropped;
  size = rl_min(size - dropped, w->room);
  memcpy(w->at, bytes + dropped, size);
  w->at += size;
  w->room -= size;
}

/* Text that is RESP already. */
static void rl_put_raw(rl_writer *w, const char *text) { rl_put(w, text, strlen(text)); }

/* The header of a bulk string, "$20\r\n", or of a command, "*5\r\n": how many words it has. */
static void rl_put_header(rl_writer *w, char type, size_t size) {
  char head[RL_MAX_DIGITS + 3];
  char *at = rl_format_decimal(head + 1 + RL_MAX_DIGITS, (uint32_t)size);
  *--at = type;
  head[RL_MAX_DIGITS + 1] = '\r';
  head[RL_MAX_DIGITS + 2] = '\n';
  rl_put(w, at, (size_t)(head + sizeof head - at));
}

/* One bulk string: "$3\r\nSET\r\n" */
static void rl_put_bulk(rl_writer *w, const char *at, size_t size) {
  rl_put_header(w, '$', size);
  rl_put(w, at, size);
  rl_put(w, "\r\n", 2);
}

static void rl_put_bulk_number(rl_writer *w, rl_integer number) {
  char digits[RL_MAX_DIGITS];
  const char *at = rl_format_decimal(digits + RL_MAX_DIGITS, number);
  rl_put_bulk(w, at, (size_t)(digits + RL_MAX_DIGITS - at));
}

/* The call of a script, up to how many of its arguments are keys. */
static void rl_put_script(rl_writer *w, size_t words, const char *script, uint32_t keys) {
  rl_put_header(w, '*', words);
  rl_put_bulk(w, "EVAL", 4);
  rl_put_bulk(w, script, strlen(script));
  rl_put_bulk_number(w, keys);
}

/* A bulk string from a part of a URL, with %XX decoded. */
static void rl_put_bulk_decoded(rl_writer *w, const char *at, size_t size) {
  const char *end = at + size, *c;
  for (c = at; c != end; c++)
    if (*c == '%') size -= 2;
  rl_put_header(w, '$', size);
  for (; at != end; at++) {
    char byte = *at;
    if (byte == '%') {
      byte = (char)(rl_hex_digit(at[1]) * 16 + rl_hex_digit(at[2]));
      at += 2;
    }
    rl_put(w, &byte, 1);
  }
  rl_put(w, "\r\n", 2);
}

/* ---- RESP: the commands ---------------------------------------------------------------------- */

/* How many bytes of `args` are the resource; the value follows. */
static size_t rl_resource_args_size(const rl_command *c) {
  size_t size = c->args_size - (RL_VALUE_HEADER + RL_STORED_BYTES + 2u);
  REDLOCK_ASSERT(c->args[size] == '$');
  return size;
}

/* How the command is spelled for a server: a release in the server's own form; an extension, where
   the value is missing, as a plain SET (R29). */
static int rl_form_for(const rl_command *c, const rl_server *s) {
  if (c->kind == RL_TASK_RELEASE) return s->release_form;
  if (c->kind == RL_TASK_EXTEND && (c->sets_at & s->bit)) return RL_FORM_PLAIN;
  return c->form;
}

/* The beginning of what a SET replaces; of its own value, if no key must be there. */
static const char *rl_beginning_of(const rl_command *c) {
  return c->args +
         (c->form == RL_FORM_SWAP ? c->args_size : rl_resource_args_size(c) + RL_VALUE_HEADER);
}

#ifndef REDLOCK_NO_FENCING
/* The second key of a fenced SET, the counter: the resource's name and ":fence". */
static void rl_put_counter(rl_writer *w, const rl_command *c) {
  const char *name = strchr(c->args, '\n') + 1;
  size_t size = (size_t)(c->args + rl_resource_args_size(c) - 2 - name);
  rl_put_header(w, '$', size + 6);
  rl_put(w, name, size);
  rl_put_raw(w, ":fence\r\n");
}

/* The last two arguments of a fenced SET. */
static void rl_put_token(rl_writer *w, const redlock *rl, const rl_command *c) {
  rl_put_bulk_number(w, c->token);
  rl_put_bulk_number(w, rl->options.max_ttl_ms);
}
#endif

/* Every command has resource and value; two have something in between. */
static void rl_put_command(rl_writer *w, const redlock *rl, const rl_command *c, int form) {
  size_t has_ttl = form >= RL_FORM_EXTEND, has_beginning = form >= RL_FORM_TRACKED, at = 0;
  int is_fenced = has_beginning && RL_FENCING(rl);
  if (form == RL_RELEASE_DELEX) rl_put_raw(w, "*4\r\n$5\r\nDELEX\r\n");
  else if (form == RL_RELEASE_DELIFEQ) rl_put_raw(w, "*3\r\n$7\r\nDELIFEQ\r\n");
  else if (form == RL_FORM_PLAIN) rl_put_raw(w, "*6\r\n$3\r\nSET\r\n");
  else if (is_fenced) rl_put_script(w, 10, RL_FENCED_SCRIPT, 2);
  else rl_put_script(w, 5 + has_ttl + has_beginning, RL_LOCK_SCRIPT, 1);
  if (form == RL_RELEASE_DELEX || is_fenced) {
    at = rl_resource_args_size(c);
    rl_put(w, c->args, at);
    if (is_fenced) rl_put_counter(w, c);
    else rl_put_bulk(w, "IFEQ", 4);
  }
  rl_put(w, c->args + at, c->args_size - at);
  if (form == RL_FORM_PLAIN) rl_put_raw(w, "$2\r\nNX\r\n$2\r\nPX\r\n");
  if (has_ttl) rl_put_bulk_number(w, form == RL_FORM_EXTEND ? c->ttl_ms : c->longest_ttl_ms);
  if (has_beginning) rl_put_bulk(w, rl_beginning_of(c), RL_VALUE_BYTES);
  if (is_fenced) rl_put_token(w, rl, c);
}

/* ---- RESP: the reply parser ------------------------------------------------------------------ */

typedef enum rl_reply {
  RL_PARSE_MORE,       /* the reply is not complete yet */
  RL_PARSE_ERROR_TEXT, /* the same, and the byte is part of an error's text */
  RL_PARSE_INVALID,    /* not RESP */
  RL_REPLY_OK,         /* exactly +OK; from here on a reply is complete */
  RL_REPLY_STATUS,     /* another simple string */
  RL_REPLY_ERROR,      /* up to here: no element of a reply */
  RL_REPLY_NIL,
  RL_REPLY_POSITIVE,
  RL_REPLY_OTHER,      /* well formed: what it is, the parser's members say */
  RL_PUSH              /* not a reply: a push; hash is that of its last element, 0 = nil */
} rl_reply;

enum { RL_AT_TYPE, RL_AT_LINE, RL_AT_LF, RL_AT_BULK };

/* Hash of a resource's name or of a string in a reply. No two strings of two bytes collide, so +OK
   is recognised exactly; two names that collide cost a useless attempt. */
static uint32_t rl_hash(uint32_t hash, char c) { return hash * 257 + (unsigned char)c; }

/* The hash of a word, known to the compiler. */
#define RL_HASH_CUBE (257u * 257u * 257u)
#define RL_HASH_3(a, b, c) (((a) * 257u + (b)) * 257u + (c))
#define RL_HASH_6(a, b, c, d, e, f) (RL_HASH_3(a, b, c) * RL_HASH_CUBE + RL_HASH_3(d, e, f))
#define RL_HASH_OK RL_HASH_3(0, 'O', 'K')
#define RL_HASH_REDLOCK (RL_HASH_6('r', 'e', 'd', 'l', 'o', 'c') * 257u + 'k')
#define RL_HASH_STANDALONE                                                                         \
  (RL_HASH_6(0, 0, 's', 't', 'a', 'n') * RL_HASH_CUBE * RL_HASH_CUBE +                             \
   RL_HASH_6('d', 'a', 'l', 'o', 'n', 'e'))

/* Digits that do not fit are ignored: no number that matters is that large. */
static rl_reply rl_parse_line(rl_parser *p, char c) {
  if (c == '\r') {
    p->state = RL_AT_LF;
    return RL_PARSE_MORE;
  }
  if (c == '\n' || ++p->count > RL_MAX_LINE) return RL_PARSE_INVALID;
  if (p->type == '-') {
    if (p->count <= 3) p->hash = rl_hash(p->hash, c);
    return RL_PARSE_ERROR_TEXT;
  }
  if (p->type == '+') p->hash = rl_hash(p->hash, c);
  else if (c == '-' && p->count == 1) p->negative = 1;
  else if (c < '0' || c > '9') return p->elements_left ? RL_PARSE_MORE : RL_PARSE_INVALID;
  else if (p->count < RL_MAX_DIGITS) p->number = p->number * 10 + (uint32_t)(c - '0');
  return RL_PARSE_MORE;
}

/* The CRLF after a bulk string is parsed as an empty line of type '_'; `negative` is set, since
   it is no RESP3 nil. */
static rl_reply rl_parse_line_end(rl_parser *p) {
  uint32_t number = RL_LOW32(p->number);
  static const char types[] = "$=*~>%|";
  enum { RL_LIST = 2, RL_MAP = 5, RL_UNSIZED = 7 };
  int kind = 0;
  p->state = RL_AT_TYPE;
  if (p->type == '-') return RL_REPLY_ERROR;
  if (p->type == '+') return p->count == 2 && p->hash == RL_HASH_OK ? RL_REPLY_OK : RL_REPLY_STATUS;
  if (p->type == '_')
    return p->count ? RL_PARSE_INVALID : p->negative ? RL_REPLY_OTHER : RL_REPLY_NIL;
  if (p->count == p->negative) return RL_PARSE_INVALID;
  if (p->type == ':') {
    p->hash = p->negative ? 0 : number;
    return p->negative || !p->number ? RL_REPLY_OTHER : RL_REPLY_POSITIVE;
  }
  while (kind < RL_UNSIZED && (uint8_t)types[kind] != p->type) kind++;
  if (kind == RL_UNSIZED) return p->elements_left ? RL_REPLY_OTHER : RL_PARSE_INVALID;
  if (p->count > RL_MAX_SIZE_DIGITS) return RL_PARSE_INVALID;
  if (p->negative) return number == 1 && p->type == '$' ? RL_REPLY_NIL : RL_PARSE_INVALID;
  if (kind < RL_LIST) {
    p->type = '_';
    p->negative = 1;
    p->count = (uint16_t)number;
    p->state = number ? RL_AT_BULK : RL_AT_LINE;
    return RL_PARSE_MORE;
  }
  if (kind >= RL_MAP) number = 2 * number + (uint32_t)(kind - RL_MAP);
  p->nested = p->elements_left != 0;
  if (!p->nested) p->words = 0;
  p->elements_left += number + (p->elements_left == 0);
  return RL_REPLY_OTHER;
}

/* A version, with one byte more: 0x080400 is 8.4.0. */
static uint32_t rl_version(uint32_t version, char c) {
  uint32_t digit = (uint32_t)(c - '0');
  return digit > 9 ? version << 8 : version + (version & 255) * 9 + digit;
}

/* Parses one byte. RL_REPLY_OK and what follows it mean: a reply, or an element, is complete. */
static rl_reply rl_parse_byte(rl_parser *p, char c) {
  switch (p->state) {
    case RL_AT_TYPE:
      if (!p->nested) p->before = p->hash;
      p->number = p->version = p->hash = p->count = p->negative = 0;
      p->type = (uint8_t)c;
      if (p->elements_left == 0) p->outer_type = p->type;
      p->state = RL_AT_LINE;
      return RL_PARSE_MORE;
    case RL_AT_LINE: return rl_parse_line(p, c);
    case RL_AT_LF: return c == '\n' ? rl_parse_line_end(p) : RL_PARSE_INVALID;
    default:
      p->hash = rl_hash(p->hash, c);
      p->version = rl_version(p->version, c);
      if (--p->count == 0) p->state = RL_AT_LINE;
      return RL_PARSE_MORE;
  }
}

/* What a reply may hold that matters: HELLO's in front of its modules, or INFO's. */
enum {
  RL_WORD_MASTER = 1,
  RL_WORD_STANDALONE = 2,
  RL_WORD_REDIS = 4,
  RL_WORD_VALKEY = 8,
  RL_WORD_NEW = 16, /* a version with a command of its own for releases */
  RL_WORD_NUMBER = 32
};

static void rl_note_word(rl_parser *p) {
  int word = p->type == ':' ? RL_WORD_NUMBER : 0;
  if (p->hash == RL_HASH_6('m', 'a', 's', 't', 'e', 'r')) word = RL_WORD_MASTER;
  if (p->hash == RL_HASH_STANDALONE) word = RL_WORD_STANDALONE;
  if (p->hash == RL_HASH_6(0, 'r', 'e', 'd', 'i', 's')) word = RL_WORD_REDIS;
  if (p->hash == RL_HASH_6('v', 'a', 'l', 'k', 'e', 'y')) word = RL_WORD_VALKEY;
  if (p->version >= RL_OWN_FORM_SINCE && p->version < RL_OWN_FORM_UNTIL) word = RL_WORD_NEW;
  p->words = (uint8_t)(p->words | word);
}

/* The same, but an aggregate is reported once, at its end. R8: no simple string and no error stands
   in one: where it has an element too few, the next reply would. */
static rl_reply rl_parse(rl_parser *p, char c) {
  rl_reply reply = rl_parse_byte(p, c);
  if (p->elements_left == 0 || reply == RL_PARSE_MORE) return reply;
  if (reply <= RL_REPLY_ERROR) return RL_PARSE_INVALID;
  if (!p->nested) rl_note_word(p);
  if (--p->elements_left) return RL_PARSE_MORE;
  return p->outer_type == '>' ? RL_PUSH : RL_REPLY_OTHER;
}

/* ---- The list of servers --------------------------------------------------------------------- */

typedef struct rl_endpoint {
  rl_span host;
  rl_span user, password; /* as in the URL, percent-encoded */
  uint32_t port, database;
  uint8_t tls;
} rl_endpoint;

/* userinfo: user[:password], percent-encoded */
static int rl_parse_userinfo(const char *at, const char *end, rl_endpoint *out) {
  const char *colon = rl_find(at, end, ":");
  out->user = rl_span_make(at, colon);
  if (colon != end) out->password = rl_span_make(colon + 1, end);
  for (; at != end; at++) /* what follows the end is no hex digit */
    if (*at == '%' && (rl_hex_digit(at[1]) > 15 || rl_hex_digit(at[2]) > 15)) return 0;
  return 1;
}

/* host[:port] or [v6][:port] */
static int rl_parse_host(const char *at, const char *end, rl_endpoint *out) {
  int v6 = *at == '[';
  const char *stop = rl_find(at, end, v6 ? "]/@?#;" : ":/@?#;"); /* these are in no host name */
  out->host = rl_span_make(at + v6, stop);
  if (out->host.size == 0 || out->host.size >= RL_HOST_BYTES || (v6 && *stop != ']')) return 0;
  stop += v6;
  if (stop == end) return 1;
  out->port = rl_parse_number(stop + 1, end, 65536) % 65536;
  return *stop == ':' && out->port;
}

static int rl_parse_url(const char *at, const char *end, rl_endpoint *out) {
  const char *slash = rl_find(at, end, "/"), *host = slash;
  while (host != at && host[-1] != '@') host--;
  if (!rl_parse_host(host, slash, out)) return 0;
  if (host != at && !rl_parse_userinfo(at, host - 1, out)) return 0;
  if (end - slash > 1) out->database = rl_parse_number(slash + 1, end, 1000000);
  return out->database != 1000000;
}

#define RL_SEPARATORS ", \t\r\n" /* between the entries of the list */

/* One entry of the list; 0 = malformed. */
static int rl_parse_entry(const char *entry, rl_endpoint *out) {
  const char *end = entry + strcspn(entry, RL_SEPARATORS);
  memset(out, 0, sizeof *out);
  out->port = 6379;
  out->tls = RL_HAS_URL && strncmp(entry, "rediss://", 9) == 0;
  if (RL_HAS_URL && (out->tls || strncmp(entry, "redis://", 8) == 0))
    return rl_parse_url(entry + 8 + out->tls, end, out);
  if (strncmp(entry, "unix:", 5) != 0) return rl_parse_host(entry, end, out);
  out->host = rl_span_make(entry + 5, end);
  out->port = 0;
  return *out->host.at == '/' && out->host.size < RL_HOST_BYTES;
}

/* Host and port of a server, as C strings. redlock_init has validated the entry. */
static void rl_copy_host_port(const rl_server *s, char host[RL_HOST_BYTES], char port[6]) {
  char digits[RL_MAX_DIGITS];
  const char *at;
  rl_endpoint t;
  (void)rl_parse_entry(s->entry, &t);
  rl_store_text(host, t.host.at, t.host.size);
  at = rl_format_decimal(digits + RL_MAX_DIGITS, t.port);
  rl_store_text(port, at, t.port ? (size_t)(digits + RL_MAX_DIGITS - at) : 0);
}

static int rl_span_equal(rl_span a, rl_span b) {
  int letter = *a.at == '/' ? 0 : 'a' - 'A'; /* paths are case-sensitive, host names are not */
  size_t left = a.size;
  if (a.size != b.size) return 0;
  while (left && (a.at[left - 1] | letter) == (b.at[left - 1] | letter)) left--;
  return left == 0;
}

/* ---- The client's lists and clock ------------------------------------------------------------ */

static const char rl_error_clock[] = "our clock failed";
static const char rl_error_forked[] = "the client is another process's";

#if defined(REDLOCK_NO_POSIX) || defined(_WIN32) /* on Windows no process is a copy of another */
#define rl_is_forked(rl) 0
#else
/* R17: with the sockets of the system, whether this is not the process that the client belongs to.
   */
static int rl_is_forked(const redlock *rl) {
  return !rl->options.io && rl->owner_pid != (long)getpid();
}
#endif

static void rl_set_local_error(redlock *rl, const char *what) {
  if (RL_HAS_TEXTS) rl->local_error = what;
}

/* < 0 = the clock failed. A reading so large that sums could overflow counts as a failure too. */
static int64_t rl_read_clock(const redlock *rl) {
  const redlock_options *o = &rl->options;
  int64_t now = o->now_ms ? o->now_ms(o->ctx) : rl->io->now_ms(rl->io_ctx);
  return now >= INT64_MAX / 2 ? -1 : now;
}

/* The time now, not before now_ms: the process may have been paused since that was read. */
static int64_t rl_read_clock_forward(const redlock *rl) {
  int64_t now_ms = rl_read_clock(rl);
  return now_ms < rl->now_ms ? rl->now_ms : now_ms;
}

/* Updates now_ms, which all that follows in this step uses; 0 = the clock failed, and the old
   reading stays. */
static int rl_update_now(redlock *rl) {
  int64_t now = rl_read_clock(rl);
  if (now >= 0) rl->now_ms = now;
  else rl_set_local_error(rl, rl_error_clock);
  return now >= 0;
}

/* Lets rl_on_timers run at that time; it finds out what is due. */
static RL_SMALL void rl_arm_timer(redlock *rl, int64_t due_ms) {
  if (due_ms < rl->timer_ms) rl->timer_ms = due_ms;
}

/* Fills data with random bytes; 0 = failed. */
static int rl_read_entropy(redlock *rl, void *data, size_t size) {
  const redlock_options *o = &rl->options;
  int bad = o->entropy ? o->entropy(o->ctx, data, size) : rl->io->entropy(rl->io_ctx, data, size);
  if (bad) rl_set_local_error(rl, "our entropy failed");
  return !bad;
}

/* A random number, uniform in 0..span (R3, R9); < 0 = no entropy. */
static int64_t rl_random(redlock *rl, uint32_t span) {
  uint32_t r;
  if (!rl_read_entropy(rl, &r, sizeof r)) return -1;
  return (int64_t)((r * ((uint64_t)span + 1)) >> 32);
}

/* R1: how long a ttl is valid, counted from T1: minus ceil(ttl * ppm / 1e6) + 2 for drift, and
   minus one step of the clock, since each reading may be up to a step behind (R2). */
static int64_t rl_validity_ms(const redlock *rl, uint32_t ttl_ms) {
  uint32_t ppm = rl->options.drift_ppm, rest = ttl_ms % 1000000; /* 32 bits hold every step */
  uint32_t drift = (rest % 1000 * ppm + 999) / 1000;
  drift = ttl_ms / 1000000 * ppm + (rest / 1000 * ppm + drift + 999) / 1000;
  return (int64_t)ttl_ms - drift - 2 - RL_CLOCK_STEP_MS;
}

static void rl_init_lists(redlock *rl) {
  rl_link *list = rl->lists;
  for (; list != rl->lists + RL_LISTS; list++) list->next = list->prev = list;
}

/* The first lock of a list, NULL = none. link is a lock's first member. */
static redlock_lock *rl_list_first(const rl_link *list) {
  return list->next == list ? NULL : (redlock_lock *)(void *)list->next;
}

/* The next one of the same list, NULL = none. */
static redlock_lock *rl_list_next(const rl_link *list, const redlock_lock *lock) {
  return lock->link.next == list ? NULL : (redlock_lock *)(void *)lock->link.next;
}

/* The next lock that waits for room in the ring, NULL = none. */
static redlock_lock *rl_first_queued(const redlock *rl) {
  redlock_lock *lock = rl_list_first(&rl->lists[RL_LIST_URGENT]);
  return lock ? lock : rl_list_first(&rl->lists[RL_LIST_QUEUED]);
}

/* A lock that is voting, backing off or kept, NULL = none. */
static redlock_lock *rl_first_active(const redlock *rl) {
  const rl_link *list = &rl->lists[RL_LIST_ACTIVE];
  redlock_lock *lock = NULL;
  for (; list != &rl->lists[RL_LIST_DECIDED] && !lock; list++) lock = rl_list_first(list);
  return lock;
}

/* The next lock to be returned, NULL = none. */
RL_NOINLINE static redlock_lock *rl_first_decided(const redlock *rl) {
  return rl_list_first(&rl->lists[RL_LIST_DECIDED]);
}

/* A lock that is not decided, active ones first; NULL = none. */
static redlock_lock *rl_first_undecided(const redlock *rl) {
  redlock_lock *lock = rl_first_active(rl);
  return lock ? lock : rl_first_queued(rl);
}

/* Whether a lock may go from one phase to another: the ways that the map tells. */
static int rl_may_follow(uint8_t phase, uint8_t next) {
#define RL_WAY(to) (1 << RL_PHASE_##to)
  static const uint8_t ways[] = {
    RL_WAY(QUEUED) | RL_WAY(KEPT) | RL_WAY(DECIDED), /* IDLE */
    UINT8_MAX, /* QUEUED: all */
    RL_WAY(BACKOFF), /* VOTING */
    RL_WAY(BACKOFF) | RL_WAY(QUEUED) | RL_WAY(KEPT) | RL_WAY(DECIDED) | RL_WAY(IDLE), /* BACKOFF */
    RL_WAY(QUEUED) | RL_WAY(KEPT) | RL_WAY(DECIDED) | RL_WAY(IDLE), /* KEPT */
    RL_WAY(IDLE) /* DECIDED */
  };
  return ways[phase] >> next & 1;
}

/* The lock leaves, or begins another round: the last one's command knows it no more. */
static void rl_forget_command(redlock_lock *lock) {
  rl_command *c = lock->command;
  if (c && c->lock == lock) c->lock = NULL;
  lock->command = NULL;
}

/* Where a lock belongs that is not IDLE. */
static rl_link *rl_list_of(redlock *rl, const redlock_lock *lock) {
  int list = RL_LIST_ACTIVE;
  if (lock->phase == RL_PHASE_DECIDED) list = RL_LIST_DECIDED;
  else if (lock->phase == RL_PHASE_QUEUED) list = lock->urgent ? RL_LIST_URGENT : RL_LIST_QUEUED;
  else if (RL_HAS_MANY && lock->timer_ms - rl->now_ms >= RL_LATER_MS) list = RL_LIST_LATER;
  return &rl->lists[list];
}

/* A list has a lock whose timer expires then. */
static void rl_arm_list(redlock *rl, const rl_link *list, int64_t due_ms) {
  if (RL_HAS_MANY && due_ms < rl->due_ms[list - rl->lists]) rl->due_ms[list - rl->lists] = due_ms;
}

static void rl_unlink(const redlock_lock *lock) {
  lock->link.next->prev = lock->link.prev;
  lock->link.prev->next = lock->link.next;
}

/* Puts a lock that is in no list at the end of its own; of many, at the beginning if a call blocks
   for it: there is but one, and kept locks may wait for room in tens of thousands. */
static void rl_link_in(redlock *rl, redlock_lock *lock) {
  rl_link *list = rl_list_of(rl, lock);
  lock->link.next = RL_HAS_MANY && lock->urgent > lock->kept ? list->next : list;
  lock->link.prev = lock->link.next->prev;
  lock->link.prev->next = lock->link.next->prev = &lock->link;
  rl_arm_list(rl, list, lock->timer_ms);
}

/* The hash of its resource. */
RL_NOINLINE static uint32_t rl_hash_of(const redlock_lock *lock) {
  const char *at = lock->resource, *end = at + lock->resource_size;
  uint32_t hash = 0;
  for (; at != end; at++) hash = rl_hash(hash, *at);
  return hash;
}

/* R26: the resource's pushes are for the lock from now on, or no longer. */
static void rl_set_tracks(redlock *rl, redlock_lock *lock, int tracks) {
#if RL_HAS_MANY
  if (lock->tracks != tracks) {
    redlock_lock **at = &rl->trackers[(lock->hash = rl_hash_of(lock)) & (RL_TRACKERS - 1)];
    while (!tracks && *at != lock) at = &(*at)->next_tracker;
    if (tracks) lock->next_tracker = *at;
    *at = tracks ? lock : lock->next_tracker;
  }
#endif
  (void)rl;
  lock->tracks = (uint8_t)tracks;
}

/* Changes a lock's phase, and its list with it: nothing else does. It must be in one unless it is
   IDLE. */
static void rl_set_phase(redlock *rl, redlock_lock *lock, uint8_t phase) {
  REDLOCK_ASSERT(rl_may_follow(lock->phase, phase));
  if (lock->phase != RL_PHASE_IDLE) rl_unlink(lock);
  lock->phase = phase;
  if (RL_HAS_MANY && phase == RL_PHASE_IDLE) rl_set_tracks(rl, lock, 0);
  if (phase == RL_PHASE_IDLE) rl_forget_command(lock);
  else rl_link_in(rl, lock);
}

/* Changes when the timer of a lock in a list expires. */
static void rl_set_timer(redlock *rl, redlock_lock *lock, int64_t due_ms) {
  lock->timer_ms = due_ms;
  rl_arm_timer(rl, due_ms);
  if (!RL_HAS_MANY) return;
  rl_unlink(lock);
  rl_link_in(rl, lock);
}

/* Whether the lock is in a list of this client; < 0 = those that were looked at are others, and
   there are more. Does not read *lock, which may be uninitialised. */
static int rl_owns_lock(const redlock *rl, const redlock_lock *lock) {
  const rl_link *list = rl->lists, *link;
  int looks = RL_MISUSE_LOOKS;
  for (; list != rl->lists + RL_LISTS; list++)
    for (link = list->prev; link != list; link = link->prev) {
      if (link == &lock->link) return 1;
      if (--looks == 0) return -1;
    }
  return 0;
}

/* Whether redlock_init succeeded, and at this address: a copy would share its sockets, and its
   lists would point into the original. */
static int rl_is_initialised(const redlock *rl) { return rl && rl->ring == rl->commands; }

/* ---- Fencing tokens (R25) -------------------------------------------------------------------- */

/* Whether the token was refused, so that nothing was set. */
static int rl_is_token_refused(redlock_vote vote) {
  return RL_HAS_FENCING && vote >= REDLOCK_VOTE_LOW;
}

/* Whether this round, or the one about to start, is an extra one. */
static int rl_is_extra_round(const redlock_lock *lock) {
  return RL_HAS_FENCING && lock->extra_rounds;
}

#ifndef REDLOCK_NO_FENCING

/* The clock_offset_us of a clock that shows what ours does: a slower one has less. */
#define RL_ZERO_OFFSET_US (UINT64_C(1) << 63)

/* How far above the proposal that clocks make one may be that follows a counter: clocks that are a
   tenth of max_ttl_ms slower still accept it. So a liar's counter has no honest server refuse. */
static uint64_t rl_token_lead_us(const redlock *rl) {
  return (uint64_t)rl->options.max_ttl_ms * 150;
}

/* The clock_offset_us of the quorum-th slowest server clock; those that are not known are the
   slowest. A minority of wrong clocks cannot change it. 0 = too few are known. */
static uint64_t rl_quorum_offset_us(const redlock *rl) {
  const rl_server *s, *other;
  uint64_t ahead = 0;
  for (s = rl->server; s != rl->server_end; s++) {
    int below = 0;
    for (other = rl->server; other != rl->server_end; other++)
      below += other->clock_offset_us < s->clock_offset_us;
    if (below < rl->quorum && s->clock_offset_us > ahead) ahead = s->clock_offset_us;
  }
  return ahead;
}

/* Chooses the token to propose: the middle of what servers accept, so that their clocks may differ
   by a quarter of max_ttl_ms either way. Where that is not above the last token (our clock counts
   whole milliseconds, and replies take time), the last + 1. 0 while too few clocks are known: the
   replies bring them. */
static void rl_propose_token(redlock *rl, rl_command *c) {
  uint64_t token = 0;
  if (rl->options.fencing && c->kind == RL_TASK_SET) token = rl_quorum_offset_us(rl);
  if (token) {
    token += (uint64_t)c->t1_ms * 1000 + (uint64_t)RL_MAX_TTL(rl) * 250 - RL_ZERO_OFFSET_US;
    if (rl->last_token - token < rl_token_lead_us(rl)) token = rl->last_token + 1;
    rl->last_token = token;
  }
  c->token = token;
}

/* The vote in a number, the reply to a fenced SET. Negative: minus the clock, which refused the
   token. Below the token: the clock, and the lock is set. Otherwise the counter, which refused the
   token; it is not used as a clock, or proposals would drift away from the clocks. A clock is
   compared with ours at T1: so the next token is as far above it when it arrives there, however
   long that takes. Compared at the reply, clients on slow links would propose the lower ones. */
static redlock_vote rl_fenced_vote(redlock *rl, rl_server *s, const rl_command *c) {
  uint64_t number = s->parser.number;
  if (s->parser.outer_type != ':' || number == 0) return REDLOCK_VOTE_ERROR;
  if (!s->parser.negative && number >= c->token) {
    if (number > rl->last_token && number - c->token < rl_token_lead_us(rl))
      rl->last_token = number;
    return REDLOCK_VOTE_LOW;
  }
  s->clock_offset_us = number - (uint64_t)c->t1_ms * 1000 + RL_ZERO_OFFSET_US;
  return s->parser.negative ? REDLOCK_VOTE_CLOCK : REDLOCK_VOTE_YES;
}

/* c = NULL clears it: the lock is not held after all. */
static void rl_store_token(redlock_lock *lock, const rl_command *c) {
  lock->token = c ? c->token : 0;
}

/* Whether a fenced SET only asks for the clocks: too few are known to propose a token. */
static int rl_asks_clocks(const rl_command *c) { return c->token == 0; }

static int64_t rl_offset_us(const redlock *rl, const rl_server *s) {
  uint64_t ahead = rl_quorum_offset_us(rl);
  return ahead && s->clock_offset_us ? (int64_t)(s->clock_offset_us - ahead) : 0;
}

#endif

/* ---- The command ring ------------------------------------------------------------------------ */

static RL_SMALL rl_command *rl_command_at(redlock *rl, uint32_t place) {
  return &rl->ring[place & (REDLOCK_MAX_COMMANDS - 1)];
}

/* How many commands the ring holds. */
static uint32_t rl_ring_count(const redlock *rl) { return rl->ring_tail - rl->ring_head; }

static void rl_free_reserved_slot(redlock *rl, redlock_lock *lock) {
  rl->reserved_slots -= lock->has_reserved_slot;
  lock->has_reserved_slot = 0;
  if (rl_first_queued(rl)) rl->work_pending = 1;
}

/* R24: whether the server has no vote on what begins at that time: it may have forgotten locks. */
static int rl_is_quarantined(const rl_server *s, int64_t t1_ms) {
  return RL_HAS_QUARANTINE && t1_ms < s->votes_from_ms;
}

/* R29: whether the server has started since then, so that nothing of before is there. Its
   votes_from_ms is its start + max_ttl_ms + 1. */
static int rl_started_since(const redlock *rl, const rl_server *s, int64_t since_ms) {
  return rl_is_quarantined(s, since_ms + RL_MAX_TTL(rl));
}

/* Appends a command for these servers. The caller has made sure that there is room. As long as its
   round is open it is sent; behind that, only if it is a release. */
static rl_command *rl_append_command(redlock *rl, const redlock_lock *lock, uint8_t kind,
                                     rl_mask to) {
  rl_command *c = rl_command_at(rl, rl->ring_tail);
  rl_writer w = rl_writer_make(c->args, 0, sizeof c->args);
  rl->ring_tail++; /* not before: its slot is not a command yet */
  REDLOCK_ASSERT(rl_ring_count(rl) <= REDLOCK_MAX_COMMANDS);
  rl_put_bulk(&w, lock->resource, lock->resource_size);
  rl_put_header(&w, '$', RL_STORED_BYTES);
  rl_put(&w, lock->value, RL_VALUE_BYTES);
  rl_put(&w, lock->age, sizeof lock->age);
  rl_put_raw(&w, "\r\n");
  c->args_size = (uint16_t)w.total;
  if (lock->adopts) rl_put(&w, lock->resource + RL_REPLACED_AT, RL_VALUE_BYTES);
  c->lock = NULL;
  c->is_open = 0;
  c->kind = kind; /* the form of a release is the server's: rl_form_for */
  c->form = lock->tracks || RL_FENCING(rl) ? RL_FORM_TRACKED : RL_FORM_PLAIN;
  if (lock->adopts) c->form = RL_FORM_SWAP;
  if (kind == RL_TASK_EXTEND) c->form = RL_FORM_EXTEND;
  c->t1_ms = rl->now_ms;
  c->ttl_ms = lock->round_ttl_ms;
  c->longest_ttl_ms = lock->longest_ttl_ms;
  c->unsent_to = to;
  c->awaited_from = 0;
  c->sets_at = (rl_mask)(kind == RL_TASK_SET ? -1 : 0);
  rl_propose_token(rl, c);
  rl->work_pending = 1;
  return c;
}

/* R24, R29: whether a server must not be sent this SET after all. That of a new lock: if the server
   has no vote at T1. That of a held lock or an adoption goes to such a server too, but not if that
   has started after T1. */
static int rl_is_set_void(const redlock *rl, const rl_server *s, const rl_command *c) {
  if (!(c->sets_at & s->bit)) return 0;
  if (c->kind == RL_TASK_SET && c->form != RL_FORM_SWAP) return rl_is_quarantined(s, c->t1_ms);
  return rl_started_since(rl, s, c->t1_ms);
}

/* Whether c, of which the server has no byte yet, must be sent to it (R12, R13). What is for a
   stalled server waits here, and not in its socket, until it has caught up; but for releases. */
static int rl_must_send(const redlock *rl, const rl_server *s, const rl_command *c) {
  int waits = s->stalled && s->outstanding && c->kind != RL_TASK_RELEASE;
  return (c->unsent_to & s->bit) && !waits && !rl_is_set_void(rl, s, c);
}

/* Moves send_next to what this server must get next, or to the tail. What is passed and has an open
   round may have its time when the server has caught up (rl_on_reply). */
static void rl_skip_unneeded(redlock *rl, rl_server *s) {
  for (; s->send_next != rl->ring_tail; s->send_next++) {
    rl_command *c = rl_command_at(rl, s->send_next);
    if (s->sent_bytes || rl_must_send(rl, s, c)) return;
    if (!c->is_open) rl_mask_remove(&c->unsent_to, s->bit);
  }
}

/* ---- Servers: errors ------------------------------------------------------------------------- */

static const char rl_error_lost[] = "no connection";
static const char rl_error_hangs_up[] = "it hangs up: is it rediss://?";
static const char rl_error_timeout[] = "no answer within server_timeout_ms";
static const char rl_error_protocol[] = "not an answer of Redis";
static const char rl_error_same_server[] = "the same server as another entry";
static const char rl_error_listed_twice[] = "this address is in the list twice";

/* Sets an error in our words. It does not replace the server's own words on this connection, which
   say more, nor a failed handshake's error, which stays until a handshake succeeds. */
static void rl_set_error(rl_server *s, const char *text) {
  if (!RL_HAS_TEXTS || s->error_is_theirs || s->handshake_failed) return;
  rl_store_text(s->error, text, rl_min(strlen(text), REDLOCK_MAX_ERROR - 1));
}

/* Whether its bytes go through options.tls. */
static int rl_uses_tls(const rl_server *s) { return RL_HAS_TLS && s->over_tls; }

/* Sets the error of a connection; the TLS layer's own words come first. A server that hangs up
   without a word may want TLS, unless it has spoken on an earlier connection. */
static void rl_set_connection_error(const redlock *rl, rl_server *s, const char *why) {
  const redlock_layer *tls = rl->options.tls;
  const char *its = rl_uses_tls(s) && s->fd >= 0 ? tls->error(tls->ctx, s->index) : NULL;
  if (RL_HAS_TLS && why == rl_error_lost && s->state > RL_STATE_CONNECTING && !s->parser.type)
    why = rl_error_hangs_up;
  rl_set_error(s, its ? its : why);
}

/* Stores one byte of an error's text. A text that quotes our arguments is cut before them, even if
   it is never complete: they contain the lock's value, or a password. */
static void rl_capture_error_byte(rl_server *s, char c) {
  size_t at = s->parser.count - 1;
  char *quoted;
  if (!RL_HAS_TEXTS || at >= REDLOCK_MAX_ERROR - 1) return;
  s->error[at] = c >= ' ' && c <= '~' ? c : '?';
  s->error[at + 1] = 0;
  s->error_is_theirs = 1;
  quoted = strstr(s->error, ", with args");
  if (quoted) *quoted = 0;
}

/* ---- Servers: a connection's end ------------------------------------------------------------- */

/* Counts a round's votes, and ends the round if they decide it; below, in "Rounds". */
static void rl_evaluate_round(redlock *rl, redlock_lock *lock);

/* R26: the resource may be free on that server; below, in "Locks: timers". */
static void rl_on_maybe_free(redlock *rl, const rl_server *s, uint32_t hash);

/* Fills a vote of this server into each open round that has none from it, and evaluates those.
   QUARANTINED is for those alone that began in its quarantine. NONE evaluates all: the caller has
   changed votes. */
static void rl_fill_votes(redlock *rl, const rl_server *s, redlock_vote vote) {
  uint32_t place;
  for (place = rl->ring_head; place != rl->ring_tail; place++) {
    const rl_command *c = rl_command_at(rl, place);
    redlock_lock *lock = c->lock;
    if (!c->is_open || (vote && lock->votes[s->index])) continue;
    if (vote == REDLOCK_VOTE_QUARANTINED && !rl_is_quarantined(s, lock->t1_ms)) continue;
    if (vote) lock->votes[s->index] = vote;
    rl_evaluate_round(rl, lock);
  }
}

/* How a server stands, and what follows for a round:

                        its vote as a round begins   it gets                  if it says nothing
     RL_REACH_AWAY      UNREACHABLE or ERROR         all, if it reconnects    -
     RL_REACH_COMING    none                         all, when it connects    UNREACHABLE
     RL_REACH_HERE      none                         all, behind the          TIMEOUT; UNREACHABLE,
                                                     handshake                if none was sent
     RL_REACH_STALLED   TIMEOUT                      releases; all, when it   -
                                                     has caught up (R13)

   A server in quarantine, if it is COMING or HERE, begins any round with QUARANTINED, a release's
   too. It is sent no SET but one that adopts or restores (R28, R29). */
typedef enum rl_reach { RL_REACH_AWAY, RL_REACH_COMING, RL_REACH_HERE, RL_REACH_STALLED } rl_reach;

static rl_reach rl_reach_of(const redlock *rl, const rl_server *s) {
  if (s->state == RL_STATE_CLOSED && rl->now_ms < s->reconnect_ms) return RL_REACH_AWAY;
  if (s->state < RL_STATE_HANDSHAKE) return RL_REACH_COMING;
  return s->stalled ? RL_REACH_STALLED : RL_REACH_HERE;
}

/* The vote of a server without a connection. */
static redlock_vote rl_disconnected_vote(const rl_server *s) {
  return s->handshake_failed ? REDLOCK_VOTE_ERROR : REDLOCK_VOTE_UNREACHABLE;
}

#if defined(REDLOCK_NO_POSIX) || defined(REDLOCK_NO_DNS)
#define rl_may_switch(s) 0
#define rl_haste(s) 1
#else
/* Whether its name has another address to try, if this connection ends without a handshake. */
static int rl_may_switch(const rl_server *s) {
  return s->state < RL_STATE_READY && s->addresses[1].port;
}

/* R14: what part of server_timeout_ms the first such connection gets, so that one round can try
   both: one of the four trips that this is made of; over TLS, three of six. */
static uint32_t rl_haste(const rl_server *s) {
  return !rl_may_switch(s) || s->failed_connections ? 1 : rl_uses_tls(s) ? 2 : 4;
}
#endif

/* R14: how long to wait before reconnecting, in ms: not at all after the first failure (servers
   close idle connections), then for a time that is random, growing and bounded (the longest, if
   entropy fails). If this connection brought no handshake, switches to the name's other address;
   the second is tried at once. */
static uint32_t rl_plan_reconnect(redlock *rl, rl_server *s) {
  uint32_t half;
  if (rl_may_switch(s)) {
    s->address_index = !s->address_index;
    if (s->address_index) return 0;
  }
  if (s->failed_connections <= 1) return 0;
  half = RL_BACKOFF_FIRST_MS / 2u << rl_min(s->failed_connections - 2u, RL_BACKOFF_DOUBLINGS);
  return half + rl_limit((uint32_t)rl_random(rl, half), half); /* no entropy: -1 */
}

static void rl_close_fd(redlock *rl, const rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  if (s->fd < 0) return;
  if (rl->options.closing) rl->options.closing(rl->options.ctx, s->index, s->fd);
  if (rl_uses_tls(s)) (tls->close)(tls->ctx, s->index);
  (rl->io->close)(rl->io_ctx, s->index);
}

/* Ends the connection, whatever the reason. R12: outstanding replies will not come, so that votes
   which await one become UNREACHABLE; only releases are sent again, if the key is still there. R5:
   a YES in an open round, unless it is a release's, is withdrawn, since the server may by now be
   behind another entry and say yes there too. All open rounds are evaluated: on return any lock may
   be decided, in another list or elsewhere in its own, so no walk over a list may call this; and
   roll-backs may have been appended. Nothing is sent, received or retired here, so pointers into
   the ring are valid, and no lock leaves the client. Behind the first failure what was not sent
   keeps its vote open, for the server is connected to at once. */
static void rl_disconnect(redlock *rl, rl_server *s, const char *why) {
  uint32_t place, delay;
  redlock_vote *its;
  rl_set_connection_error(rl, s, why);
  rl_close_fd(rl, s);
  if (s->failed_connections < 255) s->failed_connections++;
  delay = rl_plan_reconnect(rl, s);
  s->fd = -1;
  s->state = RL_STATE_CLOSED;
  s->stalled = s->last_send = s->handshake_replies = s->tracking = 0;
  s->release_form = RL_RELEASE_SCRIPT;
  s->outstanding = s->retired_replies = s->timed_reply = s->idle_reads = 0;
  s->reconnect_ms = rl->now_ms + delay;
  s->reply_next = s->send_next = rl->ring_head;
  s->sent_bytes = 0;
  rl->work_pending = 1; /* the first failure is retried at once, others by timer */
  for (place = rl->ring_head; place != rl->ring_tail; place++) {
    rl_command *c = rl_command_at(rl, place);
    rl_mask awaited = c->awaited_from & s->bit;
    rl_mask_remove(&c->awaited_from, s->bit);
    if (c->kind == RL_TASK_RELEASE) c->unsent_to |= awaited;
    if (!c->is_open && rl->now_ms >= c->t1_ms + c->longest_ttl_ms)
      rl_mask_remove(&c->unsent_to, s->bit);
    its = c->is_open ? &c->lock->votes[s->index] : NULL;
    if (its && (awaited || (*its == REDLOCK_VOTE_YES && c->kind != RL_TASK_RELEASE)))
      *its = REDLOCK_VOTE_UNREACHABLE;
  }
  rl_fill_votes(rl, s, REDLOCK_VOTE_NONE);
  if (delay) rl_fill_votes(rl, s, rl_disconnected_vote(s));
}

/* ---- Servers: sending ------------------------------------------------------------------------ */

/* Restarts the reply timer, for the last reply that is outstanding now. The clock is read behind
   what was sent or heard: the process may have stood still since the step began (R7). */
static void rl_restart_reply_timer(const redlock *rl, rl_server *s) {
  s->timed_since_ms = rl_read_clock_forward(rl);
  s->timed_reply = s->outstanding;
}

/* Expects that many more replies. One outstanding reply is timed at any time. */
static void rl_expect_replies(rl_server *s, uint32_t replies) {
  s->outstanding += replies;
  if (!s->timed_reply) s->timed_reply = s->outstanding;
}

/* Sends; returns how many bytes were accepted. 0 = none now, or the connection is broken: then
   rl_flush ends it, when the output is off the stack. If neither a reply nor room was awaited, the
   wait begins now. */
static size_t rl_send_bytes(redlock *rl, rl_server *s, const char *data, size_t size) {
  const redlock_layer *tls = rl->options.tls; /* hooks in parentheses: lwIP's send is a macro */
  int sent = rl_uses_tls(s) ? (tls->send)(tls->ctx, s->index, data, size)
                            : (rl->io->send)(rl->io_ctx, s->index, data, size);
  if ((size_t)sent > size) { /* below zero too */
    s->last_send = RL_SEND_BROKEN;
    return 0;
  }
  if (s->outstanding == 0) {
    if (sent) s->idle_reads = s->stalled = 0;
    if (sent || s->last_send == RL_SEND_WHOLE) rl_restart_reply_timer(rl, s);
  }
  s->last_send = (size_t)sent < size ? RL_SEND_CUT_SHORT : RL_SEND_WHOLE;
  return (size_t)sent;
}

/* A credential: from the entry, percent-encoded, or else from the options. */
static void rl_put_credential(rl_writer *w, const rl_span *encoded, const char *option) {
  if (encoded->size) rl_put_bulk_decoded(w, encoded->at, encoded->size);
  else rl_put_bulk(w, option, strlen(option));
}

/* The handshake, which every connection begins with: what it asks, in this order. R8: each reply
   has one form, by its type and, if that is +, its text. All of them prove that what follows is
   what it seems: with an element or a reply too many or too few, another one stands in the place of
   the last, which is like no other. An error is good in reply to HELLO and to CLIENT TRACKING, if
   it says that the server does not know or permit that. rl_put_handshake asks,
   rl_take_handshake_reply judges. */
enum {
  RL_ASK_AUTH,     /* if there is a password */
  RL_ASK_SELECT,   /* if there is a database */
  RL_ASK_HELLO,    /* who it is; who we are */
  RL_ASK_TRACKING, /* R26 */
  RL_ASK_INFO,     /* R24: with max_ttl_ms; without it, RL_ASK_PROOF in its place */
  RL_ASK_PROOF
};
static const char rl_reply_types[] = "++%+*+"; /* in the same order */
enum { RL_ASKED_OF_ALL = 3 };                  /* HELLO, TRACKING and the last */

/* AUTH, if there is a password; returns how many replies it gets. */
static uint8_t rl_put_auth(const redlock *rl, const rl_endpoint *t, rl_writer *w) {
  const redlock_options *o = &rl->options;
  size_t has_user = t->user.size || (!t->password.size && *o->username);
  if (!t->password.size && !*o->password) return 0;
  rl_put_header(w, '*', 2 + has_user);
  rl_put_bulk(w, "AUTH", 4);
  if (has_user) rl_put_credential(w, &t->user, o->username);
  rl_put_credential(w, &t->password, o->password);
  return 1;
}

/* Encodes the handshake; returns how many replies it gets. */
static uint8_t rl_put_handshake(const redlock *rl, const rl_server *s, rl_writer *w) {
  uint8_t replies;
  rl_endpoint t;
  (void)rl_parse_entry(s->entry, &t);
  replies = (uint8_t)(RL_ASKED_OF_ALL + rl_put_auth(rl, &t, w));
  if (t.database) {
    rl_put_raw(w, "*2\r\n$6\r\nSELECT\r\n");
    rl_put_bulk_number(w, t.database);
    replies++;
  }
  rl_put_raw(w, "*4\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$7\r\nSETNAME\r\n$7\r\nredlock\r\n"
                "*3\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$2\r\nON\r\n");
  rl_put_script(w, 3, RL_MAX_TTL(rl) ? RL_INFO_SCRIPT : "return{ok='redlock'}", 0);
  return replies;
}

/* Sends the rest of the handshake. R4: no command is sent before all of it has succeeded, unless it
   asks for nothing that a SET depends on, and no other address may do better. If it fails then, a
   SET behind it is rolled back like any that a lost connection leaves. */
RL_NOINLINE static void rl_send_handshake(redlock *rl, rl_server *s) {
  char piece[RL_HANDSHAKE_BYTES];
  for (;;) {
    rl_writer w = rl_writer_make(piece, s->sent_bytes, sizeof piece);
    uint8_t replies = rl_put_handshake(rl, s, &w);
    size_t size = (size_t)(w.at - piece), sent;
    if (size == 0) { /* all of it was sent */
      int waits = replies != RL_ASKED_OF_ALL || RL_MAX_TTL(rl) || rl_may_switch(s);
      s->state = waits ? RL_STATE_HANDSHAKE_SENT : RL_STATE_READY;
      s->sent_bytes = 0;
      return;
    }
    sent = rl_send_bytes(rl, s, piece, size);
    if (sent == 0) return;
    if (s->sent_bytes == 0) {
      s->state = RL_STATE_HANDSHAKE;
      s->handshake_replies = replies;
      rl_expect_replies(s, replies);
    }
    s->sent_bytes += (uint32_t)sent;
  }
}

/* Consecutive commands of the ring, encoded for sending. */
typedef struct rl_output {
  uint32_t first, end; /* indices: the first, and one past the last */
  size_t sent;         /* bytes of the first command that were sent before */
  size_t size;         /* in bytes; 0 = there are none */
  const rl_server *to; /* whom it was encoded for */
  char data[RL_OUTPUT_BYTES];
} rl_output;

/* Encodes what this server gets next. The last command may be cut. */
static void rl_fill_output(redlock *rl, const rl_server *s, rl_output *w) {
  rl_writer out = rl_writer_make(w->data, s->sent_bytes, sizeof w->data);
  w->first = w->end = s->send_next;
  w->sent = s->sent_bytes;
  w->to = s;
  do {
    rl_command *c = rl_command_at(rl, w->end++);
    size_t before = out.total;
    rl_put_command(&out, rl, c, rl_form_for(c, s));
    c->wire_size = (uint16_t)(out.total - before);
  } while (out.room && w->end != rl->ring_tail && rl_must_send(rl, s, rl_command_at(rl, w->end)));
  w->size = sizeof w->data - out.room;
}

/* Whether the output, encoded for another server, is exactly what this one gets next. */
static int rl_output_fits(redlock *rl, const rl_server *s, const rl_output *w) {
  uint32_t place;
  if (w->size == 0 || s->send_next != w->first || s->sent_bytes != w->sent) return 0;
  for (place = w->first; place != w->end; place++) {
    const rl_command *c = rl_command_at(rl, place);
    if (rl_form_for(c, s) != rl_form_for(c, w->to)) return 0;
    if (place != w->first && !rl_must_send(rl, s, c)) return 0; /* the first: rl_skip_unneeded */
  }
  return 1;
}

/* Accounts for bytes that were sent. From its first byte on, a command is not sent to this server
   again (R12), except a release whose connection is lost: see rl_disconnect. */
static void rl_on_bytes_sent(redlock *rl, rl_server *s, size_t sent) {
  while (sent > 0) {
    rl_command *c = rl_command_at(rl, s->send_next);
    size_t left = c->wire_size - s->sent_bytes, step = rl_min(sent, left);
    if (s->sent_bytes == 0) {
      REDLOCK_ASSERT(c->unsent_to & s->bit);
      rl_mask_remove(&c->unsent_to, s->bit);
      c->awaited_from |= s->bit;
      rl_expect_replies(s, 1);
      if (c->sets_at & s->bit) c->lock->maybe_set |= s->bit;
    }
    sent -= step;
    s->sent_bytes = (uint32_t)(step < left ? s->sent_bytes + step : 0);
    if (step == left) s->send_next++;
  }
}

/* Sends one piece of output to a server; whether it may take another. */
static int rl_send_output(redlock *rl, rl_server *s, rl_output *w) {
  size_t sent;
  if (s->state != RL_STATE_READY || s->last_send == RL_SEND_BROKEN) return 0;
  rl_skip_unneeded(rl, s);
  if (s->send_next == rl->ring_tail) return 0;
  if (!rl_output_fits(rl, s, w)) rl_fill_output(rl, s, w);
  sent = rl_send_bytes(rl, s, w->data, w->size);
  rl_on_bytes_sent(rl, s, sent);
  return sent == w->size;
}

/* Sends to all servers, one piece of output to each, until none can take more. Servers at the same
   position in the ring share a piece: with 256 locks in flight and five servers, each command is
   encoded once instead of five times. */
RL_NOINLINE static void rl_send_to_all(redlock *rl) {
  rl_server *s = rl->server;
  rl_output output;
  int idle = 0;
  output.size = 0;
  while (idle != rl->server_count) { /* each iteration sends something, or finds a server idle */
    idle = rl_send_output(rl, s, &output) ? 0 : idle + 1;
    if (++s == rl->server_end) s = rl->server;
  }
}

/* Starts connecting; 0 = failed. */
RL_NOINLINE static int rl_connect(redlock *rl, rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  char host[RL_HOST_BYTES], port[6];
  rl_copy_host_port(s, host, port);
  s->generation++;
  s->error_is_theirs = 0;
  s->parser.state = RL_AT_TYPE;
  s->parser.elements_left = 0;
  rl_restart_reply_timer(rl, s);
  s->fd = rl->io->open(rl->io_ctx, s->index, host, port);
  s->state = s->fd < 0 ? RL_STATE_CLOSED : RL_STATE_CONNECTING;
  return s->fd >= 0 && !(rl_uses_tls(s) && tls->open(tls->ctx, s->index, s->fd, host));
}

/* R14: whether the server is needed: there is a command to send, or it cannot be sent any yet and a
   lock is active. */
static int rl_needs_connection(const redlock *rl, const rl_server *s) {
  return s->send_next != rl->ring_tail || (s->state < RL_STATE_READY && rl_first_active(rl));
}

/* When the server's timer expires; INT64_MAX = never. */
static int64_t rl_server_timer_ms(const redlock *rl, const rl_server *s) {
  int waits = s->outstanding || s->last_send != RL_SEND_WHOLE;
  if (s->state < RL_STATE_HANDSHAKE) waits = rl_needs_connection(rl, s);
  if (!waits) return INT64_MAX;
  if (s->state == RL_STATE_CLOSED) return s->reconnect_ms;
  return s->timed_since_ms +
         (s->stalled ? s->patience_ms : rl->options.server_timeout_ms / rl_haste(s)) + 1;
}

/* ---- Servers: receiving ---------------------------------------------------------------------- */

/* R4: the handshake failed: the server votes ERROR while it is away (rl_reach); but where its SET
   had left, behind optional commands, rl_disconnect votes UNREACHABLE first. Unless this reply is
   an error, our own words replace those of an earlier one, which refused nothing (R15). */
static void rl_fail_handshake(redlock *rl, rl_server *s, const char *why) {
  if (s->parser.outer_type != '-') s->error_is_theirs = s->handshake_failed = 0;
  rl_set_error(s, why);
  s->handshake_failed = 1;
  rl_disconnect(rl, s, why);
  rl_fill_votes(rl, s, REDLOCK_VOTE_ERROR);
}

/* R5: if two entries lead to one server, takes it from the other one, unless that is connected;
   0 = it is. */
static int rl_claim_server(redlock *rl, const rl_server *s) {
  rl_server *other;
  for (other = rl->server; other != rl->server_end; other++) {
    if (other == s || other->run_id != s->parser.hash) continue;
    if (other->state == RL_STATE_READY) return 0;
    other->run_id = 0;
  }
  return 1;
}

/* R24: when the server started. The clock is read again: a reading from before the reply would make
   the server seem older. A restart that we saw (the entry had another run_id before) is timed by
   our clock; else it is now - uptime + 2 s, but never in the future. A negative uptime means that
   the server's clock was set back. The server votes max_ttl_ms + 1 later, so that a restart
   that we hear of now is later than each T1 of this millisecond (R29). Two run_ids may have one
   hash: an uptime that is less by more than it may be off tells of the restart. */
static const char *rl_take_identity(redlock *rl, rl_server *s) {
  const rl_parser *p = &s->parser;
  uint32_t run_id = p->hash, uptime_ms = rl_limit(p->before, UINT32_MAX / 1000) * 1000;
  int is_new = s->run_id != run_id;
  int64_t votes_from_ms;
  if (!(p->words & RL_WORD_NUMBER) || p->type != '_' || p->nested || !run_id)
    return "no run_id or uptime in its INFO";
  if (!rl_claim_server(rl, s)) return rl_error_same_server;
  if (!rl_update_now(rl)) return rl_error_clock;
  if (is_new && s->run_id) uptime_ms = 0;
  votes_from_ms = rl->now_ms + RL_MAX_TTL(rl) + 1;
  if (uptime_ms > RL_UPTIME_SLACK_MS) votes_from_ms -= uptime_ms - RL_UPTIME_SLACK_MS;
  if (is_new || votes_from_ms - 2 * RL_UPTIME_SLACK_MS > s->votes_from_ms)
    s->votes_from_ms = votes_from_ms;
  s->run_id = run_id;
  return NULL;
}

/* Clears the error, after a good reply; a server in quarantine then has that as its error. */
static void rl_clear_error(const redlock *rl, rl_server *s) {
  s->handshake_failed = s->error_is_theirs = 0;
  s->error[0] = 0;
  if (rl_is_quarantined(s, rl->now_ms)) rl_set_error(s, "restarted: no vote for max_ttl_ms");
}

/* Whether an error says that the server does not know the command or permit it: ERR, or NOAUTH to
   NOPROTO, as far as three letters tell. NOREPLICAS is another trouble. */
static int rl_is_refusal(const rl_server *s) {
  uint32_t word = s->parser.hash;
  return word == RL_HASH_3('E', 'R', 'R') || word - RL_HASH_3('N', 'O', 'A') <= 'P' - 'A';
}

/* What is wrong with HELLO's reply; NULL = nothing. From the server's kind and version follows how
   it releases (R21); one that we do not know gets scripts. */
static const char *rl_take_hello(rl_server *s) {
  int words = s->parser.words;
  if (~words & (RL_WORD_MASTER | RL_WORD_STANDALONE)) /* either is missing */
    return "not a master: list plain masters only";
  s->tracking = 1;
  if ((words & RL_WORD_NEW) && !s->wants_scripts && !s->sent_bytes)
    s->release_form = words & RL_WORD_VALKEY ? RL_RELEASE_DELIFEQ
                      : words & RL_WORD_REDIS ? RL_RELEASE_DELEX : RL_RELEASE_SCRIPT;
  return NULL;
}

/* What is wrong with the reply to that question; NULL = nothing. A server that does not know or
   permit what is optional sends no wake-ups, and gets scripts: that is no error, and is not told as
   one. (Any other error means trouble. One that comes unasked is told if the server then hangs
   up.) */
static const char *rl_take_handshake_reply(redlock *rl, rl_server *s, int question) {
  const rl_parser *p = &s->parser;
  uint32_t good = question == RL_ASK_PROOF ? RL_HASH_REDLOCK : RL_HASH_OK;
  if (p->outer_type == '-') {
    if ((question != RL_ASK_HELLO && question != RL_ASK_TRACKING) || !rl_is_refusal(s))
      return rl_error_protocol;
    if (question == RL_ASK_TRACKING) {
      s->tracking = s->error_is_theirs = 0;
      s->error[0] = 0;
    }
    return NULL;
  }
  if (p->outer_type != (uint8_t)rl_reply_types[question]) return rl_error_protocol;
  if (question == RL_ASK_HELLO) return rl_take_hello(s);
  if (question == RL_ASK_INFO) return RL_HAS_QUARANTINE ? rl_take_identity(rl, s) : NULL;
  return p->hash == good ? NULL : rl_error_protocol;
}

/* Questions are counted from the last one. AUTH alone counts as SELECT, which is answered alike. */
RL_NOINLINE static void rl_on_handshake_reply(redlock *rl, rl_server *s) {
  int left = --s->handshake_replies;
  int question = left ? RL_ASK_INFO - left : RL_MAX_TTL(rl) ? RL_ASK_INFO : RL_ASK_PROOF;
  const char *problem = rl_take_handshake_reply(rl, s, question);
  if (problem) {
    rl_fail_handshake(rl, s, problem);
  } else if (left == 0) {
    s->state = RL_STATE_READY;
    rl_clear_error(rl, s);
    rl_on_maybe_free(rl, s, 0); /* R26 */
    rl_fill_votes(rl, s, REDLOCK_VOTE_QUARANTINED);
  }
}

/* R4: the vote in a reply to that command. nil, or up to four bytes of what is found instead:
   TAKEN. OK: YES, to a SET. An integer above 0: YES, to an extension or a release. 0: TAKEN to a
   release, which may be a native one; an ERROR to an extension, since the script never says it. */
RL_NOINLINE static redlock_vote rl_vote_of(redlock *rl, rl_server *s, const rl_command *c,
                                           rl_reply reply) {
  int sets = (c->sets_at & s->bit) != 0;
  if (reply == RL_REPLY_NIL || (s->parser.outer_type == '$' && RL_LOW32(s->parser.number) <= 4))
    return REDLOCK_VOTE_TAKEN;
  if (reply == RL_REPLY_OTHER && c->kind == RL_TASK_RELEASE && s->parser.outer_type == ':')
    return REDLOCK_VOTE_TAKEN; /* of a native one */
  if (c->kind == RL_TASK_SET && RL_FENCING(rl)) return rl_fenced_vote(rl, s, c);
  return reply == (sets ? RL_REPLY_OK : RL_REPLY_POSITIVE) ? REDLOCK_VOTE_YES : REDLOCK_VOTE_ERROR;
}

/* One outstanding reply has come. If it was the timed one, the last outstanding one is timed next.
   From a stalled server each is a sign of life, and nothing else is: who pushes without end, or a
   byte now and then, says nothing (R13). */
static void rl_reply_arrived(redlock *rl, rl_server *s) {
  if (s->timed_reply == 1 || s->stalled) rl_restart_reply_timer(rl, s);
  s->idle_reads = 0;
  s->timed_reply--;
  if (--s->outstanding == 0) s->stalled = 0;
}

/* What a reply says of the key, to a lock that the client still has: its round may have ended. A
   SET that is refused has set nothing (R7). R29: an extension that finds no value has the next one
   send it again (rl_without_key), but only if no SET of it is still to come: an unanswered one may
   arrive by an earlier connection; and of two SETs under way, one could put the value back after
   what the other had put there was adopted (R28). None is if the server has answered it; or if no
   connection to it was lost since the grant: then that answer came before this one (R8). */
RL_NOINLINE static void rl_note_key(const redlock *rl, const rl_server *s, const rl_command *c,
                                    redlock_vote vote) {
  redlock_lock *lock = c->lock;
  if (!lock) return;
  if (c->kind == RL_TASK_EXTEND) {
    rl_hold *h = &lock->is.hold;
    if ((c->sets_at & s->bit) || vote == REDLOCK_VOTE_YES) h->answered_by |= s->bit;
    else if (RL_MAX_TTL(rl) && vote == REDLOCK_VOTE_TAKEN &&
             ((h->answered_by & s->bit) || s->reconnect_ms < h->grant_t1_ms))
      rl_mask_remove(&lock->maybe_set, s->bit);
  } else if (vote == REDLOCK_VOTE_TAKEN || rl_is_token_refused(vote)) {
    rl_mask_remove(&lock->maybe_set, s->bit);
  }
}

/* The reply is neither yes nor no. R5: a 1 to a SET says that its value is there already, by
   another entry that leads to this server. It is asked again much later, since only a person can
   mend that, so its error stays. R8: what is not an error either cannot be the command's own. */
static void rl_on_bad_reply(redlock *rl, rl_server *s, const rl_command *c, rl_reply reply) {
  if (c->kind == RL_TASK_SET && c->form != RL_FORM_PLAIN && reply == RL_REPLY_POSITIVE) {
    rl_fail_handshake(rl, s, rl_error_same_server);
    s->reconnect_ms = rl->now_ms + RL_TWIN_MS;
  } else if (reply != RL_REPLY_ERROR) {
    rl_disconnect(rl, s, rl_error_protocol);
  }
}

/* Casts a vote in its round, which is open: it replaces even a TIMEOUT. But a release may have
   been sent again after a lost connection, and find nothing because the first one worked: that
   replaces no vote. R26: a SET is also told of the holder. Its age comes as a hash that grows with
   it, in base 257: up to 1 % more. */
static void rl_cast_vote(redlock *rl, const rl_server *s, const rl_command *c, redlock_vote vote) {
  redlock_lock *lock = c->lock;
  redlock_vote *its = &lock->votes[s->index];
  if (c->kind == RL_TASK_RELEASE && *its != REDLOCK_VOTE_NONE && vote == REDLOCK_VOTE_TAKEN) return;
  *its = vote;
  if (c->kind == RL_TASK_SET && s->parser.outer_type == '$') /* a plain one's nil tells nothing */
    lock->is.wait.told[s->index] =
        RL_NO_AGE + (RL_LOW32(s->parser.number) == RL_AGE_BYTES ? s->parser.hash + 1 : 0);
  rl_mask_remove(&lock->maybe_free, s->bit); /* such a change came before this vote */
  rl_evaluate_round(rl, lock);
}

/* R4, R24: handles the reply to a command. It says something of the key and of the server; if its
   round is open, it is a vote, too. */
static void rl_on_command_reply(redlock *rl, rl_server *s, rl_command *c, rl_reply reply) {
  redlock_vote vote = rl_vote_of(rl, s, c, reply);
  rl_note_key(rl, s, c, vote);
  if (vote == REDLOCK_VOTE_ERROR) {
    rl_on_bad_reply(rl, s, c, reply);
  } else {
    s->failed_connections = 0;
    /* a roll-back that finds nothing must not clear the error of its SET */
    if (c->kind != RL_TASK_RELEASE || vote == REDLOCK_VOTE_YES) rl_clear_error(rl, s);
    if (vote == REDLOCK_VOTE_CLOCK && !rl_asks_clocks(c)) rl_set_error(s, "clock is off");
    if (rl_is_quarantined(s, c->t1_ms)) vote = REDLOCK_VOTE_QUARANTINED;
  }
  if (c->is_open) rl_cast_vote(rl, s, c, vote);
}

/* Whether the reply refuses the server's own form of a release: it is new enough, but the user's
   rights have changed since. Any other error would refuse a script too. Then that release, whose
   vote stays open, and all that await a reply are sent again on a new connection, as scripts. NULL:
   it replies to a retired command, maybe a release; later ones must not fail as that did. */
static int rl_retry_refused_form(redlock *rl, rl_server *s, rl_command *c, rl_reply reply) {
  if (reply != RL_REPLY_ERROR || (c && c->kind != RL_TASK_RELEASE) || !s->release_form ||
      !rl_is_refusal(s))
    return 0;
  rl_disconnect(rl, s, rl_error_lost);
  s->wants_scripts = 1;
  if (c) c->unsent_to |= s->bit;
  return 1;
}

/* R8: matches a reply to its command, by position. Replies to retired commands are dropped here;
   those to a round that has ended, in rl_on_command_reply. */
static void rl_on_reply(redlock *rl, rl_server *s, rl_reply reply) {
  int stalled = s->stalled;
  rl_command *c;
  if (s->outstanding == (s->sent_bytes != 0)) { /* to nothing, or to what has left in part */
    rl_disconnect(rl, s, rl_error_protocol);
    return;
  }
  rl_reply_arrived(rl, s);
  if (s->handshake_replies) {
    rl_on_handshake_reply(rl, s);
  } else if (s->retired_replies) {
    s->retired_replies--;
    (void)rl_retry_refused_form(rl, s, NULL, reply);
  } else {
    do {
      REDLOCK_ASSERT(s->reply_next != s->send_next + 1);
      c = rl_command_at(rl, s->reply_next++);
    } while (!(c->awaited_from & s->bit));
    rl_mask_remove(&c->awaited_from, s->bit);
    if (rl_retry_refused_form(rl, s, c, reply)) return;
    rl_on_command_reply(rl, s, c, reply);
  }
  if (stalled && !s->stalled && s->state == RL_STATE_READY) { /* it has caught up */
    s->reply_next = s->send_next = rl->ring_head;
    rl_on_maybe_free(rl, s, 0); /* R26 */
  }
}

static void rl_on_byte(redlock *rl, rl_server *s, char byte) {
  rl_reply reply = rl_parse(&s->parser, byte);
  if (reply == RL_PARSE_MORE) return;
  if (reply == RL_PARSE_ERROR_TEXT) rl_capture_error_byte(s, byte);
  else if (reply == RL_PUSH) rl_on_maybe_free(rl, s, s->parser.hash);
  else if (reply == RL_PARSE_INVALID) rl_disconnect(rl, s, rl_error_protocol);
  else rl_on_reply(rl, s, reply);
}

RL_NOINLINE static void rl_receive(redlock *rl, rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  char data[RL_RECEIVE_BYTES];
  int turn, k, got;
  for (turn = 0; turn < RL_MAX_RECEIVES; turn++) {
    got = rl_uses_tls(s) ? (tls->recv)(tls->ctx, s->index, data, sizeof data)
                         : (rl->io->recv)(rl->io_ctx, s->index, data, sizeof data);
    if (got && s->idle_reads++ == RL_MAX_IDLE_READS) got = -1;
    if ((unsigned)got > RL_RECEIVE_BYTES) rl_disconnect(rl, s, rl_error_lost);
    for (k = 0; k < got && s->state != RL_STATE_CLOSED; k++) rl_on_byte(rl, s, data[k]);
    if (s->state == RL_STATE_CLOSED || got < RL_RECEIVE_BYTES) return;
  }
  rl->readable |= s->bit;
}

/* ---- Servers: one flush ---------------------------------------------------------------------- */

/* Prepares a server for sending: connects if necessary, and continues the handshake. A connection
   that was silent for server_timeout_ms is read first: the server may have closed it, and a SET on
   it would be lost. */
static void rl_prepare(redlock *rl, rl_server *s) {
  int has_begun = s->state == RL_STATE_CONNECTING || s->state == RL_STATE_HANDSHAKE;
  rl_skip_unneeded(rl, s);
  if (!has_begun && !rl_needs_connection(rl, s)) {
    if (s->outstanding == 0) s->stalled = s->last_send = 0; /* it has caught up */
    return;
  }
  if (s->state != RL_STATE_CLOSED && s->outstanding == 0 &&
      rl->now_ms - s->timed_since_ms > rl->options.server_timeout_ms)
    rl_receive(rl, s);
  if (s->state == RL_STATE_CLOSED && rl->now_ms >= s->reconnect_ms && !rl_connect(rl, s))
    rl_disconnect(rl, s, rl_error_lost);
  if (s->state == RL_STATE_CONNECTING || s->state == RL_STATE_HANDSHAKE) rl_send_handshake(rl, s);
}

/* Sends what is unsent to all servers. Votes that a stalled server still lacks are filled here:
   only one that is connecting lacks any; the others were given TIMEOUT when they stalled, or when
   the round began. Nothing is received while the output is on the stack: two such buffers at once
   would be the deepest frame of all. */
static void rl_flush(redlock *rl) {
  rl_server *s;
  for (s = rl->server; s != rl->server_end; s++) rl_prepare(rl, s);
  rl_send_to_all(rl);
  for (s = rl->server; s != rl->server_end; s++) {
    if (s->last_send == RL_SEND_BROKEN) {
      rl_receive(rl, s); /* it may have said why before it closed */
      if (s->state != RL_STATE_CLOSED) rl_disconnect(rl, s, rl_error_lost);
    }
    if (s->stalled) rl_fill_votes(rl, s, REDLOCK_VOTE_UNREACHABLE);
  }
}

/* ---- Servers: timers ------------------------------------------------------------------------- */

/* R13: how long a stalled server may leave us without an awaited reply, from when its wait began,
   before its connection is given up. A server that says nothing is frozen, or has more to do than
   it can, or the network between has forgotten the connection. If it is frozen, the SETs in its
   socket run at the thaw, and what is given up leaves them there; if it is too busy, a new
   connection costs it the handshake again, and the old one's work is still to do; but what is
   forgotten never comes back. So it is one time, whatever was sent: longer than servers are usually
   busy, and no longer than a lock can wait. Random, so that not all clients come back at once. But
   servers that fell silent together are given up together: a quorum of them keeps the releases for
   all (rl_retire_oldest). A connect has its own, at most; over TLS it may have taken bytes: the
   layer's. */
static uint16_t rl_draw_patience(redlock *rl, const rl_server *s) {
  const uint32_t spread = RL_SILENCE_SPREAD_MS;
  const rl_server *other;
  if (s->state == RL_STATE_CONNECTING && rl_may_switch(s)) return 0;
  if (s->state == RL_STATE_CONNECTING && !rl_uses_tls(s)) return RL_CONNECT_TIMEOUT_MS;
  for (other = rl->server; other != rl->server_end; other++) {
    uint32_t its = (uint32_t)(other->timed_since_ms - s->timed_since_ms) + other->patience_ms;
    if (other->stalled && its - RL_SILENCE_MS <= spread) return (uint16_t)its;
  }
  return (uint16_t)(RL_SILENCE_MS + rl_limit((uint32_t)rl_random(rl, spread), spread));
}

/* R13: a reply is overdue: server_timeout_ms after the timed command was sent or, if its reply
   has come since, after that reply. From now on it gets only releases, and its vote is TIMEOUT, in
   open rounds and in later ones (see rl_count_votes). If it has not connected yet, its commands
   wait for that. If its last outstanding reply comes, it is back (rl_reply_arrived). If it stays
   silent, it is disconnected, and tried anew as R14 says. A connect that hangs while nothing needs
   it has no timer; when a round needs it, that is overdue, and runs out at once. But over TLS it
   goes on only when we look, and who steps rarely always finds it overdue: its patience begins
   now. */
static void rl_mark_stalled(redlock *rl, rl_server *s) {
  if (s->state == RL_STATE_CONNECTING && rl_uses_tls(s)) s->timed_since_ms = rl->now_ms;
  s->patience_ms = rl_draw_patience(rl, s);
  s->stalled = 1;
  rl_set_connection_error(rl, s, rl_error_timeout);
  rl_fill_votes(rl, s, s->state == RL_STATE_CONNECTING ? REDLOCK_VOTE_UNREACHABLE
                                                       : REDLOCK_VOTE_TIMEOUT);
}

static void rl_on_server_timer(redlock *rl, rl_server *s) {
  if (s->state == RL_STATE_CLOSED || rl->now_ms < rl_server_timer_ms(rl, s)) return;
  if (!s->stalled && rl_haste(s) == 1) rl_mark_stalled(rl, s);
  else rl_disconnect(rl, s, rl_error_timeout);
}

/* ---- Room in the ring (R11) ------------------------------------------------------------------ */

/* Whether the ring must keep its oldest command for a server: part of it has been sent, or it must
   still be sent. If the server has no connection, what is urgent does not wait for that, and nobody
   waits when it is overdue or has failed: it may stay away. */
static int rl_pins_oldest(const redlock *rl, const rl_server *s, const rl_command *c, int urgent) {
  if (s->state != RL_STATE_READY && (urgent || s->stalled || s->failed_connections > 1)) return 0;
  return (c->unsent_to & s->bit) || (s->send_next == rl->ring_head && s->sent_bytes);
}

/* Retires the oldest command, if its round has ended; 0 = it cannot. R7: what is not urgent waits
   for the answers to a release that a quorum owes, until the first connection that has brought none
   is given up (R13): the next one gets it anew. Of what else is in the way, a stalled server that
   accepts no more bytes is disconnected; a healthy one is waited for, until it is overdue. */
static int rl_retire_oldest(redlock *rl, int urgent) {
  rl_command *c = rl_command_at(rl, rl->ring_head);
  int owing = 0;
  rl_server *s;
  if (rl_ring_count(rl) == 0 || c->is_open) return 0;
  for (s = rl->server; s != rl->server_end; s++)
    owing += ((c->awaited_from | c->unsent_to) & s->bit) && !s->failed_connections;
  if (!urgent && c->kind == RL_TASK_RELEASE && owing >= rl->quorum) return 0;
  for (s = rl->server; s != rl->server_end; s++) {
    if (!rl_pins_oldest(rl, s, c, urgent)) continue;
    if (!s->stalled || s->last_send == RL_SEND_WHOLE) return 0;
    rl_disconnect(rl, s, rl_error_timeout);
  }
  for (s = rl->server; s != rl->server_end; s++) {
    if (c->awaited_from & s->bit) s->retired_replies++;
    if (s->reply_next == rl->ring_head) s->reply_next++;
    if (s->send_next == rl->ring_head) s->send_next++;
  }
  rl->ring_head++;
  return 1;
}

/* Whether the ring has room for a task. What may set or lengthen a key needs two slots, one of them
   for the release behind it (R7). The last RL_URGENT_SLOTS are for what is urgent: blocking calls,
   kept locks, a release that is cancelled. What redlock_start_release starts is not: it queues
   behind what was started before it. */
static int rl_has_room(const redlock *rl, const redlock_lock *lock, uint8_t task) {
  uint32_t need = task == RL_TASK_RELEASE ? 1 : 2;
  if (!lock->urgent) need += RL_URGENT_SLOTS;
  return rl_ring_count(rl) + rl->reserved_slots + need <= REDLOCK_MAX_COMMANDS;
}

/* Takes the newest commands out again that are done with. So who waits for silent servers does not
   use up the ring, where the releases stand that their next connections will carry (R13). */
static void rl_retire_newest(redlock *rl) {
  rl_server *s;
  for (; rl_ring_count(rl); rl->ring_tail--) {
    const rl_command *c = rl_command_at(rl, rl->ring_tail - 1);
    if (c->is_open || c->unsent_to || c->awaited_from) return;
    for (s = rl->server; s != rl->server_end; s++) {
      if (s->send_next == rl->ring_tail) s->send_next--;
      if (s->reply_next == rl->ring_tail) s->reply_next--;
    }
  }
}

/* Makes room in the ring for the lock's task; 0 = there is none. */
static int rl_make_room(redlock *rl, const redlock_lock *lock) {
  rl_retire_newest(rl);
  while (!rl_has_room(rl, lock, lock->task))
    if (!rl_retire_oldest(rl, lock->urgent)) return 0;
  return 1;
}

/* ---- Rounds: votes, quorum, decision --------------------------------------------------------- */

/* How many servers have said what in a round. */
typedef struct rl_tally {
  int yes, none; /* none: nothing yet */
  int taken;     /* another value is there, or ours is missing; LOW too, but for an adoption */
  int absent;    /* no answer that says either; LOW, for an adoption; CLOCK */
  int refused;   /* only the token was; counted among the others too (R25) */
} rl_tally;

/* Ends the round: votes that still come do not count. R12: what is decided is not sent, but for a
   release. */
static void rl_end_round(redlock *rl, redlock_lock *lock) {
  rl_command *c = lock->command;
  REDLOCK_ASSERT(c->lock == lock && c->is_open);
  c->is_open = 0;
  if (c->kind != RL_TASK_RELEASE) c->unsent_to = 0;
  rl_set_phase(rl, lock, RL_PHASE_BACKOFF);
}

/* Decides the operation: redlock_step will return the lock. */
static void rl_decide(redlock *rl, redlock_lock *lock, redlock_status status) {
  lock->status = status;
  if (lock->kept) lock->operation = REDLOCK_LOST;
  lock->kept = 0;
  rl_set_phase(rl, lock, RL_PHASE_DECIDED);
}

/* R20: when a kept lock is given up that could not be extended. */
static int64_t rl_end_of_keeping_ms(const redlock *rl, const redlock_lock *lock) {
  return lock->deadline_ms - rl->options.keep_margin_ms;
}

/* Sets a phase that ends at due_ms at the latest: then the lock's timer runs out. That of a kept
   lock runs out at the end of its keeping, if that is still to come and earlier. */
static void rl_set_phase_until(redlock *rl, redlock_lock *lock, uint8_t phase, int64_t due_ms) {
  int64_t end = rl_end_of_keeping_ms(rl, lock);
  if (lock->kept && rl->now_ms < end && end < due_ms) due_ms = end;
  lock->timer_ms = due_ms;
  rl_set_phase(rl, lock, phase);
  rl_arm_timer(rl, due_ms);
}

/* Queues the lock until the ring has room; rl_start_round continues. An extension that comes too
   late has no end here: its release waits for room too. */
static void rl_enqueue(redlock *rl, redlock_lock *lock, uint8_t task) {
  int64_t end = INT64_MAX;
  lock->task = task;
  rl->work_pending = 1;
  if (task == RL_TASK_EXTEND && rl->now_ms < lock->deadline_ms) end = lock->deadline_ms;
  else if (rl_is_extra_round(lock)) end = lock->timer_ms;
  else if (task == RL_TASK_SET && lock->attempts) end = lock->is.wait.last_start_ms;
  rl_set_phase_until(rl, lock, RL_PHASE_QUEUED, end);
}

/* R7: lets go of the value wherever it may be: appends a release that nobody waits for. Where no
   byte of a SET was sent, or the server said TAKEN, LOW or CLOCK, nothing was set. Behind what may
   have set or lengthened the key, its slot is reserved. What is still queued has none: if the ring
   is full, the value expires by its ttl. It leaves with the next flush: in this step, or after a
   cancel in the next.

   Elsewhere a key remains until its ttl ends
     - where the connection was lost behind its SET, and the release cannot follow while it is
       younger than its ttl (rl_disconnect);
     - if the ring needs the release's slot while the server has no connection and cannot get one
       (rl_pins_oldest), or is frozen and its socket is full; or before the reply, and then the
       connection is lost: all that where only a minority owes the reply, or for what is urgent, or
       on the second connection in a row that brings nothing (rl_retire_oldest);
     - if a server restarts with its keys and freezes before the next extension (rl_without_key);
     - if a frozen server runs, at its thaw, a SET whose connection was given up (R13), and the
       release does not follow it by a later connection, in time;
     - if the right to the server's own form is withdrawn, and a release is refused that was retired
       meanwhile. The later ones are scripts (rl_retry_refused_form).
   An extension that failed leaves a longer ttl where a server said yes. The counter NAME:fence
   stays for max_ttl_ms behind the last token that was accepted (R25). Nothing else remains. */
static void rl_roll_back(redlock *rl, redlock_lock *lock) {
  int room = lock->has_reserved_slot || rl_has_room(rl, lock, RL_TASK_RELEASE);
  rl_free_reserved_slot(rl, lock);
  if (room && lock->maybe_set) (void)rl_append_command(rl, lock, RL_TASK_RELEASE, lock->maybe_set);
  lock->maybe_set = 0;
}

/* What follows a failed attempt:

                    the next attempt   the back-off before it
     RL_REST_POLL   plain              as the options say, growing. No quorum would push; or the
                                       quorum came too late, or refused the token: no push would
                                       announce that this changes
     RL_REST_TURN   tracked            its turn, at random (rl_turn_ms), behind a back-off if it was
                                       woken in vain (rl_back_off_ms). The servers do not track the
                                       key yet, or a quorum may be free
     RL_REST_PACED  tracked            as POLL: a quorum would push but for errors; or it would, and
                                       max_attempts counts
     RL_REST_PUSH   tracked            until they push; that may be lost, so for 1 to 2 s at most

   But the second attempt is plain: where locks are held for a moment, being told costs more than
   asking again. */
enum { RL_REST_POLL, RL_REST_TURN, RL_REST_PACED, RL_REST_PUSH };

/* Chooses that by the votes. It may be free on servers that are not known to hold another value:
   those without a vote, with a YES that is being rolled back, or that refused the token alone; or
   it may be since they voted. A server with an error might push its end: a key of another type,
   deleted. */
RL_NOINLINE static int rl_choose_rest(const redlock *rl, redlock_lock *lock) {
  int refused = 0, tell = 0, erring = 0;
  const rl_server *s;
  for (s = rl->server; s != rl->server_end; s++) {
    redlock_vote vote = lock->votes[s->index];
    refused += rl_is_token_refused(vote);
    if (rl_is_token_refused(vote)) vote = REDLOCK_VOTE_NONE;
    if (vote < REDLOCK_VOTE_TAKEN) lock->maybe_free |= s->bit;
    if (vote <= REDLOCK_VOTE_TAKEN) tell += s->tracking;
    if (vote == REDLOCK_VOTE_ERROR && lock->tracks) erring += s->tracking;
  }
  if (refused >= rl->quorum || lock->last_result == REDLOCK_EXPIRED) return RL_REST_POLL;
  if (tell + erring < rl->quorum) return RL_REST_POLL;
  if (tell < rl->quorum) return RL_REST_PACED;
  if (!lock->tracks || rl_mask_count(lock->maybe_free) >= rl->quorum) return RL_REST_TURN;
  return rl->options.max_attempts ? RL_REST_PACED : RL_REST_PUSH;
}

static uint32_t rl_waiting_ms(const redlock *rl, const redlock_lock *lock) {
  return (uint32_t)rl->now_ms - lock->is.wait.began_ms;
}

/* R9: a slot: twice what the last attempt took, from its last round on, so that colliding clients
   come apart. The process may have been paused. */
static uint16_t rl_slot_ms(const redlock *rl, const redlock_lock *lock) {
  return (uint16_t)(2 * rl_limit((uint32_t)(rl->now_ms - lock->t1_ms), RL_PUSH_WAIT_MS) + 1);
}

/* R26: an age, in ms: how long it has waited, if it can be woken; else that of a newcomer. Up to a
   half of it, and 1 to 16, are added at random, so that waiters that came together differ, and
   newcomers that follow one another. The random number is the value's last byte, since a label may
   come first. */
RL_NOINLINE static uint32_t rl_waiter_age(const redlock *rl, const redlock_lock *lock) {
  uint32_t luck = (unsigned char)lock->value[RL_VALUE_BYTES - 1], age = 0;
  if (lock->tracks) age = rl_limit(rl_waiting_ms(rl, lock), RL_MAX_AGE_MS);
  return age + (age * luck >> 9) + luck / 16 + 1;
}

/* R26: the window of a waiter for which the lock may be free: its turn is at random in there. Its
   rank is by how many holds it is younger than the latest holders were: so many are in line before
   it. The first in line has a quarter of a slot, and the others the more, by the square: so of any
   crowd a few try in each slot, and the eldest first. But no window is much longer than the time
   waited: ages may be of other times, when holds were long. */
static uint32_t rl_turn_ms(const redlock *rl, const redlock_lock *lock) {
  uint32_t slot = lock->slot_ms, age = rl_waiter_age(rl, lock), theirs = lock->is.wait.holder_age;
  uint32_t hold_ms = rl_limit((uint32_t)rl->now_ms - lock->is.wait.held_since_ms, RL_MAX_AGE_MS);
  uint32_t rank = age < theirs ? rl_limit((theirs - age) / (hold_ms + 1), RL_MAX_RANK) : 0, most;
  if (!lock->tracks) return slot + RL_NEWCOMER_MS;
  most = rl_limit(RL_TURN_SLOTS * slot + rl_waiting_ms(rl, lock), RL_PUSH_WAIT_MS);
  return rl_limit(slot * (2 + rank * rank) / 8, most);
}

/* R26: for how long a waiter backs off before its turn, whoever pushes: each wake-up in vain
   doubles that: from half a slot after T1 on, the attempt's end, it lasts 0, 1, 3, 7 slots. Who has
   rested since then is not delayed. */
static uint32_t rl_back_off_ms(const redlock *rl, const redlock_lock *lock) {
  uint32_t rested = (uint32_t)(rl->now_ms - lock->t1_ms);
  uint32_t most = rl_limit(lock->slot_ms * ((2u << lock->vain) - 1) / 2, RL_MAX_BACK_OFF_MS);
  return most > rested ? most - rested : 0;
}

/* Draws when such a rest ends; < 0 = no entropy. R9: a back-off that no push ends grows with what
   was waited. */
static int64_t rl_draw_rest(redlock *rl, const redlock_lock *lock, int rest) {
  uint32_t least = RL_PUSH_WAIT_MS, spread = least, shortest = rl->options.retry_delay_min_ms;
  uint32_t units = rl_limit(rl_waiting_ms(rl, lock) / RL_POLL_UNIT_MS, UINT16_MAX), most;
  int64_t random;
  if (rest == RL_REST_TURN) {
    least = rl_back_off_ms(rl, lock) / 2;
    spread = rl_turn_ms(rl, lock) + least;
  } else if (rest != RL_REST_PUSH) {
    least = shortest + !shortest;
    most = rl->options.retry_delay_max_ms - least;
    spread = lock->slot_ms + (uint32_t)(lock->attempts == 1) * RL_NEWCOMER_MS;
    if (spread < units * units) spread = units * units;
    if (spread > most || shortest) spread = most;
  }
  random = rl_random(rl, spread);
  return random < 0 ? random : rl->now_ms + random + least;
}

/* R26: an attempt has failed: what did servers tell of the holder? What counts is the greatest that
   more than N - quorum of them told or exceeded: no lie of a minority (R16). If so many told just
   that, it is the holder; if not, several are racing. Who tells no age is taken for another holder
   after a second: nothing else tells of a hand-over among such. Another holder ends most of the
   back-off, but not all; and such a second begins anew where the back-off ended: so there are ten
   attempts a second at most. */
RL_NOINLINE static void rl_note_holder(const redlock *rl, redlock_lock *lock) {
  rl_waiter *w = &lock->is.wait;
  int i, k, least, same = 0, spare = rl->server_count - rl->quorum;
  uint32_t told = 0, held_ms = (uint32_t)rl->now_ms - w->held_since_ms;
  for (i = 0; i < rl->server_count; i++) {
    for (k = least = 0; k < rl->server_count; k++) least += w->told[k] >= w->told[i];
    if (least > spare && told < w->told[i]) told = w->told[i];
  }
  for (k = 0; k < rl->server_count; k++) same += w->told[k] == told;
  if (told > w->holder_age) w->holder_age = told;
  if (told == RL_NO_AGE && held_ms >= RL_PUSH_WAIT_MS) lock->holder = 0;
  if (!told || (uint16_t)told == lock->holder) return;
  w->held_since_ms = (uint32_t)rl->now_ms;
  if (same <= spare) return;
  lock->holder = (uint16_t)told;
  lock->vain /= RL_VAIN_PART;
}

/* R9: whether no further attempt may follow. Without a clock none does. Those that wake-ups make
   early do not use up max_attempts before as many delays have passed, the shortest ones. */
static int rl_is_last_attempt(const redlock *rl, const redlock_lock *lock) {
  uint32_t delays = rl->options.max_attempts - 1, shortest = rl->options.retry_delay_min_ms;
  return lock->last_result == REDLOCK_SYSTEM || rl->now_ms >= lock->is.wait.last_start_ms ||
         (delays < lock->attempts && rl_waiting_ms(rl, lock) >= (uint64_t)delays * shortest);
}

/* R9: an attempt has failed, or found no room: backs off, or ends the acquire if it has no time, no
   attempts, no clock or no entropy left. */
static void rl_schedule_retry(redlock *rl, redlock_lock *lock) {
  int64_t last = lock->is.wait.last_start_ms, due;
  int rest;
  lock->extra_rounds = 0;
  if (rl_is_last_attempt(rl, lock)) {
    rl_decide(rl, lock, (redlock_status)lock->last_result);
    return;
  }
  rl_note_holder(rl, lock);
  lock->slot_ms = rl_slot_ms(rl, lock);
  rest = rl_choose_rest(rl, lock);
  due = rl_draw_rest(rl, lock, rest);
  rl_set_tracks(rl, lock, rest != RL_REST_POLL && lock->attempts > 1);
  if (due < 0) rl_decide(rl, lock, REDLOCK_SYSTEM);
  else rl_set_phase_until(rl, lock, RL_PHASE_BACKOFF, due < last ? due : last);
}

/* Ends a failed round, and releases its value everywhere; what an adoption has replaced is gone
   there. Then either an extra round of the same attempt follows at once, to all servers, with a new
   value and token; or the attempt has failed. may_grant: another token may do (R25): a quorum has
   said YES, has refused only the token (LOW or CLOCK), or may still do either. */
static void rl_fail_round(redlock *rl, redlock_lock *lock, redlock_status status, int may_grant) {
  rl_end_round(rl, lock);
  rl_roll_back(rl, lock);
  lock->last_result = (int8_t)status;
  if (RL_HAS_FENCING && may_grant && lock->extra_rounds < RL_MAX_EXTRA_ROUNDS &&
      rl->now_ms < lock->timer_ms) {
    lock->extra_rounds++;
    rl_enqueue(rl, lock, RL_TASK_SET);
  } else {
    rl_schedule_retry(rl, lock);
  }
}

/* R19: the lock is lost. What is left of it is released. */
static void rl_abandon(redlock *rl, redlock_lock *lock) {
  lock->deadline_ms = 0;
  if (lock->phase == RL_PHASE_VOTING) rl_end_round(rl, lock);
  rl_roll_back(rl, lock);
  rl_decide(rl, lock, REDLOCK_EXPIRED);
}

/* Schedules a kept lock's next extension, by how the last one ended: when two fifths of the time
   until its end are over, from its T1 on, or from now on if it has failed. A caller who comes every
   n ms sends it up to n late, and reads its answer n later: n may be three tenths of that time. */
static void rl_schedule_extension(redlock *rl, redlock_lock *lock, redlock_status last) {
  int64_t from = last ? rl->now_ms : lock->t1_ms, left = rl_end_of_keeping_ms(rl, lock) - from;
  uint32_t delay = left > 0 ? (uint32_t)left / 5 * 2 + 1 : 0;
  if (last) delay = rl_limit(delay, rl->options.retry_delay_max_ms);
  lock->last_result = (int8_t)last;
  rl->work_pending = 1; /* it may be due now, or need what was disconnected while idle (R14) */
  rl_set_phase_until(rl, lock, RL_PHASE_KEPT, from + delay);
}

/* R19: a failed extension leaves everything as it was. Until it is returned, its slot stays
   reserved: it may run out meanwhile. */
static void rl_finish_extension(redlock *rl, redlock_lock *lock, redlock_status status) {
  rl_end_round(rl, lock);
  if (!lock->kept) {
    rl_decide(rl, lock, status);
    return;
  }
  rl_free_reserved_slot(rl, lock);
  rl_schedule_extension(rl, lock, status);
}

/* A quorum said yes to a SET or an extension. R1: the clock is read after the last of them. */
static void rl_on_quorum(redlock *rl, redlock_lock *lock) {
  int64_t deadline = lock->t1_ms + rl_validity_ms(rl, lock->round_ttl_ms);
  int extends = lock->task == RL_TASK_EXTEND, works = rl_update_now(rl);
  int64_t end = extends ? lock->deadline_ms : deadline;
  redlock_status status = !works ? REDLOCK_SYSTEM : rl->now_ms < end ? REDLOCK_OK : REDLOCK_EXPIRED;
  if (extends) {
    if (status == REDLOCK_OK && deadline > end) lock->deadline_ms = deadline; /* R18 */
    if (status == REDLOCK_EXPIRED) rl_abandon(rl, lock);
    else rl_finish_extension(rl, lock, status);
  } else if (status != REDLOCK_OK) {
    rl_fail_round(rl, lock, status, 0);
  } else {
    rl_end_round(rl, lock);
    rl_store_token(lock, lock->command);
    lock->deadline_ms = deadline;
    lock->is.hold.grant_t1_ms = lock->t1_ms;
    lock->is.hold.max_hold_ms = rl->options.max_hold_ms;
    lock->is.hold.answered_by = 0;
    lock->ever_granted = 1;
    rl_set_tracks(rl, lock, 0);
    lock->extra_rounds = 0;
    rl_decide(rl, lock, REDLOCK_OK);
  }
}

/* What the votes of a round come to. spare = N - quorum: how many servers a quorum can do without.

     round      OK               PENDING, while              else
     acquire    a quorum of YES  that can be reached         NO_QUORUM if absent > spare, or TAKEN
     adoption   the same         that or the proof can be    TAKEN if taken > spare, or NO_QUORUM
     extension  the same         that or the proof can be    EXPIRED if taken > spare, or NO_QUORUM
     release    the same         the rest can decide         EXPIRED if taken > spare, NO_QUORUM if
                                 between those               absent > spare, or OK

   It is decided as soon as missing votes cannot change it (R6). That a lock is lost, or that a
   value to adopt is not there, is proved by more servers than are spare: then nobody waits for the
   rest (R19, R21, R28). An acquire needs no proof to be TAKEN (R23). */
static redlock_status rl_judge(int task, int adopts, const rl_tally *t, int quorum, int spare) {
  int may_win = t->yes + t->none >= quorum, may_be_disproved = t->taken + t->none > spare;
  int too_few = t->absent > spare;
  if (t->yes >= quorum) return REDLOCK_OK;
  if (task == RL_TASK_SET && !adopts)
    return may_win ? REDLOCK_PENDING : too_few ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN;
  if (t->taken > spare) return task == RL_TASK_SET ? REDLOCK_TAKEN : REDLOCK_EXPIRED;
  if (may_be_disproved) return REDLOCK_PENDING;
  if (task != RL_TASK_RELEASE) return may_win ? REDLOCK_PENDING : REDLOCK_NO_QUORUM;
  if (!too_few && t->absent + t->none > spare) return REDLOCK_PENDING;
  return too_few ? REDLOCK_NO_QUORUM : REDLOCK_OK; /* OK: a quorum answered, without such a proof */
}

/* R6: who is overdue may still answer. That counts, in the round's time, if too few others can:
   who has refused a token may accept the next one. */
static rl_tally rl_count_votes(const redlock *rl, const redlock_lock *lock) {
  rl_tally t = {0, 0, 0, 0, 0};
  const redlock_vote *at = lock->votes, *end = at + rl->server_count;
  int late = 0;
  for (; at != end; at++) {
    redlock_vote vote = *at;
    if (rl_is_token_refused(vote)) t.refused++;
    if (vote == REDLOCK_VOTE_YES) t.yes++;
    else if (vote == REDLOCK_VOTE_NONE) t.none++;
    else if (vote == REDLOCK_VOTE_TAKEN || (vote == REDLOCK_VOTE_LOW && !lock->adopts)) t.taken++;
    else t.absent++;
    late += vote == REDLOCK_VOTE_TIMEOUT;
  }
  if (t.absent - t.refused > rl->server_count - rl->quorum && rl->now_ms < lock->timer_ms)
    t.none += late;
  return t;
}

/* When the round ends at the latest: a later YES would be too late. */
static int64_t rl_round_due_ms(const redlock *rl, const redlock_lock *lock) {
  int64_t due =
      rl_is_extra_round(lock) ? lock->timer_ms : lock->t1_ms + rl->options.server_timeout_ms;
  int64_t end = lock->task == RL_TASK_EXTEND ? lock->deadline_ms : lock->t1_ms + lock->round_ttl_ms;
  return lock->task != RL_TASK_RELEASE && end < due ? end : due;
}

/* A round that has failed lingers for as long again as it has taken; but if a token was refused,
   until its end: else a minority that refuses could make the lock try again at once (R16, R25). An
   extra round has no end but the attempt's: it keeps that. */
static void rl_shorten_round(redlock *rl, redlock_lock *lock, int refused) {
  int64_t due_ms = 2 * rl->now_ms - lock->t1_ms + 2;
  if (refused || rl_is_extra_round(lock) || due_ms >= lock->timer_ms) return;
  rl_set_timer(rl, lock, due_ms);
}

/* The round of an acquire can have no quorum any more. While votes are missing, it goes on in two
   cases. If it only asks for the clocks, until more are known than a minority has, or the first to
   reply would decide (R16). And a waiter's lingers, without a YES: else a minority that lies would
   hurry the waiters, and decide rounds with tokens (R16, R25); and a server that votes TAKEN needs
   no roll-back. */
static void rl_on_failed_round(redlock *rl, redlock_lock *lock, redlock_status status,
                               const rl_tally *t) {
  int may_grant = t->yes + t->none + t->refused >= rl->quorum; /* with another token */
  int asks = may_grant && t->refused <= rl->server_count - rl->quorum &&
             rl_asks_clocks(lock->command);
  int lingers = lock->tracks && !t->yes;
  lock->round_failed = 1;
  if (!t->none || rl->now_ms >= lock->timer_ms || (!asks && !lingers))
    rl_fail_round(rl, lock, status, may_grant);
  else if (!asks) rl_shorten_round(rl, lock, t->refused);
}

/* Ends the round once its votes have decided it. */
static void rl_evaluate_round(redlock *rl, redlock_lock *lock) {
  rl_tally t = rl_count_votes(rl, lock);
  redlock_status status =
      rl_judge(lock->task, lock->adopts, &t, rl->quorum, rl->server_count - rl->quorum);
  if (status == REDLOCK_PENDING) {
    if (lock->round_failed) { /* but a late vote has changed that: it has all its time back */
      lock->round_failed = 0;
      rl_set_timer(rl, lock, rl_round_due_ms(rl, lock));
    }
  } else if (lock->task == RL_TASK_RELEASE) {
    rl_end_round(rl, lock);
    rl_decide(rl, lock, status);
  } else if (status == REDLOCK_OK) {
    rl_on_quorum(rl, lock);
  } else if (lock->task == RL_TASK_SET) {
    rl_on_failed_round(rl, lock, status, &t);
  } else if (status == REDLOCK_EXPIRED || rl->now_ms >= lock->deadline_ms) {
    rl_abandon(rl, lock); /* proved lost, or run out */
  } else {
    rl_finish_extension(rl, lock, status);
  }
}

/* ---- Locks: a round begins ------------------------------------------------------------------- */

/* R20: the longest ttl within max_hold_ms; 0 = extending would gain nothing. */
static uint32_t rl_clip_ttl(const redlock *rl, const redlock_lock *lock, uint32_t ttl_ms) {
  int64_t left = lock->is.hold.grant_t1_ms + lock->is.hold.max_hold_ms - rl->now_ms;
  if (lock->is.hold.max_hold_ms == 0 || ttl_ms <= left) return ttl_ms;
  ttl_ms = left > 0 ? (uint32_t)left : 0;
  return rl->now_ms + rl_validity_ms(rl, ttl_ms) > lock->deadline_ms ? ttl_ms : 0;
}

/* A server's vote when the round starts; NONE = its reply decides. Where the value cannot be, a
   release is not sent: ours is missing there. */
static redlock_vote rl_initial_vote(const redlock *rl, const rl_server *s, const rl_command *c) {
  rl_reach reach = rl_reach_of(rl, s);
  if (reach == RL_REACH_STALLED) return REDLOCK_VOTE_TIMEOUT;
  if (reach == RL_REACH_AWAY) return rl_disconnected_vote(s);
  if (rl_is_quarantined(s, rl->now_ms)) return REDLOCK_VOTE_QUARANTINED;
  return c->unsent_to & s->bit ? REDLOCK_VOTE_NONE : REDLOCK_VOTE_TAKEN;
}

/* Writes the age that goes behind the value, as three bytes, the highest first. */
static void rl_write_age(redlock_lock *lock, uint32_t age_ms) {
  char *at = lock->age + sizeof lock->age;
  for (; at != lock->age; age_ms >>= 8) *--at = (char)(age_ms & 255);
}

/* Begins an attempt to acquire, or an extra round of one: prepares its value and the age behind it
   (R26). 0 = the acquire is decided instead. */
static int rl_begin_attempt(redlock *rl, redlock_lock *lock) {
  rl_waiter *w = &lock->is.wait;
  int is_new = !rl_is_extra_round(lock);
  if (is_new && lock->attempts && rl->now_ms > w->last_start_ms) {
    rl_decide(rl, lock, (redlock_status)lock->last_result);
    return 0;
  }
  if (!rl_read_entropy(rl, lock->value, RL_VALUE_BYTES)) {
    rl_decide(rl, lock, REDLOCK_SYSTEM); /* R3: fails closed */
    return 0;
  }
  lock->round_failed = 0;
  if (is_new) {
    lock->attempts++;
    /* R26: a wake-up led to it, or one that found a quorum free: in vain, until another shows */
    if (rl_mask_count(lock->maybe_free) < rl->quorum) {
      lock->vain = 0;
      if (lock->holder == RL_NO_AGE) w->held_since_ms = (uint32_t)rl->now_ms;
    } else if (lock->vain < RL_MOST_DOUBLINGS) {
      lock->vain++;
    }
  }
  w->holder_age -= w->holder_age / RL_FORGOTTEN_PART;
  memset(w->told, 0, sizeof w->told);
  rl_write_age(lock, rl_waiter_age(rl, lock));
  return 1;
}

/* Begins an extension; 0 = not now: it is too late, or max_hold_ms lets nothing follow (R20). Then
   a kept lock waits until only its margin is left. */
static int rl_begin_extension(redlock *rl, redlock_lock *lock) {
  lock->round_ttl_ms = rl_clip_ttl(rl, lock, lock->round_ttl_ms);
  if (rl->now_ms >= lock->deadline_ms) rl_abandon(rl, lock); /* there is room for its release */
  else if (lock->round_ttl_ms) return 1;
  else if (lock->kept && rl->options.keep_margin_ms && rl->now_ms < rl_end_of_keeping_ms(rl, lock))
    rl_set_phase_until(rl, lock, RL_PHASE_KEPT, INT64_MAX);
  else rl_decide(rl, lock, REDLOCK_LIMIT);
  return 0;
}

/* R29: the servers that do not hold a held lock's value: they were not sent it, said that they have
   not got it (rl_note_key), or have restarted (noted here). For them the extension is a plain SET
   NX with the longest ttl; so the others may restart next. */
static rl_mask rl_without_key(const redlock *rl, redlock_lock *lock) {
  const rl_server *s;
  for (s = rl->server; s != rl->server_end; s++) {
    if (RL_HAS_QUARANTINE && lock->votes[s->index] == REDLOCK_VOTE_YES)
      lock->is.hold.answered_by |= s->bit;
    if (rl_started_since(rl, s, lock->t1_ms)) rl_mask_remove(&lock->maybe_set, s->bit);
  }
  lock->is.hold.answered_by &= lock->maybe_set; /* what is a SET now is not answered yet */
  return (rl_mask)~lock->maybe_set;
}

/* Starts the first queued lock's task, now that there is room. T1 is taken here (R11). A release
   goes where the value may be; all else to all, but see rl_is_set_void. */
static void rl_start_round(redlock *rl, redlock_lock *lock) {
  rl_mask to = lock->task == RL_TASK_RELEASE ? lock->maybe_set : (rl_mask)-1;
  rl_command *c;
  const rl_server *s;
  REDLOCK_ASSERT(lock->phase == RL_PHASE_QUEUED); /* else it was overwritten while it was pending */
  if (lock->task == RL_TASK_SET && !rl_begin_attempt(rl, lock)) return;
  if (lock->task == RL_TASK_EXTEND && !rl_begin_extension(rl, lock)) return;
  rl_forget_command(lock);
  c = rl_append_command(rl, lock, lock->task, to);
  c->lock = lock;
  c->is_open = 1;
  lock->command = c;
  if (lock->task == RL_TASK_EXTEND) c->sets_at = rl_without_key(rl, lock); /* by the last T1 */
  lock->has_reserved_slot = lock->task != RL_TASK_RELEASE; /* R7 */
  rl->reserved_slots += lock->has_reserved_slot;
  lock->t1_ms = rl->now_ms;
  for (s = rl->server; s != rl->server_end; s++) lock->votes[s->index] = rl_initial_vote(rl, s, c);
  lock->maybe_free = 0;
  rl_set_phase_until(rl, lock, RL_PHASE_VOTING, rl_round_due_ms(rl, lock));
  rl_evaluate_round(rl, lock);
}

/* Makes room in the ring for the first queued lock; NULL = there is none, or no room. */
static redlock_lock *rl_admit_next(redlock *rl) {
  redlock_lock *lock = rl_first_queued(rl);
  return lock && rl_make_room(rl, lock) ? lock : NULL;
}

/* ---- Locks: timers --------------------------------------------------------------------------- */

/* R10: the round's time is up: a missing vote becomes TIMEOUT; or UNREACHABLE, if no byte of the
   command went to its server, even if only because that has not answered the handshake yet. If the
   round had failed already and only lingered, missing votes stay NONE: those servers are not
   overdue yet, and they count as servers that push (R26). */
static void rl_on_round_timeout(redlock *rl, redlock_lock *lock) {
  const rl_command *c = lock->command;
  int overdue = !lock->round_failed || !lock->tracks ||
                (uint32_t)(rl->now_ms - lock->t1_ms) >= rl->options.server_timeout_ms;
  rl_server *s;
  for (s = rl->server; s != rl->server_end && overdue; s++) {
    redlock_vote *vote = &lock->votes[s->index];
    if (*vote != REDLOCK_VOTE_NONE) continue;
    *vote = c->awaited_from & s->bit ? REDLOCK_VOTE_TIMEOUT : REDLOCK_VOTE_UNREACHABLE;
    rl_set_connection_error(rl, s, rl_error_timeout);
  }
  rl_evaluate_round(rl, lock);
}

/* R26: the lock's resource may be free on that server. In back-off, if it may now find a quorum
   free, it retries soon. While an attempt is open this is only noted: rl_choose_rest decides, when
   that has failed. */
static void rl_wake(redlock *rl, const rl_server *s, redlock_lock *lock) {
  int64_t due_ms;
  if (lock->phase == RL_PHASE_QUEUED || (lock->maybe_free & s->bit)) return;
  lock->maybe_free |= s->bit;
  if (rl_mask_count(lock->maybe_free) != rl->quorum || lock->phase != RL_PHASE_BACKOFF) return;
  due_ms = rl_draw_rest(rl, lock, RL_REST_TURN); /* no entropy: at once */
  if (due_ms < lock->timer_ms) rl_set_timer(rl, lock, due_ms);
}

/* R26: the resource with that hash (0 = any) may be free on that server: it pushed a change, has
   just connected, or has replied to all that was overdue. Of many locks, only those with such a
   hash, or a similar one, are looked at; of few, all that are active. */
static void rl_on_maybe_free(redlock *rl, const rl_server *s, uint32_t hash) {
  redlock_lock *lock;
#if RL_HAS_MANY
  uint32_t at = hash & (RL_TRACKERS - 1), end = at + (hash ? 1 : RL_TRACKERS);
  for (; at != end; at++)
    for (lock = rl->trackers[at]; lock; lock = lock->next_tracker)
      if (!hash || hash == lock->hash) rl_wake(rl, s, lock);
#else
  for (lock = rl_first_active(rl); lock; lock = rl_list_next(&rl->lists[RL_LIST_ACTIVE], lock))
    if (lock->tracks && (!hash || hash == rl_hash_of(lock))) rl_wake(rl, s, lock);
#endif
}

/* The timer of a held lock: it is kept, and due to be extended, or waits in the queue for that.
   R20: a kept lock that could not be extended is returned as soon as only its margin is left. Who
   comes so late that nothing was tried has one extension first. */
RL_NOINLINE static void rl_on_held_timer(redlock *rl, redlock_lock *lock) {
  int queued = lock->phase == RL_PHASE_QUEUED;
  int last = queued ? (int)REDLOCK_NO_QUORUM : lock->last_result;
  if (!lock->round_ttl_ms) last = REDLOCK_LIMIT;
  if (last && rl->now_ms >= rl_end_of_keeping_ms(rl, lock) && rl->now_ms < lock->deadline_ms) {
    rl_decide(rl, lock, (redlock_status)last);
  } else if (queued) {
    rl_abandon(rl, lock); /* R19: no room in time */
  } else {
    lock->round_ttl_ms = lock->longest_ttl_ms;
    rl_enqueue(rl, lock, RL_TASK_EXTEND);
  }
}

/* A lock's timer has expired; a release waits for room without one. Or it has not: then the lock
   may no longer be one for later. */
static void rl_on_lock_timer(redlock *rl, redlock_lock *lock, const rl_link *list) {
  if (rl->now_ms < lock->timer_ms) {
    rl_arm_timer(rl, lock->timer_ms);
    if (RL_HAS_MANY && rl_list_of(rl, lock) != list) rl_set_timer(rl, lock, lock->timer_ms);
    else rl_arm_list(rl, list, lock->timer_ms);
  } else if (lock->phase == RL_PHASE_VOTING) {
    rl_on_round_timeout(rl, lock);
  } else if (lock->phase == RL_PHASE_BACKOFF) {
    rl_enqueue(rl, lock, RL_TASK_SET);
  } else if (lock->task == RL_TASK_SET) {
    rl_schedule_retry(rl, lock); /* no room in time */
  } else {
    rl_on_held_timer(rl, lock);
  }
}

/* The first lock of a list whose timers may have expired. NULL = it is empty; or, of many, none
   has: then no lock is looked at. */
static redlock_lock *rl_begin_timers(redlock *rl, const rl_link *list) {
  if (RL_HAS_MANY && list->next != list && rl->now_ms < rl->due_ms[list - rl->lists]) {
    rl_arm_timer(rl, rl->due_ms[list - rl->lists]);
    return NULL;
  }
  if (RL_HAS_MANY) rl->due_ms[list - rl->lists] = INT64_MAX; /* each lock arms it again */
  return rl_list_first(list);
}

/* Runs the timers that have expired. A lock may move to another list, or to the end of its own with
   another timer. */
static void rl_on_timers(redlock *rl) {
  const rl_link *list = rl->lists;
  redlock_lock *lock, *next;
  rl_server *s;
  for (s = rl->server; s != rl->server_end; s++) rl_on_server_timer(rl, s);
  rl->timer_ms = INT64_MAX;
  for (; list != &rl->lists[RL_LIST_DECIDED]; list++)
    for (lock = rl_begin_timers(rl, list); lock; lock = next) {
      next = rl_list_next(list, lock);
      rl_on_lock_timer(rl, lock, list);
    }
}

/* ---- Locks: the way out ---------------------------------------------------------------------- */

/* Takes a lock out of the client, as documented at redlock_cancel. What an acquire may have set is
   rolled back. A release that still waits for room leaves all the same, as a roll-back does; and it
   is urgent now. */
static void rl_cancel(redlock *rl, redlock_lock *lock) {
  int release_waits = lock->task == RL_TASK_RELEASE && lock->phase == RL_PHASE_QUEUED;
  if (lock->phase == RL_PHASE_VOTING) rl_end_round(rl, lock);
  rl_set_phase(rl, lock, RL_PHASE_IDLE);
  lock->urgent = 1;
  if (release_waits && !rl_is_forked(rl) && !rl_make_room(rl, lock)) {
    rl_flush(rl); /* this may free a slot, and no queued lock can take that first */
    (void)rl_make_room(rl, lock);
  }
  if (lock->task == RL_TASK_SET || release_waits) rl_roll_back(rl, lock);
  else rl_free_reserved_slot(rl, lock);
  if (lock->task == RL_TASK_SET) {
    lock->ever_granted = 0;
    lock->deadline_ms = 0;
    rl_store_token(lock, NULL);
  }
  if (!lock->kept) lock->status = REDLOCK_CANCELLED; /* a kept lock's stays as it was */
  lock->kept = lock->urgent = 0;
}

/* Everything pending fails. If the clock has failed (SYSTEM), nothing can be promised without it:
   SETs are still rolled back and releases still sent, but nothing waits for their replies, since no
   timer would end that. */
static void rl_fail_all(redlock *rl, redlock_status status) {
  redlock_lock *lock;
  while ((lock = rl_first_undecided(rl)) != NULL) {
    uint8_t kept = lock->kept;
    rl_cancel(rl, lock);
    lock->kept = kept; /* so that its loss is reported */
    rl_decide(rl, lock, status);
  }
}

/* R17: whether this is a forked child, which ends all that it has of its parent's: nothing is sent,
   and what was decided before is not the child's. Asked by each call that would send, read or
   return a grant: once. */
static int rl_ends_in_child(redlock *rl) {
  redlock_lock *lock;
  if (!rl_is_forked(rl)) return 0;
  rl_fail_all(rl, REDLOCK_INVALID);
  for (lock = rl_first_decided(rl); lock; lock = rl_list_next(&rl->lists[RL_LIST_DECIDED], lock)) {
    lock->status = REDLOCK_INVALID;
    lock->deadline_ms = 0;
  }
  rl->work_pending = 0;
  rl->readable = 0;
  rl->timer_ms = INT64_MAX;
  rl_set_local_error(rl, rl_error_forked);
  return 1;
}

/* ---- One step -------------------------------------------------------------------------------- */

/* Runs timers, starts queued tasks, and sends, in passes. Timers come first, so that nothing is
   sent for a round whose time is up. Whatever creates work for another pass sets work_pending, and
   that pass clears it as it begins. What the last pass leaves is for the next step. */
static void rl_run_passes(redlock *rl) {
  const rl_server *s;
  redlock_lock *lock;
  int pass = 0;
  do {
    rl->work_pending = 0;
    if (rl->now_ms >= rl->timer_ms || !rl_first_active(rl)) rl_on_timers(rl);
    while ((lock = rl_admit_next(rl)) != NULL) rl_start_round(rl, lock);
    rl_flush(rl);
    for (s = rl->server; s != rl->server_end; s++) rl_arm_timer(rl, rl_server_timer_ms(rl, s));
    if (rl_admit_next(rl)) rl->work_pending = 1; /* what was sent has made room */
  } while (rl->work_pending && ++pass < RL_MAX_PASSES);
}

/* One step of the client. Reads from the readable servers, or from all if a timer has expired, so
   that the replies that have come are votes even if the process was paused, also while reading (but
   a grant is judged by the clock as it is then, R1). Each reply is a vote at once, in the order of
   the list: a yes that was read decides, even if another server's end would be read next. If a
   round may start, it also reads from stalled servers: rounds that are decided without them would
   never see them come back. One that has connected is sent the handshake before its timer is looked
   at: who steps rarely finds that long overdue. */
static void rl_process(redlock *rl) {
  rl_server *s;
  int64_t now_ms;
  if (!rl_update_now(rl)) rl_fail_all(rl, REDLOCK_SYSTEM);
  do { /* again only if a reply made us read the clock, and a timer has expired */
    rl_mask ready = rl->now_ms >= rl->timer_ms ? (rl_mask)-1 : rl->readable;
    now_ms = rl->now_ms;
    rl->readable = 0;
    for (s = rl->server; s != rl->server_end; s++)
      if (s->state != RL_STATE_CLOSED && ((ready & s->bit) || (rl->work_pending && s->stalled))) {
        rl_receive(rl, s);
        if (s->state == RL_STATE_CONNECTING) rl_send_handshake(rl, s);
      }
  } while (rl->now_ms != now_ms && rl->now_ms >= rl->timer_ms);
  rl_run_passes(rl);
}

/* redlock_timeout_ms without decided locks. If the clock fails, the next step fails everything that
   is pending; after that the clock is tried again now and then. */
static int64_t rl_timeout_ms(const redlock *rl) {
  int64_t now;
  if (rl->work_pending || rl->readable) return 0;
  if (rl->timer_ms == INT64_MAX) return -1;
  now = rl_read_clock(rl);
  if (now < 0) return rl_first_undecided(rl) ? 0 : RL_BACKOFF_FIRST_MS;
  return rl->timer_ms <= now ? 0 : rl->timer_ms - now;
}

/* What to poll a connection for. */
static unsigned rl_poll_events(const redlock *rl, const rl_server *s) {
  const redlock_layer *tls = rl->options.tls;
  int writes = s->state < RL_STATE_HANDSHAKE_SENT ||
               (s->state == RL_STATE_READY && s->send_next != rl->ring_tail);
  unsigned events = writes ? REDLOCK_READ | REDLOCK_WRITE : REDLOCK_READ;
  return rl_uses_tls(s) ? tls->want(tls->ctx, s->index, events) : events;
}

/* Whether the lock is decided; NULL = any lock. */
static int rl_is_decided(const redlock *rl, const redlock_lock *lock) {
  return lock ? lock->phase == RL_PHASE_DECIDED : rl_first_decided(rl) != NULL;
}

/* Waits, at most limit_ms (-1 = no limit); 0 = it failed. */
#ifndef REDLOCK_NO_POSIX
RL_NOINLINE /* a board saves 20 bytes of code without: its output is smaller */
#endif
static int rl_poll(redlock *rl, int64_t limit_ms) {
  redlock_fd want[REDLOCK_MAX_SERVERS];
  int64_t timeout = rl_timeout_ms(rl);
  int count = redlock_fds(rl, want, REDLOCK_MAX_SERVERS);
  if (rl->options.io) rl->readable = (rl_mask)-1; /* a custom io does not say which */
  if (limit_ms >= 0 && (timeout < 0 || timeout > limit_ms)) timeout = limit_ms;
  return rl->io->wait(rl->io_ctx, want, count, timeout) >= 0;
}

/* Unless the lock is decided: waits, and steps. 0 = waiting failed. */
static int rl_wait_and_step(redlock *rl, const redlock_lock *lock, int64_t limit_ms) {
  int waited;
  if (rl_is_decided(rl, lock)) return 1; /* what the caller starts next is sent together */
  if (rl->work_pending) rl_process(rl);
  if (rl_is_decided(rl, lock)) return 1;
  waited = rl_poll(rl, limit_ms);
  if (!waited) rl_set_local_error(rl, "our waiting failed");
  rl_process(rl);
  return waited;
}

/* ---- Returning locks ------------------------------------------------------------------------- */

/* Whether it was decided that the lock is held, by an acquire or an extension. */
static int rl_is_grant(const redlock_lock *lock) {
  return lock->status == REDLOCK_OK && lock->task != RL_TASK_RELEASE;
}

/* R1: the status to return: a grant or extension that ran out while it waited to be returned is
   EXPIRED. */
static redlock_status rl_confirm_status(redlock *rl, const redlock_lock *lock) {
  if (!rl_is_grant(lock)) return lock->status;
  if (!rl_update_now(rl)) return REDLOCK_SYSTEM;
  return rl->now_ms < lock->deadline_ms ? REDLOCK_OK : REDLOCK_EXPIRED;
}

/* Returns a decided lock to the caller. What has run out is rolled back, and returned as EXPIRED.
   R19: an extension that cannot be checked leaves the lock as it was. */
static void rl_hand_back(redlock *rl, redlock_lock *lock) {
  redlock_status decided = lock->status;
  lock->status = rl_confirm_status(rl, lock);
  if (lock->status != decided && (lock->task == RL_TASK_SET || lock->status == REDLOCK_EXPIRED)) {
    lock->deadline_ms = 0;
    if (lock->task == RL_TASK_SET) rl_store_token(lock, NULL);
    rl_roll_back(rl, lock);
  }
  rl_free_reserved_slot(rl, lock);
  rl_set_phase(rl, lock, RL_PHASE_IDLE);
  lock->urgent = 0;
}

/* The blocking calls: steps until the caller's own lock is decided. Others stay decided, to be
   returned later. */
static redlock_status rl_until_decided(redlock *rl, redlock_lock *lock, redlock_status status) {
  if (status != REDLOCK_PENDING && status != REDLOCK_CANCELLED) return status;
  if (rl_ends_in_child(rl)) {
    if (lock->phase == RL_PHASE_DECIDED) rl_hand_back(rl, lock);
    return REDLOCK_INVALID;
  }
  if (status == REDLOCK_CANCELLED) {
    rl_process(rl);
    return status;
  }
  lock->urgent = rl->work_pending = rl->in_call = 1; /* as an urgent lock it may have room now */
  if (lock->phase == RL_PHASE_QUEUED) rl_set_phase(rl, lock, RL_PHASE_QUEUED);
  while (!rl_is_decided(rl, lock) && rl_wait_and_step(rl, lock, -1)) REDLOCK_ASSERT(lock->phase);
  if (rl_is_decided(rl, lock)) {
    rl_hand_back(rl, lock);
  } else {
    rl_cancel(rl, lock);
    lock->status = REDLOCK_SYSTEM;
  }
  if (lock->status != REDLOCK_OK && rl->work_pending) rl_process(rl); /* sends roll-backs now */
  rl->in_call = 0;
  return lock->status;
}

/* ---- The system's sockets: what Windows and POSIX call differently --------------------------- */

#if defined(_WIN32) && !defined(REDLOCK_NO_POSIX)

typedef SOCKET rl_socket;

#define rl_system_close_socket closesocket

/* A connection that failed reads like one that is still being made, but for SO_ERROR. */
static int rl_system_would_block(rl_socket fd) {
  int error = WSAGetLastError(), problem = 0, size = (int)sizeof problem;
  if (error == WSAENOTCONN) (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, (char *)&problem, &size);
  return problem == 0 && (error == WSAEWOULDBLOCK || error == WSAENOTCONN);
}

static int rl_system_is_connecting(void) { return WSAGetLastError() == WSAEWOULDBLOCK; }

/* Before Windows 10 2004 it does not report a refused connection: the time-outs do. */
static int rl_system_poll(struct pollfd *fds, int count, int timeout_ms) {
  if (count) return WSAPoll(fds, (ULONG)count, timeout_ms);
  Sleep((DWORD)timeout_ms); /* -1 is INFINITE */
  return 0;
}

/* Non-blocking, not inherited by children; -1 = failed. */
static intptr_t rl_system_socket(int family) {
  u_long on = 1;
  rl_socket fd = WSASocketW(family, SOCK_STREAM, 0, NULL, 0,
                            WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
  if (fd == INVALID_SOCKET) return -1;
  (void)ioctlsocket(fd, (long)FIONBIO, &on);
  return (intptr_t)fd;
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
  return BCryptGenRandom(NULL, (UCHAR *)data, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG);
}

/* Winsock counts its users per process. */
static long rl_system_start(void) {
  WSADATA about;
  (void)WSAStartup(MAKEWORD(2, 2), &about);
  return 0;
}

#elif !defined(REDLOCK_NO_POSIX)

typedef int rl_socket;

#define rl_system_close_socket close

static int rl_system_would_block(rl_socket fd) {
  (void)fd;
#if EAGAIN != EWOULDBLOCK
  if (errno == EAGAIN) return 1;
#endif
  return errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN || errno == EINPROGRESS;
}

static int rl_system_is_connecting(void) { return errno == EINPROGRESS || errno == EINTR; }

static int rl_system_poll(struct pollfd *fds, int count, int timeout_ms) {
#ifdef ESP_PLATFORM
  int ready = poll(fds, (nfds_t)count, timeout_ms); /* it refuses NULL */
#else
  int ready = poll(count ? fds : NULL, (nfds_t)count, timeout_ms); /* lwIP wants NULL */
#endif
  return ready < 0 && errno == EINTR ? 0 : ready;
}

/* Non-blocking, closed on exec (R14); -1 = failed. Never 0, 1 or 2: a program that has closed those
   and prints would send that to a server, as a command. (A stack without F_DUPFD_CLOEXEC counts its
   sockets apart.) */
static intptr_t rl_system_socket(int family) {
#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK) && !defined(__NuttX__) /* it may ignore them */
  int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
  int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
  (void)fcntl(fd, F_SETFL, O_NONBLOCK);
#endif
#ifdef F_DUPFD_CLOEXEC
  if (fd >= 0 && fd < 3) {
    int low = fd;
    fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
    (void)close(low);
  }
#endif
  return fd;
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
  (void)ctx;
  if (clock_gettime(clock, &t) != 0) return -1;
  return t.tv_sec * INT64_C(1000) + (int32_t)t.tv_nsec / 1000000;
}

/* R3. Before Linux's pool is ready it fails, rather than block. So it does on NuttX without a
   generator of the hardware: all boards would draw the same. */
static int rl_system_entropy(void *ctx, void *data, size_t size) {
#if defined(CONFIG_DEV_URANDOM_XORSHIFT128) || defined(CONFIG_DEV_URANDOM_CONGRUENTIAL)
  ssize_t drawn = -1;
  (void)data;
#elif defined(RL_DEV_URANDOM)
  int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  ssize_t drawn = fd < 0 ? -1 : read(fd, data, size);
  if (fd >= 0) (void)close(fd);
#elif defined(GRND_NONBLOCK)
  ssize_t drawn = getrandom(data, size, GRND_NONBLOCK);
#else
  ssize_t drawn = getrandom(data, size, 0);
#endif
  (void)ctx;
  return drawn == (ssize_t)size ? 0 : -1;
}

static long rl_system_start(void) { return (long)getpid(); } /* R17 */

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

/* R5: normalises an address, so that equal ones compare equal. 0.0.0.0 and :: mean this machine. */
static rl_address rl_normalise_address(const rl_sockaddr *a) {
  static const unsigned char nobody[16] = {0}, this_v4[4] = {127, 0, 0, 1};
  rl_address out;
  memset(&out, 0, sizeof out);
  if (a->any.sa_family == AF_INET6) {
    memcpy(out.ip, &a->v6.sin6_addr, 16);
    /* only link-local addresses have a scope */
    if (out.ip[0] == 0xfe && (out.ip[1] & 0xc0) == 0x80) out.scope = (uint32_t)a->v6.sin6_scope_id;
    out.port = a->v6.sin6_port;
  } else {
    memcpy(out.ip, rl_v4_mapped, 12);
    memcpy(out.ip + 12, &a->v4.sin_addr, 4);
    out.port = a->v4.sin_port;
  }
  if (memcmp(out.ip, nobody, 16) == 0) out.ip[15] = 1;
  if (rl_is_v4(&out) && memcmp(out.ip + 12, nobody, 4) == 0) memcpy(out.ip + 12, this_v4, 4);
  return out;
}

static socklen_t rl_make_sockaddr(rl_sockaddr *a, const rl_address *from) {
  if (rl_is_v4(from)) {
    a->v4.sin_family = AF_INET;
    a->v4.sin_port = (uint16_t)from->port;
    memcpy(&a->v4.sin_addr, from->ip + 12, 4);
    return (socklen_t)sizeof a->v4;
  }
  a->v6.sin6_family = AF_INET6;
  a->v6.sin6_port = (uint16_t)from->port;
  a->v6.sin6_scope_id = from->scope;
  memcpy(&a->v6.sin6_addr, from->ip, 16);
  return (socklen_t)sizeof a->v6;
}

#ifdef REDLOCK_NO_DNS

/* The address in the entry; port 0 = it is not numeric. */
static rl_address rl_address_of(const rl_server *s) {
  char host[RL_HOST_BYTES];
  rl_sockaddr a;
  rl_endpoint t;
  uint16_t number;
  memset(&a, 0, sizeof a);
  (void)rl_parse_entry(s->entry, &t);
  rl_store_text(host, t.host.at, t.host.size);
  number = htons((uint16_t)t.port);
  a.any.sa_family = AF_INET;
  a.v4.sin_port = number;
  if (inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) return rl_normalise_address(&a);
  a.any.sa_family = AF_INET6;
  a.v6.sin6_port = inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1 ? number : 0;
  return rl_normalise_address(&a);
}

/* 0 = it is the address of an earlier entry (R5), and its error says so. */
static int rl_system_resolve(redlock *rl, rl_server *s) {
  rl_address own = rl_address_of(s);
  const rl_server *other = rl->server;
  for (; other != s; other++) {
    rl_address its = rl_address_of(other);
    if (!own.port || !rl_is_same_address(&own, &its)) continue;
    rl_set_error(s, rl_error_listed_twice);
    return 0;
  }
  return 1;
}

#else

static rl_address rl_address_of(const rl_server *s) { return s->addresses[s->address_index]; }

/* One of a name's addresses; port 0 = it is of a family that we do not know. */
static rl_address rl_address_in(const struct addrinfo *one) {
  rl_sockaddr a;
  memset(&a, 0, sizeof a);
  if (one->ai_family == AF_INET || one->ai_family == AF_INET6)
    memcpy(&a, one->ai_addr, rl_min((size_t)one->ai_addrlen, sizeof a));
  return rl_normalise_address(&a);
}

/* Whether an address was among the answers before `end`. */
static int rl_is_answered(const struct addrinfo *all, const struct addrinfo *end,
                          const rl_address *address) {
  for (; all != end; all = all->ai_next) {
    rl_address its = rl_address_in(all);
    if (rl_is_same_address(&its, address)) return 1;
  }
  return 0;
}

/* Looks a name up, keeps its first addresses, and returns how many it has. If it has none, the old
   ones stay. */
static int rl_lookup_host(const char *host, const char *port, rl_address found[RL_MAX_ADDRESSES]) {
  struct addrinfo hints, *all, *one;
  int count = 0;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, port, &hints, &all) != 0) return 0;
  for (one = all; one; one = one->ai_next) {
    rl_address its = rl_address_in(one);
    if (its.port == 0 || rl_is_answered(all, one, &its)) continue;
    if (count == 0) memset(found, 0, RL_MAX_ADDRESSES * sizeof *found);
    if (count < RL_MAX_ADDRESSES) found[count] = its;
    count++;
  }
  freeaddrinfo(all);
  return count;
}

static void rl_set_several_error(rl_server *s, const char *host, int count) {
  rl_writer w = rl_writer_make(s->error, 0, REDLOCK_MAX_ERROR - 1);
  char digits[RL_MAX_DIGITS];
  const char *at = rl_format_decimal(digits + RL_MAX_DIGITS, (uint32_t)count);
  if (!RL_HAS_TEXTS) return;
  rl_put_raw(&w, host);
  rl_put_raw(&w, " has ");
  rl_put(&w, at, (size_t)(digits + RL_MAX_DIGITS - at));
  rl_put_raw(&w, " addresses: list each server by an address or a name of its own");
  *w.at = 0;
}

/* Whether s has an address in common with an entry before it (R5). */
static int rl_shares_address(const redlock *rl, const rl_server *s) {
  const rl_server *other = rl->server;
  int i;
  for (; other != s; other++)
    for (i = 0; i < RL_MAX_ADDRESSES * RL_MAX_ADDRESSES; i++) {
      const rl_address *own = &s->addresses[i / RL_MAX_ADDRESSES];
      if (own->port && rl_is_same_address(own, &other->addresses[i % RL_MAX_ADDRESSES])) return 1;
    }
  return 0;
}

/* Looks a server's name up. A connection to an address that is no longer its own is closed: another
   entry may be there by now. R5: an entry must be one server, the same one for all clients, and a
   name with several addresses leads one client here and the next one there; but an IPv4 and an IPv6
   address are taken for one server's. 0 = its name has several of one family, or its address is an
   earlier entry's: it is left with none, since two votes for one server would be worse, and its
   error says which. */
static int rl_system_resolve(redlock *rl, rl_server *s) {
  rl_address used = rl_address_of(s);
  char host[RL_HOST_BYTES], port[6];
  uint8_t second;
  int count, several, refused;
  rl_copy_host_port(s, host, port);
  if (*host == '/') return 1;
  count = rl_lookup_host(host, port, s->addresses);
  if (count == 0 && used.port == 0) rl_set_error(s, "name not found");
  several = count > 2 || (count == 2 && rl_is_v4(&s->addresses[0]) == rl_is_v4(&s->addresses[1]));
  refused = several || rl_shares_address(rl, s);
  if (refused) memset(s->addresses, 0, sizeof s->addresses);
  second = used.port && rl_is_same_address(&used, &s->addresses[1]);
  if (s->fd >= 0 && !rl_is_same_address(&used, &s->addresses[second])) {
    (void)rl_update_now(rl);
    rl_disconnect(rl, s, rl_error_lost);
  }
  s->address_index = second;
  if (refused) s->error_is_theirs = s->handshake_failed = 0; /* its words may be another server's */
  if (several) rl_set_several_error(s, host, count);
  else if (refused) rl_set_error(s, rl_error_listed_twice);
  return !refused;
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

static intptr_t rl_system_open(void *ctx, int server, const char *host, const char *port) {
  rl_server *s = &((redlock *)ctx)->server[server];
  size_t size = strlen(host) + 1, i;
  rl_sockaddr a;
  socklen_t length = (socklen_t)sizeof a.local;
  intptr_t fd;
  (void)port;
  memset(&a, 0, sizeof a);
  if (*host != '/') {
    rl_address to = rl_address_of(s);
    if (to.port == 0) {
      s->error_is_theirs = *s->error != 0; /* "name not found" says more than "no connection" */
      return -1;
    }
    length = rl_make_sockaddr(&a, &to);
  } else {
    if (size > sizeof a.local.sun_path) return -1;
    a.local.sun_family = AF_UNIX;
    memcpy(a.local.sun_path, host, size);
  }
  fd = rl_system_socket(a.any.sa_family);
  if (fd < 0) return -1;
  for (i = 0; i < sizeof rl_socket_options / sizeof *rl_socket_options; i++) {
    const int *option = rl_socket_options[i];
    (void)setsockopt((rl_socket)fd, option[0], option[1], (const char *)&option[2], sizeof *option);
  }
  if (connect((rl_socket)fd, &a.any, length) == 0 || rl_system_is_connecting()) return fd;
  (void)rl_system_close_socket((rl_socket)fd);
  return -1;
}

static rl_socket rl_system_fd(void *ctx, int server) {
  return (rl_socket)((const redlock *)ctx)->server[server].fd;
}

static int rl_system_result(rl_socket fd, intptr_t result) {
  if (result >= 0) return (int)result;
  return rl_system_would_block(fd) ? 0 : -1;
}

/* 16 bits hold any size that is sent or received, on every system. */
static int rl_system_send(void *ctx, int server, const void *data, size_t size) {
#ifdef MSG_NOSIGNAL
  const int flags = MSG_NOSIGNAL;
#else
  const int flags = 0;
#endif
  rl_socket fd = rl_system_fd(ctx, server);
  return rl_system_result(fd, send(fd, (const char *)data, (uint16_t)size, flags));
}

static int rl_system_recv(void *ctx, int server, void *data, size_t size) {
  rl_socket fd = rl_system_fd(ctx, server);
  intptr_t got = recv(fd, (char *)data, (uint16_t)size, 0);
  return got == 0 ? -1 : rl_system_result(fd, got);
}

static void rl_system_close(void *ctx, int server) {
  (void)rl_system_close_socket(rl_system_fd(ctx, server));
}

static int rl_system_wait(void *ctx, const redlock_fd *want, int count, int64_t timeout_ms) {
  redlock *rl = (redlock *)ctx;
  struct pollfd fds[REDLOCK_MAX_SERVERS];
  int i, ready;
  for (i = 0; i < count; i++) {
    fds[i].fd = (rl_socket)want[i].fd;
    fds[i].events = want[i].events & REDLOCK_WRITE ? POLLIN | POLLOUT : POLLIN;
    fds[i].revents = 0;
  }
  if (timeout_ms > 60000) timeout_ms = 60000; /* returning early is allowed, overflow is not */
  ready = rl_system_poll(fds, count, (int)timeout_ms);
  for (i = 0; ready >= 0 && i < count; i++)
    if (fds[i].revents) rl->readable |= rl->server[want[i].server].bit;
  return ready;
}

static const redlock_io rl_system = {
  rl_system_open, rl_system_send, rl_system_recv, rl_system_close,
  rl_system_wait, rl_system_now_ms, rl_system_entropy, NULL
};

#define RL_SYSTEM_IO (&rl_system)

#else

#define RL_SYSTEM_IO NULL
#define rl_system_start() 0
#define rl_system_resolve(rl, s) 1

#endif

/* ---- The public calls ------------------------------------------------------------------------ */

static const char rl_error_not_held[] = "the lock is not held";
static const char rl_error_busy[] = "the lock is busy"; /* pending, kept, or decided */

/* Refuses a call, and keeps the reason. */
static redlock_status rl_invalid(redlock *rl, const char *why) {
  rl_set_local_error(rl, why);
  return REDLOCK_INVALID;
}

static redlock_status rl_init_options(redlock *rl, const redlock_options *options) {
  redlock_options *o = &rl->options;
  uint32_t *min = &o->retry_delay_min_ms, *max = &o->retry_delay_max_ms;
  if (options) *o = *options;
  if (!o->username) o->username = "";
  if (!o->password) o->password = "";
  if (o->server_timeout_ms == 0) o->server_timeout_ms = 250;
  if (o->drift_ppm == 0) o->drift_ppm = 10000;
  if (*max == 0) *max = *min > 200 ? *min : 200;
  if (o->max_ttl_ms != RL_MAX_TTL(rl)) /* this build has no quarantine */
    return rl_invalid(rl, "max_ttl_ms: REDLOCK_NO_QUARANTINE is set");
  if (RL_FENCING(rl) && o->max_ttl_ms / 4 < o->server_timeout_ms) /* R25 */
    return rl_invalid(rl, "fencing: max_ttl_ms is below 4 * server_timeout_ms");
  if (o->drift_ppm >= 1000000) return rl_invalid(rl, "drift_ppm is too large");
  if (*min > *max) return rl_invalid(rl, "retry_delay_min_ms is too long");
  rl->io = o->io ? o->io : RL_SYSTEM_IO;
  if (!rl->io) return rl_invalid(rl, "options.io is missing");
  rl->io_ctx = o->io ? o->io->ctx : rl;
  rl->owner_pid = o->io ? 0 : rl_system_start();
  return REDLOCK_OK;
}

/* What is wrong with a server's entry; NULL = nothing. */
static const char *rl_take_entry(redlock *rl, rl_server *s) {
  const redlock_options *o = &rl->options;
  const rl_server *other = rl->server;
  rl_endpoint t, its;
  if (!rl_parse_entry(s->entry, &t))
    return "want host:port, [v6]:port, unix:/path or redis://user:password@host:port/db";
  s->over_tls = t.tls;
  if (t.tls && !(RL_HAS_TLS && o->tls))
    return RL_HAS_TLS ? "rediss:// needs options.tls" : "TLS is your own io's: say redis://";
  if (!t.password.size && !*o->password && (t.user.size || *o->username))
    return "a user needs a password"; /* redis-cli would take the user for one, others would not */
  for (; other != s; other++) { /* user and database do not matter (R5) */
    (void)rl_parse_entry(other->entry, &its);
    if (rl_span_equal(t.host, its.host) && t.port == its.port) return rl_error_listed_twice;
  }
  return NULL;
}

/* Takes the entries of the list; a problem with one is that server's error too, and one too many is
   the first server's. */
static redlock_status rl_init_servers(redlock *rl, const char *list) {
  while (*(list += strspn(list, RL_SEPARATORS)) != 0) {
    rl_server *s = rl->server;
    const char *problem = "more servers than REDLOCK_MAX_SERVERS";
    if (rl->server_count < REDLOCK_MAX_SERVERS) {
      s = rl->server_end++;
      s->index = rl->server_count++;
      s->bit = (rl_mask)(UINT32_C(1) << s->index);
      s->fd = -1;
      s->entry = list;
      problem = rl_take_entry(rl, s);
    }
    if (problem) rl_set_error(s, problem);
    else if (!rl->options.io && !rl_system_resolve(rl, s)) problem = s->error;
    if (problem) return rl_invalid(rl, problem);
    list += strcspn(list, RL_SEPARATORS);
  }
  rl->quorum = (uint8_t)(rl->server_count / 2 + 1); /* R5 */
  return rl->server_count ? REDLOCK_OK : rl_invalid(rl, "the list is empty");
}

/* Whether the client is initialised and belongs to this process: what is asked now and then. */
static int rl_is_usable(const redlock *rl) { return rl_is_initialised(rl) && !rl_is_forked(rl); }

/* Begins a call: what the last one said of this side is forgotten. OK = the client is usable, no
   other call is under way, and what the call needs is not NULL. */
static redlock_status rl_begin_call(redlock *rl, const void *needed) {
  if (!rl) return REDLOCK_INVALID;
  if (!rl_is_initialised(rl)) return rl_invalid(rl, "no client: moved, closed, or init failed");
  if (rl->in_call) return rl_invalid(rl, "another call is under way");
  rl->local_error = NULL;
  return needed ? REDLOCK_OK : rl_invalid(rl, "lock or value is NULL");
}

REDLOCK_API redlock_status redlock_init_sized(redlock *rl, const char *servers,
                                              const redlock_options *options, size_t client_size,
                                              size_t lock_size) {
  redlock_status status;
  if (!rl) return REDLOCK_INVALID;
  memset(rl, 0, client_size);
  if (client_size != sizeof *rl || lock_size != sizeof(redlock_lock)) return REDLOCK_INVALID;
  rl_init_lists(rl);
  rl->timer_ms = INT64_MAX;
  rl->server_end = rl->server;
  status = rl_init_options(rl, options);
  if (status == REDLOCK_OK) status = rl_init_servers(rl, servers ? servers : "");
  if (status == REDLOCK_OK && !rl_update_now(rl)) status = REDLOCK_SYSTEM;
  if (status == REDLOCK_OK) rl->ring = rl->commands;
  return status;
}

REDLOCK_API redlock_status redlock_resolve(redlock *rl) {
  redlock_status status = rl_begin_call(rl, rl);
  int i;
  if (status == REDLOCK_OK && rl_is_forked(rl)) status = rl_invalid(rl, rl_error_forked);
  if (status != REDLOCK_OK) return status;
  for (i = 0; !rl->options.io && i < rl->server_count; i++)
    if (!rl_system_resolve(rl, &rl->server[i])) status = rl_invalid(rl, rl->server[i].error);
  return status;
}

/* How long redlock_close still waits for a server, in ms: until its last bytes are sent, and
   briefly for their replies, since closing a socket with unread replies makes the other side drop
   what it has not read yet. */
static int64_t rl_linger_ms(const redlock *rl, const rl_server *s, int64_t start_ms) {
  uint32_t limit = rl->options.server_timeout_ms;
  int leaves = s->state != RL_STATE_CLOSED && (rl_poll_events(rl, s) & REDLOCK_WRITE);
  if (!leaves && (s->outstanding == 0 || s->stalled)) return 0;
  if (!leaves || s->state != RL_STATE_READY) limit = rl_limit(limit, RL_CLOSE_TIMEOUT_MS);
  return start_ms + limit - rl->now_ms;
}

REDLOCK_API void redlock_close(redlock *rl) {
  redlock_lock *lock;
  rl_server *s;
  int64_t start, left;
  if (!rl_is_initialised(rl)) return;
  if (rl_is_forked(rl)) {
    rl->options.closing = NULL;
  } else {
    rl->in_call = 1; /* hooks, and other threads, come too late */
    (void)rl_update_now(rl);
    start = rl->now_ms;
    while ((lock = rl_first_undecided(rl)) != NULL || (lock = rl_first_decided(rl)) != NULL)
      rl_cancel(rl, lock);
    rl_run_passes(rl);
    for (s = rl->server; s != rl->server_end; s++)
      for (; (left = rl_linger_ms(rl, s, start)) > 0; start--) /* though the clock stands still */
        if (!rl_wait_and_step(rl, NULL, left) || !rl_update_now(rl))
          start = INT64_MIN / 2; /* no server has time left */
  }
  for (s = rl->server; s != rl->server_end; s++) rl_close_fd(rl, s);
  memset(rl, 0, sizeof *rl);
}

/* margin_ms: twice that must be left of it. */
static redlock_status rl_accept_ttl(redlock *rl, uint32_t ttl_ms, uint32_t margin_ms) {
  if (RL_MAX_TTL(rl) && ttl_ms > RL_MAX_TTL(rl))
    return rl_invalid(rl, "ttl_ms is above max_ttl_ms"); /* R24 */
  if (rl_validity_ms(rl, ttl_ms) > 2 * (int64_t)margin_ms) return REDLOCK_OK;
  return rl_invalid(rl, "ttl_ms is too short");
}

/* Begins an operation. The next step or wait encodes it when it can be sent; T1 is taken then. */
static redlock_status rl_start_operation(redlock *rl, redlock_lock *lock, uint8_t task,
                                         redlock_operation operation) {
  lock->status = REDLOCK_PENDING;
  lock->operation = operation;
  rl_enqueue(rl, lock, task);
  return REDLOCK_PENDING;
}

/* replaced: what an adoption replaces, or NULL. It may be this very lock's value. */
static redlock_status rl_start_set(redlock *rl, redlock_lock *lock, const char *resource,
                                   uint32_t ttl_ms, uint32_t wait_ms, const char *replaced) {
  redlock_status status = rl_begin_call(rl, lock);
  size_t size = 0, longest = replaced ? RL_REPLACED_AT : REDLOCK_MAX_RESOURCE;
  if (status == REDLOCK_OK) status = rl_accept_ttl(rl, ttl_ms, rl->options.keep_margin_ms);
  if (status != REDLOCK_OK) return status;
  while (resource && size <= longest && resource[size]) size++;
  if (size == 0) return rl_invalid(rl, "resource is empty");
  if (size > longest) return rl_invalid(rl, "resource is too long");
  if (rl_owns_lock(rl, lock) > 0) return rl_invalid(rl, rl_error_busy);
  if (replaced) memcpy(lock->resource + RL_REPLACED_AT, replaced, RL_VALUE_BYTES);
  memset(lock, 0, offsetof(redlock_lock, resource));
  lock->adopts = replaced != NULL;
  lock->operation = REDLOCK_ACQUIRE;
  if (!rl_update_now(rl)) return lock->status = REDLOCK_SYSTEM;
  lock->longest_ttl_ms = lock->round_ttl_ms = ttl_ms;
  lock->is.wait.began_ms = (uint32_t)rl->now_ms;
  lock->is.wait.last_start_ms = wait_ms == REDLOCK_FOREVER ? INT64_MAX : rl->now_ms + wait_ms;
  lock->resource_size = (uint16_t)size;
  memcpy(lock->resource, resource, size);
  return rl_start_operation(rl, lock, RL_TASK_SET, REDLOCK_ACQUIRE);
}

REDLOCK_API redlock_status redlock_start_acquire(redlock *rl, redlock_lock *lock,
                                                 const char *resource, uint32_t ttl_ms,
                                                 uint32_t wait_ms) {
  return rl_start_set(rl, lock, resource, ttl_ms, wait_ms, NULL);
}

REDLOCK_API redlock_status redlock_start_adopt(redlock *rl, redlock_lock *lock,
                                               const char *resource, uint32_t ttl_ms,
                                               const char value[20]) {
  redlock_status status = rl_begin_call(rl, value);
  return status == REDLOCK_OK ? rl_start_set(rl, lock, resource, ttl_ms, 0, value) : status;
}

/* The same for a call on a held lock. OK = no operation is pending, and its deadline has not
   passed. */
static redlock_status rl_begin_held(redlock *rl, const redlock_lock *lock) {
  redlock_status status = rl_begin_call(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (!lock->ever_granted) return rl_invalid(rl, rl_error_not_held);
  if (lock->phase != RL_PHASE_IDLE && lock->phase != RL_PHASE_KEPT)
    return rl_invalid(rl, rl_error_busy);
  if (!rl_update_now(rl)) return REDLOCK_SYSTEM;
  return rl->now_ms < lock->deadline_ms ? REDLOCK_OK : REDLOCK_EXPIRED;
}

REDLOCK_API redlock_status redlock_start_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms) {
  redlock_status status = rl_begin_held(rl, lock);
  if (status == REDLOCK_OK) status = rl_accept_ttl(rl, ttl_ms, 0);
  if (status != REDLOCK_OK) return status;
  if (lock->kept) return rl_invalid(rl, rl_error_busy);
  if (rl_clip_ttl(rl, lock, ttl_ms) == 0) return REDLOCK_LIMIT;
  lock->round_ttl_ms = ttl_ms;
  if (lock->longest_ttl_ms < ttl_ms) lock->longest_ttl_ms = ttl_ms;
  return rl_start_operation(rl, lock, RL_TASK_EXTEND, REDLOCK_EXTEND);
}

REDLOCK_API redlock_status redlock_start_release(redlock *rl, redlock_lock *lock) {
  redlock_status status = rl_begin_call(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (lock->phase != RL_PHASE_IDLE) {
    int acquiring = lock->operation == REDLOCK_ACQUIRE && !lock->kept;
    if (!rl_owns_lock(rl, lock)) return rl_invalid(rl, rl_error_not_held);
    if (lock->task == RL_TASK_RELEASE && lock->phase != RL_PHASE_DECIDED)
      return rl_invalid(rl, rl_error_busy);
    if (!acquiring && !lock->deadline_ms) return REDLOCK_EXPIRED; /* which has not been returned */
    (void)rl_update_now(rl);
    rl_cancel(rl, lock);
    if (acquiring) return REDLOCK_CANCELLED;
  }
  if (!lock->ever_granted) return rl_invalid(rl, rl_error_not_held);
  if (!lock->deadline_ms) return REDLOCK_EXPIRED;
  lock->deadline_ms = 0; /* the hold ends here, whatever the servers say */
  return rl_start_operation(rl, lock, RL_TASK_RELEASE, REDLOCK_RELEASE);
}

REDLOCK_API redlock_status redlock_cancel(redlock *rl, redlock_lock *lock) {
  redlock_status status = rl_begin_call(rl, lock);
  if (status != REDLOCK_OK) return status;
  if (!rl_owns_lock(rl, lock) || lock->phase == RL_PHASE_IDLE)
    return rl_invalid(rl, "nothing is pending");
  (void)rl_update_now(rl);
  rl_cancel(rl, lock);
  return REDLOCK_OK;
}

REDLOCK_API redlock_status redlock_keep(redlock *rl, redlock_lock *lock, uint32_t max_hold_ms) {
  redlock_status status = rl_begin_held(rl, lock);
  if (status != REDLOCK_OK) return status;
  lock->is.hold.max_hold_ms = max_hold_ms ? max_hold_ms : rl->options.max_hold_ms;
  if (lock->kept && lock->round_ttl_ms) return REDLOCK_OK; /* 0: the old limit let nothing follow */
  lock->round_ttl_ms = lock->longest_ttl_ms;
  lock->kept = lock->urgent = 1; /* it must not run out for lack of room */
  lock->task = RL_TASK_EXTEND;
  rl_schedule_extension(rl, lock, REDLOCK_OK);
  return REDLOCK_OK;
}

/* Begins a call that steps; 0 = it must not. While decided locks are returned nothing is stepped,
   and what was said of this side stays. R17: whether this is a forked child is asked unless what is
   returned is no grant. */
static int rl_begin_step(redlock *rl) {
  redlock_lock *decided;
  if (!rl_is_initialised(rl) || rl->in_call) return 0;
  decided = rl_first_decided(rl);
  if (!decided) rl->local_error = NULL;
  if ((!decided || rl_is_grant(decided)) && rl_ends_in_child(rl) && !rl_first_decided(rl)) return 0;
  return rl->in_call = 1;
}

/* Returns the next decided lock, NULL = none. */
static redlock_lock *rl_end_step(redlock *rl) {
  redlock_lock *lock = rl_first_decided(rl);
  rl->in_call = 0;
  if (lock) rl_hand_back(rl, lock);
  return lock;
}

REDLOCK_API redlock_lock *redlock_step_on(redlock *rl, uint32_t ready) {
  if (!rl_begin_step(rl)) return NULL;
  rl->readable |= (rl_mask)ready;
  if (!rl_first_decided(rl)) rl_process(rl);
  return rl_end_step(rl);
}

REDLOCK_API redlock_lock *redlock_step(redlock *rl) { return redlock_step_on(rl, UINT32_MAX); }

REDLOCK_API redlock_lock *redlock_wait(redlock *rl, int64_t timeout_ms) {
  if (!rl_begin_step(rl)) return NULL;
  if (timeout_ms < 0 && !rl_first_undecided(rl)) timeout_ms = 0;
  (void)rl_wait_and_step(rl, NULL, timeout_ms);
  return rl_end_step(rl);
}

REDLOCK_API int64_t redlock_timeout_ms(const redlock *rl) {
  if (!rl_is_initialised(rl)) return -1;
  return rl_first_decided(rl) ? 0 : rl_timeout_ms(rl);
}

REDLOCK_API int redlock_fds(const redlock *rl, redlock_fd *fds, int capacity) {
  const rl_server *s;
  int count = 0;
  if (!rl_is_initialised(rl)) return 0;
  for (s = rl->server; s != rl->server_end; s++) {
    if (s->state == RL_STATE_CLOSED || count++ >= capacity) continue;
    fds->fd = s->fd;
    fds->server = s->index;
    fds->events = rl_poll_events(rl, s);
    fds->generation = s->generation;
    fds++;
  }
  return count;
}

REDLOCK_API redlock_status redlock_acquire(redlock *rl, redlock_lock *lock, const char *resource,
                                           uint32_t ttl_ms, uint32_t wait_ms) {
  return rl_until_decided(rl, lock, redlock_start_acquire(rl, lock, resource, ttl_ms, wait_ms));
}

REDLOCK_API redlock_status redlock_adopt(redlock *rl, redlock_lock *lock, const char *resource,
                                         uint32_t ttl_ms, const char value[20]) {
  return rl_until_decided(rl, lock, redlock_start_adopt(rl, lock, resource, ttl_ms, value));
}

REDLOCK_API redlock_status redlock_extend(redlock *rl, redlock_lock *lock, uint32_t ttl_ms) {
  return rl_until_decided(rl, lock, redlock_start_extend(rl, lock, ttl_ms));
}

REDLOCK_API redlock_status redlock_release(redlock *rl, redlock_lock *lock) {
  redlock_status status = redlock_start_release(rl, lock);
  /* its loss has not been returned: then this call does that */
  if (status == REDLOCK_EXPIRED && lock->phase != RL_PHASE_IDLE) status = REDLOCK_PENDING;
  return rl_until_decided(rl, lock, status);
}

REDLOCK_API int64_t redlock_remaining_ms(const redlock *rl, const redlock_lock *lock) {
  int64_t now;
  if (!lock || lock->deadline_ms == 0 || !rl_is_usable(rl)) return 0;
  now = rl_read_clock(rl);
  return now < 0 || now >= lock->deadline_ms ? 0 : lock->deadline_ms - now;
}

REDLOCK_API const char *redlock_strerror(redlock_status status) {
  const char *text = "not decided yet\0ok\0taken\0no quorum\0expired\0cancelled\0"
                     "max_hold_ms is reached\0invalid\0clock, entropy or wait failed";
  uint32_t left = (uint32_t)REDLOCK_PENDING - (uint32_t)status; /* in this order: 1 to -7 */
  if (!RL_HAS_TEXTS) return "";
  if (left > REDLOCK_PENDING - REDLOCK_SYSTEM) return "unknown status";
  for (; left; left--) text += strlen(text) + 1;
  return text;
}

REDLOCK_API const char *redlock_server_error(const redlock *rl, int server) {
  const rl_server *s;
  if (!rl || server < -1 || server >= rl->server_count) return NULL;
  if (server < 0) return rl->local_error ? rl->local_error : "";
  s = &rl->server[server];
  return RL_HAS_TEXTS && s->handshake_replies && !s->error[0] ? "has not answered the handshake yet"
                                                              : s->error;
}

REDLOCK_API redlock_status redlock_server_status(const redlock *rl, int server,
                                                 redlock_server_info *info) {
  const rl_server *s;
  int64_t left = 0;
  if (!rl_is_usable(rl) || !info || server < 0 || server >= rl->server_count)
    return REDLOCK_INVALID;
  s = &rl->server[server];
  info->connected = s->state == RL_STATE_READY && !s->handshake_replies;
  info->tracking = s->tracking;
  info->native_release = s->release_form != RL_RELEASE_SCRIPT;
  if (RL_MAX_TTL(rl) && s->run_id) left = s->votes_from_ms - rl_read_clock_forward(rl);
  info->quarantine_ms = left > 0 ? left : 0;
  info->clock_offset_us = rl_offset_us(rl, s);
  return REDLOCK_OK;
}

#endif /* RL_UNSUPPORTED */
#endif /* REDLOCK_IMPLEMENTATION */
