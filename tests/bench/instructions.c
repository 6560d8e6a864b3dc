/* instructions: what the library itself executes for one lock and release, counted by callgrind on
 * build/.../cycle: no kernel, no server, no libc. The count does not depend on the machine, and on
 * the compiler only by a few percent. Two runs of different length leave the start-up out. */
#include "tests/check.h"

#include <stdlib.h>

enum {
  FEW = 1280,    /* a multiple of the width, so that all cycles count */
  MANY = 3840,
  WIDTH = 256,
  ONE_BOUND = 13900, /* instructions a cycle, one at a time; a twentieth above what gcc 12 makes */
  MANY_BOUND = 7000  /* with WIDTH in flight; an eighth above */
};

/* What the lines of a profile belong to: the last fn= line names the function, by number only after
 * the first time, so that names are kept. */
struct profile {
  FILE *file;
  long long sum;
  int ours;              /* the current function is the library's */
  char known[4096];      /* of each number: 1 = the library's */
};

static int is_ours(const char *name) {
  return strncmp(name, "rl_", 3) == 0 || strncmp(name, "redlock_", 8) == 0;
}

/* "fn=(12) rl_put", or "fn=(12)" when it was named before. cfn= names callees in the same way. */
static int note_name(struct profile *p, const char *line) {
  const char *name = strchr(line, ')');
  long number = strtol(strchr(line, '(') + 1, NULL, 10);
  if (number < 0 || number >= (long)sizeof p->known || !name) return 0;
  if (name[1] == ' ') p->known[number] = (char)is_ours(name + 2);
  return p->known[number];
}

static long long cost_of(const char *line) {
  const char *blank = strchr(line, ' ');
  return blank ? strtoll(blank + 1, NULL, 10) : 0;
}

static void note_line(struct profile *p, const char *line) {
  static int is_call; /* the line that follows calls= is the callee's cost */
  if (strncmp(line, "fn=(", 4) == 0) p->ours = note_name(p, line);
  else if (strncmp(line, "cfn=(", 5) == 0) (void)note_name(p, line);
  else if (strncmp(line, "calls=", 6) == 0) is_call = 1;
  else if (strchr("+-*0123456789", line[0])) {
    if (p->ours && !is_call) p->sum += cost_of(line);
    is_call = 0;
  }
}

/* The library's instructions in one run; -1 = it failed. */
static long long count_run(const char *program, int cycles, int width) {
  static struct profile p;
  char command[512], line[1024];
  memset(&p, 0, sizeof p);
  snprintf(command, sizeof command,
           "valgrind -q --tool=callgrind --callgrind-out-file=%s/%s.callgrind %s/%s %d %d "
           ">%s/%s.log 2>&1",
           BENCH_DIR, program, BENCH_DIR, program, cycles, width, BENCH_DIR, program);
  if (system(command) != 0) return -1;
  snprintf(command, sizeof command, "%s/%s.callgrind", BENCH_DIR, program);
  p.file = fopen(command, "r");
  if (!p.file) return -1;
  while (fgets(line, sizeof line, p.file)) note_line(&p, line);
  fclose(p.file);
  return p.sum;
}

static void check_count(const char *what, const char *program, int width, long long bound) {
  long long few, many, each;
  if (system("valgrind --version >/dev/null 2>&1") != 0) {
    SKIP("valgrind is not installed");
    return;
  }
  few = count_run(program, FEW, width);
  many = count_run(program, MANY, width);
  each = (many - few) / (MANY - FEW);
  printf("  %s: %lld instructions a cycle, at most %lld\n", what, each, bound);
  CHECK(few > 0 && many > few);
  CHECK(each <= bound);
}

static void one_at_a_time(void) { check_count("one at a time", "cycle", 0, ONE_BOUND); }

static void many_in_flight(void) {
  check_count("256 in flight, a ring for all", "cycle-big", WIDTH, MANY_BOUND);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(one_at_a_time);
  RUN(many_in_flight);
  return check_end();
}
