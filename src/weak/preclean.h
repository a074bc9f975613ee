/* Precleaning of handles and finalizers: the marker determines concurrently with mutators which of them the final mark
   need not process.

   A handle is clean if it is free, or empty, or refers to an object of generation 2 that is marked and will not move,
   and its dependent is, too. An empty handle must have no dependent, since the dependent is dropped, and may be dead.
   Between the marker's check and the end of the cycle a place can come to refer to another object by a store only, and
   each store clears the precleaned bits of its clump, after the place was written. */
#pragma once

#include "../cycle/marker.h"
#include "finalizers.h"
#include "safe.h"
#include "handle_table.h"

#define GC__PRECLEAN_PAIRS 512 /* pairs processed, or moved, under one hold of the finalizers' lock */
#define GC__PRECLEAN_CLUMPS 32 /* clumps processed under one hold of the handles' lock */
#define GC__PRECLEAN_FEW 256   /* clumps stored to during a pass: so few that the final mark processes them quickly */
#define GC__PRECLEAN_PASSES 4  /* since a dependent that a pass marks may lead to the object of another handle */

GC__FN bool gc__is_precleaned(uintptr_t object) {
    if (!gc__in_arena(object)) return true;
    unsigned age = gc__barrier_age(&gc__tables, object);
    return age & GC__AGE_MARKING && !(age & GC__AGE_CANDIDATE) && gc__shade_bit(gc__region_of(object)->heap->marker->marks, object);
}

/* Returns whether the handle is clean. If `shaded` is not NULL, shades a marked object's dependent, and sets
   *shaded. */
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

/* Determines which of the clump's other handles are clean, too, and sets their precleaned bits. `shaded` as above. */
GC__FN void gc__clump_preclean(gc__handle_segment *segment, size_t clump, bool *shaded) {
    size_t first = clump * GC__HANDLE_CLUMP;
    gc_handle_kind kind = gc__handle_kind(segment, first);
    uint16_t all = GC__ALL_PRECLEANED;
    /* read before the clump's places */
    uint16_t precleaned = __atomic_exchange_n(&segment->precleaned[clump], all, __ATOMIC_ACQ_REL);
    for (unsigned i = 0; i < GC__HANDLE_CLUMP; i++) {
        if (precleaned >> i & 1) continue;
        bool clean = kind == GC_HANDLE_KINDS || gc__handle_is_clean(segment, first + i, kind == GC_HANDLE_DEPENDENT, shaded);
        precleaned |= (uint16_t)((unsigned)clean << i);
    }
    /* If a store has come in between, the exchange fails, and no handle of the clump is precleaned. */
    __atomic_compare_exchange_n(&segment->precleaned[clump], &all, precleaned, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Begins a cycle: no handle is precleaned. */
GC__HOT void gc__handles_preclean_begin(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        memset(segment->precleaned, 0, sizeof segment->precleaned);
    marker->precleaning = NULL;
    marker->preclean_passes = marker->table_passes = GC__PRECLEAN_PASSES;
    marker->stored = SIZE_MAX;
}

/* Precleans some clumps. Requires the marker's lock. Returns false if all clumps are done. */
GC__HOT bool gc__handles_preclean(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!gc__lock_try(&heap->handles->lock)) return true; /* the owner may be forking, and taking the marker's lock */
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
    /* Another pass pays off as long as each leaves less work for the next, or after the next collection. */
    bool fewer = marker->stored > GC__PRECLEAN_FEW && marker->stored < marker->stored_before / 2;
    if (!segment && !marker->preclean_again) marker->preclean_passes = fewer;
    bool more = segment || marker->preclean_passes;
    gc__lock_release(&heap->handles->lock);
    return more;
}

GC__FN void gc__clump_await(const gc__handle_segment *segment, size_t clump) {
    for (size_t i = clump * GC__HANDLE_CLUMP; i < (clump + 1) * GC__HANDLE_CLUMP; i++) {
        uintptr_t object = segment->places[i];
        if (gc__is_marking(object)) __builtin_prefetch(&segment->heap->marker->marks[gc__mark_index(object) >> 6]);
    }
}

/* At the start of the final mark, precleans clumps that were stored to; most of their handles have not changed.
   Requires that the world is stopped. */
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

/* Shades some objects whose finalizers are due. Requires the marker's lock. Returns false when all that were queued
   when the cycle began are shaded. */
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
            __builtin_prefetch(&heap->marker->marks[gc__mark_index(due->pairs.words[ahead]) >> 6], 1);
            if (!gc__is_marking(object)) continue;
            if (gc__is_candidate(object)) all->young_unknown |= !gc__words_push(&all->young, due->shaded | queue);
            gc__marker_shade(heap, object);
        }
        more |= due->shaded < due->shading;
    }
    gc__lock_release(&all->lock);
    return more || heap->marker->grey.count;
}

/* Precleans some of the old pairs that have finalizers. Requires the marker's lock. Returns false if all are done, or
   there is no memory to record more. */
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

#if GC__HAS_MARKER
/* Returns whether the marker may ask if a finalizer is suppressed: the host allows it, or the function is gc.h's. */
GC__FN bool gc__finalizer_may_ask(const gc_heap *heap, uintptr_t finalizer) {
    bool (*ask)(const void *) = ((const gc_finalizer *)finalizer)->is_suppressed;
    return !ask || ask == gc__safe_is_suppressed || heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT;
}

/* Sets the finalizer mark of the pair's object, or leaves the pair to the final mark, unless it was marked since. */
GC__FN void gc__finalizer_mark_pair(gc_heap *heap, size_t number) {
    gc__finalizers *all = heap->finalizers;
    uintptr_t object = all->registered.words[number];
    if (!object || gc__is_precleaned(object)) return;
    bool keeps = !gc__is_marking(object) || gc__is_candidate(object) || heap->marker->no_finalizer_marks;
    keeps = keeps || !gc__finalizer_may_ask(heap, all->registered.words[number + 1]);
    if (!keeps) gc__finalizer_mark(heap, object);
    if (!gc__shade_push(heap, keeps ? &all->kept : &all->finalizer_grey, number)) heap->marker->no_finalizer_marks = true;
}

/* When the marker has marked all that it can, marks on from some of the white objects that have finalizers. Requires
   the marker's lock. Returns false if all is done. */
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

/* While no marking runs, decides which of some pairs with finalizer marks are due. Requires the marker's lock. Returns
   false if all are decided. */
GC__FN bool gc__finalizers_decide_next(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (!__atomic_load_n(&all->deciding, __ATOMIC_ACQUIRE)) return false;
    if (!gc__lock_try(&all->lock)) return true; /* as above */
    gc__finalizers_decide(all, GC__PRECLEAN_PAIRS, false);
    bool more = all->deciding;
    gc__lock_release(&all->lock);
    return more;
}

/* While no marking runs, compacts part of the list, if much of it is empty. Requires the marker's lock. Returns false
   if there is no need. */
GC__FN bool gc__finalizers_compact_next(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (!gc__lock_try(&all->lock)) return true;
    bool more = (all->packing || all->empty > all->start[1] / 8) && gc__finalizers_compact_some(all, GC__PRECLEAN_PAIRS);
    gc__lock_release(&all->lock);
    return more;
}
