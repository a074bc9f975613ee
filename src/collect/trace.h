/* Tracing from roots, and last from what only conservative words have found. */
#pragma once

#include "roots.h"
#include "scan.h"

/* Sets the mark bits of the suspects. */
GC__FN void gc__suspects_mark(gc__worker *worker) {
    gc__cycle *cycle = worker->cycle;
    for (size_t i = 0; i < cycle->pins.count; i++) {
        uintptr_t pin = cycle->pins.words[i], object = pin - GC__PIN_CONSERVATIVE;
        if (!(pin & GC__PIN_CONSERVATIVE) || !worker->verdicts[object >> GC_REGION_SHIFT]) continue;
        if (!gc__claim_mark(object)) continue; /* by another word */
        gc__map_put(&cycle->suspects, object);
        worker->suspects = &cycle->suspects;
    }
}

/* Traces from the gathered roots. Pinned objects first, so that they are marked before anything could copy them. */
GC__FN void gc__trace_roots(gc__worker *worker) {
    gc__cycle *cycle = worker->cycle;
    gc__suspects_mark(worker);
    for (size_t i = 0; i < cycle->pins.count; i++) {
        uintptr_t object = cycle->pins.words[i];
        if (!(object & GC__PIN_CONSERVATIVE) && worker->verdicts[object >> GC_REGION_SHIFT])
            gc__mark_object(worker, object);
    }
    for (size_t i = 0; i < cycle->roots.count; i++) {
        uintptr_t root = cycle->roots.words[i];
        gc__enqueue(worker, (gc_word *)(root & ~(uintptr_t)1), root & 1);
        gc__stack_drain(worker);
    }
    for (size_t i = 0; i < cycle->interior.count; i += 3)
        gc__enqueue(worker, (gc_word *)&cycle->interior.words[i + 2], false);
    gc__trace_drain(worker);
}

/* After the trace: makes interior slots point into their objects where these are now. */
GC__FN void gc__roots_update_interior(const gc__cycle *cycle) {
    for (size_t i = 0; i < cycle->interior.count; i += 3) {
        const uintptr_t *triple = &cycle->interior.words[i];
        gc_word *slot = (gc_word *)(triple[0] & ~(uintptr_t)1);
        *slot = gc__slot_encode(triple[2] + triple[1], *slot, triple[0] & 1);
    }
}

GC__FN size_t gc__traced_bytes(const gc__worker *worker, const gc__region *condemned) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        bytes += worker->copied_bytes[g] + worker->cycle->marked_bytes[g] +
                 (size_t)(worker->windows[g].next - worker->windows[g].start);
    for (; condemned; condemned = condemned->next) bytes += condemned->live_bytes;
    return bytes;
}

/* Traces, after everything else, from the suspects that nothing else has reached, and counts what they keep. (If the mark
   stack overflowed, some of them may have been scanned before, and their referents are not counted.) */
GC__FN void gc__trace_suspects(gc__worker *worker, const gc__region *condemned) {
    gc_heap *heap = worker->heap;
    gc__map *suspects = &worker->cycle->suspects;
    size_t objects = 0, bytes = 0;
    if (worker->suspects) {
        size_t before = gc__traced_bytes(worker, condemned);
        for (size_t i = 0; i < suspects->capacity; i++) {
            uintptr_t object = suspects->keys[i];
            if (!object || suspects->values[i]) continue;
            suspects->values[i] = true;
            objects++;
            bytes += gc__object_bytes(object);
            if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
        }
        gc__trace_drain(worker);
        bytes += gc__traced_bytes(worker, condemned) - before;
    }
    heap->collection.conservative_bytes = heap->stats.conservative_bytes = bytes;
    heap->stats.conservative_objects = objects;
    heap->stats.conservative_total_bytes += bytes;
}
