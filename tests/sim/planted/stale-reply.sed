# stale reply counted: a late reply is taken for the next command's (R8)
# changes: 1
/^static int rl_retire/,/^}/ s|^ *if (c->owed & s->bit) s->late++;$||
