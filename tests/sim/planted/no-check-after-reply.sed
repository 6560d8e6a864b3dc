# no check after the last reply: the clock is not read again (R1)
# changes: 2
/^static void rl_on_quorum/,/^}/ s|works = rl_tick(rl);|works = 1;|
/^static redlock_status rl_status_now/,/^}/ s|!rl_tick(rl)|rl == RL_NULL|
