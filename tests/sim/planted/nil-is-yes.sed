# nil counted as a yes (R4)
# changes: 1
/^static redlock_vote rl_vote_of/,/^}/ s|? RL_REPLY_OK : RL_REPLY_POSITIVE)) return|? RL_REPLY_OK : RL_REPLY_POSITIVE) \|\| reply == RL_REPLY_NIL) return|
