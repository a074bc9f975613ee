/* The forms of every barrier: store, after, checked, assign, copy.

   In all of them slot is 8-byte aligned, in the heap; ref is null, an object, or any user address, which must be less
   than 2^GC_ADDRESS_BITS for rank_sum and its branch-free form. None of them collects. */
#pragma once

#include "assembly.h"

/* Copies word by word, upwards or downwards as the overlap requires, with the barrier after each store, in one pass. */
#define GC__BARRIER_COPY(store)                                                          \
    gc_word *to = (gc_word *)destination;                                                \
    const gc_word *from = (const gc_word *)source;                                       \
    if ((uintptr_t)destination - (uintptr_t)source >= count * 8)                         \
        for (size_t i = 0; i < count; i++) store(tables, &to[i], (const void *)from[i]); \
    else                                                                                 \
        for (size_t i = count; i-- > 0;) store(tables, &to[i], (const void *)from[i])

/* Stores a word by `store`, and moves both pointers to the next word. */
#define GC__BARRIER_ASSIGN(store)                                         \
    store(tables, *destination, (const void *)*(const gc_word *)*source); \
    *destination = (char *)*destination + 8;                              \
    *source = (const char *)*source + 8

/* Moves words that need no barrier. */
static inline void gc__barrier_move(void *destination, const void *source, size_t count) {
    GC__ORDER_STORES();
    if (count) memmove(destination, source, count * 8);
}

/* Returns whether the slot may lie in the heap. A page that is watched may be one of those that have just been added; a
   slot there needs no card, since all that is new is young. */
GC__BARRIER_INLINE int gc__barrier_is_in(int watch, const gc_barrier_tables *tables, const void *slot) {
    if (watch) GC__ORDER_LOADS();
    return gc__barrier_in_heap(tables, slot);
}

/* clang-format off */
#define GC__BARRIER_FORMS(name, NAME, watch, filter, mark) \
    /* The barrier alone, for a slot that has just been stored to. */ \
    static inline void gc_barrier_after_##name(const gc_barrier_tables *tables, const void *slot, const void *ref) { \
        gc__barrier_after_##name(tables, slot, slot, ref); \
    } \
    static inline void gc_barrier_after_checked_##name(const gc_barrier_tables *tables, const void *slot, const void *ref) { \
        if (gc__barrier_is_in(watch, tables, slot)) gc__barrier_after_##name(tables, slot, slot, ref); \
    } \
    /* The store with the barrier; slots outside [lowest, highest) are only stored to. */ \
    static inline void gc_barrier_checked_##name(const gc_barrier_tables *tables, void *slot, const void *ref) { \
        if (gc__barrier_is_in(watch, tables, slot)) gc_barrier_store_##name(tables, slot, ref); \
        else gc__barrier_publish(slot, (uintptr_t)ref); \
    } \
    /* Stores **source to **destination and moves both to the next word. */ \
    static inline void gc_barrier_assign_##name(const gc_barrier_tables *tables, void **destination, const void **source) { \
        GC__BARRIER_ASSIGN(gc_barrier_store_##name); \
    } \
    static inline void gc_barrier_assign_checked_##name(const gc_barrier_tables *tables, void **destination, \
                                                        const void **source) { \
        GC__BARRIER_ASSIGN(gc_barrier_checked_##name); \
    } \
    /* memmove of `count` references within or into one object. */ \
    static inline void gc_barrier_copy_##name(const gc_barrier_tables *tables, void *destination, const void *source, \
                                              size_t count) { \
        if (GC__ANYWHERE(watch, GC__FILTER_##filter) && (!count || !gc__barrier_age(tables, (uintptr_t)destination))) { \
            gc__barrier_move(destination, source, count); \
            return; \
        } \
        GC__BARRIER_COPY(gc_barrier_store_##name); \
    } \
    static inline void gc_barrier_copy_checked_##name(const gc_barrier_tables *tables, void *destination, const void *source, \
                                                      size_t count) { \
        if (gc__barrier_is_in(watch, tables, destination)) gc_barrier_copy_##name(tables, destination, source, count); \
        else gc__barrier_move(destination, source, count); \
    }
/* clang-format on */
GC_BARRIERS(GC__BARRIER_FORMS)

/* *slot = ref, where slot is a field of `object`. Logs the object, once for all its fields. Only for tables of your
   own: the collector would take the logged address for that of a slot. [any thread; never collects; cannot fail] */
static inline void gc_barrier_store_in_object(const gc_barrier_tables *tables, void *object, void *slot,
                                              const void *ref) {
    gc__barrier_publish(slot, (uintptr_t)ref);
    gc__barrier_after_object_logging(tables, object, slot, ref);
}

/* The same forms in portable C, with the barrier as an argument: a constant compiles to that barrier's steps only. */

GC__BARRIER_INLINE void gc_barrier_after_c(gc_barrier barrier, const gc_barrier_tables *tables, const void *slot,
                                           const void *ref) {
    gc__barrier_after_c(barrier, tables, (uintptr_t)slot, (uintptr_t)slot, (uintptr_t)ref);
}

GC__BARRIER_INLINE void gc_barrier_store_c(gc_barrier barrier, const gc_barrier_tables *tables, void *slot,
                                           const void *ref) {
    int ranks = gc__barrier_parts_of(barrier).filter == GC__FILTER_RANK;
    int seen = ranks && gc__barrier_before_c(tables, (uintptr_t)slot, (uintptr_t)ref);
    gc__barrier_publish(slot, (uintptr_t)ref);
    if (!seen) gc_barrier_after_c(barrier, tables, slot, ref);
}

GC__BARRIER_INLINE void gc_barrier_checked_c(gc_barrier barrier, const gc_barrier_tables *tables, void *slot,
                                             const void *ref) {
    if (gc__barrier_is_in(gc__barrier_parts_of(barrier).watch, tables, slot))
        gc_barrier_store_c(barrier, tables, slot, ref);
    else
        gc__barrier_publish(slot, (uintptr_t)ref);
}

#define GC__STORE_C(tables, slot, ref) gc_barrier_store_c(barrier, tables, slot, ref)
#define GC__CHECKED_C(tables, slot, ref) gc_barrier_checked_c(barrier, tables, slot, ref)

GC__BARRIER_INLINE void gc_barrier_assign_c(gc_barrier barrier, const gc_barrier_tables *tables, void **destination,
                                            const void **source) {
    GC__BARRIER_ASSIGN(GC__STORE_C);
}

GC__BARRIER_INLINE void gc_barrier_assign_checked_c(gc_barrier barrier, const gc_barrier_tables *tables,
                                                    void **destination, const void **source) {
    GC__BARRIER_ASSIGN(GC__CHECKED_C);
}

GC__BARRIER_INLINE void gc_barrier_copy_c(gc_barrier barrier, const gc_barrier_tables *tables, void *destination,
                                          const void *source, size_t count) {
    GC__BARRIER_COPY(GC__STORE_C);
}

GC__BARRIER_INLINE void gc_barrier_copy_checked_c(gc_barrier barrier, const gc_barrier_tables *tables,
                                                  void *destination, const void *source, size_t count) {
    GC__BARRIER_COPY(GC__CHECKED_C);
}

/* Functions to call out of line. */

typedef void gc_barrier_store_function(const gc_barrier_tables *tables, void *slot, const void *ref);
typedef void gc_barrier_after_function(const gc_barrier_tables *tables, const void *slot, const void *ref);
typedef void gc_barrier_assign_function(const gc_barrier_tables *tables, void **destination, const void **source);
typedef void gc_barrier_copy_function(const gc_barrier_tables *tables, void *destination, const void *source,
                                      size_t count);

typedef struct gc_barrier_functions {
    gc_barrier_store_function *store, *checked;
    gc_barrier_after_function *after, *after_checked;
    gc_barrier_assign_function *assign, *assign_checked;
    gc_barrier_copy_function *copy, *copy_checked;
} gc_barrier_functions;

/* Returns the functions of a barrier, this translation unit's own. [any thread; never collects; cannot fail] */
static inline const gc_barrier_functions *gc_barrier_functions_of(gc_barrier barrier) {
    static const gc_barrier_functions functions[] = {
#define GC__BARRIER_FUNCTIONS(name, NAME, watch, filter, mark)                                         \
    {gc_barrier_store_##name,         gc_barrier_checked_##name,     gc_barrier_after_##name,          \
     gc_barrier_after_checked_##name, gc_barrier_assign_##name,      gc_barrier_assign_checked_##name, \
     gc_barrier_copy_##name,          gc_barrier_copy_checked_##name},
        GC_BARRIERS(GC__BARRIER_FUNCTIONS)
#undef GC__BARRIER_FUNCTIONS
    };
    return &functions[barrier];
}
