# release by DEL: whatever is there (R21)
# changes: 1
s|v,t=c('get',k)|v,t=c('xxx',k)|
