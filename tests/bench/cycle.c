/* cycle CYCLES [W]: lock and release against servers that say yes, for a profiler to look at.
 * Without W by the blocking calls, one at a time; with W by the stepping ones, so many in flight.
 * What begins with wire_ is the servers': the script `instructions` counts only the library's. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#define WIRE_BYTES 65536 /* a send with a large ring may have half of it */
#include "tests/unit/recording_io.h"

#include <stdio.h>

enum { TTL_MS = 10000, WIDTH = 256 };

static redlock client;

static int one_at_a_time(long cycles) {
  redlock_lock lock;
  for (; cycles > 0; cycles--)
    if (redlock_acquire(&client, &lock, "invoice:42", TTL_MS, 0) != REDLOCK_OK ||
        redlock_release(&client, &lock) != REDLOCK_OK)
      return 1;
  return 0;
}

static int in_flight(long cycles, long width) {
  static redlock_lock locks[WIDTH];
  static char names[WIDTH][16];
  long i;
  for (i = 0; i < width; i++) {
    snprintf(names[i], sizeof names[i], "invoice:%ld", i);
    redlock_start_acquire(&client, &locks[i], names[i], TTL_MS, 0);
  }
  while (cycles > 0) {
    redlock_lock *lock = redlock_wait(&client, -1);
    if (!lock) continue;
    if (lock->status != REDLOCK_OK) return 1;
    cycles -= lock->operation == REDLOCK_RELEASE;
    if (lock->operation == REDLOCK_ACQUIRE) redlock_start_release(&client, lock);
    else redlock_start_acquire(&client, lock, names[lock - locks], TTL_MS, 0);
  }
  return 0;
}

int main(int argc, char **argv) {
  long cycles = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
  long width = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
  redlock_options options = {0};
  wire_reset();
  wire.forgets = 1;
  wire.hello = "%4\r\n$6\r\nserver\r\n$5\r\nredis\r\n" /* it knows DELEX: */
               "$7\r\nversion\r\n$5\r\n8.4.0\r\n"
               "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";
  options.io = &wire.io;
  if (width < 0 || width > WIDTH || redlock_init(&client, "a,b,c,d,e", &options)) return 1;
  return width ? in_flight(cycles, width) : one_at_a_time(cycles);
}
