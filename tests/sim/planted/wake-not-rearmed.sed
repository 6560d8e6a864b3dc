# that a connection is ready again is no news (R26)
# changes: 1
s|^    rl_on_news(rl, s, 0); /. R26 ./||
