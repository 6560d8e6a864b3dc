# examples.mk: the command, the examples, what is installed, and the command's tests.

# GNU's small letters, such as prefix=/usr, are heard where make is told them itself.
told          = $(if $(filter command%,$(origin $1)),$($1))
PREFIX       ?= $(or $(call told,prefix),/usr/local)
BINDIR       ?= $(or $(call told,bindir),$(PREFIX)/bin)
INCLUDEDIR   ?= $(or $(call told,includedir),$(PREFIX)/include)
MANDIR       ?= $(or $(call told,mandir),$(PREFIX)/share/man)
DOCDIR       ?= $(or $(call told,docdir),$(PREFIX)/share/doc/redlock)
PKGCONFIGDIR ?= $(PREFIX)/share/pkgconfig
BASHDIR      ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR       ?= $(PREFIX)/share/zsh/site-functions
CMAKEDIR     := $(PREFIX)/share/cmake/redlock# from which the prefix is found
DESTDIR      ?=

EXAMPLES  := $(patsubst examples/%.c,$(BUILD)/examples/%,\
               $(filter-out $(addprefix examples/,demo.c bare_metal.c tls.c libredlock.c),\
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

.PHONY: all redlock redlock-static examples install uninstall

redlock: $(BUILD)/redlock ## builds the command, which runs another one under a lock; TLS=1

redlock-static: $(BUILD)/redlock-static ## builds it as one static file, with musl-gcc

examples: $(EXAMPLES) $(BUILD)/examples/libredlock.so $(BUILD)/examples/guard $(BUILD)/examples/tls ## builds the examples in build/examples

all: redlock $(BUILD)/redlock.3 ## builds what install installs

# What root builds here is not in the way of the tree's owner.
install: all ## installs under DESTDIR and PREFIX, or prefix
	@examples/packaging/install $(BUILD)
	@[ "$$(id -u)" != 0 ] || chown -hR "$$(ls -ldn . | awk '{ print $$3 ":" $$4 }')" $(BUILD)

uninstall: ## removes what install has put there
	@examples/packaging/install $(BUILD) uninstall

$(foreach each,DESTDIR PREFIX BINDIR INCLUDEDIR MANDIR DOCDIR PKGCONFIGDIR BASHDIR ZSHDIR CMAKEDIR,\
  $(eval install uninstall: export $(each) := $$($(each))))

# With TLS=1 by OpenSSL. The stamp's name says which of the two was built last: that is installed.
ifneq ($(filter all install,$(MAKECMDGOALS)),)
TLS ?= $(patsubst $(BUILD)/redlock-tls-%,%,$(wildcard $(BUILD)/redlock-tls-*))
endif
COMMAND_NEEDS  := $(COMMAND) examples/redlock/command.h examples/tls_openssl.h redlock.h
COMMAND_TLS     = -DREDLOCK_COMMAND_TLS $(or $(OPENSSL),$(error TLS=1 needs OpenSSL 3: libssl-dev))

$(BUILD)/redlock: $(COMMAND_NEEDS) $(BUILD)/redlock-tls-$(TLS)
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) \
	  $(if $(TLS),$(COMMAND_TLS)) $(LDLIBS) -o $@

# The same of the static one. Debian's libssl-dev has a static OpenSSL for glibc, and none for musl.
STATIC_OPENSSL = $(or $(shell tests/tls/libraries $(BUILD)/probe-openssl '$(STATIC_CC) -static'),\
  $(error TLS=1: $(STATIC_CC) finds no static OpenSSL 3; STATIC_CC=cc finds that of libssl-dev))

$(BUILD)/redlock-tls-$(TLS) $(BUILD)/redlock-static-tls-$(TLS): $(BUILD)/%-tls-$(TLS):
	@mkdir -p $(@D)
	@rm -f $(BUILD)/$*-tls-* && touch $@

$(BUILD)/redlock-static: $(COMMAND_NEEDS) $(BUILD)/redlock-static-tls-$(TLS)
	@command -v $(firstword $(STATIC_CC)) >/dev/null || \
	  { echo '$(STATIC_CC) is not installed: install musl-tools, or set STATIC_CC'; exit 1; }
	$(STATIC_CC) $(STANDARD) $(WARNINGS) $(STATIC) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) \
	  $(if $(TLS),-DREDLOCK_COMMAND_TLS $(STATIC_OPENSSL)) $(LDLIBS) -o $@

$(BUILD)/examples/unit_test: $(wildcard tests/fake/fake*.h) tests/library.h tests/library.c \
                             tests/store.h tests/fenced.h
$(EXAMPLES): $(BUILD)/examples/%: examples/%.c redlock.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(LDLIBS) -o $@

$(BUILD)/examples/libredlock.so: examples/libredlock.c redlock.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -shared -fPIC -fvisibility=hidden -I. $(CPPFLAGS) $(CFLAGS) \
	  $(LDFLAGS) $< $(LDLIBS) -o $@

$(BUILD)/examples/guard: examples/guard.cpp examples/guard.hpp redlock.h
	@mkdir -p $(@D)
	@if command -v $(CXX) >/dev/null; then set -x; \
	   $(CXX) -std=c++11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -I. $(CPPFLAGS) $(CXXFLAGS) \
	   $(LDFLAGS) $< $(LDLIBS) -o $@; else echo 'examples/guard: not built, for there is no $(CXX)'; fi

$(BUILD)/examples/keep_thread $(BUILD)/tests/examples/keep_thread: private STANDARD += -pthread

# examples/bare_metal.c over toys in memory; `make portability` has it on lwIP itself.
BOARD := $(BUILD)/tests/portability/board
$(BOARD): tests/portability/board.c
	@mkdir -p $(@D)
	$(CC) -std=c99 -DREDLOCK_NO_POSIX -O2 $(WARNINGS) -I. -Itests/portability/board $(DEPENDS) \
	  $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(LDLIBS) -o $@

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
	$(CC) $(LOOP_FLAGS) $< $(LOOP_LIBS) $(LDLIBS) -o $@

examples: $(LOOP_PROGRAMS)

# The same for a test, which counts recv: where the linker can.
COUNTED_FLAGS = $(LOOP_FLAGS) tests/loops/told.c tests/bench/count.c $(BENCH_WRAP)
COUNTED := $(if $(filter Linux,$(shell uname -s)),$(filter libuv,$(LOOPS)) blocking)
COUNTED := $(COUNTED:%=$(BUILD)/tests/loops/%)
COUNTED_SOURCE := tests/loops/told.c tests/bench/count.c tests/bench/count.h \
                  examples/loops/cycles.h redlock.h

$(BUILD)/tests/loops/blocking: tests/loops/blocking.c $(COUNTED_SOURCE)
	@mkdir -p $(@D)
	$(CC) $< $(COUNTED_FLAGS) $(LDLIBS) -o $@

$(BUILD)/tests/loops/libuv: $(BUILD)/tests/loops/%: examples/loops/%.c $(COUNTED_SOURCE)
	@mkdir -p $(@D)
	$(CC) $< $(COUNTED_FLAGS) $(LOOP_LIBS) $(LDLIBS) -o $@

# Both manuals have the date of the first.
MANUAL_DATE = $(shell sed -n '1s/.*"\([0-9-]*\)".*/\1/p' examples/redlock/redlock.1)

# The manual of the interface is the header's own words.
$(BUILD)/redlock.3: redlock.h examples/redlock/manual.awk examples/redlock/redlock.1
	@mkdir -p $(@D)
	awk -v date=$(MANUAL_DATE) -f examples/redlock/manual.awk redlock.h >$@

# The tests run a command that is built as they are, with sanitizers. Where others look into
# /etc/redlock, it looks into a folder of where it is started.
TEST_FOLDER := '-DREDLOCK_COMMAND_FOLDER="redlock.etc"'

$(BUILD)/tests/command/redlock: $(COMMAND) examples/redlock/command.h redlock.h
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(TEST_FOLDER) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(COMMAND) \
	  $(LDLIBS) -o $@

$(COMMAND_TESTS): $(BUILD)/%: %.c $(BUILD)/tests/servers.o
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(BUILD)/tests/servers.o \
	  $(LDLIBS) -o $@

# What they run.
$(COMMAND_TESTS): | $(BUILD)/tests/command/redlock $(BUILD)/tests/command/refuse.so
$(BUILD)/tests/command/demo: | $(BUILD)/demo
$(BUILD)/tests/command/moved: | $(addprefix $(BUILD)/tests/examples/,keep_thread keepalive)
$(BUILD)/tests/command/fencing $(BUILD)/tests/command/reach: | $(BUILD)/tests/command/wall.so

$(BUILD)/tests/command/refuse.so: tests/command/preload/refuse.c
	@mkdir -p $(@D)
	$(CC) -O1 -Wall -Wextra -shared -fPIC $< -o $@ || echo "no test refuses a clock" >&2

# pseudo terminals, realpath
$(BUILD)/tests/command/terminal $(BUILD)/tests/command/host: private STANDARD += -D_XOPEN_SOURCE=700

test-programs: $(COUNTED) $(BOARD) $(BUILD)/examples/libredlock.so
test-programs: $(COMMAND_TESTS) $(BUILD)/tests/command/redlock $(BUILD)/redlock \
               $(shell command -v $(STATIC_CC) >/dev/null && echo $(BUILD)/redlock-static)

-include $(addsuffix .d,$(COMMAND_TESTS))
