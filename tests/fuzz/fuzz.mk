# fuzz.mk: random input for the reply parser, the list and the whole client; included by the
# Makefile at the top.
#
#   RUNS=N     executions of each target; 1 000 000 by default
#   SECONDS=N  the most that each may take; 60 by default
#   FUZZ='parser list client client_small'  these alone
#   FUZZ_SEED=N
#
# A finding stays in build/fuzz/TARGET-crash-*: `build/fuzz/TARGET FILE` runs it again, with
# FUZZ_TRACE=1 event by event; tests/fuzz/pack makes a line of the corpus of it.

FUZZ       ?= parser list client client_small
FUZZ_CLANG ?= clang
FUZZ_SEED  ?= 0
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ_TESTS := $(addprefix $(BUILD)/tests/fuzz/,parser list client client_small)
FUZZ_HERE   = tests/fuzz/ignored.txt
FUZZ_SMALL := -DREDLOCK_MAX_COMMANDS=4

# libFuzzer where clang has it; else a plain loop. Coverage of the fakes would only slow it down.
FUZZ_ENGINE = $(eval FUZZ_ENGINE := $(shell mkdir -p $(BUILD) && echo \
  'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }' | \
  $(FUZZ_CLANG) -fsanitize=fuzzer,address,undefined -x c - -o $(BUILD)/probe 2>/dev/null && \
  echo libfuzzer || echo loop))$(FUZZ_ENGINE)
FUZZ_LIB    = $(FUZZ_CLANG) $(STANDARD) -O2 -g $(WARNINGS) $(ASSERT) -I. \
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  -fsanitize-ignorelist=$(FUZZ_HERE) -fsanitize-coverage-ignorelist=$(FUZZ_HERE) \
  $(if $(filter client%,$(@F)),-fno-sanitize-coverage=trace-cmp)
FUZZ_LOOP   = $(CC) $(TEST_FLAGS) -O2 tests/fuzz/driver.c
FUZZ_CC     = $(if $(filter libfuzzer,$(FUZZ_ENGINE)),$(FUZZ_LIB),$(FUZZ_LOOP))
FUZZ_CORPUS = -DFUZZ_CORPUS='"tests/fuzz/corpus/$(patsubst %_small,%,$(@F)).txt"'

.PHONY: fuzz

fuzz: $(addprefix $(FUZZ_BUILD)/,$(FUZZ)) ## feeds parser, list and client random input; RUNS= SECONDS=
	@RUNS=$(if $(filter command environment,$(origin RUNS)),$(RUNS),1000000) SECONDS=$(SECONDS) \
	  SEED=$(FUZZ_SEED) tests/fuzz/run $(FUZZ_BUILD) $(FUZZ)

$(addprefix $(FUZZ_BUILD)/,parser list client): $(FUZZ_BUILD)/%: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CORPUS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< -o $@

$(FUZZ_BUILD)/client_small: tests/fuzz/client.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_SMALL) $(FUZZ_CORPUS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< -o $@

# `make test` replays the corpus, with any compiler.
$(BUILD)/tests/fuzz/parser $(BUILD)/tests/fuzz/list $(BUILD)/tests/fuzz/client: \
    $(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/driver.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(FUZZ_CORPUS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.c,$^) -o $@

$(BUILD)/tests/fuzz/client_small: tests/fuzz/client.c tests/fuzz/driver.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(FUZZ_SMALL) $(FUZZ_CORPUS) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) \
	  $(filter %.c,$^) -o $@

-include $(addsuffix .d,$(FUZZ_TESTS) $(addprefix $(FUZZ_BUILD)/,$(FUZZ)))
