# release by DEL: whatever is there (R21)
# changes: 1
s|v=c('get',k)end|v=c('xxx',k)end|
