/* The trace: from the roots and dirty cards to everything reachable in condemned regions.

   A slot found is prefetched into a small FIFO and processed some slots later, when its referent has reached the cache.
   Processing marks or copies the referent and pushes it, unless it has no references, on the mark stack. The depth of
   the C stack never depends on the data. If the mark stack cannot grow, the object's region is noted as overflowed, and
   its marked objects are scanned again at the end: scanning is idempotent. */
#pragma once

#include "../api/thread.h"
#include "../heap/heap.h"
#include "collector.h"

#define GC__FIFO 16     /* slots between prefetch and use; a power of two */
#define GC__CARD_FIFO 4 /* the same for dirty cards, and for dirty bundles */
#define GC__CHUNK 32    /* elements of an array that are scanned at a time */
#define GC__SMALL_MARK_STACK 64
#define GC__CONTINUED 1 /* tag of a mark stack entry: an array; the index of its next element lies below the entry */

/* What each worker of a collection has to itself. What the collection has once is in gc__cycle. */
typedef struct gc__worker {
    gc_visitor visitor; /* for trace functions */
    gc_heap *heap;
    gc__cycle *cycle;
    const uint8_t *verdicts;
    gc_window windows[GC_GENERATIONS]; /* where it copies survivors to */
    uintptr_t fifo[GC__FIFO];          /* slot | 1 if a tagged value; a ring */
    unsigned fifo_next;                /* counts up */
    uintptr_t *stack, *top, *limit;    /* the mark stack: its start, its end, and the end of its memory */
    uintptr_t cards[GC__CARD_FIFO], bundles[GC__CARD_FIFO];
    unsigned cards_next, bundles_next;
    bool remember_all; /* objects may survive in different generations: slots of those may need cards, too */
    bool remember;     /* slots of older objects are scanned: keep their cards dirty as needed */
    bool overflowed;
    const gc__map *suspects; /* objects that only conservative words found; NULL: none */
    const gc__map
        *awaited;     /* objects that dependent handles wait for: a reached one's number goes to `found`; NULL: none */
    gc__words *found; /* has room for all of them */
    size_t copied_bytes[GC_GENERATIONS];
    uint64_t mark_stack_overflows, evacuation_failures;
} gc__worker;

GC__OUT_OF_LINE void gc__slot_dirty(const void *slot) { gc_barrier_dirty_card(&gc__tables, slot); }

GC__INLINED void gc__slot_remember(const void *slot, uintptr_t ref) {
    if (GC__UNLIKELY(gc_barrier_ranks(&gc__tables, slot, (const void *)ref) > 2)) gc__slot_dirty(slot);
}

/* Notes that an object could not be pushed: its region is scanned again at the end. */
GC__FN void gc__trace_overflow(gc__worker *worker, uintptr_t object) {
    gc__region_of(object)->overflowed = worker->overflowed = true;
    worker->mark_stack_overflows++;
}

/* Makes room for some more words on the mark stack, if there is memory. */
GC__OUT_OF_LINE bool gc__trace_stack_grow(gc__worker *worker) {
    gc__words *memory = &worker->heap->collector->mark_stack;
    bool small = worker->heap->options.test_scarce_memory;
    size_t count = (size_t)(worker->top - worker->stack);
    size_t capacity = worker->stack ? memory->capacity + 1 : GC__SMALL_MARK_STACK;
    if ((small && worker->stack) || !gc__words_reserve(memory, capacity)) return false;
    worker->stack = memory->words;
    worker->top = worker->stack + count;
    worker->limit = worker->stack + (small ? GC__SMALL_MARK_STACK : memory->capacity);
    return true;
}

GC__FN bool gc__trace_stack_room(gc__worker *worker, size_t words) {
    return GC__LIKELY((size_t)(worker->limit - worker->top) >= words) || gc__trace_stack_grow(worker);
}

GC__OUT_OF_LINE void gc__trace_push_slow(gc__worker *worker, uintptr_t object) {
    if (gc__trace_stack_grow(worker))
        *worker->top++ = object;
    else
        gc__trace_overflow(worker, object);
}

GC__INLINED void gc__trace_push(gc__worker *worker, uintptr_t object) {
    if (GC__LIKELY(worker->top != worker->limit))
        *worker->top++ = object;
    else
        gc__trace_push_slow(worker, object);
}
