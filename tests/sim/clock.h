/* clock.h: what a clock shows at a true time, and when it will show something. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include "world.h"

static inline ns clock_at(const struct clock *c, ns t) {
  ns d = t - c->at;
  return c->local + d + d / 1000000 * c->ppm + d % 1000000 * c->ppm / 1000000;
}

/* The first true time at which it shows `local` or more. */
static inline ns clock_when(const struct clock *c, ns local) {
  ns rate = 1000000 + c->ppm, d = local - c->local, t;
  if (d >= NEVER / 4) return NEVER;
  if (d <= 0) return c->at; /* asked only of what is to come */
  t = c->at + d / rate * 1000000 + d % rate * 1000000 / rate;
  while (clock_at(c, t) >= local && t > c->at) t--;
  while (clock_at(c, t) < local) t++;
  return t;
}

/* Another rate or a step, from now on. */
static inline void clock_set(struct clock *c, ns t, ns step, int ppm) {
  c->local = clock_at(c, t) + step;
  c->at = t;
  c->ppm = ppm;
}

static inline int64_t client_ms(const struct client *c) { return clock_at(&c->clock, W.now) / MS; }

static inline ns client_when(const struct client *c, int64_t ms) {
  return ms >= INT64_MAX / MS ? NEVER : clock_when(&c->clock, ms * MS);
}

static inline int64_t server_ms(const struct server *s) { return clock_at(&s->clock, W.now) / MS; }

#endif
