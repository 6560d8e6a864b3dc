/* edge.c: linked in front of the command's files and behind them: what lies between is theirs. */
extern long long EDGE(data)[2], EDGE(bss)[2];
long long EDGE(data)[2] = {1}, EDGE(bss)[2];
