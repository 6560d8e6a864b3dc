# the other waiters of one's own client are not told of one's own changes (R26)
# changes: 1
s|"\*3\\r\\n$6\\r\\nCLIENT|"*4\\r\\n$6\\r\\nCLIENT|;s|nON\\r\\n"|nON\\r\\n$6\\r\\nNOLOOP\\r\\n"|
