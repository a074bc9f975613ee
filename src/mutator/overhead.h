/* Giving up: a heap that is nearly full can go on for ever, with a full collection for each few objects. A program that would
   rather fail says by options.overhead_percent_max what part of its time that may take. */
#pragma once

#include "../trace/collector.h"

#define GC__OVERHEAD_NS ((uint64_t)1000000000) /* The state must have lasted this long, */
#define GC__OVERHEAD_COLLECTIONS 16            /* with this many full collections, */
#define GC__OVERHEAD_PART 64                   /* between which less than 1/n of the limit was allocated, */
#define GC__OVERHEAD_FREE 8                    /* while less than 1/n of it is free */

GC__COLD bool gc__overhead_is_percent(unsigned percent) {
    if (percent <= 100) return true;
    gc__fail(GC_ERROR_OPTION, "overhead_percent_max is %u: it must be 0, for none, or 1 to 100", percent);
    return false;
}

/* Returns whether live objects leave less than that part free, in whole regions, since tables may have the rest. */
GC__FN bool gc__is_nearly_full(const gc_heap *heap) {
    size_t others = gc__external_bytes(heap) + gc__counted(&heap->metadata_bytes);
    size_t room = heap->limit_bytes - gc__min(heap->limit_bytes, others);
    size_t usable = room / (GC_REGION_BYTES + gc__table_bytes(1, 0)) * GC_REGION_BYTES;
    return heap->full_bytes >= usable - usable / GC__OVERHEAD_FREE;
}

/* Returns whether the heap, whose limit an allocation has just met, has met it for long and spent
   overhead_percent_max of that time or more collecting. Stores the time, pauses and collections since then in
   *spent. The heap's lock is held. */
GC__FN bool gc__overhead_is_met(gc_heap *heap, gc__overhead *spent) {
    gc__overhead *before = &heap->pace->overhead, now = {gc__os_now_ns(), heap->stats.pause_total_ns, heap->stats.collections[2]};
    unsigned most = heap->options.overhead_percent_max;
    if (!most || !heap->options.heap_bytes_max) return false;
    /* This is less than before if windows were given back. */
    size_t allocated = gc__counted(&heap->stats.allocated_bytes);
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

/* Returns whether such an allocation fails, with gc__fail: after another full collection the heap is as full as
   before. */
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
