# no quarantine (R24)
# changes: 1
/^static void rl_on_answer/,/^}/ s|^ *if (RL_MAX_TTL(rl) && c->t1_ms - s->born_ms < .*||
