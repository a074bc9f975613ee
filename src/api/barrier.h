/* Stores of references: every store into a heap object after its first safe point goes through one of these.
   A new object's own initializing stores need none until the next call that may collect. Owners that are not on the
   heap (stack, static and malloc'ed slots) may be stored to by either. None of these collects. */
#pragma once

#include "roots.h"

GC__EXTERN gc_barrier_tables gc__tables; /* written with the world stopped */
GC__EXTERN void gc__shadow_store(void *slot, size_t count);

static inline void gc__store_shadow(void *slot, size_t count) {
#if GC_SHADOW_HEAP
    gc__shadow_store(slot, count);
#else
    (void)slot, (void)count;
#endif
}

/* *slot = ref, with the write barrier. ref: an object of the same heap, null, or any address outside the heaps. */
static inline void gc_store(gc_thread *thread, void *slot, const void *ref) {
    (void)thread;
    GC_ASSERT(((uintptr_t)slot & 7) == 0, "gc_store: the slot %p is not 8-byte aligned", slot);
    gc_barrier_store_rank_sum(&gc__tables, slot, ref);
    gc__store_shadow(slot, 1);
}

/* *slot = value, a tagged value, with the write barrier if it refers to an object. */
static inline void gc_store_value(gc_thread *thread, void *slot, uintptr_t value) {
    (void)thread;
    *(gc_word *)slot = value;
    if (GC_VALUE_IS_REF(value)) {
        const void *ref = (const void *)GC_VALUE_TO_REF(value);
        if (GC__UNLIKELY(gc_barrier_ranks(&gc__tables, slot, ref) > 2)) gc_barrier_dirty_card(&gc__tables, slot);
    }
    gc__store_shadow(slot, 1);
}

/* The barrier alone, for `count` slots that were already stored to (by memcpy into an object, say), before the next
   safe point. flags: 0 or GC_ROOT_VALUE. */
GC_API void gc_stored_range(gc_thread *thread, void *slots, size_t count, unsigned flags);
/* Copies `count` references from source to destination, which may overlap, as memmove does; with the barrier. */
GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count);
/* The same for tagged values. */
GC_API void gc_copy_values(gc_thread *thread, void *destination, const void *source, size_t count);
