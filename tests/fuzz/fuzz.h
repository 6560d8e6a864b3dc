/* fuzz.h: what the fuzz targets share. A target is one program with LLVMFuzzerTestOneInput, linked
 * with libFuzzer, or with driver.c, which replays files and needs nothing. A breach ends it. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_CHECK(truth) ((truth) ? (void)0 : fuzz_fail(#truth, __FILE__, __LINE__))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
  long executions, events; /* what was done, told at the end */
  int traces;              /* FUZZ_TRACE is set: each event is told */
} fuzz;

static inline void fuzz_tell(void) {
  fprintf(stderr, "\nfuzzed: %ld executions, %ld events\n", fuzz.executions, fuzz.events);
}

static inline void fuzz_fail(const char *truth, const char *file, int line) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, truth);
  fuzz_tell();
  abort();
}

static inline void fuzz_count(void) {
  if (fuzz.executions++ > 0) return;
  fuzz.traces = getenv("FUZZ_TRACE") != NULL;
  atexit(fuzz_tell);
}

/* The input, byte by byte; 0 when it is over. */
struct fuzz_input {
  const uint8_t *at, *end;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in) { return in->at < in->end ? *in->at++ : 0; }

#endif
