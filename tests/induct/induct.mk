# induct.mk: proofs for any number of clients and servers, by z3, of models of what the header does;
# included by the Makefile at the top. They need Debian's python3-z3.
#
#   CVC5=1     has cvc5 prove each step, too

INDUCTIONS := $(filter-out %/induct.py,$(wildcard tests/induct/*.py))

.PHONY: induct induct-emit

induct: ## proves exclusion, adoption and tokens for any number of clients, servers and restarts; 2 minutes
	@if tests/induct/find-z3; then \
	   PYTHONDONTWRITEBYTECODE=1 tests/run-tests $(INDUCTIONS); \
	 else \
	   echo '  skip  the proofs: /usr/bin/python3 has no z3 (python3-z3)' && \
	   echo '0 passed, 0 failed, 1 skipped'; \
	 fi

induct-emit: ## writes the models that are proved as C again, to which the simulator holds the header
	@tests/induct/find-z3 && PYTHONDONTWRITEBYTECODE=1 tests/induct/emit.py --write
