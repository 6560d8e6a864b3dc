# a refusal by a greater token is a yes (R25)
# changes: 1
# options: --fencing
s|REDLOCK_VOTE_YES : REDLOCK_VOTE_LOW|REDLOCK_VOTE_YES : REDLOCK_VOTE_YES|
