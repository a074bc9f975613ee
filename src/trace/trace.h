/* Tracing from roots, and last from objects that only conservative words have found. */
#pragma once

#include "roots.h"
#include "scan.h"

/* Sets the mark bits of ambiguous objects. */
GC__HOT void gc__ambiguous_mark(gc__worker *worker) {
    gc__cycle *cycle = worker->cycle;
    for (size_t i = 0; i < cycle->pins.count; i++) {
        uintptr_t pin = cycle->pins.words[i], object = pin - GC__PIN_CONSERVATIVE;
        if (!(pin & GC__PIN_CONSERVATIVE) || !worker->verdicts[object >> GC_REGION_SHIFT]) continue;
        if (!gc__claim_mark(worker, object, false)) continue; /* another word has found the object */
        gc__map_put(&cycle->ambiguous, object);
        worker->ambiguous = &cycle->ambiguous;
    }
}

/* Marks pinned objects, before anything could copy them. */
GC__HOT void gc__trace_pins(gc__worker *worker) {
    const gc__cycle *cycle = worker->cycle;
    gc__ambiguous_mark(worker);
    for (size_t i = 0; i < cycle->pins.count; i++) {
        uintptr_t object = cycle->pins.words[i];
        if (!(object & GC__PIN_CONSERVATIVE) && worker->verdicts[object >> GC_REGION_SHIFT])
            gc__mark_object(worker, object, false);
        else if (worker->edges & GC__EDGES_SHADE)
            gc__shade(worker, object & ~(uintptr_t)GC__PIN_CONSERVATIVE);
    }
}

/* Enqueues the objects of interior slots. */
GC__HOT void gc__trace_interior(gc__worker *worker) {
    const gc__cycle *cycle = worker->cycle;
    for (size_t i = 0; i < cycle->interior.count; i += 3)
        gc__enqueue(worker, (gc_word *)&cycle->interior.words[i + 2], false);
}

/* Traces from the gathered roots [from, end). */
GC__HOT void gc__trace_slots(gc__worker *worker, size_t from, size_t end) {
    for (size_t i = from; i < end; i++) {
        uintptr_t root = worker->cycle->roots.words[i];
        gc__enqueue_inline(worker, (gc_word *)(root & ~(uintptr_t)1), root & 1, GC__ALONE);
        if (worker->top != worker->stack) gc__stack_drain(worker);
    }
}

GC__FN void gc__trace_roots(gc__worker *worker) {
    gc__trace_pins(worker);
    gc__trace_slots(worker, 0, worker->cycle->roots.count);
    gc__trace_interior(worker);
    gc__trace_drain(worker);
}

/* Makes interior slots refer to the new places of their objects, after the trace. */
GC__HOT void gc__roots_update_interior(const gc__cycle *cycle) {
    for (size_t i = 0; i < cycle->interior.count; i += 3) {
        const uintptr_t *triple = &cycle->interior.words[i];
        gc_word *slot = (gc_word *)(triple[0] & ~(uintptr_t)1);
        *slot = gc__slot_encode(triple[2] + triple[1], *slot, triple[0] & 1);
    }
}

/* Returns the bytes that the worker has copied. */
GC__FN size_t gc__worker_copied(const gc__worker *worker) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        bytes += worker->copied_bytes[g] + (size_t)(worker->windows[g].next - worker->windows[g].start);
    return bytes;
}

/* Returns the bytes that all workers have copied to the generation; their windows are closed. */
GC__FN size_t gc__copied_to(const gc__worker *worker, unsigned generation) {
    size_t bytes = gc__workers_of(worker) ? 0 : worker->copied_bytes[generation];
    for (unsigned i = 0; gc__workers_of(worker) && i < worker->workers->count; i++)
        bytes += worker->workers->threads[i].worker.copied_bytes[generation];
    return bytes;
}

GC__HOT size_t gc__traced_bytes(const gc__worker *worker, const gc__region *condemned) {
    size_t bytes = gc__workers_of(worker) ? 0 : gc__worker_copied(worker);
    for (unsigned i = 0; gc__workers_of(worker) && i < worker->workers->count; i++)
        bytes += gc__worker_copied(&worker->workers->threads[i].worker);
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += worker->cycle->marked_bytes[g];
    for (; condemned; condemned = condemned->next) bytes += condemned->live_bytes;
    return bytes;
}
