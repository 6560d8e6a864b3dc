# a number of 32 bits (R25)
# changes: 1
# options: --fencing
s|^typedef uint64_t rl_integer;|typedef uint32_t rl_integer;|
