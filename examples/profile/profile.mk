# Programs whose profiles docs/profile.md explains.

profile_examples := $(patsubst examples/profile/%.c,build/examples/profile/%,$(wildcard examples/profile/*.c))

$(profile_examples): build/examples/profile/%: build/objects/examples/profile/%.o build/objects/examples/collector.o
	@mkdir -p $(@D)
	$(CC) -pthread $^ -lm -o $@

tests/scripts/profile.t: $(profile_examples) build/examples/scheme
all: $(profile_examples)
