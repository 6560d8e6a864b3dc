# model.mk: explicit-state models of what the header does over servers; included by the Makefile at
# the top. They explore every state, rules taken away included, and need python3. What is proved for
# any number of clients and servers is in tests/induct.

MODELS := $(filter-out %/explore.py,$(wildcard tests/model/*.py))

.PHONY: model

model: ## explores every state of small models: wake-ups, hand-over, losses, and why clients propose tokens; a minute
	@if command -v python3 >/dev/null; then \
	   PYTHONDONTWRITEBYTECODE=1 TEST_LIMIT_S=1800 tests/run-tests $(MODELS); \
	 else \
	   echo '  skip  the models: python3 is not installed' && echo '0 passed, 0 failed, 1 skipped'; \
	 fi
