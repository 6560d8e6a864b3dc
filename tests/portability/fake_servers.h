/* fake_servers.h: servers that know one key, for running examples/bare_metal.c where there is no
 * Redis, and what it has to do on them. */
#ifndef FAKE_SERVERS_H
#define FAKE_SERVERS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct toy {
  int down, held;
  char owner[20];
  int64_t expires_ms;
  char asked[400], replies[128];
  size_t got, ready; /* bytes of the two */
} toys[REDLOCK_MAX_SERVERS];

static int64_t toys_now_ms(void);

static void toy_reply(struct toy *t, const char *text) {
  memcpy(t->replies + t->ready, text, strlen(text));
  t->ready += strlen(text);
}

/* SET key value PX ttl NX, or EVAL script 1 key value [ttl] */
static void toy_execute(struct toy *t, const char **words, size_t count) {
  int is_set = *words[0] == 'S', ours;
  const char *value;
  if (*words[0] != 'S' && *words[0] != 'E') { /* what the handshake asks: it knows none of it */
    toy_reply(t, "-ERR unknown command\r\n");
    return;
  }
  if (count == 3) { /* EVAL script 0: the handshake's last question */
    toy_reply(t, "+redlock\r\n");
    return;
  }
  value = words[is_set ? 2 : 4];
  if (toys_now_ms() >= t->expires_ms) t->held = 0;
  ours = t->held && memcmp(t->owner, value, sizeof t->owner) == 0;
  if (is_set && !t->held) memcpy(t->owner, value, sizeof t->owner);
  if (is_set) toy_reply(t, t->held ? "$-1\r\n" : "+OK\r\n");
  else toy_reply(t, ours ? ":1\r\n" : "$-1\r\n");
  if (is_set ? !t->held : ours && count == 6) t->expires_ms = toys_now_ms() + 10000;
  t->held = is_set || (t->held && !(ours && count == 5));
}

/* "*3\r\n" or "$20\r\n"; NULL = the rest of it is to come */
static const char *toy_past_number(const char *at, const char *end, size_t *number) {
  for (*number = 0, at++; at < end && *at != '\r'; at++)
    *number = *number * 10 + (size_t)(*at - '0');
  return end - at < 2 ? NULL : at + 2;
}

/* Executes one command if all of it is there. */
static const char *toy_past_command(struct toy *t, const char *at, const char *end) {
  const char *words[8];
  size_t count, length, i;
  at = toy_past_number(at, end, &count);
  for (i = 0; at && i < count; i++) {
    at = toy_past_number(at, end, &length);
    if (!at || (size_t)(end - at) < length + 2) return NULL;
    words[i] = at;
    at += length + 2;
  }
  if (at) toy_execute(t, words, count);
  return at;
}

/* Takes what there is room for; how much. */
static size_t toy_take(struct toy *t, const void *data, size_t size) {
  const char *next;
  if (size > sizeof t->asked - t->got) size = sizeof t->asked - t->got;
  memcpy(t->asked + t->got, data, size);
  t->got += size;
  while (t->got && (next = toy_past_command(t, t->asked, t->asked + t->got)) != NULL) {
    t->got -= (size_t)(next - t->asked);
    memmove(t->asked, next, t->got);
  }
  return size;
}

static size_t toy_give(struct toy *t, void *data, size_t size) {
  if (size > t->ready) size = t->ready;
  memcpy(data, t->replies, size);
  t->ready -= size;
  memmove(t->replies, t->replies + size, t->ready);
  return size;
}

/* NOT RANDOM: no board may do this. */
int board_random(void *data, size_t size);
int board_random(void *data, size_t size) {
  static uint32_t state = 1;
  unsigned char *to = (unsigned char *)data;
  while (size--) *to++ = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
  return 0;
}

/* ---- What is expected ------------------------------------------------------------------------ */

static int toys_failures;
static int toys_worked;

static void toys_expect(const char *what, redlock_status status, redlock_status wanted) {
  printf("%-30s %s\n", what, redlock_strerror(status));
  toys_failures += status != wanted;
}

static void toys_work(int64_t remaining_ms) { toys_worked += remaining_ms > 0; }

enum { TURNS = 1000 };

/* R10: nobody is there from the beginning. The wait ends in time, and not before. */
static void toys_run_alone(const char *servers) {
  int64_t before, took_ms;
  toys_expect("init", start_client(servers), REDLOCK_OK);
  before = toys_now_ms();
  toys_expect("a turn, nobody there", turn_valve(toys_work), REDLOCK_NO_QUORUM);
  took_ms = toys_now_ms() - before;
  printf("  after %d ms\n", (int)took_ms);
  toys_failures += took_ms < 900; /* of 1 000: clocks may be coarse */
  redlock_close(&client);
}

/* `take_down` makes a toy unreachable. Ends with PASS, or FAIL and 1. */
static int toys_run(const char *servers, void (*take_down)(int server)) {
  static redlock_lock other;
  int turns, failed = 0;
  toys_expect("init", start_client(servers), REDLOCK_OK);
  for (turns = 0; turns < TURNS; turns++) failed += turn_valve(toys_work) != REDLOCK_OK;
  printf("%d of %d turns failed\n", failed, TURNS);
  toys_expect("acquire", redlock_acquire(&client, &lock, "valve:7", 5000, 0), REDLOCK_OK);
  toys_expect("acquire it again", redlock_acquire(&client, &other, "valve:7", 5000, 0),
              REDLOCK_TAKEN);
  toys_expect("extend", redlock_extend(&client, &lock, 5000), REDLOCK_OK);
  take_down(0);
  toys_expect("release, one server down", redlock_release(&client, &lock), REDLOCK_OK);
  toys_expect("a turn", turn_valve(toys_work), REDLOCK_OK);
  take_down(1);
  toys_expect("a turn, two servers down", turn_valve(toys_work), REDLOCK_NO_QUORUM);
  redlock_close(&client);
  take_down(2);
  toys_run_alone(servers);
  toys_failures += failed || toys_worked != TURNS + 1;
  printf("%s\n", toys_failures ? "FAIL" : "PASS");
  return toys_failures != 0;
}

#endif
