/* Where a limit is met: what an allocation tries before it fails, and changing the limits. It tries to end its nursery,
   if pauses have a goal; to begin a cycle, or to wait for the one that runs; a collection of all; compactions, for as
   long as these make room; sliding; to reuse all holes; the reserve; and after the host's out_of_memory hook all of that
   once more. */
#pragma once

#include "allocate_try.h"

/* Adds to the last error, if that is the cause, that finalizers are queued and no thread runs them. */
GC__COLD void gc__explain_full(gc_heap *heap) {
    size_t finalizers = gc__last_result == GC_ERROR_HEAP_FULL ? gc__finalizers_neglected(heap) : 0;
    if (finalizers)
        gc__fail_more("; %zu finalizers are queued, for objects that stay until these have run, and no thread runs them now: "
                      "call gc_finalizer_run more often, or gc_finalizer_thread_start",
                      finalizers);
}

#define GC__ASKING_MAX 64

/* Returns whether the hook allocates, and so calls itself without end. A hook that was left by longjmp deeper and
   deeper in the stack looks the same, but not as often. */
GC__COLD bool gc__asks_itself(const gc__thread_record *record) {
    if (record->asking < GC__ASKING_MAX) return false;
    gc__misused(gc__fail(
        GC_ERROR_MISUSE,
        "an allocation in the out_of_memory hook, which must not allocate from this heap: it has called itself %d times by that",
        GC__ASKING_MAX));
    return true;
}

/* Calls the hook. It may be left by longjmp or an exception, so nothing is held here, and the record of the call
   shows later that it is over: gc.h is called from above its frame then. */
GC__COLD bool gc__call_out_of_memory(gc_thread *thread, size_t bytes, const char *message) {
    const gc_options *options = &thread->heap->options;
    gc__thread_record *record = gc__record(thread);
    uintptr_t frame = gc__stack_below(), outer_frame = record->asking_frame;
    const gc_stack *outer_stack = record->asking_stack;
    unsigned outer = record->asking;
    if (!outer) __atomic_fetch_add(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
    record->asking = outer + 1;
    record->asking_frame = frame;
    record->asking_stack = thread->stack;
    GC__HOST_SCOPE;
    bool again = options->out_of_memory(options->host, bytes, message);
    record->asking = outer;
    record->asking_frame = outer_frame;
    record->asking_stack = outer_stack;
    if (!outer) __atomic_fetch_sub(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
    return again;
}

GC__COLD bool gc__ask_host(gc_thread *thread, size_t bytes) {
    gc_heap *heap = thread->heap;
    gc__thread_record *record = gc__record(thread);
    if (!heap->options.out_of_memory || gc__is_abandoned(heap)) return false;
    gc__asking_look(thread, gc__stack_below());
    if (gc__asks_itself(record)) return false;
    gc_result result = gc__last_result;
    char message[GC__MESSAGE_BYTES];
    memcpy(message, gc__last_message, sizeof message);
    bool promised = record->promised;
    if (promised) gc__finalizer_add(thread, NULL, NULL);
    bool again = gc__call_out_of_memory(thread, bytes, message);
    if (again && promised) return gc__finalizer_promise(thread);
    if (!again) gc__fail(result, "%s", message); /* whatever has failed in the hook */
    return again;
}

#define GC__ROOM_STEP (GC_REGION_BYTES / 8) /* a compaction that clusters objects by this much is worth another one */

/* Compacts. Returns whether that gained a whole region, or clustered objects so that the next compaction may gain
   one. */
GC__COLD bool gc__compact_once(gc_heap *heap, const gc__request *request) {
    size_t regions = gc__regions_left(heap), packed = gc__clustered_bytes(heap);
    gc__collect(heap, request);
    return gc__regions_left(heap) > regions || gc__clustered_bytes(heap) >= packed + GC__ROOM_STEP;
}

/* Compacts the heap for an object of `bytes` bytes. Returns whether that gained enough, or another thread has compacted since
   collection `before`. If copies did not find the room that holes should have had for them, it tries again with few copies,
   to large holes. */
GC__COLD bool gc__compact_for_room(gc_heap *heap, size_t bytes, uint64_t before) {
    gc__request request = gc__request_of(GC__COMPACT, 2, GC_REASON_LIMIT);
    request.room_for = bytes;
    gc__world_stop(heap);
    if (heap->collector->finished_compacting > before) {
        gc__world_resume(heap);
        return true;
    }
    uint64_t failures = heap->stats.evacuation_failures;
    bool gained = gc__compact_once(heap, &request);
    request.large_holes_only = true;
    if (!gained && heap->cycle->plan->into_holes && heap->stats.evacuation_failures > failures)
        gained = gc__compact_once(heap, &request);
    gc__world_resume(heap);
    return gained;
}

GC__FN void gc__collect_at_limit(gc_heap *heap, gc__purpose purpose) {
    const gc__request request = gc__request_of(purpose, 2, GC_REASON_LIMIT);
    gc__collect(heap, &request);
}

/* Compacts; or slides, once, if that gains nothing and holes have room for `bytes`. Returns whether either helped. */
GC__COLD bool gc__compact_or_slide(gc_heap *heap, size_t bytes, bool *packed, uint64_t before) {
    if (gc__compact_for_room(heap, SIZE_MAX, before)) return true;
    gc__world_stop(heap);
    bool slides = !*packed && gc__is_worth_sliding(heap, bytes);
    if (slides) gc__collect_at_limit(heap, GC__SLIDE);
    gc__world_resume(heap);
    *packed = true;
    return slides;
}

/* Gives mutators the reserve for evacuation, since evacuation frees nothing more. Returns whether there was any. */
GC__COLD bool gc__reserve_give(gc_heap *heap) {
    gc__heap_lock(heap);
    size_t before = gc__evacuation_reserve(heap);
    heap->reserve_open = true;
    bool given = gc__evacuation_reserve(heap) < before;
    gc__heap_unlock(heap);
    return given;
}

/* Makes room for bytes that are not an object's: collects at the limit, and compacts for as long as that makes room,
   as allocations do. */
GC__COLD bool gc__room_make(gc_heap *heap, size_t bytes) {
    bool packed = false;
    gc__collect_at_limit(heap, GC__FULL);
    while (!gc__heap_has_room(heap, bytes))
        if (!gc__compact_or_slide(heap, bytes, &packed, heap->collection.number)) break;
    bool fits = gc__heap_has_room(heap, bytes) || (gc__reserve_give(heap) && gc__heap_has_room(heap, bytes));
    if (!fits && heap->collection.left_out) gc__fail_left_out();
    return fits;
}

/* Makes an allocation that finds no region wait until a marking has ended. Returns NULL if nothing is being marked,
   or waiting is in vain. */
GC__FN void *gc__allocate_after_marking(gc_thread *thread, size_t bytes, unsigned kind) {
    void *object = NULL;
    gc__collect_before_marking(thread->heap);
    while (!object && gc__collect_after_marking(thread->heap)) object = gc__allocate_try(thread, bytes, kind);
    return object;
}

/* The first step: a young collection if that may be enough, waiting for a marking, and a full collection. Sets *ends if
   the overhead limit is met, and *last to the last collection before the step failed. */
GC__COLD void *gc__allocate_collecting_once(gc_thread *thread, size_t bytes, unsigned kind, bool *ends, uint64_t *last) {
    gc_heap *heap = thread->heap;
    uint64_t before = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
    gc__overhead spent;
    gc__heap_lock(heap);
    bool overhead = gc__overhead_is_met(heap, &spent);
    bool young = !overhead && heap->collection.number == before && gc__collect_for_region(heap);
    gc__heap_unlock(heap);
    void *object = young ? gc__allocate_try(thread, bytes, kind) : NULL;
    if (!object) object = gc__allocate_after_marking(thread, bytes, kind);
    if (object) return object;
    gc__heap_lock(heap);
    bool marks = gc__heap_is_marking(heap) && heap->marker->has_thread;
    if (marks || heap->collection.number == before + young) gc__collect_for(heap, GC__LIMIT_MET);
    *ends = overhead && gc__overhead_fails(heap, &spent);
    *last = heap->collection.number;
    gc__heap_unlock(heap);
    return *ends ? NULL : gc__allocate_try(thread, bytes, kind);
}

/* Collects, and compacts as long as that makes any room, even a part of a region: each compaction moves only as much
   as there was room for, so the region that the allocation needs may become free some compactions later. If that is
   not enough, the heap is slid, and last the remaining holes and the reserve are used. */
GC__COLD void *gc__allocate_collecting(gc_thread *thread, size_t bytes, unsigned kind) {
    gc_heap *heap = thread->heap;
    bool ends = false, packed = false;
    uint64_t last = 0;
    void *object = gc__allocate_collecting_once(thread, bytes, kind, &ends, &last);
    if (object || ends) return object;
    gc__compact_for_room(heap, bytes, last); /* holes count, where it may fit; later compactions give no holes to mutators */
    do {
        last = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
        object = gc__allocate_try(thread, bytes, kind);
        if (object) return object;
    } while (gc__compact_or_slide(heap, bytes, &packed, last));
    if (bytes <= GC_LARGE_BYTES) gc__collect_at_limit(heap, GC__FULL_REUSE); /* the holes that compaction has left */
    object = gc__allocate_try(thread, bytes, kind);
    if (!object && gc__reserve_give(heap)) object = gc__allocate_try(thread, bytes, kind);
    if (!object && heap->collection.left_out) gc__fail_left_out();
    return object;
}

/* Tries harder at a limit: stronger collections, then the host's hook, and collections again. */
GC__COLD void *gc__allocate_last_resort(gc_thread *thread, size_t bytes, unsigned kind) {
    void *object = gc__allocate_collecting(thread, bytes, kind);
    if (object) return object;
    gc__explain_full(thread->heap);
    if (!gc__ask_host(thread, bytes)) return NULL;
    object = gc__allocate_collecting(thread, bytes, kind);
    if (!object) gc__explain_full(thread->heap);
    return object;
}

/* Calls gc__finalizer_promise for an allocation, and collects and asks the host before it fails. */
GC__COLD bool gc__finalizer_promise_collecting(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (gc__finalizer_promise(thread)) return true;
    for (int again = 0; gc__last_result == GC_ERROR_HEAP_FULL && !gc__heap_is_locked(heap); again++) {
        size_t bytes = gc__finalizer_bytes_needed(heap);
        gc__heap_lock(heap);
        gc__room_make(heap, bytes);
        gc__heap_unlock(heap);
        if (gc__finalizer_promise(thread)) return true;
        gc__explain_full(heap);
        if (again || !gc__ask_host(thread, bytes)) return false;
        if (gc__finalizer_promise(thread)) return true;
    }
    return false;
}

/* Collects, compacts for as long as that makes room, and slides, until the heap needs no more than `bytes`. The
   world is stopped. */
GC__COLD bool gc__limit_reach(gc_heap *heap, size_t bytes) {
    bool packed = false;
    if (gc__bytes_charged(heap) > bytes) gc__collect_at_limit(heap, GC__FULL);
    while (gc__bytes_charged(heap) > bytes)
        if (!gc__compact_or_slide(heap, 0, &packed, heap->collection.number)) break;
    gc__large_uncommit_all(heap);
    return gc__bytes_charged(heap) <= bytes;
}

/* Replaces defaults, and values larger than any sensible one. */
GC__COLD void gc__options_resolve(gc_options *options) {
    if (options->pause_goal_us == GC__PAUSE_GOAL_US) options->pause_goal_us = 0; /* written out, the default is one still */
    bool wanted = options->pause_goal_us && options->collector_threads != 1;
    if (options->concurrent == GC_CONCURRENT_DEFAULT)
        options->concurrent = wanted && !gc__marking_obstacle(options) ? GC_CONCURRENT_ON : GC_CONCURRENT_OFF;
    options->heap_bytes_soft = gc__min(options->heap_bytes_soft, GC__BUDGET_MOST);
    options->nursery_bytes = gc__min(options->nursery_bytes, GC__BUDGET_MOST);
    options->growth_bytes_min = gc__min(options->growth_bytes_min, GC__BUDGET_MOST);
    if (options->debug.stress_interval == 0) options->debug.stress_interval = 100;
    if (options->patience_ms == 0) options->patience_ms = 10000;
}

/* Adapts to other limits and options the values that depend on them. The world is stopped. */
GC__COLD void gc__limit_adapt(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    gc__pace_goal(heap, pace->full_live_bytes);
    if (heap->options.nursery_bytes)
        pace->nursery_bytes = heap->options.nursery_bytes;
    else if (heap->options.non_generational)
        pace->nursery_bytes = gc__nursery_non_generational(heap);
    else
        pace->nursery_bytes = gc__min(pace->nursery_bytes, gc__nursery_most(heap));
    __atomic_store_n(&heap->budget_bytes, gc__nursery_in_goal(heap), __ATOMIC_RELAXED);
    gc__heap_note_held(heap);
}

/* The world is stopped. */
GC__COLD gc_result gc__limits_change(gc_heap *heap, const gc_limits *limits) {
    size_t bytes = limits->heap_bytes_max, share = bytes ? 0 : gc__container_share(), wanted = bytes + share;
    if (wanted && wanted < heap->limit_bytes && !gc__limit_reach(heap, wanted)) {
        gc__fail(GC_ERROR_HEAP_FULL,
                 "gc_heap_set_limits: the heap needs %zu KiB, for what lives or cannot be moved, so the limit "
                 "stays, and does not become %zu KiB: drop references first",
                 gc__bytes_charged(heap) >> 10, wanted >> 10);
        gc__heap_fail_with_others(heap);
        return GC_ERROR_HEAP_FULL;
    }
    heap->options.heap_bytes_soft = gc__min(limits->heap_bytes_soft, GC__BUDGET_MOST);
    heap->options.overhead_percent_max = limits->overhead_percent_max;
    gc__limit_set(heap, bytes, share);
    gc__marking_resolve(heap, false);
    gc__limit_adapt(heap);
    return GC_OK;
}

GC_API size_t gc_container_bytes(void) { return gc__os_container_bytes(); }

GC_API void gc_heap_limits(gc_heap *heap, gc_limits *limits) {
    if (gc__is_null(heap, "gc_heap_limits", "heap") || gc__is_null(limits, "gc_heap_limits", "limits")) return;
    gc__heap_lock(heap);
    const gc_options *options = &heap->options;
    limits->heap_bytes_max = heap->limit_is_share ? 0 : options->heap_bytes_max;
    limits->heap_bytes_soft = options->heap_bytes_soft;
    limits->overhead_percent_max = options->overhead_percent_max;
    gc__heap_unlock(heap);
}

GC_API gc_result gc_heap_set_limits(gc_heap *heap, const gc_limits *limits) {
    GC__API_SCOPE("gc_heap_set_limits");
    if (gc__is_null(heap, "gc_heap_set_limits", "heap") || gc__is_null(limits, "gc_heap_set_limits", "limits"))
        return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_heap_set_limits")) return GC_ERROR_MISUSE;
    if (!gc__limit_is_least(limits->heap_bytes_max) || !gc__overhead_is_percent(limits->overhead_percent_max))
        return GC_ERROR_OPTION;
    const gc__request request = gc__request_of(GC__FULL, 2, GC_REASON_LIMIT);
    gc__heap_lock(heap);
    gc__workers_start(heap, &request);
    gc__world_stop_locked(heap);
    gc_result result = gc__limits_change(heap, limits);
    gc__world_resume(heap);
    return result;
}

GC_API void gc_heap_pacing(gc_heap *heap, gc_pacing *pacing) {
    if (gc__is_null(heap, "gc_heap_pacing", "heap") || gc__is_null(pacing, "gc_heap_pacing", "pacing")) return;
    gc__heap_lock(heap);
    const gc_options *o = &heap->options;
    const gc_pacing now = {o->nursery_bytes, o->growth_bytes_min, o->growth_percent, o->pause_goal_us, heap->is_paused};
    *pacing = now;
    gc__heap_unlock(heap);
}

GC_API gc_result gc_heap_set_pacing(gc_heap *heap, const gc_pacing *pacing) {
    GC__API_SCOPE("gc_heap_set_pacing");
    if (gc__is_null(heap, "gc_heap_set_pacing", "heap") || gc__is_null(pacing, "gc_heap_set_pacing", "pacing"))
        return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_heap_set_pacing")) return GC_ERROR_MISUSE;
    gc__world_stop(heap);
    gc_options *options = &heap->options;
    options->nursery_bytes = pacing->nursery_bytes;
    options->growth_bytes_min = pacing->growth_bytes_min;
    options->growth_percent = pacing->growth_percent;
    options->pause_goal_us = pacing->pause_goal_us;
    heap->is_paused = pacing->paused;
    if (heap->is_paused) __atomic_store_n(&heap->threads->asked, false, __ATOMIC_RELAXED);
    gc__options_resolve(options);
    gc__limit_adapt(heap);
    gc__world_resume(heap);
    return GC_OK;
}
