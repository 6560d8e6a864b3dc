/* crowd.c: hundreds want one lock (R26), in virtual time; tests/fleet/crowd.c has the rest. */
#include "../library.h"

#include "../check_main.h"

#define ENGINE engine_today
#define VERSION today
#include "../fleet/engine.c"

#include "../fleet/crowd.h"

enum { MOST = 1024 };

/* Each wants it once. The servers are as slow as those of a machine that runs all that on two
 * cores; 600 were served there at 44 a second before, and 1 000 never. */
TEST(a_thousand_are_all_served) { /* R9 R26 */
  double seconds = run(of(MOST, 5, -1, 150), MOST / 40);
  CHECK_EQ(grants, MOST);
  CHECK((double)grants >= 40 * seconds);
}

TEST(hundreds_are_all_served) { /* R9 R26 */
  double seconds = run(of(300, 5, -1, 200), 300 / 30);
  CHECK_EQ(grants, 300);
  CHECK((double)grants >= 30 * seconds);
}

/* What helps a crowd costs a few nothing. */
TEST(a_few_hand_over_at_once) { /* R26 */
  (void)run(of(8, 5, 5, 20), 10);
  CHECK(grants >= 10 * 160);
  CHECK(commands <= 50 * grants);
  CHECK(median_handover_us() <= 1000);
}

/* Eight wait while a lock is kept with a ttl of 1 s, and each extension is pushed to each of them:
 * two a second, five commands for each of which are 80; ten are the holder's. */
TEST(extensions_of_a_kept_lock_cost_ever_less) { /* R26 */
  struct world w = of(9, 1000000, 0, 20);
  long first;
  w.keeps = 1;
  w.ttl_ms = 1000;
  (void)run(w, 10);
  first = commands;
  CHECK_EQ(grants, 1);
  CHECK(first < 10 * 100);
  (void)run(w, 40);
  CHECK(commands - first < 30 * 75);
}
