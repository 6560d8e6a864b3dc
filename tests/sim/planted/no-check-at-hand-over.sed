# no check at hand-over (R1)
# changes: 1
/^static redlock_status rl_status_now/,/^}/ s/^  return rl->now_ms < .*/  return REDLOCK_OK;/
