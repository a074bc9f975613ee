# gc-inspect, and the programs of docs/inspect.md, which it looks into.

inspect_objects := $(patsubst %.c,build/objects/%.o,$(wildcard tools/inspect/*.c))
inspect_programs := $(patsubst tests/inspect/%.c,build/inspect/%,$(wildcard tests/inspect/*.c))

build/objects/tools/inspect/%.o: tools/inspect/%.c
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -D_GNU_SOURCE -I. -c $< -o $@

build/tools/gc-inspect: $(inspect_objects)
	@mkdir -p $(@D)
	$(CC) -pthread $^ -o $@

$(inspect_programs): build/inspect/%: tests/inspect/%.c build/objects/examples/collector.o
	@mkdir -p $(@D)
	$(CC) $(C11) -O1 -g -D_GNU_SOURCE -I. $(filter %.c %.o,$^) -o $@

tests/scripts/inspect.t: build/tools/gc-inspect build/examples/scheme $(inspect_programs)

.PHONY: inspect bench-inspect
inspect: build/tools/gc-inspect ## build gc-inspect, which looks into processes and core files

build/bench/inspect: bench/inspect.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

bench-inspect: build/bench/inspect build/tools/gc-inspect ## measure gc-inspect upon a heap of 1 GB with 30 million objects
	bench/inspect.sh
tests/scripts/install.t: build/tools/gc-inspect
