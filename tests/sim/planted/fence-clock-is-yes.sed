# a refusal by the clock is a yes (R25)
# changes: 1
# options: --fencing
/^static redlock_vote rl_fenced_vote/,/^}/ s|vote = REDLOCK_VOTE_CLOCK|vote = REDLOCK_VOTE_YES|
