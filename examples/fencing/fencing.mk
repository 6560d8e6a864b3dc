# fencing.mk: resources that check the lock's token; included by the Makefile at the top, behind
# examples.mk. Each is built where pkg-config knows its library.

PACKAGE_redis    := hiredis
PACKAGE_sqlite   := sqlite3
PACKAGE_postgres := libpq
fencing_has = $(shell $(PKG_CONFIG) --exists $(PACKAGE_$1) 2>/dev/null && echo $1)
STORES := $(foreach store,redis sqlite postgres,$(call fencing_has,$(store)))
STORE_PROGRAMS := $(STORES:%=$(BUILD)/examples/fencing/%)
STORE_LIBS = $$($(PKG_CONFIG) --cflags --libs $(PACKAGE_$*))

$(STORE_PROGRAMS): $(BUILD)/examples/fencing/%: examples/fencing/%.c redlock.h
	@mkdir -p $(@D)
	$(CC) $(STANDARD) -O2 $(WARNINGS) -I. $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $< $(STORE_LIBS) \
	  $(LDLIBS) -o $@

examples: $(STORE_PROGRAMS)
