# the end of a push counted as a reply (R8, R26)
# changes: 1
s|return p->whole == '>' ? RL_PUSHED : RL_REPLY_OTHER|return RL_REPLY_OTHER|
