/* What a collection does with handles, and with entries of weak tables, each kind of which goes with a kind of handles.
   Strong, pinned and held ref-counted handles are roots. After the trace from the roots, in this order: dependents of reached
   objects are traced, to a fixpoint; short weak handles are cleared; objects with finalizers that were not reached are queued,
   and traced; dependents again; long weak handles and dead dependent ones are cleared. Source: the order of the CLR's mark
   phase. */
#pragma once

#include "../heap/profiler.h"
#include "../collect/parallel.h"
#include "entries.h"
#include "finalizers.h"

/* Calls f for each clump of the kinds (a mask) whose objects may be of the condemned generations. */
typedef void (*gc__clump_function)(void *context, gc__handle_segment *segment, size_t first);

typedef struct gc__clumps {
    gc_heap *heap;
    unsigned kinds, least; /* the least youth of a clump */
    gc__clump_function f;
    void *context;
    bool skips; /* clumps that are settled */
} gc__clumps;

#define GC__EIGHT_SETTLED 0x0101010101010101u

/* Those of the segment in [from, end), multiples of 8. */
GC__FN void gc__clumps_of(const gc__clumps *all, gc__handle_segment *segment, size_t from, size_t end) {
    for (size_t eight = from; eight < end; eight += 8) {
        uint64_t some, settled;
        memcpy(&some, &segment->youth[eight], 8);
        memcpy(&settled, &segment->settled[eight], 8);
        if (!some && (all->least || (all->skips && settled == GC__EIGHT_SETTLED))) continue;
        for (size_t clump = eight; clump < eight + 8; clump++) {
            size_t first = clump * GC__HANDLE_CLUMP;
            if (all->skips && segment->settled[clump] && !segment->youth[clump]) continue;
            if (segment->youth[clump] >= all->least && (all->kinds >> gc__handle_kind(segment, first) & 1))
                all->f(all->context, segment, first);
        }
    }
}

GC__FN gc__clumps gc__clumps_which(gc_heap *heap, unsigned kinds, int generation, gc__clump_function f, void *context,
                                   bool skips) {
    const gc__clumps all = {heap, kinds, generation < 2 ? 2u - (unsigned)generation : 0, f, context, skips};
    return all;
}

GC__FN void gc__clumps_each(gc_heap *heap, unsigned kinds, int generation, gc__clump_function f, void *context,
                            bool skips) {
    const gc__clumps all = gc__clumps_which(heap, kinds, generation, f, context, skips);
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        gc__clumps_of(&all, segment, 0, sizeof segment->youth);
}

#define GC__UNIT_CLUMPS 64

GC__FN void gc__clumps_unit(void *context, size_t unit) {
    const gc__clumps *all = (const gc__clumps *)context;
    gc__handle_segment *segment = all->heap->handles->segments;
    size_t each = sizeof segment->youth / GC__UNIT_CLUMPS;
    for (size_t i = unit / each; i; i--) segment = segment->next;
    size_t from = unit % each * GC__UNIT_CLUMPS;
    gc__clumps_of(all, segment, from, from + GC__UNIT_CLUMPS);
}

/* Whether the collection that runs has nothing to do for settled clumps. */
GC__FN bool gc__settled_are_skipped(const gc_heap *heap) { return heap->cycle->marking == GC__MARKING_FINISH; }

/* The same, where f changes nothing but the clump: by any thread. */
GC__FN void gc__clumps_share(gc__worker *worker, unsigned kinds, int generation, gc__clump_function f) {
    bool skips = gc__settled_are_skipped(worker->heap);
    gc__clumps all = gc__clumps_which(worker->heap, kinds, generation, f, NULL, skips);
    size_t units = 0;
    for (const gc__handle_segment *segment = all.heap->handles->segments; segment; segment = segment->next)
        units += sizeof segment->youth / GC__UNIT_CLUMPS;
    gc__crew_each(worker, units, gc__clumps_unit, &all);
}

/* Roots. Free places look like slots that refer to no heap. */

typedef struct gc__handle_visitor {
    gc_heap *heap;
    gc_visitor *visitor;
} gc__handle_visitor;

GC__FN void gc__handles_visit_strong(void *context, gc__handle_segment *segment, size_t first) {
    gc_visit(((gc__handle_visitor *)context)->visitor, &segment->places[first], GC__HANDLE_CLUMP, 0);
}

GC__FN void gc__handles_visit_pinned(void *context, gc__handle_segment *segment, size_t first) {
    gc_visit(((gc__handle_visitor *)context)->visitor, &segment->places[first], GC__HANDLE_CLUMP, GC_SLOT_PINNED);
}

GC__FN void gc__handles_visit_held(void *context, gc__handle_segment *segment, size_t first) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    const gc_options *options = &all->heap->options;
    for (size_t i = first; options->handle_is_held && i < first + GC__HANDLE_CLUMP; i++) {
        gc_word *place = &segment->places[i];
        if (gc__place_is_empty(*place)) continue;
        void *word = (void *)__atomic_load_n(gc__handle_extra(segment, i), __ATOMIC_RELAXED);
        if (options->handle_is_held(options->host, gc__handle_value(segment, i), (void *)*place, word))
            gc_visit(all->visitor, place, 1, 0);
    }
}

GC__FN void gc__handles_visit_dependents(void *context, gc__handle_segment *segment, size_t first) {
    gc_visit(((gc__handle_visitor *)context)->visitor, gc__handle_extra(segment, first), GC__HANDLE_CLUMP, 0);
}

GC__FN void gc__handles_visit(gc_heap *heap, gc_visitor *visitor, int generation) {
    gc__handle_visitor all = {heap, visitor};
    bool skips = gc__settled_are_skipped(heap) && !heap->options.checkmark; /* which begins with all roots */
    gc__clumps_each(heap, 1u << GC_HANDLE_PINNED, generation, gc__handles_visit_pinned, &all, false);
    gc__clumps_each(heap, 1u << GC_HANDLE_STRONG, generation, gc__handles_visit_strong, &all, skips);
    gc__clumps_each(heap, 1u << GC_HANDLE_REF_COUNTED, generation, gc__handles_visit_held, &all, skips);
    gc__finalizers_visit_queued(heap, visitor);
}

/* Clearing. */

GC__FN void gc__handles_clear_clump(void *context, gc__handle_segment *segment, size_t first) {
    (void)context;
    for (size_t i = first; i < first + GC__HANDLE_CLUMP; i++)
        segment->places[i] = gc__address_after_trace(segment->places[i]);
}

GC__FN void gc__dependents_clear_clump(void *context, gc__handle_segment *segment, size_t first) {
    gc_word *extra = gc__handle_extra(segment, first);
    gc__handles_clear_clump(context, segment, first);
    for (size_t i = 0; i < GC__HANDLE_CLUMP; i++)
        if (!segment->places[first + i]) extra[i] = 0;
}

/* Dependent handles: the dependent waits for the object. */
GC__FN void gc__dependents_gather(void *context, gc__handle_segment *segment, size_t first) {
    for (size_t i = first; i < first + GC__HANDLE_CLUMP; i++) {
        const gc_word *place = &segment->places[i];
        if (gc__place_is_empty(*place) || !*gc__handle_extra(segment, i)) continue;
        gc__wait((gc__worker *)context, *place, (uintptr_t)gc__handle_extra(segment, i));
    }
}

/* Youth, and free blocks. */

GC__FN void gc__handles_age_clump(void *context, gc__handle_segment *segment, size_t first) {
    uint8_t youngest = 0;
    bool dependent = gc__handle_kind(segment, first) == GC_HANDLE_DEPENDENT;
    (void)context;
    for (size_t i = first; i < first + GC__HANDLE_CLUMP; i++) {
        uint8_t youth = gc__youth(segment->places[i]);
        if (youth > youngest) youngest = youth;
        if (dependent && (youth = gc__youth(*gc__handle_extra(segment, i))) > youngest) youngest = youth;
    }
    segment->youth[first / GC__HANDLE_CLUMP] = youngest;
}

GC__FN void gc__handles_chain_block(gc__handles *handles, gc__handle_segment *segment, size_t block) {
    gc_word *places = &segment->places[block * GC__HANDLE_BLOCK];
    uint8_t kind = segment->kinds[block];
    size_t count = 0;
    for (size_t i = 0; i < GC__HANDLE_BLOCK; i++) count += places[i] & GC__HANDLE_FREE;
    if (kind == GC_HANDLE_KINDS || count == GC__HANDLE_BLOCK) {
        segment->kinds[block] = GC_HANDLE_KINDS;
        free(segment->extras[block]);
        segment->extras[block] = NULL;
        gc__handle_cache_push(&handles->free_blocks, places);
        return;
    }
    for (size_t i = GC__HANDLE_BLOCK; i-- > 0;)
        if (places[i] & GC__HANDLE_FREE) gc__handle_cache_push(&handles->free[kind], &places[i]);
}

/* Chains all free places anew, in the order of their addresses, and blocks without handles become any kind's. */
GC__FN void gc__handles_chain(gc_heap *heap) {
    gc__handles *handles = heap->handles;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        memset(gc__record(thread)->handle_caches, 0, GC_HANDLE_KINDS * sizeof(gc__handle_cache));
    memset(handles->free, 0, sizeof handles->free);
    memset(&handles->free_blocks, 0, sizeof handles->free_blocks);
    for (gc__handle_segment *segment = handles->segments; segment; segment = segment->next)
        for (size_t block = GC__HANDLE_BLOCKS; block-- > 0;) gc__handles_chain_block(handles, segment, block);
}

GC__FN void gc__handles_open(gc_heap *heap) { gc__lock_take(&heap->handles->lock); }
GC__FN void gc__handles_close(gc_heap *heap) { gc__lock_release(&heap->handles->lock); }

GC__FN void gc__handles_trace(gc__worker *worker, int generation) {
    gc_heap *heap = worker->heap;
    const unsigned dependent = 1u << GC_HANDLE_DEPENDENT;
    gc__waits_begin(heap);
    gc__clumps_each(heap, dependent, generation, gc__dependents_gather, worker, gc__settled_are_skipped(heap));
    gc__waits_fixpoint(worker);
    /* Short weak handles are cleared before finalizers can see their objects again, long ones below. */
    gc__clumps_share(worker, 1u << GC_HANDLE_WEAK | 1u << GC_HANDLE_REF_COUNTED, generation, gc__handles_clear_clump);
    gc__notes_clear(heap, false);
    gc__phase_note(heap, GC_PHASE_FINALIZERS);
    gc__finalizers_queue_dead(worker, generation);
    gc__waits_fixpoint(worker);
    /* Everything that survives this collection has been reached. */
    gc__phase_note(heap, GC_PHASE_HANDLES);
    gc__traced_note(heap, generation);
    gc__clumps_share(worker, 1u << GC_HANDLE_WEAK_LONG, generation, gc__handles_clear_clump);
    gc__clumps_share(worker, dependent, generation, gc__dependents_clear_clump);
    gc__notes_clear(heap, true);
    gc__clumps_share(worker, (1u << GC_HANDLE_KINDS) - 1, generation, gc__handles_age_clump);
    if (generation == 2 && !gc__settled_are_skipped(heap)) gc__handles_chain(heap);
}

/* For verify. */

GC__FN void gc__handles_check_clump(void *context, gc__handle_segment *segment, size_t first) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    uint8_t noted = segment->youth[first / GC__HANDLE_CLUMP];
    gc__handles_age_clump(NULL, segment, first);
    if (segment->youth[first / GC__HANDLE_CLUMP] > noted)
        gc__fatal(
            &all->heap->options,
            "verify (collection %llu): the handles at %p refer to an object that is younger than noted: a fault of "
            "the collector, or an object was stored without gc_handle_set",
            (unsigned long long)all->heap->collection.number, (void *)&segment->places[first]);
    segment->youth[first / GC__HANDLE_CLUMP] = noted;
    gc__handles_visit_strong(context, segment, first);
    if (gc__handle_kind(segment, first) == GC_HANDLE_DEPENDENT) gc__handles_visit_dependents(context, segment, first);
}

GC__FN void gc__handles_verify(gc_heap *heap, gc_visitor *visitor) {
    gc__handle_visitor all = {heap, visitor};
    gc__lock_take(&heap->handles->lock);
    gc__clumps_each(heap, (1u << GC_HANDLE_KINDS) - 1, 2, gc__handles_check_clump, &all, false);
    gc__lock_release(&heap->handles->lock);
    gc__finalizers_visit_queued(heap, visitor);
    gc__finalizers_visit_registered(heap, visitor);
}

typedef struct gc__dependent_checker {
    gc_visitor *visitor;
    bool (*reached)(gc_visitor *visitor, uintptr_t object);
    bool any;
} gc__dependent_checker;

GC__FN void gc__dependents_check_clump(void *context, gc__handle_segment *segment, size_t first) {
    gc__dependent_checker *checker = (gc__dependent_checker *)context;
    for (size_t i = first; i < first + GC__HANDLE_CLUMP; i++) {
        gc_word *extra = gc__handle_extra(segment, i), place = segment->places[i];
        if (gc__place_is_empty(place) || !checker->reached(checker->visitor, place)) continue;
        if (checker->reached(checker->visitor, *extra)) continue;
        checker->any = true;
        gc_visit(checker->visitor, extra, 1, 0);
    }
}

GC__FN bool gc__handles_checkmark(gc_heap *heap, gc_visitor *visitor,
                                  bool (*reached)(gc_visitor *visitor, uintptr_t object)) {
    gc__dependent_checker checker = {visitor, reached, false};
    gc__clumps_each(heap, 1u << GC_HANDLE_DEPENDENT, 2, gc__dependents_check_clump, &checker, false);
    return checker.any;
}
