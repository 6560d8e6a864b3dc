/* crowd.c: waiting in crowds (R26), in virtual time: up to ten thousand waiters, near and far, with
 * short holds and long ones, beside other libraries' clients and pushes for nothing. Limits are
 * ratios to the ideal, which is that the next holder has the lock a round trip and a half after the
 * last one let go. */
#include "../check_main.h"
#include "crowd.h"

enum { ONCE = -1, CHEAP_US = 20, NEAR_US = 67, LONG_TTL_MS = 1000000 }; /* .2 ms, there and back */

static struct world near_or_far(int clients, int hold_ms, int think_ms, int64_t latency_us) {
  struct world w = of(clients, hold_ms, think_ms, CHEAP_US);
  w.latency_us = latency_us;
  w.ttl_ms = LONG_TTL_MS;
  return w;
}

/* Its rate, in percent of the ideal. */
static int percent(struct world w, int seconds) {
  double ideal = A_SECOND / (1000.0 * w.hold_ms + 4.5 * (double)w.latency_us);
  seconds = (int)(run(w, seconds) + 0.5);
  printf("    %.2f of the ideal, the longest hand-over %.1f ms, the longest wait %.1f s\n",
         (double)grants * A_SECOND / (double)now_us / ideal, (double)longest_handover_us / 1000,
         (double)longest_wait_us / A_SECOND);
  return (int)(100 * (double)grants * A_SECOND / (double)now_us / ideal);
}

TEST(a_crowd_hands_over_at_once) { /* R26 */
  CHECK(percent(near_or_far(9, 20, 30, NEAR_US), 20) >= 93);
  CHECK(percent(near_or_far(129, 20, 30, NEAR_US), 20) >= 93);
  CHECK(percent(near_or_far(1001, 20, 30, NEAR_US), 20) >= 85);
  CHECK(percent(near_or_far(8, 5, 5, NEAR_US), 20) >= 85);
  CHECK(percent(near_or_far(33, 2, 30, NEAR_US), 10) >= 80);
}

TEST(a_crowd_far_away_hands_over) { /* R26 */
  CHECK(percent(near_or_far(9, 100, 100, 667), 60) >= 90);
  CHECK(percent(near_or_far(9, 100, 100, 13333), 60) >= 70);
  CHECK(percent(near_or_far(129, 100, 100, 13333), 60) >= 40);
}

/* Those who waited together leave one after the other: the last few wait no longer than the
 * first. */
TEST(a_crowd_that_drains_leaves_no_gap) { /* R26 */
  int seed;
  for (seed = 0; seed < 20; seed++) {
    struct world w = near_or_far(32, 2000, ONCE, NEAR_US);
    w.seed = (uint64_t)seed;
    (void)run(w, 300);
    CHECK_EQ(grants, w.clients);
    CHECK(longest_handover_us <= 100000);
  }
  CHECK(percent(near_or_far(128, 20, ONCE, NEAR_US), 60) >= 60);
  CHECK(percent(near_or_far(300, 2, ONCE, NEAR_US), 60) >= 25);
}

TEST(thousands_are_all_served) { /* R9 R26 */
  struct world w = near_or_far(4096, 2, ONCE, NEAR_US);
  CHECK(percent(w, 60) >= 60);
  CHECK_EQ(grants, w.clients);
}

/* It is told after half a round trip, asks for one, and rests for less than two: whatever it has
   waited. */
TEST(a_waiter_that_is_alone_takes_a_free_lock_at_once) { /* R26 */
  int64_t latency_us;
  for (latency_us = NEAR_US; latency_us <= 66667; latency_us *= 10) {
    (void)run(near_or_far(2, 60000, 1000, latency_us), 6000);
    printf("    %.1f ms each way: half of the hand-overs take %.1f ms\n", (double)latency_us / 1000,
           (double)median_handover_us() / 1000);
    CHECK(median_handover_us() <= 7 * latency_us + 2000);
  }
}

/* Whatever is pushed: ten attempts a second of each waiter, of one command for each server. */
TEST(pushes_for_nothing_make_no_storm) { /* R26 */
  static const int every_ms[] = {1, 10, 100};
  size_t i;
  for (i = 0; i < sizeof every_ms / sizeof every_ms[0]; i++) {
    struct world w = near_or_far(9, 100000, 0, NEAR_US);
    w.pushes_ms = every_ms[i];
    (void)run(w, 20);
    CHECK_EQ(grants, 1);
    CHECK(commands <= 20 * 10 * SERVERS * (w.clients - 1));
  }
}

/* Those of one kind: their share of the locks, in percent of a fair one. */
static int fair_percent(const struct share *s, const char *who, int count) {
  double fair = (double)grants * count / world.clients;
  printf("    %d %s: %.2f of a fair share, the longest wait %.1f s\n", count, who,
         (double)s->grants / fair, (double)s->longest_wait_us / A_SECOND);
  return (int)(100 * (double)s->grants / fair);
}

/* Nobody starves: of both kinds none has less than a tenth of its share, nor waits for longer than
   so many turns, and what a lost wake-up costs. */
static void check_shares(struct world w, int seconds, int turns, const char *who) {
  int64_t turn_us = (int64_t)w.clients * 1000 * (w.hold_ms + 1);
  (void)run(w, seconds);
  CHECK(fair_percent(&ours, "of this version", w.clients - w.others) >= 10);
  CHECK(fair_percent(&others, who, w.others) >= 10);
  CHECK(ours.longest_wait_us <= turns * turn_us + 2 * A_SECOND);
  CHECK(others.longest_wait_us <= turns * turn_us + 2 * A_SECOND);
}

/* One is far. If nobody leaves the lock free for its round trip of 80 ms, near ones take it before
   it hears of that; if they do, it gets some of its share. */
TEST(far_clients_get_what_near_ones_leave_free_for_a_round_trip) { /* R26 */
  static const int near[] = {1, 4}, hold_ms[] = {500, 20};
  size_t i;
  for (i = 0; i < 2; i++) {
    struct world w = near_or_far(near[i] + 1, hold_ms[i], 5, 5 * NEAR_US);
    w.others = 1;
    w.others_us = 26667;
    (void)run(w, 300);
    (void)fair_percent(&others, "far, if near ones do not pause", 1);
    w.think_ms = 120;
    check_shares(w, 300, 20, "far, if they do");
  }
}

/* Those poll at 5 to 15 ms, and their values tell no age. Who polls is served by chance. */
TEST(other_libraries_keep_nobody_back) { /* R26 */
  static const int of_both[][2] = {{2, 31}, {8, 1}, {16, 16}};
  size_t i;
  for (i = 0; i < 3; i++) {
    struct world w = near_or_far(of_both[i][0] + of_both[i][1], 20, 5, NEAR_US);
    w.others = of_both[i][1];
    w.poll_ms = 5;
    check_shares(w, 60, 20, "that poll");
    CHECK(ours.grants >= grants * of_both[i][0] / w.clients / 2);
  }
}

/* One waits among many of an earlier version, one of that among many, and as many of both. */
static void check_version(const struct engine *version) {
  static const int of_both[][2] = {{1, 8}, {8, 1}, {16, 16}};
  static const int hold_ms[] = {5, 100, 2000};
  size_t i, k;
  for (i = 0; i < 3; i++)
    for (k = 0; k < 3; k++) {
      struct world w = near_or_far(of_both[i][0] + of_both[i][1], hold_ms[k], 5, NEAR_US);
      w.others = of_both[i][1];
      w.version = version;
      check_shares(w, hold_ms[k] < 1000 ? 60 : 600, 4, version->name);
    }
}

TEST(waiters_of_earlier_versions_share_with_todays) { /* R26 */
  if (!engine_1_0.name) SKIP("no history of git here: the earlier headers are in it");
  check_version(&engine_1_2);
  check_version(&engine_1_1);
  check_version(&engine_1_0);
}
