/* Precleaning: the marker determines concurrently with mutators which handles, which pairs of objects and finalizers, and
   which slices of weak tables the final mark need not process.

   They are processed in pieces. A piece is clean if all objects to which it refers, weakly or not, are of generation 2,
   marked, and will not move: the final mark would change nothing there. The marker makes passes over the pieces of a
   kind, and shades strong parts on the way: the object of a strong or pinned handle, the dependent of a marked object,
   a value of a marked key. Since that may lead to the object of another piece, more passes follow. A clean piece stays
   so until somebody stores to it:

   * A handle is stored to without a lock. Each store clears the precleaned bits of its clump, after the place was
     written. An empty handle is clean only if it has no dependent, since the dependent is dropped, and may be dead.
   * Pairs change under the finalizers' lock, and a registered object never changes.
   * Only tables whose entries lie in an object are precleaned, since then every store to an entry passes a barrier: the
     stored object is marked by the end of the cycle, or collections process its card or slot. */
#pragma once

#include "../cycle/marker.h"
#include "../trace/scan.h"
#include "finalizers.h"
#include "safe.h"
#include "handle_table.h"

#define GC__PRECLEAN_PAIRS 512 /* pairs processed, or moved, under one hold of the finalizers' lock */
#define GC__PRECLEAN_CLUMPS 32 /* clumps processed under one hold of the handles' lock */
#define GC__PRECLEAN_FEW 256   /* pieces stored to during a pass: so few that the final mark processes them quickly */
/* Entries that begin in a slice may end in the next one, and be plain slots when the slice is looked at again. */
#define GC__TABLE_REACH (2 * GC__TABLE_SLICE)
#define GC__TABLE_STRETCH (32 * GC__TABLE_SLICE) /* bytes for which the trace function is called once */
#define GC__TABLE_AGAIN 32                       /* slices processed again under one hold of the marker's lock */

/* Calls `step`, which processes a part, under the lock of what it processes. Returns whether more is left: always if
   another thread has the lock, which may be forking, and taking the marker's lock. */
GC__FN bool gc__preclean_locked(gc_heap *heap, gc__lock *lock, bool (*step)(gc_heap *heap)) {
    if (!gc__lock_try(lock)) return true;
    bool more = step(heap);
    gc__lock_release(lock);
    return more;
}

/* Returns whether a pass is under way, or one begins. */
GC__OUT_OF_LINE bool gc__preclean_is_due(gc__preclean *all) {
    if (all->runs || !all->again || !all->passes) return all->runs;
    all->passes--;
    all->again = false;
    all->next = all->kept = all->stored = 0;
    return all->runs = true;
}

/* Ends a pass if it is over. Returns whether there is more to do. Another pass pays off if this one has shaded an
   object or has met many stores, and after the next collection. */
GC__OUT_OF_LINE bool gc__preclean_goes_on(gc__preclean *all, bool over) {
    all->runs = !over;
    all->again |= over && all->stored > GC__PRECLEAN_FEW;
    return all->runs || (all->again && all->passes);
}

GC__FN bool gc__is_precleaned(uintptr_t object) {
    if (!gc__in_arena(object)) return true;
    unsigned age = gc__barrier_age(&gc__tables, object);
    if (!(age & GC__AGE_MARKING) || age & GC__AGE_CANDIDATE) return false;
    return gc__shade_bit(gc__region_of(object)->heap->marker->marks, object);
}

/* Returns whether the handle is clean. If `shaded` is not NULL, shades the object of a strong or pinned handle, or a
   marked object's dependent, and sets *shaded. */
GC__FN bool gc__handle_is_clean(gc__handle_segment *segment, size_t index, gc_handle_kind kind, bool *shaded) {
    uintptr_t object = __atomic_load_n(&segment->places[index], __ATOMIC_RELAXED), other = 0;
    if (kind == GC_HANDLE_DEPENDENT) other = __atomic_load_n(gc__handle_extra(segment, index), __ATOMIC_RELAXED);
    if (gc__place_is_empty(object)) return !other;
    bool strong = kind == GC_HANDLE_STRONG || kind == GC_HANDLE_PINNED;
    if (!strong && !gc__is_precleaned(object)) return false;
    uintptr_t kept = strong ? object : other;
    if (gc__is_precleaned(kept)) return true;
    if (!shaded || !gc__is_marking(kept)) return false;
    gc__marker_shade(segment->heap, kept);
    *shaded = true;
    return gc__is_precleaned(kept);
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
        bool clean = kind == GC_HANDLE_KINDS || gc__handle_is_clean(segment, first + i, kind, shaded);
        precleaned |= (uint16_t)((unsigned)clean << i);
    }
    /* If a store has come in between, the exchange fails, and no handle of the clump is precleaned. */
    __atomic_compare_exchange_n(&segment->precleaned[clump], &all, precleaned, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Begins a cycle: no handle is precleaned. */
GC__COLD void gc__handles_preclean_begin(gc_heap *heap) {
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        memset(segment->precleaned, 0, sizeof segment->precleaned);
    gc__preclean_begin(&heap->handles->preclean, GC__PRECLEAN_PASSES);
    gc__preclean_allow(&heap->handles->preclean);
}

/* Precleans some clumps. Requires the handles' lock. */
GC__HOT bool gc__handles_preclean_some(gc_heap *heap) {
    gc__preclean *all = &heap->handles->preclean;
    if (!gc__preclean_is_due(all)) return false;
    gc__handle_segment *segment = all->next ? gc__handle_segment_of(all->next) : heap->handles->segments;
    size_t clump = all->next & (GC__HANDLE_SEGMENT_BYTES - 1);
    for (size_t left = GC__PRECLEAN_CLUMPS; segment && left;) {
        unsigned precleaned = __atomic_load_n(&segment->precleaned[clump], __ATOMIC_RELAXED);
        if (precleaned != GC__ALL_PRECLEANED) {
            all->stored += !precleaned;
            gc__clump_preclean(segment, clump, &all->again);
            left--;
        }
        if (++clump < GC__HANDLE_CLUMPS) continue;
        segment = segment->next;
        clump = 0;
    }
    all->next = (uintptr_t)segment + clump;
    return gc__preclean_goes_on(all, !segment);
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

/* Shades some objects whose finalizers are due. Returns false when all that were queued when the cycle began are
   shaded. Requires the finalizers' lock, as do the next functions. */
GC__HOT bool gc__due_preclean_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    size_t left = GC__PRECLEAN_PAIRS;
    bool more = false;
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
    return more || gc__marker_grey(heap->marker);
}

#if GC__HAS_MARKER
/* Returns whether the marker may ask if a finalizer is suppressed: the host allows it, or the function is gc.h's. */
GC__FN bool gc__finalizer_may_ask(const gc_heap *heap, uintptr_t finalizer) {
    bool (*ask)(const void *) = ((const gc_finalizer *)finalizer)->is_suppressed;
    return !ask || ask == gc__safe_is_suppressed || heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT;
}

/* While no pair is precleaned, compacts part of the list, if much of it is empty. Returns false if there is no need. */
GC__FN bool gc__pairs_compact_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    return (all->packing || all->empty > all->start[1] / 8) && gc__finalizers_compact_some(all, GC__PRECLEAN_PAIRS);
}

/* Precleans some of the old pairs. Returns false if all are done, or there is no memory to record more. */
GC__FN bool gc__pairs_preclean_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__preclean *old = &all->old;
    bool room = true;
    if (!old->next && gc__pairs_compact_some(heap)) return true;
    for (size_t i = 0; room && i < GC__PRECLEAN_PAIRS && old->next < all->start[1]; i++) {
        gc__finalizer_await(all, old->next + 2 * GC__FIFO);
        uintptr_t object = all->registered.words[old->next];
        if (object && !gc__is_precleaned(object)) {
            bool asks = gc__shade_is_white(object) && !gc__finalizer_may_ask(heap, all->registered.words[old->next + 1]);
            room = gc__shade_push(heap, asks ? &all->asked : &old->unclean, old->next);
        }
        if (room) old->next += 2;
    }
    return room && old->next < all->start[1];
}

/* When nothing else is left, seeks a white object that has a finalizer. Then a remark is due, once in a cycle. Not if a
   remark would have to scan regions for want of memory: the final mark does. Returns false if the answer is known. */
GC__FN bool gc__pairs_seek_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__marker *marker = heap->marker;
    const gc__words *numbers = &all->old.unclean;
    if (marker->remark || marker->unasked) return false;
    bool found = all->asked.count != 0;
    for (size_t i = 0; i < GC__PRECLEAN_PAIRS && !found && all->sought < numbers->count; i++) {
        uintptr_t object = all->registered.words[numbers->words[all->sought]];
        found = object && gc__shade_is_white(object);
        all->sought += !found;
    }
    if (found) __atomic_store_n(&marker->remark, (uint8_t)GC__REMARK_DUE, __ATOMIC_RELAXED);
    return !found && all->sought < numbers->count;
}

/* After a remark, decides which of some pairs are due. */
GC__FN bool gc__pairs_decide_some(gc_heap *heap) {
    gc__finalizers_decide(heap->finalizers, GC__PRECLEAN_PAIRS);
    return true;
}

typedef struct gc__precleaner {
    gc__part_visitor part; /* the part's worker is NULL */
    gc_heap *heap;
    uint32_t left; /* bit n: the n-th slice of the stretch is not clean */
} gc__precleaner;

/* Returns whether the slot's referent is clean, which it is not if half of a store is seen. If `strong`, shades it. */
GC__FN bool gc__entry_part_is_clean(gc__precleaner *precleaner, gc_word *slot, bool value, bool strong) {
    uintptr_t object = gc__slot_decode(slot, __atomic_load_n(slot, __ATOMIC_RELAXED), value);
    if (GC__VALUES_ARE_WIDE && value && gc__in_arena(object) && !gc__shade_is_sound(precleaner->heap, object)) return false;
    if (gc__is_precleaned(object)) return true;
    if (!strong || !gc__is_marking(object) || gc__is_candidate(object)) return false;
    gc__marker_shade(precleaner->heap, object);
    precleaner->heap->marker->slices.again = true;
    return gc__is_precleaned(object);
}

GC__FN void gc__table_preclean_entries(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__precleaner *precleaner = (gc__precleaner *)visitor;
    /* Strong slots may have been parts of weak entries when their object was scanned. */
    const gc_weak_entries slots = {slot, slot, count, gc__flags_bytes(flags), GC_WEAK_VALUES, flags, 0, 0, NULL, NULL};
    const gc_weak_entries *entries = flags & GC__SLOT_ENTRIES ? (const gc_weak_entries *)slot : &slots;
    bool value = gc__flags_value(entries->flags);
    size_t first;
    if (flags & GC__SLOT_STACK) return; /* the object waits */
    if (entries->count && !gc__entries_are_own(entries)) { /* the entries have moved out of the object */
        gc__shade_wait(precleaner->heap, gc__traced);
        return;
    }
    count = gc__part_clip(&precleaner->part, gc__entry_low(entries), gc__entry_high(entries), entries->entry_bytes,
                          entries->count, &first);
    for (size_t i = first; i < first + count; i++) {
        bool lives = gc__entry_part_is_clean(precleaner, gc__entry_key(entries, i), value, entries->kind == GC_WEAK_VALUES);
        bool strong = entries->kind == GC_WEAK_KEYS || (entries->kind == GC_WEAK_EPHEMERONS && lives);
        if (entries->kind != GC_WEAK_REFS)
            lives &= gc__entry_part_is_clean(precleaner, gc__entry_value(entries, i), value, strong);
        uintptr_t from = precleaner->part.from, at = gc__max(gc__entry_low(entries) + i * entries->entry_bytes, from);
        if (!lives) precleaner->left |= UINT32_C(1) << (at - from) / GC__TABLE_SLICE;
    }
}

/* Returns which slices of that stretch of the table are not clean, as bits. */
GC__FN uint32_t gc__table_preclean_part(gc_heap *heap, uintptr_t table, uintptr_t from, size_t bytes) {
    gc__precleaner precleaner = {{{gc__table_preclean_entries}, NULL, from, from + bytes, NULL}, heap, 0};
    gc__object_trace(&gc__traced, table, &precleaner.part.visitor);
    return precleaner.left;
}

/* Precleans the next stretch of the tables that the marker has found. */
GC__FN void gc__tables_preclean_found(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    uintptr_t table = marker->tables.words[marker->table_next], from = table + marker->table_from;
    uint32_t left = gc__table_preclean_part(heap, table, from, GC__TABLE_STRETCH);
    for (; left; left &= left - 1)
        gc__shade_slice(heap, table, from + (unsigned)__builtin_ctz(left) * GC__TABLE_SLICE);
    marker->table_from += GC__TABLE_STRETCH;
    if (marker->table_from < gc__object_bytes(table)) return;
    marker->table_next++;
    marker->table_from = 0;
}

/* Precleans some of the slices again that were not clean. Collections may have recorded slices of dead tables. */
GC__FN void gc__slices_preclean_again(gc_heap *heap) {
    gc__preclean *all = &heap->marker->slices;
    gc__words *slices = &all->unclean;
    for (unsigned i = 0; i < GC__TABLE_AGAIN && all->next < slices->count; i++) {
        uintptr_t table = slices->words[all->next++], from = slices->words[all->next++];
        if (gc__is_precleaned(table) && !gc__table_preclean_part(heap, table, from, GC__TABLE_REACH)) continue;
        slices->words[all->kept++] = table;
        slices->words[all->kept++] = from;
    }
    if (all->next == slices->count) slices->count = all->kept;
}

/* Precleans a part of the weak tables. Requires the marker's lock. Returns false if all are done. */
GC__FN bool gc__tables_preclean(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__preclean *all = &marker->slices;
    if (!all->runs && marker->table_next < marker->tables.count) {
        gc__tables_preclean_found(heap);
        return true;
    }
    if (!gc__preclean_is_due(all)) return false;
    gc__slices_preclean_again(heap);
    return gc__preclean_goes_on(all, all->next >= all->unclean.count) || marker->table_next < marker->tables.count;
}

/* In a remark, traces the slices that are not clean, of tables that are marked. */
GC__FN void gc__slices_remark(const gc_heap *heap) {
    gc__marker *marker = heap->marker;
    const gc__words *slices = &marker->slices.unclean;
    for (size_t i = 0; i < slices->count; i += 2) {
        uintptr_t table = slices->words[i], from = slices->words[i + 1];
        if (gc__shade_bit(marker->marks, table)) gc__object_trace_part(&marker->worker, table, from, from + GC__TABLE_REACH);
    }
}

/* In a final mark, processes the tables and slices that are left. */
GC__FN void gc__tables_hand_over(gc__worker *worker) {
    const gc__marker *marker = worker->heap->marker;
    for (size_t i = marker->table_next; i < marker->tables.count; i++)
        if (!gc__marker_evacuates(marker->tables.words[i])) gc__trace_push(worker, marker->tables.words[i]);
    for (size_t i = 0; i < marker->slices.unclean.count; i += 2) {
        uintptr_t table = marker->slices.unclean.words[i], from = marker->slices.unclean.words[i + 1];
        if (!gc__map_find(&marker->waits, table) && !gc__marker_evacuates(table) && gc__address_after_trace(table))
            gc__object_trace_part(worker, table, from, from + GC__TABLE_REACH);
    }
}

/* Precleans a part of everything. Requires the marker's lock. Returns false if nothing is left to do. */
GC__FN bool gc__preclean_some(gc_heap *heap) {
    gc__lock *pairs = &heap->finalizers->lock;
    return gc__preclean_locked(heap, pairs, gc__due_preclean_some) ||
           gc__preclean_locked(heap, &heap->handles->lock, gc__handles_preclean_some) ||
           gc__preclean_locked(heap, pairs, gc__pairs_preclean_some) || gc__tables_preclean(heap);
}
#endif
