# release by DEL: whatever is there (R21)
# changes: 1
s|^#define RL_RELEASE_SCRIPT .*|#define RL_RELEASE_SCRIPT "return redis.call('del',KEYS[1])--xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"|
