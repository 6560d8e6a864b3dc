# mutants.mk: which faults in the header no test finds; included by the Makefile.
#
#   N=N SEED=N     how many mutants, and which: 300 and 1 by default
#   JOBS=N         how many side by side; 2 by default
#   SIM_RUNS=N     random worlds for each that the cheaper tests do not find; 500 by default
#   MEMORY=0       without the last stage, the same tests with sanitizers
#   ONLY=TEXT      only mutants whose description holds it

.PHONY: mutants

mutants: ## changes the header at random: which changes does no test find? N= SEED=
	@REDIS_SERVER="$$(tests/find-redis)" || true; export REDIS_SERVER; \
	 CC='$(CC)' SANITIZE='$(SANITIZE)' N='$(N)' SEED='$(SEED)' JOBS='$(JOBS)' ONLY='$(ONLY)' \
	 SIM_RUNS='$(SIM_RUNS)' MEMORY='$(MEMORY)' tests/mutants/mutants.sh
