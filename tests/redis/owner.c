/* owner.c: whose key it is: extensions and releases touch their own value alone, which is random.
 * The scripts of the fakes answer as those of real servers do: tests/sim/conformance.c. */
#include "fixture.h"

enum { N = 3 };

static void begin_held(void) {
  real_open(&rl, N, REAL_PATIENT_MS);
  real_hold(&rl, &lock, N, "r");
}

static void servers_have(int count, const char *value) {
  int i;
  for (i = 0; i < count; i++) CHECK(strcmp(server_command(&real.at[i], "GET r"), value) == 0);
}

TEST(an_extension_leaves_anothers_key_alone) { /* R18 R19 */
  begin_held();
  servers_command(&real, N, "SET r other PX 5000");
  CHECK_EQ(redlock_extend(&rl, &lock, 10 * REAL_TTL_MS), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  servers_have(N, "other");
  CHECK(server_number(&real.at[0], "PTTL r") <= 5000);
}

TEST(an_extension_creates_no_key) { /* R19 */
  begin_held();
  servers_command(&real, 1, "DEL r");
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_OK);
  servers_command(&real, N, "DEL r");
  CHECK_EQ(redlock_extend(&rl, &lock, REAL_TTL_MS), REDLOCK_EXPIRED);
  CHECK_EQ(redlock_remaining_ms(&rl, &lock), 0);
  servers_have(N, "(nil)");
}

TEST(a_release_leaves_anothers_key_alone) { /* R21 */
  int lost;
  for (lost = 1; lost <= N; lost += N - 1) {
    begin_held();
    servers_command(&real, lost, "SET r other");
    CHECK_EQ(redlock_release(&rl, &lock), lost == 1 ? REDLOCK_OK : REDLOCK_EXPIRED);
    CHECK_EQ(real_keys_settle(&rl, N, "r", lost), lost);
    servers_have(lost, "other");
    redlock_close(&rl);
    heal();
  }
}

TEST(each_value_is_new_and_of_20_bytes) { /* R3 */
  char first[sizeof lock.value];
  begin_held();
  CHECK_EQ(server_number(&real.at[0], "STRLEN r"), 20);
  memcpy(first, lock.value, sizeof first);
  CHECK_EQ(redlock_release(&rl, &lock), REDLOCK_OK);
  real_hold(&rl, &lock, N, "r");
  CHECK(memcmp(first, lock.value, sizeof first) != 0);
}

int main(int argc, char **argv) { return fixture_main(argc, argv, N); }
