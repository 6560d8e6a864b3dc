# coverage.mk: what of the header no test reaches; included by the Makefile.
#
#   SIM_RUNS=N     random worlds of the simulator; 100 by default

.PHONY: coverage

coverage: $(BUILD)/tests/redis/wall.so ## lists what of the header no test reaches; needs gcc and gcovr
	@REDIS_SERVER="$$(tests/find-redis)" || true; export REDIS_SERVER; \
	 CC='$(CC)' SIM_RUNS='$(SIM_RUNS)' tests/coverage/coverage.sh
