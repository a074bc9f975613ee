/* The shadow heap (GC_SHADOW_HEAP): a second copy of what old slots hold, written by the barrier and updated after
   each collection. A slot that differs from its shadow was stored to without the barrier, even if its card happens
   to be dirty. */
#pragma once

#include "../base/outside.h"
#include "verify.h"

static char *gc__shadow; /* the shadow of the arena's first byte; written under the arena's lock */

GC__COLD gc_word *gc__shadow_of(const void *slot) {
    return (gc_word *)(void *)(gc__shadow + ((uintptr_t)slot - gc__the_arena.base));
}

/* Reserves the shadow. The arena's lock is held. */
GC__COLD gc_result gc__shadow_open(void) {
    bool reserved = gc__shadow && gc__sides[GC__SIDE_SHADOW].start; /* an arena before this one may have had a shadow */
    if (!GC_SHADOW_HEAP || reserved || gc__the_outside.stores_no_shadow) return GC_OK;
    gc__shadow = gc__side_reserve(GC__SIDE_SHADOW);
    if (gc__shadow) return GC_OK;
    return gc__fail(
        GC_ERROR_RESERVE,
        "cannot reserve %zu MiB for the shadow heap: %s, or compile with a smaller GC_ARENA_BYTES, or without "
        "GC_SHADOW_HEAP",
        gc__the_arena.bytes >> 20, gc__supply_refusal(gc__the_arena.bytes));
}

GC_API void gc__shadow_store(void *slot, size_t count) {
    if (count && gc__shadow && gc__in_arena((uintptr_t)slot)) memcpy(gc__shadow_of(slot), slot, count * 8);
}

GC__COLD void gc__shadow_sync_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    (void)visitor;
    if (gc__in_arena((uintptr_t)slot)) memcpy(gc__shadow_of(slot), slot, count * gc__flags_bytes(flags));
}

GC__COLD void gc__shadow_check_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    if (gc__traced) gc__traced_check(((gc__verifier *)visitor)->heap, slot, count, flags);
    if (!gc__in_arena((uintptr_t)slot)) return; /* the slot is in memory that an object owns */
    for (size_t i = 0; i < count; i++) {
        gc_word *word = gc__slot_at(slot, i, gc__flags_value(flags));
        uintptr_t ref = gc__slot_ref(word, gc__flags_value(flags));
        if (*word == *gc__shadow_of(word) || !ref || !gc__in_arena(ref)) continue;
        gc__verify_fault(
            (gc__verifier *)visitor, word, ref,
            "it was stored there without the write barrier (the shadow heap holds another value): store it by gc_store "
            "(or gc_store_value, gc_copy_refs, gc_stores_begin)",
            true);
    }
}

GC__COLD bool gc__shadow_object(void *context, uintptr_t object) {
    gc__verifier *verifier = (gc__verifier *)context;
    verifier->holder = object;
    gc__object_visit(object, &verifier->visitor);
    return true;
}

GC__COLD void gc__shadow_walk(gc_heap *heap, void (*visit)(gc_visitor *, void *, size_t, unsigned)) {
    if (!GC_SHADOW_HEAP || !gc__shadow) return;
    gc__verifier verifier;
    memset(&verifier, 0, sizeof verifier);
    verifier.visitor.visit = visit;
    verifier.heap = heap;
    verifier.by = "shadow heap";
    verifier.when = "before";
    for (int g = 1; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            gc__region_walk(region, gc__shadow_object, &verifier);
}

/* Reports the first old slot that was stored to without the barrier. Called before a collection, and by
   gc_heap_verify. */
GC__COLD void gc__shadow_check(gc_heap *heap) { gc__shadow_walk(heap, gc__shadow_check_visit); }
/* Copies what the slots hold to the shadow, after a collection. */
GC__COLD void gc__shadow_sync(gc_heap *heap) { gc__shadow_walk(heap, gc__shadow_sync_visit); }
