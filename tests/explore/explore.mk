# explore.mk: every schedule of small worlds of the header as shipped; included by the Makefile.
#
#   WORLD='NAME=VALUE ...'  for `make explore`: that world alone; build/tests/explore/explore-8
#                           lists what there is
#   MINUTES=N               for `make explore-deep`; 60 by default

EXPLORE        := $(BUILD)/tests/explore
EXPLORE_SOURCE := $(wildcard tests/explore/*.h tests/explore/main.c) tests/store.h tests/fenced.h \
                  tests/invariants.h $(wildcard tests/refine/*.h tests/induct/emitted/*.h) redlock.h
EXPLORE_FLAGS   = -std=c99 -D_DEFAULT_SOURCE -O1 $(WARNINGS) -I. -Itests
EXPLORE_TESTS  := tests/explore/worlds.sh
EXPLORERS      := $(EXPLORE)/explore-8 $(EXPLORE)/explore-4
WORLD          ?=

.PHONY: explore explore-deep explore-count explorers

explorers: $(EXPLORERS)

explore: $(EXPLORERS) ## every schedule of small worlds of the code itself; a minute; WORLD='clients=2 ...' for one
ifeq ($(WORLD),)
	@BUILD=$(BUILD) tests/explore/worlds.sh test more
else
	@$(EXPLORE)/explore-8 $(WORLD)
endif

explore-deep: $(EXPLORERS) ## the same for larger worlds, for MINUTES= (60), up to 8 GB, and an audit of each sort
	@BUILD=$(BUILD) AUDIT=1 tests/explore/worlds.sh test
	@BUILD=$(BUILD) MINUTES=$(if $(filter command environment,$(origin MINUTES)),$(MINUTES),60) tests/explore/worlds.sh deep

explore-count: $(EXPLORERS) ## writes the numbers of states in worlds.txt anew, after a change of the header
	@BUILD=$(BUILD) COUNT=1 tests/explore/worlds.sh test more >$(EXPLORE)/worlds.txt
	@mv $(EXPLORE)/worlds.txt tests/explore/worlds.txt
	@git diff --stat tests/explore/worlds.txt

$(EXPLORE)/explore-%: $(EXPLORE_SOURCE)
	@mkdir -p $(@D)
	$(CC) $(EXPLORE_FLAGS) $(CPPFLAGS) $(CFLAGS) -DRING=$* tests/explore/main.c $(LDFLAGS) \
	  $(LDLIBS) -o $@
