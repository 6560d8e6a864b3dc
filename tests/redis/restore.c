/* restore.c: R29: servers that keep nothing on disk restart one after the other, each when those
 * before it vote again, under a kept lock that others wait for, or try for again and again. It is
 * never lost, nobody else gets it before its release, and then all of them do.
 *
 * A scene restarts each of its servers once. The first one is played; with MINUTES in the
 * environment (`make chaos`) all are, and again until these are over. */
#include "real.h"

enum {
  SERVERS = 5,
  OTHERS = 8,
  TTL_MS = 3000,      /* of all locks, and max_ttl_ms */
  STILL_MS = TTL_MS / 4, /* so long without a step excuses a loss */
  PAUSE_MS = 20,      /* between two attempts */
  STEP_MS = 5,        /* all clients are stepped as often as that */
  DOWN_MOST_MS = 900, /* a server is down for less than this, */
  DOWN_MORE_MS = 370, /* and for so much longer each time, modulo that */
  PATIENCE_MS = 60000 /* all others get the lock within it, on any machine */
};

struct scene {
  const char *name;
  int servers, waiting, trying;
};

static const struct scene scenes[] = {
    {"3 servers, 1 waits", 3, 1, 0},      {"3 servers, nobody else", 3, 0, 0},
    {"5 servers, nobody else", 5, 0, 0},  {"3 servers, 2 try", 3, 0, 2},
    {"3 servers, 8 wait", 3, 8, 0},       {"5 servers, 8 wait", 5, 8, 0},
    {"5 servers, 4 wait, 4 try", 5, 4, 4},
};

enum { SCENES = (int)(sizeof scenes / sizeof *scenes) };

static const struct scene *scene;
static redlock keeper;
static redlock_lock kept;
static char value[256]; /* of the kept lock, on the servers */
static int64_t down_ms, stepped_ms;
static int64_t idle_ms; /* the longest time between two steps of the keeper, in this scene */

static void open_client(redlock *rl) {
  redlock_options options = real_options(REAL_PATIENT_MS);
  options.max_ttl_ms = TTL_MS;
  real_open_with(rl, scene->servers, options);
}

/* ---- the others, clients of their own, each of which stops when it has had the lock ---- */

struct other {
  redlock rl;
  redlock_lock lock;
  int waits, is_done;
  int64_t again_ms; /* when it tries again; 0 = a call is pending */
};

static struct other others[OTHERS];
static long tries, grants; /* of all of them */

static int others_count(void) { return scene->waiting + scene->trying; }

static void ask(struct other *o) {
  o->again_ms = 0;
  CHECK_EQ(redlock_start_acquire(&o->rl, &o->lock, "r", TTL_MS, o->waits ? REDLOCK_FOREVER : 0),
           REDLOCK_PENDING);
}

static void start_others(void) {
  int i;
  tries = grants = 0;
  memset(others, 0, sizeof others);
  for (i = 0; i < others_count(); i++) {
    others[i].waits = i < scene->waiting;
    open_client(&others[i].rl);
    ask(&others[i]);
  }
}

/* What became of one call. */
static void hear(struct other *o) {
  if (o->lock.operation == REDLOCK_RELEASE) {
    CHECK_EQ(o->lock.status, REDLOCK_OK);
    o->is_done = 1;
    return;
  }
  tries++;
  if (o->lock.status != REDLOCK_OK) {
    o->again_ms = timing_ms() + PAUSE_MS;
    return;
  }
  grants++;
  CHECK_EQ(redlock_start_release(&o->rl, &o->lock), REDLOCK_PENDING);
}

static void step_others(void) {
  int i;
  for (i = 0; i < others_count(); i++) {
    struct other *o = &others[i];
    while (redlock_step(&o->rl)) hear(o);
    if (o->again_ms && timing_ms() >= o->again_ms) ask(o);
  }
}

/* Each gets the lock once. */
static void await_others(void) {
  int64_t end_ms = timing_ms() + PATIENCE_MS;
  int i, done;
  do {
    redlock_wait(&keeper, STEP_MS);
    step_others();
    for (i = done = 0; i < others_count(); i++) done += others[i].is_done;
  } while (done < others_count() && timing_ms() < end_ms);
  CHECK_EQ(done, others_count());
  CHECK_EQ(grants, others_count());
  for (i = 0; i < others_count(); i++) redlock_close(&others[i].rl);
}

/* ---- the servers ---- */

/* A machine that stood still may lose the lock: that shows nothing. */
static void tell_loss(void) {
  int i;
  printf("    lost by status %d; the keeper once did not step for %ld ms; votes:",
         (int)kept.status, (long)idle_ms);
  if (idle_ms >= STILL_MS) check.skip = "the machine stood still, and the lock ran out";
  for (i = 0; i < scene->servers; i++) printf(" %d", (int)kept.votes[i]);
  printf("; keys on %d servers\n", real_keys(scene->servers, "r"));
}

/* The keeper works for so long; whether it still keeps the lock, alone. */
static int all_is_well(int64_t ms) {
  int64_t end_ms = timing_ms() + ms;
  redlock_lock *lost;
  do {
    lost = redlock_wait(&keeper, STEP_MS);
    step_others();
    if (timing_ms() - stepped_ms > idle_ms) idle_ms = timing_ms() - stepped_ms;
    stepped_ms = timing_ms();
  } while (!lost && stepped_ms < end_ms);
  if (lost) tell_loss();
  if (check.skip) return 0;
  return CHECK(!lost) && CHECK(redlock_remaining_ms(&keeper, &kept) > 0) &&
         CHECK_EQ(grants, 0);
}

static int await_vote(int server, int has_one) {
  while (real_has_vote(&keeper, server) != has_one)
    if (!all_is_well(0)) return 0;
  return 1;
}

static int has_it(int server) {
  return strcmp(server_command(&real.at[server], "GET r"), value) == 0;
}

/* It comes back empty, and has the kept lock's value before it votes. */
static int restart(int server) {
  down_ms = (down_ms + DOWN_MORE_MS) % DOWN_MOST_MS;
  server_kill(&real.at[server]);
  if (!all_is_well(down_ms)) return 0;
  server_restart(&real.at[server]);
  if (!await_vote(server, 0) || !await_vote(server, 1)) return 0;
  CHECK(has_it(server));
  return 1;
}

/* Keys that nobody deleted in time, of all locks. */
static long expired(void) {
  long count = 0;
  int i;
  for (i = 0; i < scene->servers; i++) count += server_info(&real.at[i], "expired_keys:");
  return count;
}

/* ---- a scene ---- */

static void take(void) {
  servers_heal(&real);
  real_await_votes(scene->servers, TTL_MS);
  open_client(&keeper);
  real_hold(&keeper, &kept, scene->servers, "r", TTL_MS);
  snprintf(value, sizeof value, "%s", server_command(&real.at[0], "GET r"));
  CHECK_EQ(redlock_keep(&keeper, &kept, 0), REDLOCK_OK);
}

/* By the others, too. A key that a release had missed would have to expire. */
static void release(void) {
  long before = expired();
  CHECK(redlock_release(&keeper, &kept) == REDLOCK_OK || check.skip);
  await_others();
  CHECK_EQ(real_keys_settle(&keeper, scene->servers, "r", 0), 0);
  CHECK(expired() == before || check.skip);
}

static void a_kept_lock_outlives_its_servers(void) {
  int64_t begun_ms;
  int restarts = 0;
  take();
  begun_ms = stepped_ms = timing_ms();
  idle_ms = 0;
  start_others();
  while (restarts < scene->servers && restart(restarts)) restarts++;
  printf("    kept for %ld s through %d restarts; %ld calls of others returned without it\n",
         (long)(timing_ms() - begun_ms) / 1000, restarts, tries);
  CHECK(scene->trying == 0 || tries > 0);
  release();
  redlock_close(&keeper);
}

static void play_scenes(void) {
  const char *minutes = getenv("MINUTES");
  int64_t end_ms = timing_ms() + (minutes ? strtol(minutes, NULL, 10) : 0) * 60000;
  int played, least = minutes ? SCENES : 1;
  for (played = 0; played < least || timing_ms() < end_ms; played++) {
    scene = scenes + played % SCENES;
    printf("%s\n", scene->name);
    RUN(a_kept_lock_outlives_its_servers);
  }
}

int main(int argc, char **argv) { return real_main(argc, argv, SERVERS, play_scenes); }
