# release by DEL: whatever is there (R21)
# changes: 1
s|or c('get',k)|or c('xxx',k)|
