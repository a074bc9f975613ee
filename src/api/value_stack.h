/* Stacks of values, or of records that begin with one, as interpreters have them: one for each coroutine, in memory outside
   the heap, which belongs to the coroutine's object. While the coroutine runs, its stack is stored to without a barrier.

       typedef struct coroutine { gc_object header; gc_value_stack values; frame *frame; ... } coroutine;

       static void coroutine_trace(void *object, gc_visitor *visitor) {
           coroutine *co = (coroutine *)object;
           gc_visit_stack(visitor, &co->values, co->frame ? co->frame->slots : NULL);
       }

       gc_visit(visitor, &vm.current, 1, GC_SLOT_ACTIVE);         // scan_roots; or gc_roots_add with this flag

       gc_remember(gc, vm.current);                               // a switch: the one that is left, then the other
       vm.current = other;

       co->frame = caller;                                        // a return
       gc_value_stack_touch(&co->values, caller->slots);

   A young collection looks at the slots from the frame at that time up to the top, and further down as far as the stack was
   touched, or still refers to young objects; so calls that are deep in the stack cost it nothing. */
#pragma once

#include "roots.h"

/* The host writes base, top, limit and the two below before the first visit; all zero is an empty stack of plain references.
   The record lies in the object that the stack belongs to, or outside the heap. */
typedef struct gc_value_stack {
    void *base;           /* the first entry; NULL: there is no memory yet */
    void *top;            /* behind the last entry that is in use; beyond it nothing is read */
    void *limit;          /* the end of the memory; only gc_value_stack_reserve and gc_value_stack_free use it */
    uint32_t entry_bytes; /* the size of an entry, a multiple of 8, that begins with its slot; 0: a slot */
    uint32_t flags;       /* 0 or GC_SLOT_VALUE */
    void *untouched;      /* entries below were not stored to since the last collection */
    void *settled[2];     /* by collections: entries below the n-th refer to no object of generations 0 to n */
} gc_value_stack;

/* Reports a stack. Entries from `frame` on may be stored to at any time; those below it after gc_value_stack_touch. NULL, or
   the base: every entry is looked at by every collection. [trace functions, scan_roots; never collects; cannot fail] */
static inline void gc_visit_stack(gc_visitor *visitor, gc_value_stack *stack, void *frame) {
    gc__stack_part part = {stack, frame};
    visitor->visit(visitor, &part, 1, GC__SLOT_STACK);
}

/* From now on entries from `entry` on may be stored to: after a return to the frame that begins there, or before a store
   through an open upvalue. If another coroutine's stack is stored to, call gc_remember for its owner as well. [cooperative;
   never collects; cannot fail] */
static inline void gc_value_stack_touch(gc_value_stack *stack, const void *entry) {
    if ((uintptr_t)entry < (uintptr_t)stack->untouched) stack->untouched = (void *)(uintptr_t)entry;
}

/* Makes room for `bytes` above the top, by realloc. *moved: the distance in bytes by which the entries have moved, which the
   host adds to its own pointers into the stack. The memory counts as gc_heap_add_external's. [cooperative; never collects;
   GC_ERROR_MEMORY: nothing has changed] */
GC_API gc_result gc_value_stack_reserve(gc_heap *heap, gc_value_stack *stack, size_t bytes, ptrdiff_t *moved);
/* Frees the memory; the stack is empty then. [any thread; never collects; cannot fail] */
GC_API void gc_value_stack_free(gc_heap *heap, gc_value_stack *stack);
