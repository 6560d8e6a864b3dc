# a server that was given up is not heard before the next round is decided (R13)
# changes: 1
s|if (rl->fresh) rl_turn(rl);|if (rl->fresh \&\& rl_tick(rl)) rl_work(rl);|
