# soak.mk: long runs on real servers, and what their tests need; included by the Makefile.
#
#   MINUTES=N   how long programs contend; 5 by default
#   RUNS=N      runs with servers that forget; 50 by default
#   ROUNDS=N    of `make flakes`; 5 by default. tests/flakes has the others: LOAD= and ONLY=

SOAK     := $(BUILD)/tests/redis
SOAK_S   := 20
MINUTES  ?= 5
RUNS     ?= 50

.PHONY: soak flakes

soak: $(SOAK)/forget $(SOAK)/contend ## runs 50 times with servers that forget, then contends for MINUTES=
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	 $(SOAK)/forget $(RUNS) && \
	 end=$$(($$(date +%s) + $(MINUTES) * 60)) && \
	 while left=$$(($$end - $$(date +%s))) && [ $$left -gt 0 ]; do \
	   echo "== contend, $$left s to go" && $(SOAK)/contend $(SOAK_S) || exit 1; \
	 done

# Most of their lists are set later: they are complete when the recipe runs.
flakes: test-programs ## runs the tests with servers ROUNDS=5 times beside LOAD=8 busy loops
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	 tests/flakes $(REAL) $(COMMAND_TESTS) $(TLS_TESTS) $(wildcard tests/redis/*.sh)

# A test that sets a clock is skipped where this cannot be built, or does not suit the server.
$(SOAK)/forget_unseen $(SOAK)/fencing_stores: | $(SOAK)/wall.so

$(SOAK)/wall.so $(BUILD)/tests/chaos/wall.so $(BUILD)/tests/command/wall.so: \
    tests/redis/preload/wall.c
	@mkdir -p $(@D)
	$(CC) -O1 -Wall -Wextra -shared -fPIC $< -o $@ || echo "no test sets a clock" >&2
