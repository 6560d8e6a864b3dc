# that a connection is ready again is no news (R26)
# changes: 1
s|^  if (!was_well && rl_is_well(s)) rl_on_news.*|  (void)was_well;|
