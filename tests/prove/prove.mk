# prove.mk: what can be proved of the header itself; included by the Makefile at the top. CBMC is
# found or unpacked by get-cbmc; Frama-C's WP wants frama-c-base, why3, z3 and cvc4. What cannot be
# had is skipped, with the reason.
#
#   JOBS=N    proofs at once; 2 by default

.PHONY: prove

prove: ## proves the parser, the encoder and all arithmetic of the header; 2 minutes
	@tests/prove/prove.sh
