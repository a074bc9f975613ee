/* The trace: from the roots and dirty cards to everything reachable in condemned regions.

   A slot found is prefetched into a small FIFO and processed some slots later, when its referent has reached the cache.
   Processing marks or copies the referent and pushes it, unless it has no references, on the mark stack. The depth of
   the C stack never depends on the data. If the mark stack cannot grow, the object's region is noted as overflowed, and
   its marked objects are scanned again at the end: scanning is idempotent. */
#pragma once

#include "suspects.h"

#define GC__FIFO 16     /* slots between prefetch and use; a power of two */
#define GC__CARD_FIFO 4 /* the same for dirty cards, and for dirty bundles */
#define GC__CHUNK 32    /* elements of an array that are scanned at a time */
#define GC__SMALL_MARK_STACK 64
#define GC__CONTINUED 1 /* tag of a mark stack entry: an array, whose next element's index lies below it */

typedef struct gc__tracer {
    gc_visitor visitor; /* for trace functions */
    gc_heap *heap;
    const uint8_t *verdicts;
    uintptr_t fifo[GC__FIFO];       /* slot | 1 if a tagged value; a ring */
    unsigned fifo_next;             /* counts up */
    uintptr_t *stack, *top, *limit; /* the mark stack, where it ends, and where its memory does */
    uintptr_t cards[GC__CARD_FIFO], bundles[GC__CARD_FIFO];
    unsigned cards_next, bundles_next;
    bool remember_all; /* objects may survive in different generations: slots of those may need cards, too */
    bool remember;     /* slots of older objects are scanned: keep their cards dirty as needed */
    bool overflowed;
    const gc__map *suspects; /* see suspects.h; NULL: there are none */
    const gc__map *keys;     /* objects that are waited for: numbers to put on heap->handles.ready; NULL: none */
    bool no_room[GC_GENERATIONS];
} gc__tracer;

GC__OUT_OF_LINE void gc__slot_dirty(const void *slot) { gc_barrier_dirty_card(&gc__tables, slot); }

GC__INLINED void gc__slot_remember(const void *slot, uintptr_t ref) {
    if (GC__UNLIKELY(gc_barrier_ranks(&gc__tables, slot, (const void *)ref) > 2)) gc__slot_dirty(slot);
}

/* Notes that an object could not be pushed: its region is scanned again at the end. */
GC__FN void gc__trace_overflow(gc__tracer *tracer, uintptr_t object) {
    gc__region_of(object)->overflowed = tracer->overflowed = true;
    tracer->heap->stats.mark_stack_overflows++;
}

/* Makes room for some more words on the mark stack, if there is memory. */
GC__OUT_OF_LINE bool gc__trace_stack_grow(gc__tracer *tracer) {
    gc__words *memory = &tracer->heap->mark_stack;
    bool small = tracer->heap->options.test_small_mark_stack;
    size_t count = (size_t)(tracer->top - tracer->stack);
    size_t capacity = tracer->stack ? memory->capacity + 1 : GC__SMALL_MARK_STACK;
    if ((small && tracer->stack) || !gc__words_reserve(memory, capacity)) return false;
    tracer->stack = memory->words;
    tracer->top = tracer->stack + count;
    tracer->limit = tracer->stack + (small ? GC__SMALL_MARK_STACK : memory->capacity);
    return true;
}

GC__FN bool gc__trace_stack_room(gc__tracer *tracer, size_t words) {
    return GC__LIKELY((size_t)(tracer->limit - tracer->top) >= words) || gc__trace_stack_grow(tracer);
}

GC__OUT_OF_LINE void gc__trace_push_slow(gc__tracer *tracer, uintptr_t object) {
    if (gc__trace_stack_grow(tracer))
        *tracer->top++ = object;
    else
        gc__trace_overflow(tracer, object);
}

GC__INLINED void gc__trace_push(gc__tracer *tracer, uintptr_t object) {
    if (GC__LIKELY(tracer->top != tracer->limit))
        *tracer->top++ = object;
    else
        gc__trace_push_slow(tracer, object);
}

/* Copying. */
