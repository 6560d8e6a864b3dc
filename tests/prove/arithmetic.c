/* arithmetic.c: digits, numbers, hashes, sets of servers, and what is drawn at random. */
#include "inside.h"

/* Quotient and remainder of ten, said without dividing: there is only one such pair. */
void a_digit_is_taken_off(void) {
  rl_integer number = any_integer(), rest = number, digit;
  char c = rl_pop_digit(&rest);
  prove(c >= '0' && c <= '9');
  digit = (rl_integer)(c - '0');
  prove(rest <= (rl_integer)-1 / 10);
  prove((rest << 3) + (rest << 1) + digit == number);
  reaches(digit == 9 && rest > UINT32_MAX / 2);
}

/* By the proof above the digits are the number's: here that they fit, and that the first is a zero
   of 0 alone. */
void digits_of_a_number_fit(void) {
  char digits[RL_MAX_DIGITS], *at;
  rl_integer number = any_integer();
  at = rl_format_decimal(digits + RL_MAX_DIGITS, number);
  prove(at >= digits && at < digits + RL_MAX_DIGITS);
  prove(number == 0 ? at == digits + RL_MAX_DIGITS - 1 && *at == '0' : *at >= '1' && *at <= '9');
  reaches(at == digits);
}

void a_hexadecimal_digit(void) {
  char c = any(char);
  uint32_t value = rl_hex_digit(c);
  if (c >= '0' && c <= '9') prove(value == (uint32_t)(c - '0'));
  else if (c >= 'a' && c <= 'f') prove(value == (uint32_t)(c - 'a' + 10));
  else if (c >= 'A' && c <= 'F') prove(value == (uint32_t)(c - 'A' + 10));
  else prove(value > 15);
  reaches(value == 15 && c == 'F');
}

/* Every text of up to N bytes. */
#ifndef N
#define N 6
#endif
void a_number_in_a_text(void) {
  char text[N];
  size_t size = any(size), i;
  uint32_t limit = any(u32), got, value = 0;
  int good;
  given(size <= sizeof text && limit > 0 && limit <= 1000000);
  got = rl_parse_number(text, text + size, limit);
  good = size > 0;
  for (i = 0; i < size; i++) {
    if (text[i] < '0' || text[i] > '9') good = 0;
    value = value * 10 + (uint32_t)(text[i] - '0');
  }
  prove(got == (good && value < limit ? value : limit));
  reaches(got == 65535 && size == N);
}

/* So +OK is exactly that, and no other two bytes. */
void two_bytes_have_a_hash_of_their_own(void) {
  char a = any(char), b = any(char), c = any(char), d = any(char);
  int same = rl_hash(rl_hash(0, a), b) == rl_hash(rl_hash(0, c), d);
  prove(same == (a == c && b == d));
  reaches(same);
}

void servers_of_a_set_are_counted(void) {
  rl_mask set = (rl_mask)any(u32);
  int i, count = 0;
  for (i = 0; i < (int)sizeof set * 8; i++) count += (set >> i) & 1;
  prove(rl_mask_count(set) == count);
  reaches(count == REDLOCK_MAX_SERVERS);
}

/* What is drawn, and whether drawing works. */
static uint32_t drawn;
static int works;
static int entropy(void *ctx, void *data, size_t size) {
  (void)ctx;
  prove(size == sizeof drawn);
  memcpy(data, &drawn, sizeof drawn);
  return works ? 0 : -1;
}

static void draw_anything(redlock *rl) {
  rl->options.entropy = entropy;
  drawn = any(u32);
  works = any(int);
}

/* That it stays within the span is wp.sh's proof: multiplying is hard for this one. */
void no_entropy_is_no_number(void) { /* R3 R9 */
  static redlock rl;
  uint32_t span = any(u32);
  int64_t random;
  draw_anything(&rl);
  random = rl_random(&rl, span);
  prove(works ? random >= 0 && random <= UINT32_MAX : random == -1);
  reaches(works && random > 0);
  reaches(!works);
}

/* 0 at first, then 8 to 1024 ms; within one stage never more than twice as long as the shortest. */
void back_off_grows_and_is_bounded(void) { /* R14 */
  static redlock rl;
  rl_server *s = rl.server;
  unsigned failures = s->failed_connections = any(u8), stage = failures - 2 < 6 ? failures - 2 : 6;
  uint32_t ms;
  draw_anything(&rl);
  ms = rl_plan_reconnect(&rl, s);
  prove(failures < 2 ? ms == 0 : ms >= 8u << stage && ms <= 16u << stage && ms <= 1024);
  reaches(ms == 1024);
}
