# quorum N/2 (R5); what is always true is told the same
# changes: 2
s|rl->servers / 2 + 1)|rl->servers / 2 + (rl->servers == 1))|
