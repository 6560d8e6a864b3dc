# Included by the Makefile. What each program measures stands at its top.
#
#   ROUNDS=N   of each figure; 7 by default, which is also the most

BENCH_DIR      := $(BUILD)/tests/bench
BENCH_PROGRAMS := $(addprefix $(BENCH_DIR)/,single pipelined pipelined-big crowd faults contention waiting line)
BENCH_FLAGS     = $(STANDARD) -O2 -g $(WARNINGS) -I. '-DBENCH_DIR="$(BENCH_DIR)"'

# Room for 256 locks in flight: 2 commands for each, and to spare.
BENCH_BIG      := -DREDLOCK_MAX_COMMANDS=1024
# Where system calls are counted: see count.h.
BENCH_WRAP     := -Wl,--wrap=send -Wl,--wrap=recv -Wl,--wrap=poll -Wl,--wrap=getrandom \
                  -Wl,--wrap=getpid

# Plots that its README.md shows.
BENCH_SHOWN    := in_flight faults crowd

.PHONY: bench bench-line bench-shown bench-instructions

bench: $(BENCH_PROGRAMS) $(BENCH_DIR)/instructions ## measures speed, in 6 minutes, and draws it in build/bench.html
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	 CC='$(CC)' tests/bench/run $^ | tee $(BUILD)/bench.txt
	@awk -f tests/bench/plot.awk $(BUILD)/bench.txt >$(BUILD)/bench.html
	@echo 'plots: $(BUILD)/bench.html'

bench-shown: ## draws the plots of its README.md from the last `make bench`
	@for plot in $(BENCH_SHOWN); do \
	   awk -v only=$$plot -f tests/bench/plot.awk $(BUILD)/bench.txt >tests/bench/$$plot.svg || exit; \
	 done

bench-line: $(BENCH_DIR)/line ## measures crowds that wait for one lock, in 4 minutes
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && $< all

bench-instructions: $(BENCH_DIR)/instructions ## counts instructions per lock, with their bound
	@$<

$(BENCH_DIR)/%-big: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(BENCH_BIG) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.c %.o,$^) -o $@

$(BENCH_DIR)/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(BENCH_LINK) $(filter %.c %.o,$^) -o $@

$(BENCH_PROGRAMS): $(BENCH_DIR)/servers.o
$(BENCH_DIR)/single: $(BENCH_DIR)/count.o
$(BENCH_DIR)/single: BENCH_LINK = $(BENCH_WRAP)
$(BENCH_DIR)/waiting: BENCH_LINK = -Wl,--wrap=send
$(BENCH_DIR)/waiting: BENCH_FLAGS += -std=c11
$(BENCH_DIR)/cycle $(BENCH_DIR)/cycle-big: $(BENCH_DIR)/scripted.o
# No debug information: not every valgrind reads what clang writes, and names are enough.
$(BENCH_DIR)/cycle $(BENCH_DIR)/cycle-big: BENCH_FLAGS += -g0
$(BENCH_DIR)/instructions: $(BENCH_DIR)/cycle $(BENCH_DIR)/cycle-big
TESTS += $(BENCH_DIR)/instructions
test-programs: $(BENCH_DIR)/instructions

$(BENCH_DIR)/servers.o: tests/servers.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BENCH_DIR)/count.o: tests/bench/count.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# Not optimised: its loops must not become calls of libc, which are left out of the count alike.
$(BENCH_DIR)/scripted.o: tests/bench/scripted.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) -O0 -g0 $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

-include $(wildcard $(BENCH_DIR)/*.d)
