# roll-back on a new socket: a connection that is late is closed, not kept (R7, R13)
# changes: 1
/^static void rl_on_server_time/,/^}/ s|^  if (rl->now_ms >= s->until_ms) rl_lose|  rl_lose|
