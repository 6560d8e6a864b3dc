# portability.mk: how large the header is, and where it works; included by the Makefile.
#
#   WAYS='tcc s390x'       for `make portability`: these alone; the names stand in ways.txt
#   STRICT=1               for `make size`: a limit that is missed is an error
#   PORTABILITY_LIMIT_S=N  for `make portability`: 480 s by default; one way may take half, or 240 s

WAYS ?=

.PHONY: size portability

size: ## measures code, structs and stack on six targets, against the limits
	@tests/portability/size.sh $(if $(STRICT),--strict)

portability: ## tries compilers, machines, sanitizers, analysers; 8 minutes at most
	@REDIS_SERVER="$$(tests/find-redis)" || true; export REDIS_SERVER; tests/portability/run $(WAYS)
