/* Fencing (R25) over a quorum, as a whole: N servers, each as in fencing_server.py, and K attempts
   that are watched. With -DNOISE there are others: a server may accept any token at any time.
   fencing_quorum.sh runs all of it.

   The lock is left out: it may be free at any moment, so nothing hangs on exclusion, and a refusal
   by the lock is a message that never arrives. Messages take any time, come in any order, late ones
   after their attempt has returned; each comes to a server once at most (R12). Every server's clock
   runs by itself, so their skew has no bound. A server crashes as often as it likes, and comes back
   without its counter or with an older one.

   When an attempt returns, its token is no other's, and greater than that of every attempt that had
   returned before it was invoked.

   A clock here loses B in all, and not B in any 2 A: fencing_server.py has the latter. */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 2
#endif
#ifndef Q
#define Q (N / 2 + 1)
#endif
#ifndef A
#define A 2         /* max_ttl_ms: the quarantine, and the counter's life */
#endif
#ifndef LIFE
#define LIFE A
#endif
#ifndef W
#define W 1         /* how far ahead of the clock a token may be */
#endif
#ifndef B
#define B 1         /* what a clock may lose */
#endif
#ifndef TOP
#define TOP 4       /* clocks run from 0 to this */
#endif
#ifndef CRASHERS
#define CRASHERS N  /* how many of the servers may crash */
#endif

/* Rules, each of which can be taken away. */
#ifdef NO_WINDOW
#define MOST (TOP + W + 2)
#define IN_WINDOW(i, v) 1
#else
#define MOST (TOP + W)
#define IN_WINDOW(i, v) ((v) <= clock[i] + W)
#endif
#ifdef NO_CLOCK
#define ABOVE_CLOCK(i, v) 1
#else
#define ABOVE_CLOCK(i, v) ((v) > clock[i])
#endif
#ifdef NO_COUNTER
#define ABOVE_COUNTER(i, v) 1
#elif defined(NOT_STRICT)
#define ABOVE_COUNTER(i, v) ((v) >= counter[i])
#else
#define ABOVE_COUNTER(i, v) ((v) > counter[i])
#endif
#ifdef NO_QUARANTINE
#define QUIET 0
#else
#define QUIET A
#endif

#define ACCEPTS(i, v) (IN_WINDOW(i, v) && ABOVE_CLOCK(i, v) && ABOVE_COUNTER(i, v))

/* Of a server. lost: what its clock has lost; quiet: time until its last restart is A ago. */
byte clock[N], lost[N], counter[N], expiry[N], quiet[N];

/* Of an attempt. arrived, yes, before: sets, one bit each. */
#define NOT_YET 0
#define INVOKED 1
#define RETURNED 2
byte state[K], token[K];
byte arrived[K];    /* servers that it has come to */
byte yes[K];        /* servers whose acceptance counts */
byte before[K];     /* attempts that had returned when it was invoked */

byte v;             /* any number */
inline choose() { v = 1; do :: v < MOST -> v++ :: break od }

inline accept(i, number) { counter[i] = number; expiry[i] = clock[i] + LIFE }
inline forget(i) { counter[i] = 0; expiry[i] = 0 }

#ifdef NO_CRASH
#define CRASH(i)
#else
#define CRASH(i) \
  :: atomic { i < CRASHERS && (counter[i] > 0 || quiet[i] < QUIET) -> \
       forget(i); quiet[i] = QUIET } \
  :: atomic { i < CRASHERS && counter[i] > 1 -> choose(); \
       if :: v < counter[i] -> counter[i] = v; quiet[i] = QUIET :: else fi; v = 0 }
#endif

#ifdef FLUSHALL
#define FLUSH(i) :: atomic { counter[i] > 0 -> forget(i) }
#else
#define FLUSH(i)
#endif

#ifdef NOISE
#define OTHERS(i) :: atomic { choose(); if :: ACCEPTS(i, v) -> accept(i, v) :: else fi; v = 0 }
#else
#define OTHERS(i)
#endif

/* Time passes; the clock is stepped forward, which differs only where something was lost or is
   quiet; it is stepped back, or stands still; the counter is deleted, at its expiry or later. */
#define SERVER(i) \
  :: atomic { clock[i] < TOP -> clock[i]++; if :: quiet[i] > 0 -> quiet[i]-- :: else fi } \
  :: atomic { clock[i] < TOP && (lost[i] > 0 || quiet[i] > 0) -> clock[i]++; \
       if :: lost[i] > 0 -> lost[i]-- :: else fi } \
  :: atomic { clock[i] > 0 && lost[i] < B -> clock[i]--; lost[i]++ } \
  :: atomic { counter[i] > 0 && clock[i] >= expiry[i] -> forget(i) } \
  CRASH(i) FLUSH(i) OTHERS(i)

#define DELIVER(k, i) \
  :: atomic { state[k] != NOT_YET && !(arrived[k] >> i & 1) && ACCEPTS(i, token[k]) -> \
       arrived[k] = arrived[k] | 1 << i; accept(i, token[k]); \
       if :: quiet[i] == 0 && state[k] == INVOKED -> yes[k] = yes[k] | 1 << i :: else fi }

#define COUNT(x) (((x) & 1) + ((x) >> 1 & 1) + ((x) >> 2 & 1) + ((x) >> 3 & 1) + ((x) >> 4 & 1))

inline compare(k, j) {
  if
  :: j != k && state[j] == RETURNED ->
     assert(token[j] != token[k]);
     assert(!(before[k] >> j & 1) || token[j] < token[k]);
     assert(!(before[j] >> k & 1) || token[k] < token[j])
  :: else
  fi
}

/* With -DMOST_RETURN=n: a state in which more attempts than n have returned is a violation. So each
   check can show that it reaches what it is about. */
#ifdef MOST_RETURN
#define COUNT_RETURNS assert(COUNT(DONE) <= MOST_RETURN)
#else
#define COUNT_RETURNS skip
#endif

#define IS_DONE(k) ((state[k] == RETURNED) << (k))
#if K == 2
#define DONE (IS_DONE(0) | IS_DONE(1))
#define COMPARE(k) compare(k, 0); compare(k, 1)
#else
#define DONE (IS_DONE(0) | IS_DONE(1) | IS_DONE(2))
#define COMPARE(k) compare(k, 0); compare(k, 1); compare(k, 2)
#endif

#if N == 5
#define DELIVER_MORE(k) DELIVER(k, 3) DELIVER(k, 4)
#else
#define DELIVER_MORE(k)
#endif

/* Attempts are alike, so they are invoked in their order. */
#define MAY_BEGIN(k) (k == 0 || state[(k + K - 1) % K] != NOT_YET)

#define ATTEMPT(k) \
  :: atomic { state[k] == NOT_YET && MAY_BEGIN(k) -> \
       choose(); token[k] = v; v = 0; before[k] = DONE; state[k] = INVOKED } \
  :: atomic { state[k] == INVOKED && COUNT(yes[k]) >= Q -> \
       state[k] = RETURNED; COMPARE(k); yes[k] = 0; COUNT_RETURNS } \
  DELIVER(k, 0) DELIVER(k, 1) DELIVER(k, 2) DELIVER_MORE(k)

active proctype world() {
end:
  do
  SERVER(0) SERVER(1) SERVER(2)
#if N == 5
  SERVER(3) SERVER(4)
#endif
  ATTEMPT(0) ATTEMPT(1)
#if K == 3
  ATTEMPT(2)
#endif
  od
}
