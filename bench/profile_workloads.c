/* What a profile costs the workloads:  profile_workloads ROUNDS LABEL NAME ARGS... */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#define MM_BACKEND "backend_gc.h"
#include "workloads/workload.h"

#include <stdarg.h>
#include <unistd.h>

#include "slices.h"

step_times steps;

void say(const workload_result *result, const char *format, ...) { (void)result, (void)format; }
void set_check(workload_result *result, const char *format, ...) { (void)result, (void)format; }

void mm_exhausted(const char *detail) {
    fprintf(stderr, "%s\n", detail);
    exit(1);
}

static void slice_run(const gc_options *heap, int argc, char **argv) {
    static const workload *const workloads[] = {&binary_trees_workload, &lru_workload, &churn_workload,
                                                &graph_workload};
    uint64_t args[WORKLOAD_ARGS_MAX] = {0};
    mm_options options = {.collector_threads = heap->collector_threads, .growth_percent = heap->growth_percent};
    workload_result result = {.quiet = true};
    mm_report report = {0};
    for (int i = 1; i < argc && i <= WORKLOAD_ARGS_MAX; i++) args[i - 1] = strtoul(argv[i], NULL, 10);
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        if (strcmp(workloads[i]->name, argv[0])) continue;
        mm *mm = mm_open(&options);
        workloads[i]->run(mm, args, &result);
        mm_close(mm, &options, &report);
    }
}
