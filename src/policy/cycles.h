/* Concurrent cycles: which heaps can have them, when one begins and ends, and whether the marker keeps up. */
#pragma once

#include "../trace/copy.h"
#include "../trace/candidates.h"
#include "pace.h"

/* While it is marked a heap may grow by 1/n of its size, even if a full collection was due before. */
#define GC__MARKING_ROOM 4
#define GC__MARKING_SOON 16 /* a cycle may begin once the heap has grown by 1/n of what it may */
/* A heap that grows beyond this multiple of the initial room is collected with the world stopped. */
#define GC__MARKING_LOST 2

/* Returns whether the barrier reports each store into an object that is being marked: by a call, a written page, or a dirty
   card. */
GC__FN bool gc__barrier_is_seen(gc_barrier barrier) {
    gc__barrier_parts parts = gc__barrier_parts_of(barrier);
    return parts.watch || parts.filter == GC__FILTER_RANK || parts.filter == GC__FILTER_SUM ||
           (parts.filter == GC__FILTER_ANY && parts.mark != GC__MARK_NOTHING);
}

/* Returns why generation 2 of such a heap cannot be marked concurrently, or NULL if it can. */
GC__OUT_OF_LINE const char *gc__marking_obstacle(const gc_options *options) {
    if (!GC_CONCURRENT) return "gc.h was compiled with GC_CONCURRENT=0";
    if (!GC__MODEL_IS_SHARED) return "objects have the host's own headers, and GC_MODEL_BYTES_AS is not defined";
    if (GC_HAS_MODEL && options->trace_functions != GC_TRACE_FUNCTIONS_CONCURRENT)
        return "GC_MODEL_TRACE reports all slots, and options.trace_functions is not GC_TRACE_FUNCTIONS_CONCURRENT";
    if (options->non_generational) return "options.non_generational is set, so stores have no barrier";
    if (options->non_moving) return "options.non_moving is set, so holes are given to mutators by stopping collections";
    if (gc__barrier_is_seen(gc_barrier_current())) return NULL;
    return "the barrier shows no stores of old references: rank_sum and write_watch barriers do, and those that dirty cards "
           "whatever is stored";
}

/* Returns the obstacle with regard to what may change while the heap runs: the heap may be too small. With a goal
   for pauses, concurrent marking was asked for, and even so small a heap keeps to the goal. */
GC__FN const char *gc__marking_obstacle_now(const gc_heap *heap) {
    const gc_options *options = &heap->options;
    const char *obstacle = gc__marking_obstacle(options);
    if (obstacle || options->pause_goal_us || options->test.marker_steps || heap->limit_bytes >= GC__MARKING_WORTH)
        return obstacle;
    return "options.heap_bytes_max is less than the 2 MiB of old objects for which marking beside them begins";
}

/* Resolves options.concurrent. An option without effect must not change how the heap is paced either. It comes into
   force once the obstacle is gone, for example with another barrier or a higher limit. `may_end`: the heap is about
   to be paced again after a full collection, as it must be when the option ends. The world is stopped. */
GC__FN void gc__marking_resolve(gc_heap *heap, bool may_end) {
    if (!GC_CONCURRENT) return;
    bool stands = heap->asked_concurrent && gc__marking_obstacle_now(heap);
    gc_concurrent before = heap->options.concurrent;
    if (heap->asked_concurrent && !stands) heap->options.concurrent = GC_CONCURRENT_ON;
    if (stands && may_end && !gc__heap_is_marking(heap)) heap->options.concurrent = GC_CONCURRENT_OFF;
    if (heap->options.concurrent != before) gc__pace_forget(heap);
}

/* Returns whether the heap can be marked concurrently now. The barrier may have been switched since the heap was
   created. */
GC__FN bool gc__marking_is_on(const gc_heap *heap) {
    if (!gc__has_pause_goal(heap) || heap->marker->refused) return false;
    return !gc__marking_obstacle(&heap->options);
}

/* Returns whether each store into an old object can come to gc__store_logged: other barriers than rank_sum, and code
   that the host has emitted, dirty the card instead. */
GC__FN bool gc__stores_are_logged(const gc_heap *heap) {
    return !heap->options.barrier_changed && gc_barrier_current() == GC_BARRIER_RANK_SUM;
}

/* Returns how many bytes the final mark of the cycle that begins may copy from candidate regions. */
GC__FN size_t gc__candidates_budget(const gc_heap *heap) {
    size_t goal = gc__pace_goal_ns(heap) / GC__CANDIDATES_NS, scarce = gc__regions_scarce(heap) + GC__REGIONS_SCARCE;
    if (heap->options.test.candidates) return SIZE_MAX;
    if (!gc__fills_holes(heap)) return 0;
    return gc__regions_left(heap) < scarce ? GC__CANDIDATES_HURRY * goal : goal;
}

/* Returns by how much generation 2 is likely to grow while it is marked: one and a half times the growth of the last
   cycle, and a nursery. */
GC__FN size_t gc__marking_growth(const gc_heap *heap) {
    return heap->marker->grown_bytes + heap->marker->grown_bytes / 2 + heap->pace->nursery_bytes;
}

/* Returns the room that is left to the limit apart from a nursery: free regions, most of the listed holes, and half
   of the holes that are not listed yet, some of which are too small. */
GC__FN size_t gc__marking_room(const gc_heap *heap) {
    size_t left = gc__regions_left(heap), reserve = gc__evacuation_reserve_of(heap, heap->full_bytes);
    reserve += 1 + (heap->pace->nursery_bytes >> GC_REGION_SHIFT);
    size_t holes = gc__counted(&heap->old_holes.bytes) / 4 * 3 + gc__counted(&heap->unlisted_bytes) / 2;
    return ((left - gc__min(left, reserve)) << GC_REGION_SHIFT) + holes;
}

/* Returns how many bytes before its threshold a cycle begins: by how much the heap has grown during the last one, but an
   eighth to a half of the growth. */
GC__FN size_t gc__marking_reserve(const gc_heap *heap) {
    size_t growth = gc__growth_due(heap), likely = heap->marker->grown_bytes + heap->pace->nursery_bytes;
    return gc__min(gc__max(likely, growth / 8), growth / 2);
}

/* Returns whether a cycle that starts now could run out of room before it ends. While some regions are stale, which
   the first collection of a cycle would have to clear, the cycle starts later; but it does not wait until
   nothing is left if the marker gets no processor. */
GC__FN bool gc__marking_is_short(const gc_heap *heap) {
    size_t growth = gc__marking_growth(heap);
    return gc__marking_room(heap) < (__atomic_load_n(&heap->old_stale, __ATOMIC_RELAXED) ? growth / 2 : growth);
}

/* Returns whether the heap has grown by more than GC__MARKING_LOST times its initial room. Mutators wait when that
   room is spent, so their allocation was not the cause. */
GC__FN bool gc__marking_is_lost(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    return gc__grown_bytes(heap) >= marker->most_bytes + GC__MARKING_LOST * marker->began_growth;
}

/* Returns how much is left of the room to grow that the cycle had when it began, in 64ths. */
GC__FN unsigned gc__marking_left(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    size_t most = marker->most_bytes, growth = most - gc__min(most, gc__grown_bytes(heap));
    size_t room = gc__marking_room(heap) / gc__max(marker->began_room / 64, GC__WINDOW_BYTES);
    return (unsigned)gc__min(gc__min(growth / gc__max(marker->began_growth / 64, 1), room), 64);
}

/* Returns how long a mutator has to wait for the marker, in eighths of the goal; 0: not at all. The marker keeps up
   while the spent part of the room is no larger than the marked part of what it is likely to mark. When hardly any
   room is left, it may have more to mark than was likely. */
GC__COLD unsigned gc__marking_lateness(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    size_t marked = __atomic_load_n(&marker->marked_bytes, __ATOMIC_RELAXED);
    unsigned done = (unsigned)gc__min(marked / (marker->likely_bytes / 56 + 1), 56);
    unsigned left = gc__marking_left(heap), spent = 64 - left;
    if (left < 64 / 8) return 8;
    return spent > done ? (unsigned)gc__min(1 + (spent - done) / 2, 8) : 0;
}

/* Returns whether the heap exceeds its goal so much, because of holes that are too small, that it had better be
   compacted with the world stopped: not if that has left as much, because of pins or objects that never move. */
GC__FN bool gc__marking_is_no_use(const gc_heap *heap) {
    size_t left = heap->pace->full_used_bytes + gc__growth_due(heap) / 2;
    return gc__fills_holes(heap) && gc__bytes_in_use(heap) > gc__max(heap->goal_bytes + heap->goal_bytes / 2, left);
}
