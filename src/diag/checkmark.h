/* Checkmark: after a trace, a second, simple mark of everything, whose result must agree. */
#pragma once

#include "verify.h"

GC__COLD void gc__checkmark_reach(gc__verifier *verifier, uintptr_t ref, const void *slot) {
    if (!ref || !gc__in_arena(ref)) return;
    if (gc__region_of(ref)->heap == verifier->heap && gc__bit_get(verifier->reached, ref)) return;
    const char *fault = gc__reference_fault(verifier->heap, ref);
    if (fault) {
        verifier->when = "after";
        gc__verify_fault(verifier, slot, ref, fault, false);
    }
    gc__bit_set(verifier->reached, ref);
    verifier->reached_count++;
    if (!gc__words_push(&verifier->stack, ref))
        gc__fatal(&verifier->heap->options, "checkmark: the system gives no memory for its stack");
}

/* Visits those slots of a weak table that keep their objects alive; the collection has recorded the ephemerons. */
GC__COLD void gc__checkmark_entries(gc_visitor *visitor, const gc_weak_entries *entries) {
    unsigned flags = entries->flags & (unsigned)GC_SLOT_VALUE;
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->kind == GC_WEAK_VALUES) gc_visit(visitor, gc__entry_key(entries, i), 1, flags);
        if (entries->kind == GC_WEAK_KEYS) gc_visit(visitor, gc__entry_value(entries, i), 1, flags);
    }
}

GC__COLD void gc__checkmark_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__verifier *verifier = (gc__verifier *)visitor;
    if (flags & GC__SLOT_ENTRIES) {
        gc__checkmark_entries(visitor, (const gc_weak_entries *)slot);
        return;
    }
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    for (size_t i = 0; i < count; i++) {
        gc_word *word = gc__slot_at(slot, i, gc__flags_value(flags));
        gc__checkmark_reach(verifier, gc__slot_ref(word, gc__flags_value(flags)), word);
    }
}

GC__COLD size_t gc__count_marks(const gc_heap *heap) {
    size_t count = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next) count += gc__marks_count(region);
    return count;
}

GC__COLD bool gc__checkmark_has_reached(gc_visitor *visitor, uintptr_t object) {
    const gc__verifier *verifier = (const gc__verifier *)visitor;
    return !gc__in_arena(object) || gc__bit_get(verifier->reached, object);
}

/* Checks after the sweep that everything reachable has survived; and nothing else, if the whole heap was traced at
   once. */
GC__COLD void gc__checkmark(gc_heap *heap, bool exact) {
    size_t bytes = (gc__regions_used() + 1) * (GC_REGION_BYTES / 64);
    gc__verifier verifier;
    memset(&verifier, 0, sizeof verifier);
    verifier.visitor.visit = gc__checkmark_visit;
    verifier.by = "checkmark";
    verifier.heap = heap;
    char *memory = (char *)gc__os_map(bytes);
    if (!memory) {
        gc__warn(&heap->options, "checkmark was left out: the system gives no memory for its bits");
        return;
    }
    verifier.reached = gc__side_bits(memory);
    for (size_t i = 0; i < heap->cycle->roots.count; i++) {
        gc_word *slot = (gc_word *)(heap->cycle->roots.words[i] & ~(uintptr_t)1);
        gc__checkmark_reach(&verifier, gc__slot_ref(slot, heap->cycle->roots.words[i] & 1), slot);
    }
    for (size_t i = 0; i < heap->cycle->pins.count; i++)
        gc__checkmark_reach(&verifier, heap->cycle->pins.words[i] & ~(uintptr_t)GC__PIN_CONSERVATIVE, NULL);
    for (size_t i = 0; i < heap->cycle->interior.count; i += 3)
        gc__checkmark_reach(&verifier, heap->cycle->interior.words[i + 2], NULL);
    for (size_t i = 0; i < heap->cycle->entries.ended.count; i++)
        gc__checkmark_reach(&verifier, heap->cycle->entries.ended.words[i], NULL);
    gc__finalizers_visit_queued(heap, &verifier.visitor);
    do {
        while (verifier.stack.count) {
            verifier.holder = verifier.stack.words[--verifier.stack.count];
            gc__object_visit_entries(verifier.holder, &verifier.visitor);
        }
    } while (gc__handles_checkmark(heap, &verifier.visitor, gc__checkmark_has_reached) ||
             gc__discovered_checkmark(heap, &verifier.visitor, gc__checkmark_has_reached));
    size_t survivors = gc__count_marks(heap);
    if (exact && survivors != verifier.reached_count)
        gc__fatal(&heap->options,
                  "checkmark after collection %llu: %zu objects survived but %zu are reachable: a fault of the "
                  "collector, please report it",
                  (unsigned long long)heap->collection.number, survivors, verifier.reached_count);
    gc__words_free(&verifier.stack);
    gc__os_unmap(memory, bytes);
}
