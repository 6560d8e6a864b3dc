# tokens without quarantine (R24, R25)
# changes: 1
# options: --fencing
/^static void rl_on_answer/,/^}/ s|^ *if (RL_MAX_TTL(rl) && c->t1_ms - s->born_ms < .*||
