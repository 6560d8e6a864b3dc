/* lwip.c: examples/bare_metal.c on lwIP itself. */
#include "examples/bare_metal.c"

#include "tests/portability/lwip_toys.h"
