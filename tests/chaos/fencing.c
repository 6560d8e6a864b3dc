/* fencing.c: fencing [SEED]: tokens on real servers that are killed, that forget, and
 * whose wall clocks are stepped, and clients that are stopped in the middle (R25).
 *
 * Locks last a few milliseconds here, much less than the pauses: exclusion is broken all the time,
 * on purpose, and tokens must be unique and in order all the same. First come the negative
 * controls: a rule or an assumption is taken away, and the order must break within a bound. Then
 * the scenes that must hold share the rest of the MINUTES from the environment.
 *
 * max_ttl_ms is A. The clocks of a scene with steps stay between 0 and 0.45 A ahead: so they never
 * lose more than A/2 (F2). Slow clocks lose less than 0.45 A in any 2 A. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "raw_client.h"

#include "tests/check.h"
#include "tests/inside.h"
#include "tests/redis/wall.h"

#include <signal.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum {
  A_MS = 2000,
  TTL_MS = 10,            /* of the header's clients, and up to three times that */
  TIMEOUT_MS = 100,
  STEP_US = A_MS * 450,
  SLEPT_US = 400000,
  OLD_US = 60000000,      /* before the first scene every server is as old as that */
  CONTROL_MS = 20000,     /* a control must break within this time, and so many grants */
  CONTROL_GRANTS = 300,
  LOSSES_LEAST = 10,      /* and, if servers crash, so many losses */
  SCENE_MS = 12000,       /* a scene takes about that long, and in a short run no less than */
  SCENE_LEAST_MS = 5000,
  SLOW_MS = 60000,        /* longer at most, on a busy machine */
  GRANTS_LEAST = 10
};

static const char script[] = INSIDE_FENCED_SCRIPT;

/* ---- scenes ---- */

enum { KILLS = 1, STEPS = 2, SLOW = 4, SET_BACK = 8, FAR = 16, FLUSHES = 32, NO_QUARANTINE = 64,
       IDLES = 128, WILD = 256 };

struct scene {
  const char *name;
  int faults;
  const char *args;     /* of the servers */
  const char *from, *to; /* a control's change of the script */
  int quorum;           /* 0 = the right one */
};

#define AOF "--appendonly yes --appendfsync everysec"
#define RDB "--save 1 1"

static const struct scene scenes[] = {
    {"nothing but pauses", 0, "", NULL, NULL, 0},
    {"kill -9, nothing kept", KILLS, "", NULL, NULL, 0},
    {"kill -9, AOF", KILLS, AOF, NULL, NULL, 0},
    {"kill -9, an RDB from before", KILLS, RDB, NULL, NULL, 0},
    {"clocks are stepped", STEPS, "", NULL, NULL, 0},
    {"clocks run slow", SLOW, "", NULL, NULL, 0},
    {"kill -9, AOF, and clocks are stepped", KILLS | STEPS, AOF, NULL, NULL, 0},
    {"kill -9, and clocks are set back meanwhile", SET_BACK, "", NULL, NULL, 0},
};

static const struct scene controls[] = {
    {"no quarantine", KILLS | NO_QUARANTINE, "", NULL, NULL, 0},
    {"FLUSHALL", FLUSHES, "", NULL, NULL, 0},
    {"clocks are stepped too far", STEPS | FAR, "", NULL, NULL, 0},
    {"quorum N/2", 0, "", NULL, NULL, 1},
    {"a token equal to the counter is accepted", 0, "", "v-p>=0", "v-p>0", 0},
    {"no counter", 0, "", "v-p>=0", "false", 0},
    {"the counter expires with the lock", 0, "", "'PX',m)", "'PX',l)", 0},
    {"no window", IDLES | WILD, "", "or p-t>m*500 ", "", 0},
    {"no clock", IDLES | WILD, "", "*1000000+t[2]",
     "*1000000+t[2]if p+0>0 then t=math.min(t,p-1)end ", 0},
};

enum { SCENES = (int)(sizeof scenes / sizeof *scenes),
       CONTROLS = (int)(sizeof controls / sizeof *controls) };

/* ---- the world ---- */

static struct servers servers;
static pid_t clients[CLIENTS];
static uint64_t seed;
static long kills, kept, steps, pauses; /* of the scene; kept: killed, and came back with keys */
static long losses; /* crashes of a quorum so short that tokens were still ahead of the clocks */
static int64_t lost_us, slowed_us; /* by slow clocks, so far; when that was last seen to */

static void rest(int64_t ms) { poll(NULL, 0, (int)ms); }

static int64_t about(int64_t least_ms, int64_t most_ms) {
  return least_ms + (int64_t)draw(&seed, (uint64_t)(most_ms - least_ms + 1));
}

static void set_clock(int i, int64_t us) {
  wall_choose(i);
  wall_set_us(us);
}

static void set_clocks(int64_t us) {
  int i;
  for (i = 0; i < SERVERS; i++) set_clock(i, us);
}

/* Shows after a crash whether anything was kept. */
static void mark(int i) { server_command(&servers.at[i], "SET marker 1"); }

/* They start with their clocks behind: when these have been set right, the servers look old enough
   for the quarantine. Nothing has been granted before. */
static void start_servers(const char *args) {
  int i;
  servers.count = SERVERS;
  for (i = 0; i < SERVERS; i++) {
    set_clock(i, -OLD_US);
    server_start(&servers.at[i], args);
    board->trusted_us[i] = timing_us() - OLD_US;
    mark(i);
  }
  set_clocks(0);
}

/* Never trusted before it is down, and then not before it is up again. */
static void crash(int which, int64_t ahead_us, int step) {
  int64_t began_us = timing_us();
  int i;
  for (i = 0; i < SERVERS; i++)
    if (which >> i & 1) board->trusted_us[i] = INT64_MAX;
  for (i = 0; i < SERVERS; i++)
    if (which >> i & 1) server_kill(&servers.at[i]);
  for (i = 0; i < SERVERS; i++) {
    if (!(which >> i & 1)) continue;
    wall_choose(i);
    if (step) wall_set_us(ahead_us);
    server_restart(&servers.at[i]);
    board->trusted_us[i] = timing_us();
    kept += server_number(&servers.at[i], "EXISTS marker");
    mark(i);
    kills++;
  }
  losses += (which & (which - 1)) && timing_us() - began_us < A_MS * 250; /* half the window */
}

/* ---- clients ---- */

static void end_with_parent(pid_t parent) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) _exit(1);
}

/* Every other holder keeps working when its lock has long ended, and never releases it. */
static void try_once(redlock *rl, uint64_t *own, struct notes *notes) {
  struct grant grant;
  redlock_lock lock;
  redlock_status status;
  grant.asked_us = timing_us();
  status = redlock_acquire(rl, &lock, "r", TTL_MS + (uint32_t)draw(own, 2 * TTL_MS), 0);
  grant.granted_us = timing_us();
  notes->rounds++;
  if (status != REDLOCK_OK) return;
  grant.token = lock.token;
  if (!grants_overstay(notes, 2, 4 * TTL_MS)) redlock_release(rl, &lock);
  grant.done_us = timing_us();
  grants_note(notes, grant);
}

static int be_client_of_header(uint64_t own, struct notes *notes) {
  static redlock rl;
  char list[SERVERS_LIST];
  redlock_options options;
  memset(&options, 0, sizeof options);
  options.server_timeout_ms = TIMEOUT_MS;
  options.max_ttl_ms = A_MS;
  options.fencing = 1;
  if (redlock_init(&rl, servers_list(&servers, SERVERS, list), &options)) return 1;
  while (!board->stop) {
    if (!board->hush) try_once(&rl, &own, notes);
    redlock_wait(&rl, 1 + (int64_t)draw(&own, 5));
  }
  redlock_close(&rl);
  return 0;
}

/* Without rules: clients of the header. */
static int be_client(const struct raw_rules *rules, uint64_t own, struct notes *notes) {
  static struct raw_client raw;
  if (!rules) return be_client_of_header(own, notes);
  raw.rules = *rules;
  raw.servers = &servers;
  raw.seed = own;
  signal(SIGPIPE, SIG_IGN); /* a server goes whenever it likes */
  raw_run(&raw, notes);
  return 0;
}

static void start_clients(const struct raw_rules *rules) {
  int i;
  pid_t parent = getpid();
  fflush(stdout);
  for (i = 0; i < CLIENTS; i++) {
    uint64_t own = seed + (uint64_t)i + 1;
    clients[i] = fork();
    if (clients[i] != 0) continue;
    end_with_parent(parent);
    _exit(be_client(rules, own, &board->notes[i]));
  }
}

static void end_clients(void) {
  int i, status;
  board->stop = 1;
  for (i = 0; i < CLIENTS; i++) {
    status = -1;
    kill(clients[i], SIGCONT);
    waitpid(clients[i], &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

/* A client is stopped wherever it is, for longer than any lock lasts. */
static void pause_one(void) {
  pid_t pid = clients[draw(&seed, CLIENTS)];
  kill(pid, SIGSTOP);
  rest(about(10, 60));
  kill(pid, SIGCONT);
  pauses++;
}

/* Nobody speaks for so long. */
static void hush(int64_t ms) {
  board->hush = 1;
  rest(ms);
}

/* ---- trouble ---- */

/* The worst case: nobody speaks while the clocks are ahead and the counters expire; then all of
   them go back. */
static void step_together(int far) {
  hush(50);
  set_clocks(far ? 3 * A_MS * 1000 : STEP_US);
  rest(far ? A_MS / 4 : A_MS * 6 / 10);
  set_clocks(0);
  board->hush = 0;
}

static void step_apart(void) {
  int i;
  for (i = 0; i < SERVERS; i++)
    if (draw(&seed, 2)) set_clock(i, (int64_t)draw(&seed, STEP_US + 1));
}

static void step_clocks(int far) {
  if (far || draw(&seed, 2)) step_together(far);
  else step_apart();
  steps++;
}

/* A fifth of the time is lost; but not all at once when this process has slept. */
static void slow_clocks(void) {
  int64_t until_us = timing_us() + 500000;
  for (; timing_us() < until_us; steps++) {
    int64_t passed_us = timing_us() - slowed_us;
    slowed_us += passed_us;
    lost_us += (passed_us < SLEPT_US ? passed_us : SLEPT_US) / 5;
    set_clocks(-lost_us);
    rest(5);
  }
}

/* Grants by clocks that are ahead; when the servers are back, their clocks are right. */
static void set_back(void) {
  set_clocks(STEP_US);
  rest(300);
  crash(7, 0, 1);
  steps++;
}

static void flush(void) {
  int i;
  for (i = 0; i < SERVERS; i++)
    if (draw(&seed, 2)) server_command(&servers.at[i], "FLUSHALL");
}

/* The counters expire. */
static void idle(void) {
  hush(A_MS + 200);
  board->hush = 0;
}

/* So that those who were quarantined have a say again. */
static void await_trust(const struct scene *s) {
  if (s->faults & NO_QUARANTINE) return;
  pause_one();
  rest(A_MS * 6 / 5);
}

static void make_trouble(const struct scene *s) {
  pause_one();
  rest(about(50, 300));
  if (s->faults & STEPS) step_clocks(s->faults & FAR);
  if (s->faults & SLOW) slow_clocks();
  if (s->faults & FLUSHES) flush();
  if (s->faults & IDLES) idle();
  if (s->faults & SET_BACK) set_back();
  if (s->faults & KILLS) crash(1 + (int)draw(&seed, 7), 0, 0);
  if (s->faults & (SET_BACK | KILLS)) await_trust(s);
}

/* ---- a scene ---- */

static const char *changed_script(const struct scene *s) {
  static char text[sizeof script + 64];
  const char *at = s->from ? strstr(script, s->from) : script;
  if (!CHECK(at != NULL)) return script; /* the change does not apply any more */
  if (!s->from) return script;
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - script), script, s->to, at + strlen(s->from));
  return text;
}

static struct raw_rules rules_of(const struct scene *s) {
  struct raw_rules rules;
  rules.script = changed_script(s);
  rules.quorum = s->quorum ? s->quorum : SERVERS / 2 + 1;
  rules.quarantine = !(s->faults & NO_QUARANTINE);
  rules.wild = s->faults & WILD ? 10 : 1;
  rules.max_ttl_ms = A_MS;
  return rules;
}

/* Whether it has had what it is for: a busy machine gets longer for that. */
static int has_enough(const struct scene *s, int until_broken) {
  if (until_broken)
    return board->granted >= CONTROL_GRANTS && (losses >= LOSSES_LEAST || !(s->faults & KILLS));
  return board->granted >= GRANTS_LEAST && (kept > 0 || !*s->args);
}

static int is_over(const struct scene *s, int64_t end_us, int until_broken) {
  int64_t more_us = timing_us() - end_us;
  if (until_broken && grants_judge().fault) return 1;
  return more_us >= SLOW_MS * 1000 || (more_us >= 0 && has_enough(s, until_broken));
}

/* Without rules: by clients of the header. */
static struct verdict play(const struct scene *s, const struct raw_rules *rules, int64_t ms,
                           int until_broken) {
  struct verdict verdict;
  int64_t end_us;
  kills = kept = steps = pauses = losses = 0;
  lost_us = 0;
  grants_forget();
  start_servers(s->args);
  slowed_us = timing_us();
  end_us = slowed_us + ms * 1000;
  start_clients(rules);
  do make_trouble(s);
  while (!is_over(s, end_us, until_broken));
  end_clients();
  verdict = grants_judge();
  servers_stop(&servers);
  return verdict;
}

static void tell(const struct verdict *v) {
  printf("    %ld grants of %ld rounds, %ld of them to a second holder; %ld kills"
         " (%ld kept something), %ld steps, %ld pauses: %s\n", v->grants, v->rounds,
         v->overlapping, kills, kept, steps, pauses, v->fault ? v->fault : "unique and in order");
}

static const struct scene *scene;
static int64_t scene_ms;

static void must_hold(const struct raw_rules *rules) {
  struct verdict v = play(scene, rules, scene_ms, 0);
  tell(&v);
  CHECK(v.fault == NULL);
  CHECK(v.grants >= GRANTS_LEAST);
  CHECK(v.overlapping > 0);
  CHECK((scene->faults & (KILLS | SET_BACK)) == 0 || kills > 0);
  CHECK_EQ(kept > 0, *scene->args != '\0');
}

static void the_header_keeps_the_order(void) { must_hold(NULL); }

static void any_client_keeps_the_order(void) {
  struct raw_rules rules = rules_of(scene);
  must_hold(&rules);
}

static void the_order_is_broken(void) {
  struct raw_rules rules = rules_of(scene);
  struct verdict v = play(scene, &rules, CONTROL_MS, 1);
  tell(&v);
  if (!v.fault && !has_enough(scene, 1)) SKIP("this machine is too busy for what breaks it");
  CHECK(v.fault != NULL);
}

static void run_controls(void) {
  for (scene = controls; scene < controls + CONTROLS; scene++) {
    printf("%s: it must break\n", scene->name);
    RUN(the_order_is_broken);
  }
}

/* In as many rounds as the time is good for. */
static void run_scenes(int64_t end_ms) {
  int left = (int)((end_ms - timing_ms()) / (SCENES * 2 * SCENE_MS));
  for (left = left > 0 ? left : 1; left > 0; left--)
    for (scene = scenes; scene < scenes + SCENES; scene++) {
      scene_ms = (end_ms - timing_ms()) / 2 / (left * SCENES - (scene - scenes));
      if (scene_ms < SCENE_LEAST_MS) scene_ms = SCENE_LEAST_MS;
      printf("%s\n", scene->name);
      RUN(the_header_keeps_the_order);
      RUN(any_client_keeps_the_order);
    }
}

int main(int argc, char **argv) {
  const char *wanted = getenv("MINUTES");
  long minutes = wanted ? strtol(wanted, NULL, 10) : 2;
  int64_t end_ms = timing_ms() + minutes * 60000;
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)timing_us();
  check_start(1, argv);
  if (servers_missing() || !grants_open()) {
    fprintf(stderr, "chaos: %s\n", servers_missing() ? servers_missing() : "no memory");
    return 1;
  }
  wall_begin();
  printf("seed %llu, %ld minutes\n", (unsigned long long)seed, minutes);
  run_controls();
  run_scenes(end_ms);
  return check_end();
}
