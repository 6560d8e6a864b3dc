/* clock.c: no reading of the clock that is let through (R2) overflows in anything computed from it,
   together with whatever an earlier reading left behind. CBMC checks each sum by itself. */
#include "inside.h"

static int64_t reading(void *ctx) { (void)ctx; return any(i64); }

/* A client with one server, any options and a good reading. */
static void read_clock(redlock *rl) {
  rl->options.now_ms = reading;
  rl->options.server_timeout_ms = any(u32);
  rl->options.max_ttl_ms = any(u32);
  rl->server_count = 1;
  rl->quorum = 1;
  rl->server_end = rl->server + 1;
  rl_init_lists(rl);
  rl->timer_ms = INT64_MAX;
  given(rl_update_now(rl));
  reaches(rl->now_ms > INT64_MAX / 2 - 2);
}

static int64_t earlier(const redlock *rl) {
  int64_t ms = any(i64);
  given(ms >= 0 && ms <= rl->now_ms);
  return ms;
}

void a_reading_that_is_too_great_is_none(void) { /* R2 */
  static redlock rl;
  int64_t now;
  rl.options.now_ms = reading;
  now = rl_read_clock(&rl);
  prove(now < INT64_MAX / 2);
  reaches(now == INT64_MAX / 2 - 1);
  reaches(now < 0);
}

void as_long_again_never_overflows(void) { /* R6 */
  static redlock rl;
  static redlock_lock lock;
  read_clock(&rl);
  lock.t1_ms = earlier(&rl);
  lock.timer_ms = rl.timer_ms = earlier(&rl) + any(u32);
  given(rl.now_ms < lock.timer_ms); /* its caller has looked */
  rl_shorten_round(&rl, &lock, any(int));
  prove(lock.timer_ms > rl.now_ms && rl.timer_ms <= lock.timer_ms);
  reaches(lock.timer_ms > INT64_MAX / 2);
}

void a_hold_stays_within_its_limit(void) { /* R20 */
  static redlock rl;
  static redlock_lock lock;
  uint32_t asked = any(u32), got;
  read_clock(&rl);
  lock.is.hold.grant_t1_ms = earlier(&rl);
  lock.is.hold.max_hold_ms = any(u32);
  lock.deadline_ms = lock.is.hold.grant_t1_ms + any(u32);
  got = rl_clip_ttl(&rl, &lock, asked);
  prove(got <= asked);
  if (lock.is.hold.max_hold_ms && got)
    prove(rl.now_ms + got <= lock.is.hold.grant_t1_ms + lock.is.hold.max_hold_ms);
  reaches(got && got < asked);
}

/* R24: less old by as much as the server's seconds may say too much. */
void a_server_is_never_taken_for_older(void) {
  static redlock rl;
  rl_server *s = rl.server;
  uint32_t uptime_s;
  int64_t age_ms, newborn_ms;
  int was_known;
  read_clock(&rl);
  s->run_id = any(u32);
  s->parser.type = '_';
  s->parser.words = any(u8);
  s->parser.hash = any(u32);
  s->parser.before = uptime_s = any(u32);
  s->votes_from_ms = INT64_MIN / 2; /* its start is not known yet, or long ago */
  was_known = s->run_id != 0 && s->run_id != s->parser.hash;
  if (was_known) uptime_s = 0; /* its restart is timed by us */
  if (rl_take_identity(&rl, s)) return;
  age_ms = (int64_t)uptime_s * 1000 - 2000;
  if (age_ms < 0) age_ms = 0; /* it has started */
  newborn_ms = rl.now_ms + rl.options.max_ttl_ms + 1; /* when it would vote if that were now */
  prove(s->votes_from_ms >= newborn_ms - age_ms);
  if (uptime_s < 4294967) prove(s->votes_from_ms == newborn_ms - age_ms);
  reaches(s->votes_from_ms < 0);
}

void times_of_a_server_never_overflow(void) { /* R10 R13 */
  static redlock rl;
  rl_server *s = rl.server;
  int64_t due;
  read_clock(&rl);
  s->state = any(u8) & 3;
  s->stalled = any(u8);
  s->last_send = any(u8);
  s->outstanding = any(u32);
  s->reconnect_ms = earlier(&rl) + any(u32);
  s->patience_ms = any(u16);
  s->timed_since_ms = earlier(&rl);
  due = rl_server_timer_ms(&rl, s);
  prove(due >= 0);
  reaches(due == INT64_MAX);
  reaches(due < rl.now_ms);
}

/* A kept lock's next extension comes when half of the time until its end is over, or earlier. */
void a_kept_lock_is_extended_in_time(void) { /* R20 */
  static redlock rl;
  static redlock_lock lock;
  int64_t from, end;
  int fails;
  read_clock(&rl);
  lock.t1_ms = earlier(&rl);
  lock.deadline_ms = lock.t1_ms + any(u32);
  rl.options.keep_margin_ms = any(u32);
  lock.kept = 1;
  fails = any(u8) & 1;
  rl_schedule_extension(&rl, &lock, fails ? REDLOCK_NO_QUORUM : REDLOCK_OK);
  from = fails ? rl.now_ms : lock.t1_ms;
  end = lock.deadline_ms - rl.options.keep_margin_ms;
  prove(lock.timer_ms >= from);
  if (end > from) prove(lock.timer_ms <= end && lock.timer_ms - from <= (end - from) / 5 * 2 + 1);
  reaches(lock.timer_ms > rl.now_ms + UINT32_MAX / 3);
}

/* The least range of a random rest, and what it was made from: R9's formula. The widest window that
   is made of it fits, too. */
void the_range_of_a_rest_fits(void) { /* R9 */
  static redlock rl;
  static redlock_lock lock;
  int64_t took;
  uint32_t range, limit;
  read_clock(&rl);
  limit = RL_PUSH_WAIT_MS;
  lock.t1_ms = earlier(&rl);
  took = rl.now_ms - lock.t1_ms;
  given(took <= UINT32_MAX);
  range = rl_slot_ms(&rl, &lock);
  prove(range > 2 * (took < limit ? took : limit));
  prove(range <= UINT32_MAX / (2 + RL_MAX_RANK * RL_MAX_RANK));
  reaches(range > limit);
}

/* How long redlock_timeout_ms says, whatever is due. */
void a_time_out_is_never_negative(void) { /* R27 */
  static redlock rl;
  int64_t timeout;
  read_clock(&rl);
  rl.timer_ms = any(i64);
  given(rl.timer_ms >= 0);
  timeout = rl_timeout_ms(&rl);
  prove(timeout >= -1);
  prove((timeout == -1) == (rl.timer_ms == INT64_MAX));
  reaches(timeout > 0);
}

/* What redlock_server_status says, whatever the client knows of the server. */
void what_is_told_of_a_server_is_in_range(void) { /* R24 */
  static redlock rl;
  static redlock_io io;
  redlock_server_info info;
  int64_t start_ms;
  rl.ring = rl.commands;
  rl.io = &io;
  read_clock(&rl);
  rl.server[0].run_id = any(u32);
  start_ms = earlier(&rl) - (int64_t)any(u32) * 1000 + RL_UPTIME_SLACK_MS;
  given(start_ms <= rl.now_ms + RL_UPTIME_SLACK_MS);
  rl.server[0].votes_from_ms = start_ms + rl.options.max_ttl_ms;
  prove(redlock_server_status(&rl, 0, &info) == REDLOCK_OK);
  prove(info.quarantine_ms >= 0);
  prove(info.quarantine_ms <= (int64_t)rl.options.max_ttl_ms + RL_UPTIME_SLACK_MS);
  if (!rl.options.max_ttl_ms) prove(info.quarantine_ms == 0);
  reaches(info.quarantine_ms > UINT32_MAX);
}

/* R26: an age fits into its three bytes, and the hash of these tells older from younger. */
void ages_are_told_in_order(void) {
  static redlock rl;
  static redlock_lock lock;
  uint32_t age, younger = any(u32), hash = 0, its = 0;
  size_t i;
  read_clock(&rl);
  lock.is.wait.began_ms = any(u32);
  lock.tracks = 1;
  lock.value[RL_VALUE_BYTES - 1] = any(char);
  age = rl_waiter_age(&rl, &lock);
  prove(age < 1u << 24);
  given(younger < age);
  rl_write_age(&lock, age);
  for (i = 0; i < sizeof lock.age; i++) hash = rl_hash(hash, lock.age[i]);
  rl_write_age(&lock, younger);
  for (i = 0; i < sizeof lock.age; i++) its = rl_hash(its, lock.age[i]);
  prove(its < hash);
  reaches(age > 1u << 23);
}
