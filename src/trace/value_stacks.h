/* Stacks of values: which part of a stack a collection has to look at.

   untouched: entries below it were not stored to since the last collection. settled[n]: entries below it referred,
   after the last collection that looked at them, to no object of generations 0 to n. So a collection of generation n
   begins at the lower of untouched and settled[n]; a full one at the base. */
#pragma once

#include "../base/words.h"
#include "../space/slots.h"
#include "../space/rank.h"

GC__FN uintptr_t gc__stack_ref(const gc_value_stack *stack, uintptr_t at) {
    const gc_word *slot = (const gc_word *)at;
    uintptr_t word = __atomic_load_n(slot, __ATOMIC_RELAXED); /* another worker may be updating it */
    return gc__slot_decode(slot, word, gc__flags_value(stack->flags));
}

/* Clips a bound to the stack, whose memory may have changed since the bound was set. */
GC__FN uintptr_t gc__stack_bound(const gc_value_stack *stack, const void *mark) {
    uintptr_t base = (uintptr_t)stack->base, top = (uintptr_t)stack->top, at = (uintptr_t)mark;
    return at < base ? base : at > top ? top : at;
}

/* Returns the first entry at which a collection of that generation looks. */
GC__FN uintptr_t gc__stack_begin(const gc_value_stack *stack, int generation) {
    if (generation >= 2) return (uintptr_t)stack->base;
    return gc__min(gc__stack_bound(stack, stack->untouched), gc__stack_bound(stack, stack->settled[generation]));
}

/* Updates the stack's bounds in or after a collection that looks at the entries from `from` on; ranks are those
   after the collection. */
GC__FN void gc__stack_note_bounds(gc_value_stack *stack, uintptr_t from, const void *frame) {
    uintptr_t lowest[3]; /* the first entry of at least that youth */
    lowest[0] = lowest[1] = lowest[2] = (uintptr_t)stack->top;
    for (uintptr_t at = (uintptr_t)stack->top; at > from;) {
        at -= gc__stack_entry_bytes(stack);
        for (int youth = gc__youth(gc__stack_ref(stack, at)); youth > 0; youth--) lowest[youth] = at;
    }
    for (int g = 0; g < 2; g++) {
        uintptr_t mark = gc__stack_bound(stack, stack->settled[g]);
        stack->settled[g] = (void *)(mark < from ? mark : lowest[2 - g]);
    }
    stack->untouched = (void *)gc__stack_bound(stack, frame);
}

/* Returns the youth of the youngest object to which an entry refers, or a higher one. */
GC__FN unsigned gc__stack_youth(const gc_value_stack *stack) {
    uintptr_t top = (uintptr_t)stack->top;
    return gc__stack_bound(stack, stack->settled[0]) < top ? 2 : gc__stack_bound(stack, stack->settled[1]) < top;
}

/* Returns the first entry that refers to an object younger than recorded, or 0 if there is none. Used by verify. */
GC__FN uintptr_t gc__stack_fault(const gc_value_stack *stack) {
    for (int g = 0; g < 2; g++) {
        uintptr_t end = gc__stack_begin(stack, g);
        for (uintptr_t at = (uintptr_t)stack->base; at < end; at += gc__stack_entry_bytes(stack))
            if (gc__youth(gc__stack_ref(stack, at)) >= 2 - g) return at;
    }
    return 0;
}
