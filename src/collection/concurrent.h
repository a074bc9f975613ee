/* Concurrent marking in collections: when a cycle begins and ends, and the thread that marks. */
#pragma once

#include "../weak/preclean.h"
#include "../space/profiler.h"
#include "../cycle/marker.h"
#include "../trace/trace.h"
#include "../trace/store_buffer.h"
#include "../trace/old_regions.h"
#include "../policy/pace.h"
#include "../policy/cycles.h"
#include "../diag/pauses.h"
#include "store.h"

#define GC__MARKING_PATIENCE_MS ((uint64_t)100) /* from when the marking is done until a mutator is asked to end it */
#define GC__GIVE_BACK_MS ((uint64_t)20)         /* between two releases of memory by the marker's thread */
#define GC__MARKING_STEPS 64                /* objects between two checks whether a collection waits */
/* Quanta of a nursery, at least, after each of which a mutator may have to wait for the marker. */
#define GC__MARKING_QUANTA 4
/* Consecutive waits during which the marker has done nothing, after which mutators stop the world instead. */
#define GC__MARKING_STARVED 100
#define GC__MARKING_LITTLE 4096             /* up to this many objects the final mark traces with one worker */
#define GC__MARKING_TIMED 64                /* turns after which the thread's CPU time is recorded */
#define GC__MARKER_SPINS 1500 /* polls of a collection for the marker to rest, before it sleeps: about 50 us */

/* Installs the slow path of barriers, which other heaps may be running. The arena's lock is held. */
GC__COLD void gc__marking_tables(void) {
    if (gc__tables.log_store || !(GC__HAS_MARKER || GC_DIAGNOSTICS)) return;
    gc__tables.log_store = gc__store_logged;
    gc__tables.log_store_call = GC__LOG_STORE_ADDRESS(gc__store_logged_call);
}

/* Returns GC__EDGES_*: what the collection's workers do with the objects of generation 2 that they meet. If stores
   are neither logged nor shown by pages, what is stored into old objects is not shaded, but the card is dirty. So a worker
   that cleans a card shades all that its slots refer to. */
GC__FN uint8_t gc__marking_edges(const gc_heap *heap) {
    bool of_cards = !gc__stores_are_logged(heap) && !gc__barrier_watches();
    uint8_t candidate = gc__is_mark_end(heap) ? 0 : GC__EDGES_CANDIDATE;
    if (!gc__heap_is_marking(heap)) return 0;
    if (heap->collection.generation == 0 && !of_cards) return candidate;
    return candidate | (of_cards ? GC__EDGES_SHADE | GC__EDGES_SHADE_CARDS : GC__EDGES_SHADE);
}

/* Has the marker look at what was stored into old objects, where barriers show pages. As most pages are written to again
   and again, it does so when nothing else is left, but for those of new objects. At the beginning of a cycle all pages are
   forgotten, and those of young objects always: these are traced when they become old. */
GC__FN void gc__marking_take_written(const gc_heap *heap) {
    bool begins = heap->cycle->plan->purpose == GC__MARK_BEGIN;
    bool all = begins || gc__is_last_of_marking(heap) || heap->marker->done;
    if (!gc__barrier_watches() || !(heap->marking || begins)) return;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            if (all || g < 2 || gc__barrier_age(&gc__tables, region->base) & GC__AGE_FILLED)
                gc__region_take_written(region, NULL, SIZE_MAX);
}

/* Warns at creation why concurrent marking is impossible, if it was asked for. */
GC__COLD void gc__marking_explain(const gc_heap *heap) {
    const char *obstacle = GC_CONCURRENT && heap->asked_concurrent ? gc__marking_obstacle_now(heap) : NULL;
    if (!obstacle) return;
    gc__warn(&heap->options, "options.concurrent has no effect, and full collections stop the program: %s", obstacle);
}

#if !GC__HAS_MARKER
GC__FN void gc__marker_rest(gc_heap *heap) { (void)heap; }
GC__FN void gc__marker_empty_buffer(gc_heap *heap) { (void)heap; }
GC__FN void gc__marker_go_on(gc_heap *heap) { (void)heap; }
GC__COLD void gc__marking_start_thread(gc_heap *heap, void (*rests)(gc_heap *heap)) { (void)heap, (void)rests; }
GC__COLD void gc__marking_end_thread(gc_heap *heap) { (void)heap; }
GC__FN void gc__marking_take_turn(gc_heap *heap) { (void)heap; }
GC__FN void gc__marking_await_before(gc_heap *heap) { (void)heap; }
GC__FN bool gc__marking_help(gc_heap *heap, uint64_t until_ns) { return (void)heap, (void)until_ns, false; }
GC__FN bool gc__marking_await_quantum(const gc_heap *heap) { return (void)heap, false; }
GC__FN bool gc__marking_await_turn(const gc_heap *heap) { return (void)heap, false; }
GC__COLD void gc__marking_divide_nursery(const gc_heap *heap) { (void)heap; }
GC__COLD void gc__marking_step(gc_heap *heap) { (void)heap; }
GC__FN void gc__marking_trace_old(gc__worker *worker, gc__region *condemned) { (void)worker, (void)condemned; }
GC__FN void gc__marking_look_at_pages(gc__worker *worker) { (void)worker; }
#else
/* Marks, or decides what a remark has left; or, if nothing is being marked, finishes the work of the last cycle: clears
   stale regions, lists holes, and compacts the list of finalizers. The marker's lock is held. Returns false if nothing is
   left to do. */
GC__HOT bool gc__marker_turn(gc_heap *heap, size_t steps) {
    gc__lock *pairs = &heap->finalizers->lock;
    if (!gc__heap_is_marking(heap))
        return gc__stale_clear(heap, GC__STALE_AT_ONCE) || (!heap->born_left && gc__holes_list_next(heap)) ||
               gc__preclean_locked(heap, pairs, gc__pairs_compact_some);
    gc__marker *marker = heap->marker;
    if (gc__is_deciding(heap->finalizers)) return gc__preclean_locked(heap, pairs, gc__pairs_decide_some);
    __atomic_store_n(&marker->turns, marker->turns + 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&heap->stores->whole_count, __ATOMIC_RELAXED) >= marker->taken_chunks + GC__CHUNKS_MANY)
        gc__marker_take_chunks(heap, GC__CHUNKS_MANY);
    if (gc__marker_work(heap, steps) || gc__preclean_some(heap) || gc__marker_look_at_open_chunks(heap) ||
        gc__preclean_locked(heap, pairs, gc__pairs_seek_some))
        return true;
    __atomic_store_n(&marker->done, true, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&marker->awaited, 0u, __ATOMIC_SEQ_CST)) gc__os_wake(&marker->awaited);
    return false;
}

/* Does the work of the marker's thread until that time, or until a thread waits for all to stop. Returns whether more is
   left. */
GC__COLD bool gc__marking_help(gc_heap *heap, uint64_t until_ns) {
    bool more = !__atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE);
    while (more && gc__os_now_ns() < until_ns && !__atomic_load_n(&heap->threads->stopping, __ATOMIC_RELAXED)) {
        gc__lock_take(&heap->marker->lock);
        more = gc__marker_turn(heap, GC__MARKING_STEPS);
        gc__lock_release(&heap->marker->lock);
    }
    return more;
}

GC__COLD void gc__marker_thread(void *context) {
    gc_heap *heap = (gc_heap *)context;
    gc__marker *marker = heap->marker;
    /* Otherwise waking it could preempt the thread that has collected, and with it the world. */
    gc__os_thread_is_patient();
    while (!__atomic_load_n(&marker->is_ending, __ATOMIC_ACQUIRE)) {
        uint32_t turn = __atomic_load_n(&marker->turn, __ATOMIC_ACQUIRE);
        bool more = true;
        if (!__atomic_load_n(&marker->wanted, __ATOMIC_ACQUIRE)) {
            gc__lock_take(&marker->lock);
            more = gc__marker_turn(heap, GC__MARKING_STEPS);
            gc__lock_release(&marker->lock);
        } else {
            gc__os_wait_for(&marker->wanted, 1, 1000 * GC__NS_PER_MS);
        }
        if (!more || marker->turns % GC__MARKING_TIMED == 0)
            __atomic_store_n(&marker->cpu_ns, gc__os_cpu_ns(), __ATOMIC_RELAXED);
        if (more) continue;
        bool gives = __atomic_load_n(&marker->gives_back, __ATOMIC_RELAXED);
        bool asks = gives || __atomic_load_n(&marker->done, __ATOMIC_RELAXED);
        uint64_t patience_ms = gives ? GC__GIVE_BACK_MS : asks ? GC__MARKING_PATIENCE_MS : 1000;
        gc__os_wait_for(&marker->turn, turn, patience_ms * GC__NS_PER_MS);
        if (asks && __atomic_load_n(&marker->turn, __ATOMIC_ACQUIRE) == turn) marker->rests(heap);
    }
}

/* Stops the marker until gc__marker_go_on. The world is stopped, and the heap's lock is held. */
GC__FN void gc__marker_rest(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (marker->has_thread) __atomic_store_n(&marker->wanted, 1u, __ATOMIC_SEQ_CST);
    gc__lock_take_polling(&marker->lock, heap->threads->processors > 1 ? GC__MARKER_SPINS : 0);
    if (!gc__heap_is_marking(heap)) return;
    /* Without room for what was logged, it is marked here: but nothing may be marked before all is decided. */
    size_t words = 2 * gc__stores_count(heap->stores) + GC__SEEN_MOST;
    if (gc__is_deciding(heap->finalizers) && !gc__shade_room(heap, &marker->seen, words))
        gc__finalizers_decide_all(heap->finalizers);
    gc__marker_empty_buffer(heap);
}
GC__FN void gc__marker_go_on(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    bool is_needed = gc__heap_is_marking(heap) || heap->old_stale || heap->old_unlisted;
    if (gc__heap_is_marking(heap)) {
        if (heap->collection.generation && !heap->collection.left_out) marker->met_bytes = gc__counted(&marker->marked_bytes);
        __atomic_store_n(&marker->done, false, __ATOMIC_RELAXED); /* the collection may have recorded more */
        __atomic_store_n(&heap->threads->asked, false, __ATOMIC_RELAXED);
        gc__preclean_allow(&heap->handles->preclean);
    }
    gc__lock_release(&marker->lock);
    if (!marker->has_thread) return;
    __atomic_store_n(&marker->wanted, 0u, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&marker->turn, 1, __ATOMIC_SEQ_CST);
    if (!is_needed) return;
    gc__os_wake(&marker->wanted);
    gc__os_wake(&marker->turn);
}

/* Starts the marker's thread if a cycle may begin. Called before the world is stopped, since a thread that the host
   has suspended may hold a lock of the C library. */
GC__COLD void gc__marking_start_thread(gc_heap *heap, void (*rests)(gc_heap *heap)) {
    gc__marker *marker = heap->marker;
    if (marker->has_thread || marker->refused || heap->options.test.marker_steps) return;
    marker->rests = rests;
    marker->has_thread = gc__os_worker_start(&marker->thread, "gc marker", gc__marker_thread, heap);
    if (marker->has_thread) return;
    marker->refused = true;
    gc__warn(&heap->options,
             "the system gives no thread to mark objects concurrently, so full collections stop the program "
             "for as long as they take: raise `ulimit -u`");
}

/* Ends the thread and the cycle, since the heap is being destroyed. */
GC__COLD void gc__marking_end_thread(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    __atomic_store_n(&marker->is_ending, true, __ATOMIC_RELEASE);
    __atomic_fetch_add(&marker->turn, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&marker->wanted); /* the last collection may not have woken it */
    gc__os_wake(&marker->turn);
    if (marker->has_thread) gc__os_thread_join(&marker->thread);
    marker->has_thread = false;
    gc__marker_abort(heap);
    gc__stale_clear(heap, SIZE_MAX);
}

/* Does some of the marker's work on the calling mutator, in tests without a marker's thread. */
GC__FN void gc__marking_take_turn(gc_heap *heap) {
    if (!heap->options.test.marker_steps) return;
    gc__lock_take(&heap->marker->lock);
    gc__marker_turn(heap, heap->options.test.marker_steps);
    gc__lock_release(&heap->marker->lock);
}

/* Records the room that the heap has when a cycle begins, and how much is likely to be marked. */
GC__COLD void gc__marking_count_room(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t grown = gc__grown_bytes(heap), most = heap->pace->full_threshold + gc__growth_due(heap);
    marker->most_bytes = gc__max(most, grown + grown / GC__MARKING_ROOM);
    marker->began_growth = marker->most_bytes - grown;
    marker->began_room = gc__marking_room(heap);
    double larger = marker->last_old_bytes ? (double)marker->began_old_bytes / (double)marker->last_old_bytes : 1;
    size_t likely = marker->last_old_bytes ? (size_t)((double)marker->last_bytes * larger) : SIZE_MAX;
    /* If that is not known, all is assumed to be alive. */
    marker->likely_bytes = gc__min(likely, marker->began_old_bytes);
    __atomic_store_n(&marker->marked_bytes, (size_t)0, __ATOMIC_RELAXED);
    marker->quantum_bytes = 0;
}

/* Begins or aborts a cycle, before a collection condemns anything. */
GC__COLD void gc__marking_step(gc_heap *heap) {
    const gc__plan *plan = heap->cycle->plan;
    gc__marking_take_written(heap);
    if (plan->purpose == GC__MARK_BEGIN) {
        if (gc__marking_is_on(heap)) gc__marker_begin(heap); /* a hook may just have switched the barrier */
        if (gc__heap_is_marking(heap)) gc__marking_count_room(heap);
        if (gc__heap_is_marking(heap)) gc__handles_preclean_begin(heap);
        if (gc__heap_is_marking(heap)) gc__due_preclean_begin(heap->finalizers);
        gc__finalizers_preclean_begin(heap->finalizers);
        size_t budget = gc__candidates_budget(heap);
        if (gc__heap_is_marking(heap) && budget && gc__stores_are_logged(heap)) gc__candidates_choose(heap, budget);
    } else if (plan->condemned == 2) {
        gc__marker_abort(heap);
    }
}

/* Returns whether the final mark has too little to trace of the old generation to share it: the marker had nothing
   left, and no waiting object has a trace function that may lead to objects that were never met. Sharing takes 20 ns
   for each region. */
GC__FN bool gc__marking_left_little(const gc__worker *worker) {
    const gc_heap *heap = worker->heap;
    bool little = !heap->pause.degenerated && !heap->pause.waiting_objects && !worker->overflowed;
    return little && (size_t)(worker->top - worker->stack) < GC__MARKING_LITTLE && !heap->options.test.collectors;
}

#define GC__UNIT_PAGES ((size_t)16)

GC__FN void gc__pages_unit(void *context, size_t unit) {
    gc_heap *heap = (gc_heap *)context;
    gc__words *pages = &heap->marker->pages;
    size_t end = gc__min((unit + 1) * GC__UNIT_PAGES, pages->count);
    for (size_t i = unit * GC__UNIT_PAGES; i < end;) {
        size_t first = i;
        uintptr_t from = pages->words[i], to = gc__watched_end(from);
        uintptr_t most = gc__region_end(gc__region_first(gc__region_of(from)));
        for (i++; i < end && pages->words[i] == to && to < most; i++) to = gc__watched_end(to);
        bool found = gc__marker_scan_pages(heap, from, to, true);
        for (; !found && first < i; first++) pages->words[first] = 0;
    }
}

/* Drops pages that lead only to marked objects, as most written ones do, before the marker's last pause scans them: that is
   shared by all workers. */
GC__FN void gc__marking_look_at_pages(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    gc__words *pages = &heap->marker->pages;
    size_t count = pages->count;
    if (!GC_HAS_MODEL || !GC__HAS_PAGES || !gc__workers_of(worker) || !gc__barrier_watches()) return;
    if (!gc__is_last_of_marking(heap) || !gc__heap_is_marking(heap)) return;
    while (heap->marker->seen.count) gc__marker_take_seen(heap); /* which the pages refer to */
    gc__fifo_drain(&heap->marker->worker);
    gc__workers_each(worker, (count + GC__UNIT_PAGES - 1) / GC__UNIT_PAGES, gc__pages_unit, heap);
    pages->count = 0;
    for (size_t i = 0; i < count; i++)
        if (pages->words[i]) pages->words[pages->count++] = pages->words[i];
}

/* Traces the old generation in the final mark, after a trace like that of a young collection: it is condemned with
   what is marked in it, and traced from the objects that are grey or were logged. All young objects have been
   reached; what is copied from here on, out of candidate regions or for finalizers, goes to fresh regions. */
GC__FN void gc__marking_trace_old(gc__worker *worker, gc__region *condemned) {
    gc_heap *heap = worker->heap;
    if (!gc__is_mark_end(heap)) return;
    for (unsigned g = 0; g < GC_GENERATIONS; g++) gc__worker_close_window(worker, g);
    heap->cycle->marked_bytes[2] -= gc__copied_to(worker, 2); /* the sweep counts them with their regions */
    gc__phase_begin(heap, GC_PHASE_REMARK);
    gc__old_holes_forget(heap);
    while (gc__marker_take_page(heap)) {}
    gc__marker_finish(heap);
    for (gc__region *region = condemned; region; region = region->next) {
        if (region->target == 2) gc__region_set_rank(region, gc__age_of(heap, 2), true);
        if (region->generation == 2) region->unscanned = 0, region->next_live_bytes = 0; /* what lives there is copied */
    }
    heap->cycle->condemned_bytes[2] = heap->generation_bytes[2];
    heap->cycle->cursors[2] = NULL;
    /* Regions of generation 2 that are not evacuated are condemned with what is marked in them: the marker's bits are their
       mark bits, and `next_live_bytes` counts them. Their descriptors do not change until the sweep. */
    heap->cycle->condemned_old = heap->regions[2];
    gc__old_rank(heap, GC__IGNORE, GC__OLD_CONDEMNED);
    heap->regions[2] = NULL;
    worker->edges = 0;
    gc__tables_hand_over(worker);
    gc__marker_hand_over(worker);
    if (gc__marking_left_little(worker))
        gc__trace_drain(worker);
    else
        gc__trace_held(worker, condemned);
}

/* Waits for the marker, which the calling thread would only hinder if it marked, too. Returns when the wait began.
   The system wakes a thread late, by 60 us, or by 500 if other programs run: so the requested time is shortened by
   that. */
GC__FN uint64_t gc__marking_await(gc_heap *heap, uint64_t ns) {
    gc__marker *marker = heap->marker;
    uint64_t start = gc__os_now_ns(), asked = gc__max(ns - gc__min(ns, marker->late_ns), ns / 16);
    __atomic_store_n(&marker->awaited, 1u, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&marker->done, __ATOMIC_SEQ_CST)) gc__os_wait_for(&marker->awaited, 1, asked);
    uint64_t took = gc__ns_since(gc__os_now_ns(), start);
    uint64_t late = gc__min(took - gc__min(took, asked), ns);
    marker->late_ns = (7 * marker->late_ns + late) / 8;
    marker->waited_ns += took;
    return start;
}

/* Makes a mutator that allocates faster than the marker works wait before it collects, for as long as the goal
   allows in addition to the pause. */
GC__FN void gc__marking_await_before(gc_heap *heap) {
    uint64_t goal = gc__pace_goal_ns(heap), together = goal / 4 * 3, most = goal / 8 * gc__marking_lateness(heap);
    if (!most) return;
    size_t condemned = gc__spent_bytes(heap) + (gc__pace_young(heap) ? heap->generation_bytes[1] : 0);
    uint64_t takes = (condemned >> 10) * heap->pace->young_ns_per_mib >> 10;
    uint64_t start = gc__marking_await(heap, gc__max(gc__min(most, together - gc__min(together, takes)), goal / 16));
    heap->pauses->help_ns += gc__ns_since(gc__os_now_ns(), start);
}

/* Makes a mutator that can do nothing else wait for the marker. Returns false if the marker has done nothing in many
   such waits. */
GC__FN bool gc__marking_await_turn(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    unsigned turns = __atomic_load_n(&marker->turns, __ATOMIC_RELAXED);
    uint64_t start = gc__marking_await(heap, gc__pace_goal_ns(heap));
    gc__pauses_note_wait(heap, start, gc__os_now_ns());
    marker->starved = turns == __atomic_load_n(&marker->turns, __ATOMIC_RELAXED) ? marker->starved + 1 : 0;
    return marker->starved < GC__MARKING_STARVED;
}

/* Adapts the quanta after a wait: they become smaller while a wait as long as the goal is too short for each, down
   to the size of windows. */
GC__FN void gc__marking_divide_quantum(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t most = heap->pace->nursery_bytes / GC__MARKING_QUANTA, late = gc__marking_lateness(heap);
    size_t part = late == 8 ? marker->quantum_bytes / 2 : late < 4 ? 2 * marker->quantum_bytes : marker->quantum_bytes;
    marker->quantum_bytes = gc__max(gc__min(part, most), GC__WINDOW_BYTES);
}

/* Makes a mutator that has spent a quantum of its nursery wait, if the marker is late. Returns true if the mutator
   may go on, false if a collection is due. The heap's lock is held. */
GC__FN bool gc__marking_await_quantum(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t part = gc__min(marker->quantum_bytes, marker->undivided_bytes), late = gc__marking_lateness(heap);
    if (!part || !gc__heap_is_marking(heap) || __atomic_load_n(&marker->done, __ATOMIC_ACQUIRE)) return false;
    marker->undivided_bytes -= part;
    gc__count(&heap->budget_bytes, part);
    if (!late) return true;
    uint64_t start = gc__marking_await(heap, gc__pace_goal_ns(heap) / 8 * late);
    gc__pauses_note_wait(heap, start, gc__os_now_ns());
    gc__marking_divide_quantum(heap);
    return true;
}

/* Divides the next nursery into quanta after a collection, if the marker is late. */
GC__COLD void gc__marking_divide_nursery(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->undivided_bytes = 0;
    if (!gc__heap_is_marking(heap) || !marker->has_thread || !gc__marking_lateness(heap)) return;
    size_t most = gc__max(heap->budget_bytes / GC__MARKING_QUANTA, GC__WINDOW_BYTES);
    marker->quantum_bytes = marker->quantum_bytes ? gc__min(marker->quantum_bytes, most) : most;
    marker->undivided_bytes = heap->budget_bytes - gc__min(heap->budget_bytes, marker->quantum_bytes);
    heap->budget_bytes -= marker->undivided_bytes;
}

#endif

/* Stores into old objects are remembered by slots instead of cards if scanning cards takes 1/n of a pause within the goal. */
#define GC__REMEMBERING_SHARE 8
#define GC__REMEMBERING_CARD_NS 250
#define GC__REMEMBERING_FEW 64 /* slots in a collection that do not justify a call for each store into an old object */
#define GC__REMEMBERING_PATIENCE 8 /* collections in a row with so few */

GC__FN void gc__remembering_switch(gc_heap *heap, bool on) {
    if (on && !gc__stores_open(heap->stores)) return;
    heap->remembers_slots = on;
    heap->stores->few = 0;
    gc__old_rank(heap, GC__IGNORE, GC__IGNORE);
}

/* Chooses between slots and cards after a collection. The world is stopped. */
GC__FN void gc__remembering_choose(gc_heap *heap) {
    gc__store_buffer *stores = heap->stores;
    if (!GC__HAS_MARKER) return;
    bool possible = gc__marking_is_on(heap) && gc__stores_are_logged(heap);
    size_t dear = gc__pace_goal_ns(heap) / GC__REMEMBERING_SHARE / GC__REMEMBERING_CARD_NS;
    bool fixed = heap->options.nursery_bytes != 0; /* by the host; no time is measured */
    stores->enough = fixed ? SIZE_MAX : gc__pace_aim_ns(heap) / heap->pace->slot_ns;
    if (heap->options.test.marker_steps) dear = 1;
    if (heap->remembers_slots) {
        stores->few = stores->found + heap->pause.dirty_cards < GC__REMEMBERING_FEW ? stores->few + 1 : 0;
        if (!possible || stores->few >= GC__REMEMBERING_PATIENCE) gc__remembering_switch(heap, false);
    } else if (possible && heap->pause.dirty_cards >= dear) {
        gc__remembering_switch(heap, true);
    }
}

/* Frees the memory that barriers write to. No thread uses the heap. */
GC__FN void gc__remembering_end(gc_heap *heap) {
    gc__store_buffer *stores = heap->stores;
    if (!GC__HAS_MARKER) return;
    gc__store_logging_publish(heap, false);
    if (stores->entries) gc__os_unmap(stores->entries, GC__STORES_BYTES);
    stores->entries = NULL;
}
