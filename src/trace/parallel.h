/* The trace by several workers: what each of them does, how a run begins and ends, and what happens if there is no
   room for a copy in the middle of it. Units of roots and cards are claimed by a counter; all other work is on mark
   stacks, which the workers share.

   If there is no room for a copy, every worker stops where it is, and the thread that collects goes on alone, with
   each worker's stack and windows in turn, and with all roots and cards once more. Scanning is idempotent, so it
   does not matter how much of a unit was done. */
#pragma once

#include "cards.h"
#include "old_regions.h"
#include "../space/barrier_state.h"
#include "../space/side.h"

#define GC__UNIT_ROOTS 64
#define GC__UNIT_CARDS 32
#define GC__UNIT_SLOTS 256
#define GC__REFUSED_RESERVE 4096 /* more slots than a worker handles between polls */

#if GC__HAS_WORKERS
/* Works on a unit. The units of roots come first, then those of cards, then those of remembered slots. Returns false
   if the worker must stop. */
GC__FN bool gc__work_unit(gc__worker *worker, size_t unit) {
    const gc__workers *workers = worker->workers;
    size_t slots = workers->root_units + workers->card_units;
    if (unit < workers->root_units) {
        const gc__words *roots = &worker->cycle->roots;
        size_t from = unit * GC__UNIT_ROOTS, end = gc__min(from + GC__UNIT_ROOTS, roots->count);
        for (size_t i = from; i < end; i++) {
            gc__enqueue(worker, (gc_word *)(roots->words[i] & ~(uintptr_t)1), roots->words[i] & 1);
            if (!gc__stack_drain_some(worker)) return false;
        }
        return true;
    }
    gc__workers_remember(worker, true);
    if (unit >= slots) {
        size_t first = (unit - slots) * GC__UNIT_SLOTS, count = gc__stores_count(worker->heap->stores);
        size_t end = gc__min(first + GC__UNIT_SLOTS, count);
        return gc__trace_slots_of(worker, worker->heap->stores->entries, true, first, end);
    }
    size_t from = (unit - workers->root_units) * GC__UNIT_CARDS, end = gc__min(from + GC__UNIT_CARDS, workers->cards.count);
    for (size_t i = from; i < end; i++)
        if (!gc__card_prefetch(worker, workers->cards.words[i])) return false;
    return gc__cards_finish(worker);
}

/* Calls the trace function of an object that was handed over. */
GC__FN void gc__work_for_host_once(gc__worker *worker) {
    gc__worker_thread *thread = &worker->workers->threads[worker->number];
    const gc__for_host item = thread->for_host[--thread->for_host_count];
    if (item.to)
        gc__object_trace_part(worker, item.object, item.from, item.to);
    else
        gc__object_trace_all(worker, item.object);
}

/* Calls the trace functions of all objects that other workers have handed over. */
GC__FN bool gc__work_for_host(gc__worker *worker) {
    gc__worker_thread *thread = &worker->workers->threads[worker->number];
    while (!worker->number && thread->for_host_count) {
        if (worker->workers->cards.count || worker->workers->slot_units) gc__workers_remember(worker, true);
        gc__work_for_host_once(worker);
        if (!gc__stack_drain_some(worker)) return false;
    }
    return true;
}

/* Works until the worker neither finds nor holds any more work. Returns false if it must stop. */
GC__FN bool gc__work_some(gc__worker *worker) {
    size_t unit;
    if (!gc__work_for_host(worker)) return false;
    const gc__workers *workers = worker->workers;
    while (gc__workers_claim_unit(worker->workers, &unit)) {
        gc__workers_call(worker->workers);
        if (GC__UNLIKELY(workers->job != NULL)) {
            workers->job(workers->job_context, unit);
            gc__workers_step(worker);
        } else if (!gc__work_unit(worker, unit)) {
            return false;
        }
    }
    do {
        if (!gc__stack_drain_some(worker)) return false;
        gc__fifo_drain(worker);
    } while (worker->top != worker->stack);
    return true;
}

#define GC__STRIPE_WORDS ((size_t)1 << (GC__STRIPE_SHIFT - 9)) /* of marks */

GC__FN void gc__own_marks_clear_stripe(gc__worker_thread *thread, size_t piece) {
    size_t first = (piece - (gc__the_arena.base >> GC__STRIPE_SHIFT)) * GC__STRIPE_WORDS;
    memset(&thread->own_marks.words[first], 0, GC__STRIPE_WORDS * sizeof(uint64_t));
}

/* Clears a worker's own marks of earlier runs, before it marks. The worker does that itself, since the marks are in
   its processor's cache. */
GC__FN void gc__own_marks_clear(gc__worker_thread *thread) {
    while (thread->stale.count) gc__own_marks_clear_stripe(thread, thread->stale.words[--thread->stale.count]);
}

/* Works until no worker has any work. */
GC__HOT void gc__work(gc__worker *worker) {
    do {
        gc__own_marks_clear(&worker->workers->threads[worker->number]);
        gc__work_some(worker);
        gc__workers_give_host(worker);
    } while (gc__workers_next(&worker->workers->threads[worker->number]));
}

/* Returns whether the pause is to be short and marks little, so that providing memory for own marks would take
   longer than locked instructions. */
GC__FN bool gc__workers_marks_little(const gc_heap *heap) {
    return gc__has_pause_goal(heap) && (heap->collection.generation < 2 || gc__is_mark_end(heap));
}

/* Gives each worker its own marks, if there are few workers and there is memory for that. */
GC__FN void gc__workers_open_marks(gc__workers *workers, const gc_heap *heap) {
    size_t words = gc__regions_used() * (GC_REGION_BYTES / 512), base = (gc__the_arena.base >> 9) * sizeof(uint64_t);
    unsigned count = (unsigned)gc__min(workers->count, workers->most);
    bool all = count <= GC__OWN_MARKS_MAX && !(workers->seed & GC__SEED_LOCKED) && !gc__workers_marks_little(heap);
    for (unsigned i = 0; i < count && all; i++) {
        gc__words *marks = &workers->threads[i].own_marks;
        if (marks->capacity >= words) continue;
        gc__own_marks_free(&workers->threads[i]);
        all = gc__words_reserve(marks, words);
        if (all && words * sizeof(uint64_t) > GC__SIDE_BYTES_SMALL)
            gc__os_prefer_huge_pages(marks->words, words * sizeof(uint64_t));
    }
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        thread->worker.own_marks = all && i < count ? (uint64_t *)((uintptr_t)thread->own_marks.words - base) : NULL;
    }
}

/* Prepares the workers for the collection. Returns false if there is no memory. */
GC__FN bool gc__workers_open(gc__workers *workers, const gc__worker *first) {
    workers->opened = gc__regions_used();
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        if (!gc__words_reserve(&thread->live, workers->opened << (GC_REGION_SHIFT - GC__STRIPE_SHIFT)) ||
            !gc__words_reserve(&thread->refused, GC__REFUSED_RESERVE))
            return false;
    }
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        gc__worker *worker = &thread->worker;
        if (i) *worker = *first;
        if (i) worker->memory = &thread->stack;
        worker->workers = workers;
        worker->number = i;
        worker->live = (size_t *)((uintptr_t)thread->live.words - (gc__the_arena.base >> GC__STRIPE_SHIFT) * sizeof(size_t));
        thread->poll = GC__POLL;
    }
    gc__workers_open_marks(workers, first->heap);
    __atomic_store_n(&workers->rests, false, __ATOMIC_RELAXED);
    return true;
}

/* Adds the own marks of two or more workers to a word of the arena's. An object that two have marked was counted by
   both. */
GC__FN void gc__own_marks_add(uint64_t *const *own, unsigned count, gc__region *region, size_t index) {
    uint64_t *word = &gc__marks_of(region->heap)[index], seen = own[0][index];
    for (unsigned i = 1; i < count; i++) {
        for (uint64_t twice = own[i][index] & seen; twice; twice &= twice - 1)
            region->live_bytes -= gc__object_bytes((index * 64 + (size_t)__builtin_ctzll(twice)) * 8);
        seen |= own[i][index];
    }
    if (seen & ~*word) *word |= seen;
}

/* Adds what the workers have marked in a stripe of the region to its count. If only one has, no mark was lost. */
GC__HOT void gc__workers_merge_stripe(gc__workers *workers, gc__region *region, size_t piece, size_t words) {
    gc__worker_thread *marked[GC__WORKERS_MAX];
    uint64_t *own[GC__WORKERS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        if (!thread->worker.live[piece]) continue;
        region->live_bytes += thread->worker.live[piece];
        thread->worker.live[piece] = 0;
        own[count] = thread->worker.own_marks;
        marked[count++] = thread;
    }
    if (!count || !own[0]) return;
    for (size_t i = 0; count > 1 && i < words; i++) gc__own_marks_add(own, count, region, piece * GC__STRIPE_WORDS + i);
    for (unsigned i = 0; i < count; i++) { /* each worker clears its marks before it marks again */
        marked[i]->own_stripes++;
        if (!gc__words_push(&marked[i]->stale, piece)) gc__own_marks_clear_stripe(marked[i], piece);
    }
}

/* Adds what the workers have marked in a condemned region to its count. */
GC__HOT void gc__workers_merge_marks(gc__region *region) {
    size_t words = gc__mark_words(region), piece = region->base >> GC__STRIPE_SHIFT;
    if (region->verdict == GC__MOVE) return;
    for (size_t i = 0; i < words; i += GC__STRIPE_WORDS)
        gc__workers_merge_stripe(region->heap->collector->workers, region, piece++, gc__min(words - i, GC__STRIPE_WORDS));
}

/* Does so for all old regions, in the final mark. */
GC__HOT void gc__workers_merge_old(const gc_heap *heap) {
    gc__old_walk walk = gc__old_begin(heap, heap->cycle->condemned_old, GC__OLD_CONDEMNED);
    size_t opened = heap->collector->workers->opened; /* what was copied beyond was marked then */
    for (gc__region *region; (region = gc__old_next(&walk)) != NULL;) {
        size_t before = region->live_bytes;
        if ((size_t)(region - gc__the_arena.regions) >= opened) continue;
        region->live_bytes = region->next_live_bytes;
        gc__workers_merge_marks(region);
        region->next_live_bytes = region->live_bytes;
        region->live_bytes = before;
    }
}

/* Traces from what a stopped worker holds. */
GC__HOT void gc__trace_left_by(gc__worker *worker, gc__worker *left) {
    gc__words *refused = &worker->workers->threads[left->number].refused;
    for (int i = 0; i < GC__FIFO; i++) {
        if (left->fifo[i]) gc__process_one(worker, left->fifo[i]);
        left->fifo[i] = 0;
    }
    for (size_t i = 0; i < refused->count; i++) gc__process_one(worker, refused->words[i]);
    refused->count = 0;
    while (left != worker && left->top != left->stack) {
        uintptr_t entry = *--left->top;
        if (entry & GC__CONTINUED) {
            left->top -= 2;
            gc__scan_chunk(worker, entry - GC__CONTINUED, left->top[1] >> 2, left->top[0] >> 2);
        } else {
            gc__scan(worker, entry);
        }
        gc__stack_drain(worker);
    }
    memset(left->cards, 0, sizeof left->cards);
    left->part.count = 0; /* all cards are scanned again */
}

/* Goes on alone after the run was stopped. */
GC__COLD void gc__trace_with_one(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    gc__worker_thread *self = &workers->threads[0];
    bool remembers = gc__worker_remembers(worker);
    gc__workers_lock(workers); /* others may be about to sleep */
    while (gc__workers_take_packet(workers, worker)) continue;
    gc__workers_unlock(workers);
    gc__workers_remember(worker, remembers); /* the worker that shared the last packet may not have remembered */
    for (unsigned i = 0; i < workers->count; i++) gc__trace_left_by(worker, &workers->threads[i].worker);
    gc__trace_drain(worker);
    while (self->for_host_count || gc__workers_take_for_host(workers, worker)) {
        gc__work_for_host_once(worker);
        gc__trace_drain(worker);
    }
    if (!workers->units) return;
    gc__trace_slots(worker, 0, worker->cycle->roots.count);
    for (size_t i = 0; i < workers->cards.count; i++) gc__card_prefetch(worker, workers->cards.words[i]);
    gc__cards_finish(worker);
    const gc_heap *heap = worker->heap;
    if (workers->slot_units) gc__trace_slots_of(worker, heap->stores->entries, true, 0, gc__stores_count(heap->stores));
    gc__trace_drain(worker);
}

GC__FN void gc__workers_set_many(gc__workers *workers, bool many) {
    for (unsigned i = 0; i < workers->count; i++) workers->threads[i].worker.tracer = many ? GC__MANY : GC__ALONE;
}

/* Closes all windows, which must not be open between runs: in a run each worker has regions to itself, taken from
   the same lists that the first worker uses between runs. */
GC__FN void gc__workers_close_windows(gc__workers *workers) {
    for (unsigned i = 0; i < workers->count; i++)
        for (unsigned g = 0; g < GC_GENERATIONS; g++) {
            gc__worker_close_window(&workers->threads[i].worker, g);
            workers->threads[i].worker.searched[g] = NULL;
        }
}

/* Lets all workers trace from what the first worker holds, and from `units`, until nothing is left. */
GC__COLD void gc__workers_run(gc__worker *worker, size_t units, gc__region *condemned) {
    gc__workers *workers = worker->workers;
    bool overflowed = worker->overflowed;
    workers->remember_all = worker->remember_all;
    gc__workers_close_windows(workers);
    gc__workers_set_many(workers, true);
    for (unsigned i = 1; i < workers->count; i++) {
        gc__worker *other = &workers->threads[i].worker;
        gc__workers_remember(other, false);
        other->ambiguous = worker->ambiguous;
        other->edges |= worker->edges & (GC__EDGES_SHADE | GC__EDGES_SHADE_CARDS | GC__EDGES_CANDIDATE);
    }
    gc__workers_remember(worker, gc__worker_remembers(worker));
    workers->traces++;
    gc__workers_begin(workers, units);
    gc__work(worker);
    gc__workers_run_end(workers);
    gc__workers_close_windows(workers);
    gc__workers_set_many(workers, false);
    gc__shade_met(workers, worker);
    for (gc__region *region = condemned; region; region = region->next) gc__workers_merge_marks(region);
    if (worker->cycle->condemned_old) gc__workers_merge_old(worker->heap);
    for (unsigned i = 0; i < workers->count; i++) {
        overflowed |= workers->threads[i].worker.overflowed;
        workers->threads[i].worker.overflowed = false;
        worker->whole_stacks |= workers->threads[i].worker.whole_stacks;
    }
    /* The rest may have come from these. */
    if (workers->cards.count || workers->slot_units) gc__workers_remember(worker, true);
    if (__atomic_load_n(&workers->stop, __ATOMIC_RELAXED)) gc__trace_with_one(worker);
    worker->overflowed |= overflowed;
    gc__trace_drain(worker);
    gc__barrier_tell_untold();
}
#endif

/* Calls the job for each unit below `units`, on any thread. Several units should take longer than waking a thread
   does. */
GC__OUT_OF_LINE void gc__workers_each(gc__worker *worker, size_t units, void (*job)(void *context, size_t unit), void *context) {
#if GC__HAS_WORKERS
    gc__workers *workers = worker->workers;
    if (workers && !workers->forked && (units >= GC__UNITS_PER_CALL || workers->seed)) {
        workers->job = job;
        workers->job_context = context;
        gc__workers_begin(workers, units);
        gc__work(worker);
        gc__workers_run_end(workers);
        workers->job = NULL;
        return;
    }
#endif
    (void)worker;
    for (size_t i = 0; i < units; i++) job(context, i);
}
