# one server listed twice (R5)
# changes: 1
/^static const char \*rl_identify/,/^}/ s|^      return rl_twin;|      return RL_NULL;|
