/* What a collecting thread does: times its phases, follows sampled objects, notes what the heap holds. */
#pragma once

#include "../weak/finalizers.h"
#include "../trace/collector.h"
#include "sample.h"

GC__FN void gc__space_note(const gc_heap *heap, gc__profile_space *space) {
    memset(space, 0, sizeof *space);
    space->generation_bytes[0] = gc__counted(&heap->generation_bytes[0]) + heap->nursery_survivor_bytes;
    for (int g = 1; g < GC_GENERATIONS; g++) space->generation_bytes[g] = heap->generation_bytes[g];
    space->large_bytes = heap->large_bytes;
    space->external_bytes = gc__counted(&heap->external_bytes);
    space->held_bytes = gc__held_bytes(heap);
    space->finalizers_queued = gc__due_total(heap->finalizers);
}

/* Makes the events of a collection, in the order of time; returns how many. */
GC__FN size_t gc__collection_events(const gc__profile_collection *collection, gc__profile_event *events) {
    size_t count = 0;
    uint64_t time_ns = collection->start_ns;
    gc__profile_event event;
    memset(&event, 0, sizeof event);
    event.thread = collection->thread;
    event.heap = collection->heap;
    event.kind = GC_PROFILE_COLLECTION_START;
    event.time_ns = time_ns;
    event.amount = collection->number;
    event.detail = collection->generation;
    events[count++] = event;
    event.kind = GC_PROFILE_PHASE;
    for (unsigned i = 0; i < collection->part_count; i++) {
        event.amount = (uint64_t)collection->parts[i].phase;
        event.detail = collection->parts[i].ns;
        event.time_ns = time_ns += event.detail;
        events[count++] = event;
    }
    event.kind = GC_PROFILE_COLLECTION_END;
    event.time_ns = collection->end_ns;
    event.amount = collection->number;
    event.detail = collection->generation;
    for (int g = 0; g < GC_GENERATIONS; g++) event.bytes += collection->promoted_bytes[g];
    events[count++] = event;
    return count;
}

/* Tells the host of an event of the heap, and keeps it for a streamed format. Lock held. */
GC__FN void gc__heap_tell(const gc__profiled_heap *self, const gc__profile_event *event,
                          const gc_collection *collection) {
    const gc_profile_host *host = gc__profile_host();
    gc_profile_event told;
    gc__event_keep(&gc__the_profile, event);
    if (!host->event || !gc__profile_wants((gc_profile_kind)event->kind)) return;
    memset(&told, 0, sizeof told);
    told.kind = (gc_profile_kind)event->kind;
    told.thread = event->thread;
    told.time_ns = event->time_ns;
    told.heap = self->heap;
    told.bytes = event->bytes;
    told.amount = event->amount;
    told.detail = event->detail;
    told.collection = collection;
    host->event(host->host, &told);
}

/* The number of the profile that the heap is part of, which another thread may just be ending to start the next one. */
GC__FN uint64_t gc__heap_profile(const gc__profiled_heap *self) {
    return __atomic_load_n(&self->profile, __ATOMIC_RELAXED);
}

/* The system's number of the calling thread, which it is asked for only if it is not attached. */
GC__FN uint32_t gc__collecting_thread(const gc_heap *heap) {
    const gc_thread *self = gc__thread_self(heap);
    return self ? gc__record(self)->tid : gc__os_thread_number();
}

/* A collection begins: nothing has changed yet, and threads have stopped. */
GC__FN void gc__collection_begin(gc__profiled_heap *self, uint64_t now_ns) {
    gc_heap *heap = self->heap;
    gc__profile_collection *collection = &self->collection;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__profiled_thread *profiled = gc__record(thread)->profiled;
        if (profiled && profiled->waiting && profiled->profile == self->profile) gc__allocation_end(profiled);
    }
    memset(collection, 0, sizeof *collection);
    collection->number = heap->collection.number + 1;
    collection->asked_ns = self->asked_ns ? self->asked_ns : now_ns;
    collection->start_ns = now_ns;
    collection->heap = self->number;
    collection->thread = gc__collecting_thread(heap);
    gc__space_note(heap, &collection->before);
    self->collecting = gc__heap_profile(self);
    gc__lock_take(&gc__profile_lock);
    if (collection->asked_ns < gc__the_profile.profile.start_ns) collection->asked_ns = now_ns;
    gc__drain();
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        if (gc__record(thread)->profiled) gc__buffer_rewind(gc__record(thread)->profiled);
    gc__lock_release(&gc__profile_lock);
}

/* Ends the phase that has run until now. */
GC__FN void gc__part_end(gc__profiled_heap *self, uint64_t now_ns) {
    gc__profile_collection *collection = &self->collection;
    if (collection->part_count) collection->parts[collection->part_count - 1].ns = gc__ns_since(now_ns, self->part_ns);
    self->part_ns = now_ns;
}

GC__FN void gc__profile_phase_begun(gc_heap *heap, gc_phase phase) {
    gc__profiled_heap *self = heap->profiled;
    uint64_t now = gc__os_now_ns();
    if (phase == GC_PHASE_OPEN) gc__collection_begin(self, now);
    if (self->collecting != gc__heap_profile(self) || self->collection.part_count == GC__PROFILE_PARTS) return;
    gc__part_end(self, now);
    self->collection.parts[self->collection.part_count++].phase = phase;
}

GC__FN void gc__profile_traced(gc_heap *heap, int generation) {
    gc__profiled_heap *self = heap->profiled;
    gc__lock_take(&gc__profile_lock);
    if (self->profile == gc__the_profile.number) gc__tracked_follow_all(self, generation);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__profile_ended(gc_heap *heap) {
    gc__profiled_heap *self = heap->profiled;
    gc__profile_collection *collection = &self->collection;
    gc__profile *profile = &gc__the_profile.profile;
    gc__profile_event events[GC__PROFILE_PARTS + 2];
    if (self->collecting != gc__heap_profile(self)) return;
    self->collecting = 0;
    collection->end_ns = gc__os_now_ns();
    gc__part_end(self, collection->end_ns);
    collection->generation = (uint8_t)heap->collection.generation;
    collection->reason = heap->collection.reason;
    collection->compacting = heap->collection.compacting;
    collection->left_out = heap->collection.left_out;
    collection->moved_bytes = heap->collection.moved_bytes;
    for (int g = 0; g < GC_GENERATIONS && !collection->left_out; g++) {
        collection->condemned_bytes[g] = heap->cycle->condemned_bytes[g];
        collection->promoted_bytes[g] = heap->cycle->copied_bytes[g] + heap->cycle->marked_bytes[g];
    }
    gc__space_note(heap, &collection->after);
    size_t count = gc__collection_events(collection, events);
    gc__lock_take(&gc__profile_lock);
    gc__profile_collection *kept =
        self->profile == gc__the_profile.number ? GC__PROFILE_APPEND(profile, collections) : NULL;
    if (kept)
        *kept = *collection;
    else
        profile->lost_collections += self->profile == gc__the_profile.number;
    for (size_t i = 0; kept && i < count; i++) {
        events[i].collection = (uint32_t)(kept - profile->collections);
        gc__heap_tell(self, &events[i], &heap->collection);
    }
    gc__lock_release(&gc__profile_lock);
}

/* Threads that stop. */

GC__FN void gc__stop_tell(const gc__profiled_heap *self, gc_profile_kind kind, uint64_t amount, uint64_t detail) {
    gc__profile_event event;
    memset(&event, 0, sizeof event);
    event.kind = (uint32_t)kind;
    event.time_ns = gc__os_now_ns();
    event.thread = gc__collecting_thread(self->heap);
    event.heap = self->number;
    event.amount = amount;
    event.detail = detail;
    gc__lock_take(&gc__profile_lock);
    if (self->profile == gc__the_profile.number) gc__heap_tell(self, &event, NULL);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__profile_stopped(gc_heap *heap, uint64_t asked_ns) {
    uint64_t last_ns = 0;
    uint32_t last = 0;
    heap->profiled->asked_ns = asked_ns;
    if (!gc__profile_wants(GC_PROFILE_STOP)) return;
    for (const gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        uint64_t at = __atomic_load_n(&gc__record(thread)->stopped_at_ns, __ATOMIC_RELAXED);
        if (at < asked_ns || at < last_ns) continue;
        last_ns = at;
        last = gc__record(thread)->tid;
    }
    gc__stop_tell(heap->profiled, GC_PROFILE_STOP, gc__ns_since(gc__os_now_ns(), asked_ns), last);
}

GC__FN void gc__profile_resumed(gc_heap *heap) {
    bool was = heap->profiled->asked_ns != 0;
    heap->profiled->asked_ns = 0;
    if (was && gc__profile_wants(GC_PROFILE_RESUME)) gc__stop_tell(heap->profiled, GC_PROFILE_RESUME, 0, 0);
}
