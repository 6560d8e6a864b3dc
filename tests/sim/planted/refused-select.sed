# vote counted after a refused SELECT (R4)
# changes: 1
/^static void rl_on_greeting_reply/,/^}/ s|problem = rl_odd;|problem = reply == RL_REPLY_ERROR ? problem : rl_odd;|
