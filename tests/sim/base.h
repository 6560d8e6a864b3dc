/* base.h: time, and the one source of chance. Nothing here depends on the compiler, the machine or
 * the address of anything: one seed is one exact run. */
#ifndef SIM_BASE_H
#define SIM_BASE_H

#include <stddef.h>
#include <stdint.h>

typedef long long ns; /* true time, which no one in the world can read */

typedef unsigned long long big; /* a seed or a count, as printf writes it everywhere */

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define SEC INT64_C(1000000000)
#define NEVER INT64_MAX
#define FENCED_SEED (UINT64_C(1) << 40) /* a seed with this bit makes a world of tokens */
#define HANDED_SEED (UINT64_C(1) << 41) /* and with this one, one in which locks change hands */
#define CROWD_SEED (UINT64_C(1) << 42) /* and with this one, one in which a crowd waits */
#define WAITER_SEED (UINT64_C(1) << 43) /* and with this one, one of strangers.h */
#define ROLLING_SEED (UINT64_C(1) << 44) /* and with this one, one of rolling.h */
#define SHIFTED_SEED (UINT64_C(1) << 45) /* with this one, all servers' handshakes shift */

struct rng {
  uint64_t s[4];
};

static inline uint64_t splitmix(uint64_t *x) {
  uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static inline void rng_seed(struct rng *r, uint64_t seed) {
  for (int i = 0; i < 4; i++) r->s[i] = splitmix(&seed);
}

static inline uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

/* xoshiro256** */
static inline uint64_t rng_next(struct rng *r) {
  uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotl(s[3], 45);
  return result;
}

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
