# make standalone: collectors as libraries, for programs that are compiled with GC_STANDALONE (docs/standalone.md). They keep
# the code of threads' variables in the form for libraries, and their unwind tables, for exceptions that finalizers throw.
standalone := build/standalone
standalone_libraries := $(addprefix $(standalone)/libgc-,release.so checked.so profile.so)
standalone_flags := -std=c11 $(WARNINGS) -g -fPIC -fexceptions -shared -pthread -Wl,--no-undefined -Wl,-z,now -MMD -MP -I.

# $(1): name, $(2): flags
define standalone_library
$(standalone)/libgc-$(1).so: packaging/standalone.c
	@mkdir -p $$(@D)
	$$(CC) $(standalone_flags) $(2) -DGC_LIBRARY_NAME='"gc.h $(1)"' -MF $$@.d $$< -o $$@
endef
$(eval $(call standalone_library,release,-O2))
$(eval $(call standalone_library,checked,-O2 -DGC_DEBUG=3 -DGC_SHADOW_HEAP=1 \
    -DGC_LIBRARY_SETTINGS='"GC_STRESS=stack GC_VERIFY=1 GC_CHECKMARK=1 GC_VERBOSE=1"'))
$(eval $(call standalone_library,profile,-O2 -DGC_LIBRARY_PROFILE))

# The Scheme interpreter as a program that can change its collector.
standalone_scheme := build/examples/scheme-standalone
$(standalone_scheme): $(patsubst %.c,build/objects/standalone/%.o,$(wildcard examples/scheme/*.c))
	@mkdir -p $(@D)
	$(CC) -pthread $^ -lm -ldl -o $@
build/objects/standalone/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) $(gc_level) -DGC_STANDALONE -I. -c $< -o $@
# The embedded collector, which only some of the tests use.
build/objects/standalone/examples/scheme/collector.o: gc_level := -O1

.PHONY: standalone
standalone: $(standalone_libraries) $(standalone_scheme) ## build collectors as libraries, and the Scheme interpreter that can load them
tests/scripts/standalone.t: standalone build/examples/scheme
tests/scripts/choose.t: standalone

# Unit tests that do not know the inside of the collector, as programs that can load one. Profiles are the library's own affair.
standalone_tests := $(patsubst tests/unit/%.c,build/tests/standalone/%,\
    $(filter-out $(own_gc) %/test_profile.c %/test_profile_threads.c %/test_barrier_forms.c %/test_jit_assembler.c %/test_inspect_graph.c,$(test_sources)))
build/tests/standalone/%.o: tests/unit/%.c
	@mkdir -p $(@D)
	$(CC) $(C11) -O1 -g1 -Isrc -c $< -o $@
build/tests/standalone/collector.o: packaging/standalone_program.c
	@mkdir -p $(@D)
	$(CC) $(C11) -O1 -g1 -Isrc -c $< -o $@
$(standalone_tests): build/tests/standalone/%: build/tests/standalone/%.o build/tests/standalone/collector.o
	$(CC) -pthread $^ -lm -ldl -o $@
tests/scripts/standalone.t: $(standalone_tests)
