# no check after the last reply: the clock is not read again (R1)
# changes: 2
/^static void rl_on_quorum/,/^}/ s|works = rl_tick(rl);|works = 1;|
/^static int rl_has_lapsed/,/^}/ s|!rl_tick(rl) \|\| ||
