/* When to collect, and for what purpose; also the upgrade chain of a cycle that cannot go on: concurrent,
   degenerated, full. */
#pragma once

#include "cycles.h"

/* The events that may call for a collection. */
typedef enum gc__event {
    GC__NURSERY_SPENT,     /* a mutator has spent its budget */
    GC__REGION_WANTED,     /* an allocation has found no region */
    GC__YOUNG_FREED_NONE,  /* an allocation has found no region, nor one after a young collection */
    GC__MARKER_DONE,       /* only work for the final mark is left to the marker */
    GC__PAUSED_LAST = GC__MARKER_DONE, /* a paused heap heeds only those that follow */
    GC__STEP_DONE,         /* as GC__MARKER_DONE, where the host has time for it */
    GC__LIMIT_MET,         /* an allocation has found no region, even after waiting for the marker */
    GC__STRESS_POINT       /* a point at which options.debug.stress asks for a collection */
} gc__event;

GC__COLD gc__request gc__request_of(gc__purpose purpose, int generation, gc_reason reason) {
    const gc__request request = {purpose, generation, reason, GC_DEGENERATED_NOT, purpose == GC__COMPACT || purpose == GC__SLIDE,
                                 false, 0};
    return request;
}

/* Requests a stop-the-world collection of the generations up to this one. */
GC__COLD gc__request gc__request_stopped(int generation, gc_reason reason, bool compacting) {
    gc__purpose full = compacting ? GC__COMPACT : GC__FULL;
    gc__request request = gc__request_of(generation == 2 ? full : GC__YOUNG, generation, reason);
    request.compacting = compacting;
    return request;
}

GC__COLD gc__request gc__request_mark_begin(gc_reason reason) { return gc__request_of(GC__MARK_BEGIN, 1, reason); }

/* Returns why the current cycle cannot go on until all is marked, or GC_DEGENERATED_NOT if it can. */
GC__COLD gc_degenerated gc__cycle_degenerates(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    if (gc__marker_is_spoilt(heap)) return GC_DEGENERATED_BARRIER;
    if (!marker->has_thread && !heap->options.test.marker_steps) return GC_DEGENERATED_THREAD;
    return gc__marking_is_lost(heap) ? GC_DEGENERATED_GROWTH : GC_DEGENERATED_NOT;
}

/* Requests the end of the current cycle. If the marker is not done, the final mark has to trace the rest: the cycle
   degenerates. */
GC__COLD gc__request gc__request_mark_end(const gc_heap *heap, gc_reason reason, gc_degenerated point) {
    gc__request request = gc__request_of(GC__MARK_END, 2, reason);
    if (!__atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE)) request.degenerated = point;
    return request;
}

/* If the marker has found more since then, the next stop only meets once more what young objects and roots refer to; but
   only so often in a cycle, which would not end where new objects are found all the time. */
#define GC__MET_BYTES ((size_t)256 << 10)
#define GC__MET_MOST 3

/* Requests what follows when only work for stops is left to the marker: its remark, or its end. But a reference that was
   taken out of an object before the marker has come there is known only to young objects and roots. So if the marker has
   found much since these were last met, they are met again, and it goes on from there. A remark has met all. */
GC__COLD gc__request gc__request_when_done(const gc_heap *heap, gc_reason reason) {
    gc__marker *marker = heap->marker;
    uint8_t remark = __atomic_load_n(&marker->remark, __ATOMIC_RELAXED);
    bool much = gc__counted(&marker->marked_bytes) > marker->met_bytes + GC__MET_BYTES, spoilt = gc__marker_is_spoilt(heap);
    if (much && !spoilt && remark != GC__REMARK_MADE && marker->met_again++ < GC__MET_MOST)
        return gc__request_stopped(1, reason, false);
    bool due = remark == GC__REMARK_DUE && !spoilt;
    return due ? gc__request_of(GC__REMARK, 1, reason) : gc__request_mark_end(heap, reason, GC_DEGENERATED_REQUEST);
}

/* Returns whether a cycle is due. `full`: a full collection would be due if there were no cycles. */
GC__COLD bool gc__cycle_is_due(const gc_heap *heap, bool full) {
    size_t old = gc__grown_bytes(heap) + heap->generation_bytes[1];
    if (!gc__marking_is_on(heap) || (old < GC__MARKING_WORTH && !heap->options.test.marker_steps)) return false;
    bool grown = old >= heap->pace->full_live_bytes + gc__growth_due(heap) / GC__MARKING_SOON;
    return full || (grown && gc__marking_is_short(heap)) || old + gc__marking_reserve(heap) >= heap->pace->full_threshold;
}

/* Decides what follows a spent nursery, or one that ends early. Returns false if a spent one grows instead. */
GC__COLD bool gc__next_for_nursery(gc_heap *heap, gc__request *request, bool is_spent) {
    int generation = gc__pace_generation(heap);
    gc_degenerated point = gc__heap_is_marking(heap) ? gc__cycle_degenerates(heap) : GC_DEGENERATED_NOT;
    if (gc__heap_is_marking(heap) && (point || __atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE))) {
        *request = point ? gc__request_mark_end(heap, GC_REASON_GROWTH, point) : gc__request_when_done(heap, GC_REASON_GROWTH);
        return true;
    }
    if (gc__heap_is_marking(heap)) {
        if (generation == 2) generation = gc__pace_young(heap);
    } else if (gc__cycle_is_due(heap, generation == 2)) {
        bool no_use = gc__marking_is_no_use(heap);
        *request = no_use ? gc__request_stopped(2, GC_REASON_GROWTH, false) : gc__request_mark_begin(GC_REASON_GROWTH);
        if (no_use) request->degenerated = GC_DEGENERATED_HOLES;
        return true;
    }
    if (is_spent && gc__pace_waits(heap, generation)) {
        gc__count(&heap->budget_bytes, gc__pace_step(heap));
        return false;
    }
    *request = gc__request_stopped(generation, generation == 2 ? GC_REASON_GROWTH : GC_REASON_NURSERY, false);
    return true;
}

/* Returns whether a mutator that finds no region ends its nursery early, if pauses have a goal: the survivors may
   find room in holes, which frees their regions. A nursery that has hardly begun would gain too little. */
GC__COLD bool gc__next_ends_nursery(const gc_heap *heap) {
    return gc__marking_is_on(heap) && !gc__stress_of(heap) && gc__counted(&heap->generation_bytes[0]) >= GC__NURSERY_LEAST;
}

/* Returns whether a mutator that finds no region begins a cycle rather than a stop-the-world collection: nothing is
   being marked, and enough has become old for a cycle to free some of it. */
GC__COLD bool gc__next_begins_cycle(const gc_heap *heap) {
    size_t old = gc__grown_bytes(heap), enough = heap->pace->full_live_bytes + gc__growth_due(heap) / GC__MARKING_SOON;
    bool worth = old >= enough && old >= GC__MARKING_WORTH && !gc__stress_of(heap) && !heap->options.test.marker_steps;
    return worth && !gc__heap_is_marking(heap) && gc__marking_is_on(heap) && !gc__pace_is_cramped(heap);
}

/* Requests each generation in turn. If the old one can be marked concurrently, every other full collection is
   replaced by the begin and the end of a cycle. */
GC__COLD gc__request gc__next_under_stress(const gc_heap *heap) {
    uint64_t number = heap->collection.number;
    bool full = number % GC_GENERATIONS == 2, concurrent = gc__marking_is_on(heap) && number / GC_GENERATIONS % 2;
    if (full && gc__heap_is_marking(heap) && !gc__marker_is_spoilt(heap)) return gc__request_when_done(heap, GC_REASON_STRESS);
    if (full && concurrent) return gc__request_mark_begin(GC_REASON_STRESS);
    return gc__request_stopped((int)(number % GC_GENERATIONS), GC_REASON_STRESS, true);
}

/* Requests the collection that the event calls for. Returns false if there is none. The heap's lock is held. */
GC__COLD bool gc__policy_next(gc_heap *heap, gc__event event, gc__request *request) {
    if (heap->is_paused && event <= GC__PAUSED_LAST) {
        gc__count(&heap->budget_bytes, gc__pace_step(heap));
        return false;
    }
    switch (event) {
    case GC__NURSERY_SPENT:
    case GC__REGION_WANTED: return gc__next_for_nursery(heap, request, event == GC__NURSERY_SPENT);
    case GC__YOUNG_FREED_NONE: *request = gc__request_mark_begin(GC_REASON_GROWTH); return gc__next_begins_cycle(heap);
    case GC__MARKER_DONE:
    case GC__STEP_DONE: *request = gc__request_when_done(heap, heap->marker->reason); break;
    case GC__STRESS_POINT: *request = gc__next_under_stress(heap); break;
    case GC__LIMIT_MET:
        *request = gc__heap_is_marking(heap) ? gc__request_mark_end(heap, GC_REASON_LIMIT, GC_DEGENERATED_LIMIT)
                                 : gc__request_stopped(2, GC_REASON_LIMIT, false);
        break;
    }
    return true;
}
