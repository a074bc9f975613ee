# The example JIT (examples/jit/main.c says what it is): build/examples/jit.
jit_objects := $(patsubst %.c,build/objects/%.o,$(wildcard examples/jit/*.c))
build/examples/jit: $(jit_objects) build/objects/examples/collector.o
	@mkdir -p $(@D)
	$(CC) -pthread $^ -lm -o $@
examples += build/examples/jit
tests/scripts/jit.t tests/scripts/jit_stops.t tests/scripts/stackmaps.t tests/random/jit.t: build/examples/jit

# What the JIT is compared with.
tests/scripts/jit.t: build/examples/jit-trees build/examples/jit-trees_gc
build/examples/jit-trees_gc: build/objects/examples/collector.o
build/examples/jit-%: examples/jit/programs/%.c gc.h
	@mkdir -p $(@D)
	sed 's/^#define GC_IMPLEMENTATION$$//' $< | gcc -std=c11 $(WARNINGS) -O1 -D_GNU_SOURCE= -I. -pthread -x c - -x none $(filter %.o,$^) -lm -o $@

.PHONY: jit-measure
jit-measure: build/examples/jit build/examples/jit-trees build/examples/jit-trees_gc ## measure the example JIT
	examples/jit/measure.sh
