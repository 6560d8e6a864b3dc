# chaos.mk: real servers in trouble, on Linux; included by the Makefile at the top.
#
#   MINUTES=N  how long it takes in all; 2 by default, and no less, for every scene is played

CHAOS := $(BUILD)/tests/chaos
CHAOS_MINUTES = $(if $(filter command environment,$(origin MINUTES)),$(MINUTES),2)

.PHONY: chaos

chaos: $(BUILD)/tests/redis/restore $(CHAOS)/fencing ## restarts servers under a kept lock, crashes them under tokens; MINUTES=
	@REDIS_SERVER="$$(tests/find-redis)" && export REDIS_SERVER && \
	  MINUTES=$(CHAOS_MINUTES) TEST_LIMIT_S=$$(($(CHAOS_MINUTES) * 60 + 900)) tests/run-tests $^

$(CHAOS)/fencing: | $(CHAOS)/wall.so

$(CHAOS)/fencing: tests/chaos/fencing.c $(BUILD)/tests/servers.o
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) -D_DEFAULT_SOURCE $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< \
	  $(BUILD)/tests/servers.o $(LDLIBS) -o $@

-include $(CHAOS)/fencing.d
