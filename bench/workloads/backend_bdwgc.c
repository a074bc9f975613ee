/* bdwgc's part of a run. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

const char backend_name[] = "bdwgc";

static histogram *pauses;

_Noreturn void backend_exhausted(void) {
    fputs("workloads: bdwgc is out of memory\n", stderr);
    exit(1);
}

static void collection_event(GC_EventType event) {
    static uint64_t start_ns;
    if (event == GC_EVENT_START) start_ns = run_now_ns();
    if (event == GC_EVENT_END) histogram_add(pauses, run_now_ns() - start_ns);
}

void backend_start(run *run) {
    pauses = &run->pauses;
    run->mutator = NULL;
    GC_INIT();
    GC_set_on_collection_event(collection_event);
    if (run->heap_bytes_max) GC_set_max_heap_size(run->heap_bytes_max);
}

void backend_stop(run *run) {
    run->generations = 1;
    run->collections[0] = GC_get_gc_no();
}
