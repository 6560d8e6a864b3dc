/* exit.h: read before each file that `make coverage` compiles. A process that ends with _exit, as
 * a forked one does, loses what it has counted: so it is written out first. */
#include <unistd.h>

void __gcov_dump(void);

static inline void coverage_exit(int status) {
  __gcov_dump();
  _exit(status);
}

#define _exit coverage_exit
