# the end of a push counted as a reply (R8, R26)
# changes: 1
s|^  if (p->push) return RL_PUSHED;|  if (p->push \&\& p->more) return RL_PUSHED;|
