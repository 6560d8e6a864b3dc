# tls.mk: TLS by OpenSSL; included by the Makefile at the top. Without OpenSSL 3 the test says so,
# and the example is not built.
#
#   CYCLES=N   locks that `make tls` takes; 20 000 by default
#   FLOOD_S=N  seconds beside each flood of `make floods`; 3 by default

CYCLES  ?= 20000
FLOOD_S ?= 3

TLS_TESTS := $(addprefix $(BUILD)/tests/tls/,openssl bounded command)
TESTS     += $(TLS_TESTS)

# Looked for once, and only when something is built with it.
OPENSSL = $(eval OPENSSL := $(shell mkdir -p $(BUILD) && \
            tests/tls/libraries $(BUILD)/probe-openssl '$(CC)'))$(OPENSSL)

.PHONY: tls floods

tls: $(BUILD)/tests/tls/openssl ## takes CYCLES=20000 locks over TLS, 128 at once, through small sockets
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	 CYCLES=$(CYCLES) $(BUILD)/tests/tls/openssl many_cycles_in_small_buffers

floods: $(BUILD)/floods $(BUILD)/floods-redlock ## prints how long a step takes beside TLS peers without end; FLOOD_S=3 for each
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	 REDLOCK=$(BUILD)/floods-redlock FLOODS=$(FLOOD_S) $(BUILD)/floods

# Both without sanitizers: they measure time and memory.
$(BUILD)/floods: tests/tls/bounded.c tests/tls/flood.h tests/tls/fake_server.h tests/servers.c \
                 examples/tls_openssl.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -D_DEFAULT_SOURCE -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) \
	  $(filter %.c,$^) $(OPENSSL) $(LDLIBS) -o $@

$(BUILD)/floods-redlock: $(COMMAND_NEEDS)
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) \
	  $(COMMAND_TLS) $(LDLIBS) -o $@

$(TLS_TESTS): $(BUILD)/%: %.c $(BUILD)/tests/servers.o
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/tests/servers.o \
	  $(OPENSSL) $(LDLIBS) -o $@

$(TLS_TESTS): private STANDARD += -D_DEFAULT_SOURCE # memory that processes share

$(BUILD)/tests/tls/command: | $(BUILD)/tests/command/refuse.so

# The command with TLS, built as the tests are.
$(BUILD)/tests/tls/redlock: $(COMMAND_NEEDS)
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(TEST_FOLDER) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) \
	  $(if $(OPENSSL),$(COMMAND_TLS)) $(LDLIBS) -o $@

$(BUILD)/examples/tls: examples/tls.c examples/tls_openssl.h redlock.h
	@mkdir -p $(@D)
	@$(if $(OPENSSL),set -x;$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< \
	   $(OPENSSL) $(LDLIBS) -o $@,echo 'examples/tls: not built, for OpenSSL 3 is not installed (libssl-dev)')

# The same as the tests run it: what it leaks is found.
$(BUILD)/tests/examples/tls: examples/tls.c $(LIBRARY)
	@mkdir -p $(@D)
	@$(if $(OPENSSL),set -x;$(CC) $(TEST_FLAGS) -DREDLOCK_IMPLEMENTED $(DEPENDS) $(CPPFLAGS) \
	   $(CFLAGS) $(LDFLAGS) $< $(filter %.o,$^) $(OPENSSL) $(LDLIBS) -o $@,:)

test-programs: $(TLS_TESTS) $(BUILD)/tests/tls/redlock $(BUILD)/tests/examples/tls

-include $(addsuffix .d,$(TLS_TESTS) $(BUILD)/tests/examples/tls)
