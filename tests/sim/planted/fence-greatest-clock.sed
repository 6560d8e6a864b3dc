# the greatest clock is guessed from, so that one wild one suffices (R25)
# changes: 1
# options: --fencing
s|below < rl->quorum && ||
