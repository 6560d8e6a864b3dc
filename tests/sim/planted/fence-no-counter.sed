# the last token is not looked at (R25)
# changes: 1
# options: --fencing
s|v=c('get',f)|v=c('xxx',f)|
