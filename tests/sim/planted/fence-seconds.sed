# a token counts seconds (R25)
# changes: 1
# options: --fencing
s|t\[1\]\*1e6+t\[2\]|t[1]*1e3+t[2]|
