# The workloads over each memory manager, and the comparison. The variables may be set before this file is included.
B ?= build
BENCH_CFLAGS ?= -O2
BENCH_INCLUDE ?= -I.

bench_sources := $(wildcard bench/workloads/*.c)
bench_headers := $(wildcard bench/workloads/*.h)
bench_programs := $(addprefix $(B)/bench/workloads,$(addprefix -,malloc mimalloc bdwgc)) $(B)/bench/workloads

.PHONY: bench bench-build

bench-build: $(bench_programs) ## build the workloads over gc.h, malloc, mimalloc and bdwgc

bench: bench-build ## compare them: a table, and build/bench/bench.svg (BENCH_FULL=1: the full sizes)
	bench/run.sh $(B)/bench

# $(1): the backend, $(2): its library
define bench_link
@mkdir -p $(@D)
$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(BENCH_CFLAGS) $(BENCH_INCLUDE) -DMM_BACKEND='"backend_$(1).h"' $(bench_sources) $(2) -o $@
endef

$(bench_programs): $(bench_sources) $(bench_headers) bench/bench.mk
$(B)/bench/workloads: $(wildcard *.h)
	$(call bench_link,gc)
$(B)/bench/workloads-malloc:
	$(call bench_link,malloc)
$(B)/bench/workloads-mimalloc:
	$(call bench_link,mimalloc,-lmimalloc)
$(B)/bench/workloads-bdwgc:
	$(call bench_link,bdwgc,-lgc)
