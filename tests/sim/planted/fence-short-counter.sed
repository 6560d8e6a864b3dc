# the last token is kept for the ttl alone (R25)
# changes: 1
# options: --fencing
s|f,p,'PX',m|f,p,'PX',l|
