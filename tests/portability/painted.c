/* painted.c: how much of the stack examples/bare_metal.c really takes. It fills what lies below
 * with a pattern, works on toy servers, some of which go, and looks how far down the pattern is
 * gone. */
#define main board_main /* it is not called */
#include "tests/portability/board.c"
#undef main

enum { PAINTED_BYTES = 8192, PATTERN = 0xa5, TURNS_PAINTED = 20 };

static uintptr_t bottom;

__attribute__((noinline)) static void paint(void) {
  volatile unsigned char below[PAINTED_BYTES];
  size_t i;
  for (i = 0; i < sizeof below; i++) below[i] = PATTERN;
  bottom = (uintptr_t)below;
}

__attribute__((noinline)) static size_t bytes_used(void) {
  const volatile unsigned char *at = (const volatile unsigned char *)bottom;
  size_t kept = 0;
  while (kept < PAINTED_BYTES && at[kept] == PATTERN) kept++;
  return PAINTED_BYTES - kept;
}

/* With GREEDY it takes so much more, which the call graph of a build without it does not know. */
static void use_valve(int64_t remaining_ms) {
#ifdef GREEDY
  volatile unsigned char more[GREEDY];
  size_t i;
  for (i = 0; i < sizeof more; i++) more[i] = 0;
#endif
  toys_work(remaining_ms);
}

/* Nothing here prints: libc would take more than all of it. True if each turn went as it must on
 * the servers that were up. */
__attribute__((noinline)) static int work(void) {
  static redlock_lock other;
  int i, right = 0;
  (void)start_client("10.0.0.1:7001,10.0.0.1:7002,10.0.0.1:7003");
  for (i = 0; i < TURNS_PAINTED; i++) {
    toys[0].down = i > 5;
    toys[1].down = i > 10 && i < 15;
    right += (turn_valve(use_valve) == REDLOCK_OK) == !(toys[0].down && toys[1].down);
    (void)redlock_acquire(&client, &lock, "valve:7", 5000, 0);
    (void)redlock_acquire(&client, &other, "valve:7", 5000, 0);
    (void)redlock_extend(&client, &lock, 5000);
    (void)redlock_release(&client, &lock);
  }
  redlock_close(&client);
  return right == TURNS_PAINTED;
}

/* 0 bytes if it did not do its work. */
int main(void) {
  int done = work(); /* once before, for what the first call of libc's functions takes */
  paint();
  done = work() && done;
  printf("%d\n", done ? (int)bytes_used() : 0);
  return 0;
}
