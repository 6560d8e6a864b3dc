# drift 0 (R1)
# changes: 1
/^static int64_t rl_validity_ms/,/^}/ s|uint64_t drift = .*;|uint64_t drift = 0 * rl->options.drift_ppm;|
