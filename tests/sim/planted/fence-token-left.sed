# a token is left though the lock is not held (R25)
# changes: 2
# options: --fencing
s|^    rl_give_token(lock, RL_NULL);||
