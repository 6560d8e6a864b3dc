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

crowd: $(FLEET)/crowd ## up to thousands that wait for one lock, near and far, in virtual time; half a minute
	@$(FLEET)/crowd

$(FLEET)/crowd: tests/fleet/crowd.c tests/fleet/crowd.h tests/store.h tests/check.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(FLEET_FLAGS) $(CPPFLAGS) $(CFLAGS) $< $(LDFLAGS) $(LDLIBS) -o $@
