# the release deletes the last token too (R25)
# changes: 3
# options: --fencing
s|c('del',k))|c('del',k,k..':fence'))|;s|270|282|g
