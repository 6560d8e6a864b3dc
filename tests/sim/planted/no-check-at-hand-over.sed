# no check at hand-over (R1)
# changes: 1
/^static int rl_has_lapsed/,/^}/ s|^  return .*|  return lock == RL_NULL \&\& rl == RL_NULL;|
