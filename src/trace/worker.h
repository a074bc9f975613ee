/* The trace: from the roots and dirty cards to everything reachable in condemned regions.

   A slot that is found is prefetched into a small FIFO and processed some slots later, when its referent has reached
   the cache. Processing marks or copies the referent and pushes it on the mark stack, unless it has no references.
   The depth of the C stack never depends on the data. If the mark stack cannot grow, the object's region is recorded
   as overflowed, and its marked objects are scanned again at the end: scanning is idempotent.

   The trace's loop is written once and compiled for each gc__tracer, which is a constant argument of what the loop
   inlines. What the loop calls asks the worker. */
#pragma once

#include "../api/thread.h"
#include "../space/heap.h"
#include "collector.h"

#define GC__FIFO 32     /* slots between prefetch and use; a power of two */
#define GC__CARD_FIFO 4 /* dirty cards, or dirty bundles, between prefetch and use */
#define GC__CHUNK 32    /* elements of an array that are scanned at a time */
#ifndef GC__SMALL_MARK_STACK
#define GC__SMALL_MARK_STACK 64
#endif
/* Tags of mark stack entries. The rest of an array is an end and an index, both * 4 + NUMBER, and above them the
   array | CONTINUED. So a stack can also be read from its bottom. */
#define GC__CONTINUED 1
#define GC__NUMBER 2
#define GC__UNSCANNED 1 /* gc__region.unscanned: some objects that the marker has marked are in no list */

/* Slots of older objects are scanned: dirties their cards again if necessary. */
#define GC__EDGES_REMEMBER 1
/* Generation 2 is being marked concurrently: GC__EDGES_SHADE shades referents for the marker, GC__EDGES_SHADE_CARDS
   also the referents of slots of older objects. */
#define GC__EDGES_SHADE (GC__HAS_MARKER ? 2 : 0)
#define GC__EDGES_SHADE_CARDS (GC__HAS_MARKER ? 4 : 0)
/* Records slots of old objects that refer to candidate regions. */
#define GC__EDGES_CANDIDATE (GC__HAS_MARKER ? 8 : 0)

/* Returns the edges for scanning an object that may be dead. */
GC__FN uint8_t gc__edges_of_dead(uint8_t edges) { return GC__EDGES_REMEMBER | (edges & GC__EDGES_CANDIDATE); }

/* The size of the stripes of the arena in which several workers count what they mark. */
#define GC__STRIPE_SHIFT (GC_REGION_SHIFT < 16 ? GC_REGION_SHIFT : 16)

/* Who traces: */
typedef enum gc__tracer {
    GC__ALONE,     /* one worker with the world stopped, which needs no atomic instruction */
    GC__MANY,      /* several workers with the world stopped */
    GC__CONCURRENT /* the marker, while mutators run, or in a remark */
} gc__tracer;

struct gc__workers;

#define GC__PART_RANGES 128

/* The dirty ranges of an object, in ascending order. */
typedef struct gc__part {
    uintptr_t object;
    size_t count; /* 0: there is no object */
    struct {
        uintptr_t from, to;
    } ranges[GC__PART_RANGES];
} gc__part;

/* The state of one worker of a collection. The state of the whole collection is in gc__cycle. */
typedef struct gc__worker {
    gc_visitor visitor; /* for trace functions */
    gc_heap *heap;
    gc__cycle *cycle;
    const uint8_t *verdicts;
    uint64_t *marks, *starts; /* the planes in which the collection marks, and in which old objects begin */
    gc_window windows[GC_GENERATIONS]; /* to which it copies survivors */
    uintptr_t fifo[GC__FIFO];          /* slot | 1 if a tagged value; a ring */
    size_t fifo_next, fifo_drained;    /* counts up; its value when the ring was last known to be empty */
    uintptr_t *stack, *top, *limit;    /* the mark stack: its start, its end, and the end of its memory */
    gc__words *memory;                 /* that memory. `stack` lies above its start after others took entries */
    uintptr_t cards[GC__CARD_FIFO], bundles[GC__CARD_FIFO];
    gc__part part;                     /* of the object whose trace function is called after its last dirty card */
    unsigned cards_next, bundles_next;
    bool remember_all; /* objects may survive in different generations, so slots of survivors may need cards, too */
    uint8_t edges;    /* what to do with slots whose referents are not condemned: GC__EDGES_* */
    bool overflowed;
    bool has_more;   /* the traced object has reported weak entries, or slots that are not on the heap */
    bool traces_all; /* a trace function is called for all of its object */
    uintptr_t *traced; /* GC_HAS_MODEL: gc__traced, for which a library must call a function, while the mark stack is drained */
    gc__tracer tracer;
    /* Some refused slots of value stacks were not listed: stacks that are scanned again are scanned from the base. */
    bool whole_stacks;
    const gc__map *ambiguous; /* objects that only conservative words found; NULL: none */
    /* Objects for which dependent handles wait: the number of a reached one goes to `found`; NULL: none. */
    const gc__map
        *awaited;
    gc__words *found; /* has room for all of them */
    size_t copied_bytes[GC_GENERATIONS];
    uint64_t mark_stack_overflows, evacuation_failures, trace_calls;

    struct gc__workers *workers;                /* the workers, if several run; NULL: one runs */
    unsigned number;                      /* 0: the worker of the thread that collects */
    unsigned until_poll;                  /* objects until the next poll */
    bool exclusive;                           /* no other worker has work, or finds any until this one shares some */
    unsigned listed;                      /* regions whose holes this collection has listed */
    gc__region *searched[GC_GENERATIONS]; /* the region whose holes only this worker fills in this collection */
    size_t *live;                         /* bytes that it has marked in each stripe, by address >> GC__STRIPE_SHIFT */
    uint64_t *own_marks; /* its own marks, laid out as the arena's; NULL: it marks by locked instructions */
    uint64_t lost;                        /* copies that another worker had made first */
} gc__worker;

/* The workers of which this is one; NULL: it works alone. */
GC__FN struct gc__workers *gc__workers_of(const gc__worker *worker) { return GC__HAS_WORKERS ? worker->workers : NULL; }

GC__FN bool gc__is_many(const gc__worker *worker) { return GC__HAS_WORKERS && worker->tracer == GC__MANY; }
GC__FN bool gc__is_concurrent(const gc__worker *worker) { return GC__HAS_MARKER && worker->tracer == GC__CONCURRENT; }
GC__FN gc__tracer gc__tracer_of(const gc__worker *worker) {
    return GC__HAS_WORKERS || GC__HAS_MARKER ? worker->tracer : GC__ALONE;
}

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

/* Records that an object could not be pushed: its region is scanned again at the end. */
GC__FN void gc__trace_overflow(gc__worker *worker, uintptr_t object) {
    worker->overflowed = true;
    if (gc__is_concurrent(worker)) {
        __atomic_fetch_or(&gc__region_of(object)->unscanned, (uint8_t)GC__UNSCANNED, __ATOMIC_RELAXED);
        return;
    }
    __atomic_store_n(&gc__region_of(object)->overflowed, true, __ATOMIC_RELAXED);
    worker->mark_stack_overflows++;
}

/* Makes room for some more words on the mark stack. Returns false if there is no memory. */
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
