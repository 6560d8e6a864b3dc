// guard.cpp: examples/guard.hpp on real servers; guard.sh builds it in each C++ that it promises.
#define TESTS_LINK
#include "tests/redis/real.h"

#include "examples/guard.hpp"

#include <stdexcept>
#include <vector>

enum { N = 3 };

static redlock client;

static redlock_guard take(const char *resource) {
  return redlock_guard(&client, resource, REAL_TTL_MS, REAL_WAIT_MS);
}

static int keys(const char *resource, int wanted) {
  return real_keys_settle(&client, N, resource, wanted);
}

static int can_be_taken(const char *resource) {
  return redlock_guard(&client, resource, REAL_TTL_MS, 0) ? 1 : 0;
}

static void it_is_held_until_its_scope_ends() {
  {
    redlock_guard guard = take("r");
    CHECK(guard && guard.remaining_ms() > 0 && guard.remaining_ms() <= REAL_TTL_MS);
    CHECK_EQ(guard.status(), REDLOCK_OK);
    CHECK(!can_be_taken("r"));
    CHECK_EQ(guard.extend(2 * REAL_TTL_MS), REDLOCK_OK);
    CHECK(guard.remaining_ms() > REAL_TTL_MS);
  }
  CHECK_EQ(keys("r", 0), 0);
}

static void one_that_is_taken_says_so() {
  redlock_guard first = take("r"), second(&client, "r", REAL_TTL_MS, 0), none(&client, "", 1, 0);
  CHECK(!second && second.status() == REDLOCK_TAKEN && second.remaining_ms() == 0);
  CHECK_EQ(second.release(), REDLOCK_INVALID);
  CHECK(first && first.release() == REDLOCK_OK && first.status() == REDLOCK_OK);
  CHECK(!first && first.release() == REDLOCK_EXPIRED);
  CHECK(!none && none.status() == REDLOCK_INVALID);
}

static void it_says_when_its_time_is_over() {
  redlock_guard guard(&client, "r", 1000, REAL_WAIT_MS);
  while (guard) poll(nullptr, 0, 10);
  CHECK_EQ(guard.status(), REDLOCK_EXPIRED);
  (void)guard.release(); // its keys may still be there, or not
  CHECK_EQ(take("r").release(), REDLOCK_OK);
}

/* What was refused or moved away has nothing to release, and says nothing of that. */
static void the_reason_outlives_the_guard() {
  redlock_guard to;
  {
    redlock_guard from = take("r");
    to = std::move(from);
    redlock_guard none(&client, "", REAL_TTL_MS, 0);
    CHECK(to && !from && !none);
  }
  CHECK(strcmp(redlock_server_error(&client, -1), "resource is empty") == 0);
}

static void an_exception_releases_it() {
  int caught = 0;
  try {
    redlock_guard guard = take("r");
    throw std::runtime_error("work");
  } catch (const std::runtime_error &) {
    caught = 1;
  }
  CHECK(caught);
  CHECK_EQ(keys("r", 0), 0);
}

static void it_moves_and_what_it_held_is_released() {
  redlock_guard to, from = take("r");
  CHECK(!to && to.status() == REDLOCK_INVALID && to.release() == REDLOCK_INVALID);
  to = std::move(from);
  CHECK(to && !from && from.status() == REDLOCK_INVALID);
  CHECK(!can_be_taken("r"));
  to = take("s");
  CHECK(to);
  CHECK_EQ(keys("r", 0), 0);
  to = redlock_guard();
  CHECK_EQ(keys("s", 0), 0);
}

static void many_stand_in_a_vector_and_are_kept() {
  std::vector<redlock_guard> all;
  int i;
  for (i = 0; i < 9; i++) {
    char name[16];
    snprintf(name, sizeof name, "many%d", i);
    all.push_back(take(name));
    CHECK_EQ(redlock_keep(&client, all.back().get(), 0), REDLOCK_OK);
  }
  for (i = 0; i < 9; i++) CHECK(all[size_t(i)]);
  all.clear();
  CHECK_EQ(keys("many0", 0), 0);
}

static void tests() {
  real_open(&client, N, REAL_PATIENT_MS);
  RUN(it_is_held_until_its_scope_ends);
  RUN(one_that_is_taken_says_so);
  RUN(it_says_when_its_time_is_over);
  RUN(the_reason_outlives_the_guard);
  RUN(an_exception_releases_it);
  RUN(it_moves_and_what_it_held_is_released);
  RUN(many_stand_in_a_vector_and_are_kept);
  redlock_close(&client);
}

int main(int argc, char **argv) { return real_main(argc, argv, N, tests); }
