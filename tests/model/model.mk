# model.mk: explicit-state models of what the header does over servers; included by the Makefile at
# the top. They explore every state, rules taken away included, and need python3, and Spin for one.
#
#   LONG=1     the largest ones too
#   LIMIT_S=N  the most that each check by Spin may take; 300 by default

MODELS := tests/model/fencing_quorum.sh \
          $(if $(shell command -v python3),$(filter-out %/explore.py,$(wildcard tests/model/*.py)))

.PHONY: model

model: ## explores every state of small models: exclusion, tokens, wake-ups, hand-over, restarts; 7 minutes, LONG=1 for more
	$(if $(filter %.py,$(MODELS)),,@echo "  skip  the models in Python: python3 is not installed")
	@LONG=$(LONG) PYTHONDONTWRITEBYTECODE=1 TEST_LIMIT_S=1800 tests/run-tests $(MODELS)
