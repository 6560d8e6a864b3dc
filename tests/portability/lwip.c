/* lwip.c: examples/bare_metal.c on lwIP itself. */
#include "examples/bare_metal.c"

#include "tests/portability/lwip_toys.h"

/* NOT RANDOM: no board may do this. */
int board_random(void *data, size_t size) {
  static uint32_t state = 1;
  unsigned char *to = (unsigned char *)data;
  while (size--) *to++ = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
  return 0;
}
