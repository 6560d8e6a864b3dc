# tls.mk: TLS by OpenSSL; included by the Makefile at the top. Without OpenSSL 3 the test says so,
# and the example is not built.

TLS_TESTS := $(BUILD)/tests/tls/openssl
TESTS     += $(TLS_TESTS)

# Looked for once, and only when something is built with it.
OPENSSL = $(eval OPENSSL := $(shell mkdir -p $(BUILD) && \
            tests/tls/libraries $(BUILD)/probe-openssl '$(CC)'))$(OPENSSL)

.PHONY: tls

tls: $(TLS_TESTS) ## 20 000 locks through small sockets over TLS, 128 at once
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	 CYCLES=20000 $(TLS_TESTS) many_cycles_in_small_buffers

$(TLS_TESTS): $(BUILD)/%: %.c $(BUILD)/tests/servers.o
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/tests/servers.o $(OPENSSL) -o $@

$(TLS_TESTS): private STANDARD += -D_DEFAULT_SOURCE # memory that two processes share

$(BUILD)/examples/tls: examples/tls.c examples/tls_openssl.h redlock.h
	@mkdir -p $(@D)
	@$(if $(OPENSSL),set -x;$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CFLAGS) $(LDFLAGS) $< \
	   $(OPENSSL) -o $@,echo 'examples/tls: not built, for OpenSSL 3 is not installed (libssl-dev)')

test-programs: $(TLS_TESTS) $(BUILD)/examples/tls

-include $(addsuffix .d,$(TLS_TESTS))
