# model.mk: explicit-state models of what the header does over servers; included by the Makefile at
# the top. They explore every state, rules taken away included, and need python3.
#
#   LONG=1     the largest ones too

MODELS := $(filter-out %/explore.py %/two_clients.py,$(wildcard tests/model/*.py))

.PHONY: model

model: ## explores every state of small models: exclusion, tokens, wake-ups, hand-over, restarts; 4 minutes, LONG=1 for more
	@if command -v python3 >/dev/null; then \
	   LONG=$(LONG) PYTHONDONTWRITEBYTECODE=1 TEST_LIMIT_S=1800 tests/run-tests $(MODELS); \
	 else \
	   echo '  skip  the models: python3 is not installed' && echo '0 passed, 0 failed, 1 skipped'; \
	 fi
