/* The trace of a collection: from roots, then from dirty cards and remembered slots, and last from objects that only
   conservative words have found. */
#pragma once

#include "../space/profiler.h"
#include "parallel.h"
#include "roots.h"

/* Ambiguous objects: condemned objects that conservative words found. Their mark bits are set before the trace,
   since they must stay; but they are scanned only when a reference reaches them, or when everything else has been
   traced. What is still unreached then is retained by conservative words alone, and so is what only it leads to:
   statistics count both. heap->cycle->ambiguous maps each ambiguous object to whether it was reached. */

/* Empties the map and makes room for every conservative pin. Returns false if there is no memory. */
GC__HOT bool gc__ambiguous_reserve(gc_heap *heap) {
    size_t found = 0;
    for (size_t i = 0; i < heap->cycle->pins.count; i++) found += heap->cycle->pins.words[i] & GC__PIN_CONSERVATIVE;
    gc__map_reset(&heap->cycle->ambiguous);
    return !found || gc__map_reserve(&heap->cycle->ambiguous, found);
}

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

#define GC__UNIT_REGIONS 64

typedef struct gc__condemned_job {
    const gc_heap *heap;
    void (*f)(gc__region *region);
} gc__condemned_job;

GC__FN void gc__condemned_unit(void *context, size_t unit) {
    const gc__condemned_job *job = (const gc__condemned_job *)context;
    size_t from = unit * GC__UNIT_REGIONS, end = gc__min(from + GC__UNIT_REGIONS, gc__regions_used());
    for (size_t i = from; i < end; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (gc__region_is_of(region, job->heap) && region->verdict) job->f(region);
    }
}

/* Calls f for each condemned region; in a full collection on any thread, since units are ranges of the arena. */
GC__HOT void gc__each_condemned(gc__worker *worker, gc__region *condemned, void (*f)(gc__region *region)) {
    if (gc__workers_of(worker) && worker->heap->cycle->plan->condemned == 2) {
        gc__condemned_job job = {worker->heap, f};
        size_t units = (gc__regions_used() + GC__UNIT_REGIONS - 1) / GC__UNIT_REGIONS;
        gc__workers_each(worker, units, gc__condemned_unit, &job);
        return;
    }
    for (; condemned; condemned = condemned->next) f(condemned);
}

/* Clears mark bits and cards, which is most of the work of condemning if there are many regions. */
GC__FN void gc__region_clear(gc__region *region) {
    if (region->generation > 0) gc__cards_clear(region->base, gc__region_end(region));
    if (region->verdict != GC__MOVE) gc__condemned_marks_clear(region);
}

/* Traces from what the worker holds. */
GC__FN void gc__trace_held(gc__worker *worker, gc__region *condemned) {
#if GC__HAS_WORKERS
    if (gc__workers_of(worker)) {
        gc__workers_run(worker, 0, condemned);
        return;
    }
#endif
    (void)condemned;
    gc__trace_drain(worker);
}

/* Traces from roots, dirty cards and remembered slots. */
GC__FN void gc__trace_all(gc__worker *worker, gc__region *condemned) {
    int above = worker->heap->cycle->plan->condemned;
    size_t slots = above == 2 ? 0 : gc__stores_count(worker->heap->stores);
    worker->heap->stores->again = false;
#if GC__HAS_WORKERS
    gc__workers *workers = worker->workers;
    if (workers) {
        gc__trace_pins(worker);
        workers->cards.count = 0;
        if (above < 2) gc__worker_remember(worker, gc__list_cards(worker, above, &workers->cards));
        gc__trace_interior(worker);
        workers->root_units = (worker->cycle->roots.count + GC__UNIT_ROOTS - 1) / GC__UNIT_ROOTS;
        workers->card_units = (workers->cards.count + GC__UNIT_CARDS - 1) / GC__UNIT_CARDS;
        workers->slot_units = (slots + GC__UNIT_SLOTS - 1) / GC__UNIT_SLOTS;
        worker->heap->pause.dirty_cards = workers->cards.count;
        gc__workers_run(worker, workers->root_units + workers->card_units + workers->slot_units, condemned);
        gc__worker_remember(worker, false);
        worker->remember_all |= above < 2;
        if (worker->heap->stores->again) gc__trace_cards(worker, above, 0);
        workers->slot_units = 0;
        return;
    }
#endif
    (void)condemned;
    gc__trace_roots(worker);
    if (above == 2) return;
    gc__phase_begin(worker->heap, GC_PHASE_CARDS);
    gc__trace_cards(worker, above, slots);
    if (worker->heap->stores->again) gc__trace_cards(worker, above, 0);
}

/* Traces, after everything else, from the ambiguous objects that nothing else has reached, and counts what they
   retain. (If the mark stack overflowed, some of them may have been scanned before, and their referents are not
   counted.) */
GC__HOT void gc__trace_ambiguous(gc__worker *worker, gc__region *condemned) {
    gc_heap *heap = worker->heap;
    gc__map *ambiguous = &worker->cycle->ambiguous;
    size_t objects = 0, bytes = 0;
    if (worker->ambiguous) {
        gc__phase_begin(heap, GC_PHASE_AMBIGUOUS);
        size_t before = gc__traced_bytes(worker, condemned);
        for (size_t i = 0; i < ambiguous->capacity; i++) {
            uintptr_t object = ambiguous->keys[i];
            if (!object || ambiguous->values[i]) continue;
            ambiguous->values[i] = true;
            objects++;
            bytes += gc__object_bytes(object);
            if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
        }
        gc__trace_held(worker, condemned);
        bytes += gc__traced_bytes(worker, condemned) - before;
    }
    heap->collection.conservative_bytes = heap->stats.conservative_bytes = bytes;
    heap->stats.conservative_objects = objects;
    heap->stats.conservative_total_bytes += bytes;
}
