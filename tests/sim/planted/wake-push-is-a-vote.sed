# a push counted as a vote (R4, R26)
# changes: 1
s|else if (reply == RL_PUSHED) rl_on_news|else if (reply == RL_PUSHED) rl_vote_all(rl, s, REDLOCK_VOTE_YES), rl_on_news|
