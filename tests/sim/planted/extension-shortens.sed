# extension shortens: the script does not look at the ttl (R18)
# changes: 1
s|c('pttl',k)<|c('xxxx',k)<|
