# a token may be any time ahead (R25)
# changes: 1
# options: --fencing
s|or p-t>m\*500 then|             then|
