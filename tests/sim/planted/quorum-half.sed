# quorum N/2 (R5)
# changes: 1
s|rl->servers / 2 + 1)|rl->servers / 2 + (rl->servers == 1))|
