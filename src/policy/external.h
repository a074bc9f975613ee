/* What tables know of objects: the off-heap memory that belongs to them, which counts towards budgets and the limit until
   they die; and under their address and GC__IDENTITY, their identity number. Each generation has its own table, so that
   a young collection looks at young objects only. */
#pragma once

#include "../trace/claim.h"

#define GC__IDENTITY ((uintptr_t)1)

/* Takes the entries of the condemned generations out of their tables, after making room for them in every table to
   which they may return. On failure nothing has changed. */
GC__HOT bool gc__external_gather(gc_heap *heap, int generation) {
    gc__words *moving = &heap->cycle->external_moving;
    size_t count = 0;
    moving->count = 0;
    for (int g = 0; g <= generation; g++) count += heap->collector->external[g].count;
    if (!count) return true;
    if (!gc__words_reserve(moving, 2 * count)) return false;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        size_t stay = g > generation ? heap->collector->external[g].count : 0;
        if (!gc__map_reserve(&heap->collector->external[g], stay + count)) return false;
    }
    for (int g = 0; g <= generation; g++) gc__map_take(&heap->collector->external[g], moving);
    return true;
}

/* Adds to the sum of off-heap bytes. Returns false, with gc__fail, if the sum would exceed any memory. */
GC__FN bool gc__external_count(gc_heap *heap, size_t bytes, const char *function) {
    size_t before = gc__external_bytes(heap);
    do {
        if (bytes <= GC__EXTERNAL_MOST - gc__min(before, GC__EXTERNAL_MOST)) continue;
        gc__fail(GC_ERROR_TOO_LARGE,
                 "%s: %zu bytes are added to %zu that are off the heap already, more than any memory holds: add what is "
                 "allocated, and take it off when it is freed",
                 function, bytes, before);
        return false;
    } while (!__atomic_compare_exchange_n(&heap->external_bytes, &before, before + bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

/* Subtracts off-heap bytes of objects. The heap's lock is held. */
GC__FN void gc__external_disown(gc_heap *heap, size_t bytes) {
    heap->owned_bytes -= bytes;
    __atomic_fetch_sub(&heap->external_bytes, bytes, __ATOMIC_RELAXED);
}

/* Forgets what is known of dead objects, and follows the others to their new addresses. Called after the trace, before
   regions are freed. */
GC__HOT void gc__external_update(gc_heap *heap) {
    const gc__words *moving = &heap->cycle->external_moving;
    for (size_t i = 0; i < moving->count; i += 2) {
        uintptr_t kind = moving->words[i] & GC__IDENTITY, object = gc__address_after_trace(moving->words[i] - kind);
        if (object)
            *gc__map_put(&heap->collector->external[gc__region_of(object)->target], object + kind) = moving->words[i + 1];
        else if (!kind)
            gc__external_disown(heap, moving->words[i + 1]);
    }
}

/* Returns by how much `bytes` exceeds the off-heap bytes that the last collection left, or 0: only the excess counts
   towards the budget, so adding bytes and subtracting them again is free. */
GC__FN size_t gc__external_growth(const gc_heap *heap, size_t bytes) {
    size_t left = __atomic_load_n(&heap->pace->external_bytes, __ATOMIC_RELAXED);
    return bytes > left ? bytes - left : 0;
}

/* Returns the entry of the object and kind, which is made if there is none; NULL, with gc__fail, if there is no memory. The
   heap's lock is held. */
GC__FN uintptr_t *gc__external_entry(gc_heap *heap, uintptr_t object, uintptr_t kind, const char *function) {
    gc__map *table = &heap->collector->external[gc__region_of(object)->generation];
    size_t growth = gc__map_growth(table);
    if (!gc__map_reserve(table, table->count + 1)) return (void)gc__fail_memory(function, "the table"), (uintptr_t *)NULL;
    gc__count(&heap->metadata_bytes, growth);
    return gc__map_put(table, object + kind);
}

GC__FN bool gc__external_fits(gc_heap *heap, size_t bytes) {
    if (bytes <= gc__the_arena.bytes) return gc__heap_has_room(heap, bytes);
    gc__fail(GC_ERROR_TOO_LARGE, "gc_object_add_external: %zu bytes are more than a heap can hold", bytes);
    return false;
}

GC__FN gc_result gc__external_remove(gc_heap *heap, gc__map *table, uintptr_t object, size_t bytes) {
    uintptr_t *held = gc__map_find(table, object);
    if (!held || *held < bytes)
        return gc__fail(GC_ERROR_MISUSE, "gc_object_add_external: %zu bytes are taken off, more than the object has", bytes);
    *held -= bytes;
    gc__external_disown(heap, bytes);
    return GC_OK;
}
