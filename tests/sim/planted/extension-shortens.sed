# extension shortens: the script does not look at the ttl (R18)
# changes: 1
s|"if c('pttl',k)<ARGV\[2\]+0 then return c('pexpire',k,ARGV\[2\])end return 1"|"return c('pexpire',k,ARGV[2])--xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"|
