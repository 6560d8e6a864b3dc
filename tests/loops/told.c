/* told.c: a program linked with it and count.c tells at its end how often it called recv. */
#include "tests/bench/count.h"

#include <stdio.h>

__attribute__((destructor)) static void tell(void) { printf("%ld recv\n", counts[COUNT_RECV]); }
