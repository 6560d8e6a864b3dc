# SETs sent again after a reconnect (R12)
# changes: 1
/^static void rl_lose/,/^}/ s|if (c->kind == RL_RELEASE) c->due|if (c->kind != RL_EXTEND) c->due|
