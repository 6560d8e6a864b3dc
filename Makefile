# make          lists what most want; make help-all lists the rest. It wants GNU make: FreeBSD's and
#               others' gmake.
# REDIS_SERVER  the server binary that tests and the demo use; found or installed if not given
# INSTALL_NOTHING=1  keeps tests and demo from installing a server (a package's build must not)
# SERVERS       what `make servers` builds: redis/sid redis/experimental valkey/sid; redis/bullseye

ifneq (,) # other makes know no such line, and go on to the next
.error redlock.h needs GNU make: call gmake
endif

CC ?= cc
BUILD := build
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef \
            -Wcast-qual -Wstrict-prototypes
STANDARD := -std=c99 -D_POSIX_C_SOURCE=200809L
ASSERT   := -include assert.h '-DREDLOCK_ASSERT(truth)=assert(truth)'

# Probed once, and only when a test is built.
SANITIZE = $(eval SANITIZE := $(shell mkdir -p $(BUILD) && tests/probe-flags $(BUILD)/probe $(CC) \
             -fsanitize=address,undefined -fno-sanitize-recover=all))$(SANITIZE)

TEST_FLAGS = $(STANDARD) $(OPTIMIZE) -g $(WARNINGS) $(ASSERT) $(SANITIZE) -I.
OPTIMIZE   = -O0# a test takes a sixth of the time to compile, and none more to run
DEPENDS    = -MMD -MP -MF $@.d -MT $@

UNIT  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c tests/fake/*.c))
REAL  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/redis/*.c))
TESTS := $(UNIT) $(REAL)
# Those that neither set options of the compiler nor look inside are linked with the header's
# implementation, which takes longer to compile than any of them.
LINKED := $(patsubst %.c,$(BUILD)/%,$(shell grep -LE 'define REDLOCK_|\b(rl|RL)_|inside\.h' \
            tests/fake/*.c tests/redis/*.c))
LIBRARY := $(BUILD)/tests/library.o
SCRIPTS := $(wildcard tests/unit/*.sh tests/redis/*.sh)

# What `make` lists.
WANTED := demo test all redlock redlock-static examples install uninstall bench readme clean
LISTED  = sed -n 's/^\([a-z-]*\):.*\#\# /\1	/p' $(MAKEFILE_LIST) | expand -t 22

.PHONY: help help-all demo test check test-programs readme servers version clean

help:
	@for each in $(WANTED); do $(LISTED) | grep "^$$each "; done
	@echo 'make help-all lists the other targets: for measuring, proving, soaking and trying to break it'

help-all: ## lists all of them
	@$(LISTED)

demo: $(BUILD)/demo ## shows five real servers: contended, killed, frozen, restarted, refused, fenced; 12 s
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && $(BUILD)/demo

test: ## runs every test, with one total at the end; REDIS_SERVER=/path picks the server
	@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j2) test-programs
	@REDIS_SERVER="$$(tests/find-redis)" || true; export REDIS_SERVER; \
	  tests/run-tests $(TESTS) $(SCRIPTS) $(SIM_TESTS) $(FUZZ_TESTS) $(EXPLORE_TESTS)

check: test ## the same, by its usual name in packages

test-programs: $(TESTS)

readme: ## runs what README.md and other pages give to make, as it stands; an hour at most
	@REDIS_SERVER="$$(tests/find-redis)" || true; export REDIS_SERVER; tests/run-readme

servers: ## builds other Redis and Valkey servers from Debian's source packages
	@tests/servers-from-source $(SERVERS)

version: ## prints the version, if header, README and this commit's tag agree on it
	@tests/version

clean: ## removes what was built
	rm -rf $(BUILD)

$(BUILD)/demo: examples/demo.c tests/servers.c redlock.h tests/servers.h tests/deployed.h \
               tests/hang.h tests/timing.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.c,$^) \
	  $(LDLIBS) -o $@

$(LINKED): $(LIBRARY)
$(LINKED): private LINK := -DTESTS_LINK
$(REAL): $(BUILD)/tests/servers.o

$(UNIT) $(REAL): $(BUILD)/%: %.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(LINK) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(filter %.o,$^) \
	  $(LDLIBS) -o $@

$(LIBRARY): private OPTIMIZE := -O1

$(BUILD)/tests/servers.o $(LIBRARY): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

-include $(addsuffix .d,$(TESTS) $(BUILD)/tests/servers.o $(LIBRARY))

# Each adds its tests to TESTS, and its own targets.
include tests/redis/soak.mk tests/sim/sim.mk tests/bench/bench.mk examples/examples.mk \
        tests/portability/portability.mk tests/mutants/mutants.mk \
        tests/coverage/coverage.mk tests/fuzz/fuzz.mk examples/fencing/fencing.mk \
        tests/chaos/chaos.mk tests/model/model.mk tests/prove/prove.mk tests/tls/tls.mk \
        tests/command/tried.mk tests/explore/explore.mk tests/fleet/fleet.mk tests/induct/induct.mk
test-programs: $(SIM_TESTS) $(FUZZ_TESTS) explorers
