# tried.mk: the examples as the tests run them, with sanitizers: what they leak is found. Included by
# the Makefile, behind the files that list them.

TRIED := $(EXAMPLES:$(BUILD)/%=$(BUILD)/tests/%) $(LOOP_PROGRAMS:$(BUILD)/%=$(BUILD)/tests/%) \
         $(STORE_PROGRAMS:$(BUILD)/%=$(BUILD)/tests/%)
# One has a log of its own size, the other no sockets.
TRIED_LINKED := $(filter-out %/many_locks %/unit_test,$(TRIED))

$(TRIED_LINKED): $(LIBRARY)
$(TRIED_LINKED): private LINK := -DREDLOCK_IMPLEMENTED

$(TRIED): $(BUILD)/tests/%: %.c
	@mkdir -p $(@D)
	$(CC) $(TEST_FLAGS) $(LINK) $(DEPENDS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(filter %.o,$^) \
	  $(if $(PACKAGE_$(@F)),$$($(PKG_CONFIG) --cflags --libs $(PACKAGE_$(@F)))) $(LDLIBS) -o $@

# assert.h comes before the example's own word for ppoll.
$(BUILD)/tests/examples/wait_for_child: private STANDARD += -D_GNU_SOURCE=

test-programs: $(TRIED)

-include $(addsuffix .d,$(TRIED))
