/* The threads of the crew: when there are any, and which collections they share in. */
#pragma once

#include "../collect/parallel.h"
#include "../handles/table.h"

#define GC__CREW_WORTH ((size_t)1 << 20) /* bytes that are expected to survive from which a trace is shared */
#define GC__CREW_WORTH_NS ((uint64_t)30 * GC__NS_PER_MS) /* and where nobody asked for threads or short pauses, time */
#define GC__CREW_WORTH_BUNDLES 512       /* dirty ones */
#define GC__CREW_WORTH_HANDLES 16        /* segments of them */
#define GC__CREW_DEFAULT 16              /* threads, where the program names no number */
#define GC__PROCESSORS_ASK_NS ((uint64_t)500 * GC__NS_PER_MS)

/* The processors of the process, which may be taken away, or given, while the program runs. */
GC__FN unsigned gc__crew_processors(gc_heap *heap) {
    gc__collector *collector = heap->collector;
    uint64_t now = gc__os_now_ns();
    if (!collector->processors_asked_ns || now - collector->processors_asked_ns > GC__PROCESSORS_ASK_NS) {
        unsigned quota = gc__os_quota();
        collector->processors = gc__os_processors();
        if (quota < collector->processors) collector->processors = quota;
        collector->processors_asked_ns = now;
    }
    return collector->processors;
}

/* How many threads there should be, and how many of them may work in the collection that is to come: with more than there are
   processors for, each would wait for another. */
GC__FN unsigned gc__crew_wanted(gc_heap *heap) {
    unsigned wanted = heap->options.collector_threads;
    return wanted ? wanted : (unsigned)gc__min(gc__crew_processors(heap), GC__CREW_DEFAULT);
}
GC__FN unsigned gc__crew_most(gc_heap *heap, unsigned wanted) {
    return heap->options.test_collectors ? wanted : (unsigned)gc__min(gc__crew_processors(heap), wanted);
}

/* Whether the collection that is due ends a marking that is done, so that it traces no more than one of young objects, and the
   heap has not many handles, at which several threads look. */
GC__FN bool gc__crew_finds_marked(const gc_heap *heap) {
    bool done = __atomic_load_n(&heap->marker->done, __ATOMIC_RELAXED);
    return heap->cycle->marking == GC__MARKING_FINISH && done && heap->handles->segment_count < GC__CREW_WORTH_HANDLES;
}

GC__FN bool gc__crew_leaves_holes(const gc_heap *heap, int generation) {
    return generation < 2 && heap->pace->fills_holes;
}

/* Whether a collection is expected to have enough to do that can be shared: copies of young objects are not where they go to
   listed holes. Two threads take up to 40 % more CPU time than one for traces of up to 25 ms, and end no sooner, so by default
   only longer ones are shared. Called before it stops the world, too. */
GC__FN bool gc__crew_is_worth(const gc_heap *heap, int generation) {
    size_t survivors = 0;
    if (gc__crew_finds_marked(heap)) generation = 1;
    for (int g = 0; g <= generation; g++)
        survivors += gc__counted(&heap->generation_bytes[g]) / 100 * heap->pace->survival[g];
    if (heap->options.test_collectors) return true;
    if (survivors < GC__CREW_WORTH || gc__crew_leaves_holes(heap, generation)) return false;
    bool wanted = heap->options.collector_threads || gc__has_pause_goal(heap);
    return wanted || (survivors >> 10) * heap->pace->trace_ns_per_mib[generation == 2] >> 10 >= GC__CREW_WORTH_NS;
}

#if GC_HAS_MODEL
GC__FN void gc__crew_hire(gc_heap *heap, int generation) { (void)heap, (void)generation; }
GC__FN void gc__crew_join(gc__worker *worker, int generation) { (void)worker, (void)generation; }
GC__FN void gc__crew_leave(gc__worker *worker) { (void)worker; }
GC__FN void gc__crew_fire(gc_heap *heap) { (void)heap; }
GC__FN void gc__crew_forget(gc_heap *heap) { (void)heap; }
#else
GC__FN void gc__crew_thread(void *context) {
    gc__member *member = (gc__member *)context;
    gc__crew *crew = member->crew;
    gc__tells_later = true;
    if (crew->seed) gc__crew_await_turn(crew, member->number);
    if (gc__crew_next(member)) gc__work(&member->worker);
}

/* The crew's record, with one member; NULL: no memory. */
GC__FN gc__crew *gc__crew_new(gc_heap *heap) {
    gc__crew *crew = (gc__crew *)gc__os_map(sizeof *crew);
    if (!crew) return NULL;
    gc__lock_init(&crew->lock);
    gc__lock_init(&crew->space);
    crew->heap = heap;
    crew->seed = heap->options.test_collectors > 1 ? heap->options.test_collectors : 0;
    crew->count = crew->most = 1;
    crew->members[0].crew = crew;
    __atomic_fetch_add(&heap->beside_bytes, sizeof *crew, __ATOMIC_RELAXED);
    return crew;
}

/* False: the system gives no thread. */
GC__FN bool gc__crew_start(gc__crew *crew, unsigned number) {
    gc__member *member = &crew->members[number];
    char name[16];
    snprintf(name, sizeof name, "gc worker %u", number % 100);
    member->crew = crew;
    member->number = number;
    member->worker.crew = crew;
    member->worker.number = number;
    gc__crew_lock(crew);
    crew->asleep |= 1u << number;
    gc__lock_release(&crew->lock);
    bool started = gc__os_worker_start(&member->thread, name, gc__crew_thread, member);
    gc__crew_lock(crew);
    if (started)
        gc__crew_resize(crew, crew->count + 1, crew->most);
    else
        crew->asleep &= ~(1u << number);
    gc__lock_release(&crew->lock);
    return started;
}

/* In a child of fork(), after the collection in which that was called. */
GC__FN void gc__crew_begin_anew(gc__crew *crew) {
    crew->forked = false;
    gc__crew_resize(crew, 1, crew->most);
    crew->asleep = 0;
}

GC__FN void gc__crew_limit(gc__crew *crew, unsigned most) {
    gc__crew_lock(crew);
    gc__crew_resize(crew, crew->count, most);
    gc__lock_release(&crew->lock);
}

/* Starts the collector's threads, if the collection that is to come can use them. Before the world is stopped: a thread that
   the host has suspended may hold a lock of the C library. Heap lock held. */
GC__FN void gc__crew_hire(gc_heap *heap, int generation) {
    gc__collector *collector = heap->collector;
    if (collector->crew && collector->crew->forked && !heap->collecting) gc__crew_begin_anew(collector->crew);
    if (heap->options.collector_threads == 1 || heap->collecting || gc__is_abandoned(heap)) return;
    if (heap->threads->stop_depth || !gc__crew_is_worth(heap, generation)) return;
    unsigned wanted = gc__crew_wanted(heap), most = gc__crew_most(heap, wanted);
    unsigned have = collector->crew ? collector->crew->count : 1;
    if (collector->crew && collector->crew->most != most) gc__crew_limit(collector->crew, most);
    if (GC__LIKELY(have >= wanted) || collector->crew_refused) return;
    size_t kept = gc__evacuation_reserve(heap) << GC_REGION_SHIFT; /* to compact with is worth more than to be fast */
    if (!collector->crew && gc__bytes_left(heap) < kept + sizeof(gc__crew)) return;
    if (!collector->crew) collector->crew = gc__crew_new(heap);
    gc__crew *crew = collector->crew;
    if (crew) gc__crew_limit(crew, most);
    bool started = crew != NULL;
    for (unsigned i = have; started && i < wanted; i++) started = gc__crew_start(crew, i);
    if (started) return;
    char message[160];
    collector->crew_refused = true;
    snprintf(message, sizeof message,
             "the system gives only %u of %u collector threads: raise `ulimit -u`, or set options.collector_threads",
             crew ? crew->count : 1, wanted);
    gc__warn(&heap->options, message);
}

/* Has the crew take part in the collection, if it is worth it. Where room is short there is one window for each generation
   only, so that none is left half full. */
GC__FN void gc__crew_join(gc__worker *worker, int generation) {
    gc_heap *heap = worker->heap;
    gc__crew *crew = heap->collector->crew;
    if (!crew || gc__min(crew->count, crew->most) < 2 || crew->forked || heap->cycle->into_holes) return;
    if (heap->cycle->keeps_all) return; /* hardly anything is traced */
    if (heap->cycle->evacuate_tightly && !heap->options.test_collectors) return;
    bool worth = gc__crew_is_worth(heap, generation);
    if (!worth && generation < 2 && !gc__crew_leaves_holes(heap, generation))
        worth = gc__count_dirty_bundles() >= GC__CREW_WORTH_BUNDLES;
    if (!worth || !gc__crew_open(crew, worker)) worker->crew = NULL;
}

/* The trace is over: hands in what the other workers have counted. */
GC__FN void gc__crew_leave(gc__worker *worker) {
    gc__crew *crew = worker->crew;
    if (!crew) return;
    for (unsigned i = 0; i < crew->count; i++) {
        gc__member *member = &crew->members[i];
        if (i) gc__worker_end(&member->worker);
        for (int g = 0; g < GC_GENERATIONS; g++) member->bytes += member->worker.copied_bytes[g];
        member->lost += member->worker.lost;
    }
    __atomic_store_n(&crew->rests, true, __ATOMIC_RELAXED);
    worker->crew = NULL;
}

/* In the child of fork(): the threads do not exist. Locks held. */
GC__FN void gc__crew_forget(gc_heap *heap) {
    gc__crew *crew = heap->collector->crew;
    if (!crew) return;
    crew->forked = true;
    crew->asleep = ~(uint32_t)1; /* nobody waits for them, or wakes them */
}

/* Ends the threads. */
GC__FN void gc__crew_fire(gc_heap *heap) {
    gc__crew *crew = heap->collector->crew;
    if (!crew) return;
    gc__crew_lock(crew);
    __atomic_store_n(&crew->ending, true, __ATOMIC_SEQ_CST);
    if (crew->forked) gc__crew_begin_anew(crew);
    for (unsigned i = 1; i < crew->count; i++) {
        __atomic_fetch_add(&crew->members[i].woken, 1, __ATOMIC_SEQ_CST);
        crew->called |= 1u << i;
    }
    gc__crew_unlock(crew);
    for (unsigned i = 0; i < GC__CREW_MAX; i++) {
        gc__member *member = &crew->members[i];
        gc__words *lists[] = {&member->stack, &member->live, &member->own_marks, &member->stale, &member->refused, &member->seen};
        if (i && i < crew->count) gc__os_thread_join(&member->thread);
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) gc__words_free(lists[k]);
    }
    gc__words_free(&crew->for_host);
    gc__words_free(&crew->cards);
    gc__lock_end(&crew->lock);
    gc__lock_end(&crew->space);
    gc__os_unmap(crew, sizeof *crew);
    heap->collector->crew = NULL;
}
#endif
