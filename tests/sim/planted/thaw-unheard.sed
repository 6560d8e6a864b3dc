# a server that was given up is not heard before the next round is decided (R13)
# changes: 1
s|rl_hear(rl, rl->now_ms >= rl->due_ms);|rl_work(rl);|
