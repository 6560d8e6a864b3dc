# vote counted after a refused SELECT (R4)
# changes: 1
/^static const char *rl_judge_greeting/,/^}/ s/return reply == RL_REPLY_OK ? RL_NULL : rl_odd;/return reply == RL_REPLY_OK || reply == RL_REPLY_ERROR ? RL_NULL : rl_odd;/
