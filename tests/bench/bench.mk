# Included by the Makefile. What each program measures stands at its top.
#
#   ROUNDS=N   of each figure; 7 by default, which is also the most

BENCH_DIR      := $(BUILD)/tests/bench
BENCH_PROGRAMS := $(addprefix $(BENCH_DIR)/,single pipelined pipelined-big pipelined-huge faults waiting)
BENCH_FLAGS     = $(STANDARD) -O2 -g $(WARNINGS) -I. '-DBENCH_DIR="$(BENCH_DIR)"'

# Room for 256 locks in flight: 2 commands for each, and to spare.
BENCH_BIG      := -DREDLOCK_MAX_COMMANDS=1024
# The same for 10 000.
BENCH_HUGE     := -DREDLOCK_MAX_COMMANDS=32768
# Where system calls are counted: see count.h.
BENCH_WRAP     := -Wl,--wrap=send -Wl,--wrap=recv -Wl,--wrap=poll -Wl,--wrap=getrandom \
                  -Wl,--wrap=getpid

# Plots that its README.md shows.
BENCH_SHOWN    := in_flight faults crowd

INSTRUCTIONS   := tests/bench/instructions
MANY           := $(BENCH_DIR)/many

.PHONY: bench bench-shown bench-instructions bench-many bench-starved

bench: $(BENCH_PROGRAMS) $(INSTRUCTIONS) $(MANY) ## measures speed, in 6 minutes, and draws it in build/bench.html
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	 CC='$(CC)' tests/bench/run $(filter-out $(MANY),$^) '$(MANY) table' | tee $(BUILD)/bench.txt
	@awk -f tests/bench/plot.awk $(BUILD)/bench.txt >$(BUILD)/bench.html
	@echo 'plots: $(BUILD)/bench.html'

bench-shown: ## draws the plots of its README.md from the last `make bench`
	@for plot in $(BENCH_SHOWN); do \
	   awk -v only=$$plot -f tests/bench/plot.awk $(BUILD)/bench.txt >tests/bench/$$plot.svg || exit; \
	 done

bench-instructions: $(INSTRUCTIONS) ## counts instructions per lock, with their bound
	@$<

$(BENCH_DIR)/%-big: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(BENCH_BIG) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.c %.o,$^) \
	  $(LDLIBS) -o $@

$(BENCH_DIR)/%-huge: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(BENCH_HUGE) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.c %.o,$^) \
	  $(LDLIBS) -o $@

$(BENCH_DIR)/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(BENCH_LINK) $(filter %.c %.o,$^) \
	  $(LDLIBS) -o $@

$(BENCH_PROGRAMS): $(BENCH_DIR)/servers.o
$(BENCH_DIR)/single: $(BENCH_DIR)/count.o
$(BENCH_DIR)/single: BENCH_LINK = $(BENCH_WRAP)
$(BENCH_DIR)/waiting: BENCH_LINK = -Wl,--wrap=send
$(BENCH_DIR)/waiting: BENCH_FLAGS += -std=c11 -D_DEFAULT_SOURCE # memory that processes share
# No debug information: not every valgrind reads what clang writes, and names are enough.
$(BENCH_DIR)/cycle $(BENCH_DIR)/cycle-big: BENCH_FLAGS += -g0
bench bench-instructions test-programs: | $(BENCH_DIR)/cycle $(BENCH_DIR)/cycle-big
SCRIPTS += $(INSTRUCTIONS)

# What one lock costs beside others: the compiler counts basic blocks.
TESTS += $(MANY)
$(MANY): $(BENCH_DIR)/work.o
$(MANY): private BENCH_LINK = -fsanitize-coverage=trace-pc
test-programs: $(MANY)

bench-many: $(MANY) ## counts what one lock costs beside 100 to 100 000 others of its client; a minute
	@$< table

# Real time, and some minutes of it with other arguments: so it is in no other target.
STARVED := $(BENCH_DIR)/starved
$(STARVED): $(BENCH_DIR)/servers.o
test-programs: $(STARVED)

bench-starved: $(STARVED) ## keeps 30 000 locks on a fifth of a core, on real servers: none may be lost
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && $<

$(BENCH_DIR)/servers.o: tests/servers.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BENCH_DIR)/count.o $(BENCH_DIR)/work.o: $(BENCH_DIR)/%.o: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

-include $(wildcard $(BENCH_DIR)/*.d)
