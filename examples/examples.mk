# examples.mk: the command, the examples, what is installed, and the command's tests.

PREFIX       ?= /usr/local
BINDIR       ?= $(PREFIX)/bin
INCLUDEDIR   ?= $(PREFIX)/include
MANDIR       ?= $(PREFIX)/share/man
PKGCONFIGDIR ?= $(PREFIX)/share/pkgconfig
BASHDIR      ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR       ?= $(PREFIX)/share/zsh/site-functions
DESTDIR      ?=

# What is installed: file:mode:where to
INSTALLED = $(BUILD)/redlock:755:$(BINDIR)/redlock \
            redlock.h:644:$(INCLUDEDIR)/redlock.h \
            examples/redlock/redlock.1:644:$(MANDIR)/man1/redlock.1 \
            $(BUILD)/redlock.3:644:$(MANDIR)/man3/redlock.3 \
            $(BUILD)/redlock.pc:644:$(PKGCONFIGDIR)/redlock.pc \
            examples/redlock/redlock.bash:644:$(BASHDIR)/redlock \
            examples/redlock/_redlock:644:$(ZSHDIR)/_redlock

VERSION    = $(shell sed -n 's/^\#define REDLOCK_VERSION "\(.*\)"/\1/p' redlock.h)
EXAMPLES  := $(patsubst examples/%.c,$(BUILD)/examples/%,\
               $(filter-out examples/demo.c examples/bare_metal.c examples/tls.c,\
                 $(wildcard examples/*.c)))
ifneq ($(shell uname -s),Linux) # it has no epoll, and perhaps no ppoll
EXAMPLES  := $(filter-out %/many_locks %/wait_for_child,$(EXAMPLES))
endif
COMMAND   := $(wildcard examples/redlock/*.c)
STATIC_CC ?= musl-gcc
STATIC    := -static -Os -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables \
             -fno-pie -no-pie -Wl,--gc-sections,--build-id=none,-z,noseparate-code -s

COMMAND_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/command/*.c))
TESTS += $(COMMAND_TESTS)

.PHONY: redlock redlock-static examples install uninstall always

redlock: $(BUILD)/redlock ## builds the command, which runs another one under a lock; TLS=1

redlock-static: $(BUILD)/redlock-static ## builds it as one static file, with musl-gcc

examples: $(EXAMPLES) $(BUILD)/examples/guard $(BUILD)/examples/tls ## builds the examples in build/examples

install: redlock $(BUILD)/redlock.3 $(BUILD)/redlock.pc ## installs under DESTDIR and PREFIX
	@for each in $(INSTALLED); do \
	  file=$${each%%:*} to=$(DESTDIR)$${each##*:} mode=$${each#*:} && \
	  echo "$$to" && install -d "$${to%/*}" && install -m $${mode%%:*} "$$file" "$$to" || exit 1; \
	done

uninstall: ## removes what install has put there
	@for each in $(INSTALLED); do rm -f "$(DESTDIR)$${each##*:}" || exit 1; done

# With TLS=1 by OpenSSL. The stamp's name says which of the two was built last: that is installed.
ifneq ($(filter install,$(MAKECMDGOALS)),)
TLS ?= $(patsubst $(BUILD)/redlock-tls-%,%,$(wildcard $(BUILD)/redlock-tls-*))
endif
COMMAND_NEEDS  := $(COMMAND) examples/redlock/command.h examples/tls_openssl.h redlock.h
COMMAND_TLS     = -DREDLOCK_COMMAND_TLS $(or $(OPENSSL),$(error TLS=1 needs OpenSSL 3: libssl-dev))

$(BUILD)/redlock: $(COMMAND_NEEDS) $(BUILD)/redlock-tls-$(TLS)
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) \
	  $(if $(TLS),$(COMMAND_TLS)) -o $@

$(BUILD)/redlock-tls-$(TLS):
	@mkdir -p $(@D)
	@rm -f $(BUILD)/redlock-tls-* && touch $@

$(BUILD)/redlock-static: $(COMMAND) examples/redlock/command.h redlock.h
	@mkdir -p $(@D)
	@command -v $(firstword $(STATIC_CC)) >/dev/null || \
	  { echo '$(STATIC_CC) is not installed: install musl-tools, or set STATIC_CC'; exit 1; }
	$(STATIC_CC) $(STANDARD) $(WARNINGS) $(STATIC) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) -o $@

$(BUILD)/examples/unit_test: $(wildcard tests/fake/fake*.h) tests/library.h tests/library.c \
                             tests/store.h tests/fenced.h
$(EXAMPLES): $(BUILD)/examples/%: examples/%.c redlock.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< -o $@

$(BUILD)/examples/guard: examples/guard.cpp examples/guard.hpp redlock.h
	@mkdir -p $(@D)
	@if command -v $(CXX) >/dev/null; then set -x; \
	   $(CXX) -std=c++11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -I. $(CPPFLAGS) $(CXXFLAGS) \
	   $(LDFLAGS) $< -o $@; else echo 'examples/guard: not built, for there is no $(CXX)'; fi

$(BUILD)/examples/keep_thread $(BUILD)/tests/examples/keep_thread: private STANDARD += -pthread

# examples/bare_metal.c over toys in memory; `make portability` has it on lwIP itself.
BOARD := $(BUILD)/tests/portability/board
$(BOARD): tests/portability/board.c
	@mkdir -p $(@D)
	$(CC) -std=c99 -DREDLOCK_NO_POSIX -O2 $(WARNINGS) -I. -Itests/portability/board $(DEPENDS) \
	  $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< -o $@

-include $(BOARD).d

# The loops of other libraries, each where pkg-config knows it.
PKG_CONFIG   ?= pkg-config
PACKAGE_libuv    := libuv
PACKAGE_libevent := libevent_core
PACKAGE_glib     := glib-2.0
LOOPS := $(foreach loop,libuv libevent glib,\
           $(if $(shell $(PKG_CONFIG) --exists $(PACKAGE_$(loop)) 2>/dev/null && echo yes),$(loop)))
LOOP_PROGRAMS := $(LOOPS:%=$(BUILD)/examples/loops/%)
LOOP_FLAGS = $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
LOOP_LIBS  = $$($(PKG_CONFIG) --cflags --libs $(PACKAGE_$*))

$(LOOP_PROGRAMS): $(BUILD)/examples/loops/%: examples/loops/%.c examples/loops/cycles.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(LOOP_FLAGS) $< $(LOOP_LIBS) -o $@

examples: $(LOOP_PROGRAMS)

# The same for a test, which counts recv: where the linker can.
COUNTED_FLAGS = $(LOOP_FLAGS) tests/loops/told.c tests/bench/count.c $(BENCH_WRAP)
COUNTED := $(if $(filter Linux,$(shell uname -s)),$(filter libuv,$(LOOPS)) blocking)
COUNTED := $(COUNTED:%=$(BUILD)/tests/loops/%)
COUNTED_SOURCE := tests/loops/told.c tests/bench/count.c tests/bench/count.h \
                  examples/loops/cycles.h redlock.h

$(BUILD)/tests/loops/blocking: tests/loops/blocking.c $(COUNTED_SOURCE)
	@mkdir -p $(@D)
	$(CC) $< $(COUNTED_FLAGS) -o $@

$(BUILD)/tests/loops/libuv: $(BUILD)/tests/loops/%: examples/loops/%.c $(COUNTED_SOURCE)
	@mkdir -p $(@D)
	$(CC) $< $(COUNTED_FLAGS) $(LOOP_LIBS) -o $@

# Both manuals have the date of the first.
MANUAL_DATE = $(shell sed -n '1s/.*"\([0-9-]*\)".*/\1/p' examples/redlock/redlock.1)

# The manual of the interface is the header's own words.
$(BUILD)/redlock.3: redlock.h examples/redlock/manual.awk examples/redlock/redlock.1
	@mkdir -p $(@D)
	awk -v date=$(MANUAL_DATE) -f examples/redlock/manual.awk redlock.h >$@

# Made anew each time: it holds PREFIX.
$(BUILD)/redlock.pc: always
	@mkdir -p $(@D)
	@{ echo 'prefix=$(PREFIX)'; echo 'includedir=$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)'; echo; \
	   echo 'Name: redlock'; echo 'Description: the Redlock distributed lock in one C header'; \
	   echo 'Version: $(VERSION)'; echo 'Cflags: -I$${includedir}'; } >$@

# The tests run a command that is built as they are, with sanitizers.
$(BUILD)/tests/command/redlock: $(COMMAND) examples/redlock/command.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) -o $@

$(COMMAND_TESTS): $(BUILD)/%: %.c $(BUILD)/tests/servers.o
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/tests/servers.o -o $@

$(BUILD)/tests/command/demo: | $(BUILD)/demo
$(BUILD)/tests/command/denied: | $(BUILD)/tests/command/refuse.so
$(BUILD)/tests/command/fencing: | $(BUILD)/tests/command/wall.so

$(BUILD)/tests/command/refuse.so: tests/command/preload/refuse.c
	@mkdir -p $(@D)
	$(CC) -O1 -Wall -Wextra -shared -fPIC $< -o $@ || echo "no test refuses a clock" >&2

$(BUILD)/tests/command/terminal: private STANDARD += -D_XOPEN_SOURCE=700 # pseudo terminals

test-programs: $(COUNTED) $(BOARD)
test-programs: $(COMMAND_TESTS) $(BUILD)/tests/command/redlock $(BUILD)/redlock \
               $(shell command -v $(STATIC_CC) >/dev/null && echo $(BUILD)/redlock-static)

-include $(addsuffix .d,$(COMMAND_TESTS))
