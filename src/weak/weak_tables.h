/* Precleaning of weak tables: the marker determines concurrently with mutators what the final mark need not process.

   A slice of a table is clean if everything that its entries refer to, weakly or not, is of generation 2, marked, and
   will not move: then no entry is cleared, and none changes. The marker shades the strong parts of entries on the way,
   for ephemerons only if their keys are marked. Only tables whose entries lie in an object are precleaned, since then
   every store to an entry passes a barrier: the stored object is marked by the end of the cycle, or collections process
   its card or slot. */
#pragma once

#include "../cycle/marker.h"
#include "../trace/scan.h"
#include "preclean.h"

#if GC__HAS_MARKER
#define GC__TABLE_STRETCH (32 * GC__TABLE_SLICE) /* bytes for which the trace function is called once */
#define GC__TABLE_AGAIN 32                       /* slices processed again under one hold of the marker's lock */

typedef struct gc__precleaner {
    gc__part_visitor part; /* the part's worker is NULL */
    gc_heap *heap;
    uint32_t left; /* bit n: the n-th slice of the stretch is not clean */
} gc__precleaner;

/* Returns whether the slot's referent is clean. If `strong`, shades it. */
GC__FN bool gc__entry_part_is_clean(gc__precleaner *precleaner, gc_word *slot, bool value, bool strong) {
    uintptr_t object = gc__slot_decode(__atomic_load_n(slot, __ATOMIC_RELAXED), value);
    if (gc__is_precleaned(object)) return true;
    if (!strong || !gc__is_marking(object) || gc__is_candidate(object)) return false;
    gc__marker_shade(precleaner->heap, object);
    precleaner->heap->marker->table_again = true;
    return gc__is_precleaned(object);
}

GC__FN void gc__table_preclean_entries(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__precleaner *precleaner = (gc__precleaner *)visitor;
    const gc_weak_entries *entries = (const gc_weak_entries *)slot;
    if (!(flags & GC__SLOT_ENTRIES)) return; /* the slot was read when its object was scanned */
    bool value = GC_HAS_VALUES && (entries->flags & GC_SLOT_VALUE);
    size_t first;
    if (entries->count && !gc__entries_are_own(entries)) { /* the entries have moved out of the object */
        gc__shade_wait(precleaner->heap, gc__traced);
        return;
    }
    count = gc__part_clip(&precleaner->part, gc__entry_low(entries), gc__entry_high(entries), gc__entry_bytes(entries),
                          entries->count, &first);
    for (size_t i = first; i < first + count; i++) {
        bool lives = gc__entry_part_is_clean(precleaner, gc__entry_key(entries, i), value, entries->kind == GC_WEAK_VALUES);
        bool strong = entries->kind == GC_WEAK_KEYS || (entries->kind == GC_WEAK_EPHEMERONS && lives);
        if (entries->kind != GC_WEAK_REFS)
            lives &= gc__entry_part_is_clean(precleaner, gc__entry_value(entries, i), value, strong);
        uintptr_t at = gc__entry_low(entries) + i * gc__entry_bytes(entries);
        uintptr_t from = precleaner->part.from, offset = gc__max(at, from) - from;
        if (!lives) precleaner->left |= UINT32_C(1) << offset / GC__TABLE_SLICE;
    }
}

/* Returns which slices of that stretch of the table are not clean, as bits. */
GC__FN uint32_t gc__table_preclean_part(gc_heap *heap, uintptr_t table, uintptr_t from, size_t bytes) {
    gc__precleaner precleaner = {{{gc__table_preclean_entries}, NULL, from, from + bytes}, heap, 0};
    gc__object_trace(table, &precleaner.part.visitor);
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
GC__FN void gc__tables_preclean_again(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__words *pieces = &marker->pieces;
    for (unsigned i = 0; i < GC__TABLE_AGAIN && marker->slice_next < pieces->count; i++) {
        uintptr_t table = pieces->words[marker->slice_next++], from = pieces->words[marker->slice_next++];
        if (gc__is_precleaned(table) && !gc__table_preclean_part(heap, table, from, GC__TABLE_SLICE)) continue;
        pieces->words[marker->slice_kept++] = table;
        pieces->words[marker->slice_kept++] = from;
    }
    if (marker->slice_next < pieces->count) return;
    pieces->count = marker->slice_kept;
    marker->slice_next = marker->slice_kept = 0;
}

/* Precleans a part of the weak tables. Requires the marker's lock. Returns false if all are done. */
GC__FN bool gc__tables_preclean(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (marker->slice_next) {
        gc__tables_preclean_again(heap);
    } else if (marker->table_next < marker->tables.count) {
        gc__tables_preclean_found(heap);
    } else if (marker->table_again && marker->table_passes && marker->pieces.count) {
        marker->table_again = false;
        marker->table_passes--;
        gc__tables_preclean_again(heap);
    } else {
        return false;
    }
    return true;
}

/* Returns whether the final mark processes the whole table anyway. Of many such tables only the first few are
   checked. */
GC__FN bool gc__table_waits(const gc__marker *marker, uintptr_t table) {
    size_t count = gc__min(marker->waiting.count, GC__FIFO);
    for (size_t i = 0; i < count; i++)
        if (marker->waiting.words[i] == table) return true;
    return false;
}

/* In a final mark, processes the tables and slices that are left. */
GC__FN void gc__tables_hand_over(gc__worker *worker) {
    const gc__marker *marker = worker->heap->marker;
    for (size_t i = marker->table_next; i < marker->tables.count; i++)
        if (!gc__marker_evacuates(marker->tables.words[i])) gc__trace_push(worker, marker->tables.words[i]);
    for (size_t i = 0; i < marker->pieces.count; i += 2) {
        uintptr_t table = marker->pieces.words[i], from = marker->pieces.words[i + 1];
        if (!gc__table_waits(marker, table) && !gc__marker_evacuates(table) && gc__address_after_trace(table))
            gc__object_trace_part(worker, table, from, from + GC__TABLE_SLICE);
    }
}
#endif
