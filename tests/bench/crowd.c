/* crowd: 10 000 locks in flight on one client and one thread, against 256, with a ring with room
 * for all of them. Nothing that a step does may walk all locks: that is what the ratio shows. */
#define REDLOCK_MAX_COMMANDS 32768
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

enum { FEW = 256, MANY = 10000 };
#define IN_FLIGHT MANY
#include "tests/bench/in_flight.h"

enum { TURN_MS = 1000 }; /* each of the many locks goes round about ten times */

/* Cycles a second with so many in flight. */
static double rate_of(int width) {
  int64_t start, cycles;
  servers_heal(&set);
  client_open(width);
  (void)client_run(bench_ns() + 5 * (int64_t)WARM_UP_NS);
  start = bench_ns();
  cycles = client_run(start + (int64_t)TURN_MS * 1000000);
  bench_say(".");
  start = bench_ns() - start;
  redlock_close(&client);
  return (double)cycles * 1e9 / (double)start;
}

int main(void) {
  static struct series few, many, ratio;
  int round;
  bench_servers(&set, BENCH_SERVERS);
  bench_say("Ten thousand locks in flight, with a ring of %d commands ", REDLOCK_MAX_COMMANDS);
  for (round = 0; round < bench_rounds(); round++) {
    double least = rate_of(FEW), most = rate_of(MANY);
    series_add(&few, least);
    series_add(&many, most);
    series_add(&ratio, most / least);
  }
  bench_head("");
  series_row("256 in flight, cycles a second", &few, "");
  series_row("10 000 in flight, cycles a second", &many, "");
  series_row("10 000 in flight, of 256", &ratio, bench_met(series_median(&ratio) >= 0.6));
  servers_stop(&set);
  return 0;
}
