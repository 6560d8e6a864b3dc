/* Written by emit.py from the class Tokens of tokens.py, which is proved there: change that,
 * and write this again with `make induct-emit`.
 * Members of the state: now, started, begun, t1, has, count, expiry, counted, granted, after. */

enum { tokens_step_begin, tokens_step_accept, tokens_step_expire, tokens_step_restart,
    tokens_step_grant, tokens_step_tick };
static const char *const tokens_steps[] = {"begin", "accept", "expire", "restart", "grant", "tick",
    NULL};

static inline const char *tokens_begin(tokens_rnd r) {
  if (!!T_begun(r)) return "!begun(r)";
  double new_t1 = T_now;
  T_EACH_Rnd(rnd1) {
    if (T_granted(rnd1)) T_SET_after(rnd1, r, 1);
  }
  T_SET_begun(r, 1);
  T_SET_t1(r, new_t1);
  T_TAKEN(tokens_step_begin);
  return NULL;
}

static inline const char *tokens_accept(tokens_rnd r, int x, double ask) {
  if (!T_begun(r)) return "begun(r)";
  if (!(T_wall(x, T_now) < T_token(r))) return "(wall(x, now) < token(r))";
  if (!(T_token(r) <= (T_wall(x, T_now) + T_W))) return "(token(r) <= (wall(x, now) + W))";
  if (!(!T_has(x) || (T_count(x) < T_token(r)))) return "(!has(x) || (count(x) < token(r)))";
  if (!(T_started(x) <= ask)) return "(started(x) <= ask)";
  if (!(ask <= T_now)) return "(ask <= now)";
  double new_expiry = (T_wall(x, T_now) + T_A);
  int new_counted = (T_counted(r, x) || ((((T_wall(x, ask) - T_wall(x, T_started(x))) + T_t1(r)) -
      ask) >= T_Q));
  T_SET_has(x, 1);
  T_SET_count(x, T_token(r));
  T_SET_expiry(x, new_expiry);
  T_SET_counted(r, x, new_counted);
  T_TAKEN(tokens_step_accept);
  return NULL;
}

static inline const char *tokens_expire(int x) {
  if (!T_has(x)) return "has(x)";
  if (!(T_wall(x, T_now) >= T_expiry(x))) return "(wall(x, now) >= expiry(x))";
  T_SET_has(x, 0);
  T_TAKEN(tokens_step_expire);
  return NULL;
}

static inline const char *tokens_restart(int x, int kept, double old, double until) {
  double new_started = T_now;
  T_SET_started(x, new_started);
  T_SET_has(x, kept);
  T_SET_count(x, old);
  T_SET_expiry(x, until);
  T_TAKEN(tokens_step_restart);
  return NULL;
}

static inline const char *tokens_grant(tokens_rnd r, tokens_quo q) {
  if (!T_begun(r)) return "begun(r)";
  if (!!T_granted(r)) return "!granted(r)";
  T_EACH_Srv(srv1) {
    if (!(!T_of(q, srv1) || T_counted(r, srv1))) return "(!of(q, srv1) || counted(r, srv1))";
  }
  T_SET_granted(r, 1);
  T_TAKEN(tokens_step_grant);
  return NULL;
}

static inline const char *tokens_tick(double d) {
  if (!((T_now + d) >= T_now)) return "((now + d) >= now)";
  double new_now = (T_now + d);
  T_SET_now(new_now);
  T_TAKEN(tokens_step_tick);
  return NULL;
}

static inline const char *tokens_says_asked_for_after_a_return(tokens_rnd rnd1, tokens_rnd rnd2) {
  if (!(!T_after(rnd1, rnd2) || (T_granted(rnd1) && T_begun(rnd2))))
    return "asked for after a return";
  return NULL;
}

static inline const char *tokens_says_tokens_are_unique(tokens_rnd rnd1, tokens_rnd rnd2) {
  if (!(!(T_granted(rnd1) && T_granted(rnd2) && (rnd1 != rnd2)) || (T_token(rnd1) !=
      T_token(rnd2))))
    return "tokens are unique";
  return NULL;
}

static inline const char *tokens_says_tokens_are_in_order(tokens_rnd rnd1, tokens_rnd rnd2) {
  if (!(!(T_granted(rnd1) && T_granted(rnd2) && T_after(rnd1, rnd2)) || (T_token(rnd1) <
      T_token(rnd2))))
    return "tokens are in order";
  return NULL;
}
