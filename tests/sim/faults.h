/* faults.h: everything that can go wrong. A run switches some off entirely, so that no fault hides
 * another, and draws odds for the rest. Each is counted; one that never happened in a whole `make
 * sim` fails it. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

/* name, and what the report calls it */
#define FAULTS(X)                                       \
  /* the network, at each segment */                    \
  X(DROP, "segment dropped, sent again")                \
  X(DELAY, "segment delayed")                           \
  X(SPLIT, "segment split")                             \
  X(MERGE, "segments merged")                           \
  X(RST, "RST at some byte")                            \
  X(FIN, "FIN at some byte")                            \
  X(GARBAGE, "garbage in a reply")                      \
  X(UNOWED, "reply that is not owed")                   \
  /* the network, for a while */                        \
  X(PARTITION_UP, "partition client to server")         \
  X(PARTITION_DOWN, "partition server to client")       \
  X(PARTITION_BOTH, "partition both ways")              \
  X(SILENT_DROP, "flow dropped in silence")             \
  X(CLOG, "connection clogged")                         \
  /* servers */                                         \
  X(FREEZE, "server frozen")                            \
  X(CRASH_ALL, "crash, memory kept")                    \
  X(CRASH_SOME, "crash, some memory lost")              \
  X(CRASH_NONE, "crash, all memory lost")               \
  X(HOST_CRASH, "crash without a word to the clients")  \
  X(REPLICA, "server is a replica for a while")         \
  X(ERROR_REPLY, "error reply")                         \
  X(ERROR_UNASKED, "error before anything was asked")   \
  X(AUTH_REFUSED, "AUTH refused")                       \
  X(SELECT_REFUSED, "SELECT refused")                   \
  X(INFO_REFUSED, "INFO refused")                       \
  X(ALIAS, "two names for one server")                  \
  X(HELLO_REFUSED, "HELLO or CLIENT TRACKING refused")  \
  X(PUSH, "push of another name, or of nil")            \
  X(SHIFTED, "handshake with too little or too much")   \
  /* clients */                                         \
  X(PAUSE_BETWEEN, "pause between two steps")           \
  X(PAUSE_INSIDE, "pause inside a call")                \
  X(SUSPEND, "client suspended for long")               \
  X(CLIENT_CRASH, "client crashed")                     \
  X(BURST, "burst of more starts than slots")           \
  X(NO_ENTROPY, "entropy failed")                       \
  X(NO_CLOCK, "clock failed")                           \
  X(NO_FD, "no file descriptor")                        \
  X(EINTR, "call did nothing this time")                \
  X(WAIT_FAILED, "wait failed")                         \
  X(SHORT_WRITE, "short write")                         \
  X(SHORT_READ, "short read")                           \
  X(RHO, "clock rates apart by rho")                    \
  /* out of the model: only some invariants hold */     \
  X(SERVER_STEP, "server clock stepped")                \
  X(CLIENT_STEP, "client clock stepped")                \
  X(FLUSHALL, "FLUSHALL")                               \
  X(PROMOTION, "promotion with old data")               \
  X(AMNESIA, "crash with amnesia, unprotected")         \
  /* of tokens' worlds: fencing.h */                    \
  X(OLD_IMAGE, "crash, memory of an older time")        \
  X(OTHER_TOKEN, "token of someone else")               \
  X(WILD_CLOCK, "one server's clock is far off")        \
  X(WALLS_FORWARD, "all servers' clocks set forward")   \
  X(WALL_FORWARD, "one server's clock set forward")     \
  X(WALL_BACK, "server clock set back within F2")       \
  X(WALL_CRAWLS, "server clock crawls within F2")       \
  X(BROKEN_EXCLUSION, "grants of two at once")

enum fault {
#define X(name, text) F_##name,
  FAULTS(X)
#undef X
  FAULT_COUNT
};

enum { FIRST_OUT_OF_MODEL = F_SERVER_STEP, FIRST_OF_TOKENS = F_OLD_IMAGE };

static const char *const fault_text[] = {
#define X(name, text) text,
    FAULTS(X)
#undef X
};

#endif
