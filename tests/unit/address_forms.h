/* address_forms.h: one address has many spellings, and is refused in each of them (R5). Two
 * programs run these tests: with names looked up, and with numeric addresses alone. */
#ifndef ADDRESS_FORMS_H
#define ADDRESS_FORMS_H

#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#include "../check_main.h"
#include "../inside.h"

#include <arpa/inet.h>

static redlock rl;

static void are_one(const char *list) {
  if (!CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_INVALID)) printf("    of %s\n", list);
  CHECK(strstr(redlock_server_error(&rl, 1), "twice") != NULL);
}

static void are_others(const char *list) {
  if (!CHECK_EQ(redlock_init(&rl, list, NULL), REDLOCK_OK)) printf("    of %s\n", list);
  redlock_close(&rl);
}

TEST(an_ipv4_address_as_ipv6) { /* R5 */
  are_one("127.0.0.1:7001,[::ffff:127.0.0.1]:7001");
  are_one("[::ffff:127.0.0.1]:7001,127.0.0.1:7001");
  are_one("[::ffff:7f00:1]:7001,127.0.0.1:7001");
  are_one("10.0.0.1,[::FFFF:10.0.0.1]");
  are_others("127.0.0.1:7001,[::ffff:127.0.0.1]:7002");
  are_others("127.0.0.1:7001,[::ffff:127.0.0.2]:7001");
}

TEST(zeros_and_cases) { /* R5 */
  are_one("[::1]:7001,[0::1]:7001");
  are_one("[::1]:7001,[0:0:0:0:0:0:0:1]:7001");
  are_one("[fd00::a],[fd00:0::A]");
  are_others("[::1]:7001,[::2]:7001");
}

TEST(no_address_in_particular_is_this_machine) { /* R5 */
  are_one("127.0.0.1:7001,0.0.0.0:7001");
  are_one("[::1]:7001,[::]:7001");
  are_one("0.0.0.0:7001,[::ffff:0.0.0.0]:7001");
  are_others("127.0.0.2:7001,0.0.0.0:7001");
}

/* Only an address of one link has a scope. */
TEST(a_scope_makes_no_other_address) { /* R5 */
#ifndef REDLOCK_NO_DNS
  are_one("[::1%1]:7001,[::1]:7001");
  are_one("[::ffff:127.0.0.1%1]:7001,127.0.0.1:7001");
  are_one("[fec0::1%1]:7001,[fec0::1]:7001");
  are_one("[fe80::1%1]:7001,[fe80::1%1]:7001");
  are_others("[fe80::1%1]:7001,[fe80::1%2]:7001");
  are_others("[febf::1%1]:7001,[febf::1%2]:7001");
#endif
}

/* What was understood is what is connected to. */
static void is_written_as_read(const void *address, size_t size) {
  unsigned char again[sizeof(struct sockaddr_storage)];
  CHECK_EQ(inside_respell(again, address, size), size);
  CHECK(memcmp(address, again, size) == 0);
}

TEST(an_address_is_written_as_it_was_read) {
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  memset(&v4, 0, sizeof v4);
  memset(&v6, 0, sizeof v6);
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  v4.sin_port = v6.sin6_port = htons(7001);
  CHECK_EQ(inet_pton(AF_INET, "203.0.113.254", &v4.sin_addr), 1);
  CHECK_EQ(inet_pton(AF_INET6, "fd00::a", &v6.sin6_addr), 1);
  is_written_as_read(&v4, sizeof v4);
  is_written_as_read(&v6, sizeof v6);
}

#endif
