/* The trace: from the roots and dirty cards to everything reachable in condemned regions.

   A slot found is prefetched into a small FIFO and processed some slots later, when its referent has reached the cache.
   Processing marks or copies the referent and pushes it, unless it has no references, on the mark stack. The depth of
   the C stack never depends on the data. If the mark stack cannot grow, the object's region is noted as overflowed, and
   its marked objects are scanned again at the end: scanning is idempotent.

   The functions of the trace are written once and compiled twice. Their argument `many` is a constant: false where one
   worker runs, and no atomic instruction is needed; true where several may run at once. */
#pragma once

#include "../api/thread.h"
#include "../space/heap.h"
#include "collector.h"

#define GC__FIFO 32     /* slots between prefetch and use; a power of two */
#define GC__CARD_FIFO 4 /* the same for dirty cards, and for dirty bundles */
#define GC__CHUNK 32    /* elements of an array that are scanned at a time */
#define GC__SMALL_MARK_STACK 64
/* Tags of mark stack entries. A part of an array is an end and an index, both * 4 + NUMBER, and above them the array | CONTINUED.
   So a stack can be read from its bottom, too. */
#define GC__CONTINUED 1
#define GC__NUMBER 2

/* Slots of older objects are scanned: keep their cards dirty as needed. */
#define GC__EDGES_REMEMBER 1
/* Generation 2 is being marked beside mutators: note its objects; also those that slots of older objects refer to. */
#define GC__EDGES_SHADE 2
#define GC__EDGES_SHADE_CARDS 4
/* Note slots of old objects that refer to leaving regions. */
#define GC__EDGES_CANDIDATE 8

/* What is done if the slots' object may be dead. */
GC__FN uint8_t gc__edges_of_dead(uint8_t edges) { return GC__EDGES_REMEMBER | (edges & GC__EDGES_CANDIDATE); }

/* The parts of the arena in which several workers count what they mark. */
#define GC__STRIPE_SHIFT (GC_REGION_SHIFT < 16 ? GC_REGION_SHIFT : 16)

struct gc__workers;

/* What each worker of a collection has to itself. What the collection has once is in gc__cycle. */
typedef struct gc__worker {
    gc_visitor visitor; /* for trace functions */
    gc_heap *heap;
    gc__cycle *cycle;
    const uint8_t *verdicts;
    gc_window windows[GC_GENERATIONS]; /* where it copies survivors to */
    uintptr_t fifo[GC__FIFO];          /* slot | 1 if a tagged value; a ring */
    size_t fifo_next, fifo_drained;    /* counts up; what it was when nothing was in the ring. It may be empty otherwise */
    uintptr_t *stack, *top, *limit;    /* the mark stack: its start, its end, and the end of its memory */
    gc__words *memory;                 /* that memory. `stack` lies above its start where others took entries */
    uintptr_t cards[GC__CARD_FIFO], bundles[GC__CARD_FIFO];
    unsigned cards_next, bundles_next;
    bool remember_all; /* objects may survive in different generations: slots of those may need cards, too */
    uint8_t edges;    /* what is done with slots whose referents are not condemned: GC__EDGES_* */
    bool overflowed;
    bool whole_stacks; /* slots of stacks were refused, and not listed: where they are scanned again, from the base on */
    const gc__map *ambiguous; /* objects that only conservative words found; NULL: none */
    const gc__map
        *awaited;     /* objects that dependent handles wait for: a reached one's number goes to `found`; NULL: none */
    gc__words *found; /* has room for all of them */
    size_t copied_bytes[GC_GENERATIONS];
    uint64_t mark_stack_overflows, evacuation_failures, trace_calls;

    struct gc__workers *workers;                /* where several workers run; NULL: one */
    unsigned number;                      /* 0: the worker of the thread that collects */
    unsigned until_poll;                  /* objects until it looks at what the crew needs */
    bool exclusive;                           /* no other worker has anything, or finds anything until this one shares it */
    unsigned listed;                      /* regions whose holes this collection has listed */
    gc__region *searched[GC_GENERATIONS]; /* only this worker fills the region's holes in this collection */
    size_t *live;                         /* bytes that it has marked, by address >> GC__STRIPE_SHIFT */
    uint64_t *own_marks;                  /* what it has marked, as the arena's marks; NULL: it marks by locked instructions */
    uint64_t lost;                        /* copies that another worker had made first */
} gc__worker;

GC__FN bool gc__worker_remembers(const gc__worker *worker) { return worker->edges & GC__EDGES_REMEMBER; }
GC__FN void gc__worker_remember(gc__worker *worker, bool remember) {
    worker->edges = (uint8_t)((worker->edges & ~GC__EDGES_REMEMBER) | (remember ? GC__EDGES_REMEMBER : 0));
}

GC__OUT_OF_LINE void gc__slot_dirty(const void *slot, unsigned ranks) {
    if (gc__ranks_need_card(ranks)) gc__barrier_dirty_card(&gc__tables, slot);
}

GC__INLINED void gc__slot_remember(const void *slot, uintptr_t ref) {
    unsigned ranks = gc__barrier_ranks(&gc__tables, slot, (const void *)ref);
    if (GC__UNLIKELY(ranks > 2)) gc__slot_dirty(slot, ranks);
}

/* Notes that an object could not be pushed: its region is scanned again at the end. */
GC__FN void gc__trace_overflow(gc__worker *worker, uintptr_t object) {
    __atomic_store_n(&gc__region_of(object)->overflowed, true, __ATOMIC_RELAXED);
    worker->overflowed = true;
    worker->mark_stack_overflows++;
}

/* Makes room for some more words on the mark stack, if there is memory. */
GC__OUT_OF_LINE bool gc__trace_stack_grow(gc__worker *worker) {
    gc__words *memory = worker->memory;
    bool small = worker->heap->options.test.scarce_memory;
    size_t count = (size_t)(worker->top - worker->stack);
    if (worker->stack && worker->stack != memory->words)
        memmove(memory->words, worker->stack, count * sizeof *memory->words);
    size_t capacity = worker->stack ? count + (memory->capacity >> 2) + 1 : GC__SMALL_MARK_STACK;
    if (worker->stack && small) capacity = memory->capacity;
    bool reserved = gc__words_reserve(memory, capacity);
    if (!memory->capacity) return false;
    worker->stack = memory->words;
    worker->top = worker->stack + count;
    worker->limit = worker->stack + (small ? GC__SMALL_MARK_STACK : memory->capacity);
    return reserved && worker->limit - worker->top >= 3;
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
