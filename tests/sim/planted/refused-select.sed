# vote counted after a refused SELECT (R4)
# changes: 1
/^static const char \*rl_judge_greeting/,/^}/ s/return reply == RL_REPLY_OK ?/return reply == RL_REPLY_OK || reply == RL_REPLY_ERROR ?/
