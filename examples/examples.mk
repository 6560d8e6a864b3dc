# examples.mk: the command, the examples, what is installed, and the command's tests.

PREFIX  ?= /usr/local
DESTDIR ?=

VERSION    = $(shell sed -n 's/^\#define REDLOCK_VERSION "\(.*\)"/\1/p' redlock.h)
EXAMPLES  := $(patsubst examples/%.c,$(BUILD)/examples/%,\
               $(filter-out examples/redlock.c examples/demo.c,$(wildcard examples/*.c)))
STATIC_CC ?= musl-gcc
STATIC    := -static -Os -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables \
             -fno-pie -no-pie -Wl,--gc-sections,--build-id=none,-z,noseparate-code -s

COMMAND_SCRIPTS := $(wildcard tests/command/*.sh)
COMMAND_TESTS   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/command/*.c))
TESTS += $(COMMAND_TESTS) $(COMMAND_SCRIPTS)

.PHONY: redlock redlock-static examples install always

redlock: $(BUILD)/redlock ## the command: runs another one under a lock

redlock-static: $(BUILD)/redlock-static ## the same as one static file, with musl-gcc

examples: $(EXAMPLES) ## the examples, in build/examples

install: redlock $(BUILD)/redlock.3 $(BUILD)/redlock.pc ## into DESTDIR and PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include \
	  $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man3 \
	  $(DESTDIR)$(PREFIX)/share/pkgconfig
	install -m 755 $(BUILD)/redlock $(DESTDIR)$(PREFIX)/bin/
	install -m 644 redlock.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 examples/redlock.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(BUILD)/redlock.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	install -m 644 $(BUILD)/redlock.pc $(DESTDIR)$(PREFIX)/share/pkgconfig/

$(BUILD)/redlock: examples/redlock.c redlock.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CFLAGS) $(LDFLAGS) $< -o $@

$(BUILD)/redlock-static: examples/redlock.c redlock.h
	@mkdir -p $(@D)
	$(STATIC_CC) $(STANDARD) $(WARNINGS) $(STATIC) -I. $(CFLAGS) $(LDFLAGS) $< -o $@

$(EXAMPLES): $(BUILD)/examples/%: examples/%.c redlock.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CFLAGS) $(LDFLAGS) $< -o $@

$(BUILD)/examples/bare_metal: STANDARD := -std=c99 -DREDLOCK_NO_POSIX

$(BUILD)/redlock.3: redlock.h examples/manual.awk
	@mkdir -p $(@D)
	awk -f examples/manual.awk redlock.h >$@

# Made anew each time: it holds PREFIX.
$(BUILD)/redlock.pc: always
	@mkdir -p $(@D)
	@{ echo 'prefix=$(PREFIX)'; echo 'includedir=$${prefix}/include'; echo; \
	   echo 'Name: redlock'; echo 'Description: the Redlock distributed lock in one C header'; \
	   echo 'Version: $(VERSION)'; echo 'Cflags: -I$${includedir}'; } >$@

# The tests run a command that is built as they are, with sanitizers.
$(BUILD)/tests/command/redlock: examples/redlock.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CFLAGS) $(LDFLAGS) $< -o $@

$(COMMAND_TESTS): $(BUILD)/%: %.c $(BUILD)/tests/servers.o
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/tests/servers.o -o $@

test-programs: $(COMMAND_TESTS) $(BUILD)/tests/command/redlock $(BUILD)/redlock $(EXAMPLES)

-include $(addsuffix .d,$(COMMAND_TESTS) $(BUILD)/tests/command/redlock)
