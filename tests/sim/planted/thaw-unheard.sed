# a server that was given up is not heard before the next round is decided (R13)
# changes: 1
/^static void rl_flush/,/^}/ s|^    if (s->state == RL_REFUSED .*|    if (s->state == RL_REFUSED \&\& due \< 0) rl_receive(rl, s);|
