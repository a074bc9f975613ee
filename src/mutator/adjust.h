/* Changing limits while the heap runs. */
#pragma once

#include "allocate.h"

GC__COLD bool gc__limit_is_least(size_t bytes) {
    size_t least = GC__REGIONS_MIN * GC_REGION_BYTES;
    if (!bytes || bytes >= least) return true;
    gc__fail(GC_ERROR_OPTION,
             "heap_bytes_max is %zu bytes, but a heap needs %zu: %d regions of %zu KiB. Raise it, or compile with a "
             "smaller GC_REGION_SHIFT",
             bytes, least, GC__REGIONS_MIN, GC_REGION_BYTES >> 10);
    return false;
}

/* Collects, compacts for as long as that makes room, and slides, until the heap needs no more than `bytes`. The
   world is stopped. */
GC__COLD bool gc__limit_reach(gc_heap *heap, size_t bytes) {
    bool packed = false;
    if (gc__bytes_charged(heap) > bytes) gc__collect_at_limit(heap, GC__FULL);
    while (gc__bytes_charged(heap) > bytes)
        if (!gc__compact_or_slide(heap, 0, &packed)) break;
    gc__large_uncommit_all(heap);
    return gc__bytes_charged(heap) <= bytes;
}

/* Adapts to another limit, hard or soft, the values that depend on it. The world is stopped. */
GC__COLD void gc__limit_adapt(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    gc__pace_goal(heap, pace->full_live_bytes);
    if (!heap->options.nursery_bytes && !heap->options.non_generational)
        pace->nursery_bytes = gc__min(pace->nursery_bytes, gc__nursery_most(heap));
    __atomic_store_n(&heap->budget_bytes, gc__nursery_in_goal(heap), __ATOMIC_RELAXED);
    gc__heap_note_held(heap);
}

/* The world is stopped. */
GC__COLD gc_result gc__limits_change(gc_heap *heap, const gc_limits *limits) {
    size_t bytes = limits->heap_bytes_max, share = bytes ? 0 : gc__container_share(), wanted = bytes + share;
    if (wanted && wanted < heap->limit_bytes && !gc__limit_reach(heap, wanted)) {
        gc__fail(GC_ERROR_HEAP_FULL,
                 "gc_heap_set_limits: the heap needs %zu KiB, for what lives or cannot be moved, so the limit "
                 "stays, and does not become %zu KiB: drop references first",
                 gc__bytes_charged(heap) >> 10, wanted >> 10);
        gc__heap_fail_with_others(heap);
        return GC_ERROR_HEAP_FULL;
    }
    heap->options.heap_bytes_soft = gc__min(limits->heap_bytes_soft, GC__BUDGET_MOST);
    heap->options.overhead_percent_max = limits->overhead_percent_max;
    gc__limit_set(heap, bytes, share);
    gc__marking_resolve(heap, false);
    gc__limit_adapt(heap);
    return GC_OK;
}

GC_API void gc_heap_limits(gc_heap *heap, gc_limits *limits) {
    if (gc__is_null(heap, "gc_heap_limits", "heap") || gc__is_null(limits, "gc_heap_limits", "limits")) return;
    gc__heap_lock(heap);
    const gc_options *options = &heap->options;
    limits->heap_bytes_max = heap->limit_is_share ? 0 : options->heap_bytes_max;
    limits->heap_bytes_soft = options->heap_bytes_soft;
    limits->overhead_percent_max = options->overhead_percent_max;
    gc__heap_unlock(heap);
}

GC_API gc_result gc_heap_set_limits(gc_heap *heap, const gc_limits *limits) {
    GC__API_SCOPE("gc_heap_set_limits");
    if (gc__is_null(heap, "gc_heap_set_limits", "heap") || gc__is_null(limits, "gc_heap_set_limits", "limits"))
        return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_heap_set_limits")) return GC_ERROR_MISUSE;
    if (!gc__limit_is_least(limits->heap_bytes_max) || !gc__overhead_is_percent(limits->overhead_percent_max))
        return GC_ERROR_OPTION;
    const gc__request request = gc__request_of(GC__FULL, 2, GC_REASON_LIMIT);
    gc__heap_lock(heap);
    gc__workers_start(heap, &request);
    gc__world_stop_locked(heap);
    gc_result result = gc__limits_change(heap, limits);
    gc__world_resume(heap);
    return result;
}
