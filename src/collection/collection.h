/* One collection, start to end. */
#pragma once

#include "../space/profiler.h"
#include "../trace/trace.h"
#include "sweep.h"
#include "../policy/next.h"
#include "../diag/check.h"
#include "../diag/checkmark.h"
#include "../diag/pauses.h"
#include "../diag/shadow.h"
#include "../diag/stress.h"
#include "worker_threads.h"
#include "components.h"
#include "concurrent.h"
#include "store.h"

GC__FN void gc__cycle_open(gc_heap *heap) {
    const gc__request *request = &heap->cycle->plan->request;
    heap->collecting = true;
    gc__phase_begin(heap, GC_PHASE_OPEN);
    if (heap->marker->has_thread) heap->pause.marker_ns = gc__ns_since(gc__os_now_ns(), heap->pauses->stopped_ns);
    __atomic_store_n(&heap->collection.number, heap->collection.number + 1, __ATOMIC_RELAXED);
    heap->collection.generation = request->generation;
    heap->collection.reason = request->reason;
    heap->collection.compacting = request->compacting;
    heap->collection.pause_ns = heap->collection.promoted_bytes = heap->collection.moved_bytes = 0;
    heap->collection.conservative_bytes = heap->collection.demoted_bytes = 0;
    heap->collection.left_out = false;
    memset(heap->cycle->copied_bytes, 0, sizeof heap->cycle->copied_bytes);
    memset(heap->cycle->marked_bytes, 0, sizeof heap->cycle->marked_bytes);
    memset(heap->cycle->condemned_bytes, 0, sizeof heap->cycle->condemned_bytes);
    heap->cycle->large_bytes = heap->cycle->large_kept_bytes = 0;
    heap->cycle->staying_bytes = heap->cycle->staying_kept_bytes = 0;
    heap->cycle->young_staying_bytes = heap->cycle->young_kept_bytes = 0;
    gc__heap_flush_for_callbacks(heap);
    gc__log_flush();
    GC__HOST_SCOPE;
    if (heap->options.collection_start) heap->options.collection_start(heap->options.host, &heap->collection);
}

GC__FN void gc__cycle_statistics(gc_heap *heap) {
    gc_stats *stats = &heap->stats;
    gc_collection *collection = &heap->collection;
    stats->survived_bytes = gc__survived_bytes(heap->cycle);
    stats->condemned_bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        stats->condemned_bytes += heap->cycle->condemned_bytes[g];
        collection->moved_bytes += heap->cycle->copied_bytes[g];
    }
    if (collection->moved_bytes)
        __atomic_store_n(&stats->collections_moving, stats->collections_moving + 1, __ATOMIC_RELAXED);
    const gc__pauses *pauses = heap->pauses;
    collection->pause_ns = gc__ns_since(gc__os_now_ns(), pauses->began_ns);
    uint64_t before_phases = gc__ns_since(pauses->stopped_ns, pauses->began_ns) + heap->pause.marker_ns;
    gc__phases_share(heap, gc__ns_since(collection->pause_ns, before_phases));
    collection->promoted_bytes = stats->survived_bytes;
    stats->promoted_bytes += stats->survived_bytes;
    stats->moved_bytes += collection->moved_bytes;
    stats->collections[collection->generation]++;
    stats->collections_compacting += collection->compacting;
}

/* Gathers all roots that may refer to generations up to the given one in three lists. On failure nothing has
   changed, and the collection cannot run. */
GC__FN bool gc__roots_gather(gc_heap *heap) {
    gc__root_visitor roots = {{gc__root_gather}, heap, false};
    heap->cycle->roots.count = heap->cycle->interior.count = heap->cycle->pins.count = 0;
    heap->cycle->stacks.count = heap->cycle->reported.count = 0;
    gc__discovered *entries = &heap->cycle->entries;
    entries->words.count = entries->ended.count = entries->waited = entries->cleared = 0;
    gc__roots_visit(heap, &roots.visitor);
    gc__handles_visit(heap, &roots.visitor, gc__roots_generation(heap));
    return !roots.failed;
}

/* Closes all windows. Called only after gathering, since threads go on in their windows after a collection that is
   left out. */
GC__FN void gc__cycle_close_windows(gc_heap *heap) {
    unsigned allocating = 0;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        allocating += thread->window.region || gc__record(thread)->fixed.region;
        gc__thread_close_windows(thread);
    }
    heap->pace->allocating = (unsigned)gc__max(1, gc__min(allocating, heap->threads->processors));
}

/* Runs the collection from the gathered roots to the last freed region. */
GC__FN void gc__cycle_run(gc_heap *heap) {
    const gc__plan *plan = heap->cycle->plan;
    int generation = heap->collection.generation;
    gc__worker alone, *worker = gc__heap_workers(heap) ? &gc__heap_workers(heap)->threads[0].worker : &alone;
    gc__cycle_close_windows(heap);
    gc__phase_begin(heap, GC_PHASE_PLAN);
    memset(worker, 0, sizeof *worker);
    worker->visitor.visit = gc__trace_visit;
    worker->heap = heap;
    worker->cycle = heap->cycle;
    worker->memory = &heap->collector->mark_stack;
    memset(worker->cycle->no_room, 0, sizeof worker->cycle->no_room);
    /* Nothing below asks the host for roots again: they are in their lists. */
    gc__marking_step(heap);
    heap->mark_plane = heap->plane ^ (uint8_t)gc__is_mark_end(heap);
    worker->marks = gc__marks_of(heap);
    worker->starts = gc__the_arena.marks[heap->plane];
    gc__region *condemned = gc__condemn(heap);
    if (plan->purpose == GC__SLIDE) condemned = gc__slide(heap, condemned);
    worker->verdicts = GC__VERDICTS;
    worker->edges = gc__marking_edges(heap);
    worker->remember_all = (generation > 0 && !plan->ages_all) || heap->cycle->recycles;
    gc__workers_enter(worker);
    gc__each_condemned(worker, condemned, gc__region_clear);
    /* Every condemned region has a verdict, and its ranks are those after the collection. */
    gc__phase_begin(heap, GC_PHASE_ROOTS);
    gc__trace_all(worker, condemned);
    gc__trace_candidates(worker);
    if (gc__heap_is_marking(heap)) gc__marker_empty_buffer(heap);
    gc__stores_forget(heap);
    gc__marking_look_at_pages(worker);
    gc__marking_trace_old(worker, condemned);
    gc__trace_ambiguous(worker, condemned);
    gc__phase_begin(heap, GC_PHASE_HANDLES);
    gc__handles_trace(worker, generation);
    if (heap->options.collection_traced) {
        GC__HOST_SCOPE;
        heap->options.collection_traced(heap->options.host, &heap->collection);
    }
    /* Every surviving condemned object is marked or has a forwarding word; every slot refers to its new place. */
    gc__phase_begin(heap, GC_PHASE_SWEEP);
    gc__worker_end(worker);
    gc__workers_leave(worker);
    if (plan->into_holes) gc__old_holes_forget(heap);
    gc__roots_update_interior(worker->cycle);
    gc__root_stacks_note_bounds(worker->cycle);
    gc__external_update(heap);
    gc__sweep(heap, condemned);
    gc__sweep_bounds(heap);
    gc__remark(heap);
    gc__phase_begin(heap, GC_PHASE_CLOSE);
    /* No verdict is set any more; moved-from and empty regions are free. */
}

GC_API void *gc_collection_find(gc_heap *heap, const void *object) {
    if (gc__is_null(heap, "gc_collection_find", "heap")) return NULL;
    GC_ASSERT(heap->collecting && (heap->phase == GC_PHASE_HANDLES || heap->phase == GC_PHASE_FINALIZERS),
              "gc_collection_find: called outside of options.collection_traced: in other hooks nobody knows yet what "
              "survives, or everything else is gone");
    return (void *)gc__address_after_trace((uintptr_t)object);
}

/* Detects a callback that leaves the collection other than by returning. */
GC__FN void gc__cycle_leave(gc_heap **left) {
    if (*left) gc__collection_was_left(*left);
}

/* Learns from a collection that ran, and prepares the time until the next one. */
GC__FN void gc__cycle_done(gc_heap *heap) {
    int generation = heap->collection.generation;
    gc__collector *collector = heap->collector;
    if (gc__verify_of(heap) & GC_VERIFY_AFTER) gc__verify_heap(heap, "after");
    gc__shadow_sync(heap);
    if (generation == 2) gc__marking_resolve(heap, true);
    gc__policy_learn(heap);
    gc__marking_divide_nursery(heap);
    gc__remembering_choose(heap);
    for (int g = 0; g <= generation; g++) collector->finished[g] = heap->collection.number;
    if (gc__is_mark_end(heap)) collector->finished[2] = heap->marker->began;
    if (heap->collection.compacting && generation == 2) collector->finished_compacting = heap->collection.number;
}

GC__COLD void gc__fail_left_out(void) {
    gc__fail(GC_ERROR_MEMORY, "a collection was left out: the system gives no memory for the list of roots. Raise "
                              "`ulimit -v` or the memory limit of the process");
}

/* Leaves the collection out: nothing has changed and nothing is counted. The next attempt comes a nursery later. */
GC__COLD void gc__cycle_leave_out(gc_heap *heap) {
    heap->collection.left_out = true;
    __atomic_store_n(&heap->budget_bytes, gc__spent_bytes(heap) + heap->pace->nursery_bytes, __ATOMIC_RELAXED);
    gc__fail_left_out();
    gc__warn(&heap->options, "%s", gc__last_message);
}

/* Checks what the host asked to be checked before each collection. */
GC__FN void gc__cycle_check(gc_heap *heap) {
    if (GC_DEBUG >= 3) gc__check_heap(heap, "start", false);
    if (gc__stress_of(heap)) gc__stress_index(heap);
    if (gc__verify_of(heap) & GC_VERIFY_BEFORE) gc__verify_heap(heap, "before");
    gc__shadow_check(heap);
}

/* The body of gc__collect_stopped, while the marker rests. */
GC__FN bool gc__collect_at_rest(gc_heap *heap, const gc__request *request) {
    gc_heap *unfinished __attribute__((cleanup(gc__cycle_leave))) = heap;
    heap->frame = gc__stack_below();
    gc__stores_check(heap);
    gc__policy_open(heap, request);
    gc__marking_take_written(heap); /* before hooks, which may switch the barrier; and again after their stores */
    /* What a remark has left to decide is decided before roots are gathered for a collection of all generations. */
    if (heap->cycle->plan->request.generation == 2) gc__finalizers_decide_all(heap->finalizers);
    gc__cycle_open(heap);
    int generation = heap->collection.generation;
    /* The clock is read before any profiler's work, which must not make the nursery grow: it is not the collector's. */
    bool timed = !gc__pace_ignores_time(generation, request->reason) || heap->generation_bytes[2] >= GC__TIMED_BYTES;
    heap->pace->stopped_cpu_ns = timed ? gc__os_cpu_ns() : 0;
    gc__cycle_check(heap);
    gc__phase_begin(heap, GC_PHASE_GATHER);
    gc__handles_keep(heap);
    /* All that needs memory comes before the collection changes anything. */
    bool gathered = gc__roots_gather(heap) && gc__ambiguous_reserve(heap) && gc__external_gather(heap, generation);
    if (gathered) gc__cycle_run(heap);
    /* Checkmark reads the places of handles that were roots, which must not be destroyed yet. */
    bool exact = generation == 2 && !gc__is_mark_end(heap);
    if (gathered && gc__is_checkmarked(heap)) gc__checkmark(heap, exact);
    if (gathered) gc__metadata_count(heap);
    gc__handles_release(heap);
    if (gathered)
        gc__cycle_done(heap);
    else
        gc__cycle_leave_out(heap);
    if (GC_DEBUG >= 3) gc__check_heap(heap, "end", gathered);
    if (gathered) gc__cycle_statistics(heap);
    heap->collecting = false;
    gc__phase_begin(heap, GC_PHASE_NONE);
    GC__HOST_SCOPE;
    if (gathered) gc__finalizers_announce(heap);
    if (heap->options.collection_end) heap->options.collection_end(heap->options.host, &heap->collection);
    unfinished = NULL;
    heap->frame = 0;
    if (!gathered) __atomic_store_n(&heap->collection.number, heap->collection.number - 1, __ATOMIC_RELAXED);
    return gathered;
}

/* Collects while the world is stopped. Returns false if the collection was left out for want of memory. */
GC__FN bool gc__collect_stopped(gc_heap *heap, const gc__request *request) {
    if (gc__is_abandoned(heap)) return true;
    gc__pause_begin(heap);
    if (heap->collecting)
        gc__fatal(&heap->options,
                  "a collection was asked for during collection %llu: by a hook, a trace function or scan_roots, or after "
                  "longjmp or an exception out of one", (unsigned long long)heap->collection.number);
    gc__marker_rest(heap);
    bool ran = gc__collect_at_rest(heap, request);
    uint64_t before = heap->marker->has_thread ? gc__os_now_ns() : 0;
    gc__store_logging_publish(heap, gc__heap_is_marking(heap) || heap->remembers_slots);
    gc__marker_go_on(heap);
    if (ran) gc__pause_end(heap, before);
    return ran;
}

GC__FN bool gc__collect(gc_heap *heap, const gc__request *request) {
    gc__heap_lock(heap);
    gc__workers_start(heap, request);
    gc__world_stop_locked(heap);
    bool ran = gc__collect_stopped(heap, request);
    gc__world_resume(heap);
    return ran;
}

/* Ends a cycle whose marking is done, or has it go on from what a remark finds. The heap's lock is held. */
GC__FN void gc__marking_end_done(gc_heap *heap) {
    gc__request request;
    if (!gc__heap_is_marking(heap) || !__atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE)) return;
    if (gc__policy_next(heap, GC__MARKER_DONE, &request)) gc__collect(heap, &request);
}

/* Ends a cycle whose marking is done if all threads are in preemptive mode, as in a server that waits for requests.
   Otherwise a mutator ends it at a safe point or when it has spent its window: a host that suspends threads itself
   does not know the marker's thread. A paused heap is left alone. The heap's lock is held. */
GC__FN void gc__marking_end_or_ask(gc_heap *heap) {
    bool asks = heap->options.suspend != NULL;
    if (heap->is_paused) return;
    for (const gc_thread *thread = heap->threads->first; thread && !asks; thread = gc__record(thread)->next)
        asks = gc__is_cooperative(thread);
    if (!asks) {
        gc__marking_end_done(heap);
        return;
    }
    __atomic_store_n(&heap->threads->asked, true, __ATOMIC_RELAXED);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        __atomic_store_n(&thread->poll, 1u, __ATOMIC_RELAXED);
}

/* Ends the cycle or asks a mutator to end it, or releases memory. Called on the marker's thread when it has rested
   for a while. */
GC__COLD void gc__marking_rests(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!gc__heap_lock_unless_taken(heap)) return;
    if (!gc__heap_is_marking(heap)) {
        gc__heap_uncommit(heap);
        bool gives = heap->uncommit_waits || heap->uncommit_bytes >= GC_REGION_BYTES;
        __atomic_store_n(&marker->gives_back, gives, __ATOMIC_RELAXED);
    } else if (!marker->is_closing) {
        gc__marking_end_or_ask(heap);
    }
    gc__heap_unlock(heap);
}

/* Collects as requested; starts the marker's thread if a cycle begins. The heap's lock is held. */
GC__FN bool gc__collect_requested(gc_heap *heap, const gc__request *request) {
    if (request->purpose == GC__MARK_BEGIN && !heap->collecting) gc__marking_start_thread(heap, gc__marking_rests);
    return gc__collect(heap, request);
}

/* Collects if the event calls for it. Returns whether it did. The heap's lock is held. */
GC__FN bool gc__collect_for(gc_heap *heap, gc__event event) {
    gc__request request;
    return gc__policy_next(heap, event, &request) && gc__collect_requested(heap, &request);
}

/* Stops the marker's thread from collecting. */
GC__COLD void gc__marking_close(gc_heap *heap) {
    gc__heap_lock(heap);
    heap->marker->is_closing = true;
    gc__heap_unlock(heap);
}

/* Collects what is due after a nursery has been spent, or for a mutator that finds no region; before that the mutator
   waits for a late marker. Returns whether it did. The heap's lock is held. */
GC__FN bool gc__collect_nursery(gc_heap *heap, gc__event event) {
    if (gc__heap_is_marking(heap) && heap->marker->has_thread) gc__marking_await_before(heap);
    if (gc__collect_for(heap, event)) return true;
    if (heap->pauses->help_ns) gc__pauses_waited(heap);
    return false;
}

/* Returns whether the nursery is spent, by its bytes or by its remembered slots, once an object of `large` bytes is
   allocated. */
GC__FN bool gc__nursery_is_spent(const gc_heap *heap, size_t large) {
    size_t spent = gc__spent_bytes(heap);
    return spent && (spent + large >= gc__counted(&heap->budget_bytes) || gc__stores_enough(heap));
}

/* Collects, unless another thread has found the same budget spent and has collected while this one waited. */
GC__FN void gc__collect_for_budget(gc_heap *heap) {
    uint64_t before = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
    gc__heap_lock(heap);
    bool again = heap->collection.number != before || (!gc__stores_enough(heap) && gc__marking_await_quantum(heap));
    if (!again) gc__collect_nursery(heap, GC__NURSERY_SPENT);
    gc__heap_unlock(heap);
}

/* Ends the nursery early, if that helps, for a mutator that finds no region. Returns whether it did. */
GC__FN bool gc__collect_for_region(gc_heap *heap) {
    return gc__next_ends_nursery(heap) && gc__collect_nursery(heap, GC__REGION_WANTED);
}

/* Makes a mutator that finds no region while objects are being marked wait for the marker, for as long as the goal
   at a time, so that other threads can collect. Then the final mark is short; now it would take as long as the wait,
   and stop all threads. Returns whether to look for a region again: not if nothing is being marked, if the marker
   gets no processor, or if the collection was left out for want of memory. */
GC__FN bool gc__collect_after_marking(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__heap_lock(heap);
    bool waits = gc__heap_is_marking(heap) && marker->has_thread && !gc__marker_is_spoilt(heap);
    if (waits && __atomic_load_n(&marker->done, __ATOMIC_ACQUIRE))
        waits = gc__collect_for(heap, GC__MARKER_DONE);
    else if (waits)
        waits = gc__marking_await_turn(heap);
    gc__heap_unlock(heap);
    return waits;
}

/* Begins a cycle instead of stopping the world, if policy allows it, for a mutator that finds no region. */
GC__FN void gc__collect_before_marking(gc_heap *heap) {
    gc__heap_lock(heap);
    gc__collect_for(heap, GC__YOUNG_FREED_NONE);
    gc__heap_unlock(heap);
}

/* Returns whether a generation has spent enough of its budget for an optional collection of it. Without generations, the
   nursery is by how much the heap may grow. */
GC__COLD bool gc__worth_collecting(const gc_heap *heap, int generation) {
    if (heap->options.non_generational) return gc__spent_bytes(heap) >= heap->pace->nursery_bytes / 4 * 3;
    if (generation == 2) return gc__grown_bytes(heap) + heap->generation_bytes[1] >= heap->pace->full_threshold / 4 * 3;
    if (generation == 1) return heap->generation_bytes[1] >= heap->pace->nursery_bytes;
    return gc__spent_bytes(heap) >= heap->pace->nursery_bytes / 4;
}

/* Returns whether `function`, whose frame ends at `frame`, must not be called now. */
GC__COLD bool gc__collect_is_refused(gc_heap *heap, const char *function, uintptr_t frame) {
    const gc_thread *self = gc__thread_self(heap);
    if (self && !gc__is_cooperative(self)) {
        gc__misused(gc__fail(GC_ERROR_MISUSE,
                            "%s: the calling thread is attached and in preemptive mode: bracket the call by "
                            "GC_IN_MODE(thread, GC_MODE_COOPERATIVE)",
                            function));
        return true;
    }
    return gc__is_refused_in_hook(heap, function, frame);
}
GC__INLINED bool gc__collect_is_misuse(gc_heap *heap, const char *function) {
    return gc__collect_is_refused(heap, function, GC__FRAME_TOP());
}

/* Begins a concurrent cycle for the caller, if that is possible and the caller need not wait. Returns false if the
   caller must collect. */
GC__FN bool gc__collect_concurrently(gc_heap *heap, unsigned mode) {
    const unsigned ways = GC_COLLECT_NON_BLOCKING | GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING;
    if ((mode & ways) != GC_COLLECT_NON_BLOCKING || !gc__marking_is_on(heap)) return false;
    gc__heap_lock(heap);
    bool wanted = !gc__heap_is_marking(heap) && (!(mode & GC_COLLECT_OPTIMIZED) || gc__worth_collecting(heap, 2));
    const gc__request begin = gc__request_mark_begin(GC_REASON_INDUCED);
    bool done = !wanted || (gc__collect_requested(heap, &begin) && gc__heap_is_marking(heap));
    gc__heap_unlock(heap);
    return done;
}

GC_API gc_result gc_collect(gc_heap *heap, int generation, unsigned mode) {
    GC__API_SCOPE("gc_collect");
    if (gc__is_null(heap, "gc_collect", "heap")) return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_collect")) return GC_ERROR_MISUSE;
    if (generation < 0 || generation >= GC_GENERATIONS) {
        gc__fail(GC_ERROR_MISUSE, "gc_collect: there is no generation %d, only 0 to 2", generation);
        GC_ASSERT(false, "%s", gc__last_message);
        return GC_ERROR_MISUSE;
    }
    bool compacting = (mode & GC_COLLECT_COMPACTING) != 0;
    if (generation == 2 && gc__collect_concurrently(heap, mode)) return GC_OK;
    const gc__request request = gc__request_stopped(generation, GC_REASON_INDUCED, compacting);
    uint64_t before = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
    gc__heap_lock(heap);
    gc__workers_start(heap, &request);
    gc__world_stop_locked(heap);
    /* If several threads ask at once, one collects: a collection that began after this thread asked is enough. */
    bool ran = true, joined = heap->collector->finished[generation] > before &&
                              (!compacting || heap->collector->finished_compacting > before);
    if (!joined && (!(mode & GC_COLLECT_OPTIMIZED) || gc__worth_collecting(heap, generation)))
        ran = gc__collect_stopped(heap, &request);
    gc__world_resume(heap);
    return ran ? GC_OK : GC_ERROR_MEMORY;
}

/* Requests the collection that is worth a step of the host's. Returns false if there is none. */
GC__COLD bool gc__step_request(gc_heap *heap, gc__request *request) {
    bool marks = gc__heap_is_marking(heap);
    if (marks && __atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE)) return gc__policy_next(heap, GC__STEP_DONE, request);
    bool begins = !marks && gc__marking_is_on(heap) && gc__worth_collecting(heap, 2);
    *request = begins ? gc__request_mark_begin(GC_REASON_GROWTH) : gc__request_stopped(0, GC_REASON_NURSERY, false);
    return begins || gc__worth_collecting(heap, 0);
}

GC_API bool gc_step(gc_heap *heap, unsigned us) {
    GC__API_SCOPE("gc_step");
    gc__request request;
    if (gc__is_null(heap, "gc_step", "heap") || gc__collect_is_misuse(heap, "gc_step")) return false;
    bool goes_on = gc__marking_help(heap, gc__os_now_ns() + (uint64_t)us * 1000) && gc__heap_is_marking(heap);
    if (goes_on && !__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST)) return true;
    gc__heap_lock(heap); /* another thread's collection comes first */
    if (gc__step_request(heap, &request)) gc__collect_requested(heap, &request);
    bool more = gc__heap_is_marking(heap);
    gc__heap_unlock(heap);
    return more;
}

GC__COLD void gc__collect_under_stress(gc_heap *heap) {
    gc__heap_lock(heap);
    gc__collect_for(heap, GC__STRESS_POINT);
    gc__heap_unlock(heap);
}

GC__COLD void gc__safepoint_run(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (gc__heap_is_locked(heap)) return;
    if (__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST)) {
        gc__heap_lock(heap); /* the thread that collects holds the lock until the end */
        gc__heap_unlock(heap);
    }
    if (__atomic_load_n(&heap->threads->asked, __ATOMIC_RELAXED)) {
        gc__heap_lock(heap);
        gc__marking_end_done(heap);
        gc__heap_unlock(heap);
    }
    if (gc__stress_of(heap) == GC_STRESS_SAFEPOINT)
        gc__collect_under_stress(heap);
}

GC_API void gc__safepoint_slow(gc_thread *thread) {
    GC__API_SCOPE("gc_safepoint");
    gc__safepoint_run(thread);
}
