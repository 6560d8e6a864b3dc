# when the log's head is too old to be sent is not noted (R11, R27)
# changes: 1
s|      if (rl->now_ms < rl_age_out_ms(rl, c)) rl_note_due.*|      ;|
