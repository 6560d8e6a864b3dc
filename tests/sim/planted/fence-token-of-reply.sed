# the token is taken from the reply (R25)
# changes: 1
# options: --fencing
/^static void rl_on_answer/,/^}/ s|^  if (!c->lock) return;$|  if (c->lock \&\& c->kind == RL_SET) c->token = s->parser.number; if (!c->lock) return;|
