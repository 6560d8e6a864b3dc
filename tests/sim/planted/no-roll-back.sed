# no roll-back (R7)
# changes: 1
/^static void rl_roll_back/,/^}/ s|^  if (lock->touched) rl_encode.*||
