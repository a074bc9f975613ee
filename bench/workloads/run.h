/* One run of a workload: its arguments, and what it reports. */
#pragma once

#include "histogram.h"
#include "seam.h"

#include <time.h>

#define RUN_ARGS_MAX 3
#define RUN_GENERATIONS_MAX 3

typedef struct run {
    mutator mutator;
    uint64_t args[RUN_ARGS_MAX];
    bool json;
    size_t nursery_bytes, heap_bytes_max; /* 0: the manager's default */

    /* Filled by the workload. */
    char check[64];
    double object_ns;   /* of alloc; 0: none */
    histogram pushes;   /* of pause; empty: none */

    /* Filled by backend_stop, from the manager's own figures. */
    unsigned generations; /* 0: no collector */
    uint64_t collections[RUN_GENERATIONS_MAX];
    histogram pauses;
} run;

/* A line of the human output. */
void run_line(const run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The result that must be the same on all backends. */
void run_check(run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

void run_binary_trees(run *run);
void run_gcbench(run *run);
void run_lru(run *run);
void run_pause(run *run);
void run_alloc(run *run);

/* Implemented by backend_*.c: the manager from its options to its figures. */
extern const char backend_name[];
void backend_start(run *run);
void backend_stop(run *run);

static inline uint64_t run_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
