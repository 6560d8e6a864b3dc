# a token equal to the last one is accepted (R25)
# changes: 1
# options: --fencing
s|v-p>=0|v-p>0 |
