# extension shortens: the script does not look at the ttl (R18)
# changes: 1
s|if c('pttl',k)<|if c('xxxx',k)<|
