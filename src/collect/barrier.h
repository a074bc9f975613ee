/* The range barriers. */
#pragma once

#include "../heap/heap.h"

/* Dirties the cards of those slots that need it. */
GC_API void gc_stored_range(gc_thread *thread, void *slots, size_t count, unsigned flags) {
    gc_word *slot = (gc_word *)slots;
    (void)thread;
    gc__store_shadow(slots, count);
    if (!count || gc__tables.age[(uintptr_t)slot >> GC_REGION_SHIFT] == 0) return;
    for (size_t i = 0; i < count; i++) {
        uintptr_t word = slot[i];
        if ((flags & GC_ROOT_VALUE) && !GC_VALUE_IS_REF(word)) continue;
        const void *ref = (const void *)(flags & GC_ROOT_VALUE ? GC_VALUE_TO_REF(word) : word);
        if (gc_barrier_ranks(&gc__tables, &slot[i], ref) > 2) gc_barrier_dirty_card(&gc__tables, &slot[i]);
    }
}

GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count) {
    if (count) memmove(destination, source, count * 8);
    gc_stored_range(thread, destination, count, 0);
}

GC_API void gc_copy_values(gc_thread *thread, void *destination, const void *source, size_t count) {
    if (count) memmove(destination, source, count * 8);
    gc_stored_range(thread, destination, count, GC_ROOT_VALUE);
}
