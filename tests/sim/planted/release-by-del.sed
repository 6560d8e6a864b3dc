# release by DEL: whatever is there (R21)
# changes: 1
s|local v=c('get',k)|local v=c('xxx',k)|
