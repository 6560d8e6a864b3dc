# extension without quorum (R18)
# changes: 1
/^static void rl_judge/,/^}/ s|} else if (yes >= quorum) {|} else if (yes >= (lock->task == RL_EXTEND ? 1 : quorum)) {|
