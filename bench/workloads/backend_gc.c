/* gc.h itself, and its part of a run. */
#define GC_IMPLEMENTATION
#include "gc.h" /* before any header of the system, which it asks for more than C11 */

#include "run.h"

#include <stdlib.h>

const char backend_name[] = "gc.h";

_Noreturn void backend_exhausted(void) {
    fprintf(stderr, "workloads: %s\n", gc_last_message());
    exit(1);
}

static void pause_ended(void *host, const gc_collection *collection) {
    histogram_add(&((run *)host)->pauses, collection->pause_ns);
}

void backend_start(run *run) {
    gc_options options = {0};
    options.heap_bytes_max = run->heap_bytes_max;
    options.nursery_bytes = run->nursery_bytes;
    options.collection_end = pause_ended;
    options.host = run;
    gc_heap *heap = gc_heap_create(&options);
    run->mutator = heap ? gc_thread_attach(heap) : NULL;
    if (!run->mutator) backend_exhausted();
}

void backend_stop(run *run) {
    gc_heap *heap = gc_thread_heap(run->mutator);
    gc_stats stats;
    gc_get_stats(heap, &stats);
    run->generations = GC_GENERATIONS;
    for (int g = 0; g < GC_GENERATIONS; g++) run->collections[g] = stats.collections[g];
    gc_heap_destroy(heap);
}
