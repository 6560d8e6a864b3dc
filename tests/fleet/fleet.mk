# fleet.mk: thousands of clients in virtual time; included by the Makefile at the top.

FLEET := $(BUILD)/tests/fleet
FLEET_FLAGS = $(STANDARD) -O2 -g $(WARNINGS) -I. -Itests
FLEET_PLANT := roll-back-on-new-socket

.PHONY: fleet

# And with a bug that each fleet must notice: a reply that is late costs the connection.
fleet: $(FLEET)/fleet $(FLEET)/planted ## thousands of clients whose servers restart, freeze or are cut off; half a minute
	@$(FLEET)/fleet
	@echo "the same with the bug $(FLEET_PLANT):"
	@if $(FLEET)/planted a_fleet_that_needs_seconds_to_connect_recovers \
	  >$(FLEET)/planted.txt; then echo '  NOT CAUGHT'; exit 1; else echo '  caught'; fi

$(FLEET)/fleet: tests/fleet/fleet.c tests/fleet/network.h tests/store.h tests/check.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(FLEET_FLAGS) $(CPPFLAGS) $(CFLAGS) $< $(LDFLAGS) $(LDLIBS) -o $@

$(FLEET)/planted: $(FLEET)/fleet tests/mutants/bugs/connections.txt
	@mkdir -p $(FLEET)/header
	@tests/mutants/run plant $(FLEET_PLANT) >$(FLEET)/header/redlock.h
	$(CC) -I$(FLEET)/header $(FLEET_FLAGS) $(CPPFLAGS) $(CFLAGS) tests/fleet/fleet.c $(LDFLAGS) \
	  $(LDLIBS) -o $@

.PHONY: crowd

CROWD_PLANT := a-holder-that-stays-for-ever

# And with a bug that starves waiters.
crowd: $(FLEET)/crowd $(FLEET)/crowd-planted ## up to thousands that wait for one lock, near and far, beside earlier versions, in virtual time; a minute
	@$(FLEET)/crowd
	@echo "the same with the bug $(CROWD_PLANT):"
	@if $(FLEET)/crowd-planted other_libraries_keep_nobody_back >$(FLEET)/crowd-planted.txt; \
	  then echo '  NOT CAUGHT'; exit 1; else echo '  caught'; fi

# The headers of earlier versions are in the history of git, where there is one.
VERSIONS   := 1_2 1_1 1_0
COMMIT_1_2 := 8e06ed0
COMMIT_1_1 := c8403e3
COMMIT_1_0 := e1a7d05

$(FLEET)/crowd: $(FLEET)/engine-today.o
$(FLEET)/crowd-planted: $(FLEET)/engine-planted.o
$(FLEET)/crowd $(FLEET)/crowd-planted: tests/fleet/crowd.c tests/fleet/crowd.h tests/fleet/engine.h \
    tests/store.h tests/check.h redlock.h $(VERSIONS:%=$(FLEET)/engine-%.o)
	$(CC) $(FLEET_FLAGS) $(CPPFLAGS) $(CFLAGS) $< $(filter %.o,$^) $(LDFLAGS) $(LDLIBS) -o $@

$(FLEET)/engine-today.o: tests/fleet/engine.c tests/fleet/engine.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(FLEET_FLAGS) $(CPPFLAGS) $(CFLAGS) -DENGINE=engine_today -DVERSION=today -c $< -o $@

$(FLEET)/engine-planted.o: tests/fleet/engine.c tests/fleet/engine.h redlock.h \
                           tests/mutants/bugs/waiting.txt
	@mkdir -p $(FLEET)/engine-planted
	@tests/mutants/run plant $(CROWD_PLANT) >$(FLEET)/engine-planted/redlock.h
	$(CC) -I$(FLEET)/engine-planted $(FLEET_FLAGS) $(CPPFLAGS) $(CFLAGS) -DENGINE=engine_today \
	  -DVERSION=planted -c $< -o $@

$(VERSIONS:%=$(FLEET)/engine-%.o): $(FLEET)/engine-%.o: tests/fleet/engine.c \
    tests/fleet/engine.h $(FLEET)/engine-%/redlock.h
	$(CC) -I$(FLEET)/engine-$* $(FLEET_FLAGS) $(CPPFLAGS) $(CFLAGS) -w -DENGINE=engine_$* \
	  -DVERSION=$(subst _,.,$*) -c $< -o $@

$(FLEET)/engine-%/redlock.h:
	@mkdir -p $(@D)
	@git show $(COMMIT_$*):redlock.h >$@ 2>/dev/null || \
	  { cp redlock.h $@ && echo '#define NO_ENGINE' >>$@; }

.PRECIOUS: $(FLEET)/engine-%/redlock.h
