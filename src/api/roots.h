/* Root slots: flags, visiting, globals. */
#pragma once

#include "result.h"
#include "types.h"

/* Flags of a slot. The first three have the CLR's values. */
enum {
    GC_SLOT_INTERIOR = 1,     /* the slot may point anywhere into an object, or to its end - 1 */
    GC_SLOT_PINNED = 2,       /* the object stays where it is for this collection */
    GC_SLOT_CONSERVATIVE = 4, /* the word may be no reference at all: implies both of the above; never written */
    GC_SLOT_VALUE = 8,        /* the slot holds a tagged value (GC_VALUE_IS_REF), not a plain pointer; it has GC_VALUE_BYTES */
    GC_SLOT_OWNED = 64,       /* of a trace function: the slots may lie in memory of the host's that the object owns */
    GC__SLOT_CONTIGUOUS = 16, /* for a frame: `slots` is the address of the first of `count` variables */
    GC_SLOT_WEAK = 128,       /* of a weak table (gc_visit_weak): only visitors of gc_object_visit see this one */
    GC_SLOT_WEAK_LONG = 256,  /* of weak entries: not cleared before the object is gone for good */
    GC_SLOT_WEAK_SHORT = 4096, /* of ephemerons: cleared before the object's finalizer runs */
    GC_SLOT_ACTIVE = 1024,    /* of roots: each collection looks at all that the object owns (GC_SLOT_OWNED) */
    GC__SLOT_DERIVED = 32,    /* `slot` is the address of a gc__derived; for a frame: `slots` are a base and what leads from it */
    GC_SLOT_DERIVED = GC__SLOT_DERIVED | GC_SLOT_INTERIOR, /* of GC_ROOTS_WITH only */
    GC__SLOT_ENTRIES = 512,   /* of a gc_weak_entries */
    GC__SLOT_STACK = 2048     /* of a gc__stack_part */
};

/* Reports `count` contiguous slots starting at `slot`, 8-byte aligned. Called by scan_roots and by trace functions; a
   trace function passes only GC_SLOT_VALUE and GC_SLOT_OWNED as flags, and without the latter only slots within its object
   (gc_type.trace). The collector may rewrite the slots. [trace functions, scan_roots; never collects; cannot fail] */
static inline void gc_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    visitor->visit(visitor, slot, count, flags);
}

/* Returns how many of `count` items of `bytes` bytes each, which follow one another in the traced object from `items` on,
   are wanted now, and stores the index of the first of them in *first: a young collection wants only those between an old
   object's first dirty card and its last. A trace function may report the others as well, in more time: for a long
   object all of them each time. [trace functions;
   never collects; cannot fail] */
GC_API size_t gc_visitor_range(const gc_visitor *visitor, const void *items, size_t bytes, size_t count, size_t *first);

typedef struct gc__derived {
    void *slot, *base;
} gc__derived;

typedef struct gc__stack_part {
    struct gc_value_stack *stack;
    void *frame;
} gc__stack_part;

/* Reports a slot that holds an address computed from the object to which the slot `base` refers, even one outside of it: it
   keeps its distance from the object. `base` must be reported as well, by gc_visit, in any order. While `base` holds null the
   slot stays as it is. [scan_roots; never collects; cannot fail] */
static inline void gc_visit_derived(gc_visitor *visitor, void *slot, void *base) {
    gc__derived pair = {slot, base};
    visitor->visit(visitor, &pair, 1, GC__SLOT_DERIVED);
}

/* Makes `count` slots outside the heap roots until gc_roots_remove of the same address. The memory stays the caller's.
   flags: 0, or a sum of GC_SLOT_INTERIOR, GC_SLOT_PINNED, GC_SLOT_CONSERVATIVE, GC_SLOT_VALUE and GC_SLOT_ACTIVE; with
   GC_SLOT_WEAK and its kin, which are not refused, the roots are strong. A count of 0 is allowed, also at NULL. Fails with
   GC_ERROR_MEMORY, and with GC_ERROR_MISUSE if the slots are not 8-byte aligned or would reach beyond the end of memory, or
   with GC_SLOT_DERIVED. [cooperative; never collects; GC_ERROR_MEMORY, GC_ERROR_MISUSE] */
GC_API gc_result gc_roots_add(gc_heap *heap, void *slots, size_t count, unsigned flags);
/* Ends what gc_roots_add of the same address began; GC_ERROR_MISUSE if nothing did. [cooperative; never collects;
   GC_ERROR_MISUSE] */
GC_API gc_result gc_roots_remove(gc_heap *heap, void *slots);
