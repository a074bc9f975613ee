# make help lists the targets. Everything that is built goes to build/.
CFLAGS ?= -O2 -g
JOBS ?= $(shell nproc)
# Seconds after which a test that still runs is ended, with its stacks printed.
LIMIT ?= 1200
WARNINGS := -Wall -Wextra -Werror
C11 := -std=c11 $(WARNINGS) -pthread -MMD -MP

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

# The shipped headers, and their source.

shipped := $(notdir $(wildcard src/*.h))
parts := $(wildcard src/*.h src/*/*.h)

# Examples are written like programs of users, so they see the shipped headers only.

single_file_examples := $(patsubst examples/%.c,build/examples/%,$(wildcard examples/*.c))
scheme_objects := $(patsubst %.c,build/objects/%.o,$(wildcard examples/scheme/*.c))
examples := $(single_file_examples) $(if $(scheme_objects),build/examples/scheme)

build/objects/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) $(gc_level) -I. -c $< -o $@
# Each of these compiles all of gc.h, so they are compiled by the level that takes half the time.
$(patsubst examples/%.c,build/objects/examples/%.o,$(wildcard examples/*.c) examples/ladder/collector.c): gc_level := -O1

# A user compiles an example with its gc.h, as hello is here; the others are compiled without, and share one with all companions.
sharing_examples := $(filter-out examples/hello.c examples/barriers.c,$(wildcard examples/*.c)) $(wildcard examples/profile/*.c examples/llvm/*.c) examples/jit/run.c
build/objects/examples/collector.o: $(shipped)
	@mkdir -p $(@D)
	printf '#define GC_IMPLEMENTATION\n#include "gc_profile.h"\n#include "gc_stackmap.h"\n' | $(CC) $(filter-out -MMD -MP,$(C11)) $(CFLAGS) -O1 -I. -x c -c - -o $@
$(patsubst %.c,build/objects/%.o,$(sharing_examples)): build/objects/%.o: %.c
	@mkdir -p $(@D)
	{ echo '#line 1 "$<"'; sed 's/^#define GC_IMPLEMENTATION$$//' $<; } | $(CC) $(C11) -MF $(@:.o=.d) -MT $@ $(CFLAGS) -D_GNU_SOURCE= -I. -I$(<D) -x c -c - -o $@
$(single_file_examples): build/examples/%: build/objects/examples/%.o
$(patsubst examples/%.c,build/examples/%,$(filter $(wildcard examples/*.c),$(sharing_examples))): build/objects/examples/collector.o
build/examples/scheme: $(scheme_objects)
$(examples):
	@mkdir -p $(@D)
	$(CC) -pthread $^ -lm -o $@

# Unit tests: one program per tests/unit/test_*.c and variant, which reports in TAP. A test that defines GC_IMPLEMENTATION
# has its own configuration of gc.h; those that include inside.h share the variant's inside.o; the others share its gc.o.

# Of what a collector does without is a test of its own, for the variant `least` only.
all_test_sources := $(wildcard tests/unit/test_*.c)
test_sources := $(filter-out tests/unit/test_left_out.c,$(all_test_sources))
inside := $(if $(test_sources),$(shell grep -l 'include "../inside.h"' $(test_sources)))
own_gc := $(if $(test_sources),$(inside) $(shell grep -l 'define GC_IMPLEMENTATION' $(test_sources)))
test_programs :=

# Tests whose subject knows nothing of regions and cards: they have no variant with small ones, nor with checks of the heap.
without_geometry := test_code_registry test_inspect_graph test_jit_assembler test_llvm test_load test_profile_pages test_stackmap \
    test_stackmap_dump test_stacks

# A test with its own configuration compiles all of gc.h for itself, so it is compiled by what takes least time, and one
# compiler's sanitizers are enough for it. A test of the inside calls functions of inside.o, so none that it reads may be inlined; and
# it takes src/ for headers of the system, about which there are no warnings.
# $(1): name, $(2): compiler, $(3): flags, $(4): the level of optimization, $(5): compiler and level for tests with their own
# configuration, $(6): test sources
define variant
inside_of_$(1) := $(patsubst tests/unit/%.c,build/tests/$(1)/%,$(filter $(inside),$(6)))
own_of_$(1) := $(patsubst tests/unit/%.c,build/tests/$(1)/%,$(filter $(filter-out $(inside),$(own_gc)),$(6)))
sharing_of_$(1) := $(patsubst tests/unit/%.c,build/tests/$(1)/%,$(filter-out $(own_gc),$(6)))
build/tests/$(1)/%.o: tests/unit/%.c
	@mkdir -p $$(@D)
	$(2) $(C11) -g1 $(3) $(4) -c $$< -o $$@
$$(own_of_$(1):%=%.o): build/tests/$(1)/%.o: tests/unit/%.c
	@mkdir -p $$(@D)
	$(5) $(C11) -g1 $(3) -c $$< -o $$@
build/tests/$(1)/inside.o: tests/unit/inside.c
	@mkdir -p $$(@D)
	$(5) $(C11) -g1 $(3) -c $$< -o $$@
$$(inside_of_$(1):%=%.o): build/tests/$(1)/%.o: tests/unit/%.c
	@mkdir -p $$(@D)
	$(firstword $(5)) $(C11:-MMD=-MD) -O0 -g1 $(patsubst -Isrc,-isystem src,$(3)) -c $$< -o $$@
$$(own_of_$(1)): %: %.o
	$(2) -pthread $(3) $$^ -lm -o $$@
$$(inside_of_$(1)): %: %.o build/tests/$(1)/inside.o
	$(2) -pthread $(3) $$^ -lm -o $$@
$$(sharing_of_$(1)): %: %.o build/tests/$(1)/gc.o
	$(2) -pthread $(3) $$^ -lm -o $$@
test_programs += $(patsubst tests/unit/%.c,build/tests/$(1)/%,$(6))
endef

# headers.t shows that the shipped headers are the same tokens as src/, so no variant repeats that. gcc takes twice as long
# where it tracks variables in sanitized code.
sanitize := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-var-tracking
# clang's check of numbers that wrap, or change when they are converted, which is not wrong in C but is where none is meant to.
integer := -fsanitize=integer -fno-sanitize-recover=integer -fsanitize-ignorelist=tests/integer.ignore
with_geometry := $(filter-out $(without_geometry:%=tests/unit/%.c),$(test_sources))
# Sanitized tests take a third of the time to compile where they are not optimized, and as long to run, since the collector is.
# Some tests of the inside stop at single instructions, of which optimized code has fewer, or unwind native code.
$(eval $(call variant,plain,$(CC),-Isrc,-O2,$(CC) $$(if $$(filter inside.o,$$(@F)),-O1,-O0),$(test_sources)))
$(eval $(call variant,small,$(CC),-Isrc -DGC_DEBUG=3 -DGC_REGION_SHIFT=16 -DGC_CARD_BITS=1 -DGC_CARD_SHIFT=7 -DGC_BUNDLE_SHIFT=0,-O1,clang -O0,$(with_geometry)))
$(eval $(call variant,clang-sanitize,clang,-Isrc -DGC_DEBUG=2 -DGC_PORTABLE_BARRIERS -DGC_REGION_SHIFT=18 $(sanitize) $(integer),$$(if $$(filter gc.o,$$(@F)),-O1,-O0),clang -O0,$(test_sources)))
# The collector that has neither concurrent marking nor threads nor diagnostics: tests of what it has.
least := -DGC_CONCURRENT=0 -DGC_COLLECTOR_THREADS_MAX=1 -DGC_DIAGNOSTICS=0
least_tests := $(patsubst %,tests/unit/test_%.c,left_out alloc collect external finalizers heaps large roots \
    safe_handle sizes thread_ends trace weak)
$(eval $(call variant,least,$(CC),-Isrc -DGC_REGION_SHIFT=18 $(least),-O1,,$(least_tests)))

# Tests of threads with ThreadSanitizer, which scripts run.
tested_programs := $(test_programs)
tsan_tests := $(patsubst %,tests/unit/test_%.c,heaps destroy profile_threads safe_handle finalizer_ends claims code_registry code_threads fork)
$(eval $(call variant,tsan,clang,-Isrc -fsanitize=thread -DGC_PORTABLE_BARRIERS -DGC_REGION_SHIFT=18 '-DGC_ARENA_BYTES=((size_t)1<<34)',-O1,clang -O0,$(tsan_tests)))
test_programs := $(tested_programs)
tests/random/threads.t: $(patsubst %,build/tests/tsan/test_%,heaps destroy profile_threads code_registry code_threads fork)
tests/compile/finalizers.t: $(patsubst %,build/tests/tsan/test_%,safe_handle finalizer_ends claims)

# The other compiler's sanitizers, with regions of the usual size and the barriers' assembly: the same cases, so make soak has them.
plain_programs := $(test_programs)
test_programs :=
$(eval $(call variant,gcc-sanitize,gcc,-Isrc -DGC_DEBUG=2 $(sanitize),-O1,,$(filter-out $(own_gc),$(test_sources))))
# Numbers that wrap, and the checks of GC_DEBUG=3, in the usual geometry and with those barriers, too.
$(eval $(call variant,debug,$(CC),-Isrc -DGC_DEBUG=3,-O1,clang -O0,$(with_geometry)))
$(eval $(call variant,integer,clang,-Isrc $(integer),-O1,,$(filter-out $(own_gc),$(test_sources))))
soak_programs := $(test_programs)
test_programs := $(plain_programs)

# The quick variant: with checks, with small regions, and compiled by what takes least time; tests repeat less in it (is_quick in
# tests/tap.h). Tests with a configuration of their own take longest to compile, so only that of handles is among them, which no
# other test covers; nor are those that take seconds whatever they repeat, or whose subject is no part of the collector.
$(eval $(call variant,quick,clang,-Isrc -DGC_DEBUG=2 -DGC_REGION_SHIFT=18,-O0,clang -O0,$(test_sources)))
left_out := $(filter-out %/test_handles,$(patsubst tests/unit/%.c,build/tests/quick/%,$(own_gc))) \
    $(addprefix build/tests/quick/test_,barrier_forms sizes fork pins stats supply external heaps alone value_stacks finalizer_ends \
    profile profile_threads inspect_graph jit_assembler)
quick_programs := $(filter-out $(plain_programs) $(left_out),$(test_programs))
test_programs := $(plain_programs)

# The tests that take longest run first, so that the last ones to run are short.
longest := scripts/standalone.t random/random.t random/random_barriers.t random/threads.t compile/barriers.t scripts/scheme.t compile/compile.t \
    random/handles.t compile/exceptions.t compile/symbols.t scripts/examples.t scripts/workloads.t compile/code.t \
    random/stackmaps.t fuzz/fuzz.t
longest := $(wildcard $(longest:%=tests/%)) $(filter %/test_limits %/test_threads %/test_collect %/test_verify %/test_code_registry,$(test_programs))
scripts := $(wildcard tests/*/*.t)
tests := $(longest) $(filter-out $(longest),$(test_programs) $(scripts))
wanted := $(if $(CASE),$(strip $(foreach test,$(tests),$(if $(findstring $(CASE),$(test)),$(test)))),$(tests))

quick_longest := $(filter %/test_verify %/test_limits %/test_workers %/test_finalizers %/test_threads %/test_collect,$(quick_programs))
quick_tests := tests/compile/compile.t tests/compile/style.t $(quick_longest) tests/random/random.t \
    $(filter-out $(quick_longest),$(quick_programs)) tests/compile/docs.t tests/compile/headers.t

# What a script needs to have been built; phony, since else .SECONDARY leaves unbuilt what is older than the script.
.PHONY: $(scripts)
tests/scripts/examples.t: $(examples)
tests/scripts/scheme.t: build/examples/scheme build/examples/hello
tests/platforms/strict.t: build/tests/plain/gc.o
-include packaging/install.mk
-include bench/bench.mk
-include tests/random/random.mk
-include examples/ladder/ladder.mk
-include examples/vm/vm.mk
-include examples/jit/jit.mk
-include examples/llvm/llvm.mk
-include examples/profile/profile.mk
-include examples/clr/clr.mk
-include packaging/standalone.mk
-include tools/inspect/inspect.mk

.PHONY: all help demo quick quick-programs test test-programs test-aarch64 test-all-platforms soak soak-programs fuzz headers api format clean

all: $(examples) ## build the examples

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1 - \2/p' Makefile $(wildcard packaging/*.mk bench/bench.mk examples/ladder/ladder.mk examples/vm/vm.mk examples/jit/jit.mk tools/inspect/inspect.mk) | sed 's/ - /\t/' | expand -t 22

demo: all ## run real programs in the Scheme interpreter
	examples/scheme/demo.sh

headers: ## make the shipped headers and docs/api.md from src/
	@mkdir -p build/headers
	@set -e; for header in $(shipped); do \
	    awk -f tools/amalgamate.awk src/$$header > build/headers/$$header; \
	    cmp -s build/headers/$$header $$header || { cp build/headers/$$header $$header; echo "$$header is new"; }; \
	done
	@$(MAKE) --no-print-directory api

api: ## make docs/api.md from the comments in src/api and src/barrier
	@mkdir -p build/headers
	@awk -f tools/api.awk src/gc.h src/gc_handles.h src/gc_barrier_x86_64.h src/gc_stackmap.h src/gc_standalone.h src/gc_dac.h src/gc_profile.h > build/headers/api.md
	@cmp -s build/headers/api.md docs/api.md || { cp build/headers/api.md docs/api.md; echo "docs/api.md is new"; }

quick-programs: $(quick_programs) build/tests/random-quick

quick: ## run the tests that show most in the least time: on two quiet cores some ten seconds after a change of one part, half a minute from a clean tree
	@$(MAKE) --no-print-directory -s -j$(JOBS) quick-programs
	@QUICK=1 prove -j$(JOBS) --exec 'tools/limit 300' $(quick_tests)

test-programs: $(wanted)

soak-programs: $(soak_programs)

test-aarch64: ## all tests that run on AArch64, in an emulator: unit tests, random operations, threads, examples and the ladder
	tests/platforms/platform.sh aarch64

test: ## run every test (25 to 30 minutes on two cores); with CASE=name only those with `name` in their names
	$(if $(wanted),,$(error No test has '$(CASE)' in its name: $(sort $(notdir $(tests)))))
	@$(MAKE) --no-print-directory -j$(JOBS) test-programs
	prove -j$(JOBS) --exec 'tools/limit $(LIMIT)' --timer $(wanted)

soak: ## the unit tests with gcc's sanitizers, with clang's for integers and with GC_DEBUG=3, ten minutes of threads, a billion random operations, and the bytecode VM at every allocation (OPS=N for another number)
	@$(MAKE) --no-print-directory -j$(JOBS) random-programs soak-programs
	prove -j$(JOBS) --exec 'tools/limit $(LIMIT)' $(soak_programs)
	RANDOM_OPS=48000 HANDLES_OPS=80000 TABLES_ROUNDS=200 TABLES_SEED=$$(date +%s) THREADS_SECONDS=2 prove --exec 'tools/limit 7200' $(wildcard tests/random/random*.t tests/random/handles.t tests/random/tables.t tests/random/threads.t)
	tests/random/soak.sh $(or $(OPS),1000000000)
	VM_FULL=1 tests/scripts/vm.t

test-all-platforms: ## what runs on musl, for AArch64, RISC-V and S/390 in an emulator, and for Windows under wine, in cells with limits of time, in about an hour (TIMES=N for N times as long, OPS=N for random operations, CELLS="s390x riscv64/unit" for some); prints the table of docs/platforms.md
	OPS=$(or $(OPS),10000000) tests/platforms/all.sh $(CELLS)

fuzz: ## run each fuzzer for an hour (FUZZ_SECONDS=N for another time)
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),3600) tests/fuzz/fuzz.t

format: ## lay out src/, examples/ and tests/ by .clang-format
	clang-format -i $(parts) $(wildcard examples/*.c examples/*/*.[ch] tests/*.h tests/unit/*.[ch] tests/random/*.[ch] tests/fuzz/*.c bench/*/*.[ch] tools/inspect/*.[ch] tests/inspect/*.[ch])

clean: ## remove build/
	rm -rf build

-include $(shell find build -name root -prune -o -name '*.d' -print 2> /dev/null)
