/* bugs_of_other_libraries.c: tests of what other Redlock clients get wrong. The whole list is
 * bugs_of_other_libraries.txt, with the test of each bug; those that no other test is about are
 * here. */
#include "fixture.h"

TEST(a_lost_lock_stays_lost_and_anothers_key_as_it_is) { /* R18 R19 R22 */
  int i;
  world_with_lock(3, 10000);
  run_for(2);
  forget_key(0, 2, "r");
  occupy(0, 2, "r", 100);
  CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_EXPIRED);
  CHECK(redlock_extend(&rl, &lock, 10000) != REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  CHECK(keys_are(0, 2, "r", "foreign"));
  for (i = 0; i < 3; i++) CHECK(fake_pttl(&fake, i, "r") <= 100);
}

TEST(retries_and_extensions_keep_the_ttl) { /* R1 R18 */
  int k;
  prepare(3);
  options.max_attempts = 4;
  ready_and_warm();
  fake_answer(&fake, FAKE_ANY, FAKE_SET, 9, "-LOADING\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "r", 10000, REDLOCK_FOREVER), REDLOCK_OK);
  for (k = 0; k < 4; k++) CHECK_EQ(fake_nth(&fake, 0, FAKE_SET, k)->ttl_ms, 10000);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(10000) - 1);
  for (k = 0; k < 4; k++) CHECK_EQ(redlock_extend(&rl, &lock, 10000), REDLOCK_OK);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), VALID(10000) - 1);
}

TEST(an_attempt_with_an_error_is_rolled_back) { /* R7 */
  world(5);
  fake_answer(&fake, 1, FAKE_SET, 1, "-LOADING\r\n");
  take_and_release("r", 60000);
  occupy(2, 3, "s", 60000);
  fake_answer(&fake, 1, FAKE_SET, 1, "-LOADING\r\n");
  CHECK_EQ(redlock_acquire(&rl, &lock, "s", 60000, 0), REDLOCK_TAKEN);
  run_for(5);
  CHECK_EQ(fake_live_keys(&fake), 2);
}

/* Whether a line of the file begins with the text. */
static int has_line(const char *path, const char *text) {
  char line[256];
  int found = 0;
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  while (!found && fgets(line, sizeof line, file)) found = !strncmp(line, text, strlen(text));
  fclose(file);
  return found;
}

/* In the folder that the tests are run from, the repository's. */
TEST(each_bug_has_its_test) {
  char line[256], program[64], test[64], path[80], head[80];
  FILE *list = fopen("tests/fake/bugs_of_other_libraries.txt", "r");
  int found = 0;
  while (list && fgets(line, sizeof line, list)) {
    if (sscanf(line, "  %63s %63s", program, test) != 2 || line[0] != ' ') continue;
    snprintf(path, sizeof path, "tests/%s.c", program);
    snprintf(head, sizeof head, "TEST(%s)", test);
    if (!CHECK(has_line(path, head))) printf("    %s has no %s\n", path, head);
    found++;
  }
  if (list) fclose(list);
  CHECK(found >= 40);
}
