/* The barriers in C: for other processors, and as the specification of the assembly. */
#pragma once

#include "tables.h"

#define GC__BARRIER_INLINE static inline __attribute__((always_inline))

/* Bounds are compared after the reference was read, since it may lie where they have just widened to; by ranks, whose address
   comes from the reference, that is so anyway. */
GC__BARRIER_INLINE int gc__barrier_is_above(const gc_barrier_tables *tables, uintptr_t ref) {
    GC__ORDER_LOADS();
    return ref >= gc__barrier_bound(&tables->low);
}
GC__BARRIER_INLINE int gc__barrier_in_range(const gc_barrier_tables *tables, uintptr_t ref) {
    GC__ORDER_LOADS();
    return ref >= gc__barrier_bound(&tables->low) && ref < gc__barrier_bound(&tables->high);
}

GC__BARRIER_INLINE int gc__barrier_passes(const gc_barrier_tables *tables, gc__filter filter, uintptr_t slot,
                                          uintptr_t ref) {
    switch (filter) {
    case GC__FILTER_LOW:
        return gc__barrier_is_above(tables, ref);
    case GC__FILTER_RANGE:
        return gc__barrier_in_range(tables, ref);
    case GC__FILTER_REGION: {
        uint8_t age = gc__barrier_age(tables, slot);
        return age && gc__barrier_in_range(tables, ref) && gc__barrier_age(tables, ref) < age;
    }
    case GC__FILTER_SUM:
        return gc__barrier_ranks(tables, (void *)slot, (void *)ref) > 2;
    case GC__FILTER_OLD:
        return gc__barrier_age(tables, slot) != 0;
    default:
        return 1;
    }
}

GC__BARRIER_INLINE void gc__barrier_log(const gc_barrier_tables *tables, uintptr_t object, uintptr_t slot) {
    uint8_t *bits = tables->log_bits + (object >> 6), bit = (uint8_t)(1u << ((object >> 3) & 7));
    if (gc__barrier_load(bits) & bit) return;
    __atomic_fetch_or(bits, bit, __ATOMIC_RELAXED);
    uintptr_t place = __atomic_fetch_add(&tables->log->next, 8, __ATOMIC_ACQUIRE);
    if (place < tables->log->limit)
        __atomic_store_n((gc_word *)place, object, __ATOMIC_RELAXED);
    else
        gc__barrier_dirty_card(tables, (void *)slot);
}

/* Dirties the card if `needed`. The choice is arithmetic, since compilers would make a branch of a conditional. */
GC__BARRIER_INLINE void gc__barrier_select(const gc_barrier_tables *tables, uintptr_t slot, int needed) {
    uintptr_t mask = 0 - (uintptr_t)needed, card = (uintptr_t)gc__barrier_card_byte(tables, slot);
    uint8_t *chosen = (uint8_t *)((card & mask) | ((uintptr_t)&gc__barrier_dirty_byte & ~mask));
    gc__barrier_dirty_at(tables, chosen, slot, GC_CARD_BITS ? gc__barrier_card_bit(slot) : (uint8_t)GC_CARD_DIRTY);
}

GC__BARRIER_INLINE void gc__barrier_always(const gc_barrier_tables *tables, uintptr_t slot) {
    uint8_t *card = gc__barrier_card_byte(tables, slot);
    if (GC_CARD_BITS)
        __atomic_fetch_or(card, gc__barrier_card_bit(slot), __ATOMIC_RELAXED);
    else
        gc__barrier_write(card);
    if (GC_BUNDLE_SHIFT) gc__barrier_write(tables->bundles + (slot >> GC_BUNDLE_SHIFT));
}

/* The step of RANK before *slot = ref: calls log_store where the assembly does, also for a stale ref, which must not be
   stored. Returns whether nothing is left to do after the store. */
GC__BARRIER_INLINE int gc__barrier_before_c(const gc_barrier_tables *tables, uintptr_t slot, uintptr_t ref) {
    unsigned ranks = gc__barrier_ranks(tables, (void *)slot, (void *)ref);
    if (ranks <= 2) return 1;
    if (!(ranks & GC_AGE_LOGGED)) return 0;
    tables->log_store((const void *)slot, (const void *)ref);
    return 1;
}

/* The barrier's steps after *slot = ref. With a constant `barrier` the compiler keeps only that barrier's steps.
   object_logging logs `object`: the object's address or, where that is not known, the slot's. */
GC__BARRIER_INLINE void gc__barrier_after_c(gc_barrier barrier, const gc_barrier_tables *tables, uintptr_t object,
                                            uintptr_t slot, uintptr_t ref) {
    gc__barrier_parts parts = gc__barrier_parts_of(barrier);
    if (parts.watch && !gc__barrier_load(tables->watch + (slot >> GC_WATCH_SHIFT)))
        gc__barrier_write(tables->watch + (slot >> GC_WATCH_SHIFT));
    if (parts.filter == GC__FILTER_RANK) {
        unsigned ranks = gc__barrier_ranks(tables, (void *)slot, (void *)ref);
        if (ranks > 2 && ranks & GC_AGE_LOGGED)
            tables->log_store((const void *)slot, (const void *)ref);
        else if (ranks > 2)
            gc__barrier_dirty_card(tables, (void *)slot);
        return;
    }
    int passes = gc__barrier_passes(tables, (gc__filter)parts.filter, slot, ref);
    if (parts.mark == GC__MARK_SELECT) {
        gc__barrier_select(tables, slot, passes);
        return;
    }
    if (!passes) return;
    switch (parts.mark) {
    case GC__MARK_CARD:
        gc__barrier_dirty_card(tables, (void *)slot);
        break;
    case GC__MARK_BYTE:
        gc__barrier_dirty(tables, slot, GC_CARD_DIRTY);
        break;
    case GC__MARK_BIT:
        gc__barrier_dirty(tables, slot, gc__barrier_card_bit(slot));
        break;
    case GC__MARK_ALWAYS:
        gc__barrier_always(tables, slot);
        break;
    case GC__MARK_LOG:
        gc__barrier_log(tables, object, slot);
        break;
    default:
        break;
    }
}
