# The example JIT (examples/jit/main.c says what it is): build/examples/jit.
# TODO back: take the filter-out away when gc_stackmap_encode is there, and run.c calls the generator.
jit_objects := $(patsubst %.c,build/objects/%.o,$(filter-out %/assembler.c %/flow.c %/lower.c %/track.c %/generate.c %/natives.c,$(wildcard examples/jit/*.c)))
build/examples/jit: $(jit_objects)
	@mkdir -p $(@D)
	$(CC) -pthread $^ -lm -o $@
examples += build/examples/jit
tests/scripts/jit.t: build/examples/jit
