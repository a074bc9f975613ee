/* Concurrent cycles: which heaps can have them, when one begins and ends, and whether the marker is on time. */
#pragma once

#include "../trace/copy.h"
#include "../trace/candidates.h"
#include "pace.h"

#define GC__MARKING_ROOM 4                  /* a heap may grow by such a part while it is marked, though that was due before */
#define GC__MARKING_SOON 16                 /* a cycle may begin once the heap has grown by such a part of what it may */
#define GC__MARKING_LOST 2                  /* times that room, beyond which a heap grows until the program is stopped */

/* Whether each store into an object that is being marked comes to the collector's notice: by a call, or by a dirty card. */
GC__FN bool gc__barrier_is_seen(gc_barrier barrier) {
    gc__barrier_parts parts = gc__barrier_parts_of(barrier);
    return parts.filter == GC__FILTER_RANK || parts.filter == GC__FILTER_SUM ||
           (parts.filter == GC__FILTER_ANY && parts.mark != GC__MARK_NOTHING);
}

/* Why generation 2 of such a heap cannot be marked beside mutators; NULL: it can. */
GC__OUT_OF_LINE const char *gc__marking_obstacle(const gc_options *options) {
    if (GC_HAS_MODEL) return "objects are traced by the host's own functions (GC_MODEL_BYTES)";
    if (options->non_generational) return "options.non_generational is set, so stores have no barrier";
    if (options->non_moving) return "options.non_moving is set, so holes are given to mutators by stopping collections";
    if (gc__barrier_is_seen(gc_barrier_current())) return NULL;
    return "the barrier shows no stores of old references: rank_sum does, and those do that dirty cards whatever is "
           "stored";
}

/* The same with what may change while the heap runs. With a goal for pauses that is what was asked for, and in so small a heap
   the goal is kept all the same. */
GC__FN const char *gc__marking_obstacle_now(const gc_heap *heap) {
    const gc_options *options = &heap->options;
    const char *obstacle = gc__marking_obstacle(options);
    if (obstacle || options->pause_goal_us || options->test.marker_steps || heap->limit_bytes >= GC__MARKING_WORTH)
        return obstacle;
    return "options.heap_bytes_max is less than the 2 MiB of old objects for which marking beside them begins";
}

/* An option without effect must not change how the heap is paced either. It comes into force once nothing stands against it any
   more, as with another barrier or a higher limit. `may_end`: the heap is about to be paced anew after a full collection, as it
   must be when the option ends. The world is stopped. */
GC__FN void gc__marking_resolve(gc_heap *heap, bool may_end) {
    bool stands = heap->asked_concurrent && gc__marking_obstacle_now(heap);
    if (heap->asked_concurrent && !stands) heap->options.concurrent = GC_CONCURRENT_ON;
    if (stands && may_end && !heap->marking) heap->options.concurrent = GC_CONCURRENT_OFF;
}

/* The barrier may have been switched since the heap was created. */
GC__FN bool gc__marking_is_on(const gc_heap *heap) {
    if (!gc__has_pause_goal(heap) || heap->marker->refused) return false;
    return !gc__marking_obstacle(&heap->options);
}

/* Whether each store into an old object can come to gc__store_logged: other barriers than rank_sum, and code that the host has
   had emitted, dirty the card instead. */
GC__FN bool gc__stores_are_logged(const gc_heap *heap) {
    return !heap->options.barrier_changed && gc_barrier_current() == GC_BARRIER_RANK_SUM;
}

/* How many bytes the last collection of the cycle that begins may copy from leaving regions. */
GC__FN size_t gc__candidates_budget(const gc_heap *heap) {
    size_t goal = gc__pace_goal_ns(heap) / GC__CANDIDATES_NS, scarce = gc__regions_scarce(heap) + GC__REGIONS_SCARCE;
    if (heap->options.test.candidates) return SIZE_MAX;
    if (!heap->pace->fills_holes) return 0;
    return gc__regions_left(heap) < scarce ? GC__CANDIDATES_HURRY * goal : goal;
}

/* By how much generation 2 is likely to grow while it is marked: as much as last time, and half of that. */
GC__FN size_t gc__marking_growth(const gc_heap *heap) {
    return heap->marker->grown_bytes + heap->marker->grown_bytes / 2 + heap->pace->nursery_bytes;
}

/* What is left to the limit beside a nursery: free regions, most of the listed holes, and half of those that are not listed yet,
   some of which are too small. */
GC__FN size_t gc__marking_room(const gc_heap *heap) {
    size_t left = gc__regions_left(heap), reserve = gc__evacuation_reserve_of(heap, heap->full_bytes);
    reserve += 1 + (heap->pace->nursery_bytes >> GC_REGION_SHIFT);
    size_t holes = gc__counted(&heap->old_holes.bytes) / 4 * 3 + gc__counted(&heap->unlisted_bytes) / 2;
    return ((left - gc__min(left, reserve)) << GC_REGION_SHIFT) + holes;
}

/* How much it may grow meanwhile. */
GC__FN size_t gc__marking_reserve(const gc_heap *heap) {
    size_t growth = gc__growth_due(heap);
    return gc__min(gc__max(gc__marking_growth(heap), growth / 8), growth / 2);
}

/* Whether that may not suffice for as much growth. If the marker has not settled all regions yet, which the first collection of a
   cycle would have to do, that one comes later: but not until nothing is left where the marker gets no processor. */
GC__FN bool gc__marking_is_short(const gc_heap *heap) {
    size_t growth = gc__marking_growth(heap);
    return gc__marking_room(heap) < (__atomic_load_n(&heap->old_unflipped, __ATOMIC_RELAXED) ? growth / 2 : growth);
}

/* Whether it has grown by some times what it had room for. Mutators wait when that room is spent, so it is not their allocation
   that was too fast. */
GC__FN bool gc__marking_is_lost(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    return gc__grown_bytes(heap) >= marker->most_bytes + GC__MARKING_LOST * marker->began_growth;
}

/* The part of the room to grow that a cycle had when it began and that is left, in 64ths. */
GC__FN unsigned gc__marking_left(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    size_t most = marker->most_bytes, growth = most - gc__min(most, gc__grown_bytes(heap));
    size_t room = gc__marking_room(heap) / gc__max(marker->began_room / 64, GC__WINDOW_BYTES);
    return (unsigned)gc__min(gc__min(growth / gc__max(marker->began_growth / 64, 1), room), 64);
}

/* How long a mutator has to wait for the marker, in eighths of the goal; 0: not at all. The marker is on time while the part of
   the room that is spent is no larger than the part that it has marked of what it is likely to mark. When hardly any room is left
   it may have more to mark than was likely. */
GC__COLD unsigned gc__marking_lateness(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    size_t marked = __atomic_load_n(&marker->marked_bytes, __ATOMIC_RELAXED);
    unsigned done = (unsigned)gc__min(marked / (marker->likely_bytes / 56 + 1), 56);
    unsigned left = gc__marking_left(heap), spent = 64 - left;
    if (left < 64 / 8) return 8;
    return spent > done ? (unsigned)gc__min(1 + (spent - done) / 2, 8) : 0;
}

/* Whether the heap holds so much more than its goal, in holes that are too small, that it is better compacted: that stops the
   program for as long as it takes. */
GC__FN bool gc__marking_is_no_use(const gc_heap *heap) {
    return heap->pace->fills_holes && gc__bytes_in_use(heap) > heap->goal_bytes + heap->goal_bytes / 2;
}
