/* Tracing from roots, and last from what only conservative words have found. */
#pragma once

#include "scan.h"

/* Sets the mark bits of the suspects. */
GC__FN void gc__suspects_mark(gc__tracer *tracer) {
    gc_heap *heap = tracer->heap;
    for (size_t i = 0; i < heap->pins.count; i++) {
        uintptr_t object = heap->pins.words[i] - GC__PIN_CONSERVATIVE;
        if (!(heap->pins.words[i] & GC__PIN_CONSERVATIVE) || !tracer->verdicts[object >> GC_REGION_SHIFT]) continue;
        if (!gc__mark_counted(object)) continue; /* by another word */
        gc__map_put(&heap->suspects, object);
        tracer->suspects = &heap->suspects;
    }
}

/* Traces from the gathered roots. Pinned objects first, so that they are marked before anything could copy them. */
GC__FN void gc__trace_roots(gc__tracer *tracer) {
    gc_heap *heap = tracer->heap;
    gc__suspects_mark(tracer);
    for (size_t i = 0; i < heap->pins.count; i++) {
        uintptr_t object = heap->pins.words[i];
        if (!(object & GC__PIN_CONSERVATIVE) && tracer->verdicts[object >> GC_REGION_SHIFT])
            gc__mark_object(tracer, object);
    }
    for (size_t i = 0; i < heap->roots.count; i++) {
        gc__enqueue(tracer, (gc_word *)(heap->roots.words[i] & ~(uintptr_t)1), heap->roots.words[i] & 1);
        gc__stack_drain(tracer);
    }
    for (size_t i = 0; i < heap->interior.count; i += 3)
        gc__enqueue(tracer, (gc_word *)&heap->interior.words[i + 2], false);
    gc__trace_drain(tracer);
}

/* Points interior slots into where their objects are now. After the trace. */
GC__FN void gc__roots_update_interior(gc_heap *heap) {
    for (size_t i = 0; i < heap->interior.count; i += 3) {
        bool value = heap->interior.words[i] & 1;
        gc_word *slot = (gc_word *)(heap->interior.words[i] & ~(uintptr_t)1);
        *slot = gc__slot_encode(heap->interior.words[i + 2] + heap->interior.words[i + 1], *slot, value);
    }
}

GC__FN size_t gc__traced_bytes(const gc_heap *heap, const gc__region *condemned) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        bytes += heap->copied_bytes[g] + (heap->windows[g].next - heap->windows[g].start);
    for (; condemned; condemned = condemned->next) bytes += condemned->live_bytes;
    return bytes;
}

/* Traces from the suspects that nothing else has reached, after everything else, and counts what they keep. (A mark stack
   that overflowed may have had some of them scanned before: what they lead to is not counted then.) */
GC__FN void gc__trace_suspects(gc__tracer *tracer, const gc__region *condemned) {
    gc_heap *heap = tracer->heap;
    gc__map *suspects = &heap->suspects;
    size_t objects = 0, bytes = 0;
    if (tracer->suspects) {
        size_t before = gc__traced_bytes(heap, condemned);
        for (size_t i = 0; i < suspects->capacity; i++) {
            uintptr_t object = suspects->keys[i];
            if (!object || suspects->values[i]) continue;
            suspects->values[i] = true;
            objects++;
            bytes += gc__object_bytes(object);
            if (!gc__object_is_leaf(object)) gc__trace_push(tracer, object);
        }
        gc__trace_drain(tracer);
        bytes += gc__traced_bytes(heap, condemned) - before;
    }
    heap->collection.conservative_bytes = heap->stats.conservative_bytes = bytes;
    heap->stats.conservative_objects = objects;
    heap->stats.conservative_total_bytes += bytes;
}
