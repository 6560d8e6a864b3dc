# when a server that is not connected has its time is not noted (R14, R27)
# changes: 1
/^static void rl_work/,/^}/ s|^ *for (s = .*rl_note_due(rl, rl_server_due(rl, s));||
