# fuzz.mk: random input for the list, the whole client and the whole command; included by the
# Makefile at the top.
#
#   RUNS=N     executions of each target; 1 000 000 by default
#   SECONDS=N  the most that each may take; 60 by default
#   FUZZ='list client client_small hostile command'  these alone
#   FUZZ_COMMAND=FOLDER  another copy of examples/redlock
#   FUZZ_SEED=N
#
# A finding stays in build/fuzz/TARGET-crash-*: `build/fuzz/TARGET FILE` runs it again, with
# FUZZ_TRACE=1 event by event; tests/fuzz/pack makes a line of the corpus of it.

FUZZ       ?= list client client_small hostile command
FUZZ_CLANG ?= clang
FUZZ_SEED  ?= 0
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ_TESTS := $(addprefix $(BUILD)/tests/fuzz/,list client client_small hostile command)
FUZZ_HERE   = tests/fuzz/ignored.txt
FUZZ_SMALL := -DREDLOCK_MAX_COMMANDS=4

# Coverage of the fakes would only slow it down.
FUZZ_PROBE  = mkdir -p $(BUILD) && echo \
  'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }' | \
  $(FUZZ_CLANG) -fsanitize=fuzzer,address,undefined -x c - -o $(BUILD)/probe 2>/dev/null
FUZZ_CC     = $(FUZZ_CLANG) $(STANDARD) -O2 -g $(WARNINGS) $(ASSERT) -I. \
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  -fsanitize-ignorelist=$(FUZZ_HERE) -fsanitize-coverage-ignorelist=$(FUZZ_HERE) \
  $(if $(filter client%,$(@F)),-fno-sanitize-coverage=trace-cmp)
FUZZ_CORPUS = -DFUZZ_CORPUS='"tests/fuzz/corpus/$(patsubst %_small,%,$*).txt"'

.PHONY: fuzz

fuzz: ## feeds list, client and command random input, with clang's libFuzzer; RUNS= SECONDS=
	@$(FUZZ_PROBE) || { echo "$(FUZZ_CLANG) has no libFuzzer: install clang and its compiler-rt"; \
	  echo "0 passed, 0 failed, 1 skipped"; exit; } && \
	  $(MAKE) --no-print-directory $(addprefix $(FUZZ_BUILD)/,$(FUZZ)) && \
	  RUNS=$(if $(filter command environment,$(origin RUNS)),$(RUNS),1000000) SECONDS=$(SECONDS) \
	  SEED=$(FUZZ_SEED) tests/fuzz/run $(FUZZ_BUILD) $(FUZZ)

$(addprefix $(FUZZ_BUILD)/,list client hostile): $(FUZZ_BUILD)/%: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(LDLIBS) -o $@

$(FUZZ_BUILD)/client_small: tests/fuzz/client.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_SMALL) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(LDLIBS) -o $@

# `make test` replays the corpus, with any compiler; one source at a time: of several, compilers note
# only the last one's dependencies.
$(FUZZ_TESTS:%=%.driver.o): $(BUILD)/tests/fuzz/%.driver.o: tests/fuzz/driver.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(FUZZ_CORPUS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(FUZZ_TESTS): %: %.driver.o

$(addprefix $(BUILD)/tests/fuzz/,list client hostile): $(BUILD)/tests/fuzz/%: tests/fuzz/%.c
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(filter %.o,$^) $(LDLIBS) -o $@

$(BUILD)/tests/fuzz/client_small: tests/fuzz/client.c
	$(CC) $(TEST_FLAGS) $(FUZZ_SMALL) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(filter %.o,$^) \
	  $(LDLIBS) -o $@

# The command in a system of the target's own: tests/fuzz/system.h. Its objects lie between edges.
FUZZ_COMMAND ?= examples/redlock
FUZZ_CALLS   := open mkstemp rename unlink fstat lstat stat ftruncate read write pwrite readlink \
                opendir close access fsync dup fcntl setsockopt clock_gettime poll fork pipe \
                waitpid waitid getpgid kill raise syscall sigaction sigprocmask setitimer getenv \
                gethostname getrandom exit _exit
FUZZ_NET     := socket connect send recv getaddrinfo freeaddrinfo# redlock.c renames these itself
FUZZ_SYSTEM   = -Dmain=redlock_main \
  $(foreach call,$(FUZZ_CALLS) $(if $(filter redlock,$*),,$(FUZZ_NET)),-D$(call)=fuzz_$(call))
FUZZ_OBJECTS := begin $(patsubst examples/redlock/%.c,%,$(wildcard examples/redlock/*.c)) end

$(FUZZ_BUILD)/command: $(FUZZ_OBJECTS:%=$(FUZZ_BUILD)/command.o/%.o) tests/fuzz/command.c
	$(FUZZ_CC) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) tests/fuzz/command.c \
	  $(filter %.o,$^) $(LDLIBS) -o $@

$(BUILD)/tests/fuzz/command: tests/fuzz/command.c \
                             $(FUZZ_OBJECTS:%=$(BUILD)/tests/fuzz/command.o/%.o)
	$(CC) $(TEST_FLAGS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(filter %.o,$^) $(LDLIBS) -o $@

$(FUZZ_BUILD)/command.o/%.o: $(FUZZ_COMMAND)/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_SYSTEM) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/tests/fuzz/command.o/%.o: $(FUZZ_COMMAND)/%.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(FUZZ_SYSTEM) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(addprefix $(FUZZ_BUILD)/command.o/,begin.o end.o): $(FUZZ_BUILD)/command.o/%.o: tests/fuzz/edge.c
	@mkdir -p $(@D)
	$(FUZZ_CC) '-DEDGE(part)=$*_##part' -c $< -o $@

$(addprefix $(BUILD)/tests/fuzz/command.o/,begin.o end.o): $(BUILD)/tests/fuzz/command.o/%.o: \
                                                           tests/fuzz/edge.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) '-DEDGE(part)=$*_##part' -c $< -o $@

-include $(wildcard $(FUZZ_BUILD)/command.o/*.d $(BUILD)/tests/fuzz/command.o/*.d)
-include $(addsuffix .d,$(FUZZ_TESTS) $(FUZZ_TESTS:%=%.driver.o) $(addprefix $(FUZZ_BUILD)/,$(FUZZ)))
