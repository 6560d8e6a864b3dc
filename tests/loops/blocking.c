/* blocking SERVERS CYCLES: what examples/loops do, by the blocking calls. */
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

static redlock client;

#include "examples/loops/cycles.h"

static void end_loop(void) {}

int main(int argc, char **argv) {
  long wanted;
  if (!begin(argc, argv, NULL)) return 1;
  (void)redlock_cancel(&client, &lock); /* which begin started */
  for (wanted = left + 1; granted + refused < wanted;) {
    int taken = redlock_acquire(&client, &lock, "loop", TTL_MS, WAIT_MS) == REDLOCK_OK;
    granted += taken;
    refused += !taken;
    if (taken) (void)redlock_release(&client, &lock);
  }
  (void)on_decided;
  return end();
}
