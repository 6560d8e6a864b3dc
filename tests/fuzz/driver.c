/* driver.c: main for a target where there is no libFuzzer, and for `make test`.
 *
 *   program [-runs=N] [-max_total_time=S] [-seed=N] [-max_len=N] [FILE or FOLDER...]
 *
 * Replays the files, FUZZ_CORPUS when none is named: each is one test, and so is each line of one
 * whose name ends with .txt (see pack). With -runs or -max_total_time it then goes on with random
 * changes of them, and with random bytes. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FILES = 4096, MOST = 4096 };

static struct {
  uint8_t *bytes;
  size_t size;
} file[FILES];
static int files;
static long done;
static uint64_t seed = 1;
static size_t most = 128;

static uint32_t draw(uint32_t below) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((seed >> 33) % below);
}

/* In memory of its own size: reading past its end is seen. */
static void run(const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) abort();
  memcpy(copy, bytes, size);
  (void)LLVMFuzzerTestOneInput(copy, size);
  done++;
  free(copy);
}

/* line: where it stands in the file; 0 = it is all of it. */
static void replay(const char *path, int line, const uint8_t *bytes, size_t size) {
  if (files == FILES) abort();
  printf("  ok    %s", path); /* its end follows when that is so */
  if (line) printf(":%d", line);
  fflush(stdout);
  run(bytes, size);
  puts("");
  file[files].bytes = malloc(size ? size : 1);
  if (!file[files].bytes) abort();
  memcpy(file[files].bytes, bytes, size);
  file[files++].size = size;
}

/* A line as pack writes it, into its own place; how many bytes it is. */
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

static int is_packed(const char *path) {
  size_t size = strlen(path);
  return size > 4 && strcmp(path + size - 4, ".txt") == 0;
}

static void replay_file(const char *path) {
  static char bytes[1 << 16];
  FILE *f = fopen(path, "rb");
  int line = 0;
  if (!f) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(2);
  }
  if (!is_packed(path)) replay(path, 0, (uint8_t *)bytes, fread(bytes, 1, sizeof bytes, f));
  else while (fgets(bytes, sizeof bytes, f)) replay(path, ++line, (uint8_t *)bytes, unpack(bytes));
  fclose(f);
}

static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A file, or all files of a folder, in order. */
static void replay_all(const char *path) {
  static char *name[FILES];
  DIR *dir = opendir(path);
  struct dirent *entry;
  int i, names = 0;
  if (!dir) {
    replay_file(path);
    return;
  }
  while ((entry = readdir(dir)) && names < FILES) {
    size_t size = strlen(path) + strlen(entry->d_name) + 2;
    if (entry->d_name[0] == '.') continue;
    name[names] = malloc(size);
    if (!name[names]) abort();
    snprintf(name[names++], size, "%s/%s", path, entry->d_name);
  }
  closedir(dir);
  qsort(name, (size_t)names, sizeof *name, compare);
  for (i = 0; i < names; i++) {
    replay_file(name[i]);
    free(name[i]);
  }
}

/* Random bytes, behind the beginning of a known file two times of three. */
static void run_random(void) {
  uint8_t bytes[MOST];
  size_t i, size = draw((uint32_t)most) + 1, kept = 0;
  if (files && draw(3)) {
    int which = (int)draw((uint32_t)files);
    kept = file[which].size < most ? file[which].size : most;
    memcpy(bytes, file[which].bytes, kept);
    if (kept > size) size = kept;
    if (draw(2) && kept) kept = draw((uint32_t)kept);
  }
  for (i = kept; i < size; i++) bytes[i] = (uint8_t)draw(256);
  for (i = draw(4); i > 0; i--) bytes[draw((uint32_t)size)] ^= (uint8_t)(1u << draw(8));
  run(bytes, size);
}

static void go_on(long runs, long seconds) {
  time_t begin = time(NULL), said = begin;
  while ((runs == 0 || done < runs)) {
    time_t now = time(NULL);
    if (seconds && now - begin >= seconds) break;
    run_random();
    if (now - said < 10) continue;
    fprintf(stderr, "#%ld\n", done);
    said = now;
  }
}

static int is_option(const char *argument, const char *name, long *value) {
  size_t size = strlen(name);
  if (strncmp(argument, name, size) != 0) return 0;
  *value = strtol(argument + size, NULL, 10);
  return 1;
}

int main(int argc, char **argv) {
  long runs = 0, seconds = 0, value;
  int i, named = 0;
  for (i = 1; i < argc; i++) {
    if (is_option(argv[i], "-runs=", &value)) runs = value;
    else if (is_option(argv[i], "-max_total_time=", &value)) seconds = value;
    else if (is_option(argv[i], "-seed=", &value)) seed = (uint64_t)value;
    else if (is_option(argv[i], "-max_len=", &value)) most = value < MOST ? (size_t)value : MOST;
    else if (argv[i][0] != '-') named = 1, replay_all(argv[i]);
  }
  if (!named) replay_all(FUZZ_CORPUS);
  if (runs || seconds) go_on(runs, seconds);
  for (i = 0; i < files; i++) free(file[i].bytes);
  printf("%d passed, 0 failed\n", files);
  return files == 0;
}
