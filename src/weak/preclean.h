/* What the last collection of a cycle need not look at among handles and finalizers: the marker finds that out beside mutators.

   A handle is settled if it is free, or empty, or refers to an object of generation 2 that is marked and will not move, and so
   does its dependent. An empty one must have no dependent, since that is dropped, and may be dead. Between the marker's look and
   the end of the cycle a place can come to refer to another object by a store only, and each store ends that the handles of its
   clump are settled, after the place was written. */
#pragma once

#include "../cycle/marker.h"
#include "finalizers.h"
#include "safe.h"
#include "handle_table.h"

#define GC__PRECLEAN_PAIRS 512 /* looked at, or moved, while the lock of the finalizers is held */
#define GC__PRECLEAN_CLUMPS 32 /* looked at while the lock of the handles is held */
#define GC__PRECLEAN_FEW 256   /* clumps that were stored to during a pass: no more than the last collection looks at soon */
#define GC__PRECLEAN_PASSES 4  /* since a dependent that a pass marks may lead to the object of another handle */

GC__FN bool gc__is_precleaned(uintptr_t object) {
    if (!gc__in_arena(object)) return true;
    unsigned age = gc__barrier_age(&gc__tables, object);
    return age & GC__AGE_MARKING && !(age & GC__AGE_CANDIDATE) && gc__shade_bit(gc__next_marks, object);
}

/* Whether the handle is settled. If `shaded` is not NULL, a marked object's dependent is shaded; it tells whether any was. */
GC__FN bool gc__handle_is_clean(gc__handle_segment *segment, size_t index, bool dependent, bool *shaded) {
    uintptr_t object = __atomic_load_n(&segment->places[index], __ATOMIC_RELAXED);
    uintptr_t other = dependent ? __atomic_load_n(gc__handle_extra(segment, index), __ATOMIC_RELAXED) : 0;
    if (gc__place_is_empty(object)) return !other;
    if (!gc__is_precleaned(object)) return false;
    if (gc__is_precleaned(other)) return true;
    if (!shaded) return false;
    if (gc__is_marking(other)) gc__marker_shade(segment->heap, other);
    *shaded = true;
    return gc__is_precleaned(other);
}

/* Finds out which of the clump's other handles are settled, too, from now on. `shaded` as above. */
GC__FN void gc__clump_preclean(gc__handle_segment *segment, size_t clump, bool *shaded) {
    size_t first = clump * GC__HANDLE_CLUMP;
    gc_handle_kind kind = gc__handle_kind(segment, first);
    uint16_t all = GC__ALL_PRECLEANED;
    uint16_t precleaned = __atomic_exchange_n(&segment->precleaned[clump], all, __ATOMIC_ACQ_REL); /* before its places are read */
    for (unsigned i = 0; i < GC__HANDLE_CLUMP; i++) {
        if (precleaned >> i & 1) continue;
        bool clean = kind == GC_HANDLE_KINDS || gc__handle_is_clean(segment, first + i, kind == GC_HANDLE_DEPENDENT, shaded);
        precleaned |= (uint16_t)((unsigned)clean << i);
    }
    /* Unless a store has come since, and none of them is. */
    __atomic_compare_exchange_n(&segment->precleaned[clump], &all, precleaned, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* A cycle begins. */
GC__HOT void gc__handles_preclean_begin(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        memset(segment->precleaned, 0, sizeof segment->precleaned);
    marker->precleaning = NULL;
    marker->preclean_passes = marker->table_passes = GC__PRECLEAN_PASSES;
    marker->stored = SIZE_MAX;
}

/* Looks at some clumps. The marker's lock is held. False: all have been looked at. */
GC__HOT bool gc__handles_preclean(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!gc__lock_try(&heap->handles->lock)) return true; /* who has it may be forking, and take the marker's */
    if (!marker->precleaning && marker->preclean_passes) {
        marker->precleaning = heap->handles->segments;
        marker->preclean_from = 0;
        marker->preclean_passes--;
        marker->preclean_again = false;
        marker->stored_before = marker->stored;
        marker->stored = 0;
    }
    gc__handle_segment *segment = marker->precleaning;
    for (size_t left = GC__PRECLEAN_CLUMPS; segment && left;) {
        size_t clump = marker->preclean_from++;
        unsigned precleaned = __atomic_load_n(&segment->precleaned[clump], __ATOMIC_RELAXED);
        if (precleaned != GC__ALL_PRECLEANED) {
            marker->stored += !precleaned;
            gc__clump_preclean(segment, clump, &marker->preclean_again);
            left--;
        }
        if (marker->preclean_from < GC__HANDLE_CLUMPS) continue;
        marker->precleaning = segment = segment->next;
        marker->preclean_from = 0;
    }
    /* Another pass is worth while as long as each leaves less to do for the next; or after the next collection. */
    bool fewer = marker->stored > GC__PRECLEAN_FEW && marker->stored < marker->stored_before / 2;
    if (!segment && !marker->preclean_again) marker->preclean_passes = fewer;
    bool more = segment || marker->preclean_passes;
    gc__lock_release(&heap->handles->lock);
    return more;
}

GC__FN void gc__clump_await(const gc__handle_segment *segment, size_t clump) {
    for (size_t i = clump * GC__HANDLE_CLUMP; i < (clump + 1) * GC__HANDLE_CLUMP; i++) {
        uintptr_t object = segment->places[i];
        if (gc__is_marking(object)) __builtin_prefetch(&gc__next_marks[gc__mark_index(object) >> 6]);
    }
}

/* The last collection has begun: looks again at clumps that were stored to; of most of their handles nothing has changed. The
   world is stopped. */
GC__HOT void gc__handles_preclean_last(gc_heap *heap) {
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        for (size_t clump = 0; clump < GC__HANDLE_CLUMPS; clump++) {
            uint64_t block;
            memcpy(&block, &segment->precleaned[clump / GC__BLOCK_CLUMPS * GC__BLOCK_CLUMPS], sizeof block);
            if (block == ~(uint64_t)0) clump |= GC__BLOCK_CLUMPS - 1;
            if (segment->precleaned[clump]) continue;
            gc__clump_await(segment, clump);
            gc__clump_preclean(segment, clump, NULL);
        }
}

/* Shades some objects whose finalizers are due. The marker's lock is held. False: that was done for all that were queued when the
   cycle began. */
GC__HOT bool gc__due_preclean(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    size_t left = GC__PRECLEAN_PAIRS;
    bool more = false;
    if (!gc__lock_try(&all->lock)) return true; /* as above */
    for (uintptr_t queue = 0; queue < 2; queue++) {
        gc__due *due = &all->due[queue];
        due->shaded = gc__max(due->shaded, due->head);
        for (; left && due->shaded < due->shading; left--, due->shaded += 2) {
            uintptr_t object = due->pairs.words[due->shaded], ahead = gc__min(due->shaded + 2 * GC__FIFO, due->shading - 2);
            __builtin_prefetch(&gc__next_marks[gc__mark_index(due->pairs.words[ahead]) >> 6], 1);
            if (!gc__is_marking(object)) continue;
            if (gc__is_candidate(object)) all->young_unknown |= !gc__words_push(&all->young, due->shaded | queue);
            gc__marker_shade(heap, object);
        }
        more |= due->shaded < due->shading;
    }
    gc__lock_release(&all->lock);
    return more || heap->marker->grey.count;
}

/* Looks at some of the old pairs that have finalizers. The marker's lock is held. False: all have been looked at, as far as there
   is memory to note some. */
GC__FN bool gc__finalizers_preclean(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    bool room = true;
    if (!gc__lock_try(&all->lock)) return true; /* as above */
    const uintptr_t *words = all->registered.words;
    for (size_t i = 0; room && i < GC__PRECLEAN_PAIRS && all->looked < all->start[1]; i++) {
        gc__finalizer_await(all, all->looked + 2 * GC__FIFO);
        uintptr_t object = words[all->looked];
        room = !object || gc__is_precleaned(object) || gc__shade_push(heap, &all->unmarked, all->looked);
        if (room) all->looked += 2;
    }
    bool more = room && all->looked < all->start[1];
    gc__lock_release(&all->lock);
    return more;
}

#if !GC_HAS_MODEL
/* Whether others than the last collection may ask about the object of the pair: the host says so, or the function is gc.h's. */
GC__FN bool gc__finalizer_may_ask(const gc_heap *heap, uintptr_t finalizer) {
    bool (*ask)(const void *) = ((const gc_finalizer *)finalizer)->is_suppressed;
    return !ask || ask == gc__safe_is_suppressed || heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT;
}

/* Reprieves the object of the pair of that number, or leaves it to the last collection; unless it was marked since. */
GC__FN void gc__finalizer_mark_pair(gc_heap *heap, size_t number) {
    gc__finalizers *all = heap->finalizers;
    uintptr_t object = all->registered.words[number];
    if (!object || gc__is_precleaned(object)) return;
    bool keeps = !gc__is_marking(object) || gc__is_candidate(object) || heap->marker->no_finalizer_marks;
    keeps = keeps || !gc__finalizer_may_ask(heap, all->registered.words[number + 1]);
    if (!keeps) gc__finalizer_mark(heap, object);
    if (!gc__shade_push(heap, keeps ? &all->kept : &all->finalizer_grey, number)) heap->marker->no_finalizer_marks = true;
}

/* The marker has reached all that it can: marks on from some of the objects that have finalizers and are white. The marker's
   lock is held. False: all has been done. */
GC__FN bool gc__finalizers_mark_on(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__marker *marker = heap->marker;
    bool more = gc__finalizer_marks_work(heap, GC__PRECLEAN_PAIRS);
    if (!marker->no_finalizer_marks && (more || !all->unmarked.count || !gc__finalizer_marks_open(marker))) return more;
    if (!gc__lock_try(&all->lock)) return true; /* as above */
    for (size_t i = 0; i < GC__PRECLEAN_PAIRS && all->unmarked.count && !marker->no_finalizer_marks; i++) {
        size_t number = all->unmarked.words[--all->unmarked.count];
        size_t ahead = all->unmarked.count - gc__min(all->unmarked.count, GC__FIFO);
        if (ahead) gc__finalizer_await(all, all->unmarked.words[ahead]);
        gc__finalizer_mark_pair(heap, number);
    }
    more = !marker->no_finalizer_marks || marker->finalizer_marks;
    if (marker->no_finalizer_marks && marker->finalizer_marks) {
        gc__finalizer_marks_drop(heap);
        gc__finalizers_preclean_begin(all);
    }
    gc__lock_release(&all->lock);
    return more;
}
#endif

/* Nothing is being marked: finds out of some reprieved pairs whether they are due. The marker's lock is held. False: that is
   known of all. */
GC__FN bool gc__finalizers_decide_next(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (!__atomic_load_n(&all->deciding, __ATOMIC_ACQUIRE)) return false;
    if (!gc__lock_try(&all->lock)) return true; /* as above */
    gc__finalizers_decide(all, GC__PRECLEAN_PAIRS, false);
    bool more = all->deciding;
    gc__lock_release(&all->lock);
    return more;
}

/* Nothing is being marked: packs some of the list, if much of it is empty. The marker's lock is held. False: there is no need. */
GC__FN bool gc__finalizers_compact_next(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (!gc__lock_try(&all->lock)) return true;
    bool more = (all->packing || all->empty > all->start[1] / 8) && gc__finalizers_compact_some(all, GC__PRECLEAN_PAIRS);
    gc__lock_release(&all->lock);
    return more;
}
