/* main.c: explores one world, which the arguments describe: explore clients=2 servers=3 ...
 * Without any it says what there is. */
#include "audit.h"

static const struct {
  const char *name;
  int *to, otherwise;
  const char *what;
} numbers[] = {
    {"clients", &cfg.clients, 1, "1 or 2"},
    {"locks", &cfg.locks, 1, "of each client, 1 or 2; each is of another resource"},
    {"servers", &cfg.servers, 1, "1 to 3"},
    {"faults", &cfg.faults, 0, "in all"},
    {"calls", &cfg.calls, 2, "that the user of each lock may make"},
    {"calls2", &cfg.calls2, -1, "those of the second client"},
    {"ticks", &cfg.ticks, NEVER, "of the clock"},
    {"jumps", &cfg.jumps, 1, "1 = time jumps while nothing lives, 2 = always, 0 = never"},
    {"slips", &cfg.slips, 0, "ms for which the clock of each client may stand still"},
    {"push", &cfg.push, 0, "1 = servers tell waiters of changes (R26)"},
    {"warm", &cfg.warm, 1, "1 = connections stand when it begins"},
    {"twins", &cfg.twins, 0, "1 = the first two entries are one server (R5)"},
    {"liar", &cfg.liar, -1, "this server answers anything well formed (R16)"},
    {"foreign", &cfg.foreign, 0, "so many servers hold somebody's value, for ever"},
    {"natives", &cfg.natives, 0, "1 = servers know DELEX, 2 = DELIFEQ"},
    {"young", &cfg.young, 0, "ms for which the first server has run when it begins; 0 = for long"},
    {"in_turn", &cfg.in_turn, 0, "1 = of what servers may do at once, one order is tried"},
    {"held", &cfg.held, 0, "1 = the first client holds its first lock at first, 2 = keeps it"},
    {"twice", &cfg.twice, 0, "1 = what was handed over may be adopted again"},
    {"ttl", &cfg.ttl, 10, "of the first lock"},
    {"ttl2", &cfg.ttl2, 0, "of the second; 0 = the same"},
    {"shorter", &cfg.shorter, 0, "of the call s"},
    {"wait", &cfg.wait, -1, "wait_ms of the call w; -1 = for ever"},
    {"ppm", &cfg.ppm, 10000, "drift_ppm"},
    {"max_ttl", &cfg.max_ttl, 0, "max_ttl_ms"},
    {"fencing", &cfg.fencing, 0, "1 = tokens"},
    {"max_hold", &cfg.max_hold, 0, "max_hold_ms"},
    {"margin", &cfg.margin, 0, "keep_margin_ms"},
    {"finish", &cfg.finish, 60, "ms in which a world left to itself decides all; 0 = do not look"},
    {"still", &cfg.still, 0, "ms for which a waiter in a world without changes is watched (R26)"},
    {"seconds", &cfg.seconds, 600, "of processor time at most"},
    {"megabytes", &cfg.megabytes, 5000, "for worlds to be visited, at most"},
    {"audit", &cfg.audit, 0, "1 = looks whether the form of states leaves out too much"},
};

static const struct {
  const char *name;
  const char **to, *otherwise, *what;
} texts[] = {
    {"may", &cfg.may, "are",
     "the calls: a acquire, w acquire and wait, r release, e extend,\n"
     "                s extend by less, k keep, x cancel, d adopt, c close"},
    {"may2", &cfg.may2, NULL, "those of the second client"},
    {"kinds", &cfg.kinds, "bhpcs",
     "of faults: b a connection breaks, h stands still, p a send or reply is cut,\n"
     "                c a connect fails or hangs, s a process is stopped, i within a call,\n"
     "                d a server goes down, m and forgets, o errs, k a clock fails, e entropy,\n"
     "                r one restarts empty while all others vote (R29)"},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers, TEXTS = sizeof texts / sizeof *texts };

static int usage(void) {
  printf("explore NAME=VALUE ... : every schedule of a small world\n");
  for (size_t i = 0; i < NUMBERS; i++)
    printf("  %-10s %4d  %s\n", numbers[i].name, numbers[i].otherwise, numbers[i].what);
  for (size_t i = 0; i < TEXTS; i++)
    printf("  %-10s %4s  %s\n", texts[i].name, texts[i].otherwise ? texts[i].otherwise : "",
           texts[i].what);
  return 2;
}

/* 0 = there is no such option. */
static int read_option(const char *option) {
  size_t size = strcspn(option, "=");
  if (!option[size]) return 0;
  for (size_t i = 0; i < NUMBERS; i++)
    if (strlen(numbers[i].name) == size && strncmp(numbers[i].name, option, size) == 0) {
      *numbers[i].to = atoi(option + size + 1);
      return 1;
    }
  for (size_t i = 0; i < TEXTS; i++)
    if (strlen(texts[i].name) == size && strncmp(texts[i].name, option, size) == 0) {
      *texts[i].to = option + size + 1;
      return 1;
    }
  return 0;
}

static int read_options(int argc, char **argv) {
  for (size_t k = 0; k < NUMBERS; k++) *numbers[k].to = numbers[k].otherwise;
  for (size_t k = 0; k < TEXTS; k++) *texts[k].to = texts[k].otherwise;
  for (int i = 1; i < argc; i++)
    if (!read_option(argv[i])) return 0;
  if (cfg.calls2 < 0) cfg.calls2 = cfg.calls;
  if (!cfg.ttl2) cfg.ttl2 = cfg.ttl;
  return argc > 1 && cfg.clients >= 1 && cfg.clients <= CLIENTS && cfg.locks >= 1 &&
         cfg.locks <= LOCKS && cfg.servers >= 1 && cfg.servers <= SERVERS;
}

/* ---- The first world ------------------------------------------------------------------------- */

static void begin_client(int c) {
  static const char *const lists[] = {"", "a", "a,b", "a,b,c"};
  redlock_options options = {.io = &io[c],
                             .server_timeout_ms = TIMEOUT,
                             .retry_delay_max_ms = 2,
                             .drift_ppm = (uint32_t)cfg.ppm,
                             .max_ttl_ms = (uint32_t)cfg.max_ttl,
                             .max_hold_ms = (uint32_t)cfg.max_hold,
                             .fencing = (uint32_t)cfg.fencing,
                             .keep_margin_ms = (uint32_t)cfg.margin};
  number[c] = c;
  io[c] = world_io;
  io[c].ctx = &number[c];
  if (redlock_init(&W.side[c].rl, lists[cfg.servers], &options) != REDLOCK_OK)
    fail("redlock_init refuses the options");
}

/* A lock is acquired and released, so that all connections stand; then they grow old. */
static void warm_up(void) {
  for (int c = 0; c < cfg.clients; c++) {
    W.side[c].user[0].calls = 2;
    make_call(c, 0, ACQUIRE, 0);
    finish(1);
    if (W.side[c].user[0].state == HELD) make_call(c, 0, RELEASE, 0);
    finish(1);
  }
  calm = 1;
  settle();
  W.now += 4000;
  for (int c = 0; c < cfg.clients; c++) step(c);
  calm = 0;
  for (int c = 0; c < cfg.clients; c++) {
    struct side *side = &W.side[c];
    memset(side->lock, 0, sizeof side->lock);
    memset(side->user, 0, sizeof side->user);
    memset(side->fate, 0, sizeof side->fate);
    side->drawn = 0;
  }
  W.token = 0;
}

/* The first client holds, or keeps, its first lock. */
static void hold_first(void) {
  W.side[0].user[0].calls = 2;
  make_call(0, 0, ACQUIRE, 0);
  calm = 1;
  settle();
  if (cfg.held > 1) make_call(0, 0, KEEP, 0);
  settle();
  calm = 0;
}

static void begin(void) {
  W.now = 5000000; /* in us more than 32 bits */
  for (int s = 0; s < SERVERS; s++)
    W.server[s].started = s == 0 && cfg.young ? W.now - cfg.young : 0;
  model_begins();
  for (int c = 0; c < cfg.clients; c++) begin_client(c);
  if (cfg.warm) warm_up();
  for (int s = 0; s < cfg.foreign; s++) put_foreign(s);
  if (cfg.held) hold_first();
  for (int c = 0; c < cfg.clients; c++) {
    W.side[c].slips = (uint8_t)cfg.slips;
    for (int l = 0; l < cfg.locks; l++)
      W.side[c].user[l].calls = (uint8_t)(c ? cfg.calls2 : cfg.calls);
  }
  W.faults = (uint8_t)cfg.faults;
  W.ticks = (uint8_t)cfg.ticks;
  began_ms = W.now;
  world_copy(&root, &W);
}

int main(int argc, char **argv) {
  int good;
  if (!read_options(argc, argv)) return usage();
  if (setjmp(failed)) {
    printf("VIOLATION while it begins: %s\n", failure);
    return 3;
  }
  begin();
  good = search();
  if (!out_of_model()) print_steps();
  if (good && cfg.audit) good = audit();
  return good ? 0 : 3;
}
