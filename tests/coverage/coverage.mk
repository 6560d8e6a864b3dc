# coverage.mk: what of the header no test reaches; included by the Makefile.
#
#   SIM_RUNS=N     random worlds of the simulator; 300 by default

.PHONY: coverage

coverage: ## lines and branches of the header that no test reaches; needs gcc and gcovr
	@REDIS_SERVER="$$(tests/find-redis)" || true; export REDIS_SERVER; \
	 CC='$(CC)' SIM_RUNS='$(SIM_RUNS)' tests/coverage/coverage.sh
