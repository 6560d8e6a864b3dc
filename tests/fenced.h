/* fenced.h: the script of R25 as the servers of tests execute it. The script is not run but
 * recognised part by part: a missing part is not done, a changed one is done as changed. The tests
 * on real servers prove that the text itself does what it says. */
#ifndef FENCED_H
#define FENCED_H

#include <stdint.h>
#include <string.h>

enum { FENCED_NO = 0, FENCED_RIGHT = 1, FENCED_LAX = 2 };

struct fenced_script {
  int is_fenced;
  int looks;      /* whether the lock may be set, before all else */
  int clock;      /* p <= t is refused; lax: p < t */
  int window;     /* more than half of max_ttl_ms ahead is refused */
  int counter;    /* >= p refuses; lax: > p */
  int px_is_ttl;  /* the counter lives for the lock's ttl */
  int lock_first; /* ... and is written after it */
  int64_t second; /* ticks of a second */
};

struct fenced_facts {
  int taken, has_counter;
  int64_t clock_us, counter, token, max_ttl_ms, ttl_ms;
};

struct fenced_plan {
  int64_t reply;         /* 0 = taken: what stands behind the value that is there */
  int writes;            /* both keys are to be set */
  int64_t counter_px_ms;
};

static inline const char *fenced_part(const char *text, size_t size, const char *part) {
  size_t length = strlen(part), i;
  for (i = 0; i + length <= size; i++)
    if (text[i] == part[0] && memcmp(text + i, part, length) == 0) return text + i;
  return NULL;
}

static inline struct fenced_script fenced_read(const char *text, size_t size) {
  struct fenced_script s;
  const char *lock = fenced_part(text, size, "c('set',k,w,'PX',l)");
  const char *counter = fenced_part(text, size, "c('set',f,p,'PX',");
  memset(&s, 0, sizeof s);
  s.is_fenced = fenced_part(text, size, "KEYS[2]") != NULL;
  if (!s.is_fenced || !lock) return s;
  s.looks = fenced_part(text, size, "if(v or w):sub(1,20)~=n then return v") != NULL;
  if (fenced_part(text, size, "p-t<=0 ")) s.clock = FENCED_RIGHT;
  else if (fenced_part(text, size, "p-t<0 ")) s.clock = FENCED_LAX;
  s.window = fenced_part(text, size, "p-t>m*500") != NULL;
  if (fenced_part(text, size, "c('get',f)")) {
    if (fenced_part(text, size, "v-p>=0")) s.counter = FENCED_RIGHT;
    else if (fenced_part(text, size, "v-p>0")) s.counter = FENCED_LAX;
  }
  s.px_is_ttl = !counter || counter[strlen("c('set',f,p,'PX',")] == 'l';
  s.lock_first = counter > lock;
  s.second = fenced_part(text, size, "t[1]*1000000+t[2]") ? 1000000 : 1000;
  return s;
}

static inline struct fenced_plan fenced_decide(const struct fenced_script *s,
                                               const struct fenced_facts *f) {
  struct fenced_plan plan;
  int64_t t = f->clock_us / (1000000 / s->second), p = f->token;
  memset(&plan, 0, sizeof plan);
  plan.counter_px_ms = s->px_is_ttl ? f->ttl_ms : f->max_ttl_ms;
  if (s->looks && f->taken) return plan;
  plan.reply = -t;
  if (s->clock == FENCED_RIGHT ? p <= t : s->clock == FENCED_LAX && p < t) return plan;
  if (s->window && p - t > f->max_ttl_ms * 500) return plan;
  plan.reply = f->counter;
  if (f->has_counter &&
      (s->counter == FENCED_RIGHT ? f->counter >= p : s->counter == FENCED_LAX && f->counter > p))
    return plan;
  plan.reply = t;
  plan.writes = 1;
  return plan;
}

#endif
