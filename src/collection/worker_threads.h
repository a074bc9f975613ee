/* The threads of the workers: when they are started, and in which collections they take part. */
#pragma once

#include "../trace/parallel.h"
#include "../weak/handle_table.h"
#include "components.h"

#define GC__WORKERS_WORTH ((size_t)1 << 20) /* bytes expected to survive from which a trace is shared */
/* From this expected time on a trace is shared if the program asked for neither threads nor short pauses. */
#define GC__WORKERS_WORTH_NS ((uint64_t)30 * GC__NS_PER_MS)
#define GC__WORKERS_WORTH_BUNDLES 512       /* dirty bundles */
#define GC__WORKERS_WORTH_PAGES 256         /* of write watch, in the last pauses of a cycle */
#define GC__WORKERS_WORTH_HANDLES 16        /* segments of handles */
#define GC__WORKERS_DEFAULT 16              /* threads, if the program does not set a number */
#define GC__PROCESSORS_ASK_NS ((uint64_t)500 * GC__NS_PER_MS)

/* Returns the number of the process's processors, which may change while the program runs. */
GC__COLD unsigned gc__workers_processors(gc_heap *heap) {
    gc__collector *collector = heap->collector;
    uint64_t now = gc__os_now_ns();
    if (!collector->processors_asked_ns || gc__ns_passed(now, collector->processors_asked_ns, GC__PROCESSORS_ASK_NS)) {
        unsigned quota = gc__os_quota();
        collector->processors = gc__os_processors();
        if (quota < collector->processors) collector->processors = quota;
        collector->processors_asked_ns = now;
    }
    return collector->processors;
}

/* Returns how many threads there should be. (gc__workers_most: how many of them may work in the next collection.
   With more threads than processors each would wait for another.) */
GC__FN unsigned gc__workers_wanted(gc_heap *heap) {
    unsigned wanted = heap->options.collector_threads;
    return wanted ? wanted : (unsigned)gc__min(gc__workers_processors(heap), gc__min(GC__WORKERS_DEFAULT, GC__WORKERS_MAX));
}
GC__COLD unsigned gc__workers_most(gc_heap *heap, unsigned wanted) {
    return heap->options.test.collectors ? wanted : (unsigned)gc__min(gc__workers_processors(heap), wanted);
}

GC__FN bool gc__workers_leaves_holes(const gc_heap *heap, int generation) {
    return generation < 2 && gc__fills_holes(heap);
}

/* Returns whether a collection is expected to have enough work that can be shared: copies of young objects that go
   to listed holes cannot. Two threads take up to 40 % more CPU time than one for traces of up to 25 ms, and end no
   sooner, so by default only longer ones are shared. It is also called before the world is stopped. */
GC__COLD bool gc__workers_is_worth(const gc_heap *heap, gc__purpose purpose, int generation) {
    size_t survivors = 0;
    /* The final mark of a cycle whose marking is done traces no more than a young collection does, and several threads
       would share the handles if these are many. */
    bool marked = purpose == GC__MARK_END && __atomic_load_n(&heap->marker->done, __ATOMIC_RELAXED);
    if (marked && heap->handles->segment_count < GC__WORKERS_WORTH_HANDLES) generation = 1;
    for (int g = 0; g <= generation; g++)
        survivors += gc__counted(&heap->generation_bytes[g]) / 100 * heap->pace->survival[g];
    if (heap->options.test.collectors) return true;
    if (survivors < GC__WORKERS_WORTH || gc__workers_leaves_holes(heap, generation)) return false;
    bool wanted = heap->options.collector_threads || gc__has_pause_goal(heap);
    return wanted || (survivors >> 10) * heap->pace->trace_ns_per_mib[generation == 2] >> 10 >= GC__WORKERS_WORTH_NS;
}

#if !GC__HAS_WORKERS
GC__COLD void gc__workers_start(gc_heap *heap, const gc__request *request) { (void)heap, (void)request; }
GC__COLD void gc__workers_enter(gc__worker *worker) { (void)worker; }
GC__COLD void gc__workers_leave(gc__worker *worker) { (void)worker; }
GC__COLD void gc__workers_end(gc_heap *heap) { (void)heap; }
GC__COLD void gc__workers_forget(gc_heap *heap) { (void)heap; }
#else
GC__COLD void gc__workers_thread(void *context) {
    gc__worker_thread *thread = (gc__worker_thread *)context;
    gc__workers *workers = thread->workers;
    gc__tells_later = true;
    if (workers->seed) gc__workers_await_turn(workers, thread->number);
    if (gc__workers_next(thread)) gc__work(&thread->worker);
}

/* Creates the record of the workers, with one thread. Returns NULL if there is no memory. */
GC__COLD gc__workers *gc__workers_new(gc_heap *heap) {
    gc__workers *workers = (gc__workers *)gc__os_map(sizeof *workers);
    if (!workers) return NULL;
    gc__lock_init(&workers->lock);
    gc__lock_init(&workers->space);
    workers->heap = heap;
    workers->seed = heap->options.test.collectors > 1 ? heap->options.test.collectors : 0;
    workers->count = workers->most = 1;
    workers->threads[0].workers = workers;
    __atomic_fetch_add(&heap->metadata_bytes, sizeof *workers, __ATOMIC_RELAXED);
    return workers;
}

/* Starts a thread. Returns false if the system gives none. */
GC__COLD bool gc__workers_start_one(gc__workers *workers, unsigned number) {
    gc__worker_thread *thread = &workers->threads[number];
    char name[16];
    snprintf(name, sizeof name, "gc worker %u", number % 100);
    thread->workers = workers;
    thread->number = number;
    thread->worker.workers = workers;
    thread->worker.number = number;
    gc__workers_lock(workers);
    workers->asleep |= 1u << number;
    gc__lock_release(&workers->lock);
    bool started = gc__os_worker_start(&thread->os_thread, name, gc__workers_thread, thread);
    gc__workers_lock(workers);
    if (started)
        gc__workers_resize(workers, workers->count + 1, workers->most);
    else
        workers->asleep &= ~(1u << number);
    gc__lock_release(&workers->lock);
    return started;
}

/* Resets the record in a child of fork(), after the collection in which fork() was called. */
GC__FN void gc__workers_reset(gc__workers *workers) {
    workers->forked = false;
    gc__workers_resize(workers, 1, workers->most);
    workers->asleep = 0;
}

GC__COLD void gc__workers_set_most(gc__workers *workers, unsigned most) {
    gc__workers_lock(workers);
    gc__workers_resize(workers, workers->count, most);
    gc__lock_release(&workers->lock);
}

/* Starts the collector's threads if the next collection can use them. Called before the world is stopped: a thread
   that the host has suspended may hold a lock of the C library. The heap's lock is held. */
GC__COLD void gc__workers_start(gc_heap *heap, const gc__request *request) {
    gc__collector *collector = heap->collector;
    if (collector->workers && collector->workers->forked && !heap->collecting) gc__workers_reset(collector->workers);
    if (heap->options.collector_threads == 1 || heap->collecting || gc__is_abandoned(heap)) return;
    if (heap->threads->stop_depth || !gc__workers_is_worth(heap, request->purpose, request->generation)) return;
    unsigned wanted = gc__workers_wanted(heap), most = gc__workers_most(heap, wanted);
    unsigned have = collector->workers ? collector->workers->count : 1;
    if (collector->workers && collector->workers->most != most) gc__workers_set_most(collector->workers, most);
    if (GC__LIKELY(have >= wanted) || collector->workers_refused) return;
    size_t kept = gc__evacuation_reserve(heap) << GC_REGION_SHIFT; /* room for compaction is worth more than speed */
    if (!collector->workers && gc__bytes_left(heap) < kept + sizeof(gc__workers)) return;
    if (!collector->workers) collector->workers = gc__workers_new(heap);
    gc__workers *workers = collector->workers;
    if (workers) gc__workers_set_most(workers, most);
    bool started = workers != NULL;
    for (unsigned i = have; started && i < wanted; i++) started = gc__workers_start_one(workers, i);
    if (started) return;
    collector->workers_refused = true;
    gc__warn(&heap->options,
             "the system gives only %u of %u collector threads: raise `ulimit -u`, or set options.collector_threads",
             workers ? workers->count : 1, wanted);
}

/* Lets all workers take part in the collection, if that is worth it. If room is short, there is one window for each
   generation only, so that none is left half full. */
GC__COLD void gc__workers_enter(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    const gc__plan *plan = heap->cycle->plan;
    int generation = heap->collection.generation;
    gc__workers *workers = heap->collector->workers;
    if (!workers || gc__min(workers->count, workers->most) < 2 || workers->forked || plan->into_holes) return;
    if (plan->tight && !heap->options.test.collectors) return;
    bool worth = gc__workers_is_worth(heap, plan->purpose, generation);
    if (!worth && generation < 2 && !gc__workers_leaves_holes(heap, generation))
        worth = gc__count_dirty_bundles() >= GC__WORKERS_WORTH_BUNDLES;
    if (GC_HAS_MODEL && gc__is_last_of_marking(heap)) worth |= heap->marker->pages.count >= GC__WORKERS_WORTH_PAGES;
    if (!worth || !gc__workers_open(workers, worker)) worker->workers = NULL;
}

/* Adds up what the other workers have counted, after the trace. */
GC__COLD void gc__workers_leave(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (!workers) return;
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        if (i) gc__worker_end(&thread->worker);
        for (int g = 0; g < GC_GENERATIONS; g++) thread->bytes += thread->worker.copied_bytes[g];
        thread->lost += thread->worker.lost;
    }
    __atomic_store_n(&workers->rests, true, __ATOMIC_RELAXED);
    worker->workers = NULL;
}

/* Records in the child of fork() that the threads do not exist. Locks are held. */
GC__COLD void gc__workers_forget(gc_heap *heap) {
    gc__workers *workers = heap->collector->workers;
    if (!workers) return;
    workers->forked = true;
    workers->asleep = ~(uint32_t)1; /* no thread waits for them, or wakes them */
}

GC__COLD void gc__workers_end(gc_heap *heap) {
    gc__workers *workers = heap->collector->workers;
    if (!workers) return;
    gc__workers_lock(workers);
    __atomic_store_n(&workers->ending, true, __ATOMIC_SEQ_CST);
    if (workers->forked) gc__workers_reset(workers);
    for (unsigned i = 1; i < workers->count; i++) {
        __atomic_fetch_add(&workers->threads[i].woken, 1, __ATOMIC_SEQ_CST);
        workers->called |= 1u << i;
    }
    gc__workers_unlock(workers);
    for (unsigned i = 1; i < workers->count; i++) gc__os_thread_join(&workers->threads[i].os_thread);
    gc__workers_lists_bytes(workers, true);
    gc__lock_end(&workers->lock);
    gc__lock_end(&workers->space);
    gc__os_unmap(workers, sizeof *workers);
    heap->collector->workers = NULL;
}
#endif
