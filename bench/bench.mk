# The benchmarks: the same workloads over gc.h and over the memory managers that it is compared with.

bench_sources := $(wildcard bench/workloads/*.c)
bench_programs :=

# $(1): program, $(2): backend, $(3): its library
define bench_program
build/objects/bench/$(1)/%.o: bench/workloads/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(C11) $$(CFLAGS) -D_GNU_SOURCE -DMM_BACKEND='"backend_$(2).h"' -I. -c $$< -o $$@
build/bench/$(1): $(patsubst bench/workloads/%.c,build/objects/bench/$(1)/%.o,$(bench_sources))
	@mkdir -p $$(@D)
	$$(CC) -pthread $$^ $(3) -o $$@
bench_programs += build/bench/$(1)
endef

$(eval $(call bench_program,workloads,gc))
$(eval $(call bench_program,workloads-malloc,malloc))
$(eval $(call bench_program,workloads-mimalloc,mimalloc,-lmimalloc))
$(eval $(call bench_program,workloads-bdwgc,bdwgc,-lgc))

.PHONY: bench bench-build

bench-build: $(bench_programs) ## build the workloads over gc.h, malloc, mimalloc and bdwgc

bench: bench-build ## measure them side by side: a table and a chart in build/bench/
	bench/run.sh
