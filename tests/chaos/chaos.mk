# chaos.mk: tokens on real servers in trouble, on Linux; included by the Makefile at the top.
#
#   MINUTES=N  how long it takes in all; 2 by default

CHAOS := $(BUILD)/tests/chaos

.PHONY: chaos

chaos: $(CHAOS)/fencing ## has tokens granted while servers crash and clocks are stepped; MINUTES=
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	  $(CHAOS)/fencing $(if $(filter command environment,$(origin MINUTES)),$(MINUTES),2)

$(CHAOS)/fencing: tests/chaos/fencing.c $(BUILD)/tests/servers.o | $(CHAOS)/wall.so
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) -D_DEFAULT_SOURCE $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< \
	  $(BUILD)/tests/servers.o -o $@

-include $(CHAOS)/fencing.d
