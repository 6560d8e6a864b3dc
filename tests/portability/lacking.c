/* lacking.c: nobody listens on these ports. To find that out takes a clock, entropy, sockets and
 * poll; a ttl of 13 ms is too short where the clock's steps are of 10. */
#define REDLOCK_NO_DNS
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include <stdio.h>

int main(void) {
  static redlock client;
  static redlock_lock lock;
  if (redlock_init(&client, "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", NULL)) return 1;
  printf("%s\n", redlock_strerror(redlock_acquire(&client, &lock, "lacking", 13, 100)));
  redlock_close(&client);
  return 0;
}
