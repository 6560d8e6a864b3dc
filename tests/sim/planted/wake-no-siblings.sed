# the other waiters of one's own client are not told of one's own changes (R26)
# changes: 1
s|^  if (vote == REDLOCK_VOTE_YES) rl_tell_siblings|  if (vote == REDLOCK_VOTE_YES \&\& !c) rl_tell_siblings|
