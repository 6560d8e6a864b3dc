/* spellings.h: one address has many spellings, and is refused in each of them (R5). Two programs
 * run these tests: with names looked up, and with numeric addresses alone. */
#ifndef SPELLINGS_H
#define SPELLINGS_H

#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check.h"

static redlock rl;

static void are_one(const char *list) {
  if (!CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_INVALID)) printf("    of %s\n", list);
  CHECK(strstr(redlock_server_error(&rl, 1), "twice") != NULL);
}

static void are_others(const char *list) {
  if (!CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_OK)) printf("    of %s\n", list);
  redlock_close(&rl);
}

static void an_ipv4_address_as_ipv6(void) { /* R5 */
  are_one("127.0.0.1:7001,[::ffff:127.0.0.1]:7001");
  are_one("[::ffff:127.0.0.1]:7001,127.0.0.1:7001");
  are_one("[::ffff:7f00:1]:7001,127.0.0.1:7001");
  are_one("10.0.0.1,[::FFFF:10.0.0.1]");
  are_others("127.0.0.1:7001,[::ffff:127.0.0.1]:7002");
  are_others("127.0.0.1:7001,[::ffff:127.0.0.2]:7001");
}

static void zeros_and_cases(void) { /* R5 */
  are_one("[::1]:7001,[0::1]:7001");
  are_one("[::1]:7001,[0:0:0:0:0:0:0:1]:7001");
  are_one("[fd00::a],[fd00:0::A]");
  are_others("[::1]:7001,[::2]:7001");
}

static void no_address_in_particular_is_this_machine(void) { /* R5 */
  are_one("127.0.0.1:7001,0.0.0.0:7001");
  are_one("[::1]:7001,[::]:7001");
  are_one("0.0.0.0:7001,[::ffff:0.0.0.0]:7001");
  are_others("127.0.0.2:7001,0.0.0.0:7001");
}

/* Only an address of one link has a scope. */
static void a_scope_makes_no_other_address(void) { /* R5 */
#ifndef REDLOCK_NO_DNS
  are_one("[::1%1]:7001,[::1]:7001");
  are_one("[::ffff:127.0.0.1%1]:7001,127.0.0.1:7001");
  are_one("[fec0::1%1]:7001,[fec0::1]:7001");
  are_one("[fe80::1%1]:7001,[fe80::1%1]:7001");
  are_others("[fe80::1%1]:7001,[fe80::1%2]:7001");
#endif
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  RUN(an_ipv4_address_as_ipv6);
  RUN(zeros_and_cases);
  RUN(no_address_in_particular_is_this_machine);
  RUN(a_scope_makes_no_other_address);
  return check_end();
}

#endif
