/* Written by emit.py from the class Adoption of adoption.py, which is proved there: change that,
 * and write this again with `make induct-emit`.
 * Members of the state: time, present, value, sent, under_way, made, waits, made_at, maybe_set,
     answered_by, knows, heard, stopped, replaced, granted. */

enum { adoption_step_send, adoption_step_execute, adoption_step_refuse, adoption_step_extend,
    adoption_step_process, adoption_step_notice, adoption_step_vanish, adoption_step_restart,
    adoption_step_stop, adoption_step_grant };
static const char *const adoption_steps[] = {"send", "execute", "refuse", "extend", "process",
    "notice", "vanish", "restart", "stop", "grant", NULL};

static inline const char *adoption_send(adoption_msg m) {
  if (!!A_sent(m)) return "!sent(m)";
  if (!!A_stopped(A_sets(m))) return "!stopped(sets(m))";
  if (!A_knows(A_sets(m), A_to(m))) return "knows(sets(m), to(m))";
  if (!(!A_swaps(m) || A_adopts(A_sets(m)))) return "(!swaps(m) || adopts(sets(m)))";
  if (!!A_maybe_set(A_sets(m), A_to(m))) return "!maybe_set(sets(m), to(m))";
  if (!(!A_swaps(m) || A_stopped(A_giver(A_sets(m)))))
    return "(!swaps(m) || stopped(giver(sets(m))))";
  A_SET_sent(m, 1);
  A_SET_under_way(m, 1);
  A_SET_maybe_set(A_sets(m), A_to(m), 1);
  A_SET_answered_by(A_sets(m), A_to(m), 0);
  A_TAKEN(adoption_step_send);
  return NULL;
}

static inline const char *adoption_execute(adoption_msg m, adoption_rpl y) {
  if (!!A_made(y)) return "!made(y)";
  if (!(A_about(y) == A_sets(m))) return "(about(y) == sets(m))";
  if (!(A_by(y) == A_to(m))) return "(by(y) == to(m))";
  if (!(A_to_set(y) == 1)) return "(to_set(y) == 1)";
  if (!(A_yes(y) == (A_swaps(m) ? (A_present(A_to(m)) && (A_value(A_to(m)) == A_giver(A_sets(m)))) :
      !A_present(A_to(m)))))
    return "(yes(y) == (swaps(m) ? (present(to(m)) && (value(to(m)) == giver(sets(m)))) : "
    "!present(to(m))))";
  if (!A_under_way(m)) return "under_way(m)";
  double new_time = (A_time + 1.0);
  int new_present = ((A_swaps(m) ? (A_present(A_to(m)) && (A_value(A_to(m)) == A_giver(A_sets(m))))
      : !A_present(A_to(m))) || A_present(A_to(m)));
  adoption_att new_value = ((A_swaps(m) ? (A_present(A_to(m)) && (A_value(A_to(m)) ==
      A_giver(A_sets(m)))) : !A_present(A_to(m))) ? A_sets(m) : A_value(A_to(m)));
  double new_made_at = (A_time + 1.0);
  int new_replaced = (A_replaced(A_sets(m), A_to(m)) || ((A_swaps(m) ? (A_present(A_to(m)) &&
      (A_value(A_to(m)) == A_giver(A_sets(m)))) : !A_present(A_to(m))) && A_swaps(m)));
  A_SET_time(new_time);
  A_SET_present(A_to(m), new_present);
  A_SET_value(A_to(m), new_value);
  A_SET_under_way(m, 0);
  A_SET_made(y, 1);
  A_SET_waits(y, 1);
  A_SET_made_at(y, new_made_at);
  A_SET_replaced(A_sets(m), A_to(m), new_replaced);
  A_TAKEN(adoption_step_execute);
  return NULL;
}

static inline const char *adoption_refuse(adoption_msg m, adoption_rpl y) {
  if (!!A_made(y)) return "!made(y)";
  if (!(A_about(y) == A_sets(m))) return "(about(y) == sets(m))";
  if (!(A_by(y) == A_to(m))) return "(by(y) == to(m))";
  if (!(A_to_set(y) == 1)) return "(to_set(y) == 1)";
  if (!(A_yes(y) == 0)) return "(yes(y) == 0)";
  if (!A_under_way(m)) return "under_way(m)";
  double new_time = (A_time + 1.0);
  double new_made_at = (A_time + 1.0);
  A_SET_time(new_time);
  A_SET_under_way(m, 0);
  A_SET_made(y, 1);
  A_SET_waits(y, 1);
  A_SET_made_at(y, new_made_at);
  A_TAKEN(adoption_step_refuse);
  return NULL;
}

static inline const char *adoption_extend(adoption_att u, int x, adoption_rpl y) {
  if (!!A_made(y)) return "!made(y)";
  if (!(A_about(y) == u)) return "(about(y) == u)";
  if (!(A_by(y) == x)) return "(by(y) == x)";
  if (!(A_to_set(y) == 0)) return "(to_set(y) == 0)";
  if (!(A_yes(y) == (A_present(x) && (A_value(x) == u))))
    return "(yes(y) == (present(x) && (value(x) == u)))";
  if (!A_knows(u, x)) return "knows(u, x)";
  double new_time = (A_time + 1.0);
  double new_made_at = (A_time + 1.0);
  A_SET_time(new_time);
  A_SET_made(y, 1);
  A_SET_waits(y, 1);
  A_SET_made_at(y, new_made_at);
  A_TAKEN(adoption_step_extend);
  return NULL;
}

static inline const char *adoption_process(adoption_rpl y, int clears) {
  if (!A_waits(y)) return "waits(y)";
  if (!A_knows(A_about(y), A_by(y))) return "knows(about(y), by(y))";
  if (!(A_made_at(y) > A_heard(A_about(y), A_by(y))))
    return "(made_at(y) > heard(about(y), by(y)))";
  int new_maybe_set = (A_maybe_set(A_about(y), A_by(y)) && !(!A_yes(y) && (A_to_set(y) ? clears :
      A_answered_by(A_about(y), A_by(y)))));
  int new_answered_by = (A_answered_by(A_about(y), A_by(y)) || A_to_set(y) || A_yes(y));
  double new_heard = ((A_made_at(y) > A_heard(A_about(y), A_by(y))) ? A_made_at(y) :
      A_heard(A_about(y), A_by(y)));
  A_SET_waits(y, 0);
  A_SET_maybe_set(A_about(y), A_by(y), new_maybe_set);
  A_SET_answered_by(A_about(y), A_by(y), new_answered_by);
  A_SET_heard(A_about(y), A_by(y), new_heard);
  A_TAKEN(adoption_step_process);
  return NULL;
}

static inline const char *adoption_notice(adoption_att u, int x) {
  if (!!A_knows(u, x)) return "!knows(u, x)";
  double new_heard = A_time;
  A_EACH_Rpl_with_by(rpl1, x) {
    if ((A_about(rpl1) == u) && (A_by(rpl1) == x)) A_SET_waits(rpl1, 0);
  }
  A_SET_maybe_set(u, x, 0);
  A_SET_knows(u, x, 1);
  A_SET_heard(u, x, new_heard);
  A_TAKEN(adoption_step_notice);
  return NULL;
}

static inline const char *adoption_vanish(int x) {
  A_SET_present(x, 0);
  A_TAKEN(adoption_step_vanish);
  return NULL;
}

static inline const char *adoption_restart(int x) {
  A_EACH_Msg_with_to(msg1, x) {
    if ((A_to(msg1) == x)) A_SET_under_way(msg1, 0);
  }
  A_EACH_Att(att1) {
    A_SET_knows(att1, x, 0);
  }
  A_SET_present(x, 0);
  A_TAKEN(adoption_step_restart);
  return NULL;
}

static inline const char *adoption_stop(adoption_att u) {
  A_SET_stopped(u, 1);
  A_TAKEN(adoption_step_stop);
  return NULL;
}

static inline const char *adoption_grant(adoption_att u, adoption_quo q) {
  if (!A_adopts(u)) return "adopts(u)";
  A_EACH_Srv(srv1) {
    if (!(!A_of(q, srv1) || A_replaced(u, srv1))) return "(!of(q, srv1) || replaced(u, srv1))";
  }
  A_SET_granted(u, 1);
  A_TAKEN(adoption_step_grant);
  return NULL;
}

static inline const char *adoption_says_a_restart_loses_all(adoption_att att1, int srv2) {
  if (!(!!A_knows(att1, srv2) || !(A_present(srv2) && (A_value(srv2) == att1))))
    return "a restart loses all";
  return NULL;
}

static inline const char *adoption_says_messages(adoption_msg msg1) {
  if (!(!A_under_way(msg1) || A_sent(msg1))) return "messages";
  return NULL;
}

static inline const char *adoption_says_replies(adoption_rpl rpl1) {
  if (!(!A_waits(rpl1) || (A_made(rpl1) && (A_made_at(rpl1) <= A_time)))) return "replies";
  return NULL;
}

static inline const char *adoption_says_one_SET_under_way(adoption_msg msg1, adoption_msg msg2) {
  if (!(!(A_under_way(msg1) && A_under_way(msg2) && (A_sets(msg1) == A_sets(msg2)) && (A_to(msg1) ==
      A_to(msg2))) || (msg1 == msg2)))
    return "one SET under way";
  return NULL;
}

static inline const char *adoption_says_then_the_value_is_not_there(adoption_msg msg1) {
  if (!(!A_under_way(msg1) || !(A_present(A_to(msg1)) && (A_value(A_to(msg1)) == A_sets(msg1)))))
    return "then the value is not there";
  return NULL;
}

static inline const char *adoption_says_and_the_client_knows(adoption_msg msg1) {
  if (!(!A_under_way(msg1) || (A_knows(A_sets(msg1), A_to(msg1)) && A_maybe_set(A_sets(msg1),
      A_to(msg1)) && !A_answered_by(A_sets(msg1), A_to(msg1)))))
    return "and the client knows";
  return NULL;
}

static inline const char *adoption_says_and_hears_only_that_it_is_not_there(adoption_msg msg1,
    adoption_rpl rpl2) {
  if (!(!(A_under_way(msg1) && (A_waits(rpl2) && (A_made_at(rpl2) > A_heard(A_about(rpl2),
      A_by(rpl2)))) && (A_about(rpl2) == A_sets(msg1)) && (A_by(rpl2) == A_to(msg1))) ||
      !(A_to_set(rpl2) || A_yes(rpl2))))
    return "and hears only that it is not there";
  return NULL;
}

static inline const char *adoption_says_where_it_may_send(adoption_att att1, int srv2) {
  if (!(!(A_knows(att1, srv2) && !A_maybe_set(att1, srv2)) || !(A_present(srv2) && (A_value(srv2) ==
      att1))))
    return "where it may send";
  return NULL;
}

static inline const char *adoption_says_there_it_hears_only_that(adoption_rpl rpl1) {
  if (!(!(A_waits(rpl1) && (A_made_at(rpl1) > A_heard(A_about(rpl1), A_by(rpl1)))) ||
      (!(A_knows(A_about(rpl1), A_by(rpl1)) && !A_maybe_set(A_about(rpl1), A_by(rpl1))) ||
      !(A_to_set(rpl1) || A_yes(rpl1)))))
    return "there it hears only that";
  return NULL;
}

static inline const char *adoption_says_a_giver_has_stopped(adoption_msg msg1) {
  if (!(!A_under_way(msg1) || (!A_swaps(msg1) || (A_adopts(A_sets(msg1)) &&
      A_stopped(A_giver(A_sets(msg1)))))))
    return "a giver has stopped";
  return NULL;
}

static inline const char *adoption_says_what_was_replaced_is_spent(adoption_att att1, int srv2) {
  if (!(!A_replaced(att1, srv2) || (A_stopped(A_giver(att1)) && !(A_present(srv2) && (A_value(srv2)
      == A_giver(att1))))))
    return "what was replaced is spent";
  return NULL;
}

static inline const char *adoption_says_no_SET_of_it_is_under_way(adoption_att att1, adoption_msg
    msg2) {
  if (!(!(A_under_way(msg2) && (A_sets(msg2) == A_giver(att1))) || !A_replaced(att1, A_to(msg2))))
    return "no SET of it is under way";
  return NULL;
}

static inline const char *adoption_says_it_is_replaced_once(adoption_att att1, adoption_att att2,
    int srv3) {
  if (!(!(A_replaced(att1, srv3) && A_replaced(att2, srv3) && (A_giver(att1) == A_giver(att2))) ||
      (att1 == att2)))
    return "it is replaced once";
  return NULL;
}

static inline const char *adoption_says_a_value_is_adopted_once(adoption_att att1, adoption_att
    att2) {
  if (!(!(A_granted(att1) && A_granted(att2) && (A_giver(att1) == A_giver(att2))) || (att1 ==
      att2)))
    return "a value is adopted once";
  return NULL;
}

static inline const char *adoption_says_axiom_1(adoption_att att1) {
  if (!(!A_adopts(att1) || (A_giver(att1) != att1))) return "axiom 1";
  return NULL;
}
