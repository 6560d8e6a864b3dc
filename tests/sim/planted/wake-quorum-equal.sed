# the quorum of maybe compared by == (R26)
# changes: 1
s|rl_members(lock->news) >= rl->quorum|rl_members(lock->news) == rl->quorum|
