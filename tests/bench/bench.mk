# Included by the Makefile: bench, bench-instructions.

BENCH_DIR   := $(BUILD)/tests/bench
BENCH_FLAGS  = $(STANDARD) -O2 -g $(WARNINGS) -I.
BENCH_BIG   := -DREDLOCK_MAX_COMMANDS=1024 -DREDLOCK_RING_BYTES=262144
BENCH_WRAP  := $(patsubst %,-Wl$(comma)--wrap=%,)
