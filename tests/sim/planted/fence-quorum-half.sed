# tokens by half of the servers (R5, R25)
# changes: 2
# options: --fencing
s#rl->servers / 2 + 1)#rl->servers / 2 + (rl->servers == 1))#
