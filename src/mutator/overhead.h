/* Giving up: a heap that is nearly full can go on for ever, with a full collection for each few objects. A program that would
   rather fail says by options.overhead_percent_max what part of its time that may take. */
#pragma once

#include "../trace/collector.h"

#define GC__OVERHEAD_NS ((uint64_t)1000000000) /* it must have gone on for so long, */
#define GC__OVERHEAD_COLLECTIONS 16            /* in so many full collections, */
#define GC__OVERHEAD_PART 64                   /* each of which has made room for less than this part of the limit, */
#define GC__OVERHEAD_FREE 8                    /* while all that is free is less than this part */

GC__COLD bool gc__overhead_is_percent(unsigned percent) {
    if (percent <= 100) return true;
    gc__fail(GC_ERROR_OPTION, "overhead_percent_max is %u: it must be 0, for none, or 1 to 100", percent);
    return false;
}

/* Whether what lives leaves less than that, in whole regions, since tables may have the rest. */
GC__FN bool gc__is_nearly_full(const gc_heap *heap) {
    size_t others = gc__external_bytes(heap) + gc__counted(&heap->metadata_bytes);
    size_t room = heap->limit_bytes - gc__min(heap->limit_bytes, others);
    size_t usable = room / (GC_REGION_BYTES + gc__table_bytes(1, 0)) * GC_REGION_BYTES;
    return heap->full_bytes >= usable - usable / GC__OVERHEAD_FREE;
}

/* An allocation has met the limit. Whether that has been so for long, and nearly all that time was spent collecting: *spent says
   how long, and how. Lock held. */
GC__FN bool gc__overhead_is_met(gc_heap *heap, gc__overhead *spent) {
    gc__overhead *before = &heap->pace->overhead, now = {gc__os_now_ns(), heap->stats.pause_total_ns, heap->stats.collections[2]};
    unsigned most = heap->options.overhead_percent_max;
    if (!most || !heap->options.heap_bytes_max) return false;
    size_t allocated = gc__counted(&heap->stats.allocated_bytes); /* less than before where windows were given back */
    size_t more = allocated - gc__min(allocated, heap->pace->overhead_allocated_bytes);
    bool goes_on = before->ns && before->ns <= now.ns && more < heap->limit_bytes / GC__OVERHEAD_PART && gc__is_nearly_full(heap);
    heap->pace->overhead_allocated_bytes = allocated;
    spent->ns = gc__ns_since(now.ns, before->ns);
    spent->paused_ns = now.paused_ns - before->paused_ns;
    spent->collections = now.collections - before->collections;
    bool enough = goes_on && spent->ns >= GC__OVERHEAD_NS && spent->collections >= GC__OVERHEAD_COLLECTIONS;
    if (!goes_on || enough) *before = now;
    return enough && spent->paused_ns >= spent->ns / 100 * most;
}

/* Whether such an allocation fails, with gc__fail: there has been a full collection since, and the heap is as full as before. */
GC__COLD bool gc__overhead_fails(const gc_heap *heap, const gc__overhead *spent) {
    if (!gc__is_nearly_full(heap)) return false;
    gc__fail(GC_ERROR_HEAP_FULL,
             "%llu full collections have taken %llu %% of the last %llu ms (overhead_percent_max is %u), since %zu KiB "
             "live of at most %zu (%s): raise that, or drop references",
             (unsigned long long)spent->collections, (unsigned long long)(spent->paused_ns / (spent->ns / 100)),
             (unsigned long long)(spent->ns / GC__NS_PER_MS), heap->options.overhead_percent_max, heap->full_bytes >> 10,
             heap->limit_bytes >> 10, gc__limit_name(heap));
    return true;
}
