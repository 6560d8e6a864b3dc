# drift 0 (R1)
# changes: 1
/^static int64_t rl_validity_ms/,/^}/ s|- drift - 3;|- 3;|
