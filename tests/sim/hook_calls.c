/* hook_calls: each call of a hook fails once, in a small world without any other fault, under the
 * checker of the random runs. (fake/hooks.c has calls of one hook alone, also from then on.) */
#include "check.h"
#include "run.h"

enum { SEED = 1 };

/* Two users want one lock for a while: they take, extend, keep, release and cancel. */
static int run_with(big fails_at) {
  world_reset(SEED);
  draw_config();
  memset(W.odds, 0, sizeof W.odds);
  W.cfg.clients = 2;
  W.cfg.singles = W.cfg.out_of_model = 0;
  W.cfg.slots = W.cfg.resources = 1;
  W.cfg.duration = 2 * SEC;
  W.hook_fails_at = fails_at;
  return run_world();
}

static void every_hook_call_may_fail(void) {
  big k, all;
  CHECK(run_with(0));
  CHECK(T->grants > 4 && T->extensions > 0);
  all = W.hooks;
  CHECK(all > 500);
  for (k = 1; k <= all; k++) {
    if (CHECK(run_with(k))) continue;
    printf("    hook call %llu of %llu: %s\n", k, all, W.message);
    return;
  }
  printf("  %llu hook calls\n", all);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(every_hook_call_may_fail);
  (void)run_seed;
  return check_end();
}
