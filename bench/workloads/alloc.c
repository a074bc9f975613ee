/* Allocation alone: objects of 32 bytes that die at once. */
#include "workload.h"

#include <inttypes.h>
#include <time.h>

typedef struct cell {
    MM_HEADER
    void *ref;
    uint64_t words[3 - MM_HEADER_WORDS];
} cell;
MM_TYPE(cell, ref);
_Static_assert(sizeof(cell) == 32, "the header is part of the 32 bytes");

static uint64_t allocate_cells(mm *mm, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        cell *c = MM_NEW(mm, cell);
        MM_CLEAR(&c->ref);
        c->words[0] = i;
        /* Compilers remove a malloc whose block does not escape. */
        __asm__ volatile("" : : "r"(c) : "memory");
        sum += c->words[0];
        mm_free(mm, c);
    }
    return sum;
}

/* Of the whole process, for a collector may have threads; not wall time, for the machine may be busy. */
static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void run(mm *mm, const uint64_t *args, workload_result *result) {
    uint64_t start_ns = cpu_ns();
    uint64_t sum = allocate_cells(mm, args[0]);
    result->ns_per_object = (double)(cpu_ns() - start_ns) / (double)args[0];
    set_check(result, "%016" PRIx64, sum);
    say(result, "alloc checksum %s\n", result->check);
}

const workload alloc_workload = {"alloc", {{"N", 1, UINT64_C(1) << 48, 100000000}}, run};
