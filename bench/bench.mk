# The benchmarks: the same workloads over gc.h and over the memory managers that it is compared with; write barriers; threads.

bench_sources := $(wildcard bench/workloads/*.c)
bench_programs :=

# $(1): program, $(2): backend, $(3): its library, $(4): flags
define bench_program
build/objects/bench/$(1)/%.o: bench/workloads/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(C11) $$(CFLAGS) -D_GNU_SOURCE -DMM_BACKEND='"backend_$(2).h"' $(4) -I. -c $$< -o $$@
build/bench/$(1): $(patsubst bench/workloads/%.c,build/objects/bench/$(1)/%.o,$(bench_sources))
	@mkdir -p $$(@D)
	$$(CC) -pthread $$^ $(3) -o $$@
endef

$(eval $(call bench_program,workloads,gc))
$(eval $(call bench_program,workloads-malloc,malloc))
$(eval $(call bench_program,workloads-mimalloc,mimalloc,-lmimalloc))
$(eval $(call bench_program,workloads-bdwgc,bdwgc,-lgc))
bench_programs := $(addprefix build/bench/,workloads workloads-malloc workloads-mimalloc workloads-bdwgc)

# Over gc.h, and the longest step of the program is measured.
$(eval $(call bench_program,workloads-steps,gc,,-DSTEPS=1))

# Over gc.h with small regions, so that a small heap has as many of them as a large one.
$(eval $(call bench_program,workloads-regions-1m,gc,,-DGC_REGION_SHIFT=20 -O1))

# Over gc.h with each barrier; "none" would not keep the heap whole.
bench_barriers := $(filter-out none,$(shell sed -n 's/^ *X.\([a-z_]*\),.*/\1/p' src/barrier/tables.h)) at_run_time
$(foreach barrier,$(bench_barriers),$(eval $(call bench_program,workloads-barrier-$(barrier),gc,,-DGC_BARRIER=$(barrier))))

# No jump crosses or ends a block of 32 bytes, which Intel's processors from Skylake to Cascade Lake then decode anew each
# time: that would be measured instead of the barrier. gcc hands the option to the assembler.
branch_alignment = $(shell for flag in -mbranches-within-32B-boundaries -Wa,-mbranches-within-32B-boundaries; do \
    echo 'int x;' | $(CC) $$flag -x c -c -o /dev/null - 2> /dev/null && { echo $$flag; break; }; done)

build/bench/barriers: bench/barriers.c
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) $(branch_alignment) -I. $< -o $@

build/bench/threads: bench/threads.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

build/bench/parallel: bench/parallel.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

build/bench/handles: bench/handles.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

build/bench/referents: bench/referents.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

build/bench/stackmap: bench/stackmap.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

build/bench/growth: bench/growth.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

build/bench/space: bench/space.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -D_GNU_SOURCE -I. $< -o $@

build/bench/sizes: bench/sizes.c $(shipped)
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $< -o $@

build/bench/profile_workloads: bench/profile_workloads.c bench/slices.h $(filter-out build/objects/bench/workloads/main.o,$(patsubst bench/workloads/%.c,build/objects/bench/workloads/%.o,$(bench_sources)))
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $(filter-out %.h,$^) -lm -o $@

build/bench/profile_scheme: bench/profile_scheme.c bench/slices.h $(filter-out build/objects/examples/scheme/main.o,$(scheme_objects))
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -I. $(filter-out %.h,$^) -lm -o $@

.PHONY: bench bench-sizes bench-space bench-pairs bench-curve bench-growth bench-build bench-barriers bench-threads bench-handles bench-referents bench-pauses bench-stackmap bench-profile

bench-build: $(bench_programs) ## build the workloads over gc.h, malloc, mimalloc and bdwgc

tests/scripts/workloads.t: $(bench_programs)

bench: bench-build ## measure them side by side: a table and a chart in build/bench/
	bench/run.sh

bench-barriers: build/bench/barriers $(bench_barriers:%=build/bench/workloads-barrier-%) ## measure the write barriers: a store alone, and whole programs
	BENCH_BARRIERS="$(bench_barriers)" bench/barriers.sh

bench-threads: build/bench/threads ## measure stopping threads, and whether two allocate twice as fast as one
	build/bench/threads stop
	build/bench/threads rate

bench-parallel: build/bench/workloads build/bench/parallel ## measure collections by 1, 2 and 8 threads
	build/bench/parallel marks 1024
	for size in 2048 8192; do for what in promoted young random; do build/bench/parallel $$what $$size; done; done
	build/bench/parallel list
	bench/parallel.sh

# The same in other languages, where their compilers are installed: bench/pauses.sh says what is left out.
build/bench/peers/workloads-go: bench/peers/workloads.go
	@mkdir -p $(@D)
	GOCACHE=$(abspath build)/go-cache go build -o $@ $<
build/bench/peers/Workloads.class: bench/peers/Workloads.java
	@mkdir -p $(@D)
	javac -d $(@D) $<
bench_peers := $(if $(shell command -v go),build/bench/peers/workloads-go) $(if $(shell command -v javac),build/bench/peers/Workloads.class)

bench-pauses: build/bench/workloads-steps $(bench_peers) ## measure pauses with and without marking beside the program, and in Go and Java
	bench/pauses.sh

bench-handles: build/bench/handles ## measure handles, finalizers and safe handles
	build/bench/handles

bench-referents: build/bench/referents ## measure the pauses of a heap with a million handles, finalizers or weak entries of each kind
	build/bench/referents

bench-profile: build/bench/profile_workloads build/bench/profile_scheme ## measure what taking a profile costs
	bench/profile.sh

bench-stackmap: build/bench/stackmap ## measure looking up compiled code by address, and what is live there
	build/bench/stackmap

bench-growth: build/bench/growth ## measure how the cost of collections grows from 100 MB to 8 GB of live data
	build/bench/growth

bench-sizes: build/bench/sizes ## measure time and memory of objects of each size from 16 bytes to 64 MB; a chart in build/bench/sizes.svg
	build/bench/sizes | tee build/bench/sizes.txt
	bench/sizes.pl build/bench/sizes.txt > build/bench/sizes.svg

bench-space: build/bench/space build/bench/workloads ## measure the least memory that each workload can do with, and what that costs
	bench/space.pl

bench-pairs: build/bench/workloads ## look for cliffs: the CPU time of every pair of options on three workloads
	bench/pairs.pl

bench-curve: $(bench_programs) ## measure CPU time over memory; a chart in build/bench/curve.svg
	bench/space.pl --curve | tee build/bench/curve.tsv
	bench/curve.pl build/bench/curve.tsv > build/bench/curve.svg
