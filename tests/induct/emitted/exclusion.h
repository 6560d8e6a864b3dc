/* Written by emit.py from the class Redlock of exclusion.py, which is proved there: change that,
 * and write this again with `make induct-emit`.
 * Members of the state: now, started, server_clock, client_clock, begun, t1, read, present, value,
     expiry, voted, granted, quorum, stopped, adopted. */

enum { exclusion_step_begin_acquire, exclusion_step_begin_extension, exclusion_step_execute_set,
    exclusion_step_execute_swap, exclusion_step_execute_extension, exclusion_step_grant,
    exclusion_step_stop, exclusion_step_release, exclusion_step_expire, exclusion_step_appear,
    exclusion_step_restart, exclusion_step_tick };
static const char *const exclusion_steps[] = {"begin_acquire", "begin_extension", "execute_set",
    "execute_swap", "execute_extension", "grant", "stop", "release", "expire", "appear", "restart",
    "tick", NULL};

static inline const char *exclusion_begin_acquire(exclusion_rnd r, double read) {
  if (!!X_begun(r)) return "!begun(r)";
  if (!(read <= X_client_clock(X_attempt(r)))) return "(read <= client_clock(attempt(r)))";
  if (!!X_extends(r)) return "!extends(r)";
  if (!!X_stopped(X_attempt(r))) return "!stopped(attempt(r))";
  X_EACH_Rnd_with_attempt(rnd1, X_attempt(r)) {
    if (!(!X_begun(rnd1) || (X_attempt(rnd1) != X_attempt(r))))
      return "(!begun(rnd1) || (attempt(rnd1) != attempt(r)))";
  }
  double new_t1 = X_now;
  X_SET_begun(r, 1);
  X_SET_t1(r, new_t1);
  X_SET_read(r, read);
  X_TAKEN(exclusion_step_begin_acquire);
  return NULL;
}

static inline const char *exclusion_begin_extension(exclusion_rnd r, double read) {
  if (!!X_begun(r)) return "!begun(r)";
  if (!(read <= X_client_clock(X_attempt(r)))) return "(read <= client_clock(attempt(r)))";
  if (!X_extends(r)) return "extends(r)";
  double new_t1 = X_now;
  X_SET_begun(r, 1);
  X_SET_t1(r, new_t1);
  X_SET_read(r, read);
  X_TAKEN(exclusion_step_begin_extension);
  return NULL;
}

static inline const char *exclusion_execute_set(exclusion_rnd r, int x) {
  if (!X_begun(r)) return "begun(r)";
  if (!!X_extends(r)) return "!extends(r)";
  if (!!X_adopts(r)) return "!adopts(r)";
  if (!!X_present(x)) return "!present(x)";
  double new_expiry = (X_server_clock(x) + X_L(r));
  int new_voted = (X_voted(r, x) || (X_t1(r) >= (X_started(x) + X_QA)));
  X_SET_present(x, 1);
  X_SET_value(x, X_value_of(X_attempt(r)));
  X_SET_expiry(x, new_expiry);
  X_SET_voted(r, x, new_voted);
  X_TAKEN(exclusion_step_execute_set);
  return NULL;
}

static inline const char *exclusion_execute_swap(exclusion_rnd r, int x) {
  if (!X_begun(r)) return "begun(r)";
  if (!X_adopts(r)) return "adopts(r)";
  if (!X_present(x)) return "present(x)";
  if (!(X_value(x) == X_replaced(r))) return "(value(x) == replaced(r))";
  double new_expiry = (X_server_clock(x) + X_L(r));
  int new_voted = (X_voted(r, x) || (X_t1(r) >= (X_started(x) + X_QA)));
  X_EACH_Rnd_with_value_of_attempt(rnd1, X_replaced(r)) {
    if (X_voted(rnd1, x) && (X_value_of(X_attempt(rnd1)) == X_replaced(r)) && (rnd1 != r))
        X_SET_adopted(rnd1, 1);
  }
  X_SET_present(x, 1);
  X_SET_value(x, X_value_of(X_attempt(r)));
  X_SET_expiry(x, new_expiry);
  X_SET_voted(r, x, new_voted);
  X_TAKEN(exclusion_step_execute_swap);
  return NULL;
}

static inline const char *exclusion_execute_extension(exclusion_rnd r, int x) {
  if (!X_begun(r)) return "begun(r)";
  if (!X_extends(r)) return "extends(r)";
  if (!X_present(x)) return "present(x)";
  if (!(X_value(x) == X_value_of(X_attempt(r)))) return "(value(x) == value_of(attempt(r)))";
  double new_expiry = ((X_expiry(x) >= (X_server_clock(x) + X_L(r))) ? X_expiry(x) :
      (X_server_clock(x) + X_L(r)));
  int new_voted = (X_voted(r, x) || (X_t1(r) >= (X_started(x) + X_QA)));
  X_SET_expiry(x, new_expiry);
  X_SET_voted(r, x, new_voted);
  X_TAKEN(exclusion_step_execute_extension);
  return NULL;
}

static inline const char *exclusion_grant(exclusion_rnd r, exclusion_quo q) {
  if (!X_begun(r)) return "begun(r)";
  X_EACH_Srv(srv1) {
    if (!(!X_of(q, srv1) || X_voted(r, srv1))) return "(!of(q, srv1) || voted(r, srv1))";
  }
  X_SET_granted(r, 1);
  X_SET_quorum(r, q);
  X_TAKEN(exclusion_step_grant);
  return NULL;
}

static inline const char *exclusion_stop(exclusion_att a) {
  X_SET_stopped(a, 1);
  X_TAKEN(exclusion_step_stop);
  return NULL;
}

static inline const char *exclusion_release(exclusion_att a, int x) {
  if (!X_present(x)) return "present(x)";
  if (!X_stopped(a)) return "stopped(a)";
  if (!(X_value(x) == X_value_of(a))) return "(value(x) == value_of(a))";
  X_SET_present(x, 0);
  X_TAKEN(exclusion_step_release);
  return NULL;
}

static inline const char *exclusion_expire(int x) {
  if (!X_present(x)) return "present(x)";
  if (!(X_expiry(x) <= X_server_clock(x))) return "(expiry(x) <= server_clock(x))";
  X_SET_present(x, 0);
  X_TAKEN(exclusion_step_expire);
  return NULL;
}

static inline const char *exclusion_appear(int x, exclusion_val v, double end) {
  if (!!X_present(x)) return "!present(x)";
  X_SET_present(x, 1);
  X_SET_value(x, v);
  X_SET_expiry(x, end);
  X_TAKEN(exclusion_step_appear);
  return NULL;
}

static inline const char *exclusion_restart(int x, int kept, exclusion_val v, double end) {
  double new_started = X_now;
  X_SET_started(x, new_started);
  X_SET_present(x, kept);
  X_SET_value(x, v);
  X_SET_expiry(x, end);
  X_TAKEN(exclusion_step_restart);
  return NULL;
}

static inline const char *exclusion_tick_server_clock(int srv1, double server_clock, double d) {
  if (!(server_clock <= (X_server_clock(srv1) + (1.0 * d))))
    return "(server_clock <= (server_clock(srv1) + (1.0 * d)))";
  X_SET_server_clock(srv1, server_clock);
  return NULL;
}

static inline const char *exclusion_tick_client_clock(exclusion_att att1, double client_clock,
    double d) {
  if (!(client_clock >= (X_client_clock(att1) + (1.0 * d))))
    return "(client_clock >= (client_clock(att1) + (1.0 * d)))";
  X_SET_client_clock(att1, client_clock);
  return NULL;
}

static inline const char *exclusion_tick(double d) {
  if (!(d >= 0.0)) return "(d >= 0.0)";
  double new_now = (X_now + d);
  X_SET_now(new_now);
  X_TAKEN(exclusion_step_tick);
  return NULL;
}

static inline const char *exclusion_says_servers_have_started(int srv1) {
  if (!(X_started(srv1) <= X_now)) return "servers have started";
  return NULL;
}

static inline const char *exclusion_says_only_what_has_begun(exclusion_rnd rnd1, int srv2) {
  if (!(!(X_granted(rnd1) || X_voted(rnd1, srv2)) || X_begun(rnd1)))
    return "only what has begun";
  return NULL;
}

static inline const char *exclusion_says_T1(exclusion_rnd rnd1) {
  if (!(!X_begun(rnd1) || ((X_t1(rnd1) <= X_now) && (((X_read(rnd1) + X_V(rnd1)) -
      X_client_clock(X_attempt(rnd1))) <= (X_V(rnd1) - (X_now - X_t1(rnd1)))))))
    return "T1";
  return NULL;
}

static inline const char *exclusion_says_a_vote_lasts(exclusion_rnd rnd1, int srv2) {
  if (!(!X_voted(rnd1, srv2) || (((X_stopped(X_attempt(rnd1)) || X_adopted(rnd1)) || (((X_read(rnd1)
      + X_V(rnd1)) - X_client_clock(X_attempt(rnd1))) <= 0.0)) || ((X_present(srv2) &&
      (X_value(srv2) == X_value_of(X_attempt(rnd1)))) && ((X_expiry(srv2) - X_server_clock(srv2)) >=
      ((X_read(rnd1) + X_V(rnd1)) - X_client_clock(X_attempt(rnd1))))) || (((X_read(rnd1) +
      X_V(rnd1)) - X_client_clock(X_attempt(rnd1))) <= (X_QA - (X_now - X_started(srv2)))))))
    return "a vote lasts";
  return NULL;
}

static inline const char *exclusion_says_one_vote(exclusion_rnd rnd1, exclusion_rnd rnd2, int srv3)
    {
  if (!(!(X_voted(rnd1, srv3) && X_voted(rnd2, srv3) && (X_attempt(rnd1) != X_attempt(rnd2))) ||
      (((X_stopped(X_attempt(rnd1)) || X_adopted(rnd1)) || (((X_read(rnd1) + X_V(rnd1)) -
      X_client_clock(X_attempt(rnd1))) <= 0.0)) || ((X_stopped(X_attempt(rnd2)) || X_adopted(rnd2))
      || (((X_read(rnd2) + X_V(rnd2)) - X_client_clock(X_attempt(rnd2))) <= 0.0)))))
    return "one vote";
  return NULL;
}

static inline const char *exclusion_says_a_grant_has_its_quorum(exclusion_rnd rnd1, int srv2) {
  if (!(!(X_granted(rnd1) && X_of(X_quorum(rnd1), srv2)) || X_voted(rnd1, srv2)))
    return "a grant has its quorum";
  return NULL;
}

static inline const char *exclusion_says_exclusion(exclusion_rnd rnd1, exclusion_rnd rnd2) {
  if (!(!(X_attempt(rnd1) != X_attempt(rnd2)) || !((X_granted(rnd1) && !(X_stopped(X_attempt(rnd1))
      || X_adopted(rnd1)) && ((((X_read(rnd1) + X_V(rnd1)) - X_client_clock(X_attempt(rnd1))) > 0.0)
      || 0)) && (X_granted(rnd2) && !(X_stopped(X_attempt(rnd2)) || X_adopted(rnd2)) &&
      ((((X_read(rnd2) + X_V(rnd2)) - X_client_clock(X_attempt(rnd2))) > 0.0) || 0)))))
    return "exclusion";
  return NULL;
}

static inline const char *exclusion_says_a_quorum_has_the_value_or_cannot_vote(exclusion_rnd rnd1,
    int srv2) {
  if (!(!((X_granted(rnd1) && !(X_stopped(X_attempt(rnd1)) || X_adopted(rnd1)) && ((((X_read(rnd1) +
      X_V(rnd1)) - X_client_clock(X_attempt(rnd1))) > 0.0) || 0)) && X_of(X_quorum(rnd1), srv2)) ||
      ((X_present(srv2) && (X_value(srv2) == X_value_of(X_attempt(rnd1)))) || (X_now <
      (X_started(srv2) + X_QA)))))
    return "a quorum has the value, or cannot vote";
  return NULL;
}

static inline const char *exclusion_says_axiom_1(exclusion_rnd rnd1) {
  if (!(X_V(rnd1) > 0.0)) return "axiom 1";
  if (!(X_L(rnd1) > 0.0)) return "axiom 1";
  if (!!(X_extends(rnd1) && X_adopts(rnd1))) return "axiom 1";
  return NULL;
}

static inline const char *exclusion_says_axiom_3(exclusion_att att1, exclusion_att att2) {
  if (!(!(X_value_of(att1) == X_value_of(att2)) || (att1 == att2))) return "axiom 3";
  return NULL;
}

static inline const char *exclusion_says_axiom_4(exclusion_rnd rnd1) {
  if (!(X_V(rnd1) <= X_L(rnd1))) return "axiom 4";
  return NULL;
}

static inline const char *exclusion_says_axiom_5(exclusion_rnd rnd1) {
  if (!(X_V(rnd1) <= X_QA)) return "axiom 5";
  return NULL;
}
