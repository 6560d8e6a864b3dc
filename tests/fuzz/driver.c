/* driver.c: main for a target in `make test`, with any compiler: program [FILE...]. Each line of
 * the files, of FUZZ_CORPUS when none is named, is an input as pack writes it, and one test. */
#include "fuzz.h"

#include <string.h>

static int replayed;

/* In memory of its own size: reading past its end is seen. */
static void run(const char *bytes, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) abort();
  memcpy(copy, bytes, size);
  (void)LLVMFuzzerTestOneInput(copy, size);
  free(copy);
}

/* A line, into its own place; how many bytes it is. */
static size_t unpack(char *line) {
  const char *from = line;
  char *to = line;
  while (*from && *from != '\n') {
    if (*from == '\\') { /* and a zero, and three digits */
      *to++ = (char)((from[2] - '0') * 64 + (from[3] - '0') * 8 + (from[4] - '0'));
      from += 5;
    } else {
      *to++ = *from++;
    }
  }
  return (size_t)(to - line);
}

static void replay(const char *path) {
  static char line[1 << 16];
  FILE *file = fopen(path, "r");
  int number = 0;
  if (!file) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(2);
  }
  while (fgets(line, sizeof line, file)) {
    printf("  ok    %s:%d", path, ++number); /* its end follows when that is so */
    fflush(stdout);
    run(line, unpack(line));
    puts("");
    replayed++;
  }
  fclose(file);
}

int main(int argc, char **argv) {
  int i;
  for (i = 1; i < argc; i++) replay(argv[i]);
  if (argc < 2) replay(FUZZ_CORPUS);
  printf("%d passed, 0 failed\n", replayed);
  return replayed == 0;
}
