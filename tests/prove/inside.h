/* inside.h: what every proof shares: the header's inside without an operating system, and values
   that may be anything. CBMC takes each any(type) for all values at once.

     given(truth)    what is assumed
     prove(truth)    what is shown
     reaches(truth)  what some run of the proof must come to, or it would speak of nothing: with
                     -DREACH only these are looked at, and each must be refuted as "never" */
#ifndef INSIDE_H
#define INSIDE_H

#define REDLOCK_NO_POSIX
#define REDLOCK_STATIC
#define REDLOCK_IMPLEMENTATION
#include "redlock.h"

#define given(truth) __CPROVER_assume(truth)
#ifdef REACH
#define prove(truth) ((void)(truth))
#define reaches(truth) __CPROVER_assert(!(truth), "never: " #truth)
#else
#define prove(truth) __CPROVER_assert(truth, #truth)
#define reaches(truth) ((void)(truth))
#endif

/* CBMC knows them by the beginning of their names. */
char nondet_char(void);
int nondet_int(void);
size_t nondet_size(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
int64_t nondet_i64(void);
rl_parser nondet_parser(void);
rl_server nondet_server(void);
#define any(type) nondet_##type()

static rl_integer any_integer(void) { return (rl_integer)any(u64); }

/* The plain meaning of what CBMC has no bodies for. */
size_t strcspn(const char *s, const char *reject) {
  size_t i, j;
  for (i = 0; s[i]; i++)
    for (j = 0; reject[j]; j++)
      if (s[i] == reject[j]) return i;
  return i;
}

size_t strspn(const char *s, const char *accept) {
  size_t i, j;
  for (i = 0; s[i]; i++) {
    for (j = 0; accept[j] && s[i] != accept[j]; j++) {}
    if (!accept[j]) return i;
  }
  return i;
}

char *strstr(const char *s, const char *wanted) {
  size_t i;
  for (; *s; s++) {
    for (i = 0; wanted[i] && s[i] == wanted[i]; i++) {}
    if (!wanted[i]) return (char *)s;
  }
  return 0;
}

#endif
