# the last token is kept for the ttl alone (R25)
# changes: 1
# options: --fencing
s|'PX',a\[3\]|'PX',a[4]|
