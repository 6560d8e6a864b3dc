# mutants.mk: faults planted in copies of the header; included by the Makefile at the top. What each
# target does, and what ONLY= JOBS= STARTS= BOUND= N= SEED= SIM_RUNS= MEMORY= are, tests/mutants/run
# and random.sh say.

MUTANTS = CC='$(CC)' BUILD='$(BUILD)' ONLY='$(ONLY)' JOBS='$(JOBS)' STARTS='$(STARTS)' BOUND='$(BOUND)' \
          tests/mutants/run

.PHONY: planted sim-planted refine-planted explore-planted prove-controls mutants

planted: ## plants bugs in copies of the header: a test on fakes must catch each
	@$(MUTANTS) fakes

sim-planted: ## plants bugs that the simulator must catch
	@$(MUTANTS) simulator

refine-planted: ## plants bugs that tests/refine/refine.h must find alone, one for each guard of the proved models; 20 minutes
	@$(MUTANTS) refined

explore-planted: ## plants bugs that the explorer must find
	@$(MUTANTS) explorer

prove-controls: ## plants bugs for each proof, which must fail; 3 minutes
	@$(MUTANTS) proofs

mutants: ## changes the header at random: which changes does no test find? N= SEED=
	@REDIS_SERVER="$$(tests/find-redis)" || true; export REDIS_SERVER; \
	 SANITIZE='$(SANITIZE)' N='$(N)' SEED='$(SEED)' SIM_RUNS='$(SIM_RUNS)' MEMORY='$(MEMORY)' \
	   $(MUTANTS) random
