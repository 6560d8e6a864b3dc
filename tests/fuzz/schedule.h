/* schedule.h: the world of a schedule, and what can happen in it. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#define PICK(table, i) ((table)[(size_t)(i) % (sizeof(table) / sizeof *(table))])

enum { USERS = FAKE_CLIENTS, SLOTS = 3, EVENTS = 64 };

/* A lock, and what the program knows of it. */
struct slot {
  redlock_lock lock;
  char resource;               /* that it is or was of, 0 = none yet */
  int pending, kept;           /* to be returned */
  redlock_operation operation; /* the pending one */
  int adopts;                  /* its acquire is an adoption (R28), with this value */
  char given[20];
};

struct user {
  redlock rl;
  int open;
  struct slot slot[SLOTS];
};

static struct world {
  int users, db;
  int may_lie;    /* servers may lie, and forget without a quarantine */
  int is_honest;  /* none did: nobody ever shares a lock */
  int forgot;     /* a server restarted, and nobody shares a lock all the same (R24) */
  int has_failed; /* a hook did, so SYSTEM is a legal answer */
  int is_rushed;  /* the clock jumped inside a call: it may last longer than is promised */
  int tells;      /* it is told which servers are ready */
  struct fuzz_input *input; /* what follows of it */
  int raw_texts;  /* so many were lies */
  uint64_t token[2]; /* the last of "a" and "b" (R25) */
  char given[2][20];       /* the last that was handed over, of each */
  char adopted[EVENTS][20]; /* by these values locks were adopted */
  int adoptions;
  int64_t jump_ms;
  int jump_after; /* so many calls of hooks */
  int64_t reply_ms;
  const char *password;
  char list[128];
  redlock_options options;
  struct fake fake;
  struct user user[USERS]; /* last: it is not cleared with the rest */
} world;

enum event {
  START_ACQUIRE, START_EXTEND, START_RELEASE, CANCEL, KEEP, STEP, UNTIL_DUE, WAIT, ACQUIRE, EXTEND,
  RELEASE, CLOSE, TIME,
  FREEZE, END, CONNECT, SOCKET, DELAY, CUT, REFUSE, FAIL, CHANGE, LIE /* to a server */
};

/* How often each is drawn. */
static const enum event events[32] = {
  START_ACQUIRE, START_ACQUIRE, START_ACQUIRE, START_RELEASE, START_RELEASE, START_EXTEND, CANCEL,
  KEEP, STEP, STEP, STEP, STEP, STEP, UNTIL_DUE, UNTIL_DUE, WAIT, ACQUIRE, EXTEND, RELEASE, CLOSE,
  TIME, TIME, FREEZE, END, CONNECT, SOCKET, DELAY, CUT, REFUSE, FAIL, CHANGE, LIE
};

#endif
