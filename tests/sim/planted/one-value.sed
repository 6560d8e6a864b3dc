# one value for all attempts (R3)
# changes: 1
/^static void rl_start_task/,/^}/ s|lock->task == RL_SET && !rl_draw|lock->task == RL_SET \&\& !lock->attempts \&\& !rl_draw|
