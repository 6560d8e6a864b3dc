/* work.c: what many.c counts: the compiler calls this at the beginning of each basic block. */
#include "work.h"

long work_done;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { work_done++; }
