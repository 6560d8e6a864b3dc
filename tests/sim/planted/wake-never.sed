# pushes are of no effect (R26)
# changes: 1
s|else if (reply == RL_PUSHED) rl_on_news.*|else if (reply == RL_PUSHED) (void)rl_on_news;|
