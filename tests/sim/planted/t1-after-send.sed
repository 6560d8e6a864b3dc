# T1 sampled after the send (R1)
# changes: 1
/^static void rl_on_set_sent/,/^}/ s|^  if (c->lock) c->lock->touched.*|&\n  if (c->lock) c->lock->t1_ms = now_ms;|
