# sim.mk: the deterministic simulator; included by the Makefile at the top.
#
#   SEED=N         replays one run, with its event log
#   SECONDS=N      for `make sim`, of each processor, and `make refine`; 60 by default
#   HOURS=N        for `make sim-soak`; 1 by default
#   KIND=WORD      for `make sim-soak`: fencing, handed, crowd, waiters, rolling or shifted

SIM        := $(BUILD)/tests/sim
SIM_SOURCE := $(wildcard tests/sim/*.h tests/sim/*.c tests/refine/*.h tests/induct/emitted/*.h) \
              tests/store.h tests/fenced.h redlock.h
SIM_FLAGS   = -std=c99 -D_DEFAULT_SOURCE -O1 $(WARNINGS) -I. -Itests/sim -Itests
SIM_LIBS   := $(SIM)/lib_default.o $(SIM)/lib_small.o $(SIM)/lib_large.o
SIM_TESTS  := $(SIM)/seeds $(SIM)/conformance
SIM_JOBS   := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
SEED       ?=
SECONDS    ?= 60
HOURS      ?= 1
KIND       ?=

.PHONY: sim refine sim-soak sim-test sim-hash

sim: $(SIM)/sim ## runs the simulator at random for a minute; SEED=N replays one run
ifeq ($(SEED),)
	@$(SIM)/sim --seconds=$(SECONDS) --jobs=$(SIM_JOBS) --logs=$(SIM) --coverage
else
	@$(SIM)/sim --seed=$(SEED) --replay
endif

refine: $(SIM)/sim ## holds random worlds of each kind to the proved models, tells each step and the cost; 2 minutes
	@$(SIM)/sim --seconds=$(SECONDS) --jobs=$(SIM_JOBS) --logs=$(SIM) --steps
	@tests/refine/cost.sh $(SIM)/sim

sim-soak: $(SIM)/sim ## the same for HOURS= hours; with KIND= worlds of that kind only
	@$(SIM)/sim --seconds=$$(($(HOURS) * 3600)) --jobs=$(SIM_JOBS) --logs=$(SIM) $(if $(KIND),--$(KIND),--coverage)

sim-test: $(SIM_TESTS) ## runs the simulator's part of `make test`
	@tests/run-tests $(SIM_TESTS)

sim-hash: ## compares the event logs of the same seeds between compilers
	@MAKE='$(MAKE)' tests/sim/hash.sh $(SIM)/hash

$(SIM)/lib_small.o: SIZE = -DREDLOCK_MAX_COMMANDS=4
$(SIM)/lib_large.o: SIZE = -DREDLOCK_MAX_COMMANDS=256
$(SIM_LIBS): $(SIM)/%.o: $(SIM_SOURCE)
	@mkdir -p $(@D)
	$(CC) $(SIM_FLAGS) $(CPPFLAGS) $(CFLAGS) $(SIZE) -DLIB=$* -c tests/sim/lib.c -o $@

$(SIM)/seeds.o: FEW = -DSIM_TEST=85
$(SIM)/main.o $(SIM)/seeds.o: $(SIM_SOURCE)
	@mkdir -p $(@D)
	$(CC) $(SIM_FLAGS) $(CPPFLAGS) $(CFLAGS) $(FEW) -c tests/sim/main.c -o $@

$(SIM)/sim: $(SIM)/main.o
$(SIM)/seeds: $(SIM)/seeds.o
$(SIM)/sim $(SIM)/seeds: $(SIM_LIBS)
	$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(SIM)/conformance: tests/sim/conformance.c tests/servers.c tests/servers.h tests/store.h tests/fenced.h \
                    tests/sim/base.h tests/check.h tests/inside.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(SIM_FLAGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.c,$^) $(LDLIBS) -o $@
