# the release deletes the last token too (R25)
# changes: 3
# options: --fencing
s|c('del',k)or|c('del',k,k..':fence')or|;s|216|228|g
