# a token may be older than the clock (R25)
# changes: 1
# options: --fencing
s|if p-t<=0 or p-t>|if           p-t>|
