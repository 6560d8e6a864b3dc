# one server listed twice (R5)
# changes: 1
s|^  if (rl_is_other_name(rl, s)) return rl_twin;||
