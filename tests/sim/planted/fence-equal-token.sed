# a token equal to the last one is accepted (R25)
# changes: 1
# options: --fencing
s|v+0>=p|v+0>p |
