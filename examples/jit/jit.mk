# The example JIT (examples/jit/main.c says what it is): build/examples/jit.
jit_objects := $(patsubst %.c,build/objects/%.o,$(wildcard examples/jit/*.c))
build/examples/jit: $(jit_objects)
	@mkdir -p $(@D)
	$(CC) -pthread $^ -lm -o $@
examples += build/examples/jit
tests/scripts/jit.t tests/scripts/stackmaps.t tests/random/jit.t: build/examples/jit
