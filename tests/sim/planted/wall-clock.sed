# wall clock: now_ms follows a clock that is stepped (R2); planted in the simulated io
# changes: 0
# options: --wall-clock
