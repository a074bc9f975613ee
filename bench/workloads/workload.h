/* What a workload is, and what it reports. */
#pragma once

#include "../random.h"
#include "backend.h"
#include "histogram.h"

#include <stdbool.h>

#define WORKLOAD_ARGS_MAX 3

typedef struct workload_result {
    bool quiet;              /* set by the caller: print nothing */
    char check[32];          /* must be the same on every backend */
    const histogram *pushes; /* of `pause`; NULL: none */
    double ns_per_object;    /* of `alloc`; 0: none */
} workload_result;

typedef struct workload_arg {
    const char *name;
    uint64_t min, max, otherwise; /* otherwise: if it is left out; 0: it may not be */
} workload_arg;

typedef struct workload {
    const char *name;
    workload_arg args[WORKLOAD_ARGS_MAX];
    void (*run)(mm *mm, const uint64_t *args, workload_result *result);
} workload;

extern const workload binary_trees_workload, gcbench_workload, lru_workload, pause_workload, alloc_workload,
    churn_workload, graph_workload;

#ifndef STEPS
#define STEPS 0 /* 1: the longest step of the program is measured, which takes some time itself */
#endif
#define STEP_OPERATIONS 16

/* The longest step: 16 operations of the workload, each of which calls step(). */
typedef struct step_times {
    uint64_t operations, longest_ns;
    uint64_t ended_ns; /* 0: no step has ended since something that is none */
} step_times;
extern step_times steps;

static inline void step(void) {
    if (!STEPS || ++steps.operations % STEP_OPERATIONS) return;
    uint64_t now_ns = clock_ns();
    if (steps.ended_ns && now_ns - steps.ended_ns > steps.longest_ns) steps.longest_ns = now_ns - steps.ended_ns;
    steps.ended_ns = now_ns;
}

/* printf unless the result is quiet. */
void say(const workload_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets result->check. */
void set_check(workload_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
