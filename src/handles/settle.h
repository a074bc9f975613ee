/* What the last collection of a cycle need not look at among handles and finalizers: the marker finds that out beside mutators.

   A clump is settled if each of its handles is free, or empty, or refers to an object of generation 2 that is marked and will not
   move, and so does its dependent. Between the marker's look and the end of the cycle a place can come to refer to another
   object by a store only, and each store ends that the clump is settled, after the place was written. */
#pragma once

#include "../collect/marker.h"
#include "finalizers.h"
#include "table.h"

#define GC__SETTLE_PAIRS 512 /* looked at, or moved, while the lock of the finalizers is held */
#define GC__SETTLE_CLUMPS 32 /* looked at while the lock of the handles is held */
#define GC__SETTLE_PASSES 4  /* since a dependent that a pass marks may lead to the object of another handle */

GC__FN bool gc__is_settled(uintptr_t object) {
    if (!gc__in_arena(object)) return true;
    unsigned age = gc__barrier_age(&gc__tables, object);
    return age & GC__AGE_MARKING && !(age & GC__AGE_LEAVING) && gc__shade_bit(gc__cycle_marks, object);
}

/* The clump is settled from now on, if it can be and has no young objects. Dependents of marked objects are shaded. Returns
   whether any was. */
GC__FN bool gc__clump_settle(gc__handle_segment *segment, size_t clump) {
    size_t first = clump * GC__HANDLE_CLUMP;
    bool dependent = gc__handle_kind(segment, first) == GC_HANDLE_DEPENDENT, settles = true, shaded = false;
    if (__atomic_load_n(&segment->youth[clump], __ATOMIC_RELAXED)) return false;
    (void)__atomic_exchange_n(&segment->settled[clump], (uint8_t)1, __ATOMIC_ACQ_REL); /* before its places are read */
    for (size_t i = first; i < first + GC__HANDLE_CLUMP; i++) {
        uintptr_t object = __atomic_load_n(&segment->places[i], __ATOMIC_RELAXED);
        if (gc__place_is_empty(object)) continue;
        bool reached = gc__is_settled(object);
        settles &= reached;
        if (!dependent || !reached) continue;
        uintptr_t other = __atomic_load_n(gc__handle_extra(segment, i), __ATOMIC_RELAXED);
        if (gc__is_settled(other)) continue;
        if (gc__is_marking(other)) gc__marker_shade(segment->heap, other);
        shaded = true;
        settles &= gc__is_settled(other);
    }
    if (!settles) __atomic_store_n(&segment->settled[clump], (uint8_t)0, __ATOMIC_RELAXED);
    return shaded;
}

/* A cycle begins. */
GC__FN void gc__handles_unsettle(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        memset(segment->settled, 0, sizeof segment->settled);
    marker->settling = NULL;
    marker->settle_passes = 0;
    marker->settle_again = true;
}

/* Looks at some clumps. The marker's lock is held. False: all have been looked at. */
GC__FN bool gc__handles_settle(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!gc__lock_try(&heap->handles->lock)) return true; /* who has it may be forking, and take the marker's */
    if (!marker->settling && marker->settle_again && marker->settle_passes < GC__SETTLE_PASSES) {
        marker->settling = heap->handles->segments;
        marker->settle_from = 0;
        marker->settle_passes++;
        marker->settle_again = false;
    }
    gc__handle_segment *segment = marker->settling;
    for (size_t i = 0; segment && i < GC__SETTLE_CLUMPS; i++) {
        size_t clump = marker->settle_from++;
        if (gc__handle_kind(segment, clump * GC__HANDLE_CLUMP) < GC_HANDLE_KINDS)
            marker->settle_again |= gc__clump_settle(segment, clump);
        if (marker->settle_from < sizeof segment->settled) continue;
        marker->settling = segment = segment->next;
        marker->settle_from = 0;
    }
    gc__lock_release(&heap->handles->lock);
    return segment || (marker->settle_again && marker->settle_passes < GC__SETTLE_PASSES);
}

/* Looks at some of the old pairs that have finalizers. The marker's lock is held. False: all have been looked at, as far as there
   is memory to note some. */
GC__FN bool gc__finalizers_settle(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    bool room = true;
    if (!gc__lock_try(&all->lock)) return true; /* as above */
    const uintptr_t *words = all->registered.words;
    for (size_t i = 0; room && i < GC__SETTLE_PAIRS && all->looked < all->start[1]; i++) {
        gc__finalizer_await(all, all->looked + 2 * GC__FIFO);
        uintptr_t object = words[all->looked];
        room = !object || gc__is_settled(object) || gc__shade_push(heap, &all->unmarked, all->looked);
        if (room) all->looked += 2;
    }
    bool more = room && all->looked < all->start[1];
    gc__lock_release(&all->lock);
    return more;
}

/* Nothing is being marked: packs some of the list, if much of it is empty. The marker's lock is held. False: there is no need. */
GC__FN bool gc__finalizers_pack_next(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (!gc__lock_try(&all->lock)) return true;
    bool more = (all->packing || all->empty > all->start[1] / 8) && gc__finalizers_pack_some(all, GC__SETTLE_PAIRS);
    gc__lock_release(&all->lock);
    return more;
}
