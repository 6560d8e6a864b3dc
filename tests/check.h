/* check.h: the whole test harness. One test program = its tests, and check_main.h for its main,
 * which runs them in the order in which they stand:
 *
 *   TEST(adds) { CHECK(1 + 1 == 2); }
 *
 * Or it has a main of its own, between check_start and check_end: that may call RUN for a function.
 * A failed CHECK prints where and goes on; a test with a failed CHECK counts once as failed.
 * SKIP("why") inside a test counts it as skipped and says why. Program arguments, if any, name the
 * tests to run. The last line is "N passed, N failed" or "N passed, N failed, N skipped". */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static struct {
  int passed, failed, skipped;
  int bad;                /* failed checks in the test that is running */
  const char *skip;       /* why the test that is running is skipped, or NULL */
  void (*before)(void), (*after)(void); /* around each test, if set */
  int argc;
  char **argv;
} check;

#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b) check_equal((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
#define SKIP(reason) do { check.skip = (reason); return; } while (0)
#define RUN(test) check_run(#test, test)

static int check_that(int good, const char *text, const char *file, int line) {
  if (!good) {
    check.bad++;
    printf("    %s:%d: failed: %s\n", file, line, text);
  }
  return good;
}

static int check_equal(long long a, long long b, const char *text, const char *file, int line) {
  if (a != b) printf("    %s:%d: %lld is not %lld\n", file, line, a, b);
  return check_that(a == b, text, file, line);
}

static int check_wanted(const char *name) {
  int i;
  if (check.argc < 2) return 1;
  for (i = 1; i < check.argc; i++)
    if (strcmp(check.argv[i], name) == 0) return 1;
  return 0;
}

static void check_run(const char *name, void (*test)(void)) {
  if (!check_wanted(name)) return;
  check.bad = 0;
  check.skip = NULL;
  if (check.before) check.before();
  test();
  if (check.after) check.after();
  if (check.bad) {
    check.failed++;
    printf("  FAIL  %s\n", name);
  } else if (check.skip) {
    check.skipped++;
    printf("  skip  %s: %s\n", name, check.skip);
  } else {
    check.passed++;
    printf("  ok    %s\n", name);
  }
  fflush(stdout);
}

/* Each TEST fills in the next of these places; one too many does not compile. (C++ declares nothing
   twice, and uses RUN.) */
#ifndef __cplusplus
struct check_test {
  const char *name;
  void (*run)(void);
};

#define CHECK_TEN(each, tens) \
  each(tens##0) each(tens##1) each(tens##2) each(tens##3) each(tens##4) \
  each(tens##5) each(tens##6) each(tens##7) each(tens##8) each(tens##9)
#define CHECK_PLACES(each) \
  CHECK_TEN(each, ) CHECK_TEN(each, 1) CHECK_TEN(each, 2) CHECK_TEN(each, 3) CHECK_TEN(each, 4)
#define CHECK_DECLARE(place) static const struct check_test check_test_##place;
#define CHECK_LIST(place) &check_test_##place,

CHECK_PLACES(CHECK_DECLARE)

#define TEST(name) CHECK_NEXT(name, __COUNTER__)
#define CHECK_NEXT(name, place) CHECK_AT(name, place)
#define CHECK_AT(name, place) \
  typedef char there_is_a_place_for_##name[(place) < 50 ? 1 : -1]; \
  static void name(void); \
  static const struct check_test check_test_##place = {#name, name}; \
  static void name(void)

/* Runs every TEST. */
static inline void check_all(void) {
  static const struct check_test *const tests[] = {CHECK_PLACES(CHECK_LIST) NULL};
  int i;
  for (i = 0; tests[i]; i++)
    if (tests[i]->run) check_run(tests[i]->name, tests[i]->run);
}
#endif

static void check_start(int argc, char **argv) {
  check.argc = argc;
  check.argv = argv;
  setvbuf(stdout, NULL, _IOLBF, 0);
}

static int check_end(void) {
  if (check.argc > 1 && check.passed + check.failed + check.skipped == 0) {
    check.failed = 1;
    puts("  FAIL  no test has such a name");
  }
  printf("%d passed, %d failed", check.passed, check.failed);
  if (check.skipped) printf(", %d skipped", check.skipped);
  puts("");
  (void)check_equal;
  return check.failed != 0;
}

#endif
